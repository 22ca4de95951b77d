//! How many connections one address holds: one guest does not take all places of a door.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// The places of a door, and how many of them each address holds.
pub(crate) struct AddressSlots {
    most: usize,
    most_each: usize,
    held: Mutex<SlotCounts>,
}

#[derive(Default)]
struct SlotCounts {
    all: usize,
    by: HashMap<IpAddr, usize>,
}

/// A place that is held, until it is dropped.
pub(crate) struct AddressSlot {
    addresses: Arc<AddressSlots>,
    from: IpAddr,
}

impl AddressSlots {
    /// So many places, and so many of them for one address.
    pub fn new(most: usize, most_each: usize) -> Arc<Self> {
        Arc::new(Self { most, most_each, held: Mutex::default() })
    }

    /// A place for somebody from this address; none where there is none left for them.
    pub fn place(self: &Arc<Self>, from: IpAddr) -> Option<AddressSlot> {
        let from = network(from);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.all >= self.most || held.by.get(&from).is_some_and(|own| *own >= self.most_each) {
            return None;
        }
        held.all += 1;
        *held.by.entry(from).or_default() += 1;
        Some(AddressSlot { addresses: Arc::clone(self), from })
    }
}

impl Drop for AddressSlot {
    fn drop(&mut self) {
        let mut held = self.addresses.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.all = held.all.saturating_sub(1);
        if let Some(own) = held.by.get_mut(&self.from) {
            *own -= 1;
            if *own == 0 {
                held.by.remove(&self.from);
            }
        }
    }
}

/// What counts as one address: of the sixth version a network of 64 bits, which is what one guest is given.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::from((u128::from(address) >> 64 << 64).to_be_bytes()),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One guest held every connection, and everybody else was turned away.
    #[test]
    fn one_address_does_not_hold_all_places() {
        let addresses = AddressSlots::new(4, 2);
        let from = |text: &str| addresses.place(text.parse().unwrap());
        let first: Vec<Option<AddressSlot>> = (0..3).map(|_| from("192.0.2.7")).collect();
        assert_eq!(first.iter().flatten().count(), 2);
        let second = from("2001:db8::1");
        let third = from("2001:db8::ffff:1");
        assert!(second.is_some() && third.is_some(), "two of one network");
        assert!(from("198.51.100.1").is_none(), "all places are taken");
        drop(first);
        assert!(from("2001:db8::2").is_none(), "a third of one network");
        assert!(from("::ffff:192.0.2.7").is_some());
        drop((second, third));
        assert!(addresses.held.lock().unwrap().by.is_empty());
    }
}
