//! `zcdp`: anything with D_α ≤ ρα; k owners have k²ρ.

use super::{Accounting, owners};
use crate::error::Result;
use crate::event::Shift;
use crate::loss::filter::price::{GroupShift, Price, exact};
use crate::loss::law::Law;
use crate::quantity::Rho;

/// ρ.
pub(super) struct ZcdpLoss(pub(super) Rho);

impl Accounting for ZcdpLoss {
    fn law(&self, by: f64) -> Result<Law> {
        let owners = owners("zcdp", by)?;
        Ok(Law::Concentrated { rho: owners * owners * self.0.get(), omega: f64::INFINITY })
    }

    fn price(&self, shift: &Shift, members: u32) -> Result<Price> {
        let moved = GroupShift::owners(shift, members)?;
        Ok(Price::concentrated(&(exact(self.0.get())? * &moved.cells * &moved.by * &moved.by)))
    }
}
