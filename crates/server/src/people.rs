//! How many connections one person holds at a door: somebody with one token and several addresses cannot take all
//! places either.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The connections of each person.
pub(crate) struct PersonSlots {
    most_each: usize,
    held: Mutex<HashMap<String, usize>>,
}

/// A connection that is counted, until it is dropped.
pub(crate) struct PersonSlot {
    all: Arc<PersonSlots>,
    name: String,
}

impl PersonSlots {
    /// So many for each.
    pub fn new(most_each: usize) -> Arc<Self> {
        Arc::new(Self { most_each, held: Mutex::default() })
    }

    /// One more for this name; none where there are as many as may be.
    pub fn count(self: &Arc<Self>, name: &str) -> Option<PersonSlot> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let own = held.get(name).copied().unwrap_or(0);
        if own >= self.most_each {
            return None;
        }
        held.insert(name.to_string(), own + 1);
        Some(PersonSlot { all: Arc::clone(self), name: name.to_string() })
    }
}

impl Drop for PersonSlot {
    fn drop(&mut self) {
        let mut held = self.all.held.lock().unwrap_or_else(PoisonError::into_inner);
        match held.get(&self.name).copied() {
            Some(own @ 2..) => drop(held.insert(self.name.clone(), own - 1)),
            _ => drop(held.remove(&self.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_person_has_so_many_connections() {
        let connected = PersonSlots::new(2);
        let (first, second) = (connected.count("ada"), connected.count("ada"));
        assert!(first.is_some() && second.is_some() && connected.count("ada").is_none());
        assert!(connected.count("vic").is_some(), "others have their own");
        drop(first);
        assert!(connected.count("ada").is_some());
        drop(second);
        assert!(connected.held.lock().unwrap().is_empty());
    }
}
