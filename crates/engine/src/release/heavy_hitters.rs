//! Kind `heavy-hitters`: the combinations of values that many people share, with one guarantee per attribute.

use super::allowance::{ATTRIBUTE_COSTS, Allowance, any_attribute_as_person};
use super::noise::Noise;
use super::output::{Answers, Cell, Column, Details, Uncertainty};
use super::records::{self, Attributes, Records};
use super::{CostAbout, Draw, Expected, Field, Kind, Plan};
use crate::backend::Backend;
use crate::backend::hash::Key;
use crate::budget::own_share;
use crate::error::{Error, Result};
use crate::ledger::Receipt;
use crate::project::{Project, Request, Target};
use scumble::calibrate::{Stop, halve};
use scumble::event::Event;
use scumble::mechanism::heavy_hitters::{Found, HeavyHitters, Rule, Shape, Tree};
use scumble::noise::{BitSource, SecureSource};
use scumble::quantity::{Beta, Delta, Epsilon, Exact};
use serde_json::{Value, json};

const FIELDS: [Field; 7] = [
    records::FIELDS[0],
    records::FIELDS[1],
    Field {
        name: "threshold",
        form: "whole number",
        required: false,
        about: "the least count of interest; never below what the cost allows",
    },
    Field {
        name: "shape",
        form: "text",
        required: false,
        about: "'balanced' (the default: best for single attributes) or 'caterpillar' (best for a whole person)",
    },
    ATTRIBUTE_COSTS,
    records::FIELDS[2],
    records::FIELDS[3],
];

/// Attributes with more values get a threshold of their own before they are combined with others.
const MOST_COMBINED: u32 = 256;
/// For "found with probability 95%": of how many people.
const MANY_PEOPLE: u64 = 1_000_000;

/// The kind `heavy-hitters`.
pub(super) static KIND: Kind = Kind {
    name: "heavy-hitters",
    about: "the combinations of values of several columns that many owners share, with noisy counts; each attribute is protected far better than the whole owner",
    fields: &FIELDS,
    cost_about: CostAbout::OwnersOrAttributes,
    plan,
};

fn plan(request: &Request, project: &Project) -> Result<Box<dyn Plan>> {
    let attributes = Attributes::new(request, project, true, &["count", "count_error", "count_interval"])?;
    let sizes = attributes.sizes();
    let unknown: Vec<usize> = (0..sizes.len()).filter(|&j| sizes[j].is_none()).collect();
    let delta = delta_of(request, project, !unknown.is_empty())?;
    let design = Design::new(request, &sizes, unknown, &delta)?;
    let allowance = Allowance::of(request, attributes.names(), delta)?;
    let search = Search { design, allowance, attributes: &attributes };
    let tree = search.run()?;
    let events = search.events(&tree)?;
    // Unknown domains have a threshold of their own, whatever their size: all else can be checked without data.
    HeavyHitters::new(tree.clone(), sizes.iter().map(|size| size.unwrap_or(1)).collect())?;
    Ok(Box::new(HeavyHittersPlan { attributes, tree, events }))
}

/// δ of the cost; where there is none and a domain is unknown, a hundredth of the smallest budget's, as for keys of a GROUP BY.
fn delta_of(request: &Request, project: &Project, is_needed: bool) -> Result<Exact> {
    match (&request.cost.delta, project.budget.smallest_delta()) {
        (Some(delta), _) => Ok(delta.clone()),
        (None, _) if !is_needed => Ok(Exact::zero()),
        (None, Some(delta)) => Ok(Exact::from_f64(delta.to_f64_down() / 100.0)?),
        (None, None) => Err(Error::input(
            "a column's values are not public, which needs a delta: write cost = { epsilon = …, delta = 1e-9 }, give the budget a delta, or declare the column's values",
        )),
    }
}

/// Everything about the tree that does not depend on how much noise there is.
struct Design {
    shape: Shape,
    rule: Rule,
    wanted_threshold: i64,
}

impl Design {
    fn new(request: &Request, sizes: &[Option<u32>], unknown: Vec<usize>, delta: &Exact) -> Result<Self> {
        let number = sizes.len();
        let shape = match request.fields.get("shape").map(|spot| Ok::<_, Error>((spot, spot.text()?))).transpose()? {
            None | Some((_, "balanced")) => Shape::balanced(number)?,
            Some((_, "caterpillar")) => Shape::caterpillar(number)?,
            Some((spot, _)) => return Err(spot.error("the shape of the tree is 'balanced' or 'caterpillar'")),
        };
        let large = |size: Option<u32>| size.is_none_or(|size| size > MOST_COMBINED);
        let alone: Vec<usize> = (0..number).filter(|&j| large(sizes[j])).collect();
        // So deep that of all combinations that nobody has, hardly more than one passes at a lowest node; never less than the paper's.
        let most = sizes.iter().flatten().map(|&size| f64::from(size)).fold(1.0, f64::max);
        let candidates = if most > f64::from(MOST_COMBINED) { most } else { most * most };
        // An (ε, δ) is counted with a fixed part of its δ for the values that are not public.
        let own = if matches!(request.cost.target, Target::Rho(_)) { delta.clone() } else { own_share(delta) };
        let share = own.to_f64_down() / unknown.len().max(1) as f64 * (1.0 - 1e-9);
        let unknown_delta = if unknown.is_empty() { Rule::default().unknown_delta } else { Delta::new(share)? };
        let rule = Rule { bottom: 0, clip: candidates.max(160.0).ln(), unknown, unknown_delta, ..Rule::default() };
        let wanted_threshold = match request.fields.get("threshold") {
            None => 0,
            Some(spot) => i64::try_from(spot.at_least_one()?)
                .ok()
                .filter(|threshold| *threshold < 1 << 50)
                .ok_or_else(|| spot.error("the threshold is out of range"))?,
        };
        Ok(Self { shape: shape.with_thresholds_above(&alone), rule, wanted_threshold })
    }

    /// The tree at these targets, with the lowest thresholds that keep lists short, or those that reach the wanted one.
    fn tree(&self, targets: &[Epsilon]) -> Result<Tree> {
        let flat = self.rule.calibrate(&self.shape, targets)?;
        // One clip depth above nobody.
        let bottom = flat.nodes().iter().map(|node| node.clip).max().unwrap_or(0) + 1;
        let lowest = Rule { bottom, ..self.rule.clone() }.calibrate(&self.shape, targets)?;
        let missing = self.wanted_threshold - lowest.root().threshold;
        if missing <= 0 {
            return Ok(lowest);
        }
        Ok(Rule { bottom: bottom + missing, ..self.rule.clone() }.calibrate(&self.shape, targets)?)
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
        let found = halve(0.0, 1.0, Stop::after(26), at)?;
        found.map(|(_, tree)| tree).ok_or_else(|| Error::input("no noise is within this cost: raise it"))
    }
}

struct HeavyHittersPlan {
    attributes: Attributes,
    tree: Tree,
    events: Vec<Event>,
}

impl HeavyHittersPlan {
    fn noise(&self) -> Noise {
        Noise::laplace(self.tree.root().scale)
    }

    fn found_from(&self) -> Result<u64> {
        Ok(self.tree.found_from(MANY_PEOPLE, Beta::new(0.05)?))
    }
}

impl Plan for HeavyHittersPlan {
    fn events(&self) -> &[Event] {
        &self.events
    }

    fn rule(&self) -> Value {
        let tree = &self.tree;
        let nodes: Vec<Value> = tree
            .nodes()
            .iter()
            .map(|node| {
                let children: Vec<String> = node.children.iter().map(|child| format!("{child:?}")).collect();
                json!({ "joins": children, "threshold": node.threshold, "clip": node.clip, "scale": node.scale.get() })
            })
            .collect();
        let each: Vec<Value> = self
            .attributes
            .names()
            .iter()
            .enumerate()
            .map(|(j, name)| json!({ "attribute": name, "epsilon": tree.epsilon(&[j]), "delta": tree.delta(&[j]) }))
            .collect();
        json!({ "records": self.attributes.rule(), "tree": nodes, "attributes": each,
                "person": { "epsilon": tree.epsilon_person() }, "presence": { "epsilon": tree.epsilon_presence() } })
    }

    fn expected(&self) -> Vec<Expected> {
        let found = self.found_from().map_or(String::new(), |count| {
            format!("; what {count} or more of a million people share is listed with probability 95%")
        });
        let about = format!("the same for every listed combination{found}");
        vec![Expected {
            column: "count".to_string(),
            standard_error: Some(self.noise().standard_deviation()),
            cells: Vec::new(),
            assumed: None,
            about,
        }]
    }

    fn tables(&self) -> Vec<String> {
        vec![self.attributes.table().to_string()]
    }

    fn compute(&self, _charged: &Receipt, _project: &Project, backend: &Backend) -> Result<Draw> {
        let mut secret = SecureSource::new()?;
        let records = self.attributes.read(backend, Key(secret.next_u64(), secret.next_u64()))?;
        let domains = records.values.iter().map(|values| u32::try_from(values.len()).unwrap_or(u32::MAX - 1).max(1));
        let finder = HeavyHitters::new(self.tree.clone(), domains.collect())?;
        let (names, noise, note) = (self.attributes.names().to_vec(), self.noise(), self.attributes.note());
        let found_from = self.found_from()?;
        Ok(Box::new(move |_receipt, bits| {
            let found = finder.release(&records.columns, bits)?;
            let mut notes = vec![format!(
                "Listed are combinations with a noisy count above {}; one that at least {found_from} people share is missing with probability at most 5%, if there are no more than a million people.",
                found.threshold
            )];
            notes.extend(note);
            Ok(Answers { columns: columns(&names, &records, found, &noise), notes, details: Details::default() })
        }))
    }
}

/// One column per attribute, then the counts, the largest first.
fn columns(names: &[String], records: &Records, found: Found, noise: &Noise) -> Vec<Column> {
    let mut strings = found.strings;
    // Sorted by what is released anyway.
    strings.sort_by(|left, right| right.count.cmp(&left.count).then_with(|| left.values.cmp(&right.values)));
    let mut columns: Vec<Column> = Vec::new();
    for (attribute, name) in names.iter().enumerate() {
        let cell = |code: u32| records.values[attribute].get(code as usize).cloned().unwrap_or(Cell::Null);
        let cells = strings.iter().map(|string| cell(string.values[attribute])).collect();
        columns.push(Column { name: name.clone(), cells, uncertainty: None });
    }
    let (error, half) = (noise.standard_deviation(), noise.quantile(0.05));
    let uncertainty = strings.iter().map(|string| Uncertainty {
        standard_error: error,
        low: string.count as f64 - half,
        high: string.count as f64 + half,
    });
    columns.push(Column {
        name: "count".to_string(),
        uncertainty: Some(uncertainty.collect()),
        cells: strings.iter().map(|string| Cell::Whole(i128::from(string.count))).collect(),
    });
    columns
}
