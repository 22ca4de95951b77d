//! `scumble lab limits` as people run it: the golden vectors in their machine forms, and what is refused.

use crate::calculators::audit::{agree, vectors};
use crate::support::{Folder, printed, refused, scumble_on};
use serde_json::{Value, json};

fn answer(limit: &str, document: &Value) -> Value {
    serde_json::from_str(&printed(scumble_on(&["limits", limit, "-", "--json"], &document.to_string()))).unwrap()
}

#[test]
fn machine_forms_answer_the_vectors() {
    for vector in vectors("s7_limits") {
        let mut together = answer("neighbours", &vector["input"]);
        for limit in ["packing", "information"] {
            let more = answer(limit, &vector["input"]);
            together.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        }
        agree(&vector, &together);
    }
    for (row, limit) in
        [("s7_packing", "packing"), ("s7_singular", "singular"), ("s7_fingerprinting", "fingerprinting")]
    {
        for vector in vectors(row) {
            agree(&vector, &answer(limit, &vector["input"]));
        }
    }
}

#[test]
fn limits_say_what_they_are_and_where_there_is_none() {
    let told = |limit: &str, document: Value| printed(scumble_on(&["limits", limit, "-"], &document.to_string()));
    assert!(told("neighbours", json!({"epsilon": 1, "delta": 0.1})).contains("at most 0.7579"));
    assert!(told("fingerprinting", json!({"attributes": 10, "epsilon": 1, "rms_error": 0.4})).contains("no bound"));
    // 769.9999999999999 people were asked for.
    let many = told("fingerprinting", json!({"attributes": 1_000_000, "epsilon": 1, "delta": 1e-9, "rms_error": 0.05}));
    assert!(many.contains("a table of at least 770 people"), "{many}");
    assert!(told("information", json!({"epsilon": 0.1, "delta": 1e-6})).contains("no bound is known here"));
    let own_counts = told("singular", json!({"queries": [[1, 0], [0, 1]], "epsilon": 1, "beta": 0}));
    assert!(own_counts.contains("E ≥ 0.2592"), "{own_counts}");
    assert!(told("singular", json!({"queries": [[1, 1]], "epsilon": 1})).contains("no bound from 2 people"));
}

#[test]
fn wrong_questions_are_refused() {
    for (limit, document, words) in [
        ("packing", json!({"epsilon": 0, "delta": 0, "universe": 10, "success": 0.5}), "epsilon above 0"),
        ("packing", json!({"epsilon": 1, "delta": 0, "universe": 10, "success": 0}), "above 0"),
        ("packing", json!({"epsilon": 1, "delta": 0, "success": 0.5}), "$.universe: universe is missing"),
        ("neighbours", json!({"epsilon": -1}), "$.epsilon: epsilon must be a number"),
        ("neighbours", json!({"epsilon": 0}), "$.epsilon: a limit needs epsilon above 0"),
        ("information", json!({"epsilon": 0}), "$.epsilon: a limit needs epsilon above 0"),
        ("singular", json!({"queries": [[1]], "epsilon": 0}), "$.epsilon: a limit needs epsilon above 0"),
        ("neighbours", json!({"epsilon": 1, "sigma": 2}), "$.sigma: unknown field"),
        ("singular", json!({"queries": [[1, 0], [1]], "epsilon": 1}), "row 1 of the query matrix has 1 columns"),
        ("singular", json!({"queries": [[1, 2]], "epsilon": 1}), "$.queries[0][1]: -1, 0 or 1 is expected"),
        ("singular", json!({"queries": [[1]], "epsilon": 1, "beta": 1}), "beta must be a number in [0, 1)"),
        ("fingerprinting", json!({"attributes": 10, "epsilon": 1, "rms_error": 0}), "rms_error above 0"),
    ] {
        refused(&scumble_on(&["limits", limit, "-", "--json"], &document.to_string()), 2, words);
    }
}

/// Beside each release of a project: what nobody with its guarantee can do better.
#[test]
fn a_project_has_its_limits_beside_its_releases() {
    let project = "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\nage = { type = \"int\", lower = 0, upper = 120 }\n\
                   [[release]]\nname = \"people\"\nsql = \"SELECT COUNT(*) AS n FROM people\"\ncost = { epsilon = 1 }\n\
                   [[release]]\nname = \"middle\"\nkind = \"quantiles\"\ntable = \"people\"\ncolumn = \"age\"\nquantiles = [0.5]\ncost = { epsilon = 1 }\n\
                   [[release]]\nname = \"ages\"\nkind = \"cdf\"\ntable = \"people\"\ncolumn = \"age\"\ncost = { epsilon = 1 }\n";
    let folder = Folder::with(&[("scumble.toml", project)]);
    let found = folder.json(&["limits", "scumble.toml", "--json"]);
    let count = &found["releases"][0];
    assert!(
        (count["neighbour_success_at_most"].as_f64().unwrap() - 1.0 / (1.0 + (-1f64).exp())).abs() < 1e-9,
        "{count}"
    );
    assert!((count["mutual_information_bits_per_row"].as_f64().unwrap() - 0.178).abs() < 1e-3, "{count}");
    let floor = &count["errors"][0];
    assert_eq!(floor["column"], "n");
    assert!(floor["factor"].as_f64().unwrap() >= 1.0, "{floor}");
    // 121 ages that must be distinguished: at least three owners off, by packing.
    let floor = &found["releases"][2]["errors"][0];
    assert!(floor["least_possible"].as_f64().unwrap() >= 3.0 && floor["factor"].as_f64().unwrap() >= 1.0, "{floor}");
    // The same counts by the least singular value: less, and said so.
    let other = &found["releases"][2]["errors"][1];
    assert!(other["about"].as_str().unwrap().contains("by the least singular value"), "{other}");
    let (least, more) = (other["least_possible"].as_f64().unwrap(), floor["least_possible"].as_f64().unwrap());
    assert!(least > 0.1 && least < more, "{other}");
    let told = printed(folder.run(&["limits", "scumble.toml"]));
    assert!(told.contains("people (a person: epsilon 1)") && told.contains("n: nobody promises a"), "{told}");
    assert!(told.contains("middle") && told.contains("no lower bound is known"), "{told}");
    assert!(
        told.contains("for 2 owners present or absent") || told.contains("for one owner present or absent"),
        "{told}"
    );
    folder.refused(&["limits", "none.toml"], 2, "none.toml");
    // No row was read: there is no table.
    assert!(!folder.file("people.csv").exists());
}

/// Tables of counts over many columns: by the least singular value, by packing and by fingerprinting, each in its
/// scope, and none above what the release itself has.
#[test]
fn tables_of_many_columns_have_their_limits() {
    let columns: Vec<String> = (0..16).map(|column| format!("c{column}")).collect();
    let declared: String = columns.iter().map(|name| format!("{name} = {{ type = \"bool\" }}\n")).collect();
    let project = |public: &str, release: &str| {
        format!(
            "[dataset.people]\nsource = \"people.csv\"\n{public}[dataset.people.columns]\n{declared}[[release]]\nname = \"tables\"\nkind = \"marginals\"\ntable = \"people\"\n\
             columns = {columns:?}\nmissing = \"never\"\n{release}"
        )
    };
    let found = |public: &str, release: &str| {
        let folder = Folder::with(&[("scumble.toml", &project(public, release))]);
        let told = printed(folder.run(&["limits", "scumble.toml"]));
        (folder.json(&["limits", "scumble.toml", "--json"])["releases"][0]["errors"].clone(), told)
    };
    let one = "order = 1\ncost = { rho = 0.001, scope = \"person\" }\n";
    let (errors, told) = found("", one);
    let by = |errors: &Value, words: &str| {
        let all = errors.as_array().unwrap();
        let one = all.iter().find(|one| one["about"].as_str().unwrap().contains(words));
        one.unwrap_or_else(|| panic!("{words}: {errors}")).clone()
    };
    for (words, scope) in
        [("by the least singular value", "presence"), ("by packing", "person"), ("by fingerprinting", "person")]
    {
        let floor = by(&errors, words);
        assert!(floor["about"].as_str().unwrap().starts_with(scope), "{floor}");
        assert!(floor["least_possible"].as_f64().unwrap() > 0.2, "{floor}");
        assert!(floor["factor"].as_f64().unwrap() >= 1.0, "{floor}");
    }
    assert!(told.contains("estimate: nobody promises a root mean square error of one count of each column"), "{told}");
    // How many there are is public: nobody comes or goes, and few people are not enough for large groups.
    let (public, _) = found("public_owners = 40\n", one);
    let (few, many) = (by(&public, "by the least singular value"), by(&errors, "by the least singular value"));
    assert!(
        few["about"].as_str().unwrap().starts_with("person") && few["about"].as_str().unwrap().contains("40 owners"),
        "{few}"
    );
    assert!(few["least_possible"].as_f64() < many["least_possible"].as_f64(), "{few} {many}");
    let (few, many) = (by(&public, "by packing"), by(&errors, "by packing"));
    assert!(
        few["least_possible"].as_f64().unwrap() <= 20.0 && many["least_possible"].as_f64().unwrap() > 20.0,
        "{few} {many}"
    );
    // What is fitted has an error that nobody knows.
    let (fitted, told) = found("", "estimates = \"model\"\norder = 1\ncost = { rho = 0.001, scope = \"person\" }\n");
    assert_eq!(by(&fitted, "by fingerprinting")["expected"], Value::Null);
    assert!(
        told.contains("fitted: nobody promises") && told.contains("that of this release depends on the data"),
        "{told}"
    );
}

/// What a plan allows an owner to move is proven from above. Where no table has an owner who moves as much, or where
/// there are only so many, a limit that is made of it would be false.
#[test]
fn a_limit_is_printed_only_where_it_can_be_reached() {
    let limits = |owners: &str, release: &str| {
        let project = format!(
            "[dataset.t]\nsource = \"t.csv\"\nowner = \"who\"\nmax_rows_per_owner = 4\n{owners}[dataset.t.columns]\na = {{ type = \"int\", lower = 0, upper = 100 }}\nc = {{ type = \"category\", values = [\"u\", \"v\", \"w\"] }}\n[budget]\nperson = {{ epsilon = 9 }}\n[[release]]\nname = \"r\"\n{release}cost = {{ epsilon = 0.1 }}\n"
        );
        let folder = Folder::with(&[("scumble.toml", &project), ("t.csv", "who,a,c\n")]);
        folder.json(&["limits", "scumble.toml", "--json"])["releases"][0]["errors"].as_array().map_or(0, Vec::len)
    };
    let sql = |owners: &str, query: &str| limits(owners, &format!("sql = \"SELECT {query}\"\n"));
    for reached in [
        "COUNT(*) AS n FROM t",
        "c, COUNT(*) AS n FROM t GROUP BY c",
        "SUM(a) AS s FROM t",
        "COUNT(DISTINCT who) AS n FROM t",
        "a / 10 AS d, COUNT(*) AS n FROM t GROUP BY a / 10",
    ] {
        assert!(sql("", reached) > 0, "{reached}");
        assert_eq!(sql("public_owners = 10\n", reached), 0, "{reached}");
    }
    for never in [
        "SUM(a) AS s FROM t WHERE a < 10",
        "SUM(a - a) AS s FROM t",
        "SUM(a * (100 - a)) AS s FROM t",
        "COUNT(DISTINCT c) AS n FROM t",
        "COUNT(*) AS n FROM (SELECT who, c, COUNT(*) AS m FROM t GROUP BY who, c)",
    ] {
        assert_eq!(sql("", never), 0, "{never}");
    }
    for kind in
        ["kind = \"cdf\"\ntable = \"t\"\ncolumn = \"a\"\n", "kind = \"histogram\"\ntable = \"t\"\ncolumn = \"c\"\n"]
    {
        assert!(limits("", kind) > 0 && limits("public_owners = 10\n", kind) == 0, "{kind}");
    }
}
