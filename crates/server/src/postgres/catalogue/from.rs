//! FROM and WHERE: joins as nested loops, conditions as soon as what they need is there.

use super::context::EvaluationContext;
use super::expression::{arguments_of, value_of};
use super::function;
use super::operator::{compare, is_true};
use super::scope::{EmptyScope, FromTable, JoinedRow, NameScope, folded, last_word};
use super::{Catalogue, ResultColumn, ResultTable, length, weight};
use crate::postgres::refused::SqlError;
use crate::postgres::value::{CellValue, PgType};
use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArguments, JoinConstraint, JoinOperator, ObjectName, TableAlias,
    TableFactor, TableWithJoins, visit_expressions,
};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::rc::Rc;

/// The most tables of one FROM.
pub(super) const MOST_SOURCES: usize = 24;

/// What a row that is kept costs, beside what is looked at to find it.
const KEPT_ROW: usize = 8;

/// How a table is joined to those before it.
pub(super) struct JoinStep<'q> {
    keeps_left: bool,
    on: Vec<&'q Expr>,
    using: Vec<String>,
}

/// Adds a table and those that are joined to it.
pub(super) fn joined<'q>(
    from: &'q TableWithJoins,
    sources: &mut Vec<FromTable>,
    steps: &mut Vec<JoinStep<'q>>,
    context: EvaluationContext<'_>,
    outer: Option<&NameScope<'_>>,
) -> Result<(), SqlError> {
    let plain = || JoinStep { keeps_left: false, on: Vec::new(), using: Vec::new() };
    factor(&from.relation, plain(), sources, steps, context, outer)?;
    for join in &from.joins {
        let (keeps_left, constraint) = match &join.join_operator {
            JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => (true, Some(constraint)),
            JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::Right(constraint)
            | JoinOperator::RightOuter(constraint)
            | JoinOperator::FullOuter(constraint)
            | JoinOperator::CrossJoin(constraint) => (false, Some(constraint)),
            _ => (false, None),
        };
        let mut step = JoinStep { keeps_left, ..plain() };
        match constraint {
            Some(JoinConstraint::On(condition)) => step.on.push(condition),
            Some(JoinConstraint::Using(columns)) => step.using = columns.iter().map(last_word).collect(),
            _ => {}
        }
        factor(&join.relation, step, sources, steps, context, outer)?;
    }
    Ok(())
}

fn factor<'q>(
    factor: &'q TableFactor,
    step: JoinStep<'q>,
    sources: &mut Vec<FromTable>,
    steps: &mut Vec<JoinStep<'q>>,
    context: EvaluationContext<'_>,
    outer: Option<&NameScope<'_>>,
) -> Result<(), SqlError> {
    let (default, table, alias) = match factor {
        TableFactor::Table { name, alias, args: None, .. } => {
            let words: Vec<String> = name.0.iter().filter_map(|part| part.as_ident()).map(folded).collect();
            let last = words.last().cloned().unwrap_or_default();
            let schema = words.len().checked_sub(2).map(|index| words[index].as_str());
            let common = context.names.find(&last).filter(|_| schema.is_none());
            let table = match common {
                Some(table) => table,
                None => context.world.table(schema, &last)?,
            };
            (last, table, alias)
        }
        TableFactor::Table { name, alias, args: Some(args), .. } => {
            (last_word(name), called(name, &args.args, context, outer)?, alias)
        }
        TableFactor::Function { name, alias, args, .. } => {
            (last_word(name), called(name, args, context, outer)?, alias)
        }
        TableFactor::UNNEST { alias, array_exprs, .. } => {
            let nowhere = EmptyScope::default();
            let scope = nowhere.scope(outer);
            let list = array_exprs.first().map(|list| value_of(list, context, &scope)).transpose()?;
            let cells = if let Some(CellValue::List(list)) = list { list } else { Vec::new() };
            ("unnest".to_string(), Rc::new(one_column("unnest", cells)), alias)
        }
        TableFactor::Derived { subquery, alias, .. } => (String::new(), context.query(subquery, outer)?, alias),
        TableFactor::NestedJoin { table_with_joins, .. } => {
            // What joins the whole joins its first table: the conditions of the rest come with it.
            let before = steps.len();
            joined(table_with_joins, sources, steps, context, outer)?;
            if let Some(last) = steps[before..].last_mut() {
                last.on.extend(step.on);
                last.using.extend(step.using);
            }
            return Ok(());
        }
        _ => (String::new(), Rc::new(ResultTable::default()), &None),
    };
    let table = renamed(table, alias.as_ref(), context.world)?;
    // Its rows are looked through for what they can be joined by.
    context.world.spend(1 + table.rows.len() / 16)?;
    sources.push(FromTable { alias: alias.as_ref().map_or(default, |alias| folded(&alias.name)), table });
    steps.push(step);
    Ok(())
}

/// The table of a function in FROM.
fn called(
    name: &ObjectName,
    arguments: &[FunctionArg],
    context: EvaluationContext<'_>,
    outer: Option<&NameScope<'_>>,
) -> Result<Rc<ResultTable>, SqlError> {
    let nowhere = EmptyScope::default();
    let scope = nowhere.scope(outer);
    let name = last_word(name);
    let cells = function::rows(&name, &arguments_of(arguments, context, &scope)?, context.world)?;
    Ok(Rc::new(one_column(&name, cells)))
}

fn one_column(name: &str, cells: Vec<CellValue>) -> ResultTable {
    let kind = if cells.iter().all(|cell| matches!(cell, CellValue::Whole(_))) { PgType::Int } else { PgType::Text };
    ResultTable {
        columns: vec![ResultColumn::new(name, kind)],
        rows: cells.into_iter().map(|cell| vec![cell]).collect(),
    }
}

/// The table with the names that an alias gives its columns.
pub(super) fn renamed(
    table: Rc<ResultTable>,
    alias: Option<&TableAlias>,
    world: &Catalogue<'_>,
) -> Result<Rc<ResultTable>, SqlError> {
    let names: Vec<String> =
        alias.into_iter().flat_map(|alias| &alias.columns).map(|column| folded(&column.name)).collect();
    if names.is_empty() {
        return Ok(table);
    }
    let mut table = match Rc::try_unwrap(table) {
        Ok(table) => table,
        Err(shared) => {
            world.spend(weight(&shared) / 32)?;
            (*shared).clone()
        }
    };
    table.columns.iter_mut().zip(names).for_each(|(column, name)| column.name = name);
    Ok(Rc::new(table))
}

/// The rows of FROM for which its conditions hold.
pub(super) struct JoinSearch<'j> {
    steps: &'j [JoinStep<'j>],
    /// The parts of WHERE, with the table at which all that they need is there.
    parts: Vec<(usize, &'j Expr)>,
    /// For each table, the index that finds its rows for a join, where there is one.
    indices: Vec<Option<JoinIndex<'j>>>,
    context: EvaluationContext<'j>,
    scope: &'j NameScope<'j>,
    found: Vec<JoinedRow>,
}

/// The rows of a table by the numbers in one of its columns, and what that column must be equal to.
struct JoinIndex<'j> {
    equal_to: &'j Expr,
    rows: HashMap<i64, Vec<usize>>,
}

impl<'j> JoinSearch<'j> {
    pub fn new(
        condition: Option<&'j Expr>,
        steps: &'j [JoinStep<'j>],
        context: EvaluationContext<'j>,
        scope: &'j NameScope<'j>,
    ) -> Result<Self, SqlError> {
        let world = context.world;
        let mut parts = Vec::new();
        condition.into_iter().for_each(|condition| conjuncts(condition, &mut parts));
        let place = |part: &'j Expr| -> Result<(usize, &'j Expr), SqlError> { Ok((needed(part, scope, world)?, part)) };
        let parts = parts.into_iter().map(place).collect::<Result<Vec<_>, SqlError>>()?;
        let indices = steps.iter().enumerate().map(|(place, step)| index(place, step, &parts, scope, world));
        let indices = indices.collect::<Result<Vec<_>, SqlError>>()?;
        Ok(Self { steps, parts, indices, context, scope, found: Vec::new() })
    }

    pub fn rows(mut self) -> Result<Vec<JoinedRow>, SqlError> {
        if self.scope.sources.is_empty() {
            let holds = self.holds(0, &[])?;
            return Ok(if holds { vec![Vec::new()] } else { Vec::new() });
        }
        // Nothing is joined with nothing.
        let mut sources = self.scope.sources.iter().zip(self.steps);
        if sources.any(|(source, step)| !step.keeps_left && source.table.rows.is_empty()) {
            return Ok(Vec::new());
        }
        self.extend(&mut Vec::new())?;
        Ok(self.found)
    }

    /// The rows of the next table that can be joined to this one, and perhaps some others.
    fn candidates(&self, place: usize, row: &[Option<usize>]) -> Result<Vec<usize>, SqlError> {
        let all = || (0..self.scope.sources[place].table.rows.len()).collect();
        let Some(index) = &self.indices[place] else { return Ok(all()) };
        Ok(match value_of(index.equal_to, self.context, &self.at(row))? {
            CellValue::Whole(number) => index.rows.get(&number).cloned().unwrap_or_default(),
            CellValue::Null => Vec::new(),
            _ => all(),
        })
    }

    /// All rows that begin with this one.
    fn extend(&mut self, row: &mut JoinedRow) -> Result<(), SqlError> {
        let place = row.len();
        if place == self.scope.sources.len() {
            // It is kept in memory, and again in its group and in the result.
            self.context.world.spend(KEPT_ROW)?;
            self.found.push(row.clone());
            return Ok(());
        }
        let mut matched = false;
        for index in self.candidates(place, row)? {
            // A row with a place for each table is kept if it fits.
            self.context.world.spend(1 + place)?;
            row.push(Some(index));
            if self.joins(place, row)? {
                matched = true;
                if self.holds(place, row)? {
                    self.extend(row)?;
                }
            }
            row.pop();
        }
        if self.steps[place].keeps_left && !matched {
            row.push(None);
            if self.holds(place, row)? {
                self.extend(row)?;
            }
            row.pop();
        }
        Ok(())
    }

    fn at<'r>(&self, row: &'r [Option<usize>]) -> NameScope<'r>
    where
        'j: 'r,
    {
        let NameScope { sources, counters, outer, .. } = self.scope;
        NameScope { sources, row, group: None, counters, outer: *outer }
    }

    fn joins(&self, place: usize, row: &[Option<usize>]) -> Result<bool, SqlError> {
        let step = &self.steps[place];
        let scope = self.at(row);
        for condition in &step.on {
            if !is_true(&value_of(condition, self.context, &scope)?) {
                return Ok(false);
            }
        }
        for column in &step.using {
            let before = NameScope { sources: &scope.sources[..place], ..self.at(&row[..place]) };
            let world = self.context.world;
            let own = scope.lookup(Some(&scope.sources[place].alias), column, world)?;
            let Some((left, right)) = before.lookup(None, column, world)?.zip(own) else { return Ok(false) };
            world.spend(1 + (length(left) + length(right)) / 64)?;
            if compare(left, right) != Some(Ordering::Equal) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn holds(&self, place: usize, row: &[Option<usize>]) -> Result<bool, SqlError> {
        let scope = self.at(row);
        for (_, part) in self.parts.iter().filter(|(needed, _)| *needed == place) {
            if !is_true(&value_of(part, self.context, &scope)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// How the rows of a table are found, if some condition says that a column of numbers is equal to something of the
/// tables before it.
fn index<'j>(
    place: usize,
    step: &JoinStep<'j>,
    parts: &[(usize, &'j Expr)],
    scope: &NameScope<'_>,
    world: &Catalogue<'_>,
) -> Result<Option<JoinIndex<'j>>, SqlError> {
    let mut conditions = Vec::new();
    step.on.iter().copied().for_each(|condition| conjuncts(condition, &mut conditions));
    // What WHERE says does not decide whether a row has a partner.
    let more = parts.iter().filter(|(needed, _)| !step.keeps_left && *needed == place).map(|(_, part)| *part);
    conditions.extend(more);
    let table = &scope.sources[place].table;
    for condition in conditions {
        let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = condition else { continue };
        for (own, equal_to) in [(left, right), (right, left)] {
            let column = own_column(own, scope, world)?.filter(|(source, _)| *source == place);
            let Some((_, column)) = column.filter(|_| place > 0) else { continue };
            if needed(equal_to, scope, world)? >= place {
                continue;
            }
            // Each condition looks through all rows.
            world.spend(1 + table.rows.len() / 16)?;
            let mut rows: HashMap<i64, Vec<usize>> = HashMap::new();
            let mut are_numbers = column < table.columns.len();
            for (index, row) in table.rows.iter().enumerate() {
                match row.get(column) {
                    Some(CellValue::Whole(number)) => rows.entry(*number).or_default().push(index),
                    Some(CellValue::Null) => {}
                    _ => are_numbers = false,
                }
            }
            if are_numbers {
                return Ok(Some(JoinIndex { equal_to, rows }));
            }
        }
    }
    Ok(None)
}

/// The column that an expression is.
fn own_column(
    expression: &Expr,
    scope: &NameScope<'_>,
    world: &Catalogue<'_>,
) -> Result<Option<(usize, usize)>, SqlError> {
    match expression {
        Expr::Identifier(name) => scope.place(None, &folded(name), world),
        Expr::CompoundIdentifier(words) => {
            let words: Vec<String> = words.iter().map(folded).collect();
            match &words[..] {
                [.., table, column] => scope.place(Some(table), column, world),
                _ => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

/// The parts of a condition that must all hold.
fn conjuncts<'q>(condition: &'q Expr, parts: &mut Vec<&'q Expr>) {
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            conjuncts(left, parts);
            conjuncts(right, parts);
        }
        Expr::Nested(inner) => conjuncts(inner, parts),
        other => parts.push(other),
    }
}

/// The last table that a condition needs; all of them, where it has a query inside.
fn needed(condition: &Expr, scope: &NameScope<'_>, world: &Catalogue<'_>) -> Result<usize, SqlError> {
    let last = scope.sources.len().saturating_sub(1);
    let mut needed = 0;
    let visited = visit_expressions(condition, |part| {
        let place = match part {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => match own_column(part, scope, world) {
                Ok(column) => column.map(|(source, _)| source),
                Err(refused) => return ControlFlow::Break(refused),
            },
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => Some(last),
            Expr::Function(function) if matches!(function.args, FunctionArguments::Subquery(_)) => Some(last),
            _ => None,
        };
        needed = needed.max(place.unwrap_or(0));
        ControlFlow::Continue(())
    });
    match visited {
        ControlFlow::Break(refused) => Err(refused),
        ControlFlow::Continue(()) => Ok(needed.min(last)),
    }
}
