//! The fields of kinds. Each is declared once, and from its declaration come the reader, the JSON schema and the line
//! of the documentation.

use crate::error::{Error, Result};
use crate::place::Place;
use crate::project::{Request, Spot};
use scumble::quantity::{Exact, Probability};
use serde_json::{Value, json};
use std::marker::PhantomData;

/// One field of a release in the project file, as it is listed.
#[derive(Debug, Clone, Copy)]
pub struct ListedField {
    /// The key.
    pub name: &'static str,
    /// What stands there: a string, a number, a list …
    pub form: &'static str,
    /// Whether it must be there.
    pub required: bool,
    /// What it means.
    pub about: &'static str,
    schema: fn() -> Value,
}

impl ListedField {
    /// Its JSON schema.
    pub fn schema(&self) -> Value {
        let mut schema = (self.schema)();
        schema["description"] = json!(self.about);
        schema
    }
}

/// One field of a release: its type says what stands there, and an [`Option`] may be left out.
pub(crate) struct Field<T> {
    pub name: &'static str,
    about: &'static str,
    holds: PhantomData<fn() -> T>,
}

impl<T: FieldForm> Field<T> {
    pub const fn new(name: &'static str, about: &'static str) -> Self {
        Self { name, about, holds: PhantomData }
    }

    /// As it is listed.
    pub const fn listed(&self) -> ListedField {
        ListedField { name: self.name, form: T::NAME, required: T::REQUIRED, about: self.about, schema: T::schema }
    }

    /// What a request says.
    pub fn read(&self, request: &Request) -> Result<T> {
        match (request.fields.get(self.name), T::left_out()) {
            (Some(spot), _) => T::read(spot),
            (None, Some(nothing)) => Ok(nothing),
            (None, None) => request.fields.need(self.name).and_then(T::read),
        }
    }

    /// Where it stands in a request; the request's own place if it is left out.
    pub fn place(&self, request: &Request) -> Place {
        request.fields.get(self.name).map_or_else(|| request.fields.place(), Spot::place)
    }

    /// An error there.
    pub fn error(&self, request: &Request, sentence: impl Into<String>) -> Error {
        Error::at(self.place(request), sentence)
    }
}

/// What can stand in a field.
pub(crate) trait FieldForm: Sized {
    /// What it is called where fields are listed.
    const NAME: &'static str;
    /// What a list of them is called.
    const LIST: &'static str = "list";
    const REQUIRED: bool = true;

    fn schema() -> Value;
    fn read(spot: &Spot) -> Result<Self>;

    /// What it is where nothing stands; none where something must.
    fn left_out() -> Option<Self> {
        None
    }
}

impl FieldForm for String {
    const NAME: &'static str = "string";
    const LIST: &'static str = "list of strings";

    fn schema() -> Value {
        json!({ "type": "string" })
    }

    fn read(spot: &Spot) -> Result<Self> {
        spot.text().map(str::to_string)
    }
}

impl FieldForm for bool {
    const NAME: &'static str = "boolean";

    fn schema() -> Value {
        json!({ "type": "boolean" })
    }

    fn read(spot: &Spot) -> Result<Self> {
        spot.truth()
    }
}

/// A whole number of at least one.
impl FieldForm for u64 {
    const NAME: &'static str = "integer";

    fn schema() -> Value {
        json!({ "type": "integer", "minimum": 1 })
    }

    fn read(spot: &Spot) -> Result<Self> {
        spot.at_least_one()
    }
}

impl FieldForm for Probability {
    const NAME: &'static str = "number";
    const LIST: &'static str = "list of numbers";

    fn schema() -> Value {
        json!({ "type": "number", "minimum": 0, "maximum": 1 })
    }

    fn read(spot: &Spot) -> Result<Self> {
        Self::new(spot.number()?).map_err(|error| spot.error(error.to_string()))
    }
}

impl<T: FieldForm> FieldForm for Vec<T> {
    const NAME: &'static str = T::LIST;

    fn schema() -> Value {
        json!({ "type": "array", "items": T::schema() })
    }

    fn read(spot: &Spot) -> Result<Self> {
        spot.list()?.iter().map(T::read).collect()
    }
}

impl<T: FieldForm> FieldForm for Option<T> {
    const NAME: &'static str = T::NAME;
    const REQUIRED: bool = false;

    fn schema() -> Value {
        T::schema()
    }

    fn read(spot: &Spot) -> Result<Self> {
        T::read(spot).map(Some)
    }

    fn left_out() -> Option<Self> {
        Some(None)
    }
}

/// A value that remembers where it stands.
#[derive(Debug, Clone)]
pub(crate) struct PlacedValue<T> {
    pub value: T,
    pub place: Place,
}

impl<T> PlacedValue<T> {
    /// An error there.
    pub fn error(&self, sentence: impl Into<String>) -> Error {
        Error::at(self.place.clone(), sentence)
    }
}

impl<T: FieldForm> FieldForm for PlacedValue<T> {
    const NAME: &'static str = T::NAME;
    const LIST: &'static str = T::LIST;

    fn schema() -> Value {
        T::schema()
    }

    fn read(spot: &Spot) -> Result<Self> {
        Ok(Self { value: T::read(spot)?, place: spot.place() })
    }
}

/// Numbers by name, in the order of the text, each exactly as written.
pub(crate) struct NamedNumbers(pub Vec<(String, PlacedValue<Exact>)>);

impl FieldForm for NamedNumbers {
    const NAME: &'static str = "table of numbers";

    fn schema() -> Value {
        json!({ "type": "object", "additionalProperties": { "type": ["number", "string"] } })
    }

    fn read(spot: &Spot) -> Result<Self> {
        let named = |(name, spot): (&str, &Spot)| {
            Ok((name.to_string(), PlacedValue { value: spot.exact()?, place: spot.place() }))
        };
        spot.section()?.iter().map(named).collect::<Result<_>>().map(Self)
    }
}

/// A choice between words.
pub(crate) trait Word: Copy + 'static {
    /// All of them, in the order in which they are listed.
    const WORDS: &'static [(&'static str, Self)];

    /// The error for any other word.
    fn unknown(word: &str) -> String;
}

impl<W: Word> FieldForm for W {
    const NAME: &'static str = "string";

    fn schema() -> Value {
        let words: Vec<&str> = W::WORDS.iter().map(|(word, _)| *word).collect();
        json!({ "type": "string", "enum": words })
    }

    fn read(spot: &Spot) -> Result<Self> {
        let text = spot.text()?;
        let found = W::WORDS.iter().find(|(word, _)| *word == text);
        found.map(|(_, choice)| *choice).ok_or_else(|| spot.error(W::unknown(text)))
    }
}
