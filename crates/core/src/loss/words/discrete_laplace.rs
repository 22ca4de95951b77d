//! `discrete-laplace`: discrete Laplace noise, moved by whole steps.

use super::laplace::laplace_cost;
use super::{Accounting, steps};
use crate::error::Result;
use crate::event::Shift;
use crate::loss::filter::price::Price;
use crate::loss::law::Law;
use crate::quantity::Scale;

/// With this scale.
pub(super) struct DiscreteLaplaceLoss(pub(super) Scale);

impl Accounting for DiscreteLaplaceLoss {
    fn law(&self, by: f64) -> Result<Law> {
        Ok(Law::DiscreteLaplace { inverse_scale: 1.0 / self.0.get(), shift: steps("discrete-laplace", by)? })
    }

    fn price(&self, shift: &Shift, members: u32) -> Result<Price> {
        laplace_cost(self.0, shift, members)
    }
}
