//! `scumble plan --suggest-bounds`: contribution bounds for a release, chosen from the data through a release of kind
//! `bounds`.

use super::{head_line, run_and_report, table};
use crate::failure::Failure;
use crate::output::print;
use scumble_engine::project::{Project, Request};
use scumble_engine::release::{Answers, Runner, SuggestedBounds};
use serde_json::json;
use std::path::Path;

/// How many choices a terminal shows; the files have all.
const SHOWN: usize = 16;

/// Releases what owners have, and says which bounds follow from it.
pub fn suggest(
    project: &Project,
    runner: &Runner<'_>,
    request: &Request,
    out: &Path,
    quiet: bool,
    as_json: bool,
) -> Result<(), Failure> {
    let planned = [runner.plan(request)?];
    let (outcomes, head, _) = run_and_report(project, runner, &planned, out, quiet || as_json)?;
    let Some(outcome) = outcomes.first() else { return Ok(()) };
    if as_json {
        let result = json!({
            "name": outcome.name, "sequence": outcome.sequence, "files": outcome.files, "answers": outcome.answers.json(),
            "entries": head.entries, "head": head.hex(),
        });
        return print(&format!("{result:#}\n"));
    }
    let mut text = choices(&outcome.answers);
    outcome.answers.notes.iter().for_each(|note| text.push_str(&format!("{note}\n")));
    text.push_str(&lines(outcome.answers.details.suggested_bounds().as_ref()));
    text.push_str(&format!("all choices: {}\n{}\n", outcome.files[0].display(), head_line(&head)));
    print(&text)
}

/// The choices with the smallest errors, in the order of the bounds.
fn choices(answers: &Answers) -> String {
    let column = |name: &str| answers.columns.iter().find(|column| column.name == name);
    let number = |name: &str, row: usize| column(name).and_then(|column| column.cells[row].number());
    let error = |row: &usize| number("error", *row).or_else(|| number("share_cut", *row)).unwrap_or(f64::INFINITY);
    let mut rows: Vec<usize> = (0..answers.rows()).collect();
    rows.sort_by(|left, right| error(left).total_cmp(&error(right)));
    rows.truncate(SHOWN);
    rows.sort_unstable();
    let shown = |name: &str, row: usize| number(name, row).map_or("–".to_string(), |number| format!("{number:.1}"));
    let whole = |name: &str, row: usize| column(name).map_or(String::new(), |column| column.cells[row].text());
    let percent = |share: f64| format!("{:.1}%", 100.0 * share);
    let cut = |row: usize| {
        let interval = column("share_cut").and_then(|column| Some(column.uncertainty.as_ref()?[row]));
        let share = number("share_cut", row).unwrap_or(f64::NAN);
        match interval {
            None => String::new(),
            // What noise says of it is no share.
            Some(one) if one.low <= 0.0 && one.high >= 1.0 => "not known".to_string(),
            Some(one) => format!("{} ({} to {})", percent(share), percent(one.low), percent(one.high)),
        }
    };
    let cells = rows.into_iter().map(|row| {
        let [groups, each] = ["max_groups_per_owner", "max_rows_per_group"].map(|name| whole(name, row));
        vec![groups, each, cut(row), shown("noise", row), shown("error", row)]
    });
    let header =
        ["max_groups_per_owner", "max_rows_per_group", "rows cut off (95%)", "noise of a count", "error of a cell"];
    table(&header, cells.collect())
}

/// What to write into the project file.
fn lines(suggested: Option<&SuggestedBounds>) -> String {
    let Some(bounds) = suggested else { return String::new() };
    let mut text = "for the release in the project file, the smallest error of a cell:\n".to_string();
    for (name, number) in [
        ("max_rows_per_owner", Some(bounds.max_rows_per_owner)),
        ("max_groups_per_owner", bounds.max_groups_per_owner),
        ("max_rows_per_group", bounds.max_rows_per_group),
    ] {
        text.extend(number.map(|number| format!("{name} = {number}\n")));
    }
    text
}
