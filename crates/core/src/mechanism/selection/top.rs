//! The best m of many at once: the generalised histogram.
//!
//! f_j = max(score_j − score_(m+1), 0) is zero except for m candidates; every candidate gets noise, the m largest are given
//! (Bun, Dwork, Rothblum, Steinke 2018, algorithm 21). Neighbours move f in at most m pairs of candidates (one leaves the top,
//! one enters) whose moves add up to 2 in each pair: half of what the paper charges.

use super::Change;
use crate::error::{Error, Result};
use crate::event::{Event, Moves, Shift};
use crate::mechanism::additive::Noise;
use crate::noise::BitSource;
use crate::quantity::{Beta, checked};

/// The best m of many.
///
/// ```
/// use scumble::mechanism::additive::Noise;
/// use scumble::mechanism::selection::{Change, top::GeneralizedHistogram};
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::Scale;
/// let best_two = GeneralizedHistogram::new(2, Noise::laplace(Scale::new(2.0)?), Change::Monotone)?;
/// let mut found = best_two.release(&[5, 900, 3, 800, 1], &mut InsecureSeededSource::new(1))?;
/// found.sort();
/// assert_eq!(found, [1, 3]);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct GeneralizedHistogram {
    top: usize,
    noise: Noise,
    change: Change,
}

impl GeneralizedHistogram {
    /// The best `top`, at least 1 and at most 1000.
    pub fn new(top: usize, noise: Noise, change: Change) -> Result<Self> {
        if !(1..=1000).contains(&top) {
            return Err(Error::refused(format!("the number of best candidates must be 1 to 1000, not {top}")));
        }
        Ok(Self { top, noise, change })
    }

    /// The indices of the candidates with the largest noisy f, largest first.
    ///
    /// # Guarantee
    /// A function of f with independent noise in each candidate: as accounting says of [`GeneralizedHistogram::events`].
    pub fn release<S: BitSource + ?Sized>(&self, scores: &[i64], bits: &mut S) -> Result<Vec<usize>> {
        if scores.len() < self.top {
            return Err(Error::refused(format!("{} candidates are fewer than the {} wanted", scores.len(), self.top)));
        }
        let mut noisy = surplus(scores, self.top);
        self.noise.add_to_all(&mut noisy, bits);
        let mut order: Vec<usize> = (0..noisy.len()).collect();
        let key = |index: &usize| (std::cmp::Reverse(noisy[*index]), *index);
        order.select_nth_unstable_by_key(self.top - 1, key);
        order.truncate(self.top);
        order.sort_by_key(key);
        Ok(order)
    }

    /// One event for each of the m pairs: one candidate by 2 or two by 1 in general, one by 1 for monotone scores (where a
    /// replaced owner moves as in general).
    pub fn events(&self) -> Result<Vec<Event>> {
        let general = vec![Shift::one_cell(2.0)?, Shift::new(2, 1.0)?];
        let presence = if self.change == Change::Monotone { vec![Shift::one_cell(1.0)?] } else { general.clone() };
        let event = self.noise.event(Moves::by_scope(presence, general, Vec::new()))?;
        Ok(vec![event; self.top])
    }

    /// The gap between the m-th and the next score from which on exactly the best m are given, except with probability β.
    pub fn error(&self, beta: impl TryInto<Beta, Error: Into<Error>>, candidates: u64) -> Result<f64> {
        Ok(2.0 * self.noise.maximum(candidates as f64, checked::<Beta>(beta)?.get()) + 1.0)
    }
}

/// f: what each score has more than the (m+1)-st best; all of the scores where there are only m.
fn surplus(scores: &[i64], top: usize) -> Vec<i64> {
    if scores.len() == top {
        return vec![0; top];
    }
    let mut sorted = scores.to_vec();
    let (_, next, _) = sorted.select_nth_unstable_by(top, |a, b| b.cmp(a));
    let next = *next;
    scores.iter().map(|score| score.saturating_sub(next).max(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All score vectors of 4 candidates in 0..=3 and all moves of ±1 or 0 each: how f can move.
    #[test]
    fn neighbours_move_f_in_pairs_as_the_events_say() {
        let vectors: Vec<Vec<i64>> = (0..256).map(|code| (0..4).map(|i| (code >> (2 * i)) & 3).collect()).collect();
        let steps: Vec<Vec<i64>> =
            (0..81).map(|code| (0..4u32).map(|i| (code / 3i64.pow(i)) % 3 - 1).collect()).collect();
        for top in 1..=3usize {
            let (mut largest, mut sum, mut monotone_sum) = (0, 0, 0);
            for scores in &vectors {
                for step in &steps {
                    let moved: Vec<i64> = scores.iter().zip(step).map(|(s, d)| s + d).collect();
                    let change: Vec<i64> =
                        surplus(scores, top).iter().zip(surplus(&moved, top)).map(|(a, b)| (a - b).abs()).collect();
                    assert!(change.iter().filter(|move_by| **move_by > 0).count() <= 2 * top);
                    largest = largest.max(*change.iter().max().unwrap());
                    sum = sum.max(change.iter().sum::<i64>());
                    if step.iter().all(|d| *d >= 0) {
                        monotone_sum = monotone_sum.max(change.iter().sum::<i64>());
                        assert!(change.iter().all(|move_by| *move_by <= 1));
                    }
                }
            }
            assert!(largest <= 2 && sum <= 2 * top as i64, "{largest} {sum}");
            assert!(monotone_sum <= top as i64, "{monotone_sum}");
        }
    }
}
