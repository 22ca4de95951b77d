//! Every example of docs/reference/sql.md is answered, and what the page says is refused is.

use crate::support::Folder;

const PAGE: &str = include_str!("../../../../../docs/reference/sql.md");

/// The blocks of one language.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    PAGE.split(&opening).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

fn folder() -> Folder {
    let [project] = blocks("toml")[..] else { panic!("the page has one project") };
    let row = |i: usize| {
        let (clinic, reason) = (["north", "south", "west"][i % 3], ["flu", "fall", "cough"][i / 7 % 3]);
        format!("{},{clinic},{reason},{}.25,{},{}\n", i / 3, i * 37 % 400, 1 + i * 11 % 120, i.is_multiple_of(2))
    };
    let visits: String = (0..900).map(row).collect();
    let patients: String = (0..300).map(|i| format!("{i},{},{}\n", i % 90, ["f", "m"][i % 2])).collect();
    let appointment = |i: usize| {
        let (year, month, day) = (2025 + i % 2, 1 + i / 2 % 12, 1 + i % 28);
        format!("{},{year}-{month:02}-{day:02},{year}-{month:02}-{day:02}T{:02}:30:00\n", i / 2, 8 + i % 9)
    };
    let appointments: String = (0..600).map(appointment).collect();
    Folder::with(&[
        ("scumble.toml", project),
        ("visits.csv", &format!("person,clinic,reason,cost,minutes,urgent\n{visits}")),
        ("patients.csv", &format!("id,age,sex\n{patients}")),
        ("wards.csv", "clinic,city,beds\nnorth,Ulm,40\nsouth,Bonn,55\nwest,Ulm,12\n"),
        ("appointments.csv", &format!("person,day,begins\n{appointments}")),
    ])
}

#[test]
fn every_example_is_answered() {
    let folder = folder();
    let examples = blocks("sql");
    assert!(examples.len() >= 20, "{}", examples.len());
    for (index, sql) in examples.into_iter().enumerate() {
        let name = format!("example {index}");
        let run = folder.run(&["query", sql, "--cost", "epsilon=5,delta=1e-8", "--name", &name, "--quiet"]);
        assert!(run.status.success(), "{sql}\n{}", String::from_utf8_lossy(&run.stderr));
        assert!(run.stdout.iter().filter(|byte| **byte == b'\n').count() >= 2, "{sql}: no rows");
    }
}

/// POWER failed on what is no number or has no end, and was taken away; now that is NULL, as with SQRT and LN.
#[test]
fn powers_are_null_where_they_are_no_numbers() {
    let project = "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\nx = { type = \"float\", lower = -4, upper = 9 }\ny = { type = \"int\", lower = 1, upper = 400 }\n";
    let folder = Folder::with(&[("scumble.toml", project), ("t.csv", "x,y\n-4,1\n4,2\n9,400\n0,3\n,4\n")]);
    let sql = "SELECT SUM(POWER(x, 2)) AS squares, COUNT(POWER(x, 0.5)) AS roots, SUM(POWER(x, 0.5)) AS root, SUM(POW(x, 3)) AS cubes, \
               COUNT(POWER(10, y)) AS finite, SUM(POWER(y, 1 - 2)) AS inverse, COUNT(POWER(x, -1)) AS divided FROM t";
    let answer = folder.json(&["query", sql, "--cost", "epsilon=1000000", "--json"]);
    let row = &answer["rows"][0];
    for (name, truth) in [
        ("squares", 113.0),
        ("roots", 3.0),
        ("root", 5.0),
        ("cubes", 729.0),
        ("finite", 4.0),
        ("inverse", 1.0 + 0.5 + 1.0 / 3.0 + 0.25 + 1.0 / 400.0),
        ("divided", 3.0),
    ] {
        let found = row[name].as_f64().unwrap();
        // Noise and rounding to a millionth of the range: further off with a probability below 1e-12.
        let most = if name == "cubes" { 0.5 } else { 0.05 };
        assert!((found - truth).abs() < most, "{name}: {found}, not {truth}");
    }
    for sql in ["SUM(POWER(x, -1))", "SUM(POWER(x, y))", "SUM(POWER(y, y))"] {
        folder.refused(
            &["query", &format!("SELECT {sql} AS s FROM t"), "--cost", "epsilon=1"],
            2,
            "has no bounds, although ",
        );
    }
}
