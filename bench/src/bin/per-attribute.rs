//! Per-attribute privacy: marginals of the example table, and heavy hitters of a million people; CPU seconds of this thread.
//!
//! `per-attribute marginals [RELEASES]`, `per-attribute heavy-hitters [PEOPLE] [ATTRIBUTES]`, `per-attribute large [UNIVERSE] [ORDER] [PEOPLE] [ROUNDS]`,
//! `per-attribute table`: one JSON object per line.

use scumble::harness::example_table;
use scumble::mechanism::heavy_hitters::{HeavyHitters, JoinShape, ThresholdRule};
use scumble::noise::{BitSource, SecureSource};
use scumble::quantity::{Beta, Epsilon, Rho};
use scumble::workload::planner::{self, RhoLimits};
use scumble::workload::{CountModel, Domain, Queries, Subset};
use scumble::{Scope, Target};
use serde_json::json;

fn main() -> scumble::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |place: usize, default: u64| arguments.get(place).and_then(|text| text.parse().ok()).unwrap_or(default);
    match arguments.first().map(String::as_str) {
        Some("table") => table(),
        Some("large") => {
            let universe = arguments.get(1).map_or("2x20", String::as_str);
            large(universe, number(2, 2) as usize, number(3, 100_000), number(4, 10) as u32)
        }
        Some("heavy-hitters") => heavy_hitters(number(1, 1_000_000), number(2, 64)),
        _ => marginals(number(1, 5)),
    }
}

/// CPU seconds that this process has used, from /proc (in hundredths).
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let fields: Vec<f64> = after_name.split_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect();
    fields.get(11..13).map_or(0.0, |times| times.iter().sum::<f64>() / 100.0)
}

fn marginals(releases: u64) -> scumble::Result<()> {
    let domain = Domain::new(example_table::SIZES.to_vec())?;
    let counts = domain.count(&example_table::columns())?;
    let exact: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
    let limits = RhoLimits::of(Target::zcdp(Rho::new(0.014973)?), Scope::Presence)?;
    for _ in 0..releases {
        let before = cpu_seconds();
        let plan = planner::residual(&domain, 3, &limits)?;
        let model = plan.release(&counts, &mut SecureSource::new()?)?.model()?;
        let fitted = cpu_seconds();
        let rows: Vec<f64> = model.whole_counts().iter().map(|&count| count as f64).collect();
        let after = cpu_seconds();
        let (pairs, _) = error(&domain, &exact, &rows, 2);
        let (triples, worst) = error(&domain, &exact, &rows, 3);
        let (model_pairs, _) = error(&domain, &exact, model.cells(), 2);
        let (model_triples, model_worst) = error(&domain, &exact, model.cells(), 3);
        let attributes: Vec<f64> = (0..8).map(|attribute| plan.rho(Subset::of(&[attribute])).get()).collect();
        let line = json!({
            "pairs": pairs, "triples": triples, "worst": worst,
            "model_pairs": model_pairs, "model_triples": model_triples, "model_worst": model_worst,
            "seconds_model": fitted - before, "seconds": after - before,
            "rho_presence": plan.rho_presence().get(), "rho_person": plan.rho_person().get(), "rho_attributes": attributes,
        });
        println!("{line}");
    }
    Ok(())
}

/// The attributes of a large universe, as `2x20` (twenty of two values), or `10x4,3`.
fn sizes(text: &str) -> Vec<u32> {
    let some = |part: &str| {
        let mut numbers = part.split('x').map(|number| number.parse().unwrap_or(2));
        let size = numbers.next().unwrap_or(2);
        vec![size; numbers.next().unwrap_or(1) as usize]
    };
    text.split(',').flat_map(some).collect()
}

/// A large universe: marginals of `order` attributes of this many people at ρ = 0.05 for a person, by projection and by rounds of MWEM (one
/// query each, and as many disjoint ones as there are): CPU seconds, and the root mean squared error of a count beside what was promised.
fn large(universe: &str, order: usize, people: u64, rounds: u32) -> scumble::Result<()> {
    let domain = Domain::new(sizes(universe))?;
    let mut bits = SecureSource::new()?;
    let mut counts = vec![0u64; domain.cells()];
    // Half of the people have their values by chance, the others repeat one value in three of four attributes: strong correlations.
    for i in 0..people {
        let (first, second) = (bits.next_u64(), bits.next_u64());
        let cell = domain.sizes().iter().enumerate().fold(0, |cell, (attribute, &size)| {
            let word = if i % 2 == 0 || attribute % 4 == 3 {
                second.rotate_left(attribute as u32 * 7) >> 24
            } else {
                first >> 24
            };
            cell * size as usize + (word % u64::from(size)) as usize
        });
        counts[cell] += 1;
    }
    let limits = RhoLimits { person: Some(Rho::new(0.05)?), ..RhoLimits::default() };
    let error = |queries: &Queries, cells: &[f64]| {
        let exact = queries.answers(&counts);
        let squares = queries
            .answers(cells)
            .iter()
            .zip(&exact)
            .map(|(answer, &exact)| (answer - exact as f64).powi(2))
            .sum::<f64>();
        (squares / exact.len() as f64).sqrt()
    };
    let before = cpu_seconds();
    // A change of a person's values leaves the number of people as it is.
    let (projection, _) = planner::projection(&domain, order, &limits)?;
    let projected = projection.release(&counts, people, &mut bits)?;
    let seconds = cpu_seconds() - before;
    let tables = (1..=order).flat_map(|size| Subset::all_of_size(domain.attributes(), size)).collect();
    let error_of_projection = error(projection.queries(), &projected.cells);
    let model = CountModel::new(domain.clone(), projected.cells, tables)?;
    let before = cpu_seconds();
    let rows: Vec<f64> = model.whole_counts().into_iter().map(|count| count as f64).collect();
    let seconds_rows = cpu_seconds() - before;
    let line = json!({
        "seconds_rows": seconds_rows, "error_of_rows": error(projection.queries(), &rows),
        "gap_share": projected.gap / projection.squared_noise(),
        "universe": universe, "method": "projection", "order": order, "cells": domain.cells(), "queries": projection.queries().len(),
        "people": people, "seconds": seconds, "noise": projection.sigma().get(), "error": error_of_projection,
        "promised": projection.expected_error(people), "gap": projected.gap, "peak_megabytes": peak_megabytes(),
    });
    println!("{line}");
    let before = cpu_seconds();
    let fitted = planner::residual(&domain, order, &limits)?.release(&counts, &mut bits)?.model()?;
    let line = json!({
        "universe": universe, "method": "residual", "order": order, "cells": domain.cells(), "queries": projection.queries().len(), "people": people,
        "seconds": cpu_seconds() - before, "error": error(projection.queries(), fitted.cells()), "peak_megabytes": peak_megabytes(),
    });
    println!("{line}");
    for disjoint in [1, domain.attributes() / order] {
        let before = cpu_seconds();
        let (mwem, _) = planner::mwem(&domain, order, rounds, disjoint, &limits)?;
        let cells = mwem.release(&counts, people, &mut bits)?;
        let seconds = cpu_seconds() - before;
        let uniform = vec![people as f64 / domain.cells() as f64; domain.cells()];
        let line = json!({
            "universe": universe, "method": "mwem", "order": order, "cells": domain.cells(), "queries": mwem.queries().len(), "people": people,
            "rounds": rounds, "queries_per_round": disjoint, "seconds": seconds, "error": error(mwem.queries(), &cells),
            "error_of_no_data": error(mwem.queries(), &uniform), "peak_megabytes": peak_megabytes(),
        });
        println!("{line}");
    }
    Ok(())
}

/// The most memory that this process has had, in megabytes.
fn peak_megabytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn table() -> scumble::Result<()> {
    let domain = Domain::new(example_table::SIZES.to_vec())?;
    println!("{}", json!({ "cells": domain.count(&example_table::columns())? }));
    Ok(())
}

fn error(domain: &Domain, exact: &[f64], estimate: &[f64], order: usize) -> (f64, f64) {
    let (n, m): (f64, f64) = (exact.iter().sum(), estimate.iter().sum());
    let distances: Vec<f64> = Subset::all_of_size(domain.attributes(), order)
        .into_iter()
        .map(|table| {
            let (left, right) = (domain.marginal(exact, table), domain.marginal(estimate, table));
            left.iter().zip(&right).map(|(left, right)| (left / n - right / m).abs()).sum::<f64>() / 2.0
        })
        .collect();
    (distances.iter().sum::<f64>() / distances.len() as f64, distances.iter().copied().fold(0.0, f64::max))
}

/// A fifth of the people has one of ten strings; everybody else has random bits.
fn heavy_hitters(people: u64, attributes: u64) -> scumble::Result<()> {
    let mut bits = SecureSource::new()?;
    let strings: Vec<u64> = (0..10).map(|_| bits.next_u64()).collect();
    let records: Vec<u64> =
        (0..people).map(|i| if i % 5 == 0 { strings[(i / 5 % 10) as usize] } else { bits.next_u64() }).collect();
    let columns: Vec<Vec<u8>> =
        (0..attributes).map(|j| records.iter().map(|record| (record >> (j % 64) & 1) as u8).collect()).collect();
    let before = cpu_seconds();
    let targets = vec![Epsilon::new(1.0)?; attributes as usize];
    // The substitution scope: the number of people is public, and the thresholds may follow it.
    let rule = ThresholdRule { bottom: (people / 200) as i64, ..ThresholdRule::default() };
    let tree = rule.calibrate(&JoinShape::balanced(attributes as usize)?, &targets)?;
    let found_from = tree.found_from(people, Beta::new(0.01)?);
    let (attribute, person, presence) = (tree.epsilon(&[0]).get(), tree.epsilon_person().get(), tree.epsilon_presence().get());
    let scale = tree.root().scale.get();
    let finder = HeavyHitters::new(tree, vec![2; attributes as usize])?;
    let found = finder.release(&columns, &mut bits)?;
    let seconds = cpu_seconds() - before;
    let right = found.strings.iter().filter(|found| {
        strings
            .iter()
            .any(|string| found.values.iter().zip(0..).all(|(&value, j)| value == (string >> (j % 64) & 1) as u32))
    });
    let line = json!({
        "people": people, "attributes": attributes, "seconds": seconds, "found": found.strings.len(), "right": right.count(),
        "found_from": found_from, "scale": scale, "epsilon_attribute": attribute, "epsilon_person": person, "epsilon_presence": presence,
    });
    println!("{line}");
    Ok(())
}
