//! `scumble lab audit`: what outputs prove against a claim.

use crate::failure::Failure;
use crate::input;
use crate::output::print;
use clap::{Args, Subcommand};
use scumble::Loss;
use scumble_adversary::audit::Claim;
use scumble_wire::{LocatedValue, PrivacyClaim, WireError, claim_at};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

mod commanded;
mod counts;
mod one_run;
pub(super) mod outputs;
mod release;

/// What to audit.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    allow_negative_numbers = true
)]
#[command(after_help = "Examples:\n  \
                  scumble lab audit scumble.toml --release \"by clinic\"\n  \
                  scumble lab audit outputs with.txt without.txt --epsilon 1")]
pub struct AuditArguments {
    #[command(flatten)]
    own: release::AuditReleaseArguments,
    #[command(flatten)]
    commanded: commanded::ExternalMechanismArguments,
    #[command(subcommand)]
    what: Option<AuditCommand>,
}

#[derive(Subcommand)]
enum AuditCommand {
    /// Compares two files of outputs: on a table and on its neighbour
    #[command(allow_negative_numbers = true)]
    #[command(after_help = "Example:\n  scumble lab audit outputs with.txt without.txt --epsilon 1")]
    Outputs(outputs::AuditOutputsArguments),
    /// Compares counts of one event that was fixed beforehand
    #[command(after_help = "Examples:\n  \
                      echo '{\"hits\": 731, \"runs\": 1000, \"neighbour_hits\": 269, \"neighbour_runs\": 1000}' > c.json\n  \
                      scumble lab audit counts c.json")]
    Counts(AuditDocumentArguments),
    /// Audits one run with canaries, by how many guesses were right
    #[command(after_help = "Example:\n  \
                      echo '{\"canaries\": 1000, \"guesses\": 1000, \"right\": 700}' | scumble lab audit one-run -")]
    OneRun(AuditDocumentArguments),
}

/// A question in a file.
#[derive(Args)]
struct AuditDocumentArguments {
    /// A JSON document; - reads standard input
    file: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Audits, and prints what was proven.
pub fn run(arguments: &AuditArguments, quiet: bool) -> Result<(), Failure> {
    let asked = arguments.commanded.asked();
    let (text, refuted) = match (&arguments.what, &arguments.commanded.command) {
        (Some(AuditCommand::Outputs(arguments)), _) => outputs::run(arguments)?,
        (Some(AuditCommand::Counts(document)), _) => document.answered(counts::answer)?,
        (Some(AuditCommand::OneRun(document)), _) => document.answered(one_run::answer)?,
        (None, Some(command)) => arguments.commanded.run(command)?,
        (None, None) if arguments.own.file.is_some() => arguments.own.run(asked, quiet)?,
        (None, None) => {
            let sentence = "name what to audit: outputs, counts, one-run, a project FILE with --release NAME, or \
                --command './mechanism {table}' --neighbours X Y --runs N";
            refuse!("{sentence}");
        }
    };
    print(&text)?;
    match refuted {
        true => Err(Failure::Refuted("the claim is refuted".to_string())),
        false => Ok(()),
    }
}

/// What is printed, and whether a claim was refuted.
type AuditAnswer = (String, bool);

impl AuditDocumentArguments {
    fn answered(
        &self,
        answer: fn(&LocatedValue<'_>, bool) -> Result<AuditAnswer, AuditError>,
    ) -> Result<AuditAnswer, Failure> {
        let document = input::json(&self.file)?;
        answer(&LocatedValue::root(&document), self.json).map_err(|wrong| wrong.at(&self.file))
    }
}

/// What `once` gives so many times, on all cores, in the order of the runs. Each worker begins by itself, and the first
/// failure ends all.
fn repeated<W, T: Send>(
    times: usize,
    begin: impl Fn() -> Result<W, Failure> + Sync,
    once: impl Fn(&mut W) -> Result<T, Failure> + Sync,
    lost: impl Fn() -> Failure,
) -> Result<Vec<T>, Failure> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, T)>, Failure> {
        let (mut worker, mut found) = (begin()?, Vec::new());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= times {
                return Ok(found);
            }
            found.push((number, once(&mut worker).inspect_err(|_| next.store(times, Ordering::Relaxed))?));
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(times.max(1));
    let found = std::thread::scope(|scope| {
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let ended = running.into_iter().map(|one| one.join().unwrap_or_else(|_| Err(lost())));
        ended.collect::<Result<Vec<_>, Failure>>()
    });
    let mut found: Vec<(usize, T)> = found?.into_iter().flatten().collect();
    found.sort_unstable_by_key(|(number, _)| *number);
    Ok(found.into_iter().map(|(_, one)| one).collect())
}

/// What is wrong with a question: a place in the document, or what the core says of it.
enum AuditError {
    Place(WireError),
    Core(scumble::Error),
}

impl AuditError {
    fn at(&self, file: &Path) -> Failure {
        match self {
            Self::Place(wrong) => input::wrong(file, wrong),
            Self::Core(error) => Failure::Input(format!("{}: {error}", file.display())),
        }
    }
}

impl From<WireError> for AuditError {
    fn from(wrong: WireError) -> Self {
        Self::Place(wrong)
    }
}

impl From<scumble::Error> for AuditError {
    fn from(error: scumble::Error) -> Self {
        Self::Core(error)
    }
}

/// The claim of a document.
fn claim(place: &LocatedValue<'_>) -> Result<Claim, AuditError> {
    Ok(match claim_at(place)? {
        PrivacyClaim::Gaussian(mu) => Claim::Gaussian { mu },
        PrivacyClaim::Approximate(epsilon, delta) => Claim::Approximate { epsilon, delta },
        PrivacyClaim::Events(events, scope) => Claim::of(&Loss::of(events, scope)?)?,
    })
}

/// A field that may be missing.
fn optional(place: &LocatedValue<'_>, name: &str, default: f64) -> Result<f64, WireError> {
    place.get(name)?.map_or(Ok(default), |field| field.number())
}

/// In words: refuted, or not; never "private".
fn verdict(refuted: Option<bool>, confidence: f64) -> String {
    match refuted {
        Some(true) => format!("REFUTED: the claim is false, with confidence {confidence}"),
        Some(false) => "no evidence against the claim".to_string(),
        None => "no claim was given".to_string(),
    }
}

/// 1 − β as people write it.
fn confidence(beta: f64) -> f64 {
    (1.0 - beta).clamp(0.0, 1.0)
}

/// A JSON answer, on one line.
fn line(object: &Value) -> String {
    format!("{object}\n")
}
