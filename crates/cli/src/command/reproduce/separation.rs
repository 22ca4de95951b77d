//! `scumble lab reproduce separation`: what a guarantee per attribute saves against one per person as attributes grow.

use super::directory;
use crate::failure::Failure;
use crate::output::print;
use crate::progress::Progress;
use clap::Args;
use scumble::calibrate::{ShiftNorms, sigma_for_zcdp};
use scumble::mechanism::heavy_hitters::{HeavyHitters, JoinShape, ThresholdRule, Tree};
use scumble::noise::InsecureSeededSource;
use scumble::quantity::{Epsilon, Rho};
use scumble::workload::projection::Projection;
use scumble::workload::{Domain, Queries, Subset};
use scumble_chart::{Axis, LineChart, Series};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Runs heavy hitters and conjunctions on made-up data for more and more attributes, at ε 1 per attribute and at ε 1
/// per person
#[derive(Args)]
pub struct ReproduceSeparationArguments {
    /// Where to write heavy-hitters.svg and conjunctions.svg (a directory that exists)
    #[arg(long)]
    out: Option<PathBuf>,
    /// Seed of the random bits; the data is made up, so nothing here needs to be private
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How many attributes the trees have: with fewer than 16, twenty thousand random people fill every string.
const TREES: [usize; 4] = [16, 32, 64, 128];
/// How many attributes the conjunctions are about.
const CONJUNCTIONS: [usize; 5] = [4, 6, 8, 10, 12];
/// Releases per measurement: a count is found if 19 of 20 releases list it.
const RELEASES: usize = 20;
const PEOPLE: u64 = 20_000;

/// Measures, prints two tables, and draws them if asked.
pub fn run(arguments: &ReproduceSeparationArguments, quiet: bool) -> Result<(), Failure> {
    let folder = arguments.out.as_deref().map(directory).transpose()?;
    let mut bits = InsecureSeededSource::new(arguments.seed);
    let progress = Progress::new(quiet, TREES.len() + CONJUNCTIONS.len());
    let mut trees = Vec::new();
    for attributes in TREES {
        progress.begin(&format!("heavy hitters of {attributes} attributes"));
        trees.push(HeavyHitterRow::measure(attributes, &mut bits)?);
    }
    let mut conjunctions = Vec::new();
    for attributes in CONJUNCTIONS {
        progress.begin(&format!("conjunctions of {attributes} attributes"));
        conjunctions.push(ConjunctionRow::measure(attributes, &mut bits)?);
    }
    if let Some(folder) = folder {
        std::fs::write(folder.join("heavy-hitters.svg"), heavy_chart(&trees))?;
        std::fs::write(folder.join("conjunctions.svg"), conjunction_chart(&conjunctions))?;
    }
    let text = match arguments.json {
        true => format!("{:#}\n", as_json(&trees, &conjunctions)),
        false => format!("{}\n{}", heavy_table(&trees), conjunction_table(&conjunctions)),
    };
    print(&text)
}

fn as_json(trees: &[HeavyHitterRow], conjunctions: &[ConjunctionRow]) -> Value {
    let pair = |(attribute, person): (f64, f64)| json!({ "per_attribute": attribute, "per_person": person });
    let trees = trees.iter().map(|row| {
        let found = pair((row.found.0 as f64, row.found.1 as f64));
        json!({ "attributes": row.attributes, "least_count_found": found, "epsilon_person": row.person })
    });
    let conjunctions = conjunctions.iter().map(|row| {
        let (noise, error) = (pair(row.noise), pair(row.projected));
        json!({ "attributes": row.attributes, "queries": row.queries, "noise": noise, "error_after_projection": error })
    });
    json!({ "heavy_hitters": trees.collect::<Vec<_>>(), "conjunctions": conjunctions.collect::<Vec<_>>() })
}

struct HeavyHitterRow {
    attributes: usize,
    /// The least count that is found at ε = 1 per attribute, and at ε = 1 per person.
    found: (u64, u64),
    /// What the release at ε = 1 per attribute costs a person.
    person: f64,
}

impl HeavyHitterRow {
    fn measure(attributes: usize, bits: &mut InsecureSeededSource) -> Result<Self, Failure> {
        let per_attribute = tree(attributes, 1.0)?;
        // The same tree, calibrated so that a whole person costs 1: ε(person) falls with the target per attribute.
        let (mut low, mut high) = (1e-4, 1.0);
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if tree(attributes, middle)?.epsilon_person() <= 1.0 { low = middle } else { high = middle }
        }
        let found = (least_found(&per_attribute, bits)?, least_found(&tree(attributes, low)?, bits)?);
        Ok(Self { attributes, found, person: per_attribute.epsilon_person().get() })
    }
}

fn tree(attributes: usize, epsilon: f64) -> Result<Tree, Failure> {
    let targets = vec![Epsilon::new(epsilon)?; attributes];
    let shape = JoinShape::balanced(attributes)?;
    // The lowest threshold that keeps lists short: one clip depth above nobody.
    let flat = ThresholdRule { bottom: 0, ..ThresholdRule::default() }.calibrate(&shape, &targets)?;
    let bottom = flat.nodes()[0].clip + 1;
    Ok(ThresholdRule { bottom, ..ThresholdRule::default() }.calibrate(&shape, &targets)?)
}

/// The least number of people with the same string for which 19 of 20 releases list it; everybody else is random.
fn least_found(tree: &Tree, bits: &mut InsecureSeededSource) -> Result<u64, Failure> {
    let attributes = tree.attributes();
    let finder = HeavyHitters::new(tree.clone(), vec![2; attributes])?;
    let mut found = |count: u64| -> Result<bool, Failure> {
        let value = |i: u64, j: u64| {
            let mixed = (i * 131 + j + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            if i < count { 0 } else { ((mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40 & 1) as u8 }
        };
        let columns: Vec<Vec<u8>> =
            (0..attributes as u64).map(|j| (0..PEOPLE.max(2 * count)).map(|i| value(i, j)).collect()).collect();
        let mut listed = 0;
        for _ in 0..RELEASES {
            let strings = finder.release(&columns, bits)?.strings;
            listed += usize::from(strings.iter().any(|string| string.values.iter().all(|&value| value == 0)));
        }
        Ok(listed * 20 >= RELEASES * 19)
    };
    let (mut low, mut high) = (0u64, 16u64);
    while !found(high)? {
        (low, high) = (high, high * 2);
    }
    while high - low > 1.max(high / 50) {
        let middle = u64::midpoint(low, high);
        if found(middle)? { high = middle } else { low = middle }
    }
    Ok(high)
}

fn heavy_table(rows: &[HeavyHitterRow]) -> String {
    let mut text = String::from(
        "Heavy hitters: the least count that 19 of 20 releases find\n\n\
         | attributes | at epsilon 1 per attribute | at epsilon 1 per person | ratio | per-person epsilon of the first |\n\
         |---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let (attribute, person) = row.found;
        let ratio = person as f64 / attribute as f64;
        let cost = scumble::quantity::rounded_up(row.person, 4);
        text += &format!("| {} | {attribute} | {person} | {ratio:.1} | {cost} |\n", row.attributes);
    }
    text
}

fn heavy_chart(rows: &[HeavyHitterRow]) -> String {
    let line = |name: &str, of: &dyn Fn(&HeavyHitterRow) -> f64| {
        Series::new(name, rows.iter().map(|row| (row.attributes as f64, of(row))).collect())
    };
    let first = rows.first().map_or(1.0, |row| row.found.0 as f64);
    let first_person = rows.first().map_or(1.0, |row| row.found.1 as f64);
    let start = TREES[0] as f64;
    LineChart::new("Heavy hitters: the least count that is found")
        .x(Axis::log("attributes"))
        .y(Axis::log("people"))
        .line(line("epsilon 1 per attribute", &|row| row.found.0 as f64))
        .line(line("epsilon 1 per person", &|row| row.found.1 as f64))
        .line(line("log d, from the first point", &|row| first * (row.attributes as f64).ln() / start.ln()))
        .line(line("d, from the first point", &|row| first_person * row.attributes as f64 / start))
        .to_svg()
}

struct ConjunctionRow {
    attributes: usize,
    /// How many queries there are.
    queries: usize,
    /// The root mean squared error of the noisy answers, per attribute and per person, and after projection.
    noise: (f64, f64),
    projected: (f64, f64),
}

impl ConjunctionRow {
    fn measure(attributes: usize, bits: &mut InsecureSeededSource) -> Result<Self, Failure> {
        let domain = Domain::new(vec![2; attributes])?;
        let queries = Queries::conjunctions(&domain, 2)?;
        let counts: Vec<u64> =
            (0..domain.cells() as u64).map(|cell| cell.wrapping_mul(2_654_435_761) >> 7 & 15).collect();
        let people = counts.iter().sum();
        let exact = queries.answers(&counts);
        let mut measure = |squared_sensitivity: u64| -> Result<(f64, f64), Failure> {
            // ε₀-CDP, that is ρ = 1/2 at ε₀ = 1.
            let sigma = sigma_for_zcdp(Rho::new(0.5)?, ShiftNorms::units(squared_sensitivity))?;
            let released = Projection::new(queries.clone(), sigma).release(&counts, people, bits)?;
            let squares = released.answers.iter().zip(&exact).map(|(answer, &exact)| (answer - exact as f64).powi(2));
            Ok((sigma.get(), (squares.sum::<f64>() / exact.len() as f64).sqrt()))
        };
        let per_attribute = measure(queries.squared_sensitivity(Subset::of(&[0])))?;
        let per_person = measure(queries.squared_sensitivity(domain.all()))?;
        Ok(Self {
            attributes,
            queries: queries.len(),
            noise: (per_attribute.0, per_person.0),
            projected: (per_attribute.1, per_person.1),
        })
    }
}

fn conjunction_table(rows: &[ConjunctionRow]) -> String {
    let mut text = String::from(
        "All conjunctions of 2 attributes, rho = 1/2: noise on each answer, and the measured error after projection\n\n\
         | attributes | queries | noise per attribute | noise per person | ratio | sqrt(d/k) | error per attribute | error per person |\n\
         |---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let theory = (row.attributes as f64 / 2.0).sqrt();
        text += &format!(
            "| {} | {} | {:.2} | {:.2} | {:.3} | {theory:.3} | {:.2} | {:.2} |\n",
            row.attributes,
            row.queries,
            row.noise.0,
            row.noise.1,
            row.noise.1 / row.noise.0,
            row.projected.0,
            row.projected.1
        );
    }
    text
}

fn conjunction_chart(rows: &[ConjunctionRow]) -> String {
    let line = |name: &str, of: &dyn Fn(&ConjunctionRow) -> f64| {
        Series::new(name, rows.iter().map(|row| (row.attributes as f64, of(row))).collect())
    };
    // Per query: √k against √d, in units of √(m/d).
    let unit = |row: &ConjunctionRow| (row.queries as f64 / row.attributes as f64).sqrt();
    LineChart::new("Conjunctions of 2 attributes: noise in units of sqrt(m/d)")
        .x(Axis::linear("attributes"))
        .y(Axis::linear("noise"))
        .line(line("per attribute", &|row| row.noise.0 / unit(row)))
        .line(line("per person", &|row| row.noise.1 / unit(row)))
        .line(line("sqrt(k)", &|_| 2f64.sqrt()))
        .line(line("sqrt(d)", &|row| (row.attributes as f64).sqrt()))
        .to_svg()
}
