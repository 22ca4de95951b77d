//! Reconstruction by trying every column (Dinur, Nissim 2003; Vadhan 2017, 7.5.2): those whose counts are off by least.

use super::{Queries, check_answers};
use scumble::error::Result;

/// More people than this are not tried.
pub const MOST_PEOPLE: usize = 24;

/// More columns than this are not listed.
const MOST_COLUMNS: usize = 10_000;

/// Answers that are this near are the same.
const TIE: f64 = 1e-9;

/// The columns that explain the answers best.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The least possible largest error, in counts.
    pub least_error: f64,
    /// The columns that have it, smallest first; bit i is person i. At most 10,000 are kept.
    pub columns: Vec<u32>,
}

/// All columns of least largest error.
///
/// ```
/// use scumble_adversary::attack::{Queries, exhaustive::reconstruct};
/// let all = Queries::new(2, vec![vec![], vec![0], vec![1], vec![0, 1]])?;
/// let found = reconstruct(&all, &[0.2, 1.1, -0.1, 0.9])?;
/// assert_eq!(found.columns, [0b01]);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn reconstruct(queries: &Queries, answers: &[f64]) -> Result<Explanation> {
    check_answers(queries, answers)?;
    let people = queries.people();
    if people > MOST_PEOPLE {
        refuse!(
            "trying every column is for at most {MOST_PEOPLE} people, not {people}: use the linear programme or least squares"
        );
    }
    let mask = |query: usize| queries.members(query).iter().fold(0u32, |mask, i| mask | 1 << i);
    let asked: Vec<(u32, f64)> = (0..queries.count()).map(|query| (mask(query), answers[query])).collect();
    let mut best = Explanation { least_error: f64::INFINITY, columns: Vec::new() };
    for column in 0..1u32 << people {
        if let Some(error) = error_within(&asked, column, best.least_error + TIE) {
            if error < best.least_error - TIE {
                best = Explanation { least_error: error, columns: vec![column] };
            } else if best.columns.len() < MOST_COLUMNS {
                best.columns.push(column);
            }
        }
    }
    Ok(best)
}

/// The largest error of a column, if it is at most `most`: most columns are given up after a few queries.
fn error_within(asked: &[(u32, f64)], column: u32, most: f64) -> Option<f64> {
    let mut largest: f64 = 0.0;
    for (mask, answer) in asked {
        largest = largest.max((f64::from((mask & column).count_ones()) - answer).abs());
        if largest > most {
            return None;
        }
    }
    Some(largest)
}

/// If all 2ⁿ subsets were asked and every answer was within `error` of the truth, then a column that explains them is
/// wrong in at most this many places: 2·⌊2E⌋, up to ⌊2E⌋ ones lost and as many gained.
pub fn wrong_at_most(error: f64) -> f64 {
    2.0 * libm::floor(2.0 * error * (1.0 + 1e-15))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All subsets of five people, all errors of a half: the certificate holds for every column and every pattern that
    /// is tried, and is attained.
    #[test]
    fn the_certificate_holds_and_is_attained() {
        let all =
            Queries::new(5, (0..32u32).map(|mask| (0..5).filter(|i| mask >> i & 1 == 1).collect()).collect()).unwrap();
        let mut most = 0;
        for truth in 0..32u32 {
            for pattern in 0..64u32 {
                let noise = |mask: u32| {
                    if (mask.wrapping_mul(2_654_435_761) >> 7).wrapping_add(pattern * mask) & 1 == 1 {
                        0.5
                    } else {
                        -0.5
                    }
                };
                let answers: Vec<f64> =
                    (0..32u32).map(|mask| f64::from((mask & truth).count_ones()) + noise(mask)).collect();
                for column in reconstruct(&all, &answers).unwrap().columns {
                    let wrong = (column ^ truth).count_ones();
                    assert!(f64::from(wrong) <= wrong_at_most(0.5));
                    most = most.max(wrong);
                }
            }
        }
        assert!(most <= 2 && wrong_at_most(0.25) == 0.0 && wrong_at_most(1.25) == 4.0);
        let large = Queries::new(25, vec![vec![0]]).unwrap();
        assert!(reconstruct(&large, &[1.0]).is_err() && reconstruct(&all, &[f64::NAN; 32]).is_err());
    }
}
