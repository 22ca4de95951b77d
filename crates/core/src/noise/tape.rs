//! A record of what mechanisms were given and what they drew, for a test that replays it (`crates/engine/tests/it/replay.rs`).
//!
//! A source of bits may carry a tape ([`BitSource::tape`]); those that releases use carry none. While it records, each mechanism notes its input and
//! what it drew. While it replays, each gives what it drew before, whatever its input now is, and the input is noted. So a release on a neighbour's
//! table publishes the same bytes, unless something else than a mechanism carries the data out.

use super::source::{BitSource, InsecureSeededSource};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The name of a word of the ledger, and its parameters.
pub type Law = (&'static str, Vec<f64>);

/// What a mechanism says before it draws.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// What kind of mechanism it is.
    pub name: &'static str,
    /// What a move of its input by 1 costs, by the name of the word of the ledger and its parameters; none where the input is a table of records.
    pub law: Option<Law>,
    /// What it reads.
    pub input: Input,
}

impl Said {
    /// Noise of this law on numbers, independent in each.
    pub fn cells(word: &'static str, parameters: &[f64], values: impl IntoIterator<Item = i128>) -> Self {
        let input = Input::Cells(values.into_iter().collect());
        Self { name: "noise", law: Some((word, parameters.to_vec())), input }
    }

    /// A choice with probability ∝ e^{−rate·score}: (the last candidate, its score) for runs of candidates.
    pub fn scores(rate: f64, scores: impl IntoIterator<Item = (u128, i128)>) -> Self {
        Self {
            name: "choice",
            law: Some(("exponential", vec![rate])),
            input: Input::Scores(scores.into_iter().collect()),
        }
    }

    /// Noise of this law on a number of each key, of which only some are published.
    pub fn keys(law: Law, keys: impl IntoIterator<Item = (String, i128)>) -> Self {
        Self { law: Some(law), ..Self::records("keys", keys) }
    }

    /// A mechanism that is given the records themselves.
    pub fn records(name: &'static str, records: impl IntoIterator<Item = (String, i128)>) -> Self {
        let mut counts = BTreeMap::new();
        records.into_iter().for_each(|(record, count)| *counts.entry(record).or_default() += count);
        Self { name, law: None, input: Input::Records(counts) }
    }
}

/// What a mechanism reads.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Numbers, of which each has its own noise.
    Cells(Vec<i128>),
    /// Numbers that have one noise together, each in the unit in which one owner moves it by at most 1: the largest move counts.
    Jointly(Vec<f64>),
    /// The scores of runs of candidates, each with the last candidate of its run: the range of their moves counts.
    Scores(Vec<(u128, i128)>),
    /// A number whose noise follows the data: the number, the level of its noise, and by how much the next owners can move it.
    Scaled(i128, i64, Vec<u64>),
    /// How often each record occurs.
    Records(BTreeMap<String, i128>),
}

/// A call that was recorded.
#[derive(Clone)]
struct Call {
    label: Option<String>,
    said: Said,
    drawn: Rc<dyn Any>,
}

/// One call in both runs; none where only the other run has it.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The key that it is about, where keys are not public.
    pub label: Option<String>,
    /// In the run that was recorded.
    pub recorded: Option<Said>,
    /// In the replay.
    pub replayed: Option<Said>,
}

/// What was recorded, and where a replay of it is.
#[derive(Default)]
pub struct Tape {
    calls: Rc<Vec<Call>>,
    is_replay: bool,
    is_inside: bool,
    label: Option<String>,
    sections: usize,
    /// The calls of the replay: which one was recorded, if any.
    replayed: Vec<(Option<usize>, Option<String>, Said)>,
    used: BTreeSet<usize>,
    next: BTreeMap<Option<String>, usize>,
}

/// What a mechanism has to do.
enum Turn<T> {
    Draw,
    Draws,
    Frozen(T),
    Unseen,
}

impl Tape {
    fn turn<T: Clone + 'static>(&mut self, said: impl FnOnce() -> Said) -> Turn<T> {
        if self.is_inside {
            return Turn::Draw;
        }
        let (said, label) = (said(), self.label.clone());
        if !self.is_replay {
            self.is_inside = true;
            Rc::make_mut(&mut self.calls).push(Call { label, said, drawn: Rc::new(()) });
            return Turn::Draws;
        }
        let from = self.next.get(&label).copied().unwrap_or(0);
        let at = (from..self.calls.len()).find(|at| self.calls[*at].label == label);
        let frozen = at.and_then(|at| self.calls[at].drawn.downcast_ref::<T>().cloned());
        let is_new_key = label.is_some() && !self.calls.iter().any(|call| call.label == label);
        self.replayed.push((at, label.clone(), said));
        if let Some(at) = at {
            self.next.insert(label, at + 1);
            self.used.insert(at);
        }
        match frozen {
            Some(frozen) => Turn::Frozen(frozen),
            None if is_new_key => Turn::Unseen,
            None => Turn::Draw,
        }
    }

    fn drew<T: Clone + 'static>(&mut self, drawn: &T) {
        self.is_inside = false;
        if let Some(call) = Rc::make_mut(&mut self.calls).last_mut() {
            call.drawn = Rc::new(drawn.clone());
        }
    }

    /// The calls of both runs, first those of the replay.
    pub fn pairs(&self) -> Vec<Pair> {
        let both = self.replayed.iter().map(|(at, label, said)| Pair {
            label: label.clone(),
            recorded: at.map(|at| self.calls[at].said.clone()),
            replayed: Some(said.clone()),
        });
        let missing = self.calls.iter().enumerate().filter(|(at, _)| !self.used.contains(at));
        let missing = missing.map(|(_, call)| Pair {
            label: call.label.clone(),
            recorded: Some(call.said.clone()),
            replayed: None,
        });
        both.chain(missing).collect()
    }

    /// How many calls were recorded.
    pub fn calls(&self) -> usize {
        self.calls.len()
    }
}

/// What `draw` draws, or what it drew when the tape was recorded.
pub fn through<S: BitSource + ?Sized, T: Clone + 'static>(
    bits: &mut S,
    said: impl FnOnce() -> Said,
    draw: impl FnOnce(&mut S) -> T,
) -> T {
    through_or(bits, said, None, draw)
}

/// The same for what may be about a key that nobody knows beforehand: if it was not there when the tape was recorded, it is `unseen` now.
pub fn through_or<S: BitSource + ?Sized, T: Clone + 'static>(
    bits: &mut S,
    said: impl FnOnce() -> Said,
    unseen: Option<T>,
    draw: impl FnOnce(&mut S) -> T,
) -> T {
    let Some(tape) = bits.tape() else { return draw(bits) };
    match (tape.turn(said), unseen) {
        (Turn::Frozen(frozen), _) => frozen,
        (Turn::Unseen, Some(unseen)) => unseen,
        (Turn::Draws, _) => {
            let drawn = draw(bits);
            bits.tape().into_iter().for_each(|tape| tape.drew(&drawn));
            drawn
        }
        (Turn::Draw | Turn::Unseen, _) => draw(bits),
    }
}

/// The same for a mechanism that may refuse its input; a refusal is not frozen.
pub fn through_result<S: BitSource + ?Sized, T: Clone + 'static, E>(
    bits: &mut S,
    said: impl FnOnce() -> Said,
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
    said: impl FnOnce(Vec<i128>) -> Said,
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
        let label = label();
        // The same key of another query is another.
        tape.sections += usize::from(tape.label.is_some() && label.is_none());
        tape.label = label.map(|label| format!("{} {label}", tape.sections));
    }
}

/// Reproducible bits with a tape. What is drawn inside of mechanisms comes from a stream of its own, so that what is drawn outside of them is the same
/// in a replay.
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
        let tape = Tape { calls: Rc::clone(&self.tape.calls), is_replay: true, ..Tape::default() };
        Self { tape, ..Self::recording(seed) }
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
        let inputs = |said: &Option<Said>| said.as_ref().map(|said| said.input.clone());
        assert_eq!(inputs(&pairs[0].recorded), Some(Input::Cells(vec![100])));
        assert_eq!(inputs(&pairs[0].replayed), Some(Input::Cells(vec![3])));
        assert_eq!((inputs(&pairs[1].recorded), inputs(&pairs[1].replayed)), (None, Some(Input::Cells(vec![7]))));
    }
}
