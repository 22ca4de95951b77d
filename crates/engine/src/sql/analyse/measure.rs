//! Reads the aggregate: what it asks for, as integer measures, each a sum over the kept rows of something with known
//! bounds.

use super::casts::total;
use super::dates;
use super::describe::{Describer, LARGEST_WHOLE, ValueFacts, named, shown, type_word};
use super::described::{DescribedPlan, Ownership};
use super::impossible::refuse_impossible;
use super::pair::{Moments, Pair};
use super::query::{ColumnQuantile, Computation, GroupKey, Measure, PublicKeys, Query, Rank, RankedColumn, Summand};
use crate::error::Result;
use crate::project::Bounding;
use crate::sql::QuerySource;
use crate::sql::functions::{PairStatistic, SqlAggregate, SqlStatistic};
use crate::tables::bounding::Bounds;
use crate::tables::functions::{Grid, MOMENT};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{AggregateFunction, Case};
use datafusion::logical_expr::{Aggregate, Expr, cast, lit, when};
use scumble::quantity::Probability;
use std::collections::BTreeSet;

/// The most numbers and keys that an answer may have: about 1 GB while it is made.
pub(crate) const MOST_NUMBERS: u64 = 1_000_000;
/// The most aggregates of a query.
const MOST_AGGREGATES: usize = 200;
/// The most keys.
const MOST_KEYS: usize = 32;
/// Where groups are not public, an owner counts in up to this many without being asked about: noise and threshold are
/// in proportion to them.
const MOST_UNASKED: u64 = 10;
const UNASKED: &str = "the groups are not public: set max_groups_per_owner (a few, in the table or in the release), \
    or list the values of the column in the project file";
/// The finest grid of a square: 2²⁰ steps on either side of the centre.
const SQUARE_STEPS: f64 = 1_048_576.0;
/// Sums are made of steps that fit 2⁵³.
const MOST_STEPS: f64 = LARGEST_WHOLE;

/// Reads the aggregate.
pub(crate) fn query(
    aggregate: &Aggregate,
    below: &DescribedPlan,
    bounding: Bounding,
    source: &QuerySource<'_>,
) -> Result<Query> {
    if aggregate.aggr_expr.len() > MOST_AGGREGATES {
        let sentence = format!("the query has more than {MOST_AGGREGATES} aggregates; release them in several queries");
        return Err(source.error("select", sentence));
    }
    if aggregate.group_expr.len() > MOST_KEYS {
        return Err(source.error("group by", format!("GROUP BY has more than {MOST_KEYS} columns; name fewer")));
    }
    let describer = Describer { schema: below.plan.schema(), columns: &below.columns, source };
    let (mut keys, mut known) = (Vec::new(), Vec::new());
    for expression in &aggregate.group_expr {
        let name = match expression.clone().unalias() {
            Expr::Column(column) => column.name,
            other => named(&other),
        };
        let expression = made_total(&describer, expression.clone().unalias())?;
        let (key, of_key) = group_key(name, &expression, &describer)?;
        keys.push(key);
        known.push(of_key);
    }
    let key_attributes = known.iter().flat_map(|known| known.attributes.clone()).collect();
    let public = public_keys(&mut keys, &known, below, source)?;
    for filter in aggregate.aggr_expr.iter().filter_map(filter_of) {
        refuse_impossible(&made_total(&describer, filter.clone())?, &below.possible, &describer)?;
    }
    let bounding = bounding.or(below.bounding);
    let bounds = match &below.first {
        Some(first) => Some(first.outer_bounds(&keys, &below.plan, source)?),
        None => bounds(below, bounding, !keys.is_empty()),
    };
    let mut builder =
        MeasureBuilder { describer, bounds, measures: Vec::new(), ranked: Vec::new(), quantiles: Vec::new() };
    let mut aggregates = Vec::new();
    for expression in &aggregate.aggr_expr {
        aggregates.push(builder.aggregate(expression)?);
    }
    let MeasureBuilder { measures, ranked, quantiles, .. } = builder;
    let rows = below.rows.clone();
    let query = Query { keys, public, measures, ranked, quantiles, aggregates, bounds, rows, key_attributes };
    let selects = source.lists_keys && query.cells().is_none();
    if selects && bounding.groups.is_none() && bounds.is_some_and(|bounds| bounds.groups > MOST_UNASKED) {
        return Err(source.error("group by", UNASKED));
    }
    finished(query, bounds, source)
}

/// The condition after FILTER (WHERE …), if an aggregate has one.
fn filter_of(aggregate: &Expr) -> Option<&Expr> {
    match aggregate {
        Expr::Alias(alias) => filter_of(&alias.expr),
        Expr::AggregateFunction(function) => function.params.filter.as_deref(),
        _ => None,
    }
}

/// Adds what key selection needs and checks the number of cells.
fn finished(mut query: Query, bounds: Option<Bounds>, source: &QuerySource<'_>) -> Result<Query> {
    match query.cells() {
        None => {
            if query.owners().is_none() {
                let same = bounds.is_none_or(|bounds| bounds.rows_per_group.min(bounds.rows) == 1);
                let rows = query.measures.iter_mut().find(|measure| same && measure.what == Summand::Rows);
                match rows {
                    // One row per owner and group: counting rows is counting owners, and is paid once.
                    Some(measure) => measure.what = Summand::Owners,
                    None => query.measures.push(owners()),
                }
            }
            Ok(query)
        }
        Some(cells) if cells.saturating_mul((query.keys.len() + query.aggregates.len()) as u64) > MOST_NUMBERS => {
            let columns = query.keys.len() + query.aggregates.len();
            let sentence = format!(
                "GROUP BY has {cells} cells of {columns} columns, and an answer has at most {MOST_NUMBERS} numbers \
                    and keys; group by fewer columns or release fewer aggregates"
            );
            Err(source.error("group by", sentence))
        }
        Some(_) if query.measures.is_empty() && query.quantiles.is_empty() => Err(source
            .error("select", "the query asks for no aggregate, and its keys are public; add COUNT(*), for example")),
        Some(_) => Ok(query),
    }
}

fn owners() -> Measure {
    Measure { what: Summand::Owners, expression: None, attributes: BTreeSet::new(), range: (0, 1) }
}

fn rows() -> Measure {
    Measure { what: Summand::Rows, expression: None, attributes: BTreeSet::new(), range: (0, 1) }
}

/// How much of an owner counts; none where each row is one person.
pub(crate) fn bounds(below: &DescribedPlan, bounding: Bounding, grouped: bool) -> Option<Bounds> {
    if below.owner == Ownership::EachRow {
        return None;
    }
    let rows = bounding
        .rows
        .unwrap_or_else(|| bounding.groups.unwrap_or(1).saturating_mul(bounding.rows_per_group.unwrap_or(1)));
    let groups = if grouped { bounding.groups.unwrap_or(rows).min(rows) } else { 1 };
    let rows_per_group = if grouped { bounding.rows_per_group.unwrap_or(rows).min(rows) } else { rows };
    Some(Bounds { groups, rows_per_group, rows })
}

/// A key with its name, and its facts.
pub(crate) fn group_key(name: String, expression: &Expr, describer: &Describer<'_>) -> Result<(GroupKey, ValueFacts)> {
    let known = describer.expression(expression)?;
    let (expression, kind) = match describer.kind(expression)? {
        DataType::Int32 | DataType::Int16 | DataType::Int8 => {
            (&cast(expression.clone(), DataType::Int64), DataType::Int64)
        }
        kind => (expression, kind),
    };
    let shown = shown(expression);
    let refused = |sentence: String| match expression {
        Expr::Column(column) => describer.source.error_at_column(&column.name, sentence),
        Expr::ScalarFunction(call) => describer.source.error_at_call(call.func.name(), sentence),
        _ => describer.source.error("group by", sentence),
    };
    match kind.clone() {
        DataType::Utf8 | DataType::Int64 | DataType::Boolean | DataType::Date32 => {}
        // Where no keys are listed, their number does not matter.
        kind if kind == MOMENT && (known.granularity.is_some() || !describer.source.lists_keys) => {}
        kind if kind == MOMENT => {
            let sentence = format!(
                "GROUP BY {shown}: a column of times has a group for nearly every row; group by DATE_TRUNC('month', …), CAST(… AS DATE) or EXTRACT(… FROM …)"
            );
            return Err(refused(sentence));
        }
        DataType::Float64 => {
            let sentence = format!(
                "GROUP BY {shown}: a column of fractions has a group for nearly every row; round it to whole numbers, \
                    as in CAST(FLOOR(x) AS BIGINT), or use CASE"
            );
            return Err(refused(sentence));
        }
        other => {
            let sentence = format!(
                "GROUP BY {shown}: a key must be a string, a whole number, a date or a truth value, and these are {}",
                type_word(&other)
            );
            return Err(refused(sentence));
        }
    }
    Ok((GroupKey { name, expression: expression.clone(), kind, domain: None, can_be_missing: true }, known))
}

/// The keys that can occur, if they are public; each column is given its own.
fn public_keys(
    keys: &mut [GroupKey],
    known: &[ValueFacts],
    below: &DescribedPlan,
    source: &QuerySource<'_>,
) -> Result<Option<PublicKeys>> {
    if keys.is_empty() {
        return Ok(PublicKeys::new(Vec::new(), 0));
    }
    if !source.lists_keys {
        return Ok(None);
    }
    let occurring = below.possible.keys(keys, known, below.plan.schema(), source);
    for (key, can_be_missing) in keys.iter_mut().zip(&occurring.can_be_missing) {
        key.can_be_missing = *can_be_missing;
    }
    if !occurring.any {
        let sentence = "by the domains that the project file declares, no row passes the conditions and has a key: \
            change the condition or the domains";
        return Err(source.error("where", sentence));
    }
    for (key, domain) in occurring.parts.iter().flat_map(|part| part.domains()) {
        keys[key].domain = Some(domain.clone());
    }
    Ok(PublicKeys::new(occurring.parts, keys.len()))
}

/// The expression with casts that fail on no row.
pub(crate) fn made_total(describer: &Describer<'_>, expression: Expr) -> Result<Expr> {
    total(expression, describer.schema).map_err(|error| describer.refused(error.message().to_string()))
}

struct MeasureBuilder<'a> {
    describer: Describer<'a>,
    bounds: Option<Bounds>,
    measures: Vec<Measure>,
    ranked: Vec<RankedColumn>,
    quantiles: Vec<ColumnQuantile>,
}

impl MeasureBuilder<'_> {
    /// The measure's index; the same measure is noised once.
    fn measure(&mut self, measure: Measure) -> usize {
        position_or_push(&mut self.measures, measure)
    }

    fn aggregate(&mut self, expression: &Expr) -> Result<Computation> {
        match expression {
            Expr::Alias(alias) => self.aggregate(&alias.expr),
            Expr::AggregateFunction(function) => self.function(function),
            other => Err(self.describer.source.error("", format!("{other} is not a supported aggregate"))),
        }
    }

    fn function(&mut self, function: &AggregateFunction) -> Result<Computation> {
        let (name, parameters) = (function.func.name(), &function.params);
        let statistic = SqlAggregate::named(name).map(|record| record.statistic);
        if let Some(SqlStatistic::Pair(asked)) = statistic {
            return self.pair(asked, function);
        }
        let refused = |sentence: String| Err(self.describer.source.error_at_call(name, sentence));
        let is_fraction = matches!(statistic, Some(SqlStatistic::Fraction(_)));
        let is_count = statistic == Some(SqlStatistic::Count);
        if (!parameters.order_by.is_empty() && !is_fraction) || parameters.null_treatment.is_some() {
            return refused(format!("{name} with ORDER BY or NULL treatment is not supported"));
        }
        if parameters.distinct && !is_count {
            return refused(format!("{name}(DISTINCT …) is not supported; only COUNT(DISTINCT …) is"));
        }
        let argument = match (statistic, parameters.args.as_slice()) {
            (Some(SqlStatistic::Fraction(most)), [argument, _, ..]) if parameters.args.len() <= most => {
                argument.clone()
            }
            (Some(SqlStatistic::Fraction(_)), _) => return refused(format!("{name} takes a column and a fraction")),
            (_, [argument]) => argument.clone(),
            (Some(SqlStatistic::Count), []) => Expr::Literal(ScalarValue::Int64(Some(1)), None),
            (Some(_), _) => return refused(format!("{name} takes one argument")),
            (None, _) => return refused(unanswered(name)),
        };
        let argument = made_total(&self.describer, argument.unalias())?;
        let argument = match &parameters.filter {
            // DataFusion counts one value where the argument is always NULL, with and without rows.
            Some(filter) if parameters.distinct && filter.column_refs().is_empty() => {
                let sentence =
                    "COUNT(DISTINCT …) FILTER (WHERE …) of a constant condition is not supported; leave it out";
                return Err(self.describer.source.error("filter", sentence));
            }
            Some(filter) => only_where(&self.describer, filter.as_ref(), argument)?,
            None => argument,
        };
        self.computation(statistic, argument, function)
    }

    /// What an aggregate is computed from, of its argument on the rows that its FILTER lets through.
    fn computation(
        &mut self,
        statistic: Option<SqlStatistic>,
        argument: Expr,
        function: &AggregateFunction,
    ) -> Result<Computation> {
        let (name, parameters) = (function.func.name(), &function.params);
        let refused = |sentence: String| Err(self.describer.source.error_at_call(name, sentence));
        match statistic {
            Some(SqlStatistic::Count) => self.count(argument, parameters.distinct),
            Some(SqlStatistic::Sum) => {
                let (known, grid) = self.grid(&argument, "SUM")?;
                let steps = self.steps(&argument, &known, grid, 0);
                Ok(Computation::Sum { steps, step: grid.step })
            }
            Some(SqlStatistic::Mean) => {
                let (known, grid) = self.grid(&argument, "AVG")?;
                let centre = centre(grid);
                let steps = self.steps(&argument, &known, grid, centre);
                let count = self.present(&argument, &known)?;
                Ok(Computation::Mean { steps, count, grid, centre })
            }
            Some(SqlStatistic::Spread { sample, root }) => {
                let (known, grid) = self.grid(&argument, name)?;
                let grid = for_squares(grid);
                let centre = centre(grid);
                let steps = self.steps(&argument, &known, grid, centre);
                let squares = self.squares(&argument, &known, grid, centre);
                let count = self.present(&argument, &known)?;
                Ok(Computation::Spread { steps, squares, count, grid, sample, root })
            }
            Some(SqlStatistic::Least) => self.quantile(&argument, name, Rank::Least),
            Some(SqlStatistic::Largest) => self.quantile(&argument, name, Rank::Largest),
            Some(SqlStatistic::Median) => self.quantile(&argument, name, Rank::Fraction(Probability::new(0.5)?)),
            Some(SqlStatistic::Fraction(_)) => {
                let descending = parameters.order_by.first().is_some_and(|order| !order.asc);
                let fraction =
                    parameters.args.get(1).cloned().map(|one| made_total(&self.describer, one)).transpose()?;
                let Some(fraction) = fraction.and_then(|fraction| literal_fraction(&fraction, descending)) else {
                    return refused(format!("the fraction of {name} must be a literal, a number from 0 to 1"));
                };
                self.quantile(&argument, name, Rank::of(fraction))
            }
            Some(SqlStatistic::Pair(_)) | None => refused(unanswered(name)),
        }
    }

    /// What two columns have in common, in the rows in which both are present.
    fn pair(&mut self, asked: PairStatistic, function: &AggregateFunction) -> Result<Computation> {
        let (name, parameters) = (function.func.name(), &function.params);
        let [y, x] = parameters.args.as_slice() else {
            return Err(self.describer.source.error_at_call(name, format!("{name} takes two columns")));
        };
        if parameters.distinct || !parameters.order_by.is_empty() || parameters.null_treatment.is_some() {
            let sentence = format!("{name} with DISTINCT, ORDER BY or NULL treatment is not supported");
            return Err(self.describer.source.error_at_call(name, sentence));
        }
        let read = |argument: &Expr| -> Result<Expr> {
            let argument = made_total(&self.describer, argument.clone().unalias())?;
            match &parameters.filter {
                Some(filter) => only_where(&self.describer, filter.as_ref(), argument),
                None => Ok(argument),
            }
        };
        let (y, x) = (read(y)?, read(x)?);
        let both = |one: &Expr, other: &Expr| {
            if self.describer.expression(other)?.present {
                return Ok(one.clone());
            }
            let present = when(other.clone().is_not_null(), one.clone()).end();
            present.map_err(|error| self.describer.refused(error.message().to_string()))
        };
        let (x, y) = (both(&x, &y)?, both(&y, &x)?);
        let (x_squares, y_squares) = asked.squares();
        let (of_x, known) = self.moments(&x, name, x_squares)?;
        let (of_y, _) = self.moments(&y, name, y_squares)?;
        let from_middle =
            |argument: Expr, of: &Moments| cast(argument, DataType::Float64) - lit(of.centre as f64 * of.grid.step);
        let product = from_middle(x.clone(), &of_x) * from_middle(y, &of_y);
        let (of_product, grid) = self.grid(&product, name)?;
        let products = self.steps(&product, &of_product, grid, 0);
        let count = self.present(&x, &known)?;
        Ok(Computation::Pair(Pair { asked, x: of_x, y: of_y, products, step: grid.step, count }))
    }

    fn moments(&mut self, argument: &Expr, name: &str, squares: bool) -> Result<(Moments, ValueFacts)> {
        let (known, grid) = self.grid(argument, name)?;
        let grid = for_squares(grid);
        let centre = centre(grid);
        let steps = self.steps(argument, &known, grid, centre);
        let squares = squares.then(|| self.squares(argument, &known, grid, centre));
        Ok((Moments { steps, squares, grid, centre }, known))
    }

    /// A quantile; the same one is drawn once.
    fn quantile(&mut self, argument: &Expr, name: &str, rank: Rank) -> Result<Computation> {
        let argument = dates::number(argument.clone(), &self.describer.kind(argument)?);
        let (known, grid) = self.grid(&argument, &name.to_uppercase())?;
        let ranked = RankedColumn { expression: argument, attributes: known.attributes, grid };
        let ranked = position_or_push(&mut self.ranked, ranked);
        Ok(Computation::Quantile(position_or_push(&mut self.quantiles, ColumnQuantile { ranked, rank })))
    }

    fn count(&mut self, argument: Expr, distinct: bool) -> Result<Computation> {
        let bare = match &argument {
            Expr::Column(column) => self.describer.column(column)?.is_owner,
            _ => false,
        };
        if let Expr::Column(column) = &argument
            && bare
            && self.describer.column(column)?.missing
        {
            let sentence = format!(
                "a left join names no owner in '{argument}' where it finds no row; count the owner of the left table, or use an inner join"
            );
            return Err(self.describer.source.error_at_call("count", sentence));
        }
        if bare {
            let each = self.bounds.is_none_or(|bounds| bounds.rows_per_group.min(bounds.rows) == 1);
            if !distinct && !each {
                let sentence = "COUNT of the owner column counts rows; write COUNT(*) or COUNT(DISTINCT …)";
                return Err(self.describer.source.error_at_call("count", sentence));
            }
            return Ok(Computation::Count(self.measure(owners())));
        }
        if let Expr::Literal(value, _) = &argument
            && !value.is_null()
            && !distinct
        {
            return Ok(Computation::Count(self.measure(rows())));
        }
        let known = self.describer.expression(&argument)?;
        if !distinct {
            return Ok(Computation::Count(self.present(&argument, &known)?));
        }
        // Found by the generator of adversarial queries: DataFusion counts one value in COUNT(DISTINCT NULL), with and
        // without rows.
        if argument.column_refs().is_empty() {
            let sentence = "COUNT(DISTINCT …) of a constant is not supported; count a column or COUNT(*)";
            return Err(self.describer.source.error_at_call("count", sentence));
        }
        let expression = Some(argument);
        let measure = Measure { what: Summand::Different, expression, attributes: known.attributes, range: (0, 1) };
        Ok(Computation::Count(self.measure(measure)))
    }

    /// The number of rows in which an argument is present. Where none can be missing that is the number of rows, and
    /// where a FILTER alone leaves rows out it is that of the rows that the filter lets through: the same numbers as
    /// COUNT(*) has, which are noised once.
    fn present(&mut self, argument: &Expr, known: &ValueFacts) -> Result<usize> {
        if known.present {
            return Ok(self.measure(rows()));
        }
        let (mut expression, mut attributes) = (argument.clone(), known.attributes.clone());
        if let Expr::Case(Case { expr: None, when_then_expr, else_expr: None }) = argument
            && let [(condition, then)] = &when_then_expr[..]
            && self.describer.expression(then)?.present
        {
            attributes = self.describer.expression(condition)?.attributes;
            let one = when(condition.as_ref().clone(), lit(1i64)).end();
            expression = one.map_err(|error| self.describer.refused(error.message().to_string()))?;
        }
        let expression = Some(expression);
        Ok(self.measure(Measure { what: Summand::Present, expression, attributes, range: (0, 1) }))
    }

    fn steps(&mut self, argument: &Expr, known: &ValueFacts, grid: Grid, centre: i64) -> usize {
        let range = grid.range(centre, false);
        let what = Summand::Steps { grid, centre };
        let expression = Some(argument.clone());
        self.measure(Measure { what, expression, attributes: known.attributes.clone(), range })
    }

    fn squares(&mut self, argument: &Expr, known: &ValueFacts, grid: Grid, centre: i64) -> usize {
        let range = grid.range(centre, true);
        let what = Summand::Squares { grid, centre };
        let expression = Some(argument.clone());
        self.measure(Measure { what, expression, attributes: known.attributes.clone(), range })
    }

    fn grid(&self, argument: &Expr, name: &str) -> Result<(ValueFacts, Grid)> {
        grid(&self.describer, argument, name)
    }
}

/// The argument on the rows that a FILTER lets through, NULL on others.
pub(crate) fn only_where(describer: &Describer<'_>, filter: &Expr, argument: Expr) -> Result<Expr> {
    let source = describer.source;
    let filter = made_total(describer, filter.clone())?;
    if describer.kind(&filter)? != DataType::Boolean {
        return Err(source.error("filter", "FILTER (WHERE …) needs a condition"));
    }
    when(filter, argument).end().map_err(|error| source.error("filter", error.message().to_string()))
}

/// The bounds and the grid of a summed expression; without bounds it is refused.
pub(crate) fn grid(describer: &Describer<'_>, argument: &Expr, name: &str) -> Result<(ValueFacts, Grid)> {
    let known = describer.expression(argument)?;
    let (source, kind) = (describer.source, describer.kind(argument)?);
    let (argument, expression) = (shown(argument), argument);
    if !kind.is_numeric() {
        let remedy = match kind {
            DataType::Date32 | DataType::Timestamp(..) => {
                ": count days from a date, as in day - DATE '2000-01-01' (of times: CAST(… AS DATE))"
            }
            DataType::Boolean => ": write CASE WHEN … THEN 1 ELSE 0 END",
            _ => "",
        };
        return Err(
            source.error_at_call(name, format!("{name}({argument}) needs numbers, not {}{remedy}", type_word(&kind)))
        );
    }
    let Some((lower, upper)) = known.interval else {
        let columns = known.attributes.iter().cloned().collect::<Vec<_>>().join(", ");
        let sentence = match have_bounds(describer, expression)? {
            true => format!(
                "{name}({argument}) has no bounds, although {columns} has: bound logarithms, quotients and powers, as \
                    in LN(GREATEST(x, 1)) or x / GREATEST(y, 1)"
            ),
            false => format!(
                "{name}({argument}) needs bounds: declare public lower and upper for {columns} in the project file \
                    (of a truth value, write CASE WHEN … THEN 1 ELSE 0 END)"
            ),
        };
        return Err(source.error_at_call(name, sentence));
    };
    let step = match (kind.is_integer(), known.granularity) {
        (true, _) => 1.0,
        (false, Some(granularity)) => granularity,
        (false, None) => default_step(lower, upper),
    };
    if lower.abs().max(upper.abs()) / step >= MOST_STEPS {
        let sentence = format!(
            "{name}({argument}) has bounds of ±{} in steps of {step}, which is too fine; declare tighter bounds or a coarser granularity",
            lower.abs().max(upper.abs())
        );
        return Err(source.error_at_call(name, sentence));
    }
    Ok((known, Grid { lower, upper, step }))
}

/// Whether all columns of an expression have bounds, so that it is the expression that has none.
fn have_bounds(describer: &Describer<'_>, expression: &Expr) -> Result<bool> {
    let columns = expression.column_refs();
    let mut all = !columns.is_empty();
    for column in columns {
        let column = Expr::Column(column.clone());
        // A date always has some interval, that of all dates.
        all &= describer.kind(&column)?.is_numeric() && describer.expression(&column)?.interval.is_some();
    }
    Ok(all)
}

/// The sentence about an aggregate that there is none of.
fn unanswered(name: &str) -> String {
    format!("the aggregate {name} is not supported; these are: {}", SqlAggregate::answered())
}

fn position_or_push<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|other| *other == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

/// A fraction that is written out; from the other end where the order is descending.
fn literal_fraction(expression: &Expr, descending: bool) -> Option<Probability> {
    let Expr::Literal(value, _) = expression else { return None };
    let ScalarValue::Float64(Some(fraction)) = value.cast_to(&DataType::Float64).ok()? else { return None };
    Probability::new(if descending { 1.0 - fraction } else { fraction }).ok()
}

/// The grid, as coarse as squares need it.
fn for_squares(grid: Grid) -> Grid {
    let half = (grid.upper - grid.lower) / 2.0;
    Grid { step: grid.step.max(half / SQUARE_STEPS), ..grid }
}

fn centre(grid: Grid) -> i64 {
    (grid.steps(grid.lower) + grid.steps(grid.upper)).div_euclid(2)
}

/// A power of ten that gives the range between 10⁵ and 10⁶ steps: its rounding is far below any noise.
fn default_step(lower: f64, upper: f64) -> f64 {
    let widest = (upper - lower).max(lower.abs()).max(upper.abs());
    if widest == 0.0 { 1.0 } else { 10f64.powf((widest / 1e6).log10().ceil()) }
}
