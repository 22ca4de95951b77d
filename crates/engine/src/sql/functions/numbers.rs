//! Functions of numbers.

use super::Argument::{Any, Written};
use super::{Dialects, Ends, FailureMode, Interval, Shape, Spelling, SqlFunction, whole};
use crate::sql::above::formula::{ElementaryFunction, Formula, Rounding};
use datafusion::logical_expr::Expr;
use datafusion::sql::sqlparser::ast;

pub(super) const ALL: &[SqlFunction] = &[
    SqlFunction {
        // −2⁶³ has no absolute value.
        interval: Interval::Fitting(1, |_, ends| first(ends).map(absolute)),
        shape: Shape::Elementary(ElementaryFunction::Absolute),
        dialects: Dialects::AsLarge,
        ..SqlFunction::on_rows("abs", &[Any])
    },
    SqlFunction { shape: Shape::Elementary(ElementaryFunction::CubeRoot), ..SqlFunction::new("cbrt") },
    SqlFunction {
        interval: Interval::Of(|_, ends| first(ends).map(|(low, high)| (low.ceil(), high.ceil()))),
        shape: Shape::Rounded(Rounding::Up),
        dialects: Dialects::NextWhole,
        ..SqlFunction::on_rows("ceil", &[Any])
    },
    SqlFunction { shape: Shape::Elementary(ElementaryFunction::Cosine), ..SqlFunction::new("cos") },
    SqlFunction {
        interval: Interval::Of(|_, ends| {
            first(ends).map(|(low, high)| wider(low.exp(), high.exp())).filter(|(_, high)| high.is_finite())
        }),
        fails: FailureMode::NotFinite,
        shape: Shape::Elementary(ElementaryFunction::Exponential),
        ..SqlFunction::on_rows("exp", &[Any])
    },
    SqlFunction {
        interval: Interval::Of(|_, ends| first(ends).map(|(low, high)| (low.floor(), high.floor()))),
        shape: Shape::Rounded(Rounding::Down),
        dialects: Dialects::NextWhole,
        ..SqlFunction::on_rows("floor", &[Any])
    },
    SqlFunction {
        // Of numbers next to 0 a logarithm is as low as one likes.
        interval: Interval::Of(|_, ends| positive(ends).map(|(low, high)| wider(low.ln(), high.ln()))),
        fails: FailureMode::NotFinite,
        shape: Shape::Elementary(ElementaryFunction::Logarithm),
        ..SqlFunction::on_rows("ln", &[Any])
    },
    SqlFunction { shape: Shape::Computed(logarithm), ..SqlFunction::new("log") },
    SqlFunction {
        interval: Interval::Of(|_, ends| positive(ends).map(|(low, high)| wider(low.log10(), high.log10()))),
        fails: FailureMode::NotFinite,
        shape: Shape::Computed(|of, _| to_base(10.0, of)),
        ..SqlFunction::on_rows("log10", &[Any])
    },
    SqlFunction { shape: Shape::Computed(|of, _| to_base(2.0, of)), ..SqlFunction::new("log2") },
    SqlFunction { spelling: Spelling::InPlace(remainder), ..SqlFunction::new("mod") },
    SqlFunction {
        interval: Interval::Of(|_, ends| power(first(ends), ends.get(1).copied().flatten())),
        fails: FailureMode::AsPower,
        shape: Shape::Computed(raised),
        ..SqlFunction::on_rows("power", &[Any, Any])
    },
    SqlFunction {
        // A whole number that is rounded to tens may leave its type.
        interval: Interval::Fitting(2, rounded),
        shape: Shape::Rounded(Rounding::Nearest),
        ..SqlFunction::on_rows("round", &[Any, Written(-15, 15)])
    },
    SqlFunction {
        interval: Interval::Of(|_, _| Some((-1.0, 1.0))),
        shape: Shape::Elementary(ElementaryFunction::Sign),
        ..SqlFunction::on_rows("signum", &[Any])
    },
    SqlFunction { shape: Shape::Elementary(ElementaryFunction::Sine), ..SqlFunction::new("sin") },
    SqlFunction {
        // NULL where the argument is negative.
        interval: Interval::Of(|_, ends| first(ends).map(|(low, high)| (low.max(0.0).sqrt(), high.max(0.0).sqrt()))),
        fails: FailureMode::AsRoot,
        shape: Shape::Elementary(ElementaryFunction::SquareRoot),
        ..SqlFunction::on_rows("sqrt", &[Any])
    },
    SqlFunction {
        interval: Interval::Of(truncated),
        shape: Shape::Rounded(Rounding::ToZero),
        ..SqlFunction::on_rows("trunc", &[Any, Written(-15, 15)])
    },
];

/// `MOD(a, b)` is `(a) % (b)`.
fn remainder(arguments: &[ast::Expr]) -> Option<ast::Expr> {
    let [left, right] = arguments else { return None };
    let nested = |one: &ast::Expr| Box::new(ast::Expr::Nested(Box::new(one.clone())));
    Some(ast::Expr::BinaryOp { left: nested(left), op: ast::BinaryOperator::Modulo, right: nested(right) })
}

fn first(ends: &[Ends]) -> Ends {
    ends.first().copied().flatten()
}

fn positive(ends: &[Ends]) -> Ends {
    first(ends).filter(|(low, _)| *low > 0.0)
}

fn absolute((low, high): (f64, f64)) -> (f64, f64) {
    let least = if low <= 0.0 && high >= 0.0 { 0.0 } else { low.abs().min(high.abs()) };
    (least, low.abs().max(high.abs()))
}

/// The bounds of a rounded number: to some digits, it moves by half a unit of the last one at most, and a little more
/// as 10⁻ⁿ is rounded.
fn rounded(arguments: &[Expr], ends: &[Ends]) -> Ends {
    let (low, high) = first(ends)?;
    let [_, digits, ..] = arguments else { return Some((low.round(), high.round())) };
    let unit = 10f64.powi(-i32::try_from(whole(digits)?).ok()?);
    Some((low - unit, high + unit))
}

fn truncated(arguments: &[Expr], ends: &[Ends]) -> Ends {
    first(ends).filter(|_| arguments.len() == 1).map(|(low, high)| (low.trunc(), high.trunc()))
}

fn natural_logarithm(of: &Formula) -> Formula {
    Formula::Elementary(ElementaryFunction::Logarithm, Box::new(of.clone()))
}

fn to_base(base: f64, of: &[Formula]) -> Option<Formula> {
    let [one] = of else { return None };
    Some(natural_logarithm(one).over(Formula::Constant(base.ln())))
}

/// To base 10, or to that of the first argument.
fn logarithm(of: &[Formula], _: bool) -> Option<Formula> {
    match of {
        [base, one] => Some(natural_logarithm(one).over(natural_logarithm(base))),
        one => to_base(10.0, one),
    }
}

fn raised(of: &[Formula], is_whole: bool) -> Option<Formula> {
    let [base, exponent] = of else { return None };
    let is_natural = matches!(exponent, Formula::Constant(number) if *number >= 0.0);
    // Whole numbers have no powers with negative exponents.
    (is_natural || !is_whole).then(|| Formula::Power(Box::new(base.clone()), Box::new(exponent.clone())))
}

/// The bounds of a power, by those of the base and of the exponent; none where it can be as large as one likes.
///
/// # Guarantee
/// Every power that is a number is within: for one exponent it is monotone in the base on each side of 0, and for a
/// positive base monotone in the exponent too, so that the largest and the least of a box of positive bases are at
/// its corners. A negative base has a power only where the exponent is whole.
fn power(base: Option<(f64, f64)>, exponent: Option<(f64, f64)>) -> Option<(f64, f64)> {
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

/// The bounds of numbers that were rounded, far more than which they are widened by; next to 0 rounding takes all
/// digits.
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
