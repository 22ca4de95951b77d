//! A party's numbers, from a file.

use crate::failure::Failure;
use crate::input;
use std::collections::HashMap;
use std::path::Path;

/// One number for each cell. The file has a line `cell,number` for each, or the numbers alone in the plan's order.
/// Numbers are not repeated in sentences: what is printed may be kept somewhere.
pub fn read(path: &Path, cells: &[String], largest: u64) -> Result<Vec<u64>, Failure> {
    let text = input::text(path)?;
    let wrong = |line: usize, sentence: &str| Failure::Input(format!("{} line {line}: {sentence}", path.display()));
    let lines: Vec<&str> = text.lines().collect();
    let number = |line: usize, text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|letter| letter.is_ascii_digit());
        let number = text.parse::<u64>().ok().filter(|number| digits && *number <= largest);
        number.ok_or_else(|| wrong(line, &format!("the number must be a whole number from 0 to {largest}")))
    };
    if !lines.iter().any(|line| line.contains(',')) {
        if lines.len() != cells.len() {
            refuse!(
                "{} has {} lines, and the plan has {} cells: one number for each",
                path.display(),
                lines.len(),
                cells.len()
            );
        }
        return lines.iter().enumerate().map(|(place, line)| number(place + 1, line.trim())).collect();
    }
    let places: HashMap<&str, usize> = cells.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
    let mut values: Vec<Option<u64>> = vec![None; cells.len()];
    for (index, line) in lines.iter().enumerate() {
        if index == 0 && *line == "cell,number" {
            continue;
        }
        let (name, value) = line.rsplit_once(',').ok_or_else(|| wrong(index + 1, "a line must be cell,number"))?;
        let name = unquoted(name.trim());
        let place = *places.get(name.as_str()).ok_or_else(|| wrong(index + 1, "this cell is not in the plan"))?;
        let value = number(index + 1, value.trim())?;
        if values[place].replace(value).is_some() {
            return Err(wrong(index + 1, "this cell is listed twice"));
        }
    }
    let missing = values.iter().position(Option::is_none);
    match missing {
        Some(place) => Err(Failure::Input(format!("{} has no line for the cell '{}'", path.display(), cells[place]))),
        None => Ok(values.into_iter().flatten().collect()),
    }
}

fn unquoted(name: &str) -> String {
    match name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => name.to_string(),
    }
}
