//! `pair`: two finite distributions that dominate the mechanism.

use super::{no_rule, owners};
use crate::error::{Error, Result};
use crate::event::{Pair, Shift};
use crate::loss::filter::price::Price;
use crate::loss::law::Law;

/// With somebody, and without.
pub(super) struct PairLoss<'a>(pub(super) &'a Pair);

impl super::Accounting for PairLoss<'_> {
    fn law(&self, by: f64) -> Result<Law> {
        let owners = owners("pair", by)?;
        let law = Law::Pair { p: self.0.p().to_vec(), q: self.0.q().to_vec() };
        if owners == 1.0 {
            return Ok(law);
        }
        let epsilon = owners * law.pure();
        if epsilon.is_finite() {
            Ok(Law::Approximate { epsilon, delta: 0.0 })
        } else {
            Err(Error::refused("a pair with unbounded loss says nothing about groups: give the group's own pair"))
        }
    }

    fn covers(&self, by: f64) -> bool {
        by > 1.0
    }

    fn price(&self, _shift: &Shift, _members: u32) -> Result<Price> {
        Err(no_rule("pair"))
    }
}
