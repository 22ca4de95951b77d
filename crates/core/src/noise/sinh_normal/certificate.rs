//! What a move costs under an integer-weight table, computed from the integers that are sampled.

use super::table::SinhNormalTable;
use crate::error::Result;
use crate::quantity::{Epsilon, Omega, Upper};

/// Sums of non-negative terms in f64 are inflated by this: their relative error is below 1e-12.
const INFLATION: f64 = 1.0 + 1e-9;
/// A certificate looks at every move up to the largest at every index; beyond this product it would take seconds.
const LARGEST_WORK: u64 = 4_000_000;

/// The exact privacy of a table for every move by 1, …, m: rounding may break log-concavity, so all of them are looked
/// at.
///
/// ```
/// use scumble::noise::SinhNormal;
/// use scumble::quantity::{Scale, Sigma, omega};
/// let noise = SinhNormal::new(Sigma::new(8.436)?, Scale::new(25.8)?)?;
/// let slope = noise.certificate(1)?.slope_upper(omega(10.0)?);
/// assert!((0.00999..=0.01).contains(&slope.get())); // (0.01, 10)-tCDP
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Certificate {
    moves: Vec<MoveAtoms>,
    digest: [u8; 32],
}

/// One move: atoms on which the likelihood ratio is constant.
#[derive(Debug, Clone, PartialEq)]
struct MoveAtoms {
    atoms: Vec<RatioAtom>,
}

/// P is the moved distribution, Q the one in place.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RatioAtom {
    /// ln Q of the atom.
    ln_q: f64,
    /// P/Q − 1, formed by exact integer subtraction where both are in the table.
    excess: f64,
    /// ln(P/Q).
    loss: f64,
}

impl Certificate {
    pub(super) fn of(table: &SinhNormalTable, shift: u64) -> Result<Self> {
        let work = shift.saturating_mul(2 * table.last_index() as u64 + shift);
        if shift == 0 || work > LARGEST_WORK {
            refuse!(
                "a move by {shift} is too large for the certificate of this sinh-normal table: use a coarser grid or discrete Gaussian noise"
            );
        }
        let moves = (1..=shift as i64).map(|shift| MoveAtoms::of(table, shift)).collect();
        Ok(Self { moves, digest: *table.digest() })
    }

    /// The digest of the table that this is about.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// An upper bound of D_α for one cell that moves by up to m, and for several cells whose moves add up to at most m:
    /// the worst way to split m. Both directions are the same, since the noise is symmetric.
    pub fn renyi_upper(&self, order: f64) -> Upper {
        Upper::of(self.worst_split(|one| one.renyi(order)) * INFLATION)
    }

    /// The largest privacy loss of all, max |ln P/Q|, for the worst way to split m.
    pub fn epsilon_upper(&self) -> Upper {
        let largest = |one: &MoveAtoms| one.atoms.iter().map(|atom| atom.loss.abs()).fold(0.0, f64::max);
        Upper::of(self.worst_split(largest) * INFLATION)
    }

    /// W(v) = max(cost(v), max_i W(i) + W(v−i)): no assumption that one large move costs more than several small ones.
    fn worst_split(&self, cost: impl Fn(&MoveAtoms) -> f64) -> f64 {
        let mut worst = vec![0.0f64];
        for one in &self.moves {
            let move_by = worst.len();
            let split = (1..=move_by / 2).map(|part| worst[part] + worst[move_by - part]).fold(0.0, f64::max);
            worst.push(cost(one).max(worst[move_by - 1]).max(split));
        }
        worst[worst.len() - 1]
    }

    /// An upper bound of δ(ε) for any of the moves: Σ(P − e^ε·Q)₊.
    pub fn delta_upper(&self, epsilon: Epsilon) -> Upper {
        let epsilon = epsilon.get();
        let one_move = |one: &MoveAtoms| -> f64 {
            let above = one.atoms.iter().filter(|atom| atom.loss > epsilon);
            above.map(|atom| (atom.ln_q + atom.loss).exp() * -(epsilon - atom.loss).exp_m1()).sum()
        };
        Upper::of(self.moves.iter().map(one_move).fold(0.0, f64::max) * INFLATION)
    }

    /// An upper bound of δ(ε) where two cells move by up to m each: Σ P(x)·δ(ε − loss(x)), the exact composition.
    pub fn delta_of_two_upper(&self, epsilon: Epsilon) -> Upper {
        let epsilon = epsilon.get();
        let composed = |first: &MoveAtoms, second: &MoveAtoms| -> f64 {
            let mut atoms: Vec<&RatioAtom> = first.atoms.iter().collect();
            atoms.sort_by(|a, b| b.loss.total_cmp(&a.loss));
            let rest: Vec<f64> = atoms.iter().map(|atom| epsilon - atom.loss).collect();
            let deltas = second.deltas(&rest);
            atoms.iter().zip(deltas).map(|(atom, delta)| (atom.ln_q + atom.loss).exp() * delta).sum()
        };
        let pairs = self.moves.iter().flat_map(|first| self.moves.iter().map(move |second| composed(first, second)));
        Upper::of(pairs.fold(0.0, f64::max) * INFLATION)
    }

    /// An upper bound of sup D_α/α over 1 < α ≤ ω: the ρ of a (ρ, ω)-tCDP guarantee.
    ///
    /// K(α) = (α−1)·D_α is convex, so between two orders it lies below its chord, and the chord's largest K/(α(α−1)) is
    /// found exactly; below the first order D is at most that of the first order.
    pub fn slope_upper(&self, omega: Omega) -> Upper {
        const POINTS: usize = 120;
        let order = |i: usize| 1.0 + (omega.get() - 1.0) * ((i + 1) as f64 / POINTS as f64).powi(2);
        let curve = |order: f64| (order, self.renyi_upper(order).get() * (order - 1.0));
        let mut before = curve(order(0));
        let mut slope = before.1 / (before.0 - 1.0);
        for i in 1..POINTS {
            let after = curve(order(i));
            slope = slope.max(largest_slope_on_chord(before, after));
            before = after;
        }
        Upper::of(slope)
    }

    /// The largest move that is covered.
    pub fn largest_move(&self) -> u64 {
        self.moves.len() as u64
    }

    /// A pair that dominates every one of the moves: (ln(P/Q), P, Q) of each atom of the largest move, and a mass at
    /// loss +∞ (in either direction) that covers by how much a smaller move may exceed it, 0 for a single move.
    ///
    /// δ_m and δ_i are convex and piecewise linear in e^ε, so that their difference is smallest where δ_m has a corner:
    /// at the losses of the largest move. Of a smaller move only what the rounded tails add can exceed, far below
    /// 2^{−100}.
    pub fn dominating_pair(&self) -> (Vec<(f64, f64, f64)>, f64) {
        let Some((largest, smaller)) = self.moves.split_last() else { return (Vec::new(), 0.0) };
        let mut atoms: Vec<(f64, f64, f64)> =
            largest.atoms.iter().map(|atom| (atom.loss, (atom.ln_q + atom.loss).exp(), atom.ln_q.exp())).collect();
        atoms.sort_by(|a, b| a.0.total_cmp(&b.0));
        let corners: Vec<f64> = atoms.iter().map(|atom| atom.0).collect();
        let reference = largest.deltas(&corners);
        let excess = |one: &MoveAtoms| {
            let deltas = one.deltas(&corners);
            deltas.iter().zip(&reference).map(|(delta, most)| delta * INFLATION - most).fold(0.0, f64::max)
        };
        let missing = smaller.iter().map(excess).fold(0.0, f64::max);
        (atoms, 2.0 * missing)
    }

    /// E_Q of a function of P/Q, for the largest move.
    pub(crate) fn expectation(&self, function: impl Fn(f64) -> f64) -> f64 {
        let atoms = self.moves.last().map_or(&[][..], |one| &one.atoms);
        atoms.iter().map(|atom| atom.ln_q.exp() * function(atom.loss.exp())).sum()
    }
}

/// The largest (c + sα)/(α(α−1)) between two points of K; its stationary points solve sα² + 2cα − c = 0.
fn largest_slope_on_chord((x0, y0): (f64, f64), (x1, y1): (f64, f64)) -> f64 {
    let s = (y1 - y0) / (x1 - x0);
    let c = y0 - s * x0;
    let value = |x: f64| (c + s * x) / (x * (x - 1.0));
    let mut largest = value(x0).max(value(x1));
    let discriminant = c * c + c * s;
    if s != 0.0 && discriminant >= 0.0 {
        for root in [(-c + discriminant.sqrt()) / s, (-c - discriminant.sqrt()) / s] {
            if (x0..=x1).contains(&root) {
                largest = largest.max(value(root));
            }
        }
    }
    largest
}

impl MoveAtoms {
    /// δ at each of the increasing `epsilons`.
    fn deltas(&self, epsilons: &[f64]) -> Vec<f64> {
        let mut sorted: Vec<&RatioAtom> = self.atoms.iter().collect();
        sorted.sort_by(|a, b| b.loss.total_cmp(&a.loss));
        let (mut p, mut q, mut next) = (0.0f64, 0.0f64, 0);
        let mut deltas: Vec<f64> = Vec::with_capacity(epsilons.len());
        for epsilon in epsilons.iter().rev() {
            while next < sorted.len() && sorted[next].loss > *epsilon {
                p += (sorted[next].ln_q + sorted[next].loss).exp();
                q += sorted[next].ln_q.exp();
                next += 1;
            }
            deltas.push((p - epsilon.exp() * q).max(0.0));
        }
        deltas.reverse();
        deltas
    }

    /// Between −K and K + shift each integer is an atom; beyond, the ratio is constant and each tail is one atom.
    fn of(table: &SinhNormalTable, shift: i64) -> Self {
        let last = table.last_index() as i64;
        let inside = |k: i64| RatioAtom::at(table, k - shift, k);
        let mut atoms: Vec<RatioAtom> = (-last + 1..last + shift).map(inside).collect();
        let ln_ratio = table.ln_tail_ratio() * shift as f64;
        let ln_last = (table.weights()[last as usize] as f64).ln() - 128.0 * std::f64::consts::LN_2;
        let ln_tail = ln_last + f64::from(table.tail_bits()) * std::f64::consts::LN_2;
        atoms.push(RatioAtom { ln_q: ln_tail, excess: ln_ratio.exp_m1(), loss: ln_ratio });
        atoms.push(RatioAtom { ln_q: ln_tail + ln_ratio, excess: (-ln_ratio).exp_m1(), loss: -ln_ratio });
        Self { atoms }
    }

    /// D_α = ln(S)/(α−1), S − 1 = Σ Q·h(P/Q − 1) with h(x) = (1+x)^α − 1 − αx ≥ 0: no cancellation.
    fn renyi(&self, order: f64) -> f64 {
        let largest = self.atoms.iter().map(|atom| atom.ln_q + order * atom.loss).fold(f64::MIN, f64::max);
        let ln_sum = if largest > 300.0 {
            let sum: f64 = self.atoms.iter().map(|atom| (atom.ln_q + order * atom.loss - largest).exp()).sum();
            largest + sum.ln()
        } else {
            let sum: f64 = self.atoms.iter().map(|atom| atom.term(order)).sum();
            sum.ln_1p()
        };
        ln_sum / (order - 1.0)
    }
}

impl RatioAtom {
    fn at(table: &SinhNormalTable, moved: i64, place: i64) -> Self {
        let last = table.last_index() as u64;
        let (moved, place) = (moved.unsigned_abs(), place.unsigned_abs());
        let ln_weight = |index: u64| {
            let beyond = index.saturating_sub(last) as f64;
            (table.weights()[index.min(last) as usize] as f64).ln() + beyond * table.ln_tail_ratio()
        };
        let ln_q = ln_weight(place) - 128.0 * std::f64::consts::LN_2;
        if moved <= last && place <= last {
            let (p, q) = (table.weights()[moved as usize], table.weights()[place as usize]);
            let difference = if p >= q { (p - q) as f64 } else { -((q - p) as f64) };
            let excess = difference / q as f64;
            let loss = if excess > -0.5 { excess.ln_1p() } else { (p as f64).ln() - (q as f64).ln() };
            Self { ln_q, excess, loss }
        } else {
            let loss = ln_weight(moved) - ln_weight(place);
            Self { ln_q, excess: loss.exp_m1(), loss }
        }
    }

    /// Q·h(excess).
    fn term(&self, order: f64) -> f64 {
        let x = self.excess;
        if order * x.abs() < 1e-2 {
            return self.ln_q.exp() * series(order, x);
        }
        // (1+x)^α − 1 − αx = (1+x)·((1+x)^{α−1} − 1) − (α−1)x: no cancellation as α → 1.
        let h = (1.0 + x) * ((order - 1.0) * self.loss).exp_m1() - (order - 1.0) * x;
        self.ln_q.exp() * h.max(0.0)
    }
}

/// (1+x)^α − 1 − αx by its Taylor series, for α|x| < 1e-2 (every further term is below 1/100 of the one before).
fn series(order: f64, x: f64) -> f64 {
    let mut term = order * (order - 1.0) / 2.0 * x * x;
    let mut sum = term;
    for n in 3..14u32 {
        term *= (order - f64::from(n - 1)) / f64::from(n) * x;
        sum += term;
    }
    sum
}
