//! A project, from its file or from frames in memory: planned, paid for and published by the engine.
//!
//! A project is read anew for each call. That takes well under a millisecond beside what a release takes, and nothing
//! has to be kept that could not cross threads.

use crate::failure::{Failure, Result};
use crate::plan::{PlanShown, told};
use crate::work::{charged, computed};
use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use scumble::noise::SecureSource;
use scumble::quantity::Exact;
use scumble::scope::AttributeSet;
use scumble_engine::kinds::registry::{KINDS, schema};
use scumble_engine::ledger::{BudgetChange, Ledger};
use scumble_engine::project::{self, Request};
use scumble_engine::release::{KeptRelease, PlannedRelease, ReleaseOutcome, Runner, published};
use scumble_engine::report::Report;
use scumble_engine::summary::{LedgerSummary, SummaryRequest, document, summary, sums_of};
use scumble_engine::{Batches, Stop, check};
use scumble_wire::parse;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// The rows of a data frame: a stream in Arrow's IPC format, in bytes of Python, which nothing changes.
#[pyclass(frozen, module = "scumble._native")]
pub struct Frame(Batches);

#[pymethods]
impl Frame {
    #[new]
    fn new(py: Python<'_>, stream: Bound<'_, PyBytes>) -> PyResult<Self> {
        let stream = Bytes::from_owner(PyBackedBytes::from(stream));
        Ok(Self(computed(py, move || Ok(Batches::of_stream(stream)?))?))
    }

    /// How many columns and rows there are; nothing about their values.
    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// The kinds of releases, as `scumble kinds --json` prints them.
#[pyfunction]
pub fn kinds() -> String {
    Value::Array(KINDS.iter().map(|kind| schema(kind)).collect()).to_string()
}

/// Where a project comes from.
#[derive(Clone)]
enum ProjectSource {
    File(PathBuf),
    Memory { path: PathBuf, text: String, rows: BTreeMap<String, Batches> },
}

/// A project, its ledger and the folder of its outputs.
#[pyclass(frozen, module = "scumble._native")]
pub struct Project(ProjectHandle);

/// The same for a thread of its own.
#[derive(Clone)]
struct ProjectHandle {
    source: ProjectSource,
    ledger: Option<PathBuf>,
    out: Option<PathBuf>,
    stop: Stop,
}

/// Which release is meant.
enum ReleaseSelector {
    /// One of the project file, by its name.
    Named(String),
    /// One of no project file: its fields, as JSON.
    Written(String),
}

#[pymethods]
impl Project {
    /// A project file.
    #[staticmethod]
    #[pyo3(signature = (path, ledger=None, out=None))]
    fn open(py: Python<'_>, path: PathBuf, ledger: Option<PathBuf>, out: Option<PathBuf>) -> PyResult<Self> {
        Self::tried(py, ProjectHandle { source: ProjectSource::File(path), ledger, out, stop: Stop::default() })
    }

    /// A project as JSON and the rows of its tables; `path` is where its file would be.
    #[staticmethod]
    #[pyo3(signature = (path, text, frames, ledger=None, out=None))]
    fn in_memory(
        py: Python<'_>,
        path: PathBuf,
        text: String,
        frames: BTreeMap<String, Py<Frame>>,
        ledger: Option<PathBuf>,
        out: Option<PathBuf>,
    ) -> PyResult<Self> {
        let rows = frames.into_iter().map(|(name, frame)| (name, frame.get().0.clone())).collect();
        Self::tried(
            py,
            ProjectHandle { source: ProjectSource::Memory { path, text, rows }, ledger, out, stop: Stop::default() },
        )
    }

    /// Tables, budget and releases, as JSON.
    fn described(&self, py: Python<'_>) -> PyResult<String> {
        let desk = self.0.clone();
        computed(py, move || Ok(desk.described(&desk.project()?)?.to_string()))
    }

    /// Whether the tables are what is declared.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let desk = self.0.clone();
        computed(py, move || {
            let project = desk.project()?;
            let names: Vec<String> = project.tables.keys().cloned().collect();
            Ok(check::check(&project, &names)?)
        })
    }

    /// What a release would cost whom; charges nothing and touches no data.
    #[pyo3(signature = (asked, *, named, delta=None))]
    fn plan(&self, py: Python<'_>, asked: String, named: bool, delta: Option<String>) -> PyResult<String> {
        let (desk, asked) = (self.0.clone(), ReleaseSelector::new(asked, named));
        computed(py, move || {
            let project = desk.project()?;
            let runner = desk.runner(&project);
            let priced = || -> Result<PlanShown> {
                let planned = runner.plan(&asked.request(&project)?)?;
                told(&runner, &project, &planned, delta.as_deref())
            };
            Ok(document(&priced().map_err(|failure| desk.said(failure))?)?.to_string())
        })
    }

    /// Pays for a release and publishes it, or gives what was published before with the same declaration.
    /// `planned` is the digest of the project that it was planned in.
    #[pyo3(signature = (asked, *, named, again, planned))]
    fn release(&self, py: Python<'_>, asked: String, named: bool, again: bool, planned: String) -> PyResult<String> {
        let (desk, asked) = (self.0.clone(), ReleaseSelector::new(asked, named));
        let stop = Stop::default();
        let desk = ProjectHandle { stop: stop.clone(), ..desk };
        charged(py, stop, move || {
            let released = desk.release(&asked, again, &planned).map_err(|failure| desk.said(failure))?;
            Ok(released.to_string())
        })
    }

    /// Answers questions to an interactive release, one after the other; a round is charged when it opens.
    #[pyo3(signature = (asked, questions, *, named, planned))]
    fn ask(
        &self,
        py: Python<'_>,
        asked: String,
        questions: Vec<String>,
        named: bool,
        planned: String,
    ) -> PyResult<String> {
        let stop = Stop::default();
        let desk = ProjectHandle { stop: stop.clone(), ..self.0.clone() };
        let asked = ReleaseSelector::new(asked, named);
        charged(py, stop, move || {
            let answers = desk.ask(&asked, &questions, &planned).map_err(|failure| desk.said(failure))?;
            Ok(Value::Array(answers).to_string())
        })
    }

    /// What has been spent and what is left, in every scope; none where there is no ledger yet.
    #[pyo3(signature = (delta=None, sets=Vec::new(), group=None))]
    fn ledger(
        &self,
        py: Python<'_>,
        delta: Option<String>,
        sets: Vec<Vec<String>>,
        group: Option<u32>,
    ) -> PyResult<String> {
        let desk = self.0.clone();
        computed(py, move || Ok(desk.spent(delta.as_deref(), &sets, group)?.to_string()))
    }

    /// Checks that no entry of the ledger was edited, removed or moved; gives its head.
    fn verify(&self, py: Python<'_>) -> PyResult<Option<(u64, String)>> {
        let desk = self.0.clone();
        computed(py, move || {
            let project = desk.project()?;
            let ledger = Ledger::open_existing(desk.runner(&project).ledger())?;
            let head = ledger.map(|ledger| ledger.verify()).transpose()?;
            Ok(head.map(|head| (head.entries, head.hex())))
        })
    }

    /// Puts the project's budget in force in the ledger, with a reason; gives the number of the entry.
    fn change_budget(&self, py: Python<'_>, because: String, raise: bool) -> PyResult<u64> {
        let desk = self.0.clone();
        charged(py, Stop::default(), move || {
            if because.trim().is_empty() {
                return Err(Failure::input("a changed budget needs a reason, which the ledger records"));
            }
            let project = desk.project()?;
            let ledger = Ledger::open_existing(desk.runner(&project).ledger())?;
            let mut ledger =
                ledger.ok_or_else(|| Failure::input("there is no ledger yet: nothing has been released"))?;
            let change = if raise { BudgetChange::Raise } else { BudgetChange::Lower };
            Ok(ledger.change_budget(&project.budget, because.trim(), change)?.entries)
        })
    }

    /// Writes the report of everything that the ledger holds; gives the path of the page.
    fn report(&self, py: Python<'_>) -> PyResult<PathBuf> {
        let desk = self.0.clone();
        computed(py, move || desk.report())
    }
}

impl Project {
    /// What is wrong with a project is said where it is made.
    fn tried(py: Python<'_>, desk: ProjectHandle) -> PyResult<Self> {
        let copy = desk.clone();
        computed(py, move || copy.project().map(drop))?;
        Ok(Self(desk))
    }
}

impl ReleaseSelector {
    fn new(asked: String, named: bool) -> Self {
        if named { Self::Named(asked) } else { Self::Written(asked) }
    }

    fn request(&self, project: &project::Project) -> Result<Request> {
        match self {
            Self::Named(name) => {
                let found = project.releases.iter().find(|request| request.name == *name);
                found.cloned().ok_or_else(|| {
                    let names = project.releases.iter().map(|request| request.name.as_str());
                    let hint = scumble_engine::nearest(name, names);
                    let hint = hint.map_or(String::new(), |hint| format!(" (did you mean '{hint}'?)"));
                    Failure::input(format!("there is no release '{name}' in {}{hint}", project.path.display()))
                })
            }
            Self::Written(text) => {
                let fields = parse(text)?;
                let fields = fields.as_object().ok_or_else(|| Failure::input("a request is an object of fields"))?;
                let request = Request::of_fields(fields)?;
                match project.releases.iter().any(|other| other.name.trim() == request.name.trim()) {
                    false => Ok(request),
                    true => Err(Failure::input(format!(
                        "the project file has a release '{}', whose files this would replace: give it another name",
                        request.name.trim()
                    ))),
                }
            }
        }
    }
}

impl ProjectHandle {
    fn project(&self) -> Result<project::Project> {
        let mut project = match &self.source {
            ProjectSource::File(path) => project::Project::open(path)?,
            ProjectSource::Memory { path, text, rows } => project::Project::of_json(path, text, rows.clone())?,
        };
        project.stop = self.stop.clone();
        Ok(project)
    }

    /// The project, if it is the one in which something was planned.
    fn planned(&self, digest: &str) -> Result<project::Project> {
        let project = self.project()?;
        match project.digest == digest {
            true => Ok(project),
            false => Err(Failure::input(format!(
                "{} has changed since this was planned, and nothing was charged: plan it again",
                project.path.display()
            ))),
        }
    }

    fn ask(&self, asked: &ReleaseSelector, questions: &[String], planned: &str) -> Result<Vec<Value>> {
        let project = self.planned(planned)?;
        let runner = self.runner(&project);
        let request = asked.request(&project)?;
        let mut asking = runner.asking(&request, &self.out(&project))?;
        // What is wrong with one of them is said before any is paid for.
        for question in questions {
            asking.understood(question)?;
        }
        let mut bits = SecureSource::new()?;
        let mut answers = Vec::new();
        for question in questions {
            let answered = asking.ask(question, &mut bits)?;
            answers.push(document(&QuestionShown {
                question: answered.question,
                answer: answered.answer,
                within: answered.within,
                how: answered.how.words(),
                charged: answered.charged,
                rounds: answered.rounds,
                notes: answered.notes,
            })?);
        }
        Ok(answers)
    }

    /// A session has no file that it could be called after.
    fn said(&self, failure: Failure) -> Failure {
        match &self.source {
            ProjectSource::File(_) => failure,
            ProjectSource::Memory { path, .. } => {
                failure.calling(&path.display().to_string(), "this session").calling("the project file", "this session")
            }
        }
    }

    fn runner<'p>(&self, project: &'p project::Project) -> Runner<'p> {
        match &self.ledger {
            Some(path) => Runner::with_ledger(project, path.clone()),
            None => Runner::new(project),
        }
    }

    fn out(&self, project: &project::Project) -> PathBuf {
        self.out.clone().unwrap_or_else(|| project.folder().join("out"))
    }

    fn described(&self, project: &project::Project) -> Result<Value> {
        let table = |table: &project::Table| {
            let columns = table.columns.iter().map(|column| column.name.clone()).collect();
            (table.name.clone(), TableShown { owner: table.owner.clone(), public: table.public, columns })
        };
        let release = |request: &Request| RequestShown { name: request.name.clone(), kind: request.kind.clone() };
        Ok(document(&ProjectShown {
            tables: project.tables.values().map(table).collect(),
            releases: project.releases.iter().map(release).collect(),
            ledger: self.runner(project).ledger().display().to_string(),
            out: self.out(project).display().to_string(),
        })?)
    }

    fn release(&self, asked: &ReleaseSelector, again: bool, planned: &str) -> Result<Value> {
        let project = self.planned(planned)?;
        let runner = self.runner(&project);
        let planned = [runner.plan(&asked.request(&project)?)?];
        let out = self.out(&project);
        runner.hold_budget()?;
        let again = if again { vec![planned[0].request.name.clone()] } else { Vec::new() };
        let kept = runner.kept(&planned, &out, &again)?.into_iter().flatten().next();
        match kept {
            Some(kept) => Ok(document(&kept_shown(&kept, &planned[0])?)?),
            None => {
                let mut bits = SecureSource::new()?;
                let (outcomes, head) = runner.release(&planned, &out, &mut bits, |_| ())?;
                let outcome = outcomes.first().ok_or_else(|| Failure::machine("a release without an outcome"))?;
                let ledger_head = Some(head.hex());
                Ok(document(&ReleaseShown { ledger_head, ..outcome_shown(outcome, &planned[0]) })?)
            }
        }
    }

    fn spent(&self, delta: Option<&str>, sets: &[Vec<String>], group: Option<u32>) -> Result<Value> {
        let project = self.project()?;
        let known = project.attributes();
        let sets = sets
            .iter()
            .map(|names| AttributeSet::new(names.iter().map(String::as_str)))
            .collect::<scumble::Result<Vec<_>>>()?;
        if let Some(unknown) = sets.iter().flat_map(|set| set.iter()).find(|name| !known.contains(*name)) {
            return Err(Failure::input(format!("'{unknown}' is not a declared column of the project")));
        }
        let delta = delta.map(str::parse::<Exact>).transpose()?;
        let group = match group {
            None => None,
            Some(size) => Some(NonZeroU32::new(size).ok_or_else(|| Failure::input("a group has at least one owner"))?),
        };
        let path = self.runner(&project).ledger().to_path_buf();
        let ledger = Ledger::open_existing(&path)?;
        let charges = ledger.as_ref().map_or(Ok(Vec::new()), Ledger::charges)?;
        let in_force = ledger.as_ref().map(|ledger| ledger.standing(&[])).transpose()?;
        let budget = in_force.and_then(|(standing, _)| standing.budget()).unwrap_or_else(|| project.budget.clone());
        let question = SummaryRequest { budget: &budget, attributes: &known, delta, sets: &sets, group };
        let summary = summary(&charges, &sums_of(&charges, &sets)?, &question)?;
        let head = ledger.as_ref().map(Ledger::head).transpose()?;
        Ok(document(&LedgerShown {
            summary,
            head: head.as_ref().map(|head| head.hex()),
            entries: head.map_or(0, |head| head.entries),
            path: path.display().to_string(),
        })?)
    }

    fn report(&self) -> Result<PathBuf> {
        /// This many charges are listed one by one.
        const RECENT: usize = 200;
        let project = self.project()?;
        let (runner, out) = (self.runner(&project), self.out(&project));
        let ledger = Ledger::open_existing(runner.ledger())?
            .ok_or_else(|| Failure::input("there is nothing to report: nothing has been released yet"))?;
        Report::places(&project, &out)?;
        let (charges, standing) = runner.recent(RECENT)?;
        let (published, unshown) = published(&out, &charges);
        let report = Report {
            project: &project,
            charges: &charges,
            standing: &standing,
            published: &published,
            unshown: &unshown,
            time: Report::now(),
            head: ledger.head()?,
        };
        Ok(report.write(&out)?)
    }
}

/// A project: what may be asked about, and where its files are.
#[derive(Serialize)]
struct ProjectShown {
    tables: BTreeMap<String, TableShown>,
    releases: Vec<RequestShown>,
    ledger: String,
    out: String,
}

#[derive(Serialize)]
struct TableShown {
    owner: Option<String>,
    public: bool,
    columns: Vec<String>,
}

/// A release of the project file.
#[derive(Serialize)]
struct RequestShown {
    name: String,
    kind: String,
}

/// What a ledger adds up to, and where it is.
#[derive(Serialize)]
struct LedgerShown {
    #[serde(flatten)]
    summary: LedgerSummary,
    head: Option<String>,
    entries: u64,
    path: String,
}

/// An answer to one question.
#[derive(Serialize)]
struct QuestionShown {
    question: String,
    answer: i64,
    within: Option<u64>,
    how: &'static str,
    charged: Option<u64>,
    rounds: (u64, u64),
    notes: Vec<String>,
}

/// What was published.
#[derive(Serialize)]
struct ReleaseShown {
    name: String,
    kind: String,
    /// When it was paid for, if that was before.
    kept: Option<PriorRelease>,
    sequence: u64,
    files: Vec<String>,
    /// The columns in their order.
    columns: Value,
    answers: Value,
    ledger_head: Option<String>,
}

#[derive(Serialize)]
struct PriorRelease {
    time: String,
    data_changed: Option<bool>,
}

/// The name of an answer's column, and whether it has an error beside it.
#[derive(Serialize)]
struct ColumnShown<'a> {
    name: &'a str,
    noisy: bool,
}

fn outcome_shown(outcome: &ReleaseOutcome, planned: &PlannedRelease) -> ReleaseShown {
    let columns = outcome.answers.columns.iter();
    let columns = columns.map(|column| ColumnShown { name: &column.name, noisy: column.uncertainty.is_some() });
    ReleaseShown {
        name: outcome.name.clone(),
        kind: planned.request.kind.clone(),
        kept: None,
        sequence: outcome.sequence,
        files: paths(&outcome.files),
        columns: json!(columns.collect::<Vec<_>>()),
        answers: outcome.answers.json(),
        ledger_head: None,
    }
}

fn paths(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|path| path.display().to_string()).collect()
}

/// What was published before, as its file has it.
fn kept_shown(kept: &KeptRelease, planned: &PlannedRelease) -> Result<ReleaseShown> {
    let path = kept.files.iter().find(|path| path.extension().is_some_and(|end| end == "json"));
    let text = path.and_then(|path| std::fs::read_to_string(path).ok());
    let published: Option<PublishedFile> = text.and_then(|text| serde_json::from_str(&text).ok());
    let published =
        published.ok_or_else(|| Failure::machine(format!("what was published as '{}' cannot be read", kept.name)))?;
    Ok(ReleaseShown {
        name: kept.name.clone(),
        kind: planned.request.kind.clone(),
        kept: Some(PriorRelease { time: kept.time.clone(), data_changed: kept.data_changed }),
        sequence: kept.sequence,
        files: paths(&kept.files),
        columns: published.report.columns,
        answers: published.answers,
        ledger_head: published.ledger_head,
    })
}

/// The file of a release, as far as it is shown again.
#[derive(Deserialize)]
struct PublishedFile {
    #[serde(default)]
    answers: Value,
    #[serde(default)]
    report: PublishedReport,
    ledger_head: Option<String>,
}

#[derive(Default, Deserialize)]
struct PublishedReport {
    #[serde(default)]
    columns: Value,
}
