//! The records of a CSV file, one by one with their lines, strictly: a quote that is never closed swallows no rest of a
//! file, but is named.
//!
//! The check and the rows are read by this one reader, so that they cut every file into the same fields. (Usual readers
//! prefer any answer to none, and know nothing of decimal commas.)

use crate::error::Error;
use crate::project::Layout;
use std::io::{BufRead, ErrorKind};
use std::path::Path;

/// A longer row is a mistake (a quote that is not closed, mostly), and nothing that fits into memory many times.
const LONGEST_ROW: usize = 16 << 20;

/// Why there is no next record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RecordError {
    /// The quote on this line, in this field (from 0), is never closed.
    Unclosed(u64, usize),
    /// Something stands between a closing quote and the next separator.
    AfterQuote(u64, usize),
    /// The row that begins on this line is too long.
    Long(u64),
    /// The line holds no object of JSON.
    NoObject(u64),
    /// The line has NaN or Infinity, which JSON has not.
    NoNumber(u64),
    /// The value of this key, by its place, is a list or an object.
    Nested(u64, usize),
    /// The value of this key is a number without a text of its own.
    NoText(u64, usize),
    /// This key is in the object more than once.
    Twice(u64, usize),
    /// The bytes from about this line on are not written in the declared encoding.
    Encoding(u64),
    /// What is packed in the file ends before its end.
    Short,
    /// The file cannot be read on.
    Machine(String),
}

impl RecordError {
    /// In a sentence; `name` is what to call a field, from 0.
    pub fn sentence(&self, file: &Path, name: impl Fn(usize) -> String) -> Error {
        let file = file.display();
        Error::input(match self {
            Self::Unclosed(line, field) => format!(
                "{file}:{line}: the quote that begins {} is never closed; close it, or double it inside of quotes",
                name(*field)
            ),
            Self::AfterQuote(line, field) => format!(
                "{file}:{line}: something follows the closing quote in {}; write a quote inside of a quoted string \
                    twice",
                name(*field)
            ),
            Self::Long(line) => format!(
                "{file}:{line}: the row that begins here has more than {} MiB; is a quote not closed?",
                LONGEST_ROW >> 20
            ),
            Self::NoObject(line) => format!("{file}:{line}: this line is not a JSON object; write one on each line"),
            Self::NoNumber(line) => {
                format!("{file}:{line}: NaN and Infinity are not JSON; write null, or a string in quotes if it is one")
            }
            Self::Nested(line, field) => format!(
                "{file}:{line}: the value in {} is a list or an object; write it as a value, or do not declare the column",
                name(*field)
            ),
            Self::NoText(line, field) => format!(
                "{file}:{line}: the value in {} is a number with decimals or of more than 64 bits and is declared as \
                    a string; write it in quotes",
                name(*field)
            ),
            Self::Twice(line, field) => {
                format!("{file}:{line}: the object has {} more than once; write it once", name(*field))
            }
            Self::Encoding(line) => format!(
                "{file}:{line}: from about here on the characters are not of the declared encoding; set another \
                    encoding for the table"
            ),
            Self::Short => format!("{file} ends in the middle of its compressed data; copy or write it again"),
            Self::Machine(why) => format!("{file} cannot be read ({why})"),
        })
    }

    /// A failure to read on.
    pub fn of(error: &std::io::Error, line: u64) -> Self {
        match error.kind() {
            ErrorKind::InvalidData
                if error.get_ref().is_some_and(|inner| inner.is::<super::decode::EncodingError>()) =>
            {
                Self::Encoding(line)
            }
            ErrorKind::UnexpectedEof => Self::Short,
            _ => Self::Machine(error.to_string()),
        }
    }
}

/// Cuts bytes into records.
pub(crate) struct CsvRecords<R> {
    input: R,
    separator: u8,
    quote: Option<u8>,
    /// The current line, from 1.
    line: u64,
    after_return: bool,
    data: Vec<u8>,
    ends: Vec<usize>,
    /// The lines on which the fields begin.
    lines: Vec<u64>,
}

/// Where the reader is inside of a record.
#[derive(Clone, Copy, PartialEq)]
enum RecordState {
    RecordStart,
    FieldStart,
    Plain,
    /// With the line on which the quote stands.
    Quoted(u64),
    /// Behind a quote inside of a quoted field: it closes the field or begins a doubled quote.
    Quote(u64),
}

impl<R: BufRead> CsvRecords<R> {
    /// From the beginning of a file; a byte-order mark is passed over.
    pub fn new(mut input: R, layout: &Layout) -> Result<Self, RecordError> {
        if input.fill_buf().map_err(|error| RecordError::of(&error, 1))?.starts_with(b"\xef\xbb\xbf") {
            input.consume(3);
        }
        let (separator, quote) = (layout.separator, layout.quote);
        let (data, ends, lines) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { input, separator, quote, line: 1, after_return: false, data, ends, lines })
    }

    /// Reads the next record; lines without anything in them are none. False at the end.
    pub fn advance(&mut self) -> Result<bool, RecordError> {
        self.data.clear();
        self.ends.clear();
        self.lines.clear();
        let mut state = RecordState::RecordStart;
        loop {
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(RecordError::of(&error, self.line)),
            };
            if buffer.is_empty() {
                return match state {
                    RecordState::RecordStart => Ok(false),
                    RecordState::Quoted(line) => Err(RecordError::Unclosed(line, self.ends.len())),
                    _ => {
                        self.ends.push(self.data.len());
                        Ok(true)
                    }
                };
            }
            let mut used = 0;
            let mut ended = false;
            let mut trouble = None;
            for &byte in buffer {
                used += 1;
                let is_break = byte == b'\n' || byte == b'\r';
                let is_quote = Some(byte) == self.quote;
                let line = self.line;
                if is_break {
                    // The second byte of "\r\n" begins no other line.
                    self.line += u64::from(!(byte == b'\n' && self.after_return));
                }
                self.after_return = byte == b'\r';
                if state == RecordState::RecordStart {
                    if is_break {
                        continue;
                    }
                    self.lines.push(line);
                    state = RecordState::FieldStart;
                }
                state = match state {
                    RecordState::Quoted(from) if is_quote => RecordState::Quote(from),
                    RecordState::Quoted(from) => {
                        self.data.push(byte);
                        RecordState::Quoted(from)
                    }
                    RecordState::Quote(from) if is_quote => {
                        self.data.push(byte);
                        RecordState::Quoted(from)
                    }
                    RecordState::FieldStart if is_quote => RecordState::Quoted(line),
                    _ if byte == self.separator => {
                        self.ends.push(self.data.len());
                        self.lines.push(line);
                        RecordState::FieldStart
                    }
                    _ if is_break => {
                        self.ends.push(self.data.len());
                        ended = true;
                        break;
                    }
                    RecordState::Quote(_) => {
                        trouble = Some(RecordError::AfterQuote(line, self.ends.len()));
                        break;
                    }
                    _ => {
                        self.data.push(byte);
                        RecordState::Plain
                    }
                };
            }
            self.input.consume(used);
            if let Some(trouble) = trouble {
                return Err(trouble);
            }
            if ended {
                return Ok(true);
            }
            if self.data.len() + self.ends.len() > LONGEST_ROW {
                return Err(RecordError::Long(self.line_of(0)));
            }
        }
    }

    /// The line on which a field of the record begins.
    pub fn line_of(&self, field: usize) -> u64 {
        self.lines.get(field).copied().unwrap_or(self.line)
    }

    /// The record's fields, without their quotes.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.ends.len()).map(|field| self.field(field))
    }

    /// One field, without its quotes; nothing where there is none.
    pub fn field(&self, field: usize) -> &[u8] {
        let start = if field == 0 { 0 } else { self.ends[field - 1] };
        self.ends.get(field).map_or(&[], |&end| &self.data[start..end])
    }
}
