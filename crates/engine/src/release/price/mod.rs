//! What releases cost: noise from a target, a cost spread over steps, attributes with costs of their own, the memory
//! that public numbers take, and the error that no mechanism could beat.

pub(crate) mod allowance;
pub(crate) mod fitted;
pub(crate) mod limits;
pub(crate) mod needs;
pub mod noise;
pub(crate) mod smooth_noise;
