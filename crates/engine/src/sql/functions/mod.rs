//! Every SQL function that has properties here: one record each, one file for each family. Code that analyses, runs,
//! encloses or writes an expression reads them here, so that a new function is a record and a word in
//! docs/reference/sql.md.
//!
//! On private rows only functions are answered that depend on their arguments alone and fail on no value of them.
//! Numbers that say how much of a string is meant, and strings that are searched and replaced, must be written out:
//! of those a column could hold one that fails (a negative length) or that makes a string of any size. Above the
//! aggregate every function of the planner may be used; what no record says is what is true of all.

mod aggregates;
mod choices;
mod dates;
mod numbers;
mod texts;

pub(crate) use aggregates::{PairStatistic, SqlAggregate, SqlStatistic};

use crate::sql::above::formula::{ElementaryFunction, Formula, Rounding};
use crate::tables::functions::{FINITE, POWER, ROOT};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, Volatility};
use datafusion::sql::sqlparser::ast;

/// Bounds of values, NULL aside; none where there are none.
pub(crate) type Ends = Option<(f64, f64)>;

/// What there is to know of a function.
pub(crate) struct SqlFunction {
    /// Its name in the plan.
    pub name: &'static str,
    /// Whether it can be planned as it is written.
    pub spelling: Spelling,
    /// What its arguments may be on private rows.
    pub arguments: Arguments,
    /// The bounds of its value.
    pub interval: Interval,
    /// How long its string can be, in bytes, by its arguments and how long they can be.
    pub bytes: fn(&[Expr], &[u64]) -> u64,
    /// Where it has no value, on private rows.
    pub fails: FailureMode,
    /// How long a string it makes above the aggregate.
    pub growth: Growth,
    /// What it is as a formula of released numbers: smooth, stepped, or one of its arguments.
    pub shape: Shape,
    /// Which engines mean the same by it.
    pub dialects: Dialects,
}

impl SqlFunction {
    /// A function without known properties.
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            spelling: Spelling::Planned,
            arguments: Arguments::Refused,
            interval: Interval::Unknown,
            bytes: longest,
            fails: FailureMode::Never,
            growth: Growth::Few,
            shape: Shape::Unknown,
            dialects: Dialects::Embedded,
        }
    }

    /// One that is answered on private rows, with these arguments.
    const fn on_rows(name: &'static str, arguments: &'static [Argument]) -> Self {
        Self { arguments: Arguments::Of(arguments), ..Self::new(name) }
    }
}

/// How a function that is written becomes one that is planned.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Spelling {
    Planned,
    /// Another expression in its place, made of its arguments; none where they are too few or too many for that.
    InPlace(fn(&[ast::Expr]) -> Option<ast::Expr>),
    /// Nowhere, for this reason.
    Refused(&'static str),
    /// Not with a second argument that is written out and has no percent sign, for this reason.
    WithPercentSigns(&'static str),
}

/// What the arguments of a function may be on private rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Arguments {
    /// The function is not answered there.
    Refused,
    /// These; the last one may be repeated where it is `Any`.
    Of(&'static [Argument]),
    /// A unit that is written out, and a date or a time: [`crate::sql::analyse::dates`] looks at them.
    Calendar(CalendarFunction),
}

/// What an argument may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Argument {
    /// Anything.
    Any,
    /// A whole number that is written out, from the first to the second.
    Written(i64, i64),
    /// A string that is written out and not empty.
    Text,
    /// A string that is written out: a column could hold one of any length.
    AnyText,
}

/// A function of a date or a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CalendarFunction {
    /// A part of it.
    Part,
    /// The beginning of its unit.
    Start,
}

/// The bounds of a value, from those of the arguments.
pub(crate) enum Interval {
    /// There are none.
    Unknown,
    /// It is the first argument or NULL.
    First,
    /// It is one of its arguments: the bounds that remain of all of theirs.
    Chosen(fn(&[Expr], Ends) -> Ends),
    /// A number of its own, by the arguments and their bounds.
    Of(fn(&[Expr], &[Ends]) -> Ends),
    /// The same; with this many arguments or more, a whole number may leave its type and must be looked at.
    Fitting(usize, fn(&[Expr], &[Ends]) -> Ends),
}

/// Where a function has no value below the noise. There it is computed of fractions, and is NULL where it has none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FailureMode {
    Never,
    /// It is no number, or one without end, for some of its arguments.
    NotFinite,
    /// The same; a function of ours is run in its place, because the backend's fails.
    AsRoot,
    AsPower,
}

/// How long a string a function makes above the aggregate, where the released numbers say so.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Growth {
    /// A few times as long as all of its strings.
    Few,
    /// As many times as its last argument says.
    Repeated,
    /// By its last argument, wherever something is found.
    Replaced,
    /// Of as many characters as its second argument says.
    Padded,
}

/// What a function is as a formula.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// It may be anything, or nothing.
    Unknown,
    /// A function of one number.
    Elementary(ElementaryFunction),
    /// In steps: its argument, to as many digits as a second one says.
    Rounded(Rounding),
    /// A number of its own; whole if the flag is set.
    Computed(fn(&[Formula], bool) -> Option<Formula>),
    /// One of its arguments.
    Chosen(fn(Vec<Formula>) -> Option<Formula>),
}

/// Which engines mean the same by a function, and how large and how small its fractions become there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Dialects {
    /// DataFusion as it is built here.
    Embedded,
    /// All of them; it is as large as its arguments.
    AsLarge,
    /// All of them; it is the next whole number.
    NextWhole,
}

impl FailureMode {
    /// The name of the function that is run in its place.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Never => None,
            Self::NotFinite => Some(FINITE),
            Self::AsRoot => Some(ROOT),
            Self::AsPower => Some(POWER),
        }
    }
}

impl Interval {
    /// The bounds of a number of its own.
    pub fn of(&self, arguments: &[Expr], ends: &[Ends]) -> Ends {
        match self {
            Self::Of(of) | Self::Fitting(_, of) => of(arguments, ends),
            Self::Unknown | Self::First | Self::Chosen(_) => None,
        }
    }
}

/// All records.
pub(crate) fn all() -> impl Iterator<Item = &'static SqlFunction> {
    [numbers::ALL, texts::ALL, choices::ALL, dates::ALL].into_iter().flatten()
}

/// The record of a function, by its name in the plan.
pub(crate) fn named(name: &str) -> Option<&'static SqlFunction> {
    all().find(|function| function.name == name)
}

/// The record of a function, by its name in a query.
pub(crate) fn written(name: &str) -> Option<&'static SqlFunction> {
    named(&name.to_lowercase())
}

/// The name in the plan of a function of the query, where a record says that it is another one.
pub(crate) fn planned_name(written: &str) -> String {
    let written = written.to_lowercase();
    SqlAggregate::planned_name(&written).map_or(written, str::to_string)
}

/// The record of the function in whose place one of ours is run.
pub(crate) fn in_place_of(ours: &str) -> Option<&'static SqlFunction> {
    [ROOT, POWER].contains(&ours).then(|| all().find(|function| function.fails.name() == Some(ours))).flatten()
}

/// Whether a function of ours makes NULL of what another one fails on.
pub(crate) fn is_guard(ours: &str) -> bool {
    [FINITE, ROOT, POWER].contains(&ours)
}

/// The functions that are answered on private rows, in a sentence.
pub(crate) fn answered() -> String {
    let mut names: Vec<&str> = on_rows().map(|(name, _)| name).collect();
    names.sort_unstable();
    format!("these are: {}, and MOD (or %), EXTRACT (or date_part) and date_trunc", names.join(", "))
}

/// The functions that are answered on private rows, with their arguments.
pub(crate) fn on_rows() -> impl Iterator<Item = (&'static str, &'static [Argument])> {
    all().filter_map(|function| match function.arguments {
        Arguments::Of(arguments) => Some((function.name, arguments)),
        _ => None,
    })
}

/// The record of a function on private rows; refuses other functions, and arguments on which it could fail.
pub(crate) fn check(function: &ScalarFunction) -> Result<&'static SqlFunction, String> {
    let name = function.func.name();
    let Some((record, Arguments::Of(allowed))) = named(name).map(|record| (record, record.arguments)) else {
        return Err(format!("the function {name} is not supported on private rows; {}", answered()));
    };
    if function.func.signature().volatility != Volatility::Immutable {
        return Err(format!("the function {name} gives another value each time and is not supported"));
    }
    for (index, argument) in function.args.iter().enumerate() {
        let place = index + 1;
        let is_null = matches!(argument, Expr::Literal(value, _) if value.is_null());
        let as_text = || Err(format!("argument {place} of {name} must be a literal on private rows, a string"));
        match allowed.get(index).or(allowed.last()) {
            Some(Argument::Any) => {}
            Some(_) if is_null => {}
            Some(Argument::Written(least, most)) => {
                if !whole(argument).is_some_and(|number| (*least..=*most).contains(&number)) {
                    return Err(format!(
                        "argument {place} of {name} must be a literal on private rows, a whole number from {least} to \
                            {most}"
                    ));
                }
            }
            Some(Argument::AnyText) if matches!(argument, Expr::Literal(..)) => {}
            Some(Argument::Text) if text(argument).is_some_and(|text| !text.is_empty()) => {}
            _ => return as_text(),
        }
    }
    Ok(record)
}

/// A whole number that is written out.
fn whole(argument: &Expr) -> Option<i64> {
    match argument {
        Expr::Literal(ScalarValue::Int64(number), _) => *number,
        Expr::Literal(ScalarValue::Int32(number), _) => number.map(i64::from),
        _ => None,
    }
}

/// A string that is written out.
fn text(argument: &Expr) -> Option<&str> {
    match argument {
        Expr::Literal(value, _) => value.try_as_str().flatten(),
        _ => None,
    }
}

/// As long as the longest argument.
fn longest(_: &[Expr], bytes: &[u64]) -> u64 {
    bytes.iter().copied().max().unwrap_or(0)
}
