//! Coins with an exact bias: a rational, e^{−x} for rational x, and the logistic function of a rational.
//!
//! The samplers use integers only (Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", 2020,
//! algorithm 1 \[CKS20\]).

use super::certified::{Arithmetic, Interval};
use super::fraction::Fraction;
use super::source::BitSource;
use super::uniform::below;
use crate::quantity::Probability;
use num_bigint::{BigInt, BigUint};
use num_integer::Integer;
use num_traits::{ToPrimitive, Zero};

/// True with probability `min(1, chance)`.
///
/// ```
/// use scumble::noise::{Fraction, InsecureSeededSource, bernoulli};
/// let mut bits = InsecureSeededSource::new(1);
/// let third = Fraction::new(1u32, 3u32)?;
/// let heads = (0..3000).filter(|_| bernoulli::rational(&mut bits, &third)).count();
/// assert!((800..1200).contains(&heads));
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn rational<S: BitSource + ?Sized>(bits: &mut S, chance: &Fraction) -> bool {
    is_below(bits, chance.numerator(), chance.denominator())
}

/// True with exactly the probability that the f64 denotes.
///
/// ```
/// use scumble::noise::{InsecureSeededSource, bernoulli};
/// use scumble::quantity::Probability;
/// let mut bits = InsecureSeededSource::new(1);
/// assert!(!bernoulli::probability(&mut bits, Probability::new(0.0)?));
/// assert!(bernoulli::probability(&mut bits, Probability::new(1.0)?));
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn probability<S: BitSource + ?Sized>(bits: &mut S, chance: Probability) -> bool {
    rational(bits, &Fraction::of_checked(chance.get()))
}

/// True with probability e^{−exponent}.
///
/// ```
/// use scumble::noise::{Fraction, InsecureSeededSource, bernoulli};
/// let mut bits = InsecureSeededSource::new(1);
/// assert!(bernoulli::exp_minus(&mut bits, &Fraction::whole(0u32)));
/// assert!(!bernoulli::exp_minus(&mut bits, &Fraction::whole(1_000_000u32)));
/// ```
pub fn exp_minus<S: BitSource + ?Sized>(bits: &mut S, exponent: &Fraction) -> bool {
    exp_minus_ratio(bits, exponent.numerator(), exponent.denominator())
}

/// True with probability 1/(1 + e^{−score}), which is e^score/(1 + e^score); for a negative score negate the answer.
///
/// A fair coin chooses between the two weights, 1 and e^{−score}; the larger is always taken, the smaller with
/// probability e^{−score}, and else again.
///
/// ```
/// use scumble::noise::{Fraction, InsecureSeededSource, bernoulli};
/// let mut bits = InsecureSeededSource::new(1);
/// let score = Fraction::whole(50u32);
/// assert!(bernoulli::logistic(&mut bits, &score)); // except with probability e^−50
/// ```
pub fn logistic<S: BitSource + ?Sized>(bits: &mut S, score: &Fraction) -> bool {
    loop {
        if bits.next_bits(1) == 1 {
            return true;
        }
        if exp_minus(bits, score) {
            return false;
        }
    }
}

/// True with the probability that `enclose` encloses ever more narrowly. It is compared with a uniform real whose first
/// `known` bits are given as `leading`; while the enclosure does not decide, both get more digits.
pub(super) fn real<S: BitSource + ?Sized>(
    bits: &mut S,
    leading: u64,
    known: u32,
    enclose: impl Fn(&Arithmetic) -> Interval,
) -> bool {
    let mut uniform = BigUint::from(leading);
    let mut known = u64::from(known);
    let mut wanted = 64;
    loop {
        while known < wanted {
            let more = (wanted - known).min(64);
            uniform = (uniform << more) | BigUint::from(bits.next_bits(more as u32));
            known += more;
        }
        let guard = 32;
        let chance = enclose(&Arithmetic::new(known + guard));
        if BigInt::from(&uniform + 1u32) << guard <= chance.low {
            return true;
        }
        if BigInt::from(uniform.clone()) << guard >= chance.high {
            return false;
        }
        wanted *= 2;
    }
}

/// True with probability e^{−numerator/denominator}; the denominator is above zero, the fraction need not be reduced.
pub(super) fn exp_minus_ratio<S: BitSource + ?Sized>(bits: &mut S, numerator: &BigUint, denominator: &BigUint) -> bool {
    if numerator <= denominator {
        return exp_minus_up_to_one(bits, numerator, denominator);
    }
    // e^{−x} = (e^{−1})^⌊x⌋ · e^{−(x−⌊x⌋)}: the first factor that fails ends it, so that a huge x takes no longer.
    let (mut whole, rest) = numerator.div_rem(denominator);
    while !whole.is_zero() {
        if !exp_minus_one(bits) {
            return false;
        }
        whole -= 1u32;
    }
    exp_minus_up_to_one(bits, &rest, denominator)
}

/// How many coins of bias e^{−1} come up true before the first false one.
pub(super) fn run_of_exp_minus_one<S: BitSource + ?Sized>(bits: &mut S) -> u64 {
    let mut run = 0;
    while exp_minus_one(bits) {
        run += 1;
    }
    run
}

/// True with probability e^{−1}.
pub(super) fn exp_minus_one<S: BitSource + ?Sized>(bits: &mut S) -> bool {
    // [CKS20] algorithm 1 with γ = 1: coins of bias 1/1, 1/2, 1/3, … until one is false; odd when e^{−1}.
    let mut place = 1u64;
    while below(bits, place) == 0 {
        place += 1;
    }
    place % 2 == 1
}

/// [CKS20] algorithm 1: coins of bias γ/1, γ/2, γ/3, … until one is false; that its place is odd has probability
/// e^{−γ}.
fn exp_minus_up_to_one<S: BitSource + ?Sized>(bits: &mut S, numerator: &BigUint, denominator: &BigUint) -> bool {
    if let (Some(numerator), Some(denominator)) = (numerator.to_u64(), denominator.to_u64()) {
        return exp_minus_up_to_one_u64(bits, numerator, denominator);
    }
    let mut place = 1u32;
    while is_below(bits, numerator, &(denominator * place)) {
        place += 1;
    }
    place % 2 == 1
}

fn exp_minus_up_to_one_u64<S: BitSource + ?Sized>(bits: &mut S, numerator: u64, denominator: u64) -> bool {
    let mut place = 1u64;
    // A coin of bias γ/k is a coin of bias γ and a k-sided die that shows 0: no product that could overflow.
    while below(bits, denominator) < numerator && below(bits, place) == 0 {
        place += 1;
    }
    place % 2 == 1
}

fn is_below<S: BitSource + ?Sized>(bits: &mut S, numerator: &BigUint, denominator: &BigUint) -> bool {
    match (numerator.to_u64(), denominator.to_u64()) {
        (Some(numerator), Some(denominator)) => below(bits, denominator) < numerator,
        _ => below(bits, denominator) < *numerator,
    }
}
