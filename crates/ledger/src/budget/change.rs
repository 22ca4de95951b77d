//! How one budget differs from another.

use super::{Budget, Limit};
use scumble::quantity::Exact;
use std::collections::BTreeSet;

impl Budget {
    /// Whether anybody may lose more than before: a limit is higher, gone, or in another notion, which cannot be
    /// compared.
    pub fn allows_more_than(&self, before: &Self) -> bool {
        let more = |(_, old, new): &(String, Option<&Limit>, Option<&Limit>)| match (old, new) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(old), Some(new)) => {
                notion(old) != notion(new) || new.most() > old.most() || new.delta() > old.delta()
            }
        };
        self.beside(before).iter().any(more)
    }

    /// The first limit that is another than before, in words: (what it was, what it is).
    pub fn first_change(&self, before: &Self) -> Option<(String, String)> {
        let words = |name: &str, limit: Option<&Limit>| match limit {
            Some(limit) => format!("{name} {limit}"),
            None => format!("no limit for {name}"),
        };
        let all = self.beside(before).into_iter();
        let mut changed = all.filter(|(_, old, new)| old != new);
        changed.next().map(|(name, old, new)| (words(&name, old), words(&name, new)))
    }

    /// Each scope of the two with its limit before and now.
    fn beside<'a>(&'a self, before: &'a Self) -> Vec<(String, Option<&'a Limit>, Option<&'a Limit>)> {
        let mut all = vec![
            ("presence".to_string(), before.presence.as_ref(), self.presence.as_ref()),
            ("person".to_string(), before.person.as_ref(), self.person.as_ref()),
            ("each attribute".to_string(), before.every_attribute.as_ref(), self.every_attribute.as_ref()),
        ];
        let names: BTreeSet<&String> = before.attributes.keys().chain(self.attributes.keys()).collect();
        let of = |budget: &'a Self, name: &String| budget.attributes.get(name).or(budget.every_attribute.as_ref());
        all.extend(names.into_iter().map(|name| (name.clone(), of(before, name), of(self, name))));
        all
    }
}

/// What two limits must have in common to be compared.
fn notion(limit: &Limit) -> (u8, Option<&Exact>) {
    match limit {
        Limit::Approximate { .. } => (0, None),
        Limit::Zcdp { .. } => (1, None),
        Limit::Tcdp { omega, .. } => (2, Some(omega)),
        Limit::Renyi { order, .. } => (3, Some(order)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(text: &str) -> Exact {
        text.parse().unwrap()
    }

    fn person(epsilon: &str, delta: &str) -> Budget {
        let limit = Limit::Approximate { epsilon: exact(epsilon), delta: exact(delta) };
        Budget { person: Some(limit), ..Budget::default() }
    }

    #[test]
    fn more_is_more_for_anybody() {
        let one = person("1", "0");
        for (other, more) in [
            (person("1", "0"), false),
            (person("0.5", "0"), false),
            (person("2", "0"), true),
            (person("0.5", "1e-9"), true),
            (Budget::default(), true),
            (
                Budget { person: Some(Limit::Zcdp { rho: exact("0.01"), delta: Exact::zero() }), ..Budget::default() },
                true,
            ),
        ] {
            assert_eq!(other.allows_more_than(&one), more, "{other:?}");
        }
        assert!(!one.allows_more_than(&Budget::default()), "where there was no limit, one more takes nothing away");
        // An attribute without a limit of its own has that of all.
        let star = |own: &[(&str, &str)], all: &str| Budget {
            attributes: own
                .iter()
                .map(|(name, most)| {
                    (name.to_string(), Limit::Approximate { epsilon: exact(most), delta: Exact::zero() })
                })
                .collect(),
            every_attribute: Some(Limit::Approximate { epsilon: exact(all), delta: Exact::zero() }),
            ..Budget::default()
        };
        assert!(!star(&[("a", "1")], "2").allows_more_than(&star(&[], "2")));
        assert!(star(&[], "2").allows_more_than(&star(&[("a", "1")], "2")));
        let (old, new) = star(&[], "2").first_change(&star(&[("a", "1")], "2")).unwrap();
        assert!(old.starts_with("a ") && old.contains('1') && new.contains('2'), "{old} {new}");
    }
}
