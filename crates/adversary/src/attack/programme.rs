//! The linear programmes of reconstruction: the column in [0, 1]ⁿ whose counts are off by least, in total or at most.
//!
//! min ‖Qx − y‖ over 0 ≤ x ≤ 1 is solved by alternating directions (Boyd and others 2011): a linear system with one
//! Cholesky factor, a shrinking of the errors, a cut to [0, 1]. The dual −λᵀy + Σ min(0, (Qᵀλ)ᵢ) says how far from the
//! least error it is: |λⱼ| ≤ 1 for the total error, Σ|λⱼ| ≤ 1 for the largest.

use super::{Queries, check_answers};
use crate::limits::gram::dot;
use scumble::error::Result;

/// More people than this take too long.
pub const MOST_PEOPLE: usize = 3000;

const MOST_ROUNDS: usize = 2000;

/// Which error is to be small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Objective {
    /// Σ|⟨q, x⟩ − y|.
    Total,
    /// max|⟨q, x⟩ − y|.
    Largest,
}

/// The best that was found, and what nothing is below.
pub(super) struct ProgrammeSolution {
    pub estimate: Vec<f64>,
    pub error: f64,
    pub error_at_least: f64,
}

impl Objective {
    fn of(self, image: &[f64], answers: &[f64]) -> f64 {
        let errors = image.iter().zip(answers).map(|(image, answer)| (image - answer).abs());
        match self {
            Self::Total => errors.sum(),
            Self::Largest => errors.fold(0.0, f64::max),
        }
    }

    /// Near enough.
    fn tolerated(self, error: f64, count: usize) -> f64 {
        match self {
            Self::Total => 1e-3 * count as f64,
            Self::Largest => 1e-3 * error.max(1.0),
        }
    }

    /// The nearest prices that the dual allows, times `scale`: those that shrinking the errors takes off.
    fn price(self, moved: &[f64], scale: f64) -> Vec<f64> {
        match self {
            Self::Total => moved.iter().map(|value| value.clamp(-scale, scale)).collect(),
            Self::Largest => onto_simplex(moved, scale),
        }
    }

    /// The dual's prices from scaled ones that may be too large by rounding.
    fn allowed(self, price: &[f64], scale: f64) -> Vec<f64> {
        let total: f64 = price.iter().map(|price| price.abs()).sum();
        match self {
            Self::Total => price.iter().map(|price| (price / scale).clamp(-1.0, 1.0)).collect(),
            Self::Largest => price.iter().map(|price| price / scale.max(total) * (1.0 - 1e-12)).collect(),
        }
    }
}

/// The nearest numbers whose sizes add up to at most `most` (Michelot 1986, for their sizes).
fn onto_simplex(numbers: &[f64], most: f64) -> Vec<f64> {
    let mut sizes: Vec<f64> = numbers.iter().map(|number| number.abs()).collect();
    if sizes.iter().sum::<f64>() <= most {
        return numbers.to_vec();
    }
    sizes.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut sum, mut off) = (0.0, 0.0);
    for (at, size) in sizes.iter().enumerate() {
        sum += size;
        let own = (sum - most) / (at as f64 + 1.0);
        if *size <= own {
            break;
        }
        off = own;
    }
    numbers.iter().map(|number| number.signum() * (number.abs() - off).max(0.0)).collect()
}

/// Solves until it is near enough: a thousandth of a count per query for the total error, a thousandth of a count or of
/// itself for the largest.
pub(super) fn solve(queries: &Queries, answers: &[f64], objective: Objective) -> Result<ProgrammeSolution> {
    check_answers(queries, answers)?;
    let (people, count) = (queries.people(), queries.count());
    if people > MOST_PEOPLE {
        refuse!("the linear programme is for at most {MOST_PEOPLE} people, not {people}: use least squares");
    }
    let weight = (count as f64 / 10.0).max(1.0);
    let Some(factor) = queries.gram().factor(weight) else { refuse!("the query matrix cannot be factored") };
    let mut state = ProgrammeState::new(people, count, objective);
    let mut best = ProgrammeSolution { estimate: vec![0.5; people], error: f64::INFINITY, error_at_least: 0.0 };
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
            state.improve(&mut best, queries, answers);
            if best.error - best.error_at_least <= objective.tolerated(best.error, count) {
                break;
            }
        }
    }
    Ok(best)
}

struct ProgrammeState {
    objective: Objective,
    /// The errors ⟨q, x⟩ − y, shrunk; and their scaled prices.
    errors: Vec<f64>,
    price: Vec<f64>,
    /// x cut to [0, 1]; and the scaled price of being cut.
    cut: Vec<f64>,
    pull: Vec<f64>,
    /// Errors are shrunk by this.
    scale: f64,
}

impl ProgrammeState {
    fn new(people: usize, count: usize, objective: Objective) -> Self {
        Self {
            objective,
            errors: vec![0.0; count],
            price: vec![0.0; count],
            cut: vec![0.5; people],
            pull: vec![0.0; people],
            scale: 1.0,
        }
    }

    /// The median error of the first, squared fit; for each of the errors that can be the largest at once.
    fn set_scale(&mut self, image: &[f64], answers: &[f64]) {
        let mut sizes: Vec<f64> = image.iter().zip(answers).map(|(image, answer)| (image - answer).abs()).collect();
        let middle = sizes.len() / 2;
        let (_, median, _) = sizes.select_nth_unstable_by(middle, f64::total_cmp);
        let together = match self.objective {
            Objective::Total => 1,
            Objective::Largest => (self.cut.len() + 1).min(self.errors.len()),
        };
        self.scale = median.max(0.05) * together as f64;
    }

    fn step(&mut self, x: &[f64], image: &[f64], answers: &[f64]) {
        // A little further than the solution, which is faster.
        const FURTHER: f64 = 1.6;
        let error = |q: usize| FURTHER * (image[q] - answers[q]) + (1.0 - FURTHER) * self.errors[q] + self.price[q];
        let moved: Vec<f64> = (0..answers.len()).map(error).collect();
        self.price = self.objective.price(&moved, self.scale);
        self.errors = moved.iter().zip(&self.price).map(|(moved, price)| moved - price).collect();
        for (i, x) in x.iter().enumerate() {
            let moved = FURTHER * x + (1.0 - FURTHER) * self.cut[i] + self.pull[i];
            self.cut[i] = moved.clamp(0.0, 1.0);
            self.pull[i] = moved - self.cut[i];
        }
    }

    /// Takes over what is better here: the estimate, the bound.
    fn improve(&self, best: &mut ProgrammeSolution, queries: &Queries, answers: &[f64]) {
        let error = self.objective.of(&queries.answers(&self.cut), answers);
        let prices = self.objective.allowed(&self.price, self.scale);
        let sums = queries.transposed(&prices);
        let bound = -dot(&prices, answers) + sums.iter().map(|sum| sum.min(0.0)).sum::<f64>();
        // Sums of so many numbers are off by at most this, so that the bound is one.
        let sizes: f64 =
            prices.iter().zip(answers).map(|(price, answer)| price.abs() * (answer.abs() + sums.len() as f64)).sum();
        let rounding = sizes * (answers.len() + sums.len() + 8) as f64 * f64::EPSILON;
        best.error_at_least = best.error_at_least.max(bound - rounding);
        if error < best.error {
            (best.estimate, best.error) = (self.cut.clone(), error);
        }
        // An error that is computed as the least one may be so by rounding too.
        best.error_at_least = best.error_at_least.min(best.error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_the_nearest_that_are_allowed() {
        assert_eq!(onto_simplex(&[0.2, -0.3], 1.0), [0.2, -0.3]);
        assert_eq!(onto_simplex(&[3.0, -1.0], 1.0), [1.0, 0.0]);
        assert_eq!(onto_simplex(&[2.0, -2.0, 0.5], 1.0), [0.5, -0.5, 0.0]);
        // Against every pair of sizes on a grid.
        for (a, b) in [(0.9, 0.4), (1.5, 1.2), (0.1, 3.0)] {
            let found = onto_simplex(&[a, b], 1.0);
            let near = |x: f64, y: f64| (x - a).powi(2) + (y - b).powi(2);
            for step in 0..=1000 {
                let x = f64::from(step) / 1000.0;
                assert!(near(found[0], found[1]) <= near(x, 1.0 - x) + 1e-12, "{a} {b}");
            }
        }
    }
}
