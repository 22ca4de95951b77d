//! Names of releases, outputs and columns that would collide.

use crate::fixtures::people::{OWN_NAMES, counts, folder};
use crate::support::Folder;

/// Outputs that would overwrite each other are refused before anything is charged.
#[test]
fn names_that_collide_are_refused() {
    let check = |release: String, words: &str| {
        let folder = folder(&release);
        folder.refused(&["release"], 2, words);
        assert!(!folder.file("scumble.ledger").exists());
    };
    check(counts().replace("\"counts\"", "\"report\""), "a release cannot be called 'report'");
    check(
        counts().replace("COUNT(*) AS n", "COUNT(*) AS n, SUM(age) AS n_error"),
        "two published columns would be called 'n_error'",
    );
    check(counts().replace("\"counts\"", "\"(Report)\""), "a release cannot be called '(Report)'");
    // The chart of a release 'a' is a.vl.json.
    check(counts().replace("\"counts\"", "\"a.vl +\""), "a release's name cannot end in '.vl'");
    check([counts(), counts()].concat(), "two releases are called 'counts'");
    check(
        [counts().replace("\"counts\"", "\"a b\""), counts().replace("\"counts\"", "\"a, b\"")].concat(),
        "the files of 'a b' and 'a, b' would have the same name, a-b.csv: give one release another name",
    );
    check(
        [counts(), counts().replace("\"counts\"", "\"Counts\"")].concat(),
        "the files of 'counts' and 'Counts' would have the same name, counts.csv",
    );
    check(
        counts().replace("sex, COUNT(*) AS n", "COUNT(*) AS n, SUM(age) AS n"),
        "two columns of the result are called 'n'",
    );
    // A query would take the files of a release.
    let folder = folder(&counts());
    let query = ["query", "SELECT COUNT(*) AS n FROM people", "--cost", "epsilon=0.1", "--name", "counts"];
    folder.refused(
        &query,
        2,
        "the project file has a release 'counts', whose files this would replace: give it another --name",
    );
}

/// Columns that are called as one of ours are refused where both would be published, with the place, before anything is
/// charged.
#[test]
fn columns_that_are_called_as_one_of_ours_are_refused() {
    let rows = format!("count,n,free,place\n{}", "a,b,x,y\n".repeat(50));
    let kind = |kind: &str, column: &str, more: &str| {
        format!(
            "{OWN_NAMES}[[release]]\nname = \"r\"\nkind = \"{kind}\"\ntable = \"t\"\ncolumn = \"{column}\"\n{more}cost = {{ epsilon = 1 }}\n"
        )
    };
    let refused = |project: &str, words: &str| {
        let folder = Folder::with(&[("scumble.toml", project), ("t.csv", &rows)]);
        let said = folder.refused(&["release", "--quiet"], 2, words);
        assert!(said.contains("scumble.toml:"), "{said}");
        assert!(!folder.file("scumble.ledger").exists(), "something was charged");
    };
    refused(&kind("top", "count", "number = 1\n"), "two published columns would be called 'count'");
    refused(&kind("histogram", "count", ""), "two published columns would be called 'count'");
    let sql = format!(
        "{OWN_NAMES}[[release]]\nname = \"r\"\nsql = \"SELECT count, COUNT(*) AS count FROM t GROUP BY count\"\ncost = {{ epsilon = 1 }}\n"
    );
    refused(&sql, "or another name after AS");
    let folder = Folder::with(&[("scumble.toml", kind("top", "n", "number = 1\n").as_str()), ("t.csv", &rows)]);
    folder.stdout(&["release", "--quiet"]);
    assert!(
        folder.read("out/r.csv").starts_with("n,count,count_se,count_low,count_high"),
        "{}",
        folder.read("out/r.csv")
    );
}
