//! Composition: tilted masses, one transform per source, a pointwise power, one transform back.
//!
//! Plain floating-point transforms have an absolute noise floor near 1e-16. Each source is tilted by e^{θℓ} first, with
//! θ the saddle point of the question, so that the answer is a sizeable part of the tilted law whatever δ is:
//! δ(ε) = e^{K(θ)−θε}·Σ_ℓ p̃(ℓ)·e^{−θ(ℓ−ε)}·(1 − e^{−(ℓ−ε)})₊, with K(θ) = Σ times·ln E\[e^{θ·loss}\].

use super::source::{DirectedPair, GridMasses, ROUNDOFF};
use realfft::RealFftPlanner;
use rustfft::num_complex::Complex64;
use std::cell::RefCell;

/// A source and how many times it runs.
pub(crate) struct RepeatedSource {
    pub(crate) source: DirectedPair,
    pub(crate) times: f64,
}

/// A source's masses at `start`, `start + step`, …
pub(crate) struct GriddedSource {
    pub(crate) masses: GridMasses,
    pub(crate) start: f64,
    pub(crate) times: f64,
    /// How far losses lie from nodes if all of them are nodes up to rounding.
    misfit: Option<f64>,
    /// What a cell's mass may be off by, relatively, because its ends are rounded.
    rounding: f64,
}

impl GriddedSource {
    /// Puts `part` on the grid of `step`, losing at most `tail` of its mass beyond the top.
    pub(crate) fn new(part: &RepeatedSource, step: f64, tail: f64) -> Self {
        let (low, high) = part.source.range(tail);
        let anchor = part.source.anchor();
        let first = ((low - anchor) / step - 1e-6).floor();
        let last = ((high - anchor) / step + 1e-6).ceil().max(first + 1.0);
        let count = (last - first) as usize + 1;
        let nodes: Vec<f64> = (0..count).map(|i| anchor + (first + i as f64) * step).collect();
        let masses = part.source.masses(&nodes);
        let misfit = part.source.misfit(anchor, step);
        // Moving an end of a cell by η changes what the cell's two atoms hold by η/step at most; a cell has two ends.
        let rounding = if misfit.is_none() { 2.0 * part.source.rounding(tail) / step } else { 0.0 };
        Self { misfit, masses, start: nodes[0], times: part.times, rounding }
    }

    /// The largest (sign 1) or least (sign −1) loss that has mass.
    pub(crate) fn end(&self, step: f64, sign: f64) -> f64 {
        let has_mass = |mass: &f64| *mass > 0.0;
        let at = &self.masses.at;
        let index = if sign > 0.0 { at.iter().rposition(has_mass) } else { at.iter().position(has_mass) };
        self.start + index.unwrap_or(0) as f64 * step
    }
}

/// Calls `visit(i, mass·e^{rate·(i − reference)}…)`; the factor is recomputed every 32 steps so that no error builds
/// up. For a positive rate the weights are relative to the last node, so that nothing overflows.
fn for_each_tilted(masses: &[f64], rate: f64, mut visit: impl FnMut(usize, f64)) {
    let reference = if rate > 0.0 { masses.len().saturating_sub(1) } else { 0 };
    let ratio = rate.exp();
    let mut factor = 1.0;
    for (i, &mass) in masses.iter().enumerate() {
        factor = if i % 32 == 0 { (rate * (i as f64 - reference as f64)).exp() } else { factor * ratio };
        if mass > 0.0 {
            visit(i, mass * factor);
        }
    }
}

impl GriddedSource {
    /// ln E[e^{θ·loss}] of one run.
    pub(crate) fn cumulant(&self, step: f64, theta: f64) -> f64 {
        let mut sum = 0.0;
        for_each_tilted(&self.masses.at, theta * step, |_, mass| sum += mass);
        let reference = if theta > 0.0 { (self.masses.at.len() - 1) as f64 * step } else { 0.0 };
        sum.ln() + theta * (self.start + reference)
    }
}

/// The tilted law of the sum of all losses, and what it may be off by.
pub(crate) struct ComposedLaw {
    theta: f64,
    step: f64,
    /// The loss at the first index.
    start: f64,
    /// K(θ), and K(0): the logarithm of the untilted mass, 0 except for what was raised.
    cumulant: f64,
    ln_mass: f64,
    /// p̃ at each index, with what lies outside of the window wrapped around.
    tilted: Vec<f64>,
    /// For every [`BLOCK`]th index j: B_j = Σ_{i≥j} p̃_i e^{−(θ+1)(ℓ_i−ℓ_j)} and
    /// C_j = Σ_{i≥j} p̃_i e^{−θ(ℓ_i−ℓ_j)}(1 − e^{−(ℓ_i−ℓ_j)}).
    sums: Vec<(f64, f64)>,
    /// What the transforms may be off by, in the 2-norm.
    transform_error: f64,
    /// The tilted mass outside of the window.
    outside: OutsideMass,
    /// The tilted mass that may be anywhere: raised to the first node, or doubtful.
    stray: f64,
    /// The largest weight of the sum for δ, and the weights' 2-norm.
    weight: (f64, f64),
    /// What the tilted sum may be off by, relatively.
    relative: f64,
    /// The mass at loss +∞: by the pairs, and with what truncation added.
    infinite: f64,
    infinite_upper: f64,
    /// The probability that some run's loss lay above its last node.
    beyond: f64,
    /// The variance of e^{−Z}, Z the sum of all moves to nodes.
    spread: f64,
    /// The sum of the losses' distances to nodes where they are nodes up to rounding, and the tilted mass that these
    /// moved.
    misfit: (f64, f64),
}

/// Bounds of the tilted mass below and above a window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutsideMass {
    pub(crate) below: f64,
    pub(crate) above: f64,
}

thread_local! {
    static PLANNER: RefCell<RealFftPlanner<f64>> = RefCell::new(RealFftPlanner::new());
}

/// How far apart the sums are that are kept.
const BLOCK: usize = 64;

/// Composes the gridded sources, tilted by `theta`, over `size` indices from the loss `from` (roughly).
pub(crate) fn compose(
    sources: &[GriddedSource],
    step: f64,
    theta: f64,
    (from, size): (f64, usize),
    outside: OutsideMass,
) -> ComposedLaw {
    let (forward, backward) =
        PLANNER.with_borrow_mut(|planner| (planner.plan_fft_forward(size), planner.plan_fft_inverse(size)));
    let mut product = Vec::new();
    let mut buffer = vec![0.0; size];
    let mut scratch = forward.make_scratch_vec();
    let (mut cumulant, mut base, mut runs, mut doubtful, mut transform_error) = (0.0, 0.0, 0.0, 0.0, 0.0);
    // Higham, Accuracy and Stability, Theorem 24.2: a relative error of log2(n)·(a few u) in the 2-norm.
    let per_transform = 8.0 * ROUNDOFF * (size as f64).log2();
    for source in sources {
        let cumulant_of_one = source.cumulant(step, theta);
        let reference = if theta > 0.0 { (source.masses.at.len() - 1) as f64 * step } else { 0.0 };
        let sum = (cumulant_of_one - theta * (source.start + reference)).exp();
        let norm = wrap_tilted(&source.masses.at, theta * step, 1.0 / sum, &mut buffer);
        cumulant += source.times * cumulant_of_one;
        doubtful += source.times * share(&source.masses.doubt, theta * step) / sum;
        base += source.times * source.start;
        runs += source.times;
        transform_error += source.times * per_transform * norm;
        let mut spectrum = forward.make_output_vec();
        // Lengths match the plan by construction, so the transform cannot fail.
        let _ = forward.process_with_scratch(&mut buffer, &mut spectrum, &mut scratch);
        raise_to_power(&mut spectrum, source.times);
        if product.is_empty() {
            product = spectrum;
        } else {
            product.iter_mut().zip(&spectrum).for_each(|(left, right)| *left *= right);
        }
    }
    if product.is_empty() {
        product = vec![Complex64::new(1.0, 0.0); size / 2 + 1];
    }
    product[0].im = 0.0;
    if size.is_multiple_of(2) {
        product[size / 2].im = 0.0;
    }
    let mut scratch = backward.make_scratch_vec();
    let _ = backward.process_with_scratch(&mut product, &mut buffer, &mut scratch);
    drop(product);
    // Index 0 of the window is the multiple of the step nearest below `from`.
    let first = ((from - base) / step).floor();
    let mut tilted = buffer;
    tilted.rotate_left(first.rem_euclid(size as f64) as usize % size);
    let scale = 1.0 / size as f64;
    tilted.iter_mut().for_each(|mass| *mass = (*mass * scale).max(0.0));
    let transform_error = transform_error + (12.0 * runs * ROUNDOFF + 2.0 * per_transform) * two_norm(&tilted);
    let raised: f64 = sources.iter().map(|source| raised_share(source, theta)).sum();
    let largest = if theta > 0.0 { (theta * (theta / (1.0 + theta)).ln()).exp() / (1.0 + theta) } else { 1.0 };
    // Σ w² over the window ≤ ∫w²/step + 2·max w², with w(x) = e^{−θx}(1 − e^{−x}), which rises and falls once.
    let integral = 1.0 / (2.0 * theta * (theta + 1.0) * (2.0 * theta + 1.0));
    let weight_norm = (integral / step + 2.0 * largest * largest).min(size as f64 * largest * largest).sqrt();
    let (infinite, infinite_upper) = infinite_mass(sources);
    let inexact: f64 = sources.iter().filter(|source| source.misfit.is_none()).map(|source| source.times).sum();
    let rounding: f64 = sources.iter().map(|source| source.times * source.rounding).sum();
    let misfit = |source: &GriddedSource| source.times * source.misfit.unwrap_or(0.0);
    let misfit: f64 = sources.iter().map(misfit).sum();
    // The sums' factors are rounded once per node; beyond 40/θ the weights are nothing.
    let summed = (size as f64).min(40.0 / (theta * step));
    ComposedLaw {
        theta,
        step,
        start: base + first * step,
        cumulant,
        ln_mass: sources.iter().map(|source| source.times * source.masses.at.iter().sum::<f64>().ln()).sum(),
        sums: suffix_sums(&tilted, step, theta),
        tilted,
        transform_error,
        outside,
        stray: raised + 2.0 * doubtful,
        weight: (largest, weight_norm),
        // Each mass, its tilt and its share in K are good to about 1e-13 relatively, run by run, except for rounded
        // ends of cells: the product of this many factors.
        relative: (1e-13 * (runs + 10.0) + rounding + 1e-15 * cumulant.abs() + 4.0 * ROUNDOFF * summed).exp_m1(),
        infinite,
        infinite_upper,
        beyond: sources.iter().map(|source| source.times * source.masses.beyond).sum(),
        spread: (inexact * (step / 2.0).sinh().powi(2).ln_1p()).exp_m1(),
        misfit: (misfit, misfit / step * (theta * step).exp()),
    }
}

fn two_norm(values: &[f64]) -> f64 {
    // Eight sums at once: one alone waits for each addition.
    let mut sums = [0.0; 8];
    let chunks = values.chunks_exact(8);
    let rest: f64 = chunks.remainder().iter().map(|value| value * value).sum();
    for chunk in chunks {
        sums.iter_mut().zip(chunk).for_each(|(sum, value)| *sum += value * value);
    }
    (sums.iter().sum::<f64>() + rest).sqrt()
}

/// Writes the tilted masses, times `scale`, around the circle of `buffer`, and gives their 2-norm there.
fn wrap_tilted(masses: &[f64], rate: f64, scale: f64, buffer: &mut [f64]) -> f64 {
    buffer.fill(0.0);
    let (size, mut turn) = (buffer.len(), 0);
    for_each_tilted(masses, rate, |i, mass| {
        while i - turn >= size {
            turn += size;
        }
        buffer[i - turn] += mass * scale;
    });
    two_norm(buffer)
}

/// The tilted sum of `masses`, on the scale of [`for_each_tilted`].
fn share(masses: &[f64], rate: f64) -> f64 {
    let mut sum = 0.0;
    for_each_tilted(masses, rate, |_, mass| sum += mass);
    sum
}

/// How much of the tilted law of all runs of a source was raised to the first node.
fn raised_share(source: &GriddedSource, theta: f64) -> f64 {
    if source.masses.raised == 0.0 {
        return 0.0;
    }
    // E[e^{θ·loss}] ≥ 1 for θ ≥ 0 on a probability law, by Jensen; the share is at most raised·e^{θ·start}.
    source.times * 2.0 * source.masses.raised * (theta * source.start.min(0.0)).exp()
}

fn infinite_mass(sources: &[GriddedSource]) -> (f64, f64) {
    let of = |mass: &dyn Fn(&GridMasses) -> f64| {
        let ln_finite: f64 = sources.iter().map(|source| source.times * (-mass(&source.masses)).ln_1p()).sum();
        -ln_finite.exp_m1()
    };
    (of(&|masses| masses.infinite), of(&|masses| (masses.infinite + masses.truncated).min(1.0)))
}

/// spectrum ← spectrum^times.
fn raise_to_power(spectrum: &mut [Complex64], times: f64) {
    if times == 1.0 {
        return;
    }
    // Below e^{−50} of the largest: far under the error that is accounted for.
    let least = (-100.0 / times).exp();
    for value in spectrum.iter_mut() {
        let square = value.norm_sqr();
        *value = if square < least {
            Complex64::new(0.0, 0.0)
        } else {
            let angle = (value.im.atan2(value.re) * times).rem_euclid(std::f64::consts::TAU);
            Complex64::from_polar((0.5 * times * square.ln()).exp(), angle)
        };
    }
}

/// The sums at one index from those at the next.
#[derive(Clone, Copy)]
struct SumRecursion {
    decay: f64,
    faster: f64,
    gain: f64,
}

impl SumRecursion {
    fn new(step: f64, theta: f64) -> Self {
        Self { decay: (-theta * step).exp(), faster: (-(theta + 1.0) * step).exp(), gain: -(-step).exp_m1() }
    }

    fn over(self, tilted: &[f64], after: (f64, f64)) -> (f64, f64) {
        let next = |(b, c): (f64, f64), mass: &f64| (mass + self.faster * b, self.decay * (c + self.gain * b));
        tilted.iter().rev().fold(after, next)
    }
}

fn suffix_sums(tilted: &[f64], step: f64, theta: f64) -> Vec<(f64, f64)> {
    let recursion = SumRecursion::new(step, theta);
    let mut sums = vec![(0.0, 0.0); tilted.len().div_ceil(BLOCK) + 1];
    for (block, masses) in tilted.chunks(BLOCK).enumerate().rev() {
        sums[block] = recursion.over(masses, sums[block + 1]);
    }
    sums
}

impl ComposedLaw {
    /// The first index whose loss is at least `epsilon`, with the distance up to it; None beyond the window's top.
    fn index(&self, epsilon: f64) -> Option<(usize, f64)> {
        let position = (epsilon - self.start) / self.step;
        let index = position.ceil().max(0.0);
        (index < self.tilted.len() as f64).then(|| (index as usize, (index - position).max(0.0) * self.step))
    }

    /// (the tilted sum relative to e^{K−θε}, that factor).
    fn sum(&self, epsilon: f64) -> (f64, f64) {
        let factor = (self.cumulant - self.theta * epsilon).exp();
        let Some((index, above)) = self.index(epsilon) else { return (0.0, factor) };
        let block = index.div_ceil(BLOCK);
        let within = &self.tilted[index..(block * BLOCK).min(self.tilted.len())];
        let (b, c) = SumRecursion::new(self.step, self.theta).over(within, self.sums[block]);
        ((c - (-above).exp_m1() * b) * (-self.theta * above).exp(), factor)
    }

    /// What the tilted sum for δ may be off by, absolutely, wherever the window ends.
    fn error(&self) -> f64 {
        self.transform_error * self.weight.1 + self.stray * self.weight.0
    }

    /// The loss at the last index.
    fn top(&self) -> f64 {
        self.start + self.step * (self.tilted.len() - 1) as f64
    }

    /// Whether ε lies within the window, not at its end.
    pub(crate) fn holds(&self, epsilon: f64) -> bool {
        epsilon > self.start && epsilon < self.top()
    }

    /// What the tilted sum can lack because mass lies above the window: weights there are at most e^{−θ(top−ε)}. (What
    /// is wrapped around only adds.)
    fn missing(&self, epsilon: f64) -> f64 {
        self.outside.above * (-self.theta * (self.top() - epsilon)).exp()
    }

    /// What the tilted sum can have too much because mass outside of the window is wrapped around.
    ///
    /// From above it is at most the mass there. From below, p̃(ℓ) = p(ℓ)·e^{θℓ−K} lands at ℓ + jW ≥ ε, j ≥ 1, W the
    /// window's width, with a weight of at most e^{−θ(ℓ+jW−ε)}: together at most e^{θ(ε−W)−K} times the mass of p.
    fn wrapped(&self, epsilon: f64) -> f64 {
        let width = self.tilted.len() as f64 * self.step;
        let landed = (self.theta * (epsilon - width) - self.cumulant + self.ln_mass).exp() * (1.0 + 1e-6);
        self.outside.above * self.weight.0 + landed.min(self.outside.below * self.weight.0)
    }

    /// A certified upper bound of δ(ε), for ε not below the window.
    pub(crate) fn delta_upper(&self, epsilon: f64) -> f64 {
        if epsilon < self.start {
            return 1.0;
        }
        let (sum, factor) = self.sum(epsilon);
        let finite = factor * (sum * (1.0 + self.relative) + self.error() + self.missing(epsilon));
        (self.infinite_upper * (1.0 + 1e-14) + finite).min(1.0)
    }

    /// A certified lower bound of δ(ε): what the moves to nodes may have added is taken off again.
    ///
    /// With Z the sum of all moves, U = e^{−Z} has mean 1 given the true losses and variance at most S². Hence moving
    /// adds at most E[R(u)/u], u = e^{L−ε}, R(u) = (√(S² + (u−1)²) − |u−1|)/2 (Scarf's bound for both signs of L−ε),
    /// and where |L−ε| = x ≥ 2s that is at most a Gaussian tail by Hoeffding's lemma. Both lie below C·e^{−a|x|}
    /// (see `envelope`), and E[e^{−a|L̂−ε|} | L] ≥ e^{−a|L−ε|}·e^{−a·E|Z|} carries the bound over to the moved losses
    /// L̂, which are known. A run whose loss lay above its last node was moved to +∞, which is taken off whole, or
    /// down, which adds nothing by itself; the other runs' moves then add at most the envelope's height times the
    /// probability of such a run.
    pub(crate) fn delta_lower(&self, epsilon: f64) -> f64 {
        if epsilon < self.start {
            return self.infinite;
        }
        // Losses that are nodes up to rounding were moved by at most the misfit, except for the mass that went one node
        // too far.
        let epsilon = epsilon + self.misfit.0;
        let (sum, factor) = self.sum(epsilon);
        let excess = self.excess(epsilon) + 2.0 * self.weight.0 * self.misfit.1;
        let error = self.error() + self.wrapped(epsilon);
        let finite = factor * (sum * (1.0 - self.relative) - error - excess * (1.0 + self.relative));
        if finite.is_nan() {
            return 0.0;
        }
        let lost = self.infinite_upper - self.infinite + envelope(self.spread.sqrt()) * self.beyond;
        (self.infinite * (1.0 - 1e-14) + finite - lost).clamp(0.0, 1.0)
    }

    /// δ(ε) of the moved losses as computed, and the bound of what moving has added to it: for tests.
    #[cfg(test)]
    pub(crate) fn moved_and_excess(&self, epsilon: f64) -> (f64, f64) {
        let (sum, factor) = self.sum(epsilon);
        (self.infinite + factor * sum, factor * self.excess(epsilon))
    }

    /// A bound of what moving to nodes has added to δ(ε), relative to e^{K−θε}.
    fn excess(&self, epsilon: f64) -> f64 {
        if self.spread <= 0.0 {
            return 0.0;
        }
        let s = self.spread.sqrt();
        if s > 0.25 {
            return f64::INFINITY;
        }
        let rate = ENVELOPE.1 / s;
        if rate <= 2.0 * self.theta + 2.0 {
            return f64::INFINITY;
        }
        let position = (epsilon - self.start) / self.step;
        let size = self.tilted.len();
        let middle = position.ceil().clamp(0.0, size as f64) as usize;
        let mut total = 0.0;
        // Above ε the weight is e^{−(a+θ)x}, below e^{−(a−θ)x}.
        let (up, down) = ((-(rate + self.theta) * self.step).exp(), (-(rate - self.theta) * self.step).exp());
        let mut weight = (-(rate + self.theta) * (middle as f64 - position).max(0.0) * self.step).exp();
        for &mass in &self.tilted[middle..] {
            total += mass * weight;
            weight *= up;
            if weight < 1e-18 {
                break;
            }
        }
        let mut weight = (-(rate - self.theta) * (position - middle as f64 + 1.0).max(0.0) * self.step).exp();
        for &mass in self.tilted[..middle].iter().rev() {
            total += mass * weight;
            weight *= down;
            if weight < 1e-18 {
                break;
            }
        }
        let weight_norm = (1.0 / ((rate - self.theta) * self.step) + 2.0).sqrt();
        let outside = self.outside.above * (-(rate + self.theta) * (self.top() - epsilon)).exp()
            + self.outside.below * (-(rate - self.theta) * (epsilon - self.start)).exp();
        envelope(s) * ENVELOPE.1.exp() * (total + self.transform_error * weight_norm + self.stray + outside + 1e-17)
    }

    /// The least ε with δ_upper(ε) ≤ `target`, within the window; infinite if there is none.
    pub(crate) fn epsilon_upper(&self, target: f64) -> f64 {
        if self.infinite_upper * (1.0 + 1e-14) >= target {
            return f64::INFINITY;
        }
        let top = self.top();
        if self.delta_upper(top) > target {
            return f64::INFINITY;
        }
        let low = self.start.max(0.0);
        if low >= top || self.delta_upper(low) <= target {
            return low.min(top.max(0.0));
        }
        super::super::special::bisect(low, top, 60, |epsilon| self.delta_upper(epsilon) <= target).1
    }

    /// An ε that is certainly too small for `target`, close below `upper`; 0 if none is known.
    pub(crate) fn epsilon_lower(&self, target: f64, upper: f64) -> f64 {
        if self.infinite * (1.0 - 1e-14) > target {
            return f64::INFINITY;
        }
        let top = if upper.is_finite() { upper } else { self.start + self.step * self.tilted.len() as f64 };
        let low = self.start.max(0.0);
        if low >= top {
            return 0.0;
        }
        let fails = |epsilon: f64| self.delta_lower(epsilon) > target;
        // Approach from just below the upper bound, in growing steps: evaluations there are the cheap ones.
        let mut gap = (top * 1e-6).max(1e-6 * self.step);
        let mut known = top;
        while !fails(top - gap) {
            known = top - gap;
            gap *= 4.0;
            if top - gap <= low {
                return if fails(low) { low } else { 0.0 };
            }
        }
        super::super::special::bisect(top - gap, known, 12, |epsilon| !fails(epsilon)).0
    }
}

/// C such that the better of both bounds of the added δ lies below C·e^{−0.7|x|/s}: in units of s, Scarf's
/// (√(1+t²)−t)/2 up to t = 2 and the Gaussian tail ∫_t^∞ e^{−y²/2}dy above, whose products with e^{0.7t} stay below 0.5
/// up to there and fall. The factor covers u ≠ 1 + x and the mean of Z, between 0 and s²/2 (k·h²/8 at most, cell by
/// cell), all of relative order s; a test checks the inequality itself, at every s up to 1/4.
pub(super) fn envelope(s: f64) -> f64 {
    ENVELOPE.0 * s * (1.0 + 8.0 * s)
}

/// The envelope's height and rate, in units of s.
pub(super) const ENVELOPE: (f64, f64) = (0.5, 0.7);
