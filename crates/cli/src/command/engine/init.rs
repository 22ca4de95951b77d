//! `scumble init`: a first project file from a table's column names and types, and from who its owner is.

use crate::failure::{Failure, say};
use crate::output::print;
use clap::Args;
use scumble_engine::init::{LayoutOptions, Owner, columns, doubt, starter};
use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;

/// What `init` takes.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  scumble init visits.csv --owner person_id  # several rows of each person\n  \
                  scumble init people.csv --no-owner         # each row is one person\n  \
                  scumble init old.csv --no-owner --separator ';' --encoding latin1")]
pub struct InitArguments {
    /// The table: a .csv or .parquet file, or a folder of them
    table: PathBuf,
    /// The column that names the owner of each row
    #[arg(long, value_name = "COLUMN", conflicts_with = "no_owner")]
    owner: Option<String>,
    /// Each row is one person
    #[arg(long)]
    no_owner: bool,
    /// The separator of a CSV file, such as ';' or '\t'
    #[arg(long, value_name = "CHARACTER")]
    separator: Option<String>,
    /// The quote of a CSV file, if it is not double
    #[arg(long, value_name = "CHARACTER")]
    quote: Option<String>,
    /// The encoding of a CSV file, such as latin1
    #[arg(long, value_name = "NAME")]
    encoding: Option<String>,
    /// The column names, if the file has none: id,age
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    header: Option<Vec<String>>,
    /// The project file to write
    #[arg(long, default_value = "scumble.toml", value_name = "FILE")]
    output: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &InitArguments, quiet: bool) -> Result<(), Failure> {
    let written = LayoutOptions {
        separator: arguments.separator.clone(),
        quote: arguments.quote.clone(),
        encoding: arguments.encoding.clone(),
        header: arguments.header.clone(),
    };
    let (names, doubt) = (columns(&arguments.table, &written)?, doubt(&arguments.table, &written)?);
    let owner = match (&arguments.owner, arguments.no_owner) {
        (Some(owner), _) => Owner::Column(owner.clone()),
        (None, true) => Owner::Rows,
        (None, false) => {
            // Names that may be values of a row are not printed.
            let are_names = doubt.is_none() || arguments.header.is_some();
            asked(are_names.then_some(&names), doubt.as_deref(), quiet || arguments.json)?
        }
    };
    let text = starter(&arguments.table, &written, &owner, &arguments.output)?;
    let shown = arguments.output.display();
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&arguments.output).map_err(
        |error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Failure::Input(format!(
                "{shown} exists already and is not overwritten; give another name with --output"
            )),
            _ => Failure::Input(format!("{shown} cannot be written ({error})")),
        },
    )?;
    file.write_all(text.as_bytes())?;
    if arguments.json {
        let owner = match &owner {
            Owner::Column(owner) => Some(owner),
            Owner::Rows => None,
        };
        return print(&format!(
            "{:#}\n",
            serde_json::json!({ "project": arguments.output, "owner": owner, "doubt": doubt })
        ));
    }
    if quiet {
        return Ok(());
    }
    doubt.iter().for_each(|doubt| say(doubt));
    print(&format!(
        "wrote {shown} from column names and types; no row was read\nfill in bounds and domains from public knowledge, never from the data; then: scumble check, scumble plan, scumble release\n"
    ))
}

/// Whose rows they are is asked on a terminal, and demanded elsewhere: everything that is promised depends on it.
fn asked(names: Option<&Vec<String>>, doubt: Option<&str>, silent: bool) -> Result<Owner, Failure> {
    let list = names.map(|names| names.join(", "));
    if silent || !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        let list = list.map_or(String::new(), |list| format!(" (one of: {list})"));
        let doubt = doubt.map_or(String::new(), |doubt| format!("; {doubt}"));
        return Err(Failure::Input(format!(
            "who are the rows about? give --owner COLUMN for the column that says whose row it is{list}, or --no-owner if each row is one person{doubt}"
        )));
    }
    doubt.iter().for_each(|doubt| say(doubt));
    list.iter().for_each(|list| say(&format!("Columns: {list}")));
    say("Which column says whose row it is? (Enter alone: each row is one person.)");
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(match line.trim() {
        "" => Owner::Rows,
        name => Owner::Column(name.to_string()),
    })
}
