//! UNION ALL of released results: several queries in one answer.
//!
//! Each branch is a query of its own, with its own rows, keys, bounds and sensitivities, and has its share of the cost:
//! together they cost what releasing them one by one would have cost. What stands above the union sees one table of
//! released numbers. For the analysis, and for error bars, a branch is the whole query with that branch alone in the
//! place of the union: what is done with a row afterwards depends on no other row, except for which rows stay and in
//! which order (and for window functions, which have no error bar).

use super::measure::MOST_NUMBERS;
use super::sets::MOST_SETS;
use crate::error::{Error, Result};
use crate::sql::{PrivateQuery, QuerySource};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::DataFusionError;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Union};
use std::sync::Arc;

/// One branch.
pub(crate) struct Branch {
    /// The whole query, with this branch in the place of the union.
    pub whole: LogicalPlan,
    /// The branch alone, with the names of the union's columns.
    pub part: LogicalPlan,
}

/// The branches of a query; none where there is no union above its aggregates.
pub(crate) fn branches(plan: &LogicalPlan, source: &QuerySource<'_>) -> Result<Option<Vec<Branch>>> {
    let Some(union) = found(plan, |_| true) else { return Ok(None) };
    let parts = parts(union, source)?;
    let branch = |part: LogicalPlan| {
        let whole = with_branch(plan, &part).map_err(|error| not_planned(&error, source))?;
        Ok(Branch { whole, part })
    };
    parts.into_iter().map(branch).collect::<Result<Vec<_>>>().map(Some)
}

/// Refuses an answer that is too long, as that of one query would be.
pub(crate) fn refuse_too_long(branches: &[(PrivateQuery, LogicalPlan)], source: &QuerySource<'_>) -> Result<()> {
    let groupings: usize = branches.iter().map(|(cut, _)| cut.sets.len().max(1)).sum();
    if groupings > MOST_SETS {
        let sentence = format!(
            "the UNION ALL has {groupings} groupings in all of its branches, and at most {MOST_SETS} share a cost; list fewer"
        );
        return Err(source.error("union", sentence));
    }
    let columns = branches.first().map_or(0, |(cut, _)| cut.plan.schema().fields().len()) as u64;
    let cells = branches.iter().map(|(cut, _)| cut.cells()).fold(0, u64::saturating_add);
    if cells.saturating_mul(columns) > MOST_NUMBERS {
        return Err(source.error(
            "union",
            format!(
                "the UNION ALL has {cells} cells of {columns} columns in all branches, and an answer has at most \
                {MOST_NUMBERS} numbers and keys; release them in several queries"
            ),
        ));
    }
    Ok(())
}

/// Refuses branches whose columns are not of the same sort, before their types are made the same: a number would become
/// a text in silence.
pub(crate) fn refuse_mixed(plan: &LogicalPlan, source: &QuerySource<'_>) -> Result<()> {
    if let LogicalPlan::Union(union) = plan {
        for column in 0..union.schema.fields().len() {
            let of = |input: &Arc<LogicalPlan>| sort(input.schema().field(column).data_type());
            let mut sorts: Vec<&str> = union.inputs.iter().filter_map(of).collect();
            sorts.dedup();
            if let [one, other, ..] = sorts[..] {
                let name = union.schema.field(column).name();
                let sentence = format!(
                    "column {} of the UNION ALL ('{name}') is {one} in one SELECT and {other} in another: give them the same columns in the same order",
                    column + 1
                );
                return Err(source.error("union", sentence));
            }
        }
    }
    plan.inputs().into_iter().try_for_each(|input| refuse_mixed(input, source))
}

/// What a type is for a reader; none for NULL, which fits to all.
fn sort(kind: &DataType) -> Option<&'static str> {
    Some(match kind {
        DataType::Null => return None,
        kind if kind.is_numeric() => "a number",
        DataType::Boolean => "true or false",
        DataType::Date32 | DataType::Date64 => "a date",
        DataType::Timestamp(..) => "a time",
        _ => "a text",
    })
}

/// The first union on the way down from released numbers, through nodes that `passes` lets through.
fn found(plan: &LogicalPlan, passes: fn(&LogicalPlan) -> bool) -> Option<&Union> {
    match plan {
        LogicalPlan::Union(union) => Some(union),
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Window(_)
            if passes(plan) =>
        {
            plan.inputs().first().and_then(|input| found(input, passes))
        }
        _ => None,
    }
}

/// What is done with each row by itself.
fn is_by_row(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Projection(_) | LogicalPlan::Filter(_) | LogicalPlan::SubqueryAlias(_))
}

/// Each branch with the names of the union's columns; a union in a union has its branches among them.
fn parts(union: &Union, source: &QuerySource<'_>) -> Result<Vec<LogicalPlan>> {
    let mut all = Vec::new();
    for input in &union.inputs {
        let inner = match (found(input, is_by_row), found(input, |_| true)) {
            (Some(inner), _) => parts(inner, source)?,
            (None, Some(_)) => {
                let sentence = "ORDER BY, LIMIT and window functions over one UNION ALL inside of another are not \
                    supported; write them around the outer one";
                return Err(source.error("union", sentence));
            }
            (None, None) => {
                all.push(named(input, union).map_err(|error| not_planned(&error, source))?);
                continue;
            }
        };
        for part in inner {
            let whole = with_branch(input, &part).and_then(|whole| named(&whole, union));
            all.push(whole.map_err(|error| not_planned(&error, source))?);
        }
    }
    Ok(all)
}

/// A branch with the names of the union's columns.
fn named(branch: &LogicalPlan, union: &Union) -> std::result::Result<LogicalPlan, DataFusionError> {
    let columns = branch.schema().columns().into_iter().zip(union.schema.iter());
    let expressions = columns
        .map(|(column, (qualifier, field))| Expr::Column(column).alias_qualified(qualifier.cloned(), field.name()));
    Projection::try_new(expressions.collect(), Arc::new(branch.clone())).map(LogicalPlan::Projection)
}

/// The plan with one branch in the place of its first union.
fn with_branch(plan: &LogicalPlan, part: &LogicalPlan) -> std::result::Result<LogicalPlan, DataFusionError> {
    if matches!(plan, LogicalPlan::Union(_)) {
        return Ok(part.clone());
    }
    let inputs = plan.inputs().into_iter().map(|input| with_branch(input, part));
    plan.with_new_exprs(plan.expressions(), inputs.collect::<std::result::Result<_, _>>()?)
}

fn not_planned(error: &DataFusionError, source: &QuerySource<'_>) -> Error {
    let message = error.strip_backtrace();
    source.error("union", format!("the UNION ALL cannot be planned ({})", message.lines().next().unwrap_or_default()))
}
