//! Queries of a project that were analysed a moment ago, for programs in which many ask: what a client prepares, has
//! described and executes is one query.
//!
//! What is kept is known from the declarations alone and never changes. Its type belongs to a later room, so that it
//! is not named here.

use crate::error::Result;
use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most queries that are kept.
const MOST: usize = 32;
/// A longer text is not kept.
const LONGEST: usize = 20_000;

type KeptQuery = (String, Arc<dyn Any + Send + Sync>);

/// The last queries, the oldest first.
#[derive(Debug, Default)]
pub(super) struct KeptQueries {
    found: Mutex<VecDeque<KeptQuery>>,
    analysed: AtomicU64,
}

impl KeptQueries {
    /// What was analysed of this text before; otherwise what `analyse` gives, which is kept if `is_small` says so.
    pub fn find<T: Clone + Send + Sync + 'static>(
        &self,
        text: String,
        is_small: impl FnOnce(&T) -> bool,
        analyse: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let known = self.locked().iter().find(|(known, _)| *known == text).map(|(_, found)| Arc::clone(found));
        if let Some(found) = known.and_then(|found| found.downcast_ref::<T>().cloned()) {
            return Ok(found);
        }
        self.analysed.fetch_add(1, Ordering::Relaxed);
        let found = analyse()?;
        if text.len() <= LONGEST && is_small(&found) {
            let mut all = self.locked();
            all.retain(|(known, _)| *known != text);
            if all.len() >= MOST {
                all.pop_front();
            }
            all.push_back((text, Arc::new(found.clone())));
        }
        Ok(found)
    }

    /// How many were analysed.
    pub fn analysed(&self) -> u64 {
        self.analysed.load(Ordering::Relaxed)
    }

    fn locked(&self) -> MutexGuard<'_, VecDeque<KeptQuery>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn the_last_are_kept_and_refusals_and_large_ones_are_not() {
        let kept = KeptQueries::default();
        let find = |text: &str, number: u32| kept.find(text.to_string(), |found| *found < 100, || Ok(number)).unwrap();
        assert_eq!((find("a", 1), find("a", 2), kept.analysed()), (1, 1, 1));
        assert_eq!((find("large", 100), find("large", 101), kept.analysed()), (100, 101, 3));
        let refused: Result<u32> = kept.find("b".to_string(), |_| true, || Err(Error::input("no")));
        assert!(refused.is_err() && find("b", 3) == 3);
        let long = "x".repeat(LONGEST + 1);
        assert_eq!((find(&long, 4), find(&long, 5)), (4, 5));
        for number in 0..MOST as u32 {
            find(&number.to_string(), number);
        }
        assert_eq!((find("31", 7), find("a", 8)), (31, 8), "the oldest go");
    }
}
