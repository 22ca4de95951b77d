//! Stories of answers that were far outside of their error bars.

use crate::support::Folder;

/// Equal rows of an owner stood or fell together: with 200 rows each, one in ten of them late, and 20 rows that count, `AVG(late)` was
/// 0.527 ± 0.0024. What is kept is a uniform sample now: of 1,000 owners' 20,000 kept rows 2,000 are late, with a deviation of 40 (hypergeometric); six and a half
/// of these and as many of the noise's are passed with a probability below 1e-9.
#[test]
fn the_rows_that_count_are_a_uniform_sample() {
    let mut rows = String::from("plane,late\n");
    for plane in 0..1000 {
        (0..200).for_each(|flight| rows.push_str(&format!("{plane},{}\n", u8::from(flight % 10 == 0))));
    }
    let project = "[dataset.flights]\nsource = \"flights.csv\"\nowner = \"plane\"\nmax_rows_per_owner = 20\n\
                   [dataset.flights.columns]\nlate = { type = \"int\", lower = 0, upper = 1 }\n";
    let folder = Folder::with(&[("scumble.toml", project), ("flights.csv", &rows)]);
    let sql = "SELECT SUM(late) AS late, COUNT(*) AS n, AVG(late) AS share FROM flights";
    let answer = folder.json(&["query", sql, "--cost", "epsilon=500", "--json"]);
    let row = &answer["rows"][0];
    let late = row["late"].as_f64().unwrap();
    assert!((late - 2000.0).abs() < 270.0, "{row}");
    assert!((row["share"].as_f64().unwrap() - 0.1).abs() < 0.02, "{row}");
}

/// The largest of noisy numbers is too large more often than not, and no interval knows that it was chosen.
#[test]
fn rows_that_noise_chose_are_said_to_be_so() {
    let project = "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\nage = { type = \"int\", lower = 0, upper = 9 }\n";
    let folder = Folder::with(&[("scumble.toml", project), ("people.csv", "age\n1\n2\n3\n")]);
    for (tail, chosen) in
        [("", false), (" ORDER BY n DESC", false), (" ORDER BY n DESC LIMIT 1", true), (" HAVING COUNT(*) > 0", true)]
    {
        let sql = format!("SELECT age, COUNT(*) AS n FROM people GROUP BY age{tail}");
        let answer = folder.json(&["query", &sql, "--cost", "epsilon=1", "--json"]);
        let said = answer["notes"].to_string();
        assert_eq!(said.contains("HAVING and LIMIT choose rows by numbers that have noise"), chosen, "{tail}: {said}");
    }
}

/// Rows without a key were in no group, and nothing said so: a reader took the groups for the table.
#[test]
fn rows_in_no_group_are_named() {
    let project = "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\nsex = { type = \"category\", values = [\"f\", \"m\"] }\n";
    let folder = Folder::with(&[("scumble.toml", project), ("people.csv", "sex\nf\nf\n\nm\nunknown\n")]);
    let notes = |key: &str| {
        let sql = format!("SELECT {key} AS k, COUNT(*) AS n FROM people GROUP BY 1");
        let answer = folder.json(&["query", &sql, "--cost", "epsilon=100", "--json"]);
        (answer["notes"].to_string(), answer["rows"].as_array().unwrap().len())
    };
    let (said, groups) = notes("sex");
    assert!(said.contains("Rows without a value of sex (empty, or not one of those declared) are in no group; COALESCE(sex, …) gives them one."), "{said}");
    assert_eq!(groups, 2);
    let (said, groups) = notes("COALESCE(sex, 'other')");
    assert!(!said.contains("in no group"), "{said}");
    assert_eq!(groups, 3);
}
