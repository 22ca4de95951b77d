//! Budgets: what may be spent, in which notion, about whom; and the rule by which the ledger holds them over its whole
//! life.
//!
//! Releases are chosen one after the other, by people who have seen the earlier answers. The rule is therefore a
//! privacy *filter* (`docs/engineers/ledger-format.md`): sums of ε and of ρ against a fixed limit are valid when each
//! release's parameters depend on earlier answers [Rogers–Roth–Ullman–Vadhan 2016 for pure ε; Feldman–Zrnic 2021 for
//! Rényi and hence zCDP; Whitehouse–Ramdas–Rogers–Wu 2023 for events with a δ of their own, which share δ with the
//! others by a split that is fixed beforehand]; a privacy-loss distribution of the whole would not be.

mod change;
mod held;
mod sums;

pub use held::HeldLimits;
pub use scumble::loss::filter::{Limit, Odometer, own_share};
pub(crate) use sums::RULE;
pub use sums::Sums;

use crate::error::{Error, Result};
use scumble::event::Event;
use scumble::quantity::Exact;
use scumble::scope::{AttributeSet, Scope};
use std::collections::{BTreeMap, BTreeSet};

/// The limits of a project. Without any, the ledger only records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Budget {
    /// For one owner added or removed.
    pub presence: Option<Limit>,
    /// For one owner replaced.
    pub person: Option<Limit>,
    /// For single attributes.
    pub attributes: BTreeMap<String, Limit>,
    /// For each attribute that has no limit of its own (`"*"`).
    pub every_attribute: Option<Limit>,
}

impl Budget {
    /// Each scope that has a limit; `"*"` becomes one scope for each of `attributes` without its own.
    pub fn limits(&self, attributes: &BTreeSet<String>) -> Result<Vec<(Scope, Limit)>> {
        let mut limits = Vec::new();
        limits.extend(self.presence.clone().map(|limit| (Scope::Presence, limit)));
        limits.extend(self.person.clone().map(|limit| (Scope::Person, limit)));
        for (name, limit) in &self.attributes {
            limits.push((one_attribute(name)?, limit.clone()));
        }
        if let Some(limit) = &self.every_attribute {
            for name in attributes.iter().filter(|name| !self.attributes.contains_key(*name)) {
                limits.push((one_attribute(name)?, limit.clone()));
            }
        }
        Ok(limits)
    }

    /// The smallest δ of any limit, if one has a δ: what key selection may use a small part of.
    pub fn smallest_delta(&self) -> Option<Exact> {
        let all = self.presence.iter().chain(&self.person).chain(self.attributes.values()).chain(&self.every_attribute);
        all.map(Limit::delta).min().filter(|delta| **delta > Exact::zero()).cloned()
    }

    /// The first limit that `asked` on top of what has been charged would pass.
    ///
    /// # Guarantee
    /// If this is none for every prefix of a ledger, then the composition of everything in it, adaptively chosen, is
    /// within each limit, in each limit's scope (see [`Odometer::epsilon`] for the rule).
    pub fn first_refusal(&self, charged: &Sums, asked: &[Event]) -> Result<Option<Refusal>> {
        let mut attributes = attributes_of(asked);
        attributes.extend(charged.attributes());
        for (scope, limit) in self.limits(&attributes)? {
            let before = charged.spent(&scope).cloned();
            let before = before.ok_or_else(|| Error::machine(format!("there is no sum for the scope {scope}")))?;
            let mut after = before.clone();
            after.add_all(asked, &scope)?;
            // A release that costs this scope nothing is never refused on its account.
            if after != before && !limit.holds(&after) {
                let mut alone = Odometer::nothing();
                alone.add_all(asked, &scope)?;
                return Ok(Some(Refusal { scope, limit, before, alone }));
            }
        }
        Ok(None)
    }

    /// The limits as a ledger holds them.
    pub fn in_force(&self) -> HeldLimits {
        HeldLimits::Known(self.clone())
    }
}

/// A limit in words, with its δ exactly.
fn exactly(limit: &Limit) -> String {
    let more = match limit {
        Limit::Tcdp { omega, .. } => format!(" below omega {omega}"),
        Limit::Renyi { order, .. } => format!(" at order {order}"),
        Limit::Approximate { .. } | Limit::Zcdp { .. } => String::new(),
    };
    format!("{} {}{more} at delta {}", limit.word(), limit.most(), limit.delta())
}

/// A limit in words, as it is shown everywhere.
pub fn limit_words(limit: &Limit) -> String {
    in_short(&exactly(limit))
}

/// The words of a limit, which have every digit, with its numbers as they are shown everywhere else: 1e-9, 1e40, and no
/// delta where there is none.
fn in_short(limit: &str) -> String {
    let (rest, delta) = limit.rsplit_once(" at delta ").unwrap_or((limit, "0"));
    let mut words = rest.splitn(3, ' ');
    let word = words.next().unwrap_or_default();
    let most = words.next().map_or(String::new(), |most| format!(" {}", short_number(most)));
    let more = words.next().map_or(String::new(), |more| format!(" {more}"));
    let delta = if delta == "0" { String::new() } else { format!(" at delta {}", scientific(delta)) };
    format!("{word}{most}{more}{delta}")
}

/// A number that takes more room than this is shown in another way.
const LONGEST_NUMBER: usize = 12;

/// A limit's number: as it was given, or rounded down.
fn short_number(text: &str) -> String {
    if text.len() <= LONGEST_NUMBER {
        return text.to_string();
    }
    let short = scientific(text);
    if short.len() <= LONGEST_NUMBER {
        return short;
    }
    text.parse::<Exact>().map_or_else(|_| text.to_string(), |number| rounded_down(number.to_f64_down()))
}

/// The same number with an exponent; as it is where that would be another one.
fn scientific(text: &str) -> String {
    let short = text.parse::<f64>().map(|number| format!("{number:e}")).unwrap_or_default();
    let is_same = matches!((short.parse::<Exact>(), text.parse::<Exact>()), (Ok(short), Ok(exact)) if short == exact);
    if is_same { short } else { text.to_string() }
}

/// A delta as it is shown everywhere: 1e-9, and 0 where there is none.
pub fn shown_delta(delta: &Exact) -> String {
    let number = delta.to_f64();
    if number == 0.0 { "0".to_string() } else { format!("{number:e}") }
}

/// Why a charge does not fit.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// Who would lose too much.
    pub scope: Scope,
    /// The limit.
    pub limit: Limit,
    /// What has been spent.
    pub before: Odometer,
    /// What was asked.
    pub alone: Odometer,
}

impl Refusal {
    /// The sentence: the requested cost, what is left, in which scope, and the largest cost that would fit (in words).
    pub fn error(&self, release: &str, largest: &str) -> Error {
        let word = self.limit.word();
        let shown = |spent: &Odometer| match self.limit.measure(spent) {
            Some(number) => format!("{word} {}", rounded_up(number.to_f64_up())),
            None => format!("more than any {word} at delta {}", shown_delta(self.limit.delta())),
        };
        let left = self.limit.measure(&self.before).map(|spent| self.limit.most().clone() - spent);
        let left = left.filter(|left| !left.is_negative()).map_or(0.0, |left| left.to_f64_down());
        let own = self.before.delta().clone() + self.alone.delta().clone();
        let why = if matches!(self.limit, Limit::Approximate { .. }) && own > own_share(self.limit.delta()) {
            "; key selection may take a quarter of the budget's delta in all, and would take more"
        } else {
            ""
        };
        let sentence = format!(
            "in the scope {} it asks for {}, the budget is {}, {} is spent and {word} {} is left{why}; {largest}",
            self.scope,
            shown(&self.alone),
            limit_words(&self.limit),
            shown(&self.before),
            rounded_down(left),
        );
        Error::budget(format!("release '{release}' was refused and nothing was charged: {sentence}"))
    }
}

/// The attributes that some event's moves name.
pub fn attributes_of(events: &[Event]) -> BTreeSet<String> {
    let touches = events.iter().flat_map(|event| event.moves().parts().2);
    touches.flat_map(|touch| touch.attributes.iter().map(str::to_string)).collect()
}

/// The scope of one attribute.
pub fn one_attribute(name: &str) -> Result<Scope> {
    Ok(Scope::Attributes(AttributeSet::new([name])?))
}

/// One number looks the same everywhere: on the terminal, in sentences and in the report.
const DIGITS: usize = 6;

/// Six significant digits, never below the number.
pub fn rounded_up(value: f64) -> String {
    meant(value, value.next_down()).unwrap_or_else(|| scumble::quantity::rounded_up(value, DIGITS))
}

/// Six significant digits, never above the number.
pub fn rounded_down(value: f64) -> String {
    meant(value, value.next_up()).unwrap_or_else(|| scumble::quantity::rounded_down(value, DIGITS))
}

/// Exact numbers become an f64 by rounding to the next one; where its neighbour has few digits, that is the number
/// (0.3 is not 0.300001).
fn meant(value: f64, neighbour: f64) -> Option<String> {
    let short = scumble::quantity::rounded_up(neighbour, DIGITS);
    (value > 0.0 && short.parse() == Ok(neighbour)).then_some(short)
}

#[cfg(test)]
mod tests;
