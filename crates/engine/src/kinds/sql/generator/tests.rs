use super::bytes::of_seed;
use super::check::FailureClass;
use super::*;
use crate::support::effort;
use datafusion::prelude::SessionContext;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many queries are tried: a quarter by default, so that the tests pass in minutes; all of them where
/// `SCUMBLE_THOROUGH` is set, as in `.ci/run --thorough`; as many as the environment variable `SCUMBLE_QUERIES` says,
/// where it is set.
fn queries(few: u64, many: u64) -> u64 {
    wanted("SCUMBLE_QUERIES", effort(few, many))
}

/// The number that this environment variable has.
fn wanted(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// A sentence without what is particular about it: the words between the query's own.
fn class_of(sentence: &str) -> String {
    const WORDS: &[&str] = &[
        "needs bounds",
        "must be a literal",
        "needs an owner in the project file",
        "has the type",
        "does not fit the tables",
        "duplicate",
        "in more than one table",
        "not read otherwise",
        "may overflow",
        "can overflow",
        "can fail on a row",
        "too fine",
        "a key must be",
        "column of fractions",
        "not supported",
        "needs numbers",
        "does not take these",
        "ON their owner",
        "may divide by zero",
        "public tables only",
        "cannot be planned",
        "before 1678 or after 2261",
        "column of times",
        "must be a literal, one of",
    ];
    let found = WORDS.iter().find(|words| sentence.contains(**words));
    found.map_or_else(|| sentence.to_string(), |words| format!("… {words} …"))
}

#[test]
fn adversarial_queries_keep_all_promises() {
    all_keep_promises(queries(150, 600), false, (36, 18));
}

/// The whole grammar. More of it is refused, because an inner query and the one around it must both be answered.
#[test]
fn adversarial_queries_of_the_whole_grammar_keep_all_promises() {
    all_keep_promises(queries(60, 200), true, (26, 15));
}

/// Draws queries, of the whole grammar or not, and checks each; at least this percentage must be answered, and
/// compared.
fn all_keep_promises(count: u64, wide: bool, least: (u64, u64)) {
    let first = wanted("SCUMBLE_SEED", 1);
    let next = AtomicU64::new(0);
    let run = || {
        let context = windows::session();
        let mut tally = CaseTally::default();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return tally;
            }
            let bytes = of_seed(first + index);
            let bytes = if wide { Bytes::wide(&bytes) } else { Bytes::new(&bytes) };
            tally.add(first + index, case_of(bytes, 6), &context);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all = CaseTally::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        workers.into_iter().for_each(|worker| all.join(worker.join().expect("cases catch panics")));
    });
    all.print(count);
    assert!(all.failures.is_empty(), "some queries broke a promise");
    let enough = |some: u64, percent: u64| some * 100 >= count * percent;
    assert!(enough(all.held, least.0), "too few queries are answered for this test to mean anything");
    assert!(enough(all.compared, least.1), "too few answers are compared for this test to mean anything");
}

#[test]
fn a_fuzzers_bytes_are_cases() {
    for length in [0, 1, 20, 300] {
        adversarial_query(&of_seed(7)[..length]);
    }
}

/// What came of many cases.
#[derive(Default)]
struct CaseTally {
    held: u64,
    compared: u64,
    refused: BTreeMap<String, (u64, String)>,
    failures: BTreeMap<FailureClass, Vec<String>>,
}

impl CaseTally {
    fn add(&mut self, seed: u64, case: Case, context: &SessionContext) {
        match check(&case, context) {
            CaseOutcome::Refused(sentence) => self.refused.entry(class_of(&sentence)).or_insert((0, sentence)).0 += 1,
            CaseOutcome::Held { compared } => {
                self.held += 1;
                self.compared += u64::from(compared);
            }
            CaseOutcome::Failed(failure) => {
                let stories = self.failures.entry(failure.class).or_default();
                // The first ones are shown; shrinking takes time.
                let shown = stories.len() < wanted("SCUMBLE_STORIES", 3) as usize;
                let story = if shown { shrink::story(case, failure, context) } else { String::new() };
                stories.push(format!("seed {seed}: {story}"));
            }
        }
    }

    fn join(&mut self, other: Self) {
        self.held += other.held;
        self.compared += other.compared;
        for (class, (times, example)) in other.refused {
            self.refused.entry(class).or_insert((0, example)).0 += times;
        }
        for (class, stories) in other.failures {
            self.failures.entry(class).or_default().extend(stories);
        }
    }

    fn print(&self, count: u64) {
        for (class, (times, example)) in &self.refused {
            println!("{times:6} refused: {class}\n       ({example})");
        }
        let refused: u64 = self.refused.values().map(|(times, _)| times).sum();
        println!(
            "{count} queries: {refused} refused, {} held, {} of them compared with SQLite",
            self.held, self.compared
        );
        for (class, stories) in &self.failures {
            println!("{class:?}: {} failures", stories.len());
            stories.iter().for_each(|story| println!("{story}"));
        }
    }
}
