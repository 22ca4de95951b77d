//! What is read, what is chosen from, and what it costs.

use super::super::tests::asked_at;
use super::*;
use crate::budget::{Odometer, one_attribute};
use crate::kinds::learn::class;
use scumble::scope::Scope;

const FIELDS: &str = "concept = \"robust-halfspace\"\ncolumns = [\"member\"]\n";

/// The rules are those of the concept `halfspace`; what is missing is not true, as in the rule that is published.
#[test]
fn records_are_signs_and_rules_are_halfspaces() {
    let (asked, request) = asked_at("cost = { epsilon = 1, scope = \"attribute\" }", FIELDS);
    assert_eq!(distinct_halfspaces(1).unwrap().len(), class::halfspaces(&asked, &request).unwrap().rules);
    assert_eq!(distinct_halfspaces(1).unwrap().len(), 4);
    let records = Records { columns: vec![vec![0, 1, 2, 1], vec![1, 0, 2, 1]], values: Vec::new() };
    let (points, labels) = signs(&asked, &records);
    assert_eq!((points.concat(), labels), (vec![-1, 1, -1, 1], vec![1, -1, -1, 1]));
}

/// Each column and the label pay what they may and hardly less, one by one; both together and a whole person the sum,
/// and presence half of what all columns cost.
#[test]
fn each_attribute_pays_its_own() {
    for (costs, column, label) in [
        ("", 0.7, 0.7),
        ("attribute_costs = { ill = 2 }\n", 0.7, 2.0),
        ("attribute_costs = { member = 0.1 }\n", 0.1, 0.7),
    ] {
        let (asked, request) = asked_at("cost = { epsilon = 0.7, scope = \"attribute\" }", &format!("{FIELDS}{costs}"));
        let exceptions = Exceptions::read(&request, asked.attributes.names()).unwrap();
        let (_, events, granted) =
            fitted(&asked, &request.cost, &exceptions, 1, &distinct_halfspaces(1).unwrap()).unwrap();
        let pays = |scope: &Scope| Odometer::of(&events, scope).unwrap().pure_sum().unwrap().to_f64();
        let single = |name: &str| pays(&one_attribute(name).unwrap());
        assert!(single("member") <= column && single("member") > 0.9999 * column, "{costs} {granted}");
        assert!(single("ill") <= label && single("ill") > 0.9999 * label, "{costs} {granted}");
        let both = Scope::Attributes(AttributeSet::new(["member", "ill"]).unwrap());
        for scope in [both, Scope::Person] {
            assert!((pays(&scope) - single("member") - single("ill")).abs() < 1e-9, "{scope}");
        }
        // One flip: all columns together cost what one does, and somebody who comes or goes half of that.
        assert!((pays(&Scope::Presence) - column / 2.0).abs() < 1e-9);
    }
}
