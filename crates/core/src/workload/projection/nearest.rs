//! The nearest point of all answers that a table with a given number of people can give.
//!
//! Those answers are a polytope whose corners are the answers of one cell each. The nearest point is a mixture of few
//! corners, so that cells are found as they are needed: in turns, a walk over the whole universe finds the cells that
//! would help most, and proves by the best of them how far the mixture still is from the optimum (the Frank–Wolfe gap);
//! then the weights of the cells found so far are corrected ([`super::corral`], or [`super::steps`] where the answers
//! have very many dimensions).
//!
//! All is in shares of the people here: weights add up to 1, and the target is divided by the number of people.

use super::super::nested::{BlockSpreader, Nest, SumJoin, largest};
use super::super::predicate::Queries;
use super::corral::Corral;
use super::mixture::{Points, WeightCorrection};
use super::steps::GradientSteps;

/// Walks over the universe after which the mixture is taken as it is, with the gap that it has.
const MOST_WALKS: usize = 400;
/// Answers of more dimensions are corrected by steps: the corral has a triangle of as many rows.
const MOST_DIMENSIONS_OF_CORRAL: usize = 4000;
/// The gap among the cells found so far is brought to this share of the gap in the universe before that is walked
/// again.
const SHARE_OF_GAP: f64 = 0.25;

/// A mixture, and the proof of how good it is.
pub(super) struct NearestMixture {
    /// Cells with their weights; none for all cells evenly.
    pub(super) weights: Vec<(Option<usize>, f64)>,
    /// Its answers.
    pub(super) answers: Vec<f64>,
    /// max over all cells u of ⟨target − answers, Q(u) − answers⟩.
    pub(super) gap: f64,
}

/// The nearest mixture up to a gap of `enough`; or the best one found, if it takes too long.
pub(super) fn nearest(queries: &Queries, target: &[f64], enough: f64) -> NearestMixture {
    let points = Points::new(queries);
    if points.dimension() > MOST_DIMENSIONS_OF_CORRAL {
        walk(&points, target, enough, GradientSteps::new(&points, target))
    } else {
        walk(&points, target, enough, Corral::new(&points, target))
    }
}

pub(super) fn walk(
    points: &Points<'_>,
    target: &[f64],
    enough: f64,
    mut correct: impl WeightCorrection,
) -> NearestMixture {
    let search = CellSearch::new(points.queries(), points.dimension());
    let mut best = NearestMixture { weights: Vec::new(), answers: Vec::new(), gap: f64::INFINITY };
    let mut idle = 0;
    for _ in 0..MOST_WALKS {
        let mixture = correct.mixture();
        let residual = mixture.residual(points, target);
        let here = mixture.product(points, &residual);
        let found = search.best(points.queries().weights_of_tables(&residual), here);
        // No mixture is better than its best cell; below 0 there is only rounding.
        let gap = (found.largest - here).max(0.0);
        if gap < best.gap {
            best = NearestMixture { weights: mixture.weights_of_cells(), answers: mixture.answers(points), gap };
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

/// The search for the cells that weigh most.
pub(super) struct CellSearch {
    nest: Nest,
    /// One cell of each stretch of this many cells can be found.
    stretch: usize,
    /// At most this many cells are found at a time.
    most: usize,
}

/// What a search has found.
pub(super) struct HeaviestCells {
    /// The largest weight of all cells of the universe.
    pub(super) largest: f64,
    /// Cells that weigh more than was asked for, the heaviest first.
    pub(super) cells: Vec<usize>,
}

impl CellSearch {
    pub(super) fn new(queries: &Queries, dimension: usize) -> Self {
        let nest = Nest::new(queries.domain(), &queries.tables());
        let stretch = (queries.domain().cells() / 1024).clamp(1, 512);
        Self { nest, stretch, most: (dimension / 8).clamp(64, 4096) }
    }

    /// Walks over all cells: a cell weighs what the tables say, added up.
    pub(super) fn best(&self, tables: Vec<Vec<f64>>, above: f64) -> HeaviestCells {
        let mut spread = BlockSpreader::<SumJoin>::new(&self.nest, tables);
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
        HeaviestCells { largest: most, cells: heavy.into_iter().map(|(_, cell)| cell).collect() }
    }
}
