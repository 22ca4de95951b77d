//! How answers are made private: one file per mechanism.

pub mod additive;
pub mod anonymized_histogram;
pub mod cdf;
pub mod heavy_hitters;
pub mod histogram;
pub mod huge_domain;
pub mod piecewise;
pub mod quantile;
pub mod selection;
pub mod stability;
