//! Rényi moments of tests along a tree of lists, for zCDP.
//!
//! For an order α the moment E\[(P/Q)^{α−1}\] of the whole output is a product of moments of tests. If the nodes that
//! are touched form one path, the recursion over that path is exact; otherwise adaptive composition over the touched
//! nodes bounds it, with the worst counts found by a dynamic programme over the tree (counts do not grow upwards). The
//! result is certified, not only evaluated: a log-moment is convex in α, so between two orders it lies below its chord.

use super::{NodeTest, ln_fail_probability, ln_pass_probability};
use std::collections::HashMap;

/// The tests of all nodes, children before parents, the root last.
#[derive(Debug, Clone)]
pub(crate) struct TreeTests(pub(crate) Vec<NodeTest>);

/// Orders are 1 + FIRST·STEP^i; between them the chord of the log-moment is walked in finer steps.
const FIRST: f64 = 0.005;
const STEP: f64 = 1.15;
const FINER_STEPS: i32 = 128;
/// How much work is spent before the closed form ε·tanh(ε/2) is used instead.
const LARGEST_WORK: f64 = 1e9;
/// Log-moments beyond this are left to the closed form: they would overflow, and no such order matters.
const LARGEST_LOG_MOMENT: f64 = 600.0;
/// Added for rounding and for counts beyond the range of the dynamic programme (their weight is below e^{−40}).
const SLACK: f64 = 1e-9;
/// This many scales above a threshold the tests pass except for e^{−40}.
const FAR: f64 = 40.0;

/// Whether a string loses or gains the person that changes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum CountChange {
    Lose,
    Gain,
}

/// Which neighbours a moment is for, and whether the exact recursion over a path may be used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum NeighbourKind {
    /// One string loses and one gains; exact where the touched nodes form a path.
    Substitution,
    /// The same, by composition over the nodes always.
    Composed,
    /// One string loses or one gains.
    Presence,
}

impl TreeTests {
    /// ρ of these nodes' tests by composition alone, so that the sum over attributes bounds ρ of changing them all.
    /// Without the numbers of Theorem A, which hold for a set of attributes as a whole: each node has one test that
    /// loses and one that gains, 1/λ each.
    pub(crate) fn composed_rho(&self, touched: &[bool]) -> f64 {
        let nodes = self.0.iter().zip(touched).filter(|(_, touched)| **touched);
        let epsilon = nodes.map(|(node, _)| 2.0 / node.scale.get()).sum::<f64>() * (1.0 + 1e-12);
        self.certified(touched, epsilon, NeighbourKind::Composed)
    }

    /// ρ without looking at orders. A test that loses or gains is pure with 1/λ, hence (1/λ)·tanh(1/2λ); tests compose.
    /// And ε·tanh(ε/2) for all together, where ε is more than a sum over tests.
    fn closed_form(&self, touched: &[bool], epsilon: f64, neighbours: NeighbourKind) -> f64 {
        let rate = |node: &NodeTest| 1.0 / node.scale.get();
        let nodes = self.0.iter().zip(touched).filter(|(_, touched)| **touched).map(|(node, _)| node);
        let one_way = nodes.map(|node| rate(node) * (rate(node) / 2.0).tanh()).sum::<f64>() * (1.0 + 1e-12);
        match neighbours {
            NeighbourKind::Composed => 2.0 * one_way,
            NeighbourKind::Substitution => (2.0 * one_way).min(epsilon * (epsilon / 2.0).tanh()),
            NeighbourKind::Presence => one_way.min(epsilon * (epsilon / 2.0).tanh()),
        }
    }

    pub(crate) fn certified(&self, touched: &[bool], epsilon: f64, neighbours: NeighbourKind) -> f64 {
        let closed_form = self.closed_form(touched, epsilon, neighbours);
        // The recursion over a path works with moments themselves, the composition with their logarithms.
        let largest = if neighbours == NeighbourKind::Composed { f64::INFINITY } else { LARGEST_LOG_MOMENT };
        let counts = self.range_of_counts(touched);
        let nodes = touched.iter().filter(|&&touched| touched).count() as f64;
        // About this many orders are looked at: ρ is hardly below ε²/16, and orders beyond ε/ρ cannot matter.
        let orders = (16.0 / (FIRST * epsilon)).max(2.0).ln() / STEP.ln() + 20.0;
        if epsilon == 0.0 || !epsilon.is_finite() || counts.len() * (nodes + 200.0) * orders > LARGEST_WORK {
            return closed_form;
        }
        // D_α ≤ D at the first order for all orders below it.
        let mut excess = FIRST;
        let mut log_moment = self.log_moment(touched, 1.0 + excess, &counts, neighbours).min(epsilon * excess);
        let mut bound = log_moment / excess;
        while epsilon / (1.0 + excess) > bound {
            let next_excess = excess * STEP;
            if next_excess * epsilon > largest {
                return closed_form;
            }
            let next = self.log_moment(touched, 1.0 + next_excess, &counts, neighbours).min(epsilon * next_excess);
            bound = bound.max(largest_slope((excess, log_moment), (next_excess, next)));
            (excess, log_moment) = (next_excess, next);
        }
        (bound + SLACK).min(closed_form)
    }

    fn range_of_counts(&self, touched: &[bool]) -> CountRange {
        let nodes = || self.0.iter().zip(touched).filter(|(_, touched)| **touched).map(|(node, _)| node);
        let lowest = nodes().map(NodeTest::floor).min().unwrap_or(0) - 2;
        let highest = nodes().map(|node| node.threshold as f64 + FAR * node.scale.get() + 10.0).fold(0.0, f64::max);
        CountRange { lowest, highest }
    }

    /// (α − 1)·D_α of the outputs, an upper bound over all neighbours; convex in α.
    fn log_moment(&self, touched: &[bool], order: f64, counts: &CountRange, neighbours: NeighbourKind) -> f64 {
        let worst = |direction| {
            let mut tables = HashMap::new();
            match self.path(touched).filter(|_| neighbours != NeighbourKind::Composed) {
                Some(path) => self.path_log_moment(&path, order, counts, direction, &mut tables),
                None => self.tree_log_moment(touched, order, counts, direction, &mut tables),
            }
        };
        let (lose, gain) = (worst(CountChange::Lose), worst(CountChange::Gain));
        if neighbours == NeighbourKind::Presence { lose.max(gain) } else { lose + gain }
    }

    /// The touched nodes from the bottom up, if they form one path.
    fn path(&self, touched: &[bool]) -> Option<Vec<usize>> {
        let forks = |index: &usize| self.0[*index].below.iter().copied().filter(|&child| touched[child]).count() > 1;
        let path: Vec<usize> = (0..self.0.len()).filter(|&index| touched[index]).collect();
        (!path.iter().any(forks)).then_some(path)
    }

    /// Exact: R_ℓ(c) = out(c) + in(c)·max_{c' ≤ c} R_{ℓ+1}(c'), from the root down.
    fn path_log_moment(
        &self,
        path: &[usize],
        order: f64,
        counts: &CountRange,
        direction: CountChange,
        tables: &mut TermCache,
    ) -> f64 {
        let mut above = vec![1.0f64; counts.number()];
        for (step, &index) in path.iter().rev().enumerate() {
            let node = &self.0[index];
            let terms = Terms::of(tables, node, order, direction, step == 0);
            for (position, value) in above.iter_mut().enumerate() {
                let at = terms.index(counts.lowest + position as i64 - node.threshold);
                *value = terms.fail[at] + terms.pass[at] * *value;
            }
            // The node below has at least this count.
            prefix_maximum(&mut above);
        }
        above[above.len() - 1].ln()
    }

    /// Adaptive composition: the largest Σ ln(in + out) over counts that do not grow upwards.
    fn tree_log_moment(
        &self,
        touched: &[bool],
        order: f64,
        counts: &CountRange,
        direction: CountChange,
        tables: &mut TermCache,
    ) -> f64 {
        let root = self.0.len() - 1;
        let mut totals: Vec<Vec<f64>> = vec![Vec::new(); self.0.len()];
        for (index, node) in self.0.iter().enumerate().filter(|(index, _)| touched[*index]) {
            let mut total = vec![0.0; counts.number()];
            for child in node.below.iter().copied().filter(|&child| touched[child]) {
                let below = std::mem::take(&mut totals[child]);
                total.iter_mut().zip(&below).for_each(|(sum, term)| *sum += term);
            }
            let terms = Terms::of(tables, node, order, direction, index == root);
            for (position, sum) in total.iter_mut().enumerate() {
                *sum += terms.log_both[terms.index(counts.lowest + position as i64 - node.threshold)];
            }
            suffix_maximum(&mut total);
            totals[index] = total;
        }
        totals[root][0]
    }
}

/// The largest D_α/α between two orders, given as (α − 1, log-moment): below the chord, walked in steps that bound it
/// from above.
fn largest_slope(from: (f64, f64), to: (f64, f64)) -> f64 {
    let chord = |excess: f64| from.1 + (to.1 - from.1) * (excess - from.0) / (to.0 - from.0);
    let step = (to.0 / from.0).powf(1.0 / f64::from(FINER_STEPS));
    let mut worst = 0.0f64;
    for k in 0..FINER_STEPS {
        let left = from.0 * step.powi(k);
        let right = left * step;
        worst = worst.max(chord(left).max(chord(right)) / (left * (1.0 + left)));
    }
    worst
}

type TermCache = HashMap<(u64, i64, bool), Terms>;

/// Σ P^α Q^{1−α} over "passes" and "fails" of one kind of node, by the clipped distance of the count from the
/// threshold.
struct Terms {
    lowest: i64,
    pass: Vec<f64>,
    fail: Vec<f64>,
    log_both: Vec<f64>,
}

impl Terms {
    fn of<'a>(
        tables: &'a mut TermCache,
        node: &NodeTest,
        order: f64,
        direction: CountChange,
        counts_released: bool,
    ) -> &'a Self {
        let key = (node.scale.get().to_bits(), node.clip, counts_released);
        tables.entry(key).or_insert_with(|| {
            let (lowest, highest) = (-node.clip - 1, (FAR * node.scale.get()).ceil() as i64 + 10);
            let logs: Vec<(f64, f64)> =
                (lowest..=highest).map(|above| log_terms(node, above, order, direction, counts_released)).collect();
            Self {
                lowest,
                pass: logs.iter().map(|(pass, _)| pass.exp()).collect(),
                fail: logs.iter().map(|(_, fail)| fail.exp()).collect(),
                log_both: logs.iter().map(|&(pass, fail)| log_sum(pass, fail)).collect(),
            }
        })
    }

    /// Below the lowest distance all is clipped; above the highest nothing changes any more.
    fn index(&self, above: i64) -> usize {
        usize::try_from(above - self.lowest).unwrap_or(0).min(self.pass.len() - 1)
    }
}

/// The counts that the dynamic programmes look at: below, everything is clipped; above, tests pass except for e^{−60}.
struct CountRange {
    lowest: i64,
    highest: f64,
}

impl CountRange {
    fn len(&self) -> f64 {
        self.highest - self.lowest as f64 + 1.0
    }

    fn number(&self) -> usize {
        self.len().max(1.0) as usize
    }
}

/// ln of Σ P^α Q^{1−α} over "passes" and over "fails", where P is `above` over the threshold and Q at the neighbour's
/// count. With `counts_released` the pass carries the noisy count.
fn log_terms(node: &NodeTest, above: i64, order: f64, direction: CountChange, counts_released: bool) -> (f64, f64) {
    let scale = node.scale.get();
    let here = above.max(-node.clip);
    let there = match direction {
        CountChange::Lose => (above - 1).max(-node.clip),
        CountChange::Gain => (above + 1).max(-node.clip),
    };
    let mix = |p: f64, q: f64| order * p + (1.0 - order) * q;
    let fail = mix(ln_fail_probability(scale, here), ln_fail_probability(scale, there));
    let pass = if here == there || !counts_released {
        mix(ln_pass_probability(scale, here), ln_pass_probability(scale, there))
    } else {
        log_released(1.0 / scale, here, order, direction)
    };
    (pass, fail)
}

/// ln Σ_{v > τ} P(v)^α Q(v)^{1−α} for discrete Laplace noise around counts that are one apart: each ratio is e^{±1/λ}.
fn log_released(rate: f64, above: i64, order: f64, direction: CountChange) -> f64 {
    let (up, down) = (rate * (order - 1.0), -rate * (order - 1.0));
    let norm = (-rate).exp().ln_1p();
    // ln P[Z ≥ k], k ≥ 1, and ln(1 − e^{−u·rate}).
    let tail = |k: i64| -(k as f64) * rate - norm;
    let missing = |u: i64| (-f64::exp_m1(-(u as f64) * rate)).ln();
    match direction {
        CountChange::Lose if above <= 0 => up + tail(1 - above),
        CountChange::Lose => log_sum(up - norm, down - rate + missing(above - 1) - norm),
        CountChange::Gain if above <= 0 => down + tail(1 - above),
        CountChange::Gain => log_sum(up + missing(above) - norm, down + tail(1)),
    }
}

fn log_sum(a: f64, b: f64) -> f64 {
    let (large, small) = if a > b { (a, b) } else { (b, a) };
    if small == f64::NEG_INFINITY { large } else { large + (small - large).exp().ln_1p() }
}

fn prefix_maximum(values: &mut [f64]) {
    let mut best = f64::NEG_INFINITY;
    for value in values {
        best = best.max(*value);
        *value = best;
    }
}

fn suffix_maximum(values: &mut [f64]) {
    let mut best = f64::NEG_INFINITY;
    for value in values.iter_mut().rev() {
        best = best.max(*value);
        *value = best;
    }
}
