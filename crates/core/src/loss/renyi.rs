//! Rényi curves: for each kind of mechanism, K(α) = (α − 1)·D_α as a function of the order, worst direction.
//!
//! K adds up under composition, is convex, and vanishes at 1. The forms are exact where the doc says so and upper
//! bounds elsewhere; each holds for adaptive composition as well, because it bounds D_α for every pair of neighbours.

use super::shape::SharedShape;
use super::special::{ln_add, ln_choose, ln_sum};
use super::subsampling_tcdp::gaussian_replaced;

/// Sums over whole orders are not carried further than this; the optimum is far below unless the loss is tiny.
const LARGEST_SAMPLED_ORDER: f64 = 1024.0;

/// How K(α) of one mechanism is computed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Curve {
    /// Gaussian noise, exact: D_α = ρα with ρ = μ²/2.
    Gaussian { rho: f64 },
    /// D_α ≤ ρα for orders up to ω (infinite for zCDP). Discrete Gaussian noise too: exact where α·shift is an integer
    /// and an upper bound elsewhere \[CKS20, Proposition 5\].
    Concentrated { rho: f64, omega: f64 },
    /// Laplace with shift/scale λ: exact \[Mir17, Proposition 6\].
    Laplace { lambda: f64 },
    /// Discrete Laplace with ratio r = e^{−1/scale} and an integer shift: exact, three geometric sums.
    DiscreteLaplace { inverse_scale: f64, shift: f64 },
    /// As a word's own file says.
    Own(SharedShape),
    /// Randomized response among `values` answers: exact; with two, the worst case of anything ε-private.
    RandomizedResponse { epsilon: f64, values: f64 },
    /// A mechanism whose loss has range ε: exact supremum over the two-point pairs \[DDR20\].
    BoundedRange { epsilon: f64 },
    /// Two finite distributions: exact, the larger of the two directions.
    Pair { p: Vec<f64>, q: Vec<f64> },
    /// A group of owners under a truncated bound.
    ConcentratedGroup { rho: f64, omega: f64, size: u64 },
    /// The largest of several at each order, each this many times.
    Largest(Vec<(Curve, f64)>),
    /// This many neighbours one after the other.
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
            Self::Own(shape) => shape.0.cumulant(order),
            Self::RandomizedResponse { epsilon, values } => randomized_response(*epsilon, *values, order),
            Self::BoundedRange { epsilon } => bounded_range(*epsilon, order),
            Self::Pair { p, q } => pair(p, q, order).max(pair(q, p, order)),
            Self::ConcentratedGroup { rho, omega, size } => {
                super::truncated::group_cumulant(*rho, *omega, *size, order)
            }
            Self::Largest(curves) => {
                curves.iter().map(|(curve, times)| times * curve.cumulant(order)).fold(0.0, f64::max)
            }
            Self::Chain { base, size } => chain(&|order| base.cumulant(order), *size, order),
            Self::SampledPresence { base, rate } => sampled(order, |whole| sampled_presence(base, *rate, whole)),
            Self::SampledReplace { base, rate } => sampled(order, |whole| sampled_replace(base, *rate, whole)),
        }
    }

    /// The largest order at which the bound is finite (perhaps infinite).
    pub(crate) fn largest_order(&self) -> f64 {
        match self {
            Self::Concentrated { omega, .. } => *omega,
            Self::Own(shape) => shape.0.largest_order(),
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

/// Hölder's inequality along a chain of a + b neighbours: K_{a+b}(α) ≤ K_a(pα)/p + (1 − 1/p)·K_b((pα−1)/(p−1)), for any
/// p > 1 \[Mir17, Proposition 11\]; p = 1 + (b/a)(1 − 1/α) makes it exact for Gaussian noise, (a+b)²·K_1.
pub(super) fn chain(base: &dyn Fn(f64) -> f64, size: u32, order: f64) -> f64 {
    if size <= 1 {
        return base(order);
    }
    let (first, second) = (size.div_ceil(2), size / 2);
    let p = 1.0 + f64::from(second) / f64::from(first) * (1.0 - 1.0 / order);
    // Rounded up: the orders are rounded, and K grows.
    let up = 1.0 + 1e-12;
    let (left, right) = (p * order * up, (p * order - 1.0) / (p - 1.0) * up);
    (chain(base, first, left) / p + (1.0 - 1.0 / p) * chain(base, second, right)) * up
}

/// What a few operations in f64 may be off by, relatively.
const ROUNDING: f64 = 8.0 * f64::EPSILON;
/// Beyond this exponent sums are taken in logarithms; their value is then far from 1, where nothing cancels.
const LARGE: f64 = 30.0;

/// ln(1 + Σ terms) from above. The terms may cancel: each may be off by its rounding.
fn ln_one_plus(terms: [f64; 2]) -> f64 {
    let slack: f64 = terms.iter().map(|term| term.abs() * ROUNDING).sum();
    (terms[0] + terms[1] + slack).max(0.0).ln_1p() * (1.0 + ROUNDING)
}

/// e^K = (α·e^{(α−1)λ} + (α−1)·e^{−αλ})/(2α−1); for tiny λ, where the two cancel, what every λ-private mechanism has is
/// as good.
fn laplace(lambda: f64, order: f64) -> f64 {
    let (total, less) = (2.0 * order - 1.0, order - 1.0);
    let any = randomized_response(lambda, 2.0, order);
    if order * lambda > LARGE {
        return any.min(ln_add((order / total).ln() + less * lambda, (less / total).ln() - order * lambda));
    }
    let terms = [order / total * (less * lambda).exp_m1(), less / total * (-order * lambda).exp_m1()];
    any.min(ln_one_plus(terms))
}

/// With u = 1/scale and a shift of s: e^K = A·e^{(α−1)us} + B·e^{−αus}, A = (1 − e^{−2αu})/((1 −
/// e^{−(2α−1)u})(1 + e^{−u})) and B = 1 − A = e^{−u}(1 − e^{−2(α−1)u})/(the same): three geometric sums, added up.
fn discrete_laplace(inverse_scale: f64, shift: f64, order: f64) -> f64 {
    let (u, less) = (inverse_scale, order - 1.0);
    let any = randomized_response(u * shift, 2.0, order);
    if shift <= 1.0 {
        return any;
    }
    let whole = -(-(2.0 * order - 1.0) * u).exp_m1() * (1.0 + (-u).exp());
    let a = -(-2.0 * order * u).exp_m1() / whole;
    let b = (-u).exp() * -(-2.0 * less * u).exp_m1() / whole;
    if order * u * shift > LARGE {
        return any.min(ln_add(a.ln() + less * u * shift, b.ln() - order * u * shift));
    }
    any.min(ln_one_plus([a * (less * u * shift).exp_m1(), b * (-order * u * shift).exp_m1()]))
}

/// Σ p^α q^{1−α} − 1 = (e^{αε} + e^{(1−α)ε} − e^ε − 1)/(e^ε + k − 1) = (1 − e^{−(α−1)ε})·(e^{αε} − 1)/(e^ε + k − 1):
/// nothing cancels.
fn randomized_response(epsilon: f64, values: f64, order: f64) -> f64 {
    if epsilon == 0.0 {
        return 0.0;
    }
    let missed = -(-(order - 1.0) * epsilon).exp_m1();
    if order * epsilon > LARGE {
        let others = (values - 1.0).ln();
        let more = missed.ln() + ln_add(order * epsilon, 0.0) - ln_add(epsilon, others);
        return ln_add(0.0, more) * (1.0 + ROUNDING);
    }
    let more = missed * (order * epsilon).exp_m1() / (epsilon.exp() + (values - 1.0));
    (more * (1.0 + ROUNDING)).ln_1p() * (1.0 + ROUNDING)
}

/// The supremum over the two-point pairs with losses t and t − ε: at e^t = (α−1)(1 − e^{−αε})/(α·e^{−ε}(1 −
/// e^{−(α−1)ε})).
fn bounded_range(epsilon: f64, order: f64) -> f64 {
    let less = order - 1.0;
    // ε²/8-zCDP always holds [CR21], and is off by the square of αε where that is small; so is the largest loss.
    let always = (epsilon * epsilon / 8.0 * order * less).min(less * epsilon) * (1.0 + ROUNDING);
    if order * epsilon < 1e-4 || order * epsilon > 700.0 || epsilon == 0.0 {
        return always;
    }
    // e^t − 1 = (α(1 − e^{−ε}) − (1 − e^{−αε}))/(α·e^{−ε}(1 − e^{−(α−1)ε})), to 1e-11.
    let tail = order * (-epsilon).exp() * -(-less * epsilon).exp_m1();
    let t = ((order * -(-epsilon).exp_m1() + (-order * epsilon).exp_m1()) / tail).ln_1p().clamp(0.0, epsilon);
    let range = -(-epsilon).exp_m1();
    // Q's masses at both losses; what t is off by enters squared.
    let (at_t, below) = ((-t).exp() * -(t - epsilon).exp_m1() / range, -(-t).exp_m1() / range);
    let terms = [at_t * (order * t).exp_m1(), below * (order * (t - epsilon)).exp_m1()];
    always.min(ln_one_plus(terms) * (1.0 + 1e-10))
}

/// Σ q·((p/q)^α − 1 − α(p/q − 1)), each term at least 0: the masses' sums are 1 except for the rounding of what was
/// given.
fn pair(p: &[f64], q: &[f64], order: f64) -> f64 {
    let mut terms = Vec::with_capacity(p.len());
    for (&p, &q) in p.iter().zip(q) {
        if p > 0.0 && q == 0.0 {
            return f64::INFINITY;
        }
        if q > 0.0 {
            terms.push(q.ln() + ln_convex_part(((p - q) / q).ln_1p(), order));
        }
    }
    ln_add(0.0, ln_sum(terms)) * (1.0 + ROUNDING)
}

/// ln(e^{αx} − 1 − α(e^x − 1)) from above.
fn ln_convex_part(x: f64, order: f64) -> f64 {
    if order * x > LARGE {
        // What is taken off is at most αe^x.
        return order * x;
    }
    if order * x.abs() < 1e-3 {
        // α(α−1)x²/2·(1 + (α+1)x/3 + (α²+α+1)x²/12 + …), and the rest of the series is below a thousandth of the last
        // term.
        let more = (order + 1.0) * x / 3.0 + (order * order + order + 1.0) * x * x / 11.9;
        return (0.5 * order * (order - 1.0)).ln() + 2.0 * x.abs().ln() + more.ln_1p() + ROUNDING;
    }
    let (power, line) = ((order * x).exp_m1(), order * x.exp_m1());
    (power - line + (power.abs() + line.abs()) * ROUNDING).max(0.0).ln()
}

/// K is convex and vanishes at 1, so between whole orders the chord is an upper bound.
fn sampled(order: f64, whole: impl Fn(f64) -> f64) -> f64 {
    let below = order.floor();
    let part = order - below;
    let at_below = if below <= 1.0 { 0.0 } else { whole(below) };
    if part == 0.0 { at_below } else { (1.0 - part) * at_below + part * whole(below + 1.0) }
}

/// ln Σ_k C(α,k) (1−s)^{α−k} s^k e^{K(k)} for whole α: exact for one direction \[BDRS18, Lemma 15\]. Without the e^{K}
/// the sum is 1, and K vanishes at 0 and 1, so it is ln(1 + Σ_{k≥2} C(α,k) (1−s)^{α−k} s^k (e^{K(k)} − 1)), where
/// nothing cancels.
fn binomial_mixture(base: &Curve, rate: f64, order: f64) -> f64 {
    let (ln_in, ln_out) = (rate.ln(), (-rate).ln_1p());
    let term = |k: f64| {
        let outside = if order > k { (order - k) * ln_out } else { 0.0 };
        ln_choose(order, k) + k * ln_in + outside + ln_exp_m1(base.cumulant(k))
    };
    ln_add(0.0, ln_sum((2..=order as u64).map(|k| term(k as f64))) + MIXTURE_SLACK)
}

/// Logarithms of factorials up to 1024! are below 6000 and good to a few units in the last place.
const MIXTURE_SLACK: f64 = 1e-11;

/// ln(e^x − 1) for x ≥ 0.
fn ln_exp_m1(x: f64) -> f64 {
    if x > LARGE { x } else { x.exp_m1().ln() }
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
        return forward;
    }
    forward.max(reverse(base, rate, order))
}

/// The reverse direction: a Taylor bound, the weighted AM–GM bound for a concentrated base, or the base mechanism
/// itself, which sampling never worsens (quasi-convexity).
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
    let known = match base {
        Curve::Gaussian { rho } => gaussian_replaced(*rho, rate, order),
        Curve::Own(shape) => shape.0.replaced(rate, order),
        _ => None,
    };
    let known = known.unwrap_or(f64::INFINITY);
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

    /// e^K − 1 by its definition, from tiny to large losses: Σ over losses ℓ > 0 of
    /// Q(ℓ)·(1 − e^{−(α−1)ℓ})·(e^{αℓ} − 1), as both directions of ±ℓ together give it for symmetric noise.
    fn symmetric(losses: impl Iterator<Item = (f64, f64)>, order: f64) -> f64 {
        let term = |(loss, q): (f64, f64)| q * -(-(order - 1.0) * loss).exp_m1() * (order * loss).exp_m1();
        losses.map(term).sum::<f64>().ln_1p()
    }

    #[test]
    fn tiny_losses_do_not_cancel_to_nothing() {
        // Curves were computed as differences of logarithms near 0: 10^18 pure mechanisms of ε = 1e-9 came to
        // ε = 0.0001 at δ = 1e-6 instead of 4.887, 6.42e11 discrete Laplace of scale 2.67e6 at 1e-3 to 0.0001 instead
        // of 0.735.
        for exponent in -18..=0 {
            let epsilon = 3.0 * 10f64.powi(exponent);
            // Orders are above 1; beyond the last of these, the sum of `symmetric` is more than an f64 holds.
            let orders = [1.0 + 1e-5, 1.5, 2.0, 17.0, 1000.0, 1.0 / epsilon];
            for order in orders.into_iter().filter(|order| *order > 1.0 && order * epsilon < 600.0) {
                let check = |name: &str, found: f64, truth: f64, loose: f64| {
                    assert!(
                        found >= truth && found <= truth * (1.0 + loose),
                        "{name} {epsilon:e} {order}: {found:e} {truth:e}"
                    );
                };
                let truth = symmetric([(epsilon, 1.0 / (1.0 + epsilon.exp()))].into_iter(), order);
                check("two answers", randomized_response(epsilon, 2.0, order), truth * (1.0 - 1e-14), 1e-12);
                let truth = symmetric([(epsilon, 1.0 / (4.0 + epsilon.exp()))].into_iter(), order);
                check("five answers", randomized_response(epsilon, 5.0, order), truth * (1.0 - 1e-14), 1e-12);
                for shift in [1u32, 2, 3, 10, 101] {
                    let u = epsilon / f64::from(shift);
                    let front = -(-u).exp_m1() / (1.0 + (-u).exp());
                    let inner = (1..shift.div_ceil(2)).map(|x| {
                        let left = f64::from(shift) - f64::from(x);
                        (left * u - f64::from(x) * u, front * (-left * u).exp())
                    });
                    let end = (epsilon, (-epsilon).exp() / (1.0 + (-u).exp()));
                    let truth = symmetric(inner.chain([end]), order);
                    check(
                        "discrete Laplace",
                        discrete_laplace(u, f64::from(shift), order),
                        truth * (1.0 - 1e-13),
                        1e-7,
                    );
                }
                // Continuous Laplace: between fine discrete ones.
                let found = laplace(epsilon, order);
                let (finer, any) =
                    (discrete_laplace(epsilon / 1e4, 1e4, order), randomized_response(epsilon, 2.0, order));
                assert!(
                    found >= finer * (1.0 - 1e-3) && found <= any * (1.0 + 1e-14),
                    "{epsilon:e} {order}: {found:e} {finer:e}"
                );
                // A range of ε: at least the pair in the middle, at most ε²/8.
                let up = (epsilon / 2.0).exp();
                let middle = symmetric([(epsilon / 2.0, 1.0 / (1.0 + up))].into_iter(), order);
                let found = bounded_range(epsilon, order);
                let most = epsilon * epsilon / 8.0 * order * (order - 1.0);
                assert!(
                    found >= middle * (1.0 - 1e-13) && found <= most * (1.0 + 1e-13),
                    "{epsilon:e} {order}: {found:e}"
                );
                // Two listed distributions whose losses are ±ε nearly.
                let (p, q) = ([0.5 + epsilon / 8.0, 0.5 - epsilon / 8.0], [0.5, 0.5]);
                let moved = (p[0] - 0.5) / 0.5;
                if moved > 0.0 && order * moved < 1e-3 {
                    // 0.5 + x and 0.5 − x are rounded differently.
                    let other = (p[1] - 0.5) / 0.5;
                    let truth = 0.25 * order * (order - 1.0) * (moved * moved + other * other);
                    check("a pair", pair(&p, &q, order), truth * (1.0 - 1e-6), 1e-5);
                }
            }
        }
    }

    #[test]
    fn tiny_samples_do_not_cancel_either() {
        // For a rate s → 0 the first term is C(α,2)·s²·(e^{K(2)} − 1).
        let base = Curve::Concentrated { rho: 0.5, omega: f64::INFINITY };
        for rate in [1e-4f64, 1e-7, 1e-9, 1e-12] {
            for order in [2.0f64, 5.0] {
                let truth = 0.5 * order * (order - 1.0) * rate * rate * 1f64.exp_m1();
                let found = binomial_mixture(&base, rate, order);
                assert!(
                    found >= truth * (1.0 - 10.0 * rate) && found <= truth * (1.0 + 1e6 * rate.max(1e-16)),
                    "{rate} {order}: {found:e} {truth:e}"
                );
            }
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
        // The worse of both directions counts. A slip that left the second one out, which has no proof for anything but
        // known noise, passed.
        let both = Curve::SampledPresence { base: Box::new(base), rate: 0.1 };
        close(both.cumulant(14.0) / 13.0, 0.0023);
        close(both.cumulant(57.0) / 56.0, 0.0066);
    }

    #[test]
    fn replaced_owners_cost_less_than_theorem_12_of_the_truncated_paper() {
        // Theorem 12 where its condition holds: 13·s²·ρ·α up to ω′/2. Ours is never above, and here below a half of it.
        let (rho, s, omega) = (0.1f64, 1e-4f64, 46.0517f64);
        for order in [2.0f64, 5.0, 11.0, 20.0] {
            let base = Curve::Concentrated { rho, omega };
            let ours = Curve::SampledReplace { base: Box::new(base), rate: s }.cumulant(order) / (order - 1.0);
            assert!(ours <= 0.5 * 13.0 * s * s * rho * order, "{order}: {ours}");
        }
    }
}
