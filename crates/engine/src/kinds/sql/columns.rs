//! Which columns a query will publish, known from its plan alone: for interfaces that must announce them before
//! anything is charged.

use super::answer::{RANK_ERROR, depends_on_quantiles, quantile_of};
use crate::error::Result;
use crate::project::Project;
use crate::sql::PrivateQuery;
use crate::sql::above::{self, Output};
use crate::tables::Backend;
use datafusion::arrow::datatypes::DataType;

/// A column that will be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedColumn {
    /// Its name.
    pub name: String,
    /// What its cells are, where they are not empty.
    pub kind: ColumnKind,
}

/// What the cells of a column are. A door must know all of them, so the list is exhaustive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Whole numbers.
    Whole,
    /// Numbers.
    Number,
    /// True or false.
    Truth,
    /// Texts.
    Text,
    /// Days, written YYYY-MM-DD.
    Day,
    /// Times, written YYYY-MM-DDThh:mm:ss.
    Moment,
}

impl ColumnKind {
    /// As the cells of an answer are made of values of this type.
    fn of(kind: &DataType) -> Self {
        match kind {
            DataType::Int64 => Self::Whole,
            DataType::Boolean => Self::Truth,
            DataType::Date32 => Self::Day,
            DataType::Timestamp(..) => Self::Moment,
            kind if kind.is_numeric() => Self::Number,
            _ => Self::Text,
        }
    }

    /// What columns of both kinds, one below the other, are.
    fn beside(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Whole | Self::Number, Self::Whole | Self::Number) => Self::Number,
            _ => Self::Text,
        }
    }
}

/// The columns of a query, or of a UNION ALL of it and those beside it: its own, and after each noisy one the columns
/// about its error.
pub(crate) fn columns(cut: &PrivateQuery) -> Result<Vec<PublishedColumn>> {
    let branches: Vec<(&PrivateQuery, Vec<Output>)> = std::iter::once(cut)
        .chain(cut.beside())
        .map(|cut| Ok((cut, above::outputs(&cut.plan, &cut.aggregate)?)))
        .collect::<Result<_>>()?;
    let mut all = Vec::new();
    for (index, field) in cut.plan.schema().fields().iter().enumerate() {
        let kinds = branches.iter().map(|(cut, _)| ColumnKind::of(cut.plan.schema().field(index).data_type()));
        let kind = kinds.reduce(ColumnKind::beside).unwrap_or(ColumnKind::Text);
        all.push(PublishedColumn { name: field.name().clone(), kind });
        let of_any =
            |is: fn(&PrivateQuery, &Output) -> bool| branches.iter().any(|(cut, outputs)| is(cut, &outputs[index]));
        let beside = |end: &str| PublishedColumn { name: format!("{}{end}", field.name()), kind: ColumnKind::Number };
        if of_any(depends_on_quantiles) || of_any(|_, output| output.is_number && !output.aggregates.is_empty()) {
            all.push(beside("_error"));
        }
        if of_any(|cut, output| quantile_of(cut, output).is_some()) {
            all.push(beside(RANK_ERROR));
        }
    }
    Ok(all)
}

/// The types of the parameters `$1`, `$2` … of a query, as far as the query determines them; without data.
pub fn parameters(sql: &str, project: &Project) -> Result<Vec<Option<ColumnKind>>> {
    let found = crate::sql::parameters(sql, project, &Backend::without_data(project)?)?;
    let last = found.iter().map(|(number, _)| *number).max().unwrap_or(0);
    let mut kinds = vec![None; last];
    for (number, kind) in found {
        kinds[number - 1] = kind.as_ref().map(ColumnKind::of);
    }
    Ok(kinds)
}

/// Refuses a string that is too long, or nested too deeply to be parsed without harm. Code that parses queries before
/// they are planned calls this first.
pub fn refuse_too_long(sql: &str) -> Result<()> {
    crate::sql::refuse_too_long(sql)
}
