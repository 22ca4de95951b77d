//! Published numbers for readers: with as many digits as their intervals leave.

use super::plate::ChartNumber;
use crate::report::format::digits;

/// A number and its margin, or the ends of its interval where they are not equally far.
pub(super) fn lines(number: &ChartNumber) -> Vec<String> {
    let Some((low, high)) = number.ends else { return vec![digits(number.value)] };
    let (below, above) = (number.value - low, high - number.value);
    if !below.is_finite() || !above.is_finite() {
        return vec![digits(number.value), range(low, high, number.value)];
    }
    let margin = f64::max(below, above);
    let value = rounded(number.value, margin);
    match (below - above).abs() <= 0.05 * margin {
        true if margin > 0.0 => vec![value, format!("± {}", rounded(margin, margin))],
        true => vec![value],
        false => vec![value, range(low, high, margin)],
    }
}

/// The same in a sentence.
pub(super) fn sentence(number: &ChartNumber) -> String {
    match &lines(number)[..] {
        [value] => value.clone(),
        [value, more] => format!("{value} ({more})"),
        _ => String::new(),
    }
}

fn range(low: f64, high: f64, margin: f64) -> String {
    let end = |end: f64, open: &str| if end.is_finite() { rounded(end, margin) } else { open.to_string() };
    format!("{} … {}", end(low, "−∞"), end(high, "∞"))
}

/// A number to the second digit of its margin.
fn rounded(value: f64, margin: f64) -> String {
    if !margin.is_finite() || margin <= 0.0 {
        return digits(value);
    }
    let step = 10f64.powi((margin.log10().floor() as i32 - 1).clamp(-12, 300));
    digits((value / step).round() * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_their_intervals_leave() {
        let shown = |value: f64, low: f64, high: f64| sentence(&ChartNumber { value, ends: Some((low, high)) });
        assert_eq!(shown(12_345.678, 12_221.0, 12_470.4), "12\u{202f}350 (± 120)");
        assert_eq!(shown(0.123_456, 0.120_2, 0.126_7), "0.1235 (± 0.0033)");
        assert_eq!(shown(10.0, 9.0, 15.0), "10 (9 … 15)");
        assert_eq!(shown(10.0, f64::NEG_INFINITY, 15.0), "10 (−∞ … 15)");
        assert_eq!(sentence(&ChartNumber { value: 7.0, ends: None }), "7");
        assert_eq!(shown(7.0, 7.0, 7.0), "7");
    }
}
