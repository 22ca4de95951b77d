//! Per-attribute privacy: marginals of the example table, and heavy hitters of a million people; CPU seconds of this thread.
//!
//! `partial marginals [RELEASES]`, `partial heavy-hitters [PEOPLE] [ATTRIBUTES]`, `partial large [ATTRIBUTES]`, `partial table`: one JSON object
//! per line.

use scumble::harness::example_table;
use scumble::mechanism::heavy_hitters::{HeavyHitters, Rule, Shape};
use scumble::noise::{BitSource, SecureSource};
use scumble::quantity::{Beta, Epsilon, Rho};
use scumble::workload::planner::{self, Limits};
use scumble::workload::{Domain, Queries, Subset, residual::Plan};
use serde_json::json;

fn main() -> scumble::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: u64| arguments.get(place).and_then(|text| text.parse().ok()).unwrap_or(default);
    match arguments.first().map(String::as_str) {
        Some("table") => table(),
        Some("large") => large(number(1, 20) as usize),
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
    let rho = Rho::new(0.014973)?;
    for _ in 0..releases {
        let before = cpu_seconds();
        let plan = Plan::for_marginals(&domain, 3, rho)?;
        let model = plan.release(&counts, &mut SecureSource::new()?)?.model()?;
        let fitted = cpu_seconds();
        let rows: Vec<f64> = model.whole_counts().iter().map(|&count| count as f64).collect();
        let after = cpu_seconds();
        let (pairs, _) = error(&domain, &exact, &rows, 2);
        let (triples, worst) = error(&domain, &exact, &rows, 3);
        let (model_pairs, _) = error(&domain, &exact, model.cells(), 2);
        let (model_triples, model_worst) = error(&domain, &exact, model.cells(), 3);
        let attributes: Vec<f64> = (0..8).map(|attribute| plan.rho(Subset::of(&[attribute]))).collect();
        let line = json!({
            "pairs": pairs, "triples": triples, "worst": worst,
            "model_pairs": model_pairs, "model_triples": model_triples, "model_worst": model_worst,
            "seconds_model": fitted - before, "seconds": after - before,
            "rho_presence": plan.rho_presence(), "rho_person": plan.rho_person(), "rho_attributes": attributes,
        });
        println!("{line}");
    }
    Ok(())
}

/// All pairs of so many binary attributes (2^ATTRIBUTES cells) of 100,000 people, at ρ = 0.05 for a person, by projection and by ten rounds of
/// MWEM: CPU seconds, and the root mean squared error of a count beside the noise.
fn large(attributes: usize) -> scumble::Result<()> {
    let domain = Domain::new(vec![2; attributes])?;
    let mut bits = SecureSource::new()?;
    let mut counts = vec![0u64; domain.cells()];
    // Half of the people have their bits by chance, the others repeat one bit: strong correlations.
    for i in 0..100_000u64 {
        let word = bits.next_u64() as usize % domain.cells();
        let cell = if i % 2 == 0 { word } else { (word & 1) * (domain.cells() - 1) ^ (word & (domain.cells() - 1) & 0b1011) };
        counts[cell] += 1;
    }
    let limits = Limits { person: Some(Rho::new(0.05)?), ..Limits::default() };
    let error = |queries: &Queries, cells: &[f64]| {
        let exact = queries.answers(&counts);
        let squares = queries.answers(cells).iter().zip(&exact).map(|(answer, &exact)| (answer - exact as f64).powi(2)).sum::<f64>();
        (squares / exact.len() as f64).sqrt()
    };
    let before = cpu_seconds();
    let (projection, people) = planner::projection(&domain, 2, &limits)?;
    let noisy = people.release(100_000, &mut bits);
    let projected = projection.release(&counts, noisy, &mut bits)?;
    let seconds = cpu_seconds() - before;
    let line = json!({
        "method": "projection", "cells": domain.cells(), "queries": projection.queries().len(), "seconds": seconds,
        "noise": projection.sigma().get(), "error": error(projection.queries(), &projected.cells), "gap": projected.gap,
    });
    println!("{line}");
    let before = cpu_seconds();
    let (mwem, people) = planner::mwem(&domain, 2, 10, 1, &limits)?;
    let noisy = people.release(100_000, &mut bits);
    let cells = mwem.release(&counts, noisy, &mut bits)?;
    let seconds = cpu_seconds() - before;
    let uniform = vec![100_000.0 / domain.cells() as f64; domain.cells()];
    let line = json!({
        "method": "mwem", "cells": domain.cells(), "rounds": 10, "seconds": seconds, "error": error(mwem.queries(), &cells),
        "error_of_no_data": error(mwem.queries(), &uniform),
    });
    println!("{line}");
    Ok(())
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
    let records: Vec<u64> = (0..people).map(|i| if i % 5 == 0 { strings[(i / 5 % 10) as usize] } else { bits.next_u64() }).collect();
    let columns: Vec<Vec<u8>> =
        (0..attributes).map(|j| records.iter().map(|record| (record >> (j % 64) & 1) as u8).collect()).collect();
    let before = cpu_seconds();
    let targets = vec![Epsilon::new(1.0)?; attributes as usize];
    // The substitution scope: the number of people is public, and the thresholds may follow it.
    let rule = Rule { bottom: (people / 200) as i64, ..Rule::default() };
    let tree = rule.calibrate(&Shape::balanced(attributes as usize)?, &targets)?;
    let found_from = tree.found_from(people, Beta::new(0.01)?);
    let (attribute, person, presence) = (tree.epsilon(&[0]), tree.epsilon_person(), tree.epsilon_presence());
    let scale = tree.root().scale.get();
    let finder = HeavyHitters::new(tree, vec![2; attributes as usize])?;
    let found = finder.release(&columns, &mut bits)?;
    let seconds = cpu_seconds() - before;
    let right = found.strings.iter().filter(|found| {
        strings.iter().any(|string| found.values.iter().zip(0..).all(|(&value, j)| value == (string >> (j % 64) & 1) as u32))
    });
    let line = json!({
        "people": people, "attributes": attributes, "seconds": seconds, "found": found.strings.len(), "right": right.count(),
        "found_from": found_from, "scale": scale, "epsilon_attribute": attribute, "epsilon_person": person, "epsilon_presence": presence,
    });
    println!("{line}");
    Ok(())
}
