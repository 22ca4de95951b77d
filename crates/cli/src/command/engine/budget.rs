//! `scumble budget`: the budgets that a ledger has held, and changing one, with a reason that stays.

use super::{ProjectArguments, existing, head_line, located, table};
use crate::failure::Failure;
use crate::output::{print, print_json};
use clap::{Args, Subcommand};
use scumble_engine::budget::HeldLimits;
use scumble_engine::ledger::BudgetChange;
use serde_json::json;

/// What `budget` takes.
#[derive(Args)]
#[command(after_help = "Change [budget] in the project file first.\n\n\
                  Example:\n  \
                  scumble budget raise --because \"the second wave doubles the sample\"")]
pub struct BudgetArguments {
    #[command(subcommand)]
    action: BudgetCommand,
}

#[derive(Subcommand)]
enum BudgetCommand {
    /// Shows all budgets: when each came into force, and why
    Show(BudgetShowArguments),
    /// Puts the project file's budget into force if it allows more than before
    Raise(BudgetChangeArguments),
    /// Puts the project file's budget into force if it allows no more
    Lower(BudgetChangeArguments),
}

/// What `show` takes.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble budget show")]
struct BudgetShowArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `raise` and `lower` take.
#[derive(Args)]
#[command(after_help = "Change [budget] in the project file first.\n\n\
                  Examples:\n  \
                  scumble budget raise --because \"the second wave doubles the sample\"\n  \
                  scumble budget lower --because \"the third wave is not published\"")]
struct BudgetChangeArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// The reason, which the ledger keeps
    #[arg(long, value_name = "REASON")]
    because: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &BudgetArguments, quiet: bool) -> Result<(), Failure> {
    match &arguments.action {
        BudgetCommand::Show(arguments) => show(arguments),
        BudgetCommand::Raise(arguments) => change(arguments, BudgetChange::Raise, quiet),
        BudgetCommand::Lower(arguments) => change(arguments, BudgetChange::Lower, quiet),
    }
}

fn change(arguments: &BudgetChangeArguments, change: BudgetChange, quiet: bool) -> Result<(), Failure> {
    let because = arguments.because.trim();
    refuse_if!(because.is_empty(), "--because needs a reason, which the ledger records");
    let (project, path) = located(&arguments.project)?;
    let head = existing(&path)?.change_budget(&project.budget, because, change)?;
    if arguments.json {
        return print_json(&json!({ "ledger": path, "entry": head.entries, "because": because, "head": head.hex() }));
    }
    if quiet {
        return Ok(());
    }
    print(&format!(
        "the budget of {} is in force from entry {} on\n{}\n",
        project.path.display(),
        head.entries,
        head_line(&head)
    ))
}

fn show(arguments: &BudgetShowArguments) -> Result<(), Failure> {
    let (_, path) = located(&arguments.project)?;
    let budgets = existing(&path)?.budgets()?;
    if arguments.json {
        let shown = budgets.iter().map(|budget| {
            let (limits, because) = (budget.limits.shown(), &budget.because);
            json!({ "entry": budget.sequence, "time": budget.time, "limits": limits, "because": because })
        });
        return print_json(&json!({ "budgets": shown.collect::<Vec<_>>() }));
    }
    let rows = budgets.iter().map(|budget| {
        let because = budget.because.clone().unwrap_or_else(|| "–".to_string());
        let time = budget.time.clone().unwrap_or_default();
        vec![budget.sequence.to_string(), time, limits(&budget.limits), because]
    });
    print(&table(&["entry", "time", "limits", "because"], rows.collect()))
}

/// The limits in one line.
fn limits(limits: &HeldLimits) -> String {
    let all: Vec<String> = limits.lines().into_iter().map(|(name, limit)| format!("{name} {limit}")).collect();
    if all.is_empty() { "none".to_string() } else { all.join("; ") }
}
