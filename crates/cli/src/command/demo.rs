//! `scumble demo`: draws noise, shows that it is what it should be, and says what privacy it gives.

use crate::failure::Failure;
use clap::Args;
use comfy_table::{Cell, CellAlignment, Table, presets};
use scumble::event::{Event, Kind, Moves, Shift};
use scumble::loss::Loss;
use scumble::noise::{DiscreteLaplace, SecureSource};
use scumble::quantity::{Delta, Scale};
use scumble::scope::Scope;
use std::io::Write;

/// How many numbers are drawn.
const DRAWN: usize = 1_000_000;
/// The noise scale: a count of people published with it is 1/2-private.
const SCALE: f64 = 2.0;
/// Values up to this far from zero have a row of their own.
const SHOWN: i64 = 8;
/// The longest bar of the plot, in characters.
const LONGEST_BAR: f64 = 48.0;

/// The demo takes no arguments.
#[derive(Args)]
pub struct Arguments {}

/// Draws, compares, and prints.
pub fn run(_arguments: &Arguments) -> Result<(), Failure> {
    let scale = Scale::new(SCALE)?;
    let mut noise = vec![0i64; DRAWN];
    DiscreteLaplace::new(scale).fill(&mut SecureSource::new()?, &mut noise);
    let event = Event::new(Kind::DiscreteLaplace { scale }, Moves::everywhere(Shift::one_cell(1.0)?));
    let once = Loss::of(std::slice::from_ref(&event), &Scope::Presence)?.epsilon(Delta::new(0.0)?)?;
    let often = Loss::of(&[event.repeated(50)?], &Scope::Presence)?.epsilon(Delta::new(1e-6)?)?;
    let text = format!(
        "Scumble adds whole-number noise to a count, so that nobody can tell whether one person was in it.\n\n\
         {DRAWN} draws of discrete Laplace noise of scale {SCALE}, from the operating system's random bits:\n\n{}\n\n\
         One count published with this noise is {}-private for the presence of one person.\n\
         Fifty such counts together are ({:.4}, 1e-6)-private, a certified upper bound; adding up the fifty would say {}.\n",
        table(&noise),
        once.upper,
        often.upper,
        50.0 * once.upper
    );
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// P[z] = tanh(1/2s)·e^{−|z|/s}.
fn exact(z: i64) -> f64 {
    (0.5 / SCALE).tanh() * (-(z.abs() as f64) / SCALE).exp()
}

fn table(noise: &[i64]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["noise", "exact", "drawn", "", ""]);
    for z in -SHOWN..=SHOWN {
        let share = noise.iter().filter(|&&drawn| drawn == z).count() as f64 / noise.len() as f64;
        table.add_row(row(&z.to_string(), exact(z), share));
    }
    let inside: f64 = (-SHOWN..=SHOWN).map(exact).sum();
    let outside = noise.iter().filter(|drawn| drawn.abs() > SHOWN).count() as f64 / noise.len() as f64;
    table.add_row(row("other", 1.0 - inside, outside));
    table
}

/// A bar for the exact share, and a mark where the drawn share ends.
fn row(name: &str, exact: f64, drawn: f64) -> Vec<Cell> {
    let longest = self::exact(0);
    let length = |share: f64| (share / longest * LONGEST_BAR).round() as usize;
    let mut plot: Vec<char> = "█".repeat(length(exact)).chars().collect();
    plot.resize(plot.len().max(length(drawn) + 1), ' ');
    plot[length(drawn)] = '│';
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let off = if exact > 0.0 { format!("{:+.2}%", (drawn / exact - 1.0) * 100.0) } else { String::new() };
    vec![
        right(name.to_string()),
        right(format!("{exact:.5}")),
        right(format!("{drawn:.5}")),
        right(off),
        Cell::new(plot.into_iter().collect::<String>()),
    ]
}
