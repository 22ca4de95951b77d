//! All texts of up to this many bytes, as the keys 0, 1, 2, …

use crate::error::Result;

/// How many characters UTF-8 writes with 1, 2, 3 and 4 bytes (surrogates are none), and the first of each.
const WIDTHS: [(u128, u32); 4] = [(0x80, 0), (0x780, 0x80), (0xF000, 0x800), (0x10_0000, 0x1_0000)];
/// There are more than 2^128 texts of 18 bytes.
const MOST_BYTES: usize = 17;
/// The surrogates, which are no characters: 0x800 numbers from 0xD800 on.
const SURROGATES: (u32, u32) = (0xD800, 0x800);

/// All texts (in UTF-8) of at most some number of bytes: a public domain whose keys can be named, but not walked
/// through.
///
/// The key of a text is its place among all of them in the order of a dictionary, character by character as Unicode
/// numbers them: that of its bytes, too.
///
/// ```
/// use scumble::mechanism::huge_domain::StringDomain;
/// let texts = StringDomain::up_to(16)?;
/// assert_eq!(texts.key(""), Some(0));
/// let key = texts.key("Grüße, 世界").unwrap();
/// assert_eq!(texts.text(key).as_deref(), Some("Grüße, 世界"));
/// assert!(texts.key("Abend") < texts.key("Abendrot") && texts.key("Abendrot") < texts.key("Abt"));
/// assert_eq!(texts.key("seventeen letters"), None);
/// assert!(texts.last() < u128::MAX && texts.text(texts.last() + 1).is_none());
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StringDomain {
    /// How many texts there are of at most 0, 1, 2, … bytes.
    ways: Vec<u128>,
}

impl StringDomain {
    /// Texts of up to this many bytes, 1 to 17.
    pub fn up_to(bytes: usize) -> Result<Self> {
        refuse_if!(!(1..=MOST_BYTES).contains(&bytes), "strings may have up to 1 to {MOST_BYTES} bytes, not {bytes}");
        let mut ways = vec![1u128];
        for length in 1..=bytes {
            // Nothing more, or a character of some width and a text of what is left. 17 bytes are below 2^122.
            let with = |width: usize| WIDTHS[width - 1].0 * ways[length - width];
            ways.push(1 + (1..=WIDTHS.len().min(length)).map(with).sum::<u128>());
        }
        Ok(Self { ways })
    }

    /// The largest key.
    pub fn last(&self) -> u128 {
        self.ways[self.bytes()] - 1
    }

    fn bytes(&self) -> usize {
        self.ways.len() - 1
    }

    /// The key of a text; none if it is longer.
    pub fn key(&self, text: &str) -> Option<u128> {
        (text.len() <= self.bytes()).then(|| self.key_at_or_before(text))
    }

    /// The key of a text, or of the last one before it in the dictionary that is short enough: the order of any texts
    /// is kept, except that some become equal.
    ///
    /// ```
    /// use scumble::mechanism::huge_domain::StringDomain;
    /// let short = StringDomain::up_to(3)?;
    /// assert_eq!(short.text(short.key_at_or_before("zebra")).as_deref(), Some("zeb"));
    /// assert!(short.key_at_or_before("zez") < short.key_at_or_before("zeé"));
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn key_at_or_before(&self, text: &str) -> u128 {
        let (mut key, mut left) = (0, self.bytes());
        for character in text.chars() {
            let width = character.len_utf8();
            if width > left {
                // All that begins like this and goes on with what still fits is before it.
                return key + self.ways[left] - 1;
            }
            // Before it: the text that ends here, and all that go on with a narrower character or an earlier one of
            // this width.
            key += 1 + (1..width).map(|narrow| self.starting(narrow, left)).sum::<u128>();
            left -= width;
            key += place(character, width) * self.ways[left];
        }
        key
    }

    /// The text of a key; none if there is no such key.
    pub fn text(&self, key: u128) -> Option<String> {
        if key > self.last() {
            return None;
        }
        let (mut key, mut left, mut text) = (key, self.bytes(), String::new());
        while key > 0 {
            key -= 1;
            let mut width = 1;
            while key >= self.starting(width, left) {
                key -= self.starting(width, left);
                width += 1;
            }
            left -= width;
            text.push(character(key / self.ways[left], width)?);
            key %= self.ways[left];
        }
        Some(text)
    }

    /// How many texts of up to this many bytes begin with a character of this width.
    fn starting(&self, width: usize, bytes: usize) -> u128 {
        if width > bytes { 0 } else { WIDTHS[width - 1].0 * self.ways[bytes - width] }
    }
}

/// The place of a character among those of its width.
fn place(character: char, width: usize) -> u128 {
    let number = u32::from(character);
    let skipped = if number >= SURROGATES.0 + SURROGATES.1 && width == 3 { SURROGATES.1 } else { 0 };
    u128::from(number - WIDTHS[width - 1].1 - skipped)
}

/// The character of a place.
fn character(place: u128, width: usize) -> Option<char> {
    let number = u32::try_from(place).ok()? + WIDTHS[width - 1].1;
    char::from_u32(if width == 3 && number >= SURROGATES.0 { number + SURROGATES.1 } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_are_a_numbering_of_all_texts() {
        // Two bytes: all of 1 + 128 + (128² + 1920) keys, each a text of its own.
        let texts = StringDomain::up_to(2).unwrap();
        assert_eq!(texts.last(), 128 + 128 * 128 + 1920);
        let all: std::collections::BTreeSet<String> = (0..=texts.last()).map(|key| texts.text(key).unwrap()).collect();
        assert_eq!(all.len() as u128, texts.last() + 1);
        assert!(all.iter().all(|text| text.len() <= 2 && texts.text(texts.key(text).unwrap()).as_ref() == Some(text)));
        assert!(texts.text(texts.last() + 1).is_none() && texts.key("abc").is_none() && texts.key("世").is_none());
        // Around the surrogates and at both ends of each width.
        let texts = StringDomain::up_to(4).unwrap();
        for text in
            ["\u{7f}", "\u{80}", "\u{7ff}", "\u{800}", "\u{d7ff}", "\u{e000}", "\u{ffff}", "\u{10000}", "\u{10ffff}"]
        {
            assert_eq!(texts.text(texts.key(text).unwrap()).as_deref(), Some(text));
        }
        // Between them are those with one more character of a byte.
        assert_eq!(texts.key("\u{e000}").unwrap(), texts.key("\u{d7ff}").unwrap() + 1 + 128);
        assert_eq!(texts.text(texts.last()).as_deref(), Some("\u{10ffff}"));
        assert!(StringDomain::up_to(0).is_err() && StringDomain::up_to(18).is_err());
        assert!(StringDomain::up_to(17).unwrap().last() < 1 << 122);
    }

    proptest! {
        #[test]
        fn every_text_is_found_again(text in any::<String>(), bytes in 1usize..=17, key in any::<u128>()) {
            let texts = StringDomain::up_to(bytes).unwrap();
            match texts.key(&text) {
                Some(key) => prop_assert_eq!(texts.text(key), Some(text)),
                None => prop_assert!(text.len() > bytes),
            }
            let key = key % (texts.last() + 1);
            prop_assert_eq!(texts.key(&texts.text(key).unwrap()), Some(key));
        }

        #[test]
        fn keys_are_in_the_order_of_the_texts(one in ".{0,6}", other in ".{0,6}", shared in ".{0,3}", bytes in 1usize..=17) {
            let texts = StringDomain::up_to(bytes).unwrap();
            let (one, other) = (format!("{shared}{one}"), format!("{shared}{other}"));
            let keys = (texts.key_at_or_before(&one), texts.key_at_or_before(&other));
            let is_exact = one.len() <= bytes && other.len() <= bytes;
            let order = keys.0.cmp(&keys.1);
            prop_assert!(order == one.cmp(&other) || (!is_exact && order.is_eq()));
            // What a longer text counts as is before it, and nothing that is short enough lies between.
            let found = texts.text(keys.0).unwrap();
            prop_assert!(found <= one && (keys.0 == texts.last() || texts.text(keys.0 + 1).unwrap() > one));
        }
    }
}
