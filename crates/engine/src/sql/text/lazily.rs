//! The rules of [`crate::tables::bounding`] as PostgreSQL runs them best: a hash is computed only where it decides
//! something.
//!
//! One hash costs PostgreSQL as much as a dozen comparisons, and most owners are within the bounds. The rows that stay
//! are the same as in the plain form:
//!
//! - *Copies.* `RANK` is the place of the first of equal rows, so `ROW_NUMBER − RANK + 1` numbers them, and the same
//!   window counts the group.
//! - *Places of rows* depend on hashes only where some rows of a group stay and others go: where it is larger than a
//!   group may be, or where an owner has more rows than count and the group several. Whether that is so is the same for
//!   all rows of a group, so that either all of its ranks are there or none; without them the places are 1, 2, … in
//!   another order, and they all stay or go together.
//! - *Cuts.* Cutting rows off first leaves the first of every group, so that neither the number nor the order of groups
//!   changes.
//! - *Groups and slots* are ranked where an owner has more than may stay. Where that is not so, all places are within
//!   the bounds in any order.
//! - *Owners.* Of a group that keeps anything the first row stays, so that counting first rows counts owners.

use super::super::PrivateQuery;
use super::{Engine, Names, group_text, row_text};
use crate::tables::bounding::Bounds;
use datafusion::arrow::datatypes::DataType;

const ENGINE: Engine = Engine::Postgres;

/// The parts behind `scumble_rows`, ending in `scumble_kept`.
pub(crate) fn kept(cut: &PrivateQuery, names: &Names, bounds: Bounds, secret: &str) -> String {
    let Bounds { groups, rows_per_group, rows } = bounds.deciding();
    let has_slots = groups.saturating_mul(rows_per_group) > rows;
    let is_bounded = |bound: u64| bound < u64::MAX;
    let keys: Vec<String> =
        cut.query.keys.iter().zip(&names.keys).map(|(key, name)| in_order(name, &key.kind)).collect();
    let owner_and_keys = joined("scumble_owner", &keys);
    let mut parts = WithClause { text: String::new(), last: "scumble_rows" };
    if !names.values.is_empty() {
        let values = names.values.join(", ");
        parts.add(
            "scumble_numbered",
            "*, ROW_NUMBER() OVER scumble_group - RANK() OVER scumble_group + 1 AS scumble_copy, COUNT(*) OVER scumble_group AS scumble_number",
            &format!(" WINDOW scumble_group AS (PARTITION BY {owner_and_keys} ORDER BY {values} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"),
        );
    }
    let cuts_inside = has_slots && !names.values.is_empty();
    if cuts_inside {
        parts.add("scumble_summed", "*, COUNT(*) OVER (PARTITION BY scumble_owner) AS scumble_all", "");
    }
    let mut decides = Vec::new();
    if is_bounded(rows_per_group) {
        decides.push(format!("scumble_number > {rows_per_group}"));
    }
    if cuts_inside {
        decides.push(format!("scumble_number > 1 AND scumble_all > {rows}"));
    }
    let group_rank = ENGINE.rank_text(&group_text(cut, names, ENGINE, secret));
    let row_order = match names.values.is_empty() {
        true => "scumble_owner".to_string(),
        false => {
            let rank = ENGINE.rank(&row_text(cut, names, ENGINE, secret, &group_rank));
            joined(&where_it_decides(&decides, &rank), &names.values)
        }
    };
    let place =
        format!("*, ROW_NUMBER() OVER (PARTITION BY {owner_and_keys} ORDER BY {row_order}) AS scumble_row_place");
    parts.add("scumble_placed", &place, "");
    if is_bounded(rows_per_group) {
        parts.add("scumble_first", "*", &format!(" WHERE scumble_row_place <= {rows_per_group}"));
    }
    let (mut counts, mut decides) = (String::new(), Vec::new());
    if is_bounded(groups) {
        counts.push_str(
            ", COUNT(CASE WHEN scumble_row_place = 1 THEN 1 END) OVER (PARTITION BY scumble_owner) AS scumble_groups",
        );
        decides.push(format!("scumble_groups > {groups}"));
    }
    if has_slots {
        counts.push_str(", COUNT(*) OVER (PARTITION BY scumble_owner) AS scumble_places");
        decides.push(format!("scumble_places > {rows}"));
    }
    if !decides.is_empty() {
        parts.add("scumble_owned", &format!("*{counts}"), "");
        // Without the fence the rank would be put in wherever it is read, and be computed there again.
        let rank = where_it_decides(&decides, &group_rank);
        parts.add("scumble_ranked", &format!("*, {rank} COLLATE \"C\" AS scumble_rank"), " OFFSET 0");
    }
    let rank_and_keys = joined("scumble_rank", &keys);
    if is_bounded(groups) {
        let place = format!(
            "*, DENSE_RANK() OVER (PARTITION BY scumble_owner ORDER BY {rank_and_keys}) AS scumble_group_place"
        );
        parts.add("scumble_grouped", &place, "");
        parts.add("scumble_few", "*", &format!(" WHERE scumble_group_place <= {groups}"));
    }
    if !has_slots {
        parts.add("scumble_kept", "*", "");
        return parts.text;
    }
    let number = ENGINE.text("scumble_row_place - 1");
    let rank = ENGINE.rank(&format!("'{secret} slot ' || scumble_rank || ' ' || {number}"));
    let rank = where_it_decides(&[format!("scumble_places > {rows}")], &rank);
    let slot = format!(
        "*, ROW_NUMBER() OVER (PARTITION BY scumble_owner ORDER BY {rank}, {rank_and_keys}, scumble_row_place) AS scumble_slot"
    );
    parts.add("scumble_slotted", &slot, "");
    let count = format!(
        "*, COUNT(CASE WHEN scumble_slot <= {rows} THEN 1 END) OVER (PARTITION BY {owner_and_keys}) AS scumble_count"
    );
    parts.add("scumble_counted", &count, "");
    parts.add("scumble_kept", "*", " WHERE scumble_row_place <= scumble_count");
    parts.text
}

/// Named parts; each reads the one before.
struct WithClause {
    text: String,
    last: &'static str,
}

impl WithClause {
    fn add(&mut self, name: &'static str, columns: &str, behind: &str) {
        self.text.push_str(&format!(", {name} AS (SELECT {columns} FROM {}{behind})", self.last));
        self.last = name;
    }
}

/// A rank where one of some conditions holds; nothing where none is needed at all.
fn where_it_decides(conditions: &[String], rank: &str) -> String {
    match conditions {
        [] => "CAST(NULL AS VARCHAR)".to_string(),
        some => format!("CASE WHEN {} THEN {rank} END", some.join(" OR ")),
    }
}

/// Texts are compared byte by byte, whatever the database's language thinks of their letters.
fn in_order(name: &str, kind: &DataType) -> String {
    match kind {
        DataType::Utf8 => format!("{name} COLLATE \"C\""),
        _ => name.to_string(),
    }
}

fn joined(first: &str, rest: &[String]) -> String {
    std::iter::once(first).chain(rest.iter().map(String::as_str)).collect::<Vec<_>>().join(", ")
}
