//! The cells of a table of few values, or of owners with few rows: noised one by one, as kind `histogram` does it, and
//! sorted.
//!
//! # Guarantee
//! The cells are all that can occur, from the declarations alone, and each gets noise, whether it occurs or not. Their
//! moves are those of the query that counts them ([`crate::sql::analyse::sensitivity`]); sorting is post-processing.

use super::CountedElement;
use crate::error::Result;
use crate::project::{Bounding, Cost, Project};
use crate::release::plan::ExpectedError;
use crate::release::price::noise::{Demand, Noise, calibrate, described};
use crate::sql::PrivateQuery;
use crate::sql::analyse::query::Computation;
use crate::sql::analyse::sensitivity;
use crate::sql::execute::integers::Integers;
use crate::tables::Backend;
use crate::tables::bounding::Bounds;
use datafusion::common::ScalarValue;
use scumble::event::{Event, Moves};
use scumble::mechanism::anonymized_histogram::{CellKind, ListedCounts};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::rc::Rc;

/// Cells that are public and few.
pub(crate) struct FewCells {
    sql: String,
    pub cut: Rc<PrivateQuery>,
    /// The measure that counts.
    measure: usize,
    moves: [Moves; 1],
    /// Which cell is whose.
    places: HashMap<Vec<ScalarValue>, usize>,
    cells: u64,
    counting: CountedElement,
}

impl FewCells {
    /// The cells of a counting query; none where they are not public, or many.
    pub fn new(sql: &str, bounding: Bounding, project: &Project, counting: CountedElement) -> Result<Option<Self>> {
        // What cannot be listed is counted in the other way, which says what is wrong with the request.
        let Ok(cut) = crate::sql::analyse(sql, bounding, project, &Backend::without_data(project)?) else {
            return Ok(None);
        };
        let Some(cells) = cut.query.cells().filter(|cells| (1..=ListedCounts::MOST_CELLS).contains(cells)) else {
            return Ok(None);
        };
        let (Some(Computation::Count(measure)), 1) = (cut.query.aggregates.first().cloned(), cut.query.measures.len())
        else {
            return Ok(None);
        };
        let Some(counted) = cut.query.measures.get(measure) else { return Ok(None) };
        let moves = [sensitivity::moves(counted, &cut.query)?];
        let keys = cut.query.public.as_ref().map(|public| public.all()).unwrap_or_default();
        // Of owners the cells are the numbers of rows from 1 on.
        let place = |(place, key): (usize, Vec<ScalarValue>)| match (counting, key.as_slice()) {
            (CountedElement::Values, _) => Some((key, place)),
            (CountedElement::Owners, [ScalarValue::Int64(Some(times))]) => {
                Some((key.clone(), usize::try_from(*times - 1).ok()?))
            }
            (CountedElement::Owners, _) => None,
        };
        let places: Option<HashMap<Vec<ScalarValue>, usize>> = keys.into_iter().enumerate().map(place).collect();
        let Some(places) = places.filter(|places| is_whole(places, cells)) else { return Ok(None) };
        Ok(Some(Self { sql: sql.to_string(), cut: Rc::new(cut), measure, moves, places, cells, counting }))
    }

    /// Noise that this cost pays for, all of it pure, and its event; none where there is no such noise.
    pub fn within(&self, cost: &Cost) -> Result<Option<(ListedCounts, Vec<Event>)>> {
        let demand = Demand { moves: &self.moves, steps: &[None], ..Demand::default() };
        let noise = calibrate(&Cost { delta: None, ..cost.clone() }, &demand)?.noises.into_iter().next();
        let Some(Noise::Laplace(laplace)) = &noise else { return Ok(None) };
        let what = match self.counting {
            CountedElement::Values => CellKind::Values,
            CountedElement::Owners => CellKind::Tally,
        };
        let counts = ListedCounts::new(what, self.cells, laplace.scale())?;
        let events = vec![counts.noise().event(self.moves[0].clone())?];
        Ok(Some((counts, events)))
    }

    /// The exact counts of all cells, those that do not occur included.
    pub fn counts(&self, exact: &Integers, cells: u64) -> Vec<i64> {
        let number = usize::try_from(cells).unwrap_or(usize::MAX);
        let found = exact.keys.iter().zip(&exact.cells).map(|(key, cell)| {
            let count = cell.sums.get(self.measure).and_then(|sum| i64::try_from(*sum).ok()).unwrap_or(0);
            (key, count)
        });
        let mut counts = vec![0i64; number];
        for (key, count) in found {
            if let Some(own) = self.places.get(key).and_then(|place| counts.get_mut(*place)) {
                *own = count;
            }
        }
        counts
    }

    pub fn expected(&self, counts: &ListedCounts) -> ExpectedError {
        let most = counts.expected_error();
        let about =
            format!("all counts together are off by at most {most:.1}, in expectation, however many rows there are");
        ExpectedError::new("how_many", None, about)
    }

    /// Which way was chosen, in words.
    pub fn note(&self, counts: &ListedCounts) -> String {
        let cells = match self.counting {
            CountedElement::Values => format!("Only {} values can occur", counts.cells()),
            CountedElement::Owners => format!("Owners have at most {} rows that count", counts.cells()),
        };
        format!(
            "{cells}: each count gets noise as in kind histogram ({}), and they are sorted, which is more exact here than a layout; layout = \"rows-and-columns\" or another one takes that instead.",
            described(&counts.noise())
        )
    }

    pub fn rule(&self, counts: &ListedCounts) -> Value {
        let query = &self.cut.query;
        json!({
            "sql": self.sql,
            "tables": self.cut.below.tables,
            "bounding": self.cut.row_bounds().map(Bounds::rule),
            "keys": { "attributes": query.key_attributes, "cells": counts.cells() },
            "filters": { "attributes": query.rows },
            "way": "listed",
            "noise": described(&counts.noise()),
        })
    }
}

/// Whether each of so many cells is one key's.
fn is_whole(places: &HashMap<Vec<ScalarValue>, usize>, cells: u64) -> bool {
    let mut taken: Vec<usize> = places.values().copied().collect();
    taken.sort_unstable();
    taken.into_iter().map(|place| place as u64).eq(0..cells)
}
