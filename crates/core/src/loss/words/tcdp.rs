//! `tcdp`: anything with D_α ≤ ρα up to the order ω; groups by \[BDRS18\], refined in `truncated`.

use super::{Accounting, owners};
use crate::error::Result;
use crate::event::Shift;
use crate::loss::filter::price::{GroupShift, Price, TruncatedBound, exact, integer, rational_to_f64, rounded_up};
use crate::loss::law::Law;
use crate::quantity::{Exact, Omega, Rho};

/// ρ and ω.
pub(super) struct TcdpLoss(pub(super) Rho, pub(super) Omega);

impl Accounting for TcdpLoss {
    fn law(&self, by: f64) -> Result<Law> {
        let (rho, omega) = (self.0.get(), self.1.get());
        Ok(match owners("tcdp", by)? {
            1.0 => Law::Concentrated { rho, omega },
            owners => Law::ConcentratedGroup { rho, omega, size: owners as u64 },
        })
    }

    fn price(&self, shift: &Shift, members: u32) -> Result<Price> {
        let moved = GroupShift::owners(shift, members)?;
        // k owners: (k²ρ, ω/k), for ω/k > 1 (BDRS18, Prop. 10).
        let omega = exact(self.1.get())? / &moved.by;
        if omega <= integer(1) {
            refuse!(
                "a tcdp event promises nothing to a group of {} owners: its omega is too small",
                rational_to_f64(&moved.by)
            );
        }
        let rho = exact(self.0.get())? * &moved.cells * &moved.by * &moved.by;
        let truncated = TruncatedBound { rho: rounded_up(&rho), omega: Some(Exact::from_rational(omega)) };
        Ok(Price { pure: None, rho: None, truncated: Some(truncated), delta: Exact::zero() })
    }
}
