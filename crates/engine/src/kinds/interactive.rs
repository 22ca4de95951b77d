//! Kind `interactive`: many questions, one after the other, each chosen after seeing the answers before it
//! (`scumble ask`).
//!
//! A round is charged when it opens, before a row is read; its questions are answered by a public model until one is
//! measured, which ends it. This file says what an interactive release costs and promises;
//! [`ask`](crate::release::run::ask) asks.

use crate::error::{Error, Result};
use crate::project::{Cost, CostScope, Goal, Project, Request};
use crate::release::field::{Field, PlacedValue};
use crate::release::output::BETA;
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, PlanSource, Price};
use crate::release::price::fitted::FittedCost;
use crate::release::price::needs;
use crate::release::rows::fields::private_table;
use crate::release::rows::records;
use crate::release::rows::universe::Universe;
use crate::release::{Kind, Publication};
use scumble::Scope;
use scumble::event::Event;
use scumble::mechanism::smooth::OwnerSteps;
use scumble::quantity::{Beta, Epsilon};
use scumble::workload::interactive::{InteractivePlan, direct_error, histogram_error};
use serde_json::json;
use std::rc::Rc;

/// The word in project files and in the ledger.
pub(crate) const NAME: &str = "interactive";

const QUESTIONS: Field<Option<u64>> = Field::new(
    "questions",
    "how many questions have a promised error (default: 1000); the model answers later ones, unchecked",
);
const UPDATES: Field<Option<PlacedValue<u64>>> = Field::new(
    "updates",
    "how often the model may learn, which spreads the cost; by default the number with the smallest expected error",
);
const PEOPLE: Field<Option<PlacedValue<u64>>> = Field::new(
    "people",
    "how many owners there are, from public knowledge; needed unless the table has `public_owners`. If wrong, intervals still hold, but the model learns more slowly",
);

/// The kind `interactive`.
pub(crate) static KIND: Kind = Kind {
    name: NAME,
    about: "how many owners fulfil a condition, for many conditions asked one by one with `scumble ask`: a model answers, and learns where it is far off. Each round is charged when it opens",
    fields: &[
        records::FIELDS[0],
        records::FIELDS[1],
        QUESTIONS.listed(),
        UPDATES.listed(),
        PEOPLE.listed(),
        records::FIELDS[2],
        records::FIELDS[3],
    ],
    analyse: |request, project| Ok(AnalysedRequest::new(InteractiveRequest::read(request, project)?)),
    publishes: Publication::Rounds,
    ..Kind::COMMON
};

/// The number of questions that is planned for by default.
const USUAL_QUESTIONS: u64 = 1000;
/// The names of the published columns.
pub(crate) const PUBLISHED: [&str; 3] = ["question", "answer", "how"];

/// What is declared.
pub(crate) struct InteractiveRequest {
    pub universe: Universe,
    pub questions: u64,
    updates: Option<PlacedValue<u64>>,
    people: u64,
}

/// What can be asked at a cost.
pub(crate) struct OpenedInteractive {
    pub declared: Rc<InteractiveRequest>,
    pub plan: InteractivePlan,
    /// What a round costs.
    pub round: Vec<Event>,
}

impl Analysis for InteractiveRequest {
    /// And the cost that it was made for.
    type Mechanism = (InteractivePlan, Cost);

    fn at(&self, cost: &Cost) -> Result<Price<Self::Mechanism>> {
        let (plan, events) = self.fitted(cost)?;
        Ok(Price { events, mechanism: (plan, cost.clone()) })
    }

    fn plan(self: Rc<Self>, (plan, cost): Self::Mechanism, events: Vec<Event>) -> Result<Plan> {
        let promise = plan.promise();
        let (error, rounds, people) = (promise.error, plan.updates(), self.people);
        let about = format!(
            "with probability 95% each of {} answers is within {error} of {people} owners, measured ones within {}; \
                up to {rounds} rounds are charged",
            self.questions, promise.slack_answer
        );
        let mut notes = vec![self.recommended(error as f64, &cost)?];
        if promise.threshold >= people {
            notes.insert(0, format!(
                "Hardly anything will be learnt: an answer of the model may be off by {error}, and there are {people} owners. Raise epsilon, or ask fewer questions."
            ));
        }
        let (attributes, cells) = (&self.universe.attributes, self.universe.domain.cells() as u64);
        let rule = json!({
            "records": attributes.rule(), "cells": cells, "owners": people,
            "questions": self.questions, "rounds": rounds, "threshold": promise.threshold, "error": error,
            "measured_error": promise.slack_answer,
            "round": {
                "threshold": promise.epsilon_threshold.get(), "test": promise.epsilon_question.get(),
                "measure": promise.epsilon_answer.get()
            },
        });
        let source = PlanSource::records(attributes).holding(cells.saturating_mul(6 * needs::NUMBER));
        let plan = Plan::new(source, events, rule, vec![ExpectedError::new("answer", None, about)], |_| {
            // Not reached: a runner refuses to release it.
            Err(Error::machine("an interactive release is asked, not computed"))
        });
        Ok(Plan { notes, ..plan })
    }
}

/// The same, to be asked.
pub(crate) fn opened(request: &Request, project: &Project) -> Result<OpenedInteractive> {
    let read = || {
        let declared = Rc::new(InteractiveRequest::read(request, project)?);
        let (plan, _) = declared.fitted(&request.cost)?;
        let round = plan.events_of_round(&declared.universe.read()?)?;
        Ok(OpenedInteractive { declared, plan, round })
    };
    read().map_err(|error: Error| error.or_at(request.fields.place()))
}

impl InteractiveRequest {
    fn read(request: &Request, project: &Project) -> Result<Self> {
        let universe = Universe::new(request, project, &PUBLISHED)?;
        let public = private_table(request, project)?.public_owners;
        let people = PEOPLE.read(request)?.map(|people| people.value).or(public).ok_or_else(|| {
            request.fields.error(format!(
                "release '{}' of kind interactive needs 'people', how many owners there are, from public knowledge, or public_owners in its table",
                request.name
            ))
        })?;
        let questions = QUESTIONS.read(request)?.unwrap_or(USUAL_QUESTIONS);
        Ok(Self { universe, questions, updates: UPDATES.read(request)?, people })
    }

    /// All rounds within a cost, and what they cost together.
    fn fitted(&self, cost: &Cost) -> Result<(InteractivePlan, Vec<Event>)> {
        let attributes = self.universe.read()?;
        let cells = self.universe.domain.cells() as u64;
        FittedCost::new(KIND.name, cost, None)?.fit(&OwnerSteps::one().reading(attributes.clone()), |step| {
            let (target, beta) = (step.target()?, Beta::new(BETA)?);
            let Self { people, questions, .. } = *self;
            let plan = match &self.updates {
                Some(PlacedValue { value, place }) => {
                    InteractivePlan::within(target, Scope::Presence, cells, people, questions, *value, beta)
                        .map_err(|error| Error::from(error).or_at(place.clone()))?
                }
                None => InteractivePlan::best_within(target, Scope::Presence, cells, people, questions, beta)?,
            };
            let events = plan.events(&attributes)?;
            Ok((plan, events))
        })
    }

    /// What noise on every answer, and a noisy table of everything, would promise at the same cost; and which is
    /// better.
    fn recommended(&self, error: f64, cost: &Cost) -> Result<String> {
        let Goal::Epsilon(epsilon) = &cost.target else { return Ok(String::new()) };
        let epsilon = epsilon.to_f64_down();
        let direct = direct_error(Epsilon::new(epsilon)?, self.questions, Beta::new(BETA)?)?;
        // One owner who comes or goes moves one cell, one who is replaced two.
        let cells = self.universe.domain.cells() as u64;
        let scoped = if cost.scope() == CostScope::Presence { 2.0 * epsilon } else { epsilon };
        let everything = histogram_error(cells, Epsilon::new(scoped)?, self.questions, Beta::new(BETA)?)?;
        let (questions, each) = (self.questions, epsilon / self.questions as f64);
        let others = format!(
            "noise on each of {questions} answers (kind sql at epsilon {each:.3e} each) promises {direct:.0}, and a noisy count of all {cells} combinations, from which any question is answered (kind histogram), {everything:.0}"
        );
        Ok(match error <= direct.min(everything) {
            true => format!("At this cost {others}: more than the {error:.0} of these interactive questions."),
            false => format!(
                "Recommended instead: at this cost {others}; interactive questions promise {error:.0}. They are for \
                    questions that are not known beforehand; for known ones, kind marginals with method 'mwem' is \
                    better too."
            ),
        })
    }
}
