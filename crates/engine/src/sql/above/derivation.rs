//! An output column as a [`Formula`] of released numbers, which can be asked what it may be where they may be many.
//!
//! What is not known here (functions of strings and times, patterns) may be anything: no interval is given for what
//! depends on it.

use super::formula::{Formula, NumberRelation, Rounding};
use crate::error::{DataFusionResult, Error, Result};
use crate::sql::analyse::refusals;
use crate::sql::analyse::total::total;
use crate::sql::functions::{self, Shape};
use crate::tables::Backend;
use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Float64Type};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError, ScalarValue};
use datafusion::logical_expr::expr::{Case, ScalarFunction};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Aggregate, BinaryExpr, Expr, ExprSchemable, Operator};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::PhysicalExpr;
use std::collections::HashMap;
use std::sync::Arc;

/// An output column over the aggregate's columns.
pub(crate) struct Derivation {
    /// What it is; its noisy numbers are the aggregates.
    pub formula: Formula,
    /// The keys that it reads, by index, in the order in which they are handed in.
    pub keys: Vec<usize>,
    /// What no noise moves, over the keys.
    given: Vec<CompiledExpression>,
}

/// An expression that runs, and the types of its columns.
struct CompiledExpression {
    schema: DFSchema,
    expression: Arc<dyn PhysicalExpr>,
}

impl Derivation {
    /// `expression` over the aggregate's columns; `kinds` are the types in which these are released.
    pub fn new(expression: &Expr, aggregate: &Aggregate, kinds: &[DataType], backend: &Backend) -> Result<Self> {
        let mut columns = mentioned(expression, aggregate);
        columns.sort_unstable();
        columns.dedup();
        let keys: Vec<usize> = columns.iter().copied().filter(|column| *column < aggregate.group_expr.len()).collect();
        let attempt = || -> DataFusionResult<Self> {
            let typed = schema(aggregate, &columns, kinds)?;
            let of_keys = schema(aggregate, &keys, kinds)?;
            let mut reader =
                FormulaReader { aggregate, typed: &typed, keys: &of_keys, backend, given: Vec::new(), depth: 0 };
            let coerced = simplifier(&typed, backend).coerce(expression.clone(), &typed)?;
            let formula = reader.formula(&coerced)?;
            Ok(Self { formula, given: reader.given, keys: keys.clone() })
        };
        attempt().map_err(|error| failed(&error))
    }

    /// What no noise moves, for each row one after the other: `keys` are the columns that it reads.
    pub fn given(&self, keys: &[ArrayRef], rows: usize) -> Result<Vec<Vec<Option<f64>>>> {
        let columns = self.given.iter().map(|form| form.values(keys, rows)).collect::<Result<Vec<_>>>()?;
        Ok((0..rows).map(|row| columns.iter().map(|column| column[row]).collect()).collect())
    }
}

fn simplifier(schema: &DFSchema, backend: &Backend) -> ExprSimplifier {
    let context = SimplifyContext::builder()
        .with_schema(Arc::new(schema.clone()))
        .with_config_options(Arc::clone(backend.context.state().config_options()))
        .build();
    ExprSimplifier::new(context)
}

impl CompiledExpression {
    fn new(expression: &Expr, schema: &DFSchema, backend: &Backend) -> DataFusionResult<Self> {
        // Functions such as COALESCE run only after they have been simplified to CASE.
        let simple = simplifier(schema, backend).simplify(total(expression.clone(), schema)?)?;
        let expression = backend.context.state().create_physical_expr(simple, schema)?;
        Ok(Self { schema: schema.clone(), expression })
    }

    fn values(&self, columns: &[ArrayRef], rows: usize) -> Result<Vec<Option<f64>>> {
        let attempt = || -> DataFusionResult<Vec<Option<f64>>> {
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            let schema = Arc::clone(self.schema.inner());
            let batch = RecordBatch::try_new_with_options(schema, columns.to_vec(), &options)?;
            let column = self.expression.evaluate(&batch)?.into_array(rows)?;
            Ok(cast(&column, &DataType::Float64)?.as_primitive::<Float64Type>().iter().collect())
        };
        attempt().map_err(|error| failed(&error))
    }
}

/// The columns of the aggregate, in these types.
fn schema(aggregate: &Aggregate, columns: &[usize], kinds: &[DataType]) -> DataFusionResult<DFSchema> {
    let field = |column: &usize| {
        let (qualifier, field) = aggregate.schema.qualified_field(*column);
        (qualifier.cloned(), Arc::new(Field::new(field.name(), kinds[*column].clone(), true)))
    };
    DFSchema::new_with_metadata(columns.iter().map(field).collect(), HashMap::new())
}

/// The aggregate's columns that an expression mentions, by index.
pub(crate) fn mentioned(expression: &Expr, aggregate: &Aggregate) -> Vec<usize> {
    let mut found = Vec::new();
    let _ = expression.apply(|node| {
        if let Expr::Column(column) = node {
            found.extend(aggregate.schema.maybe_index_of_column(column));
        }
        Ok(TreeNodeRecursion::Continue)
    });
    found
}

/// Reads formulas off expressions.
struct FormulaReader<'a> {
    aggregate: &'a Aggregate,
    typed: &'a DFSchema,
    keys: &'a DFSchema,
    backend: &'a Backend,
    given: Vec<CompiledExpression>,
    /// How deep the expression is nested that is being read.
    depth: usize,
}

/// What is nested deeper may be anything: formulas are walked down by functions that call themselves. Chains of one
/// operator are not deep.
const DEEPEST: usize = 80;

/// Whether values of this type are read as numbers: truths are 1 and 0.
fn is_read(kind: &DataType) -> bool {
    kind.is_numeric() || matches!(kind, DataType::Boolean | DataType::Null)
}

/// The whole numbers that a type holds, of those that floats hold exactly near its ends.
fn range(kind: &DataType) -> Option<(f64, f64)> {
    let signed = |bits: i32| Some((-(2f64.powi(bits - 1)), (2f64.powi(bits - 1) - 1.0).next_down()));
    let unsigned = |bits: i32| Some((0.0, (2f64.powi(bits) - 1.0).next_down()));
    match kind {
        DataType::Int8 => signed(8),
        DataType::Int16 => signed(16),
        DataType::Int32 => signed(32),
        DataType::Int64 => signed(64),
        DataType::UInt8 => unsigned(8),
        DataType::UInt16 => unsigned(16),
        DataType::UInt32 => unsigned(32),
        DataType::UInt64 => unsigned(64),
        _ => None,
    }
}

/// Whether a type of whole numbers holds all of another.
fn holds(to: &DataType, from: &DataType) -> bool {
    range(to).zip(range(from)).is_some_and(|(to, from)| to.0 <= from.0 && from.1 <= to.1)
}

/// What is made has to fit into whole numbers of 64 bits, where it is one.
fn fitting(formula: Formula, kind: &DataType) -> Formula {
    match kind.is_integer() {
        true => match range(&DataType::Int64) {
            Some(range) => Formula::Fitting(Box::new(formula), range),
            None => formula,
        },
        false => formula,
    }
}

impl FormulaReader<'_> {
    fn boxed(&mut self, expression: &Expr) -> DataFusionResult<Box<Formula>> {
        self.formula(expression).map(Box::new)
    }

    fn all(&mut self, expressions: &[Expr]) -> DataFusionResult<Vec<Formula>> {
        expressions.iter().map(|expression| self.formula(expression)).collect()
    }

    fn formula(&mut self, expression: &Expr) -> DataFusionResult<Formula> {
        self.depth += 1;
        let found = if self.depth > DEEPEST { Ok(Formula::Unknown) } else { self.nested(expression) };
        self.depth -= 1;
        found
    }

    fn nested(&mut self, expression: &Expr) -> DataFusionResult<Formula> {
        if !is_read(&expression.get_type(self.typed)?) {
            return Ok(Formula::Unknown);
        }
        let keys = self.aggregate.group_expr.len();
        if mentioned(expression, self.aggregate).iter().all(|column| *column < keys) {
            return self.constant(expression);
        }
        Ok(match expression {
            Expr::Column(column) => {
                let index = self.aggregate.schema.maybe_index_of_column(column);
                index.and_then(|index| index.checked_sub(keys)).map_or(Formula::Unknown, Formula::Noisy)
            }
            Expr::Alias(alias) => self.formula(&alias.expr)?,
            Expr::Negative(inner) => Formula::Negative(self.boxed(inner)?),
            Expr::Cast(cast) => self.converted(&cast.expr, cast.field.data_type())?,
            Expr::TryCast(cast) => self.converted(&cast.expr, cast.field.data_type())?,
            Expr::BinaryExpr(binary) if chained(binary.op).is_some() => {
                self.chain(expression, binary.op, &expression.get_type(self.typed)?)?
            }
            Expr::BinaryExpr(binary) => self.binary(binary, &expression.get_type(self.typed)?)?,
            Expr::ScalarFunction(function) => self.function(function, &expression.get_type(self.typed)?)?,
            Expr::Case(case) => self.case(case)?,
            Expr::Between(between) => {
                let (of, low, high) =
                    (self.formula(&between.expr)?, self.formula(&between.low)?, self.formula(&between.high)?);
                let at_least = compared(NumberRelation::AtMost, low, of.clone());
                let both = Formula::And(Box::new(at_least), Box::new(compared(NumberRelation::AtMost, of, high)));
                if between.negated { Formula::Not(Box::new(both)) } else { both }
            }
            Expr::InList(list) => {
                let (of, all) = (self.formula(&list.expr)?, self.all(&list.list)?);
                let equal = all.into_iter().map(|one| compared(NumberRelation::Equal, of.clone(), one)).collect();
                let any = balanced(equal, &|one, other| Formula::Or(Box::new(one), Box::new(other)));
                let any = any.unwrap_or(Formula::Constant(0.0));
                if list.negated { Formula::Not(Box::new(any)) } else { any }
            }
            Expr::Not(inner) => Formula::Not(self.boxed(inner)?),
            Expr::IsNull(inner) | Expr::IsUnknown(inner) => Formula::IsNull(self.boxed(inner)?),
            Expr::IsNotNull(inner) | Expr::IsNotUnknown(inner) => {
                Formula::Not(Box::new(Formula::IsNull(self.boxed(inner)?)))
            }
            Expr::IsTrue(inner) => Formula::Is(true, self.boxed(inner)?),
            Expr::IsFalse(inner) => Formula::Is(false, self.boxed(inner)?),
            Expr::IsNotTrue(inner) => Formula::Not(Box::new(Formula::Is(true, self.boxed(inner)?))),
            Expr::IsNotFalse(inner) => Formula::Not(Box::new(Formula::Is(false, self.boxed(inner)?))),
            _ => Formula::Unknown,
        })
    }

    /// What no noise moves.
    fn constant(&mut self, expression: &Expr) -> DataFusionResult<Formula> {
        if let Expr::Literal(value, _) = expression
            && let Ok(ScalarValue::Float64(Some(number))) = value.cast_to(&DataType::Float64)
            && number.is_finite()
        {
            return Ok(Formula::Constant(number));
        }
        self.given.push(CompiledExpression::new(expression, self.keys, self.backend)?);
        Ok(Formula::Given(self.given.len() - 1))
    }

    fn converted(&mut self, inner: &Expr, to: &DataType) -> DataFusionResult<Formula> {
        let from = inner.get_type(self.typed)?;
        let formula = self.formula(inner)?;
        let rounded = |how: Rounding, digits: f64| Formula::Rounded {
            how,
            of: Box::new(formula.clone()),
            digits: Box::new(Formula::Constant(digits)),
        };
        Ok(match to {
            DataType::Float64 if is_read(&from) => formula,
            to if to.is_integer() && from.is_integer() && holds(to, &from) => formula,
            to if to.is_integer() && is_read(&from) => match range(to) {
                Some(range) => Formula::Fitting(Box::new(rounded(Rounding::ToZero, 0.0)), range),
                None => Formula::Unknown,
            },
            DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) if from.is_numeric() => {
                let most = 10f64.powi(i32::from(*precision) - i32::from(*scale)).next_down();
                Formula::Fitting(Box::new(rounded(Rounding::Nearest, f64::from(*scale))), (-most, most))
            }
            DataType::Boolean if from == DataType::Boolean => formula,
            _ => Formula::Unknown,
        })
    }

    /// A chain of one operator, which leans to the left, as a tree that does not.
    fn chain(&mut self, expression: &Expr, operator: Operator, kind: &DataType) -> DataFusionResult<Formula> {
        let (mut links, mut left) = (Vec::new(), expression);
        while let Expr::BinaryExpr(binary) = left
            && chained(binary.op) == chained(operator)
            && left.get_type(self.typed)? == *kind
        {
            links.push((binary.op, binary.right.as_ref()));
            left = binary.left.as_ref();
        }
        // As deep as the tree that is made of it.
        let deeper = links.len().max(1).ilog2() as usize + 1;
        self.depth += deeper;
        let mut parts = vec![self.formula(left)?];
        for (own, right) in links.into_iter().rev() {
            let right = self.formula(right)?;
            parts.push(if own == Operator::Minus { Formula::Negative(Box::new(right)) } else { right });
        }
        self.depth -= deeper;
        let join = |one: Formula, other: Formula| {
            let (one, other) = (Box::new(one), Box::new(other));
            match operator {
                Operator::Multiply => fitting(Formula::Product(one, other), kind),
                Operator::And => Formula::And(one, other),
                Operator::Or => Formula::Or(one, other),
                _ => fitting(Formula::Sum(one, other), kind),
            }
        };
        Ok(balanced(parts, &join).unwrap_or(Formula::Unknown))
    }

    fn binary(&mut self, binary: &BinaryExpr, kind: &DataType) -> DataFusionResult<Formula> {
        let (left, right) = (self.boxed(&binary.left)?, self.boxed(&binary.right)?);
        let not = |formula: Formula| Formula::Not(Box::new(formula));
        Ok(match binary.op {
            Operator::Divide if kind.is_integer() => fitting(
                Formula::Rounded {
                    how: Rounding::ToZero,
                    of: Box::new(left.over(*right)),
                    digits: Box::new(Formula::Constant(0.0)),
                },
                kind,
            ),
            Operator::Divide => left.over(*right),
            Operator::Modulo => Formula::Remainder { of: left, by: right, whole: kind.is_integer() },
            Operator::Eq => compared(NumberRelation::Equal, *left, *right),
            Operator::NotEq => not(compared(NumberRelation::Equal, *left, *right)),
            Operator::Lt => compared(NumberRelation::Below, *left, *right),
            Operator::LtEq => compared(NumberRelation::AtMost, *left, *right),
            Operator::Gt => compared(NumberRelation::Below, *right, *left),
            Operator::GtEq => compared(NumberRelation::AtMost, *right, *left),
            _ => Formula::Unknown,
        })
    }

    fn case(&mut self, case: &Case) -> DataFusionResult<Formula> {
        let base = case.expr.as_ref().map(|base| self.formula(base)).transpose()?;
        let mut whens = Vec::with_capacity(case.when_then_expr.len());
        for (when, then) in &case.when_then_expr {
            let when = self.formula(when)?;
            let when = match &base {
                Some(base) => compared(NumberRelation::Equal, base.clone(), when),
                None => when,
            };
            whens.push((when, self.formula(then)?));
        }
        let otherwise = case.else_expr.as_ref().map(|otherwise| self.boxed(otherwise)).transpose()?;
        Ok(Formula::Case(whens, otherwise))
    }

    fn function(&mut self, function: &ScalarFunction, kind: &DataType) -> DataFusionResult<Formula> {
        let mut arguments = self.all(&function.args)?;
        let shape = functions::named(function.name()).map_or(Shape::Unknown, |record| record.shape);
        Ok(match (shape, arguments.len()) {
            (Shape::Rounded(how), 1 | 2) => {
                let digits = if arguments.len() == 1 { Formula::Constant(0.0) } else { arguments.remove(1) };
                Formula::Rounded { how, of: Box::new(arguments.remove(0)), digits: Box::new(digits) }
            }
            (Shape::Elementary(which), 1) => fitting(Formula::Elementary(which, Box::new(arguments.remove(0))), kind),
            (Shape::Computed(of), _) => {
                of(&arguments, kind.is_integer()).map_or(Formula::Unknown, |formula| fitting(formula, kind))
            }
            (Shape::Chosen(of), _) => of(arguments).unwrap_or(Formula::Unknown),
            _ => Formula::Unknown,
        })
    }
}

/// Operators that may be joined in any order, by what they do.
fn chained(operator: Operator) -> Option<Operator> {
    match operator {
        Operator::Plus | Operator::Minus => Some(Operator::Plus),
        Operator::Multiply | Operator::And | Operator::Or => Some(operator),
        _ => None,
    }
}

/// All parts joined, in their order, as a tree of little depth; none where there are none.
fn balanced(mut parts: Vec<Formula>, join: &dyn Fn(Formula, Formula) -> Formula) -> Option<Formula> {
    if parts.len() <= 1 {
        return parts.pop();
    }
    let right = balanced(parts.split_off(parts.len() / 2), join)?;
    Some(join(balanced(parts, join)?, right))
}

fn compared(how: NumberRelation, left: Formula, right: Formula) -> Formula {
    Formula::NumberRelation(how, Box::new(left), Box::new(right))
}

/// What is wrong above the aggregate; only released numbers can be in it.
pub(crate) fn failed(error: &DataFusionError) -> Error {
    let message = error.strip_backtrace();
    let line = refusals::plain(message.lines().next().unwrap_or_default());
    Error::input(format!("query: what is done with the aggregates fails: {line}"))
}
