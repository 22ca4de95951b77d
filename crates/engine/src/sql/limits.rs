//! How large a query may be. Plans are walked by recursion, here and in the backend, and some of what is done with a query takes time
//! that grows faster than it: what is too large is refused with a sentence before any of that, and so before any charge.

use crate::error::{Error, Result};
use datafusion::common::Column;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr as PlannedExpr, LogicalPlan};
use datafusion::sql::sqlparser::ast::{
    Expr, Query, Select, SetExpr, Statement, TableFactor, TableWithJoins, Visit, Visitor,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// The longest query, in bytes.
const LONGEST: usize = 100_000;
/// The longest chain of operators that is parsed at all: a tree of them is dropped by recursion.
const LONGEST_CHAIN: usize = 2_000;
/// The deepest expression.
const DEEPEST: usize = 100;
/// The most output columns of a SELECT, and the most calls of functions in a query.
const MOST_OUTPUTS: usize = 500;
/// The most tables that are read, each as often as it is read.
const MOST_TABLES: u64 = 32;
/// The most common tables.
const MOST_COMMON_TABLES: usize = 32;

/// Refuses a text that is too long to be parsed.
pub(crate) fn refuse_too_long(sql: &str) -> Result<()> {
    if sql.len() > LONGEST {
        return Err(Error::input(format!("query: it has more than {LONGEST} bytes; release its parts one by one")));
    }
    // A text that is not made of tokens is refused by the parser, with its own words.
    let Ok(tokens) = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize() else { return Ok(()) };
    if longest_chain(&tokens) > LONGEST_CHAIN {
        return Err(too_deep());
    }
    Ok(())
}

fn too_deep() -> Error {
    Error::input(format!(
        "query: an expression is more than {DEEPEST} operators deep; write IN (…) instead of many ORs, or compute parts of it in a sub-query"
    ))
}

/// An upper bound of the depth of all expressions: the operators that stand beside each other, and those of the deepest parenthesis among them.
fn longest_chain(tokens: &[Token]) -> usize {
    #[derive(Default)]
    struct Level {
        operators: usize,
        inner: usize,
        longest: usize,
        is_case: bool,
    }
    impl Level {
        fn end_part(&mut self) {
            self.longest = self.longest.max(self.operators + self.inner);
            (self.operators, self.inner) = (0, 0);
        }
    }
    let mut levels = vec![Level::default()];
    let close = |levels: &mut Vec<Level>| {
        if let Some(mut level) = levels.pop() {
            level.end_part();
            match levels.last_mut() {
                Some(outer) => outer.inner = outer.inner.max(level.longest + 1),
                None => levels.push(Level { longest: level.longest, ..Level::default() }),
            }
        }
    };
    for token in tokens {
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => levels.push(Level::default()),
            Token::RParen | Token::RBracket | Token::RBrace => {
                while levels.len() > 1 && levels.last().is_some_and(|level| level.is_case) {
                    close(&mut levels);
                }
                close(&mut levels);
            }
            Token::Word(word) if word.keyword == Keyword::CASE => {
                levels.push(Level { is_case: true, ..Level::default() });
            }
            Token::Word(word) if word.keyword == Keyword::END && levels.last().is_some_and(|level| level.is_case) => {
                close(&mut levels);
            }
            Token::Comma => {
                if let Some(level) = levels.last_mut() {
                    level.end_part();
                }
            }
            Token::Word(word) if word.keyword == Keyword::NoKeyword => {}
            Token::Whitespace(_) | Token::Number(..) | Token::SingleQuotedString(_) | Token::EOF => {}
            _ => {
                if let Some(level) = levels.last_mut() {
                    level.operators += 1;
                }
            }
        }
    }
    while levels.len() > 1 {
        close(&mut levels);
    }
    levels.pop().map_or(0, |mut level| {
        level.end_part();
        level.longest
    })
}

/// Refuses a statement that is too large to be planned.
pub(super) fn statement(statement: &Statement) -> Result<()> {
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

/// The largest expression when everything below it is put in its place, in operators and columns: each SELECT a + a over another
/// doubles it.
pub(super) const LARGEST_SIZE: u64 = 5_000;

/// How large an expression is when each column is as large as `column` says. Literals are nothing: lists of them may be long.
pub(super) fn size(expression: &PlannedExpr, column: impl Fn(&Column) -> u64) -> u64 {
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

/// Refuses what is above the aggregate if it is too large to be put together.
pub(super) fn above(plan: &LogicalPlan) -> Result<()> {
    sizes_above(plan).map(|_| ())
}

/// The sizes of the columns of a node above the aggregate.
fn sizes_above(plan: &LogicalPlan) -> Result<Vec<u64>> {
    let below = match plan {
        LogicalPlan::Aggregate(aggregate) => return Ok(vec![1; aggregate.schema.fields().len()]),
        other => other.inputs().first().copied(),
    };
    let Some(below) = below else { return Ok(Vec::new()) };
    let inner = sizes_above(below)?;
    let of = |name: &Column| {
        let index = below.schema().maybe_index_of_column(name);
        index.and_then(|index| inner.get(index)).copied().unwrap_or(1)
    };
    let sizes: Vec<u64> = plan.expressions().iter().map(|expression| size(expression, of)).collect();
    if sizes.iter().any(|size| *size > LARGEST_SIZE) {
        return Err(Error::input(format!(
            "query: what is done with the aggregates takes more than {LARGEST_SIZE} operators when its sub-queries are put in their places; write it in a shorter way"
        )));
    }
    Ok(if matches!(plan, LogicalPlan::Projection(_)) { sizes } else { inner })
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
        self.calls += usize::from(matches!(expression, Expr::Function(_)));
        match (self.depth > DEEPEST, self.calls > MOST_OUTPUTS) {
            (true, _) => ControlFlow::Break(too_deep()),
            (_, true) => ControlFlow::Break(Error::input(format!(
                "query: it calls functions more than {MOST_OUTPUTS} times; release its parts one by one"
            ))),
            _ => ControlFlow::Continue(()),
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
