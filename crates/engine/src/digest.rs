//! Digests of what is written and read. Those of bytes are the ledger's.

pub use scumble_ledger::digest::digest;
pub(crate) use scumble_ledger::digest::{hex, unhex};

use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// SHA-256 of a file in hexadecimal, however long it is.
pub(crate) fn digest_of(path: &Path) -> io::Result<String> {
    let mut digesting = DigestWriter::new(io::sink());
    io::copy(&mut File::open(path)?, &mut digesting)?;
    Ok(digesting.end().1)
}

/// What is written is digested on its way.
pub(crate) struct DigestWriter<W> {
    inner: W,
    hash: Sha256,
}

impl<W: Write> DigestWriter<W> {
    pub fn new(inner: W) -> Self {
        Self { inner, hash: Sha256::new() }
    }

    /// Where it was written to, and the digest of all that was.
    pub fn end(self) -> (W, String) {
        (self.inner, hex(&self.hash.finalize()))
    }
}

impl<W: Write> Write for DigestWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
