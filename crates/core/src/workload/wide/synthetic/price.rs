//! Which tables are worth their cost. Everything here is a function of noisy numbers.

use super::levels::ColumnLevels;
use super::tree::{JunctionTree, LevelColumns};
use std::collections::BTreeMap;

/// A set of columns that could be measured.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TableCandidate {
    pub(super) set: LevelColumns,
    /// By how many people the table is off, beyond what chance explains, by a noisy score.
    pub(super) score: f64,
    /// The standard error of the score.
    pub(super) error: f64,
    /// What the table would have by the model, in people.
    pub(super) expected: Vec<f64>,
}

/// A table that shall be measured, with what its ρ weighs among the others'.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChosenTable {
    pub(super) set: LevelColumns,
    pub(super) weight: f64,
}

/// The mean absolute error of noise of σ = 1 is 0.8; what is left of it after a table is drawn towards the model and
/// fitted is less.
const PRICE: f64 = 0.25;
/// How many tables a round measures, about.
const USUAL_TABLES: f64 = 15.0;
/// A gain must be this many standard errors of its score above nothing.
const DOUBT: f64 = 1.0;
/// Tables of all cliques have at most this many cells, beside those of the columns themselves.
const MOST_CELLS: usize = 300_000;

/// How many cells a tree of these columns may have.
pub(super) fn room(levels: &[ColumnLevels]) -> usize {
    MOST_CELLS + levels.iter().map(|own| own.0[0].bins).sum::<usize>()
}
/// Sets that are tried for a place in the tree.
const MOST_TRIED: usize = 400;

/// E|N − μ| of a Poisson number N of mean μ: 2·e^{−μ}·μ^{⌊μ⌋+1}/⌊μ⌋!
fn chance(mean: f64) -> f64 {
    if mean > 30.0 {
        return (2.0 * mean / std::f64::consts::PI).sqrt();
    }
    if mean <= 0.0 {
        return 0.0;
    }
    let whole = mean.floor();
    2.0 * ((whole + 1.0) * mean.ln() - mean - libm::lgamma(whole + 1.0)).exp()
}

/// How far a table is from its expectation by chance alone.
pub(super) fn by_chance(expected: &[f64]) -> f64 {
    expected.iter().map(|&mean| chance(mean)).sum()
}

/// Leaves of each triple's score what its pairs do not show: a table is off by at least as much as those of its
/// columns, so that a pair that is off would make all triples with it look worthwhile.
pub(super) fn beyond_pairs(candidates: &mut [TableCandidate]) {
    let mut pairs: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
    for candidate in candidates.iter().filter(|candidate| candidate.set.len() == 2) {
        let best = pairs.entry((candidate.set[0].0, candidate.set[1].0)).or_default();
        if candidate.score > best.0 {
            *best = (candidate.score, candidate.error);
        }
    }
    for triple in candidates.iter_mut().filter(|candidate| candidate.set.len() == 3) {
        let [one, two, three] = [0, 1, 2].map(|place| triple.set[place].0);
        let inside = [(one, two), (one, three), (two, three)].map(|pair| pairs.get(&pair).copied().unwrap_or_default());
        let (score, error) = inside.into_iter().fold((0.0, 0.0), |most, own| if own.0 > most.0 { own } else { most });
        triple.score -= score;
        triple.error = triple.error.hypot(error);
    }
}

/// The error that measuring leaves is about this over √ρ: only cells that stand out of noise of σ count.
fn price(expected: &[f64], sigma: f64) -> f64 {
    PRICE * std::f64::consts::FRAC_1_SQRT_2 * expected.iter().map(|mean| (1.5 * mean / sigma).min(1.0)).sum::<f64>()
}

fn columns(set: &LevelColumns) -> Vec<usize> {
    set.iter().map(|(column, _)| *column).collect()
}

/// A tree of pairs: each pair at the level that gains most if each of the tree's tables got ρ, the best pairs first.
pub(super) fn spanning(
    candidates: &[TableCandidate],
    first: &[LevelColumns],
    number: usize,
    rho: f64,
) -> Vec<ChosenTable> {
    let sigma = (0.5 / rho).sqrt();
    let mut edges: Vec<(f64, f64, &LevelColumns)> = Vec::new();
    for own in candidates.chunk_by(|one, two| columns(&one.set) == columns(&two.set)) {
        let gain = |candidate: &TableCandidate| {
            let price = price(&candidate.expected, sigma);
            (candidate.score - DOUBT * candidate.error - price / rho.sqrt(), price)
        };
        let each = own.iter().map(|candidate| match gain(candidate) {
            (_, price) if first.contains(&candidate.set) => (f64::INFINITY, price, &candidate.set),
            (gain, price) => (gain, price, &candidate.set),
        });
        edges.extend(each.max_by(|one, two| one.0.total_cmp(&two.0)));
    }
    edges.sort_by(|one, two| two.0.total_cmp(&one.0));
    let mut part: Vec<usize> = (0..number).collect();
    let mut chosen = Vec::new();
    for (_, price, set) in edges.into_iter().filter(|(gain, ..)| *gain > 0.0) {
        let (one, two) = (part[set[0].0], part[set[1].0]);
        if one != two {
            part.iter_mut().filter(|own| **own == two).for_each(|own| *own = one);
            chosen.push(ChosenTable { set: set.clone(), weight: price.powf(2.0 / 3.0) });
        }
    }
    chosen
}

/// The sets that gain most for ρ in all, among those that find a place in a tree beside the `kept` ones.
///
/// With a price λ of a unit of ρ, a set that is measured gets ρ = (a/2λ)^{2/3}, which is where its error a/√ρ plus its
/// price is least; λ is such that all is spent.
pub(super) fn worthwhile(
    candidates: &[TableCandidate],
    kept: &[LevelColumns],
    levels: &[ColumnLevels],
    rho: f64,
) -> Vec<ChosenTable> {
    let sigma = (0.5 * USUAL_TABLES / rho).sqrt();
    let prices: Vec<f64> = candidates.iter().map(|candidate| price(&candidate.expected, sigma)).collect();
    let at = |number: usize, lambda: f64| -> (f64, f64) {
        let (candidate, price) = (&candidates[number], prices[number]);
        let own = (price / (2.0 * lambda)).powf(2.0 / 3.0);
        (candidate.score - DOUBT * candidate.error - price / own.sqrt() - lambda * own, own)
    };
    let numbers: Vec<usize> = (0..candidates.len()).collect();
    let same: Vec<&[usize]> =
        numbers.chunk_by(|&one, &two| columns(&candidates[one].set) == columns(&candidates[two].set)).collect();
    let best = |own: &[usize], lambda: f64| -> Option<(f64, f64, usize)> {
        let each = own.iter().map(|&number| (at(number, lambda), number)).filter(|((gain, _), _)| *gain > 0.0);
        each.max_by(|one, two| one.0.0.total_cmp(&two.0.0)).map(|((gain, own), number)| (gain, own, number))
    };
    let (mut low, mut high) = (1e-6f64, 1e18f64);
    for _ in 0..100 {
        let lambda = (low * high).sqrt();
        let spent: f64 = same.iter().filter_map(|own| best(own, lambda)).map(|(_, own, _)| own).sum();
        if spent > rho {
            low = lambda;
        } else {
            high = lambda;
        }
    }
    let mut wanted: Vec<(f64, f64, &[usize])> =
        same.iter().filter_map(|own| best(own, high).map(|(gain, rho, _)| (gain, rho, *own))).collect();
    wanted.sort_by(|one, two| two.0.total_cmp(&one.0));
    let (mut sets, mut chosen) = (kept.to_vec(), Vec::new());
    for (_, _, own) in wanted.into_iter().take(MOST_TRIED) {
        // The best level first; where that finds no place, the next.
        let mut each: Vec<(f64, f64, usize)> =
            own.iter().map(|&number| (at(number, high).0, at(number, high).1, number)).collect();
        each.sort_by(|one, two| two.0.total_cmp(&one.0));
        for (_, rho, number) in each.into_iter().filter(|(gain, ..)| *gain > 0.0) {
            sets.push(candidates[number].set.clone());
            if JunctionTree::new(levels, &sets, room(levels)).is_some() {
                chosen.push(ChosenTable { set: candidates[number].set.clone(), weight: rho });
                break;
            }
            sets.pop();
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_the_mean_deviation_of_a_poisson_number() {
        for mean in [0.01f64, 0.5, 1.0, 3.7, 20.0, 29.9] {
            let mut probability = (-mean).exp();
            let mut sum = 0.0;
            for number in 0..400 {
                sum += probability * (f64::from(number) - mean).abs();
                probability *= mean / f64::from(number + 1);
            }
            assert!((chance(mean) / sum - 1.0).abs() < 1e-9, "{mean}: {} {sum}", chance(mean));
        }
        assert!((chance(30.1) / chance(30.0) - 1.0).abs() < 0.01 && chance(0.0) == 0.0);
    }

    #[test]
    fn a_triple_is_worth_what_its_pairs_do_not_show() {
        let candidate = |columns: &[usize], score: f64, error: f64| TableCandidate {
            set: columns.iter().map(|&column| (column, 0)).collect(),
            score,
            error,
            expected: Vec::new(),
        };
        let mut all = [
            candidate(&[0, 1], 100.0, 3.0),
            candidate(&[0, 1], 90.0, 50.0),
            candidate(&[0, 2], -40.0, 3.0),
            candidate(&[0, 1, 2], 130.0, 4.0),
            candidate(&[0, 2, 3], 70.0, 4.0),
        ];
        beyond_pairs(&mut all);
        assert_eq!(all.each_ref().map(|one| (one.score, one.error))[..3], [(100.0, 3.0), (90.0, 50.0), (-40.0, 3.0)]);
        assert_eq!((all[3].score, all[3].error, all[4].score, all[4].error), (30.0, 5.0, 70.0, 4.0));
    }

    #[test]
    fn a_strong_pair_is_taken_and_one_that_costs_more_than_it_gains_is_not() {
        let levels: Vec<ColumnLevels> = (0..3).map(|_| ColumnLevels::new(&[0.5, 0.5], &[0, 0])).collect();
        let candidate = |one: usize, two: usize, score: f64| TableCandidate {
            set: vec![(one, 0), (two, 0)],
            score,
            error: 10.0,
            expected: vec![250.0; 4],
        };
        let all = [candidate(0, 1, 500.0), candidate(0, 2, 5.0), candidate(1, 2, 400.0)];
        let sets =
            |chosen: Vec<ChosenTable>| -> Vec<Vec<usize>> { chosen.iter().map(|one| columns(&one.set)).collect() };
        assert_eq!(sets(spanning(&all, &[], 3, 0.005)), [vec![0, 1], vec![1, 2]]);
        assert_eq!(sets(worthwhile(&all, &[], &levels, 0.01)), [vec![0, 1], vec![1, 2]]);
        // So little budget that noise is more than there is to gain.
        let weak = [candidate(0, 1, 60.0)];
        assert!(spanning(&weak, &[], 3, 1e-9).is_empty() && worthwhile(&weak, &[], &levels, 1e-9).is_empty());
        // What is declared to be linked is taken first.
        let linked = spanning(&all, &[vec![(0, 0), (2, 0)]], 3, 0.005);
        assert_eq!(columns(&linked[0].set), [0, 2]);
    }
}
