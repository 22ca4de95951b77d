//! How deep the parse of a text can become, from its tokens alone.
//!
//! The parser counts how often it calls itself for expressions, queries and tables, and not for types, intervals or
//! what is chained by a loop: `INT[][]…` and `1+1+…` become trees as deep as they are long, and whatever walks, copies
//! or drops these calls itself for each level. So a text is measured before it is parsed. Every bound here is one from
//! above: a tree is at most as deep as the brackets around it, the tokens in a row that open something (a *run*), and
//! the operators beside each other (a *chain*).

use super::DEEPEST;
use crate::error::{Error, Result};
use datafusion::sql::sqlparser::dialect::{Dialect, PostgreSqlDialect};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

/// The longest query, in bytes.
const LONGEST: usize = 100_000;
/// The longest chain of operators that is parsed at all.
const LONGEST_CHAIN: usize = 2_000;
/// The most brackets, CASEs and parameters of types inside each other; the parser gives up at 50 of most.
const DEEPEST_BRACKETS: usize = 200;
/// The most tokens in a row where each can stand before the next one and no token is an operand: NOT NOT, - -, INTERVAL
/// INTERVAL.
const LONGEST_RUN: usize = 100;
/// The most tokens that the parser reads, one as often as it is read. `CAST(` is tried as a cast, and where what stands
/// in it is wrong as a call of a function; in PostgreSQL's dialect each argument of a call is tried first as the name
/// of another one, right or wrong. Each level of such brackets multiplies the time, and 40 of them, 80 bytes, kept a
/// thread for ever.
const MOST_READ: usize = 1_000_000;
/// The most pairs of square brackets behind each other: the dimensions of an array.
const MOST_DIMENSIONS: usize = 16;

/// Refuses a text that is too long or could be too deep to be parsed.
pub(crate) fn refuse_too_long(sql: &str) -> Result<()> {
    refuse_too_long_in(sql, &PostgreSqlDialect {})
}

/// The same for a text that is parsed in this dialect.
pub(crate) fn refuse_too_long_in(sql: &str, dialect: &dyn Dialect) -> Result<()> {
    if sql.len() > LONGEST {
        return Err(Error::input(format!("query: it has more than {LONGEST} bytes; release its parts one by one")));
    }
    // A text that is not made of tokens is refused by the parser, with its own words, before it is parsed.
    let Ok(tokens) = Tokenizer::new(dialect, sql).tokenize() else { return Ok(()) };
    let mut measure =
        TokenCounts { doubles: dialect.supports_named_fn_args_with_expr_name(), ..TokenCounts::default() };
    tokens.iter().try_for_each(|token| measure.take(token))?;
    if measure.read > MOST_READ {
        return Err(nested());
    }
    match measure.longest_chain() > LONGEST_CHAIN {
        true => Err(too_deep()),
        false => Ok(()),
    }
}

/// The refusal of an expression.
pub(super) fn too_deep() -> Error {
    Error::input(format!(
        "query: an expression is more than {DEEPEST} operators deep; write IN (…) instead of many ORs, or compute parts of it in a sub-query"
    ))
}

fn nested() -> Error {
    Error::input("query: it is nested too deeply; compute parts of it in WITH")
}

/// Words behind which nothing else is tried before a call: they stand between expressions.
const ONE_WAY: &[Keyword] = &[
    Keyword::AND,
    Keyword::OR,
    Keyword::WHERE,
    Keyword::ON,
    Keyword::HAVING,
    Keyword::WHEN,
    Keyword::THEN,
    Keyword::ELSE,
    Keyword::BY,
    Keyword::SELECT,
    Keyword::DISTINCT,
    Keyword::AS,
    Keyword::LIKE,
    Keyword::ILIKE,
    Keyword::BETWEEN,
    Keyword::USING,
    Keyword::OVER,
    Keyword::FILTER,
    Keyword::VALUES,
    Keyword::UNION,
    Keyword::ALL,
    Keyword::ANY,
    Keyword::EXCEPT,
    Keyword::INTERSECT,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::TRIM,
    Keyword::END,
    Keyword::SETS,
];

/// What a level ends with.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum LevelEnd {
    /// A closing bracket, or the end of the text.
    #[default]
    Bracket,
    /// END.
    Case,
    /// The `>` behind the parameters of a type.
    Type,
}

/// What stands between two brackets.
#[derive(Default)]
struct Level {
    opened: LevelEnd,
    /// How often what is in it is read, at most, less one.
    again: usize,
    /// The operators since the last comma, and the deepest level among them.
    operators: usize,
    inner: usize,
    /// The longest chain between two commas.
    longest: usize,
    /// The parts of UNION and its kin; each stands inside the next one, whatever commas they hold.
    parts: usize,
}

impl Level {
    fn end_part(&mut self) {
        self.longest = self.longest.max(self.operators + self.inner);
        (self.operators, self.inner) = (0, 0);
    }

    fn depth(mut self) -> usize {
        self.end_part();
        self.longest + self.parts
    }
}

/// The tokens so far.
struct TokenCounts {
    levels: Vec<Level>,
    /// Whether each argument of a call is read twice.
    doubles: bool,
    /// The tokens so far, each as often as it is read at most.
    read: usize,
    run: usize,
    dimensions: usize,
    /// Whether the last token was a closing square bracket, or a word that types with parameters begin with.
    after_dimension: bool,
    after_type: bool,
    /// Whether an operand ended with it.
    after_operand: bool,
    /// What a bracket after it means.
    after: BracketRole,
}

/// What a bracket after the last token means.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum BracketRole {
    #[default]
    Other,
    /// The name of a function.
    Name,
    /// A word that stands between expressions, where it can be taken for the name of a function as well: `IN (SELECT (`
    /// is read as a query, and where that is wrong as a list with a call of SELECT.
    Either,
    /// A keyword that begins an expression, which is tried before a call; or the first of two brackets that may be a
    /// query.
    Word,
    /// FROM, IN: behind it two brackets are a query or something else.
    From,
    /// JOIN is such a word, and one that can be taken for the name of a function; so is a FROM that stands behind no
    /// expression.
    Join,
    /// POSITION is tried as itself and then as a call, and where both are wrong as a call again.
    Position,
    Interval,
}

impl Default for TokenCounts {
    fn default() -> Self {
        Self {
            levels: vec![Level::default()],
            doubles: false,
            read: 0,
            run: 0,
            dimensions: 0,
            after_dimension: false,
            after_type: false,
            after_operand: false,
            after: BracketRole::Other,
        }
    }
}

impl TokenCounts {
    fn take(&mut self, token: &Token) -> Result<()> {
        if matches!(token, Token::Whitespace(_) | Token::EOF) {
            return Ok(());
        }
        let (after_dimension, after_type) = (self.after_dimension, self.after_type);
        (self.after_dimension, self.after_type) = (false, false);
        let after_operand = std::mem::take(&mut self.after_operand);
        let after = std::mem::take(&mut self.after);
        self.read = self.read.saturating_add(self.level().again.saturating_add(1));
        self.run += 1;
        match token {
            Token::LParen | Token::LBrace => {
                self.open_after(after);
                self.after = if matches!(after, BracketRole::From | BracketRole::Join) {
                    BracketRole::Word
                } else {
                    BracketRole::Other
                };
            }
            Token::LBracket => {
                self.dimensions = if after_dimension { self.dimensions + 1 } else { 1 };
                self.open_after(after);
            }
            Token::Lt if after_type => self.open(LevelEnd::Type),
            Token::RParen | Token::RBrace => {
                self.close_bracket();
                self.after_operand = true;
            }
            Token::RBracket => {
                self.close_bracket();
                (self.after_dimension, self.after_operand) = (true, true);
            }
            Token::Gt if self.is_in(LevelEnd::Type) => self.close(),
            Token::ShiftRight if self.is_in(LevelEnd::Type) => {
                self.close();
                if self.is_in(LevelEnd::Type) {
                    self.close();
                }
            }
            // Tried as a type and as a prefix, each time with all that follows.
            Token::Word(word) if word.keyword == Keyword::INTERVAL && after == BracketRole::Interval => {
                return Err(nested());
            }
            Token::Word(word) => self.word(word.keyword, after_operand),
            Token::Comma => {
                // In FROM it stands before another table.
                self.after = BracketRole::From;
                self.run = 0;
                self.level().end_part();
            }
            // A statement stands beside the next one.
            Token::SemiColon => {
                let (doubles, read) = (self.doubles, self.read);
                *self = Self { levels: vec![self.ended()], doubles, read, ..Self::default() }
            }
            Token::Number(..) | Token::SingleQuotedString(_) => {
                self.run = 0;
                self.after_operand = true;
            }
            Token::Mul => {
                // Behind an operand it multiplies; elsewhere it stands for all columns.
                self.after_operand = !after_operand;
                self.level().operators += 1;
            }
            _ => self.level().operators += 1,
        }
        if self.levels.len() > DEEPEST_BRACKETS || self.run > LONGEST_RUN {
            return Err(nested());
        }
        if self.dimensions > MOST_DIMENSIONS {
            return Err(Error::input(format!(
                "query: more than {MOST_DIMENSIONS} pairs of square brackets follow each other; no array has so many \
                    dimensions"
            )));
        }
        Ok(())
    }

    fn word(&mut self, keyword: Keyword, after_operand: bool) {
        self.after = match keyword {
            Keyword::FROM if after_operand => BracketRole::From,
            Keyword::FROM | Keyword::JOIN => BracketRole::Join,
            // No name of a function: what follows is a query, and nothing else is tried.
            Keyword::EXISTS => BracketRole::Other,
            Keyword::IN if after_operand => BracketRole::From,
            Keyword::INTERVAL => BracketRole::Interval,
            Keyword::POSITION => BracketRole::Position,
            Keyword::NoKeyword => BracketRole::Name,
            // Behind an operand it stands between two; elsewhere it can be taken for the name of a function.
            keyword if ONE_WAY.contains(&keyword) && after_operand => BracketRole::Other,
            keyword if ONE_WAY.contains(&keyword) || keyword == Keyword::IN => BracketRole::Either,
            _ => BracketRole::Word,
        };
        self.after_operand =
            matches!(keyword, Keyword::NoKeyword | Keyword::NULL | Keyword::TRUE | Keyword::FALSE | Keyword::END);
        match keyword {
            Keyword::NoKeyword => self.run = 0,
            Keyword::CASE => {
                self.open(LevelEnd::Case);
                self.read_again(2);
            }
            Keyword::END if self.is_in(LevelEnd::Case) => self.close(),
            Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::MINUS => self.level().parts += 1,
            Keyword::NULL | Keyword::TRUE | Keyword::FALSE => {
                self.run = 0;
                self.level().operators += 1;
            }
            _ => {
                self.after_type = matches!(keyword, Keyword::ARRAY | Keyword::STRUCT | Keyword::MAP | Keyword::TABLE);
                self.level().operators += 1;
            }
        }
    }

    fn level(&mut self) -> &mut Level {
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        let last = self.levels.len() - 1;
        &mut self.levels[last]
    }

    fn is_in(&self, opened: LevelEnd) -> bool {
        self.levels.len() > 1 && self.levels.last().is_some_and(|level| level.opened == opened)
    }

    fn open(&mut self, opened: LevelEnd) {
        let again = self.level().again;
        self.levels.push(Level { opened, again, ..Level::default() });
    }

    fn open_after(&mut self, after: BracketRole) {
        self.open(LevelEnd::Bracket);
        let times = match (after, self.doubles) {
            (BracketRole::Other | BracketRole::From, _) | (BracketRole::Name | BracketRole::Join, false) => 1,
            (BracketRole::Name | BracketRole::Join, true) | (BracketRole::Either, false) => 2,
            (BracketRole::Either, true) | (BracketRole::Word, false) => 3,
            // LOCALTIME is tried as itself with arguments, and as a call with arguments.
            (BracketRole::Word, true) => 4,
            (BracketRole::Position | BracketRole::Interval, _) => 5,
        };
        self.read_again(times);
    }

    /// What is in the last level is read so many times as often as itself. (A CASE in which something is wrong is tried
    /// as a column of that name, and a WHEN behind it is then one of the CASE around it.)
    fn read_again(&mut self, times: usize) {
        let level = self.level();
        level.again = level.again.saturating_add(1).saturating_mul(times).saturating_sub(1);
    }

    /// Ends the last bracket, and what was begun inside it and not ended.
    fn close_bracket(&mut self) {
        while self.is_in(LevelEnd::Case) || self.is_in(LevelEnd::Type) {
            self.close();
        }
        self.close();
    }

    /// Ends a level. What follows it may be chained to it: it counts as an operator, as deep as what is inside.
    fn close(&mut self) {
        self.run = 0;
        let depth = self.levels.pop().map_or(0, Level::depth);
        let outer = self.level();
        outer.inner = outer.inner.max(depth + 1);
        outer.operators += 1;
    }

    /// The outermost level, all others closed.
    fn ended(&mut self) -> Level {
        while self.levels.len() > 1 {
            self.close();
        }
        let longest = std::mem::take(&mut self.levels).pop().map_or(0, Level::depth);
        Level { longest, ..Level::default() }
    }

    fn longest_chain(mut self) -> usize {
        self.ended().depth()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    fn chain(sql: &str) -> usize {
        let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize().unwrap();
        let mut measure = TokenCounts::default();
        tokens.iter().try_for_each(|token| measure.take(token)).unwrap();
        measure.longest_chain()
    }

    fn refusal(sql: &str) -> String {
        refuse_too_long_in(sql, &GenericDialect {}).map_or_else(|error| error.to_string(), |()| String::new())
    }

    /// A free plan of 65 kB, `CAST(NULL AS INT[][]…)`, ended the server: pairs of brackets behind each other counted as
    /// one level.
    #[test]
    fn what_follows_each_other_counts_and_not_only_what_is_inside() {
        assert!(chain("SELECT a[1].b[1].c[1].d[1]") > chain("SELECT a[1].b[1]") + 2);
        // A pair of brackets is a level of its own, and an operator for what stands around it.
        let brackets = |pairs: usize| chain(&format!("SELECT {}a{}", "(".repeat(pairs), ")".repeat(pairs)));
        assert!(brackets(9) >= brackets(1) + 16);
        assert!(refusal(&format!("SELECT CAST(NULL AS INT{})", "[]".repeat(17))).contains("16 pairs"));
        assert!(refusal(&format!("SELECT CAST(NULL AS INT{})", " [ 3 ]\n".repeat(30_000 / 8))).contains("16 pairs"));
        assert_eq!(refusal(&format!("SELECT CAST(NULL AS INT{})", "[]".repeat(16))), "");
    }

    /// Commas end a chain of operators, and no chain of UNIONs nor the parameters of a type.
    #[test]
    fn commas_hide_nothing() {
        assert!(refusal(&vec!["SELECT 1,1"; 4_500].join(" UNION ALL ")).contains("100 operators"));
        let fields = format!("SELECT CAST(NULL AS {}INT{})", "STRUCT<a INT, b ".repeat(3_000), ">".repeat(3_000));
        assert!(refusal(&fields).contains("nested too deeply"));
        assert_eq!(refusal("SELECT CAST(NULL AS STRUCT<a INT, b ARRAY<ARRAY<INT>>>), map < 3, 1 >> 2"), "");
    }

    #[test]
    fn prefixes_in_a_row_are_few() {
        for prefix in ["NOT ", "- ", "INTERVAL ", "CASE ", "(", "EXPLAIN ", "ARRAY<", "EXISTS (", "LATERAL "] {
            assert!(refusal(&format!("SELECT {}1", prefix.repeat(1_000))).contains("nested too deeply"), "{prefix}");
        }
    }

    /// `SELECT CAST(CAST(…` of 200 bytes kept a thread at work for ever: what is wrong inside is read twice at each
    /// level.
    #[test]
    fn what_is_read_again_is_not_nested_often() {
        for opened in
            ["CAST(", "NOT (", "EXTRACT(YEAR FROM CAST(", "CASE (", "ARRAY[", "INTERVAL (", "SUBSTRING(", "PRIOR ("]
        {
            assert!(refusal(&format!("SELECT {}", opened.repeat(13))).contains("nested too deeply"), "{opened}");
            assert_eq!(refusal(&format!("SELECT {}", opened.repeat(4))), "", "{opened}");
        }
        // The longer what is read again, the fewer times.
        let list = vec!["1"; 15_000].join(",");
        assert!(refusal(&format!("SELECT {}a IN ({list})", "NOT (".repeat(5))).contains("nested too deeply"));
        assert_eq!(refusal(&format!("SELECT {}a IN ({list})", "NOT (".repeat(3))), "");
        // Without a bracket: of 96 CASEs inside each other the thread read for ever.
        let cases = |deep: usize| format!("SELECT {}1{}", "CASE WHEN a THEN 1 ELSE ".repeat(deep), " END".repeat(deep));
        assert!(refusal(&cases(20)).contains("nested too deeply"));
        assert_eq!(refusal(&cases(15)), "");
        assert!(refusal("SELECT INTERVAL INTERVAL '1' DAY").contains("nested too deeply"));
        assert!(refusal(&"SELECT 1 FROM ((".repeat(13)).contains("nested too deeply"));
        assert!(refusal(&"SELECT 1 FROM a, ((".repeat(13)).contains("nested too deeply"));
        assert_eq!(refusal(&"SELECT 1 FROM (".repeat(20)), "");
        assert_eq!(refusal(&format!("SELECT f({}", "g(h((a AND (".repeat(12))), "");
    }

    /// `f(f(f(…` of 80 bytes kept a thread for ever: in PostgreSQL's dialect each argument of a call is read twice,
    /// right or wrong, and a name in front of a bracket did not count. Nor did the second bracket of `IN ((SELECT …`,
    /// which is read as a query and as a list; that of `EXISTS ((SELECT …` is read once.
    #[test]
    fn each_way_in_which_a_bracket_is_read_counts() {
        assert!(refusal(&format!("SELECT {}1 2", "a IN (SELECT (".repeat(40))).contains("nested too deeply"));
        let postgres = |sql: &str| refuse_too_long(sql).map_or_else(|error| error.to_string(), |()| String::new());
        let read = |sql: &str| Parser::parse_sql(&PostgreSqlDialect {}, sql).is_ok();
        assert_eq!(postgres(&format!("SELECT {}1 2", "EXISTS ((SELECT ".repeat(12))), "");
        for opened in [
            "f(",
            "COALESCE(",
            "AND(",
            "JOIN (",
            "1 * FROM (",
            "LOCALTIME (",
            "1, f(",
            "f(g => h(",
            "a IN ((SELECT ",
            "a IN (SELECT (",
            "CAST(",
            "POSITION(",
        ] {
            let nested = |times: usize| format!("SELECT {}1 2", opened.repeat(times));
            assert!(postgres(&nested(40)).contains("nested too deeply"), "{opened}");
            let most = (1..40).take_while(|times| postgres(&nested(*times)).is_empty()).last().unwrap_or(0);
            assert!(most >= 3, "{opened}: {most}");
            // What passes is read to its end in time; three of them, because each takes some.
            if !["f(", "LOCALTIME (", "a IN (SELECT ("].contains(&opened) {
                continue;
            }
            let begun = std::time::Instant::now();
            assert!(!read(&nested(most)));
            assert!(begun.elapsed().as_secs() < 60, "{opened}: {most} took {:?}", begun.elapsed());
        }
        // All columns of what is inside are read once.
        assert_eq!(postgres(&format!("{}people", "SELECT * FROM (".repeat(20))), "");
        // Deep in one place and long elsewhere is what people and their tools write.
        let deep = "ROUND(CAST(COALESCE(NULLIF(CAST(SUM(CASE WHEN (a IS NULL) THEN CAST(b AS INT) ELSE ABS(b) END) AS FLOAT), 0), 1) AS FLOAT), 2)";
        let columns = vec!["SUM(x) AS s"; 250].join(", ");
        let sql = format!(
            "SELECT {deep} AS d, {columns} FROM t WHERE (a, b) IN ((1, 2), (3, 4)) AND NOT (a IN ((SELECT 1)))"
        );
        assert_eq!(postgres(&sql), "");
        assert!(read(&sql));
        let keywords = "COALESCE(".repeat(8);
        assert_eq!(postgres(&format!("SELECT {keywords}a{}, {columns} FROM t", ")".repeat(8))), "");
    }

    #[test]
    fn what_people_write_passes() {
        let conditions = vec!["(\"t\".\"a\" IS NOT NULL AND NOT t.b IN (1, 2, NULL))"; 99].join(" OR ");
        assert_eq!(refusal(&format!("SELECT COUNT(*) FROM t WHERE {conditions}")), "");
        let sums = vec!["SUM(CASE WHEN a = 1 AND b IS NULL THEN x ELSE -1 END) AS s"; 500].join(", ");
        assert_eq!(refusal(&format!("SELECT {sums} FROM t")), "");
        let listed = (0..15_000).map(|number| number.to_string()).collect::<Vec<_>>().join(", ");
        assert_eq!(
            refusal(&format!("SELECT COUNT(*) FROM t WHERE a IN ({listed}, {})", vec!["NULL"; 200].join(","))),
            ""
        );
        assert_eq!(refusal(&"SELECT 1;".repeat(3_000)), "");
    }
}
