//! SELECT over the tables of the catalogue.

use super::context::{CommonTables, EvaluationContext, InnerQueries};
use super::expression::{kind_of, value_of};
use super::from::{JoinSearch, MOST_SOURCES, joined, renamed};
use super::operator::is_true;
use super::output::{OutputColumn, by_keys, distinct, fitted, number_of, output_of, outputs, row_key, sort_outputs};
use super::scope::{EmptyScope, JoinedRow, NameScope, folded};
use super::{Catalogue, ResultColumn, ResultTable};
use crate::postgres::refused::{SqlError, code};
use crate::postgres::value::CellValue;
use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, LimitClause, OrderByExpr, OrderByKind, Query, Select, SetExpr, SetOperator,
    SetQuantifier,
};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Answers a query.
pub(super) fn answer(query: &Query, world: &Catalogue<'_>) -> Result<Rc<ResultTable>, SqlError> {
    let context = EvaluationContext { world, names: &CommonTables::default(), inner: &SelectInterpreter };
    self::query(query, context, None)
}

/// Queries inside others are answered as those are.
struct SelectInterpreter;

impl InnerQueries for SelectInterpreter {
    fn answer(
        &self,
        query: &Query,
        context: EvaluationContext<'_>,
        outer: Option<&NameScope<'_>>,
    ) -> Result<Rc<ResultTable>, SqlError> {
        self::query(query, context, outer)
    }
}

fn query(
    query: &Query,
    context: EvaluationContext<'_>,
    outer: Option<&NameScope<'_>>,
) -> Result<Rc<ResultTable>, SqlError> {
    context.world.spend(1 + context.names.count() / 4)?;
    let mut names = context.names.clone();
    for common in query.with.iter().flat_map(|with| &with.cte_tables) {
        let made = self::query(&common.query, EvaluationContext { names: &names, ..context }, outer)?;
        let table = renamed(made, Some(&common.alias), context.world)?;
        names.add(folded(&common.alias.name), table);
    }
    let context = EvaluationContext { names: &names, ..context };
    let order = match query.order_by.as_ref().map(|order| &order.kind) {
        Some(OrderByKind::Expressions(order)) => &order[..],
        _ => &[],
    };
    let mut table = match &*query.body {
        SetExpr::Select(one) => select(one, order, context, outer)?,
        body => {
            let mut table = set(body, context, outer)?;
            sort_outputs(&mut table, order, context)?;
            table
        }
    };
    limit(&mut table, query, context, outer)?;
    Ok(Rc::new(table))
}

fn set(body: &SetExpr, context: EvaluationContext<'_>, outer: Option<&NameScope<'_>>) -> Result<ResultTable, SqlError> {
    match body {
        SetExpr::Select(one) => select(one, &[], context, outer),
        SetExpr::Query(inner) => {
            let table = query(inner, context, outer)?;
            Ok(Rc::try_unwrap(table).unwrap_or_else(|table| (*table).clone()))
        }
        SetExpr::SetOperation { left, op, set_quantifier, right } => {
            let (mut left, right) = (set(left, context, outer)?, set(right, context, outer)?);
            let world = context.world;
            match op {
                SetOperator::Union => {
                    // Rows of another width get that of the first.
                    let wider = right.rows.iter().map(|row| 1 + left.columns.len().saturating_sub(row.len()));
                    world.spend(wider.sum())?;
                    left.rows.extend(right.rows.into_iter().map(|mut row| {
                        row.resize(left.columns.len(), CellValue::Null);
                        row
                    }));
                }
                SetOperator::Intersect | SetOperator::Except | SetOperator::Minus => {
                    let others = right.rows.iter().map(|row| row_key(row, world));
                    let others = others.collect::<Result<HashSet<String>, SqlError>>()?;
                    let mut kept = Vec::new();
                    for row in left.rows {
                        if others.contains(&row_key(&row, world)?) == matches!(op, SetOperator::Intersect) {
                            kept.push(row);
                        }
                    }
                    left.rows = kept;
                }
            }
            if !matches!(set_quantifier, SetQuantifier::All | SetQuantifier::AllByName) {
                left.rows = distinct(left.rows, world)?;
            }
            Ok(left)
        }
        SetExpr::Values(values) => {
            let nowhere = EmptyScope::default();
            let scope = nowhere.scope(outer);
            let width = values.rows.first().map_or(0, |row| row.content.len());
            let first = values.rows.first().map(|row| &row.content[..]).unwrap_or_default();
            let named = |(index, value): (usize, &Expr)| -> Result<ResultColumn, SqlError> {
                Ok(ResultColumn::new(format!("column{}", index + 1), kind_of(value, context, &scope)?))
            };
            let columns = first.iter().enumerate().map(named).collect::<Result<Vec<_>, SqlError>>()?;
            context.world.widened(width.saturating_sub(1), "")?;
            let mut rows = Vec::new();
            for row in &values.rows {
                context.world.spend(width)?;
                let mut cells = row
                    .content
                    .iter()
                    .map(|value| value_of(value, context, &scope))
                    .collect::<Result<Vec<_>, SqlError>>()?;
                cells.resize(width, CellValue::Null);
                rows.push(fitted(cells, &columns));
            }
            Ok(ResultTable { columns, rows })
        }
        _ => Err(SqlError::new(code::UNSUPPORTED, "only SELECT is answered; nothing is ever written to a table")),
    }
}

fn select(
    select: &Select,
    order: &[OrderByExpr],
    context: EvaluationContext<'_>,
    outer: Option<&NameScope<'_>>,
) -> Result<ResultTable, SqlError> {
    let (mut sources, mut steps) = (Vec::new(), Vec::new());
    for from in &select.from {
        joined(from, &mut sources, &mut steps, context, outer)?;
    }
    if sources.len() > MOST_SOURCES {
        let sentence = format!("a query of the catalogue reads at most {MOST_SOURCES} tables");
        return Err(SqlError::new(code::TOO_MUCH, sentence));
    }
    let counters = RefCell::new(HashMap::new());
    let scope = NameScope { sources: &sources, row: &[], group: None, counters: &counters, outer };
    let rows = JoinSearch::new(select.selection.as_ref(), &steps, context, &scope)?.rows()?;
    let outputs = outputs(&select.projection, context, &scope)?;
    let columns: Vec<ResultColumn> = outputs.iter().map(|output| output.column.clone()).collect();
    let groups = grouped(select, &outputs, rows, context, &scope)?;
    let mut found: Vec<(Vec<CellValue>, Vec<CellValue>)> = Vec::new();
    for group in &groups {
        let row = group.first().map_or(&[][..], |row| &row[..]);
        let here = NameScope { sources: &sources, row, group: Some(&group[..]), counters: &counters, outer };
        if let Some(having) = &select.having
            && !is_true(&value_of(having, context, &here)?)
        {
            continue;
        }
        let cells = outputs.iter().map(|output| output.value(context, &here)).collect::<Result<Vec<_>, SqlError>>()?;
        let cells = fitted(cells, &columns);
        let keys = order.iter().map(|one| match output_of(&one.expr, &columns) {
            Some(index) => context.world.copied(&cells[index]),
            None => value_of(&one.expr, context, &here),
        });
        let keys = keys.collect::<Result<Vec<_>, SqlError>>()?;
        found.push((cells, keys));
    }
    found.sort_by(|(_, left), (_, right)| by_keys(left.iter().zip(right), order));
    let mut rows: Vec<Vec<CellValue>> = found.into_iter().map(|(cells, _)| cells).collect();
    if matches!(select.distinct, Some(Distinct::Distinct)) {
        rows = distinct(rows, context.world)?;
    }
    Ok(ResultTable { columns, rows })
}

/// The rows that are made one, each alone where nothing is aggregated.
fn grouped(
    select: &Select,
    outputs: &[OutputColumn<'_>],
    rows: Vec<JoinedRow>,
    context: EvaluationContext<'_>,
    scope: &NameScope<'_>,
) -> Result<Vec<Vec<JoinedRow>>, SqlError> {
    let by = match &select.group_by {
        GroupByExpr::Expressions(by, _) => &by[..],
        GroupByExpr::All(_) => &[],
    };
    if by.is_empty() {
        return Ok(match outputs.iter().any(OutputColumn::is_aggregated) {
            true => vec![rows],
            false => rows.into_iter().map(|row| vec![row]).collect(),
        });
    }
    let (mut places, mut groups): (HashMap<String, usize>, Vec<Vec<JoinedRow>>) = (HashMap::new(), Vec::new());
    for row in rows {
        let here = NameScope { row: &row, group: None, ..*scope };
        let mut key = String::new();
        for one in by {
            // A number stands for the column of that number.
            let ordinal = number_of(one).and_then(|number| outputs.get(number.wrapping_sub(1)));
            let value = match ordinal {
                Some(output) => output.value(context, &here)?,
                None => value_of(one, context, &here)?,
            };
            key.push_str(&format!("{value:?};"));
        }
        let place = *places.entry(key).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(row);
    }
    Ok(groups)
}

fn limit(
    table: &mut ResultTable,
    query: &Query,
    context: EvaluationContext<'_>,
    outer: Option<&NameScope<'_>>,
) -> Result<(), SqlError> {
    let (limit, offset) = match &query.limit_clause {
        Some(LimitClause::LimitOffset { limit, offset, .. }) => {
            (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
        }
        Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
        None => (query.fetch.as_ref().and_then(|fetch| fetch.quantity.as_ref()), None),
    };
    let nowhere = EmptyScope::default();
    let scope = nowhere.scope(outer);
    let number = |expression: Option<&Expr>| -> Result<Option<usize>, SqlError> {
        let value = expression.map(|expression| value_of(expression, context, &scope)).transpose()?;
        Ok(value
            .and_then(|value| if let CellValue::Whole(number) = value { usize::try_from(number).ok() } else { None }))
    };
    let (limit, offset) = (number(limit)?, number(offset)?);
    table.rows.drain(..offset.unwrap_or(0).min(table.rows.len()));
    table.rows.truncate(limit.unwrap_or(usize::MAX));
    Ok(())
}
