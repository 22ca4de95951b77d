//! What a list of alternatives stands for, and few moves that cover all of it.
//!
//! # The set
//! A list of alternatives "nᵢ cells by bᵢ" stands for each of them, and for their *mixtures*: an owner who keeps k of c
//! groups with other values and leaves the others moves k cells by w and 2(c − k) cells by M, where the list has "2c
//! cells by M" and "c cells by w". With shares τᵢ ≥ 0, Στᵢ ≤ 1, let V_τ have τᵢnᵢ cells of the height bᵢ (a part of a
//! cell too). The list stands for every move Δ whose k largest parts add up to at most those of V_τ, for each k and for
//! some τ (*weakly majorized* \[Marshall–Olkin–Arnold 2011, ch. 1\]); the convex hull of the alternatives is in that
//! set.
//!
//! # Views that add up over the cells
//! If φ is convex and grows from φ(0) = 0, then Σφ(Δⱼ) ≤ Στᵢnᵢφ(bᵢ) ≤ maxᵢ nᵢφ(bᵢ) [Tomić 1949, Weyl 1949]: the largest
//! of the alternatives is right for ℓ1 (pure bounds), for ℓ2 (Gaussian noise, zCDP) and for the Rényi curve of Laplace
//! noise, the logarithm of a sum of exponentials in the move.
//!
//! Of one alternative, "c cells by b", less is enough: that φ(s)/s does not fall (φ is *star-shaped*, hence
//! superadditive). Then φ(s) ≤ (s/b)·φ(b) for all s ≤ b, and Σφ(Δⱼ) ≤ c·φ(b) as Σ Δⱼ ≤ cb. The curve of randomized
//! response, which stands for what is ε-private for each of s owners, is not convex, but star-shaped. Proof: with
//! t = sε, K(t) = ln cosh((α − ½)t) − ln cosh(t/2), and t·K′(t) − K(t) = h((α − ½)t) − h(t/2) for h(x) = x·tanh x − ln
//! cosh x, which grows, as h′(x) = x/cosh²x ≥ 0; α − ½ ≥ ½. ∎ (At α = 1 it is the mean, t·tanh(t/2), which is convex up
//! to t = 2.39 only.) The δ of groups, δ(e^{kε} − 1)/(e^ε − 1), is convex in k. The curves of tCDP are tested for it;
//! those of sinh-normal noise are not star-shaped where its table ends, and are looked at for each move.
//!
//! Of two alternatives whose moves are one owner apart, no whole move lies between, and that is enough again: φ is
//! linear or below on \[0, b₁\], and the slope behind b₁ is no less. Where whole moves lie between and φ is not known
//! to be convex, the largest alternative is too little: of "10 cells by 3" or "39 by 1" with ε = 2 for each owner, 59.7
//! and 59.4 at α = 1, and 59.9 of ten cells by 2 and fourteen by 1. There maxᵢ(nᵢbᵢ)·φ(b)/b is taken, for b the largest
//! bᵢ ([`by_rate`]): right for all that is star-shaped.
//!
//! # Distributions do not add up
//! A mixture may be worse than every alternative: of "4 cells by 10" or "2 by 15" with Laplace noise of scale 40, δ(0)
//! is 0.184 and 0.182, and 0.204 of (15, 10, 10). But δ(ε) is Schur-convex: *independent noise in each cell with one
//! symmetric log-concave law, on the integers or the line, and a ≥ b: a move by (a + t, b − t) costs at least what one
//! by (a, b) does, for 0 ≤ t ≤ b, at each ε.*
//! Proof. δ(ε) = 1 − Σ_z min(P(z − Δ), e^ε·P(z)). Given z₁ + z₂ = u and the other cells, the first is f(z₁ − t) with
//! f(z) = p(z − a)·p(u − b − z) (times a constant), the second g(z₁) with g(z) = e^ε·p(z)·p(u − z). Both are
//! log-concave and symmetric, f around (u + a − b)/2, g around u/2. So min(f(z − t), g(z)) summed over z is the
//! integral over s of the number of common points of two intervals, {f ≥ s} moved by t and {g ≥ s}, whose centres are
//! (a − b)/2 + t ≥ 0 apart: that number does not grow with t. ∎ A move further in one cell costs more as well (its
//! likelihood ratio is monotone), and whatever is weakly majorized is reached by such steps
//! \[Marshall–Olkin–Arnold 2011, 1.A.9a, 2.B.1; for whole numbers Muirhead's lemma, 5.D.1\]. So a move dominates, as a
//! pair, every move that it weakly majorizes.
//!
//! # Few moves that cover all
//! For two alternatives let τ be the share of the fewer cells, n₂ by b₂ > b₁, where n₁b₁ > n₂b₂ (otherwise one covers
//! the other). For τ in \[l, h\] the k largest parts of V_τ add up to at most min(b₁k + (b₂ − b₁)·min(k, hn₂),
//! ln₂b₂ + (1 − l)n₁b₁), which are the partial sums of one move. The more pieces \[0, 1\] is cut into, the closer these
//! are. Of three or more alternatives those after the first are covered by one ("the most cells, each by the most").

use crate::error::Result;
use crate::event::{Shift, Word};
use num_rational::BigRational;

/// In how many pieces the shares are cut.
pub(super) const PIECES: u64 = 12;

/// Steps of a move on the line, in a unit of 2^−40 of the largest.
const FINE: f64 = (1u64 << 40) as f64;

/// A move further than this is not cut into steps.
const FARTHEST: f64 = 1e15;

/// This many cells by this many steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StepShift {
    cells: u128,
    by: u128,
}

/// The set that alternatives stand for, in steps.
#[derive(Debug)]
pub(super) struct Hull {
    /// More cells, each by less; then fewer cells, each by more.
    corners: Vec<StepShift>,
    /// How long a step is, and whether moves are whole numbers of them.
    unit: f64,
    is_whole: bool,
}

impl Hull {
    /// Of these alternatives, for noise on whole numbers or on the line; none if a move is too far for it.
    pub(super) fn of(shifts: &[Shift], is_whole: bool) -> Option<Self> {
        let largest = shifts.iter().map(|shift| shift.by.get()).fold(0.0, f64::max);
        let unit = if is_whole { 1.0 } else { largest / FINE };
        if largest > FARTHEST || unit < f64::MIN_POSITIVE {
            return None;
        }
        // Rounded up; on the line the quotient may be off by 2^−12, and a little more is added.
        let steps = |by: f64| (if is_whole { by.ceil() } else { (by / largest * FINE + 1e-3).ceil() }) as u128;
        let all = shifts.iter().map(|shift| StepShift { cells: shift.cells.into(), by: steps(shift.by.get()) });
        let mut corners = without_majorized(all.collect());
        corners.sort_by_key(|corner| corner.by);
        if let [many, others @ ..] = &corners[..]
            && others.len() > 1
        {
            let most = |of: fn(&StepShift) -> u128| others.iter().map(of).max().unwrap_or(0);
            let cover = StepShift { cells: most(|one| one.cells), by: most(|one| one.by) };
            corners = without_majorized(vec![*many, cover]);
        }
        Some(Self { corners, unit, is_whole })
    }

    /// About `pieces` moves, such that one of them weakly majorizes each move of the set.
    pub(super) fn covers(&self, pieces: u64) -> Result<Vec<Vec<Shift>>> {
        let pieces = u128::from(pieces);
        let mut covers = match &self.corners[..] {
            [many, few] => (0..pieces).map(|piece| self.cover(*many, *few, piece, pieces)).collect(),
            corners => corners.iter().map(|corner| vec![*corner]).collect::<Vec<_>>(),
        };
        covers.dedup();
        covers.iter().map(|cover| cover.iter().map(|steps| self.shift(*steps)).collect()).collect()
    }

    /// The move whose partial sums bound those of every V_τ with `piece` ≤ `pieces`·τ ≤ `piece` + 1.
    fn cover(&self, many: StepShift, few: StepShift, piece: u128, pieces: u128) -> Vec<StepShift> {
        // Whole moves have whole partial sums.
        let rounded = |number: u128| if self.is_whole { number / pieces } else { number.div_ceil(pieces) };
        let total = rounded(piece * few.cells * few.by + (pieces - piece) * many.cells * many.by);
        let (high, part) = ((piece + 1) * few.cells / pieces, (piece + 1) * few.cells % pieces);
        let left = total.saturating_sub(high * few.by);
        let between = if part == 0 { 0 } else { (many.by + rounded((few.by - many.by) * part)).min(left) };
        let left = left - between;
        let all = [(high, few.by), (1, between), (left / many.by, many.by), (1, left % many.by)];
        let moved = |(cells, by): (u128, u128)| (cells > 0 && by > 0).then_some(StepShift { cells, by });
        all.into_iter().filter_map(moved).collect()
    }

    fn shift(&self, steps: StepShift) -> Result<Shift> {
        let cells = u64::try_from(steps.cells).unwrap_or(u64::MAX);
        let by = steps.by as f64 * self.unit;
        Shift::new(cells, if self.is_whole { by } else { by.next_up() })
    }
}

/// Drops every move that another one weakly majorizes: no further, and no more in all.
fn without_majorized(all: Vec<StepShift>) -> Vec<StepShift> {
    let is_within =
        |one: &StepShift, other: &StepShift| one.by <= other.by && one.cells * one.by <= other.cells * other.by;
    let mut kept: Vec<StepShift> = Vec::new();
    for steps in all {
        if !kept.iter().any(|other| is_within(&steps, other)) {
            kept.retain(|other| !is_within(other, &steps));
            kept.push(steps);
        }
    }
    kept
}

/// The one of these alternatives that weakly majorizes all, if there is one; compared exactly. Whole moves must be of
/// whole numbers: the law of another is that of less.
pub(super) fn majorizing(shifts: &[Shift], is_whole: bool) -> Option<Shift> {
    let exact = |shift: &Shift| BigRational::from_float(shift.by.get()).unwrap_or_default();
    let total = |shift: &Shift| exact(shift) * BigRational::from_integer(shift.cells.into());
    let is_most = |one: &&Shift| shifts.iter().all(|other| one.by >= other.by && total(one) >= total(other));
    let is_exact = !is_whole || shifts.iter().all(|shift| shift.by.get().fract() == 0.0);
    shifts.iter().find(is_most).copied().filter(|_| is_exact)
}

/// The largest sum of the moves of these alternatives, in cells that each move by the most: what adds up over cells is
/// at most what it is there, for every mixture. None where the largest of the alternatives is enough. `members` owners
/// move at once.
pub(super) fn by_rate(word: &Word, shifts: &[Shift], members: u32) -> Option<Shift> {
    let is_enough = match word {
        // Its alternatives are all moves there are.
        Word::SinhNormal { .. } => true,
        Word::NewKeys(keys) => is_convex(keys.noise()),
        other => is_convex(other),
    };
    // Moves count as whole owners.
    let whole = |shift: &Shift| shift.by.get().ceil();
    let most = shifts.iter().max_by(|one, other| one.by.get().total_cmp(&other.by.get()))?;
    let mut heights: Vec<f64> = shifts.iter().map(whole).collect();
    heights.sort_by(f64::total_cmp);
    heights.dedup();
    let is_dense = match heights[..] {
        [_] => true,
        [low, high] => (high - low) * f64::from(members) <= 1.0,
        _ => false,
    };
    if is_enough || is_dense {
        return None;
    }
    let cells = shifts.iter().map(|shift| (shift.cells as f64 * whole(shift) / whole(most)).ceil()).fold(0.0, f64::max);
    // Beyond 2^53 the product is rounded.
    let cells = if cells < 1e15 { cells as u64 } else { shifts.iter().map(|shift| shift.cells).max()? };
    Some(Shift { cells, ..*most })
}

/// Whether the Rényi curve of a word is convex in the move.
fn is_convex(word: &Word) -> bool {
    matches!(
        word,
        Word::Gaussian { .. }
            | Word::DiscreteGaussian { .. }
            | Word::Laplace { .. }
            | Word::DiscreteLaplace { .. }
            | Word::Exponential { .. }
            | Word::Zcdp { .. }
    )
}

/// Some of the mixtures of two alternatives that an owner can really make, with the alternatives themselves; of more
/// alternatives only these.
pub(super) fn mixtures(shifts: &[Shift]) -> Vec<Vec<Shift>> {
    let mut all: Vec<Vec<Shift>> = shifts.iter().map(|shift| vec![*shift]).collect();
    let [one, other] = shifts else { return all };
    let (many, few) = if one.cells > other.cells { (one, other) } else { (other, one) };
    let mut kept: Vec<u64> = [1, 2, 3].map(|part| (u128::from(few.cells) * part / 4) as u64).to_vec();
    kept.extend([1, few.cells - 1]);
    kept.sort_unstable();
    kept.dedup();
    for cells in kept.into_iter().filter(|cells| (1..few.cells).contains(cells)) {
        let rest = u128::from(few.cells - cells) * u128::from(many.cells) / u128::from(few.cells);
        all.push(vec![Shift { cells, ..*few }, Shift { cells: rest as u64, ..*many }]);
    }
    all
}

#[cfg(test)]
mod tests;
