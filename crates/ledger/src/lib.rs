//! What has been published, durably, and what that adds up to. The format and its reasons: `docs/engineers/ledger-format.md`.
//!
//! [`Ledger`] holds the charges in a hash chain; [`budget`] says what may be spent of what. No table is read here, no
//! noise is drawn, and nothing heavy is in the dependency tree: every crash that a test can think of is tried in seconds.

mod anchor;
mod asked;
mod body;
pub mod budget;
mod chain;
mod declaration;
pub mod digest;
mod entry;
mod error;
mod field;
pub mod file;
mod ledger;
mod life;
mod mark;
mod path;
mod receipt;
mod standing;
mod store;
pub mod time;

pub use anchor::Anchor;
pub use asked::{Asked, Outcome, Remark, Remarked};
pub use chain::{GENESIS, Head};
pub use declaration::{Declaration, Declarations, joined, way};
pub use entry::{About, Charge, ChargeState, Output, Proposal};
pub use error::{Error, Result};
pub use ledger::{BudgetInForce, Change, Ledger, beside, folder};
pub use life::{Draws, Life};
pub use mark::Key;
pub use receipt::{Pass, Receipt};
pub use standing::LedgerState;
pub use store::{Marks, Reservation, Undrawn};

/// The program and version that stand in each ledger entry.
pub const ENGINE: &str = concat!("scumble ", env!("CARGO_PKG_VERSION"));
