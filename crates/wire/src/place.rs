//! A place in a document: a value, and the path that leads to it.

use scumble::Error;
use serde_json::{Map, Value};

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct WireError {
    /// The JSON path of the offending field.
    pub path: String,
    /// One sentence.
    pub message: String,
}

/// What is read of a document, or where and why it was refused.
pub type WireResult<T> = std::result::Result<T, WireError>;

/// Parses a document; what is not JSON (NaN, for one) is refused with its line and column.
pub fn parse(text: &str) -> WireResult<Value> {
    serde_json::from_str(text)
        .map_err(|error| WireError { path: "$".to_string(), message: format!("this is not JSON: {error}") })
}

/// A value and its path.
#[derive(Debug, Clone)]
pub struct LocatedValue<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> LocatedValue<'a> {
    /// The whole document.
    pub fn root(value: &'a Value) -> Self {
        Self::at(value, "$")
    }

    /// A value that is known by another path (a line of a file, say).
    pub fn at(value: &'a Value, path: impl Into<String>) -> Self {
        Self { value, path: path.into() }
    }

    /// The value itself.
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// A refusal of this place.
    pub fn refuse(&self, message: impl Into<String>) -> WireError {
        WireError { path: self.path.clone(), message: message.into() }
    }

    /// The core's refusal, at this place.
    pub fn core<T>(&self, result: std::result::Result<T, Error>) -> WireResult<T> {
        result.map_err(|error| self.refuse(error.to_string()))
    }

    /// The object here.
    pub fn object(&self) -> WireResult<&'a Map<String, Value>> {
        self.value.as_object().ok_or_else(|| self.refuse(format!("an object is expected, not {}", shown(self.value))))
    }

    /// A field, if it is there.
    pub fn get(&self, name: &str) -> WireResult<Option<LocatedValue<'a>>> {
        let value = self.object()?.get(name);
        Ok(value.map(|value| LocatedValue { value, path: format!("{}.{name}", self.path) }))
    }

    /// A field that must be there.
    pub fn field(&self, name: &str) -> WireResult<LocatedValue<'a>> {
        self.get(name)?
            .ok_or_else(|| WireError { path: format!("{}.{name}", self.path), message: format!("{name} is missing") })
    }

    /// Refuses every field that is not one of `known`.
    pub fn only(&self, known: &[&str]) -> WireResult<()> {
        match self.object()?.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => Err(WireError {
                path: format!("{}.{name}", self.path),
                message: format!("unknown field; expected one of {}", known.join(", ")),
            }),
        }
    }

    /// The number here, finite.
    pub fn number(&self) -> WireResult<f64> {
        self.value.as_f64().ok_or_else(|| self.refuse(format!("a number is expected, not {}", shown(self.value))))
    }

    /// A checked quantity.
    pub fn quantity<T>(&self, check: impl Fn(f64) -> std::result::Result<T, Error>) -> WireResult<T> {
        self.core(check(self.number()?))
    }

    /// A whole number that is not negative.
    pub fn whole(&self) -> WireResult<u64> {
        let exact = self.value.as_u64();
        let float = self.value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..=9e15).contains(number));
        exact
            .or(float.map(|number| number as u64))
            .ok_or_else(|| self.refuse(format!("a whole number is expected, not {}", shown(self.value))))
    }

    /// The text here.
    pub fn text(&self) -> WireResult<&'a str> {
        self.value.as_str().ok_or_else(|| self.refuse(format!("a string is expected, not {}", shown(self.value))))
    }

    /// The elements here.
    pub fn list(&self) -> WireResult<Vec<LocatedValue<'a>>> {
        let values = self.value.as_array();
        let values = values.ok_or_else(|| self.refuse(format!("a list is expected, not {}", shown(self.value))))?;
        Ok(values
            .iter()
            .enumerate()
            .map(|(i, value)| LocatedValue { value, path: format!("{}[{i}]", self.path) })
            .collect())
    }
}

/// A value as it is named in a refusal: short.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 40 { text } else { text.chars().take(40).chain("…".chars()).collect() }
}
