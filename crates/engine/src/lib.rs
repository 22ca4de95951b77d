//! The release engine: from a table and a declaration to published numbers, with a ledger entry that says what they cost to whom.
//!
//! Data walks one way: project file → private plan → backend → integers → mechanism → answers → report; the [`ledger`] stands
//! beside it and is asked twice, reserve and commit.

pub mod attackers;
mod backend;
pub mod budget;
pub mod check;
pub mod demo;
mod error;
pub mod init;
pub mod ledger;
mod place;
pub mod project;
pub mod release;
pub mod report;
mod sql;
pub mod summary;
mod time;

pub use backend::Backend;
pub use error::{Error, Result};
pub use place::{Origin, Place, nearest};
#[cfg(feature = "generator")]
pub use release::adversarial_query;

/// The program and version that stand in each ledger entry.
pub const ENGINE: &str = concat!("scumble ", env!("CARGO_PKG_VERSION"));

/// SHA-256 of bytes, in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    ledger::hex(&Sha256::digest(bytes))
}
