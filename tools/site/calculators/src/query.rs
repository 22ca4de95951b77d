//! What the engine's file on sensitivities reads of a query, without DataFusion's expressions: counts and sums over
//! listed keys. There are no quantiles here.

use crate::error::Result;
use std::collections::BTreeSet;

/// What a query asks for.
#[derive(Debug, Clone)]
pub struct Query {
    /// How many combinations of keys there are: all of them are public.
    pub listed: u64,
    /// The integer sums that are needed, each once.
    pub measures: Vec<Measure>,
    /// No column is ranked.
    pub ranked: Vec<RankedColumn>,
    /// How much of an owner counts; none where each row is one person.
    pub bounds: Option<Bounds>,
    /// The attributes that decide which rows there are.
    pub rows: BTreeSet<String>,
    /// The attributes of the keys.
    pub key_attributes: BTreeSet<String>,
}

impl Query {
    /// How many cells there are.
    pub fn cells(&self) -> Option<u64> {
        Some(self.listed)
    }
}

/// How much of an owner counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// In so many groups.
    pub groups: u64,
    /// So many rows in each.
    pub rows_per_group: u64,
    /// So many rows in all.
    pub rows: u64,
}

/// A sum over kept rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Measure {
    /// What is summed.
    pub what: Summand,
    /// The attributes that the summed values depend on.
    pub attributes: BTreeSet<String>,
    /// The least and the largest contribution of a row, in steps.
    pub range: (i64, i64),
}

/// What is summed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Summand {
    /// 1 for each owner.
    Owners,
    /// 1 for each row.
    Rows,
    /// 1 for each row with a value.
    Present,
    /// The value in whole steps of this size.
    Steps(f64),
}

/// A ranked column, which no query of this page has.
#[derive(Debug, Clone)]
pub struct RankedColumn {
    /// Its attributes.
    pub attributes: BTreeSet<String>,
}

/// A quantile, which no query of this page has.
#[derive(Debug, Clone)]
pub struct ColumnQuantile {
    /// The ranked column, by index.
    pub ranked: usize,
    /// Which value.
    pub rank: Rank,
}

/// There is none.
#[derive(Debug, Clone, Copy)]
pub enum Rank {}

impl Rank {
    /// How much further ranks move when a value is replaced.
    pub fn replaced(self) -> Result<f64> {
        match self {}
    }
}
