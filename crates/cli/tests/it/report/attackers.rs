//! `[attacker]` in the project file: what the report says about weaker attackers, and the kind `exact-count`.

use crate::support::{Folder, epsilon};
use serde_json::Value;

const VOTES: usize = 4000;

fn votes() -> String {
    let rows = (0..VOTES).map(|vote| format!("{},{}\n", ["yes", "no"][usize::from(vote % 5 < 2)], vote % 3));
    format!("answer,district\n{}", rows.collect::<String>())
}

fn dataset(lines: &str) -> String {
    format!(
        "[dataset.votes]\nsource = \"votes.csv\"\n{lines}\n[dataset.votes.columns]\n\
         answer = {{ type = \"category\", values = [\"yes\", \"no\"] }}\ndistrict = {{ type = \"int\", lower = 0, upper = 2 }}\n"
    )
}

const ATTACKER: &str =
    "[attacker]\nknown_rows = 0.5\nuncertainty = 0.1\nindependence = \"declared\"\nmode = \"active\"\ndelta = 1e-9\n";

const NOISY: &str = "[[release]]\nname = \"yes\"\nsql = \"SELECT COUNT(*) AS n FROM votes WHERE answer = 'yes'\"\ncost = { epsilon = 1.0 }\n\
    [[release]]\nname = \"by district\"\nkind = \"histogram\"\ntable = \"votes\"\ncolumns = [\"district\"]\ncost = { epsilon = 1.0 }\n\
    [[release]]\nname = \"two numbers\"\nsql = \"SELECT COUNT(*) AS n, SUM(district) AS s FROM votes\"\ncost = { epsilon = 1.0 }\n";

const EXACT: &str = "[[release]]\nname = \"yes\"\nkind = \"exact-count\"\ntable = \"votes\"\nwhere = \"answer = 'yes'\"\ni_accept_assumptions = true\n";

fn folder(parts: &[&str]) -> Folder {
    Folder::with(&[("votes.csv", &votes()), ("scumble.toml", &parts.concat())])
}

fn of<'a>(list: &'a Value, release: &str) -> &'a Value {
    list.as_array().unwrap().iter().find(|one| one["release"] == release).unwrap_or_else(|| panic!("{release}: {list}"))
}

#[test]
fn the_report_tells_what_the_declared_attacker_learns_beside_the_guarantee() {
    let folder = folder(&[&dataset("public_owners = 4000"), ATTACKER, NOISY]);
    folder.stdout(&["release", "--quiet"]);
    let report = folder.json_file("out/report.json");
    let count = of(&report["attackers"], "yes");
    assert_eq!((count["verdict"].as_str(), count["kind"].as_str()), (Some("guarantee"), Some("APKDP")));
    // The same question to `scumble lab attacker`, which is tested against vectors; the noise has scale 1.
    let question = "[population]\nn_total = 4000\n[attacker]\nknown_records = 2000\n[uncertainty]\nkind = \"lambda\"\nlambda = 0.1\n\
                    independence = \"declared\"\n[release]\nkind = \"count\"\nreleases_on_same_units = 1\n\
                    [noise]\nkind = \"geometric\"\np = 0.36787944117144233\n[query]\ndelta = 1e-9\n";
    folder.write("question.toml", question);
    let alone = folder.json(&["attacker", "question.toml", "--json"]);
    let (here, there) = (epsilon(count), epsilon(&alone));
    assert!((here / there - 1.0).abs() < 1e-6 && here < 0.6, "{here} {there}");
    assert_eq!(epsilon(&count["without_assumptions"]), 1.0);
    assert_eq!(count["other_releases"], 2);
    assert!(count["degradation"].as_array().unwrap().len() >= 6);
    let histogram = of(&report["attackers"], "by district");
    assert_eq!(histogram["verdict"], "guarantee");
    assert!(epsilon(histogram) <= epsilon(&histogram["without_assumptions"]) * (1.0 + 1e-9));
    assert_eq!(of(&report["attackers"], "two numbers")["verdict"], "not-analysed");
    let page = folder.read("out/report.html");
    let section = page.split("<h2>What weaker attackers learn</h2>").nth(1).unwrap();
    let (warning, table) = (section.find("This is not differential privacy").unwrap(), section.find("<table").unwrap());
    assert!(warning < table, "the warning comes first");
    assert!(section.contains("for somebody who has seen them as well"));
    // `plan` says the same, without data.
    std::fs::remove_file(folder.file("votes.csv")).unwrap();
    let plan = folder.json(&["plan", "--json"]);
    assert_eq!(epsilon(&plan["releases"][0]["attacker"]), here);
}

/// The story: an attacker who knows nearly everything was shown with ε = 0.200001 beside 0.2 without assumptions. What
/// holds against everybody holds against every weaker attacker, at every δ, in the table, in the words, where
/// assumptions fail, and in the plan.
#[test]
fn a_weaker_attacker_is_never_shown_with_more() {
    for cost in ["0.2", "0.3", "0.7"] {
        let attacker = ATTACKER.replace("uncertainty = 0.1\n", "uncertainty = 0.000001\n");
        let budget = "[budget]\nperson = { epsilon = 9, delta = 1e-6 }\n";
        let noisy = NOISY.replace("epsilon = 1.0", &format!("epsilon = {cost}"));
        let folder = folder(&[&dataset("public_owners = 4000"), &attacker, budget, &noisy]);
        folder.stdout(&["release", "--quiet"]);
        let report = folder.json_file("out/report.json");
        for name in ["yes", "by district"] {
            let shown = of(&report["attackers"], name);
            assert!(epsilon(shown) <= epsilon(&shown["without_assumptions"]), "{shown}");
        }
        let page = folder.read("out/report.html");
        let section = page.split("<h2>What weaker attackers learn</h2>").nth(1).unwrap();
        assert!(!section.contains(&format!("{cost}00001")), "{section}");
        let plan = folder.json(&["plan", "--json"]);
        assert_eq!(epsilon(&plan["releases"][0]["attacker"]), epsilon(of(&report["attackers"], "yes")));
    }
}

#[test]
fn without_declarations_nothing_is_claimed_and_what_is_missing_is_said() {
    let undeclared = ATTACKER.replace("independence = \"declared\"\n", "");
    for (lines, attacker, missing) in [
        ("public_owners = 4000", undeclared.as_str(), "independence = \\\"declared\\\""),
        ("", ATTACKER, "public_owners"),
        ("public_owners = 4000", &ATTACKER.replace("uncertainty = 0.1\n", ""), "uncertainty above 0"),
        ("public_owners = 4000", &ATTACKER.replace("0.1", "0.4"), "cannot hold for each of 4 categories"),
    ] {
        let folder = folder(&[&dataset(lines), attacker, NOISY]);
        folder.stdout(&["release", "--quiet"]);
        let report = folder.json_file("out/report.json");
        let shown = of(&report["attackers"], "by district");
        assert_eq!(shown["verdict"], "refused", "{shown}");
        assert!(shown.to_string().contains(missing), "{missing}: {shown}");
        assert!(folder.read("out/report.html").contains("nothing claimed"));
    }
    let folder = folder(&[&dataset(""), NOISY]);
    folder.stdout(&["release", "--quiet"]);
    assert!(!folder.read("out/report.html").contains("What weaker attackers learn"));
    folder.write("scumble.toml", &[&dataset(""), &ATTACKER.replace("active", "sleepy"), NOISY].concat());
    folder.refused(&["plan"], 2, "mode must be 'active' or 'passive', not 'sleepy'");
}

#[test]
fn an_exact_count_is_exact_alone_and_charged_without_end() {
    let folder = folder(&[&dataset("public_owners = 4000"), ATTACKER, EXACT]);
    folder.stdout(&["release", "--quiet"]);
    assert_eq!(folder.read("out/yes.csv"), "count\n2400\n");
    let answers = &folder.json_file("out/yes.json")["answers"];
    assert_eq!(answers["differentially_private"], false);
    assert!(answers["notes"][0].as_str().unwrap().starts_with("This is not differential privacy."));
    let ledger = folder.json(&["ledger", "show", "--json"]);
    for scope in ["presence", "person"] {
        assert!(ledger[scope]["epsilon"].is_null(), "{ledger}");
    }
    assert!(ledger["attributes"]["answer"]["epsilon"].is_null(), "{ledger}");
    assert_eq!(epsilon(&ledger["attributes"]["district"]), 0.0, "the condition does not read it");
    assert!(folder.stdout(&["ledger"]).contains('∞'));
    let page = folder.read("out/report.html");
    let release = page.split("<h2>yes</h2>").nth(1).unwrap();
    let (warning, number) = (release.find("This is not differential privacy").unwrap(), release.find("2400").unwrap());
    assert!(warning < number, "the warning comes first");
    assert!(page.contains("something was published without noise"));
    assert_eq!(of(&folder.json_file("out/report.json")["attackers"], "yes")["method"], "worst-case-count");
    // Nothing else may be known from this ledger: neither the count again, nor anything with noise.
    folder.refused(&["release", "--again", "yes"], 3, "holds a count without noise");
    let query = ["query", "SELECT COUNT(*) AS n FROM votes", "--cost", "epsilon=0.1"];
    folder.refused(&query, 3, "holds a count without noise");
    assert_eq!(folder.json(&["ledger", "show", "--json"])["releases"].as_array().unwrap().len(), 1);
}

#[test]
fn an_exact_count_is_refused_where_it_would_protect_nobody_or_break_a_budget() {
    let owners = dataset("public_owners = 4000");
    for (parts, status, words) in [
        (vec![&owners[..], EXACT], 2, "the project file has no [attacker]"),
        (vec![&dataset("")[..], ATTACKER, EXACT], 2, "public_owners"),
        (vec![&owners, &ATTACKER.replace("\"declared\"", "\"unknown\""), EXACT], 2, "independence"),
        (vec![&owners, &ATTACKER.replace("0.5", "1"), EXACT], 2, "would protect nobody"),
        (vec![&owners, ATTACKER, &EXACT.replace("= true", "= false")], 2, "i_accept_assumptions = true to accept"),
        (
            vec![&owners, ATTACKER, &EXACT.replace("i_accept_assumptions = true\n", "")],
            2,
            "needs 'i_accept_assumptions'",
        ),
        (vec![&owners, ATTACKER, EXACT, "cost = { epsilon = 1 }\n"], 2, "has no cost that could be chosen"),
        (vec![&owners, ATTACKER, &EXACT.replace("answer = 'yes'", "answr = 'yes'")], 2, "did you mean 'answer'?"),
        (vec![&owners, ATTACKER, &EXACT.replace("answer = 'yes'", "1=1) GROUP BY (answer")], 2, "one condition"),
        (
            vec![&owners, ATTACKER, EXACT, "[budget]\nperson = { epsilon = 100, delta = 1e-9 }\n"],
            3,
            "more than any epsilon",
        ),
        (vec![&owners, ATTACKER, EXACT, "[budget]\nattributes = { answer = { rho = 5 } }\n"], 3, "attributes {answer}"),
        (vec![&owners, ATTACKER, EXACT, NOISY], 2, "two releases are called 'yes'"),
        (vec![&owners, ATTACKER, &EXACT.replace("\"yes\"", "\"exact\""), NOISY], 3, "holds a count without noise"),
        (vec![&owners, ATTACKER, NOISY, &EXACT.replace("\"yes\"", "\"exact\"")], 3, "3 other releases"),
    ] {
        let folder = folder(&parts);
        folder.refused(&["release", "--quiet"], status, words);
        assert!(!folder.file("scumble.ledger").exists() && !folder.file("out").exists(), "{words}: something was left");
    }
    // Beliefs that the count shows to be absurd: everybody answers. That is known from the data alone, so it is not
    // said.
    let absurd = folder(&[&owners, ATTACKER, &EXACT.replace("= 'yes'", "IS NULL")]);
    absurd.refused(&["release", "--quiet"], 1, "release 'yes' failed after it was charged");
    assert_eq!(absurd.json(&["ledger", "show", "--json"])["releases"][0]["state"], "interrupted");
    assert!(!absurd.file("out/yes.csv").exists());
    // A budget on what the count does not read has nothing to refuse.
    let folder = folder(&[&owners, ATTACKER, EXACT, "[budget]\nattributes = { district = { epsilon = 0.1 } }\n"]);
    folder.stdout(&["release", "--quiet"]);
}

/// The project of the guide page, run as it stands there, and its numbers.
#[test]
fn the_project_of_the_guide_page() {
    let page = include_str!("../../../../../docs/explanation/attackers.md");
    let section = page.split("## In a project").nth(1).unwrap().split("\n## ").next().unwrap();
    let block = |kind: &str, index: usize| {
        section.split(&format!("```{kind}\n")).nth(index).and_then(|rest| rest.split("```").next()).unwrap()
    };
    let run = |folder: &Folder| {
        for command in block("console", 1).lines().map(|line| line.strip_prefix("$ ").unwrap()) {
            match command.strip_prefix("scumble ") {
                Some(arguments) => drop(folder.stdout(&arguments.split(' ').collect::<Vec<_>>())),
                None => assert!(
                    std::process::Command::new("sh")
                        .args(["-c", command])
                        .current_dir(folder.path())
                        .status()
                        .unwrap()
                        .success()
                ),
            }
        }
        epsilon(of(&folder.json_file("out/report.json")["attackers"], "yes"))
    };
    let project = block("toml", 1);
    let noisy = run(&Folder::with(&[("scumble.toml", project)]));
    let declarations = project.split("[[release]]").next().unwrap();
    let exact = run(&Folder::with(&[("scumble.toml", &format!("{declarations}{}", block("toml", 2)))]));
    for number in [noisy, exact] {
        let shown = format!("ε = {}", scumble_adversary::attacker::rounded_up(number));
        assert!(section.contains(&shown), "the page does not say {shown}");
    }
}

/// An exact count was kept under another `[attacker]`: its words went on speaking of the one that was declared when it
/// was published.
#[test]
fn an_exact_count_is_not_kept_under_another_attacker() {
    let folder = folder(&[&dataset("public_owners = 4000"), ATTACKER, EXACT]);
    folder.stdout(&["release"]);
    assert!(folder.stdout(&["release"]).starts_with("kept: yes, published"), "the same attacker");
    for (from, to) in
        [("known_rows = 0.5", "known_rows = 0.4"), ("delta = 1e-9", "delta = 1e-8"), ("\"active\"", "\"passive\"")]
    {
        let other = ATTACKER.replace(from, to);
        folder.write("scumble.toml", &[&dataset("public_owners = 4000"), &other, EXACT].concat());
        folder.refused(&["release"], 3, "'yes' is published with another declaration");
        folder.refused(&["release", "--again", "yes"], 3, "the ledger or this run holds a count without noise");
    }
    folder.write("scumble.toml", &[&dataset("public_owners = 4000"), ATTACKER, EXACT].concat());
    assert!(folder.stdout(&["release"]).starts_with("kept: yes, published"));
    // What has noise protects whatever the attacker knows, and is kept.
    let noisy = self::folder(&[&dataset("public_owners = 4000"), ATTACKER, NOISY]);
    noisy.stdout(&["release"]);
    let other = ATTACKER.replace("known_rows = 0.5", "known_rows = 0.4");
    noisy.write("scumble.toml", &[&dataset("public_owners = 4000"), &other, NOISY].concat());
    assert_eq!(noisy.stdout(&["release"]).matches("kept: ").count(), 3);
}
