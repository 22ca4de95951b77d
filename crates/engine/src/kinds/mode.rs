//! Kind `mode`: the most common value of a column, exactly, or nothing.

use crate::error::Result;
use crate::project::{Cost, Project, Request};
use crate::release::Kind;
use crate::release::field::{Field, PlacedValue};
use crate::release::output::{AnswerColumn, Answers, BETA, Cell, Details};
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, PlanSource, Price};
use crate::release::price::fitted::{FittedCost, budget_delta};
use crate::release::rows::records;
use crate::release::rows::records::{Attributes, Records};
use scumble::event::Event;
use scumble::mechanism::smooth::OwnerSteps;
use scumble::mechanism::stable_value::{KeyDomain, StableValue, mode};
use scumble::noise::BitSource;
use scumble::quantity::{Beta, Exact};
use scumble::scope::{AttributeSet, Scope};
use serde_json::json;
use std::rc::Rc;

const COLUMN: Field<PlacedValue<String>> =
    Field::new("column", "a category (listed or not), a bool, or an int with bounds");

/// The note if nothing is published.
pub(crate) const CHARGED: &str = "It was charged all the same: silence gives something away too.";

/// The kind `mode`.
pub(crate) static KIND: Kind = Kind {
    name: "mode",
    about: "the most common value of a column, exactly, if it leads by enough owners; otherwise nothing, at the same cost. Needs a delta",
    fields: &[records::FIELDS[0], COLUMN.listed(), records::FIELDS[2], records::FIELDS[3]],
    analyse,
    ..Kind::COMMON
};

fn analyse(request: &Request, project: &Project) -> Result<AnalysedRequest> {
    let column = COLUMN.read(request)?;
    let name = column.value.clone();
    let attributes = Attributes::of(vec![column], request, project, true, &["is_published"])?;
    let budget_delta = budget_delta(project);
    // One owner has one record: an owner who comes, goes or is replaced is one step, and so are other values of the
    // column.
    let steps = OwnerSteps::one().reading(AttributeSet::new([name])?);
    Ok(AnalysedRequest::new(ModeAnalysis { attributes, steps, budget_delta }))
}

/// The most common value of a column.
struct ModeAnalysis {
    attributes: Attributes,
    steps: OwnerSteps,
    budget_delta: Option<Exact>,
}

impl Analysis for ModeAnalysis {
    type Mechanism = StableValue;

    fn at(&self, cost: &Cost) -> Result<Price<StableValue>> {
        let fitting = FittedCost::new(KIND.name, cost, self.budget_delta.as_ref())?;
        fitting.needs_delta("a value that is published exactly")?;
        let fitted = fitting.fit(&self.steps, |step| {
            let stable = StableValue::within(step.target()?, Scope::Presence, &OwnerSteps::one())?;
            let events = stable.events(&self.steps)?;
            Ok((stable, events))
        });
        fitted.map(Price::from)
    }

    fn plan(self: Rc<Self>, stable: StableValue, events: Vec<Event>) -> Result<Plan> {
        let attributes = &self.attributes;
        // A lead of g owners is at least ⌊g/2⌋ replaced ones away from another mode.
        let lead = 2 * stable.published_from(Beta::new(BETA)?)?;
        let about = format!(
            "exact, or not published; published with probability 95% if it has {lead} owners more than any other value"
        );
        let expected = vec![ExpectedError::new(&attributes.names()[0], None, about)];
        let mut rule = attributes.rule();
        rule["lead_for_95_percent"] = json!(lead);
        let notes = vec![format!(
            "The cost is charged also if nothing is published; a lead of {lead} owners is enough, except with probability 5%."
        )];
        let plan = Plan::new(PlanSource::records(attributes), events, rule, expected, move |charged| {
            let records = charged.read(&self.attributes)?;
            let found = published(&self.attributes, &records, &stable, charged.bits())?;
            Ok(answers(&self.attributes, found))
        });
        Ok(Plan { notes, ..plan })
    }
}

/// The most common value, or nothing.
fn published(
    attributes: &Attributes,
    records: &Records,
    stable: &StableValue,
    bits: &mut dyn BitSource,
) -> Result<Option<Cell>> {
    let keys = if attributes.sizes()[0].is_some() { KeyDomain::Public } else { KeyDomain::Unknown };
    let mut counts = vec![0u64; records.values[0].len()];
    records.columns[0].iter().for_each(|code| counts[*code as usize] += 1);
    // Where nobody has a value there is none, at the distance 0, and the same number of bits is drawn.
    let (key, distance) = mode(&counts, keys).map_or((0, 0), |found| (found.key, found.person));
    let value = records.values[0].get(key).cloned().unwrap_or(Cell::Null);
    Ok(stable.release(value, distance, bits)?)
}

fn answers(attributes: &Attributes, found: Option<Cell>) -> Answers {
    let mut notes = vec![match &found {
        Some(_) => "This is the most common value, exactly; its count is not published.".to_string(),
        None => format!("Nothing is published: the most common value may not lead by enough. {CHARGED}"),
    }];
    notes.extend(attributes.note());
    let is_published = Cell::Truth(found.is_some());
    Answers {
        columns: vec![
            AnswerColumn::plain(&attributes.names()[0], [found.unwrap_or(Cell::Null)]),
            AnswerColumn::plain("is_published", [is_published]),
        ],
        notes,
        details: Details::default(),
    }
}
