//! The word for a release whose keys are not known beforehand.

use super::Word;
use crate::error::{Error, Result};
use crate::quantity::Delta;
use std::num::NonZeroU64;

/// Noise on a number of each key that occurs, and a threshold: keys are published whose noisy number reaches it.
///
/// The event's moves are those of the numbers. δ belongs to the threshold: each of the at most `keys` keys that one
/// owner alone has is published with probability at most 1 − (1 − δ)^{1/keys}, so that any of them is with at most δ.
/// All other numbers about a key are published only for published keys, and have events of their own.
///
/// ```
/// use scumble::event::{Word, NewKeys};
/// use scumble::quantity::{Delta, Epsilon, Scale};
/// let noise = Word::DiscreteLaplace { scale: Scale::new(4.0)? };
/// let event = NewKeys::new(noise.clone(), Delta::new(1e-9)?, 2)?;
/// assert_eq!((event.noise(), event.keys()), (&noise, 2));
/// assert!(NewKeys::new(noise, Delta::new(1e-9)?, 0).is_err());
/// assert!(NewKeys::new(Word::Pure { epsilon: Epsilon::new(1.0)? }, Delta::new(1e-9)?, 1).is_err());
/// assert!(NewKeys::new(Word::NewKeys(event), Delta::new(1e-9)?, 1).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct NewKeys {
    noise: Box<Word>,
    delta: Delta,
    keys: KeysPerOwner,
}

/// How many keys one owner can have: at least 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct KeysPerOwner(NonZeroU64);

impl KeysPerOwner {
    pub(super) fn new(keys: u64) -> Result<Self> {
        NonZeroU64::new(keys).map(Self).ok_or_else(|| Error::refused("an owner has at least 1 key, not 0"))
    }

    pub(super) fn get(self) -> u64 {
        self.0.get()
    }
}

impl NewKeys {
    /// `noise` is additive noise, or an (ε, δ) for each number that moves (truncated noise); an owner has at most
    /// `keys` keys, at least 1.
    pub fn new(noise: Word, delta: Delta, keys: u64) -> Result<Self> {
        let is_noise = noise.is_additive() && !matches!(noise, Word::NewKeys(_));
        if !(is_noise || matches!(noise, Word::Approximate { .. })) {
            refuse!("new keys are published by their noisy counts: {} is not added to a count", noise.name());
        }
        Ok(Self { noise: Box::new(noise), delta, keys: KeysPerOwner::new(keys)? })
    }

    /// The noise on each key's number.
    pub fn noise(&self) -> &Word {
        &self.noise
    }

    /// The threshold's δ.
    pub fn delta(&self) -> Delta {
        self.delta
    }

    /// How many keys one owner can have.
    pub fn keys(&self) -> u64 {
        self.keys.get()
    }
}
