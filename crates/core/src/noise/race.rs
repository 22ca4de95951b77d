//! The exponential race: one of many candidates, each with probability proportional to e^{−x}, in one pass.
//!
//! Candidate i arrives at the time E_i·e^{x_i} with E_i exponential; the first to arrive is i with
//! probability ∝ e^{−x_i}, the first few are what the exponential mechanism gives when it chooses again among those
//! left. Times are E = −ln U of a uniform real U whose leading bits we know; two times whose bounds overlap get more
//! bits until one is certainly earlier.

use super::certified::{Arithmetic, Interval};
use super::fraction::Fraction;
use super::source::BitSource;
use num_bigint::{BigInt, BigUint};
use num_traits::{One, Zero};
use std::cmp::Ordering;

/// The candidate i with probability e^{−x_i} / Σ_j e^{−x_j}; `None` if there is none.
///
/// # Guarantee
/// Exact for the rationals x, however small the probability of a candidate is.
///
/// ```
/// use scumble::noise::{Fraction, InsecureSeededSource, race};
/// let mut bits = InsecureSeededSource::new(1);
/// let costs = [Fraction::whole(100u32), Fraction::whole(0u32), Fraction::whole(200u32)];
/// assert_eq!(race::winner(&mut bits, &costs), Some(1)); // except with probability e^−100
/// ```
pub fn winner<'a, S: BitSource + ?Sized>(
    bits: &mut S,
    exponents: impl IntoIterator<Item = &'a Fraction>,
) -> Option<usize> {
    let mut leader: Option<Runner> = None;
    for (index, exponent) in exponents.into_iter().enumerate() {
        let runner = Runner::start(bits, index, exponent);
        leader = Some(match leader {
            None => runner,
            Some(leader) => earlier(bits, leader, runner),
        });
    }
    leader.map(|leader| leader.index)
}

/// The first `count` candidates in the order in which they arrive (all of them if there are fewer).
///
/// ```
/// use scumble::noise::{Fraction, InsecureSeededSource, race};
/// let mut bits = InsecureSeededSource::new(1);
/// let costs = [Fraction::whole(100u32), Fraction::whole(0u32), Fraction::whole(200u32)];
/// assert_eq!(race::first(&mut bits, &costs, 2), [1, 0]);
/// ```
pub fn first<'a, S: BitSource + ?Sized>(
    bits: &mut S,
    exponents: impl IntoIterator<Item = &'a Fraction>,
    count: usize,
) -> Vec<usize> {
    let mut arrived: Vec<Runner> = Vec::new();
    for (index, exponent) in exponents.into_iter().enumerate() {
        let mut runner = Runner::start(bits, index, exponent);
        let (mut low, mut high) = (0, arrived.len());
        while low < high {
            let middle = (low + high) / 2;
            if compare(bits, &mut runner, &mut arrived[middle]) == Ordering::Less {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        arrived.insert(low, runner);
        arrived.truncate(count);
    }
    arrived.into_iter().map(|runner| runner.index).collect()
}

/// A candidate on its way.
struct Runner<'a> {
    index: usize,
    exponent: &'a Fraction,
    /// U lies between `uniform` and `uniform + 1`, in units of 2^−known.
    uniform: BigUint,
    known: u64,
    /// ln of the time of arrival, and how far that may be off; infinite if it was not worth computing.
    estimate: f64,
    error: f64,
}

impl<'a> Runner<'a> {
    fn start<S: BitSource + ?Sized>(bits: &mut S, index: usize, exponent: &'a Fraction) -> Self {
        let word = bits.next_u64();
        let (estimate, error) = estimate(word, exponent.to_f64());
        Self { index, exponent, uniform: BigUint::from(word), known: 64, estimate, error }
    }

    /// Twice as many bits of U.
    fn refine<S: BitSource + ?Sized>(&mut self, bits: &mut S) {
        for _ in 0..self.known / 64 {
            self.uniform = (&self.uniform << 64u32) | BigUint::from(bits.next_u64());
        }
        self.known *= 2;
    }

    /// ln(−ln U) + x; `None` if U may still be 0 or 1.
    fn arrival(&self, arithmetic: &Arithmetic) -> Option<Interval> {
        let unit = BigUint::one() << self.known;
        let above = &self.uniform + 1u32;
        if self.uniform.is_zero() || above == unit {
            return None;
        }
        let time = Interval { low: -arithmetic.ln(&above, &unit).high, high: -arithmetic.ln(&self.uniform, &unit).low };
        let exponent = arithmetic.ratio(
            &BigInt::from(self.exponent.numerator().clone()),
            &BigInt::from(self.exponent.denominator().clone()),
        );
        Some(arithmetic.ln_of(&time)?.plus(&exponent))
    }
}

/// ln(−ln U) + x in f64 and a bound of its error.
///
/// `libm::log` errs by less than one unit in the last place. For U between 2^−10 and 1 − 2^−20 the word, its conversion
/// and the logarithm leave E = −ln U with an absolute error below 2^−49 and so a relative one below 2^−28; ln E is then
/// off by less than 2^−27, and x by 2^−52 of itself.
fn estimate(word: u64, exponent: f64) -> (f64, f64) {
    let uniform = word as f64 / 18_446_744_073_709_551_616.0;
    let inside = uniform > 1.0 / 1024.0 && uniform < 1.0 - 1.0 / 1_048_576.0;
    if !inside || !exponent.is_finite() {
        return (0.0, f64::INFINITY);
    }
    let error = 2f64.powi(-26) + exponent * 2f64.powi(-50);
    (libm::log(-libm::log(uniform)) + exponent, error)
}

fn earlier<'a, S: BitSource + ?Sized>(bits: &mut S, mut first: Runner<'a>, mut second: Runner<'a>) -> Runner<'a> {
    if compare(bits, &mut first, &mut second) == Ordering::Less { first } else { second }
}

/// Which of the two arrives earlier. Equal times have probability zero: with ever more bits one is certainly earlier.
fn compare<S: BitSource + ?Sized>(bits: &mut S, first: &mut Runner, second: &mut Runner) -> Ordering {
    let distance = first.estimate - second.estimate;
    if distance.abs() > first.error + second.error {
        return if distance < 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    loop {
        let arithmetic = Arithmetic::new(first.known.max(second.known) + 64);
        if let (Some(a), Some(b)) = (first.arrival(&arithmetic), second.arrival(&arithmetic)) {
            if a.high < b.low {
                return Ordering::Less;
            }
            if b.high < a.low {
                return Ordering::Greater;
            }
        }
        first.refine(bits);
        second.refine(bits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::effort;
    use crate::harness::statistics::assert_agree;
    use crate::noise::InsecureSeededSource;
    use crate::noise::test_support::ScriptedBits;

    #[test]
    fn candidates_win_in_proportion_to_their_weights() {
        let mut bits = InsecureSeededSource::new(1);
        let costs: Vec<Fraction> = [0.0, 0.5, 1.25, 3.0, 0.1].map(|x| Fraction::from_f64(x).unwrap()).to_vec();
        let weights: Vec<f64> = costs.iter().map(|cost| (-cost.to_f64()).exp()).collect();
        let total: f64 = weights.iter().sum();
        let draws = effort(200_000, 2_000_000);
        let mut counts = [0u64; 5];
        let mut pairs = [[0u64; 5]; 5];
        for _ in 0..draws {
            counts[winner(&mut bits, &costs).unwrap()] += 1;
            let places = first(&mut bits, &costs, 2);
            pairs[places[0]][places[1]] += 1;
        }
        assert_agree("winner", draws, counts.into_iter().zip(weights.iter().map(|weight| weight / total)));
        // The second is chosen among those left: w_i/W · w_j/(W − w_i).
        let mut cells = Vec::new();
        for i in 0..5 {
            for j in (0..5).filter(|j| *j != i) {
                cells.push((pairs[i][j], weights[i] / total * weights[j] / (total - weights[i])));
            }
        }
        assert_agree("first two", draws, cells);
    }

    #[test]
    fn equal_leading_bits_are_followed_by_later_ones() {
        let costs = [Fraction::whole(1u32), Fraction::whole(1u32)];
        // Both candidates get the same first word; then 64 more bits each: the larger U arrives earlier.
        let word = BigUint::from(0x4000_0000_0000_0000u64);
        for (first_rest, second_rest, expected) in [(5u32, 9u32, 1), (9, 5, 0)] {
            let mut script = (&word << 64u32) | &word;
            script = (script << 64u32) | BigUint::from(first_rest);
            script = (script << 64u32) | BigUint::from(second_rest);
            let mut bits = ScriptedBits::new(script, 256);
            assert_eq!(winner(&mut bits, &costs), Some(expected));
            assert!(bits.used() >= 256);
        }
    }

    #[test]
    fn extreme_weights_and_words() {
        let mut bits = InsecureSeededSource::new(2);
        let far = Fraction::whole(BigUint::one() << 2000u32);
        assert_eq!(winner(&mut bits, &[far.clone(), Fraction::whole(0u32)]), Some(1));
        assert_eq!(winner(&mut bits, &[]), None);
        assert_eq!(first(&mut bits, &[far.clone(), Fraction::whole(0u32)], 9), [1, 0]);
        // Words of all zeros and all ones leave U undetermined at first.
        let mut zeros = ScriptedBits::new(BigUint::zero(), 128);
        assert!(winner(&mut zeros, &[Fraction::whole(0u32), Fraction::whole(0u32)]).is_some());
        let mut ones = ScriptedBits::new((BigUint::one() << 128u32) - 1u32, 128);
        assert!(winner(&mut ones, &[Fraction::whole(0u32), Fraction::whole(0u32)]).is_some());
    }
}
