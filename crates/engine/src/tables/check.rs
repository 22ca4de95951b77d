//! Whether the files of a table are what the project file declares: the one thing about the data that may be looked at
//! without a charge.
//!
//! # Guarantee
//! Every declared column of a table is read to its end, whatever will be asked: the outcome depends on the file and the
//! declaration alone and is the same for every query, so that a query cannot be made to ask by failing. What passed is
//! read without an error by every query, as long as its [`TableState::fingerprint`] stays. A sentence of this module
//! names positions in the private files (file, line, column), never a value: it is for the curator who holds the files.

use crate::error::{Error, Result};
use crate::guarded::caught;
use crate::project::{Domain, Graph, Project, Request, Table};
use crate::tables::csv::RecordError;
use crate::tables::files::{DataFile, FileFormat};
use crate::tables::sources::separator_hint;
use crate::tables::text::TextRows;
use crate::tables::value::{LONGEST_TEXT, MISSING, WantedType, missing_hint, quote_hint, quoted};
use crate::tables::{Backend, sources as tables};
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::DataFrame;
use futures::StreamExt;
use ring::digest::{Context, SHA256};
use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Raised when the check learns to look for more, so that nothing passes on the word of an older one.
const VERSION: u32 = 5;
const BUFFER: usize = 1 << 20;

/// What a table's source is at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableState {
    /// The table's name.
    pub table: String,
    /// Its files, in the order of their names.
    pub files: Vec<FileState>,
    /// SHA-256 of all that [`check`] depends on: the files' bytes, the owner, the names and types of the columns.
    pub fingerprint: String,
}

/// What a file is at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileState {
    /// Where it is.
    pub path: PathBuf,
    /// SHA-256 of its bytes, hexadecimal.
    pub digest: String,
    /// How many bytes it has.
    pub bytes: u64,
}

/// The state of each of `names`: the bytes of their files are digested, and nothing else is done with them.
pub fn state(project: &Project, names: &[String]) -> Result<Vec<TableState>> {
    names.iter().map(|name| table_state(project.table(name)?)).collect()
}

fn table_state(table: &Table) -> Result<TableState> {
    let sources = tables::source_files(table)?;
    let files = file_states(&sources)?;
    let mut all = Context::new(&SHA256);
    let mut add = |text: &str| {
        all.update(&(text.len() as u64).to_be_bytes());
        all.update(text.as_bytes());
    };
    add(&format!("scumble check {VERSION}"));
    for field in tables::schema(table).fields() {
        add(field.name());
        add(&field.data_type().to_string());
    }
    for column in table.columns.iter().filter(|column| column.recoding.is_some()) {
        add(&tables::data_type(&column.in_files()).to_string());
    }
    add(if table.owner.is_some() { "owned" } else { "rows" });
    add(&table.layout.json().to_string());
    for (source, file) in sources.iter().zip(&files) {
        add(&source.written());
        add(&file.digest);
    }
    Ok(TableState { table: table.name.clone(), files, fingerprint: crate::digest::hex(all.finish().as_ref()) })
}

/// The states of all files, each looked at by one processor.
fn file_states(files: &[DataFile]) -> Result<Vec<FileState>> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from).min(files.len());
    let next = AtomicUsize::new(0);
    let look = || {
        let taken = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        let own = taken.take_while(|place| *place < files.len());
        own.map(|place| (place, file_state(&files[place]))).collect::<Vec<_>>()
    };
    let found = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..processors).map(|_| scope.spawn(look)).collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined.flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect::<Vec<_>>()
    });
    let by_place: BTreeMap<usize, Result<FileState>> = found.into_iter().collect();
    by_place.into_values().collect()
}

fn file_state(file: &DataFile) -> Result<FileState> {
    if file.form == FileFormat::Memory {
        let (digest, bytes) = file.batches()?.digest();
        return Ok(FileState { path: file.path.clone(), digest: digest.to_string(), bytes });
    }
    let unreadable = |error: std::io::Error| Error::input(format!("{} cannot be read ({error})", file.path.display()));
    let mut input = file.open()?;
    let (mut digest, mut bytes, mut buffer) = (Context::new(&SHA256), 0, vec![0; BUFFER]);
    loop {
        match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(number) => {
                digest.update(&buffer[..number]);
                bytes += number as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
    Ok(FileState { path: file.path.clone(), digest: crate::digest::hex(digest.finish().as_ref()), bytes })
}

/// Checks all declared columns of the tables `names`; a sentence says where the first thing is that does not fit.
pub fn check(project: &Project, names: &[String]) -> Result<()> {
    for name in names {
        let table = project.table(name)?;
        let files = tables::source_files(table)?;
        tables::rows(table, &files, &tables::TEXT)?;
        // What the check reads of a text file is what every query reads of it; the others are read as a query would.
        if files.first().is_some_and(|file| file.form.is_text()) {
            files.iter().try_for_each(|file| scan(table, file))?;
            continue;
        }
        let backend = Backend::without_data(project)?;
        match read(&backend, table, &files, None) {
            Ok(read) if files.iter().map(rows_of).sum::<Result<u64>>()? == read => {}
            Ok(_) => {
                return Err(Error::input(format!(
                    "table '{name}': {} is read as another number of rows than it holds; write it again",
                    table.source.display()
                )));
            }
            Err(ReadFailure::Damaged(error)) => return Err(located(&backend, table, &files).unwrap_or(error)),
            Err(ReadFailure::Unfit(error)) => return Err(error),
        }
    }
    Ok(())
}

/// What the declarations of the tables `names` seem to lack though their files fit them, in sentences with the place:
/// listed values that stand in quotation marks, which no query counts, rows of a graph that are no edge of it, and
/// labels of `learn` that are neither 0 nor 1. For the curator who holds the files, like everything in this module.
pub fn hints(project: &Project, names: &[String]) -> Result<Vec<String>> {
    let mut hints = Vec::new();
    for name in names {
        let table = project.table(name)?;
        if table.server.is_some() {
            continue;
        }
        let files = tables::source_files(table)?;
        let mut edges = HashSet::new();
        for file in files.iter().filter(|file| file.form == FileFormat::Csv) {
            let quoted = quoted_values(table, file)?.or(missing_words(table, file)?);
            let no_edge = table.graph.as_ref().map(|graph| no_edge(graph, file, &mut edges)).transpose()?.flatten();
            let label = no_label(&number_labels(project, table), file)?;
            let found = quoted.is_some() || no_edge.is_some() || label.is_some();
            hints.extend(quoted.into_iter().chain(no_edge).chain(label));
            // The first of a table is enough to know what to look for.
            if found {
                break;
            }
        }
    }
    Ok(hints)
}

/// The first value of a CSV file that is listed, but without the quotation marks that it stands in.
fn quoted_values(table: &Table, file: &DataFile) -> Result<Option<String>> {
    let names: Vec<String> = file.columns()?.into_iter().map(|(name, _)| name).collect();
    let listed = |name: &String| match &table.column(name)?.in_files() {
        Domain::Category { values: Some(values) } => Some(values.iter().cloned().collect::<HashSet<String>>()),
        _ => None,
    };
    let columns: Vec<(usize, HashSet<String>)> =
        names.iter().enumerate().filter_map(|(place, name)| Some((place, listed(name)?))).collect();
    if columns.is_empty() {
        return Ok(None);
    }
    first_found(file, &names, |rows| {
        columns.iter().find_map(|(place, values)| {
            let text = rows.field(*place)?;
            let sign = quoted(text).filter(|_| !values.contains(text))?;
            values.contains(&text[1..text.len() - 1]).then(|| {
                format!(
                    "{}:{}: the value in column '{}' is quoted with {sign}, and is listed without: {}",
                    file.path.display(),
                    rows.line_of(*place),
                    names[*place],
                    quote_hint(sign)
                )
            })
        })
    })
}

/// What is found first in the rows of a CSV file, of columns with these names.
fn first_found(
    file: &DataFile,
    names: &[String],
    mut look: impl FnMut(&TextRows) -> Option<String>,
) -> Result<Option<String>> {
    let wrong = |trouble: RecordError| trouble.sentence(&file.path, |field| format!("field {}", field + 1));
    let mut rows = TextRows::open(file, names, |_| Some(WantedType::Text))?.map_err(wrong)?;
    while rows.advance().map_err(wrong)? {
        if let Some(found) = look(&rows) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The first value of a CSV file that programs write for a missing one, where it is a text or an owner like any other.
fn missing_words(table: &Table, file: &DataFile) -> Result<Option<String>> {
    let names: Vec<String> = file.columns()?.into_iter().map(|(name, _)| name).collect();
    let is_text = |name: &String| match table.column(name).map(|column| column.in_files()) {
        Some(Domain::Category { values }) => {
            values.is_none_or(|values| !values.iter().any(|value| MISSING.contains(&value.as_str())))
        }
        _ => table.owner.as_ref() == Some(name),
    };
    let columns: Vec<usize> = (0..names.len()).filter(|place| is_text(&names[*place])).collect();
    if columns.is_empty() {
        return Ok(None);
    }
    first_found(file, &names, |rows| {
        columns.iter().find_map(|place| {
            let (text, name) = (rows.field(*place)?, &names[*place]);
            let word = MISSING.iter().find(|word| **word == text && !file.layout.is_missing(word))?;
            let what = match table.owner.as_ref() == Some(name) {
                true => "all rows with it belong to one owner",
                false => "it counts as a string like any other",
            };
            let (path, line) = (file.path.display(), rows.line_of(*place));
            Some(format!("{path}:{line}: column '{name}' holds {word} here, and {what}{}", missing_hint(word)))
        })
    })
}

/// The labels of what is learnt from a table that are whole numbers, each with its release.
fn number_labels(project: &Project, table: &Table) -> Vec<(String, String)> {
    let text = |request: &Request, field: &str| Some(request.fields.get(field)?.text().ok()?.to_string());
    let is_number = |name: &String| {
        let column = table.column(name).filter(|column| column.recoding.is_none());
        column.is_some_and(|column| matches!(column.domain, Domain::Int { .. }))
    };
    let label = |request: &Request| {
        let is_of_table = text(request, "table")? == table.name;
        let label = request.label.clone().filter(|label| is_of_table && is_number(label))?;
        Some((label, request.name.clone()))
    };
    project.releases.iter().filter_map(label).collect()
}

/// The first number of a CSV file that is a label, and neither 0 nor 1.
fn no_label(labels: &[(String, String)], file: &DataFile) -> Result<Option<String>> {
    let names: Vec<String> = file.columns()?.into_iter().map(|(name, _)| name).collect();
    let place = |label: &String| names.iter().position(|name| name == label);
    let columns: Vec<(usize, &String)> =
        labels.iter().filter_map(|(label, release)| Some((place(label)?, release))).collect();
    if columns.is_empty() {
        return Ok(None);
    }
    first_found(file, &names, |rows| {
        columns.iter().find_map(|(place, release)| {
            let number = rows.field(*place)?.trim().parse::<f64>().ok()?;
            (number != 0.0 && number != 1.0).then(|| {
                format!(
                    "{}:{}: column '{}' is the label of release '{release}', and holds neither 0 nor 1 here: less \
                        counts as 0, more as 1",
                    file.path.display(),
                    rows.line_of(*place),
                    names[*place]
                )
            })
        })
    })
}

/// This many edges are remembered to find one that stands there twice: a few hundred megabytes. Those behind them are
/// looked at by themselves.
const MOST_REMEMBERED: usize = 10_000_000;

/// The first row of a CSV file that is no edge of a graph, or stands there before: `edges` are those of the files
/// before.
fn no_edge(graph: &Graph, file: &DataFile, edges: &mut HashSet<(u32, u32)>) -> Result<Option<String>> {
    let names: Vec<String> = file.columns()?.into_iter().map(|(name, _)| name).collect();
    let place = |end: &String| names.iter().position(|name| name == end);
    let Some((from, to)) = place(&graph.from).zip(place(&graph.to)) else { return Ok(None) };
    first_found(file, &names, |rows| {
        // "2.0" is read as 2, as everywhere.
        let vertex = |place: usize| {
            let number = rows.field(place)?.trim().parse::<f64>().ok()?;
            (number >= 0.0 && number.fract() == 0.0 && number < f64::from(graph.vertices)).then_some(number as u32)
        };
        let (one, other) = (vertex(from), vertex(to));
        let what = match one.zip(other) {
            None => {
                let end = if one.is_none() { &graph.from } else { &graph.to };
                format!(
                    "column '{end}' holds none of the {} vertices here, which are 0 to {}: the row does not count",
                    graph.vertices,
                    graph.vertices - 1
                )
            }
            Some((one, other)) if one == other => "both ends are the same vertex: the row does not count".to_string(),
            Some(_) if edges.len() >= MOST_REMEMBERED => return None,
            Some((one, other)) if edges.insert((one.min(other), one.max(other))) => return None,
            Some(_) => "this edge is listed before, in this direction or the other: it counts once".to_string(),
        };
        Some(format!("{}:{}: {what}", file.path.display(), rows.line_of(from)))
    })
}

/// Why rows could not be read.
enum ReadFailure {
    /// They are not as they must be, and the sentence says in what.
    Unfit(Error),
    /// Nothing is known but that a file is damaged, or changes.
    Damaged(Error),
}

impl From<Error> for ReadFailure {
    fn from(error: Error) -> Self {
        Self::Unfit(error)
    }
}

/// Reads declared columns of files as a query would, and counts the rows.
fn read(
    backend: &Backend,
    table: &Table,
    files: &[DataFile],
    column: Option<usize>,
) -> std::result::Result<u64, ReadFailure> {
    // Whole numbers that another table's owners make texts become texts without fail.
    let owner = tables::owners_as(table, files)?;
    let rows = tables::rows(table, files, &owner)?;
    let name = column.map(|column| tables::schema(table).field(column).name().clone());
    let counted = caught(|| {
        let mut plan = backend.context.read_table(Arc::new(rows))?;
        if let Some(name) = name {
            plan = plan.select(vec![datafusion::prelude::ident(name)])?;
        }
        backend.wait(count(plan))
    });
    match counted {
        Some(Ok((rows, None))) => Ok(rows),
        Some(Ok((_, Some(name)))) => Err(ReadFailure::Unfit(too_long(table, &name))),
        None | Some(Err(_)) => Err(ReadFailure::Damaged(Error::input(format!(
            "table '{}': {} cannot be read to its end: it is damaged or changes while it is read",
            table.name,
            table.source.display()
        )))),
    }
}

/// How many rows there are, up to the first column that has a text which is too long, if one has.
async fn count(plan: DataFrame) -> datafusion::error::Result<(u64, Option<String>)> {
    let task = Arc::new(plan.task_ctx());
    let plan = plan.create_physical_plan().await?;
    let mut stream = execute_stream(plan, task)?;
    let mut rows = 0;
    while let Some(batch) = stream.next().await {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        if let Some(name) = long_text(&batch) {
            return Ok((rows, Some(name)));
        }
    }
    Ok((rows, None))
}

fn too_long(table: &Table, name: &str) -> Error {
    Error::input(format!(
        "{}: a string in column '{name}' has more than {LONGEST_TEXT} bytes: shorten it, or do not declare the column",
        table.source.display()
    ))
}

/// The first column of texts with one that is too long.
fn long_text(batch: &RecordBatch) -> Option<String> {
    let long = |text: Option<&str>| text.is_some_and(|text| text.len() > LONGEST_TEXT);
    let found = batch.columns().iter().position(|column| match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().iter().any(long),
        DataType::Utf8View => column.as_string_view().iter().any(long),
        _ => false,
    })?;
    Some(batch.schema().field(found).name().clone())
}

/// Which file and column cannot be read.
fn located(backend: &Backend, table: &Table, files: &[DataFile]) -> Option<Error> {
    for file in files {
        for column in 0..tables::schema(table).fields().len() {
            if let Err(ReadFailure::Damaged(_)) = read(backend, table, std::slice::from_ref(file), Some(column)) {
                return Some(Error::input(format!(
                    "{}: column '{}' cannot be read to its end: the file is damaged; write it again",
                    file.path.display(),
                    tables::schema(table).field(column).name()
                )));
            }
        }
    }
    None
}

/// How many rows a file says it has.
fn rows_of(file: &DataFile) -> Result<u64> {
    match file.form {
        FileFormat::Memory => Ok(file.batches()?.rows()),
        FileFormat::Parquet => Ok(u64::try_from(file.footer()?.metadata().file_metadata().num_rows()).unwrap_or(0)),
        _ => {
            let counted = caught(|| -> Result<Option<u64>> {
                let mut batches = file.arrow(Some(Vec::new()))?;
                Ok(batches.try_fold(0, |rows, batch| batch.ok().map(|batch| rows + batch.num_rows() as u64)))
            });
            let damaged = || Error::input(format!("{} is damaged; write it again", file.path.display()));
            counted.transpose()?.flatten().ok_or_else(damaged)
        }
    }
}

/// Looks at every field of a text file.
fn scan(table: &Table, file: &DataFile) -> Result<()> {
    let shown = file.path.display();
    let names: Vec<String> = file.columns()?.into_iter().map(|(name, _)| name).collect();
    let declared = WantedType::all(table);
    let columns: Vec<Option<WantedType>> = names.iter().map(|name| declared.get(name.as_str()).copied()).collect();
    let called =
        |field: usize| names.get(field).map_or(format!("field {}", field + 1), |name| format!("column '{name}'"));
    let wrong = |trouble: RecordError| trouble.sentence(&file.path, called);
    if let (Some(names), Some(row)) = (&file.layout.header, file.first_row()?)
        && row.len() == names.len()
        && names.iter().zip(&row).all(|(name, field)| name.eq_ignore_ascii_case(field))
    {
        return Err(Error::input(format!(
            "{shown}:1: the first line holds the names that header gives, and would count as a row: leave header out"
        )));
    }
    let mut rows = TextRows::open(file, &names, |place| columns[place])?.map_err(wrong)?;
    while rows.advance().map_err(wrong)? {
        if let Some(width) = rows.width().filter(|width| *width != columns.len()) {
            let line = rows.line_of(0);
            let expected = match &file.layout.header {
                Some(_) => "the table's header",
                None => "the line of column names",
            };
            let only = rows.field(0).filter(|_| width == 1).unwrap_or_default();
            let sign = separator_hint(file, [only.to_string()].iter());
            let quoted = (0..width).any(|field| rows.field(field).is_some_and(|text| text.starts_with('\'')));
            let remedy = match sign {
                Some(hint) => hint.trim_start_matches(": ").to_string(),
                None if quoted => quote_hint('\''),
                None if file.layout.header.is_some() => {
                    "name each of its fields in header, or correct the row".to_string()
                }
                None => "correct the row".to_string(),
            };
            let fields = if width == 1 { "1 field".to_string() } else { format!("{width} fields") };
            return Err(Error::input(format!(
                "{shown}:{line}: this row has {fields}, and {expected} has {}; {remedy}",
                columns.len()
            )));
        }
        for (field, wanted) in columns.iter().enumerate() {
            let refused = |what: &str| {
                Err(Error::input(format!("{shown}:{}: the value in {} {what}", rows.line_of(field), called(field))))
            };
            let Some(text) = rows.field(field) else {
                let likely = file.likely_encoding();
                return refused(&format!("is not UTF-8 text; set its encoding, as in encoding = \"{likely}\""));
            };
            if let Some(what) = wanted.and_then(|wanted| wanted.refuses(text, &file.layout)) {
                return refused(&what);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
