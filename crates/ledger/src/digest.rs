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
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A hash that was written in hexadecimal.
pub fn unhex(text: &str) -> Option<[u8; 32]> {
    let pair = |index: usize| u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..32).map(pair).collect();
    bytes.filter(|_| text.len() == 64).and_then(|bytes| bytes.try_into().ok())
}
