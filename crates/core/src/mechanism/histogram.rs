//! Histograms over a public domain: every cell gets independent noise, absent ones too.
//!
//! One owner is in one cell: adding or removing one moves one cell by 1, replacing one moves two cells by 1. The maximum error
//! over k cells grows like log k with Laplace noise, √log k with Gaussian, log log k with sinh-normal (Bun, Dwork,
//! Rothblum, Steinke 2018, Corollary 18; its constants are wrong, so the noise is certified from its table instead, see
//! [`crate::noise::sinh_normal`]), and not at all with truncated Laplace.

use super::additive::Noise;
use crate::error::{Error, Result};
use crate::event::{Event, Moves, Shift};
use crate::noise::BitSource;
use crate::noise::sinh_normal::{Calibrated, least_maximum_error};
use crate::quantity::{Beta, Omega, Probability, Rho};

/// A histogram with the given noise in every cell.
///
/// ```
/// use scumble::mechanism::additive::Noise;
/// use scumble::mechanism::histogram::Histogram;
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::{Beta, Scale};
/// let histogram = Histogram::new(Noise::laplace(Scale::new(2.0)?));
/// let noisy = histogram.release(&[12, 0, 7, 30], &mut InsecureSeededSource::new(1));
/// assert_eq!(noisy.len(), 4);
/// assert!(histogram.error(4, Beta::new(0.05)?) < 10.0);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Histogram {
    noise: Noise,
}

impl Histogram {
    /// With this noise in every cell.
    pub fn new(noise: Noise) -> Self {
        Self { noise }
    }

    /// The noise with the least maximum error over `cells` cells that is (ρ, ω)-tCDP in the scope that moves `moved` cells
    /// by one (1: presence, 2: person): sinh-normal, or the discrete Gaussian where that is not worse.
    ///
    /// ```
    /// use scumble::mechanism::histogram::Histogram;
    /// use scumble::quantity::{Beta, Omega, Rho};
    /// let best = Histogram::truncated_concentrated(Rho::new(0.01)?, Omega::new(10.0)?, 1, 1_000_000, Beta::new(1e-6)?)?;
    /// assert_eq!(best.noise().name(), "sinh-normal");
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn truncated_concentrated(rho: Rho, omega: Omega, moved: u32, cells: u64, beta: Beta) -> Result<Self> {
        if moved == 0 || cells == 0 {
            return Err(Error::refused("a histogram needs at least one cell, and a neighbour must move at least one"));
        }
        let per_cell = Rho::new((rho.get() / f64::from(moved)).next_down().max(0.0))?;
        let exceeded = Probability::new(beta.get() / cells as f64)?;
        let noise = match least_maximum_error(per_cell, omega, 1, exceeded)? {
            Calibrated::SinhNormal(noise) => Noise::SinhNormal(noise),
            Calibrated::DiscreteGaussian(sigma) => Noise::gaussian(sigma),
        };
        Ok(Self { noise })
    }

    /// The noise.
    pub fn noise(&self) -> &Noise {
        &self.noise
    }

    /// The counts with noise. Counts must be those of the whole public domain, absent cells as 0.
    ///
    /// # Guarantee
    /// As accounting says of [`Histogram::event`], for neighbours whose counts differ as its moves say.
    pub fn release<S: BitSource + ?Sized>(&self, counts: &[i64], bits: &mut S) -> Vec<i64> {
        let mut noisy = counts.to_vec();
        self.noise.add_to_all(&mut noisy, bits);
        noisy
    }

    /// The event where each owner is in one cell.
    pub fn event(&self) -> Result<Event> {
        self.noise.event(one_cell_per_owner()?)
    }

    /// The most that any of `cells` cells is off, but for probability β.
    pub fn error(&self, cells: u64, beta: Beta) -> f64 {
        self.noise.maximum(cells as f64, beta.get())
    }
}

/// Each owner in one cell: one moves by 1 under presence, two under person.
pub fn one_cell_per_owner() -> Result<Moves> {
    Ok(Moves::by_scope(vec![Shift::one_cell(1.0)?], vec![Shift::new(2, 1.0)?], Vec::new()))
}
