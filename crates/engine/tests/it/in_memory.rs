//! Tables whose rows a program hands over: the same answers, charges and refusals as those of files, and nothing left
//! on the disk.

use crate::support::Folder;
use datafusion::arrow::array::{ArrayRef, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::Int32Type;
use datafusion::arrow::ipc::writer::StreamWriter;
use scumble::noise::InsecureSeededSource;
use scumble_engine::ledger::Ledger;
use scumble_engine::project::{Project, Request};
use scumble_engine::release::Runner;
use scumble_engine::{Batches, Interruption, Stop};
use serde_json::json;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const COLUMNS: &str = "[dataset.people.columns]\nage = { type = \"int\", lower = 0, upper = 100 }\nsex = { type = \"category\", values = [\"f\", \"m\"] }\n";
const BUDGET: &str = "[budget]\nperson = { epsilon = 3 }\n";
const RELEASES: &str = "[[release]]\nname = \"by sex\"\nsql = \"SELECT sex, COUNT(*) AS n, SUM(age) AS years FROM people GROUP BY sex\"\ncost = { epsilon = 1 }\n";

fn stream(columns: Vec<(&str, ArrayRef)>) -> Batches {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    // In two batches; one is empty.
    writer.write(&batch.slice(0, 0)).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    Batches::of_stream(writer.into_inner().unwrap()).unwrap()
}

/// Ages beyond the bound and an unlisted sex among them, as in any file.
fn ages() -> Vec<i64> {
    (0..20_000).map(|row| row % 130).collect()
}

fn sexes() -> Vec<&'static str> {
    (0..20_000).map(|row| ["f", "m", "m", "?"][row % 4]).collect()
}

fn people() -> Batches {
    let (ages, sexes) = (Int64Array::from(ages()), StringArray::from(sexes()));
    stream(vec![("sex", Arc::new(sexes)), ("age", Arc::new(ages))])
}

fn text(source: &str) -> String {
    format!("[dataset.people]\nsource = \"{source}\"\n{COLUMNS}{BUDGET}{RELEASES}")
}

fn opened(folder: &Folder, rows: Batches) -> scumble_engine::Result<Project> {
    let rows = BTreeMap::from([("people".to_string(), rows)]);
    Project::in_memory(&folder.file("session.toml"), &text("people (in memory)"), rows)
}

#[test]
fn rows_in_memory_are_answered_like_those_of_a_file() {
    let rows = ages().into_iter().zip(sexes()).map(|(age, sex)| format!("{age},{sex}\n"));
    let csv = format!("age,sex\n{}", rows.collect::<String>());
    let (file, memory) = (Folder::with(&[("people.csv", &csv)]), Folder::with(&[]));
    let (_, from_file) = file.release(&file.project(&text("people.csv")), 7);
    let project = opened(&memory, people()).unwrap();
    let (_, from_memory) = memory.release(&project, 7);
    assert_eq!(from_file[0].answers, from_memory[0].answers);
    let charged = |folder: &Folder| {
        let ledger = Ledger::open_existing(&folder.file("scumble.ledger")).unwrap().unwrap();
        ledger.charges().unwrap().remove(0).events
    };
    assert_eq!(charged(&file), charged(&memory));
    // The ledger, its key, and what was published: no row.
    let names = walked(memory.path());
    assert!(names.iter().all(|name| name.starts_with("scumble.ledger") || name.starts_with("by-sex.")), "{names:?}");
}

/// 3,000 owners with one to nine rows, and rows of nobody among them. The same seed draws the same key, by which an
/// owner's rows are chosen, and the same noise: if an owner were bounded in another way than in a file, the numbers
/// would be others.
#[test]
fn owners_in_memory_are_bounded_as_those_of_a_file() {
    let numbers = || (0..20_000_i64).map(|row| (row % 7 != 3).then_some(row * row % 3_000)).collect::<Vec<_>>();
    let texts = || numbers().into_iter().map(|number| number.map(|number| format!("p{number}"))).collect::<Vec<_>>();
    let csv = |owners: &[Option<String>]| {
        let rows = owners.iter().zip(ages()).zip(sexes());
        let rows = rows.map(|((owner, age), sex)| format!("{},{age},{sex}\n", owner.as_deref().unwrap_or("")));
        format!("who,age,sex\n{}", rows.collect::<String>())
    };
    let text = |source: &str| {
        let owner = "owner = \"who\"\nmax_rows_per_owner = 3\nmax_groups_per_owner = 1\n";
        format!("[dataset.people]\nsource = \"{source}\"\n{owner}{COLUMNS}{BUDGET}{RELEASES}")
    };
    let as_text: Vec<Option<String>> = numbers().into_iter().map(|number| number.map(|n| n.to_string())).collect();
    let cases: [(Vec<Option<String>>, ArrayRef); 3] = [
        (texts(), Arc::new(StringArray::from(texts()))),
        (texts(), Arc::new(DictionaryArray::<Int32Type>::from_iter(texts().iter().map(Option::as_deref)))),
        (as_text.clone(), Arc::new(StringArray::from(as_text))),
    ];
    for (owners, column) in cases {
        let (file, memory) = (Folder::with(&[("people.csv", &csv(&owners))]), Folder::with(&[]));
        let (_, from_file) = file.release(&file.project(&text("people.csv")), 11);
        let kind = column.data_type().to_string();
        let rows = stream(vec![
            ("who", column),
            ("sex", Arc::new(StringArray::from(sexes()))),
            ("age", Arc::new(Int64Array::from(ages()))),
        ]);
        let rows = BTreeMap::from([("people".to_string(), rows)]);
        let project = Project::in_memory(&memory.file("session.toml"), &text("people (in memory)"), rows).unwrap();
        let (_, from_memory) = memory.release(&project, 11);
        assert_eq!(from_file[0].answers, from_memory[0].answers, "{kind}");
    }
}

fn walked(folder: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => walked(&path),
            false => vec![path.file_name().unwrap().to_string_lossy().into_owned()],
        })
        .collect()
}

#[test]
fn what_is_published_is_kept_and_changed_rows_are_told() {
    let folder = Folder::with(&[]);
    let project = opened(&folder, people()).unwrap();
    let (planned, _) = folder.release(&project, 1);
    let kept = |project: &Project, planned| {
        Runner::new(project).kept(planned, &folder.file("out"), &[]).unwrap().remove(0).unwrap()
    };
    assert_eq!(kept(&project, &planned).data_changed, Some(false));
    let fewer =
        stream(vec![("age", Arc::new(Int64Array::from(vec![1]))), ("sex", Arc::new(StringArray::from(vec!["f"])))]);
    assert_eq!(kept(&opened(&folder, fewer).unwrap(), &planned).data_changed, Some(true));
}

#[test]
fn other_types_are_refused_before_a_charge() {
    let folder = Folder::with(&[]);
    let sexes = || Arc::new(StringArray::from(vec!["f"])) as ArrayRef;
    let cases: [(Vec<(&str, ArrayRef)>, &str); 3] = [
        (
            vec![("age", sexes()), ("sex", sexes())],
            "people (in memory): column 'age' is declared as int but holds Utf8",
        ),
        (
            vec![("age", Arc::new(Float64Array::from(vec![1.5]))), ("sex", sexes())],
            "column 'age' is declared as int but holds Float64: declare it as float",
        ),
        (vec![("sex", sexes())], "people (in memory) has no column 'age'"),
    ];
    for (columns, expected) in cases {
        let project = opened(&folder, stream(columns)).unwrap();
        let runner = Runner::new(&project);
        let planned = [runner.plan(&project.releases[0]).unwrap()];
        let mut bits = InsecureSeededSource::new(1);
        let error = runner.release(&planned, &folder.file("out"), &mut bits, |_| ()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert!(!folder.file("scumble.ledger").exists());
    let rows = BTreeMap::from([("persons".to_string(), people())]);
    let error = Project::in_memory(&folder.file("session.toml"), &text("people (in memory)"), rows).unwrap_err();
    assert!(error.to_string().contains("there is no table 'persons'"), "{error}");
}

#[test]
fn a_stop_before_the_charge_leaves_nothing_behind() {
    let folder = Folder::with(&[]);
    let mut project = opened(&folder, people()).unwrap();
    let planned = [Runner::new(&project).plan(&project.releases[0]).unwrap()];
    let stop = Stop::default();
    project.stop = stop.clone();
    stop.ask();
    let mut bits = InsecureSeededSource::new(1);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        Runner::new(&project).release(&planned, &folder.file("out"), &mut bits, |_| ()).map(drop)
    }));
    assert!(ended.unwrap_err().is::<Interruption>());
    assert!(!folder.file("scumble.ledger").exists());
}

/// A source of noise that asks for a stop at its first draw, which is after the charge.
struct Late(InsecureSeededSource, Stop);

impl scumble::BitSource for Late {
    fn next_u64(&mut self) -> u64 {
        self.1.ask();
        self.0.next_u64()
    }

    fn is_secure(&self) -> bool {
        false
    }
}

#[test]
fn a_stop_behind_the_charge_leaves_an_interrupted_one() {
    let folder = Folder::with(&[]);
    let mut project = opened(&folder, people()).unwrap();
    project.stop = Stop::default();
    let runner = Runner::new(&project);
    let planned = [runner.plan(&project.releases[0]).unwrap()];
    let mut bits = Late(InsecureSeededSource::new(1), project.stop.clone());
    let error = runner.release(&planned, &folder.file("out"), &mut bits, |_| ()).unwrap_err().to_string();
    assert!(error.contains("nothing was published"), "{error}");
    assert_eq!(runner.charges().unwrap().len(), 1);
    assert!(!folder.file("out/by-sex.csv").exists());
}

#[test]
fn a_request_of_any_kind() {
    let folder = Folder::with(&[]);
    let project = opened(&folder, people()).unwrap();
    let of_fields = |fields: serde_json::Value| Request::of_fields(fields.as_object().unwrap());
    let median = json!({
        "name": "median", "kind": "quantiles", "table": "people", "column": "age", "quantiles": [0.5], "cost": { "epsilon": 1 },
    });
    let runner = Runner::new(&project);
    let planned = [runner.plan(&of_fields(median).unwrap()).unwrap()];
    let mut bits = InsecureSeededSource::new(3);
    let (outcomes, _) = runner.release(&planned, &folder.file("out"), &mut bits, |_| ()).unwrap();
    assert_eq!(outcomes[0].answers.rows(), 1);
    let nowhere = json!({ "name": "x", "kind": "quantiles", "cost": { "epsilon": 1 } });
    let error = of_fields(nowhere).unwrap_err().to_string();
    assert_eq!(error, "release 'x' of kind quantiles needs 'table'");
}
