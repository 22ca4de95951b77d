//! From how many reports support a value to how many owners hold it.
//!
//! If m of n owners hold a value, the reports that support it are Bin(m, p) + Bin(n − m, q). The estimate
//! (c − nq)/(p − q) is unbiased. The interval holds every m at which what was seen is not too far out: by the exact
//! tails where few reports differ, and where many do by the normal law with the variance at m itself and half a report
//! for the steps. Intervals whose variance is estimated instead are too short exactly where nobody was seen to hold a
//! value.

use crate::calibrate::normal_tail_quantile;
use crate::loss::special::ln_choose;
use std::collections::HashMap;

/// How many owners hold a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frequency {
    /// The unbiased estimate; it may be below 0.
    pub count: f64,
    /// Its standard error, with the truth replaced by the estimate.
    pub standard_error: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// How likely a report supports a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Support {
    /// If the owner holds it: that it does, and that it does not.
    pub(super) holder: (f64, f64),
    /// If the owner does not.
    pub(super) other: f64,
    /// The difference, without cancellation.
    pub(super) gap: f64,
}

/// From this variance on the normal law is taken.
const LARGE_VARIANCE: f64 = 1000.0;

/// The frequency of each value, given how many of the reports support it.
pub(super) fn estimates(support: &Support, reports: u64, supports: &[u64], beta: f64) -> Vec<Frequency> {
    let z = normal_tail_quantile(beta / 2.0);
    let mut known: HashMap<u64, Frequency> = HashMap::new();
    supports
        .iter()
        .map(|count| *known.entry(*count).or_insert_with(|| support.frequency(reports, *count, beta, z)))
        .collect()
}

impl Support {
    fn frequency(&self, reports: u64, seen: u64, beta: f64, z: f64) -> Frequency {
        let n = reports as f64;
        let count = (seen as f64 - n * self.other) / self.gap;
        let variance = self.variance(n, count.clamp(0.0, n));
        let (low, high) = match variance >= LARGE_VARIANCE {
            true => self.normal(n, seen as f64, z),
            false => self.exact(reports, seen, beta / 2.0),
        };
        Frequency { count, standard_error: variance.sqrt() / self.gap, low: low.min(count), high: high.max(count) }
    }

    /// The variance of the reports that support a value which m of n owners hold.
    fn variance(&self, n: f64, m: f64) -> f64 {
        m * self.holder.0 * self.holder.1 + (n - m) * self.other * (1.0 - self.other)
    }

    /// The m at which |seen − nq − m(p−q)| − ½ = z·√variance(m): the roots of a quadratic equation on both sides.
    fn normal(&self, n: f64, seen: f64, z: f64) -> (f64, f64) {
        let none = self.variance(n, 0.0);
        let each = self.holder.0 * self.holder.1 - self.other * (1.0 - self.other);
        let square = self.gap * self.gap;
        let root = |beyond: f64, sign: f64| {
            let half = beyond * self.gap + z * z * each / 2.0;
            let inside = half * half - square * (beyond * beyond - z * z * none);
            ((half + sign * inside.max(0.0).sqrt()) / square).clamp(0.0, n)
        };
        (root(seen - 0.5 - n * self.other, -1.0), root(seen + 0.5 - n * self.other, 1.0))
    }

    /// All m for which neither tail that begins at what was seen has less than `tail`. Both grow or fall with m,
    /// because p > q.
    fn exact(&self, n: u64, seen: u64, tail: f64) -> (f64, f64) {
        let at_least = |m: u64| 1.0 - if seen == 0 { 0.0 } else { self.at_most(n, m, seen - 1) } > tail;
        let at_most = |m: u64| self.at_most(n, m, seen) > tail;
        // The least m that passes at_least, and the largest that passes at_most; where none does, the end that is
        // nearest to it.
        let (mut low, mut above) = (0, n);
        while low < above {
            let middle = low.midpoint(above);
            if at_least(middle) { above = middle } else { low = middle + 1 }
        }
        let (mut below, mut high) = (0, n);
        while below < high {
            let middle = high - (high - below) / 2;
            if at_most(middle) { below = middle } else { high = middle - 1 }
        }
        (low as f64, high as f64)
    }

    /// P[Bin(m, p) + Bin(n − m, q) ≤ c].
    fn at_most(&self, n: u64, m: u64, c: u64) -> f64 {
        let holders = BinomialMasses::new(m, self.holder);
        let others = BinomialMasses::new(n - m, (self.other, 1.0 - self.other));
        let below = others.cumulative();
        let total = |count: i64| match count - others.first as i64 {
            place if place < 0 => 0.0,
            place => below[(place as usize).min(below.len() - 1)],
        };
        let term = |(place, mass): (usize, &f64)| mass * total(c as i64 - (holders.first + place as u64) as i64);
        holders.masses.iter().enumerate().map(term).sum::<f64>().min(1.0)
    }
}

/// The success probabilities of a binomial law for which neither tail that begins at what was seen has less than β/2.
pub(super) fn success(trials: u64, seen: u64, beta: f64) -> (f64, f64) {
    let (n, c) = (trials as f64, seen as f64);
    if trials == 0 {
        return (0.0, 1.0);
    }
    if c * (1.0 - c / n) >= LARGE_VARIANCE {
        // The roots of |c − np| − ½ = z·√(np(1−p)).
        let square = normal_tail_quantile(beta / 2.0).powi(2);
        let root = |c: f64, sign: f64| {
            let inside = square * (square + 4.0 * c * (1.0 - c / n));
            (2.0 * c + square + sign * inside.sqrt()) / (2.0 * (n + square))
        };
        return (root(c - 0.5, -1.0), root(c + 0.5, 1.0));
    }
    let at_most = |chance: f64, count: u64| {
        let law = BinomialMasses::new(trials, (chance, 1.0 - chance));
        let place = count.checked_sub(law.first).map(|place| place as usize);
        place.map_or(0.0, |place| law.masses.iter().take(place + 1).sum::<f64>().min(1.0))
    };
    let low = |p: f64| seen > 0 && 1.0 - at_most(p, seen - 1) <= beta / 2.0;
    let high = |p: f64| seen < trials && at_most(p, seen) > beta / 2.0;
    (if seen == 0 { 0.0 } else { bisected(low) }, if seen == trials { 1.0 } else { bisected(high) })
}

/// Where a property that holds at 0 and not at 1 ends.
fn bisected(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut below, mut above) = (0.0f64, 1.0);
    for _ in 0..60 {
        let middle = below.midpoint(above);
        if holds(middle) { below = middle } else { above = middle }
    }
    below.midpoint(above)
}

/// The masses of a binomial law, without what is further than 12 standard deviations and 60 from its mean.
struct BinomialMasses {
    first: u64,
    masses: Vec<f64>,
}

impl BinomialMasses {
    fn new(trials: u64, (success, failure): (f64, f64)) -> Self {
        let (n, mean) = (trials as f64, trials as f64 * success);
        let reach = 12.0 * (mean * failure).sqrt() + 60.0;
        let (first, last) = ((mean - reach).max(0.0) as u64, (mean + reach).min(n) as u64);
        let middle = (mean as u64).clamp(first, last);
        let power = |count: f64, chance: f64| if count == 0.0 { 0.0 } else { count * chance.ln() };
        let at = middle as f64;
        let ln_failure = if failure < 0.5 { failure.ln() } else { (-success).ln_1p() };
        let ln_middle = ln_choose(n, at) + power(at, success) + if n > at { (n - at) * ln_failure } else { 0.0 };
        let mut masses = vec![0.0; (last - first + 1) as usize];
        let place = (middle - first) as usize;
        masses[place] = ln_middle.exp();
        for count in middle..last {
            let step = (n - count as f64) / (count as f64 + 1.0) * (success / failure);
            masses[(count - first) as usize + 1] = masses[(count - first) as usize] * step;
        }
        for count in (first..middle).rev() {
            let step = (count as f64 + 1.0) / (n - count as f64) * (failure / success);
            masses[(count - first) as usize] = masses[(count - first) as usize + 1] * step;
        }
        Self { first, masses }
    }

    fn cumulative(&self) -> Vec<f64> {
        let mut sum = 0.0;
        self.masses
            .iter()
            .map(|mass| {
                sum += mass;
                sum
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
