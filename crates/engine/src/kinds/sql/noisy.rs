//! The cells of a query after the noise: what everything above them is computed from.

use crate::error::{Error, Result};
use crate::sql::PrivateQuery;
use datafusion::arrow::array::{ArrayRef, new_empty_array};
use datafusion::common::ScalarValue;

/// The released numbers of one cell, as they are or moved.
#[derive(Clone)]
pub(crate) struct CellNumbers {
    pub sums: Vec<f64>,
    pub quantiles: Vec<f64>,
}

/// The released cells.
#[derive(Debug, Clone)]
pub(crate) struct NoisyIntegers {
    pub keys: Vec<Vec<ScalarValue>>,
    pub cells: Vec<NoisyCell>,
}

#[derive(Debug, Clone)]
pub(crate) struct NoisyCell {
    /// The measures, with noise.
    pub sums: Vec<i128>,
    /// The quantiles, in the unit of their columns.
    pub quantiles: Vec<f64>,
}

impl NoisyCell {
    /// As fractions.
    pub fn numbers(&self) -> CellNumbers {
        CellNumbers { sums: self.sums.iter().map(|number| *number as f64).collect(), quantiles: self.quantiles.clone() }
    }
}

pub(crate) fn key_columns(cut: &PrivateQuery, keys: &[Vec<ScalarValue>]) -> Result<Vec<ArrayRef>> {
    let column = |index: usize| match keys.is_empty() {
        true => Ok(new_empty_array(&cut.query.keys[index].kind)),
        false => ScalarValue::iter_to_array(keys.iter().map(|key| key[index].clone()))
            .map_err(|_| Error::machine("the keys of a release do not fit together")),
    };
    (0..cut.query.keys.len()).map(column).collect()
}
