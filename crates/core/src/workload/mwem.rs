//! Multiplicative weights with several attribute-disjoint queries per round (Algorithm 1 of \[GKMS\]).
//!
//! Each round picks ℓ queries about disjoint attributes that the current model answers worst, measures them, and moves
//! the model. Since an attribute is in at most one of them, it pays for one query per round, however large ℓ is; ℓ = 1
//! is ordinary MWEM.
//!
//! Two ways to pick. [`QueryFamilies::Joint`] draws the family from the exponential mechanism over *all* families,
//! exactly: a dynamic programme over sets of attributes, with weights enclosed as closely as the draw needs.
//! [`QueryFamilies::Blocks`] draws a public random partition of the attributes and one query inside each block: any
//! number of attributes, and a person pays ℓ instead of ℓ².
//!
//! We differ from the paper in the step of the update, 4/ℓ instead of ½: with ½ the potential can rise from ℓ = 9 on.

use super::domain::Subset;
use super::limits::RhoLimits;
use super::predicate::Queries;
use crate::calibrate::{ShiftNorms, down, range_for_zcdp, share_of, sigma_for_zcdp, up};
use crate::error::{Error, Result};
use crate::event::{Charge, Event, Shift, Word, charged_by_scope};
use crate::noise::refine::{ChoiceWeights, Enclosure, Precision, choose};
use crate::noise::tape::{self, Announcement};
use crate::noise::{BitSource, DiscreteGaussian, permutation};
use crate::quantity::{Rho, Sensitivity, Sigma, Upper};
use num_bigint::BigUint;
use num_rational::BigRational;
use num_traits::{One, Zero};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

mod fit;

/// How the queries of a round are picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueryFamilies {
    /// From all families of attribute-disjoint queries; at most 20 attributes.
    Joint,
    /// One query in each block of a public random partition.
    Blocks,
}

/// A plan of rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Mwem {
    queries: Queries,
    rounds: u32,
    disjoint: usize,
    families: QueryFamilies,
    /// c: a family has probability ∝ e^{c·Σ scores}.
    coefficient: f64,
    sigma: Sigma,
}

const MOST_JOINT_ATTRIBUTES: usize = 20;
/// Measurements are used at most so often in each round.
const MOST_PASSES: usize = 4;
/// If all updates together would visit more cells than this, measurements are used less often, though at least once in
/// each round.
const MOST_VISITS: u64 = 10_000_000_000;

impl Mwem {
    /// `rounds` rounds of `disjoint` queries with as little noise as the limits allow. (The number of people has a
    /// limit of its own: [`super::planner::mwem`] plans both.)
    ///
    /// # Guarantee
    /// Its ρ is within each limit.
    ///
    /// ```
    /// use scumble::quantity::rho;
    /// use scumble::workload::mwem::{Mwem, QueryFamilies};
    /// use scumble::workload::planner::RhoLimits;
    /// use scumble::workload::{Domain, Queries};
    /// use scumble::{Scope, Target};
    /// let queries = Queries::marginals(&Domain::new(vec![2, 3, 2])?, 1)?;
    /// let limits = RhoLimits::of(Target::zcdp(rho(0.1)?), Scope::Person)?;
    /// let mwem = Mwem::within(&limits, queries, 5, 2, QueryFamilies::Blocks)?;
    /// assert!(mwem.rho_person() <= 0.1 && mwem.rho_person() > 0.0999999);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn within(
        limits: &RhoLimits,
        queries: Queries,
        rounds: u32,
        disjoint: usize,
        families: QueryFamilies,
    ) -> Result<Self> {
        let trial = Self::of_attribute(queries.clone(), rounds, disjoint, Rho::new(1.0)?, families)?;
        let attribute = |attribute: usize| trial.rho(Subset::of(&[attribute])).get();
        let excess = limits.excess(trial.rho_presence().get(), trial.rho_person().get(), attribute)?;
        Self::of_attribute(queries, rounds, disjoint, Rho::new(1.0 / excess)?, families)
    }

    /// `rounds` rounds of `disjoint` queries at a total cost of `rho` for a change of one attribute, half for picking,
    /// half for measuring.
    ///
    /// # Guarantee
    /// [`Mwem::rho`] of a single attribute is at most `rho`, and tight to eleven digits.
    pub(super) fn of_attribute(
        queries: Queries,
        rounds: u32,
        disjoint: usize,
        rho: Rho,
        families: QueryFamilies,
    ) -> Result<Self> {
        refuse_if!(rounds == 0 || rounds > 10_000, "mwem takes 1 to 10000 rounds, not {rounds}");
        refuse_if!(rho.get() == 0.0, "mwem cannot run with a rho of 0");
        let attributes = queries.domain().attributes();
        if disjoint == 0 || disjoint > attributes {
            refuse!("mwem picks 1 to {attributes} queries per round here, not {disjoint}");
        }
        if families == QueryFamilies::Joint {
            if attributes > MOST_JOINT_ATTRIBUTES {
                refuse!(
                    "families are drawn jointly for at most {MOST_JOINT_ATTRIBUTES} attributes, not {attributes}: use blocks"
                );
            }
            let mut masks = queries.attributes();
            masks.dedup();
            let most = most_disjoint(queries.domain().all(), &masks, &mut HashMap::new());
            refuse_if!(most < disjoint, "there are no {disjoint} queries about disjoint attributes, only {most}");
        }
        // Half of each round's ρ for picking, of range 2c, half for the noise.
        let (within, one) = (Rho::new(down(rho.get()))?, ShiftNorms::units(1));
        let share = share_of(&within.into(), 2 * rounds as usize)?;
        let coefficient = range_for_zcdp(share.clone(), Sensitivity::new(2.0)?)?.get();
        Ok(Self { queries, rounds, disjoint, families, coefficient, sigma: sigma_for_zcdp(share, one)? })
    }

    /// ρ when one person's values of these attributes change: T(r²ρ_s + rρ_m) for joint families, T·r(ρ_s + ρ_m) for
    /// blocks, with r = min(|S|, ℓ).
    ///
    /// # Guarantee
    /// All rounds together are ρ-zCDP for datasets of the same size that differ in these attributes of one person. Each
    /// of r counts of a family moves by at most 1, so the exponent moves by at most r·c: range 2rc, hence (rc)²/2.
    pub fn rho(&self, attributes: Subset) -> Upper {
        let touched = attributes.common(self.queries.domain().all()).len().min(self.disjoint) as f64;
        let pick = self.coefficient * self.coefficient / 2.0;
        let measure = 1.0 / (2.0 * self.sigma.get() * self.sigma.get());
        let picks = if self.families == QueryFamilies::Joint { touched * touched } else { touched };
        Upper::of(up(f64::from(self.rounds) * (picks * pick + touched * measure)))
    }

    /// ρ when one person is replaced by another.
    ///
    /// # Guarantee
    /// As [`Mwem::rho`] with all attributes.
    pub fn rho_person(&self) -> Upper {
        self.rho(self.queries.domain().all())
    }

    /// The workload.
    pub fn queries(&self) -> &Queries {
        &self.queries
    }

    /// The σ of the noise on each measured count.
    pub fn sigma(&self) -> Sigma {
        self.sigma
    }

    /// c: a family is picked with probability ∝ e^{c·Σ scores}.
    pub fn coefficient(&self) -> f64 {
        self.coefficient
    }

    /// ρ when one person is added or removed, if the number of people that [`Mwem::release`] is given is itself
    /// private.
    ///
    /// # Guarantee
    /// As [`Mwem::rho_person`]: a person's presence, too, moves each count of a family by at most 1. The number of
    /// people has to be paid for by itself ([`super::People`]).
    pub fn rho_presence(&self) -> Upper {
        self.rho_person()
    }

    /// What all rounds did, in the vocabulary of the ledger; `names` are the attributes' names.
    ///
    /// The ledger adds up over the attributes of a set. With blocks that is at least r = min(|S|, ℓ) of them. Joint
    /// families cost r²ρ_s + rρ_m, more than r single attributes, so that every attribute has to be charged ℓρ_s + ρ_m;
    /// with ℓ = 1 both are the same.
    ///
    /// # Guarantee
    /// In every scope the events cost at least what [`Mwem::rho_presence`], [`Mwem::rho_person`] and [`Mwem::rho`]
    /// state: exactly that for presence and person, and with blocks (or ℓ = 1) for single attributes.
    pub fn events(&self, names: &[String]) -> Result<Vec<Event>> {
        let one = vec![Shift::one_cell(1.0)?];
        let zcdp = |rho: f64| Ok::<Charge, Error>((Word::Zcdp { rho: Rho::new(rho)? }, one.clone()));
        let single = match self.families {
            QueryFamilies::Blocks => self.rho(Subset::of(&[0])).get(),
            // (ℓ²ρ_s + ℓρ_m)/ℓ
            QueryFamilies::Joint => up(self.rho_person().get() / self.disjoint as f64),
        };
        let attributes = 0..self.queries.domain().attributes();
        let changes = attributes.map(|attribute| Ok((Subset::of(&[attribute]).named(names)?, zcdp(single)?)));
        let person = zcdp(self.rho_person().get())?;
        charged_by_scope(person.clone(), person, changes.collect::<Result<_>>()?)
    }

    /// Runs all rounds on a table of counts of `people` people and returns the fitted table. The number of people is
    /// public among attributes; where presence or persons are to be protected, tell it as [`super::People`] releases
    /// it.
    ///
    /// # Guarantee
    /// [`Mwem::rho`]; picking and noise are exact. How long it takes depends on the data: time is not part of the
    /// guarantee.
    pub fn release<S: BitSource + ?Sized>(&self, counts: &[u64], people: u64, bits: &mut S) -> Result<Vec<f64>> {
        let domain = self.queries.domain();
        if counts.len() != domain.cells() || people == 0 {
            refuse!("mwem needs a table of {} counts and at least one person", domain.cells());
        }
        let exact: Vec<u64> = self.queries.answers(counts);
        let noise = DiscreteGaussian::new(self.sigma);
        let mut model = vec![1.0 / domain.cells() as f64; domain.cells()];
        let mut measured: Vec<fit::MeasuredRound> = Vec::new();
        for _ in 0..self.rounds {
            let scores = self.scores(&exact, &model, people);
            let family = self.pick(&scores, bits)?;
            let measure = |query: usize, bits: &mut S| {
                let noisy = noise.add_to(i64::try_from(exact[query]).unwrap_or(i64::MAX), bits);
                (query, noisy.clamp(0, people as i64) as f64 / people as f64)
            };
            let round: Vec<(usize, f64)> = family.into_iter().map(|query| measure(query, bits)).collect();
            measured.push(fit::MeasuredRound::new(&self.queries, &round));
            // With this step the potential falls for every model (Hoeffding).
            fit::refit(&mut model, &measured, self.passes(), 4.0 / self.disjoint as f64);
        }
        model.iter_mut().for_each(|share| *share *= people as f64);
        Ok(model)
    }

    /// How often all measurements so far are used again after each round: that is free, and the model gains; but in a
    /// large domain it takes long.
    fn passes(&self) -> usize {
        let rounds = u64::from(self.rounds);
        let visits_of_one_pass = self.queries.domain().cells() as u64 * rounds * (rounds + 1) / 2;
        ((MOST_VISITS / visits_of_one_pass) as usize).clamp(1, MOST_PASSES)
    }

    /// |count − n·q(model)|, the model's answer rounded to a whole number: integers that one person moves by at most 1.
    fn scores(&self, exact: &[u64], model: &[f64], people: u64) -> Vec<u64> {
        let answers = self.queries.answers(model);
        let expected = answers.iter().map(|answer| (answer * people as f64).round().clamp(0.0, people as f64) as u64);
        exact.iter().zip(expected).map(|(&exact, expected)| exact.abs_diff(expected)).collect()
    }

    /// One choice among all queries. Of a family that is chosen together it is the least that is given away.
    fn said(&self, scores: &[u64]) -> Announcement {
        Announcement::scores(self.coefficient, (0u128..).zip(scores.iter().map(|score| -i128::from(*score))))
    }

    fn pick<S: BitSource + ?Sized>(&self, scores: &[u64], bits: &mut S) -> Result<Vec<usize>> {
        let coefficient = BigRational::from_float(self.coefficient).unwrap_or_else(BigRational::zero);
        let attributes = self.queries.attributes();
        if self.families == QueryFamilies::Joint {
            let weights = exponential_weights(scores, &coefficient);
            let all = self.queries.domain().all();
            let draw = |bits: &mut S| joint_family(all, &attributes, &weights, self.disjoint, bits);
            return Ok(tape::through(bits, || self.said(scores), draw));
        }
        let order = permutation::of(bits, self.queries.domain().attributes());
        let length = order.len().div_ceil(self.disjoint);
        let mut family = Vec::new();
        for block in order.chunks(length).map(Subset::of) {
            let inside: Vec<usize> = (0..scores.len()).filter(|&query| attributes[query].is_within(block)).collect();
            if !inside.is_empty() {
                let own: Vec<u64> = inside.iter().map(|&query| scores[query]).collect();
                let weights = exponential_weights(&own, &coefficient);
                let cells = |precision: Precision| ChoiceWeights { cells: weights(precision), beyond: BigUint::zero() };
                family.push(inside[tape::through(bits, || self.said(&own), |bits| choose(bits, cells))]);
            }
        }
        Ok(family)
    }
}

/// The most pairwise disjoint sets among `masks` inside `free`.
fn most_disjoint(free: Subset, masks: &[Subset], known: &mut HashMap<Subset, usize>) -> usize {
    let Some(first) = free.iter().next() else { return 0 };
    if let Some(&most) = known.get(&free) {
        return most;
    }
    let mut most = most_disjoint(free.without(Subset::of(&[first])), masks, known);
    for &mask in masks.iter().filter(|mask| mask.contains(first) && mask.is_within(free)) {
        most = most.max(1 + most_disjoint(free.without(mask), masks, known));
    }
    known.insert(free, most);
    most
}

/// Weights e^{−c(U − u)}, enclosed to any precision; U is the largest score, which cancels.
fn exponential_weights<'a>(
    scores: &'a [u64],
    coefficient: &'a BigRational,
) -> impl Fn(Precision) -> Vec<Enclosure> + 'a {
    let largest = scores.iter().copied().max().unwrap_or(0);
    move |precision| {
        let mut known: BTreeMap<u64, Enclosure> = BTreeMap::new();
        let mut weight = |score: u64| {
            let gap = largest - score;
            let enclose = || precision.exp_minus(&(coefficient * BigRational::from_integer(gap.into())));
            known.entry(gap).or_insert_with(enclose).clone()
        };
        scores.iter().map(|&score| weight(score)).collect()
    }
}

/// The weights of all queries, of all attribute sets, and of all families inside a set, at one precision.
struct QueryWeights {
    precision: Precision,
    queries: Vec<Enclosure>,
    sets: BTreeMap<Subset, Enclosure>,
    families: RefCell<HashMap<(Subset, usize), Enclosure>>,
}

impl QueryWeights {
    fn new(precision: Precision, attributes: &[Subset], queries: Vec<Enclosure>) -> Self {
        let mut sets: BTreeMap<Subset, Enclosure> = BTreeMap::new();
        for (&set, weight) in attributes.iter().zip(&queries) {
            let sum = sets.entry(set).or_insert_with(|| Enclosure { low: BigUint::zero(), high: BigUint::zero() });
            *sum = precision.plus(sum, weight);
        }
        Self { precision, queries, sets, families: RefCell::new(HashMap::new()) }
    }

    /// Σ over families of `number` disjoint queries inside `free` of the product of their weights.
    fn families(&self, free: Subset, number: usize) -> Enclosure {
        if number == 0 {
            let one = BigUint::one() << self.precision.bits;
            return Enclosure { low: one.clone(), high: one };
        }
        let Some(first) = free.iter().next() else {
            return Enclosure { low: BigUint::zero(), high: BigUint::zero() };
        };
        if let Some(known) = self.families.borrow().get(&(free, number)) {
            return known.clone();
        }
        let branches = self.branches(free, first, number);
        let zero = Enclosure { low: BigUint::zero(), high: BigUint::zero() };
        let sum = branches.iter().fold(zero, |sum, (_, branch)| self.precision.plus(&sum, branch));
        self.families.borrow_mut().insert((free, number), sum.clone());
        sum
    }

    /// Either the first free attribute is in no query, or it is in one of these sets; in a fixed order.
    fn branches(&self, free: Subset, first: usize, number: usize) -> Vec<(Option<Subset>, Enclosure)> {
        let mut branches = vec![(None, self.families(free.without(Subset::of(&[first])), number))];
        for (&set, weight) in self.sets.iter().filter(|(set, _)| set.contains(first) && set.is_within(free)) {
            let rest = self.families(free.without(set), number - 1);
            branches.push((Some(set), self.precision.times(weight, &rest)));
        }
        branches
    }
}

/// A family of `number` attribute-disjoint queries with probability exactly proportional to the product of their
/// weights.
///
/// Attributes are decided in order, so that each family has one history; each branch has its exact conditional
/// probability.
fn joint_family<S: BitSource + ?Sized>(
    all: Subset,
    attributes: &[Subset],
    weights: &dyn Fn(Precision) -> Vec<Enclosure>,
    number: usize,
    bits: &mut S,
) -> Vec<usize> {
    let last: RefCell<Option<Rc<QueryWeights>>> = RefCell::new(None);
    let table = |precision: Precision| -> Rc<QueryWeights> {
        let mut last = last.borrow_mut();
        match &*last {
            Some(table) if table.precision.bits == precision.bits => table.clone(),
            _ => {
                let table = Rc::new(QueryWeights::new(precision, attributes, weights(precision)));
                *last = Some(table.clone());
                table
            }
        }
    };
    let mut sets: Vec<Subset> = attributes.to_vec();
    sets.sort_unstable();
    sets.dedup();
    let (mut free, mut left, mut family) = (all, number, Vec::new());
    while left > 0 {
        let Some(first) = free.iter().next() else { return family };
        let branch = choose(bits, |precision| {
            let branches = table(precision).branches(free, first, left);
            ChoiceWeights { cells: branches.into_iter().map(|(_, weight)| weight).collect(), beyond: BigUint::zero() }
        });
        let chosen = sets.iter().filter(|set| set.contains(first) && set.is_within(free)).nth(branch.wrapping_sub(1));
        let Some(&set) = chosen.filter(|_| branch > 0) else {
            free = free.without(Subset::of(&[first]));
            continue;
        };
        let inside: Vec<usize> = (0..attributes.len()).filter(|&query| attributes[query] == set).collect();
        let query = choose(bits, |precision| {
            let table = table(precision);
            let cells = inside.iter().map(|&query| table.queries[query].clone()).collect();
            ChoiceWeights { cells, beyond: BigUint::zero() }
        });
        family.push(inside[query]);
        free = free.without(set);
        left -= 1;
    }
    family
}

#[cfg(test)]
mod tests;
