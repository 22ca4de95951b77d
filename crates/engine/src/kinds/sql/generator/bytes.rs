//! Where choices come from: a list of bytes, so that a seed, a fuzzer and a shrunk case all speak the same language.

/// Bytes that decide; zeros when they are used up, and choice 0 is always the simplest.
pub(crate) struct Bytes<'a> {
    rest: &'a [u8],
    /// Whether all of the grammar is drawn from. What is drawn from less of it stays what it was when the grammar grew:
    /// one row for each owner first, groupings, pairs of columns and functions that are no number somewhere are in the
    /// whole alone.
    pub wide: bool,
}

impl<'a> Bytes<'a> {
    #[cfg(test)]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, wide: false }
    }

    /// The same, for all of the grammar.
    pub fn wide(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, wide: true }
    }

    fn next(&mut self) -> u8 {
        match self.rest.split_first() {
            Some((first, rest)) => {
                self.rest = rest;
                *first
            }
            None => 0,
        }
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        let wide = usize::from(self.next()) << 8 | usize::from(self.next());
        (wide * n.max(1)) >> 16
    }

    /// True in this many of a hundred cases; never when the bytes are used up.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) >= 100 - percent
    }

    /// One of several.
    pub fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    /// 64 bits.
    pub fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.next()))
    }
}

/// The bytes of a seed (splitmix64 [Steele–Lea–Flood 2014], started at a mixed seed, so that two seeds share no stretch
/// of bytes).
#[cfg(test)]
pub(crate) fn of_seed(seed: u64) -> Vec<u8> {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = |word: u64| {
        let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    };
    let start = mixed(seed.wrapping_mul(STEP).wrapping_add(1));
    (1..=512u64).flat_map(|index| mixed(start.wrapping_add(STEP.wrapping_mul(index))).to_le_bytes()).collect()
}
