//! `scumble lab attack` as people run it: golden vectors in their machine forms, the demonstration, and what is
//! refused.

use crate::calculators::audit::{agree, vectors};
use crate::support::{Folder, printed, refused, scumble_on};
use serde_json::{Value, json};

fn answer(arguments: &[&str], document: &Value) -> Value {
    let all = [&["attack"], arguments, &["-", "--json"]].concat();
    serde_json::from_str(&printed(scumble_on(&all, &document.to_string()))).unwrap()
}

#[test]
fn machine_forms_answer_the_vectors() {
    for (row, arguments) in [
        ("s6_exhaustive", &["reconstruct", "--method", "exhaustive"][..]),
        ("s6_boneh_shaw", &["trace"]),
        ("s6_tardos", &["trace"]),
        ("s6_inner_product", &["membership"]),
    ] {
        for vector in vectors(row) {
            agree(&vector, &answer(arguments, &vector["input"]));
        }
    }
    let vector = &vectors("s6_least_squares")[0];
    let found = answer(&["reconstruct", "--method", "least-squares"], &vector["input"]);
    assert_eq!(found["column"], vector["expected"]["column"]);
    for (place, expected) in vector["expected"]["estimate"].as_array().unwrap().iter().enumerate() {
        assert!((found["estimate"][place].as_f64().unwrap() - expected.as_f64().unwrap()).abs() < 1e-9);
    }
    for field in ["least_singular_value", "wrong_at_most", "predicted_wrong_fraction_sigma_1"] {
        let (found, expected) = (found[field].as_f64().unwrap(), vector["expected"][field].as_f64().unwrap());
        assert!((found / expected - 1.0).abs() < 1e-9, "{field}: {found} {expected}");
    }
}

#[test]
fn a_column_is_reconstructed_from_files_and_judged_by_the_truth() {
    let folder = Folder::with(&[
        ("queries.csv", "1,1,0\n0,1,1\n1,0,1\n"),
        ("answers.csv", "1\n1\n2\n"),
        ("truth.csv", "1\n0\n1\n"),
    ]);
    let files =
        ["attack", "reconstruct", "--queries", "queries.csv", "--answers", "answers.csv", "--truth", "truth.csv"];
    for method in ["exhaustive", "linear", "min-max", "least-squares"] {
        let told = folder.stdout(&[&files[..], &["--method", method, "--epsilon", "1"]].concat());
        assert!(told.contains("101") && told.contains("recovered 3 of 3; the best constant guess has 2"), "{told}");
        assert!(told.contains("nobody can expect more than 2.1931"), "{told}");
    }
    folder.write("answers.csv", "1\n1\n");
    folder.refused(&files, 2, "there are 2 answers to 3 queries");
    folder.write("answers.csv", "1\n1\nNaN\n");
    folder.refused(&files, 2, "answers.csv, line 3: 'NaN' is not a finite number");
    folder.write("answers.csv", "1\n1e300\n1\n");
    folder.refused(&files, 2, "answer 2 of 3 is 1e300, and counts are");
    folder.write("queries.csv", "1,1,0\n0,1,1\n1,0,2\n");
    folder.refused(&files, 2, "queries.csv, line 3: '2' is not 0 or 1");
    folder.write("queries.csv", "1,1\n0,1,1\n");
    folder.refused(&files, 2, "queries.csv, line 2: 2 columns are expected, not 3");
}

/// Where every answer is off by little, few values can be wrong; and ε = 0 promises that nothing was published.
#[test]
fn the_least_largest_error_has_a_certificate() {
    let (n, truth) = (8u32, [1, 0, 1, 1, 0, 0, 1, 0]);
    let queries: Vec<Vec<u32>> = (0..8u32)
        .map(|row| (0..n).map(|column| u32::from((row & column).count_ones() % 2 == 0)).collect())
        .chain((0..n).map(|row| (0..n).map(|column| u32::from(row == column)).collect()))
        .collect();
    let exact = |query: &Vec<u32>| query.iter().zip(truth).map(|(one, other)| f64::from(one * other)).sum::<f64>();
    let answers: Vec<f64> = queries.iter().enumerate().map(|(at, query)| exact(query) + [0.1, -0.1][at % 2]).collect();
    let document = json!({ "queries": queries, "answers": answers, "truth": truth });
    let found = answer(&["reconstruct", "--method", "min-max"], &document);
    assert_eq!(found["recovered"]["right"], 8, "{found}");
    let (error, least) = (found["largest_error"].as_f64().unwrap(), found["largest_error_at_least"].as_f64().unwrap());
    assert!(least <= error && error < 0.1 + 2e-3 && error - least < 2e-3, "{found}");
    // 4·16·(0.1 + E′)²/σ_min², and σ_min is above 1 with everybody's own count.
    let wrong = found["wrong_at_most"].as_f64().unwrap();
    assert!(wrong > 0.0 && wrong < 2.6, "{found}");
    let told = printed(scumble_on(&["attack", "reconstruct", "-", "--method", "min-max"], &document.to_string()));
    assert!(told.contains("the column of least largest error") && told.contains("values can be wrong"), "{told}");
    // A lower bound above the value was printed here.
    let found = answer(&["reconstruct", "--method", "linear"], &document);
    assert!(found["total_error_at_least"].as_f64().unwrap() <= found["total_error"].as_f64().unwrap(), "{found}");
    let none = ["attack", "reconstruct", "-", "--epsilon", "0"];
    refused(&scumble_on(&none, &document.to_string()), 2, "--epsilon 0 with delta 0 would publish nothing of the data");
}

/// Who is counted, as numbers of people: what many people and small queries need.
#[test]
fn sparse_queries_are_lists_of_people() {
    let folder = Folder::with(&[("members.txt", "0,1\n1, 2\n\n2,0\n"), ("answers.csv", "1\n1\n0\n2\n")]);
    let files = ["attack", "reconstruct", "--members", "members.txt", "--people", "3", "--answers", "answers.csv"];
    for method in ["exhaustive", "linear", "min-max", "least-squares"] {
        let told = folder.json(&[&files[..], &["--method", method, "--json"]].concat());
        assert_eq!(told["column"], json!([1, 0, 1]), "{told}");
    }
    let document = json!({ "n": 3, "members": [[0, 1], [1, 2], [], [2, 0]], "answers": [1, 1, 0, 2] });
    let told = printed(scumble_on(&["attack", "reconstruct", "-", "--json"], &document.to_string()));
    assert!(told.contains("\"column\":[1,0,1]"), "{told}");
    folder.write("members.txt", "0,1\n1,3\n\n2,0\n");
    folder.refused(&files, 2, "query 1 counts person 3, but there are 3");
    folder.write("members.txt", "0,1\n1,-1\n\n2,0\n");
    folder.refused(&files, 2, "members.txt, line 2: '-1' is not the number of a person");
    folder.refused(&files[..4], 2, "--people");
}

/// Who is counted, as predicates over what everybody knows of everybody.
#[test]
fn queries_are_predicates_over_a_public_frame() {
    let frame = "name,age,sex\nAda,34,f\nBob,67,m\nCy,12,m\nDi,,f\n";
    let predicates = "age >= 18\nsex = 'f'\nname IN ('Ada', 'Cy')\nage < 40 AND sex = 'm'\nage IS NULL OR age > 60\n";
    // Bob and Di have it.
    let folder = Folder::with(&[
        ("frame.csv", frame),
        ("where.sql", predicates),
        ("answers.csv", "1\n1\n0\n0\n2\n"),
        ("truth.csv", "0\n1\n0\n1\n"),
    ]);
    let files = ["attack", "reconstruct", "--frame", "frame.csv", "--where", "where.sql", "--answers", "answers.csv"];
    let told = folder.stdout(&[&files[..], &["--truth", "truth.csv"]].concat());
    assert!(told.contains("the first: 0101") && told.contains("recovered 4 of 4"), "{told}");
    for (line, words) in [
        ("weight > 3", "where.sql, line 1: 'weight > 3' is not a predicate over this frame"),
        ("age + 1", "it is not true or false"),
        ("age >", "line 1: 'age >' is not a predicate"),
        ("COUNT(*) > 1", "is not a predicate"),
        ("age = (SELECT 1)", "is not a predicate"),
    ] {
        folder.write("where.sql", line);
        folder.refused(&files, 2, words);
    }
    folder.write("frame.csv", "name,age,sex\n");
    folder.refused(&files, 2, "this frame has no people");
    folder.refused(
        &["attack", "reconstruct", "--frame", "none.csv", "--where", "where.sql", "--answers", "answers.csv"],
        2,
        "none.csv",
    );
    folder.refused(&files[..4], 2, "--where");
}

#[test]
fn the_demonstration_recovers_from_exact_counts_only() {
    let folder = Folder::with(&[]);
    let told = folder.json(&["attack", "demo", "--json"]);
    let recovered = |at: usize| told["attempts"][at]["recovered"].as_u64().unwrap();
    assert!(recovered(0) >= 190, "{told}");
    // The ceiling, and 6.4 standard deviations of 200 fair guesses beyond it: the noise is the engine's own, and is
    // passed with a probability below 1e-9.
    assert!(recovered(1) <= 147 + 45 && recovered(2) <= 105 + 45, "{told}");
    let page = folder.read("scumble-attack.html");
    assert!(
        page.contains("<svg") && page.contains("200 of 200 diagnoses are right") && !page.contains("src="),
        "{page}"
    );
    folder.refused(&["attack", "demo", "--out", "no/such/folder.html"], 2, "cannot be written");
}

/// With all questions asked, only few values can be wrong: twice the rounded double of the largest error.
#[test]
fn an_exhaustive_search_has_a_certificate_where_everything_was_asked() {
    let queries: Vec<Vec<u8>> = (0..16u8).map(|mask| (0..4).map(|bit| mask >> bit & 1).collect()).collect();
    let truth = [1, 0, 1, 1];
    let exact = |query: &Vec<u8>| query.iter().zip(truth).map(|(one, other)| f64::from(one * other)).sum::<f64>();
    let answers: Vec<f64> =
        queries.iter().enumerate().map(|(at, query)| exact(query) + [0.25, -0.25][at % 2]).collect();
    let document = json!({ "queries": queries, "answers": answers, "truth": truth });
    let found = answer(&["reconstruct", "--method", "exhaustive"], &document);
    assert_eq!((&found["wrong_at_most"], &found["recovered"]["right"]), (&json!(0), &json!(4)));
    let fewer = json!({ "queries": queries[..9], "answers": answers[..9], "truth": truth });
    assert_eq!(answer(&["reconstruct", "--method", "exhaustive"], &fewer)["wrong_at_most"], Value::Null);
}

/// Who is accused beside who was there, the best constant guess and the ceiling.
#[test]
fn membership_is_judged_by_the_truth() {
    let folder = Folder::with(&[("truth.csv", "1\n0\n0\n"), ("long.csv", "1\n0\n")]);
    let published: Vec<f64> = (0..400).map(|at| if at % 2 == 0 { 0.9 } else { 0.1 }).collect();
    let person = |like: usize| (0..400).map(|at| usize::from(at % 2 == like)).collect::<Vec<_>>();
    let persons = [person(0), person(1), person(1)];
    let document =
        json!({ "published": published, "population": vec![0.5; 400], "persons": persons, "false_positive": 1e-3 });
    folder.write("known.json", &document.to_string());
    let arguments = ["attack", "membership", "known.json", "--truth", "truth.csv", "--epsilon", "0.1", "--json"];
    let told = folder.json(&arguments)["recovered"].clone();
    assert_eq!((&told["people"], &told["right"], &told["constant_guess"]), (&json!(3), &json!(3), &json!(2)));
    assert!((told["ceiling"].as_f64().unwrap() - 0.524979).abs() < 1e-6, "{told}");
    let said = folder.stdout(&["attack", "membership", "known.json", "--truth", "truth.csv", "--epsilon", "0.1"]);
    assert!(said.contains("right about 3 of 3; the best constant guess has 2"), "{said}");
    folder.refused(
        &["attack", "membership", "known.json", "--truth", "long.csv"],
        2,
        "long.csv: 3 values are expected, not 2",
    );
    // The same in CSV files.
    let lines = |values: &[f64]| values.iter().map(|value| format!("{value}\n")).collect::<String>();
    let row = |person: &Vec<usize>| person.iter().map(ToString::to_string).collect::<Vec<_>>().join(",") + "\n";
    folder.write("means.csv", &lines(&published));
    folder.write("population.csv", &lines(&[0.5; 400]));
    folder.write("persons.csv", &persons.iter().map(row).collect::<String>());
    let files = ["attack", "membership", "--published", "means.csv", "--population", "population.csv", "--persons"];
    let files = [&files[..], &["persons.csv", "--false-positive", "1e-3", "--truth", "truth.csv"]].concat();
    assert_eq!(folder.json(&[&files[..], &["--epsilon", "0.1", "--json"]].concat())["recovered"], told);
    folder.write("population.csv", "0.5\n");
    folder.refused(&files, 2, "means.csv: there are 400 published means and 1 of the population");
    folder.write("population.csv", "0.5\nhalf\n");
    folder.refused(&files, 2, "population.csv, line 2: 'half' is not a number");
    folder.refused(&files[..4], 2, "--population");
}

#[test]
fn wrong_input_is_refused() {
    let wrong = |arguments: &[&str], document: Value, words: &str| {
        refused(&scumble_on(&[&["attack"], arguments, &["-"]].concat(), &document.to_string()), 2, words);
    };
    wrong(
        &["reconstruct"],
        json!({"queries": [[1, 0], [1]], "answers": [1, 1]}),
        "$.queries[1]: 2 entries are expected",
    );
    wrong(&["reconstruct"], json!({"queries": [[1, 2]], "answers": [1]}), "$.queries[0][1]: 0 or 1 is expected");
    wrong(&["reconstruct"], json!({"queries": [3], "answers": [1], "n": 1}), "$.queries[0]: a mask of 1 people");
    wrong(&["reconstruct"], json!({"queries": [[1]], "answers": ["x"]}), "$.answers[0]: a number is expected");
    wrong(&["trace"], json!({"users": 0, "beta": 0.1}), "1 to 10000 users");
    wrong(
        &["trace"],
        json!({"bias": [1.0], "pirate": [0], "user": [0], "false_positive": 0.1}),
        "bias 0 must be a number in (0, 1)",
    );
    wrong(
        &["trace"],
        json!({"bias": [0.5], "pirate": [0, 1], "user": [0], "false_positive": 0.1}),
        "2 bits, the code 1 columns",
    );
    let means = json!({"published": [0.5], "population": [0.5, 0.5], "person": [1], "false_positive": 0.1});
    wrong(&["membership"], means, "1 published means and 2 of the population");
}

/// The page's example, by a shell.
#[test]
fn the_page_does_what_it_says() {
    let page = include_str!("../../../../../docs/how-to/attack-and-audit.md");
    let script = page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = Folder::with(&[]);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_scumble")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let run = std::process::Command::new("sh")
        .args(["-e", "-c", script])
        .env("PATH", path)
        .current_dir(folder.path())
        .output();
    let text = printed(run.unwrap());
    for words in [
        "exact counts: 200 of 200 diagnoses recovered",
        "recovered 4 of 4; the best constant guess has 3",
        "right about 2 of 2; the best constant guess has 1",
        "no evidence against the claim",
        "with probability at most 0.7310586",
        "the column of least largest error (0.0",
        "by the least singular value",
        "by fingerprinting of 8 columns",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
}
