//! The source of private noise: keys from the operating system, stretched by a stream cipher.
//!
//! AES-256 in counter mode where the processor has instructions for it (detected at run time), ChaCha20 elsewhere. A
//! new key comes from the operating system every 16 MiB: 2^20 blocks of AES under one key are distinguished from random
//! ones with an advantage of at most 2^−89, on top of breaking AES. Buffer and key are zeroised on drop.
//!
//! # Forks
//! A forked child has a copy of the parent's buffer, and if both went on they would add the same noise to different
//! data. A handler registered with `pthread_atfork` counts forks in the child, and every draw compares the count; a
//! child throws the copied buffer and key away and asks the operating system for its own. Every 64 KiB the process id
//! is compared too, for forks that bypass the C library. (Asking for the process id on every draw would do without the
//! handler, but takes 155 ns, ten times as long as the draw.)

use super::source::BitSource;
use crate::error::{Error, Result};
use aes::Aes256;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use zeroize::Zeroize;

/// The operating system's entropy, stretched by AES-256-CTR or ChaCha20.
///
/// # Guarantee
/// Computationally indistinguishable from independent uniform bits for anybody who has neither broken the cipher nor
/// read our memory.
///
/// # Panics
/// Only if after a fork the operating system gives the child no random bits: rather no noise than the parent's.
///
/// ```
/// use scumble::noise::{BitSource, SecureSource};
/// let mut bits = SecureSource::new()?;
/// assert!(bits.is_secure());
/// bits.next_u64();
/// # Ok::<(), scumble::Error>(())
/// ```
pub struct SecureSource {
    cipher: Cipher,
    /// Words that were made and not yet drawn: those from `position` on.
    buffer: Box<[u64; BUFFERED_WORDS]>,
    position: usize,
    /// Where the cipher writes.
    bytes: Box<[u8; 8 * BUFFERED_WORDS]>,
    bytes_until_new_key: usize,
    refills_until_check: u32,
    forks: u64,
    process: u32,
}

const BUFFERED_WORDS: usize = 512;
const BYTES_PER_KEY: usize = 1 << 24;
/// How many refills of 4 KiB go by between two looks at the process id.
const REFILLS_PER_CHECK: u32 = 16;

/// AES-256 in counter mode: block i is the encryption of (start + i, nonce), 64 bits each.
///
/// The crate `ctr` does the same for all sizes and orders of counters, and is up to a third slower where the compiler
/// does not inline its closures, which differs from build to build (`bench/run noise`). Blocks are different as long as
/// fewer than 2^64 are drawn under a key; 2^20 are.
struct Counter {
    aes: Aes256,
    next: u64,
    nonce: u64,
}

impl Counter {
    /// Fills whole blocks.
    fn write(&mut self, bytes: &mut [u8]) {
        let (blocks, _) = bytes.as_chunks_mut::<16>();
        let (first, nonce) = (self.next, u128::from(self.nonce) << 64);
        for (place, block) in blocks.iter_mut().enumerate() {
            *block = (nonce | u128::from(first.wrapping_add(place as u64))).to_le_bytes();
        }
        self.next = first.wrapping_add(blocks.len() as u64);
        let (blocks, _) = Array::slice_as_chunks_mut(bytes);
        self.aes.encrypt_blocks(blocks);
    }
}

enum Cipher {
    Aes(Box<Counter>),
    ChaCha(Box<ChaCha20>),
}

impl Cipher {
    fn with_new_key() -> Result<Self> {
        if has_aes() { Self::with_new_aes_key() } else { Self::with_new_chacha_key() }
    }

    fn with_new_aes_key() -> Result<Self> {
        let (mut key, start, nonce) = (entropy::<32>()?, entropy::<8>()?, entropy::<8>()?);
        let (next, nonce) = (u64::from_le_bytes(start), u64::from_le_bytes(nonce));
        let cipher = Self::Aes(Box::new(Counter { aes: Aes256::new(&key.into()), next, nonce }));
        key.zeroize();
        Ok(cipher)
    }

    fn with_new_chacha_key() -> Result<Self> {
        let mut key = entropy::<32>()?;
        let cipher = Self::ChaCha(Box::new(ChaCha20::new(&key.into(), &[0u8; 12].into())));
        key.zeroize();
        Ok(cipher)
    }

    /// Fills bytes, a multiple of 16 of them.
    fn write(&mut self, bytes: &mut [u8]) {
        match self {
            Self::Aes(counter) => counter.write(bytes),
            Self::ChaCha(cipher) => cipher.write_keystream(bytes),
        }
    }
}

fn has_aes() -> bool {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    return std::is_x86_feature_detected!("aes");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("aes");
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
    return false;
}

fn entropy<const LENGTH: usize>() -> Result<[u8; LENGTH]> {
    let mut bytes = [0u8; LENGTH];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::refused(format!("the operating system gave no random bits ({error})")))?;
    Ok(bytes)
}

impl SecureSource {
    /// A source with its own key from the operating system.
    pub fn new() -> Result<Self> {
        forks::watch()?;
        Ok(Self::with_cipher(Cipher::with_new_key()?))
    }

    fn with_cipher(cipher: Cipher) -> Self {
        Self {
            cipher,
            buffer: Box::new([0; BUFFERED_WORDS]),
            position: BUFFERED_WORDS,
            bytes: Box::new([0; 8 * BUFFERED_WORDS]),
            bytes_until_new_key: BYTES_PER_KEY,
            refills_until_check: REFILLS_PER_CHECK,
            forks: forks::seen(),
            process: std::process::id(),
        }
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        self.check_key();
        self.cipher.write(&mut self.bytes[..]);
        into_words(&self.bytes[..], &mut self.buffer[..]);
        self.bytes_until_new_key = self.bytes_until_new_key.saturating_sub(8 * BUFFERED_WORDS);
        self.position = 0;
    }

    /// A new key after a fork, where it must work, and after this many bytes, where the old one serves until the next
    /// try.
    fn check_key(&mut self) {
        if forks::seen() != self.forks || self.is_in_another_process() {
            match Cipher::with_new_key() {
                Ok(cipher) => *self = Self::with_cipher(cipher),
                Err(error) => panic!("after a fork, {error}: drawing on would repeat the parent's noise"),
            }
        } else if self.bytes_until_new_key == 0
            && let Ok(cipher) = Cipher::with_new_key()
        {
            self.cipher = cipher;
            self.bytes_until_new_key = BYTES_PER_KEY;
        }
    }

    fn is_in_another_process(&mut self) -> bool {
        self.refills_until_check -= 1;
        if self.refills_until_check > 0 {
            return false;
        }
        self.refills_until_check = REFILLS_PER_CHECK;
        std::process::id() != self.process
    }
}

fn into_words(bytes: &[u8], words: &mut [u64]) {
    let (chunks, _) = bytes.as_chunks::<8>();
    for (word, chunk) in words.iter_mut().zip(chunks) {
        *word = u64::from_le_bytes(*chunk);
    }
}

impl BitSource for SecureSource {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        if self.position >= BUFFERED_WORDS || self.forks != forks::seen() {
            self.refill();
        }
        let word = self.buffer[self.position];
        self.position += 1;
        word
    }

    fn fill(&mut self, words: &mut [u64]) {
        for chunk in words.chunks_mut(BUFFERED_WORDS) {
            self.check_key();
            // Whole blocks: half of the last one is thrown away where the words are odd.
            let bytes = &mut self.bytes[..16 * chunk.len().div_ceil(2)];
            self.cipher.write(bytes);
            into_words(bytes, chunk);
            self.bytes_until_new_key = self.bytes_until_new_key.saturating_sub(bytes.len());
        }
    }

    fn is_secure(&self) -> bool {
        true
    }
}

impl Drop for SecureSource {
    fn drop(&mut self) {
        // The ciphers zeroise their keys themselves.
        self.buffer.zeroize();
        self.bytes.zeroize();
    }
}

/// How often this process is the child of a fork.
mod forks {
    #[cfg(unix)]
    use crate::error::Error;
    use crate::error::Result;
    #[cfg(unix)]
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static FORKS: AtomicU64 = AtomicU64::new(0);

    #[inline]
    pub(super) fn seen() -> u64 {
        FORKS.load(Ordering::Relaxed)
    }

    #[cfg(unix)]
    extern "C" fn in_the_child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts forks from now on.
    #[cfg(unix)]
    #[allow(unsafe_code)]
    pub(super) fn watch() -> Result<()> {
        static STATUS: OnceLock<i32> = OnceLock::new();
        // SAFETY: the handler is a plain function that lives as long as the program and does one atomic addition, which
        // is allowed in the child of a fork.
        let status = STATUS.get_or_init(|| unsafe { libc::pthread_atfork(None, None, Some(in_the_child)) });
        match status {
            0 => Ok(()),
            code => {
                Err(Error::refused(format!("forks of this process cannot be detected (pthread_atfork gave {code})")))
            }
        }
    }

    /// There are no forks.
    #[cfg(not(unix))]
    pub(super) fn watch() -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::statistics::assert_agree;

    fn check_bytes(name: &str, source: &mut SecureSource) {
        let mut counts = [0u64; 256];
        let mut words = vec![0; 100_000];
        source.fill(&mut words);
        words.extend((0..100_000).map(|_| source.next_u64()));
        for byte in words.iter().flat_map(|word| word.to_le_bytes()) {
            counts[usize::from(byte)] += 1;
        }
        assert_agree(name, 8 * words.len() as u64, counts.map(|count| (count, 1.0 / 256.0)));
    }

    #[test]
    fn both_ciphers_give_even_bytes_and_no_word_twice() {
        let mut aes = SecureSource::with_cipher(Cipher::with_new_aes_key().unwrap());
        let mut chacha = SecureSource::with_cipher(Cipher::with_new_chacha_key().unwrap());
        check_bytes("AES", &mut aes);
        check_bytes("ChaCha", &mut chacha);
        let mut words: Vec<u64> =
            (0..5000).map(|_| aes.next_u64()).chain((0..5000).map(|_| chacha.next_u64())).collect();
        let mut filled = vec![0; 5000];
        aes.fill(&mut filled);
        words.extend(filled);
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count); // a repeat of 64 bits has probability 1e-11
    }

    /// FIPS 197, appendix C.3: the block of the standard, reached by a counter; and the counter of the crate `ctr`,
    /// over a border at which it carries nothing.
    #[test]
    fn the_counter_is_that_of_the_standard() {
        let key: [u8; 32] = std::array::from_fn(|place| place as u8);
        let half = |bytes: [u8; 8]| u64::from_le_bytes(bytes);
        let next = half([0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77]);
        let nonce = half([0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff]);
        let mut counter = Counter { aes: Aes256::new(&key.into()), next, nonce };
        let mut bytes = [0; 16];
        counter.write(&mut bytes);
        let expected = 0x8ea2_b7ca_5167_45bf_eafc_4990_4b49_6089_u128.to_be_bytes();
        assert_eq!(bytes, expected);
        let start = (u128::from(nonce) << 64 | u128::from(next)).to_le_bytes();
        let mut other = ctr::Ctr128LE::<Aes256>::new(&key.into(), &start.into());
        let (mut ours, mut theirs) = (vec![0; 4096 + 16], vec![0; 4096 + 16]);
        Counter { aes: Aes256::new(&key.into()), next, nonce }.write(&mut ours);
        other.write_keystream(&mut theirs);
        assert_eq!(ours, theirs);
        // It begins anew, and does not stop.
        let mut last = Counter { aes: Aes256::new(&key.into()), next: u64::MAX, nonce };
        last.write(&mut ours[..32]);
        assert_eq!(last.next, 1);
    }

    /// An odd number of words is filled whole.
    #[test]
    fn odd_numbers_of_words_are_filled() {
        for cipher in [Cipher::with_new_aes_key().unwrap(), Cipher::with_new_chacha_key().unwrap()] {
            let mut source = SecureSource::with_cipher(cipher);
            let mut words = [0; 2 * BUFFERED_WORDS + 7];
            source.fill(&mut words);
            assert!(words.iter().all(|word| *word != 0)); // 1031 words: one of them is 0 with probability 6e-17
        }
    }

    #[test]
    fn a_used_up_key_is_replaced() {
        let mut source = SecureSource::new().unwrap();
        source.bytes_until_new_key = 8 * BUFFERED_WORDS;
        source.refill();
        assert_eq!(source.bytes_until_new_key, 0);
        source.refill();
        assert_eq!(source.bytes_until_new_key, BYTES_PER_KEY - 8 * BUFFERED_WORDS);
    }

    /// The story: a worker pool forks after the parent has drawn once; without care every worker adds the same noise.
    #[cfg(unix)]
    #[test]
    #[allow(unsafe_code)]
    fn a_forked_child_draws_other_words_than_its_parent() {
        let mut source = SecureSource::new().unwrap();
        source.next_u64();
        let copied = source.buffer[source.position];
        // SAFETY: the child only draws, compares and leaves; it allocates nothing but what a refill needs.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            let same = source.next_u64() == copied;
            // SAFETY: ends the child without running the parent's exit handlers.
            unsafe { libc::_exit(i32::from(same)) };
        }
        let mut status = 0;
        // SAFETY: waits for the child that was just made.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "the child drew its parent's word, or died");
        assert_eq!(source.next_u64(), copied, "the parent goes on undisturbed");
    }
}
