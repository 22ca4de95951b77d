//! `pure`: anything ε-private; randomized response is the worst of it.

use super::{Word, owners};
use crate::error::Result;
use crate::event::Shift;
use crate::loss::filter::cost::{Cost, Moved, exact};
use crate::loss::law::Law;
use crate::quantity::Epsilon;

/// ε.
pub(super) struct Pure(pub(super) Epsilon);

impl Word for Pure {
    fn law(&self, by: f64) -> Result<Law> {
        Ok(Law::Approximate { epsilon: owners("pure", by)? * self.0.get(), delta: 0.0 })
    }

    fn cost(&self, shift: &Shift, members: u32) -> Result<Cost> {
        let moved = Moved::owners(shift, members)?;
        Ok(Cost::pure_cells(&moved.cells, &(exact(self.0.get())? * &moved.by)))
    }
}
