//! The release engine: from a table and a declaration to published numbers, with a ledger entry that says what they
//! cost to whom.
//!
//! Data walks one way: project file → private plan → backend → integers → mechanism → answers → report; the [`ledger`]
//! stands beside it and is asked twice, reserve and commit.

pub mod attackers;
mod calendar;
pub mod demo;
mod digest;
mod error;
mod frame;
mod guarded;
pub mod init;
pub mod kinds;
mod memory;
mod place;
pub mod project;
pub mod release;
mod remote;
pub mod report;
mod room;
mod sql;
mod stop;
pub mod summary;
mod tables;

#[cfg(feature = "generator")]
pub use crate::kinds::sql::generator::adversarial_query;
pub use digest::digest;
pub use error::{Error, ErrorKind, QueryMistake, Result, shortened};
pub use frame::Frame;
pub use memory::Batches;
pub use place::{Origin, Place, nearest};
pub use remote::cluster;
pub use room::with_room;
pub use scumble_ledger as ledger;
pub use scumble_ledger::{ENGINE, budget};
pub(crate) use scumble_ledger::{file, time};
pub use stop::{Interruption, Stop};
pub use tables::check;
pub use tables::{Backend, Watch};

// The tests' own helpers, under the name by which tests outside know this crate.
#[cfg(test)]
extern crate self as scumble_engine;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;
