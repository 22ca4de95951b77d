//! Where random bits come from: what a source is, and the one that is reproducible and says that it is insecure.

use super::record::Tape;
use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// A source of independent, uniformly random bits.
///
/// ```
/// use scumble::noise::{BitSource, InsecureSeededSource};
/// let mut bits = InsecureSeededSource::new(7);
/// let mut block = [0u64; 4];
/// bits.fill(&mut block);
/// assert_ne!(block, [0; 4]);
/// ```
pub trait BitSource {
    /// 64 fresh random bits.
    fn next_u64(&mut self) -> u64;

    /// `count` fresh random bits as a number below 2^count; at most 64. Samplers ask for no more bits than they need,
    /// so that a source can enumerate all that they do.
    #[inline]
    fn next_bits(&mut self, count: u32) -> u64 {
        if count == 0 { 0 } else { self.next_u64() >> (64 - count.min(64)) }
    }

    /// Fills `words` with fresh random bits.
    fn fill(&mut self, words: &mut [u64]) {
        for word in words {
            *word = self.next_u64();
        }
    }

    /// Whether what is drawn from here may be called private. False for seeded sources: a release made with one is
    /// marked.
    fn is_secure(&self) -> bool;

    /// Where mechanisms note what they are given and what they draw, in a test that replays them.
    #[doc(hidden)]
    fn tape(&mut self) -> Option<&mut Tape> {
        None
    }
}

/// Reproducible bits for tests. Anybody who knows the seed can subtract the noise: nothing made with this is private.
pub struct InsecureSeededSource(ChaCha20Rng);

impl InsecureSeededSource {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        Self(ChaCha20Rng::seed_from_u64(seed))
    }
}

impl BitSource for InsecureSeededSource {
    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn is_secure(&self) -> bool {
        false
    }
}
