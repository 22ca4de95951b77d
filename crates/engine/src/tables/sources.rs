//! From a declared table to something that DataFusion can plan on (declarations) or read (sources).
//!
//! Both have the same columns in the same types, so that what is planned on a declaration is what runs on the source.

use super::files::{DataFile, FileFormat};
use super::functions::{MOMENT, brought, day, on_the_wall};
use super::json;
use super::rows::{FilePart, FileRows};
use super::value::{WantedType, quote_hint, quoted};
use crate::error::{Error, Result};
use crate::place::suggestion;
use crate::project::{Domain, Layout, Project, Table};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaBuilder};
use datafusion::common::{ScalarValue, TableReference};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast, lit, try_cast, when};
use datafusion::prelude::SessionContext;
use std::collections::HashMap;
use std::sync::Arc;

/// The one type of texts inside the plan.
pub(crate) const TEXT: DataType = DataType::Utf8;

/// The type of a declared column inside the plan.
pub(crate) fn data_type(domain: &Domain) -> DataType {
    match domain {
        Domain::Int { .. } => DataType::Int64,
        Domain::Float { .. } => DataType::Float64,
        Domain::Category { .. } => TEXT,
        Domain::Bool => DataType::Boolean,
        Domain::Date { .. } => DataType::Date32,
        Domain::Timestamp { .. } => MOMENT,
    }
}

/// The declared columns, the owner first.
pub(crate) fn schema(table: &Table) -> Schema {
    let owner = table.owner.iter().map(|owner| Field::new(owner, TEXT, true));
    let columns = table.columns.iter().map(|column| Field::new(&column.name, data_type(&column.domain), true));
    Schema::new(owner.chain(columns).collect::<Vec<_>>())
}

/// Registers each table as its declared columns, without rows.
pub(crate) fn register_declarations(context: &SessionContext, project: &Project) -> Result<()> {
    for table in project.tables.values() {
        let provider =
            MemTable::try_new(Arc::new(schema(table)), vec![vec![]]).map_err(|error| unusable(table, &error))?;
        let reference = TableReference::bare(table.name.as_str());
        context.register_table(reference, Arc::new(provider)).map_err(|error| unusable(table, &error))?;
    }
    Ok(())
}

pub(crate) fn unusable(table: &Table, error: &datafusion::error::DataFusionError) -> Error {
    Error::input(format!("table '{}' cannot be used ({})", table.name, error.message()))
}

/// For each table, a plan that reads its source: only declared columns, each in its declared type and domain. Owners
/// have one type in all of them, so that those of two tables are equal where they are written equally: whole numbers
/// where all are, texts otherwise.
pub(crate) fn sources(tables: &[&Table]) -> Result<Vec<LogicalPlan>> {
    let mut files = Vec::new();
    for table in tables {
        files.push(source_files(table)?);
    }
    let mut numbers = true;
    for (table, files) in tables.iter().zip(&files) {
        numbers &= has_number_owners(table, files)?;
    }
    let owner = if numbers { DataType::Int64 } else { TEXT };
    let plans = tables.iter().zip(&files).map(|(table, files)| {
        let provider = provider_as_source(Arc::new(rows(table, files, &owner)?));
        let scan = LogicalPlanBuilder::scan(TableReference::bare(table.name.as_str()), provider, None);
        scan.and_then(LogicalPlanBuilder::build).map_err(|error| unusable(table, &error))
    });
    plans.collect()
}

/// The same for rows that are there already, in the declared types.
#[cfg(any(test, feature = "generator"))]
pub(crate) fn given(table: &Table, rows: datafusion::arrow::array::RecordBatch) -> Result<LogicalPlan> {
    let owner = table.owner.iter().map(datafusion::prelude::ident);
    let columns = table
        .columns
        .iter()
        .map(|column| brought(datafusion::prelude::ident(&column.name), column).alias(&column.name));
    let columns: Vec<Expr> = owner.chain(columns).collect();
    let provider = MemTable::try_new(rows.schema(), vec![vec![rows]]).map_err(|error| unusable(table, &error))?;
    let scan = LogicalPlanBuilder::scan(table.name.as_str(), provider_as_source(Arc::new(provider)), None);
    let plan = scan.and_then(|scan| scan.project(columns)?.build());
    plan.map_err(|error| unusable(table, &error))
}

/// As what the owners of one table are read, where no other table's are beside them.
pub(crate) fn owners_as(table: &Table, files: &[DataFile]) -> Result<DataType> {
    Ok(if has_number_owners(table, files)? { DataType::Int64 } else { TEXT })
}

/// Whether all owners are whole numbers that an i64 can hold.
fn has_number_owners(table: &Table, files: &[DataFile]) -> Result<bool> {
    let Some(owner) = &table.owner else { return Ok(false) };
    for file in files {
        let (_, kind) = Columns::of(file, table)?.find(owner)?;
        if !kind.is_some_and(|kind| plain(&kind).is_integer() && *plain(&kind) != DataType::UInt64) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The files of a table.
pub(crate) fn source_files(table: &Table) -> Result<Vec<DataFile>> {
    if let Some(rows) = &table.rows {
        let name = table.source.file_name().unwrap_or_default();
        return Ok(vec![DataFile::in_memory(name.as_ref(), rows)]);
    }
    if table.server.is_some() {
        return Err(Error::input(format!(
            "table '{}' is on a server, which gives no rows: use a file instead (docs/how-to/remote-backends.md)",
            table.name
        )));
    }
    super::files::files(&table.source, &table.layout)
        .map_err(|error| error.or_while(&format!("table '{}'", table.name)))
}

/// About how many rows a table has, where that is known without reading them.
pub(crate) fn expected_rows(table: &Table) -> Option<u64> {
    source_files(table).ok()?.iter().map(DataFile::expected_rows).sum()
}

/// What reads these files of a table, with owners as `owner`: columns by name in each of them.
pub(crate) fn rows(table: &Table, files: &[DataFile], owner: &DataType) -> Result<FileRows> {
    let parts = files.iter().map(|file| part(table, file, owner)).collect::<Result<Vec<FilePart>>>()?;
    refuse_unequal(table, &parts)?;
    let mut schema = SchemaBuilder::from(schema(table));
    if let Some(name) = &table.owner {
        *schema.field_mut(0) = Arc::new(Field::new(name, owner.clone(), true));
    }
    Ok(FileRows::new(schema.finish(), parts))
}

/// How one file's columns become the declared ones.
fn part(table: &Table, file: &DataFile, owner_as: &DataType) -> Result<FilePart> {
    let columns = Columns::of(file, table)?;
    let mut part = FilePart::new(file)?;
    if let Some(owner) = &table.owner {
        let (place, kind) = columns.find(owner)?;
        let kind = kind.unwrap_or(TEXT);
        if !(plain(&kind).is_integer() || is_text(&kind)) {
            return Err(Error::input(format!(
                "{}: the owner column '{owner}' must hold whole numbers or strings, not {kind}{}",
                file.path.display(),
                if is_bytes(&kind) { BYTES } else { "; write it as whole numbers or as strings" }
            )));
        }
        part.push(place, owner, (read_as(&kind), WantedType::Text), |input, kind| {
            let input = if kind == plain(kind) { input } else { cast(input, plain(kind).clone()) };
            converted(input, plain(kind), owner_as)
        });
    }
    for column in &table.columns {
        let in_files = column.in_files();
        let wanted = data_type(&in_files);
        if let Some((_, said)) = file.partition.iter().find(|(name, _)| *name == column.name) {
            let constant =
                constant(file, &column.name, said.as_deref(), &in_files, columns.find(&column.name).is_ok())?;
            part.push_constant(&column.name, constant, |input| brought(input, column));
            continue;
        }
        let (place, kind) = columns.find(&column.name)?;
        let kind = kind.unwrap_or(wanted.clone());
        if !fits(&kind, &in_files) {
            return Err(Error::input(format!(
                "{}: column '{}' is declared as {} but holds {kind}{}",
                file.path.display(),
                column.name,
                word(&in_files),
                remedy(&kind, &in_files)
            )));
        }
        part.push(place, &column.name, (read_as(&kind), WantedType::of(&in_files)), |input, kind| {
            let input = if kind == plain(kind) { input } else { cast(input, plain(kind).clone()) };
            let kind = plain(kind);
            let value = match &in_files {
                Domain::Date { .. } if !file.form.is_text() => day(input),
                Domain::Timestamp { zone, .. } if !file.form.is_text() => on_the_wall(input, *zone),
                _ => converted(input, kind, &wanted),
            };
            brought(value, column)
        });
    }
    Ok(part)
}

/// The columns of a file by name: the place and, where the file says it, the type.
struct Columns<'a> {
    file: &'a DataFile,
    by_name: HashMap<String, (usize, Option<DataType>)>,
    /// Whether the names may be said.
    has_names: bool,
    /// The line in which declared names seem to stand, where the first has none.
    line_of_names: Option<usize>,
}

impl<'a> Columns<'a> {
    fn of(file: &'a DataFile, table: &Table) -> Result<Self> {
        let columns = file.columns()?;
        let named = columns.into_iter().enumerate().filter(|(_, (name, _))| !name.is_empty());
        let by_name: HashMap<_, _> = named.map(|(place, (name, kind))| (name, (place, kind))).collect();
        // A CSV file without any declared name may have no header: its first line then holds values.
        let declared: Vec<&String> = table.columns.iter().map(|column| &column.name).chain(&table.owner).collect();
        let is_declared = |name: &String| declared.iter().any(|one| one.eq_ignore_ascii_case(name));
        let has_names = file.form != FileFormat::Csv || by_name.keys().any(is_declared);
        let is_missing = !has_names && file.layout.header.is_none();
        let line_of_names = if is_missing { file.line_of_names(|name| is_declared(&name.to_string())) } else { None };
        Ok(Self { file, by_name, has_names, line_of_names })
    }

    fn find(&self, name: &str) -> Result<(usize, Option<DataType>)> {
        self.by_name.get(name).cloned().ok_or_else(|| {
            let known = self.by_name.keys().filter(|_| self.has_names);
            let no_names = || (!self.has_names).then(|| NO_NAMES.to_string());
            let below = self.line_of_names.map(|line| format!(": the declared names seem to stand in line {line}; remove what stands above them"));
            let hint = below.or_else(|| separator_hint(self.file, self.by_name.keys())).or_else(|| self.quote());
            let hint = hint.or_else(no_names);
            let hint = hint.unwrap_or_else(|| suggestion(name, known.map(String::as_str)));
            if self.file.partition.iter().any(|(said, _)| said == name) {
                return Error::input(format!(
                    "{}: the owner column '{name}' must be in the files, not in the names of folders",
                    self.file.path.display()
                ));
            }
            let shown = self.file.path.display();
            if let Some(line) = json::first_line(self.file).filter(|_| self.file.form == FileFormat::JsonLines) {
                return Error::input(format!(
                    "{shown}:{line}: the first object has no key '{name}'{hint}: it must have all declared ones; write null where it has no value"
                ));
            }
            Error::input(format!("{shown} has no column '{name}'{hint}"))
        })
    }

    /// What the names seem to stand in.
    fn quote(&self) -> Option<String> {
        let sign = self.by_name.keys().filter(|_| self.file.form == FileFormat::Csv).find_map(|name| quoted(name))?;
        Some(format!(": {}", quote_hint(sign)))
    }
}

/// A separator as one writes it.
fn sign_shown(sign: char) -> String {
    if sign == '\t' { "\\t".to_string() } else { sign.to_string() }
}

/// What the line of names of a CSV file seems to be separated by, where the declared separator does not occur in it.
pub(crate) fn separator_hint<'a>(
    file: &DataFile,
    mut names: impl ExactSizeIterator<Item = &'a String>,
) -> Option<String> {
    let is_one = names.len() == 1 && file.form == FileFormat::Csv;
    let only = names.next().filter(|_| is_one)?;
    let sign = [';', '\t', '|', ','].into_iter().find(|sign| only.contains(*sign))?;
    let shown = sign_shown(sign);
    if file.layout.separator == b'\t' && sign == ',' {
        return Some(
            ": the file is read with tabs between its fields (.tsv, or separator), and seems to have ','; set \
            separator = \",\" for the table, or rename it to .csv"
                .to_string(),
        );
    }
    Some(format!(": the file seems to be separated by '{shown}'; set separator = \"{shown}\" for the table"))
}

/// The files of one folder hold each declared column in one type.
fn refuse_unequal(table: &Table, parts: &[FilePart]) -> Result<()> {
    let Some((first, rest)) = parts.split_first() else { return Ok(()) };
    let schema = schema(table);
    for other in rest {
        for ((one, two), field) in first.kinds().zip(other.kinds()).zip(schema.fields()) {
            if one != two {
                return Err(Error::input(format!(
                    "{}: column '{}' holds {two}, but {one} in {}: the files of a folder must agree; write one of \
                        them again",
                    other.path().display(),
                    field.name(),
                    first.path().display()
                )));
            }
        }
    }
    Ok(())
}

pub(crate) fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, inner) => is_text(inner),
        kind => matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    }
}

/// The type of a dictionary's values, where these are no texts.
fn plain(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, inner) if !is_text(inner) => inner,
        kind => kind,
    }
}

/// The value that the name of a file's folder says of all of its rows.
fn constant(file: &DataFile, name: &str, said: Option<&str>, domain: &Domain, is_inside: bool) -> Result<ScalarValue> {
    let shown = file.path.display();
    if is_inside {
        return Err(Error::input(format!(
            "{shown}: column '{name}' is in the file and in the name of its folder; write the file without it"
        )));
    }
    let wanted = WantedType::of(domain);
    // What stands for a missing value in the files does so in the names of their folders.
    let text = said.filter(|text| !file.layout.is_missing(text)).unwrap_or_default();
    if let Some(what) = wanted.refuses(text, &Layout { trim: Some(false), ..Layout::default() }) {
        return Err(Error::input(format!("{shown}: the value of column '{name}' in the name of the folder {what}")));
    }
    wanted.constant(text).map_err(|_| Error::machine("a value of another type"))
}

fn fits(kind: &DataType, domain: &Domain) -> bool {
    let kind = plain(kind);
    match domain {
        Domain::Int { .. } => kind.is_integer(),
        Domain::Float { .. } => kind.is_numeric(),
        Domain::Category { .. } => is_text(kind),
        Domain::Bool => *kind == DataType::Boolean,
        Domain::Date { .. } => matches!(kind, DataType::Date32 | DataType::Date64 | DataType::Timestamp(_, None)),
        Domain::Timestamp { .. } => matches!(kind, DataType::Timestamp(..) | DataType::Date32 | DataType::Date64),
    }
}

/// What to do about a file in which no declared name was found.
const NO_NAMES: &str = ": its first line has none of the declared names; if the file has no line of names, set header \
    = [\"…\"] for the table";

/// What to do about bytes that are declared as something else.
const BYTES: &str = ": bytes have no known encoding; write it as strings (Utf8)";

fn is_bytes(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, inner) => is_bytes(inner),
        kind => kind.is_binary() || matches!(kind, DataType::FixedSizeBinary(_)),
    }
}

/// What to do about a column of another type, where there is something better than to write the file anew.
fn remedy(kind: &DataType, domain: &Domain) -> &'static str {
    match (kind, domain) {
        (DataType::Timestamp(_, Some(_)), Domain::Date { .. }) => {
            ": which day that is depends on the zone, so declare it as timestamp with a zone, and write CAST(… AS DATE) in queries"
        }
        (kind, _) if is_bytes(kind) => BYTES,
        (kind, Domain::Int { .. }) if plain(kind).is_floating() => {
            ": declare it as float, or write it as whole numbers (a table with missing values may have made them floats)"
        }
        (DataType::Date32 | DataType::Date64, _) => ": declare it as date",
        (DataType::Timestamp(..), _) => ": declare it as timestamp",
        (kind, Domain::Bool) if plain(kind).is_integer() => {
            ": declare it as int, with lower = 0 and upper = 1, or write it as booleans"
        }
        (kind, Domain::Category { .. }) if plain(kind).is_integer() => {
            ": declare it as int (with CASE in queries where its numbers have names), or write it as strings"
        }
        (kind, _) if plain(kind).is_integer() => ": declare it as int, or write it as the declared type",
        (kind, _) if plain(kind).is_floating() => ": declare it as float, or write it as the declared type",
        (DataType::Boolean, _) => ": declare it as bool",
        (kind, _) if is_text(kind) => ": declare it as category, or write it as the declared type",
        _ => ": write it as the declared type",
    }
}

/// The type's word in a project file.
pub(crate) fn word(domain: &Domain) -> &'static str {
    match domain {
        Domain::Int { .. } => "int",
        Domain::Float { .. } => "float",
        Domain::Category { .. } => "category",
        Domain::Bool => "bool",
        Domain::Date { .. } => "date",
        Domain::Timestamp { .. } => "timestamp",
    }
}

/// The type in which a file's column is read: plain texts at once in the plan's own.
fn read_as(kind: &DataType) -> DataType {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => TEXT,
        other => other.clone(),
    }
}

/// The value in the declared type, for every value of `kind`: no conversion here can fail on one. Whole numbers beyond
/// 2⁶³ are above every bound that can be declared, and are read as the largest number.
fn converted(input: Expr, kind: &DataType, wanted: &DataType) -> Expr {
    match (kind, wanted) {
        (kind, wanted) if kind == wanted => input,
        (DataType::UInt64, DataType::Int64) => {
            let largest = lit(ScalarValue::UInt64(Some(i64::MAX.unsigned_abs())));
            let moved = when(input.clone().gt(largest), lit(i64::MAX)).otherwise(cast(input.clone(), DataType::Int64));
            moved.unwrap_or(try_cast(input, DataType::Int64))
        }
        _ => cast(input, wanted.clone()),
    }
}
