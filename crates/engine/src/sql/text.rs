//! The private part of a plan as SQL text, with window functions in the place of our one pass: for engines that speak
//! SQL.
//!
//! The text clamps, bounds contributions and sums up; what comes back are the integers of our one pass with SHA-256
//! ranks ([`crate::tables::ranks`], which has the texts that are hashed), whatever the engine. For engines other than
//! DataFusion only what all of them mean the same by is written ([`portable`]).
//!
//! The text assumes that NaN is above all numbers, as in PostgreSQL and DataFusion, and that tables have their declared
//! columns.

mod engine;
#[cfg(any(test, feature = "generator"))]
pub(crate) mod functions;
mod lazily;
mod portable;
mod sizes;
#[cfg(test)]
mod tests;

pub use engine::Engine;

use super::PrivateQuery;
use crate::error::DataFusionResult;
use crate::project::{BinEdges, Column as Declared, Domain, Project, Recoding};
use crate::sql::analyse::dates;
use crate::sql::analyse::described::Ownership;
use crate::sql::analyse::query::{Measure, Summand};
use crate::sql::functions::is_guard;
use crate::tables::bounding::Bounds;
use crate::tables::functions::{FITTED, Grid, MOMENT, brought_in_sql, fitted_in_sql};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DataFusionError, ScalarValue};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, binary_expr, cast, lit, when,
};
use datafusion::optimizer::utils::NamePreserver;
use datafusion::sql::sqlparser::ast::{self, visit_expressions_mut};
use datafusion::sql::unparser::Unparser;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Writing a plan as text goes deeper than anything else does: DataFusion takes up to 400 KB of the stack for each
/// sub-query.
const STACK: usize = 256 << 20;

fn text(plan: &LogicalPlan, engine: Engine) -> DataFusionResult<String> {
    std::thread::scope(|scope| {
        let write = || {
            let mut statement = Unparser::new(&engine).plan_to_sql(plan)?;
            spell_booleans(&mut statement);
            Ok(statement.to_string())
        };
        let writer = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, write);
        let failed = || DataFusionError::Internal("a plan that cannot be written".to_string());
        writer.map_err(|_| failed())?.join().map_err(|_| failed())?
    })
}

/// `CAST(… AS BOOL)` becomes `CAST(… AS BOOLEAN)`, which every engine knows; DataFusion's dialects have no say in it.
fn spell_booleans(statement: &mut ast::Statement) {
    let _ = visit_expressions_mut(statement, |expression| {
        if let ast::Expr::Cast { data_type, .. } = expression
            && *data_type == ast::DataType::Bool
        {
            *data_type = ast::DataType::Boolean;
        }
        ControlFlow::<()>::Continue(())
    });
}

/// The word that stands in the place of the secret, in texts that hold none.
const NO_SECRET: &str = "SECRET";

/// The statements for DataFusion: the measures by key, then for each ranked column how often each step occurs, by key.
pub(crate) fn statements(cut: &PrivateQuery, project: &Project) -> DataFusionResult<Vec<String>> {
    with_secret(cut, project, NO_SECRET)
}

/// The same with a secret.
pub(crate) fn with_secret(cut: &PrivateQuery, project: &Project, secret: &str) -> DataFusionResult<Vec<String>> {
    let plain = |statement: Statement| {
        let listed: Vec<String> = statement.keys.into_iter().chain(statement.numbers).collect();
        format!("{} SELECT {} FROM {}{}", statement.with, listed.join(", "), statement.from, statement.grouped)
    };
    Ok(made(cut, project, Engine::Embedded, secret)?.into_iter().map(plain).collect())
}

/// The names of the columns of a statement of a job: its keys, its sums (of a ranked column the step and how often it
/// occurs), how many rows it has, and the name by which it is known again.
pub(crate) fn columns(keys: usize, sums: usize, ranked: bool, name: &str) -> Vec<String> {
    let keys = (0..keys).map(|index| format!("key_{index}"));
    let sums: Vec<String> = match ranked {
        true => vec!["step".to_string(), "times".to_string()],
        false => (0..sums).map(|index| format!("sum_{index}")).collect(),
    };
    keys.chain(sums).chain(["cells".to_string(), name.to_string()]).collect()
}

/// The statements of a job for another engine. Everything comes back as text, so that no engine's opinion on how a
/// number or a truth is written matters. `name` gives the name of the last column of the n-th statement (from 0). A
/// statement that finds nothing gives one row that says so: a result that was cut off is none.
///
/// What is not written for other engines is a [`DataFusionError::NotImplemented`] that says what it is.
pub(crate) fn job(
    cut: &PrivateQuery,
    project: &Project,
    engine: Engine,
    secret: &str,
    name: impl Fn(usize) -> String,
) -> DataFusionResult<Vec<String>> {
    let kinds: Vec<&DataType> = cut.query.keys.iter().map(|key| &key.kind).collect();
    let mut all = Vec::new();
    for (index, statement) in made(cut, project, engine, secret)?.into_iter().enumerate() {
        let ranked = statement.keys.len() > kinds.len();
        let keys = statement.keys.iter().zip(&kinds).map(|(key, kind)| spelled(key, kind, engine));
        let steps = statement.keys.iter().skip(kinds.len()).map(|step| engine.text(step));
        let numbers = statement.numbers.iter().map(|number| engine.text(number));
        let values = keys.chain(steps).chain(numbers).chain([engine.text("COUNT(*) OVER ()")]);
        let names = columns(kinds.len(), statement.numbers.len(), ranked, &name(index));
        let inner: Vec<String> = values.zip(&names).map(|(value, name)| format!("{value} AS {name}")).collect();
        let [told @ .., cells, mark] = &names[..] else { unreachable!("there are two columns besides") };
        let told: String = told.iter().map(|name| format!("{name}, ")).collect();
        all.push(format!(
            "{}\nSELECT {told}COALESCE({cells}, '0') AS {cells}, '1' AS {mark}\nFROM (SELECT 1 AS scumble_one) scumble_always\n\
             LEFT JOIN (SELECT {} FROM {}{}) scumble_found ON TRUE",
            statement.with,
            inner.join(", "),
            statement.from,
            statement.grouped
        ));
    }
    Ok(all)
}

/// A statement in parts.
struct Statement {
    with: String,
    keys: Vec<String>,
    numbers: Vec<String>,
    from: &'static str,
    grouped: String,
}

fn made(cut: &PrivateQuery, project: &Project, engine: Engine, secret: &str) -> DataFusionResult<Vec<Statement>> {
    refuse_untold(cut)?;
    let names = Names::of(cut);
    let kept = match (&cut.below.owner, cut.query.bounds) {
        (Ownership::Named(_), Some(bounds)) => kept(cut, &names, bounds, engine, secret),
        _ => String::new(),
    };
    let from = if kept.is_empty() { "scumble_rows" } else { "scumble_kept" };
    let rows = rows(cut, project, engine)?;
    if engine != Engine::Embedded {
        portable::check_keys(cut)?;
        portable::check(&rows)?;
        portable::check_names(&rows, engine)?;
        portable::check_zeros(cut)?;
        sizes::check(cut, project)?;
    }
    let with = format!("WITH scumble_rows AS ({}){}", text(&rows, engine)?, in_lines(&kept, engine));
    let grouped = |by: &[String]| if by.is_empty() { String::new() } else { format!(" GROUP BY {}", by.join(", ")) };
    let mut all = Vec::new();
    if !cut.query.measures.is_empty() {
        let (keys, numbers) = (names.keys.clone(), measures(cut, engine).collect());
        all.push(Statement { with: with.clone(), grouped: grouped(&keys), keys, numbers, from });
    }
    for value in &names.values[names.values.len() - cut.query.ranked.len()..] {
        let keys: Vec<String> = names.keys.iter().chain([value]).cloned().collect();
        let numbers = vec!["COUNT(*)".to_string()];
        let grouped = format!(" WHERE {value} IS NOT NULL{}", grouped(&keys));
        all.push(Statement { with: with.clone(), keys, numbers, from, grouped });
    }
    Ok(all)
}

/// A line for each named part, for people who read a job. Nothing of the query's own text is in these parts.
fn in_lines(kept: &str, engine: Engine) -> String {
    let parts = [
        "groups", "numbered", "summed", "ranked", "placed", "first", "owned", "grouped", "few", "slotted", "counted",
        "kept",
    ];
    match engine {
        Engine::Embedded => kept.to_string(),
        _ => parts.iter().fold(kept.to_string(), |text, part| {
            text.replace(&format!(", scumble_{part} AS ("), &format!(",\nscumble_{part} AS ("))
        }),
    }
}

/// Refuses what is not written as text for any engine.
fn refuse_untold(cut: &PrivateQuery) -> DataFusionResult<()> {
    let partial = |expression: &Expr| {
        expression.exists(|node| Ok(matches!(node, Expr::ScalarFunction(call) if is_guard(call.func.name()))))
    };
    let mut values = cut.query.measures.iter().filter_map(|measure| measure.expression.as_ref());
    let mut others =
        cut.query.keys.iter().map(|key| &key.expression).chain(cut.query.ranked.iter().map(|one| &one.expression));
    let reads_list = cut.below.plan.exists(|node| {
        node.expressions()
            .iter()
            .try_fold(false, |found, one| Ok(found || one.exists(|node| Ok(matches!(node, Expr::InSubquery(_))))?))
    })?;
    if reads_list {
        return Err(DataFusionError::NotImplemented("IN (SELECT …)".to_string()));
    }
    let in_plan = cut
        .below
        .plan
        .exists(|node| node.expressions().iter().try_fold(false, |found, one| Ok(found || partial(one)?)))?;
    if in_plan || values.any(|one| partial(one).unwrap_or(true)) || others.any(|one| partial(one).unwrap_or(true)) {
        return Err(DataFusionError::NotImplemented("a root, a power or a logarithm".to_string()));
    }
    if cut.per_owner.is_some() {
        return Err(DataFusionError::NotImplemented("one row for each owner first".to_string()));
    }
    Ok(())
}

/// The names of the columns of `scumble_rows`, besides the owner's.
struct Names {
    keys: Vec<String>,
    values: Vec<String>,
}

impl Names {
    fn of(cut: &PrivateQuery) -> Self {
        let with_value = cut.query.measures.iter().filter(|measure| measure.expression.is_some()).count();
        let values = with_value + cut.query.ranked.len();
        Self {
            keys: (0..cut.query.keys.len()).map(|index| format!("scumble_key_{index}")).collect(),
            values: (0..values).map(|index| format!("scumble_value_{index}")).collect(),
        }
    }
}

/// The rows with their owner, keys and values.
fn rows(cut: &PrivateQuery, project: &Project, engine: Engine) -> DataFusionResult<LogicalPlan> {
    let names = Names::of(cut);
    let mut builder = LogicalPlanBuilder::from(in_sql(clamped(cut, project, engine)?, engine)?);
    let mut columns: Vec<Expr> = Vec::new();
    if let Ownership::Named(owner) = &cut.below.owner {
        builder = builder.filter(Expr::Column(owner.clone()).is_not_null())?;
        columns.push(Expr::Column(owner.clone()).alias("scumble_owner"));
    }
    for (key, name) in cut.query.keys.iter().zip(&names.keys) {
        let key = cast_in_sql(key.expression.clone(), cut.below.plan.schema(), engine)?;
        builder = builder.filter(key.clone().is_not_null())?;
        columns.push(key.alias(name));
    }
    let measured = cut.query.measures.iter().filter_map(value);
    let ranked = cut.query.ranked.iter().map(|ranked| in_steps(&ranked.expression, ranked.grid, 0, false));
    for (value, name) in measured.chain(ranked).zip(&names.values) {
        columns.push(cast_in_sql(value?, cut.below.plan.schema(), engine)?.alias(name));
    }
    if columns.is_empty() {
        // Few backends know rows without columns.
        columns.push(lit(1i64).alias("scumble_row"));
    }
    builder.project(columns)?.build()
}

/// The plan with casts that SQL knows in the places of ours, and with nothing in it that loses its meaning as text.
fn in_sql(plan: LogicalPlan, engine: Engine) -> DataFusionResult<LogicalPlan> {
    let replaced = plan.transform_up(|node| {
        let schema = merge_schema(&node.inputs());
        let names = NamePreserver::new(&node);
        node.map_expressions(|expression| {
            let name = names.save(&expression);
            Ok(Transformed::yes(name.restore(cast_in_sql(expression, &schema, engine)?)))
        })
    });
    replaced.map(|replaced| replaced.data)
}

fn cast_in_sql(expression: Expr, schema: &DFSchema, engine: Engine) -> DataFusionResult<Expr> {
    let replaced = expression.transform_up(|node| {
        let to = node.get_type(schema);
        match node {
            Expr::ScalarFunction(mut call) if call.func.name() == FITTED && call.args.len() == 1 => {
                let inner = call.args.remove(0);
                let from = inner.get_type(schema)?;
                Ok(Transformed::yes(fitted_in_sql(inner, &from, to?)?))
            }
            Expr::ScalarFunction(call) => Ok(Transformed::yes(dates::in_sql(call))),
            // Nor has SQL words for numbers that are none.
            Expr::Literal(ScalarValue::Float64(Some(number)), _) if !number.is_finite() => {
                Ok(Transformed::yes(cast(lit(word(number)), DataType::Float64)))
            }
            Expr::Literal(ScalarValue::Float32(Some(number)), _) if !number.is_finite() => {
                Ok(Transformed::yes(cast(lit(word(number.into())), DataType::Float32)))
            }
            // Some engines read 0.1 as a decimal, and make a fraction of it that is not the nearest one.
            Expr::Literal(ScalarValue::Float64(Some(number)), _) if engine != Engine::Embedded => {
                Ok(Transformed::yes(cast(lit(format!("{number:?}")), DataType::Float64)))
            }
            // And whole numbers that are written out as ones of 32 bits, in which not everything fits that is computed
            // with them.
            Expr::Literal(ScalarValue::Int64(Some(number)), _) if engine != Engine::Embedded => {
                Ok(Transformed::yes(cast(lit(number), DataType::Int64)))
            }
            // Engines have words of their own for truths.
            Expr::Cast(cast) if engine != Engine::Embedded && is_truth_as_text(&cast, schema)? => {
                let truth = *cast.expr;
                let written = when(truth.clone(), lit("true")).when(truth.eq(lit(false)), lit("false")).end()?;
                Ok(Transformed::yes(written))
            }
            // Nor does it put parentheses around what stands behind its operand: `TRUE <> (x IS NULL)` would be read as
            // `(TRUE <> x) IS NULL`. It does so around AND, and `… AND TRUE` changes nothing.
            behind @ (Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_)
            | Expr::Between(_)
            | Expr::InList(_)
            | Expr::Like(_)) => Ok(Transformed::yes(binary_expr(behind, Operator::And, lit(true)))),
            // DataFusion writes NOT without parentheses: `(NOT x) IS NULL` would be read as `NOT (x IS NULL)`.
            Expr::Not(inner) => Ok(Transformed::yes(binary_expr(*inner, Operator::Eq, lit(false)))),
            // And a minus without a space: `--1` is a comment.
            Expr::Negative(inner) => Ok(Transformed::yes(binary_expr(*inner, Operator::Multiply, lit(-1i64)))),
            other => Ok(Transformed::no(other)),
        }
    });
    replaced.map(|replaced| replaced.data)
}

fn is_truth_as_text(cast: &datafusion::logical_expr::Cast, schema: &DFSchema) -> DataFusionResult<bool> {
    Ok(*cast.field.data_type() == DataType::Utf8 && cast.expr.get_type(schema)? == DataType::Boolean)
}

/// NaN or an infinity, as SQL casts it from a string.
fn word(number: f64) -> &'static str {
    match number {
        number if number.is_nan() => "NaN",
        number if number > 0.0 => "Infinity",
        _ => "-Infinity",
    }
}

/// The type of a column in its table, before it is brought into its domain; none where engines mean different things by
/// it.
pub(crate) fn stored(column: &Declared) -> Option<DataType> {
    Some(match (&column.recoding, &column.domain) {
        (Some(Recoding::Bins { edges, .. }), _) => match edges {
            BinEdges::Whole(_) => DataType::Int64,
            BinEdges::Numbers(_) => DataType::Float64,
            BinEdges::Days(_) => DataType::Date32,
            BinEdges::Moments(..) => return None,
        },
        (Some(Recoding::Texts { .. }), _) | (None, Domain::Category { .. }) => DataType::Utf8,
        (None, Domain::Int { .. }) => DataType::Int64,
        (None, Domain::Float { .. }) => DataType::Float64,
        (None, Domain::Bool) => DataType::Boolean,
        (None, Domain::Date { .. }) => DataType::Date32,
        (None, Domain::Timestamp { .. }) => return None,
    })
}

/// The names of all columns that a query uses, of whatever table.
pub(crate) fn used(cut: &PrivateQuery) -> DataFusionResult<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let mut take = |expression: &Expr| names.extend(expression.column_refs().into_iter().map(|one| one.name.clone()));
    cut.below.plan.apply(|node| {
        node.expressions().iter().for_each(&mut take);
        Ok(TreeNodeRecursion::Continue)
    })?;
    cut.query.keys.iter().for_each(|key| take(&key.expression));
    cut.query.measures.iter().filter_map(|measure| measure.expression.as_ref()).for_each(&mut take);
    cut.query.ranked.iter().for_each(|ranked| take(&ranked.expression));
    if let Ownership::Named(owner) = &cut.below.owner {
        names.insert(owner.name.clone());
    }
    Ok(names)
}

/// The plan with each table in its declared domains; for other engines with the columns alone that are used.
fn clamped(cut: &PrivateQuery, project: &Project, engine: Engine) -> DataFusionResult<LogicalPlan> {
    let used = used(cut)?;
    let is_written = |field: &str| engine == Engine::Embedded || used.contains(field);
    let replaced = cut.below.plan.clone().transform_up(|node| match node {
        LogicalPlan::TableScan(scan) => {
            let name = scan.table_name.clone();
            let table = project.tables.get(name.table());
            let column = |field: &str| -> DataFusionResult<Expr> {
                let plain = Expr::Column(Column::new(Some(name.clone()), field));
                let Some(column) = table.and_then(|table| table.column(field)) else { return Ok(plain) };
                // A table elsewhere may hold its whole numbers in 32 bits.
                let plain = match (engine, stored(column)) {
                    (Engine::Embedded, _) | (_, None) => plain,
                    (_, Some(kind)) => cast(plain, kind),
                };
                let brought = brought_in_sql(plain.clone(), column)?;
                let is_exact = engine == Engine::Embedded || stored(column) != Some(DataType::Float64);
                let brought = if is_exact { brought } else { sizes::flushed(plain, brought, column)? };
                Ok(brought.alias(field))
            };
            let fields = scan.projected_schema.fields().iter().filter(|field| is_written(field.name()));
            let mut columns = fields.map(|field| column(field.name())).collect::<DataFusionResult<Vec<Expr>>>()?;
            if columns.is_empty() {
                columns.push(lit(1i64).alias("scumble_one"));
            }
            let builder = LogicalPlanBuilder::from(LogicalPlan::TableScan(scan)).project(columns)?;
            Ok(Transformed::yes(builder.alias(name)?.build()?))
        }
        other => other.recompute_schema().map(Transformed::yes),
    });
    replaced.map(|replaced| replaced.data)
}

/// What a row brings to a measure, if it brings a value.
fn value(measure: &Measure) -> Option<DataFusionResult<Expr>> {
    let expression = measure.expression.clone()?;
    Some(match measure.what {
        Summand::Steps { grid, centre } => in_steps(&expression, grid, centre, false),
        Summand::Squares { grid, centre } => in_steps(&expression, grid, centre, true),
        Summand::Present => when(expression.is_not_null(), lit(1i64)).end(),
        _ => Ok(cast(expression, DataType::Utf8)),
    })
}

fn in_steps(expression: &Expr, grid: Grid, minus: i64, squared: bool) -> DataFusionResult<Expr> {
    grid.units_in_sql(cast(expression.clone(), DataType::Float64), minus, squared)
}

/// The measures as aggregates.
fn measures(cut: &PrivateQuery, engine: Engine) -> impl Iterator<Item = String> {
    let mut values = 0..;
    let grouped = cut.query.bounds.filter(|bounds| is_counted_by_group(cut, *bounds));
    cut.query.measures.iter().map(move |measure| {
        if let Some(Bounds { rows_per_group, .. }) = grouped {
            return match measure.what {
                Summand::Owners => "COUNT(*)".to_string(),
                _ => engine.sum(&format!(
                    "CASE WHEN scumble_number < {rows_per_group} THEN scumble_number ELSE {rows_per_group} END"
                )),
            };
        }
        let value = if measure.expression.is_some() { values.next() } else { None };
        let value = value.map_or(String::new(), |index: usize| format!("scumble_value_{index}"));
        match (measure.what, cut.query.bounds) {
            (Summand::Owners, Some(_)) if engine == Engine::Postgres => {
                "COUNT(CASE WHEN scumble_row_place = 1 THEN 1 END)".to_string()
            }
            (Summand::Owners, Some(_)) => "COUNT(DISTINCT scumble_owner)".to_string(),
            (Summand::Owners | Summand::Rows, _) => "COUNT(*)".to_string(),
            (Summand::Present, _) => format!("COUNT({value})"),
            (Summand::Different, _) => format!("COUNT(DISTINCT {value})"),
            (Summand::Steps { .. } | Summand::Squares { .. }, _) => engine.sum(&value),
        }
    })
}

/// A key as the text that ranks are made of, without what stands around it in a list.
fn spelled(key: &str, kind: &DataType, engine: Engine) -> String {
    match kind {
        DataType::Utf8 => key.to_string(),
        DataType::Boolean => format!("CASE WHEN {key} THEN 'true' ELSE 'false' END"),
        DataType::Date32 => {
            let part = |part: &str| format!("CAST(EXTRACT({part} FROM {key}) AS BIGINT)");
            engine.text(&format!("{} * 10000 + {} * 100 + {}", part("YEAR"), part("MONTH"), part("DAY")))
        }
        kind if *kind == MOMENT => engine.text(&format!("CAST({key} AS BIGINT)")),
        _ => engine.text(key),
    }
}

/// A text in a list of texts: its length, a colon and itself.
fn in_list(text: &str, engine: Engine) -> String {
    format!("{} || ':' || {text}", engine.text(&format!("CHAR_LENGTH({text})")))
}

/// Whether rows of a group need not be distinguished: they bring no values, and no bound on all of them chooses among
/// groups. Then one row for each group is enough.
fn is_counted_by_group(cut: &PrivateQuery, bounds: Bounds) -> bool {
    let brings_values = cut.query.measures.iter().any(|measure| measure.expression.is_some());
    let Bounds { groups, rows_per_group, rows } = bounds.deciding();
    !brings_values && cut.query.ranked.is_empty() && groups.saturating_mul(rows_per_group) <= rows
}

/// The three rules of [`crate::tables::bounding`] as window functions over `scumble_rows`, ending in `scumble_kept`.
fn kept(cut: &PrivateQuery, names: &Names, bounds: Bounds, engine: Engine, secret: &str) -> String {
    let listed = |first: &str, rest: &[String]| {
        std::iter::once(first).chain(rest.iter().map(String::as_str)).collect::<Vec<_>>().join(", ")
    };
    let Bounds { groups, rows_per_group, rows } = bounds.deciding();
    let owner_and_keys = listed("scumble_owner", &names.keys);
    let rank_and_keys = listed("scumble_rank", &names.keys);
    let group_rank = engine.rank(&group_text(cut, names, engine, secret));
    if is_counted_by_group(cut, bounds) {
        return format!(
            ", scumble_groups AS (SELECT {owner_and_keys}, COUNT(*) AS scumble_number FROM scumble_rows GROUP BY {owner_and_keys})\
             , scumble_placed AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY scumble_owner ORDER BY {}) AS scumble_group_place FROM scumble_groups)\
             , scumble_kept AS (SELECT * FROM scumble_placed WHERE scumble_group_place <= {groups})",
            listed(&group_rank, &names.keys)
        );
    }
    if engine == Engine::Postgres {
        return lazily::kept(cut, names, bounds, secret);
    }
    let equal: Vec<&str> =
        [owner_and_keys.as_str()].into_iter().chain(names.values.iter().map(String::as_str)).collect();
    let equal = equal.join(", ");
    // Of rows without values nothing but their number is known.
    let row_place = match names.values.is_empty() {
        true => "scumble_copy".to_string(),
        false => {
            let row_order = listed(&engine.rank(&row_text(cut, names, engine, secret, "scumble_rank")), &names.values);
            format!("ROW_NUMBER() OVER (PARTITION BY {owner_and_keys} ORDER BY {row_order})")
        }
    };
    let mut text = format!(
        ", scumble_ranked AS (SELECT *, {group_rank} AS scumble_rank\
         , ROW_NUMBER() OVER (PARTITION BY {equal} ORDER BY scumble_owner) AS scumble_copy FROM scumble_rows)\
         , scumble_placed AS (SELECT *, DENSE_RANK() OVER (PARTITION BY scumble_owner ORDER BY {rank_and_keys}) AS scumble_group_place\
         , {row_place} AS scumble_row_place FROM scumble_ranked)"
    );
    text.push_str(", scumble_first AS (SELECT * FROM scumble_placed");
    let bounds = [("scumble_group_place", groups), ("scumble_row_place", rows_per_group)];
    let bounds = bounds.iter().filter(|(_, bound)| *bound < u64::MAX);
    let bounds: Vec<String> = bounds.map(|(place, bound)| format!("{place} <= {bound}")).collect();
    if !bounds.is_empty() {
        text.push_str(&format!(" WHERE {}", bounds.join(" AND ")));
    }
    text.push(')');
    if groups.saturating_mul(rows_per_group) <= rows {
        text.push_str(", scumble_kept AS (SELECT * FROM scumble_first)");
        return text;
    }
    let number = engine.text("scumble_row_place - 1");
    let slot_rank = engine.rank(&format!("'{secret} slot ' || scumble_rank || ' ' || {number}"));
    text.push_str(&format!(
        ", scumble_slotted AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY scumble_owner ORDER BY {slot_rank}, scumble_group_place, \
         scumble_row_place) AS scumble_slot FROM scumble_first)\
         , scumble_counted AS (SELECT *, SUM(CASE WHEN scumble_slot <= {rows} THEN 1 ELSE 0 END) OVER (PARTITION BY {owner_and_keys}) \
         AS scumble_count FROM scumble_slotted), scumble_kept AS (SELECT * FROM scumble_counted WHERE scumble_row_place <= scumble_count)"
    ));
    text
}

/// What a group's rank is the hash of.
fn group_text(cut: &PrivateQuery, names: &Names, engine: Engine, secret: &str) -> String {
    let mut parts = vec![format!("'{secret} group '"), in_list(&engine.text("scumble_owner"), engine)];
    for (key, name) in cut.query.keys.iter().zip(&names.keys) {
        let text = spelled(name, &key.kind, engine);
        parts.push(match key.kind {
            DataType::Utf8 => in_list(&text, engine),
            _ => format!("{text} || ';'"),
        });
    }
    parts.join(" || ")
}

/// What a row's rank within its group is the hash of, with its group's rank.
fn row_text(cut: &PrivateQuery, names: &Names, engine: Engine, secret: &str, rank: &str) -> String {
    let mut texts = cut
        .query
        .measures
        .iter()
        .filter(|measure| measure.expression.is_some())
        .map(|measure| measure.what == Summand::Different);
    let mut parts = vec![format!("'{secret} row '"), rank.to_string(), "' '".to_string()];
    for (index, name) in names.values.iter().enumerate() {
        if index > 0 {
            parts.push("','".to_string());
        }
        let is_text = texts.next().unwrap_or(false);
        parts.push(match is_text {
            true => format!("COALESCE(LEFT({}, 15), '')", engine.sha256(name)),
            false => format!("COALESCE({}, '')", engine.text(name)),
        });
    }
    parts.extend(["' '".to_string(), engine.text("scumble_copy - 1")]);
    parts.join(" || ")
}
