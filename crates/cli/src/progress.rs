//! How far long work has come: a bar on a terminal, plain lines elsewhere, nothing if that was asked for. Always on stderr.

use indicatif::{ProgressBar, ProgressStyle};
use std::cell::Cell;
use std::io::IsTerminal;

/// Tells about work of a known number of steps; the bar goes away with it.
pub struct Progress {
    shown: Shown,
    begun: Cell<u64>,
}

enum Shown {
    Nothing,
    Lines,
    Bar(ProgressBar),
}

impl Progress {
    /// Nothing has begun yet.
    pub fn new(quiet: bool, steps: usize) -> Self {
        let shown = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Shown::Nothing,
            (false, false) => Shown::Lines,
            (false, true) => Shown::Bar(bar(steps)),
        };
        Self { shown, begun: Cell::new(0) }
    }

    /// The next step begins, and with it the one before is done.
    pub fn begin(&self, what: &str) {
        match &self.shown {
            Shown::Nothing => {}
            Shown::Lines => crate::failure::say(what),
            Shown::Bar(bar) => {
                bar.set_position(self.begun.get());
                bar.set_message(what.to_string());
            }
        }
        self.begun.set(self.begun.get() + 1);
    }
}

fn bar(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    // The template is ours and well-formed; were it not, the default bar would do.
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    bar
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}
