//! What there is to see: tables as they are declared, what is left, what was asked, what was published.

use super::ask::columns;
use super::history::History;
use super::{Service, allowed};
use crate::access::{Person, Role};
use crate::refusal::{Refusal, RefusalKind};
use scumble::noise::SecureSource;
use scumble_engine::budget::{Budget, Sums};
use scumble_engine::ledger::{Charge, Head, Ledger, LedgerState, Outcome, Remark};
use scumble_engine::project::{Column, Domain, Project, Request};
use scumble_engine::release::{arrow, published_file, stored};
use scumble_engine::report::Report;
use scumble_engine::summary::{Question, summary};
use scumble_engine::{Error, nearest};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A table as it is declared.
#[derive(Debug, Clone)]
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
#[derive(Debug, Clone)]
pub struct ColumnShown {
    /// Its name.
    pub name: String,
    /// What it holds: int, float, category, bool, date or timestamp.
    pub kind: &'static str,
    /// Its bounds or values, as far as they are declared.
    pub declared: Value,
    /// Whether it is declared sensitive.
    pub sensitive: bool,
}

impl TableShown {
    /// As JSON.
    pub fn json(&self) -> Value {
        let columns = self.columns.iter().map(|column| {
            let mut shown = json!({ "name": column.name, "type": column.kind, "sensitive": column.sensitive });
            let declared = column.declared.as_object().into_iter().flatten();
            declared.for_each(|(key, value)| shown[key] = value.clone());
            shown
        });
        json!({ "name": self.name, "owner": self.owner, "public": self.public, "columns": columns.collect::<Vec<_>>() })
    }
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

    /// What has been spent and what is left, in every scope; for an analyst with a budget of their own also in that (`own`).
    pub async fn budget(self: &Arc<Self>, person: &Person) -> Result<Value, Refusal> {
        let person = person.clone();
        self.at_work(move |service| {
            let ledger = Ledger::open_existing(&service.ledger)?;
            let (standing, head) =
                ledger.as_ref().map_or(Ok((LedgerState::nothing(), Head::empty())), |ledger| ledger.standing(&[]))?;
            let budget = standing.budget().unwrap_or_else(|| service.project.budget.clone());
            let told = |sums: &Sums, budget: &Budget| -> Result<Value, Error> {
                let attributes = service.project.attributes();
                let question = Question { budget, attributes: &attributes, delta: None, sets: &[], group: None };
                let mut shown = summary(&[], sums, &question)?;
                shown.as_object_mut().map(|shown| shown.remove("releases"));
                Ok(shown)
            };
            let mut shown = told(standing.sums()?, &budget)?;
            shown["head"] = json!(head.hex());
            shown["entries"] = json!(head.entries);
            if let Some(limits) = service.project.analysts.get(&person.name).filter(|_| person.role < Role::Curator) {
                let own = ledger.map_or(Ok(Sums::nothing()), |ledger| ledger.charged_to(&person.name))?;
                shown["own"] = told(&own, limits)?;
            }
            Ok(shown)
        })
        .await
    }

    /// What was asked: by everybody for a curator, by themselves for others. Everything was verified on the way.
    pub(crate) async fn history(self: &Arc<Self>, person: &Person) -> Result<Value, Refusal> {
        allowed(person, Role::Analyst)?;
        let (person, whole) = (person.clone(), self.whole().await?);
        self.at_work(move |service| {
            let Some(ledger) = Ledger::open_existing(&service.ledger)? else {
                return Ok(json!({ "releases": [], "asked": [], "entries": 0, "head": Head::empty().hex() }));
            };
            let budget = ledger.standing(&[])?.0.budget().unwrap_or_else(|| service.project.budget.clone());
            let attributes = service.project.attributes();
            let question = Question { budget: &budget, attributes: &attributes, delta: None, sets: &[], group: None };
            let own = |charge: &Charge| charge.asked.as_ref().is_some_and(|asked| asked.by == person.name);
            let all = person.role == Role::Curator;
            let charges: Vec<Charge> = whole.charges.iter().filter(|charge| all || own(charge)).cloned().collect();
            let mut shown = summary(&charges, &whole.sums, &question)?;
            for (index, charge) in charges.iter().enumerate() {
                shown["releases"][index]["by"] = json!(charge.asked.as_ref().map(|asked| &asked.by));
                shown["releases"][index]["sql"] = charge.rule["sql"].clone();
            }
            let remarks = whole.remarks.iter().filter(|remark| all || remark.remarked.by == person.name);
            shown["asked"] = remarks.map(remark_json).collect();
            shown["head"] = json!(whole.head.hex());
            shown["entries"] = json!(whole.head.entries);
            Ok(shown)
        })
        .await
    }

    /// Verifies the whole ledger.
    pub(crate) async fn verify(self: &Arc<Self>) -> Result<Value, Refusal> {
        self.at_work(|service| {
            let head = Ledger::open_existing(&service.ledger)?.map_or(Ok(Head::empty()), |ledger| ledger.verify())?;
            Ok(json!({ "entries": head.entries, "head": head.hex() }))
        })
        .await
    }

    /// The answers that somebody may see, newest first: those of the project's releases, and those that they asked for; all for a curator.
    pub(crate) async fn answers(self: &Arc<Self>, person: &Person) -> Result<Value, Refusal> {
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
                json!({
                    "sequence": charge.sequence, "time": charge.time, "release": charge.release, "kind": charge.kind,
                    "sql": charge.rule["sql"], "by": by,
                })
            });
            Ok(json!({ "answers": shown.collect::<Vec<_>>() }))
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
            // What is not for them looks like what is not there.
            let charges = service.visible(&whole, &person);
            let found = charges.into_iter().find(|charge| charge.sequence == sequence);
            let missing =
                || Refusal::new(RefusalKind::NotFound, format!("there is no answer {sequence} that you may see"));
            let charge = found.filter(|charge| charge.state.output().is_some()).ok_or_else(missing)?;
            let gone =
                |why: String| Refusal::new(RefusalKind::Lost, format!("answer {sequence} was paid for, and {why}"));
            match form {
                DownloadForm::Json => {
                    let (answers, mut shown) = stored(&service.out, charge).map_err(gone)?;
                    shown["columns"] = columns(&answers);
                    shown["release"] = json!(charge.release);
                    shown["sequence"] = json!(sequence);
                    Ok(format!("{shown:#}\n").into_bytes())
                }
                DownloadForm::Arrow => {
                    let (answers, shown) = stored(&service.out, charge).map_err(gone)?;
                    match shown["row_count"].as_u64() {
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

    /// The charges that somebody may know of ([`may_see`](Self::may_see)).
    pub(super) fn visible<'h>(&self, whole: &'h History, person: &Person) -> Vec<&'h Charge> {
        let told = whole.remarks.iter().filter(|remark| remark.remarked.by == person.name);
        let told: BTreeSet<u64> = told
            .filter_map(|remark| match remark.remarked.came {
                Outcome::Stored(of) => Some(of),
                Outcome::Planned(_) | Outcome::Refused(_) => None,
            })
            .collect();
        let seen = |charge: &&Charge| self.may_see(person, charge, || told.contains(&charge.sequence));
        whole.charges.iter().filter(seen).collect()
    }

    /// Who sees what: everybody the releases that the project file names; an analyst also what they asked themselves, and what a colleague paid for once they have asked the
    /// same (`was_told`); a curator everything, and what is asked at a terminal (`scumble query`) is a curator's until the project file names it.
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

    /// Publishes what the project file declares and is not published yet, in somebody's name; as `scumble release --json`.
    pub(crate) async fn release(
        self: &Arc<Self>,
        person: &Person,
        only: Vec<String>,
        again: Vec<String>,
    ) -> Result<Value, Refusal> {
        allowed(person, Role::Curator)?;
        let person = person.clone();
        self.paying(move |service| {
            // Held until the work is done, whether or not anybody waits for it.
            let _charge_lock = service.charge_lock()?;
            service.released(&person, &only, &again)
        })
        .await
    }

    fn released(&self, person: &Person, only: &[String], again: &[String]) -> Result<Value, Refusal> {
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
                Some(kept) => shown.push(
                    json!({ "name": kept.name, "kept": true, "sequence": kept.sequence, "published": kept.time }),
                ),
                None => paid.push(planned),
            }
        }
        Report::places(&self.out)?;
        let mut bits = SecureSource::new().map_err(Error::from)?;
        let (outcomes, head) = runner.release(&paid, &self.out, &mut bits, |_| ())?;
        outcomes.iter().for_each(|_| self.metrics.paid());
        shown.extend(outcomes.iter().map(|outcome| {
            json!({ "name": outcome.name, "kept": false, "sequence": outcome.sequence, "answers": outcome.answers.json() })
        }));
        Ok(json!({ "releases": shown, "entries": head.entries, "head": head.hex() }))
    }

    /// Whether the ledger can be read. It has a place of its own: whatever else is worked on, this is not waited for.
    pub(crate) async fn is_healthy(self: &Arc<Self>) -> bool {
        let watch = Arc::clone(&self.watch);
        let look = self.with(&watch, |service| {
            Ok(Ledger::open_existing(&service.ledger)?.map_or(Ok(Head::empty()), |ledger| ledger.head())?)
        });
        look.await.is_ok()
    }
}

fn known(project: &Project, name: &str) -> Result<(), Refusal> {
    if project.releases.iter().any(|request| request.name == *name) {
        return Ok(());
    }
    let hint = nearest(name, project.releases.iter().map(|request| request.name.as_str()));
    let hint = hint.map_or(String::new(), |hint| format!(" (did you mean '{hint}'?)"));
    Err(Refusal::input(format!("there is no release '{name}' in the project file{hint}")))
}

fn remark_json(remark: &Remark) -> Value {
    let Remark { sequence, time, remarked } = remark;
    let (of, why, planned) = match &remarked.came {
        Outcome::Stored(of) => (Some(of), None, None),
        Outcome::Refused(why) => (None, Some(why), None),
        Outcome::Planned(of) => (None, None, Some(of)),
    };
    json!({
        "sequence": sequence, "time": time, "by": remarked.by, "what": remarked.what, "cost": remarked.cost, "answer": of, "refused": why,
        "planned": planned,
    })
}

fn column(column: &Column) -> ColumnShown {
    let bounded = |bounds: &Option<(i64, i64)>| match bounds {
        Some((low, high)) => json!({ "lower": column.domain.written(*low), "upper": column.domain.written(*high) }),
        None => json!({}),
    };
    let (kind, declared) = match &column.domain {
        Domain::Int { bounds: Some((low, high)) } => ("int", json!({ "lower": low, "upper": high })),
        Domain::Int { bounds: None } => ("int", json!({})),
        Domain::Float { bounds, granularity } => {
            let mut shown = bounds.map_or(json!({}), |(low, high)| json!({ "lower": low, "upper": high }));
            if let Some(grid) = granularity {
                shown["granularity"] = json!(grid);
            }
            ("float", shown)
        }
        Domain::Category { values: Some(values) } => ("category", json!({ "values": values })),
        Domain::Category { values: None } => ("category", json!({})),
        Domain::Bool => ("bool", json!({})),
        Domain::Date { bounds } => ("date", bounded(bounds)),
        Domain::Timestamp { bounds, .. } => ("timestamp", bounded(bounds)),
    };
    ColumnShown { name: column.name.clone(), kind, declared, sensitive: column.sensitive }
}
