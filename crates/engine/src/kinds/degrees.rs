//! Kind `degrees`: how many vertices of a graph have how many edges, without the vertices.
//!
//! It is the anonymized histogram of the ends of edges: an edge is two elements, one of each of its vertices.

use super::anonymized_histogram::{AT_MOST, LAYOUT, answers, expected, of_layout, within};
use crate::error::Result;
use crate::project::{Cost, Project, Request};
use crate::release::Kind;
use crate::release::output::Answers;
use crate::release::plan::{AnalysedRequest, Analysis, Plan, PlanSource, Price};
use crate::release::rows::graph::{Edges, FIELDS};
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
    Ok(AnalysedRequest::new(DegreesAnalysis { edges, attributes, size, layout }))
}

/// The degrees of a graph's vertices.
struct DegreesAnalysis {
    edges: Edges,
    attributes: AttributeSet,
    size: ElementCount,
    layout: LayoutChoice,
}

impl Analysis for DegreesAnalysis {
    type Mechanism = AnonymizedHistogram;

    fn at(&self, cost: &Cost) -> Result<Price<AnonymizedHistogram>> {
        let elements = self.edges.per_owner().saturating_mul(2);
        within(cost, elements, (self.size, self.layout), &self.attributes).map(Price::from)
    }

    fn plan(self: Rc<Self>, mechanism: AnonymizedHistogram, events: Vec<Event>) -> Result<Plan> {
        let edges = &self.edges;
        let mut rule = edges.rule();
        rule["epsilon_per_element"] = json!(mechanism.epsilon_per_element().get());
        rule["epsilon_for_size"] = json!(mechanism.epsilon_for_size().map(Epsilon::get));
        let source = PlanSource::edges(edges).holding(edges.memory().saturating_add(of_layout(&mechanism)));
        let (expected, notes) = (vec![expected(&mechanism)], vec![edges.note()]);
        let plan = Plan::new(source, events, rule, expected, move |charged| {
            let graph = charged.read(&self.edges)?;
            let degrees = Partition::from_counts(graph.degrees().filter(|degree| *degree > 0))?;
            let found = answers(&mechanism, &mechanism.release(&degrees, charged.bits())?, Vec::new())?;
            Ok(of_vertices(found, self.edges.note()))
        });
        // No limits: the hardest histograms known are no degrees of a graph of so many vertices.
        Ok(Plan { notes, ..plan })
    }
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
