//! The functions that may be used on private rows: they depend on their arguments alone and fail on no value of them.
//!
//! Numbers that say how much of a text is meant, and texts that are searched and replaced, must be written out: of those a column
//! could hold one that fails (a negative length) or that makes a text of any size.

use super::describe::Known;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, Volatility};

/// What an argument may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Argument {
    /// Anything.
    Any,
    /// A whole number that is written out, from the first to the second.
    Written(i64, i64),
    /// A text that is written out and not empty.
    Text,
}

use Argument::{Any, Text, Written};

/// How far a place in a text may be.
const FAR: i64 = 1_000_000;

/// Each function with its arguments; the last one may be repeated where it is `Any`.
pub(crate) const FUNCTIONS: [(&str, &[Argument]); 29] = [
    ("abs", &[Any]),
    ("btrim", &[Any, Text]),
    ("ceil", &[Any]),
    ("character_length", &[Any]),
    ("coalesce", &[Any]),
    ("concat", &[Any]),
    ("ends_with", &[Any, Any]),
    ("exp", &[Any]),
    ("floor", &[Any]),
    ("greatest", &[Any]),
    ("least", &[Any]),
    ("left", &[Any, Written(-FAR, FAR)]),
    ("ln", &[Any]),
    ("log10", &[Any]),
    ("lower", &[Any]),
    ("ltrim", &[Any, Text]),
    ("nullif", &[Any, Any]),
    ("power", &[Any, Any]),
    ("replace", &[Any, Text, Any]),
    ("right", &[Any, Written(-FAR, FAR)]),
    ("round", &[Any, Written(-15, 15)]),
    ("rtrim", &[Any, Text]),
    ("signum", &[Any]),
    ("sqrt", &[Any]),
    ("starts_with", &[Any, Any]),
    ("strpos", &[Any, Any]),
    ("substr", &[Any, Written(-FAR, FAR), Written(0, FAR)]),
    ("trunc", &[Any, Written(-15, 15)]),
    ("upper", &[Any]),
];

/// Refuses other functions, and arguments on which they could fail.
pub(crate) fn check(function: &ScalarFunction) -> Result<(), String> {
    let name = function.func.name();
    let Some((_, allowed)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
        return Err(format!("the function {name} is not answered on private rows; {}", answered()));
    };
    if function.func.signature().volatility != Volatility::Immutable {
        return Err(format!("the function {name} gives other values each time and is not answered"));
    }
    for (index, argument) in function.args.iter().enumerate() {
        let place = index + 1;
        match (allowed.get(index).or(allowed.last()), argument) {
            (Some(Any), _) => {}
            (_, Expr::Literal(value, _)) if value.is_null() => {}
            (Some(Written(least, most)), argument) => {
                if !written(argument).is_some_and(|number| (*least..=*most).contains(&number)) {
                    return Err(format!(
                        "argument {place} of {name} must be written out on private rows, as a whole number from {least} to {most}"
                    ));
                }
            }
            (_, argument) => {
                if !matches!(argument, Expr::Literal(value, _) if value.try_as_str().flatten().is_some_and(|text| !text.is_empty()))
                {
                    return Err(format!("argument {place} of {name} must be written out on private rows, as a text"));
                }
            }
        }
    }
    // What is put in for what is found: a column could hold a text of any length.
    if name == "replace" && !matches!(function.args.get(2), Some(Expr::Literal(..))) {
        return Err("argument 3 of replace must be written out on private rows, as a text".to_string());
    }
    Ok(())
}

/// The functions that are.
pub(crate) fn answered() -> String {
    let names: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).collect();
    format!("these are: {}, and MOD (or %), EXTRACT (or date_part) and date_trunc", names.join(", "))
}

fn written(argument: &Expr) -> Option<i64> {
    match argument {
        Expr::Literal(ScalarValue::Int64(number), _) => *number,
        Expr::Literal(ScalarValue::Int32(number), _) => number.map(i64::from),
        _ => None,
    }
}

/// The bounds of a function's value, by those of its arguments.
pub(crate) fn interval(name: &str, count: usize, arguments: &[Known]) -> Option<(f64, f64)> {
    let first = arguments.first().and_then(|known| known.interval);
    match name {
        "abs" => first.map(|(low, high)| {
            let least = if low <= 0.0 && high >= 0.0 { 0.0 } else { low.abs().min(high.abs()) };
            (least, low.abs().max(high.abs()))
        }),
        "floor" => first.map(|(low, high)| (low.floor(), high.floor())),
        "ceil" => first.map(|(low, high)| (low.ceil(), high.ceil())),
        "round" if count == 1 => first.map(|(low, high)| (low.round(), high.round())),
        "trunc" if count == 1 => first.map(|(low, high)| (low.trunc(), high.trunc())),
        "signum" => Some((-1.0, 1.0)),
        // NULL where the argument is negative.
        "sqrt" => first.map(|(low, high)| (low.max(0.0).sqrt(), high.max(0.0).sqrt())),
        "exp" => first.map(|(low, high)| wider(low.exp(), high.exp())).filter(|(_, high)| high.is_finite()),
        // Of numbers next to 0 a logarithm is as low as one likes.
        "ln" => first.filter(|(low, _)| *low > 0.0).map(|(low, high)| wider(low.ln(), high.ln())),
        "log10" => first.filter(|(low, _)| *low > 0.0).map(|(low, high)| wider(low.log10(), high.log10())),
        _ => None,
    }
}

/// The bounds of a power, by those of the base and of the exponent; none where it can be as large as one likes.
///
/// # Guarantee
/// Every power that is a number is within: for one exponent it is monotone in the base on each side of 0, and for a positive base monotone in the exponent too, so that the largest and the least
/// of a box of positive bases are at its corners. A negative base has a power only where the exponent is whole.
pub(crate) fn power(base: Option<(f64, f64)>, exponent: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let ((low, high), (least, most)) = (base?, exponent?);
    if least < most {
        let corners = [low.powf(least), low.powf(most), high.powf(least), high.powf(most)];
        return (low > 0.0).then(|| hull(&corners, true)).flatten();
    }
    let (is_whole, has_zero) = (least.fract() == 0.0, low <= 0.0 && high >= 0.0);
    if !is_whole && high < 0.0 {
        // No base has a power: nothing is within any bounds.
        return Some((0.0, 0.0));
    }
    let low = if is_whole { low } else { low.max(0.0) };
    if least < 0.0 && has_zero {
        return None;
    }
    let is_even = is_whole && least % 2.0 == 0.0;
    let middle = if has_zero { 0f64.powf(least) } else { low.powf(least) };
    hull(&[low.powf(least), middle, high.powf(least)], is_even || low >= 0.0)
}

/// The bounds of numbers that were rounded, far more than which they are widened by; next to 0 rounding takes all digits.
fn hull(numbers: &[f64], is_positive: bool) -> Option<(f64, f64)> {
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = wider(low, high);
    let (low, high) = (low - f64::MIN_POSITIVE, high + f64::MIN_POSITIVE);
    (low.is_finite() && high.is_finite()).then_some((if is_positive { low.max(0.0) } else { low }, high))
}

/// Bounds of a function that is monotone up to rounding, far more than which they are widened by.
fn wider(low: f64, high: f64) -> (f64, f64) {
    (low - low.abs() * 1e-12, high + high.abs() * 1e-12)
}

/// The bounds of GREATEST or LEAST, whose arguments have this hull. NULLs are skipped, so any of the arguments may decide; but a number that is written
/// out is never NULL, so that LEAST is at most that and GREATEST at least.
pub(crate) fn chosen(function: &ScalarFunction, hull: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let written = function.args.iter().filter_map(|argument| match argument {
        Expr::Literal(value, _) => match value.cast_to(&DataType::Float64) {
            Ok(ScalarValue::Float64(number)) => number.filter(|number| !number.is_nan()),
            _ => None,
        },
        _ => None,
    });
    let (low, high) = hull?;
    Some(match function.func.name() {
        "least" => (low, written.fold(high, f64::min)),
        _ => (written.fold(low, f64::max), high),
    })
}

/// The bounds of a number rounded to this many digits: it moves by half a unit of the last one at most, and a little more as 10⁻ⁿ is rounded.
pub(crate) fn rounded(function: &ScalarFunction, arguments: &[Known]) -> Option<(f64, f64)> {
    let (low, high) = arguments.first()?.interval?;
    let unit = 10f64.powi(-i32::try_from(function.args.get(1).and_then(written)?).ok()?);
    Some((low - unit, high + unit))
}

/// How long a function's text can be, in bytes.
pub(crate) fn bytes(function: &ScalarFunction, arguments: &[Known]) -> u64 {
    let all = || arguments.iter().map(|known| known.bytes);
    let sum = || all().fold(0, u64::saturating_add);
    match function.func.name() {
        "concat" => sum(),
        // A letter may become three.
        "lower" | "upper" => sum().saturating_mul(3),
        "replace" => {
            let length = |index: usize| match function.args.get(index) {
                Some(Expr::Literal(value, _)) => value.try_as_str().flatten().map_or(0, str::len) as u64,
                _ => 0,
            };
            sum().saturating_mul(length(2).div_ceil(length(1).max(1)).max(1))
        }
        _ => all().max().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every power of bases and exponents between bounds is between the bounds of the power.
    #[test]
    fn powers_keep_their_bounds() {
        let ends = [-1e200, -7.5, -2.0, -1.0, -0.5, 0.0, 1e-160, 0.5, 1.0, 1.0000001, 3.0, 40.0, 1e160];
        let exponents = [-3.0, -2.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 7.25, 9007199254740994.0];
        let between = |low: f64, high: f64| {
            let parts = [0.0, 1e-9, 0.25, 0.5, 0.75, 1.0].map(|part: f64| low + (high - low) * part);
            parts
                .into_iter()
                .chain([0.0, -1.0, 1.0, low.next_up(), high.next_down()])
                .filter(move |x| *x >= low && *x <= high)
        };
        let mut bounded = 0;
        for (index, low) in ends.iter().enumerate() {
            for high in &ends[index..] {
                for (place, least) in exponents.iter().enumerate() {
                    for most in &exponents[place..] {
                        let Some((from, to)) = power(Some((*low, *high)), Some((*least, *most))) else { continue };
                        bounded += 1;
                        for (base, exponent) in
                            between(*low, *high).flat_map(|x| between(*least, *most).map(move |y| (x, y)))
                        {
                            let found: f64 = base.powf(exponent);
                            let within = !found.is_finite() || (found >= from && found <= to);
                            assert!(
                                within,
                                "{base}^{exponent} = {found}, not in [{from}, {to}] of [{low}, {high}]^[{least}, {most}]"
                            );
                        }
                    }
                }
            }
        }
        assert!(bounded > 500, "{bounded}");
        assert_eq!(power(Some((0.0, 2.0)), Some((-1.0, -1.0))), None, "one divided by next to nothing");
        assert_eq!(power(Some((-1.0, 2.0)), Some((1.0, 2.0))), None);
        assert_eq!(power(None, Some((2.0, 2.0))), None);
        assert_eq!(power(Some((1.0, 1e300)), Some((2.0, 2.0))), None, "beyond all numbers");
    }
}
