//! Where in a query something stands that a refusal is about.
//!
//! All positions are spans of sqlparser. Calls, columns and names behind AS are those of its tree, so that a name
//! behind AS is no column and a column is no function. The tree has no spans for keywords, operators and the names of
//! calls with a grammar of their own: those are looked up among the parser's tokens, whole, so that nothing is found in
//! a comment or in the middle of a word or string. A refusal that is made from a plan names what it is about, and is
//! placed where that stands first; where the tree does not have it, the refusal has no position.

use crate::sql::functions;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, Select, SelectItem, Statement, TableWithJoins, Visit, Visitor,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};
use std::ops::ControlFlow;

/// The places of a query.
#[derive(Debug, Clone, Default)]
pub(crate) struct Positions {
    calls: Vec<PlacedName>,
    columns: Vec<PlacedName>,
    aliases: Vec<PlacedName>,
    tokens: Vec<PlacedName>,
}

/// Something that has a name, in small letters, and where that begins: of what is quoted, behind the quote.
#[derive(Debug, Clone)]
struct PlacedName {
    name: String,
    is_quoted: bool,
    at: Location,
}

/// Calls that are no calls in the parser's tree, because their arguments have a grammar of their own, with their names
/// in the plan.
const OWN_GRAMMAR: [(&str, &str); 5] =
    [("ceil", "ceil"), ("floor", "floor"), ("substr", "substr"), ("substring", "substr"), ("extract", "date_part")];

impl Positions {
    /// Those of a query that could be parsed.
    pub fn of(sql: &str) -> Self {
        let dialect = PostgreSqlDialect {};
        let mut tokens = Tokenizer::new(&dialect, sql).tokenize_with_location().unwrap_or_default();
        tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
        let mut places = Self::default();
        let parsed = Parser::new(&dialect).with_tokens_with_locations(tokens.clone()).parse_statements();
        let _ = parsed.unwrap_or_default().iter().try_for_each(|statement: &Statement| statement.visit(&mut places));
        places.tokens = tokens.iter().map(PlacedName::of_token).collect();
        let opened = tokens.iter().skip(1).map(|next| next.token == Token::LParen);
        for (word, _) in places.tokens.iter().zip(opened).filter(|(word, is_opened)| *is_opened && !word.is_quoted) {
            let own = OWN_GRAMMAR.iter().find(|(written, _)| *written == word.name);
            places.calls.extend(own.map(|(_, planned)| PlacedName { name: planned.to_string(), ..word.clone() }));
        }
        places
    }

    /// Of a call of a function, by its name in the plan or in the query.
    pub fn call(&self, name: &str) -> Option<Location> {
        let planned = functions::planned_name(name);
        earliest(self.calls.iter().filter(|call| functions::planned_name(&call.name) == planned))
    }

    /// The name of the first call but those of functions that are known.
    pub fn call_but(&self, is_known: impl Fn(&str) -> bool) -> Option<&str> {
        let unknown = self.calls.iter().filter(|call| !is_known(&functions::planned_name(&call.name)));
        unknown.min_by_key(|call| call.at).map(|call| call.name.as_str())
    }

    /// Of a column.
    pub fn column(&self, name: &str) -> Option<Location> {
        first(&self.columns, name)
    }

    /// Of a column of the result: of its name behind AS, or else of the call or the column that it is called after.
    pub fn result(&self, name: &str) -> Option<Location> {
        first(&self.aliases, name).or_else(|| self.call(name)).or_else(|| self.column(name))
    }

    /// Of words, names, operators or a whole string.
    pub fn word(&self, word: &str) -> Option<Location> {
        let word = word.to_lowercase();
        let parts: Vec<&str> = word.split_whitespace().collect();
        if parts.is_empty() {
            return None;
        }
        let is_here = |window: &&[PlacedName]| window.iter().zip(&parts).all(|(token, part)| token.name == *part);
        let phrase = || self.tokens.windows(parts.len()).find(is_here).and_then(|window| window.first());
        first(&self.tokens, &word).or_else(|| phrase().map(|token| token.at))
    }

    /// Whether a column is read whose name stands in double quotes.
    pub fn has_quoted_column(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.is_quoted && column.name == name.to_lowercase())
    }

    fn note_joins(&mut self, from: &TableWithJoins) {
        for join in &from.joins {
            let (JoinOperator::Join(on)
            | JoinOperator::Inner(on)
            | JoinOperator::Left(on)
            | JoinOperator::LeftOuter(on)
            | JoinOperator::Right(on)
            | JoinOperator::RightOuter(on)
            | JoinOperator::FullOuter(on)) = &join.join_operator
            else {
                continue;
            };
            let JoinConstraint::Using(columns) = on else { continue };
            let names = columns.iter().filter_map(|column| column.0.last()?.as_ident());
            self.columns.extend(names.map(PlacedName::of));
        }
    }
}

impl Visitor for Positions {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        select.from.iter().for_each(|from| self.note_joins(from));
        self.aliases.extend(select.projection.iter().filter_map(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => Some(PlacedName::of(alias)),
            _ => None,
        }));
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        match expression {
            Expr::Function(function) => {
                self.calls.extend(function.name.0.last().and_then(|part| part.as_ident()).map(PlacedName::of));
            }
            Expr::Identifier(column) => self.columns.push(PlacedName::of(column)),
            Expr::CompoundIdentifier(parts) => self.columns.extend(parts.last().map(PlacedName::of)),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl PlacedName {
    fn new(name: &str, is_quoted: bool, at: Location) -> Self {
        let column = at.column + u64::from(is_quoted);
        Self { name: name.to_lowercase(), is_quoted, at: Location { column, ..at } }
    }

    fn of(ident: &Ident) -> Self {
        Self::new(&ident.value, ident.quote_style.is_some(), ident.span.start)
    }

    fn of_token(token: &TokenWithSpan) -> Self {
        let at = token.span.start;
        match &token.token {
            Token::Word(word) => Self::new(&word.value, word.quote_style.is_some(), at),
            Token::SingleQuotedString(text) => Self::new(text, true, at),
            other => Self::new(&other.to_string(), false, at),
        }
    }
}

/// Where the first one of this name stands.
fn first(all: &[PlacedName], name: &str) -> Option<Location> {
    let name = name.to_lowercase();
    earliest(all.iter().filter(|one| one.name == name))
}

/// The first of these places that is one: what the parser made itself stands nowhere.
fn earliest<'a>(all: impl Iterator<Item = &'a PlacedName>) -> Option<Location> {
    all.map(|one| one.at).filter(|at| at.line > 0).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(found: Option<Location>) -> Option<(u64, u64)> {
        found.map(|at| (at.line, at.column))
    }

    #[test]
    fn what_is_meant_is_found_and_not_what_looks_like_it() {
        let sql =
            "SELECT 'sum of n' AS sum, -- n, sum\n  VAR_SAMP(n) AS n, SUM(t.\"N x\") /* over */\nFROM t GROUP\nBY 1";
        let positions = Positions::of(sql);
        assert_eq!(at(positions.call("sum")), Some((2, 21)), "the call, not the name behind AS");
        assert_eq!(at(positions.word("sum")), Some((1, 22)));
        assert_eq!(at(positions.column("n")), Some((2, 12)));
        assert_eq!(at(positions.column("N x")), Some((2, 28)));
        assert!(positions.has_quoted_column("N x") && !positions.has_quoted_column("n"));
        assert_eq!(at(positions.result("n")), Some((2, 18)));
        assert_eq!(at(positions.call("var")), Some((2, 3)), "by its name in the plan");
        assert_eq!(at(positions.word("group by")), Some((3, 8)));
        assert_eq!(at(positions.word("sum of n")), Some((1, 9)));
        assert_eq!((at(positions.word("over")), at(positions.word("")), at(positions.word("/"))), (None, None, None));
    }

    /// A word in which another one is, and a name that only looks like a call or a column, gave positions that were
    /// beside the point.
    #[test]
    fn what_the_tree_does_not_have_has_no_position() {
        let positions = Positions::of("SELECT COUNT(*) AS average FROM variances GROUP BY total");
        let calls = ["avg", "var", "average", "group"].map(|name| positions.call(name));
        let columns = ["average", "variances", "tot", "count"].map(|name| positions.column(name));
        assert!(calls.iter().chain(&columns).all(Option::is_none), "{calls:?} {columns:?}");
        assert_eq!((at(positions.word("var")), at(positions.word("aver"))), (None, None));
    }

    /// The tree of these has spans for their arguments alone.
    #[test]
    fn calls_with_a_grammar_of_their_own_stand_where_their_names_do() {
        let sql =
            "SELECT FLOOR(SUBSTRING(a FROM 2)), SUBSTR(a, 1), EXTRACT(YEAR FROM d), \"floor\" FROM t JOIN u USING (k)";
        let positions = Positions::of(sql);
        assert_eq!(at(positions.call("floor")), Some((1, 8)));
        assert_eq!(at(positions.call("substr")), Some((1, 14)));
        assert_eq!(at(positions.call("date_part")), Some((1, 50)));
        assert_eq!(at(positions.column("floor")), Some((1, 73)));
        assert_eq!(at(positions.column("k")), Some((1, 101)));
    }
}
