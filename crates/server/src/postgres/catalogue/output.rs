//! The columns of a result: their names and types, their order, and what makes rows one.

use super::cast::type_name;
use super::context::EvaluationContext;
use super::expression::{kind_of, value_of};
use super::function::is_aggregate;
use super::operator::ordered;
use super::scope::{NameScope, folded, last_word};
use super::{Catalogue, ResultColumn, ResultTable, row_weight};
use crate::postgres::refused::SqlError;
use crate::postgres::value::{CellValue, PgType};
use sqlparser::ast::{Expr, OrderByExpr, Query, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Visit, Visitor};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::ControlFlow;

/// A column of the result.
pub(super) struct OutputColumn<'q> {
    pub column: ResultColumn,
    from: OutputSource<'q>,
}

enum OutputSource<'q> {
    Expression(&'q Expr),
    Place { source: usize, column: usize },
}

impl OutputColumn<'_> {
    /// Whether it makes rows one.
    pub fn is_aggregated(&self) -> bool {
        match &self.from {
            OutputSource::Expression(expression) => aggregates(expression),
            OutputSource::Place { .. } => false,
        }
    }

    pub fn value(&self, context: EvaluationContext<'_>, scope: &NameScope<'_>) -> Result<CellValue, SqlError> {
        match &self.from {
            OutputSource::Expression(expression) => value_of(expression, context, scope),
            OutputSource::Place { source, column } => {
                let row = scope.row.get(*source).copied().flatten();
                let row = row.and_then(|row| scope.sources.get(*source)?.table.rows.get(row));
                context.world.copied(row.and_then(|row| row.get(*column)).unwrap_or(&CellValue::Null))
            }
        }
    }
}

pub(super) fn outputs<'q>(
    projection: &'q [SelectItem],
    context: EvaluationContext<'_>,
    scope: &NameScope<'_>,
) -> Result<Vec<OutputColumn<'q>>, SqlError> {
    let mut outputs = Vec::new();
    let all = |wanted: Option<String>, outputs: &mut Vec<OutputColumn<'q>>| -> Result<(), SqlError> {
        let sources = scope.sources.iter().enumerate();
        for (place, source) in sources.filter(|(_, source)| wanted.as_ref().is_none_or(|name| *name == source.alias)) {
            for (index, column) in source.table.columns.iter().enumerate() {
                context.world.widened(outputs.len(), &column.name)?;
                let from = OutputSource::Place { source: place, column: index };
                outputs.push(OutputColumn { column: column.clone(), from });
            }
        }
        Ok(())
    };
    for item in projection {
        let (expression, name) = match item {
            SelectItem::UnnamedExpr(expression) => (expression, name_of(expression)),
            SelectItem::ExprWithAlias { expr, alias } => (expr, folded(alias)),
            SelectItem::ExprWithAliases { expr, aliases } => (expr, aliases.first().map(folded).unwrap_or_default()),
            SelectItem::Wildcard(_) => {
                all(None, &mut outputs)?;
                continue;
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                all(Some(last_word(name)), &mut outputs)?;
                continue;
            }
            SelectItem::QualifiedWildcard(..) => continue,
        };
        context.world.widened(outputs.len(), &name)?;
        let kind = kind_of(expression, context, scope)?;
        outputs
            .push(OutputColumn { column: ResultColumn::new(name, kind), from: OutputSource::Expression(expression) });
    }
    Ok(outputs)
}

/// Whether an expression aggregates rows; what queries inside it do is their own.
fn aggregates(expression: &Expr) -> bool {
    struct AggregateFinder(usize);
    impl Visitor for AggregateFinder {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Continue(())
        }
        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.0 -= 1;
            ControlFlow::Continue(())
        }
        fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
            match expression {
                Expr::Function(function)
                    if self.0 == 0 && function.over.is_none() && is_aggregate(&last_word(&function.name)) =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    Visit::visit(expression, &mut AggregateFinder(0)).is_break()
}

/// The output column that an expression of ORDER BY names, by its number or by its name.
pub(super) fn output_of(expression: &Expr, columns: &[ResultColumn]) -> Option<usize> {
    if let Expr::Identifier(name) = expression {
        let name = folded(name);
        return columns.iter().position(|column| column.name == name);
    }
    number_of(expression).and_then(|number| number.checked_sub(1)).filter(|index| *index < columns.len())
}

pub(super) fn number_of(expression: &Expr) -> Option<usize> {
    match expression {
        Expr::Value(value) => value.to_string().parse().ok(),
        _ => None,
    }
}

pub(super) fn sort_outputs(
    table: &mut ResultTable,
    order: &[OrderByExpr],
    context: EvaluationContext<'_>,
) -> Result<(), SqlError> {
    context.world.spend(table.rows.len().saturating_mul(order.len()))?;
    let places: Vec<Option<usize>> = order.iter().map(|one| output_of(&one.expr, &table.columns)).collect();
    table.rows.sort_by(|left, right| {
        by_keys(places.iter().map(|place| (cell_at(left, *place), cell_at(right, *place))), order)
    });
    Ok(())
}

fn cell_at(row: &[CellValue], place: Option<usize>) -> &CellValue {
    place.and_then(|place| row.get(place)).unwrap_or(&CellValue::Null)
}

/// Which of two rows comes first, by the values that they are ordered by.
pub(super) fn by_keys<'v>(
    keys: impl Iterator<Item = (&'v CellValue, &'v CellValue)>,
    order: &[OrderByExpr],
) -> Ordering {
    for ((left, right), one) in keys.zip(order) {
        let falls = one.options.asc == Some(false);
        let nulls_first = one.options.nulls_first.unwrap_or(falls);
        let ordering = match (left, right) {
            (CellValue::Null, CellValue::Null) => Ordering::Equal,
            (CellValue::Null, _) => {
                if nulls_first {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (_, CellValue::Null) => {
                if nulls_first {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (left, right) => {
                let ordering = ordered(left, right);
                if falls { ordering.reverse() } else { ordering }
            }
        };
        if ordering != Ordering::Equal {
            return ordering;
        }
    }
    Ordering::Equal
}

/// What makes two rows the same, paid for.
pub(super) fn row_key(row: &[CellValue], world: &Catalogue<'_>) -> Result<String, SqlError> {
    world.spend(row_weight(row) / 32)?;
    Ok(format!("{row:?}"))
}

pub(super) fn distinct(rows: Vec<Vec<CellValue>>, world: &Catalogue<'_>) -> Result<Vec<Vec<CellValue>>, SqlError> {
    let (mut seen, mut kept) = (HashSet::new(), Vec::new());
    for row in rows {
        if seen.insert(row_key(&row, world)?) {
            kept.push(row);
        }
    }
    Ok(kept)
}

/// The cells as the types of their columns have them.
pub(super) fn fitted(cells: Vec<CellValue>, columns: &[ResultColumn]) -> Vec<CellValue> {
    let fit = |(cell, column): (CellValue, &ResultColumn)| match (column.kind, cell) {
        (_, CellValue::Null) => CellValue::Null,
        (PgType::Truth, CellValue::Truth(truth)) => CellValue::Truth(truth),
        (PgType::Truth, CellValue::Text(text)) if ["t", "true", "f", "false"].contains(&text.as_str()) => {
            CellValue::Truth(text.starts_with('t'))
        }
        (PgType::Truth, _) => CellValue::Null,
        (PgType::Small | PgType::Int | PgType::Whole | PgType::Oid, CellValue::Whole(number)) => {
            CellValue::Whole(number)
        }
        (PgType::Small | PgType::Int | PgType::Whole | PgType::Oid, CellValue::Text(text)) => {
            text.parse().map_or(CellValue::Null, CellValue::Whole)
        }
        (PgType::Small | PgType::Int | PgType::Whole | PgType::Oid, _) => CellValue::Null,
        (PgType::Number, CellValue::Whole(number)) => CellValue::Number(number as f64),
        (PgType::Number, CellValue::Number(number)) => CellValue::Number(number),
        (PgType::Number, _) => CellValue::Null,
        (PgType::Texts, CellValue::List(list)) => CellValue::List(list),
        (PgType::Texts, _) => CellValue::Null,
        (_, cell) => cell.shown().map_or(CellValue::Null, CellValue::Text),
    };
    cells.into_iter().zip(columns).map(fit).collect()
}

/// What PostgreSQL calls a column without a name.
fn name_of(expression: &Expr) -> String {
    match expression {
        Expr::Identifier(name) => folded(name),
        Expr::CompoundIdentifier(words) => words.last().map(folded).unwrap_or_default(),
        Expr::Function(function) => last_word(&function.name),
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => name_of(inner),
        Expr::Cast { expr, data_type, .. } => match name_of(expr) {
            name if name == "?column?" => type_name(data_type),
            name => name,
        },
        Expr::Case { .. } => "case".to_string(),
        Expr::Exists { .. } => "exists".to_string(),
        Expr::Array(_) => "array".to_string(),
        Expr::Subquery(query) => match &*query.body {
            SetExpr::Select(select) => match select.projection.first() {
                Some(SelectItem::UnnamedExpr(inner)) => name_of(inner),
                Some(SelectItem::ExprWithAlias { alias, .. }) => folded(alias),
                _ => "?column?".to_string(),
            },
            _ => "?column?".to_string(),
        },
        _ => "?column?".to_string(),
    }
}
