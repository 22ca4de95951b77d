//! One file that a job gave: its header and its rows, all as text.

use crate::error::{Error, Result};
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::{Path, PathBuf};

/// No file is larger: integers are not rows.
const LARGEST: u64 = 4 << 30;

/// The rows of a file.
#[derive(Debug)]
pub(crate) struct Sheet {
    pub path: PathBuf,
    pub columns: Vec<String>,
    /// None for NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Sheet {
    /// All files of a folder and of the folders in it that end in .csv or .parquet, in the order of their names. What
    /// engines leave beside their results begins with a dot or an underscore.
    pub fn all(folder: &Path) -> Result<Vec<Self>> {
        let mut sheets = Vec::new();
        for path in listed(folder)? {
            if path.is_dir() {
                for inner in listed(&path)? {
                    sheets.extend(Self::of(&inner)?);
                }
            } else {
                sheets.extend(Self::of(&path)?);
            }
        }
        if sheets.is_empty() {
            return Err(Error::input(format!(
                "the folder {} has no file that ends in .csv or .parquet: save the result of each statement there",
                folder.display()
            )));
        }
        Ok(sheets)
    }

    fn of(path: &Path) -> Result<Option<Self>> {
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_lowercase();
        if end != "csv" && end != "parquet" {
            return Ok(None);
        }
        let unreadable = |why: &str| Error::input(format!("{} cannot be read ({why})", path.display()));
        let found = std::fs::metadata(path).map_err(|error| unreadable(&error.to_string()))?;
        if !found.is_file() || found.len() > LARGEST {
            return Err(unreadable("it is not a plain file of at most 4 GB"));
        }
        if end == "parquet" {
            return Self::of_parquet(path).map(Some);
        }
        let bytes = std::fs::read(path).map_err(|error| unreadable(&error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8"))?;
        let mut lines = records(text.strip_prefix('\u{feff}').unwrap_or(&text)).map_err(|line| {
            Error::input(format!("{}: the quotes that begin in line {line} are not closed there", path.display()))
        })?;
        if lines.is_empty() {
            return Err(unreadable("it is empty; save results with their header"));
        }
        let header = lines.remove(0);
        let columns: Vec<String> = header.into_iter().map(Option::unwrap_or_default).collect();
        if let Some(row) = lines.iter().position(|row| row.len() != columns.len()) {
            return Err(Error::input(format!(
                "{}: row {} has another number of fields than the header",
                path.display(),
                row + 1
            )));
        }
        Ok(Some(Self { path: path.to_path_buf(), columns, rows: lines }))
    }

    fn of_parquet(path: &Path) -> Result<Self> {
        // The reader's own words may quote what is in the file.
        let unreadable = || Error::input(format!("{} cannot be read as a Parquet file", path.display()));
        let file = File::open(path).map_err(|_| unreadable())?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|_| unreadable())?;
        let columns: Vec<String> = builder.schema().fields().iter().map(|field| field.name().clone()).collect();
        let mut rows = Vec::new();
        for batch in builder.build().map_err(|_| unreadable())? {
            let batch = batch.map_err(|_| unreadable())?;
            let texts = batch.columns().iter().map(|column| cast(column, &DataType::Utf8));
            let texts = texts.collect::<std::result::Result<Vec<_>, _>>().map_err(|_| unreadable())?;
            for row in 0..batch.num_rows() {
                let value = |column: &datafusion::arrow::array::ArrayRef| {
                    let column = column.as_string::<i32>();
                    column.is_valid(row).then(|| column.value(row).to_string())
                };
                rows.push(texts.iter().map(value).collect());
            }
        }
        Ok(Self { path: path.to_path_buf(), columns, rows })
    }
}

/// What is in a folder, by name, without what is hidden.
fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable =
        |error: std::io::Error| Error::input(format!("the folder {} cannot be read ({error})", folder.display()));
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with(['.', '_']) {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

/// The records of a CSV text: fields between commas, in quotes where they hold commas, quotes or line breaks, a quote
/// in quotes doubled. A field with nothing in it, not even quotes, is NULL. Fails with the line in which quotes begin
/// that do not end as they should.
fn records(text: &str) -> std::result::Result<Vec<Vec<Option<String>>>, usize> {
    let (mut all, mut record, mut line) = (Vec::new(), Vec::new(), 1usize);
    let mut rest = text.chars().peekable();
    while rest.peek().is_some() {
        let began = line;
        let field = if rest.next_if_eq(&'"').is_some() {
            let mut field = String::new();
            loop {
                match rest.next() {
                    None => return Err(began),
                    Some('"') if rest.next_if_eq(&'"').is_some() => field.push('"'),
                    Some('"') => break,
                    Some(one) => {
                        line += usize::from(one == '\n');
                        field.push(one);
                    }
                }
            }
            Some(field)
        } else {
            let mut field = String::new();
            while let Some(one) = rest.next_if(|one| !matches!(one, ',' | '\n' | '\r')) {
                field.push(one);
            }
            Some(field).filter(|field| !field.is_empty())
        };
        record.push(field);
        match rest.next() {
            Some(',') => {
                if rest.peek().is_none() {
                    record.push(None);
                }
                continue;
            }
            Some('\r') => {
                rest.next_if_eq(&'\n');
                line += 1;
            }
            Some('\n') => line += 1,
            None => {}
            Some(_) => return Err(began),
        }
        all.push(std::mem::take(&mut record));
    }
    if !record.is_empty() {
        all.push(record);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_is_read_as_engines_write_it() {
        let text = "a,\"b\"\n1,\"x, \"\"y\"\"\nz\"\r\n,\"\"\n\"k\",";
        let some = |text: &str| Some(text.to_string());
        let expected = vec![
            vec![some("a"), some("b")],
            vec![some("1"), some("x, \"y\"\nz")],
            vec![None, some("")],
            vec![some("k"), None],
        ];
        assert_eq!(records(text).unwrap(), expected);
        assert_eq!(records("a\n\"b\nc"), Err(2));
        // As some write a quote in quotes.
        assert_eq!(records("a\n\"b\\\"c\"\n"), Err(2));
        assert!(records("").unwrap().is_empty());
    }
}
