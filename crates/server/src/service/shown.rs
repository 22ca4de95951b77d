//! What people can see: declared tables, the budget that is left, earlier requests, published answers.

use super::ask::columns;
use super::history::History;
use super::{Service, allowed};
use crate::access::{Person, Role};
use crate::refusal::{Refusal, RefusalKind};
use scumble::noise::SecureSource;
use scumble_engine::budget::{Budget, Sums};
use scumble_engine::ledger::{Charge, Head, Ledger, LedgerState, Remark, RemarkOutcome};
use scumble_engine::project::{Column, Domain, Project, Request};
use scumble_engine::release::{Answers, KeptRelease, OutputError, StoredAnswers, arrow, published_file, stored};
use scumble_engine::report::Report;
use scumble_engine::summary::{ChargeCost, LedgerSummary, PerScope, RULE, ScopeCost, ScopeLeft, document};
use scumble_engine::{Error, nearest};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A table as it is declared.
#[derive(Debug, Clone, Serialize)]
pub struct TableShown {
    /// Its name.
    pub name: String,
    /// The column that says whose row it is.
    pub owner: Option<String>,
    /// Whether it holds no private data.
    pub public: bool,
    /// Its columns.
    pub columns: Vec<ColumnShown>,
}

/// A column as it is declared.
#[derive(Debug, Clone, Serialize)]
pub struct ColumnShown {
    /// Its name.
    pub name: String,
    /// What it holds.
    #[serde(rename = "type")]
    pub kind: ColumnType,
    /// Its bounds, its grid or its values by their keys in the project file, as far as they are declared.
    #[serde(flatten)]
    pub declared: BTreeMap<&'static str, DeclaredValue>,
    /// Whether it is declared sensitive.
    pub sensitive: bool,
}

/// What a column holds, as project files say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ColumnType {
    /// Whole numbers.
    Int,
    /// Numbers.
    Float,
    /// Texts.
    Category,
    /// True or false.
    Bool,
    /// Days.
    Date,
    /// Times.
    Timestamp,
}

impl ColumnType {
    /// The word of project files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Float => "float",
            Self::Category => "category",
            Self::Bool => "bool",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
        }
    }
}

/// Something that is declared of a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum DeclaredValue {
    /// A bound of whole numbers.
    Whole(i64),
    /// A bound or the grid of numbers.
    Number(f64),
    /// A bound of days or times.
    Text(String),
    /// All values there can be.
    List(Vec<String>),
}

/// What was spent and what is left of one budget.
#[derive(Debug, Clone, Serialize)]
pub struct BudgetState {
    /// What was spent.
    #[serde(flatten)]
    pub spent: PerScope<ScopeCost>,
    /// What is left.
    pub remaining: PerScope<ScopeLeft>,
    /// By which rule it was added up.
    rule: &'static str,
}

impl BudgetState {
    /// What was spent and what is left, added up as ledgers are.
    pub(crate) fn told(spent: PerScope<ScopeCost>, remaining: PerScope<ScopeLeft>) -> Self {
        Self { spent, remaining, rule: RULE }
    }
}

impl From<LedgerSummary> for BudgetState {
    fn from(LedgerSummary { spent, remaining, .. }: LedgerSummary) -> Self {
        Self::told(spent, remaining)
    }
}

/// The project's budget, and that of who asks, if they have one of their own.
#[derive(Debug, Clone, Serialize)]
pub struct BudgetShown {
    /// The project's.
    #[serde(flatten)]
    pub project: BudgetState,
    /// Their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own: Option<BudgetState>,
    #[serde(flatten)]
    pub(crate) head: HeadShown,
}

/// How many entries a ledger has, and the hash of the last one.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct HeadShown {
    pub(crate) entries: u64,
    pub(crate) head: String,
}

impl HeadShown {
    pub(crate) fn of(head: &Head) -> Self {
        Self { entries: head.entries, head: head.hex() }
    }
}

/// What was asked.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct HistoryShown {
    /// The sums; none where there is no ledger yet.
    #[serde(flatten)]
    pub(crate) budget: Option<BudgetState>,
    pub(crate) releases: Vec<ChargeShown>,
    pub(crate) asked: Vec<RemarkShown>,
    #[serde(flatten)]
    pub(crate) head: HeadShown,
}

/// A charge, who asked for it, and its query.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ChargeShown {
    #[serde(flatten)]
    pub(crate) cost: ChargeCost,
    pub(crate) by: Option<String>,
    pub(crate) sql: Option<String>,
}

/// A question that was not charged.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RemarkShown {
    pub(crate) sequence: u64,
    pub(crate) time: String,
    pub(crate) by: String,
    pub(crate) what: String,
    pub(crate) cost: String,
    /// The entry whose answer it got.
    pub(crate) answer: Option<u64>,
    /// Why it was refused.
    pub(crate) refused: Option<String>,
    /// The entry that its plan said is paid for.
    pub(crate) planned: Option<u64>,
}

/// Published answers.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct AnswersShown {
    pub(crate) answers: Vec<PublishedAnswer>,
}

/// A published answer.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PublishedAnswer {
    pub(crate) sequence: u64,
    pub(crate) time: String,
    pub(crate) release: String,
    pub(crate) kind: String,
    pub(crate) sql: Option<String>,
    pub(crate) by: Option<String>,
}

/// What came of publishing what the project file declares.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ReleaseOutcomes {
    releases: Vec<ReleaseOutcome>,
    #[serde(flatten)]
    head: HeadShown,
}

/// What came of one release: published before, or now.
#[derive(Debug, Clone, Serialize)]
struct ReleaseOutcome {
    name: String,
    kept: bool,
    sequence: u64,
    /// When it was published, if that was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<String>,
    /// The answers, if they are new.
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<Value>,
}

/// An answer as it is downloaded.
#[derive(Debug, Serialize)]
struct StoredAnswer<'a> {
    #[serde(flatten)]
    shown: &'a Value,
    columns: Vec<&'a str>,
    release: &'a str,
    sequence: u64,
}

/// The form in which an answer is downloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DownloadForm {
    Json,
    Csv,
    Parquet,
    Arrow,
}

impl DownloadForm {
    pub const ALL: [Self; 4] = [Self::Json, Self::Csv, Self::Parquet, Self::Arrow];

    /// Its word, and its type on the wire.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Json => ("json", "application/json"),
            Self::Csv => ("csv", "text/csv; charset=utf-8"),
            Self::Parquet => ("parquet", "application/vnd.apache.parquet"),
            Self::Arrow => ("arrow", "application/vnd.apache.arrow.stream"),
        }
    }
}

impl Service {
    /// The tables as they are declared; nothing of it comes from data.
    pub fn tables(&self) -> Vec<TableShown> {
        let tables = self.project.tables.values().map(|table| TableShown {
            name: table.name.clone(),
            owner: table.owner.clone(),
            public: table.public,
            columns: table.columns.iter().map(column).collect(),
        });
        tables.collect()
    }

    /// What has been spent and what is left, in every scope; for an analyst with a budget of their own also in that
    /// (`own`).
    pub async fn budget(self: &Arc<Self>, person: &Person) -> Result<BudgetShown, Refusal> {
        let person = person.clone();
        self.at_work(move |service| {
            let ledger = Ledger::open_existing(&service.ledger)?;
            let (standing, head) =
                ledger.as_ref().map_or(Ok((LedgerState::nothing(), Head::empty())), |ledger| ledger.standing(&[]))?;
            let budget = standing.budget().unwrap_or_else(|| service.project.budget.clone());
            let told = |sums: &Sums, budget: &Budget| service.summarized(&[], sums, budget).map(BudgetState::from);
            let project = told(standing.sums()?, &budget)?;
            let limits = service.project.analysts.get(&person.name).filter(|_| person.role < Role::Curator);
            let own = match limits {
                Some(limits) => {
                    let own = ledger.map_or(Ok(Sums::nothing()), |ledger| ledger.charged_to(&person.name))?;
                    Some(told(&own, limits)?)
                }
                None => None,
            };
            Ok(BudgetShown { project, own, head: HeadShown::of(&head) })
        })
        .await
    }

    /// What was asked: by everybody for a curator, by themselves for others. Everything was verified on the way.
    pub(crate) async fn history(self: &Arc<Self>, person: &Person) -> Result<HistoryShown, Refusal> {
        allowed(person, Role::Analyst)?;
        let (person, whole) = (person.clone(), self.whole().await?);
        self.at_work(move |service| {
            let Some(ledger) = Ledger::open_existing(&service.ledger)? else {
                let head = HeadShown::of(&Head::empty());
                return Ok(HistoryShown { budget: None, releases: Vec::new(), asked: Vec::new(), head });
            };
            let budget = ledger.standing(&[])?.0.budget().unwrap_or_else(|| service.project.budget.clone());
            let own = |charge: &Charge| charge.asked.as_ref().is_some_and(|asked| asked.by == person.name);
            let all = person.role == Role::Curator;
            let charges: Vec<Charge> = whole.charges.iter().filter(|charge| all || own(charge)).cloned().collect();
            let mut summary = service.summarized(&charges, &whole.sums, &budget)?;
            let costs = std::mem::take(&mut summary.releases).into_iter().zip(&charges);
            let shown = costs.map(|(cost, charge)| ChargeShown {
                cost,
                by: charge.asked.as_ref().map(|asked| asked.by.clone()),
                sql: query_of(charge),
            });
            let remarks = whole.remarks.iter().filter(|remark| all || remark.remarked.by == person.name);
            Ok(HistoryShown {
                releases: shown.collect(),
                budget: Some(summary.into()),
                asked: remarks.map(remark_shown).collect(),
                head: HeadShown::of(&whole.head),
            })
        })
        .await
    }

    /// Verifies the whole ledger.
    pub(crate) async fn verify(self: &Arc<Self>) -> Result<HeadShown, Refusal> {
        self.at_work(|service| {
            let head = Ledger::open_existing(&service.ledger)?.map_or(Ok(Head::empty()), |ledger| ledger.verify())?;
            Ok(HeadShown::of(&head))
        })
        .await
    }

    /// The answers that somebody may see, newest first: those of the project's releases, and those that they asked for;
    /// all for a curator.
    pub(crate) async fn answers(self: &Arc<Self>, person: &Person) -> Result<AnswersShown, Refusal> {
        let (person, whole) = (person.clone(), self.whole().await?);
        self.at_work(move |service| {
            let charges = service.visible(&whole, &person);
            let seen = charges.iter().rev().filter(|charge| charge.state.output().is_some());
            let shown = seen.map(|charge| {
                let by = charge
                    .asked
                    .as_ref()
                    .map(|asked| &asked.by)
                    .filter(|by| person.role == Role::Curator || **by == person.name);
                PublishedAnswer {
                    sequence: charge.sequence,
                    time: charge.time.clone(),
                    release: charge.release.clone(),
                    kind: charge.kind.clone(),
                    sql: query_of(charge),
                    by: by.cloned(),
                }
            });
            Ok(AnswersShown { answers: shown.collect() })
        })
        .await
    }

    /// An answer that somebody may see, as bytes.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        person: &Person,
        sequence: u64,
        form: DownloadForm,
    ) -> Result<Vec<u8>, Refusal> {
        let (person, whole) = (person.clone(), self.whole().await?);
        self.at_work(move |service| {
            let charge = service.visible_answer(&whole, &person, sequence)?;
            let gone = |why| gone(sequence, &why);
            match form {
                DownloadForm::Json => {
                    let StoredAnswers { answers, document: shown, .. } = stored(&service.out, charge).map_err(gone)?;
                    let (columns, release) = (columns(&answers), charge.release.as_str());
                    let shown = document(&StoredAnswer { shown: &shown, columns, release, sequence })?;
                    Ok(format!("{shown:#}\n").into_bytes())
                }
                DownloadForm::Arrow => {
                    let StoredAnswers { answers, row_count, .. } = stored(&service.out, charge).map_err(gone)?;
                    match row_count {
                        Some(rows) => Err(Refusal::new(
                            RefusalKind::Input,
                            format!("answer {sequence} has {rows} rows, too many for a stream of Arrow's: ask for it as parquet or csv"),
                        )),
                        None => Ok(arrow(&answers)?),
                    }
                }
                DownloadForm::Csv | DownloadForm::Parquet => published_file(&service.out, charge, form.words().0).map_err(gone),
            }
        })
        .await
    }

    /// The release of an answer that somebody may see, and its table.
    pub(crate) async fn answer_table(
        self: &Arc<Self>,
        person: &Person,
        sequence: u64,
    ) -> Result<(String, Answers), Refusal> {
        let (person, whole) = (person.clone(), self.whole().await?);
        self.at_work(move |service| {
            let charge = service.visible_answer(&whole, &person, sequence)?;
            let stored = stored(&service.out, charge).map_err(|why| gone(sequence, &why))?;
            Ok((charge.release.clone(), stored.answers))
        })
        .await
    }

    /// The charge of an answer that somebody may see. What is not for them looks like what is not there.
    fn visible_answer<'h>(&self, whole: &'h History, person: &Person, sequence: u64) -> Result<&'h Charge, Refusal> {
        let found = self.visible(whole, person).into_iter().find(|charge| charge.sequence == sequence);
        found.filter(|charge| charge.state.output().is_some()).ok_or_else(|| {
            Refusal::new(RefusalKind::NotFound, format!("there is no answer {sequence} that you may see"))
        })
    }

    /// The charges that somebody may know of ([`may_see`](Self::may_see)).
    pub(super) fn visible<'h>(&self, whole: &'h History, person: &Person) -> Vec<&'h Charge> {
        let told = whole.remarks.iter().filter(|remark| remark.remarked.by == person.name);
        let told: BTreeSet<u64> = told
            .filter_map(|remark| match remark.remarked.came {
                RemarkOutcome::Stored(of) => Some(of),
                RemarkOutcome::Planned(_) | RemarkOutcome::Refused(_) => None,
            })
            .collect();
        let seen = |charge: &&Charge| self.may_see(person, charge, || told.contains(&charge.sequence));
        whole.charges.iter().filter(seen).collect()
    }

    /// Who sees what: everybody the releases that the project file names; an analyst also what they asked themselves,
    /// and what a colleague paid for once they have asked the same (`was_told`); a curator everything, and what is
    /// asked at a terminal (`scumble query`) is a curator's until the project file names it.
    pub(super) fn may_see(&self, person: &Person, charge: &Charge, was_told: impl FnOnce() -> bool) -> bool {
        let is_declared = || self.project.releases.iter().any(|request| request.name == charge.release);
        match person.role {
            Role::Curator => true,
            Role::Analyst => {
                is_declared() || charge.asked.as_ref().is_some_and(|asked| asked.by == person.name) || was_told()
            }
            Role::Viewer => is_declared(),
        }
    }

    /// Publishes what the project file declares and is not published yet, in somebody's name; as
    /// `scumble release --json`.
    pub(crate) async fn release(
        self: &Arc<Self>,
        person: &Person,
        only: Vec<String>,
        again: Vec<String>,
    ) -> Result<ReleaseOutcomes, Refusal> {
        allowed(person, Role::Curator)?;
        let person = person.clone();
        self.paying(move |service| {
            // Held until the work is done, whether or not anybody waits for it.
            let _charge_lock = service.charge_lock()?;
            service.released(&person, &only, &again)
        })
        .await
    }

    fn released(&self, person: &Person, only: &[String], again: &[String]) -> Result<ReleaseOutcomes, Refusal> {
        let project = &self.project;
        only.iter().chain(again).try_for_each(|name| known(project, name))?;
        let wanted = |request: &&Request| !request.is_asked() && (only.is_empty() || only.contains(&request.name));
        let runner = self.runner(person, None);
        let planned = project
            .releases
            .iter()
            .filter(wanted)
            .map(|request| runner.plan(request))
            .collect::<Result<Vec<_>, _>>()?;
        if planned.is_empty() {
            return Err(Refusal::input("the project file has no release of that name that could be published here"));
        }
        runner.hold_budget()?;
        let kept = runner.kept(&planned, &self.out, again)?;
        let (mut paid, mut shown) = (Vec::new(), Vec::new());
        for (planned, kept) in planned.into_iter().zip(kept) {
            match kept {
                Some(KeptRelease { name, sequence, time, .. }) => {
                    shown.push(ReleaseOutcome { name, kept: true, sequence, published: Some(time), answers: None });
                }
                None => paid.push(planned),
            }
        }
        Report::places(&self.project, &self.out)?;
        let mut bits = SecureSource::new().map_err(Error::from)?;
        let (outcomes, head) = runner.release(&paid, &self.out, &mut bits, |_| ())?;
        outcomes.iter().for_each(|_| self.metrics.paid.add());
        shown.extend(outcomes.into_iter().map(|outcome| ReleaseOutcome {
            name: outcome.name,
            kept: false,
            sequence: outcome.sequence,
            published: None,
            answers: Some(outcome.answers.json()),
        }));
        Ok(ReleaseOutcomes { releases: shown, head: HeadShown::of(&head) })
    }

    /// Whether the ledger can be read. It has a place of its own: whatever else is worked on, this is not waited for.
    pub(crate) async fn is_healthy(self: &Arc<Self>) -> bool {
        let watch = Arc::clone(&self.watch);
        let look = self.with(&watch, Self::head);
        look.await.is_ok()
    }
}

/// An answer that was paid for, and is not there as it was published.
fn gone(sequence: u64, why: &OutputError) -> Refusal {
    Refusal::new(RefusalKind::Lost, format!("answer {sequence} was charged, and {why}"))
}

/// The query of a charge, where its kind has one. A rule is in the words of its kind.
fn query_of(charge: &Charge) -> Option<String> {
    charge.rule["sql"].as_str().map(str::to_string)
}

fn known(project: &Project, name: &str) -> Result<(), Refusal> {
    if project.releases.iter().any(|request| request.name == *name) {
        return Ok(());
    }
    let hint = nearest(name, project.releases.iter().map(|request| request.name.as_str()));
    let hint = hint.map_or(String::new(), |hint| format!(" (did you mean '{hint}'?)"));
    Err(Refusal::input(format!("there is no release '{name}' in the project file{hint}")))
}

fn remark_shown(remark: &Remark) -> RemarkShown {
    let Remark { sequence, time, remarked } = remark;
    let (of, why, planned) = match &remarked.came {
        RemarkOutcome::Stored(of) => (Some(*of), None, None),
        RemarkOutcome::Refused(why) => (None, Some(why), None),
        RemarkOutcome::Planned(of) => (None, None, Some(*of)),
    };
    RemarkShown {
        sequence: *sequence,
        time: time.clone(),
        by: remarked.by.clone(),
        what: remarked.what.clone(),
        cost: remarked.cost.clone(),
        answer: of,
        refused: why.cloned(),
        planned,
    }
}

fn column(column: &Column) -> ColumnShown {
    use DeclaredValue::{List, Number, Text, Whole};
    let ends = |bounds: Option<[DeclaredValue; 2]>| match bounds {
        Some([lower, upper]) => BTreeMap::from([("lower", lower), ("upper", upper)]),
        None => BTreeMap::new(),
    };
    let written = |bounds: &Option<(i64, i64)>| {
        ends(bounds.map(|(lower, upper)| [lower, upper].map(|end| Text(column.domain.written(end)))))
    };
    let (kind, declared) = match &column.domain {
        Domain::Int { bounds } => (ColumnType::Int, ends(bounds.map(|(lower, upper)| [Whole(lower), Whole(upper)]))),
        Domain::Float { bounds, granularity } => {
            let mut declared = ends(bounds.map(|(lower, upper)| [Number(lower), Number(upper)]));
            declared.extend(granularity.map(|grid| ("granularity", Number(grid))));
            (ColumnType::Float, declared)
        }
        Domain::Category { values } => {
            let values = values.iter().map(|values| ("values", List(values.clone())));
            (ColumnType::Category, values.collect())
        }
        Domain::Bool => (ColumnType::Bool, BTreeMap::new()),
        Domain::Date { bounds } => (ColumnType::Date, written(bounds)),
        Domain::Timestamp { bounds, .. } => (ColumnType::Timestamp, written(bounds)),
    };
    ColumnShown { name: column.name.clone(), kind, declared, sensitive: column.sensitive }
}
