//! The best batch of noisy marginals: every set of attributes gets its own noise.
//!
//! A marginal table is a sum of *residuals*, one for each subset of its attributes: what the subset's table says beyond
//! its own subsets. Measuring residuals instead of tables pays for nothing twice (ResidualPlanner \[XHK23\]): the
//! variance of every marginal is known in closed form, a weighted sum of variances is minimised exactly, and a change
//! of attribute j moves only the residuals of sets that hold j, so that the cost of any set of attributes can be read
//! off.
//!
//! Noise is integer noise. For a set A the table Ξ·M_A·x is released with independent discrete Gaussian noise, where
//! Ξ = ⊗_{j∈A} (d_j·I − 11ᵀ) is the projection onto the residual times ∏d_j: an integer matrix. One person moves this
//! table by ∏ d_j(d_j − 1) in squared length, no more than the residual itself moves, so that nothing is lost against
//! continuous noise.

use super::domain::{Domain, Subset};
use super::fit::{self, Coefficient};
use super::limits::RhoLimits;
use super::rows::CountModel;
use super::terms::{self, along_axes};
use super::{NORMAL_95, transform};
use crate::calibrate::up;
use crate::error::{Error, Result};
use crate::event::{Charge, Event, Shift, Word, charged_by_scope};
use crate::noise::{BitSource, DiscreteGaussian};
use crate::quantity::{Rho, Sigma, Upper};
use std::collections::BTreeMap;

mod granted;

/// Which residuals are measured, and with how much noise.
#[derive(Debug, Clone, PartialEq)]
pub struct ResidualPlan {
    domain: Domain,
    tables: Vec<Subset>,
    noise: Vec<(Subset, Sigma)>,
    /// How many people there are, where that is public and so not measured.
    people: Option<u64>,
}

/// The noisy residuals of one release; all else is post-processing.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredResiduals {
    plan: ResidualPlan,
    coefficients: Vec<Coefficient>,
}

/// Sets of attributes up to this size are searched for the worst change; for larger ones the worst of each table is
/// added up.
const SEARCHED: usize = 12;
/// In a workload of all marginals of an order, a table of one order less counts so much more: small tables are looked
/// at first, and the model makes more of them than of large ones. Still smaller tables are accurate by themselves then.
const LOWER_ORDER_WEIGHT: f64 = 20.0;

impl ResidualPlan {
    /// The plan that minimises the weighted sum of the variances of all cells of these tables, with as little noise as
    /// the limits allow ([`super::planner::residual`] is for all marginals of an order). Where attributes have limits,
    /// each gets what it was granted: noise goes with the limits of the attributes that a table has. Where the number
    /// of people is public, it is not measured: all tables add up to it.
    ///
    /// # Guarantee
    /// Its ρ is within each limit (for attributes in exact arithmetic).
    ///
    /// ```
    /// use scumble::noise::InsecureSeededSource;
    /// use scumble::quantity::Rho;
    /// use scumble::workload::{Domain, Subset, planner::RhoLimits, residual::ResidualPlan};
    /// let limits = RhoLimits { person: Some(Rho::new(0.1)?), public_people: Some(60), ..RhoLimits::default() };
    /// let plan = ResidualPlan::within(&limits, &Domain::new(vec![3, 2])?, &[(Subset::of(&[0]), 1.0)])?;
    /// let table = plan.release(&[10; 6], &mut InsecureSeededSource::new(1))?.marginal(Subset::of(&[0]))?;
    /// assert!((table.iter().sum::<f64>() - 60.0).abs() < 1e-9);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn within(limits: &RhoLimits, domain: &Domain, workload: &[(Subset, f64)]) -> Result<Self> {
        if limits.attributes.iter().any(Option::is_some) {
            return Self::granted(domain, workload, limits);
        }
        // Costs of presence and of persons go together: the best plan for presence, with as much noise as they need.
        let at = |rho: f64| Self::at(domain, workload, Rho::new(rho)?, limits.public_people);
        let trial = at(1.0)?;
        at(1.0 / limits.excess(trial.rho_presence().get(), trial.rho_person().get(), |_| 0.0)?)
    }

    fn at(domain: &Domain, workload: &[(Subset, f64)], rho: Rho, people: Option<u64>) -> Result<Self> {
        refuse_if!(rho.get() == 0.0, "marginals cannot be released with a rho of 0: no noise is enough");
        let (residuals, people) = importance(domain, workload, people)?;
        // Minimise Σ v_A σ_A² subject to Σ c_A/(2σ_A²) = ρ: σ_A² ∝ √(c_A/v_A) [XHK23].
        let spent: f64 = residuals.iter().map(|(_, moved, weight)| (moved * weight).sqrt()).sum();
        // Eight times the slack of `up`, for the roundings in between.
        let factor = spent / (2.0 * rho.get()) * (1.0 + 8e-12);
        let mut noise = Vec::with_capacity(residuals.len());
        for (subset, moved, weight) in residuals {
            let variance = (moved / weight).sqrt() * factor;
            noise.push((subset, Sigma::new(variance.sqrt() * domain.table_cells(subset) as f64)?));
        }
        let tables = workload.iter().map(|(table, _)| *table).collect();
        Ok(Self { domain: domain.clone(), tables, noise, people })
    }

    /// The measured sets, each with the σ of the integer noise on its table Ξ·M_A·x.
    pub fn noise(&self) -> &[(Subset, Sigma)] {
        &self.noise
    }

    /// The domain.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// ρ when one person is added or removed.
    ///
    /// # Guarantee
    /// The release is ρ-zCDP: an integer table that moves by Δ in Euclidean length, with discrete Gaussian noise of
    /// parameter σ in each cell, is Δ²/(2σ²)-zCDP \[CKS20\], and the tables compose.
    pub fn rho_presence(&self) -> Upper {
        let total = self
            .noise
            .iter()
            .map(|&(subset, sigma)| moved_by_presence(&self.domain, subset) / half(self, subset, sigma))
            .sum::<f64>();
        Upper::of(up(total))
    }

    /// ρ when one person's values of these attributes change, all else staying.
    ///
    /// # Guarantee
    /// As [`ResidualPlan::rho_presence`], for datasets of the same size that differ in these attributes of one person.
    pub fn rho(&self, attributes: Subset) -> Upper {
        let changed = attributes.common(self.domain.all());
        let Some(really) = self.worst_change(changed) else {
            let worst = |a: Subset| {
                a.common(changed).subsets().map(|really| moved_by_change(&self.domain, a, really)).fold(0.0, f64::max)
            };
            return Upper::of(up(self.noise.iter().map(|&(a, sigma)| worst(a) / half(self, a, sigma)).sum()));
        };
        Upper::of(up(self.cost_of_change(really)))
    }

    /// Which of these attributes really change in the worst case; None where there are too many to look at all of their
    /// subsets.
    fn worst_change(&self, changed: Subset) -> Option<Subset> {
        let costs = || changed.subsets().map(|really| (self.cost_of_change(really), really));
        let largest = || costs().max_by(|left, right| left.0.total_cmp(&right.0));
        (changed.len() <= SEARCHED).then(largest).flatten().map(|(_, really)| really)
    }

    /// ρ when exactly these attributes change, before rounding up.
    fn cost_of_change(&self, really: Subset) -> f64 {
        self.noise.iter().map(|&(a, sigma)| moved_by_change(&self.domain, a, really) / half(self, a, sigma)).sum()
    }

    /// ρ when one person is replaced by another, or by one who is not in this table.
    ///
    /// # Guarantee
    /// The larger of [`ResidualPlan::rho`] with all attributes and [`ResidualPlan::rho_presence`].
    pub fn rho_person(&self) -> Upper {
        self.rho(self.domain.all()).max(self.rho_presence())
    }

    /// What a release did, in the vocabulary of the ledger; `names` are the attributes' names.
    ///
    /// # Guarantee
    /// In every scope the events cost at least what [`ResidualPlan::rho_presence`], [`ResidualPlan::rho_person`] and
    /// [`ResidualPlan::rho`] state; exactly that for presence, person and single attributes.
    pub fn events(&self, names: &[String]) -> Result<Vec<Event>> {
        let one = vec![Shift::one_cell(1.0)?];
        let zcdp = |rho: f64| Ok::<Charge, Error>((Word::Zcdp { rho: Rho::new(rho)? }, one.clone()));
        let changes = self.charges_by_attributes();
        let changes = changes.into_iter().map(|(attributes, rho)| Ok((attributes.named(names)?, zcdp(up(rho))?)));
        charged_by_scope(
            zcdp(self.rho_presence().get())?,
            zcdp(self.rho_person().get())?,
            changes.collect::<Result<_>>()?,
        )
    }

    /// ρ that is charged as soon as one attribute of a set changes. A residual moves furthest if a single attribute of
    /// it changes (with more, the product in [`moved_by_change`] is positive, or smaller), and then by 2∏(1 − 1/d) over
    /// the others: the more, the smaller the changed attribute. So the charge of a residual is the largest among its
    /// changed attributes: steps, each for the attributes that reach it.
    fn charges_by_attributes(&self) -> BTreeMap<Subset, f64> {
        let mut charges = BTreeMap::new();
        for &(subset, sigma) in &self.noise {
            let cost = |attribute: usize| {
                moved_by_change(&self.domain, subset, Subset::of(&[attribute])) / half(self, subset, sigma)
            };
            let mut costs: Vec<(f64, usize)> = subset.iter().map(|attribute| (cost(attribute), attribute)).collect();
            costs.sort_by(|left, right| left.0.total_cmp(&right.0));
            let (mut below, mut reaching) = (0.0, subset);
            for (cost, attribute) in costs {
                if cost > below {
                    *charges.entry(reaching).or_insert(0.0) += cost - below;
                    below = cost;
                }
                reaching = reaching.without(Subset::of(&[attribute]));
            }
        }
        charges
    }

    /// The variance of each cell of the unbiased estimate of this table (except for the discreteness of the noise,
    /// which only lowers it); None if the table was not planned.
    pub fn cell_variance(&self, table: Subset) -> Option<f64> {
        let mut variance = 0.0;
        let is_known =
            |subset: Subset| is_constant(&self.domain, subset) || (subset.is_empty() && self.people.is_some());
        for subset in table.subsets().filter(|&subset| !is_known(subset)) {
            let (_, sigma) = self.noise.iter().find(|(planned, _)| *planned == subset)?;
            let scaled = sigma.get() / self.domain.table_cells(subset) as f64;
            variance += scaled * scaled * weight_in(&self.domain, subset, table);
        }
        Some(variance)
    }

    /// The unbiased estimate of each cell of this table is within this of the truth in 95 of 100 releases; None if the
    /// table was not planned.
    ///
    /// A cell's error is a sum of independent discrete Gaussians, each a whole number of steps of at most 1/(cells of
    /// the table): 1.96 standard deviations, and half a step, since an error that is rounded to a step is at most half
    /// a step further out than before. (Only where there is hardly any noise do steps matter.)
    pub fn half_width(&self, table: Subset) -> Option<f64> {
        let step = 1.0 / self.domain.table_cells(table) as f64;
        Some(NORMAL_95 * self.cell_variance(table)?.sqrt() + step / 2.0)
    }

    /// How many people there are, where that is public.
    pub fn public_people(&self) -> Option<u64> {
        self.people
    }

    /// Measures a table of counts.
    ///
    /// # Guarantee
    /// [`ResidualPlan::rho_presence`], [`ResidualPlan::rho`] and [`ResidualPlan::rho_person`]; the noise is exact.
    pub fn release<S: BitSource + ?Sized>(&self, counts: &[u64], bits: &mut S) -> Result<MeasuredResiduals> {
        if counts.len() != self.domain.cells() {
            refuse!("the table has {} counts, but the domain has {} cells", counts.len(), self.domain.cells());
        }
        let total =
            counts.iter().try_fold(0u64, |total, &count| total.checked_add(count)).filter(|&total| total < 1 << 40);
        refuse_if!(total.is_none(), "the table has more than 2^40 people");
        let mut coefficients = Vec::new();
        if let Some(people) = self.people {
            let value = people as f64 / (self.domain.cells() as f64).sqrt();
            coefficients.push(Coefficient { index: 0, subset: Subset::EMPTY, value, variance: 0.0 });
        }
        for (&(subset, sigma), mut table) in self.noise.iter().zip(self.exact_tables(counts)) {
            let noise = DiscreteGaussian::new(sigma);
            table.iter_mut().for_each(|value| *value = noise.add_to(*value, bits));
            self.add_coefficients(subset, sigma, &table, &mut coefficients);
        }
        Ok(MeasuredResiduals { plan: self.clone(), coefficients })
    }

    /// Ξ·M_A·x for each measured set A, before any noise.
    pub(super) fn exact_tables(&self, counts: &[u64]) -> Vec<Vec<i64>> {
        let subsets: Vec<Subset> = self.noise.iter().map(|&(subset, _)| subset).collect();
        let of = |(subset, table): (&Subset, Vec<u64>)| {
            let mut table: Vec<i64> = table.into_iter().map(|count| count as i64).collect();
            let sizes: Vec<usize> = subset.iter().map(|attribute| self.domain.sizes()[attribute] as usize).collect();
            along_axes(&mut table, &sizes, |value, sum, size: i64| value * size - sum);
            table
        };
        subsets.iter().zip(self.domain.marginals(counts, &subsets)).map(of).collect()
    }

    /// The coefficients that belong to this set, of the whole table of counts.
    fn add_coefficients(&self, subset: Subset, sigma: Sigma, table: &[i64], out: &mut Vec<Coefficient>) {
        let cells = table.len() as f64;
        let share = (cells / self.domain.cells() as f64).sqrt();
        let mut values: Vec<f64> = table.iter().map(|&value| value as f64 / cells * share).collect();
        let variance = (sigma.get() / cells * share).powi(2);
        if subset.is_empty() {
            out.push(Coefficient { index: 0, subset, value: values[0], variance });
            return;
        }
        let own = self.domain.of(subset);
        transform::forward(&own, &mut values);
        for (position, value) in values.into_iter().enumerate() {
            let digits = own.values(position);
            if digits.iter().all(|&digit| digit > 0) {
                let index = index_of(&self.domain, subset, &digits);
                out.push(Coefficient { index, subset, value, variance });
            }
        }
    }
}

impl MeasuredResiduals {
    /// The unbiased estimate of a planned table, with the variance of [`ResidualPlan::cell_variance`]; it may have
    /// negative cells. All tables of one release agree: what they say about fewer attributes is the same.
    pub fn marginal(&self, table: Subset) -> Result<Vec<f64>> {
        let domain = &self.plan.domain;
        if self.plan.cell_variance(table).is_none() || !table.is_within(domain.all()) {
            refuse!("the marginal of {table} was not measured");
        }
        // The coefficients of a table's subsets are its own, except for the length of what is constant outside.
        let own = domain.of(table);
        let share = (domain.cells() as f64 / own.cells() as f64).sqrt();
        let mut cells = vec![0.0; own.cells()];
        let known = self.coefficients.iter().filter(|coefficient| coefficient.subset.is_within(table));
        known.for_each(|coefficient| cells[domain.place(coefficient.index, table)] = coefficient.value * share);
        transform::inverse(&own, &mut cells);
        Ok(cells)
    }

    /// The most likely non-negative table, with as many people as were measured (or are public), and at least one.
    /// Large tables are far less noisy than their unbiased estimates; small cells are biased upward, since no cell is
    /// below 0, and others downward for it, so that no error bar belongs to it.
    pub fn model(&self) -> Result<CountModel> {
        let cells = fit::most_likely_table(&self.plan.domain, &self.coefficients);
        CountModel::new(self.plan.domain.clone(), cells, self.plan.tables.clone())
    }
}

/// All marginals of `order` attributes, and those of one less, with their weights.
pub(super) fn all_marginals(domain: &Domain, order: usize) -> Result<Vec<(Subset, f64)>> {
    if order == 0 || order > domain.attributes() {
        refuse!(
            "marginals of a domain with {} attributes have 1 to {} attributes, not {order}",
            domain.attributes(),
            domain.attributes()
        );
    }
    let of_size =
        |size, weight| Subset::all_of_size(domain.attributes(), size).into_iter().map(move |table| (table, weight));
    let smaller = of_size(order - 1, LOWER_ORDER_WEIGHT).filter(|(table, _)| !table.is_empty());
    Ok(of_size(order, 1.0).chain(smaller).collect())
}

/// A residual: its set, how much one person moves it, ∏(1 − 1/d_j), and what its variance weighs in the workload.
type ResidualTerm = terms::Term<Subset>;

/// The residuals that are measured, and the number of people where that is public, so that it is not among them. (Where
/// there is nothing else to measure, since all attributes have one value, it is.)
fn importance(
    domain: &Domain,
    workload: &[(Subset, f64)],
    people: Option<u64>,
) -> Result<(Vec<ResidualTerm>, Option<u64>)> {
    let mut weights: BTreeMap<Subset, f64> = BTreeMap::new();
    for &(table, weight) in workload {
        if !table.is_within(domain.all()) || table.len() > 20 || !(weight > 0.0 && weight.is_finite()) {
            refuse!("the marginal of {table} is not in the domain, or its weight {weight} is not above 0");
        }
        let cells = domain.table_cells(table) as f64;
        for subset in table.subsets().filter(|&subset| !is_constant(domain, subset)) {
            *weights.entry(subset).or_insert(0.0) += weight * cells * weight_in(domain, subset, table);
        }
    }
    refuse_if!(weights.is_empty(), "a workload needs at least one marginal");
    let people = people.filter(|_| weights.len() > 1);
    if people.is_some() {
        weights.remove(&Subset::EMPTY);
    }
    let moved = |(subset, weight)| (subset, moved_by_presence(domain, subset), weight);
    Ok((weights.into_iter().map(moved).collect(), people))
}

/// A set with an attribute of one value has no residual.
fn is_constant(domain: &Domain, subset: Subset) -> bool {
    subset.iter().any(|attribute| domain.sizes()[attribute] == 1)
}

/// How much of the variance of a residual reaches one cell of a table.
fn weight_in(domain: &Domain, subset: Subset, table: Subset) -> f64 {
    terms::weight_in(domain.sizes(), subset.iter(), table.without(subset).iter())
}

fn moved_by_presence(domain: &Domain, subset: Subset) -> f64 {
    terms::moved_by_presence(domain.sizes(), subset.iter())
}

/// The squared length by which a residual moves when exactly the attributes in `really` of one person change.
fn moved_by_change(domain: &Domain, subset: Subset, really: Subset) -> f64 {
    terms::moved_by_change(domain.sizes(), subset.iter(), |attribute| really.contains(attribute))
}

/// 2σ² in the units of the residual itself.
fn half(plan: &ResidualPlan, subset: Subset, sigma: Sigma) -> f64 {
    2.0 * (sigma.get() / plan.domain.table_cells(subset) as f64).powi(2)
}

fn index_of(domain: &Domain, subset: Subset, digits: &[u32]) -> usize {
    let mut digits = digits.iter();
    (0..domain.attributes()).fold(0, |index, attribute| {
        let digit = if subset.contains(attribute) { digits.next().copied().unwrap_or(0) } else { 0 };
        index * domain.sizes()[attribute] as usize + digit as usize
    })
}
