//! What a release may cost, scope by scope: for kinds whose algorithms know what a single attribute costs.

use crate::budget::{Odometer, one_attribute, shown_delta};
use crate::error::{Error, Result};
use crate::place::suggestion;
use crate::project::{Cost, CostScope, Goal, Request};
use crate::release::field::{Field, NamedNumbers};
use scumble::calibrate::largest_rho;
use scumble::event::{Event, Moves, Touch};
use scumble::quantity::{Exact, Rho};
use scumble::scope::{AttributeSet, Scope};
use scumble::workload::planner::RhoLimits;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Different costs for different attributes.
pub(crate) const ATTRIBUTE_COSTS: Field<Option<NamedNumbers>> =
    Field::new("attribute_costs", "costs of single attributes, in the unit of `cost = { …, scope = \"attribute\" }`");

/// What an attribute was granted, and what it pays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttributeGrant {
    /// The attribute, or several with commas.
    pub attribute: String,
    /// In which unit.
    pub unit: String,
    /// What it may cost; none where that is infinite.
    pub granted: Option<f64>,
    /// What it costs; none where that is infinite.
    pub pays: Option<f64>,
}

/// Attributes with costs of their own.
pub(crate) struct Exceptions(Vec<(Scope, Exact)>);

impl Exceptions {
    /// No attribute has a cost of its own.
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// `attribute_costs = { name = number }`.
    pub fn read(request: &Request, names: &[String]) -> Result<Self> {
        let mut exceptions = Vec::new();
        let Some(NamedNumbers(costs)) = ATTRIBUTE_COSTS.read(request)? else { return Ok(Self(exceptions)) };
        if request.cost.scope() != CostScope::Attribute {
            let sentence = "attribute_costs need a cost per attribute: write cost = { …, scope = \"attribute\" }";
            return Err(ATTRIBUTE_COSTS.error(request, sentence));
        }
        for (name, cost) in costs {
            if !names.contains(&name) {
                let hint = suggestion(&name, names.iter().map(String::as_str));
                return Err(cost.error(format!("'{name}' is not among the columns of this release{hint}")));
            }
            if cost.value <= Exact::zero() {
                return Err(cost.error("an attribute that may cost nothing cannot be published: leave its column out"));
            }
            exceptions.push((one_attribute(&name)?, cost.value));
        }
        Ok(Self(exceptions))
    }
}

/// Gaussian noise has an ε only at some δ: that of the cost, or the smallest of any budget. `what` is what has the
/// noise.
pub(crate) fn delta_of_gaussian(cost: &Cost, budget: Option<&Exact>, what: &str) -> Result<Exact> {
    match (&cost.target, &cost.delta, budget) {
        (Goal::Epsilon(_), Some(delta), _) | (Goal::Epsilon(_), None, Some(delta)) => Ok(delta.clone()),
        (Goal::Epsilon(_), None, None) => Err(Error::input(format!(
            "{what} have Gaussian noise, whose epsilon needs a delta: write cost = {{ epsilon = …, delta = 1e-9 }} or {{ rho = … }}, or give the budget a delta"
        ))),
        _ => Ok(Exact::zero()),
    }
}

/// The limits that follow from a cost, each in its scope.
pub(crate) struct Allowance {
    notion: Notion,
    limits: Vec<(Scope, Exact)>,
}

/// The unit of the limits.
enum Notion {
    /// ε at this δ.
    Epsilon { delta: Exact },
    /// ρ, except for this δ.
    Rho { delta: Exact },
}

impl Allowance {
    /// What a cost allows to a release of `kind` for these attributes; ε is shown at `delta`.
    pub fn of(cost: &Cost, kind: &str, names: &[String], delta: Exact, exceptions: &Exceptions) -> Result<Self> {
        let (notion, number) = match &cost.target {
            Goal::Epsilon(epsilon) => (Notion::Epsilon { delta }, epsilon),
            Goal::Rho(rho) => (Notion::Rho { delta }, rho),
            Goal::Accuracy { .. } => {
                return Err(Error::input(format!(
                    "accuracy can be asked of COUNT and SUM; for kind {kind} give epsilon or rho"
                )));
            }
        };
        let mut limits = match cost.scope() {
            CostScope::Person => vec![(Scope::Person, number.clone())],
            CostScope::Presence => vec![(Scope::Presence, number.clone())],
            CostScope::Attribute => {
                let of = |name: &String| Ok::<_, Error>((one_attribute(name)?, number.clone()));
                names.iter().map(of).collect::<Result<_>>()?
            }
        };
        for (scope, number) in &exceptions.0 {
            limits.iter_mut().filter(|(other, _)| other == scope).for_each(|limit| limit.1 = number.clone());
        }
        Ok(Self { notion, limits })
    }

    /// What a single attribute may cost; none where the cost is not one per attribute.
    pub fn of_attribute(&self, name: &str) -> Option<&Exact> {
        let is_own = |scope: &Scope| matches!(scope, Scope::Attributes(set) if set.contains(name));
        self.limits.iter().find(|(scope, _)| is_own(scope)).map(|(_, limit)| limit)
    }

    /// Whether the events stay within every limit, by the ledger's own rule.
    pub fn admits(&self, events: &[Event]) -> Result<bool> {
        for (scope, limit) in &self.limits {
            let spent = Odometer::of(events, scope)?;
            let cost = match &self.notion {
                Notion::Epsilon { delta } => spent.epsilon(delta),
                Notion::Rho { delta } => spent.rho(delta),
            };
            if cost.is_none_or(|cost| cost > *limit) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What is charged, and what each attribute was granted and pays. Where an owner's rows move together, another
    /// value of any attribute costs what a person does, and only that may be more than the cost allows.
    pub fn charged(&self, events: Vec<Event>, names: &[String], move_together: bool) -> Result<(Vec<Event>, Value)> {
        let events = if move_together { any_attribute_as_person(&events, names)? } else { events };
        if !self.admits(&events)? {
            return Err(Error::input(
                "with several rows per owner each attribute is charged as a whole person: give the cost for scope = \"person\", or max_rows_per_owner = 1",
            ));
        }
        let granted = self.granted(&events)?;
        Ok((events, granted))
    }

    /// What each attribute was granted, and what it pays by the ledger's own rule; nothing where the cost is not one
    /// per attribute.
    pub fn granted(&self, events: &[Event]) -> Result<Value> {
        let mut granted = Vec::new();
        for (scope, limit) in &self.limits {
            let Scope::Attributes(set) = scope else { continue };
            let spent = Odometer::of(events, scope)?;
            let (unit, pays) = match &self.notion {
                Notion::Epsilon { delta } if *delta == Exact::zero() => ("epsilon".to_string(), spent.epsilon(delta)),
                Notion::Epsilon { delta } => (format!("epsilon at delta {}", shown_delta(delta)), spent.epsilon(delta)),
                Notion::Rho { delta } => ("rho".to_string(), spent.rho(delta)),
            };
            granted.push(AttributeGrant {
                attribute: set.iter().collect::<Vec<_>>().join(","),
                unit,
                granted: Some(limit.to_f64()),
                pays: pays.map(|pays| pays.to_f64_up()),
            });
        }
        Ok(json!(granted))
    }

    /// The limits in ρ, for releases with Gaussian noise.
    pub fn in_rho(&self, names: &[String]) -> Result<RhoLimits> {
        let mut limits = RhoLimits { attributes: vec![None; names.len()], ..RhoLimits::default() };
        for (scope, limit) in &self.limits {
            let rho = match &self.notion {
                Notion::Rho { .. } => limit.to_f64_down(),
                Notion::Epsilon { delta } => largest_rho(limit, delta)?.to_f64_down(),
            };
            let rho = Some(Rho::new(rho)?);
            match scope {
                Scope::Presence => limits.presence = rho,
                Scope::Attributes(set) => {
                    let own = names.iter().zip(&mut limits.attributes).filter(|(name, _)| set.contains(name));
                    own.for_each(|(_, limit)| *limit = rho);
                }
                _ => limits.person = rho,
            }
        }
        Ok(limits)
    }

    /// For each attribute the largest pure ε that could be within the limits: a place to start a search from.
    pub fn largest_epsilons(&self, names: &[String]) -> Vec<f64> {
        let epsilon = |limit: &Exact| match self.notion {
            Notion::Epsilon { .. } => limit.to_f64_down(),
            // ρ ≤ ε·tanh(ε/2), and hardly ever below a sixteenth of that.
            Notion::Rho { .. } => 8.0 * (limit.to_f64_down() + limit.to_f64_down().sqrt()),
        };
        let of = |name: &String| {
            let speaks = |scope: &Scope| !matches!(scope, Scope::Attributes(set) if !set.contains(name));
            self.limits
                .iter()
                .filter(|(scope, _)| speaks(scope))
                .map(|(_, limit)| epsilon(limit))
                .fold(f64::INFINITY, f64::min)
        };
        names.iter().map(of).collect()
    }
}

/// The same events where any change of an owner's attributes may change the whole record that counts: as that of a
/// person.
pub(crate) fn any_attribute_as_person(events: &[Event], names: &[String]) -> Result<Vec<Event>> {
    let all = AttributeSet::new(names.iter().cloned())?;
    let mut charged = Vec::new();
    for event in events {
        let (presence, person, ..) = event.moves().parts();
        if presence.is_empty() && person.is_empty() {
            continue;
        }
        if person.is_empty() {
            charged.push(event.clone());
            continue;
        }
        let touch = Touch { attributes: all.clone(), shifts: person.to_vec() };
        charged.push(event.clone().moving(Moves::by_scope(presence.to_vec(), person.to_vec(), vec![touch])));
    }
    Ok(charged)
}
