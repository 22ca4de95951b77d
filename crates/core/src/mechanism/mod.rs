//! How answers are made private: one file per mechanism.

pub mod anonymized_histogram;
pub mod heavy_hitters;
