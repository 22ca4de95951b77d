//! `laplace`: continuous Laplace noise: a shift of λ scales is λ-private, and its Rényi curve is exact
//! \[Mir17, Proposition 6\].

use super::Accounting;
use crate::error::Result;
use crate::event::Shift;
use crate::loss::filter::price::{GroupShift, Price, exact};
use crate::loss::law::Law;
use crate::quantity::Scale;

/// With this scale.
pub(super) struct LaplaceLoss(pub(super) Scale);

impl Accounting for LaplaceLoss {
    fn law(&self, by: f64) -> Result<Law> {
        Ok(Law::Laplace { lambda: by / self.0.get() })
    }

    fn price(&self, shift: &Shift, members: u32) -> Result<Price> {
        laplace_cost(self.0, shift, members)
    }
}

/// Each cell is by/scale-private.
pub(super) fn laplace_cost(scale: Scale, shift: &Shift, members: u32) -> Result<Price> {
    let moved = GroupShift::far(shift, members)?;
    Ok(Price::pure_cells(&moved.cells, &(&moved.by / exact(scale.get())?)))
}
