//! How unsure each number of an answer is, whatever was done with the aggregates.
//!
//! Counts and sums have the exact quantile of their noise; what is linear in them has that of a sum of noises
//! ([`super::spread`]); means and quotients have Fieller's interval ([`super::ratio`]). Everything else that several
//! noisy numbers come into is looked at where the true numbers may be ([`super::region`]).
//!
//! Where all noise comes in through one part of what is computed, as in ROUND(100.0 * a / b), the interval is
//! everything that the whole may be where that part is in its own. Where that is one value, the whole is looked at once
//! more wherever the noise ever gets: only what is one value there too is said to be certain. A wider interval of the
//! part would not do: that of a quotient at 1 − 1e-9 is not its 95% interval times a factor, and often has no end.

mod windowed;
#[cfg(test)]
pub(crate) use windowed::tests::intervals_of_draws;

use super::QueryMechanism;
use super::made::{formula, measures};
use super::noisy::{NoisyCell, NoisyIntegers, key_columns};
use super::passed::ThresholdEvidence;
use super::ratio::{self, SharedNoise};
use super::region::{ANYTHING, FarReach, Reaches};
use super::spread::{Cumulants, NoiseLaw, half_width};
use crate::error::Result;
use crate::release::output::{BETA, Uncertainty};
use crate::release::price::noise::Noise;
use crate::sql::PrivateQuery;
use crate::sql::above::derivation::Derivation;
use crate::sql::above::formula::{BoxedRow, Degree, Formula, FormulaEnclosure, Order, Span, bounds};
use crate::sql::above::{self, Output};
use crate::sql::analyse::query::Computation;
use crate::tables::Backend;
use crate::tables::functions::{Grid, in_units};
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::DataType;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// How unsure the rows of an output column are.
pub(crate) struct ColumnUncertainty {
    /// Of each released row, before HAVING, ORDER BY and LIMIT.
    pub rows: Vec<Uncertainty>,
    /// Whether they are equally unsure whatever the numbers are.
    pub is_everywhere_the_same: bool,
    /// Whether that may differ from key to key: in a rate, by how many live there.
    pub differs_by_key: bool,
}

/// How many rows are looked at together.
const ROWS_AT_ONCE: usize = 1 << 11;

/// Together, the rows of an answer are looked at in about this many parts of boxes; each in some, and in no more than
/// is worth it.
const ALL_SPLITS: usize = 40_000;
const FEWEST_SPLITS: usize = 4;
const MOST_SPLITS: usize = 48;

/// Nothing is known.
const UNKNOWN: Uncertainty = Uncertainty { standard_error: f64::NAN, low: f64::NAN, high: f64::NAN };

/// In rows where a number may be further down than its noise says, all numbers are within a box with this probability
/// less than 1. The other half of 5% is for rows in which the number is so large that it does not seem so.
const LUCKY: f64 = BETA / 2.0;

/// The uncertainty of each output column that is a number and depends on noise. Window functions may read rows of other
/// groupings, so theirs is unknown.
pub(crate) fn uncertainties(
    cut: &PrivateQuery,
    noisy: &NoisyIntegers,
    private: &QueryMechanism,
    backend: &Backend,
) -> Result<Vec<Option<ColumnUncertainty>>> {
    let known = NoiseContext::new(cut, noisy, private);
    let outputs = above::outputs(&cut.plan, &cut.aggregate)?;
    outputs.iter().map(|output| known.output(output, noisy, backend)).collect()
}

/// The same where these are all released rows.
pub(crate) fn uncertainties_of_all(
    cut: &PrivateQuery,
    noisy: &NoisyIntegers,
    private: &QueryMechanism,
    backend: &Backend,
) -> Result<Vec<Option<ColumnUncertainty>>> {
    let known = NoiseContext::new(cut, noisy, private);
    let mut found = uncertainties(cut, noisy, private, backend)?;
    for (output, unsure) in above::outputs(&cut.plan, &cut.aggregate)?.iter().zip(&mut found) {
        if let Some(unsure) = unsure.as_mut().filter(|_| output.windowed)
            && let Some(rows) = known.windowed(output, noisy, backend)?
        {
            unsure.rows = rows;
        }
    }
    Ok(found)
}

impl<'a> NoiseContext<'a> {
    fn new(cut: &'a PrivateQuery, noisy: &NoisyIntegers, private: &'a QueryMechanism) -> Self {
        let laws = private.noises.iter().map(NoiseLaw::of).collect();
        let splits = (ALL_SPLITS / noisy.cells.len().max(1)).clamp(FEWEST_SPLITS, MOST_SPLITS);
        Self { cut, private, laws, passed: private.passed(cut), splits }
    }
}

struct NoiseContext<'a> {
    cut: &'a PrivateQuery,
    private: &'a QueryMechanism,
    laws: Vec<NoiseLaw>,
    /// The measure that decides which keys are published, and what is known of it where one is.
    passed: Option<(usize, ThresholdEvidence)>,
    /// How many parts of a box are looked at.
    splits: usize,
}

impl NoiseContext<'_> {
    /// By how much further down than its noise says a measure may be, because its key was published, in an interval
    /// that misses with probability β.
    fn beyond(&self, cell: &NoisyCell, measure: usize, beta: f64) -> f64 {
        match &self.passed {
            Some((owners, passed)) if *owners == measure => passed.beyond_at(cell.sums[measure] as f64, beta),
            _ => 0.0,
        }
    }

    /// Whether one of these measures may be further down than its noise says.
    fn is_lucky(&self, cell: &NoisyCell, measures: &[usize], beta: f64) -> bool {
        measures.iter().any(|measure| self.beyond(cell, *measure, beta) > 0.0)
    }

    /// Whether a measure's interval is as wide in all rows.
    fn is_even(&self, measures: &[usize]) -> bool {
        self.passed.as_ref().is_none_or(|(owners, _)| !measures.contains(owners))
    }

    fn output(&self, output: &Output, noisy: &NoisyIntegers, backend: &Backend) -> Result<Option<ColumnUncertainty>> {
        if output.aggregates.is_empty() || !output.is_number {
            return Ok(None);
        }
        let of = |aggregate: &usize| &self.cut.query.aggregates[*aggregate];
        let unsure = |rows, is_everywhere_the_same| {
            Ok(Some(ColumnUncertainty { rows, is_everywhere_the_same, differs_by_key: false }))
        };
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
            return unsure(self.aggregate(of(direct), &noisy.cells), is_even);
        }
        let derived = DerivedColumn::new(self, output, backend)?;
        let mut rows = Vec::with_capacity(noisy.cells.len());
        for start in (0..noisy.cells.len()).step_by(ROWS_AT_ONCE) {
            let end = (start + ROWS_AT_ONCE).min(noisy.cells.len());
            let keys = key_columns(self.cut, &noisy.keys[start..end])?;
            rows.extend(derived.intervals(&noisy.cells[start..end], &keys)?);
        }
        let is_linear = derived.around.is_none() && matches!(derived.core, Core::Linear(_));
        let differs_by_key = !derived.derivation.keys.is_empty();
        let is_everywhere_the_same = is_linear && !differs_by_key && self.is_even(&derived.measures);
        Ok(Some(ColumnUncertainty { rows, is_everywhere_the_same, differs_by_key }))
    }

    /// How unsure an aggregate is that is published as it is.
    fn aggregate(&self, aggregate: &Computation, cells: &[NoisyCell]) -> Vec<Uncertainty> {
        let number = |measure: usize, step: f64| {
            let (half, deviation) = match &self.private.joint {
                Some(joint) => (joint.half_width(measure), joint.standard_deviation(measure)),
                None => (self.private.noises[measure].quantile(BETA), self.laws[measure].deviation),
            };
            let of = move |cell: &NoisyCell| {
                let middle = cell.sums[measure] as f64;
                let low = middle - half - self.beyond(cell, measure, BETA);
                let (low, high) = (in_units(low, step), in_units(middle + half, step));
                Uncertainty { standard_error: deviation * step, low, high }
            };
            cells.iter().map(of).collect()
        };
        match aggregate {
            Computation::Count(measure) => number(*measure, 1.0),
            Computation::Sum { steps, step } => number(*steps, *step),
            Computation::Mean { steps, count, grid, centre } => {
                let read = [*steps, *count];
                let made = formula(aggregate, &|measure| place(&read, measure));
                let of = |cell: &NoisyCell| {
                    let usual = self.mean(cell, (*steps, *count), *grid, *centre);
                    // The count may be the number of owners by which the key was published.
                    let Some(spans) = self.lucky_box(cell, &read) else { return usual };
                    let found = bounds(&made, BoxedRow { given: &[], noisy: &spans }, self.splits);
                    usual.with(found.unwrap_or(Span::new(grid.lower, grid.upper)))
                };
                cells.iter().map(of).collect()
            }
            Computation::Spread { .. } | Computation::Pair(_) => {
                let measures = once(measures(aggregate));
                let made = formula(aggregate, &|measure| place(&measures, measure));
                let several = NoisyFormula::new(self, made, measures);
                cells.iter().map(|cell| several.interval(self, cell, &[])).collect()
            }
            Computation::Quantile(_) => vec![UNKNOWN; cells.len()],
        }
    }

    /// How unsure a mean is, in the unit of its column.
    fn mean(&self, cell: &NoisyCell, measures: (usize, usize), grid: Grid, centre: i64) -> Uncertainty {
        let noisy = |measure: usize| (cell.sums[measure] as f64, self.laws[measure]);
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

    /// A sum of noises, each times a factor, around a value.
    fn linear(
        &self,
        (value, factors): (f64, &[f64]),
        fars: &NoiseReach,
        (measures, cell): (&[usize], &NoisyCell),
    ) -> Uncertainty {
        let noises: Vec<(f64, NoiseLaw)> =
            factors.iter().zip(measures).map(|(factor, measure)| (*factor, self.laws[*measure])).collect();
        let mut sum = Cumulants::default();
        noises.iter().for_each(|(factor, law)| sum.add(factor * law.deviation, law.kurtosis));
        let half = half_width(&noises, &|place, parts| fars.get(self, measures, place, parts));
        let (down, up) = match self.is_lucky(cell, measures, BETA) {
            true => self.box_of(cell, measures, &noises),
            false => (half, half),
        };
        let (low, high) = (value - down.max(half), value + up.max(half));
        Uncertainty { standard_error: sum.standard_error(), low, high }
    }

    /// The box in which the numbers of a cell are with probability 97.5%, also where one was published for being large;
    /// none where none is.
    fn lucky_box(&self, cell: &NoisyCell, measures: &[usize]) -> Option<Vec<Span>> {
        let share = LUCKY / measures.len() as f64;
        if !self.is_lucky(cell, measures, share) {
            return None;
        }
        let span = |measure: &usize| {
            let far = self.private.noises[*measure].quantile(share).max(1.0);
            let middle = cell.sums[*measure] as f64;
            Span::new(middle - far - self.beyond(cell, *measure, share), middle + far)
        };
        Some(measures.iter().map(span).collect())
    }

    /// The box in which the numbers of a cell are with probability 1 − 1e-9, also where one was published for being
    /// large.
    fn far_box(&self, cell: &NoisyCell, measures: &[usize], far: &FarReach) -> Vec<Span> {
        let middle: Vec<f64> = measures.iter().map(|measure| cell.sums[*measure] as f64).collect();
        far.spans(&middle, &|place, beta| self.beyond(cell, measures[place], beta))
    }

    fn noises(&self, measures: &[usize]) -> Vec<&Noise> {
        measures.iter().map(|measure| &self.private.noises[*measure]).collect()
    }

    /// How far down and up a sum of numbers is where each is within its own interval, all of them together with
    /// probability 95%: for numbers where one may be below what its noise says, because its key was published. Where
    /// that number is subtracted, it moves the sum up.
    fn box_of(&self, cell: &NoisyCell, measures: &[usize], noises: &[(f64, NoiseLaw)]) -> (f64, f64) {
        let used = measures.iter().zip(noises).filter(|(_, (factor, _))| *factor != 0.0);
        let few = used.clone().count().max(1) as f64;
        used.fold((0.0, 0.0), |(down, up), (measure, (factor, _))| {
            let far = self.private.noises[*measure].quantile(BETA / few);
            let below = far + self.beyond(cell, *measure, BETA / few);
            let (least, most) = if *factor > 0.0 { (below, far) } else { (far, below) };
            (down + factor.abs() * least, up + factor.abs() * most)
        })
    }
}

/// Whether an aggregate is a sum of whole numbers with noise, times a constant.
pub(super) fn is_sum(one: &Computation) -> bool {
    matches!(one, Computation::Count(_) | Computation::Sum { .. })
}

/// The noisy number that a measure is among some.
fn place(measures: &[usize], measure: usize) -> Formula {
    Formula::Noisy(measures.iter().position(|one| *one == measure).unwrap_or_default())
}

/// Several noisy numbers in a formula that is neither linear nor a quotient.
struct NoisyFormula {
    /// Over the measures, in their order.
    formula: Formula,
    measures: Vec<usize>,
    reaches: Reaches,
    far: FarReach,
}

impl NoisyFormula {
    fn new(known: &NoiseContext<'_>, formula: Formula, measures: Vec<usize>) -> Self {
        let noises = known.noises(&measures);
        Self { formula, reaches: Reaches::new(&noises), far: FarReach::new(&noises), measures }
    }

    fn interval(&self, known: &NoiseContext<'_>, cell: &NoisyCell, given: &[Option<f64>]) -> Uncertainty {
        let middle: Vec<f64> = self.measures.iter().map(|measure| cell.sums[*measure] as f64).collect();
        let far = || known.far_box(cell, &self.measures, &self.far);
        let usual = self.reaches.interval(&self.formula, given, (&middle, &far), known.splits);
        match known.lucky_box(cell, &self.measures) {
            None => usual,
            Some(spans) => match bounds(&self.formula, BoxedRow { given, noisy: &spans }, known.splits) {
                Some(found) => usual.with(found),
                None => ANYTHING,
            },
        }
    }
}

impl Uncertainty {
    /// The same interval, with the standard error that it has if it is as many of them wide as another one is of its
    /// own.
    fn as_wide_as(self, other: Self) -> Self {
        let errors = other.standard_error / ((other.high - other.low) / 2.0);
        let standard_error = (self.high - self.low) / 2.0 * errors;
        if standard_error.is_finite() { Self { standard_error, ..self } } else { self }
    }

    /// Wide enough for these, too.
    fn with(self, span: Span) -> Self {
        Self { low: self.low.min(span.low), high: self.high.max(span.high), ..self }.as_wide_as(self)
    }
}

/// An output column that is computed from aggregates.
struct DerivedColumn<'a> {
    known: &'a NoiseContext<'a>,
    derivation: Derivation,
    /// The measures that it depends on, each once.
    measures: Vec<usize>,
    core: Core,
    /// What is around the core; none where that is all.
    around: Option<OuterFormula>,
    fars: NoiseReach,
}

/// What is computed from the core.
struct OuterFormula {
    /// The whole as a function of the core.
    of_core: Formula,
    /// The same where the core is NULL, as a quotient is whose divisor may be 0.
    of_nothing: Formula,
    /// The whole over the measures.
    whole: Formula,
    far: FarReach,
}

/// How far each noise gets with probability 5%, divided by a number of parts: few are asked for.
#[derive(Default)]
struct NoiseReach(RefCell<BTreeMap<(usize, usize), f64>>);

impl NoiseReach {
    fn get(&self, known: &NoiseContext<'_>, measures: &[usize], place: usize, parts: usize) -> f64 {
        let noise = &known.private.noises[measures[place]];
        *self.0.borrow_mut().entry((place, parts)).or_insert_with(|| noise.quantile(BETA / parts as f64))
    }
}

/// The part through which all noise comes in.
enum Core {
    /// A mean, a variance or the like.
    Aggregate(usize),
    /// Over the measures.
    Linear(Formula),
    /// What is above and what is below the line, over the measures.
    Fraction(Formula, Formula),
    Several(NoisyFormula),
}

impl<'a> DerivedColumn<'a> {
    fn new(known: &'a NoiseContext<'a>, output: &Output, backend: &Backend) -> Result<Self> {
        let (cut, query) = (known.cut, &known.cut.query);
        let fields = cut.aggregate.schema.fields().iter().skip(query.keys.len());
        let number = |kind: &DataType| if *kind == DataType::Int64 { DataType::Int64 } else { DataType::Float64 };
        let numbers = fields.map(|field| number(field.data_type()));
        let kinds: Vec<DataType> = query.keys.iter().map(|key| key.kind.clone()).chain(numbers).collect();
        let derivation = Derivation::new(&output.expression, &cut.aggregate, &kinds, backend)?;
        let read = output.aggregates.iter().flat_map(|aggregate| measures(&query.aggregates[*aggregate]));
        let measures = once(read.collect());
        let sums = |aggregate: usize| is_sum(&query.aggregates[aggregate]);
        let core = derivation.formula.core(&sums);
        let place = |measure: usize| place(&measures, measure);
        let made = |part: &Formula| {
            part.replaced(&|part| match part {
                Formula::Noisy(aggregate) => Some(formula(&query.aggregates[*aggregate], &place)),
                _ => None,
            })
        };
        let around = (core != derivation.formula).then(|| {
            let of_core = derivation.formula.around(&core);
            let nothing = |part: &Formula| (*part == Formula::Noisy(0)).then(|| Formula::First(Vec::new()));
            let (of_nothing, whole) = (of_core.replaced(&nothing), made(&derivation.formula));
            OuterFormula { of_core, of_nothing, whole, far: FarReach::new(&known.noises(&measures)) }
        });
        let core = match &core {
            Formula::Noisy(aggregate) if !sums(*aggregate) => Core::Aggregate(*aggregate),
            linear if linear.degree(&sums) < Degree::Other => Core::Linear(made(linear)),
            other => match other.fraction(&sums) {
                Some((above, below)) => Core::Fraction(made(&above), made(&below)),
                None => Core::Several(NoisyFormula::new(known, made(other), measures.clone())),
            },
        };
        Ok(Self { known, derivation, measures, core, around, fars: NoiseReach::default() })
    }

    fn intervals(&self, cells: &[NoisyCell], keys: &[ArrayRef]) -> Result<Vec<Uncertainty>> {
        let read: Vec<ArrayRef> = self.derivation.keys.iter().map(|key| keys[*key].clone()).collect();
        let given = self.derivation.given(&read, cells.len())?;
        let cores: Vec<Uncertainty> = match &self.core {
            Core::Aggregate(aggregate) => self.known.aggregate(&self.known.cut.query.aggregates[*aggregate], cells),
            core => cells.iter().zip(&given).map(|(cell, given)| self.core_of(core, cell, given)).collect(),
        };
        let Some(around) = &self.around else { return Ok(cores) };
        let rows = cores.into_iter().zip(cells).zip(&given);
        Ok(rows.map(|((core, cell), given)| self.whole(around, core, cell, given)).collect())
    }

    fn core_of(&self, core: &Core, cell: &NoisyCell, given: &[Option<f64>]) -> Uncertainty {
        let points: Vec<Span> = self.measures.iter().map(|one| Span::point(cell.sums[*one] as f64)).collect();
        let at = |formula: &Formula| formula.enclosed(BoxedRow { given, noisy: &points }, Order::Slopes);
        match core {
            Core::Linear(formula) => {
                let here = at(formula);
                if !here.is_number() {
                    return ANYTHING;
                }
                let (value, factors) = (here.span.middle(), self.factors(&here));
                let found = self.known.linear((value, &factors), &self.fars, (&self.measures, cell));
                // A value that is computed from a number with almost no noise is looked at one step further.
                let step = factors.iter().map(|factor| factor.abs()).fold(0.0, f64::max);
                match self.around.is_some() && found.low == found.high {
                    true => found.with(Span::around(value, step)),
                    false => found,
                }
            }
            Core::Fraction(above, below) => self.fraction((&at(above), &at(below)), (above, below), cell, given),
            Core::Several(several) => several.interval(self.known, cell, given),
            Core::Aggregate(_) => ANYTHING,
        }
    }

    /// What each noise is multiplied with.
    fn factors(&self, here: &FormulaEnclosure) -> Vec<f64> {
        match &here.slopes {
            Some(slopes) => slopes.first.iter().map(|slope| slope.middle()).collect(),
            None => vec![0.0; self.measures.len()],
        }
    }

    fn fraction(
        &self,
        (up, down): (&FormulaEnclosure, &FormulaEnclosure),
        (above, below): (&Formula, &Formula),
        cell: &NoisyCell,
        given: &[Option<f64>],
    ) -> Uncertainty {
        if !up.is_number() || !down.is_number() {
            return ANYTHING;
        }
        let known = self.known;
        let shared = |((place, above), below): ((usize, f64), f64)| SharedNoise {
            above,
            below,
            law: known.laws[self.measures[place]],
            far: self.fars.get(known, &self.measures, place, self.measures.len()),
        };
        let both = (0..self.measures.len()).zip(self.factors(up)).zip(self.factors(down));
        let noises: Vec<SharedNoise> = both.map(shared).collect();
        let usual = ratio::quotient(up.span.middle(), down.span.middle(), &noises);
        match known.lucky_box(cell, &self.measures) {
            None => usual,
            Some(spans) => {
                let fraction = above.clone().over(below.clone());
                bounds(&fraction, BoxedRow { given, noisy: &spans }, known.splits)
                    .map_or(ANYTHING, |found| usual.with(found))
            }
        }
    }

    /// Everything that the whole may be where its core is in its interval.
    ///
    /// # Guarantee
    /// Where this is one value, it is the true one with probability 1 − 1e-9: the whole is that value in all of the box
    /// that noise ever reaches, or whatever the core is.
    fn whole(&self, around: &OuterFormula, core: Uncertainty, cell: &NoisyCell, given: &[Option<f64>]) -> Uncertainty {
        let splits = self.known.splits;
        let span = Span::new(core.low, core.high);
        let found = match span.is_finite() {
            true => bounds(&around.of_core, BoxedRow { given, noisy: &[span] }, splits),
            false => around.endless(given),
        };
        let found = match found {
            Some(one) if one.is_point() => {
                let far = self.known.far_box(cell, &self.measures, &around.far);
                bounds(&around.whole, BoxedRow { given, noisy: &far }, splits).or_else(|| around.endless(given))
            }
            other => other,
        };
        match found {
            Some(Span { low, high }) if low == high => Uncertainty { standard_error: 0.0, low, high },
            Some(Span { low, high }) => Uncertainty { standard_error: f64::INFINITY, low, high }.as_wide_as(core),
            None => ANYTHING,
        }
    }
}

impl OuterFormula {
    /// Everything that the whole may be whatever the core is, NULL too: what an endless part does not reach has ends
    /// still, as LEAST(x, 1) has.
    fn endless(&self, given: &[Option<f64>]) -> Option<Span> {
        let at = |formula: &Formula, core: Span| formula.enclosed(BoxedRow { given, noisy: &[core] }, Order::Values);
        let (any, nothing) = (at(&self.of_core, Span::ALL), at(&self.of_nothing, Span::ALL));
        // Where it is NULL, no number is wrong.
        let without = if nothing.undefined { Span::ALL } else { nothing.span };
        any.is_number().then(|| any.span.hull(without))
    }
}

/// Each measure once, in order.
fn once(mut measures: Vec<usize>) -> Vec<usize> {
    measures.sort_unstable();
    measures.dedup();
    measures
}
