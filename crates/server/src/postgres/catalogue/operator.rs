//! Operators over values: comparisons, arithmetic, patterns, and the order of a result.

use super::{Catalogue, length};
use crate::postgres::refused::SqlError;
use crate::postgres::value::CellValue;
use sqlparser::ast::BinaryOperator;
use std::cmp::Ordering;

/// What is done with a text and a pattern takes as long as both are, multiplied.
pub(super) fn paid(value: &CellValue, others: &[CellValue], world: &Catalogue<'_>) -> Result<(), SqlError> {
    let long =
        |value: &CellValue| if matches!(value, CellValue::Text(_) | CellValue::List(_)) { length(value) } else { 0 };
    let work = others.iter().map(|other| long(value).saturating_mul(long(other)) / 64);
    world.spend(work.fold(0, usize::saturating_add))
}

/// What an operator makes of two values.
pub(super) fn operated(
    left: &CellValue,
    op: &BinaryOperator,
    right: &CellValue,
    world: &Catalogue<'_>,
) -> Result<CellValue, SqlError> {
    let compared = |holds: fn(Ordering) -> bool| {
        compare(left, right).map_or(CellValue::Null, |order| CellValue::Truth(holds(order)))
    };
    let whole = |compute: fn(i64, i64) -> Option<i64>| match (left, right) {
        (CellValue::Whole(left), CellValue::Whole(right)) => {
            compute(*left, *right).map_or(CellValue::Null, CellValue::Whole)
        }
        _ => CellValue::Null,
    };
    let matched = |ignores_case: bool| world.matched(left, right, ignores_case);
    Ok(match op {
        BinaryOperator::And => match (left, right) {
            (CellValue::Truth(false), _) | (_, CellValue::Truth(false)) => CellValue::Truth(false),
            (CellValue::Truth(true), CellValue::Truth(true)) => CellValue::Truth(true),
            _ => CellValue::Null,
        },
        BinaryOperator::Or => match (left, right) {
            (CellValue::Truth(true), _) | (_, CellValue::Truth(true)) => CellValue::Truth(true),
            (CellValue::Truth(false), CellValue::Truth(false)) => CellValue::Truth(false),
            _ => CellValue::Null,
        },
        BinaryOperator::Eq => compared(Ordering::is_eq),
        BinaryOperator::NotEq => compared(Ordering::is_ne),
        BinaryOperator::Lt => compared(Ordering::is_lt),
        BinaryOperator::LtEq => compared(Ordering::is_le),
        BinaryOperator::Gt => compared(Ordering::is_gt),
        BinaryOperator::GtEq => compared(Ordering::is_ge),
        BinaryOperator::StringConcat => joined(left, right),
        BinaryOperator::Plus => whole(i64::checked_add),
        BinaryOperator::Minus => whole(i64::checked_sub),
        BinaryOperator::Multiply => whole(i64::checked_mul),
        BinaryOperator::Divide => whole(i64::checked_div),
        BinaryOperator::Modulo => whole(i64::checked_rem),
        BinaryOperator::BitwiseAnd => whole(|left, right| Some(left & right)),
        BinaryOperator::BitwiseOr => whole(|left, right| Some(left | right)),
        BinaryOperator::PGRegexMatch => matched(false)?,
        BinaryOperator::PGRegexIMatch => matched(true)?,
        BinaryOperator::PGRegexNotMatch => not_if(true, matched(false)?),
        BinaryOperator::PGRegexNotIMatch => not_if(true, matched(true)?),
        BinaryOperator::PGLikeMatch => liked(left, right, false),
        BinaryOperator::PGILikeMatch => liked(left, right, true),
        BinaryOperator::PGNotLikeMatch => not_if(true, liked(left, right, false)),
        BinaryOperator::PGNotILikeMatch => not_if(true, liked(left, right, true)),
        BinaryOperator::PGCustomBinaryOperator(words) => match words.last().map(String::as_str) {
            Some("=") => compared(Ordering::is_eq),
            Some("<>" | "!=") => compared(Ordering::is_ne),
            Some("~") => matched(false)?,
            Some("~*") => matched(true)?,
            Some("!~") => not_if(true, matched(false)?),
            Some("!~*") => not_if(true, matched(true)?),
            Some("~~") => liked(left, right, false),
            Some("!~~") => not_if(true, liked(left, right, false)),
            _ => CellValue::Null,
        },
        _ => CellValue::Null,
    })
}

fn joined(left: &CellValue, right: &CellValue) -> CellValue {
    match (left, right) {
        (CellValue::List(left), CellValue::List(right)) => CellValue::List([&left[..], &right[..]].concat()),
        (CellValue::List(list), one) | (one, CellValue::List(list)) if *one == CellValue::Null => {
            CellValue::List(list.clone())
        }
        (left, right) => match (left.shown(), right.shown()) {
            (Some(left), Some(right)) => CellValue::Text(left + &right),
            _ => CellValue::Null,
        },
    }
}

pub(super) fn is_true(value: &CellValue) -> bool {
    *value == CellValue::Truth(true)
}

pub(super) fn not_if(negated: bool, value: CellValue) -> CellValue {
    match value {
        CellValue::Truth(truth) => CellValue::Truth(truth != negated),
        other => other,
    }
}

/// Which of two values comes first; none where one is NULL, or where they cannot be compared.
pub(super) fn compare(left: &CellValue, right: &CellValue) -> Option<Ordering> {
    match (left, right) {
        (CellValue::Null, _) | (_, CellValue::Null) => None,
        (CellValue::Truth(left), CellValue::Truth(right)) => Some(left.cmp(right)),
        (CellValue::Whole(left), CellValue::Whole(right)) => Some(left.cmp(right)),
        (CellValue::Text(left), CellValue::Text(right)) => Some(left.cmp(right)),
        (CellValue::List(left), CellValue::List(right)) => {
            let unequal =
                left.iter().zip(right).find_map(|(left, right)| compare(left, right).filter(|order| order.is_ne()));
            Some(unequal.unwrap_or(left.len().cmp(&right.len())))
        }
        (CellValue::Truth(truth), CellValue::Text(text)) | (CellValue::Text(text), CellValue::Truth(truth)) => {
            let other = match text.to_lowercase().as_str() {
                "t" | "true" | "on" | "1" => true,
                "f" | "false" | "off" | "0" => false,
                _ => return None,
            };
            Some(truth.cmp(&other))
        }
        (CellValue::List(_), CellValue::Text(text)) => left.shown().map(|left| left.cmp(text)),
        (CellValue::Text(text), CellValue::List(_)) => right.shown().map(|right| text.cmp(&right)),
        _ => number(left)?.partial_cmp(&number(right)?),
    }
}

/// An order of all values, whatever they are, for sorting: `compare` knows none between a text and a number, and a sort
/// by what is no order may panic.
pub(super) fn ordered(left: &CellValue, right: &CellValue) -> Ordering {
    let rank = |value: &CellValue| match value {
        CellValue::Truth(_) => 0,
        CellValue::Whole(_) | CellValue::Number(_) => 1,
        CellValue::Text(_) => 2,
        CellValue::List(_) => 3,
        CellValue::Null => 4,
    };
    match (left, right) {
        (CellValue::Truth(left), CellValue::Truth(right)) => left.cmp(right),
        (CellValue::Whole(left), CellValue::Whole(right)) => left.cmp(right),
        // Of a whole number and a rounded one that are equal as such, the whole one comes first.
        (CellValue::Whole(left), CellValue::Number(right)) => (*left as f64).total_cmp(right).then(Ordering::Less),
        (CellValue::Number(left), CellValue::Whole(right)) => left.total_cmp(&(*right as f64)).then(Ordering::Greater),
        (CellValue::Number(left), CellValue::Number(right)) => left.total_cmp(right),
        (CellValue::Text(left), CellValue::Text(right)) => left.cmp(right),
        (CellValue::List(left), CellValue::List(right)) => {
            let unequal = left.iter().zip(right).map(|(left, right)| ordered(left, right)).find(|order| order.is_ne());
            unequal.unwrap_or(left.len().cmp(&right.len()))
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

fn number(value: &CellValue) -> Option<f64> {
    match value {
        CellValue::Whole(number) => Some(*number as f64),
        CellValue::Number(number) => Some(*number),
        CellValue::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

pub(super) fn same(left: &CellValue, right: &CellValue) -> bool {
    match (left, right) {
        (CellValue::Null, CellValue::Null) => true,
        _ => compare(left, right) == Some(Ordering::Equal),
    }
}

pub(super) fn among(value: &CellValue, list: &[CellValue]) -> CellValue {
    if list.iter().any(|one| compare(value, one) == Some(Ordering::Equal)) {
        return CellValue::Truth(true);
    }
    match *value == CellValue::Null || list.contains(&CellValue::Null) {
        true => CellValue::Null,
        false => CellValue::Truth(false),
    }
}

fn liked(value: &CellValue, pattern: &CellValue, ignores_case: bool) -> CellValue {
    escaped_like(value, pattern, ignores_case, Some(ESCAPE))
}

/// The character that LIKE escapes others with, unless the query names one.
pub(super) const ESCAPE: char = '\\';

/// `%` stands for any characters, `_` for one, and what follows the escape character, if there is one, for itself.
pub(super) fn escaped_like(
    value: &CellValue,
    pattern: &CellValue,
    ignores_case: bool,
    escape: Option<char>,
) -> CellValue {
    let (Some(mut text), Some(mut pattern)) = (value.shown(), pattern.shown()) else { return CellValue::Null };
    if ignores_case {
        (text, pattern) = (text.to_lowercase(), pattern.to_lowercase());
    }
    let text: Vec<char> = text.chars().collect();
    let mut parts: Vec<PatternPart> = Vec::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        parts.push(match letter {
            letter if Some(letter) == escape => PatternPart::Letter(letters.next().unwrap_or(letter)),
            '%' => PatternPart::Any,
            '_' => PatternPart::One,
            letter => PatternPart::Letter(letter),
        });
    }
    // Where the last % was met, and how much of the text it stands for so far.
    let (mut here, mut part, mut back) = (0, 0, None);
    while here < text.len() {
        match parts.get(part) {
            Some(PatternPart::Any) => {
                back = Some((part, here));
                part += 1;
            }
            Some(PatternPart::One) => (here, part) = (here + 1, part + 1),
            Some(PatternPart::Letter(letter)) if *letter == text[here] => (here, part) = (here + 1, part + 1),
            _ => match back {
                Some((any, start)) => {
                    back = Some((any, start + 1));
                    (here, part) = (start + 1, any + 1);
                }
                None => return CellValue::Truth(false),
            },
        }
    }
    CellValue::Truth(parts[part..].iter().all(|part| matches!(part, PatternPart::Any)))
}

enum PatternPart {
    Any,
    One,
    Letter(char),
}
