//! What the columns of a query's answer are, for charts.

use crate::release::output::ColumnRole;
use crate::sql::PrivateQuery;
use crate::sql::above::Output;
use crate::sql::analyse::query::{Computation, Rank};
use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::Expr;

/// What a column is: the same in all branches of a UNION ALL, or what the first branch says that computes it. Nothing
/// if it is no number and no key.
pub(super) fn role<'a>(branches: impl Iterator<Item = (&'a PrivateQuery, &'a Output)>) -> Option<ColumnRole> {
    let mut branches = branches.peekable();
    branches.peek()?;
    let computed = branches.find(|(_, output)| !output.aggregates.is_empty());
    match computed {
        None => Some(ColumnRole::Key),
        Some((cut, output)) => number(cut, output),
    }
}

fn number(cut: &PrivateQuery, output: &Output) -> Option<ColumnRole> {
    if let Some(quantile) = quantile_of(cut, output) {
        let quantile = &cut.query.quantiles[quantile];
        let of = plain_column(cut, output.aggregates[0]);
        return Some(match quantile.rank {
            Rank::Fraction(share) => {
                let written = || cut.query.ranked[quantile.ranked].expression.to_string();
                ColumnRole::Quantile { of: of.unwrap_or_else(written), share: share.get() }
            }
            Rank::Least | Rank::Largest => ColumnRole::Level { of },
        });
    }
    let Some(direct) = output.direct.filter(|_| !output.windowed) else {
        return output.is_number.then_some(ColumnRole::Derived);
    };
    let of = plain_column(cut, direct);
    Some(match cut.query.aggregates[direct] {
        Computation::Count(_) => ColumnRole::Amount { of: None },
        Computation::Sum { .. } => ColumnRole::Amount { of },
        Computation::Spread { root: false, .. } | Computation::Pair(_) => ColumnRole::Level { of: None },
        _ => ColumnRole::Level { of },
    })
}

/// The column that an aggregate is taken of, if it is taken of one as it is: only then its unit is that of the column.
fn plain_column(cut: &PrivateQuery, aggregate: usize) -> Option<String> {
    let mut expression = cut.aggregate.aggr_expr.get(aggregate)?;
    while let Expr::Alias(alias) = expression {
        expression = &alias.expr;
    }
    let Expr::AggregateFunction(function) = expression else { return None };
    let mut argument = function.params.args.first()?;
    loop {
        match argument {
            Expr::Cast(cast) => argument = &cast.expr,
            Expr::TryCast(cast) => argument = &cast.expr,
            Expr::Column(column) => return Some(column.name.clone()),
            _ => return None,
        }
    }
}

/// The quantile that an output column of a query is, as it is or as a fraction.
pub(crate) fn quantile_of(cut: &PrivateQuery, output: &Output) -> Option<usize> {
    let inner = match &output.expression {
        Expr::Cast(cast) if *cast.field.data_type() == DataType::Float64 => cast.expr.as_ref(),
        Expr::TryCast(cast) if *cast.field.data_type() == DataType::Float64 => cast.expr.as_ref(),
        other => other,
    };
    match (inner, &output.aggregates[..]) {
        (Expr::Column(_), [one]) => match cut.query.aggregates[*one] {
            Computation::Quantile(quantile) => Some(quantile),
            _ => None,
        },
        _ => None,
    }
}
