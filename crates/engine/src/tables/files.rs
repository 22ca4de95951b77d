//! Which files a table's source is, and which columns they say they have. No value is looked at here.

use super::csv::{CsvRecords, RecordError};
use super::decode::DecodingReader;
use super::lengths;
use crate::error::{Error, Result};
use crate::file::identity;
use crate::guarded::caught;
use crate::memory::Batches;
use crate::project::Layout;
use datafusion::arrow::ipc::reader::FileReader;
use datafusion::parquet::arrow::arrow_reader::ArrowReaderMetadata;
use std::collections::BTreeMap;
use std::fs::{File, FileType};
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};

/// How a file's rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileFormat {
    /// Fields with separators between them, a record on each line, as RFC 4180 has them or as the table's layout says.
    Csv,
    /// An object of JSON on each line.
    JsonLines,
    /// Apache Arrow's own file, also called Feather.
    Arrow,
    /// Apache Parquet.
    Parquet,
    /// No file: rows that are in memory.
    Memory,
}

impl FileFormat {
    /// Whether values are written as texts, which the check reads one by one.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::JsonLines)
    }

    /// Its name for the fingerprint of a file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::JsonLines => "json lines",
            Self::Arrow => "arrow",
            Self::Parquet => "parquet",
            Self::Memory => "memory",
        }
    }
}

/// How a text file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

const BUFFER: usize = 1 << 20;
/// Of this many bytes the lines are counted, where a guess at the number of rows is wanted.
const SAMPLE: u64 = 1 << 16;

/// The endings of files that can be read, for sentences.
const ENDINGS: &str = ".csv, .tsv, .jsonl, .ndjson (each also .gz or .zst), .arrow, .feather or .parquet";

/// One file of a table.
#[derive(Debug, Clone)]
pub(crate) struct DataFile {
    /// Where it is, as the project file says.
    pub path: PathBuf,
    /// How it is written.
    pub form: FileFormat,
    packing: Compression,
    /// What the table says about its text files.
    pub layout: Layout,
    /// What the names of its folders say about all of its rows: column and value, none where the value is missing.
    pub partition: Vec<(String, Option<String>)>,
    /// The rows, where no file has them.
    pub rows: Option<Batches>,
}

/// The files of a source: the file itself, or all data files of a folder in the order of their names. In a folder,
/// names that begin with '.' or '_' are passed over (temporary files, marks of the program that wrote it); everything
/// else must be a file of one form, or a folder that says a column's value in its name, as in `year=2013`.
pub(crate) fn files(source: &Path, layout: &Layout) -> Result<Vec<DataFile>> {
    let shown = source.display();
    if !kind_of(source)?.is_dir() {
        let file = data_file(source, layout)?.ok_or_else(|| {
            Error::input(format!(
                "{shown} has a name with an unknown ending: it must end in {ENDINGS}, or be a folder \
                of such files"
            ))
        })?;
        return Ok(vec![file]);
    }
    let mut files: Vec<DataFile> = Vec::new();
    inside(source, &[], layout, &mut files)?;
    files.sort_by(|left, right| left.path.cmp(&right.path));
    let Some(first) = files.first() else {
        return Err(Error::input(format!("the folder {shown} holds no file that ends in {ENDINGS}")));
    };
    if files.iter().any(|file| file.form != first.form) {
        return Err(Error::input(format!(
            "the folder {shown} holds files of several formats; one table has files of one format"
        )));
    }
    let columns = |file: &DataFile| file.partition.iter().map(|(column, _)| column.clone()).collect::<Vec<_>>();
    if let Some(other) = files.iter().find(|file| columns(file) != columns(first)) {
        return Err(Error::input(format!(
            "the folders of {} and {} do not name the same columns, as in year=2013/month=01: move one of them elsewhere",
            first.path.display(),
            other.path.display()
        )));
    }
    refuse_twice(&files)?;
    Ok(files)
}

/// The most folders inside each other.
const DEEPEST: usize = 16;

/// The files of a folder whose name, and those of the folders that it is in, say this.
fn inside(
    folder: &Path,
    partition: &[(String, Option<String>)],
    layout: &Layout,
    files: &mut Vec<DataFile>,
) -> Result<()> {
    let shown = folder.display();
    let unreadable = |error: std::io::Error| Error::input(format!("the folder {shown} cannot be read ({error})"));
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path
            .file_name()
            .is_none_or(|name| name.as_encoded_bytes().starts_with(b".") || name.as_encoded_bytes().starts_with(b"_"))
        {
            continue;
        }
        if kind_of(&path)?.is_dir() {
            let Some(said) = said(&path)
                .filter(|(column, _)| partition.len() < DEEPEST && partition.iter().all(|(other, _)| other != column))
            else {
                return Err(Error::input(format!(
                    "the folder {shown} holds another folder, {}, which is not called after a column's value, as in \
                        year=2013: move its files, or name it as the source",
                    path.display()
                )));
            };
            inside(&path, &[partition, &[said]].concat(), layout, files)?;
            continue;
        }
        let file = data_file(&path, layout)?.ok_or_else(|| {
            Error::input(format!(
                "the folder {shown} holds {}, which does not end in {ENDINGS}: move it elsewhere, or let its name begin with '_'",
                path.display()
            ))
        })?;
        files.push(DataFile { partition: partition.to_vec(), ..file });
    }
    Ok(())
}

/// The column and its value that a folder's name says, as Hive writes them: `%` and two digits for letters that a name
/// cannot have.
fn said(folder: &Path) -> Option<(String, Option<String>)> {
    let (column, value) = folder.file_name()?.to_str()?.split_once('=')?;
    let value = if value == "__HIVE_DEFAULT_PARTITION__" { None } else { Some(unescaped(value)?) };
    Some((unescaped(column).filter(|column| !column.is_empty())?, value))
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        let code = more.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%');
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &more[2..] } else { more };
    }
    String::from_utf8(bytes).ok()
}

/// A link beside the file that it points to, or a second name of the same file, would count its rows twice.
fn refuse_twice(files: &[DataFile]) -> Result<()> {
    let mut seen: BTreeMap<PathBuf, &Path> = BTreeMap::new();
    let mut same: BTreeMap<(u64, u64), &Path> = BTreeMap::new();
    for file in files {
        let by_name = seen.insert(real_path(&file.path)?, &file.path);
        let by_place = identity(&file.path).and_then(|place| same.insert(place, &file.path));
        if let Some(other) = by_name.or(by_place) {
            let (other, path) = (other.display(), file.path.display());
            return Err(Error::input(format!("{other} and {path} are the same file: its rows would count twice")));
        }
    }
    Ok(())
}

/// The absolute path without links.
pub(crate) fn real_path(path: &Path) -> Result<PathBuf> {
    std::fs::canonicalize(path).map_err(|error| unopened(path, &error))
}

fn unopened(path: &Path, error: &std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::input(format!("there is no file or folder {}", path.display())),
        _ => Error::input(format!("{} cannot be opened ({error})", path.display())),
    }
}

/// File or folder; anything else is refused before it is opened, as opening a pipe waits for somebody to write into it.
fn kind_of(path: &Path) -> Result<FileType> {
    let kind = std::fs::metadata(path).map_err(|error| unopened(path, &error))?.file_type();
    if kind.is_file() || kind.is_dir() {
        return Ok(kind);
    }
    Err(Error::input(format!("{} is a pipe, a socket or a device: write the rows into a file first", path.display())))
}

/// A file by its name; none where the name says nothing that can be read.
fn data_file(path: &Path, layout: &Layout) -> Result<Option<DataFile>> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
    let (packing, inner) = match name.strip_suffix(".gz").or(name.strip_suffix(".gzip")) {
        Some(inner) => (Compression::Gzip, inner),
        None => {
            name.strip_suffix(".zst").map_or((Compression::None, name.as_str()), |inner| (Compression::Zstd, inner))
        }
    };
    let mut layout = layout.clone();
    let form = match inner.rsplit_once('.').map(|(_, ending)| ending) {
        Some("csv") => FileFormat::Csv,
        Some("tsv") => {
            if layout.separator == Layout::default().separator && !layout.comma_in_tsv {
                layout.separator = b'\t';
            }
            FileFormat::Csv
        }
        Some("jsonl" | "ndjson") => FileFormat::JsonLines,
        Some("arrow" | "feather") if packing == Compression::None => FileFormat::Arrow,
        Some("parquet") if packing == Compression::None => FileFormat::Parquet,
        _ => return Ok(None),
    };
    let foreign = match form {
        FileFormat::Csv => None,
        FileFormat::JsonLines => layout.about_csv(),
        FileFormat::Arrow | FileFormat::Parquet | FileFormat::Memory => layout.about_text(),
    };
    match foreign {
        Some(key) => {
            Err(Error::input(format!("{key} is for CSV files, and {} is not one: leave it out", path.display())))
        }
        None => {
            Ok(Some(DataFile { path: path.to_path_buf(), form, packing, layout, partition: Vec::new(), rows: None }))
        }
    }
}

/// How many lines, and bytes, are looked at for the line of names where the first one is none.
const FIRST_LINES: (usize, u64) = (50, 1 << 20);

impl DataFile {
    /// Rows in memory that are called so.
    pub fn in_memory(name: &Path, rows: &Batches) -> Self {
        Self {
            path: name.to_path_buf(),
            form: FileFormat::Memory,
            packing: Compression::None,
            layout: Layout::default(),
            partition: Vec::new(),
            rows: Some(rows.clone()),
        }
    }

    /// The rows in memory.
    pub fn batches(&self) -> Result<&Batches> {
        self.rows.as_ref().ok_or_else(|| Error::machine("a table in memory without rows"))
    }

    /// The file, open.
    pub fn open(&self) -> Result<File> {
        kind_of(&self.path)?;
        File::open(&self.path).map_err(|error| unopened(&self.path, &error))
    }

    /// How it is read, for fingerprints: its form, its packing, its layout, what its folders say. A file that is
    /// renamed may be another table.
    pub fn written(&self) -> String {
        format!("{} {:?} {} {:?}", self.form.name(), self.packing, self.layout.json(), self.partition)
    }

    /// The letters of a text file, unpacked and as UTF-8.
    pub fn text(&self) -> Result<Box<dyn BufRead + Send>> {
        let file = self.open()?;
        self.check_packing(&file)?;
        let unpacked: Box<dyn Read + Send> = match self.packing {
            Compression::None => Box::new(file),
            Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(BufReader::new(file))),
            Compression::Zstd => {
                Box::new(zstd::stream::read::Decoder::new(file).map_err(|error| unopened(&self.path, &error))?)
            }
        };
        Ok(match self.layout.encoding == encoding_rs::UTF_8 {
            true => Box::new(BufReader::with_capacity(BUFFER, unpacked)),
            false => Box::new(DecodingReader::new(unpacked, self.layout.encoding)),
        })
    }

    /// Whether it is packed as its name says, by its first bytes.
    fn check_packing(&self, mut file: &File) -> Result<()> {
        let mut first = Vec::new();
        let read = file.take(4).read_to_end(&mut first).and_then(|_| file.rewind());
        read.map_err(|error| unopened(&self.path, &error))?;
        let found = match first[..] {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd] => Compression::Zstd,
            _ => Compression::None,
        };
        if found == self.packing {
            return Ok(());
        }
        let shown = self.path.display();
        Err(Error::input(match (found, self.packing) {
            (Compression::None, _) => {
                format!("{shown} is not compressed as its name says: remove .gz or .zst from the name, or compress it")
            }
            (Compression::Gzip, _) => format!(
                "{shown} is compressed with gzip: let its name end in .gz, as in \
                .csv.gz"
            ),
            (Compression::Zstd, _) => format!(
                "{shown} is compressed with zstd: let its name end in .zst, as in \
                .csv.zst"
            ),
        }))
    }

    /// The names of a CSV file's columns: as declared, or its first record.
    pub(super) fn header(&self) -> Result<Vec<String>> {
        if let Some(names) = &self.layout.header {
            return Ok(names.clone());
        }
        let shown = self.path.display();
        let wrong = |trouble: RecordError| trouble.sentence(&self.path, |field| format!("column name {}", field + 1));
        let mut records = CsvRecords::new(self.text()?, &self.layout).map_err(wrong)?;
        if !records.advance().map_err(wrong)? {
            return Err(Error::input(format!("{shown} is empty; its first line must name the columns")));
        }
        if records.fields().next().is_some_and(|field| field.starts_with(b"PK\x03\x04")) {
            return Err(Error::input(format!(
                "{shown} is a packed archive, such as an Excel workbook, and not text: save the sheet as CSV"
            )));
        }
        if records.fields().any(|field| field.contains(&0)) {
            return Err(Error::input(format!(
                "{shown}:1: the line of column names has zero bytes between its characters; set its encoding, as in \
                    encoding = \"utf-16le\""
            )));
        }
        let names = records.fields().map(|name| std::str::from_utf8(name).map(|name| name.trim().to_string()));
        names.collect::<std::result::Result<_, _>>().map_err(|_| {
            Error::input(format!(
                "{shown}:1: the line of column names is not UTF-8 text; set its encoding, as in encoding = \"{}\"",
                self.likely_encoding()
            ))
        })
    }

    /// How many fields the first row of a CSV file has, its line of names included; none of a file without rows.
    pub fn width(&self) -> Result<Option<usize>> {
        Ok(self.first_row()?.map(|fields| fields.len()))
    }

    /// The fields of the first row of a CSV file, which may be its line of names; none of a file without rows.
    pub fn first_row(&self) -> Result<Option<Vec<String>>> {
        if self.form != FileFormat::Csv {
            return Ok(None);
        }
        let wrong = |trouble: RecordError| trouble.sentence(&self.path, |field| format!("field {}", field + 1));
        let mut records = CsvRecords::new(self.text()?, &self.layout).map_err(wrong)?;
        let text = |field: &[u8]| String::from_utf8_lossy(field).trim().to_string();
        Ok(records.advance().map_err(wrong)?.then(|| records.fields().map(text).collect()))
    }

    /// The line of a CSV file, after the first and among the first ones, in which one of these names stands by itself;
    /// lines with a title or a remark may stand above it.
    pub fn line_of_names(&self, is_name: impl Fn(&str) -> bool) -> Option<usize> {
        let lines = self.first_lines()?;
        let separator = char::from(self.layout.separator);
        let has_name = |line: &String| line.split(separator).any(|field| is_name(field.trim().trim_matches('"')));
        lines.iter().position(has_name).filter(|place| *place > 0).map(|place| place + 1)
    }

    fn first_lines(&self) -> Option<Vec<String>> {
        let text = self.text().ok().filter(|_| self.form == FileFormat::Csv)?;
        text.take(FIRST_LINES.1).lines().take(FIRST_LINES.0).collect::<std::io::Result<Vec<String>>>().ok()
    }

    /// Whether a row among the first ones has more than one field.
    pub fn has_wider_rows(&self) -> bool {
        let wide = || -> Option<bool> {
            let mut records = CsvRecords::new(self.text().ok()?, &self.layout).ok()?;
            for _ in 0..FIRST_LINES.0 {
                if !records.advance().ok()? {
                    break;
                }
                if records.fields().count() > 1 {
                    return Some(true);
                }
            }
            Some(false)
        };
        self.form == FileFormat::Csv && wide().unwrap_or(false)
    }

    /// About how many rows it has, where that is known without reading it: from what a Parquet file says, or from the
    /// length of the first lines.
    pub fn expected_rows(&self) -> Option<u64> {
        match self.form {
            FileFormat::Parquet => u64::try_from(self.footer().ok()?.metadata().file_metadata().num_rows()).ok(),
            FileFormat::Csv | FileFormat::JsonLines if self.packing == Compression::None => {
                let file = self.open().ok()?;
                let length = file.metadata().ok()?.len();
                let mut start = Vec::new();
                file.take(SAMPLE).read_to_end(&mut start).ok()?;
                let lines = start.iter().filter(|byte| **byte == b'\n').count().max(1);
                Some((length as f64 * lines as f64 / start.len().max(1) as f64) as u64)
            }
            _ => None,
        }
    }

    /// A guess for a file that is not UTF-8, by its first two bytes alone.
    pub fn likely_encoding(&self) -> &'static str {
        let mut first = [0; 2];
        let read = self.open().ok().and_then(|mut file| file.read_exact(&mut first).ok());
        match (read, first) {
            (Some(()), [0xff, 0xfe]) => "utf-16le",
            (Some(()), [0xfe, 0xff]) => "utf-16be",
            _ => "windows-1252",
        }
    }

    /// An Arrow file; these columns of it are read.
    pub fn arrow(&self, columns: Option<Vec<usize>>) -> Result<FileReader<BufReader<File>>> {
        let file = self.open()?;
        let read = caught(|| {
            lengths::check(&self.path, &file)?;
            FileReader::try_new(BufReader::new(file), columns).ok()
        });
        read.flatten().ok_or_else(|| {
            Error::input(format!("{} is damaged or is not an Arrow file (Feather version 2)", self.path.display()))
        })
    }

    /// What stands at the end of a Parquet file.
    pub fn footer(&self) -> Result<ArrowReaderMetadata> {
        let file = self.open()?;
        let footer = caught(|| ArrowReaderMetadata::load(&file, Default::default()).ok()).flatten();
        footer.ok_or_else(|| Error::input(format!("{} is damaged or is not Parquet", self.path.display())))
    }
}
