//! The arrows of ARCHITECTURE.md, read from the sources of every crate: a room uses only rooms that stand before it,
//! and no file is in a circle with another. Re-exports are followed to the file that defines a name; a file and the
//! folder that it heads are one thing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of the crates that have some, from the ground up. A room that begins with another's name stands apart
/// from it.
const HOUSES: &[(&str, &[&str])] = &[("core", CORE), ("engine", ENGINE)];

const CORE: &[&str] =
    &["error", "quantity", "noise", "scope", "event", "loss", "calibrate", "mechanism", "parties", "workload", "learn"];

const ENGINE: &[&str] = &[
    "place",
    "error",
    "calendar",
    "digest",
    "memory",
    "stop",
    "guarded",
    "room",
    "project",
    "tables",
    "sql",
    "frame",
    "remote",
    "attackers",
    "release",
    "kinds",
    "release::run",
    "summary",
    "report",
    "init",
    "demo",
];

/// The modules of a crate, each with its text; tests are left out, because a test may look anywhere.
struct Sources(BTreeMap<String, String>);

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

/// A file's code: no comments, no texts, no tests at its end.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let mut kept = String::new();
    for line in lines {
        // Texts hold no paths: every other piece between quotes is one.
        kept.extend(line.split('"').step_by(2));
        kept.push('\n');
    }
    kept
}

impl Sources {
    fn of(source: &Path) -> Self {
        let mut modules = BTreeMap::new();
        for path in files(source) {
            let inside = path.strip_prefix(source).unwrap().with_extension("");
            let mut parts: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if parts.iter().any(|part| ["tests", "generator", "coverage", "harness"].contains(&part.as_str())) {
                continue;
            }
            parts.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
            modules.insert(parts.join("::"), code(&fs::read_to_string(&path).unwrap()));
        }
        Self(modules)
    }

    /// Where a path leads that stands in a module, from the crate's root; none for other crates and for what is not a
    /// module here.
    fn absolute(&self, module: &str, path: &str) -> Option<Vec<String>> {
        let mut steps: Vec<&str> = path.split("::").collect();
        let mut at: Vec<String> = module.split("::").filter(|part| !part.is_empty()).map(str::to_string).collect();
        match *steps.first()? {
            "crate" => {
                at.clear();
                steps.remove(0);
            }
            "self" => drop(steps.remove(0)),
            "super" => {
                while steps.first() == Some(&"super") {
                    at.pop()?;
                    steps.remove(0);
                }
            }
            first => {
                let child = at.iter().map(String::as_str).chain([first]).collect::<Vec<_>>().join("::");
                self.0.get(&child)?;
            }
        }
        at.extend(steps.into_iter().filter(|step| *step != "self").map(str::to_string));
        Some(at)
    }

    /// The longest beginning of a path that is a module.
    fn module(&self, path: &[String]) -> Option<(String, usize)> {
        (1..=path.len()).rev().map(|end| (path[..end].join("::"), end)).find(|(name, _)| self.0.contains_key(name))
    }

    /// Who uses whom, by which name.
    fn arrows(&self) -> BTreeMap<(String, String), BTreeSet<String>> {
        let exported = self.exported();
        let mut arrows: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        for (module, text) in &self.0 {
            for path in paths(text) {
                let Some(mut path) = self.absolute(module, &path) else { continue };
                // A name that is exported again is its own file's.
                for _ in 0..6 {
                    let Some((name, end)) = self.module(&path) else { break };
                    let Some(next) = path.get(end).and_then(|item| exported.get(&(name, item.clone()))) else { break };
                    path = next.iter().cloned().chain(path[end + 1..].iter().cloned()).collect();
                }
                let Some((other, _)) = self.module(&path) else { continue };
                if !is_related(module, &other) {
                    let name = path.last().cloned().unwrap_or_default();
                    arrows.entry((module.clone(), other)).or_default().insert(name);
                }
            }
        }
        arrows
    }

    /// What modules export again, and what it stands for.
    fn exported(&self) -> BTreeMap<(String, String), Vec<String>> {
        let mut exported = BTreeMap::new();
        for (module, text) in &self.0 {
            for statement in statements(text).into_iter().filter(|statement| statement.starts_with("pub")) {
                for leaf in leaves(&statement) {
                    let (path, name) =
                        leaf.split_once(" as ").unwrap_or((&leaf, leaf.rsplit("::").next().unwrap_or("")));
                    if let Some(path) = self.absolute(module, path).filter(|path| path.join("::") != *module) {
                        exported.insert((module.clone(), name.to_string()), path);
                    }
                }
            }
        }
        exported
    }
}

/// A folder and what is in it are one room.
fn is_related(one: &str, other: &str) -> bool {
    let is_inside =
        |inner: &str, outer: &str| outer.is_empty() || inner == outer || inner.starts_with(&format!("{outer}::"));
    is_inside(one, other) || is_inside(other, one)
}

/// The `use` statements of a text, each on one line.
fn statements(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("use ") {
        let line = rest[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = rest[line..at].trim();
        let end = rest[at..].find(';').map_or(rest.len(), |end| at + end);
        if before.is_empty() || before.starts_with("pub") {
            let words: Vec<&str> = rest[at + 4..end].split_whitespace().collect();
            found.push(format!("{}{}", if before.is_empty() { "" } else { "pub " }, words.join(" ")));
        }
        rest = &rest[end..];
    }
    found
}

/// The paths of a `use` statement, one by one.
fn leaves(statement: &str) -> Vec<String> {
    fn open(before: &str, tree: &str, found: &mut Vec<String>) {
        let tree = tree.trim();
        let Some((head, body)) = tree.split_once('{') else {
            found.push(format!("{before}{tree}"));
            return;
        };
        let body = body.trim_end().strip_suffix('}').unwrap_or(body);
        let (mut depth, mut start) = (0, 0);
        for (at, letter) in body.char_indices().chain([(body.len(), ',')]) {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    if !body[start..at].trim().is_empty() {
                        open(&format!("{before}{head}"), &body[start..at], found);
                    }
                    start = (at + 1).min(body.len());
                }
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    open("", statement.strip_prefix("pub ").unwrap_or(statement), &mut found);
    found
}

/// Every path in a text: those of `use` statements, and those in code that begin at the crate or a parent.
fn paths(text: &str) -> Vec<String> {
    let used = statements(text).into_iter().flat_map(|statement| leaves(&statement));
    let used = used.map(|leaf| leaf.split(" as ").next().unwrap_or_default().to_string());
    let in_code = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != ':');
    used.chain(in_code.filter(|word| word.contains("::")).map(str::to_string)).collect()
}

/// The sets of modules that reach each other.
fn circles(arrows: &BTreeMap<(String, String), BTreeSet<String>>) -> Vec<BTreeSet<String>> {
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in arrows.keys() {
        next.entry(from).or_default().insert(to);
    }
    let reach = |from: &str| -> BTreeSet<&str> {
        let mut seen = BTreeSet::new();
        let mut waiting: Vec<&str> = next.get(from).into_iter().flatten().copied().collect();
        while let Some(one) = waiting.pop() {
            if seen.insert(one) {
                waiting.extend(next.get(one).into_iter().flatten());
            }
        }
        seen
    };
    let all: BTreeMap<&str, BTreeSet<&str>> = next.keys().map(|from| (*from, reach(from))).collect();
    let mut found = BTreeSet::new();
    for (from, reached) in &all {
        if reached.contains(from) {
            let back = |other: &&&str| all.get(**other).is_some_and(|theirs| theirs.contains(from));
            found.insert(reached.iter().filter(back).map(ToString::to_string).collect::<BTreeSet<String>>());
        }
    }
    found.into_iter().collect()
}

fn crates() -> Vec<(String, Sources)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().join("src").is_dir())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), Sources::of(&entry.path().join("src"))))
        .collect();
    found.sort_by(|(left, _), (right, _)| left.cmp(right));
    found
}

/// The longest room that a module is in.
fn room(rooms: &[&str], module: &str) -> usize {
    let is_in = |room: &&str| module == *room || module.starts_with(&format!("{room}::"));
    let own = rooms.iter().enumerate().filter(|(_, room)| is_in(room)).max_by_key(|(_, room)| room.len());
    own.unwrap_or_else(|| panic!("{module} is in no room: put it where it belongs")).0
}

#[test]
fn no_room_uses_one_that_stands_behind_it() {
    let (mut seen, mut back) = (BTreeMap::<&str, usize>::new(), Vec::new());
    for (name, sources) in crates() {
        let Some((_, rooms)) = HOUSES.iter().find(|(house, _)| *house == name) else { continue };
        for ((from, to), names) in sources.arrows() {
            let (own, other) = (room(rooms, &from), room(rooms, &to));
            if own != other {
                *seen.entry(rooms[own]).or_default() += 1;
            }
            if other > own {
                back.push(format!("{from} uses {to} ({names:?})"));
            }
        }
    }
    assert!(back.is_empty(), "arrows that run back:\n{}", back.join("\n"));
    // The test itself sees arrows: it is not fooled by another way of writing them.
    assert!(seen["kinds"] > 100 && seen["sql"] > 30 && seen["report"] > 10 && seen["mechanism"] > 100, "{seen:?}");
}

/// The story: 39 files of one folder were a circle, closed by one line, and a test that read rooms could not see it.
#[test]
fn no_file_is_in_a_circle() {
    let of = |(name, sources): (String, Sources)| {
        circles(&sources.arrows()).into_iter().map(|circle| format!("{name}: {circle:?}")).collect::<Vec<_>>()
    };
    let found: Vec<String> = crates().into_iter().flat_map(of).collect();
    assert!(found.is_empty(), "circles between files:\n{}", found.join("\n"));
    // The test itself sees circles, through a name that is exported again.
    let sources = [("a", "use crate::b::Two;"), ("b", "pub use crate::c::Two;"), ("c", "use crate::a::One;")];
    let sources = sources.map(|(name, text)| (name.to_string(), text.to_string()));
    assert_eq!(circles(&Sources(BTreeMap::from(sources)).arrows()), [BTreeSet::from(["a".into(), "c".into()])]);
}

/// What others must know of a kind is a field of its record: a name that is compared with elsewhere is one more file
/// that a new kind would touch.
#[test]
fn outside_of_kinds_nobody_compares_with_a_kind() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let names: Vec<&str> = scumble_engine::kinds::registry::KINDS.iter().map(|kind| kind.name).collect();
    let mut compared = Vec::new();
    for name in ["engine", "server", "cli", "python"] {
        let source = folder.join(name).join("src");
        for path in files(&source) {
            let inside = path.strip_prefix(&source).unwrap().display().to_string();
            let is_test = ["tests", "generator", "coverage"].iter().any(|part| inside.contains(part));
            if is_test || (name == "engine" && inside.starts_with("kinds/")) {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            for line in text.lines().map(|line| line.split("//").next().unwrap_or_default()) {
                let names_it = |kind: &&str| {
                    // Compared on either side, or the arm of a match.
                    let written = [
                        format!("== \"{kind}\""),
                        format!("!= \"{kind}\""),
                        format!("\"{kind}\" =="),
                        format!("\"{kind}\" !="),
                        format!("\"{kind}\" =>"),
                        format!("\"{kind}\" |"),
                        format!("::{}::KIND", kind.replace('-', "_")),
                    ];
                    written.iter().any(|one| line.contains(one.as_str()))
                };
                if names.iter().any(names_it) {
                    compared.push(format!("{name}/{inside}: {}", line.trim()));
                }
            }
        }
    }
    assert!(compared.is_empty(), "kinds are named outside of kinds/:\n{}", compared.join("\n"));
}

/// Everything that a package stands on, from the lock file.
fn tree(package: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock")).unwrap();
    let mut uses: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in text.split("[[package]]") {
        let (fields, listed) = entry.split_once("dependencies = [").unwrap_or((entry, ""));
        if let Some(name) = fields.split("name = \"").nth(1).and_then(|rest| rest.split('"').next()) {
            // Where two versions are there, a name is followed by one.
            let names = listed.split('"').skip(1).step_by(2).filter_map(|used| used.split(' ').next());
            uses.entry(name).or_default().extend(names);
        }
    }
    let (mut seen, mut waiting) = (BTreeSet::new(), vec![package]);
    while let Some(one) = waiting.pop() {
        if seen.insert(one.to_string()) {
            waiting.extend(uses.get(one).into_iter().flatten());
        }
    }
    seen
}

/// The ledger's crash tests run in seconds because nothing heavy is built for them.
#[test]
fn datafusion_is_not_below_the_ledger() {
    let below = tree("scumble-ledger");
    assert!(below.contains("rusqlite") && below.contains("num-bigint"), "the lock file was not read: {below:?}");
    let heavy = ["datafusion", "arrow", "tokio", "scumble-engine"];
    let found: Vec<_> = below.iter().filter(|name| heavy.iter().any(|one| name.starts_with(one))).collect();
    assert!(found.is_empty(), "{found:?}");
    assert!(tree("scumble-engine").contains("datafusion"), "what is heavy is seen where it is");
}
