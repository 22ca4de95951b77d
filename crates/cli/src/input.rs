//! Documents from files or standard input, and random bits.

use crate::failure::{Failure, say};
use scumble::noise::{BitSource, InsecureSeededSource, SecureSource};
use scumble_wire::{LocatedValue, WireError, WireResult};
use serde_json::Value;
use std::io::Read;
use std::path::Path;

/// The text of `path`, where `-` is standard input.
pub fn text(path: &Path) -> Result<String, Failure> {
    let read = if path.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    read.map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
}

/// The JSON document in `path`.
pub fn json(path: &Path) -> Result<Value, Failure> {
    scumble_wire::parse(&text(path)?).map_err(|wrong| self::wrong(path, &wrong))
}

/// Reads the JSON document in `path`; errors name the file.
pub fn read<T>(path: &Path, read: impl FnOnce(&LocatedValue<'_>) -> WireResult<T>) -> Result<T, Failure> {
    let document = json(path)?;
    read(&LocatedValue::root(&document)).map_err(|wrong| self::wrong(path, &wrong))
}

/// What is wrong with a document, with the file that it is in.
pub fn wrong(path: &Path, wrong: &WireError) -> Failure {
    Failure::Input(format!("{}: {wrong}", path.display()))
}

/// Random bits: those of a seed, which are not private, with a warning; secure ones without.
pub fn bits(seed: Option<u64>, warning: Option<&str>) -> Result<Box<dyn BitSource>, Failure> {
    let Some(seed) = seed else { return Ok(Box::new(SecureSource::new()?)) };
    warning.into_iter().for_each(|warning| say(&format!("scumble: warning: {warning}")));
    Ok(Box::new(InsecureSeededSource::new(seed)))
}
