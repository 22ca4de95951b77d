//! Connect-the-dots: what a pair puts between two neighbouring losses, moved to those two losses.
//!
//! Between nodes y₋ < y₊ a pair holds masses P and Q. The pessimistic discretisation \[DGKKM22\] replaces them by two
//! atoms at y₋ and y₊ that keep both masses; in units of P the atoms are m/(e^c − 1) at y₋ and n/(1 − e^{−c}) at y₊,
//! with c = y₊ − y₋, n = P − e^{y₋}Q ≥ 0 and m = e^{y₊}Q − P ≥ 0. Sources compute n and m directly, never as a
//! difference of masses, so that the atoms keep their relative accuracy however fine the grid is.

use crate::loss::special::{mills, normal_above};
use std::f64::consts::PI;

/// What a pair holds between the nodes, below the first and above the last; losses of +∞ are not counted here.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    /// P − e^{y₋}Q of each cell.
    pub(crate) n: Vec<f64>,
    /// e^{y₊}Q − P of each cell.
    pub(crate) m: Vec<f64>,
    /// P and Q at losses below the first node, Q at loss −∞ included, and e^{y}Q − P there.
    pub(crate) below: TailMasses,
    /// P and Q at finite losses above the last node, and P − e^{y}Q there.
    pub(crate) above: TailMasses,
    /// What n and m of each cell were raised by, where they are not known to the last digits.
    pub(crate) raised: Option<(Vec<f64>, Vec<f64>)>,
}

/// The masses beyond an end of the nodes.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct TailMasses {
    /// P's mass.
    pub(crate) p: f64,
    /// Q's mass.
    pub(crate) q: f64,
    /// The excess over the end node (n above the last, m below the first).
    pub(crate) excess: f64,
}

impl Cells {
    fn with_capacity(nodes: usize) -> Self {
        Self { n: vec![0.0; nodes - 1], m: vec![0.0; nodes - 1], ..Self::default() }
    }
}

/// A dominating pair before sampling, in one direction.
pub(crate) trait BasePair: Send + Sync {
    /// The cells between increasing `nodes`.
    fn cells(&self, nodes: &[f64]) -> Cells;
    /// Losses below and above which P has at most mass `tail` (losses of ±∞ aside).
    fn range(&self, tail: f64) -> (f64, f64);
    /// A loss below which Q has at most mass `tail`, if one is known; what is looked at on a sample need not reach
    /// lower.
    fn least(&self, _tail: f64) -> f64 {
        f64::NEG_INFINITY
    }
    /// P's mass at loss +∞.
    fn infinite(&self) -> f64 {
        0.0
    }
    /// If every loss is a node up to rounding, for nodes `step` apart through `anchor`: the largest distance.
    fn misfit(&self, _anchor: f64, _step: f64) -> Option<f64> {
        None
    }
    /// A loss that should be a node.
    fn anchor(&self) -> f64 {
        0.0
    }
    /// The distance between losses if they form a lattice through the anchor.
    fn lattice(&self) -> Option<f64> {
        None
    }
    /// A distance from the anchor at which much mass sits, so that steps should divide it.
    fn period(&self) -> Option<f64> {
        self.lattice()
    }
}

/// Gaussian noise with ratio μ: P = N(μ, 1), Q = N(0, 1), loss μx − μ²/2.
pub(crate) struct GaussianPair {
    pub(crate) mu: f64,
}

/// Gauss–Legendre with six nodes on [0, 1].
const LEGENDRE: [(f64, f64); 6] = [
    (0.033_765_242_898_423_975, 0.085_662_246_189_585_2),
    (0.169_395_306_766_867_75, 0.180_380_786_524_069_3),
    (0.380_690_406_958_401_56, 0.233_956_967_286_345_52),
    (0.619_309_593_041_598_4, 0.233_956_967_286_345_52),
    (0.830_604_693_233_132_2, 0.180_380_786_524_069_3),
    (0.966_234_757_101_576, 0.085_662_246_189_585_2),
];

/// Gauss–Legendre with three nodes: the outer ones' distance from the middle, as a share of the width, and the weights.
const NARROW_DISTANCE: f64 = 0.387_298_334_620_741_7;
const NARROW_WEIGHTS: (f64, f64) = (5.0 / 18.0, 8.0 / 18.0);
/// The largest width times (|t| + 3 + μ) of a cell for three nodes.
const NARROW: f64 = 0.006;

/// e^z − 1, by its series where that is shorter than the library's care (the first term left out is below 4e-17·z).
pub(super) fn fast_exp_m1(z: f64) -> f64 {
    const C: [f64; 6] = [1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0];
    if z.abs() > 0.02 {
        return z.exp_m1();
    }
    z * (1.0 + z * (C[0] + z * (C[1] + z * (C[2] + z * (C[3] + z * (C[4] + z * C[5]))))))
}

impl GaussianPair {
    /// ∫ of φ(t)·(1 − e^{y₋ − y}) and of φ(t)·(e^{y₊ − y} − 1) over the cell from `low` to `high`, which is where x − μ
    /// runs from `start` to `end`.
    fn cell(&self, (low, start): (f64, f64), (high, end): (f64, f64)) -> (f64, f64) {
        if start >= 40.0 || end <= -40.0 {
            return (0.0, 0.0);
        }
        let farthest = start.abs().max(end.abs());
        if (end - start) * (farthest + 3.0 + self.mu) <= NARROW && farthest <= 40.0 {
            return narrow_cell(start, end - start, high - low);
        }
        self.wide_cell(start, end, high - low)
    }

    /// Panels keep w ≤ ½ and |t|·w ≤ 1, where the quadrature's relative error is below 1e-15 (its remainder is
    /// 1.9e-16·w¹³·f⁽¹²⁾, and f⁽¹²⁾/f is at most about (|t|+4)¹²).
    fn wide_cell(&self, start: f64, end: f64, c: f64) -> (f64, f64) {
        // Beyond 40 deviations there is no mass; the losses of the part that is left run from `skipped` to `reached`.
        let skipped = if start < -40.0 { self.mu * (-40.0 - start) } else { 0.0 };
        let reached = if end > 40.0 { self.mu * (40.0 - start) } else { c };
        let (start, end) = (start.max(-40.0), end.min(40.0));
        let width = end - start;
        let panels = (width * start.abs().max(end.abs()).max(2.0)).ceil().max(1.0);
        let w = width / panels;
        let (mut n, mut m) = (0.0, 0.0);
        for panel in 0..panels as usize {
            let left = start + panel as f64 * w;
            for (u, weight) in LEGENDRE {
                let t = left + w * u;
                // The loss above y₋, as a share of the cell: a difference of rounded losses would lose digits.
                let v = skipped + (reached - skipped) * (panel as f64 + u) / panels;
                let density = weight * (-0.5 * t * t).exp();
                n -= density * fast_exp_m1(-v);
                m += density * fast_exp_m1((c - v).max(0.0));
            }
        }
        let scale = w / (2.0 * PI).sqrt();
        (n * scale, m * scale)
    }

    /// x − μ where the loss is y.
    fn standard(&self, loss: f64) -> f64 {
        loss / self.mu - self.mu / 2.0
    }

    fn loss(&self, standard: f64) -> f64 {
        self.mu * (standard + self.mu / 2.0)
    }
}

impl BasePair for GaussianPair {
    fn cells(&self, nodes: &[f64]) -> Cells {
        let mut cells = Cells::with_capacity(nodes.len());
        let mut lower = (nodes[0], self.standard(nodes[0]));
        for (i, &node) in nodes[1..].iter().enumerate() {
            let upper = (node, self.standard(node));
            (cells.n[i], cells.m[i]) = self.cell(lower, upper);
            lower = upper;
        }
        let density = |t: f64| (-0.5 * t * t).exp() / (2.0 * PI).sqrt();
        let last = self.standard(nodes[nodes.len() - 1]);
        let (p, q) = (normal_above(last), normal_above(last + self.mu));
        let excess = if last > -1.0 { density(last) * (mills(last) - mills(last + self.mu)) } else { p };
        cells.above = TailMasses { p, q, excess: excess.max(0.0) };
        let first = self.standard(nodes[0]);
        let (p, q) = (normal_above(-first), normal_above(-first - self.mu));
        cells.below = TailMasses { p, q, excess: (nodes[0].min(700.0).exp() * q - p).max(0.0) };
        cells
    }

    fn range(&self, tail: f64) -> (f64, f64) {
        // P[N > z] ≤ e^{−z²/2}/2.
        let z = (2.0 * (0.5 / tail).ln()).max(1.0).sqrt().min(39.0);
        (self.loss(-z), self.loss(z))
    }

    /// The loss under Q is the negative of the loss under P, in law.
    fn least(&self, tail: f64) -> f64 {
        -self.range(tail).1
    }
}

/// Both quadratures of one cell: for tests.
#[cfg(test)]
pub(super) fn narrow_and_wide(mu: f64, start: f64, end: f64) -> ((f64, f64), (f64, f64)) {
    let c = mu * (end - start);
    (narrow_cell(start, end - start, c), GaussianPair { mu }.wide_cell(start, end, c))
}

/// The same for a cell so narrow that three nodes and one exponential do.
///
/// With T = |t| + 3 (|φ⁽ʲ⁾| ≤ Tʲφ up to j = 6) the remainder w⁷f⁽⁶⁾/2016000, relative to ∫f ≈ φμw²/2, is at most
/// w⁵·(wT⁶ + 6T⁵ + 15T⁴μ + … + μ⁵)/1008000 ≤ 64·(w(T + μ))⁵/1008000, below 5e-16 for w(T + μ) ≤ [`NARROW`].
fn narrow_cell(start: f64, width: f64, c: f64) -> (f64, f64) {
    let (middle, distance) = (start + 0.5 * width, NARROW_DISTANCE * width);
    // φ at the outer nodes relative to the middle one.
    let (slope, bend) = (middle * distance, 0.5 * distance * distance);
    let left = NARROW_WEIGHTS.0 * (1.0 + fast_exp_m1(slope - bend));
    let right = NARROW_WEIGHTS.0 * (1.0 + fast_exp_m1(-slope - bend));
    let (near, half, far) = ((0.5 - NARROW_DISTANCE) * c, 0.5 * c, (0.5 + NARROW_DISTANCE) * c);
    let n = -(left * fast_exp_m1(-near) + NARROW_WEIGHTS.1 * fast_exp_m1(-half) + right * fast_exp_m1(-far));
    let m = left * fast_exp_m1(far) + NARROW_WEIGHTS.1 * fast_exp_m1(half) + right * fast_exp_m1(near);
    let scale = width * (-0.5 * middle * middle).exp() / (2.0 * PI).sqrt();
    (n * scale, m * scale)
}

/// Losses between −λ and λ with density D·e^{y/2} under P (D·e^{−y/2} under Q), and an atom at each end: Laplace noise
/// (shift over scale λ) and, without atoms, the envelope of all mechanisms whose loss has range λ \[DDR20\].
pub(crate) struct ExponentialPair {
    lambda: f64,
    density: f64,
    top: f64,
}

impl ExponentialPair {
    pub(crate) fn laplace(lambda: f64) -> Self {
        Self { lambda, density: 0.25 * (-lambda / 2.0).exp(), top: 0.5 }
    }

    /// sup over the two-point pairs of range ε is δ(x) = (1 − e^{(x−ε)/2})²/(1 − e^{−ε}).
    pub(crate) fn bounded_range(epsilon: f64) -> Self {
        let density = 0.5 * (-epsilon / 2.0).exp() / -(-epsilon).exp_m1();
        Self { lambda: epsilon, density, top: 0.0 }
    }

    /// (n, m) of the interior between `from` and `to` relative to the cell [low, high].
    fn interior(&self, low: f64, high: f64, from: f64, to: f64) -> (f64, f64) {
        if to <= from {
            return (0.0, 0.0);
        }
        let step = ((to - from) / 4.0).sinh();
        let n = 8.0 * self.density * (low / 2.0).exp() * ((to + from - 2.0 * low) / 4.0).sinh() * step;
        let m = 8.0 * self.density * (high / 2.0).exp() * ((2.0 * high - to - from) / 4.0).sinh() * step;
        (n, m)
    }

    /// P and Q of the interior between `from` and `to`.
    fn mass(&self, from: f64, to: f64) -> (f64, f64) {
        if to <= from {
            return (0.0, 0.0);
        }
        let p = 2.0 * self.density * (from / 2.0).exp() * ((to - from) / 2.0).exp_m1();
        let q = 2.0 * self.density * (-to / 2.0).exp() * ((to - from) / 2.0).exp_m1();
        (p, q)
    }

    fn atoms(&self) -> AtomicPair {
        let low = self.top * (-self.lambda).exp();
        AtomicPair::at(vec![(-self.lambda, low, self.top), (self.lambda, self.top, low)])
    }
}

impl BasePair for ExponentialPair {
    fn cells(&self, nodes: &[f64]) -> Cells {
        let mut cells = self.atoms().cells(nodes);
        for (i, pair) in nodes.windows(2).enumerate() {
            let (low, high) = (pair[0], pair[1]);
            let (n, m) = self.interior(low, high, low.max(-self.lambda), high.min(self.lambda));
            cells.n[i] += n;
            cells.m[i] += m;
        }
        let (first, last) = (nodes[0], nodes[nodes.len() - 1]);
        let (p, q) = self.mass(-self.lambda, first.min(self.lambda));
        cells.below = TailMasses { p: cells.below.p + p, q: cells.below.q + q, excess: 0.0 };
        cells.below.excess = (first.min(700.0).exp() * cells.below.q - cells.below.p).max(0.0);
        let (p, q) = self.mass(last.max(-self.lambda), self.lambda);
        cells.above = TailMasses { p: cells.above.p + p, q: cells.above.q + q, excess: cells.above.excess + p };
        cells
    }

    fn range(&self, _tail: f64) -> (f64, f64) {
        (-self.lambda, self.lambda)
    }

    fn least(&self, _tail: f64) -> f64 {
        -self.lambda
    }

    fn anchor(&self) -> f64 {
        self.lambda
    }

    fn period(&self) -> Option<f64> {
        Some(2.0 * self.lambda)
    }
}

/// Finitely many losses, sorted, each with its mass under P and Q.
pub(crate) struct AtomicPair {
    /// (loss, P, Q), losses finite and increasing.
    atoms: Vec<(f64, f64, f64)>,
    /// P where Q is 0.
    infinite: f64,
    /// Q where P is 0.
    absent: f64,
    lattice: Option<f64>,
}

impl AtomicPair {
    fn at(atoms: Vec<(f64, f64, f64)>) -> Self {
        Self { atoms, infinite: 0.0, absent: 0.0, lattice: None }
    }

    /// The pair of two finite distributions.
    pub(crate) fn of(masses: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut made = Self::at(Vec::new());
        for (p, q) in masses {
            match (p > 0.0, q > 0.0) {
                (true, true) => made.atoms.push((ln_ratio(p, q), p, q)),
                (true, false) => made.infinite += p,
                (false, true) => made.absent += q,
                (false, false) => {}
            }
        }
        made.atoms.sort_by(|a, b| a.0.total_cmp(&b.0));
        made.atoms.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
                kept.2 += next.2;
            }
            same
        });
        made.lattice = made.find_lattice();
        made
    }

    /// The pair on a sample, as finite as before: ((1−s)Q + sP, Q), or its mirror image.
    ///
    /// The losses come from those before, ln(1 + s(e^ℓ − 1)): a quotient of mixed masses would be off by a unit of the
    /// last digit of 1, which 10^12 runs of a loss of 1e-9 make visible.
    pub(crate) fn sampled(&self, rate: f64, reversed: bool) -> Self {
        let mixed = |p: f64, q: f64| (1.0 - rate) * q + rate * p;
        let loss = |loss: f64| if loss > 700.0 { loss + rate.ln() } else { (rate * loss.exp_m1()).ln_1p() };
        let mut atoms: Vec<_> = self.atoms.iter().map(|&(at, p, q)| (loss(at), mixed(p, q), q)).collect();
        if self.absent > 0.0 && rate < 1.0 {
            atoms.insert(0, ((-rate).ln_1p(), mixed(0.0, self.absent), self.absent));
        }
        let (mut infinite, mut absent) = (rate * self.infinite, if rate < 1.0 { 0.0 } else { self.absent });
        if reversed {
            atoms = atoms.into_iter().rev().map(|(loss, p, q)| (-loss, q, p)).collect();
            std::mem::swap(&mut infinite, &mut absent);
        }
        let mut made = Self { infinite, absent, ..Self::at(atoms) };
        made.lattice = made.find_lattice();
        made
    }

    /// Atoms with finite losses, sorted, and a mass at loss +∞ in either direction.
    pub(crate) fn sorted(atoms: Vec<(f64, f64, f64)>, infinite: f64) -> Self {
        Self { infinite, absent: infinite, ..Self::at(atoms) }
    }

    /// Atoms whose losses are known to lie `step` apart.
    pub(crate) fn on_lattice(atoms: Vec<(f64, f64, f64)>, infinite: f64, absent: f64, step: f64) -> Self {
        Self { atoms, infinite, absent, lattice: Some(step) }
    }

    /// Two or three losses often lie on a lattice; the distances' ratio must be a small whole number.
    fn find_lattice(&self) -> Option<f64> {
        let gaps: Vec<f64> = self.atoms.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        let least = gaps.iter().copied().fold(f64::INFINITY, f64::min);
        let whole = |gap: f64| (gap / least - (gap / least).round()).abs() < 1e-12 && gap / least < 1e4;
        (!gaps.is_empty() && least > 0.0 && gaps.iter().all(|&gap| whole(gap))).then_some(least)
    }
}

/// The first loss up to which the masses add up to more than `tail`.
fn first_with_more(atoms: impl Iterator<Item = (f64, f64)>, tail: f64) -> f64 {
    let (mut sum, mut at) = (0.0, 0.0);
    for (loss, mass) in atoms {
        at = loss;
        sum += mass;
        if sum > tail {
            break;
        }
    }
    at
}

/// ln(p/q), to relative accuracy also where both are nearly equal.
fn ln_ratio(p: f64, q: f64) -> f64 {
    let ratio = p / q;
    // Between a half and two the difference is exact (Sterbenz).
    if (0.5..=2.0).contains(&ratio) { ((p - q) / q).ln_1p() } else { ratio.ln() }
}

impl BasePair for AtomicPair {
    fn cells(&self, nodes: &[f64]) -> Cells {
        let mut cells = Cells::with_capacity(nodes.len());
        let (first, last) = (nodes[0], nodes[nodes.len() - 1]);
        cells.below.q = self.absent;
        cells.below.excess = first.min(700.0).exp() * self.absent;
        let mut cell = 0;
        for &(loss, p, q) in &self.atoms {
            if loss < first {
                cells.below.p += p;
                cells.below.q += q;
                cells.below.excess += p * (first - loss).exp_m1();
            } else if loss >= last {
                cells.above.p += p;
                cells.above.q += q;
                cells.above.excess -= p * (last - loss).exp_m1();
            } else {
                while nodes[cell + 1] <= loss {
                    cell += 1;
                }
                cells.n[cell] -= p * (nodes[cell] - loss).exp_m1();
                cells.m[cell] += p * (nodes[cell + 1] - loss).exp_m1();
            }
        }
        cells
    }

    fn range(&self, tail: f64) -> (f64, f64) {
        let p = |atom: &(f64, f64, f64)| (atom.0, atom.1);
        (first_with_more(self.atoms.iter().map(p), tail), first_with_more(self.atoms.iter().rev().map(p), tail))
    }

    fn least(&self, tail: f64) -> f64 {
        if self.absent > tail {
            return f64::NEG_INFINITY;
        }
        first_with_more(self.atoms.iter().map(|atom| (atom.0, atom.2)), tail - self.absent)
    }

    fn infinite(&self) -> f64 {
        self.infinite
    }

    fn misfit(&self, anchor: f64, step: f64) -> Option<f64> {
        let of = |loss: f64| {
            let position = (loss - anchor) / step;
            (position - position.round()).abs() * step
        };
        let largest = self.atoms.iter().map(|atom| of(atom.0)).fold(0.0, f64::max);
        (largest <= 1e-11 * step).then_some(largest)
    }

    fn anchor(&self) -> f64 {
        self.atoms.last().map_or(0.0, |atom| atom.0)
    }

    fn lattice(&self) -> Option<f64> {
        self.lattice
    }
}
