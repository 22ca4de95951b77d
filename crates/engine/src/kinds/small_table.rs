//! Kind `small-table`: the answers to some conditions by one small table that is drawn among all, by how well it
//! answers them.
//!
//! How many owners there are scales it: a number that is declared as public, or a noisy one that takes a tenth of the
//! cost.

use crate::error::{Error, Result};
use crate::project::{Cost, Project, Request};
use crate::release::Kind;
use crate::release::field::{Field, PlacedValue};
use crate::release::output::{AnswerColumn, Answers, BETA, Cell, Details, Uncertainty};
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, PlanSource, Price};
use crate::release::price::fitted::FittedCost;
use crate::release::price::needs;
use crate::release::rows::fields::countable_owners;
use crate::release::rows::records;
use crate::release::rows::records::Records;
use crate::release::rows::universe::Universe;
use scumble::calibrate::{ShiftNorms, scale_for_pure};
use scumble::event::{Event, Moves, Shift, Word};
use scumble::mechanism::smooth::OwnerSteps;
use scumble::mechanism::sparse_vector::exceeded;
use scumble::noise::DiscreteLaplace;
use scumble::quantity::{Beta, Epsilon, Scale};
use scumble::workload::small_table::{SmallTable, best_size};
use scumble::workload::{NORMAL_95, Subset};
use scumble::{Scope, Target};
use serde_json::{Map, Value, json};
use std::rc::Rc;

const CONDITIONS: Field<Option<Vec<PlacedValue<String>>>> = Field::new(
    "conditions",
    "conditions as in SQL; by default, each value of each column and each pair of values of two",
);
const SIZE: Field<Option<PlacedValue<u64>>> =
    Field::new("size", "the number of rows of the small table; by default the one with the smallest expected error");
const PEOPLE: Field<Option<u64>> = Field::new(
    "people",
    "about how many owners there are, from public knowledge (default: 1000): decides size and planned error",
);

/// The kind `small-table`.
pub(crate) static KIND: Kind = Kind {
    name: "small-table",
    about: "how many owners fulfil each of some conditions, answered by one small synthetic table; for few combinations of values",
    fields: &[
        records::FIELDS[0],
        records::FIELDS[1],
        CONDITIONS.listed(),
        SIZE.listed(),
        PEOPLE.listed(),
        records::FIELDS[2],
        records::FIELDS[3],
    ],
    analyse: |request, project| Ok(AnalysedRequest::new(SmallTableRequest::read(request, project)?)),
    ..Kind::COMMON
};

/// The part of the cost that counts the owners, if their number is not declared.
const COUNTING: f64 = 0.1;
/// The number of owners that is planned for by default.
const USUAL_PEOPLE: u64 = 1000;

/// A request of this kind.
struct SmallTableRequest {
    universe: Universe,
    names: Vec<String>,
    conditions: Vec<Vec<bool>>,
    size: Option<PlacedValue<u64>>,
    people: u64,
    /// How many owners there are, if the table declares that as public.
    public: Option<u64>,
}

/// The table that is drawn, and the noise on the number of owners, if that is not public.
struct TableDraw {
    table: SmallTable,
    size: u64,
    counting: Option<Scale>,
}

impl Analysis for SmallTableRequest {
    type Mechanism = TableDraw;

    fn at(&self, cost: &Cost) -> Result<Price<TableDraw>> {
        let fitting = FittedCost::new(KIND.name, cost, None)?;
        let steps = OwnerSteps::one().reading(self.universe.read()?);
        fitting.fit(&steps, |step| self.drawn(step.epsilon)).map(Price::from)
    }

    fn plan(self: Rc<Self>, drawn: TableDraw, events: Vec<Event>) -> Result<Plan> {
        let half = drawn.half_width(self.people)?;
        let about = format!(
            "with probability 95% all {} answers are within {half:.0} of {} owners (a table of {} rows, one of {})",
            self.conditions.len(),
            self.people,
            drawn.size,
            drawn.table.candidates()
        );
        let attributes = &self.universe.attributes;
        let mut rule = json!({
            "records": attributes.rule(), "conditions": self.names.len(), "size": drawn.size,
            "candidates": drawn.table.candidates(), "owners": self.public, "owners_noise": drawn.counting.map(Scale::get),
        });
        if self.public.is_none() {
            rule["planned_for"] = json!(self.people);
        }
        let mut notes = vec!["Noise on each count, or kind marginals, promises less error unless there are very many conditions on very few combinations of values.".to_string()];
        if half >= self.people as f64 {
            notes.insert(0, format!("Hardly anything will be learnt: the answers may be off by {half:.0}, and there are about {} owners. Raise epsilon, or take fewer conditions, columns or values.", self.people));
        }
        let source = PlanSource::records(attributes).holding(self.memory(&drawn));
        let expected = vec![ExpectedError::new("estimate", None, about)];
        let plan = Plan::new(source, events, rule, expected, move |charged| {
            let records = charged.read(&self.universe.attributes)?;
            let counts = self.universe.counts(&records)?;
            let total = match (self.public, drawn.counting) {
                (Some(public), _) => public,
                (None, Some(scale)) => {
                    let people = i64::try_from(records.number()).unwrap_or(i64::MAX);
                    DiscreteLaplace::new(scale).add_to(people, charged.bits()).clamp(1, 1 << 39).unsigned_abs()
                }
                (None, None) => return Err(Error::machine("a number of owners that is neither public nor noisy")),
            };
            let rows = drawn.table.release(&counts, total, charged.bits())?;
            self.answers(&drawn, &rows, total, &records)
        });
        Ok(Plan { notes, ..plan })
    }
}

impl SmallTableRequest {
    fn read(request: &Request, project: &Project) -> Result<Self> {
        let universe = Universe::new(request, project, &["condition", "estimate"])?;
        let given = CONDITIONS.read(request)?;
        let number =
            given.as_ref().map_or_else(|| number_of_pairs(universe.domain.sizes()), |given| given.len() as u64);
        // More than can be looked at are not even listed.
        best_size(universe.domain.cells() as u64, number, Epsilon::new(1.0)?, 1)
            .map_err(|error| Error::from(error).or_at(request.fields.place()))?;
        let (names, conditions) = match given {
            Some(given) if given.is_empty() => {
                return Err(CONDITIONS.error(request, "give at least one condition, or leave the field out"));
            }
            Some(given) => {
                let mut all = Vec::new();
                for condition in &given {
                    all.push(universe.fulfilling(condition, project)?);
                }
                (given.into_iter().map(|condition| condition.value).collect(), all)
            }
            None => values_and_pairs(&universe),
        };
        let public = countable_owners(request, project)?;
        let people = PEOPLE.read(request)?.or(public).unwrap_or(USUAL_PEOPLE);
        Ok(Self { universe, names, conditions, size: SIZE.read(request)?, people, public })
    }

    fn drawn(&self, epsilon: f64) -> Result<(TableDraw, Vec<Event>)> {
        let counting = match self.public {
            Some(_) => None,
            None => Some(scale_for_pure(Epsilon::new(epsilon * COUNTING)?, ShiftNorms::units(1))?),
        };
        let choosing = if counting.is_some() { epsilon - epsilon * COUNTING } else { epsilon };
        let (cells, conditions) = (self.universe.domain.cells() as u64, self.conditions.len() as u64);
        let choosing = Epsilon::new(choosing)?;
        let of_size = |size| SmallTable::within(Target::pure(choosing), Scope::Presence, &self.conditions, size);
        let (table, size) = match &self.size {
            Some(PlacedValue { value, place }) => {
                (of_size(*value).map_err(|error| Error::from(error).or_at(place.clone()))?, *value)
            }
            None => {
                let size = best_size(cells, conditions, choosing, self.people)?;
                (of_size(size)?, size)
            }
        };
        let mut events = table.events(&self.universe.read()?)?;
        if let Some(scale) = counting {
            let one = vec![Shift::one_cell(1.0)?];
            events.push(Event::new(Word::DiscreteLaplace { scale }, Moves::by_scope(one.clone(), one, Vec::new())));
        }
        Ok((TableDraw { table, size, counting }, events))
    }

    /// See [`Plan::memory`]: which condition each combination fulfils (twice: by condition and by combination), and how
    /// many tables have each distance, which is one of size + 1 for each condition.
    fn memory(&self, drawn: &TableDraw) -> u64 {
        let (cells, conditions) = (self.universe.domain.cells() as u64, self.conditions.len() as u64);
        let distances = conditions.saturating_mul(drawn.size.saturating_add(1)).min(drawn.table.candidates());
        let held = cells.saturating_mul(2 * conditions + 2 * needs::NUMBER);
        held.saturating_add(distances.saturating_mul(64)).saturating_add(conditions.saturating_mul(needs::LINE))
    }

    fn answers(&self, drawn: &TableDraw, rows: &[u32], total: u64, records: &Records) -> Result<Answers> {
        let half = drawn.half_width(total)?;
        let estimates = drawn.table.answers(rows, total);
        let noisy = estimates.iter().map(|estimate| {
            let around = Uncertainty::around(*estimate, half / NORMAL_95, half);
            (Cell::Number(*estimate), Uncertainty { low: around.low.max(0.0), ..around })
        });
        let names = self.names.iter().map(|name| Cell::Text(name.as_str().into()));
        let columns = vec![AnswerColumn::plain("condition", names), AnswerColumn::noisy("estimate", noisy)];
        let mut facts = Map::new();
        facts.insert("small_table".to_string(), self.shown(rows, records));
        facts.insert("owners".to_string(), json!(total));
        let mut notes = vec![format!(
            "All intervals hold together with probability 95%. The small table itself is in the JSON: each of its {} rows stands for {} owners; what it says about other conditions is not promised.",
            drawn.size,
            (total as f64 / drawn.size as f64).round()
        )];
        notes.extend(self.universe.attributes.note());
        Ok(Answers { columns, notes, details: Details { facts, ..Details::default() } })
    }

    /// The rows of the small table, each combination once.
    fn shown(&self, rows: &[u32], records: &Records) -> Value {
        let names = self.universe.attributes.names();
        let row = |group: &[u32]| {
            let values = self.universe.domain.values(group[0] as usize);
            let mut shown: Map<String, Value> = Map::new();
            for ((name, value), known) in names.iter().zip(values).zip(&records.values) {
                shown.insert(name.clone(), json!(known[value as usize].text()));
            }
            json!({ "values": shown, "rows": group.len() })
        };
        rows.chunk_by(|one, other| one == other).map(row).collect()
    }
}

impl TableDraw {
    /// How far off any answer is, except with probability 5%, if this is how many owners are declared, or were counted
    /// with noise.
    fn half_width(&self, total: u64) -> Result<f64> {
        Ok(match self.counting {
            None => self.table.error(Beta::new(BETA)?, total)?,
            Some(scale) => {
                let off = exceeded(scale, Beta::new(BETA / 2.0)?);
                self.table.error(Beta::new(BETA / 2.0)?, total.saturating_add(off))? + off as f64
            }
        })
    }
}

/// How many values and pairs of values of two columns there are.
fn number_of_pairs(sizes: &[u32]) -> u64 {
    let sum = sizes.iter().map(|size| u64::from(*size)).sum::<u64>();
    let squares = sizes.iter().map(|size| u64::from(*size).pow(2)).sum::<u64>();
    sum + (sum.saturating_mul(sum) - squares) / 2
}

/// Each value of each column and each pair of values of two, by name.
fn values_and_pairs(universe: &Universe) -> (Vec<String>, Vec<Vec<bool>>) {
    let (domain, attributes) = (&universe.domain, &universe.attributes);
    let labels = attributes.labels();
    let (mut names, mut conditions) = (Vec::new(), Vec::new());
    for size in 1..=domain.attributes().min(2) {
        for subset in Subset::all_of_size(domain.attributes(), size) {
            let columns: Vec<usize> = subset.iter().collect();
            for wanted in combinations(&columns, domain.sizes()) {
                let parts = columns.iter().zip(&wanted);
                let name = parts.map(|(column, value)| {
                    format!("{} = {}", attributes.names()[*column], labels[*column][*value as usize])
                });
                names.push(name.collect::<Vec<_>>().join(" AND "));
                let is_it = |cell: usize| {
                    let values = domain.values(cell);
                    columns.iter().zip(&wanted).all(|(column, value)| values[*column] == *value)
                };
                conditions.push((0..domain.cells()).map(is_it).collect());
            }
        }
    }
    (names, conditions)
}

/// All combinations of values of some columns.
fn combinations(columns: &[usize], sizes: &[u32]) -> Vec<Vec<u32>> {
    columns.iter().fold(vec![Vec::new()], |before, column| {
        let longer = before.iter().flat_map(|start| {
            (0..sizes[*column]).map(move |value| start.iter().copied().chain([value]).collect::<Vec<u32>>())
        });
        longer.collect()
    })
}
