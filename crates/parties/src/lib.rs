//! Protocols between processes, where no party shows its data and no server is trusted alone.
//!
//! Everybody has the same public [`Plan`] and a [`Key`] of their own. [`serve`] is what each server runs and
//! [`ShareSender`] what each party runs, for the sums of `scumble::parties::sum`; [`product`] is the inner product of
//! two parties. All talk over TLS 1.3 on TCP, where each side shows the public key that the plan has under its name;
//! there are no certificates and nobody who could issue false ones.
//!
//! No mathematics here: what is drawn, split, added and claimed is the core's.

mod channel;
mod error;
mod key;
mod message;
mod plan;
pub mod product;
mod send;
mod serve;

pub use error::{Error, ErrorKind, Result};
pub use key::{Key, PublicKey};
pub use plan::{Party, Plan, Server};
pub use send::ShareSender;
pub use serve::{OpenedSum, ServerObserver, ServerStep, serve};

#[cfg(test)]
mod tests;
