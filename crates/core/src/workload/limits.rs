//! What many answers together may cost, scope by scope.

use super::people::People;
use crate::calibrate::{Target, least};
use crate::error::{Error, Result};
use crate::quantity::{Rho, Sigma};
use crate::scope::Scope;
use std::borrow::Borrow;

/// What a release may cost: ρ in each scope, none where nothing is demanded; and what is public anyway.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RhoLimits {
    /// When one person is added or removed.
    pub presence: Option<Rho>,
    /// When one person is replaced by another, or by one who is not in the table.
    pub person: Option<Rho>,
    /// When one person's value of one attribute changes, attribute by attribute (those beyond the end have no limit).
    pub attributes: Vec<Option<Rho>>,
    /// How many people there are, if everybody may know that: it is not measured then, costs nothing, and is what
    /// tables add up to.
    pub public_people: Option<u64>,
}

impl RhoLimits {
    /// The limit of one target in one scope: a ρ, for presence or person.
    ///
    /// ```
    /// use scumble::quantity::rho;
    /// use scumble::workload::planner::RhoLimits;
    /// use scumble::{Scope, Target};
    /// let limits = RhoLimits::of(Target::zcdp(rho(0.1)?), Scope::Person)?;
    /// assert_eq!(limits, RhoLimits { person: Some(rho(0.1)?), ..RhoLimits::default() });
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn of(target: Target, scope: impl Borrow<Scope>) -> Result<Self> {
        let (Target::Concentrated(rho) | Target::Truncated(rho, _)) = target else {
            refuse!("a limit is a rho, not {target}: use Target::zcdp")
        };
        match scope.borrow() {
            Scope::Presence => Ok(Self { presence: Some(rho), ..Self::default() }),
            Scope::Person => Ok(Self { person: Some(rho), ..Self::default() }),
            other => Err(Error::refused(format!(
                "one limit is for presence or person, not for {other}: give the limits of attributes one by one"
            ))),
        }
    }
}

/// The least sigma whose square is at least this variance.
pub(super) fn sigma_of(variance: f64) -> Result<Sigma> {
    Sigma::new(least(variance.sqrt(), |sigma| sigma * sigma >= variance))
}

/// Costs are brought this much below their limits, so that no rounding takes them above.
pub(super) const BELOW: f64 = 1.0 - 1e-9;

impl RhoLimits {
    /// How many people there are: public, or measured at this cost.
    pub(super) fn people(&self, rho: f64) -> Result<People> {
        match self.public_people {
            Some(people) => Ok(People::public(people)),
            None => People::new(Rho::new(rho)?),
        }
    }

    /// By which factor these costs are above the limits; none if there is no limit that they meet.
    pub(super) fn excess(&self, presence: f64, person: f64, attribute: impl Fn(usize) -> f64) -> Result<f64> {
        let ratio = |cost: f64, limit: Option<Rho>| limit.map_or(0.0, |limit| cost / limit.get());
        let attributes = self.attributes.iter().enumerate().map(|(j, limit)| match limit {
            None => 0.0,
            Some(_) => ratio(attribute(j), *limit),
        });
        let worst = attributes.fold(ratio(presence, self.presence).max(ratio(person, self.person)), f64::max);
        match worst {
            worst if worst > 0.0 && worst.is_finite() => Ok(worst / BELOW),
            _ => Err(Error::refused("marginals need a limit above 0 on their cost in some scope")),
        }
    }
}
