//! A table of a TOML text that remembers where each key and value stands, with numbers as the decimal text that was
//! written.

use crate::error::{Error, Result};
use crate::place::{Origin, Place, suggestion};
use scumble::quantity::Exact;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// The text that sections come from.
#[derive(Debug)]
pub(crate) struct Text {
    pub origin: Origin,
    pub content: String,
}

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Spot {
    value: SectionValue,
    offset: usize,
    text: Arc<Text>,
}

#[derive(Debug, Clone)]
enum SectionValue {
    Text(String),
    Number { decimal: String, whole: bool },
    Bool(bool),
    List(Vec<Spot>),
    Table(Section),
    Other,
}

/// A table: keys, values, places.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    /// What the section is called in messages, for example `[budget]`.
    name: String,
    entries: Vec<(String, usize, Spot)>,
    offset: usize,
    text: Arc<Text>,
}

/// Parses a TOML text.
pub(crate) fn parse(origin: Origin, content: &str) -> Result<Section> {
    let text = Arc::new(Text { origin, content: content.to_string() });
    let table = DeTable::parse(content).map_err(|error| {
        let place = Place::of_offset(&text.origin, content, error.span().map_or(0, |span| span.start));
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        Error::at(place, format!("this is not TOML ({message})"))
    })?;
    Ok(section(WHOLE, table.get_ref(), table.span().start, &text))
}

/// Lines that belong to no section. At the end of a file they would be in the last one, where they are refused.
const TOP_LINES: [&str; 3] = ["ledger", "memory", "cost_scope"];

/// What the outermost section is called in messages.
const WHOLE: &str = "the file";

fn section(name: &str, table: &DeTable<'_>, offset: usize, text: &Arc<Text>) -> Section {
    let mut entries: Vec<(String, usize, Spot)> = table
        .iter()
        .map(|(key, value)| {
            let inner = format!("'{}' in {name}", key.get_ref());
            let spot = spot(&inner, value.get_ref(), value.span().start, text);
            (key.get_ref().to_string(), key.span().start, spot)
        })
        .collect();
    entries.sort_by_key(|entry| entry.1);
    Section { name: name.to_string(), entries, offset, text: Arc::clone(text) }
}

fn spot(name: &str, value: &DeValue<'_>, offset: usize, text: &Arc<Text>) -> Spot {
    let value = match value {
        DeValue::String(string) => SectionValue::Text(string.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => {
            SectionValue::Number { decimal: number.as_str().to_string(), whole: true }
        }
        DeValue::Float(number) => SectionValue::Number { decimal: number.as_str().to_string(), whole: false },
        DeValue::Boolean(truth) => SectionValue::Bool(*truth),
        DeValue::Array(items) => {
            SectionValue::List(items.iter().map(|item| spot(name, item.get_ref(), item.span().start, text)).collect())
        }
        DeValue::Table(table) => SectionValue::Table(section(name, table, offset, text)),
        _ => SectionValue::Other,
    };
    Spot { value, offset, text: Arc::clone(text) }
}

/// A section of values that a program gives: they stand in no text, so that no refusal of them has a place.
pub(crate) fn given(fields: &Map<String, Json>) -> Section {
    let text = Arc::new(Text { origin: Origin::CommandLine, content: String::new() });
    let entries = fields.iter().map(|(key, value)| (key.clone(), OrderedJson::of(value)));
    given_section(WHOLE, entries.collect(), &|_| Arc::clone(&text), &[])
}

/// A section that a program gives as JSON: its entries are in the order of the text, and a refusal names the keys that
/// lead to the value.
pub(crate) fn parse_json(content: &str) -> Result<Section> {
    match serde_json::from_str(content) {
        Ok(OrderedJson::Table(entries)) => Ok(given_section(WHOLE, entries, &given_at, &[])),
        Ok(_) => Err(Error::input("a project must be a JSON object")),
        Err(error) => Err(Error::input(format!("this is not JSON ({error})"))),
    }
}

/// A value of JSON whose objects keep their order, which those of [`Map`] do not.
enum OrderedJson {
    Table(Vec<(String, OrderedJson)>),
    List(Vec<OrderedJson>),
    One(Json),
}

impl OrderedJson {
    fn of(value: &Json) -> Self {
        match value {
            Json::Object(fields) => {
                Self::Table(fields.iter().map(|(key, value)| (key.clone(), Self::of(value))).collect())
            }
            Json::Array(items) => Self::List(items.iter().map(Self::of).collect()),
            one => Self::One(one.clone()),
        }
    }
}

impl<'de> Deserialize<'de> for OrderedJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(GivenVisitor)
    }
}

struct GivenVisitor;

impl<'de> Visitor<'de> for GivenVisitor {
    type Value = OrderedJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_bool<E>(self, truth: bool) -> std::result::Result<OrderedJson, E> {
        Ok(OrderedJson::One(truth.into()))
    }

    fn visit_i64<E>(self, number: i64) -> std::result::Result<OrderedJson, E> {
        Ok(OrderedJson::One(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> std::result::Result<OrderedJson, E> {
        Ok(OrderedJson::One(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> std::result::Result<OrderedJson, E> {
        Ok(OrderedJson::One(number.into()))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<OrderedJson, E> {
        Ok(OrderedJson::One(text.into()))
    }

    fn visit_unit<E>(self) -> std::result::Result<OrderedJson, E> {
        Ok(OrderedJson::One(Json::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<OrderedJson, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(OrderedJson::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<OrderedJson, A::Error> {
        let (mut entries, mut seen) = (Vec::new(), BTreeSet::new());
        while let Some((key, value)) = map.next_entry::<String, OrderedJson>()? {
            if !seen.insert(key.clone()) {
                return Err(A::Error::custom(format!("'{key}' is listed twice")));
            }
            entries.push((key, value));
        }
        Ok(OrderedJson::Table(entries))
    }
}

/// The text in which values are that are found under some keys.
type TextAt<'a> = dyn Fn(&[String]) -> Arc<Text> + 'a;

fn given_section(name: &str, entries: Vec<(String, OrderedJson)>, text: &TextAt<'_>, keys: &[String]) -> Section {
    let entry = |(key, value): (String, OrderedJson)| {
        let keys = [keys, std::slice::from_ref(&key)].concat();
        let spot = given_spot(&format!("'{key}' in {name}"), value, text, &keys);
        (key, 0, spot)
    };
    let entries = entries.into_iter().map(entry).collect();
    Section { name: name.to_string(), entries, offset: 0, text: text(keys) }
}

/// An item of a list is found under the keys of the list.
fn given_spot(name: &str, value: OrderedJson, text: &TextAt<'_>, keys: &[String]) -> Spot {
    let value = match value {
        OrderedJson::Table(entries) => SectionValue::Table(given_section(name, entries, text, keys)),
        OrderedJson::List(items) => {
            SectionValue::List(items.into_iter().map(|item| given_spot(name, item, text, keys)).collect())
        }
        OrderedJson::One(Json::String(string)) => SectionValue::Text(string),
        OrderedJson::One(Json::Number(number)) => {
            SectionValue::Number { decimal: number.to_string(), whole: number.is_i64() || number.is_u64() }
        }
        OrderedJson::One(Json::Bool(truth)) => SectionValue::Bool(truth),
        OrderedJson::One(_) => SectionValue::Other,
    };
    Spot { value, offset: 0, text: text(keys) }
}

fn given_at(keys: &[String]) -> Arc<Text> {
    Arc::new(Text { origin: Origin::Given(keys.to_vec()), content: String::new() })
}

impl Section {
    /// The place of the section.
    pub fn place(&self) -> Place {
        Place::of_offset(&self.text.origin, &self.text.content, self.offset)
    }

    /// An error at the section.
    pub fn error(&self, sentence: impl Into<String>) -> Error {
        Error::at(self.place(), sentence)
    }

    /// Refuses keys that are not among the known ones, naming the nearest.
    pub fn only(&self, known: &[&str]) -> Result<()> {
        match self.entries.iter().find(|(key, ..)| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some((key, offset, _)) => {
                let hint = match TOP_LINES.contains(&key.as_str()) {
                    true => "; write it above the first [section]".to_string(),
                    false => suggestion(key, known.iter().copied()),
                };
                let hint = if hint.is_empty() { format!(" (known are: {})", known.join(", ")) } else { hint };
                let place = Place::of_offset(&self.text.origin, &self.text.content, *offset);
                Err(Error::at(place, format!("unknown key '{key}' in {}{hint}", self.name)))
            }
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Spot> {
        self.entries.iter().find(|(name, ..)| name == key).map(|(.., spot)| spot)
    }

    /// The value of a key that must be there.
    pub fn need(&self, key: &str) -> Result<&Spot> {
        self.get(key).ok_or_else(|| self.error(format!("{} needs '{key}'", self.name)))
    }

    /// What stands here, whatever the order of the keys and however numbers are written: for telling whether two
    /// sections say the same.
    pub fn json(&self) -> Json {
        self.iter().map(|(key, spot)| (key.to_string(), spot.json())).collect()
    }

    /// The same with one more value in the table under `key`, which stands elsewhere.
    pub(super) fn with_inner(mut self, key: &str, inner: &str, spot: &Spot) -> Self {
        let tables = self.entries.iter_mut().filter(|(name, ..)| name == key);
        for (.., outer) in tables {
            if let SectionValue::Table(table) = &mut outer.value {
                table.entries.push((inner.to_string(), spot.offset, spot.clone()));
            }
        }
        self
    }

    /// All keys and values, in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Spot)> {
        self.entries.iter().map(|(key, _, spot)| (key.as_str(), spot))
    }
}

impl Spot {
    /// The same for a value.
    fn json(&self) -> Json {
        match &self.value {
            SectionValue::Text(text) => text.as_str().into(),
            SectionValue::Number { decimal, .. } => match decimal.parse::<Exact>() {
                Ok(number) => number.to_string().into(),
                Err(_) => decimal.as_str().into(),
            },
            SectionValue::Bool(truth) => (*truth).into(),
            SectionValue::List(items) => items.iter().map(Self::json).collect(),
            SectionValue::Table(section) => section.json(),
            SectionValue::Other => Json::Null,
        }
    }

    /// The place of the value.
    pub fn place(&self) -> Place {
        Place::of_offset(&self.text.origin, &self.text.content, self.offset)
    }

    /// An error at the value.
    pub fn error(&self, sentence: impl Into<String>) -> Error {
        Error::at(self.place(), sentence)
    }

    /// A text.
    pub fn text(&self) -> Result<&str> {
        match &self.value {
            SectionValue::Text(text) => Ok(text),
            _ => Err(self.error("this must be a string in quotation marks")),
        }
    }

    /// A boolean.
    pub fn truth(&self) -> Result<bool> {
        match self.value {
            SectionValue::Bool(truth) => Ok(truth),
            _ => Err(self.error("this must be true or false")),
        }
    }

    /// A number, exactly as written.
    pub fn exact(&self) -> Result<Exact> {
        match &self.value {
            SectionValue::Number { decimal, .. } => {
                decimal.parse().map_err(|_| self.error("this must be a finite number"))
            }
            SectionValue::Text(text) => text.parse().map_err(|_| self.error("this must be a number")),
            _ => Err(self.error("this must be a number")),
        }
    }

    /// A finite number.
    pub fn number(&self) -> Result<f64> {
        Ok(self.exact()?.to_f64())
    }

    /// A whole number.
    pub fn integer(&self) -> Result<i64> {
        match &self.value {
            SectionValue::Number { decimal, whole: true } => {
                decimal.parse().map_err(|_| self.error("this must be a whole number that fits 64 bits"))
            }
            _ => Err(self.error("this must be a whole number")),
        }
    }

    /// A whole number of at least one.
    pub fn at_least_one(&self) -> Result<u64> {
        match self.integer()? {
            number if number >= 1 => Ok(number.unsigned_abs()),
            _ => Err(self.error("this must be a whole number of at least 1")),
        }
    }

    /// A list.
    pub fn list(&self) -> Result<&[Spot]> {
        match &self.value {
            SectionValue::List(items) => Ok(items),
            _ => Err(self.error("this must be a list in [ ]")),
        }
    }

    /// A table.
    pub fn section(&self) -> Result<&Section> {
        match &self.value {
            SectionValue::Table(section) => Ok(section),
            _ => Err(self.error("this must be a table in { } or under a [heading]")),
        }
    }
}

pub(super) fn positive(spot: &Spot) -> Result<f64> {
    match spot.number()? {
        number if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err(spot.error("this must be a number above 0")),
    }
}
