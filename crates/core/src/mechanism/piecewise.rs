//! The exponential mechanism over a huge ordered domain on which the score takes few values: the domain is never
//! walked.
//!
//! P\[y\] ∝ e^{−rate·distance(y)}, where the distance is constant on each of a list of segments. A segment is chosen
//! with probability ∝ length·e^{−rate·distance}, exactly ([`crate::noise`]: enclosures that are refined until they
//! decide), then a uniform point of it. Domains up to 2^160 points.

use crate::noise::refine::{ChoiceWeights, Enclosure, Precision, choose};
use crate::noise::tape::{self, Announcement};
use crate::noise::{BitSource, uniform};
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, ToPrimitive};
use std::collections::{BTreeMap, HashMap};

/// Points of the domain that are equally far from what is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<Point = u128> {
    /// The first point.
    pub first: Point,
    /// The last point; not below the first.
    pub last: Point,
    /// How far, in a unit that the caller knows.
    pub distance: u128,
}

/// Log₂ of the largest domain: keys of 128 bits, and 32 more.
const LARGEST_DOMAIN_BITS: u64 = 160;

/// A point y with P\[y\] ∝ e^{−rate·distance(y)}, exactly. `unit` is a common step of the distances (any value above 0
/// is right; where distances have few remainders by it, the choice is fast). None if there is no segment.
///
/// # Guarantee
/// If one step of the data changes no distance by more than Δ, the privacy loss has a range of at most 2·rate·Δ.
pub(crate) fn sample<S: BitSource + ?Sized>(
    segments: &[Segment],
    rate: &BigRational,
    unit: u128,
    bits: &mut S,
) -> Option<u128> {
    let length = |segment: &Segment| BigUint::from(segment.last - segment.first) + 1u32;
    let scores = segments.iter().map(|segment| (segment.last, segment.distance as i128));
    let said = || Announcement::scores(rate.to_f64().unwrap_or(f64::NAN), scores);
    tape::through(bits, said, |bits| {
        let segment = choose_segment(segments, length, rate, unit, bits)?;
        let offset = uniform::below(bits, &length(&segment));
        Some(segment.first + offset.to_u128().unwrap_or(0))
    })
}

/// The same where only the number of candidates at each distance is known. The draw is a distance and the index of one
/// of its candidates, from 0 on.
pub(crate) fn sample_group<S: BitSource + ?Sized>(
    groups: &BTreeMap<u64, u64>,
    rate: &BigRational,
    unit: u128,
    bits: &mut S,
) -> Option<(u64, u64)> {
    let mut start = 0u128;
    let segments: Vec<Segment> = groups
        .iter()
        .map(|(distance, count)| {
            let first = start;
            start += u128::from(*count);
            Segment { first, last: start - 1, distance: u128::from(*distance) }
        })
        .collect();
    let place = sample(&segments, rate, unit, bits)?;
    let (segment, (distance, _)) = segments.iter().zip(groups).find(|(segment, _)| segment.last >= place)?;
    Some((*distance, (place - segment.first) as u64))
}

/// A segment with probability ∝ length·e^{−rate·distance}, exactly, for points of any kind that `length` can count.
pub(crate) fn choose_segment<Point: Copy, S: BitSource + ?Sized>(
    segments: &[Segment<Point>],
    length: impl Fn(&Segment<Point>) -> BigUint,
    rate: &BigRational,
    unit: u128,
    bits: &mut S,
) -> Option<Segment<Point>> {
    let least = segments.iter().map(|segment| segment.distance).min()?;
    let mut near: Vec<&Segment<Point>> = Vec::new();
    let chosen = choose(bits, |precision| {
        let reach = reach(precision, rate);
        near = segments.iter().filter(|segment| segment.distance - least <= reach).collect();
        // A stable sort: with more precision the same segments in the same order, then others.
        near.sort_by_key(|segment| segment.distance);
        let measured: Vec<(u128, BigUint)> =
            near.iter().map(|segment| (segment.distance - least, length(segment))).collect();
        weights(&measured, near.len() == segments.len(), rate, unit, precision)
    });
    Some(*near[chosen])
}

/// Beyond this distance 2^160 points together weigh less than 2^{−precision−60}.
fn reach(precision: Precision, rate: &BigRational) -> u128 {
    let halvings = precision.bits + LARGEST_DOMAIN_BITS + 62;
    let nats = BigRational::from_integer(BigInt::from(halvings * 7 / 10 + 1));
    (nats / rate).to_integer().to_u128().unwrap_or(u128::MAX)
}

/// length·e^{−rate·distance} for each of (distance, length), with 2^{−precision} as the unit of the total weight.
fn weights(
    measured: &[(u128, BigUint)],
    complete: bool,
    rate: &BigRational,
    unit: u128,
    precision: Precision,
) -> ChoiceWeights {
    // A product of up to 2^20 factors loses about 20 bits, the lengths up to 160 more.
    let inner = Precision { bits: precision.bits + LARGEST_DOMAIN_BITS + 64 };
    let mut powers = Powers::new(inner, rate, unit);
    let cell = |(distance, length): &(u128, BigUint)| {
        let decay = powers.at(*distance);
        Enclosure { low: decay.low * length, high: decay.high * length }
    };
    let cells = measured.iter().map(cell).collect();
    // 2^160 points at e^{−reach·rate} ≤ 2^{−precision−222}, in units of 2^{−precision−224}: at most 2^163.
    let beyond = if complete { BigUint::from(0u32) } else { BigUint::one() << (LARGEST_DOMAIN_BITS + 3) };
    ChoiceWeights { cells, beyond }
}

/// e^{−rate·d} as (e^{−rate·unit})^k · e^{−rate·remainder}, with all k up to the largest so far kept.
struct Powers<'a> {
    precision: Precision,
    rate: &'a BigRational,
    unit: u128,
    whole: Vec<Enclosure>,
    remainders: HashMap<u128, Enclosure>,
}

/// Beyond this many powers, each is computed on its own.
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
