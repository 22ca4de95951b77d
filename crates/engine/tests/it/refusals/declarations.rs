//! Declarations of columns and names of releases that are refused.

use super::Refusing;
use scumble_testing::projects::FLIGHTS_ROWS;

/// Declarations and files that do not fit: place, column and remedy.
#[test]
fn refusals_of_declarations_and_files() {
    let declared = |day: &str| {
        format!("[dataset.flights]\nsource = \"flights.csv\"\n[dataset.flights.columns]\nday = {{ {day} }}\n")
    };
    for (day, words) in [
        ("type = \"date\", lower = \"2013-01-01\"", "give both lower and upper"),
        (
            "type = \"date\", lower = \"2013-01-01\", upper = \"31.12.2013\"",
            "scumble.toml:4:54: this must be a date from 1678-01-01 to 2261-12-31",
        ),
        ("type = \"date\", lower = 2013-01-01, upper = 2013-12-31", "in quotation marks, as in \"2013-12-31\""),
        ("type = \"date\", lower = \"2014-01-01\", upper = \"2013-12-31\"", "the bounds are inverted"),
        ("type = \"date\", lower = \"1700-01-01\", upper = \"2213-12-31\"", "more than 500 years apart"),
        ("type = \"timestamp\", lower = \"2013-01-01\", upper = \"2013-12-31\"", "as in \"2013-12-31T23:59:59\""),
        (
            "type = \"timestamp\", zone = \"Berlin\"",
            "this is not a time zone: give one of the tz database, as in \"Europe/Berlin\"",
        ),
        ("type = \"dat\"", "(did you mean 'date'?); types are: int, float, category, bool, date, timestamp"),
        ("type = \"date\", zone = \"UTC\"", "unknown key 'zone'"),
    ] {
        let folder = Refusing::with(&[("flights.csv", FLIGHTS_ROWS), ("scumble.toml", &declared(day))]);
        folder.check(words);
    }
    for (kind, file, words) in [
        (
            "date",
            "day\n2013-01-31\n31.01.2013\n",
            "flights.csv:3: the value in column 'day' is declared as date and is not a date as in 2013-12-31; write it so",
        ),
        ("date", "day\n2013-02-30\n", "flights.csv:2: the value in column 'day' is declared as date"),
        (
            "timestamp",
            "day\n2013-02-28T25:00\n",
            "flights.csv:2: the value in column 'day' is declared as timestamp and is not a time as in \
                2013-12-31T23:59:59",
        ),
    ] {
        let folder =
            Refusing::with(&[("flights.csv", file), ("scumble.toml", &declared(&format!("type = \"{kind}\"")))]);
        let said = folder.check(words);
        assert!(!said.contains("31.01"), "no value is said: {said}");
    }
}

#[test]
fn refusals_of_bins_maps_and_key_sets() {
    for (column, words) in [
        (
            "type = \"int\", bins = [0]",
            "scumble.toml:4:28: bins are where intervals begin, at least two and at most 10000, as in [0, 18, 65]",
        ),
        ("type = \"int\", bins = [0, 18, 18]", "bins must ascend"),
        ("type = \"int\", bins = [0, 18.5]", "this must be a whole number"),
        ("type = \"int\", bins = [0, 18], lower = 0, upper = 9", "a column with bins has no lower"),
        ("type = \"int\", bins = [0, 18], labels = [\"a\"]", "there are 2 bins and 1 labels"),
        ("type = \"int\", bins = [0, 18], labels = [\"a\", \"a\"]", "two bins are called 'a'"),
        ("type = \"int\", labels = [\"a\"]", "labels need bins"),
        ("type = \"bool\", bins = [0, 1]", "unknown key 'bins'"),
        (
            "type = \"category\", values = [\"a\"], map = { b = \"c\" }",
            "map replaces 'b' by 'c', which is not among the values; list it",
        ),
        (
            "type = \"category\", values = [\"a\", \"b\"], map = { b = \"a\" }",
            "map replaces the value 'b', so no row can have it",
        ),
        (
            "type = \"category\", unlisted = \"other\"",
            "unlisted is the name of all values that are not listed: list values",
        ),
        (
            "type = \"category\", values = { table = \"w\", column = \"name\" }",
            "there is no table 'w' in the project file",
        ),
        (
            "type = \"category\", values = { table = \"t\", column = \"v\" }",
            "which is private: set public = true there, if it is about nobody",
        ),
        ("type = \"category\", values = { table = \"p\", column = \"nam\" }", "table 'p' has no declared column 'nam'"),
        ("type = \"category\", values = { table = \"p\", colum = \"name\" }", "did you mean 'column'?"),
        (
            "type = \"category\", values = { table = \"same\", column = \"v\" }",
            "table 'same' is declared public and reads the same file as table 't', which is private",
        ),
    ] {
        let project = format!(
            "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\nv = {{ {column} }}\n[dataset.p]\nsource = \"p.csv\"\npublic = true\n[dataset.p.columns]\nname = {{ type = \"category\" }}\n\
             [dataset.same]\nsource = \"./t.csv\"\npublic = true\n[dataset.same.columns]\nv = {{ type = \"category\" }}\n"
        );
        let folder = Refusing::with(&[("t.csv", "v\n1\n"), ("p.csv", "name\nUA\n"), ("scumble.toml", &project)]);
        folder.check(words);
    }
}

/// A release called " x " wrote the files of x, and the next release of x found its files changed.
#[test]
fn names_that_collide_are_refused_with_their_place() {
    let project = |name: &str| {
        format!(
            "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\nage = {{ type = \"int\", lower = 0, upper = 9 }}\n\
             [[release]]\nname = \"{name}\"\nsql = \"SELECT COUNT(*) AS n FROM people\"\ncost = {{ epsilon = 1 }}\n"
        )
    };
    let folder = Refusing::with(&[("people.csv", "age\n1\n2\n")]);
    for (name, sentence) in [
        (
            " x ",
            "scumble.toml:6:8: a release's name becomes a file name, and must not begin or end with a space: write \
                name = \"x\"",
        ),
        (
            "Report",
            "scumble.toml:6:8: a release cannot be called 'Report', because report.json is the report's own file",
        ),
        ("../x", "scumble.toml:6:8: a release's name becomes a file name: 1 to 150 letters"),
    ] {
        folder.write("scumble.toml", &project(name));
        folder.plan(sentence);
    }
}
