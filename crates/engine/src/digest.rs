//! Digests and their hexadecimal texts.

use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// SHA-256 of bytes, in hexadecimal.
///
/// ```
/// assert!(scumble_engine::digest(b"").starts_with("e3b0c442"));
/// ```
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The same of a file, however long it is.
pub(crate) fn digest_of(path: &Path) -> io::Result<String> {
    let mut digesting = Digesting::new(io::sink());
    io::copy(&mut File::open(path)?, &mut digesting)?;
    Ok(digesting.end().1)
}

/// What is written is digested on its way.
pub(crate) struct Digesting<W> {
    inner: W,
    hash: Sha256,
}

impl<W: Write> Digesting<W> {
    pub fn new(inner: W) -> Self {
        Self { inner, hash: Sha256::new() }
    }

    /// Where it was written to, and the digest of all that was.
    pub fn end(self) -> (W, String) {
        (self.inner, hex(&self.hash.finalize()))
    }
}

impl<W: Write> Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    hex::encode(bytes)
}

/// A hash that was written in hexadecimal.
pub(crate) fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    hex::decode_to_slice(text, &mut hash).ok().map(|()| hash)
}
