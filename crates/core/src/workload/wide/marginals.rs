//! All marginals of up to `order` attributes of a table of any number of columns, by residual measurements.
//!
//! The same measurement as [`crate::workload::residual`], from which the theory is taken \[XHK23\]: each set A of
//! attributes has the integer table Ξ·M_A·x with its own discrete Gaussian noise. There a model of the whole domain is
//! fitted; here nothing is larger than one table. The unbiased estimate of a table is the sum of what its subsets'
//! residuals say about it, so that all estimates agree with each other. What is fitted is local (as in \[MFXKMS24\]):
//! tables of one attribute are brought to the nearest ones that are not negative, tables of two to ones with exactly
//! these margins.

use super::super::NORMAL_95;
use super::super::allocation::{Constraint, precisions};
use super::super::limits::RhoLimits;
use super::super::terms::{self, along_axes, constraints, filled, moved_by_change, moved_by_presence};
use super::records::{Records, check_sizes};
use crate::calibrate::up;
use crate::error::{Error, Result};
use crate::event::{Charge, Event, Shift, Word, charged_by_scope};
use crate::noise::{BitSource, DiscreteGaussian};
use crate::quantity::{Rho, Sigma, Upper};
use crate::scope::AttributeSet;
use std::collections::BTreeMap;

pub(super) mod fitted;
mod person;
#[cfg(test)]
mod tests;

/// All tables of up to this many attributes have at most this many cells together.
pub const MOST_CELLS: f64 = 1e8;
/// One table has at most this many cells, so that a count of 2⁴⁰ people times its cells is an i64.
const MOST_TABLE_CELLS: f64 = (1u64 << 22) as f64;
/// Tables of more attributes have too many subsets.
const MOST_ORDER: usize = 6;
/// As in the residual release of a whole domain: a table of one order less counts so much more.
const LOWER_ORDER_WEIGHT: f64 = 20.0;
/// Nobody has a table of more people.
const MOST_PEOPLE: u64 = 1 << 40;

/// Attributes by position, ascending.
pub type WideSubset = Vec<usize>;

/// Which residuals are measured, and with how much noise.
#[derive(Debug, Clone, PartialEq)]
pub struct MarginalPlan {
    sizes: Vec<u32>,
    order: usize,
    /// Each measured set with the σ of the noise on its integer table.
    noise: BTreeMap<WideSubset, Sigma>,
    people: Option<u64>,
    /// Whether noise depends on the sizes of a set's attributes alone.
    by_size: bool,
}

/// The noisy residuals of one release; all else is post-processing.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredMarginals {
    plan: MarginalPlan,
    residuals: BTreeMap<WideSubset, Vec<f64>>,
}

/// A residual: its set, how much one person moves it, and what its variance weighs.
type WideResidualTerm = terms::Term<WideSubset>;

impl MarginalPlan {
    /// All marginals of up to `order` attributes with as little noise as these limits allow, as weighted variances
    /// count.
    ///
    /// # Guarantee
    /// Its ρ is within each limit.
    ///
    /// ```
    /// use scumble::quantity::Rho;
    /// use scumble::workload::planner::RhoLimits;
    /// use scumble::workload::wide::marginals::MarginalPlan;
    /// // 200 columns of 10 values: 10^200 combinations, but two million cells of pairs.
    /// let limits = RhoLimits { presence: Some(Rho::new(0.1)?), ..RhoLimits::default() };
    /// let plan = MarginalPlan::within(&limits, &[10; 200], 2)?;
    /// assert!(plan.rho_presence() <= 0.1 && plan.rho_presence() > 0.0999999);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn within(limits: &RhoLimits, sizes: &[u32], order: usize) -> Result<Self> {
        check(sizes, order)?;
        let mut residuals = importance(sizes, order);
        let people = limits.public_people.filter(|_| residuals.len() > 1);
        if people.is_some() {
            residuals.retain(|(set, ..)| !set.is_empty());
        }
        if limits.attributes.iter().any(Option::is_some) {
            return Self::granted(sizes, order, &residuals, people, limits);
        }
        let at = |rho: f64| Self::at(sizes, order, &residuals, people, rho);
        let trial = at(1.0)?;
        at(1.0 / limits.excess(trial.rho_presence().get(), trial.rho_person().get(), |_| 0.0)?)
    }

    /// σ_A² ∝ √(c_A/v_A) minimises Σ v_A σ_A² subject to Σ c_A/(2σ_A²) = ρ \[XHK23\].
    fn at(sizes: &[u32], order: usize, residuals: &[WideResidualTerm], people: Option<u64>, rho: f64) -> Result<Self> {
        let spent: f64 = residuals.iter().map(|(_, moved, weight)| (moved * weight).sqrt()).sum();
        // Eight times the slack of `up`, for the roundings in between.
        let factor = spent / (2.0 * rho) * (1.0 + 8e-12);
        let sigma = |(set, moved, weight): &WideResidualTerm| {
            let variance = (moved / weight).sqrt() * factor;
            Ok((set.clone(), Sigma::new(variance.sqrt() * cells(sizes, set))?))
        };
        let noise = residuals.iter().map(sigma).collect::<Result<_>>()?;
        Ok(Self { sizes: sizes.to_vec(), order, noise, people, by_size: true })
    }

    /// Each attribute gets what it was granted: noise goes with the limits of the attributes that a table has.
    fn granted(
        sizes: &[u32],
        order: usize,
        residuals: &[WideResidualTerm],
        people: Option<u64>,
        limits: &RhoLimits,
    ) -> Result<Self> {
        let weights: Vec<f64> = residuals.iter().map(|(_, _, weight)| *weight).collect();
        let found = filled(residuals, precisions(&weights, &rows(sizes, residuals, limits)?));
        let plan = |divisor: f64| -> Result<Self> {
            let sigma = |((set, ..), precision): (&WideResidualTerm, &f64)| {
                Ok((set.clone(), Sigma::new(cells(sizes, set) / (2.0 * precision / divisor).sqrt())?))
            };
            let noise = residuals.iter().zip(&found).map(sigma).collect::<Result<_>>()?;
            Ok(Self { sizes: sizes.to_vec(), order, noise, people, by_size: false })
        };
        let trial = plan(1.0)?;
        let of_attributes = trial.rho_by_attribute();
        plan(
            limits.excess(trial.rho_presence().get(), trial.rho_person().get(), |attribute| {
                of_attributes[attribute].get()
            })?,
        )
    }

    /// The sizes of the columns.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Tables have up to this many attributes.
    pub fn order(&self) -> usize {
        self.order
    }

    /// The measured sets, each with the σ of the integer noise on its table Ξ·M_A·x.
    pub fn noise(&self) -> impl Iterator<Item = (&[usize], Sigma)> {
        self.noise.iter().map(|(set, sigma)| (set.as_slice(), *sigma))
    }

    /// How many people there are, where that is public.
    pub fn public_people(&self) -> Option<u64> {
        self.people
    }

    /// ρ when one person is added or removed.
    ///
    /// # Guarantee
    /// The release is ρ-zCDP: each integer table moves by ∏d(d − 1) in squared length \[CKS20\], and the tables
    /// compose.
    pub fn rho_presence(&self) -> Upper {
        let cost = |(set, &sigma): (&WideSubset, &Sigma)| {
            moved_by_presence(&self.sizes, set.iter().copied()) / self.half(set, sigma)
        };
        Upper::of(up(self.noise.iter().map(cost).sum()))
    }

    /// ρ when one person's value of one attribute changes.
    ///
    /// # Guarantee
    /// As [`MarginalPlan::rho_presence`], for datasets that differ in this attribute of one person.
    pub fn rho(&self, attribute: usize) -> Upper {
        self.rho_by_attribute().get(attribute).copied().unwrap_or(Upper::of(0.0))
    }

    /// The same of every attribute, in one walk.
    pub fn rho_by_attribute(&self) -> Vec<Upper> {
        let mut costs = vec![0.0; self.sizes.len()];
        for (set, &sigma) in &self.noise {
            for &attribute in set {
                costs[attribute] +=
                    moved_by_change(&self.sizes, set.iter().copied(), |one| one == attribute) / self.half(set, sigma);
            }
        }
        costs.into_iter().map(|cost| Upper::of(up(cost))).collect()
    }

    /// ρ when one person is replaced by another, or by one who is not in this table.
    ///
    /// # Guarantee
    /// An upper bound, at least [`MarginalPlan::rho_presence`]. Exact for tables of up to two attributes with few
    /// different sizes and no limits on attributes; else what each table moves at most is added up.
    pub fn rho_person(&self) -> Upper {
        let worst = person::worst_by_size(self).unwrap_or_else(|| person::sum_of_worst(self));
        Upper::of(up(worst)).max(self.rho_presence())
    }

    /// What a release did, in the vocabulary of the ledger; `names` are the attributes' names.
    ///
    /// # Guarantee
    /// Exactly [`MarginalPlan::rho_presence`], [`MarginalPlan::rho_person`] and [`MarginalPlan::rho`] for presence,
    /// persons and single attributes. Several attributes are charged the sum: a residual never moves further than by
    /// the worst of its changed attributes alone (see [`crate::workload::residual`]).
    pub fn events(&self, names: &[String]) -> Result<Vec<Event>> {
        refuse_if!(names.len() != self.sizes.len(), "there are {} names for {} columns", names.len(), self.sizes.len());
        let one = vec![Shift::one_cell(1.0)?];
        let zcdp = |rho: f64| Ok::<Charge, Error>((Word::Zcdp { rho: Rho::new(rho)? }, one.clone()));
        let own = names.iter().zip(self.rho_by_attribute()).filter(|(_, rho)| *rho > 0.0);
        let own = own.map(|(name, rho)| Ok((AttributeSet::new([name.clone()])?, zcdp(rho.get())?)));
        charged_by_scope(zcdp(self.rho_presence().get())?, zcdp(self.rho_person().get())?, own.collect::<Result<_>>()?)
    }

    /// The variance of each cell of the unbiased estimate of this table; None if the table was not planned.
    pub fn cell_variance(&self, table: &[usize]) -> Option<f64> {
        if !self.has(table) {
            return None;
        }
        let mut variance = 0.0;
        for set in subsets(table) {
            let Some(sigma) = self.noise.get(&set) else { continue };
            variance += (sigma.get() / cells(&self.sizes, &set)).powi(2) * weight_in(&self.sizes, &set, table);
        }
        Some(variance)
    }

    /// The unbiased estimate of each cell of this table is within this of the truth in 95 of 100 releases; None if the
    /// table was not planned. As in [`crate::workload::residual::ResidualPlan::half_width`].
    pub fn half_width(&self, table: &[usize]) -> Option<f64> {
        Some(NORMAL_95 * self.cell_variance(table)?.sqrt() + 0.5 / cells(&self.sizes, table))
    }

    /// Measures.
    ///
    /// # Guarantee
    /// [`MarginalPlan::rho_presence`], [`MarginalPlan::rho`] and [`MarginalPlan::rho_person`]; the noise is exact.
    pub fn release<S: BitSource + ?Sized>(&self, records: &Records, bits: &mut S) -> Result<MeasuredMarginals> {
        if records.sizes() != self.sizes || records.people() as u64 >= MOST_PEOPLE {
            refuse!("the records do not have the planned columns, or are more than 2^40");
        }
        let mut residuals = BTreeMap::new();
        if let Some(people) = self.people {
            residuals.insert(WideSubset::new(), vec![people as f64]);
        }
        for (set, &sigma) in &self.noise {
            let noise = DiscreteGaussian::new(sigma);
            let mut table = self.exact_table(records, set);
            table.iter_mut().for_each(|value| *value = noise.add_to(*value, bits));
            let cells = table.len() as f64;
            let mut residual: Vec<f64> = table.into_iter().map(|value| value as f64 / cells).collect();
            along_axes(&mut residual, &own_sizes(&self.sizes, set), |value, sum, size| value - sum / size);
            residuals.insert(set.clone(), residual);
        }
        Ok(MeasuredMarginals { plan: self.clone(), residuals })
    }

    /// Ξ·M_A·x, before any noise: an integer table.
    fn exact_table(&self, records: &Records, set: &[usize]) -> Vec<i64> {
        let mut table = records.count(set);
        along_axes(&mut table, &own_sizes(&self.sizes, set), |value, sum, size: i64| value * size - sum);
        table
    }

    /// 2σ² in the units of the residual itself.
    fn half(&self, set: &[usize], sigma: Sigma) -> f64 {
        2.0 * (sigma.get() / cells(&self.sizes, set)).powi(2)
    }

    fn has(&self, table: &[usize]) -> bool {
        let ascending = table.windows(2).all(|two| two[0] < two[1]);
        ascending && table.len() <= self.order && table.last().is_none_or(|&last| last < self.sizes.len())
    }
}

impl MeasuredMarginals {
    /// The plan.
    pub fn plan(&self) -> &MarginalPlan {
        &self.plan
    }

    /// The unbiased estimate of a table of up to `order` attributes (positions, ascending), with the variance of
    /// [`MarginalPlan::cell_variance`]; it may have negative cells. All tables of one release agree: what they say
    /// about fewer attributes is the same.
    pub fn marginal(&self, table: &[usize]) -> Result<Vec<f64>> {
        refuse_if!(!self.plan.has(table), "the marginal of {table:?} was not measured");
        let sizes = &self.plan.sizes;
        let mut estimate = vec![0.0; cells(sizes, table) as usize];
        for set in subsets(table) {
            let Some(residual) = self.residuals.get(&set) else { continue };
            let share = cells(sizes, &set) / cells(sizes, table);
            let strides = strides_in(sizes, &set, table);
            add_spread(&mut estimate, &own_sizes(sizes, table), &strides, residual, share);
        }
        Ok(estimate)
    }
}

/// Adds `residual[place]·share` to each cell, where the place moves by `strides` with the cell's values.
fn add_spread(cells: &mut [f64], sizes: &[usize], strides: &[usize], residual: &[f64], share: f64) {
    match (sizes, strides) {
        ([size, sizes @ ..], [stride, strides @ ..]) => {
            let block = cells.len() / size;
            for (value, part) in cells.chunks_exact_mut(block).enumerate() {
                add_spread(part, sizes, strides, &residual[value * stride..], share);
            }
        }
        _ => cells[0] += residual[0] * share,
    }
}

/// By how much the place in the table of `set` moves with each attribute of `table`; 0 where the set has it not.
fn strides_in(sizes: &[u32], set: &[usize], table: &[usize]) -> Vec<usize> {
    let mut stride = 1;
    let mut strides: Vec<usize> = table
        .iter()
        .rev()
        .map(|attribute| {
            let own = if set.contains(attribute) { stride } else { 0 };
            stride *= if set.contains(attribute) { sizes[*attribute] as usize } else { 1 };
            own
        })
        .collect();
    strides.reverse();
    strides
}

fn check(sizes: &[u32], order: usize) -> Result<()> {
    check_sizes(sizes)?;
    if order == 0 || order > sizes.len().min(MOST_ORDER) {
        refuse!(
            "marginals of a table with {} columns have 1 to {} attributes, not {order}",
            sizes.len(),
            sizes.len().min(MOST_ORDER)
        );
    }
    let mut largest: Vec<f64> = sizes.iter().map(|&size| f64::from(size)).collect();
    largest.sort_by(|left, right| right.total_cmp(left));
    let one: f64 = largest[..order].iter().product();
    let all: f64 = (1..=order).map(|order| all_cells(sizes, order)).sum();
    if one > MOST_TABLE_CELLS || all > MOST_CELLS {
        refuse!(
            "tables of up to {order} columns have {all:.0} cells (limit {MOST_CELLS:.0}), the largest {one:.0} (limit \
                {MOST_TABLE_CELLS:.0}): lower the order or leave columns out"
        );
    }
    Ok(())
}

/// How many cells all tables of exactly `order` attributes have: the elementary symmetric polynomial of the sizes.
pub fn all_cells(sizes: &[u32], order: usize) -> f64 {
    let mut of_order = vec![0.0; order + 1];
    of_order[0] = 1.0;
    for &size in sizes {
        for number in (1..=order).rev() {
            of_order[number] += of_order[number - 1] * f64::from(size);
        }
    }
    of_order[order]
}

/// All sets of `size` of the first `attributes` attributes, in order.
pub fn sets_of_size(attributes: usize, size: usize) -> Vec<WideSubset> {
    let mut sets: Vec<WideSubset> = vec![WideSubset::new()];
    for _ in 0..size {
        let longer = |set: WideSubset| {
            let from = set.last().map_or(0, |last| last + 1);
            (from..attributes).map(move |more| [set.as_slice(), &[more]].concat())
        };
        sets = sets.into_iter().flat_map(longer).collect();
    }
    sets
}

/// The residuals of all tables of `order` attributes and of one less, with what they weigh.
fn importance(sizes: &[u32], order: usize) -> Vec<WideResidualTerm> {
    let mut weights: BTreeMap<WideSubset, f64> = BTreeMap::new();
    let smaller = (order > 1).then_some((order - 1, LOWER_ORDER_WEIGHT));
    for (size, weight) in [(order, 1.0)].into_iter().chain(smaller) {
        for table in sets_of_size(sizes.len(), size) {
            let all = cells(sizes, &table);
            // A set with an attribute of one value has no residual.
            for set in subsets(&table).filter(|set| set.iter().all(|&attribute| sizes[attribute] > 1)) {
                let more = weight * all * weight_in(sizes, &set, &table);
                *weights.entry(set).or_insert(0.0) += more;
            }
        }
    }
    let moved = |(set, weight): (WideSubset, f64)| (set.clone(), moved_by_presence(sizes, set.iter().copied()), weight);
    weights.into_iter().map(moved).collect()
}

fn subsets(table: &[usize]) -> impl Iterator<Item = WideSubset> + '_ {
    (0..1u32 << table.len()).map(|mask| {
        let chosen = table.iter().enumerate().filter(|(place, _)| mask >> place & 1 == 1);
        chosen.map(|(_, &attribute)| attribute).collect()
    })
}

fn own_sizes(sizes: &[u32], set: &[usize]) -> Vec<usize> {
    set.iter().map(|&attribute| sizes[attribute] as usize).collect()
}

fn cells(sizes: &[u32], set: &[usize]) -> f64 {
    set.iter().map(|&attribute| f64::from(sizes[attribute])).product()
}

/// How much of the variance of a residual reaches one cell of a table.
fn weight_in(sizes: &[u32], set: &[usize], table: &[usize]) -> f64 {
    let outside = table.iter().filter(|attribute| !set.contains(attribute));
    terms::weight_in(sizes, set.iter().copied(), outside.copied())
}

/// The limits as sums over residuals.
fn rows(sizes: &[u32], residuals: &[WideResidualTerm], limits: &RhoLimits) -> Result<Vec<Constraint>> {
    let change =
        |set: &WideSubset, attribute: usize| moved_by_change(sizes, set.iter().copied(), |one| one == attribute);
    let presence = |set: &WideSubset| moved_by_presence(sizes, set.iter().copied());
    let person = |set: &WideSubset| person::worst(sizes, set).max(presence(set));
    constraints(residuals, limits, sizes.len(), change, presence, &[&person])
}
