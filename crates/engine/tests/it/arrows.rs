//! The arrows of ARCHITECTURE.md: a room of the engine uses only rooms that stand before it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// From the ground up.
const ROOMS: [&str; 23] = [
    "place",
    "error",
    "time",
    "calendar",
    "digest",
    "file",
    "memory",
    "stop",
    "guarded",
    "room",
    "budget",
    "project",
    "backend",
    "check",
    "sql",
    "ledger",
    "attackers",
    "release",
    "summary",
    "report",
    "init",
    "demo",
    "lib",
];

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .collect()
}

/// What a file says about other rooms (`crate::room…`), without comments. A test may look anywhere: files and modules of tests are left
/// out, and so are the generator of queries and its companions, which are tests.
fn mentioned(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let mut found = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" && lines.peek().is_some_and(|next| next.trim().starts_with("mod tests {")) {
            break;
        }
        let code = line.split("//").next().unwrap_or_default();
        found.extend(code.split("crate::").skip(1).flat_map(|rest| match rest.strip_prefix('{') {
            Some(several) => several.trim_end_matches(['}', ';']).split(',').map(first_word).collect::<Vec<_>>(),
            None => vec![first_word(rest)],
        }));
    }
    found
}

fn first_word(text: &str) -> String {
    text.trim().chars().take_while(|letter| letter.is_lowercase() || *letter == '_').collect()
}

#[test]
fn no_room_uses_one_that_stands_behind_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let place = |room: &str| ROOMS.iter().position(|known| *known == room);
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut back = Vec::new();
    for path in files(&source) {
        let inside = path.strip_prefix(&source).unwrap();
        let parts: Vec<String> =
            inside.iter().map(|part| part.to_string_lossy().trim_end_matches(".rs").to_string()).collect();
        if parts.iter().any(|part| part == "tests" || part == "generator") {
            continue;
        }
        let room = parts[0].clone();
        let own = place(&room).unwrap_or_else(|| panic!("{room} is not among the rooms: put it where it belongs"));
        for other in mentioned(&path) {
            if let Some(other_place) = place(&other).filter(|other_place| *other_place != own) {
                *seen.entry(room.clone()).or_default() += 1;
                if other_place > own {
                    back.push(format!("{} uses {other}", inside.display()));
                }
            }
        }
    }
    assert!(back.is_empty(), "arrows that run back:\n{}", back.join("\n"));
    // The test itself sees arrows: it is not fooled by another way of writing them.
    assert!(seen["release"] > 50 && seen["sql"] > 30 && seen["report"] > 10, "{seen:?}");
}
