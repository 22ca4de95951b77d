//! Kind `exact-if-stable`: where a count stands (whether it reaches a limit, between which round numbers it is), for
//! each key if there are some, or which key has the largest count: exactly, or nothing.
//!
//! A count itself changes with every row. What does not is whether it is at least a limit, or which step of a scale it
//! is on: how far the data is from another answer follows from the count, and how far one owner moves a count follows
//! from the plan of the query. So it is with a key that leads another.
//!
//! *Distances.* One owner moves a count by at most Δ, in every scope. A count that must change by m until something
//! else is true is at least ⌈m/Δ⌉ owners away, and that moves by at most 1 with each owner. A lead of m (one more where
//! the rival would lose a tie) is at least ⌈m/2Δ⌉ owners away: the leader may lose Δ and a rival win Δ. With Δ = 1 this
//! is the distance of \[TS13\]'s mode, exactly. A key of an unknown domain is 0 owners away from not being there where
//! its count is 0: it counts no further than ⌈count/Δ⌉.

mod asked;
mod counting;

use super::mode::CHARGED;
use super::sql::{cell, rows_without_a_key};
use crate::error::{Error, Result};
use crate::project::{Cost, Project, Request};
use crate::release::Kind;
use crate::release::estimates::Estimates;
use crate::release::field::ListedField;
use crate::release::output::{AnswerColumn, Answers, BETA, Cell, ColumnKind, Details, check_names};
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, PlanSource, Price};
use crate::release::price::fitted::{FittedCost, budget_delta};
use crate::release::rows::fields::BOUNDING;
use crate::sql::execute::integers::Integers;
use asked::{AT_LEAST, LARGEST, ROUNDED_TO, Scale, StableQuestion};
use counting::{CountQuery, SQL, StableKeyColumn, TABLE, WHERE};
use scumble::event::Event;
use scumble::mechanism::smooth::OwnerSteps;
use scumble::mechanism::stable_value::{KeyDomain, StableValue, mode};
use scumble::noise::{BitSource, tape};
use scumble::quantity::{Beta, Exact};
use scumble::scope::Scope;
use serde_json::json;
use std::collections::BTreeMap;
use std::rc::Rc;

const FIELDS: [ListedField; 9] = [
    TABLE.listed(),
    WHERE.listed(),
    SQL.listed(),
    AT_LEAST.listed(),
    ROUNDED_TO.listed(),
    LARGEST.listed(),
    BOUNDING[0],
    BOUNDING[1],
    BOUNDING[2],
];

/// The kind `exact-if-stable`.
pub(crate) static KIND: Kind = Kind {
    name: "exact-if-stable",
    about: "whether a count reaches a limit, which round numbers it lies between, or which key has the largest count: exactly, if it takes many owners to change it; otherwise nothing, at the same cost. Needs a delta",
    fields: &FIELDS,
    analyse,
    ..Kind::COMMON
};

/// The column that says whether there is an answer.
const IS_PUBLISHED: &str = "is_published";
/// With a smaller ε for each key its list of probabilities is too long.
const MOST_STEPS: f64 = 1e6;

fn analyse(request: &Request, project: &Project) -> Result<AnalysedRequest> {
    let asked = StableQuestion::read(request)?;
    let counting = CountQuery::read(request, project)?;
    if asked == StableQuestion::Largest && counting.keys.is_empty() {
        return Err(
            LARGEST.error(request, "largest is for a query with GROUP BY: without keys there is one count only")
        );
    }
    let stability = Rc::new(Stability { asked, counting });
    check_names(stability.names().iter().map(|name| (name.as_str(), false)))
        .map_err(|error| error.or_at(SQL.place(request)))?;
    let budget_delta = budget_delta(project);
    Ok(AnalysedRequest::new(ExactIfStableAnalysis { stability, budget_delta }))
}

/// A value that is published exactly where it is stable.
struct ExactIfStableAnalysis {
    stability: Rc<Stability>,
    budget_delta: Option<Exact>,
}

impl Analysis for ExactIfStableAnalysis {
    type Mechanism = StableValue;

    fn at(&self, cost: &Cost) -> Result<Price<StableValue>> {
        let fitting = FittedCost::new(KIND.name, cost, self.budget_delta.as_ref())?;
        fitting.needs_delta("a value that is published exactly")?;
        self.stability.priced(&fitting).map(Price::from)
    }

    fn plan(self: Rc<Self>, stable: StableValue, events: Vec<Event>) -> Result<Plan> {
        let (stability, counting) = (Rc::clone(&self.stability), &self.stability.counting);
        let needed = stability.needed(&stable)?;
        let (about, cut) = (stability.about(needed), &counting.cut);
        let columns = stability.asked.names(counting).into_iter();
        let expected = columns.map(|column| ExpectedError::new(column, None, about.clone())).collect();
        let rule = json!({
            "sql": counting.sql, "tables": cut.below.tables, "filters": { "attributes": cut.query.rows },
            "unit": counting.unit, "keys": counting.keys.iter().map(|key| &key.name).collect::<Vec<_>>(),
            "lists_keys": counting.lists_keys(), "rows_per_owner": counting.per_owner, "rows_for_95_percent": needed,
        });
        let notes = stability.notes(needed);
        let source = PlanSource::query(cut, Estimates::of(cut.row_bounds(), !cut.row_keys().is_empty()));
        let plan = Plan::new(source, events, rule, expected, move |charged| {
            let exact = charged.read(&stability.counting.cut)?;
            let StableAnswer { columns, note } = stability.found(&exact, &stable, charged.bits())?;
            let mut notes = vec![note];
            notes.extend(rows_without_a_key(&stability.counting.cut.query.keys));
            Ok(Answers { columns, notes, details: Details { kinds: stability.kinds(), ..Details::default() } })
        });
        Ok(Plan { notes, ..plan })
    }
}

/// Counts, and what is published of them.
struct Stability {
    asked: StableQuestion,
    counting: CountQuery,
}

/// What is published: a line for each key, or one.
struct StableAnswer {
    columns: Vec<AnswerColumn>,
    note: String,
}

impl Stability {
    /// The mechanism that the cost pays for, and its events.
    fn priced(&self, fitting: &FittedCost<'_>) -> Result<(StableValue, Vec<Event>)> {
        let one = OwnerSteps::one().reading(self.counting.attributes()?);
        if self.counting.keys.is_empty() || self.asked == StableQuestion::Largest {
            return fitting.fit(&one, |step| {
                let stable = StableValue::within(step.target()?, Scope::Presence, &OwnerSteps::one())?;
                let events = stable.events(&one)?;
                Ok((stable, events))
            });
        }
        let moved = &self.counting.moved;
        let keys = moved.shifts(fitting.scope()).iter().map(|shift| shift.cells).fold(1, u64::max);
        let whole = fitting.whole();
        let steps = 2.0 * (keys as f64 / whole.delta).ln().max(1.0) * keys as f64 / whole.epsilon;
        if u32::try_from(keys).is_err() || steps.is_nan() || steps > MOST_STEPS {
            return Err(Error::input(format!(
                "one owner moves the answers of up to {keys} keys, and the cost is too small to be divided among so many: lower max_groups_per_owner, or raise epsilon"
            )));
        }
        fitting.fit(&one, |step| {
            let stable = StableValue::within_several(step.target()?, fitting.scope(), moved)?;
            let events = stable.events_moving(moved)?;
            Ok((stable, events))
        })
    }

    /// The names of all published columns.
    fn names(&self) -> Vec<String> {
        let keys = self.counting.keys.iter().map(|key| key.name.clone());
        let scale = match self.asked {
            StableQuestion::Where(_) => self.asked.names(&self.counting),
            StableQuestion::Largest => Vec::new(),
        };
        keys.chain(scale).chain([IS_PUBLISHED.to_string()]).collect()
    }

    /// What the cells of its columns are, also where nothing is published.
    fn kinds(&self) -> BTreeMap<String, ColumnKind> {
        let kind = |key: &StableKeyColumn| ColumnKind::of(&self.counting.cut.query.keys[key.place].kind);
        let keys = self.counting.keys.iter().map(|key| (key.name.clone(), kind(key)));
        let scale = match self.asked {
            StableQuestion::Where(scale) => scale.columns(&[Some(0)]),
            StableQuestion::Largest => Vec::new(),
        };
        keys.chain(scale.into_iter().map(|column| (column.name.clone(), column.own_kind()))).collect()
    }

    /// By how much one owner moves what decides: a count, or the lead of one over another.
    fn per_owner(&self) -> u64 {
        match self.asked {
            StableQuestion::Where(_) => self.counting.per_owner,
            StableQuestion::Largest => self.counting.per_owner.saturating_mul(2),
        }
    }

    /// How many owners must come, go or be replaced until something else is true of this count.
    ///
    /// # Guarantee
    /// One of them moves the count by at most `per_owner`, hence this by at most 1; where one changes what is true,
    /// this is 1 on both sides, and 0 where the key does not occur.
    fn distance(&self, scale: Scale, count: u64) -> u64 {
        let away = scale.distance(count);
        let away = if self.counting.lists_keys() { away } else { away.min(count) };
        away.div_ceil(self.per_owner())
    }

    /// The key with the largest count, by its place, and how many owners it takes until it is another; none where
    /// nobody has a key.
    ///
    /// # Guarantee
    /// As for [`Stability::distance`]: a lead moves by at most `per_owner` with one owner.
    fn leader(&self, counts: &[u64]) -> (Option<usize>, u64) {
        let keys = if self.counting.lists_keys() { KeyDomain::Public } else { KeyDomain::Unknown };
        let found = mode(counts, keys);
        // As for owners that come or go one by one: the least lead, with ties.
        (found.map(|found| found.key), found.map_or(0, |found| found.presence.div_ceil(self.per_owner())))
    }

    /// What is published of these integers: all that is drawn is drawn here.
    fn found(&self, exact: &Integers, stable: &StableValue, bits: &mut dyn BitSource) -> Result<StableAnswer> {
        let counts = self.counting.counts(exact)?;
        match self.asked {
            StableQuestion::Where(scale) => {
                let mut published = Vec::with_capacity(counts.len());
                for (count, key) in counts.iter().zip(&exact.keys) {
                    // A replay knows a key that is not public again by its name, as it may be one of more or fewer.
                    tape::about(bits, || (!self.counting.lists_keys()).then(|| format!("{key:?}")));
                    published.push(stable.release(*count, self.distance(scale, *count), bits)?);
                }
                tape::about(bits, || None);
                Ok(self.each(scale, exact, &published))
            }
            StableQuestion::Largest => {
                let (leader, distance) = self.leader(&counts);
                Ok(self.largest(exact, stable.release(leader, distance, bits)?.flatten()))
            }
        }
    }

    /// The answer where of these cells this is published.
    fn each(&self, scale: Scale, exact: &Integers, published: &[Option<u64>]) -> StableAnswer {
        // Of a key that is not public, it is not even said that it occurs.
        let is_shown = |line: &usize| self.counting.lists_keys() || published[*line].is_some();
        let shown: Vec<usize> = (0..published.len()).filter(is_shown).collect();
        let counts: Vec<Option<u64>> = shown.iter().map(|line| published[*line]).collect();
        let lines: Vec<Option<usize>> = shown.into_iter().map(Some).collect();
        let mut columns = self.key_columns(exact, &lines);
        columns.extend(scale.columns(&counts));
        columns.push(is_published(counts.iter().map(Option::is_some)));
        StableAnswer { columns, note: scale.note(&counts, &self.counting) }
    }

    /// The answer where this key is published, by its place, or none.
    fn largest(&self, exact: &Integers, found: Option<usize>) -> StableAnswer {
        let mut columns = self.key_columns(exact, &[found]);
        columns.push(is_published([found.is_some()].into_iter()));
        let unit = self.counting.unit;
        let note = match found {
            Some(_) => format!("This key has the largest number of counted {unit}, exactly; how many is not said."),
            None => format!("Nothing is published: no key may lead by enough {unit}. {CHARGED}"),
        };
        StableAnswer { columns, note }
    }

    /// The keys of these lines; nothing where there is none.
    fn key_columns(&self, exact: &Integers, lines: &[Option<usize>]) -> Vec<AnswerColumn> {
        let value = |line: usize, place: usize| cell(&exact.keys[line][place]);
        let cells = |place| lines.iter().map(move |line| line.map_or(Cell::Null, |line| value(line, place)));
        self.counting.keys.iter().map(|key| AnswerColumn::plain(&key.name, cells(key.place))).collect()
    }

    /// With which distance, in what is counted, something is published with probability 95%.
    fn needed(&self, stable: &StableValue) -> Result<u64> {
        Ok(stable
            .published_from(Beta::new(BETA)?)?
            .saturating_sub(1)
            .saturating_mul(self.per_owner())
            .saturating_add(1))
    }

    /// From where on something is published.
    fn about(&self, needed: u64) -> String {
        let (unit, start) = (self.counting.unit, "exact, or not published; published with probability 95% if");
        match (self.asked, self.counting.lists_keys()) {
            (StableQuestion::Where(_), true) => {
                format!("{start} {needed} {unit} or more must come or go until something else is true")
            }
            (StableQuestion::Where(_), false) => format!(
                "{start} {needed} {unit} or more must come or go until something else is true of the key, which must have as many: keys are not public"
            ),
            (StableQuestion::Largest, _) => format!("{start} it has {needed} {unit} more than any other"),
        }
    }

    /// What else somebody should know beforehand.
    fn notes(&self, needed: u64) -> Vec<String> {
        let unit = self.counting.unit;
        let mut notes = Vec::new();
        if let StableQuestion::Where(Scale::Rounded(step)) = self.asked
            && step / 2 < needed
        {
            notes.push(format!(
                "Hardly any count of {step} or more will be published: none is further than {} {unit} from another multiple of {step}, and {needed} are needed. Round to {} or more, or raise epsilon.",
                step / 2,
                needed.saturating_mul(4)
            ));
        }
        notes.push("The cost is charged also if nothing is published.".to_string());
        notes
    }
}

fn is_published(lines: impl Iterator<Item = bool>) -> AnswerColumn {
    AnswerColumn::plain(IS_PUBLISHED, lines.map(Cell::Truth))
}

#[cfg(test)]
mod tests;
