//! Numbers about the server for Prometheus. None of them comes from a table.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A number that grows.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// What is counted.
#[derive(Default)]
pub(crate) struct Metrics {
    pub planned: Counter,
    pub paid: Counter,
    pub stored: Counter,
    pub refused: Counter,
    pub failed: Counter,
    pub failed_logins: Counter,
    pub connections: Counter,
    pub turned_away: Counter,
    /// By route, as it is declared, and status.
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
}

impl Metrics {
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
            let value = counter.0.load(Ordering::Relaxed);
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
