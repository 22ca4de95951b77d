//! Texts of every type that Parquet and Arrow files have, in every kind of release: the same rows and the same seed
//! give the same answers, however the texts are stored.

use crate::support::Folder;
use crate::support::examples::{StringsExample, in_order, kinds_without};
use datafusion::arrow::array::{
    ArrayRef, BinaryArray, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int32Type};
use datafusion::arrow::ipc::writer::FileWriter;
use datafusion::parquet::arrow::ArrowWriter;
use scumble::noise::InsecureSeededSource;
use scumble_engine::project::Project;
use scumble_engine::release::Runner;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// One release of each kind, with strings as owners, keys, values and conditions wherever it takes them.
fn strings() -> Vec<(&'static str, &'static str)> {
    let all = in_order(|kind| &kind.strings, |example: &StringsExample| example.order);
    all.into_iter().map(|(kind, example)| (kind, example.fields.as_str())).collect()
}

/// What is asked instead of released.
const ASKED: &str = "[[release]]\nname = \"asked\"\nkind = \"interactive\"\ntable = \"visits\"\ncolumns = [\"city\"]\npeople = 120\nquestions = 2\nupdates = 1\ncost = { epsilon = 20 }\n";

const ROWS: i64 = 240;

fn texts() -> [Vec<Option<String>>; 3] {
    let owner = |i: i64| Some(format!("person {}", i / 2));
    let city = |i: i64| (i % 7 != 0).then(|| ["Ulm", "Bonn", "Köln"][(i % 3) as usize].to_string());
    let town = |i: i64| (i % 11 != 3).then(|| format!("{}{}", ["a", "b"][(i % 2) as usize], i % 4));
    [(0..ROWS).map(owner).collect(), (0..ROWS).map(city).collect(), (0..ROWS).map(town).collect()]
}

/// Texts in a type.
fn stored(texts: &[Option<String>], kind: &DataType) -> ArrayRef {
    let plain: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
    let DataType::Dictionary(keys, values) = kind else { return cast(&plain, kind).unwrap() };
    let mut listed: Vec<&String> = texts.iter().flatten().collect();
    listed.sort();
    listed.dedup();
    let place =
        |text: &Option<String>| text.as_ref().map(|text| listed.iter().position(|one| *one == text).unwrap() as i32);
    let places: Int32Array = texts.iter().map(place).collect();
    let listed: ArrayRef = Arc::new(StringArray::from_iter_values(&listed));
    let whole = DictionaryArray::<Int32Type>::try_new(places, cast(&listed, values).unwrap()).unwrap();
    cast(&whole, &DataType::Dictionary(keys.clone(), values.clone())).unwrap()
}

fn kinds() -> Vec<DataType> {
    let plain = [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View];
    let listed = |key: DataType, value: &DataType| DataType::Dictionary(Box::new(key), Box::new(value.clone()));
    let listed = plain.iter().flat_map(|value| [DataType::Int32, DataType::UInt8].map(|key| listed(key, value)));
    plain.iter().cloned().chain(listed).collect()
}

/// The rows with texts of this type, as a file of this form; false where no such file can be written, so that nobody
/// has one.
fn write(path: &Path, texts: &[ArrayRef; 3]) -> bool {
    let number = |of: &dyn Fn(i64) -> i64| Arc::new(Int64Array::from_iter_values((0..ROWS).map(of))) as ArrayRef;
    let [owner, city, town] = texts.clone();
    let columns = [
        ("id", owner),
        ("city", city),
        ("town", town),
        ("x", number(&|i| i % 10)),
        ("a", number(&|i| i % 30)),
        ("b", number(&|i| i / 8)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = File::create(path).unwrap();
    if path.extension().is_some_and(|end| end == "arrow") {
        let mut writer = FileWriter::try_new(file, &batch.schema()).unwrap();
        return writer.write(&batch).and_then(|()| writer.finish()).is_ok();
    }
    let Ok(mut writer) = ArrowWriter::try_new(file, batch.schema(), None) else { return false };
    writer.write(&batch).is_ok() && writer.close().is_ok()
}

fn project(source: &str, releases: &str) -> String {
    let columns = "city = { type = \"category\", values = [\"Ulm\", \"Bonn\", \"Köln\"] }\ntown = { type = \"category\" }\nx = { type = \"int\", lower = 0, upper = 9 }\n";
    let table =
        |name: &str, owner: &str, more: &str| format!("[dataset.{name}]\nsource = \"{source}\"\n{owner}\n{more}\n");
    let owner = "owner = \"id\"\nmax_rows_per_owner = 2";
    let visits = table("visits", owner, &format!("[dataset.visits.columns]\n{columns}"));
    let once = table("once", "public_owners = 240", &format!("[dataset.once.columns]\n{columns}"));
    let calls = table("calls", owner, "graph = { from = \"a\", to = \"b\", vertices = 40 }");
    let used = if releases.contains("exact-count") {
        format!(
            "{once}[attacker]\nknown_rows = 0.1\nuncertainty = 0.1\nindependence = \"declared\"\nmode = \"active\"\ndelta = 1e-6\n"
        )
    } else {
        format!("{visits}{calls}")
    };
    format!("{used}{releases}")
}

/// What all kinds publish, as JSON.
fn answers(texts: &[ArrayRef; 3], end: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    let release =
        |(kind, fields): (&str, &str)| format!("[[release]]\nname = \"{kind}\"\nkind = \"{kind}\"\n{fields}\n");
    let (alone, together): (Vec<_>, Vec<_>) = strings().into_iter().partition(|(kind, _)| *kind == "exact-count");
    for releases in [together, alone] {
        let folder = Folder::with(&[]);
        let source = format!("rows.{end}");
        if !write(&folder.file(&source), texts) {
            return None;
        }
        let text = project(&source, &releases.into_iter().map(release).collect::<String>());
        let (_, outcomes) = folder.release(&folder.project(&text), 11);
        all.extend(outcomes.iter().map(|outcome| format!("{}: {}", outcome.name, outcome.answers.json())));
    }
    let folder = Folder::with(&[]);
    let source = format!("rows.{end}");
    write(&folder.file(&source), texts).then_some(())?;
    let project = folder.project(&project(&source, ASKED));
    let runner = Runner::new(&project);
    let mut asking = runner.asking(&project.releases[0], &folder.file("out")).unwrap();
    let answered = asking.ask("city = 'Ulm'", &mut InsecureSeededSource::new(11)).unwrap();
    all.push(format!("interactive: {} {:?}", answered.answer, answered.how));
    Some(all)
}

#[test]
fn texts_of_every_type_are_the_same_texts_in_every_kind() {
    let missing = kinds_without(|kind| !kind.strings.is_empty());
    assert_eq!(missing, ["interactive"], "no release of these kinds reads strings");
    let texts = texts();
    let of = |kind: &DataType| texts.each_ref().map(|texts| stored(texts, kind));
    let usual = answers(&of(&DataType::Utf8), "parquet").unwrap();
    assert_eq!(usual.len(), strings().len() + 1);
    let mut forms = 0;
    for kind in kinds() {
        for end in ["parquet", "arrow"] {
            // Nobody writes a Parquet file of these: its writer panics.
            let views = matches!(&kind, DataType::Dictionary(_, values) if **values == DataType::Utf8View);
            if views && end == "parquet" {
                continue;
            }
            let Some(found) = answers(&of(&kind), end) else { continue };
            forms += 1;
            for (found, usual) in found.iter().zip(&usual) {
                assert_eq!(found, usual, "{kind} in {end}");
            }
        }
    }
    assert_eq!(forms, 16, "that many forms can be written");
}

/// Owners that are numbers in a dictionary, as pandas' categories are written, are the same owners.
#[test]
fn owners_of_numbers_in_a_dictionary_are_the_same_owners() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..ROWS).map(|i| i / 4)));
    let [_, city, town] = texts().map(|texts| stored(&texts, &DataType::Utf8));
    let release = "[[release]]\nname = \"r\"\nsql = \"SELECT COUNT(*) AS n, COUNT(DISTINCT id) AS owners FROM visits\"\ncost = { epsilon = 10000 }\n";
    let found = |kind: &DataType, end: &str| {
        let (folder, source) = (Folder::with(&[]), format!("rows.{end}"));
        assert!(write(&folder.file(&source), &[cast(&numbers, kind).unwrap(), city.clone(), town.clone()]));
        let (_, outcomes) = folder.release(&folder.project(&project(&source, release)), 11);
        outcomes[0].answers.json()["rows"].to_string()
    };
    let usual = found(&DataType::Int64, "parquet");
    for value in [DataType::Int64, DataType::Int32, DataType::UInt16] {
        let listed = DataType::Dictionary(Box::new(DataType::Int32), Box::new(value));
        for end in ["parquet", "arrow"] {
            assert_eq!(found(&listed, end), usual, "{listed} in {end}");
        }
    }
}

/// Bytes are not strings: an error about such a declaration names the file, the column and what to do.
#[test]
fn bytes_are_no_texts() {
    let bytes: ArrayRef = Arc::new(BinaryArray::from_iter_values((0..ROWS).map(|i| [b'a', (i % 4) as u8 + b'0'])));
    let [owner, city, town] = texts().map(|texts| stored(&texts, &DataType::Utf8));
    for kind in [DataType::Binary, DataType::LargeBinary, DataType::BinaryView, DataType::FixedSizeBinary(2)] {
        let stored = cast(&bytes, &kind).unwrap();
        for (texts, name) in [
            ([owner.clone(), city.clone(), stored.clone()], "town"),
            ([stored.clone(), city.clone(), town.clone()], "id"),
        ] {
            for end in ["parquet", "arrow"] {
                let folder = Folder::with(&[]);
                if !write(&folder.file(&format!("rows.{end}")), &texts) {
                    continue;
                }
                let project = folder.project(&project(
                    &format!("rows.{end}"),
                    "[[release]]\nname = \"n\"\nsql = \"SELECT COUNT(*) AS n FROM visits\"\ncost = { epsilon = 1 }\n",
                ));
                let said = refusal(&project, &folder);
                assert!(said.contains(&format!("rows.{end}")) && said.contains(&format!("'{name}'")), "{kind}: {said}");
                assert!(
                    said.contains("bytes have no known") && said.contains("write it as strings (Utf8)"),
                    "{kind}: {said}"
                );
            }
        }
    }
}

fn refusal(project: &Project, folder: &Folder) -> String {
    let runner = Runner::new(project);
    let planned = [runner.plan(&project.releases[0]).unwrap()];
    let mut bits = scumble::noise::InsecureSeededSource::new(1);
    runner.release(&planned, &folder.file("out"), &mut bits, |_| ()).unwrap_err().to_string()
}
