//! From a cost to mechanisms that are priced by the step between neighbours: what one step may cost, so that an owner
//! of several steps costs what was asked.

use crate::budget::{Odometer, own_share};
use crate::error::{Error, Result};
use crate::project::{Cost, Goal, Project};
use scumble::event::Event;
use scumble::mechanism::smooth::OwnerSteps;
use scumble::quantity::{Delta, Epsilon, Exact};
use scumble::{Scope, Target};

/// What one step may cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub epsilon: f64,
    /// 0 where the cost has none.
    pub delta: f64,
}

impl Step {
    /// The same as a target: an ε and a δ, perhaps of 0.
    pub fn target(&self) -> Result<Target> {
        Ok(Target::approximate(Epsilon::new(self.epsilon)?, Delta::new(self.delta)?))
    }
}

/// The cost of a release, as far as it does not depend on what is released.
pub(crate) struct FittedCost<'a> {
    epsilon: &'a Exact,
    /// The events' own δ may be this in all.
    delta: Exact,
    scope: Scope,
    kind: &'static str,
}

impl<'a> FittedCost<'a> {
    /// ε, and the δ of the cost or, where it has none, a hundredth of the smallest budget's, as for keys of a GROUP BY.
    pub fn new(kind: &'static str, cost: &'a Cost, budget_delta: Option<&Exact>) -> Result<Self> {
        let Goal::Epsilon(epsilon) = &cost.target else {
            return Err(Error::input(format!(
                "a release of kind {} takes an epsilon: write cost = {{ epsilon = …, delta = 1e-6 }}",
                kind
            )));
        };
        let delta = match (&cost.delta, budget_delta) {
            (Some(delta), _) => own_share(delta),
            (None, Some(delta)) => Exact::from_f64(delta.to_f64_down() / 100.0)?,
            (None, None) => Exact::zero(),
        };
        Ok(Self { epsilon, delta, scope: cost.scope().of_owners(), kind })
    }

    /// Whom the cost is about.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// ε and δ of the whole cost, for what is known beforehand.
    pub fn whole(&self) -> Step {
        Step { epsilon: self.epsilon.to_f64_down(), delta: self.delta.to_f64_down() }
    }

    /// Whether there is a δ.
    pub fn has_delta(&self) -> bool {
        self.delta > Exact::zero()
    }

    /// A refusal where there is none.
    pub fn needs_delta(&self, why: &str) -> Result<()> {
        if self.has_delta() {
            return Ok(());
        }
        Err(Error::input(format!(
            "{why} needs a delta: write cost = {{ epsilon = …, delta = 1e-6 }}, or give the budget a delta"
        )))
    }

    /// What is made with as much as each step may cost, and its events.
    ///
    /// # Guarantee
    /// What the events cost in the cost's scope, by the ledger's own rule and in exact arithmetic, is at most the cost.
    pub fn fit<M>(
        &self,
        steps: &OwnerSteps,
        make: impl Fn(Step) -> Result<(M, Vec<Event>)>,
    ) -> Result<(M, Vec<Event>)> {
        let shifts = steps.moves(1.0)?.shifts(&self.scope);
        let number = shifts.iter().map(|shift| shift.by.get()).fold(1.0, f64::max);
        let mut less = 1.0 - 1e-15;
        for _ in 0..48 {
            let epsilon = self.epsilon.to_f64_down() / number * less;
            // A group of k has δ·(e^{kε} − 1)/(e^ε − 1).
            let growth = if number == 1.0 { 1.0 } else { (epsilon * number).exp_m1() / epsilon.exp_m1() };
            let delta = self.delta.to_f64_down() / growth * less * (1.0 - 1e-9);
            let (made, events) = make(Step { epsilon, delta })?;
            let spent = Odometer::of(&events, &self.scope)?;
            if spent.pure_sum().is_some_and(|sum| sum <= *self.epsilon) && *spent.delta() <= self.delta {
                return Ok((made, events));
            }
            // Rounding has gone up somewhere: a little less will do.
            less = 1.0 - 2.0 * (1.0 - less);
        }
        Err(Error::input(format!("no release of kind {} fits this cost: raise epsilon or delta", self.kind)))
    }
}

/// The smallest δ of the project's budgets.
pub(crate) fn budget_delta(project: &Project) -> Option<Exact> {
    project.budget.smallest_delta()
}
