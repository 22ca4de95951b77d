//! The planner's reasons in our words: what somebody wrote, where, and what to write instead.

use crate::error::Error;
use crate::sql::QuerySource;

/// The refusal that a line of the planner stands for, if it is one of those that people meet every day.
pub(crate) fn of(line: &str, source: &QuerySource<'_>) -> Option<Error> {
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
        return Some(source.error_at_column(name, sentence));
    }
    let of_arguments =
        ["failed to match any signature", "Failed to coerce arguments", "No function matches the given name"];
    if of_arguments.iter().any(|words| line.contains(words)) {
        let called = || quoted("satisfy a function call '", '\'').or_else(|| quoted("satisfy a call to '", '\''));
        let name = called().or_else(|| quoted("unction '", '\''))?;
        let sentence = format!(
            "{} does not take these arguments: check their number and types (for truth values: CASE WHEN … THEN 1 \
                ELSE 0 END; for dates: day - DATE '2000-01-01')",
            name.to_uppercase()
        );
        return Some(source.error_at_call(name, sentence));
    }
    if let Some(types) = quoted("common argument type for comparison operation ", '|') {
        let sentence = match types.contains("Boolean") {
            true => "a truth value is compared with something else: write the column by itself, NOT and the column, or = TRUE".to_string(),
            false => format!(
                "the compared values have no type in common ({}): convert one of them with CAST",
                types.trim()
            ),
        };
        return Some(source.error("", sentence));
    }
    if line.contains("Cannot coerce arithmetic expression") || line.contains("Unary operator '-'") {
        let sentence = "arithmetic needs numbers, not strings, truth values or dates: CAST(… AS BIGINT) converts \
            strings to numbers, and || concatenates strings";
        return Some(source.error("", sentence));
    }
    if line.contains("non-boolean predicate") || line.contains("requires a boolean expression") {
        let sentence = "a truth value is needed (WHERE, HAVING, AND, OR, NOT): write a comparison, such as age > 0";
        return Some(source.error("", sentence));
    }
    if line.contains("in LIKE expression") {
        return Some(source.error(
            "like",
            "LIKE compares strings with a string in single quotes: compare numbers with =, < and BETWEEN",
        ));
    }
    let usual = [
        ("The subquery should only return one column", "in", "IN (SELECT …) takes a sub-query of one column"),
        (
            "Cannot find column with position",
            "group by",
            "GROUP BY and ORDER BY take columns, or their numbers in the SELECT from 1 on: there is none with this \
                number",
        ),
        ("grouping function is not in grouping columns", "grouping", "GROUPING takes a column of GROUP BY"),
        (
            "syntax for type interval",
            "interval",
            "an interval is written as INTERVAL '3 days', with years, months, weeks, days, hours, minutes or seconds",
        ),
        (
            "temporal operation",
            "interval",
            "to a date or time, only a literal interval is added or subtracted, as in day + INTERVAL '1 month'",
        ),
        ("Expected LIMIT", "limit", "LIMIT takes a whole number"),
        ("Expected OFFSET", "offset", "OFFSET takes a whole number"),
    ];
    if let Some((_, word, sentence)) = usual.iter().find(|(said, ..)| line.contains(said)) {
        return Some(source.error(word, *sentence));
    }
    if line.contains("Substring without for/from") {
        let sentence = "SUBSTR takes a string and a position, and perhaps a length: SUBSTR(clinic, 1, 3)";
        return Some(source.error_at_call("substr", sentence));
    }
    if line.contains("Aggregate function calls cannot be nested") {
        let sentence = "an aggregate stands inside of another: leave one of them out (SUM(COUNT(*)) OVER () adds up the counts of all groups)";
        return Some(source.error_at_call(quoted("nested inside '", '(').unwrap_or_default(), sentence));
    }
    None
}

/// What the planner says, without its own name.
pub(crate) fn plain(line: &str) -> String {
    let names = [
        "Error during planning: ",
        "Arrow error: ",
        "Parser error: ",
        "Execution error: ",
        "Schema error: ",
        "SQL error: ",
        "Optimizer rule ",
        "DataFusion ",
        "This feature is not implemented: ",
    ];
    names.iter().fold(line.to_string(), |line, name| line.replace(name, ""))
}
