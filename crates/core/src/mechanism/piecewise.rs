//! The exponential mechanism over a huge ordered domain on which the score takes few values: the domain is never walked.
//!
//! P\[y\] ∝ e^{−rate·distance(y)}, where the distance is constant on each of a list of segments. A segment is chosen with
//! probability ∝ length·e^{−rate·distance}, exactly ([`crate::noise`]: enclosures that are refined until they decide), then a
//! uniform point of it. Domains up to 2^128 points.

use crate::noise::refine::{Enclosure, Precision, Weights, choose};
use crate::noise::{BitSource, uniform};
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, ToPrimitive};
use std::collections::HashMap;

/// Points of the domain that are equally far from what is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The first point.
    pub first: u128,
    /// The last point; not below the first.
    pub last: u128,
    /// How far, in a unit that the caller knows.
    pub distance: u128,
}

impl Segment {
    fn length(&self) -> BigUint {
        BigUint::from(self.last - self.first) + 1u32
    }
}

/// A point y with P\[y\] ∝ e^{−rate·distance(y)}, exactly. `unit` is a common step of the distances (any value above 0 is
/// right; where distances have few remainders by it, the choice is fast). None if there is no segment.
///
/// # Guarantee
/// If one step of the data changes no distance by more than Δ, the privacy loss has a range of at most 2·rate·Δ.
pub(crate) fn sample<S: BitSource + ?Sized>(
    segments: &[Segment],
    rate: &BigRational,
    unit: u128,
    bits: &mut S,
) -> Option<u128> {
    let least = segments.iter().map(|segment| segment.distance).min()?;
    let mut near: Vec<&Segment> = Vec::new();
    let chosen = choose(bits, |precision| {
        let reach = reach(precision, rate);
        near = segments.iter().filter(|segment| segment.distance - least <= reach).collect();
        near.sort_by_key(|segment| (segment.distance, segment.first));
        weights(&near, near.len() == segments.len(), least, rate, unit, precision)
    });
    let segment = near[chosen];
    let offset = uniform::below(bits, &segment.length());
    Some(segment.first + offset.to_u128().unwrap_or(0))
}

/// Beyond this distance 2^128 points together weigh less than 2^{−precision−60}.
fn reach(precision: Precision, rate: &BigRational) -> u128 {
    let nats = BigRational::from_integer(BigInt::from((precision.bits + 190) * 7 / 10 + 1));
    (nats / rate).to_integer().to_u128().unwrap_or(u128::MAX)
}

/// length·e^{−rate·(distance − least)} for each segment, with 2^{−precision} as the unit of the total weight.
fn weights(
    near: &[&Segment],
    complete: bool,
    least: u128,
    rate: &BigRational,
    unit: u128,
    precision: Precision,
) -> Weights {
    // A product of up to 2^20 factors loses about 20 bits, the lengths 128 more.
    let inner = Precision { bits: precision.bits + 192 };
    let mut powers = Powers::new(inner, rate, unit);
    let cell = |segment: &&Segment| {
        let decay = powers.at(segment.distance - least);
        let length = segment.length();
        Enclosure { low: decay.low * &length, high: decay.high * length }
    };
    let cells = near.iter().map(cell).collect();
    // 2^128 points at e^{−reach·rate} ≤ 2^{−precision−190}, in units of 2^{−precision−192}: at most 2^131.
    let beyond = if complete { BigUint::from(0u32) } else { BigUint::one() << 131u32 };
    Weights { cells, beyond }
}

/// e^{−rate·d} as (e^{−rate·unit})^k · e^{−rate·remainder}, with all k up to the largest so far kept.
struct Powers<'a> {
    precision: Precision,
    rate: &'a BigRational,
    unit: u128,
    whole: Vec<Enclosure>,
    remainders: HashMap<u128, Enclosure>,
}

/// Beyond so many powers, each is computed on its own.
const MOST_POWERS: u128 = 1 << 20;

impl<'a> Powers<'a> {
    fn new(precision: Precision, rate: &'a BigRational, unit: u128) -> Self {
        let one = BigUint::one() << precision.bits;
        let whole = vec![Enclosure { low: one.clone(), high: one }];
        Self { precision, rate, unit: unit.max(1), whole, remainders: HashMap::new() }
    }

    fn at(&mut self, distance: u128) -> Enclosure {
        let (count, remainder) = (distance / self.unit, distance % self.unit);
        let (precision, rate) = (self.precision, self.rate);
        let direct = |distance: u128| precision.exp_minus(&(rate * BigRational::from_integer(distance.into())));
        if count > MOST_POWERS {
            return direct(distance);
        }
        let rest = self.remainders.entry(remainder).or_insert_with(|| direct(remainder)).clone();
        if self.whole.len() == 1 && count > 0 {
            self.whole.push(direct(self.unit));
        }
        while (self.whole.len() as u128) <= count {
            let next = precision.times(&self.whole[self.whole.len() - 1], &self.whole[1]);
            self.whole.push(next);
        }
        precision.times(&self.whole[count as usize], &rest)
    }
}
