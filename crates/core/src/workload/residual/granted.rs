//! Plans that give each attribute what it was granted.
//!
//! A change of one attribute moves the residuals of the sets that hold it and no others. So a strict attribute makes
//! its own tables noisy, and no others: scaling all noise until the strictest limit holds gave the other attributes
//! 0.26 to 0.32 of what they were granted.

use super::super::allocation::{Constraint, precisions};
use super::super::domain::{Domain, Subset};
use super::super::limits::RhoLimits;
use super::super::terms::{constraints, filled};
use super::{ResidualPlan, ResidualTerm, importance, moved_by_change, moved_by_presence};
use crate::error::{Error, Result};
use crate::quantity::{Exact, Rho, Sigma};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

/// Sets of attributes that are looked at as the worst change of a whole person.
const MOST_CHANGES: usize = 40;
/// By how much a plan is made noisier, in turn, if its costs should be above a limit as rationals.
const STEPS: [f64; 3] = [0.0, 1e-9, 1e-6];

impl ResidualPlan {
    /// The plan with the least weighted variance within limits, some of them on attributes. A part that no limit
    /// constrains (the number of people, among attributes) gets the share of the presence cost that it has in the plan
    /// that is best for presence.
    ///
    /// # Guarantee
    /// Its ρ is within each limit: as rationals for presence and attributes, by the bound [`ResidualPlan::rho_person`]
    /// for persons.
    pub(super) fn granted(domain: &Domain, workload: &[(Subset, f64)], limits: &RhoLimits) -> Result<Self> {
        let (residuals, people) = importance(domain, workload, limits.public_people)?;
        let weights: Vec<f64> = residuals.iter().map(|(_, _, weight)| *weight).collect();
        let mut rows = rows(domain, &residuals, limits)?;
        let tables: Vec<Subset> = workload.iter().map(|(table, _)| *table).collect();
        let plan = |precisions: &[f64]| -> Result<Self> {
            let sigma = |(&(set, ..), precision): (&ResidualTerm, &f64)| {
                Ok((set, Sigma::new(domain.table_cells(set) as f64 / (2.0 * precision).sqrt())?))
            };
            let noise = residuals.iter().zip(precisions).map(sigma).collect::<Result<_>>()?;
            Ok(Self { domain: domain.clone(), tables: tables.clone(), noise, people })
        };
        let mut found = filled(&residuals, precisions(&weights, &rows));
        // A change of a whole person is a maximum over the attributes that really change: those that turn out to matter
        // become limits.
        for _ in 0..MOST_CHANGES {
            let Some(most) = limits.person.filter(|most| plan(&found).is_ok_and(|plan| plan.rho_person() > most.get()))
            else {
                break;
            };
            rows.push(Constraint { costs: worst_change(domain, &plan(&found)?, &residuals), most: most.get() });
            found = filled(&residuals, precisions(&weights, &rows));
        }
        let trial = plan(&found)?;
        let excess = limits
            .excess(trial.rho_presence().get(), trial.rho_person().get(), |j| trial.rho(Subset::of(&[j])).get())?;
        found.iter_mut().for_each(|precision| *precision /= excess);
        for step in STEPS {
            found.iter_mut().for_each(|precision| *precision *= 1.0 - step);
            let last = plan(&found)?;
            if last.is_within(limits)? {
                return Ok(last);
            }
        }
        Err(Error::refused("no noise was found whose cost is within the limits"))
    }

    /// Whether every limit holds in exact arithmetic.
    fn is_within(&self, limits: &RhoLimits) -> Result<bool> {
        let holds = |cost: Exact, most: Option<Rho>| {
            Ok::<bool, Error>(match most {
                Some(most) => cost <= Exact::from_f64(most.get())?,
                None => true,
            })
        };
        let mut all = holds(self.exactly(|set| Some(self.squared(set, None))), limits.presence)?;
        for (attribute, most) in limits.attributes.iter().enumerate() {
            let moved = |set: Subset| set.contains(attribute).then(|| self.squared(set, Some(attribute)));
            all &= most.is_none() || holds(self.exactly(moved), *most)?;
        }
        Ok(all && (limits.person.is_none() || holds(Exact::from_f64(self.rho_person().get())?, limits.person)?))
    }

    /// Σ moved/2σ² over the integer tables that move, each term rounded up to the ledger's grid.
    fn exactly(&self, moved: impl Fn(Subset) -> Option<u64>) -> Exact {
        let mut sum = BigRational::zero();
        for (set, sigma) in &self.noise {
            let (Some(moved), Ok(sigma)) = (moved(*set), Exact::from_f64(sigma.get())) else { continue };
            let twice = BigRational::from_integer(BigInt::from(2)) * sigma.rational() * sigma.rational();
            sum += Exact::from_rational(BigRational::from_integer(BigInt::from(moved)) / twice).up_to_grid().rational();
        }
        Exact::from_rational(sum)
    }

    /// The squared length by which the integer table Ξ·M_A·x moves: ∏ d(d − 1) if a person comes or goes, and 2·d_j²·∏
    /// d(d − 1) over the others if attribute j of a person changes.
    fn squared(&self, set: Subset, changed: Option<usize>) -> u64 {
        let factor = |attribute: usize| {
            let size = u64::from(self.domain.sizes()[attribute]);
            if changed == Some(attribute) { 2 * size * size } else { size * (size - 1) }
        };
        set.iter().map(factor).product()
    }
}

/// The limits as sums over residuals.
fn rows(domain: &Domain, residuals: &[ResidualTerm], limits: &RhoLimits) -> Result<Vec<Constraint>> {
    let change = |set: &Subset, attribute: usize| moved_by_change(domain, *set, Subset::of(&[attribute]));
    let presence = |set: &Subset| moved_by_presence(domain, *set);
    let all = |set: &Subset| moved_by_change(domain, *set, domain.all());
    constraints(residuals, limits, domain.attributes(), change, presence, &[&presence, &all])
}

/// What the worst change of a whole person costs, as [`ResidualPlan::rho`] counts it.
fn worst_change(domain: &Domain, plan: &ResidualPlan, residuals: &[ResidualTerm]) -> Vec<(usize, f64)> {
    let worst = plan.worst_change(domain.all());
    let cost = |set: Subset| match worst {
        Some(really) => moved_by_change(domain, set, really),
        None => set.subsets().map(|really| moved_by_change(domain, set, really)).fold(0.0, f64::max),
    };
    let costs = residuals.iter().enumerate().map(|(number, (set, ..))| (number, cost(*set)));
    costs.filter(|(_, cost)| *cost > 0.0).collect()
}
