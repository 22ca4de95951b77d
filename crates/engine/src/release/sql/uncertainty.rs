//! How unsure each number of an answer is, whatever was done with the aggregates.
//!
//! Counts and sums have the exact quantile of their noise; what is linear in them has that of a sum of noises ([`super::spread`]); a mean has Fieller's
//! interval ([`super::ratio`]). Everything else is looked at where the true numbers may be ([`super::region`]): what is computed from one mean or variance on
//! that aggregate's interval, the rest on the ball of the integers that it is made of.

use super::Private;
use super::answer::{Noisy, NoisyCell, key_columns};
use super::passed::Passed;
use super::ratio;
use super::region::{self, Axis, Ball, Derived, Points, least_units};
use super::spread::{Cumulants, Law, half_width};
use crate::backend::Backend;
use crate::backend::functions::{Grid, in_units};
use crate::error::{Error, Result};
use crate::release::noise::Noise;
use crate::release::output::Uncertainty;
use crate::sql::Cut;
use crate::sql::above::{self, Output};
use crate::sql::derivation::Derivation;
use crate::sql::pair::Pair;
use crate::sql::query::Computation;
use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, UInt64Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::DataType;
use std::sync::Arc;

/// How unsure the rows of an output column are.
pub(super) struct Unsure {
    /// Of each released row, before HAVING, ORDER BY and LIMIT.
    pub rows: Vec<Uncertainty>,
    /// Whether they are equally unsure whatever the numbers are.
    pub is_everywhere_the_same: bool,
}

/// How many rows are looked at together: at about a hundred points each, their columns stay small enough for the processor's caches, and one turn takes long
/// beside its fixed cost.
const ROWS_AT_ONCE: usize = 1 << 11;

/// Nothing is known.
const UNKNOWN: Uncertainty = Uncertainty { standard_error: f64::NAN, low: f64::NAN, high: f64::NAN };

/// For each output column that is a number and depends on noise, how unsure it is.
pub(super) fn uncertainties(
    cut: &Cut,
    noisy: &Noisy,
    private: &Private,
    backend: &Backend,
) -> Result<Vec<Option<Unsure>>> {
    let noises = private.noises.iter().map(Reach::of).collect();
    let known = Known { cut, private, noises, passed: private.passed(cut) };
    let outputs = above::outputs(&cut.plan, &cut.aggregate)?;
    outputs.iter().map(|output| known.output(output, noisy, backend)).collect()
}

/// What is known of a noise.
#[derive(Debug, Clone, Copy)]
struct Reach {
    law: Law,
    /// How far it gets with probability 5%; at least a step, because numbers that are computed from whole ones are not whole.
    usual: f64,
    axis: Axis,
}

impl Reach {
    fn of(noise: &Noise) -> Self {
        let law = Law::of(noise);
        let usual = noise.quantile(0.05).max(1.0);
        let axis = Axis { units: usual / law.deviation, wide: (noise.quantile(1e-9) / usual).max(1.0) };
        Self { law, usual, axis }
    }
}

struct Known<'a> {
    cut: &'a Cut,
    private: &'a Private,
    noises: Vec<Reach>,
    /// The measure that decides which keys are published, and what is known of it where one is.
    passed: Option<(usize, Passed)>,
}

impl Known<'_> {
    /// By how much further down than its noise says a measure may be, because its key was published, in an interval that misses with probability β.
    fn beyond(&self, cell: &NoisyCell, measure: usize, beta: f64) -> f64 {
        match &self.passed {
            Some((owners, passed)) if *owners == measure => passed.beyond_at(cell.sums[measure] as f64, beta),
            _ => 0.0,
        }
    }

    /// Whether one of these measures may be further down than its noise says.
    fn is_lucky(&self, cell: &NoisyCell, measures: &[usize]) -> bool {
        measures.iter().any(|measure| self.beyond(cell, *measure, 0.05) > 0.0)
    }

    /// Whether a measure's interval is as wide in all rows.
    fn is_even(&self, measures: &[usize]) -> bool {
        self.passed.as_ref().is_none_or(|(owners, _)| !measures.contains(owners))
    }

    fn output(&self, output: &Output, noisy: &Noisy, backend: &Backend) -> Result<Option<Unsure>> {
        if output.aggregates.is_empty() || !output.is_number {
            return Ok(None);
        }
        let of = |aggregate: &usize| &self.cut.query.aggregates[*aggregate];
        let unsure = |rows, is_everywhere_the_same| Ok(Some(Unsure { rows, is_everywhere_the_same }));
        let is_sum = |one: &Computation| matches!(one, Computation::Count(_) | Computation::Sum { .. });
        let has_ends = |one: &Computation| matches!(one, Computation::Mean { .. } | Computation::Spread { .. });
        // What depends on other rows is off by what these are.
        if output.windowed {
            return unsure(vec![UNKNOWN; noisy.cells.len()], false);
        }
        // How far a quantile is off depends on how dense the values are.
        if output.aggregates.iter().any(|one| matches!(of(one), Computation::Quantile(_))) {
            return unsure(vec![UNKNOWN; noisy.cells.len()], false);
        }
        if let Some(direct) = &output.direct {
            let is_even = match of(direct) {
                Computation::Count(measure) => self.is_even(&[*measure]),
                other => is_sum(other),
            };
            return unsure(self.aggregate(of(direct), &noisy.cells)?, is_even);
        }
        let derived = DerivedColumn::new(self.cut, output, backend)?;
        let is_linear = derived.derivation.is_linear && output.aggregates.iter().all(|one| is_sum(of(one)));
        let mut rows = Vec::with_capacity(noisy.cells.len());
        for start in (0..noisy.cells.len()).step_by(ROWS_AT_ONCE) {
            let end = (start + ROWS_AT_ONCE).min(noisy.cells.len());
            let keys = key_columns(self.cut, &noisy.keys[start..end])?;
            let cells = &noisy.cells[start..end];
            rows.extend(match &output.aggregates[..] {
                [one] if has_ends(of(one)) => self.of_one(&derived, *one, cells, &keys)?,
                _ if is_linear => self.linear(&derived, cells, &keys)?,
                _ => self.of_many(&derived, cells, &keys)?,
            });
        }
        unsure(rows, is_linear && self.is_even(&derived.measures))
    }

    /// How unsure an aggregate is that is published as it is.
    fn aggregate(&self, aggregate: &Computation, cells: &[NoisyCell]) -> Result<Vec<Uncertainty>> {
        let number = |measure: usize, step: f64| {
            let (half, deviation) = match &self.private.joint {
                Some(joint) => (joint.half_width(measure), joint.standard_deviation(measure)),
                None => (self.private.noises[measure].quantile(0.05), self.noises[measure].law.deviation),
            };
            let of = move |cell: &NoisyCell| {
                let middle = cell.sums[measure] as f64;
                let low = middle - half - self.beyond(cell, measure, 0.05);
                let (low, high) = (in_units(low, step), in_units(middle + half, step));
                Uncertainty { standard_error: deviation * step, low, high }
            };
            cells.iter().map(of).collect()
        };
        Ok(match aggregate {
            Computation::Count(measure) => number(*measure, 1.0),
            Computation::Sum { steps, step } => number(*steps, *step),
            Computation::Mean { steps, count, grid, centre } => {
                cells.iter().map(|cell| self.mean(cell, (*steps, *count), *grid, *centre)).collect()
            }
            Computation::Spread { steps, squares, count, grid, sample, root } => {
                let variances = self.variances(cells, [*steps, *squares, *count], *grid, *sample)?;
                if *root { variances.into_iter().map(square_root).collect() } else { variances }
            }
            Computation::Pair(pair) => self.pairs(cells, pair)?,
            Computation::Quantile(_) => vec![UNKNOWN; cells.len()],
        })
    }

    /// How unsure a mean is, in the unit of its column.
    fn mean(&self, cell: &NoisyCell, measures: (usize, usize), grid: Grid, centre: i64) -> Uncertainty {
        let noisy = |measure: usize| (cell.sums[measure] as f64, self.noises[measure].law);
        let (centre, step) = (centre as f64, grid.step);
        let (least, most) = (grid.lower / step - centre, grid.upper / step - centre);
        let steps = ratio::mean(noisy(measures.0), noisy(measures.1), least, most);
        Uncertainty {
            standard_error: steps.standard_error * step,
            // An end at a bound is that bound, whatever the way there and back is rounded to.
            low: if steps.low <= least { grid.lower } else { ((steps.low + centre) * step).max(grid.lower) },
            high: if steps.high >= most { grid.upper } else { ((steps.high + centre) * step).min(grid.upper) },
        }
    }

    /// How unsure variances are, of the sum of steps, the sum of their squares and their number.
    fn variances(
        &self,
        cells: &[NoisyCell],
        measures: [usize; 3],
        grid: Grid,
        sample: bool,
    ) -> Result<Vec<Uncertainty>> {
        let largest = ((grid.upper - grid.lower) / 2.0).powi(2) * if sample { 2.0 } else { 1.0 };
        let axes = measures.map(|measure| self.noises[measure].axis);
        let mut derive = |points: &Points<'_>| {
            let [steps, squares, count] = [0, 1, 2].map(|axis| &points.columns[axis]);
            let at = |index: usize| variance(steps[index], squares[index], count[index], grid.step, sample);
            let values = (0..points.rows.len()).map(at).collect();
            let divisor = count.iter().map(|count| divisor(*count, sample)).collect();
            Ok(Derived { values, stepped: None, divisors: vec![divisor], kinks: Vec::new() })
        };
        let mut all = Vec::with_capacity(cells.len());
        for cells in cells.chunks(ROWS_AT_ONCE) {
            let balls: Vec<Ball> = cells.iter().map(|cell| self.ball(cell, &measures)).collect();
            all.extend(
                region::intervals(&balls, &axes, &mut derive)?.into_iter().map(|one| within(one, largest, &axes)),
            );
        }
        Ok(all)
    }

    /// How unsure a covariance, a correlation or a line is.
    fn pairs(&self, cells: &[NoisyCell], pair: &Pair) -> Result<Vec<Uncertainty>> {
        let measures = once(pair.measures());
        let axes: Vec<Axis> = measures.iter().map(|measure| self.noises[*measure].axis).collect();
        let mut derive = |points: &Points<'_>| {
            let place = |measure: usize| measures.iter().position(|one| *one == measure).unwrap_or_default();
            let (values, divisors) = paired(pair, points.rows.len(), &|measure| &points.columns[place(measure)]);
            Ok(Derived { values, stepped: None, divisors, kinks: Vec::new() })
        };
        let mut all = Vec::with_capacity(cells.len());
        for cells in cells.chunks(ROWS_AT_ONCE) {
            let balls: Vec<Ball> = cells.iter().map(|cell| self.ball(cell, &measures)).collect();
            let found = region::intervals(&balls, &axes, &mut derive)?;
            all.extend(found.into_iter().map(|one| match pair.bounds() {
                Some(bounds) => between(one, bounds, &axes),
                None => one,
            }));
        }
        Ok(all)
    }

    fn ball(&self, cell: &NoisyCell, measures: &[usize]) -> Ball {
        let middle = measures.iter().map(|measure| cell.sums[*measure] as f64).collect();
        let few = measures.len() as f64;
        // A number that may be far down leaves no room for the others' noise in a ball: all within their own is a box, and this is the ball around it.
        let is_lucky = self.is_lucky(cell, measures);
        let reach = |measure: &usize| match is_lucky {
            false => self.noises[*measure].usual,
            true => {
                let far = self.private.noises[*measure].quantile(0.05 / few).max(1.0);
                few.sqrt() * (far + self.beyond(cell, *measure, 0.05 / few))
            }
        };
        Ball { middle, reach: measures.iter().map(reach).collect() }
    }

    /// A sum of noises, each times a number.
    fn linear(&self, column: &DerivedColumn<'_>, cells: &[NoisyCell], keys: &[ArrayRef]) -> Result<Vec<Uncertainty>> {
        let measures = &column.measures;
        // Each row as it is, and with each noise one deviation up and down.
        let width = 1 + 2 * measures.len();
        let rows: Vec<usize> = (0..cells.len() * width).map(|point| point / width).collect();
        let numbers = |(axis, measure): (usize, &usize)| {
            let moved = |point: usize| match point % width {
                place if place == 1 + 2 * axis => self.noises[*measure].law.deviation,
                place if place == 2 + 2 * axis => -self.noises[*measure].law.deviation,
                _ => 0.0,
            };
            (0..rows.len()).map(|point| cells[rows[point]].sums[*measure] as f64 + moved(point)).collect()
        };
        let columns = measures.iter().enumerate().map(numbers).collect();
        let values = column.at(&Points { rows: &rows, columns }, keys)?.values;
        let far = |few: usize| -> Vec<f64> {
            measures.iter().map(|measure| self.private.noises[*measure].quantile(0.05 / few as f64)).collect()
        };
        let (alone, together) = (far(1), far(measures.len()));
        let of = |(values, cell): (&[f64], &NoisyCell)| {
            let mut sum = Cumulants::default();
            let mut noises = Vec::with_capacity(measures.len());
            for (pair, measure) in values[1..].chunks_exact(2).zip(measures) {
                let (by, law) = ((pair[0] - pair[1]) / 2.0, self.noises[*measure].law);
                sum.add(by, law.kurtosis);
                // Noise that is never drawn has a deviation of 0.
                let factor = if by == 0.0 { 0.0 } else { by / law.deviation };
                noises.push((factor, law));
            }
            let several = noises.iter().filter(|(factor, _)| *factor != 0.0).count() > 1;
            let half = half_width(&noises, if several { &together } else { &alone });
            let (down, up) = match self.is_lucky(cell, measures) {
                true => self.box_of(cell, measures, &noises),
                false => (half, half),
            };
            let (low, high) = (values[0] - down.max(half), values[0] + up.max(half));
            Uncertainty { standard_error: sum.standard_error(), low, high }
        };
        Ok(values.chunks_exact(width).zip(cells).map(of).collect())
    }

    /// How far down and up a sum of numbers is where each is within its own interval, all of them together with probability 95%: for numbers of which one
    /// may be below what its noise says, because its key was published. Taken away, it moves the sum up.
    fn box_of(&self, cell: &NoisyCell, measures: &[usize], noises: &[(f64, Law)]) -> (f64, f64) {
        let used = measures.iter().zip(noises).filter(|(_, (factor, _))| *factor != 0.0);
        let few = used.clone().count().max(1) as f64;
        used.fold((0.0, 0.0), |(down, up), (measure, (factor, _))| {
            let far = self.private.noises[*measure].quantile(0.05 / few);
            let below = far + self.beyond(cell, *measure, 0.05 / few);
            let (least, most) = if *factor > 0.0 { (below, far) } else { (far, below) };
            (down + factor.abs() * least, up + factor.abs() * most)
        })
    }

    /// What is computed from one mean or variance: what it is on that aggregate's interval.
    fn of_one(
        &self,
        column: &DerivedColumn<'_>,
        aggregate: usize,
        cells: &[NoisyCell],
        keys: &[ArrayRef],
    ) -> Result<Vec<Uncertainty>> {
        let intervals = self.aggregate(&self.cut.query.aggregates[aggregate], cells)?;
        let ball = |one: &Uncertainty| Ball {
            middle: vec![(one.low + one.high) / 2.0],
            reach: vec![(one.high - one.low) / 2.0],
        };
        let balls: Vec<Ball> = intervals.iter().map(ball).collect();
        let axes: Vec<Axis> = column.measures.iter().map(|one| self.noises[*one].axis).collect();
        let wide = axes.iter().map(|axis| axis.wide).fold(1.0, f64::max);
        let axis = Axis { units: least_units(&axes), wide };
        let found = region::intervals(&balls, &[axis], &mut |points| column.on_one(points, keys))?;
        // As many standard errors wide as the aggregate's own interval: an interval of one step around a number that has next to no noise is many.
        Ok(found.into_iter().zip(&intervals).map(|(one, of)| one.as_wide_as(*of)).collect())
    }

    /// What is computed from several numbers.
    fn of_many(&self, column: &DerivedColumn<'_>, cells: &[NoisyCell], keys: &[ArrayRef]) -> Result<Vec<Uncertainty>> {
        let balls: Vec<Ball> = cells.iter().map(|cell| self.ball(cell, &column.measures)).collect();
        let axes: Vec<Axis> = column.measures.iter().map(|measure| self.noises[*measure].axis).collect();
        region::intervals(&balls, &axes, &mut |points| column.at(points, keys))
    }
}

impl Uncertainty {
    /// The same interval, with the standard error that it has if it is as many of them wide as another one is of its own.
    fn as_wide_as(self, other: Self) -> Self {
        let errors = other.standard_error / ((other.high - other.low) / 2.0);
        let standard_error = (self.high - self.low) / 2.0 * errors;
        if standard_error.is_finite() { Self { standard_error, ..self } } else { self }
    }
}

/// The variance of numbers in steps, not clamped.
fn variance(steps: f64, squares: f64, count: f64, step: f64, sample: bool) -> f64 {
    (squares - steps * steps / count) / divisor(count, sample) * step * step
}

fn divisor(count: f64, sample: bool) -> f64 {
    if sample { count - 1.0 } else { count }
}

/// The interval within 0 and what is the largest; where it was outside, as wide as it was.
fn within(one: Uncertainty, largest: f64, axes: &[Axis]) -> Uncertainty {
    let half = ((one.high - one.low) / 2.0).min(largest / 2.0);
    let units = least_units(axes);
    let standard_error = if one.standard_error.is_finite() { one.standard_error } else { half / units };
    let (low, high) = (one.low.clamp(0.0, largest - half), one.high.clamp(half, largest));
    Uncertainty { standard_error: standard_error.min(largest / 2.0 / units), low, high }
}

/// The interval of the square root.
fn square_root(variance: Uncertainty) -> Uncertainty {
    let (low, high) = (variance.low.sqrt(), variance.high.sqrt());
    Uncertainty { standard_error: f64::NAN, low, high }.as_wide_as(variance)
}

/// An output column that can be evaluated on other numbers than the released ones.
struct DerivedColumn<'a> {
    cut: &'a Cut,
    derivation: Derivation,
    /// The measures that it depends on, each once.
    measures: Vec<usize>,
}

impl<'a> DerivedColumn<'a> {
    fn new(cut: &'a Cut, output: &Output, backend: &Backend) -> Result<Self> {
        let query = &cut.query;
        let fields = cut.aggregate.schema.fields().iter().skip(query.keys.len());
        let number = |kind: &DataType| if *kind == DataType::Int64 { DataType::Int64 } else { DataType::Float64 };
        let numbers = fields.map(|field| number(field.data_type()));
        let kinds: Vec<DataType> = query.keys.iter().map(|key| key.kind.clone()).chain(numbers).collect();
        let derivation = Derivation::new(&output.expression, &cut.aggregate, &kinds, backend)?;
        let measures = output.aggregates.iter().flat_map(|aggregate| measures(&query.aggregates[*aggregate]));
        Ok(Self { cut, derivation, measures: once(measures.collect()) })
    }

    /// Its values where its measures are `points`.
    fn at(&self, points: &Points<'_>, keys: &[ArrayRef]) -> Result<Derived> {
        let place = |measure: usize| self.measures.iter().position(|one| *one == measure).unwrap_or_default();
        let column = |measure: usize| &points.columns[place(measure)];
        let mut divisors = Vec::new();
        let mut value = |aggregate: &Computation| -> Vec<f64> {
            let (values, divisor) = aggregated(aggregate, &column);
            divisors.extend(divisor);
            values
        };
        let numbers = self.numbers(&mut value);
        self.derived(numbers, divisors, points.rows, keys)
    }

    /// Its values where the one aggregate that it depends on is `points`.
    fn on_one(&self, points: &Points<'_>, keys: &[ArrayRef]) -> Result<Derived> {
        let numbers = self.numbers(&mut |_| points.columns[0].clone());
        self.derived(numbers, Vec::new(), points.rows, keys)
    }

    fn numbers(&self, value: &mut dyn FnMut(&Computation) -> Vec<f64>) -> Vec<Vec<f64>> {
        let keys = self.cut.query.keys.len();
        let aggregates = self.derivation.columns.iter().filter_map(|column| column.checked_sub(keys));
        aggregates.map(|aggregate| value(&self.cut.query.aggregates[aggregate])).collect()
    }

    /// `numbers` are the aggregates that the derivation reads, in their order.
    fn derived(
        &self,
        numbers: Vec<Vec<f64>>,
        mut divisors: Vec<Vec<f64>>,
        rows: &[usize],
        keys: &[ArrayRef],
    ) -> Result<Derived> {
        let places = UInt64Array::from_iter_values(rows.iter().map(|row| *row as u64));
        let columns = &self.derivation.columns;
        let read = columns.iter().filter(|column| **column < keys.len()).map(|column| {
            take(&keys[*column], &places, None).map_err(|_| Error::machine("the keys of a release do not fit together"))
        });
        let read = read.collect::<Result<Vec<ArrayRef>>>()?;
        let fields = self.cut.aggregate.schema.fields();
        let typed = |(column, numbers): (&usize, &Vec<f64>)| match fields[*column].data_type() {
            DataType::Int64 => {
                Arc::new(Int64Array::from_iter_values(numbers.iter().map(|number| number.round() as i64))) as ArrayRef
            }
            _ => Arc::new(Float64Array::from_iter_values(numbers.iter().copied())) as ArrayRef,
        };
        let noisy = columns.iter().filter(|column| **column >= keys.len());
        let typed: Vec<ArrayRef> = match self.derivation.has_steps() {
            true => read.iter().cloned().chain(noisy.zip(&numbers).map(typed)).collect(),
            false => Vec::new(),
        };
        let fractions = numbers.into_iter().map(|numbers| Arc::new(Float64Array::from(numbers)) as ArrayRef);
        let fractions: Vec<ArrayRef> = read.into_iter().chain(fractions).collect();
        let (values, stepped) = self.derivation.values(&typed, &fractions)?;
        divisors.extend(self.derivation.divisors(&fractions)?);
        let kinks = self.derivation.kinks(&fractions)?;
        Ok(Derived { values, stepped, divisors, kinks })
    }
}

/// Each measure once, in order.
fn once(mut measures: Vec<usize>) -> Vec<usize> {
    measures.sort_unstable();
    measures.dedup();
    measures
}

/// What two columns have in common at points, and all that it divides by.
fn paired<'a>(pair: &Pair, points: usize, column: &dyn Fn(usize) -> &'a Vec<f64>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (mut values, mut divisors) = (Vec::with_capacity(points), Vec::new());
    for point in 0..points {
        let (value, by) = pair.at(&|measure| column(measure)[point]);
        values.push(value);
        divisors.resize_with(by.len(), Vec::new);
        divisors.iter_mut().zip(by).for_each(|(all, one): (&mut Vec<f64>, f64)| all.push(one));
    }
    (values, divisors)
}

/// The interval within bounds; where nothing is known, all of them.
fn between(one: Uncertainty, (low, high): (f64, f64), axes: &[Axis]) -> Uncertainty {
    let units = least_units(axes);
    let widest = (high - low) / 2.0 / units;
    let standard_error = if one.standard_error.is_finite() { one.standard_error.min(widest) } else { widest };
    // Beyond the bounds it is as wide as it was.
    let half = ((one.high - one.low) / 2.0).min((high - low) / 2.0);
    Uncertainty { standard_error, low: one.low.clamp(low, high - half), high: one.high.clamp(low + half, high) }
}

/// The measures of an aggregate.
pub(super) fn measures(aggregate: &Computation) -> Vec<usize> {
    match aggregate {
        Computation::Count(measure) => vec![*measure],
        Computation::Sum { steps, .. } => vec![*steps],
        Computation::Mean { steps, count, .. } => vec![*steps, *count],
        Computation::Spread { steps, squares, count, .. } => vec![*steps, *squares, *count],
        Computation::Pair(pair) => pair.measures(),
        Computation::Quantile(_) => Vec::new(),
    }
}

/// An aggregate at points, and what it divides by. It is not clamped: the interval reaches to where it would be clamped and beyond, and so the surface of
/// equal values stays flat.
fn aggregated<'a>(aggregate: &Computation, column: &dyn Fn(usize) -> &'a Vec<f64>) -> (Vec<f64>, Vec<Vec<f64>>) {
    match aggregate {
        Computation::Count(measure) => (column(*measure).clone(), Vec::new()),
        Computation::Sum { steps, step } => (column(*steps).iter().map(|number| number * step).collect(), Vec::new()),
        Computation::Mean { steps, count, grid, centre } => {
            let (steps, count) = (column(*steps), column(*count));
            let mean = |(steps, count): (&f64, &f64)| (*centre as f64 + steps / count) * grid.step;
            (steps.iter().zip(count).map(mean).collect(), vec![count.clone()])
        }
        Computation::Spread { steps, squares, count, grid, sample, root } => {
            let (steps, squares, count) = (column(*steps), column(*squares), column(*count));
            let value = |index: usize| {
                let variance = variance(steps[index], squares[index], count[index], grid.step, *sample);
                if *root { variance.max(0.0).sqrt() } else { variance }
            };
            let divisors = count.iter().map(|count| divisor(*count, *sample)).collect();
            ((0..count.len()).map(value).collect(), vec![divisors])
        }
        Computation::Pair(pair) => paired(pair, column(pair.count).len(), column),
        Computation::Quantile(_) => (Vec::new(), Vec::new()),
    }
}
