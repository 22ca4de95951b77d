//! Limits as entries hold them: written as numbers, read as numbers or as the words of ledgers up to version 6.

use super::{Budget, Limit, in_short, limit_words};
use crate::body::{LimitEntry, LimitsEntry};
use crate::field::Field;
use scumble::quantity::Exact;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Limits that a ledger holds. Two are the same if they say the same, in whichever form they were written.
#[derive(Debug, Clone, PartialEq)]
// A process holds one or two of these.
#[allow(clippy::large_enum_variant)]
pub enum HeldLimits {
    /// These.
    Known(Budget),
    /// Those of an entry whose form is not known here. They are in force too, and the same as nothing but themselves.
    Unknown(Value),
}

impl Default for HeldLimits {
    /// No limit at all.
    fn default() -> Self {
        Self::Known(Budget::default())
    }
}

impl HeldLimits {
    /// The limits, where their form is known.
    pub fn budget(&self) -> Option<&Budget> {
        match self {
            Self::Known(budget) => Some(budget),
            Self::Unknown(_) => None,
        }
    }

    /// As they are shown: each limit in words, null where there are none.
    pub fn shown(&self) -> Value {
        match self {
            Self::Known(budget) if *budget == Budget::default() => Value::Null,
            Self::Known(budget) => json!(ShownLimits::of(budget)),
            Self::Unknown(limits) => shortened(limits),
        }
    }

    /// Each limit as a sentence, with its scope; for an unknown form, the entries that are strings.
    pub fn lines(&self) -> Vec<(String, String)> {
        let shown = match self {
            Self::Known(budget) => ShownLimits::of(budget),
            // Of a list a struct would be read by its places.
            Self::Unknown(limits) if !limits.is_object() => ShownLimits::default(),
            Self::Unknown(limits) => ShownLimits::deserialize(shortened(limits)).unwrap_or_default(),
        };
        let ShownLimits { attributes, every_attribute, person, presence } = &shown;
        let whole = [("presence".to_string(), presence), ("person".to_string(), person)].into_iter();
        let attributes = attributes.get().into_iter().flatten().map(|(name, limit)| (name.clone(), limit));
        let all = whole.chain(attributes).chain([("each attribute".to_string(), every_attribute)]);
        all.filter_map(|(name, limit)| Some((name, limit.text()?))).collect()
    }

    /// As an entry holds them: null where there are none.
    pub(crate) fn entry(&self) -> Field<LimitsEntry> {
        match self {
            Self::Known(budget) if *budget == Budget::default() => Field::Null,
            Self::Known(budget) => Field::Here(LimitsEntry::of(budget)),
            Self::Unknown(limits) => Field::Strange(limits.clone()),
        }
    }

    /// What an entry holds, written by this version or another.
    pub(crate) fn read(limits: &Field<LimitsEntry>) -> Self {
        match limits {
            Field::Absent | Field::Null => Self::default(),
            Field::Here(limits) => limits.budget().map_or_else(|| Self::Unknown(json!(limits)), Self::Known),
            Field::Strange(limits) => Self::Unknown(limits.clone()),
        }
    }
}

impl LimitsEntry {
    fn of(budget: &Budget) -> Self {
        let one = |limit: &Option<Limit>| limit.as_ref().map(LimitEntry::of).into();
        let attributes = budget.attributes.iter();
        Self {
            attributes: attributes.map(|(name, limit)| (name.clone(), Field::Here(LimitEntry::of(limit)))).collect(),
            every_attribute: one(&budget.every_attribute),
            person: one(&budget.person),
            presence: one(&budget.presence),
        }
    }

    /// None where a limit is in a form that is not known here.
    fn budget(&self) -> Option<Budget> {
        let one = |field: &Field<LimitEntry>| if field.is_empty() { Some(None) } else { limit(field).map(Some) };
        let attributes = self.attributes.iter().map(|(name, field)| Some((name.clone(), limit(field)?)));
        Some(Budget {
            presence: one(&self.presence)?,
            person: one(&self.person)?,
            attributes: attributes.collect::<Option<_>>()?,
            every_attribute: one(&self.every_attribute)?,
        })
    }
}

impl LimitEntry {
    fn of(limit: &Limit) -> Self {
        let delta = limit.delta().to_string();
        match limit {
            Limit::Approximate { epsilon, .. } => Self::Approximate { delta, epsilon: epsilon.to_string() },
            Limit::Zcdp { rho, .. } => Self::Zcdp { delta, rho: rho.to_string() },
            Limit::Tcdp { rho, omega, .. } => Self::Tcdp { delta, omega: omega.to_string(), rho: rho.to_string() },
            Limit::Renyi { order, epsilon, .. } => {
                Self::Renyi { delta, epsilon: epsilon.to_string(), order: order.to_string() }
            }
        }
    }

    fn limit(&self) -> Option<Limit> {
        Some(match self {
            Self::Approximate { delta, epsilon } => {
                Limit::Approximate { epsilon: exact(epsilon)?, delta: exact(delta)? }
            }
            Self::Zcdp { delta, rho } => Limit::Zcdp { rho: exact(rho)?, delta: exact(delta)? },
            Self::Tcdp { delta, omega, rho } => {
                Limit::Tcdp { rho: exact(rho)?, omega: exact(omega)?, delta: exact(delta)? }
            }
            Self::Renyi { delta, epsilon, order } => {
                Limit::Renyi { order: exact(order)?, epsilon: exact(epsilon)?, delta: exact(delta)? }
            }
        })
    }
}

/// One limit, in numbers or in words.
fn limit(field: &Field<LimitEntry>) -> Option<Limit> {
    match field {
        Field::Here(entry) => entry.limit(),
        Field::Strange(Value::String(words)) => limit_of_words(words),
        _ => None,
    }
}

/// A limit from its words, as ledgers up to version 6 hold it: `epsilon 1 at delta 0.000000001`,
/// `rho 0.1 below omega 20 at delta 0`, `epsilon 1 at order 8 at delta 0`.
fn limit_of_words(text: &str) -> Option<Limit> {
    let words: Vec<&str> = text.split(' ').collect();
    Some(match words[..] {
        ["epsilon", epsilon, "at", "delta", delta] => {
            Limit::Approximate { epsilon: exact(epsilon)?, delta: exact(delta)? }
        }
        ["rho", rho, "at", "delta", delta] => Limit::Zcdp { rho: exact(rho)?, delta: exact(delta)? },
        ["rho", rho, "below", "omega", omega, "at", "delta", delta] => {
            Limit::Tcdp { rho: exact(rho)?, omega: exact(omega)?, delta: exact(delta)? }
        }
        ["epsilon", epsilon, "at", "order", order, "at", "delta", delta] => {
            Limit::Renyi { order: exact(order)?, epsilon: exact(epsilon)?, delta: exact(delta)? }
        }
        _ => return None,
    })
}

fn exact(text: &str) -> Option<Exact> {
    Exact::from_text(text).ok()
}

/// A budget by scope, each limit in words.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct ShownLimits {
    attributes: Field<BTreeMap<String, Field<String>>>,
    every_attribute: Field<String>,
    person: Field<String>,
    presence: Field<String>,
}

impl ShownLimits {
    fn of(budget: &Budget) -> Self {
        let one = |limit: &Option<Limit>| limit.as_ref().map(limit_words).into();
        let attributes = budget.attributes.iter();
        let attributes = attributes.map(|(name, limit)| (name.clone(), Field::Here(limit_words(limit))));
        Self {
            attributes: Field::Here(attributes.collect()),
            every_attribute: one(&budget.every_attribute),
            person: one(&budget.person),
            presence: one(&budget.presence),
        }
    }
}

/// Limits in another form, their texts in short.
fn shortened(limits: &Value) -> Value {
    match limits {
        Value::String(limit) => in_short(limit).into(),
        Value::Object(fields) => fields.iter().map(|(name, limit)| (name.clone(), shortened(limit))).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Exact {
        Exact::from_text(text).unwrap()
    }

    /// What an entry with these limits holds.
    fn read(limits: &Value) -> HeldLimits {
        HeldLimits::read(&Field::deserialize(limits).unwrap())
    }

    fn everywhere(limit: &Limit) -> Budget {
        let attributes = [("a b".to_string(), limit.clone())].into();
        Budget { presence: Some(limit.clone()), person: None, attributes, every_attribute: Some(limit.clone()) }
    }

    /// Each notion: the limit, its numbers as entries hold them, its words as older entries do, and as it is shown.
    fn limits() -> [(Limit, Value, &'static str, &'static str); 5] {
        let delta = || number("0.000000001");
        [
            (
                Limit::Approximate { epsilon: number("1.5"), delta: delta() },
                json!({ "epsilon": "1.5", "delta": "0.000000001" }),
                "epsilon 1.5 at delta 0.000000001",
                "epsilon 1.5 at delta 1e-9",
            ),
            (
                Limit::Zcdp { rho: number("0.1"), delta: Exact::zero() },
                json!({ "rho": "0.1", "delta": "0" }),
                "rho 0.1 at delta 0",
                "rho 0.1",
            ),
            (
                Limit::Tcdp { rho: number("0.1"), omega: number("20"), delta: delta() },
                json!({ "rho": "0.1", "omega": "20", "delta": "0.000000001" }),
                "rho 0.1 below omega 20 at delta 0.000000001",
                "rho 0.1 below omega 20 at delta 1e-9",
            ),
            (
                Limit::Renyi { order: number("8"), epsilon: number("1"), delta: Exact::zero() },
                json!({ "order": "8", "epsilon": "1", "delta": "0" }),
                "epsilon 1 at order 8 at delta 0",
                "epsilon 1 at order 8",
            ),
            // No decimal is this number, and no float that one.
            (
                Limit::Approximate { epsilon: number("1/3"), delta: number("0.1000000000000000000000000000001") },
                json!({ "epsilon": "1/3", "delta": "0.1000000000000000000000000000001" }),
                "epsilon 1/3 at delta 0.1000000000000000000000000000001",
                "epsilon 1/3 at delta 0.1000000000000000000000000000001",
            ),
        ]
    }

    #[test]
    fn a_limit_is_the_same_in_numbers_and_in_words() {
        for (limit, numbers, words, shown) in limits() {
            let budget = everywhere(&limit);
            let entry = |one: Value| {
                let attributes = json!({ "a b": one });
                json!({ "attributes": attributes, "every_attribute": one, "person": null, "presence": one })
            };
            assert_eq!(json!(budget.in_force().entry()), entry(numbers.clone()), "numbers are what is written");
            for form in [entry(numbers.clone()), entry(words.into())] {
                assert_eq!(read(&form), budget.in_force(), "{form}");
                assert_eq!(read(&form).shown(), entry(shown.into()), "{form}");
                let lines = ["presence", "a b", "each attribute"].map(|name| (name.to_string(), shown.to_string()));
                assert_eq!(read(&form).lines(), lines);
            }
        }
        assert_eq!(read(&Value::Null), HeldLimits::default());
        assert_eq!((json!(HeldLimits::default().entry()), HeldLimits::default().shown()), (Value::Null, Value::Null));
    }

    /// What is not known is kept as it stands there, and is nobody's limit.
    #[test]
    fn a_form_that_is_not_known_stays_as_it_is() {
        let limit = |limit: Value| json!({ "attributes": {}, "person": limit });
        for unknown in [
            json!({ "person": { "epsilon": "1", "delta": "0" } }),
            json!({ "person": "epsilon 1" }),
            json!({ "attributes": {}, "group": null }),
            json!([]),
            limit("epsilon 1".into()),
            limit("epsilon 1 at delta 0 at most".into()),
            limit(json!({ "epsilon": "1" })),
            limit(json!({ "epsilon": 1, "delta": "0" })),
            limit(json!({ "epsilon": "1", "rho": "1", "delta": "0" })),
            limit(json!({ "epsilon": "one", "delta": "0" })),
            limit(json!({ "epsilon": "1", "delta": "1e-9" })),
            limit(json!(["0", "1"])),
        ] {
            let held = read(&unknown);
            assert_eq!(held, HeldLimits::Unknown(unknown.clone()), "{unknown}");
            assert_eq!(json!(held.entry()), unknown);
            assert!(held.budget().is_none() && held != HeldLimits::default());
        }
        let words = read(&limit("epsilon 1".into()));
        assert_eq!(words.shown(), limit("epsilon 1".into()));
        assert_eq!(words.lines(), [("person".to_string(), "epsilon 1".to_string())]);
        assert!(HeldLimits::default().lines().is_empty() && read(&json!(["0"])).lines().is_empty());
    }
}
