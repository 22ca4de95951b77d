//! Rényi curves: for each kind of mechanism, K(α) = (α − 1)·D_α as a function of the order, worst direction.
//!
//! K adds up under composition, is convex, and vanishes at 1. The forms are exact where the doc says so and upper bounds
//! elsewhere; each holds for adaptive composition as well, because it bounds D_α for every pair of neighbours.

use super::special::{ln_add, ln_choose, ln_sum};
use super::subsampling_tcdp::known_noise_replaced;
use crate::noise::sinh_normal::Certificate;
use std::sync::Arc;

/// Sums over whole orders are not carried further than this; the optimum is far below unless the loss is tiny.
const LARGEST_SAMPLED_ORDER: f64 = 1024.0;

/// How K(α) of one mechanism is computed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Curve {
    /// Gaussian noise, exact: D_α = ρα with ρ = μ²/2.
    Gaussian { rho: f64 },
    /// D_α ≤ ρα for orders up to ω (infinite for zCDP). Discrete Gaussian noise too: exact where α·shift is an integer and
    /// an upper bound elsewhere \[CKS20, Proposition 5\].
    Concentrated { rho: f64, omega: f64 },
    /// Laplace with shift/scale λ: exact \[Mir17, Proposition 6\].
    Laplace { lambda: f64 },
    /// Discrete Laplace with ratio r = e^{−1/scale} and an integer shift: exact, three geometric sums.
    DiscreteLaplace { inverse_scale: f64, shift: f64 },
    /// Sinh-normal noise: computed from the integers of its table.
    SinhNormal(Arc<Certificate>),
    /// Randomized response among `values` answers: exact; with two, the worst case of anything ε-private.
    RandomizedResponse { epsilon: f64, values: f64 },
    /// A mechanism whose loss has range ε: exact supremum over the two-point pairs \[DDR20\].
    BoundedRange { epsilon: f64 },
    /// Two finite distributions: exact, the larger of the two directions.
    Pair { p: Vec<f64>, q: Vec<f64> },
    /// A group of owners under a truncated bound.
    ConcentratedGroup { rho: f64, omega: f64, size: u64 },
    /// The largest of several at each order, each so many times.
    Largest(Vec<(Curve, f64)>),
    /// So many neighbours one after the other.
    Chain { base: Box<Curve>, size: u32 },
    /// On a sample, add or remove one owner.
    SampledPresence { base: Box<Curve>, rate: f64 },
    /// On a sample, one owner replaced.
    SampledReplace { base: Box<Curve>, rate: f64 },
}

impl Curve {
    /// An upper bound of K(α) = (α−1)·D_α, infinite where none is known. `order` > 1.
    pub(crate) fn cumulant(&self, order: f64) -> f64 {
        match self {
            Self::Gaussian { rho } => rho * order * (order - 1.0),
            Self::Concentrated { rho, omega } if order <= *omega => rho * order * (order - 1.0),
            Self::Concentrated { .. } => f64::INFINITY,
            Self::Laplace { lambda } => laplace(*lambda, order),
            Self::DiscreteLaplace { inverse_scale, shift } => discrete_laplace(*inverse_scale, *shift, order),
            Self::SinhNormal(certificate) => (order - 1.0) * certificate.renyi_upper(order),
            Self::RandomizedResponse { epsilon, values } => randomized_response(*epsilon, *values, order),
            Self::BoundedRange { epsilon } => bounded_range(*epsilon, order),
            Self::Pair { p, q } => pair(p, q, order).max(pair(q, p, order)),
            Self::ConcentratedGroup { rho, omega, size } => {
                super::truncated::group_cumulant(*rho, *omega, *size, order)
            }
            Self::Largest(curves) => {
                curves.iter().map(|(curve, times)| times * curve.cumulant(order)).fold(0.0, f64::max)
            }
            Self::Chain { base, size } => chain(base, *size, order),
            Self::SampledPresence { base, rate } => sampled(order, |whole| sampled_presence(base, *rate, whole)),
            Self::SampledReplace { base, rate } => sampled(order, |whole| sampled_replace(base, *rate, whole)),
        }
    }

    /// The largest order at which the bound is finite (perhaps infinite).
    pub(crate) fn largest_order(&self) -> f64 {
        match self {
            Self::Concentrated { omega, .. } => *omega,
            Self::ConcentratedGroup { omega, size, .. } => super::truncated::group_largest_order(*omega, *size),
            Self::SampledPresence { base, .. } | Self::SampledReplace { base, .. } => {
                base.largest_order().floor().min(LARGEST_SAMPLED_ORDER)
            }
            Self::Largest(curves) => {
                curves.iter().map(|(curve, _)| curve.largest_order()).fold(f64::INFINITY, f64::min)
            }
            // The legs of a chain have orders of up to about size times its own.
            Self::Chain { base, size } => base.largest_order() / f64::from(*size),
            _ => f64::INFINITY,
        }
    }
}

/// Hölder's inequality along a chain of a + b neighbours: K_{a+b}(α) ≤ K_a(pα)/p + (1 − 1/p)·K_b((pα−1)/(p−1)), for any p > 1
/// \[Mir17, Proposition 11\]; p = 1 + (b/a)(1 − 1/α) makes it exact for Gaussian noise, (a+b)²·K_1.
fn chain(base: &Curve, size: u32, order: f64) -> f64 {
    if size <= 1 {
        return base.cumulant(order);
    }
    let (first, second) = (size.div_ceil(2), size / 2);
    let p = 1.0 + f64::from(second) / f64::from(first) * (1.0 - 1.0 / order);
    // Rounded up: the orders are rounded, and K grows.
    let up = 1.0 + 1e-12;
    let (left, right) = (p * order * up, (p * order - 1.0) / (p - 1.0) * up);
    (chain(base, first, left) / p + (1.0 - 1.0 / p) * chain(base, second, right)) * up
}

fn laplace(lambda: f64, order: f64) -> f64 {
    let total = 2.0 * order - 1.0;
    ln_add((order / total).ln() + (order - 1.0) * lambda, ((order - 1.0) / total).ln() - order * lambda)
}

fn discrete_laplace(inverse_scale: f64, shift: f64, order: f64) -> f64 {
    let ratio = (-inverse_scale).exp();
    // ln of: outer sums r^{(1−α)s} + r^{αs}, over (1−r), and the inner sum r^{(1−α)s}·Σ_{x=1}^{s−1} r^{(2α−1)x}.
    let front = (order - 1.0) * inverse_scale * shift;
    let outer = ln_add(front, -order * inverse_scale * shift) - (-ratio).ln_1p();
    let step = (2.0 * order - 1.0) * inverse_scale;
    let inner = if shift > 1.0 {
        front - step + (-(-step * (shift - 1.0)).exp_m1()).ln() - (-(-step).exp_m1()).ln()
    } else {
        f64::NEG_INFINITY
    };
    let normalise = (-(-inverse_scale).exp_m1()).ln() - ratio.ln_1p();
    (normalise + ln_add(outer, inner)).max(0.0)
}

fn randomized_response(epsilon: f64, values: f64, order: f64) -> f64 {
    // Σ p^α q^{1−α} = (e^{αε} + e^{(1−α)ε} + (k−2)) / (e^ε + k − 1), in logs relative to 1.
    let above = ln_add(order * epsilon, (1.0 - order) * epsilon);
    let above = if values > 2.0 { ln_add(above, (values - 2.0).ln()) } else { above };
    (above - ln_add(epsilon, (values - 1.0).ln())).max(0.0)
}

fn bounded_range(epsilon: f64, order: f64) -> f64 {
    if epsilon == 0.0 {
        return 0.0;
    }
    // The pair with losses t and t−ε; stationary at e^t = (α−1)(1−e^{−αε}) / (α(e^{−ε}−e^{−αε})).
    let whole = -(-order * epsilon).exp_m1();
    let tail = (-epsilon).exp() * -(-(order - 1.0) * epsilon).exp_m1();
    let t = ((order - 1.0) * whole / (order * tail)).ln().clamp(0.0, epsilon);
    let value = ((order - 1.0) * t).exp() * (whole - t.exp() * tail) / -(-epsilon).exp_m1();
    let direct = if value.is_finite() && value > 0.0 { value.ln() } else { f64::INFINITY };
    // ε²/8-zCDP always holds, and is the better number where the closed form has cancelled to nothing.
    direct.max(0.0).min(epsilon * epsilon / 8.0 * order * (order - 1.0)).min((order - 1.0) * epsilon)
}

fn pair(p: &[f64], q: &[f64], order: f64) -> f64 {
    let mut terms = Vec::with_capacity(p.len());
    for (&p, &q) in p.iter().zip(q) {
        if p > 0.0 && q == 0.0 {
            return f64::INFINITY;
        }
        if p > 0.0 {
            terms.push(order * p.ln() + (1.0 - order) * q.ln());
        }
    }
    ln_sum(terms).max(0.0)
}

/// K is convex and vanishes at 1, so between whole orders the chord is an upper bound.
fn sampled(order: f64, whole: impl Fn(f64) -> f64) -> f64 {
    let below = order.floor();
    let part = order - below;
    let at_below = if below <= 1.0 { 0.0 } else { whole(below) };
    if part == 0.0 { at_below } else { (1.0 - part) * at_below + part * whole(below + 1.0) }
}

/// ln Σ_k C(α,k) (1−s)^{α−k} s^k e^{K(k)} for whole α: exact for one direction \[BDRS18, Lemma 15\].
fn binomial_mixture(base: &Curve, rate: f64, order: f64) -> f64 {
    let (ln_in, ln_out) = (rate.ln(), (-rate).ln_1p());
    let term = |k: f64| {
        let inside = if k > 0.0 { k * ln_in } else { 0.0 };
        let outside = if order > k { (order - k) * ln_out } else { 0.0 };
        let cumulant = if k > 1.0 { base.cumulant(k) } else { 0.0 };
        ln_choose(order, k) + inside + outside + cumulant
    };
    ln_sum((0..=order as u64).map(|k| term(k as f64)))
}

fn sampled_presence(base: &Curve, rate: f64, order: f64) -> f64 {
    if rate == 0.0 {
        return 0.0;
    }
    if rate == 1.0 {
        return base.cumulant(order);
    }
    let forward = binomial_mixture(base, rate, order);
    if matches!(base, Curve::Gaussian { .. }) {
        // Gaussian: the reverse direction is never larger [MTZ19, Theorem 5].
        return forward.max(0.0);
    }
    forward.max(reverse(base, rate, order)).max(0.0)
}

/// The reverse direction: a Taylor bound, the weighted AM–GM bound for a concentrated base, or the base mechanism itself,
/// which sampling never worsens (quasi-convexity).
fn reverse(base: &Curve, rate: f64, order: f64) -> f64 {
    let second = base.cumulant(2.0).exp_m1();
    let taylor = (0.5 * order * (order - 1.0) * rate * rate * second * (1.0 - rate).powf(-order - 1.0)).ln_1p();
    let mean = match base {
        Curve::Concentrated { rho, .. } => (order - 1.0) * rate * rho * (1.0 + rate * (order - 1.0)),
        _ => f64::INFINITY,
    };
    taylor.min(mean).min(base.cumulant(order))
}

/// Without replacement or Poisson, one owner replaced: 1 + 2(S−1) + α(α−1)s²(e^{K(2)}−1) (derived in the tCDP notes).
fn sampled_replace(base: &Curve, rate: f64, order: f64) -> f64 {
    if rate == 0.0 {
        return 0.0;
    }
    let whole = base.cumulant(order);
    if rate == 1.0 {
        return whole;
    }
    let mixture = binomial_mixture(base, rate, order).exp_m1();
    let second = order * (order - 1.0) * rate * rate * base.cumulant(2.0).exp_m1();
    let known = known_noise_replaced(base, rate, order).unwrap_or(f64::INFINITY);
    (2.0 * mixture + second).ln_1p().min(known).min(whole).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms_agree_with_direct_sums() {
        let scale: f64 = 2.0;
        let mass = |x: i64| (-(x.abs() as f64) / scale).exp() * (0.5 / scale).tanh();
        for shift in [1i64, 2, 3, 7] {
            for order in [1.5, 2.0, 7.25] {
                let direct: f64 =
                    (-60..60).map(|x| mass(x).powf(order) * mass(x - shift).powf(1.0 - order)).sum::<f64>().ln();
                let closed = Curve::DiscreteLaplace { inverse_scale: 1.0 / scale, shift: shift as f64 }.cumulant(order);
                assert!((closed - direct).abs() < 1e-12 * direct.max(1.0), "shift {shift}: {closed} {direct}");
            }
        }
    }

    #[test]
    fn bounded_range_is_the_supremum_over_its_pairs() {
        for epsilon in [0.1, 1.0, 5.0] {
            for order in [1.5, 2.0, 10.0] {
                let supremum = (0..=2000).map(|i| {
                    let t = epsilon * f64::from(i) / 2000.0;
                    let mass = ((-t).exp() - (-epsilon).exp()) / -(-epsilon).exp_m1();
                    (mass * (order * t).exp() + (1.0 - mass) * (order * (t - epsilon)).exp()).ln()
                });
                let supremum = supremum.fold(0.0, f64::max);
                let closed = Curve::BoundedRange { epsilon }.cumulant(order);
                assert!(closed >= supremum - 1e-12 && closed <= supremum * (1.0 + 1e-3), "{closed} {supremum}");
            }
        }
    }

    #[test]
    fn a_chain_is_exact_for_gaussians_and_above_the_truth_for_pairs() {
        let one = Curve::Gaussian { rho: 0.02 };
        for size in [2u32, 3, 5, 8] {
            for order in [1.1, 2.0, 9.5] {
                let chain = Curve::Chain { base: Box::new(one.clone()), size }.cumulant(order);
                let truth = f64::from(size * size) * one.cumulant(order);
                assert!(chain >= truth && chain <= truth * (1.0 + 1e-9), "{size} owners: {chain} {truth}");
            }
        }
        // Three distributions in a row, each close to the next.
        let laws = [[0.5, 0.3, 0.2], [0.4, 0.33, 0.27], [0.35, 0.45, 0.2], [0.3, 0.5, 0.2]];
        for order in [1.3, 2.0, 6.0] {
            let legs = laws.windows(2).map(|two| (Curve::Pair { p: two[0].to_vec(), q: two[1].to_vec() }, 1.0));
            let chain = Curve::Chain { base: Box::new(Curve::Largest(legs.collect())), size: 3 }.cumulant(order);
            let ends = Curve::Pair { p: laws[0].to_vec(), q: laws[3].to_vec() }.cumulant(order);
            assert!(chain >= ends, "{chain} {ends}");
        }
    }

    #[test]
    fn sampling_bounds_match_the_tcdp_vectors() {
        // lemma15_alpha2, wor_generic_alpha28 and poisson_reverse of the tCDP vectors
        let base = Curve::Concentrated { rho: 0.01, omega: 60.0 };
        let close = |value: f64, truth: f64| assert!((value / truth - 1.0).abs() < 1e-9, "{value} {truth}");
        close(binomial_mixture(&base, 0.01, 2.0), 2.020_131_962_207_634_6e-6);
        close(sampled_replace(&base, 0.01, 28.0) / 27.0, 0.000_113_274_011_199_330_76);
        close(reverse(&base, 0.1, 2.0), 0.000_277_071_900_468_522_8);
        close(reverse(&base, 0.1, 14.0) / 13.0, 0.0023);
        close(reverse(&base, 0.1, 57.0) / 56.0, 0.0066);
    }
}
