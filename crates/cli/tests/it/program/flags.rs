//! What every command has: `--json`, `--quiet`, and plain lines of progress where there is no terminal.

use crate::support::Folder;

/// The commands that a help text lists, under whatever headings, before its arguments and options.
fn listed(help: &str) -> Vec<Vec<String>> {
    let mut heading = "";
    let mut found = Vec::new();
    for line in help.lines() {
        match line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')) {
            Some(entry) if !["Options:", "Arguments:"].contains(&heading) && !heading.starts_with("Example") => {
                let name = entry.split("  ").next().unwrap_or(entry);
                found.push(name.split_whitespace().map(String::from).collect());
            }
            None if line.ends_with(':') => heading = line,
            _ => {}
        }
    }
    found.retain(|name: &Vec<String>| name != &["help"]);
    found
}

/// What these print is for a shell and for `man`.
const NO_ANSWER: [&str; 2] = ["completions", "man"];

/// Walks the tree of commands; gives the number of leaves.
fn check(folder: &Folder, path: &[String]) -> usize {
    let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
    arguments.push("--help");
    let help = folder.stdout(&arguments);
    let below = listed(&help);
    if below.is_empty() {
        for flag in ["--json", "--quiet"].into_iter().filter(|_| !NO_ANSWER.contains(&path[0].as_str())) {
            assert!(help.contains(flag), "{path:?} has no {flag}:\n{help}");
        }
        return 1;
    }
    below.into_iter().map(|name| check(folder, &[path, &name].concat())).sum()
}

#[test]
fn every_command_has_json_and_quiet() {
    assert!(check(&Folder::with(&[]), &[]) >= 20, "the walk has missed commands");
}

/// Clap has no groups of commands, so the program writes its own list: each command must be in it once.
#[test]
fn the_help_has_every_command_in_one_of_its_groups() {
    let help = Folder::with(&[]).stdout(&["help"]);
    let headings: Vec<&str> = help.lines().filter(|line| line.ends_with(':')).collect();
    assert_eq!(
        headings,
        [
            "Publish:",
            "Understand:",
            "Reproduce the tables and pictures of the guides:",
            "Set up:",
            "Examples:",
            "Options:"
        ],
        "{help}"
    );
    let mut grouped: Vec<String> = listed(&help).into_iter().map(|name| name[0].clone()).collect();
    grouped.dedup();
    // The completions are made from the commands that the program has, not from the list.
    let fish = Folder::with(&[]).stdout(&["completions", "fish"]);
    let top = "-n \"__fish_scumble_needs_command\" -f -a \"";
    let names = fish.lines().filter_map(|line| line.split_once(top)?.1.split('"').next());
    let mut known: Vec<&str> = names.filter(|name| *name != "help").collect();
    grouped.sort();
    known.sort();
    assert!(known.len() >= 17, "{known:?}");
    assert_eq!(grouped, known);
}

#[test]
fn completions_and_manual_are_written_from_the_commands() {
    let folder = Folder::with(&[]);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = folder.stdout(&["completions", shell]);
        assert!(script.contains("anonymized-histogram") && script.contains("insecure-seed"), "{shell}: {script}");
    }
    folder.refused(&["completions", "basic"], 2, "basic");
    let page = folder.stdout(&["man"]);
    assert!(page.contains(".TH scumble 1") && page.contains("scumble\\-release(1)"), "{page}");
    assert!(folder.stdout(&["man", "--out", "."]).is_empty());
    for name in ["scumble.1", "scumble-release.1", "scumble-ledger-verify.1", "scumble-reproduce-attackers.1"] {
        assert!(folder.read(name).contains(".TH scumble"), "{name}");
    }
    folder.refused(&["man", "--out", "no/such/folder"], 2, "the manual cannot be written to no/such/folder");
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
