//! Names of types: each once in its crate, and none that says only what was done to something. Fifteen types were
//! called `Asked`, and a reader of one file could not tell which of them it meant.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Participles that do not end in "ed".
const IRREGULAR: &[&str] = &[
    "Begun",
    "Bought",
    "Built",
    "Chosen",
    "Cut",
    "Done",
    "Drawn",
    "Found",
    "Given",
    "Held",
    "Hidden",
    "Kept",
    "Known",
    "Laid",
    "Left",
    "Lost",
    "Made",
    "Meant",
    "Met",
    "Paid",
    "Put",
    "Read",
    "Said",
    "Seen",
    "Sent",
    "Shown",
    "Split",
    "Spent",
    "Taken",
    "Thrown",
    "Told",
    "Understood",
    "Written",
];

/// Words that mean everything and so nothing.
const VAGUE: &[&str] = &["Data", "Info", "Stuff", "Thing", "Things", "Trouble", "What", "Which", "Who", "Whose", "Why"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// The type that a line defines. Associated types are indented, and are not types of the crate.
fn defined(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let is_inside = code.len() < line.len();
    let mut words = code.split_whitespace().filter(|word| !word.starts_with("pub"));
    let keyword = words.next()?;
    let is_type = ["struct", "enum", "union", "trait"].contains(&keyword) || (keyword == "type" && !is_inside);
    let name = words.next().filter(|_| is_type)?;
    let end = name.find(|sign: char| !sign.is_alphanumeric() && sign != '_').unwrap_or(name.len());
    Some(&name[..end]).filter(|name| name.starts_with(|sign: char| sign.is_ascii_uppercase()))
}

/// Types by crate and name, each with the places where it is defined.
fn types() -> BTreeMap<(String, String), Vec<String>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut types: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for folder in fs::read_dir(crates).unwrap() {
        let folder = folder.unwrap();
        let mut files = Vec::new();
        sources(&folder.path().join("src"), &mut files);
        for file in files {
            for (index, line) in fs::read_to_string(&file).unwrap().lines().enumerate() {
                if let Some(name) = defined(line) {
                    let place = format!("{}:{}", file.display(), index + 1);
                    let package = folder.file_name().to_string_lossy().into_owned();
                    types.entry((package, name.to_string())).or_default().push(place);
                }
            }
        }
    }
    types
}

#[test]
fn definitions_of_types_are_found() {
    assert_eq!(defined("pub(crate) struct Plan<'a> {"), Some("Plan"));
    assert_eq!(defined("    enum Inner {"), Some("Inner"));
    assert_eq!(defined("type Rows = Vec<Row>;"), Some("Rows"));
    assert_eq!(defined("    type Error = Error;"), None);
    assert_eq!(defined("/// struct Comment"), None);
    assert_eq!(defined("let structure = 1;"), None);
}

#[test]
fn no_type_name_stands_twice_in_a_crate() {
    let types = types();
    assert!(types.len() > 1200, "the walk has missed the sources: {}", types.len());
    let twice: Vec<_> = types.iter().filter(|(_, places)| places.len() > 1).collect();
    assert!(twice.is_empty(), "one name for several types of a crate: {twice:#?}");
}

#[test]
fn no_type_is_a_bare_participle() {
    let is_bare = |name: &str| {
        let is_one_word = name.chars().filter(char::is_ascii_uppercase).count() == 1;
        let is_participle = name.len() > 4 && name.ends_with("ed") || IRREGULAR.contains(&name);
        is_one_word && (is_participle || VAGUE.contains(&name))
    };
    let bare: Vec<_> = types().into_iter().filter(|((_, name), _)| is_bare(name)).collect();
    assert!(bare.is_empty(), "names that do not say what the type is: {bare:#?}");
}
