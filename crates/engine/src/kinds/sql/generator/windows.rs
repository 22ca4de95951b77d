//! The integers by the window form: the SQL text that other backends get, run by DataFusion.

use super::check::Case;
use crate::project::Project;
use crate::sql::PrivateQuery;
use crate::sql::execute::cell::ExactCell;
use crate::sql::execute::integers::Integers;
use crate::sql::text::functions::sha256;
use crate::sql::text::with_secret;
use crate::tables::Backend;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::execution::FunctionRegistry;
use datafusion::functions::datetime::planner::DatetimeFunctionPlanner;
use datafusion::functions::unicode::planner::UnicodeFunctionPlanner;
use datafusion::prelude::{SessionConfig, SessionContext};
use scumble::mechanism::quantile;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Cells by key, without empty ones.
pub(crate) type NonEmptyCells = HashMap<Vec<ScalarValue>, ExactCell>;

/// A session for the window form.
pub(crate) fn session() -> SessionContext {
    let mut config = SessionConfig::new().with_target_partitions(2).with_information_schema(false);
    config.options_mut().sql_parser.parse_float_as_decimal = false;
    // DataFusion takes a column that cannot be NULL for another one than the same column where it forgot that.
    config.options_mut().execution.skip_physical_aggregate_schema_check = true;
    let mut context = SessionContext::new_with_config(config);
    // SUBSTR and EXTRACT have a syntax of their own.
    context.register_expr_planner(Arc::new(UnicodeFunctionPlanner)).expect("a planner");
    context.register_expr_planner(Arc::new(DatetimeFunctionPlanner)).expect("a planner");
    context
}

/// The cells that have anything in them.
pub(crate) fn filled(integers: &Integers) -> NonEmptyCells {
    let cells = integers.keys.iter().cloned().zip(integers.cells.iter().cloned());
    cells.filter(|(_, cell)| !is_empty(cell)).collect()
}

fn is_empty(cell: &ExactCell) -> bool {
    cell.sums.iter().all(|sum| *sum == 0) && cell.ranked.iter().all(BTreeMap::is_empty)
}

/// Runs the statements on the tables.
pub(crate) fn cells(
    cut: &PrivateQuery,
    project: &Project,
    backend: &Backend,
    context: &SessionContext,
    case: &Case,
) -> Result<NonEmptyCells, String> {
    let texts = with_secret(cut, project, &case.secret()).map_err(|error| format!("no text: {error}"))?;
    context.register_udf(sha256());
    let (world, used) = (&case.world, case.query.from.tables());
    for index in used.iter().copied() {
        let table = &world.tables[index];
        let batch = world.batch(index, &case.rows[index], world.has_number_owners(&used));
        let provider = MemTable::try_new(batch.schema(), vec![vec![batch]]).map_err(|error| error.to_string())?;
        let _ = context.deregister_table(table.name.as_str());
        context.register_table(table.name.as_str(), Arc::new(provider)).map_err(|error| error.to_string())?;
    }
    let run = |text: &String| {
        let collected = backend.wait(async { context.sql(text).await?.collect().await });
        collected.map_err(|error| format!("{error}\n{text}"))
    };
    let empty =
        || ExactCell { sums: vec![0; cut.query.measures.len()], ranked: vec![BTreeMap::new(); cut.query.ranked.len()] };
    let (mut cells, keys) = (NonEmptyCells::new(), cut.query.keys.len());
    let mut texts = texts.iter();
    if !cut.query.measures.is_empty() {
        for (key, sums) in table(&run(texts.next().ok_or("a statement is missing")?)?, keys)? {
            if cells.insert(key.clone(), ExactCell { sums, ..empty() }).is_some() {
                return Err(format!("the window form gives the key {key:?} twice"));
            }
        }
    }
    for (index, ranked) in cut.query.ranked.iter().enumerate() {
        let first = ranked.grid.steps(ranked.grid.lower);
        for (mut key, counts) in table(&run(texts.next().ok_or("a statement is missing")?)?, keys + 1)? {
            let Some(ScalarValue::Int64(Some(steps))) = key.pop() else {
                return Err("a step is no number".to_string());
            };
            let cell = cells.entry(key).or_insert_with(empty);
            cell.ranked[index].insert(quantile::key(steps, first), u64::try_from(counts[0]).unwrap_or(0));
        }
    }
    cells.retain(|_, cell| !is_empty(cell));
    Ok(cells)
}

/// A key and its whole numbers.
type KeyedNumbers = (Vec<ScalarValue>, Vec<i128>);

/// Each row as its key and its whole numbers.
fn table(batches: &[RecordBatch], keys: usize) -> Result<Vec<KeyedNumbers>, String> {
    let mut table = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let values = batch.columns().iter().map(|column| ScalarValue::try_from_array(column, row));
            let mut values = values.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
            let sums = values.split_off(keys).into_iter().map(|value| match value {
                ScalarValue::Int64(Some(number)) => Ok(i128::from(number)),
                ScalarValue::Decimal128(Some(number), _, 0) => Ok(number),
                other => Err(format!("the window form gives {other:?} for a whole number")),
            });
            let texts = values.into_iter().map(|value| match value {
                ScalarValue::Utf8View(text) | ScalarValue::LargeUtf8(text) => ScalarValue::Utf8(text),
                other => other,
            });
            table.push((texts.collect(), sums.collect::<Result<_, _>>()?));
        }
    }
    Ok(table)
}
