//! Kind `anonymized-histogram`: how many values of some columns occur how often, without the values.
//!
//! The backend counts the rows of each combination of values; the counts become a table of how many have each count
//! before anything else happens, so that what is held and published is O(√rows), however many values there are.
//!
//! Of the owner's column it says how many owners have how many rows. Then an owner stands in for a value, and the
//! owner's rows are its elements (at most B of them count): an owner who comes or goes is one value with up to B
//! elements more or less, which moves B cells of the diagram (φ_{≥r}, how many have at least r, by 1 for each r up to
//! B); one who is replaced moves |b − b′| ≤ B of them, which is charged as 2B like all elements of one owner. What
//! their rows say makes no difference: no attribute moves it.
//!
//! Where few values can occur, or owners have few rows, noise on each of these few cells is far smaller than on the
//! regions of a layout: then the cells are noised as kind `histogram` does it, at its cost, and sorted ([`listed`]).
//! Which way is taken follows from public numbers alone, and the plan says it.

mod limit;
mod listed;
mod shown;

use super::counted::{COLUMN, COLUMNS, CountedColumns, counted};
use crate::budget::Odometer;
use crate::error::{Error, Result};
use crate::place::Place;
use crate::project::{Cost, CostScope, Goal, Project, Request, Table};
use crate::release::Kind;
use crate::release::estimates::Estimates;
use crate::release::field::{Field, Word};
use crate::release::output::Answers;
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, PlanSource, Price};
use crate::release::rows::fields::{BOUNDING, TABLE, bounding, private_table, quoted};
use crate::release::rows::integers::Occurrences;
use crate::sql::PrivateQuery;
use crate::sql::analyse::described::Ownership;
use crate::sql::analyse::query::{Computation, Query};
use crate::sql::execute::integers::Integers;
use crate::tables::Backend;
use crate::tables::bounding::Bounds;
use datafusion::common::ScalarValue;
use limit::TableReach;
use listed::FewCells;
use scumble::Target;
use scumble::event::Event;
use scumble::mechanism::anonymized_histogram::{
    AnonymizedHistogram, ElementCount, LayoutChoice, ListedCounts, Partition, Run,
};
use scumble::quantity::{Epsilon, Exact};
use scumble::scope::{AttributeSet, Scope};
use serde_json::{Value, json};
pub(crate) use shown::answers;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What is proven about a layout's error is about so many times what is measured
/// (docs/how-to/anonymized-histograms.md).
const PROVEN_TO_MEASURED: f64 = 3.0;
/// If the number of rows is not declared, each listed value is assumed to have this many, to choose between layouts.
const ASSUMED_ROWS: u64 = 100;

pub(crate) const AT_MOST: Field<Option<u64>> = Field::new(
    "at_most",
    "the public maximum of rows that can count; without it and `public_owners`, a twentieth of the cost estimates it",
);
pub(crate) const LAYOUT: Field<Option<LayoutChoice>> =
    Field::new("layout", "`automatic` (the default), `rows-and-columns`, `strips` or `rows-and-strips`");

/// The layouts of [`LayoutChoice`] whose size does not grow with the data itself.
impl Word for LayoutChoice {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("automatic", Self::Automatic),
        ("rows-and-columns", Self::RowsAndColumns),
        ("strips", Self::Strips),
        ("rows-and-strips", Self::RowsAndStrips),
    ];

    fn unknown(word: &str) -> String {
        let names = Self::WORDS.iter().map(|(name, _)| *name);
        let hint = crate::place::suggestion(word, names.clone());
        format!("unknown layout '{word}'{hint}; layouts are: {}", names.collect::<Vec<_>>().join(", "))
    }
}

/// The kind `anonymized-histogram`.
pub(crate) static KIND: Kind = Kind {
    name: "anonymized-histogram",
    about: "how many values (or owners) occur how often, without the values; also distinct values, coverage, entropy, shares of the most frequent",
    fields: &[
        TABLE.listed(),
        COLUMN.listed(),
        COLUMNS.listed(),
        AT_MOST.listed(),
        LAYOUT.listed(),
        BOUNDING[0],
        BOUNDING[1],
        BOUNDING[2],
    ],
    analyse: |request, project| Ok(AnalysedRequest::new(Elements::new(request, project)?)),
    ..Kind::COMMON
};

impl Analysis for Elements {
    type Mechanism = HistogramMechanism;

    fn at(&self, cost: &Cost) -> Result<Price<HistogramMechanism>> {
        self.within(cost).map(Price::from)
    }

    fn plan(self: Rc<Self>, way: HistogramMechanism, events: Vec<Event>) -> Result<Plan> {
        match way {
            HistogramMechanism::Layout(mechanism) => self.plan_of_layout(mechanism, events),
            HistogramMechanism::Listed(counts, listed) => self.plan_of_listed(counts, listed, events),
        }
    }
}

/// How the counts are noised.
enum HistogramMechanism {
    /// Areas of a Young diagram.
    Layout(AnonymizedHistogram),
    /// Each of few cells.
    Listed(ListedCounts, Rc<FewCells>),
}

/// What has the counts.
#[derive(Debug, Clone, Copy, PartialEq)]
enum CountedElement {
    /// Values, or combinations of them: a cell of the query is one, its count that of rows.
    Values,
    /// Owners: a cell of the query is how many have this many rows.
    Owners,
}

/// The elements that are counted, and how.
struct Elements {
    sql: String,
    cut: Rc<PrivateQuery>,
    counting: CountedElement,
    per_owner: u64,
    attributes: AttributeSet,
    size: ElementCount,
    layout: LayoutChoice,
    /// What tables there are, for limits.
    reach: TableReach,
    /// The cells, where they are few and public.
    listed: Option<Rc<FewCells>>,
}

impl Elements {
    fn new(request: &Request, project: &Project) -> Result<Self> {
        let table = private_table(request, project)?;
        let (sql, cells, place, counting) = match owner(request, table)? {
            Some(place) => (of_owners(table), of_owners(table), place, CountedElement::Owners),
            None => {
                let CountedColumns { names, place, .. } = counted(request, project)?;
                // What does not occur has no part in this answer and is never listed.
                let keys = names.iter().map(|name| format!("CAST({} AS VARCHAR)", quoted(name))).collect::<Vec<_>>();
                let sql = format!("SELECT COUNT(*) AS count FROM {} GROUP BY {}", quoted(&table.name), keys.join(", "));
                let own = names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
                let cells = format!("SELECT COUNT(*) AS count FROM {} GROUP BY {own}", quoted(&table.name));
                (sql, cells, place, CountedElement::Values)
            }
        };
        let bounding = bounding(request)?;
        let cut = crate::sql::analyse_what_occurs(&sql, bounding, project, &Backend::without_data(project)?);
        let cut = cut.map_err(|error| error.without_place().or_at(place))?;
        let per_owner = elements_per_owner(cut.row_bounds());
        let attributes = AttributeSet::new(cut.query.key_attributes.union(&cut.query.rows).cloned())?;
        let public = table.public_owners.map(|owners| owners.saturating_mul(per_owner));
        let at_most = AT_MOST.read(request)?;
        let size = at_most.or(public).map_or(ElementCount::Private, ElementCount::AtMost);
        let layout = LAYOUT.read(request)?.unwrap_or(LayoutChoice::Automatic);
        let listed = match layout {
            LayoutChoice::Automatic => FewCells::new(&cells, bounding, project, counting)?.map(Rc::new),
            _ => None,
        };
        let reach = match counting {
            CountedElement::Owners => TableReach::of_owners(per_owner, table),
            CountedElement::Values => TableReach::of_values(&counted(request, project)?, cut.row_bounds(), at_most),
        };
        Ok(Self { sql, cut: Rc::new(cut), counting, per_owner, attributes, size, layout, reach, listed })
    }

    fn of_layout(&self, cost: &Cost) -> Result<(AnonymizedHistogram, Vec<Event>)> {
        within(cost, self.per_owner, (self.size, self.layout), &self.attributes)
    }

    /// The way with the smaller error, from public numbers alone, and its events.
    fn within(&self, cost: &Cost) -> Result<(HistogramMechanism, Vec<Event>)> {
        let (mechanism, events) = self.of_layout(cost)?;
        if let Some(listed) = &self.listed
            && let Some((counts, own)) = listed.within(cost)?
        {
            let elements = match self.size {
                ElementCount::AtMost(most) => most,
                ElementCount::Private => counts.cells().saturating_mul(ASSUMED_ROWS),
            };
            if counts.expected_error() <= mechanism.expected_error(elements)? / PROVEN_TO_MEASURED {
                return Ok((HistogramMechanism::Listed(counts, Rc::clone(listed)), own));
            }
        }
        Ok((HistogramMechanism::Layout(mechanism), events))
    }

    fn plan_of_layout(self: Rc<Self>, mechanism: AnonymizedHistogram, events: Vec<Event>) -> Result<Plan> {
        let limits = match mechanism.size() {
            ElementCount::AtMost(elements) => {
                self.reach.limits(elements, &events, mechanism.expected_error(elements)?)?
            }
            ElementCount::Private => Vec::new(),
        };
        let source = self.source(&self.cut).holding(of_layout(&mechanism));
        let (rule, expected, charged_for) = (self.rule(&mechanism), vec![expected(&mechanism)], events.clone());
        let plan = Plan::new(source, events, rule, expected, move |charged| {
            let cut = &self.cut;
            let partition = match (self.counting, &cut.below.owner) {
                // The values are never needed, only how many there are of each count.
                (CountedElement::Values, Ownership::EachRow) => of_runs(charged.read(Occurrences(cut))?)?,
                (counting, _) => partition(&cut.query, &charged.read(cut)?, counting)?,
            };
            let released = mechanism.release(&partition, charged.bits())?;
            let elements = shown::elements(&released);
            let limits = self.reach.limits(elements, &charged_for, mechanism.expected_error(elements)?)?;
            Ok(self.in_its_words(answers(&mechanism, &released, limits)?))
        });
        Ok(Plan { limits, ..plan })
    }

    fn plan_of_listed(self: Rc<Self>, counts: ListedCounts, listed: Rc<FewCells>, events: Vec<Event>) -> Result<Plan> {
        let limits = match self.size {
            ElementCount::AtMost(elements) => self.reach.limits(elements, &events, counts.expected_error())?,
            ElementCount::Private => Vec::new(),
        };
        let (source, notes) = (self.source(&listed.cut), vec![listed.note(&counts)]);
        let (rule, expected) = (listed.rule(&counts), vec![listed.expected(&counts)]);
        let plan = Plan::new(source, events, rule, expected, move |charged| {
            let exact = listed.counts(&charged.read(&listed.cut)?, counts.cells());
            let noisy = counts.release(&exact, charged.bits())?;
            Ok(self.in_its_words(shown::of_cells(&counts, &noisy)?))
        });
        Ok(Plan { notes, limits, ..plan })
    }

    fn source(&self, cut: &Rc<PrivateQuery>) -> PlanSource {
        PlanSource::query(cut, Estimates::of(cut.row_bounds(), self.counting == CountedElement::Values))
    }

    /// Answers about values as they are, those about owners in words about owners.
    fn in_its_words(&self, mut answers: Answers) -> Answers {
        if self.counting == CountedElement::Owners {
            say_owners(&mut answers, self.per_owner);
        }
        answers
    }

    fn rule(&self, mechanism: &AnonymizedHistogram) -> Value {
        let query = &self.cut.query;
        json!({
            "sql": self.sql,
            "tables": self.cut.below.tables,
            "bounding": self.cut.row_bounds().map(Bounds::rule),
            "keys": { "attributes": query.key_attributes },
            "filters": { "attributes": query.rows },
            "elements_per_owner": mechanism.elements_per_owner(),
            "epsilon_per_element": mechanism.epsilon_per_element().get(),
            "epsilon_for_size": mechanism.epsilon_for_size().map(Epsilon::get),
            "at_most": match mechanism.size() { ElementCount::AtMost(most) => Some(most), ElementCount::Private => None },
        })
    }
}

/// The mechanism that spends all of the cost and no more, and its events.
///
/// # Guarantee
/// What the events cost in the cost's scope, by the ledger's own rule and in exact arithmetic, is at most the cost.
pub(crate) fn within(
    cost: &Cost,
    per_owner: u64,
    (size, layout): (ElementCount, LayoutChoice),
    attributes: &AttributeSet,
) -> Result<(AnonymizedHistogram, Vec<Event>)> {
    let Goal::Epsilon(epsilon) = &cost.target else {
        let sentence = "the noise of an anonymized histogram has a pure epsilon: write cost = { epsilon = … }";
        return Err(Error::input(sentence));
    };
    let scope = cost.scope().of_owners();
    let mut presence = presence_cost(epsilon.to_f64(), cost.scope(), per_owner as f64, size);
    loop {
        let mechanism = AnonymizedHistogram::within(Target::pure(Epsilon::new(presence)?), Scope::Presence, size)?
            .with_layout(layout);
        let mechanism = mechanism.with_elements_per_owner(per_owner)?;
        let events = mechanism.events(attributes)?;
        match Odometer::of(&events, &scope)?.epsilon(&Exact::zero()) {
            Some(spent) if spent <= *epsilon => return Ok((mechanism, events)),
            // Rounding has gone up somewhere: a few units in the last place less will do.
            _ => presence = presence.next_down(),
        }
    }
}

/// Where the owner's column is asked about, if it is and alone.
fn owner(request: &Request, table: &Table) -> Result<Option<Place>> {
    let one = match (COLUMN.read(request)?, COLUMNS.read(request)?) {
        (Some(one), None) => one,
        (None, Some(mut several)) if several.len() == 1 => several.remove(0),
        _ => return Ok(None),
    };
    Ok((table.owner.as_ref() == Some(&one.value)).then_some(one.place))
}

/// How many owners have how many rows.
fn of_owners(table: &Table) -> String {
    let owner = quoted(table.owner.as_deref().unwrap_or_default());
    let inner = format!("SELECT {owner}, COUNT(*) AS times FROM {} GROUP BY {owner}", quoted(&table.name));
    format!("SELECT times, COUNT(*) AS count FROM ({inner}) GROUP BY times")
}

/// The same answers in words about owners.
fn say_owners(answers: &mut Answers, most: u64) {
    if let Some(first) = answers.notes.first_mut() {
        *first = format!(
            "Each row: how many owners have exactly this many rows. Of each at most {most} count, so that those who have more are among those with {most}; who they are is not published."
        );
    }
    for note in &mut answers.notes {
        *note = note.replace("different values;", "owners;").replace(" occur once", " have one");
    }
}

/// The most rows of one owner that count: each is one element.
fn elements_per_owner(bounds: Option<Bounds>) -> u64 {
    bounds.map_or(1, |bounds| bounds.rows.min(bounds.groups.saturating_mul(bounds.rows_per_group)))
}

/// This many values of each count.
fn of_runs(found: BTreeMap<u64, u64>) -> Result<Partition> {
    Ok(Partition::from_runs(found.into_iter().map(|(count, values)| Run { count, values }))?)
}

/// The exact counts, without the values.
///
/// # Guarantee
/// Whichever rows of an owner count, they add at most [`AnonymizedHistogram::elements_per_owner`] elements.
fn partition(query: &Query, exact: &Integers, counting: CountedElement) -> Result<Partition> {
    let Some(Computation::Count(rows)) = query.aggregates.first() else {
        return Err(Error::machine("the counting query of an anonymized histogram does not count"));
    };
    let numbers = exact.cells.iter().map(|cell| cell.sums.get(*rows).and_then(|sum| u64::try_from(*sum).ok()));
    let numbers = numbers.map(|number| number.unwrap_or(0));
    Ok(match counting {
        CountedElement::Values => Partition::from_counts(numbers)?,
        CountedElement::Owners => {
            let times = exact.keys.iter().map(|key| match key.first() {
                Some(ScalarValue::Int64(Some(times))) => u64::try_from(*times).unwrap_or(0),
                _ => 0,
            });
            let owners = times
                .zip(numbers)
                .flat_map(|(times, owners)| std::iter::repeat_n(times, usize::try_from(owners).unwrap_or(usize::MAX)));
            Partition::from_counts(owners)?
        }
    })
}

pub(crate) fn expected(mechanism: &AnonymizedHistogram) -> ExpectedError {
    let each = mechanism.epsilon_per_element();
    let amount = match mechanism.size() {
        ElementCount::AtMost(elements) => match mechanism.expected_error(elements) {
            Ok(error) => format!("all counts together are off by at most {error:.0}, in expectation"),
            Err(error) => error.to_string(),
        },
        ElementCount::Private if each.get() >= 0.5 => {
            format!("all counts together are off by about 3·√rows·e^−{:.4}", each.get())
        }
        ElementCount::Private => {
            format!("all counts together are off by about 1.3·√(rows·ln(2/ε)/ε), ε = {:.4}", each.get())
        }
    };
    let cost = match mechanism.elements_per_owner() {
        1 => String::new(),
        most => format!("; an owner has up to {most} rows, which costs {most} times what one costs"),
    };
    ExpectedError::new("how_many", None, format!("{amount}{cost}"))
}

/// What the presence of an owner may cost, about, so that the cost is met in its scope. A person who is replaced takes
/// elements away and brings others, which the areas pay twice, but changes their number once: with x per element and s
/// of it for the number, that is c·(2(x − s) + s), where s = x/20 and at most 0.1.
fn presence_cost(cost: f64, scope: CostScope, elements: f64, size: ElementCount) -> f64 {
    match (scope, size) {
        (CostScope::Presence, _) => cost,
        (CostScope::Person | CostScope::Attribute, ElementCount::AtMost(_)) => cost / 2.0,
        (CostScope::Person | CostScope::Attribute, ElementCount::Private) => {
            (cost * 20.0 / 39.0).min((cost + 0.1 * elements) / 2.0)
        }
    }
}

/// See [`Plan::memory`]: of n elements a layout has about 2√n regions, whose noisy areas are projected and sorted.
pub(crate) fn of_layout(mechanism: &AnonymizedHistogram) -> u64 {
    match mechanism.size() {
        ElementCount::AtMost(elements) => elements.isqrt().saturating_mul(400),
        ElementCount::Private => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::execute::integers::integers;
    use crate::support::Folder;
    use crate::tables::hash::Key;

    /// A project whose table has these rows of (owner, value), and the plan of its one release.
    fn counted(
        folder: &Folder,
        rows: &[(u32, &str)],
        bounds: &str,
        column: &str,
        key: Key,
    ) -> (Partition, u64, Vec<Event>) {
        let lines: String = rows.iter().map(|(owner, value)| format!("{owner},{value}\n")).collect();
        folder.write("t.csv", &format!("owner,value\n{lines}"));
        let text = format!(
            "[dataset.t]\nsource = \"t.csv\"\nowner = \"owner\"\n{bounds}\n[dataset.t.columns]\nvalue = {{ type = \"category\" }}\n\
             [[release]]\nname = \"r\"\nkind = \"anonymized-histogram\"\ntable = \"t\"\ncolumns = [\"{column}\"]\ncost = {{ epsilon = 1 }}\n"
        );
        let project = folder.project(&text);
        let request = &project.releases[0];
        let elements = Elements::new(request, &project).unwrap();
        let (mechanism, events) = elements.of_layout(&request.cost).unwrap();
        let backend = Backend::with_data(&project, &["t".to_string()]).unwrap();
        let exact = integers(&elements.cut, &backend, key).unwrap();
        let partition = partition(&elements.cut.query, &exact, elements.counting).unwrap();
        (partition, mechanism.elements_per_owner(), events)
    }

    /// All small tables of three owners against all neighbours in one owner: the counts move by what the noise pays
    /// for, in L1.
    #[test]
    fn an_owner_moves_the_counts_by_the_elements_that_are_paid_for() {
        let folder = Folder::with(&[]);
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
                        let (partition, elements, _) = counted(&folder, &rows, bounds, "value", key);
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

    /// How many owners have how many rows: an owner of 0 to 7 rows with every value, beside others. They come and go as
    /// at most B elements; and B happens. Whatever values the rows have, the counts are the same, so that no attribute
    /// is touched.
    #[test]
    fn an_owner_is_as_many_elements_as_they_have_rows_that_count() {
        let folder = Folder::with(&[]);
        for (bounds, paid) in [
            ("max_rows_per_owner = 1", 1),
            ("max_rows_per_owner = 4", 4),
            ("max_groups_per_owner = 2\nmax_rows_per_group = 3", 6),
            ("max_rows_per_owner = 3\nmax_groups_per_owner = 2\nmax_rows_per_group = 2", 3),
        ] {
            for key in [Key(1, 2), Key(3, 4)] {
                let others = [(1, "a"), (1, "b"), (2, "a"), (2, "a"), (2, "c"), (3, "a")];
                let of = |values: &[&str]| {
                    let own = values.iter().map(|value| (9, *value));
                    let rows: Vec<(u32, &str)> = others.into_iter().chain(own).collect();
                    let (partition, elements, events) = counted(&folder, &rows, bounds, "owner", key);
                    assert_eq!(elements, paid, "{bounds}");
                    assert!(events.iter().all(|event| event.moves().parts().2.is_empty()), "no attribute moves it");
                    partition
                };
                let tables: Vec<Partition> = (0..8).map(|rows| of(&vec!["a"; rows])).collect();
                for (rows, one) in tables.iter().enumerate() {
                    let expected = (rows as u64).min(paid);
                    assert_eq!(tables[0].distance(one), expected, "{bounds}: {rows} rows");
                    for other in &tables {
                        assert!(one.distance(other) <= paid, "{bounds}: a person who is replaced: {one:?} {other:?}");
                    }
                }
                assert_eq!(
                    of(&["a", "b", "c", "d"]).distance(&tables[4]),
                    0,
                    "{bounds}: which values makes no difference"
                );
            }
        }
    }
}
