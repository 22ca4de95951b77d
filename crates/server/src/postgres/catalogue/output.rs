//! The columns of a result: their names and types, their order, and what makes rows one.

use super::expression::{Context, kind_of, ordered, type_name, value_of};
use super::function::is_aggregate;
use super::scope::{Scope, folded, last_word};
use super::{ResultColumn, Table, World, row_weight};
use crate::postgres::refused::Refused;
use crate::postgres::value::{PgType, Value};
use sqlparser::ast::{Expr, OrderByExpr, Query, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Visit, Visitor};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::ControlFlow;

/// A column of the result.
pub(super) struct Output<'q> {
    pub column: ResultColumn,
    from: From<'q>,
}

enum From<'q> {
    Expression(&'q Expr),
    Place { source: usize, column: usize },
}

impl Output<'_> {
    /// Whether it makes rows one.
    pub fn is_aggregated(&self) -> bool {
        match &self.from {
            From::Expression(expression) => aggregates(expression),
            From::Place { .. } => false,
        }
    }

    pub fn value(&self, context: Context<'_>, scope: &Scope<'_>) -> Result<Value, Refused> {
        match &self.from {
            From::Expression(expression) => value_of(expression, context, scope),
            From::Place { source, column } => {
                let row = scope.row.get(*source).copied().flatten();
                let row = row.and_then(|row| scope.sources.get(*source)?.table.rows.get(row));
                context.world.copied(row.and_then(|row| row.get(*column)).unwrap_or(&Value::Null))
            }
        }
    }
}

pub(super) fn outputs<'q>(
    projection: &'q [SelectItem],
    context: Context<'_>,
    scope: &Scope<'_>,
) -> Result<Vec<Output<'q>>, Refused> {
    let mut outputs = Vec::new();
    let all = |wanted: Option<String>, outputs: &mut Vec<Output<'q>>| -> Result<(), Refused> {
        let sources = scope.sources.iter().enumerate();
        for (place, source) in sources.filter(|(_, source)| wanted.as_ref().is_none_or(|name| *name == source.alias)) {
            for (index, column) in source.table.columns.iter().enumerate() {
                context.world.widened(outputs.len(), &column.name)?;
                let from = From::Place { source: place, column: index };
                outputs.push(Output { column: column.clone(), from });
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
        outputs.push(Output { column: ResultColumn::new(name, kind), from: From::Expression(expression) });
    }
    Ok(outputs)
}

/// Whether an expression aggregates rows; what queries inside it do is their own.
fn aggregates(expression: &Expr) -> bool {
    struct Finder(usize);
    impl Visitor for Finder {
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
    Visit::visit(expression, &mut Finder(0)).is_break()
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

pub(super) fn sort_outputs(table: &mut Table, order: &[OrderByExpr], context: Context<'_>) -> Result<(), Refused> {
    context.world.spend(table.rows.len().saturating_mul(order.len()))?;
    let places: Vec<Option<usize>> = order.iter().map(|one| output_of(&one.expr, &table.columns)).collect();
    table.rows.sort_by(|left, right| {
        by_keys(places.iter().map(|place| (cell_at(left, *place), cell_at(right, *place))), order)
    });
    Ok(())
}

fn cell_at(row: &[Value], place: Option<usize>) -> &Value {
    place.and_then(|place| row.get(place)).unwrap_or(&Value::Null)
}

/// Which of two rows comes first, by the values that they are ordered by.
pub(super) fn by_keys<'v>(keys: impl Iterator<Item = (&'v Value, &'v Value)>, order: &[OrderByExpr]) -> Ordering {
    for ((left, right), one) in keys.zip(order) {
        let falls = one.options.asc == Some(false);
        let nulls_first = one.options.nulls_first.unwrap_or(falls);
        let ordering = match (left, right) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) => {
                if nulls_first {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (_, Value::Null) => {
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
pub(super) fn row_key(row: &[Value], world: &World<'_>) -> Result<String, Refused> {
    world.spend(row_weight(row) / 32)?;
    Ok(format!("{row:?}"))
}

pub(super) fn distinct(rows: Vec<Vec<Value>>, world: &World<'_>) -> Result<Vec<Vec<Value>>, Refused> {
    let (mut seen, mut kept) = (HashSet::new(), Vec::new());
    for row in rows {
        if seen.insert(row_key(&row, world)?) {
            kept.push(row);
        }
    }
    Ok(kept)
}

/// The cells as the types of their columns have them.
pub(super) fn fitted(cells: Vec<Value>, columns: &[ResultColumn]) -> Vec<Value> {
    let fit = |(cell, column): (Value, &ResultColumn)| match (column.kind, cell) {
        (_, Value::Null) => Value::Null,
        (PgType::Truth, Value::Truth(truth)) => Value::Truth(truth),
        (PgType::Truth, Value::Text(text)) if ["t", "true", "f", "false"].contains(&text.as_str()) => {
            Value::Truth(text.starts_with('t'))
        }
        (PgType::Truth, _) => Value::Null,
        (PgType::Small | PgType::Int | PgType::Whole | PgType::Oid, Value::Whole(number)) => Value::Whole(number),
        (PgType::Small | PgType::Int | PgType::Whole | PgType::Oid, Value::Text(text)) => {
            text.parse().map_or(Value::Null, Value::Whole)
        }
        (PgType::Small | PgType::Int | PgType::Whole | PgType::Oid, _) => Value::Null,
        (PgType::Number, Value::Whole(number)) => Value::Number(number as f64),
        (PgType::Number, Value::Number(number)) => Value::Number(number),
        (PgType::Number, _) => Value::Null,
        (PgType::Texts, Value::List(list)) => Value::List(list),
        (PgType::Texts, _) => Value::Null,
        (_, cell) => cell.shown().map_or(Value::Null, Value::Text),
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
