//! Kind `triangles`: how many triangles a graph has, with noise for what one edge can change near this graph rather
//! than in the worst one.

use crate::error::{Error, Result};
use crate::project::{Cost, Project, Request};
use crate::release::Kind;
use crate::release::field::{Field, PlacedValue, Word};
use crate::release::output::{AnswerColumn, Answers, BETA, Cell, Details, Uncertainty};
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, PlanSource, Price};
use crate::release::price::fitted::{FittedCost, Step, budget_delta};
use crate::release::price::smooth_noise;
use crate::release::price::smooth_noise::{FAMILY, SmoothNoise};
use crate::release::rows::graph::{Edges, FIELDS};
use scumble::calibrate::scale_for_pure;
use scumble::event::{Event, NoiseFamily};
use scumble::mechanism::bounded_sensitivity::BoundedSensitivity;
use scumble::mechanism::propose_test_release::ProposeTestRelease;
use scumble::mechanism::smooth::OwnerSteps;
use scumble::mechanism::triangles::{EdgeSensitivity, Graph};
use scumble::noise::BitSource;
use scumble::quantity::{Beta, Delta, Epsilon, Exact, Sensitivity as Most};
use scumble::{Scope, Target};
use serde_json::{Value, json};
use std::rc::Rc;

const METHOD: Field<Option<TriangleMethod>> = Field::new(
    "method",
    "`smooth` (noise for the graph's own sensitivity), `bounded` (publishes a bound of it too; needs a delta), `propose-test-release` (noise for `proposed`, or no answer; needs a delta) or `auto` (the default: smooth or bounded, by the plan's errors)",
);
const PROPOSED: Field<Option<PlacedValue<u64>>> = Field::new(
    "proposed",
    "for `propose-test-release`: how many triangles one edge may change; there is no answer near a graph where it changes more",
);
const COMMON: Field<Option<u64>> = Field::new(
    "common_neighbours",
    "about how many neighbours two vertices share at most, from public knowledge (default: 100); only the plan's errors and `auto` depend on it",
);

/// The number of common neighbours that is assumed by default.
const COMMON_DEFAULT: u64 = 100;
/// Which part of ε bounds the sensitivity, and which tests the proposed one.
const BOUND_SHARE: f64 = 0.2;
const TEST_SHARE: f64 = 0.5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TriangleMethod {
    Smooth,
    Bounded,
    Propose,
    Auto,
}

impl Word for TriangleMethod {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("smooth", Self::Smooth),
        ("bounded", Self::Bounded),
        ("propose-test-release", Self::Propose),
        ("auto", Self::Auto),
    ];

    fn unknown(word: &str) -> String {
        let names = Self::WORDS.iter().map(|(name, _)| *name);
        let hint = crate::place::suggestion(word, names.clone());
        format!("unknown method '{word}'{hint}; methods are: {}", names.collect::<Vec<_>>().join(", "))
    }
}

/// The kind `triangles`.
pub(crate) static KIND: Kind = Kind {
    name: "triangles",
    about: "the number of triangles of a graph; protects each edge, not each vertex",
    fields: &[FIELDS[0], METHOD.listed(), FAMILY.listed(), PROPOSED.listed(), COMMON.listed(), FIELDS[1]],
    analyse: |request, project| Ok(AnalysedRequest::new(TriangleRequest::new(request, project)?)),
    ..Kind::COMMON
};

impl Analysis for TriangleRequest {
    /// And the cost that it is compared at.
    type Mechanism = (TriangleMechanism, Cost);

    fn at(&self, cost: &Cost) -> Result<Price<Self::Mechanism>> {
        let (mechanism, events) = self.within(cost)?;
        Ok(Price { events, mechanism: (mechanism, cost.clone()) })
    }

    fn plan(self: Rc<Self>, (mechanism, cost): Self::Mechanism, events: Vec<Event>) -> Result<Plan> {
        let notes = vec![self.edges.note(), self.comparison(&cost)?];
        let standard_error = match &mechanism {
            TriangleMechanism::Propose(propose) => Some(propose.standard_error()),
            _ => None,
        };
        let expected = vec![ExpectedError::new("triangles", standard_error, self.about(&mechanism)?)];
        let (source, rule) = (PlanSource::edges(&self.edges), self.rule(&mechanism)?);
        let plan = Plan::new(source, events, rule, expected, move |charged| {
            let graph = charged.read(&self.edges)?;
            answers(&mechanism, &graph, self.edges.note(), charged.bits())
        });
        Ok(Plan { notes, ..plan })
    }
}

/// What was asked.
struct TriangleRequest {
    edges: Edges,
    method: TriangleMethod,
    /// Of smooth noise.
    family: NoiseFamily,
    /// The proposed sensitivity.
    proposed: Option<u64>,
    common: u64,
    budget_delta: Option<Exact>,
}

/// How the count is noised.
#[derive(Debug, Clone)]
enum TriangleMechanism {
    Smooth(SmoothNoise),
    Bounded(BoundedSensitivity),
    Propose(ProposeTestRelease),
}

impl TriangleRequest {
    fn new(request: &Request, project: &Project) -> Result<Self> {
        let edges = Edges::new(request, project)?;
        let method = METHOD.read(request)?.unwrap_or(TriangleMethod::Auto);
        let family = smooth_noise::family(request, method == TriangleMethod::Smooth)?;
        let proposed = PROPOSED.read(request)?;
        match (&proposed, method) {
            (None, TriangleMethod::Propose) => {
                return Err(METHOD.error(
                    request,
                    "propose-test-release needs 'proposed': how many triangles one edge may change, from public knowledge",
                ));
            }
            (Some(proposed), TriangleMethod::Propose) if proposed.value > EdgeSensitivity::most(edges.vertices()) => {
                return Err(proposed.error(format!(
                    "one edge of a graph of {} vertices changes at most {} triangles: propose less than that",
                    edges.vertices(),
                    EdgeSensitivity::most(edges.vertices())
                )));
            }
            (Some(proposed), method) if method != TriangleMethod::Propose => {
                return Err(proposed.error("a sensitivity is proposed only with method = \"propose-test-release\""));
            }
            _ => {}
        }
        let common = COMMON.read(request)?.unwrap_or(COMMON_DEFAULT).min(EdgeSensitivity::most(edges.vertices()));
        let proposed = proposed.map(|proposed| proposed.value);
        Ok(Self { edges, method, family, proposed, common, budget_delta: budget_delta(project) })
    }

    /// The mechanism that spends all of the cost and no more, and its events.
    fn within(&self, cost: &Cost) -> Result<(TriangleMechanism, Vec<Event>)> {
        let fitting = FittedCost::new(KIND.name, cost, self.budget_delta.as_ref())?;
        let by = |method: TriangleMethod| self.by(method, self.family, &fitting);
        match self.method {
            TriangleMethod::Auto if fitting.has_delta() => {
                let (smooth, bounded) = (by(TriangleMethod::Smooth)?, by(TriangleMethod::Bounded)?);
                let first = self.standard_error(&smooth.0)? <= self.standard_error(&bounded.0)?;
                Ok(if first { smooth } else { bounded })
            }
            TriangleMethod::Auto => by(TriangleMethod::Smooth),
            method => by(method),
        }
    }

    /// One of the methods at a cost; of smooth noise, this family.
    fn by(
        &self,
        method: TriangleMethod,
        family: NoiseFamily,
        fitting: &FittedCost<'_>,
    ) -> Result<(TriangleMechanism, Vec<Event>)> {
        match method {
            TriangleMethod::Bounded => fitting.needs_delta("a bounded sensitivity")?,
            TriangleMethod::Propose => fitting.needs_delta("propose-test-release")?,
            TriangleMethod::Smooth | TriangleMethod::Auto => smooth_noise::needs(family, fitting)?,
        }
        let steps = self.edges.steps()?;
        fitting.fit(&steps, |step| {
            let Step { epsilon, delta } = step;
            let parts = |share: f64| -> Result<(Target, Target)> {
                let first = share * epsilon;
                let rest = Target::pure(Epsilon::new(epsilon - first)?);
                Ok((Target::approximate(Epsilon::new(first)?, Delta::new(delta)?), rest))
            };
            Ok(match method {
                TriangleMethod::Bounded => {
                    let (bound, noise) = parts(BOUND_SHARE)?;
                    let bounded = BoundedSensitivity::within(bound, noise, Scope::Presence, &OwnerSteps::one())?;
                    let events = bounded.events(&steps)?;
                    (TriangleMechanism::Bounded(bounded), events)
                }
                TriangleMethod::Propose => {
                    let (test, noise) = parts(TEST_SHARE)?;
                    let (one, proposed) = (OwnerSteps::one(), self.proposed.unwrap_or(1));
                    let propose = ProposeTestRelease::within(test, noise, Scope::Presence, &one, proposed)?;
                    let events = propose.events(&steps)?;
                    (TriangleMechanism::Propose(propose), events)
                }
                TriangleMethod::Smooth | TriangleMethod::Auto => {
                    let most = EdgeSensitivity::most(self.edges.vertices());
                    let (noise, events) = SmoothNoise::within(family, step, most, &steps)?;
                    (TriangleMechanism::Smooth(noise), events)
                }
            })
        })
    }

    /// The standard error if no pair has more common neighbours than declared.
    fn standard_error(&self, mechanism: &TriangleMechanism) -> Result<f64> {
        let most = EdgeSensitivity::most(self.edges.vertices());
        Ok(match mechanism {
            TriangleMechanism::Smooth(noise) => noise.standard_error(|k| self.common.saturating_add(k).min(most)),
            TriangleMechanism::Bounded(bounded) => bounded.standard_error(self.common)?,
            TriangleMechanism::Propose(propose) => propose.standard_error(),
        })
    }

    fn about(&self, mechanism: &TriangleMechanism) -> Result<String> {
        let error = self.standard_error(mechanism)?;
        Ok(match mechanism {
            TriangleMechanism::Propose(propose) => format!(
                "the same for every answered graph; an answer has probability 95% if {} or more edges must change \
                    until one can change more than {} triangles",
                propose.published_from(Beta::new(BETA)?)?,
                self.proposed.unwrap_or(1)
            ),
            TriangleMechanism::Smooth(_) | TriangleMechanism::Bounded(_) => format!(
                "standard error about {error:.1} if two vertices have at most {} common neighbours (to change: \
                    common_neighbours); it is published with the answer",
                self.common
            ),
        })
    }

    /// What other methods would do, and noise for the worst graph.
    fn comparison(&self, cost: &Cost) -> Result<String> {
        let fitting = FittedCost::new(KIND.name, cost, self.budget_delta.as_ref())?;
        let error =
            |method: TriangleMethod, family: NoiseFamily| self.standard_error(&self.by(method, family, &fitting)?.0);
        let mut errors = vec![format!("smooth {:.1}", error(TriangleMethod::Smooth, NoiseFamily::Cauchy4)?)];
        if self.family != NoiseFamily::Cauchy4 {
            errors.push(format!("smooth by {} {:.1}", self.family.name(), error(TriangleMethod::Smooth, self.family)?));
        }
        if fitting.has_delta() {
            errors.push(format!("bounded {:.1}", error(TriangleMethod::Bounded, self.family)?));
        }
        let most = EdgeSensitivity::most(self.edges.vertices());
        let steps = self.edges.steps()?;
        let (worst, _) = fitting.fit(&steps, |step| {
            let scale = scale_for_pure(Epsilon::new(step.epsilon)?, Most::new(most as f64)?)?;
            Ok((crate::release::price::noise::Noise::laplace(scale).standard_deviation(), Vec::new()))
        })?;
        Ok(format!(
            "Standard errors at this cost, if two vertices have at most {} common neighbours: {}; noise for the worst graph of {} vertices: {worst:.0}.",
            self.common,
            errors.join(", "),
            self.edges.vertices()
        ))
    }

    fn rule(&self, mechanism: &TriangleMechanism) -> Result<Value> {
        let mut rule = self.edges.rule();
        let method = match mechanism {
            TriangleMechanism::Smooth(noise) => {
                let mut rule = noise.rule();
                rule["name"] = json!("smooth");
                rule
            }
            TriangleMechanism::Bounded(bounded) => json!({ "name": "bounded", "truncation": bounded.truncation() }),
            TriangleMechanism::Propose(propose) => {
                json!({ "name": "propose-test-release", "proposed": self.proposed, "certain_from": propose.certain_from() })
            }
        };
        rule["method"] = method;
        rule["common_neighbours"] = json!(self.common);
        Ok(rule)
    }
}

/// What is published. The count and its sensitivity are private until noise is on them.
fn answers(mechanism: &TriangleMechanism, graph: &Graph, note: String, bits: &mut dyn BitSource) -> Result<Answers> {
    let count = i64::try_from(graph.triangles()).map_err(|_| Error::machine("more triangles than 2^63"))?;
    let near = graph.sensitivity();
    let mut notes = vec![note];
    let mut columns = Vec::new();
    match mechanism {
        TriangleMechanism::Smooth(noise) => {
            let (value, bar) = noise.release(count, |k| near.at(k), bits)?;
            columns.push(number(Some(value), bar.standard_error, bar.half_width));
            notes.push(smooth_noise::NOTE.to_string());
        }
        TriangleMechanism::Bounded(bounded) => {
            let found = bounded.release(count, near.local(), bits)?;
            let (error, half) = (bounded.standard_error_of(&found)?, bounded.error_of(&found, Beta::new(BETA)?)?);
            columns.push(number(Some(found.value), error, half));
            columns.push(AnswerColumn::plain("sensitivity_bound", [Cell::Whole(i128::from(found.bound))]));
            notes.push(
                "One edge more or less changes at most sensitivity_bound triangles; the noise is for that.".into(),
            );
        }
        TriangleMechanism::Propose(propose) => {
            let found = propose.release(count, |k| near.at(k), bits)?;
            columns.push(number(found, propose.standard_error(), propose.error(Beta::new(BETA)?)?));
            notes.extend(found.is_none().then(|| {
                "There is no answer: the graph may be close to one where an edge changes more triangles than was proposed. It was charged all the same.".to_string()
            }));
        }
    }
    Ok(Answers { columns, notes, details: Details::default() })
}

/// The column of a number that may not have come.
fn number(value: Option<i64>, standard_error: f64, half: f64) -> AnswerColumn {
    let noisy = value.map_or((Cell::Null, Uncertainty::UNBOUNDED), |value| {
        (Cell::Whole(i128::from(value)), Uncertainty::around(value as f64, standard_error, half))
    });
    AnswerColumn::noisy("triangles", [noisy])
}
