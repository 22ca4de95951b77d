//! Closed forms: certified upper bounds of δ that cost nothing, valid for tiny δ as well.
//!
//! All are exponentials that are rounded up; they bracket searches and stand in where no window reaches.

use super::lambda::Lambda;
use super::poisson_binomial::BeliefGroup;
use scumble::quantity::Epsilon;

/// e^exponent, at most 1 and rounded up. `magnitude` is the size of what the exponent was summed from.
fn rounded_up(exponent: f64, magnitude: f64) -> f64 {
    (exponent + 1e-14 * (magnitude + 1.0)).exp().min(1.0)
}

/// C1: d10 ≤ exp(ε + Λ(t) − tΛ'(t)) and d01 ≤ exp(ε + Λ(−t) + tΛ'(−t)), t = ε/s, Λ(u) = Σ ln(1−p+pe^u).
///
/// From log-concavity and Darroch's theorem on the mode: the best half-line starts beyond a mode of the tilted law. Any
/// `taken` records of the list may be known, or the target: the ones that help most are left out.
pub fn chernoff(records: &[BeliefGroup], taken: u64, epsilon: Epsilon, shift: u32) -> (f64, f64) {
    let epsilon = epsilon.get();
    let t = epsilon / f64::from(shift.max(1));
    (chernoff_one_way(records, taken, epsilon, t), chernoff_one_way(records, taken, epsilon, -t))
}

fn chernoff_one_way(records: &[BeliefGroup], taken: u64, epsilon: f64, t: f64) -> f64 {
    let mut gains: Vec<(f64, f64, u64)> = records
        .iter()
        .map(|group| {
            let (heads, tails) = group.coin();
            // Λ(t) and Λ'(t) with the larger of the two weights taken out, so that e^t never overflows.
            let (lambda, tilted) = if t > 0.0 {
                let rest = tails * (-t).exp();
                (t + (heads + rest).ln(), heads / (heads + rest))
            } else {
                let part = heads * t.exp();
                ((tails + part).ln(), part / (tails + part))
            };
            let certain = heads == 0.0 || tails == 0.0;
            if certain {
                (0.0, 0.0, group.how_many)
            } else {
                (lambda - t * tilted, lambda.abs() + t.abs(), group.how_many)
            }
        })
        .collect();
    gains.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut left, mut exponent, mut magnitude) = (taken, epsilon, epsilon);
    for (gain, size, how_many) in gains {
        let away = left.min(how_many);
        left -= away;
        exponent += gain * (how_many - away) as f64;
        magnitude += size * (how_many - away) as f64;
    }
    rounded_up(exponent, magnitude)
}

/// Σ p(1−p) without the `taken` records that have the most of it.
pub fn variance_without(records: &[BeliefGroup], taken: u64) -> f64 {
    let mut sorted = records.to_vec();
    let of_one = |group: &BeliefGroup| group.coin().0 * group.coin().1;
    sorted.sort_by(|a, b| of_one(b).total_cmp(&of_one(a)));
    let mut left = taken;
    sorted.iter().fold(0.0, |sum, group| {
        let away = left.min(group.how_many);
        left -= away;
        sum + of_one(group) * (group.how_many - away) as f64
    })
}

/// C2: for the λ-box of one binary count with shift 1, δ ≤ exp(ε − m·KL(r‖λ)), r = λ/(λ+(1−λ)e^ε).
pub fn kullback_leibler(m: u64, lambda: Lambda, epsilon: Epsilon) -> f64 {
    let (lambda, epsilon) = (lambda.get(), epsilon.get());
    let growth = (1.0 - lambda) * epsilon.min(700.0).exp();
    let r = lambda / (lambda + growth);
    let (low, high) = if r == 0.0 {
        (0.0, -(-lambda).ln_1p())
    } else {
        (r * (r / lambda).ln(), (1.0 - r) * ((-r).ln_1p() - (-lambda).ln_1p()))
    };
    let m = m as f64;
    rounded_up(epsilon - m * (low + high), epsilon + m * (low.abs() + high.abs()))
}

/// C3: from the total variance V = Σ p(1−p) of the others alone, δ ≤ exp(ε − V(1 − (1+t)e^{−t})), t = ε/s.
///
/// This takes the place of the paper's Proposition 7, whose third moment is wrong: it depends on the average record,
/// and its δ is exponentially small.
pub fn variance(total_variance: f64, epsilon: Epsilon, shift: u32) -> f64 {
    let epsilon = epsilon.get();
    let t = epsilon / f64::from(shift.max(1));
    // 1 − (1+t)e^{−t} = −expm1(−t) − t·e^{−t}; for small t its alternating
    // series up to a negative term, which is below it and does not cancel.
    let gain = if t < 0.05 {
        t * t * (0.5 - t * (1.0 / 3.0 - t * (0.125 - t / 30.0)))
    } else {
        -(-t).exp_m1() - t * (-t).exp()
    };
    rounded_up(epsilon - total_variance * gain, epsilon + total_variance * t.min(1.0))
}

/// C4: the blanket for any number of categories, δ ≤ e^ε·(1 − 2λ(1−e^c))^m, c = ln((1+e^ε)/2) − εe^ε/(1+e^ε).
pub fn blanket(m: u64, lambda: Lambda, epsilon: Epsilon) -> f64 {
    let epsilon = epsilon.get();
    // ln((1+e^ε)/2) − ε·e^ε/(1+e^ε) = ln((1+e^{−ε})/2) + ε·e^{−ε}/(1+e^{−ε}): no overflow.
    let decay = (-epsilon).exp();
    let c = ((1.0 + decay) / 2.0).ln() + epsilon * decay / (1.0 + decay);
    let shrink = (2.0 * lambda.get() * c.exp_m1()).ln_1p();
    rounded_up(epsilon + m as f64 * shrink, epsilon + m as f64 * lambda.get())
}

/// ln of the smallest δ that any ε reaches over the λ-box: (1−λ)^m. Below it there is no guarantee at all.
pub fn ln_smallest_delta(m: u64, lambda: Lambda) -> f64 {
    m as f64 * (-lambda.get()).ln_1p()
}

/// ln of the smallest δ that any ε reaches for these beliefs: the larger of Πp and Π(1−p).
pub fn ln_smallest_delta_of(others: &[BeliefGroup]) -> f64 {
    let (mut ones, mut zeros) = (0.0, 0.0);
    for group in others {
        let count = group.how_many as f64;
        if group.how_many > 0 {
            ones += count * group.coin().0.ln();
            zeros += count * (-group.coin().0).ln_1p();
        }
    }
    f64::max(ones, zeros)
}
