//! The release kind `anonymized-histogram`, end to end.

use crate::support::{Folder, epsilon, exactly};
use scumble_testing::projects::accounts as project;

/// A power law: value v occurs ⌊2000/v⌋ times, 399 values, in rows with another column beside.
fn accounts() -> String {
    let rows = (1..400).flat_map(|value| std::iter::repeat_n(format!("pw{value},{}\n", value % 2), 2000 / value));
    format!("password,tall\n{}", rows.collect::<String>())
}

fn folder(dataset: &str, release: &str) -> Folder {
    Folder::with(&[("accounts.csv", &accounts()), ("scumble.toml", &project(dataset, release))])
}

#[test]
fn counts_are_published_without_values_and_all_of_the_cost_is_used() {
    let folder = folder("", "columns = [\"password\"]\ncost = { epsilon = 4.0 }");
    folder.stdout(&["release"]);
    let table = folder.read("out/frequencies.csv");
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("count,how_many,how_many_se,how_many_low,how_many_high"));
    let rows: Vec<(u64, u64)> = lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells[2..], ["", "", ""], "of no single line an error is known");
            (cells[0].parse().unwrap(), cells[1].parse().unwrap())
        })
        .collect();
    assert!(rows.windows(2).all(|pair| pair[0].0 < pair[1].0), "smallest counts first: {table}");
    // One row for each of 399 values would be too many: there are 2√n = 230 regions for about 13,000 rows.
    assert!(rows.len() < 250, "{}", rows.len());
    assert!((rows.last().unwrap().0 as i64 - 2000).abs() < 40, "{table}");
    let files = ["out/frequencies.csv", "out/frequencies.json", "out/report.html", "out/report.json"];
    assert!(files.iter().all(|file| !folder.read(file).contains("pw")), "a value was named");

    let ledger = folder.json(&["ledger", "show", "--json"]);
    exactly(epsilon(&ledger["person"]), 4.0);
    exactly(epsilon(&ledger["attributes"]["password"]), 4.0);
    assert_eq!(epsilon(&ledger["attributes"]["tall"]), 0.0);
    // s = x/20 of x per presence estimates the size; a person pays it once and the rest twice: 2x − s = 4.
    exactly(epsilon(&ledger["presence"]), (4.0 + 0.1) / 2.0);

    let answers = &folder.json_file("out/frequencies.json")["answers"];
    let statistics = &answers["statistics"];
    let near = |field: &str, truth: f64, share: f64| {
        let value = statistics[field].as_f64().unwrap();
        assert!((value / truth - 1.0).abs() < share, "{field}: {value}");
    };
    let elements: f64 = (1..400).map(|value| f64::from(2000 / value)).sum();
    near("elements", elements, 0.05);
    near("distinct_values", 399.0, 0.1);
    let top = statistics["top"][0]["share"].as_f64().unwrap();
    assert!((top - 2000.0 / elements).abs() < 0.02, "{top}");
    assert!(statistics["coverage"].is_number() && statistics["entropy_bits"].is_number());
    // That the band holds the truth is proven in the core; here: it is there, and falls.
    let band = answers["band"].as_array().unwrap();
    let at = |index: usize, field: usize| band[index][field].as_u64().unwrap();
    assert!(
        (1..band.len()).all(|index| at(index, 0) > at(index - 1, 0) && at(index, 2) <= at(index - 1, 2)),
        "{band:?}"
    );
    assert!((0..band.len()).all(|index| at(index, 1) <= at(index, 2)), "{band:?}");
    let report = folder.read("out/report.html");
    assert!(
        report.contains("How many values occur at least so often") && report.contains("holds the truth everywhere")
    );
    assert!(report.contains("all counts together (L1)"), "the limit is missing");
    // The budget is refused as for every kind.
    let limited =
        project("", "columns = [\"password\"]\ncost = { epsilon = 4.0 }") + "[budget]\nperson = { epsilon = 7.0 }\n";
    folder.write("scumble.toml", &limited);
    folder.refused(&["release", "--again", "frequencies"], 3, "the largest cost that would fit is epsilon 3");
}

#[test]
fn a_public_number_of_owners_or_rows_spends_nothing_on_the_size() {
    for (dataset, release) in [("public_owners = 20000", ""), ("", "at_most = 20000")] {
        let folder = folder(dataset, &format!("columns = [\"password\"]\ncost = {{ epsilon = 0.3 }}\n{release}"));
        let plan = folder.json(&["plan", "--json"]);
        let shown = &plan["releases"][0];
        assert_eq!(shown["rule"]["at_most"], 20_000);
        exactly(epsilon(&shown["costs"]["person"]), 0.3);
        exactly(epsilon(&shown["costs"]["presence"]), 0.15);
        let limit = &shown["limits"][0];
        assert!(limit["factor"].as_f64().unwrap() > 1.0, "{limit}");
    }
    let folder = folder("", "columns = [\"password\"]\ncost = { epsilon = 0.3, scope = \"presence\" }");
    let plan = folder.json(&["plan", "--json"]);
    exactly(epsilon(&plan["releases"][0]["costs"]["presence"]), 0.3);
}

#[test]
fn several_rows_of_an_owner_cost_so_many_times() {
    let rows: String = (0..600).map(|row| format!("{},{}\n", row / 6, row % 40)).collect();
    let text = "[dataset.visits]\nsource = \"visits.csv\"\nowner = \"person\"\nmax_rows_per_owner = 3\n\
                [dataset.visits.columns]\nplace = { type = \"int\", lower = 0, upper = 1000000 }\n\
                [[release]]\nname = \"places\"\nkind = \"anonymized-histogram\"\ntable = \"visits\"\ncolumns = [\"place\"]\n\
                cost = { epsilon = 2.0 }\nat_most = 300\n";
    let folder = Folder::with(&[("visits.csv", &format!("person,place\n{rows}")), ("scumble.toml", text)]);
    // Long cells of a table are wrapped.
    let plan = folder.stdout(&["plan", "--details"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plan.contains("an owner has up to 3 rows, which costs 3 times what one costs"), "{plan}");
    let rule = &folder.json(&["plan", "--json"])["releases"][0]["rule"];
    exactly(rule["epsilon_per_element"].as_f64().unwrap(), 1.0 / 3.0);
    folder.stdout(&["release", "--quiet"]);
    let ledger = folder.json(&["ledger", "show", "--json"]);
    exactly(epsilon(&ledger["person"]), 2.0);
    exactly(epsilon(&ledger["presence"]), 1.0);
    // 100 owners, three rows each: the noisy total is near 300, not near 600.
    let elements = folder.json_file("out/places.json")["answers"]["statistics"]["elements"].as_f64().unwrap();
    assert!(elements < 480.0, "{elements}");
}

/// A declared domain of more combinations than could be listed is no reason to refuse: what does not occur is not in
/// the answer.
#[test]
fn combinations_of_columns_need_no_list_and_rows_without_a_value_do_not_count() {
    let rows: String =
        (0..500).map(|row| format!("{},{},{}\n", row % 7, row % 3, if row % 10 == 0 { "" } else { "5" })).collect();
    let columns: String =
        ["a", "b", "c"].map(|name| format!("{name} = {{ type = \"int\", lower = 0, upper = 9000 }}\n")).concat();
    let text = format!(
        "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\n{columns}\
         [[release]]\nname = \"r\"\nkind = \"anonymized-histogram\"\ntable = \"t\"\ncolumns = [\"a\", \"b\", \"c\"]\n\
         cost = {{ epsilon = 40.0 }}\nat_most = 500\n"
    );
    let folder = Folder::with(&[("t.csv", &format!("a,b,c\n{rows}")), ("scumble.toml", &text)]);
    folder.stdout(&["release", "--quiet"]);
    // At this cost noise is 0 but with probability 4e-9 per region: 21 combinations, 450 rows.
    let answers = &folder.json_file("out/r.json")["answers"];
    assert_eq!(
        (&answers["statistics"]["distinct_values"], &answers["statistics"]["elements"]),
        (&21.into(), &450.into())
    );
}

/// How many people have one row, two, three …: the owner's column was refused, as nobody may read it. The number of any
/// one owner is not published, and the values in their rows cost nothing.
#[test]
fn how_many_rows_owners_have() {
    // 300 people with one visit, 200 with two, 100 with five, and 50 with nine, of whom eight count.
    let owners = [(300, 1), (200, 2), (100, 5), (50, 9)];
    let mut visits = "person,clinic\n".to_string();
    let mut person = 0;
    for (people, rows) in owners {
        for _ in 0..people {
            person += 1;
            (0..rows).for_each(|row| visits.push_str(&format!("person{person},{}\n", ["a", "b"][row % 2])));
        }
    }
    let project = |column: &str| {
        format!(
            "[dataset.visits]\nsource = \"visits.csv\"\nowner = \"person\"\nmax_rows_per_owner = 8\n[dataset.visits.columns]\nclinic = {{ type = \"category\" }}\n\
             [[release]]\nname = \"visits of people\"\nkind = \"anonymized-histogram\"\ntable = \"visits\"\n{column}\ncost = {{ epsilon = 400 }}\n"
        )
    };
    for column in ["column = \"person\"", "columns = [\"person\"]"] {
        let folder = Folder::with(&[("visits.csv", &visits), ("scumble.toml", &project(column))]);
        folder.stdout(&["release"]);
        // ε = 25 for each row: no noise, but with a probability below 1e-9.
        let table = folder.read("out/visits-of-people.csv");
        assert_eq!(table.split_once('\n').unwrap().1, "1,300,,,\n2,200,,,\n5,100,,,\n8,50,,,\n");
        let ledger = folder.json(&["ledger", "show", "--json"]);
        exactly(epsilon(&ledger["person"]), 400.0);
        assert!(epsilon(&ledger["presence"]) > 200.0, "{ledger:#}");
        assert_eq!(epsilon(&ledger["attributes"]["clinic"]), 0.0, "what the rows say makes no difference");
        let said = folder.json_file("out/visits-of-people.json")["answers"]["notes"].to_string();
        assert!(said.contains("how many owners have exactly this many rows. Of each at most 8 count"), "{said}");
        assert!(!said.contains("person1") && !folder.read("out/report.html").contains("person1"), "nobody is named");
        folder.stdout(&["ledger", "verify"]);
    }
    let both =
        Folder::with(&[("visits.csv", &visits), ("scumble.toml", &project("columns = [\"person\", \"clinic\"]"))]);
    both.refused(&["plan"], 2, "scumble.toml:11:12: table 'visits' has no declared column 'person'");
    let histogram = project("column = \"person\"").replace("anonymized-histogram", "histogram");
    let named = Folder::with(&[("visits.csv", &visits), ("scumble.toml", &histogram)]);
    named.refused(&["plan"], 2, "table 'visits' has no declared column 'person'");
}
