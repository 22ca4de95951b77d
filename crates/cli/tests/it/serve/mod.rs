//! The project for many people: `scumble serve` and `scumble setup access`.

mod attacks;
mod doors;
mod in_a_browser;
mod load;
pub mod postgres;
mod races;
mod roles;
pub mod support;
