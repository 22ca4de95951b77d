//! Weights corrected by accelerated gradient steps: for answers of so many dimensions that no matrix of them fits.

use super::mixture::{Mixture, MixtureAtom, Points, WeightCorrection, combined};
use std::collections::BTreeSet;

/// Steps between two walks over the universe, at most.
const MOST_STEPS: usize = 2000;
/// After so much work, counted in answers of atoms, the mixture stays as it is: about a minute or two.
const MOST_WORK: u64 = 60_000_000_000;
/// The gap is looked at after this many steps.
const STEPS_PER_LOOK: usize = 10;
const POWER_STEPS: usize = 15;
/// Power iteration comes near the largest eigenvalue from below.
const ABOVE_POWER: f64 = 1.1;

pub(super) struct GradientSteps<'a> {
    points: &'a Points<'a>,
    target: &'a [f64],
    mixture: Mixture,
    work: u64,
}

impl<'a> GradientSteps<'a> {
    pub(super) fn new(points: &'a Points<'a>, target: &'a [f64]) -> Self {
        let mixture = Mixture { atoms: vec![points.middle()], weights: vec![1.0] };
        Self { points, target, mixture, work: 0 }
    }

    /// ⟨atom, target − answers⟩ of each atom, for these weights.
    fn slopes(&self, weights: &[f64]) -> Vec<f64> {
        let mut residual = combined(self.points, &self.mixture.atoms, weights);
        residual.iter_mut().zip(self.target).for_each(|(answer, target)| *answer = target - *answer);
        self.products(&residual)
    }

    fn products(&self, vector: &[f64]) -> Vec<f64> {
        self.mixture.atoms.iter().map(|atom| self.points.product(atom, vector)).collect()
    }

    /// The largest eigenvalue of the Gram matrix of the atoms around the middle: weights add up to 1, so that the
    /// middle does not count.
    fn curvature(&self) -> f64 {
        let middle = self.points.middle();
        let mut vector: Vec<f64> = (0..self.mixture.atoms.len()).map(|number| 1.0 + (number % 7) as f64).collect();
        let mut length = 1.0;
        for _ in 0..POWER_STEPS {
            let mut image = combined(self.points, &self.mixture.atoms, &vector);
            self.points.add(&middle, -vector.iter().sum::<f64>(), &mut image);
            let shared = self.points.product(&middle, &image);
            vector = self.products(&image);
            vector.iter_mut().for_each(|value| *value -= shared);
            length = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
            if length == 0.0 {
                return 1.0;
            }
            vector.iter_mut().for_each(|value| *value /= length);
        }
        length * ABOVE_POWER
    }

    /// What the best atom gains over the mixture of these weights.
    fn gap(&self, weights: &[f64]) -> f64 {
        let slopes = self.slopes(weights);
        let here: f64 = slopes.iter().zip(weights).map(|(slope, weight)| slope * weight).sum();
        slopes.iter().copied().fold(f64::NEG_INFINITY, f64::max) - here
    }
}

impl WeightCorrection for GradientSteps<'_> {
    fn mixture(&self) -> &Mixture {
        &self.mixture
    }

    fn improve(&mut self, found: Vec<MixtureAtom>, goal: f64) -> bool {
        let Mixture { atoms, weights } = &mut self.mixture;
        let most = 4 * self.points.dimension();
        if atoms.len() > most {
            let kept: Vec<(MixtureAtom, f64)> =
                atoms.drain(..).zip(weights.drain(..)).filter(|(_, weight)| *weight > 0.0).collect();
            (*atoms, *weights) = kept.into_iter().unzip();
        }
        let known: BTreeSet<Option<usize>> = atoms.iter().map(|atom| atom.cell()).collect();
        atoms.extend(found.into_iter().filter(|atom| !known.contains(&atom.cell())));
        weights.resize(atoms.len(), 0.0);
        let step = 1.0 / self.curvature();
        let mut current = self.mixture.weights.clone();
        let (mut ahead, mut momentum) = (current.clone(), 1.0f64);
        let work_of_step = self.mixture.atoms.iter().map(|atom| 2 * atom.answers() as u64).sum::<u64>();
        for turn in 0..MOST_STEPS {
            self.work += work_of_step;
            if self.work > MOST_WORK {
                break;
            }
            if turn % STEPS_PER_LOOK == 0 && self.gap(&current) <= goal {
                break;
            }
            let slopes = self.slopes(&ahead);
            let next = onto_simplex(ahead.iter().zip(&slopes).map(|(weight, slope)| weight + step * slope).collect());
            let faster = f64::midpoint(1.0, (1.0 + 4.0 * momentum * momentum).sqrt());
            let carry = (momentum - 1.0) / faster;
            // Restart where the momentum points uphill.
            let gained: f64 = slopes.iter().zip(next.iter().zip(&current)).map(|(s, (new, old))| s * (new - old)).sum();
            if gained < 0.0 {
                (ahead, momentum) = (next.clone(), 1.0);
            } else {
                ahead = next.iter().zip(&current).map(|(new, old)| new + carry * (new - old)).collect();
                momentum = faster;
            }
            current = next;
        }
        let moved = current != self.mixture.weights;
        self.mixture.weights = current;
        moved
    }
}

/// The nearest non-negative point whose sum is 1: all is lowered by the same shift, and what would fall below 0 is left
/// out, until nothing more is (Michelot 1986).
fn onto_simplex(mut point: Vec<f64>) -> Vec<f64> {
    let mut shift = f64::NEG_INFINITY;
    loop {
        let (mut total, mut number) = (0.0, 0.0);
        for &value in point.iter().filter(|value| **value > shift) {
            total += value;
            number += 1.0;
        }
        let next = (total - 1.0) / number;
        // The shift only rises, and stops once the same values are above it; rounding must not make it go on.
        if number == 0.0 || next <= shift {
            break;
        }
        shift = next;
    }
    point.iter_mut().for_each(|value| *value = (*value - shift).max(0.0));
    point
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_projected_onto_the_simplex() {
        assert_eq!(onto_simplex(vec![0.5, 0.5]), [0.5, 0.5]);
        assert_eq!(onto_simplex(vec![3.0, 0.0]), [1.0, 0.0]);
        assert_eq!(onto_simplex(vec![1.0, 1.0, -5.0]), [0.5, 0.5, 0.0]);
        // One shift for all that stay, and no smaller shift would do.
        let point: Vec<f64> = (0..1000).map(|i| f64::from(i * 7919 % 1000) / 300.0).collect();
        let nearest = onto_simplex(point.clone());
        assert!((nearest.iter().sum::<f64>() - 1.0).abs() < 1e-9 && nearest.iter().all(|value| *value >= 0.0));
        let shift =
            point.iter().zip(&nearest).find(|(_, near)| **near > 0.0).map(|(value, near)| value - near).unwrap();
        assert!(point.iter().zip(&nearest).all(|(value, near)| ((value - shift).max(0.0) - near).abs() < 1e-9));
    }
}
