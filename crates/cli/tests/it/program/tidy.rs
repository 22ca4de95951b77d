//! What a reader relies on: the architecture page names every room, nothing refers to a place outside of the project.

use std::fs;
use std::path::{Path, PathBuf};

pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(super) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every text file that belongs to the project, by its path from the root.
pub(super) fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let skipped = name == "target" || name == ".git" || name.starts_with(".venv") || name == "out";
        if path.is_dir() && !skipped {
            files(&path, found);
        } else if ["rs", "md", "toml", "json", "py", "svg", "html"].iter().any(|end| name.ends_with(&format!(".{end}")))
        {
            found.push(path);
        }
    }
}

#[test]
fn the_architecture_page_names_every_crate_and_every_module_of_the_core() {
    let page = read("ARCHITECTURE.md");
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        let name = folder.unwrap().file_name().to_string_lossy().into_owned();
        assert!(page.contains(&format!("crates/{name}")), "ARCHITECTURE.md does not name crates/{name}");
    }
    for line in read("crates/core/src/lib.rs").lines() {
        if let Some(module) = line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(';')) {
            assert!(page.contains(&format!("`{module}`")), "ARCHITECTURE.md does not name `{module}`");
        }
    }
    assert!(page.lines().count() <= 200, "ARCHITECTURE.md is longer than anybody reads");
}

#[test]
fn the_page_gives_a_reason_for_every_dependency() {
    let page = read("ARCHITECTURE.md");
    let manifest = read("Cargo.toml");
    let section = manifest.split("[workspace.dependencies]").nth(1).unwrap();
    for line in section.lines().take_while(|line| !line.starts_with('[')).filter(|line| line.contains('=')) {
        let name = line.split('=').next().unwrap().trim();
        let ours = name.starts_with("scumble");
        assert!(ours || page.contains(&format!("`{name}`")), "ARCHITECTURE.md gives no reason for {name}");
    }
}

/// What a manifest declares and no source names is built by everybody for nothing: the engine had four of these.
#[test]
fn every_declared_dependency_is_used() {
    let mut unused = Vec::new();
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        let folder = folder.unwrap().path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let mut sources = Vec::new();
        files(&folder, &mut sources);
        let texts: Vec<String> = sources
            .iter()
            .filter(|path| path.extension().is_some_and(|end| end == "rs"))
            .map(|path| fs::read_to_string(path).unwrap())
            .collect();
        let sections = manifest.split("\n[").filter(|section| section.contains("dependencies]"));
        let names = sections.flat_map(|section| section.lines().skip(1).filter(|line| line.contains('=')));
        for name in names.filter(|line| !line.starts_with('#')) {
            let name = name.split(['.', ' ', '=']).next().unwrap().replace('-', "_");
            let is_named = |text: &String| {
                [format!("{name}::"), format!("use {name};"), format!("extern crate {name}")]
                    .iter()
                    .any(|used| text.contains(used.as_str()))
            };
            if !texts.iter().any(is_named) {
                unused.push(format!("{}: {name}", folder.display()));
            }
        }
    }
    assert!(unused.is_empty(), "declared and never named: {unused:#?}");
}

#[test]
fn nothing_refers_to_a_place_outside_of_the_project() {
    let mut found = Vec::new();
    files(&root(), &mut found);
    assert!(found.len() > 30, "the walk has missed the project");
    // Built in pieces, so that this file does not name them itself.
    let forbidden = [["../", "shared"].concat(), ["/work", "/"].concat(), ["/root", "/"].concat()];
    for path in found {
        let text = fs::read_to_string(&path).unwrap_or_default();
        for place in &forbidden {
            assert!(!text.contains(place.as_str()), "{} refers to {place}", path.display());
        }
    }
}

#[test]
fn the_readme_names_the_two_commands_and_its_links_lead_somewhere() {
    let readme = read("README.md");
    for command in ["\ncargo run -- demo ", "\ncargo test ", "`cargo test --workspace`"] {
        assert!(readme.contains(command), "the README does not say '{command}'");
    }
    let script = read(".ci/run");
    assert!(script.contains("cargo test --workspace"), ".ci/run does not run the README's whole suite");
    for link in readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(root().join(link).exists(), "the README links to {link}, which is not there");
    }
}

/// One slip of 176 stood in code that had been written anew, and so the program that tries them all could try none of
/// them, which nobody saw for as long as nobody ran it. A slip holds one piece of text that stands exactly once in its
/// file, or the change that moved it has to write it anew.
#[test]
fn every_slip_applies_exactly_once() {
    let mut slips = 0;
    let mut wrong = Vec::new();
    for entry in fs::read_dir(root().join("tools/slips")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "slip") {
            continue;
        }
        slips += 1;
        let text = fs::read_to_string(&path).unwrap();
        let edits = edits(&text);
        assert!(!edits.is_empty() && text.contains("\n# test: "), "{} has no FILE or no test", path.display());
        for (file, before, after) in edits {
            let source = fs::read_to_string(root().join(&file)).unwrap_or_default();
            let times = source.matches(&before).count();
            if times != 1 || before == after {
                wrong.push(format!("{}: {times} times in {file}", path.file_name().unwrap().display()));
            }
        }
    }
    assert!(slips > 170, "the walk has missed the slips: {slips}");
    assert!(wrong.is_empty(), "write these anew (tools/slips/README.md):\n{}", wrong.join("\n"));
}

/// The blocks of a slip: file, what stands there, and what it becomes.
fn edits(text: &str) -> Vec<(String, String, String)> {
    let between = |text: &str, from: &str, to: &str| {
        let rest = &text[text.find(from)? + from.len()..];
        Some(rest[..rest.find(to)?].to_string())
    };
    let blocks = text.split("\nFILE ").skip(1);
    let edit = |block: &str| {
        let file = block.lines().next()?.to_string();
        Some((file, between(block, "\nBEFORE\n", "\nAFTER\n")?, between(block, "\nAFTER\n", "\nEND")?))
    };
    blocks.filter_map(edit).collect()
}
/// A comment in one long line is cut off in a terminal and in a review. Rows of tables and code may be longer, because
/// a break changes what they show.
#[test]
fn comments_fit_a_screen() {
    let mut found = Vec::new();
    files(&root().join("crates"), &mut found);
    let sources = found.iter().filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let (mut comments, mut long) = (0, Vec::new());
    for path in sources {
        let mut is_code = false;
        for (number, line) in fs::read_to_string(path).unwrap().lines().enumerate() {
            let Some(text) = line.trim_start().strip_prefix("//") else {
                is_code = false;
                continue;
            };
            let text = text.strip_prefix(['/', '!']).unwrap_or(text);
            comments += 1;
            let is_fence = text.trim_start().starts_with("```");
            is_code ^= is_fence;
            let is_exempt = is_code || is_fence || text.starts_with("     ") || text.trim_start().starts_with('|');
            if line.chars().count() > 120 && !is_exempt {
                long.push(format!("{}:{}", path.display(), number + 1));
            }
        }
    }
    assert!(comments > 20_000, "the walk has missed the comments: {comments}");
    assert!(long.is_empty(), "comments of more than 120 characters: {long:#?}");
}
