//! What mechanisms were given and what they drew, as [`tape`](super::tape) records it.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The name of a word of the ledger, and its parameters.
pub type RecordedLaw = (&'static str, Vec<f64>);

/// What a mechanism says before it draws.
#[derive(Debug, Clone, PartialEq)]
pub struct Announcement {
    /// What kind of mechanism it is.
    pub name: &'static str,
    /// What a move of its input by 1 costs, by the name of the word of the ledger and its parameters; none where the
    /// input is a table of records.
    pub law: Option<RecordedLaw>,
    /// What it reads.
    pub input: MechanismInput,
}

impl Announcement {
    /// Noise of this law on numbers, independent in each.
    pub fn cells(word: &'static str, parameters: &[f64], values: impl IntoIterator<Item = i128>) -> Self {
        let input = MechanismInput::Cells(values.into_iter().collect());
        Self { name: "noise", law: Some((word, parameters.to_vec())), input }
    }

    /// A choice with probability ∝ e^{−rate·score}: (the last candidate, its score) for runs of candidates.
    pub fn scores(rate: f64, scores: impl IntoIterator<Item = (u128, i128)>) -> Self {
        Self {
            name: "choice",
            law: Some(("exponential", vec![rate])),
            input: MechanismInput::Scores(scores.into_iter().collect()),
        }
    }

    /// Noise of this law on a number of each key; only some keys are published.
    pub fn keys(law: RecordedLaw, keys: impl IntoIterator<Item = (String, i128)>) -> Self {
        Self { law: Some(law), ..Self::records("keys", keys) }
    }

    /// A mechanism that is given the records themselves.
    pub fn records(name: &'static str, records: impl IntoIterator<Item = (String, i128)>) -> Self {
        let mut counts = BTreeMap::new();
        records.into_iter().for_each(|(record, count)| *counts.entry(record).or_default() += count);
        Self { name, law: None, input: MechanismInput::Records(counts) }
    }
}

/// What a mechanism reads.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum MechanismInput {
    /// Numbers, each with its own noise.
    Cells(Vec<i128>),
    /// Numbers that have one noise together, each in the unit in which one owner moves it by at most 1: the largest
    /// move counts.
    Jointly(Vec<f64>),
    /// The scores of runs of candidates, each with the last candidate of its run: the range of their moves counts.
    Scores(Vec<(u128, i128)>),
    /// A number whose noise follows the data: the number, the level of its noise, and by how much the next owners can
    /// move it.
    Scaled(i128, i64, Vec<u64>),
    /// How often each record occurs.
    Records(BTreeMap<String, i128>),
}

/// A call that was recorded.
#[derive(Clone)]
struct RecordedCall {
    label: Option<String>,
    said: Announcement,
    drawn: Rc<dyn Any>,
}

/// One call in both runs; none where only the other run has it.
#[derive(Debug, Clone)]
pub struct CallPair {
    /// The key that it is about, where keys are not public.
    pub label: Option<String>,
    /// In the run that was recorded.
    pub recorded: Option<Announcement>,
    /// In the replay.
    pub replayed: Option<Announcement>,
}

/// What was recorded, and where a replay of it is.
#[derive(Default)]
pub struct Tape {
    calls: Rc<Vec<RecordedCall>>,
    is_replay: bool,
    pub(super) is_inside: bool,
    label: Option<String>,
    sections: usize,
    /// The calls of the replay: which one was recorded, if any.
    replayed: Vec<(Option<usize>, Option<String>, Announcement)>,
    used: BTreeSet<usize>,
    next: BTreeMap<Option<String>, usize>,
}

/// What a mechanism has to do.
pub(super) enum ReplayStep<T> {
    Draw,
    Draws,
    Frozen(T),
    Unseen,
}

impl Tape {
    pub(super) fn turn<T: Clone + 'static>(&mut self, said: impl FnOnce() -> Announcement) -> ReplayStep<T> {
        if self.is_inside {
            return ReplayStep::Draw;
        }
        let (said, label) = (said(), self.label.clone());
        if !self.is_replay {
            self.is_inside = true;
            Rc::make_mut(&mut self.calls).push(RecordedCall { label, said, drawn: Rc::new(()) });
            return ReplayStep::Draws;
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
            Some(frozen) => ReplayStep::Frozen(frozen),
            None if is_new_key => ReplayStep::Unseen,
            None => ReplayStep::Draw,
        }
    }

    pub(super) fn drew<T: Clone + 'static>(&mut self, drawn: &T) {
        self.is_inside = false;
        if let Some(call) = Rc::make_mut(&mut self.calls).last_mut() {
            call.drawn = Rc::new(drawn.clone());
        }
    }

    /// The calls of both runs, first those of the replay.
    pub fn pairs(&self) -> Vec<CallPair> {
        let both = self.replayed.iter().map(|(at, label, said)| CallPair {
            label: label.clone(),
            recorded: at.map(|at| self.calls[at].said.clone()),
            replayed: Some(said.clone()),
        });
        let missing = self.calls.iter().enumerate().filter(|(at, _)| !self.used.contains(at));
        let missing = missing.map(|(_, call)| CallPair {
            label: call.label.clone(),
            recorded: Some(call.said.clone()),
            replayed: None,
        });
        both.chain(missing).collect()
    }

    /// A replay of what this one has recorded.
    pub(super) fn replay(&self) -> Self {
        Self { calls: Rc::clone(&self.calls), is_replay: true, ..Self::default() }
    }

    /// Says which key the next calls are about; the same key of another query is another.
    pub(super) fn about(&mut self, label: Option<String>) {
        self.sections += usize::from(self.label.is_some() && label.is_none());
        self.label = label.map(|label| format!("{} {label}", self.sections));
    }

    /// How many calls were recorded.
    pub fn calls(&self) -> usize {
        self.calls.len()
    }
}
