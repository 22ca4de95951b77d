//! The engine through its public doors. One binary for all files: each of its own would be linked, and run, one after the other.

mod arrows;
mod costs;
mod fuzz;
mod kinds;
mod ledger;
mod order;
#[path = "../support/mod.rs"]
mod support;
