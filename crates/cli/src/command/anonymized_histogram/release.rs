//! `scumble lab anonymized-histogram release` and `… degrees`.

use super::{MechanismArguments, as_csv, input, write_svg};
use crate::failure::Failure;
use crate::output::print;
use clap::Args;
use comfy_table::Table;
use scumble::mechanism::anonymized_histogram::{
    AnonymizedHistogram, BandPoint, Partition, ReleasedHistogram, Statistics, top_share,
};
use scumble::quantity::Beta;
use scumble_chart::{Axis, Band, LineChart, Series};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The text shows this many rows of the table at each end.
const SHOWN_RUNS: usize = 8;
/// This many points make a smooth curve.
const CURVE_POINTS: u32 = 300;

#[derive(Args)]
pub struct HistogramReleaseArguments {
    /// The counts: one per line, or `count,how_many` per line
    counts: PathBuf,
    /// The most elements that one owner has; costs this many times as much
    #[arg(long, default_value_t = 1)]
    elements_per_owner: u64,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Args)]
pub struct DegreeArguments {
    /// The edges: two names per line
    edges: PathBuf,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Args)]
struct OutputArguments {
    #[command(flatten)]
    mechanism: MechanismArguments,
    /// Shares of this many most frequent values
    #[arg(long, value_delimiter = ',', default_value = "1,10,100")]
    top: Vec<u64>,
    /// How likely the stated error and the band may be exceeded
    #[arg(long, default_value = "0.05")]
    beta: Beta,
    /// Prints everything as JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Prints only the table, as `count,how_many`
    #[arg(long)]
    csv: bool,
    /// Draws the curve with its band into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Draws the noise from this seed: reproducible, and not private
    #[arg(long, value_name = "SEED")]
    insecure_seed: Option<u64>,
}

/// The release of a file of counts.
pub fn counts(arguments: &HistogramReleaseArguments) -> Result<(), Failure> {
    let mechanism = arguments.output.mechanism.mechanism(arguments.elements_per_owner)?;
    release(&mechanism, &input::counts(&arguments.counts)?, &arguments.output)
}

/// The release of a degree sequence: an edge is an owner of two elements, its ends.
pub fn degrees(arguments: &DegreeArguments) -> Result<(), Failure> {
    let mechanism = arguments.output.mechanism.mechanism(2)?;
    release(&mechanism, &input::degrees(&arguments.edges)?, &arguments.output)
}

fn release(mechanism: &AnonymizedHistogram, data: &Partition, output: &OutputArguments) -> Result<(), Failure> {
    let mut bits = crate::input::bits(output.insecure_seed, None)?;
    let released = mechanism.release(data, bits.as_mut())?;
    let band = released.band(output.beta);
    let text = if output.csv {
        as_csv(&released.partition)
    } else if output.json {
        format!("{:#}\n", as_json(mechanism, &released, &band, output)?)
    } else {
        as_text(mechanism, &released, output)?
    };
    write_svg(output.svg.as_deref(), || as_svg(&released, output.beta))?;
    print(&text)
}

fn as_text(
    mechanism: &AnonymizedHistogram,
    released: &ReleasedHistogram,
    output: &OutputArguments,
) -> Result<String, Failure> {
    let mut text = String::new();
    if let Some(seed) = output.insecure_seed {
        text += &format!("NOT PRIVATE: the noise comes from the seed {seed}.\n");
    }
    text += &super::plan::cost(mechanism);
    let (partition, beta) = (&released.partition, output.beta);
    let error = mechanism.error(beta, partition.elements())?;
    let (rows, columns) =
        if released.layout.is_single() { ("rows", "columns") } else { ("strips of rows", "strips of columns") };
    text += &format!(
        "Made for at most {} elements: {} {rows} and {} {columns}, each with discrete Laplace noise of scale {:.4}.\n",
        released.laid_out_for,
        released.noisy.rows.len(),
        released.noisy.strips.len(),
        released.scale().get()
    );
    text += &format!("The counts are off by at most {error:.0} in all, with probability {}.\n", 1.0 - beta.get());
    if let Some(estimate) = released.size_estimate {
        text += &format!("The number of elements by itself was estimated as {estimate}.\n");
    }
    text.push('\n');
    text += &statistics_table(partition, &output.top);
    text += &format!("\n\n{}\n", runs_table(partition));
    Ok(text)
}

fn statistics_table(partition: &Partition, top: &[u64]) -> String {
    let statistics = Statistics::of(partition);
    let shown = |value: Option<f64>| value.map_or("–".to_string(), |value| format!("{value:.4}"));
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.add_row(["elements".to_string(), statistics.elements.to_string()]);
    table.add_row(["different values".to_string(), statistics.values.to_string()]);
    table.add_row(["values that occur once".to_string(), statistics.singletons.to_string()]);
    table.add_row(["coverage (Good–Turing)".to_string(), shown(statistics.coverage)]);
    table.add_row(["entropy in bits".to_string(), shown(statistics.entropy_bits)]);
    table.add_row(["entropy in bits (Miller–Madow)".to_string(), shown(statistics.entropy_bits_corrected)]);
    table.add_row(["collision probability".to_string(), shown(statistics.collision_probability)]);
    for k in top {
        table.add_row([format!("share of the {k} most frequent"), shown(top_share(partition, *k))]);
    }
    table.to_string()
}

fn runs_table(partition: &Partition) -> String {
    let runs: Vec<_> = partition.runs().collect();
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.set_header(["count", "values"]);
    for (position, run) in runs.iter().enumerate() {
        if position < SHOWN_RUNS || position + SHOWN_RUNS >= runs.len() {
            table.add_row([run.count.to_string(), run.values.to_string()]);
        } else if position == SHOWN_RUNS {
            table.add_row(["…".to_string(), format!("({} more; --csv shows all)", runs.len() - 2 * SHOWN_RUNS)]);
        }
    }
    table.to_string()
}

fn as_json(
    mechanism: &AnonymizedHistogram,
    released: &ReleasedHistogram,
    band: &[BandPoint],
    output: &OutputArguments,
) -> Result<Value, Failure> {
    let partition = &released.partition;
    let statistics = Statistics::of(partition);
    let top = |k: &u64| json!({"k": k, "share": top_share(partition, *k)});
    Ok(json!({
        "kind": "anonymized-histogram",
        "private": output.insecure_seed.is_none(),
        "scope": "presence",
        "epsilon": mechanism.epsilon().get(),
        "elements_per_owner": mechanism.elements_per_owner(),
        "epsilon_per_element": mechanism.epsilon_per_element().get(),
        "epsilon_for_size": mechanism.epsilon_for_size().map(|epsilon| epsilon.get()),
        "size_estimate": released.size_estimate,
        "laid_out_for": released.laid_out_for,
        "noise_scale": released.scale().get(),
        "error": {
            "beta": output.beta.get(),
            "at_most": mechanism.error(output.beta, partition.elements())?,
            "expected_at_most": mechanism.expected_error(partition.elements())?,
        },
        "statistics": {
            "elements": statistics.elements,
            "values": statistics.values,
            "singletons": statistics.singletons,
            "coverage": statistics.coverage,
            "entropy_bits": statistics.entropy_bits,
            "entropy_bits_corrected": statistics.entropy_bits_corrected,
            "collision_probability": statistics.collision_probability,
            "top": output.top.iter().map(top).collect::<Vec<Value>>(),
        },
        "runs": partition.runs().map(|run| [run.count, run.values]).collect::<Vec<_>>(),
        "band": band.iter().map(|point| [point.count, point.lower, point.upper]).collect::<Vec<_>>(),
        "noisy": {
            "rows": released.noisy.rows,
            "strips": released.noisy.strips,
            "row_bounds": released.layout.row_bounds(),
            "bounds": released.layout.column_bounds(),
        },
    }))
}

/// How many values have count ≥ r, against r, with the band.
fn as_svg(released: &ReleasedHistogram, beta: Beta) -> String {
    // A logarithmic axis has no 0: none is drawn at ½.
    let height = |values: u64| if values == 0 { 0.5 } else { values as f64 };
    let points = released.curve(beta, CURVE_POINTS);
    let band = points.iter().map(|point| (point.count as f64, height(point.lower), height(point.upper)));
    let curve = points.iter().map(|point| (point.count as f64, height(point.values)));
    let confidence = format!("holds the truth everywhere with probability {}", 1.0 - beta.get());
    LineChart::new("How many values occur at least so often")
        .x(Axis::log("count"))
        .y(Axis::log("values with at least this count (none is drawn at ½)"))
        .band(Band::new(confidence, band.collect()).steps())
        .line(Series::new("private", curve.collect()).steps())
        .to_svg()
}
