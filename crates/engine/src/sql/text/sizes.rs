//! How large and how small fractions become.
//!
//! We compute beyond the largest number and get infinity, and below the least one and get 0. PostgreSQL gives an error
//! for both, BigQuery for the first: whether a release fails would depend on a value. So tiny values of a column are 0
//! for other engines ([`flushed`]), and arithmetic that may go beyond is refused.

use super::super::PrivateQuery;
use crate::error::DataFusionResult;
use crate::project::{Column as Declared, Domain, Project};
use crate::sql::analyse::query::Summand;
use crate::sql::functions::{self, Dialects};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, DataFusionError, ScalarValue};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, lit, when};

/// Values of columns nearer to 0 are 0 for other engines: 2 to the power of −200.
const TINY: f64 = 6.223015277861142e-61;
/// What a number of at least that size is a multiple of: it has 53 bits.
const LEAST: i32 = -252;
/// Beyond this power of 2, in either direction, lies what engines disagree on.
const MOST: i32 = 1000;

/// A number is 0, or a multiple of 2 to the power of `least`; and at most 2 to the power of `most`, both whatever its
/// sign.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Size {
    least: i32,
    most: i32,
}

/// The sizes of the columns of a plan; none for what is no number.
type Sizes = Vec<Option<Size>>;

impl Size {
    const ZERO: Self = Self { least: 0, most: -MOST };
    const WHOLE: Self = Self { least: 0, most: 63 };

    fn of(number: f64) -> Self {
        if number == 0.0 {
            return Self::ZERO;
        }
        // The power of 2 that is not above it; logarithms are right to less than one.
        let power = number.abs().log2().floor().clamp(-1100.0, 1100.0) as i32;
        Self { least: power - 53, most: power + 2 }
    }

    fn or(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }

    /// The size of what an operator makes of two numbers; the second of a division is a number that is written out.
    fn after(operator: Operator, left: Self, right: Self) -> DataFusionResult<Self> {
        let found = match operator {
            Operator::Multiply => Self { least: left.least + right.least, most: left.most + right.most },
            // A quotient has 53 bits of its own.
            Operator::Divide => Self { least: left.least - right.most - 53, most: left.most - (right.least + 53) },
            _ => Self { most: left.or(right).most + 1, ..left.or(right) },
        };
        match found.least >= -MOST && found.most <= MOST {
            true => Ok(found),
            false => Err(untold("arithmetic on fractions that may become too large, or too small, for some engines")),
        }
    }
}

fn untold(what: &str) -> DataFusionError {
    DataFusionError::NotImplemented(what.to_string())
}

/// A column of fractions, `brought` into its domain, with tiny values of `plain` as 0.
pub(crate) fn flushed(plain: Expr, brought: Expr, column: &Declared) -> DataFusionResult<Expr> {
    let Domain::Float { bounds, .. } = &column.domain else { return Ok(brought) };
    let zero = bounds.map_or(0.0, |(lower, upper)| 0.0f64.max(lower).min(upper));
    when(plain.clone().gt(lit(-TINY)).and(plain.lt(lit(TINY))), lit(zero)).otherwise(brought)
}

/// Refuses a query in which fractions may become too large or too small.
pub(crate) fn check(cut: &PrivateQuery, project: &Project) -> DataFusionResult<()> {
    let plan = &cut.below.plan;
    let inner = sizes(plan, project)?;
    let of = |expression: &Expr| measured(expression, plan.schema(), &inner);
    cut.query.keys.iter().try_for_each(|key| of(&key.expression).map(drop))?;
    let ranked = cut.query.ranked.iter().map(|ranked| (&ranked.expression, Some(ranked.grid)));
    let measured = cut.query.measures.iter().filter_map(|measure| {
        let grid = match measure.what {
            Summand::Steps { grid, .. } | Summand::Squares { grid, .. } => Some(grid),
            _ => None,
        };
        Some((measure.expression.as_ref()?, grid))
    });
    for (expression, grid) in measured.chain(ranked) {
        let size = of(expression)?;
        let Some(grid) = grid else { continue };
        let clamped = size.unwrap_or(Size::WHOLE).or(Size::of(grid.lower)).or(Size::of(grid.upper));
        Size::after(Operator::Divide, clamped, Size::of(grid.step))?;
    }
    Ok(())
}

fn sizes(plan: &LogicalPlan, project: &Project) -> DataFusionResult<Sizes> {
    let mut inner = Sizes::new();
    for input in plan.inputs() {
        inner.extend(sizes(input, project)?);
    }
    let schema = merge_schema(&plan.inputs());
    match plan {
        LogicalPlan::TableScan(scan) => {
            let table = project.tables.get(scan.table_name.table());
            let declared = |name: &String| table.and_then(|table| table.column(name));
            Ok(scan.projected_schema.fields().iter().map(|field| declared(field.name()).and_then(of_column)).collect())
        }
        LogicalPlan::Projection(projection) => {
            projection.expr.iter().map(|expression| measured(expression, &schema, &inner)).collect()
        }
        LogicalPlan::SubqueryAlias(_) | LogicalPlan::Filter(_) | LogicalPlan::Join(_) => {
            plan.expressions().iter().try_for_each(|expression| measured(expression, &schema, &inner).map(drop))?;
            // A join that gives the columns of one side only is none of ours.
            if inner.len() == plan.schema().fields().len() { Ok(inner) } else { Err(untold("a join of this form")) }
        }
        other => Err(DataFusionError::NotImplemented(other.display().to_string())),
    }
}

fn of_column(column: &Declared) -> Option<Size> {
    match (&column.recoding, &column.domain) {
        (None, Domain::Int { .. }) => Some(Size::WHOLE),
        (None, Domain::Float { bounds: Some((lower, upper)), .. }) => {
            let ends = Size::of(*lower).or(Size::of(*upper));
            Some(Size { least: ends.least.min(LEAST), ..ends })
        }
        (None, Domain::Float { bounds: None, .. }) => Some(Size { least: LEAST, most: 1024 }),
        _ => None,
    }
}

/// The size of an expression over columns of these sizes; all arithmetic in it is looked at.
fn measured(expression: &Expr, schema: &DFSchema, inner: &[Option<Size>]) -> DataFusionResult<Option<Size>> {
    let of = |one: &Expr| measured(one, schema, inner);
    match expression {
        Expr::Column(column) => {
            Ok(schema.maybe_index_of_column(column).and_then(|index| inner.get(index).copied().flatten()))
        }
        Expr::Literal(value, _) => Ok(of_literal(value)),
        Expr::Alias(alias) => of(&alias.expr),
        Expr::Negative(inner) => of(inner),
        Expr::Cast(cast) => {
            let is_number = *cast.field.data_type() == DataType::Float64 || cast.field.data_type().is_integer();
            Ok(of(&cast.expr)?.filter(|_| is_number))
        }
        Expr::BinaryExpr(binary) => of_binary(binary, schema, inner),
        Expr::Case(case) => {
            for one in case.expr.iter().chain(case.when_then_expr.iter().map(|(when, _)| when)) {
                of(one)?;
            }
            let given = case.when_then_expr.iter().map(|(_, then)| then).chain(&case.else_expr);
            largest(given.map(|one| of(one)))
        }
        Expr::ScalarFunction(call) => {
            let all = largest(call.args.iter().map(of))?;
            Ok(match functions::named(call.func.name()).map(|record| record.dialects) {
                Some(Dialects::AsLarge) => all,
                Some(Dialects::NextWhole) => all.map(|size| Size { least: 0, most: size.most.max(0) + 1 }),
                Some(Dialects::Embedded) | None => None,
            })
        }
        other => {
            use datafusion::common::tree_node::TreeNode;
            other.apply_children(|child| of(child).map(|_| TreeNodeRecursion::Continue))?;
            Ok(None)
        }
    }
}

/// What holds all of these; none where one of them is none.
fn largest(all: impl Iterator<Item = DataFusionResult<Option<Size>>>) -> DataFusionResult<Option<Size>> {
    let all = all.collect::<DataFusionResult<Vec<Option<Size>>>>()?;
    Ok(all.into_iter().collect::<Option<Vec<Size>>>().map(|sizes| sizes.into_iter().fold(Size::ZERO, Size::or)))
}

fn of_literal(value: &ScalarValue) -> Option<Size> {
    match value {
        value if value.is_null() => Some(Size::ZERO),
        ScalarValue::Float64(Some(number)) => Some(Size::of(*number)),
        ScalarValue::Int64(Some(number)) => Some(Size::of(*number as f64)),
        value if value.data_type().is_integer() => Some(Size::WHOLE),
        _ => None,
    }
}

fn of_binary(binary: &BinaryExpr, schema: &DFSchema, inner: &[Option<Size>]) -> DataFusionResult<Option<Size>> {
    let (left, right) = (measured(&binary.left, schema, inner)?, measured(&binary.right, schema, inner)?);
    if !matches!(binary.op, Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide) {
        return Ok(None);
    }
    // What whole numbers become fits 64 bits: the query was looked at for that.
    if binary.left.get_type(schema)? != DataType::Float64 && binary.right.get_type(schema)? != DataType::Float64 {
        return Ok(Some(Size::WHOLE));
    }
    match (left, right) {
        (Some(left), Some(right)) => Size::after(binary.op, left, right).map(Some),
        _ => Err(untold("arithmetic on a fraction whose size is not known")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Bounding;
    use crate::sql::analyse;
    use crate::sql::text::{Engine, job};
    use crate::tables::Backend;
    use std::path::Path;

    const PROJECT: &str = r#"
[dataset.t]
source = "t.csv"
owner = "person"
max_rows_per_owner = 2
[dataset.t.columns]
x = { type = "float", lower = 0, upper = 100, granularity = 0.5 }
wide = { type = "float", lower = -1e290, upper = 1e290, granularity = 1e280 }
n = { type = "int", lower = 0, upper = 9 }
"#;

    /// PostgreSQL has an error for a product of small numbers that we take for 0, and for one that is too large.
    #[test]
    fn what_may_be_too_large_or_too_small_is_refused_before_a_row_is_seen() {
        let project = Project::parse(Path::new("scumble.toml"), PROJECT).unwrap();
        let backend = Backend::without_data(&project).unwrap();
        for (sql, fits) in [
            ("SELECT COUNT(*) AS n FROM t WHERE x * x > 2.5", true),
            ("SELECT COUNT(*) AS n FROM t WHERE x * 0.001 + n * 0.5 - 1e3 > -999.5", true),
            ("SELECT COUNT(*) AS n FROM t WHERE x / 1e100 < 2.5", true),
            ("SELECT SUM(CASE WHEN n > 2 THEN x * 2 ELSE 0 END) AS s FROM t", true),
            ("SELECT COUNT(*) AS n FROM t WHERE x * x * x * x > 2.5", false),
            ("SELECT COUNT(*) AS n FROM t WHERE wide * wide > 2.5", false),
            ("SELECT COUNT(*) AS n FROM t WHERE wide * 1e20 > 2.5", false),
            ("SELECT COUNT(*) AS n FROM t WHERE x / 1e-300 > 2.5", false),
            ("SELECT COUNT(*) AS n FROM t WHERE x * 1e-250 < 2.5", false),
            ("SELECT COUNT(*) AS n FROM (SELECT x * x AS y FROM t) s WHERE y * y > 2.5", false),
            ("SELECT COUNT(*) AS n FROM t WHERE COALESCE(x * 1e-200, 1.5) * 1e-200 < 2.5", false),
        ] {
            let cut = analyse(sql, Bounding::default(), &project, &backend).unwrap();
            let written = job(&cut, &project, Engine::Postgres, "s", |_| "mark".to_string());
            match written {
                Ok(texts) => assert!(fits && texts.len() == 1, "{sql}\n{texts:?}"),
                Err(DataFusionError::NotImplemented(what)) => {
                    assert!(!fits && what.contains("too large, or too small"), "{sql}: {what}");
                }
                Err(other) => panic!("{sql}: {other}"),
            }
        }
        assert_eq!(TINY, 2f64.powi(-200));
        assert!(Size::of(2f64.powi(-200)).least <= LEAST && Size::of(100.0).most >= 7);
    }
}
