//! Kind `learn`: a rule that predicts a label from other columns, as SQL; or how the values of some columns are
//! distributed.
//!
//! Every owner has one record ([`crate::release::rows::records`]). What is counted of the records is a number of owners
//! for each combination of values and label, over a public domain; so no row can make it fail, and the number of owners
//! is used nowhere (for a distribution it is measured). Finite classes of rules (points, thresholds, halfspaces, lists)
//! are chosen from by the exponential mechanism over their mistakes; conjunctions, parities and robust halfspaces have
//! learners of their own.

use crate::error::{Error, Result};
use crate::project::{Cost, CostScope, Goal, Project, Request};
use crate::release::field::{Field, PlacedValue, Word};
use crate::release::output::{AnswerColumn, Answers, Cell, Details};
use crate::release::plan::{AnalysedRequest, ExpectedError, Plan, PlanSource};
use crate::release::price::allowance::ATTRIBUTE_COSTS;
use crate::release::price::needs;
use crate::release::price::noise::{Demand, calibrate};
use crate::release::rows::fields::quoted;
use crate::release::rows::records;
use crate::release::rows::records::Attributes;
use crate::release::rows::records::Records;
use crate::release::{CostAbout, Kind};
use scumble::event::{Event, Moves};
use scumble::scope::AttributeSet;
use serde_json::{Value, json};
use std::rc::Rc;

mod class;
mod conjunction;
mod distribution;
mod heavy;
mod list;
mod parity;
mod robust;

const CONCEPT: Field<Concept> = Field::new(
    "concept",
    "`point` (certain values), `threshold` (an int at least, or below, a number), `halfspace` (a weighted sum of bools), `robust-halfspace` (the same, at a cost for each column and the label), `conjunction` (all of some conditions), `parity` (an odd number of true bools), `list` (one of `rules`) or, without a label, `distribution` (the probability of each combination)",
);
const LABEL: Field<Option<PlacedValue<String>>> = Field::new(
    "label",
    "the predicted column: a bool, an int from 0 to 1, or a category with `positive`; needed except for `distribution`",
);
const POSITIVE: Field<Option<PlacedValue<String>>> = Field::new("positive", "the value of a category that counts as 1");
const RULES: Field<Option<Vec<PlacedValue<String>>>> =
    Field::new("rules", "for `list`: public conditions over the columns, as in WHERE");
const FLIPS: Field<Option<PlacedValue<u64>>> = Field::new(
    "flips",
    "for `robust-halfspace`: an owner counts against a rule that fewer than this many changed columns (default: 2) would make err",
);

/// What kind of rule is learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Concept {
    Point,
    Threshold,
    Halfspace,
    RobustHalfspace,
    Conjunction,
    Parity,
    List,
    Distribution,
}

impl Word for Concept {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("point", Self::Point),
        ("threshold", Self::Threshold),
        ("halfspace", Self::Halfspace),
        ("robust-halfspace", Self::RobustHalfspace),
        ("conjunction", Self::Conjunction),
        ("parity", Self::Parity),
        ("list", Self::List),
        ("distribution", Self::Distribution),
    ];

    fn unknown(_: &str) -> String {
        "the concept is 'point', 'threshold', 'halfspace', 'robust-halfspace', 'conjunction', 'parity', 'list' or 'distribution'"
            .to_string()
    }
}

/// The kind `learn`.
pub(crate) static KIND: Kind = Kind {
    name: "learn",
    about: "a rule that predicts a label from other columns, as SQL, without its number of mistakes; or the distribution of some columns",
    fields: &[
        records::FIELDS[0],
        CONCEPT.listed(),
        LABEL.listed(),
        POSITIVE.listed(),
        records::FIELDS[1],
        RULES.listed(),
        FLIPS.listed(),
        ATTRIBUTE_COSTS.listed(),
        records::FIELDS[2],
        records::FIELDS[3],
    ],
    cost_about: CostAbout::OwnersOrAttributes,
    analyse,
    label: Some(LABEL.name),
    ..Kind::COMMON
};

/// The names of the published columns.
const PUBLISHED: [&str; 2] = ["rule", "is_published"];
/// The share of mistakes for which the note gives the number of owners.
const ALPHA: f64 = 0.05;

/// The columns and the label of a request.
struct LearnRequest {
    /// The columns, then the label.
    attributes: Attributes,
    /// The public values of each column; nothing where one is missing.
    domain: Vec<Vec<Cell>>,
    /// The code of the label that counts as 1.
    positive: u32,
}

impl LearnRequest {
    fn read(request: &Request, project: &Project) -> Result<Self> {
        let mut columns = records::COLUMNS.read(request)?;
        if columns.is_empty() {
            return Err(records::COLUMNS.error(request, "give at least one column"));
        }
        let Some(label) = LABEL.read(request)? else {
            return Err(request.fields.error(format!(
                "release '{}' needs 'label', the column that is predicted; only the concept 'distribution' has none",
                request.name
            )));
        };
        columns.push(label.clone());
        let attributes = Attributes::of(columns, request, project, false, &PUBLISHED)?;
        let mut domain = attributes.domain();
        let labels = domain.pop().unwrap_or_default();
        let wanted = POSITIVE.read(request)?;
        let positive = match (&labels[..], &wanted) {
            ([Cell::Truth(_), ..], None) => Cell::Truth(true),
            ([Cell::Whole(0), Cell::Whole(1)] | [Cell::Whole(0), Cell::Whole(1), Cell::Null], None) => Cell::Whole(1),
            ([Cell::Text(_), ..], Some(value)) => Cell::Text(value.value.as_str().into()),
            ([Cell::Text(_), ..], None) => {
                return Err(
                    LABEL.error(request, "a label of type category needs 'positive', the value that counts as 1")
                );
            }
            (_, Some(value)) => return Err(value.error("'positive' is for a label of type category: leave it out")),
            _ => {
                let sentence = "a label is a bool, an int with the bounds 0 and 1, or a category with 'positive'";
                return Err(LABEL.error(request, sentence));
            }
        };
        let positive = labels.iter().position(|cell| *cell == positive).ok_or_else(|| match &wanted {
            Some(value) => value.error(format!("'{}' is not a value of the column '{}'", value.value, label.value)),
            None => LABEL.error(request, "the label has no value that counts as 1"),
        })?;
        Ok(Self { attributes, domain, positive: positive as u32 })
    }

    /// The columns without the label.
    fn columns(&self) -> &[String] {
        &self.attributes.names()[..self.domain.len()]
    }

    /// Everything that a rule reads.
    fn all(&self) -> Result<AttributeSet> {
        Ok(AttributeSet::new(self.attributes.names().iter().map(String::as_str))?)
    }

    /// A refusal unless all columns are of type bool.
    fn only_bools(&self, request: &Request, concept: &str) -> Result<()> {
        match self.domain.iter().all(|values| values[0] == Cell::Truth(false)) {
            true => Ok(()),
            false => Err(records::COLUMNS.error(request, format!("a {concept} is over columns of type bool"))),
        }
    }

    /// How labels that are neither 0 nor 1 count. Whether there are any is not published.
    fn other_labels(&self) -> Option<String> {
        let label = self.attributes.names().last()?;
        let is_whole = matches!(self.attributes.domain().last()?.first(), Some(Cell::Whole(_)));
        is_whole.then(|| {
            format!(
                "A number in '{label}' below 0 counts as 0 and one above 1 as 1; 'scumble check' says where one is."
            )
        })
    }

    /// Whether a record has label 1.
    fn is_positive(&self, records: &Records, record: usize) -> bool {
        records.columns[self.domain.len()][record] == self.positive
    }
}

fn analyse(request: &Request, project: &Project) -> Result<AnalysedRequest> {
    let concept = CONCEPT.read(request)?;
    if (RULES.read(request)?.is_some()) != (concept == Concept::List) {
        return Err(CONCEPT.error(request, "'rules' are for the concept 'list', which needs them"));
    }
    let is_robust = concept == Concept::RobustHalfspace;
    if FLIPS.read(request)?.is_some() && !is_robust {
        return Err(FLIPS.error(request, "'flips' is for the concept 'robust-halfspace': leave it out"));
    }
    if ATTRIBUTE_COSTS.read(request)?.is_some() && !is_robust {
        let sentence = "attribute_costs are for the concept 'robust-halfspace': leave them out";
        return Err(ATTRIBUTE_COSTS.error(request, sentence));
    }
    let asked = || LearnRequest::read(request, project);
    let chosen = |class: fn(&LearnRequest, &Request) -> Result<class::RuleClass>| {
        let asked = asked()?;
        class::analysed(class(&asked, request)?, asked)
    };
    match concept {
        Concept::Distribution => distribution::analysed(request, project),
        Concept::Conjunction => conjunction::analysed(asked()?, request),
        Concept::Parity => parity::analysed(asked()?, request),
        Concept::Point if request.cost.scope() == CostScope::Attribute => heavy::analysed(asked()?),
        Concept::Point => chosen(class::points),
        Concept::Threshold => chosen(class::thresholds),
        Concept::Halfspace => chosen(class::halfspaces),
        Concept::RobustHalfspace => robust::analysed(asked()?, request),
        Concept::List => {
            let (asked, rules) = (asked()?, RULES.read(request)?.unwrap_or_default());
            class::analysed(list::class(&asked, &rules, request, project)?, asked)
        }
    }
}

/// What the calibration gives for one thing that moves so: as noise on counts, or as the range of a choice.
fn fitted(cost: &Cost, moves: &Moves, is_choice: bool) -> Result<crate::release::price::noise::CalibratedNoise> {
    if is_choice && matches!(cost.target, Goal::Accuracy { .. }) {
        return Err(Error::input("the accuracy of a rule cannot be asked for: give epsilon or rho"));
    }
    let moves = std::slice::from_ref(moves);
    let (counts, choices) = if is_choice { (&[][..], moves) } else { (moves, &[][..]) };
    let steps: &[Option<f64>] = if is_choice { &[] } else { &[Some(1.0)] };
    calibrate(cost, &Demand { moves: counts, steps, quantiles: choices, ..Demand::default() })
}

/// Of no more combinations of values than this something is held at once.
const MOST_HELD: u64 = 1_000_000;

/// The promise about a rule, made before it is learnt.
struct Promise {
    /// How well it does, in words.
    about: String,
    /// Sentences for the plan.
    notes: Vec<String>,
    /// For the ledger.
    rule: Value,
}

/// The plan of one learner: `learn` gives the rule and what a reader should know, or nothing.
fn plan(
    asked: Rc<LearnRequest>,
    promise: Promise,
    events: Vec<Event>,
    learn: impl Fn(&Records, &mut dyn scumble::noise::BitSource) -> Result<LearntRule> + 'static,
) -> Result<Plan> {
    let expected = vec![ExpectedError::new("rule", None, promise.about)];
    // What was promised when it was planned stands beside what was learnt.
    let mut notes = promise.notes;
    notes.extend(asked.other_labels());
    let promised = notes.clone();
    let mut rule = promise.rule;
    rule["records"] = asked.attributes.rule();
    rule["positive"] = json!(asked.positive);
    let source = PlanSource::records(&asked.attributes);
    let source = source.holding(asked.attributes.memory_of_combinations(MOST_HELD, 4 * needs::NUMBER));
    let plan = Plan::new(source, events, rule, expected, move |charged| {
        let records = charged.read(&asked.attributes)?;
        let mut learnt = learn(&records, charged.bits())?;
        learnt.notes.extend(promised.clone());
        Ok(answers(&asked, learnt))
    });
    Ok(Plan { notes, ..plan })
}

/// What was learnt.
struct LearntRule {
    /// The condition under which the label is predicted to be 1, as SQL.
    condition: Option<String>,
    notes: Vec<String>,
}

fn answers(asked: &LearnRequest, learnt: LearntRule) -> Answers {
    let is_published = learnt.condition.is_some();
    let rule = learnt.condition.map(|condition| format!("CASE WHEN {condition} THEN 1 ELSE 0 END"));
    let mut notes = learnt.notes;
    notes.push("Applying the rule to any rows costs nothing more: it is published.".to_string());
    notes.extend(asked.attributes.note());
    Answers {
        columns: vec![
            AnswerColumn::plain(PUBLISHED[0], [rule.map_or(Cell::Null, |text| Cell::Text(text.into()))]),
            AnswerColumn::plain(PUBLISHED[1], [Cell::Truth(is_published)]),
        ],
        notes,
        details: Details::default(),
    }
}

/// A text as SQL quotes it.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The condition that a column has a value. Numbers beyond the bounds count as the bound, and so do they here.
fn equals(name: &str, values: &[Cell], value: &Cell) -> String {
    let name = quoted(name);
    let whole: Vec<i128> =
        values.iter().filter_map(|cell| if let Cell::Whole(n) = cell { Some(*n) } else { None }).collect();
    match value {
        Cell::Truth(true) => format!("{name} IS TRUE"),
        Cell::Truth(false) => format!("{name} IS FALSE"),
        Cell::Whole(number) if Some(number) == whole.first() => format!("{name} <= {number}"),
        Cell::Whole(number) if Some(number) == whole.last() => format!("{name} >= {number}"),
        Cell::Text(text) => format!("{name} = {}", literal(text)),
        other => format!("{name} = {}", other.text()),
    }
}

#[cfg(test)]
mod tests;
