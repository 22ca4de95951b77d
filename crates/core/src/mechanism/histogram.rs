//! Histograms over a public domain: every cell gets independent noise, absent ones too.
//!
//! One owner is in one cell: adding or removing one moves one cell by 1, replacing one moves two cells by 1. The
//! maximum error over k cells grows like log k with Laplace noise, √log k with Gaussian, log log k with sinh-normal
//! (Bun, Dwork, Rothblum, Steinke 2018, Corollary 18; its constants are wrong, so the noise is certified from its table
//! instead, see [`crate::noise::sinh_normal`]), and not at all with truncated Laplace.

use super::additive::Noise;
use super::plan::{histogram_noise, least_maximum_noise, one_cell_per_owner};
use crate::calibrate::Target;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::noise::BitSource;
use crate::quantity::Beta;
use crate::scope::Scope;
use std::borrow::Borrow;

/// A histogram with the given noise in every cell.
///
/// ```
/// use scumble::mechanism::additive::Noise;
/// use scumble::mechanism::histogram::Histogram;
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::{Scale, beta};
/// let histogram = Histogram::new(Noise::laplace(Scale::new(2.0)?));
/// let noisy = histogram.release(&[12, 0, 7, 30], &mut InsecureSeededSource::new(1));
/// assert_eq!(noisy.len(), 4);
/// assert!(histogram.error(beta(0.05)?, 4)? < 10.0);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Histogram {
    noise: Noise,
}

impl Histogram {
    /// With this noise in every cell.
    pub fn new(noise: Noise) -> Self {
        Self { noise }
    }

    /// The noise with the least maximum error over `cells` cells that meets the target in `scope`, which is presence or
    /// person. For (ρ, ω) it is sinh-normal noise, or the discrete Gaussian where that is not worse; otherwise the best
    /// that [`histogram_noise`] compares.
    ///
    /// # Guarantee
    /// What [`Histogram::events`] cost in `scope` is at most `target`.
    ///
    /// ```
    /// use scumble::quantity::{beta, omega, rho};
    /// use scumble::{Histogram, Scope, Target};
    /// let best = Histogram::within(Target::tcdp(rho(0.01)?, omega(10.0)?), Scope::Presence, 1_000_000, beta(1e-6)?)?;
    /// assert_eq!(best.noise().name(), "sinh-normal");
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn within(target: Target, scope: impl Borrow<Scope>, cells: u64, beta: Beta) -> Result<Self> {
        let scope = scope.borrow();
        if let (Target::Truncated(rho, omega), Scope::Presence | Scope::Person) = (target, scope) {
            let moved = if *scope == Scope::Presence { 1 } else { 2 };
            return Ok(Self { noise: least_maximum_noise((rho, omega), moved, cells, beta)? });
        }
        // A candidate with a threshold is no histogram over a public domain.
        let mut candidates = histogram_noise(target, scope, cells, beta)?.into_iter();
        let best = candidates.find(|candidate| candidate.threshold.is_none());
        let best = best.ok_or_else(|| Error::refused(format!("no noise for a histogram meets {target}: raise it")))?;
        Ok(Self { noise: best.noise })
    }

    /// The noise.
    pub fn noise(&self) -> &Noise {
        &self.noise
    }

    /// The counts with noise. Counts must be those of the whole public domain, absent cells as 0.
    ///
    /// # Guarantee
    /// As accounting says of [`Histogram::events`], for neighbours whose counts differ as its moves say.
    pub fn release<S: BitSource + ?Sized>(&self, counts: &[i64], bits: &mut S) -> Vec<i64> {
        let mut noisy = counts.to_vec();
        self.noise.add_to_all(&mut noisy, bits);
        noisy
    }

    /// The event where each owner is in one cell.
    pub fn events(&self) -> Result<Vec<Event>> {
        Ok(vec![self.noise.event(one_cell_per_owner()?)?])
    }

    /// The most that any of `cells` cells is off, except with probability β.
    pub fn error(&self, beta: Beta, cells: u64) -> Result<f64> {
        Ok(self.noise.maximum(cells as f64, beta))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{self, Claim, Distribution, Slack, check, neighbours};
    use crate::loss::Loss;
    use crate::noise::SinhNormal;
    use crate::quantity::{Delta, Epsilon, Omega, Rho, Scale, Sigma};

    /// Two cells, noise from a table, exactly.
    fn distribution(noise: &SinhNormal, dataset: &[u8]) -> Distribution<(i64, i64)> {
        let cell = |key: u8| {
            let count = dataset.iter().filter(|record| **record == key).count() as i64;
            let mass = |z: i64| harness::ProbabilityInterval::near(noise.table().probability(z), 1e-14);
            Distribution::new((-25..=25).map(|z| (count + z, mass(z))), 1e-30)
        };
        cell(0).product(&cell(1))
    }

    #[test]
    fn sinh_normal_histograms_cost_what_accounting_says() {
        let noise = SinhNormal::new(Sigma::new(1.286).unwrap(), Scale::new(2.7).unwrap()).unwrap();
        let histogram = Histogram::new(Noise::SinhNormal(noise.clone()));
        let event = histogram.events().unwrap().remove(0);
        let one = noise.certificate(1).unwrap();
        for (scope, pairs, moved) in [
            (Scope::Presence, neighbours::presence(&[0u8, 1], 2), 1.0),
            (Scope::Person, neighbours::person(&[0u8, 1], 2), 2.0),
        ] {
            let loss = Loss::of(std::slice::from_ref(&event), &scope).unwrap();
            let delta = |epsilon: f64| (epsilon, loss.delta(Epsilon::new(epsilon).unwrap()).upper);
            let claim = Claim { deltas: [0.5, 1.0, 2.0, 4.0].map(delta).to_vec(), ..Claim::default() };
            check(&pairs, |dataset| distribution(&noise, dataset), &claim, Slack::ANY);
            // The Rényi curve is the truth itself.
            let renyi = |order: f64| (order, moved * one.renyi_upper(order).get());
            let claim = Claim { renyi: [1.1, 1.3, 1.5].map(renyi).to_vec(), ..Claim::default() };
            check(&pairs, |dataset| distribution(&noise, dataset), &claim, Slack { renyi: 1e-6, ..Slack::ANY });
        }
        let exact = one.delta_of_two_upper(Epsilon::new(1.0).unwrap()).get();
        let claim = Claim { deltas: vec![(1.0, exact)], ..Claim::default() };
        let pairs = neighbours::person(&[0u8, 1], 2);
        check(&pairs, |dataset| distribution(&noise, dataset), &claim, Slack { delta: 1e-6, ..Slack::ANY });
    }

    #[test]
    fn calibration_by_scope_splits_rho_over_the_cells_that_move() {
        let beta = Beta::new(0.01).unwrap();
        let make = |scope: Scope| {
            let target = Target::tcdp(Rho::new(0.02).unwrap(), Omega::new(7.0).unwrap());
            Histogram::within(target, scope, 1000, beta).unwrap()
        };
        for (scope, moved) in [(Scope::Presence, 1.0), (Scope::Person, 2.0)] {
            let Noise::SinhNormal(noise) = make(scope).noise().clone() else { panic!("not sinh-normal") };
            assert!(moved * noise.certificate(1).unwrap().slope_upper(Omega::new(7.0).unwrap()).get() <= 0.02);
        }
        assert!(make(Scope::Person).error(beta, 1000).unwrap() > make(Scope::Presence).error(beta, 1000).unwrap());
    }

    #[test]
    fn the_best_noise_for_a_target_costs_at_most_that_and_has_no_threshold() {
        let (epsilon, delta, beta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap(), Beta::new(0.05).unwrap());
        for scope in [Scope::Presence, Scope::Person] {
            for cells in [1, 1_000_000] {
                let best = Histogram::within(Target::approximate(epsilon, delta), &scope, cells, beta).unwrap();
                let spent = Loss::of(best.events().unwrap(), &scope).unwrap().delta(epsilon);
                // Where the accountant has only a Rényi curve, its upper bound is not the whole truth: look at the
                // lower one.
                let certified = if best.noise().name() == "sinh-normal" { spent.lower } else { spent.upper };
                assert!(certified <= 1e-6 * (1.0 + 1e-3), "{} {scope} {cells}: {spent:?}", best.noise().name());
            }
        }
        let pure = Histogram::within(Target::pure(epsilon), Scope::Person, 10, beta).unwrap();
        assert_eq!(pure.noise().name(), "discrete-laplace");
        assert!(Histogram::within(Target::pure(epsilon), Scope::Attributes(Default::default()), 10, beta).is_err());
    }
}
