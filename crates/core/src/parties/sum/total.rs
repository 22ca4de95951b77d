//! The noise that some honest parties add up to, and what it costs where they are fewer than planned.

use crate::calibrate::up;
use crate::quantity::{Scale, Upper};

/// The law of X − Y for independent X, Y ~ NB(r, e^{−1/scale}), where r is the honest parties that answered over those
/// that were planned for: P\[z\] = (1−q)^{2r} Σ_k a_k a_{k+|z|} with a_k = q^k (r)_k/k!.
///
/// r = 1 is discrete Laplace noise; above, it is that and more noise on top.
///
/// # Guarantee
/// For r ≤ 1, [`TotalNoise::epsilon`] is an upper bound of ln P\[z\]/P\[z+by\] for every z. The largest is at z = 0:
/// (r)_k/k! are the moments of a beta distribution, so that P is for z ≥ 0 a mixture of powers (qv)^z, v ≤ 1, which is
/// log-convex and falls; where z < 0 < z + by both are nearer to 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TotalNoise {
    scale: f64,
    shape: f64,
}

/// The most terms that are added up; beyond that there is no bound.
const MOST_TERMS: usize = 4_000_000;

impl TotalNoise {
    /// Of `honest` parties that answered, where each draws the share of one of `planned`.
    pub fn new(scale: Scale, honest: u64, planned: u64) -> Self {
        Self { scale: scale.get(), shape: honest as f64 / planned.max(1) as f64 }
    }

    /// r: how much of the planned noise there is.
    pub fn shape(&self) -> f64 {
        self.shape
    }

    /// 2rq/(1−q)².
    pub fn variance(&self) -> f64 {
        let q = (-1.0 / self.scale).exp();
        2.0 * self.shape * q / (-1.0 / self.scale).exp_m1().powi(2)
    }

    /// P\[z\], to about thirteen digits; nothing where that takes too many terms.
    pub fn probability(&self, z: u64) -> Option<f64> {
        let SeriesSum { sum, left, .. } = self.sum(z)?;
        Some((sum + left) * (-(-1.0 / self.scale).exp_m1()).powf(2.0 * self.shape))
    }

    /// An upper bound of the cost of moving one noised number by `by`: infinite where nobody is honest, nothing where
    /// it takes too many terms.
    pub fn epsilon(&self, by: u64) -> Option<Upper> {
        let planned = by as f64 / self.scale;
        if by == 0 || self.shape >= 1.0 {
            return Some(Upper::of(up(planned)));
        }
        if self.shape <= 0.0 {
            return Some(Upper::of(f64::INFINITY));
        }
        let (here, there) = (self.sum(0)?, self.sum(by)?);
        let above = (here.sum + here.left) * (1.0 + here.relative);
        let below = there.sum * (1.0 - there.relative);
        // One number's logarithm is off by an ulp; `up` adds more.
        Some(Upper::of(up((above / below).ln()).max(up(planned))))
    }

    /// Σ_k a_k a_{k+z}, what is left out of it at most, and its relative error.
    fn sum(&self, z: u64) -> Option<SeriesSum> {
        let terms = usize::try_from(z).ok()?.checked_add((48.0 * self.scale) as usize + 64)?;
        if terms > MOST_TERMS {
            return None;
        }
        let q = (-1.0 / self.scale).exp();
        let next = |k: usize, a: f64| a * q * ((k as f64 + self.shape) / (k as f64 + 1.0));
        // a_{k+z} runs ahead of a_k.
        let mut ahead = (0..z as usize).fold(1.0, |a, k| next(k, a));
        let (mut behind, mut sum) = (1.0, 0.0);
        let mut k = 0;
        while k < terms && behind * ahead > 0.0 {
            sum += behind * ahead;
            (behind, ahead) = (next(k, behind), next(k + z as usize, ahead));
            k += 1;
        }
        // From k on, each product is at most q²·max(1, ((k+r)/(k+1))²) times the one before it: a geometric series
        // bounds the rest.
        let grows = ((k as f64 + self.shape) / (k as f64 + 1.0)).max(1.0).powi(2);
        let ratio = q * q * grows;
        let left = if ratio < 1.0 { behind * ahead / (1.0 - ratio) } else { return None };
        // Each a_k is a product of k factors, each with an error below 4 units of 2^-52, and the sum has as many
        // additions.
        let relative = 12.0 * (k as f64 + z as f64 + 8.0) * f64::EPSILON;
        Some(SeriesSum { sum, left, relative })
    }
}

struct SeriesSum {
    sum: f64,
    left: f64,
    relative: f64,
}
