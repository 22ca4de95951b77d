//! Digests and their hexadecimal texts.

use sha2::{Digest, Sha256};

/// SHA-256 of bytes, in hexadecimal.
///
/// ```
/// assert!(scumble_ledger::digest::digest(b"").starts_with("e3b0c442"));
/// ```
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    hex::encode(bytes)
}

/// A hash that was written in hexadecimal.
pub fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    hex::decode_to_slice(text, &mut hash).ok().map(|()| hash)
}
