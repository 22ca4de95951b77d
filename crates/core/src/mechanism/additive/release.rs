//! The additive mechanism itself: integer answers, integer noise, and how far each scope can move the answers.

use super::Noise;
use crate::calibrate::Target;
use crate::error::{Error, Result};
use crate::event::{Event, Moves, Shift};
use crate::noise::BitSource;
use crate::quantity::{Beta, Sensitivity};
use crate::scope::Scope;
use std::borrow::Borrow;

/// Independent integer noise in every cell of an integer answer.
///
/// ```
/// use scumble::quantity::{beta, delta, epsilon};
/// use scumble::noise::SecureSource;
/// use scumble::{Additive, Loss, Scope, Target};
/// let count = Additive::count().within(Target::pure(epsilon(0.5)?), Scope::Person)?;
/// let published: i64 = count.release(120, &mut SecureSource::new()?);
/// assert!(count.error(beta(1e-9)?)? < 50.0, "{published} is nearer to 120 than that, except with probability 1e-9");
/// assert!(Loss::of(count.events()?, Scope::Person)?.epsilon(delta(0.0)?).upper <= 0.5 * (1.0 + 1e-9));
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Additive {
    noise: Noise,
    moves: Moves,
}

/// Answers that wait for their noise: how far each scope can move them.
#[derive(Debug, Clone)]
#[must_use = "nothing is private before it has its noise: call `within` or `with`"]
pub struct UnnoisedAnswer {
    moves: Moves,
}

impl Additive {
    /// One count: in every scope it moves by at most 1.
    pub fn count() -> UnnoisedAnswer {
        UnnoisedAnswer { moves: Moves::everywhere(Shift { cells: 1, by: Sensitivity::ONE }) }
    }

    /// Counts where each owner is in exactly one: presence moves one of them by 1, a replaced person two.
    ///
    /// ```
    /// use scumble::quantity::rho;
    /// use scumble::noise::InsecureSeededSource;
    /// use scumble::{Additive, Scope, Target};
    /// let histogram = Additive::histogram().within(Target::zcdp(rho(0.1)?), Scope::Person)?;
    /// let noisy = histogram.release(&[120, 45, 0], &mut InsecureSeededSource::new(1));
    /// assert_eq!(noisy.len(), 3);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn histogram() -> UnnoisedAnswer {
        let (one, two) = (Shift { cells: 1, by: Sensitivity::ONE }, Shift { cells: 2, by: Sensitivity::ONE });
        UnnoisedAnswer { moves: Moves::by_scope(vec![one], vec![two], Vec::new()) }
    }

    /// The sum of one integer of each owner that was brought into least..=most before: presence moves it by at most the
    /// larger of both ends, a replaced person by at most their distance, or by as much as presence does.
    ///
    /// ```
    /// use scumble::quantity::epsilon;
    /// use scumble::noise::InsecureSeededSource;
    /// use scumble::{Additive, Scope, Target};
    /// let ages = [31i64, 45, 230];
    /// let sum = Additive::sum(0, 120)?.within(Target::pure(epsilon(1.0)?), Scope::Presence)?;
    /// let noisy = sum.release(ages.iter().map(|age| age.clamp(&0, &120)).sum::<i64>(), &mut InsecureSeededSource::new(1));
    /// assert!((noisy - 196).abs() < 2500);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn sum(least: i32, most: i32) -> Result<UnnoisedAnswer> {
        refuse_if!(least > most, "the least value {least} of a sum is above the largest, {most}");
        let presence = f64::from(least).abs().max(f64::from(most).abs());
        let person = presence.max(f64::from(most) - f64::from(least));
        let by = |by: f64| Ok::<_, Error>(vec![Shift::one_cell(by)?]);
        Ok(UnnoisedAnswer { moves: Moves::by_scope(by(presence)?, by(person)?, Vec::new()) })
    }

    /// Any integer answers, which move as `moves` says.
    pub fn of(moves: Moves) -> UnnoisedAnswer {
        UnnoisedAnswer { moves }
    }

    /// This noise, on answers that move as `moves` says.
    pub fn new(noise: Noise, moves: Moves) -> Self {
        Self { noise, moves }
    }

    /// The noise.
    pub fn noise(&self) -> &Noise {
        &self.noise
    }

    /// The noisy answers: one number for a number, a list for a list. Real values are put on a public grid first; a sum
    /// that leaves the range of an i64 is reported as the nearest i64, which is post-processing.
    ///
    /// # Guarantee
    /// Before: two neighbouring datasets' `values` differ by one of the shifts of `moves` in their scope. After: the
    /// output distributions are as close as [`crate::loss`] says of [`Additive::events`]; the noise is exact, whatever
    /// the values.
    #[must_use = "the release has its cost, whether its answer is used or not"]
    pub fn release<V: Integers, S: BitSource + ?Sized>(&self, values: V, bits: &mut S) -> V::Noisy {
        values.noised(&self.noise, bits)
    }

    /// What a release is, for the ledger and for [`Loss::of`](crate::loss::Loss::of).
    pub fn events(&self) -> Result<Vec<Event>> {
        Ok(vec![self.noise.event(self.moves.clone())?])
    }

    /// The error to plan with: one answer is off by more with probability at most β.
    pub fn error(&self, beta: Beta) -> Result<f64> {
        self.largest_error(beta, 1)
    }

    /// The same for the worst of this many cells.
    pub fn largest_error(&self, beta: Beta, cells: u64) -> Result<f64> {
        Ok(self.noise.maximum(cells as f64, beta))
    }
}

impl UnnoisedAnswer {
    /// With the noise that [`Noise::within`] finds for this target in this scope.
    ///
    /// # Guarantee
    /// What the events of the mechanism cost in `scope` is at most `target`.
    pub fn within(self, target: Target, scope: impl Borrow<Scope>) -> Result<Additive> {
        Ok(Additive { noise: Noise::within(target, scope.borrow(), &self.moves)?, moves: self.moves })
    }

    /// With this noise.
    pub fn with(self, noise: Noise) -> Additive {
        Additive { noise, moves: self.moves }
    }
}

/// Integers that noise is added to: one, or a list of them.
pub trait Integers: sealed::Seal {
    /// The same with noise.
    type Noisy;
    /// Adds an independent draw to each.
    fn noised<S: BitSource + ?Sized>(self, noise: &Noise, bits: &mut S) -> Self::Noisy;
}

impl Integers for i64 {
    type Noisy = i64;
    fn noised<S: BitSource + ?Sized>(self, noise: &Noise, bits: &mut S) -> i64 {
        let mut one = [self];
        noise.add_to_all(&mut one, bits);
        one[0]
    }
}

impl Integers for Vec<i64> {
    type Noisy = Vec<i64>;
    fn noised<S: BitSource + ?Sized>(mut self, noise: &Noise, bits: &mut S) -> Vec<i64> {
        noise.add_to_all(&mut self, bits);
        self
    }
}

impl Integers for &[i64] {
    type Noisy = Vec<i64>;
    fn noised<S: BitSource + ?Sized>(self, noise: &Noise, bits: &mut S) -> Vec<i64> {
        self.to_vec().noised(noise, bits)
    }
}

impl Integers for &Vec<i64> {
    type Noisy = Vec<i64>;
    fn noised<S: BitSource + ?Sized>(self, noise: &Noise, bits: &mut S) -> Vec<i64> {
        self.clone().noised(noise, bits)
    }
}

impl<const N: usize> Integers for &[i64; N] {
    type Noisy = Vec<i64>;
    fn noised<S: BitSource + ?Sized>(self, noise: &Noise, bits: &mut S) -> Vec<i64> {
        self.to_vec().noised(noise, bits)
    }
}

mod sealed {
    pub trait Seal {}
    impl Seal for i64 {}
    impl Seal for Vec<i64> {}
    impl Seal for &[i64] {}
    impl Seal for &Vec<i64> {}
    impl<const N: usize> Seal for &[i64; N] {}
}

#[cfg(test)]
mod tests;
