//! A starter project file from a table's column names and types. No row is looked at.

use crate::backend::files::files;
use crate::error::Result;
use crate::project::Layout;
use datafusion::arrow::datatypes::DataType;
use std::fmt::Write;
use std::path::Path;

/// The text of a project file for the table at `source`.
pub fn starter(source: &Path) -> Result<String> {
    let files = files(source, &Layout::default())?;
    let columns = files.first().map_or(Ok(Vec::new()), |first| first.columns())?;
    let stem = source.file_stem().and_then(|stem| stem.to_str()).unwrap_or("table");
    let table: String = stem.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    Ok(text(&table, source, &columns))
}

fn text(table: &str, source: &Path, columns: &[(String, Option<DataType>)]) -> String {
    let mut text = String::new();
    let _ = write!(
        text,
        "# A first project file, made from column names and types only: no row was read.\n\
         # Bounds (lower, upper) and domains (values) must come from public knowledge, never from the data:\n\
         # a maximum that was looked up in the table is somebody's value.\n\n\
         [dataset.{table}]\nsource = {}\n\
         # owner = \"person_id\"            # the column that says whose row it is; leave it out if one row is one person\n\
         # max_rows_per_owner = 1         # how many rows of one owner may count (needed with an owner)\n\n\
         [dataset.{table}.columns]\n",
        quoted(&source.display().to_string())
    );
    for (name, kind) in columns {
        let declaration = match kind {
            Some(kind) if kind.is_integer() => "{ type = \"int\" }         # add lower and upper before summing",
            Some(kind) if kind.is_numeric() => {
                "{ type = \"float\" }       # add lower, upper and granularity before summing"
            }
            Some(DataType::Boolean) => "{ type = \"bool\" }",
            Some(_) => "{ type = \"category\" }    # add values = [\"…\"] if the domain is public",
            None => {
                "{ type = \"category\" }    # or int or float with lower and upper, or bool; a CSV file does not say"
            }
        };
        let _ = writeln!(text, "{} = {declaration}", key(name));
    }
    let _ = write!(
        text,
        "\n[budget]\nperson = {{ epsilon = 1.0, delta = 1e-9 }}\n\n\
         [[release]]\nname = \"how many\"\nsql  = \"SELECT COUNT(*) AS n FROM {table}\"\ncost = {{ epsilon = 0.1 }}\n"
    );
    text
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
