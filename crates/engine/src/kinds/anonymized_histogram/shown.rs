//! The frequency-of-frequencies table, what follows from it, and the picture: all from what was released.

use crate::error::Result;
use crate::release::floor::Floor;
use crate::release::output::{AnswerColumn, Answers, BandedCurve, Cell, Details};
use scumble::mechanism::anonymized_histogram::{
    AnonymizedHistogram, BandPoint, CurvePoint, ListedCounts, MOST_ELEMENTS, NoisyCells, Partition, ReleasedHistogram,
    Statistics, top_share,
};
use scumble::quantity::Beta;
use serde_json::{Map, Value, json};

/// Bands and bounds hold with this probability.
const CONFIDENCE: f64 = 0.95;
/// How likely they may fail for a layout that is large enough; that a private size makes it too small adds 0.0005 at
/// most.
const BETA_OF_LAYOUT: f64 = 0.0495;
/// The shares of the most frequent values are shown for these many of them.
const TOPS: [u64; 3] = [1, 10, 100];
/// This many points make a smooth curve.
const CURVE_POINTS: u32 = 300;

/// What was released, however it was noised.
struct HistogramAnswer<'a> {
    partition: &'a Partition,
    band: Vec<BandPoint>,
    curve: Vec<CurvePoint>,
    /// What all counts together are off by at most, with probability 95% and in expectation.
    off: f64,
    expected_off: f64,
    size_estimate: Option<i64>,
    laid_out_for: Option<u64>,
    noise_scale: f64,
    /// Whether nothing was looked at.
    is_void: bool,
    limits: Vec<Floor>,
}

/// How many elements there are, by what was released.
pub(crate) fn elements(released: &ReleasedHistogram) -> u64 {
    let elements = released.size_estimate.map_or(released.laid_out_for, |estimate| estimate.max(0).unsigned_abs());
    elements.min(MOST_ELEMENTS)
}

/// The answers of a layout. A function of `released` alone.
pub(crate) fn answers(
    mechanism: &AnonymizedHistogram,
    released: &ReleasedHistogram,
    limits: Vec<Floor>,
) -> Result<Answers> {
    let beta = Beta::new(BETA_OF_LAYOUT)?;
    Ok(HistogramAnswer {
        partition: &released.partition,
        band: released.band(beta),
        curve: released.curve(beta, CURVE_POINTS),
        off: mechanism.error(beta, released.laid_out_for)?,
        expected_off: mechanism.expected_error(released.laid_out_for)?,
        size_estimate: released.size_estimate,
        laid_out_for: Some(released.laid_out_for),
        noise_scale: released.scale().get(),
        is_void: released.layout.regions() == 0,
        limits,
    }
    .answers())
}

/// The answers of few cells. A function of `noisy` alone.
pub(crate) fn of_cells(counts: &ListedCounts, noisy: &NoisyCells) -> Result<Answers> {
    let beta = Beta::new(BETA_OF_LAYOUT)?;
    Ok(HistogramAnswer {
        partition: &noisy.partition,
        band: noisy.band(beta),
        curve: noisy.curve(beta, CURVE_POINTS),
        off: counts.error(beta),
        expected_off: counts.expected_error(),
        size_estimate: None,
        laid_out_for: None,
        noise_scale: counts.scale().get(),
        is_void: false,
        limits: Vec::new(),
    }
    .answers())
}

impl HistogramAnswer<'_> {
    fn answers(self) -> Answers {
        let runs = || self.partition.runs().rev();
        let columns = vec![
            AnswerColumn::plain("count", runs().map(|run| Cell::Whole(i128::from(run.count)))),
            AnswerColumn::of_unknown_error("how_many", runs().map(|run| Cell::Whole(i128::from(run.values)))),
        ];
        let (notes, facts, curve) = (self.notes(), self.facts(), self.picture());
        let details = Details { curve: Some(curve), facts, limits: self.limits, ..Details::default() };
        Answers { columns, notes, details }
    }

    fn picture(&self) -> BandedCurve {
        // A logarithmic axis has no 0: none is drawn at ½.
        let height = |values: u64| if values == 0 { 0.5 } else { values as f64 };
        let points = self
            .curve
            .iter()
            .map(|point| (point.count as f64, height(point.values), height(point.lower), height(point.upper)));
        BandedCurve {
            title: "How many values occur at least so often".to_string(),
            x: "count".to_string(),
            y: "values (none is drawn at ½)".to_string(),
            promise: format!("holds the truth everywhere with probability {CONFIDENCE}"),
            points: points.collect(),
        }
    }

    fn facts(&self) -> Map<String, Value> {
        let statistics = Statistics::of(self.partition);
        let top = |k: &u64| json!({ "k": k, "share": top_share(self.partition, *k) });
        let mut facts = Map::new();
        facts.insert(
            "statistics".into(),
            json!({
                "elements": statistics.elements,
                "distinct_values": statistics.values,
                "singletons": statistics.singletons,
                "coverage": statistics.coverage,
                "entropy_bits": statistics.entropy_bits,
                "entropy_bits_corrected": statistics.entropy_bits_corrected,
                "collision_probability": statistics.collision_probability,
                "top": TOPS.iter().map(top).collect::<Vec<Value>>(),
            }),
        );
        facts.insert("size_estimate".into(), json!(self.size_estimate));
        facts.insert("laid_out_for".into(), json!(self.laid_out_for));
        facts.insert("noise_scale".into(), json!(self.noise_scale));
        let error = json!({
            "l1_at_most": self.off, "with_probability": CONFIDENCE, "l1_expected_at_most": self.expected_off,
        });
        facts.insert("error".into(), error);
        let band = self.band.iter().map(|point| [point.count, point.lower, point.upper]);
        facts.insert("band".into(), json!(band.collect::<Vec<_>>()));
        facts
    }

    fn notes(&self) -> Vec<String> {
        let statistics = Statistics::of(self.partition);
        let mut notes = vec![
            "Each row: how many values occur exactly this often. Which values they are is not published.".to_string(),
            format!("All counts together are off by at most {:.0}, with probability {CONFIDENCE}.", self.off),
            format!(
                "About {} rows with {} different values; {} of them occur once.",
                self.size_estimate.map_or(statistics.elements, |estimate| estimate.max(0).unsigned_abs()),
                statistics.values,
                statistics.singletons
            ),
        ];
        if let (Some(coverage), Some(entropy)) = (statistics.coverage, statistics.entropy_bits) {
            let shares = TOPS.iter().filter_map(|k| Some(format!("{k}: {:.4}", top_share(self.partition, *k)?)));
            notes.push(format!(
                "Coverage (Good–Turing) {coverage:.4}; entropy {entropy:.3} bits; share of the most frequent values, {}.",
                shares.collect::<Vec<_>>().join(", ")
            ));
        }
        if self.is_void {
            notes.push("There is too little data for this cost: the empty histogram is the best answer.".to_string());
        }
        notes
    }
}
