//! Which polynomial and which numbers answer conjunctions best, by the error that is promised from public numbers.

use super::{BitLayout, ConjunctionPlan, Measure, Polynomial};
use crate::error::Result;
use crate::workload::limits::RhoLimits;

/// A way to answer conjunctions, and its error.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ConjunctionCandidate {
    /// The plan.
    pub plan: ConjunctionPlan,
    /// The standard error of a conjunction of the full width.
    pub standard_error: f64,
    /// η: beside that it is off by at most this share of the people.
    pub bias: f64,
}

impl ConjunctionCandidate {
    fn new(plan: ConjunctionPlan) -> Result<Self> {
        let (standard_error, bias) = plan.error(plan.polynomial().width())?;
        Ok(Self { plan, standard_error, bias })
    }

    /// The root of the mean squared error for `people` people, if the bias is as large as it can be.
    pub fn error(&self, people: u64) -> f64 {
        self.standard_error.hypot(self.bias * people as f64)
    }
}

/// All ways to answer conjunctions of up to `width` literals whose bias is at most `bias` (none: inclusion and
/// exclusion alone), best first: by their error for `people` people, or, where their number is not known, by their bias
/// and then by their standard error. Inclusion and exclusion is always among them, unless it is too large.
///
/// ```
/// use scumble::quantity::Rho;
/// use scumble::workload::conjunctions::{Measure, BitLayout, candidates};
/// use scumble::workload::planner::RhoLimits;
/// let limits = RhoLimits { presence: Some(Rho::new(0.1)?), ..RhoLimits::default() };
/// let of = |people| candidates(&BitLayout::plain(50)?, 4, Some(0.1), Some(people), &Measure::ALL, &limits);
/// // Parities of up to four columns have no bias; for few people fewer numbers are better.
/// let (many, few) = (of(100_000)?.remove(0), of(300)?.remove(0));
/// assert!(many.plan.polynomial().is_exact() && few.plan.polynomial().degree() < 4);
/// assert_eq!(many.plan.measure(), Measure::Parities);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn candidates(
    shape: &BitLayout,
    width: usize,
    bias: Option<f64>,
    people: Option<u64>,
    measures: &[Measure],
    limits: &RhoLimits,
) -> Result<Vec<ConjunctionCandidate>> {
    let exact = Polynomial::exact(width)?;
    // Also says what is wrong with a bias.
    let near = bias.map_or(Ok(exact.clone()), |bias| Polynomial::chebyshev(width, bias))?;
    let mut polynomials = vec![exact];
    for degree in 1..width {
        let Some(bias) = bias else { break };
        let both = [Polynomial::minimax(width, degree)?, Polynomial::chebyshev_of(width, degree)?];
        polynomials.extend(both.into_iter().filter(|found| found.bias() <= bias));
    }
    let (mut found, mut refused) = (Vec::new(), None);
    for polynomial in polynomials {
        for &measure in measures {
            match ConjunctionPlan::within(limits, shape, polynomial.clone(), measure) {
                Ok(plan) => found.push(ConjunctionCandidate::new(plan)?),
                Err(error) => refused = Some(error),
            }
        }
    }
    if let (true, Some(error)) = (found.is_empty(), refused) {
        // The smallest one that was asked for says why.
        return Err(ConjunctionPlan::within(limits, shape, near, measures[0]).err().unwrap_or(error));
    }
    let key = |candidate: &ConjunctionCandidate| match people {
        Some(people) => (candidate.error(people), 0.0),
        None => (candidate.bias, candidate.standard_error),
    };
    found.sort_by(|left, right| {
        let (left, right) = (key(left), key(right));
        left.0.total_cmp(&right.0).then(left.1.total_cmp(&right.1))
    });
    Ok(found)
}
