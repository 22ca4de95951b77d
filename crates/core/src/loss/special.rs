//! Special functions that accounting leans on, each with the relative accuracy it is used at.

use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

/// The relative error that the functions here are trusted to keep (their own errors are a few units in the last place).
pub const TRUSTED: f64 = 1e-14;

/// √(Σ times·x²), good to about two roundings however many terms there are (Knuth's two-sum), also where the squares
/// would be beyond all numbers.
pub(crate) fn root_of_squares(terms: &[(f64, f64)]) -> f64 {
    let largest = terms.iter().map(|(_, x)| x.abs()).fold(0.0, f64::max);
    if largest == 0.0 || largest.is_infinite() {
        return largest;
    }
    // A power of two, so that scaling rounds nothing.
    let scale = 2f64.powi(largest.log2().floor() as i32);
    let (mut high, mut low) = (0.0, 0.0);
    for (times, x) in terms {
        let x = x / scale;
        let square = x * x;
        let term = times * square;
        let sum: f64 = high + term;
        let part = sum - high;
        low += (high - (sum - part)) + (term - part);
        low += times.mul_add(square, -term) + times * x.mul_add(x, -square);
        high = sum;
    }
    (high + low).sqrt() * scale
}

/// e^{x²}·erfc(x): the complementary error function without its underflow.
pub(crate) fn erfcx(x: f64) -> f64 {
    if x < 25.0 {
        // x² in two parts, so that the rounding of the square is not blown up by the exponential.
        let high = x * x;
        let low = x.mul_add(x, -high);
        return high.exp() * low.exp() * libm::erfc(x);
    }
    let t = 1.0 / (x * x);
    // The asymptotic series alternates; at x ≥ 25 its sixth term is below 1e-17.
    let series = 1.0 - t * (0.5 - t * (0.75 - t * (1.875 - t * (6.5625 - t * 29.53125))));
    series / (x * PI.sqrt())
}

/// P[N(0,1) > x].
pub fn normal_above(x: f64) -> f64 {
    0.5 * libm::erfc(x * FRAC_1_SQRT_2)
}

/// P[N(0,1) > x] divided by the density at x (Mills' ratio).
pub(crate) fn mills(x: f64) -> f64 {
    (PI / 2.0).sqrt() * erfcx(x / SQRT_2)
}

/// ln(e^a + e^b).
pub(crate) fn ln_add(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if high.is_infinite() { high } else { high + (low - high).exp().ln_1p() }
}

/// ln Σ e^{terms}.
pub(crate) fn ln_sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    terms.into_iter().fold(f64::NEG_INFINITY, ln_add)
}

/// ln C(n, k) for real n ≥ k ≥ 0.
pub(crate) fn ln_choose(n: f64, k: f64) -> f64 {
    libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0)
}

/// The point of least value of a unimodal function between `low` and `high`, by golden section.
pub fn golden_section(low: f64, high: f64, steps: u32, value: impl Fn(f64) -> f64) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_894_9;
    let (mut low, mut high) = (low, high);
    let (mut left, mut right) = (high - RATIO * (high - low), low + RATIO * (high - low));
    let (mut at_left, mut at_right) = (value(left), value(right));
    for _ in 0..steps {
        if at_left <= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - RATIO * (high - low);
            at_left = value(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + RATIO * (high - low);
            at_right = value(right);
        }
    }
    if at_left <= at_right { left } else { right }
}

/// The ends of the last interval of a bisection: `holds` is false at the first, true at the second (assumed monotone).
pub(crate) fn bisect(fails: f64, holds: f64, steps: u32, test: impl Fn(f64) -> bool) -> (f64, f64) {
    let (mut fails, mut holds) = (fails, holds);
    for _ in 0..steps {
        let middle = 0.5 * (fails + holds);
        if middle == fails || middle == holds {
            break;
        }
        if test(middle) {
            holds = middle;
        } else {
            fails = middle;
        }
    }
    (fails, holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, truth: f64) {
        assert!((value / truth - 1.0).abs() < 1e-14, "{value:e} is not {truth:e}");
    }

    #[test]
    fn tails_of_the_normal_law_keep_their_digits() {
        // mpmath, 30 digits
        close(erfcx(0.5), 0.615_690_344_192_925_9);
        close(erfcx(10.0), 0.056_140_992_743_822_59);
        close(erfcx(24.999), 0.022_550_473_014_042_084);
        close(erfcx(25.001), 0.022_548_671_923_112_327);
        close(erfcx(1e8), 5.641_895_835_477_563e-9);
        close(normal_above(10.0), 7.619_853_024_160_526e-24);
    }
}
