//! What the rows of a plan can be, by the declarations alone, carried from the tables to the aggregate.
//!
//! Every column of a plan is an expression over declared columns, and every filter and join is a condition on them.
//! Which keys can occur is then tried out ([`keys`]): the expressions that run are evaluated on what the declared
//! columns can hold.

pub(crate) mod keys;
mod public;

use super::describe::ValueFacts;
use crate::project::{Domain, Table};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema};
use datafusion::logical_expr::{Expr, Operator, binary_expr, not, or, when};
use public::PublicField;

/// The deepest expression that is put together from those of sub-queries: others are taken as unknown.
const DEEPEST: usize = 200;

/// What the rows of a plan can be.
#[derive(Debug, Clone, Default)]
pub(crate) struct PossibleRows {
    /// The declared columns of the tables, once for each time that a table is read.
    declared: Vec<DeclaredColumn>,
    /// What each output column is; none for owners, and where that is not known.
    columns: Vec<Option<DeclaredExpression>>,
    /// What is true of every row. There may be more.
    conditions: Vec<DeclaredExpression>,
}

/// An expression over declared columns.
#[derive(Debug, Clone)]
struct DeclaredExpression {
    expression: Expr,
    depth: usize,
}

/// A declared column.
#[derive(Debug, Clone)]
struct DeclaredColumn {
    name: String,
    kind: DataType,
    known: ValueFacts,
    /// What it holds, if that has an end.
    values: Option<ValueDomain>,
    /// Whether it can be NULL.
    missing: bool,
    /// Where it is one of a public table.
    public: Option<PublicField>,
}

/// Values that can be tried out one by one.
#[derive(Debug, Clone)]
enum ValueDomain {
    Truth,
    Whole(i64, i64),
    Texts(Vec<String>),
    /// Days since 1970-01-01.
    Days(i64, i64),
    /// Times between these, in nanoseconds: too many to be tried out, except by a unit that they are in.
    Clock(i64, i64),
    /// Times that are multiples of `step`, in nanoseconds.
    Starts {
        first: i64,
        last: i64,
        step: i64,
    },
}

impl ValueDomain {
    fn declared(domain: &Domain) -> Option<Self> {
        match domain {
            Domain::Bool => Some(Self::Truth),
            Domain::Int { bounds } => bounds.map(|(lower, upper)| Self::Whole(lower, upper)),
            Domain::Category { values } => values.clone().map(Self::Texts),
            Domain::Date { bounds } => bounds.map(|(lower, upper)| Self::Days(lower, upper)),
            Domain::Timestamp { bounds, .. } => bounds.map(|(lower, upper)| Self::Clock(lower, upper)),
            Domain::Float { .. } => None,
        }
    }
}

/// A column of an aggregate by owner.
pub(crate) enum AggregatedColumn {
    Owner,
    /// What it groups by.
    Key(Expr),
    /// What it computes of the rows.
    Made {
        kind: DataType,
        known: ValueFacts,
        never_null: bool,
    },
}

/// A join: on which equal columns, and on what else.
pub(crate) struct JoinCondition<'a> {
    pub pairs: &'a [(Expr, Expr)],
    pub others: &'a [Expr],
    /// How the pairs are compared.
    pub equal: Operator,
    /// Whether rows of the left side without a partner stay.
    pub outer: bool,
}

impl PossibleRows {
    /// The rows of a table, read for the `read`-th time: any value of each column's domain, and NULL unless
    /// none is missing.
    pub fn of_table(table: &Table, fields: &[FieldRef], known: &[ValueFacts], read: usize) -> Self {
        let mut possible = Self::default();
        for (field, known) in fields.iter().zip(known) {
            if known.is_owner {
                possible.columns.push(None);
                continue;
            }
            let name = format!("{read} {}", field.name());
            let values = table.column(field.name()).and_then(|column| ValueDomain::declared(&column.domain));
            let kind = field.data_type().clone();
            possible.columns.push(Some(DeclaredExpression::column(&name)));
            let missing = !known.present;
            let public = || PublicField { read, table: table.name.clone(), field: field.name().clone() };
            let public = table.public.then(public);
            possible.declared.push(DeclaredColumn { name, kind, known: known.clone(), values, missing, public });
        }
        possible
    }

    /// The rows with these expressions in the place of the columns of `schema`.
    pub fn projected(self, expressions: &[Expr], schema: &DFSchema) -> Self {
        let columns = expressions.iter().map(|expression| self.over(expression, schema)).collect();
        Self { columns, ..self }
    }

    /// The rows that fulfil these conditions.
    pub fn filtered<'a>(mut self, conditions: impl IntoIterator<Item = &'a Expr>, schema: &DFSchema) -> Self {
        let more: Vec<DeclaredExpression> =
            conditions.into_iter().filter_map(|condition| self.over(condition, schema)).collect();
        self.conditions.extend(more);
        self
    }

    /// One row for each owner and key of these rows; `read` is a number that no table has.
    ///
    /// The keys of such a row are those of some row that fulfils the conditions; everything else may be anything that
    /// is known to be possible for it.
    pub fn aggregated(self, columns: Vec<AggregatedColumn>, schema: &DFSchema, read: usize) -> Self {
        let mut declared = self.declared.clone();
        let made = columns.into_iter().enumerate().map(|(index, column)| match column {
            AggregatedColumn::Owner => None,
            AggregatedColumn::Key(expression) => self.over(&expression, schema),
            AggregatedColumn::Made { kind, known, never_null } => {
                let name = format!("{read} made {index}");
                let values =
                    known.listed().filter(|_| kind.is_integer()).map(|(low, high)| ValueDomain::Whole(low, high));
                let column = DeclaredExpression::column(&name);
                let missing = !never_null;
                declared.push(DeclaredColumn { name, kind, known, values, missing, public: None });
                Some(column)
            }
        });
        let columns = made.collect();
        Self { declared, columns, conditions: self.conditions }
    }

    /// The pairs of rows of two plans; `read` is a number that no table has.
    pub fn joined(sides: [(Self, &DFSchema); 2], on: &JoinCondition<'_>, schema: &DFSchema, read: usize) -> Self {
        let [(left, on_left), (right, on_right)] = sides;
        let pairs = on.pairs.iter().filter_map(|(one, other)| {
            let (one, other) = (left.over(one, on_left)?, right.over(other, on_right)?);
            Some(DeclaredExpression {
                depth: one.depth.max(other.depth) + 1,
                expression: binary_expr(one.expression, on.equal, other.expression),
            })
        });
        let pairs: Vec<DeclaredExpression> = pairs.collect();
        // The conditions of the join are on the columns as they are before a partner is found missing.
        let columns = left.columns.iter().chain(&right.columns).cloned().collect();
        let both = Self { declared: Vec::new(), columns, conditions: Vec::new() };
        let others: Vec<DeclaredExpression> =
            on.others.iter().filter_map(|condition| both.over(condition, schema)).collect();
        let (mut columns, mut conditions, mut declared) = (left.columns, left.conditions, left.declared);
        declared.extend(right.declared);
        let found = DeclaredExpression::column(&format!("{read} found"));
        let of_right = right.conditions.into_iter().chain(pairs).chain(others);
        if on.outer {
            let (known, values) = (ValueFacts::of_truth(), Some(ValueDomain::Truth));
            declared.push(DeclaredColumn {
                name: format!("{read} found"),
                kind: DataType::Boolean,
                known,
                values,
                missing: false,
                public: None,
            });
            columns
                .extend(right.columns.into_iter().map(|column| column.and_then(|column| column.where_found(&found))));
            conditions.extend(of_right.map(|condition| DeclaredExpression {
                depth: condition.depth + 2,
                expression: or(not(found.expression.clone()), condition.expression),
            }));
        } else {
            columns.extend(right.columns);
            conditions.extend(of_right);
        }
        Self { declared, columns, conditions }
    }

    /// The strings that a column of `schema` can hold, where it is a declared one that lists them.
    pub fn listed_texts(&self, column: &Column, schema: &DFSchema) -> Option<&[String]> {
        let made = self.columns.get(schema.maybe_index_of_column(column)?)?.as_ref()?;
        let Expr::Column(Column { name, .. }) = &made.expression else { return None };
        match self.declared.iter().find(|declared| declared.name == *name)?.values.as_ref()? {
            ValueDomain::Texts(texts) => Some(texts),
            _ => None,
        }
    }

    /// An expression over the columns of `schema` as one over declared columns.
    fn over(&self, expression: &Expr, schema: &DFSchema) -> Option<DeclaredExpression> {
        let made = |column: &Column| self.columns.get(schema.maybe_index_of_column(column)?)?.as_ref();
        let depth = depth(expression, &|column| made(column).map(|made| made.depth))?;
        if depth > DEEPEST {
            return None;
        }
        let replaced = expression.clone().transform_up(|node| {
            Ok(match node {
                Expr::Alias(alias) => Transformed::yes(*alias.expr),
                Expr::Column(column) => match made(&column) {
                    Some(made) => Transformed::yes(made.expression.clone()),
                    None => Transformed::no(Expr::Column(column)),
                },
                other => Transformed::no(other),
            })
        });
        Some(DeclaredExpression { expression: replaced.ok()?.data, depth })
    }
}

impl DeclaredExpression {
    fn column(name: &str) -> Self {
        Self { expression: Expr::Column(Column::new_unqualified(name)), depth: 1 }
    }

    /// The column in a left join: NULL where no partner was found.
    fn where_found(self, found: &Self) -> Option<Self> {
        let expression = when(found.expression.clone(), self.expression).end().ok()?;
        Some(Self { expression, depth: self.depth + 1 })
    }
}

/// How deep an expression is if its columns are this deep; none where one of them is not known.
fn depth(expression: &Expr, column: &dyn Fn(&Column) -> Option<usize>) -> Option<usize> {
    if let Expr::Column(name) = expression {
        return column(name);
    }
    let mut deepest = Some(0);
    let walked = expression.apply_children(|child| {
        deepest = deepest.zip(depth(child, column)).map(|(one, other)| one.max(other));
        Ok(if deepest.is_some() { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    });
    walked.ok()?;
    deepest.map(|deepest| deepest + 1)
}

#[cfg(test)]
mod tests;
