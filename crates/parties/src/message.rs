//! Messages: a kind, a length and a body, and what bodies mean.

use crate::error::{Error, Result};
use sha2::{Digest, Sha256};

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageKind {
    /// The digest of the plan that the connecting side follows.
    Hello = 1,
    /// The same plan; go on.
    Ready = 2,
    /// Why not, in a sentence.
    Refused = 3,
    /// A party's share: the number of its sending, and a word for each cell.
    Share = 4,
    /// The share was stored.
    Stored = 5,
    /// Whose shares a server has.
    Arrived = 6,
    /// The digest of the list that a server will open.
    Agreed = 7,
    /// A server's sum.
    Sum = 8,
    /// The first party's bits, randomized.
    Bits = 9,
    /// The second party's answer.
    Answer = 10,
}

impl MessageKind {
    const ALL: [Self; 10] = [
        Self::Hello,
        Self::Ready,
        Self::Refused,
        Self::Share,
        Self::Stored,
        Self::Arrived,
        Self::Agreed,
        Self::Sum,
        Self::Bits,
        Self::Answer,
    ];

    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// The number of one sending, drawn at random: shares of different sendings of a party are never added to each other.
pub(crate) type SendingId = [u8; 16];

/// A share on its way.
pub(crate) fn share(sending: &SendingId, words: &[u64]) -> Vec<u8> {
    [&sending[..], &in_bytes(words)].concat()
}

/// A share that came in, with a word for each of `cells`.
pub(crate) fn read_share(body: &[u8], cells: usize) -> Result<(SendingId, Vec<u64>)> {
    let (sending, rest) = body.split_first_chunk::<16>().ok_or_else(wrong)?;
    Ok((*sending, words(rest, cells)?))
}

pub(crate) fn in_bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// One word for each of `cells`.
pub(crate) fn words(body: &[u8], cells: usize) -> Result<Vec<u64>> {
    let (chunks, rest) = body.as_chunks::<8>();
    match rest.is_empty() && chunks.len() == cells {
        true => Ok(chunks.iter().map(|word| u64::from_le_bytes(*word)).collect()),
        false => Err(wrong()),
    }
}

/// A party whose share is there, by its place in the plan, and the sending that its share belongs to.
pub(crate) type ShareEntry = (u32, SendingId);

pub(crate) fn list(list: &[ShareEntry]) -> Vec<u8> {
    list.iter().flat_map(|(party, sending)| [&party.to_le_bytes()[..], sending].concat()).collect()
}

/// A list of different parties of the plan, in its order.
pub(crate) fn read_list(body: &[u8], parties: usize) -> Result<Vec<ShareEntry>> {
    let (chunks, rest) = body.as_chunks::<20>();
    let entry = |chunk: &[u8; 20]| {
        let (party, sending) = chunk.split_first_chunk::<4>()?;
        Some((u32::from_le_bytes(*party), sending.try_into().ok()?))
    };
    let read: Option<Vec<ShareEntry>> = chunks.iter().map(entry).collect();
    let read = read.filter(|_| rest.is_empty()).ok_or_else(wrong)?;
    let is_in_order = read.is_sorted_by(|(one, _), (other, _)| one < other);
    let is_in_plan = read.last().is_none_or(|(party, _)| (*party as usize) < parties);
    if is_in_order && is_in_plan { Ok(read) } else { Err(wrong()) }
}

/// What servers compare before any of them opens.
pub(crate) fn agreement(plan: &[u8; 32], agreed: &[ShareEntry]) -> [u8; 32] {
    Sha256::new()
        .chain_update(b"scumble parties: agreed")
        .chain_update(plan)
        .chain_update(list(agreed))
        .finalize()
        .into()
}

pub(crate) fn wrong() -> Error {
    Error::failed("a message was not in the form that the plan asks for")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_nothing_else() {
        let sending = [7; 16];
        assert_eq!(read_share(&share(&sending, &[1, u64::MAX]), 2).unwrap(), (sending, vec![1, u64::MAX]));
        for cells in [0, 1, 3] {
            assert!(read_share(&share(&sending, &[1, 2]), cells).is_err());
        }
        assert!(read_share(&[0; 15], 0).is_err() && words(&[0; 9], 1).is_err());
        let entries = vec![(0, [1; 16]), (4, [2; 16])];
        assert_eq!(read_list(&list(&entries), 5).unwrap(), entries);
        assert!(read_list(&list(&entries), 4).is_err(), "a party that is not in the plan");
        assert!(read_list(&list(&[(4, [1; 16]), (0, [2; 16])]), 5).is_err(), "out of order");
        assert!(read_list(&list(&[(4, [1; 16]), (4, [2; 16])]), 5).is_err(), "twice");
        assert!(read_list(&[0; 19], 5).is_err());
        assert_ne!(agreement(&[0; 32], &entries), agreement(&[1; 32], &entries));
        assert_ne!(agreement(&[0; 32], &entries), agreement(&[0; 32], &[(0, [1; 16])]));
        assert!(MessageKind::ALL.into_iter().all(|kind| MessageKind::from_byte(kind as u8) == Some(kind)));
        assert_eq!(MessageKind::from_byte(0), None);
    }
}
