//! How far long work has come: a bar on a terminal, plain lines elsewhere, nothing if that was asked for. Always on
//! stderr.

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use scumble_engine::Watch;
use std::cell::Cell;
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::Arc;

/// Tells about work of a known number of steps; the bar goes away with it.
pub struct Progress {
    shown: ProgressDisplay,
    begun: Cell<u64>,
}

enum ProgressDisplay {
    Nothing,
    Lines,
    Bar(ProgressBar),
}

impl Progress {
    /// Nothing has begun yet.
    pub fn new(quiet: bool, steps: usize) -> Self {
        Self::watching(quiet, steps, Arc::default())
    }

    /// The same; within a step, `watch` tells how many rows were read and what time is left. On a terminal alone: it is
    /// not to be published.
    pub fn watching(quiet: bool, steps: usize, watch: Arc<Watch>) -> Self {
        let shown = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => ProgressDisplay::Nothing,
            (false, false) => ProgressDisplay::Lines,
            (false, true) => ProgressDisplay::Bar(bar(steps, watch)),
        };
        Self { shown, begun: Cell::new(0) }
    }

    /// The next step begins, and with it the one before is done.
    pub fn begin(&self, what: &str) {
        match &self.shown {
            ProgressDisplay::Nothing => {}
            ProgressDisplay::Lines => crate::failure::say(what),
            ProgressDisplay::Bar(bar) => {
                bar.set_position(self.begun.get());
                bar.set_message(what.to_string());
            }
        }
        self.begun.set(self.begun.get() + 1);
    }
}

fn bar(steps: usize, watch: Arc<Watch>) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    let rows = move |_: &ProgressState, text: &mut dyn Write| {
        // A bar that cannot be written is none.
        let _ = text.write_str(&watch.words());
    };
    // The template is ours and well-formed; were it not, the default bar would do.
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg} {rows}") {
        bar.set_style(style.with_key("rows", rows));
    }
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    bar
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let ProgressDisplay::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}
