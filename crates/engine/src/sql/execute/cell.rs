//! Exact integers by key: one cell for each group that a query has.

use crate::error::{Error, Result};
use crate::sql::analyse::execution::{CellKey, Execution};
use datafusion::common::ScalarValue;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

/// What is in one cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ExactCell {
    /// The measures.
    pub sums: Vec<i128>,
    /// Of each ranked column, how often each key of its mechanism occurs.
    pub ranked: Vec<BTreeMap<u128, u64>>,
}

/// The cells that occur.
pub(crate) type ExactCells = HashMap<Vec<ScalarValue>, ExactCell>;

/// A mistake of ours or of the backend.
pub(crate) fn violated(what: &str) -> Error {
    Error::machine(format!("the backend's answer is not as planned ({what}), so nothing is published"))
}

/// The key of a row; none where a part of it is NULL. A value of another type than the key's is never made to fit: two
/// groups could become one.
pub(crate) fn key_of(execution: &Execution, values: Vec<ScalarValue>) -> Result<Option<Vec<ScalarValue>>> {
    let fits = |(value, key): (&ScalarValue, &CellKey)| value.data_type() == key.kind;
    if values.len() != execution.keys().len() || !values.iter().zip(execution.keys()).all(fits) {
        return Err(violated("a key of another type"));
    }
    Ok(if values.iter().any(ScalarValue::is_null) { None } else { Some(values) })
}

/// Puts a cell in its place, which must be free.
pub(crate) fn placed(cells: &mut ExactCells, key: Vec<ScalarValue>, cell: ExactCell) -> Result<()> {
    match cells.entry(key) {
        Entry::Vacant(place) => {
            place.insert(cell);
            Ok(())
        }
        Entry::Occupied(_) => Err(violated("a key twice")),
    }
}
