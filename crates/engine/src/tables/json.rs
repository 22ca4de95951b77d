//! The objects of a file with one on each line (JSON lines).
//!
//! A scalar is read as its text, which the same rules take for a value as those of CSV files: numbers in quotes are
//! numbers, and the whole number of an owner is its text. Other numbers have no text of their own here (beyond 64 bits
//! two of them may be read as one), so they are no texts. An object that has a declared key twice is refused.

use super::csv::RecordError;
use super::files::DataFile;
use crate::error::{Error, Result};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt;
use std::io::{BufRead, ErrorKind, Read};

/// A longer line is a mistake.
const LONGEST_LINE: u64 = 16 << 20;

/// The keys of the first object.
pub(crate) fn keys(file: &DataFile) -> Result<Vec<String>> {
    let wrong = |trouble: RecordError| trouble.sentence(&file.path, |_| "a value".to_string());
    let mut lines = Lines::new(file.text()?, Vec::new());
    match lines.object().map_err(wrong)? {
        Some(object) => Ok(object.values.keys().cloned().collect()),
        None => Err(Error::input(format!(
            "{} is empty; its first line must be an object with all keys",
            file.path.display()
        ))),
    }
}

/// The line of the first object.
pub(crate) fn first_line(file: &DataFile) -> Option<u64> {
    let mut lines = Lines::new(file.text().ok()?, Vec::new());
    lines.object().ok()?.map(|_| lines.line())
}

/// Reads objects; some of their keys are wanted.
pub(crate) struct Lines<R> {
    input: R,
    /// Those that are wanted, and whether as texts.
    keys: Vec<Option<(String, bool)>>,
    /// The values of the keys in the current object, as texts; nothing where there is none.
    values: Vec<String>,
    line: u64,
}

impl<R: BufRead> Lines<R> {
    /// From the beginning of a file.
    pub fn new(input: R, keys: Vec<Option<(String, bool)>>) -> Self {
        Self { input, keys, values: Vec::new(), line: 0 }
    }

    /// Reads the next object; false at the end.
    pub fn advance(&mut self) -> std::result::Result<bool, RecordError> {
        let Some(mut object) = self.object()? else { return Ok(false) };
        self.values.clear();
        for (place, key) in self.keys.iter().enumerate() {
            if key.as_ref().is_some_and(|(key, _)| object.twice.contains(key)) {
                return Err(RecordError::Twice(self.line, place));
            }
            let is_text = key.as_ref().is_some_and(|(_, is_text)| *is_text);
            self.values.push(match key.as_ref().and_then(|(key, _)| object.values.remove(key)) {
                Some(Value::Number(number)) if is_text && number.is_f64() => {
                    return Err(RecordError::NoText(self.line, place));
                }
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => text,
                Some(scalar @ (Value::Bool(_) | Value::Number(_))) => scalar.to_string(),
                Some(_) => return Err(RecordError::Nested(self.line, place)),
            });
        }
        Ok(true)
    }

    /// The line of the current object, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The value of a key, by its place.
    pub fn value(&self, place: usize) -> &str {
        self.values.get(place).map_or("", String::as_str)
    }

    fn object(&mut self) -> std::result::Result<Option<Object>, RecordError> {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            self.line += 1;
            match self.input.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut bytes) {
                Ok(0) => return Ok(None),
                Ok(number) if number as u64 > LONGEST_LINE => return Err(RecordError::Long(self.line)),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(RecordError::of(&error, self.line)),
            }
            let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
            if text.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            return match serde_json::from_slice(text) {
                Ok(object) => Ok(Some(object)),
                Err(_) if is_object_but_for_numbers(text) => Err(RecordError::NoNumber(self.line)),
                Err(_) => Err(RecordError::NoObject(self.line)),
            };
        }
    }
}

/// Whether a line would be an object if what some programs write for no number were null.
fn is_object_but_for_numbers(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let null = ["-Infinity", "Infinity", "NaN"].iter().fold(text.to_string(), |text, word| text.replace(word, "null"));
    serde_json::from_str::<Object>(&null).is_ok()
}

/// One object, and its keys that are there more than once: a map would keep the last of them in silence.
struct Object {
    values: Map<String, Value>,
    twice: BTreeSet<String>,
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<Object, A::Error> {
                let mut object = Object { values: Map::new(), twice: BTreeSet::new() };
                while let Some((key, value)) = entries.next_entry::<String, Value>()? {
                    if object.values.insert(key.clone(), value).is_some() {
                        object.twice.insert(key);
                    }
                }
                Ok(object)
            }
        }
        from.deserialize_map(Entries)
    }
}
