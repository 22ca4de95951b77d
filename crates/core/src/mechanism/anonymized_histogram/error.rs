//! The error to expect: bounds that hold for every dataset, from the layout alone.

use super::{AnonymizedHistogram, Layout, Projection, Size, scale_of, slack};
use crate::error::Result;
use crate::quantity::{Beta, Epsilon, Scale};

/// Floating-point slack on bounds that are computed with a handful of operations.
const UPWARD: f64 = 1.0 + 1e-9;

impl AnonymizedHistogram {
    /// An upper bound on E‖p̂ − p‖₁ for every histogram of at most `elements` elements.
    ///
    /// Theorem 6 with its constants made explicit: every noise has E|z| = 1/sinh ε; an L1 projection at most doubles the sum, an L2
    /// projection keeps it and rounds by ½ at most; a strip of width g hides g/2 per value that ends inside of it (spec B1.6, B2.3).
    /// In practice the error is two to four times smaller. With a private size, this is the bound for the layout that the likeliest estimate gives.
    ///
    /// ```
    /// use scumble::mechanism::anonymized_histogram::{AnonymizedHistogram, Size};
    /// use scumble::quantity::Epsilon;
    /// let mechanism = AnonymizedHistogram::new(Epsilon::new(8.0)?, Size::AtMost(10_000))?;
    /// assert!((mechanism.expected_error(10_000)? - 400.0 / 8f64.sinh()).abs() < 1e-6);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn expected_error(&self, elements: u64) -> Result<f64> {
        let laid_out_for = match (self.size, self.size_epsilon) {
            (Size::Private, Some(epsilon)) => elements.saturating_add(slack(epsilon)),
            (Size::AtMost(most), _) => most,
            (Size::Private, None) => elements,
        };
        let layout = self.layout_for(laid_out_for)?;
        let epsilon = 1.0 / scale_of(self.cell_epsilon)?.get();
        let noise = layout.regions() as f64 / libm::sinh(epsilon);
        Ok(UPWARD * total(&layout, self.cell_epsilon, noise, elements))
    }

    /// An upper bound on ‖p̂ − p‖₁ that holds with probability 1 − β, for every histogram of at most `elements` elements.
    ///
    /// Chernoff's bound for the sum of the noises. With a private size, β is shared among the noises, an estimate that is too
    /// large, and one that is too small, by whose shortfall s cells are lost: at most (1 + (T+1)s/n′)(1 + s/(T+1)) of them, since
    /// J rows below the first T that reach beyond the last column V make (T+J)(V+1) ≤ n.
    pub fn error(&self, elements: u64, beta: Beta) -> Result<f64> {
        let (laid_out_for, shortfall, share) = match (self.size, self.size_epsilon) {
            (Size::Private, Some(epsilon)) => {
                let share = Beta::new(beta.get() / 3.0)?;
                let estimate_off = largest_noise(1, scale_of(epsilon)?, share);
                let largest = elements.saturating_add(slack(epsilon)).saturating_add(estimate_off);
                (largest, estimate_off.saturating_sub(slack(epsilon)), share)
            }
            (Size::AtMost(most), _) => (most, 0, beta),
            (Size::Private, None) => (elements, 0, beta),
        };
        let layout = self.layout_for(laid_out_for)?;
        let noise = sum_of_noises(layout.regions() as f64, 1.0 / scale_of(self.cell_epsilon)?.get(), share);
        let lost = if shortfall == 0 { 0.0 } else { lost_cells(&layout, elements, shortfall) };
        Ok(UPWARD * (total(&layout, self.cell_epsilon, noise, elements) + lost))
    }
}

/// The error that a sum of absolute noises leads to.
fn total(layout: &Layout, epsilon: Epsilon, noise: f64, elements: u64) -> f64 {
    if layout.regions() == 0 {
        return elements as f64;
    }
    let processed = match Projection::suited_to(epsilon, layout) {
        Projection::LeastAbsolute => 2.0 * noise,
        Projection::LeastSquares => noise + layout.regions() as f64 / 2.0,
    };
    processed + elements as f64 / 2.0 * relative_width(layout)
}

/// The largest width of a strip of several columns, as a share of the smallest count in it.
fn relative_width(layout: &Layout) -> f64 {
    let wide = layout.bounds().windows(2).filter(|pair| pair[1] - pair[0] > 1);
    wide.map(|pair| (pair[1] - pair[0]) as f64 / (pair[0] + 1) as f64).fold(0.0, f64::max)
}

fn lost_cells(layout: &Layout, elements: u64, shortfall: u64) -> f64 {
    let (rows, shortfall) = (layout.rows() as f64 + 1.0, shortfall as f64);
    let laid_out_for = (elements as f64 - shortfall).max(1.0);
    let lost = (1.0 + rows * shortfall / laid_out_for) * (1.0 + shortfall / rows);
    lost.min(elements as f64)
}

/// The smallest q such that none of so many noises exceeds q in absolute value but with probability β: P\[|z| > q\] = 2α^{q+1}/(1+α).
pub(super) fn largest_noise(regions: u64, scale: Scale, beta: Beta) -> u64 {
    let alpha = libm::exp(-1.0 / scale.get());
    let needed = scale.get() * libm::log(2.0 * regions as f64 / (beta.get() * (1.0 + alpha))) * UPWARD;
    // α^{q+1} must be at most β(1+α)/(2·regions).
    libm::ceil(needed - 1.0).max(0.0) as u64
}

/// A bound on the sum of `regions` absolute noises that fails with probability β: the least over t of (K·ln E e^{t|z|} + ln(1/β))/t. Every t gives
/// a valid bound, so the search need not be exact.
fn sum_of_noises(regions: f64, epsilon: f64, beta: Beta) -> f64 {
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
