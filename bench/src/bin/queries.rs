//! Questions to a model of many cells: `queries CELLS QUESTIONS` prints the CPU seconds of one question and of one update as JSON.

use scumble::noise::{BitSource, InsecureSeededSource};
use scumble::quantity::{Beta, Epsilon};
use scumble::workload::interactive::{CellWeights, InteractivePlan, LinearQuery, Reply};
use scumble::{Scope, Target};
use std::error::Error;

/// How often a pass is repeated: the kernel brings its count up to date only every few milliseconds.
const REPEATS: u32 = 10;

fn used() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("empty schedstat")?.parse::<f64>()? / 1e9)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|word| word.parse::<usize>());
    let (cells, questions) = (arguments.next().unwrap_or(Ok(10_000_000))?, arguments.next().unwrap_or(Ok(20))?);
    let mut bits = InsecureSeededSource::new(20_261_116);
    let counts: Vec<u64> = (0..cells).map(|cell| u64::from(cell % 3 == 0)).collect();
    let people = counts.iter().sum::<u64>();
    let plan = InteractivePlan::within(
        Target::pure(Epsilon::new(1.0)?),
        Scope::Person,
        cells as u64,
        people,
        questions as u64,
        100,
        Beta::new(0.05)?,
    )?;
    let mut model = CellWeights::uniform(cells);
    let (mut asked, mut updated, mut checksum) = (Vec::new(), Vec::new(), 0u64);
    for _ in 0..questions {
        let odd = bits.next_u64() | 1;
        let question = LinearQuery::of((0..cells as u64).map(|cell| (cell.wrapping_mul(odd) >> 17) & 1 == 1));
        // One question: a pass over model and counts, the test, and the draw.
        let begun = used()?;
        let (mut count, mut expected) = (0, 0);
        for _ in 0..REPEATS {
            let round = plan.open(&mut bits);
            let share;
            (count, share) = model.look(&question, &counts);
            expected = plan.expected(share);
            if let Reply::Measured(noisy) = plan.ask(round, count, expected, &mut bits) {
                checksum = checksum.wrapping_add(noisy.unsigned_abs());
            }
        }
        asked.push((used()? - begun) / f64::from(REPEATS));
        checksum = checksum.wrapping_add(count ^ expected);
        let begun = used()?;
        for repeat in 0..REPEATS {
            // There and back again: the model stays a model.
            model.update(&question, if repeat % 2 == 0 { 0.1 } else { -0.1 });
        }
        updated.push((used()? - begun) / f64::from(REPEATS));
        model.update(&question, plan.step(count as i64, expected));
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let shown = serde_json::json!({
        "cells": cells, "questions": questions, "ask_seconds": median(&mut asked), "update_seconds": median(&mut updated),
        "checksum": checksum,
    });
    println!("{shown}");
    Ok(())
}
