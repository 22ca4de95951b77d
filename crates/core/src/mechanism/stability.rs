//! Keys of an unknown domain: which of them may be published, and with which counts.
//!
//! - [`StabilityHistogram`]: noise on the counts of the keys that occur; a key is published if its noisy count reaches
//!   a threshold that the key of one owner alone reaches with probability at most δ (Korolova et al. 2009;
//!   Bun–Nissim–Stemmer 2016).
//! - [`KeySelection`]: keys only, each with the largest probability that any (ε, δ) mechanism may use (Desfontaines,
//!   Voss, Gipson, Mandayam 2022).
//! - [`super::huge_domain`]: a public but huge domain, with pure privacy.

use super::additive::Noise;
use crate::calibrate::{ShiftNorms, Target, scale_for_pure};
use crate::error::Result;
use crate::event::{Charge, Event, Moves, Shift, Word, charged_by_scope};
use crate::noise::tape::{self, Announcement};
use crate::noise::{BitSource, bernoulli};
use crate::quantity::{Beta, Delta, Epsilon, Exact, Probability};
use crate::scope::{AttributeSet, Scope};
use num_rational::BigRational;
use std::borrow::Borrow;

/// What one owner can contribute: to at most `keys` keys, at most `per_key` to the count of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contribution {
    keys: u32,
    per_key: u32,
}

impl Contribution {
    /// Refuses 0.
    ///
    /// ```
    /// use scumble::mechanism::stability::Contribution;
    /// assert!(Contribution::new(3, 1).is_ok());
    /// assert!(Contribution::new(0, 1).is_err());
    /// ```
    pub fn new(keys: u32, per_key: u32) -> Result<Self> {
        refuse_if!(keys == 0 || per_key == 0, "an owner's contribution must be at least 1 key and 1 per key");
        Ok(Self { keys, per_key })
    }

    /// One owner in one key, once.
    pub fn one() -> Self {
        Self { keys: 1, per_key: 1 }
    }

    /// How the counts move: `keys` cells under presence, twice as many under person.
    pub fn moves(&self) -> Result<Moves> {
        let by = f64::from(self.per_key);
        let shift = |cells: u64| Shift::new(cells, by);
        Ok(Moves::by_scope(vec![shift(self.keys.into())?], vec![shift(2 * u64::from(self.keys))?], Vec::new()))
    }
}

/// Noisy counts of the keys that occur, where they reach the threshold.
///
/// ```
/// use scumble::mechanism::additive::Noise;
/// use scumble::mechanism::stability::{Contribution, StabilityHistogram};
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::{Delta, Scale};
/// let noise = Noise::laplace(Scale::new(1.0)?);
/// let histogram = StabilityHistogram::new(noise, Contribution::one(), Delta::new(1e-6)?)?;
/// assert_eq!(histogram.threshold(), 15);
/// let counts = [("common", 1000), ("rare", 1)];
/// let published = histogram.release(&counts, &mut InsecureSeededSource::new(1));
/// assert_eq!(published[0].0, "common");
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct StabilityHistogram {
    noise: Noise,
    contribution: Contribution,
    threshold: i64,
    delta: Delta,
}

/// A key of one owner shows with at least this probability: smaller ones are not distinguished from 0 by the noise's
/// tails.
const LEAST_PER_KEY: f64 = 1e-300;
/// 2^62, so that neither a threshold nor a noisy count near it leaves 64 bits.
const LARGEST_THRESHOLD: f64 = 4_611_686_018_427_387_904.0;

impl StabilityHistogram {
    /// With the smallest threshold for which all of one owner's new keys together show with probability at most δ:
    /// 1 − (1 − P\[per_key + noise ≥ threshold\])^keys ≤ δ.
    pub fn new(noise: Noise, contribution: Contribution, delta: Delta) -> Result<Self> {
        if delta.get() <= 0.0 || delta.get() >= 1.0 {
            refuse!("private keys need a delta strictly between 0 and 1: raise delta or declare the keys");
        }
        // 1 − (1−δ)^{1/g}, rounded down.
        let per_key = -((-delta.get()).ln_1p() / f64::from(contribution.keys)).exp_m1() * (1.0 - 1e-12);
        // P[Z ≥ q+1] ≤ p where P[|Z| > q] ≤ 2p: the noise is symmetric.
        let quantile = noise.quantile((2.0 * per_key * (1.0 - 1e-12)).min(1.0));
        // Below the least probability the tails of f64 end; beyond the largest threshold those of i64 (a wrapped one
        // would publish every key).
        if per_key < LEAST_PER_KEY || quantile.is_nan() || quantile >= LARGEST_THRESHOLD {
            refuse!(
                "private keys with this noise and delta would need more owners than there can be: raise epsilon or delta, or declare the keys"
            );
        }
        let threshold = i64::from(contribution.per_key) + quantile as i64 + 1;
        Ok(Self { noise, contribution, threshold, delta })
    }

    /// With Laplace noise and a threshold from one (ε, δ): ε for the counts, δ for the keys that only one of two
    /// neighbours has.
    ///
    /// # Guarantee
    /// [`StabilityHistogram::events`] cost at most (ε, δ) in `scope`, which is presence or person.
    ///
    /// ```
    /// use scumble::quantity::{delta, epsilon};
    /// use scumble::noise::InsecureSeededSource;
    /// use scumble::{Contribution, Scope, StabilityHistogram, Target};
    /// let keys = StabilityHistogram::within(Target::approximate(epsilon(1.0)?, delta(1e-6)?), Scope::Person, Contribution::one())?;
    /// let published = keys.release(&[("common", 1000), ("rare", 1)], &mut InsecureSeededSource::new(1));
    /// assert_eq!(published.len(), 1);
    /// assert!(StabilityHistogram::within(Target::pure(epsilon(1.0)?), Scope::Person, Contribution::one()).is_err());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn within(target: Target, scope: impl Borrow<Scope>, contribution: Contribution) -> Result<Self> {
        let Target::Approximate(epsilon, delta) = target else {
            refuse!(
                "keys that are not public need an (epsilon, delta), not {target}: use Target::approximate, or declare the keys"
            )
        };
        let scope = scope.borrow();
        if !matches!(scope, Scope::Presence | Scope::Person) {
            refuse!("private keys are calibrated for presence or person, not for {scope}");
        }
        let scale = scale_for_pure(epsilon, ShiftNorms::of(&contribution.moves()?, scope))?;
        Self::new(Noise::laplace(scale), contribution, delta)
    }

    /// The least noisy count that is published.
    pub fn threshold(&self) -> i64 {
        self.threshold
    }

    /// The noise on every count.
    pub fn noise(&self) -> &Noise {
        &self.noise
    }

    /// The keys that reach the threshold, with their noisy counts. Counts are those of keys that occur (0 or less is
    /// skipped).
    ///
    /// # Guarantee
    /// As accounting says of [`StabilityHistogram::events`].
    pub fn release<Key: Clone, S: BitSource + ?Sized>(&self, counts: &[(Key, i64)], bits: &mut S) -> Vec<(Key, i64)> {
        let present: Vec<&(Key, i64)> = counts.iter().filter(|(_, count)| *count > 0).collect();
        let mut noisy: Vec<i64> = present.iter().map(|(_, count)| *count).collect();
        self.noise.add_to_all(&mut noisy, bits);
        let both = present.into_iter().zip(noisy);
        both.filter(|(_, noisy)| self.publishes(*noisy)).map(|((key, _), noisy)| (key.clone(), noisy)).collect()
    }

    /// Whether a key with this noisy count is published.
    fn publishes(&self, noisy: i64) -> bool {
        noisy >= self.threshold
    }

    /// What was done: one event, for owners and for groups of them (why stands in the documentation of
    /// `loss::words::new_keys`).
    pub fn events(&self) -> Result<Vec<Event>> {
        let noise = self.noise.event(self.contribution.moves()?)?;
        Ok(vec![noise.for_new_keys(self.delta, self.contribution.keys.into())?])
    }

    /// The error to plan with: a published count of one key is off by more with probability at most β.
    pub fn error(&self, beta: Beta) -> Result<f64> {
        Ok(self.noise.quantile(beta.get()))
    }

    /// The true count from which on a key is published, except with probability β.
    pub fn published_from(&self, beta: Beta) -> Result<f64> {
        Ok(self.threshold as f64 + self.error(beta)?)
    }
}

/// Keys without counts, each with the largest probability that (ε, δ) allows.
///
/// Where c keys change between neighbours, each gets (ε/c, 1−(1−δ)^{1/c}). π(0) = 0 and
/// π(n+1) = min(e^ε·π(n) + δ, 1 − e^{−ε}(1 − π(n) − δ), 1), each rounded down, which keeps both inequalities.
///
/// ```
/// use scumble::mechanism::stability::KeySelection;
/// use scumble::quantity::{delta, epsilon};
/// use scumble::{Scope, Target};
/// let selection = KeySelection::within(Target::approximate(epsilon(1.0)?, delta(1e-6)?), Scope::Presence, 1)?;
/// assert_eq!(selection.probability(0), 0.0);
/// assert!(selection.probability(1) <= 1e-6);
/// assert_eq!(selection.probability(1000), 1.0);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct KeySelection {
    epsilon: Epsilon,
    delta: Delta,
    keys: u32,
    /// ε and δ are what this many changed keys cost together.
    changed: u64,
    probabilities: Vec<f64>,
}

/// From here on a larger ε changes nothing that f64 can tell.
const LARGEST_EXPONENT: f64 = 700.0;
/// What two roundings of a number below 1, each by at most 2⁻⁵⁴, may have taken from a complement; twice that.
const COMPLEMENT_ROUNDING: f64 = f64::EPSILON;
/// Beyond this many steps the probabilities are refused: ε/c is then too small to be of use.
const MOST_STEPS: usize = 50_000_000;

impl KeySelection {
    /// From an (ε, δ) in `scope`, which is presence or person, where an owner has at most `keys_per_owner` keys and
    /// counts once in each.
    ///
    /// # Guarantee
    /// [`KeySelection::events`] cost at most (ε, δ) in `scope`.
    ///
    /// ```
    /// use scumble::mechanism::stability::KeySelection;
    /// use scumble::quantity::{delta, epsilon};
    /// use scumble::{Loss, Scope, Target};
    /// let target = Target::approximate(epsilon(1.0)?, delta(1e-6)?);
    /// let selection = KeySelection::within(target, Scope::Person, 3)?;
    /// let spent = Loss::of(selection.events()?, Scope::Person)?.delta(epsilon(1.0)?);
    /// assert!(spent.lower <= 1e-6 && spent.upper <= 1.001e-6);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn within(target: Target, scope: impl Borrow<Scope>, keys_per_owner: u32) -> Result<Self> {
        let (epsilon, delta) = target.with_delta("key selection")?;
        let changed = match scope.borrow() {
            Scope::Presence => u64::from(keys_per_owner),
            // One owner leaves and one comes.
            Scope::Person => 2 * u64::from(keys_per_owner),
            other => {
                refuse!("key selection is calibrated for presence or person, not for {other}");
            }
        };
        Self::shared(epsilon, delta, keys_per_owner, changed)
    }

    /// (ε, δ) for this many changed keys together.
    pub(super) fn shared(epsilon: Epsilon, delta: Delta, keys_per_owner: u32, changed: u64) -> Result<Self> {
        if changed == 0 || epsilon.get() == 0.0 || delta.get() <= 0.0 || delta.get() >= 1.0 {
            refuse!(
                "key selection needs epsilon above 0, delta strictly between 0 and 1, and at least 1 key per owner"
            );
        }
        let keys = changed as f64;
        // e^710 is no number, and infinity times π(0) = 0 none either: a key of one owner was published for sure then.
        // Less is within ε too.
        let each = (epsilon.get() / keys).min(LARGEST_EXPONENT);
        let (growth, shrink) = (each.exp(), (-each).exp());
        let per_key = -((-delta.get()).ln_1p() / keys).exp_m1() * (1.0 - 1e-12);
        let mut probabilities = vec![0.0f64];
        while let Some(&before) = probabilities.last().filter(|last| **last < 1.0) {
            let first = (growth * before + per_key) * (1.0 - 1e-14);
            // 1 − π(n+1) ≥ e^{−ε}(1 − π(n) − δ), so that the complement is rounded up.
            let second = 1.0 - shrink * (1.0 - before - per_key) * (1.0 + 1e-14) - COMPLEMENT_ROUNDING;
            // π = 1 is allowed where 1 − π(n) ≤ δ. From ½ on that difference is exact (Sterbenz), where a sum with a δ
            // of 1e-15 is rounded; below ½ the rounding of the difference is less than what was taken off the δ.
            let next = if 1.0 - before <= per_key { 1.0 } else { first.min(second).max(before) };
            if next <= before {
                refuse!(
                    "key selection in double precision needs a larger epsilon per key, or a delta per key above 1e-15: raise epsilon or delta, or bound the keys per owner"
                );
            }
            probabilities.push(next);
            if probabilities.len() > MOST_STEPS {
                refuse!("epsilon per key is too small for key selection: raise epsilon or bound the keys per owner");
            }
        }
        Ok(Self { epsilon, delta, keys: keys_per_owner, changed, probabilities })
    }

    /// With which probability a key of this many owners is published.
    pub fn probability(&self, owners: u64) -> f64 {
        let last = self.probabilities.len() - 1;
        self.probabilities[usize::try_from(owners).unwrap_or(last).min(last)]
    }

    /// From how many owners on a key is published for sure.
    pub fn certain_from(&self) -> u64 {
        (self.probabilities.len() - 1) as u64
    }

    /// The keys that are published; each count is the number of owners.
    ///
    /// # Guarantee
    /// As accounting says of [`KeySelection::events`]. The coin has exactly the f64's probability.
    pub fn release<Key: Clone, S: BitSource + ?Sized>(&self, owners: &[(Key, u64)], bits: &mut S) -> Result<Vec<Key>> {
        let mut published = Vec::new();
        for (key, count) in owners {
            if self.passes(*count, bits)? {
                published.push(key.clone());
            }
        }
        Ok(published)
    }

    /// Whether something is published for which so many owners stand.
    pub(super) fn passes<S: BitSource + ?Sized>(&self, owners: u64, bits: &mut S) -> Result<bool> {
        let (chance, keys) = (Probability::new(self.probability(owners))?, self.changed as f64);
        let said = || {
            let parameters = [self.epsilon.get() / keys, self.delta.get() / keys];
            Announcement::cells("approximate", &parameters, [owners.into()])
        };
        // Of a key that was not there when a tape was recorded, nothing is said.
        Ok(tape::through_or(bits, said, Some(false), |bits| bernoulli::probability(bits, chance)))
    }

    /// What was done, by scope. Replacing an owner is one leaving and one coming.
    pub fn events(&self) -> Result<Vec<Event>> {
        self.events_moving(&Contribution::new(self.keys, 1)?.moves()?)
    }

    /// The same where neighbours change the owners of keys as `moves` say: this many keys, each by one owner.
    ///
    /// # Guarantee
    /// Keys are published independently of each other, each (ε/c, 1 − (1 − δ)^{1/c})-privately in its number of owners,
    /// where c is how many keys change in the scope of the target; so n changed keys cost (nε/c, 1 − (1 − δ)^{n/c}) by
    /// composition. Refused where a number of owners moves by more than 1.
    ///
    /// ```
    /// use scumble::quantity::{delta, epsilon};
    /// use scumble::mechanism::stability::{Contribution, KeySelection};
    /// use scumble::{Scope, Target};
    /// let selection = KeySelection::within(Target::approximate(epsilon(0.5)?, delta(1e-6)?), Scope::Presence, 3)?;
    /// assert_eq!(selection.events()?, selection.events_moving(&Contribution::new(3, 1)?.moves()?)?);
    /// assert!(selection.events_moving(&Contribution::new(3, 2)?.moves()?).is_err());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn events_moving(&self, moves: &Moves) -> Result<Vec<Event>> {
        let (presence, person, touches, _) = moves.parts();
        let mut touched: Vec<(AttributeSet, Charge)> = Vec::new();
        for touch in touches {
            let charge = self.charge(&touch.shifts)?;
            // Sets that cost the same are one: a change of both is charged once.
            match touched.iter_mut().find(|(_, other)| *other == charge) {
                Some((attributes, _)) => *attributes = attributes.union(&touch.attributes),
                None => touched.push((touch.attributes.clone(), charge)),
            }
        }
        charged_by_scope(self.charge(presence)?, self.charge(person)?, touched)
    }

    /// (ε, δ) of the most keys that one of these moves changes.
    fn charge(&self, shifts: &[Shift]) -> Result<Charge> {
        if shifts.iter().any(|shift| shift.by.get() > 1.0) {
            refuse!("key selection counts each owner of a key once: the number moves by at most 1");
        }
        let changed = shifts.iter().map(|shift| shift.cells).max().unwrap_or(0);
        let times = BigRational::new(changed.into(), self.changed.into());
        let epsilon = Exact::from_rational(Exact::from_f64(self.epsilon.get())?.rational() * &times).to_f64_up();
        let delta = match changed == self.changed {
            true => self.delta.get(),
            // 1 − (1−δ)^{n/c}, rounded up.
            false => {
                let hazard = -(-self.delta.get()).ln_1p() * changed as f64 / self.changed as f64;
                (-(-hazard).exp_m1() * (1.0 + 1e-12)).min(1.0)
            }
        };
        let word = Word::Approximate { epsilon: Epsilon::new(epsilon)?, delta: Delta::new(delta)? };
        Ok((word, vec![Shift::one_cell(if changed == 0 { 0.0 } else { 1.0 })?]))
    }

    /// How many owners a key needs to be published, except with probability β. There is no count to be off.
    pub fn published_from(&self, beta: Beta) -> Result<u64> {
        Ok(self.probabilities.partition_point(|probability| *probability < 1.0 - beta.get()) as u64)
    }

    /// How many keys an owner may have.
    pub fn keys_per_owner(&self) -> u32 {
        self.keys
    }
}

#[cfg(test)]
mod tests;
