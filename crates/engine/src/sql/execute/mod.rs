//! From an analysed query and its tables to exact integers. Draws no noise.

pub(crate) mod bounded;
pub(crate) mod cell;
pub(crate) mod cells;
pub(crate) mod executed;
pub(crate) mod integers;
pub(crate) mod per_owner;
pub(crate) mod preflight;
pub(crate) mod sums;
