//! Comparisons that nobody can have meant: of numbers with a string that is not a number, and of strings with a number,
//! unless a listed value is one. They would be NULL on every row, and the answer would be 0 at its full cost. Where
//! strings without listed values are numbers, CAST says so.

use super::describe::{shown, type_word};
use crate::error::Result;
use crate::project::{Domain, Project};
use crate::sql::QuerySource;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::expr::InSubquery;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan};

/// Refuses such comparisons in a plan whose types are as they were written.
pub(crate) fn refuse_strangers(plan: &LogicalPlan, project: &Project, source: &QuerySource<'_>) -> Result<()> {
    let mut found = None;
    let walked = plan.apply_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        for expression in node.expressions() {
            expression.apply(|inner| {
                found = found.take().or_else(|| stranger(inner, &schema, project));
                Ok(if found.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
            })?;
        }
        Ok(if found.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    match (walked, found) {
        (Ok(_), Some((Culprit::Column(name), sentence))) => Err(source.error_at_column(&name, sentence)),
        (Ok(_), Some((Culprit::Text(text), sentence))) => Err(source.error(&text, sentence)),
        _ => Ok(()),
    }
}

/// What a refusal points at.
enum Culprit {
    Column(String),
    /// A string that is written out.
    Text(String),
}

impl Culprit {
    /// The first column of an expression, by name.
    fn of(expression: &Expr) -> Self {
        let names = expression.column_refs().into_iter().map(|column| column.name.as_str());
        Self::Column(names.min().unwrap_or_default().to_string())
    }
}

/// What to point at, and the sentence.
fn stranger(expression: &Expr, schema: &DFSchema, project: &Project) -> Option<(Culprit, String)> {
    let pairs: Vec<(&Expr, &Expr)> = match expression {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if op.supports_propagation() => vec![(left, right)],
        Expr::Between(between) => vec![(&between.expr, &between.low), (&between.expr, &between.high)],
        Expr::InList(list) => list.list.iter().map(|value| (list.expr.as_ref(), value)).collect(),
        Expr::InSubquery(list) => return no_member(list, schema),
        _ => return None,
    };
    let both = pairs.into_iter().flat_map(|(left, right)| [(left, right), (right, left)]);
    both.into_iter()
        .find_map(|(one, other)| no_date(one, other, schema).or_else(|| never_equal(one, other, schema, project)))
}

/// A date or a time is compared with a number: the planner makes a date of it that nobody meant.
fn no_date(date: &Expr, number: &Expr, schema: &DFSchema) -> Option<(Culprit, String)> {
    let is_date = matches!(date.get_type(schema).ok()?, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..));
    let Expr::Literal(value, _) = number else { return None };
    if !is_date || !value.data_type().is_numeric() {
        return None;
    }
    let name = shown(date);
    let sentence = format!(
        "{name} is a date or a time and is compared with a number: write DATE '2013-12-31' or TIMESTAMP '2013-12-31T23:59:59'"
    );
    Some((Culprit::of(date), sentence))
}

/// IN looks for a value among those of a sub-query, and one side has strings and the other numbers.
fn no_member(list: &InSubquery, schema: &DFSchema) -> Option<(Culprit, String)> {
    let (one, other) = (list.expr.get_type(schema).ok()?, list.subquery.subquery.schema().field(0).data_type().clone());
    let is_text = |kind: &DataType| matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let strange = (is_text(&one) && !is_text(&other)) || (!is_text(&one) && is_text(&other));
    let name = shown(&list.expr);
    let sentence = format!(
        "{name} holds {}, and the sub-query after IN gives {}: convert one of them with CAST",
        type_word(&one),
        type_word(&other)
    );
    strange.then(|| (Culprit::of(&list.expr), sentence))
}

fn never_equal(text: &Expr, number: &Expr, schema: &DFSchema, project: &Project) -> Option<(Culprit, String)> {
    let is_text = matches!(text.get_type(schema).ok()?, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    if !is_text || !number.get_type(schema).ok()?.is_numeric() {
        return None;
    }
    let is_number = |text: &str| text.trim().parse::<f64>().is_ok();
    match text {
        Expr::Literal(value, _) => {
            let (ScalarValue::Utf8(Some(said))
            | ScalarValue::Utf8View(Some(said))
            | ScalarValue::LargeUtf8(Some(said))) = value
            else {
                return None;
            };
            let sentence = format!("{number} is a number and is compared with '{said}', which is not: write a number");
            (!is_number(said)).then(|| (Culprit::Text(said.clone()), sentence))
        }
        Expr::Column(column) => {
            let listed = project.tables.values().flat_map(|table| &table.columns).filter(|one| one.name == column.name);
            // None while no column of that name was seen; then one of its values, if they are listed.
            let mut some: Option<Option<&String>> = None;
            for one in listed {
                let Domain::Category { values } = &one.domain else { return None };
                if values.iter().flatten().any(|value| is_number(value)) {
                    return None;
                }
                some = Some(values.as_ref().and_then(|values| values.first()));
            }
            let sentence = match some? {
                Some(value) => format!(
                    "{0} holds strings that are not numbers, and is compared with a number: compare it with one of \
                        its values, as in {0} = '{value}'",
                    column.name
                ),
                None => format!(
                    "{0} holds strings and is compared with a number: write a string in single quotes, or CAST({0} AS \
                        BIGINT) if its strings are numbers",
                    column.name
                ),
            };
            Some((Culprit::Column(column.name.clone()), sentence))
        }
        _ => None,
    }
}
