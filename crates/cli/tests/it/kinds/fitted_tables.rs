//! Fitted tables: bars that were another number's, totals that were too large, and costs per attribute that were not
//! used up.

use crate::support::Folder;
use serde_json::Value;

const ESTIMATE: &str = "estimate,estimate_se,estimate_low,estimate_high";
const FITTED: &str = "fitted,fitted_se,fitted_low,fitted_high";

const PEOPLE: usize = 4000;

/// Nobody's value is missing, so that the cells of `(missing)` are 0.
fn folder(declared: &str, releases: &str) -> Folder {
    let row =
        |i: usize| format!("{},{},{}\n", i * 7 / 3 % 4, ["f", "m"][i / 5 % 2], ["none", "none", "flu"][i / 11 % 3]);
    let rows: String = (0..PEOPLE).map(row).collect();
    let project = format!(
        "[dataset.people]\nsource = \"people.csv\"\n{declared}[dataset.people.columns]\nage = {{ type = \"int\", lower = 0, upper = 3 }}\n\
         sex = {{ type = \"category\", values = [\"f\", \"m\"] }}\nrace = {{ type = \"category\", values = [\"none\", \"flu\"] }}\n\n{releases}"
    );
    Folder::with(&[("people.csv", &format!("age,sex,race\n{rows}")), ("scumble.toml", &project)])
}

fn release(kind: &str, more: &str) -> String {
    format!(
        "[[release]]\nname = \"r\"\nkind = \"{kind}\"\ntable = \"people\"\ncolumns = [\"age\", \"sex\", \"race\"]\ncost = {{ rho = 0.05 }}\n{more}\n"
    )
}

fn rows(shown: &Value) -> Vec<Value> {
    shown["releases"][0]["answers"]["rows"].as_array().unwrap().clone()
}

/// How many people a one-way table of a column says there are.
fn total(rows: &[Value], column: &str, what: &str) -> f64 {
    let others: Vec<&str> = ["age", "sex", "race"].into_iter().filter(|other| *other != column).collect();
    let own = rows.iter().filter(|row| others.iter().all(|other| row[*other].is_null()));
    own.map(|row| row[what].as_f64().unwrap()).sum()
}

/// The standard error of the unbiased estimate stood beside the fitted count, "which the fit improves on average": it
/// did not for tables of one.
#[test]
fn the_bar_stands_beside_the_number_that_it_belongs_to() {
    for method in ["residual", "projection"] {
        let folder = folder("", &release("marginals", &format!("method = \"{method}\"")));
        let shown = folder.json(&["release", "--json"]);
        for row in rows(&shown) {
            let (estimate, error) = (row["estimate"].as_f64().unwrap(), row["estimate_error"].as_f64().unwrap());
            let [low, high] = [0, 1].map(|end| row["estimate_interval"][end].as_f64().unwrap());
            assert!((high + low - 2.0 * estimate).abs() < 1e-6, "{row}");
            // 1.96 standard errors, and less than a step of noise.
            assert!((high - low) / 2.0 - 1.96 * error < 0.6 && (high - low) / 2.0 > 1.959 * error, "{row}");
            assert!(row["fitted"].as_f64().unwrap() >= 0.0 && row["fitted_error"].is_null(), "{row}");
        }
        let said = shown["releases"][0]["answers"]["notes"][0].as_str().unwrap();
        assert!(
            said.contains("`fitted`") && said.contains("no standard error") && said.contains("not its own"),
            "{said}"
        );
        let header = folder.read("out/r.csv");
        assert_eq!(header.lines().next().unwrap(), format!("age,sex,race,{ESTIMATE},{FITTED}"));
    }
    for (estimates, header) in [("unbiased", ESTIMATE), ("model", FITTED)] {
        let folder = folder("", &release("marginals", &format!("estimates = \"{estimates}\"")));
        folder.stdout(&["release", "--quiet"]);
        assert_eq!(folder.read("out/r.csv").lines().next().unwrap(), format!("age,sex,race,{header}"));
    }
}

/// Fitted tables had too many people, since no count is below 0. They have as many as were measured now, and as many as
/// are declared where that is public; then that number is not paid for.
#[test]
fn tables_add_up_to_what_was_measured_or_declared() {
    for (declared, number) in [("", None), ("public_owners = 4000\n", Some(4000.0))] {
        for method in ["residual", "projection", "mwem"] {
            let folder = folder(declared, &release("marginals", &format!("method = \"{method}\"")));
            let shown = folder.json(&["release", "--json"]);
            let rows = rows(&shown);
            let fitted = ["age", "sex", "race"].map(|column| total(&rows, column, "fitted"));
            assert!(fitted.iter().all(|total| (total - fitted[0]).abs() < 1e-6 * fitted[0]), "{method}: {fitted:?}");
            assert!(
                number.is_none_or(|number: f64| (fitted[0] - number).abs() < 1e-6 * number),
                "{method}: {fitted:?}"
            );
            let notes = shown["releases"][0]["answers"]["notes"].to_string();
            assert_eq!(notes.contains("declared public_owners = 4000"), number.is_some(), "{notes}");
            if method == "residual" {
                let measured = total(&rows, "sex", "estimate");
                assert!((measured - fitted[0]).abs() < 1e-6 * measured, "{measured} {fitted:?}");
            }
        }
        let rows = folder(declared, &release("synthetic", ""));
        rows.stdout(&["release", "--quiet"]);
        let found = rows.read("out/r.csv").lines().count() - 1;
        assert!(number.is_none_or(|number| found as f64 == number), "{found}");
    }
    let error = |declared: &str| {
        let shown = folder(declared, &release("marginals", "")).json(&["plan", "--json"]);
        shown["releases"][0]["errors"][0]["standard_error"].as_f64().unwrap()
    };
    assert!(error("public_owners = 4000\n") < error(""));
    let many = folder("public_owners = 2000000000000\n", &release("marginals", ""));
    many.refused(&["plan"], 2, "must be below 2^40");
}

/// "The fit makes it smaller on average" was promised for rows and for fitted tables of every size.
#[test]
fn a_plan_promises_no_error_of_what_is_fitted() {
    let shown = folder("", &release("synthetic", "")).json(&["plan", "--json"]);
    for error in shown["releases"][0]["errors"].as_array().unwrap() {
        assert!(
            error["standard_error"].is_null() && error["about"].as_str().unwrap().contains("no standard error"),
            "{error}"
        );
    }
    let shown = folder("", &release("marginals", "")).json(&["plan", "--json"]);
    let errors = shown["releases"][0]["errors"].as_array().unwrap();
    assert_eq!(
        errors.iter().map(|error| error["column"].as_str().unwrap()).collect::<Vec<_>>(),
        ["estimate", "estimate", "fitted"]
    );
    assert!(errors[0]["standard_error"].as_f64() > Some(0.0) && errors[2]["standard_error"].is_null(), "{errors:?}");
}

/// With a cost of 1 for each attribute and 0.3 for one of them, all noise was scaled to that one: the others got 0.26
/// to 0.32 of what they were granted.
#[test]
fn each_attribute_gets_what_it_was_granted_and_the_plan_says_so() {
    let more = "attribute_costs = { race = 0.3 }\nmethod = \"residual\"";
    let strict = |kind: &str, cost: &str| release(kind, more).replace("rho = 0.05", cost);
    for kind in ["marginals", "synthetic"] {
        for cost in ["rho = 1, scope = \"attribute\"", "epsilon = 1, delta = 1e-9, scope = \"attribute\""] {
            let folder = folder("", &strict(kind, cost));
            let shown = folder.json(&["plan", "--json"]);
            let granted = shown["releases"][0]["rule"]["granted"].as_array().unwrap();
            assert_eq!(granted.len(), 3);
            for one in granted {
                let (most, pays) = (one["granted"].as_f64().unwrap(), one["pays"].as_f64().unwrap());
                assert_eq!(most, if one["attribute"] == "race" { 0.3 } else { 1.0 });
                assert!(pays <= most && pays > 0.999 * most, "{kind} {cost}: {one}");
            }
            let text = folder.stdout(&["plan", "--details"]);
            assert!(text.contains("granted, as") && text.contains("100.0%"), "{text}");
            folder.stdout(&["release", "--quiet"]);
        }
    }
    // Costs of persons grant nothing to single attributes.
    let whole = folder("", &release("marginals", ""));
    assert_eq!(whole.json(&["plan", "--json"])["releases"][0]["rule"]["granted"], serde_json::json!([]));
    assert!(!whole.stdout(&["plan", "--details"]).contains("granted"));
}

/// Ten million rows were drawn for a table that publicly has a billion people: minutes for a file that nobody asked
/// for.
#[test]
fn synthetic_rows_of_more_people_than_can_be_made_up_are_refused() {
    let said = folder("public_owners = 1000000000000\n", &release("synthetic", "")).run(&["plan"]);
    let said = crate::support::refused(&said, 2, "public_owners of table");
    assert!(
        said.contains("is 1000000000000, and at most 10000000 synthetic rows are made: use kind marginals"),
        "{said}"
    );
    folder("public_owners = 10000000\n", &release("synthetic", "")).stdout(&["plan"]);
    folder("public_owners = 1000000000000\n", &release("marginals", "")).stdout(&["plan"]);
}

/// With hardly any budget the number of people is noise: up to ten million rows were made up of it, for minutes.
#[test]
fn rows_for_a_number_of_people_that_is_noise_are_refused_before_the_charge() {
    let project = |more: &str, rho: &str| {
        format!(
            "[dataset.people]\nsource = \"people.csv\"\n{more}[dataset.people.columns]\nage = {{ type = \"int\", lower = 0, upper = 9 }}\n\
             [budget]\nperson = {{ epsilon = 1, delta = 1e-6 }}\n\
             [[release]]\nname = \"rows\"\nkind = \"synthetic\"\ntable = \"people\"\ncolumns = [\"age\"]\ncost = {{ rho = {rho} }}\n"
        )
    };
    let folder = Folder::with(&[("people.csv", "age\n1\n2\n"), ("scumble.toml", &project("", "1e-15"))]);
    let sentence = "at this cost the number of people has a standard error above 1000000, and rows would be noise \
        alone: raise the cost, or declare public_owners";
    folder.refused(&["plan"], 2, sentence);
    folder.refused(&["release"], 2, sentence);
    folder.write("scumble.toml", &project("", "1e-3"));
    folder.stdout(&["plan"]);
    folder.write("scumble.toml", &project("public_owners = 2\n", "1e-15"));
    folder.stdout(&["plan"]);
}
