//! What is shown of the rule of a plan. A rule is each kind's own; these are the parts that several kinds have.

use crate::release::plan::Plan;
use crate::release::price::allowance::AttributeGrant;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// What it takes for a key to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyNeed {
    /// About this many owners more than the next key.
    Lead(u64),
    /// About this many owners.
    Owners(u64),
}

/// How keys are chosen: in the groupings of a query and in the queries of a union each by itself, in a tree of joins at
/// every node.
#[derive(Deserialize, Default)]
#[serde(default)]
struct KeyRule {
    #[serde(deserialize_with = "if_so")]
    keys: ChosenKeys,
    #[serde(deserialize_with = "if_so")]
    tree: Vec<TreeNode>,
    #[serde(deserialize_with = "if_so")]
    groupings: Vec<KeyRule>,
    #[serde(deserialize_with = "if_so")]
    union: Vec<KeyRule>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ChosenKeys {
    #[serde(deserialize_with = "if_so")]
    lead_for_95_percent: Option<u64>,
    #[serde(deserialize_with = "if_so")]
    owners_for_95_percent: Option<u64>,
    #[serde(deserialize_with = "if_so")]
    threshold: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct TreeNode {
    #[serde(deserialize_with = "if_so")]
    threshold: Option<f64>,
}

/// A part of a rule where it has this form: other kinds use the same word for something else.
fn if_so<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(T::deserialize(Value::deserialize(deserializer)?).unwrap_or_default())
}

impl KeyRule {
    /// Of several groupings or queries the one that needs most, of a tree of joins its largest threshold.
    fn owners(&self) -> Option<u64> {
        let own = self.keys.owners_for_95_percent.or(self.keys.threshold);
        let nodes = self.tree.iter().filter_map(|node| node.threshold).filter(|number| *number > 0.0);
        let parts = self.groupings.iter().chain(&self.union).filter_map(Self::owners);
        own.into_iter().chain(nodes.map(|number| number.ceil() as u64)).chain(parts).max()
    }
}

impl Plan {
    /// What it takes for a key to show, where keys are chosen.
    pub fn key_need(&self) -> Option<KeyNeed> {
        key_need(&self.rule)
    }

    /// What each attribute pays of what it was granted, where the cost is one per attribute.
    pub fn grants(&self) -> Vec<AttributeGrant> {
        Vec::deserialize(&self.rule["granted"]).unwrap_or_default()
    }
}

fn key_need(rule: &Value) -> Option<KeyNeed> {
    let rule = KeyRule::deserialize(rule).ok()?;
    rule.keys.lead_for_95_percent.map(KeyNeed::Lead).or_else(|| rule.owners().map(KeyNeed::Owners))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_part_that_needs_most_counts() {
        for (rule, need) in [
            (json!({ "keys": { "lead_for_95_percent": 4, "threshold": 9 } }), Some(KeyNeed::Lead(4))),
            (json!({ "keys": { "owners_for_95_percent": 12, "threshold": 9 } }), Some(KeyNeed::Owners(12))),
            (json!({ "keys": { "owners_for_95_percent": null, "threshold": 9 } }), Some(KeyNeed::Owners(9))),
            (json!({ "tree": [{ "threshold": 2.5 }, { "threshold": 0 }] }), Some(KeyNeed::Owners(3))),
            (
                json!({ "groupings": [{ "keys": { "threshold": 2 } }, {}], "union": [{ "tree": [{ "threshold": 7 }] }] }),
                Some(KeyNeed::Owners(7)),
            ),
            (json!({ "keys": ["a"], "tree": "joins", "groupings": 3 }), None),
            (json!({ "keys": { "threshold": 2.5 } }), None),
            (json!(null), None),
        ] {
            assert_eq!(key_need(&rule), need, "{rule}");
        }
    }
}
