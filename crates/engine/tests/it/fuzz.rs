//! The fuzz targets on stable: always their corpus, and mutations of it for SCUMBLE_FUZZ_SECONDS each, from
//! SCUMBLE_SEED.
//!
//! A coverage-guided fuzzer finds more (`fuzz/README.md`); this one needs nothing but the build of the other tests.

#[path = "../../../../fuzz/src/lib.rs"]
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};
use std::{env, fs, path::Path};

/// Words of the formats, among numbers at the edges of theirs.
const WORDS: [&str; 48] = [
    "0",
    "-1",
    "1e308",
    "-1e-320",
    "NaN",
    "inf",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "0.1",
    "\"",
    "'",
    "''",
    "\\",
    "\n",
    "\r\n",
    "\r",
    ",",
    ";",
    "\u{feff}",
    "\u{0}",
    "é",
    "🦀",
    "null",
    "true",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    " NULL ",
    " AND ",
    " OR ",
    " NOT ",
    "CAST(",
    " AS ",
    " BETWEEN ",
    " GROUP BY ",
    "COUNT(*)",
    "SELECT ",
    " JOIN ",
    "--",
    "/*",
    "person",
    "\"delta\": ",
    "epsilon = ",
    "\"times\": ",
];

/// Random choices from a seed (SplitMix64): a failure can be had again.
struct Choices(u64);

impl Choices {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % end.max(1) as u64) as usize
    }

    /// A stretch of the bytes, short ones more often than long ones.
    fn stretch(&mut self, length: usize) -> std::ops::Range<usize> {
        let begin = self.below(length + 1);
        let longest = 1 << self.below(8);
        begin..length.min(begin + self.below(longest + 1))
    }

    /// One of the corpus, changed in a few places.
    fn mutated(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = corpus[self.below(corpus.len())].clone();
        for _ in 0..=self.below(4) {
            let here = self.stretch(bytes.len());
            match self.below(7) {
                0 => drop(bytes.drain(here)),
                1 => here.for_each(|i| bytes[i] ^= 1 << self.below(8)),
                2 => drop(bytes.splice(here, WORDS[self.below(WORDS.len())].bytes())),
                3 => drop(bytes.splice(here.start..here.start, WORDS[self.below(WORDS.len())].bytes())),
                4 => {
                    let again = bytes[here.clone()].repeat(1 + self.below(3));
                    bytes.splice(here.end..here.end, again);
                }
                5 => {
                    let other = &corpus[self.below(corpus.len())];
                    bytes.splice(here, other[self.stretch(other.len())].iter().copied());
                }
                _ => here.for_each(|i| bytes[i] = [0, 1, 127, 128, 255, b'9', b'-', b' '][self.below(8)]),
            }
        }
        bytes
    }
}

/// The corpus of a target, in the order of its names.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "the corpus of {name} is empty");
    files.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn number(variable: &str, otherwise: u64) -> u64 {
    env::var(variable).map_or(otherwise, |text| text.parse().expect("a whole number"))
}

/// Runs one input; says which one it was, so that it can join the corpus, and goes on panicking.
fn run(name: &str, target: fn(&[u8]), bytes: &[u8]) -> Duration {
    let began = Instant::now();
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(bytes))) {
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}"));
        let _ = fs::write(&kept, bytes);
        eprintln!("{name} failed on {} ({} bytes): {}", kept.display(), bytes.len(), String::from_utf8_lossy(bytes));
        resume_unwind(panic);
    }
    began.elapsed()
}

fn fuzz(name: &str, target: fn(&[u8])) {
    let corpus = corpus(name);
    let mut slowest = corpus.iter().map(|bytes| run(name, target, bytes)).max().unwrap_or_default();
    let end = Instant::now() + Duration::from_secs(number("SCUMBLE_FUZZ_SECONDS", 0));
    let mut choices = Choices(number("SCUMBLE_SEED", 1));
    let mut runs = 0;
    while Instant::now() < end {
        slowest = slowest.max(run(name, target, &choices.mutated(&corpus)));
        runs += 1;
    }
    println!("{name}: {} of the corpus, {runs} mutations, the slowest {slowest:?}", corpus.len());
}

#[test]
fn project_files() {
    fuzz("project", targets::project);
}

#[test]
fn events() {
    fuzz("events", targets::events);
}

#[test]
fn queries() {
    fuzz("sql", targets::sql);
}

#[test]
fn ledgers() {
    fuzz("ledger", targets::ledger);
}

#[test]
fn csv_files() {
    fuzz("csv", targets::csv);
}
