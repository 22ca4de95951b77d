//! Asking for the end of work that is under way, from another thread.
//!
//! Work that is asked to stop unwinds without a message. Before a charge it leaves nothing behind; after a charge it
//! is a failure like every other: the charge stays, as interrupted.

use futures::task::AtomicWaker;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody has asked for the end; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<StopFlag>);

#[derive(Debug, Default)]
struct StopFlag {
    is_asked: AtomicBool,
    /// Who waits for rows, and hears of it.
    waiting: AtomicWaker,
}

/// What work unwinds with that was asked to stop.
#[derive(Debug)]
pub struct Interruption;

impl Stop {
    /// Asks for the end.
    pub fn ask(&self) {
        self.0.is_asked.store(true, Ordering::SeqCst);
        self.0.waiting.wake();
    }

    /// Goes no further if somebody has asked.
    pub(crate) fn here(&self) {
        if self.0.is_asked.load(Ordering::SeqCst) {
            std::panic::resume_unwind(Box::new(Interruption));
        }
    }

    /// The result of a future, unless somebody asks meanwhile.
    pub(crate) async fn or<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        poll_fn(|context| {
            self.0.waiting.register(context.waker());
            self.here();
            future.as_mut().poll(context)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::executor::block_on;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_future_that_never_ends_ends() {
        let stop = Stop::default();
        assert_eq!(block_on(stop.or(async { 7 })), 7);
        let other = stop.clone();
        let asking = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            other.ask();
        });
        let ended = catch_unwind(AssertUnwindSafe(|| block_on(stop.or(std::future::pending::<()>()))));
        assert!(ended.unwrap_err().is::<Interruption>());
        asking.join().unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| stop.here())).is_err());
    }
}
