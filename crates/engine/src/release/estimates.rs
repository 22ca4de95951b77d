//! What the numbers of a release are about, where not all rows of an owner may count.

use crate::release::output::Answers;
use crate::tables::bounding::Bounds;
use serde::Serialize;
use serde_json::json;

/// What the numbers of a release are about: a bounded table, which is not the whole one where owners have more than
/// counts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimates {
    of: &'static str,
    words: String,
    bounds: BoundsShown,
}

/// How much of an owner counts, or how much for each of several groupings.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
enum BoundsShown {
    One(OwnerBounds),
    Several(Vec<OwnerBounds>),
}

/// How much of an owner counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct OwnerBounds {
    #[serde(skip_serializing_if = "Option::is_none")]
    groups_per_owner: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_per_group: Option<u64>,
    rows_per_owner: u64,
}

impl OwnerBounds {
    /// Of an owner's rows, and of no groups.
    fn rows(rows_per_owner: u64) -> Self {
        Self { groups_per_owner: None, rows_per_group: None, rows_per_owner }
    }
}

/// What the numbers are about.
const OF: &str = "the bounded table";

/// What becomes of the rest.
const CUT_OFF: &str = "What an owner has beyond that is cut off: it is in no number";
/// And that no error covers it.
const UNCOVERED: &str = ", and no error or interval covers it.";

impl Estimates {
    /// The numbers of a query with these bounds; none where each row is one person, and every row counts.
    pub(crate) fn of(bounds: Option<Bounds>, grouped: bool) -> Option<Self> {
        let bounds = bounds?;
        let counted = counted(bounds, grouped);
        let verb = if counted == "at most 1 row" { "counts" } else { "count" };
        let words = format!("Of the bounded table: of each owner {counted} {verb}, chosen at random. {CUT_OFF}");
        Some(Self { of: OF, words: format!("{words}{UNCOVERED}"), bounds: BoundsShown::One(listed(bounds)) })
    }

    /// The numbers of several groupings: the name, the bounds and whether there are groups, of each.
    pub(crate) fn of_several(all: &[(String, Option<Bounds>, bool)]) -> Option<Self> {
        let bounds = all.iter().map(|(_, bounds, _)| *bounds).collect::<Option<Vec<Bounds>>>()?;
        if bounds.is_empty() {
            return None;
        }
        let one = |((named, _, grouped), bounds): (&(String, Option<Bounds>, bool), &Bounds)| {
            format!("{named} {}", counted(*bounds, *grouped))
        };
        let counted: Vec<String> = all.iter().zip(&bounds).map(one).collect();
        let words = format!(
            "Of the bounded table: of each owner count, chosen at random for each grouping, {}. {CUT_OFF}{UNCOVERED}",
            counted.join("; ")
        );
        Some(Self { of: OF, words, bounds: BoundsShown::Several(bounds.into_iter().map(listed).collect()) })
    }

    /// The numbers of one record for each owner.
    pub(crate) fn of_records(which: &str) -> Self {
        let words = format!("Of the bounded table: {which}. {CUT_OFF}{UNCOVERED}");
        Self { of: OF, words, bounds: BoundsShown::One(OwnerBounds::rows(1)) }
    }

    /// The numbers of a graph to which each owner adds at most this many edges.
    pub(crate) fn of_edges(most: u64) -> Self {
        let words = format!(
            "Of the bounded table: of each owner at most {} count, chosen at random. {CUT_OFF}{UNCOVERED}",
            number(most, "edge")
        );
        Self { of: OF, words, bounds: BoundsShown::One(OwnerBounds::rows(most)) }
    }

    /// The same where the answers say more about the rest.
    pub(crate) fn except(mut self, more: &str) -> Self {
        self.words = format!("{}. {more}", self.words.trim_end_matches(UNCOVERED));
        self
    }

    /// In one or two sentences.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Says it in the answers, before all else.
    pub(crate) fn say_in(&self, answers: &mut Answers) {
        answers.details.facts.insert("estimates".to_string(), json!(self));
        answers.notes.insert(0, self.words.clone());
    }
}

fn counted(Bounds { groups, rows_per_group, rows }: Bounds, grouped: bool) -> String {
    match grouped {
        true if groups < rows || rows_per_group < rows => format!(
            "at most {} with at most {} in each, and at most {} in all",
            number(groups, "group"),
            number(rows_per_group, "row"),
            number(rows, "row")
        ),
        _ => format!("at most {}", number(rows, "row")),
    }
}

fn listed(Bounds { groups, rows_per_group, rows }: Bounds) -> OwnerBounds {
    OwnerBounds { groups_per_owner: Some(groups), rows_per_group: Some(rows_per_group), rows_per_owner: rows }
}

pub(crate) fn number(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_is_said_in_plain_words() {
        let bounds = |groups, rows_per_group, rows| Some(Bounds { groups, rows_per_group, rows });
        let words = |bounds, grouped| Estimates::of(bounds, grouped).unwrap().words().to_string();
        let some = words(bounds(2, 1, 2), true);
        assert!(
            some.contains("of each owner at most 2 groups with at most 1 row in each, and at most 2 rows in all count"),
            "{some}"
        );
        assert!(some.ends_with("no error or interval covers it."), "{some}");
        assert!(words(bounds(1, 20, 20), false).contains("of each owner at most 20 rows count"));
        assert!(words(bounds(1, 1, 1), true).contains("of each owner at most 1 row counts"));
        assert!(words(bounds(20, 20, 20), true).contains("of each owner at most 20 rows count"));
        assert_eq!(Estimates::of(None, true), None);
        let more = Estimates::of(bounds(2, 1, 2), true).unwrap().except("Intervals cover more.");
        assert!(more.words().ends_with("it is in no number. Intervals cover more."), "{}", more.words());
    }
}
