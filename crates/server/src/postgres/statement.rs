//! What a client's text asks for: a question about private tables, something about the catalogue, a setting, or nothing
//! that matters here.

use super::bound::unqualified;
use super::refused::{SqlError, code};
use super::settings;
use scumble_engine::kinds::refuse_too_long;
use scumble_engine::{shortened, with_room};
use sqlparser::ast::{
    AnalyzeFormat, AnalyzeFormatKind, Expr, ObjectName, Query, Reset, Set, SetExpr, Statement, UtilityOption, Value,
    Visit, Visitor, visit_relations,
};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::{Parser, ParserError};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The most statements of one text.
const MOST_STATEMENTS: usize = 100;
/// The deepest expression, as the engine has it: whatever walks through a statement calls itself so often.
const DEEPEST: usize = 100;

/// One statement.
#[derive(Debug, Clone)]
pub(super) enum ClientStatement {
    /// A query over private tables: it costs something.
    Question(PrivateTableQuery),
    /// What such a query would cost.
    Explain { question: PrivateTableQuery, json: bool },
    /// A query over the catalogue, or over nothing: it sees no data.
    Catalogue(Box<Statement>),
    /// Sets something, or sets it back.
    Set { name: String, value: Option<String> },
    /// Sets everything back.
    Reset(&'static str),
    /// Shows a setting.
    Show(String),
    /// Begins what PostgreSQL calls a transaction; here it is none.
    Begin,
    /// Ends it.
    End(&'static str),
    /// Forgets a prepared statement, or all of them.
    Deallocate(Option<String>),
    /// Does nothing.
    Nothing(&'static str),
}

/// A query over private tables.
#[derive(Debug, Clone)]
pub(super) struct PrivateTableQuery {
    pub statement: Box<Statement>,
    /// The text that the client has in front of them, if it is this query and nothing else.
    pub text: Option<String>,
}

/// The statements of a text.
pub(super) fn asked(text: &str, tables: &BTreeSet<String>) -> Result<Vec<ClientStatement>, SqlError> {
    refuse_too_long(text).map_err(|error| SqlError::new(code::TOO_MUCH, error.to_string()))?;
    with_room(|| parsed(text, tables))
}

fn parsed(text: &str, tables: &BTreeSet<String>) -> Result<Vec<ClientStatement>, SqlError> {
    let statements = Parser::parse_sql(&PostgreSqlDialect {}, text).map_err(|error| not_sql(&error, text))?;
    if statements.len() > MOST_STATEMENTS {
        let sentence = format!("a query has at most {MOST_STATEMENTS} statements, not {}", statements.len());
        return Err(SqlError::new(code::TOO_MUCH, sentence));
    }
    let alone = statements.len() == 1;
    statements.into_iter().map(|statement| of(statement, alone.then_some(text), tables)).collect()
}

/// The parser's reason, and where.
fn not_sql(error: &ParserError, text: &str) -> SqlError {
    let message = match error {
        ParserError::RecursionLimitExceeded => {
            return SqlError::new(code::TOO_MUCH, "the query is nested too deeply; compute parts of it in WITH");
        }
        ParserError::TokenizerError(reason) | ParserError::ParserError(reason) => reason,
    };
    let number = |behind: &str| {
        let rest = message.rsplit_once(behind)?.1;
        rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse::<usize>().ok()
    };
    let position = number("Line: ").zip(number("Column: ")).map(|(line, column)| {
        let before = text.split('\n').take(line.saturating_sub(1)).map(|line| line.chars().count() + 1).sum::<usize>();
        before + column
    });
    SqlError { position, ..SqlError::new(code::SYNTAX, format!("this is not SQL ({})", shortened(message))) }
}

fn of(statement: Statement, text: Option<&str>, tables: &BTreeSet<String>) -> Result<ClientStatement, SqlError> {
    refuse_too_deep(&statement)?;
    Ok(match statement {
        Statement::Query(_) => query(statement, text, tables),
        Statement::Explain { statement, analyze, options, format, .. } => {
            return explain(*statement, analyze, &options.unwrap_or_default(), format.as_ref(), tables);
        }
        Statement::Set(set) => return of_set(set),
        Statement::Reset(reset) => match reset.reset {
            Reset::ALL => ClientStatement::Reset("RESET"),
            Reset::ConfigurationParameter(name) => ClientStatement::Set { name: name_of(&name), value: None },
        },
        Statement::ShowVariable { variable } => {
            let words: Vec<String> = variable.iter().map(|word| word.value.to_lowercase()).collect();
            ClientStatement::Show(match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["transaction", "isolation", "level"] => "transaction_isolation".to_string(),
                ["time", "zone"] => "timezone".to_string(),
                ["session", "authorization"] => "session_authorization".to_string(),
                words => words.join("."),
            })
        }
        Statement::StartTransaction { statements, .. } if statements.is_empty() => ClientStatement::Begin,
        Statement::Commit { .. } => ClientStatement::End("COMMIT"),
        Statement::Rollback { savepoint: None, .. } => ClientStatement::End("ROLLBACK"),
        Statement::Rollback { .. } => ClientStatement::Nothing("ROLLBACK"),
        Statement::Savepoint { .. } => ClientStatement::Nothing("SAVEPOINT"),
        Statement::ReleaseSavepoint { .. } => ClientStatement::Nothing("RELEASE"),
        Statement::Discard { .. } => ClientStatement::Reset("DISCARD ALL"),
        Statement::Deallocate { name, .. } => {
            ClientStatement::Deallocate(Some(name.value).filter(|name| !name.eq_ignore_ascii_case("all")))
        }
        Statement::Close { .. } => ClientStatement::Nothing("CLOSE CURSOR"),
        Statement::UNLISTEN { .. } => ClientStatement::Nothing("UNLISTEN"),
        Statement::Prepare { .. } | Statement::Execute { .. } | Statement::Declare { .. } | Statement::Fetch { .. } => {
            let sentence = "statements are prepared by the client's driver, and answers are not read through cursors; send the SELECT itself";
            return Err(SqlError::new(code::UNSUPPORTED, sentence));
        }
        _ => {
            let sentence = "only SELECT is answered; nothing is ever written to a table";
            return Err(SqlError::new(code::UNSUPPORTED, sentence));
        }
    })
}

/// Refuses a statement in which too many things stand inside each other.
fn refuse_too_deep(statement: &Statement) -> Result<(), SqlError> {
    struct DepthCheck(usize);
    impl Visitor for DepthCheck {
        type Break = ();
        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            // Each UNION stands inside the next one.
            let (mut body, mut depth) = (&*query.body, 0);
            while let SetExpr::SetOperation { left, .. } = body {
                (body, depth) = (left, depth + 1);
            }
            if depth > DEEPEST { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
        fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
            self.0 += 1;
            // Each part of a chain is looked up in what the parts before it gave.
            let links = match expression {
                Expr::CompoundFieldAccess { access_chain, .. } => access_chain.len(),
                Expr::CompoundIdentifier(parts) => parts.len(),
                _ => 0,
            };
            if self.0 + links > DEEPEST { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
        fn post_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
            self.0 -= 1;
            ControlFlow::Continue(())
        }
    }
    match Visit::visit(statement, &mut DepthCheck(0)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(SqlError::new(
            code::TOO_MUCH,
            format!(
                "operators are nested more than {DEEPEST} deep; write IN (…) instead of many ORs, and fewer UNIONs"
            ),
        )),
    }
}

fn explain(
    statement: Statement,
    analyze: bool,
    options: &[UtilityOption],
    format: Option<&AnalyzeFormatKind>,
    tables: &BTreeSet<String>,
) -> Result<ClientStatement, SqlError> {
    let is_on = |option: &UtilityOption| {
        option
            .arg
            .as_ref()
            .is_none_or(|value| !["false", "off", "0"].contains(&value.to_string().to_lowercase().as_str()))
    };
    let named = |name: &str| options.iter().find(|option| option.name.value.eq_ignore_ascii_case(name));
    if analyze || named("analyze").is_some_and(is_on) {
        let sentence = "EXPLAIN ANALYZE would ask the query, which costs: EXPLAIN alone says what it would cost";
        return Err(SqlError::new(code::UNSUPPORTED, sentence));
    }
    let is_json = |kind: &AnalyzeFormatKind| {
        matches!(
            kind,
            AnalyzeFormatKind::Keyword(AnalyzeFormat::JSON) | AnalyzeFormatKind::Assignment(AnalyzeFormat::JSON)
        )
    };
    let option = named("format").and_then(|option| option.arg.as_ref());
    let json =
        format.is_some_and(is_json) || option.is_some_and(|value| value.to_string().eq_ignore_ascii_case("json"));
    match query(statement, None, tables) {
        ClientStatement::Question(question) => Ok(ClientStatement::Explain { question, json }),
        _ => Err(SqlError::new(
            code::UNSUPPORTED,
            "EXPLAIN is for queries over the project's tables: it says what they would cost",
        )),
    }
}

/// A query: about private tables, or about the catalogue alone.
fn query(mut statement: Statement, text: Option<&str>, tables: &BTreeSet<String>) -> ClientStatement {
    let rewritten = unqualified(&mut statement);
    let statement = Box::new(statement);
    let catalogue = matches!(&*statement, Statement::Query(query) if is_catalogue(query, tables));
    match catalogue {
        true => ClientStatement::Catalogue(statement),
        false => ClientStatement::Question(PrivateTableQuery {
            statement,
            text: text.filter(|_| !rewritten).map(str::to_string),
        }),
    }
}

/// Whether no table of the project and nothing unknown is read.
fn is_catalogue(query: &Query, tables: &BTreeSet<String>) -> bool {
    let mut common = BTreeSet::new();
    collect_common(query, &mut common);
    let all = visit_relations(query, |name: &ObjectName| {
        let words: Vec<String> = name.0.iter().map(|part| part.to_string().replace('"', "").to_lowercase()).collect();
        let is_ours = match &words[..] {
            [schema, _] | [_, schema, _] => ["pg_catalog", "information_schema"].contains(&schema.as_str()),
            [name] => {
                let private = tables.contains(name);
                !private
                    && (common.contains(name)
                        || name.starts_with("pg_")
                        || ["generate_series", "unnest"].contains(&name.as_str()))
            }
            _ => false,
        };
        if is_ours { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    all.is_continue()
}

/// The names of common tables.
fn collect_common(query: &Query, names: &mut BTreeSet<String>) {
    struct CommonTableCollector<'a>(&'a mut BTreeSet<String>);
    impl Visitor for CommonTableCollector<'_> {
        type Break = ();
        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            let tables = query.with.iter().flat_map(|with| &with.cte_tables);
            self.0.extend(tables.map(|table| table.alias.name.value.to_lowercase()));
            ControlFlow::Continue(())
        }
    }
    let _ = Visit::visit(query, &mut CommonTableCollector(names));
}

fn of_set(set: Set) -> Result<ClientStatement, SqlError> {
    Ok(match set {
        Set::SingleAssignment { variable, values, .. } => {
            let shown: Vec<String> = values.iter().map(value_of).collect();
            let is_default = matches!(&shown[..], [one] if one.eq_ignore_ascii_case("default"));
            ClientStatement::Set { name: name_of(&variable), value: Some(shown.join(", ")).filter(|_| !is_default) }
        }
        Set::SetTimeZone { value, .. } => {
            ClientStatement::Set { name: "timezone".into(), value: Some(value_of(&value)) }
        }
        Set::SetNames { charset_name, .. } => {
            ClientStatement::Set { name: "client_encoding".into(), value: Some(charset_name.value) }
        }
        Set::SetTransaction { .. } | Set::SetNamesDefault {} => ClientStatement::Nothing("SET"),
        Set::SetRole { role_name: None, .. } => ClientStatement::Nothing("SET"),
        Set::SetRole { .. } | Set::SetSessionAuthorization(_) => {
            return Err(SqlError::new(code::ROLE, "a connection keeps its user; connect with the other token"));
        }
        _ => return Err(SqlError::new(code::SYNTAX, format!("write SET {} = 'epsilon=0.1'", settings::COST))),
    })
}

fn name_of(name: &ObjectName) -> String {
    name.to_string().replace('"', "")
}

/// A value that is set: a text as it is, everything else as it is written.
fn value_of(value: &Expr) -> String {
    match value {
        Expr::Value(value) => value.clone().into_string().unwrap_or_else(|| match &value.value {
            Value::Null => String::new(),
            other => other.to_string(),
        }),
        Expr::Identifier(word) => word.value.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        let tables = BTreeSet::from(["people".to_string(), "pg_own".to_string()]);
        let one = |asked: ClientStatement| match asked {
            ClientStatement::Question(question) => {
                format!("question{}", if question.text.is_some() { "" } else { "*" })
            }
            ClientStatement::Explain { json, .. } => format!("explain{}", if json { " json" } else { "" }),
            ClientStatement::Catalogue(_) => "catalogue".to_string(),
            ClientStatement::Set { name, value } => format!("set {name} {value:?}"),
            ClientStatement::Show(name) => format!("show {name}"),
            other => format!("{other:?}"),
        };
        match asked(text, &tables) {
            Ok(all) => all.into_iter().map(one).collect::<Vec<_>>().join("; "),
            Err(refused) => format!("{} {:?}", refused.code, refused.position),
        }
    }

    #[test]
    fn statements_are_told_apart() {
        for (text, expected) in [
            ("SELECT COUNT(*) FROM people", "question"),
            ("select count(*) from People -- all\n;", "question"),
            ("SELECT COUNT(*) FROM public.people", "question*"),
            ("SELECT COUNT(*) FROM \"pg_own\"", "question"),
            ("SELECT COUNT(*) FROM nobody", "question"),
            ("SELECT COUNT(*) FROM people, pg_class", "question"),
            ("SELECT (SELECT COUNT(*) FROM people)", "question"),
            ("WITH a AS (SELECT COUNT(*) AS n FROM people) SELECT n FROM a", "question"),
            ("WITH people AS (SELECT 1) SELECT * FROM people", "question"),
            ("WITH a AS (SELECT 1 AS n) SELECT n FROM a", "catalogue"),
            ("SELECT version(); SELECT 1", "catalogue; catalogue"),
            ("SELECT * FROM pg_catalog.pg_class c, information_schema.tables", "catalogue"),
            ("EXPLAIN SELECT COUNT(*) FROM people", "explain"),
            ("EXPLAIN (FORMAT JSON) SELECT COUNT(*) FROM people", "explain json"),
            ("EXPLAIN ANALYZE SELECT COUNT(*) FROM people", "0A000 None"),
            ("EXPLAIN (ANALYZE, VERBOSE) SELECT COUNT(*) FROM people", "0A000 None"),
            ("SET scumble.cost = 'epsilon=0.1'", "set scumble.cost Some(\"epsilon=0.1\")"),
            ("SET scumble.cost TO DEFAULT", "set scumble.cost None"),
            ("SET extra_float_digits = 3", "set extra_float_digits Some(\"3\")"),
            ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "Nothing(\"SET\")"),
            ("SET search_path TO a, public", "set search_path Some(\"a, public\")"),
            ("SHOW scumble.budget", "show scumble.budget"),
            ("SHOW TRANSACTION ISOLATION LEVEL; SELECT COUNT(*) FROM people", "show transaction_isolation; question*"),
            ("BEGIN; COMMIT; ROLLBACK", "Begin; End(\"COMMIT\"); End(\"ROLLBACK\")"),
            ("BEGIN READ ONLY", "Begin"),
            ("START TRANSACTION ISOLATION LEVEL SERIALIZABLE", "Begin"),
            ("DISCARD ALL", "Reset(\"DISCARD ALL\")"),
            ("DEALLOCATE ALL", "Deallocate(None)"),
            ("INSERT INTO people VALUES (1)", "0A000 None"),
            ("DROP TABLE people", "0A000 None"),
            ("COPY people TO STDOUT", "0A000 None"),
            ("SELECT COUNT(*) FROM people; DELETE FROM people", "0A000 None"),
            ("SELEC 1", "42601 Some(1)"),
            ("", ""),
            ("-- nothing", ""),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_too_deep_or_too_long_is_refused() {
        assert!(words(&format!("SELECT {}1", "1+".repeat(1_900))).starts_with("54000"));
        assert!(words(&format!("SELECT {}1", "1+".repeat(40_000))).starts_with("54000"));
        assert!(words(&format!("SELECT {}1{}", "(".repeat(5_000), ")".repeat(5_000))).starts_with("54000"));
        assert!(words(&"SELECT 1;".repeat(101)).starts_with("54000"));
        assert!(words(&vec!["SELECT 1"; 4_000].join(" UNION ALL ")).starts_with("54000"));
        assert!(words(&format!("SELECT '{}'", "a".repeat(200_000))).starts_with("54000"));
    }
}
