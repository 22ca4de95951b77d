//! Which noise for a histogram: every kind calibrated to the same privacy, and the error that each would have.
//!
//! A plan touches no data. The comparison behind `scumble lab compare-noise` and `docs/explanation/noise.md`.

use super::additive::{Noise, edge_mass_upper};
use super::stability::{Contribution, StabilityHistogram};
use crate::calibrate::{
    FreeParameter, LeastErrorNoise, ShiftNorms, Target, calibrate, least_maximum_error, normal_tail_quantile,
    scale_for_pure, scale_for_zcdp, share_of, sigma_for_zcdp,
};
use crate::error::Result;
use crate::event::{Event, Moves, Shift, Word};
use crate::loss::Loss;
use crate::noise::SinhNormal;
use crate::quantity::{Beta, Delta, Epsilon, Omega, Probability, Rho, Scale, Sigma};
use crate::scope::Scope;
use std::borrow::Borrow;

/// One way to meet the target.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NoiseCandidate {
    /// The noise.
    pub noise: Noise,
    /// For a stability histogram, whose domain need not be known: the least noisy count that is published.
    pub threshold: Option<i64>,
    /// The most that any cell is off, except with probability β; a cell that is not published is off by its count.
    pub maximum_error: f64,
    /// The standard deviation of one published cell.
    pub standard_deviation: f64,
}

impl NoiseCandidate {
    /// The name in messages and tables: that of the noise, or `stability`.
    pub fn name(&self) -> &'static str {
        if self.threshold.is_some() { "stability" } else { self.noise.name() }
    }
}

/// Every kind of noise that can meet the target for a histogram of `cells` cells with each owner in one cell, and a
/// stability histogram where δ allows one; best maximum error first.
///
/// # Guarantee
/// Each candidate meets the target in `scope` (presence or person).
///
/// ```
/// use scumble::calibrate::Target;
/// use scumble::mechanism::plan::histogram_noise;
/// use scumble::quantity::{Beta, omega, rho};
/// use scumble::scope::Scope;
/// let target = Target::tcdp(rho(0.01)?, omega(10.0)?);
/// let plan = histogram_noise(target, &Scope::Presence, 1_000_000, Beta::new(1e-6)?)?;
/// assert_eq!(plan[0].noise.name(), "sinh-normal");
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn histogram_noise(
    target: Target,
    scope: impl Borrow<Scope>,
    cells: u64,
    beta: Beta,
) -> Result<Vec<NoiseCandidate>> {
    NoisePlanner::within(target, scope, 1)?.candidates(cells, cells, beta)
}

/// What does not depend on the number of cells, for many of them.
#[derive(Debug, Clone)]
pub struct NoisePlanner {
    target: Target,
    moved: u32,
    noises: Vec<Noise>,
    /// For each ratio A/σ the least sinh-normal noise that meets an (ε, δ) target.
    frontier: Vec<SinhNormal>,
    stability: Option<StabilityHistogram>,
}

impl NoisePlanner {
    /// Calibrates what can be calibrated without knowing the number of cells, for `releases` histograms that meet the
    /// target together.
    pub fn within(target: Target, scope: impl Borrow<Scope>, releases: u64) -> Result<Self> {
        let scope = scope.borrow();
        refuse_if!(!(1..=1_000_000).contains(&releases), "the number of releases must be 1 to 1000000, not {releases}");
        let moved = match scope {
            Scope::Presence => 1u32,
            Scope::Person => 2,
            other => refuse!("noise is compared for presence or person, not for {other}"),
        };
        let approximate = |epsilon: Epsilon, delta: Delta| -> Result<_> {
            let calibration = Calibration { epsilon, delta, scope, moved, releases };
            let (noises, frontier) = calibration.noises()?;
            Ok((noises, frontier, calibration.stability()?))
        };
        let (target, (noises, frontier, stability)) = match target {
            Target::Pure(epsilon) => (target, approximate(epsilon, Delta::new(0.0)?)?),
            Target::Approximate(epsilon, delta) => (target, approximate(epsilon, delta)?),
            Target::Concentrated(rho) => {
                let one = one_of(rho, releases)?;
                (Target::Concentrated(one), (concentrated(one, moved)?, Vec::new(), None))
            }
            Target::Truncated(rho, omega) => {
                let one = one_of(rho, releases)?;
                (Target::Truncated(one, omega), (concentrated(one, moved)?, Vec::new(), None))
            }
        };
        Ok(Self { target, moved, noises, frontier, stability })
    }

    /// The candidates for this many cells, where at most `occupied` hold anybody; best maximum error first.
    ///
    /// A stability histogram leaves empty cells at 0 and publishes no count below its threshold: an occupied cell is
    /// off by its noise, or by a count that the noise kept below the threshold.
    pub fn candidates(&self, cells: u64, occupied: u64, beta: Beta) -> Result<Vec<NoiseCandidate>> {
        if cells == 0 || !(1..=cells).contains(&occupied) {
            refuse!("a histogram needs at least one cell, and 1 to all of them occupied, not {occupied} of {cells}");
        }
        let mut noises = self.noises.clone();
        noises.extend(self.sinh_normal(cells, beta)?.map(Noise::SinhNormal));
        let candidate = |noise: Noise| NoiseCandidate {
            maximum_error: noise.maximum(cells as f64, beta),
            standard_deviation: noise.standard_deviation(),
            noise,
            threshold: None,
        };
        let mut candidates: Vec<NoiseCandidate> = noises.into_iter().map(candidate).collect();
        candidates.extend(self.stability.as_ref().map(|stability| {
            let off = stability.noise().maximum(occupied as f64, beta);
            NoiseCandidate {
                maximum_error: off + (stability.threshold() - 1) as f64,
                standard_deviation: stability.noise().standard_deviation(),
                noise: stability.noise().clone(),
                threshold: Some(stability.threshold()),
            }
        }));
        candidates.sort_by(|a, b| a.maximum_error.total_cmp(&b.maximum_error));
        Ok(candidates)
    }

    fn sinh_normal(&self, cells: u64, beta: Beta) -> Result<Option<SinhNormal>> {
        match self.target {
            Target::Pure(_) | Target::Approximate(..) => Ok(least_error(&self.frontier, beta.get() / cells as f64)),
            Target::Concentrated(_) => Ok(None),
            Target::Truncated(rho, omega) => {
                let best = least_maximum_noise((rho, omega), self.moved, cells, beta)?;
                Ok(if let Noise::SinhNormal(noise) = best { Some(noise) } else { None })
            }
        }
    }
}

/// ρ adds up: the share of one of several releases.
fn one_of(rho: Rho, releases: u64) -> Result<Rho> {
    Rho::new(share_of(&rho.into(), releases as usize)?.to_f64_down())
}

/// Gaussian and Laplace noise that is ρ-zCDP.
fn concentrated(rho: Rho, moved: u32) -> Result<Vec<Noise>> {
    let gaussian = sigma_for_zcdp(rho, ShiftNorms::units(moved.into()))?;
    Ok(vec![Noise::gaussian(gaussian), Noise::laplace(scale_for_zcdp(rho, moved)?)])
}

/// An (ε, δ) target for this many histograms together.
struct Calibration<'a> {
    epsilon: Epsilon,
    delta: Delta,
    scope: &'a Scope,
    moved: u32,
    releases: u64,
}

impl Calibration<'_> {
    fn noises(&self) -> Result<(Vec<Noise>, Vec<SinhNormal>)> {
        let runs = f64::from(self.moved) * self.releases as f64;
        let pure = self.pure_scale()?;
        if self.delta.get() == 0.0 {
            return Ok((vec![Noise::laplace(pure)], Vec::new()));
        }
        let mut noises = Vec::new();
        if self.releases == 1 {
            noises.push(Noise::laplace(pure));
        } else if let Word::DiscreteLaplace { scale } = self.calibrated(Word::DiscreteLaplace { scale: pure })? {
            noises.push(Noise::laplace(scale));
        }
        let mut gaussian = 1.0;
        if let Word::DiscreteGaussian { sigma } = self.calibrated(Word::DiscreteGaussian { sigma: Sigma::new(1.0)? })? {
            gaussian = sigma.get();
            noises.push(Noise::gaussian(sigma));
        }
        noises.extend(self.truncated_laplace(pure, runs)?);
        Ok((noises, self.frontier(gaussian)?))
    }

    /// Laplace noise and a threshold. One release: ε for the noise, δ for the keys that only one neighbour has.
    /// Several: half of δ for the keys of all releases together, the other half for the noise.
    fn stability(&self) -> Result<Option<StabilityHistogram>> {
        if self.delta.get() <= 0.0 || self.delta.get() >= 1.0 {
            return Ok(None);
        }
        let mut scale = self.pure_scale()?;
        let mut keys = self.delta;
        if self.releases > 1 {
            keys = Delta::new(self.delta.get() / (2.0 * self.releases as f64))?;
            let half = Self { delta: Delta::new(self.delta.get() / 2.0)?, ..*self };
            if let Word::DiscreteLaplace { scale: found } = half.calibrated(Word::DiscreteLaplace { scale })? {
                scale = found;
            }
        }
        Ok(Some(StabilityHistogram::new(Noise::laplace(scale), Contribution::one(), keys)?))
    }

    fn pure_scale(&self) -> Result<Scale> {
        scale_for_pure(self.epsilon, ShiftNorms::units(u64::from(self.moved) * self.releases))
    }

    fn event(&self, word: Word) -> Result<Event> {
        Event::new(word, one_cell_per_owner()?).repeated(self.releases)
    }

    fn calibrated(&self, word: Word) -> Result<Word> {
        Ok(calibrate(&self.event(word)?, FreeParameter::Noise, self.scope, self.epsilon, self.delta)?.word().clone())
    }

    /// One release: scale and bound directly. Several: half of δ for the edges, the largest ε per move for the rest.
    fn truncated_laplace(&self, pure: Scale, runs: f64) -> Result<Option<Noise>> {
        let (scale, edge) = if self.releases == 1 {
            (pure, self.delta.get() / runs)
        } else {
            let edge = self.delta.get() / (2.0 * runs);
            let one = Word::Approximate { epsilon: self.epsilon, delta: Delta::new(edge)? };
            let Word::Approximate { epsilon, .. } = self.calibrated(one)? else { return Ok(None) };
            (scale_for_pure(epsilon, ShiftNorms::units(1))?, edge)
        };
        truncation(scale.get(), edge).map(|bound| Noise::truncated_laplace(scale, bound)).transpose()
    }

    /// For each ratio A/σ of a grid the least σ that meets the target.
    fn frontier(&self, gaussian: f64) -> Result<Vec<SinhNormal>> {
        const RATIOS: [f64; 9] = [1.0, 1.25, 1.5, 1.8, 2.2, 2.7, 3.5, 5.0, 10.0];
        let found: Vec<Option<SinhNormal>> =
            RATIOS.iter().map(|ratio| self.least_sigma(*ratio, gaussian)).collect::<Result<_>>()?;
        Ok(found.into_iter().flatten().collect())
    }

    fn least_sigma(&self, ratio: f64, gaussian: f64) -> Result<Option<SinhNormal>> {
        let make = |sigma: f64| SinhNormal::new(Sigma::new(sigma)?, Scale::new(ratio * sigma)?);
        // No sinh-normal noise gets by with less than the Gaussian's σ: from there up until it holds, then bisect in ln
        // σ.
        let (mut fails, mut sigma) = (0.9 * gaussian.max(0.4), 1.1 * gaussian.max(0.4));
        let mut found = make(sigma)?;
        while !self.holds(&found)? {
            fails = sigma;
            sigma *= 1.5;
            if sigma > LARGEST_SIGMA.min(8.0 * gaussian) {
                return Ok(None);
            }
            found = make(sigma)?;
        }
        for _ in 0..10 {
            let middle = (fails * sigma).sqrt();
            let noise = make(middle)?;
            if self.holds(&noise)? {
                (sigma, found) = (middle, noise);
            } else {
                fails = middle;
            }
        }
        Ok(Some(found))
    }

    /// One release: the exact δ of the table. Several: the accountant.
    fn holds(&self, noise: &SinhNormal) -> Result<bool> {
        let spent = match (self.releases, self.moved) {
            (1, 1) => noise.certificate(1)?.delta_upper(self.epsilon).get(),
            (1, 2) => noise.certificate(1)?.delta_of_two_upper(self.epsilon).get(),
            _ => {
                let event = self.event(Word::SinhNormal { sigma: noise.sigma(), a: noise.a() })?;
                Loss::of(&[event], self.scope)?.delta(self.epsilon).upper
            }
        };
        Ok(spent <= self.delta.get())
    }
}

/// Beyond this a search would spend its time on making tables.
const LARGEST_SIGMA: f64 = 20_000.0;

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

/// By the continuous quantile: between integers, for a smooth comparison.
fn least_error(frontier: &[SinhNormal], exceeded: f64) -> Option<SinhNormal> {
    let z = normal_tail_quantile(exceeded / 2.0);
    let error = |noise: &SinhNormal| noise.a().get() * (noise.sigma().get() * z / noise.a().get()).asinh();
    frontier.iter().min_by(|a, b| error(a).total_cmp(&error(b))).cloned()
}

/// The noise with the least maximum error over `cells` cells that is (ρ, ω)-tCDP where `moved` of them move by one.
pub(super) fn least_maximum_noise((rho, omega): (Rho, Omega), moved: u32, cells: u64, beta: Beta) -> Result<Noise> {
    refuse_if!(moved == 0 || cells == 0, "a histogram needs at least one cell, and a neighbour must move at least one");
    let per_cell = Rho::new(share_of(&rho.into(), moved as usize)?.to_f64_down())?;
    let exceeded = Probability::new(beta.get() / cells as f64)?;
    Ok(match least_maximum_error(per_cell, omega, 1, exceeded)? {
        LeastErrorNoise::SinhNormal(noise) => Noise::SinhNormal(noise),
        LeastErrorNoise::DiscreteGaussian(sigma) => Noise::gaussian(sigma),
    })
}

/// Each owner in one cell: one moves by 1 under presence, two under person.
pub fn one_cell_per_owner() -> Result<Moves> {
    Ok(Moves::by_scope(vec![Shift::one_cell(1.0)?], vec![Shift::new(2, 1.0)?], Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::histogram::Histogram;
    use crate::quantity::Omega;

    #[test]
    fn every_candidate_meets_the_target_by_the_accountant() {
        let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
        for scope in [Scope::Presence, Scope::Person] {
            let plan =
                histogram_noise(Target::Approximate(epsilon, delta), &scope, 1_000_000, Beta::new(0.05).unwrap())
                    .unwrap();
            assert_eq!(plan.len(), 5);
            assert!(plan.is_sorted_by(|a, b| a.maximum_error <= b.maximum_error));
            for candidate in &plan {
                let mut events = vec![Histogram::new(candidate.noise.clone()).events().unwrap().remove(0)];
                if let Some(threshold) = candidate.threshold {
                    let stability =
                        StabilityHistogram::new(candidate.noise.clone(), Contribution::one(), delta).unwrap();
                    assert_eq!(stability.threshold(), threshold);
                    events = stability.events().unwrap();
                }
                let spent = Loss::of(&events, &scope).unwrap().delta(epsilon);
                // Where the accountant has only a Rényi curve, its upper bound is not the whole truth: look at the
                // lower one.
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
                    Noise::SinhNormal(noise) => {
                        assert!(
                            moved * noise.certificate(1).unwrap().slope_upper(Omega::new(7.0).unwrap()).get() <= 0.02
                        )
                    }
                    Noise::Gaussian(noise) => assert!(moved * 0.5 / noise.sigma().get().powi(2) <= 0.02),
                    Noise::Laplace(noise) => {
                        let epsilon = 1.0 / noise.scale().get();
                        assert!(moved * epsilon * (epsilon / 2.0).tanh() <= 0.02 * (1.0 + 1e-12));
                    }
                    other => panic!("{}", other.name()),
                }
            }
        }
    }

    #[test]
    fn a_stability_histogram_of_several_releases_meets_the_target_and_its_error() {
        let (epsilon, delta, beta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap(), Beta::new(1e-3).unwrap());
        let plans = NoisePlanner::within(Target::Approximate(epsilon, delta), Scope::Person, 5).unwrap();
        let all = plans.candidates(1 << 40, 100, beta).unwrap();
        let found = all.iter().find(|candidate| candidate.name() == "stability").unwrap();
        let keys = Delta::new(1e-6 / 10.0).unwrap();
        let histogram = StabilityHistogram::new(found.noise.clone(), Contribution::one(), keys).unwrap();
        assert_eq!(Some(histogram.threshold()), found.threshold);
        let five: Vec<Event> =
            histogram.events().unwrap().into_iter().map(|event| event.repeated(5).unwrap()).collect();
        let spent = Loss::of(&five, &Scope::Person).unwrap().delta(epsilon);
        assert!(spent.upper <= 1e-6 * (1.0 + 1e-9), "{spent:?}");
        // A hundred keys of every size, thrice: off by no more than planned (false alarm below 1e-2 by plan; the seed
        // is fixed).
        let counts: Vec<(u64, i64)> = (1..=100).map(|key| (key, 5 * key as i64)).collect();
        let mut bits = crate::noise::InsecureSeededSource::new(5);
        for _ in 0..3 {
            let published: std::collections::BTreeMap<u64, i64> =
                histogram.release(&counts, &mut bits).into_iter().collect();
            for (key, count) in &counts {
                let off = (published.get(key).copied().unwrap_or(0) - count).abs() as f64;
                assert!(off <= found.maximum_error, "{off} {}", found.maximum_error);
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
