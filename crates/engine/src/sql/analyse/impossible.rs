//! Conditions that the declarations decide: one that is true of no row, whatever the data are, would give a constant 0
//! at the full cost of its release.

use super::describe::{Describer, shown};
use super::limits;
use super::possible::PossibleRows;
use crate::error::Result;
use crate::place::suggestion;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

/// So many values of a column stand in a sentence.
const SHOWN_VALUES: usize = 4;
/// A condition with more operators and columns is tried out as a whole alone.
const LONGEST: u64 = 64;
/// A list of strings is looked up in the values of a column up to this product of their lengths.
const MOST_COMPARED: usize = 1 << 22;

/// Refuses a condition that is certainly true of no row. What cannot be decided by the declarations is let through.
pub(crate) fn refuse_impossible(condition: &Expr, possible: &PossibleRows, describer: &Describer<'_>) -> Result<()> {
    let (source, schema) = (describer.source, describer.schema);
    // Where the values of parameters are not known yet, anything may stand in their places.
    if !source.lists_keys || condition.column_refs().is_empty() {
        return Ok(());
    }
    let is_impossible = |one: &Expr| is_never(one, possible, describer);
    // A part that decides it is what somebody wants to see.
    let part = split_conjunction(condition).into_iter().find(|part| is_impossible(part));
    let Some(condition) = part.or_else(|| Some(condition).filter(|whole| is_impossible(whole))) else {
        return Ok(());
    };
    if let Some(UnlistedText { column, text, values }) = unlisted(condition, possible, schema) {
        let hint = suggestion(&text, values.iter().map(String::as_str));
        let more = if values.len() > SHOWN_VALUES { ", …" } else { "" };
        let listed: Vec<String> = values.iter().take(SHOWN_VALUES).map(|value| format!("'{value}'")).collect();
        let hint = if hint.is_empty() { format!("; its values are {}{more}", listed.join(", ")) } else { hint };
        let sentence = format!("{column} is never '{text}', and so the condition is true of no row{hint}");
        return Err(source.error(&text, sentence));
    }
    let name = condition.column_refs().into_iter().map(|column| column.name.as_str()).min().unwrap_or_default();
    let sentence = format!(
        "by the domains that the project file declares, {} is true of no row: change the condition or the domains",
        shown(condition)
    );
    Err(source.error_at_column(name, sentence))
}

/// Whether a condition is certainly true of no row: by the bounds of what it compares, or because it was tried out on
/// all values that there are; or because its parts are.
fn is_never(condition: &Expr, possible: &PossibleRows, describer: &Describer<'_>) -> bool {
    let (schema, source) = (describer.schema, describer.source);
    if is_beyond(condition, describer) || is_elsewhere(condition, possible, schema) {
        return true;
    }
    if possible.never(condition, schema, source) {
        return true;
    }
    // Of a long condition each part would be tried out with all that it is in.
    let is_short = limits::size(condition, |_| 1) <= LONGEST;
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) if is_short => {
            is_never(left, possible, describer) || is_never(right, possible, describer)
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) if is_short => {
            is_never(left, possible, describer) && is_never(right, possible, describer)
        }
        _ => false,
    }
}

/// Whether the bounds of numbers, dates or times make a comparison true of no row.
fn is_beyond(comparison: &Expr, describer: &Describer<'_>) -> bool {
    let ends = |one: &Expr| describer.expression(one).ok()?.interval;
    match comparison {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if op.supports_propagation() => {
            let (Some((least, most)), Some((low, high))) = (ends(left), ends(right)) else { return false };
            match op {
                Operator::Eq => most < low || high < least,
                Operator::Lt => least >= high,
                Operator::LtEq => least > high,
                Operator::Gt => most <= low,
                Operator::GtEq => most < low,
                _ => false,
            }
        }
        Expr::Between(between) if !between.negated => {
            let (own, low, high) = (ends(&between.expr), ends(&between.low), ends(&between.high));
            let is_below = own.zip(low).is_some_and(|(own, low)| own.1 < low.0);
            is_below || own.zip(high).is_some_and(|(own, high)| own.0 > high.1)
        }
        _ => false,
    }
}

/// Whether a comparison asks a column for strings that it never holds.
fn is_elsewhere(comparison: &Expr, possible: &PossibleRows, schema: &DFSchema) -> bool {
    let lacks = |column: &Expr, texts: &[&Expr]| {
        let Some(values) = bare_column(column).and_then(|column| possible.listed_texts(column, schema)) else {
            return false;
        };
        let is_unlisted = |text: &&Expr| literal_text(text).is_some_and(|text| !values.contains(&text));
        values.len().saturating_mul(texts.len()) <= MOST_COMPARED && texts.iter().all(is_unlisted)
    };
    match comparison {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
            lacks(left, &[right]) || lacks(right, &[left])
        }
        Expr::InList(list) if !list.negated => lacks(&list.expr, &list.list.iter().collect::<Vec<_>>()),
        _ => false,
    }
}

/// A string that a column is compared with and never holds.
struct UnlistedText {
    column: String,
    text: String,
    values: Vec<String>,
}

/// The first such comparison in a condition.
fn unlisted(condition: &Expr, possible: &PossibleRows, schema: &DFSchema) -> Option<UnlistedText> {
    let of = |column: &Expr, text: &Expr| {
        let (column, text) = (bare_column(column)?, literal_text(text)?);
        let values = possible.listed_texts(column, schema)?;
        let is_unlisted = !values.contains(&text);
        is_unlisted.then(|| UnlistedText { column: column.name.clone(), text, values: values.to_vec() })
    };
    let mut found = None;
    let walked = condition.apply(|one| {
        found = match one {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
                of(left, right).or_else(|| of(right, left))
            }
            Expr::InList(list) if !list.negated => list.list.iter().find_map(|value| of(&list.expr, value)),
            _ => None,
        };
        Ok(if found.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    walked.ok().and(found)
}

fn bare_column(expression: &Expr) -> Option<&Column> {
    match expression {
        Expr::Column(column) => Some(column),
        Expr::Cast(cast) if is_text(cast.field.data_type()) => bare_column(&cast.expr),
        _ => None,
    }
}

fn literal_text(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Literal(value, _) => value.try_as_str().flatten().map(str::to_string),
        Expr::Cast(cast) if is_text(cast.field.data_type()) => literal_text(&cast.expr),
        _ => None,
    }
}

/// A cast to one of these leaves strings as they are.
fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}
