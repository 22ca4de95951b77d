//! The hash chain: each entry's hash covers the one before, its place and its body.

use crate::digest::hex;
use sha2::{Digest, Sha256};

/// The hash before the first entry.
pub const GENESIS: [u8; 32] = [0; 32];

/// How long a chain is, and its last hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// How many entries there are.
    pub entries: u64,
    /// The hash of the last one, or [`GENESIS`].
    pub hash: [u8; 32],
}

impl Head {
    /// The head of an empty ledger.
    pub fn empty() -> Self {
        Self { entries: 0, hash: GENESIS }
    }

    /// The head after one more entry.
    pub fn followed_by(&self, body: &str) -> Self {
        let entries = self.entries + 1;
        let mut hasher = Sha256::new();
        hasher.update(self.hash);
        hasher.update(entries.to_be_bytes());
        hasher.update(body.as_bytes());
        Self { entries, hash: hasher.finalize().into() }
    }

    /// The hash in hexadecimal.
    pub fn hex(&self) -> String {
        hex(&self.hash)
    }
}

/// The heads of a chain, from the empty one on.
pub(crate) fn heads(bodies: &[String]) -> impl Iterator<Item = Head> + '_ {
    let later = bodies.iter().scan(Head::empty(), |head, body| {
        *head = head.followed_by(body);
        Some(head.clone())
    });
    std::iter::once(Head::empty()).chain(later)
}

/// Checks every link and the head; gives the bodies.
///
/// # Guarantee
/// If this succeeds, the bodies are those that were appended, in that order, unless somebody rewrote all hashes from
/// some entry on, the head included, or found a collision of SHA-256.
pub(crate) fn verify(stored: Vec<(i64, String, Vec<u8>)>, end: &Head) -> Result<(Vec<String>, Head), String> {
    let mut head = Head::empty();
    let mut bodies = Vec::with_capacity(stored.len());
    for (sequence, body, hash) in stored {
        let expected = i64::try_from(head.entries + 1).unwrap_or(i64::MAX);
        if sequence != expected {
            return Err(format!("entry {expected} is missing"));
        }
        head = head.followed_by(&body);
        if hash != head.hash {
            return Err(format!("entry {sequence} or its place in the chain was edited"));
        }
        bodies.push(body);
    }
    if head != *end {
        return Err(format!(
            "there are {} entries, and the head names {}: the end is missing",
            head.entries, end.entries
        ));
    }
    Ok((bodies, head))
}
