//! How the rows of a table's text files are written: what a CSV file does not say of itself.

use super::section::{Section, Spot};
use crate::error::{Error, Result};
use encoding_rs::{Encoding, UTF_8};
use serde_json::{Value, json};
use std::path::Path;

/// How a table's CSV files are written; `null` and `trim` are about JSON lines as well.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layout {
    /// What stands between two fields.
    pub separator: u8,
    /// Whether a comma was declared for a source whose name ends in .tsv: there the name alone would mean a tab.
    pub comma_in_tsv: bool,
    /// What stands before the decimals of a number.
    pub decimal: u8,
    /// What stands around a text that holds separators or line breaks; none where nothing does.
    pub quote: Option<u8>,
    /// The encoding of the letters.
    pub encoding: &'static Encoding,
    /// The names of the columns, for files without a line of names.
    pub header: Option<Vec<String>>,
    /// What stands for a missing value, beside nothing at all.
    pub null: Vec<String>,
    /// Whether spaces around strings are removed. If this is not declared, such spaces are refused.
    pub trim: Option<bool>,
}

/// The keys of a `[dataset]` that say how its files are written.
pub(crate) const KEYS: [&str; 7] = ["separator", "decimal", "quote", "encoding", "header", "null", "trim"];

impl Default for Layout {
    fn default() -> Self {
        Self {
            separator: b',',
            comma_in_tsv: false,
            decimal: b'.',
            quote: Some(b'"'),
            encoding: UTF_8,
            header: None,
            null: Vec::new(),
            trim: None,
        }
    }
}

impl Layout {
    /// Of a table's section.
    pub(super) fn read(section: &Section) -> Result<Self> {
        let usual = Self::default();
        let layout = Self {
            separator: section.get("separator").map_or(Ok(usual.separator), separator)?,
            comma_in_tsv: section.get("separator").is_some_and(|spot| spot.text().is_ok_and(|text| text == ",")),
            decimal: section.get("decimal").map_or(Ok(usual.decimal), decimal)?,
            quote: section.get("quote").map_or(Ok(usual.quote), quote)?,
            encoding: section.get("encoding").map_or(Ok(usual.encoding), encoding)?,
            header: section.get("header").map_or(Ok(None), header)?,
            null: section.get("null").map_or(Ok(Vec::new()), words)?,
            trim: section.get("trim").map(Spot::truth).transpose()?,
        };
        let clash = |key: &str| section.get(key).filter(|_| layout.quote == Some(layout.separator));
        if let Some(spot) = clash("quote").or(clash("separator")) {
            return Err(spot.error("separator and quote must differ"));
        }
        if layout.decimal == layout.separator {
            let spot = section.get("decimal").or(section.get("separator"));
            let sentence = "separator and decimal must differ: a file with decimal commas has another separator, as in separator = \";\"";
            return Err(spot.map_or_else(|| section.error(sentence), |spot| spot.error(sentence)));
        }
        Ok(layout)
    }

    /// What somebody says of a file before there is a project file.
    pub(crate) fn said(
        separator: Option<&str>,
        quote: Option<&str>,
        encoding: Option<&str>,
        header: Option<&[String]>,
    ) -> Result<Self> {
        let usual = Self::default();
        let wrong = |what: &str, sentence: &str| Error::input(format!("{what}: {sentence}"));
        let quote =
            quote.map_or(Ok(usual.quote), |text| sign(text).map(Some).ok_or_else(|| wrong("quote", ONE_SIGN)))?;
        let header = header.map(|names| names.iter().map(|name| name.trim().to_string()).collect::<Vec<_>>());
        if header.as_ref().is_some_and(|names| names.iter().any(String::is_empty)) {
            return Err(wrong("header", "each column needs a name, as in id,age"));
        }
        Ok(Self {
            separator: separator.map_or(Ok(usual.separator), |text| {
                let text = if text == "\\t" { "\t" } else { text };
                sign(text).filter(|sign| Some(*sign) != quote).ok_or_else(|| wrong("separator", ONE_SIGN))
            })?,
            comma_in_tsv: separator == Some(","),
            quote,
            encoding: encoding.map_or(Ok(usual.encoding), |name| {
                encoding_called(name).ok_or_else(|| wrong("encoding", NO_ENCODING))
            })?,
            header,
            ..usual
        })
    }

    /// The same for this source: elsewhere a declared comma is what is usual, and is no other layout to a ledger.
    pub(crate) fn of_source(self, source: &Path) -> Self {
        let name = source.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
        let unpacked = [".gz", ".gzip", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        Self { comma_in_tsv: self.comma_in_tsv && unpacked.ends_with(".tsv"), ..self }
    }

    /// The first key that was given a value of its own and is about CSV files alone.
    pub(crate) fn about_csv(&self) -> Option<&'static str> {
        let usual = Self::default();
        let unlike = [
            (self.separator != usual.separator, "separator"),
            (self.decimal != usual.decimal, "decimal"),
            (self.quote != usual.quote, "quote"),
            (self.encoding != usual.encoding, "encoding"),
            (self.header != usual.header, "header"),
        ];
        unlike.into_iter().find_map(|(is_given, key)| is_given.then_some(key))
    }

    /// The first key that was given a value of its own.
    pub(crate) fn about_text(&self) -> Option<&'static str> {
        let others = [(!self.null.is_empty(), "null"), (self.trim.is_some(), "trim")];
        self.about_csv().or(others.into_iter().find_map(|(is_given, key)| is_given.then_some(key)))
    }

    /// What the ledger remembers: nothing of a file that is written as usual.
    pub(crate) fn json(&self) -> Value {
        if *self == Self::default() {
            return Value::Null;
        }
        json!({
            "separator": char::from(self.separator).to_string(), "decimal": char::from(self.decimal).to_string(),
            "quote": self.quote.map(|quote| char::from(quote).to_string()), "encoding": self.encoding.name(),
            "header": self.header, "null": self.null, "trim": self.trim,
        })
    }

    /// Whether a field stands for a missing value.
    pub(crate) fn is_missing(&self, text: &str) -> bool {
        text.is_empty() || self.null.iter().any(|word| word == text)
    }
}

const ONE_SIGN: &str = "this must be one character, as in \";\" or \"\\t\" (no letter, no digit, no line break)";

/// The one sign that a text is.
fn sign(text: &str) -> Option<u8> {
    match text.as_bytes() {
        [sign] if sign.is_ascii() && !matches!(sign, b'\n' | b'\r' | 0) && !sign.is_ascii_alphanumeric() => Some(*sign),
        _ => None,
    }
}

fn one_letter(spot: &Spot) -> Result<Option<u8>> {
    match spot.text()? {
        "" => Ok(None),
        text => sign(text).map(Some).ok_or_else(|| spot.error(ONE_SIGN)),
    }
}

fn separator(spot: &Spot) -> Result<u8> {
    one_letter(spot)?.ok_or_else(|| spot.error("this must be one character, as in \";\" or \"\\t\""))
}

fn quote(spot: &Spot) -> Result<Option<u8>> {
    one_letter(spot)
}

fn decimal(spot: &Spot) -> Result<u8> {
    match spot.text()? {
        "." => Ok(b'.'),
        "," => Ok(b','),
        _ => Err(spot.error("decimal must be \".\" or \",\"")),
    }
}

const NO_ENCODING: &str =
    "unknown encoding; give one such as utf-8, windows-1252 (also called latin1), utf-16le or shift_jis";

fn encoding_called(name: &str) -> Option<&'static Encoding> {
    Encoding::for_label(name.as_bytes()).filter(|found| *found != encoding_rs::REPLACEMENT)
}

fn encoding(spot: &Spot) -> Result<&'static Encoding> {
    encoding_called(spot.text()?).ok_or_else(|| spot.error(NO_ENCODING))
}

fn header(spot: &Spot) -> Result<Option<Vec<String>>> {
    if let Ok(is_there) = spot.truth() {
        return match is_there {
            true => Ok(None),
            false => {
                Err(spot.error("a file without a line of names needs them here, as in header = [\"id\", \"age\"]"))
            }
        };
    }
    let names = words(spot)?;
    match names.is_empty() {
        true => Err(spot.error("header must name each column of the file")),
        false => Ok(Some(names)),
    }
}

/// Texts, each once.
fn words(spot: &Spot) -> Result<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    for item in spot.list()? {
        let word = item.text()?.to_string();
        if words.contains(&word) {
            return Err(item.error(format!("'{word}' is listed twice")));
        }
        words.push(word);
    }
    Ok(words)
}
