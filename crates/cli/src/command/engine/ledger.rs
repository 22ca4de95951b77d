//! `scumble ledger`: what has been spent, by release, in every scope; whether the ledger is whole; everything as JSON.

use super::{ProjectArguments, existing, head_line, located, table};
use crate::failure::Failure;
use crate::output::print;
use clap::{Args, Subcommand};
use scumble::quantity::{Delta, Exact};
use scumble::scope::AttributeSet;
use scumble_engine::budget::rounded_up;
use scumble_engine::ledger::{Anchor, Ledger};
use scumble_engine::summary::{
    LedgerSummary, PerScope, ScopeCost, ScopeLeft, SummaryRequest, document, summary, sums_of,
};
use serde::Serialize;
use serde_json::json;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// What `ledger` takes.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  scumble ledger show\n  \
                  scumble ledger anchor --to anchors  # a line to keep elsewhere\n  \
                  scumble ledger verify --anchors anchors")]
pub struct LedgerCommandArguments {
    #[command(subcommand)]
    action: Option<LedgerCommand>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What to do with the ledger; `show` by default.
#[derive(Subcommand)]
enum LedgerCommand {
    /// Shows what was spent and what is left, in every scope
    Show(LedgerShowArguments),
    /// Checks that no entry was edited, removed or moved
    Verify(LedgerVerifyArguments),
    /// Prints all entries with their hashes, as JSON
    Export(LedgerExportArguments),
    /// Prints the head in one line, to keep elsewhere
    Anchor(LedgerAnchorArguments),
}

/// What `show` takes.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  scumble ledger show\n  \
                  scumble ledger show --attributes age,sex --group 4  # both together; households of four")]
struct LedgerShowArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Show epsilon at this delta, not the budget's
    #[arg(long, value_name = "DELTA")]
    delta: Option<Delta>,
    /// Also show these together: a,b (repeatable)
    #[arg(long, value_name = "NAMES")]
    attributes: Vec<String>,
    /// Also show groups of this many owners
    #[arg(long, value_name = "OWNERS")]
    group: Option<NonZeroU32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `verify` takes.
#[derive(Args)]
#[command(after_help = "Example:\n  \
                  scumble ledger verify --anchors anchors  # a ledger that was reset does not hold them")]
struct LedgerVerifyArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// A head from an earlier report that the chain must hold
    #[arg(long, value_name = "HASH")]
    head: Option<String>,
    /// A file of 'ledger anchor' that the chain must hold
    #[arg(long, value_name = "FILE")]
    anchors: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `anchor` takes.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble ledger anchor --to anchors  # keep that file elsewhere")]
struct LedgerAnchorArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Also append the line to this file
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `export` takes.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble ledger export > ledger.json")]
struct LedgerExportArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Print JSON, which it does anyway
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &LedgerCommandArguments) -> Result<(), Failure> {
    match &arguments.action {
        None => show(&LedgerShowArguments {
            project: ProjectArguments { file: PathBuf::from("scumble.toml"), ledger: None },
            delta: None,
            attributes: Vec::new(),
            group: None,
            json: arguments.json,
        }),
        Some(LedgerCommand::Show(arguments)) => show(arguments),
        Some(LedgerCommand::Verify(arguments)) => verify(arguments),
        Some(LedgerCommand::Anchor(arguments)) => anchor(arguments),
        Some(LedgerCommand::Export(arguments)) => {
            let (_, path) = located(&arguments.project)?;
            print(&format!("{:#}\n", existing(&path)?.export()?))
        }
    }
}

fn show(arguments: &LedgerShowArguments) -> Result<(), Failure> {
    let (project, path) = located(&arguments.project)?;
    let ledger = existing(&path)?;
    let (charges, head) = (ledger.charges()?, ledger.head()?);
    // The budget that the ledger holds was promised; a project file with another one gets a note.
    let in_force = ledger.standing(&[])?.0.budget();
    let differs = in_force.as_ref().is_some_and(|budget| *budget != project.budget);
    let budget = in_force.unwrap_or_else(|| project.budget.clone());
    let known = project.attributes();
    let mut sets = Vec::new();
    for list in &arguments.attributes {
        let set = AttributeSet::new(list.split(',').map(str::trim))?;
        if let Some(unknown) = set.iter().find(|name| !known.contains(*name)) {
            return Err(Failure::Input(format!("--attributes: '{unknown}' is not a declared column of the project")));
        }
        sets.push(set);
    }
    let delta = arguments.delta.map(|delta| Exact::from_f64(delta.get())).transpose()?;
    let question = SummaryRequest { budget: &budget, attributes: &known, delta, sets: &sets, group: arguments.group };
    let summary = summary(&charges, &sums_of(&charges, &sets)?, &question)?;
    if arguments.json {
        let shown = LedgerShown { summary, head: head.hex(), entries: head.entries, budget_differs: differs };
        return print(&format!("{:#}\n", document(&shown)?));
    }
    let differs = match differs {
        true => "the budget of the project file is not the one that is in force: see scumble budget show\n",
        false => "",
    };
    print(&format!("{}{differs}{}\n", text(&summary), head_line(&head)))
}

/// What `show` prints as JSON.
#[derive(Serialize)]
struct LedgerShown {
    #[serde(flatten)]
    summary: LedgerSummary,
    head: String,
    entries: u64,
    /// Whether the project file has another budget than the one in force.
    budget_differs: bool,
}

/// An ε in the digits that are shown; none is infinite.
fn shown_epsilon(epsilon: Option<f64>) -> String {
    epsilon.filter(|epsilon| epsilon.is_finite()).map_or("∞".to_string(), rounded_up)
}

/// What was spent in each scope in which something was: its name, its numbers as they are shown, and what is left.
fn rows<'a>(
    spent: &'a PerScope<ScopeCost>,
    left: Option<&'a PerScope<ScopeLeft>>,
) -> impl Iterator<Item = Vec<String>> + 'a {
    let whole = spent.whole().map(move |(name, cost)| {
        let left = left.and_then(|left| left.whole().find(|(other, _)| *other == name));
        (name, cost, left.map(|(_, left)| left))
    });
    let attributes = spent.attributes.iter();
    let attributes =
        attributes.map(move |(name, cost)| (name.as_str(), cost, left.and_then(|left| left.attributes.get(name))));
    // A set that somebody asked for is shown, whatever it cost.
    let is_shown = |name: &str, cost: &ScopeCost| {
        name.contains(',') || cost.epsilon != Some(0.0) || cost.approximate_zcdp.is_some()
    };
    whole.chain(attributes).filter(move |(name, cost, _)| is_shown(name, cost)).map(move |(name, cost, own)| {
        let numbers = vec![name.to_string(), shown_epsilon(cost.epsilon), rounded_up(cost.delta)];
        let own = left.map(|_| match own.and_then(|own| own.epsilon.or(own.rho)) {
            None => "no limit".to_string(),
            Some(own) => scumble_engine::budget::rounded_down(own),
        });
        numbers.into_iter().chain(own).collect()
    })
}

fn text(shown: &LedgerSummary) -> String {
    let mut text = spent(shown);
    if let Some(groups) = &shown.groups {
        let header = format!("groups of {}", groups.size);
        text.push_str(&table(&[&header, "epsilon", "delta"], rows(&groups.spent, None).collect()));
    }
    let releases = shown.releases.iter().map(|release| {
        vec![
            release.sequence.to_string(),
            release.time.clone(),
            release.release.clone(),
            release.state.word().to_string(),
            shown_epsilon(release.spent.person.as_ref().and_then(|cost| cost.epsilon)),
        ]
    });
    text.push_str(&table(&["entry", "time", "release", "state", "epsilon (person)"], releases.collect()));
    text
}

/// What was spent, and what is left.
pub(super) fn spent(shown: &LedgerSummary) -> String {
    let spent: Vec<Vec<String>> = rows(&shown.spent, Some(&shown.remaining)).collect();
    match spent.is_empty() {
        true => "nothing was spent\n".to_string(),
        false => table(&["scope", "epsilon", "delta", "left"], spent),
    }
}

fn verify(arguments: &LedgerVerifyArguments) -> Result<(), Failure> {
    let (_, path) = located(&arguments.project)?;
    let ledger = existing(&path)?;
    let head = ledger.verify()?;
    if let Some(file) = &arguments.anchors {
        anchored(&ledger, &path, file)?;
    }
    if let Some(hash) = &arguments.head
        && !ledger.knows_head(hash)?
    {
        return Err(Failure::Other(format!(
            "the ledger {} does not hold the head {hash}: it is another ledger, or was rewritten",
            path.display()
        )));
    }
    match arguments.json {
        true => print(&format!("{:#}\n", json!({ "entries": head.entries, "head": head.hex() }))),
        false => print(&format!("{} entries, all in their place; head {}\n", head.entries, head.hex())),
    }
}

/// Every head that was written down must still be in the chain.
fn anchored(ledger: &Ledger, path: &std::path::Path, file: &std::path::Path) -> Result<(), Failure> {
    let anchors = Anchor::read(file)?;
    let unknown = ledger.first_unknown(anchors.iter().map(|(_, anchor)| &anchor.head))?;
    let Some((line, anchor)) = unknown.and_then(|head| anchors.iter().find(|(_, anchor)| anchor.head == *head)) else {
        return Ok(());
    };
    Err(Failure::Other(format!(
        "{}:{line}:1: the ledger {} does not hold the head that it had on {}: it was reset, cut or rewritten since, or is another ledger",
        file.display(),
        path.display(),
        anchor.time
    )))
}

fn anchor(arguments: &LedgerAnchorArguments) -> Result<(), Failure> {
    let (_, path) = located(&arguments.project)?;
    let anchor = Anchor::now(existing(&path)?.verify()?);
    if let Some(file) = &arguments.to {
        anchor.append_to(file)?;
    }
    match arguments.json {
        true => print(&format!(
            "{:#}\n",
            json!({ "entries": anchor.head.entries, "head": anchor.head.hex(), "time": anchor.time, "line": anchor.to_string() })
        )),
        false => print(&format!("{anchor}\n")),
    }
}
