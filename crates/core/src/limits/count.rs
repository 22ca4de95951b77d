//! What no private count or histogram can beat.
//!
//! The bounds are about every table, of any size: a mechanism may do better on the tables that it likes, not on all. They follow from one
//! thought. Let M answer counts k = 0, 1, 2, … and let Z be its error M(k) − k for a k drawn uniformly below a large number. Moving
//! every k up by one changes one owner, so Z and Z + 1 are as hard to tell apart as neighbours are; and the largest error of M is at
//! least that of Z. What remains is how concentrated such a Z can be.

use crate::error::{Error, Result};
use crate::quantity::{Delta, Epsilon, Rho};

/// Rounding goes down: these are lower bounds.
const DOWNWARD: f64 = 1.0 - 1e-9;

/// A lower bound of the standard error (root of the mean square) that an (ε, δ)-private count can promise for every table, where one
/// owner moves the count by 1. With δ > 0 it is about answers that are whole numbers; with δ = 0, about all.
///
/// For whole errors, with α = e^{−ε}: P\[Z ≥ t\] ≥ α(P\[Z ≥ t−1\] − δ), and the same below. So P\[Z = 0\] ≤ (1 − α + 2αδ)/(1 + α), and u_t =
/// P\[|Z| ≥ t\] has u₁ ≥ 2α(1 − δ)/(1 + α), u_{t+1} ≥ α(u_t − 2δ); E Z² = Σ(2t − 1)·u_t. At δ = 0 that is 2α/(1 − α)² = 1/(2·sinh²(ε/2)), the
/// variance of discrete Laplace noise: nobody beats it (Ghosh, Roughgarden, Sundararajan 2009 and Gupte, Sundararajan 2010 show more).
/// Errors with a fractional part c do not help: on c + ℤ the least is the same plus c² (a linear programme in the two tails).
///
/// ```
/// use scumble::limits::count::standard_error_lower;
/// use scumble::quantity::{Delta, Epsilon};
/// let bound = standard_error_lower(Epsilon::new(0.5)?, Delta::new(0.0)?);
/// assert!((bound - 1.0 / (2f64.sqrt() * 0.25f64.sinh())).abs() < 1e-6);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn standard_error_lower(epsilon: Epsilon, delta: Delta) -> f64 {
    let (epsilon, delta) = (epsilon.get(), delta.get());
    if delta == 0.0 {
        return DOWNWARD / (std::f64::consts::SQRT_2 * libm::sinh(epsilon / 2.0));
    }
    let alpha = libm::exp(-epsilon);
    let mut beyond = 2.0 * alpha * (1.0 - delta) / (1.0 + alpha);
    let mut square = 0.0;
    let mut at = 1.0;
    // δ ends the sum: each step takes 2αδ away. A step that adds next to nothing may end it as well, since a part of the sum is a bound.
    while beyond > 0.0 && (2.0 * at - 1.0) * beyond > 1e-12 * square {
        square += (2.0 * at - 1.0) * beyond;
        beyond = alpha * (beyond - 2.0 * delta);
        at += 1.0;
        if at > 1e7 {
            break;
        }
    }
    DOWNWARD * libm::sqrt(square)
}

/// The same for ρ-zCDP: 1/√(e^{2ρ} − 1), about 1/√(2ρ), the σ of Gaussian noise.
///
/// Chapman and Robbins: Var Z ≥ 1/χ²(Z + 1 ‖ Z), and χ² = e^{D₂} − 1 ≤ e^{2ρ} − 1; χ² is jointly convex, so that averaging over k
/// keeps it.
///
/// ```
/// use scumble::limits::count::concentrated_standard_error_lower;
/// use scumble::quantity::Rho;
/// assert!((concentrated_standard_error_lower(Rho::new(0.005)?) - 9.975).abs() < 1e-3);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn concentrated_standard_error_lower(rho: Rho) -> f64 {
    DOWNWARD / libm::sqrt(libm::expm1(2.0 * rho.get()))
}

/// A lower bound of the largest error among `cells` cells of an ε-private histogram, where ε is for replacing one owner: on some table, with
/// probability at least ½, some cell is off by at least this.
///
/// Packing: with n owners, all in one cell, whoever is off by less than n/2 everywhere names the cell. If that happens with probability
/// above ½ for each of the K cells, then 1 ≥ Σ_j P\[j is named | all in cell 1\] > K·½·e^{−nε}, so n > ln(K/2)/ε.
///
/// ```
/// use scumble::limits::count::histogram_error_lower;
/// use scumble::quantity::Epsilon;
/// // ln(500)/0.5 = 12.4: with 12 owners it cannot be done.
/// assert_eq!(histogram_error_lower(Epsilon::new(0.5)?, 1000)?, 6.0);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn histogram_error_lower(epsilon: Epsilon, cells: u64) -> Result<f64> {
    if epsilon.get() == 0.0 {
        return Err(Error::refused("the limit of a histogram needs epsilon above 0"));
    }
    let owners = libm::log(cells.max(2) as f64 / 2.0) / epsilon.get() * DOWNWARD;
    Ok(libm::floor(owners) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).unwrap()
    }

    fn delta(value: f64) -> Delta {
        Delta::new(value).unwrap()
    }

    /// Discrete Laplace noise attains the bound, so it is no larger than the truth.
    #[test]
    fn discrete_laplace_noise_attains_the_bound() {
        for at in [0.01, 0.1, 0.5, 1.0, 3.0] {
            let q = f64::exp(-at);
            let variance: f64 =
                (1..20_000).map(|z| 2.0 * f64::from(z).powi(2) * q.powi(z) * (1.0 - q) / (1.0 + q)).sum();
            let bound = standard_error_lower(epsilon(at), delta(0.0));
            assert!(bound <= variance.sqrt() && bound > variance.sqrt() * (1.0 - 1e-6), "{at}: {bound} {variance}");
        }
    }

    #[test]
    fn a_small_delta_changes_little_and_a_large_one_much() {
        let pure = standard_error_lower(epsilon(0.5), delta(0.0));
        let nearly = standard_error_lower(epsilon(0.5), delta(1e-12));
        assert!(nearly <= pure && nearly > 0.999_99 * pure, "{nearly} {pure}");
        // With δ = 1 everything is allowed, the truth as well.
        assert_eq!(standard_error_lower(epsilon(0.5), delta(1.0)), 0.0);
    }

    /// A small enough Gaussian is known exactly: its own ρ gives a bound just below its σ.
    #[test]
    fn gaussian_noise_is_nearly_optimal_for_zcdp() {
        for sigma in [5.0f64, 20.0, 100.0] {
            let bound = concentrated_standard_error_lower(Rho::new(1.0 / (2.0 * sigma * sigma)).unwrap());
            assert!(bound < sigma && bound > 0.98 * sigma, "{sigma} {bound}");
        }
    }

    proptest! {
        /// Every law on the integers whose neighbouring masses differ by at most a factor e^ε (and on a shifted grid) is at least as wide.
        #[test]
        fn no_law_with_bounded_ratios_is_narrower(
            at in 0.05f64..2.0,
            ratios in proptest::collection::vec(-1.0f64..=1.0, 60),
            shift in -0.5f64..=0.5,
        ) {
            // Log-masses by steps of at most ε; beyond the list they fall as fast as they may.
            let mut log_mass = vec![0.0f64];
            for ratio in &ratios {
                log_mass.push(log_mass.last().unwrap() + ratio * at);
            }
            let middle = log_mass.len() as f64 / 2.0;
            let tails = 2000;
            let first = log_mass[0];
            let last = *log_mass.last().unwrap();
            let left = (1..=tails).map(|step| (-f64::from(step), first - f64::from(step) * at));
            let right = (1..=tails).map(|step| (f64::from(step) + ratios.len() as f64, last - f64::from(step) * at));
            let inner = log_mass.iter().enumerate().map(|(place, mass)| (place as f64, *mass));
            let points: Vec<(f64, f64)> = left.chain(inner).chain(right).collect();
            let top = points.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = points.iter().map(|point| (point.1 - top).exp()).sum();
            let square = |(place, mass): &(f64, f64)| (place - middle.floor() + shift).powi(2) * (mass - top).exp() / total;
            let square: f64 = points.iter().map(square).sum();
            prop_assert!(square.sqrt() >= standard_error_lower(epsilon(at), delta(0.0)) * (1.0 - 1e-6));
        }
    }

    /// The packing bound against noise that is private: Laplace noise of scale 2/ε on every cell stays above it.
    #[test]
    fn no_laplace_histogram_beats_the_packing_bound() {
        for (at, cells) in [(0.1, 10u64), (0.5, 1000), (2.0, 1_000_000)] {
            // With probability ½, the largest of K noises is at least about (2/ε)·ln(K/(2 ln 2)).
            let typical = 2.0 / at * (cells as f64 / (2.0 * 2f64.ln())).ln();
            let bound = histogram_error_lower(epsilon(at), cells).unwrap();
            assert!(bound <= typical, "{bound} {typical}");
        }
        assert_eq!(histogram_error_lower(epsilon(1.0), 1).unwrap(), 0.0);
        assert!(histogram_error_lower(epsilon(0.0), 5).is_err());
    }
}
