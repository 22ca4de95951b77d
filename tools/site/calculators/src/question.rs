//! What a page asks.

use scumble::quantity::{Delta, Epsilon};
use scumble::scope::Scope;
use scumble_chart::Size;
use scumble_wire::{LocatedValue, WireError};
use serde_json::Value;

/// Why there is no answer, in one sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal(pub String);

impl From<scumble::Error> for Refusal {
    fn from(error: scumble::Error) -> Self {
        Self(error.to_string())
    }
}

/// A form has no JSON in front of its reader: the field is named once, without the `$` of the root.
impl From<WireError> for Refusal {
    fn from(error: WireError) -> Self {
        let name = error.path().trim_start_matches("$.");
        match error.sentence().starts_with(name) {
            true => Self(error.sentence().to_string()),
            false => Self(error.of_field()),
        }
    }
}

/// The fields of a form.
pub struct Question<'a>(LocatedValue<'a>);

impl<'a> Question<'a> {
    /// Refuses what is not an object.
    pub fn new(document: &'a Value) -> Result<Self, Refusal> {
        let place = LocatedValue::root(document);
        place.object()?;
        Ok(Self(place))
    }

    /// Which calculator is asked.
    pub fn calculator(&self) -> Result<&'a str, Refusal> {
        self.text("calculator")
    }

    /// A string.
    pub fn text(&self, name: &str) -> Result<&'a str, Refusal> {
        Ok(self.0.field(name)?.text()?)
    }

    /// ε.
    pub fn epsilon(&self) -> Result<Epsilon, Refusal> {
        Ok(self.0.field("epsilon")?.quantity(Epsilon::new)?)
    }

    /// δ.
    pub fn delta(&self) -> Result<Delta, Refusal> {
        Ok(self.0.field("delta")?.quantity(Delta::new)?)
    }

    /// A whole number from `least` to `most`.
    pub fn whole(&self, name: &str, least: u64, most: u64) -> Result<u64, Refusal> {
        let place = self.0.field(name)?;
        match place.whole()? {
            number if (least..=most).contains(&number) => Ok(number),
            number => Err(place.refuse(format!("this must be a whole number from {least} to {most}, not {number}")))?,
        }
    }

    /// Who is protected.
    pub fn scope(&self) -> Result<Scope, Refusal> {
        let place = self.0.field("scope")?;
        match place.text()? {
            "presence" => Ok(Scope::Presence),
            "person" => Ok(Scope::Person),
            other => Err(place.refuse(format!("the scope is presence or person, not {other}")))?,
        }
    }

    /// How wide charts are drawn.
    pub fn size(&self) -> Result<Size, Refusal> {
        Ok(if self.text("size")? == "narrow" { Size::Narrow } else { Size::Wide })
    }
}
