//! Values, and the small pools of awkward ones that tables are filled from.

use super::bytes::Bytes;
use crate::calendar::{DAY, DAYS, MOMENTS, SECOND};
use crate::project::Domain;
use std::cmp::Ordering;

/// A value of a table, of a key or of a literal.
#[derive(Debug, Clone)]
pub(crate) enum CellValue {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// Days since 1970-01-01.
    Date(i64),
    /// Nanoseconds since then.
    Moment(i64),
}

impl CellValue {
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub fn text(text: &str) -> Self {
        Self::Text(text.to_string())
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Int(_) => 2,
            Self::Float(_) => 3,
            Self::Text(_) => 4,
            Self::Date(_) => 5,
            Self::Moment(_) => 6,
        }
    }

    /// The value in its declared domain, as the project file promises: numbers at the nearest bound, NaN and unlisted
    /// texts NULL.
    pub fn declared(&self, domain: &Domain) -> Self {
        match (self, domain) {
            (Self::Int(number), Domain::Int { bounds: Some((low, high)) }) => Self::Int(*number.max(low).min(high)),
            (Self::Float(number), Domain::Float { .. }) if number.is_nan() => Self::Null,
            (Self::Float(number), Domain::Float { bounds: Some((low, high)), .. }) => Self::Float(if number < low {
                *low
            } else if number > high {
                *high
            } else {
                *number
            }),
            (Self::Text(text), Domain::Category { values: Some(values) }) if !values.contains(text) => Self::Null,
            (Self::Date(day), Domain::Date { bounds }) => {
                let (low, high) = bounds.unwrap_or(DAYS);
                Self::Date(*day.max(&low).min(&high))
            }
            (Self::Moment(moment), Domain::Timestamp { bounds, .. }) => {
                let (low, high) = bounds.unwrap_or(MOMENTS);
                Self::Moment(*moment.max(&low).min(&high))
            }
            _ => self.clone(),
        }
    }
}

impl Ord for CellValue {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(left), Self::Bool(right)) => left.cmp(right),
            (Self::Int(left), Self::Int(right)) => left.cmp(right),
            (Self::Float(left), Self::Float(right)) => left.total_cmp(right),
            (Self::Text(left), Self::Text(right)) => left.cmp(right),
            (Self::Date(left), Self::Date(right)) => left.cmp(right),
            (Self::Moment(left), Self::Moment(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for CellValue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for CellValue {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for CellValue {}

/// The one name of an owner, whatever its type; none for nobody.
pub(crate) fn named(owner: &CellValue) -> Option<String> {
    match owner {
        CellValue::Int(number) => Some(number.to_string()),
        CellValue::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// Texts that look like numbers, that differ little, or that need care in SQL, CSV and TOML.
pub(crate) const TEXTS: [&str; 22] = [
    "a",
    "b",
    "",
    "1",
    "01",
    "007",
    " 1",
    "1.0",
    "1e0",
    "-0",
    "A",
    "o'x",
    "é",
    "É",
    "NaN",
    "true",
    "inf",
    "7",
    "\"q\"",
    "50%",
    "99999999999999999999",
    "ab",
];

const INTS: [i64; 14] = [0, 1, 2, 3, -1, 7, 57, 127, 128, 300, 1 << 31, (1 << 53) + 1, i64::MAX, i64::MIN];

const FLOATS: [f64; 16] = [
    0.0,
    1.0,
    0.5,
    2.5,
    2.7,
    -1.0,
    1e-9,
    -0.0,
    100.0,
    3e9,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    1e308,
    5e-324,
    -1e300,
];

/// 1 January and 29 February, days around the turn of a year, the first and the last ones, and those that no calendar
/// has.
pub(crate) const DATES: [i64; 10] =
    [0, -1, 11_016, 15_705, 15_706, 16_070, DAYS.0, DAYS.1, i32::MAX as i64, i32::MIN as i64];

/// Any value of a column, inside its domain or not.
pub(crate) fn drawn(bytes: &mut Bytes<'_>, domain: &Domain) -> CellValue {
    if bytes.chance(12) {
        return CellValue::Null;
    }
    match domain {
        Domain::Int { bounds: Some((low, high)) } if bytes.chance(75) => {
            let width = usize::try_from(high.saturating_sub(*low)).unwrap_or(3).min(3);
            let step = i64::try_from(bytes.below(width + 1)).unwrap_or(0);
            CellValue::Int(if bytes.chance(50) { high.saturating_sub(step) } else { low.saturating_add(step) })
        }
        Domain::Int { .. } => CellValue::Int(bytes.pick(&INTS)),
        Domain::Float { bounds: Some((low, high)), .. } if bytes.chance(60) => {
            CellValue::Float(bytes.pick(&[*low, *high, low / 2.0 + high / 2.0, low + 0.25, high - 0.75]))
        }
        Domain::Float { .. } => CellValue::Float(bytes.pick(&FLOATS)),
        Domain::Category { values: Some(values) } if bytes.chance(85) => CellValue::Text(bytes.pick(values)),
        Domain::Category { .. } => CellValue::text(bytes.pick(&TEXTS)),
        Domain::Bool => CellValue::Bool(bytes.chance(50)),
        Domain::Date { bounds: Some((low, high)) } if bytes.chance(75) => {
            let step = bytes.pick(&[0, 1, 30, 31, 59, 365]);
            CellValue::Date(if bytes.chance(50) { high - step } else { low + step })
        }
        Domain::Date { .. } => CellValue::Date(bytes.pick(&DATES)),
        Domain::Timestamp { bounds: Some((low, high)), .. } if bytes.chance(75) => {
            let step = bytes.pick(&[0, 1, 59, 3600, 86_400, 31 * 86_400]) * SECOND;
            CellValue::Moment(if bytes.chance(50) { high - step } else { low + step })
        }
        Domain::Timestamp { .. } => {
            let days = bytes.pick(&[0, -1, 11_016, 15_705, 15_706, DAYS.0, DAYS.1]) * DAY * SECOND;
            let moment = days + bytes.pick(&[0, 1, 86_399, 43_200]) * SECOND + bytes.pick(&[0, SECOND / 2]);
            CellValue::Moment(bytes.pick(&[moment, moment, moment, i64::MIN, i64::MAX]))
        }
    }
}
