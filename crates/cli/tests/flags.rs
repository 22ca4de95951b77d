//! What every command has: `--json`, `--quiet`, and plain lines of progress where there is no terminal.

mod support;

use support::Folder;

/// The commands that a help text lists, under "Commands:" or under "Distributions:".
fn listed(help: &str) -> Vec<String> {
    let heading = |line: &&str| ["Commands:", "Distributions:"].contains(&line.trim_end());
    let lines = help.lines().skip_while(|line| !heading(line)).skip(1);
    let names = lines
        .take_while(|line| !line.trim().is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(String::from).collect()
}

/// Walks the tree of commands; gives the number of leaves.
fn check(folder: &Folder, path: &[String]) -> usize {
    let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
    arguments.push("--help");
    let help = folder.stdout(&arguments);
    let below = listed(&help);
    if below.is_empty() {
        for flag in ["--json", "--quiet"] {
            assert!(help.contains(flag), "{path:?} has no {flag}:\n{help}");
        }
        return 1;
    }
    below.into_iter().map(|name| check(folder, &[path, &[name]].concat())).sum()
}

#[test]
fn every_command_has_json_and_quiet() {
    assert!(check(&Folder::with(&[]), &[]) >= 20, "the walk has missed commands");
}

#[test]
fn progress_is_plain_lines_without_a_terminal_and_nothing_when_quiet() {
    let folder = Folder::with(&[("t.csv", "a\n1\n2\n")]);
    let project = "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\na = { type = \"int\", lower = 0, upper = 9 }\n\
                   [[release]]\nname = \"n\"\nsql = \"SELECT COUNT(*) AS n FROM t\"\ncost = { epsilon = 1 }\n";
    folder.write("scumble.toml", project);
    let told = folder.run(&["release"]);
    let lines = String::from_utf8(told.stderr).unwrap();
    assert_eq!(lines, "releasing 'n'\nwriting the report\n");
    for arguments in
        [&["release", "--quiet"][..], &["--quiet", "release"], &["init", "t.csv", "--output", "first.toml", "--quiet"]]
    {
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
