//! Conjunctions: one noisy count for each condition, of the owners with label 1 who do not meet it.

use super::{ALPHA, LearnRequest, LearntRule, Promise, equals, fitted, plan};
use crate::error::Result;
use crate::project::{Cost, CostScope, Request};
use crate::release::output::{BETA, Cell};
use crate::release::plan::{AnalysedRequest, Analysis, Plan, Price};
use crate::release::price::noise::{Noise, described};
use crate::release::rows::fields::quoted;
use crate::release::rows::records;
use crate::release::rows::records::Records;
use scumble::event::{Event, Moves, Shift, Touch};
use scumble::learn::conjunction;
use scumble::quantity::Beta;
use scumble::scope::AttributeSet;
use serde_json::json;
use std::rc::Rc;

/// More conditions are refused.
const MOST_CONDITIONS: usize = 10_000;

/// A yes-or-no question about a record: a column, and the code that means yes.
pub(crate) type YesNoQuestion = (usize, u32);

/// A bool column is one question; any other has one for each of its values.
pub(crate) fn questions(asked: &LearnRequest) -> Vec<YesNoQuestion> {
    let mut questions = Vec::new();
    for (column, values) in asked.domain.iter().enumerate() {
        for (code, value) in values.iter().enumerate() {
            if !matches!(value, Cell::Null | Cell::Truth(false)) {
                questions.push((column, code as u32));
            }
        }
    }
    questions
}

/// What noise on all counts is: an event for presence and persons, and one for each attribute.
///
/// # Guarantee
/// d questions: an owner with label 1 fails exactly one of the two conditions of each, so that presence and the label
/// move d cells. Another value of a column changes the answers of at most two of its questions (of a bool, its one),
/// and each moves two cells; so a person moves d, or all that its columns move. A change of several columns moves the
/// sum of what each moves. Moves of one event are alternatives and the worst counts, so each column has an event of its
/// own, and those add up. Where one column's change may mean another record, every attribute is charged as a person.
pub(crate) fn events(asked: &LearnRequest, questions: &[YesNoQuestion], noise: &Noise) -> Result<Vec<Event>> {
    let moves = moves(asked, questions)?;
    if asked.attributes.move_together() {
        let (presence, person, ..) = moves.parts();
        let all = Touch { attributes: asked.all()?, shifts: person.to_vec() };
        return Ok(vec![noise.event(Moves::by_scope(presence.to_vec(), person.to_vec(), vec![all]))?]);
    }
    let mut events = vec![noise.event(moves)?];
    for (place, name) in asked.attributes.names().iter().enumerate() {
        let moved = of_attribute(asked, questions, place);
        let touch = Touch { attributes: AttributeSet::new([name.as_str()])?, shifts: vec![Shift::new(moved, 1.0)?] };
        events.push(noise.event(Moves::as_written(Vec::new(), Vec::new(), vec![touch]))?);
    }
    Ok(events)
}

/// How far the counts move when an owner comes, goes or is replaced.
fn moves(asked: &LearnRequest, questions: &[YesNoQuestion]) -> Result<Moves> {
    let d = questions.len() as u64;
    let person = (0..asked.domain.len()).map(|place| of_column(questions, place)).sum::<u64>().max(d);
    let cells = |cells: u64| Shift::new(cells, 1.0).map(|shift| vec![shift]);
    Ok(Moves::by_scope(cells(d)?, cells(person)?, Vec::new()))
}

/// How many cells another value of an attribute moves: of a column, or of the label, which comes behind them.
fn of_attribute(asked: &LearnRequest, questions: &[YesNoQuestion], place: usize) -> u64 {
    if place < asked.domain.len() { of_column(questions, place) } else { questions.len() as u64 }
}

/// How many cells another value of a column moves.
fn of_column(questions: &[YesNoQuestion], place: usize) -> u64 {
    let own = questions.iter().filter(|(column, _)| *column == place).count() as u64;
    2 * own.min(2)
}

/// The moves that the cost limits: for a cost per attribute the worst of any one attribute, which the calibration takes
/// for a person's.
fn limiting(asked: &LearnRequest, questions: &[YesNoQuestion], moves: &Moves, cost: &Cost) -> Result<Moves> {
    if cost.scope() != CostScope::Attribute || asked.attributes.move_together() {
        return Ok(moves.clone());
    }
    let places = 0..asked.attributes.names().len();
    let worst = places.map(|place| Shift::new(of_attribute(asked, questions, place), 1.0));
    Ok(Moves::as_written(Vec::new(), worst.collect::<std::result::Result<_, _>>()?, Vec::new()))
}

pub(crate) fn counts(asked: &LearnRequest, questions: &[YesNoQuestion], records: &Records) -> Vec<i64> {
    let mut counts = vec![0; 2 * questions.len()];
    for record in (0..records.number()).filter(|record| asked.is_positive(records, *record)) {
        for (place, (column, code)) in questions.iter().enumerate() {
            let is_yes = records.columns[*column][record] == *code;
            counts[2 * place + usize::from(is_yes)] += 1;
        }
    }
    counts
}

/// The conditions that are kept, as SQL.
fn condition(asked: &LearnRequest, questions: &[YesNoQuestion], literals: &[(usize, bool)]) -> String {
    let part = |(place, wanted): &(usize, bool)| {
        let (column, code) = questions[*place];
        let (name, values) = (&asked.columns()[column], &asked.domain[column]);
        let is = equals(name, values, &values[code as usize]);
        match (wanted, &values[code as usize]) {
            (true, _) => is,
            (false, Cell::Truth(_)) => format!("{} IS NOT TRUE", quoted(name)),
            (false, _) => format!("({is}) IS NOT TRUE"),
        }
    };
    match literals.is_empty() {
        true => "TRUE".to_string(),
        false => literals.iter().map(part).collect::<Vec<_>>().join(" AND "),
    }
}

pub(crate) fn analysed(asked: LearnRequest, request: &Request) -> Result<AnalysedRequest> {
    let questions = questions(&asked);
    if questions.is_empty() || questions.len() > MOST_CONDITIONS {
        let sentence = format!(
            "a conjunction is over 1 to {MOST_CONDITIONS} values of all columns together, not {}",
            questions.len()
        );
        return Err(records::COLUMNS.error(request, sentence));
    }
    let moves = moves(&asked, &questions)?;
    Ok(AnalysedRequest::new(ConjunctionAnalysis { asked: Rc::new(asked), questions: Rc::new(questions), moves }))
}

/// A conjunction of conditions that owners with the label fulfil.
struct ConjunctionAnalysis {
    asked: Rc<LearnRequest>,
    questions: Rc<Vec<YesNoQuestion>>,
    moves: Moves,
}

impl Analysis for ConjunctionAnalysis {
    type Mechanism = Noise;

    fn at(&self, cost: &Cost) -> Result<Price<Self::Mechanism>> {
        let Self { asked, questions, moves } = self;
        let noise = fitted(cost, &limiting(asked, questions, moves, cost)?, false)?.noises.remove(0);
        let events = events(asked, questions, &noise)?;
        Ok(Price { events, mechanism: noise })
    }

    fn plan(self: Rc<Self>, noise: Noise, events: Vec<Event>) -> Result<Plan> {
        let (asked, questions) = (Rc::clone(&self.asked), Rc::clone(&self.questions));
        let d = questions.len();
        let within = noise.maximum(2.0 * d as f64, Beta::new(BETA)?);
        let most = 4.0 * d as f64 * within;
        let owners = (most / ALPHA).ceil();
        let about = format!(
            "if some conjunction is always right, with probability 95% this one has all of its conditions and misses at most {most} owners with label 1"
        );
        let promise = Promise {
            about: about.clone(),
            notes: vec![format!("With {owners} owners that is at most 5% of them.")],
            rule: json!({ "concept": "conjunction", "conditions": 2 * d, "noise": described(&noise), "kept_up_to": within, "missed_at_most": most }),
        };
        let said = format!(
            "Of {} conditions, each is kept that hardly anybody with label 1 fails (a noisy count of at most \
                {within}): {about}.",
            2 * d
        );
        plan(asked.clone(), promise, events, move |records, bits| {
            let mut counts = counts(&asked, &questions, records);
            noise.add_to_all(&mut counts, bits);
            let answers: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
            let learnt = conjunction::kept(&answers, within);
            let mut notes = vec![said.clone()];
            if learnt.is_never() {
                notes.push("The conditions contradict each other, so that the rule is never true: too few owners have label 1.".to_string());
            }
            Ok(LearntRule { condition: Some(condition(&asked, &questions, learnt.literals())), notes })
        })
    }
}
