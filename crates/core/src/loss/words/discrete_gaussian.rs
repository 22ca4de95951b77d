//! `discrete-gaussian`: discrete Gaussian noise, moved by whole steps; as concentrated as the continuous one
//! \[CKS20, Proposition 5\].

use super::gaussian::gaussian_cost;
use super::{Accounting, steps};
use crate::error::Result;
use crate::event::Shift;
use crate::loss::filter::price::Price;
use crate::loss::law::Law;
use crate::quantity::Sigma;

/// With parameter σ.
pub(super) struct DiscreteGaussianLoss(pub(super) Sigma);

impl Accounting for DiscreteGaussianLoss {
    fn law(&self, by: f64) -> Result<Law> {
        Ok(Law::DiscreteGaussian { sigma: self.0.get(), shift: steps("discrete-gaussian", by)? })
    }

    fn price(&self, shift: &Shift, members: u32) -> Result<Price> {
        gaussian_cost(self.0, shift, members)
    }
}
