//! The life of a charge: which entries may follow its reservation, and in which order. Writing an entry and verifying a
//! ledger use the same rule, [`ChargeProgress::follow`].
//!
//! - A charge for **one draw** (`one_draw` is true): `drawn`, then `commit`.
//! - A round of an interactive release (`one_draw` is false), whose charge pays for **each answer** up to the first
//!   measured one: the reservation lets rows be read for answer 1. Each answer has an entry `drawn` with its number and
//!   the digest of the state that it left, before anything of it is seen. For each answer after the first, `reading`
//!   stands before it, and is written before a row is read: a round in which that was not followed by `drawn` is over.
//! - Charges of older versions do not say (`one_draw` is absent): something of them may have been seen at any time.

use crate::body::{Entry, ReserveEntry};
use crate::digest::unhex;

/// For what a charge pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum DrawMode {
    /// One draw that somebody sees.
    #[default]
    One,
    /// The answers of a round, one after the other.
    Each,
}

/// How far a charge has come.
#[derive(Debug, Clone)]
pub struct ChargeProgress {
    /// None where it is not written down.
    draws: Option<DrawMode>,
    /// How many draws may have been seen.
    drawn: u64,
    commits: u64,
    /// The digests of the states that a round's answers left, in order.
    states: Vec<String>,
    /// Whether rows are being read for a round's next answer, or were when a process died.
    is_reading: bool,
}

impl ChargeProgress {
    /// At the reservation.
    pub(crate) fn of(reserve: &ReserveEntry) -> Self {
        let draws = reserve.one_draw.get().map(|is_one| if *is_one { DrawMode::One } else { DrawMode::Each });
        Self { draws, drawn: 0, commits: 0, states: Vec::new(), is_reading: false }
    }

    /// Whether somebody may have seen something of it.
    pub fn is_seen(&self) -> bool {
        self.draws.is_none() || self.drawn > 0 || self.commits > 0
    }

    /// How often its outputs were put into place.
    pub fn commits(&self) -> u64 {
        self.commits
    }

    /// How many answers of a round may have been seen.
    pub fn answers(&self) -> u64 {
        self.drawn.max(self.commits)
    }

    /// The digests of the states that a round's answers left, in order.
    pub fn states(&self) -> &[String] {
        &self.states
    }

    /// Takes the next entry; false where that may not follow.
    #[must_use]
    pub(crate) fn follow(&mut self, entry: &Entry) -> bool {
        let next = self.answers() + 1;
        match (entry, self.draws) {
            (Entry::Reading(reading), Some(DrawMode::Each)) => {
                let may = reading.answer.get() == Some(&next) && self.drawn > 0 && !self.is_reading;
                self.is_reading |= may;
                may
            }
            (Entry::Drawn(_), Some(DrawMode::One)) => {
                let may = self.drawn == 0;
                self.drawn = 1;
                may
            }
            // An older round gets answers of the model alone, which read no row.
            (Entry::Drawn(drawn), Some(DrawMode::Each) | None) => {
                let is_next = drawn.answer.get() == Some(&next);
                let state = drawn.state.get().filter(|state| is_next && unhex(state).is_some());
                self.drawn = next;
                self.is_reading = false;
                self.states.extend(state.cloned());
                state.is_some()
            }
            (Entry::Commit(_), draws) => {
                self.commits += 1;
                match draws {
                    Some(DrawMode::One) => self.drawn > 0,
                    Some(DrawMode::Each) => self.commits <= self.drawn,
                    None => true,
                }
            }
            _ => false,
        }
    }
}
