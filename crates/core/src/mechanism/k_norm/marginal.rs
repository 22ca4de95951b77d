//! How far one coordinate of ℓ∞ K-norm noise is off.
//!
//! The radius N has the weights (2n+1)^k·q^n, q = e^{−1/scale}, and the coordinate is uniform on −N, …, N: its variance
//! is E\[N(N+1)\]/3, and P\[|Z| > t\] = Σ_{n>t} P\[N = n\]·(1 − (2t+1)/(2n+1)).

use crate::quantity::{Beta, Scale};

/// Up to this many radii the sums are summed; beyond, N + ½ is nearly Gamma(k+1, scale).
const MOST_TERMS: f64 = 1e5;

/// The law of one coordinate.
pub(super) enum Marginal {
    /// P\[N = n\], n = 0, 1, …
    Listed(Vec<f64>),
    /// Scale and k.
    Gamma(f64, f64),
}

impl Marginal {
    pub fn new(scale: Scale, dimension: usize) -> Self {
        let scale = scale.get();
        let k = dimension as f64;
        let last = k * scale + 60.0 * scale * (k + 1.0).sqrt() + 60.0;
        if last >= MOST_TERMS {
            return Self::Gamma(scale, k);
        }
        let mode = (k * scale - 0.5).max(0.0);
        let ln_weight = |n: f64| k * (2.0 * n + 1.0).ln() - n / scale;
        let weights: Vec<f64> = (0..last as u64).map(|n| (ln_weight(n as f64) - ln_weight(mode)).exp()).collect();
        let total: f64 = weights.iter().sum();
        Self::Listed(weights.into_iter().map(|weight| weight / total).collect())
    }

    pub fn standard_deviation(&self) -> f64 {
        let variance = match self {
            Self::Listed(masses) => {
                let term = |(n, mass): (usize, &f64)| n as f64 * (n as f64 + 1.0) * mass;
                masses.iter().enumerate().map(term).sum::<f64>() / 3.0
            }
            Self::Gamma(scale, k) => scale * scale * (k + 1.0) * (k + 2.0) / 3.0,
        };
        variance.sqrt()
    }

    /// The least t with P\[|Z| > t\] ≤ β, up to a step where it is computed by the Gamma law.
    pub fn quantile(&self, beta: Beta) -> f64 {
        let beta = beta.get();
        match self {
            Self::Listed(masses) => {
                let (mut all, mut shares) = (0.0, 0.0);
                for (n, mass) in masses.iter().enumerate().rev() {
                    // Here `all` and `shares` are about the radii above n.
                    if all - (2.0 * n as f64 + 1.0) * shares > beta * (1.0 - 1e-12) {
                        return n as f64 + 1.0;
                    }
                    all += mass;
                    shares += mass / (2.0 * n as f64 + 1.0);
                }
                0.0
            }
            Self::Gamma(scale, k) => {
                let (mut low, mut high) = (0.0, 4.0 * (k + 1.0) + 40.0 - beta.ln());
                for _ in 0..200 {
                    let middle = (low + high) / 2.0;
                    if gamma_tail(*k, middle) > beta { low = middle } else { high = middle }
                }
                (scale * high).ceil() + 1.0
            }
        }
    }
}

/// P\[|Z| > x·scale\] = Q(k+1, x) − (x/k)·Q(k, x), where Q(j, x) = P\[Gamma(j) > x\] = P\[Poisson(x) < j\].
fn gamma_tail(k: f64, x: f64) -> f64 {
    let (mut term, mut below) = ((-x).exp(), 0.0);
    // Q(k, x), one term after the other; a term that is nothing at first grows only where x is far beyond what β asks
    // for.
    for j in 0..k as u64 {
        below += term;
        term *= x / (j as f64 + 1.0);
    }
    (below + term) - x / k * below
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{InsecureSeededSource, KNorm};

    #[test]
    fn both_ways_agree_where_both_hold() {
        for (scale, k) in [(400.0, 1usize), (300.0, 2), (90.0, 7), (40.0, 30)] {
            let (listed, gamma) = (Marginal::new(Scale::new(scale).unwrap(), k), Marginal::Gamma(scale, k as f64));
            assert!(matches!(listed, Marginal::Listed(_)));
            let near = |one: f64, other: f64| (one / other - 1.0).abs() < 0.01;
            assert!(near(listed.standard_deviation(), gamma.standard_deviation()), "{scale} {k}");
            for beta in [0.5, 0.05, 1e-6].map(|beta| Beta::new(beta).unwrap()) {
                assert!(near(listed.quantile(beta), gamma.quantile(beta)), "{scale} {k} {beta}");
            }
        }
        // One answer: discrete Laplace noise, whose tail is known.
        let (scale, one) = (3.0, Marginal::new(Scale::new(3.0).unwrap(), 1));
        let ratio = f64::exp(-1.0 / scale);
        let tail = |t: f64| 2.0 * ratio.powf(t + 1.0) / (1.0 + ratio);
        let t = one.quantile(Beta::new(0.05).unwrap());
        assert!(tail(t) <= 0.05 && tail(t - 1.0) > 0.05);
        assert!((one.standard_deviation() - (2.0 * ratio).sqrt() / (1.0 - ratio)).abs() < 1e-9);
    }

    /// 40,000 draws: the frequency beyond the 95% quantile within 7 standard errors, the variance within 5%.
    #[test]
    fn what_is_drawn_is_as_far_off() {
        for (scale, k) in [(0.7, 2usize), (4.0, 3), (2000.0, 20)] {
            let noise = Scale::new(scale).unwrap();
            let (marginal, sampler) = (Marginal::new(noise, k), KNorm::new(noise, k).unwrap());
            let mut bits = InsecureSeededSource::new(7);
            let draws: Vec<f64> = (0..40_000).map(|_| sampler.sample_wide(&mut bits)[0] as f64).collect();
            let t = marginal.quantile(Beta::new(0.05).unwrap());
            let beyond = draws.iter().filter(|z| z.abs() > t).count() as f64 / 40_000.0;
            assert!(beyond <= 0.05 + 7.0 * (0.05f64 * 0.95 / 40_000.0).sqrt(), "{scale} {k}: {beyond}");
            let square = draws.iter().map(|z| z * z).sum::<f64>() / 40_000.0;
            assert!((square.sqrt() / marginal.standard_deviation() - 1.0).abs() < 0.05, "{scale} {k}");
        }
    }
}
