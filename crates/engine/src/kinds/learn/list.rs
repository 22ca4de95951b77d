//! Rules that somebody lists as conditions in SQL: each is tried out on every combination of public values, before any
//! row is read.

use super::LearnRequest;
use super::class::{RuleClass, of_tables, sizes};
use crate::error::Result;
use crate::project::{Project, Request};
use crate::release::field::PlacedValue;
use crate::release::rows::condition::one_condition;
use crate::release::rows::universe::Universe;

/// More combinations are refused: each rule is computed for all of them.
const MOST_CELLS: usize = 100_000;
const MOST_RULES: usize = 1_000;

/// The class of the listed rules, in their order.
///
/// What may stand in a rule is what may stand in a query's WHERE ([`Universe::fulfilling`]): of any size that can be
/// read, and without anything that fails on some value.
pub(crate) fn class(
    asked: &LearnRequest,
    rules: &[PlacedValue<String>],
    request: &Request,
    project: &Project,
) -> Result<RuleClass> {
    if rules.is_empty() || rules.len() > MOST_RULES {
        return Err(super::RULES.error(request, format!("list 1 to {MOST_RULES} rules")));
    }
    let (sizes, _) = sizes(asked, request, MOST_CELLS)?;
    // The columns without the label, in the same order.
    let universe = Universe::new(request, project, &super::PUBLISHED)?;
    let tables = rules.iter().map(|rule| universe.fulfilling(rule, project)).collect::<Result<Vec<_>>>()?;
    // As they were understood: behind a comment in a rule, the rest of what is published would be one.
    let texts = rules.iter().map(one_condition).collect::<Result<Vec<String>>>()?;
    of_tables("listed rules", sizes, tables, Box::new(move |rule| format!("({})", texts[rule])), request)
}
