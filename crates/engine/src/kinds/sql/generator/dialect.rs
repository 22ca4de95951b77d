//! Our expressions in SQLite's dialect, where it means the same.
//!
//! What is left out, because the dialects differ and not because anything is wrong: arithmetic on numbers without
//! bounds (SQLite turns overflowing integers into reals and NaN into NULL), `%` of fractions, arithmetic of whole
//! numbers of fewer than 64 bits, casts from text, casts of fractions to text, `REAL` and `DECIMAL`, `lower`, `upper`
//! and `ILIKE` (ASCII only in SQLite), `LIKE` on numbers, `substr`, `left` and `right` with a negative number,
//! comparisons of texts with numbers.

use super::expression::{Expr, ExprKind, Type, literal, negated, quoted};
use super::value::CellValue;
use crate::calendar::{shown_day, shown_moment};

/// The expression in SQLite; none where it means something else there.
pub(crate) fn sqlite(expression: &Expr) -> Option<String> {
    let parts = &expression.parts;
    let one = |index: usize| sqlite(&parts[index]);
    Some(match &expression.kind {
        ExprKind::Column { table, name } if table.is_empty() => quoted(name),
        ExprKind::Column { table, name } => format!("{}.{}", quoted(table), quoted(name)),
        ExprKind::Literal(value) => match value {
            CellValue::Bool(truth) => i32::from(*truth).to_string(),
            CellValue::Date(day) => format!("'{}'", shown_day(*day)),
            CellValue::Moment(moment) => format!("'{}'", shown_moment(*moment)),
            other => literal(other),
        },
        ExprKind::Negative => match parts[0].of {
            // To DataFusion −0.0 is less than 0.0.
            Type::Float => return None,
            of if of.is_number() && of != Type::Narrow && !parts[0].wild => format!("(-{})", one(0)?),
            _ => return None,
        },
        ExprKind::Not if parts[0].of == Type::Bool => format!("(NOT {})", one(0)?),
        ExprKind::Not => return None,
        ExprKind::Binary(operator) => binary(operator, expression.of, &parts[0], &parts[1])?,
        ExprKind::Call(name) => call(name, expression)?,
        // Of 31 January SQLite makes 3 March.
        ExprKind::Shift(_) => return None,
        ExprKind::Cast { to, .. } => cast(to, &parts[0])?,
        ExprKind::Case { operand, otherwise } => case(expression, *operand, *otherwise)?,
        ExprKind::Is(words) => match (*words, parts[0].of) {
            ("NULL" | "UNKNOWN", _) => format!("({} IS NULL)", one(0)?),
            ("NOT NULL" | "NOT UNKNOWN", _) => format!("({} IS NOT NULL)", one(0)?),
            (words, Type::Bool) => format!("({} IS {words})", one(0)?),
            _ => return None,
        },
        ExprKind::Between { not } => {
            let all = alike(parts)?;
            format!("({}{} BETWEEN {} AND {})", all[0], negated(*not), all[1], all[2])
        }
        ExprKind::In { not } => {
            let all = alike(parts)?;
            format!("({}{} IN ({}))", all[0], negated(*not), all[1..].join(", "))
        }
        ExprKind::Like { word } if *word != "ILIKE" && parts[0].of == Type::Text => {
            format!("({} {word} {})", one(0)?, one(1)?)
        }
        ExprKind::Like { .. } => return None,
    })
}

/// Several expressions as values of one type.
fn alike(parts: &[Expr]) -> Option<Vec<String>> {
    let of = parts.iter().map(|part| part.of).reduce(Type::or)?;
    parts.iter().map(|part| typed(part, of)).collect()
}

/// An expression as a value of a type that contains its own.
fn typed(expression: &Expr, of: Type) -> Option<String> {
    let text = sqlite(expression)?;
    match (expression.of, of) {
        (from, to) if from == to => Some(text),
        (Type::Date, Type::Time) => Some(format!("({text} || 'T00:00:00')")),
        (from, Type::Int) if from.is_whole() => Some(text),
        (from, Type::Float) if from.is_whole() => Some(format!("CAST({text} AS REAL)")),
        _ => None,
    }
}

fn binary(operator: &str, of: Type, left: &Expr, right: &Expr) -> Option<String> {
    match operator {
        "AND" | "OR" => {
            let both = (left.of, right.of) == (Type::Bool, Type::Bool);
            both.then_some(())?;
            Some(format!("({} {operator} {})", sqlite(left)?, sqlite(right)?))
        }
        "||" => (left.of == Type::Text && right.of == Type::Text)
            .then(|| Some(format!("({} || {})", sqlite(left)?, sqlite(right)?)))?,
        "+" | "-" | "*" | "/" | "%" => {
            let whole = of.is_whole();
            let narrow = left.of == Type::Narrow && right.of == Type::Narrow;
            if left.wild || right.wild || narrow || (operator == "%" && !whole) {
                return None;
            }
            Some(format!("({} {operator} {})", typed(left, of)?, typed(right, of)?))
        }
        comparison => {
            let both = alike(&[left.clone(), right.clone()])?;
            Some(format!("({} {comparison} {})", both[0], both[1]))
        }
    }
}

fn case(expression: &Expr, operand: bool, otherwise: bool) -> Option<String> {
    let first = usize::from(operand);
    let branches = expression.parts.len() - usize::from(otherwise);
    let compared: Vec<Expr> = expression.parts[..branches].iter().skip(first).step_by(2).cloned().collect();
    let tested = if operand {
        let mut all = vec![expression.parts[0].clone()];
        all.extend(compared);
        alike(&all)?
    } else {
        compared.iter().map(|when| if when.of == Type::Bool { sqlite(when) } else { None }).collect::<Option<_>>()?
    };
    let mut tested = tested.into_iter();
    let mut text = "CASE".to_string();
    if operand {
        text.push_str(&format!(" {}", tested.next()?));
    }
    for (when, then) in tested.zip(expression.parts[..branches].iter().skip(first + 1).step_by(2)) {
        text.push_str(&format!(" WHEN {when} THEN {}", typed(then, expression.of)?));
    }
    if otherwise {
        text.push_str(&format!(" ELSE {}", typed(&expression.parts[branches], expression.of)?));
    }
    Some(text + " END")
}

fn cast(to: &str, inner: &Expr) -> Option<String> {
    let text = sqlite(inner)?;
    if inner.of.is_date() {
        return match (inner.of, to) {
            (Type::Date, "DATE") | (Type::Time, "TIMESTAMP") => Some(text),
            (Type::Time, "DATE") => Some(format!("substr({text}, 1, 10)")),
            (_, "TIMESTAMP") => typed(inner, Type::Time),
            _ => None,
        };
    }
    let whole = match inner.of {
        Type::Float if inner.wild => None,
        Type::Float => Some(format!("CAST({text} AS INTEGER)")),
        Type::Text => None,
        _ => Some(text.clone()),
    };
    let within = |low: i64, high: i64| {
        whole.clone().map(|whole| format!("(CASE WHEN {whole} BETWEEN {low} AND {high} THEN {whole} END)"))
    };
    match to {
        "BIGINT" => whole,
        "INT" => within(i32::MIN.into(), i32::MAX.into()),
        "SMALLINT" => within(i16::MIN.into(), i16::MAX.into()),
        "TINYINT" => within(i8::MIN.into(), i8::MAX.into()),
        "DOUBLE" if inner.of != Type::Text => Some(format!("CAST({text} AS REAL)")),
        "VARCHAR" => match inner.of {
            Type::Text => Some(text),
            Type::Int | Type::Narrow => Some(format!("CAST({text} AS TEXT)")),
            Type::Bool => Some(format!("(CASE {text} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)")),
            _ => None,
        },
        _ => None,
    }
}

fn call(name: &str, whole: &Expr) -> Option<String> {
    let parts = &whole.parts;
    let one = |index: usize| sqlite(&parts[index]);
    let texts = parts.iter().all(|part| part.of == Type::Text);
    match name {
        "date_part" => part(&parts[0], &one(1)?),
        "date_trunc" => start(&parts[0], &one(1)?),
        "COALESCE" => Some(format!("COALESCE({})", alike(parts)?.join(", "))),
        "NULLIF" if parts[0].of == parts[1].of => Some(format!("NULLIF({}, {})", one(0)?, one(1)?)),
        "GREATEST" | "LEAST" => {
            let (all, sign) = (alike(parts)?, if name == "GREATEST" { ">=" } else { "<=" });
            let (a, b) = (&all[0], &all[1]);
            Some(format!(
                "(CASE WHEN {a} IS NULL THEN {b} WHEN {b} IS NULL THEN {a} WHEN {a} {sign} {b} THEN {a} ELSE {b} END)"
            ))
        }
        "abs" if !parts[0].wild && parts[0].of != Type::Narrow && parts[0].of.is_number() => {
            Some(format!("abs({})", one(0)?))
        }
        "signum" if !parts[0].wild => Some(format!("CAST(sign({}) AS REAL)", one(0)?)),
        "floor" | "ceil" | "trunc" | "round" if parts[0].of == Type::Float && !parts[0].wild => {
            Some(rounded(name, &one(0)?))
        }
        "length" if texts => Some(format!("length({})", one(0)?)),
        "strpos" if texts => Some(format!("instr({}, {})", one(0)?, one(1)?)),
        "trim" | "ltrim" | "rtrim" if texts => Some(format!("{name}({})", one(0)?)),
        "starts_with" if texts => Some(format!("(substr({0}, 1, length({1})) = {1})", one(0)?, one(1)?)),
        "ends_with" if texts => {
            let (text, end) = (one(0)?, one(1)?);
            let ends = format!("substr({text}, -length({end})) = {end}");
            Some(format!(
                "(CASE WHEN {text} IS NULL OR {end} IS NULL THEN NULL WHEN {end} = '' THEN 1 ELSE {ends} END)"
            ))
        }
        "left" if not_negative(&parts[1]) => Some(format!("substr({}, 1, {})", one(0)?, one(1)?)),
        "right" if not_negative(&parts[1]) => {
            Some(format!("(CASE {1} WHEN 0 THEN substr({0}, 1, 0) ELSE substr({0}, -{1}) END)", one(0)?, one(1)?))
        }
        "substr" if matches!(parts[1].kind, ExprKind::Literal(CellValue::Int(1..))) && not_negative(&parts[2]) => {
            Some(format!("substr({}, {}, {})", one(0)?, one(1)?, one(2)?))
        }
        "concat" if texts => Some(format!("(COALESCE({}, '') || COALESCE({}, ''))", one(0)?, one(1)?)),
        _ => None,
    }
}

/// A part of a date: dates and times are texts in SQLite, as ISO 8601 writes them.
fn part(word: &Expr, date: &str) -> Option<String> {
    let ExprKind::Literal(CellValue::Text(word)) = &word.kind else { return None };
    let (from, length) = match word.as_str() {
        "year" => (1, 4),
        "month" => (6, 2),
        "day" => (9, 2),
        _ => return None,
    };
    Some(format!("CAST(substr({date}, {from}, {length}) AS INTEGER)"))
}

/// The beginning of a unit.
fn start(word: &Expr, date: &str) -> Option<String> {
    let ExprKind::Literal(CellValue::Text(word)) = &word.kind else { return None };
    let (length, rest) = match word.as_str() {
        "year" => (4, "-01-01T00:00:00"),
        "month" => (7, "-01T00:00:00"),
        "day" => (10, "T00:00:00"),
        _ => return None,
    };
    Some(format!("(substr({date}, 1, {length}) || '{rest}')"))
}

fn not_negative(expression: &Expr) -> bool {
    matches!(expression.kind, ExprKind::Literal(CellValue::Int(0..)))
}

/// Rounding of numbers of moderate size; SQLite has no such functions.
fn rounded(name: &str, text: &str) -> String {
    let cut = format!("CAST(CAST({text} AS INTEGER) AS REAL)");
    match name {
        "floor" => format!("({cut} - ({cut} > {text}))"),
        "ceil" => format!("({cut} + ({cut} < {text}))"),
        "round" => format!("round({text})"),
        _ => cut,
    }
}
