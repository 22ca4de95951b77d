//! What nobody can beat: lower bounds with explicit constants, printed beside the error that a plan expects.

pub mod anonymized_histogram;
pub mod count;
pub mod tcdp;
