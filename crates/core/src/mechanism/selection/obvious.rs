//! The obvious answer: the best candidate if it leads clearly, else a uniformly random one.
//!
//! One number is noised, whatever the number of candidates k: the lead γ of the best. The best is given if the noisy
//! lead exceeds a threshold which noise alone exceeds with probability *exactly* 1/k (Bun, Dwork, Rothblum, Steinke
//! 2018, algorithm 22): then a lead of nothing gives a perfectly uniform candidate, and neighbours with different
//! winners, whose leads are both nothing, have the same output distribution. With integer noise "exactly" needs a
//! biased coin on the threshold itself; its bias is rational for a table and enclosed to any precision otherwise.
//!
//! Where we differ: the lead moves by 2 in general (by 1 for monotone scores), so that is what the noise is charged
//! for; the paper's Theorem 20 omits it.

use super::ScoreChange;
use crate::error::{Error, Result};
use crate::event::{Event, Moves, Shift};
use crate::mechanism::additive::Noise;
use crate::noise::refine::{self, Enclosure, Precision};
use crate::noise::{BitSource, Fraction, SinhNormal, bernoulli, uniform};
use crate::quantity::{Beta, Exact};
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Zero};

/// The obvious answer with some noise.
///
/// ```
/// use scumble::mechanism::additive::Noise;
/// use scumble::mechanism::selection::{ScoreChange, ObviousAnswer};
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::{Beta, Scale, Sigma};
/// let noise = Noise::sinh_normal(Sigma::new(2.725)?, Scale::new(7.35)?)?;
/// let answer = ObviousAnswer::new(noise, ScoreChange::Monotone);
/// assert_eq!(answer.release(&[40, 3, 5, 1], &mut InsecureSeededSource::new(1))?, 0);
/// // A lead of 23 is enough among a million candidates.
/// assert!(answer.lead_needed(1_000_000, Beta::new(1e-6)?)? <= 23.0);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ObviousAnswer {
    noise: Noise,
    change: ScoreChange,
}

/// Where the best is given: above `threshold` always, on it with the coin.
struct AnswerRule {
    threshold: i64,
    coin: TieCoin,
}

enum TieCoin {
    Rational(Fraction),
    Enclosed(NoiseMasses),
}

impl ObviousAnswer {
    /// With this noise on the lead.
    pub fn new(noise: Noise, change: ScoreChange) -> Self {
        Self { noise, change }
    }

    /// How the scores move.
    pub fn change(&self) -> ScoreChange {
        self.change
    }

    /// The index of the best candidate, or a uniformly random one.
    ///
    /// # Guarantee
    /// Neighbours with the same best candidate: the output is a function of (lead + noise) and of independent coins.
    /// Neighbours with different ones: both leads are at most the moves of a gap, so that both outputs are exactly
    /// uniform. Hence the cost is that of the noise on one number ([`ObviousAnswer::events`]).
    pub fn release<S: BitSource + ?Sized>(&self, scores: &[i64], bits: &mut S) -> Result<usize> {
        let (best, lead) = lead(scores).ok_or_else(|| Error::refused("a selection needs at least one candidate"))?;
        if scores.len() == 1 {
            return Ok(0);
        }
        let rule = self.rule(scores.len() as u64)?;
        let excess = lead.saturating_sub(self.change.gap_moves().into()).max(0);
        let noisy = excess.saturating_add(self.noise.sample(bits));
        let wins = noisy > rule.threshold || (noisy == rule.threshold && rule.coin.toss(bits));
        if wins {
            return Ok(best);
        }
        let other = uniform::below(bits, scores.len() as u64 - 1) as usize;
        Ok(if other < best { other } else { other + 1 })
    }

    fn rule(&self, candidates: u64) -> Result<AnswerRule> {
        match &self.noise {
            Noise::SinhNormal(noise) => rule_of_table(noise, candidates),
            noise => rule_of_law(NoiseMasses::of(noise, candidates)?, noise),
        }
    }

    /// What was done: noise on one number that moves by 2 (by 1 for monotone scores, twice where an owner is replaced).
    pub fn events(&self) -> Result<Vec<Event>> {
        let gap = f64::from(self.change.gap_moves());
        // A replaced owner moves a lead of monotone scores by at most 2 as well.
        Ok(vec![self.noise.event(Moves::by_scope(
            vec![Shift::one_cell(gap)?],
            vec![Shift::one_cell(2.0)?],
            Vec::new(),
        ))?])
    }

    /// With which lead over all others the best of `candidates` is given with probability at least 1 − β.
    pub fn lead_needed(&self, candidates: u64, beta: Beta) -> Result<f64> {
        if candidates <= 1 {
            return Ok(0.0);
        }
        let threshold = self.rule(candidates)?.threshold as f64;
        // P[Z < −q] ≤ β, and strictly above the threshold.
        let below = self.noise.quantile(2.0 * beta.get());
        Ok(f64::from(self.change.gap_moves()) + threshold + below + 1.0)
    }
}

/// The first best candidate and its lead over the second best. One pass; only blocks that can change the two best are
/// looked at closely.
fn lead(scores: &[i64]) -> Option<(usize, i64)> {
    let (mut best, mut second, mut index) = (*scores.first()?, i64::MIN, 0usize);
    let mut seen_one = false;
    for (number, block) in scores.chunks(4096).enumerate() {
        let largest = block.iter().copied().fold(i64::MIN, i64::max);
        if seen_one && largest <= second {
            continue;
        }
        for (place, score) in block.iter().enumerate() {
            if !seen_one {
                seen_one = true;
            } else if *score > best {
                second = best;
                best = *score;
                index = number * 4096 + place;
            } else if *score > second {
                second = *score;
            }
        }
    }
    Some((index, best.saturating_sub(second)))
}

/// t = min{t ≥ 0: k·P\[Z > t\] ≤ 1} and θ = (1 − k·P\[Z > t\])/(k·P\[Z = t\]), in integers over 2^128.
fn rule_of_table(noise: &SinhNormal, candidates: u64) -> Result<AnswerRule> {
    let table = noise.table();
    let whole = BigUint::one() << 128u32;
    let times = |weight: u128| BigUint::from(weight) * candidates;
    if times(table.tail_weight()) > whole {
        refuse!("{candidates} candidates are too many for this sinh-normal table: use a larger sigma");
    }
    let mut above = table.tail_weight();
    let mut threshold = table.last_index();
    while threshold > 0 && times(above + table.weights()[threshold]) <= whole {
        above += table.weights()[threshold];
        threshold -= 1;
    }
    let chance = Fraction::new(&whole - times(above), times(table.weights()[threshold]))?;
    Ok(AnswerRule { threshold: threshold as i64, coin: TieCoin::Rational(chance) })
}

impl TieCoin {
    fn toss<S: BitSource + ?Sized>(&self, bits: &mut S) -> bool {
        match self {
            Self::Rational(chance) => bernoulli::rational(bits, chance),
            Self::Enclosed(law) => refine::bernoulli(bits, |precision| law.coin(precision)),
        }
    }
}

/// Beyond this σ the sums over a discrete Gaussian would take seconds.
const LARGEST_GAUSSIAN: f64 = 500.0;

/// Unnormalised masses of Laplace and Gaussian noise, enclosed to any precision.
#[derive(Debug, Clone)]
struct NoiseMasses {
    candidates: u64,
    threshold: i64,
    shape: NoiseShape,
}

#[derive(Debug, Clone)]
enum NoiseShape {
    /// e^{−|z|·rate} for |z| ≤ bound (no bound: everywhere).
    Laplace { rate: BigRational, bound: Option<i64> },
    /// e^{−z²·rate}, the sums cut off far out.
    Gaussian { rate: BigRational, sigma: f64 },
}

/// The masses above and on a threshold and in all, up to a common factor.
struct ThresholdMasses {
    above: Enclosure,
    on: Enclosure,
    total: Enclosure,
}

impl NoiseMasses {
    fn of(noise: &Noise, candidates: u64) -> Result<Self> {
        let exact = |value: f64| Exact::from_f64(value).map(|exact| exact.rational().clone());
        let shape = match noise {
            Noise::Laplace(noise) => NoiseShape::Laplace { rate: exact(noise.scale().get())?.recip(), bound: None },
            Noise::TruncatedLaplace(noise) => {
                NoiseShape::Laplace { rate: exact(noise.scale().get())?.recip(), bound: Some(noise.bound()) }
            }
            Noise::Gaussian(noise) if noise.sigma().get() <= LARGEST_GAUSSIAN => {
                let sigma = noise.sigma().get();
                let variance = exact(sigma)? * exact(sigma)?;
                let rate = (variance * BigRational::from_integer(2.into())).recip();
                NoiseShape::Gaussian { rate, sigma }
            }
            _ => {
                refuse!(
                    "the obvious answer takes discrete Gaussian noise with sigma up to {LARGEST_GAUSSIAN}: use a coarser grid for the scores"
                );
            }
        };
        Ok(Self { candidates, threshold: 0, shape })
    }

    fn masses(&self, precision: Precision) -> ThresholdMasses {
        match &self.shape {
            NoiseShape::Laplace { rate, bound } => laplace_masses(rate, *bound, self.threshold, precision),
            NoiseShape::Gaussian { rate, sigma } => gaussian_masses(rate, *sigma, self.threshold, precision),
        }
    }

    /// θ = (total − k·above)/(k·on).
    fn coin(&self, precision: Precision) -> Enclosure {
        let inner = Precision { bits: precision.bits + 256 };
        let ThresholdMasses { above, on, total } = self.masses(inner);
        let times = |one: Enclosure| Enclosure { low: one.low * self.candidates, high: one.high * self.candidates };
        let chance = inner.over(&inner.minus(&total, &times(above)), &times(on));
        let one = BigUint::one() << precision.bits;
        Enclosure { low: (chance.low >> 256u32).min(one.clone()), high: ((chance.high >> 256u32) + 1u32).min(one) }
    }

    /// Whether k·P\[Z > t\] ≤ 1; 256 bits leave no doubt except for equality, which needs an algebraic e^{−rate}.
    fn holds(&self, threshold: i64) -> bool {
        let ThresholdMasses { above, total, .. } = Self { threshold, ..self.clone() }.masses(Precision { bits: 256 });
        above.high * self.candidates <= total.low
    }
}

fn rule_of_law(law: NoiseMasses, noise: &Noise) -> Result<AnswerRule> {
    // P[|Z| > q] ≤ 2/k means P[Z > q] ≤ 1/k: the planner's quantile is off by one at most.
    let guess = noise.quantile((2.0 / law.candidates as f64).min(1.0)) as i64;
    let mut threshold = guess + 2;
    while !law.holds(threshold) {
        threshold += 1;
    }
    while threshold > 0 && law.holds(threshold - 1) {
        threshold -= 1;
    }
    Ok(AnswerRule { threshold, coin: TieCoin::Enclosed(NoiseMasses { threshold, ..law }) })
}

/// With r = e^{−rate}, all times (1 − r): above t: r^{t+1} − r^{T+1}; on t: r^t·(1 − r); total: 1 + r − 2r^{T+1}.
fn laplace_masses(rate: &BigRational, bound: Option<i64>, threshold: i64, precision: Precision) -> ThresholdMasses {
    let power = |exponent: i64| precision.exp_minus(&(rate * BigRational::from_integer(BigInt::from(exponent))));
    let one = precision.ratio(&BigRational::one());
    let cut = bound.map_or_else(|| Enclosure { low: BigUint::zero(), high: BigUint::zero() }, |bound| power(bound + 1));
    let beyond = bound.is_some_and(|bound| threshold >= bound);
    let above = if beyond {
        Enclosure { low: BigUint::zero(), high: BigUint::zero() }
    } else {
        precision.minus(&power(threshold + 1), &cut)
    };
    let on = precision.times(&power(threshold), &precision.minus(&one, &power(1)));
    let total = precision.minus(&precision.plus(&one, &power(1)), &precision.plus(&cut, &cut));
    ThresholdMasses { above, on, total }
}

/// Sums of e^{−z²·rate}; beyond M the ratio of neighbours is below e^{−M/σ²}, so what is left is below
/// e^{−M²·rate}·(1 + σ²/M).
fn gaussian_masses(rate: &BigRational, sigma: f64, threshold: i64, precision: Precision) -> ThresholdMasses {
    let at = |z: i64| precision.exp_minus(&(rate * BigRational::from_integer(BigInt::from(z) * BigInt::from(z))));
    let last = (sigma * (2.0 * precision.bits as f64 * 0.7).sqrt()).ceil() as i64 + 2;
    let last = last.max(threshold + 1);
    let left = at(last + 1).high * ((2.0 + sigma * sigma / last as f64).ceil() as u64 + 1);
    let mut above = Enclosure { low: BigUint::zero(), high: left };
    let on = at(threshold);
    let mut up_to_zero = Enclosure { low: BigUint::zero(), high: BigUint::zero() };
    for z in (1..=last).rev() {
        let mass = at(z);
        if z > threshold {
            above = precision.plus(&above, &mass);
        } else {
            up_to_zero = precision.plus(&up_to_zero, &mass);
        }
    }
    let positive = precision.plus(&above, &up_to_zero);
    let one = precision.ratio(&BigRational::one());
    let total = precision.plus(&one, &precision.plus(&positive, &positive));
    ThresholdMasses { above, on, total }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::{Scale, Sigma};
    use num_traits::ToPrimitive;

    fn preset() -> Noise {
        Noise::sinh_normal(Sigma::new(2.725).unwrap(), Scale::new(7.35).unwrap()).unwrap()
    }

    /// P[the best is given] at a given excess, from f64 masses and the rule's own threshold and coin.
    fn chance(answer: &ObviousAnswer, candidates: u64, excess: i64, mass: impl Fn(i64) -> f64) -> f64 {
        let rule = answer.rule(candidates).unwrap();
        let coin = match &rule.coin {
            TieCoin::Rational(fraction) => fraction.to_f64(),
            TieCoin::Enclosed(law) => {
                let enclosed = law.coin(Precision { bits: 128 });
                assert!(&enclosed.high - &enclosed.low < BigUint::from(4u32));
                enclosed.low.to_f64().unwrap() / 2f64.powi(128)
            }
        };
        let above: f64 = (rule.threshold - excess + 1..4000).map(&mass).sum();
        above + coin * mass(rule.threshold - excess)
    }

    fn normalised(weight: impl Fn(i64) -> f64) -> impl Fn(i64) -> f64 {
        let total: f64 = (-4000..=4000).map(&weight).sum();
        move |z| weight(z) / total
    }

    #[test]
    fn a_lead_of_nothing_wins_with_probability_one_over_k() {
        let (scale, sigma) = (4.0f64, 6.0f64);
        let laplace = normalised(|z| (-(z.abs() as f64) / scale).exp());
        let truncated = normalised(|z| if z.abs() <= 20 { (-(z.abs() as f64) / scale).exp() } else { 0.0 });
        let gaussian = normalised(|z| (-(z as f64).powi(2) / (2.0 * sigma * sigma)).exp());
        let preset_noise = preset();
        let Noise::SinhNormal(table) = &preset_noise else { panic!() };
        let sinh = |z: i64| table.table().probability(z);
        let scale = Scale::new(scale).unwrap();
        let check = |noise: Noise, mass: &dyn Fn(i64) -> f64| {
            let answer = ObviousAnswer::new(noise, ScoreChange::General);
            for k in [2u64, 3, 10, 1000, 1_000_000] {
                let found = chance(&answer, k, 0, mass);
                assert!((found * k as f64 - 1.0).abs() < 1e-9, "k = {k}: {}", found * k as f64);
            }
        };
        check(Noise::laplace(scale), &laplace);
        check(Noise::truncated_laplace(scale, 20).unwrap(), &truncated);
        check(Noise::gaussian(Sigma::new(sigma).unwrap()), &gaussian);
        check(preset(), &sinh);
    }

    #[test]
    fn thresholds_and_coins_are_the_golden_ones() {
        let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/tcdp.json"));
        let all: serde_json::Value = serde_json::from_str(text).unwrap();
        let golden =
            all["vectors"].as_array().unwrap().iter().find(|v| v["name"] == "gapmax_threshold").unwrap().clone();
        // The golden table is that of the decimals 2.725 and 7.35; ours of the f64: thresholds agree, coins to 1e-9.
        let Noise::SinhNormal(noise) = preset() else { panic!() };
        for row in golden["expected"]["rows"].as_array().unwrap() {
            let text = |name: &str| row[name].as_str().unwrap();
            let Ok(k) = text("k").parse::<u64>() else { continue };
            let rule = rule_of_table(&noise, k).unwrap();
            assert_eq!(rule.threshold, row["t"].as_i64().unwrap());
            let TieCoin::Rational(coin) = rule.coin else { panic!() };
            let expected = text("theta_num").parse::<f64>().unwrap() / text("theta_den").parse::<f64>().unwrap();
            assert!((coin.to_f64() - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn the_golden_output_distribution() {
        // scores 17, 5, 4, 4, 0, 3, monotone: excess 11, top wins with 0.999920776829924276.
        let answer = ObviousAnswer::new(preset(), ScoreChange::Monotone);
        let Noise::SinhNormal(table) = preset() else { panic!() };
        assert_eq!(lead(&[17, 5, 4, 4, 0, 3]), Some((0, 12)));
        let found = chance(&answer, 6, 11, |z| table.table().probability(z));
        assert!((found / 0.999_920_776_829_924_3 - 1.0).abs() < 1e-12, "{found}");
    }

    #[test]
    fn the_lead_is_that_of_the_sorted_scores() {
        let mut state = 12345u64;
        for length in [1usize, 2, 3, 100, 5000, 9000] {
            for spread in [1u64, 3, 1000, u64::MAX] {
                let scores: Vec<i64> = (0..length)
                    .map(|_| {
                        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        ((state >> 1) % spread) as i64
                    })
                    .collect();
                let best = scores.iter().enumerate().max_by_key(|(i, s)| (**s, std::cmp::Reverse(*i))).unwrap().0;
                let mut sorted = scores.clone();
                sorted.sort_unstable();
                let found = lead(&scores).unwrap();
                assert_eq!(found.0, best);
                if length > 1 {
                    assert_eq!(found.1, sorted[length - 1] - sorted[length - 2]);
                }
            }
        }
        assert_eq!(lead(&[]), None);
    }
}
