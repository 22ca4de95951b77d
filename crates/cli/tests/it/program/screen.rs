//! What a person at a screen gets: where a project stands, small tables, colour, a question before a second charge, and
//! names of releases that a shell completes.

use crate::fixtures::people::{BUDGET, PEOPLE, counts, folder, people, release, spent, total};
use crate::support::{Folder, printed, scumble};
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_scumble");

/// Nobody could see what a project had published without reading its ledger and its folder side by side.
#[test]
fn one_screen_says_where_a_project_stands() {
    let folder = folder(&[counts(), total()].concat());
    let state = |folder: &Folder, name: &str| {
        let shown = folder.json(&["status", "--json"]);
        let found = shown["releases"].as_array().unwrap().iter().find(|one| one["name"] == name).cloned();
        found.unwrap()["state"].as_str().unwrap().to_string()
    };
    let said = folder.stdout(&["status"]);
    assert!(said.contains("nothing was spent") && said.ends_with("next: scumble release\n"), "{said}");
    assert!(!folder.file("scumble.ledger").exists(), "nothing is made");
    folder.stdout(&["release", "--quiet", "--only", "counts"]);
    let said = folder.stdout(&["status"]);
    let lines: Vec<String> = said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert!(lines.iter().any(|line| line.starts_with("person 0.5 ") && line.ends_with(" 1.5")), "{said}");
    assert!(lines.iter().any(|line| line == "total to run epsilon=0.5"), "{said}");
    assert!(said.lines().count() <= 24 && said.lines().all(|line| line.chars().count() <= 100), "{said}");
    assert_eq!([state(&folder, "counts"), state(&folder, "total")], ["published", "to-run"]);
    folder.stdout(&["release", "--quiet"]);
    assert!(folder.stdout(&["status"]).ends_with("everything is published\n"));
    // What changed: a declaration, a file of numbers, the data, the budget.
    let budget = BUDGET.replace("2.0", "3.0");
    folder.write("scumble.toml", &format!("{PEOPLE}{budget}{}{}", counts().replace("AS n", "AS m"), total()));
    std::fs::remove_file(folder.file("out/total.csv")).unwrap();
    folder.write("people.csv", &people(300));
    let said = folder.stdout(&["status"]).split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "'counts' is published with another declaration (entry 4): it would cost epsilon=0.5 again",
        "total.csv is not there any more",
        "table 'people': its files changed since the ledger saw them last",
        "the budget of the project file is not the one that is in force",
        "next: undo what changed, or scumble release --again counts --again total",
    ] {
        assert!(said.contains(words), "{said}\n not: {words}");
    }
    assert_eq!([state(&folder, "counts"), state(&folder, "total")], ["changed", "lost"]);
}

/// The numbers of a release were in a file that somebody had to open.
#[test]
fn a_release_prints_small_tables() {
    let ages = release("ages", "SELECT age, COUNT(*) AS n FROM people GROUP BY age");
    let folder = folder(&[counts(), ages].concat());
    let said = folder.stdout(&["release"]);
    let (small, large) = said.split_once("ages: 121 rows in ").unwrap();
    assert!(small.contains("\n  sex  ") && small.contains(" n ± 95%\n") && small.matches(" ± ").count() == 3, "{said}");
    assert!(!large.contains(" ± "), "{said}");
    assert!(!folder.stdout(&["release"]).contains(" ± "), "what is kept was printed before");
    assert!(folder.stdout(&["release", "--quiet", "--again", "counts"]).is_empty());
}

/// What a program prints on a terminal, where there is one to be had.
fn on_a_terminal(folder: &Folder, arguments: &str, typed: &str, environment: &[(&str, &str)]) -> Option<String> {
    let line = format!("printf '{typed}' | script -qec \"'{PROGRAM}' {arguments}\" /dev/null");
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(folder.path()).env("TERM", "xterm").env_remove("NO_COLOR");
    let has_terminals = Command::new("script").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has_terminals {
        eprintln!("NOT TESTED: there is no script, which makes terminals");
        return None;
    }
    let output = command.envs(environment.iter().copied()).output().unwrap();
    Some(String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n"))
}

/// Colour is for a terminal whose reader wants it, and never in a pipe.
#[test]
fn colour_is_for_terminals() {
    let folder = folder(&counts());
    assert!(!folder.stdout(&["plan"]).contains('\u{1b}'));
    let Some(said) = on_a_terminal(&folder, "plan", "", &[]) else { return };
    assert!(said.contains("\u{1b}[1mrelease "), "{said:?}");
    for environment in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let said = on_a_terminal(&folder, "plan", "", &[environment]).unwrap();
        assert!(said.contains("counts") && !said.contains('\u{1b}'), "{said:?}");
    }
}

/// At a terminal somebody is asked before a second charge; everywhere else a release stops.
#[test]
fn a_second_charge_is_asked_about_at_a_terminal() {
    let folder = folder(&counts());
    folder.stdout(&["release", "--quiet"]);
    folder.write("scumble.toml", &format!("{PEOPLE}{BUDGET}{}", counts().replace("AS n", "AS m")));
    let Some(said) = on_a_terminal(&folder, "release", "n\\n", &[]) else { return };
    assert!(said.contains("it would cost epsilon=0.5 again") && said.contains("charge again? [y/N]"), "{said}");
    assert!(said.contains("nothing was charged") && spent(&folder) == 0.5, "{said}");
    let said = on_a_terminal(&folder, "release", "y\\n", &[]).unwrap();
    assert!(said.contains("counts: 2 rows in ") && spent(&folder) == 1.0, "{said}");
}

/// Names of releases have spaces, and had to be typed to the letter.
#[test]
fn a_shell_completes_names_of_releases() {
    let folder = folder(&[counts().replace("\"counts\"", "\"by sex\""), total()].concat());
    assert_eq!(folder.stdout(&["setup", "names"]), "by sex\ntotal\n");
    assert_eq!(Folder::with(&[]).stdout(&["setup", "names"]), "");
    let zsh = printed(scumble(&["setup", "completions", "zsh"]));
    assert!(zsh.matches(":NAME:_scumble_names'").count() >= 3 && zsh.contains("\n_scumble_names() {"), "{zsh}");
    let fish = printed(scumble(&["setup", "completions", "fish"]));
    assert!(fish.matches("-a '(scumble setup names 2>/dev/null)'").count() >= 3);
    let bash = printed(scumble(&["setup", "completions", "bash"]));
    if !Command::new("bash").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("NOT TESTED: there is no bash");
        return;
    }
    folder.write("scumble.bash", &bash);
    let completed = |words: &[&str]| {
        let line = words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" ");
        let script = format!(
            "scumble() {{ '{PROGRAM}' \"$@\"; }}\nsource ./scumble.bash\nCOMP_WORDS=({line})\nCOMP_CWORD={}\n\
             _scumble scumble {:?} {:?}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.len() - 1,
            words[words.len() - 1],
            words[words.len() - 2],
        );
        let output = Command::new("bash").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(completed(&["scumble", "release", "--only", ""]), "by\\ sex\ntotal\n");
    assert_eq!(completed(&["scumble", "release", "--again", "by"]), "by\\ sex\n");
    assert_eq!(completed(&["scumble", "plan", "--suggest-bounds", "t"]), "total\n");
    assert_eq!(completed(&["scumble", "release", "--only", "'by"]), "by sex\n");
}
