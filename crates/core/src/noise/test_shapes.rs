//! The shapes behind the distributions, for tests of the table.

use super::blocks::UnimodalWeights;
use super::{DiscreteGaussian, DiscreteLaplace, Fraction, Geometric, binomial, k_norm, negative_binomial};
use crate::quantity::{Scale, Sigma};

pub(super) fn laplace(scale: f64) -> impl UnimodalWeights {
    DiscreteLaplace::new(Scale::new(scale).unwrap()).shape().clone()
}

pub(super) fn gaussian(sigma: f64) -> impl UnimodalWeights {
    DiscreteGaussian::new(Sigma::new(sigma).unwrap()).shape().clone()
}

pub(super) fn geometric(scale: f64) -> impl UnimodalWeights {
    Geometric::new(Scale::new(scale).unwrap()).shape().clone()
}

pub(super) fn trials(count: u128, probability: f64) -> impl UnimodalWeights {
    binomial::BinomialWeights::new(count, Fraction::from_f64(probability).unwrap())
}

pub(super) fn share(scale: f64, parties: u32) -> impl UnimodalWeights {
    negative_binomial::NegativeBinomialWeights::new(Scale::new(scale).unwrap(), Fraction::new(1u32, parties).unwrap())
}

pub(super) fn radius(scale: f64, dimension: usize) -> impl UnimodalWeights {
    k_norm::RadiusWeights::new(Scale::new(scale).unwrap(), dimension)
}
