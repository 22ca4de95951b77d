//! What a kind of release is: its name, its fields, how a request of it is analysed, and all that others must know of
//! it.

use crate::error::Result;
use crate::project::{Project, Request};
use crate::release::field::ListedField;
use crate::release::plan::AnalysedRequest;
use crate::sql::PrivateQuery;
use std::rc::Rc;

/// The queries of a request; none where it needs rows.
pub(crate) type Queries = Result<Option<Vec<Rc<PrivateQuery>>>>;

/// An algorithm that can be released. New ones are added to the list in [`crate::kinds`].
#[derive(Debug)]
pub struct Kind {
    /// The word in project files.
    pub name: &'static str,
    /// What it publishes, in one sentence.
    pub about: &'static str,
    /// Its fields, besides name, kind and cost.
    pub fields: &'static [ListedField],
    /// Whom a cost may be about.
    pub cost_about: CostAbout,
    /// Reads and analyses a request, without touching data.
    pub analyse: fn(&Request, &Project) -> Result<AnalysedRequest>,
    /// The queries whose integers are all that a request reads, in the order in which it reads them: these can be
    /// computed elsewhere. None where rows are needed.
    pub(crate) queries: fn(&Request, &Project) -> Queries,
    /// Whether other releases about the same people may stand beside it.
    pub company: Exclusivity,
    /// What it publishes.
    pub publishes: Publication,
    /// What else than its own fields and its tables decides what it answers.
    pub digest: DigestOf,
    /// The field that names a column whose values must be 0 and 1 (or true and false), where there is one.
    pub label: Option<&'static str>,
    /// Whether its events belong together in a way that counting for groups of owners must know.
    pub grouping: Grouping,
}

impl Kind {
    /// What most kinds have in common: rows are read here, others may stand beside it, and a table is published.
    pub(crate) const COMMON: Self = Self {
        name: "",
        about: "",
        fields: &[],
        cost_about: CostAbout::Owners,
        analyse: |request, _| Err(request.fields.error("a kind without an analysis")),
        queries: |_, _| Ok(None),
        company: Exclusivity::Any,
        publishes: Publication::Table,
        digest: DigestOf::Request,
        label: None,
        grouping: Grouping::EachEvent,
    };
}

/// Whether other releases about the same people may stand beside one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exclusivity {
    /// Any.
    Any,
    /// None, in this ledger and in every other that can be seen: it has no noise, and protects only as long as nothing
    /// else is known.
    Nothing,
}

/// What a release publishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Publication {
    /// A table.
    Table,
    /// The table that a SQL query gives.
    QueryResult,
    /// Rows that are made up: for programs, and not for a report.
    SyntheticRows,
    /// Answers to questions that are asked one after the other.
    Rounds,
}

/// What else than a request's own fields and its tables decides what it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DigestOf {
    /// Nothing.
    Request,
    /// The release that this field names.
    OtherRelease(&'static str),
    /// The attacker that the project declares.
    DeclaredAttacker,
}

/// How a release's events are counted for groups of owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Grouping {
    /// Each by itself.
    EachEvent,
    /// Events with a δ of their own belong to one tree, and are counted as a whole.
    OneTree,
}

/// Whom the cost of a kind may be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CostAbout {
    /// It takes no cost: a release without noise.
    Nobody,
    /// Owners.
    Owners,
    /// Owners, or one attribute of an owner (`scope = "attribute"`).
    OwnersOrAttributes,
}
