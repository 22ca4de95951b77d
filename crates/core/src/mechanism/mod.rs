//! How answers are made private: one file per mechanism.
//!
//! Each has checked parameters, an exact `release`, its `event` for the ledger and the `error` to plan with.

pub mod additive;
pub mod anonymized_histogram;
pub mod cdf;
pub mod heavy_hitters;
pub mod histogram;
pub mod huge_domain;
pub mod interior_point;
pub mod k_norm;
pub mod piecewise;
pub mod plan;
pub mod quantile;
pub mod randomized_response;
pub mod selection;
pub mod stability;
