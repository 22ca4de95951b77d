//! How many people there are in a table: public among attributes only. Somebody who is replaced may have no rows in
//! this table.

use crate::calibrate::{ShiftNorms, rho_of_gaussian, sigma_for_zcdp};
use crate::error::Result;
use crate::event::{Event, Moves, Shift, Word};
use crate::noise::{BitSource, DiscreteGaussian};
use crate::quantity::{Rho, Sigma, Upper};

/// The number of people: noisy, or public. Methods that need this number take it from here, so that they protect
/// presence and persons too.
///
/// ```
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::Rho;
/// use scumble::workload::People;
/// let people = People::new(Rho::new(0.005)?)?; // σ = 10
/// assert!(people.release(1000, &mut InsecureSeededSource::new(1)).abs_diff(1000) < 80);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct People(PeopleCount);

#[derive(Debug, Clone, Copy, PartialEq)]
enum PeopleCount {
    Public(u64),
    Noisy(Sigma),
}

impl People {
    /// With the noise that costs ρ when a person is added or removed.
    ///
    /// # Guarantee
    /// [`People::rho_presence`] is at most `rho`.
    pub fn new(rho: Rho) -> Result<Self> {
        refuse_if!(rho.get() == 0.0, "the number of people cannot be released with a rho of 0");
        Ok(Self(PeopleCount::Noisy(sigma_for_zcdp(rho, ShiftNorms::units(1))?)))
    }

    /// A number that everybody may know; never one that was counted in the data.
    ///
    /// ```
    /// use scumble::noise::InsecureSeededSource;
    /// use scumble::workload::People;
    /// let people = People::public(1000);
    /// assert_eq!(people.release(997, &mut InsecureSeededSource::new(1)), 1000);
    /// assert_eq!(people.rho_presence(), 0.0);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn public(number: u64) -> Self {
        Self(PeopleCount::Public(number))
    }

    /// ρ when a person is added or removed, or replaced by one who is not in this table; attributes keep the number of
    /// people.
    ///
    /// # Guarantee
    /// An upper bound: one count that moves by 1 \[CKS20\], or none that depends on the data.
    pub fn rho_presence(&self) -> Upper {
        self.sigma().map_or(Upper::of(0.0), |sigma| rho_of_gaussian(sigma, ShiftNorms::units(1)))
    }

    /// What a release did, in the vocabulary of the ledger.
    pub fn events(&self) -> Result<Vec<Event>> {
        let PeopleCount::Noisy(sigma) = self.0 else { return Ok(Vec::new()) };
        let one = vec![Shift::one_cell(1.0)?];
        let moves = Moves::by_scope(one.clone(), one, Vec::new());
        Ok(vec![Event::new(Word::DiscreteGaussian { sigma }, moves)])
    }

    /// The noisy number, at least 1; or the public one.
    ///
    /// # Guarantee
    /// [`People::rho_presence`]; the noise is exact.
    pub fn release<S: BitSource + ?Sized>(&self, people: u64, bits: &mut S) -> u64 {
        if let PeopleCount::Public(number) = self.0 {
            return number;
        }
        self.noisy(people, bits).max(1).unsigned_abs()
    }

    /// The same as it was drawn: unbiased, and of few people perhaps not above 0.
    pub(super) fn noisy<S: BitSource + ?Sized>(&self, people: u64, bits: &mut S) -> i64 {
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX >> 1);
        match self.0 {
            PeopleCount::Public(number) => whole(number),
            PeopleCount::Noisy(sigma) => DiscreteGaussian::new(sigma).add_to(whole(people), bits),
        }
    }

    /// The public number, if it is one.
    pub fn number(&self) -> Option<u64> {
        match self.0 {
            PeopleCount::Public(number) => Some(number),
            PeopleCount::Noisy(_) => None,
        }
    }

    /// The σ of the noise, if there is any.
    pub fn sigma(&self) -> Option<Sigma> {
        match self.0 {
            PeopleCount::Public(_) => None,
            PeopleCount::Noisy(sigma) => Some(sigma),
        }
    }
}
