//! Dates and times of Parquet and Arrow files, of every type that they have there.

use super::{checked, parquet, project, read_split};
use datafusion::arrow::array::{
    ArrayRef, Date32Array, Date64Array, DictionaryArray, Int32Array, RecordBatch, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
};
use datafusion::arrow::ipc::writer::FileWriter;
use std::fs::File;
use std::sync::Arc;

fn columns() -> Vec<(&'static str, ArrayRef)> {
    // 2013-06-30T22:30:00Z, and the ends of each type.
    let second = 1_372_631_400;
    vec![
        ("a", Arc::new(Date32Array::from(vec![Some(15_886), Some(i32::MIN), None]))),
        ("b", Arc::new(Date64Array::from(vec![Some(second * 1000), Some(i64::MAX), None]))),
        ("c", Arc::new(TimestampSecondArray::from(vec![Some(second), Some(i64::MIN), None]))),
        (
            "d",
            Arc::new(
                TimestampMillisecondArray::from(vec![Some(second * 1000 + 500), Some(i64::MAX), None])
                    .with_timezone("UTC"),
            ),
        ),
        (
            "e",
            Arc::new(
                TimestampMicrosecondArray::from(vec![Some(second * 1_000_000), Some(i64::MAX), None])
                    .with_timezone("America/New_York"),
            ),
        ),
        ("f", Arc::new(TimestampNanosecondArray::from(vec![Some(second * 1_000_000_000), Some(i64::MIN), None]))),
    ]
}

const TABLE: &str = "[dataset.t]\nsource = \"SOURCE\"\n[dataset.t.columns]\na = { type = \"date\" }\nb = { type = \"date\" }\nc = { type = \"date\" }\n\
                     d = { type = \"timestamp\", zone = \"Europe/Berlin\" }\ne = { type = \"timestamp\", lower = \"2013-06-30T23:00:00\", upper = \"2014-01-01T00:00:00\" }\n\
                     f = { type = \"timestamp\", zone = \"Europe/Berlin\" }\n";

/// Times with a zone are moments, shown by the wall clock of the declared zone (else UTC's); those without one are what
/// the clock showed.
#[test]
fn dates_and_times_of_every_unit() {
    let folder = tempfile::tempdir().unwrap();
    parquet(&folder.path().join("t.parquet"), columns());
    let batch = RecordBatch::try_from_iter(columns()).unwrap();
    let mut writer =
        FileWriter::try_new(File::create(folder.path().join("t.arrow")).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let row =
        |cells: [&str; 6]| cells.iter().map(|cell| (!cell.is_empty()).then(|| cell.to_string())).collect::<Vec<_>>();
    for source in ["t.parquet", "t.arrow"] {
        let declared = project(folder.path(), TABLE, source);
        checked(&declared).unwrap();
        let wanted = vec![
            row(["", "", "", "", "", ""]),
            row([
                "1678-01-01",
                "2261-12-31",
                "1678-01-01",
                "2261-12-31T23:59:59.999999999",
                "2014-01-01T00:00:00",
                "1678-01-01T00:00:00",
            ]),
            row([
                "2013-06-30",
                "2013-06-30",
                "2013-06-30",
                "2013-07-01T00:30:00.500",
                "2013-06-30T23:00:00",
                "2013-06-30T22:30:00",
            ]),
        ];
        assert_eq!(read_split(&declared, 2, 2).unwrap(), wanted, "{source}");
    }
    for (from, to, words) in [
        (
            "d = { type = \"timestamp\", zone = \"Europe/Berlin\" }",
            "d = { type = \"date\" }",
            "column 'd' is declared as date but holds Timestamp(ms, \"UTC\"): which day that is depends on the zone, so declare it as timestamp",
        ),
        (
            "a = { type = \"date\" }",
            "a = { type = \"int\" }",
            "column 'a' is declared as int but holds Date32: declare it as date",
        ),
        (
            "c = { type = \"date\" }",
            "c = { type = \"category\" }",
            "column 'c' is declared as category but holds Timestamp(s): declare it as timestamp",
        ),
    ] {
        let found = checked(&project(folder.path(), &TABLE.replace(from, to), "t.parquet")).unwrap_err().to_string();
        assert!(found.contains(words), "{found}");
    }
}

/// Numbers in a dictionary are numbers, also those that 64 bits with a sign do not hold.
#[test]
fn numbers_in_a_dictionary() {
    let folder = tempfile::tempdir().unwrap();
    let numbers: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX, 7]));
    let keys = Int32Array::from(vec![Some(1), Some(0), None, Some(1)]);
    let numbers: ArrayRef = Arc::new(DictionaryArray::new(keys, numbers));
    parquet(&folder.path().join("t.parquet"), vec![("n", numbers.clone()), ("f", numbers)]);
    let table = "[dataset.t]\nsource = \"SOURCE\"\n[dataset.t.columns]\nn = { type = \"int\", bins = [0, 8] }\nf = { type = \"float\", lower = 0, upper = 9 }\n";
    let declared = project(folder.path(), table, "t.parquet");
    checked(&declared).unwrap();
    let row = |n: &str, f: &str| vec![Some(n.to_string()), Some(f.to_string())];
    let wanted = vec![vec![None, None], row("0 to 7", "7.0"), row("0 to 7", "7.0"), row("8 or more", "9.0")];
    assert_eq!(read_split(&declared, 2, 2).unwrap(), wanted);
}

/// Folders that are called after values: constants of their files' rows, with and without other columns.
#[test]
fn folders_that_say_a_column() {
    let folder = tempfile::tempdir().unwrap();
    for (name, numbers) in
        [("day=2013-01-31", vec![1, 2]), ("day=2099-01-01", vec![3]), ("day=__HIVE_DEFAULT_PARTITION__", vec![4])]
    {
        let path = folder.path().join("t").join(name);
        std::fs::create_dir_all(&path).unwrap();
        parquet(&path.join("part.parquet"), vec![("n", Arc::new(Int32Array::from(numbers)))]);
    }
    let day = "day = { type = \"date\", lower = \"2013-01-01\", upper = \"2013-12-31\" }\n";
    let table = format!("[dataset.t]\nsource = \"SOURCE\"\n[dataset.t.columns]\n{day}n = {{ type = \"int\" }}\n");
    let declared = project(folder.path(), &table, "t");
    checked(&declared).unwrap();
    let row = |day: Option<&str>, n: &str| vec![day.map(str::to_string), Some(n.to_string())];
    let wanted =
        vec![row(None, "4"), row(Some("2013-01-31"), "1"), row(Some("2013-01-31"), "2"), row(Some("2013-12-31"), "3")];
    assert_eq!(read_split(&declared, 2, 2).unwrap(), wanted);
    let alone = project(folder.path(), &format!("[dataset.t]\nsource = \"SOURCE\"\n[dataset.t.columns]\n{day}"), "t");
    checked(&alone).unwrap();
    assert_eq!(read_split(&alone, 3, 1).unwrap().len(), 4);
}
