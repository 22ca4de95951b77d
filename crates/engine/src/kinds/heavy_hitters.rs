//! Kind `heavy-hitters`: the combinations of values that many people share, with one guarantee per attribute.

use super::sql::passed::ThresholdEvidence;
use crate::budget::own_share;
use crate::error::{Error, Result};
use crate::project::{Cost, Goal, Project, Request};
use crate::release::field::{Field, PlacedValue, Word};
use crate::release::output::{AnswerColumn, Answers, BETA, Cell, Details, Uncertainty};
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, PlanSource, Price};
use crate::release::price::allowance::{ATTRIBUTE_COSTS, Allowance, Exceptions, any_attribute_as_person};
use crate::release::price::noise::Noise;
use crate::release::rows::records;
use crate::release::rows::records::{Attributes, Records};
use crate::release::{CostAbout, Grouping, Kind};
use scumble::calibrate::{StopRule, halve};
use scumble::event::Event;
use scumble::mechanism::heavy_hitters::{HeavyHitters, JoinShape, SuccinctHistogram, ThresholdRule, Tree};
use scumble::noise::tape::{self, Announcement};
use scumble::quantity::{Beta, Delta, Epsilon, Exact};
use serde_json::{Value, json};
use std::rc::Rc;

const THRESHOLD: Field<Option<PlacedValue<u64>>> =
    Field::new("threshold", "the smallest count of interest; never below what the cost allows");
const SHAPE: Field<Option<TreeShape>> = Field::new(
    "shape",
    "`balanced` (the default, best for single attributes) or `caterpillar` (best for a whole person)",
);

#[derive(Clone, Copy)]
enum TreeShape {
    Balanced,
    Caterpillar,
}

impl Word for TreeShape {
    const WORDS: &'static [(&'static str, Self)] = &[("balanced", Self::Balanced), ("caterpillar", Self::Caterpillar)];

    fn unknown(_: &str) -> String {
        "the shape of the tree is 'balanced' or 'caterpillar'".to_string()
    }
}

/// Attributes with more values get a threshold of their own before they are combined with others.
const MOST_COMBINED: u32 = 256;
/// For "found with probability 95%": of how many people.
const MANY_PEOPLE: u64 = 1_000_000;

/// The kind `heavy-hitters`.
pub(crate) static KIND: Kind = Kind {
    name: "heavy-hitters",
    about: "the combinations of values that many owners share, with noisy counts; protects each attribute far better than the whole owner",
    fields: &[
        records::FIELDS[0],
        records::FIELDS[1],
        THRESHOLD.listed(),
        SHAPE.listed(),
        ATTRIBUTE_COSTS.listed(),
        records::FIELDS[2],
        records::FIELDS[3],
    ],
    cost_about: CostAbout::OwnersOrAttributes,
    analyse,
    grouping: Grouping::OneTree,
    ..Kind::COMMON
};

fn analyse(request: &Request, project: &Project) -> Result<AnalysedRequest> {
    let attributes = Attributes::new(request, project, true, &["count", "count_error", "count_interval"])?;
    let sizes = attributes.sizes();
    let wanted = HeavyHittersRequest::read(request, &sizes)?;
    let exceptions = Exceptions::read(request, attributes.names())?;
    let budget_delta = project.budget.smallest_delta();
    Ok(AnalysedRequest::new(HeavyHittersAnalysis { attributes, wanted, exceptions, budget_delta }))
}

/// The combinations of values that many owners share.
struct HeavyHittersAnalysis {
    attributes: Attributes,
    wanted: HeavyHittersRequest,
    exceptions: Exceptions,
    budget_delta: Option<Exact>,
}

impl Analysis for HeavyHittersAnalysis {
    /// And what each attribute was granted.
    type Mechanism = (Tree, Value);

    fn at(&self, cost: &Cost) -> Result<Price<Self::Mechanism>> {
        let Self { attributes, wanted, exceptions, budget_delta } = self;
        let delta = delta_of(cost, budget_delta.clone(), !wanted.unknown.is_empty())?;
        let (tree, events, granted) = fitted(wanted, attributes, cost, KIND.name, delta, exceptions)?;
        // Unknown domains have a threshold of their own, whatever their size: all else can be checked without data.
        let sizes = attributes.sizes();
        HeavyHitters::new(tree.clone(), sizes.iter().map(|size| size.unwrap_or(1)).collect())?;
        Ok(Price { events, mechanism: (tree, granted) })
    }

    fn plan(self: Rc<Self>, (tree, granted): Self::Mechanism, events: Vec<Event>) -> Result<Plan> {
        let noise = Noise::laplace(tree.root().scale);
        let found_from = found_from(&tree)?;
        let about = format!(
            "the same for every listed combination; what {found_from} or more of a million people share is listed with probability 95%"
        );
        let expected = ExpectedError::new("count", Some(noise.standard_deviation()), about);
        let expected = vec![expected.with_margin(noise.quantile(BETA))];
        let (source, rule) = (PlanSource::records(&self.attributes), rule(&self.attributes, &tree, granted));
        Ok(Plan::new(source, events, rule, expected, move |charged| {
            let attributes = &self.attributes;
            let records = charged.read(attributes)?;
            let domains =
                records.values.iter().map(|values| u32::try_from(values.len()).unwrap_or(u32::MAX - 1).max(1));
            let finder = HeavyHitters::new(tree.clone(), domains.collect())?;
            let root = tree.root();
            let listed = ListingRule { noise: &noise, threshold: root.threshold, clip: root.clip };
            // Codes of values that nobody knows beforehand depend on which there are.
            let (threshold, is_cut, columns) = tape::through_result(
                charged.bits(),
                || said(&records),
                |bits| {
                    let found = finder.release(&records.columns, bits)?;
                    let (threshold, is_cut) = (found.threshold, found.is_cut);
                    Ok::<_, Error>((threshold, is_cut, columns(attributes.names(), &records, found, &listed)))
                },
            )?;
            let mut notes = vec![format!(
                "Combinations with a noisy count above {} are listed; one that at least {found_from} people share is \
                    missing with probability at most 5%, if there are no more than a million people.",
                threshold
            )];
            if is_cut {
                notes.push(
                    "A list of candidates reached its largest length: combinations may be missing, however \
                    many people share them. Ask for fewer columns, or raise the cost."
                        .to_string(),
                );
            }
            notes.extend(attributes.note());
            Ok(Answers { columns, notes, details: Details::default() })
        }))
    }
}

/// The tree with the least noise that the cost allows to a release of `kind`, its events, and what each attribute was
/// granted.
pub(crate) fn fitted(
    wanted: &HeavyHittersRequest,
    attributes: &Attributes,
    cost: &Cost,
    kind: &str,
    delta: Exact,
    exceptions: &Exceptions,
) -> Result<(Tree, Vec<Event>, Value)> {
    let design = Design::new(wanted, &attributes.sizes(), cost, &delta)?;
    let allowance = Allowance::of(cost, kind, attributes.names(), delta, exceptions)?;
    let search = Search { design, allowance, attributes };
    let tree = search.run()?;
    let events = search.events(&tree)?;
    let granted = search.allowance.granted(&events)?;
    Ok((tree, events, granted))
}

/// How many of a million people must share a combination so that it is found with probability 95%.
pub(crate) fn found_from(tree: &Tree) -> Result<u64> {
    Ok(tree.found_from(MANY_PEOPLE, Beta::new(BETA)?))
}

/// δ of the cost; where there is none and a domain is unknown, a hundredth of the smallest budget's, as for keys of a
/// GROUP BY.
fn delta_of(cost: &Cost, budget_delta: Option<Exact>, is_needed: bool) -> Result<Exact> {
    match (&cost.delta, budget_delta) {
        (Some(delta), _) => Ok(delta.clone()),
        (None, _) if !is_needed => Ok(Exact::zero()),
        (None, Some(delta)) => Ok(Exact::from_f64(delta.to_f64_down() / 100.0)?),
        (None, None) => Err(Error::input(
            "a column's values are not public, which needs a delta: write cost = { epsilon = …, delta = 1e-9 }, give the budget a delta, or declare the column's values",
        )),
    }
}

/// The tree that a request asks for.
pub(crate) struct HeavyHittersRequest {
    shape: JoinShape,
    threshold: i64,
    /// The attributes whose values are not public.
    unknown: Vec<usize>,
}

impl HeavyHittersRequest {
    fn read(request: &Request, sizes: &[Option<u32>]) -> Result<Self> {
        let number = sizes.len();
        let shape = match SHAPE.read(request)?.unwrap_or(TreeShape::Balanced) {
            TreeShape::Balanced => JoinShape::balanced(number)?,
            TreeShape::Caterpillar => JoinShape::caterpillar(number)?,
        };
        let threshold = match THRESHOLD.read(request)? {
            None => 0,
            Some(wanted) => i64::try_from(wanted.value)
                .ok()
                .filter(|threshold| *threshold < 1 << 50)
                .ok_or_else(|| wanted.error("the threshold is out of range"))?,
        };
        Ok(Self::of(&shape, sizes, threshold))
    }

    /// A balanced tree with the lowest threshold that the cost allows.
    pub fn balanced(sizes: &[Option<u32>]) -> Result<Self> {
        Ok(Self::of(&JoinShape::balanced(sizes.len())?, sizes, 0))
    }

    fn of(shape: &JoinShape, sizes: &[Option<u32>], threshold: i64) -> Self {
        let large = |size: Option<u32>| size.is_none_or(|size| size > MOST_COMBINED);
        let alone: Vec<usize> = (0..sizes.len()).filter(|&j| large(sizes[j])).collect();
        let unknown = (0..sizes.len()).filter(|&j| sizes[j].is_none()).collect();
        Self { shape: shape.with_thresholds_above(&alone), threshold, unknown }
    }
}

/// Everything about the tree that does not depend on how much noise there is.
struct Design {
    shape: JoinShape,
    rule: ThresholdRule,
    wanted_threshold: i64,
}

impl Design {
    fn new(wanted: &HeavyHittersRequest, sizes: &[Option<u32>], cost: &Cost, delta: &Exact) -> Result<Self> {
        // So deep that of all combinations that nobody has, hardly more than one passes at a lowest node; never less
        // than the paper's.
        let most = sizes.iter().flatten().map(|&size| f64::from(size)).fold(1.0, f64::max);
        let candidates = if most > f64::from(MOST_COMBINED) { most } else { most * most };
        // An (ε, δ) is counted with a fixed part of its δ for the values that are not public.
        let own = if matches!(cost.target, Goal::Rho(_)) { delta.clone() } else { own_share(delta) };
        let share = own.to_f64_down() / wanted.unknown.len().max(1) as f64 * (1.0 - 1e-9);
        let unknown_delta =
            if wanted.unknown.is_empty() { ThresholdRule::default().unknown_delta } else { Delta::new(share)? };
        let (clip, unknown) = (candidates.max(160.0).ln(), wanted.unknown.clone());
        let rule = ThresholdRule { bottom: 0, clip, unknown, unknown_delta, ..ThresholdRule::default() };
        Ok(Self { shape: wanted.shape.clone(), rule, wanted_threshold: wanted.threshold })
    }

    /// The tree at these targets, with the lowest thresholds that keep lists short, or those that reach the wanted one.
    fn tree(&self, targets: &[Epsilon]) -> Result<Tree> {
        let flat = self.rule.calibrate(&self.shape, targets)?;
        // One clip depth above nobody.
        let bottom = flat.nodes().iter().map(|node| node.clip).max().unwrap_or(0) + 1;
        let lowest = ThresholdRule { bottom, ..self.rule.clone() }.calibrate(&self.shape, targets)?;
        let missing = self.wanted_threshold - lowest.root().threshold;
        if missing <= 0 {
            return Ok(lowest);
        }
        Ok(ThresholdRule { bottom: bottom + missing, ..self.rule.clone() }.calibrate(&self.shape, targets)?)
    }
}

/// The search for the least noise that the cost allows.
struct Search<'a> {
    design: Design,
    allowance: Allowance,
    attributes: &'a Attributes,
}

impl Search<'_> {
    fn events(&self, tree: &Tree) -> Result<Vec<Event>> {
        let events = tree.events(self.attributes.names())?;
        match self.attributes.move_together() {
            true => any_attribute_as_person(&events, self.attributes.names()),
            false => Ok(events),
        }
    }

    fn run(&self) -> Result<Tree> {
        let largest = self.allowance.largest_epsilons(self.attributes.names());
        let at = |share: f64| -> Result<Option<Tree>> {
            let targets = largest
                .iter()
                .map(|&epsilon| Epsilon::new(epsilon * share))
                .collect::<std::result::Result<Vec<_>, _>>();
            let tree = self.design.tree(&targets?)?;
            Ok(self.allowance.admits(&self.events(&tree)?)?.then_some(tree))
        };
        if let Some(tree) = at(1.0 - 1e-9)? {
            return Ok(tree);
        }
        let found = halve(0.0, 1.0, StopRule::after(26), at)?;
        found.map(|(_, tree)| tree).ok_or_else(|| Error::input("no noise fits this cost: raise it"))
    }
}

/// For a test that replays it: the values of each record.
fn said(records: &Records) -> Announcement {
    let value = |attribute: usize, row: usize| {
        let code = records.columns[attribute][row] as usize;
        records.values[attribute].get(code).map(Cell::text).unwrap_or_default()
    };
    let record =
        |row: usize| (0..records.columns.len()).map(|attribute| value(attribute, row)).collect::<Vec<_>>().join("\t");
    Announcement::records("heavy hitters", (0..records.number()).map(|row| (record(row), 1)))
}

fn rule(attributes: &Attributes, tree: &Tree, granted: Value) -> Value {
    let nodes: Vec<Value> = tree
        .nodes()
        .iter()
        .map(|node| {
            let children: Vec<String> = node.children.iter().map(|child| format!("{child:?}")).collect();
            json!({ "joins": children, "threshold": node.threshold, "clip": node.clip, "scale": node.scale.get() })
        })
        .collect();
    let names = attributes.names().iter().enumerate();
    let each: Vec<Value> = names
        .map(|(j, name)| json!({ "attribute": name, "epsilon": tree.epsilon(&[j]).get(), "delta": tree.delta(&[j]).get() }))
        .collect();
    json!({ "records": attributes.rule(), "tree": nodes, "keys": { "owners_for_95_percent": found_from(tree).ok() }, "attributes": each, "granted": granted,
            "person": { "epsilon": tree.epsilon_person().get() }, "presence": { "epsilon": tree.epsilon_presence().get() } })
}

/// How counts come to be listed: `max(f, threshold − clip) + Z > threshold`.
struct ListingRule<'a> {
    noise: &'a Noise,
    threshold: i64,
    clip: i64,
}

impl ListingRule<'_> {
    /// Intervals of the noise given that a combination is listed: of one that few share and that is listed by luck the
    /// count is too large. Counts below the clip are all alike, down to none.
    fn intervals(&self, counts: impl Iterator<Item = i64>) -> Vec<Uncertainty> {
        let passed = ThresholdEvidence::new(self.noise, self.threshold.saturating_add(1));
        let (standard_error, half) = (self.noise.standard_deviation(), self.noise.quantile(BETA));
        let interval = |count: i64| {
            let count = count as f64;
            let low = passed.as_ref().map_or(count - half, |passed| passed.low_at(count, BETA));
            let low = if low <= (self.threshold - self.clip).max(1) as f64 { 0.0 } else { low };
            Uncertainty { standard_error, low, high: count + half }
        };
        counts.map(interval).collect()
    }
}

/// One column per attribute, then the counts, the largest first.
fn columns(
    names: &[String],
    records: &Records,
    found: SuccinctHistogram,
    listed: &ListingRule<'_>,
) -> Vec<AnswerColumn> {
    let mut strings = found.strings;
    // Sorted by what is released anyway.
    strings.sort_by(|left, right| right.count.cmp(&left.count).then_with(|| left.values.cmp(&right.values)));
    let cell =
        |attribute: usize, code: u32| records.values[attribute].get(code as usize).cloned().unwrap_or(Cell::Null);
    let values = |(attribute, name): (usize, &String)| {
        AnswerColumn::plain(name, strings.iter().map(|string| cell(attribute, string.values[attribute])))
    };
    let counts = strings.iter().map(|string| Cell::Whole(i128::from(string.count)));
    let intervals = listed.intervals(strings.iter().map(|string| string.count));
    let counts = AnswerColumn::noisy("count", counts.zip(intervals));
    names.iter().enumerate().map(values).chain([counts]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scumble::quantity::Scale;

    /// Of every number of people, given that its combination is listed, the interval holds with at least 95%: by adding
    /// up the law of the noise.
    #[test]
    fn intervals_hold_for_what_is_listed() {
        for (scale, threshold, clip) in [(2.0, 13, 6), (2.0, 40, 40), (5.0, 30, 12), (0.7, 9, 3)] {
            let noise = Noise::laplace(Scale::new(scale).unwrap());
            let listed = ListingRule { noise: &noise, threshold, clip };
            let reach = (40.0 * scale) as i64 + threshold;
            let intervals = listed.intervals(threshold + 1..threshold + 3 * reach);
            for people in 0..threshold + 2 * reach / 3 {
                let middle = people.max(threshold - clip);
                let (mut shown, mut held) = (0.0, 0.0);
                for noisy in threshold + 1..(middle + reach).min(threshold + 3 * reach) {
                    let mass = (-((noisy - middle).abs() as f64) / scale).exp();
                    let Uncertainty { low, high, .. } = intervals[(noisy - threshold - 1) as usize];
                    shown += mass;
                    held += if (low..=high).contains(&(people as f64)) { mass } else { 0.0 };
                }
                assert!(held >= 0.949 * shown, "{people} of {threshold}, {clip}, {scale}: {}", held / shown);
            }
        }
    }
}
