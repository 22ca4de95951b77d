//! From exact integers to a query's answer: noise on every cell, then what stands above the aggregate, with error bars.

use super::joint::JointNoise;
use super::noisy::{CellNumbers, NoisyCell, NoisyIntegers, key_columns};
use super::roles::{quantile_of, role};
use super::uncertainty::{ColumnUncertainty, uncertainties, uncertainties_of_all};
use super::{QueryMechanism, keys, rank_error};
use crate::calendar::{SECOND, shown_day, shown_moment};
use crate::error::{Error, Result};
use crate::release::output::{AnswerColumn, Answers, Cell, Details, Uncertainty};
use crate::release::price::noise::Noise;
use crate::sql::PrivateQuery;
use crate::sql::above::{self, Output, QueryAnswer};
use crate::sql::analyse::query::{Computation, GroupKey};
use crate::sql::execute::integers::Integers;
use crate::tables::Backend;
use crate::tables::functions::{MOMENT, in_units};
use datafusion::arrow::array::{
    ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, TimestampNanosecondArray,
};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::LogicalPlan;
use scumble::mechanism::quantile::Quantile;
use scumble::mechanism::stability::KeySelection;
use scumble::noise::{BitSource, tape};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Where randomness enters. Only tests have another than [`DrawnNoise`].
pub(crate) trait Chance {
    /// The exact number with its noise.
    fn noised(&mut self, noise: &Noise, exact: i128) -> i128;
    /// The exact numbers of a cell with one noise for all of them.
    fn noised_jointly(&mut self, joint: &JointNoise, exact: Vec<i128>) -> Vec<i128>;
    /// The key that a quantile is released as.
    fn chosen(&mut self, quantile: &Quantile, counts: &BTreeMap<u128, u64>) -> u128;
    /// Whether a key with this many owners is published, in a query for keys alone.
    fn is_shown(&mut self, selection: &KeySelection, owners: u64) -> bool;
    /// The next draws are about this key, which is not known beforehand; none after the last key. For replays only.
    fn about(&mut self, _key: Option<&[ScalarValue]>) {}
}

/// Randomness from a source of bits.
pub(crate) struct DrawnNoise<'a>(pub &'a mut dyn BitSource);

impl Chance for DrawnNoise<'_> {
    fn noised(&mut self, noise: &Noise, exact: i128) -> i128 {
        noise.add_to_wide(exact, self.0)
    }

    fn noised_jointly(&mut self, joint: &JointNoise, exact: Vec<i128>) -> Vec<i128> {
        joint.noised(exact, self.0)
    }

    fn chosen(&mut self, quantile: &Quantile, counts: &BTreeMap<u128, u64>) -> u128 {
        quantile.release_counted(counts, self.0)
    }

    fn is_shown(&mut self, selection: &KeySelection, owners: u64) -> bool {
        selection.release(&[((), owners)], self.0).is_ok_and(|shown| !shown.is_empty())
    }

    fn about(&mut self, key: Option<&[ScalarValue]>) {
        tape::about(self.0, || key.map(|key| format!("{key:?}")));
    }
}

/// Adds noise to every measure of every cell, independently, or to all measures of a cell at once; of unknown keys only
/// those with enough owners stay, and only of those are quantiles drawn.
pub(crate) fn noised(
    cut: &PrivateQuery,
    integers: Integers,
    private: &QueryMechanism,
    chance: &mut dyn Chance,
) -> NoisyIntegers {
    let query = &cut.query;
    if let (Some(selection), Some(owners)) = (&private.selection, query.owners()) {
        return selected(integers, selection, owners, chance);
    }
    let mut noisy = NoisyIntegers { keys: Vec::new(), cells: Vec::new() };
    for (key, cell) in integers.keys.into_iter().zip(integers.cells) {
        chance.about(private.threshold.is_some().then_some(&key));
        let sums: Vec<i128> = match &private.joint {
            Some(joint) => chance.noised_jointly(joint, cell.sums),
            None => cell.sums.into_iter().zip(&private.noises).map(|(sum, noise)| chance.noised(noise, sum)).collect(),
        };
        let enough = match (private.threshold, query.owners()) {
            (Some(least), Some(owners)) => sums[owners] >= i128::from(least),
            _ => true,
        };
        if !enough {
            continue;
        }
        let quantiles = query.quantiles.iter().zip(&private.quantiles).map(|(quantile, mechanism)| {
            query.ranked[quantile.ranked].value(chance.chosen(mechanism, &cell.ranked[quantile.ranked]))
        });
        noisy.cells.push(NoisyCell { sums, quantiles: quantiles.collect() });
        noisy.keys.push(key);
    }
    chance.about(None);
    noisy
}

/// The keys that are published where nothing but keys is; no number goes with them.
fn selected(integers: Integers, selection: &KeySelection, owners: usize, chance: &mut dyn Chance) -> NoisyIntegers {
    let mut noisy = NoisyIntegers { keys: Vec::new(), cells: Vec::new() };
    for (key, cell) in integers.keys.into_iter().zip(integers.cells) {
        chance.about(Some(&key));
        if chance.is_shown(selection, u64::try_from(cell.sums[owners]).unwrap_or(0)) {
            noisy.cells.push(NoisyCell { sums: vec![0; cell.sums.len()], quantiles: Vec::new() });
            noisy.keys.push(key);
        }
    }
    chance.about(None);
    noisy
}

/// From noisy cells to the query's columns.
#[cfg(any(test, feature = "generator"))]
pub(crate) fn answers(cut: &PrivateQuery, noisy: &NoisyIntegers, private: &QueryMechanism) -> Result<Answers> {
    Ok(answers_of_rows(cut, noisy, private)?.0)
}

/// The same, with the cell that each row of the answer comes from.
pub(crate) fn answers_of_rows(
    cut: &PrivateQuery,
    noisy: &NoisyIntegers,
    private: &QueryMechanism,
) -> Result<(Answers, Vec<usize>)> {
    answers_of_parts(cut, &[NoisyGrouping { noisy, private, named: None }])
}

/// The released cells of one of the groupings of a query.
pub(crate) struct NoisyGrouping<'a> {
    /// The cells, with the keys of the whole query.
    pub noisy: &'a NoisyIntegers,
    pub private: &'a QueryMechanism,
    /// What it groups by, where there are several.
    pub named: Option<String>,
}

/// From the noisy cells of all groupings to the query's columns.
pub(crate) fn answers_of_parts(cut: &PrivateQuery, parts: &[NoisyGrouping<'_>]) -> Result<(Answers, Vec<usize>)> {
    let backend = Backend::empty()?;
    let mut notes = Vec::new();
    // Of several groupings a window reads the rows of all.
    let uncertain = if parts.len() == 1 { uncertainties_of_all } else { uncertainties };
    let branch = ReleasedQuery::of(cut, parts, uncertain, &mut notes, backend)?;
    let QueryAnswer { batch, rows } = above::run(&cut.plan, &cut.aggregate, &released(cut, &branch.noisy)?, backend)?;
    let places: Vec<ReleasedCell> = rows.iter().map(|cell| ReleasedCell { branch: 0, cell: *cell }).collect();
    Ok((answered(&cut.plan, &[branch], &batch, &places, notes)?, rows))
}

/// From the noisy cells of the branches of a UNION ALL to the columns of all; with each branch goes what it gives to
/// the union.
pub(crate) fn answers_of_union(
    plan: &LogicalPlan,
    branches: &[(&PrivateQuery, &LogicalPlan, Vec<NoisyGrouping<'_>>)],
) -> Result<Answers> {
    let backend = Backend::empty()?;
    let (mut notes, mut all, mut batches, mut places) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (index, (cut, part, parts)) in branches.iter().enumerate() {
        let branch = ReleasedQuery::of(cut, parts, uncertainties, &mut notes, backend)?;
        let given = above::run(part, &cut.aggregate, &released(cut, &branch.noisy)?, backend)?;
        places.extend(given.rows.iter().map(|cell| ReleasedCell { branch: index, cell: *cell }));
        batches.push(given.batch);
        all.push(branch);
    }
    let (batch, rows) = above::run_union(plan, &batches, backend)?;
    let places: Vec<ReleasedCell> = rows.into_iter().map(|row| places[row]).collect();
    answered(plan, &all, &batch, &places, notes)
}

/// How unsure the columns are that have noise.
type UncertainColumns = Vec<Option<ColumnUncertainty>>;

/// Where a row of an answer comes from.
#[derive(Clone, Copy)]
struct ReleasedCell {
    branch: usize,
    cell: usize,
}

/// The released cells of a query, or of a branch, and facts about its columns.
struct ReleasedQuery<'a> {
    cut: &'a PrivateQuery,
    noisy: NoisyIntegers,
    /// What made each cell private.
    privates: Vec<&'a QueryMechanism>,
    outputs: Vec<Output>,
    unsure: Vec<Option<ColumnUncertainty>>,
}

impl<'a> ReleasedQuery<'a> {
    fn of(
        cut: &'a PrivateQuery,
        parts: &[NoisyGrouping<'a>],
        uncertain: fn(&PrivateQuery, &NoisyIntegers, &QueryMechanism, &Backend) -> Result<UncertainColumns>,
        notes: &mut Vec<String>,
        backend: &Backend,
    ) -> Result<Self> {
        let mut noisy = NoisyIntegers { keys: Vec::new(), cells: Vec::new() };
        let (mut unsure, mut privates) = (Vec::new(), Vec::new());
        for part in parts {
            noisy.keys.extend_from_slice(&part.noisy.keys);
            noisy.cells.extend_from_slice(&part.noisy.cells);
            privates.resize(noisy.cells.len(), part.private);
            join(&mut unsure, uncertain(cut, part.noisy, part.private, backend)?);
            if let Some(selection) = &part.private.selection {
                notes.push(keys::note(selection)?);
            }
            if let Some(least) = part.private.threshold {
                let which = part.named.as_ref().map_or(String::new(), |named| format!(" {named}"));
                notes.push(format!(
                    "Groups{which} are not public: only those with at least {least} owners, counted with noise, are \
                        shown. The number of owners of a group that is shown by chance is too large: its interval \
                        allows for that."
                ));
            }
        }
        let inner = cut.per_owner.as_ref().map(|first| &first.keys[..]).unwrap_or_default();
        notes.extend([inner, &cut.query.keys[..]].into_iter().filter_map(rows_without_a_key));
        Ok(Self { cut, noisy, privates, outputs: above::outputs(&cut.plan, &cut.aggregate)?, unsure })
    }

    /// The aggregate that an output column is as it is.
    fn direct(&self, column: usize) -> Option<&Computation> {
        self.outputs[column].direct.map(|aggregate| &self.cut.query.aggregates[aggregate])
    }

    /// The quantile that an output column is, as it is or as a fraction.
    fn quantile(&self, column: usize) -> Option<usize> {
        quantile_of(self.cut, &self.outputs[column])
    }

    fn depends_on_quantiles(&self, column: usize) -> bool {
        depends_on_quantiles(self.cut, &self.outputs[column])
    }
}

/// Whether an output column of a query is computed from quantiles.
pub(crate) fn depends_on_quantiles(cut: &PrivateQuery, output: &Output) -> bool {
    output.aggregates.iter().any(|aggregate| matches!(cut.query.aggregates[*aggregate], Computation::Quantile(_)))
}

/// The answer: its rows as they are shown, and where each comes from.
fn answered(
    plan: &LogicalPlan,
    branches: &[ReleasedQuery<'_>],
    batch: &RecordBatch,
    places: &[ReleasedCell],
    mut notes: Vec<String>,
) -> Result<Answers> {
    if chooses_rows(plan) {
        notes.push("HAVING and LIMIT choose rows by numbers that have noise: those that are chosen for being large tend to be too large, and fewer than 95% of the intervals may hold.".to_string());
    }
    let mut columns = Vec::new();
    let mut details = Details::default();
    for index in 0..batch.num_columns() {
        let outputs = branches.iter().map(|branch| (branch.cut, &branch.outputs[index]));
        let role = role(outputs).map(|role| (batch.schema().field(index).name().clone(), role));
        details.roles.extend(role);
        columns.extend(published(branches, batch, index, places)?);
    }
    if columns.iter().any(|column: &AnswerColumn| column.name.ends_with(RANK_ERROR)) {
        let note = "A quantile has no standard error, because that depends on how dense the values are: with probability 95% it is off by at most";
        notes.push(format!("{note} COLUMN{RANK_ERROR} rows in rank."));
    }
    // Branches may say the same.
    let mut said = HashSet::new();
    notes.retain(|note| said.insert(note.clone()));
    Ok(Answers { columns, notes, details })
}

/// Whether something above the aggregate leaves rows out: an interval is about a cell that was chosen before its noise
/// was drawn.
fn chooses_rows(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(_) => false,
        LogicalPlan::Filter(_) | LogicalPlan::Limit(_) => true,
        other => other.inputs().into_iter().any(chooses_rows),
    }
}

/// Which rows are in no group, where there can be such: SQL would give them a group of their own.
pub(crate) fn rows_without_a_key(keys: &[GroupKey]) -> Option<String> {
    let keys: Vec<&GroupKey> = keys.iter().filter(|key| key.can_be_missing).collect();
    let first = keys.first()?;
    let names: Vec<String> = keys.iter().map(|key| key.written()).collect();
    // Of a time, COALESCE with another would be a time of any kind, which is no key.
    let remedy = match first.kind {
        DataType::Timestamp(..) => String::new(),
        _ => format!("; COALESCE({}, …) gives them one", names[0]),
    };
    Some(format!(
        "Rows without a value of {} (empty, or not one of those declared) are in no group{remedy}.",
        names.join(" or of ")
    ))
}

/// Appends the uncertainties of more rows.
fn join(unsure: &mut Vec<Option<ColumnUncertainty>>, more: Vec<Option<ColumnUncertainty>>) {
    if unsure.is_empty() {
        *unsure = more;
        return;
    }
    for (all, more) in unsure.iter_mut().zip(more).filter_map(|(all, more)| Some((all.as_mut()?, more?))) {
        all.rows.extend(more.rows);
        all.is_everywhere_the_same = false;
    }
}

/// The end of the name of a column that says how many ranks a quantile may be off.
pub(crate) const RANK_ERROR: &str = "_rank_error";

/// An output column; after one that is a quantile, its error in ranks.
fn published(
    branches: &[ReleasedQuery<'_>],
    batch: &RecordBatch,
    index: usize,
    places: &[ReleasedCell],
) -> Result<Vec<AnswerColumn>> {
    let mut column = column(branches, batch, index, places)?;
    let depends = |branch: &ReleasedQuery<'_>| branch.depends_on_quantiles(index);
    // Where all of it depends on quantiles, no more is known of any row.
    if branches.iter().any(depends) && branches.iter().all(|one| depends(one) || one.unsure[index].is_none()) {
        column.uncertainty = Some(vec![Uncertainty::UNKNOWN; column.cells.len()]);
    }
    let mut columns = vec![column];
    if branches.iter().any(|branch| branch.quantile(index).is_some()) {
        let error = |place: &ReleasedCell| match branches[place.branch].quantile(index) {
            Some(quantile) => {
                let private = branches[place.branch].privates[place.cell];
                Ok(Cell::Number(rank_error(&private.quantiles[quantile])?))
            }
            None => Ok(Cell::Null),
        };
        let cells = places.iter().map(error).collect::<Result<_>>()?;
        columns.push(AnswerColumn { name: format!("{}{RANK_ERROR}", columns[0].name), cells, uncertainty: None });
    }
    Ok(columns)
}

fn column(
    branches: &[ReleasedQuery<'_>],
    batch: &RecordBatch,
    index: usize,
    places: &[ReleasedCell],
) -> Result<AnswerColumn> {
    let array = batch.column(index);
    let values = (0..array.len()).map(|row| ScalarValue::try_from_array(array, row));
    let values = values
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|_| Error::machine("a released column cannot be read"))?;
    let cells = values.iter().zip(places).map(|(value, place)| match branches[place.branch].direct(index) {
        // Straight from the integers, which 64 bits may not hold.
        Some(Computation::Count(measure)) => Cell::Whole(branches[place.branch].noisy.cells[place.cell].sums[*measure]),
        _ => cell(value),
    });
    let cells: Vec<Cell> = cells.collect();
    let beside = |(place, cell): (&ReleasedCell, &Cell)| {
        let branch = &branches[place.branch];
        match (&branch.unsure[index], cell.number()) {
            // What was published is in its interval also where it was clamped.
            (Some(unsure), Some(number)) if !unsure.rows[place.cell].low.is_nan() => {
                let Uncertainty { standard_error, low, high } = unsure.rows[place.cell];
                Uncertainty { standard_error, low: low.min(number), high: high.max(number) }
            }
            // A branch that gives a number of its own, which has no noise.
            (None, Some(number)) if branch.outputs[index].aggregates.is_empty() => {
                Uncertainty { standard_error: 0.0, low: number, high: number }
            }
            // Where there is no number, there is no error either; and an interval that is not known is none (as the
            // number alone it would look exact).
            _ => Uncertainty::UNKNOWN,
        }
    };
    let is_unsure = branches.iter().any(|branch| branch.unsure[index].is_some());
    let uncertainty = is_unsure.then(|| places.iter().zip(&cells).map(beside).collect());
    let name = batch.schema().field(index).name().clone();
    Ok(AnswerColumn { name, cells, uncertainty })
}

/// A value as it is published.
pub(crate) fn cell(value: &ScalarValue) -> Cell {
    match value {
        value if value.is_null() => Cell::Null,
        ScalarValue::Int64(Some(number)) => Cell::Whole(i128::from(*number)),
        // Where nothing is defined, nothing is said: x / 0.0 is no number.
        ScalarValue::Float64(Some(number)) if !number.is_finite() => Cell::Null,
        ScalarValue::Float64(Some(number)) => Cell::Number(*number),
        ScalarValue::Boolean(Some(truth)) => Cell::Truth(*truth),
        ScalarValue::Utf8(Some(text)) => Cell::Text(text.as_str().into()),
        ScalarValue::Date32(Some(day)) => Cell::Text(shown_day(i64::from(*day)).into()),
        ScalarValue::TimestampNanosecond(Some(moment), None) => Cell::Text(shown_moment(*moment).into()),
        other => match other.cast_to(&DataType::Float64) {
            Ok(ScalarValue::Float64(Some(number))) if other.data_type().is_numeric() => Cell::Number(number),
            _ => Cell::Text(other.to_string().into()),
        },
    }
}

/// The released table, in the aggregate's order and types.
pub(crate) fn released(cut: &PrivateQuery, noisy: &NoisyIntegers) -> Result<Vec<ArrayRef>> {
    let cells: Vec<CellNumbers> = noisy.cells.iter().map(NoisyCell::numbers).collect();
    let kinds = cut.aggregate.schema.fields().iter().skip(cut.query.keys.len()).map(|field| field.data_type());
    let typed = cut.query.aggregates.iter().zip(kinds).map(|(aggregate, kind)| {
        let numbers = cells.iter().map(|cell| value(aggregate, cell));
        match kind {
            DataType::Int64 => Arc::new(Int64Array::from_iter_values(numbers.map(|number| number as i64))) as ArrayRef,
            // The least or the largest of dates is one in days, of times in seconds.
            DataType::Date32 => Arc::new(Date32Array::from_iter_values(numbers.map(|days| days as i32))) as ArrayRef,
            kind if *kind == MOMENT => {
                let moments = numbers.map(|seconds| seconds as i64 * SECOND);
                Arc::new(TimestampNanosecondArray::from_iter_values(moments)) as ArrayRef
            }
            _ => Arc::new(Float64Array::from_iter_values(numbers)) as ArrayRef,
        }
    });
    Ok(key_columns(cut, &noisy.keys)?.into_iter().chain(typed).collect())
}

/// An aggregate from released numbers.
pub(crate) fn value(aggregate: &Computation, numbers: &CellNumbers) -> f64 {
    let cell = &numbers.sums;
    match aggregate {
        Computation::Count(measure) => cell[*measure],
        Computation::Sum { steps, step } => in_units(cell[*steps], *step),
        Computation::Mean { steps, count, grid, centre } => {
            let mean = (*centre as f64 + cell[*steps] / cell[*count].max(1.0)) * grid.step;
            mean.clamp(grid.lower, grid.upper)
        }
        Computation::Spread { steps, squares, count, grid, sample, root } => {
            let count = cell[*count].max(2.0);
            let mean = cell[*steps] / count;
            let variance = (cell[*squares] / count - mean * mean) * grid.step * grid.step;
            let largest = ((grid.upper - grid.lower) / 2.0).powi(2);
            let variance = variance.clamp(0.0, largest) * if *sample { count / (count - 1.0) } else { 1.0 };
            if *root { variance.sqrt() } else { variance }
        }
        Computation::Pair(pair) => pair.published(&|measure| cell[measure]),
        Computation::Quantile(quantile) => numbers.quantiles[*quantile],
    }
}
