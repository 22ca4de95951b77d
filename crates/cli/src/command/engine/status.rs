//! `scumble status`: on one screen, what was spent and is left, what is published, what would run, and what changed.

use super::{ProjectArguments, ledger, runner};
use crate::colour::Ink;
use crate::failure::Failure;
use crate::output::print;
use crate::table::{table, wrapped};
use clap::Args;
use scumble_engine::ledger::Head;
use scumble_engine::project::Project;
use scumble_engine::release::{PlannedRelease, Runner, again};
use scumble_engine::summary::{LedgerSummary, SummaryRequest, document, summary, sums_of};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What `status` takes.
#[derive(Args)]
#[command(after_help = "Charges nothing. Reads the files of the tables, to say whether they changed.\n\n\
                  Example:\n  \
                  scumble status")]
pub struct StatusArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// The folder of the outputs, instead of `out`
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &StatusArguments) -> Result<(), Failure> {
    let project = Project::open(&arguments.project.file)?;
    let runner = runner(&project, arguments.project.ledger.as_ref());
    let out = arguments.out.clone().unwrap_or_else(|| project.folder().join("out"));
    let releases = project.releases.iter().map(|request| {
        let planned = runner.plan(request)?;
        ReleaseStatus::of(&runner, &planned, &out)
    });
    let shown = ProjectStatus {
        project: &project.path,
        ledger: runner.ledger(),
        spent: spent(&project, &runner)?,
        releases: releases.collect::<Result<_, _>>()?,
        changed_tables: runner.changed_tables()?,
    };
    match arguments.json {
        true => print(&format!("{:#}\n", document(&shown)?)),
        false => print(&shown.text()),
    }
}

/// Where a project stands.
#[derive(Serialize)]
struct ProjectStatus<'a> {
    project: &'a Path,
    ledger: &'a Path,
    /// Nothing while there is no ledger.
    spent: Option<SpentSoFar>,
    releases: Vec<ReleaseStatus>,
    /// Those whose files are not what the ledger saw last.
    changed_tables: Vec<String>,
}

/// What the ledger adds up to.
#[derive(Serialize)]
struct SpentSoFar {
    #[serde(flatten)]
    summary: LedgerSummary,
    head: String,
    entries: u64,
    /// Whether the project file has another budget than the one in force.
    budget_differs: bool,
}

/// Where a release stands.
#[derive(Serialize)]
struct ReleaseStatus {
    name: String,
    kind: String,
    state: ReleaseState,
    /// The entry of the ledger that the state is about.
    entry: Option<u64>,
    /// When that was published.
    published: Option<String>,
    /// The cost that it declares.
    cost: String,
    /// What somebody should know.
    note: Option<String>,
}

/// What a run would do with a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum ReleaseState {
    /// Keep it: it is published as it is declared.
    Published,
    /// Charge it, and publish it.
    ToRun,
    /// Publish it under an earlier charge whose draw was never seen.
    Resumed,
    /// Stop: it is published otherwise, and would be charged a second time.
    Changed,
    /// Stop: its files are gone or changed.
    Lost,
    /// Nothing: questions are asked one by one.
    Asked,
}

impl ReleaseState {
    fn words(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::ToRun => "to run",
            Self::Resumed => "charged, to run",
            Self::Changed => "changed",
            Self::Lost => "lost",
            Self::Asked => "asked",
        }
    }
}

impl ReleaseStatus {
    fn of(runner: &Runner<'_>, planned: &PlannedRelease, out: &Path) -> Result<Self, Failure> {
        let request = &planned.request;
        let name = request.name.clone();
        let status = |state, entry, note| Self {
            name: name.clone(),
            kind: request.kind.clone(),
            state,
            entry,
            published: None,
            cost: request.cost.to_string(),
            note,
        };
        if request.is_asked() {
            let rounds = runner.rounds(planned)?;
            let note =
                rounds.map(|(charged, all)| format!("{charged} of {all} rounds are charged; ask with scumble ask"));
            return Ok(status(ReleaseState::Asked, None, note));
        }
        if let Some((entry, time)) = runner.published_before(planned)? {
            let lost = runner.lost_file(&name, out)?;
            let state = if lost.is_none() { ReleaseState::Published } else { ReleaseState::Lost };
            return Ok(Self { published: Some(time), ..status(state, Some(entry), lost) });
        }
        if let Some(entry) = runner.resumed_entry(planned)? {
            return Ok(status(ReleaseState::Resumed, Some(entry), None));
        }
        let twice = runner.second_charges(std::slice::from_ref(planned), &[])?;
        Ok(match twice.first() {
            Some(twice) => status(ReleaseState::Changed, Some(twice.sequence), Some(twice.words())),
            None => status(ReleaseState::ToRun, None, None),
        })
    }

    fn row(&self) -> Vec<String> {
        let day = self.published.as_deref().and_then(|time| time.split('T').next()).unwrap_or_default();
        let entry = self.entry.map_or_else(String::new, |entry| entry.to_string());
        let cost = match self.state {
            ReleaseState::ToRun | ReleaseState::Changed | ReleaseState::Asked => self.cost.clone(),
            _ => String::new(),
        };
        vec![self.name.clone(), self.state.words().to_string(), day.to_string(), entry, cost]
    }
}

impl ProjectStatus<'_> {
    fn text(&self) -> String {
        let mut text = format!("project: {}\n", self.project.display());
        match &self.spent {
            None => text.push_str("ledger: none yet; nothing was spent\n"),
            Some(spent) => {
                text.push_str(&format!("ledger: {}, {} entries\n\n", self.ledger.display(), spent.entries));
                text.push_str(&ledger::spent(&spent.summary));
            }
        }
        if !self.releases.is_empty() {
            let rows = self.releases.iter().map(ReleaseStatus::row).collect();
            text.push_str(&format!("\n{}", table(&["release", "state", "published", "entry", "to charge"], rows)));
        }
        text.push('\n');
        let notes = self.releases.iter().filter_map(|release| Some((release, release.note.as_ref()?)));
        for (release, note) in notes {
            text.push_str(&Ink::Warning.on(&wrapped(&format!("{}: {note}", release.name))));
        }
        for table in &self.changed_tables {
            let sentence = format!("table '{table}': its files changed since the ledger saw them last");
            text.push_str(&Ink::Warning.on(&wrapped(&sentence)));
        }
        if self.spent.as_ref().is_some_and(|spent| spent.budget_differs) {
            let sentence = "the budget of the project file is not the one that is in force: see scumble budget show\n";
            text.push_str(&Ink::Warning.on(sentence));
        }
        text + &self.next() + "\n"
    }

    /// What to do next.
    fn next(&self) -> String {
        let stopped: Vec<String> = self
            .releases
            .iter()
            .filter(|one| matches!(one.state, ReleaseState::Changed | ReleaseState::Lost))
            .map(|one| again(&one.name))
            .collect();
        let runs = |one: &ReleaseStatus| matches!(one.state, ReleaseState::ToRun | ReleaseState::Resumed);
        match (stopped.is_empty(), self.releases.iter().any(runs)) {
            (false, _) => format!("next: undo what changed, or scumble release {}", stopped.join(" ")),
            (true, true) => "next: scumble release".to_string(),
            (true, false) => Ink::Good.on("everything is published"),
        }
    }
}

/// What the ledger adds up to; none where there is none.
fn spent(project: &Project, runner: &Runner<'_>) -> Result<Option<SpentSoFar>, Failure> {
    let Some(ledger) = runner.existing_ledger()? else { return Ok(None) };
    let (charges, head): (_, Head) = (ledger.charges()?, ledger.head()?);
    let in_force = ledger.standing(&[])?.0.budget();
    let budget_differs = in_force.as_ref().is_some_and(|budget| *budget != project.budget);
    let budget = in_force.unwrap_or_else(|| project.budget.clone());
    let attributes = project.attributes();
    let question = SummaryRequest { budget: &budget, attributes: &attributes, delta: None, sets: &[], group: None };
    let summary = summary(&charges, &sums_of(&charges, &[])?, &question)?;
    Ok(Some(SpentSoFar { summary, head: head.hex(), entries: head.entries, budget_differs }))
}
