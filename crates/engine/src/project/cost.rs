//! What a release may cost, or how good it must be: from a project file, from a program, or from a flag.

use super::Request;
use super::section::{Section, Spot, positive};
use crate::error::{Error, Result};
use scumble::quantity::{Delta, Epsilon, Exact, Rho};
use scumble::scope::Scope;
use serde_json::{Map, Value, json};
use std::fmt;
use std::str::FromStr;

/// What a release may cost, or how good it must be. A cost that does not say its scope is in that of the project's
/// `cost_scope`, and without this in the scope `person`, the largest of all scopes.
///
/// ```
/// use scumble::quantity::{Delta, Epsilon};
/// use scumble_engine::project::Cost;
/// let cost = Cost::epsilon(Epsilon::new(0.5)?)?.with_delta(Delta::new(0.125)?)?;
/// assert_eq!("epsilon=0.5,delta=0.125".parse::<Cost>()?, cost);
/// // A number of a program is taken as it is, to the last bit; one in a text as it is written.
/// assert!("epsilon=0.1".parse::<Cost>()? != Cost::epsilon(Epsilon::new(0.1)?)?);
/// assert_eq!(cost.to_string(), "epsilon=0.5,delta=0.125");
/// assert!("rho=0".parse::<Cost>().is_err());
/// # Ok::<(), scumble_engine::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Cost {
    /// The number that decides the noise.
    pub target: Goal,
    /// δ, where the release needs one.
    pub delta: Option<Exact>,
    /// The scope of the cost, if it was given.
    pub(crate) said_scope: Option<CostScope>,
}

/// The number that decides the noise.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Goal {
    /// ε: discrete Laplace noise, or Gaussian where δ is given and that is better.
    Epsilon(Exact),
    /// ρ: discrete Gaussian noise.
    Rho(Exact),
    /// The noise of each number is at most `within`, with probability `confidence`; the cost is what that costs.
    Accuracy {
        /// How far off, in the unit of the column.
        within: f64,
        /// With which probability.
        confidence: f64,
    },
}

/// Whom a cost is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CostScope {
    /// One owner replaced: the largest cost of all scopes.
    Person,
    /// One owner added or removed.
    Presence,
    /// One value of one attribute of one owner replaced, whichever attribute: for kinds that know what an attribute
    /// costs.
    Attribute,
}

impl CostScope {
    const ALL: [(&str, Self); 3] =
        [("person", Self::Person), ("presence", Self::Presence), ("attribute", Self::Attribute)];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, scope)| *scope == self).map_or("", |(name, _)| *name)
    }

    /// Which neighbours noise is for that an owner moves as a whole: another value of an attribute moves it no further
    /// than another person does.
    pub(crate) fn of_owners(self) -> Scope {
        match self {
            Self::Person | Self::Attribute => Scope::Person,
            Self::Presence => Scope::Presence,
        }
    }
}

impl FromStr for CostScope {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|(own, _)| *own == name).map(|(_, scope)| scope);
        known.ok_or_else(|| Error::input("the scope of a cost is 'person', 'presence' or 'attribute'"))
    }
}

/// The scope of the costs that do not say one: `cost_scope = "presence"` at the top of a project file.
#[derive(Debug, Clone)]
pub(super) struct DefaultScope {
    scope: CostScope,
    said: Spot,
}

impl DefaultScope {
    /// None for `person`, which is what costs are about anyway: with that line every request stays what it was without
    /// it.
    ///
    /// `attribute` is refused: most kinds have no such cost, and a cost per attribute promises less about a person the
    /// more columns there are, which somebody should decide release by release. Every kind with a cost has one for
    /// presence.
    pub fn read(spot: &Spot) -> Result<Option<Self>> {
        match spot.text()? {
            "person" => Ok(None),
            "presence" => Ok(Some(Self { scope: CostScope::Presence, said: spot.clone() })),
            "attribute" => Err(spot.error(
                "cost_scope is 'person' or 'presence'; a cost per attribute stands in its release: scope = \"attribute\"",
            )),
            other => Err(spot.error(format!("cost_scope is 'person' or 'presence', not '{other}'"))),
        }
    }

    /// The cost, which says this scope if it said none. An accuracy has no scope: it decides the noise by itself, for
    /// every scope.
    pub fn of_cost(&self, cost: Cost) -> Cost {
        let says_one = cost.said_scope.is_some() || matches!(cost.target, Goal::Accuracy { .. });
        if says_one { cost } else { cost.about(self.scope) }
    }

    /// The request, whose cost says this scope if it said none.
    ///
    /// The fields say it too, as if it had been written there: charges remember them, and what was published is found
    /// again by them. So no answer is kept under a scope that it was not made for. An accuracy has no scope: it decides
    /// the noise by itself, whatever the scope.
    pub fn of_request(&self, request: Request) -> Request {
        let has_cost = request.fields.get("cost").is_some() && !matches!(request.cost.target, Goal::Accuracy { .. });
        if !has_cost || request.cost.said_scope.is_some() {
            return request;
        }
        let fields = request.fields.with_inner("cost", "scope", &self.said);
        Request { cost: self.of_cost(request.cost), fields, ..request }
    }
}

impl Cost {
    pub(super) fn of(target: Goal) -> Self {
        Self { target, delta: None, said_scope: None }
    }

    /// Whom the number is about. What a project says of it is in its requests already.
    pub fn scope(&self) -> CostScope {
        self.said_scope.unwrap_or(CostScope::Person)
    }

    /// What stands in the request of a kind that takes no cost; no plan of such a kind looks at it.
    pub(crate) fn nothing() -> Self {
        Self::of(Goal::Epsilon(Exact::zero()))
    }

    /// At most this ε, which is above 0.
    pub fn epsilon(epsilon: impl Into<Exact>) -> Result<Self> {
        above_zero(within_range(epsilon.into(), Epsilon::new)?).map(|epsilon| Self::of(Goal::Epsilon(epsilon)))
    }

    /// At most this ρ, which is above 0.
    pub fn rho(rho: impl Into<Exact>) -> Result<Self> {
        above_zero(within_range(rho.into(), Rho::new)?).map(|rho| Self::of(Goal::Rho(rho)))
    }

    /// Noise of each number that is at most `within`, with probability `confidence`.
    pub(crate) fn accuracy(section: &Section) -> Result<Self> {
        accuracy(section).map(Self::of)
    }

    /// The same with a δ. One of 0 is what a cost without δ has, but a request remembers that it was said.
    pub fn with_delta(self, delta: impl Into<Exact>) -> Result<Self> {
        Ok(Self { delta: Some(within_range(delta.into(), Delta::new)?), ..self })
    }

    /// The same about another scope than that of the project.
    pub fn about(self, scope: CostScope) -> Self {
        Self { said_scope: Some(scope), ..self }
    }

    /// A cost of its parts: exactly one of ε and ρ, with a δ and a scope where they were said.
    pub fn of_parts(
        epsilon: Option<Exact>,
        rho: Option<Exact>,
        delta: Option<Exact>,
        scope: Option<CostScope>,
    ) -> Result<Self> {
        let cost = match (epsilon, rho) {
            (Some(epsilon), None) => Self::epsilon(epsilon)?,
            (None, Some(rho)) => Self::rho(rho)?,
            _ => return Err(Error::input(ONE_TARGET)),
        };
        let cost = Self { said_scope: scope, ..cost };
        match delta {
            None => Ok(cost),
            Some(delta) => cost.with_delta(delta),
        }
    }

    /// The same for releases, to which a δ of 0 is none.
    pub(crate) fn without_zero_delta(self) -> Self {
        Self { delta: self.delta.filter(|delta| *delta > Exact::zero()), ..self }
    }

    /// As a project file has it.
    pub(crate) fn json(&self) -> Value {
        let mut said = Map::new();
        let target = match &self.target {
            Goal::Epsilon(epsilon) => ("epsilon", json!(epsilon.to_string())),
            Goal::Rho(rho) => ("rho", json!(rho.to_string())),
            Goal::Accuracy { within, confidence } => {
                ("accuracy", json!({ "within": within, "confidence": confidence }))
            }
        };
        said.insert(target.0.to_string(), target.1);
        if let Some(delta) = &self.delta {
            said.insert("delta".to_string(), json!(delta.to_string()));
        }
        if let Some(scope) = self.said_scope {
            said.insert("scope".to_string(), json!(scope.name()));
        }
        Value::Object(said)
    }
}

/// As flags have it: `epsilon=0.5`, `rho=0.05`, `epsilon=1,delta=1e-9` or `epsilon=1,scope=presence`.
impl FromStr for Cost {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::written(text, "--cost")
    }
}

impl Cost {
    /// The same, where what says the cost has another name than the flag.
    pub fn written(text: &str, name: &str) -> Result<Self> {
        let bad =
            || Error::input(format!("{name} '{text}' must be like epsilon=0.5, rho=0.05 or epsilon=1,delta=1e-9"));
        let (mut epsilon, mut rho, mut delta, mut said_scope) = (None, None, None, None);
        for part in text.split(',') {
            let (key, value) = part.split_once('=').ok_or_else(bad)?;
            let number = || value.trim().parse::<Exact>().map_err(|_| bad());
            let is_second = match key.trim() {
                "epsilon" => epsilon.replace(number()?).is_some(),
                "rho" => rho.replace(number()?).is_some(),
                "delta" => delta.replace(number()?).is_some(),
                "scope" => said_scope.replace(value.trim().parse::<CostScope>()?).is_some(),
                _ => return Err(bad()),
            };
            if is_second {
                return Err(bad());
            }
        }
        Self::of_parts(epsilon, rho, delta, said_scope)
    }
}

/// As flags have it: what is read back as the same cost.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Goal::Epsilon(epsilon) => write!(f, "epsilon={}", decimal(epsilon))?,
            Goal::Rho(rho) => write!(f, "rho={}", decimal(rho))?,
            // No flag has this; a project file does.
            Goal::Accuracy { within, confidence } => write!(f, "within={within},confidence={confidence}")?,
        }
        if let Some(delta) = &self.delta {
            write!(f, ",delta={}", decimal(delta))?;
        }
        match self.said_scope {
            None => Ok(()),
            Some(scope) => write!(f, ",scope={}", scope.name()),
        }
    }
}

/// A number with all of its digits; a small one with an exponent, as `1e-9`.
fn decimal(number: &Exact) -> String {
    /// More zeros than these after the point, and an exponent is shorter to read.
    const ZEROS: usize = 4;
    let text = number.to_string();
    let fraction = text.strip_prefix("0.").unwrap_or_default();
    let digits = fraction.trim_start_matches('0');
    let zeros = fraction.len() - digits.len();
    match digits.split_at_checked(1) {
        Some((first, rest)) if zeros > ZEROS => {
            let point = if rest.is_empty() { "" } else { "." };
            format!("{first}{point}{rest}e-{}", zeros + 1)
        }
        _ => text,
    }
}

const ONE_TARGET: &str = "a cost has exactly one of epsilon, rho and accuracy";

fn within_range<T>(number: Exact, quantity: fn(f64) -> scumble::Result<T>) -> Result<Exact> {
    quantity(number.to_f64())?;
    Ok(number)
}

fn above_zero(number: Exact) -> Result<Exact> {
    match number > Exact::zero() {
        true => Ok(number),
        false => Err(Error::input("a release that may cost nothing can publish nothing: give more than 0")),
    }
}

/// `{ epsilon = …, delta = … }`, `{ rho = … }` or `{ accuracy = { within = …, confidence = … } }`.
pub(crate) fn cost(section: &Section) -> Result<Cost> {
    section.only(&["epsilon", "delta", "rho", "accuracy", "scope"])?;
    let at = |spot: &Spot, made: Result<Cost>| made.map_err(|error| error.or_at(spot.place()));
    let delta = section.get("delta").map(|spot| Ok::<_, Error>((spot, spot.exact()?))).transpose()?;
    let target = match (section.get("epsilon"), section.get("rho"), section.get("accuracy")) {
        (Some(spot), None, None) => at(spot, Cost::epsilon(spot.exact()?))?,
        (None, Some(spot), None) => at(spot, Cost::rho(spot.exact()?))?,
        (None, None, Some(spot)) => Cost::accuracy(spot.section()?)?,
        _ => return Err(section.error(ONE_TARGET)),
    };
    let cost = match delta {
        Some((spot, delta)) => at(spot, target.with_delta(delta))?,
        None => target,
    };
    let scope = |spot: &Spot| spot.text()?.parse::<CostScope>().map_err(|error| error.or_at(spot.place()));
    let said_scope = section.get("scope").map(scope).transpose()?;
    Ok(Cost { said_scope, ..cost }.without_zero_delta())
}

fn accuracy(section: &Section) -> Result<Goal> {
    section.only(&["within", "confidence"])?;
    let within = positive(section.need("within")?)?;
    let spot = section.need("confidence")?;
    match spot.number()? {
        confidence if confidence > 0.0 && confidence < 1.0 => Ok(Goal::Accuracy { within, confidence }),
        _ => Err(spot.error("confidence must be a number in (0, 1)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_of_a_flag_is_that_of_a_project_file() {
        let file = |text: &str| {
            let file = crate::project::parse(crate::place::Origin::CommandLine, &format!("cost = {text}")).unwrap();
            cost(file.need("cost").unwrap().section().unwrap()).map_err(|error| error.to_string())
        };
        let flag = |text: &str| text.parse::<Cost>().map(Cost::without_zero_delta).map_err(|error| error.to_string());
        for (flag_text, file_text) in [
            ("epsilon=0.5", "{ epsilon = 0.5 }"),
            ("rho=0.05, delta = 1e-9", "{ rho = \"0.05\", delta = 1e-9 }"),
            ("epsilon=1,delta=0", "{ epsilon = 1, delta = 0 }"),
            ("epsilon=-1", "{ epsilon = -1 }"),
            ("epsilon=0", "{ epsilon = 0 }"),
            ("rho=0", "{ rho = 0 }"),
            ("epsilon=1,delta=2", "{ epsilon = 1, delta = 2 }"),
            ("epsilon=1,rho=2", "{ epsilon = 1, rho = 2 }"),
            ("delta=0.1", "{ delta = 0.1 }"),
            ("epsilon=1, scope = presence", "{ epsilon = 1, scope = \"presence\" }"),
            ("scope=person,rho=1,delta=1e-9", "{ rho = 1, delta = 1e-9, scope = \"person\" }"),
            ("epsilon=1,scope=attribute", "{ epsilon = 1, scope = \"attribute\" }"),
            ("epsilon=1,scope=everybody", "{ epsilon = 1, scope = \"everybody\" }"),
            ("scope=person", "{ scope = \"person\" }"),
        ] {
            assert_eq!(flag(flag_text), file(file_text), "{flag_text}");
        }
        for wrong in [
            "",
            "1",
            "epsilon",
            "epsilon=x",
            "epsilons=1",
            "epsilon=1,epsilon=2",
            "epsilon=1,scope=person,scope=person",
        ] {
            assert!(flag(wrong).unwrap_err().starts_with(&format!("--cost '{wrong}' must be like")), "{wrong}");
        }
    }

    #[test]
    fn a_cost_is_shown_as_flags_have_it() {
        for (text, shown) in [
            ("epsilon=0.10", "epsilon=0.1"),
            ("delta=0.000001, rho = 2", "rho=2,delta=1e-6"),
            ("scope=presence,epsilon=1,delta=1.25e-9", "epsilon=1,delta=1.25e-9,scope=presence"),
            ("epsilon=0.00001", "epsilon=0.00001"),
        ] {
            assert_eq!(text.parse::<Cost>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn a_cost_is_read_back_as_it_was_given() {
        for text in [
            "epsilon=0.1",
            "rho=0.123456789012345678901234567890,delta=1e-30",
            "epsilon=1,scope=person",
            "epsilon=1,scope=presence",
        ] {
            let given: Cost = text.parse().unwrap();
            assert_eq!(given.to_string().parse::<Cost>().unwrap(), given);
            let section = crate::project::given(given.json().as_object().unwrap());
            assert_eq!(cost(&section).unwrap(), given);
        }
    }
}
