//! Kind `sql`: one query, its aggregates noised.

mod answer;
mod bounding;
mod columns;
mod expected;
#[cfg(any(test, feature = "generator"))]
pub(crate) mod generator;
mod joint;
mod keys;
mod made;
mod noisy;
pub(crate) mod passed;
mod quotients;
mod ratio;
mod region;
mod roles;
mod selection;
mod sets;
mod shares;
mod spread;
mod uncertainty;
mod union;

pub(crate) use answer::{RANK_ERROR, cell, rows_without_a_key};
pub(crate) use bounding::ShareCut;
pub(crate) use columns::columns;
pub use columns::{PublishedColumn, columns_of, parameters, refuse_too_long};

use crate::attackers::ReleasedStatistic;
use crate::error::{Error, Result};
use crate::place::{Origin, Place};
#[cfg(test)]
use crate::project::Bounding;
use crate::project::{Cost, Goal, Project, Request};
use crate::release::estimates::Estimates;
use crate::release::field::{Field, ListedField};
use crate::release::output::{BETA, check_names};
use crate::release::plan::{AnalysedRequest, Analysis, Plan, Price};
use crate::release::price::noise::{CalibratedNoise, Demand, Noise, calibrate, calibrate_shares, described, threshold};
use crate::release::price::{limits, needs};
use crate::release::rows::fields::{BOUNDING, bounding};
use crate::release::rows::integers::IntegersBeside;
use crate::release::{CostAbout, Kind, Publication};
use crate::sql::analyse::query::{ColumnQuantile, Computation, Query, Rank, Summand};
use crate::sql::analyse::sensitivity;
use crate::sql::analyse::sets::KeyGrouping;
use crate::sql::{PrivateQuery, SqlQuery, above, text as window};
use crate::tables::Backend;
use crate::tables::bounding::{Bounds, Contribution};
use answer::{DrawnNoise, answers_of_rows, noised};
use bounding::{BoundingLook, BoundingReport, BoundingTally};
use joint::{JointNoise, Sharing};
use passed::ThresholdEvidence;
use scumble::event::{Event, Moves, Word};
use scumble::mechanism::quantile::Quantile;
use scumble::mechanism::stability::KeySelection;
use scumble::quantity::{Beta, Delta, Epsilon, Exact};
use serde_json::{Value, json};
use shares::{QuerySlopes, WantedShares};
use std::rc::Rc;
use union::UnionQuery;

pub(crate) const SQL: Field<String> = Field::new("sql", "the query");

/// The field `bounding_report`, for kinds that are a query of counts.
pub(crate) const BOUNDING_REPORT: ListedField = bounding::REPORT.listed();

/// The kind `sql`.
pub(crate) static KIND: Kind = Kind {
    name: "sql",
    about: "the aggregates of a SQL query, each with its own error",
    fields: &[
        SQL.listed(),
        joint::NOISE.listed(),
        shares::SHARE.listed(),
        expected::ROWS.listed(),
        BOUNDING[0],
        BOUNDING[1],
        BOUNDING[2],
        BOUNDING_REPORT,
    ],
    cost_about: CostAbout::Owners,
    analyse,
    queries: |request, project| queries(&SQL.read(request)?, SQL.place(request), request, project).map(Some),
    publishes: Publication::QueryResult,
    ..Kind::COMMON
};

fn analyse(request: &Request, project: &Project) -> Result<AnalysedRequest> {
    let place = SQL.place(request);
    analysed(&SQL.read(request)?, request, project, move |error| within_file(error, place.clone()))
}

/// A query as a release; `placed` says where in the request something is wrong with it.
pub(crate) fn analysed(
    sql: &str,
    request: &Request,
    project: &Project,
    placed: impl Fn(Error) -> Error + 'static,
) -> Result<AnalysedRequest> {
    let query = asked(sql, request, project, &placed)?;
    Ok(AnalysedRequest::new(SqlAnalysis { query, placed }))
}

/// A query, and where in the request something is wrong with it.
struct SqlAnalysis<P> {
    query: SqlRequest,
    placed: P,
}

impl<P: Fn(Error) -> Error + 'static> Analysis for SqlAnalysis<P> {
    type Mechanism = PricedQuery;

    fn at(&self, cost: &Cost) -> Result<Price<PricedQuery>> {
        let mechanism = self.query.at(cost).map_err(&self.placed)?;
        Ok(Price { events: mechanism.events.clone(), mechanism })
    }

    /// The query's price has its events.
    fn plan(self: Rc<Self>, priced: PricedQuery, _: Vec<Event>) -> Result<Plan> {
        self.query.plan(priced).map_err(&self.placed)
    }
}

/// What a request asks for.
pub(crate) enum SqlRequest {
    One(Box<AnalysedQuery>),
    Union(UnionQuery),
}

impl SqlRequest {
    fn at(&self, cost: &Cost) -> Result<PricedQuery> {
        match self {
            Self::One(query) => query.at(cost),
            Self::Union(union) => union.at(cost),
        }
    }

    fn plan(&self, priced: PricedQuery) -> Result<Plan> {
        match self {
            Self::One(query) => query.plan(priced),
            Self::Union(union) => union.plan(priced),
        }
    }
}

/// An analysed query of more cells is not kept: its keys would take memory.
const MOST_KEPT_CELLS: u64 = 10_000;

/// Whether an analysed query is kept for those who ask the same: nothing of a public table is, which may change.
fn is_kept(query: &SqlQuery) -> bool {
    let cells = query.queries().map(PrivateQuery::cells).fold(0, u64::saturating_add);
    cells <= MOST_KEPT_CELLS && query.queries().all(|query| query.public.is_empty())
}

/// The query of a request, with its bounds and its bounding report.
pub(crate) fn asked(
    sql: &str,
    request: &Request,
    project: &Project,
    placed: impl Fn(Error) -> Error,
) -> Result<SqlRequest> {
    let (bounding, rows) = (bounding(request)?, expected::rows(request)?);
    // A kind that is a query and does not list this field counts one thing only.
    let sharing = joint::NOISE.read(request)?.unwrap_or(Sharing::Auto);
    // A kind that is a query and does not list this field has none.
    let report = bounding::REPORT.read(request)?;
    let asked = project.kept_query(
        || format!("{bounding:?} {sql}"),
        is_kept,
        || crate::sql::analyse_several(sql, bounding, project, &Backend::without_data(project)?),
    );
    match asked.map_err(&placed)? {
        SqlQuery::One(cut) => {
            let query = AnalysedQuery::of_cut(sql, cut, rows, project).map_err(placed)?;
            let query = AnalysedQuery { sharing, ..query }.with_shares(request)?;
            let reported = match report {
                Some(wish) => query.with_report(&wish, &request.cost.target)?,
                None => query,
            };
            Ok(SqlRequest::One(Box::new(reported)))
        }
        SqlQuery::Several(_) if report.is_some() => Err(Error::input(
            "bounding_report needs one query, and this is a UNION ALL of several: release the one that needs it by \
                itself",
        )),
        SqlQuery::Several(_) if sharing == Sharing::Joint => Err(Error::input(
            "joint noise is for one query, and this is a UNION ALL of several; write noise = \"each\", or release each by itself",
        )),
        SqlQuery::Several(union) => {
            shares::refuse_of_union(request)?;
            UnionQuery::new(sql, union, rows, project).map(SqlRequest::Union).map_err(placed)
        }
    }
}

/// The queries that a text becomes whose integers are all that a release reads, in the order in which it reads them.
pub(crate) fn queries(sql: &str, place: Place, request: &Request, project: &Project) -> Result<Vec<Rc<PrivateQuery>>> {
    let name = &request.name;
    Ok(match asked(sql, request, project, |error| within_file(error, place.clone()))? {
        SqlRequest::One(query) if query.report.is_some() => {
            return Err(Error::input(format!(
                "release '{name}' has a bounding_report, which needs all rows: leave it out with remote backends"
            )));
        }
        SqlRequest::One(query) if query.parts.is_empty() => vec![query.cut],
        SqlRequest::One(query) => query.parts.into_iter().map(|part| part.cut).collect(),
        SqlRequest::Union(union) => union.noised().map(|query| Rc::clone(&query.cut)).collect(),
    })
}

/// A position in a query is given together with the query's position in the file.
pub(crate) fn within_file(error: Error, outer: Place) -> Error {
    let inner = error.place().filter(|place| place.origin == Origin::Query && outer.origin != Origin::CommandLine);
    let Some(inner) = inner else { return error.or_at(outer) };
    let sentence = error.sentence();
    let sentence = format!("{sentence} (line {}, column {} of the query)", inner.line, inner.column);
    Error::at(outer, sentence)
}

/// An analysed query: everything about it that does not depend on its cost.
pub(crate) struct AnalysedQuery {
    pub sql: String,
    pub cut: Rc<PrivateQuery>,
    /// How far each measure moves, and its step in the unit of its column.
    moves: Vec<Moves>,
    steps: Vec<Option<f64>>,
    /// How far each quantile moves.
    quantile_moves: Vec<Moves>,
    /// δ for key selection where the cost has none.
    default_delta: Option<Exact>,
    /// Whether the numbers of a cell share one noise.
    sharing: Sharing,
    /// By how much each noisy number moves the columns, and what the release says of their shares.
    slopes: Rc<QuerySlopes>,
    shares: Option<WantedShares>,
    /// About how many rows a cell has.
    pub rows: u64,
    /// How many owners there are, if that is public.
    public_owners: Option<u64>,
    /// What is noised, as SQL text with window functions; none where the plan has no such text.
    statements: Option<Vec<String>>,
    /// The report on rows that are cut off.
    report: Option<Rc<BoundingReport>>,
    /// Its groupings, where there are several: then nothing else of it is noised.
    parts: Vec<Self>,
}

/// A query at a cost.
pub(crate) struct PricedQuery {
    cost: Cost,
    calibrated: CalibratedNoise,
    private: QueryMechanism,
    /// With how many owners a key is published with probability 95%; none where all keys are public.
    owners_needed: Option<u64>,
    events: Vec<Event>,
    /// In which proportions the measures and quantiles share the cost; empty where they do so equally.
    portions: Vec<u64>,
    /// Each grouping, where there are several.
    parts: Vec<Self>,
}

/// What makes the exact answer private.
#[derive(Debug, Clone, Default)]
struct QueryMechanism {
    /// The noise of each measure.
    noises: Vec<Noise>,
    /// The mechanism of each quantile.
    quantiles: Vec<Quantile>,
    /// The least noisy number of owners of a key that is published; none where all keys are public.
    threshold: Option<i64>,
    /// How keys are selected instead, in a query for keys alone.
    selection: Option<Rc<KeySelection>>,
    /// The one noise of all measures of a cell, instead of that of each.
    joint: Option<Rc<JointNoise>>,
    /// The noise of each number of the bounding report.
    report: Vec<Noise>,
}

impl QueryMechanism {
    /// The measure that decides which keys are published, and what is known of it where one is; none where all keys are
    /// public.
    fn passed(&self, cut: &PrivateQuery) -> Option<(usize, ThresholdEvidence)> {
        let (least, owners) = self.threshold.zip(cut.query.owners())?;
        Some((owners, ThresholdEvidence::new(&self.noises[owners], least)?))
    }
}

impl AnalysedQuery {
    /// One query, whatever its groupings.
    #[cfg(test)]
    fn new(sql: &str, bounding: Bounding, rows: u64, project: &Project) -> Result<Self> {
        let cut = crate::sql::analyse(sql, bounding, project, &Backend::without_data(project)?)?;
        Self::of_cut(sql, cut, rows, project)
    }

    fn of_cut(sql: &str, cut: PrivateQuery, rows: u64, project: &Project) -> Result<Self> {
        let outputs = above::outputs(&cut.plan, &cut.aggregate)?;
        check_names(outputs.iter().map(|output| (output.name.as_str(), !output.aggregates.is_empty())))?;
        let part = |set: &KeyGrouping| Self::of(sql, set.cut.clone(), rows, project);
        let mut parts = cut.sets.iter().map(part).collect::<Result<Vec<Self>>>()?;
        let whole = Self::of(sql, cut, rows, project)?;
        // The columns are those of the whole.
        parts.iter_mut().for_each(|part| part.slopes = Rc::clone(&whole.slopes));
        Ok(Self { parts, ..whole })
    }

    /// The same with the shares that a request asks for.
    fn with_shares(mut self, request: &Request) -> Result<Self> {
        self.shares = WantedShares::read(request, &self.cut)?;
        if self.shares.is_some() && self.sharing == Sharing::Joint {
            let sentence = "joint noise has no shares: leave out share, or write noise = \"each\"";
            return Err(shares::SHARE.error(request, sentence));
        }
        self.parts.iter_mut().for_each(|part| part.shares.clone_from(&self.shares));
        Ok(self)
    }

    /// A query of one grouping.
    fn of(sql: &str, cut: PrivateQuery, rows: u64, project: &Project) -> Result<Self> {
        let query = &cut.query;
        let (moves, quantile_moves) = moves_of(query)?;
        let steps: Vec<Option<f64>> =
            query.measures.iter().map(|measure| step(&measure.what, &query.aggregates)).collect();
        let private = cut.below.tables.iter().filter_map(|name| project.tables.get(name)).filter(|table| !table.public);
        let public_owners = private.filter_map(|table| table.public_owners).min();
        let statements = window::statements(&cut, project).ok();
        let default_delta = project.budget.smallest_delta();
        let cut = Rc::new(cut);
        Ok(Self {
            sql: sql.to_string(),
            slopes: QuerySlopes::new(&cut, rows),
            shares: None,
            cut,
            moves,
            steps,
            quantile_moves,
            default_delta,
            sharing: Sharing::Each,
            rows,
            public_owners,
            statements,
            report: None,
            parts: Vec::new(),
        })
    }

    /// The same with a bounding report.
    fn with_report(mut self, wish: &bounding::BoundingRequest, goal: &Goal) -> Result<Self> {
        if !self.parts.is_empty() {
            return Err(Error::input(
                "bounding_report needs one grouping, and this query has several: release the one that needs it by \
                    itself",
            ));
        }
        if self.cut.per_owner.is_some() {
            return Err(Error::input(
                "bounding_report counts rows and groups, and this query makes one row for each owner first: release COUNT(*) of the table with a bounding_report of its own",
            ));
        }
        let outputs = above::outputs(&self.cut.plan, &self.cut.aggregate)?;
        self.report = Some(Rc::new(BoundingReport::new(wish, &self.cut.query, &outputs, goal)?));
        Ok(self)
    }

    /// The standard error of the first count that is published as it is, if other bounds held; none where there is no
    /// count.
    pub fn noise_of_a_count(&self, bounds: Bounds, cost: &Cost) -> Result<Option<f64>> {
        let query = Query { bounds: Some(bounds), ..self.cut.query.clone() };
        let count = query.aggregates.iter().find_map(|aggregate| match aggregate {
            Computation::Count(measure) => Some(*measure),
            _ => None,
        });
        let (moves, quantiles) = moves_of(&query)?;
        let noises = self.calibrated(cost, &moves, &quantiles)?.0.noises;
        Ok(count.map(|count| noises[count].standard_deviation()))
    }

    /// The noise that this cost pays for.
    fn at(&self, cost: &Cost) -> Result<PricedQuery> {
        joint::refuse(self, cost)?;
        if !self.parts.is_empty() {
            return sets::at(self.parts.iter(), cost);
        }
        let (calibrated, portions) = self.calibrated(cost, &self.moves, &self.quantile_moves)?;
        let noisy = PricedQuery { portions, ..self.priced(cost, calibrated)? };
        if let Some(selected) = keys::selected(self, &noisy)? {
            return Ok(selected);
        }
        joint::shared(self, noisy)
    }

    /// The noise that this cost pays for if the numbers move by this much, and their portions of the cost.
    fn calibrated(&self, cost: &Cost, moves: &[Moves], quantiles: &[Moves]) -> Result<(CalibratedNoise, Vec<u64>)> {
        let demand = self.demand(moves, quantiles);
        let equal = calibrate(cost, &demand)?;
        match self.portions(cost, &equal)? {
            portions if portions.is_empty() => Ok((equal, portions)),
            portions => Ok((calibrate_shares(cost, &demand, &portions)?, portions)),
        }
    }

    /// In which proportions the measures and quantiles share a cost, which `equal` pays for with equal shares; empty
    /// where they share it equally.
    fn portions(&self, cost: &Cost, equal: &CalibratedNoise) -> Result<Vec<u64>> {
        if matches!(cost.target, Goal::Accuracy { .. }) || equal.noises.len() + equal.quantiles.len() < 2 {
            return Ok(Vec::new());
        }
        Ok(shares::portions(self.slopes.columns()?, self.shares.as_ref(), equal))
    }

    /// The query with this noise.
    fn priced(&self, cost: &Cost, calibrated: CalibratedNoise) -> Result<PricedQuery> {
        let query = &self.cut.query;
        let mut events = Vec::new();
        let threshold = Threshold::of(&calibrated, query)?;
        for (index, (noise, moves)) in calibrated.noises.iter().zip(&self.moves).enumerate() {
            let event = noise.event(moves.clone())?;
            events.push(match &threshold {
                Some(threshold) if threshold.measure == index => threshold.event(event)?,
                _ => event,
            });
        }
        for (epsilon, moves) in calibrated.quantiles.iter().zip(&self.quantile_moves) {
            events.push(Event::new(Word::Exponential { epsilon: *epsilon }, moves.clone()));
        }
        if let Some(report) = &self.report {
            events.extend(report.events(&calibrated.aside)?);
        }
        let owners_needed = threshold
            .as_ref()
            .map(|threshold| selection::owners_needed(threshold.least, &calibrated.noises[threshold.measure]));
        let quantiles = query.quantiles.iter().zip(&calibrated.quantiles);
        let private = QueryMechanism {
            noises: calibrated.noises.clone(),
            quantiles: quantiles.map(|(one, epsilon)| mechanism(query, one, *epsilon)).collect::<Result<_>>()?,
            threshold: threshold.map(|threshold| threshold.least),
            selection: None,
            joint: None,
            report: calibrated.aside.clone(),
        };
        let (cost, portions, parts) = (cost.clone(), Vec::new(), Vec::new());
        Ok(PricedQuery { cost, calibrated, private, owners_needed, events, portions, parts })
    }

    /// What is to be noised, if it moves by this much.
    fn demand<'a>(&'a self, moves: &'a [Moves], quantiles: &'a [Moves]) -> Demand<'a> {
        Demand {
            moves,
            steps: &self.steps,
            quantiles,
            selects_keys: self.cut.query.cells().is_none(),
            default_delta: self.default_delta.clone(),
            aside: self.report.as_ref().map(|report| report.aside()),
        }
    }

    fn plan(&self, priced: PricedQuery) -> Result<Plan> {
        if !self.parts.is_empty() {
            return sets::plan(self, priced);
        }
        let (rule, mut notes) = (self.rule(&priced), self.cut.public.clone());
        notes.extend(selection::notes(self, &priced)?);
        notes.extend(joint::note(self, &priced));
        notes.extend(shares::note(self, &priced.portions));
        notes.extend(quotients::notes(&self.cut, &priced.private, self.rows)?);
        let PricedQuery { calibrated, private, events, .. } = priced;
        let (cut, report) = (Rc::clone(&self.cut), self.report.clone());
        let mut expected = expected::expected(&cut, &private, self.rows, Backend::empty()?)?;
        expected::over_all_keys(&mut expected, &cut, (&private, self.rows), Backend::empty()?)?;
        if let Some(report) = &report {
            expected.extend(report.expected((&cut, &private), self.rows)?);
        }
        expected.extend(keys::expected(&cut, &private)?);
        let estimates = Estimates::of(cut.row_bounds(), !cut.row_keys().is_empty());
        Ok(Plan {
            rule,
            notes,
            expected,
            limits: match private.joint {
                // They are about noise for each number, and about tables of any number of owners.
                _ if self.public_owners.is_some() => Vec::new(),
                Some(_) => Vec::new(),
                None => limits::of_query(&cut, &calibrated.noises, &events)?,
            },
            counted: match report {
                Some(_) => ReleasedStatistic::Other("what bounding cuts off is published with it".into()),
                None => ReleasedStatistic::of_query(&cut, &calibrated.noises)?,
            },
            estimates: match &report {
                Some(report) => estimates.map(|estimates| estimates.except(&report.about())),
                None => estimates,
            },
            memory: needs::of_query(&cut),
            tables: cut.below.tables.iter().cloned().collect(),
            query: Some(Rc::clone(&cut)),
            events,
            compute: Box::new(move |charged| {
                let Some(report) = &report else {
                    let noisy = noised(&cut, charged.read(&cut)?, &private, &mut DrawnNoise(charged.bits()));
                    return Ok(answers_of_rows(&cut, &noisy, &private)?.0);
                };
                let mut tally = BoundingTally::default();
                let (bounds, wide) = (report.bounds, report.wide);
                let (integers, beside) = charged.read(IntegersBeside {
                    query: &cut,
                    wide,
                    visit: |owner: Contribution<'_>| tally.add(owner, bounds, wide),
                })?;
                let looked = BoundingLook::new(report, tally, &integers, beside);
                let noisy = noised(&cut, integers, &private, &mut DrawnNoise(charged.bits()));
                let (mut answers, rows) = answers_of_rows(&cut, &noisy, &private)?;
                let drawn = &mut DrawnNoise(charged.bits());
                report.say(&looked, (&mut answers, &rows), (&noisy, &private), drawn, &cut)?;
                Ok(answers)
            }),
        })
    }

    fn rule(&self, priced: &PricedQuery) -> Value {
        let query = &self.cut.query;
        let measures: Vec<Value> = query
            .measures
            .iter()
            .zip(&priced.calibrated.noises)
            .enumerate()
            .map(|(index, (measure, noise))| {
                let described = match (&priced.private.joint, &priced.private.selection) {
                    (Some(joint), _) => Some(joint.described(index)),
                    (None, Some(_)) => None,
                    (None, None) => Some(described(noise)),
                };
                json!({
                    "what": describe(&measure.what),
                    "of": measure.expression.as_ref().map(ToString::to_string),
                    "range": [measure.range.0, measure.range.1],
                    "attributes": measure.attributes,
                    "noise": described,
                })
            })
            .collect();
        let quantiles: Vec<Value> = query
            .quantiles
            .iter()
            .zip(&priced.calibrated.quantiles)
            .map(|(quantile, epsilon)| {
                let ranked = &query.ranked[quantile.ranked];
                json!({
                    "which": named(quantile.rank),
                    "of": ranked.expression.to_string(),
                    "grid": { "lower": ranked.grid.lower, "upper": ranked.grid.upper, "step": ranked.grid.step },
                    "attributes": ranked.attributes,
                    "epsilon": epsilon.get(),
                })
            })
            .collect();
        json!({
            "sql": self.sql,
            "integers": self.statements,
            "tables": self.cut.below.tables,
            "bounding": self.cut.row_bounds().map(|bounds| json!({
                "groups_per_owner": bounds.groups, "rows_per_group": bounds.rows_per_group, "rows_per_owner": bounds.rows,
            })),
            "per_owner_first": self.cut.per_owner.as_ref().map(|first| json!({
                "keys": first.keys.iter().map(|key| key.expression.to_string()).collect::<Vec<_>>(),
                "columns": first.described().into_iter().map(|(name, range)| json!({ "name": name, "range": range })).collect::<Vec<_>>(),
                "rows_per_owner": query.bounds.map(|bounds| bounds.rows),
                "rows_per_group": query.bounds.map(|bounds| bounds.rows_per_group),
            })),
            "keys": { "attributes": query.key_attributes, "cells": query.cells(), "threshold": priced.private.threshold,
                      "owners_for_95_percent": priced.owners_needed,
                      "selection": priced.private.selection.as_ref().map(|selection| keys::rule(selection)),
                      "delta": priced.calibrated.key_delta },
            "filters": { "attributes": query.rows },
            "measures": measures,
            "quantiles": quantiles,
            "bounding_report": self.report.as_ref().map(|report| report.rule(&priced.private.report)),
        })
    }
}

/// How far each measure and each quantile of a query moves.
fn moves_of(query: &Query) -> Result<(Vec<Moves>, Vec<Moves>)> {
    let measures = query.measures.iter().map(|measure| sensitivity::moves(measure, query));
    let quantiles = query.quantiles.iter().map(|quantile| sensitivity::quantile_moves(quantile, query));
    Ok((measures.collect::<Result<_>>()?, quantiles.collect::<Result<_>>()?))
}

/// How keys that are not public are selected.
struct Threshold {
    /// The measure that decides: the number of owners.
    measure: usize,
    /// The least noisy number with which a key is published.
    least: i64,
    delta: Delta,
    keys: u64,
}

impl Threshold {
    /// None where all keys are public.
    fn of(calibrated: &CalibratedNoise, query: &Query) -> Result<Option<Self>> {
        let (Some(delta), Some(measure)) = (calibrated.key_delta, query.owners()) else { return Ok(None) };
        let keys = sensitivity::keys_per_owner(query);
        let least = threshold(&calibrated.noises[measure], delta, keys)?;
        Ok(Some(Self { measure, least, delta: Delta::new(delta)?, keys }))
    }

    /// The event of the numbers of owners with this noise, where the numbers that reach the threshold are published.
    fn event(&self, noise: Event) -> Result<Event> {
        Ok(noise.for_new_keys(self.delta, self.keys)?)
    }
}

/// The mechanism of one quantile.
fn mechanism(query: &Query, quantile: &ColumnQuantile, epsilon: Epsilon) -> Result<Quantile> {
    quantile.rank.mechanism(query.ranked[quantile.ranked].last_key(), epsilon)
}

/// By how many ranks a quantile is off at most, with probability 95%.
fn rank_error(quantile: &Quantile) -> Result<f64> {
    Ok(quantile.error(Beta::new(BETA)?)?)
}

/// The step of a measure that is published as it is.
fn step(what: &Summand, aggregates: &[Computation]) -> Option<f64> {
    let centred =
        aggregates.iter().any(|aggregate| !matches!(aggregate, Computation::Count(_) | Computation::Sum { .. }));
    match what {
        Summand::Owners | Summand::Rows | Summand::Present | Summand::Different if !centred => Some(1.0),
        Summand::Owners => Some(1.0),
        Summand::Steps { grid, centre: 0 } if !centred => Some(grid.step),
        _ => None,
    }
}

fn describe(what: &Summand) -> String {
    match what {
        Summand::Owners => "number of owners".to_string(),
        Summand::Rows => "number of rows".to_string(),
        Summand::Present => "number of values".to_string(),
        Summand::Different => "number of different values".to_string(),
        Summand::Steps { grid, centre } => format!("sum of values in steps of {}, less {centre} each", grid.step),
        Summand::Squares { grid, centre } => {
            format!("sum of squares of values in steps of {}, less {centre} each", grid.step)
        }
    }
}

fn named(rank: Rank) -> String {
    match rank {
        Rank::Least => "least".to_string(),
        Rank::Largest => "largest".to_string(),
        Rank::Fraction(fraction) => format!("quantile {}", fraction.get()),
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::{bounding as bounding_tests, quantile_law};
