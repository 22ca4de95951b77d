//! `zcdp`: anything with D_α ≤ ρα; k owners have k²ρ.

use super::{Word, owners};
use crate::error::Result;
use crate::event::Shift;
use crate::loss::filter::cost::{Cost, Moved, exact};
use crate::loss::law::Law;
use crate::quantity::Rho;

/// ρ.
pub(super) struct Zcdp(pub(super) Rho);

impl Word for Zcdp {
    fn law(&self, by: f64) -> Result<Law> {
        let owners = owners("zcdp", by)?;
        Ok(Law::Concentrated { rho: owners * owners * self.0.get(), omega: f64::INFINITY })
    }

    fn cost(&self, shift: &Shift, members: u32) -> Result<Cost> {
        let moved = Moved::owners(shift, members)?;
        Ok(Cost::concentrated(&(exact(self.0.get())? * &moved.cells * &moved.by * &moved.by)))
    }
}
