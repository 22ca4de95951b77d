//! A small table whose counts are about those of the data (SmallDB: Blum, Ligett and Roth 2008; \[Vad17\] 7.4.1).
//!
//! Candidates are all multisets y of m elements of a universe X. The score of one is −max_q |m·c_q − N·Y_q|, where c_q
//! is how many owners fulfil the condition q, Y_q how many of y's elements do, and N how many owners there are,
//! declared or released, never counted. An owner moves it by at most m, so that P\[y\] ∝ e^{ε·score/2m}, drawn exactly,
//! costs ε (an exponential mechanism; the survey's e^{−εn·error} is 2ε). All conditions are answered by one draw:
//! N·Y_q/m.
//!
//! Multisets, where the survey has tuples: that changes how often a candidate is listed, and makes them fewer. Every
//! candidate is looked at, against every condition: beyond 10^8 such looks it is refused, and [`mwem`](super::mwem) or
//! [`interactive`](super::interactive) do the same work.

use crate::calibrate::Target;
use crate::error::{Error, Result};
use crate::event::{Event, Word};
use crate::mechanism::piecewise::sample_group;
use crate::mechanism::smooth::OwnerSteps;
use crate::noise::BitSource;
use crate::noise::tape::{self, Announcement};
use crate::quantity::{Beta, Epsilon, Exact};
use crate::scope::{AttributeSet, Scope};
use num_rational::BigRational;
use num_traits::ToPrimitive;
use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};

/// Candidates times conditions: more are refused.
pub const MOST_LOOKS: u64 = 100_000_000;
/// A table of more rows is not small: its error would hardly be less.
pub const LARGEST_SIZE: u64 = 10_000;
/// Fewer owners than this are counted: then scores fit into 64 bits.
const MOST_PEOPLE: u64 = 1 << 40;

/// A small table, drawn by how well it answers some conditions.
///
/// ```
/// use scumble::quantity::{beta, epsilon};
/// use scumble::noise::InsecureSeededSource;
/// use scumble::workload::small_table::SmallTable;
/// use scumble::{Scope, Target};
/// // Three kinds of owners; who is of the first kind, and who is not of the last.
/// let conditions = [vec![true, false, false], vec![true, true, false]];
/// let table = SmallTable::within(Target::pure(epsilon(1.0)?), Scope::Person, &conditions, 10)?;
/// let drawn = table.release(&[700, 200, 100], 1000, &mut InsecureSeededSource::new(1))?;
/// let answers = table.answers(&drawn, 1000);
/// assert!((answers[0] - 700.0).abs() <= table.error(beta(1e-6)?, 1000)?);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct SmallTable {
    universe: usize,
    conditions: usize,
    /// Whether an element fulfils a condition, element by element.
    fulfils: Vec<bool>,
    size: u64,
    epsilon: Epsilon,
    candidates: u64,
}

impl SmallTable {
    /// Tables of `size` rows, one of which is drawn within the target in `scope`; each condition lists, for every
    /// element of the universe, whether it is true of it.
    ///
    /// # Guarantee
    /// [`SmallTable::events`] cost at most `target` in `scope`, if the conditions read what it is about.
    pub fn within(target: Target, scope: impl Borrow<Scope>, conditions: &[Vec<bool>], size: u64) -> Result<Self> {
        let scope = scope.borrow();
        let epsilon = target.range(OwnerSteps::one().read_by(scope).moved(scope, 1)?)?;
        refuse_if!(epsilon.get() == 0.0, "a small table needs epsilon above 0");
        let universe = conditions.first().map_or(0, Vec::len);
        if conditions.is_empty() || universe == 0 {
            refuse!("a small table needs at least one condition, and a universe of at least one element");
        }
        if conditions.iter().any(|condition| condition.len() != universe) {
            refuse!("each condition must say for every element of the universe whether it is true");
        }
        refuse_if!(!(1..=LARGEST_SIZE).contains(&size), "a small table has 1 to {LARGEST_SIZE} rows, not {size}");
        let (elements, number) = (universe as u64, conditions.len() as u64);
        let candidates = candidates(elements, number).nth(size as usize - 1);
        let candidates = candidates.ok_or_else(|| too_many(elements, number, size))?;
        let elements = 0..universe;
        let fulfils = elements.flat_map(|element| conditions.iter().map(move |condition| condition[element])).collect();
        Ok(Self { universe, conditions: conditions.len(), fulfils, size, epsilon, candidates })
    }

    /// How many candidates there are: C(|X| + m − 1, m).
    pub fn candidates(&self) -> u64 {
        self.candidates
    }

    /// The elements of the drawn table, in their order; `counts` has the owners of each element, and `total` is N.
    ///
    /// # Guarantee
    /// If an owner has one element, and `total` is declared or was itself released, [`SmallTable::events`] says what is
    /// lost.
    pub fn release<S: BitSource + ?Sized>(&self, counts: &[u64], total: u64, bits: &mut S) -> Result<Vec<u32>> {
        refuse_if!(counts.len() != self.universe, "a small table of {} elements needs a count of each", self.universe);
        let people = counts.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
        refuse_if!(people >= MOST_PEOPLE || total >= MOST_PEOPLE, "a small table is drawn for fewer than 2^40 owners");
        let rate = self.rate()?;
        let said = || {
            let mut scores = Vec::new();
            self.walk(counts, total, |_, off| {
                scores.push((scores.len() as u128, i128::from(off)));
                true
            });
            Announcement::scores(rate.to_f64().unwrap_or(f64::NAN), scores)
        };
        Ok(tape::through(bits, said, |bits| self.drawn(counts, total, &rate, bits)))
    }

    fn drawn<S: BitSource + ?Sized>(&self, counts: &[u64], total: u64, rate: &BigRational, bits: &mut S) -> Vec<u32> {
        let mut groups: HashMap<u64, u64> = HashMap::new();
        self.walk(counts, total, |_, off| {
            *groups.entry(off).or_default() += 1;
            true
        });
        let groups: BTreeMap<u64, u64> = groups.into_iter().collect();
        // Distances have no common step, and are few: each weight is computed on its own.
        let (distance, mut place) = sample_group(&groups, rate, u128::MAX, bits).unwrap_or((0, 0));
        let mut drawn = Vec::new();
        self.walk(counts, total, |table, off| {
            if off == distance && place == 0 {
                drawn = table.to_vec();
                return false;
            }
            place -= u64::from(off == distance);
            true
        });
        drawn
    }

    /// ε/2m, exactly.
    fn rate(&self) -> Result<BigRational> {
        let moves = BigRational::from_integer((2 * self.size).into());
        Ok(Exact::from_f64(self.epsilon.get())?.rational().clone() / moves)
    }

    /// What each condition is on the drawn table: N·Y_q/m.
    pub fn answers(&self, table: &[u32], total: u64) -> Vec<f64> {
        let true_of = |condition: usize| {
            table.iter().filter(|element| self.fulfils[**element as usize * self.conditions + condition]).count()
        };
        (0..self.conditions).map(|q| true_of(q) as f64 * total as f64 / self.size as f64).collect()
    }

    /// Calls `look` with each candidate and its max_q |m·c_q − N·Y_q|, in the order of their elements, until it says
    /// no.
    fn walk(&self, counts: &[u64], total: u64, mut look: impl FnMut(&[u32], u64) -> bool) {
        let (size, total, last) = (self.size as usize, total as i64, self.universe as u32 - 1);
        let row = |element: u32| &self.fulfils[element as usize * self.conditions..][..self.conditions];
        // m·c_q − N·Y_q of the candidate.
        let mut off = vec![0i64; self.conditions];
        for (element, count) in (0..).zip(counts) {
            add(&mut off, row(element), self.size as i64 * *count as i64);
        }
        let mut table = vec![0u32; size];
        add(&mut off, row(0), -total * self.size as i64);
        loop {
            if !look(&table, off.iter().map(|off| off.unsigned_abs()).max().unwrap_or(0)) {
                return;
            }
            // The next multiset: the last element that can grow does, and those after it become equal to it.
            let Some(place) = table.iter().rposition(|element| *element < last) else { return };
            let next = table[place] + 1;
            for element in &mut table[place..] {
                if *element != next {
                    add(&mut off, row(*element), total);
                    add(&mut off, row(next), -total);
                    *element = next;
                }
            }
        }
    }

    /// What was done, if the conditions read these attributes.
    pub fn events(&self, attributes: &AttributeSet) -> Result<Vec<Event>> {
        let moves = OwnerSteps::one().reading(attributes.clone()).moves(1.0)?;
        Ok(vec![Event::new(Word::Exponential { epsilon: self.epsilon }, moves)])
    }

    /// How far off any of the answers is, except with probability β, if there are `total` owners:
    /// α·N + (2/ε)·ln(candidates/β), where α = √(ln(2|Q|)/2m) is what a table of m rows can always do (Hoeffding).
    pub fn error(&self, beta: Beta, total: u64) -> Result<f64> {
        let beta = beta.get();
        Ok(promised(self.conditions as u64, self.size, self.candidates, self.epsilon.get(), beta, total))
    }
}

fn add(off: &mut [i64], fulfils: &[bool], by: i64) {
    off.iter_mut().zip(fulfils).for_each(|(off, is_true)| *off += if *is_true { by } else { 0 });
}

fn promised(conditions: u64, size: u64, candidates: u64, epsilon: f64, beta: f64, total: u64) -> f64 {
    let alpha = ((2.0 * conditions as f64).ln() / (2.0 * size as f64)).sqrt();
    alpha * total as f64 + 2.0 / epsilon * (candidates as f64 / beta).ln()
}

/// C(|X| + m − 1, m) for m = 1, 2, …, as long as all of them can be looked at.
fn candidates(universe: u64, conditions: u64) -> impl Iterator<Item = u64> {
    let most = u128::from(MOST_LOOKS / conditions.max(1));
    let mut number = 1u128;
    (1..=u128::from(LARGEST_SIZE)).map_while(move |row| {
        // A whole number in each step.
        number = number * (u128::from(universe) + row - 1) / row;
        (number <= most).then_some(number as u64)
    })
}

fn too_many(universe: u64, conditions: u64, size: u64) -> Error {
    Error::refused(format!(
        "{size} rows, {universe} combinations of values and {conditions} conditions need over 10^8 comparisons: take \
            fewer, or use method 'mwem' or kind interactive"
    ))
}

/// The number of rows with the smallest promised error for `total` owners at 95%; a refusal where not even one row can
/// be looked at.
///
/// ```
/// use scumble::quantity::epsilon;
/// use scumble::workload::small_table::best_size;
/// assert!(best_size(4, 6, epsilon(1.0)?, 1000)? > 5);
/// assert!(best_size(4, 6, epsilon(0.1)?, 1000)? < best_size(4, 6, epsilon(10.0)?, 100_000)?);
/// assert!(best_size(20_000_000, 6, epsilon(1.0)?, 1000).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn best_size(universe: u64, conditions: u64, epsilon: Epsilon, total: u64) -> Result<u64> {
    let epsilon = epsilon.get();
    let errors = (1..).zip(candidates(universe, conditions));
    let errors = errors.map(|(size, number)| (size, promised(conditions, size, number, epsilon, 0.05, total)));
    let best = errors.min_by(|a, b| a.1.total_cmp(&b.1));
    best.map(|(size, _)| size).ok_or_else(|| too_many(universe, conditions, 1))
}

#[cfg(test)]
mod tests;
