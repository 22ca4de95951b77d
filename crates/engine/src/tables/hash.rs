//! SipHash-2-4 with a secret key: what decides which of an owner's groups and rows count.
//!
//! # Guarantee
//! Privacy does not rest on this hash: for every fixed key, what is kept of one owner is a function of that owner's
//! rows only, so that the sensitivities hold for each key. The secret only keeps an adversary who writes rows from
//! aiming at what is kept. [Aumasson–Bernstein 2012]

/// The key: fresh for each release, never stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key(pub u64, pub u64);

/// A running hash.
#[derive(Debug, Clone)]
pub(crate) struct SipHasher {
    v: [u64; 4],
    pending: u64,
    length: u64,
}

impl SipHasher {
    #[inline]
    pub fn new(key: Key) -> Self {
        let v = [
            key.0 ^ 0x736f_6d65_7073_6575,
            key.1 ^ 0x646f_7261_6e64_6f6d,
            key.0 ^ 0x6c79_6765_6e65_7261,
            key.1 ^ 0x7465_6462_7974_6573,
        ];
        Self { v, pending: 0, length: 0 }
    }

    /// Takes in bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !self.length.is_multiple_of(8) && !rest.is_empty() {
            self.pending |= u64::from(rest[0]) << (8 * (self.length % 8));
            self.length += 1;
            rest = &rest[1..];
            if self.length.is_multiple_of(8) {
                self.block(self.pending);
                self.pending = 0;
            }
        }
        let mut words = rest.chunks_exact(8);
        for word in &mut words {
            self.block(u64::from_le_bytes(word.try_into().unwrap_or_default()));
            self.length += 8;
        }
        for byte in words.remainder() {
            self.pending |= u64::from(*byte) << (8 * (self.length % 8));
            self.length += 1;
        }
    }

    /// Takes in one word.
    #[inline]
    pub fn write_u64(&mut self, word: u64) {
        if self.length.is_multiple_of(8) {
            self.block(word);
            self.length += 8;
        } else {
            self.write(&word.to_le_bytes());
        }
    }

    /// The hash of what was taken in.
    #[inline]
    pub fn finish(mut self) -> u64 {
        self.block(self.pending | (self.length << 56));
        self.v[2] ^= 0xff;
        (0..4).for_each(|_| self.round());
        self.v[0] ^ self.v[1] ^ self.v[2] ^ self.v[3]
    }

    #[inline]
    fn block(&mut self, word: u64) {
        self.v[3] ^= word;
        self.round();
        self.round();
        self.v[0] ^= word;
    }

    #[inline]
    fn round(&mut self) {
        let v = &mut self.v;
        v[0] = v[0].wrapping_add(v[1]);
        v[2] = v[2].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[1]);
        v[0] = v[0].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].rotate_left(32);
    }
}

/// A quick hash for tables in memory: seeded, so that nobody can aim at collisions, and nothing but speed rests on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QuickHash {
    seed: u64,
    factor: u64,
}

impl QuickHash {
    pub fn new(key: Key) -> Self {
        Self { seed: key.0 ^ 0xd1b5_4a32_d192_ed03, factor: (key.1 ^ 0x9e37_79b9_7f4a_7c15) | 1 }
    }

    /// The hash of a whole number.
    #[inline]
    pub fn number(&self, number: i64) -> u64 {
        self.folded(self.folded(number.cast_unsigned() ^ self.seed))
    }

    /// The hash of bytes.
    #[inline]
    pub fn bytes(&self, bytes: &[u8]) -> u64 {
        let mut hash = self.seed ^ bytes.len() as u64;
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            hash = self.folded(hash ^ u64::from_le_bytes(word.try_into().unwrap_or_default()));
        }
        let rest = words.remainder().iter().rev().fold(0, |rest, byte| rest << 8 | u64::from(*byte));
        self.folded(self.folded(hash ^ rest))
    }

    /// Both halves of a product, which mixes all bits.
    #[inline]
    fn folded(&self, word: u64) -> u64 {
        let product = u128::from(word) * u128::from(self.factor);
        (product as u64) ^ ((product >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of the paper's reference code: key 00 01 … 0f, input 00 01 … of the given length.
    #[test]
    fn the_reference_vectors_hold() {
        let key = Key(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        let check = |length: u8, expected: u64| {
            let bytes: Vec<u8> = (0..length).collect();
            for cut in 0..=bytes.len() {
                let mut hasher = SipHasher::new(key);
                hasher.write(&bytes[..cut]);
                hasher.write(&bytes[cut..]);
                assert_eq!(hasher.finish(), expected, "length {length} cut at {cut}");
            }
        };
        check(0, 0x726f_db47_dd0e_0e31);
        check(1, 0x74f8_39c5_93dc_67fd);
        check(8, 0x93f5_f579_9a93_2462);
        check(15, 0xa129_ca61_49be_45e5);
    }
}
