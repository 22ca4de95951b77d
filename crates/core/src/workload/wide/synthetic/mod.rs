//! Made-up rows of a table of any number of columns: a few tables, chosen privately, a model of them, and rows of the
//! model.
//!
//! Not every table is worth measuring: of fifteen columns nearly all pairs tell nothing that others do not tell too,
//! and a table of 10,000 cells is mostly noise. So, after the columns themselves are counted, a small part of the cost
//! goes to noisy *scores*: how far each pair, seen at several levels of coarseness, is from what the model expects. A
//! tree of pairs that gain more than they cost is measured, scores are asked again, of triples too, and what is left
//! goes to the sets that are still worth most. The model is the most even distribution that has these tables (as in MST
//! \[MMS21\] and AIM \[MMSM22\]); where they differ from us: one score per candidate instead of an exponential
//! mechanism per round, prices that count only cells that stand out of the noise, several levels of each column in one
//! junction tree, and rows by quotas instead of draws.
//!
//! Every choice is a function of noisy numbers only: the module `session` never sees a record.

use super::super::limits::RhoLimits;
use super::marginals::sets_of_size;
use super::records::{Records, check_sizes};
use crate::calibrate::up;
use crate::error::{Error, Result};
use crate::event::{Charge, Event, Shift, Word, charged_by_scope};
use crate::noise::{BitSource, DiscreteGaussian};
use crate::quantity::{Rho, Upper};
use crate::scope::AttributeSet;
use budget::{Caps, Costs, OF_SCORE, OF_TABLE};
use question::LevelRecords;
use session::Session;

mod budget;
mod levels;
mod model;
mod price;
mod public;
mod question;
mod rows;
mod session;
#[cfg(test)]
mod tests;
mod tree;

pub use session::MeasuredTable;

/// The shares of the cost that go to the columns themselves, to the scores of each round and to its tables.
const SINGLES: f64 = 0.3;
/// A column of more values gets no more than one of this many: it would take from the others what does not help it.
const WEIGHED_VALUES: f64 = 10_000.0;
const SCORES: [f64; 2] = [0.02, 0.03];
const TABLES: [f64; 2] = [0.35, 0.3];
/// Columns that have more values than this together are refused: about 200 bytes are held of each, its noisy count and
/// what became of it.
pub const MOST_VALUES: u64 = 10_000_000;
/// In the second round, what goes to the scores of all triples instead of its tables, where there are not too many of
/// them.
const TRIPLES: f64 = 0.03;
const MOST_TRIPLES: usize = 600;
/// Nobody has a table of more people.
const MOST_PEOPLE: f64 = 1e12;

/// What rows are made of, and what that costs.
#[derive(Debug, Clone, PartialEq)]
pub struct SyntheticPlan {
    sizes: Vec<u32>,
    caps: Caps,
    people: Option<u64>,
    rows: Option<usize>,
    linked: Vec<(usize, usize)>,
    never: Vec<StructuralZero>,
}

/// Combinations that cannot be, from public knowledge: rows that have one of these values in each of these columns.
#[derive(Debug, Clone, PartialEq)]
pub struct StructuralZero {
    /// The columns, by position, ascending.
    pub columns: Vec<usize>,
    /// For each of them which of its values are meant.
    pub values: Vec<Vec<bool>>,
}

/// Made-up rows and where they come from.
#[derive(Debug, Clone, PartialEq)]
pub struct SyntheticRows {
    /// The rows as codes, column by column.
    pub columns: Vec<Vec<u32>>,
    /// How many people there are, by the noisy numbers, or publicly.
    pub people: f64,
    /// The tables that were measured, in order.
    pub measured: Vec<MeasuredTable>,
}

impl SyntheticPlan {
    /// How often pairs are scored and measured.
    fn rounds(&self) -> usize {
        if self.sizes.len() > 1 { TABLES.len() } else { 0 }
    }

    /// Rows of a table with columns of these sizes, within these limits.
    ///
    /// # Guarantee
    /// Its ρ is within each limit.
    pub fn within(limits: &RhoLimits, sizes: &[u32]) -> Result<Self> {
        check_sizes(sizes)?;
        let values: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
        if values > MOST_VALUES {
            refuse!(
                "the columns have {values} values together, more than {MOST_VALUES}: join values, with bins or a map, \
                    or leave columns out"
            );
        }
        let caps = Caps::new(limits, sizes.len())?;
        let (people, rows) = (limits.public_people, None);
        Ok(Self { sizes: sizes.to_vec(), caps, people, rows, linked: Vec::new(), never: Vec::new() })
    }

    /// The same with this many rows, from public knowledge or from what was released before, whatever the number of
    /// people is.
    pub fn with_rows(mut self, rows: Option<usize>) -> Self {
        self.rows = rows;
        self
    }

    /// Measures, fits and makes at most `most` rows.
    ///
    /// # Guarantee
    /// What [`SyntheticPlan::events`] say; the noise is exact.
    pub fn release<S: BitSource + ?Sized>(
        &self,
        records: &Records,
        most: usize,
        bits: &mut S,
    ) -> Result<SyntheticRows> {
        refuse_if!(records.sizes() != self.sizes, "the records do not have the planned columns");
        let mut session = Session::new(self, bits.next_u64())?;
        while !session.asked.is_empty() {
            let answers = answered(&session, records, bits);
            session.learn(&answers)?;
        }
        let number = self.rows.unwrap_or(session.people as usize).clamp(1, most);
        let columns = session.rows(number);
        Ok(SyntheticRows { columns, people: session.people, measured: session.measured })
    }

    /// The pairs, and in the second round the triples, that are scored in a round, each with the ρ of its scores.
    fn scored(&self, round: usize) -> Vec<(Vec<usize>, f64)> {
        let of_size = |size: usize, share: f64| {
            let sets: Vec<(Vec<usize>, f64)> =
                sets_of_size(self.sizes.len(), size).into_iter().map(|set| (set, 1.0)).collect();
            let rho = self.caps.part(share).divided(&sets, OF_SCORE);
            sets.into_iter().zip(rho).map(|((set, _), rho)| (set, rho)).collect::<Vec<_>>()
        };
        let mut scored = of_size(2, SCORES[round]);
        if self.scores_triples(round) {
            scored.extend(of_size(3, TRIPLES));
        }
        scored
    }

    /// Whether triples are scored in a round: in the second one, where there are some and not too many.
    fn scores_triples(&self, round: usize) -> bool {
        let columns = self.sizes.len();
        let triples = columns * columns.saturating_sub(1) * columns.saturating_sub(2) / 6;
        round == 1 && (1..=MOST_TRIPLES).contains(&triples)
    }

    /// The ρ of each column's own table.
    fn singles(&self) -> Vec<f64> {
        let share = if self.rounds() == 0 { 1.0 } else { SINGLES };
        let weighed: Vec<(Vec<usize>, f64)> = self
            .sizes
            .iter()
            .enumerate()
            .map(|(column, &size)| (vec![column], f64::from(size).min(WEIGHED_VALUES).powf(2.0 / 3.0)))
            .collect();
        self.caps.part(share).divided(&weighed, OF_TABLE)
    }

    fn tables(&self, round: usize) -> Caps {
        self.caps.part(TABLES[round] - if self.scores_triples(round) { TRIPLES } else { 0.0 })
    }

    /// What is fixed beforehand: the columns' own tables, and all scores.
    fn fixed_costs(&self) -> Costs {
        let columns = self.sizes.len();
        let single = |(column, rho): (usize, f64)| (vec![column], rho);
        let singles: Vec<(Vec<usize>, f64)> = self.singles().into_iter().enumerate().map(single).collect();
        let mut costs = Costs::of(&singles, columns, OF_TABLE);
        for round in 0..self.rounds() {
            costs = costs.plus(&Costs::of(&self.scored(round), columns, OF_SCORE));
        }
        costs
    }

    /// What is chosen on the way costs at most.
    fn chosen_costs(&self) -> Costs {
        let none = Costs { presence: 0.0, person: 0.0, attributes: vec![0.0; self.sizes.len()] };
        (0..self.rounds()).fold(none, |costs, round| costs.plus(&self.tables(round).of_tables()))
    }

    /// ρ when one person is added or removed.
    ///
    /// # Guarantee
    /// The release is ρ-zCDP: each step is, whatever was noisily learnt before it, and steps compose \[BS16\].
    pub fn rho_presence(&self) -> Upper {
        Upper::of(up(self.fixed_costs().presence + self.chosen_costs().presence))
    }

    /// ρ when one person is replaced by another, or by one who is not in this table.
    ///
    /// # Guarantee
    /// As [`SyntheticPlan::rho_presence`]: two cells of each table move by 1, and each score by at most 2.
    pub fn rho_person(&self) -> Upper {
        Upper::of(up(self.fixed_costs().person + self.chosen_costs().person))
    }

    /// ρ when one person's value of one attribute changes: only tables and scores that have it count, but any table may
    /// be chosen that its limits allow.
    ///
    /// # Guarantee
    /// As [`SyntheticPlan::rho_person`], for datasets that differ in this attribute of one person.
    pub fn rho(&self, attribute: usize) -> Upper {
        let of = |costs: Costs| costs.attributes.get(attribute).copied().unwrap_or(0.0);
        Upper::of(up(of(self.fixed_costs()) + of(self.chosen_costs())))
    }

    /// What a release did, in the vocabulary of the ledger; `names` are the attributes' names.
    ///
    /// # Guarantee
    /// Exactly [`SyntheticPlan::rho_presence`], [`SyntheticPlan::rho_person`] and [`SyntheticPlan::rho`] for presence,
    /// persons and single attributes; several attributes are charged the sum of their own, except that tables which any
    /// of them may be in are charged once.
    pub fn events(&self, names: &[String]) -> Result<Vec<Event>> {
        refuse_if!(names.len() != self.sizes.len(), "there are {} names for {} columns", names.len(), self.sizes.len());
        let one = vec![Shift::one_cell(1.0)?];
        let zcdp = |rho: f64| Ok::<Charge, Error>((Word::Zcdp { rho: Rho::new(rho)? }, one.clone()));
        let (fixed, chosen) = (self.fixed_costs(), self.chosen_costs());
        let mut own = fixed.attributes;
        let mut changes = Vec::new();
        if chosen.is_even() && chosen.person > 0.0 {
            changes.push((AttributeSet::new(names.iter().cloned())?, zcdp(up(chosen.person))?));
        } else {
            own.iter_mut().zip(&chosen.attributes).for_each(|(own, more)| *own += more);
        }
        for (name, rho) in names.iter().zip(own).filter(|(_, rho)| *rho > 0.0) {
            changes.push((AttributeSet::new([name.clone()])?, zcdp(up(rho))?));
        }
        charged_by_scope(zcdp(self.rho_presence().get())?, zcdp(self.rho_person().get())?, changes)
    }
}

/// All that is asked, answered with the noise that each question names: nothing else of a release sees records.
fn answered<S: BitSource + ?Sized>(session: &Session<'_>, records: &Records, bits: &mut S) -> Vec<Vec<i64>> {
    let mut seen = LevelRecords::new(records, &session.levels);
    let mut answers = Vec::new();
    for question in &session.asked {
        let noise = DiscreteGaussian::new(question.sigma());
        let exact = seen.answer(question);
        answers.push(exact.into_iter().map(|value| noise.add_to(value, bits)).collect());
    }
    answers
}
