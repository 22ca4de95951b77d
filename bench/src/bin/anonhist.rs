//! Our side of `bench/run anonhist`: CPU seconds for an anonymized histogram of counts that are in memory.
//!
//! `anonhist COUNTS EPSILON` reads little-endian u64 counts and prints one JSON line.

use scumble::mechanism::anonymized_histogram::{AnonymizedHistogram, ElementCount, Partition};
use scumble::noise::SecureSource;
use scumble::quantity::Epsilon;
use scumble::{Scope, Target};
use std::error::Error;

/// CPU seconds of one run of `work`: repeated for a second, since the kernel brings its count up to date only every few milliseconds.
fn cpu_seconds<T>(mut work: impl FnMut() -> Result<T, Box<dyn Error>>) -> Result<(f64, T), Box<dyn Error>> {
    let used = || -> Result<f64, Box<dyn Error>> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
        Ok(text.split_whitespace().next().ok_or("empty schedstat")?.parse::<f64>()? / 1e9)
    };
    let (start, mut repeats) = (used()?, 0u32);
    loop {
        let result = work()?;
        repeats += 1;
        let spent = used()? - start;
        if spent >= 1.0 {
            return Ok((spent / f64::from(repeats), result));
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, path, epsilon] = &arguments[..] else { return Err("usage: anonhist COUNTS EPSILON".into()) };
    let bytes = std::fs::read(path)?;
    let counts: Vec<u64> =
        bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect();
    let mechanism = AnonymizedHistogram::within(
        Target::pure(epsilon.parse::<Epsilon>()?),
        Scope::Presence,
        ElementCount::AtMost(counts.iter().sum()),
    )?;
    let mut bits = SecureSource::new()?;
    let (sort_seconds, partition) = cpu_seconds(|| Ok(Partition::from_counts(counts.iter().copied())?))?;
    let (release_seconds, released) = cpu_seconds(|| Ok(mechanism.release(&partition, &mut bits)?))?;
    let json = serde_json::json!({
        "sort_seconds": sort_seconds,
        "release_seconds": release_seconds,
        "error": released.partition.distance(&partition),
        "rows": released.partition.runs().len(),
    });
    println!("{json}");
    Ok(())
}
