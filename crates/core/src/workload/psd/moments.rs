//! Noisy parities of up to t columns, brought to what a table of people can nearly have.
//!
//! Products of up to t/2 columns of ±1 are themselves variables of ±1, and the mean of v_A·v_B is that of v_{A△B}: so
//! the means of all parities of up to t columns fill a matrix with ones on the diagonal and no negative eigenvalue, as
//! the pairs of columns do for t = 2 (§7.7.7 of \[Vad17\]). The noisy matrix is projected on such matrices; a parity
//! that stands in several places of it is their mean, since all tables have the same number there.

use super::super::parities::{binomial, rank, sets};
use super::MOST_COLUMNS;
use super::nearest::nearest_correlation;
use crate::error::Result;

/// Parities after the projection.
#[derive(Debug, Clone, PartialEq)]
pub struct ParityMoments {
    /// By the size of their sets, in the order of [`rank`]; the first is the number of people.
    parities: Vec<Vec<f64>>,
    size: usize,
    gap: f64,
}

impl ParityMoments {
    /// From the noisy sums of 0, 1, …, t columns, those of each size in the order of [`rank`]. Where t is odd, those of
    /// t columns stay as they are.
    ///
    /// # Guarantee
    /// Post-processing. The matrix of all means is no further from the truth than the noisy one, in the sum of squares,
    /// up to the certified [`ParityMoments::distance`]: both the matrices without negative eigenvalues and those in
    /// which equal parities are equal are convex and have the truth in them.
    pub fn projected(columns: usize, numbers: &[Vec<i64>]) -> Result<Self> {
        let half = numbers.len().saturating_sub(1) / 2;
        let products = (1..=half).map(|size| binomial(columns, size)).fold(0, u64::saturating_add);
        if half == 0 || products > MOST_COLUMNS as u64 {
            refuse!(
                "parities of two columns or more are projected, with at most {MOST_COLUMNS} products of half as many columns, not {products}"
            );
        }
        let variables: Vec<Vec<usize>> = (0..=half).flat_map(|size| sets(columns, size)).collect();
        let size = variables.len();
        let people = numbers[0][0].max(1) as f64;
        let places = |row: usize| (0..row).map(move |column| (row, column));
        let all = || (1..size).flat_map(places);
        let at = |(row, column): (usize, usize)| {
            let set = difference(&variables[row], &variables[column]);
            (set.len(), rank(&set))
        };
        let mut matrix = vec![1.0; size * size];
        for (row, column) in all() {
            let (length, place) = at((row, column));
            let mean = numbers[length][place] as f64 / people;
            (matrix[row * size + column], matrix[column * size + row]) = (mean, mean);
        }
        let nearest = nearest_correlation(size, &matrix)?;
        let mut sums: Vec<Vec<(f64, f64)>> = numbers.iter().map(|of_size| vec![(0.0, 0.0); of_size.len()]).collect();
        for (row, column) in all() {
            let (length, place) = at((row, column));
            let (sum, times) = &mut sums[length][place];
            (*sum, *times) = (*sum + people * nearest.at(row, column), *times + 1.0);
        }
        let mean =
            |((sum, times), number): (&(f64, f64), &i64)| if *times > 0.0 { sum / times } else { *number as f64 };
        let parities = sums.iter().zip(numbers).map(|(sums, numbers)| sums.iter().zip(numbers).map(mean).collect());
        Ok(Self { parities: parities.collect(), size, gap: nearest.gap })
    }

    /// The sum of the product of these columns, given ascending.
    ///
    /// # Panics
    /// If there are more columns than were multiplied.
    pub fn parity(&self, set: &[usize]) -> f64 {
        self.parities[set.len()][rank(set)]
    }

    /// The matrix is at most so far from that of the exact projection: the root of the mean square over all entries.
    pub fn distance(&self) -> f64 {
        (2.0 * self.gap).sqrt() / self.size as f64
    }
}

/// What is in one of two ascending sets and not in the other, ascending.
fn difference(one: &[usize], other: &[usize]) -> Vec<usize> {
    let mut only: Vec<usize> = one.iter().filter(|column| !other.contains(column)).copied().collect();
    only.extend(other.iter().filter(|column| !one.contains(column)));
    only.sort_unstable();
    only
}
