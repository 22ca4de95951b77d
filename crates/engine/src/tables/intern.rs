//! Names as small numbers: each different owner, or key, gets the next number. An open-addressed table, because it is
//! asked once per row.

use super::hash::QuickHash;

/// A free place of the table.
const FREE: u32 = u32::MAX;

/// What is numbered. All names of one [`Interner`] are of one form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Name<'a> {
    /// A whole number.
    Number(i64),
    /// A text, as bytes.
    Text(&'a [u8]),
}

impl Name<'_> {
    /// The hash that [`Interner::intern`] wants.
    #[inline]
    pub fn hash(&self, quick: &QuickHash) -> u64 {
        match self {
            Self::Number(number) => quick.number(*number),
            Self::Text(text) => quick.bytes(text),
        }
    }
}

/// The names so far.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    /// Numbers of names, at the place that the low bits of their hash say, or the next free one.
    places: Vec<u32>,
    hashes: Vec<u64>,
    numbers: Vec<i64>,
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl Interner {
    /// The number of a name, and whether it is new. Names are compared, not only their hashes.
    #[inline]
    pub fn intern(&mut self, hash: u64, name: Name<'_>) -> (u32, bool) {
        if self.hashes.len() * 8 >= self.places.len() * 7 {
            self.grow();
        }
        let mask = self.places.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let found = self.places[place];
            if found == FREE {
                break;
            }
            if self.is_named(found as usize, hash, name) {
                return (found, false);
            }
            place = (place + 1) & mask;
        }
        let number = self.hashes.len() as u32;
        debug_assert!(number != FREE, "memory ends before 2³² names do");
        self.places[place] = number;
        self.hashes.push(hash);
        match name {
            Name::Number(number) => self.numbers.push(number),
            Name::Text(text) => {
                self.bytes.extend_from_slice(text);
                self.ends.push(self.bytes.len());
            }
        }
        (number, true)
    }

    /// The text of a number.
    pub fn text(&self, number: u32) -> &[u8] {
        let index = number as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    #[inline]
    fn is_named(&self, index: usize, hash: u64, name: Name<'_>) -> bool {
        match name {
            Name::Number(number) => self.numbers[index] == number,
            Name::Text(text) => self.hashes[index] == hash && self.text(index as u32) == text,
        }
    }

    fn grow(&mut self) {
        let size = (self.places.len() * 2).max(16);
        self.places = vec![FREE; size];
        for (number, hash) in self.hashes.iter().enumerate() {
            let mut place = *hash as usize & (size - 1);
            while self.places[place] != FREE {
                place = (place + 1) & (size - 1);
            }
            self.places[place] = number as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::hash::Key;

    #[test]
    fn every_name_keeps_its_number() {
        let quick = QuickHash::new(Key(5, 6));
        let (mut numbers, mut texts) = (Interner::default(), Interner::default());
        for round in 0..2 {
            for i in 0..5000i64 {
                let name = Name::Number(i * i - 7);
                assert_eq!(numbers.intern(name.hash(&quick), name), (i as u32, round == 0));
                let text = format!("{i} and more than eight bytes");
                let name = Name::Text(&text.as_bytes()[..text.len() - (i % 3) as usize]);
                assert_eq!(texts.intern(name.hash(&quick), name), (i as u32, round == 0));
            }
        }
        assert_eq!(texts.text(3), b"3 and more than eight bytes");
    }

    #[test]
    fn names_with_one_hash_are_different_names() {
        let mut texts = Interner::default();
        assert_eq!(texts.intern(9, Name::Text(b"a")), (0, true));
        assert_eq!(texts.intern(9, Name::Text(b"b")), (1, true));
        assert_eq!(texts.intern(9, Name::Text(b"")), (2, true));
        assert_eq!(texts.intern(9, Name::Text(b"a")), (0, false));
    }
}
