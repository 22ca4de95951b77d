//! What training on samples (DP-SGD) costs, the least noise for a target, and how the bounds enclose the truth.
//!
//! `cargo run --release -p scumble --example training`

use scumble::calibrate::{FreeParameter, calibrate};
use scumble::event::{Sampling, Word};
use scumble::quantity::delta;
use scumble::{Event, Loss, Moves, Result, Scope, Shift};

pub(crate) fn main() -> Result<()> {
    let (rate, steps, delta) = (0.004, 5_000, delta(1e-6)?);
    let training = |sigma: f64| -> Result<Event> {
        let step = Event::new(Word::Gaussian { sigma: sigma.try_into()? }, Moves::everywhere(Shift::one_cell(1.0)?));
        step.sampled(Sampling::Poisson(rate.try_into()?)).repeated(steps)
    };

    println!("{steps} steps on samples of {rate}, at delta {delta}");
    println!("{:>6} {:>12} {:>12}", "sigma", "epsilon ≥", "epsilon ≤");
    for sigma in [0.7, 1.0, 1.5] {
        let answer = Loss::of([training(sigma)?], Scope::Presence)?.epsilon(delta);
        println!("{sigma:>6} {:>12.5} {:>12.5}", answer.lower, answer.upper);
    }

    let found = calibrate(&training(1.0)?, FreeParameter::Noise, &Scope::Presence, 1.0.try_into()?, delta)?;
    if let Word::Gaussian { sigma } = found.word() {
        println!("the least sigma for epsilon 1: {:.4}", sigma.get());
    }
    Ok(())
}
