//! `scumble lab limits FILE`: what nobody can beat, beside each release of a project.

use crate::failure::Failure;
use crate::output::{print, print_line};
use clap::Args;
use scumble::quantity::{Delta, Epsilon, Exact, rounded_down, rounded_up};
use scumble::scope::Scope;
use scumble_adversary::limits::{information, neighbours};
use scumble_engine::budget::Odometer;
use scumble_engine::project::Project;
use scumble_engine::release::{Floor, PlannedRelease, Runner};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Which project.
#[derive(Args)]
pub struct ProjectLimitsArguments {
    /// A project file: prints the limits of each release; reads no row
    file: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

impl ProjectLimitsArguments {
    /// Plans each release, and prints what nobody with its guarantee could do better.
    pub fn run(&self) -> Result<(), Failure> {
        let Some(file) = &self.file else {
            refuse!("name a limit: neighbours, packing, singular, information, fingerprinting, or a project file");
        };
        let project = Project::open(file)?;
        let runner = Runner::new(&project);
        let mut found = Vec::new();
        for request in &project.releases {
            found.push(ReleaseLimits::of(runner.plan(request)?)?);
        }
        refuse_if!(found.is_empty(), "{}: there is no [[release]] in it", file.display());
        match self.json {
            true => print_line(&json!({ "releases": found.iter().map(ReleaseLimits::json).collect::<Vec<_>>() })),
            false => print(&found.iter().map(ReleaseLimits::words).collect::<String>()),
        }
    }
}

/// A release and what is known about all others with its guarantee.
struct ReleaseLimits {
    name: String,
    /// What it promises a person.
    promise: Option<(Epsilon, Delta)>,
    floors: Vec<Floor>,
}

impl ReleaseLimits {
    fn of(planned: PlannedRelease) -> Result<Self, Failure> {
        let spent = Odometer::of(&planned.plan.events, &Scope::Person)?;
        let own = planned.request.cost.delta.clone().unwrap_or_else(Exact::zero);
        // Without an ε at its own δ: at the least δ where it has one, or where many look.
        let usual: Exact = "1e-9".parse()?;
        let deltas = [Some(own), spent.least_delta(), Some(usual)];
        let mut promises = deltas.into_iter().flatten().filter_map(|delta| Some((spent.epsilon(&delta)?, delta)));
        let promise = match promises.next() {
            Some((epsilon, delta)) => Some((Epsilon::new(epsilon.to_f64_up())?, Delta::new(delta.to_f64_up())?)),
            None => None,
        };
        Ok(Self { name: planned.request.name, promise, floors: planned.plan.limits })
    }

    fn success(&self) -> Option<f64> {
        self.promise.map(|(epsilon, delta)| neighbours::success_at_most(epsilon, delta))
    }

    /// Nothing is known where δ is above 0.
    fn bits(&self) -> Option<f64> {
        let (epsilon, _) = self.promise.filter(|(_, delta)| delta.get() == 0.0)?;
        Some(information::nats_per_row(epsilon) / std::f64::consts::LN_2)
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "person": self.promise.map(|(epsilon, delta)| json!({ "epsilon": epsilon.get(), "delta": delta.get() })),
            "neighbour_success_at_most": self.success(),
            "mutual_information_bits_per_row": self.bits(),
            "errors": self.floors,
        })
    }

    fn words(&self) -> String {
        let Some((epsilon, delta)) = self.promise else {
            return format!("{}\n  it has no epsilon, and no limit is known for it\n", self.name);
        };
        let at = if delta.get() > 0.0 { format!(" at delta {delta}") } else { String::new() };
        let mut text = format!("{} (a person: epsilon {}{at})\n", self.name, rounded_up(epsilon.get(), 6));
        if let Some(most) = self.success() {
            let most = rounded_up(most, 6);
            text.push_str(&format!(
                "  with this guarantee, two neighbours are distinguished with probability at most {most}, and both \
                    are answered within half of their distance at most as often (Kairouz, Oh, Viswanath 2015)\n"
            ));
        }
        if let Some(bits) = self.bits() {
            let bits = rounded_up(bits, 6);
            text.push_str(&format!(
                "  and tells at most {bits} bits about a row, if rows are independent (survey 7.9.5, sharper)\n"
            ));
        }
        for floor in &self.floors {
            let (least, factor) = (rounded_down(floor.least, 6), floor.factor());
            let times = factor.map_or(String::new(), |factor| format!(", {factor:.2} times that"));
            let own = match floor.expected.is_finite() {
                true => format!("this release has {}{times}", rounded_up(floor.expected, 6)),
                false => "that of this release depends on the data".to_string(),
            };
            let (column, error, about) = (&floor.column, &floor.error, &floor.about);
            text.push_str(&format!(
                "  {column}: nobody promises a {error} below {least} for every table; {own} ({about})\n"
            ));
        }
        if self.floors.is_empty() {
            text.push_str("  errors: no lower bound is known\n");
        }
        text
    }
}
