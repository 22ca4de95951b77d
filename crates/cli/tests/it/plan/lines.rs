//! What `scumble plan` says in its lines.

use crate::fixtures::people::{OWN_NAMES, PEOPLE, counts, folder, release, total};
use crate::support::Folder;

/// A plan was pages of tables, and said that nothing fits with status 0.
#[test]
fn a_plan_is_a_table_that_fits_the_screen() {
    let keys = "[[release]]\nname = \"towns\"\nsql = \"SELECT town, COUNT(*) AS n FROM visits GROUP BY town\"\ncost = { epsilon = 1.0, delta = 1e-9 }\n";
    let visits = "[dataset.visits]\nsource = \"visits.csv\"\nowner = \"id\"\nmax_rows_per_owner = 4\nmax_groups_per_owner = 2\nmax_rows_per_group = 3\n\
        [dataset.visits.columns]\ntown = { type = \"category\" }\n";
    let budget = "[budget]\nperson = { epsilon = 2.0, delta = 1e-6 }\nattributes = { sex = { epsilon = 0.6 } }\n";
    let folder = Folder::with(&[("scumble.toml", &format!("{PEOPLE}{visits}{budget}{}{keys}", counts()))]);
    let text = folder.stdout(&["plan"]);
    let lines: Vec<String> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert_eq!(lines[0], "release epsilon column standard error 95% margin note");
    // The budget of sex is the tighter one: 0.5 of 0.6.
    assert!(lines[2].starts_with("counts 0.5 n 5.64") && lines[2].ends_with(" 12 sex 0.5"), "{text}");
    assert!(lines[3].starts_with("towns 1 n ") && lines[3].ends_with(" at delta 1e-9"), "{text}");
    let below = lines[4..].join(" ");
    assert!(below.starts_with("towns: a key needs about "), "{text}");
    let words = "towns: of each owner at most 2 groups with at most 3 rows in each, and at most 4 rows in all count; the rest is cut off";
    assert!(below.ends_with(&format!("{words} everything fits the budget together")), "{text}");
    assert!(folder.stdout(&["plan", "--details"]).lines().count() > 20);
    // What does not fit: status 3, and both forms say so.
    let small = budget.replace("epsilon = 2.0", "epsilon = 0.75");
    folder.write("scumble.toml", &format!("{PEOPLE}{visits}{small}{}{keys}", counts()));
    for arguments in [&["plan"][..], &["plan", "--json"], &["plan", "--details"]] {
        let output = folder.run(arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("release 'towns' was refused and nothing was charged"), "{said}");
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.contains("counts") && printed.contains("towns"), "the plan is there all the same: {printed}");
    }
}

/// What is true of several releases is said once, and columns beyond the fourth have one line.
#[test]
fn a_plan_says_nothing_twice() {
    let visits = "[dataset.visits]\nsource = \"visits.csv\"\nowner = \"id\"\nmax_rows_per_owner = 4\n\
        [dataset.visits.columns]\nx = { type = \"int\", lower = 0, upper = 9 }\n";
    let counts = (0..6).map(|place| format!("SUM(x + {place}) AS s{place}")).collect::<Vec<_>>().join(", ");
    let releases =
        [release("a", "SELECT COUNT(*) AS n FROM visits"), release("b", &format!("SELECT {counts} FROM visits"))];
    let folder = Folder::with(&[("scumble.toml", &format!("{PEOPLE}{visits}{}", releases.concat()))]);
    let text = folder.stdout(&["plan"]);
    assert_eq!(text.matches("of each owner at most 4 rows count").count(), 1, "{text}");
    assert!(text.contains("\na, b: of each owner") && text.contains(" 2 more ") && !text.contains("s4"), "{text}");
}

/// The number after ± was the standard error, and read as a margin. The margin of a plan is half the width of the
/// interval in the answer.
#[test]
fn a_plan_has_the_margin_of_the_answer() {
    let public = folder(&counts());
    let text = public.stdout(&["plan"]);
    let line: Vec<&str> = text.lines().nth(2).unwrap().split_whitespace().collect();
    assert!(line[2] == "n" && line[3].starts_with("5.64") && line[4] == "12", "{text}");
    let sql = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex";
    let answer = public.json(&["query", sql, "--cost", "epsilon=0.5", "--json"]);
    let end = |place: usize| answer["rows"][0]["n_interval"][place].as_f64().unwrap();
    assert_eq!(end(1) - end(0), 24.0, "{answer}");
    // No interval holds a median, so a plan has its error in ranks alone.
    let text = folder(&release("median", "SELECT MEDIAN(age) AS m FROM people")).stdout(&["plan"]);
    assert!(text.contains(" –\n") && text.contains("\nmedian: m: off by at most "), "{text}");
}

/// What is published already does not count against a plan.
#[test]
fn a_plan_knows_what_is_published() {
    let folder =
        folder(&[counts(), total()].concat().replace("epsilon = 0.5", "epsilon = 1.5").replacen("1.5", "0.5", 1));
    folder.stdout(&["release"]);
    let text = folder.stdout(&["plan"]);
    assert!(text.contains("counts   kept") && text.contains("published 20") && text.contains("(entry 4)"), "{text}");
    assert!(text.ends_with("everything fits the budget together\n"), "{text}");
    assert_eq!(folder.json(&["plan", "--json"])["releases"][0]["published"]["sequence"], 4);
}

/// The line of a plan says what a key needs to show, also where several groupings or queries have thresholds of their
/// own.
#[test]
fn the_line_of_a_plan_says_what_a_key_needs() {
    for sql in [
        "SELECT free, place, COUNT(*) AS n FROM t GROUP BY ROLLUP(free, place)",
        "SELECT free AS k, COUNT(*) AS n FROM t GROUP BY free UNION ALL SELECT place AS k, COUNT(*) AS n FROM t GROUP BY place",
    ] {
        let project =
            format!("{OWN_NAMES}[[release]]\nname = \"r\"\nsql = \"{sql}\"\ncost = {{ epsilon = 1, delta = 1e-9 }}\n");
        let folder = Folder::with(&[("scumble.toml", project.as_str()), ("t.csv", "count,n,free,place\n")]);
        let said = folder.stdout(&["plan"]);
        assert!(said.contains("r: a key needs about "), "{said}");
    }
    let lead = format!(
        "{OWN_NAMES}[[release]]\nname = \"r\"\ntable = \"t\"\nkind = \"top\"\ncolumn = \"free\"\nnumber = 3\nmethod = \"gap\"\ncost = {{ epsilon = 1, delta = 1e-9 }}\n"
    );
    let folder = Folder::with(&[("scumble.toml", lead.as_str()), ("t.csv", "count,n,free,place\n")]);
    let said = folder.stdout(&["plan"]);
    assert!(
        said.contains("r: a value needs about ") && said.contains(" owners more than the next one to show"),
        "{said}"
    );
    for release in [
        "kind = \"top\"\ncolumn = \"free\"\nnumber = 3\nmethod = \"counts\"",
        "kind = \"heavy-hitters\"\ncolumns = [\"free\", \"place\"]",
    ] {
        let project = format!(
            "{OWN_NAMES}[[release]]\nname = \"r\"\ntable = \"t\"\n{release}\ncost = {{ epsilon = 1, delta = 1e-9 }}\n"
        );
        let folder = Folder::with(&[("scumble.toml", project.as_str()), ("t.csv", "count,n,free,place\n")]);
        let said = folder.stdout(&["plan"]);
        assert!(said.contains("r: a key needs about "), "{said}");
    }
}
