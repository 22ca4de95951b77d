//! Made-up rows of a wide table: how far their tables are from the data's, CPU seconds and memory.
//!
//! `wide CSV SETS SIZES RHO RELEASES`: SETS has a line of column numbers for each table to compare, SIZES is a list with commas; one JSON object per release.

use scumble::noise::SecureSource;
use scumble::quantity::Rho;
use scumble::workload::planner::RhoLimits;
use scumble::workload::wide::Records;
use scumble::workload::wide::synthetic::SyntheticPlan;
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [csv, sets, sizes, rho, releases] = &arguments[..] else { return Err("CSV SETS SIZES RHO RELEASES".into()) };
    let sizes: Vec<u32> = sizes.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let data = read(csv, &sizes)?;
    let sets: Vec<Vec<usize>> = std::fs::read_to_string(sets)?
        .lines()
        .map(|line| line.split(' ').map(str::parse).collect::<Result<_, _>>())
        .collect::<Result<_, _>>()?;
    let limits = RhoLimits { presence: Some(Rho::new(rho.parse()?)?), ..RhoLimits::default() };
    for _ in 0..releases.parse::<u64>()? {
        let before = cpu_seconds();
        let plan = SyntheticPlan::within(&limits, &sizes)?;
        let made = plan.release(&data, 10_000_000, &mut SecureSource::new()?)?;
        let seconds = cpu_seconds() - before;
        let megabytes = peak_megabytes();
        let rows = Records::new(sizes.clone(), made.columns)?;
        let distances: Vec<(usize, f64)> = sets.iter().map(|set| (set.len(), distance(&data, &rows, set))).collect();
        let of = |size: usize| distances.iter().filter(move |(own, _)| *own == size).map(|(_, distance)| *distance);
        let mean = |size: usize| of(size).sum::<f64>() / of(size).count().max(1) as f64;
        println!(
            "{}",
            json!({ "pairs": mean(2), "worst": of(2).fold(0.0, f64::max), "triples": mean(3), "rows": rows.people(), "tables": made.measured.len() - sizes.len(), "seconds": seconds, "megabytes": megabytes })
        );
    }
    Ok(())
}

fn read(path: &str, sizes: &[u32]) -> Result<Records, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(path)?;
    let mut columns = vec![Vec::new(); sizes.len()];
    for line in text.lines().skip(1) {
        for (column, value) in columns.iter_mut().zip(line.split(',')) {
            column.push(value.parse()?);
        }
    }
    Ok(Records::new(sizes.to_vec(), columns)?)
}

/// Half the sum of the absolute differences of the shares.
fn distance(left: &Records, right: &Records, set: &[usize]) -> f64 {
    let (of_left, of_right) = (1.0 / left.people() as f64, 1.0 / right.people() as f64);
    let both = left.count(set).into_iter().zip(right.count(set));
    both.map(|(l, r)| (l as f64 * of_left - r as f64 * of_right).abs()).sum::<f64>() / 2.0
}

/// CPU seconds that this process has used, from /proc (in hundredths).
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let fields: Vec<f64> = after_name.split_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect();
    fields.get(11..13).map_or(0.0, |times| times.iter().sum::<f64>() / 100.0)
}

/// The most memory that this process has had.
fn peak_megabytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}
