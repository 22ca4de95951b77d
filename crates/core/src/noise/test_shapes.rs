//! The shapes behind the distributions, for tests of the table.

use super::blocks::Shape;
use super::{DiscreteGaussian, DiscreteLaplace, Fraction, Geometric, binomial, k_norm, negative_binomial};
use crate::quantity::{Scale, Sigma};

pub(super) fn laplace(scale: f64) -> impl Shape {
    DiscreteLaplace::new(Scale::new(scale).unwrap()).shape().clone()
}

pub(super) fn gaussian(sigma: f64) -> impl Shape {
    DiscreteGaussian::new(Sigma::new(sigma).unwrap()).shape().clone()
}

pub(super) fn geometric(scale: f64) -> impl Shape {
    Geometric::new(Scale::new(scale).unwrap()).shape().clone()
}

pub(super) fn trials(count: u128, probability: f64) -> impl Shape {
    binomial::Trials::new(count, Fraction::from_f64(probability).unwrap())
}

pub(super) fn share(scale: f64, parties: u32) -> impl Shape {
    negative_binomial::Share::new(Scale::new(scale).unwrap(), Fraction::new(1u32, parties).unwrap())
}

pub(super) fn radius(scale: f64, dimension: usize) -> impl Shape {
    k_norm::Radius::new(Scale::new(scale).unwrap(), dimension)
}
