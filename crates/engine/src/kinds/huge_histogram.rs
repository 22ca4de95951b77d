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
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, PlanSource, Price};
use crate::release::price::noise::{Noise, calibrate_runs, described};
use crate::release::rows::fields::{bounding, quoted};
use crate::sql::analyse::sensitivity;
use crate::sql::execute::integers::Integers;
use crate::sql::{PrivateQuery, analyse_what_occurs};
use crate::tables::Backend;
use crate::tables::bounding::Bounds;
use datafusion::common::ScalarValue;
use scumble::event::{Event, Moves};
use scumble::mechanism::huge_domain::{HugeDomainHistogram, StringDomain};
use scumble::noise::BitSource;
use scumble::quantity::Beta;
use serde_json::json;
use std::rc::Rc;

const COUNT: &str = "count";

/// The rows of each text.
struct TextCounts {
    cut: Rc<PrivateQuery>,
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
    Ok(Some(AnalysedRequest::new(TextCounts { moves, cut: Rc::new(cut), name, texts })))
}

impl Analysis for TextCounts {
    type Mechanism = (Noise, HugeDomainHistogram);

    fn at(&self, cost: &Cost) -> Result<Price<Self::Mechanism>> {
        let mechanism = self.within(cost)?;
        Ok(Price { events: vec![mechanism.0.event(self.moves.clone())?], mechanism })
    }

    fn plan(self: Rc<Self>, (noise, made): Self::Mechanism, events: Vec<Event>) -> Result<Plan> {
        let (threshold, texts, cut) = (made.threshold(), self.texts.last() + 1, &self.cut);
        let shown = threshold as f64 + noise.quantile(2.0 * BETA);
        let about = format!("the same for every string; one is published with probability 95% if it has {shown} rows");
        let expected = ExpectedError::new(COUNT, Some(noise.standard_deviation()), about);
        let expected = vec![expected.with_margin(noise.quantile(BETA))];
        let rule = json!({
            "tables": cut.below.tables, "column": self.name, "texts": texts.to_string(), "noise": described(&noise),
            "threshold": threshold, "bounding": cut.row_bounds().map(Bounds::rule),
        });
        let notes = vec![format!(
            "No delta is needed: all {texts} strings have noise, and one is published if its noisy number of rows is \
                at least {threshold}, which {shown} rows reach with probability 95%. With probability at most 1%, \
                a string is published that no owner has."
        )];
        let counted = ReleasedStatistic::Other("it has too many strings for beliefs about them".into());
        let source = PlanSource::query(cut, Estimates::of(cut.row_bounds(), true));
        let plan = Plan::new(source, events, rule, expected, move |charged| {
            let integers = charged.read(&self.cut)?;
            self.answers(&integers, (&noise, &made), charged.bits())
        });
        Ok(Plan { notes, counted, ..plan })
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

    /// What is published of these integers, with noise.
    fn answers(
        &self,
        integers: &Integers,
        (noise, made): (&Noise, &HugeDomainHistogram),
        bits: &mut dyn BitSource,
    ) -> Result<Answers> {
        let key = |key: &Vec<ScalarValue>| match &key[..] {
            [ScalarValue::Utf8(Some(text))] => self.texts.key(text),
            _ => None,
        };
        let rows = integers.cells.iter().map(|cell| i64::try_from(cell.sums[0]).unwrap_or(i64::MAX));
        let present: Vec<(u128, i64)> =
            integers.keys.iter().zip(rows).filter_map(|(text, rows)| Some((key(text)?, rows))).collect();
        let mut found = made.release(&present, bits)?;
        found.sort_by_key(|(_, noisy)| std::cmp::Reverse(*noisy));
        // Of a text that few have and that is shown by chance the number is too large: the interval is that of the
        // noise given that it is shown.
        let (half, passed) = (noise.quantile(BETA), ThresholdEvidence::new(noise, made.threshold()));
        let unsure = |(_, noisy): &(u128, i64)| {
            let number = *noisy as f64;
            let low = passed.as_ref().map_or(number - half, |passed| passed.low_at(number, BETA));
            // Nobody may have it.
            let low = if low <= 1.0 { 0.0 } else { low };
            Uncertainty { standard_error: noise.standard_deviation(), low, high: number + half }
        };
        let text = |(key, _): &(u128, i64)| Cell::Text(self.texts.text(*key).unwrap_or_default().into());
        let count = |found: &(u128, i64)| (Cell::Whole(i128::from(found.1)), unsure(found));
        let mut notes = vec![
            format!("Only strings whose noisy number of rows is at least {} are shown.", made.threshold()),
            "Rows with a longer string are in no group.".to_string(),
        ];
        notes.extend(rows_without_a_key(&self.cut.query.keys));
        Ok(Answers {
            columns: vec![
                AnswerColumn::plain(&self.name, found.iter().map(text)),
                AnswerColumn::noisy(COUNT, found.iter().map(count)),
            ],
            notes,
            details: Details::default(),
        })
    }
}
