//! The door to JavaScript: memory to write a question into, the answer, and the host's random bytes.

use scumble::noise::BitSource;
use std::sync::{Mutex, PoisonError};

#[link(wasm_import_module = "random")]
unsafe extern "C" {
    /// Fills this many bytes from `start` on with fresh random bits, of a source that nobody can predict.
    safe fn fill(start: *mut u8, length: usize);
}

/// This many bytes are asked for at once.
const BLOCK: usize = 512;

/// The host's random bytes, each used once.
struct HostBits {
    block: [u8; BLOCK],
    used: usize,
}

impl BitSource for HostBits {
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

/// The program's own source does not exist on a page.
#[unsafe(no_mangle)]
extern "Rust" fn __getrandom_v03_custom(_: *mut u8, _: usize) -> std::result::Result<(), getrandom::Error> {
    Err(getrandom::Error::UNSUPPORTED)
}

/// The question, then its answer.
static TEXT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Where a question of this many bytes is to be written.
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *mut u8 {
    let mut text = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
    *text = vec![0; length];
    text.as_mut_ptr()
}

/// Answers the question that was written: how many bytes the answer has.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> usize {
    let mut text = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
    let question = String::from_utf8_lossy(&text).into_owned();
    let answer = crate::answer(&question, &mut HostBits { block: [0; BLOCK], used: BLOCK });
    *text = answer.to_string().into_bytes();
    text.len()
}

/// Where the answer begins.
#[unsafe(no_mangle)]
pub extern "C" fn text() -> *const u8 {
    TEXT.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}
