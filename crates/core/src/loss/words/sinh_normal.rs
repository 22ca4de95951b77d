//! `sinh-normal`: an integer-weight table; every number is certified from its integers ([`Certificate`]).

use super::{Accounting, no_rule, steps};
use crate::error::Result;
use crate::event::Shift;
use crate::loss::filter::price::Price;
use crate::loss::law::Law;
use crate::loss::shape::{LossAtom, LossShape, SharedShape};
use crate::loss::subsampling_tcdp::sinh_normal_replaced;
use crate::noise::sinh_normal::Certificate;
use crate::quantity::{Scale, Sigma};
use std::sync::Arc;

/// With the parameters σ and A.
pub(super) struct SinhNormalLoss(pub(super) Sigma, pub(super) Scale);

impl Accounting for SinhNormalLoss {
    fn law(&self, by: f64) -> Result<Law> {
        Ok(match steps("sinh-normal", by)? {
            0 => Law::DiscreteGaussian { sigma: self.0.get(), shift: 0 },
            shift => {
                let certificate = crate::noise::SinhNormal::new(self.0, self.1)?.certificate(shift)?;
                let identity = vec![self.0.get().to_bits(), self.1.get().to_bits(), shift];
                Law::Own(SharedShape(Arc::new(SinhNormalShape { certificate, identity })))
            }
        })
    }

    /// Several moves are covered by one that need not occur.
    fn covers(&self, by: f64) -> bool {
        by >= 2.0
    }

    fn price(&self, _shift: &Shift, _members: u32) -> Result<Price> {
        Err(no_rule("sinh-normal"))
    }
}

/// A table's certificate for every shift up to the largest.
#[derive(Debug)]
struct SinhNormalShape {
    certificate: Certificate,
    identity: Vec<u64>,
}

impl LossShape for SinhNormalShape {
    fn identity(&self) -> Vec<u64> {
        self.identity.clone()
    }

    fn pure(&self) -> f64 {
        self.certificate.epsilon_upper().get()
    }

    fn cumulant(&self, order: f64) -> f64 {
        (order - 1.0) * self.certificate.renyi_upper(order).get()
    }

    fn replaced(&self, rate: f64, order: f64) -> Option<f64> {
        sinh_normal_replaced(&self.certificate, rate, order)
    }

    fn has_pair(&self) -> bool {
        true
    }

    fn pair(&self) -> Option<(Vec<LossAtom>, f64)> {
        Some(self.certificate.dominating_pair())
    }
}
