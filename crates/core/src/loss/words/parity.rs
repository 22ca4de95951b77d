//! `parity`: a solution of the linear equations of a random sample of rows, or nothing (survey 7.8.5).
//!
//! # What it costs, and why
//! Let p be the probability with which a row is kept and c that of giving up. Compare rows D with D and one more row r.
//! Without r the law of the output is Q; with it (1−p)·Q + p·Q_r, where Q_r is the law if r is kept. If r is kept, a
//! solution of the kept rows either satisfies r too, and is then at most twice as likely as before (half of the
//! solutions are left), or not; and the outcome 'nothing' is at most 1. So a hypothesis has between 1−p and 1+p times
//! the probability that it had, and 'nothing' at most c + (1−c)(…) against c: the ratios are reached (exact enumeration
//! over all tables of up to three rows). Hence
//!
//! - presence: max(−ln(1−p), ln(1 + (1−c)p/c)),
//! - person: max(ln((1+p)/(1−p)), ln(1 + (1−c)p/c)), less than twice that.
//!
//! A move by 1 is a row that comes or goes, by 2 a row that is replaced; this many times that for each owner of a
//! group. The survey's claim, 2ε at p = ε and c = ½, is false: ln((1+ε)/(1−ε)) is more.

use super::Accounting;
use crate::error::Result;
use crate::event::{Parity, Quotient, Shift};
use crate::loss::filter::price::{Price, exact, integer};
use crate::loss::law::Law;

/// The probabilities.
pub(super) struct ParityLoss<'a>(pub(super) &'a Parity);

fn number(quotient: Quotient) -> f64 {
    let (above, below) = quotient.parts();
    f64::from(above) / f64::from(below)
}

/// Roundings of a handful of operations, all outwards.
const UP: f64 = 1.0 + 1e-14;

/// ε for a row that comes or goes, and for one that is replaced.
pub(crate) fn epsilons(parity: &Parity) -> (f64, f64) {
    let (p, c) = (number(parity.keep()), number(parity.give_up()));
    // 1 − p and 1 − c from whole numbers: p may be close to 1.
    let (above, below) = parity.keep().parts();
    let rest = f64::from(below - above) / f64::from(below);
    let (above, below) = parity.give_up().parts();
    let going_on = f64::from(below - above) / f64::from(below);
    let nothing = (going_on * p / c).ln_1p();
    let gone = (p / rest).ln_1p();
    let replaced = (2.0 * p / rest).ln_1p();
    (gone.max(nothing) * UP, replaced.max(nothing) * UP)
}

impl ParityLoss<'_> {
    fn epsilon(&self, by: f64) -> f64 {
        let (presence, person) = epsilons(self.0);
        // Three or more steps are replacements, half as many.
        if by <= 1.0 { presence } else { person * (by / 2.0).ceil() }
    }
}

impl Accounting for ParityLoss<'_> {
    fn law(&self, by: f64) -> Result<Law> {
        super::owners("parity", by)?;
        Ok(Law::Approximate { epsilon: self.epsilon(by), delta: 0.0 })
    }

    fn law_of_group(&self, by: f64, owners: u64) -> Option<Result<Law>> {
        let epsilon = owners as f64 * self.epsilon(by) * if owners > 1 { UP } else { 1.0 };
        Some(super::owners("parity", owners as f64 * by).map(|_| Law::Approximate { epsilon, delta: 0.0 }))
    }

    /// The pure bound is reached; whether the curve of randomized response is, is not known.
    fn covers(&self, _by: f64) -> bool {
        true
    }

    fn price(&self, shift: &Shift, members: u32) -> Result<Price> {
        let each = exact(self.epsilon(shift.by.get()))? * integer(u64::from(members));
        Ok(Price::pure_cells(&integer(shift.cells), &each))
    }
}
