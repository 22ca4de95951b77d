//! `scumble plan`: what each release would cost in every scope, and the error to expect. Touches no data, except for
//! `--suggest-bounds`, which is a release of its own.

mod overview;

use super::{ProjectArguments, bounds, runner, table};
use crate::colour::Ink;
use crate::failure::Failure;
use crate::output::print;
use clap::Args;
use overview::Overview;
use scumble::quantity::Exact;
use scumble::scope::Scope;
use scumble_engine::attackers::answer;
use scumble_engine::budget::{rounded_up, shown_delta};
use scumble_engine::project::{Project, Request};
use scumble_engine::release::{AttributeGrant, PlannedRelease, Runner, again};
use scumble_engine::report::digits;
use scumble_engine::summary::document;
use scumble_engine::summary::planned::{
    ReleaseForecast, cost, delta_of, forecast, scopes, short, usual_delta, without_epsilon,
};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What `plan` takes.
#[derive(Args)]
#[command(after_help = "Reads no row, except for --suggest-bounds. The exit status is 3 if the releases\n\
                  do not fit the budget together.\n\n\
                  Examples:\n  \
                  scumble plan            # cost and error of each release\n  \
                  scumble plan --details  # every scope, every error, limits, weaker attackers\n  \
                  scumble plan --suggest-bounds \"by clinic\" --cost epsilon=0.1")]
pub struct PlanArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Show epsilon at this delta, not the budget's
    #[arg(long, value_name = "DELTA")]
    delta: Option<scumble::quantity::Delta>,
    /// Print every scope, error, limit and attacker
    #[arg(long, conflicts_with = "suggest_bounds")]
    details: bool,
    /// Choose bounds from the data: charged each time
    #[arg(long, value_name = "NAME", requires = "cost")]
    suggest_bounds: Option<String>,
    /// The cost of --suggest-bounds: epsilon=0.5
    #[arg(long, value_name = "COST", requires = "suggest_bounds")]
    cost: Option<String>,
    /// The most rows of an owner to read [default: 1024]
    #[arg(long, value_name = "ROWS", requires = "suggest_bounds")]
    rows: Option<u64>,
    /// The folder of the outputs, instead of `out`
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &PlanArguments, quiet: bool) -> Result<(), Failure> {
    let project = Project::open(&arguments.project.file)?;
    let runner = runner(&project, arguments.project.ledger.as_ref());
    let out = arguments.out.clone().unwrap_or_else(|| project.folder().join("out"));
    if let (Some(name), Some(cost)) = (&arguments.suggest_bounds, &arguments.cost) {
        let request = Request::bounds_of(name, &cost.parse()?, arguments.rows)?;
        return bounds::suggest(&project, &runner, &request, &out, quiet, arguments.json);
    }
    let mut planned = project.releases.iter().map(|request| runner.plan(request)).collect::<Result<Vec<_>, _>>()?;
    planned.iter_mut().try_for_each(|planned| rounds_left(&runner, planned))?;
    // What is published already is kept, and costs nothing more.
    let before = planned.iter().map(|planned| before(&runner, planned, &out)).collect::<Result<Vec<_>, _>>()?;
    let fits =
        runner.admit(planned.iter().zip(&before).filter(|(_, before)| before.is_none()).map(|(planned, _)| planned));
    let asked = arguments.delta.map(|delta| Exact::from_f64(delta.get())).transpose()?;
    let (usual, scopes) = (usual_delta(&project)?, scopes(&project)?);
    let budget = match &fits {
        Ok(()) => "everything fits the budget together".to_string(),
        Err(error) if error.kind() == scumble_engine::ErrorKind::Budget => error.to_string(),
        Err(error) => return Err(error.clone().into()),
    };
    if arguments.json {
        let mut releases = Vec::new();
        for (planned, before) in planned.iter().zip(before) {
            let delta = asked.clone().map_or_else(|| delta_of(planned, &scopes, &usual), Ok)?;
            releases.push(PlanOfRelease {
                forecast: forecast(planned, &project, &scopes, &delta)?,
                published: before,
                resumed_entry: runner.resumed_entry(planned)?,
            });
        }
        let delta = asked.unwrap_or(usual).to_f64();
        let shown = document(&PlanShown { delta, releases, fits: fits.is_ok(), budget })?;
        print(&format!("{shown:#}\n"))?;
        return fits.map_err(Failure::from);
    }
    let (mut text, mut overview) = (String::new(), Overview::default());
    for (planned, before) in planned.iter().zip(&before) {
        let name = &planned.request.name;
        let delta = asked.clone().map_or_else(|| delta_of(planned, &scopes, &usual), Ok)?;
        match (before, arguments.details) {
            (_, true) => text.push_str(&release_text(planned, &project, &scopes, &delta)?),
            (Some(before), false) => overview.add_kept(name, before),
            (None, false) => {
                overview.add(planned, &project, &delta)?;
                if let Some(entry) = runner.resumed_entry(planned)? {
                    let note = format!(
                        "it was charged, and nothing of it was seen (entry {entry}): a release uses that charge, at no \
                            further cost"
                    );
                    overview.note(name, &note);
                }
                for twice in runner.second_charges(std::slice::from_ref(planned), &[])? {
                    let note = format!("{}; a release needs {}", twice.words(), again(name));
                    overview.note(name, &note);
                }
            }
        }
    }
    if !arguments.details {
        text.push_str(&overview.text());
    }
    if fits.is_ok() {
        text.push_str(&format!("{}\n", Ink::Good.on(&budget)));
    }
    print(&text)?;
    fits.map_err(Failure::from)
}

/// The plan as JSON.
#[derive(Serialize)]
struct PlanShown {
    /// The δ at which it is shown.
    delta: f64,
    releases: Vec<PlanOfRelease>,
    /// Whether what is not published yet fits the budget together.
    fits: bool,
    /// The same in words.
    budget: String,
}

/// A release of it.
#[derive(Serialize)]
struct PlanOfRelease {
    #[serde(flatten)]
    forecast: ReleaseForecast,
    published: Option<PriorPublication>,
    /// The entry of a charge whose draw nobody has seen.
    #[serde(rename = "goes_on_with")]
    resumed_entry: Option<u64>,
}

/// What was published before as it is declared.
#[derive(Serialize)]
struct PriorPublication {
    #[serde(rename = "sequence")]
    entry: u64,
    time: String,
    /// What is wrong with its files, if they are not as they were.
    lost: Option<String>,
}

fn before(runner: &Runner<'_>, planned: &PlannedRelease, out: &Path) -> Result<Option<PriorPublication>, Failure> {
    let Some((entry, time)) = runner.published_before(planned)? else { return Ok(None) };
    Ok(Some(PriorPublication { entry, time, lost: runner.lost_file(&planned.request.name, out)? }))
}

/// An interactive release costs what its rounds cost that are still to open.
fn rounds_left(runner: &Runner<'_>, planned: &mut PlannedRelease) -> Result<(), Failure> {
    let Some((charged, all)) = runner.rounds(planned)?.filter(|(charged, _)| *charged > 0) else { return Ok(()) };
    let left = all.saturating_sub(charged);
    let events = planned.plan.events.drain(..).filter(|_| left > 0);
    planned.plan.events = events.map(|event| event.repeated(left)).collect::<Result<_, _>>()?;
    planned.plan.notes.push(format!("{charged} of {all} rounds are charged; what is shown is the cost of the rest."));
    Ok(())
}

fn release_text(
    planned: &PlannedRelease,
    project: &Project,
    scopes: &[Scope],
    delta: &Exact,
) -> Result<String, Failure> {
    let mut text = format!("{} ({})\n", planned.request.name, planned.request.kind);
    let mut rows = Vec::new();
    for scope in scopes {
        let shown = cost(planned, scope, delta)?.map_or("∞".to_string(), rounded_up);
        rows.push(vec![short(scope), shown]);
    }
    text.push_str(&table(&["scope", &format!("epsilon at delta {}", shown_delta(delta))], rows));
    text.push_str(&granted(&planned.plan.grants()));
    let errors = planned.plan.expected.iter().map(|expected| {
        let (error, margin) = overview::numbers(expected);
        let error = error.unwrap_or_else(|| "?".to_string());
        let margin = margin.map_or_else(String::new, |margin| format!(" ({})", digits(margin)));
        vec![expected.column.clone(), format!("{error}{margin}"), expected.about.clone()]
    });
    let header = overview::heading(&planned.plan.expected);
    text.push_str(&table(&["column", header, ""], errors.collect()));
    for note in without_epsilon(planned, scopes, delta)?.iter().chain(&planned.plan.notes) {
        text.push_str(&format!("{note}\n"));
    }
    let limits = planned.plan.limits.clone();
    if !limits.is_empty() {
        let rows = limits.into_iter().map(|limit| {
            let factor = limit.factor().map_or("–".to_string(), |factor| format!("{factor:.2}"));
            let numbers = [limit.expected, limit.least].map(|number| format!("{number:.4}"));
            let [expected, least] = numbers;
            vec![limit.column, limit.error.to_string(), expected, least, factor, limit.about]
        });
        let header = ["column", "error", "expected", "nobody can promise less", "times", "at the guarantee"];
        text.push_str(&table(&header, rows.collect()));
    }
    if let Some(estimates) = &planned.plan.estimates {
        text.push_str(&format!("What it estimates: {}\n", estimates.words()));
    }
    if let Some(answer) = answer(project, &planned.plan.counted)? {
        text.push_str(&format!("Attackers who know less: {}\n", answer.words()));
    }
    text.push('\n');
    Ok(text)
}

/// What each attribute pays of what it was granted, where the cost is one per attribute.
fn granted(list: &[AttributeGrant]) -> String {
    let Some(AttributeGrant { unit, .. }) = list.first() else { return String::new() };
    let number = |value: Option<f64>| value.map_or("∞".to_string(), rounded_up);
    let rows = list.iter().map(|one| {
        let share = one.pays.zip(one.granted).map(|(pays, granted)| pays / granted * 100.0);
        let share = share.map_or("–".to_string(), |share| format!("{share:.1}%"));
        vec![one.attribute.clone(), number(one.granted), number(one.pays), share]
    });
    table(&["attribute", &format!("granted, as {unit}"), "pays", ""], rows.collect())
}
