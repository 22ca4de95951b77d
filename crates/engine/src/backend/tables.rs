//! From a declared table to something that DataFusion can plan on (declarations) or read (sources).

use super::functions::declared;
use crate::error::{Error, Result};
use crate::place::suggestion;
use crate::project::{Column, Domain, Project, Table};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::datasource::MemTable;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, cast, ident, try_cast};
use datafusion::prelude::{CsvReadOptions, DataFrame, ParquetReadOptions, SessionContext};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The type of a declared column inside the plan.
pub(crate) fn data_type(domain: &Domain) -> DataType {
    match domain {
        Domain::Int { .. } => DataType::Int64,
        Domain::Float { .. } => DataType::Float64,
        Domain::Category { .. } => DataType::Utf8,
        Domain::Bool => DataType::Boolean,
    }
}

/// Registers each table as its declared columns, without rows.
pub(super) fn register_declarations(context: &SessionContext, project: &Project) -> Result<()> {
    for table in project.tables.values() {
        let owner = table.owner.iter().map(|owner| Field::new(owner, DataType::Utf8, true));
        let columns = table.columns.iter().map(|column| Field::new(&column.name, data_type(&column.domain), true));
        let schema = Arc::new(Schema::new(owner.chain(columns).collect::<Vec<_>>()));
        let provider = MemTable::try_new(schema, vec![vec![]]).map_err(|error| unusable(table, &error))?;
        let reference = datafusion::common::TableReference::bare(table.name.as_str());
        context.register_table(reference, Arc::new(provider)).map_err(|error| unusable(table, &error))?;
    }
    Ok(())
}

fn unusable(table: &Table, error: &datafusion::error::DataFusionError) -> Error {
    Error::input(format!("table '{}' cannot be used ({})", table.name, error.message()))
}

/// A plan that reads a table's source: only declared columns, each in its declared domain.
pub(super) async fn source(context: &SessionContext, table: &Table) -> Result<LogicalPlan> {
    let frame = read(context, table).await?;
    let mut columns: Vec<Expr> = Vec::new();
    if let Some(owner) = &table.owner {
        columns.push(owner_column(&frame, table, owner)?.alias(owner));
    }
    for column in &table.columns {
        columns.push(declared(typed(&frame, table, column)?, &column.domain).alias(&column.name));
    }
    let view = frame.select(columns).map_err(|error| unusable(table, &error))?;
    Ok(view.into_unoptimized_plan())
}

async fn read(context: &SessionContext, table: &Table) -> Result<DataFrame> {
    let path = &table.source;
    let shown = path.display().to_string();
    if !path.exists() {
        return Err(Error::input(format!("table '{}': there is no file or folder {shown}", table.name)));
    }
    let first = first_file(path)?;
    let text = path.to_str().ok_or_else(|| Error::input(format!("the path {shown} is not UTF-8")))?.to_string();
    let text = if path.is_dir() { format!("{text}/") } else { text };
    let read = match extension(&first) {
        "parquet" => context.read_parquet(text, ParquetReadOptions::default()).await,
        "csv" => {
            let schema = csv_schema(&first, table)?;
            context.read_csv(text, CsvReadOptions::new().schema(&schema)).await
        }
        _ => {
            return Err(Error::input(format!(
                "table '{}': {shown} is neither .csv nor .parquet, nor a folder of one of them",
                table.name
            )));
        }
    };
    read.map_err(|_| Error::input(format!("table '{}': {shown} cannot be read as {}", table.name, extension(&first))))
}

/// The lower-case extension.
fn extension(path: &Path) -> &str {
    path.extension().and_then(|text| text.to_str()).unwrap_or_default()
}

/// The file itself, or the first data file of a folder.
pub(crate) fn first_file(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let entries = std::fs::read_dir(path)
        .map_err(|error| Error::input(format!("the folder {} cannot be read ({error})", path.display())))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|file| matches!(extension(file), "csv" | "parquet"))
        .collect();
    files.sort();
    let mut files = files.into_iter();
    let first = files.next();
    match first {
        Some(first) if files.all(|file| extension(&file) == extension(&first)) => Ok(first),
        Some(_) => Err(Error::input(format!("the folder {} holds both .csv and .parquet files", path.display()))),
        None => Err(Error::input(format!("the folder {} holds no .csv or .parquet file", path.display()))),
    }
}

/// The names of a CSV file's columns.
pub(crate) fn csv_header(path: &Path) -> Result<Vec<String>> {
    let shown = path.display();
    let file =
        std::fs::File::open(path).map_err(|error| Error::input(format!("{shown} cannot be opened ({error})")))?;
    let mut line = String::new();
    BufReader::new(file)
        .read_line(&mut line)
        .map_err(|_| Error::input(format!("{shown}:1:1: the first line is not UTF-8 text; convert the file first")))?;
    let line = line.trim_end_matches(['\r', '\n']).trim_start_matches('\u{feff}');
    if line.is_empty() {
        return Err(Error::input(format!("{shown} is empty; its first line must name the columns")));
    }
    Ok(line.split(',').map(|name| name.trim().trim_matches('"').to_string()).collect())
}

/// Declared columns with their declared type, others as text.
fn csv_schema(path: &Path, table: &Table) -> Result<Schema> {
    let fields = csv_header(path)?.into_iter().map(|name| {
        let kind = table.column(&name).map_or(DataType::Utf8, |column| data_type(&column.domain));
        Field::new(name, kind, true)
    });
    Ok(Schema::new(fields.collect::<Vec<_>>()))
}

fn source_type(frame: &DataFrame, table: &Table, name: &str) -> Result<DataType> {
    let schema = frame.schema();
    match schema.fields().iter().find(|field| field.name() == name) {
        Some(field) => Ok(field.data_type().clone()),
        None => {
            let hint = suggestion(name, schema.fields().iter().map(|field| field.name().as_str()));
            Err(Error::input(format!("{} has no column '{name}'{hint}", table.source.display())))
        }
    }
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, inner) => is_text(inner),
        kind => matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    }
}

/// Whose row it is: whole numbers stay numbers, everything else is its text.
fn owner_column(frame: &DataFrame, table: &Table, name: &str) -> Result<Expr> {
    let kind = source_type(frame, table, name)?;
    let to = if kind.is_integer() && kind != DataType::UInt64 { DataType::Int64 } else { DataType::Utf8 };
    if !(kind.is_integer() || is_text(&kind)) {
        return Err(Error::input(format!("the owner column '{name}' must hold whole numbers or texts, not {kind}")));
    }
    Ok(cast(ident(name), to))
}

/// The column in its declared type.
fn typed(frame: &DataFrame, table: &Table, column: &Column) -> Result<Expr> {
    let kind = source_type(frame, table, &column.name)?;
    let wanted = data_type(&column.domain);
    let fits = match &column.domain {
        Domain::Int { .. } => kind.is_integer(),
        Domain::Float { .. } => kind.is_numeric(),
        Domain::Category { .. } => is_text(&kind),
        Domain::Bool => kind == DataType::Boolean,
    };
    if !fits {
        return Err(Error::input(format!(
            "{}: column '{}' is declared as {} but holds {kind}",
            table.source.display(),
            column.name,
            match column.domain {
                Domain::Int { .. } => "int",
                Domain::Float { .. } => "float",
                Domain::Category { .. } => "category",
                Domain::Bool => "bool",
            }
        )));
    }
    let expression = ident(&column.name);
    // Texts stay in the form in which they are read: turning one into the other copies every text.
    if kind == wanted || (wanted == DataType::Utf8 && kind == DataType::Utf8View) {
        return Ok(expression);
    }
    let same = expression.get_type(frame.schema()).is_ok_and(|found| found == wanted);
    // Unsigned numbers beyond 2⁶³ do not fit: they are above every allowed bound and are read as the largest number.
    match (same, &kind) {
        (true, _) => Ok(expression),
        (false, DataType::UInt64) if wanted == DataType::Int64 => {
            let largest = datafusion::prelude::lit(i64::MAX);
            Ok(datafusion::functions::expr_fn::coalesce(vec![
                try_cast(expression.clone(), DataType::Int64),
                datafusion::logical_expr::when(expression.is_not_null(), largest)
                    .end()
                    .map_err(|error| unusable(table, &error))?,
            ]))
        }
        _ => Ok(cast(expression, wanted)),
    }
}
