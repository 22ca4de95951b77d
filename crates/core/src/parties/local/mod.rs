//! The local model: every owner sends one randomized report, and nobody but the owner sees the value.
//!
//! A [`FrequencyOracle`] makes reports about one of k values and estimates from many of them how many owners hold each
//! value; [`mean`] does the same for the mean of a number between 0 and 1. There are three oracles (survey 7.9 and
//! \[WBLJ17\], \[ASZ19\]); [`FrequencyOracle::best`] takes the one with the least variance:
//!
//! | oracle | report | variance for each owner of a value that the owner does not hold |
//! |---|---|---|
//! | [`ReportKind::KAry`] | one of the values | (k−2+e^ε)/(e^ε−1)² |
//! | [`ReportKind::Unary`] | a bit for each value: the own one with probability ½, any other with 1/(e^ε+1) | 4e^ε/(e^ε−1)² |
//! | [`ReportKind::Hadamard`] | one number below K, the least power of 2 above k | ((e^ε+1)/(e^ε−1))² |
//!
//! What is protected: an owner's value, against everybody else together. The receiver of a report sees that the owner
//! takes part, unless absent owners report too ([`AbsentOwners::Report`]): their reports carry no information.
//!
//! Where we differ: 1/(e^ε+1) is a whole number of 2^−64, rounded up, so that two integers are compared and the loss is
//! never above ε. The survey's (1±ε)/2 is ln((1+ε)/(1−ε)), and infinite at ε = 1.
//!
//! ```
//! use scumble::quantity::{beta, epsilon};
//! use scumble::noise::InsecureSeededSource;
//! use scumble::parties::local::FrequencyOracle;
//! let oracle = FrequencyOracle::best(epsilon(1.0)?, 1000)?;
//! let mut bits = InsecureSeededSource::new(1);
//! let mut tally = oracle.tally()?;
//! for owner in 0..20_000u64 {
//!     let report = oracle.report(owner % 10, &mut bits)?; // on the owner's device
//!     assert!(tally.add(report.to_string().as_bytes())); // at the collector's
//! }
//! let estimates = tally.estimates(beta(0.05)?)?;
//! assert!(estimates[3].low <= 2000.0 && 2000.0 <= estimates[3].high && estimates[700].count < 1000.0);
//! # Ok::<(), scumble::Error>(())
//! ```

use crate::calibrate::up;
use crate::error::{Error, Result};
use crate::event::{AnswerCount, Event, Moves, Pair, Shift, Touch, Word, charged_where_seen};
use crate::mechanism::randomized_response::RandomizedResponse;
use crate::noise::{BitSource, uniform};
use crate::quantity::{Beta, Epsilon, Upper};
use crate::scope::AttributeSet;

mod coin;
mod estimate;
pub mod mean;
mod report;
mod tally;

pub use coin::Coin;
pub use estimate::Frequency;
pub use report::Report;
pub use tally::Tally;

use estimate::Support;

named! {
    /// How reports are made.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum ReportKind {
        /// The value itself, or any other one.
        KAry = "k-ary",
        /// A bit for each value.
        Unary = "unary",
        /// A row of a Hadamard matrix.
        Hadamard = "hadamard",
    }
}

/// What owners without a value do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AbsentOwners {
    /// They send nothing, so participation is not protected.
    Silent,
    /// They send a report that holds no value ([`FrequencyOracle::absent`]).
    Report,
}

/// The most values: the collector counts each of them.
pub const MOST_VALUES: u64 = 1 << 24;
/// The most values of the unary oracle, whose reports have a bit for each.
pub const MOST_UNARY_VALUES: u64 = 1 << 20;
/// Up to here the unary oracle is preferred to the Hadamard oracle.
const SHORT_REPORTS: u64 = 10_000;

/// Randomizes reports about one of `values` values (0, 1, …) and estimates how many owners hold each.
#[derive(Debug, Clone)]
pub struct FrequencyOracle {
    kind: ReportKind,
    epsilon: Epsilon,
    values: u64,
    coin: Coin,
    response: RandomizedResponse,
}

impl FrequencyOracle {
    /// The oracle of this kind, with reports of this ε about one of `values` values.
    ///
    /// ```
    /// use scumble::quantity::epsilon;
    /// use scumble::parties::local::{FrequencyOracle, ReportKind};
    /// assert!(FrequencyOracle::new(ReportKind::Hadamard, epsilon(1.0).unwrap(), 1_000_000).is_ok());
    /// assert!(FrequencyOracle::new(ReportKind::Hadamard, epsilon(0.0).unwrap(), 10).is_err());
    /// ```
    pub fn new(kind: ReportKind, epsilon: Epsilon, values: u64) -> Result<Self> {
        let most = if kind == ReportKind::Unary { MOST_UNARY_VALUES } else { MOST_VALUES };
        if !(2..=most).contains(&values) {
            refuse!("reports of this kind are about one of 2 to {most} values, not {values}");
        }
        let response = RandomizedResponse::new(epsilon, values)?;
        Ok(Self { kind, epsilon, values, coin: Coin::new(epsilon)?, response })
    }

    /// The kind with the least variance (survey §10.2): k-ary for fewer than 3e^ε + 2 values, unary up to 10 000,
    /// Hadamard beyond.
    ///
    /// ```
    /// use scumble::quantity::epsilon;
    /// use scumble::parties::local::{FrequencyOracle, ReportKind};
    /// let kind = |values| FrequencyOracle::best(epsilon(1.0)?, values).map(|oracle| oracle.kind());
    /// assert_eq!((kind(4)?, kind(16)?, kind(1_000_000)?), (ReportKind::KAry, ReportKind::Unary, ReportKind::Hadamard));
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn best(epsilon: Epsilon, values: u64) -> Result<Self> {
        let few = (values as f64) < 3.0 * epsilon.get().exp() + 2.0;
        let kind = if few { ReportKind::KAry } else { Self::best_with_absent(values) };
        Self::new(kind, epsilon, values)
    }

    /// The kind to take where absent owners report: never k-ary, whose uniform answers look as if the absent held every
    /// value equally.
    fn best_with_absent(values: u64) -> ReportKind {
        if values <= SHORT_REPORTS { ReportKind::Unary } else { ReportKind::Hadamard }
    }

    /// The oracle that owners and collector take alike: of the kind that was asked for, or the one with the least
    /// variance.
    ///
    /// ```
    /// use scumble::quantity::epsilon;
    /// use scumble::parties::local::{AbsentOwners, FrequencyOracle, ReportKind};
    /// assert_eq!(FrequencyOracle::chosen(None, AbsentOwners::Silent, epsilon(1.0)?, 4)?.kind(), ReportKind::KAry);
    /// assert_eq!(FrequencyOracle::chosen(None, AbsentOwners::Report, epsilon(1.0)?, 4)?.kind(), ReportKind::Unary);
    /// assert!(FrequencyOracle::chosen(Some(ReportKind::KAry), AbsentOwners::Report, epsilon(1.0)?, 4).is_err());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn chosen(kind: Option<ReportKind>, absent: AbsentOwners, epsilon: Epsilon, values: u64) -> Result<Self> {
        match (kind, absent) {
            (Some(ReportKind::KAry), AbsentOwners::Report) => Err(Error::refused(
                "where absent owners report, the oracle must be unary or hadamard: k-ary reports of absent owners \
                    look like every value equally",
            )),
            (Some(kind), _) => Self::new(kind, epsilon, values),
            (None, AbsentOwners::Report) => Self::new(Self::best_with_absent(values), epsilon, values),
            (None, AbsentOwners::Silent) => Self::best(epsilon, values),
        }
    }

    /// How reports are made.
    pub fn kind(&self) -> ReportKind {
        self.kind
    }

    /// ε of one report.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// How many values there are.
    pub fn values(&self) -> u64 {
        self.values
    }

    /// K: the least power of 2 above the number of values; Hadamard reports are below it.
    fn rows(&self) -> u64 {
        (self.values + 1).next_power_of_two()
    }

    /// One owner's report.
    ///
    /// # Guarantee
    /// Before: `value` is one owner's value, and this is the owner's only report. After: ε-private for every change of
    /// that value, against any collector of the reports. A value outside of the range is refused before anything is
    /// drawn.
    pub fn report<S: BitSource + ?Sized>(&self, value: u64, bits: &mut S) -> Result<Report> {
        refuse_if!(value >= self.values, "a value must be a number from 0 to {}", self.values - 1);
        Ok(match self.kind {
            ReportKind::KAry => Report::Value(self.response.release(value, bits)?),
            ReportKind::Unary => self.ones(Some(value), bits),
            ReportKind::Hadamard => {
                // S_v holds the rows y with an even number of common ones of v + 1 and y: half of all.
                let (mask, is_lie) = (value + 1, self.coin.is_lie(bits));
                let row = uniform::below(bits, self.rows());
                let is_outside = (row & mask).count_ones() % 2 == 1;
                // Flipping one bit of the mask maps S_v onto its complement, so that the row is uniform in the half
                // that is wanted.
                Report::Row(if is_outside == is_lie { row } else { row ^ (1 << mask.trailing_zeros()) })
            }
        })
    }

    /// The report of an owner who holds no value.
    ///
    /// # Guarantee
    /// Where every absent owner sends this, presence costs what [`FrequencyOracle::epsilon_presence`] says.
    pub fn absent<S: BitSource + ?Sized>(&self, bits: &mut S) -> Report {
        match self.kind {
            ReportKind::KAry => Report::Value(uniform::below(bits, self.values)),
            ReportKind::Unary => self.ones(None, bits),
            ReportKind::Hadamard => Report::Row(uniform::below(bits, self.rows())),
        }
    }

    /// A bit for each value. What is drawn does not depend on the value: a lie for every bit, and a fair coin that
    /// replaces the own one.
    fn ones<S: BitSource + ?Sized>(&self, own: Option<u64>, bits: &mut S) -> Report {
        let mut words: Vec<u64> = (0..self.values.div_ceil(64)).map(|_| self.coin.lies_of_64(bits)).collect();
        let rest = self.values % 64;
        if rest != 0
            && let Some(last) = words.last_mut()
        {
            *last &= (1 << rest) - 1;
        }
        let fair = bits.next_bits(1);
        if let Some(own) = own {
            let (word, place) = (&mut words[(own / 64) as usize], own % 64);
            *word = *word & !(1 << place) | fair << place;
        }
        Report::Ones { words, values: self.values }
    }

    /// ε for the presence of an owner, where absent owners report.
    pub fn epsilon_presence(&self) -> Upper {
        let (odds, k) = (self.epsilon.get().exp_m1(), self.values as f64);
        let loss = match self.kind {
            // The truth is likelier than for nobody, any other value is less likely.
            ReportKind::KAry => (odds * (k - 1.0) / (odds + k)).ln_1p().max((odds / k).ln_1p()),
            ReportKind::Unary | ReportKind::Hadamard => (odds / 2.0).ln_1p(),
        };
        Upper::of(up(loss))
    }

    /// What one owner's report is, for a ledger. Where owners without a value are silent, who reports is seen: then
    /// neither presence is protected nor a whole person, who may be replaced by one who is silent; what a change of the
    /// value costs is that of the `attributes` that decide it.
    ///
    /// # Guarantee
    /// Of the unary and the Hadamard oracle half of the reports tell nothing, and the rest is randomized response
    /// between two values: this pair dominates every pair of values (\[WBLJ17\]; enumerated in the tests), and that of
    /// a value and none. Its numbers are rounded away from each other.
    pub fn events(&self, attributes: &AttributeSet, absent: AbsentOwners) -> Result<Vec<Event>> {
        let (value, one) = (self.of_value()?, Shift::one_cell(1.0)?);
        if absent == AbsentOwners::Silent {
            return charged_where_seen(value, one, attributes);
        }
        let touch = Touch { attributes: attributes.clone(), shifts: vec![one] };
        let presence = Moves::as_written(vec![one], Vec::new(), Vec::new());
        let rest = Moves::as_written(Vec::new(), vec![one], vec![touch]);
        Ok(vec![Event::new(self.of_presence()?, presence), Event::new(value, rest)])
    }

    fn of_value(&self) -> Result<Word> {
        if self.kind == ReportKind::KAry {
            return Ok(Word::RandomizedResponse { epsilon: self.epsilon, values: AnswerCount::new(self.values)? });
        }
        let (truth, lie) = self.coin.apart();
        let pair = Pair::new(vec![truth / 2.0, lie / 2.0, 0.5], vec![lie / 2.0, truth / 2.0, 0.5])?;
        Ok(Word::Pair(pair))
    }

    /// A value's report beside that of an owner who has none.
    fn of_presence(&self) -> Result<Word> {
        let (truth, lie) = self.coin.apart();
        let pair = match self.kind {
            ReportKind::KAry => {
                let (keep, others) = self.kept();
                let k = self.values as f64;
                Pair::new(vec![outward(keep, 8), outward(others, -8)], vec![1.0 / k, (k - 1.0) / k])
            }
            ReportKind::Unary => Pair::new(vec![0.5, 0.5], vec![lie, truth]),
            ReportKind::Hadamard => Pair::new(vec![truth, lie], vec![0.5, 0.5]),
        };
        Ok(Word::Pair(pair?))
    }

    /// The probability of the truth in a k-ary report, and that of all other values together.
    fn kept(&self) -> (f64, f64) {
        let (lighter, others) = ((-self.epsilon.get()).exp(), (self.values - 1) as f64);
        (1.0 / (1.0 + others * lighter), others * lighter / (1.0 + others * lighter))
    }

    /// How likely a report supports a value: for who holds it, and for anybody else.
    fn support(&self) -> Support {
        let lie = self.coin.lie();
        match self.kind {
            ReportKind::KAry => {
                let (keep, others) = self.kept();
                let other = others / (self.values - 1) as f64;
                Support { holder: (keep, others), other, gap: -(-self.epsilon.get()).exp_m1() * keep }
            }
            ReportKind::Unary => Support { holder: (0.5, 0.5), other: lie, gap: self.coin.half_gap() },
            ReportKind::Hadamard => Support { holder: (1.0 - lie, lie), other: 0.5, gap: self.coin.half_gap() },
        }
    }

    /// The variance of the estimated count of a value that nobody holds, for each owner.
    pub fn variance(&self) -> f64 {
        let support = self.support();
        support.other * (1.0 - support.other) / (support.gap * support.gap)
    }

    /// The error to plan with: with probability 1 − β no estimate of any value is off by more than this, among `owners`
    /// owners (Bernstein's inequality, and a union over the values).
    ///
    /// ```
    /// use scumble::quantity::{beta, epsilon};
    /// use scumble::parties::local::FrequencyOracle;
    /// let oracle = FrequencyOracle::best(epsilon(1.0)?, 1000)?;
    /// assert!(oracle.error(beta(0.05)?, 1_000_000)? < 10_000.0);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn error(&self, beta: Beta, owners: u64) -> Result<f64> {
        let support = self.support();
        let tail = (2.0 * self.values as f64 / beta.get()).ln();
        let variance = owners as f64 * (support.holder.0 * support.holder.1).max(support.other * (1.0 - support.other));
        Ok(((2.0 * variance * tail).sqrt() + tail / 3.0) / support.gap)
    }

    /// An empty tally of reports.
    pub fn tally(&self) -> Result<Tally> {
        Ok(Tally::new(self.clone()))
    }
}

/// The f64 this many steps further up (or down).
fn outward(value: f64, steps: i32) -> f64 {
    (0..steps.abs()).fold(value, |value, _| if steps > 0 { value.next_up() } else { value.next_down().max(0.0) })
}

#[cfg(test)]
mod tests;
