//! Why something was refused, on its way to an exception of Python.

use pyo3::prelude::*;
use pyo3::types::PyType;
use scumble_engine::{Error, ErrorKind, Origin};

/// What a call gives, or why Python raises.
pub type Result<T> = std::result::Result<T, Failure>;

/// A sentence, and which exception says it.
#[derive(Debug)]
pub struct Failure {
    class: &'static str,
    sentence: String,
}

impl Failure {
    /// Wrong input.
    pub fn input(sentence: impl Into<String>) -> Self {
        Self { class: "InputError", sentence: sentence.into() }
    }

    /// The machine failed.
    pub fn machine(sentence: impl Into<String>) -> Self {
        Self { class: "MachineError", sentence: sentence.into() }
    }

    /// The same with another name for a file that there is not.
    pub fn calling(mut self, path: &str, name: &str) -> Self {
        self.sentence = self.sentence.replace(path, name);
        self
    }

    fn raised(self, py: Python<'_>) -> PyResult<PyErr> {
        let class = py.import("scumble._errors")?.getattr(self.class)?;
        Ok(PyErr::from_type(class.cast_into::<PyType>()?, (self.sentence,)))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let class = match error.kind() {
            ErrorKind::Input => "InputError",
            ErrorKind::Budget => "BudgetError",
            _ => "MachineError",
        };
        let sentence = match error.place().map(|place| &place.origin) {
            Some(Origin::Given(keys)) => about(keys, error.sentence()),
            _ => error.to_string(),
        };
        Self { class, sentence: in_python(&sentence) }
    }
}

/// A sentence about a value of a session, which is called as the arguments are.
fn about(keys: &[String], sentence: &str) -> String {
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let value = match keys[..] {
        ["dataset", table, "columns", column, ..] => format!("table '{table}', column '{column}'"),
        ["dataset", table] | ["dataset", table, "columns"] => format!("table '{table}'"),
        ["dataset", table, key, ..] => format!("table '{table}', {key}"),
        ["budget", "attributes", attribute, ..] => format!("the budget for attribute '{attribute}'"),
        ["budget", scope, ..] => format!("the budget for {scope}"),
        ["budget"] => "the budget".to_string(),
        [section, key, ..] => format!("{section}, {key}"),
        [section] => section.to_string(),
        [] => return sentence.to_string(),
    };
    format!("{value}: {sentence}")
}

/// A sentence that names the program's commands and flags, with what stands for them in Python.
fn in_python(sentence: &str) -> String {
    for change in ["raise", "lower"] {
        if let Some((before, rest)) = sentence.split_once(&format!("scumble budget {change} ")) {
            let after = rest.split_once("--because \"…\"").map_or("", |(_, after)| after);
            return format!("{before}session.{change}_budget(\"…\"){after}");
        }
    }
    let mut words = sentence.replace("name its folder with --out", "name its folder with out=");
    if let Some(start) = words.find("--again ") {
        words.truncate(start);
        words.push_str("release(again=True)");
    }
    words
}

impl From<scumble_engine::ledger::Error> for Failure {
    fn from(error: scumble_engine::ledger::Error) -> Self {
        Error::from(error).into()
    }
}

impl From<scumble::Error> for Failure {
    fn from(error: scumble::Error) -> Self {
        Self::input(error.to_string())
    }
}

impl From<scumble_wire::WireError> for Failure {
    /// The document is made of arguments: its fields are called as they are, and it has no name.
    fn from(error: scumble_wire::WireError) -> Self {
        Self::input(error.of_field())
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| failure.raised(py).unwrap_or_else(|error| error))
    }
}
