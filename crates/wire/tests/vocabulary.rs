//! What is made from the core's table of words is what the table says: the page `docs/reference/events.md` and the
//! classes of the Python package. `SCUMBLE_UPDATE=1 cargo test -p scumble-wire --test vocabulary` writes both.

use scumble::event::{Parameter, ParameterForm, WORDS, WordEntry};
use std::fmt::Write;
use std::path::PathBuf;

fn repository() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap()
}

/// The page's table: a row says what the core's table says of the word, and that there is more to read where the page's
/// own row said so.
fn table_of_the_page(page: &str) -> String {
    let mut table = "| `mechanism` | parameters | meaning |\n|---|---|---|".to_string();
    for WordEntry { name, parameters, sentence, .. } in WORDS {
        let own = page.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let more = if own.is_some_and(|own| own.ends_with(" (see below) |")) { " (see below)" } else { "" };
        let parameters: Vec<String> = parameters.iter().map(|parameter| format!("`{}`", parameter.name)).collect();
        let sentence = sentence.replace('|', "\\|");
        write!(table, "\n| `{name}` | {} | {sentence}{more} |", parameters.join(", ")).unwrap();
    }
    table
}

#[test]
fn the_page_has_the_table() {
    let path = "docs/reference/events.md";
    let page = read(path);
    let (before, rest) = page.split_once("## The words\n\n").unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    let written = format!("{before}## The words\n\n{}\n\n{after}", table_of_the_page(&page));
    if std::env::var_os("SCUMBLE_UPDATE").is_some() {
        std::fs::write(repository().join(path), &written).unwrap();
    }
    assert_eq!(read(path), written, "{path} is not what the table of words says");
}

/// The name of a word's class.
fn class_of(entry: &WordEntry) -> String {
    let capital = |part: &str| part[..1].to_uppercase() + &part[1..];
    entry.name.split('-').map(capital).collect()
}

/// What a parameter is when nothing is said. Those that stand here have a usual value; others are what calibration may
/// find.
fn usual(entry: &WordEntry, parameter: &Parameter) -> &'static str {
    match (entry.name, parameter.name) {
        ("randomized-response", "values") => ": int = 2",
        ("approximate", "delta") => ": float = 0.0",
        ("tcdp", "omega") => ": float = 2.0",
        _ => match parameter.form {
            ParameterForm::Number(_) => ": float | None = None",
            ParameterForm::Whole => ": int | None = None",
            ParameterForm::Fraction | ParameterForm::Family => ": str | None = None",
            ParameterForm::Probabilities => ": Sequence[float]",
            ParameterForm::Noise => ": Event | Mapping[str, Any] | None = None",
        },
    }
}

/// How a parameter is handed on. Of probabilities any sequence will do.
fn passed(parameter: &Parameter) -> String {
    let name = parameter.name;
    match parameter.form {
        ParameterForm::Probabilities => format!("{name}=list({name})"),
        _ => format!("{name}={name}"),
    }
}

fn sentence(entry: &WordEntry) -> String {
    let mut letters = entry.sentence.replace('`', "``");
    letters.replace_range(..1, &letters[..1].to_uppercase());
    let mut lines = vec![String::new()];
    for word in letters.split(' ') {
        let last = lines.last_mut().unwrap();
        let width = last.chars().count() + word.chars().count();
        match last.is_empty() {
            true => last.push_str(word),
            false if width < 105 => write!(last, " {word}").unwrap(),
            false => lines.push(word.to_string()),
        }
    }
    lines.join("\n    ")
}

fn class(entry: &WordEntry) -> String {
    let name = class_of(entry);
    let names: Vec<&str> = entry.parameters.iter().map(|parameter| parameter.name).collect();
    let mut text = format!("\n\nclass {name}(Event):\n    \"\"\"{}.\"\"\"\n\n    __slots__ = ()\n", sentence(entry));
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let comma = if names.len() == 1 { "," } else { "" };
    writeln!(text, "    _word = \"{}\"\n    _parameters = ({}{comma})\n", entry.name, quoted.join(", ")).unwrap();
    text.push_str("    def __init__(\n        self,\n");
    for parameter in entry.parameters {
        writeln!(text, "        {}{},", parameter.name, usual(entry, parameter)).unwrap();
    }
    let sensitivity = if entry.is_additive { "1.0" } else { "None" };
    write!(
        text,
        "        sensitivity: float | None = {sensitivity},\n        *,\n        cells: int = 1,\n        times: int = 1,\n        \
         sampling: Mapping[str, Any] | None = None,\n        moves: Mapping[str, Any] | None = None,\n    ) -> None:\n        \
         super().__init__(\n            {},\n            \
         sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves,\n        )\n",
        entry.parameters.iter().map(passed).collect::<Vec<_>>().join(", ")
    )
    .unwrap();
    text
}

#[test]
fn every_word_has_a_class_in_python() {
    let mut module = "\"\"\"The words of the ledger, a class for each. Written from the table in crates/core/src/event/vocabulary.rs by\n\
                      ``SCUMBLE_UPDATE=1 cargo test -p scumble-wire --test vocabulary``.\"\"\"\n\n\
                      from __future__ import annotations\n\nfrom collections.abc import Mapping, Sequence\n\
                      from typing import Any\n\nfrom ._event import Event\n\n__all__ = [\n"
        .to_string();
    WORDS.iter().for_each(|entry| writeln!(module, "    \"{}\",", class_of(entry)).unwrap());
    module.push_str("]\n");
    WORDS.iter().for_each(|entry| module.push_str(&class(entry)));
    let path = "crates/python/python/scumble/_words.py";
    if std::env::var_os("SCUMBLE_UPDATE").is_some() {
        std::fs::write(repository().join(path), &module).unwrap();
    }
    assert_eq!(read(path), module, "{path} is not what the table says");
    // The package exports all of them, and names none.
    for file in ["__init__.py", "events.py"] {
        let text = read(&format!("crates/python/python/scumble/{file}"));
        for line in ["from ._words import *\n", "\n__all__ += _words.__all__\n"] {
            assert!(text.contains(line), "{file} has no line {line:?}");
        }
        for entry in WORDS {
            let name = class_of(entry);
            assert!(!text.contains(&format!("\"{name}\"")), "{name} is named in {file}");
        }
    }
}
