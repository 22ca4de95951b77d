//! What an owner's device runs, as WebAssembly: one value in, one report out.
//!
//! The host gives random bytes (`random.fill`; in a browser that is `crypto.getRandomValues`) and reads the text of what comes back. All that is computed is
//! `scumble::parties::local`, the code of the program: nothing is drawn or decided in JavaScript.
//!
//! Each function gives the length of the report that [`text`] points to, or, below zero, that of a sentence that says what is wrong; then nothing was drawn.

#![warn(missing_docs)]

use scumble::noise::BitSource;
use scumble::parties::local::mean::{Mean, UNIT};
use scumble::parties::local::{AbsentOwners, FrequencyOracle, ReportKind};
use scumble::quantity::Epsilon;
use scumble::{Error, Result};
use std::sync::{Mutex, PoisonError};

#[link(wasm_import_module = "random")]
unsafe extern "C" {
    /// Fills so many bytes from `start` on with fresh random bits, of a source that nobody can predict.
    safe fn fill(start: *mut u8, length: usize);
}

/// So many bytes are asked for at once.
const BLOCK: usize = 512;

/// The host's random bytes, each of them used once.
struct Bits {
    block: [u8; BLOCK],
    used: usize,
}

impl Bits {
    fn new() -> Self {
        Self { block: [0; BLOCK], used: BLOCK }
    }
}

impl BitSource for Bits {
    fn next_u64(&mut self) -> u64 {
        if self.used == BLOCK {
            fill(self.block.as_mut_ptr(), BLOCK);
            self.used = 0;
        }
        let mut word = [0; 8];
        word.copy_from_slice(&self.block[self.used..self.used + 8]);
        self.used += 8;
        u64::from_le_bytes(word)
    }

    fn is_secure(&self) -> bool {
        true
    }
}

/// The source of the program is not there on a page, and whoever asks for it is told so.
#[unsafe(no_mangle)]
extern "Rust" fn __getrandom_v03_custom(_: *mut u8, _: usize) -> std::result::Result<(), getrandom::Error> {
    Err(getrandom::Error::UNSUPPORTED)
}

/// What was said last.
static TEXT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Where what was said last begins.
#[unsafe(no_mangle)]
pub extern "C" fn text() -> *const u8 {
    TEXT.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}

fn said(report: Result<String>) -> i32 {
    let (text, is_report) = match report {
        Ok(text) => (text, true),
        Err(error) => (error.to_string(), false),
    };
    // No report is longer than the bits of 2^20 values.
    let length = text.len() as i32;
    *TEXT.lock().unwrap_or_else(PoisonError::into_inner) = text.into_bytes();
    if is_report { length } else { -length }
}

/// JavaScript has no other numbers.
fn whole(number: f64, what: &str) -> Result<u64> {
    match number.fract() == 0.0 && (0.0..9e15).contains(&number) {
        true => Ok(number as u64),
        false => Err(Error::refused(format!("{what} must be a whole number"))),
    }
}

fn oracle(epsilon: f64, values: f64, oracle: u32, absent: AbsentOwners) -> Result<FrequencyOracle> {
    let kind = match oracle {
        0 => None,
        place => {
            Some(*ReportKind::ALL.get(place as usize - 1).ok_or_else(|| Error::refused("there is no such oracle"))?)
        }
    };
    FrequencyOracle::chosen(kind, absent, Epsilon::new(epsilon)?, whole(values, "the number of values")?)
}

fn absent_report(presence: u32) -> AbsentOwners {
    if presence == 0 { AbsentOwners::Silent } else { AbsentOwners::Report }
}

/// The report of an owner who holds one of `values` values (0, 1, …). The oracle is 0 for the best one, or 1, 2, 3 for k-ary, unary, Hadamard; `presence` is 1
/// where owners without a value report too.
#[unsafe(no_mangle)]
pub extern "C" fn report(epsilon: f64, values: f64, oracle: u32, presence: u32, value: f64) -> i32 {
    let made = self::oracle(epsilon, values, oracle, absent_report(presence));
    said(made.and_then(|oracle| Ok(oracle.report(whole(value, "a value")?, &mut Bits::new())?.to_string())))
}

/// The report of an owner without a value.
#[unsafe(no_mangle)]
pub extern "C" fn absent(epsilon: f64, values: f64, oracle: u32) -> i32 {
    let made = self::oracle(epsilon, values, oracle, AbsentOwners::Report);
    said(made.map(|oracle| oracle.absent(&mut Bits::new()).to_string()))
}

/// The report of an owner who has a number from 0 to 1.
#[unsafe(no_mangle)]
pub extern "C" fn mean(epsilon: f64, number: f64) -> i32 {
    let made = Epsilon::new(epsilon).and_then(Mean::new).and_then(|mean| match (0.0..=1.0).contains(&number) {
        true => mean.report((number * f64::from(UNIT)).round() as u32, &mut Bits::new()),
        false => Err(Error::refused("the number must be from 0 to 1")),
    });
    said(made.map(|is_one| if is_one { "m1" } else { "m0" }.to_string()))
}
