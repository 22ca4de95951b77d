//! Failed attempts to log in are slowed, address by address. Tokens of 256 bits are not guessed; this keeps logs short
//! and guessers bored.

use crate::addresses::network;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the first failure of an address waits; each further one twice as long.
const FIRST: Duration = Duration::from_millis(100);
/// And at most so long.
const LONGEST: Duration = Duration::from_secs(5);
/// After so long without a failure an address begins anew.
const FORGIVEN: Duration = Duration::from_secs(600);
/// This many addresses are remembered; beyond them the oldest are forgotten.
const MOST: usize = 10_000;

/// The failures of each address.
#[derive(Default)]
pub(crate) struct LoginThrottle(Mutex<HashMap<IpAddr, AddressFailures>>);

struct AddressFailures {
    number: u32,
    last: Instant,
    waiting: usize,
}

impl LoginThrottle {
    /// Counts a failure and waits. How many wait at once is bounded by how many connections an address may hold.
    pub async fn failed(&self, from: IpAddr) {
        let from = network(from);
        let delay = self.count(from);
        let _waiting = DelayedFailure { slow: self, from };
        tokio::time::sleep(delay).await;
    }

    fn count(&self, from: IpAddr) -> Duration {
        let now = Instant::now();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST && !all.contains_key(&from) {
            all.retain(|_, failures| failures.waiting > 0 || now.duration_since(failures.last) < FORGIVEN);
            let oldest = all.iter().filter(|(_, one)| one.waiting == 0).min_by_key(|(_, one)| one.last);
            if let Some(oldest) = oldest.map(|(address, _)| *address).filter(|_| all.len() >= MOST) {
                all.remove(&oldest);
            }
        }
        let failures = all.entry(from).or_insert(AddressFailures { number: 0, last: now, waiting: 0 });
        if now.duration_since(failures.last) > FORGIVEN {
            failures.number = 0;
        }
        failures.last = now;
        failures.waiting += 1;
        let delay = FIRST.saturating_mul(1 << failures.number.min(10)).min(LONGEST);
        failures.number = failures.number.saturating_add(1);
        delay
    }
}

/// A failure that waits, until it does no more, also if its client has gone.
struct DelayedFailure<'a> {
    slow: &'a LoginThrottle,
    from: IpAddr,
}

impl Drop for DelayedFailure<'_> {
    fn drop(&mut self) {
        let mut all = self.slow.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(failures) = all.get_mut(&self.from) {
            failures.waiting = failures.waiting.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_waits_longer_and_not_for_ever() {
        let slow = LoginThrottle::default();
        let from: IpAddr = "192.0.2.7".parse().unwrap();
        let delays: Vec<Duration> = (0..8).map(|_| slow.count(from)).collect();
        assert_eq!(delays[..3], [FIRST, FIRST * 2, FIRST * 4]);
        assert_eq!(delays[7], LONGEST);
        assert_eq!(slow.count("192.0.2.8".parse().unwrap()), FIRST, "another address is another one");
        // The story: with 32 of them waiting, all others from that address were refused at once because the server was
        // busy, and somebody who guessed tokens got answers without waiting.
        assert!((0..1_000).all(|_| slow.count(from) == LONGEST), "all of them wait");
    }
}
