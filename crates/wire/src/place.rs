//! A place in a document: a value, and the path that leads to it.

use scumble::Error;
use serde_json::{Map, Value};

/// What sort of refusal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireErrorKind {
    /// The text is not JSON.
    NotJson,
    /// A field that must be there is missing.
    Missing,
    /// A field has a name that is not known in its place.
    Unknown,
    /// A value that is not allowed in its place.
    Value,
}

/// What is wrong with a document, and where. Prints as the JSON path of the field, a colon and one sentence.
///
/// ```
/// use scumble_wire::{WireErrorKind, event_from_json, parse};
/// let refused = event_from_json(&parse(r#"{"mechanism": "laplace", "scale": 10}"#)?).unwrap_err();
/// assert_eq!((refused.kind(), refused.path()), (WireErrorKind::Missing, "$.sensitivity"));
/// assert_eq!(refused.to_string(), "$.sensitivity: sensitivity is missing");
/// assert_eq!(refused.of_field(), "sensitivity: sensitivity is missing");
/// # Ok::<(), scumble_wire::WireError>(())
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{path}: {sentence}")]
pub struct WireError {
    kind: WireErrorKind,
    path: String,
    sentence: String,
}

impl WireError {
    fn new(kind: WireErrorKind, path: impl Into<String>, sentence: impl Into<String>) -> Self {
        Self { kind, path: path.into(), sentence: sentence.into() }
    }

    /// What sort of refusal it is.
    pub fn kind(&self) -> WireErrorKind {
        self.kind
    }

    /// The JSON path of the offending field.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong and what to do, without the path.
    pub fn sentence(&self) -> &str {
        &self.sentence
    }

    /// The refusal for those who have no document in front of them: its field by name, without the `$` of the root.
    pub fn of_field(&self) -> String {
        match self.path.strip_prefix("$.") {
            Some(field) => format!("{field}: {}", self.sentence),
            None if self.path == "$" => self.sentence.clone(),
            None => self.to_string(),
        }
    }
}

/// What is read of a document, or where and why it was refused.
pub type WireResult<T> = std::result::Result<T, WireError>;

/// Parses a document; what is not JSON (NaN, for one) is refused with its line and column.
pub fn parse(text: &str) -> WireResult<Value> {
    let wrong =
        |error: serde_json::Error| WireError::new(WireErrorKind::NotJson, "$", format!("this is not JSON: {error}"));
    serde_json::from_str(text).map_err(wrong)
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
    pub fn refuse(&self, sentence: impl Into<String>) -> WireError {
        WireError::new(WireErrorKind::Value, self.path.as_str(), sentence)
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
        let missing =
            || WireError::new(WireErrorKind::Missing, format!("{}.{name}", self.path), format!("{name} is missing"));
        self.get(name)?.ok_or_else(missing)
    }

    /// Refuses every field that is not one of `known`.
    pub fn only(&self, known: &[&str]) -> WireResult<()> {
        match self.object()?.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => Err(WireError::new(
                WireErrorKind::Unknown,
                format!("{}.{name}", self.path),
                format!("unknown field; expected one of {}", known.join(", ")),
            )),
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
