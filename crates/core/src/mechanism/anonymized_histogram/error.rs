//! The error to expect: bounds that hold for every dataset, from the layout alone.
//!
//! **Strips.** Of n cells in N-noisy strips (bₖ₋₁, bₖ\] of widths gₖ, the error is at most N + n·β + (n + N)·ω and
//! rounding, on each side of the layout:
//! - The averages that a least-squares projection finds are N off in all, weighted by the widths (spec B1.3).
//! - A true step of d cells after the j-th column of a strip is 2j(g−j)/g·d away from the strip's average and takes
//!   (b + j)·d cells; the worst j makes this a share β = 2(√(b+g) − √b)²/g of them. Steps add up.
//! - The columns that [`super::profile`] makes differ from the averages m₁ ≥ m₂ ≥ … that were found. Let
//!   qₖ = mₖ − mₖ₊₁, so that Σ bₖqₖ = Σ gₖmₖ ≤ n + N. On a slope, strip k differs by ⌊g²/4⌋ times the gentler slope,
//!   which is (gₖ/4)(qₖ₋₁ + qₖ) at most; at a cliff, by (gₖ/2)(qₖ₋₁ + qₖ). No two neighbours are cliffs, and next to
//!   one a strip has a drop of (qₖ₋₁ + qₖ)/32 at most on its far side, which makes it differ by g/64 of the cliff. So
//!   every qₖ counts with at most the larger of gᵢ/2 + (gᵢ₋₁ + gᵢ₊₁)/64 for i = k, k + 1, which is a share ω of bₖqₖ.

use super::projection::FRACTION_BITS;
use super::{AnonymizedHistogram, ElementCount, Layout, Phase, ProjectionMethod, scale_of, slack};
use crate::error::Result;
use crate::quantity::{Beta, Epsilon, Scale};

/// Floating-point slack on bounds that are computed with a handful of operations.
pub(super) const UPWARD: f64 = 1.0 + 1e-9;

impl AnonymizedHistogram {
    /// An upper bound on E‖p̂ − p‖₁ for every histogram of at most `elements` elements.
    ///
    /// Theorem 6 with its constants made explicit: every noise has E|z| = 1/sinh ε; an L1 projection at most doubles
    /// the sum, an L2 projection keeps it and rounds by ½ at most (spec B1.6); strips hide some cells (this module's
    /// documentation). In practice the error is two to seven times smaller. With a private size, this is the bound for
    /// the layout that the likeliest estimate gives.
    ///
    /// ```
    /// use scumble::mechanism::anonymized_histogram::{AnonymizedHistogram, ElementCount};
    /// use scumble::quantity::Epsilon;
    /// use scumble::{Scope, Target};
    /// let target = Target::pure(Epsilon::new(8.0)?);
    /// let mechanism = AnonymizedHistogram::within(target, Scope::Presence, ElementCount::AtMost(10_000))?;
    /// assert!((mechanism.expected_error(10_000)? - 400.0 / 8f64.sinh()).abs() < 1e-6);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn expected_error(&self, elements: u64) -> Result<f64> {
        let laid_out_for = match (self.size, self.size_epsilon) {
            (ElementCount::Private, Some(epsilon)) => elements.saturating_add(slack(epsilon)),
            (ElementCount::AtMost(most), _) => most,
            (ElementCount::Private, None) => elements,
        };
        let epsilon = 1.0 / scale_of(self.cell_epsilon)?.get();
        self.worst_phase(laid_out_for, |layout| {
            let noise = layout.regions() as f64 / libm::sinh(epsilon);
            total(layout, self.cell_epsilon, noise, elements)
        })
    }

    /// An upper bound on ‖p̂ − p‖₁ that holds with probability 1 − β, for every histogram of at most `elements`
    /// elements.
    ///
    /// Chernoff's bound for the sum of the noises. With a private size, β is shared among the noises, an estimate that
    /// is too large, and one that is too small, by whose shortfall s cells are lost: at most
    /// (1 + (T+1)s/n′)(1 + s/(T+1)) of them, since J rows below the first T that reach beyond the last column V make
    /// (T+J)(V+1) ≤ n.
    pub fn error(&self, beta: Beta, elements: u64) -> Result<f64> {
        let (laid_out_for, shortfall, share) = match (self.size, self.size_epsilon) {
            (ElementCount::Private, Some(epsilon)) => {
                let share = Beta::new(beta.get() / 3.0)?;
                let estimate_off = largest_noise(1, scale_of(epsilon)?, share);
                let largest = elements.saturating_add(slack(epsilon)).saturating_add(estimate_off);
                (largest, estimate_off.saturating_sub(slack(epsilon)), share)
            }
            (ElementCount::AtMost(most), _) => (most, 0, beta),
            (ElementCount::Private, None) => (elements, 0, beta),
        };
        let epsilon = 1.0 / scale_of(self.cell_epsilon)?.get();
        self.worst_phase(laid_out_for, |layout| {
            let noise = sum_of_noises(layout.regions() as f64, epsilon, share);
            let lost = if shortfall == 0 { 0.0 } else { lost_cells(layout, elements, shortfall) };
            total(layout, self.cell_epsilon, noise, elements) + lost
        })
    }

    /// The largest of a bound over the phases that the layout may be drawn in.
    fn worst_phase(&self, laid_out_for: u64, bound: impl Fn(&Layout) -> f64) -> Result<f64> {
        let phases = if self.layout.has_phases(self.cell_epsilon) { usize::MAX } else { 1 };
        let mut worst = 0.0f64;
        for phase in Phase::all().take(phases) {
            worst = worst.max(bound(&self.layout_in(phase, laid_out_for)?));
        }
        Ok(UPWARD * worst)
    }
}

/// The error that a sum of absolute noises leads to.
pub(super) fn total(layout: &Layout, epsilon: Epsilon, noise: f64, elements: u64) -> f64 {
    if layout.regions() == 0 {
        return elements as f64;
    }
    let processed = match ProjectionMethod::suited_to(epsilon, layout) {
        ProjectionMethod::LeastAbsolute => 2.0 * noise,
        ProjectionMethod::LeastSquares => noise + layout.regions() as f64 / 2.0,
    };
    let cells = elements as f64;
    let sides = [layout.row_bounds(), layout.column_bounds()];
    let largest = |share: fn(&[u64]) -> f64| sides.into_iter().map(share).fold(0.0, f64::max);
    let wide: u64 = sides.iter().flat_map(|bounds| widths(bounds)).filter(|width| *width > 1).sum();
    let rounding = wide as f64 * (0.5 + 1.0 / f64::from(1u32 << FRACTION_BITS));
    processed + cells * largest(hidden_share) + (cells + processed) * largest(tilted_share) + rounding
}

fn widths(bounds: &[u64]) -> impl Iterator<Item = u64> {
    bounds.windows(2).map(|pair| pair[1] - pair[0])
}

/// β of the module's documentation: what flat strips hide, as a share of the cells.
fn hidden_share(bounds: &[u64]) -> f64 {
    let wide = bounds.windows(2).filter(|pair| pair[1] - pair[0] > 1);
    let share = |pair: &[u64]| {
        let (start, end) = (pair[0] as f64, pair[1] as f64);
        let root = libm::sqrt(end) - libm::sqrt(start);
        2.0 * root * root / (end - start)
    };
    wide.map(share).fold(0.0, f64::max)
}

/// ω of the module's documentation: what slopes and cliffs inside of strips may add, as a share of the cells.
fn tilted_share(bounds: &[u64]) -> f64 {
    let widths: Vec<u64> = widths(bounds).collect();
    let weight = |strip: usize| match widths.get(strip) {
        Some(width) if *width > 1 => {
            let neighbours = [strip.wrapping_sub(1), strip + 1].map(|next| widths.get(next).copied().unwrap_or(0));
            *width as f64 / 2.0 + (neighbours[0] + neighbours[1]) as f64 / 64.0
        }
        _ => 0.0,
    };
    let share = |strip: usize| weight(strip).max(weight(strip + 1)) / bounds[strip + 1] as f64;
    (0..widths.len()).map(share).fold(0.0, f64::max)
}

fn lost_cells(layout: &Layout, elements: u64, shortfall: u64) -> f64 {
    let (rows, shortfall) = (layout.rows() as f64 + 1.0, shortfall as f64);
    let laid_out_for = (elements as f64 - shortfall).max(1.0);
    let lost = (1.0 + rows * shortfall / laid_out_for) * (1.0 + shortfall / rows);
    lost.min(elements as f64)
}

/// The smallest q such that none of this many noises exceeds q in absolute value except with probability β:
/// P\[|z| > q\] = 2α^{q+1}/(1+α).
pub(super) fn largest_noise(regions: u64, scale: Scale, beta: Beta) -> u64 {
    let alpha = libm::exp(-1.0 / scale.get());
    let needed = scale.get() * libm::log(2.0 * regions as f64 / (beta.get() * (1.0 + alpha))) * UPWARD;
    // α^{q+1} must be at most β(1+α)/(2·regions).
    libm::ceil(needed - 1.0).max(0.0) as u64
}

/// A bound on the sum of `regions` absolute noises that fails with probability β: the least over t of (K·ln E
/// e^{t|z|} + ln(1/β))/t. Every t gives a valid bound, so the search need not be exact.
pub(super) fn sum_of_noises(regions: f64, epsilon: f64, beta: Beta) -> f64 {
    let alpha = libm::exp(-epsilon);
    let bound = |t: f64| {
        let raised = libm::exp(t - epsilon);
        let log_moment =
            libm::log1p(-alpha) - libm::log1p(alpha) + libm::log1p(raised) - libm::log(-libm::expm1(t - epsilon));
        (regions * log_moment - libm::log(beta.get())) / t
    };
    let (mut low, mut high) = (epsilon * 1e-6, epsilon * (1.0 - 1e-9));
    for _ in 0..200 {
        let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if bound(left) < bound(right) {
            high = right;
        } else {
            low = left;
        }
    }
    bound(low).min(bound(high))
}
