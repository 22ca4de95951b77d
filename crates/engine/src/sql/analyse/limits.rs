//! How large a query may be. Plans are walked by recursion, here and in the backend, and some of what is done with a
//! query takes time that grows faster than it: what is too large is refused with a sentence before any of that, and so
//! before any charge. [`lexical`] looks at a text before it is parsed, the rest at what was parsed and planned.

pub(crate) mod lexical;

pub(crate) use lexical::refuse_too_long;

use crate::error::{Error, Result};
use datafusion::common::Column;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr as PlannedExpr, LogicalPlan};
use datafusion::sql::sqlparser::ast::{
    Expr, Query, Select, SetExpr, Statement, TableFactor, TableWithJoins, Visit, Visitor,
};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// The deepest expression.
pub(crate) const DEEPEST: usize = 100;
/// The most output columns of a SELECT, and the most calls of functions in a query.
const MOST_OUTPUTS: usize = 500;
/// The most tables that are read, each as often as it is read.
const MOST_TABLES: u64 = 32;
/// The most common tables.
const MOST_COMMON_TABLES: usize = 32;

/// Refuses a statement that is too large to be planned.
pub(crate) fn statement(statement: &Statement) -> Result<()> {
    let mut counter = Counter::default();
    if let ControlFlow::Break(error) = statement.visit(&mut counter) {
        return Err(error);
    }
    if let Statement::Query(query) = statement
        && tables(query, &HashMap::new()) > MOST_TABLES
    {
        return Err(Error::input(format!(
            "query: it reads more than {MOST_TABLES} tables, each counted as often as it is read"
        )));
    }
    Ok(())
}

/// The largest expression when everything below it is put in its place, in operators and columns: each SELECT a + a
/// over another doubles it.
pub(crate) const LARGEST_SIZE: u64 = 5_000;

/// How large an expression is when each column is as large as `column` says. Literals are nothing: lists of them may be
/// long.
pub(crate) fn size(expression: &PlannedExpr, column: impl Fn(&Column) -> u64) -> u64 {
    let mut size = 0u64;
    let _ = expression.apply(|node| {
        size = size.saturating_add(match node {
            PlannedExpr::Column(name) => column(name).max(1),
            PlannedExpr::Literal(..) => 0,
            _ => 1,
        });
        Ok(TreeNodeRecursion::Continue)
    });
    size
}

/// The deepest one: each sub-query of a SELECT with a long chain adds its depth, and what copies or drops an expression
/// calls itself for each level. A text has [`DEEPEST`], and up to as many conversions of types between them.
const DEEPEST_ABOVE: u64 = 250;

/// How deep an expression is when each column is as deep as `column` says.
fn depth(expression: &PlannedExpr, column: &dyn Fn(&Column) -> u64) -> u64 {
    if let PlannedExpr::Column(name) = expression {
        return column(name);
    }
    let mut deepest = 0u64;
    let _ = expression.apply_children(|child| {
        deepest = deepest.max(depth(child, column));
        Ok(TreeNodeRecursion::Continue)
    });
    deepest + u64::from(!matches!(expression, PlannedExpr::Alias(_)))
}

/// Refuses what is above the aggregate if it is too large to be put together.
pub(crate) fn above(plan: &LogicalPlan) -> Result<()> {
    sizes_above(plan).map(|_| ())
}

/// The sizes and depths of the columns of a node above the aggregate.
fn sizes_above(plan: &LogicalPlan) -> Result<Vec<(u64, u64)>> {
    let below = match plan {
        LogicalPlan::Aggregate(aggregate) => return Ok(vec![(1, 1); aggregate.schema.fields().len()]),
        other => other.inputs().first().copied(),
    };
    let Some(below) = below else { return Ok(Vec::new()) };
    let inner = sizes_above(below)?;
    let of = |name: &Column| {
        let index = below.schema().maybe_index_of_column(name);
        index.and_then(|index| inner.get(index)).copied().unwrap_or((1, 1))
    };
    let measured =
        |expression: &PlannedExpr| (size(expression, |name| of(name).0), depth(expression, &|name| of(name).1));
    let sizes: Vec<(u64, u64)> = plan.expressions().iter().map(measured).collect();
    if sizes.iter().any(|(_, depth)| *depth > DEEPEST_ABOVE) {
        return Err(Error::input(format!(
            "query: what is done with the aggregates is more than {DEEPEST_ABOVE} operators deep once its sub-queries \
                are expanded; shorten it"
        )));
    }
    if sizes.iter().any(|(size, _)| *size > LARGEST_SIZE) {
        return Err(Error::input(format!(
            "query: what is done with the aggregates takes more than {LARGEST_SIZE} operators once its sub-queries \
                are expanded; shorten it"
        )));
    }
    Ok(if matches!(plan, LogicalPlan::Projection(_)) { sizes } else { inner })
}

/// How much deeper than in the parser's tree an expression is in the plan: there each field and element of a chain
/// stands inside the next one.
fn links(expression: &Expr) -> usize {
    match expression {
        Expr::CompoundFieldAccess { access_chain, .. } => access_chain.len(),
        Expr::CompoundIdentifier(parts) => parts.len(),
        Expr::JsonAccess { path, .. } => path.path.len(),
        _ => 0,
    }
}

#[derive(Default)]
struct Counter {
    depth: usize,
    calls: usize,
    common: usize,
}

impl Visitor for Counter {
    type Break = Error;

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<Error> {
        self.depth += 1;
        if self.depth + links(expression) > DEEPEST {
            return ControlFlow::Break(lexical::too_deep());
        }
        self.calls += usize::from(matches!(expression, Expr::Function(_)));
        match self.calls > MOST_OUTPUTS {
            true => ControlFlow::Break(Error::input(format!(
                "query: it calls functions more than {MOST_OUTPUTS} times; release its parts one by one"
            ))),
            false => ControlFlow::Continue(()),
        }
    }

    fn post_visit_expr(&mut self, _: &Expr) -> ControlFlow<Error> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        self.common += query.with.as_ref().map_or(0, |with| with.cte_tables.len());
        match self.common > MOST_COMMON_TABLES {
            true => ControlFlow::Break(Error::input(format!(
                "query: it has more than {MOST_COMMON_TABLES} common tables (WITH); join them into fewer"
            ))),
            false => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Error> {
        match select.projection.len() > MOST_OUTPUTS {
            true => ControlFlow::Break(Error::input(format!(
                "query: a SELECT has more than {MOST_OUTPUTS} columns; release them in several queries"
            ))),
            false => ControlFlow::Continue(()),
        }
    }
}

/// How many tables a query reads when its common tables are put in their places, as the planner does.
fn tables(query: &Query, outer: &HashMap<String, u64>) -> u64 {
    let mut known = outer.clone();
    for common in query.with.iter().flat_map(|with| &with.cte_tables) {
        let size = tables(&common.query, &known);
        let known = known.entry(common.alias.name.value.to_lowercase()).or_default();
        *known = size.max(*known);
    }
    of_body(&query.body, &known)
}

fn of_body(body: &SetExpr, known: &HashMap<String, u64>) -> u64 {
    match body {
        SetExpr::Select(select) => {
            select.from.iter().fold(0u64, |sum, from| sum.saturating_add(of_joined(from, known)))
        }
        SetExpr::Query(query) => tables(query, known),
        SetExpr::SetOperation { left, right, .. } => of_body(left, known).saturating_add(of_body(right, known)),
        _ => 1,
    }
}

fn of_joined(from: &TableWithJoins, known: &HashMap<String, u64>) -> u64 {
    let joined = from.joins.iter().map(|join| of_factor(&join.relation, known));
    joined.fold(of_factor(&from.relation, known), u64::saturating_add)
}

fn of_factor(factor: &TableFactor, known: &HashMap<String, u64>) -> u64 {
    match factor {
        TableFactor::Table { name, .. } => {
            let last = name.0.last().and_then(|part| part.as_ident());
            last.and_then(|name| known.get(&name.value.to_lowercase())).copied().unwrap_or(1)
        }
        TableFactor::Derived { subquery, .. } => tables(subquery, known),
        TableFactor::NestedJoin { table_with_joins, .. } => of_joined(table_with_joins, known),
        _ => 1,
    }
}
