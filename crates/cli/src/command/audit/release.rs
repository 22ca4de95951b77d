//! `scumble lab audit FILE --release NAME`: a release of ours, from SQL to noise, on made-up tables that differ in one
//! owner.
//!
//! The tables are made from the declarations alone; no row of the project's own is read, and its ledger is not touched.
//! For each scope a few pairs of neighbours are tried in a short run, and the pair that looks worst is audited with new
//! runs, so that having looked costs no confidence.

use super::outputs::AuditClaimArguments;
use super::{confidence, line, repeated, verdict};
use crate::failure::Failure;
use crate::interrupted::ScratchFolder;
use crate::progress::Progress;
use clap::Args;
use scumble::Loss;
use scumble::event::Event;
use scumble::noise::SecureSource;
use scumble::quantity::{Beta, Delta, Exact, rounded_down, rounded_up};
use scumble::scope::Scope;
use scumble_adversary::audit::{Claim, Comparison, LEAST_OUTPUTS, Outputs, compare};
use scumble_engine::budget::{Odometer, one_attribute};
use scumble_engine::project::{Column, Domain, Layout, Project, Request, Table};
use scumble_engine::release::{AnswerColumn, Answers, Cell, PlannedRelease, Runner};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Which release.
#[derive(Args)]
pub struct AuditReleaseArguments {
    /// A project file: audits one of its releases on invented tables
    #[arg(requires = "release")]
    pub file: Option<PathBuf>,
    /// The name of the release
    #[arg(long, value_name = "NAME", requires = "file")]
    release: Option<String>,
    /// Runs on each table
    #[arg(long, value_name = "N", default_value_t = 1000)]
    outputs: usize,
    /// Pairs of tables to try first
    #[arg(long, value_name = "N", default_value_t = 4)]
    pairs: u64,
    /// Only presence, person or an attribute
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
}

/// With how many runs a pair is tried.
const FEW_RUNS: usize = LEAST_OUTPUTS;
/// More pairs are not tried.
const MOST_PAIRS: u64 = 100;
/// Owners who are the same in both tables.
const OTHERS: usize = 5;
/// The most rows that one owner has.
const MOST_ROWS: u64 = 12;
/// In nanoseconds.
const DAY: i64 = 86_400_000_000_000;

impl AuditReleaseArguments {
    /// The answer, and whether a claim is refuted; each scope gets an equal part of β.
    pub fn run(&self, asked: &AuditClaimArguments, quiet: bool) -> Result<(String, bool), Failure> {
        let file = self.file.as_deref().unwrap_or_else(|| Path::new("scumble.toml"));
        let (said, beta, as_json) = asked.settings();
        let project = Project::open(file)?;
        let name = self.release.as_deref().unwrap_or_default();
        let Some(request) = project.releases.iter().find(|request| request.name == name) else {
            refuse!("{}: there is no release '{name}'", file.display())
        };
        refuse_if!(self.outputs < LEAST_OUTPUTS, "--outputs {}: an audit needs at least {LEAST_OUTPUTS}", self.outputs);
        refuse_if!(!(beta > 0.0 && beta < 0.5), "--beta {beta}: the probability of an error must be in (0, 0.5)");
        let delta = match (said, &request.cost.delta) {
            (Some(delta), _) => delta,
            (None, Some(delta)) => Delta::new(delta.to_f64())?,
            (None, None) => Delta::new(0.0)?,
        };
        let bench = AuditFixture::new(&project, request)?;
        let mut scopes = vec![Scope::Presence, Scope::Person];
        for attribute in &bench.attributes {
            scopes.push(one_attribute(attribute)?);
        }
        if let Some(only) = &self.scope {
            let names = |scope: &Scope| match scope {
                Scope::Attributes(set) => set.iter().any(|name| name == only),
                other => other.to_string() == *only,
            };
            scopes.retain(names);
            if scopes.is_empty() {
                refuse!("--scope {only}: presence, person, or a column of '{}'", bench.table.name);
            }
        }
        let share = Beta::new(beta / scopes.len() as f64)?;
        let mut found = Vec::new();
        let progress = Progress::new(quiet, scopes.len());
        for scope in scopes {
            let tried = if self.pairs > 1 { 2 * self.pairs.min(MOST_PAIRS) as usize * FEW_RUNS } else { 0 };
            progress.begin(&format!("auditing '{name}' in scope {scope}: {} runs", tried + 2 * self.outputs));
            let loss = Loss::of(&bench.events()?, &scope)?;
            let claimed = ScopeClaim::of(&bench.events()?, &scope, &loss, delta)?;
            let claim = Claim::of(&loss)?;
            let pair = bench.worst_pair(&scope, self.pairs.clamp(1, MOST_PAIRS), &claim, delta, share)?;
            let (one, other) = bench.outputs(&pair, self.outputs)?;
            // Outputs that are all the same prove nothing, and refute nothing.
            let compared = compare(&one, &other, Some(&claim), delta, share).ok();
            found.push((scope, claimed, compared));
        }
        let refuted = found.iter().any(|(.., compared)| is_refuted(compared.as_ref()));
        Ok((if as_json { shown_json(&found, beta) } else { shown(&found, delta, beta) }, refuted))
    }
}

fn is_refuted(compared: Option<&Comparison>) -> bool {
    compared.and_then(|compared| compared.verdict).is_some_and(|(_, refuted)| refuted)
}

type ScopeFinding = (Scope, ScopeClaim, Option<Comparison>);

/// What is claimed of one scope: ε at δ where it has one, and ρ where the noise has that instead.
struct ScopeClaim {
    epsilon: f64,
    rho: Option<f64>,
}

impl ScopeClaim {
    fn of(events: &[Event], scope: &Scope, loss: &Loss, delta: Delta) -> Result<Self, Failure> {
        let epsilon = loss.epsilon(delta).upper;
        // Some events have no sum of ρ, and are audited by their curve all the same.
        let spent = if epsilon.is_finite() { None } else { Odometer::of(events, scope).ok() };
        let rho = spent.and_then(|spent| spent.rho(&Exact::zero())).map(|rho| rho.to_f64_up());
        Ok(Self { epsilon, rho })
    }

    fn words(&self, delta: Delta) -> String {
        match self.rho {
            _ if self.epsilon.is_finite() => format!("claimed epsilon {:.6} at delta {delta}", self.epsilon),
            Some(rho) => format!("claimed rho {} (no epsilon at delta {delta})", rounded_up(rho, 6)),
            None => format!("claimed a whole curve (no epsilon at delta {delta}: say another --delta)"),
        }
    }
}

fn shown(found: &[ScopeFinding], delta: Delta, beta: f64) -> String {
    let mut text = String::new();
    for (scope, claimed, compared) in found {
        let seen = compared.as_ref().map_or(0.0, |compared| compared.epsilon_lower);
        let verdict = verdict(Some(is_refuted(compared.as_ref())), confidence(beta));
        let _ = writeln!(
            text,
            "{scope}: {}, seen epsilon at least {} at delta {delta}; {verdict}",
            claimed.words(delta),
            rounded_down(seen, 6)
        );
    }
    text
}

fn shown_json(found: &[ScopeFinding], beta: f64) -> String {
    let one = |(scope, claimed, compared): &ScopeFinding| {
        json!({
            "scope": scope.to_string(), "epsilon_claimed": claimed.epsilon, "rho_claimed": claimed.rho,
            "epsilon_lower": compared.as_ref().map_or(0.0, |compared| compared.epsilon_lower),
            "event": compared.as_ref().map(|compared| compared.event.to_string()),
            "refuted": is_refuted(compared.as_ref()),
        })
    };
    let refuted = found.iter().any(|(.., compared)| is_refuted(compared.as_ref()));
    line(&json!({ "scopes": found.iter().map(one).collect::<Vec<Value>>(), "beta": beta, "refuted": refuted }))
}

/// A row: the value of each declared column, as a file has it.
type Row = BTreeMap<String, String>;
/// The rows of the one owner in whom the tables differ.
type NeighbourRows = [Vec<Row>; 2];

/// A release, and a folder with made-up tables for it.
struct AuditFixture<'a> {
    request: &'a Request,
    project: Project,
    /// The private table; one of its owners changes.
    table: Table,
    attributes: BTreeSet<String>,
    folder: ScratchFolder,
}

impl<'a> AuditFixture<'a> {
    fn new(project: &Project, request: &'a Request) -> Result<Self, Failure> {
        let planned = Runner::new(project).plan(request)?;
        let read = planned.plan.tables.iter().filter_map(|name| project.tables.get(name));
        let private: Vec<&Table> = read.filter(|table| !table.public).collect();
        let [table] = private.as_slice() else {
            refuse!("release '{}' reads {} private tables: audits need neighbours of one", request.name, private.len())
        };
        if table.graph.is_some() {
            refuse!("table '{}' is a graph: audits need a table with owners or rows", table.name);
        }
        let folder = ScratchFolder::new()?;
        let mut made = Project::open(&project.path)?;
        // What is made up is read here.
        made.cluster = None;
        for other in made.tables.values_mut().filter(|other| other.name == table.name) {
            other.source = folder.path().join("table.csv");
            other.server = None;
            other.layout = Layout::default();
        }
        let attributes = table.columns.iter().map(|column| column.name.clone()).collect();
        Ok(Self { request, project: made, table: (*table).clone(), attributes, folder })
    }

    fn events(&self) -> Result<Vec<Event>, Failure> {
        Ok(Runner::new(&self.project).plan(self.request)?.plan.events)
    }

    /// The pair of some that a short run tells apart best.
    fn worst_pair(
        &self,
        scope: &Scope,
        pairs: u64,
        claim: &Claim,
        delta: Delta,
        beta: Beta,
    ) -> Result<NeighbourRows, Failure> {
        if pairs == 1 {
            return Ok(self.pair(scope, 0));
        }
        let mut worst: Option<(f64, NeighbourRows)> = None;
        for number in 0..pairs {
            let pair = self.pair(scope, number);
            let (one, other) = self.outputs(&pair, FEW_RUNS)?;
            let seen = compare(&one, &other, Some(claim), delta, beta).map_or(0.0, |found| found.epsilon_lower);
            if worst.as_ref().is_none_or(|(before, _)| seen > *before) {
                worst = Some((seen, pair));
            }
        }
        worst.map(|(_, pair)| pair).ok_or_else(|| Failure::Other("no pair was tried".to_string()))
    }

    /// The `number`-th pair of a scope: an owner at one end of all domains, against nobody, the other end, or the same
    /// with one attribute changed.
    fn pair(&self, scope: &Scope, number: u64) -> NeighbourRows {
        let bounds = self.table.bounding;
        let rows = match self.table.owner {
            Some(_) => {
                bounds.rows.unwrap_or(bounds.groups.unwrap_or(1).saturating_mul(bounds.rows_per_group.unwrap_or(1)))
            }
            None => 1,
        };
        let rows = rows.min(MOST_ROWS);
        // The owner's rows are alike, or go through the domain one after the other.
        let of =
            |end: u64| -> Vec<Row> { (0..rows).map(|row| self.row(end + if number >= 2 { row } else { 0 })).collect() };
        let (one, other) = if number.is_multiple_of(2) { (of(1), of(0)) } else { (of(0), of(1)) };
        match scope {
            Scope::Presence => [one, Vec::new()],
            Scope::Attributes(set) => {
                let changed = one.iter().zip(&other).map(|(one, other)| {
                    let mut row = one.clone();
                    for (name, value) in other.iter().filter(|(name, _)| set.iter().any(|own| own == *name)) {
                        row.insert(name.clone(), value.clone());
                    }
                    row
                });
                let changed = changed.collect();
                [one, changed]
            }
            _ => [one, other],
        }
    }

    /// A row whose columns are at the `place`-th of their values.
    fn row(&self, place: u64) -> Row {
        let value = |column: &Column| {
            let text = match &column.domain {
                Domain::Bool => (place % 2 == 1).to_string(),
                Domain::Int { bounds } | Domain::Date { bounds } => {
                    let (low, high) = bounds.unwrap_or((0, 1000));
                    column.domain.written([low, high, low.midpoint(high)][(place % 3) as usize])
                }
                Domain::Timestamp { bounds, .. } => {
                    let (low, high) = bounds.unwrap_or((0, 1000 * DAY));
                    column.domain.written([low, high, low.midpoint(high)][(place % 3) as usize])
                }
                Domain::Float { bounds, .. } => {
                    let (low, high) = bounds.unwrap_or((0.0, 1000.0));
                    [low, high, (low + high) / 2.0][(place % 3) as usize].to_string()
                }
                Domain::Category { values: Some(values) } if !values.is_empty() => {
                    let text = &values[(place % values.len() as u64) as usize];
                    format!("\"{}\"", text.replace('"', "\"\""))
                }
                Domain::Category { .. } => format!("k{}", place % 3),
            };
            (column.name.clone(), text)
        };
        self.table.columns.iter().map(value).collect()
    }

    /// The outputs of as many runs on both tables.
    fn outputs(&self, pair: &NeighbourRows, runs: usize) -> Result<(Outputs, Outputs), Failure> {
        let mut all = Vec::new();
        for rows in pair {
            self.write(rows)?;
            all.extend(self.released(runs)?);
        }
        // A place for each number that was published in any run, and one for whether it was.
        let places: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
        let vector = |found: &BTreeMap<String, f64>| {
            places
                .iter()
                .flat_map(|place| match found.get(*place) {
                    Some(number) => [*number, 1.0],
                    None => [0.0, 0.0],
                })
                .collect::<Vec<f64>>()
        };
        let width = 2 * places.len().max(1);
        let vectors = |found: &[BTreeMap<String, f64>]| {
            let mut values: Vec<f64> = found.iter().flat_map(vector).collect();
            values.resize(found.len() * width, 0.0);
            Outputs::Vectors { width, values }
        };
        Ok((vectors(&all[..runs]), vectors(&all[runs..])))
    }

    fn write(&self, rows: &[Row]) -> Result<(), Failure> {
        let mut names: Vec<&str> = self.table.columns.iter().map(|column| column.name.as_str()).collect();
        let owner = self.table.owner.as_deref();
        names.extend(owner);
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut text = names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",") + "\n";
        let mut add = |row: &Row, whose: usize| {
            let cells = names.iter().map(|name| match row.get(*name) {
                Some(value) => value.clone(),
                None => format!("o{whose}"),
            });
            text.push_str(&(cells.collect::<Vec<_>>().join(",") + "\n"));
        };
        for whose in 1..=OTHERS {
            add(&self.row(whose as u64), whose);
        }
        rows.iter().for_each(|row| add(row, 0));
        Ok(std::fs::write(self.folder.path().join("table.csv"), text)?)
    }

    /// What some runs publish, on all cores: each number by its column and the texts beside it.
    fn released(&self, runs: usize) -> Result<Vec<BTreeMap<String, f64>>, Failure> {
        let begin = || Ok(([Runner::new(&self.project).plan(self.request)?], SecureSource::new()?));
        let lost = || Failure::Other("a run of the release failed".to_string());
        repeated(runs, begin, |(planned, bits)| self.once(planned, bits), lost)
    }

    /// One run, with a ledger of its own.
    fn once(&self, planned: &[PlannedRelease], bits: &mut SecureSource) -> Result<BTreeMap<String, f64>, Failure> {
        let run = tempfile::tempdir_in(self.folder.path())?;
        let runner = Runner::with_ledger(&self.project, run.path().join("ledger"));
        let (outcomes, _) = runner.release(planned, &run.path().join("out"), bits, |_| ())?;
        Ok(outcomes.first().map(|outcome| numbers(&outcome.answers)).unwrap_or_default())
    }
}

fn numbers(answers: &Answers) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    for row in 0..answers.rows() {
        // Keys, and texts that are answers themselves, name the place.
        let is_text =
            |column: &&AnswerColumn| column.uncertainty.is_none() || matches!(column.cells[row], Cell::Text(_));
        let texts = answers.columns.iter().filter(is_text).map(|column| column.cells[row].text());
        let place = texts.collect::<Vec<_>>().join("\u{1f}");
        found.insert(place.clone(), 0.0);
        for column in answers.columns.iter().filter(|column| !is_text(column)) {
            let number = match &column.cells[row] {
                Cell::Null => continue,
                cell => cell.number().unwrap_or(0.0),
            };
            found.insert(format!("{place}\u{1f}{}", column.name), number.clamp(-1e15, 1e15));
        }
    }
    found
}
