//! The progress of reading rows.

use datafusion::physical_plan::ExecutionPlan;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Nothing is said about the time that is left before this, and before this share is done.
const SOON: (Duration, f64) = (Duration::from_secs(3), 0.01);

/// How far a release has come with the rows of its tables: asked on one thread while others work.
///
/// It reveals how many rows there are, so it is for the curator and must not be published.
#[derive(Default)]
pub struct Watch {
    reading: Mutex<Option<ReadProgress>>,
}

struct ReadProgress {
    since: Instant,
    plan: Arc<dyn ExecutionPlan>,
    /// How many rows the tables have.
    expected: Option<u64>,
    /// The share of the work that is reading; the rest is summing up parts.
    share: f64,
    parts: (usize, usize),
}

impl Watch {
    /// A plan begins to read.
    pub(crate) fn reads(&self, plan: Arc<dyn ExecutionPlan>, expected: Option<u64>, share: f64) {
        *self.reading() = Some(ReadProgress { since: Instant::now(), plan, expected, share, parts: (0, 1) });
    }

    /// All rows are read, and this many parts of all are summed up.
    pub(crate) fn parts(&self, done: usize, all: usize) {
        if let Some(reading) = self.reading().as_mut() {
            reading.parts = (done.min(all), all.max(1));
        }
    }

    /// Nothing is being read any more.
    pub(crate) fn ends(&self) {
        *self.reading() = None;
    }

    /// How far it is, in words; nothing where nothing is read.
    pub fn words(&self) -> String {
        self.reading().as_ref().map_or_else(String::new, |reading| reading.words(reading.since.elapsed()))
    }

    fn reading(&self) -> MutexGuard<'_, Option<ReadProgress>> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadProgress {
    fn words(&self, elapsed: Duration) -> String {
        let rows = rows_of(&*self.plan).unwrap_or(0);
        said(rows, self.expected, self.share, self.parts, elapsed)
    }
}

/// How many rows the leaves of a plan have given so far; where a leaf does not count them, what stands above it does.
fn rows_of(plan: &dyn ExecutionPlan) -> Option<u64> {
    let children = plan.children();
    let below: Vec<u64> = children.iter().filter_map(|child| rows_of(&***child)).collect();
    match below.is_empty() {
        true => plan.metrics()?.output_rows().map(|rows| rows as u64),
        false => Some(below.iter().sum()),
    }
}

fn said(rows: u64, expected: Option<u64>, share: f64, parts: (usize, usize), elapsed: Duration) -> String {
    let Some(expected) = expected.filter(|expected| *expected > 0) else { return format!("{} rows", short(rows)) };
    let read = (rows as f64 / expected as f64).min(1.0);
    let summed = parts.0 as f64 / parts.1 as f64;
    let done = if summed > 0.0 { share + (1.0 - share) * summed } else { share * read };
    let so_far = format!("{} of about {} rows", short(rows), short(expected));
    if elapsed < SOON.0 || done < SOON.1 {
        return so_far;
    }
    format!("{so_far}, {} left", time(elapsed.as_secs_f64() * (1.0 - done) / done))
}

/// A number of rows as people say it.
fn short(rows: u64) -> String {
    match rows as f64 {
        rows if rows < 1e3 => format!("{rows}"),
        rows if rows < 1e6 => format!("{:.0} thousand", rows / 1e3),
        rows if rows < 1e9 => format!("{:.1} million", rows / 1e6),
        rows => format!("{:.2} billion", rows / 1e9),
    }
}

/// A time as people say it.
fn time(seconds: f64) -> String {
    match seconds.round() as u64 {
        seconds @ 0..=90 => format!("{seconds} s"),
        seconds @ 91..=5400 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_time_are_said_as_people_say_them() {
        let seconds = Duration::from_secs;
        let check = |rows, expected, parts, elapsed, words: &str| {
            assert_eq!(said(rows, expected, 0.7, parts, seconds(elapsed)), words);
        };
        check(0, None, (0, 1), 9, "0 rows");
        check(123_456_789, None, (0, 1), 9, "123.5 million rows");
        check(999, Some(12_345), (0, 1), 9, "999 of about 12 thousand rows, 3 min left");
        check(1, Some(2_000_000_000), (0, 1), 9, "1 of about 2.00 billion rows");
        check(50, Some(100), (0, 1), 1, "50 of about 100 rows");
        // Half is read, which is 35% of the work: 7 seconds for that, 13 for the rest.
        check(50, Some(100), (0, 1), 7, "50 of about 100 rows, 13 s left");
        // More rows than were thought.
        check(150, Some(100), (0, 1), 7, "150 of about 100 rows, 3 s left");
        // All is read and a third is summed up: 80% of the work.
        check(100, Some(100), (1, 3), 80, "100 of about 100 rows, 20 s left");
        check(1000, Some(100_000), (0, 1), 60, "1 thousand of about 100 thousand rows");
        check(10_000, Some(100_000), (0, 1), 3600, "10 thousand of about 100 thousand rows, 13.3 h left");
        assert_eq!(Watch::default().words(), "");
    }
}
