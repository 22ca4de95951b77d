//! The release engine: from a table and a declaration to published numbers, with a ledger entry that says what they cost to whom.
//!
//! Data walks one way: project file → private plan → backend → integers → mechanism → answers → report; the [`ledger`] stands
//! beside it and is asked twice, reserve and commit.

pub mod attackers;
mod backend;
pub mod budget;
mod calendar;
pub mod check;
pub mod demo;
mod digest;
mod error;
mod file;
mod guarded;
pub mod init;
pub mod ledger;
mod memory;
mod place;
pub mod project;
pub mod release;
pub mod report;
mod room;
mod sql;
mod stop;
pub mod summary;
mod time;

pub use backend::{Backend, Frame, Watch, cluster};
pub use digest::digest;
pub use error::{Error, Result, shortened};
pub use memory::Batches;
pub use place::{Origin, Place, nearest};
#[cfg(feature = "generator")]
pub use release::adversarial_query;
pub use room::with_room;
pub use stop::{Stop, Stopped};

/// The program and version that stand in each ledger entry.
pub const ENGINE: &str = concat!("scumble ", env!("CARGO_PKG_VERSION"));

// The tests' own helpers, under the name by which tests outside know this crate.
#[cfg(test)]
extern crate self as scumble_engine;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;
