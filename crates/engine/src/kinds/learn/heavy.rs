//! Points with one guarantee for each attribute: the combinations of values and label that many owners share are found
//! first, and the rule is what they say.
//!
//! [GKMS23], Theorem 31, with one change: the rule is made of what was found and of nothing else. (The paper compares
//! counts with the number of owners, which is not public here.) So the cost is that of the tree of heavy hitters, in
//! every scope.

use super::{ALPHA, LearnRequest, LearntRule, Promise, equals, plan};
use crate::error::Result;
use crate::kinds::heavy_hitters::{HeavyHittersRequest, fitted, found_from};
use crate::project::Cost;
use crate::release::output::{BETA, Cell};
use crate::release::plan::{AnalysedRequest, Analysis, Plan, Price};
use crate::release::price::allowance::Exceptions;
use crate::release::price::noise::Noise;
use scumble::event::Event;
use scumble::mechanism::heavy_hitters::{HeavyHitters, MOST_CANDIDATES, SuccinctHistogram, Tree};
use scumble::quantity::Beta;
use serde_json::{Value, json};
use std::rc::Rc;

/// The rule of the point that has most owners of label 1 beyond those of label 0, as far as both were found.
fn best(asked: &LearnRequest, found: &SuccinctHistogram) -> Option<Vec<u32>> {
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

/// How many mistakes the rule makes at most among up to a million owners, except with probability β, if some point w is
/// always right.
///
/// Of all candidates of the root no noise is beyond E, and what F owners share is found. A string that nobody has is
/// listed with at most F₀ + E, the floor and its noise; there are l labels, and one of them counts as 1. If w does not
/// win, it was not found, or at most F₀ + E beyond l − 1 strings that nobody has: so fewer than max(F, E + l(F₀ + E))
/// owners have it. What wins instead is a point of label 0, with F₀ + E at most for label 1, and so with at most
/// F₀ + lE owners that were found, and (l − 1)F that were not. Both together are wrong.
fn most_mistakes(tree: &Tree, labels: f64, beta: f64) -> Result<f64> {
    let (root, half) = (tree.root(), Beta::new(beta / 2.0)?);
    let noise = Noise::laplace(root.scale).maximum(MOST_CANDIDATES as f64, half);
    let found = tree.found_from(MANY_OWNERS, half) as f64;
    let floor = root.floor().max(0) as f64;
    let missed = found.max(noise + labels * (floor + noise));
    Ok(missed + floor + labels * noise + (labels - 1.0) * found)
}

/// How many owners are enough that the rule errs on at most a share α of the people they were drawn from: half of α for
/// the mistakes among the owners, half for what they do not tell of the others (a multiplicative Chernoff bound for
/// each point, as for chosen rules).
fn owners_needed(mistakes: f64, ln_points: f64, alpha: f64, beta: f64) -> f64 {
    (2.0 * mistakes / alpha).max(8.0 / alpha * (ln_points + (1.0 / beta).ln())).ceil()
}

/// As many owners as promises here are for.
const MANY_OWNERS: u64 = 1_000_000;

pub(crate) fn analysed(asked: LearnRequest) -> Result<AnalysedRequest> {
    let wanted = HeavyHittersRequest::balanced(&asked.attributes.sizes())?;
    Ok(AnalysedRequest::new(PointAnalysis { asked: Rc::new(asked), wanted }))
}

/// A point among those that many owners share.
struct PointAnalysis {
    asked: Rc<LearnRequest>,
    wanted: HeavyHittersRequest,
}

impl Analysis for PointAnalysis {
    /// And what each attribute was granted.
    type Mechanism = (HeavyHitters, Tree, Value);

    fn at(&self, cost: &Cost) -> Result<Price<Self::Mechanism>> {
        let attributes = &self.asked.attributes;
        let delta = cost.delta.clone().unwrap_or_else(scumble::quantity::Exact::zero);
        let (tree, events, granted) =
            fitted(&self.wanted, attributes, cost, super::KIND.name, delta, &Exceptions::none())?;
        let domains: Vec<u32> = attributes.sizes().iter().map(|size| size.unwrap_or(1)).collect();
        let finder = HeavyHitters::new(tree.clone(), domains)?;
        Ok(Price { events, mechanism: (finder, tree, granted) })
    }

    fn plan(self: Rc<Self>, (finder, tree, granted): Self::Mechanism, events: Vec<Event>) -> Result<Plan> {
        let asked = Rc::clone(&self.asked);
        let enough = found_from(&tree)?;
        let about = format!(
            "a point that {enough} or more owners with label 1 share, of up to a million owners, is considered with probability 95%"
        );
        let labels = finder.domains().last().map_or(2.0, |labels| f64::from(*labels));
        // And the rule that is never true.
        let points: f64 = asked.domain.iter().map(|values| (values.len() as f64).ln()).sum::<f64>() + 2f64.ln();
        let owners = owners_needed(most_mistakes(&tree, labels, BETA)?, points, ALPHA, BETA);
        let promise = Promise {
            about: about.clone(),
            notes: vec![match owners <= MANY_OWNERS as f64 {
                true => format!(
                    "If some point is always right, {owners} owners (up to a million) are enough to learn one that errs on at most 5% of the people they were drawn from, with probability 90%."
                ),
                false => "At this cost no number of owners up to a million is known to be enough for a point that errs on at most 5% of the people they were drawn from.".to_string(),
            }],
            rule: json!({ "concept": "points", "by": "heavy hitters", "threshold": tree.root().threshold, "scale": tree.root().scale.get(), "owners_for_5_percent": owners, "granted": granted }),
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
            let mut notes = vec![said.clone()];
            if found.is_cut {
                notes.push("So many combinations are shared by many owners that a list of them was cut: the rule is one of those that were left, and no number of owners is said to be enough.".to_string());
            }
            Ok(LearntRule { condition: Some(condition), notes })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::learn::tests::{asked, asked_at};
    use scumble::mechanism::heavy_hitters::{HeavyString, Node};
    use scumble::quantity::Delta;
    use scumble::scope::{AttributeSet, Scope};

    /// What was found is all that the rule is made of: most ones beyond zeros, never a missing value, never if nobody
    /// leads.
    #[test]
    fn the_rule_is_what_was_found() {
        let (asked, _) = asked("concept = \"point\"\ncolumns = [\"town\", \"member\"]\n");
        assert_eq!(asked.positive, 1);
        let string = |values: [u32; 3], count: i64| HeavyString { values: values.to_vec(), count };
        let found = |strings: Vec<HeavyString>| SuccinctHistogram { strings, threshold: 5, is_cut: false };
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

    /// One point of three columns is always right, and a tenth of the owners have it: of as many owners as are enough,
    /// 25 releases err on at most 5% of them nearly always (two in twenty may not; more than fifteen have a chance
    /// below 1e-9). And no noise within the bounds makes more mistakes than are said: the worst case, by hand.
    #[test]
    fn as_many_owners_as_are_said_are_enough() {
        let cost = "cost = { epsilon = 2, scope = \"attribute\" }";
        let fields = "concept = \"point\"\ncolumns = [\"town\", \"member\", \"age\"]\nmissing = \"never\"\n";
        let (asked, request) = asked_at(cost, fields);
        let sizes = asked.attributes.sizes();
        let wanted = HeavyHittersRequest::balanced(&sizes).unwrap();
        let none = scumble::quantity::Exact::zero();
        let (tree, ..) = fitted(&wanted, &asked.attributes, &request.cost, "learn", none, &Exceptions::none()).unwrap();
        let mistakes = most_mistakes(&tree, 2.0, BETA).unwrap();
        let owners = owners_needed(mistakes, 19f64.ln(), ALPHA, BETA) as usize;
        assert!((1000..40_000).contains(&owners), "{owners}");
        let finder = HeavyHitters::new(tree.clone(), sizes.iter().map(|size| size.unwrap()).collect()).unwrap();
        let of = |owner: usize| if owner.is_multiple_of(10) { 7 } else { owner * 5 % 18 };
        let column = |code: fn(usize) -> usize| (0..owners).map(|owner| code(of(owner)) as u32).collect::<Vec<u32>>();
        let columns = [column(|x| x / 6), column(|x| x / 3 % 2), column(|x| x % 3), column(|x| usize::from(x == 7))];
        let mut bits = scumble::noise::InsecureSeededSource::new(31);
        let mut wrong = 0;
        for _ in 0..25 {
            let found = finder.release(&columns, &mut bits).unwrap();
            wrong += usize::from(best(&asked, &found) != Some(vec![1, 0, 1]));
        }
        assert!(wrong <= 15, "{wrong}");
        // A point that one fewer have than are surely found, and another that wins by noise.
        let noise =
            Noise::laplace(tree.root().scale).maximum(MOST_CANDIDATES as f64, Beta::new(BETA / 2.0).unwrap()) as i64;
        let top = tree.root().floor() + noise;
        let string = |values: [u32; 4], count: i64| HeavyString { values: values.to_vec(), count };
        let right = noise + 2 * top - 1;
        let strings = vec![string([0, 0, 0, 1], top), string([1, 0, 1, 0], top), string([1, 0, 1, 1], right - noise)];
        let found = SuccinctHistogram { strings, threshold: tree.root().threshold, is_cut: false };
        assert_eq!(best(&asked, &found), Some(vec![0, 0, 0]));
        assert!(right as f64 <= mistakes);
    }

    /// Outcomes of a combination: not listed, or listed with a count so far above the threshold.
    const OUTCOMES: usize = 13;
    /// The four combinations of one bool column and the label, in their order.
    const COMBINATIONS: [[u32; 2]; 4] = [[0, 0], [0, 1], [1, 0], [1, 1]];

    /// The law of the outcomes of a combination that this many owners have: the count (or the floor, if that is more)
    /// and discrete Laplace noise. The last outcome has all that is beyond it.
    fn law(root: &Node, owners: i64) -> [f64; OUTCOMES] {
        let a = (-1.0 / root.scale.get()).exp();
        let from = owners.max(root.floor());
        let mut law = [0.0; OUTCOMES];
        for noise in -60..=60i64 {
            let above = (from + noise - root.threshold).clamp(0, OUTCOMES as i64 - 1);
            law[above as usize] += (1.0 - a) / (1.0 + a) * a.powi(noise.unsigned_abs() as i32);
        }
        law
    }

    /// Which rule each outcome of the four combinations is published as: a value of the column, or 2 for never.
    fn rules(asked: &LearnRequest, root: &Node) -> Vec<usize> {
        let rule = |mut outcome: usize| {
            let mut strings = Vec::new();
            for values in COMBINATIONS {
                let above = (outcome % OUTCOMES) as i64;
                outcome /= OUTCOMES;
                if above > 0 {
                    strings.push(HeavyString { values: values.to_vec(), count: root.threshold + above });
                }
            }
            best(asked, &SuccinctHistogram { strings, threshold: root.threshold, is_cut: false })
                .map_or(2, |point| point[0] as usize)
        };
        (0..OUTCOMES.pow(4)).map(rule).collect()
    }

    /// The probability of each of the three rules.
    fn published(rules: &[usize], root: &Node, owners: [i64; 4]) -> [f64; 3] {
        let laws = owners.map(|owners| law(root, owners));
        let mut found = [0.0; 3];
        for (outcome, rule) in rules.iter().enumerate() {
            let (low, high) = (outcome % (OUTCOMES * OUTCOMES), outcome / (OUTCOMES * OUTCOMES));
            found[*rule] +=
                laws[0][low % OUTCOMES] * laws[1][low / OUTCOMES] * laws[2][high % OUTCOMES] * laws[3][high / OUTCOMES];
        }
        found
    }

    /// The law of the published rule, of all outcomes of four combinations: it reveals no more than is charged about a
    /// change of the column, of the label or of both, or about an owner who comes or goes; and a charge that is 1%
    /// smaller would be too small. ε is large, because both noises at once are seen in 1 − 1/k of a rule's probability
    /// alone, where k is by how much the other combination leads.
    #[test]
    fn the_rule_costs_what_is_charged_and_one_percent_less_is_too_little() {
        let cost = "cost = { epsilon = 40, scope = \"attribute\" }";
        let (asked, request) = asked_at(cost, "concept = \"point\"\ncolumns = [\"member\"]\nmissing = \"never\"\n");
        let wanted = HeavyHittersRequest::balanced(&asked.attributes.sizes()).unwrap();
        let none = scumble::quantity::Exact::zero();
        let (tree, events, _) =
            fitted(&wanted, &asked.attributes, &request.cost, "learn", none, &Exceptions::none()).unwrap();
        assert_eq!((tree.nodes().len(), asked.attributes.sizes()), (1, vec![Some(2), Some(2)]));
        let (root, places) = (tree.root(), 0..4usize);
        let rules = rules(&asked, root);
        let numbers = [root.floor(), root.floor() + 1, root.threshold, root.threshold + 9];
        // By what changes: the column (1), the label (2), both, or presence (0).
        let mut worst = [0.0f64; 4];
        for (from, to) in places.clone().flat_map(|from| places.clone().map(move |to| (from, to))) {
            for (lost, gained) in numbers.iter().flat_map(|lost| numbers.iter().map(move |gained| (*lost, *gained))) {
                let mut owners = [0; 4];
                (owners[from], owners[to]) = (lost, gained);
                let mut neighbour = owners;
                neighbour[from] -= 1;
                neighbour[to] += i64::from(from != to);
                let (here, there) = (published(&rules, root, owners), published(&rules, root, neighbour));
                let changed = if from == to { 0 } else { from >> 1 ^ to >> 1 | (from ^ to) << 1 & 2 };
                for (p, q) in here.into_iter().zip(there) {
                    worst[changed] = worst[changed].max((p / q).ln().abs());
                }
            }
        }
        let names = |names: &[&str]| Scope::Attributes(AttributeSet::new(names.iter().copied()).unwrap());
        let scopes = [Scope::Presence, names(&["member"]), names(&["ill"]), Scope::Person];
        // A person may change in one attribute alone.
        worst[3] = worst.iter().copied().fold(0.0, f64::max);
        for (worst, scope) in worst.into_iter().zip(scopes) {
            let charged = scumble::Loss::of(&events, scope.clone()).unwrap().epsilon(Delta::new(0.0).unwrap()).upper;
            assert!(worst <= charged * (1.0 + 1e-9), "{scope}: {worst} is more than {charged}");
            assert!(worst > 0.99 * charged, "{scope}: {worst} would not show that {charged} is needed");
        }
    }
}
