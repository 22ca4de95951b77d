//! What running a query reads, made once from what was analysed: whose rows they are, the columns of each, what is
//! summed up of these, and the keys of cells.
//!
//! Code that reads rows, bounds owners, sums up or looks at integers reads this and nothing else of a query, so that
//! all of it sees the same columns in the same order with the same types.

use super::QueryParts;
use super::described::{Ownership, PerOwner};
use super::query::{GroupKey, Measure, PublicKeys, RankedColumn, Summand};
use crate::error::{Error, Result};
use crate::tables::bounding::Bounds;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, DataFusionError};
use datafusion::logical_expr::{Expr, LogicalPlan, cast, lit, when};

/// How the integers of one grouping are made of rows.
#[derive(Clone)]
pub(crate) struct Execution {
    plan: LogicalPlan,
    owners: RowOwners,
    columns: RowColumns,
    first: Option<InnerRows>,
    keys: Vec<CellKey>,
    sums: Vec<CellSum>,
    ranked: Vec<CellRank>,
    public: Option<PublicKeys>,
    times: String,
}

/// Whose rows are read.
#[derive(Clone)]
pub(crate) enum RowOwners {
    /// Each row is one person.
    EachRow,
    /// Owners that a column names.
    Named(OwnedRows),
}

/// Rows of owners.
#[derive(Clone)]
pub(crate) struct OwnedRows {
    /// The column that names them, and its name when it is read.
    pub column: Column,
    pub name: String,
    /// How much of an owner counts in the query.
    pub bounds: Bounds,
}

/// The columns of rows: their keys, then their values.
#[derive(Clone)]
pub(crate) struct RowColumns {
    pub keys: Vec<RowColumn>,
    pub values: Vec<RowColumn>,
}

/// A column of rows, with a name of ours and the type that it must have.
#[derive(Clone)]
pub(crate) struct RowColumn {
    pub name: String,
    pub expression: Expr,
    pub kind: DataType,
}

/// One row for each owner first: how that is made, and what is read of the rows below it.
#[derive(Clone)]
pub(crate) struct InnerRows {
    pub per_owner: PerOwner,
    read: RowColumns,
}

/// A part of the keys of cells.
#[derive(Clone)]
pub(crate) struct CellKey {
    /// As a reader would write it.
    pub name: String,
    pub kind: DataType,
}

/// What is summed up in each cell.
#[derive(Clone)]
pub(crate) struct CellSum {
    pub what: Summand,
    /// The least and the largest contribution of a row.
    pub range: (i64, i64),
    /// Which of a row's values is summed up; none for rows and owners.
    pub value: Option<usize>,
    /// The name of the sum, where the backend makes it.
    pub name: String,
}

/// What is ranked in each cell.
#[derive(Clone)]
pub(crate) struct CellRank {
    pub ranked: RankedColumn,
    /// Which of a row's values is ranked.
    pub value: usize,
}

impl Execution {
    /// Of a query of one grouping.
    pub fn of(parts: &QueryParts) -> Result<Self> {
        let failed = |_: DataFusionError| Error::machine("a query whose values cannot be computed");
        let (query, hidden) = (&parts.query, &parts.hidden);
        let owners = match (&parts.below.owner, query.bounds) {
            (Ownership::Named(column), Some(bounds)) => {
                RowOwners::Named(OwnedRows { column: column.clone(), name: hidden.name("owner"), bounds })
            }
            (Ownership::EachRow, None) => RowOwners::EachRow,
            _ => return Err(Error::machine("a query of rows of owners without bounds")),
        };
        let key = |(index, key): (usize, &GroupKey)| RowColumn {
            name: hidden.name(&format!("key {index}")),
            expression: key.expression.clone(),
            kind: key.kind.clone(),
        };
        let mut columns = RowColumns { keys: query.keys.iter().enumerate().map(key).collect(), values: Vec::new() };
        let mut sums = Vec::new();
        for (index, measure) in query.measures.iter().enumerate() {
            let value = value(measure).map_err(failed)?.map(|expression| {
                let kind = if measure.what == Summand::Different { DataType::Utf8 } else { DataType::Int64 };
                columns.value(hidden.name(&format!("value {index}")), expression, kind)
            });
            let name = hidden.name(&format!("measure {index}"));
            sums.push(CellSum { what: measure.what, range: measure.range, value, name });
        }
        let mut ranked = Vec::new();
        for (index, one) in query.ranked.iter().enumerate() {
            let name = hidden.name(&format!("ranked {index}"));
            let value = columns.value(name, one.column(), DataType::Int64);
            ranked.push(CellRank { ranked: one.clone(), value });
        }
        let first = parts.per_owner.clone().map(|per_owner| {
            let keys = per_owner.keys.iter().enumerate().map(key).collect();
            let mut read = RowColumns { keys, values: Vec::new() };
            for (index, (value, kind)) in per_owner.values.iter().enumerate() {
                read.value(hidden.name(&format!("value {index}")), value.clone(), kind.clone());
            }
            InnerRows { per_owner, read }
        });
        if matches!(owners, RowOwners::EachRow) && columns.keys.is_empty() && columns.values.is_empty() {
            // Few backends know rows without columns.
            columns.value(hidden.name("row"), lit(1i64), DataType::Int64);
        }
        let cell_key = |key: &GroupKey| CellKey { name: key.name.clone(), kind: key.kind.clone() };
        Ok(Self {
            plan: parts.below.plan.clone(),
            owners,
            columns,
            first,
            keys: query.keys.iter().map(cell_key).collect(),
            sums,
            ranked,
            public: query.public.clone(),
            times: hidden.name("times"),
        })
    }

    /// What is below the aggregate.
    pub fn plan(&self) -> &LogicalPlan {
        &self.plan
    }

    /// Whose rows are read.
    pub fn owners(&self) -> &RowOwners {
        &self.owners
    }

    /// What is read of each row, besides its owner.
    pub fn read(&self) -> &RowColumns {
        self.first.as_ref().map_or(&self.columns, |first| &first.read)
    }

    /// The keys of cells, and the values that are summed up and ranked: those of rows, or of the one row that is made
    /// of each owner's first.
    pub fn columns(&self) -> &RowColumns {
        &self.columns
    }

    /// How one row is made for each owner first, where that is so.
    pub fn first(&self) -> Option<&PerOwner> {
        self.first.as_ref().map(|first| &first.per_owner)
    }

    /// The parts of the keys of cells.
    pub fn keys(&self) -> &[CellKey] {
        &self.keys
    }

    /// What is summed up in each cell.
    pub fn sums(&self) -> &[CellSum] {
        &self.sums
    }

    /// What is ranked in each cell.
    pub fn ranked(&self) -> &[CellRank] {
        &self.ranked
    }

    /// All keys that can occur, if that is public.
    pub fn public(&self) -> Option<&PublicKeys> {
        self.public.as_ref()
    }

    /// The name of how often a value occurs.
    pub fn times(&self) -> &str {
        &self.times
    }
}

impl RowColumns {
    /// Appends a value; returns its index.
    fn value(&mut self, name: String, expression: Expr, kind: DataType) -> usize {
        self.values.push(RowColumn { name, expression, kind });
        self.values.len() - 1
    }
}

/// What a row brings to a measure, NULL for nothing: whole numbers, and strings where different ones are counted.
pub(crate) fn value(measure: &Measure) -> std::result::Result<Option<Expr>, DataFusionError> {
    let Some(expression) = measure.column() else { return Ok(None) };
    Ok(Some(match measure.what {
        Summand::Present => when(expression.is_not_null(), lit(1i64)).end()?,
        Summand::Different => cast(expression, DataType::Utf8),
        _ => expression,
    }))
}
