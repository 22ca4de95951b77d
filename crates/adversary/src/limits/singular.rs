//! Reconstruction: counts that are all accurate give the secret column away, so that private counts cannot all be
//! accurate.
//!
//! Let s people each be present or not (or have a secret bit), and let Q be the k × s matrix of who is counted by which
//! query. If all answers are within E with probability at least 1 − β, then some x is within E of all answers, and
//! differs from the truth in at most 4kE²/σ_min(Q)² places; but (ε, δ)-privacy lets a part (1 − δ)/(1 + e^ε) of a
//! uniform column be guessed wrong whatever is done. So E ≥ (σ_min/2)·√(s·c/k), c = max(0,
//! ((1 − δ)/(1 + e^ε) − β)/(1 − β)). It holds for the people of any set of columns. (After Vadhan 2017, 7.5.2;
//! z ∈ {0, ±1} has ‖z‖₂² = ‖z‖₁, which its Proposition 7.5.11 does not use.)

use super::gram::Gram;
use scumble::error::Result;
use scumble::quantity::{Delta, Epsilon, Probability};

/// The largest number of columns whose least singular value is computed.
pub const MOST_COLUMNS: usize = 3000;

/// A query matrix: who is counted, with entries −1, 0 or 1 (−1 where a filler's column was subtracted).
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    columns: usize,
    rows: Vec<Vec<i8>>,
}

impl Matrix {
    /// Rows of equal length.
    ///
    /// ```
    /// use scumble_adversary::limits::singular::Matrix;
    /// assert!(Matrix::new(vec![vec![1, 0], vec![1, 1]]).is_ok());
    /// assert!(Matrix::new(vec![vec![1, 0], vec![1]]).is_err());
    /// assert!(Matrix::new(vec![vec![2]]).is_err());
    /// ```
    pub fn new(rows: Vec<Vec<i8>>) -> Result<Self> {
        let columns = rows.first().map_or(0, Vec::len);
        if columns == 0 || columns > MOST_COLUMNS {
            refuse!("a query matrix has 1 to {MOST_COLUMNS} columns, not {columns}");
        }
        for (at, row) in rows.iter().enumerate() {
            if row.len() != columns {
                let found = row.len();
                refuse!("row {at} of the query matrix has {found} columns, the first has {columns}");
            }
            if row.iter().any(|entry| !(-1..=1).contains(entry)) {
                refuse!("row {at} of the query matrix has an entry other than -1, 0 and 1");
            }
        }
        Ok(Self { columns, rows })
    }

    /// The queries (1 + H)/2 for Sylvester's Hadamard matrix H of this order, a power of two.
    ///
    /// ```
    /// assert_eq!(scumble_adversary::limits::singular::Matrix::hadamard(2)?.rows(), [[1, 1], [1, 0]]);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn hadamard(order: usize) -> Result<Self> {
        refuse_if!(!order.is_power_of_two(), "Sylvester's matrices have a power of two as their order, not {order}");
        let entry = |i: usize, j: usize| i8::from((i & j).count_ones().is_multiple_of(2));
        Self::new((0..order.min(MOST_COLUMNS + 1)).map(|i| (0..order).map(|j| entry(i, j)).collect()).collect())
    }

    /// The rows.
    pub fn rows(&self) -> &[Vec<i8>] {
        &self.rows
    }

    /// How many people there are.
    pub fn columns(&self) -> usize {
        self.columns
    }

    fn gram(&self) -> Gram {
        let transposed: Vec<Vec<i8>> =
            (0..self.columns).map(|j| self.rows.iter().map(|row| row[j]).collect()).collect();
        let product = |i: usize, j: usize| {
            transposed[i].iter().zip(&transposed[j]).map(|(a, b)| i64::from(a * b)).sum::<i64>() as f64
        };
        Gram::new(self.columns, product)
    }
}

/// The lower bound of the error for one set of columns.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReconstructionLimit {
    /// Which columns.
    pub columns: Vec<usize>,
    /// A lower bound of their least singular value.
    pub least_singular_value: f64,
    /// Some answer is off by at least this with probability above β.
    pub count_error_at_least: f64,
}

/// c: the part of the column that any reconstruction gets wrong, given that the answers are accurate; rounded down.
///
/// ```
/// use scumble_adversary::limits::singular::wrong_fraction_lower;
/// assert!((wrong_fraction_lower(1.0.try_into()?, 1e-6.try_into()?, 0.05.try_into()?)? - 0.230464).abs() < 1e-6);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn wrong_fraction_lower(epsilon: Epsilon, delta: Delta, beta: Probability) -> Result<f64> {
    let beta = beta.get();
    refuse_if!(!(0.0..1.0).contains(&beta), "beta must be a number in [0, 1), not {beta}");
    let guessed_wrong = (1.0 - delta.get()) / (1.0 + libm::exp(epsilon.get()));
    Ok(((guessed_wrong - beta) / (1.0 - beta) * (1.0 - 4e-15)).max(0.0))
}

/// The limit for all columns.
///
/// ```
/// use scumble_adversary::limits::singular::{Matrix, whole};
/// let found = whole(&Matrix::hadamard(16)?, 1.0.try_into()?, 1e-6.try_into()?, 0.05.try_into()?)?;
/// assert!((found.count_error_at_least - 0.215785).abs() < 1e-6);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn whole(queries: &Matrix, epsilon: Epsilon, delta: Delta, beta: Probability) -> Result<ReconstructionLimit> {
    let wrong = wrong_fraction_lower(epsilon, delta, beta)?;
    Ok(floor(&queries.gram(), (0..queries.columns).collect(), queries.rows.len(), wrong))
}

fn floor(gram: &Gram, columns: Vec<usize>, queries: usize, wrong: f64) -> ReconstructionLimit {
    let least = libm::sqrt(gram.least_eigenvalue_lower()) * (1.0 - 4e-16);
    let error = least / 2.0 * libm::sqrt(columns.len() as f64 * wrong / queries as f64) * (1.0 - 1e-15);
    ReconstructionLimit { columns, least_singular_value: least, count_error_at_least: error }
}

/// The best limit over the sets of columns that are tried: all, and those that remain when the columns that weigh most
/// in the weakest direction are taken out, again and again.
///
/// ```
/// use scumble_adversary::limits::singular::{Matrix, best};
/// // Without the column that every query counts, the others are nearly orthogonal.
/// let found = best(&Matrix::hadamard(16)?, 1.0.try_into()?, 1e-6.try_into()?, 0.05.try_into()?)?;
/// assert!(found.columns.len() == 15 && found.count_error_at_least > 0.46);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn best(queries: &Matrix, epsilon: Epsilon, delta: Delta, beta: Probability) -> Result<ReconstructionLimit> {
    let wrong = wrong_fraction_lower(epsilon, delta, beta)?;
    let all = queries.gram();
    let mut columns: Vec<usize> = (0..queries.columns).collect();
    let mut gram = all.clone();
    let (mut best, mut most) = (columns.clone(), 0.0);
    // Large matrices lose more columns at a time, so that the work stays that of a few factors.
    let most_rounds = if queries.columns <= 200 { 200 } else { 12 };
    for _ in 0..most_rounds {
        let (direction, near) = gram.weakest_direction(60);
        let value = near * columns.len() as f64;
        if value > most * (1.0 + 1e-9) {
            (best, most) = (columns.clone(), value);
        }
        let gone = (columns.len() / most_rounds).max(1);
        if columns.len() <= gone {
            break;
        }
        let mut order: Vec<usize> = (0..columns.len()).collect();
        order.sort_by(|a, b| direction[*b].abs().total_cmp(&direction[*a].abs()).then(a.cmp(b)));
        let dropped = &order[..gone];
        columns =
            columns.iter().enumerate().filter(|(at, _)| !dropped.contains(at)).map(|(_, column)| *column).collect();
        gram = all.of_columns(&columns);
    }
    let gram = all.of_columns(&best);
    Ok(floor(&gram, best, queries.rows.len(), wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An own count for each of s people: σ_min = 1, and any answer of error below ½ would give everything away.
    #[test]
    fn own_counts_and_repeated_columns() {
        let identity = Matrix::new((0..5).map(|i| (0..5).map(|j| i8::from(i == j)).collect()).collect()).unwrap();
        let at = |matrix: &Matrix, epsilon: f64| {
            whole(matrix, epsilon.try_into().unwrap(), 0.0.try_into().unwrap(), 0.0.try_into().unwrap()).unwrap()
        };
        let found = at(&identity, 1.0);
        let wrong = 1.0 / (1.0 + f64::exp(1.0));
        assert!((found.count_error_at_least - 0.5 * wrong.sqrt()).abs() < 1e-12, "{found:?}");
        // Two people whom no query tells apart: nothing follows for both, something for one.
        let twins = Matrix::new(vec![vec![1, 1], vec![0, 0]]).unwrap();
        assert_eq!(at(&twins, 1.0).count_error_at_least, 0.0);
        let one = best(&twins, 1.0.try_into().unwrap(), 0.0.try_into().unwrap(), 0.0.try_into().unwrap()).unwrap();
        assert!(one.columns.len() == 1 && one.count_error_at_least > 0.1, "{one:?}");
        // No privacy, no limit; and β eats it.
        assert!(at(&identity, 50.0).count_error_at_least < 1e-10);
        assert_eq!(
            wrong_fraction_lower(1.0.try_into().unwrap(), 0.0.try_into().unwrap(), 0.3.try_into().unwrap()).unwrap(),
            0.0
        );
        assert!(
            wrong_fraction_lower(1.0.try_into().unwrap(), 0.0.try_into().unwrap(), 1.0.try_into().unwrap()).is_err()
        );
    }

    /// The limit on all 2^4 subsets of four people, against noise that is private: discrete Laplace on the histogram of
    /// people is exact enough to compare.
    #[test]
    fn no_limit_is_above_what_randomized_response_reaches() {
        // Each person's bit by randomized response; every subset count is the sum of unbiased estimates, off by at most
        // s/(2·tanh(ε/2)) + s/2.
        let subsets =
            Matrix::new((0..16).map(|mask| (0..4).map(|j| (mask >> j & 1) as i8).collect()).collect()).unwrap();
        for epsilon in [0.1, 1.0, 4.0] {
            let floor =
                best(&subsets, epsilon.try_into().unwrap(), 0.0.try_into().unwrap(), 0.0.try_into().unwrap()).unwrap();
            let reached = 4.0 / (2.0 * (epsilon / 2.0).tanh()) + 2.0;
            assert!(floor.count_error_at_least < reached && floor.count_error_at_least > 0.0);
        }
    }
}
