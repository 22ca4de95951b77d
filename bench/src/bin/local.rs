//! A frequency oracle in memory: `local ORACLE VALUES EPSILON FILE` reads everybody's value from FILE (one in a line), makes a report for each, collects them, and prints as JSON what each side
//! took, in CPU seconds, and the estimates. Reports are texts, as devices send them.

use scumble::SecureSource;
use scumble::parties::local::{FrequencyOracle, ReportKind};
use scumble::quantity::{Beta, Epsilon};
use serde_json::json;
use std::error::Error;
use std::fmt::Write;

/// The clock is coarse beside one turn.
const TURNS: u32 = 20;

fn used() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("empty schedstat")?.parse::<f64>()? / 1e9)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, oracle, values, epsilon, file] = &arguments[..] else {
        return Err("usage: local hadamard|unary VALUES EPSILON FILE".into());
    };
    let kind = if oracle == "unary" { ReportKind::Unary } else { ReportKind::Hadamard };
    let oracle = FrequencyOracle::new(kind, Epsilon::new(epsilon.parse::<f64>()?)?, values.parse()?)?;
    let held: Vec<u64> = std::fs::read_to_string(file)?.lines().map(str::parse).collect::<Result<_, _>>()?;
    let mut bits = SecureSource::new()?;
    let start = used()?;
    let mut reports = String::new();
    for _ in 0..TURNS {
        reports.clear();
        for (place, value) in held.iter().enumerate() {
            if place > 0 {
                reports.push('\n');
            }
            write!(reports, "{}", oracle.report(*value, &mut bits)?)?;
        }
    }
    let reported = used()?;
    let mut counts: Vec<f64> = Vec::new();
    for _ in 0..TURNS {
        let mut tally = oracle.tally()?;
        tally.add_lines(reports.as_bytes());
        counts = tally.estimates(Beta::new(0.05)?)?.iter().map(|one| one.count).collect();
    }
    let collected = used()?;
    let (report, collect) = ((reported - start) / f64::from(TURNS), (collected - reported) / f64::from(TURNS));
    println!("{}", json!({ "report": report, "collect": collect, "counts": counts }));
    Ok(())
}
