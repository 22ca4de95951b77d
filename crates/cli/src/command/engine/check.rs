//! `scumble check`: whether the files of a project's tables fit their declaration. For the curator who holds the files.

use super::table;
use crate::failure::Failure;
use crate::output::{print, print_json};
use clap::Args;
use scumble_engine::check::{FileState, TableState, check, hints, state};
use scumble_engine::project::Project;
use scumble_engine::summary::document;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What `check` takes.
#[derive(Args)]
#[command(after_help = "Reads all declared columns of all tables, as every release does before its\n\
                  charge. Prints places in private files (file, line, column), never a value. Do\n\
                  not publish what it prints.\n\n\
                  Example:\n  \
                  scumble check")]
pub struct CheckArguments {
    /// The project file
    #[arg(default_value = "scumble.toml")]
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &CheckArguments) -> Result<(), Failure> {
    let project = Project::open(&arguments.file)?;
    let names: Vec<String> = project.tables.keys().cloned().collect();
    let states = state(&project, &names)?;
    check(&project, &names)?;
    let hints = hints(&project, &names)?;
    if arguments.json {
        let shown = TablesShown { tables: states.iter().map(shown).collect(), hints: &hints };
        return print_json(&document(&shown)?);
    }
    let rows = states.iter().flat_map(|state| {
        state.files.iter().map(|file| vec![state.table.clone(), file.path.display().to_string(), file.digest.clone()])
    });
    let mut text = table(&["table", "file", "SHA-256"], rows.collect());
    for state in &states {
        text.push_str(&format!("table '{}' fits its declaration\n", state.table));
    }
    hints.iter().for_each(|hint| text.push_str(&format!("{hint}\n")));
    print(&text)
}

/// What `check` prints as JSON.
#[derive(Serialize)]
struct TablesShown<'a> {
    tables: Vec<TableShown<'a>>,
    hints: &'a [String],
}

/// A table that fits its declaration: of others it says one sentence, and prints nothing.
#[derive(Serialize)]
struct TableShown<'a> {
    table: &'a str,
    fits: bool,
    fingerprint: &'a str,
    files: Vec<FileShown<'a>>,
}

#[derive(Serialize)]
struct FileShown<'a> {
    path: &'a Path,
    sha256: &'a str,
    bytes: u64,
}

fn shown(state: &TableState) -> TableShown<'_> {
    TableShown {
        table: &state.table,
        fits: true,
        fingerprint: &state.fingerprint,
        files: state.files.iter().map(shown_file).collect(),
    }
}

fn shown_file(file: &FileState) -> FileShown<'_> {
    FileShown { path: &file.path, sha256: &file.digest, bytes: file.bytes }
}
