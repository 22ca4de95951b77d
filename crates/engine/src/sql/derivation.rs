//! An output column as a function of released numbers, which can be asked what it would be if they were others.
//!
//! Beside the expression as it was answered there is its smooth form: what rounds (ROUND, FLOOR, CEIL, TRUNC, whole-number division, casts to whole
//! numbers) is left out. A reader takes a rounded number for the number that was rounded, so the error bar covers both.

use super::refusals;
use super::total::total;
use crate::backend::Backend;
use crate::error::{Error, Result};
use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Float64Type};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Aggregate, BinaryExpr, Expr, ExprSchemable, Operator, TryCast};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::PhysicalExpr;
use std::collections::HashMap;
use std::sync::Arc;

/// An output column over the aggregate's columns.
pub(crate) struct Derivation {
    /// The aggregate's columns that it reads, by index, in the order in which they are handed in.
    pub columns: Vec<usize>,
    /// Whether it is a sum of numbers that depend on noise, each times one that does not.
    pub is_linear: bool,
    /// None where it has none, as with functions that take whole numbers only.
    smooth: Option<Form>,
    /// None where the smooth form is all.
    stepped: Option<Form>,
    /// What it divides by, where that depends on noise; in the smooth form's types.
    divisors: Vec<Form>,
    /// What it takes the absolute value of.
    kinks: Vec<Form>,
}

/// An expression that runs, and the types of its columns.
struct Form {
    schema: DFSchema,
    expression: Arc<dyn PhysicalExpr>,
}

type Outcome<T> = std::result::Result<T, DataFusionError>;

impl Derivation {
    /// `expression` over the aggregate's columns; `kinds` are the types in which these are released.
    pub fn new(expression: &Expr, aggregate: &Aggregate, kinds: &[DataType], backend: &Backend) -> Result<Self> {
        let mut columns = mentioned(expression, aggregate);
        columns.sort_unstable();
        columns.dedup();
        let keys = aggregate.group_expr.len();
        let attempt = || -> Outcome<Self> {
            let typed = schema(aggregate, &columns, |column| kinds[column].clone())?;
            let number = |column: usize| if column < keys { kinds[column].clone() } else { DataType::Float64 };
            let numbers = schema(aggregate, &columns, number)?;
            let plain = without_rounding(expression, &typed)?;
            let smooth = Form::new(&plain, &numbers, backend).ok();
            let is_noisy = |expression: &Expr| mentioned(expression, aggregate).iter().any(|column| *column >= keys);
            let shape = Shape { schema: &typed, is_noisy: &is_noisy };
            let stepped = match smooth.is_some() && shape.is_smooth(expression)? {
                true => None,
                false => Some(Form::new(expression, &typed, backend)?),
            };
            let forms = |parts: Vec<Expr>| -> Outcome<Vec<Form>> {
                let parts = if smooth.is_some() { parts } else { Vec::new() };
                parts.iter().map(|part| Form::new(part, &numbers, backend)).collect()
            };
            let (divisors, kinks) = (forms(shape.divisors(&plain)?)?, forms(shape.kinks(&plain)?)?);
            Ok(Self {
                is_linear: shape.degree(expression)? < Degree::Other,
                columns: columns.clone(),
                smooth,
                stepped,
                divisors,
                kinks,
            })
        };
        attempt().map_err(|error| failed(&error))
    }

    /// Its values in the smooth form, or as it is where it has none, and as it is where that is something else. `typed` are the columns in the types in which they are released,
    /// `numbers` the same with every number that depends on noise as a fraction.
    pub fn values(&self, typed: &[ArrayRef], numbers: &[ArrayRef]) -> Result<(Vec<f64>, Option<Vec<f64>>)> {
        let stepped = self.stepped.as_ref().map(|form| form.values(typed)).transpose()?;
        match (&self.smooth, stepped) {
            (Some(smooth), stepped) => Ok((smooth.values(numbers)?, stepped)),
            (None, Some(stepped)) => Ok((stepped, None)),
            (None, None) => Err(Error::machine("an output column without an expression")),
        }
    }

    /// Whether the typed columns are looked at.
    pub fn has_steps(&self) -> bool {
        self.stepped.is_some()
    }

    /// What it takes the absolute value of.
    pub fn kinks(&self, numbers: &[ArrayRef]) -> Result<Vec<Vec<f64>>> {
        self.kinks.iter().map(|kink| kink.values(numbers)).collect()
    }

    /// What it divides by.
    pub fn divisors(&self, numbers: &[ArrayRef]) -> Result<Vec<Vec<f64>>> {
        self.divisors.iter().map(|divisor| divisor.values(numbers)).collect()
    }
}

impl Form {
    fn new(expression: &Expr, schema: &DFSchema, backend: &Backend) -> Outcome<Self> {
        let state = backend.context.state();
        // Functions such as COALESCE run only after they have been simplified to CASE.
        let context = SimplifyContext::builder()
            .with_schema(Arc::new(schema.clone()))
            .with_config_options(Arc::clone(state.config_options()))
            .build();
        let simplifier = ExprSimplifier::new(context);
        let coerced = simplifier.coerce(expression.clone(), schema)?;
        let simple = simplifier.simplify(total(coerced, schema)?)?;
        Ok(Self { schema: schema.clone(), expression: state.create_physical_expr(simple, schema)? })
    }

    fn values(&self, columns: &[ArrayRef]) -> Result<Vec<f64>> {
        let attempt = || -> Outcome<Vec<f64>> {
            let batch = RecordBatch::try_new(Arc::clone(self.schema.inner()), columns.to_vec())?;
            let column = self.expression.evaluate(&batch)?.into_array(batch.num_rows())?;
            let column = cast(&column, &DataType::Float64)?;
            Ok(column.as_primitive::<Float64Type>().iter().map(|value| value.unwrap_or(f64::NAN)).collect())
        };
        attempt().map_err(|error| failed(&error))
    }
}

/// The columns of the aggregate, in these types.
fn schema(aggregate: &Aggregate, columns: &[usize], kind: impl Fn(usize) -> DataType) -> Outcome<DFSchema> {
    let field = |column: &usize| {
        let (qualifier, field) = aggregate.schema.qualified_field(*column);
        (qualifier.cloned(), Arc::new(Field::new(field.name(), kind(*column), true)))
    };
    DFSchema::new_with_metadata(columns.iter().map(field).collect(), HashMap::new())
}

/// The aggregate's columns that an expression mentions, by index.
pub(super) fn mentioned(expression: &Expr, aggregate: &Aggregate) -> Vec<usize> {
    let mut found = Vec::new();
    let _ = expression.apply(|node| {
        if let Expr::Column(column) = node {
            found.extend(aggregate.schema.maybe_index_of_column(column));
        }
        Ok(TreeNodeRecursion::Continue)
    });
    found
}

/// How an expression depends on noise.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
enum Degree {
    Constant,
    Linear,
    Other,
}

/// What can be read off an expression.
struct Shape<'a> {
    schema: &'a DFSchema,
    is_noisy: &'a dyn Fn(&Expr) -> bool,
}

/// Functions of one or two numbers without steps.
const SMOOTH: [&str; 9] = ["abs", "sqrt", "cbrt", "exp", "ln", "log", "log2", "log10", "power"];

/// Functions that round their first argument.
const ROUNDING: [&str; 4] = ["round", "floor", "ceil", "trunc"];

impl Shape<'_> {
    fn degree(&self, expression: &Expr) -> Outcome<Degree> {
        if !(self.is_noisy)(expression) {
            return Ok(Degree::Constant);
        }
        Ok(match expression {
            Expr::Column(_) => Degree::Linear,
            Expr::Alias(alias) => self.degree(&alias.expr)?,
            Expr::Negative(inner) => self.degree(inner)?,
            Expr::Cast(_) | Expr::TryCast(_) => match self.widened(expression)? {
                Some(inner) => self.degree(inner)?,
                None => Degree::Other,
            },
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let (first, second) = (self.degree(left)?, self.degree(right)?);
                let larger = if first > second { first } else { second };
                match op {
                    Operator::Plus | Operator::Minus => larger,
                    Operator::Multiply if first == Degree::Constant || second == Degree::Constant => larger,
                    Operator::Divide if second == Degree::Constant && !self.is_whole(expression)? => larger,
                    _ => Degree::Other,
                }
            }
            _ => Degree::Other,
        })
    }

    /// Whether it has no steps.
    fn is_smooth(&self, expression: &Expr) -> Outcome<bool> {
        if !(self.is_noisy)(expression) {
            return Ok(true);
        }
        Ok(match expression {
            Expr::Column(_) => true,
            Expr::Alias(alias) => self.is_smooth(&alias.expr)?,
            Expr::Negative(inner) => self.is_smooth(inner)?,
            Expr::Cast(_) | Expr::TryCast(_) => match self.widened(expression)? {
                Some(inner) => self.is_smooth(inner)?,
                None => false,
            },
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let plain = match op {
                    Operator::Plus | Operator::Minus | Operator::Multiply => true,
                    Operator::Divide => !self.is_whole(expression)?,
                    _ => false,
                };
                plain && self.is_smooth(left)? && self.is_smooth(right)?
            }
            Expr::ScalarFunction(function) if SMOOTH.contains(&function.name()) => {
                let arguments = function.args.iter().map(|argument| self.is_smooth(argument));
                arguments.collect::<Outcome<Vec<bool>>>()?.into_iter().all(|smooth| smooth)
            }
            _ => false,
        })
    }

    /// What is cast from a number to a kind of number that loses nothing worth mentioning.
    fn widened<'e>(&self, expression: &'e Expr) -> Outcome<Option<&'e Expr>> {
        let (inner, to) = match expression {
            Expr::Cast(cast) => (&cast.expr, cast.field.data_type()),
            Expr::TryCast(cast) => (&cast.expr, cast.field.data_type()),
            _ => return Ok(None),
        };
        let from = inner.get_type(self.schema)?;
        let is_wider = *to == DataType::Float64 || (*to == DataType::Int64 && from == DataType::Int64);
        Ok((from.is_numeric() && is_wider).then_some(inner.as_ref()))
    }

    fn is_whole(&self, expression: &Expr) -> Outcome<bool> {
        Ok(expression.get_type(self.schema)?.is_integer())
    }

    fn divisors(&self, expression: &Expr) -> Outcome<Vec<Expr>> {
        self.parts(expression, |node| match node {
            Expr::BinaryExpr(BinaryExpr { op: Operator::Divide | Operator::Modulo, right, .. }) => Some(right.as_ref()),
            _ => None,
        })
    }

    fn kinks(&self, expression: &Expr) -> Outcome<Vec<Expr>> {
        self.parts(expression, |node| match node {
            Expr::ScalarFunction(function) if function.name() == "abs" => function.args.first(),
            _ => None,
        })
    }

    /// The parts that are chosen and depend on noise, each once.
    fn parts(&self, expression: &Expr, choose: impl Fn(&Expr) -> Option<&Expr>) -> Outcome<Vec<Expr>> {
        let mut found: Vec<Expr> = Vec::new();
        expression.apply(|node| {
            let part = choose(node).filter(|part| (self.is_noisy)(part) && !found.contains(part)).cloned();
            found.extend(part);
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(found)
    }
}

/// The expression without what rounds numbers.
fn without_rounding(expression: &Expr, schema: &DFSchema) -> Outcome<Expr> {
    let number = |inner: Expr| Expr::TryCast(TryCast::new(Box::new(inner), DataType::Float64));
    let rewritten = expression.clone().transform_up(|node| match node {
        Expr::ScalarFunction(mut function) if ROUNDING.contains(&function.name()) && !function.args.is_empty() => {
            Ok(Transformed::yes(number(function.args.swap_remove(0))))
        }
        Expr::Cast(ref cast) if cast.field.data_type().is_integer() && cast.expr.get_type(schema)?.is_numeric() => {
            Ok(Transformed::yes(number(cast.expr.as_ref().clone())))
        }
        Expr::TryCast(ref cast) if cast.field.data_type().is_integer() && cast.expr.get_type(schema)?.is_numeric() => {
            Ok(Transformed::yes(number(cast.expr.as_ref().clone())))
        }
        Expr::BinaryExpr(binary) if binary.op == Operator::Divide => {
            let (left, right) = (Box::new(number(*binary.left)), Box::new(number(*binary.right)));
            Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op: Operator::Divide, right })))
        }
        other => Ok(Transformed::no(other)),
    });
    rewritten.map(|rewritten| rewritten.data)
}

/// What is wrong above the aggregate; only released numbers can be in it.
pub(super) fn failed(error: &DataFusionError) -> Error {
    let message = error.strip_backtrace();
    let line = refusals::plain(message.lines().next().unwrap_or_default());
    if line.contains("limit") {
        return Error::input("query: LIMIT and OFFSET take a whole number that is not negative");
    }
    Error::input(format!("query: what is done with the aggregates fails: {line}"))
}
