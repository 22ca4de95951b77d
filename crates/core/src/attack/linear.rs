//! Reconstruction by a linear programme: the column in [0, 1]ⁿ of least total error, rounded at ½ (Dwork, McSherry, Talwar 2007). It withstands answers
//! that are garbage, as long as most are not; it has no certificate.
//!
//! min Σ|⟨q, x⟩ − y| is solved by alternating directions (Boyd and others 2011): a linear system with one Cholesky factor, a shrinking of the errors, a cut to
//! [0, 1]. The dual −λᵀy + Σ min(0, (Qᵀλ)ᵢ), |λ| ≤ 1, says how far from the least total error it is.

use super::{Queries, check_answers, rounded};
use crate::error::{Error, Result};
use crate::limits::gram::dot;

/// More people than this take too long.
pub const MOST_PEOPLE: usize = 3000;

/// The solution, and how near it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// Between 0 and 1 for each person.
    pub estimate: Vec<f64>,
    /// Rounded at ½.
    pub column: Vec<bool>,
    /// Σ|⟨q, x⟩ − y| at the estimate.
    pub total_error: f64,
    /// No column in [0, 1]ⁿ has a total error below this, except for rounding.
    pub total_error_at_least: f64,
}

const MOST_ROUNDS: usize = 2000;

/// Solves until the total error is within a thousandth of a count per query of the least.
///
/// ```
/// use scumble::attack::{Queries, linear::reconstruct};
/// let queries = Queries::new(2, vec![vec![0], vec![1], vec![0, 1], vec![0], vec![1]])?;
/// // One answer is garbage.
/// assert_eq!(reconstruct(&queries, &[1.0, 0.0, 1.0, 1.0, 77.0])?.column, [true, false]);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn reconstruct(queries: &Queries, answers: &[f64]) -> Result<Solution> {
    check_answers(queries, answers)?;
    let (people, count) = (queries.people(), queries.count());
    if people > MOST_PEOPLE {
        return Err(Error::refused(format!(
            "the linear programme is for at most {MOST_PEOPLE} people, not {people}: use least squares"
        )));
    }
    let weight = (count as f64 / 10.0).max(1.0);
    let Some(factor) = queries.gram().factor(weight) else {
        return Err(Error::refused("the query matrix cannot be factored"));
    };
    let mut state = State::new(people, count);
    let mut best = Solution {
        estimate: vec![0.5; people],
        column: vec![false; people],
        total_error: f64::INFINITY,
        total_error_at_least: 0.0,
    };
    for round in 0..MOST_ROUNDS {
        let wanted: Vec<f64> = (0..count).map(|q| state.errors[q] + answers[q] - state.price[q]).collect();
        let mut x = queries.transposed(&wanted);
        x.iter_mut().enumerate().for_each(|(i, x)| *x += weight * (state.cut[i] - state.pull[i]));
        factor.solve(&mut x);
        let image = queries.answers(&x);
        if round == 0 {
            state.set_scale(&image, answers);
        }
        state.step(&x, &image, answers);
        if round % 10 == 9 {
            best = state.better(best, queries, answers);
            if best.total_error - best.total_error_at_least <= 1e-3 * count as f64 {
                break;
            }
        }
    }
    best.column = rounded(&best.estimate);
    Ok(best)
}

struct State {
    /// The errors ⟨q, x⟩ − y, shrunk; and their scaled prices.
    errors: Vec<f64>,
    price: Vec<f64>,
    /// x cut to [0, 1]; and the scaled price of being cut.
    cut: Vec<f64>,
    pull: Vec<f64>,
    /// Errors are shrunk by this.
    scale: f64,
}

impl State {
    fn new(people: usize, count: usize) -> Self {
        Self {
            errors: vec![0.0; count],
            price: vec![0.0; count],
            cut: vec![0.5; people],
            pull: vec![0.0; people],
            scale: 1.0,
        }
    }

    /// The median error of the first, squared fit.
    fn set_scale(&mut self, image: &[f64], answers: &[f64]) {
        let mut sizes: Vec<f64> = image.iter().zip(answers).map(|(image, answer)| (image - answer).abs()).collect();
        let middle = sizes.len() / 2;
        let (_, median, _) = sizes.select_nth_unstable_by(middle, f64::total_cmp);
        self.scale = median.max(0.05);
    }

    fn step(&mut self, x: &[f64], image: &[f64], answers: &[f64]) {
        // A little further than the solution, which is faster.
        const FURTHER: f64 = 1.6;
        for (q, answer) in answers.iter().enumerate() {
            let error = FURTHER * (image[q] - answer) + (1.0 - FURTHER) * self.errors[q];
            let moved = error + self.price[q];
            self.errors[q] = moved.signum() * (moved.abs() - self.scale).max(0.0);
            self.price[q] = moved - self.errors[q];
        }
        for (i, x) in x.iter().enumerate() {
            let moved = FURTHER * x + (1.0 - FURTHER) * self.cut[i] + self.pull[i];
            self.cut[i] = moved.clamp(0.0, 1.0);
            self.pull[i] = moved - self.cut[i];
        }
    }

    /// The better of the best so far and what is here, and the better of both bounds.
    fn better(&self, best: Solution, queries: &Queries, answers: &[f64]) -> Solution {
        let errors = queries.answers(&self.cut);
        let total: f64 = errors.iter().zip(answers).map(|(image, answer)| (image - answer).abs()).sum();
        let prices: Vec<f64> = self.price.iter().map(|price| (price / self.scale).clamp(-1.0, 1.0)).collect();
        let bound = -dot(&prices, answers) + queries.transposed(&prices).iter().map(|sum| sum.min(0.0)).sum::<f64>();
        let total_error_at_least = best.total_error_at_least.max(bound);
        if total < best.total_error {
            return Solution {
                estimate: self.cut.clone(),
                column: Vec::new(),
                total_error: total,
                total_error_at_least,
            };
        }
        Solution { total_error_at_least, ..best }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::{least_squares, recovered};
    use crate::noise::{BitSource, InsecureSeededSource};

    /// Random queries over 100 people, noise of standard deviation about 1, a fifth of the answers garbage: the linear programme still gets everybody,
    /// least squares does not.
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
}
