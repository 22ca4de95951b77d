//! A parsed statement with its parameters in their places, and as text again.
//!
//! Parameters become literals of the syntax tree, never letters of a text. The engine takes text, so that the tree is
//! printed; and because a printer can be wrong (sqlparser's leaves a quote behind a backslash as it is), what was
//! printed is parsed again and must be the tree that was meant, or nothing is asked.

use super::parameter::Literal;
use super::refused::{SqlError, code};
use scumble_engine::with_room;
use sqlparser::ast::{
    DataType, Expr, ObjectName, Statement, TimezoneInfo, TypedString, UnaryOperator, Value, ValueWithSpan, Visit,
    VisitMut, Visitor, VisitorMut, visit_expressions_mut, visit_relations_mut,
};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use std::ops::ControlFlow;

/// How many parameters a statement has: the largest number behind a `$`.
pub(super) fn parameters(statement: &Statement) -> Result<usize, SqlError> {
    let mut found = ParameterCounter(0);
    match Visit::visit(statement, &mut found) {
        ControlFlow::Break(refused) => Err(refused),
        ControlFlow::Continue(()) => Ok(found.0),
    }
}

struct ParameterCounter(usize);

impl Visitor for ParameterCounter {
    type Break = SqlError;

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<SqlError> {
        if let Value::Placeholder(name) = &value.value {
            match number(name) {
                Some(number) => self.0 = self.0.max(number),
                None => {
                    let sentence = format!("'{name}' is not a parameter: write $1, $2 … up to ${MOST}");
                    return ControlFlow::Break(SqlError::new(code::SYNTAX, sentence));
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// The most parameters of a statement.
const MOST: usize = 1_000;

fn number(name: &str) -> Option<usize> {
    name.strip_prefix('$').and_then(|digits| digits.parse().ok()).filter(|number| (1..=MOST).contains(number))
}

/// The statement with literals in the places of its parameters.
pub(super) fn bound(mut statement: Statement, literals: &[Literal]) -> Result<Statement, SqlError> {
    let _ = visit_expressions_mut(&mut statement, |expression| {
        if let Expr::Value(value) = expression
            && let Value::Placeholder(name) = &value.value
            && let Some(literal) = number(name).and_then(|number| literals.get(number - 1))
        {
            *expression = written(literal);
        }
        ControlFlow::<()>::Continue(())
    });
    match parameters(&statement)? {
        0 => Ok(statement),
        number => {
            Err(SqlError::new(code::UNSUPPORTED, format!("parameter ${number} stands where no value is allowed")))
        }
    }
}

fn written(literal: &Literal) -> Expr {
    let plain = |value: Value| Expr::Value(value.into());
    let typed = |data_type: DataType, text: &str| {
        let value = Value::SingleQuotedString(text.to_string()).into();
        Expr::TypedString(TypedString { data_type, value, uses_odbc_syntax: false })
    };
    match literal {
        Literal::Null => plain(Value::Null),
        Literal::Truth(truth) => plain(Value::Boolean(*truth)),
        Literal::Text(text) => plain(Value::SingleQuotedString(text.clone())),
        Literal::Day(day) => typed(DataType::Date, day),
        Literal::Moment(moment) => typed(DataType::Timestamp(None, TimezoneInfo::None), moment),
        Literal::Number(digits) => match digits.strip_prefix('-') {
            // In brackets, so that it is one value wherever it stands.
            Some(digits) => {
                let expr = Box::new(plain(Value::Number(digits.to_string(), false)));
                Expr::Nested(Box::new(Expr::UnaryOp { op: UnaryOperator::Minus, expr }))
            }
            None => plain(Value::Number(digits.trim_start_matches('+').to_string(), false)),
        },
    }
}

/// The statement without the names of the database and of the schema before those of tables; whether there were any.
pub(super) fn unqualified(statement: &mut Statement) -> bool {
    let mut changed = false;
    let _ = visit_relations_mut(statement, |name: &mut ObjectName| {
        let words: Vec<String> = name.0.iter().map(|part| part.to_string().replace('"', "").to_lowercase()).collect();
        let before = before(&words.iter().map(String::as_str).collect::<Vec<_>>(), 1);
        changed |= before > 0;
        name.0.drain(..before);
        ControlFlow::<()>::Continue(())
    });
    let _ = visit_expressions_mut(statement, |expression| {
        if let Expr::CompoundIdentifier(parts) = expression {
            let words: Vec<String> = parts.iter().map(|part| part.value.to_lowercase()).collect();
            let before = before(&words.iter().map(String::as_str).collect::<Vec<_>>(), 2);
            changed |= before > 0;
            parts.drain(..before);
        }
        ControlFlow::<()>::Continue(())
    });
    changed
}

/// How many of these words name the database and the schema; `own` of them come after that.
fn before(words: &[&str], own: usize) -> usize {
    match words {
        [super::settings::DATABASE, "public", rest @ ..] if rest.len() == own => 2,
        ["public", rest @ ..] if rest.len() == own => 1,
        _ => 0,
    }
}

/// The statement as text, which is that statement and no other.
pub(super) fn printed(statement: &Statement) -> Result<String, SqlError> {
    let mut doubled = statement.clone();
    let _: ControlFlow<()> = VisitMut::visit(&mut doubled, &mut QuoteDoubler);
    let text = doubled.to_string();
    let again = with_room(|| Parser::parse_sql(&PostgreSqlDialect {}, &text));
    match again.as_deref() {
        Ok([again]) if again == statement => Ok(text),
        _ => Err(SqlError::new(
            code::UNSUPPORTED,
            "the statement is not supported with parameters or beside others; send it alone, with its values in its \
                text",
        )),
    }
}

/// Doubles each quote of a text: the printer takes two of them as they are, wherever they stand.
struct QuoteDoubler;

impl VisitorMut for QuoteDoubler {
    type Break = ();

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        if let Value::SingleQuotedString(text) = &mut value.value {
            *text = text.replace('\'', "''");
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(sql: &str) -> Statement {
        Parser::parse_sql(&PostgreSqlDialect {}, sql).unwrap().remove(0)
    }

    fn asked(sql: &str, literals: &[Literal]) -> Result<String, SqlError> {
        printed(&bound(parsed(sql), literals)?)
    }

    /// What the printer of sqlparser 0.62 would have let through: a text that ends at the quote behind its backslash,
    /// and the rest as SQL.
    #[test]
    fn no_text_becomes_sql() {
        let texts = [
            "a",
            "'",
            "''",
            "'''",
            "\\",
            "\\'",
            "\\''",
            "a\\' OR 1=1 --",
            "\\'\\'",
            "'; DROP TABLE people; --",
            "$1",
            "\n",
            "ä'ö",
            "/*",
            "--",
        ];
        for text in texts {
            let sql = asked(
                "SELECT COUNT(*) FROM people WHERE name = $1 AND $1 <> 'O''Brien'",
                &[Literal::Text(text.into())],
            );
            let sql = sql.unwrap_or_else(|refused| panic!("{text}: {refused:?}"));
            let doubled = text.replace('\'', "''");
            assert_eq!(
                sql,
                format!("SELECT COUNT(*) FROM people WHERE name = '{doubled}' AND '{doubled}' <> 'O''Brien'")
            );
        }
    }

    #[test]
    fn literals_are_values_wherever_they_stand() {
        let numbers = |digits: &str| [Literal::Number(digits.into())];
        assert_eq!(
            asked("SELECT COUNT(*) FROM t WHERE a - $1 > 0", &numbers("-5")).unwrap(),
            "SELECT COUNT(*) FROM t WHERE a - (-5) > 0"
        );
        assert_eq!(
            asked("SELECT COUNT(*) FROM t WHERE a = $1::INT", &numbers("-5")).unwrap(),
            "SELECT COUNT(*) FROM t WHERE a = (-5)::INT"
        );
        assert_eq!(asked("SELECT COUNT(*) FROM t LIMIT $1", &numbers("3")).unwrap(), "SELECT COUNT(*) FROM t LIMIT 3");
        let day = [Literal::Day("2020-01-02".into()), Literal::Null, Literal::Truth(true)];
        assert_eq!(
            asked("SELECT COUNT(*) FROM t WHERE d > $1 AND b IS DISTINCT FROM $2 AND c = $3", &day).unwrap(),
            "SELECT COUNT(*) FROM t WHERE d > DATE '2020-01-02' AND b IS DISTINCT FROM NULL AND c = true"
        );
        let moment = [Literal::Moment("2020-01-02 03:04:05".into())];
        assert_eq!(
            asked("SELECT COUNT(*) FROM t WHERE d > $1", &moment).unwrap(),
            "SELECT COUNT(*) FROM t WHERE d > TIMESTAMP '2020-01-02 03:04:05'"
        );
    }

    #[test]
    fn parameters_are_counted() {
        assert_eq!(parameters(&parsed("SELECT COUNT(*) FROM t WHERE a IN ($2, $1)")), Ok(2));
        assert_eq!(parameters(&parsed("SELECT '$1'")), Ok(0));
        assert_eq!(parameters(&parsed("SELECT $1001")).unwrap_err().code, "42601");
        assert_eq!(asked("SELECT $2", &[Literal::Null]).unwrap_err().code, "0A000");
    }

    #[test]
    fn names_of_the_schema_go() {
        let mut statement = parsed(
            "SELECT public.t.a, COUNT(*) FROM \"scumble\".\"public\".\"t\" JOIN public.u ON true GROUP BY scumble.public.t.a",
        );
        assert!(unqualified(&mut statement));
        assert_eq!(statement.to_string(), "SELECT t.a, COUNT(*) FROM \"t\" JOIN u ON true GROUP BY t.a");
        assert!(!unqualified(&mut parsed("SELECT t.a FROM pg_catalog.t")));
    }
}
