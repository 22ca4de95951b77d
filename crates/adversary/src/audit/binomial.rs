//! Certified tails of binomial laws, and the Clopper–Pearson bounds that come from them.
//!
//! The mass at k in Loader's saddle-point form (*Fast and accurate computation of binomial probabilities*, 2000), in
//! which nothing large cancels: ln P\[k\] = ½·ln(n/(2πk(n−k))) + s(n) − s(k) − s(n−k) − d(k, np) − d(n−k, nq), where s
//! is the error of Stirling's formula and d(x, m) = x·ln(x/m) + m − x. A tail is that mass times a sum of products of
//! falling ratios, all positive.

use scumble::loss::Bounds;

/// The unit roundoff.
const UNIT: f64 = f64::EPSILON / 2.0;

/// n trials, each a hit with probability p; q = 1 − p is kept beside it, so that neither loses its digits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Binomial {
    pub(super) trials: u64,
    pub(super) p: f64,
    pub(super) q: f64,
}

impl Binomial {
    /// P\[at least `hits`\], between bounds.
    pub(super) fn at_least(&self, hits: u64) -> Bounds {
        if hits == 0 {
            return Bounds { lower: 1.0, upper: 1.0 };
        }
        if hits > self.trials || self.p == 0.0 {
            return Bounds { lower: 0.0, upper: 0.0 };
        }
        if self.q == 0.0 {
            return Bounds { lower: 1.0, upper: 1.0 };
        }
        if hits as f64 > self.trials as f64 * self.p {
            return self.upper_tail(hits);
        }
        let others = self.mirrored().upper_tail(self.trials - hits + 1);
        Bounds { lower: (1.0 - others.upper).next_down().max(0.0), upper: (1.0 - others.lower).next_up().min(1.0) }
    }

    /// P\[at most `hits`\], between bounds.
    pub(super) fn at_most(&self, hits: u64) -> Bounds {
        self.mirrored().at_least(self.trials.saturating_sub(hits))
    }

    fn mirrored(&self) -> Self {
        Self { trials: self.trials, p: self.q, q: self.p }
    }

    /// The tail above the mean: the ratios of neighbouring masses are below 1 there, and fall.
    fn upper_tail(&self, hits: u64) -> Bounds {
        let odds = self.p / self.q;
        let (mut term, mut sum, mut at) = (1.0, 1.0, hits);
        let mut rest = 0.0;
        while at < self.trials {
            let ratio = (self.trials - at) as f64 / (at + 1) as f64 * odds;
            // All that is left is at most a geometric series.
            rest = if ratio < 1.0 { term * ratio / (1.0 - ratio) } else { f64::INFINITY };
            if rest <= 1e-17 * sum {
                break;
            }
            term *= ratio;
            sum += term;
            at += 1;
            rest = 0.0;
        }
        let (ln_mass, error) = self.ln_mass(hits);
        // Five roundings in each term, which its successors inherit, and one in each sum.
        let relative = 2.0 * error + 8.0 * UNIT * (at - hits + 4) as f64;
        let mass = libm::exp(ln_mass);
        // Below the normal numbers a product has no digits to rely on.
        let lower = if mass < 1e-290 { 0.0 } else { (mass * sum * (1.0 - relative)).clamp(0.0, 1.0) };
        Bounds { lower, upper: (mass * (sum + rest) * (1.0 + relative)).clamp(f64::MIN_POSITIVE, 1.0) }
    }

    /// P\[exactly `hits`\], between bounds.
    pub(super) fn mass(&self, hits: u64) -> Bounds {
        let (ln_mass, error) = self.ln_mass(hits);
        let mass = libm::exp(ln_mass);
        Bounds { lower: mass * (1.0 - 2.0 * error), upper: (mass * (1.0 + 2.0 * error)).max(f64::MIN_POSITIVE) }
    }

    /// ln P\[exactly `hits`\], and how far it may be off.
    fn ln_mass(&self, hits: u64) -> (f64, f64) {
        let (n, k) = (self.trials as f64, hits as f64);
        let (p, q) = (self.p, self.q);
        if hits == 0 || hits == self.trials {
            let (certain, other) = if hits == 0 { (q, p) } else { (p, q) };
            let each = if other < 0.5 { libm::log1p(-other) } else { libm::log(certain) };
            return (n * each, 8.0 * UNIT * (1.0 + n * (each.abs() + other.min(1.0))));
        }
        let (first, first_error) = deviance(k, n * p);
        let (second, second_error) = deviance(n - k, n * q);
        let root = 0.5 * libm::log(n / (2.0 * std::f64::consts::PI * k * (n - k)));
        let stirling = stirling_error(self.trials) - stirling_error(hits) - stirling_error(self.trials - hits);
        let value = root + stirling - first - second;
        (value, first_error + second_error + 1e-13 + 8.0 * UNIT * root.abs())
    }
}

/// x·ln(x/m) + m − x ≥ 0 without cancellation, and how far it may be off: m comes rounded, which moves it by |x − m|
/// units.
fn deviance(x: f64, m: f64) -> (f64, f64) {
    let (difference, sum) = (x - m, x + m);
    let ln_ratio = libm::log(x / m);
    let value = if difference.abs() < 0.1 * sum {
        let v = difference / sum;
        let mut total = difference * v;
        let mut power = 2.0 * x * v;
        for j in 1..1000 {
            power *= v * v;
            let next = total + power / f64::from(2 * j + 1);
            if next == total {
                break;
            }
            total = next;
        }
        total
    } else {
        x * ln_ratio + m - x
    };
    // Where x and m are apart, both are at most ten times their difference.
    (value, 1e-14 * (difference.abs() * (1.0 + ln_ratio.abs()) + value.abs()))
}

/// ln n! − ln(√(2πn)·(n/e)^n).
fn stirling_error(whole: u64) -> f64 {
    let n = whole as f64;
    if whole <= 18 {
        // n! is exact here.
        let factorial: f64 = (1..=whole).map(|i| i as f64).product();
        let formula = (n + 0.5) * libm::log(n) - n + 0.5 * libm::log(2.0 * std::f64::consts::PI);
        return libm::log(factorial) - formula;
    }
    let square = 1.0 / (n * n);
    // The series alternates; its sixth term is below 1e-18 at 19.
    (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0)))) / n
}

/// Below this success probability, that many hits or more have probability at most `alpha`: the lower bound of Clopper
/// and Pearson.
pub(super) fn success_lower(hits: u64, runs: u64, alpha: f64) -> f64 {
    if hits == 0 {
        return 0.0;
    }
    let certain = |p: f64| Binomial { trials: runs, p, q: 1.0 - p }.at_least(hits).upper <= alpha;
    bisected(0.0, hits as f64 / runs as f64, certain)
}

/// Above this success probability, that few hits have probability at most `alpha`.
pub(super) fn success_upper(hits: u64, runs: u64, alpha: f64) -> f64 {
    if hits == runs {
        return 1.0;
    }
    let certain = |q: f64| Binomial { trials: runs, p: q, q: 1.0 - q }.at_most(hits).upper <= alpha;
    bisected(1.0, hits as f64 / runs as f64, certain)
}

/// The end at which `certain` holds, after halving until nothing lies between.
fn bisected(holds: f64, fails: f64, certain: impl Fn(f64) -> bool) -> f64 {
    let (mut holds, mut fails) = (holds, fails);
    for _ in 0..120 {
        let middle = 0.5 * (holds + fails);
        if (holds - fails).abs() <= 1e-15 * middle || middle == holds || middle == fails {
            break;
        }
        if certain(middle) {
            holds = middle;
        } else {
            fails = middle;
        }
    }
    holds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effort;
    use num_bigint::BigInt;
    use num_rational::BigRational;
    use num_traits::{One, Zero};

    fn exact_at_least(trials: u64, p: &BigRational, hits: u64) -> BigRational {
        let q = BigRational::one() - p;
        let power = |base: &BigRational, times: u64| (0..times).fold(BigRational::one(), |product, _| product * base);
        let mut sum = BigRational::zero();
        let mut choose = BigInt::one();
        for k in 0..=trials {
            if k >= hits {
                sum += BigRational::from_integer(choose.clone()) * power(p, k) * power(&q, trials - k);
            }
            choose = choose * (trials - k) / (k + 1);
        }
        sum
    }

    #[test]
    fn tails_enclose_the_exact_ones() {
        for (numerator, power) in [(1u64, 20u32), (3, 7), (1, 1), (5, 3), (1_048_575, 20)] {
            let p = numerator as f64 / f64::from(power).exp2();
            let rational = BigRational::new(numerator.into(), BigInt::from(1u64 << power));
            for trials in [1u64, 2, 7, effort(19, 30), effort(30, 61)] {
                let law = Binomial { trials, p, q: 1.0 - p };
                for hits in 0..=trials + 1 {
                    let truth = exact_at_least(trials, &rational, hits);
                    let bounds = law.at_least(hits);
                    let exact = |value: f64| BigRational::from_float(value).unwrap();
                    assert!(
                        exact(bounds.lower) <= truth && truth <= exact(bounds.upper),
                        "{p} {trials} {hits} {bounds:?}"
                    );
                    let close = bounds.upper - bounds.lower <= 1e-10 * bounds.upper;
                    assert!(close || bounds.upper < 1e-280, "{p} {trials} {hits} {bounds:?}");
                    if (1..=trials).contains(&hits) {
                        let mirror = law.mirrored().at_most(trials - hits);
                        assert!(exact(mirror.lower) <= truth && truth <= exact(mirror.upper));
                    }
                }
            }
        }
    }

    #[test]
    fn bounds_of_success_are_on_the_safe_side_of_the_exact_tail() {
        for (hits, runs) in [(1u64, 1u64), (1, 50), (17, 50), (49, 50), (50, 50)] {
            let low = success_lower(hits, runs, 0.025);
            let tail = exact_at_least(runs, &BigRational::from_float(low).unwrap(), hits);
            let alpha = BigRational::from_float(0.025).unwrap();
            assert!(tail <= alpha, "{hits} of {runs}: {low}");
            let above = exact_at_least(runs, &BigRational::from_float(low * (1.0 + 1e-9)).unwrap(), hits);
            assert!(above > alpha, "{hits} of {runs}: {low} is not the largest");
            // By symmetry.
            let high = success_upper(runs - hits, runs, 0.025);
            assert!((high - (1.0 - low)).abs() < 1e-12);
        }
        assert_eq!((success_lower(0, 10, 0.025), success_upper(10, 10, 0.025)), (0.0, 1.0));
        // 1 − (1 − q)^n = 1 − α, at a size where 1 − q is 1 except for four digits.
        let rare = success_upper(0, 1_000_000_000_000, 0.025);
        assert!((rare / 3.688_879_454_1e-12 - 1.0).abs() < 1e-9, "{rare}");
    }
}
