//! Kind `bounds`: how much of an owner should count in another release, chosen from what owners have.
//!
//! Each row of an owner has two numbers: which group it is in, in the order in which bounding keeps an owner's groups,
//! and which place it has among the owner's rows there. With at most g groups and r rows in each, the rows that count
//! are those with both numbers within: so a table of how many rows there are with which numbers says of every pair
//! (g, r) how many rows it would keep and how many it would cut off. The numbers are put together into 1, 2, 3–4, 5–8,
//! …, and each cell of the table gets noise once; all pairs are read off it.
//!
//! # Sensitivity
//! Of one owner at most R rows are put into the table, R public: the first ones, group after group. They are a function
//! of the owner's own rows. So what one owner adds to the table is not negative and adds up to at most R:
//! - presence: it lies in the hull of "one cell by R";
//! - person, and attributes of keys, filters and joins: the difference of two such; each of its cells is at most R in
//!   size, all together at most 2R: the hull of "two cells by R";
//! - other attributes: nothing, because no value that is summed decides where a row is.
//!
//! The number of owners who have more than that is one more number; one owner moves it by at most 1. Nothing can be
//! said about the rows they have beyond.

mod table;

use super::histogram;
use super::sql::{self, AnalysedQuery, SQL, SqlRequest, asked, within_file};
use crate::error::{Error, Result};
use crate::place::suggestion;
use crate::project::{Cost, Project, Request};
use crate::release::estimates::Estimates;
use crate::release::field::{Field, PlacedValue};
use crate::release::output::{AnswerColumn, Answers, BETA, Cell, ColumnRole, Details, SuggestedBounds, Uncertainty};
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, PlanSource, Price};
use crate::release::price::needs;
use crate::release::price::noise::{CostShare, Demand, Noise, calibrate, described};
use crate::release::rows::fields::{BOUNDING, bounding};
use crate::release::rows::integers::Contributions;
use crate::release::{DigestOf, Kind};
use crate::sql::analyse::sensitivity;
use crate::tables::bounding::{Bounds, Contribution};
use scumble::event::{Event, Moves};
use scumble::quantity::Exact;
use serde_json::{Value, json};
use std::rc::Rc;
use table::{BoundsPair, LevelTable, Levels};

/// The word in project files and in the ledger.
pub(crate) const NAME: &str = "bounds";

const FOR: Field<PlacedValue<String>> = Field::new("for", "the name of that release, of kind `sql` or `histogram`");

/// The kind `bounds`.
pub(crate) static KIND: Kind = Kind {
    name: NAME,
    about: "the share of rows that each choice of `max_groups_per_owner` and `max_rows_per_group` would cut off in another release, beside the noise; its own bounds say how much of an owner it looks at (default: 1024 rows, 128 groups)",
    fields: &[FOR.listed(), BOUNDING[0], BOUNDING[1], BOUNDING[2]],
    analyse,
    digest: DigestOf::OtherRelease(FOR.name),
    ..Kind::COMMON
};

/// How much of an owner is looked at by default.
const ROWS: u64 = 1024;
const GROUPS: u64 = 128;
/// Bounds are not suggested if the interval of what they cut off is wider than this.
const WIDEST_SUGGESTED: f64 = 0.5;
/// The share of the cost that counts the owners who have more.
const SHARE_BEYOND: &str = "0.1";

fn analyse(request: &Request, project: &Project) -> Result<AnalysedRequest> {
    let wanted = FOR.read(request)?;
    let Some(target) = project.releases.iter().find(|other| other.name == wanted.value) else {
        let hint = suggestion(&wanted.value, project.releases.iter().map(|other| other.name.as_str()));
        return Err(wanted.error(format!("there is no release '{}' in the project file{hint}", wanted.value)));
    };
    let Some(query) = of_release(target, project)? else {
        return Err(wanted.error(format!(
            "release '{}' is of kind {}; bounds are chosen for releases of kind sql and histogram",
            target.name, target.kind
        )));
    };
    if query.cut.query.bounds.is_none() {
        let sentence = format!("in release '{}' each row is one person: nothing is cut off", target.name);
        return Err(wanted.error(sentence));
    }
    if !query.cut.sets.is_empty() {
        let sentence = format!("release '{}' has several groupings: choose the bounds of each by itself", target.name);
        return Err(wanted.error(sentence));
    }
    if query.cut.per_owner.is_some() {
        let sentence = format!(
            "release '{}' makes one row for each owner first: choose its bounds by a release of COUNT(*) over the same rows",
            target.name
        );
        return Err(wanted.error(sentence));
    }
    Ok(AnalysedRequest::new(BoundsSearch::new(request, query, target)?))
}

impl Analysis for BoundsSearch {
    type Mechanism = Noises;

    fn at(&self, cost: &Cost) -> Result<Price<Noises>> {
        let mechanism = self.noises(cost)?;
        Ok(Price { events: self.events(&mechanism)?, mechanism })
    }

    fn plan(self: Rc<Self>, noises: Noises, events: Vec<Event>) -> Result<Plan> {
        let (query, cells) = (Rc::clone(&self.query.cut), self.levels.cells());
        let line = |column: &str, noise: &Noise, about: String| {
            ExpectedError::new(column, Some(noise.standard_deviation()), about).with_margin(noise.quantile(BETA))
        };
        let about = format!("of each of the {cells} cells from which all shares are computed, in rows");
        let expected = vec![
            line("rows", &noises.cells, about),
            line("owners beyond", &noises.beyond, "how many owners have more than is looked at".to_string()),
        ];
        let source = PlanSource::query(&query, Estimates::of(Some(self.most), !query.query.keys.is_empty()));
        let source = source.holding((cells as u64).saturating_mul(4 * needs::NUMBER));
        Ok(Plan::new(source, events, self.rule(&noises), expected, move |charged| {
            let mut exact = LevelTable::new(self.levels.clone());
            charged.read(Contributions {
                query: &query,
                groups: self.most.groups.saturating_add(1),
                visit: |owner: Contribution<'_>| exact.add(owner),
            })?;
            let table = exact.noised(&noises.cells, &noises.beyond, charged.bits());
            self.answers(&table, &noises)
        }))
    }
}

/// The release whose bounds are looked for, and how much of an owner is looked at.
struct BoundsSearch {
    target: String,
    query: AnalysedQuery,
    /// What the release may cost.
    cost: Cost,
    most: Bounds,
    levels: Levels,
    moves: [Moves; 2],
}

/// The noise of the table's cells and of the number of owners beyond.
#[derive(Clone)]
struct Noises {
    cells: Noise,
    beyond: Noise,
}

impl BoundsSearch {
    fn new(request: &Request, query: AnalysedQuery, target: &Request) -> Result<Self> {
        let own = bounding(request)?;
        let rows = own.rows.unwrap_or(ROWS);
        let cells = query.cut.query.cells().unwrap_or(u64::MAX);
        let grouped = !query.cut.query.keys.is_empty();
        let groups = if grouped { own.groups.unwrap_or(GROUPS).min(cells.max(1)).min(rows) } else { 1 };
        let most = Bounds { groups, rows_per_group: own.rows_per_group.unwrap_or(rows).min(rows), rows };
        let rows = most.rows.min(most.groups.saturating_mul(most.rows_per_group));
        let moves =
            [sensitivity::of_rows_of_owners(rows, &query.cut.query)?, sensitivity::of_owners(1, &query.cut.query)?];
        let levels = Levels::new(most);
        Ok(Self { target: target.name.clone(), query, cost: target.cost.clone(), most, levels, moves })
    }

    fn noises(&self, cost: &Cost) -> Result<Noises> {
        let share: Exact = SHARE_BEYOND.parse()?;
        let aside = Some(CostShare { share: &share, moves: &self.moves[1..], portions: &[1] });
        let demand = Demand { moves: &self.moves[..1], steps: &[None], aside, ..Demand::default() };
        let calibrated = calibrate(cost, &demand)?;
        let one = |noises: Vec<Noise>| noises.into_iter().next().ok_or_else(|| Error::machine("noise is missing"));
        Ok(Noises { cells: one(calibrated.noises)?, beyond: one(calibrated.aside)? })
    }

    fn events(&self, noises: &Noises) -> Result<Vec<Event>> {
        let [cells, beyond] = &self.moves;
        Ok(vec![noises.cells.event(cells.clone())?, noises.beyond.event(beyond.clone())?])
    }

    fn rule(&self, noises: &Noises) -> Value {
        json!({
            "for": self.target,
            "sql": self.query.sql,
            "tables": self.query.cut.below.tables,
            "bounding": self.most.rule(),
            "keys": { "attributes": self.query.cut.query.key_attributes },
            "filters": { "attributes": self.query.cut.query.rows },
            "cells": self.levels.cells(),
            "noise": { "of each cell": described(&noises.cells), "of the owners beyond": described(&noises.beyond) },
        })
    }

    /// All pairs of bounds, what each would do, and the one with the smallest error.
    fn answers(&self, table: &LevelTable, noises: &Noises) -> Result<Answers> {
        let pairs = table.pairs(&noises.cells);
        let rows = self.rows_of_a_cell(&pairs, noises);
        let mut lines = Vec::new();
        for pair in pairs {
            let bounds = Bounds {
                groups: pair.groups,
                rows_per_group: pair.rows_per_group,
                rows: pair.groups.saturating_mul(pair.rows_per_group),
            };
            // Bounds that the release's cost cannot pay for have no noise, which depends on public numbers alone: no
            // reason to fail.
            let noise = self.query.noise_of_a_count(bounds, &self.cost).ok().flatten();
            // Without a count in the release there is no noise to weigh: as little is cut off as there is evidence for.
            // What may be cut off counts, not what the noise happens to say: otherwise the tightest bounds look best
            // wherever nothing was learned.
            let error = noise.map(|noise| noise.hypot(pair.cut.high * rows));
            lines.push(Line { pair, noise, error });
        }
        let best = best(&lines);
        let beyond = (table.beyond + noises.beyond.quantile(0.1)).max(0.0);
        let mut facts = serde_json::Map::new();
        facts.insert("for".to_string(), json!(self.target));
        let is_known = best.pair.cut.high - best.pair.cut.low <= WIDEST_SUGGESTED;
        facts.insert("suggested".to_string(), json!(is_known.then(|| self.suggested(best))));
        facts.insert("rows_of_a_cell".to_string(), json!(rows));
        facts.insert("owners_beyond".to_string(), json!({ "estimate": table.beyond, "at_most": beyond }));
        let notes = vec![
            format!(
                "share_cut: the share of the rows that would be cut off, of those that are looked at; noise: the standard error of a count of '{}' at its cost; error: what the noise and the upper end of share_cut do to a cell of {rows:.0} rows.",
                self.target
            ),
            self.beyond_words(table.beyond - noises.beyond.quantile(0.1), beyond),
        ];
        let unknown = "Nothing is suggested: the noise is larger than what was measured. Give it more cost, or let it look at fewer rows of an owner (max_rows_per_owner).";
        let notes = [notes, if is_known { Vec::new() } else { vec![unknown.to_string()] }].concat();
        let key = |name: &str| (name.to_string(), ColumnRole::Key);
        let share = ("share_cut".to_string(), ColumnRole::Level { of: None });
        let roles = [key("max_groups_per_owner"), key("max_rows_per_group"), share].into();
        let details = Details { facts, roles, ..Details::default() };
        Ok(Answers { columns: columns(&lines, noises), notes, details })
    }

    /// How many owners have more than is looked at, with 95% confidence at either end.
    fn beyond_words(&self, least: f64, most: f64) -> String {
        if least > 0.0 {
            return format!(
                "{:.0} to {most:.0} owners have more than is looked at, so that more is cut off than share_cut says: look wider (max_rows_per_owner).",
                least.ceil()
            );
        }
        format!(
            "At most {most:.0} owners (with 95% confidence) have more than is looked at; what they have beyond is not in share_cut."
        )
    }

    /// About how many rows a cell may have: all rows, with the noise of their sum, over all cells, where these are
    /// public; otherwise what the release expects.
    fn rows_of_a_cell(&self, pairs: &[BoundsPair], noises: &Noises) -> f64 {
        let all = pairs.first().map_or(0.0, |pair| pair.cut.cut + pair.cut.kept).max(0.0)
            + 2.0 * noises.cells.standard_deviation() * (self.levels.cells() as f64).sqrt();
        match self.query.cut.query.cells() {
            Some(cells) => (all / cells.max(1) as f64).max(1.0),
            None => self.query.rows as f64,
        }
    }

    /// The lines for the project file.
    fn suggested(&self, best: &Line) -> SuggestedBounds {
        let BoundsPair { groups, rows_per_group, cut, .. } = &best.pair;
        let grouped = !self.query.cut.query.keys.is_empty();
        SuggestedBounds {
            max_groups_per_owner: grouped.then_some(*groups),
            max_rows_per_group: grouped.then_some(*rows_per_group),
            max_rows_per_owner: groups.saturating_mul(*rows_per_group),
            share_cut: Some(cut.share),
            share_cut_interval: [cut.low, cut.high].map(Some),
        }
    }
}

/// One pair of bounds: what it cuts off, the noise of a count under it, and both together.
struct Line {
    pair: BoundsPair,
    noise: Option<f64>,
    error: Option<f64>,
}

/// The pair with the smallest error; where there is no count, the tightest one that cuts off at most a twentieth, or
/// the widest.
fn best(lines: &[Line]) -> &Line {
    let by_error = |left: &&Line, right: &&Line| {
        let error = |line: &Line| line.error.unwrap_or(f64::INFINITY);
        error(left).total_cmp(&error(right))
    };
    if lines.iter().any(|line| line.error.is_some()) {
        return lines.iter().min_by(by_error).unwrap_or(&lines[0]);
    }
    let size = |line: &&Line| line.pair.groups.saturating_mul(line.pair.rows_per_group);
    let little = lines.iter().filter(|line| line.pair.cut.high <= 0.05).min_by_key(size);
    little.unwrap_or_else(|| lines.iter().max_by_key(size).unwrap_or(&lines[0]))
}

fn columns(lines: &[Line], noises: &Noises) -> Vec<AnswerColumn> {
    let plain = |name: &str, cell: &dyn Fn(&Line) -> Cell| AnswerColumn::plain(name, lines.iter().map(cell));
    let number = |number: Option<f64>| number.map_or(Cell::Null, Cell::Number);
    let half = noises.cells.quantile(BETA);
    let share = |Line { pair: BoundsPair { cut, standard_error, .. }, .. }: &Line| {
        (Cell::Number(cut.share), Uncertainty { standard_error: *standard_error, low: cut.low, high: cut.high })
    };
    let rows = |Line { pair: BoundsPair { rows, .. }, .. }: &Line| {
        (Cell::Whole(*rows), Uncertainty::around(*rows as f64, noises.cells.standard_deviation(), half))
    };
    vec![
        plain("max_groups_per_owner", &|line| Cell::Whole(i128::from(line.pair.groups))),
        plain("max_rows_per_group", &|line| Cell::Whole(i128::from(line.pair.rows_per_group))),
        AnswerColumn::noisy("share_cut", lines.iter().map(share)),
        plain("noise", &|line| number(line.noise)),
        plain("error", &|line| number(line.error)),
        AnswerColumn::noisy("rows_only_here", lines.iter().map(rows)),
    ]
}

/// The query that a release is, if it is of a kind that is one.
fn of_release(request: &Request, project: &Project) -> Result<Option<AnalysedQuery>> {
    let (sql, place) = match request.kind.as_str() {
        name if name == sql::KIND.name => (SQL.read(request)?, SQL.place(request)),
        name if name == histogram::KIND.name && !histogram::is_huge(request)? => histogram::query(request, project)?,
        _ => return Ok(None),
    };
    match asked(&sql, request, project, |error| within_file(error, place.clone()))? {
        SqlRequest::One(query) => Ok(Some(*query)),
        SqlRequest::Union(_) => Err(Error::input(format!(
            "release '{}' is a UNION ALL of several queries: choose the bounds of each by itself",
            request.name
        ))),
    }
}

#[cfg(test)]
mod tests;
