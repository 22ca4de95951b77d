//! Parities over binary attributes: y = ⟨h, x⟩ over GF(2), from a random sample of the rows (survey 7.8.5;
//! \[KLNRS11\]).
//!
//! With probability c nothing is published. Else every row is kept with probability p, the linear equations of the kept
//! rows are solved, and a uniformly random solution is published; nothing, if there is none. On rows that some parity
//! labels rightly it succeeds with probability 1 − c. What it costs is exact, in both scopes: see the word `parity` of
//! the events. Statistical queries cannot do this: a parity looks like a coin to all of them.
//!
//! Where we differ: the survey's p = ε, c = ½ costs a person ln((1+ε)/(1−ε)), not 2ε; and for a target the best choice
//! is p = tanh(ε/2), c = 1/(e^ε+2) for persons, p = 1 − e^{−ε}, c = 1/(e^ε+1) for presence
//! ([`ParityLearner::for_person`], [`ParityLearner::for_presence`]).
//!
//! ```
//! use scumble::quantity::epsilon;
//! use scumble::learn::Example;
//! use scumble::learn::parity::ParityLearner;
//! use scumble::noise::InsecureSeededSource;
//! let row = |i: u32| Example::new(&[i & 1 == 1, i & 2 == 2, i & 4 == 4], (i & 5).count_ones() == 1);
//! let rows: Vec<Example> = (0..100).map(row).collect();
//! let learner = ParityLearner::for_person(epsilon(1.0)?)?;
//! let learnt = learner.release(&rows, 3, &mut InsecureSeededSource::new(1))?.unwrap();
//! assert_eq!(learnt.attributes(), [0, 2]);
//! # Ok::<(), scumble::Error>(())
//! ```

use super::Example;
use crate::error::{Error, Result};
use crate::event::{self, Event, Moves, Quotient, Shift, Touch, Word};
use crate::loss::parity_epsilons;
use crate::noise::tape::{self, Announcement};
use crate::noise::{BitSource, uniform};
use crate::quantity::{Beta, Epsilon, Upper};
use crate::scope::AttributeSet;

mod elimination;

use elimination::Equations;

/// The parity of some attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParityHypothesis {
    words: Vec<u64>,
}

impl ParityHypothesis {
    /// The attributes whose parity the label is, in their order.
    pub fn attributes(&self) -> Vec<usize> {
        (0..64 * self.words.len()).filter(|j| self.words[j / 64] >> (j % 64) & 1 == 1).collect()
    }

    /// The parity of these attributes of a row.
    pub fn predicts(&self, row: &Example) -> bool {
        self.words.iter().zip(row.words()).fold(0, |ones, (h, x)| ones ^ (h & x).count_ones()) % 2 == 1
    }
}

/// A learner of parities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParityLearner {
    word: event::Parity,
}

/// More attributes are refused.
pub const MOST_ATTRIBUTES: usize = 100_000;
/// Probabilities are whole numbers of 2^−31.
const GRID: f64 = 2_147_483_648.0;

impl ParityLearner {
    /// Rows are kept with probability `keep`; nothing is published with probability `give_up`, whatever the rows are.
    pub fn new(keep: Quotient, give_up: Quotient) -> Result<Self> {
        Ok(Self { word: event::Parity::new(keep, give_up)? })
    }

    /// The most that ε for the replacement of a row allows: p = tanh(ε/2), c = 1/(e^ε+2), on a grid.
    pub fn for_person(epsilon: Epsilon) -> Result<Self> {
        let e = epsilon.get();
        Self::on_grid(epsilon, (e / 2.0).tanh(), 1.0 / (e.exp() + 2.0), |learner| learner.epsilon_person().get())
    }

    /// The most that ε for a row that comes or goes allows: p = 1 − e^{−ε}, c = 1/(e^ε+1), on a grid.
    pub fn for_presence(epsilon: Epsilon) -> Result<Self> {
        let e = epsilon.get();
        Self::on_grid(epsilon, -(-e).exp_m1(), 1.0 / (e.exp() + 1.0), |learner| learner.epsilon_presence().get())
    }

    /// Fewer rows are kept and more is given up, by single steps of the grid, until the cost is within ε.
    fn on_grid(epsilon: Epsilon, keep: f64, give_up: f64, cost: impl Fn(&Self) -> f64) -> Result<Self> {
        if !(1e-6..=20.0).contains(&epsilon.get()) {
            refuse!("epsilon of a parity must be a number in [1e-6, 20], not {epsilon}");
        }
        let (mut kept, mut given_up) = ((keep * GRID) as u32, (give_up * GRID).ceil() as u32);
        loop {
            let learner = Self::new(Quotient::new(kept, GRID as u32)?, Quotient::new(given_up, GRID as u32)?)?;
            if cost(&learner) <= epsilon.get() {
                return Ok(learner);
            }
            (kept, given_up) = (kept - 1, given_up + 1);
        }
    }

    /// With which probability a row is kept.
    pub fn keep(&self) -> Quotient {
        self.word.keep()
    }

    /// With which probability nothing is published, whatever the rows are.
    pub fn give_up(&self) -> Quotient {
        self.word.give_up()
    }

    /// ε for a row that comes or goes.
    pub fn epsilon_presence(&self) -> Upper {
        Upper::of(parity_epsilons(&self.word).0)
    }

    /// ε for a row that is replaced.
    pub fn epsilon_person(&self) -> Upper {
        Upper::of(parity_epsilons(&self.word).1)
    }

    /// A parity that is right on all rows that were kept, or nothing.
    ///
    /// # Guarantee
    /// Before: one row belongs to one owner. After: what [`ParityLearner::events`] says. How long it takes depends on
    /// the rows: time is not part of the guarantee.
    pub fn release<S: BitSource + ?Sized>(
        &self,
        rows: &[Example],
        attributes: usize,
        bits: &mut S,
    ) -> Result<Option<ParityHypothesis>> {
        check(rows, attributes)?;
        let said = || Announcement::records("parity", rows.iter().map(|row| (format!("{row:?}"), 1)));
        tape::through_result(bits, said, |bits| self.run(rows.iter(), attributes, bits))
    }

    /// The same `parts` times on parts of the rows, each row in a part of its own choice, so that it costs no more: the
    /// first parity that is found. All fail with probability c^parts on rows that some parity labels rightly.
    ///
    /// # Guarantee
    /// That of [`ParityLearner::release`]: a row is in one part, and what is published is a function of what the parts
    /// give.
    pub fn release_in_parts<S: BitSource + ?Sized>(
        &self,
        rows: &[Example],
        attributes: usize,
        parts: u64,
        bits: &mut S,
    ) -> Result<Option<ParityHypothesis>> {
        check(rows, attributes)?;
        refuse_if!(!(1..=1000).contains(&parts), "rows are split into 1 to 1000 parts, not {parts}");
        let part: Vec<u64> = rows.iter().map(|_| uniform::below(bits, parts)).collect();
        let mut found = None;
        for wanted in 0..parts {
            let of_part = rows.iter().zip(&part).filter(|(_, part)| **part == wanted).map(|(row, _)| row);
            let learnt = self.run(of_part, attributes, bits)?;
            found = found.or(learnt);
        }
        Ok(found)
    }

    fn run<'a, S: BitSource + ?Sized>(
        &self,
        rows: impl Iterator<Item = &'a Example>,
        attributes: usize,
        bits: &mut S,
    ) -> Result<Option<ParityHypothesis>> {
        if is_drawn(self.give_up(), bits) {
            return Ok(None);
        }
        let mut equations = Equations::new(attributes);
        let mut is_consistent = true;
        for row in rows {
            if is_drawn(self.keep(), bits) && is_consistent {
                is_consistent = equations.add(row.words(), row.label());
            }
        }
        Ok(is_consistent.then(|| ParityHypothesis { words: equations.solution(bits) }))
    }

    /// What was done, for a ledger; `attributes` are those of the rows and the label.
    pub fn events(&self, attributes: Option<&AttributeSet>) -> Result<Vec<Event>> {
        let (one, two) = (vec![Shift::one_cell(1.0)?], vec![Shift::one_cell(2.0)?]);
        let touch = |set: &AttributeSet| Touch { attributes: set.clone(), shifts: two.clone() };
        let touches = attributes.map(touch).into_iter().collect();
        Ok(vec![Event::new(Word::Parity(self.word), Moves::by_scope(one, two.clone(), touches))])
    }

    /// How many rows suffice: if some parity is right on the whole population, what is learnt from this many random
    /// rows errs on a share of at most α of it with probability 1 − β, given that something is published. (d·ln
    /// 2 + ln(1/β))/α kept rows by a union over all parities, and four standard deviations for how many are kept.
    pub fn rows_needed(&self, alpha: f64, beta: Beta, attributes: usize) -> Result<f64> {
        refuse_if!(!(alpha > 0.0 && alpha < 1.0), "the error must be in (0, 1), not {alpha}");
        let kept = (attributes as f64 * std::f64::consts::LN_2 + (1.0 / beta.get()).ln()) / alpha;
        let (above, below) = self.keep().parts();
        let keep = f64::from(above) / f64::from(below);
        Ok((kept + 4.0 * kept.sqrt()) / keep)
    }
}

fn check(rows: &[Example], attributes: usize) -> Result<()> {
    if !(1..=MOST_ATTRIBUTES).contains(&attributes) {
        refuse!("a parity is over 1 to {MOST_ATTRIBUTES} attributes, not {attributes}");
    }
    let words = attributes.div_ceil(64);
    let is_wrong = |row: &Example| {
        let beyond =
            !attributes.is_multiple_of(64) && row.words().last().is_some_and(|word| word >> (attributes % 64) != 0);
        row.words().len() != words || beyond
    };
    match rows.iter().position(is_wrong) {
        Some(row) => Err(Error::refused(format!("row {row} does not have {attributes} attributes"))),
        None => Ok(()),
    }
}

fn is_drawn<S: BitSource + ?Sized>(chance: Quotient, bits: &mut S) -> bool {
    let (above, below) = chance.parts();
    uniform::below(bits, u64::from(below)) < u64::from(above)
}

#[cfg(test)]
mod tests;
