//! The arrows of ARCHITECTURE.md are true: a module uses what stands before it in the chain, never back, and no two
//! files of the crate use each other in a circle.
//!
//! Read are `use` lines and paths in the code (`crate::…`, `super::…`), not comments and not tests. A file and those in
//! its folder belong together (`loss.rs` or `loss/mod.rs` and `loss/law.rs`): between them both directions are allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The chain; what stands in one row may be used from the rows below it only, except for the arrows within a row that
/// are listed.
const CHAIN: &[&[&str]] = &[
    &["error", "quantity"],
    &["noise"],
    &["scope", "event"],
    &["loss"],
    &["calibrate"],
    &["mechanism"],
    &["parties"],
    &["workload", "learn"],
];
const WITHIN_A_ROW: &[(&str, &str)] = &[("quantity", "error"), ("event", "scope")];

#[test]
fn no_arrow_runs_back() {
    let row = |module: &str| CHAIN.iter().position(|row| row.contains(&module));
    let mut back = BTreeSet::new();
    for (file, uses) in arrows() {
        let from = file.split("::").next().unwrap_or_default();
        let own = row(from).unwrap_or_else(|| panic!("{from} is not in the chain: put it where it belongs"));
        for used in uses.iter().map(|path| path.split("::").next().unwrap_or_default()) {
            let Some(other) = row(used) else { continue };
            let sideways = other == own && used != from && !WITHIN_A_ROW.contains(&(from, used));
            if other > own || sideways {
                back.insert((file.clone(), used.to_string()));
            }
        }
    }
    assert!(back.is_empty(), "these run back: {back:?}");
}

#[test]
fn no_two_files_use_each_other() {
    let related = |a: &str, b: &str| a.starts_with(&format!("{b}::")) || b.starts_with(&format!("{a}::"));
    let mut graph = arrows();
    for (file, uses) in &mut graph {
        uses.retain(|used| used != file && !related(used, file));
    }
    for (one, uses) in &graph {
        for other in uses {
            assert!(!reaches(&graph, other, one), "{one} uses {other}, which comes back to it");
        }
    }
}

fn reaches(graph: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
    let (mut open, mut seen) = (vec![from], BTreeSet::new());
    while let Some(at) = open.pop() {
        if at == to {
            return true;
        }
        if seen.insert(at) {
            open.extend(graph.get(at).into_iter().flatten().map(String::as_str));
        }
    }
    false
}

/// Each file as a module path, with the files whose modules it names.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut texts = BTreeMap::new();
    read(&source, "", &mut texts);
    let files: BTreeSet<String> = texts.keys().cloned().collect();
    assert!(files.len() > 100, "the sources were not found");
    let uses = |(file, text): (&String, &String)| {
        let all = paths(text).into_iter().filter_map(|path| resolved(file, &path, &files)).collect();
        (file.clone(), all)
    };
    texts.iter().map(uses).collect()
}

fn read(folder: &Path, module: &str, texts: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_stem().unwrap().to_str().unwrap().to_string();
        let below = if module.is_empty() { name.clone() } else { format!("{module}::{name}") };
        if ["tests", "harness", "test_support", "test_shapes"].contains(&name.as_str()) {
            continue;
        }
        if entry.is_dir() {
            read(&entry, &below, texts);
        } else if name != "lib" {
            let own = if name == "mod" { module.to_string() } else { below };
            texts.insert(own, code(&std::fs::read_to_string(&entry).unwrap()));
        }
    }
}

/// Without comments, and without the tests at the end of the file.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Every path in the code: those of `use` lines with their braces opened, and those within expressions.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("use ") {
        let is_word = rest[..at].chars().next_back().is_none_or(|before| before.is_whitespace());
        let end = rest[at..].find(';').map_or(rest.len(), |end| at + end);
        if is_word {
            open_braces("", &rest[at + 4..end].split_whitespace().collect::<Vec<_>>().join(" "), &mut found);
        }
        rest = &rest[if is_word { end } else { at + 4 }..];
    }
    let words = code.split(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == ':'));
    found.extend(words.filter(|word| word.contains("::")).map(str::to_string));
    found
}

fn open_braces(before: &str, path: &str, found: &mut Vec<String>) {
    let path = path.trim();
    let Some((head, body)) = path.split_once('{') else {
        found.push(format!("{before}{}", path.split(" as ").next().unwrap_or_default()));
        return;
    };
    let body = body.strip_suffix('}').unwrap_or(body);
    let (mut depth, mut start) = (0, 0);
    for (at, letter) in body.char_indices().chain([(body.len(), ',')]) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !body[start..at].trim().is_empty() {
                    open_braces(&format!("{before}{head}"), &body[start..at], found);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// The file that a path in `file` leads to: the longest module of the crate that it begins with.
fn resolved(file: &str, path: &str, files: &BTreeSet<String>) -> Option<String> {
    let mut at: Vec<&str> = file.split("::").collect();
    let mut steps = path.split("::").peekable();
    match steps.peek() {
        Some(&"crate") => {
            at.clear();
            steps.next();
        }
        Some(&"super") => {
            while steps.next_if_eq(&"super").is_some() {
                at.pop();
            }
        }
        Some(&"self") => {
            steps.next();
        }
        Some(first) if files.contains(&format!("{file}::{first}")) => {}
        _ => return None,
    }
    let mut longest = files.contains(&at.join("::")).then(|| at.join("::"));
    for step in steps {
        at.push(step);
        if files.contains(&at.join("::")) {
            longest = Some(at.join("::"));
        }
    }
    longest
}

#[test]
fn paths_are_read_as_they_are_written() {
    let text =
        "use crate::{a::{B, c}, d as e};\npub(crate) use super::f::G;\nfn h() { super::super::i::j(); crate::k(); }";
    let found = paths(&code(text));
    for path in ["crate::a::B", "crate::a::c", "crate::d", "super::f::G", "super::super::i::j", "crate::k"] {
        assert!(found.iter().any(|other| other == path), "{path}: {found:?}");
    }
    assert!(paths(&code("// use crate::loss;\n/// [`crate::loss`]")).is_empty());
    let files: BTreeSet<String> = ["a", "a::c", "a::c::i"].map(str::to_string).into();
    assert_eq!(resolved("a::c", "super::c::i::j", &files).as_deref(), Some("a::c::i"));
    assert_eq!(resolved("a::c", "crate::a::B", &files).as_deref(), Some("a"));
    assert_eq!(resolved("a", "c::i", &files).as_deref(), Some("a::c::i"));
    assert_eq!(resolved("a", "std::fmt", &files), None);
}
