//! What a ledger adds up to: spent and left in every scope, by release. The types here are what leaves the program as
//! JSON, with these names; `serde_json::Value` puts the fields into the order of their names.

use crate::budget::{Budget, Limit, Odometer, Sums, one_attribute};
use crate::error::{Error, Result};
use crate::ledger::{Charge, ChargeState};
use scumble::quantity::Exact;
use scumble::scope::{AttributeSet, Scope};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

pub mod planned;
mod whole;

/// The δ at which ε is shown where neither a budget nor the caller names one.
const USUAL_DELTA: &str = "0.000000001";

/// The rule by which the numbers were made, in words.
pub const RULE: &str =
    "adaptive filter: sums of pure epsilon and of zCDP rho over the ledger's whole life, with delta split beforehand";

/// What to tell about a ledger.
pub struct SummaryRequest<'a> {
    /// The limits.
    pub budget: &'a Budget,
    /// The project's attributes; those that the ledger names are added.
    pub attributes: &'a BTreeSet<String>,
    /// δ for all scopes, instead of each budget's own.
    pub delta: Option<Exact>,
    /// More attribute sets to answer for.
    pub sets: &'a [AttributeSet],
    /// Also answer for groups of this many owners.
    pub group: Option<NonZeroU32>,
}

/// What all charges add up to, with a sum for each of `sets`.
pub fn sums_of(charges: &[Charge], sets: &[AttributeSet]) -> Result<Sums> {
    let events = || charges.iter().map(|charge| charge.events.as_slice());
    let mut sums = Sums::of(events())?;
    sets.iter().try_for_each(|set| sums.ask(set, events()))?;
    Ok(sums)
}

/// Values for presence, for a person, and for each attribute or set of attributes, as far as they exist.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PerScope<T> {
    /// About an owner who is there or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence: Option<T>,
    /// About an owner who is replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person: Option<T>,
    /// About attributes, by their names with commas between them.
    pub attributes: BTreeMap<String, T>,
}

impl<T> Default for PerScope<T> {
    fn default() -> Self {
        Self { presence: None, person: None, attributes: BTreeMap::new() }
    }
}

impl<T> PerScope<T> {
    /// Says something about a scope; about a group, what is true of its members.
    pub fn insert(&mut self, scope: &Scope, said: T) {
        match scope {
            Scope::Presence => self.presence = Some(said),
            Scope::Person => self.person = Some(said),
            Scope::Attributes(set) => {
                self.attributes.insert(set.iter().collect::<Vec<_>>().join(","), said);
            }
            Scope::Group(member, _) => self.insert(member, said),
        }
    }

    /// The values of presence and person with their names, as far as they exist.
    pub fn whole(&self) -> impl Iterator<Item = (&'static str, &T)> {
        [("presence", &self.presence), ("person", &self.person)]
            .into_iter()
            .filter_map(|(name, said)| said.as_ref().map(|said| (name, said)))
    }
}

/// What something costs in one scope.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScopeCost {
    /// ε; none where there is none at this δ.
    pub epsilon: Option<f64>,
    /// The δ at which it holds.
    pub delta: f64,
    /// ρ of zCDP, where it holds without a δ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rho: Option<f64>,
    /// ρ that holds except with probability δ: beside key selection. That is no zCDP, and is not called so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approximate_zcdp: Option<ApproximateZcdp>,
}

/// A ρ that holds except with probability δ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ApproximateZcdp {
    /// ρ.
    pub rho: f64,
    /// δ.
    pub delta: f64,
}

/// What is left of a limit, in its own unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScopeLeft {
    /// ε that is left, where the limit is one of ε.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// ρ that is left, where the limit is one of ρ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rho: Option<f64>,
    /// The limit's δ.
    pub delta: f64,
    /// The limit's ω.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omega: Option<f64>,
    /// The limit's order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<f64>,
}

/// What a ledger adds up to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LedgerSummary {
    /// What was spent.
    #[serde(flatten)]
    pub spent: PerScope<ScopeCost>,
    /// The charges one by one.
    pub releases: Vec<ChargeCost>,
    /// What is left, where there is a limit.
    pub remaining: PerScope<ScopeLeft>,
    /// By which rule it was added up.
    pub rule: &'static str,
    /// What was spent about several owners at once, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<GroupCosts>,
}

/// One charge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChargeCost {
    /// Its entry.
    pub sequence: u64,
    /// When it was charged.
    pub time: String,
    /// The release.
    pub release: String,
    /// Its kind.
    pub kind: String,
    /// How far it came.
    pub state: ChargeOutcome,
    /// What it cost.
    #[serde(flatten)]
    pub spent: PerScope<ScopeCost>,
}

/// How far a charge came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ChargeOutcome {
    /// Its answer is published.
    Committed,
    /// It stays charged, and its answer may or may not have been seen.
    Interrupted,
}

impl ChargeOutcome {
    /// In one word, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// What was spent about several owners at once.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct GroupCosts {
    /// How many.
    pub size: NonZeroU32,
    /// What was spent.
    #[serde(flatten)]
    pub spent: PerScope<ScopeCost>,
}

/// What leaves the program as JSON: the fields in the order of their names.
pub fn document(shown: &impl Serialize) -> Result<Value> {
    serde_json::to_value(shown).map_err(|error| Error::machine(format!("this cannot be written as JSON ({error})")))
}

/// The summary. `sums` are those of all charges, with the question's sets; `charges` are those to be shown one by one,
/// which for groups must be all.
pub fn summary(charges: &[Charge], sums: &Sums, question: &SummaryRequest<'_>) -> Result<LedgerSummary> {
    let scopes = scopes(sums, question)?;
    let (mut whole, mut remaining) = (PerScope::default(), PerScope::default());
    for (scope, limit) in &scopes {
        let spent =
            sums.spent(scope).ok_or_else(|| Error::machine(format!("there is no sum for the scope {scope}")))?;
        whole.insert(scope, cost(spent, limit.as_ref(), question));
        if let Some(limit) = limit {
            remaining.insert(scope, left(spent, limit));
        }
    }
    Ok(LedgerSummary {
        spent: whole,
        releases: charges.iter().map(|charge| release(charge, &scopes, question)).collect::<Result<_>>()?,
        remaining,
        rule: RULE,
        groups: question.group.map(|size| groups(charges, &scopes, size, question)).transpose()?,
    })
}

/// What was spent about `size` owners at once, in each scope.
fn groups(
    charges: &[Charge],
    scopes: &[(Scope, Option<Limit>)],
    size: NonZeroU32,
    question: &SummaryRequest<'_>,
) -> Result<GroupCosts> {
    let mut shown = PerScope::default();
    for (scope, limit) in scopes {
        let (mut spent, group) = (Odometer::nothing(), scope.clone().group(size));
        for charge in charges {
            spent.add_all(&whole::for_groups(charge, scope)?, &group)?;
        }
        shown.insert(scope, cost(&spent, limit.as_ref(), question));
    }
    Ok(GroupCosts { size, spent: shown })
}

/// Presence, person, each attribute and each set asked for, with its limit if there is one.
fn scopes(sums: &Sums, question: &SummaryRequest<'_>) -> Result<Vec<(Scope, Option<Limit>)>> {
    let mut names = question.attributes.clone();
    names.extend(sums.attributes());
    let limits = question.budget.limits(&names)?;
    let limit = |scope: &Scope| limits.iter().find(|(other, _)| other == scope).map(|(_, limit)| limit.clone());
    let mut scopes = vec![Scope::Presence, Scope::Person];
    for name in &names {
        scopes.push(one_attribute(name)?);
    }
    scopes.extend(question.sets.iter().map(|set| Scope::Attributes(set.clone())));
    Ok(scopes.into_iter().map(|scope| (scope.clone(), limit(&scope))).collect())
}

/// The δ at which a scope is shown.
pub fn delta_for(limit: Option<&Limit>, question: &SummaryRequest<'_>) -> Exact {
    let usual = || USUAL_DELTA.parse().unwrap_or_else(|_| Exact::zero());
    let own = limit
        .map(Limit::delta)
        .filter(|delta| **delta > Exact::zero() || matches!(limit, Some(Limit::Approximate { .. })));
    question.delta.clone().or_else(|| own.cloned()).or_else(|| question.budget.smallest_delta()).unwrap_or_else(usual)
}

fn cost(spent: &Odometer, limit: Option<&Limit>, question: &SummaryRequest<'_>) -> ScopeCost {
    let mut delta = delta_for(limit, question);
    // Where nobody named a δ, it is one at which there is an ε.
    if let (None, None, Some(least)) = (limit, &question.delta, spent.least_delta()) {
        delta = delta.max(least);
    }
    let rho = spent.rho(&delta).map(|rho| rho.to_f64_up());
    let is_zcdp = *spent.delta() == Exact::zero();
    let approximate = |rho: f64| ApproximateZcdp { rho, delta: spent.delta().to_f64_up() };
    ScopeCost {
        epsilon: spent.epsilon(&delta).map(|epsilon| epsilon.to_f64_up()),
        delta: delta.to_f64(),
        rho: rho.filter(|_| is_zcdp),
        approximate_zcdp: rho.filter(|_| !is_zcdp).map(approximate),
    }
}

fn left(spent: &Odometer, limit: &Limit) -> ScopeLeft {
    let left = limit.measure(spent).map(|spent| {
        let left = limit.most().clone() - spent;
        if left.is_negative() { 0.0 } else { left.to_f64_down() }
    });
    let left = left.unwrap_or(0.0);
    let whole = ScopeLeft { epsilon: None, rho: None, delta: limit.delta().to_f64(), omega: None, order: None };
    match limit {
        Limit::Approximate { .. } => ScopeLeft { epsilon: Some(left), ..whole },
        Limit::Zcdp { .. } => ScopeLeft { rho: Some(left), ..whole },
        Limit::Tcdp { omega, .. } => ScopeLeft { rho: Some(left), omega: Some(omega.to_f64()), ..whole },
        Limit::Renyi { order, .. } => ScopeLeft { epsilon: Some(left), order: Some(order.to_f64()), ..whole },
    }
}

fn release(charge: &Charge, scopes: &[(Scope, Option<Limit>)], question: &SummaryRequest<'_>) -> Result<ChargeCost> {
    let mut spent = PerScope::default();
    for (scope, limit) in scopes {
        spent.insert(scope, cost(&Odometer::of(&charge.events, scope)?, limit.as_ref(), question));
    }
    Ok(ChargeCost {
        sequence: charge.sequence,
        time: charge.time.clone(),
        release: charge.release.clone(),
        kind: charge.kind.clone(),
        state: match charge.state {
            ChargeState::Committed(_) => ChargeOutcome::Committed,
            ChargeState::Reserved | ChargeState::Drawn => ChargeOutcome::Interrupted,
        },
        spent,
    })
}
