//! Weights corrected exactly: Wolfe's algorithm for the nearest point of a polytope (Wolfe 1976, "Finding the nearest
//! point in a polytope").
//!
//! The corral is a set of affinely independent atoms with positive weights, the best possible ones for these atoms. An
//! atom that would help enters; the weights move towards the new best ones; whichever becomes 0 on the way leaves. The
//! residual is computed afresh from the atoms themselves, so that no rounding error accumulates, and only
//! the *direction* of a step comes from the triangular factor.

use super::super::nested::dot;
use super::mixture::{Mixture, MixtureAtom, Points, WeightCorrection};
use std::collections::BTreeSet;

/// An atom whose part outside the affine hull of the corral has a smaller share of its squared length is taken to lie
/// within.
const DEPENDENT: f64 = 1e-11;
/// A candidate enters if it still gains this share of what it promised when candidates were last compared.
const STILL_GOOD: f64 = 0.5;
/// After this many entries per dimension (and a thousand more) the mixture stays as it is; some four are usual.
const MOST_ENTRIES_PER_DIMENSION: usize = 40;
/// Sweeps over the waiting atoms after which the universe is looked at again.
const MOST_SWEEPS: usize = 200;

pub(super) struct Corral<'a> {
    points: &'a Points<'a>,
    target: &'a [f64],
    mixture: Mixture,
    residual: Vec<f64>,
    /// ⟨answers, residual⟩
    here: f64,
    factor: CholeskyFactor,
    /// Atoms that are known and have no weight now.
    waiting: Vec<MixtureAtom>,
    entries_left: usize,
}

impl<'a> Corral<'a> {
    pub(super) fn new(points: &'a Points<'a>, target: &'a [f64]) -> Self {
        let mixture = Mixture { atoms: Vec::new(), weights: Vec::new() };
        let (residual, factor) = (target.to_vec(), CholeskyFactor::default());
        let entries_left = MOST_ENTRIES_PER_DIMENSION * points.dimension() + 1000;
        let mut corral =
            Self { points, target, mixture, residual, here: 0.0, factor, waiting: Vec::new(), entries_left };
        corral.admit(points.middle());
        corral.mixture.weights = vec![1.0];
        corral.look();
        corral
    }

    /// The atom into the corral, without weight; false if it depends on those that are there.
    fn admit(&mut self, atom: MixtureAtom) -> bool {
        let mut own = vec![0.0; self.points.len()];
        self.points.add(&atom, 1.0, &mut own);
        // The constant that is added everywhere makes affinely independent atoms linearly independent.
        let constant = self.points.tables() as f64;
        let product = |other: &MixtureAtom| self.points.product(other, &own) + constant;
        let column: Vec<f64> = self.mixture.atoms.iter().map(product).collect();
        if !self.factor.push(&column, product(&atom)) {
            return false;
        }
        self.mixture.atoms.push(atom);
        self.mixture.weights.push(0.0);
        true
    }

    /// What an atom gains over the mixture, per unit of weight.
    fn gain(&self, atom: &MixtureAtom) -> f64 {
        self.points.product(atom, &self.residual) - self.here
    }

    /// Lets an atom enter and finds the best weights; false if it depends on the others.
    fn enter(&mut self, atom: MixtureAtom) -> bool {
        let mut gain = self.gain(&atom);
        if !self.admit(atom) {
            return false;
        }
        // All atoms but the last have the same slope, since their weights are the best ones, and keep it in every step;
        // the gain of the last shrinks by what the step has gone of its way.
        let mut last = self.mixture.atoms.len() - 1;
        loop {
            let mut change = self.factor.step_of_last();
            change.iter_mut().for_each(|change| *change *= gain);
            let (gone, left) = self.advance(&change);
            gain *= 1.0 - gone;
            match left {
                Some(number) if number != last => last -= 1,
                _ => break,
            }
        }
        self.look();
        true
    }

    /// Takes the step that is best for the weights as they are, whatever rounding has made of them.
    fn settle(&mut self) {
        let slopes: Vec<f64> =
            self.mixture.atoms.iter().map(|atom| self.points.product(atom, &self.residual)).collect();
        let change = self.factor.step(&slopes);
        self.advance(&change);
        self.look();
    }

    /// Moves the weights as far as all stay above 0: the share of the way gone, and who left.
    fn advance(&mut self, change: &[f64]) -> (f64, Option<usize>) {
        let (mut length, mut leaves) = (1.0, None);
        for (number, (&weight, &change)) in self.mixture.weights.iter().zip(change).enumerate() {
            if change < 0.0 && weight < -change * length {
                (length, leaves) = (weight / -change, Some(number));
            }
        }
        let weights = self.mixture.weights.iter_mut().zip(change);
        weights.for_each(|(weight, change)| *weight = (*weight + length * change).max(0.0));
        if let Some(number) = leaves {
            self.factor.remove(number);
            self.mixture.weights.remove(number);
            let atom = self.mixture.atoms.remove(number);
            self.waiting.extend(atom.cell().is_some().then_some(atom));
        }
        let sum: f64 = self.mixture.weights.iter().sum();
        self.mixture.weights.iter_mut().for_each(|weight| *weight /= sum);
        (length, leaves)
    }

    /// The residual of the mixture, and its slope.
    fn look(&mut self) {
        self.residual = self.mixture.residual(self.points, self.target);
        self.here = self.mixture.product(self.points, &self.residual);
    }

    /// Compares the waiting atoms once and lets the good ones enter, the best first; false if there is none.
    fn sweep(&mut self, goal: f64) -> bool {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let gains = waiting.map(|atom| (self.gain(&atom), atom));
        let (mut good, rest): (Vec<_>, Vec<_>) = gains.partition(|(gain, _)| *gain > goal);
        self.waiting = rest.into_iter().map(|(_, atom)| atom).collect();
        good.sort_by(|left, right| right.0.total_cmp(&left.0));
        let mut moved = false;
        for (promised, atom) in good {
            if self.entries_left > 0 && self.gain(&atom) > goal.max(STILL_GOOD * promised) {
                self.entries_left -= 1;
                moved |= self.enter(atom);
            } else {
                self.waiting.push(atom);
            }
        }
        moved
    }

    /// Forgets the least promising of very many waiting atoms.
    fn forget(&mut self) {
        let most = 2 * self.points.dimension() + 256;
        if self.waiting.len() > 2 * most {
            let waiting = std::mem::take(&mut self.waiting).into_iter();
            let mut gains: Vec<(f64, MixtureAtom)> = waiting.map(|atom| (self.gain(&atom), atom)).collect();
            gains.sort_by(|left, right| right.0.total_cmp(&left.0));
            self.waiting = gains.into_iter().take(most).map(|(_, atom)| atom).collect();
        }
    }
}

impl WeightCorrection for Corral<'_> {
    fn mixture(&self) -> &Mixture {
        &self.mixture
    }

    fn improve(&mut self, found: Vec<MixtureAtom>, goal: f64) -> bool {
        let known: BTreeSet<Option<usize>> =
            self.mixture.atoms.iter().chain(&self.waiting).map(|atom| atom.cell()).collect();
        self.waiting.extend(found.into_iter().filter(|atom| !known.contains(&atom.cell())));
        let mut moved = false;
        for _ in 0..MOST_SWEEPS {
            if !self.sweep(goal) {
                break;
            }
            moved = true;
        }
        self.settle();
        self.forget();
        moved
    }
}

/// The lower triangular factor L of the Gram matrix M = LLᵀ of the corral, row by row, and L⁻¹e for e = (1, …, 1).
#[derive(Debug, Default)]
struct CholeskyFactor {
    rows: Vec<Vec<f64>>,
    ones: Vec<f64>,
}

impl CholeskyFactor {
    /// One row more; false if the matrix would be singular.
    fn push(&mut self, column: &[f64], diagonal: f64) -> bool {
        let mut row = self.forward(column);
        let pivot = diagonal - dot(&row, &row);
        if pivot <= DEPENDENT * diagonal {
            return false;
        }
        let pivot = pivot.sqrt();
        self.ones.push((1.0 - dot(&row, &self.ones)) / pivot);
        row.push(pivot);
        self.rows.push(row);
        true
    }

    /// One row and column less: rotations of neighbouring columns make the rest triangular again. Each row below is
    /// turned by the rotations of the rows before it, and tells the next one.
    fn remove(&mut self, number: usize) {
        self.rows.remove(number);
        let mut rotations: Vec<(f64, f64)> = Vec::with_capacity(self.rows.len() - number);
        let rotate = |values: &mut [f64], at: usize, (cosine, sine): (f64, f64)| {
            let (left, right) = (values[at], values[at + 1]);
            (values[at], values[at + 1]) = (cosine * left + sine * right, cosine * right - sine * left);
        };
        for row in &mut self.rows[number..] {
            rotations.iter().zip(number..).for_each(|(&rotation, at)| rotate(row, at, rotation));
            let last = row.len() - 2;
            let length = row[last].hypot(row[last + 1]);
            rotations.push((row[last] / length, row[last + 1] / length));
            row.truncate(last + 1);
            row[last] = length;
        }
        rotations.iter().zip(number..).for_each(|(&rotation, at)| rotate(&mut self.ones, at, rotation));
        self.ones.truncate(self.rows.len());
    }

    /// L⁻¹v
    fn forward(&self, vector: &[f64]) -> Vec<f64> {
        let mut solved = Vec::with_capacity(vector.len() + 1);
        for (row, &value) in self.rows.iter().zip(vector) {
            let last = row.len() - 1;
            solved.push((value - dot(&row[..last], &solved)) / row[last]);
        }
        solved
    }

    /// The change of weights, with sum 0, after which all slopes are equal: M⁻¹(slopes − ν·e), with
    /// ν = eᵀM⁻¹·slopes / eᵀM⁻¹e.
    fn step(&self, slopes: &[f64]) -> Vec<f64> {
        self.with_sum_0(self.forward(slopes))
    }

    /// The same for slopes that are 0 except for the last, which is 1.
    fn step_of_last(&self) -> Vec<f64> {
        let mut solved = vec![0.0; self.rows.len()];
        if let (Some(last), Some(row)) = (solved.last_mut(), self.rows.last()) {
            *last = 1.0 / row[row.len() - 1];
        }
        self.with_sum_0(solved)
    }

    /// (Lᵀ)⁻¹(v − ν·L⁻¹e), with the ν that makes the sum 0.
    fn with_sum_0(&self, mut vector: Vec<f64>) -> Vec<f64> {
        let common = dot(&vector, &self.ones) / dot(&self.ones, &self.ones);
        vector.iter_mut().zip(&self.ones).for_each(|(value, one)| *value -= common * one);
        for (i, row) in self.rows.iter().enumerate().rev() {
            let own = vector[i] / row[i];
            vector[i] = own;
            vector[..i].iter_mut().zip(row).for_each(|(value, entry)| *value -= own * entry);
        }
        vector
    }
}
