//! Fingerprinting: many means of few people cannot be published privately, with explicit constants.
//!
//! For P uniform on [−1, 1] and X₁ … X_n = ±1 of mean P, every f has E\[f(X)·Σ(X_i − P) + (f(X) − X̄)²\] ≥
//! (n + 4)/(3(n + 2)) > ⅓ ([`lemma_constant`], attained). An accurate answer is therefore correlated with every person,
//! and privacy bounds that correlation.

use super::groups::OwnerGuarantee;
use num_rational::BigRational;
use scumble::error::Result;
use scumble::event::Event;
use scumble::loss::Loss;
use scumble::quantity::{Delta, Epsilon};
use scumble::scope::Scope;

/// Rounding goes down: these are lower bounds.
const DOWNWARD: f64 = 1.0 - 1e-12;

/// The least value of the lemma's left side for n people, exactly.
///
/// ```
/// use scumble_adversary::limits::fingerprinting::lemma_constant;
/// assert_eq!(lemma_constant(10).to_string(), "7/18");
/// ```
pub fn lemma_constant(people: u64) -> BigRational {
    BigRational::new((u128::from(people) + 4).into(), (3 * (u128::from(people) + 2)).into())
}

/// How many people a table must have before `attributes` means can be (ε, δ)-private (person scope) with this
/// root-mean-square error per mean, in units of [0, 1].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SampleComplexity {
    /// (⅓ − 4e²)·√d/D with D = √(2/3)·sinh ε + 2(1 + e^{−ε})·δ·√d; none where that is void (e ≥ 0.288).
    pub direct: Option<f64>,
    /// The same at e = 1/6, scaled by padding with constant rows: (⌈n*(1/6)⌉ − 1)/(6e); none above 1/6.
    pub scaled: Option<f64>,
}

impl SampleComplexity {
    /// The larger of both.
    pub fn at_least(&self) -> Option<f64> {
        match (self.direct, self.scaled) {
            (Some(direct), Some(scaled)) => Some(direct.max(scaled)),
            (direct, scaled) => direct.or(scaled),
        }
    }
}

/// How many people it takes.
///
/// ```
/// use scumble_adversary::limits::fingerprinting::people_lower;
/// let people = people_lower(1_000_000, 1.0.try_into()?, 1e-9.try_into()?, 0.05)?;
/// assert!((people.at_least().unwrap() - 770.0).abs() < 1e-6);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn people_lower(attributes: u64, epsilon: Epsilon, delta: Delta, rms_error: f64) -> Result<SampleComplexity> {
    if epsilon.get() == 0.0 || attributes == 0 || !rms_error.is_finite() || rms_error <= 0.0 {
        refuse!("the limit of many means needs epsilon above 0, at least one attribute and an rms_error above 0");
    }
    let root = libm::sqrt(attributes as f64);
    let divisor = divisor(attributes, epsilon, delta);
    let at = |error: f64| (1.0 / 3.0 - 4.0 * error * error) * root / divisor * DOWNWARD;
    let sixth = 2.0 / 9.0 * root / divisor * DOWNWARD;
    Ok(SampleComplexity {
        direct: Some(at(rms_error)).filter(|people| *people > 0.0),
        scaled: (rms_error <= 1.0 / 6.0).then(|| (sixth.ceil() - 1.0).max(0.0) / (6.0 * rms_error) * (1.0 - 4e-16)),
    })
}

/// A lower bound for the counts behind these means: on some table of at most `most_people` people (of any number, where
/// that is `None`) the root of the mean square error of `attributes` counts, one of each attribute, is at least this
/// under (ε, δ) in the person scope; rounded down.
///
/// Of n people the means are off by e with n ≥ n*(e) = (⅓ − 4e²)·√d/D, so that the counts are off by
/// n·e ≥ n·√(⅓ − n·D/√d)/2. A table of more people has constant rows beside these n, which change no error of a count;
/// so the best n is taken, near (2/9)·√d/D.
///
/// ```
/// use scumble_adversary::limits::fingerprinting::count_error_lower;
/// let some = count_error_lower(1_000_000, 1.0.try_into()?, 1e-9.try_into()?, None)?;
/// // 231 people whose means are off by a sixth.
/// assert!((some - 38.5).abs() < 0.1);
/// // Of one person a count is off by no more than one.
/// assert!(count_error_lower(1_000_000, 1.0.try_into()?, 1e-9.try_into()?, Some(1))? < 0.3);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn count_error_lower(attributes: u64, epsilon: Epsilon, delta: Delta, most_people: Option<u64>) -> Result<f64> {
    if epsilon.get() == 0.0 || attributes == 0 {
        refuse!("the limit of many means needs epsilon above 0 and at least one attribute");
    }
    let each = divisor(attributes, epsilon, delta) / libm::sqrt(attributes as f64);
    let most = most_people.unwrap_or(u64::MAX);
    let near = (2.0 / 9.0 / each).clamp(0.0, 1e15) as u64;
    let at = |people: u64| {
        let people = people.min(most) as f64;
        let square = 1.0 / 3.0 * DOWNWARD - people * each;
        if square > 0.0 { people * libm::sqrt(square) / 2.0 * DOWNWARD } else { 0.0 }
    };
    Ok(at(near).max(at(near + 1)))
}

/// Where the curve of a guarantee is looked at; each point of it gives a valid limit.
const DELTAS: [f64; 4] = [1e-2, 1e-3, 1e-4, 1e-6];

/// The largest [`count_error_lower`] of a guarantee in the person scope, and the (ε, δ) that it is shown at; none where
/// nothing is known.
///
/// ```
/// use scumble_adversary::limits::{fingerprinting::best_count_error_lower, groups::OwnerGuarantee};
/// let (least, _, delta) = best_count_error_lower(500, &OwnerGuarantee::Concentrated(0.001.try_into()?), None)?.unwrap();
/// assert!(least > 3.0 && delta.get() > 0.0);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn best_count_error_lower(
    attributes: u64,
    guarantee: &OwnerGuarantee,
    most_people: Option<u64>,
) -> Result<Option<(f64, Epsilon, Delta)>> {
    let pairs = match guarantee {
        OwnerGuarantee::Approximate { epsilon, delta } => vec![(*epsilon, *delta)],
        OwnerGuarantee::Concentrated(rho) => {
            let curve = Loss::of([Event::zcdp(*rho)], Scope::Person)?;
            let at = |delta: f64| Ok((Epsilon::new(curve.epsilon(Delta::new(delta)?).upper)?, Delta::new(delta)?));
            DELTAS.into_iter().map(at).collect::<Result<Vec<_>>>()?
        }
    };
    let mut best: Option<(f64, Epsilon, Delta)> = None;
    for (epsilon, delta) in pairs.into_iter().filter(|(epsilon, _)| epsilon.get() > 0.0) {
        let least = count_error_lower(attributes, epsilon, delta, most_people)?;
        if least > best.map_or(0.0, |(least, ..)| least) {
            best = Some((least, epsilon, delta));
        }
    }
    Ok(best)
}

/// D = √(2/3)·sinh ε + 2(1 + e^{−ε})·δ·√d.
fn divisor(attributes: u64, epsilon: Epsilon, delta: Delta) -> f64 {
    libm::sqrt(2.0 / 3.0) * libm::sinh(epsilon.get())
        + 2.0 * (1.0 + libm::exp(-epsilon.get())) * delta.get() * libm::sqrt(attributes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_traits::Zero;

    fn ratio(numerator: i64, denominator: i64) -> BigRational {
        BigRational::new(numerator.into(), denominator.into())
    }

    /// The lemma by exact rationals. Only the number s of +1 matters; with A_s = E\[1{s}·Σ(X_i − P)\] and
    /// w_s = P\[s\] = 1/(n + 1), the best f(s) is x̄ − A_s/(2w_s), so the least value is Σ(A_s·x̄ − A_s²/(4w_s)). (f
    /// need not be cut to [−1, 1] for a lower bound; it stays there.)
    #[test]
    fn the_constant_of_the_lemma_is_exact() {
        for n in 1i64..=12 {
            // With P = 2b − 1, b uniform on [0, 1]: E[b^s (1−b)^{n−s}] = s!(n−s)!/(n+1)!, so P[s] = 1/(n+1) and
            // E[b | s] = (s+1)/(n+2).
            let weight = ratio(1, n + 1);
            let mut least = BigRational::zero();
            for s in 0..=n {
                let mean_of_p = ratio(2 * (s + 1), n + 2) - ratio(1, 1);
                let sum = ratio(2 * s - n, 1) - ratio(n, 1) * mean_of_p;
                let average = ratio(2 * s - n, n);
                let correlation = &weight * &sum;
                least += &correlation * average - &correlation * &correlation / (ratio(4, 1) * &weight);
            }
            assert_eq!(least, lemma_constant(n as u64), "{n}");
        }
    }

    #[test]
    fn limits_are_the_spec_s_and_void_where_they_should_be() {
        let at = |epsilon: f64, error: f64| {
            people_lower(1_000_000, epsilon.try_into().unwrap(), 1e-9.try_into().unwrap(), error).unwrap()
        };
        assert_eq!(at(0.1, 0.1).direct.unwrap().floor(), 3586.0);
        assert_eq!(at(1.0, 0.001).scaled.unwrap().round(), 38_500.0);
        assert_eq!(at(1.0, 0.29), SampleComplexity { direct: None, scaled: None });
        assert!(people_lower(0, 1.0.try_into().unwrap(), 0.0.try_into().unwrap(), 0.1).is_err());
    }

    /// The limit for counts follows from the limit for means: with the number of people that means need at error e,
    /// counts are off by at least the limit here.
    #[test]
    fn counts_and_means_agree() {
        for (epsilon, delta) in [(0.1, 0.0), (0.5, 1e-6), (1.0, 1e-9)] {
            let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
            let some = count_error_lower(10_000, epsilon, delta, None).unwrap();
            let mut best = 0.0f64;
            for step in 1..280 {
                let error = f64::from(step) * 1e-3;
                // Fewer people than these cannot have such means.
                let people = people_lower(10_000, epsilon, delta, error).unwrap().direct.unwrap().ceil() - 1.0;
                best = best.max(people.max(0.0) * error);
            }
            // The grid of errors finds no more, and nearly as much.
            assert!(best <= some && best > 0.98 * some, "{best} {some}");
            // It grows with the number of people, up to that.
            let of = |people: u64| count_error_lower(10_000, epsilon, delta, Some(people)).unwrap();
            assert!(of(1) < of(3) && of(3) < of(10) && of(1 << 40) == some, "{} {}", of(3), some);
        }
        assert_eq!(count_error_lower(10, 5.0.try_into().unwrap(), 0.0.try_into().unwrap(), None).unwrap(), 0.0);
        assert!(count_error_lower(10, 0.0.try_into().unwrap(), 0.0.try_into().unwrap(), None).is_err());
    }

    /// One person, exactly: randomized response keeps the promise, and no limit is above its error.
    #[test]
    fn no_limit_is_above_what_randomized_response_reaches() {
        for epsilon in [0.01f64, 0.1, 0.5, 1.0, 2.0] {
            // One attribute of n people, each reported correctly with probability e^ε/(1 + e^ε), unbiased: the variance
            // of the count is n·e^ε/(e^ε − 1)².
            let variance = epsilon.exp() / (epsilon.exp() - 1.0).powi(2);
            for people in [1u64, 2, 10, 1000] {
                let least =
                    count_error_lower(1, epsilon.try_into().unwrap(), 0.0.try_into().unwrap(), Some(people)).unwrap();
                assert!(least <= (people as f64 * variance).sqrt(), "{epsilon} {people}: {least}");
            }
        }
    }
}
