//! The parameters with the least maximum error for a (ρ, ω)-tCDP target, or the verdict that a Gaussian is better.

use super::{StopRule, halve, sigma_for_zcdp};
use crate::error::{Error, Result};
use crate::noise::SinhNormal;
use crate::noise::sinh_normal::{continuous_renyi, order_limit};
use crate::quantity::{Omega, Probability, Rho, Scale, Sensitivity, Sigma};

/// What calibration chose.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum LeastErrorNoise {
    /// Sinh-normal noise, certified from its table.
    SinhNormal(SinhNormal),
    /// A discrete Gaussian, which has no larger maximum error here: the order ω is so large that little is to be
    /// gained.
    DiscreteGaussian(Sigma),
}

/// Noise for one cell that moves by at most `shift`, (ρ, ω)-tCDP, with the least q such that
/// P\[|noise| > q\] ≤ `exceeded` (for k cells and failure β: β/k).
///
/// For each A the largest R = A²/2σ² that the continuous noise allows is found by bisection, A by golden section; then
/// the table is certified, and σ raised until its certificate holds. Beyond ω√ρ = 2, where sinh-normal noise never
/// pays, the discrete Gaussian with σ = Δ/√(2ρ) is chosen at once.
///
/// # Guarantee
/// The chosen noise is (ρ, ω)-tCDP for every move up to `shift` of one cell: for sinh-normal by
/// [`crate::noise::sinh_normal::Certificate`], for the discrete Gaussian since it is ρ-zCDP (Canonne–Kamath–Steinke
/// 2020, Theorem 4).
///
/// ```
/// use scumble::calibrate::{LeastErrorNoise, least_maximum_error};
/// use scumble::quantity::{Omega, Probability, Rho};
/// let chosen = least_maximum_error(Rho::new(0.01)?, Omega::new(10.0)?, 1, Probability::new(1e-12)?)?;
/// let LeastErrorNoise::SinhNormal(noise) = chosen else { panic!() };
/// assert!(noise.table().quantile(1e-12) <= 41); // a Gaussian needs 51
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn least_maximum_error(rho: Rho, omega: Omega, shift: u64, exceeded: Probability) -> Result<LeastErrorNoise> {
    refuse_if!(rho.get() == 0.0 || shift == 0, "rho and the move must be above 0 to calibrate noise");
    if exceeded.get() <= 0.0 || exceeded.get() >= 1.0 {
        refuse!("the probability of a larger error must lie strictly between 0 and 1");
    }
    let unit = shift as f64;
    let gaussian_sigma = sigma_for_zcdp(rho, Sensitivity::new(unit)?)?;
    let gaussian = || Ok(LeastErrorNoise::DiscreteGaussian(gaussian_sigma));
    if omega.get() * rho.get().sqrt() > 2.0 {
        return gaussian();
    }
    let z = normal_tail_quantile(exceeded.get() / 2.0);
    let Some((a, sigma)) = best_continuous(rho.get(), omega.get(), z) else { return gaussian() };
    if a * (sigma * z / a).asinh() * unit >= gaussian_sigma.get() * z {
        return gaussian();
    }
    certified(rho.get(), omega, shift, a * unit, sigma * unit)
}

/// Raises σ (and A with it) until the table's certificate holds.
fn certified(rho: f64, omega: Omega, shift: u64, a: f64, sigma: f64) -> Result<LeastErrorNoise> {
    let mut factor = 1.0;
    for attempt in 0..60 {
        let noise = SinhNormal::new(Sigma::new(sigma * factor)?, Scale::new(a * factor)?)?;
        if noise.certificate(shift)?.slope_upper(omega) <= rho {
            return Ok(LeastErrorNoise::SinhNormal(noise));
        }
        factor *= 1.0 + 1e-5 * 1.3f64.powi(attempt);
    }
    Err(Error::refused("no sinh-normal table certifies this rho and omega: use discrete Gaussian noise"))
}

/// (A, σ) in units of the sensitivity with the least A·arsinh(σz/A).
fn best_continuous(rho: f64, omega: f64, z: f64) -> Option<(f64, f64)> {
    // Below this A the divergence is infinite at order ω.
    let least = 2.0 / (omega / (omega - 1.0)).ln();
    let error = |ln_a: f64| {
        let a = ln_a.exp();
        largest_shape(rho, omega, a).map_or(f64::INFINITY, |shape| {
            let sigma = a / (2.0 * shape).sqrt();
            a * (sigma * z / a).asinh()
        })
    };
    let ln_a = golden_section(least.ln() + 1e-6, least.ln() + 5.0, error);
    let a = ln_a.exp();
    largest_shape(rho, omega, a).map(|shape| (a, a / (2.0 * shape).sqrt()))
}

/// The largest R in [½, a²ρ] for which D_ω/ω ≤ ρ (D_α/α grows with α, so ω is the worst order; the certificate checks).
fn largest_shape(rho: f64, omega: f64, a: f64) -> Option<f64> {
    let holds = |shape: f64| omega < order_limit(a) && continuous_renyi(a, shape, omega) / omega <= rho;
    let (low, high) = (0.5, a * a * rho);
    if high <= low || !holds(low) {
        return None;
    }
    let attempt = |shape: f64| Ok::<_, std::convert::Infallible>(holds(shape).then_some(()));
    let Ok(found) = halve(low, high, StopRule { steps: 50, relative: 1e-9 }, attempt);
    Some(found.map_or(low, |(shape, ())| shape))
}

fn golden_section(mut low: f64, mut high: f64, value: impl Fn(f64) -> f64) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_894_9;
    let (mut left, mut right) = (high - RATIO * (high - low), low + RATIO * (high - low));
    let (mut at_left, mut at_right) = (value(left), value(right));
    for _ in 0..40 {
        // Towards small A nothing is feasible: an infinite value on the left sends us right.
        if at_left < at_right {
            high = right;
            (right, at_right) = (left, at_left);
            left = high - RATIO * (high - low);
            at_left = value(left);
        } else {
            low = left;
            (left, at_left) = (right, at_right);
            right = low + RATIO * (high - low);
            at_right = value(right);
        }
    }
    if at_left < at_right { left } else { right }
}

/// z with P\[N(0,1) > z\] = p, by bisection on erfc (p down to 1e-300).
pub(crate) fn normal_tail_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-38.0, 38.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if 0.5 * libm::erfc(middle / std::f64::consts::SQRT_2) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}
