//! A first project file from a table's column names and types, and from who its owner is. No row is looked at.
//!
//! It declares only what is certain. Types that a text file does not show, and bounds, are comments to be filled in.
//! (Once a release has read a column, the ledger holds it to its declaration: a guess would stay.)

use crate::calendar;
use crate::error::{Error, Result};
use crate::file::real;
use crate::place::suggestion;
use crate::project::{Layout, Project};
use crate::release::run::Runner;
use crate::tables::files::{FileFormat, files};
use crate::tables::sources::{is_text, separator_hint};
use crate::tables::value::{quote_hint, quoted as in_quotes};
use datafusion::arrow::datatypes::DataType;
use std::fmt::Write;
use std::path::Path;

/// Who the rows of a table are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// The owner that this column names.
    Column(String),
    /// Each row is one person.
    Rows,
}

/// How the table's CSV files are written, where that is not as usual.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LayoutOptions {
    /// What stands between two fields.
    pub separator: Option<String>,
    /// What stands around texts.
    pub quote: Option<String>,
    /// The encoding of the letters.
    pub encoding: Option<String>,
    /// The names of the columns, for files without a line of names.
    pub header: Option<Vec<String>>,
}

impl LayoutOptions {
    fn layout(&self) -> Result<Layout> {
        let Self { separator, quote, encoding, header } = self;
        Layout::said(separator.as_deref(), quote.as_deref(), encoding.as_deref(), header.as_deref())
    }

    /// The lines of a project file that say so.
    fn lines(&self) -> Result<String> {
        let (layout, mut lines) = (self.layout()?, String::new());
        if self.separator.is_some() {
            let _ = writeln!(lines, "separator = {}", quoted(&char::from(layout.separator).to_string()));
        }
        if let Some(quote) = layout.quote.filter(|_| self.quote.is_some()) {
            let _ = writeln!(lines, "quote = {}", quoted(&char::from(quote).to_string()));
        }
        if self.encoding.is_some() {
            let _ = writeln!(lines, "encoding = {}", quoted(&layout.encoding.name().to_lowercase()));
        }
        if let Some(names) = &layout.header {
            let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            let _ = writeln!(lines, "header = [{}]", names.join(", "));
        }
        Ok(lines)
    }
}

/// The names of a table's columns.
pub fn columns(source: &Path, written: &LayoutOptions) -> Result<Vec<String>> {
    Ok(named(source, written)?.into_iter().map(|(name, _)| name).collect())
}

/// A warning if the first row of the table's first CSV file may not be column names, in a sentence without its values:
/// such a row is somebody's data.
pub fn doubt(source: &Path, written: &LayoutOptions) -> Result<Option<String>> {
    let layout = written.layout()?.of_source(source);
    let files = files(source, &layout)?;
    let Some(first) = files.first() else { return Ok(None) };
    let Some(row) = first.first_row()? else { return Ok(None) };
    let shown = first.path.display();
    Ok(match &layout.header {
        Some(names) if names.iter().zip(&row).all(|(name, field)| name.eq_ignore_ascii_case(field)) => Some(format!(
            "the first row of {shown} holds the names that --header gives, and counts as a row: leave --header out"
        )),
        Some(_) if !row.iter().any(|field| field.is_empty() || is_value(field)) => Some(format!(
            "the first row of {shown} holds no number and no date: if it names the columns, leave --header out, or it counts as a row"
        )),
        None if row.iter().any(|field| is_value(field)) => Some(format!(
            "the first line of {shown} holds a number or a date where it should name a column: if it is a row, give \
                the names with --header NAME,NAME,…, and show nobody a project file that was made from it"
        )),
        _ => None,
    })
}

/// Whether a field is more likely a value than a name.
fn is_value(field: &str) -> bool {
    field.parse::<f64>().is_ok_and(f64::is_finite) || calendar::day(field.get(..10).unwrap_or(field)).is_some()
}

/// The text of the project file `project` for the table at `source`: it can be planned and, where the file can be read,
/// released.
pub fn starter(source: &Path, written: &LayoutOptions, owner: &Owner, project: &Path) -> Result<String> {
    let columns = named(source, written)?;
    if let Owner::Column(owner) = owner
        && !columns.iter().any(|(name, _)| name == owner)
    {
        // Names that may be values of a row are not shown.
        let is_named = written.header.is_some() || doubt(source, written)?.is_none();
        let hint = suggestion(owner, columns.iter().filter(|_| is_named).map(|(name, _)| name.as_str()));
        let all: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let hint = match hint.is_empty() && is_named {
            true => format!("; its columns are: {}", all.join(", ")),
            false => hint,
        };
        let nameless = "; if its first line names no columns, give their names with --header";
        let hint = if written.header.is_none() { format!("{hint}{nameless}") } else { hint };
        return Err(Error::input(format!("{} has no column '{owner}'{hint}", source.display())));
    }
    if let Owner::Column(owner) = owner
        && let Some((_, Some(kind))) = columns.iter().find(|(name, _)| name == owner)
        && !kind.is_integer()
        && !is_text(kind)
    {
        return Err(Error::input(format!(
            "{}: the owner column '{owner}' must hold whole numbers or strings, not {kind}: write it as one of these",
            source.display()
        )));
    }
    let name = table_name(source);
    let (way, lines) = (way(source, project), written.lines()?);
    // A table may be called like a word of SQL: what is written is what can be planned.
    let first = text(&name, (&way, &lines), owner, &columns);
    match planned(project, &first) {
        Ok(()) => Ok(first),
        Err(_) => {
            let other = text(&format!("{name}_table"), (&way, &lines), owner, &columns);
            planned(project, &other).map(|()| other)
        }
    }
}

fn named(source: &Path, written: &LayoutOptions) -> Result<Vec<(String, Option<DataType>)>> {
    let files = files(source, &written.layout()?.of_source(source))?;
    let Some(first) = files.first() else { return Ok(Vec::new()) };
    if let Some(header) = &first.layout.header
        && let Some(width) = first.width()?.filter(|width| *width != header.len())
    {
        return Err(Error::input(format!(
            "the first row of {} has {width} field{}, and --header names {}: name each, with commas between them, or \
                give --separator",
            first.path.display(),
            if width == 1 { "" } else { "s" },
            header.len()
        )));
    }
    let columns = first.columns().map_err(|error| Error::input(of_flags(&error.to_string())))?;
    let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
    if let Some(hint) = separator_hint(first, names.iter()) {
        return Err(Error::input(format!("{} has only one column{}", first.path.display(), of_flags(&hint))));
    }
    if names.len() == 1 && first.layout.header.is_none() && first.has_wider_rows() {
        return Err(Error::input(format!(
            "the first line of {} has one field, and later ones have more: remove a title above the names, or give \
                the names with --header NAME,NAME,…",
            first.path.display()
        )));
    }
    if let Some(sign) = names.iter().filter(|_| first.form == FileFormat::Csv).find_map(|name| in_quotes(name)) {
        let hint = of_flags(&quote_hint(sign));
        return Err(Error::input(format!(
            "the column names of {} are quoted with {sign}: {hint}",
            first.path.display()
        )));
    }
    let of_folders = first.partition.iter().map(|(column, _)| (column.clone(), None));
    Ok(columns.into_iter().chain(of_folders).collect())
}

/// A sentence about keys of a project file, changed to one about the flags of `init`.
fn of_flags(sentence: &str) -> String {
    let keys = ["separator", "quote", "encoding", "header"];
    let said =
        keys.iter().fold(sentence.to_string(), |said, key| said.replace(&format!("{key} = "), &format!("--{key} ")));
    let said = said.replace("set --", "give --").replace(" for the table", "");
    said.replace("--header [\"…\"]", "--header NAME,NAME,…")
}

fn planned(path: &Path, text: &str) -> Result<()> {
    let project = Project::parse(path, text)?;
    let runner = Runner::new(&project);
    project.releases.iter().try_for_each(|request| runner.plan(request).map(drop))
}

/// A name that SQL takes without quotation marks.
fn table_name(source: &Path) -> String {
    let name = source.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or("table");
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("t{name}") } else { name }
}

/// The way to the source as the project file says it: from its own folder.
fn way(source: &Path, project: &Path) -> String {
    let beside = project.parent().is_none_or(|folder| folder.as_os_str().is_empty());
    if beside || source.is_absolute() { source.display().to_string() } else { real(source).display().to_string() }
}

fn text(table: &str, (source, written): (&str, &str), owner: &Owner, columns: &[(String, Option<DataType>)]) -> String {
    let mut text = String::new();
    let _ = write!(
        text,
        "# A first project file, from the table's column names and types and from who its owner is: no row was read.\n\n\
         [dataset.{table}]\nsource = {}\n{written}",
        quoted(source)
    );
    match owner {
        Owner::Column(owner) => {
            let _ = write!(
                text,
                "owner  = {}\n\
                 max_rows_per_owner = 1          # of each owner one row counts, chosen at random; say how many may, from public knowledge\n",
                quoted(owner)
            );
        }
        Owner::Rows => text.push_str("                                # each row is one person\n"),
    }
    let _ = write!(
        text,
        "\n# What queries may read. Bounds (lower, upper) and domains (values) come from public knowledge, never from the data: a maximum that\n\
         # was looked up in the table is somebody's value. Fill in a line and take its # away; a column that was released stays as it was declared.\n\
         [dataset.{table}.columns]\n"
    );
    let is_owner = |name: &str| matches!(owner, Owner::Column(owner) if owner == name);
    for (name, kind) in columns.iter().filter(|(name, _)| !is_owner(name)) {
        let _ = writeln!(text, "# {} = {}", key(name), declaration(kind.as_ref()));
    }
    let what = match owner {
        Owner::Column(_) => "COUNT(*) AS owners",
        Owner::Rows => "COUNT(*) AS n",
    };
    let _ = write!(
        text,
        "\n[budget]                        # the most that all releases together may give away; the first release writes it into the ledger\n\
         person = {{ epsilon = 1.0, delta = 1e-9 }}\n\n\
         [[release]]\nname = \"how many\"\nsql  = \"SELECT {what} FROM {table}\"\ncost = {{ epsilon = 0.1 }}\n"
    );
    text
}

/// What a column may be declared as.
fn declaration(kind: Option<&DataType>) -> &'static str {
    match kind {
        Some(kind) if kind.is_integer() => "{ type = \"int\", lower = …, upper = … }",
        Some(kind) if kind.is_numeric() => "{ type = \"float\", lower = …, upper = …, granularity = … }",
        Some(DataType::Boolean) => "{ type = \"bool\" }",
        Some(DataType::Date32 | DataType::Date64) => "{ type = \"date\", lower = \"…\", upper = \"…\" }",
        Some(DataType::Timestamp(..)) => "{ type = \"timestamp\", lower = \"…\", upper = \"…\", zone = \"UTC\" }",
        Some(kind) if is_text(kind) => {
            "{ type = \"category\", values = [\"…\"] }    # without values if they are not public"
        }
        Some(_) => "(its type is not supported: write it as strings, numbers, dates or truth values first)",
        None => {
            "{ type = \"…\" }    # int, float, date or timestamp with lower and upper, category, bool: the file does not say"
        }
    }
}

fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare { name.to_string() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => drop(write!(quoted, "\\u{:04x}", letter as u32)),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
