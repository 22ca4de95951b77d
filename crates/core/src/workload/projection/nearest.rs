//! The nearest point of all answers that a table of so many people can give.
//!
//! Those answers are a polytope whose corners are the answers of one cell each. The nearest point is a mixture of few corners, so that
//! cells are found as they are needed: in turns, a walk over the whole universe finds the cells that would help most, and proves by
//! the best of them how far the mixture still is from the optimum (the Frank–Wolfe gap); then the weights of the cells found so far
//! are corrected ([`super::corral`], or [`super::steps`] where the answers have very many dimensions).
//!
//! All is in shares of the people here: weights add up to 1, and the target is divided by the number of people.

use super::super::nested::{Nest, Spread, Sum, largest};
use super::super::query::{Held, Queries};
use super::corral::Corral;
use super::steps::Steps;

/// Walks over the universe after which the mixture is taken as it is, with the gap that it has.
const MOST_WALKS: usize = 400;
/// Answers of more dimensions are corrected by steps: the corral has a triangle of as many rows.
const MOST_DIMENSIONS_OF_CORRAL: usize = 4000;
/// The gap among the cells found so far is brought to this share of the gap in the universe before that is walked again.
const SHARE_OF_GAP: f64 = 0.25;

/// A mixture, and the proof of how good it is.
pub(super) struct Nearest {
    /// Cells with their weights; none for all cells evenly.
    pub(super) weights: Vec<(Option<usize>, f64)>,
    /// Its answers.
    pub(super) answers: Vec<f64>,
    /// max over all cells u of ⟨target − answers, Q(u) − answers⟩.
    pub(super) gap: f64,
}

/// The nearest mixture up to a gap of `enough`; or the best one found, if it takes too long.
pub(super) fn nearest(queries: &Queries, target: &[f64], enough: f64) -> Nearest {
    let points = Points::new(queries);
    if points.dimension > MOST_DIMENSIONS_OF_CORRAL {
        walk(&points, target, enough, Steps::new(&points, target))
    } else {
        walk(&points, target, enough, Corral::new(&points, target))
    }
}

/// Corrects the weights of a mixture of cells.
pub(super) trait Correct {
    fn mixture(&self) -> &Mixture;
    /// Takes new cells up, and improves the mixture until no cell so far would gain more than `goal`; false if nothing could be moved.
    fn improve(&mut self, found: Vec<Atom>, goal: f64) -> bool;
}

pub(super) fn walk(points: &Points<'_>, target: &[f64], enough: f64, mut correct: impl Correct) -> Nearest {
    let search = Search::new(points.queries, points.dimension);
    let mut best = Nearest { weights: Vec::new(), answers: Vec::new(), gap: f64::INFINITY };
    let mut idle = 0;
    for _ in 0..MOST_WALKS {
        let mixture = correct.mixture();
        let residual = mixture.residual(points, target);
        let here = mixture.product(points, &residual);
        let found = search.best(points.queries.weights_of_tables(&residual), here);
        // No mixture is better than its best cell; below 0 there is only rounding.
        let gap = (found.largest - here).max(0.0);
        if gap < best.gap {
            best = Nearest { weights: mixture.weights_of_cells(), answers: mixture.answers(points), gap };
        }
        if gap <= enough || idle == 2 {
            break;
        }
        let atoms = found.cells.into_iter().map(|cell| points.corner(cell)).collect();
        let moved = correct.improve(atoms, (SHARE_OF_GAP * gap).max(enough / 2.0));
        idle = if moved { 0 } else { idle + 1 };
    }
    best
}

/// A corner: one cell's answers; or the point in the middle, all cells evenly.
#[derive(Debug, Clone)]
pub(super) struct Atom {
    cell: Option<usize>,
    /// The answers that are 1.
    held: Vec<u32>,
}

impl Atom {
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
    held: Held<'a>,
    even: Vec<f64>,
    dimension: usize,
}

impl<'a> Points<'a> {
    pub(super) fn new(queries: &'a Queries) -> Self {
        Self { queries, held: queries.held(), even: queries.even_answers(), dimension: queries.dimension() }
    }

    fn corner(&self, cell: usize) -> Atom {
        Atom { cell: Some(cell), held: self.held.at(cell) }
    }

    pub(super) fn middle(&self) -> Atom {
        Atom { cell: None, held: Vec::new() }
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
    pub(super) fn product(&self, atom: &Atom, vector: &[f64]) -> f64 {
        match atom.cell {
            None => self.even.iter().zip(vector).map(|(even, value)| even * value).sum(),
            Some(_) => atom.held.iter().map(|&answer| vector[answer as usize]).sum(),
        }
    }

    /// vector += weight · atom
    pub(super) fn add(&self, atom: &Atom, weight: f64, vector: &mut [f64]) {
        match atom.cell {
            None => vector.iter_mut().zip(&self.even).for_each(|(value, even)| *value += weight * even),
            Some(_) => atom.held.iter().for_each(|&answer| vector[answer as usize] += weight),
        }
    }
}

/// Atoms and their weights, which are not negative and add up to 1.
#[derive(Debug, Clone)]
pub(super) struct Mixture {
    pub(super) atoms: Vec<Atom>,
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

    fn weights_of_cells(&self) -> Vec<(Option<usize>, f64)> {
        let pairs = self.atoms.iter().zip(&self.weights).filter(|(_, weight)| **weight > 0.0);
        pairs.map(|(atom, &weight)| (atom.cell, weight)).collect()
    }
}

/// Σ weight · atom
pub(super) fn combined(points: &Points<'_>, atoms: &[Atom], weights: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; points.len()];
    let pairs = atoms.iter().zip(weights).filter(|(_, weight)| **weight != 0.0);
    pairs.for_each(|(atom, &weight)| points.add(atom, weight, &mut sum));
    sum
}

/// The search for the cells that weigh most.
pub(super) struct Search {
    nest: Nest,
    /// One cell of each stretch of so many cells can be found.
    stretch: usize,
    /// At most so many cells are found at a time.
    most: usize,
}

/// What a search has found.
pub(super) struct Found {
    /// The largest weight of all cells of the universe.
    pub(super) largest: f64,
    /// Cells that weigh more than was asked for, the heaviest first.
    pub(super) cells: Vec<usize>,
}

impl Search {
    pub(super) fn new(queries: &Queries, dimension: usize) -> Self {
        let nest = Nest::new(queries.domain(), &queries.tables());
        let stretch = (queries.domain().cells() / 1024).clamp(1, 512);
        Self { nest, stretch, most: (dimension / 8).clamp(64, 4096) }
    }

    /// Walks over all cells: a cell weighs what the tables say, added up.
    pub(super) fn best(&self, tables: Vec<Vec<f64>>, above: f64) -> Found {
        let mut spread = Spread::<Sum>::new(&self.nest, tables);
        let mut weights = vec![0.0; self.nest.block_cells()];
        let (mut most, mut heavy) = (f64::NEG_INFINITY, Vec::new());
        for number in 0..self.nest.blocks() {
            spread.block(number, &mut weights);
            for (stretch, part) in weights.chunks(self.stretch).enumerate() {
                let heaviest = largest(part);
                most = most.max(heaviest);
                if heaviest > above {
                    let within = part.iter().position(|&weight| weight == heaviest).unwrap_or(0);
                    heavy.push((heaviest, number * weights.len() + stretch * self.stretch + within));
                }
            }
        }
        heavy.sort_unstable_by(|left, right| right.0.total_cmp(&left.0));
        heavy.truncate(self.most);
        Found { largest: most, cells: heavy.into_iter().map(|(_, cell)| cell).collect() }
    }
}
