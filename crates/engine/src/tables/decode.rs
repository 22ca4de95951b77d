//! A text file's letters as UTF-8, whatever its encoding and packing.

use encoding_rs::{Decoder, DecoderResult, Encoding};
use std::fmt;
use std::io::{self, BufRead, Read};

const CHUNK: usize = 1 << 16;

/// The bytes are not written in the declared encoding.
#[derive(Debug)]
pub(crate) struct EncodingError;

impl fmt::Display for EncodingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the characters are not of the declared encoding")
    }
}

impl std::error::Error for EncodingError {}

/// Reads bytes of an encoding as UTF-8; a letter that does not exist there is an error, never another letter.
pub(crate) struct DecodingReader<R> {
    input: R,
    decoder: Decoder,
    raw: Vec<u8>,
    /// How much of `raw` has been decoded.
    used: usize,
    text: Vec<u8>,
    /// How much of `text` has been given away.
    given: usize,
    ended: bool,
}

impl<R: Read> DecodingReader<R> {
    /// From the beginning of a file; a byte-order mark is passed over.
    pub fn new(input: R, encoding: &'static Encoding) -> Self {
        let decoder = encoding.new_decoder_with_bom_removal();
        Self { input, decoder, raw: Vec::new(), used: 0, text: Vec::new(), given: 0, ended: false }
    }

    /// More text, or none at the end.
    fn refill(&mut self) -> io::Result<()> {
        (self.given, self.used) = (0, self.used);
        self.text.clear();
        while self.text.is_empty() && !self.ended {
            if self.used == self.raw.len() {
                self.raw.resize(CHUNK, 0);
                let number = self.input.read(&mut self.raw)?;
                self.raw.truncate(number);
                self.used = 0;
            }
            let is_last = self.raw.is_empty();
            self.text.resize(4 * CHUNK, 0);
            let (outcome, read, written) =
                self.decoder.decode_to_utf8_without_replacement(&self.raw[self.used..], &mut self.text, is_last);
            self.used += read;
            self.text.truncate(written);
            match outcome {
                DecoderResult::Malformed(..) => return Err(io::Error::new(io::ErrorKind::InvalidData, EncodingError)),
                DecoderResult::InputEmpty => self.ended = is_last,
                DecoderResult::OutputFull => {}
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for DecodingReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let number = self.fill_buf()?.read(out)?;
        self.consume(number);
        Ok(number)
    }
}

impl<R: Read> BufRead for DecodingReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.given == self.text.len() {
            self.refill()?;
        }
        Ok(&self.text[self.given..])
    }

    fn consume(&mut self, number: usize) {
        self.given = (self.given + number).min(self.text.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8], label: &str) -> io::Result<String> {
        let mut text = String::new();
        DecodingReader::new(bytes, Encoding::for_label(label.as_bytes()).unwrap()).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn letters_of_other_encodings() {
        assert_eq!(decoded(b"M\xfcller;\x80", "latin1").unwrap(), "Müller;€");
        let utf16: Vec<u8> = "\u{feff}é日\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decoded(&utf16, "utf-16le").unwrap(), "é日\n");
        let long: String = "ß日,".repeat(100_000);
        let bytes: Vec<u8> = long.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(decoded(&bytes, "utf-16be").unwrap(), long);
    }

    #[test]
    fn a_letter_that_is_none_is_an_error() {
        for (bytes, label) in [(&b"\xff\xff"[..], "shift_jis"), (b"a\x00b", "utf-16le"), (b"\xc3(", "utf-8")] {
            assert_eq!(decoded(bytes, label).unwrap_err().kind(), io::ErrorKind::InvalidData, "{label}");
        }
    }
}
