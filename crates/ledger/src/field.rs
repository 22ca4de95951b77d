//! One field of an entry as it stands there.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A field of an entry. Older versions left some out, and a form that this version does not know matters only to the
/// reader that needs the field: so reading an entry never fails for one field, and who needs it says what is missing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Field<T> {
    /// It is not there; an entry is written without it.
    #[default]
    Absent,
    /// It is null.
    Null,
    /// It is there.
    Here(T),
    /// It is there in a form that is not its own.
    Strange(Value),
}

impl<T> Field<T> {
    /// The field where it may be left out.
    pub fn if_any(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Self::Here)
    }

    /// Its value; none where it is missing, null or in another form.
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Here(value) => Some(value),
            _ => None,
        }
    }

    /// Whether nothing is there, not even in another form.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Absent | Self::Null)
    }

    /// Whether an entry is written without it.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

impl Field<String> {
    /// Whether this text is there.
    pub fn is(&self, text: &str) -> bool {
        self.get().is_some_and(|own| own == text)
    }

    /// The text, for what is shown.
    pub fn text(&self) -> Option<String> {
        self.get().cloned()
    }
}

impl From<&str> for Field<String> {
    fn from(text: &str) -> Self {
        Self::Here(text.to_string())
    }
}

impl<T> From<Option<T>> for Field<T> {
    /// Null where there is none.
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Self::Here)
    }
}

impl<T: Serialize> Serialize for Field<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent | Self::Null => serializer.serialize_none(),
            Self::Here(value) => value.serialize(serializer),
            Self::Strange(value) => value.serialize(serializer),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value.is_null() {
            return Ok(Self::Null);
        }
        // No field is a list; a struct would be read from one by its place.
        if value.is_array() {
            return Ok(Self::Strange(value));
        }
        Ok(T::deserialize(&value).map(Self::Here).unwrap_or(Self::Strange(value)))
    }
}
