//! Which method answers all marginals of an order best within given limits, by the error that each one promises.
//!
//! The residual release has noise for each set of attributes, and gives each attribute what it was granted. Projection
//! and multiplicative weights have one noise for all answers: "as accurate as the limits allow" is one division, and
//! the strictest limit decides. Only public numbers are used here.

use super::domain::{Domain, Subset};
pub use super::limits::RhoLimits;
use super::limits::sigma_of;
use super::mwem::{Mwem, QueryFamilies};
use super::people::People;
use super::predicate::Queries;
use super::projection::Projection;
use super::residual::{ResidualPlan, all_marginals};
use super::wide::marginals::all_cells;
use crate::error::Result;
use crate::quantity::{Rho, Sigma};

named! {
    /// A way to answer marginals.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Approach {
        /// [`super::residual`]: every set of attributes has its own noise.
        Residual = "residual",
        /// [`super::projection`]: all answers with noise, projected.
        Projection = "projection",
        /// [`super::mwem`]: the worst answers, round after round.
        Mwem = "mwem",
        /// [`super::psd`]: pairs of binary columns, projected by their eigenvalues. [`promises`] leaves it out, because
        /// it needs no domain.
        Psd = "psd",
    }
}

/// Projection and multiplicative weights keep each answer: more of them would not fit into the memory of a small
/// machine.
const MOST_ANSWERS: f64 = 2e6;
/// What a noisy number of people costs, as a share of the presence cost of the method that needs it.
const SHARE_OF_PEOPLE: f64 = 0.02;

/// The residual release of all marginals of `order` attributes with as little noise as the limits allow.
///
/// # Guarantee
/// Its ρ is within each limit.
///
/// ```
/// use scumble::quantity::Rho;
/// use scumble::workload::Domain;
/// use scumble::workload::planner::{RhoLimits, residual};
/// let limits = RhoLimits { person: Some(Rho::new(0.1)?), ..RhoLimits::default() };
/// let plan = residual(&Domain::new(vec![3, 2, 4])?, 2, &limits)?;
/// assert!(plan.rho_person() <= 0.1 && plan.rho_person() > 0.0999999);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn residual(domain: &Domain, order: usize, limits: &RhoLimits) -> Result<ResidualPlan> {
    ResidualPlan::within(limits, domain, &all_marginals(domain, order)?)
}

/// The projection mechanism for all marginals of `order` attributes, and the number of people that it needs.
///
/// # Guarantee
/// The ρ of both together is within each limit.
pub fn projection(domain: &Domain, order: usize, limits: &RhoLimits) -> Result<(Projection, People)> {
    check(domain, order)?;
    let queries = Queries::marginals(domain, order)?;
    let trial = Projection::new(queries.clone(), Sigma::new(1.0)?);
    let number = trial.rho_presence().get() * share_of_people(limits);
    let (presence, person) = (trial.rho_presence().get() + number, trial.rho_person().get() + number);
    let excess = limits.excess(presence, person, |j| trial.rho(Subset::of(&[j])).get())?;
    let projection = Projection::new(queries, sigma_of(excess)?);
    let people = limits.people(projection.rho_presence().get() * SHARE_OF_PEOPLE)?;
    Ok((projection, people))
}

/// Rounds of multiplicative weights for all marginals of `order` attributes, each with one query in each of `disjoint`
/// blocks, and the number of people that they need.
///
/// # Guarantee
/// The ρ of both together is within each limit.
pub fn mwem(domain: &Domain, order: usize, rounds: u32, disjoint: usize, limits: &RhoLimits) -> Result<(Mwem, People)> {
    check(domain, order)?;
    if disjoint == 0 || disjoint > domain.attributes() / order {
        refuse!(
            "of {} attributes there are 1 to {} disjoint sets of {order}, not {disjoint}",
            domain.attributes(),
            domain.attributes() / order
        );
    }
    let queries = Queries::marginals(domain, order)?;
    let trial = Mwem::of_attribute(queries.clone(), rounds, disjoint, Rho::new(1.0)?, QueryFamilies::Blocks)?;
    let number = trial.rho_presence().get() * share_of_people(limits);
    let (presence, person) = (trial.rho_presence().get() + number, trial.rho_person().get() + number);
    let excess = limits.excess(presence, person, |j| trial.rho(Subset::of(&[j])).get())?;
    let mwem = Mwem::of_attribute(queries, rounds, disjoint, Rho::new(1.0 / excess)?, QueryFamilies::Blocks)?;
    let people = limits.people(mwem.rho_presence().get() * SHARE_OF_PEOPLE)?;
    Ok((mwem, people))
}

/// What the number of people costs, as a share of the presence cost of the method that needs it.
fn share_of_people(limits: &RhoLimits) -> f64 {
    if limits.public_people.is_some() { 0.0 } else { SHARE_OF_PEOPLE }
}

fn check(domain: &Domain, order: usize) -> Result<()> {
    if order == 0 || order > domain.attributes() {
        refuse!(
            "marginals of a domain with {} attributes have 1 to {} attributes, not {order}",
            domain.attributes(),
            domain.attributes()
        );
    }
    let answers = all_cells(domain.sizes(), order);
    if answers > MOST_ANSWERS {
        refuse!(
            "tables of {order} attributes have {answers:.0} cells, and projection and mwem answer at most \
                {MOST_ANSWERS:.0}: lower the order, drop attributes, or use residual"
        );
    }
    Ok(())
}

/// What a method promises: the root of the mean squared error of a count, before anything is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedError {
    /// The method.
    pub method: Approach,
    /// The error, in people. Exact for the unbiased estimates of the residual release, upper bounds for the others.
    pub error: f64,
}

/// The promises of all methods for all marginals of `order` attributes of about `people` people, best first; projection
/// and multiplicative weights are left out where there are more answers than they can keep.
///
/// ```
/// use scumble::quantity::Rho;
/// use scumble::workload::Domain;
/// use scumble::workload::planner::{RhoLimits, Approach, promises};
/// let limits = RhoLimits { person: Some(Rho::new(0.05)?), ..RhoLimits::default() };
/// let small = Domain::new(vec![4, 3, 2, 2])?;
/// assert_eq!(promises(&small, 2, 50_000, &limits)?[0].method, Approach::Residual);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn promises(domain: &Domain, order: usize, people: u64, limits: &RhoLimits) -> Result<Vec<PredictedError>> {
    let mut promises = vec![PredictedError {
        method: Approach::Residual,
        error: residual_error(&residual(domain, order, limits)?, order),
    }];
    if all_cells(domain.sizes(), order) <= MOST_ANSWERS {
        let (projection, _) = projection(domain, order, limits)?;
        let (mwem, _) = mwem(domain, order, 1, 1, limits)?;
        let (queries, one_attribute) = (projection.queries().len(), mwem.rho(Subset::of(&[0])).get());
        promises.push(PredictedError { method: Approach::Projection, error: projection.expected_error(people) });
        promises.push(PredictedError {
            method: Approach::Mwem,
            error: mwem_bound(domain, queries, people, one_attribute).1,
        });
    }
    promises.sort_by(|left, right| left.error.total_cmp(&right.error));
    Ok(promises)
}

/// The root of the mean variance of a cell of the tables of `order` attributes, unbiased.
pub fn residual_error(plan: &ResidualPlan, order: usize) -> f64 {
    let domain = plan.domain();
    let (mut sum, mut cells) = (0.0, 0.0);
    for table in Subset::all_of_size(domain.attributes(), order) {
        let number = domain.table_cells(table) as f64;
        sum += number * plan.cell_variance(table).unwrap_or(f64::INFINITY);
        cells += number;
    }
    (sum / cells).sqrt()
}

/// Rounds beyond this are not worth their time.
const MOST_ROUNDS: u32 = 64;

/// The number of rounds for which the bound of `mwem_bound` is least.
pub fn rounds(domain: &Domain, order: usize, people: u64, rho_of_attribute: Rho) -> u32 {
    let tables = Subset::all_of_size(domain.attributes(), order);
    let queries = tables.into_iter().map(|table| domain.table_cells(table)).sum();
    mwem_bound(domain, queries, people, rho_of_attribute.get()).0
}

/// Equation (3) of \[GKMS\], corrected for the step 4/ℓ: √(2T/(nε₀)² + ln|X|/(2T)) + √(2T)·ln m/(ε₀n), at the best
/// number of rounds T, and that number; in people. ε₀ = √(2ρ) of one attribute.
fn mwem_bound(domain: &Domain, queries: usize, people: u64, rho: f64) -> (u32, f64) {
    let (epsilon, people, log_cells) = ((2.0 * rho).sqrt(), people.max(1) as f64, (domain.cells() as f64).ln());
    let at = |rounds: u32| {
        let rounds = f64::from(rounds);
        let fit = (2.0 * rounds / (people * epsilon).powi(2) + log_cells / (2.0 * rounds)).sqrt();
        fit + (2.0 * rounds).sqrt() * (queries as f64).ln() / (epsilon * people)
    };
    let all = (1..=MOST_ROUNDS).map(|rounds| (rounds, at(rounds)));
    let (rounds, error) = all.min_by(|left, right| left.1.total_cmp(&right.1)).unwrap_or((1, 1.0));
    // No answer is off by more than everybody.
    (rounds, error.min(1.0) * people)
}

#[cfg(test)]
mod tests {
    use super::super::limits::BELOW;
    use super::*;

    fn rho(value: f64) -> Rho {
        Rho::new(value).unwrap()
    }

    fn person(value: f64) -> RhoLimits {
        RhoLimits { person: Some(rho(value)), ..RhoLimits::default() }
    }

    #[test]
    fn few_queries_are_measured_and_very_many_of_few_people_are_learnt() {
        let few = promises(&Domain::new(vec![2; 6]).unwrap(), 2, 100_000, &person(0.5)).unwrap();
        assert_eq!(few[0].method, Approach::Residual);
        // 3-way marginals of 16 binary attributes, 4480 answers, 300 people: measuring all of them drowns the people in
        // noise.
        let many = promises(&Domain::new(vec![2; 16]).unwrap(), 3, 300, &person(0.05)).unwrap();
        assert_ne!(many[0].method, Approach::Residual, "{many:?}");
        assert!(many.iter().all(|promise| promise.error > 0.0 && promise.error.is_finite()));
    }

    #[test]
    fn every_method_uses_its_limits_up_and_passes_none() {
        let domain = Domain::new(vec![3, 2, 4, 2]).unwrap();
        let of_attributes = RhoLimits {
            attributes: vec![Some(rho(0.2)), Some(rho(0.05)), None, Some(rho(0.3))],
            ..RhoLimits::default()
        };
        let all = [person(0.1), RhoLimits { presence: Some(rho(0.1)), ..RhoLimits::default() }, of_attributes];
        for limits in &all {
            let check = |presence: f64, person: f64, attribute: &dyn Fn(usize) -> f64| {
                let excess = limits.excess(presence, person, attribute).unwrap() * BELOW;
                assert!(excess <= 1.0 && excess > 1.0 - 1e-6, "{limits:?}: {excess}");
            };
            let plan = residual(&domain, 2, limits).unwrap();
            check(plan.rho_presence().get(), plan.rho_person().get(), &|j| plan.rho(Subset::of(&[j])).get());
            let (mechanism, people) = projection(&domain, 2, limits).unwrap();
            let number = people.rho_presence().get();
            let (presence, person) = (mechanism.rho_presence().get() + number, mechanism.rho_person().get() + number);
            check(presence, person, &|j| mechanism.rho(Subset::of(&[j])).get());
            let (mechanism, people) = mwem(&domain, 2, 5, 2, limits).unwrap();
            let number = people.rho_presence().get();
            let (presence, person) = (mechanism.rho_presence().get() + number, mechanism.rho_person().get() + number);
            check(presence, person, &|j| mechanism.rho(Subset::of(&[j])).get());
        }
        assert!(residual(&domain, 2, &RhoLimits::default()).is_err());
        assert!(projection(&domain, 5, &person(0.1)).is_err());
        assert!(mwem(&domain, 2, 5, 3, &person(0.1)).is_err());
    }

    #[test]
    fn more_answers_than_can_be_kept_are_refused_in_one_sentence() {
        let domain = Domain::new(vec![2; 20]).unwrap();
        assert_eq!(all_cells(domain.sizes(), 2), 190.0 * 4.0);
        assert_eq!(all_cells(&[3, 2, 4], 2), 6.0 + 12.0 + 8.0);
        // C(20, 8)·2⁸
        let sentence = projection(&domain, 8, &person(0.1)).unwrap_err().to_string();
        assert!(sentence.contains("have 32248320 cells,") && sentence.contains("at most 2000000"), "{sentence}");
        assert!(mwem(&domain, 8, 5, 1, &person(0.1)).unwrap_err().to_string().contains("lower the order"));
    }

    #[test]
    fn more_people_are_worth_more_rounds() {
        let domain = Domain::new(vec![2; 8]).unwrap();
        let of = |people: u64| rounds(&domain, 2, people, rho(0.05));
        assert!(of(100) < of(400) && of(400) < of(3000), "{} {} {}", of(100), of(400), of(3000));
        assert!(of(u64::MAX) <= MOST_ROUNDS);
    }
}
