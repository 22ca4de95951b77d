//! One row for each owner first:
//! `SELECT AVG(total) FROM (SELECT person, SUM(cost) AS total FROM visits GROUP BY person)`.
//!
//! The inner aggregate groups by the owner, and may group by more. An owner's rows are bounded as ever, by owner and
//! inner key ([`crate::tables::bounding`]); those that stay become one *inner row* for each owner and inner key, and
//! what the query does with inner rows is evaluated on these ([`run`]). So the outer aggregate sees a table where an
//! owner has at most min(g, R) rows, and no value chooses them: [`InnerQuery::outer_bounds`] says how many may be in
//! one of its groups, and all sensitivities follow from that as they do for other tables ([`super::sensitivity`]).
//!
//! # Guarantee
//! For every hash key:
//! - which inner rows an owner has depends on the attributes of inner keys, filters and joins alone: these are among
//!   the attributes that decide which rows there are ([`DescribedPlan::rows`]);
//! - COUNT(*) of an inner row depends on those as well, and on no value. Which rows stay depends on all values, so
//!   every other column does: each has the attributes of all of them;
//! - every column is within the interval that is known of it, which follows from the declared bounds and from how many
//!   rows stay.

use super::QueryParts;
use super::describe::{Describer, LARGEST_WHOLE, ValueFacts, named, shown};
use super::described::{DescribedPlan, InnerColumn, InnerComputation, InnerQuery, Ownership, PerOwner};
use super::measure::{bounds, grid, group_key, made_total, only_where};
use super::possible::AggregatedColumn;
use super::query::GroupKey;
use crate::error::{DataFusionResult, Error, Result};
use crate::project::Bounding;
use crate::sql::QuerySource;
use crate::sql::functions::{SqlAggregate, SqlStatistic};
use crate::tables::bounding::Bounds;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DataFusionError};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{Aggregate, EmptyRelation, Expr, LogicalPlan, cast, lit, when};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// A column of the inner aggregate with its facts; none if it names the owner.
type DescribedColumn = Option<(InnerComputation, ValueFacts)>;

/// Reads an inner aggregate over `inner`: what is known of the table of inner rows.
pub(crate) fn inner_rows(
    aggregate: &Aggregate,
    inner: DescribedPlan,
    asked: Bounding,
    read: usize,
    source: &QuerySource<'_>,
) -> Result<DescribedPlan> {
    let mut written = HashSet::new();
    let mut group_expr = aggregate.group_expr.clone();
    group_expr.retain(|key| written.insert(key.clone()));
    if group_expr.len() + aggregate.aggr_expr.len() != aggregate.schema.fields().len() {
        return Err(source.error("group by", "the columns of GROUP BY cannot be distinguished; name each once"));
    }
    let Ownership::Named(_) = &inner.owner else { return Err(without_owner(source)) };
    let describer = Describer { schema: inner.plan.schema(), columns: &inner.columns, source };
    let mut reader = InnerReader { describer, values: Vec::new(), attributes: BTreeSet::new(), rows: 1 };
    let (mut keys, mut known, mut key_columns, mut owner) = (Vec::new(), Vec::new(), Vec::new(), None);
    let mut columns: Vec<DescribedColumn> = Vec::new();
    let mut possible = Vec::new();
    for (index, expression) in group_expr.into_iter().enumerate() {
        let expression = made_total(&reader.describer, expression.unalias())?;
        if let Expr::Column(column) = &expression
            && reader.describer.column(column)?.is_owner
        {
            let missing = reader.describer.column(column)?.missing;
            owner = owner.or((!missing).then_some(index));
            columns.push(None);
            possible.push(AggregatedColumn::Owner);
            continue;
        }
        let name = match &expression {
            Expr::Column(column) => column.name.clone(),
            other => named(other),
        };
        let (key, of_key) = group_key(name, &expression, &reader.describer)?;
        columns.push(Some((InnerComputation::Key(keys.len()), of_key.clone())));
        possible.push(AggregatedColumn::Key(expression));
        keys.push(key);
        known.push(of_key);
        key_columns.push(index);
    }
    let Some(owner) = owner else { return Err(not_by_owner(&inner, source)) };
    let bounding = asked.or(inner.bounding);
    let bounds = bounds(&inner, bounding, !keys.is_empty()).ok_or_else(|| without_owner(source))?;
    reader.rows = bounds.rows_per_group.min(bounds.rows);
    for expression in &aggregate.aggr_expr {
        columns.push(Some(reader.aggregate(expression)?));
    }
    // Which rows of a group stay depends on all values.
    for (how, known) in columns.iter_mut().flatten() {
        if !matches!(how, InnerComputation::Key(_) | InnerComputation::Rows) {
            known.attributes.clone_from(&reader.attributes);
        }
    }
    let values = reader.values;
    let fields = aggregate.schema.fields();
    for ((how, known), field) in
        columns.iter().zip(fields).skip(possible.len()).filter_map(|(c, f)| Some((c.as_ref()?, f)))
    {
        let never_null =
            matches!(how, InnerComputation::Rows | InnerComputation::Present(_) | InnerComputation::Different(_));
        possible.push(AggregatedColumn::Made { kind: field.data_type().clone(), known: known.clone(), never_null });
    }
    let made = |(index, (column, field)): (usize, (&DescribedColumn, &FieldRef))| {
        let (how, known) = column.as_ref()?;
        let (kind, shown) = (field.data_type().clone(), field.name().clone());
        Some(InnerColumn { name: column_name(index), how: *how, kind, shown, interval: known.interval })
    };
    let per_owner = PerOwner {
        bounds,
        keys,
        values,
        columns: columns.iter().zip(fields).enumerate().filter_map(made).collect(),
        conditions: Vec::new(),
    };
    let (qualifier, field) = aggregate.schema.qualified_field(owner);
    let mut rows = inner.rows.clone();
    rows.extend(known.into_iter().flat_map(|known| known.attributes));
    let of_owner = || ValueFacts { is_owner: true, ..ValueFacts::default() };
    Ok(DescribedPlan {
        plan: LogicalPlan::EmptyRelation(EmptyRelation {
            produce_one_row: false,
            schema: Arc::clone(&aggregate.schema),
        }),
        columns: columns.into_iter().map(|column| column.map_or_else(of_owner, |(_, known)| known)).collect(),
        possible: inner.possible.clone().aggregated(possible, inner.plan.schema(), read),
        rows,
        owner: Ownership::Named(Column::new(qualifier.cloned(), field.name())),
        tables: inner.tables.clone(),
        bounding: inner.bounding,
        first: Some(Box::new(InnerQuery { below: inner, per_owner, key_columns })),
    })
}

fn without_owner(source: &QuerySource<'_>) -> Error {
    source.error(
        "from",
        "an aggregate over an aggregate needs a table with an owner: the inner one makes one row for each owner, and here each row is a person by itself",
    )
}

fn not_by_owner(inner: &DescribedPlan, source: &QuerySource<'_>) -> Error {
    let owners = inner.columns.iter().zip(inner.plan.schema().fields());
    let named =
        owners.filter(|(known, _)| known.is_owner && !known.missing).map(|(_, field)| field.name().as_str()).next();
    let by = named.map_or(String::new(), |name| format!(" '{name}'"));
    source.error(
        "from",
        format!(
            "an aggregate over an aggregate needs an inner GROUP BY the owner column{by}; release any other inner \
                aggregate by itself, then compute on its results"
        ),
    )
}

/// Reads the aggregates of the inner rows.
struct InnerReader<'a> {
    describer: Describer<'a>,
    values: Vec<(Expr, DataType)>,
    /// The attributes of all values.
    attributes: BTreeSet<String>,
    /// How many rows an inner row is made of at most.
    rows: u64,
}

impl InnerReader<'_> {
    fn aggregate(&mut self, expression: &Expr) -> Result<(InnerComputation, ValueFacts)> {
        match expression {
            Expr::Alias(alias) => self.aggregate(&alias.expr),
            Expr::AggregateFunction(function) => self.function(function),
            other => Err(self.describer.source.error("", format!("{other} is not a supported aggregate"))),
        }
    }

    fn function(&mut self, function: &AggregateFunction) -> Result<(InnerComputation, ValueFacts)> {
        let (name, parameters) = (function.func.name(), &function.params);
        let refused = |sentence: String| Err(self.describer.source.error_at_call(name, sentence));
        let Some(statistic) = SqlAggregate::named(name).filter(|one| one.per_owner).map(|one| one.statistic) else {
            return refused(format!(
                "{name} is not supported in a sub-query that makes one row for each owner; {} are",
                SqlAggregate::answered_per_owner()
            ));
        };
        let is_count = statistic == SqlStatistic::Count;
        if !parameters.order_by.is_empty() || parameters.null_treatment.is_some() {
            return refused(format!("{name} with ORDER BY or NULL treatment is not supported"));
        }
        if parameters.distinct && !is_count {
            return refused(format!("{name}(DISTINCT …) is not supported; only COUNT(DISTINCT …) is"));
        }
        let argument = match parameters.args.as_slice() {
            [argument] => argument.clone(),
            [] if is_count => lit(1i64),
            _ => return refused(format!("{name} takes one argument")),
        };
        let argument = made_total(&self.describer, argument.unalias())?;
        let argument = match &parameters.filter {
            Some(filter) => only_where(&self.describer, filter.as_ref(), argument)?,
            None => argument,
        };
        if is_count {
            return self.count(argument, parameters.distinct);
        }
        let (known, grid) = grid(&self.describer, &argument, &name.to_uppercase())?;
        let whole = self.describer.kind(&argument)?.is_integer();
        let many = self.rows as f64;
        let (interval, granularity) = match statistic {
            SqlStatistic::Sum => {
                ((grid.lower.min(grid.lower * many), grid.upper.max(grid.upper * many)), Some(grid.step))
            }
            SqlStatistic::Mean => ((grid.lower, grid.upper), None),
            _ => ((grid.lower, grid.upper), Some(grid.step)),
        };
        let largest = interval.0.abs().max(interval.1.abs());
        if statistic == SqlStatistic::Sum
            && (largest / grid.step >= LARGEST_WHOLE || (whole && largest >= LARGEST_WHOLE))
        {
            let sentence = format!(
                "SUM({}) of up to {} rows of an owner may be too large to be exact; declare tighter bounds, a coarser granularity or fewer rows per owner",
                shown(&argument),
                self.rows
            );
            return refused(sentence);
        }
        let place = self.value(grid.units(cast(argument, DataType::Float64), 0, false), DataType::Int64, &known);
        let how = match statistic {
            SqlStatistic::Sum => InnerComputation::Sum(place, grid),
            SqlStatistic::Mean => InnerComputation::Mean(place, grid),
            SqlStatistic::Least => InnerComputation::Least(place, grid),
            _ => InnerComputation::Largest(place, grid),
        };
        // An inner row is made of at least one row.
        let present = known.present;
        Ok((how, ValueFacts { interval: Some(interval), granularity, present, ..ValueFacts::default() }))
    }

    fn count(&mut self, argument: Expr, distinct: bool) -> Result<(InnerComputation, ValueFacts)> {
        let up_to = |least: f64, rows: u64| ValueFacts {
            interval: Some((least, rows as f64)),
            present: true,
            ..ValueFacts::default()
        };
        if matches!(&argument, Expr::Literal(value, _) if !value.is_null()) && !distinct {
            return Ok((InnerComputation::Rows, up_to(1.0, self.rows)));
        }
        let known = self.describer.expression(&argument)?;
        if !distinct {
            let present = when(argument.is_not_null(), lit(1i64)).end();
            let present = present.map_err(|error| self.describer.refused(error.message().to_string()))?;
            let place = self.value(present, DataType::Int64, &known);
            return Ok((InnerComputation::Present(place), up_to(0.0, self.rows)));
        }
        if argument.column_refs().is_empty() {
            let sentence = "COUNT(DISTINCT …) of a constant is not supported; count a column or COUNT(*)";
            return Err(self.describer.source.error_at_call("count", sentence));
        }
        let place = self.value(cast(argument, DataType::Utf8), DataType::Utf8, &known);
        Ok((InnerComputation::Different(place), up_to(0.0, self.rows)))
    }

    /// The place of a value; the same one is read once.
    fn value(&mut self, expression: Expr, kind: DataType, known: &ValueFacts) -> usize {
        self.attributes.extend(known.attributes.iter().cloned());
        let value = (expression, kind);
        self.values.iter().position(|other| *other == value).unwrap_or_else(|| {
            self.values.push(value);
            self.values.len() - 1
        })
    }
}

impl InnerQuery {
    /// How many inner rows of an owner are in how many groups of these keys, over the columns of `plan`.
    ///
    /// # Guarantee
    /// An owner has at most one inner row for each inner key, and at most min(g, R) in all. Where all inner keys are
    /// among the outer ones, no two of them are in one outer group.
    pub fn outer_bounds(&self, keys: &[GroupKey], plan: &LogicalPlan, source: &QuerySource<'_>) -> Result<Bounds> {
        let flat = FlatPlan::of(plan).map_err(|error| source.error("", error.message().to_string()))?;
        let mut found = HashSet::new();
        for key in keys {
            let flat =
                flat.over(&key.expression, plan).map_err(|error| source.error("", error.message().to_string()))?;
            let bare = match &flat {
                // Narrow whole numbers are widened, each to one of its own.
                Expr::Cast(cast) if *cast.field.data_type() == DataType::Int64 => cast.expr.as_ref(),
                other => other,
            };
            if let Expr::Column(column) = bare {
                found.insert(column.name.clone());
            }
        }
        let rows = self.per_owner.bounds.groups.min(self.per_owner.bounds.rows);
        let apart = self.key_columns.iter().all(|index| found.contains(&column_name(*index)));
        Ok(Bounds { groups: rows, rows_per_group: if apart { 1 } else { rows }, rows })
    }
}

/// The name of a column of the inner aggregate in expressions over inner rows.
fn column_name(index: usize) -> String {
    format!("column {index}")
}

/// The plan between the inner and the outer aggregate: each output column over the columns of inner rows, and what must
/// be true of them.
struct FlatPlan {
    columns: Vec<Expr>,
    conditions: Vec<Expr>,
}

impl FlatPlan {
    fn of(plan: &LogicalPlan) -> DataFusionResult<Self> {
        match plan {
            LogicalPlan::EmptyRelation(relation) => {
                let column = |index: usize| Expr::Column(Column::new_unqualified(column_name(index)));
                let columns = (0..relation.schema.fields().len()).map(column).collect();
                Ok(Self { columns, conditions: Vec::new() })
            }
            LogicalPlan::SubqueryAlias(alias) => Self::of(&alias.input),
            LogicalPlan::Projection(projection) => {
                let inner = Self::of(&projection.input)?;
                let columns = projection.expr.iter().map(|one| inner.over(one, &projection.input));
                Ok(Self { columns: columns.collect::<DataFusionResult<_>>()?, conditions: inner.conditions })
            }
            LogicalPlan::Filter(filter) => {
                let mut inner = Self::of(&filter.input)?;
                let condition = inner.over(&filter.predicate, &filter.input)?;
                inner.conditions.push(condition);
                Ok(inner)
            }
            other => {
                Err(DataFusionError::Plan(format!("{} is not supported above one row per owner", other.display())))
            }
        }
    }

    /// An expression over the output of `plan` as one over the columns of inner rows.
    fn over(&self, expression: &Expr, plan: &LogicalPlan) -> DataFusionResult<Expr> {
        let replaced = expression.clone().transform_up(|node| match node {
            Expr::Alias(alias) => Ok(Transformed::yes(*alias.expr)),
            Expr::Column(column) => {
                let index = plan.schema().maybe_index_of_column(&column);
                match index.and_then(|index| self.columns.get(index)) {
                    Some(inner) => Ok(Transformed::yes(inner.clone())),
                    None => Err(DataFusionError::Plan(format!("there is no column '{column}'"))),
                }
            }
            other => Ok(Transformed::no(other)),
        });
        replaced.map(|replaced| replaced.data)
    }
}

/// Turns a query over inner rows into one over the rows below them: its keys and values are then over the columns of
/// inner rows.
pub(crate) fn unfolded(mut parts: QueryParts, source: &QuerySource<'_>) -> Result<QueryParts> {
    let Some(first) = parts.below.first.take() else { return Ok(parts) };
    let plan = parts.below.plan.clone();
    let mut attempt = || -> DataFusionResult<Vec<Expr>> {
        let flat = FlatPlan::of(&plan)?;
        for key in &mut parts.query.keys {
            key.expression = flat.over(&key.expression, &plan)?;
        }
        for expression in parts.query.measures.iter_mut().filter_map(|measure| measure.expression.as_mut()) {
            *expression = flat.over(expression, &plan)?;
        }
        for ranked in &mut parts.query.ranked {
            ranked.expression = flat.over(&ranked.expression, &plan)?;
        }
        Ok(flat.conditions)
    };
    let conditions = attempt().map_err(|error| source.error("", error.message().to_string()))?;
    parts.per_owner = Some(PerOwner { conditions, ..first.per_owner });
    parts.below = first.below;
    Ok(parts)
}

#[cfg(test)]
mod tests;
