//! Values on the wire: what a cell is, what PostgreSQL calls its type, and both of its forms there.

use super::refused::{SqlError, code};
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};
use scumble_engine::kinds::ColumnKind;
use std::time::{SystemTime, UNIX_EPOCH};

/// One cell of a result.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CellValue {
    /// Nothing.
    Null,
    /// True or false.
    Truth(bool),
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<CellValue>),
}

impl CellValue {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// As text, as PostgreSQL writes it; none for NULL.
    pub fn shown(&self) -> Option<String> {
        Some(match self {
            Self::Null => return None,
            Self::Truth(truth) => if *truth { "t" } else { "f" }.to_string(),
            Self::Whole(number) => number.to_string(),
            Self::Number(number) => shown_number(*number),
            Self::Text(text) => text.clone(),
            Self::List(list) => {
                let one = |value: &Self| match value {
                    // A list in a list has no quotes: with them each level would double the backslashes of the one
                    // inside it.
                    Self::List(_) => value.shown().unwrap_or_default(),
                    other => other.shown().map_or("NULL".to_string(), |text| quoted_element(&text)),
                };
                format!("{{{}}}", list.iter().map(one).collect::<Vec<_>>().join(","))
            }
        })
    }
}

/// Shortest digits that are read back as the same number.
fn shown_number(number: f64) -> String {
    match number {
        number if number.is_nan() => "NaN".to_string(),
        number if number.is_infinite() => if number > 0.0 { "Infinity" } else { "-Infinity" }.to_string(),
        number if number != 0.0 && !(1e-5..1e15).contains(&number.abs()) => format!("{number:e}"),
        number => format!("{number}"),
    }
}

/// An element of an array's text.
fn quoted_element(text: &str) -> String {
    let plain = !text.is_empty()
        && !text.eq_ignore_ascii_case("null")
        && !text.contains(|letter: char| letter.is_whitespace() || "{},\"\\".contains(letter));
    if plain { text.to_string() } else { format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")) }
}

/// The types that results have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PgType {
    Truth,
    Letter,
    Name,
    Small,
    Int,
    Whole,
    Oid,
    Number,
    Text,
    Texts,
    Day,
    Moment,
}

impl PgType {
    /// Its number in `pg_type`.
    pub fn oid(self) -> u32 {
        match self {
            Self::Truth => 16,
            Self::Letter => 18,
            Self::Name => 19,
            Self::Whole => 20,
            Self::Small => 21,
            Self::Int => 23,
            Self::Text => 25,
            Self::Oid => 26,
            Self::Number => 701,
            Self::Texts => 1009,
            Self::Day => 1082,
            Self::Moment => 1114,
        }
    }

    /// How many bytes it has; -1 where that differs.
    pub fn size(self) -> i16 {
        match self {
            Self::Truth | Self::Letter => 1,
            Self::Small => 2,
            Self::Int | Self::Oid | Self::Day => 4,
            Self::Whole | Self::Number | Self::Moment => 8,
            Self::Name => 64,
            Self::Text | Self::Texts => -1,
        }
    }
}

impl From<ColumnKind> for PgType {
    fn from(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Whole => Self::Whole,
            ColumnKind::Number => Self::Number,
            ColumnKind::Truth => Self::Truth,
            ColumnKind::Day => Self::Day,
            ColumnKind::Moment => Self::Moment,
            // A kind that is not known here is sent as PostgreSQL sends what it has no type for.
            _ => Self::Text,
        }
    }
}

/// The form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueFormat {
    Text,
    Binary,
}

/// A cell as bytes; none for NULL.
pub(super) fn encoded(value: &CellValue, kind: PgType, form: ValueFormat) -> Result<Option<Vec<u8>>, SqlError> {
    if *value == CellValue::Null {
        return Ok(None);
    }
    let bytes = match form {
        ValueFormat::Text => as_text(value, kind),
        ValueFormat::Binary => as_binary(value, kind),
    };
    let unfit = || {
        let sentence = "an answer has a number that its column's type cannot hold; it is charged: cast the column to \
            DOUBLE PRECISION, or ask for it over HTTP";
        SqlError::new(code::OUT_OF_RANGE, sentence)
    };
    bytes.ok_or_else(unfit).map(Some)
}

fn as_text(value: &CellValue, kind: PgType) -> Option<Vec<u8>> {
    let text = match (kind, value) {
        (PgType::Small | PgType::Int | PgType::Whole | PgType::Oid, _) => whole(value)?.to_string(),
        (PgType::Number, _) => shown_number(number(value)?),
        // As PostgreSQL writes a timestamp.
        (PgType::Moment, CellValue::Text(text)) => text.replacen('T', " ", 1),
        _ => value.shown()?,
    };
    Some(text.into_bytes())
}

fn as_binary(value: &CellValue, kind: PgType) -> Option<Vec<u8>> {
    Some(match kind {
        PgType::Truth => match value {
            CellValue::Truth(truth) => vec![u8::from(*truth)],
            _ => return None,
        },
        PgType::Small => i16::try_from(whole(value)?).ok()?.to_be_bytes().to_vec(),
        PgType::Int => i32::try_from(whole(value)?).ok()?.to_be_bytes().to_vec(),
        PgType::Oid => u32::try_from(whole(value)?).ok()?.to_be_bytes().to_vec(),
        PgType::Whole => whole(value)?.to_be_bytes().to_vec(),
        PgType::Number => number(value)?.to_be_bytes().to_vec(),
        PgType::Day => {
            let CellValue::Text(text) = value else { return None };
            i32::try_from((day(text)? - EPOCH).num_days()).ok()?.to_be_bytes().to_vec()
        }
        PgType::Moment => {
            let CellValue::Text(text) = value else { return None };
            (moment(text)? - EPOCH.and_time(NaiveTime::MIN)).num_microseconds()?.to_be_bytes().to_vec()
        }
        PgType::Texts => {
            let CellValue::List(list) = value else { return None };
            array(list)?
        }
        PgType::Text | PgType::Name | PgType::Letter => value.shown()?.into_bytes(),
    })
}

fn whole(value: &CellValue) -> Option<i64> {
    match value {
        CellValue::Whole(number) => Some(*number),
        CellValue::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn number(value: &CellValue) -> Option<f64> {
    match value {
        CellValue::Whole(number) => Some(*number as f64),
        CellValue::Number(number) => Some(*number),
        _ => None,
    }
}

/// A list of texts: one dimension, whether some is missing, the elements' type, how many, from which index, and each
/// with its length.
fn array(list: &[CellValue]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = i32::try_from(list.len()).ok()?;
    let missing = i32::from(list.contains(&CellValue::Null));
    let head = if list.is_empty() { vec![0, 0, 25] } else { vec![1, missing, 25, length, 1] };
    head.iter().for_each(|number: &i32| bytes.extend(number.to_be_bytes()));
    for value in list {
        match value.shown() {
            None => bytes.extend((-1i32).to_be_bytes()),
            Some(text) => {
                bytes.extend(i32::try_from(text.len()).ok()?.to_be_bytes());
                bytes.extend(text.as_bytes());
            }
        }
    }
    Some(bytes)
}

/// The day from which PostgreSQL counts.
const EPOCH: NaiveDate = NaiveDate::from_ymd_opt(2000, 1, 1).expect("a day of the calendar");

/// A day written YYYY-MM-DD.
pub(super) fn day(text: &str) -> Option<NaiveDate> {
    NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()
}

/// A time written YYYY-MM-DDThh:mm:ss, or with a space in the middle, with decimals or without.
pub(super) fn moment(text: &str) -> Option<NaiveDateTime> {
    NaiveDateTime::parse_from_str(&text.replacen('T', " ", 1), "%Y-%m-%d %H:%M:%S%.f").ok()
}

/// The day that is this many days from where PostgreSQL counts.
pub(super) fn day_of(days: i32) -> Option<NaiveDate> {
    EPOCH.checked_add_signed(TimeDelta::try_days(i64::from(days))?)
}

/// The time that is this many microseconds from where PostgreSQL counts.
pub(super) fn moment_of(micros: i64) -> Option<NaiveDateTime> {
    EPOCH.and_time(NaiveTime::MIN).checked_add_signed(TimeDelta::microseconds(micros))
}

/// Now, as PostgreSQL writes a timestamp.
pub(super) fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let now = i64::try_from(since).ok().and_then(|since| DateTime::from_timestamp(since, 0));
    now.map_or(String::new(), |now| now.naive_utc().to_string())
}
