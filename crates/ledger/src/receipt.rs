//! Proofs that an entry is durable, without which nothing goes on: no noise is drawn without a [`Receipt`], and nothing
//! that was drawn leaves the process without a [`Pass`].

use crate::chain::Head;

/// The proof that a charge is durable: noise may be drawn. Made by [`Ledger::reserve`](crate::Ledger::reserve), and
/// used up when what was drawn is about to leave.
#[derive(Debug)]
pub struct Receipt {
    pub(crate) sequence: u64,
    pub(crate) head: Head,
    pub(crate) time: String,
}

impl Receipt {
    /// The reservation's place in the ledger.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The head of the chain after the reservation.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// When it was charged.
    pub fn time(&self) -> &str {
        &self.time
    }
}

/// The proof that the entry `drawn` is durable: what was drawn may leave the process. Made by
/// [`Ledger::drawn`](crate::Ledger::drawn) and its like only, once for each draw, and used up by the commit.
#[derive(Debug)]
pub struct Pass {
    pub(crate) receipt: Receipt,
    pub(crate) head: Head,
}

impl Pass {
    /// The reservation's place in the ledger.
    pub fn sequence(&self) -> u64 {
        self.receipt.sequence
    }

    /// When it was charged.
    pub fn time(&self) -> &str {
        &self.receipt.time
    }

    /// The head of the chain with the entry `drawn`: what is seen prints it, so that a ledger that was put back to
    /// before it has another one afterwards.
    pub fn head(&self) -> &Head {
        &self.head
    }
}
