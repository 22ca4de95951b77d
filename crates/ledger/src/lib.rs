//! What has been published, durably, and what that adds up to. The format and its reasons:
//! `docs/engineers/ledger-format.md`.
//!
//! [`Ledger`] holds the charges in a hash chain; [`budget`] says what may be spent of what. No table is read here, no
//! noise is drawn, and nothing heavy is in the dependency tree: every crash that a test can think of is tried in
//! seconds.

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
mod rule;
mod standing;
mod store;
pub mod time;

pub use anchor::Anchor;
pub use asked::{Remark, RemarkContent, RemarkOutcome, RequestOrigin};
pub use chain::{GENESIS, Head};
pub use declaration::{Declaration, Declarations, joined, way};
pub use entry::{Charge, ChargeState, OutputDigests, Proposal, ReleaseContext};
pub use error::{Error, ErrorKind, Result};
pub use ledger::{BudgetChange, BudgetInForce, Ledger};
pub use life::{ChargeProgress, DrawMode};
pub use mark::MarkKey;
pub use path::{beside, folder};
pub use receipt::{Pass, Receipt};
pub use rule::RuleFacts;
pub use standing::LedgerState;
pub use store::{Marks, Reservation, UndrawnCharge};

/// The program and version that stand in each ledger entry.
pub const ENGINE: &str = concat!("scumble ", env!("CARGO_PKG_VERSION"));
