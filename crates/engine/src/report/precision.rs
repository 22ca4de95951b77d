//! How precise published numbers are for their size: a mark beside those that are not, and who bears the error.

use super::format::{digits, table};
use crate::release::output::{AnswerColumn, Answers, Cell, ColumnRole, Uncertainty};
use maud::{Markup, html};

/// A standard error above this part of its number is to be read with care, above the second it says little. The limits
/// are those of statistical offices (a coefficient of variation of 16.6% and 33.3%).
const LIMITS: [(f64, &str); 2] = [(1.0 / 6.0, "†"), (1.0 / 3.0, "‡")];

/// With fewer groups than this, the table itself shows who bears the error.
const FEWEST_GROUPS: usize = 6;

/// The standard error as a part of its number; nothing where there is none.
fn relative(cell: &Cell, uncertainty: &Uncertainty) -> Option<f64> {
    let (number, error) = (cell.number()?, uncertainty.standard_error);
    (!error.is_nan())
        .then(|| if number == 0.0 && error > 0.0 { f64::INFINITY } else { error / number.abs().max(1e-300) })
}

/// The mark of a number.
pub(super) fn mark(cell: &Cell, uncertainty: &Uncertainty) -> Option<&'static str> {
    let part = relative(cell, uncertainty)?;
    LIMITS.iter().rev().find(|(limit, _)| part > *limit).map(|(_, mark)| *mark)
}

/// What the marks mean, if some of the shown rows have one.
pub(super) fn legend(answers: &Answers, shown: usize) -> Markup {
    let has = |column: &AnswerColumn| {
        let list = column.uncertainty.as_deref().unwrap_or_default();
        column.cells.iter().zip(list).take(shown).any(|(cell, uncertainty)| mark(cell, uncertainty).is_some())
    };
    html! {
        @if answers.columns.iter().any(has) {
            p.soft {
                (LIMITS[0].1) " The standard error is more than a sixth of the number: read it with care. "
                (LIMITS[1].1) " It is more than a third: the number says little."
            }
        }
    }
}

/// The relative errors of small, middle and large groups; nothing where there are few groups.
pub(super) fn by_size(answers: &Answers) -> Markup {
    let roles = &answers.details.roles;
    let is_amount = |column: &&AnswerColumn| {
        column.uncertainty.is_some() && matches!(roles.get(&column.name), None | Some(ColumnRole::Amount { .. }))
    };
    let is_key = |column: &&AnswerColumn| match roles.is_empty() {
        true => column.uncertainty.is_none(),
        false => roles.get(&column.name) == Some(&ColumnRole::Key),
    };
    let Some(size) = answers.columns.iter().find(is_amount) else { return Markup::default() };
    let keys: Vec<&AnswerColumn> = answers.columns.iter().filter(is_key).collect();
    // A total is no group.
    let is_group = |row: &usize| keys.iter().all(|key| key.cells[*row] != Cell::Null);
    let number = |row: &usize| size.cells[*row].number().unwrap_or(f64::NAN);
    let mut rows: Vec<usize> = (0..answers.rows()).filter(is_group).filter(|row| number(row).is_finite()).collect();
    if rows.len() < FEWEST_GROUPS || keys.is_empty() {
        return Markup::default();
    }
    rows.sort_by(|left, right| number(left).total_cmp(&number(right)));
    let third = rows.len().div_ceil(3);
    let classes: Vec<&[usize]> = rows.chunks(third).collect();
    let noisy: Vec<&AnswerColumn> = answers.columns.iter().filter(|column| column.uncertainty.is_some()).collect();
    let errors: Vec<String> = noisy.iter().map(|column| format!("error of {}", column.name)).collect();
    let sizes = size.name.as_str();
    let head: Vec<&str> = ["groups", sizes].into_iter().chain(errors.iter().map(String::as_str)).collect();
    let names = ["smallest", "middle", "largest"];
    let rows = html! {
        @for (name, class) in names.iter().zip(&classes) {
            tr {
                td { (name) " " (class.len()) }
                td { (digits(number(&class[0]).round())) " to " (digits(number(&class[class.len() - 1]).round())) }
                @for column in &noisy { td { (percent(median(column, class))) } }
            }
        }
    };
    html! {
        details {
            summary { "Who bears the error" }
            p.soft { "The standard error as a part of its number, for the group in the middle of each third." }
            (table(&head, &rows))
        }
    }
}

fn median(column: &AnswerColumn, rows: &[usize]) -> Option<f64> {
    let list = column.uncertainty.as_deref().unwrap_or_default();
    let mut parts: Vec<f64> = rows.iter().filter_map(|row| relative(&column.cells[*row], &list[*row])).collect();
    parts.sort_by(f64::total_cmp);
    parts.get(parts.len() / 2).copied()
}

fn percent(part: Option<f64>) -> String {
    match part {
        Some(part) if part < 10.0 => format!("{}%", digits((part * 1000.0).round() / 10.0)),
        Some(_) => "larger than the number".to_string(),
        None => "not known".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::output::Details;

    fn column(numbers: &[f64], error: f64) -> AnswerColumn {
        let one =
            |number: &f64| Uncertainty { standard_error: error, low: number - 2.0 * error, high: number + 2.0 * error };
        AnswerColumn {
            name: "n".to_string(),
            cells: numbers.iter().map(|number| Cell::Number(*number)).collect(),
            uncertainty: Some(numbers.iter().map(one).collect()),
        }
    }

    #[test]
    fn numbers_that_say_little_have_a_mark() {
        let marks = |number: f64, error: f64| {
            let column = column(&[number], error);
            mark(&column.cells[0], &column.uncertainty.as_ref().unwrap()[0])
        };
        assert_eq!([marks(100.0, 16.0), marks(100.0, 17.0), marks(-100.0, 34.0)], [None, Some("†"), Some("‡")]);
        assert_eq!([marks(0.0, 1.0), marks(5.0, f64::INFINITY), marks(5.0, f64::NAN)], [Some("‡"), Some("‡"), None]);
        assert_eq!(marks(0.0, 0.0), None);
    }

    #[test]
    fn small_groups_are_seen_to_bear_the_error() {
        let numbers = [10.0, 20.0, 30.0, 100.0, 200.0, 300.0, 1000.0, 2000.0, 3000.0];
        let name = |at: usize| Cell::Text(format!("g{at}").as_str().into());
        let keys = AnswerColumn { name: "k".to_string(), cells: (0..9).map(name).collect(), uncertainty: None };
        let columns = vec![keys, column(&numbers, 10.0)];
        let mut answers = Answers { columns, notes: Vec::new(), details: Details::default() };
        let page = by_size(&answers).into_string();
        for text in ["smallest 3", "<td>10 to 30</td><td>50%</td>", "<td>1000 to 3000</td><td>0.5%</td>"] {
            assert!(page.contains(text), "{text}: {page}");
        }
        // A total is no group.
        answers.columns[0].cells[8] = Cell::Null;
        assert!(
            by_size(&answers).into_string().contains("<td>300 to 2000</td>")
                || by_size(&answers).into_string().contains("largest 2")
        );
    }
}
