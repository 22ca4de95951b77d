//! Relational plans with what is known about them, and what is below a plan whose rows are one for each owner.

use super::describe::ValueFacts;
use super::possible::PossibleRows;
use super::query::GroupKey;
use crate::project::Bounding;
use crate::tables::bounding::Bounds;
use crate::tables::functions::Grid;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlan};
use std::collections::BTreeSet;

/// A relational plan and what is known about it.
#[derive(Clone)]
pub(crate) struct DescribedPlan {
    /// The plan, with the owner's column among its output where there is one.
    pub plan: LogicalPlan,
    /// What is known about each output column.
    pub columns: Vec<ValueFacts>,
    /// What its rows can be.
    pub possible: PossibleRows,
    /// The attributes that decide which rows there are: filters and joins.
    pub rows: BTreeSet<String>,
    /// Whose rows they are.
    pub owner: Ownership,
    /// The tables that are read.
    pub tables: BTreeSet<String>,
    /// How much of an owner counts.
    pub bounding: Bounding,
    /// What is below these rows, where they are one for each owner.
    pub first: Option<Box<InnerQuery>>,
}

/// Whose rows a plan gives.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ownership {
    /// No owners: public rows.
    Public,
    /// Each row is one person.
    EachRow,
    /// The person that this output column names.
    Named(Column),
}

/// The inner aggregate.
#[derive(Debug, Clone)]
pub(crate) struct PerOwner {
    /// How much of an owner counts before anything is aggregated.
    pub bounds: Bounds,
    /// What it groups by, besides the owner.
    pub keys: Vec<GroupKey>,
    /// What each row brings: whole numbers, and texts where different ones are counted; NULL for nothing.
    pub values: Vec<(Expr, DataType)>,
    /// Its columns, those of owners left out.
    pub columns: Vec<InnerColumn>,
    /// The conditions on inner rows, over the columns' names.
    pub conditions: Vec<Expr>,
}

/// A column of inner rows.
#[derive(Debug, Clone)]
pub(crate) struct InnerColumn {
    /// What expressions over inner rows call it.
    pub name: String,
    /// How it is made.
    pub how: InnerComputation,
    /// Its type.
    pub kind: DataType,
    /// What it is called in the query, for the record.
    pub(super) shown: String,
    /// Between which numbers its values are, where that is known.
    pub interval: Option<(f64, f64)>,
}

/// How a column of an inner row is made of the rows that stay. Numbers are places among the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum InnerComputation {
    /// The key of this number.
    Key(usize),
    Rows,
    Present(usize),
    Different(usize),
    Sum(usize, Grid),
    Mean(usize, Grid),
    Least(usize, Grid),
    Largest(usize, Grid),
}

/// What is below an outer aggregate, with what was below the inner one.
#[derive(Clone)]
pub(crate) struct InnerQuery {
    pub below: DescribedPlan,
    pub per_owner: PerOwner,
    /// The columns of the inner aggregate that are keys, by index, in the order of the keys.
    pub(super) key_columns: Vec<usize>,
}

impl PerOwner {
    /// What it makes, for the record.
    pub fn described(&self) -> Vec<(String, Option<(f64, f64)>)> {
        self.columns.iter().map(|column| (column.shown.clone(), column.interval)).collect()
    }
}
