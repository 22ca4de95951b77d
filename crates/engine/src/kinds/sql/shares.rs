//! How a query's cost is divided over its noisy numbers.
//!
//! A published column that depends on numbers i with slopes aᵢ has the variance Σ aᵢ²σᵢ². With equal shares, number i
//! has the part fᵢ = aᵢ²σᵢ² / Σ aⱼ²σⱼ² of it; with shares sᵢ that part is in proportion to sᵢ⁻² (Laplace noise) or sᵢ⁻¹
//! (Gaussian noise, shares of ρ). The sum over all columns of their variances, each relative to what equal shares give,
//! is Σ wᵢ·sᵢ⁻² or Σ wᵢ·sᵢ⁻¹ with wᵢ = Σ over columns of fᵢ. It is least where sᵢ is in proportion to ∛wᵢ or √wᵢ
//! (Lagrange). So counts and sums that are published as they are have equal shares, and a number that several columns
//! are made of has a larger one.
//!
//! The slopes are those in made-up cells ([`super::expected`]): they depend on the declarations and on `expected_rows`,
//! never on data. Whatever the shares are, [`calibrate_shares`](crate::release::price::noise::calibrate_shares) keeps
//! their sum within the cost.

use super::expected::{made_up_cells, made_up_key};
use super::made::{formula, measures};
use super::noisy::{NoisyIntegers, key_columns};
use super::{AnalysedQuery, named};
use crate::error::{Error, Result};
use crate::project::{Goal, Request};
use crate::release::field::{Field, NamedNumbers};
use crate::release::price::noise::{CalibratedNoise, Noise};
use crate::sql::PrivateQuery;
use crate::sql::above::derivation::Derivation;
use crate::sql::above::formula::{BoxedRow, Formula, Order, Span};
use crate::sql::above::{self, Output};
use crate::sql::analyse::describe::shown;
use crate::sql::analyse::query::{Computation, Measure, Summand};
use crate::tables::Backend;
use datafusion::arrow::datatypes::DataType;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The field that says how much each column has.
pub(crate) const SHARE: Field<Option<NamedNumbers>> =
    Field::new("share", "how much of the cost each column has, in proportion, as in { n = 1, mean = 3 }");

/// The share that a number has where all are equal: what portions are counted in.
const EQUAL: f64 = 1000.0;
/// No number's weight is below this part of the mean one: it may be needed where its slope is nothing.
const LEAST: f64 = 0.01;

/// What is known of a query's columns, once that is asked.
pub(crate) struct QuerySlopes {
    cut: Rc<PrivateQuery>,
    rows: u64,
    found: OnceCell<ColumnSlopes>,
}

impl QuerySlopes {
    /// Of a query, for cells of about this many rows.
    pub fn new(cut: &Rc<PrivateQuery>, rows: u64) -> Rc<Self> {
        Rc::new(Self { cut: Rc::clone(cut), rows, found: OnceCell::new() })
    }

    /// What is known of its columns.
    pub fn columns(&self) -> Result<&ColumnSlopes> {
        match self.found.get() {
            Some(found) => Ok(found),
            None => {
                let made = ColumnSlopes::new(&self.cut, self.rows)?;
                Ok(self.found.get_or_init(|| made))
            }
        }
    }
}

/// What is known of the columns of a query.
pub(crate) struct ColumnSlopes {
    columns: Vec<SharedColumn>,
}

/// A published column with noise.
struct SharedColumn {
    name: String,
    /// The mean square of its slope by each measure; none where that is not known.
    squares: Option<Vec<f64>>,
    /// The measures and the quantiles that it is made of, by index.
    measures: BTreeSet<usize>,
    quantiles: BTreeSet<usize>,
}

impl ColumnSlopes {
    fn new(cut: &PrivateQuery, rows: u64) -> Result<Self> {
        let cells = made_up_cells(&cut.query.measures, cut.query.quantiles.len(), rows);
        let points = NoisyIntegers { keys: vec![made_up_key(cut)?; cells.len()], cells };
        let outputs = above::outputs(&cut.plan, &cut.aggregate)?;
        let noisy = outputs.iter().filter(|output| !output.aggregates.is_empty());
        let columns = noisy.map(|output| SharedColumn::new(cut, output, &points)).collect::<Result<_>>()?;
        Ok(Self { columns })
    }
}

#[cfg(test)]
impl ColumnSlopes {
    /// The variances of all columns with this noise, each relative to what it is with another.
    pub fn relative_variances(&self, noises: &[Noise], others: &[Noise]) -> f64 {
        let variance = |squares: &[f64], noises: &[Noise]| -> f64 {
            squares.iter().zip(noises).map(|(square, noise)| square * noise.standard_deviation().powi(2)).sum()
        };
        let known = self.columns.iter().filter_map(|column| column.squares.as_ref());
        known.map(|squares| variance(squares, noises) / variance(squares, others)).sum()
    }
}

impl SharedColumn {
    fn new(cut: &PrivateQuery, output: &Output, points: &NoisyIntegers) -> Result<Self> {
        let read: Vec<(bool, usize)> =
            output.aggregates.iter().flat_map(|aggregate| numbers(&cut.query.aggregates[*aggregate])).collect();
        let of = |is_quantile: bool| -> BTreeSet<usize> {
            read.iter().filter(|(quantile, _)| *quantile == is_quantile).map(|(_, place)| *place).collect()
        };
        let quantiles = of(true);
        let is_known = quantiles.is_empty() && output.is_number && !output.windowed;
        Ok(Self {
            name: output.name.clone(),
            squares: if is_known { squares(cut, output, points)? } else { None },
            measures: of(false),
            quantiles,
        })
    }

    /// Which part of the column's variance each number has with this noise, the measures first; equal ones where that
    /// is not known.
    fn parts(&self, noises: &[Noise], quantiles: usize) -> Vec<f64> {
        let variance = |(square, noise): (&f64, &Noise)| square * noise.standard_deviation().powi(2);
        let known = self.squares.as_ref().map(|squares| squares.iter().zip(noises).map(variance).collect::<Vec<f64>>());
        let mut parts = vec![0.0; noises.len() + quantiles];
        let total: f64 = known.iter().flatten().sum();
        match known.filter(|_| total > 0.0 && total.is_finite()) {
            Some(known) => parts.iter_mut().zip(known).for_each(|(part, known)| *part = known / total),
            None => {
                let all = (self.measures.len() + self.quantiles.len()).max(1) as f64;
                let of_quantiles = self.quantiles.iter().map(|quantile| noises.len() + quantile);
                self.measures.iter().copied().chain(of_quantiles).for_each(|place| parts[place] = 1.0 / all);
            }
        }
        parts
    }
}

/// The mean square of a column's slope by each measure over made-up cells; none where it jumps.
fn squares(cut: &PrivateQuery, output: &Output, points: &NoisyIntegers) -> Result<Option<Vec<f64>>> {
    let query = &cut.query;
    let fields = cut.aggregate.schema.fields().iter().skip(query.keys.len());
    let number = |kind: &DataType| if *kind == DataType::Int64 { DataType::Int64 } else { DataType::Float64 };
    let numbers = fields.map(|field| number(field.data_type()));
    let kinds: Vec<DataType> = query.keys.iter().map(|key| key.kind.clone()).chain(numbers).collect();
    let derivation = Derivation::new(&output.expression, &cut.aggregate, &kinds, Backend::empty()?)?;
    let made = derivation.formula.replaced(&|part| match part {
        Formula::Noisy(aggregate) => Some(unbounded(&formula(&query.aggregates[*aggregate], &Formula::Noisy))),
        _ => None,
    });
    let keys = key_columns(cut, &points.keys)?;
    let read: Vec<_> = derivation.keys.iter().map(|key| keys[*key].clone()).collect();
    let given = derivation.given(&read, points.cells.len())?;
    let (mut sums, mut seen) = (vec![0.0; query.measures.len()], 0.0);
    for (cell, given) in points.cells.iter().zip(&given) {
        let noisy: Vec<Span> = cell.sums.iter().map(|sum| Span::point(*sum as f64)).collect();
        let here = made.enclosed(BoxedRow { given, noisy: &noisy }, Order::Slopes);
        let Some(slopes) = here.slopes.as_ref().filter(|_| here.is_steady()) else { continue };
        let squares: Vec<f64> = slopes.first.iter().map(|slope| slope.middle().powi(2)).collect();
        if squares.iter().all(|square| square.is_finite()) {
            sums.iter_mut().zip(squares).for_each(|(sum, square)| *sum += square);
            seen += 1.0;
        }
    }
    Ok((seen > 0.0).then(|| sums.into_iter().map(|sum| sum / seen).collect()))
}

/// The formula without the bounds of aggregates: at a bound it would have no slope.
fn unbounded(formula: &Formula) -> Formula {
    formula.replaced(&|part| match part {
        Formula::Within(inner, _) => Some(unbounded(inner)),
        _ => None,
    })
}

/// What a release says of shares.
#[derive(Debug, Clone)]
pub(crate) struct WantedShares(Vec<(String, f64)>);

impl WantedShares {
    /// What the request says, if it says something, of a query with these columns.
    pub fn read(request: &Request, cut: &PrivateQuery) -> Result<Option<Self>> {
        let Some(NamedNumbers(named)) = SHARE.read(request)? else { return Ok(None) };
        if matches!(request.cost.target, Goal::Accuracy { .. }) {
            return Err(SHARE.error(request, "an accuracy has no shares; give epsilon or rho, or leave share out"));
        }
        let outputs = above::outputs(&cut.plan, &cut.aggregate)?;
        let noisy: Vec<&Output> = outputs.iter().filter(|output| !output.aggregates.is_empty()).collect();
        let names = || noisy.iter().map(|output| output.name.as_str());
        let mut wanted = Vec::new();
        for (name, share) in named {
            if !names().any(|column| column == name) {
                let hint = crate::place::suggestion(&name, names());
                let columns = names().collect::<Vec<_>>().join(", ");
                return Err(
                    share.error(format!("share names '{name}', which is not a column with noise{hint}: {columns}"))
                );
            }
            let number = share.value.to_f64();
            if !(1e-6..=1e6).contains(&number) {
                return Err(share.error("a share must be a number from 0.000001 to 1000000"));
            }
            wanted.push((name, number));
        }
        let is_wanted = |output: &&Output| wanted.iter().any(|(name, _)| *name == output.name);
        let read =
            |output: &Output| output.aggregates.iter().flat_map(|one| numbers(&cut.query.aggregates[*one])).collect();
        let read: &dyn Fn(&Output) -> BTreeSet<(bool, usize)> = &read;
        let covered: BTreeSet<(bool, usize)> = noisy.iter().copied().filter(is_wanted).flat_map(read).collect();
        match noisy.iter().find(|output| !read(output).is_subset(&covered)) {
            Some(output) => {
                let sentence =
                    format!("share lacks the column '{}': give each column with noise a number", output.name);
                Err(SHARE.error(request, sentence))
            }
            None => Ok(Some(Self(wanted))),
        }
    }
}

/// The noisy numbers that an aggregate is made of: whether each is a quantile, and its place.
fn numbers(aggregate: &Computation) -> Vec<(bool, usize)> {
    match aggregate {
        Computation::Quantile(quantile) => vec![(true, *quantile)],
        other => measures(other).into_iter().map(|measure| (false, measure)).collect(),
    }
}

/// What each number has, the measures first; empty where all have the same. `equal` is the noise with equal shares.
pub(crate) fn portions(slopes: &ColumnSlopes, wanted: Option<&WantedShares>, equal: &CalibratedNoise) -> Vec<u64> {
    let (noises, quantiles) = (&equal.noises, equal.quantiles.len());
    let all = noises.len() + quantiles;
    let is_concentrated = noises.iter().any(|noise| matches!(noise, Noise::Gaussian(..)));
    // Shares in proportion to this are best for these weights.
    let best = |weight: f64| if is_concentrated { weight.sqrt() } else { weight.cbrt() };
    let columns: Vec<(&SharedColumn, Vec<f64>)> =
        slopes.columns.iter().map(|column| (column, column.parts(noises, quantiles))).collect();
    let is_used = |place: usize| match place.checked_sub(noises.len()) {
        Some(quantile) => slopes.columns.iter().any(|column| column.quantiles.contains(&quantile)),
        None => slopes.columns.iter().any(|column| column.measures.contains(&place)),
    };
    let shares: Vec<f64> = match wanted {
        None => {
            let weight = |place: usize| columns.iter().map(|(_, parts)| parts[place]).sum::<f64>();
            // What only decides which rows are shown counts as a column.
            let weights: Vec<f64> = (0..all).map(|place| if is_used(place) { weight(place) } else { 1.0 }).collect();
            let least = LEAST * weights.iter().sum::<f64>() / all as f64;
            weights.into_iter().map(|weight| best(weight.max(least))).collect()
        }
        Some(WantedShares(wanted)) => {
            let mut shares = vec![0.0; all];
            for (name, share) in wanted {
                for (column, parts) in columns.iter().filter(|(column, _)| column.name == *name) {
                    let own: Vec<f64> = split(column, parts, noises.len()).into_iter().map(best).collect();
                    let sum: f64 = own.iter().sum();
                    shares.iter_mut().zip(own).for_each(|(all, own)| *all += share * own / sum);
                }
            }
            let mean = wanted.iter().map(|(_, share)| share).sum::<f64>() / wanted.len().max(1) as f64;
            (0..all).map(|place| if is_used(place) { shares[place] } else { mean }).collect()
        }
    };
    in_thousandths(&shares)
}

/// The parts of a column's variance, no number that it is made of without one.
fn split(column: &SharedColumn, parts: &[f64], noises: usize) -> Vec<f64> {
    let own = |place: usize| match place.checked_sub(noises) {
        Some(quantile) => column.quantiles.contains(&quantile),
        None => column.measures.contains(&place),
    };
    parts.iter().enumerate().map(|(place, part)| if own(place) { part.max(LEAST) } else { 0.0 }).collect()
}

/// Whole numbers in these proportions, [`EQUAL`] on average; none where they are all the same. They are rounded so that
/// they do not depend on the last bits of a root.
fn in_thousandths(shares: &[f64]) -> Vec<u64> {
    let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
    let portions: Vec<u64> = shares.iter().map(|share| ((share / mean * EQUAL).round() as u64).max(1)).collect();
    if portions.windows(2).all(|pair| pair[0] == pair[1]) { Vec::new() } else { portions }
}

/// The portions of several groupings, one after the other; none where all are equal.
pub(crate) fn of_several(parts: Vec<(Vec<u64>, usize)>) -> Vec<u64> {
    let all: Vec<u64> = parts
        .into_iter()
        .flat_map(|(portions, numbers)| if portions.is_empty() { vec![EQUAL as u64; numbers] } else { portions })
        .collect();
    if all.windows(2).all(|pair| pair[0] == pair[1]) { Vec::new() } else { all }
}

/// What the plan says where shares are not equal.
pub(crate) fn note(query: &AnalysedQuery, portions: &[u64]) -> Option<String> {
    let all: u64 = portions.iter().sum();
    let asked = &query.cut.query;
    let of_quantiles = asked.quantiles.iter().map(|quantile| named(quantile.rank));
    let shown = asked.measures.iter().map(what).chain(of_quantiles).zip(portions);
    let shown: Vec<String> =
        shown.map(|(what, portion)| format!("{what} {:.0}%", 100.0 * *portion as f64 / all as f64)).collect();
    (!portions.is_empty()).then(|| format!("Shares of the cost: {}.", shown.join(", ")))
}

fn what(measure: &Measure) -> String {
    let of = measure.expression.as_ref().map_or(String::new(), shown);
    match measure.what {
        Summand::Owners => "owners".to_string(),
        Summand::Rows => "rows".to_string(),
        Summand::Present => "values".to_string(),
        Summand::Different => format!("different {of}"),
        Summand::Steps { .. } => format!("sum of {of}"),
        Summand::Squares { .. } => format!("squares of {of}"),
    }
}

/// Refuses shares of a UNION ALL.
pub(crate) fn refuse_of_union(request: &Request) -> Result<()> {
    match SHARE.read(request)? {
        Some(_) => Err(Error::at(
            SHARE.place(request),
            "share is for one query, and this is a UNION ALL of several; release each by itself",
        )),
        None => Ok(()),
    }
}
