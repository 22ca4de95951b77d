//! From the files that a job gave to its integers. No sentence here quotes a value.

use super::Job;
use super::sheet::Sheet;
use crate::calendar;
use crate::error::{Error, Result};
use crate::sql::analyse::execution::{CellKey, CellRank, Execution};
use crate::sql::execute::cell::ExactCell;
use crate::sql::execute::integers::{Integers, empty_cell, taken};
use crate::sql::text;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use std::collections::HashMap;
use std::path::Path;

/// How the name of the column begins by which a result is known again.
pub(crate) const PREFIX: &str = "scumble_job_";

/// No sum has more digits.
const MOST_DIGITS: usize = 28;

/// The rows of one statement, of however many files.
pub(crate) struct SheetRows<'a> {
    /// Each row: its file, its number there, and its values in the order of the statement's columns.
    rows: Vec<(&'a Path, usize, Vec<Option<&'a str>>)>,
}

impl<'a> SheetRows<'a> {
    /// Rows that come from one place, all of them.
    pub fn of(place: &'a Path, rows: &'a [Vec<Option<String>>]) -> Result<Self> {
        let values = |row: &'a Vec<Option<String>>| row.iter().map(Option::as_deref).collect();
        let rows = rows.iter().zip(1..).map(|(row, at)| (place, at, values(row))).collect();
        Self::whole(rows).ok_or_else(|| Error::machine("a statement gave another number of rows than it says"))
    }

    /// The rows of a statement, if they are as many as each of them says; the last column but one says it, and 0 where
    /// there are none.
    fn whole(rows: Vec<(&'a Path, usize, Vec<Option<&'a str>>)>) -> Option<Self> {
        let said = |values: &[Option<&'a str>]| values.len().checked_sub(2).and_then(|place| values[place]);
        match &rows[..] {
            [] => None,
            [(_, _, values)] if said(values) == Some("0") => {
                values[..values.len() - 2].iter().all(Option::is_none).then(|| Self { rows: Vec::new() })
            }
            rows_there => {
                let all = rows_there.len().to_string();
                let are_all = rows_there.iter().all(|(_, _, values)| said(values) == Some(all.as_str()));
                are_all.then_some(Self { rows })
            }
        }
    }
}

/// The integers of each query of a job.
pub(crate) fn integers(job: &Job, count: usize, release: &str, folder: &Path) -> Result<Vec<Integers>> {
    let sheets = Sheet::all(folder)?;
    let mut statement = 0;
    let mut all = Vec::new();
    let found = sorted(job, count, release, &sheets)?;
    for query in &job.queries {
        let mut next = |ranked: bool| {
            let name = job.column(statement, count);
            let columns = text::columns(query.query.keys.len(), query.query.measures.len(), ranked, &name);
            let rows = of_statement(&sheets, &found, statement, &columns, folder);
            statement += 1;
            rows
        };
        all.push(of_query(query.execution()?, &mut next)?);
    }
    Ok(all)
}

/// Which statement each file is of, from 0.
fn sorted(job: &Job, count: usize, release: &str, sheets: &[Sheet]) -> Result<Vec<usize>> {
    let again = format!("print the job again with scumble setup integers '{release}', and run it");
    let of = |sheet: &Sheet| {
        let path = sheet.path.display();
        let marks: Vec<&String> = sheet.columns.iter().filter(|name| name.starts_with(PREFIX)).collect();
        let [mark] = marks[..] else {
            return Err(Error::input(format!(
                "{path} has no column {PREFIX}…: it is not a result of scumble setup integers, or has no header"
            )));
        };
        let number = mark[PREFIX.len()..].split('_').next().unwrap_or_default();
        if job.before.iter().any(|before| before == number) {
            return Err(Error::input(format!(
                "{path} is from a job that was charged before, and each is charged once: {again}"
            )));
        }
        let place = (0..count).find(|index| job.column(*index, count) == *mark);
        place.ok_or_else(|| {
            Error::input(format!(
                "{path} is from another job: since it was printed, the query, the bounds, the columns or the ledger \
                    have changed; {again}"
            ))
        })
    };
    sheets.iter().map(of).collect()
}

/// The rows of a statement, if all of them are there.
fn of_statement<'a>(
    sheets: &'a [Sheet],
    found: &[usize],
    statement: usize,
    columns: &[String],
    folder: &Path,
) -> Result<SheetRows<'a>> {
    let number = statement + 1;
    let mut rows = Vec::new();
    let mut is_there = false;
    for (sheet, _) in sheets.iter().zip(found).filter(|(_, of)| **of == statement) {
        is_there = true;
        let path = sheet.path.display();
        let mut places = Vec::new();
        for column in columns {
            let place = sheet.columns.iter().position(|name| name == column);
            places.push(place.ok_or_else(|| Error::input(format!("{path} has no column '{column}'")))?);
        }
        if sheet.columns.len() != columns.len() {
            return Err(Error::input(format!("{path} has other columns than statement {number} gives")));
        }
        for (row, at) in sheet.rows.iter().zip(1..) {
            let values: Vec<Option<&str>> = places.iter().map(|place| row[*place].as_deref()).collect();
            rows.push((sheet.path.as_path(), at, values));
        }
    }
    if !is_there {
        return Err(Error::input(format!(
            "the folder {} has no file with the result of statement {number}",
            folder.display()
        )));
    }
    SheetRows::whole(rows).ok_or_else(|| {
        Error::input(format!(
            "statement {number} gave another number of rows than the folder {} holds of it: a file or a row is \
                missing, or is there twice",
            folder.display()
        ))
    })
}

/// The integers of one query; `next` gives the rows of its next statement.
pub(crate) fn of_query<'a>(
    execution: &Execution,
    next: &mut dyn FnMut(bool) -> Result<SheetRows<'a>>,
) -> Result<Integers> {
    let (keys, sums) = (execution.keys().len(), execution.sums().len());
    let mut cells: HashMap<Vec<ScalarValue>, ExactCell> = HashMap::new();
    if sums > 0 {
        for (path, at, values) in next(false)?.rows {
            let wrong = |what: &str| Error::input(format!("{}: row {at} {what}", path.display()));
            let key = key_of(execution, &values[..keys]).map_err(|what| wrong(&what))?;
            let whole = |value: &Option<&str>| whole(*value).ok_or_else(|| wrong("has a sum that is no whole number"));
            let sums = values[keys..keys + sums].iter().map(whole).collect::<Result<Vec<i128>>>()?;
            if cells.insert(key, ExactCell { sums, ..empty_cell(execution) }).is_some() {
                return Err(wrong("has a key that another row has too"));
            }
        }
    }
    for (index, CellRank { ranked, .. }) in execution.ranked().iter().enumerate() {
        let (first, last) = (ranked.grid.steps(ranked.grid.lower), ranked.grid.steps(ranked.grid.upper));
        for (path, at, values) in next(true)?.rows {
            let wrong = |what: &str| Error::input(format!("{}: row {at} {what}", path.display()));
            let key = key_of(execution, &values[..keys]).map_err(|what| wrong(&what))?;
            let step = whole(values[keys]).and_then(|step| i64::try_from(step).ok());
            let step = step.filter(|step| (first..=last).contains(step));
            let step = step.ok_or_else(|| wrong("has a step that is not within the declared bounds"))?;
            let times = whole(values[keys + 1]).and_then(|times| u64::try_from(times).ok()).filter(|times| *times > 0);
            let times = times.ok_or_else(|| wrong("gives a step a count that is not a number"))?;
            let cell = match sums {
                0 => cells.entry(key).or_insert_with(|| empty_cell(execution)),
                _ => cells.get_mut(&key).ok_or_else(|| wrong("has a key that statement 1 of its query lacks"))?,
            };
            if cell.ranked[index].insert(ranked.key(step), times).is_some() {
                return Err(wrong("has a key and a step that another row has too"));
            }
        }
    }
    taken(execution, cells)
}

/// A key from its texts; says what is wrong with it.
fn key_of(execution: &Execution, values: &[Option<&str>]) -> std::result::Result<Vec<ScalarValue>, String> {
    let one = |(index, (key, value)): (usize, (&CellKey, &Option<&str>))| {
        let value = value.ok_or_else(|| format!("has no key_{index}"))?;
        part(&key.kind, value).ok_or_else(|| format!("has a key_{index} that '{}' cannot have", key.name))
    };
    execution.keys().iter().zip(values).enumerate().map(one).collect()
}

fn part(kind: &DataType, text: &str) -> Option<ScalarValue> {
    Some(match kind {
        DataType::Utf8 => ScalarValue::Utf8(Some(text.to_string())),
        DataType::Int64 => ScalarValue::Int64(Some(i64::try_from(whole(Some(text))?).ok()?)),
        DataType::Boolean => ScalarValue::Boolean(Some(match text {
            "true" => true,
            "false" => false,
            _ => return None,
        })),
        DataType::Date32 if text.len() == 8 && text.is_ascii() => {
            let day = calendar::day(&format!("{}-{}-{}", &text[..4], &text[4..6], &text[6..]))?;
            ScalarValue::Date32(Some(i32::try_from(day).ok()?))
        }
        _ => return None,
    })
}

/// A whole number as engines write it: digits, perhaps a minus.
fn whole(text: Option<&str>) -> Option<i128> {
    let text = text?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_whole = (1..=MOST_DIGITS).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_whole.then(|| text.parse().ok()).flatten()
}
