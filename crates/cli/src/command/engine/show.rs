//! `scumble show`: what is published, where it is, and its answers. Reads the ledger and the published files only.

use super::{answers, counted, did_you_mean, existing, table};
use crate::failure::Failure;
use crate::output::print;
use crate::table::wrapped;
use clap::Args;
use scumble_engine::ledger::Charge;
use scumble_engine::project::Project;
use scumble_engine::release::{PublishedRelease, UnshownCharge, published, stored};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What `show` takes.
#[derive(Args)]
#[command(after_help = "Examples:\n  scumble show\n  scumble show \"by clinic\"")]
pub struct ShowArguments {
    /// Print the answers of this release
    name: Option<String>,
    /// The project file
    #[arg(long, default_value = "scumble.toml", value_name = "FILE")]
    project: PathBuf,
    /// Another ledger than the project's
    #[arg(long, value_name = "PATH")]
    ledger: Option<PathBuf>,
    /// The folder of the outputs, instead of `out`
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &ShowArguments) -> Result<(), Failure> {
    let project = Project::open(&arguments.project)?;
    let ledger = arguments.ledger.clone().unwrap_or_else(|| project.ledger());
    let out = arguments.out.clone().unwrap_or_else(|| project.folder().join("out"));
    let charges = existing(&ledger)?.charges()?;
    print(&match &arguments.name {
        Some(name) => printed(&out, newest(&charges, name)?, arguments.json)?,
        None => list(&out, &charges, arguments.json),
    })
}

/// The last charge of this name whose answers are out.
fn newest<'a>(charges: &'a [Charge], name: &str) -> Result<&'a Charge, Failure> {
    let is_out = |charge: &&Charge| charge.state.output().is_some();
    let found = charges.iter().rev().filter(is_out).find(|charge| charge.release == name);
    found.ok_or_else(|| {
        let hint = did_you_mean(name, charges.iter().filter(is_out).map(|charge| charge.release.as_str()));
        Failure::Input(format!("'{name}' is not published{hint}; `scumble show` lists what is"))
    })
}

/// More rows than these are in the files.
const SHOWN: usize = 1000;

/// The answers as they were published; on a screen rounded to their error, with what there is to know of them.
fn printed(out: &Path, charge: &Charge, as_json: bool) -> Result<String, Failure> {
    let stored = stored(out, charge);
    let stored =
        stored.map_err(|why| Failure::Input(format!("'{}' is not in {}: {why}", charge.release, out.display())))?;
    if as_json {
        return Ok(format!("{:#}\n", stored.document));
    }
    let rows = stored.row_count.unwrap_or(stored.answers.rows() as u64);
    let mut text = format!("{}, published {} (entry {})\n", charge.release, charge.time, charge.sequence);
    text.push_str(&answers::text(&stored.answers, SHOWN));
    if rows > SHOWN as u64 {
        text.push_str(&format!(
            "The first {SHOWN} of {}; the files in {} have all.\n",
            counted(rows, "row"),
            out.display()
        ));
    }
    stored.answers.notes.iter().for_each(|note| text.push_str(&wrapped(note)));
    Ok(text)
}

/// Each published release with its place, and the report's.
fn list(out: &Path, charges: &[Charge], as_json: bool) -> String {
    let (mut shown, mut unshown) = published(out, charges);
    shown.retain(|one| !one.is_replaced);
    shown.reverse();
    unshown.retain(|missing| shown.iter().all(|one| one.charge.release != missing.charge.release));
    let report = Some(out.join("report.html")).filter(|report| report.exists());
    if as_json {
        let releases: Vec<Value> = shown.iter().map(release_shown).collect();
        let unshown: Vec<Value> = unshown.iter().map(unshown_shown).collect();
        return format!("{:#}\n", json!({ "releases": releases, "unshown": unshown, "report": report }));
    }
    let rows = shown.iter().map(|one| {
        let file = one.file.display().to_string();
        vec![one.charge.release.clone(), one.charge.time.clone(), one.rows.to_string(), file]
    });
    let mut text = table(&["release", "published", "rows", "file"], rows.collect());
    for missing in unshown {
        text.push_str(&format!(
            "{} (ledger entry {}): {}\n",
            missing.charge.release, missing.charge.sequence, missing.why
        ));
    }
    if let Some(report) = report {
        text.push_str(&format!("report: {}\n", report.display()));
    }
    text
}

fn release_shown(one: &PublishedRelease) -> Value {
    let charge = &one.charge;
    json!({
        "name": charge.release, "sequence": charge.sequence, "time": charge.time, "rows": one.rows, "file": one.file,
    })
}

fn unshown_shown(missing: &UnshownCharge) -> Value {
    json!({ "name": missing.charge.release, "sequence": missing.charge.sequence, "why": missing.why.sentence() })
}
