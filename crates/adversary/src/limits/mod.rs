//! Lower bounds of the error of every mechanism, with explicit constants, printed beside the error that a plan expects.

pub mod anonymized_histogram;
pub mod count;
pub mod fingerprinting;
pub(crate) mod gram;
pub mod groups;
pub mod information;
pub mod neighbours;
pub mod packing;
pub mod singular;
pub mod tables;
pub mod tcdp;
