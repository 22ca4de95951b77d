//! Columns of bits by their names: a binary column, or a comparison that makes one of another column.

use crate::error::{Error, Result};
use crate::place::suggestion;
use crate::release::output::Cell;
use std::fmt;

/// When a bit is true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Test {
    /// A binary column is.
    Column(String),
    /// The value of a column compares so.
    Compared { column: String, comparison: Comparison, value: String },
}

/// How a value compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// All comparison operators, longer ones first, so that `>=` is not read as `>`.
const SIGNS: [(&str, Comparison); 7] = [
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    ("!=", Comparison::Unequal),
    ("<>", Comparison::Unequal),
    ("=", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::More),
];

impl Comparison {
    fn sign(self) -> &'static str {
        SIGNS.iter().find(|(_, comparison)| *comparison == self).map_or("=", |(sign, _)| sign)
    }

    /// What is true where this is not.
    fn negated(self) -> Self {
        match self {
            Self::Equal => Self::Unequal,
            Self::Unequal => Self::Equal,
            Self::Less => Self::AtLeast,
            Self::AtLeast => Self::Less,
            Self::More => Self::AtMost,
            Self::AtMost => Self::More,
        }
    }

    fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::More => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(column) => f.write_str(column),
            Self::Compared { column, comparison, value } => write!(f, "{column} {} {value}", comparison.sign()),
        }
    }
}

impl Test {
    /// `smoker`, `age >= 65`, `region = 'north'`.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let found = SIGNS.iter().filter_map(|(sign, comparison)| Some((text.find(sign)?, *sign, *comparison)));
        match found.min_by_key(|(place, sign, _)| (*place, std::cmp::Reverse(sign.len()))) {
            None => Self::Column(unquoted(text, '"')),
            Some((place, sign, comparison)) => Self::Compared {
                column: unquoted(text[..place].trim(), '"'),
                comparison,
                value: unquoted(text[place + sign.len()..].trim(), '\''),
            },
        }
    }

    /// The column that it is about.
    pub fn column(&self) -> &str {
        match self {
            Self::Column(column) | Self::Compared { column, .. } => column,
        }
    }

    /// What is true where this is not; none for a column.
    fn negated(&self) -> Option<Self> {
        match self {
            Self::Column(_) => None,
            Self::Compared { column, comparison, value } => {
                Some(Self::Compared { column: column.clone(), comparison: comparison.negated(), value: value.clone() })
            }
        }
    }

    /// For each value of the column whether it is true; a missing value is none of them, and for it nothing is.
    pub fn truths(&self, listed: &[Cell], is_missing: impl Fn(usize) -> bool) -> Result<Vec<bool>> {
        let known: Vec<bool> = (0..listed.len()).map(|code| !is_missing(code)).collect();
        let truths = listed.iter().zip(&known).map(|(cell, known)| Ok(*known && self.is_true(cell)?));
        let truths = truths.collect::<Result<Vec<bool>>>()?;
        let number = known.iter().filter(|known| **known).count();
        match truths.iter().filter(|truth| **truth).count() {
            _ if matches!(self, Self::Column(_)) && number > 2 => Err(Error::input(format!(
                "the column '{0}' has {number} values: say when it counts as true, as \"{0} = VALUE\" or \"{0} >= NUMBER\"",
                self.column()
            ))),
            0 => Err(Error::input(format!("'{self}' is true of no value of the column '{}'", self.column()))),
            all if all == number => {
                Err(Error::input(format!("'{self}' is true of every value of the column '{}'", self.column())))
            }
            _ => Ok(truths),
        }
    }

    fn is_true(&self, cell: &Cell) -> Result<bool> {
        let (comparison, value) = match (self, cell) {
            (Self::Column(_), Cell::Truth(truth)) => return Ok(*truth),
            (Self::Column(_), Cell::Whole(number)) => return Ok(*number != 0),
            (Self::Column(column), _) => {
                return Err(Error::input(format!(
                    "the column '{column}' is neither true nor false: say when it counts as true, as \"{column} = VALUE\""
                )));
            }
            (Self::Compared { comparison, value, .. }, _) => (*comparison, value),
        };
        match cell {
            Cell::Whole(number) => match value.parse::<i128>() {
                Ok(value) => Ok(comparison.holds(number.cmp(&value))),
                Err(_) => {
                    Err(Error::input(format!("'{self}' compares whole numbers with '{value}', which is not one")))
                }
            },
            _ if !matches!(comparison, Comparison::Equal | Comparison::Unequal) => Err(Error::input(format!(
                "'{self}' asks for an order that the values of '{}' do not have: write = or !=",
                self.column()
            ))),
            other => Ok(comparison.holds(other.text().cmp(value))),
        }
    }
}

fn unquoted(text: &str, mark: char) -> String {
    let inner = text.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    inner.unwrap_or(text).to_string()
}

/// A text such as `smoker AND NOT insured`, as it was understood.
#[derive(Debug, PartialEq)]
pub(crate) struct ParsedConjunction {
    /// The place of each literal among the tests, and whether it is to be true.
    pub literals: Vec<(usize, bool)>,
    /// What was asked by a contrary comparison, and the literal that answers it: of missing values the two differ.
    pub turned: Vec<(String, (usize, bool))>,
}

/// The literals of a text.
pub(crate) fn conjunction(text: &str, tests: &[Test]) -> Result<ParsedConjunction> {
    let parts = split(text)?;
    let (mut literals, mut turned) = (Vec::new(), Vec::new());
    for part in parts {
        let (literal, is_turned) = literal(&part, tests)?;
        turned.extend(is_turned.then(|| (part.trim().to_string(), literal)));
        if literals.contains(&(literal.0, !literal.1)) {
            let test = &tests[literal.0];
            return Err(Error::input(format!(
                "nobody satisfies '{test}' and 'NOT {test}' at once: leave one of them out"
            )));
        }
        if !literals.contains(&literal) {
            literals.push(literal);
        }
    }
    Ok(ParsedConjunction { literals, turned })
}

/// The parts between AND, outside of quotation marks.
fn split(text: &str) -> Result<Vec<String>> {
    let (mut parts, mut part, mut mark) = (Vec::new(), Vec::new(), None);
    for word in text.split_whitespace() {
        let is_and = mark.is_none() && word.eq_ignore_ascii_case("and");
        if mark.is_none() && (word.eq_ignore_ascii_case("or") || word.starts_with('(') || word.ends_with(')')) {
            return Err(Error::input(format!(
                "'{word}' is not supported: a conjunction joins columns by AND, each with or without NOT before it"
            )));
        }
        for letter in word.chars().filter(|letter| matches!(letter, '\'' | '"')) {
            mark = match mark {
                None => Some(letter),
                Some(open) if open == letter => None,
                open => open,
            };
        }
        if is_and {
            parts.push(std::mem::take(&mut part).join(" "));
        } else {
            part.push(word);
        }
    }
    parts.push(part.join(" "));
    if parts.iter().any(String::is_empty) {
        return Err(Error::input("a conjunction is columns joined by AND, such as \"smoker AND NOT insured\""));
    }
    Ok(parts)
}

/// A literal, and whether it is a comparison whose negation is among the tests.
fn literal(part: &str, tests: &[Test]) -> Result<((usize, bool), bool)> {
    let (mut rest, mut value) = (part.trim(), true);
    while let Some(after) =
        rest.get(..4).filter(|start| start.eq_ignore_ascii_case("not ")).map(|_| rest[4..].trim_start())
    {
        (rest, value) = (after, !value);
    }
    let asked = Test::parse(rest);
    let place = |test: &Test| tests.iter().position(|known| known == test);
    if let Some(place) = place(&asked) {
        return Ok(((place, value), false));
    }
    if let Some(place) = asked.negated().and_then(|negated| place(&negated)) {
        return Ok(((place, !value), true));
    }
    let names: Vec<String> = tests.iter().map(ToString::to_string).collect();
    let hint = suggestion(rest, names.iter().map(String::as_str));
    let some = if names.len() <= 12 { format!("; they are: {}", names.join(", ")) } else { String::new() };
    Err(Error::input(format!("'{rest}' is not among the columns of this release{hint}{some}")))
}

#[cfg(test)]
mod tests;
