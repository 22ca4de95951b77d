//! `scumble lab noise DISTRIBUTION`: exact draws, one per line, or a summary of them.

mod distribution;
mod summary;

use crate::failure::Failure;
use crate::input;
use clap::Args;
use distribution::{Distribution, DistributionSampler};
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};
use summary::RunningMoments;

/// Which noise, and how much of it.
#[derive(Args)]
#[command(
    subcommand_required = true,
    subcommand_value_name = "DISTRIBUTION",
    subcommand_help_heading = "Distributions"
)]
#[command(after_help = "Example:\n  scumble lab noise discrete-gaussian --sigma 10 --count 5")]
pub struct NoiseArguments {
    #[command(subcommand)]
    distribution: Distribution,
}

/// What every distribution takes.
#[derive(Args)]
pub struct DrawArguments {
    /// How many draws
    #[arg(long, default_value = "1", value_parser = count, allow_hyphen_values = true)]
    count: u64,
    /// Print one JSON object with mean, variance, least, largest and speed
    #[arg(long)]
    summary: bool,
    /// Print the draws as one JSON list
    #[arg(long, conflicts_with = "summary")]
    json: bool,
    /// Reproducible draws from this seed, for tests: NOT private
    #[arg(long, value_name = "N", value_parser = seed, allow_hyphen_values = true)]
    insecure_seed: Option<u64>,
}

/// This many draws are made, printed and forgotten at a time.
const BLOCK: usize = 1 << 16;

/// Draws and prints.
pub fn run(arguments: &NoiseArguments) -> Result<(), Failure> {
    let draws = arguments.distribution.draws()?;
    let common = arguments.distribution.common();
    let warning = "noise from --insecure-seed can be repeated by anybody: it is not private";
    let mut bits = input::bits(common.insecure_seed, Some(warning))?;
    let mut output = std::io::stdout().lock();
    let mut summary = RunningMoments::default();
    let mut seconds = Duration::ZERO;
    let mut text = String::new();
    let mut missing = common.count;
    let mut block = DrawBlock::Integers(Vec::new());
    if common.json {
        output.write_all(b"[")?;
    }
    while missing > 0 {
        let count = missing.min(draws.block_length(BLOCK) as u64);
        let start = Instant::now();
        draws.draw(&mut *bits, count as usize, &mut block);
        seconds += start.elapsed();
        if common.summary {
            summary.add(&block);
        } else {
            text.clear();
            block.write(&mut text);
            if common.json {
                text = as_list(&text, missing < common.count);
            }
            output.write_all(text.as_bytes())?;
        }
        missing -= count;
    }
    if common.json {
        output.write_all(b"]\n")?;
    }
    if common.summary {
        text.clear();
        let _ = writeln!(text, "{}", summary.to_json(common.count, seconds));
        output.write_all(text.as_bytes())?;
    }
    Ok(output.flush()?)
}

/// Lines of draws as elements of a JSON list, after others or not; a draw of several numbers is a list itself.
fn as_list(lines: &str, continued: bool) -> String {
    let element = |line: &str| match line.contains(' ') {
        true => format!("[{}]", line.replace(' ', ",")),
        false => line.to_string(),
    };
    let elements: Vec<String> = lines.lines().map(element).collect();
    format!("{}{}", if continued { "," } else { "" }, elements.join(","))
}

/// The draws of one block.
pub enum DrawBlock {
    /// One integer per draw.
    Integers(Vec<i64>),
    /// One non-negative integer per draw, perhaps a very large one.
    Large(Vec<u128>),
    /// Several integers per draw.
    Lists(Vec<Vec<i64>>),
}

impl DrawBlock {
    fn write(&self, text: &mut String) {
        match self {
            Self::Integers(values) => values.iter().for_each(|value| write_line(text, value)),
            Self::Large(values) => values.iter().for_each(|value| write_line(text, value)),
            Self::Lists(lists) => {
                for list in lists {
                    for (index, value) in list.iter().enumerate() {
                        let separator = if index == 0 { "" } else { " " };
                        let _ = write!(text, "{separator}{value}");
                    }
                    text.push('\n');
                }
            }
        }
    }
}

fn write_line(text: &mut String, value: impl std::fmt::Display) {
    let _ = writeln!(text, "{value}"); // a String takes everything
}

fn count(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("count must be an integer in [0, 2^64), not {text}"))
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed must be an integer in [0, 2^64), not {text}"))
}

impl DistributionSampler {
    /// How many draws to hold at a time, so that a block of lists stays small too.
    fn block_length(&self, longest: usize) -> usize {
        (longest / self.values_per_draw().max(1)).max(1)
    }
}
