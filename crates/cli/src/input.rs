//! Documents from files or standard input.

use crate::failure::Failure;
use scumble_wire::WireError;
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

/// What is wrong with a document, with the file that it is in.
pub fn wrong(path: &Path, wrong: &WireError) -> Failure {
    Failure::Input(format!("{}: {wrong}", path.display()))
}
