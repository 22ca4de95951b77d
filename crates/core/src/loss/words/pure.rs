//! `pure`: anything ε-private; randomized response is the worst of it.

use super::{Accounting, owners};
use crate::error::Result;
use crate::event::Shift;
use crate::loss::filter::price::{GroupShift, Price, exact};
use crate::loss::law::Law;
use crate::quantity::Epsilon;

/// ε.
pub(super) struct PureLoss(pub(super) Epsilon);

impl Accounting for PureLoss {
    fn law(&self, by: f64) -> Result<Law> {
        Ok(Law::Approximate { epsilon: owners("pure", by)? * self.0.get(), delta: 0.0 })
    }

    /// Nothing that is ε-private for one owner does to two what randomized response with 2ε does: in two steps a likely
    /// answer cannot become as unlikely as that while its opposite becomes as likely.
    fn covers(&self, by: f64) -> bool {
        by > 1.0
    }

    fn price(&self, shift: &Shift, members: u32) -> Result<Price> {
        let moved = GroupShift::owners(shift, members)?;
        Ok(Price::pure_cells(&moved.cells, &(exact(self.0.get())? * &moved.by)))
    }
}
