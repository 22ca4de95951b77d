//! From SQL to a private plan.
//!
//! DataFusion parses and plans; the plan is cut at its one aggregate. Below it: an ordinary relational plan, described column by
//! column ([`describe`]: lineage, bounds, domain) and extended by the owner ([`below`]). The aggregate becomes integer *measures*
//! ([`measure`]) with a sensitivity in each scope ([`sensitivity`]). Above it: post-processing of released numbers ([`above`]).
//! [`integers`] runs what is below; [`window`] writes it as SQL text for other backends.

pub(crate) mod above;
pub(crate) mod below;
mod bounded;
pub(crate) mod describe;
pub(crate) mod integers;
pub(crate) mod measure;
mod refuse;
pub(crate) mod sensitivity;
mod total;
pub(crate) mod window;

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::place::{Place, suggestion};
use crate::project::{Bounding, Project};
use below::Below;
use datafusion::common::{DataFusionError, SchemaError};
use datafusion::logical_expr::{Aggregate, LogicalPlan};
use measure::Query;

/// A query, cut at its aggregate.
pub(crate) struct Cut {
    /// The whole plan, as DataFusion made it.
    pub plan: LogicalPlan,
    /// The aggregate in it.
    pub aggregate: Aggregate,
    /// What is below the aggregate.
    pub below: Below,
    /// What the aggregate asks for.
    pub query: Query,
}

/// Where a query stands, for messages.
#[derive(Clone)]
pub(crate) struct Source<'a> {
    /// The query.
    pub sql: &'a str,
}

impl Source<'_> {
    /// A refusal at the first place where `word` stands in the query, if it does.
    pub fn error(&self, word: &str, sentence: impl Into<String>) -> Error {
        let offset = self.sql.to_lowercase().find(&word.to_lowercase());
        match offset {
            Some(offset) if !word.is_empty() => Error::at(Place::of_offset("query", self.sql, offset), sentence),
            _ => Error::input(format!("query: {}", sentence.into())),
        }
    }
}

/// Parses, plans and analyses a query.
pub(crate) fn analyse(sql: &str, bounding: Bounding, project: &Project, backend: &Backend) -> Result<Cut> {
    let source = Source { sql };
    let statement = refuse::check(&source, project)?;
    let state = backend.context.state();
    let plan = backend
        .wait(state.statement_to_plan(datafusion::sql::parser::Statement::Statement(Box::new(statement))))
        .map_err(|error| not_planned(&source, &error))?;
    let aggregate = above::find_aggregate(&plan, &source)?;
    let below = below::below(&aggregate.input, project, &source)?;
    let query = measure::query(&aggregate, &below, bounding, &source)?;
    Ok(Cut { plan, aggregate, below, query })
}

/// DataFusion's reason in one sentence. Planning sees no data, so nothing private can be in it.
fn not_planned(source: &Source<'_>, error: &DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::SchemaError(inner, _) => match inner.as_ref() {
            SchemaError::FieldNotFound { field, valid_fields } => {
                let hint = suggestion(&field.name, valid_fields.iter().map(|column| column.name.as_str()));
                source.error(&field.name, format!("there is no declared column '{}'{hint}", field.name))
            }
            SchemaError::AmbiguousReference { field } => source
                .error(&field.name, format!("'{}' is in more than one table; write TABLE.{}", field.name, field.name)),
            other => source.error("", other.to_string()),
        },
        other => {
            let message = other.strip_backtrace();
            let line = message.lines().next().unwrap_or_default().to_string();
            source.error("", format!("the query cannot be planned ({line})"))
        }
    }
}
