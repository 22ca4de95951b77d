//! Which files a table's source is, and which columns they say they have. No value is looked at here.

use super::csv::{Records, Trouble};
use crate::error::{Error, Result};
use crate::file::identity;
use datafusion::arrow::datatypes::DataType;
use datafusion::parquet::arrow::arrow_reader::ArrowReaderMetadata;
use std::collections::BTreeMap;
use std::fs::{File, FileType};
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

/// How a file's rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Comma-separated values, as RFC 4180 has them, with a line of names.
    Csv,
    /// Apache Parquet.
    Parquet,
}

/// One file of a table.
#[derive(Debug, Clone)]
pub(crate) struct DataFile {
    /// Where it is, as the project file says.
    pub path: PathBuf,
    /// How it is written.
    pub form: Form,
}

/// The files of a source: the file itself, or all data files of a folder in the order of their names. In a folder, names that begin with
/// '.' or '_' are passed over (temporary files, marks of the program that wrote it); everything else must be a file of one form.
pub(crate) fn files(source: &Path) -> Result<Vec<DataFile>> {
    let shown = source.display();
    if !kind_of(source)?.is_dir() {
        return match form(source) {
            Some(form) => Ok(vec![DataFile { path: source.to_path_buf(), form }]),
            None => {
                Err(Error::input(format!("{shown} is neither .csv nor .parquet, nor a folder of files of one of them")))
            }
        };
    }
    let unreadable = |error: std::io::Error| Error::input(format!("the folder {shown} cannot be read ({error})"));
    let mut files: Vec<DataFile> = Vec::new();
    for entry in std::fs::read_dir(source).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path
            .file_name()
            .is_none_or(|name| name.as_encoded_bytes().starts_with(b".") || name.as_encoded_bytes().starts_with(b"_"))
        {
            continue;
        }
        if kind_of(&path)?.is_dir() {
            return Err(Error::input(format!(
                "the folder {shown} holds another folder, {}: only files beside each other are one table; move them together, or name the inner folder as the source",
                path.display()
            )));
        }
        let form = form(&path).ok_or_else(|| {
            Error::input(format!(
                "the folder {shown} holds {}, which is neither .csv nor .parquet: move it elsewhere, or let its name begin with '_'",
                path.display()
            ))
        })?;
        files.push(DataFile { path, form });
    }
    files.sort_by(|left, right| left.path.cmp(&right.path));
    let Some(first) = files.first() else {
        return Err(Error::input(format!("the folder {shown} holds no .csv or .parquet file")));
    };
    if files.iter().any(|file| file.form != first.form) {
        return Err(Error::input(format!("the folder {shown} holds both .csv and .parquet files")));
    }
    refuse_twice(&files)?;
    Ok(files)
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
pub(super) fn real_path(path: &Path) -> Result<PathBuf> {
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
    Err(Error::input(format!(
        "{} is no file but a pipe, a socket or a device: write the rows into a file first",
        path.display()
    )))
}

fn form(path: &Path) -> Option<Form> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    match extension.as_str() {
        "csv" => Some(Form::Csv),
        "parquet" => Some(Form::Parquet),
        _ => None,
    }
}

impl DataFile {
    /// The file, open.
    pub fn open(&self) -> Result<File> {
        kind_of(&self.path)?;
        File::open(&self.path).map_err(|error| unopened(&self.path, &error))
    }

    /// The names of its columns, and their types where the file says them.
    pub fn columns(&self) -> Result<Vec<(String, Option<DataType>)>> {
        let columns = match self.form {
            Form::Csv => self.header()?.into_iter().map(|name| (name, None)).collect::<Vec<_>>(),
            Form::Parquet => {
                let metadata = self.footer()?;
                let fields = metadata.schema().fields().iter();
                fields.map(|field| (field.name().clone(), Some(field.data_type().clone()))).collect()
            }
        };
        let mut names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        // Several columns without a name do no harm: nobody can mean them.
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1] && !pair[0].is_empty()) {
            return Err(Error::input(format!("{}: two columns are called '{}'", self.path.display(), twice[0])));
        }
        Ok(columns)
    }

    /// The first record of a CSV file.
    fn header(&self) -> Result<Vec<String>> {
        let shown = self.path.display();
        let wrong = |trouble: Trouble| trouble.sentence(&self.path, |field| format!("column name {}", field + 1));
        let mut records = Records::new(BufReader::new(self.open()?)).map_err(wrong)?;
        if !records.advance().map_err(wrong)? {
            return Err(Error::input(format!("{shown} is empty; its first line must name the columns")));
        }
        let names = records.fields().map(|name| std::str::from_utf8(name).map(|name| name.trim().to_string()));
        names.collect::<std::result::Result<_, _>>().map_err(|_| {
            Error::input(format!("{shown}:1: the line of column names is not UTF-8 text; convert the file first"))
        })
    }

    /// What stands at the end of a Parquet file.
    pub fn footer(&self) -> Result<ArrowReaderMetadata> {
        ArrowReaderMetadata::load(&self.open()?, Default::default())
            .map_err(|_| Error::input(format!("{} is damaged or is not Parquet", self.path.display())))
    }
}
