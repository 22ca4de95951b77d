//! What bounding cuts off, said privately: the field `bounding_report`.
//!
//! Let g groups, r rows in each and R rows in all be what counts of an owner, and g′, r′, R′ wider bounds, which are
//! public too. A share of the release's cost buys, each with noise of its own:
//! - beside each cell each measure (count or sum) that a published number is computed from, under the wider bounds. An
//!   owner within the wider bounds is in it with all of its rows, so that, if there is no other, it is the number of
//!   the whole table, and its noise is all that the interval has to cover;
//! - of the whole table: the rows that count and those that are cut off, the groups that count and those that are cut
//!   off (pairs of an owner and a group), and the owners who have more than the wider bounds. No rows beyond the wider
//!   bounds are in any of these, because nobody can say privately how many there are: one owner may have any number of
//!   them. How many such owners there are at most is said instead.
//!
//! # Sensitivity
//! The numbers beside the cells are the measures of the same query with other bounds: [`sensitivity::moves`] holds for
//! them as it stands, and is proved and tested for every bounds. Each number of the whole table is a sum over owners of
//! some f(owner) with 0 ≤ f ≤ m, where f depends on how many rows the owner has in which group and on the hash key
//! ([`Contribution`]); this is a function of the keys of the owner's rows, and of no value that is summed. So
//! - presence: it moves by at most m;
//! - person: f(one) − f(other) lies in \[−m, m\]: by at most m as well;
//! - attributes of keys, filters and joins: the same; other attributes do not move it.
//!
//! Here m is min(R′, g′r′) − 1 for the rows cut off, because at least one row counts of every owner who has any, and
//! min(R, gr) for those that count; g′ − 1 and min(g, R) for groups; 1 for owners beyond. The number cut off is never
//! negative: min(R, Σ_{i≤g} min(nᵢ, r)) grows with each of g, r and R, and an owner counts in no more groups than it
//! has.
//!
//! # What the interval covers
//! Let b be a measure of the bounded table, w the same under the wider bounds, a that of all rows, and let no row add
//! less than nothing. Then b ≤ a, and w = a where nobody has more than the wider bounds. The interval from
//! max(w̃ − q₂, b̃ − q₁) to max(w̃ + q₂, b̃ + q₁), where w̃ misses w by more than q₂ on either side with probability
//! 1.75% each, and b̃ misses b by more than q₁ on either side with probability 1.5% each, holds a with probability 95%
//! then: it lies too high with probability 3.25%, and too low with 1.75%. Its lower end may lie above b̃: it is not
//! about b. Where rows may add and take away, it is w̃ ± the 95% quantile. What is computed from several measures (AVG,
//! VAR, CORR, quotients, …) has the interval that a release of the wider table with the report's noise would have. Of
//! owners with more than the wider bounds it holds what these let count, and where there are some for certain, it has
//! no end on the side to which rows add, and a mean may be anything within its declared bounds. Where the report does
//! not say for certain that rows are cut off, each interval is made to reach to the number beside it: it holds a with
//! no less probability.

mod computed;
mod said;

use computed::ComputedColumn;
pub(crate) use said::ShareCut;
pub(crate) use said::{BoundingLook, BoundingTally};

use super::QueryMechanism;
use crate::error::{Error, Result};
use crate::project::{Bounding, Goal, Spot, within_reason};
use crate::release::estimates::number;
use crate::release::field::{Field, FieldForm};
use crate::release::plan::ExpectedError;
use crate::release::price::noise::{CostShare, Noise, described};
use crate::sql::PrivateQuery;
use crate::sql::above::Output;
use crate::sql::analyse::query::{Computation, Query};
use crate::sql::analyse::sensitivity;
use crate::tables::bounding::Bounds;
use scumble::event::{Event, Moves};
use scumble::quantity::Exact;
use serde_json::{Value, json};

/// The field.
pub(crate) const REPORT: Field<Option<BoundingRequest>> = Field::new(
    "bounding_report",
    "`{ share = 0.05 }` spends this share of the cost on what the bounds cut off, and makes intervals about all rows; its own `max_…` keys say how much of an owner it looks at (default: 16 times the release's)",
);

/// How many times the bounds of the release the report looks at, unless it has bounds of its own.
const TIMES: u64 = 16;

/// What a request says.
pub(crate) struct BoundingRequest {
    share: Exact,
    bounding: Bounding,
    spot: Spot,
}

impl FieldForm for BoundingRequest {
    const NAME: &'static str = "table";

    fn schema() -> Value {
        let whole = json!({ "type": "integer", "minimum": 1 });
        json!({
            "type": "object",
            "properties": {
                "share": { "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 },
                "max_rows_per_owner": whole, "max_groups_per_owner": whole, "max_rows_per_group": whole,
            },
            "required": ["share"],
            "additionalProperties": false,
        })
    }

    fn read(spot: &Spot) -> Result<Self> {
        let section = spot.section()?;
        section.only(&["share", "max_rows_per_owner", "max_groups_per_owner", "max_rows_per_group"])?;
        let given = section.need("share")?;
        let share = given.exact()?;
        if share <= Exact::zero() || share >= Exact::from_f64(1.0)? {
            return Err(given.error("the share of the cost must be above 0 and below 1, such as 0.05"));
        }
        let bound = |name: &str| section.get(name).map(Spot::at_least_one).transpose();
        let bounding = Bounding {
            rows: bound("max_rows_per_owner")?,
            groups: bound("max_groups_per_owner")?,
            rows_per_group: bound("max_rows_per_group")?,
        };
        Ok(Self { share, bounding: within_reason(bounding, section)?, spot: spot.clone() })
    }
}

/// A number of the whole table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    RowsCut,
    RowsKept,
    GroupsCut,
    GroupsKept,
    Beyond,
}

impl Number {
    const ROWS: [Self; 3] = [Self::RowsCut, Self::RowsKept, Self::Beyond];
    pub const ALL: [Self; 5] = [Self::RowsCut, Self::RowsKept, Self::GroupsCut, Self::GroupsKept, Self::Beyond];

    /// m: the most that one owner adds.
    pub fn most(self, bounds: Bounds, wide: Bounds) -> u64 {
        match self {
            // At least one row counts of every owner who has rows.
            Self::RowsCut => (most_rows(wide) - 1).max(1),
            Self::RowsKept => most_rows(bounds),
            Self::GroupsCut => (wide.groups.min(wide.rows) - 1).max(1),
            Self::GroupsKept => bounds.groups.min(bounds.rows),
            Self::Beyond => 1,
        }
    }

    /// How much of the report's share it has, where the numbers beside cells have [`PORTION_OF_CELLS`]: most where the
    /// noise is largest.
    fn portion(self) -> u64 {
        match self {
            Self::RowsCut | Self::Beyond => 3,
            Self::GroupsCut => 2,
            Self::RowsKept | Self::GroupsKept => 1,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::RowsCut => "rows cut off",
            Self::RowsKept => "rows that count",
            Self::GroupsCut => "groups of owners cut off",
            Self::GroupsKept => "groups of owners that count",
            Self::Beyond => "owners beyond the report's bounds",
        }
    }
}

/// The portion of all numbers beside cells together.
const PORTION_OF_CELLS: u64 = 10;

fn most_rows(bounds: Bounds) -> u64 {
    bounds.rows.min(bounds.groups.saturating_mul(bounds.rows_per_group))
}

/// A published column whose interval the report makes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WidenedColumn {
    pub column: String,
    pub measure: usize,
    /// What a unit of the measure is in the column.
    pub step: f64,
    /// Its place among the numbers beside cells.
    pub beside: usize,
}

/// An analysed bounding report: everything about it that does not depend on its cost.
#[derive(Debug, Clone)]
pub(crate) struct BoundingReport {
    share: Exact,
    pub bounds: Bounds,
    pub wide: Bounds,
    grouped: bool,
    /// The measures that are counted under the wider bounds too, each once.
    pub measures: Vec<usize>,
    pub columns: Vec<WidenedColumn>,
    /// The published columns that are computed from counts and sums in another way.
    pub computed: Vec<ComputedColumn>,
    /// The other published columns with noise: they stay about the bounded table.
    bounded: Vec<String>,
    numbers: Vec<Number>,
    moves: Vec<Moves>,
    portions: Vec<u64>,
}

impl BoundingReport {
    /// The report that a request wishes for, of a query with these output columns.
    pub fn new(wish: &BoundingRequest, query: &Query, outputs: &[Output], target: &Goal) -> Result<Self> {
        let Some(bounds) = query.bounds else {
            let sentence = "each row is one person here, so that nothing is cut off: leave bounding_report out";
            return Err(wish.spot.error(sentence));
        };
        if matches!(target, Goal::Accuracy { .. }) {
            let sentence = "a share of an accuracy is not defined: with bounding_report give cost = { epsilon = … } or { rho = … }";
            return Err(wish.spot.error(sentence));
        }
        let grouped = !query.keys.is_empty();
        let wide = wider(wish, bounds, query)?;
        let numbers = if grouped { Number::ALL.to_vec() } else { Number::ROWS.to_vec() };
        let mut report = Self {
            share: wish.share.clone(),
            bounds,
            wide,
            grouped,
            measures: Vec::new(),
            columns: Vec::new(),
            computed: Vec::new(),
            bounded: Vec::new(),
            numbers,
            moves: Vec::new(),
            portions: Vec::new(),
        };
        outputs.iter().enumerate().for_each(|(index, output)| report.output(index, output, query));
        report.calibrated_by(query)?;
        Ok(report)
    }

    fn output(&mut self, index: usize, output: &Output, query: &Query) {
        if output.aggregates.is_empty() {
            return;
        }
        let column = output.name.clone();
        let (measure, step) = match output.direct.map(|aggregate| &query.aggregates[aggregate]) {
            Some(Computation::Count(measure)) => (*measure, 1.0),
            Some(Computation::Sum { steps, step }) => (*steps, *step),
            _ => {
                let Some(computed) = ComputedColumn::new(index, output, query) else {
                    return self.bounded.push(column);
                };
                for measure in &computed.measures {
                    self.beside(*measure);
                }
                return self.computed.push(computed);
            }
        };
        let beside = self.beside(measure);
        self.columns.push(WidenedColumn { column, measure, step, beside });
    }

    /// The place of a measure among the numbers beside cells.
    fn beside(&mut self, measure: usize) -> usize {
        self.measures.iter().position(|own| *own == measure).unwrap_or_else(|| {
            self.measures.push(measure);
            self.measures.len() - 1
        })
    }

    /// How far each number moves: first those of the whole table, then those beside cells.
    fn calibrated_by(&mut self, query: &Query) -> Result<()> {
        let of_cells = self.measures.len() as u64;
        for number in &self.numbers {
            self.moves.push(sensitivity::of_owners(number.most(self.bounds, self.wide), query)?);
            self.portions.push(number.portion() * of_cells.max(1));
        }
        let wider = Query { bounds: Some(self.wide), ..query.clone() };
        for measure in &self.measures {
            self.moves.push(sensitivity::moves(&query.measures[*measure], &wider)?);
            self.portions.push(PORTION_OF_CELLS);
        }
        Ok(())
    }

    /// The numbers of the whole table.
    #[cfg(test)]
    pub fn numbers(&self) -> &[Number] {
        &self.numbers
    }

    /// What is set aside of the cost.
    pub fn aside(&self) -> CostShare<'_> {
        CostShare { share: &self.share, moves: &self.moves, portions: &self.portions }
    }

    /// The events of these noises.
    pub fn events(&self, noises: &[Noise]) -> Result<Vec<Event>> {
        noises.iter().zip(&self.moves).map(|(noise, moves)| Ok(noise.event(moves.clone())?)).collect()
    }

    /// For the ledger.
    pub fn rule(&self, noises: &[Noise]) -> Value {
        let names = self.numbers.iter().map(|number| number.name().to_string());
        let names = names.chain(self.measures.iter().map(|measure| format!("measure {measure} under these bounds")));
        let numbers = names.zip(noises).map(|(name, noise)| json!({ "what": name, "noise": described(noise) }));
        json!({
            "share": self.share.to_string(),
            "groups_per_owner": self.wide.groups, "rows_per_group": self.wide.rows_per_group, "rows_per_owner": self.wide.rows,
            "numbers": numbers.collect::<Vec<Value>>(),
        })
    }

    /// The errors to expect of what the report says.
    pub fn expected(&self, (cut, private): (&PrivateQuery, &QueryMechanism), rows: u64) -> Result<Vec<ExpectedError>> {
        let line = |column: String, error: f64, about: &str| ExpectedError {
            column,
            standard_error: Some(error),
            margin: None,
            cells: Vec::new(),
            assumed: None,
            about: about.to_string(),
        };
        let (whole, beside) = private.report.split_at(self.numbers.len().min(private.report.len()));
        let whole = self.numbers.iter().zip(whole).map(|(number, noise)| {
            line(number.name().to_string(), noise.standard_deviation(), "bounding report, of the whole table")
        });
        let cells = self.columns.iter().map(|column| {
            let error = beside[column.beside].standard_deviation() * column.step;
            line(format!("{} of all rows", column.column), error, "bounding report: what the interval is made of")
        });
        Ok(whole.chain(cells).chain(self.computed_errors((cut, private), rows)?).collect())
    }
}

/// The report's bounds: never narrower than the release's.
fn wider(wish: &BoundingRequest, bounds: Bounds, query: &Query) -> Result<Bounds> {
    let most = |bound: u64| bound.saturating_mul(TIMES).min(1_000_000);
    let rows = wish.bounding.rows.unwrap_or(most(bounds.rows));
    let cells = query.cells().unwrap_or(u64::MAX);
    let grouped = !query.keys.is_empty();
    // Nobody is in more groups than there are.
    let groups = wish.bounding.groups.unwrap_or(most(bounds.groups)).min(cells.max(bounds.groups)).min(rows);
    let rows_per_group = wish.bounding.rows_per_group.unwrap_or(most(bounds.rows_per_group)).min(rows);
    let wide = match grouped {
        true => Bounds { groups, rows_per_group, rows },
        false => Bounds { groups: 1, rows_per_group: rows, rows },
    };
    let narrower =
        wide.groups < bounds.groups || wide.rows_per_group < bounds.rows_per_group || wide.rows < bounds.rows;
    if narrower || wide == bounds {
        return Err(wish.spot.error(format!(
            "the report must look at more of an owner than counts in the release ({}, {} in each, {} in all): give it wider bounds",
            number(bounds.groups, "group"),
            number(bounds.rows_per_group, "row"),
            number(bounds.rows, "row")
        )));
    }
    Ok(wide)
}

/// An error where something is not as analysed.
fn mistaken() -> Error {
    Error::machine("the bounding report does not fit its release")
}
