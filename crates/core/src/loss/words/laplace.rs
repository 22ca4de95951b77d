//! `laplace`: continuous Laplace noise: a shift of λ scales is λ-private, and its Rényi curve is exact \[Mir17, Proposition 6\].

use super::Word;
use crate::error::Result;
use crate::event::Shift;
use crate::loss::filter::cost::{Cost, Moved, exact};
use crate::loss::law::Law;
use crate::quantity::Scale;

/// With this scale.
pub(super) struct Laplace(pub(super) Scale);

impl Word for Laplace {
    fn law(&self, by: f64) -> Result<Law> {
        Ok(Law::Laplace { lambda: by / self.0.get() })
    }

    fn cost(&self, shift: &Shift, members: u32) -> Result<Cost> {
        laplace_cost(self.0, shift, members)
    }
}

/// Each cell is by/scale-private.
pub(super) fn laplace_cost(scale: Scale, shift: &Shift, members: u32) -> Result<Cost> {
    let moved = Moved::far(shift, members)?;
    Ok(Cost::pure_cells(&moved.cells, &(&moved.by / exact(scale.get())?)))
}
