//! The best m of many at once: the generalised histogram ([`GeneralizedHistogram`]), also for keys that are not known
//! beforehand ([`UnknownTop`]).
//!
//! f_j = max(score_j − score_(m+1), 0) is zero except for m candidates; every candidate gets noise, the m largest are
//! given (Bun, Dwork, Rothblum, Steinke 2018, algorithm 21). Neighbours move f in at most m pairs of candidates (one
//! leaves the top, one enters) whose moves add up to 2 in each pair: half of what the paper charges.

use super::ScoreChange;
use crate::error::Result;
use crate::event::{Event, Moves, Shift, Touch};
use crate::mechanism::additive::Noise;
use crate::mechanism::stability::{Contribution, StabilityHistogram};
use crate::noise::BitSource;
use crate::quantity::{Beta, Delta};
use crate::scope::AttributeSet;
use std::cmp::Reverse;

/// The best m of many.
///
/// ```
/// use scumble::mechanism::additive::Noise;
/// use scumble::mechanism::selection::{ScoreChange, top::GeneralizedHistogram};
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::Scale;
/// let best_two = GeneralizedHistogram::new(2, Noise::laplace(Scale::new(2.0)?), ScoreChange::Monotone)?;
/// let mut found = best_two.release(&[5, 900, 3, 800, 1], &mut InsecureSeededSource::new(1))?;
/// found.sort();
/// assert_eq!(found, [1, 3]);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct GeneralizedHistogram {
    top: usize,
    noise: Noise,
    change: ScoreChange,
}

impl GeneralizedHistogram {
    /// The best `top`, at least 1 and at most 1000.
    pub fn new(top: usize, noise: Noise, change: ScoreChange) -> Result<Self> {
        Ok(Self { top: within_reason(top)?, noise, change })
    }

    /// The indices of the candidates with the largest noisy f, largest first.
    ///
    /// # Guarantee
    /// A function of f with independent noise in each candidate: as accounting says of
    /// [`GeneralizedHistogram::events`].
    pub fn release<S: BitSource + ?Sized>(&self, scores: &[i64], bits: &mut S) -> Result<Vec<usize>> {
        Ok(self.release_leads(scores, bits)?.into_iter().map(|(index, _)| index).collect())
    }

    /// The same, each with its noisy f: by how much it leads the next best.
    pub fn release_leads<S: BitSource + ?Sized>(&self, scores: &[i64], bits: &mut S) -> Result<Vec<(usize, i64)>> {
        refuse_if!(scores.len() < self.top, "{} candidates are fewer than the {} wanted", scores.len(), self.top);
        let mut noisy = surplus(scores, self.top);
        self.noise.add_to_all(&mut noisy, bits);
        let mut order: Vec<usize> = (0..noisy.len()).collect();
        let key = |index: &usize| (Reverse(noisy[*index]), *index);
        order.select_nth_unstable_by_key(self.top - 1, key);
        order.truncate(self.top);
        order.sort_by_key(key);
        Ok(order.into_iter().map(|index| (index, noisy[index])).collect())
    }

    /// One event for each of the m pairs: one candidate by 2 or two by 1 in general, one by 1 for monotone scores
    /// (where a replaced owner moves as in general).
    pub fn events(&self) -> Result<Vec<Event>> {
        Ok(vec![self.noise.event(moves_of_a_pair(self.change, Vec::new())?)?; self.top])
    }

    /// The gap between the m-th and the next score from which on exactly the best m are given, except with probability
    /// β.
    pub fn error(&self, beta: Beta, candidates: u64) -> Result<f64> {
        Ok(2.0 * self.noise.maximum(candidates as f64, beta) + 1.0)
    }
}

fn within_reason(top: usize) -> Result<usize> {
    refuse_if!(!(1..=1000).contains(&top), "the number of best candidates must be 1 to 1000, not {top}");
    Ok(top)
}

/// How one of the m pairs moves: one candidate by 2 or two by 1 in general, one by 1 for monotone scores (where a
/// replaced owner moves as in general). `touches` are the attributes whose change is a replaced owner's.
///
/// ```
/// use scumble::mechanism::selection::{ScoreChange, top::moves_of_a_pair};
/// use scumble::Scope;
/// let moves = moves_of_a_pair(ScoreChange::Monotone, vec![])?;
/// assert_eq!((moves.shifts(&Scope::Presence).len(), moves.shifts(&Scope::Person).len()), (1, 2));
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn moves_of_a_pair(change: ScoreChange, touches: Vec<AttributeSet>) -> Result<Moves> {
    let general = vec![Shift::one_cell(2.0)?, Shift::new(2, 1.0)?];
    let presence = if change == ScoreChange::Monotone { vec![Shift::one_cell(1.0)?] } else { general.clone() };
    let touches = touches.into_iter().map(|attributes| Touch { attributes, shifts: general.clone() });
    Ok(Moves::by_scope(presence, general.clone(), touches.collect()))
}

/// The m most frequent keys, if the keys are not known beforehand. An owner may be in any number of them.
///
/// f_j = max(owners of j − owners of the (m+1)-st key, 0) is above 0 for at most m keys; those get noise, and are
/// published where the noisy f reaches a threshold. The price is that of m keys, however many an owner is in.
///
/// # Why
/// One step (an owner comes, goes or is replaced) moves each number of owners by at most 1; let v and v′ be the
/// (m+1)-st. A key that *enters* (f = 0 < f′) had at most v and has more than v′, so v′ ≤ v; one that *leaves* needs
/// v′ ≥ v. (1) v′ < v: nobody leaves, and every key that moves is among the at most m with f′ > 0. (2) v′ > v: the
/// mirror image. (3) v′ = v: all moves are by 1; with e entering, l leaving and c others that move, e + c ≤ m and
/// l + c ≤ m. So the moves are those of m independent *runs*, each of one key by at most 2 or of two keys by 1 (by one
/// key by 1 where an owner comes or goes), and in each run at most one key enters and at most one leaves: each run is a
/// [`NewKeys`](crate::event::NewKeys) event of one key, whose number is at most 2.
///
/// ```
/// use scumble::mechanism::additive::Noise;
/// use scumble::mechanism::selection::top::UnknownTop;
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::{Delta, Scale};
/// let best_two = UnknownTop::new(2, Noise::laplace(Scale::new(4.0)?), Delta::new(1e-6)?)?;
/// let owners = [("news", 5000), ("mail", 4000), ("maps", 900), ("rare", 1)];
/// let found = best_two.release(&owners, &mut InsecureSeededSource::new(1));
/// assert_eq!(found.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["news", "mail"]);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct UnknownTop {
    top: usize,
    /// Of one of the m runs.
    run: StabilityHistogram,
    delta: Delta,
}

impl UnknownTop {
    /// The best `top`, at least 1 and at most 1000; all runs together publish a key that one owner alone brings with
    /// probability at most δ.
    pub fn new(top: usize, noise: Noise, delta: Delta) -> Result<Self> {
        let whole: Delta = delta;
        // m parts, rounded up on the ledger's grid, are no more than the whole.
        let part = whole.get() / within_reason(top)? as f64;
        let delta = Delta::new(if top == 1 { part } else { (part * (1.0 - 1e-9)).max(0.0) })?;
        Ok(Self { top, run: StabilityHistogram::new(noise, Contribution::new(1, 2)?, delta)?, delta })
    }

    /// The least noisy lead that is published.
    pub fn threshold(&self) -> i64 {
        self.run.threshold()
    }

    /// At most m keys with their noisy leads over the (m+1)-st, largest first.
    ///
    /// # Guarantee
    /// Before: `owners` has each key that occurs once, and one owner adds at most 1 to each number. After: as
    /// accounting says of [`UnknownTop::events`].
    pub fn release<Key: Clone, S: BitSource + ?Sized>(&self, owners: &[(Key, i64)], bits: &mut S) -> Vec<(Key, i64)> {
        let mut found = self.run.release(&leads(owners, self.top), bits);
        found.sort_by_key(|(_, lead)| Reverse(*lead));
        found
    }

    /// What was done: m runs.
    pub fn events(&self) -> Result<Vec<Event>> {
        self.events_touching(Vec::new())
    }

    /// The same, where a change of these attributes is a replaced owner's.
    pub fn events_touching(&self, touches: Vec<AttributeSet>) -> Result<Vec<Event>> {
        let noise = self.run.noise().event(moves_of_a_pair(ScoreChange::Monotone, touches)?)?;
        Ok(vec![noise.for_new_keys(self.delta, 1)?.repeated(self.top as u64)?])
    }

    /// The lead over the (m+1)-st key from which on a key is published, all m of them except with probability β.
    pub fn published_from(&self, beta: Beta) -> Result<f64> {
        Ok(self.threshold() as f64 + self.run.noise().maximum(self.top as f64, beta))
    }
}

/// The keys that lead the (m+1)-st, with by how much: all that occur where there are no more than m.
///
/// ```
/// use scumble::mechanism::selection::top::leads;
/// assert_eq!(leads(&[("a", 9), ("b", 4), ("c", 7), ("d", 4)], 2), [("a", 5), ("c", 3)]);
/// assert_eq!(leads(&[("a", 9)], 2), [("a", 9)]);
/// ```
pub fn leads<Key: Clone>(owners: &[(Key, i64)], top: usize) -> Vec<(Key, i64)> {
    let mut numbers: Vec<i64> = owners.iter().map(|(_, number)| (*number).max(0)).collect();
    let next = match numbers.len() > top {
        true => *numbers.select_nth_unstable_by(top, |a, b| b.cmp(a)).1,
        false => 0,
    };
    let lead = |(key, number): &(Key, i64)| (*number > next).then(|| (key.clone(), number - next));
    owners.iter().filter_map(lead).collect()
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
mod unknown_tests;

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
