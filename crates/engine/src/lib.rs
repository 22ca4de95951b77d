//! The release engine: from a table and a declaration to published numbers, with a ledger entry that says what they cost to whom.
//!
//! Data walks one way: project file → private plan → backend → integers → mechanism → answers → report; the [`ledger`] stands
//! beside it and is asked twice, reserve and commit.

pub mod budget;
mod error;
pub mod ledger;
mod place;
mod time;

pub use error::{Error, Result};
pub use place::{Place, nearest};

/// The program and version that stand in each ledger entry.
pub const ENGINE: &str = concat!("scumble ", env!("CARGO_PKG_VERSION"));
