//! Rules that somebody lists as conditions in SQL: each is evaluated on every combination of public values, before any row is read.

use super::Asked;
use super::class::{Class, of_tables, sizes};
use crate::error::Result;
use crate::project::Request;
use crate::release::field::Placed;
use crate::release::output::Cell;
use datafusion::arrow::array::{ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, StringArray};
use datafusion::error::DataFusionError;
use datafusion::prelude::{DataFrame, SessionContext};
use std::sync::Arc;

/// More combinations are refused: each rule is computed for all of them.
const MOST_CELLS: usize = 100_000;
const MOST_RULES: usize = 1_000;

/// The class of the listed rules, in their order.
pub(super) fn class(asked: &Asked, rules: &[Placed<String>], request: &Request) -> Result<Class> {
    if rules.is_empty() || rules.len() > MOST_RULES {
        return Err(super::RULES.error(request, format!("list 1 to {MOST_RULES} rules")));
    }
    let (sizes, cells) = sizes(asked, request, MOST_CELLS)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .map_err(|error| crate::error::Error::input(format!("conditions cannot be computed here ({error})")))?;
    let frame = SessionContext::new().read_batch(combinations(asked, &sizes, cells)?);
    let mut tables = Vec::new();
    for rule in rules {
        let evaluated = frame
            .as_ref()
            .map_err(|error| error.to_string())
            .and_then(|frame| runtime.block_on(evaluate(frame, &rule.value)).map_err(|error| error.strip_backtrace()));
        let table = evaluated.map_err(|error| {
            let first = error.lines().next().unwrap_or_default().to_string();
            rule.error(format!("this is no condition over the columns ({first})"))
        })?;
        tables.push(table);
    }
    let texts: Vec<String> = rules.iter().map(|rule| rule.value.clone()).collect();
    of_tables("listed rules", sizes, tables, Box::new(move |rule| format!("({})", texts[rule])), request)
}

/// All combinations of public values, as a table.
fn combinations(asked: &Asked, sizes: &[usize], cells: usize) -> Result<RecordBatch> {
    let mut block = cells;
    let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
    for ((name, values), size) in asked.columns().iter().zip(&asked.domain).zip(sizes) {
        block /= size;
        let value = |cell: usize| &values[cell / block % size];
        let array: ArrayRef = match &values[0] {
            Cell::Truth(_) => Arc::new(
                (0..cells)
                    .map(|cell| if let Cell::Truth(truth) = value(cell) { Some(*truth) } else { None })
                    .collect::<BooleanArray>(),
            ),
            Cell::Whole(_) => Arc::new(
                (0..cells)
                    .map(|cell| if let Cell::Whole(number) = value(cell) { i64::try_from(*number).ok() } else { None })
                    .collect::<Int64Array>(),
            ),
            _ => Arc::new(
                (0..cells)
                    .map(|cell| if let Cell::Text(text) = value(cell) { Some(text.as_str()) } else { None })
                    .collect::<StringArray>(),
            ),
        };
        columns.push((name.as_str(), array));
    }
    let fields = columns.iter().map(|(name, array)| (*name, Arc::clone(array), true));
    RecordBatch::try_from_iter_with_nullable(fields).map_err(|error| {
        crate::error::Error::input(format!("conditions cannot be computed over these columns ({error})"))
    })
}

/// What a condition says of every combination; unknown is false.
async fn evaluate(frame: &DataFrame, condition: &str) -> std::result::Result<Vec<bool>, DataFusionError> {
    let condition = frame.parse_sql_expr(condition)?;
    if condition.is_volatile() {
        return Err(DataFusionError::Plan("it may say something else each time".to_string()));
    }
    let mut says = Vec::new();
    for batch in frame.clone().select(vec![condition])?.collect().await? {
        let truths = batch.column(0).as_boolean_opt();
        let truths = truths.ok_or_else(|| DataFusionError::Plan("it is neither true nor false".to_string()))?;
        says.extend(truths.iter().map(|truth| truth == Some(true)));
    }
    Ok(says)
}
