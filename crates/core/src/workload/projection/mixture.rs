//! Corners of the polytope of answers, mixtures of them, and what corrects their weights.

use super::super::predicate::{CellAnswers, Queries};

/// Corrects the weights of a mixture of cells.
pub(super) trait WeightCorrection {
    fn mixture(&self) -> &Mixture;
    /// Takes new cells up, and improves the mixture until no cell so far would gain more than `goal`; false if nothing
    /// could be moved.
    fn improve(&mut self, found: Vec<MixtureAtom>, goal: f64) -> bool;
}

/// A corner: one cell's answers; or the point in the middle, all cells evenly.
#[derive(Debug, Clone)]
pub(super) struct MixtureAtom {
    cell: Option<usize>,
    /// The answers that are 1.
    held: Vec<u32>,
}

impl MixtureAtom {
    pub(super) fn cell(&self) -> Option<usize> {
        self.cell
    }

    /// How many answers are 1.
    pub(super) fn answers(&self) -> usize {
        self.held.len()
    }
}

/// What atoms are, as vectors of answers.
pub(super) struct Points<'a> {
    queries: &'a Queries,
    held: CellAnswers<'a>,
    even: Vec<f64>,
    dimension: usize,
}

impl<'a> Points<'a> {
    pub(super) fn new(queries: &'a Queries) -> Self {
        Self { queries, held: queries.held(), even: queries.even_answers(), dimension: queries.dimension() }
    }

    pub(super) fn corner(&self, cell: usize) -> MixtureAtom {
        MixtureAtom { cell: Some(cell), held: self.held.at(cell) }
    }

    pub(super) fn middle(&self) -> MixtureAtom {
        MixtureAtom { cell: None, held: Vec::new() }
    }

    pub(super) fn queries(&self) -> &'a Queries {
        self.queries
    }

    /// At most how many dimensions the polytope has.
    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    /// How many tables the answers are about.
    pub(super) fn tables(&self) -> usize {
        self.queries.tables().len()
    }

    /// How many answers there are.
    pub(super) fn len(&self) -> usize {
        self.queries.len()
    }

    /// ⟨atom, vector⟩
    pub(super) fn product(&self, atom: &MixtureAtom, vector: &[f64]) -> f64 {
        match atom.cell {
            None => self.even.iter().zip(vector).map(|(even, value)| even * value).sum(),
            Some(_) => atom.held.iter().map(|&answer| vector[answer as usize]).sum(),
        }
    }

    /// vector += weight · atom
    pub(super) fn add(&self, atom: &MixtureAtom, weight: f64, vector: &mut [f64]) {
        match atom.cell {
            None => vector.iter_mut().zip(&self.even).for_each(|(value, even)| *value += weight * even),
            Some(_) => atom.held.iter().for_each(|&answer| vector[answer as usize] += weight),
        }
    }
}

/// Atoms and their weights, which are not negative and add up to 1.
#[derive(Debug, Clone)]
pub(super) struct Mixture {
    pub(super) atoms: Vec<MixtureAtom>,
    pub(super) weights: Vec<f64>,
}

impl Mixture {
    pub(super) fn answers(&self, points: &Points<'_>) -> Vec<f64> {
        combined(points, &self.atoms, &self.weights)
    }

    /// target − answers
    pub(super) fn residual(&self, points: &Points<'_>, target: &[f64]) -> Vec<f64> {
        self.answers(points).iter().zip(target).map(|(answer, target)| target - answer).collect()
    }

    /// ⟨answers, vector⟩
    pub(super) fn product(&self, points: &Points<'_>, vector: &[f64]) -> f64 {
        self.atoms.iter().zip(&self.weights).map(|(atom, weight)| weight * points.product(atom, vector)).sum()
    }

    pub(super) fn weights_of_cells(&self) -> Vec<(Option<usize>, f64)> {
        let pairs = self.atoms.iter().zip(&self.weights).filter(|(_, weight)| **weight > 0.0);
        pairs.map(|(atom, &weight)| (atom.cell, weight)).collect()
    }
}

/// Σ weight · atom
pub(super) fn combined(points: &Points<'_>, atoms: &[MixtureAtom], weights: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; points.len()];
    let pairs = atoms.iter().zip(weights).filter(|(_, weight)| **weight != 0.0);
    pairs.for_each(|(atom, &weight)| points.add(atom, weight, &mut sum));
    sum
}
