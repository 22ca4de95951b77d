//! `scumble release`: runs the releases of a project, charges the ledger, writes the outputs and the report.

use super::{ProjectArguments, answers, counted, head_line, known, run_given_and_report, runner};
use crate::colour::Ink;
use crate::failure::{Failure, say};
use crate::output::print;
use clap::Args;
use scumble_engine::project::{Project, Request};
use scumble_engine::release::{KeptRelease, PlannedRelease, ReleaseOutcome, Runner};
use scumble_engine::summary::document;
use serde::Serialize;
use serde_json::Value;
use std::io::{IsTerminal, Write, stderr, stdin};
use std::path::{Path, PathBuf};

/// What `release` takes.
#[derive(Args)]
#[command(after_help = "A published release is kept and not charged again. If its declaration has\n\
                  changed, the command stops with exit status 3 unless --again names it.\n\n\
                  Examples:\n  \
                  scumble release                      # everything that is not published yet\n  \
                  scumble release --only \"by clinic\"\n  \
                  scumble release --again \"by clinic\"  # charges for new numbers")]
pub struct ReleaseArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Only this release (may be given several times)
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Charge for new numbers (may be given several times)
    #[arg(long, value_name = "NAME")]
    again: Vec<String>,
    /// The folder of results of `scumble setup integers`
    #[arg(long, value_name = "FOLDER", requires = "only")]
    integers: Option<PathBuf>,
    /// The folder for the outputs, instead of `out`
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The numbers of tables of at most so many rows are printed.
const SMALL: u64 = 20;

/// Runs the command.
pub fn run(arguments: &ReleaseArguments, quiet: bool) -> Result<(), Failure> {
    let project = Project::open(&arguments.project.file)?;
    let runner = runner(&project, arguments.project.ledger.as_ref());
    for (flag, name) in named(arguments) {
        let request = known(&project, name)?;
        if flag == "--again" && request.is_asked() {
            return Err(asked_one_by_one(name));
        }
        if flag == "--again" && !(arguments.only.is_empty() || arguments.only.contains(name)) {
            return Err(Failure::Input(format!(
                "--again '{name}' asks for a release that --only leaves out: name it there too"
            )));
        }
    }
    if arguments.integers.is_some() && arguments.only.len() != 1 {
        return Err(Failure::Input(
            "--integers takes the integers of one release: name that one with --only".to_string(),
        ));
    }
    let (asked, wanted): (Vec<&Request>, Vec<&Request>) = project
        .releases
        .iter()
        .filter(|request| arguments.only.is_empty() || arguments.only.contains(&request.name))
        .partition(|request| request.is_asked());
    // What is asked one question after the other is not released with the others.
    if let Some(request) = asked.first().filter(|_| wanted.is_empty() || !arguments.only.is_empty()) {
        return Err(asked_one_by_one(&request.name));
    }
    let planned = wanted.into_iter().map(|request| runner.plan(request)).collect::<Result<Vec<_>, _>>()?;
    if planned.is_empty() {
        return Err(Failure::Input(format!(
            "{} has no [[release]]: there is nothing to do",
            arguments.project.file.display()
        )));
    }
    let out = arguments.out.clone().unwrap_or_else(|| project.folder().join("out"));
    runner.hold_budget()?;
    let again = again(arguments, &runner, &planned, quiet)?;
    let kept = runner.kept(&planned, &out, &again)?;
    let (mut paid, mut places) = (Vec::new(), Vec::new());
    for (planned, kept) in planned.into_iter().zip(kept) {
        places.push(kept);
        if matches!(places.last(), Some(None)) {
            paid.push(planned);
        }
    }
    let interrupted =
        paid.iter().map(|planned| interrupted(&runner, &planned.request.name)).collect::<Result<Vec<_>, _>>()?;
    let resumed = paid.iter().map(|planned| runner.resumed_entry(planned)).collect::<Result<Vec<_>, _>>()?;
    let given = arguments.integers.as_deref();
    let (outcomes, head, report) =
        run_given_and_report(&project, &runner, &paid, given, &out, quiet || arguments.json)?;
    // A run that is refused has paid for nothing, and says one sentence.
    for ((outcome, resumed), interrupted) in outcomes.iter().zip(resumed).zip(interrupted).filter(|_| !quiet) {
        match resumed.filter(|entry| *entry == outcome.sequence) {
            Some(entry) => say(&format!(
                "{} had been charged, and nothing of it was seen (ledger entry {entry}): it used that charge, and \
                    nothing more was charged",
                outcome.name
            )),
            None => interrupted.iter().for_each(|sentence| say(sentence)),
        }
    }
    if let Some(folder) = given.filter(|_| !quiet) {
        say(&format!("{} holds exact numbers, which are not private: remove it and the job", folder.display()));
    }
    if arguments.json {
        let mut outcomes = outcomes.iter();
        let releases: Result<Vec<Option<ReleaseShown>>, Failure> = places
            .iter()
            .map(|place| match place {
                Some(kept) => kept_shown(kept).map(Some),
                None => Ok(outcomes.next().map(outcome_shown)),
            })
            .collect();
        let (ledger, entries, head) = (runner.ledger(), head.entries, head.hex());
        let shown = document(&ReleasesShown { releases: releases?, report: &report, ledger, entries, head })?;
        return print(&format!("{shown:#}\n"));
    }
    if quiet {
        return Ok(());
    }
    let mut outcomes = outcomes.iter();
    let lines = places.iter().filter_map(|place| match place {
        Some(kept) => Some(format!("{}\n", kept.words())),
        None => outcomes.next().map(outcome_words),
    });
    let lines: String = lines.collect();
    print(&format!("{lines}report: {}\n{}\n", report.display(), head_line(&head)))
}

/// The names that flags give.
fn named(arguments: &ReleaseArguments) -> impl Iterator<Item = (&'static str, &String)> {
    let only = arguments.only.iter().map(|name| ("--only", name));
    only.chain(arguments.again.iter().map(|name| ("--again", name)))
}

/// What somebody should know whose release was charged before and published nothing: a charge is never taken back.
fn interrupted(runner: &Runner<'_>, name: &str) -> Result<Option<String>, Failure> {
    let entries = runner.interrupted(name)?;
    Ok(entries.last().map(|last| {
        let times = if entries.len() == 1 { "once" } else { "more than once" };
        format!("{name} had been charged {times} and not completed (ledger entry {last}): that charge stays, and it was charged again")
    }))
}

/// The releases that may be charged a second time: those of `--again`, and what somebody agrees to at a terminal.
fn again(
    arguments: &ReleaseArguments,
    runner: &Runner<'_>,
    planned: &[PlannedRelease],
    quiet: bool,
) -> Result<Vec<String>, Failure> {
    let mut again = arguments.again.clone();
    let is_asked = !quiet && !arguments.json && stdin().is_terminal() && stderr().is_terminal();
    if !is_asked {
        return Ok(again);
    }
    runner.refuse_other_tables(planned)?;
    let twice = runner.second_charges(planned, &again)?;
    twice.iter().for_each(|one| say(&Ink::Warning.on_errors(&one.words())));
    if !twice.is_empty() && agreed("charge again?")? {
        again.extend(twice.into_iter().map(|one| one.name));
    }
    Ok(again)
}

/// Whether somebody at a terminal says yes.
fn agreed(question: &str) -> Result<bool, Failure> {
    let _ = write!(stderr(), "{question} [y/N] ");
    let mut answer = String::new();
    stdin().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

fn asked_one_by_one(name: &str) -> Failure {
    Failure::Input(format!("release '{name}' is interactive: ask it questions with scumble ask '{name}' \"…\""))
}

/// Where the numbers are, and the numbers of a small table.
fn outcome_words(outcome: &ReleaseOutcome) -> String {
    let rows = counted(outcome.answers.all_rows(), "row");
    let words = format!("{}: {rows} in {}\n", outcome.name, outcome.files[0].display());
    match outcome.answers.all_rows() {
        1..=SMALL => {
            let numbers = answers::text(&outcome.answers, outcome.answers.rows());
            words + &numbers.lines().map(|line| format!("  {line}\n")).collect::<String>()
        }
        _ => words,
    }
}

/// What `release` prints as JSON.
#[derive(Serialize)]
struct ReleasesShown<'a> {
    releases: Vec<Option<ReleaseShown<'a>>>,
    report: &'a Path,
    ledger: &'a Path,
    entries: u64,
    head: String,
}

/// A release of it.
#[derive(Serialize)]
struct ReleaseShown<'a> {
    name: &'a str,
    sequence: u64,
    files: &'a [PathBuf],
    answers: Value,
    kept: bool,
    #[serde(flatten)]
    before: Option<PriorRelease<'a>>,
}

/// When it was published, if that was before.
#[derive(Serialize)]
struct PriorRelease<'a> {
    published: &'a str,
    data_changed: Option<bool>,
}

fn outcome_shown(outcome: &ReleaseOutcome) -> ReleaseShown<'_> {
    ReleaseShown {
        name: &outcome.name,
        sequence: outcome.sequence,
        files: &outcome.files,
        answers: outcome.answers.json(),
        kept: false,
        before: None,
    }
}

/// What is kept, with its answers as they were published.
fn kept_shown(kept: &KeptRelease) -> Result<ReleaseShown<'_>, Failure> {
    let mut published = crate::input::json(&kept.files[2])?;
    Ok(ReleaseShown {
        name: &kept.name,
        sequence: kept.sequence,
        files: &kept.files,
        answers: published["answers"].take(),
        kept: true,
        before: Some(PriorRelease { published: &kept.time, data_changed: kept.data_changed }),
    })
}
