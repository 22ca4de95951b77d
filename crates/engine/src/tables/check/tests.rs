//! The check, and that what it passes is what is read.

use super::*;
use crate::project::Layout;
use crate::tables::csv::CsvRecords;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, ListArray, StringArray, UInt64Array,
};
use datafusion::arrow::datatypes::Int32Type;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::prelude::{SessionConfig, SessionContext};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

mod dates;

/// Three declared columns and an owner.
const TABLE: &str = "[dataset.t]\nsource = \"SOURCE\"\ntrim = false\nowner = \"id\"\nmax_rows_per_owner = 1\n[dataset.t.columns]\n\
                     note = { type = \"category\" }\nn = { type = \"int\", lower = -9, upper = 9 }\n";

fn project(folder: &Path, text: &str, source: &str) -> Project {
    Project::parse(&folder.join("scumble.toml"), &text.replace("SOURCE", source)).unwrap()
}

fn checked(project: &Project) -> Result<()> {
    check(project, &["t".to_string()])
}

/// A row as text: what is missing is nothing.
type TextRow = Vec<Option<String>>;

/// The rows that a query would read, split among this many processors as eagerly as possible, sorted.
fn read_split(project: &Project, partitions: usize, batch: usize) -> std::result::Result<Vec<TextRow>, String> {
    let mut config = SessionConfig::new().with_target_partitions(partitions).with_batch_size(batch);
    config.options_mut().optimizer.repartition_file_min_size = 1;
    let context = SessionContext::new_with_config(config);
    let table = project.table("t").unwrap();
    let files = tables::source_files(table).unwrap();
    let rows = tables::rows(table, &files, &tables::TEXT).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let batches = runtime
        .block_on(async { context.read_table(Arc::new(rows))?.collect().await })
        .map_err(|error| error.to_string())?;
    let mut all: Vec<TextRow> = Vec::new();
    for batch in batches {
        let texts: Vec<ArrayRef> = batch
            .columns()
            .iter()
            .map(|column| datafusion::arrow::compute::cast(column, &DataType::Utf8).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let cell = |column: &ArrayRef| {
                let column = column.as_string::<i32>();
                column.is_valid(row).then(|| column.value(row).to_string())
            };
            all.push(texts.iter().map(cell).collect());
        }
    }
    all.sort();
    Ok(all)
}

/// How a field may be written; an own writer, which knows nothing of the readers.
fn written(field: &str, quote: bool, alone: bool) -> String {
    let must = field.contains([',', '\r', '\n']) || field.starts_with('"') || (alone && field.is_empty());
    if must || quote { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_string() }
}

fn fields() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop::sample::select(vec![
            "a",
            "b",
            ",",
            "\"",
            "\r",
            "\n",
            "\r\n",
            " ",
            "é",
            "日",
            "\0",
            "#",
            "\\",
            "'",
            "x\u{feff}",
            ";",
            "\t",
        ]),
        0..6,
    )
    .prop_map(|parts| parts.concat())
}

/// One file: its order of columns, line ends, byte-order mark, last line end, rows (id, note, n, something undeclared),
/// quoting, empty lines.
#[derive(Debug, Clone)]
struct WrittenFile {
    order: Vec<usize>,
    end: &'static str,
    mark: bool,
    last_end: bool,
    rows: Vec<([String; 4], u8, bool)>,
}

fn a_file() -> impl Strategy<Value = WrittenFile> {
    let number = prop_oneof![Just(String::new()), (-9i32..10).prop_map(|n| n.to_string())];
    let row = (
        (fields(), fields(), number, fields()).prop_map(|(id, note, n, other)| [id, note, n, other]),
        any::<u8>(),
        any::<bool>(),
    );
    (
        Just(vec![0usize, 1, 2, 3]).prop_shuffle(),
        prop::sample::select(vec!["\n", "\r\n", "\r"]),
        any::<bool>(),
        any::<bool>(),
        prop::collection::vec(row, 0..12),
    )
        .prop_map(|(order, end, mark, last_end, rows)| WrittenFile { order, end, mark, last_end, rows })
}

impl WrittenFile {
    fn text(&self) -> String {
        let names = ["id", "note", "n", "an,other\n\"name\""];
        let mut lines = vec![self.line(&names.map(str::to_string), 0)];
        for (row, quotes, empty_before) in &self.rows {
            lines.extend(empty_before.then(String::new));
            lines.push(self.line(row, *quotes));
        }
        let mark = if self.mark { "\u{feff}" } else { "" };
        format!("{mark}{}{}", lines.join(self.end), if self.last_end { self.end } else { "" })
    }

    fn line(&self, row: &[String; 4], quotes: u8) -> String {
        let fields = self.order.iter().map(|&place| written(&row[place], quotes >> place & 1 == 1, false));
        fields.collect::<Vec<_>>().join(",")
    }

    fn wanted(&self) -> impl Iterator<Item = TextRow> {
        let present = |text: &String| (!text.is_empty()).then(|| text.clone());
        self.rows.iter().map(move |(row, ..)| row[..3].iter().map(present).collect())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// One quoted text with line breaks became 13,824 rows of invented owners, because the file was split by byte
    /// offset; a second file with another order of columns gave its owner column away.
    #[test]
    fn files_are_read_as_the_rows_that_were_written(
        files in prop::collection::vec(a_file(), 1..4), partitions in 1usize..9, batch in 1usize..6,
    ) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("t")).unwrap();
        for (place, file) in files.iter().enumerate() {
            fs::write(folder.path().join(format!("t/{place}.csv")), file.text()).unwrap();
        }
        let project = project(folder.path(), TABLE, "t");
        let mut wanted: Vec<TextRow> = files.iter().flat_map(WrittenFile::wanted).collect();
        wanted.sort();
        prop_assert_eq!(&read_split(&project, partitions, batch).unwrap(), &wanted);
        prop_assert_eq!(checked(&project).map_err(|error| error.to_string()), Ok(()));
    }

    /// Any bytes at all: what the check passes is cut into the fields that it looked at, and is read without an error.
    #[test]
    fn what_passes_is_read_as_it_was_checked(
        body in prop::collection::vec(prop::sample::select(vec!["a", "7", ",", ",", "\"", "\"\"", "\r", "\n", "\n", "é", " ", "#", "\\"]), 0..14),
        wide in any::<bool>(), partitions in 1usize..9,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (header, columns) = if wide { ("x,y", "x = { type = \"category\" }\ny = { type = \"category\" }\n") } else { ("x", "x = { type = \"category\" }\n") };
        let body = body.concat();
        fs::write(folder.path().join("t.csv"), format!("{header}\n{body}")).unwrap();
        let project = project(folder.path(), &format!("[dataset.t]\nsource = \"SOURCE\"\ntrim = false\n[dataset.t.columns]\n{columns}"), "t.csv");
        if checked(&project).is_ok() {
            let mut records = CsvRecords::new(body.as_bytes(), &Layout::default()).unwrap();
            let mut wanted: Vec<TextRow> = Vec::new();
            while records.advance().unwrap() {
                wanted.push(records.fields().map(|field| (!field.is_empty()).then(|| String::from_utf8(field.to_vec()).unwrap())).collect());
            }
            wanted.sort();
            prop_assert_eq!(read_split(&project, partitions, 3).unwrap(), wanted);
        }
    }
}

/// What the check says of a file, or nothing where it fits.
fn said(text: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.csv"), text).unwrap();
    let columns = "[dataset.t]\nsource = \"SOURCE\"\n[dataset.t.columns]\nn = { type = \"int\" }\nf = { type = \"float\" }\nb = { type = \"bool\" }\nc = { type = \"category\" }\n";
    let project = project(folder.path(), columns, "t.csv");
    let said = checked(&project).map_or_else(|error| error.to_string(), |()| String::new());
    if said.is_empty() {
        for partitions in [1, 2, 8] {
            read_split(&project, partitions, 2).unwrap();
        }
    }
    said.replace(&folder.path().display().to_string(), "")
}

#[test]
fn the_check_says_file_line_and_column_and_never_a_value() {
    let long = "x".repeat(LONGEST_TEXT + 1);
    for (rows, words) in [
        (&b"1,1,true,x\n"[..], ""),
        (b"", ""),
        (b"1,1,true,x", ""),
        (b"\n\n1,1,TRUE,x\r\n\r2,2,False,y\n\n", ""),
        (b" 7 ,-0.5e3,,\n+1,NaN,,\n007,inf,true,\"\"\n", ""),
        (
            b"1,1,true,\"x\ny\"\n2,oops,true,y\n",
            "/t.csv:4: the value in column 'f' is declared as float and is not a number",
        ),
        (b"1.5,1,true,x\n", "/t.csv:2: the value in column 'n' is declared as int and is not a whole number"),
        (b"9223372036854775808,1,true,x\n", "/t.csv:2: the value in column 'n' is declared as int"),
        (
            b"1,1,2,x\n",
            "/t.csv:2: the value in column 'b' is declared as bool and is not one of true, false, yes, no, 1, 0",
        ),
        (b"2.0,1,1,x\n2,1,No,y\n", ""),
        (b"1,1,true,x \n", "/t.csv:2: the value in column 'c' begins or ends with a space"),
        (b"NA,1,true,x\n", "/t.csv:2: the value in column 'n' is declared as int"),
        (b"1,1,true\n", "/t.csv:2: this row has 3 fields, and the line of column names has 4"),
        (b"1,1,true,x\n1,1,true,x,y\n", "/t.csv:3: this row has 5 fields"),
        (b"1,1,true,x\n1,1,true,\"x\n1,1,true,x\n", "/t.csv:3: the quote that begins column 'c' is never closed"),
        (b"1,1,true,\"x\"y\n", "/t.csv:2: something follows the closing quote in column 'c'"),
        (b"1,1,true,x\"y\n", ""),
        (b"1,1,true,\xff\n", "/t.csv:2: the value in column 'c' is not UTF-8 text"),
        // Two halves of a letter in two fields are no text, though they are one beside each other.
        (b"1,1,\xc3,\xa9\n", "/t.csv:2: the value in column 'b' is not UTF-8 text"),
        (format!("1,1,true,{long}\n").as_bytes(), "/t.csv:2: the value in column 'c' has more than 65536 bytes"),
    ] {
        let found = said(&[b"n,f,b,c\n", rows].concat());
        assert!(
            found.starts_with(words) && found.is_empty() == words.is_empty(),
            "{:?}: {found}",
            String::from_utf8_lossy(rows)
        );
        assert!(!found.contains("oops") && !found.contains("9223372036854775808"), "{found}");
    }
    for (file, words) in [
        (&b""[..], "/t.csv is empty"),
        (b"n,f,b,n,c\n", "/t.csv: columns 1 and 4 have the same name"),
        (b"n,f,b\n", "/t.csv has no column 'c'"),
        (b"n,f,b,\"c\n", "/t.csv:1: the quote that begins"),
        (b"n,f,b,\xff\n", "/t.csv:1: the line of column names is not UTF-8"),
        // Columns without a name, such as an index, may be there.
        (b"\xef\xbb\xbf,n,f,b,c,\n0,1,1,true,x,\n", ""),
    ] {
        let found = said(file);
        assert!(
            found.starts_with(words) && found.is_empty() == words.is_empty(),
            "{:?}: {found}",
            String::from_utf8_lossy(file)
        );
    }
}

fn parquet(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(fs::File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// Every type that a Parquet file may hold for a declared one, with its extremes, in the declared type, by name.
#[test]
fn parquet_columns_are_read_in_their_declared_types() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let texts: DictionaryArray<Int32Type> = [Some("a"), None, Some("b")].into_iter().collect();
    parquet(
        &path,
        vec![
            ("unused", Arc::new(StringArray::from(vec!["x", "y", "z"]))),
            ("c", Arc::new(texts)),
            ("n", Arc::new(UInt64Array::from(vec![Some(u64::MAX), Some(3), None]))),
            ("f", Arc::new(Int32Array::from(vec![i32::MIN, 0, i32::MAX]))),
            ("id", Arc::new(UInt64Array::from(vec![u64::MAX, 2, 1]))),
            ("b", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ],
    );
    let table = "[dataset.t]\nsource = \"SOURCE\"\nowner = \"id\"\nmax_rows_per_owner = 1\n[dataset.t.columns]\nn = { type = \"int\" }\n\
                 f = { type = \"float\" }\nb = { type = \"bool\" }\nc = { type = \"category\" }\n";
    let declared = project(folder.path(), table, "t.parquet");
    checked(&declared).unwrap();
    let row =
        |cells: [&str; 5]| cells.iter().map(|cell| (!cell.is_empty()).then(|| cell.to_string())).collect::<TextRow>();
    let wanted = vec![
        row(["1", "", "2147483647.0", "false", "b"]),
        row(["18446744073709551615", "9223372036854775807", "-2147483648.0", "true", "a"]),
        row(["2", "3", "0.0", "", ""]),
    ];
    for partitions in [1, 3, 8] {
        assert_eq!(read_split(&declared, partitions, 2).unwrap(), wanted);
    }
    let refused = |text: &str, words: &str| {
        let found = checked(&project(folder.path(), text, "t.parquet")).unwrap_err().to_string();
        assert!(found.contains(words), "{found}");
    };
    refused(&table.replace("c = {", "C = {"), "has no column 'C' (did you mean 'c'?)");
    refused(
        &table.replace("n = { type = \"int\" }", "n = { type = \"category\" }"),
        "column 'n' is declared as category but holds UInt64",
    );
    refused(
        &table.replace("f = { type = \"float\" }", "f = { type = \"bool\" }"),
        "column 'f' is declared as bool but holds Int32",
    );
    refused(
        &table.replace("owner = \"id\"", "owner = \"b\"").replace("b = { type = \"bool\" }\n", ""),
        "must hold whole numbers or strings",
    );
    // A file whose end is whole and whose middle is not.
    let mut bytes = fs::read(&path).unwrap();
    bytes[4..200].fill(0x5a);
    fs::write(&path, bytes).unwrap();
    refused(table, "cannot be read to its end: the file is damaged");
    fs::write(&path, "no Parquet").unwrap();
    refused(table, "is damaged or is not Parquet");
}

fn parquet_in_groups(path: &Path, rows: usize, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(rows)).build();
    let mut writer = ArrowWriter::try_new(fs::File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// Parquet files are split between processors, by groups of rows: each row is read once. Columns that are not declared
/// may be anything.
#[test]
fn every_row_of_a_parquet_file_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let numbers: Vec<i32> = (0..100).collect();
    let nested =
        ListArray::from_iter_primitive::<Int32Type, _, _>(numbers.iter().map(|number| Some(vec![Some(*number); 3])));
    let columns: Vec<(&str, ArrayRef)> =
        vec![("lists", Arc::new(nested)), ("A.b, \"c\"", Arc::new(Int32Array::from(numbers.clone())))];
    parquet_in_groups(&folder.path().join("t.parquet"), 7, columns);
    let table = "[dataset.t]\nsource = \"SOURCE\"\n[dataset.t.columns]\n'A.b, \"c\"' = { type = \"int\" }\n";
    let declared = project(folder.path(), table, "t.parquet");
    checked(&declared).unwrap();
    let mut wanted: Vec<TextRow> = numbers.iter().map(|number| vec![Some(number.to_string())]).collect();
    wanted.sort();
    for partitions in 1..9 {
        assert_eq!(read_split(&declared, partitions, 5).unwrap(), wanted, "{partitions}");
    }
    let found = checked(&project(
        folder.path(),
        &table.replace("'A.b, \"c\"' = { type = \"int\" }", "lists = { type = \"category\" }"),
        "t.parquet",
    ));
    assert!(found.unwrap_err().to_string().contains("column 'lists' is declared as category but holds List"));
}

/// Files of many megabytes are read in pieces, whose ends are no ends of groups of rows: each row is read once here
/// too.
#[test]
fn every_row_of_large_parquet_files_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("t")).unwrap();
    let mut wanted: Vec<TextRow> = Vec::new();
    for (name, first, rows, in_group) in
        [("a.parquet", 0, 230, 7), ("b.parquet", 230, 3, 2), ("c.parquet", 233, 100, 100)]
    {
        let numbers: Vec<i32> = (first..first + rows).collect();
        let long = numbers.iter().map(|number| format!("{number:0>60000}"));
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("long", Arc::new(StringArray::from_iter_values(long))),
            ("n", Arc::new(Int32Array::from(numbers.clone()))),
        ];
        parquet_in_groups(&folder.path().join("t").join(name), in_group, columns);
        wanted.extend(numbers.iter().map(|number| vec![Some(number.to_string())]));
    }
    wanted.sort();
    let table = "[dataset.t]\nsource = \"SOURCE\"\n[dataset.t.columns]\nn = { type = \"int\" }\n";
    let declared = project(folder.path(), table, "t");
    for partitions in [1, 2, 3, 8] {
        assert_eq!(read_split(&declared, partitions, 5).unwrap(), wanted, "{partitions}");
    }
}

/// A file's statistics may be wrong, and decide for some queries alone which rows are read: they are not used.
#[test]
fn wrong_statistics_of_a_parquet_file_hide_no_row() {
    const NUMBER: i64 = 0x0123_4567_89ab_cdef;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    parquet_in_groups(&path, 4, vec![("n", Arc::new(Int64Array::from(vec![NUMBER; 12])))]);
    let mut bytes = fs::read(&path).unwrap();
    let places: Vec<usize> =
        (0..bytes.len() - 8).filter(|&place| bytes[place..place + 8] == NUMBER.to_le_bytes()).collect();
    // The first three are the values of the three groups of rows, the others statistics.
    for place in &places[3..] {
        bytes[*place..place + 8].copy_from_slice(&5i64.to_le_bytes());
    }
    fs::write(&path, bytes).unwrap();
    let declared = project(
        folder.path(),
        "[dataset.t]\nsource = \"SOURCE\"\n[dataset.t.columns]\nn = { type = \"int\" }\n",
        "t.parquet",
    );
    let table = declared.table("t").unwrap();
    let rows = tables::rows(table, &tables::source_files(table).unwrap(), &tables::TEXT).unwrap();
    let context = SessionContext::new();
    context.register_table("t", Arc::new(rows)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let count = |sql: String| runtime.block_on(async { context.sql(&sql).await.unwrap().count().await.unwrap() });
    assert_eq!(count("SELECT n FROM t".to_string()), 12);
    assert_eq!(count(format!("SELECT n FROM t WHERE n = {NUMBER}")), 12, "{places:?}");
    // The statistics are wrong indeed: a reader that believes them finds nothing.
    let believing = runtime.block_on(async {
        let frame = context.read_parquet(path.to_str().unwrap(), Default::default()).await.unwrap();
        frame
            .filter(datafusion::prelude::ident("n").eq(datafusion::prelude::lit(NUMBER)))
            .unwrap()
            .count()
            .await
            .unwrap()
    });
    assert_eq!(believing, 0, "{places:?}");
}

/// A table without declared columns still has rows.
#[test]
fn rows_without_a_declared_column_are_rows() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.csv"), "a,b\n1,2\n\"\",\n").unwrap();
    let declared = project(folder.path(), "[dataset.t]\nsource = \"SOURCE\"\n[dataset.t.columns]\n", "t.csv");
    checked(&declared).unwrap();
    assert_eq!(read_split(&declared, 2, 8).unwrap(), vec![Vec::new(); 2] as Vec<TextRow>);
}

/// One folder, two files: the second one's ages are texts, or there is no age at all.
#[test]
fn parquet_files_of_a_folder_agree_on_the_declared_columns() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("t")).unwrap();
    let number: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let wide: ArrayRef = Arc::new(Float64Array::from(vec![3.0, 4.0]));
    let one = folder.path().join("t/1.parquet");
    let two = folder.path().join("t/2.PARQUET");
    let table = "[dataset.t]\nsource = \"SOURCE\"\n[dataset.t.columns]\nx = { type = \"float\" }\n";
    let declared = project(folder.path(), table, "t");
    parquet(&one, vec![("x", number.clone()), ("y", wide.clone())]);
    parquet(&two, vec![("x", wide.clone())]);
    let found = checked(&declared).unwrap_err().to_string();
    assert!(
        found.contains("2.PARQUET: column 'x' holds Float64, but Int32 in") && found.contains("1.parquet"),
        "{found}"
    );
    parquet(&two, vec![("y", wide.clone())]);
    let found = checked(&declared).unwrap_err().to_string();
    assert!(found.contains("2.PARQUET has no column 'x'"), "{found}");
    // Other columns may differ, and so may their order.
    parquet(&two, vec![("z", wide), ("x", number)]);
    checked(&declared).unwrap();
    let wanted: Vec<TextRow> = ["1.0", "1.0", "2.0", "2.0"].map(|text| vec![Some(text.to_string())]).to_vec();
    assert_eq!(read_split(&declared, 3, 10).unwrap(), wanted);
}

/// Whatever the check looks at changes the fingerprint; where the files are and what a column's bounds are does not.
#[test]
fn the_fingerprint_is_of_what_the_check_depends_on() {
    let folder = tempfile::tempdir().unwrap();
    let state_of =
        |text: &str, source: &str| state(&project(folder.path(), text, source), &["t".to_string()]).unwrap().remove(0);
    fs::write(folder.path().join("a.csv"), "id,note,n\n1,x,2\n").unwrap();
    fs::write(folder.path().join("b.csv"), "id,note,n\n1,x,2\n").unwrap();
    fs::write(folder.path().join("c.csv"), "id,note,n\n1,x,3\n").unwrap();
    let first = state_of(TABLE, "a.csv");
    assert_eq!(first.files[0].digest, crate::digest(b"id,note,n\n1,x,2\n"));
    assert_eq!(first.files[0].bytes, 16);
    assert_eq!(first.fingerprint, state_of(TABLE, "b.csv").fingerprint);
    assert_eq!(first.fingerprint, state_of(&TABLE.replace("upper = 9", "upper = 99"), "a.csv").fingerprint);
    let others = [
        state_of(TABLE, "c.csv"),
        state_of(&TABLE.replace("int\", lower = -9, upper = 9", "float\""), "a.csv"),
        state_of(&TABLE.replace("n = {", "m = {"), "a.csv"),
        state_of(&TABLE.replace("owner = \"id\"\nmax_rows_per_owner = 1\n", ""), "a.csv"),
    ];
    assert!(others.iter().all(|other| other.fingerprint != first.fingerprint));
}
