//! What a command answers.

use crate::failure::Failure;
use serde_json::Value;
use std::io::Write;

/// Writes an answer to standard output, all at once: each command builds the whole of it before.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// Writes an answer as JSON, as people read it.
pub fn print_json(answer: &Value) -> Result<(), Failure> {
    print(&format!("{answer:#}\n"))
}

/// Writes an answer as one line of JSON.
pub fn print_line(answer: &Value) -> Result<(), Failure> {
    print(&format!("{answer}\n"))
}

/// A text as one field of a CSV file.
pub fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}
