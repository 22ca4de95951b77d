//! Kind `histogram` with `max_bytes`: how many rows each text of up to some bytes has, over all such texts, with pure
//! privacy.
//!
//! Every text gets noise, also those that nobody has; those whose noisy number is below a threshold are left out. What
//! is drawn is exactly that, without walking through the texts ([`scumble::mechanism::huge_domain`]).

use super::counted::{CountedColumns, MAX_BYTES};
use super::sql::passed::ThresholdEvidence;
use super::sql::rows_without_a_key;
use super::top::{SPURIOUS, texts};
use crate::attackers::ReleasedStatistic;
use crate::error::{Error, Result};
use crate::project::{Cost, Goal, Project, Request};
use crate::release::estimates::Estimates;
use crate::release::output::{AnswerColumn, Answers, BETA, Cell, Details, Uncertainty};
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, Price};
use crate::release::price::needs;
use crate::release::price::noise::{Noise, calibrate_runs, described};
use crate::release::rows::fields::{bounding, quoted};
use crate::sql::analyse::sensitivity;
use crate::sql::{PrivateQuery, analyse_what_occurs};
use crate::tables::Backend;
use datafusion::common::ScalarValue;
use scumble::event::{Event, Moves};
use scumble::mechanism::huge_domain::{HugeDomainHistogram, StringDomain};
use scumble::quantity::Beta;
use serde_json::json;
use std::rc::Rc;

const COUNT: &str = "count";

/// The rows of each text.
struct TextCounts {
    cut: PrivateQuery,
    name: String,
    texts: StringDomain,
    moves: Moves,
}

/// The histogram of a request that gives `max_bytes`; none if it does not.
pub(crate) fn analyse(
    asked: &CountedColumns<'_>,
    request: &Request,
    project: &Project,
) -> Result<Option<AnalysedRequest>> {
    let Some(texts) = texts(request, asked.table, &asked.names)? else { return Ok(None) };
    let name = asked.names[0].clone();
    if name == COUNT {
        return Err(MAX_BYTES.error(request, "a column called 'count' is published too: rename this one"));
    }
    let (column, table) = (quoted(&name), quoted(&asked.table.name));
    let sql = format!("SELECT {column}, COUNT(*) AS n FROM {table} GROUP BY {column}");
    let cut = analyse_what_occurs(&sql, bounding(request)?, project, &Backend::without_data(project)?)
        .map_err(|error| error.or_at(asked.place.clone()))?;
    let measure = cut.query.measures.first().ok_or_else(|| Error::machine("a count without a measure"))?;
    let moves = sensitivity::moves(measure, &cut.query)?;
    Ok(Some(AnalysedRequest::new(TextCounts { moves, cut, name, texts })))
}

impl Analysis for TextCounts {
    type Mechanism = (Noise, HugeDomainHistogram);

    fn at(&self, cost: &Cost) -> Result<Price<Self::Mechanism>> {
        let (noise, made) = self.within(cost)?;
        Ok(Price { events: vec![noise.event(self.moves.clone())?], mechanism: (noise, made) })
    }

    fn plan(self: Rc<Self>, (noise, made): Self::Mechanism, events: Vec<Event>) -> Result<Plan> {
        let plan = self.planned(&noise, &made)?;
        Ok(Plan { events, compute: compute(self, noise, made), ..plan })
    }
}

impl TextCounts {
    /// Laplace noise that the cost pays for, and the threshold that no text of nobody reaches, except with a small
    /// probability.
    fn within(&self, cost: &Cost) -> Result<(Noise, HugeDomainHistogram)> {
        if matches!(cost.target, Goal::Rho(_)) {
            return Err(Error::input(
                "strings of up to some bytes are counted with Laplace noise, which has a pure epsilon: write cost = { \
                    epsilon = … }",
            ));
        }
        // All of it is pure, whatever δ there is.
        let noise = calibrate_runs(&Cost { delta: None, ..cost.clone() }, &self.moves, 1)?;
        let Noise::Laplace(laplace) = &noise else { return Err(Error::machine("pure noise is Laplace noise")) };
        let made = HugeDomainHistogram::new(self.texts.last(), laplace.scale(), Beta::new(SPURIOUS)?)?;
        Ok((noise, made))
    }

    /// All of the plan but its events and what is done with rows.
    fn planned(&self, noise: &Noise, made: &HugeDomainHistogram) -> Result<Plan> {
        let shown = made.threshold() as f64 + noise.quantile(2.0 * BETA);
        let threshold = made.threshold();
        let expected = ExpectedError {
            column: COUNT.to_string(),
            standard_error: Some(noise.standard_deviation()),
            margin: Some(noise.quantile(BETA)),
            cells: Vec::new(),
            assumed: None,
            about: format!("the same for every string; one is published with probability 95% if it has {shown} rows"),
        };
        let tables: Vec<String> = self.cut.below.tables.iter().cloned().collect();
        let bounds = self.cut.row_bounds();
        Ok(Plan {
            rule: json!({
                "tables": tables, "column": self.name, "texts": (self.texts.last() + 1).to_string(),
                "noise": described(noise), "threshold": threshold,
                "bounding": bounds.map(|bounds| json!({
                    "groups_per_owner": bounds.groups, "rows_per_group": bounds.rows_per_group, "rows_per_owner": bounds.rows,
                })),
            }),
            notes: vec![format!(
                "No delta is needed: all {} strings have noise, and one is published if its noisy number of rows is \
                    at least {threshold}, which {shown} rows reach with probability 95%. With probability at most 1%, \
                    a string is published that no owner has.",
                self.texts.last() + 1
            )],
            expected: vec![expected],
            limits: Vec::new(),
            counted: ReleasedStatistic::Other("it has too many strings for beliefs about them".into()),
            estimates: Estimates::of(bounds, true),
            memory: needs::of_query(&self.cut),
            tables,
            query: Some(Rc::new(self.cut.clone())),
            events: Vec::new(),
            compute: Box::new(|_| Err(Error::machine("a plan that is not whole"))),
        })
    }
}

fn compute(counts: Rc<TextCounts>, noise: Noise, made: HugeDomainHistogram) -> crate::release::plan::Compute {
    Box::new(move |charged| {
        let integers = charged.read(&counts.cut)?;
        let key = |key: &Vec<ScalarValue>| match &key[..] {
            [ScalarValue::Utf8(Some(text))] => counts.texts.key(text),
            _ => None,
        };
        let rows = integers.cells.iter().map(|cell| i64::try_from(cell.sums[0]).unwrap_or(i64::MAX));
        let present: Vec<(u128, i64)> =
            integers.keys.iter().zip(rows).filter_map(|(text, rows)| Some((key(text)?, rows))).collect();
        let mut found = made.release(&present, charged.bits())?;
        found.sort_by_key(|(_, noisy)| std::cmp::Reverse(*noisy));
        // Of a text that few have and that is shown by luck the number is too large: the interval is that of the noise
        // given that it is shown.
        let (half, passed) = (noise.quantile(BETA), ThresholdEvidence::new(&noise, made.threshold()));
        let unsure = |(_, noisy): &(u128, i64)| {
            let number = *noisy as f64;
            let low = passed.as_ref().map_or(number - half, |passed| passed.low_at(number, BETA));
            // Nobody may have it.
            let low = if low <= 1.0 { 0.0 } else { low };
            Uncertainty { standard_error: noise.standard_deviation(), low, high: number + half }
        };
        let text = |(key, _): &(u128, i64)| Cell::Text(counts.texts.text(*key).unwrap_or_default().into());
        let mut notes = vec![
            format!("Only strings whose noisy number of rows is at least {} are shown.", made.threshold()),
            "Rows with a longer string are in no group.".to_string(),
        ];
        notes.extend(rows_without_a_key(&counts.cut.query.keys));
        Ok(Answers {
            columns: vec![
                AnswerColumn { name: counts.name.clone(), cells: found.iter().map(text).collect(), uncertainty: None },
                AnswerColumn {
                    name: COUNT.to_string(),
                    cells: found.iter().map(|(_, noisy)| Cell::Whole(i128::from(*noisy))).collect(),
                    uncertainty: Some(found.iter().map(unsure).collect()),
                },
            ],
            notes,
            details: Details::default(),
        })
    })
}
