//! Every example of every page is run: by the tests below, or by another test that names the page. What cannot be run
//! says why in its fence: ```` ```sh ignore: needs a cluster ````.

use crate::pages::{commands, follow};
use crate::program::tidy::{files, read, root};
use crate::support::{Folder, printed, scumble_in, scumble_on};
use scumble_engine::project::file_stem;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The languages of what can be run.
const RUNNABLE: [&str; 8] = ["toml", "sh", "console", "sql", "refused", "python", "json", "ini"];
/// How lines begin that a reader types; such a line makes a fence without a language an example, too.
const TYPED: [&str; 2] = ["$ ", "scumble "];

const HERE: &str = "crates/cli/tests/it/program/page_examples.rs";
const HOW_TO: &str = "crates/cli/tests/it/program/how_to.rs";
const GUIDE: &str = "crates/cli/tests/it/program/guide.rs";
const PYTHON: &str = "crates/python/tests/test_page.py";

/// Which test runs the examples of a page, and how it names the page.
const RUN: [(&str, &str, &str); 45] = [
    ("README.md", "crates/cli/tests/it/program/readme.rs", "README.md"),
    ("docs/coming-from/bigquery.md", PYTHON, "coming-from"),
    ("docs/coming-from/diffprivlib.md", PYTHON, "coming-from"),
    ("docs/coming-from/index.md", PYTHON, "coming-from"),
    ("docs/coming-from/opendp.md", PYTHON, "coming-from"),
    ("docs/coming-from/smartnoise.md", PYTHON, "coming-from"),
    ("docs/coming-from/tumult.md", PYTHON, "coming-from"),
    ("docs/engineers/ledger-format.md", HERE, "engineers/ledger-format"),
    ("docs/explanation/attackers.md", "crates/cli/tests/it/calculators/attacker.rs", "explanation/attackers.md"),
    ("docs/explanation/noise.md", "crates/cli/tests/it/calculators/compare_noise.rs", "explanation/noise.md"),
    ("docs/explanation/per-attribute.md", HERE, "explanation/per-attribute"),
    (
        "docs/how-to/anonymized-histograms.md",
        "crates/cli/tests/it/calculators/anonymized_histogram.rs",
        "how-to/anonymized-histograms.md",
    ),
    ("docs/how-to/attack-and-audit.md", "crates/cli/tests/it/calculators/attack.rs", "how-to/attack-and-audit.md"),
    ("docs/how-to/charts.md", HERE, "how-to/charts"),
    ("docs/how-to/choose-bounds.md", HOW_TO, "\"choose-bounds\""),
    ("docs/how-to/compare-years.md", HOW_TO, "\"compare-years\""),
    ("docs/how-to/graphs.md", HERE, "how-to/graphs"),
    ("docs/how-to/learn.md", "crates/cli/tests/it/kinds/learning.rs", "how-to/learn.md"),
    ("docs/how-to/local.md", "crates/cli/tests/it/parties/local.rs", "how-to/local.md"),
    ("docs/how-to/many-columns.md", HERE, "how-to/many-columns"),
    ("docs/how-to/many-queries.md", "crates/cli/tests/it/kinds/small_tables.rs", "how-to/many-queries.md"),
    ("docs/how-to/means-per-person.md", HOW_TO, "\"means-per-person\""),
    ("docs/how-to/missing-codes.md", HOW_TO, "\"missing-codes\""),
    ("docs/how-to/rates.md", HOW_TO, "\"rates\""),
    ("docs/how-to/remote-backends.md", HERE, "how-to/remote-backends"),
    ("docs/how-to/reuse.md", HOW_TO, "\"reuse\""),
    ("docs/how-to/secret-sharing.md", "crates/cli/tests/it/parties/processes.rs", "how-to/secret-sharing.md"),
    ("docs/how-to/serve.md", "crates/cli/tests/it/serve/roles.rs", "how-to/serve.md"),
    ("docs/how-to/shares.md", HOW_TO, "\"shares\""),
    ("docs/how-to/small-groups.md", HOW_TO, "\"small-groups\""),
    ("docs/how-to/stable-counts.md", "crates/cli/tests/it/kinds/stable_counts.rs", "how-to/stable-counts.md"),
    ("docs/how-to/synthetic-data.md", HERE, "how-to/synthetic-data"),
    ("docs/how-to/time-series.md", HOW_TO, "\"time-series\""),
    ("docs/how-to/tuning.md", HOW_TO, "\"tuning\""),
    ("docs/reference/commands.md", "crates/cli/tests/it/program/commands.rs", "reference/commands.md"),
    ("docs/reference/events.md", HERE, "reference/events"),
    ("docs/reference/input-files.md", HERE, "reference/input-files"),
    ("docs/reference/kinds.md", HERE, "reference/kinds"),
    ("docs/reference/limits.md", HERE, "reference/limits"),
    ("docs/reference/project-file.md", "crates/cli/tests/it/plan/project_file.rs", "reference/project-file.md"),
    ("docs/reference/python.md", PYTHON, "reference/python.md"),
    ("docs/reference/sql.md", "crates/cli/tests/it/sql/page.rs", "reference/sql.md"),
    ("docs/tutorial/declare.md", GUIDE, "tutorial/declare.md"),
    ("docs/tutorial/print.md", GUIDE, "tutorial/print.md"),
    ("docs/tutorial/publish.md", GUIDE, "tutorial/publish.md"),
];

/// A fenced block of a page.
struct Fence {
    language: String,
    /// Why it is not run.
    reason: Option<String>,
    text: String,
}

impl Fence {
    fn is_example(&self) -> bool {
        let is_typed = || self.text.lines().any(|line| TYPED.iter().any(|start| line.starts_with(start)));
        RUNNABLE.contains(&self.language.as_str()) || is_typed()
    }
}

fn fences(page: &str) -> Vec<Fence> {
    let mut all = Vec::new();
    let mut open: Option<Fence> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(fence)) => all.push(fence),
            (Some(tag), None) => {
                let (language, reason) = tag.split_once(" ignore: ").map_or((tag, None), |(tag, why)| (tag, Some(why)));
                let (language, reason) = (language.to_string(), reason.map(str::to_string));
                open = Some(Fence { language, reason, text: String::new() });
            }
            (None, Some(mut fence)) => {
                fence.text.push_str(line);
                fence.text.push('\n');
                open = Some(fence);
            }
            (None, None) => {}
        }
    }
    all
}

/// The blocks of a page in this language that are run.
fn examples(page: &str, language: &str) -> Vec<String> {
    let all = fences(&read(&format!("docs/{page}.md"))).into_iter();
    all.filter(|fence| fence.language == language && fence.reason.is_none()).map(|fence| fence.text).collect()
}

/// What is wrong with the examples of a page.
fn not_run(path: &str, page: &str) -> Option<String> {
    let run = RUN.iter().find(|(named, ..)| *named == path);
    let examples = fences(page).into_iter().filter(Fence::is_example).collect::<Vec<_>>();
    if examples.iter().any(|fence| fence.reason.as_ref().is_some_and(|why| why.trim().is_empty())) {
        return Some(format!("{path}: say why an example is not run"));
    }
    match (examples.iter().any(|fence| fence.reason.is_none()), run) {
        (true, None) => Some(format!("{path}: no test runs its examples")),
        (true, Some((_, test, name))) if !read(test).contains(name) => Some(format!("{test} does not run {path}")),
        _ => None,
    }
}

#[test]
fn every_example_is_run_or_says_why_not() {
    let mut found = Vec::new();
    files(&root().join("docs"), &mut found);
    let relative = found.iter().map(|path| path.strip_prefix(root()).unwrap().to_string_lossy().into_owned());
    let mut pages: Vec<String> = relative.filter(|path| path.ends_with(".md")).collect();
    pages.extend(["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md"].map(str::to_string));
    let wrong: Vec<String> = pages.iter().filter_map(|path| not_run(path, &read(path))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let gone: Vec<&str> =
        RUN.iter().map(|(path, ..)| *path).filter(|path| !pages.iter().any(|page| page == path)).collect();
    assert!(gone.is_empty(), "no such pages: {gone:?}");
}

#[test]
fn an_example_that_nothing_runs_is_found() {
    let fence = |tag: &str, line: &str| format!("text\n```{tag}\n{line}\n```\n");
    for (tag, line) in [("toml", "a = 1"), ("sh", "true"), ("", "$ scumble plan"), ("text", "scumble plan")] {
        assert!(not_run("docs/index.md", &fence(tag, line)).is_some(), "{tag}: {line}");
    }
    assert!(not_run("docs/index.md", &fence("sh ignore:  ", "true")).is_some());
    for (tag, line) in [("sh ignore: needs DuckDB", "duckdb"), ("text", "a picture"), ("", "a formula")] {
        assert_eq!(not_run("docs/index.md", &fence(tag, line)), None, "{tag}: {line}");
    }
}

/// Runs a script as a reader does, with the program in the path.
fn shell(folder: &Folder, script: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_scumble")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let run = Command::new("sh").args(["-e", "-c", script]).env("PATH", path).current_dir(folder.path()).output();
    printed(run.unwrap())
}

/// A table with these declared columns and a row for each of some people, then releases.
fn people(columns: &str, row: impl Fn(usize) -> String, releases: &str) -> Folder {
    let project = format!("[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\n{columns}\n{releases}");
    let names: Vec<&str> = columns.lines().filter_map(|line| Some(line.split_once('=')?.0.trim())).collect();
    let rows: String = (0..1000).map(|person| row(person) + "\n").collect();
    Folder::with(&[("scumble.toml", &project), ("people.csv", &format!("{}\n{rows}", names.join(",")))])
}

#[test]
fn a_cost_per_attribute_is_planned() {
    let releases = examples("explanation/per-attribute", "toml");
    assert_eq!(releases.len(), 1);
    let columns = "state = { type = \"category\" }\nsex = { type = \"category\", values = [\"f\", \"m\"] }\n\
        disease = { type = \"category\", values = [\"none\", \"flu\"], sensitive = true }";
    let row = |i: usize| format!("s{},{},{}", i % 5, ["f", "m"][i % 2], ["none", "flu"][i % 3 / 2]);
    let folder = people(columns, row, &releases[0]);
    assert!(folder.stdout(&["plan"]).contains("\ncommon combinations "));
    folder.stdout(&["release", "--quiet"]);
    // The other command reads a file of this project.
    for block in examples("explanation/per-attribute", "console") {
        for (command, _) in commands(&block) {
            printed(scumble_in(&root(), &command.split(' ').collect::<Vec<_>>()));
        }
    }
}

/// Another title is drawn without another charge; and a link in a chart's place is refused before anything is charged.
#[test]
fn charts_are_written_and_restyled() {
    let projects = examples("how-to/charts", "toml");
    assert_eq!(projects.len(), 1);
    let visits: String = (0..500).map(|i| format!("{},{}\n", ["eyes", "heart"][i % 2], 10 + i % 90)).collect();
    let folder = Folder::with(&[("scumble.toml", &projects[0]), ("visits.csv", &format!("clinic,cost\n{visits}"))]);
    fs::create_dir(folder.file("out")).unwrap();
    let linked = folder.file("out").join(picture("svg"));
    std::os::unix::fs::symlink(folder.file("precious"), &linked).unwrap();
    folder.refused(&["release"], 2, "is not a plain file");
    fs::remove_file(&linked).unwrap();
    folder.stdout(&["release", "--quiet"]);
    let svg = folder.read(&format!("out/{}", picture("svg")));
    for text in ["What a visit costs", "Mean cost (€) by Clinic", ">Visits<", "Register of visits, 2025", "ε = 1 "] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    let spec = folder.json_file(&format!("out/{}", picture("vl.json")));
    let row = &spec["vconcat"][0]["data"]["values"][0];
    assert!(row["low"].as_f64().unwrap() < row["high"].as_f64().unwrap(), "{row}");
    assert!(fs::read(folder.file("out").join(picture("png"))).unwrap().starts_with(b"\x89PNG"));
    let entries = folder.json(&["ledger", "show", "--json"])["entries"].clone();
    folder.write("scumble.toml", &projects[0].replace("What a visit costs", "Costs of visits"));
    assert!(folder.stdout(&["release"]).contains("kept: cost by clinic"));
    assert!(folder.read(&format!("out/{}", picture("svg"))).contains("Costs of visits"));
    assert_eq!(folder.json(&["ledger", "show", "--json"])["entries"], entries, "words cost nothing");
}

/// A file of the chart of the page's release.
fn picture(end: &str) -> String {
    format!("{}.{end}", file_stem("cost by clinic"))
}

#[test]
fn triangles_are_published() {
    let projects = examples("how-to/graphs", "toml");
    assert_eq!(projects.len(), 1);
    let edges: String = (0..300).map(|i| format!("{},{}\n", i % 40, 40 + i % 7)).collect();
    let folder = Folder::with(&[("scumble.toml", &projects[0]), ("edges.csv", &format!("a,b\n{edges}"))]);
    assert!(folder.stdout(&["plan"]).contains("\ntriangles "));
    folder.stdout(&["release", "--quiet"]);
    assert!(folder.read("out/triangles.csv").starts_with("triangles,"));
}

#[test]
fn conjunctions_are_looked_up() {
    let (releases, scripts) = (examples("how-to/many-columns", "toml"), examples("how-to/many-columns", "sh"));
    assert_eq!((releases.len(), scripts.len()), (1, 1));
    let columns = "smoker = { type = \"bool\" }\ninsured = { type = \"bool\" }\n\
        age = { type = \"int\", lower = 0, upper = 99 }\n\
        region = { type = \"category\", values = [\"north\", \"south\"] }";
    let row = |i: usize| {
        format!("{},{},{},{}", i.is_multiple_of(4), !i.is_multiple_of(3), i * 31 % 100, ["north", "south"][i % 2])
    };
    let folder = people(columns, row, &releases[0]);
    folder.stdout(&["release", "--quiet"]);
    shell(&folder, &scripts[0]);
}

#[test]
fn rows_that_belong_to_nobody_are_published() {
    let releases = examples("how-to/synthetic-data", "toml");
    assert_eq!(releases.len(), 1);
    let number = |name: &str, most: u32| format!("{name} = {{ type = \"int\", lower = 0, upper = {most} }}\n");
    let numbers: String = [("age", 99), ("school", 7), ("years", 7), ("hours", 39)].map(|(a, b)| number(a, b)).concat();
    let columns = format!(
        "{numbers}marital = {{ type = \"category\", values = [\"single\", \"married\", \"widowed\"] }}\n\
         smokes = {{ type = \"bool\" }}\n{}",
        number("weight", 99)
    );
    let row = |i: usize| {
        let (age, school) = (15 + i % 85, i % 8);
        let marital = ["single", "married", "widowed"][i % 3];
        format!("{age},{school},{},{},{marital},{},{}", 7 - school, i % 40, i.is_multiple_of(2), 40 + i % 60)
    };
    let folder = people(&columns, row, &releases[0]);
    folder.stdout(&["release", "--quiet"]);
    assert!(folder.read("out/rows.csv").starts_with("age,school,years,hours,marital,smokes,weight\n"));
}

/// What needs no server, no cluster and no other engine: the declarations are read, and the statements written.
#[test]
fn remote_tables_are_declared() {
    let projects = examples("how-to/remote-backends", "toml");
    assert_eq!(projects.len(), 3);
    let release = "\n[[release]]\nname = \"by clinic\"\nkind = \"histogram\"\ntable = \"visits\"\ncolumn = \"clinic\"\n\
        max_groups_per_owner = 2\nmax_rows_per_group = 2\ncost = { epsilon = 1 }\n";
    let (_, rest) = projects[0].split_once("?table=clinic.visits\"\n").unwrap();
    for project in [format!("{}{release}", projects[0]), format!("{}{rest}{release}", projects[1]), projects[2].clone()]
    {
        let folder = Folder::with(&[("scumble.toml", &project)]);
        assert!(folder.stdout(&["plan"]).contains("\nby clinic "), "{project}");
    }
    let folder = Folder::with(&[("scumble.toml", &projects[2])]);
    let job = folder.stdout(&["setup", "integers", "by clinic", "--dialect", "duckdb"]);
    assert!(job.contains("SELECT"), "{job}");
}

#[test]
fn a_german_spreadsheet_is_read() {
    let projects = examples("reference/input-files", "toml");
    assert_eq!(projects.len(), 1);
    let folder = Folder::with(&[("scumble.toml", &projects[0]), ("people.csv", "name;age\nEva;31\nIda;NA\nUte;47\n")]);
    assert!(folder.stdout(&["check"]).contains("table 'people' fits its declaration"));
}

#[test]
fn the_example_of_a_kind_is_published() {
    let releases = examples("reference/kinds", "toml");
    assert_eq!(releases.len(), 1);
    let folder = people("age = { type = \"int\", lower = 0, upper = 99 }", |i| (i % 100).to_string(), &releases[0]);
    folder.stdout(&["release", "--quiet"]);
    assert_eq!(folder.read("out/ages.csv").lines().count(), 4);
}

#[test]
fn a_list_of_events_is_added_up() {
    let events = examples("reference/events", "json");
    assert_eq!(events.len(), 2);
    let one = format!("{{\"events\": [{}], \"delta\": 1e-6}}", events[1]);
    for document in [&events[0], &one] {
        let shown = printed(scumble_on(&["lab", "account", "-"], document));
        assert!(shown.contains("epsilon") || shown.contains('ε'), "{shown}");
    }
}

#[test]
fn a_ledger_is_anchored() {
    let folder = people("age = { type = \"int\", lower = 0, upper = 99 }", |i| (i % 100).to_string(), "");
    let query = "SELECT COUNT(*) AS n FROM people";
    folder.stdout(&["query", query, "--cost", "epsilon=0.5"]);
    let blocks = examples("engineers/ledger-format", "console");
    assert_eq!(blocks.len(), 1);
    follow(&folder, &commands(&blocks[0]));
}

#[test]
fn what_is_too_large_is_refused() {
    let all = fences(&read("docs/reference/limits.md"));
    let (_, sentence) = all[0].text.trim().split_once(": ").unwrap();
    let folder = people("age = { type = \"int\", lower = 0, upper = 99 }", |i| (i % 100).to_string(), "");
    let query = ["SELECT COUNT(*) AS n FROM people"; 33].join(" UNION ALL ");
    folder.refused(&["query", &query, "--cost", "epsilon=0.5"], 2, sentence.trim_end_matches(['…', ',', ' ']));
}
