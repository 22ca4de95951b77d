//! The report: one HTML file that needs nothing else, and the same as JSON.

mod attackers;
mod bounding;
mod document;
mod format;
mod front;
mod guessing_attack;
mod html;
mod limits;
mod picture;
mod precision;
mod reading;
mod text;

pub use format::digits;

use crate::budget::{Odometer, one_attribute};
use crate::error::{Error, Result};
use crate::ledger::{Charge, Head, LedgerState};
use crate::project::Project;
use crate::release::run::publish::{free, sweep, written};
use crate::release::run::published::{PublishedRelease, UnshownCharge};
use crate::summary::{LedgerSummary, SummaryRequest, delta_for, summary};
use scumble::quantity::Exact;
use scumble::scope::{AttributeSet, Scope};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Everything that a report tells.
pub struct Report<'a> {
    /// The project.
    pub project: &'a Project,
    /// The last charges of the ledger: they are shown one by one.
    pub charges: &'a [Charge],
    /// What all charges add up to.
    pub standing: &'a LedgerState,
    /// All that was published and is there, newest first.
    pub published: &'a [PublishedRelease],
    /// What was charged, and is not there.
    pub unshown: &'a [UnshownCharge],
    /// When it is written (UTC).
    pub time: String,
    /// The ledger's head.
    pub head: Head,
}

/// A report as it is written, and the parts of it that a program shows on pages of its own.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WrittenReport {
    /// The page.
    pub page: String,
    /// The same as JSON.
    pub json: String,
    /// The sentences at its beginning.
    pub verdict: Vec<String>,
    /// What the ledger adds up to.
    pub summary: LedgerSummary,
    /// What the project's attacker learns, release by release; nothing if the project declares none.
    pub attackers: Vec<AttackerLine>,
}

/// What one release gives away to everybody, and what the project's attacker learns from it: ε, where there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct AttackerLine {
    /// The release.
    pub release: String,
    /// ε for a person, without assumptions.
    pub without_assumptions: Option<f64>,
    /// ε against the declared attacker, where the analysis claims one.
    pub epsilon: Option<f64>,
}

/// The curve δ ↦ ε of one scope.
#[derive(Serialize)]
pub(crate) struct Curve {
    #[serde(rename = "scope")]
    pub name: String,
    /// (ε, δ)
    #[serde(rename = "epsilon_delta")]
    pub points: Vec<(f64, f64)>,
}

impl Report<'_> {
    /// The time of a report that is written now.
    pub fn now() -> String {
        crate::time::now()
    }

    /// Whether a report and the pictures of a project's releases could be written into a folder, if it is asked before
    /// anything is released. Takes away what runs that were killed have left there.
    pub fn places(project: &Project, folder: &Path) -> Result<()> {
        sweep(folder);
        ["report.html", "report.json"].iter().try_for_each(|name| free(&folder.join(name)))?;
        picture::places(project, folder)
    }

    /// Writes `report.html`, `report.json` and the pictures of releases into a folder; gives the first one's path.
    pub fn write(&self, folder: &Path) -> Result<PathBuf> {
        let report = self.texts()?;
        let texts = [("report.html", report.page.as_bytes()), ("report.json", report.json.as_bytes())];
        let mut files = written(folder, &texts)?;
        picture::write(self, folder)?;
        Ok(files.swap_remove(0))
    }

    /// What was published: the releases of the project file in its order, then others; the newest of a name first.
    pub(crate) fn in_order(&self) -> Vec<&PublishedRelease> {
        let declared = &self.project.releases;
        let place = |one: &PublishedRelease| {
            declared.iter().position(|request| request.name == one.charge.release).unwrap_or(declared.len())
        };
        let mut all: Vec<&PublishedRelease> = self.published.iter().collect();
        all.sort_by_key(|one| place(one));
        all
    }

    /// The page and the JSON.
    pub fn texts(&self) -> Result<WrittenReport> {
        // Once for both: for millions of owners this takes a moment.
        let (against, tried) = (self.against()?, self.tried()?);
        let document = self.document(&against, &tried)?;
        let json = format!("{:#}\n", crate::summary::document(&document)?);
        Ok(WrittenReport {
            page: html::page(self, &against, &tried)?,
            json,
            verdict: document.verdict,
            summary: document.summary,
            attackers: against.iter().map(attackers::AttackerFinding::line).collect(),
        })
    }

    /// What the ledger adds up to.
    pub(crate) fn summary(&self) -> Result<LedgerSummary> {
        summary(self.charges, self.standing.sums()?, &self.question(&self.project.attributes(), &self.pairs()?))
    }

    fn question<'b>(
        &'b self,
        attributes: &'b std::collections::BTreeSet<String>,
        sets: &'b [AttributeSet],
    ) -> SummaryRequest<'b> {
        SummaryRequest { budget: &self.project.budget, attributes, delta: None, sets, group: None }
    }

    /// The δ at which a scope is shown.
    pub(crate) fn delta(&self, scope: &Scope) -> Result<Exact> {
        let attributes = self.project.attributes();
        let limits = self.project.budget.limits(&attributes)?;
        let limit = limits.iter().find(|(other, _)| other == scope).map(|(_, limit)| limit);
        Ok(delta_for(limit, &self.question(&attributes, &[])))
    }

    /// Pairs of attributes with at least one that is declared sensitive.
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
    pub(crate) fn spent(&self, scope: &Scope) -> Result<Odometer> {
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

#[cfg(test)]
mod tests;
