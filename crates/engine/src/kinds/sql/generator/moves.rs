//! Whether two tables' integers differ by no more than what `sql::sensitivity` records.

use crate::sql::PrivateQuery;
use crate::sql::analyse::query::Summand;
use crate::sql::analyse::sensitivity::{keys_per_owner, moves, of_each_cell, quantile_moves, together};
use crate::sql::execute::cell::ExactCell;
use crate::sql::execute::integers::Integers;
use datafusion::common::ScalarValue;
use scumble::event::{Moves, Shift};
use scumble::scope::Scope;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What is moved too far, if anything is.
///
/// The claim is that the difference is a mixture of the scope's alternatives "this many cells by so much", or weakly
/// majorized by one (`loss/hull.rs` of the core). So it is at most theirs in each norm that a noise answers for: the
/// sum (Laplace), the sum of squares (Gaussian), the largest. And the k largest moves add up to at most those of one
/// mixture.
pub(crate) fn too_far(cut: &PrivateQuery, scope: &Scope, one: &Integers, other: &Integers) -> Result<(), String> {
    let keys: HashSet<&Vec<ScalarValue>> = one.keys.iter().chain(&other.keys).collect();
    let (first, second) = (by_key(one), by_key(other));
    let query = &cut.query;
    for (index, measure) in query.measures.iter().enumerate() {
        let sum =
            |cells: &HashMap<&Vec<ScalarValue>, &ExactCell>, key| cells.get(key).map_or(0, |cell| cell.sums[index]);
        let moved = keys.iter().map(|key| (sum(&first, *key) - sum(&second, *key)).unsigned_abs() as f64);
        let claimed = moves(measure, query).map_err(|error| error.to_string())?;
        within(&claimed, scope, moved.collect())
            .map_err(|how| format!("{:?} of {:?}: {how}", measure.what, shown(measure)))?;
    }
    apart(cut, scope, &keys, &first, &second)?;
    for quantile in &query.quantiles {
        let claimed = quantile_moves(quantile, query).map_err(|error| error.to_string())?;
        let replaced = quantile.rank.replaced().map_err(|error| error.to_string())?;
        let nothing = BTreeMap::new();
        let ranked = |cells: &HashMap<&Vec<ScalarValue>, &ExactCell>, key| {
            cells.get(key).map_or(nothing.clone(), |cell| cell.ranked[quantile.ranked].clone())
        };
        let moved = keys.iter().map(|key| ranks(&ranked(&first, *key), &ranked(&second, *key), replaced));
        within(&claimed, scope, moved.collect()).map_err(|how| format!("{:?}: {how}", quantile.rank))?;
    }
    if let (None, Some(owners)) = (query.cells(), query.owners()) {
        let claimed = moves(&query.measures[owners], query).map_err(|error| error.to_string())?;
        new_keys(cut, &claimed, scope, one, &second)?;
        new_keys(cut, &claimed, scope, other, &first)?;
    }
    Ok(())
}

type CellsByKey<'a> = HashMap<&'a Vec<ScalarValue>, &'a ExactCell>;

/// What is claimed of all measures of a cell at once, and of conditions on a count in each cell by itself.
fn apart(
    cut: &PrivateQuery,
    scope: &Scope,
    keys: &HashSet<&Vec<ScalarValue>>,
    first: &CellsByKey<'_>,
    second: &CellsByKey<'_>,
) -> Result<(), String> {
    let query = &cut.query;
    let sum = |cells: &CellsByKey<'_>, key: &Vec<ScalarValue>, index: usize| {
        cells.get(key).map_or(0, |cell| cell.sums[index])
    };
    let moved = |key, index| (sum(first, key, index) - sum(second, key, index)).unsigned_abs() as f64;
    for (index, measure) in query.measures.iter().enumerate() {
        // What is said of a cell's number alone can only move where the number does.
        let claimed = of_each_cell(measure, query).map_err(|error| error.to_string())?;
        let changed = keys.iter().map(|key| if moved(key, index) > 0.0 { 1.0 } else { 0.0 });
        within(&claimed, scope, changed.collect()).map_err(|how| format!("cells of {:?}: {how}", measure.what))?;
    }
    if let Some(together) = together(query).map_err(|error| error.to_string())? {
        let norm = |key| {
            let parts = together.bounds.iter().enumerate().map(|(index, bound)| moved(key, index) / bound);
            parts.fold(0.0, f64::max)
        };
        within(&together.moves, scope, keys.iter().map(|key| norm(key)).collect())
            .map_err(|how| format!("all measures together: {how}"))?;
    }
    Ok(())
}

fn shown(measure: &crate::sql::analyse::query::Measure) -> String {
    measure.expression.as_ref().map_or(String::new(), ToString::to_string)
}

fn by_key(integers: &Integers) -> HashMap<&Vec<ScalarValue>, &ExactCell> {
    integers.keys.iter().zip(&integers.cells).collect()
}

/// A replaced value moves the ranks further than one that comes or goes.
fn ranks(one: &BTreeMap<u128, u64>, other: &BTreeMap<u128, u64>, replaced: f64) -> f64 {
    let more = |one: &BTreeMap<u128, u64>, other: &BTreeMap<u128, u64>| {
        one.iter().map(|(key, times)| times.saturating_sub(other.get(key).copied().unwrap_or(0))).sum::<u64>()
    };
    let (gone, come) = (more(one, other), more(other, one));
    gone.min(come) as f64 * replaced + gone.abs_diff(come) as f64
}

pub(crate) fn within(claimed: &Moves, scope: &Scope, moved: Vec<f64>) -> Result<(), String> {
    let shifts = claimed.shifts(scope);
    let most = |size: &dyn Fn(&Shift) -> f64| shifts.iter().map(size).fold(0.0, f64::max);
    let norms = [
        ("sum", moved.iter().sum::<f64>(), most(&|shift| shift.cells as f64 * shift.by.get())),
        (
            "sum of squares",
            moved.iter().map(|by| by * by).sum(),
            most(&|shift| shift.cells as f64 * shift.by.get().powi(2)),
        ),
        ("largest", moved.iter().copied().fold(0.0, f64::max), most(&|shift| shift.by.get())),
    ];
    for (name, found, claimed) in norms {
        // Sums of small whole numbers are exact; squares of large ones are rounded.
        if found > claimed * (1.0 + 1e-9) {
            return Err(format!("{scope:?} moves the {name} by {found}, claimed are {claimed}"));
        }
    }
    let mut falling = moved;
    falling.sort_by(|one, other| other.total_cmp(one));
    match is_mixed(&shifts, &falling) {
        true => Ok(()),
        false => Err(format!("{scope:?} moves {falling:?}, which no mixture of {shifts:?} majorizes")),
    }
}

/// Whether for some share of each of two alternatives the k largest moves add up to at most those of the mixture, for
/// each k; more alternatives are not compared.
fn is_mixed(shifts: &[Shift], falling: &[f64]) -> bool {
    let [one, other] = shifts else { return true };
    let (many, few) = if one.by.get() <= other.by.get() { (one, other) } else { (other, one) };
    let (low, high) = (many.by.get(), few.by.get());
    // How much room is left at the tightest k: concave in the share.
    let room = |share: f64| {
        let tall = share * few.cells as f64;
        let all = tall + (1.0 - share) * many.cells as f64;
        let mut sum = 0.0;
        let left = falling.iter().zip(1u32..).map(|(by, k)| {
            sum += by;
            low * f64::from(k).min(all) + (high - low) * f64::from(k).min(tall) - sum
        });
        left.fold(f64::INFINITY, f64::min)
    };
    let (mut start, mut end) = (0.0, 1.0);
    for _ in 0..80 {
        let third = (end - start) / 3.0;
        if room(start + third) < room(end - third) { start += third } else { end -= third }
    }
    let most = [0.0, 1.0, start, end].map(room).into_iter().fold(f64::NEG_INFINITY, f64::max);
    most >= -1e-6 * falling.iter().sum::<f64>()
}

/// Keys that only one of the tables has: this many at most, each with one owner, and none where the scope cannot move
/// keys.
fn new_keys(
    cut: &PrivateQuery,
    claimed: &Moves,
    scope: &Scope,
    one: &Integers,
    other: &HashMap<&Vec<ScalarValue>, &ExactCell>,
) -> Result<(), String> {
    let owners = cut.query.measures.iter().position(|measure| measure.what == Summand::Owners);
    let new: Vec<&ExactCell> =
        one.keys.iter().zip(&one.cells).filter(|(key, _)| !other.contains_key(key)).map(|(_, cell)| cell).collect();
    let most = if claimed.shifts(scope).is_empty() { 0 } else { keys_per_owner(&cut.query) };
    if new.len() as u64 > most {
        return Err(format!("{scope:?} brings {} new keys, claimed are {most}", new.len()));
    }
    match owners {
        Some(owners) if new.iter().any(|cell| cell.sums[owners] > 1) => {
            Err("a new key has more than one owner".to_string())
        }
        Some(_) => Ok(()),
        None => Err("keys are selected without a number of owners".to_string()),
    }
}
