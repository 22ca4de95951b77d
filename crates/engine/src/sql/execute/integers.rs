//! Runs what is below the aggregate and sums up: exact integers per cell, before any noise.
//!
//! What comes back is checked, though nothing in it should ever be wrong: a key that came twice or a number beyond its
//! bounds would cost more privacy than was charged, so then there is no answer.

use super::bounded::{GatheredRows, bounded};
use super::cell::{ExactCell, ExactCells, key_of, placed, violated};
use super::executed::{counted, rows, summed};
use crate::error::{Error, Result};
use crate::sql::PrivateQuery;
use crate::sql::analyse::execution::{CellSum, Execution, OwnedRows, RowOwners};
use crate::sql::analyse::query::Summand;
use crate::tables::bounding::{Bounds, Contribution};
use crate::tables::ranks::Ranks;
use crate::tables::{Backend, failed_on_data};
use datafusion::arrow::array::RecordBatch;
use datafusion::common::ScalarValue;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The exact answer of a bounded plan.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Integers {
    /// The key of each cell.
    pub keys: Vec<Vec<ScalarValue>>,
    /// What is in each cell.
    pub cells: Vec<ExactCell>,
}

/// Computes the measures of every cell: all cells of a public domain, or those that occur.
///
/// # Guarantee
/// Before: `ranks` do not depend on the data. After: the integers are a function of the rows as a multiset and of
/// `ranks`, whatever the order, the partitioning and the number of threads. A cell of an unknown domain is there only
/// if a row of it was kept: otherwise an owner could bring in more new keys than its bounds allow. Two groups are never
/// one cell.
pub(crate) fn integers(query: &PrivateQuery, backend: &Backend, ranks: impl Into<Ranks>) -> Result<Integers> {
    let execution = query.execution()?;
    let cells = match execution.owners() {
        RowOwners::Named(owned) => bounded(execution, rows(execution, backend)?, backend, owned.bounds, ranks.into())?,
        RowOwners::EachRow => each_row(execution, backend)?,
    };
    completed(execution, cells)
}

/// The same under two bounds at once, the query's own and wider ones; what is in each cell under the wider ones stands
/// beside it. `visit` is given what each owner has, in any order, of at most one group more than the wider bounds have
/// (so that it shows who has more), or of all groups where no bound on groups decides.
///
/// # Guarantee
/// As for [`integers`], which gives the same; a cell that wider bounds alone would bring is in neither list.
pub(crate) fn integers_beside(
    query: &PrivateQuery,
    backend: &Backend,
    ranks: impl Into<Ranks>,
    wide: Bounds,
    visit: impl FnMut(Contribution<'_>),
) -> Result<(Integers, Vec<ExactCell>)> {
    let execution = query.execution()?;
    let (RowOwners::Named(OwnedRows { bounds, .. }), None) = (execution.owners(), execution.first()) else {
        return Err(violated("rows without owners under two bounds"));
    };
    let groups = match bounds.deciding().groups.max(wide.deciding().groups) {
        u64::MAX => u64::MAX,
        _ => wide.groups.saturating_add(1),
    };
    let gathered = GatheredRows::new(execution, rows(execution, backend)?, backend, groups, ranks.into())?;
    gathered.contributions(visit)?;
    let mut wide = gathered.cells(execution, wide)?;
    let own = completed(execution, gathered.cells(execution, *bounds)?)?;
    let beside = own.keys.iter().map(|key| wide.remove(key).unwrap_or_else(|| empty_cell(execution))).collect();
    Ok((own, beside))
}

/// Gives `visit` what each owner has in a query's groups, of at most this many groups.
///
/// # Guarantee
/// Each owner is visited once, with a function of the keys of its own rows ([`Contribution`]).
pub(crate) fn contributions(
    query: &PrivateQuery,
    backend: &Backend,
    ranks: impl Into<Ranks>,
    groups: u64,
    visit: impl FnMut(Contribution<'_>),
) -> Result<()> {
    let execution = query.execution()?;
    let RowOwners::Named(_) = execution.owners() else { return Err(violated("rows without owners")) };
    GatheredRows::new(execution, rows(execution, backend)?, backend, groups, ranks.into())?.contributions(visit)
}

/// How many keys have how many rows, where each row is one person. The keys are not listed: they wait in parts as the
/// rows of owners do, so that there may be more of them than fit the memory.
///
/// # Guarantee
/// As many keys of each number of rows as [`integers`] has cells of it.
pub(crate) fn occurrences(
    query: &PrivateQuery,
    backend: &Backend,
    ranks: impl Into<Ranks>,
) -> Result<BTreeMap<u64, u64>> {
    let execution = query.execution()?;
    let RowOwners::EachRow = execution.owners() else { return Err(violated("rows of owners, counted by key")) };
    GatheredRows::new(execution, rows(execution, backend)?, backend, 1, ranks.into())?.occurrences()
}

/// Integers that another engine has computed, by key: looked at as far as integers can be, and completed.
///
/// # Guarantee
/// After: no key is outside of a public domain, no count is negative, no sum is further from 0 than the rows or owners
/// of its cell can bring it. How far one owner moves them cannot be seen in them.
pub(crate) fn taken(execution: &Execution, cells: HashMap<Vec<ScalarValue>, ExactCell>) -> Result<Integers> {
    let wrong = |what: &str| {
        Error::input(format!(
            "the integers hold {what}, which the statements never give: they were changed, or are from other \
                statements"
        ))
    };
    if let Some(public) = execution.public() {
        let known: HashSet<Vec<ScalarValue>> = public.all().into_iter().collect();
        if cells.keys().any(|key| !known.contains(key)) {
            return Err(wrong("a key that cannot occur"));
        }
    }
    for cell in cells.values() {
        within_range(execution, cell).map_err(wrong)?;
    }
    completed(execution, cells)
}

/// What is wrong with a cell, whatever rows it is of.
fn within_range(execution: &Execution, cell: &ExactCell) -> std::result::Result<(), &'static str> {
    let per_owner = match execution.owners() {
        RowOwners::EachRow => 1,
        RowOwners::Named(owned) => owned.bounds.rows_per_group.min(owned.bounds.rows),
    };
    let mut most_rows = None;
    for (measure, sum) in execution.sums().iter().zip(&cell.sums) {
        if *sum < 0 && measure.range.0 >= 0 {
            return Err("a negative count");
        }
        let rows = match measure.what {
            Summand::Rows => *sum,
            Summand::Owners => sum.saturating_mul(i128::from(per_owner)),
            _ => continue,
        };
        if *sum == 0 && execution.public().is_none() {
            return Err("a key that nobody has");
        }
        most_rows = Some(most_rows.map_or(rows, |most: i128| most.min(rows)));
    }
    let Some(rows) = most_rows else { return Ok(()) };
    for (measure, sum) in execution.sums().iter().zip(&cell.sums) {
        let (least, most) = match measure.what {
            Summand::Steps { .. } | Summand::Squares { .. } => measure.range,
            _ => (0, 1),
        };
        let (least, most) = (i128::from(least.min(0)), i128::from(most.max(0)));
        if !(rows.saturating_mul(least)..=rows.saturating_mul(most)).contains(sum) {
            return Err("a sum beyond what its rows can bring");
        }
    }
    let ranked = |counts: &BTreeMap<u128, u64>| counts.values().map(|times| i128::from(*times)).sum::<i128>() > rows;
    if cell.ranked.iter().any(ranked) { Err("more values than rows") } else { Ok(()) }
}

/// A cell that nothing is in.
pub(crate) fn empty_cell(execution: &Execution) -> ExactCell {
    ExactCell { sums: vec![0; execution.sums().len()], ranked: vec![BTreeMap::new(); execution.ranked().len()] }
}

/// All cells of a public domain in its order, or the occurring ones, sorted.
fn completed(execution: &Execution, mut cells: ExactCells) -> Result<Integers> {
    let keys = match execution.public() {
        Some(public) => public.all(),
        None => {
            let mut keys: Vec<Vec<ScalarValue>> = cells.keys().cloned().collect();
            keys.sort_by(|left, right| left.partial_cmp(right).unwrap_or(std::cmp::Ordering::Equal));
            keys
        }
    };
    let found: Vec<ExactCell> =
        keys.iter().map(|key| cells.remove(key).unwrap_or_else(|| empty_cell(execution))).collect();
    // No key is left over: `possible` lists all that can occur. One that were would not be published, as the moves
    // count only the cells that are listed; and not complained of, as a release that fails for one owner's key tells of
    // it.
    #[cfg(test)]
    assert!(cells.is_empty(), "keys that cannot occur: {:?}", cells.keys());
    for (sum, measure) in found.iter().flat_map(|cell| cell.sums.iter().zip(execution.sums())) {
        if *sum < 0 && measure.range.0 >= 0 {
            return Err(violated("a negative count"));
        }
    }
    Ok(Integers { keys, cells: found })
}

/// One row is one person: a plain aggregation, inside DataFusion, and one more for each ranked column.
fn each_row(execution: &Execution, backend: &Backend) -> Result<ExactCells> {
    let mut cells = ExactCells::new();
    let keys = execution.keys().len();
    if !execution.sums().is_empty() {
        for batch in summed(execution, rows(execution, backend)?)?.collect(backend)? {
            for row in 0..batch.num_rows() {
                let (key, sums) = row_of(&batch, row, keys)?;
                let Some(key) = key_of(execution, key)? else { continue };
                if sums.len() != execution.sums().len() {
                    return Err(violated("too few or too many sums"));
                }
                within_counts(execution, &sums)?;
                placed(&mut cells, key, ExactCell { sums, ..empty_cell(execution) })?;
            }
        }
    }
    for (index, one) in execution.ranked().iter().enumerate() {
        for batch in counted(execution, rows(execution, backend)?, one)?.collect(backend)? {
            for row in 0..batch.num_rows() {
                let (mut key, counts) = row_of(&batch, row, keys + 1)?;
                let steps = key.pop();
                let Some(key) = key_of(execution, key)? else { continue };
                let Some(ScalarValue::Int64(steps)) = steps else { return Err(violated("a rank of another type")) };
                let Some(steps) = steps else { continue };
                let [times] = counts[..] else { return Err(violated("too few or too many counts")) };
                let times = u64::try_from(times).map_err(|_| violated("a negative count"))?;
                let cell = cells.entry(key).or_insert_with(|| empty_cell(execution));
                if cell.ranked[index].insert(one.ranked.key(steps), times).is_some() {
                    return Err(violated("a value twice"));
                }
            }
        }
    }
    Ok(cells)
}

/// Where the number of rows of a cell is known, each sum is within this many times its row's bounds.
fn within_counts(execution: &Execution, sums: &[i128]) -> Result<()> {
    let measures = || execution.sums().iter().zip(sums);
    let of_rows =
        |(measure, sum): (&CellSum, &i128)| matches!(measure.what, Summand::Rows | Summand::Owners).then_some(*sum);
    let Some(rows) = measures().find_map(of_rows) else { return Ok(()) };
    let within = |(measure, sum): (&CellSum, &i128)| {
        let (least, most) = (i128::from(measure.range.0.min(0)), i128::from(measure.range.1.max(0)));
        (rows.saturating_mul(least)..=rows.saturating_mul(most)).contains(sum)
    };
    if measures().all(within) { Ok(()) } else { Err(violated("a sum beyond its bounds")) }
}

fn row_of(batch: &RecordBatch, row: usize, keys: usize) -> Result<(Vec<ScalarValue>, Vec<i128>)> {
    let values = batch.columns().iter().map(|column| ScalarValue::try_from_array(column, row));
    let mut values = values.collect::<std::result::Result<Vec<_>, _>>().map_err(|error| failed_on_data(&error))?;
    if values.len() <= keys {
        return Err(violated("too few columns"));
    }
    let sums = values.split_off(keys).into_iter().map(|value| match value {
        ScalarValue::Int64(number) => Ok(i128::from(number.unwrap_or(0))),
        ScalarValue::Decimal128(number, _, 0) => Ok(number.unwrap_or(0)),
        _ => Err(violated("a sum that is not a whole number")),
    });
    Ok((values, sums.collect::<Result<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::tests::TableFolder;

    const PROJECT: &str = "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\nk = { type = \"category\" }\nx = { type = \"int\", lower = -2, upper = 3 }\n";

    /// What the backend should never give is never noised: each of these is an error, and no cell.
    #[test]
    fn an_answer_that_is_not_as_planned_is_refused() {
        let tables = TableFolder::of(PROJECT, &[]);
        let query = tables.cut("SELECT k, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k").unwrap();
        let execution = query.execution().unwrap();
        let text = |text: &str| ScalarValue::Utf8(Some(text.to_string()));
        assert_eq!(key_of(execution, vec![text("a")]).unwrap(), Some(vec![text("a")]));
        assert_eq!(key_of(execution, vec![ScalarValue::Utf8(None)]).unwrap(), None);
        let other_types =
            [ScalarValue::Int64(Some(1)), ScalarValue::Utf8View(Some("a".to_string())), ScalarValue::Null];
        for other in other_types {
            assert!(key_of(execution, vec![other]).is_err());
        }
        assert!(key_of(execution, vec![text("a"), text("a")]).is_err() && key_of(execution, Vec::new()).is_err());

        let mut cells = ExactCells::new();
        placed(&mut cells, vec![text("a")], ExactCell::default()).unwrap();
        assert!(placed(&mut cells, vec![text("a")], ExactCell::default()).is_err());

        // The measures are the rows and the steps of x; two rows give from −4 to 6.
        assert_eq!(execution.sums().iter().map(|measure| measure.range).collect::<Vec<_>>()[..2], [(0, 1), (-2, 3)]);
        let sums = |rows: i128, steps: i128| -> Vec<i128> {
            let is_count = |measure: &CellSum| matches!(measure.what, Summand::Rows | Summand::Owners);
            execution.sums().iter().map(|measure| if is_count(measure) { rows } else { steps }).collect()
        };
        let within = |rows, steps| within_counts(execution, &sums(rows, steps)).is_ok();
        assert!(within(2, 6) && within(2, -4) && !within(2, 7) && !within(2, -5) && !within(0, 1) && !within(-1, 0));

        let cell = |rows| ExactCell { sums: sums(rows, 0), ranked: Vec::new() };
        let negative: ExactCells = [(vec![text("a")], cell(-1))].into();
        assert!(completed(execution, negative).is_err());
    }
}
