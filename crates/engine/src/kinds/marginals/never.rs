//! Combinations that cannot be, as people write them: `age < 15 AND marital = 'married'`.
//!
//! Conditions on single columns, joined by AND: =, <>, !=, <, <=, >, >=, IN (…). They are public, so that they are read
//! and checked before anything is charged.

use crate::release::output::Cell;
use scumble::workload::wide::synthetic::StructuralZero;
use std::collections::BTreeMap;

/// A word of a condition.
#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    Text(String),
    Number(f64),
    Sign(&'static str),
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(word) => f.write_str(word),
            Self::Text(text) => write!(f, "'{text}'"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Sign(sign) => f.write_str(sign),
        }
    }
}

/// Operators and separators, longer ones first.
const SIGNS: [&str; 10] = ["<=", ">=", "<>", "!=", "<", ">", "=", "(", ")", ","];

/// What a text means for these columns, whose values are `labels`; or a sentence that says why it means nothing.
pub(crate) fn read(text: &str, names: &[String], labels: &[Vec<Cell>]) -> Result<StructuralZero, String> {
    let tokens = tokens(text)?;
    let mut meant: BTreeMap<usize, Vec<bool>> = BTreeMap::new();
    for condition in tokens.split(|token| matches!(token, Token::Name(name) if name.eq_ignore_ascii_case("and"))) {
        let (column, values) = one(condition, names, labels)?;
        let own = meant.entry(column).or_insert_with(|| vec![true; values.len()]);
        own.iter_mut().zip(values).for_each(|(own, value)| *own &= value);
    }
    if let Some((&column, _)) = meant.iter().find(|(_, values)| !values.contains(&true)) {
        return Err(format!("no value of the column '{}' satisfies '{text}', so it forbids nothing", names[column]));
    }
    let (columns, values) = meant.into_iter().unzip();
    Ok(StructuralZero { columns, values })
}

fn one(condition: &[Token], names: &[String], labels: &[Vec<Cell>]) -> Result<(usize, Vec<bool>), String> {
    let usual = "conditions are written as: column = 'text', column < 15, column IN (1, 2), joined by AND";
    let [Token::Name(name), rest @ ..] = condition else { return Err(usual.to_string()) };
    let Some(column) = names.iter().position(|own| own == name) else {
        let hint = crate::place::suggestion(name, names.iter().map(String::as_str));
        return Err(format!("'{name}' is not among the columns of this release{hint}"));
    };
    let values = |is: &dyn Fn(&Cell) -> Option<bool>| -> Result<Vec<bool>, String> {
        let each = labels[column].iter().map(is).collect::<Option<Vec<bool>>>();
        each.ok_or_else(|| {
            format!("the values of the column '{name}' are strings, which are compared with = and IN only")
        })
    };
    let literal_of = |literal: &Token| refuse_other_type(name, &labels[column], literal);
    match rest {
        [Token::Sign(sign @ ("=" | "<>" | "!=" | "<" | "<=" | ">" | ">=")), literal] if is_literal(literal) => {
            literal_of(literal)?;
            Ok((column, values(&|cell| compared(cell, sign, literal))?))
        }
        [Token::Name(word), Token::Sign("("), list @ .., Token::Sign(")")] if word.eq_ignore_ascii_case("in") => {
            let literals: Vec<&Token> = list.iter().step_by(2).collect();
            let commas = list.iter().skip(1).step_by(2).all(|token| *token == Token::Sign(","));
            if !commas || list.len().is_multiple_of(2) || !literals.iter().all(|literal| is_literal(literal)) {
                return Err(usual.to_string());
            }
            literals.iter().try_for_each(|literal| literal_of(literal))?;
            let any = |cell: &Cell| Some(literals.iter().any(|literal| compared(cell, "=", literal) == Some(true)));
            Ok((column, values(&any)?))
        }
        _ => Err(usual.to_string()),
    }
}

fn is_literal(token: &Token) -> bool {
    !matches!(token, Token::Sign(_))
}

/// A word that no value of the column can be is a mistake, and not a condition that nobody fulfils: `smokes = yes` was
/// read as `smokes = false`.
fn refuse_other_type(name: &str, labels: &[Cell], literal: &Token) -> Result<(), String> {
    let (fits, wanted) = match &labels[0] {
        Cell::Truth(_) => {
            let is_truth = |word: &str| word.eq_ignore_ascii_case("true") || word.eq_ignore_ascii_case("false");
            (matches!(literal, Token::Name(word) if is_truth(word)), "true or false")
        }
        Cell::Whole(_) => (matches!(literal, Token::Number(_)), "a number"),
        _ => (matches!(literal, Token::Text(_)), "a string in single quotes"),
    };
    let is_missing = matches!(literal, Token::Text(text) if text == crate::release::rows::records::MISSING_TEXT);
    match fits || is_missing {
        true => Ok(()),
        false => Err(format!("the column '{name}' is compared with {wanted}, not with {literal}")),
    }
}

/// Whether a value is as a condition says; none where texts would have to be put into order. A missing value is only
/// equal to its own text.
fn compared(cell: &Cell, sign: &str, literal: &Token) -> Option<bool> {
    let order = match (cell, literal) {
        (Cell::Text(own), Token::Text(text)) if matches!(sign, "=" | "<>" | "!=") => {
            return Some((**own == **text) == (sign == "="));
        }
        (Cell::Text(own), _) if **own == *crate::release::rows::records::MISSING_TEXT => return Some(false),
        (Cell::Text(_), _) => return None,
        (Cell::Whole(own), Token::Number(number)) => (*own as f64).partial_cmp(number),
        (Cell::Number(own), Token::Number(number)) => own.partial_cmp(number),
        (Cell::Truth(own), Token::Name(word)) => Some(own.cmp(&word.eq_ignore_ascii_case("true"))),
        _ => return Some(false),
    }?;
    Some(match sign {
        "=" => order.is_eq(),
        "<>" | "!=" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    })
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = if first == '\'' || first == '"' {
            quoted(rest, first)?
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Token::Sign(sign), sign.len())
        } else {
            let length = rest.find(|c: char| !(c.is_alphanumeric() || "_.-+".contains(c))).unwrap_or(rest.len());
            let word = &rest[..length.max(first.len_utf8())];
            match word.parse::<f64>() {
                Ok(number) if number.is_finite() => (Token::Number(number), word.len()),
                _ => (Token::Name(word.to_string()), word.len()),
            }
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

/// A text in quotes or a name in double quotes; a doubled quote is one.
fn quoted(rest: &str, quote: char) -> Result<(Token, usize), String> {
    let mut text = String::new();
    let mut letters = rest.char_indices().skip(1).peekable();
    while let Some((place, letter)) = letters.next() {
        if letter != quote {
            text.push(letter);
        } else if letters.next_if(|(_, next)| *next == quote).is_some() {
            text.push(quote);
        } else {
            let token = if quote == '\'' { Token::Text(text) } else { Token::Name(text) };
            return Ok((token, place + 1));
        }
    }
    Err(format!("the quote that begins at {rest} is not closed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> (Vec<String>, Vec<Vec<Cell>>) {
        let names = ["age", "marital", "smokes"].map(String::from).to_vec();
        let texts = ["single", "it's", "(missing)"].map(|text| Cell::Text(text.into())).to_vec();
        let ages = (0..4).map(Cell::Whole).chain([Cell::Text("(missing)".into())]).collect();
        (names, vec![ages, texts, vec![Cell::Truth(false), Cell::Truth(true)]])
    }

    #[test]
    fn conditions_are_read_as_they_are_written() {
        let (names, labels) = labels();
        let read = |text: &str| read(text, &names, &labels);
        let never = read("age < 2 AND marital = 'it''s'").unwrap();
        assert_eq!(never.columns, [0, 1]);
        assert_eq!(never.values, [vec![true, true, false, false, false], vec![false, true, false]]);
        assert_eq!(read("\"age\" IN (1, 3) and smokes = true").unwrap().values[0], [false, true, false, true, false]);
        assert_eq!(read("age >= 1 AND age <> 2").unwrap().values, [vec![false, true, false, true, false]]);
        assert_eq!(read("marital != 'single'").unwrap().values, [vec![false, true, true]]);
        assert_eq!(read("smokes = false").unwrap().values, [vec![true, false]]);
        assert_eq!(read("age = '(missing)'").unwrap().values, [vec![false, false, false, false, true]]);
    }

    #[test]
    fn what_means_nothing_is_said_in_one_sentence() {
        let (names, labels) = labels();
        let wrong = |text: &str| read(text, &names, &labels).unwrap_err();
        assert!(wrong("agee < 2").contains("did you mean 'age'"));
        assert!(wrong("age < 0").contains("forbids nothing"));
        assert!(wrong("marital > 'a'").contains("compared with = and IN only"));
        assert!(wrong("smokes = yes").contains("'smokes' is compared with true or false, not with yes"));
        assert!(wrong("marital = single").contains("a string in single quotes, not with single"));
        assert!(wrong("marital IN (single, 'it''s')").contains("not with single"));
        assert!(wrong("age = '1'").contains("with a number, not with '1'"));
        assert!(wrong("age IN (1, x)").contains("with a number, not with x"));
        for text in [
            "",
            "age",
            "age <",
            "age < 2 OR age > 3",
            "age IN ()",
            "age IN (1 2)",
            "age = 1 AND",
            "(age = 1)",
            "é",
            "age = (",
        ] {
            assert!(!wrong(text).is_empty(), "{text}");
        }
        assert!(wrong("marital = 'single").contains("is not closed"));
    }
}
