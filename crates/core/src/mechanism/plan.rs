//! Which noise for a histogram: every kind calibrated to the same privacy, and the error that each would have.
//!
//! A plan touches no data. The comparison behind `scumble compare-noise` and `docs/choosing-noise.md`.

use super::additive::{Noise, edge_mass_upper};
use super::histogram::{Histogram, one_cell_per_owner};
use crate::error::{Error, Result};
use crate::event::{Event, Kind};
use crate::loss::calibrate::{Free, calibrate};
use crate::noise::SinhNormal;
use crate::noise::sinh_normal::normal_tail_quantile;
use crate::quantity::{Beta, Delta, Epsilon, Omega, Rho, Scale, Sigma};
use crate::scope::Scope;

/// The privacy that every candidate must have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// (ε, δ).
    Approximate(Epsilon, Delta),
    /// (ρ, ω)-tCDP.
    Truncated(Rho, Omega),
}

/// One kind of noise that meets the target.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The noise.
    pub noise: Noise,
    /// The most that any cell is off, but for probability β.
    pub maximum_error: f64,
    /// The standard deviation of one cell.
    pub standard_deviation: f64,
}

/// Every kind of noise that can meet the target for a histogram of `cells` cells with each owner in one cell, best maximum
/// error first.
///
/// # Guarantee
/// Each candidate meets the target in `scope` (presence or person).
///
/// ```
/// use scumble::mechanism::plan::{Target, histogram_noise};
/// use scumble::quantity::{Beta, Omega, Rho};
/// use scumble::scope::Scope;
/// let target = Target::Truncated(Rho::new(0.01)?, Omega::new(10.0)?);
/// let plan = histogram_noise(target, &Scope::Presence, 1_000_000, Beta::new(1e-6)?)?;
/// assert_eq!(plan[0].noise.name(), "sinh-normal");
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn histogram_noise(target: Target, scope: &Scope, cells: u64, beta: Beta) -> Result<Vec<Candidate>> {
    Plans::new(target, scope)?.candidates(cells, beta)
}

/// What does not depend on the number of cells, for many of them.
#[derive(Debug, Clone)]
pub struct Plans {
    target: Target,
    moved: u32,
    noises: Vec<Noise>,
    /// For each ratio A/σ the least sinh-normal noise that meets an (ε, δ) target.
    frontier: Vec<SinhNormal>,
}

impl Plans {
    /// Calibrates what can be calibrated without knowing the number of cells.
    pub fn new(target: Target, scope: &Scope) -> Result<Self> {
        let moved = match scope {
            Scope::Presence => 1u32,
            Scope::Person => 2,
            other => return Err(Error::refused(format!("noise is compared for presence or person, not for {other}"))),
        };
        let (noises, frontier) = match target {
            Target::Approximate(epsilon, delta) => approximate(epsilon, delta, scope, moved)?,
            Target::Truncated(rho, _) => (concentrated(rho, moved)?, Vec::new()),
        };
        Ok(Self { target, moved, noises, frontier })
    }

    /// The candidates for so many cells, best maximum error first.
    pub fn candidates(&self, cells: u64, beta: Beta) -> Result<Vec<Candidate>> {
        if cells == 0 {
            return Err(Error::refused("a histogram needs at least one cell"));
        }
        let mut noises = self.noises.clone();
        noises.extend(self.sinh_normal(cells, beta)?.map(Noise::SinhNormal));
        let candidate = |noise: Noise| Candidate {
            maximum_error: noise.maximum(cells as f64, beta.get()),
            standard_deviation: noise.standard_deviation(),
            noise,
        };
        let mut candidates: Vec<Candidate> = noises.into_iter().map(candidate).collect();
        candidates.sort_by(|a, b| a.maximum_error.total_cmp(&b.maximum_error));
        Ok(candidates)
    }

    fn sinh_normal(&self, cells: u64, beta: Beta) -> Result<Option<SinhNormal>> {
        match self.target {
            Target::Approximate(..) => Ok(least_error(&self.frontier, beta.get() / cells as f64)),
            Target::Truncated(rho, omega) => {
                let best = Histogram::truncated_concentrated(rho, omega, self.moved, cells, beta)?;
                Ok(if let Noise::SinhNormal(noise) = best.noise() { Some(noise.clone()) } else { None })
            }
        }
    }
}

/// Gaussian and Laplace noise that is ρ-zCDP.
fn concentrated(rho: Rho, moved: u32) -> Result<Vec<Noise>> {
    if rho.get() == 0.0 {
        return Err(Error::refused("rho must be above 0 to calibrate noise"));
    }
    let per_cell = rho.get() / f64::from(moved);
    let gaussian = Sigma::new((0.5 / per_cell).sqrt().next_up())?;
    // Pure ε is ε·tanh(ε/2)-zCDP: the largest ε for ρ.
    let (mut low, mut high) = (0.0f64, per_cell + 2.0 * per_cell.sqrt() + 1.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle * (middle / 2.0).tanh() <= per_cell {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(vec![Noise::gaussian(gaussian), Noise::laplace(Scale::new((1.0 / low).next_up())?)])
}

fn approximate(epsilon: Epsilon, delta: Delta, scope: &Scope, moved: u32) -> Result<(Vec<Noise>, Vec<SinhNormal>)> {
    if epsilon.get() == 0.0 {
        return Err(Error::refused("epsilon must be above 0 to calibrate noise"));
    }
    let cells_moved = f64::from(moved);
    let pure = Scale::new((cells_moved / epsilon.get()).next_up())?;
    let mut noises = vec![Noise::laplace(pure)];
    if delta.get() == 0.0 {
        return Ok((noises, Vec::new()));
    }
    let calibrated = |kind: Kind| -> Result<Kind> {
        Ok(calibrate(&Event::new(kind, one_cell_per_owner()?), Free::Noise, scope, epsilon, delta)?.kind)
    };
    if let Kind::DiscreteGaussian { sigma } = calibrated(Kind::DiscreteGaussian { sigma: Sigma::new(1.0)? })? {
        noises.push(Noise::gaussian(sigma));
    }
    if let Some(bound) = truncation(pure.get(), delta.get() / cells_moved) {
        noises.push(Noise::truncated_laplace(pure, bound)?);
    }
    Ok((noises, frontier(epsilon, delta, moved)?))
}

/// The least bound whose outermost mass is at most δ.
fn truncation(scale: f64, delta: f64) -> Option<i64> {
    let guess = (scale * (1.0 / delta).ln()).ceil();
    if !guess.is_finite() || guess > 1e15 {
        return None;
    }
    let (mut fails, mut holds) = (-1i64, guess as i64 + 1);
    while holds - fails > 1 {
        let middle = fails + (holds - fails) / 2;
        if edge_mass_upper(scale, middle) <= delta {
            holds = middle;
        } else {
            fails = middle;
        }
    }
    Some(holds)
}

/// The sinh-normal noise with the least q with P\[|noise| > q\] ≤ `exceeded` among those that are (ε, δ) where `moved` cells
/// (1 or 2) move by 1: for each ratio A/σ of a grid the least σ, by the exact δ of the table.
///
/// # Guarantee
/// The returned noise meets (ε, δ): its δ is computed from its table.
pub fn best_sinh_normal(epsilon: Epsilon, delta: Delta, moved: u32, exceeded: f64) -> Result<Option<SinhNormal>> {
    if !(1..=2).contains(&moved) {
        return Err(Error::refused(format!("sinh-normal noise is calibrated for 1 or 2 moving cells, not {moved}")));
    }
    Ok(least_error(&frontier(epsilon, delta, moved)?, exceeded))
}

fn frontier(epsilon: Epsilon, delta: Delta, moved: u32) -> Result<Vec<SinhNormal>> {
    const RATIOS: [f64; 10] = [1.0, 1.25, 1.5, 1.8, 2.2, 2.7, 3.3, 4.0, 6.0, 10.0];
    let found: Vec<Option<SinhNormal>> =
        RATIOS.iter().map(|ratio| least_sigma(epsilon, delta, moved, *ratio)).collect::<Result<_>>()?;
    Ok(found.into_iter().flatten().collect())
}

/// By the continuous quantile: between integers, for a smooth comparison.
fn least_error(frontier: &[SinhNormal], exceeded: f64) -> Option<SinhNormal> {
    let z = normal_tail_quantile(exceeded / 2.0);
    let error = |noise: &SinhNormal| noise.a().get() * (noise.sigma().get() * z / noise.a().get()).asinh();
    frontier.iter().min_by(|a, b| error(a).total_cmp(&error(b))).cloned()
}

fn least_sigma(epsilon: Epsilon, delta: Delta, moved: u32, ratio: f64) -> Result<Option<SinhNormal>> {
    let make = |sigma: f64| SinhNormal::new(Sigma::new(sigma)?, Scale::new(ratio * sigma)?);
    let holds = |noise: &SinhNormal| -> Result<bool> {
        let certificate = noise.certificate(1)?;
        let spent = if moved == 1 {
            certificate.delta_upper(epsilon.get())
        } else {
            certificate.delta_of_two_upper(epsilon.get())
        };
        Ok(spent <= delta.get())
    };
    // From above: double until it holds, then bisect in ln σ.
    let (mut fails, mut sigma) = (0.3f64, 0.6f64);
    let mut found = make(sigma)?;
    while !holds(&found)? {
        fails = sigma;
        sigma *= 2.0;
        if sigma > 20_000.0 {
            return Ok(None);
        }
        found = make(sigma)?;
    }
    for _ in 0..14 {
        let middle = (fails * sigma).sqrt();
        let noise = make(middle)?;
        if holds(&noise)? {
            (sigma, found) = (middle, noise);
        } else {
            fails = middle;
        }
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Loss;

    #[test]
    fn every_candidate_meets_the_target_by_the_accountant() {
        let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
        for scope in [Scope::Presence, Scope::Person] {
            let plan =
                histogram_noise(Target::Approximate(epsilon, delta), &scope, 1_000_000, Beta::new(0.05).unwrap())
                    .unwrap();
            assert_eq!(plan.len(), 4);
            assert!(plan.is_sorted_by(|a, b| a.maximum_error <= b.maximum_error));
            for candidate in &plan {
                let event = Histogram::new(candidate.noise.clone()).event().unwrap();
                let spent = Loss::of(&[event], &scope).unwrap().delta(epsilon).unwrap();
                // Where the accountant has only a Rényi curve, its upper bound is not the whole truth: look at the lower one.
                let certified = if candidate.noise.name() == "sinh-normal" { spent.lower } else { spent.upper };
                assert!(certified <= delta.get() * (1.0 + 1e-6), "{}: {certified}", candidate.noise.name());
            }
        }
    }

    #[test]
    fn truncated_concentrated_candidates_meet_their_target() {
        let (rho, omega) = (Rho::new(0.02).unwrap(), Omega::new(7.0).unwrap());
        for (scope, moved) in [(Scope::Presence, 1.0), (Scope::Person, 2.0)] {
            let plan =
                histogram_noise(Target::Truncated(rho, omega), &scope, 1 << 20, Beta::new(1e-3).unwrap()).unwrap();
            assert_eq!(plan[0].noise.name(), "sinh-normal");
            for candidate in plan {
                match &candidate.noise {
                    Noise::SinhNormal(noise) => assert!(moved * noise.certificate(1).unwrap().slope_upper(7.0) <= 0.02),
                    Noise::Gaussian(sigma, _) => assert!(moved * 0.5 / sigma.get().powi(2) <= 0.02),
                    Noise::Laplace(scale, _) => {
                        let epsilon = 1.0 / scale.get();
                        assert!(moved * epsilon * (epsilon / 2.0).tanh() <= 0.02 * (1.0 + 1e-12));
                    }
                    other => panic!("{}", other.name()),
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let target = Target::Approximate(Epsilon::new(0.0).unwrap(), Delta::new(1e-6).unwrap());
        assert!(histogram_noise(target, &Scope::Presence, 10, Beta::new(0.1).unwrap()).is_err());
        let target = Target::Truncated(Rho::new(0.1).unwrap(), Omega::new(3.0).unwrap());
        assert!(histogram_noise(target, &Scope::Presence, 0, Beta::new(0.1).unwrap()).is_err());
        let pure = Target::Approximate(Epsilon::new(1.0).unwrap(), Delta::new(0.0).unwrap());
        assert_eq!(histogram_noise(pure, &Scope::Person, 10, Beta::new(0.1).unwrap()).unwrap().len(), 1);
    }
}
