//! Which rows of an owner count, and which rows of an answer were chosen by noise.

use crate::support::Folder;

/// Equal rows of an owner stood or fell together: with 200 rows each, one in ten of them late, and 20 rows that count,
/// `AVG(late)` was 0.527 ± 0.0024. What is kept is a uniform sample now: of 1,000 owners' 20,000 kept rows 2,000 are
/// late, with a deviation of 40 (hypergeometric); six and a half of these and as many of the noise's are passed with a
/// probability below 1e-9.
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

/// The same table in groups: each owner has 180 rows on time and 20 late ones. GROUP BY, a histogram and a distribution
/// function said that half of the rows are late, because of each group as many rows counted, and a record was either of
/// the two. Deviations as above; of a record per owner 100 of 1,000 are late, with a deviation of 9.5.
#[test]
fn groups_of_owners_with_many_rows_have_their_share() {
    let mut rows = String::from("plane,late\n");
    for plane in 0..1000 {
        (0..200).for_each(|flight| rows.push_str(&format!("{plane},{}\n", u8::from(flight % 10 == 0))));
    }
    let release = |kind: &str, more: &str| {
        format!(
            "[[release]]\nname = \"{kind}\"\nkind = \"{kind}\"\ntable = \"flights\"\n{more}\ncost = {{ epsilon = 500 }}\n"
        )
    };
    let project = format!(
        "[dataset.flights]\nsource = \"flights.csv\"\nowner = \"plane\"\nmax_rows_per_owner = 20\n\
         [dataset.flights.columns]\nlate = {{ type = \"int\", lower = 0, upper = 1 }}\n[budget]\nperson = {{ epsilon = 1e5, delta = 1e-6 }}\n{}{}{}",
        release("histogram", "columns = [\"late\"]"),
        release("cdf", "column = \"late\""),
        release("marginals", "columns = [\"late\"]\norder = 1").replace("epsilon", "rho"),
    );
    let folder = Folder::with(&[("scumble.toml", &project), ("flights.csv", &rows)]);
    let sql = "SELECT late, COUNT(*) AS n FROM flights GROUP BY late";
    let answer = folder.json(&["query", sql, "--cost", "epsilon=500", "--json"]);
    let late = answer["rows"][1]["n"].as_f64().unwrap();
    assert!((late - 2000.0).abs() < 270.0, "{answer}");
    folder.stdout(&["release"]);
    let column = |name: &str, row: usize| -> f64 {
        folder
            .read(&format!("out/{}.csv", name.replace(' ', "-")))
            .lines()
            .nth(1 + row)
            .unwrap()
            .split(',')
            .nth(1)
            .unwrap()
            .parse()
            .unwrap()
    };
    assert!((column("histogram", 1) - 2000.0).abs() < 270.0);
    assert!((column("cdf", 0) - 18_000.0).abs() < 270.0);
    assert!((column("marginals", 1) - 100.0).abs() < 65.0);
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

/// A thousand owners of 180 rows on time and 20 late ones each: of the rows that count a tenth is late, also where the
/// number of groups is bounded beside that of the rows. By chance the share is off by a hundredth with probability
/// below 1e-9: it has a standard deviation of 0.002.
#[test]
fn groups_have_their_share_also_where_their_number_is_bounded() {
    let project = "[dataset.t]\nsource = \"t.csv\"\nowner = \"id\"\nmax_rows_per_owner = 20\nmax_groups_per_owner = 2\n[dataset.t.columns]\nlate = { type = \"bool\" }\n\
                   [[release]]\nname = \"r\"\nsql = \"SELECT late, COUNT(*) AS n FROM t GROUP BY late\"\ncost = { epsilon = 100 }\n";
    let rows: String = (0..200_000).map(|row| format!("{},{}\n", row % 1000, row / 1000 < 20)).collect();
    let folder = Folder::with(&[("scumble.toml", project), ("t.csv", &format!("id,late\n{rows}"))]);
    folder.stdout(&["release", "--quiet"]);
    let counts = folder.read("out/r.csv");
    let of = |word: &str| -> f64 {
        let line = counts.lines().find(|line| line.starts_with(word)).unwrap();
        line.split(',').nth(1).unwrap().parse().unwrap()
    };
    let share = of("true") / (of("true") + of("false"));
    assert!((share - 0.1).abs() < 0.01, "{counts}");
}
