//! Non-negative tables that explain noisy coefficients: entropic fits, and the choice of interactions.
//!
//! All of it is post-processing of what was released. Everything is one convex problem: given a reference table p and
//! noisy coefficients y with variances τ², minimise KL(q‖p) + Σ (z(q) − y)²/(2·ridge·τ²). Its dual has one parameter
//! per coefficient, q = p·exp(Uᵀθ), and is smooth and strongly convex; L-BFGS solves it with one walk over the cells
//! per step ([`coordinates`]).
//!
//! With ridge = 1 and p the population that people are drawn from, this is the most likely table: a multinomial sample
//! q has probability about e^{−n·KL(q‖p)}, and the noise is Gaussian. The population is itself fitted, with a small
//! ridge, by a log-linear model with all pairs and those larger interactions that the noise cannot explain (empirical
//! Bayes): what is not significant is shrunk towards the model by just as much as its noise deserves.

use super::domain::{Domain, Subset};
use super::nested;
use coordinates::Coordinates;
use std::collections::{BTreeMap, VecDeque};

mod coordinates;

/// A noisy coefficient of the table of counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Coefficient {
    pub(super) index: usize,
    pub(super) subset: Subset,
    pub(super) value: f64,
    pub(super) variance: f64,
}

/// The population is fitted almost freely: what its noise allows, except for this share of the prior.
const POPULATION_RIDGE: f64 = 0.003;
/// An interaction is taken up if its misfit is this many standard deviations above what noise and sampling explain.
const SIGNIFICANT: f64 = 4.0;
/// All interactions of up to this many attributes are taken up without asking.
const ALWAYS: usize = 2;
/// Evaluations after which a fit is taken as it is.
const MOST_EVALUATIONS: usize = 400;
/// A fit ends once a step improves the log-likelihood by less.
const TOLERANCE: f64 = 1e-3;
const MEMORY: usize = 10;

/// The most likely table of counts among those with the observed number of people.
///
/// That number is no coefficient like others: where cells are empty, noise wants some of them below 0, and the fit
/// would rather believe in more people (1,500 of 1.4 million, always too many) than in the noise.
pub(super) fn most_likely_table(domain: &Domain, observed: &[Coefficient]) -> Vec<f64> {
    let cells = domain.cells() as f64;
    let total = observed.iter().find(|coefficient| coefficient.subset.is_empty());
    let total = total.map_or(1.0, |coefficient| coefficient.value * cells.sqrt()).max(1.0);
    let exactly = Coefficient { index: 0, subset: Subset::EMPTY, value: total / cells.sqrt(), variance: 0.0 };
    let of = |coefficient: &Coefficient| if coefficient.subset.is_empty() { exactly } else { *coefficient };
    let observed: Vec<Coefficient> = observed.iter().map(of).collect();
    let uniform = vec![total / cells; domain.cells()];
    let population = population(domain, &observed, &uniform, total);
    let start = vec![0.0; observed.len()];
    let mut cells = fitted(&Coordinates::new(domain, &observed), &population, &observed, 1.0, &start).cells;
    // A fit ends a little before it is exact.
    let found = nested::total(&cells);
    cells.iter_mut().for_each(|cell| *cell *= total / found);
    cells
}

/// The log-linear model with all pairs and the significant larger interactions.
fn population(domain: &Domain, observed: &[Coefficient], uniform: &[f64], total: f64) -> Vec<f64> {
    let mut taken: Vec<Subset> = Vec::new();
    let mut parameters = vec![0.0; observed.len()];
    // More interactions than this are no sparse model any more; what is left is for the last fit.
    let most = 3 * domain.attributes();
    let all = Coordinates::new(domain, observed);
    loop {
        let is_taken = |subset: Subset| subset.len() <= ALWAYS || taken.iter().any(|&larger| subset.is_within(larger));
        let kept: Vec<usize> = (0..observed.len()).filter(|&k| is_taken(observed[k].subset)).collect();
        let chosen: Vec<Coefficient> = kept.iter().map(|&k| observed[k]).collect();
        let start: Vec<f64> = kept.iter().map(|&k| parameters[k]).collect();
        let fit = fitted(&Coordinates::new(domain, &chosen), uniform, &chosen, POPULATION_RIDGE, &start);
        kept.iter().zip(&fit.parameters).for_each(|(&k, &parameter)| parameters[k] = parameter);
        let expected = all.of_cells(&fit.cells);
        match least_explained(observed, &expected, total / domain.cells() as f64, |subset| !is_taken(subset)) {
            Some((subset, misfit)) if misfit > SIGNIFICANT && taken.len() < most => taken.push(subset),
            _ => return fit.cells,
        }
    }
}

/// The candidate interaction whose coefficients the table explains least: (χ² − k)/√(2k) of its k coefficients, with
/// the variance of the noise and of sampling people. `expected` are the table's coefficients.
fn least_explained(
    observed: &[Coefficient],
    expected: &[f64],
    sampling: f64,
    is_candidate: impl Fn(Subset) -> bool,
) -> Option<(Subset, f64)> {
    let mut sums: BTreeMap<Subset, (f64, f64)> = BTreeMap::new();
    let candidates = observed.iter().zip(expected).filter(|(coefficient, _)| is_candidate(coefficient.subset));
    for (coefficient, expected) in candidates {
        let sum = sums.entry(coefficient.subset).or_insert((0.0, 0.0));
        sum.0 += (coefficient.value - expected).powi(2) / (coefficient.variance + sampling);
        sum.1 += 1.0;
    }
    let misfits = sums.into_iter().map(|(subset, (sum, number))| (subset, (sum - number) / (2.0 * number).sqrt()));
    misfits.max_by(|left, right| left.1.total_cmp(&right.1))
}

struct MaxEntropyFit {
    cells: Vec<f64>,
    parameters: Vec<f64>,
}

struct FitPoint {
    parameters: Vec<f64>,
    objective: f64,
    gradient: Vec<f64>,
    cells: Vec<f64>,
}

/// Minimises the dual D(θ) = Σq − θ·y + ½·ridge·Στ²θ², q = p·exp(Uᵀθ).
fn fitted(
    coordinates: &Coordinates,
    reference: &[f64],
    observed: &[Coefficient],
    ridge: f64,
    start: &[f64],
) -> MaxEntropyFit {
    let mean = nested::total(reference) / reference.len() as f64;
    let scaling: Vec<f64> = observed.iter().map(|c| 1.0 / (ridge * c.variance + mean).max(1e-300)).collect();
    let evaluate = |parameters: Vec<f64>| evaluated(coordinates, reference, observed, ridge, parameters);
    let mut point = evaluate(start.to_vec());
    let mut history: VecDeque<(Vec<f64>, Vec<f64>)> = VecDeque::new();
    let mut evaluations = 1;
    while evaluations < MOST_EVALUATIONS {
        let direction = descent_direction(&point.gradient, &history, &scaling);
        let slope = dot(&point.gradient, &direction);
        if slope >= 0.0 {
            break;
        }
        let mut step = if history.is_empty() { first_step(coordinates, &direction) } else { 1.0 };
        let next = loop {
            let moved =
                point.parameters.iter().zip(&direction).map(|(parameter, way)| parameter + step * way).collect();
            let next = evaluate(moved);
            evaluations += 1;
            if next.objective <= point.objective + 1e-4 * step * slope || step < 1e-8 {
                break next;
            }
            step /= 2.0;
        };
        if next.objective >= point.objective {
            break;
        }
        let improvement = point.objective - next.objective;
        remember(&mut history, &point, &next);
        point = next;
        if improvement < TOLERANCE {
            break;
        }
    }
    MaxEntropyFit { cells: point.cells, parameters: point.parameters }
}

fn evaluated(
    coordinates: &Coordinates,
    reference: &[f64],
    observed: &[Coefficient],
    ridge: f64,
    parameters: Vec<f64>,
) -> FitPoint {
    let (cells, expected) = coordinates.tilted(reference, &parameters);
    let mut objective: f64 = nested::total(&cells);
    let mut gradient = Vec::with_capacity(observed.len());
    for ((coefficient, &parameter), expected) in observed.iter().zip(&parameters).zip(expected) {
        let pull = ridge * coefficient.variance * parameter;
        objective += parameter * (pull / 2.0 - coefficient.value);
        gradient.push(expected - coefficient.value + pull);
    }
    FitPoint { parameters, objective, gradient, cells }
}

/// The first step changes no log-cell by more than 1.
fn first_step(coordinates: &Coordinates, direction: &[f64]) -> f64 {
    let largest = coordinates.largest_change(direction);
    if largest > 1.0 { 1.0 / largest } else { 1.0 }
}

/// The two-loop recursion of L-BFGS with a diagonal start.
fn descent_direction(gradient: &[f64], history: &VecDeque<(Vec<f64>, Vec<f64>)>, scaling: &[f64]) -> Vec<f64> {
    let mut direction = gradient.to_vec();
    let mut factors = Vec::with_capacity(history.len());
    for (step, change) in history.iter().rev() {
        let factor = dot(step, &direction) / dot(step, change);
        add_scaled(&mut direction, change, -factor);
        factors.push(factor);
    }
    let mut size = 1.0;
    if let Some((step, change)) = history.back() {
        let curvature: f64 = change.iter().zip(scaling).map(|(value, scale)| value * value * scale).sum();
        size = dot(step, change) / curvature;
    }
    direction.iter_mut().zip(scaling).for_each(|(value, scale)| *value *= scale * size);
    for ((step, change), factor) in history.iter().zip(factors.iter().rev()) {
        let back = dot(change, &direction) / dot(step, change);
        add_scaled(&mut direction, step, factor - back);
    }
    direction.iter_mut().for_each(|value| *value = -*value);
    direction
}

fn remember(history: &mut VecDeque<(Vec<f64>, Vec<f64>)>, from: &FitPoint, to: &FitPoint) {
    let difference = |left: &[f64], right: &[f64]| left.iter().zip(right).map(|(l, r)| l - r).collect::<Vec<f64>>();
    let step = difference(&to.parameters, &from.parameters);
    let change = difference(&to.gradient, &from.gradient);
    if dot(&step, &change) > 0.0 {
        history.push_back((step, change));
        if history.len() > MEMORY {
            history.pop_front();
        }
    }
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

fn add_scaled(target: &mut [f64], other: &[f64], factor: f64) {
    target.iter_mut().zip(other).for_each(|(value, other)| *value += factor * other);
}
