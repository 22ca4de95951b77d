//! `scumble lab compare-noise`: which noise for a histogram, at equal privacy.

use crate::failure::Failure;
use crate::output::print;
use clap::Args;
use scumble::calibrate::Target;
use scumble::mechanism::additive::Noise;
use scumble::mechanism::plan::{NoiseCandidate, NoisePlanner};
use scumble::quantity::{Beta, Delta, Epsilon, Omega, Rho};
use scumble::scope::Scope;
use scumble_adversary::limits::tcdp::histogram_error_lower;
use scumble_chart::{Axis, LineChart, Series};
use serde_json::json;
use std::path::PathBuf;

/// What to compare.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble lab compare-noise --cells 1e6 --epsilon 1 --delta 1e-9")]
pub struct CompareNoiseArguments {
    /// How many cells the histogram has
    #[arg(long, default_value = "1e6", value_parser = whole_number)]
    cells: u64,
    /// The most cells that are not empty [default: all]
    #[arg(long, value_parser = whole_number)]
    occupied: Option<u64>,
    /// How many such histograms meet the target together
    #[arg(long, default_value_t = 1)]
    releases: u64,
    /// The probability that some cell is off by more than the maximum error
    #[arg(long, default_value = "0.05")]
    beta: Beta,
    /// The target ε, with --delta
    #[arg(long, requires = "delta", conflicts_with_all = ["rho", "omega"], required_unless_present = "rho")]
    epsilon: Option<Epsilon>,
    /// The target δ, with --epsilon
    #[arg(long, requires = "epsilon")]
    delta: Option<Delta>,
    /// The target ρ of truncated concentrated privacy, with --omega
    #[arg(long, requires = "omega")]
    rho: Option<Rho>,
    /// The target ω, with --rho
    #[arg(long, requires = "rho")]
    omega: Option<Omega>,
    /// presence (an owner is added or removed) or person (an owner is replaced)
    #[arg(long, default_value = "presence", value_parser = scope)]
    scope: Scope,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    /// Also draws the maximum error against the number of cells into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Compares, and draws.
pub fn run(arguments: &CompareNoiseArguments) -> Result<(), Failure> {
    let target = target(arguments)?;
    let plans = NoisePlanner::within(target, &arguments.scope, arguments.releases)?;
    let candidates = plans.candidates(arguments.cells, occupied(arguments, arguments.cells), arguments.beta)?;
    let limit = limit(arguments, target)?;
    let text =
        if arguments.json { as_json(arguments, &candidates, limit) } else { as_table(arguments, &candidates, limit) };
    if let Some(path) = &arguments.svg {
        let svg = chart(arguments, target, &plans)?;
        std::fs::write(path, svg).map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
    }
    print(&text)
}

/// How many of this many cells are occupied at most.
fn occupied(arguments: &CompareNoiseArguments, cells: u64) -> u64 {
    arguments.occupied.unwrap_or(cells)
}

fn target(arguments: &CompareNoiseArguments) -> Result<Target, Failure> {
    match (arguments.epsilon, arguments.delta, arguments.rho, arguments.omega) {
        (Some(epsilon), Some(delta), None, None) => Ok(Target::Approximate(epsilon, delta)),
        (None, None, Some(rho), Some(omega)) => Ok(Target::Truncated(rho, omega)),
        _ => Err(Failure::Input("give either --epsilon and --delta, or --rho and --omega".to_string())),
    }
}

/// What nobody can beat: known for truncated concentrated privacy where an owner is replaced.
fn limit(arguments: &CompareNoiseArguments, target: Target) -> Result<Option<f64>, Failure> {
    match (target, &arguments.scope) {
        (Target::Truncated(rho, omega), Scope::Person) if arguments.releases == 1 => {
            Ok(Some(histogram_error_lower(rho, omega, arguments.cells as f64)?))
        }
        _ => Ok(None),
    }
}

fn parameters(candidate: &NoiseCandidate) -> String {
    match &candidate.noise {
        Noise::Laplace(noise) => {
            let threshold = candidate.threshold.map_or_else(String::new, |least| format!(", threshold {least}"));
            format!("scale {:.4}{threshold}", noise.scale().get())
        }
        Noise::Gaussian(noise) => format!("sigma {:.4}", noise.sigma().get()),
        Noise::TruncatedLaplace(noise) => format!("scale {:.4}, bound {}", noise.scale().get(), noise.bound()),
        Noise::SinhNormal(noise) => format!("sigma {:.4}, a {:.4}", noise.sigma().get(), noise.a().get()),
        other => other.name().to_string(),
    }
}

fn as_table(arguments: &CompareNoiseArguments, candidates: &[NoiseCandidate], limit: Option<f64>) -> String {
    let line = |cells: [&str; 4]| format!("{:28}{:30}{:>14}{:>20}\n", cells[0], cells[1], cells[2], cells[3]);
    let mut text = line(["noise", "parameters", "maximum error", "standard deviation"]);
    for candidate in candidates {
        let maximum = format!("{:.0}", candidate.maximum_error);
        let deviation = format!("{:.3}", candidate.standard_deviation);
        text += &line([candidate.name(), &parameters(candidate), &maximum, &deviation]);
    }
    let least = candidates.iter().min_by(|a, b| a.standard_deviation.total_cmp(&b.standard_deviation));
    if let (Some(first), Some(least)) = (candidates.first(), least) {
        text += &format!(
            "least maximum error over {} cells: {}; least standard deviation: {}\n",
            arguments.cells,
            first.name(),
            least.name()
        );
    }
    if let Some(limit) = limit {
        text += &format!("no mechanism with this guarantee has a maximum error below {limit}\n");
    }
    text
}

fn as_json(arguments: &CompareNoiseArguments, candidates: &[NoiseCandidate], limit: Option<f64>) -> String {
    let one = |candidate: &NoiseCandidate| {
        let mut row = json!({
            "noise": candidate.name(),
            "maximum_error": candidate.maximum_error,
            "standard_deviation": candidate.standard_deviation,
        });
        match &candidate.noise {
            Noise::Laplace(noise) => row["scale"] = json!(noise.scale().get()),
            Noise::Gaussian(noise) => row["sigma"] = json!(noise.sigma().get()),
            Noise::TruncatedLaplace(noise) => {
                row["scale"] = json!(noise.scale().get());
                row["bound"] = json!(noise.bound());
            }
            Noise::SinhNormal(noise) => {
                row["sigma"] = json!(noise.sigma().get());
                row["a"] = json!(noise.a().get());
            }
            _ => {}
        }
        if let Some(threshold) = candidate.threshold {
            row["threshold"] = json!(threshold);
        }
        row
    };
    let all: Vec<_> = candidates.iter().map(one).collect();
    let whole = json!({
        "cells": arguments.cells,
        "occupied": occupied(arguments, arguments.cells),
        "releases": arguments.releases,
        "beta": arguments.beta.get(),
        "scope": arguments.scope.to_string(),
        "candidates": all,
        "maximum_error_limit": limit,
    });
    format!("{whole:#}\n")
}

/// The largest number of cells drawn, as a power of ten.
const LARGEST_POWER: u32 = 15;

fn chart(arguments: &CompareNoiseArguments, target: Target, plans: &NoisePlanner) -> Result<String, Failure> {
    let title = match target {
        Target::Approximate(epsilon, delta) => {
            format!("Maximum error at ε = {epsilon}, δ = {delta}, {}", arguments.scope)
        }
        Target::Truncated(rho, omega) => format!("Maximum error at ρ = {rho}, ω = {omega}, {}", arguments.scope),
        other => format!("Maximum error at {other}, {}", arguments.scope),
    };
    let mut curves: Vec<(&'static str, Vec<(f64, f64)>)> = Vec::new();
    for power in 0..=LARGEST_POWER {
        let cells = 10u64.pow(power);
        for candidate in plans.candidates(cells, occupied(arguments, cells).min(cells), arguments.beta)? {
            let point = (cells as f64, candidate.maximum_error);
            match curves.iter_mut().find(|(name, _)| *name == candidate.name()) {
                Some((_, points)) => points.push(point),
                None => curves.push((candidate.name(), vec![point])),
            }
        }
    }
    curves.sort_by_key(|(name, _)| *name);
    let mut chart = LineChart::new(title).x(Axis::log("cells")).y(Axis::linear("maximum error"));
    for (name, points) in curves {
        chart = chart.line(Series::new(name, points));
    }
    Ok(chart.to_svg())
}

/// A whole number, also as 1e6.
fn whole_number(text: &str) -> Result<u64, String> {
    let refused = || format!("'{text}' is not a whole number of cells from 1 to 1e18, such as 1000 or 1e6");
    let value: f64 = text.trim().parse().map_err(|_| refused())?;
    if value.fract() == 0.0 && (1.0..=1e18).contains(&value) { Ok(value as u64) } else { Err(refused()) }
}

fn scope(text: &str) -> Result<Scope, String> {
    match text {
        "presence" => Ok(Scope::Presence),
        "person" => Ok(Scope::Person),
        _ => Err(format!("'{text}' is not presence or person")),
    }
}
