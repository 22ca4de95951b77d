//! ColumnPairs of many binary columns: `psd COLUMNS PEOPLE FILE` makes up people, measures them, writes the noisy correlations to FILE (f64, little-endian, row after row) and
//! their projection to FILE.projected, and prints the CPU seconds of the projection as JSON.

use scumble::noise::{BitSource, InsecureSeededSource};
use scumble::quantity::Rho;
use scumble::workload::Bits;
use scumble::workload::planner::RhoLimits;
use scumble::workload::psd::{ColumnPairs, MeasuredPairs, nearest_correlation, projected_error};
use std::error::Error;

const RHO: f64 = 0.1;

fn used() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("empty schedstat")?.parse::<f64>()? / 1e9)
}

/// Each column follows one of ten hidden ones, three times of four.
fn people(columns: usize, number: usize, bits: &mut InsecureSeededSource) -> Vec<Vec<bool>> {
    let mut coins = |number: usize| (0..number).map(|_| bits.next_bits(1) == 1).collect::<Vec<bool>>();
    let hidden: Vec<Vec<bool>> = (0..10).map(|_| coins(number)).collect();
    (0..columns)
        .map(|column| {
            let (own, follows) = (coins(number), coins(number));
            let of = &hidden[column % 10];
            (0..number).map(|person| if follows[person] { of[person] } else { own[person] }).collect()
        })
        .collect()
}

/// Σv of a column and Σv·v of a pair, with noise, from the unbiased tables.
fn correlations(measured: &MeasuredPairs, columns: usize) -> Vec<f64> {
    let (size, number) = (columns + 1, measured.people().max(1) as f64);
    let single = |column: usize| (2.0 * measured.one((column, false)) - measured.people() as f64) / number;
    let pair = |left: usize, right: usize| {
        let [none, all] = [false, true].map(|value| measured.both((left, value), (right, value)));
        (2.0 * (none + all) - measured.people() as f64) / number
    };
    let mut matrix = vec![1.0; size * size];
    for row in 1..size {
        for column in 0..row {
            let value = if column == 0 { single(row - 1) } else { pair(column - 1, row - 1) };
            (matrix[row * size + column], matrix[column * size + row]) = (value, value);
        }
    }
    matrix
}

fn root_mean_square(left: &[f64], right: &[f64], size: usize) -> f64 {
    let squares: f64 = left.iter().zip(right).map(|(a, b)| (a - b).powi(2)).sum();
    (squares / (size * (size - 1)) as f64).sqrt()
}

fn written(path: &str, matrix: &[f64]) -> std::io::Result<()> {
    std::fs::write(path, matrix.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [columns, number, path] = &arguments[..] else { return Err("give COLUMNS PEOPLE FILE".into()) };
    let (columns, number) = (columns.parse::<usize>()?, number.parse::<usize>()?);
    let mut source = InsecureSeededSource::new(20_261_116);
    let bits = Bits::new(&people(columns, number, &mut source))?;
    let at = |rho: f64| -> Result<ColumnPairs, Box<dyn Error>> {
        let limits =
            RhoLimits { presence: Some(Rho::new(rho)?), public_people: Some(number as u64), ..RhoLimits::default() };
        Ok(ColumnPairs::within(&limits, columns)?)
    };
    let pairs = at(RHO)?;
    let noisy = correlations(&pairs.release(&bits, &mut source)?, columns);
    // With next to no noise: the truth.
    let exact = correlations(&at(1e6)?.release(&bits, &mut source)?, columns);
    let (size, begun) = (columns + 1, used()?);
    let nearest = nearest_correlation(size, &noisy)?;
    let seconds = used()? - begun;
    written(path, &noisy)?;
    written(&format!("{path}.projected"), nearest.entries())?;
    let shown = serde_json::json!({
        "size": size, "seconds": seconds, "steps": nearest.steps, "gap": nearest.gap,
        "noise": root_mean_square(&noisy, &exact, size), "projected": root_mean_square(nearest.entries(), &exact, size),
        "promised": projected_error(size, pairs.noise().2.get() / number as f64),
    });
    println!("{shown}");
    Ok(())
}
