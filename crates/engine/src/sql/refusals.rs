//! The planner's reasons in our words: what somebody wrote, where, and what to write instead.

use super::Source;
use crate::error::Error;

/// The refusal that a line of the planner stands for, if it is one of those that people meet every day.
pub(super) fn of(line: &str, source: &Source<'_>) -> Option<Error> {
    let quoted = |before: &str, end: char| line.split(before).nth(1).and_then(|rest| rest.split(end).next());
    if line.contains("unique expression names") {
        let expression = quoted("the expression \"", '"')?;
        let name = expression.rsplit(" AS ").next().unwrap_or(expression);
        return Some(super::same_name(source, name));
    }
    if line.contains("must be in GROUP BY") || line.contains("must appear in the GROUP BY clause") {
        let column = quoted("column \"", '"')?;
        let name = column.rsplit('.').next().unwrap_or(column);
        let sentence =
            format!("{name} is neither in GROUP BY nor inside of an aggregate: write GROUP BY {name}, or leave it out");
        return Some(source.error(name, sentence));
    }
    if line.contains("failed to match any signature") || line.contains("Failed to coerce arguments") {
        let name = quoted("unction '", '\'').or_else(|| quoted("satisfy a function call '", '\''))?;
        let sentence = format!(
            "{} does not take what it is given here: texts, truth values and dates are no numbers (COUNT(*) FILTER (WHERE …) counts rows)",
            name.to_uppercase()
        );
        return Some(source.error(name, sentence));
    }
    if let Some(types) = quoted("common argument type for comparison operation ", '|') {
        let sentence = match types.contains("Boolean") {
            true => "a truth value is compared with something else: write the column by itself, NOT and the column, or = TRUE".to_string(),
            false => format!("values are compared that have no type in common ({}): bring one to the other's with CAST", types.trim()),
        };
        return Some(source.error("", sentence));
    }
    if line.contains("Aggregate function calls cannot be nested") {
        let sentence = "an aggregate stands inside of another: leave one of them out (SUM(COUNT(*)) OVER () adds up the counts of all groups)";
        return Some(source.error(quoted("nested inside '", '(').unwrap_or_default(), sentence));
    }
    None
}
