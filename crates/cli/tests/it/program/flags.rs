//! What every command has: `--json`, `--quiet`, and plain lines of progress where there is no terminal.

use super::tree::{TREE, help};
use crate::support::Folder;
use std::collections::BTreeSet;

/// What these print is for a shell and for `man`.
const NO_ANSWER: [&str; 2] = ["setup completions", "setup manual"];

#[test]
fn every_command_has_json_and_quiet() {
    let leaves: Vec<_> = TREE.iter().filter(|help| !help.is_group()).collect();
    assert!(leaves.len() >= 50, "the walk has missed commands: {}", leaves.len());
    for help in leaves.iter().filter(|help| !NO_ANSWER.contains(&help.path.join(" ").as_str())) {
        for flag in ["--json", "--quiet"] {
            assert!(help.text.contains(flag), "{:?} has no {flag}:\n{}", help.path, help.text);
        }
    }
}

/// Clap has no groups of commands, so the program writes its own list: each command must be in it once.
#[test]
fn the_help_has_every_command_in_one_of_its_groups() {
    let top = help("");
    let headings: Vec<&str> =
        top.sections().iter().map(|(heading, _)| *heading).filter(|heading| !heading.is_empty()).collect();
    assert_eq!(headings, ["Daily", "More releases", "More commands", "Examples", "Options"], "{}", top.text);
    // The completions are made from the commands that the program has, not from the list.
    let fish = Folder::with(&[]).stdout(&["setup", "completions", "fish"]);
    let begin = "-n \"__fish_scumble_needs_command\" -f -a \"";
    let names = fish.lines().filter_map(|line| line.split_once(begin)?.1.split('"').next());
    let mut known: Vec<&str> = names.filter(|name| *name != "help").collect();
    let below = top.below();
    let mut grouped: Vec<&str> = below.iter().map(|(_, name, _)| name.as_str()).collect();
    grouped.sort();
    known.sort();
    assert_eq!(grouped, known);
}

/// Commands that moved into a group work at the top until 0.2; nothing shows them there.
#[test]
fn old_names_work_and_are_not_shown() {
    let folder = Folder::with(&[]);
    let shown: BTreeSet<String> = help("").below().into_iter().map(|(_, name, _)| name).collect();
    let mut old = vec![("setup", "manual".to_string(), "man".to_string())];
    for group in ["lab", "setup"] {
        old.extend(help(group).below().into_iter().map(|(_, name, _)| (group, name.clone(), name)));
    }
    assert!(old.len() >= 15, "{old:?}");
    for (group, name, old) in old {
        assert!(!shown.contains(&old), "{old}");
        let expected = &help(&format!("{group} {name}")).text;
        assert_eq!(&folder.stdout(&[&old, "--help"]), expected);
        assert_eq!(&folder.stdout(&["--quiet", &old, "--help"]), expected);
        assert_eq!(folder.stdout(&["help", &old]), folder.stdout(&["help", group, &name]));
    }
    let seeded = ["noise", "discrete-laplace", "--scale", "20", "--count", "9", "--insecure-seed", "1"];
    assert_eq!(folder.stdout(&seeded), folder.stdout(&[&["lab"], &seeded[..]].concat()));
    folder.refused(&["acount"], 2, "acount");
}

#[test]
fn completions_and_manual_are_written_from_the_commands() {
    let folder = Folder::with(&[]);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = folder.stdout(&["setup", "completions", shell]);
        assert!(script.contains("anonymized-histogram") && script.contains("insecure-seed"), "{shell}: {script}");
    }
    folder.refused(&["setup", "completions", "basic"], 2, "basic");
    let page = folder.stdout(&["setup", "manual"]);
    assert!(page.contains(".TH scumble 1") && page.contains("scumble\\-release(1)"), "{page}");
    assert!(!page.contains("scumble\\-account(1)"), "{page}");
    assert!(folder.stdout(&["setup", "manual", "--out", "."]).is_empty());
    for help in TREE.iter() {
        let name = format!("{}.1", [&["scumble".to_string()], &help.path[..]].concat().join("-"));
        assert!(folder.read(&name).contains(".TH scumble"), "{name}");
    }
    for old in ["scumble-account.1", "scumble-integers.1", "scumble-man.1"] {
        assert!(!folder.file(old).exists(), "{old}");
    }
    folder.refused(
        &["setup", "manual", "--out", "no/such/folder"],
        2,
        "the manual cannot be written to no/such/folder",
    );
}

#[test]
fn progress_is_plain_lines_without_a_terminal_and_nothing_when_quiet() {
    let folder = Folder::with(&[("t.csv", "a\n1\n2\n")]);
    let project = "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\na = { type = \"int\", lower = 0, upper = 9 }\n\
                   [[release]]\nname = \"n\"\nsql = \"SELECT COUNT(*) AS n FROM t\"\ncost = { epsilon = 1 }\n";
    folder.write("scumble.toml", project);
    let shown = folder.run(&["release"]);
    let lines = String::from_utf8(shown.stderr).unwrap();
    assert_eq!(lines, "releasing 'n'\nwriting the report\n");
    for arguments in [
        &["release", "--quiet", "--again", "n"][..],
        &["--quiet", "release", "--again", "n"],
        &["init", "t.csv", "--no-owner", "--output", "first.toml", "--quiet"],
    ] {
        let output = folder.run(arguments);
        assert!(
            output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(),
            "{arguments:?}: {output:?}"
        );
    }
    assert_eq!(folder.json(&["ledger", "--json"])["releases"].as_array().unwrap().len(), 3);
    assert_eq!(
        folder.json(&["noise", "discrete-laplace", "--scale", "2", "--count", "3", "--json"]).as_array().unwrap().len(),
        3
    );
    assert!(
        folder.json(&["anonymized-histogram", "generate", "zipf", "--elements", "100", "--json"])["runs"].is_array()
    );
}
