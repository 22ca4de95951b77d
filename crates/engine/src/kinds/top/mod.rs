//! Kind `top`: the most frequent values of a column, of a domain that is known, unknown, or too large to be listed.

mod way;

use super::counted::{COLUMN, COLUMNS, CountedColumns, MAX_BYTES, counted};
use super::sql::{cell, rows_without_a_key};
use crate::error::{Error, Result};
use crate::place::Place;
use crate::project::{Bounding, Cost, Domain, Project, Request, Table};
use crate::release::Kind;
use crate::release::estimates::Estimates;
use crate::release::field::{Field, ListedField, PlacedValue, Word};
use crate::release::output::{AnswerColumn, Answers, Cell, Details, Uncertainty, check_names};
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, PlanSource, Price};
use crate::release::price::noise::described;
use crate::release::rows::fields::{BOUNDING, TABLE, bounding, private_table, quoted};
use crate::sql::analyse::sensitivity;
use crate::sql::{PrivateQuery, analyse as analysed, analyse_what_occurs};
use crate::tables::Backend;
use datafusion::common::ScalarValue;
use scumble::event::{Event, Moves};
use scumble::mechanism::huge_domain::StringDomain;
use scumble::quantity::Exact;
use scumble::scope::AttributeSet;
use serde_json::{Value, json};
use std::rc::Rc;
pub(crate) use way::SPURIOUS;
use way::TopMechanism;

const NUMBER: Field<Option<PlacedValue<u64>>> = Field::new("number", "how many values; either this or `lead`");
const LEAD: Field<Option<PlacedValue<u64>>> = Field::new(
    "lead",
    "as many values (up to 1000) as the cost pays for, if a lead of this many owners over the next suffices; the data does not decide",
);
const METHOD: Field<Option<TopMethod>> = Field::new(
    "method",
    "`counts` (publishes noisy numbers of owners; pays for every value of an owner), `gap` (publishes noisy leads over the next value; pays for `number`, however many values an owner has) or `auto` (the default: less noise)",
);

/// The most values that are given.
const MOST: u64 = 1000;

/// The kind `top`.
pub(crate) static KIND: Kind = Kind {
    name: "top",
    about: "the most frequent values of a column, by the number of their owners. Unlisted values need a delta",
    fields: &FIELDS,
    analyse,
    ..Kind::COMMON
};

const FIELDS: [ListedField; 9] = [
    TABLE.listed(),
    COLUMN.listed(),
    COLUMNS.listed(),
    NUMBER.listed(),
    LEAD.listed(),
    METHOD.listed(),
    MAX_BYTES.listed(),
    BOUNDING[0],
    BOUNDING[1],
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TopMethod {
    Counts,
    Gap,
    Auto,
}

impl Word for TopMethod {
    const WORDS: &'static [(&'static str, Self)] =
        &[("counts", Self::Counts), ("gap", Self::Gap), ("auto", Self::Auto)];

    fn unknown(_: &str) -> String {
        "method must be 'counts', 'gap' or 'auto'".to_string()
    }
}

/// How many values.
#[derive(Debug, Clone, Copy)]
enum TopTarget {
    Number(u64),
    /// As many as stand out by this lead.
    Lead(u64),
}

/// What can occur.
#[derive(Debug, Clone)]
enum TopValues {
    /// This many, all of them public.
    Listed(u64),
    Unknown,
    Texts(StringDomain),
}

/// How many owners have each value.
struct Scores {
    cut: Rc<PrivateQuery>,
    table: String,
    names: Vec<String>,
    values: TopValues,
    /// How far the numbers move, each by at most 1.
    moves: Moves,
    /// How many values one owner may have.
    keys: u64,
    /// The attributes whose change is a replaced owner's.
    read: AttributeSet,
    default_delta: Option<Exact>,
}

fn analyse(request: &Request, project: &Project) -> Result<AnalysedRequest> {
    let scores = Scores::new(request, project)?;
    let (wanted, method) = (wanted(request, &scores)?, METHOD.read(request)?.unwrap_or(TopMethod::Auto));
    let place = counted(request, project)?.place;
    Ok(AnalysedRequest::new(TopAnalysis { scores, wanted, method, place }))
}

/// The most frequent values of a column.
struct TopAnalysis {
    scores: Scores,
    wanted: TopTarget,
    method: TopMethod,
    place: Place,
}

impl Analysis for TopAnalysis {
    type Mechanism = TopMechanism;

    fn at(&self, cost: &Cost) -> Result<Price<TopMechanism>> {
        let way = self.scores.within(cost, self.wanted, self.method)?;
        let columns = self.scores.names.iter().map(|name| (name.as_str(), false));
        check_names(columns.chain([(way.column(), true)])).map_err(|error| error.or_at(self.place.clone()))?;
        Ok(Price { events: way.events.clone(), mechanism: way })
    }

    fn plan(self: Rc<Self>, way: TopMechanism, events: Vec<Event>) -> Result<Plan> {
        let scores = &self.scores;
        let found = ExpectedError::new(scores.names.join(", "), None, way.promise());
        let (error, about) = (way.noise.standard_deviation(), "the same for every value, whatever the data");
        let number = ExpectedError::new(way.column(), Some(error), about);
        let expected = vec![found, number.with_margin(way.half_width())];
        let (rule, notes) = (scores.rule(&way), vec![scores.note(&way)]);
        let source = PlanSource::query(&scores.cut, Estimates::of(scores.cut.row_bounds(), true));
        let tables = vec![scores.table.clone()];
        let plan = Plan::new(source, events, rule, expected, move |charged| {
            let Scores { cut, names, values, .. } = &self.scores;
            let integers = charged.read(cut)?;
            let owners = integers.cells.iter().map(|cell| i64::try_from(cell.sums[0]).unwrap_or(i64::MAX));
            let scored: Vec<(Vec<ScalarValue>, i64)> = integers.keys.into_iter().zip(owners).collect();
            let found = way.release(values, &scored, charged.bits())?;
            Ok(answers(names, &way, cut, found))
        });
        Ok(Plan { notes, tables, ..plan })
    }
}

fn wanted(request: &Request, scores: &Scores) -> Result<TopTarget> {
    match (NUMBER.read(request)?, LEAD.read(request)?) {
        (Some(number), None) if number.value > MOST => {
            Err(number.error(format!("number may be at most {MOST}, not {}", number.value)))
        }
        (Some(number), None) if number.value > scores.most() => Err(number.error(format!(
            "there are only {} values, so the most frequent {} are no choice: ask for at most {}, or for a histogram",
            scores.most() + 1,
            number.value,
            scores.most().max(1)
        ))),
        (Some(number), None) => Ok(TopTarget::Number(number.value)),
        (None, Some(lead)) if scores.most() == 0 => Err(lead.error("there is only one value, so there is no choice")),
        (None, Some(lead)) => Ok(TopTarget::Lead(lead.value)),
        (Some(_), Some(lead)) => Err(lead.error("give number or lead, not both")),
        (None, None) => Err(request
            .fields
            .error("say how many values: number = 10, or lead = 100 for as many as the cost pays for at that lead")),
    }
}

impl Scores {
    fn new(request: &Request, project: &Project) -> Result<Self> {
        let table = private_table(request, project)?;
        let CountedColumns { names, place, .. } = counted(request, project)?;
        let texts = texts(request, table, &names)?;
        let columns = names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let owners = table.owner.as_ref().map_or("*".to_string(), |owner| format!("DISTINCT {}", quoted(owner)));
        // Longer than the name of any of the columns, and so none of them.
        let count = quoted(&format!("{}#", names.join("#")));
        let sql =
            format!("SELECT {columns}, COUNT({owners}) AS {count} FROM {} GROUP BY {columns}", quoted(&table.name));
        let backend = Backend::without_data(project)?;
        let bounds = bounds(request, table)?;
        let cut = match &texts {
            Some(_) => analyse_what_occurs(&sql, bounds, project, &backend),
            None => analysed(&sql, bounds, project, &backend),
        };
        let cut = cut.map_err(|error| error.or_at(place.clone()))?;
        let query = &cut.query;
        let measure = query.measures.first().ok_or_else(|| Error::machine("a count without a measure"))?;
        let values = match (texts, query.cells()) {
            (Some(texts), _) => TopValues::Texts(texts),
            (None, Some(cells)) => TopValues::Listed(cells),
            (None, None) => TopValues::Unknown,
        };
        Ok(Self {
            moves: sensitivity::moves(measure, query)?,
            keys: sensitivity::keys_per_owner(query),
            read: AttributeSet::new(query.key_attributes.union(&query.rows).cloned())?,
            table: table.name.clone(),
            names,
            values,
            default_delta: project.budget.smallest_delta(),
            cut: Rc::new(cut),
        })
    }

    /// The largest number that leaves something out.
    fn most(&self) -> u64 {
        match self.values {
            TopValues::Listed(values) => values.saturating_sub(1).min(MOST),
            _ => MOST,
        }
    }

    /// The way that the cost pays for.
    fn within(&self, cost: &Cost, wanted: TopTarget, method: TopMethod) -> Result<TopMechanism> {
        let lead = match wanted {
            TopTarget::Number(number) => return self.way(cost, number, method),
            TopTarget::Lead(lead) => lead as f64,
        };
        // More values need a longer lead: the most that this one is enough for, by public numbers alone.
        let mut best = self.way(cost, 1, method)?;
        if best.needed.get() > lead {
            return Err(Error::input(format!(
                "at this cost not even one value is sure to be found by a lead of {lead}: it takes {}; raise lead or the cost",
                best.needed.get()
            )));
        }
        let (mut fits, mut too_many) = (1, self.most() + 1);
        while fits + 1 < too_many {
            let middle = fits + (too_many - fits) / 2;
            let way = self.way(cost, middle, method)?;
            if way.needed.get() > lead {
                too_many = middle;
            } else {
                (fits, best) = (middle, way);
            }
        }
        Ok(best)
    }

    fn way(&self, cost: &Cost, number: u64, method: TopMethod) -> Result<TopMechanism> {
        match method {
            TopMethod::Counts => TopMechanism::counts(self, cost, number),
            TopMethod::Gap => TopMechanism::gap(self, cost, number),
            TopMethod::Auto => {
                let (counts, gap) = (TopMechanism::counts(self, cost, number)?, TopMechanism::gap(self, cost, number)?);
                let is_better = gap.noise.standard_deviation() < counts.noise.standard_deviation();
                Ok(if is_better { gap } else { counts })
            }
        }
    }

    fn note(&self, way: &TopMechanism) -> String {
        let values = |number: u64| if number == 1 { "1 value".to_string() } else { format!("{number} values") };
        let which = match way.method {
            TopMethod::Gap => format!(
                "The noise is on what each of the best {} leads the next value by, and covers {}.",
                way.number,
                values(way.number)
            ),
            _ => format!(
                "The noise is on every value's number of owners, and covers {} of one owner.",
                values(self.keys)
            ),
        };
        format!("{which} {}", way.promise_sentence())
    }

    fn rule(&self, way: &TopMechanism) -> Value {
        let bounds = self.cut.row_bounds();
        let needed = way.threshold.map(|_| way.needed.json());
        json!({
            "table": self.table, "columns": self.names, "method": way.name(), "number": way.number,
            "values": match &self.values {
                TopValues::Listed(values) => json!(values),
                TopValues::Unknown => json!("unknown"),
                TopValues::Texts(texts) => json!({ "texts": (texts.last() + 1).to_string() }),
            },
            "noise": described(&way.noise), "threshold": way.threshold, "delta": way.delta, "keys": needed,
            "bounding": bounds.map(|bounds| json!({ "groups_per_owner": bounds.groups, "rows_per_owner": bounds.rows })),
        })
    }
}

/// The bounds of owners, where each group is a value that they have.
fn bounds(request: &Request, table: &Table) -> Result<Bounding> {
    let own = bounding(request)?.or(table.bounding);
    if table.owner.is_none() {
        return Ok(own);
    }
    let rows = own.all_rows();
    Ok(Bounding { rows: Some(rows), groups: Some(own.groups.unwrap_or(rows)), ..own })
}

/// The domain of all texts, if that is asked for.
pub(crate) fn texts(request: &Request, table: &Table, names: &[String]) -> Result<Option<StringDomain>> {
    let Some(bytes) = MAX_BYTES.read(request)? else { return Ok(None) };
    let column = names.first().and_then(|name| table.column(name));
    if names.len() != 1 || !matches!(column.map(|column| &column.domain), Some(Domain::Category { values: None })) {
        return Err(bytes.error("max_bytes is for one column of type category whose values are not listed"));
    }
    let texts = StringDomain::up_to(usize::try_from(bytes.value).unwrap_or(usize::MAX));
    Ok(Some(texts.map_err(|_| bytes.error(format!("max_bytes must be 1 to 17, not {}", bytes.value)))?))
}

fn answers(names: &[String], way: &TopMechanism, cut: &PrivateQuery, found: Vec<(Vec<Cell>, i64)>) -> Answers {
    let value =
        |(index, name): (usize, &String)| AnswerColumn::plain(name, found.iter().map(|(key, _)| key[index].clone()));
    let (standard_error, half) = (way.noise.standard_deviation(), way.half_width());
    let noisy = found.iter().map(|(_, number)| {
        (Cell::Whole(i128::from(*number)), Uncertainty::around(*number as f64, standard_error, half))
    });
    let noisy = AnswerColumn::noisy(way.column(), noisy);
    let columns = names.iter().enumerate().map(value).chain([noisy]).collect();
    let mut notes = vec![way.promise_sentence(), way.meaning()];
    notes.extend(rows_without_a_key(&cut.query.keys));
    Answers { columns, notes, details: Details::default() }
}
