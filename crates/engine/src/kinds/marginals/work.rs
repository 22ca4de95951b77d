//! The methods, and which one it is.

use super::published::{Bar, MarginalsForm};
use super::{METHOD, PEOPLE, QUERIES, ROUNDS};
use crate::error::{Error, Result};
use crate::project::{CostScope, Request};
use crate::release::field::{PlacedValue, Word};
use scumble::event::Event;
use scumble::noise::BitSource;
use scumble::quantity::{Rho, Sigma};
use scumble::workload::mwem::Mwem;
use scumble::workload::planner::{self, Approach, PredictedError, RhoLimits};
use scumble::workload::projection::Projection;
use scumble::workload::psd::ColumnPairs;
use scumble::workload::residual::ResidualPlan;
use scumble::workload::{CountModel, Domain, People, Subset};
use serde_json::{Value, json};

/// Rounds of `mwem` where nothing says how many.
const USUAL_ROUNDS: u32 = 10;

/// A method that has been planned.
#[derive(Clone)]
pub(crate) enum MarginalsMethod {
    Residual(ResidualPlan),
    Projection(Projection, People),
    Mwem { mwem: Mwem, people: People, rounds: u32, queries: usize },
    Pairs(ColumnPairs),
}

/// What tables are wanted of.
pub(crate) struct Space<'a> {
    /// The product of all columns, where it is not too large.
    pub domain: Option<&'a Domain>,
    pub order: usize,
    /// How many columns there are, where all of them are binary and pairs are wanted.
    pub pairs: Option<usize>,
}

/// Which method, and why.
pub(crate) struct MethodChoice {
    pub method: Approach,
    pub why: String,
    /// What each method promises, best first; nothing where that was not asked.
    pub promises: Vec<PredictedError>,
}

/// What a release has measured and fitted.
pub(crate) struct FittedMarginals {
    /// The fitted table, where it is wanted.
    pub model: Option<CountModel>,
    /// The unbiased estimates of each table, where they are wanted and there are any.
    pub estimates: Option<Vec<Vec<f64>>>,
    /// How far the answers are at most from the exact projection.
    pub distance: Option<f64>,
}

/// A method, or the best.
#[derive(Clone, Copy)]
pub(crate) enum MethodWish {
    This(Approach),
    /// A few tables, chosen privately: see [`super::wide`].
    Chosen,
    Best,
}

impl Word for MethodWish {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("residual", Self::This(Approach::Residual)),
        ("projection", Self::This(Approach::Projection)),
        ("mwem", Self::This(Approach::Mwem)),
        ("psd", Self::This(Approach::Psd)),
        ("chosen", Self::Chosen),
        ("auto", Self::Best),
    ];

    fn unknown(word: &str) -> String {
        let names = Self::WORDS.iter().map(|(name, _)| *name);
        let hint = crate::place::suggestion(word, names.clone());
        format!("unknown method '{word}'{hint}; methods are: {}", names.collect::<Vec<_>>().join(", "))
    }
}

/// What a request says about the method.
pub(crate) struct Wishes {
    method: MethodWish,
    /// About how many people there are.
    people: Option<u64>,
    rounds: Option<PlacedValue<u64>>,
    queries: Option<PlacedValue<u64>>,
}

impl Wishes {
    pub fn read(request: &Request) -> Result<Self> {
        Ok(Self {
            people: PEOPLE.read(request)?,
            method: METHOD.read(request)?.unwrap_or(MethodWish::Best),
            rounds: ROUNDS.read(request)?,
            queries: QUERIES.read(request)?,
        })
    }
}

impl Wishes {
    /// Whether the method is to be `psd`.
    pub fn is_psd(&self) -> bool {
        matches!(self.method, MethodWish::This(Approach::Psd))
    }

    /// Whether it may be.
    pub fn may_be_psd(&self) -> bool {
        self.is_psd() || matches!(self.method, MethodWish::Best)
    }
}

impl MarginalsMethod {
    /// Plans the method that is wished for, or the best.
    pub fn choose(
        wishes: &Wishes,
        space: &Space<'_>,
        limits: &RhoLimits,
        scope: CostScope,
    ) -> Result<(Self, MethodChoice)> {
        let asked =
            |method| MethodChoice { method, why: "the project file asks for it".to_string(), promises: Vec::new() };
        let choice = match wishes.method {
            MethodWish::This(method) => asked(method),
            // 'chosen' never comes here.
            MethodWish::Best | MethodWish::Chosen => best(space, wishes.people, limits)?,
        };
        let order = space.order;
        let work = match (choice.method, space.domain, space.pairs) {
            (Approach::Psd, _, Some(columns)) => Self::Pairs(ColumnPairs::within(limits, columns)?),
            (Approach::Residual, Some(domain), _) => Self::Residual(planner::residual(domain, order, limits)?),
            (Approach::Projection, Some(domain), _) => {
                let (projection, people) = planner::projection(domain, order, limits)?;
                Self::Projection(projection, people)
            }
            (Approach::Mwem, Some(domain), _) => Self::rounds(wishes, domain, order, limits, scope)?,
            (method, ..) => {
                return Err(Error::input(format!("the method '{}' cannot make these tables", method.name())));
            }
        };
        for (name, wish) in [(ROUNDS.name, &wishes.rounds), (QUERIES.name, &wishes.queries)] {
            if let (Some(wish), false) = (wish, matches!(work, Self::Mwem { .. })) {
                let method = choice.method.name();
                return Err(wish.error(format!("'{name}' is for the method 'mwem', and this is '{method}'")));
            }
        }
        Ok((work, choice))
    }

    fn rounds(wishes: &Wishes, domain: &Domain, order: usize, limits: &RhoLimits, scope: CostScope) -> Result<Self> {
        // An attribute pays for one query per round, however many there are; a person pays for each.
        let per_attribute = scope == CostScope::Attribute;
        let most = (domain.attributes() / order).max(1);
        let whole = |wish: &PlacedValue<u64>, most: u64| match wish.value {
            number if number <= most => Ok(number),
            _ => Err(wish.error(format!("this must be a whole number from 1 to {most}"))),
        };
        let queries = match &wishes.queries {
            Some(wish) => whole(wish, most as u64)? as usize,
            None if per_attribute => most,
            None => 1,
        };
        let rounds = match (&wishes.rounds, wishes.people) {
            (Some(wish), _) => whole(wish, 10_000)? as u32,
            (None, Some(people)) => {
                let (trial, _) = planner::mwem(domain, order, 1, queries, limits)?;
                planner::rounds(domain, order, people, Rho::new(trial.rho(Subset::of(&[0])).get())?)
            }
            (None, None) => USUAL_ROUNDS,
        };
        let (mwem, people) = planner::mwem(domain, order, rounds, queries, limits)?;
        Ok(Self::Mwem { mwem, people, rounds, queries })
    }

    /// What it does to the data.
    pub fn events(&self, names: &[String]) -> Result<Vec<Event>> {
        let (mut events, people) = match self {
            Self::Residual(plan) => (plan.events(names)?, None),
            Self::Projection(projection, people) => (projection.events(names)?, Some(people)),
            Self::Mwem { mwem, people, .. } => (mwem.events(names)?, Some(people)),
            Self::Pairs(pairs) => (pairs.events(names)?, None),
        };
        if let Some(people) = people {
            events.extend(people.events()?);
        }
        Ok(events)
    }

    /// The parameters, to check the events by hand.
    pub fn rule(&self, names: &[String]) -> Value {
        match self {
            Self::Residual(plan) => {
                let sigma = |(set, sigma): &(Subset, Sigma)| {
                    let own: Vec<&String> = set.iter().filter_map(|attribute| names.get(attribute)).collect();
                    json!({ "attributes": own, "sigma": sigma.get() })
                };
                let residuals: Vec<Value> = plan.noise().iter().map(sigma).collect();
                json!({ "residuals": residuals, "public_people": plan.public_people() })
            }
            Self::Projection(projection, people) => {
                json!({ "answers": projection.queries().len(), "sigma": projection.sigma().get(), "people_sigma": people.sigma().map(Sigma::get) })
            }
            Self::Mwem { mwem, people, rounds, queries } => json!({
                "rounds": rounds, "queries_per_round": queries, "sigma": mwem.sigma().get(), "coefficient": mwem.coefficient(),
                "people_sigma": people.sigma().map(Sigma::get),
            }),
            Self::Pairs(pairs) => {
                let (people, single, pair) = pairs.noise();
                json!({ "people_sigma": people.sigma().map(Sigma::get), "column_sigma": single.get(), "pair_sigma": pair.get() })
            }
        }
    }

    /// The product of all columns, where there is one.
    pub fn domain(&self) -> Option<&Domain> {
        match self {
            Self::Residual(plan) => Some(plan.domain()),
            Self::Projection(projection, _) => Some(projection.queries().domain()),
            Self::Mwem { mwem, .. } => Some(mwem.queries().domain()),
            Self::Pairs(_) => None,
        }
    }

    /// How many tables there are, where they are not listed.
    pub fn tables(&self) -> Option<u64> {
        match self {
            Self::Pairs(pairs) => Some((pairs.columns() * (pairs.columns() + 1) / 2) as u64),
            _ => None,
        }
    }

    /// Measures, and fits where that is wanted.
    pub fn release(
        &self,
        counts: &[u64],
        people: u64,
        (tables, published): (&[Subset], MarginalsForm),
        bits: &mut dyn BitSource,
    ) -> Result<FittedMarginals> {
        let model = |domain: &Domain, cells: Vec<f64>| CountModel::new(domain.clone(), cells, tables.to_vec());
        match self {
            Self::Residual(plan) => {
                let measured = plan.release(counts, bits)?;
                let estimates = || tables.iter().map(|&table| measured.marginal(table)).collect();
                let model = published.has_model().then(|| measured.model()).transpose()?;
                let estimates = published.has_estimates().then(estimates).transpose()?;
                Ok(FittedMarginals { model, estimates, distance: None })
            }
            Self::Projection(projection, noisy) => {
                let people = noisy.release(people, bits);
                let projected = projection.release(counts, people, bits)?;
                let distance = published.has_model().then(|| projection.distance(projected.gap));
                let estimates = || tables.iter().map(|&table| projection.marginal(&projected.noisy, table)).collect();
                let estimates = published.has_estimates().then(estimates).flatten();
                let model = model(projection.queries().domain(), projected.cells)?;
                Ok(FittedMarginals { model: Some(model).filter(|_| published.has_model()), estimates, distance })
            }
            Self::Mwem { mwem, people: noisy, .. } => {
                let people = noisy.release(people, bits);
                let cells = mwem.release(counts, people, bits)?;
                Ok(FittedMarginals {
                    model: Some(model(mwem.queries().domain(), cells)?),
                    estimates: None,
                    distance: None,
                })
            }
            // Has columns of bits, and no table of counts: `pairs`.
            Self::Pairs(_) => Ok(FittedMarginals { model: None, estimates: None, distance: None }),
        }
    }

    /// How many people there are, where that is public.
    pub fn public_people(&self) -> Option<u64> {
        match self {
            Self::Residual(plan) => plan.public_people(),
            Self::Projection(_, people) | Self::Mwem { people, .. } => people.number(),
            Self::Pairs(pairs) => pairs.noise().0.number(),
        }
    }

    /// The error bar of each cell of the unbiased estimate of a table; none where there is no such estimate.
    pub fn bar(&self, table: Subset) -> Option<Bar> {
        let (variance, half_width) = match self {
            Self::Residual(plan) => (plan.cell_variance(table)?, plan.half_width(table)?),
            Self::Projection(projection, _) => (projection.cell_variance(table)?, projection.half_width(table)?),
            Self::Mwem { .. } | Self::Pairs(_) => return None,
        };
        Some(Bar { standard_error: variance.sqrt(), half_width })
    }
}

/// The method that promises the smallest error.
fn best(space: &Space<'_>, people: Option<u64>, limits: &RhoLimits) -> Result<MethodChoice> {
    let Some(domain) = space.domain else {
        let why = "the columns have too many combinations of values for the other methods";
        return Ok(MethodChoice { method: Approach::Psd, why: why.to_string(), promises: Vec::new() });
    };
    let Some(people) = people else {
        let why = "its error does not depend on the data; give 'people', about how many there are, to consider the \
            others too";
        return Ok(MethodChoice { method: Approach::Residual, why: why.to_string(), promises: Vec::new() });
    };
    let mut promises = planner::promises(domain, space.order, people, limits)?;
    if let Some(columns) = space.pairs {
        let pairs = ColumnPairs::within(limits, columns)?;
        // Where the projection changes hardly anything, the residual release has the same numbers and more.
        let promise = PredictedError { method: Approach::Psd, error: pairs.promised_error(people) };
        promises.extend(pairs.pays(people).then_some(promise));
        promises.sort_by(|left, right| left.error.total_cmp(&right.error));
    }
    let all: Vec<String> =
        promises.iter().map(|promise| format!("{} {:.3}", promise.method.name(), promise.error)).collect();
    let method = promises.first().map_or(Approach::Residual, |promise| promise.method);
    let why =
        format!("it promises the smallest error of a count of {people} people (root mean square): {}", all.join(", "));
    Ok(MethodChoice { method, why, promises })
}
