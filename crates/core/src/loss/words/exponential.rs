//! `exponential`: a mechanism whose privacy loss has range ε; a move is how far the score moves.

use super::Accounting;
use crate::error::Result;
use crate::event::Shift;
use crate::loss::filter::price::{GroupShift, Price, exact, integer, rounded_up};
use crate::loss::law::Law;
use crate::quantity::Epsilon;

/// The range where the score moves by 1.
pub(super) struct ExponentialLoss(pub(super) Epsilon);

impl Accounting for ExponentialLoss {
    fn law(&self, by: f64) -> Result<Law> {
        super::owners("exponential", by)?;
        // The range is linear in how far the score moves; the product is rounded up.
        let epsilon = if by == 1.0 { self.0.get() } else { (by * self.0.get()).next_up() };
        Ok(Law::BoundedRange { epsilon })
    }

    fn price(&self, shift: &Shift, members: u32) -> Result<Price> {
        let moved = GroupShift::far(shift, members)?;
        let each = exact(self.0.get())? * &moved.by;
        // Bounded range η is η²/8-zCDP [Cesar–Rogers 2021]; each cell is a mechanism of its own.
        let rho = rounded_up(&(&moved.cells * &each * &each / integer(8)));
        Ok(Price::pure(&(moved.cells * each), Some(rho)))
    }
}
