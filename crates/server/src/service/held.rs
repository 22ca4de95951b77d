//! The rows that wait in memory until their reader takes them: so many bytes for everybody together, and so many for
//! each person.
//!
//! A place at work ends with the work, and what came of it stays until the client has read it. Without a bound of its
//! own a thousand clients that do not read hold a thousand answers.

use crate::refusal::{Refusal, RefusalKind};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How many bytes of rows are held for everybody, and for one person.
const MOST: usize = 256 << 20;
const MOST_EACH: usize = 32 << 20;
/// How long it is waited for others to read theirs.
const PATIENCE: Duration = Duration::from_secs(10);

/// What may be held, and what is left of it.
pub(super) struct MemoryQuota {
    all: Arc<Semaphore>,
    patience: Duration,
    by: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// A right to hold so many bytes, until it is dropped.
#[derive(Debug)]
pub(crate) struct HeldRows {
    all: OwnedSemaphorePermit,
    own: OwnedSemaphorePermit,
}

impl Default for MemoryQuota {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(MOST)), patience: PATIENCE, by: Mutex::default() }
    }
}

impl MemoryQuota {
    /// The right to hold so many bytes for somebody; waits for others to read, and not for long. What is larger than
    /// what one person may hold takes all of that.
    pub async fn reserve(&self, name: &str, bytes: usize) -> Result<HeldRows, Refusal> {
        let bytes = u32::try_from(bytes.min(MOST_EACH)).unwrap_or(u32::MAX);
        let own = self.of(name);
        let reserved = timeout(self.patience, async {
            // The person's own quota first: a request that waits for it keeps nothing from others.
            let own = own.acquire_many_owned(bytes).await.ok()?;
            let all = Arc::clone(&self.all).acquire_many_owned(bytes).await.ok()?;
            Some(HeldRows { all, own })
        });
        reserved.await.ok().flatten().ok_or_else(too_much)
    }

    fn of(&self, name: &str) -> Arc<Semaphore> {
        let mut by = self.by.lock().unwrap_or_else(PoisonError::into_inner);
        // A holder of a permit holds its semaphore too.
        by.retain(|_, own| Arc::strong_count(own) > 1);
        Arc::clone(by.entry(name.to_string()).or_insert_with(|| Arc::new(Semaphore::new(MOST_EACH))))
    }
}

impl HeldRows {
    /// As many bytes as there are: what was reserved beyond them is given back, and what is missing is taken if it is
    /// there.
    pub fn fitted(mut self, bytes: usize) -> Result<Self, Refusal> {
        for permit in [&mut self.own, &mut self.all] {
            let reserved = permit.num_permits();
            if bytes <= reserved {
                drop(permit.split(reserved - bytes));
                continue;
            }
            let more = u32::try_from(bytes - reserved).map_err(|_| too_much())?;
            let more = Arc::clone(permit.semaphore()).try_acquire_many_owned(more).map_err(|_| too_much())?;
            permit.merge(more);
        }
        Ok(self)
    }
}

fn too_much() -> Refusal {
    let sentence = "answers that nobody has read yet take all the memory that they may take: read them, or ask again \
        soon";
    Refusal::new(RefusalKind::Busy, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand clients that did not read held a thousand answers, each in memory with nothing that bounded them
    /// together.
    #[tokio::test]
    async fn what_is_held_is_bounded_for_each_and_for_all() {
        let holding = MemoryQuota { patience: Duration::from_millis(50), ..MemoryQuota::default() };
        let each = MOST_EACH / 4;
        let mut held = Vec::new();
        for _ in 0..4 {
            held.push(holding.reserve("vic", each).await.unwrap());
        }
        assert!(holding.reserve("vic", 1).await.is_err(), "what one person holds is bounded");
        let other = holding.reserve("ada", each).await.unwrap();
        assert!(holding.all.available_permits() == MOST - 5 * each, "and others are not kept from theirs");
        // What is not needed is given back, what is missing is taken.
        let other = other.fitted(100).unwrap();
        assert_eq!(holding.all.available_permits(), MOST - 4 * each - 100);
        let other = other.fitted(1_000).unwrap();
        assert_eq!(holding.all.available_permits(), MOST - 4 * each - 1_000);
        assert!(other.fitted(MOST_EACH + 1).is_err());
        drop(held);
        assert_eq!(holding.all.available_permits(), MOST);
        // All together.
        let mut all = Vec::new();
        for name in 0..MOST / MOST_EACH {
            all.push(holding.reserve(&name.to_string(), MOST_EACH).await.unwrap());
        }
        assert!(holding.reserve("vic", 1).await.is_err());
        all.pop();
        assert!(holding.reserve("vic", 1).await.is_ok());
        drop(all);
        holding.reserve("una", 1).await.unwrap();
        assert!(holding.by.lock().unwrap().len() <= 2, "whoever holds nothing is forgotten");
    }
}
