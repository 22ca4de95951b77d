//! How many people there are in a table: public among attributes only. Somebody who is replaced may have no rows in this table.

use crate::calibrate::{Moved, rho_of_gaussian, sigma_for_zcdp};
use crate::error::{Error, Result};
use crate::event::{Event, Moves, Shift, Word};
use crate::noise::{BitSource, DiscreteGaussian};
use crate::quantity::{Rho, Sigma};

/// The noisy number of people. Methods that need this number take it from here, so that they protect presence and persons too.
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
pub struct People {
    sigma: Sigma,
}

impl People {
    /// With the noise that costs ρ when a person is added or removed.
    ///
    /// # Guarantee
    /// [`People::rho_presence`] is at most `rho`.
    pub fn new(rho: Rho) -> Result<Self> {
        if rho.get() == 0.0 {
            return Err(Error::refused("the number of people cannot be released with a rho of 0"));
        }
        Ok(Self { sigma: sigma_for_zcdp(rho, Moved::units(1))? })
    }

    /// ρ when a person is added or removed, or replaced by one who is not in this table; attributes keep the number of people.
    ///
    /// # Guarantee
    /// An upper bound: one count that moves by 1 \[CKS20\].
    pub fn rho_presence(&self) -> f64 {
        rho_of_gaussian(self.sigma, Moved::units(1))
    }

    /// What a release did, in the vocabulary of the ledger.
    pub fn events(&self) -> Result<Vec<Event>> {
        let one = vec![Shift::one_cell(1.0)?];
        let moves = Moves::by_scope(one.clone(), one, Vec::new());
        Ok(vec![Event::new(Word::DiscreteGaussian { sigma: self.sigma }, moves)])
    }

    /// The noisy number, at least 1.
    ///
    /// # Guarantee
    /// [`People::rho_presence`]; the noise is exact.
    pub fn release<S: BitSource + ?Sized>(&self, people: u64, bits: &mut S) -> u64 {
        let exact = i64::try_from(people).unwrap_or(i64::MAX >> 1);
        DiscreteGaussian::new(self.sigma).add_to(exact, bits).max(1).unsigned_abs()
    }

    /// The σ of the noise.
    pub fn sigma(&self) -> Sigma {
        self.sigma
    }
}
