//! `SELECT DISTINCT` of the outermost query asks for keys and nothing else: it is a GROUP BY of all of its columns.

use crate::sql::functions::SqlAggregate;
use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Select, SelectItem, SetExpr, Spanned, Statement, Value, Visit, Visitor,
    visit_expressions,
};
use datafusion::sql::sqlparser::tokenizer::Span;
use std::ops::ControlFlow;

const INSIDE: &str = "SELECT DISTINCT is answered for the whole query only; inside of it use GROUP BY";
const ON: &str = "SELECT DISTINCT ON is not supported, as it would publish rows; use SELECT DISTINCT or GROUP BY";
const GROUPED: &str = "groups are distinct already: leave DISTINCT out";
const AGGREGATED: &str =
    "SELECT DISTINCT publishes keys, not aggregates: leave DISTINCT out, and name the keys in GROUP BY";
const STAR: &str = "SELECT DISTINCT * would publish whole rows; name the columns whose values are asked for";

/// Why a SELECT DISTINCT is not answered, and where it stands.
pub(crate) fn refusal(statement: &Statement) -> Option<(Span, String)> {
    struct Finder<'a>(Option<&'a Select>);
    impl Visitor for Finder<'_> {
        type Break = (Span, String);
        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Self::Break> {
            let outermost = self.0.is_some_and(|outermost| std::ptr::eq(outermost, select));
            match refused(select, outermost) {
                Some(sentence) => ControlFlow::Break((select.span(), sentence.to_string())),
                None => ControlFlow::Continue(()),
            }
        }
    }
    let mut finder = Finder(match statement {
        Statement::Query(query) => outermost(&query.body),
        _ => None,
    });
    statement.visit(&mut finder).break_value()
}

fn outermost(body: &SetExpr) -> Option<&Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => outermost(&query.body),
        _ => None,
    }
}

fn refused(select: &Select, outermost: bool) -> Option<&'static str> {
    match &select.distinct {
        None | Some(Distinct::All) => return None,
        Some(Distinct::On(_)) => return Some(ON),
        Some(Distinct::Distinct) if !outermost => return Some(INSIDE),
        Some(Distinct::Distinct) => {}
    }
    if !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty()) || select.having.is_some() {
        return Some(GROUPED);
    }
    if select.projection.iter().any(has_aggregate) {
        return Some(AGGREGATED);
    }
    let star = |item: &SelectItem| matches!(item, SelectItem::QualifiedWildcard(..) | SelectItem::Wildcard(_));
    select.projection.iter().any(star).then_some(STAR)
}

fn has_aggregate(item: &SelectItem) -> bool {
    let found = visit_expressions(item, |expression| {
        let Expr::Function(function) = expression else { return ControlFlow::Continue(()) };
        let name = function.name.to_string();
        if SqlAggregate::is_listed(&name) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found.is_break()
}

/// The same as GROUP BY 1, 2, …: of each column of the SELECT.
pub(crate) fn as_groups(statement: &mut Statement) {
    let Statement::Query(query) = statement else { return };
    let Some(select) = outermost_mut(&mut query.body) else { return };
    if select.distinct.take() != Some(Distinct::Distinct) {
        return;
    }
    let position = |place: usize| Expr::Value(Value::Number(place.to_string(), false).into());
    select.group_by = GroupByExpr::Expressions((1..=select.projection.len()).map(position).collect(), Vec::new());
}

fn outermost_mut(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => outermost_mut(&mut query.body),
        _ => None,
    }
}
