//! How unsure window functions over released numbers are: shares of a total, running sums, changes on the year before.
//!
//! Where the partitions, the order and the frame of a window are about keys, the rows that it reads are known without
//! any number: the same window over the numbers of rows says which they are. So SUM and AVG are sums of the noises of
//! several cells, LAG, LEAD, FIRST_VALUE and LAST_VALUE have that of another cell. What is linear in them has the
//! interval of a sum of noises ([`super::super::spread`]), a quotient of two such Fieller's ([`super::super::ratio`]).
//!
//! Where numbers decide which rows a window reads (ORDER BY a count, HAVING before it, keys that are selected
//! privately) no interval is given.

use super::super::made::formula;
use super::super::noisy::{NoisyCell, NoisyIntegers, key_columns};
use super::super::ratio::{self, SharedNoise};
use super::super::region::ANYTHING;
use super::super::spread::{Cumulants, NoiseLaw, half_width};
use super::{NoiseContext, UNKNOWN, is_sum};
use crate::error::Result;
use crate::release::output::{BETA, Uncertainty};
use crate::sql::above::derivation::{Derivation, mentioned};
use crate::sql::above::formula::{BoxedRow, Degree, Formula, FormulaEnclosure, Order, Span, bounds};
use crate::sql::above::{self, Output};
use crate::tables::Backend;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{
    Aggregate, Expr, ExprSchemable, LogicalPlan, WindowFrameUnits, WindowFunctionDefinition,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Windows over more rows have no interval: each may read all others.
const MOST_ROWS: usize = 2000;

/// What a window makes of the rows that it reads.
#[derive(Debug, Clone, Copy, PartialEq)]
enum WindowValue {
    Sum,
    Mean,
    /// The value of one row.
    One,
}

/// A window function whose rows are known.
struct RowWindow {
    value: WindowValue,
    /// The same window over the numbers of rows, in the place of its argument.
    over_rows: fn(WindowFunction, &Expr) -> Expr,
    window: WindowFunction,
    argument: Derivation,
    /// The argument over the measures of a row.
    formula: Formula,
    /// What it is where there is no such row; none for NULL.
    otherwise: Option<f64>,
}

/// The value of a window's argument in each row, and its slopes by the row's measures; none where it is not a number.
type ArgumentValues = Vec<Option<(f64, Vec<f64>)>>;

/// A column, with the windows that have no row replaced by what they are then.
enum ColumnForm {
    Linear(Formula),
    Fraction(Formula, Formula),
}

/// A column's form, and what is computed from that; none where it is all.
type KnownForm = Option<(ColumnForm, Option<Formula>)>;

impl NoiseContext<'_> {
    /// How unsure each released row of a windowed column is; none where that is not known.
    pub(super) fn windowed(
        &self,
        output: &Output,
        noisy: &NoisyIntegers,
        backend: &Backend,
    ) -> Result<Option<Vec<Uncertainty>>> {
        let is_chosen = self.passed.is_some() || self.private.selection.is_some() || !reads_all(&self.cut.plan, false);
        if is_chosen || self.private.joint.is_some() || noisy.cells.len() > MOST_ROWS {
            return Ok(None);
        }
        let Some(column) = WindowedColumn::new(self, output, backend)? else { return Ok(None) };
        let Some(read) = column.read(noisy, backend)? else { return Ok(None) };
        column.intervals(noisy, &read).map(Some)
    }
}

/// Whether no row is left out below a window.
fn reads_all(plan: &LogicalPlan, is_below: bool) -> bool {
    match plan {
        LogicalPlan::Aggregate(_) => true,
        LogicalPlan::Filter(_) | LogicalPlan::Limit(_) if is_below => false,
        LogicalPlan::Sort(sort) if is_below && sort.fetch.is_some() => false,
        LogicalPlan::Window(window) => reads_all(&window.input, true),
        other => other.inputs().first().is_some_and(|input| reads_all(input, is_below)),
    }
}

/// A column that is computed from windows.
struct WindowedColumn<'a> {
    known: &'a NoiseContext<'a>,
    /// Its noisy numbers are the aggregates, then the windows.
    derivation: Derivation,
    windows: Vec<RowWindow>,
}

impl<'a> WindowedColumn<'a> {
    fn new(known: &'a NoiseContext<'a>, output: &Output, backend: &Backend) -> Result<Option<Self>> {
        let (aggregate, query) = (&known.cut.aggregate, &known.cut.query);
        let mut found: Vec<Expr> = Vec::new();
        let collected = output.expression.apply(|node| {
            if !matches!(node, Expr::WindowFunction(_)) {
                return Ok(TreeNodeRecursion::Continue);
            }
            if !found.contains(node) {
                found.push(node.clone());
            }
            Ok(TreeNodeRecursion::Jump)
        });
        let kinds = released_kinds(known, aggregate);
        let windows = found.iter().map(|window| RowWindow::new(known, window, &kinds, backend));
        let windows = windows.collect::<Result<Option<Vec<RowWindow>>>>()?;
        let (Ok(_), Some(windows)) = (collected, windows) else { return Ok(None) };
        let Some((expression, beside)) = beside(&output.expression, &found, aggregate) else { return Ok(None) };
        let kinds = released_kinds(known, &beside);
        let derivation = Derivation::new(&expression, &beside, &kinds, backend)?;
        let sums = |place: usize| query.aggregates.get(place).is_none_or(is_sum);
        let reads_sums = derivation.formula.noisy().into_iter().all(sums);
        Ok((reads_sums && !derivation.formula.is_unknown()).then_some(Self { known, derivation, windows }))
    }

    fn measures(&self) -> usize {
        self.known.cut.query.measures.len()
    }

    /// The formula over a row's measures, then its windows.
    fn made(&self, part: &Formula) -> Formula {
        let aggregates = &self.known.cut.query.aggregates;
        part.replaced(&|part| match part {
            Formula::Noisy(place) => Some(match aggregates.get(*place) {
                Some(aggregate) => formula(aggregate, &Formula::Noisy),
                None => Formula::Noisy(self.measures() + place - aggregates.len()),
            }),
            _ => None,
        })
    }

    /// What the column is where these windows have no row.
    fn form(&self, empty: &[bool]) -> KnownForm {
        let aggregates = self.known.cut.query.aggregates.len();
        let whole = self.derivation.formula.replaced(&|part| match part {
            Formula::Noisy(place) if place.checked_sub(aggregates).is_some_and(|window| empty[window]) => {
                let otherwise = self.windows[place - aggregates].otherwise;
                Some(otherwise.map_or(Formula::First(Vec::new()), Formula::Constant))
            }
            _ => None,
        });
        // A window that has a row is a number there (`points` gives no interval where it is not), so COALESCE takes
        // it.
        let whole = whole.replaced(&|part| match part {
            Formula::First(parts) => {
                let first = parts.iter().find(|part| **part != Formula::First(Vec::new()))?;
                matches!(first, Formula::Noisy(place) if *place >= aggregates).then(|| first.clone())
            }
            _ => None,
        });
        let all = |_: usize| true;
        let core = whole.core(&all);
        let form = match core.degree(&all) < Degree::Other {
            true => ColumnForm::Linear(self.made(&core)),
            false => {
                let (above, below) = core.fraction(&all)?;
                ColumnForm::Fraction(self.made(&above), self.made(&below))
            }
        };
        let around = (core != whole).then(|| whole.around(&core));
        Some((form, around))
    }

    /// Which rows each window reads, for each row; none where that is not known.
    fn read(&self, noisy: &NoisyIntegers, backend: &Backend) -> Result<Option<Vec<Vec<Vec<usize>>>>> {
        let released = super::super::answer::released(self.known.cut, noisy)?;
        let over = |row: &Expr| -> Vec<Expr> {
            self.windows.iter().map(|window| (window.over_rows)(window.window.clone(), row)).collect()
        };
        // What the engine does not do over the numbers of rows has no interval.
        let Ok(columns) = above::over_rows(&self.known.cut.aggregate, &released, over, backend) else {
            return Ok(None);
        };
        Ok(columns.iter().zip(&self.windows).map(|(column, window)| rows_of(column, window.value)).collect())
    }

    fn intervals(&self, noisy: &NoisyIntegers, read: &[Vec<Vec<usize>>]) -> Result<Vec<Uncertainty>> {
        let keys = key_columns(self.known.cut, &noisy.keys)?;
        let given = |derivation: &Derivation| {
            let read: Vec<ArrayRef> = derivation.keys.iter().map(|key| keys[*key].clone()).collect();
            derivation.given(&read, noisy.cells.len())
        };
        let arguments = self.windows.iter().map(|window| Ok(window.values(&noisy.cells, &given(&window.argument)?)));
        let arguments = arguments.collect::<Result<Vec<ArgumentValues>>>()?;
        let given = given(&self.derivation)?;
        let mut forms: HashMap<Vec<bool>, KnownForm> = HashMap::new();
        let mut sum = NoiseSum::new(self.known, noisy.cells.len());
        let rows = (0..noisy.cells.len()).map(|row| {
            let own: Vec<&Vec<usize>> = read.iter().map(|rows| &rows[row]).collect();
            let empty: Vec<bool> = own.iter().map(|rows| rows.is_empty()).collect();
            let Some((form, around)) = forms.entry(empty.clone()).or_insert_with(|| self.form(&empty)) else {
                return UNKNOWN;
            };
            let Some(points) = self.points(&noisy.cells[row], &own, &arguments) else { return ANYTHING };
            let at = WindowedRow { row, given: &given[row], points: &points, read: &own, arguments: &arguments };
            let core = self.core(form, &at, &mut sum);
            match around {
                Some(around) => whole(around, core, &given[row], self.known.splits),
                None => core,
            }
        });
        Ok(rows.collect())
    }

    /// The values of a row's measures and windows; none where one of these is no number.
    fn points(&self, cell: &NoisyCell, read: &[&Vec<usize>], arguments: &[ArgumentValues]) -> Option<Vec<Span>> {
        let mut points: Vec<f64> = cell.sums.iter().map(|sum| *sum as f64).collect();
        for ((window, rows), values) in self.windows.iter().zip(read).zip(arguments) {
            let values = rows.iter().map(|row| Some(values[*row].as_ref()?.0)).collect::<Option<Vec<f64>>>()?;
            points.push(values.iter().sum::<f64>() * window.weight(rows.len()));
        }
        Some(points.into_iter().map(Span::point).collect())
    }

    fn core(&self, form: &ColumnForm, at: &WindowedRow<'_>, sum: &mut NoiseSum<'_>) -> Uncertainty {
        let here = |formula: &Formula| {
            let found = formula.enclosed(BoxedRow { given: at.given, noisy: at.points }, Order::Slopes);
            Some(found).filter(FormulaEnclosure::is_number)
        };
        match form {
            ColumnForm::Linear(formula) => {
                let Some(here) = here(formula) else { return ANYTHING };
                self.add(&here, at, sum, |noise| &mut noise.0);
                sum.linear(here.span.middle())
            }
            ColumnForm::Fraction(above, below) => {
                let Some((above, below)) = here(above).zip(here(below)) else { return ANYTHING };
                self.add(&above, at, sum, |noise| &mut noise.0);
                self.add(&below, at, sum, |noise| &mut noise.1);
                sum.fraction(above.span.middle(), below.span.middle())
            }
        }
    }

    /// Adds what each noise of each cell is multiplied with.
    fn add(
        &self,
        found: &FormulaEnclosure,
        at: &WindowedRow<'_>,
        sum: &mut NoiseSum<'_>,
        side: fn(&mut (f64, f64)) -> &mut f64,
    ) {
        let Some(slopes) = &found.slopes else { return };
        let slope = |place: usize| slopes.first[place].middle();
        for measure in 0..self.measures() {
            *side(sum.noise(at.row, measure)) += slope(measure);
        }
        for (index, window) in self.windows.iter().enumerate() {
            let by = slope(self.measures() + index) * window.weight(at.read[index].len());
            for row in at.read[index].iter().filter(|_| by != 0.0) {
                let Some((_, slopes)) = &at.arguments[index][*row] else { continue };
                for (measure, slope) in slopes.iter().enumerate().filter(|(_, slope)| **slope != 0.0) {
                    *side(sum.noise(*row, measure)) += by * slope;
                }
            }
        }
    }
}

/// A row, what no noise moves in it, its measures and windows, and what these read.
struct WindowedRow<'a> {
    row: usize,
    given: &'a [Option<f64>],
    points: &'a [Span],
    read: &'a [&'a Vec<usize>],
    arguments: &'a [ArgumentValues],
}

impl RowWindow {
    /// None where numbers decide which rows are read, or what is made of these is not known.
    fn new(known: &NoiseContext<'_>, window: &Expr, kinds: &[DataType], backend: &Backend) -> Result<Option<Self>> {
        let (cut, Expr::WindowFunction(window)) = (known.cut, window) else { return Ok(None) };
        let parameters = &window.params;
        let keys = cut.query.keys.len();
        let is_known = |expression: &Expr| {
            let columns = mentioned(expression, &cut.aggregate);
            let holds_window = |node: &Expr| Ok(matches!(node, Expr::WindowFunction(_)));
            columns.into_iter().all(|column| column < keys) && !expression.exists(holds_window).unwrap_or(true)
        };
        let (value, over_rows) = match window.fun.name() {
            "sum" => (WindowValue::Sum, listed as fn(WindowFunction, &Expr) -> Expr),
            "avg" => (WindowValue::Mean, listed as _),
            // Rows alone: each counts its argument, which is 1.
            "count" if parameters.args.first().is_some_and(is_one) => (WindowValue::Sum, listed as _),
            "lag" | "lead" | "first_value" | "last_value" => (WindowValue::One, numbered as _),
            _ => return Ok(None),
        };
        // A frame in rows, and a window that takes one row, read other rows where two have the same place in the order:
        // which, the engine decides anew each time. No two rows have all keys in common.
        let is_key = |expression: &Expr| matches!(expression, Expr::Column(_));
        let ordered = parameters.partition_by.iter().chain(parameters.order_by.iter().map(|order| &order.expr));
        let mut own: Vec<usize> =
            ordered.filter(|one| is_key(one)).flat_map(|one| mentioned(one, &cut.aggregate)).collect();
        own.sort_unstable();
        own.dedup();
        let is_total = cut.sets.is_empty() && own.len() == keys;
        let frame = &parameters.window_frame;
        let is_whole = frame.start_bound.is_unbounded() && frame.end_bound.is_unbounded();
        let is_by_place = frame.units == WindowFrameUnits::Rows && !is_whole;
        if (value == WindowValue::One || is_by_place) && !is_total {
            return Ok(None);
        }
        let by_keys = parameters.partition_by.iter().all(is_known)
            && parameters.order_by.iter().all(|order| is_known(&order.expr))
            && parameters.args.iter().skip(1).all(is_known);
        let is_plain = parameters.filter.is_none() && parameters.null_treatment.is_none() && !parameters.distinct;
        let (Some(argument), true) = (parameters.args.first(), by_keys && is_plain) else { return Ok(None) };
        if argument.exists(|node| Ok(matches!(node, Expr::WindowFunction(_)))).unwrap_or(true) {
            return Ok(None);
        }
        let otherwise = match parameters.args.get(2) {
            None => None,
            Some(Expr::Literal(value, _)) => match value.cast_to(&DataType::Float64) {
                Ok(ScalarValue::Float64(number)) => number,
                _ => return Ok(None),
            },
            Some(_) => return Ok(None),
        };
        let argument = Derivation::new(argument, &cut.aggregate, kinds, backend)?;
        let sums = |aggregate: usize| is_sum(&cut.query.aggregates[aggregate]);
        if argument.formula.is_unknown() || argument.formula.degree(&sums) >= Degree::Other {
            return Ok(None);
        }
        let formula = argument.formula.replaced(&|part| match part {
            Formula::Noisy(aggregate) => Some(formula(&cut.query.aggregates[*aggregate], &Formula::Noisy)),
            _ => None,
        });
        let window = window.as_ref().clone();
        Ok(Some(Self { value, over_rows, window, argument, formula, otherwise }))
    }

    /// What each of so many rows counts.
    fn weight(&self, rows: usize) -> f64 {
        if self.value == WindowValue::Mean { 1.0 / rows.max(1) as f64 } else { 1.0 }
    }

    fn values(&self, cells: &[NoisyCell], given: &[Vec<Option<f64>>]) -> ArgumentValues {
        let of = |(cell, given): (&NoisyCell, &Vec<Option<f64>>)| {
            let points: Vec<Span> = cell.sums.iter().map(|sum| Span::point(*sum as f64)).collect();
            let here = self.formula.enclosed(BoxedRow { given, noisy: &points }, Order::Slopes);
            let slopes = match &here.slopes {
                Some(slopes) => slopes.first.iter().map(|slope| slope.middle()).collect(),
                None => vec![0.0; points.len()],
            };
            here.is_number().then(|| (here.span.middle(), slopes))
        };
        cells.iter().zip(given).map(of).collect()
    }
}

fn is_one(argument: &Expr) -> bool {
    matches!(argument, Expr::Literal(ScalarValue::Int64(Some(1)), _))
}

/// The window with the numbers of rows in the place of its argument, as a list.
fn listed(mut window: WindowFunction, row: &Expr) -> Expr {
    window.fun = WindowFunctionDefinition::AggregateUDF(array_agg_udaf());
    window.params.args = vec![row.clone()];
    Expr::from(window)
}

/// The same of a window that gives one row's value; none where there is no such row.
fn numbered(mut window: WindowFunction, row: &Expr) -> Expr {
    window.params.args.truncate(2);
    if let Some(argument) = window.params.args.first_mut() {
        *argument = row.clone();
    }
    Expr::from(window)
}

/// The rows that a window reads, for each row.
fn rows_of(column: &ArrayRef, value: WindowValue) -> Option<Vec<Vec<usize>>> {
    let whole = |numbers: &dyn Array| -> Option<Vec<usize>> {
        let numbers = numbers.as_primitive_opt::<Int64Type>()?;
        Some(numbers.iter().flatten().filter_map(|row| usize::try_from(row).ok()).collect())
    };
    if value == WindowValue::One {
        let numbers = column.as_primitive_opt::<Int64Type>()?;
        let row = |row: Option<i64>| row.and_then(|row| usize::try_from(row).ok()).into_iter().collect();
        return Some(numbers.iter().map(row).collect());
    }
    let lists = column.as_list_opt::<i32>()?;
    (0..lists.len()).map(|row| if lists.is_null(row) { Some(Vec::new()) } else { whole(&lists.value(row)) }).collect()
}

/// The expression with columns in the place of these windows, and an aggregate that has them beside its own.
fn beside(expression: &Expr, windows: &[Expr], aggregate: &Aggregate) -> Option<(Expr, Aggregate)> {
    let name = |index: usize| format!("scumble window {index}");
    let replaced = expression.clone().transform_down(|node| {
        Ok(match windows.iter().position(|window| *window == node) {
            Some(index) => {
                Transformed::new(Expr::Column(Column::new_unqualified(name(index))), true, TreeNodeRecursion::Jump)
            }
            None => Transformed::no(node),
        })
    });
    let field = |(index, window): (usize, &Expr)| {
        let kind = window.get_type(&aggregate.schema).ok()?;
        Some((None, Arc::new(Field::new(name(index), kind, true))))
    };
    let more = windows.iter().enumerate().map(field).collect::<Option<Vec<_>>>()?;
    let own = aggregate.schema.iter().map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field)));
    let schema = DFSchema::new_with_metadata(own.chain(more).collect(), HashMap::new()).ok()?;
    let mut beside = aggregate.clone();
    beside.schema = Arc::new(schema);
    Some((replaced.ok()?.data, beside))
}

/// The types in which an aggregate's columns are released.
fn released_kinds(known: &NoiseContext<'_>, aggregate: &Aggregate) -> Vec<DataType> {
    let keys = &known.cut.query.keys;
    let number = |kind: &DataType| if *kind == DataType::Int64 { DataType::Int64 } else { DataType::Float64 };
    let fields = aggregate.schema.fields().iter().skip(keys.len());
    keys.iter().map(|key| key.kind.clone()).chain(fields.map(|field| number(field.data_type()))).collect()
}

/// The sum of the noises of all cells, each times a factor above the line and one below.
struct NoiseSum<'a> {
    known: &'a NoiseContext<'a>,
    factors: Vec<(f64, f64)>,
    measures: usize,
    /// How far a noise gets with a part of 5%: few are asked for.
    far: RefCell<BTreeMap<(usize, usize), f64>>,
}

impl<'a> NoiseSum<'a> {
    fn new(known: &'a NoiseContext<'a>, cells: usize) -> Self {
        let measures = known.cut.query.measures.len();
        Self { known, factors: vec![(0.0, 0.0); cells * measures], measures, far: RefCell::default() }
    }

    fn noise(&mut self, cell: usize, measure: usize) -> &mut (f64, f64) {
        &mut self.factors[cell * self.measures + measure]
    }

    /// The noises with a factor, each with its measure; the next sum starts anew.
    fn taken(&mut self) -> Vec<(usize, (f64, f64))> {
        let measures = self.measures;
        let all = self
            .factors
            .iter_mut()
            .enumerate()
            .map(|(place, factors)| (place % measures.max(1), std::mem::replace(factors, (0.0, 0.0))));
        all.filter(|(_, factors)| *factors != (0.0, 0.0)).collect()
    }

    /// How far a measure's noise gets with probability 5%, divided by this number of noises.
    fn far(&self, measure: usize, noises: usize) -> f64 {
        let noise = &self.known.private.noises[measure];
        let mut known = self.far.borrow_mut();
        *known.entry((measure, noises)).or_insert_with(|| noise.quantile(BETA / noises.max(1) as f64))
    }

    fn linear(&mut self, value: f64) -> Uncertainty {
        let all = self.taken();
        let noises: Vec<(f64, NoiseLaw)> =
            all.iter().map(|(measure, (factor, _))| (*factor, self.known.laws[*measure])).collect();
        let mut sum = Cumulants::default();
        noises.iter().for_each(|(factor, law)| sum.add(factor * law.deviation, law.kurtosis));
        let half = half_width(&noises, &|place, parts| self.far(all[place].0, parts));
        Uncertainty { standard_error: sum.standard_error(), low: value - half, high: value + half }
    }

    fn fraction(&mut self, above: f64, below: f64) -> Uncertainty {
        let all = self.taken();
        // Noises of one law with the same factors are as one: their cumulants add up.
        let mut alike: BTreeMap<(usize, u64, u64), usize> = BTreeMap::new();
        for (measure, (above, below)) in &all {
            *alike.entry((*measure, above.to_bits(), below.to_bits())).or_default() += 1;
        }
        let shared = |((measure, above, below), number): (&(usize, u64, u64), &usize)| {
            let (law, number) = (self.known.laws[*measure], *number as f64);
            let deviation = law.deviation * number.sqrt();
            let law = NoiseLaw { deviation, kurtosis: law.kurtosis / number, far: law.far * number };
            let far = self.known.private.noises[*measure].quantile(BETA / all.len() as f64) * number;
            SharedNoise { above: f64::from_bits(*above), below: f64::from_bits(*below), law, far }
        };
        let noises: Vec<SharedNoise> = alike.iter().map(shared).collect();
        ratio::quotient(above, below, &noises)
    }
}

/// The interval of the whole, given that of its core. If it is a single value, the uncertainty is unknown.
fn whole(around: &Formula, core: Uncertainty, given: &[Option<f64>], splits: usize) -> Uncertainty {
    let span = Span::new(core.low, core.high);
    if !span.is_finite() {
        return ANYTHING;
    }
    match bounds(around, BoxedRow { given, noisy: &[span] }, splits) {
        Some(found) if found.is_point() => UNKNOWN,
        Some(Span { low, high }) => Uncertainty { standard_error: f64::INFINITY, low, high }.as_wide_as(core),
        None => ANYTHING,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::kinds::sql::QueryMechanism;
    use crate::sql::PrivateQuery;

    /// The intervals of a windowed column in several draws of the same cells; none where it has none.
    pub fn intervals_of_draws(
        (cut, private): (&PrivateQuery, &QueryMechanism),
        column: &str,
        draws: &[NoisyIntegers],
    ) -> Option<Vec<Vec<Uncertainty>>> {
        let backend = Backend::empty().unwrap();
        let known = NoiseContext::new(cut, &draws[0], private);
        let outputs = above::outputs(&cut.plan, &cut.aggregate).unwrap();
        let output = outputs.iter().find(|output| output.name == column).unwrap();
        let column = WindowedColumn::new(&known, output, backend).unwrap()?;
        let read = column.read(&draws[0], backend).unwrap()?;
        Some(draws.iter().map(|draw| column.intervals(draw, &read).unwrap()).collect())
    }
}
