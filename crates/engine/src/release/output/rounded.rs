//! Numbers as people read them: rounded to their error, with a margin that holds the whole interval.
//!
//! Files have all digits. On a screen, the digits below the second one of the margin say nothing.

use super::{Cell, UNBOUNDED, Uncertainty, six_digits};

/// More significant digits than these are not shown, however small the margin is.
const MOST_DIGITS: i32 = 9;
/// How much of the longer side of an interval the sides may differ by for one margin to stand for both.
const SKEW: f64 = 0.1;

impl Cell {
    /// A published number rounded to its error, with its 95% margin: `424 ± 98`. An interval that is not symmetric is
    /// shown by its ends, as in `27 (-43 … 5092)`. Without an interval, the number stands alone.
    ///
    /// # Guarantee
    /// The interval that is shown contains the published one: the margin is rounded up, from the number as it is shown,
    /// and ends are rounded outwards.
    pub fn with_margin(&self, unsure: Option<&Uncertainty>) -> String {
        match (self.number(), unsure) {
            (Some(number), Some(unsure)) if !(unsure.low.is_nan() || unsure.high.is_nan()) => {
                within(number, matches!(self, Self::Whole(_)), unsure.low, unsure.high)
            }
            _ => self.in_digits(),
        }
    }

    /// A value with six significant digits at most, where it is a number that need not be whole.
    fn in_digits(&self) -> String {
        match self {
            Self::Number(number) => digits(*number),
            other => other.text(),
        }
    }
}

fn within(number: f64, is_whole: bool, low: f64, high: f64) -> String {
    let (up, down) = (high - number, number - low);
    let shown = |number: f64| if is_whole { grouped(&format!("{number}")) } else { digits(number) };
    if up.is_infinite() || down.is_infinite() {
        let end = |end: f64| if end.is_infinite() { UNBOUNDED.to_string() } else { digits(end) };
        return match up == down {
            true => format!("{} ({UNBOUNDED})", shown(number)),
            false => format!("{} ({} … {})", shown(number), end(low), end(high)),
        };
    }
    let (shorter, longer) = (up.min(down), up.max(down));
    if longer <= 0.0 {
        return shown(number);
    }
    let is_symmetric = longer - shorter <= SKEW * longer;
    let decisive = if is_symmetric || shorter <= 0.0 { longer } else { shorter };
    let unit = DecimalUnit::of(decisive, number, is_whole);
    let own = unit.steps(number, f64::round);
    if !is_symmetric {
        let [low, high] = [unit.steps(low, f64::floor), unit.steps(high, f64::ceil)].map(|end| unit.shown(end));
        return format!("{} ({low} … {high})", unit.shown(own));
    }
    let margin = unit.steps((high - unit.value(own)).max(unit.value(own) - low), f64::ceil);
    format!("{} ± {}", unit.shown(own), unit.shown(margin))
}

/// A power of ten that numbers are rounded to.
struct DecimalUnit(i32);

impl DecimalUnit {
    /// The second digit of the margin, for a number of this size.
    fn of(margin: f64, number: f64, is_whole: bool) -> Self {
        let exponent = |size: f64| size.log10().floor() as i32;
        let least = if number == 0.0 { i32::MIN } else { exponent(number.abs()) + 1 - MOST_DIGITS };
        let least = if is_whole { least.max(0) } else { least };
        Self((exponent(margin) - 1).max(least).clamp(-300, 300))
    }

    /// How many units a number has.
    fn steps(&self, number: f64, rounded: fn(f64) -> f64) -> f64 {
        let scaled = if self.0 < 0 { number * 10f64.powi(-self.0) } else { number / 10f64.powi(self.0) };
        // A number of units that is whole but for the last bits of a quotient is whole.
        let whole = scaled.round();
        if (scaled - whole).abs() <= 1e-9 { whole } else { rounded(scaled) }
    }

    fn value(&self, steps: f64) -> f64 {
        if self.0 < 0 { steps / 10f64.powi(-self.0) } else { steps * 10f64.powi(self.0) }
    }

    fn shown(&self, steps: f64) -> String {
        let decimals = usize::try_from(-self.0).unwrap_or(0);
        // A zero has no minus.
        grouped(&format!("{:.decimals$}", self.value(steps) + 0.0))
    }
}

/// A number as a reader wants it: six significant digits, as errors have in the files, and groups of three from five
/// digits on.
pub fn digits(number: f64) -> String {
    if !number.is_finite() {
        return "–".to_string();
    }
    let rounded = six_digits(number);
    match rounded.abs() {
        0.0 => "0".to_string(),
        size if size < 1e-3 => format!("{rounded:e}"),
        _ => grouped(&format!("{rounded}")),
    }
}

/// From five digits on, groups of three with a narrow space between.
pub(crate) fn grouped(number: &str) -> String {
    let (sign, digits) = number.split_at(usize::from(number.starts_with('-')));
    let (whole, decimals) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    if whole.len() < 5 {
        return number.to_string();
    }
    let letters: Vec<char> = whole.chars().collect();
    let groups: Vec<String> = letters.rchunks(3).rev().map(|group| group.iter().collect()).collect();
    format!("{sign}{}{decimals}", groups.join("\u{202f}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(cell: Cell, low: f64, high: f64) -> String {
        cell.with_margin(Some(&Uncertainty { standard_error: 1.0, low, high })).replace('\u{202f}', " ")
    }

    #[test]
    fn numbers_are_rounded_to_their_error() {
        let around = |number: f64, margin: f64| shown(Cell::Number(number), number - margin, number + margin);
        assert_eq!(around(10.782608695652174, 1.378), "10.8 ± 1.4");
        assert_eq!(around(0.0123456, 0.00045), "0.01235 ± 0.00046");
        assert_eq!(around(161259.4, 2345.0), "161 300 ± 2400");
        assert_eq!(shown(Cell::Whole(424), 326.0, 522.0), "424 ± 98");
        assert_eq!(shown(Cell::Whole(200), 199.6, 200.4), "200 ± 1", "a count has no decimals");
        assert_eq!(shown(Cell::Whole(7), 7.0, 7.0), "7");
        assert_eq!(shown(Cell::Whole(188), -25.0, 401.0), "190 ± 220");
        assert_eq!(shown(Cell::Whole(27), -43.0, 5092.0), "27 (-43 … 5092)");
        assert_eq!(shown(Cell::Number(3.0), f64::NEG_INFINITY, f64::INFINITY), "3 (unbounded)");
        assert_eq!(shown(Cell::Number(3.0), f64::NEG_INFINITY, 7.5), "3 (unbounded … 7.5)");
        assert_eq!(shown(Cell::Number(5.25), f64::NAN, f64::NAN), "5.25");
        assert_eq!(Cell::Null.with_margin(Some(&Uncertainty::UNKNOWN)), "");
        assert_eq!(around(-0.004, 0.9), "0.00 ± 0.91");
    }

    /// A margin that is rounded to the nearest digit would be too small for every second number.
    #[test]
    fn what_is_shown_holds_the_interval() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let number = |text: &str| text.replace('\u{202f}', "").trim().parse::<f64>().unwrap();
        for round in 0..20_000 {
            let size = 10f64.powf(next() * 12.0 - 4.0);
            let value = (next() - 0.5) * size;
            let value = if round % 2 == 0 { value.round() } else { value };
            let half = size * 10f64.powf(next() * 6.0 - 5.0);
            let skew = if round % 3 == 0 { next() * 4.0 } else { 1.0 + next() * 0.05 };
            let (low, high) = (value - half, value + half * skew);
            let cell = if round % 2 == 0 { Cell::Whole(value as i128) } else { Cell::Number(value) };
            let text = cell.with_margin(Some(&Uncertainty { standard_error: half, low, high }));
            let (shown_low, shown_high) = match text.split_once(" ± ") {
                Some((own, margin)) => (number(own) - number(margin), number(own) + number(margin)),
                None => {
                    let (_, ends) = text.split_once('(').unwrap();
                    let (low, high) = ends.trim_end_matches(')').split_once(" … ").unwrap();
                    (number(low), number(high))
                }
            };
            // Ends that are whole but for a billionth are shown as whole.
            let slack = if round % 2 == 0 { 1e-9_f64.max(1e-9 * size) } else { 1e-9 * size };
            assert!(shown_low <= low + slack && high - slack <= shown_high, "{low} … {high}: {text}");
            let width = if round % 2 == 0 { (high - low).max(4.0) } else { high - low };
            assert!(shown_high - shown_low <= 1.5 * width + slack, "{low} … {high}: {text}");
        }
    }
}
