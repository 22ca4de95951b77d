//! Small tables, and questions one after the other, as a user runs them.

use crate::support::{Folder, effort, epsilon, exactly, refused};
use scumble_testing::projects::{
    FEW_VALUES as COLUMNS, INTERACTIVE as ASKED, SMALL_TABLE as SMALL, SMALL_TABLE_CONDITIONS as CONDITIONS,
};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// 2000 people, all alike except for their income.
fn people() -> String {
    let rows: String = (0..2000).map(|person| format!("0,true,f,{}\n", person % 10)).collect();
    format!("age,smokes,sex,income\n{rows}")
}

fn project(budget: &str, release: &str) -> String {
    format!(
        "{budget}[dataset.people]\nsource = \"people.csv\"\n{COLUMNS}[[release]]\nname = \"r\"\ntable = \"people\"\n{release}\n"
    )
}

/// What the uniform model knows, and what it does not.
const NEAR: &str = "age >= 0";

const FAR: &str = "smokes AND sex = 'f' AND age = 0";

fn folder(budget: &str, release: &str) -> Folder {
    Folder::with(&[("people.csv", &people()), ("scumble.toml", &project(budget, release))])
}

fn ask(folder: &Folder, question: &str) -> Value {
    folder.json(&["ask", "r", question, "--json"])
}

/// The bodies of the ledger's entries of some kind.
fn entries(folder: &Folder, kind: &str) -> Vec<Value> {
    let all = folder.json(&["ledger", "export"]);
    let bodies = all["entries"].as_array().unwrap().iter().map(|entry| entry["body"].clone());
    bodies.filter(|body| body["entry"] == kind).collect()
}

fn rounds(folder: &Folder) -> usize {
    entries(folder, "reserve").len()
}

const STATE: &str = "scumble.ledger.r.state";

#[test]
fn a_round_is_charged_when_it_opens_and_ends_with_a_measured_answer() {
    let folder = folder("", ASKED);
    let first = ask(&folder, NEAR);
    assert_eq!((&first["how"], &first["answer"]), (&"model".into(), &2000.into()), "{first}");
    assert!(first["charged"].is_u64() && first["rounds_charged"] == 1 && first["rounds"] == 6, "{first}");
    // Further answers of the model cost nothing, and what ends the round is in it.
    let again = ask(&folder, NEAR);
    assert!(again["charged"].is_null() && again["how"] == "model", "{again}");
    let far = ask(&folder, FAR);
    assert!(far["charged"].is_null() && far["how"] == "measured", "{far}");
    // ε₃ = 3: off by 20 with probability below 1e-26.
    assert!((far["answer"].as_i64().unwrap() - 2000).abs() < 20, "{far}");
    assert_eq!(rounds(&folder), 1);
    // The next question opens the next round; the model has learnt.
    let next = ask(&folder, "smokes");
    assert!(next["charged"].is_u64() && next["rounds_charged"] == 2, "{next}");
    assert!(next["answer"].as_i64().unwrap() > 1300, "{next}");
    // All answers are published together, and the report has them.
    let shown = folder.json_file("out/r.json");
    let rows = shown["answers"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    assert_eq!((&rows[2]["question"], &rows[2]["how"]), (&FAR.into(), &"measured".into()));
    assert!(folder.read("out/r.csv").starts_with("question,answer,answer_se,answer_low,answer_high,how\n"));
    let report = folder.read("out/report.html");
    assert!(report.contains("age &gt;= 0") && report.contains("an earlier round"), "the report has the answers");
    // Nobody can expect more than two rounds of ε = 10 allow, e^20/(e^20 + 1); one would be 0.99995.
    let could = folder.json_file("out/report.json")["could_somebody"].clone();
    assert!(could.as_array().unwrap().iter().all(|one| one["at_most"].as_f64().unwrap() > 1.0 - 1e-8), "{could}");
    // Each round is a charge, each answer a commit.
    assert_eq!((rounds(&folder), entries(&folder, "commit").len()), (2, 4));
    folder.stdout(&["ledger", "verify"]);
    let plan = folder.json(&["plan", "--json"])["releases"][0].clone();
    exactly(epsilon(&plan["costs"]["person"]), 40.0);
    assert!(plan["notes"].to_string().contains("2 of 6 rounds are charged"), "{plan}");
}

/// The secret is where its owner alone can read it, and in nothing that is published or printed.
#[test]
fn the_secret_is_in_no_output() {
    let folder = folder("", ASKED);
    let printed = ask(&folder, NEAR).to_string();
    let state = folder.json_file(STATE);
    let secret = state["open"]["secret"].as_str().unwrap();
    assert_eq!(fs::metadata(folder.file(STATE)).unwrap().permissions().mode() & 0o777, 0o600);
    let secret = format!("\"{secret}\"");
    for name in ["out/r.json", "out/r.csv", "out/report.json"] {
        assert!(!folder.read(name).contains(&secret), "{name}");
    }
    let export = folder.json(&["ledger", "export"]).to_string();
    assert!(!printed.contains("secret") && !export.contains("secret") && !folder.read("out/r.json").contains("secret"));
}

/// Whatever is done to the state's file, no round is used twice: the next one is charged.
#[test]
fn a_state_that_the_ledger_does_not_know_opens_no_free_round() {
    let folder = folder("", ASKED);
    ask(&folder, NEAR);
    let early = folder.read(STATE);
    let put_back = |text: &str| {
        folder.write(STATE, text);
        fs::set_permissions(folder.file(STATE), fs::Permissions::from_mode(0o600)).unwrap();
    };
    let lost = |what: &str, before: usize| {
        let answer = ask(&folder, NEAR);
        assert!(answer["charged"].is_u64(), "{what}: {answer}");
        assert!(answer["notes"].to_string().contains("is lost, and stays charged"), "{what}: {answer}");
        assert_eq!(rounds(&folder), before + 1, "{what}");
    };
    // An older state of the same round: the ledger has the digest of a later one.
    ask(&folder, NEAR);
    put_back(&early);
    lost("an older state", 1);
    // A state of a round that ended with a measurement.
    let open = folder.read(STATE);
    assert_eq!(ask(&folder, FAR)["how"], "measured");
    put_back(&open);
    lost("a state of an ended round", 2);
    // Another secret.
    let mut state = folder.json_file(STATE);
    state["open"]["secret"] = "5".into();
    put_back(&state.to_string());
    lost("an edited state", 3);
    // Somebody else could read it.
    fs::set_permissions(folder.file(STATE), fs::Permissions::from_mode(0o644)).unwrap();
    let answer = ask(&folder, NEAR);
    assert!(answer["charged"].is_u64() && rounds(&folder) == 5, "{answer}");
    // It is gone, or no state at all.
    fs::remove_file(folder.file(STATE)).unwrap();
    let answer = ask(&folder, NEAR);
    assert!(answer["charged"].is_u64() && rounds(&folder) == 6, "{answer}");
    // The table begins anew, and both say so.
    let said = "7 earlier answers are not in this table";
    assert!(answer["notes"].to_string().contains(said), "{answer}");
    assert!(folder.json_file("out/r.json")["answers"]["notes"].to_string().contains(said));
    // All six are charged: the model answers, and says that nobody has looked.
    put_back("{}");
    let answer = ask(&folder, FAR);
    assert!(answer["how"] == "not checked" && answer["charged"].is_null() && answer["answer_interval"].is_null());
    assert!(answer["notes"].to_string().contains("All 6 rounds are used up"), "{answer}");
    assert_eq!(rounds(&folder), 6);
    assert!(folder.read("out/r.csv").contains("unbounded"));
    folder.stdout(&["ledger", "verify"]);
}

/// A state of another ledger is none.
#[test]
fn a_state_belongs_to_its_ledger() {
    let folder = folder("", ASKED);
    ask(&folder, NEAR);
    let asked = ["ask", "r", NEAR, "--json"];
    folder.refused(&[&asked[..], &["--ledger", "other.ledger"]].concat(), 3, "would not count them");
    fs::copy(folder.file(STATE), folder.file("other.ledger.r.state")).unwrap();
    folder.write("scumble.toml", &format!("ledger = \"other.ledger\"\n{}", folder.read("scumble.toml")));
    assert!(folder.json(&asked)["charged"].is_u64());
}

fn start(folder: &Folder, question: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scumble"));
    command.args(["ask", "r", question, "--json"]).current_dir(folder.path());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Killed at any moment, again and again: every measured answer has a round of its own, no charge is lost, and the
/// ledger stays whole.
#[test]
fn a_kill_loses_no_charge_and_opens_no_free_round() {
    // More questions and rounds than all kills can use up.
    let asked = ASKED.replace("questions = 30", "questions = 200").replace("updates = 6", "updates = 100");
    let folder = folder("", &asked.replace("epsilon = 60", "epsilon = 1000"));
    ask(&folder, NEAR);
    let whole = std::time::Instant::now();
    ask(&folder, NEAR);
    let usual = whole.elapsed().as_millis() as u64;
    let (mut before, mut measured) = (rounds(&folder), 0);
    for kill in 0..effort(8, 60) {
        let question = if kill % 2 == 0 { FAR } else { NEAR };
        let mut child = start(&folder, question);
        std::thread::sleep(Duration::from_millis(kill * 7919 % usual.max(1)));
        child.kill().unwrap();
        let printed = child.wait_with_output().unwrap().stdout;
        measured += usize::from(String::from_utf8_lossy(&printed).contains("\"measured\""));
        let after = rounds(&folder);
        assert!(after >= before, "a charge is gone");
        before = after;
        folder.stdout(&["ledger", "verify"]);
    }
    // Asking goes on.
    assert!(ask(&folder, "NOT smokes")["how"] != "not checked");
    assert!(measured <= rounds(&folder), "{measured} measured answers in {} rounds", rounds(&folder));
    // And each answer that was measured, shown or not, is the last of its round.
    let shown = folder.json_file("out/r.json");
    let all = shown["answers"]["rows"].as_array().unwrap().iter().filter(|row| row["how"] == "measured").count();
    assert!(all <= rounds(&folder), "{all}");
    assert!(fs::read_dir(folder.path()).unwrap().count() < 20, "kills leave no heap of files");
}

/// Several at once wait for each other: one round, a commit for each answer.
#[test]
fn questions_at_once_are_asked_one_after_the_other() {
    let folder = folder("", ASKED);
    let children: Vec<Child> = (0..4).map(|_| start(&folder, NEAR)).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!((rounds(&folder), entries(&folder, "commit").len()), (1, 4));
    assert_eq!(folder.json_file("out/r.json")["answers"]["rows"].as_array().unwrap().len(), 4);
}

/// Five rows of each owner are one record: a count of owners, whatever their rows say.
#[test]
fn an_owner_counts_once_and_what_is_missing_is_null() {
    let rows: String = (0..5000).map(|row| format!("{},{}\n", row / 5, if row < 2000 { "" } else { "true" })).collect();
    let project = "[dataset.people]\nsource = \"people.csv\"\nowner = \"id\"\nmax_rows_per_owner = 5\n[dataset.people.columns]\nsmokes = { type = \"bool\" }\n\
         [[release]]\nname = \"r\"\ntable = \"people\"\nkind = \"interactive\"\ncolumns = [\"smokes\"]\npeople = 1000\nquestions = 20\nupdates = 9\ncost = { epsilon = 900 }\n";
    let folder = Folder::with(&[("people.csv", &format!("id,smokes\n{rows}")), ("scumble.toml", project)]);
    let within = |question: &str, truth: i64| {
        let answer = ask(&folder, question);
        let interval = |end: usize| answer["answer_interval"][end].as_f64().unwrap() as i64;
        assert!((interval(0)..=interval(1)).contains(&truth), "{question}: {answer}");
        (answer["how"] == "measured").then(|| assert!((answer["answer"].as_i64().unwrap() - truth).abs() <= 2));
    };
    // 1000 owners of five rows each; 400 of them have no value.
    for (question, truth) in [
        ("TRUE", 1000),
        ("smokes", 600),
        ("NOT smokes", 0),
        ("smokes IS NULL", 400),
        ("smokes OR NOT smokes", 600),
        ("smokes = smokes", 600),
    ] {
        within(question, truth);
    }
}

#[test]
fn a_budget_that_is_used_up_leaves_the_model() {
    let folder = folder("[budget]\nperson = { epsilon = 15 }\n", ASKED);
    assert_eq!(ask(&folder, FAR)["how"], "measured");
    let answer = ask(&folder, FAR);
    assert!(answer["how"] == "not checked" && answer["notes"].to_string().contains("No further round fits the budget"));
    // Where not even one fits, there is nothing to answer with.
    let folder = self::folder("[budget]\nperson = { epsilon = 5 }\n", ASKED);
    folder.refused(&["ask", "r", NEAR], 3, "refused and nothing was charged");
    assert!(!folder.file("out/r.csv").exists());
}

#[test]
fn a_plan_prices_all_rounds_and_recommends_what_is_better() {
    let folder = folder("", ASKED);
    let shown = folder.json(&["plan", "--json"])["releases"][0].clone();
    exactly(epsilon(&shown["costs"]["person"]), 60.0);
    exactly(epsilon(&shown["costs"]["presence"]), 60.0);
    exactly(epsilon(&shown["costs"]["attributes"]["sex"]), 60.0);
    assert_eq!(shown["costs"]["attributes"]["income"]["epsilon"], 0.0);
    let about = shown["errors"][0]["about"].as_str().unwrap();
    assert!(about.contains("with probability 95%") && about.contains("6 rounds"), "{about}");
    assert!(folder.stdout(&["plan"]).contains("Recommended instead: at this cost noise on each of 30 answers"));
    // Without a number of updates the best is taken.
    folder.write("scumble.toml", &project("", &ASKED.replace("updates = 6\n", "")));
    let best = folder.json(&["plan", "--json"])["releases"][0]["rule"].clone();
    assert!(best["error"].as_u64() <= shown["rule"]["error"].as_u64(), "{best} {shown}");
    // What is planned is not released, and what is released is not asked.
    folder.refused(&["release"], 2, "release 'r' is interactive: ask it questions");
    folder.write("scumble.toml", &project("", "kind = \"histogram\"\ncolumn = \"age\"\ncost = { epsilon = 1 }"));
    folder.refused(&["ask", "r", NEAR], 2, "is of kind histogram");
}

#[test]
fn bad_questions_are_refused_before_anything_is_charged() {
    let folder = folder("", ASKED);
    for (question, words) in [
        ("age >", "this must be one condition"),
        ("age = 0) OR (TRUE", "this must be one condition"),
        ("income > 3", "the condition reads 'income', which is not among the columns of the release"),
        ("height > 3", "height"),
        ("age IN (SELECT age FROM people)", "sub"),
        ("random() < 0.5", "random"),
        ("COUNT(*) > 3", ""),
        ("age", ""),
        ("", "this must be one condition"),
    ] {
        let sentence = folder.refused(&["ask", "r", question], 2, words);
        assert!(!folder.file(STATE).exists() && !folder.file("out/r.csv").exists(), "{sentence}");
    }
    // A wrong one among others: none is asked.
    folder.refused(&["ask", "r", NEAR, "nonsense = 1"], 2, "nonsense");
    assert!(!folder.file("scumble.ledger").exists());
    folder.refused(&["ask", "s", NEAR], 2, "there is no release 's'");
    refused(&folder.run(&["ask", "r"]), 2, "");
}

#[test]
fn a_small_table_answers_all_its_conditions() {
    let folder = folder("", SMALL);
    let shown = folder.json(&["plan", "--json"])["releases"][0].clone();
    exactly(epsilon(&shown["costs"]["person"]), 8.0);
    exactly(epsilon(&shown["costs"]["presence"]), 8.0);
    // The number of owners is nothing that another value of an attribute changes.
    exactly(epsilon(&shown["costs"]["attributes"]["age"]), 7.2);
    assert_eq!(shown["rule"]["candidates"], 3876);
    folder.stdout(&["release"]);
    let answers = folder.json_file("out/r.json")["answers"].clone();
    let rows = answers["rows"].as_array().unwrap();
    for (row, truth) in rows.iter().zip([2000.0, 2000.0, 0.0]) {
        let interval = |end: usize| row["estimate_interval"][end].as_f64().unwrap();
        assert!(interval(0) <= truth && truth <= interval(1), "{row}");
        // Any other table has a score that is 500 or more behind: e^{−7.2·500/2} against 3876 of them.
        assert!((row["estimate"].as_f64().unwrap() - truth).abs() < 100.0, "{row}");
    }
    assert_eq!(answers["small_table"][0]["rows"], 4, "{answers}");
    assert!(folder.read("out/r.csv").starts_with("condition,estimate,estimate_se,estimate_low,estimate_high\n"));
    assert!(folder.read("out/report.html").contains("age &gt; 1"));
    // Where the number of owners is public, nothing is spent on it; and without conditions there are those of all
    // values and pairs.
    let public = project("", &SMALL.replace(&format!("conditions = {CONDITIONS}\n"), ""))
        .replace("source = \"people.csv\"", "source = \"people.csv\"\npublic_owners = 2000");
    folder.write("scumble.toml", &public.replace("name = \"r\"", "name = \"s\""));
    let shown = folder.json(&["plan", "--json"])["releases"][0].clone();
    exactly(epsilon(&shown["costs"]["attributes"]["age"]), 8.0);
    // 4 + 2 + 2 values, 8 + 8 + 4 pairs.
    assert_eq!(shown["rule"]["conditions"], 28);
}

#[test]
fn the_kinds_are_listed() {
    let listed = scumble_kinds();
    for kind in ["small-table", "interactive"] {
        assert!(listed.lines().any(|line| line.starts_with(&format!("{kind}: "))), "{kind}");
    }
}

fn scumble_kinds() -> String {
    crate::support::printed(crate::support::scumble(&["kinds"]))
}

/// The words of a line of a shell, with texts in double quotes.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('"').enumerate();
    let words = parts.flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().map(str::to_string).collect::<Vec<_>>(),
        _ => vec![part.to_string()],
    });
    words.collect()
}

/// Every example of the page is run.
#[test]
fn the_page_of_questions_is_true() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/how-to/many-queries.md")).unwrap();
    let blocks = |start: &str| -> Vec<String> {
        page.split(start).skip(1).map(|rest| rest.split("```").next().unwrap().to_string()).collect()
    };
    let table = format!("[dataset.people]\nsource = \"people.csv\"\n{COLUMNS}");
    let releases = blocks("```toml\n");
    assert_eq!(releases.len(), 2);
    for release in &releases {
        let folder = Folder::with(&[("people.csv", &people()), ("scumble.toml", &format!("{table}{release}"))]);
        folder.stdout(&["plan"]);
        if release.contains("small-table") {
            folder.stdout(&["release"]);
            continue;
        }
        let lines: Vec<String> = blocks("```\nscumble ask").iter().map(|block| format!("ask{block}")).collect();
        assert_eq!(lines.len(), 1);
        let commands: Vec<&str> =
            lines[0].lines().map(|line| line.split("     ").next().unwrap().trim_start_matches("scumble ")).collect();
        assert_eq!(commands.len(), 3);
        for command in &commands[..2] {
            // Ages go up to 3 here.
            let words = words(&command.replace("age > 40", "age > 1"));
            let printed = folder.stdout(&words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(printed.lines().count(), words.len() - 2, "{command}: {printed}");
        }
        // The third reads lines.
        let output = Command::new("sh")
            .args(["-c", "printf 'smokes\\n\\nage = 1\\n' | \"$0\" ask habits -", env!("CARGO_BIN_EXE_scumble")])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert_eq!(crate::support::printed(output).lines().count(), 2);
    }
    // The numbers of the last section.
    let numbers = "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\nx = { type = \"int\", lower = 1, upper = 1024 }\n[[release]]\nname = \"r\"\nkind = \"interactive\"\ntable = \"t\"\n\
        columns = [\"x\"]\nmissing = \"never\"\npeople = 100000\nquestions = 1000\ncost = { epsilon = 1 }\n";
    let folder = Folder::with(&[("t.csv", "x\n"), ("scumble.toml", numbers)]);
    let note = folder.json(&["plan", "--json"])["releases"][0]["notes"].to_string();
    for number in ["9,903", "413", "33,721"] {
        assert!(page.contains(number) && note.contains(&number.replace(',', "")), "{number}: {note}");
    }
}
