//! Charges, budgets and what is published already.

mod attacks;
mod budgets;
mod kept;
pub mod kills;
mod replaced;
