//! The private part of a plan as SQL text, with window functions in the place of our one pass: for backends that speak SQL.
//!
//! The text clamps, bounds contributions and sums up; what comes back are the same integers. Such a backend needs three functions, which
//! hold the release's secret (SipHash-2-4, [`crate::backend::bound`]) and give whole numbers of 64 bits without sign:
//! `scumble_group_rank(owner, keys…)`, `scumble_row_rank(rank, values…)` and `scumble_rise(rank, n)`.
//!
//! The text assumes that NaN is above all numbers, as in PostgreSQL and DataFusion, and that tables have their declared columns and types.

use super::Cut;
use super::below::Ownership;
use super::dates;
use super::query::{Measure, What};
use crate::backend::bound::Bounds;
use crate::backend::functions::{FINITE, FITTED, Grid, POWER, ROOT, brought_in_sql, fitted_in_sql};
use crate::project::Project;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, DataFusionError, ScalarValue};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, binary_expr, cast, lit, when,
};
use datafusion::optimizer::utils::NamePreserver;
use datafusion::sql::sqlparser::keywords::ALL_KEYWORDS;
use datafusion::sql::unparser::Unparser;
use datafusion::sql::unparser::dialect::Dialect;

type Outcome<T> = Result<T, DataFusionError>;

/// Writing a plan as text goes deeper than anything else does: DataFusion takes up to 400 KB of the stack for each sub-query.
const STACK: usize = 256 << 20;

fn text(plan: &LogicalPlan) -> Outcome<String> {
    std::thread::scope(|scope| {
        let write = || Unparser::new(&Plain).plan_to_sql(plan).map(|statement| statement.to_string());
        let writer = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, write);
        let failed = || DataFusionError::Internal("a plan that cannot be written".to_string());
        writer.map_err(|_| failed())?.join().map_err(|_| failed())?
    })
}

/// DataFusion's default dialect. Its own compiles a regular expression for each name that it writes, which took half of the time in which
/// a release was planned.
struct Plain;

impl Dialect for Plain {
    fn identifier_quote_style(&self, name: &str) -> Option<char> {
        let mut bytes = name.bytes();
        let is_plain = bytes.next().is_some_and(|first| first.is_ascii_lowercase() || first == b'_')
            && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        let upper = name.to_uppercase();
        let is_keyword = upper != "ID" && ALL_KEYWORDS.binary_search(&upper.as_str()).is_ok();
        (!is_plain || is_keyword).then_some('"')
    }
}

/// The statements: the measures by key, then for each ranked column how often each step occurs, by key.
pub(crate) fn statements(cut: &Cut, project: &Project) -> Outcome<Vec<String>> {
    let partial = |expression: &Expr| {
        expression.exists(|node| {
            Ok(matches!(node, Expr::ScalarFunction(call) if [FINITE, POWER, ROOT].contains(&call.func.name())))
        })
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
        return Err(DataFusionError::NotImplemented("IN (SELECT …), as text".to_string()));
    }
    let in_plan = cut
        .below
        .plan
        .exists(|node| node.expressions().iter().try_fold(false, |found, one| Ok(found || partial(one)?)))?;
    if in_plan || values.any(|one| partial(one).unwrap_or(true)) || others.any(|one| partial(one).unwrap_or(true)) {
        return Err(DataFusionError::NotImplemented("what is NULL where it is no number, as text".to_string()));
    }
    if cut.per_owner.is_some() {
        return Err(DataFusionError::NotImplemented("one row per owner first, as text".to_string()));
    }
    let names = Names::of(cut);
    let from = match (&cut.below.owner, cut.query.bounds) {
        (Ownership::Named(_), Some(bounds)) => kept(&names, bounds),
        _ => String::new(),
    };
    let last = if from.is_empty() { "scumble_rows" } else { "scumble_kept" };
    let rows = format!("WITH scumble_rows AS ({}){from}", text(&rows(cut, project)?)?);
    let keys = names.keys.join(", ");
    let grouped = |by: &str| if by.is_empty() { String::new() } else { format!(" GROUP BY {by}") };
    let mut all = Vec::new();
    if !cut.query.measures.is_empty() {
        let listed: Vec<String> = names.keys.iter().cloned().chain(measures(cut)).collect();
        all.push(format!("{rows} SELECT {} FROM {last}{}", listed.join(", "), grouped(&keys)));
    }
    for value in &names.values[names.values.len() - cut.query.ranked.len()..] {
        let by: Vec<&str> = names.keys.iter().chain([value]).map(String::as_str).collect();
        let by = by.join(", ");
        all.push(format!("{rows} SELECT {by}, COUNT(*) FROM {last} WHERE {value} IS NOT NULL{}", grouped(&by)));
    }
    Ok(all)
}

/// The names of the columns of `scumble_rows`, besides the owner's.
struct Names {
    keys: Vec<String>,
    values: Vec<String>,
}

impl Names {
    fn of(cut: &Cut) -> Self {
        let with_value = cut.query.measures.iter().filter(|measure| measure.expression.is_some()).count();
        let values = with_value + cut.query.ranked.len();
        Self {
            keys: (0..cut.query.keys.len()).map(|index| format!("scumble_key_{index}")).collect(),
            values: (0..values).map(|index| format!("scumble_value_{index}")).collect(),
        }
    }
}

/// The rows with their owner, keys and values.
fn rows(cut: &Cut, project: &Project) -> Outcome<LogicalPlan> {
    let names = Names::of(cut);
    let mut builder = LogicalPlanBuilder::from(in_sql(clamped(cut.below.plan.clone(), project)?)?);
    let mut columns: Vec<Expr> = Vec::new();
    if let Ownership::Named(owner) = &cut.below.owner {
        builder = builder.filter(Expr::Column(owner.clone()).is_not_null())?;
        columns.push(Expr::Column(owner.clone()).alias("scumble_owner"));
    }
    for (key, name) in cut.query.keys.iter().zip(&names.keys) {
        let key = cast_in_sql(key.expression.clone(), cut.below.plan.schema())?;
        builder = builder.filter(key.clone().is_not_null())?;
        columns.push(key.alias(name));
    }
    let measured = cut.query.measures.iter().filter_map(value);
    let ranked = cut.query.ranked.iter().map(|ranked| in_steps(&ranked.expression, ranked.grid, 0, false));
    for (value, name) in measured.chain(ranked).zip(&names.values) {
        columns.push(cast_in_sql(value?, cut.below.plan.schema())?.alias(name));
    }
    if columns.is_empty() {
        // Few backends know rows without columns.
        columns.push(lit(1i64).alias("scumble_row"));
    }
    builder.project(columns)?.build()
}

/// The plan with casts that SQL knows in the places of ours, and with nothing in it that loses its meaning as text.
fn in_sql(plan: LogicalPlan) -> Outcome<LogicalPlan> {
    let replaced = plan.transform_up(|node| {
        let schema = merge_schema(&node.inputs());
        let names = NamePreserver::new(&node);
        node.map_expressions(|expression| {
            let name = names.save(&expression);
            Ok(Transformed::yes(name.restore(cast_in_sql(expression, &schema)?)))
        })
    });
    replaced.map(|replaced| replaced.data)
}

fn cast_in_sql(expression: Expr, schema: &DFSchema) -> Outcome<Expr> {
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

/// A number that is none, as SQL casts it from a text.
fn word(number: f64) -> &'static str {
    match number {
        number if number.is_nan() => "NaN",
        number if number > 0.0 => "Infinity",
        _ => "-Infinity",
    }
}

/// The plan with each table in its declared domains.
fn clamped(plan: LogicalPlan, project: &Project) -> Outcome<LogicalPlan> {
    let replaced = plan.transform_up(|node| match node {
        LogicalPlan::TableScan(scan) => {
            let name = scan.table_name.clone();
            let table = project.tables.get(name.table());
            let column = |field: &str| -> Outcome<Expr> {
                let plain = Expr::Column(Column::new(Some(name.clone()), field));
                let column = table.and_then(|table| table.column(field));
                column.map_or(Ok(plain.clone()), |column| Ok(brought_in_sql(plain, column)?.alias(field)))
            };
            let columns = scan.projected_schema.fields().iter().map(|field| column(field.name()));
            let columns = columns.collect::<Outcome<Vec<Expr>>>()?;
            let builder = LogicalPlanBuilder::from(LogicalPlan::TableScan(scan)).project(columns)?;
            Ok(Transformed::yes(builder.alias(name)?.build()?))
        }
        other => other.recompute_schema().map(Transformed::yes),
    });
    replaced.map(|replaced| replaced.data)
}

/// What a row brings to a measure, if it brings a value.
fn value(measure: &Measure) -> Option<Outcome<Expr>> {
    let expression = measure.expression.clone()?;
    Some(match measure.what {
        What::Steps { grid, centre } => in_steps(&expression, grid, centre, false),
        What::Squares { grid, centre } => in_steps(&expression, grid, centre, true),
        What::Present => when(expression.is_not_null(), lit(1i64)).end(),
        _ => Ok(cast(expression, DataType::Utf8)),
    })
}

fn in_steps(expression: &Expr, grid: Grid, minus: i64, squared: bool) -> Outcome<Expr> {
    grid.units_in_sql(cast(expression.clone(), DataType::Float64), minus, squared)
}

/// The measures as aggregates.
fn measures(cut: &Cut) -> impl Iterator<Item = String> {
    let mut values = 0..;
    cut.query.measures.iter().map(move |measure| {
        let value = if measure.expression.is_some() { values.next() } else { None };
        let value = value.map_or(String::new(), |index: usize| format!("scumble_value_{index}"));
        match (measure.what, cut.query.bounds) {
            (What::Owners, Some(_)) => "COUNT(DISTINCT scumble_owner)".to_string(),
            (What::Owners | What::Rows, _) => "COUNT(*)".to_string(),
            (What::Present, _) => format!("COUNT({value})"),
            (What::Different, _) => format!("COUNT(DISTINCT {value})"),
            (What::Steps { .. } | What::Squares { .. }, _) => {
                format!("COALESCE(SUM(CAST({value} AS DECIMAL(38, 0))), 0)")
            }
        }
    })
}

/// The three rules of [`crate::backend::bound`] as window functions over `scumble_rows`, ending in `scumble_kept`.
fn kept(names: &Names, bounds: Bounds) -> String {
    let listed = |first: &str, rest: &[String]| {
        std::iter::once(first).chain(rest.iter().map(String::as_str)).collect::<Vec<_>>().join(", ")
    };
    let Bounds { groups, rows_per_group, rows } = bounds;
    let owner_and_keys = listed("scumble_owner", &names.keys);
    let rank_and_keys = listed("scumble_rank", &names.keys);
    let row_rank = format!("scumble_row_rank({})", listed("scumble_rank", &names.values));
    let copy_rank = format!("scumble_rise({row_rank}, scumble_copy - 1)");
    let row_order = listed(&copy_rank, &names.values);
    let equal: Vec<&str> =
        [owner_and_keys.as_str()].into_iter().chain(names.values.iter().map(String::as_str)).collect();
    let equal = equal.join(", ");
    let mut text = format!(
        ", scumble_ranked AS (SELECT *, scumble_group_rank({owner_and_keys}) AS scumble_rank\
         , ROW_NUMBER() OVER (PARTITION BY {equal}) AS scumble_copy FROM scumble_rows)\
         , scumble_placed AS (SELECT *, DENSE_RANK() OVER (PARTITION BY scumble_owner ORDER BY {rank_and_keys}) AS scumble_group_place\
         , ROW_NUMBER() OVER (PARTITION BY {owner_and_keys} ORDER BY {row_order}) AS scumble_row_place FROM scumble_ranked)\
         , scumble_first AS (SELECT * FROM scumble_placed WHERE scumble_group_place <= {groups} AND scumble_row_place <= {rows_per_group})"
    );
    if groups.saturating_mul(rows_per_group) <= rows {
        text.push_str(", scumble_kept AS (SELECT * FROM scumble_first)");
        return text;
    }
    text.push_str(&format!(
        ", scumble_rising AS (SELECT *, SUM(scumble_rise(scumble_rank, scumble_row_place - 1)) OVER \
         (PARTITION BY {owner_and_keys} ORDER BY scumble_row_place) AS scumble_total FROM scumble_first)\
         , scumble_counted AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY scumble_owner ORDER BY scumble_total, scumble_group_place) \
         AS scumble_place FROM scumble_rising), scumble_kept AS (SELECT * FROM scumble_counted WHERE scumble_place <= {rows})"
    ));
    text
}

#[cfg(any(test, feature = "generator"))]
pub(crate) mod functions;
#[cfg(test)]
mod tests;
