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
