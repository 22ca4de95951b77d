//! What a request becomes, in three steps: analysed once, priced at as many costs as are looked at, planned once; and
//! what a charge buys.

use crate::attackers::ReleasedStatistic;
use crate::error::Result;
use crate::ledger::Receipt;
use crate::project::Cost;
use crate::release::estimates::Estimates;
use crate::release::floor::Floor;
use crate::release::output::Answers;
use crate::release::price::needs;
use crate::release::rows::graph::Edges;
use crate::release::rows::read::{PrivateRows, ReadRows};
use crate::release::rows::records::Attributes;
use crate::remote::IntegerSource;
use crate::sql::PrivateQuery;
use crate::tables::Backend;
use crate::tables::hash::Key;
use scumble::event::Event;
use scumble::noise::BitSource;
use serde::Serialize;
use serde_json::Value;
use std::rc::Rc;

/// What a kind knows of a request that does not depend on its cost: it is read and analysed once, priced at as many
/// costs as are looked at, and planned once.
pub(crate) trait Analysis: 'static {
    /// What a cost decides: mechanisms with their noise.
    type Mechanism: 'static;

    /// What it does to the data if it may cost this.
    fn at(&self, cost: &Cost) -> Result<Price<Self::Mechanism>>;

    /// The whole plan, with a mechanism that [`at`](Self::at) gave, and its events.
    fn plan(self: Rc<Self>, mechanism: Self::Mechanism, events: Vec<Event>) -> Result<Plan>;
}

/// What a request does to the data at one cost.
pub(crate) struct Price<M> {
    /// The charge.
    pub events: Vec<Event>,
    /// What the cost pays for.
    pub mechanism: M,
}

impl<M> From<(M, Vec<Event>)> for Price<M> {
    fn from((mechanism, events): (M, Vec<Event>)) -> Self {
        Self { events, mechanism }
    }
}

/// A request of any kind, analysed.
pub struct AnalysedRequest(Rc<dyn AnyAnalysis>);

impl AnalysedRequest {
    pub(crate) fn new(analysis: impl Analysis) -> Self {
        Self(Rc::new(analysis))
    }

    /// What it does to the data if it may cost this.
    pub(crate) fn at(&self, cost: &Cost) -> Result<PricedRequest> {
        Rc::clone(&self.0).at_cost(cost)
    }
}

/// A request of any kind at one cost: its events are known, and the rest of its plan is made where it is wanted.
pub(crate) struct PricedRequest {
    events: Vec<Event>,
    chosen: Box<dyn AnyMechanism>,
}

impl PricedRequest {
    /// The charge.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The whole plan.
    pub fn plan(self) -> Result<Plan> {
        self.chosen.plan(self.events)
    }
}

/// An [`Analysis`] without the type of its mechanism.
trait AnyAnalysis {
    fn at_cost(self: Rc<Self>, cost: &Cost) -> Result<PricedRequest>;
}

impl<A: Analysis> AnyAnalysis for A {
    fn at_cost(self: Rc<Self>, cost: &Cost) -> Result<PricedRequest> {
        let Price { events, mechanism } = self.at(cost)?;
        Ok(PricedRequest { events, chosen: Box::new(ChosenMechanism { analysis: self, mechanism }) })
    }
}

/// An analysis with the mechanism that one cost pays for.
struct ChosenMechanism<A: Analysis> {
    analysis: Rc<A>,
    mechanism: A::Mechanism,
}

/// A [`ChosenMechanism`] of any kind.
trait AnyMechanism {
    fn plan(self: Box<Self>, events: Vec<Event>) -> Result<Plan>;
}

impl<A: Analysis> AnyMechanism for ChosenMechanism<A> {
    fn plan(self: Box<Self>, events: Vec<Event>) -> Result<Plan> {
        let Self { analysis, mechanism } = *self;
        analysis.plan(mechanism, events)
    }
}

/// A release that has been checked, with everything that is public about it.
pub struct Plan {
    /// What it will do to the data: the charge.
    pub events: Vec<Event>,
    /// What else is needed to check the events by hand.
    pub rule: Value,
    /// The error to expect of each published column.
    pub expected: Vec<ExpectedError>,
    /// What else somebody should know before this is released, a sentence each.
    pub notes: Vec<String>,
    /// Errors that no mechanism could beat at this release's privacy, as far as they are known.
    pub limits: Vec<Floor>,
    /// What is counted, for attackers who know only part of the rows.
    pub counted: ReleasedStatistic,
    /// What its numbers are about, where owners have rows that may not count; none where every row counts.
    pub estimates: Option<Estimates>,
    /// How many bytes of memory it takes whatever rows there are, about: what public numbers alone make it hold.
    pub memory: u64,
    /// The tables that it reads.
    pub tables: Vec<String>,
    /// The query that it runs, where it is one: whether the sources fit is looked at before anything is charged.
    pub(crate) query: Option<Rc<PrivateQuery>>,
    /// From rows to answers. The reason of a failure is not printed.
    pub compute: Compute,
}

impl Plan {
    /// A plan without notes, without limits, and without a statistic for attackers with partial knowledge.
    pub(crate) fn new(
        source: PlanSource,
        events: Vec<Event>,
        rule: Value,
        expected: Vec<ExpectedError>,
        compute: impl Fn(&mut ChargedAccess<'_>) -> Result<Answers> + 'static,
    ) -> Self {
        let PlanSource { tables, query, estimates, memory } = source;
        let (counted, compute) = (ReleasedStatistic::default(), Box::new(compute));
        let (notes, limits) = (Vec::new(), Vec::new());
        Self { events, rule, expected, notes, limits, counted, estimates, memory, tables, query, compute }
    }
}

/// What a plan reads, and what is public about that.
pub(crate) struct PlanSource {
    /// See [`Plan::tables`].
    pub tables: Vec<String>,
    /// See [`Plan::query`].
    pub query: Option<Rc<PrivateQuery>>,
    /// See [`Plan::estimates`].
    pub estimates: Option<Estimates>,
    /// See [`Plan::memory`].
    pub memory: u64,
}

impl PlanSource {
    /// The integers of a query, all of whose groups are held, and what its numbers are about.
    pub fn query(query: &Rc<PrivateQuery>, estimates: Option<Estimates>) -> Self {
        let tables = query.below.tables.iter().cloned().collect();
        Self { tables, query: Some(Rc::clone(query)), estimates, memory: needs::of_query(query) }
    }

    /// One record for each owner, whose listed values are held.
    pub fn records(attributes: &Attributes) -> Self {
        let (tables, memory) = (vec![attributes.table().to_string()], attributes.memory_of_values());
        Self { tables, query: None, estimates: attributes.estimates(), memory }
    }

    /// The edges of a graph.
    pub fn edges(edges: &Edges) -> Self {
        let (tables, memory) = (vec![edges.table().to_string()], edges.memory());
        Self { tables, query: None, estimates: edges.estimates(), memory }
    }

    /// The same where something else is held.
    pub fn holding(self, memory: u64) -> Self {
        Self { memory, ..self }
    }
}

/// Reads rows and draws noise, with what a charge buys.
pub type Compute = Box<dyn Fn(&mut ChargedAccess<'_>) -> Result<Answers>>;

/// What a durable charge buys: rows, and noise. It is made from the ledger's [`Receipt`] only, and there is no other
/// way to read rows or to draw noise for a release.
pub struct ChargedAccess<'a> {
    receipt: &'a Receipt,
    rows: PrivateRows<'a>,
    bits: &'a mut dyn BitSource,
}

impl<'a> ChargedAccess<'a> {
    pub(crate) fn new(receipt: &'a Receipt, backend: &'a Backend, bits: &'a mut dyn BitSource) -> Self {
        let key = Key(bits.next_u64(), bits.next_u64());
        Self::with_key(receipt, backend, key, bits)
    }

    /// The same with integers from source.
    pub(crate) fn with(self, source: Option<&'a dyn IntegerSource>) -> Self {
        Self { rows: PrivateRows { source, ..self.rows }, ..self }
    }

    /// The same with the key of an earlier part of the same release.
    pub(crate) fn with_key(receipt: &'a Receipt, backend: &'a Backend, key: Key, bits: &'a mut dyn BitSource) -> Self {
        Self { receipt, rows: PrivateRows { backend, source: None, key }, bits }
    }

    /// The charge's place in the ledger.
    pub fn sequence(&self) -> u64 {
        self.receipt.sequence()
    }

    /// What is computed from rows.
    pub(crate) fn read<R: ReadRows>(&self, what: R) -> Result<R::Found> {
        what.found_in(&self.rows)
    }

    /// Where noise comes from.
    pub(crate) fn bits(&mut self) -> &mut dyn BitSource {
        self.bits
    }
}

/// The error to expect of one published column.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExpectedError {
    /// The column.
    pub column: String,
    /// The standard error of each cell, or of the worst one where they differ; none where it depends on the data.
    pub standard_error: Option<f64>,
    /// The 95% margin of each cell: half the width of its interval in the answer; none where there is no such interval.
    #[serde(skip)]
    pub margin: Option<f64>,
    /// The standard errors of all cells, where they differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<f64>,
    /// Where it depends on the data: what it is if a cell is as assumed.
    pub assumed: Option<AssumedError>,
    /// What it is made of, in words.
    pub about: String,
}

/// The standard error of a cell about which something is assumed, from public knowledge.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AssumedError {
    /// How many rows it has.
    pub rows: u64,
    /// The standard error if the values lie evenly between their bounds.
    pub standard_error: f64,
    /// The 95% margin of the same cell.
    #[serde(skip)]
    pub margin: Option<f64>,
    /// The smallest that was found for values that lie otherwise (all at one bound, in the middle, half at each bound).
    pub least: f64,
    /// The largest.
    pub most: f64,
}

impl ExpectedError {
    /// The error of a column without further facts; none if it depends on the data.
    pub(crate) fn new(column: impl Into<String>, standard_error: Option<f64>, about: impl Into<String>) -> Self {
        let (column, about) = (column.into(), about.into());
        Self { column, standard_error, margin: None, cells: Vec::new(), assumed: None, about }
    }

    /// The same where each cell has an interval of this half width.
    pub(crate) fn with_margin(self, margin: f64) -> Self {
        Self { margin: Some(margin), ..self }
    }
}

impl AssumedError {
    pub(crate) fn words(&self) -> String {
        let Self { rows, least, most, .. } = self;
        let (least, most) = (format!("{least:.4}"), format!("{most:.4}"));
        let otherwise = if least == most { String::new() } else { format!(" ({least} to {most} otherwise)") };
        format!(
            "for a cell of {rows} rows with values spread evenly over their bounds{otherwise}; expected_rows changes this"
        )
    }
}
