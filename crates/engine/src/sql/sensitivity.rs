//! How far each measure can move in each scope, derived from the plan (spec §4).

use super::measure::{Measure, Query, What};
use crate::error::Result;
use scumble::event::{Moves, Shift, Touch};
use scumble::scope::AttributeSet;
use std::collections::BTreeSet;

/// The moves of one measure.
///
/// With g groups per owner, r rows in each and R rows in all, one owner reaches at most c = min(g, ⌈R/r⌉) cells with r rows each, in
/// the worst case for every norm (the contributions of one owner lie in the convex hull of those, and the noise's loss is largest at
/// a corner). Let a row add something in \[lo, hi\] or nothing, M = max(|lo|, |hi|), and w = max(hi, 0) − min(lo, 0) the width that
/// includes "nothing" (a NULL adds nothing).
///
/// # Guarantee
/// Before: the rows are bounded by [`crate::backend::bound`], so that how many rows of an owner count in which cell does not depend
/// on the summed values. After, for every two tables that are neighbours in a scope, the exact measures differ by one of the shifts
/// of that scope, or less:
/// - presence: c cells by r·M;
/// - person, and attributes of keys, filters and joins: 2c cells by r·M, or c cells by r·w;
/// - attributes of summed values only: c cells by r·w;
/// - with one row per person, attributes of filters only: one cell by M;
/// - other attributes: nothing.
///
/// More cells than there are in a public domain never move: then c of the domain's cells by r·w take the place of 2c.
pub(crate) fn moves(measure: &Measure, query: &Query) -> Result<Moves> {
    let (groups, rows_per_group, rows) =
        query.bounds.map_or((1, 1, 1), |bounds| (bounds.groups, bounds.rows_per_group, bounds.rows));
    let each = if measure.what == What::Owners { 1 } else { rows_per_group };
    let most_cells = query.cells().unwrap_or(u64::MAX);
    let cells = groups.min(rows.div_ceil(each)).min(most_cells);
    let (low, high) = (measure.range.0 as f64, measure.range.1 as f64);
    let (largest, width) = (low.abs().max(high.abs()), high.max(0.0) - low.min(0.0));
    let rows = each as f64;
    let presence = vec![Shift::new(cells, rows * largest)?];
    let same = Shift::new(cells, rows * width)?;
    let mut replaced = vec![Shift::new(cells.saturating_mul(2).min(most_cells), rows * largest)?];
    if width > largest {
        replaced.push(same);
    }
    // A domain of fewer than 2c cells: some cells lose one owner's part and win another's, each by at most r·w.
    if cells.saturating_mul(2) > most_cells {
        replaced = vec![Shift::new(most_cells, rows * width)?];
    }

    let one_row_each = query.bounds.is_none();
    let mut touches = vec![touch(&query.key_attributes, replaced.clone())?];
    let only_rows: BTreeSet<String> = query.rows.difference(&query.key_attributes).cloned().collect();
    let by_filter = if one_row_each { vec![Shift::new(1, largest)?] } else { replaced.clone() };
    touches.push(touch(&only_rows, by_filter)?);
    if !matches!(measure.what, What::Owners | What::Rows) {
        // Which r rows of a group stay depends on all values of the query, where there can be more than r.
        let values = if one_row_each { measure.attributes.clone() } else { all_values(query) };
        touches.push(touch(&values, vec![same])?);
    }
    touches.retain(|touch| !touch.attributes.is_empty());
    Ok(Moves::by_scope(presence, replaced, touches))
}

/// The moves of "a key appears that was not there": in each scope that moves keys or rows at all.
pub(crate) fn new_key_moves(query: &Query) -> Result<Moves> {
    let one = vec![Shift::one_cell(1.0)?];
    let attributes: BTreeSet<String> = query.key_attributes.union(&query.rows).cloned().collect();
    let mut touches = vec![touch(&attributes, one.clone())?];
    touches.retain(|touch| !touch.attributes.is_empty());
    Ok(Moves::by_scope(one.clone(), one, touches))
}

/// How many keys one owner can have alone.
pub(crate) fn keys_per_owner(query: &Query) -> u64 {
    query.bounds.map_or(1, |bounds| bounds.groups.min(bounds.rows))
}

fn touch(attributes: &BTreeSet<String>, shifts: Vec<Shift>) -> Result<Touch> {
    Ok(Touch { attributes: AttributeSet::new(attributes.iter().cloned())?, shifts })
}

fn all_values(query: &Query) -> BTreeSet<String> {
    query.measures.iter().flat_map(|measure| measure.attributes.iter().cloned()).collect()
}
