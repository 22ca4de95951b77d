//! Failed attempts to log in are slowed, address by address. Tokens of 256 bits are not guessed; this keeps logs short and guessers bored.

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
/// This many failures of one address wait at once; others are answered at once that they are too many.
const WAITING: usize = 32;

/// The failures of each address.
#[derive(Default)]
pub(crate) struct Slow(Mutex<HashMap<IpAddr, Failures>>);

struct Failures {
    number: u32,
    last: Instant,
    waiting: usize,
}

impl Slow {
    /// Counts a failure and waits; false if so many wait already that this one does not.
    pub async fn failed(&self, from: IpAddr) -> bool {
        let Some(delay) = self.count(from) else { return false };
        let _waiting = Waiting { slow: self, from };
        tokio::time::sleep(delay).await;
        true
    }

    fn count(&self, from: IpAddr) -> Option<Duration> {
        let now = Instant::now();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST && !all.contains_key(&from) {
            all.retain(|_, failures| failures.waiting > 0 || now.duration_since(failures.last) < FORGIVEN);
            let oldest = all.iter().filter(|(_, one)| one.waiting == 0).min_by_key(|(_, one)| one.last);
            if let Some(oldest) = oldest.map(|(address, _)| *address).filter(|_| all.len() >= MOST) {
                all.remove(&oldest);
            }
        }
        let failures = all.entry(from).or_insert(Failures { number: 0, last: now, waiting: 0 });
        if now.duration_since(failures.last) > FORGIVEN {
            failures.number = 0;
        }
        failures.last = now;
        if failures.waiting >= WAITING {
            return None;
        }
        failures.waiting += 1;
        let delay = FIRST.saturating_mul(1 << failures.number.min(10)).min(LONGEST);
        failures.number = failures.number.saturating_add(1);
        Some(delay)
    }
}

/// A failure that waits, until it does no more, also if its client has gone.
struct Waiting<'a> {
    slow: &'a Slow,
    from: IpAddr,
}

impl Drop for Waiting<'_> {
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
        let slow = Slow::default();
        let from: IpAddr = "192.0.2.7".parse().unwrap();
        let delays: Vec<Duration> = (0..8).map_while(|_| slow.count(from)).collect();
        assert_eq!(delays[..3], [FIRST, FIRST * 2, FIRST * 4]);
        assert_eq!(delays[7], LONGEST);
        assert_eq!(slow.count("192.0.2.8".parse().unwrap()), Some(FIRST), "another address is another one");
        assert!((0..WAITING).any(|_| slow.count(from).is_none()), "not all of them wait");
    }
}
