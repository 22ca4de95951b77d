//! The sums of many parties' counts, where no party shows its own and no server is trusted alone (survey 7.10; spec
//! §10.4).
//!
//! Each of m parties adds a *share* of noise to its numbers, X − Y with X, Y ~ NB(1/h, e^{−1/scale}), splits the result
//! into one additive share for each of s servers, uniform modulo 2^64, and sends each server its own. Servers agree on
//! whose shares all of them have, add these up, and open the sum together. Shapes add: the noise of h honest parties is
//! discrete Laplace noise of that scale, though no single party knows it.
//!
//! # Guarantee
//! Against everybody together with up to `colluding` parties and all servers but one, who follow the protocol and keep
//! and compare all that they see:
//! - before the sum is opened they have seen uniform words, and nothing else ([`Ring::split`]);
//! - what is opened is the sum of the parties on the list, of whom at least h = parties − colluding − silent are
//!   honest: ε for one owner.
//!
//! A list shorter than parties − silent is not opened. Where we differ: the survey's spec plans for h = m − t and asks
//! for h on the list; t colluders may all be on it, so that only m − 2t of it are honest. Here silent parties have a
//! number of their own.
//!
//! Parties that lie about their counts can make the sum wrong and cannot see more by it. More colluders than planned
//! cost more, as [`SharedSum::epsilon_against`] says.
//!
//! ```
//! use scumble::noise::InsecureSeededSource;
//! use scumble::parties::sum::{OwnerContribution, Ring, SharedSum, Trust};
//! use scumble::quantity::epsilon;
//! use scumble::{Scope, Target};
//! let trust = Trust::new(5, 1, 1, 2)?; // five parties, of which one may collude and one may be silent; two servers
//! let owner = OwnerContribution { cells: 1, by: 1 };
//! let sum = SharedSum::within(Target::pure(epsilon(1.0)?), Scope::Presence, 3, owner, trust)?;
//! let mut bits = InsecureSeededSource::new(1);
//! let mut servers = vec![vec![0; 3]; 2];
//! for _party in 0..5 {
//!     let shares = sum.shares(&[10, 0, 7], &mut bits)?; // at the party
//!     servers.iter_mut().zip(&shares).for_each(|(sum, share)| Ring::WORDS.add(sum, share)); // at each server
//! }
//! let opened = sum.opened(&servers)?;
//! assert!((opened[0] - 50).abs() < 40 && opened[1].abs() < 40);
//! # Ok::<(), scumble::Error>(())
//! ```

use crate::calibrate::{ShiftNorms, Target, scale_for_pure};
use crate::error::{Error, Result};
use crate::event::{Event, Moves, Shift, Touch, Word};
use crate::noise::{BitSource, NegativeBinomial};
use crate::quantity::{Beta, Scale, Upper};
use crate::scope::{AttributeSet, Scope};
use std::borrow::Borrow;
use std::num::NonZeroU64;

mod ring;
mod total;

pub use ring::Ring;
pub use total::TotalNoise;

/// Who takes part, and how many of them are trusted with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trust {
    parties: u64,
    colluding: u64,
    silent: u64,
    servers: u64,
}

/// The most parties.
pub const MOST_PARTIES: u64 = 100_000;
/// The most servers.
pub const MOST_SERVERS: u64 = 16;
/// The most cells.
pub const MOST_CELLS: u64 = 10_000_000;
/// No owner counts for more in a cell.
pub const MOST_BY: u64 = 1 << 32;

impl Trust {
    /// Up to `colluding` of the parties tell each other and the servers all that they know, and up to `silent` others
    /// do not answer.
    pub fn new(parties: u64, colluding: u64, silent: u64, servers: u64) -> Result<Self> {
        refuse_if!(!(1..=MOST_PARTIES).contains(&parties), "there must be 1 to {MOST_PARTIES} parties, not {parties}");
        if !(2..=MOST_SERVERS).contains(&servers) {
            refuse!("there must be 2 to {MOST_SERVERS} servers, not {servers}: one alone would see every number");
        }
        if colluding.saturating_add(silent) >= parties {
            refuse!(
                "of {parties} parties {colluding} may collude and {silent} may be silent, which leaves no noise: both \
                    together must be fewer than the parties"
            );
        }
        Ok(Self { parties, colluding, silent, servers })
    }

    /// How many parties there are.
    pub fn parties(&self) -> u64 {
        self.parties
    }

    /// How many of them may collude.
    pub fn colluding(&self) -> u64 {
        self.colluding
    }

    /// How many of them may be silent.
    pub fn silent(&self) -> u64 {
        self.silent
    }

    /// How many servers there are.
    pub fn servers(&self) -> u64 {
        self.servers
    }

    /// h: how many honest parties answer at least, wherever a sum is opened; noise is planned for them.
    pub fn honest(&self) -> NonZeroU64 {
        // The constructor leaves at least one.
        NonZeroU64::new(self.parties - self.colluding - self.silent).unwrap_or(NonZeroU64::MIN)
    }

    /// A shorter list of parties is not opened.
    pub fn least_answers(&self) -> u64 {
        self.parties - self.silent
    }

    /// Against whom the guarantee holds, in words.
    pub fn coalition(&self) -> String {
        let servers = match self.servers {
            2 => "either of the 2 servers".to_string(),
            many => format!("any {} of the {many} servers", many - 1),
        };
        let together = match self.colluding {
            0 => format!("{servers}, without any party"),
            many => format!("any {many} of the {} parties and {servers} together", self.parties),
        };
        format!("{together}, and everybody who sees what is opened")
    }
}

/// What one owner has in all parties' numbers together: this many cells, and at most so much in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnerContribution {
    /// The most cells.
    pub cells: u64,
    /// The most in one cell.
    pub by: u64,
}

impl OwnerContribution {
    /// How far an owner moves `cells` sums: whoever replaces an owner may be in other cells.
    pub fn moves(&self, cells: u64) -> Result<Moves> {
        moves(cells, *self, None)
    }
}

/// Sums of parties' numbers, with noise in shares.
#[derive(Debug, Clone)]
pub struct SharedSum {
    trust: Trust,
    cells: u64,
    owner: OwnerContribution,
    scale: Scale,
    share: NegativeBinomial,
}

/// Wider noise than this could leave the range of a word.
const LARGEST_SCALE: f64 = 1e15;

impl SharedSum {
    /// `cells` sums, with the least noise that meets the target in `scope` (presence or person): a pure ε, by its
    /// Laplace noise.
    ///
    /// # Guarantee
    /// [`SharedSum::events`] cost at most the ε of `target` in `scope`.
    pub fn within(
        target: Target,
        scope: impl Borrow<Scope>,
        cells: u64,
        owner: OwnerContribution,
        trust: Trust,
    ) -> Result<Self> {
        let scope = scope.borrow();
        let (Target::Pure(epsilon) | Target::Approximate(epsilon, _)) = target else {
            refuse!("the sums of many parties are calibrated to an epsilon, not to {target}")
        };
        if !matches!(scope, Scope::Presence | Scope::Person) {
            refuse!("the cost of a sum of parties is about presence or person");
        }
        Self::new(scale_for_pure(epsilon, ShiftNorms::of(&owner.moves(cells)?, scope))?, cells, owner, trust)
    }

    /// `cells` sums, each with noise of this scale.
    pub fn new(scale: Scale, cells: u64, owner: OwnerContribution, trust: Trust) -> Result<Self> {
        refuse_if!(!(1..=MOST_CELLS).contains(&cells), "there must be 1 to {MOST_CELLS} cells, not {cells}");
        if !(1..=MOST_CELLS).contains(&owner.cells) {
            refuse!("an owner has 1 to {MOST_CELLS} cells, not {}", owner.cells);
        }
        if !(1..=MOST_BY).contains(&owner.by) {
            refuse!("an owner counts for 1 to {MOST_BY} in a cell, not {}", owner.by);
        }
        if scale.get() > LARGEST_SCALE {
            refuse!(
                "noise of scale {:.0} is too large for sums of whole numbers: raise epsilon, or allow fewer cells for \
                    an owner",
                scale.get()
            );
        }
        let share = NegativeBinomial::share(scale, trust.honest());
        Ok(Self { trust, cells, owner, scale, share })
    }

    /// What a party sends: its numbers with its share of the noise, split for the servers.
    ///
    /// # Guarantee
    /// Before: `values` are this party's sums over its owners, an owner has at most what [`OwnerContribution`] says in
    /// all parties' values together, and the party sends once. After: any all but one of the shares are uniform; opened
    /// with those of h − 1 other honest parties or more, ε for one owner.
    pub fn shares<S: BitSource + ?Sized>(&self, values: &[u64], bits: &mut S) -> Result<Vec<Vec<u64>>> {
        refuse_if!(values.len() as u64 != self.cells, "there are {} numbers for {} cells", values.len(), self.cells);
        let noisy = |value: &u64| {
            let (more, less) = (self.share.sample_word(bits), self.share.sample_word(bits));
            value.wrapping_add(more).wrapping_sub(less)
        };
        let noisy: Vec<u64> = values.iter().map(noisy).collect();
        Ring::WORDS.split(&noisy, self.trust.servers as usize, bits)
    }

    /// The sums, from what each server has added up.
    pub fn opened(&self, servers: &[Vec<u64>]) -> Result<Vec<i64>> {
        if servers.len() as u64 != self.trust.servers || servers.iter().any(|sum| sum.len() as u64 != self.cells) {
            refuse!("a sum is opened with one number for each cell from each server");
        }
        let mut total = vec![0; self.cells as usize];
        servers.iter().for_each(|sum| Ring::WORDS.add(&mut total, sum));
        Ok(total.into_iter().map(|word| Ring::WORDS.signed(word)).collect())
    }

    /// What an opened sum did, for a ledger: the noise of the honest parties that are planned for, whichever other
    /// parties answered.
    pub fn events(&self, attributes: &AttributeSet) -> Result<Vec<Event>> {
        let word = Word::DiscreteLaplace { scale: self.scale };
        Ok(vec![Event::new(word, moves(self.cells, self.owner, Some(attributes))?)])
    }

    /// An upper bound of ε in a scope against this many colluding parties, where `answered` parties are in the sum. It
    /// is the planned one as long as h of them are honest; infinite where none is; nothing where the noise is too wide
    /// to say it.
    pub fn epsilon_against(&self, scope: &Scope, colluding: u64, answered: u64) -> Result<Option<Upper>> {
        let total = TotalNoise::new(self.scale, answered.saturating_sub(colluding), self.trust.honest().get());
        let mut worst = Some(0.0f64);
        for shift in moves(self.cells, self.owner, None)?.shifts(scope) {
            // Cells have independent noise, so that their costs add up.
            let cost = total.epsilon(shift.by.get() as u64).map(|one| one.get() * shift.cells as f64);
            worst = worst.zip(cost).map(|(worst, cost)| worst.max(cost));
        }
        Ok(worst.map(Upper::of))
    }

    /// The error to plan with: with probability 1 − β no opened cell is off by more, where `answered` parties are in
    /// the sum.
    ///
    /// Chernoff, for the best of some t: E e^{tZ} = ((1−q)²/((1−qe^t)(1−qe^{−t})))^r.
    pub fn error(&self, beta: Beta, answered: u64) -> Result<f64> {
        let rate = 1.0 / self.scale.get();
        let shape = answered as f64 / self.trust.honest().get() as f64;
        let least = (2.0 * self.cells as f64 / beta.get()).ln();
        let bound = |part: f64| {
            let t = part * rate;
            // 1 − e^{−x} without cancellation.
            let less = |x: f64| -(-x).exp_m1();
            let mgf = 2.0 * less(rate).ln() - less(rate - t).ln() - less(rate + t).ln();
            (least + shape * mgf) / t
        };
        Ok((1..200).map(|part| bound(f64::from(part) / 200.0)).fold(f64::INFINITY, f64::min))
    }

    /// Refuses numbers that may not fit into a word with their noise: with m parties of at most `largest` in a cell,
    /// the sum is wrong with probability at most 2^−40. (Privacy does not depend on it.)
    pub fn check_fits(&self, largest: u64) -> Result<()> {
        let noise = self.error(Beta::new(2f64.powi(-40))?, self.trust.parties)?;
        if self.trust.parties as f64 * largest as f64 + noise < 2f64.powi(62) {
            return Ok(());
        }
        Err(Error::refused(format!(
            "{} parties with up to {largest} in a cell may add up to more than a word holds: give a smaller largest number",
            self.trust.parties
        )))
    }

    /// Who takes part.
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// How many sums there are.
    pub fn cells(&self) -> u64 {
        self.cells
    }

    /// What one owner has in them.
    pub fn owner(&self) -> OwnerContribution {
        self.owner
    }

    /// The scale of the discrete Laplace noise that h honest parties add up to.
    pub fn scale(&self) -> Scale {
        self.scale
    }
}

/// How far an owner moves the sums: the owner's replacement may be in other cells.
fn moves(cells: u64, owner: OwnerContribution, attributes: Option<&AttributeSet>) -> Result<Moves> {
    let shift = |moved: u64| Shift::new(moved.min(cells), owner.by as f64);
    let (presence, replaced) = (shift(owner.cells)?, shift(owner.cells.saturating_mul(2))?);
    let touch = |set: &AttributeSet| Touch { attributes: set.clone(), shifts: vec![replaced] };
    Ok(Moves::by_scope(vec![presence], vec![replaced], attributes.map(touch).into_iter().collect()))
}

#[cfg(test)]
mod tests;
