//! What a client binds to the parameters of a prepared statement.

use super::refused::{SqlError, code};
use super::value::{PgType, ValueFormat, day, day_of, moment, moment_of};
use scumble_engine::kinds::ColumnKind;

/// What a client binds to a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Null,
    Truth(bool),
    /// The digits of a number.
    Number(String),
    Text(String),
    /// A day, YYYY-MM-DD.
    Day(String),
    /// A time.
    Moment(String),
}

impl Literal {
    /// Any value of a kind, for finding out which columns a query has.
    pub fn stand_in(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Whole => Self::Number("1".into()),
            ColumnKind::Number => Self::Number("1.5".into()),
            ColumnKind::Truth => Self::Truth(true),
            ColumnKind::Day => Self::Day("2000-01-01".into()),
            ColumnKind::Moment => Self::Moment("2000-01-01 00:00:00".into()),
            _ => Self::Text("a".into()),
        }
    }
}

/// The kind of a parameter whose type the client names; none where it leaves that to us.
pub(super) fn kind_of_oid(oid: u32) -> Option<ColumnKind> {
    Some(match oid {
        16 => ColumnKind::Truth,
        20 | 21 | 23 | 26 => ColumnKind::Whole,
        700 | 701 | 1700 => ColumnKind::Number,
        18 | 19 | 25 | 1042 | 1043 => ColumnKind::Text,
        1082 => ColumnKind::Day,
        1114 => ColumnKind::Moment,
        _ => return None,
    })
}

/// A parameter as it was sent; `number` counts from 1, and `wanted` is the kind that the query tells.
pub(super) fn decoded(
    bytes: Option<&[u8]>,
    oid: u32,
    form: ValueFormat,
    wanted: Option<ColumnKind>,
    number: usize,
) -> Result<Literal, SqlError> {
    let Some(bytes) = bytes else { return Ok(Literal::Null) };
    let wrong = |what: &str| SqlError::new(code::PARAMETER, format!("parameter ${number} is not {what}"));
    let kind = kind_of_oid(oid);
    if kind.is_none() && ![0, 705].contains(&oid) {
        let sentence = format!(
            "parameter ${number} has the type number {oid}; give numbers, strings, truth values, dates or \
                timestamps"
        );
        return Err(SqlError::new(code::UNSUPPORTED, sentence));
    }
    if form == ValueFormat::Binary && !matches!(kind.or(wanted), None | Some(ColumnKind::Text)) {
        let oid = if kind.is_some() { oid } else { wanted.map_or(25, |kind| PgType::from(kind).oid()) };
        return binary(bytes, oid).ok_or_else(|| wrong("in the format of its type"));
    }
    let text =
        std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).ok_or_else(|| wrong("UTF-8 text"))?;
    // A text whose type the client leaves open is what the query compares it with, where it can be that.
    match kind {
        Some(kind) => written(text, kind).ok_or_else(|| wrong(named(kind))),
        None => Ok(wanted.and_then(|kind| written(text, kind)).unwrap_or_else(|| Literal::Text(text.to_string()))),
    }
}

fn named(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Whole => "a whole number",
        ColumnKind::Number => "a number",
        ColumnKind::Truth => "true or false",
        ColumnKind::Text => "a text",
        ColumnKind::Day => "a date, written YYYY-MM-DD",
        ColumnKind::Moment => "a time, written YYYY-MM-DD hh:mm:ss",
    }
}

fn written(text: &str, kind: ColumnKind) -> Option<Literal> {
    let trimmed = text.trim();
    match kind {
        ColumnKind::Whole => trimmed.parse::<i64>().ok().map(|number| Literal::Number(number.to_string())),
        ColumnKind::Number => digits(trimmed).then(|| Literal::Number(trimmed.to_string())),
        ColumnKind::Truth => match trimmed.to_lowercase().as_str() {
            "t" | "true" | "1" | "on" | "yes" => Some(Literal::Truth(true)),
            "f" | "false" | "0" | "off" | "no" => Some(Literal::Truth(false)),
            _ => None,
        },
        ColumnKind::Text => Some(Literal::Text(text.to_string())),
        ColumnKind::Day => day(trimmed).map(|day| Literal::Day(day.to_string())),
        ColumnKind::Moment => moment(trimmed).map(|moment| Literal::Moment(moment.to_string())),
    }
}

/// Whether a text is a number as SQL writes one: digits, one point, an exponent, a sign before each of both.
fn digits(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    !(whole.is_empty() && fraction.is_empty())
        && all_digits(whole)
        && all_digits(fraction)
        && (1..=4).contains(&exponent.len())
        && all_digits(exponent)
        && text.len() <= 400
}

fn binary(bytes: &[u8], oid: u32) -> Option<Literal> {
    let finite = |number: f64| number.is_finite().then(|| Literal::Number(format!("{number}")));
    match oid {
        16 => match bytes {
            [0] => Some(Literal::Truth(false)),
            [1] => Some(Literal::Truth(true)),
            _ => None,
        },
        20 => Some(Literal::Number(i64::from_be_bytes(bytes.try_into().ok()?).to_string())),
        21 => Some(Literal::Number(i16::from_be_bytes(bytes.try_into().ok()?).to_string())),
        23 => Some(Literal::Number(i32::from_be_bytes(bytes.try_into().ok()?).to_string())),
        26 => Some(Literal::Number(u32::from_be_bytes(bytes.try_into().ok()?).to_string())),
        700 => finite(f64::from(f32::from_be_bytes(bytes.try_into().ok()?))),
        701 => finite(f64::from_be_bytes(bytes.try_into().ok()?)),
        1082 => day_of(i32::from_be_bytes(bytes.try_into().ok()?)).map(|day| Literal::Day(day.to_string())),
        1114 => moment_of(i64::from_be_bytes(bytes.try_into().ok()?)).map(|moment| Literal::Moment(moment.to_string())),
        _ => None,
    }
}
