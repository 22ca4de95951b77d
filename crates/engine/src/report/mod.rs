//! The report: one HTML file that needs nothing else, and the same as JSON.

mod attackers;
mod charts;
mod could;
mod format;
mod front;
mod html;
mod limits;
mod reading;
mod text;

pub use format::digits;

use crate::budget::{Spent, one_attribute};
use crate::error::{Error, Result};
use crate::ledger::{Charge, Head, Standing};
use crate::project::Project;
use crate::release::run::publish::{free, sweep, written};
use crate::release::run::published::{Published, Unshown};
use crate::summary::{LedgerSummary, Question, delta_for, summary};
use scumble::quantity::Exact;
use scumble::scope::{AttributeSet, Scope};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Everything that a report tells.
pub struct Report<'a> {
    /// The project.
    pub project: &'a Project,
    /// The last charges of the ledger: they are shown one by one.
    pub charges: &'a [Charge],
    /// What all charges add up to.
    pub standing: &'a Standing,
    /// All that was published and is there, newest first.
    pub published: &'a [Published],
    /// What was charged, and is not there.
    pub unshown: &'a [Unshown],
    /// When it is written (UTC).
    pub time: String,
    /// The ledger's head.
    pub head: Head,
}

/// The curve δ ↦ ε of one scope.
pub(crate) struct Curve {
    pub name: String,
    /// (ε, δ)
    pub points: Vec<(f64, f64)>,
}

impl Report<'_> {
    /// The time of a report that is written now.
    pub fn now() -> String {
        crate::time::now()
    }

    /// Whether a report could be written into a folder, if it is asked before anything is released. Takes away what runs that were killed have left there.
    pub fn places(folder: &Path) -> Result<()> {
        sweep(folder);
        ["report.html", "report.json"].iter().try_for_each(|name| free(&folder.join(name)))
    }

    /// Writes `report.html` and `report.json` into a folder; gives the first one's path.
    pub fn write(&self, folder: &Path) -> Result<PathBuf> {
        let [page, json] = self.texts()?;
        let mut files = written(folder, &[("report.html", page.as_bytes()), ("report.json", json.as_bytes())])?;
        Ok(files.swap_remove(0))
    }

    /// The page and the JSON.
    pub fn texts(&self) -> Result<[String; 2]> {
        // Once for both: for millions of owners this takes a moment.
        let (against, tried) = (self.against()?, self.tried()?);
        let json = format!("{:#}\n", self.json(&against, &tried)?);
        Ok([html::page(self, &against, &tried)?, json])
    }

    /// The same as JSON.
    fn json(&self, against: &[attackers::Against], tried: &[could::Tried]) -> Result<Value> {
        let curves: Vec<Value> = self
            .curves()?
            .into_iter()
            .map(|curve| json!({ "scope": curve.name, "epsilon_delta": curve.points }))
            .collect();
        let rules: Vec<Value> = self
            .charges
            .iter()
            .map(|charge| json!({ "release": charge.release, "sequence": charge.sequence, "rule": charge.rule }))
            .collect();
        Ok(json!({
            "engine": crate::ENGINE,
            "written": self.time,
            "verdict": front::verdict(self)?,
            "project": self.project.path.display().to_string(),
            "project_digest": self.project.digest,
            "ledger_head": self.head.hex(),
            "ledger_entries": self.head.entries,
            "earlier_releases": self.earlier(),
            "summary": self.summary()?,
            "curves": curves,
            "readings": reading::json(self)?,
            "releases": self.published.iter().map(published_json).collect::<Vec<_>>(),
            "not_shown": self.unshown.iter().map(unshown_json).collect::<Vec<_>>(),
            "attackers": against.iter().map(attackers::Against::json).collect::<Vec<_>>(),
            "could_somebody": tried.iter().map(could::Tried::json).collect::<Vec<_>>(),
            "limits": limits::json(self),
            "rules": rules,
            "assumptions": text::assumptions(self.project),
        }))
    }

    /// What the ledger adds up to.
    pub(crate) fn summary(&self) -> Result<LedgerSummary> {
        summary(self.charges, self.standing.sums()?, &self.question(&self.project.attributes(), &self.pairs()?))
    }

    fn question<'b>(
        &'b self,
        attributes: &'b std::collections::BTreeSet<String>,
        sets: &'b [AttributeSet],
    ) -> Question<'b> {
        Question { budget: &self.project.budget, attributes, delta: None, sets, group: None }
    }

    /// The δ at which a scope is shown.
    pub(crate) fn delta(&self, scope: &Scope) -> Result<Exact> {
        let attributes = self.project.attributes();
        let limits = self.project.budget.limits(&attributes)?;
        let limit = limits.iter().find(|(other, _)| other == scope).map(|(_, limit)| limit);
        Ok(delta_for(limit, &self.question(&attributes, &[])))
    }

    /// Pairs of attributes of which at least one is declared sensitive.
    pub(crate) fn pairs(&self) -> Result<Vec<AttributeSet>> {
        self.project.sensitive_pairs()
    }

    /// Presence, person and each attribute that something was spent on.
    pub(crate) fn scopes(&self) -> Result<Vec<Scope>> {
        let mut scopes = vec![Scope::Presence, Scope::Person];
        for name in self.project.attributes() {
            scopes.push(one_attribute(&name)?);
        }
        Ok(scopes)
    }

    /// What has been spent in a scope.
    pub(crate) fn spent(&self, scope: &Scope) -> Result<Spent> {
        let spent = self.standing.sums()?.spent(scope).cloned();
        spent.ok_or_else(|| Error::machine(format!("there is no sum for the scope {scope}")))
    }

    /// How many charges are not shown one by one.
    pub(crate) fn earlier(&self) -> u64 {
        self.standing.releases().saturating_sub(self.charges.len() as u64)
    }

    /// δ against ε in each scope.
    pub(crate) fn curves(&self) -> Result<Vec<Curve>> {
        let mut curves = Vec::new();
        for scope in self.scopes()? {
            let spent = self.spent(&scope)?;
            let mut points = Vec::new();
            for exponent in 4..=60 {
                let delta = 10f64.powf(-f64::from(exponent) / 4.0);
                if let Some(epsilon) = spent.epsilon(&Exact::from_f64(delta)?) {
                    points.push((epsilon.to_f64_up(), delta));
                }
            }
            if points.iter().any(|point| point.0 > 0.0) {
                curves.push(Curve { name: scope_name(&scope), points });
            }
        }
        Ok(curves)
    }
}

/// A scope as a reader calls it.
pub(crate) fn scope_name(scope: &Scope) -> String {
    match scope {
        Scope::Attributes(set) => set.iter().collect::<Vec<_>>().join(" + "),
        other => other.to_string(),
    }
}

/// A longer table is in its files alone.
const EMBEDDED_ROWS: usize = 1000;

fn published_json(one: &Published) -> Value {
    let mut answers = one.answers.json();
    if one.is_synthetic() || one.rows > EMBEDDED_ROWS {
        answers["rows"] = Value::Null;
    }
    answers["row_count"] = json!(one.rows);
    let Charge { release, kind, sequence, time, rule, .. } = &one.charge;
    json!({
        "name": release, "kind": kind, "sequence": sequence, "time": time, "sql": rule["sql"], "file": one.file.file_name().map(|name| name.to_string_lossy()), "replaced": one.is_replaced,
        "answers": answers,
    })
}

fn unshown_json(one: &Unshown) -> Value {
    let Charge { release, kind, sequence, time, .. } = &one.charge;
    json!({ "name": release, "kind": kind, "sequence": sequence, "time": time, "why": one.why })
}
