//! The shapes behind the distributions, for tests of the table.

use super::blocks::Shape;
use super::{DiscreteGaussian, DiscreteLaplace, Geometric};
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
