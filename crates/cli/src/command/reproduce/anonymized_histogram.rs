//! `scumble lab reproduce anonymized-histogram`: measured errors on generated histograms.

use crate::command::anonymized_histogram::{generated_elements, layout, named, write_svg};
use crate::failure::Failure;
use crate::output::print;
use crate::progress::Progress;
use clap::Args;
use comfy_table::Table;
use scumble::mechanism::anonymized_histogram::{
    AnonymizedHistogram, ElementCount, HistogramFamily, LayoutChoice, Partition,
};
use scumble::noise::{BitSource, InsecureSeededSource};
use scumble::quantity::{Delta, Epsilon};
use scumble::{Scope, Target};
use scumble_adversary::limits::anonymized_histogram::lower_bound;
use scumble_chart::{Axis, LineChart, Series};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Fewer trials than this say nothing about their own spread.
const FEWEST_TRIALS: u64 = 30;

#[derive(Args)]
pub struct ReproduceHistogramArguments {
    /// The privacy parameters
    #[arg(long, value_delimiter = ',', required = true)]
    epsilon: Vec<Epsilon>,
    /// The numbers of elements
    #[arg(long, value_delimiter = ',', required = true, value_parser = generated_elements)]
    elements: Vec<u64>,
    /// staircase, wide-staircase, zipf, passwords, flat, singletons, hard, hard-alternating
    #[arg(long, value_delimiter = ',', default_value = "staircase", value_parser = data)]
    family: Vec<HistogramData>,
    /// The layouts to compare
    #[arg(long, value_delimiter = ',', default_value = "automatic", value_parser = layout)]
    layout: Vec<LayoutChoice>,
    /// Leaves the number of elements to be estimated
    #[arg(long)]
    private_size: bool,
    /// The relative standard error at which measuring stops
    #[arg(long, default_value_t = 0.02)]
    precision: f64,
    /// The most trials for each number
    #[arg(long, default_value_t = 20_000)]
    trials: u64,
    /// The seed of the noise
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    /// Draws error over unit against epsilon into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// What the error is measured on.
#[derive(Debug, Clone, Copy, PartialEq)]
enum HistogramData {
    Generated(HistogramFamily),
    Hard,
    HardAlternating,
}

impl HistogramData {
    fn name(self) -> &'static str {
        match self {
            Self::Generated(family) => family.name(),
            Self::Hard => "hard",
            Self::HardAlternating => "hard-alternating",
        }
    }
}

fn data(text: &str) -> Result<HistogramData, String> {
    let all: Vec<HistogramData> = HistogramFamily::ALL
        .into_iter()
        .map(HistogramData::Generated)
        .chain([HistogramData::Hard, HistogramData::HardAlternating])
        .collect();
    named(text, "family", &all, HistogramData::name)
}

/// One measured number.
struct ErrorMeasurement {
    data: HistogramData,
    layout: LayoutChoice,
    elements: u64,
    epsilon: f64,
    trials: u64,
    error: f64,
    standard_error: f64,
    unit: f64,
    lower_bound: f64,
    proven: f64,
}

/// Measures every combination.
pub fn run(arguments: &ReproduceHistogramArguments, quiet: bool) -> Result<(), Failure> {
    refuse_if!(!(arguments.precision > 0.0 && arguments.precision < 1.0), "--precision must be a number in (0, 1)");
    let mut bits = InsecureSeededSource::new(arguments.seed);
    let mut all = Vec::new();
    let sizes = [arguments.family.len(), arguments.layout.len(), arguments.elements.len(), arguments.epsilon.len()];
    let progress = Progress::new(quiet, sizes.iter().product());
    for data in &arguments.family {
        for layout in &arguments.layout {
            for elements in &arguments.elements {
                for epsilon in &arguments.epsilon {
                    progress.begin(&format!(
                        "{}, {}, {elements} elements, epsilon {epsilon}",
                        data.name(),
                        layout.name()
                    ));
                    all.push(measure(arguments, *data, *layout, *elements, *epsilon, &mut bits)?);
                }
            }
        }
    }
    let text = if arguments.json { as_json(&all) } else { as_text(&all) };
    write_svg(arguments.svg.as_deref(), || as_svg(&all))?;
    print(&text)
}

fn measure(
    arguments: &ReproduceHistogramArguments,
    data: HistogramData,
    layout: LayoutChoice,
    elements: u64,
    epsilon: Epsilon,
    bits: &mut InsecureSeededSource,
) -> Result<ErrorMeasurement, Failure> {
    let size = if arguments.private_size { ElementCount::Private } else { ElementCount::AtMost(elements) };
    let mechanism = AnonymizedHistogram::within(Target::pure(epsilon), Scope::Presence, size)?.with_layout(layout);
    let (bound, blocks) = lower_bound(elements, epsilon, Delta::new(0.0)?)?;
    let partition = match data {
        HistogramData::Generated(family) => family.generate(elements)?,
        HistogramData::Hard => blocks.instance(|_| bits.next_u64() & 1 == 1)?,
        HistogramData::HardAlternating => blocks.instance(|block| block % 2 == 0)?,
    };
    let (trials, error, standard_error) = mean_error(arguments, &mechanism, &partition, bits)?;
    Ok(ErrorMeasurement {
        data,
        layout,
        elements,
        epsilon: epsilon.get(),
        trials,
        error,
        standard_error,
        unit: unit(elements, epsilon.get()),
        lower_bound: bound,
        proven: mechanism.expected_error(elements)?,
    })
}

/// Trials until the mean is known to the precision asked for, or until there are enough.
fn mean_error(
    arguments: &ReproduceHistogramArguments,
    mechanism: &AnonymizedHistogram,
    partition: &Partition,
    bits: &mut InsecureSeededSource,
) -> Result<(u64, f64, f64), Failure> {
    let (mut trials, mut sum, mut squares) = (0u64, 0.0, 0.0);
    loop {
        let error = mechanism.release(partition, bits)?.partition.distance(partition) as f64;
        trials += 1;
        sum += error;
        squares += error * error;
        let (count, mean) = (trials as f64, sum / trials as f64);
        let standard_error = ((squares / count - mean * mean).max(0.0) / count).sqrt();
        let known = trials >= FEWEST_TRIALS && sum > 0.0 && standard_error <= arguments.precision * mean;
        if known || trials >= arguments.trials {
            return Ok((trials, mean, standard_error));
        }
    }
}

/// What the theory measures errors in: √n·e^{−ε} for low privacy (Theorem 6), √(n·ln(1/ε)/ε) for high privacy.
fn unit(elements: u64, epsilon: f64) -> f64 {
    let elements = elements as f64;
    if epsilon >= 0.5 { elements.sqrt() * (-epsilon).exp() } else { (elements * (1.0 / epsilon).ln() / epsilon).sqrt() }
}

fn as_text(all: &[ErrorMeasurement]) -> String {
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.set_header([
        "family",
        "layout",
        "elements",
        "ε",
        "error",
        "± of",
        "trials",
        "error/unit",
        "error/lower bound",
        "proven/unit",
    ]);
    for one in all {
        table.add_row([
            one.data.name().to_string(),
            one.layout.name().to_string(),
            one.elements.to_string(),
            one.epsilon.to_string(),
            format!("{:.4}", one.error),
            format!("{:.4}", one.standard_error),
            one.trials.to_string(),
            format!("{:.2}", one.error / one.unit),
            format!("{:.2}", one.error / one.lower_bound),
            format!("{:.2}", one.proven / one.unit),
        ]);
    }
    format!("{table}\nunit: √n·e^(−ε) for ε ≥ 0.5, √(n·ln(1/ε)/ε) below\n")
}

fn as_json(all: &[ErrorMeasurement]) -> String {
    let one = |one: &ErrorMeasurement| {
        json!({
            "family": one.data.name(),
            "layout": one.layout.name(),
            "elements": one.elements,
            "epsilon": one.epsilon,
            "trials": one.trials,
            "error": one.error,
            "standard_error": one.standard_error,
            "unit": one.unit,
            "lower_bound": one.lower_bound,
            "proven": one.proven,
        })
    };
    format!("{:#}\n", Value::from(all.iter().map(one).collect::<Vec<Value>>()))
}

/// A curve for every family, layout and number of elements, with the lower bound for the largest.
fn as_svg(all: &[ErrorMeasurement]) -> String {
    let low = all.iter().all(|one| one.epsilon >= 0.5);
    let high = all.iter().all(|one| one.epsilon < 0.5);
    let label = match (low, high) {
        (true, _) => "error / (√n·e^−ε)",
        (_, true) => "error / √(n·ln(1/ε)/ε)",
        _ => "error / unit",
    };
    let x = if low { Axis::linear("ε") } else { Axis::log("ε") };
    let highest = 1.05 * all.iter().map(|one| one.error.max(one.lower_bound) / one.unit).fold(0.0, f64::max);
    let mut chart = LineChart::new("L1 error of anonymized histograms").x(x).y(Axis::linear(label).range(0.0, highest));
    let key = |one: &ErrorMeasurement| (one.data.name(), one.layout.name(), one.elements);
    let mut keys: Vec<_> = all.iter().map(key).collect();
    keys.dedup();
    let varies = |part: fn(&ErrorMeasurement) -> String| all.iter().any(|one| part(one) != part(&all[0]));
    let parts: [fn(&ErrorMeasurement) -> String; 3] =
        [|one| one.data.name().to_string(), |one| one.layout.name().to_string(), |one| format!("n = {}", one.elements)];
    for wanted in &keys {
        let curve: Vec<&ErrorMeasurement> = all.iter().filter(|one| key(one) == *wanted).collect();
        let name: Vec<String> = parts.iter().filter(|part| varies(**part)).map(|part| part(curve[0])).collect();
        let name = if name.is_empty() { wanted.0.to_string() } else { name.join(", ") };
        chart = chart.line(Series::new(name, curve.iter().map(|one| (one.epsilon, one.error / one.unit)).collect()));
    }
    if let Some(last) = keys.last() {
        let curve = all.iter().filter(|one| key(one) == *last);
        let points = curve.map(|one| (one.epsilon, one.lower_bound / one.unit)).collect();
        chart = chart.line(Series::new(format!("nobody can beat (n = {})", last.2), points));
    }
    chart.to_svg()
}
