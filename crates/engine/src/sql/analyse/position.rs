//! Where in a query something stands that a refusal is about.
//!
//! All positions are those of sqlparser. What its tree has a span for is looked up there: calls and columns, so that
//! a name behind AS is no column and a column is no function. Its tree has no spans for keywords and operators, and
//! the planner's expressions have none at all: those are looked up among the parser's tokens, which have, so that
//! nothing is found in a comment or in the middle of a string. A refusal that is made from a plan names what it is
//! about, and is placed where that stands first.

use datafusion::sql::sqlparser::ast::{Expr, Ident, visit_expressions};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, Tokenizer};
use std::ops::ControlFlow;

/// The places of a query.
#[derive(Debug, Clone)]
pub(crate) struct Positions {
    calls: Vec<PlacedName>,
    columns: Vec<PlacedName>,
    tokens: Vec<PlacedName>,
}

/// Something that has a name, in small letters, and where that begins: of what is quoted, behind the quote.
#[derive(Debug, Clone)]
struct PlacedName {
    name: String,
    is_word: bool,
    at: Location,
}

impl Positions {
    /// Those of a query that could be parsed.
    pub fn of(sql: &str) -> Self {
        let dialect = PostgreSqlDialect {};
        let mut tokens = Tokenizer::new(&dialect, sql).tokenize_with_location().unwrap_or_default();
        tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
        let (mut calls, mut columns) = (Vec::new(), Vec::new());
        let parsed = Parser::new(&dialect).with_tokens_with_locations(tokens.clone()).parse_statements();
        let _ = visit_expressions(&parsed.unwrap_or_default(), |expression| {
            match expression {
                Expr::Function(function) => {
                    calls.extend(function.name.0.last().and_then(|part| part.as_ident()).map(PlacedName::of));
                }
                Expr::Identifier(column) => columns.push(PlacedName::of(column)),
                Expr::CompoundIdentifier(parts) => columns.extend(parts.last().map(PlacedName::of)),
                _ => {}
            }
            ControlFlow::<()>::Continue(())
        });
        let token = |token: datafusion::sql::sqlparser::tokenizer::TokenWithSpan| {
            let at = token.span.start;
            match token.token {
                Token::Word(word) => PlacedName::new(&word.value, true, word.quote_style.is_some(), at),
                Token::SingleQuotedString(text) => PlacedName::new(&text, false, true, at),
                other => PlacedName::new(&other.to_string(), false, false, at),
            }
        };
        Self { calls, columns, tokens: tokens.into_iter().map(token).collect() }
    }

    /// Of a call of a function, by its name in the plan or in the query.
    pub fn call(&self, name: &str) -> Option<Location> {
        first(&self.calls, name).or_else(|| self.word(name))
    }

    /// Of a column.
    pub fn column(&self, name: &str) -> Option<Location> {
        first(&self.columns, name).or_else(|| self.word(name))
    }

    /// Of words, names, operators or a whole string; of a word in which this one is, where it does not stand by
    /// itself: VAR_SAMP is `var` in the plan.
    pub fn word(&self, word: &str) -> Option<Location> {
        let word = word.to_lowercase();
        let parts: Vec<&str> = word.split_whitespace().collect();
        if parts.is_empty() {
            return None;
        }
        let is_here = |window: &&[PlacedName]| window.iter().zip(&parts).all(|(token, part)| token.name == *part);
        let phrase = || self.tokens.windows(parts.len()).find(is_here).and_then(|window| window.first());
        let within = || self.tokens.iter().find(|token| token.is_word && token.name.contains(&word));
        first(&self.tokens, &word).or_else(|| phrase().or_else(within).map(|token| token.at))
    }
}

impl PlacedName {
    fn new(name: &str, is_word: bool, is_quoted: bool, at: Location) -> Self {
        let column = at.column + u64::from(is_quoted);
        Self { name: name.to_lowercase(), is_word, at: Location { column, ..at } }
    }

    fn of(ident: &Ident) -> Self {
        Self::new(&ident.value, true, ident.quote_style.is_some(), ident.span.start)
    }
}

/// Where the first one of this name stands that stands anywhere: what the parser made itself has no place.
fn first(all: &[PlacedName], name: &str) -> Option<Location> {
    let name = name.to_lowercase();
    all.iter().filter(|one| one.name == name && one.at.line > 0).map(|one| one.at).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant_is_found_and_not_what_looks_like_it() {
        let sql =
            "SELECT 'sum of n' AS sum, -- n, sum\n  VAR_SAMP(n) AS n, SUM(t.\"N x\") /* over */\nFROM t GROUP\nBY 1";
        let positions = Positions::of(sql);
        let at = |found: Option<Location>| found.map(|at| (at.line, at.column));
        assert_eq!(at(positions.call("sum")), Some((2, 21)), "the call, not the name behind AS");
        assert_eq!(at(positions.word("sum")), Some((1, 22)));
        assert_eq!(at(positions.column("n")), Some((2, 12)));
        assert_eq!(at(positions.column("N x")), Some((2, 28)));
        assert_eq!(at(positions.call("var")), Some((2, 3)));
        assert_eq!(at(positions.word("group by")), Some((3, 8)));
        assert_eq!(at(positions.word("sum of n")), Some((1, 9)));
        assert_eq!((at(positions.word("over")), at(positions.word("")), at(positions.word("/"))), (None, None, None));
    }
}
