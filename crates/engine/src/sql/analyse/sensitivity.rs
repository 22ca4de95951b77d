//! How far each measure can move in each scope, derived from the plan.

use super::query::{ColumnQuantile, Measure, Query, Summand};
use crate::error::Result;
use scumble::event::{Moves, Shift, Touch};
use scumble::scope::AttributeSet;
use std::collections::BTreeSet;

/// The moves of one measure.
///
/// With g groups per owner, r rows in each and R rows in all, let c = min(g, ⌈R/r⌉). Let a row add something in
/// \[lo, hi\] or nothing, M = max(|lo|, |hi|), and w = max(hi, 0) − min(lo, 0) the width that includes "nothing" (a
/// NULL adds nothing).
///
/// # Guarantee
/// Before: the rows are bounded by [`crate::tables::bounding`], so that how many rows of an owner count in which cell
/// does not depend on the summed values. After, for every two tables that are neighbours in a scope, the exact measures
/// differ by what the list of that scope stands for: an alternative, a mixture of several, or something that is weakly
/// majorized by one (`loss/hull.rs` of the core says what that is, and what it costs).
/// - presence: c cells by r·M;
/// - person, and attributes of keys, filters and joins: 2c cells by r·M, or c cells by r·w;
/// - attributes of summed values only: c cells by r·w;
/// - with one row per person, attributes of filters only: one cell by M;
/// - other attributes: nothing.
///
/// Why: let an owner have nⱼ ≤ r rows in cell j before and mⱼ ≤ r behind, Σnⱼ ≤ cr and Σmⱼ ≤ cr. With tⱼ = min(nⱼ, mⱼ)
/// the cell moves by at most tⱼ·w + |nⱼ − mⱼ|·M. Let T = Σtⱼ: the k largest add up to at most
/// (w − M)·min(T, kr) + M·min(kr, T + 2(cr − T)), as Σ|nⱼ − mⱼ| ≤ 2(cr − T). Those are the partial sums of the mixture
/// with a share of T/cr of "c cells by r·w" and the rest of "2c cells by r·M". An owner who keeps k of c groups and
/// moves to others is T = kr: k cells by r·w, 2(c − k) by r·M, which neither alternative covers. For presence T = 0 and
/// only one side counts: at most r·M in each cell, and crM in all.
///
/// More cells than there are in a public domain never move: then all of the domain's cells by r·w take the place of 2c.
pub(crate) fn moves(measure: &Measure, query: &Query) -> Result<Moves> {
    let (largest, width) = reach(measure.range);
    let row = RowEffect { largest, width, values: values_of(measure), once: measure.what == Summand::Owners };
    moves_of(&row, query)
}

/// The moves of a number that is computed for each cell separately. One owner moves it by at most 1 in a cell, even
/// with a single row there.
///
/// # Guarantee
/// As for [`moves`], but no row makes up for another: R rows of an owner are in up to k = min(g, R) cells, which may be
/// more than the c cells that they fill.
/// - presence: k cells by 1;
/// - person, and attributes of keys, filters and joins: 2k cells by 1, or all of a public domain;
/// - attributes of counted values only: k cells by 1.
pub(crate) fn of_each_cell(measure: &Measure, query: &Query) -> Result<Moves> {
    moves_of(&RowEffect { largest: 1.0, width: 1.0, values: values_of(measure), once: true }, query)
}

/// The attributes of what is summed, where it is more than rows or owners.
fn values_of(measure: &Measure) -> Option<&BTreeSet<String>> {
    (!matches!(measure.what, Summand::Owners | Summand::Rows)).then_some(&measure.attributes)
}

/// How far all measures of a query move at once, in the norm max |Δᵢ|/aᵢ over the measures of a cell, added up over the
/// cells.
pub(crate) struct JointMoves {
    /// The moves of that norm; the cells of a shift have noise of their own each.
    pub moves: Moves,
    /// aᵢ: by how much one owner who comes or goes moves each measure of one cell.
    pub bounds: Vec<f64>,
}

/// The moves of all measures together; none where one of them cannot move.
///
/// # Guarantee
/// As for [`moves`], with c, r, M and w of each measure: n ≤ r kept rows of an owner move measure i of their cell by at
/// most nMᵢ = (n/r)·aᵢ, or the number of owners by 1. So the norm is at most 1 in each cell, and over all cells at most
/// the largest cᵢ =: c. With W = max ⌈wᵢ/Mᵢ⌉, which is 1 or 2:
/// - presence: c cells by 1;
/// - person, and attributes of keys, filters and joins: the norm of a difference is at most the sum of both, 2c in all,
///   and at most W in each cell. For W = 2 the move "c cells by 2" weakly majorizes all of these; it may happen, where
///   an owner keeps all groups and changes all values. For W = 1 it is 2c cells by 1, or all of a public domain;
/// - attributes of summed values only: how many rows there are in which cell stays, so measure i moves by at most n·wᵢ:
///   cᵢ cells by wᵢ/Mᵢ. Of several such measures the largest counts in each cell, which is one of the alternatives;
/// - with one row per person, attributes of filters only: one cell by 1; and of keys only, by which the row goes to
///   another cell with the same values: two cells by 1.
pub(crate) fn together(query: &Query) -> Result<Option<JointMoves>> {
    let (groups, rows_per_group, rows) =
        query.bounds.map_or((1, 1, 1), |bounds| (bounds.groups, bounds.rows_per_group, bounds.rows));
    let most_cells = query.cells().unwrap_or(u64::MAX);
    let one_row_each = query.bounds.is_none();
    let (mut bounds, mut touches) = (Vec::new(), Vec::new());
    let (mut cells, mut widest) = (0, 1.0f64);
    for measure in &query.measures {
        let (largest, width) = reach(measure.range);
        if largest <= 0.0 {
            return Ok(None);
        }
        let each = if measure.what == Summand::Owners { 1 } else { rows_per_group };
        let own = groups.min(rows.div_ceil(each)).min(most_cells);
        // Whole owners are charged: a move by more than 1 is one by 2.
        let wide = if width > largest { 2.0 } else { 1.0 };
        bounds.push(at_least(each, largest));
        (cells, widest) = (cells.max(own), widest.max(wide));
        if !matches!(measure.what, Summand::Owners | Summand::Rows) {
            let values = if one_row_each { measure.attributes.clone() } else { all_values(query) };
            touches.push(touch(&values, vec![Shift::new(own, wide)?])?);
        }
    }
    let elsewhere = Shift::new(cells.saturating_mul(2).min(most_cells), 1.0)?;
    let replaced = if widest > 1.0 { Shift::new(cells, widest)? } else { elsewhere };
    let by_key = if one_row_each { elsewhere } else { replaced };
    let by_filter = if one_row_each { Shift::one_cell(1.0)? } else { replaced };
    let only_rows: BTreeSet<String> = query.rows.difference(&query.key_attributes).cloned().collect();
    touches.push(touch(&query.key_attributes, vec![by_key])?);
    touches.push(touch(&only_rows, vec![by_filter])?);
    touches.retain(|touch| !touch.attributes.is_empty());
    let moves = Moves::by_scope(vec![Shift::new(cells, 1.0)?], vec![replaced], touches);
    Ok(Some(JointMoves { moves, bounds }))
}

/// The moves of the ranks that a quantile is chosen by, in values that are added or removed.
///
/// # Guarantee
/// As for a measure with M = 1: a row adds one value or none (NULL); w is how much further the ranks move when a value
/// is replaced than when one is added. r rows of one owner are r added values, or r replaced ones where the owner was
/// there before: the distance moves by at most the sum ([`scumble::mechanism::quantile`]).
pub(crate) fn quantile_moves(quantile: &ColumnQuantile, query: &Query) -> Result<Moves> {
    let values = query.ranked.get(quantile.ranked).map(|ranked| &ranked.attributes);
    moves_of(&RowEffect { largest: 1.0, width: quantile.rank.replaced()?, values, once: false }, query)
}

/// What one row does to a cell.
struct RowEffect<'a> {
    /// M: what it adds or takes away at most.
    largest: f64,
    /// w: by how much another value in its place moves the cell at most.
    width: f64,
    /// The attributes of its value, if it has one.
    values: Option<&'a BTreeSet<String>>,
    /// Whether only the first row of an owner counts.
    once: bool,
}

fn moves_of(row: &RowEffect<'_>, query: &Query) -> Result<Moves> {
    let (groups, rows_per_group, rows) =
        query.bounds.map_or((1, 1, 1), |bounds| (bounds.groups, bounds.rows_per_group, bounds.rows));
    let each = if row.once { 1 } else { rows_per_group };
    let most_cells = query.cells().unwrap_or(u64::MAX);
    let cells = groups.min(rows.div_ceil(each)).min(most_cells);
    let (largest, width) = (at_least(each, row.largest), at_least(each, row.width));
    let presence = vec![Shift::new(cells, largest)?];
    let same = Shift::new(cells, width)?;
    let mut replaced = vec![Shift::new(cells.saturating_mul(2).min(most_cells), largest)?];
    if row.width > row.largest {
        replaced.push(same);
    }
    // A domain of fewer than 2c cells: some cells lose one owner's part and win another's, each by at most r·w.
    if cells.saturating_mul(2) > most_cells {
        replaced = vec![Shift::new(most_cells, width)?];
    }

    let one_row_each = query.bounds.is_none();
    let mut touches = vec![touch(&query.key_attributes, replaced.clone())?];
    let only_rows: BTreeSet<String> = query.rows.difference(&query.key_attributes).cloned().collect();
    let by_filter = if one_row_each { vec![Shift::one_cell(largest)?] } else { replaced.clone() };
    touches.push(touch(&only_rows, by_filter)?);
    if let Some(own) = row.values {
        // Which r rows of a group stay depends on all values of the query, where there can be more than r.
        let values = if one_row_each { own.clone() } else { all_values(query) };
        touches.push(touch(&values, vec![same])?);
    }
    touches.retain(|touch| !touch.attributes.is_empty());
    Ok(Moves::by_scope(presence, replaced, touches))
}

/// The moves of a sum over owners of something between nothing and `most` that depends on how many rows an owner has in
/// which group.
///
/// # Guarantee
/// An owner who comes, goes or replaces another moves the sum by at most `most`, because each adds between nothing and
/// that. How many rows there are in which group depends on keys, filters and joins; other attributes do not move the
/// sum.
pub(crate) fn of_owners(most: u64, query: &Query) -> Result<Moves> {
    let one = vec![Shift::one_cell(rounded_up(most.into()))?];
    let mut touches = vec![touch(&query.key_attributes.union(&query.rows).cloned().collect(), one.clone())?];
    touches.retain(|touch| !touch.attributes.is_empty());
    Ok(Moves::by_scope(one.clone(), one, touches))
}

/// The moves of a table of rows by their owners' numbers of rows and groups, to which one owner adds at most `most`
/// rows.
///
/// # Guarantee
/// What an owner adds is not negative and adds up to at most `most`: a mixture of "`most` rows in one cell". Another in
/// its place is a mixture of "two cells by `most`". Where a row is depends on keys, filters and joins; other attributes
/// move nothing.
pub(crate) fn of_rows_of_owners(most: u64, query: &Query) -> Result<Moves> {
    let (one, two) = (vec![Shift::one_cell(rounded_up(most.into()))?], vec![Shift::new(2, rounded_up(most.into()))?]);
    let mut touches = vec![touch(&query.key_attributes.union(&query.rows).cloned().collect(), two.clone())?];
    touches.retain(|touch| !touch.attributes.is_empty());
    Ok(Moves::by_scope(one, two, touches))
}

/// How many keys one owner can have alone.
pub(crate) fn keys_per_owner(query: &Query) -> u64 {
    query.bounds.map_or(1, |bounds| bounds.groups.min(bounds.rows))
}

/// M and w of a row that adds something in this range: how far it moves a cell when it comes or goes, and when another
/// value takes its place.
fn reach((low, high): (i64, i64)) -> (f64, f64) {
    let largest = low.unsigned_abs().max(high.unsigned_abs());
    let width = i128::from(high.max(0)) - i128::from(low.min(0));
    (rounded_up(largest.into()), rounded_up(width.unsigned_abs()))
}

/// The next number that is not below, where a whole number is none.
fn rounded_up(whole: u128) -> f64 {
    let near = whole as f64;
    if (near as u128) < whole { near.next_up() } else { near }
}

/// `rows` times a move: never below the exact product.
fn at_least(rows: u64, by: f64) -> f64 {
    let rows = rounded_up(rows.into());
    let product = rows * by;
    if rows.mul_add(by, -product) > 0.0 { product.next_up() } else { product }
}

fn touch(attributes: &BTreeSet<String>, shifts: Vec<Shift>) -> Result<Touch> {
    Ok(Touch { attributes: AttributeSet::new(attributes.iter().cloned())?, shifts })
}

fn all_values(query: &Query) -> BTreeSet<String> {
    let measures = query.measures.iter().map(|measure| &measure.attributes);
    measures.chain(query.ranked.iter().map(|ranked| &ranked.attributes)).flatten().cloned().collect()
}
