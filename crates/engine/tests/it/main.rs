//! The engine through its public doors. One binary for all files: each of its own would be linked, and run, one after
//! the other. (`order.rs` watches for panics of its whole process, so it has one of its own.)

mod arrows;
mod costs;
mod floors;
mod fuzz;
mod golden;
mod in_memory;
mod kinds;
mod needs;
mod nested;
mod old_ledgers;
mod pictures;
mod refusals;
mod replay;
mod scopes;
mod strings;
#[path = "../support/mod.rs"]
mod support;
