//! A condition on the rows of a table, as it stands in a project file.

use crate::error::Result;
use crate::release::field::PlacedValue;
use crate::room::with_room;
use crate::sql::analyse::limits::lexical::refuse_too_long_in;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;

/// The condition as it was understood: all of the text is one expression. (As text inside of a query,
/// `1 = 1) HAVING (…` and comments made another query of it.)
pub(crate) fn one_condition(condition: &PlacedValue<String>) -> Result<String> {
    let understood = |text: &str| {
        let mut parser = Parser::new(&GenericDialect {}).try_with_sql(text).ok()?;
        let expression = parser.parse_expr().ok()?;
        (parser.peek_token().token == Token::EOF).then(|| expression.to_string())
    };
    // By the parser's own words: what one dialect reads as a text may be brackets to another.
    refuse_too_long_in(&condition.value, &GenericDialect {}).map_err(|error| error.or_at(condition.place.clone()))?;
    let twice = || understood(&condition.value).filter(|text| understood(text).as_ref() == Some(text));
    let text = with_room(twice);
    text.ok_or_else(|| condition.error("this must be one condition on the rows of the table, such as answer = 'yes'"))
}
