//! Answers that were given lately, in memory: asking again takes no planning and no file. What was forgotten is read
//! from its files again.

use super::{PaidAnswer, QueryRequest};
use scumble_engine::digest;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// This many cells are held, some tens of megabytes; beyond them everything is forgotten.
const MOST_CELLS: usize = 200_000;

/// The answers by the text of their question.
#[derive(Default)]
pub(super) struct AnswerCache(Mutex<CachedAnswers>);

#[derive(Default)]
struct CachedAnswers {
    cells: usize,
    answers: HashMap<String, PaidAnswer>,
}

impl AnswerCache {
    /// The answer to this text at this cost, if it is here.
    pub fn get(&self, question: &QueryRequest) -> Option<PaidAnswer> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.answers.get(&text(question)).cloned()
    }

    /// Remembers an answer as the one to be given from now on.
    pub fn put(&self, question: &QueryRequest, answer: &PaidAnswer) {
        let cells = size(answer);
        if cells > MOST_CELLS / 4 {
            return;
        }
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.cells + cells > MOST_CELLS {
            *held = CachedAnswers::default();
        }
        held.cells += cells;
        let before = held.answers.insert(text(question), PaidAnswer { stored: true, ..answer.clone() });
        held.cells -= before.map_or(0, |before| size(&before));
    }
}

/// How many cells an answer counts for: its own, and those in which its text is held.
fn size(answer: &PaidAnswer) -> usize {
    answer.answers.rows() * answer.answers.columns.len() + 16
}

/// Two questions of one text are one question, as long as the server runs: its project does not change.
fn text(question: &QueryRequest) -> String {
    digest(format!("{}\n{}", question.cost, question.sql).as_bytes())
}
