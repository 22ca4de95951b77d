//! A law on the integers as far as f64 can hold it, with what is not held bounded.

use super::bound::{Bound, UNIT};

/// Mass that may be cut off on either side of a window at each step. Far below any δ that means anything, and far above
/// where f64 loses its relative precision.
const TRIM: f64 = 1e-42;

/// What underflow may lose in one step, if values come anywhere near it.
const UNDERFLOW: f64 = 1e-240;

/// A law f on the integers, held as f = g + r: `values` holds g on consecutive integers from `first`, each up to a
/// factor 1 ± `relative_error`; r ≥ 0 is not held and has mass at most `dropped`.
///
/// All operations only add and multiply positive numbers, so that the relative error stays near the number of
/// operations times the unit roundoff: a tail of 1e-30 is as precise as the middle. (An FFT has an absolute error
/// instead, which is why none is used here.)
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    first: i64,
    values: Vec<f64>,
    relative_error: f64,
    dropped: f64,
}

impl Window {
    /// All the mass on one integer.
    pub fn point(at: i64) -> Self {
        Self { first: at, values: vec![1.0], relative_error: 0.0, dropped: 0.0 }
    }

    /// A window whose invariant the caller has established.
    pub(super) fn held(first: i64, values: Vec<f64>, relative_error: f64, dropped: f64) -> Self {
        Self { first, values, relative_error, dropped }
    }

    /// The first integer that is held.
    pub fn first(&self) -> i64 {
        self.first
    }

    /// The last integer that is held.
    pub fn last(&self) -> i64 {
        self.first + self.values.len() as i64 - 1
    }

    /// The held values, from [`Window::first`] on.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// By how much a held value may be off, as a factor 1 ± this.
    pub fn relative_error(&self) -> f64 {
        self.relative_error
    }

    /// The mass that is not held, at most.
    pub fn dropped(&self) -> f64 {
        self.dropped
    }

    /// The held value at `k`, 0 outside of the window.
    pub fn at(&self, k: i64) -> f64 {
        usize::try_from(k - self.first).ok().and_then(|index| self.values.get(index)).copied().unwrap_or(0.0)
    }

    /// P\[S ≥ k\].
    pub fn tail_from(&self, k: i64) -> Bound {
        let skip = usize::try_from(k - self.first).unwrap_or(0).min(self.values.len());
        self.certified(self.values[skip..].iter().rev().sum(), self.values.len() - skip)
    }

    /// max P\[S = k\] over k ≥ `from`.
    pub fn peak_from(&self, from: i64) -> Bound {
        let skip = usize::try_from(from - self.first).unwrap_or(0).min(self.values.len());
        self.certified(self.values[skip..].iter().copied().fold(0.0, f64::max), 1)
    }

    /// A sum of `terms` held values, as a bound of the same sum of true ones.
    fn certified(&self, sum: f64, terms: usize) -> Bound {
        let error = self.relative_error + (terms as f64 + 2.0) * UNIT;
        Bound::new(sum * (1.0 - error), sum / (1.0 - error) + self.dropped)
    }

    /// The law of S + `by`.
    pub fn shifted(mut self, by: i64) -> Self {
        self.first += by;
        self
    }

    /// The law of `total` − S.
    pub fn mirrored(mut self, total: i64) -> Self {
        self.first = total - self.last();
        self.values.reverse();
        self
    }

    /// Bin(n, p), with the tails beyond about 1e-42 cut off. `tails` is 1 − `heads`; both are given so that neither
    /// loses precision next to 1.
    ///
    /// Ratio recursion from the mode, never differences of log-gamma, which cost 1e-9 at n = 10^6.
    pub fn binomial(n: u64, heads: f64, tails: f64) -> Self {
        if n == 0 || heads == 0.0 {
            return Self::point(0);
        }
        if tails == 0.0 {
            return Self::point(n as i64);
        }
        let mode = (((n + 1) as f64 * heads).floor() as u64).min(n);
        let (up, cut_above) = falling(n - mode, |step| {
            let k = mode + step;
            ((n - k) as f64 * heads) / ((k + 1) as f64 * tails)
        });
        let (down, cut_below) = falling(mode, |step| {
            let k = mode - step;
            (k as f64 * tails) / ((n - k + 1) as f64 * heads)
        });
        let mut values: Vec<f64> = down.iter().rev().copied().collect();
        values.push(1.0);
        values.extend(&up);
        // Each ratio: two products, a quotient and two rounded probabilities.
        let steps = up.len().max(down.len()) as f64;
        let first = mode as i64 - down.len() as i64;
        Self::normalised(first, values, 6.0 * UNIT * (steps + 1.0), cut_above + cut_below)
    }

    /// Divides by the sum. `cut` is the mass beyond the ends in the same units as `values`.
    pub(super) fn normalised(first: i64, mut values: Vec<f64>, relative_error: f64, cut: f64) -> Self {
        let sum: f64 = values.iter().sum();
        values.iter_mut().for_each(|value| *value /= sum);
        let cut = cut / sum;
        let relative_error = 2.0 * relative_error + (values.len() as f64 + 4.0) * UNIT + 2.0 * cut;
        let mut window = Self { first, values, relative_error, dropped: 1.01 * cut };
        window.note_underflow();
        window
    }

    /// The law of S + X, X a coin with these probabilities of 1 and 0.
    pub(super) fn with_coin(&mut self, heads: f64, tails: f64) {
        if heads == 0.0 {
            return;
        }
        if tails == 0.0 {
            self.first += 1;
            return;
        }
        let mut below = 0.0;
        for value in &mut self.values {
            let here = *value;
            *value = here * tails + below * heads;
            below = here;
        }
        self.values.push(below * heads);
        self.relative_error += 5.0 * UNIT;
        self.note_underflow();
    }

    /// The ends of a log-concave law are its smallest values: if they are near underflow, something may have been lost.
    fn note_underflow(&mut self) {
        let ends = [self.values[0], self.values[self.values.len() - 1]];
        if ends.iter().any(|&end| end < UNDERFLOW) {
            self.dropped += UNDERFLOW;
        }
    }

    /// The law of the sum of two independent variables.
    pub fn convolved(&self, other: &Self) -> Self {
        let (short, long) = if self.values.len() <= other.values.len() { (self, other) } else { (other, self) };
        let mut sum = Self {
            first: self.first + other.first,
            values: direct(&short.values, &long.values),
            relative_error: (self.relative_error + other.relative_error) * 1.001
                + (short.values.len() as f64 + 3.0) * UNIT,
            dropped: self.dropped + other.dropped,
        };
        sum.note_underflow();
        sum.trim();
        sum
    }

    /// Cuts off at most [`TRIM`] of mass at either end and remembers it as dropped.
    pub(super) fn trim(&mut self) {
        let end = cut_from(self.values.iter().rev());
        let start = cut_from(self.values.iter());
        if start.0 + end.0 >= self.values.len() {
            return;
        }
        self.values.truncate(self.values.len() - end.0);
        self.values.drain(..start.0);
        self.first += start.0 as i64;
        self.dropped += 1.01 * (start.1 + end.1);
    }
}

/// How many values from this end have together less than [`TRIM`], and their mass.
fn cut_from<'a>(values: impl Iterator<Item = &'a f64>) -> (usize, f64) {
    let (mut count, mut mass) = (0, 0.0);
    for value in values {
        if mass + value > TRIM {
            break;
        }
        mass += value;
        count += 1;
    }
    (count, mass)
}

/// 1·ratio(0), 1·ratio(0)·ratio(1), … until what is left is below [`TRIM`]; and a bound of what is left. The ratios
/// fall (a binomial is log-concave), so that the rest is at most a geometric series.
fn falling(steps: u64, ratio: impl Fn(u64) -> f64) -> (Vec<f64>, f64) {
    let (mut values, mut value) = (Vec::new(), 1.0);
    for step in 0..steps {
        let factor = ratio(step);
        if value < 1e-38 && factor < 1.0 {
            let rest = value * factor / (1.0 - factor);
            if rest < TRIM {
                return (values, 1.01 * rest);
            }
        }
        value *= factor;
        values.push(value);
    }
    (values, 0.0)
}

/// Direct convolution, four rows at a time so that the sums stay in registers.
fn direct(short: &[f64], long: &[f64]) -> Vec<f64> {
    const ROWS: usize = 4;
    let mut sums = vec![0.0; short.len() + long.len() - 1];
    let mut row = 0;
    while row + ROWS <= short.len() && long.len() >= ROWS {
        let &[a, b, c, d] = &short[row..row + ROWS] else { break };
        let out = &mut sums[row..row + long.len() + ROWS - 1];
        // The slanted ends, where fewer than four rows meet.
        for (index, &value) in long.iter().enumerate().take(ROWS - 1) {
            for (offset, factor) in [a, b, c, d].into_iter().enumerate().take(ROWS - 1 - index) {
                out[index + offset] += factor * value;
            }
        }
        for (index, &value) in long.iter().enumerate().skip(long.len() - (ROWS - 1)) {
            for (offset, factor) in [a, b, c, d].into_iter().enumerate() {
                if index + offset >= long.len() {
                    out[index + offset] += factor * value;
                }
            }
        }
        let length = long.len() - (ROWS - 1);
        let (behind3, behind2, behind1) = (&long[..length], &long[1..=length], &long[2..length + 2]);
        let here = &long[3..];
        let out = &mut out[3..3 + length];
        for index in 0..length {
            out[index] += (a * here[index] + b * behind1[index]) + (c * behind2[index] + d * behind3[index]);
        }
        row += ROWS;
    }
    for (offset, &factor) in short.iter().enumerate().skip(row) {
        for (sum, &value) in sums[offset..].iter_mut().zip(long) {
            *sum += factor * value;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_direct_convolution_is_the_double_sum() {
        for (m, n) in [(1, 1), (1, 9), (3, 3), (4, 4), (5, 4), (4, 7), (8, 8), (9, 30), (13, 3)] {
            let a: Vec<f64> = (0..m).map(|i| 1.0 + i as f64).collect();
            let b: Vec<f64> = (0..n).map(|i| 2.0 + (i * i) as f64).collect();
            let mut expected = vec![0.0; m + n - 1];
            for i in 0..m {
                for j in 0..n {
                    expected[i + j] += a[i] * b[j];
                }
            }
            assert_eq!(direct(&a, &b), expected, "{m} {n}");
        }
    }

    #[test]
    fn a_window_keeps_its_promise_for_a_binomial() {
        // Bin(1000, 1/4) against exact integers: C(1000, k)·3^(1000−k)/4^1000.
        use num_bigint::BigUint;
        use num_traits::ToPrimitive;
        let window = Window::binomial(1000, 0.25, 0.75);
        let mut choose = BigUint::from(1u32);
        for k in 0..=1000u32 {
            let weight = &choose * BigUint::from(3u32).pow(1000 - k);
            // Twelve hundred bits of headroom: weight·2^1200/4^1000 as a big integer keeps a relative 1e-30.
            let exact = (weight << 1200usize) >> 2000usize;
            let exact = log2(&exact) - 1200.0;
            let held = window.at(i64::from(k));
            if held > 0.0 {
                assert!((held.log2() - exact).abs() < 1e-10, "{k}: {} {exact}", held.log2());
            } else {
                assert!(exact < -130.0);
            }
            choose = choose * BigUint::from(1000 - k) / BigUint::from(k + 1);
        }
        assert!(window.dropped() < 1e-41 && window.relative_error() < 1e-12);

        fn log2(value: &BigUint) -> f64 {
            let bits = value.bits();
            if bits < 1000 {
                return value.to_f64().map_or(f64::NEG_INFINITY, f64::log2);
            }
            let shift = bits - 900;
            (value >> shift).to_f64().map_or(f64::NEG_INFINITY, f64::log2) + shift as f64
        }
    }
}
