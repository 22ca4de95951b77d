//! What is publicly known about a column or an expression below the aggregate: which attributes it reads, and its
//! bounds.

use super::casts::{is_answered, is_float};
use super::limits::{self, LARGEST_SIZE};
use crate::error::{Error, QueryMistake, Result};
use crate::sql::QuerySource;
use crate::sql::functions::{self, Ends, Interval};
use crate::tables::functions::{FINITE, FITTED};
use datafusion::arrow::array::StringArray;
use datafusion::arrow::compute::{ilike, like};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::logical_expr::expr::{Case, Like, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator};
use datafusion::sql::unparser::Unparser;
use std::collections::BTreeSet;

pub(crate) mod dates;

/// Beyond this, f64 no longer holds every whole number.
pub(crate) const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;
/// The numbers of a range up to this size can be listed.
const LARGEST_LISTED_RANGE: f64 = 10_000.0;
/// The longest text that an expression may make, in bytes: the 8192 texts of a batch must fit 2³¹ bytes, whatever the
/// rows are.
const LONGEST_MADE: u64 = 200_000;
/// No number and no truth value has a longer text.
const LONGEST_NUMBER: u64 = 64;
/// The longest text in a query, in bytes.
const LONGEST_LITERAL: usize = 1000;

/// What is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ValueFacts {
    /// The attributes that the value depends on.
    pub attributes: BTreeSet<String>,
    /// Bounds that every value keeps, NULL aside.
    pub interval: Option<(f64, f64)>,
    /// Whether it is NULL and nothing else.
    pub null: bool,
    /// The grid that all values are on, up to rounding.
    pub granularity: Option<f64>,
    /// How long a text can be, in bytes.
    pub bytes: u64,
    /// How many operators and columns it takes when everything below is put in its place, as the optimiser may do.
    pub size: u64,
    /// Whether this is a column that names the owner.
    pub is_owner: bool,
    /// Whether an outer join may have left the owner's name out.
    pub missing: bool,
    /// Whether it is NULL on no row, whatever the data is; false where that is not known.
    pub present: bool,
}

impl ValueFacts {
    /// The least and the largest of whole numbers, if they are few enough to be listed.
    pub fn listed(&self) -> Option<(i64, i64)> {
        let few = |(low, high): &(f64, f64)| high - low < LARGEST_LISTED_RANGE;
        let (low, high) = self.interval.filter(few).filter(held_exactly)?;
        Some((low.ceil() as i64, high.floor() as i64))
    }

    /// A truth value that depends on nothing that is declared.
    pub fn of_truth() -> Self {
        Self::of_bool(BTreeSet::new())
    }

    fn of_bool(attributes: BTreeSet<String>) -> Self {
        Self { attributes, ..Self::default() }
    }

    /// The same; present if all of its parts are and it has bounds: a number beyond all others would be NULL.
    fn present_as(self, parts: &[&Self]) -> Self {
        let present = self.interval.is_some() && parts.iter().all(|part| part.present);
        Self { present, ..self }
    }
}

/// Describes expressions over the output of one plan node.
pub(crate) struct Describer<'a> {
    pub schema: &'a DFSchema,
    pub columns: &'a [ValueFacts],
    pub source: &'a QuerySource<'a>,
}

impl Describer<'_> {
    /// What is known about a column.
    pub fn column(&self, column: &Column) -> Result<&ValueFacts> {
        let index = self.schema.maybe_index_of_column(column);
        index.and_then(|index| self.columns.get(index)).ok_or_else(|| {
            let sentence = format!("there is no declared column '{}'", column.name);
            self.source.error_at_column(&column.name, sentence).with_mistake(QueryMistake::UnknownColumn)
        })
    }

    /// The type of an expression, as it runs.
    pub fn kind(&self, expression: &Expr) -> Result<DataType> {
        expression.get_type(self.schema).map_err(|_| self.refused(format!("the expression {expression} has no type")))
    }

    /// What is known about an expression; refuses what must not be computed on private rows.
    ///
    /// # Guarantee
    /// Before: casts are [`total`](super::casts::total). After: on every row the expression gives a value or NULL, and
    /// never fails; the value depends on the row's `attributes` alone and is within `interval`.
    pub fn expression(&self, expression: &Expr) -> Result<ValueFacts> {
        let known = self.described(expression)?;
        let kind = self.kind(expression)?;
        if !is_answered(&kind) {
            let expression = shown(expression);
            let sentence = format!(
                "{expression} has the type {kind}; cast it to a type of private rows: BOOLEAN, VARCHAR, DATE, \
                    TIMESTAMP, DOUBLE, REAL or whole numbers of up to 64 bits"
            );
            return Err(self.refused(sentence));
        }
        self.within_reach(expression, &kind, &known)?;
        if known.bytes > LONGEST_MADE {
            return Err(self.refused(format!(
                "{} may make strings of more than {LONGEST_MADE} bytes: list the values of its columns in the project \
                    file, or concatenate fewer strings",
                shown(expression)
            )));
        }
        let size = limits::size(expression, |column| self.column(column).map_or(1, |known| known.size));
        if size > LARGEST_SIZE {
            return Err(self.refused(format!(
                "{} takes more than {LARGEST_SIZE} operators once its sub-queries are expanded; shorten it",
                shown(expression)
            )));
        }
        // Numbers of 32 bits are rounded ones: the bounds make room for that.
        let interval = match (&kind, known.interval) {
            (DataType::Float32, Some((low, high))) => {
                Some((f64::from((low as f32).next_down()), f64::from((high as f32).next_up())))
            }
            (_, interval) => interval,
        };
        Ok(ValueFacts { interval: interval.filter(|(low, high)| low.is_finite() && high.is_finite()), size, ..known })
    }

    fn described(&self, expression: &Expr) -> Result<ValueFacts> {
        match expression {
            Expr::Column(column) => {
                let known = self.column(column)?;
                if known.is_owner {
                    let name = &column.name;
                    let sentence = format!(
                        "the owner column '{name}' can be counted with COUNT(DISTINCT {name}) and joined on, not read otherwise"
                    );
                    return Err(self.source.error_at_column(name, sentence));
                }
                Ok(known.clone())
            }
            Expr::Alias(alias) => self.expression(&alias.expr),
            Expr::Literal(value, _) => self.literal(value),
            Expr::BinaryExpr(binary) => self.binary(binary, expression),
            Expr::Like(like) => self.like(like, expression),
            Expr::Not(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotTrue(_)
            | Expr::IsNotFalse(_)
            | Expr::IsNotUnknown(_)
            | Expr::Between(_)
            | Expr::InList(_) => Ok(ValueFacts::of_bool(self.attributes_of_parts(expression)?)),
            Expr::Negative(inner) => {
                let known = self.expression(inner)?;
                let interval = self.fitting(expression, known.interval.map(|(low, high)| (-high, -low)))?;
                Ok(ValueFacts { interval, null: false, ..known.clone() }.present_as(&[&known]))
            }
            Expr::Case(case) => self.case(case),
            Expr::Cast(cast) => self.cast(&cast.expr, cast.field.data_type()),
            Expr::ScalarFunction(function) => self.function(function, expression),
            Expr::SimilarTo(_) => Err(self.refused(
                "SIMILAR TO is not supported on private rows; write LIKE, or several with OR between them".to_string(),
            )),
            Expr::OuterReferenceColumn(_, column) => Err(self.source.error_at_column(
                &column.name,
                format!(
                    "{} belongs to the outer query, and correlated sub-queries are not supported: join the table \
                    instead",
                    column.name
                ),
            )),
            other => {
                let other = shown(other);
                Err(self.refused(format!("the expression {other} is not supported on private rows")))
            }
        }
    }

    pub fn refused(&self, sentence: String) -> Error {
        self.source.error("", sentence)
    }

    /// The attributes of all parts; each part is checked.
    fn attributes_of_parts(&self, expression: &Expr) -> Result<BTreeSet<String>> {
        let mut attributes = BTreeSet::new();
        for part in parts(expression) {
            attributes.extend(self.expression(part)?.attributes);
        }
        Ok(attributes)
    }

    /// A pattern is compiled here once: one that is a column, or too large, could fail on some rows only.
    fn like(&self, like_expression: &Like, whole: &Expr) -> Result<ValueFacts> {
        let attributes = self.attributes_of_parts(whole)?;
        let Like { pattern, escape_char, case_insensitive, .. } = like_expression;
        let Expr::Literal(pattern, _) = pattern.as_ref() else {
            return Err(self.source.error("like", "the pattern of LIKE must be a literal on private rows"));
        };
        if escape_char.is_some() {
            return Err(self.source.error("escape", "LIKE … ESCAPE is not supported; write \\ before % or _"));
        }
        if let Some(Some(pattern)) = pattern.try_as_str() {
            let (texts, pattern) = (StringArray::from(vec![""]), StringArray::new_scalar(pattern));
            let tried = if *case_insensitive { ilike(&texts, &pattern) } else { like(&texts, &pattern) };
            tried.map_err(|_| self.source.error("like", "the pattern of LIKE is too large"))?;
        }
        Ok(ValueFacts::of_bool(attributes))
    }

    /// The bounds of a node: a whole number must fit its type, with bounds that f64 holds exactly; a fraction need not
    /// have any.
    fn fitting(&self, whole: &Expr, interval: Option<(f64, f64)>) -> Result<Option<(f64, f64)>> {
        let interval = interval.filter(held_exactly);
        let kind = self.kind(whole)?;
        let fits = |(low, high): (f64, f64)| range_of(&kind).is_none_or(|(least, most)| low >= least && high <= most);
        if kind.is_integer() && !interval.is_some_and(fits) {
            let sentence =
                format!("{} may overflow: declare bounds for its columns, or cast them to DOUBLE", shown(whole));
            return Err(self.refused(sentence));
        }
        Ok(interval)
    }

    fn binary(&self, binary: &BinaryExpr, whole: &Expr) -> Result<ValueFacts> {
        if let Some(shifted) = self.date_arithmetic(binary, whole)? {
            return Ok(shifted);
        }
        let (mut left, mut right) = (self.expression(&binary.left)?, self.expression(&binary.right)?);
        // Beyond 2⁵³ the bounds of whole numbers are rounded, and what is computed from them may be off by more than
        // they are apart.
        for (known, part) in [(&mut left, &binary.left), (&mut right, &binary.right)] {
            if self.kind(part)?.is_integer() {
                known.interval = known.interval.filter(held_exactly);
            }
        }
        let attributes: BTreeSet<String> = left.attributes.union(&right.attributes).cloned().collect();
        let interval = match binary.op {
            Operator::Plus | Operator::Minus | Operator::Multiply => {
                let combine = |x: f64, y: f64| match binary.op {
                    Operator::Plus => x + y,
                    Operator::Minus => x - y,
                    _ => x * y,
                };
                left.interval.zip(right.interval).map(|(left, right)| corners(left, right, combine))
            }
            Operator::Divide | Operator::Modulo => self.divided(binary, whole, &left, &right)?,
            Operator::StringConcat => {
                return Ok(ValueFacts {
                    attributes,
                    bytes: left.bytes.saturating_add(right.bytes),
                    ..ValueFacts::default()
                });
            }
            Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::And
            | Operator::Or
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom => return Ok(ValueFacts::of_bool(attributes)),
            other => {
                return Err(self.refused(format!("the operator {other} is not supported on private rows")));
            }
        };
        let made = ValueFacts { attributes, interval: self.fitting(whole, interval)?, ..ValueFacts::default() };
        Ok(made.present_as(&[&left, &right]))
    }

    /// A quotient or a remainder. Zero must be out of the question, and so must −2⁶³ / −1, which fits no type.
    fn divided(
        &self,
        binary: &BinaryExpr,
        whole: &Expr,
        left: &ValueFacts,
        right: &ValueFacts,
    ) -> Result<Option<(f64, f64)>> {
        if !right.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0) {
            let sentence = format!(
                "{} may divide by zero; divide by a number that is not 0, by a column whose bounds exclude 0, or after the aggregate",
                shown(whole)
            );
            return Err(self.source.error(if binary.op == Operator::Divide { "/" } else { "%" }, sentence));
        }
        let is_whole = self.kind(whole)?.is_integer();
        let Some(((low, high), (c, d))) = left.interval.zip(right.interval) else { return Ok(None) };
        let quotient = self.fitting(whole, Some(corners((low, high), (c, d), |x, y| x / y)))?;
        if binary.op == Operator::Divide {
            return Ok(quotient.map(|(low, high)| if is_whole { (low.trunc(), high.trunc()) } else { (low, high) }));
        }
        let most = c.abs().max(d.abs());
        let most = if is_whole { most - 1.0 } else { most };
        Ok(Some((if low < 0.0 { -most } else { 0.0 }, if high > 0.0 { most } else { 0.0 })))
    }

    fn case(&self, case: &Case) -> Result<ValueFacts> {
        let mut attributes = BTreeSet::new();
        let conditions = case.expr.iter().chain(case.when_then_expr.iter().map(|(when, _)| when));
        for condition in conditions {
            attributes.extend(self.expression(condition)?.attributes);
        }
        let branches = case.when_then_expr.iter().map(|(_, then)| then).chain(&case.else_expr);
        let branches = branches.map(|branch| self.expression(branch)).collect::<Result<Vec<ValueFacts>>>()?;
        // Without ELSE it is NULL where no condition is true.
        let present = case.else_expr.is_some() && branches.iter().all(|branch| branch.present);
        Ok(ValueFacts { present, ..either(attributes, &branches) })
    }

    /// A cast; what does not fit is NULL.
    fn cast(&self, inner: &Expr, to: &DataType) -> Result<ValueFacts> {
        let known = self.expression(inner)?;
        let from = self.kind(inner)?;
        if let Some(cast) = self.date_cast(inner, &known, &from, to)? {
            return Ok(cast);
        }
        let between_numbers = from.is_numeric() && to.is_numeric();
        let interval = match (between_numbers, known.interval, range_of(to)) {
            (true, Some((low, high)), Some((least, most))) => {
                let (low, high) = (low.trunc().max(least), high.trunc().min(most));
                (low <= high).then_some((low, high))
            }
            (true, interval, None) => interval,
            _ => None,
        };
        let granularity = match (from.is_integer(), is_float(to)) {
            (true, true) => Some(1.0),
            (false, true) if is_float(&from) => known.granularity,
            _ => None,
        };
        let bytes = if from == DataType::Utf8 { known.bytes } else { LONGEST_NUMBER };
        // What does not fit is NULL: only what has bounds within the type does.
        let within = |(low, high): (f64, f64)| range_of(to).is_none_or(|(least, most)| least <= low && high <= most);
        let fits = between_numbers && known.interval.is_some_and(within);
        let present = known.present && (fits || from == *to);
        Ok(ValueFacts { interval, granularity, bytes, null: false, present, ..known })
    }

    fn function(&self, function: &ScalarFunction, whole: &Expr) -> Result<ValueFacts> {
        let name = function.func.name();
        if let (FITTED, [inner]) = (name, function.args.as_slice()) {
            return self.cast(inner, &self.kind(whole)?);
        }
        if let Some(record) = functions::in_place_of(name) {
            let (attributes, arguments) = self.arguments(function)?;
            return Ok(ValueFacts {
                attributes,
                interval: record.interval.of(&function.args, &ends(&arguments)),
                ..ValueFacts::default()
            });
        }
        if let (FINITE, [inner]) = (name, function.args.as_slice()) {
            return Ok(ValueFacts { present: false, ..self.expression(inner)? });
        }
        if let Some(known) = self.date_function(function)? {
            return Ok(known);
        }
        let record = functions::check(function).map_err(|sentence| self.source.error_at_call(name, sentence))?;
        let (attributes, arguments) = self.arguments(function)?;
        let interval = record.interval.of(&function.args, &ends(&arguments));
        let interval = match record.interval {
            Interval::Chosen(left) => {
                let known = either(attributes, &arguments);
                // NULLs are skipped: one argument that is present is enough.
                let present = arguments.iter().any(|argument| argument.present);
                return Ok(ValueFacts { interval: left(&function.args, known.interval), present, ..known });
            }
            Interval::First => {
                let first = arguments.into_iter().next().unwrap_or_default();
                return Ok(ValueFacts { attributes, present: false, ..first });
            }
            Interval::Fitting(from, _) if function.args.len() >= from => self.fitting(whole, interval)?,
            _ => interval,
        };
        let bytes: Vec<u64> = arguments.iter().map(|known| known.bytes).collect();
        Ok(ValueFacts { attributes, interval, bytes: (record.bytes)(&function.args, &bytes), ..ValueFacts::default() })
    }

    /// What is known of each argument, and the attributes of all.
    fn arguments(&self, function: &ScalarFunction) -> Result<(BTreeSet<String>, Vec<ValueFacts>)> {
        let arguments = function.args.iter().map(|part| self.expression(part)).collect::<Result<Vec<ValueFacts>>>()?;
        Ok((arguments.iter().flat_map(|known| known.attributes.iter().cloned()).collect(), arguments))
    }

    fn literal(&self, value: &ScalarValue) -> Result<ValueFacts> {
        if value.is_null() {
            return Ok(null());
        }
        if value.try_as_str().flatten().is_some_and(|text| text.len() > LONGEST_LITERAL) {
            let sentence = format!("a string in the query has more than {LONGEST_LITERAL} bytes");
            return Err(self.refused(sentence));
        }
        if let Some(date) = dates::literal(value) {
            return Ok(date);
        }
        let number = match value {
            ScalarValue::Int64(Some(number)) => Some(*number as f64),
            ScalarValue::Int32(Some(number)) => Some(f64::from(*number)),
            ScalarValue::Int16(Some(number)) => Some(f64::from(*number)),
            ScalarValue::Int8(Some(number)) => Some(f64::from(*number)),
            ScalarValue::Float64(Some(number)) if number.is_finite() => Some(*number),
            ScalarValue::Float32(Some(number)) if number.is_finite() => Some(f64::from(*number)),
            _ => None,
        };
        let granularity = number.filter(|number| number.fract() == 0.0).map(|_| 1.0);
        let bytes = value.try_as_str().flatten().map_or(0, str::len) as u64;
        let interval = number.map(|number| (number, number));
        Ok(ValueFacts { interval, granularity, bytes, present: true, ..ValueFacts::default() })
    }
}

fn ends(arguments: &[ValueFacts]) -> Vec<Ends> {
    arguments.iter().map(|known| known.interval).collect()
}

/// Whether all whole numbers between these bounds are f64s. The bound 2⁵³ may have been 2⁵³ + 1.
fn held_exactly((low, high): &(f64, f64)) -> bool {
    low.abs().max(high.abs()) < LARGEST_WHOLE
}

/// An expression in a sentence.
pub(crate) fn shown(expression: &Expr) -> String {
    in_sql(expression).map_or_else(|| named(expression), |text| cut_off(&text))
}

/// The planner's name of an expression, by which releases of before know it.
pub(crate) fn named(expression: &Expr) -> String {
    cut_off(&expression.schema_name().to_string())
}

fn cut_off(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// An expression as somebody would write it: without what the planner puts around it.
fn in_sql(expression: &Expr) -> Option<String> {
    let plain = expression.clone().transform_up(|part| {
        Ok(match part {
            Expr::Cast(cast) => Transformed::yes(*cast.expr),
            Expr::TryCast(cast) => Transformed::yes(*cast.expr),
            Expr::ScalarFunction(function) if function.name() == FITTED && function.args.len() == 1 => {
                Transformed::yes(function.args.into_iter().next().unwrap_or_default())
            }
            other => Transformed::no(other),
        })
    });
    let written = Unparser::default().with_pretty(true).expr_to_sql(&plain.ok()?.data).ok()?.to_string();
    (!written.contains("scumble")).then(|| unquoted(&written))
}

/// Names that are words of SQL stand in quotation marks, which nobody writes: they are taken away where all letters are
/// small ones.
fn unquoted(written: &str) -> String {
    let is_plain = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let parts: Vec<&str> = written.split('"').collect();
    let mut text = String::new();
    for (at, part) in parts.iter().enumerate() {
        match at % 2 == 1 && !is_plain(part) && at + 1 < parts.len() {
            true => text.extend(["\"", part, "\""]),
            false => text.push_str(part),
        }
    }
    text
}

/// The type of values, in a word.
pub(crate) fn type_word(kind: &DataType) -> String {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "strings".to_string(),
        DataType::Boolean => "truth values".to_string(),
        kind if kind.is_integer() => "whole numbers".to_string(),
        kind if kind.is_numeric() => "numbers".to_string(),
        DataType::Date32 | DataType::Date64 => "dates".to_string(),
        DataType::Timestamp(..) => "times".to_string(),
        DataType::Interval(_) | DataType::Duration(_) => "spans of time".to_string(),
        other => other.to_string(),
    }
}

/// The numbers that a type of whole numbers holds; of 64 bits those that f64 holds, too.
fn range_of(kind: &DataType) -> Option<(f64, f64)> {
    match kind {
        DataType::Int8 => Some((f64::from(i8::MIN), f64::from(i8::MAX))),
        DataType::Int16 => Some((f64::from(i16::MIN), f64::from(i16::MAX))),
        DataType::Int32 => Some((f64::from(i32::MIN), f64::from(i32::MAX))),
        DataType::Int64 => Some((i64::MIN as f64, i64::MAX as f64)),
        _ => None,
    }
}

/// The parts of an expression that give a truth value.
fn parts(expression: &Expr) -> Vec<&Expr> {
    match expression {
        Expr::Not(inner)
        | Expr::IsNull(inner)
        | Expr::IsNotNull(inner)
        | Expr::IsTrue(inner)
        | Expr::IsFalse(inner)
        | Expr::IsUnknown(inner)
        | Expr::IsNotTrue(inner)
        | Expr::IsNotFalse(inner)
        | Expr::IsNotUnknown(inner) => vec![inner],
        Expr::Like(like) => vec![&like.expr, &like.pattern],
        Expr::Between(between) => vec![&between.expr, &between.low, &between.high],
        Expr::InList(list) => std::iter::once(list.expr.as_ref()).chain(&list.list).collect(),
        _ => Vec::new(),
    }
}

/// One of several: the hull of the intervals, a grid that all are on.
fn either(mut attributes: BTreeSet<String>, branches: &[ValueFacts]) -> ValueFacts {
    attributes.extend(branches.iter().flat_map(|known| known.attributes.iter().cloned()));
    let bytes = branches.iter().map(|known| known.bytes).max().unwrap_or(0);
    let branches: Vec<&ValueFacts> = branches.iter().filter(|known| !known.null).collect();
    let interval = branches.iter().map(|known| known.interval).reduce(|left, right| {
        let ((a, b), (c, d)) = left.zip(right)?;
        Some((a.min(c), b.max(d)))
    });
    // Zero is on every grid.
    let grids = branches.iter().filter(|known| known.interval != Some((0.0, 0.0))).map(|known| known.granularity);
    let granularity = grids.reduce(|left, right| {
        let (coarse, fine) = left.zip(right).map(|(left, right)| (left.max(right), left.min(right)))?;
        ((coarse / fine).fract() == 0.0).then_some(fine)
    });
    ValueFacts {
        attributes,
        interval: interval.flatten(),
        null: branches.is_empty(),
        granularity: granularity.flatten(),
        bytes,
        ..ValueFacts::default()
    }
}

/// What is known about NULL: it is no value at all.
fn null() -> ValueFacts {
    ValueFacts { null: true, ..ValueFacts::default() }
}

fn corners(left: (f64, f64), right: (f64, f64), combine: impl Fn(f64, f64) -> f64) -> (f64, f64) {
    let all = [combine(left.0, right.0), combine(left.0, right.1), combine(left.1, right.0), combine(left.1, right.1)];
    (all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}
