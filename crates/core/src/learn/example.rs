//! Labelled rows over binary attributes.

use crate::error::Result;

/// A row of binary attributes, 64 in a word, the first one lowest, and its label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Example {
    words: Vec<u64>,
    label: bool,
}

impl Example {
    /// A row of these attributes.
    ///
    /// ```
    /// use scumble::learn::Example;
    /// let row = Example::new(&[true, false, true], true);
    /// assert!(row.attribute(0) && !row.attribute(1) && row.label());
    /// ```
    pub fn new(attributes: &[bool], label: bool) -> Self {
        let mut words = vec![0u64; attributes.len().div_ceil(64)];
        attributes.iter().enumerate().filter(|(_, is_one)| **is_one).for_each(|(j, _)| words[j / 64] |= 1 << (j % 64));
        Self { words, label }
    }

    /// A row of whole words; bits beyond the attributes must be 0.
    pub fn from_words(words: Vec<u64>, attributes: usize, label: bool) -> Result<Self> {
        let beyond = !attributes.is_multiple_of(64) && words.last().is_some_and(|word| word >> (attributes % 64) != 0);
        if words.len() != attributes.div_ceil(64) || beyond {
            refuse!("a row of {attributes} attributes has {} words, and no bits beyond them", attributes.div_ceil(64));
        }
        Ok(Self { words, label })
    }

    /// Whether attribute `j` is 1; false for one that the row does not have.
    pub fn attribute(&self, j: usize) -> bool {
        self.words.get(j / 64).is_some_and(|word| word >> (j % 64) & 1 == 1)
    }

    /// The attributes as words.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The label.
    pub fn label(&self) -> bool {
        self.label
    }
}
