//! A record of what mechanisms were given and what they drew, for a test that replays it
//! (`crates/engine/tests/it/replay.rs`).
//!
//! A source of bits may carry a tape ([`BitSource::tape`]); the sources that releases use carry none. While it records,
//! each mechanism notes its input and what it drew. While it replays, each gives what it drew before, whatever its
//! input now is, and the input is noted. So a release on a neighbour's table publishes the same bytes, unless something
//! else than a mechanism carries the data out.

pub use super::record::{Announcement, CallPair, MechanismInput, RecordedLaw, Tape};

use super::record::ReplayStep;
use super::source::{BitSource, InsecureSeededSource};

/// What `draw` draws, or what it drew when the tape was recorded.
pub fn through<S: BitSource + ?Sized, T: Clone + 'static>(
    bits: &mut S,
    said: impl FnOnce() -> Announcement,
    draw: impl FnOnce(&mut S) -> T,
) -> T {
    through_or(bits, said, None, draw)
}

/// The same for a value about a key that is not known beforehand: if the key did not occur when the tape was recorded,
/// the result is `unseen`.
pub fn through_or<S: BitSource + ?Sized, T: Clone + 'static>(
    bits: &mut S,
    said: impl FnOnce() -> Announcement,
    unseen: Option<T>,
    draw: impl FnOnce(&mut S) -> T,
) -> T {
    let Some(tape) = bits.tape() else { return draw(bits) };
    match (tape.turn(said), unseen) {
        (ReplayStep::Frozen(frozen), _) => frozen,
        (ReplayStep::Unseen, Some(unseen)) => unseen,
        (ReplayStep::Draws, _) => {
            let drawn = draw(bits);
            bits.tape().into_iter().for_each(|tape| tape.drew(&drawn));
            drawn
        }
        (ReplayStep::Draw | ReplayStep::Unseen, _) => draw(bits),
    }
}

/// The same for a mechanism that may refuse its input; a refusal is not frozen.
pub fn through_result<S: BitSource + ?Sized, T: Clone + 'static, E>(
    bits: &mut S,
    said: impl FnOnce() -> Announcement,
    draw: impl FnOnce(&mut S) -> Result<T, E>,
) -> Result<T, E> {
    let mut refused = None;
    let drawn = through(bits, said, |bits| draw(bits).map_err(|error| refused = Some(error)).ok());
    match refused {
        Some(error) => Err(error),
        None => Ok(drawn.unwrap_or_else(|| unreachable!("what is not refused is drawn"))),
    }
}

/// The same for numbers that get noise where they stand.
pub fn through_all<S: BitSource + ?Sized>(
    bits: &mut S,
    values: &mut [i64],
    said: impl FnOnce(Vec<i128>) -> Announcement,
    draw: impl FnOnce(&mut [i64], &mut S),
) {
    if bits.tape().is_none() {
        return draw(values, bits);
    }
    let before: Vec<i128> = values.iter().map(|value| i128::from(*value)).collect();
    let mut noisy = values.to_vec();
    let noisy = through(
        bits,
        || said(before),
        |bits| {
            draw(&mut noisy, bits);
            noisy
        },
    );
    // A frozen list of another length is a difference that the comparison shows.
    values.iter_mut().zip(noisy).for_each(|(value, noisy)| *value = noisy);
}

/// Says which key the next calls are about, where keys are not public; none afterwards.
pub fn about<S: BitSource + ?Sized>(bits: &mut S, label: impl FnOnce() -> Option<String>) {
    if let Some(tape) = bits.tape() {
        tape.about(label());
    }
}

/// Reproducible bits with a tape. What is drawn inside of mechanisms comes from a stream of its own, so that what is
/// drawn outside of them is the same in a replay.
pub struct TapedSource {
    outside: InsecureSeededSource,
    inside: InsecureSeededSource,
    tape: Tape,
}

impl TapedSource {
    /// Records.
    pub fn recording(seed: u64) -> Self {
        let stream = InsecureSeededSource::new;
        Self { outside: stream(seed), inside: stream(!seed), tape: Tape::default() }
    }

    /// Replays what this one has recorded, from the same seed.
    pub fn replaying(&self, seed: u64) -> Self {
        Self { tape: self.tape.replay(), ..Self::recording(seed) }
    }

    /// What is on the tape.
    pub fn on_tape(&self) -> &Tape {
        &self.tape
    }
}

impl BitSource for TapedSource {
    fn next_u64(&mut self) -> u64 {
        if self.tape.is_inside { self.inside.next_u64() } else { self.outside.next_u64() }
    }

    fn is_secure(&self) -> bool {
        false
    }

    fn tape(&mut self) -> Option<&mut Tape> {
        Some(&mut self.tape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::DiscreteLaplace;
    use crate::quantity::Scale;

    /// A replay gives what was drawn, and knows both inputs; a key that is new is not seen.
    #[test]
    fn a_replay_gives_what_was_drawn() {
        let noise = DiscreteLaplace::new(Scale::new(9.0).unwrap());
        let mut first = TapedSource::recording(1);
        let (drawn, outside) = (noise.add_to(100, &mut first), first.next_u64());
        let mut again = first.replaying(1);
        assert_eq!((noise.add_to(3, &mut again), again.next_u64()), (drawn, outside));
        about(&mut again, || Some("new".to_string()));
        assert!(noise.add_to_wide(7, &mut again) < -(1 << 90), "a key that was not there is not published");
        let pairs = again.on_tape().pairs();
        assert_eq!(pairs.len(), 2);
        let inputs = |said: &Option<Announcement>| said.as_ref().map(|said| said.input.clone());
        assert_eq!(inputs(&pairs[0].recorded), Some(MechanismInput::Cells(vec![100])));
        assert_eq!(inputs(&pairs[0].replayed), Some(MechanismInput::Cells(vec![3])));
        assert_eq!(
            (inputs(&pairs[1].recorded), inputs(&pairs[1].replayed)),
            (None, Some(MechanismInput::Cells(vec![7])))
        );
    }
}
