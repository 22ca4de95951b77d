//! `discrete-laplace`: discrete Laplace noise, moved by whole steps.

use super::laplace::laplace_cost;
use super::{Word, steps};
use crate::error::Result;
use crate::event::Shift;
use crate::loss::filter::cost::Cost;
use crate::loss::law::Law;
use crate::quantity::Scale;

/// With this scale.
pub(super) struct DiscreteLaplace(pub(super) Scale);

impl Word for DiscreteLaplace {
    fn law(&self, by: f64) -> Result<Law> {
        Ok(Law::DiscreteLaplace { inverse_scale: 1.0 / self.0.get(), shift: steps("discrete-laplace", by)? })
    }

    fn cost(&self, shift: &Shift, members: u32) -> Result<Cost> {
        laplace_cost(self.0, shift, members)
    }
}
