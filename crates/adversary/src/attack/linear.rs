//! Reconstruction by a linear programme: the column in [0, 1]ⁿ of least total error, rounded at ½ (Dwork, McSherry,
//! Talwar 2007). It withstands answers that are garbage, as long as most are not; it has no certificate
//! ([`min_max`](super::min_max) has one, and does not withstand them).

use super::programme::{Objective, solve};
use super::{Queries, rounded};
use scumble::error::Result;

pub use super::programme::MOST_PEOPLE;

/// The solution, and how near it is.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LinearSolution {
    /// Between 0 and 1 for each person.
    pub estimate: Vec<f64>,
    /// Rounded at ½.
    pub column: Vec<bool>,
    /// Σ|⟨q, x⟩ − y| at the estimate.
    pub total_error: f64,
    /// No column in [0, 1]ⁿ has a total error below this.
    pub total_error_at_least: f64,
}

/// Solves until the total error is within a thousandth of a count per query of the least.
///
/// ```
/// use scumble_adversary::attack::{Queries, linear::reconstruct};
/// let queries = Queries::new(2, vec![vec![0], vec![1], vec![0, 1], vec![0], vec![1]])?;
/// // One answer is garbage.
/// assert_eq!(reconstruct(&queries, &[1.0, 0.0, 1.0, 1.0, 77.0])?.column, [true, false]);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn reconstruct(queries: &Queries, answers: &[f64]) -> Result<LinearSolution> {
    let found = solve(queries, answers, Objective::Total)?;
    Ok(LinearSolution {
        column: rounded(&found.estimate),
        estimate: found.estimate,
        total_error: found.error,
        total_error_at_least: found.error_at_least,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::{least_squares, recovered};
    use scumble::noise::{BitSource, InsecureSeededSource};

    /// Random queries over 100 people, noise of standard deviation about 1, a fifth of the answers garbage: the linear
    /// programme still gets everybody, least squares does not.
    #[test]
    fn garbage_is_withstood() {
        let mut bits = InsecureSeededSource::new(11);
        let (people, count) = (100u32, 400);
        let random: Vec<Vec<u32>> =
            (0..count).map(|_| (0..people).filter(|_| bits.next_bits(1) == 1).collect()).collect();
        let queries = Queries::new(people as usize, random).unwrap();
        let truth: Vec<bool> = (0..people).map(|_| bits.next_bits(1) == 1).collect();
        let column: Vec<f64> = truth.iter().map(|bit| f64::from(u8::from(*bit))).collect();
        let mut answers = queries.answers(&column);
        for (at, answer) in answers.iter_mut().enumerate() {
            // The sum of twelve uniform numbers, as normal as is needed here.
            *answer += (0..12).map(|_| bits.next_bits(16) as f64 / 65_536.0).sum::<f64>() - 6.0;
            if at % 5 == 0 {
                *answer = bits.next_bits(7) as f64;
            }
        }
        let found = reconstruct(&queries, &answers).unwrap();
        assert!(
            found.total_error - found.total_error_at_least <= 1e-3 * f64::from(count),
            "{} {}",
            found.total_error,
            found.total_error_at_least
        );
        let by_programme = recovered(&found.column, &truth).unwrap().right;
        let by_squares =
            recovered(&least_squares::reconstruct(&queries, &answers).unwrap().column, &truth).unwrap().right;
        assert!(by_programme >= 98 && by_squares < 85, "{by_programme} {by_squares}");
    }
    /// A bound above the value was printed: 400 products added up in another order.
    #[test]
    fn no_bound_is_above_the_value() {
        let mut bits = InsecureSeededSource::new(5);
        for _ in 0..200 {
            let people = 1 + bits.next_bits(3) as u32;
            let random = |bits: &mut InsecureSeededSource| (0..people).filter(|_| bits.next_bits(1) == 1).collect();
            let queries: Vec<Vec<u32>> = (0..=bits.next_bits(4)).map(|_| random(&mut bits)).collect();
            let answers: Vec<f64> = queries.iter().map(|_| bits.next_bits(6) as f64 / 7.0 - 1.0).collect();
            let found = reconstruct(&Queries::new(people as usize, queries).unwrap(), &answers).unwrap();
            assert!(found.total_error_at_least <= found.total_error, "{found:?}");
        }
    }
}
