//! Bounds as text: an upper bound is never printed below itself, a lower bound never above.

/// `value` with at most this many significant digits, never below it.
///
/// A number that has no more digits is printed as it is: "0.1" names an f64, and that is the number.
///
/// ```
/// use scumble::quantity::rounded_up;
/// assert_eq!(rounded_up(1.0000004, 7), "1.000001");
/// assert_eq!(rounded_up(0.1, 7), "0.1");
/// assert_eq!(rounded_up(1.23456e-9, 3), "1.24e-9");
/// assert_eq!(rounded_up(f64::INFINITY, 3), "infinite");
/// ```
pub fn rounded_up(value: f64, digits: usize) -> String {
    rounded(value, digits, true)
}

/// `value` with at most this many significant digits, never above it.
///
/// ```
/// assert_eq!(scumble::quantity::rounded_down(2.0 / 3.0, 4), "0.6666");
/// ```
pub fn rounded_down(value: f64, digits: usize) -> String {
    rounded(value, digits, false)
}

fn rounded(value: f64, digits: usize, up: bool) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "unknown".to_string() } else { "infinite".to_string() };
    }
    let digits = digits.clamp(1, 17);
    let nearest = format!("{:.*e}", digits - 1, value.abs());
    let (mantissa, exponent) = nearest.split_once('e').unwrap_or((&nearest, "0"));
    let mut number: u64 = mantissa.replace('.', "").parse().unwrap_or(0);
    let mut exponent: i32 = exponent.parse().unwrap_or(0);
    let named: f64 = nearest.parse().unwrap_or(f64::NAN);
    let away_from_zero = up == (value > 0.0);
    if away_from_zero && named < value.abs() {
        number += 1;
    } else if !away_from_zero && named > value.abs() {
        number -= 1;
        // 1000… − 1 has one digit less: another 9.
        if number < 10u64.pow(digits as u32 - 1) {
            (number, exponent) = (10 * number + 9, exponent - 1);
        }
    }
    // 999… + 1 has one digit more.
    if number == 10u64.pow(digits as u32) {
        (number, exponent) = (number / 10, exponent + 1);
    }
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", written(number, exponent - (digits as i32 - 1)))
}

/// number·10^power in the shorter of both ways to write it.
fn written(mut number: u64, mut power: i32) -> String {
    if number == 0 {
        return "0".to_string();
    }
    while number.is_multiple_of(10) {
        (number, power) = (number / 10, power + 1);
    }
    let digits = number.to_string();
    let leading = power + digits.len() as i32 - 1;
    if !(-4..7).contains(&leading) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{first}{point}{rest}e{leading}");
    }
    if power >= 0 {
        return format!("{digits}{}", "0".repeat(power as usize));
    }
    let places = power.unsigned_abs() as usize;
    let padded = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = padded.split_at(padded.len() - places);
    format!("{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_printed_is_on_the_stated_side() {
        let check = |value: f64, digits: usize, up: &str, down: &str| {
            assert_eq!((rounded_up(value, digits).as_str(), rounded_down(value, digits).as_str()), (up, down));
        };
        check(1.0 / 3.0, 6, "0.333334", "0.333333");
        check(0.999_999_9, 3, "1", "0.999");
        check(9_999_999.5, 3, "1e7", "9990000");
        check(0.0, 6, "0", "0");
        check(-1.0 / 3.0, 3, "-0.333", "-0.334");
        check(1e300, 6, "1e300", "1e300");
        check(5e-324, 6, "4.94066e-324", "4.94066e-324");
        check(0.5, 6, "0.5", "0.5");
        check(123_456.0, 3, "124000", "123000");
    }

    proptest! {
        #[test]
        fn read_back_it_is_not_on_the_other_side(value in proptest::num::f64::NORMAL, digits in 1usize..17) {
            let up: f64 = rounded_up(value, digits).parse().unwrap();
            let down: f64 = rounded_down(value, digits).parse().unwrap();
            prop_assert!(down <= value && value <= up, "{value}: {down} {up}");
            let unit = 10f64.powi(1 - digits as i32) * value.abs();
            prop_assert!(up.is_infinite() || (up - value <= unit * 1.0001 && value - down <= unit * 1.0001));
        }
    }
}
