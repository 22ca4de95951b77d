//! `scumble show`: what is published, where it is, and its answers. Reads the ledger and the published files only.

use super::{existing, table};
use crate::failure::Failure;
use crate::output::print;
use clap::Args;
use scumble_engine::ledger::Charge;
use scumble_engine::nearest;
use scumble_engine::project::Project;
use scumble_engine::release::{PublishedRelease, UnshownCharge, published, published_file, stored};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What `show` takes.
#[derive(Args)]
#[command(after_help = "Examples:\n  scumble show\n  scumble show \"by clinic\"")]
pub struct ShowArguments {
    /// Print the answers of this release, as CSV
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
        Some(name) => answers(&out, newest(&charges, name)?, arguments.json)?,
        None => list(&out, &charges, arguments.json),
    })
}

/// The last charge of this name whose answers are out.
fn newest<'a>(charges: &'a [Charge], name: &str) -> Result<&'a Charge, Failure> {
    let is_out = |charge: &&Charge| charge.state.output().is_some();
    let found = charges.iter().rev().filter(is_out).find(|charge| charge.release == name);
    found.ok_or_else(|| {
        let hint = nearest(name, charges.iter().filter(is_out).map(|charge| charge.release.as_str()));
        let hint = hint.map_or(String::new(), |hint| format!(" (did you mean '{hint}'?)"));
        Failure::Input(format!("'{name}' is not published{hint}; `scumble show` lists what is"))
    })
}

/// The answers as they were published.
fn answers(out: &Path, charge: &Charge, as_json: bool) -> Result<String, Failure> {
    let shown = match as_json {
        true => stored(out, charge).map(|stored| format!("{:#}\n", stored.document)),
        false => published_file(out, charge, "csv").map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    };
    shown.map_err(|why| Failure::Input(format!("'{}' is not in {}: {why}", charge.release, out.display())))
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
