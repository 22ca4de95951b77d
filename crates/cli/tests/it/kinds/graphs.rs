//! Graphs, the most common value, and what is exactly true or not said, as a user runs them.

use crate::support::{Folder, epsilon, exactly};
use scumble_testing::projects::FRIENDS as GRAPH;

/// Forty vertices in a ring in which each is joined to the next four: 40·(3+2+1) triangles.
fn ring() -> String {
    let rows = (0..40).flat_map(|vertex| (1..=4).map(move |step| format!("{vertex},{}\n", (vertex + step) % 40)));
    format!("a,b\n{}", rows.collect::<String>())
}

const TRIANGLES: f64 = 240.0;

fn project(kind: &str, release: &str) -> String {
    format!("{GRAPH}[[release]]\nname = \"r\"\nkind = \"{kind}\"\ntable = \"friends\"\n{release}\n")
}

fn folder(kind: &str, release: &str) -> Folder {
    Folder::with(&[("edges.csv", &ring()), ("scumble.toml", &project(kind, release))])
}

/// The one row of an answer.
fn answer(folder: &Folder) -> serde_json::Value {
    folder.json_file("out/r.json")["answers"]["rows"][0].clone()
}

#[test]
fn triangles_by_smooth_noise_cost_a_pure_epsilon_and_have_an_error_bar() {
    let folder = folder("triangles", "method = \"smooth\"\ncost = { epsilon = 4 }");
    let plan = folder.json(&["plan", "--json"]);
    let shown = &plan["releases"][0];
    // Scales are multiples of 1/16: nearly all of the cost is used.
    let person = epsilon(&shown["costs"]["person"]);
    assert!(person <= 4.0 && person > 3.96, "{person}");
    // An edge that moves is one step, as one that comes or goes.
    assert_eq!(person, epsilon(&shown["costs"]["presence"]));
    assert_eq!(epsilon(&shown["costs"]["attributes"]["a"]), person);
    assert!(shown["errors"][0]["about"].as_str().unwrap().contains("common neighbours"), "{shown}");
    let notes = shown["notes"].to_string();
    assert!(notes.contains("node-level privacy is not offered") && notes.contains("worst graph of 200"), "{notes}");
    folder.stdout(&["release"]);
    let answer = answer(&folder);
    let interval = |end: usize| answer["triangles_interval"][end].as_f64().unwrap();
    assert!(interval(0) < interval(1) && answer["triangles_error"].as_f64().unwrap() > 0.0, "{answer}");
    // The scale is below 100, and P[|Z| > q] about 0.3·(s/q)³: 3e-10.
    assert!((answer["triangles"].as_f64().unwrap() - TRIANGLES).abs() < 100_000.0, "{answer}");
    let report = folder.read("out/report.html");
    assert!(report.contains("node-level privacy is not offered"));
    assert!(folder.read("out/r.csv").starts_with("triangles,triangles_se,triangles_low,triangles_high\n"));
}

#[test]
fn smooth_noise_of_other_families_costs_a_delta() {
    let folder = folder("triangles", "cost = { epsilon = 1 }");
    for (name, family, delta) in [("laplace", "discrete-laplace", "1e-6"), ("gaussian", "discrete-gaussian", "1e-6")] {
        let release = format!("method = \"smooth\"\nfamily = \"{family}\"\ncost = {{ epsilon = 4, delta = {delta} }}");
        folder.write("scumble.toml", &project("triangles", &release).replace("\"r\"", &format!("\"{name}\"")));
        let shown = folder.json(&["plan", "--json"])["releases"][0].clone();
        assert_eq!(shown["rule"]["method"]["family"], family);
        let person = epsilon(&shown["costs"]["person"]);
        assert!(person <= 4.0 && person > 3.9, "{person}");
        folder.stdout(&["release"]);
        let answer = folder.json_file(&format!("out/{}.json", name.replace(' ', "-")))["answers"]["rows"][0].clone();
        let interval = |end: usize| answer["triangles_interval"][end].as_f64().unwrap();
        assert!(interval(0) < interval(1) && answer["triangles_error"].as_f64().unwrap() > 0.0, "{answer}");
    }
    for (fields, words) in [
        (
            "method = \"smooth\"\nfamily = \"discrete-laplace\"\ncost = { epsilon = 1 }",
            "discrete-laplace needs a delta",
        ),
        ("method = \"smooth\"\nfamily = \"laplace\"\ncost = { epsilon = 1 }", "there is no smooth noise 'laplace'"),
        (
            "method = \"bounded\"\nfamily = \"cauchy4\"\ncost = { epsilon = 1, delta = 1e-6 }",
            "only with method = \"smooth\"",
        ),
    ] {
        folder.write("scumble.toml", &project("triangles", fields));
        folder.refused(&["plan"], 2, words);
    }
}

#[test]
fn a_bounded_sensitivity_is_published_with_the_count() {
    let folder =
        folder("triangles", "method = \"bounded\"\ncost = { epsilon = 4, delta = 1e-6, scope = \"presence\" }");
    let shown = folder.json(&["plan", "--json"])["releases"][0].clone();
    let presence = epsilon(&shown["costs"]["presence"]);
    assert!(presence <= 4.0 && presence > 3.999, "{presence}");
    folder.stdout(&["release"]);
    let answer = answer(&folder);
    let (bound, error) = (answer["sensitivity_bound"].as_f64().unwrap(), answer["triangles_error"].as_f64().unwrap());
    // Two vertices of the ring have at most 6 common neighbours; the bound is never below that.
    assert!(bound >= 6.0, "{answer}");
    assert!((error / (2f64.sqrt() * bound / 3.2) - 1.0).abs() < 0.01, "{answer}");
    assert!(
        folder.read("out/r.csv").starts_with("triangles,triangles_se,triangles_low,triangles_high,sensitivity_bound\n")
    );
    // Without a delta there is none of it, and 'auto' needs none.
    folder.write("scumble.toml", &project("triangles", "method = \"bounded\"\ncost = { epsilon = 1 }"));
    folder.refused(&["plan"], 2, "a bounded sensitivity needs a delta");
    folder.write("scumble.toml", &project("triangles", "cost = { epsilon = 1 }"));
    assert_eq!(folder.json(&["plan", "--json"])["releases"][0]["rule"]["method"]["name"], "smooth");
}

#[test]
fn propose_test_release_answers_or_not_and_is_charged_both_times() {
    let release = |proposed: u64| {
        project(
            "triangles",
            &format!(
                "method = \"propose-test-release\"\nproposed = {proposed}\ncost = {{ epsilon = 4, delta = 1e-6 }}"
            ),
        )
    };
    let folder = Folder::with(&[("edges.csv", &ring()), ("scumble.toml", &release(190))]);
    folder.stdout(&["release"]);
    assert!(answer(&folder)["triangles"].is_i64());
    // An edge of the ring changes up to 6 triangles: 5 is too little for sure, and that is charged.
    folder.write("scumble.toml", &release(5).replace("name = \"r\"", "name = \"r2\""));
    folder.stdout(&["release"]);
    let shown = folder.json_file("out/r2.json");
    assert!(
        shown["answers"]["rows"][0]["triangles"].is_null()
            && shown["answers"]["rows"][0]["triangles_error"] == "unbounded"
    );
    assert!(shown["answers"]["notes"].to_string().contains("It was charged all the same"), "{shown}");
    let ledger = folder.json(&["ledger", "show", "--json", "--delta", "1e-5"]);
    let spent = epsilon(&ledger["person"]);
    assert!(spent > 7.99 && spent <= 8.0, "{spent}");
    assert!(folder.read("out/report.html").contains("charged all the same"));
}

#[test]
fn degrees_are_published_without_vertices() {
    let folder = folder("degrees", "cost = { epsilon = 8 }");
    let shown = folder.json(&["plan", "--json"])["releases"][0].clone();
    exactly(epsilon(&shown["costs"]["person"]), 8.0);
    folder.stdout(&["release"]);
    let table = folder.read("out/r.csv");
    assert!(table.starts_with("degree,how_many,how_many_se,"), "{table}");
    // Forty vertices of eight edges each: about that many, all around that degree.
    let ends: f64 = table
        .lines()
        .skip(1)
        .map(|line| line.split(',').take(2).map(|x| x.parse::<f64>().unwrap()).product::<f64>())
        .sum();
    assert!((ends - 320.0).abs() < 120.0, "{table}");
    assert!(folder.read("out/report.html").contains("How many vertices have at least this many edges"));
    assert!(folder.read("out/r.json").contains("node-level privacy is not offered"));
}

/// The columns of edges need no words of their own.
#[test]
fn a_graph_needs_no_columns() {
    let folder = folder("triangles", "cost = { epsilon = 1 }");
    let whole = project("triangles", "cost = { epsilon = 1 }");
    let (before, after) = whole.split_once("[dataset.friends.columns]").unwrap();
    let after = &after[after.find("[[release]]").unwrap()..];
    folder.write("scumble.toml", &format!("{before}{after}"));
    assert_eq!(folder.run(&["release", "--quiet"]).status.code(), Some(0));
}

/// Rows that are no edge count for nothing, and no failure reveals them; a check reports the first one to the curator,
/// by its line.
#[test]
fn a_check_says_which_row_is_no_edge() {
    let folder = folder("triangles", "cost = { epsilon = 1 }");
    assert_eq!(folder.json(&["check", "--json"])["hints"], serde_json::json!([]));
    for (row, words) in [
        (
            "200,7",
            "edges.csv:162: column 'a' holds none of the 200 vertices here, which are 0 to 199: the row does not count",
        ),
        ("7,-1", "edges.csv:162: column 'b' holds none of the 200 vertices here"),
        (",7", "edges.csv:162: column 'a' holds none"),
        ("7,7", "edges.csv:162: both ends are the same vertex: the row does not count"),
        ("1,0", "edges.csv:162: this edge is listed before, in this direction or the other: it counts once"),
    ] {
        folder.write("edges.csv", &format!("{}{row}\n", ring()));
        let said = folder.stdout(&["check"]);
        assert!(said.contains(words), "{row}: {said}");
    }
    assert_eq!(folder.run(&["release", "--quiet"]).status.code(), Some(0));
}

#[test]
fn kinds_of_graphs_are_listed_and_one_is_refused_in_one_sentence() {
    let folder = folder("triangles", "cost = { rho = 1 }");
    folder.refused(&["plan"], 2, "takes an epsilon");
    let listed = folder.stdout(&["kinds"]);
    for kind in ["triangles", "degrees", "mode", "exact-if-stable"] {
        assert!(listed.contains(kind), "{listed}");
    }
}

/// 300 people: 200 tea, 70 coffee, 30 milk.
fn drinks() -> String {
    let rows = [("tea", 200), ("coffee", 70), ("milk", 30)].map(|(drink, times)| format!("{drink}\n").repeat(times));
    format!("drink\n{}", rows.concat())
}

fn people(release: &str) -> String {
    format!(
        "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\ndrink = {{ type = \"category\" }}\n\
         [[release]]\nname = \"r\"\ntable = \"people\"\n{release}\n"
    )
}

#[test]
fn the_mode_is_published_exactly_or_not_and_charged_both_times() {
    let release = people("kind = \"mode\"\ncolumn = \"drink\"\ncost = { epsilon = 1, delta = 1e-9 }");
    let folder = Folder::with(&[("people.csv", &drinks()), ("scumble.toml", &release)]);
    let shown = folder.json(&["plan", "--json"])["releases"][0].clone();
    exactly(epsilon(&shown["costs"]["person"]), epsilon(&shown["costs"]["presence"]));
    assert_eq!(epsilon(&shown["costs"]["attributes"]["drink"]), epsilon(&shown["costs"]["person"]));
    let lead = shown["rule"]["lead_for_95_percent"].as_u64().unwrap();
    assert!((30..60).contains(&lead), "{lead}");
    folder.stdout(&["release"]);
    assert_eq!(folder.read("out/r.csv"), "drink,is_published\ntea,true\n");
    // A tie: published with probability 2.5e-10 only.
    folder.write("people.csv", "drink\ntea\ncoffee\n");
    folder.write("scumble.toml", &release.replace("name = \"r\"", "name = \"tie\""));
    folder.stdout(&["release", "--again", "tie"]);
    assert_eq!(folder.read("out/tie.csv"), "drink,is_published\n,false\n");
    let shown = folder.json_file("out/tie.json");
    assert!(shown["answers"]["notes"].to_string().contains("It was charged all the same"), "{shown}");
    let spent = epsilon(&folder.json(&["ledger", "show", "--json", "--delta", "1e-5"])["person"]);
    assert!(spent > 1.99 && spent <= 2.0, "{spent}");
    folder.write("scumble.toml", &release.replace(", delta = 1e-9", ""));
    folder.refused(&["plan"], 2, "a value that is published exactly needs a delta");
}

#[test]
fn what_takes_many_owners_to_change_is_said_exactly() {
    let release = |fields: &str| {
        people(&format!(
            "kind = \"exact-if-stable\"\nwhere = \"drink = 'tea'\"\n{fields}\ncost = {{ epsilon = 1, delta = 1e-9 }}"
        ))
    };
    let folder = Folder::with(&[("people.csv", &drinks()), ("scumble.toml", &release("at_least = 100"))]);
    folder.stdout(&["release"]);
    assert_eq!(folder.read("out/r.csv"), "is_at_least_100,is_published\ntrue,true\n");
    for (name, fields, expected) in [
        ("b", "rounded_to = 150", "from,below,is_published\n150,300,true\n"),
        ("c", "at_least = 201", "is_at_least_201,is_published\n,false\n"),
    ] {
        folder.write("scumble.toml", &release(fields).replace("name = \"r\"", &format!("name = \"{name}\"")));
        folder.stdout(&["release"]);
        assert_eq!(folder.read(&format!("out/{}.csv", name.replace(' ', "-"))), expected);
    }
    assert!(folder.read("out/c.json").contains("It was charged all the same"));
    for (fields, words) in [
        ("", "needs 'at_least' or 'rounded_to'"),
        ("rounded_to = 1", "changes with every row"),
        ("at_least = 5\nrounded_to = 10", "give only one of at_least"),
    ] {
        folder.write("scumble.toml", &release(fields));
        folder.refused(&["plan"], 2, words);
    }
    folder.write("scumble.toml", &release("at_least = 5").replace("drink = 'tea'", "1 = 1) HAVING (1 = 1"));
    folder.refused(&["plan"], 2, "this must be one condition");
    folder.write("scumble.toml", &release("rounded_to = 10"));
    assert!(folder.stdout(&["plan"]).contains("Hardly any count of "));
}

#[test]
fn smooth_quantiles_stand_beside_the_exponential_mechanism() {
    let rows: String = (0..2000).map(|row| format!("{}\n", 30 + row % 40)).collect();
    let text = "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\nage = { type = \"int\", lower = 0, upper = 120 }\n\
        [[release]]\nname = \"r\"\nkind = \"quantiles\"\ntable = \"people\"\ncolumn = \"age\"\nquantiles = [0.5]\nmethod = \"smooth\"\ncost = { epsilon = 2 }\n";
    let folder = Folder::with(&[("people.csv", &format!("age\n{rows}")), ("scumble.toml", text)]);
    let shown = folder.json(&["plan", "--json"])["releases"][0].clone();
    let notes = shown["notes"].to_string();
    assert!(
        notes.contains("Recommended instead: method = \\\"exponential\\\"") && notes.contains("rows in rank"),
        "{notes}"
    );
    let person = epsilon(&shown["costs"]["person"]);
    assert!(person <= 2.0 && person > 1.995, "{person}");
    folder.stdout(&["release"]);
    let answer = answer(&folder);
    let interval = |end: usize| answer["value_interval"][end].as_f64().unwrap();
    assert!(interval(0) >= 0.0 && interval(1) <= 120.0 && interval(0) <= answer["value"].as_f64().unwrap(), "{answer}");
    for (from, to, words) in [
        ("[0.5]", "[0]", "strictly between 0 and 1"),
        ("\"smooth\"", "\"rough\"", "'exponential' or 'smooth'"),
        ("{ epsilon = 2 }", "{ rho = 2 }", "takes an epsilon"),
        ("\"smooth\"", "\"smooth\"\nfamily = \"discrete-gaussian\"", "discrete-gaussian needs a delta"),
        ("method = \"smooth\"", "family = \"cauchy4\"", "only with method = \"smooth\""),
    ] {
        folder.write("scumble.toml", &text.replace(from, to));
        folder.refused(&["plan"], 2, words);
    }
    // What the plan says of evenly spread values is about what is published for these.
    let about = shown["errors"][0]["about"].as_str().unwrap();
    assert!(about.contains(" if 10,000 values lie evenly between the bounds, about "), "{about}");
}
