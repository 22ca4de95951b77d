//! People by their values, column by column.

use crate::error::{Error, Result};

/// One record of codes per person, kept by column: no cell of the product of all columns is ever counted.
///
/// ```
/// use scumble::workload::wide::Records;
/// let records = Records::new(vec![3, 2], vec![vec![0u32, 2, 2], vec![1, 0, 0]])?;
/// assert_eq!(records.count(&[0, 1]), [0, 1, 0, 0, 2, 0]);
/// assert!(Records::new(vec![3, 2], vec![vec![3u32], vec![0]]).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Records {
    sizes: Vec<u32>,
    columns: Vec<Vec<u32>>,
}

/// More columns are a mistake rather than a table.
const MOST_COLUMNS: usize = 4096;

/// Whether there can be a table with columns of these sizes.
pub(super) fn check_sizes(sizes: &[u32]) -> Result<()> {
    if sizes.is_empty() || sizes.len() > MOST_COLUMNS {
        refuse!("a table has 1 to {MOST_COLUMNS} columns, not {}", sizes.len());
    }
    match sizes.iter().position(|&size| size == 0) {
        Some(empty) => Err(Error::refused(format!("column {empty} of the table has no values"))),
        None => Ok(()),
    }
}

impl Records {
    /// `columns[j][i]` is person i's value of column j, below `sizes[j]`.
    pub fn new(sizes: Vec<u32>, columns: Vec<Vec<u32>>) -> Result<Self> {
        check_sizes(&sizes)?;
        refuse_if!(columns.len() != sizes.len(), "there are {} columns for {} sizes", columns.len(), sizes.len());
        for (number, (column, &size)) in columns.iter().zip(&sizes).enumerate() {
            refuse_if!(column.len() != columns[0].len(), "column {number} does not have as many rows as column 0");
            if let Some(row) = column.iter().position(|&value| value >= size) {
                refuse!(
                    "row {row} of column {number} is {}, which is not below {size}, its number of values",
                    column[row]
                );
            }
        }
        Ok(Self { sizes, columns })
    }

    /// How many values each column has.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// The codes, column by column.
    pub fn columns(&self) -> &[Vec<u32>] {
        &self.columns
    }

    /// How many people there are.
    pub fn people(&self) -> usize {
        self.columns[0].len()
    }

    /// How many people each combination of values of these columns has, the last column fastest.
    pub fn count(&self, set: &[usize]) -> Vec<i64> {
        let cells: usize = set.iter().map(|&column| self.sizes[column] as usize).product();
        let mut table = vec![0i64; cells];
        match set {
            [] => table[0] = self.people() as i64,
            [one] => self.columns[*one].iter().for_each(|&value| table[value as usize] += 1),
            [one, two] => {
                let size = self.sizes[*two];
                let pairs = self.columns[*one].iter().zip(&self.columns[*two]);
                pairs.for_each(|(&left, &right)| table[(left * size + right) as usize] += 1);
            }
            _ => (0..self.people()).for_each(|row| {
                let place = |place: usize, &column: &usize| {
                    place * self.sizes[column] as usize + self.columns[column][row] as usize
                };
                table[set.iter().fold(0, place)] += 1;
            }),
        }
        table
    }
}
