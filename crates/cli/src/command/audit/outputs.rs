//! `scumble lab audit outputs`.

use super::{claim, confidence, line, verdict};
use crate::failure::Failure;
use crate::input;
use clap::Args;
use scumble::quantity::{Beta, Delta, Epsilon, rounded_down, rounded_up};
use scumble_adversary::audit::{Claim, Comparison, Outputs, compare};
use scumble_engine::release::BETA;
use scumble_wire::LocatedValue;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Two samples, and what is claimed.
#[derive(Args)]
pub struct AuditOutputsArguments {
    /// Outputs on a table, one per line in the order of the runs: numbers, lists of numbers, words
    table: PathBuf,
    /// Outputs on its neighbour
    neighbour: PathBuf,
    #[command(flatten)]
    asked: AuditClaimArguments,
}

/// What is claimed, and how sure the answer is to be.
#[derive(Args)]
pub struct AuditClaimArguments {
    /// The ε that is claimed, at --delta
    #[arg(long, conflicts_with = "claim")]
    epsilon: Option<Epsilon>,
    /// The δ at which ε is bounded [default: 0, or the δ of the release]
    #[arg(long)]
    delta: Option<Delta>,
    /// A JSON file with the claim: a list of events, {"gaussian_mu": …} or {"epsilon": …, "delta": …}
    #[arg(long, value_name = "FILE")]
    claim: Option<PathBuf>,
    /// The probability of a false statement of the audit
    #[arg(long, default_value_t = BETA)]
    beta: f64,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// The answer, and whether the claim is refuted.
pub fn run(arguments: &AuditOutputsArguments) -> Result<(String, bool), Failure> {
    arguments.asked.of(&read(&arguments.table)?, &read(&arguments.neighbour)?)
}

fn read(path: &Path) -> Result<Outputs, Failure> {
    Outputs::read(&input::text(path)?).map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
}

/// Refuses ε = 0 at δ = 0: a mechanism with that promise publishes nothing that depends on the data, and outputs say
/// nothing about that.
pub fn something_published(epsilon: Epsilon) -> Result<(), Failure> {
    match epsilon.get() {
        0.0 => Err(Failure::Input(
            "--epsilon 0 with delta 0 would publish nothing of the data; give the epsilon that was claimed, above 0"
                .to_string(),
        )),
        _ => Ok(()),
    }
}

impl AuditClaimArguments {
    /// δ, if given, β and whether JSON is wanted.
    pub(super) fn settings(&self) -> (Option<Delta>, f64, bool) {
        (self.delta, self.beta, self.json)
    }

    /// δ, which is 0 unless somebody says otherwise.
    fn delta(&self) -> Result<Delta, Failure> {
        Ok(self.delta.map_or_else(|| Delta::new(0.0), Ok)?)
    }

    fn claim(&self) -> Result<Option<Claim>, Failure> {
        if let Some(file) = &self.claim {
            let document = input::json(file)?;
            return claim(&LocatedValue::root(&document)).map(Some).map_err(|wrong| wrong.at(file));
        }
        let delta = self.delta()?;
        if let (Some(epsilon), 0.0) = (self.epsilon, delta.get()) {
            something_published(epsilon)?;
        }
        Ok(self.epsilon.map(|epsilon| Claim::Approximate { epsilon, delta }))
    }

    /// The answer, and whether the claim is refuted.
    pub(super) fn of(&self, table: &Outputs, neighbour: &Outputs) -> Result<(String, bool), Failure> {
        let (claim, delta) = (self.claim()?, self.delta()?);
        let found = compare(table, neighbour, claim.as_ref(), delta, Beta::new(self.beta)?)?;
        let refuted = found.verdict.is_some_and(|(_, refuted)| refuted);
        Ok((if self.json { self.as_json(&found, delta) } else { self.in_words(&found, delta) }, refuted))
    }

    fn as_json(&self, found: &Comparison, delta: Delta) -> String {
        let counts = &found.counts;
        line(&json!({
            "epsilon_lower": found.epsilon_lower, "mu_lower": found.confidence.mu_lower(),
            "delta": delta.get(), "beta": self.beta,
            "event": found.event.to_string(), "swapped": found.swapped,
            "hits": counts.hits(), "runs": counts.runs(),
            "neighbour_hits": counts.neighbour_hits(), "neighbour_runs": counts.neighbour_runs(),
            "p_low": found.confidence.p_low, "q_high": found.confidence.q_high,
            "allowed": found.verdict.map(|(allowed, _)| allowed),
            "refuted": found.verdict.is_some_and(|(_, refuted)| refuted),
        }))
    }

    fn in_words(&self, found: &Comparison, delta: Delta) -> String {
        let counts = &found.counts;
        let (table, neighbour) = if found.swapped { ("second", "first") } else { ("first", "second") };
        let claimed = found.verdict.map_or_else(String::new, |(allowed, _)| {
            format!("  the claim allows it a probability of at most {}\n", rounded_up(allowed, 6))
        });
        format!(
            "{}\nε ≥ {} at δ = {}, with confidence {}\n  event: {}\n  seen in {} of {} runs of the {table} file: probability at least {}\n  \
             and in {} of {} of the {neighbour}: probability at most {}\n{claimed}",
            verdict(found.verdict.map(|(_, refuted)| refuted), confidence(self.beta)),
            rounded_down(found.epsilon_lower, 6),
            delta,
            confidence(self.beta),
            found.event,
            counts.hits(),
            counts.runs(),
            rounded_down(found.confidence.p_low, 6),
            counts.neighbour_hits(),
            counts.neighbour_runs(),
            rounded_up(found.confidence.q_high, 6),
        )
    }
}
