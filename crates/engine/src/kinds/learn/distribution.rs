//! The distribution of some columns: how likely each combination of their values is among the owners.
//!
//! Noisy counts and a noisy number of owners ([`counting`]) become the nearest distribution
//! ([`scumble::learn::distribution`]), with the distance from the owners' own that is promised of it. That is [GKMS23],
//! Theorem 34, with two changes: the number of owners is measured, since it is not public here; and up to some number
//! of combinations every one of them has noise of its own, which a single attribute pays no more for than it would for
//! a tree of heavy hitters.

use super::class::digits;
use super::{ALPHA, LABEL, POSITIVE};
use crate::error::Result;
use crate::project::{Cost, Project, Request};
use crate::release::output::{AnswerColumn, Answers, BETA, Cell, Details};
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, PlanSource, Price};
use crate::release::price::needs;
use crate::release::rows::fields::private_table;
use crate::release::rows::records::{Attributes, Records};
use counting::{DistributionMechanism, KeyPlaces, NoisyDistribution};
use scumble::event::Event;
use scumble::learn::distribution::nearest;
use scumble::quantity::{Beta, rounded_up};
use serde_json::json;
use std::rc::Rc;

mod counting;

/// The names of the published columns.
const PUBLISHED: [&str; 2] = ["probability", "within"];
/// What JSON has beside the first of them.
const BESIDE: [&str; 2] = ["probability_error", "probability_interval"];
/// Digits of a promise.
const DIGITS: usize = 3;

/// The columns, and how many combinations of values they have.
struct DistributionDomain {
    attributes: Attributes,
    sizes: Vec<usize>,
    /// May be infinite.
    combinations: f64,
    public_owners: Option<u64>,
}

impl DistributionDomain {
    fn read(request: &Request, project: &Project) -> Result<Self> {
        let attributes = Attributes::new(request, project, false, &[PUBLISHED[0], PUBLISHED[1], BESIDE[0], BESIDE[1]])?;
        let sizes: Vec<usize> = attributes.sizes().iter().map(|size| size.unwrap_or(1) as usize).collect();
        let combinations = sizes.iter().map(|size| *size as f64).product();
        Ok(Self { attributes, sizes, combinations, public_owners: private_table(request, project)?.public_owners })
    }

    /// The number of combinations, for people.
    fn number(&self) -> String {
        match self.keys() {
            Some(keys) => keys.to_string(),
            None => format!("more than 2^{}", counting::MOST_KEY_BITS),
        }
    }

    /// The number of combinations, where they can be numbered.
    fn keys(&self) -> Option<u128> {
        let all = self.sizes.iter().try_fold(1u128, |keys, size| keys.checked_mul(*size as u128));
        all.filter(|keys| *keys <= 1 << counting::MOST_KEY_BITS)
    }

    /// See [`Plan::memory`]: every combination, where they are few enough to be counted one by one.
    fn memory(&self) -> u64 {
        self.attributes.memory_of_combinations(super::MOST_HELD, needs::LINE)
    }

    /// The number of a record's combination.
    fn key(&self, records: &Records, record: usize) -> u128 {
        let codes = self.sizes.iter().zip(&records.columns);
        codes.fold(0, |key, (size, column)| key * *size as u128 + u128::from(column[record]))
    }
}

pub(crate) fn analysed(request: &Request, project: &Project) -> Result<AnalysedRequest> {
    if LABEL.read(request)?.is_some() {
        let sentence = "a distribution predicts no label: leave 'label' out, or list its column among 'columns'";
        return Err(LABEL.error(request, sentence));
    }
    if POSITIVE.read(request)?.is_some() {
        return Err(POSITIVE.error(request, "'positive' is for a label, and a distribution has none: leave it out"));
    }
    Ok(AnalysedRequest::new(DistributionDomain::read(request, project)?))
}

impl Analysis for DistributionDomain {
    type Mechanism = DistributionMechanism;

    fn at(&self, cost: &Cost) -> Result<Price<DistributionMechanism>> {
        let mechanism = DistributionMechanism::within(cost, self)?;
        Ok(Price { events: mechanism.events.clone(), mechanism })
    }

    fn plan(self: Rc<Self>, counting: DistributionMechanism, events: Vec<Event>) -> Result<Plan> {
        let enough = counting.off.people_needed(ALPHA, Beta::new(BETA)?)?;
        let wide = rounded_up(counting.off.above + counting.off.below + counting.off.people, DIGITS);
        let condition = counting.condition();
        let promised = match self.public_owners {
            Some(owners) => rounded_up(counting.off.each(owners as f64), DIGITS),
            None => format!("{wide} divided by the number of owners that is published beside"),
        };
        let about = format!(
            "{} combinations, {}; with probability 95% no probability is off by more than {promised}{condition}",
            self.number(),
            counting.called(),
        );
        let mut notes = vec![format!(
            "{enough} owners suffice: no probability is then more than 0.05 off that of the people they were drawn from, with probability 90%{condition}."
        )];
        notes.extend(self.public_owners.map(|owners| {
            format!("Probabilities are shares of the declared public_owners = {owners}: if that is wrong, what is promised of them does not hold.")
        }));
        let mut rule = json!({ "concept": "distribution", "combinations": self.number(), "counts_off": wide, "owners_for_5_percent": enough });
        counting.tell(&mut rule);
        rule["records"] = self.attributes.rule();
        let source = PlanSource::records(&self.attributes).holding(self.memory());
        let (expected, promised) = (vec![ExpectedError::new(PUBLISHED[0], None, about)], notes.clone());
        let plan = Plan::new(source, events, rule, expected, move |charged| {
            let records = charged.read(&self.attributes)?;
            let noisy = counting.count(&self, &records, charged.bits())?;
            let learnt = LearntDistribution::of(&self, &counting, &noisy);
            Ok(learnt.answers(&self, &counting, &records.values, promised.clone()))
        });
        Ok(Plan { notes, ..plan })
    }
}

/// The distribution, and what is promised of it.
#[derive(Debug, PartialEq)]
struct LearntDistribution {
    /// The combinations that are listed, the likeliest first.
    listed: Vec<(Vec<usize>, f64)>,
    /// The probability of each other one.
    other: f64,
    owners: f64,
    /// No probability is off by more.
    within: f64,
    /// The squares of what they are off by add up to no more.
    squared: f64,
    is_cut: bool,
}

impl LearntDistribution {
    /// A function of noisy numbers and of what is public.
    fn of(domain: &DistributionDomain, counting: &DistributionMechanism, noisy: &NoisyDistribution) -> Self {
        let (probabilities, other) = nearest(&noisy.counts, noisy.owners, domain.combinations);
        let codes = |place: usize| match &noisy.places {
            KeyPlaces::All => digits(&domain.sizes, place as u128),
            KeyPlaces::Listed(listed) => listed[place].clone(),
        };
        let likely = probabilities.into_iter().enumerate().filter(|(_, probability)| *probability > 0.0);
        let mut listed: Vec<(Vec<usize>, f64)> =
            likely.map(|(place, probability)| (codes(place), probability)).collect();
        listed.sort_by(|left, right| right.1.total_cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
        // Never below the bound.
        let up = |bound: f64| rounded_up(bound, DIGITS).parse().unwrap_or(bound);
        let (within, squared) = match noisy.is_cut {
            true => (1.0, 2.0),
            false => (up(counting.off.each(noisy.owners)), up(counting.off.squared(noisy.owners))),
        };
        Self { listed, other, owners: noisy.owners, within, squared, is_cut: noisy.is_cut }
    }

    fn answers(
        self,
        domain: &DistributionDomain,
        counting: &DistributionMechanism,
        values: &[Vec<Cell>],
        promised: Vec<String>,
    ) -> Answers {
        let named = |(attribute, name): (usize, &String)| {
            let cell = |codes: &Vec<usize>| values[attribute].get(codes[attribute]).cloned().unwrap_or(Cell::Null);
            AnswerColumn::plain(name, self.listed.iter().map(|(codes, _)| cell(codes)))
        };
        let mut columns: Vec<AnswerColumn> = domain.attributes.names().iter().enumerate().map(named).collect();
        let likely = self.listed.iter().map(|(_, probability)| Cell::Number(*probability));
        columns.push(AnswerColumn::of_unknown_error(PUBLISHED[0], likely));
        columns.push(AnswerColumn::plain(PUBLISHED[1], vec![Cell::Number(self.within); self.listed.len()]));
        let mut details = Details::default();
        details.facts.insert(
            "distribution".to_string(),
            json!({ "owners": self.owners, "combinations": domain.number(), "listed": self.listed.len(), "other": self.other,
                    "within": self.within, "squared_distance": self.squared, "confidence": 1.0 - BETA }),
        );
        let mut notes = self.said(domain, counting);
        notes.extend(promised);
        notes.extend(domain.attributes.note());
        Answers { columns, notes, details }
    }

    /// What a reader should know.
    fn said(&self, domain: &DistributionDomain, counting: &DistributionMechanism) -> Vec<String> {
        let (within, squared, owners, condition) = (self.within, self.squared, self.owners, counting.condition());
        let other = rounded_up(self.other, DIGITS);
        let mut said = vec![format!(
            "The distribution that is nearest to noisy counts of {} combinations, {}; each one that is not listed has the probability {other}. All of it adds up to 1.",
            domain.number(),
            counting.called(),
        )];
        said.push(match (self.is_cut, within < 1.0) {
            (true, _) => "So many combinations are shared by many owners that a list of them was cut: what is missing may be as likely as what is listed, and no distance is promised. Take fewer columns, or coarser ones.".to_string(),
            (_, true) => format!(
                "With probability 95% no probability is more than {within} off the share of the owners whose counted record is the combination, and the squares of all that they are off by add up to at most {squared}{condition}. The number of owners is taken to be {owners}."
            ),
            (_, false) => format!(
                "Nothing is promised of these probabilities: {owners} owners, as they are counted here, are too few at this cost."
            ),
        });
        said
    }
}

#[cfg(test)]
mod tests;
