//! What is published of counts, and how far they are from something else.

use super::{CHARGED, CountQuery};
use crate::error::Result;
use crate::project::Request;
use crate::release::field::{Field, PlacedValue};
use crate::release::output::{AnswerColumn, Cell};

pub(crate) const AT_LEAST: Field<Option<PlacedValue<u64>>> =
    Field::new("at_least", "publishes whether the count is at least this; one of this, `rounded_to` and `largest`");
pub(crate) const ROUNDED_TO: Field<Option<PlacedValue<u64>>> =
    Field::new("rounded_to", "publishes between which two multiples of this number the count lies");
pub(crate) const LARGEST: Field<Option<PlacedValue<bool>>> = Field::new(
    "largest",
    "with a GROUP BY: publishes the key of the largest count (of equal ones the first), without the count",
);

/// What is published of counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StableQuestion {
    /// Of each count, where it stands.
    Where(Scale),
    /// Whose count is the largest.
    Largest,
}

/// Steps on which a count can stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    AtLeast(u64),
    Rounded(u64),
}

impl StableQuestion {
    pub fn read(request: &Request) -> Result<Self> {
        let largest = LARGEST.read(request)?.filter(|largest| largest.value);
        match (AT_LEAST.read(request)?, ROUNDED_TO.read(request)?, largest) {
            (Some(limit), None, None) => Ok(Self::Where(Scale::AtLeast(limit.value))),
            (None, Some(step), None) if step.value >= 2 => Ok(Self::Where(Scale::Rounded(step.value))),
            (None, Some(step), None) => {
                Err(step.error("a count that is rounded to 1 changes with every row: give a larger number"))
            }
            (None, None, Some(_)) => Ok(Self::Largest),
            (_, Some(step), _) => Err(step.error("give only one of at_least, rounded_to and largest")),
            (Some(limit), ..) => Err(limit.error("give only one of at_least, rounded_to and largest")),
            (None, None, None) => Err(request.fields.error(format!(
                "release '{}' needs 'at_least' or 'rounded_to' (or, of a query with GROUP BY, 'largest'): a count itself changes with every row",
                request.name
            ))),
        }
    }

    /// The names of the columns that are exact or empty.
    pub fn names(self, counting: &CountQuery) -> Vec<String> {
        match self {
            Self::Where(scale) => scale.columns(&[]).into_iter().map(|column| column.name).collect(),
            Self::Largest => counting.keys.iter().map(|key| key.name.clone()).collect(),
        }
    }
}

impl Scale {
    /// By how much a count must change until something else is true; at least 1.
    pub fn distance(self, count: u64) -> u64 {
        match self {
            Self::AtLeast(limit) if count >= limit => count - limit + 1,
            Self::AtLeast(limit) => limit - count,
            Self::Rounded(step) => {
                let above = count % step;
                // There is nothing below the first step.
                if count < step { step - above } else { (above + 1).min(step - above) }
            }
        }
    }

    /// What is true of each count; nothing where nothing is published.
    pub fn columns(self, counts: &[Option<u64>]) -> Vec<AnswerColumn> {
        let column = |name: &str, cell: &dyn Fn(u64) -> Cell| {
            AnswerColumn::plain(name, counts.iter().map(|count| count.map_or(Cell::Null, cell)))
        };
        match self {
            Self::AtLeast(limit) => {
                vec![column(&format!("is_at_least_{limit}"), &|count| Cell::Truth(count >= limit))]
            }
            Self::Rounded(step) => {
                let from = |count: u64| i128::from(count - count % step);
                vec![
                    column("from", &|count| Cell::Whole(from(count))),
                    column("below", &|count| Cell::Whole(from(count) + i128::from(step))),
                ]
            }
        }
    }

    /// The notes beside these answers.
    pub fn note(self, counts: &[Option<u64>], counting: &CountQuery) -> String {
        let unit = counting.unit;
        let silent = counts.iter().filter(|count| count.is_none()).count();
        match (counting.keys.is_empty(), counting.lists_keys()) {
            (true, _) if silent == 0 => format!("This is exactly true of the counted {unit}."),
            (true, _) => format!("Nothing is published: a few {unit} might change what is true. {CHARGED}"),
            (false, true) => format!(
                "What is published is exactly true of the counted {unit}. For {silent} of {} keys nothing is \
                    published: a few {unit} might change what is true. The cost is the same, however many there are.",
                counts.len()
            ),
            (false, false) => format!(
                "What is published is exactly true of the counted {unit}. The keys are not public: one is left out where a few {unit} might change what is true, or whether it occurs. The cost is the same, however many there are."
            ),
        }
    }
}
