//! Additive secret sharing over the integers modulo 2^bits.

use crate::error::{Error, Result};
use crate::noise::BitSource;

/// The integers modulo 2^bits, in which words are shared: any all-but-one shares of a word are uniform, whatever the
/// word is.
///
/// ```
/// use scumble::noise::InsecureSeededSource;
/// use scumble::parties::sum::Ring;
/// let ring = Ring::WORDS;
/// let shares = ring.split(&[41, u64::MAX], 3, &mut InsecureSeededSource::new(1))?;
/// let mut sum = vec![0; 2];
/// shares.iter().for_each(|share| ring.add(&mut sum, share));
/// assert_eq!((sum[0], ring.signed(sum[1])), (41, -1));
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ring {
    bits: u32,
}

impl Ring {
    /// Modulo 2^64: what is sent.
    pub const WORDS: Self = Self { bits: u64::BITS };

    /// Modulo 2^bits, from 1 to 64: small rings can be enumerated.
    pub fn new(bits: u32) -> Result<Self> {
        match (1..=u64::BITS).contains(&bits) {
            true => Ok(Self { bits }),
            false => Err(Error::refused(format!("words are shared modulo 2^1 to 2^64, not 2^{bits}"))),
        }
    }

    /// The number modulo 2^bits.
    pub fn reduced(self, word: u64) -> u64 {
        word & (u64::MAX >> (u64::BITS - self.bits))
    }

    /// Splits each word into one share for each server; the shares of a word add up to it.
    ///
    /// # Guarantee
    /// Before: `bits` is private, and no share is sent to two servers. After: the shares of any `servers` − 1 servers
    /// are independent and uniform, whatever the words are. (All but the last are drawn uniformly; the last is the word
    /// less a uniform number that the others determine.)
    pub fn split<S: BitSource + ?Sized>(self, words: &[u64], servers: usize, bits: &mut S) -> Result<Vec<Vec<u64>>> {
        refuse_if!(servers < 2, "a secret is shared among at least 2 servers, not {servers}");
        let mut last: Vec<u64> = words.iter().map(|word| self.reduced(*word)).collect();
        let mut shares = Vec::with_capacity(servers);
        for _ in 1..servers {
            let share: Vec<u64> = words.iter().map(|_| bits.next_bits(self.bits)).collect();
            for (rest, part) in last.iter_mut().zip(&share) {
                *rest = self.reduced(rest.wrapping_sub(*part));
            }
            shares.push(share);
        }
        shares.push(last);
        Ok(shares)
    }

    /// Adds a share to a sum, word by word.
    pub fn add(self, sum: &mut [u64], share: &[u64]) {
        for (sum, word) in sum.iter_mut().zip(share) {
            *sum = self.reduced(sum.wrapping_add(*word));
        }
    }

    /// The number between −2^(bits−1) and 2^(bits−1) that a word stands for.
    pub fn signed(self, word: u64) -> i64 {
        let free = u64::BITS - self.bits;
        ((word << free) as i64) >> free
    }
}
