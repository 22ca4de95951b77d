//! Parities of bool columns: a solution of the linear equations of a sample of the owners, or nothing.

use super::{ALPHA, KIND, LearnRequest, LearntRule, Promise, plan};
use crate::error::{Error, Result};
use crate::kinds::mode::CHARGED;
use crate::project::{Cost, CostScope, Goal, Request};
use crate::release::output::BETA;
use crate::release::plan::{AnalysedRequest, Analysis, Plan, Price};
use crate::release::price::fitted::FittedCost;
use crate::release::rows::fields::quoted;
use crate::release::rows::records::Records;
use scumble::event::Event;
use scumble::learn::Example;
use scumble::learn::parity::{ParityHypothesis, ParityLearner};
use scumble::mechanism::smooth::OwnerSteps;
use scumble::quantity::{Beta, Epsilon};
use scumble::scope::AttributeSet;
use serde_json::json;
use std::rc::Rc;

/// Where all but one owner in a hundred million are looked at, a larger ε buys nothing.
const LARGEST: f64 = 20.0;

pub(crate) fn analysed(asked: LearnRequest, request: &Request) -> Result<AnalysedRequest> {
    asked.only_bools(request, "parity")?;
    let all = asked.all()?;
    Ok(AnalysedRequest::new(ParityAnalysis { asked: Rc::new(asked), all }))
}

/// A parity of columns.
struct ParityAnalysis {
    asked: Rc<LearnRequest>,
    /// What is read.
    all: AttributeSet,
}

impl Analysis for ParityAnalysis {
    type Mechanism = ParityLearner;

    fn at(&self, cost: &Cost) -> Result<Price<Self::Mechanism>> {
        if !matches!(cost.target, Goal::Epsilon(_)) {
            return Err(Error::input("a parity takes an epsilon, and no delta: write cost = { epsilon = … }"));
        }
        // An owner who comes, goes or is replaced is one step: the learner is made for the scope itself.
        let steps = OwnerSteps::one();
        let (learner, events) = FittedCost::new(KIND.name, cost, None)?.fit(&steps, |step| {
            let epsilon = step.epsilon.min(LARGEST);
            let learner = match cost.scope() {
                CostScope::Presence => ParityLearner::for_presence(Epsilon::new(epsilon)?)?,
                _ => ParityLearner::for_person(Epsilon::new(epsilon)?)?,
            };
            Ok((learner, learner.events(Some(&self.all))?))
        })?;
        Ok(Price { events, mechanism: learner })
    }

    fn plan(self: Rc<Self>, learner: ParityLearner, events: Vec<Event>) -> Result<Plan> {
        let asked = Rc::clone(&self.asked);
        let share = |quotient: scumble::event::Quotient| f64::from(quotient.parts().0) / f64::from(quotient.parts().1);
        let success = 100.0 * (1.0 - share(learner.give_up()));
        let owners = learner.rows_needed(ALPHA, Beta::new(BETA)?, asked.columns().len())?.ceil();
        let promise = Promise {
            about: format!("if some parity is always right, one is published with probability {success:.0}%"),
            notes: vec![
                format!(
                    "If some parity is always right, {owners} owners suffice: what is published then errs on at most 5% of the people they were drawn from, with probability 95%."
                ),
                format!(
                    "The cost is charged also if nothing is published; one wrong label in the {:.0}% of owners that are looked at may be the reason.",
                    100.0 * share(learner.keep())
                ),
            ],
            rule: json!({ "concept": "parity", "keep": learner.keep().to_string(), "give_up": learner.give_up().to_string(), "owners_for_5_percent": owners }),
        };
        plan(asked.clone(), promise, events, move |records, bits| {
            let rows = examples(&asked, records);
            let learnt = learner.release(&rows, asked.columns().len(), bits)?;
            let note = match &learnt {
                Some(_) => {
                    "This parity is right on every owner of a random sample; on others it may not be.".to_string()
                }
                None => format!(
                    "Nothing is published: no parity may be right on a sample of the owners, or it was given up by chance. {CHARGED}"
                ),
            };
            Ok(LearntRule { condition: learnt.map(|parity| condition(&asked, &parity)), notes: vec![note] })
        })
    }
}

fn examples(asked: &LearnRequest, records: &Records) -> Vec<Example> {
    let columns = &records.columns[..asked.domain.len()];
    let example = |record: usize| {
        let attributes: Vec<bool> = columns.iter().map(|column| column[record] == 1).collect();
        Example::new(&attributes, asked.is_positive(records, record))
    };
    (0..records.number()).map(example).collect()
}

fn condition(asked: &LearnRequest, parity: &ParityHypothesis) -> String {
    let term = |place: &usize| format!("CASE WHEN {} IS TRUE THEN 1 ELSE 0 END", quoted(&asked.columns()[*place]));
    match parity.attributes()[..] {
        [] => "FALSE".to_string(),
        ref places => format!("({}) % 2 = 1", places.iter().map(term).collect::<Vec<_>>().join(" + ")),
    }
}
