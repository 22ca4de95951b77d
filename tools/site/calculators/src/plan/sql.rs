//! The queries that this page plans: counts and sums of one table, in groups of listed categories.
//!
//! ```text
//! SELECT key, …, COUNT(*) | COUNT(DISTINCT owner) | COUNT(column) | SUM(column) [AS name], …
//! FROM table [GROUP BY key, …]
//! ```
//! Words of SQL in any case, names as they are declared and in small letters, no comment, no quotation mark. Everything
//! else is left to the program.

/// A query.
#[derive(Debug, PartialEq)]
pub struct Select {
    /// What is published, in order.
    pub items: Vec<Item>,
    /// The table.
    pub table: String,
    /// The GROUP BY columns.
    pub keys: Vec<String>,
}

/// A published column.
#[derive(Debug, PartialEq)]
pub enum Item {
    /// A key.
    Key(String),
    /// An aggregate under its name.
    Number(Aggregate, String),
}

/// An aggregate.
#[derive(Debug, Clone, PartialEq)]
pub enum Aggregate {
    /// COUNT(*)
    Rows,
    /// COUNT(DISTINCT column)
    Distinct(String),
    /// COUNT(column)
    Present(String),
    /// SUM(column)
    Sum(String),
}

/// Words that name nothing here.
const RESERVED: [&str; 26] = [
    "all",
    "and",
    "as",
    "by",
    "case",
    "distinct",
    "else",
    "end",
    "except",
    "from",
    "group",
    "having",
    "in",
    "intersect",
    "join",
    "limit",
    "not",
    "null",
    "offset",
    "on",
    "or",
    "order",
    "select",
    "union",
    "where",
    "with",
];

/// Reads a query, or names the first thing that is left to the program.
pub fn parse(sql: &str) -> Result<Select, String> {
    let mut words = Words { rest: words(sql).into_iter().peekable() };
    words.expect("select")?;
    let mut items = Vec::new();
    loop {
        items.push(words.item()?);
        if !words.takes(",") {
            break;
        }
    }
    words.expect("from")?;
    let table = words.name()?;
    let mut keys = Vec::new();
    if words.takes("group") {
        words.expect("by")?;
        loop {
            keys.push(words.name()?);
            if !words.takes(",") {
                break;
            }
        }
    }
    words.takes(";");
    match words.rest.next() {
        None => Ok(Select { items, table, keys }),
        Some(word) => Err(left(&word)),
    }
}

fn left(word: &str) -> String {
    format!("'{word}' is more SQL than this page reads")
}

/// Names, words and single characters.
fn words(sql: &str) -> Vec<String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let (mut all, mut letters) = (Vec::new(), sql.chars().peekable());
    while let Some(letter) = letters.next() {
        if letter.is_ascii_whitespace() {
            continue;
        }
        let mut word = letter.to_string();
        if letter.is_ascii_alphabetic() || letter == '_' {
            while let Some(next) = letters.next_if(|next| is_part(*next)) {
                word.push(next);
            }
        }
        all.push(word);
    }
    all
}

struct Words {
    rest: std::iter::Peekable<std::vec::IntoIter<String>>,
}

impl Words {
    fn takes(&mut self, word: &str) -> bool {
        self.rest.next_if(|next| next.eq_ignore_ascii_case(word)).is_some()
    }

    fn expect(&mut self, word: &str) -> Result<(), String> {
        match self.takes(word) {
            true => Ok(()),
            false => Err(self.rest.peek().map_or("the query ends too early".to_string(), |next| left(next))),
        }
    }

    fn name(&mut self) -> Result<String, String> {
        let Some(name) = self.rest.next() else { return Err("the query ends too early".to_string()) };
        let starts = |letter: char| letter.is_ascii_lowercase() || letter == '_';
        let is_small = name.starts_with(starts) && !name.contains(|letter: char| letter.is_ascii_uppercase());
        if is_small && !RESERVED.contains(&name.as_str()) { Ok(name) } else { Err(left(&name)) }
    }

    fn item(&mut self) -> Result<Item, String> {
        let function = ["count", "sum"].into_iter().find(|function| self.takes(function));
        let Some(function) = function else {
            let key = self.name()?;
            return match self.rest.peek() {
                Some(next) if next == "(" => Err(left(&key)),
                _ => Ok(Item::Key(key)),
            };
        };
        self.expect("(")?;
        let aggregate = match function {
            "count" if self.takes("*") => Aggregate::Rows,
            "count" if self.takes("distinct") => Aggregate::Distinct(self.name()?),
            "count" => Aggregate::Present(self.name()?),
            _ => Aggregate::Sum(self.name()?),
        };
        self.expect(")")?;
        let name = if self.takes("as") { self.name()? } else { function.to_string() };
        Ok(Item::Number(aggregate, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read() {
        let items = "region, COUNT(*) AS n, Count(Distinct person_id) as people,\n SUM(cost)";
        let read = parse(&format!("select {items} FROM visits GROUP BY region;"));
        let number = |aggregate, name: &str| Item::Number(aggregate, name.to_string());
        let items = vec![
            Item::Key("region".to_string()),
            number(Aggregate::Rows, "n"),
            number(Aggregate::Distinct("person_id".to_string()), "people"),
            number(Aggregate::Sum("cost".to_string()), "sum"),
        ];
        assert_eq!(read, Ok(Select { items, table: "visits".to_string(), keys: vec!["region".to_string()] }));
    }

    #[test]
    fn what_is_left_to_the_program_is_named() {
        for (sql, word) in [
            ("SELECT COUNT(*) FROM t WHERE a = 1", "WHERE"),
            ("SELECT AVG(a) FROM t", "AVG"),
            ("SELECT avg(a) FROM t", "avg"),
            ("SELECT COUNT(*) FROM t, u", ","),
            ("SELECT SUM(a + b) FROM t", "+"),
            ("SELECT \"a\" FROM t", "\""),
            ("SELECT COUNT(*) -- all\nFROM t", "-"),
            ("SELECT Region, COUNT(*) FROM t GROUP BY Region", "Region"),
            ("SELECT COUNT(*) FROM t GROUP BY a HAVING x", "HAVING"),
            ("WITH x AS (SELECT 1) SELECT COUNT(*) FROM x", "WITH"),
            ("SELECT COUNT(*) FROM (SELECT a FROM t)", "("),
            ("SELECT COUNT(*) FROM t ORDER BY a", "ORDER"),
            ("SELECT SUM(DISTINCT a) FROM t", "DISTINCT"),
            ("SELECT *, COUNT(*) FROM t", "*"),
        ] {
            assert!(parse(sql).unwrap_err().contains(&format!("'{word}'")), "{sql}: {:?}", parse(sql));
        }
        assert_eq!(parse("SELECT COUNT(*) FROM").unwrap_err(), "the query ends too early");
    }
}
