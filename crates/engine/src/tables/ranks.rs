//! The ranks that decide which of an owner's groups and rows count, by one of two hashes with a secret.
//!
//! SipHash on bytes is quick, and no other engine has it. SHA-256 on texts is built into all engines that SQL is
//! written for ([`crate::sql::text`]); a rank is the first 64 bits, as the first 16 hexadecimal digits say them. The
//! texts are
//! - of a group `SECRET group OWNER KEYS`: owners and texts as their length in characters, a colon and themselves,
//!   everything else as its digits and a semicolon, so that no two lists are one text;
//! - of a row `SECRET row RANK VALUES COPY`: the values as their digits with commas between them, nothing for NULL, and
//!   of a text the first 15 digits of its hash; copies are numbered from 0;
//! - of a place `SECRET slot RANK N`, for the bound on all rows.
//!
//! # Guarantee
//! Whatever the hash and the secret: what is kept of an owner is a function of that owner's rows alone
//! ([`crate::tables::bounding`]).

use super::hash::{Key, QuickHash, SipHasher};
use super::intern::Name;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::sync::Arc;

/// How ranks are made.
#[derive(Debug, Clone)]
pub(crate) enum Ranks {
    /// SipHash-2-4 on bytes.
    Sip(Key),
    /// SHA-256 on texts.
    Sha(Arc<Sha>),
}

/// The secret of SHA-256 ranks.
#[derive(Debug, Clone)]
pub(crate) struct Sha {
    secret: String,
    /// Which values are hashes of texts.
    texts: Vec<bool>,
}

impl From<Key> for Ranks {
    fn from(key: Key) -> Self {
        Self::Sip(key)
    }
}

impl Ranks {
    /// SHA-256 ranks with a secret, which is a text without quotes.
    #[cfg(any(test, feature = "generator"))]
    pub fn sha(secret: &str) -> Self {
        Self::Sha(Arc::new(Sha { secret: secret.to_string(), texts: Vec::new() }))
    }

    /// The same for rows where these values are hashes of strings.
    pub fn with_texts(self, texts: Vec<bool>) -> Self {
        match self {
            Self::Sip(key) => Self::Sip(key),
            Self::Sha(sha) => Self::Sha(Arc::new(Sha { secret: sha.secret.clone(), texts })),
        }
    }

    /// A quick hash for tables in memory.
    pub fn quick(&self) -> QuickHash {
        QuickHash::new(match self {
            Self::Sip(key) => *key,
            Self::Sha(sha) => Key(first_bits(&sha.secret), first_bits(&format!("{} quick", sha.secret))),
        })
    }

    /// What is computed once for each key.
    pub fn of_key(&self, encoded: &[u8]) -> u64 {
        match self {
            Self::Sip(key) => sip(*key, encoded),
            Self::Sha(_) => 0,
        }
    }

    /// The rank of an owner's group, from what [`Ranks::of_key`] gave and, for SHA-256, the key as it is spelled.
    #[inline]
    pub fn of_group<'a>(&self, owner: Name<'_>, of_key: u64, spelled: impl FnOnce() -> &'a [u8]) -> u64 {
        match self {
            Self::Sip(key) => group_rank(*key, owner, of_key),
            Self::Sha(sha) => sha.of_group(owner, spelled()),
        }
    }

    /// The rank of the first copy of a row within its group.
    pub fn of_row(&self, group: u64, values: &[i64]) -> u64 {
        match self {
            Self::Sip(key) => row_rank(*key, group, values),
            Self::Sha(sha) => sha.of_row(group, values, 0),
        }
    }

    /// The rank of the n-th copy of a row (from 0), from that of the first.
    pub fn of_copy(&self, group: u64, values: &[i64], first: u64, n: u64) -> u64 {
        match self {
            Self::Sip(key) => copy_rank(*key, first, n),
            Self::Sha(_) if n == 0 => first,
            Self::Sha(sha) => sha.of_row(group, values, n),
        }
    }

    /// The rank of the n-th place of a group (from 0) among all places of an owner.
    pub fn of_place(&self, group: u64, n: u64) -> u64 {
        match self {
            Self::Sip(key) => place_rank(*key, group, n),
            Self::Sha(sha) => sha.of_place(group, n),
        }
    }

    /// A text among values, as a whole number that stands for it.
    pub fn of_text(&self, text: &str) -> i64 {
        match self {
            Self::Sip(_) => sip(Key(0, 0), text.as_bytes()).cast_signed().max(NOTHING + 1),
            // 15 of 16 digits: they are a positive number.
            Self::Sha(_) => (first_bits(text) >> 4).cast_signed(),
        }
    }
}

impl Sha {
    fn of_group(&self, owner: Name<'_>, spelled: &[u8]) -> u64 {
        let mut hasher = Sha256::new();
        hasher.update(self.secret.as_bytes());
        hasher.update(b" group ");
        match owner {
            Name::Number(number) => {
                let digits = number.to_string();
                hasher.update(format!("{}:{digits}", digits.len()));
            }
            Name::Text(text) => {
                hasher.update(format!("{}:", characters(text)));
                hasher.update(text);
            }
        }
        hasher.update(spelled);
        bits(&hasher.finalize())
    }

    fn of_row(&self, group: u64, values: &[i64], copy: u64) -> u64 {
        let mut text = format!("{} row {group:016x} ", self.secret);
        for (index, value) in values.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let is_text = self.texts.get(index).copied().unwrap_or(false);
            // Writing to a text does not fail.
            let _ = match *value {
                NOTHING => write!(text, "{comma}"),
                value if is_text => write!(text, "{comma}{value:015x}"),
                value => write!(text, "{comma}{value}"),
            };
        }
        let _ = write!(text, " {copy}");
        first_bits(&text)
    }

    fn of_place(&self, group: u64, n: u64) -> u64 {
        first_bits(&format!("{} slot {group:016x} {n}", self.secret))
    }
}

/// A text within a list that can be read from its beginning: its length in characters, a colon and the text.
pub(crate) fn spell_text(text: &str, to: &mut Vec<u8>) {
    to.extend_from_slice(text.chars().count().to_string().as_bytes());
    to.push(b':');
    to.extend_from_slice(text.as_bytes());
}

/// How many characters a text has; texts of a backend are UTF-8.
fn characters(text: &[u8]) -> usize {
    // Every byte but those that continue a character.
    text.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

fn first_bits(text: &str) -> u64 {
    bits(&Sha256::digest(text.as_bytes()))
}

fn bits(hash: &[u8]) -> u64 {
    hash.iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

fn sip(key: Key, bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher::new(key);
    hasher.write(bytes);
    hasher.finish()
}

/// What stands for NULL among the values. No value is it: steps are below 2⁵³.
pub(crate) const NOTHING: i64 = i64::MIN;

/// The keyed hash of an owner and a group's fingerprint.
#[inline]
pub(crate) fn group_rank(key: Key, owner: Name<'_>, fingerprint: u64) -> u64 {
    let mut hasher = SipHasher::new(key);
    hasher.write_u64(fingerprint);
    match owner {
        Name::Number(number) => hasher.write_u64(number.cast_unsigned()),
        Name::Text(text) => hasher.write(text),
    }
    hasher.finish()
}

/// The keyed hash of a row's values within its group.
pub(crate) fn row_rank(key: Key, group_rank: u64, values: &[i64]) -> u64 {
    let mut hasher = SipHasher::new(key);
    hasher.write_u64(group_rank);
    values.iter().for_each(|value| hasher.write_u64(value.cast_unsigned()));
    hasher.finish()
}

/// The rank of the n-th place of a group (from 0). The bits of the group's rank are turned, so that no row whose value
/// is n has this hash: which row is last must say nothing of whether a last one stays.
pub(crate) fn place_rank(key: Key, group_rank: u64, n: u64) -> u64 {
    row_rank(key, !group_rank, &[n.cast_signed()])
}

/// The rank of the n-th copy of a row (from 0), from that of its values.
pub(crate) fn copy_rank(key: Key, rank: u64, n: u64) -> u64 {
    match n {
        0 => rank,
        n => row_rank(key, !rank, &[n.cast_signed()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts as they stand in the statements, digested by hand.
    #[test]
    fn ranks_are_the_first_digits_of_the_hashes_of_written_texts() {
        let ranks = Ranks::sha("s").with_texts(vec![false, true]);
        let mut spelled = Vec::new();
        spell_text("k\u{e9}y", &mut spelled);
        spelled.extend_from_slice(b"-3;");
        let group = ranks.of_group(Name::Text("o'\u{1F600}".as_bytes()), 0, || &spelled);
        assert_eq!(group, first_bits("s group 3:o'\u{1F600}3:k\u{e9}y-3;"));
        assert_eq!(ranks.of_group(Name::Number(-17), 0, || b""), first_bits("s group 3:-17"));
        let text = ranks.of_text("a");
        let digits = crate::digest(b"a");
        assert_eq!(format!("{text:015x}"), digits[..15]);
        let row = format!("s row {group:016x} -4,{} 2", &digits[..15]);
        assert_eq!(ranks.of_copy(group, &[-4, text], 0, 2), first_bits(&row));
        assert_eq!(ranks.of_row(group, &[NOTHING, NOTHING]), first_bits(&format!("s row {group:016x} , 0")));
        assert_eq!(ranks.of_place(group, 1), first_bits(&format!("s slot {group:016x} 1")));
        assert_eq!(format!("{:016x}", first_bits("abc")), crate::digest(b"abc")[..16]);
    }
}
