//! What readers call a release, its columns and their units; where its numbers are from, and what they give away.

use crate::budget::{Odometer, rounded_up, shown_delta};
use crate::error::Result;
use crate::project::{Column, Project, Request, Table};
use crate::release::run::published::PublishedRelease;
use crate::report::Report;
use scumble::quantity::Exact;
use scumble::scope::Scope;
use serde_json::Value;

/// The words of one release's picture.
pub(super) struct ChartWords<'a> {
    pub title: String,
    pub source: String,
    request: Option<&'a Request>,
    /// The tables that it reads.
    tables: Vec<&'a Table>,
}

impl<'a> ChartWords<'a> {
    /// The words of a published release.
    pub fn of(report: &Report<'a>, one: &PublishedRelease) -> Result<Self> {
        let words = Self::new(report.project, &one.charge.release, &one.charge.rule);
        let privacy = privacy(report, one)?;
        let source = words.data();
        let source = if source.is_empty() { privacy } else { format!("Source: {source}. {privacy}") };
        Ok(Self { source, ..words })
    }

    /// The words of a release by its name and the rule by which its numbers were made.
    pub fn new(project: &'a Project, release: &str, rule: &Value) -> Self {
        let named = |value: &Value| value.as_str().map(str::to_string);
        let listed = rule["tables"].as_array().map(|list| list.iter().filter_map(named).collect::<Vec<_>>());
        let tables = listed.unwrap_or_else(|| named(&rule["table"]).into_iter().collect());
        let request = project.releases.iter().find(|request| request.name == release);
        let title = request.and_then(|request| request.presentation.title.clone());
        Self {
            title: title.unwrap_or_else(|| release.to_string()),
            source: String::new(),
            request,
            tables: tables.iter().filter_map(|name| project.tables.get(name)).collect(),
        }
    }

    /// Where the data are from: what the release says, or what its private tables are called for readers.
    fn data(&self) -> String {
        let said = self.request.and_then(|request| request.presentation.source.clone());
        let labels = || self.tables.iter().filter(|table| !table.public).filter_map(|table| table.label.clone());
        let text = said.unwrap_or_else(|| labels().collect::<Vec<_>>().join("; "));
        text.trim_end_matches('.').to_string()
    }

    /// What readers call a published column.
    pub fn label(&self, name: &str) -> String {
        let said = self.request.and_then(|request| request.presentation.labels.get(name).cloned());
        let declared = || self.column(name).and_then(|column| column.words.label.clone());
        said.or_else(declared).unwrap_or_else(|| name.to_string())
    }

    /// The unit of numbers that are those of a column, or else of the release's.
    pub fn unit(&self, of: Option<&str>) -> Option<String> {
        let declared = of.and_then(|of| self.column(of)).and_then(|column| column.words.unit.clone());
        declared.or_else(|| self.request.and_then(|request| request.presentation.unit.clone()).filter(|_| of.is_none()))
    }

    fn column(&self, name: &str) -> Option<&Column> {
        self.tables.iter().find_map(|table| table.column(name))
    }
}

/// What the release gives away about a person.
fn privacy(report: &Report<'_>, one: &PublishedRelease) -> Result<String> {
    if one.charge.rule.get("insecure").is_some() {
        return Ok("Not private: the noise is from a seed.".to_string());
    }
    let (delta, spent) = (report.delta(&Scope::Person)?, Odometer::of(&one.events, &Scope::Person)?);
    let shown = |epsilon: Exact| rounded_up(epsilon.to_f64_up());
    Ok(match (spent.epsilon(&Exact::zero()), spent.epsilon(&delta)) {
        (Some(pure), _) => format!("Privacy: ε = {} for a person.", shown(pure)),
        (None, Some(some)) => format!("Privacy: ε = {}, δ = {} for a person.", shown(some), shown_delta(&delta)),
        (None, None) => "Privacy: no ε is promised to a person.".to_string(),
    })
}
