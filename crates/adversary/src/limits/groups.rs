//! What a guarantee for one owner implies for groups of owners: tables that differ in many owners may be easier to
//! distinguish, but not arbitrarily so.

use super::singular::wrong_fraction_lower;
use scumble::error::Result;
use scumble::event::Event;
use scumble::loss::Loss;
use scumble::quantity::{Delta, Epsilon, Probability, Rho};

/// What is promised to one owner, in one scope.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum OwnerGuarantee {
    /// (ε, δ).
    Approximate {
        /// ε.
        epsilon: Epsilon,
        /// δ.
        delta: Delta,
    },
    /// ρ-zCDP.
    Concentrated(Rho),
}

/// Where the curve of zCDP is looked at.
const EPSILONS: [f64; 3] = [0.5, 1.0, 2.0];

impl OwnerGuarantee {
    /// Pairs (ε, δ) that hold for tables that differ in `owners` owners, each by itself; none where nothing is known.
    ///
    /// (ε, δ) becomes (mε, δ·(e^{mε} − 1)/(e^ε − 1)) (Vadhan 2017, Lemma 7.2.2, summed up), and ρ becomes m²ρ (Bun and
    /// Steinke 2016, Proposition 1.9). From m²ρ some pairs are taken, and (0, √(1 − e^{−ρ})) (Bretagnolle and Huber
    /// 1979: the divergence is at most ρ).
    ///
    /// ```
    /// use scumble_adversary::limits::groups::OwnerGuarantee;
    /// let one = OwnerGuarantee::Approximate { epsilon: 0.5.try_into()?, delta: 0.0.try_into()? };
    /// assert!((one.of_group(3)?[0].0.get() - 1.5).abs() < 1e-12);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn of_group(&self, owners: u64) -> Result<Vec<(Epsilon, Delta)>> {
        match self {
            Self::Approximate { epsilon, delta } => approximate(epsilon.get(), delta.get(), owners as f64),
            Self::Concentrated(rho) => concentrated(rho.get() * (owners as f64).powi(2) * (1.0 + 1e-15)),
        }
    }

    /// The part of fair coins, each the secret of `owners` owners together, that anybody guesses wrong given that
    /// answers which fail with probability β did not: the largest [`wrong_fraction_lower`] of all pairs.
    ///
    /// ```
    /// use scumble_adversary::limits::groups::OwnerGuarantee;
    /// let one = OwnerGuarantee::Approximate { epsilon: 1.0.try_into()?, delta: 0.0.try_into()? };
    /// let beta = 0.05.try_into()?;
    /// assert!(one.wrong_fraction_lower(1, beta)? > 0.23 && one.wrong_fraction_lower(3, beta)? == 0.0);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn wrong_fraction_lower(&self, owners: u64, beta: Probability) -> Result<f64> {
        let wrong = |(epsilon, delta)| wrong_fraction_lower(epsilon, delta, beta);
        self.of_group(owners)?.into_iter().map(wrong).try_fold(0.0, |most: f64, one| Ok(most.max(one?)))
    }
}

fn approximate(epsilon: f64, delta: f64, owners: f64) -> Result<Vec<(Epsilon, Delta)>> {
    let grown = owners * epsilon;
    let steps = if epsilon == 0.0 { owners } else { libm::expm1(grown) / libm::expm1(epsilon) };
    let slips = if delta == 0.0 { 0.0 } else { delta * steps * (1.0 + 1e-14) };
    // Beyond this nothing is promised.
    if !grown.is_finite() || slips.is_nan() || slips >= 1.0 {
        return Ok(Vec::new());
    }
    Ok(vec![(Epsilon::new(grown * (1.0 + if owners > 1.0 { 1e-15 } else { 0.0 }))?, Delta::new(slips)?)])
}

fn concentrated(rho: f64) -> Result<Vec<(Epsilon, Delta)>> {
    if !rho.is_finite() {
        return Ok(Vec::new());
    }
    let apart = (libm::sqrt(-libm::expm1(-rho)) * (1.0 + 1e-14)).min(1.0);
    let mut pairs = vec![(Epsilon::new(0.0)?, Delta::new(apart)?)];
    let curve = Loss::of([Event::zcdp(Rho::new(rho)?)], scumble::scope::Scope::Person)?;
    for epsilon in EPSILONS {
        let delta = curve.delta(Epsilon::new(epsilon)?).upper;
        pairs.push((Epsilon::new(epsilon)?, Delta::new(delta.min(1.0))?));
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use scumble::quantity::Sigma;

    /// Group privacy step by step: P ≤ e^ε·Q + δ, m times.
    #[test]
    fn slips_add_up_as_they_are_composed() {
        let guarantee =
            OwnerGuarantee::Approximate { epsilon: 0.3.try_into().unwrap(), delta: 0.001.try_into().unwrap() };
        let (mut factor, mut slips) = (1.0, 0.0);
        for owners in 1..=10u64 {
            slips = slips * 0.3f64.exp() + 0.001;
            factor *= 0.3f64.exp();
            let (epsilon, delta) = guarantee.of_group(owners).unwrap()[0];
            assert!((epsilon.get() - factor.ln()).abs() < 1e-12, "{owners}");
            assert!(delta.get() >= slips * (1.0 - 1e-14) && delta.get() < slips * (1.0 + 1e-9), "{owners}");
        }
        // Beyond δ = 1 nothing is left, and nothing is said.
        assert!(guarantee.of_group(100).unwrap().is_empty());
        assert_eq!(guarantee.wrong_fraction_lower(100, 0.0.try_into().unwrap()).unwrap(), 0.0);
    }

    /// Gaussian noise keeps ρ, and its exact curve is below every pair of every group.
    #[test]
    fn gaussian_noise_keeps_every_pair() {
        let guarantee = OwnerGuarantee::Concentrated(Rho::new(0.02).unwrap());
        for owners in [1u64, 3, 10, 30] {
            let pairs = guarantee.of_group(owners).unwrap();
            assert!(pairs.len() == 1 + EPSILONS.len());
            for (epsilon, delta) in pairs {
                // ρ = 1/(2σ²) for one owner, and a group of m moves m times as far.
                let noise = Event::gaussian(Sigma::new(5.0 / owners as f64).unwrap());
                let exact = Loss::of([noise], scumble::scope::Scope::Presence).unwrap().delta(epsilon);
                assert!(exact.lower <= delta.get(), "{owners} {epsilon}: {exact:?} {delta}");
            }
        }
    }
}
