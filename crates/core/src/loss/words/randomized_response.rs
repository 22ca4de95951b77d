//! `randomized-response`: the truth, or one of the other values.

use super::{Accounting, owners};
use crate::error::Result;
use crate::event::{AnswerCount, Shift};
use crate::loss::filter::price::{GroupShift, Price, exact};
use crate::loss::law::Law;
use crate::quantity::Epsilon;

/// With this ε among this many values.
pub(super) struct RandomizedResponseLoss(pub(super) Epsilon, pub(super) AnswerCount);

impl Accounting for RandomizedResponseLoss {
    fn law(&self, by: f64) -> Result<Law> {
        let owners = owners("randomized-response", by)?;
        Ok(match owners {
            1.0 => Law::RandomizedResponse { epsilon: self.0.get(), values: self.1.get() as f64 },
            _ => Law::Approximate { epsilon: owners * self.0.get(), delta: 0.0 },
        })
    }

    fn covers(&self, by: f64) -> bool {
        by > 1.0
    }

    fn price(&self, shift: &Shift, members: u32) -> Result<Price> {
        let moved = GroupShift::owners(shift, members)?;
        Ok(Price::pure_cells(&moved.cells, &(exact(self.0.get())? * &moved.by)))
    }
}
