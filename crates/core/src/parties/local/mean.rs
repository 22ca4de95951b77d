//! A statistical query in the local model: the mean over owners of a number between 0 and 1, one randomized bit for
//! each owner (survey 7.9.2).
//!
//! A number f is first rounded to a bit by an exact coin of bias f, and the bit is reported with lies of probability
//! 1/(e^ε+1). What comes in are n bits whose mean probability is q + F/n·(1 − 2q); the number of ones of such bits is
//! nowhere further out than that of n equal ones \[Hoeffding 1956\], so that an interval for a binomial is one for
//! them.
//!
//! ```
//! use scumble::quantity::{beta, epsilon};
//! use scumble::noise::InsecureSeededSource;
//! use scumble::parties::local::mean::{Mean, UNIT};
//! let mean = Mean::new(epsilon(1.0)?)?;
//! let mut bits = InsecureSeededSource::new(1);
//! let mut ones = 0;
//! for owner in 0..20_000u32 {
//!     ones += u64::from(mean.report(owner % 5 * (UNIT / 5), &mut bits)?); // 0, 0.2, …, 0.8
//! }
//! let sum = mean.estimate(ones, 20_000, beta(0.05)?)?;
//! assert!(sum.low <= 8000.0 && 8000.0 <= sum.high && sum.high - sum.low < 800.0);
//! # Ok::<(), scumble::Error>(())
//! ```

use super::Coin;
use super::estimate::{Frequency, success};
use crate::error::Result;
use crate::event::{AnswerCount, Event, Shift, Word, charged_where_seen};
use crate::noise::{BitSource, uniform};
use crate::quantity::{Beta, Epsilon};
use crate::scope::AttributeSet;

/// Numbers are whole multiples of 1/`UNIT`.
pub const UNIT: u32 = 1 << 16;

/// Randomizes one bit about a number between 0 and 1, and estimates the sum of the numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    epsilon: Epsilon,
    coin: Coin,
}

impl Mean {
    /// Reports of this ε.
    pub fn new(epsilon: Epsilon) -> Result<Self> {
        Ok(Self { epsilon, coin: Coin::new(epsilon)? })
    }

    /// One owner's bit about `number`/[`UNIT`].
    ///
    /// # Guarantee
    /// Before: `number` is at most [`UNIT`], and this is the owner's only report. After: ε-private for every change of
    /// it.
    pub fn report<S: BitSource + ?Sized>(&self, number: u32, bits: &mut S) -> Result<bool> {
        refuse_if!(number > UNIT, "a number whose mean is asked for must be in [0, 1]");
        let rounded = (uniform::below(bits, u64::from(UNIT)) as u32) < number;
        Ok(rounded != self.coin.is_lie(bits))
    }

    /// What one owner's report is, for a ledger: the number's cost, as that of the `attributes` that decide it. That an
    /// owner reports is not protected, nor is a whole person, who may be replaced by one who does not report.
    pub fn events(&self, attributes: &AttributeSet) -> Result<Vec<Event>> {
        let word = Word::RandomizedResponse { epsilon: self.epsilon, values: AnswerCount::new(2)? };
        charged_where_seen(word, Shift::one_cell(1.0)?, attributes)
    }

    /// The sum of the numbers of the owners who reported, with an interval that holds it with probability 1 − β.
    pub fn estimate(&self, ones: u64, reports: u64, beta: Beta) -> Result<Frequency> {
        refuse_if!(ones > reports, "{ones} ones are more than {reports} reports");
        let (n, lie, gap) = (reports as f64, self.coin.lie(), self.coin.gap());
        let sum = |share: f64| n * (share - lie) / gap;
        let share = if reports == 0 { lie } else { ones as f64 / n };
        let (low, high) = success(reports, ones, beta.get());
        Ok(Frequency {
            count: sum(share),
            standard_error: (n * share * (1.0 - share)).sqrt() / gap,
            low: sum(low).max(0.0).min(sum(share)),
            high: sum(high).min(n).max(sum(share)),
        })
    }

    /// The error to plan with: the estimated sum is off by more than this with probability at most β
    /// \[Hoeffding 1963\].
    pub fn error(&self, beta: Beta, owners: u64) -> Result<f64> {
        Ok((owners as f64 * (2.0 / beta.get()).ln() / 2.0).sqrt() / self.coin.gap())
    }

    /// ε of one report.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::InsecureSeededSource;

    /// Bits are either reported or turned: the law of a report from its integers, for every pair of numbers.
    #[test]
    fn no_number_is_told_from_another_beyond_epsilon() {
        for epsilon in [1e-9, 0.1, 1.0, 7.0, 40.0] {
            let mean = Mean::new(Epsilon::new(epsilon).unwrap()).unwrap();
            let one = |number: u32| {
                let (f, lie) = (f64::from(number) / f64::from(UNIT), mean.coin.lie());
                (f * (1.0 - lie) + (1.0 - f) * lie, f * lie + (1.0 - f) * (1.0 - lie))
            };
            let mut worst = 0.0f64;
            for (a, b) in [(0, UNIT), (UNIT, 0), (1, 65_535), (0, 1), (300, 60_000)] {
                worst = worst.max((one(a).0 / one(b).0).ln()).max((one(a).1 / one(b).1).ln());
            }
            assert!(worst <= epsilon + 1e-15 && worst >= 0.99 * epsilon, "{epsilon} {worst}");
        }
    }

    /// False alarm: β = 1e-11 for each of the four, by Hoeffding.
    #[test]
    fn bits_come_as_often_as_they_should() {
        let mean = Mean::new(Epsilon::new(0.8).unwrap()).unwrap();
        let mut bits = InsecureSeededSource::new(5);
        for number in [0, 1000, UNIT / 2, UNIT] {
            let draws = 200_000;
            let ones = (0..draws).filter(|_| mean.report(number, &mut bits).unwrap()).count() as f64;
            let f = f64::from(number) / f64::from(UNIT);
            let expected = f64::from(draws) * (mean.coin.lie() + f * mean.coin.gap());
            assert!((ones - expected).abs() <= (f64::from(draws) * (2.0f64 / 1e-11).ln() / 2.0).sqrt());
        }
        assert!(mean.report(UNIT + 1, &mut bits).is_err());
    }

    #[test]
    fn nobody_and_everybody_are_answered() {
        let mean = Mean::new(Epsilon::new(40.0).unwrap()).unwrap();
        let nobody = mean.estimate(0, 0, Beta::new(0.05).unwrap()).unwrap();
        assert_eq!((nobody.count, nobody.low, nobody.high), (0.0, 0.0, 0.0));
        let all = mean.estimate(10, 10, Beta::new(0.05).unwrap()).unwrap();
        assert!(all.low < 8.0 && all.high == 10.0, "{all:?}");
        assert!(mean.estimate(2, 1, Beta::new(0.05).unwrap()).is_err());
    }
}
