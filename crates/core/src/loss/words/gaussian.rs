//! `gaussian`: continuous Gaussian noise. A shift of μ standard deviations is the pair N(μ, 1) against N(0, 1),
//! μ²/2-zCDP.

use super::Accounting;
use crate::error::Result;
use crate::event::Shift;
use crate::loss::filter::price::{GroupShift, Price, exact, integer};
use crate::loss::law::Law;
use crate::quantity::Sigma;

/// With standard deviation σ.
pub(super) struct GaussianLoss(pub(super) Sigma);

impl Accounting for GaussianLoss {
    fn law(&self, by: f64) -> Result<Law> {
        Ok(Law::Gaussian { mu: by / self.0.get() })
    }

    fn price(&self, shift: &Shift, members: u32) -> Result<Price> {
        gaussian_cost(self.0, shift, members)
    }
}

/// ρ = cells·by²/2σ².
pub(super) fn gaussian_cost(sigma: Sigma, shift: &Shift, members: u32) -> Result<Price> {
    let moved = GroupShift::far(shift, members)?;
    let sigma = exact(sigma.get())?;
    Ok(Price::concentrated(&(&moved.cells * &moved.by * &moved.by / (integer(2) * &sigma * &sigma))))
}
