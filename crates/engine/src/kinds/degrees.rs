//! Kind `degrees`: how many vertices of a graph have how many edges, without the vertices.
//!
//! It is the anonymized histogram of the ends of edges: an edge is two elements, one of each of its vertices.

use super::anonymized_histogram::{AT_MOST, LAYOUT, answers, expected, of_layout, within};
use crate::attackers::ReleasedStatistic;
use crate::error::Result;
use crate::project::{Cost, Project, Request};
use crate::release::output::Answers;
use crate::release::plan::{AnalysedRequest, Analysis, Plan, Price};
use crate::release::rows::graph::{Edges, FIELDS};
use crate::release::{CostAbout, Kind};
use scumble::event::Event;
use scumble::mechanism::anonymized_histogram::{AnonymizedHistogram, ElementCount, LayoutChoice, Partition};
use scumble::quantity::Epsilon;
use scumble::scope::AttributeSet;
use serde_json::json;
use std::rc::Rc;

/// The kind `degrees`.
pub(crate) static KIND: Kind = Kind {
    name: "degrees",
    about: "how many vertices of a graph have how many edges, without the vertices; protects each edge, not each vertex",
    fields: &[FIELDS[0], AT_MOST.listed(), LAYOUT.listed(), FIELDS[1]],
    cost_about: CostAbout::Owners,
    analyse,
    ..Kind::COMMON
};

fn analyse(request: &Request, project: &Project) -> Result<AnalysedRequest> {
    let edges = Edges::new(request, project)?;
    let public = project.table(edges.table())?.public_owners.map(|owners| owners.saturating_mul(edges.per_owner()));
    // Two ends of each edge.
    let most = AT_MOST.read(request)?.or(public).map(|edges| edges.saturating_mul(2));
    let size = most.map_or(ElementCount::Private, ElementCount::AtMost);
    let layout = LAYOUT.read(request)?.unwrap_or(LayoutChoice::Automatic);
    let attributes = edges.attributes()?;
    Ok(AnalysedRequest::new(DegreesAnalysis { edges: Rc::new(edges), attributes, size, layout }))
}

/// The degrees of a graph's vertices.
struct DegreesAnalysis {
    edges: Rc<Edges>,
    attributes: AttributeSet,
    size: ElementCount,
    layout: LayoutChoice,
}

impl Analysis for DegreesAnalysis {
    type Mechanism = AnonymizedHistogram;

    fn at(&self, cost: &Cost) -> Result<Price<AnonymizedHistogram>> {
        let elements = self.edges.per_owner().saturating_mul(2);
        let (mechanism, events) = within(cost, elements, (self.size, self.layout), &self.attributes)?;
        Ok(Price { events, mechanism })
    }

    fn plan(self: Rc<Self>, mechanism: AnonymizedHistogram, events: Vec<Event>) -> Result<Plan> {
        plan(Rc::clone(&self.edges), mechanism, events)
    }
}

fn plan(edges: Rc<Edges>, mechanism: AnonymizedHistogram, events: Vec<Event>) -> Result<Plan> {
    let mut rule = edges.rule();
    rule["epsilon_per_element"] = json!(mechanism.epsilon_per_element().get());
    rule["epsilon_for_size"] = json!(mechanism.epsilon_for_size().map(Epsilon::get));
    Ok(Plan {
        events,
        rule,
        expected: vec![expected(&mechanism)],
        notes: vec![edges.note()],
        // The hardest histograms known are no degrees of a graph of so many vertices.
        limits: Vec::new(),
        counted: ReleasedStatistic::default(),
        estimates: edges.estimates(),
        memory: edges.memory().saturating_add(of_layout(&mechanism)),
        tables: vec![edges.table().to_string()],
        query: None,
        compute: Box::new(move |charged| {
            let graph = charged.read(&*edges)?;
            let degrees = Partition::from_counts(graph.degrees().filter(|degree| *degree > 0))?;
            let found = answers(&mechanism, &mechanism.release(&degrees, charged.bits())?, Vec::new())?;
            Ok(of_vertices(found, edges.note()))
        }),
    })
}

/// The answers in the words of graphs.
fn of_vertices(mut answers: Answers, note: String) -> Answers {
    if let Some(count) = answers.columns.first_mut() {
        count.name = "degree".to_string();
    }
    if let Some(curve) = &mut answers.details.curve {
        curve.title = "How many vertices have at least this many edges".to_string();
        curve.x = "degree".to_string();
        curve.y = "vertices (none is drawn at ½)".to_string();
    }
    answers.notes.insert(0, note);
    answers.notes.insert(
        1,
        "Below, a value is a vertex, its count its degree, and a row an end of an edge; vertices without an edge are not counted.".to_string(),
    );
    answers
}
