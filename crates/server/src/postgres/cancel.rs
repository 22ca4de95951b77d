//! Ending a query from another connection, as Ctrl-C in `psql` does: a client that knows both numbers of a connection
//! may.

use scumble::noise::{BitSource, SecureSource};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// All connections that somebody can ask to stop.
#[derive(Default)]
pub(super) struct CancelRegistry(Mutex<HashMap<(i32, i32), Arc<Notify>>>);

/// One of them; it is forgotten when it ends.
pub(super) struct CancelRegistration<'a> {
    pub process: i32,
    pub secret: i32,
    notify: Arc<Notify>,
    all: &'a CancelRegistry,
}

impl CancelRegistry {
    /// A connection with two new random numbers.
    pub fn register(&self) -> Result<CancelRegistration<'_>, scumble::Error> {
        let mut bits = SecureSource::new()?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let drawn = bits.next_u64();
            let (process, secret) = ((drawn >> 33) as i32, drawn as i32);
            if let std::collections::hash_map::Entry::Vacant(place) = all.entry((process, secret)) {
                let notify = Arc::clone(place.insert(Arc::new(Notify::new())));
                return Ok(CancelRegistration { process, secret, notify, all: self });
            }
        }
    }

    /// Stops the query of a connection, if both numbers are its own.
    pub fn cancel(&self, process: i32, secret: &[u8]) {
        let Ok(secret) = secret.try_into().map(i32::from_be_bytes) else { return };
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(notify) = all.get(&(process, secret)) {
            notify.notify_waiters();
        }
    }
}

impl CancelRegistration<'_> {
    /// Waits for somebody who asks for the end of what is running.
    pub async fn asked(&self) {
        self.notify.notified().await;
    }
}

impl Drop for CancelRegistration<'_> {
    fn drop(&mut self) {
        let mut all = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&(self.process, self.secret));
    }
}
