//! Values, and the small pools of awkward ones that tables are filled from.

use super::bytes::Bytes;
use crate::project::Domain;
use std::cmp::Ordering;

/// A value of a table, of a key or of a literal.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

impl Value {
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
        }
    }

    /// The value in its declared domain, as the project file promises: numbers at the nearest bound, NaN and unlisted texts NULL.
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
            _ => self.clone(),
        }
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(left), Self::Bool(right)) => left.cmp(right),
            (Self::Int(left), Self::Int(right)) => left.cmp(right),
            (Self::Float(left), Self::Float(right)) => left.total_cmp(right),
            (Self::Text(left), Self::Text(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

/// The one name of an owner, whatever its type; none for nobody.
pub(super) fn named(owner: &Value) -> Option<String> {
    match owner {
        Value::Int(number) => Some(number.to_string()),
        Value::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// Texts that look like numbers, that differ little, or that need care in SQL, CSV and TOML.
pub(super) const TEXTS: [&str; 22] = [
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

/// Any value of a column, inside its domain or not.
pub(super) fn drawn(bytes: &mut Bytes<'_>, domain: &Domain) -> Value {
    if bytes.chance(12) {
        return Value::Null;
    }
    match domain {
        Domain::Int { bounds: Some((low, high)) } if bytes.chance(75) => {
            let width = usize::try_from(high.saturating_sub(*low)).unwrap_or(3).min(3);
            let step = i64::try_from(bytes.below(width + 1)).unwrap_or(0);
            Value::Int(if bytes.chance(50) { high.saturating_sub(step) } else { low.saturating_add(step) })
        }
        Domain::Int { .. } => Value::Int(bytes.pick(&INTS)),
        Domain::Float { bounds: Some((low, high)), .. } if bytes.chance(60) => {
            Value::Float(bytes.pick(&[*low, *high, low / 2.0 + high / 2.0, low + 0.25, high - 0.75]))
        }
        Domain::Float { .. } => Value::Float(bytes.pick(&FLOATS)),
        Domain::Category { values: Some(values) } if bytes.chance(85) => Value::Text(bytes.pick(values)),
        Domain::Category { .. } => Value::text(bytes.pick(&TEXTS)),
        Domain::Bool => Value::Bool(bytes.chance(50)),
    }
}
