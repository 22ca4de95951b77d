//! Points with one guarantee for each attribute: the combinations of values and label that many owners share are found first, and the rule is what they say.
//!
//! [GKMS23], Theorem 31, with one change: the rule is made of what was found and of nothing else. (The paper compares counts with the number of owners, which
//! is not public here.) So the cost is that of the tree of heavy hitters, in every scope.

use super::{Asked, Learnt, Promise, equals, plan};
use crate::error::Result;
use crate::release::allowance::Exceptions;
use crate::release::heavy_hitters::{Wanted, fitted, found_from};
use crate::release::output::Cell;
use crate::release::{Analysed, Priced};
use scumble::mechanism::heavy_hitters::{Found, HeavyHitters};
use serde_json::json;
use std::rc::Rc;

/// The rule of the point that has most owners of label 1 beyond those of label 0, as far as both were found.
fn best(asked: &Asked, found: &Found) -> Option<Vec<u32>> {
    let columns = asked.domain.len();
    let is_whole = |values: &[u32]| {
        values
            .iter()
            .zip(&asked.domain)
            .all(|(code, values)| values.get(*code as usize).is_some_and(|cell| *cell != Cell::Null))
    };
    let label = |values: &[u32]| values[columns] == asked.positive;
    let others = |point: &[u32]| -> i64 {
        let same = found.strings.iter().filter(|string| string.values[..columns] == *point && !label(&string.values));
        same.map(|string| string.count).sum()
    };
    let points = found.strings.iter().filter(|string| label(&string.values) && is_whole(&string.values[..columns]));
    let lead = points.map(|string| (string.count - others(&string.values[..columns]), &string.values[..columns]));
    // Of equal ones the first.
    let best = lead.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|(lead, _)| *lead > 0).map(|(_, point)| point.to_vec())
}

pub(super) fn analysed(asked: Asked) -> Result<Analysed> {
    let sizes = asked.attributes.sizes();
    let wanted = Wanted::balanced(&sizes)?;
    let none = Exceptions::none();
    let asked = Rc::new(asked);
    Ok(Analysed::new(move |cost| {
        let delta = cost.delta.clone().unwrap_or_else(scumble::quantity::Exact::zero);
        let (tree, events, granted) = fitted(&wanted, &asked.attributes, cost, super::KIND.name, delta, &none)?;
        let domains: Vec<u32> = sizes.iter().map(|size| size.unwrap_or(1)).collect();
        let finder = HeavyHitters::new(tree.clone(), domains)?;
        let asked = Rc::clone(&asked);
        Ok(Priced::new(events, move |events| {
            let enough = found_from(&tree)?;
            let about = format!(
                "a point that {enough} or more owners with label 1 share, of up to a million owners, is considered with probability 95%"
            );
            let promise = Promise {
                about: about.clone(),
                notes: Vec::new(),
                rule: json!({ "concept": "points", "by": "heavy hitters", "threshold": tree.root().threshold, "scale": tree.root().scale.get(), "granted": granted }),
            };
            let said = format!(
                "The point with most owners of label 1 beyond those of label 0 among the combinations that were found, or never if there is none: {about}."
            );
            plan(asked.clone(), promise, events, move |records, bits| {
                let found = finder.release(&records.columns, bits)?;
                let condition = match best(&asked, &found) {
                    None => "FALSE".to_string(),
                    Some(point) => {
                        let parts = point.iter().zip(asked.columns()).zip(&asked.domain);
                        let parts = parts.map(|((code, name), values)| equals(name, values, &values[*code as usize]));
                        parts.collect::<Vec<_>>().join(" AND ")
                    }
                };
                Ok(Learnt { condition: Some(condition), notes: vec![said.clone()] })
            })
        }))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::learn::tests::asked;
    use scumble::mechanism::heavy_hitters::HeavyString;

    /// What was found is all that the rule is made of: most ones beyond zeros, never a missing value, never if nobody leads.
    #[test]
    fn the_rule_is_what_was_found() {
        let (asked, _) = asked("concept = \"point\"\ncolumns = [\"town\", \"member\"]\n");
        assert_eq!(asked.positive, 1);
        let string = |values: [u32; 3], count: i64| HeavyString { values: values.to_vec(), count };
        let found = |strings: Vec<HeavyString>| Found { strings, threshold: 5 };
        let (a, b) = ([0, 1, 1], [2, 0, 1]);
        assert_eq!(best(&asked, &found(vec![string(a, 30), string(b, 20)])), Some(vec![0, 1]));
        // Those with the label 0 count against a point.
        let strings = vec![string([0, 1, 0], 29), string(a, 30), string(b, 20)];
        assert_eq!(best(&asked, &found(strings)), Some(vec![2, 0]));
        assert_eq!(best(&asked, &found(vec![string([0, 1, 0], 31), string(a, 30)])), None);
        // Code 3 of town is a missing value.
        assert_eq!(best(&asked, &found(vec![string([3, 1, 1], 90)])), None);
        assert_eq!(best(&asked, &found(Vec::new())), None);
    }
}
