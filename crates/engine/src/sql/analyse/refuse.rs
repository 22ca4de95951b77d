//! What the grammar allows and a private plan does not: refused by name and position before anything is planned.

use super::sets::MOST_SETS;
use crate::calendar::day;
use crate::error::{Error, QueryMistake, Result};
use crate::place::{Origin, Place, suggestion};
use crate::project::{Column, Domain, Project};
use crate::room::with_room;
use crate::sql::QuerySource;
use crate::sql::analyse::{distinct, limits};
use crate::sql::functions::{self, Spelling, SqlAggregate};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident, ObjectName, Query, Select,
    SetExpr, SetOperator, SetQuantifier, Spanned, Statement, TableFactor, Value, Visit, Visitor, visit_expressions_mut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Span;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Parses one SELECT and refuses what can never be private.
pub(crate) fn check(source: &QuerySource<'_>, project: &Project) -> Result<Statement> {
    limits::refuse_too_long(source.sql)?;
    let mut statements = Parser::parse_sql(&PostgreSqlDialect {}, source.sql).map_err(|error| match error {
        ParserError::RecursionLimitExceeded => {
            Error::input("query: it is nested too deeply; compute parts of it in WITH")
        }
        ParserError::TokenizerError(reason) | ParserError::ParserError(reason) => {
            Error::input(format!("query: this is not SQL ({reason})")).with_mistake(QueryMistake::Syntax)
        }
    })?;
    if statements.len() != 1 {
        return Err(Error::input("query: give exactly one SELECT statement"));
    }
    let statement = statements.remove(0);
    if !matches!(statement, Statement::Query(_)) {
        return Err(Error::input("query: only SELECT is answered; nothing is ever written to a table"));
    }
    limits::statement(&statement)?;
    if let Some((span, sentence)) = distinct::refusal(&statement) {
        return Err(located(span, Error::input(sentence)));
    }
    let mut names: BTreeSet<String> = project.tables.keys().cloned().collect();
    collect_common_tables(&statement, &mut names);
    let mut refuser = Refuser { names, project };
    match statement.visit(&mut refuser) {
        ControlFlow::Continue(()) => Ok(in_other_words(statement)),
        ControlFlow::Break((span, error)) => Err(located(span, error)),
    }
}

/// A query in the words of its statement: keywords, spaces and comments are as the parser writes them, names of
/// functions in small letters. None where it is no SQL.
pub(crate) fn statement(sql: &str) -> Option<String> {
    limits::refuse_too_long(sql).ok()?;
    with_room(|| in_its_words(sql))
}

fn in_its_words(sql: &str) -> Option<String> {
    let mut statements = Parser::parse_sql(&PostgreSqlDialect {}, sql).ok()?;
    let [one] = &mut statements[..] else { return None };
    let _ = visit_expressions_mut(one, |expression| {
        if let Expr::Function(function) = expression
            && !function.name.to_string().contains('"')
        {
            function.name = ObjectName::from(vec![Ident::new(function.name.to_string().to_lowercase())]);
        }
        ControlFlow::<()>::Continue(())
    });
    Some(one.to_string())
}

/// The statement with names that the backend knows: `MOD(a, b)` is `a % b`, VARIANCE is VAR_SAMP, and SELECT DISTINCT a
/// GROUP BY.
fn in_other_words(mut statement: Statement) -> Statement {
    distinct::as_groups(&mut statement);
    let _ = visit_expressions_mut(&mut statement, |expression| {
        if let Expr::Function(function) = expression {
            let name = function.name.to_string();
            if let Some(known) = SqlAggregate::renamed(&name) {
                function.name = ObjectName::from(vec![Ident::new(known)]);
            }
            if let Spelling::InPlace(made) = spelling(&name)
                && let Some(other) = plain_arguments(function).and_then(|arguments| made(&arguments))
            {
                *expression = Expr::Nested(Box::new(other));
            }
        }
        ControlFlow::<()>::Continue(())
    });
    statement
}

fn spelling(name: &str) -> Spelling {
    functions::written(name).map_or(Spelling::Planned, |record| record.spelling)
}

/// The arguments of a function, if it has nothing else.
fn plain_arguments(function: &Function) -> Option<Vec<Expr>> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let plain = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(one)) => Some(one.clone()),
        _ => None,
    };
    let is_plain = function.filter.is_none() && list.clauses.is_empty();
    list.args.iter().map(plain).collect::<Option<Vec<_>>>().filter(|_| is_plain)
}

fn located(span: Span, error: Error) -> Error {
    let (line, column) = (span.start.line as usize, span.start.column as usize);
    match line {
        0 => error.or_while("query"),
        _ => error.or_at(Place { origin: Origin::Query, line, column }),
    }
}

/// The names of common table expressions are tables too.
fn collect_common_tables(statement: &Statement, names: &mut BTreeSet<String>) {
    struct Collector<'a>(&'a mut BTreeSet<String>);
    impl Visitor for Collector<'_> {
        type Break = ();
        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            for table in query.with.iter().flat_map(|with| &with.cte_tables) {
                self.0.insert(normalized(&table.alias.name.value, table.alias.name.quote_style.is_some()));
            }
            ControlFlow::Continue(())
        }
    }
    let _ = statement.visit(&mut Collector(names));
}

fn normalized(name: &str, quoted: bool) -> String {
    if quoted { name.to_string() } else { name.to_lowercase() }
}

struct Refuser<'a> {
    names: BTreeSet<String>,
    project: &'a Project,
}

type RefusalFlow = ControlFlow<(Span, Error)>;

impl Visitor for Refuser<'_> {
    type Break = (Span, Error);

    fn pre_visit_query(&mut self, query: &Query) -> RefusalFlow {
        if query.with.as_ref().is_some_and(|with| with.recursive) {
            return refused(query, "WITH RECURSIVE is not supported: how often a row counts cannot be bounded");
        }
        set_expression(&query.body, query)
    }

    fn pre_visit_select(&mut self, select: &Select) -> RefusalFlow {
        if select.top.is_some() {
            return refused(select, "TOP is not supported; write ORDER BY … LIMIT … at the end of the query");
        }
        if select.qualify.is_some() {
            return refused(select, "QUALIFY is not supported; put the window function into a sub-query and use WHERE");
        }
        if let GroupByExpr::All(_) = select.group_by {
            return refused(select, "GROUP BY ALL is not supported; name the columns");
        }
        if let GroupByExpr::Expressions(_, modifiers) = &select.group_by
            && !modifiers.is_empty()
        {
            return refused(select, "write GROUP BY ROLLUP (…), CUBE (…) or GROUPING SETS ((…), (…))");
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> RefusalFlow {
        match factor {
            TableFactor::Table { args: None, sample: None, .. } | TableFactor::NestedJoin { .. } => {
                ControlFlow::Continue(())
            }
            TableFactor::Derived { lateral: false, .. } => ControlFlow::Continue(()),
            other => refused(other, "only tables and sub-queries can stand in FROM"),
        }
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> RefusalFlow {
        let last = relation.0.last().and_then(|part| part.as_ident());
        let name = last.map(|ident| normalized(&ident.value, ident.quote_style.is_some())).unwrap_or_default();
        if relation.0.len() == 1 && self.names.contains(&name) {
            return ControlFlow::Continue(());
        }
        let hint = suggestion(&name, self.project.tables.keys().map(String::as_str));
        let unknown = Error::input(format!("there is no table '{relation}' in the project file{hint}"));
        ControlFlow::Break((relation.span(), unknown.with_mistake(QueryMistake::UnknownTable)))
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> RefusalFlow {
        match expression {
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::AnyOp { .. } | Expr::AllOp { .. } => {
                refused(expression, "a sub-query inside an expression is not supported; join the table instead")
            }
            // More are counted once they are planned; these would already take long to plan.
            Expr::Cube(keys) if keys.len() > 6 => refused(
                expression,
                "CUBE of more than 6 columns makes more than 64 groupings; list fewer in GROUPING SETS",
            ),
            Expr::GroupingSets(sets) | Expr::Rollup(sets) if sets.len() > MOST_SETS => {
                refused(expression, &format!("at most {MOST_SETS} groupings share a cost; list fewer"))
            }
            Expr::Function(function) => match spelling(&function.name.to_string()) {
                Spelling::Refused(sentence) => refused(function, sentence),
                Spelling::WithPercentSigns(sentence) if !has_percent_signs(function) => refused(function, sentence),
                _ => ControlFlow::Continue(()),
            },
            Expr::Value(value) => self.moment(value, &value.value),
            Expr::TypedString(typed) => self.moment(expression, &typed.value.value),
            _ => ControlFlow::Continue(()),
        }
    }
}

impl Refuser<'_> {
    /// A time with an offset is a moment, and columns hold what the clock on the wall shows in their zones: the planner
    /// would compare one with the other as they stand.
    fn moment(&self, part: &impl Spanned, value: &Value) -> RefusalFlow {
        let Value::SingleQuotedString(text) = value else { return ControlFlow::Continue(()) };
        let is_elsewhere = |column: &Column| matches!(column.domain, Domain::Timestamp { zone, .. } if !zone.is_utc());
        let mut columns = self.project.tables.values().flat_map(|table| &table.columns);
        match columns.find(|column| is_elsewhere(column)) {
            Some(column) if has_offset(text) => {
                let sentence = format!(
                    "'{text}' has an offset, and columns such as {} hold the local time of their zone: write the time \
                        that a clock shows there, without Z or an offset",
                    column.name
                );
                refused(part, &sentence)
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Whether the second argument of a function contains `%`, if it is a string that is written out.
fn has_percent_signs(function: &Function) -> bool {
    match plain_arguments(function).as_deref() {
        Some([_, Expr::Value(format)]) => {
            !matches!(&format.value, Value::SingleQuotedString(text) if !text.contains('%'))
        }
        _ => true,
    }
}

/// Whether a text is a time with a zone behind it.
fn has_offset(text: &str) -> bool {
    let text = text.trim();
    let Some((date, clock)) = text.split_at_checked(10) else { return false };
    day(date).is_some()
        && clock.contains(':')
        && clock.contains(|letter: char| {
            "+-".contains(letter) || letter.is_ascii_alphabetic() && letter != 'T' && letter != 't'
        })
}

/// UNION ALL puts rows beside each other; every other operation would compare them.
fn set_expression(body: &SetExpr, query: &Query) -> RefusalFlow {
    match body {
        SetExpr::Select(_) | SetExpr::Query(_) => ControlFlow::Continue(()),
        SetExpr::SetOperation { op: SetOperator::Union, set_quantifier: SetQuantifier::All, left, right } => {
            set_expression(left, query)?;
            set_expression(right, query)
        }
        SetExpr::SetOperation { op: SetOperator::Union, .. } => {
            refused(query, "UNION compares rows and is not supported; write UNION ALL, which keeps all")
        }
        SetExpr::SetOperation { op, .. } => {
            refused(query, &format!("{op} is not supported; release each part by itself"))
        }
        _ => refused(query, "only SELECT is answered"),
    }
}

/// The place is looked for only now: finding it walks through all of the part.
fn refused(part: &impl Spanned, sentence: &str) -> RefusalFlow {
    ControlFlow::Break((part.span(), Error::input(sentence)))
}
