//! Kind `anonymized-histogram`: how many values of some columns occur how often, without the values.
//!
//! The backend counts the rows of each combination of values; the counts become a table of how many have each count before
//! anything else happens, so that what is held and published is O(√rows), however many values there are.

use super::histogram::{COLUMN_FIELDS, Counted, counted, quoted};
use super::output::{Answers, BandedCurve, Cell, Column, Details};
use super::sql::BOUNDING_FIELDS;
use super::{CostAbout, Draw, Expected, Field, Kind, Limit, Plan};
use crate::backend::Backend;
use crate::backend::hash::Key;
use crate::budget::Spent;
use crate::error::{Error, Result};
use crate::ledger::Receipt;
use crate::project::{CostScope, Project, Request, Target, bounding};
use crate::sql::integers::integers;
use crate::sql::measure::{Computation, Query};
use crate::sql::{Cut, analyse, preflight};
use scumble::event::Event;
use scumble::limits::anonymized_histogram::lower_bound;
use scumble::mechanism::anonymized_histogram::{
    AnonymizedHistogram, LayoutChoice, MOST_ELEMENTS, Partition, Released, Size, Statistics, top_share,
};
use scumble::noise::{BitSource, SecureSource};
use scumble::quantity::{Beta, Delta, Epsilon, Exact};
use scumble::scope::{AttributeSet, Scope};
use serde_json::{Map, Value, json};

/// Bands and bounds hold with this probability.
const CONFIDENCE: f64 = 0.95;
/// How likely they may fail for a layout that is large enough; that a private size makes it too small adds 0.0005 at most.
const BETA: f64 = 0.0495;
/// The shares of the most frequent values are told for these many of them.
const TOPS: [u64; 3] = [1, 10, 100];
/// So many points make a smooth curve.
const CURVE_POINTS: u32 = 300;

const FIELDS: [Field; 8] = [
    Field { name: "table", form: "text", required: true, about: "the table" },
    COLUMN_FIELDS[0],
    COLUMN_FIELDS[1],
    Field {
        name: "at_most",
        form: "whole number",
        required: false,
        about: "the most rows that can count, a public number; without it, and without the table's public_owners, a twentieth of the cost estimates it",
    },
    Field {
        name: "layout",
        form: "text",
        required: false,
        about: "automatic (the default), rows-and-columns, strips or rows-and-strips",
    },
    BOUNDING_FIELDS[0],
    BOUNDING_FIELDS[1],
    BOUNDING_FIELDS[2],
];

/// The kind `anonymized-histogram`.
pub(super) static KIND: Kind = Kind {
    name: "anonymized-histogram",
    about: "how many values of some columns occur how often, without the values; with what follows from it: distinct values, coverage, entropy, shares of the most frequent",
    fields: &FIELDS,
    cost_about: CostAbout::Owners,
    plan,
};

fn plan(request: &Request, project: &Project) -> Result<Box<dyn Plan>> {
    Ok(Box::new(planned(request, project)?))
}

fn planned(request: &Request, project: &Project) -> Result<AnonymizedHistogramPlan> {
    let Counted { table, names, place } = counted(request, project)?;
    if table.public {
        let spot = request.fields.need("table")?;
        return Err(spot.error(format!("table '{}' is public: no release is needed for it", table.name)));
    }
    // As texts, keys have no declared domain: what does not occur has no part in this answer and is never listed.
    let keys = names.iter().map(|name| format!("CAST({} AS VARCHAR)", quoted(name))).collect::<Vec<_>>().join(", ");
    let sql = format!("SELECT COUNT(*) AS count FROM {} GROUP BY {keys}", quoted(&table.name));
    let bounding = bounding(&request.fields)?;
    let cut = analyse(&sql, bounding, project, &Backend::without_data(project)?);
    let cut = cut.map_err(|error| error.or_at(place))?;
    let most = elements_per_owner(&cut.query);
    let attributes = AttributeSet::new(cut.query.key_attributes.union(&cut.query.rows).cloned())?;
    let public = table.public_owners.map(|owners| owners.saturating_mul(most));
    let (mechanism, events) = within_cost(request, most, public, &attributes)?;
    Ok(AnonymizedHistogramPlan { sql, cut, mechanism, events })
}

/// The most rows of one owner that count: each is one element.
fn elements_per_owner(query: &Query) -> u64 {
    query.bounds.map_or(1, |bounds| bounds.rows.min(bounds.groups.saturating_mul(bounds.rows_per_group)))
}

/// The mechanism that spends all of the cost and no more, and its events.
///
/// # Guarantee
/// What the events cost in the cost's scope, by the ledger's own rule and in exact arithmetic, is at most the cost.
fn within_cost(
    request: &Request,
    elements_per_owner: u64,
    public_elements: Option<u64>,
    attributes: &AttributeSet,
) -> Result<(AnonymizedHistogram, Vec<Event>)> {
    let Target::Epsilon(cost) = &request.cost.target else {
        let sentence = "the noise of an anonymized histogram has a pure epsilon: write cost = { epsilon = … }";
        return Err(request.fields.error(sentence));
    };
    let size = match request.fields.get("at_most") {
        Some(spot) => Size::AtMost(spot.at_least_one()?),
        None => public_elements.map_or(Size::Private, Size::AtMost),
    };
    let layout = layout(request)?;
    let scope = match request.cost.scope {
        CostScope::Presence => Scope::Presence,
        CostScope::Person | CostScope::Attribute => Scope::Person,
    };
    let refused = |error: scumble::Error| request.fields.error(error.to_string());
    let mut presence = presence_cost(cost.to_f64(), request.cost.scope, elements_per_owner as f64, size);
    loop {
        let mechanism = AnonymizedHistogram::new(Epsilon::new(presence).map_err(refused)?, size).map_err(refused)?;
        let mechanism = mechanism.with_layout(layout).with_elements_per_owner(elements_per_owner).map_err(refused)?;
        let events = mechanism.events(attributes)?;
        match Spent::of(&events, &scope)?.epsilon(&Exact::zero()) {
            Some(spent) if spent <= *cost => return Ok((mechanism, events)),
            // Rounding has gone up somewhere: a few units in the last place less will do.
            _ => presence = presence.next_down(),
        }
    }
}

/// What the presence of an owner may cost, about, so that the cost is met in its scope. A person who is replaced takes elements away and
/// brings others, which the areas pay twice, but changes their number once: with x per element and s of it for the number, that
/// is c·(2(x − s) + s), where s = x/20 and at most 0.1.
fn presence_cost(cost: f64, scope: CostScope, elements: f64, size: Size) -> f64 {
    match (scope, size) {
        (CostScope::Presence, _) => cost,
        (CostScope::Person | CostScope::Attribute, Size::AtMost(_)) => cost / 2.0,
        (CostScope::Person | CostScope::Attribute, Size::Private) => {
            (cost * 20.0 / 39.0).min((cost + 0.1 * elements) / 2.0)
        }
    }
}

/// The layouts of [`LayoutChoice`] whose size does not grow with the data itself.
const LAYOUTS: [LayoutChoice; 4] =
    [LayoutChoice::Automatic, LayoutChoice::RowsAndColumns, LayoutChoice::Strips, LayoutChoice::RowsAndStrips];

fn layout(request: &Request) -> Result<LayoutChoice> {
    let Some(spot) = request.fields.get("layout") else { return Ok(LayoutChoice::Automatic) };
    let name = spot.text()?;
    LAYOUTS.into_iter().find(|choice| choice.name() == name).ok_or_else(|| {
        let names = LAYOUTS.map(LayoutChoice::name);
        let hint = crate::place::suggestion(name, names.into_iter());
        spot.error(format!("unknown layout '{name}'{hint}; layouts are: {}", names.join(", ")))
    })
}

/// A planned anonymized histogram.
struct AnonymizedHistogramPlan {
    sql: String,
    cut: Cut,
    mechanism: AnonymizedHistogram,
    events: Vec<Event>,
}

impl Plan for AnonymizedHistogramPlan {
    fn events(&self) -> &[Event] {
        &self.events
    }

    fn rule(&self) -> Value {
        let query = &self.cut.query;
        json!({
            "sql": self.sql,
            "tables": self.cut.below.tables,
            "bounding": query.bounds.map(|bounds| json!({
                "groups_per_owner": bounds.groups, "rows_per_group": bounds.rows_per_group, "rows_per_owner": bounds.rows,
            })),
            "keys": { "attributes": query.key_attributes },
            "filters": { "attributes": query.rows },
            "elements_per_owner": self.mechanism.elements_per_owner(),
            "epsilon_per_element": self.mechanism.epsilon_per_element().get(),
            "epsilon_for_size": self.mechanism.epsilon_for_size().map(Epsilon::get),
            "at_most": match self.mechanism.size() { Size::AtMost(most) => Some(most), Size::Private => None },
        })
    }

    fn expected(&self) -> Vec<Expected> {
        let each = self.mechanism.epsilon_per_element();
        let amount = match self.mechanism.size() {
            Size::AtMost(elements) => match self.mechanism.expected_error(elements) {
                Ok(error) => format!("all counts together are off by at most {error:.0}, in expectation"),
                Err(error) => error.to_string(),
            },
            Size::Private if each.get() >= 0.5 => {
                format!("all counts together are off by about 3·√rows·e^−{:.4}", each.get())
            }
            Size::Private => {
                format!("all counts together are off by about 1.3·√(rows·ln(2/ε)/ε), ε = {:.4}", each.get())
            }
        };
        let cost = match self.mechanism.elements_per_owner() {
            1 => String::new(),
            most => format!("; an owner has up to {most} rows, which costs {most} times what one costs"),
        };
        vec![Expected {
            column: "how_many".into(),
            standard_error: None,
            cells: Vec::new(),
            assumed: None,
            about: format!("{amount}{cost}"),
        }]
    }

    fn limits(&self) -> Result<Vec<Limit>> {
        match self.mechanism.size() {
            Size::AtMost(elements) => Ok(vec![limit(&self.mechanism, elements)?]),
            Size::Private => Ok(Vec::new()),
        }
    }

    fn tables(&self) -> Vec<String> {
        self.cut.below.tables.iter().cloned().collect()
    }

    fn preflight(&self, _project: &Project, backend: &Backend) -> Result<()> {
        preflight(&self.cut, backend)
    }

    fn compute(&self, _charged: &Receipt, _project: &Project, backend: &Backend) -> Result<Draw> {
        let mut secret = SecureSource::new()?;
        let partition = self.partition(backend, Key(secret.next_u64(), secret.next_u64()))?;
        let mechanism = self.mechanism.clone();
        Ok(Box::new(move |_receipt, bits| answers(&mechanism, &mechanism.release(&partition, bits)?)))
    }
}

impl AnonymizedHistogramPlan {
    /// The exact counts, without the values.
    ///
    /// # Guarantee
    /// For every key, the rows of one owner add at most [`AnonymizedHistogram::elements_per_owner`] elements.
    fn partition(&self, backend: &Backend, key: Key) -> Result<Partition> {
        let cut = &self.cut;
        let exact = integers(cut, backend, key)?;
        let Some(Computation::Count(rows)) = cut.query.aggregates.first().cloned() else {
            return Err(Error::machine("the counting query of an anonymized histogram does not count"));
        };
        let counts = exact.cells.iter().filter_map(|cell| u64::try_from(*cell.sums.get(rows)?).ok());
        Ok(Partition::from_counts(counts)?)
    }
}

/// The expected error beside that of the hardest histograms known.
fn limit(mechanism: &AnonymizedHistogram, elements: u64) -> Result<Limit> {
    // An owner of c elements moves c of them: what holds for ε per element is the bound to compare with.
    let each = Epsilon::new(mechanism.epsilon().get() / mechanism.elements_per_owner() as f64)?;
    let (least, _) = lower_bound(elements, each, Delta::new(0.0)?)?;
    Ok(Limit {
        column: "how_many".to_string(),
        error: "all counts together (L1)",
        expected: mechanism.expected_error(elements)?,
        least,
        about: format!(
            "presence, epsilon {:.4} per row, {elements} rows; the first number is what is proven, measured errors are 2 to 4 times smaller",
            each.get()
        ),
    })
}

/// The frequency-of-frequencies table, smallest counts first; what follows from it; and the picture. A function of `released` alone.
fn answers(mechanism: &AnonymizedHistogram, released: &Released) -> Result<Answers> {
    let column = |name: &str, cells: Vec<Cell>| Column { name: name.to_string(), cells, uncertainty: None };
    let runs = || released.partition.runs().rev();
    let columns = vec![
        column("count", runs().map(|run| Cell::Whole(i128::from(run.count))).collect()),
        column("how_many", runs().map(|run| Cell::Whole(i128::from(run.values))).collect()),
    ];
    let elements = released.size_estimate.map_or(released.laid_out_for, |estimate| estimate.max(0).unsigned_abs());
    let limits = vec![limit(mechanism, elements.min(MOST_ELEMENTS))?];
    let details = Details { curve: Some(curve(released)?), facts: facts(mechanism, released)?, limits };
    Ok(Answers { columns, notes: notes(mechanism, released)?, details })
}

fn curve(released: &Released) -> Result<BandedCurve> {
    // A logarithmic axis has no 0: none is drawn at ½.
    let height = |values: u64| if values == 0 { 0.5 } else { values as f64 };
    let points = released
        .curve(Beta::new(BETA)?, CURVE_POINTS)
        .into_iter()
        .map(|point| (point.count as f64, height(point.values), height(point.lower), height(point.upper)));
    Ok(BandedCurve {
        title: "How many values occur at least so often".to_string(),
        x: "count".to_string(),
        y: "values (none is drawn at ½)".to_string(),
        promise: format!("holds the truth everywhere with probability {}", CONFIDENCE),
        points: points.collect(),
    })
}

fn facts(mechanism: &AnonymizedHistogram, released: &Released) -> Result<Map<String, Value>> {
    let partition = &released.partition;
    let statistics = Statistics::of(partition);
    let beta = Beta::new(BETA)?;
    let top = |k: &u64| json!({ "k": k, "share": top_share(partition, *k) });
    let mut facts = Map::new();
    facts.insert(
        "statistics".into(),
        json!({
            "elements": statistics.elements,
            "distinct_values": statistics.values,
            "singletons": statistics.singletons,
            "coverage": statistics.coverage,
            "entropy_bits": statistics.entropy_bits,
            "entropy_bits_corrected": statistics.entropy_bits_corrected,
            "collision_probability": statistics.collision_probability,
            "top": TOPS.iter().map(top).collect::<Vec<Value>>(),
        }),
    );
    facts.insert("size_estimate".into(), json!(released.size_estimate));
    facts.insert("laid_out_for".into(), json!(released.laid_out_for));
    facts.insert("noise_scale".into(), json!(released.scale().get()));
    let error = json!({
        "l1_at_most": mechanism.error(released.laid_out_for, beta)?,
        "with_probability": CONFIDENCE,
        "l1_expected_at_most": mechanism.expected_error(released.laid_out_for)?,
    });
    facts.insert("error".into(), error);
    let band = released.band(beta).into_iter().map(|point| [point.count, point.lower, point.upper]);
    facts.insert("band".into(), json!(band.collect::<Vec<_>>()));
    Ok(facts)
}

fn notes(mechanism: &AnonymizedHistogram, released: &Released) -> Result<Vec<String>> {
    let partition = &released.partition;
    let statistics = Statistics::of(partition);
    let off = mechanism.error(released.laid_out_for, Beta::new(BETA)?)?;
    let mut notes = vec![
        "Each row: so many values occur exactly this often. Which values they are is not published.".to_string(),
        format!("All counts together are off by at most {off:.0}, with probability {}.", CONFIDENCE),
        format!(
            "About {} rows with {} different values, of which {} occur once.",
            released.size_estimate.map_or(statistics.elements, |estimate| estimate.max(0).unsigned_abs()),
            statistics.values,
            statistics.singletons
        ),
    ];
    if let (Some(coverage), Some(entropy)) = (statistics.coverage, statistics.entropy_bits) {
        let shares = TOPS.iter().filter_map(|k| Some(format!("{k}: {:.4}", top_share(partition, *k)?)));
        notes.push(format!(
            "Coverage (Good–Turing) {coverage:.4}; entropy {entropy:.3} bits; share of the most frequent values, {}.",
            shares.collect::<Vec<_>>().join(", ")
        ));
    }
    if released.layout.regions() == 0 {
        notes.push("There is too little data for this cost: the empty histogram is the best answer.".to_string());
    }
    Ok(notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A project whose table has these rows of (owner, value), and the plan of its one release.
    fn counted(folder: &std::path::Path, rows: &[(u32, &str)], bounds: &str, key: Key) -> (Partition, u64) {
        let lines: String = rows.iter().map(|(owner, value)| format!("{owner},{value}\n")).collect();
        std::fs::write(folder.join("t.csv"), format!("owner,value\n{lines}")).unwrap();
        let text = format!(
            "[dataset.t]\nsource = \"t.csv\"\nowner = \"owner\"\n{bounds}\n[dataset.t.columns]\nvalue = {{ type = \"category\" }}\n\
             [[release]]\nname = \"r\"\nkind = \"anonymized-histogram\"\ntable = \"t\"\ncolumns = [\"value\"]\ncost = {{ epsilon = 1 }}\n"
        );
        let project = Project::parse(&folder.join("scumble.toml"), &text).unwrap();
        let request = &project.releases[0];
        let plan = planned(request, &project).unwrap();
        let backend = Backend::with_data(&project, &["t".to_string()]).unwrap();
        (plan.partition(&backend, key).unwrap(), plan.mechanism.elements_per_owner())
    }

    /// All small tables of three owners against all neighbours in one owner: the counts move by what the noise pays for, in L1.
    #[test]
    fn an_owner_moves_the_counts_by_the_elements_that_are_paid_for() {
        let folder = tempfile::tempdir().unwrap();
        let mut changing: Vec<Vec<&str>> = vec![vec![]];
        for value in ["a", "b", "c"] {
            let longer: Vec<Vec<&str>> = changing.iter().map(|list| [&list[..], &[value, value]].concat()).collect();
            changing.extend(longer);
        }
        changing.push(vec!["a"; 5]);
        for (bounds, paid) in [
            ("max_rows_per_owner = 1", 1),
            ("max_rows_per_owner = 3", 3),
            ("max_groups_per_owner = 2\nmax_rows_per_group = 1", 2),
            ("max_rows_per_owner = 3\nmax_groups_per_owner = 2\nmax_rows_per_group = 2", 3),
        ] {
            for key in [Key(1, 2), Key(3, 4)] {
                let others = [(1, "a"), (1, "b"), (2, "a"), (2, "a"), (2, "c")];
                let tables: Vec<Partition> = changing
                    .iter()
                    .map(|values| {
                        let rows: Vec<(u32, &str)> =
                            others.into_iter().chain(values.iter().map(|value| (9, *value))).collect();
                        let (partition, elements) = counted(folder.path(), &rows, bounds, key);
                        assert_eq!(elements, paid);
                        partition
                    })
                    .collect();
                let mut most = 0;
                for one in &tables {
                    // The first table is without the owner: presence. Any other pair: person.
                    assert!(tables[0].distance(one) <= paid, "{bounds}: {:?} {:?}", tables[0], one);
                    most = most.max(tables[0].distance(one));
                    for other in &tables {
                        assert!(one.distance(other) <= 2 * paid, "{bounds}: {one:?} {other:?}");
                    }
                }
                assert_eq!(most, paid, "{bounds}: what is paid for can happen");
            }
        }
    }
}
