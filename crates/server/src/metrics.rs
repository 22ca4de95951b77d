//! Numbers about the server for Prometheus. None of them comes from a table.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What is counted.
#[derive(Default)]
pub(crate) struct Metrics {
    planned: AtomicU64,
    paid: AtomicU64,
    stored: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
    failed_logins: AtomicU64,
    connections: AtomicU64,
    turned_away: AtomicU64,
    /// By route, as it is declared, and status.
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Metrics {
    pub fn planned(&self) {
        add(&self.planned);
    }

    pub fn paid(&self) {
        add(&self.paid);
    }

    pub fn stored(&self) {
        add(&self.stored);
    }

    pub fn refused(&self) {
        add(&self.refused);
    }

    pub fn failed(&self) {
        add(&self.failed);
    }

    pub fn failed_login(&self) {
        add(&self.failed_logins);
    }

    pub fn connected(&self) {
        add(&self.connections);
    }

    pub fn turned_away(&self) {
        add(&self.turned_away);
    }

    pub fn request(&self, route: &'static str, status: u16) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry((route, status)).or_insert(0) += 1;
    }

    /// In the text form of Prometheus.
    pub fn text(&self) -> String {
        let counters = [
            ("plans", "Questions that were planned", &self.planned),
            ("answers_paid", "Answers that were charged", &self.paid),
            ("answers_stored", "Answers that had been charged before", &self.stored),
            ("refusals", "Questions that were refused", &self.refused),
            ("failures", "Questions at which the server failed", &self.failed),
            ("failed_logins", "Tokens that are not known", &self.failed_logins),
            ("connections", "Connections that were served", &self.connections),
            (
                "connections_turned_away",
                "Connections that were refused, because there were too many",
                &self.turned_away,
            ),
        ];
        let mut text = String::new();
        for (name, about, counter) in counters {
            let value = counter.load(Ordering::Relaxed);
            let _ = write!(
                text,
                "# HELP scumble_{name}_total {about}\n# TYPE scumble_{name}_total counter\nscumble_{name}_total {value}\n"
            );
        }
        text.push_str(
            "# HELP scumble_requests_total Requests by route and status\n# TYPE scumble_requests_total counter\n",
        );
        for ((route, status), number) in self.requests.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = writeln!(text, "scumble_requests_total{{route=\"{route}\",status=\"{status}\"}} {number}");
        }
        text
    }
}
