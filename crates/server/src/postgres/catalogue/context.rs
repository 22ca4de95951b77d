//! What an expression and FROM are evaluated in, besides their rows.

use super::scope::NameScope;
use super::{Catalogue, ResultTable};
use crate::postgres::refused::SqlError;
use sqlparser::ast::Query;
use std::rc::Rc;

/// Answers the queries that stand inside of another one. Expressions and FROM hold such queries, and a query holds
/// expressions: who answers is handed in, so that neither knows how SELECT is made.
pub(super) trait InnerQueries {
    /// The answer to a query that sees the names around it.
    fn answer(
        &self,
        query: &Query,
        context: EvaluationContext<'_>,
        outer: Option<&NameScope<'_>>,
    ) -> Result<Rc<ResultTable>, SqlError>;
}

/// What there is beside a row.
#[derive(Clone, Copy)]
pub(super) struct EvaluationContext<'c> {
    pub world: &'c Catalogue<'c>,
    pub names: &'c CommonTables,
    pub inner: &'c dyn InnerQueries,
}

impl EvaluationContext<'_> {
    /// The answer to a query inside of this one.
    pub fn query(self, query: &Query, outer: Option<&NameScope<'_>>) -> Result<Rc<ResultTable>, SqlError> {
        self.inner.answer(query, self, outer)
    }
}

/// The common tables that a query can name.
#[derive(Default, Clone)]
pub(super) struct CommonTables(Vec<(Rc<str>, Rc<ResultTable>)>);

impl CommonTables {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Adds a table, which hides earlier ones of its name.
    pub fn add(&mut self, name: String, table: Rc<ResultTable>) {
        self.0.push((name.into(), table));
    }

    /// The table of a name; the last one, if there are several.
    pub fn find(&self, name: &str) -> Option<Rc<ResultTable>> {
        self.0.iter().rev().find(|(known, _)| **known == *name).map(|(_, table)| Rc::clone(table))
    }
}
