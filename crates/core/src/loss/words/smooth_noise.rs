//! `smooth-noise`: noise on one answer whose scale follows the data, by levels.
//!
//! # What it costs, and why
//! Between neighbours the level differs by at most 1 and the answer by at most D = ⌊γ^min(l, l′)⌋ ([`Levels`]); so the
//! pair of output laws is that of scale s_l, moved by some d ≤ D, against that of scale s_{l′}.
//!
//! *The full shift D is the worst.* Each law is symmetric and falls away from its centre, so that {z : p(z − d) ≥ t}
//! and {z : c·q(z) ≥ t} are intervals around d and 0. Σ_z min(p(z − d), c·q(z)) is the integral over t of the number of
//! integers in both, which does not grow with |d|; and δ(ε) = 1 − Σ min(p, e^ε·q). Hence at every ε, in both orders, no
//! lesser shift has more δ.
//!
//! So one owner costs the worst of three pairs for each level: (s_l, s_l), (s_l, s_{l+1}) and (s_{l+1}, s_l), all moved
//! by ⌊γ^l⌋. The largest of their curves δ(ε), or of their Rényi curves, bounds every pair of neighbours. A file for
//! each family: [`cauchy4`] (pure), [`laplace`] (the curve δ(ε)), [`gaussian`] (the Rényi curve). A group of k owners
//! is a chain: kε, δ(ε/k)·(e^ε − 1)/(e^{ε/k} − 1), and Hölder's inequality.

use super::{no_rule, owners};
use crate::error::{Error, Result};
use crate::event::{NoiseFamily, Shift, SmoothNoise};
use crate::loss::filter::price::{
    GroupShift, Price, TruncatedBound, exact, rational_to_f64, rounded_up, rounded_up_f64,
};
use crate::loss::law::Law;
use crate::loss::shape::SharedShape;
use crate::noise::Levels;
use crate::quantity::Exact;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

mod cauchy4;
mod gaussian;
mod laplace;

/// The noise.
pub(super) struct SmoothNoiseLoss<'a>(pub(super) &'a SmoothNoise);

impl super::Accounting for SmoothNoiseLoss<'_> {
    fn law(&self, by: f64) -> Result<Law> {
        let owners = owners("smooth-noise", by)?;
        Ok(match self.0.family() {
            NoiseFamily::Cauchy4 => Law::Approximate { epsilon: owners * self.pure()?, delta: 0.0 },
            NoiseFamily::DiscreteLaplace => Law::Own(known(self.0, owners as u32, |levels, size| {
                SharedShape(Arc::new(laplace::SmoothLaplaceShape::new(*self.0, levels, size)))
            })?),
            NoiseFamily::DiscreteGaussian => Law::Own(known(self.0, owners as u32, |levels, size| {
                SharedShape(Arc::new(gaussian::SmoothGaussianShape::new(*self.0, levels, size)))
            })?),
        })
    }

    /// Whether a query has the worst pair is not known.
    fn covers(&self, _by: f64) -> bool {
        true
    }

    fn price(&self, shift: &Shift, members: u32) -> Result<Price> {
        let moved = GroupShift::owners(shift, members)?;
        match self.0.family() {
            NoiseFamily::Cauchy4 => Ok(Price::pure_cells(&moved.cells, &(exact(self.pure()?)? * &moved.by))),
            NoiseFamily::DiscreteLaplace => Err(no_rule("smooth-noise of the family discrete-laplace")),
            NoiseFamily::DiscreteGaussian => {
                let owners = owners("smooth-noise", rational_to_f64(&moved.by))?;
                let worst = gaussian::SmoothGaussianShape::new(*self.0, self.0.table()?, owners as u32);
                let (rho, omega) = worst.truncated();
                let rho = rounded_up_f64(rho * rational_to_f64(&moved.cells)).filter(|_| omega > 1.0);
                let rho = rho.ok_or_else(|| {
                    Error::refused(format!(
                        "smooth noise promises nothing to a group of {owners} owners: its gamma is too large"
                    ))
                })?;
                let omega = Some(Exact::from_rational(exact(omega)?));
                Ok(Price {
                    pure: None,
                    rho: None,
                    truncated: Some(TruncatedBound { rho: rounded_up(rho.rational()), omega }),
                    delta: Exact::zero(),
                })
            }
        }
    }
}

impl SmoothNoiseLoss<'_> {
    /// The pure ε of one owner.
    fn pure(&self) -> Result<f64> {
        if let Some(found) = KNOWN_PURE.with_borrow(|known| known.get(self.0).copied()) {
            return Ok(found);
        }
        let found = cauchy4::epsilon(&self.0.table()?);
        KNOWN_PURE.with_borrow_mut(|known| {
            if known.len() >= MOST_KNOWN {
                known.clear();
            }
            known.insert(*self.0, found)
        });
        Ok(found)
    }
}

/// δ(ε) of one owner, for noise of the family discrete-laplace.
pub(crate) fn delta_of_smooth_noise(noise: &SmoothNoise, epsilon: f64) -> Result<f64> {
    Ok(laplace::SmoothLaplaceShape::new(*noise, noise.table()?, 1).of_one(epsilon))
}

/// (ρ, ω) of one owner, for noise of the family discrete-gaussian, as a filter charges it.
pub(crate) fn truncated_of_smooth_noise(noise: &SmoothNoise) -> Result<(f64, f64)> {
    Ok(gaussian::SmoothGaussianShape::new(*noise, noise.table()?, 1).truncated())
}

/// (the noise's scale on one side, on the other, the shift), each pair of neighbouring levels, both orders.
fn pairs(levels: &Levels) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
    (0..=levels.last()).flat_map(|level| {
        let (scale, reach) = (levels.scale(level).get(), levels.reach(level) as f64);
        let next = (level < levels.last()).then(|| levels.scale(level + 1).get());
        let wider = next.into_iter().flat_map(move |next| [(scale, next, reach), (next, scale, reach)]);
        std::iter::once((scale, scale, reach)).chain(wider)
    })
}

fn known(noise: &SmoothNoise, owners: u32, make: impl Fn(Levels, u32) -> SharedShape) -> Result<SharedShape> {
    if let Some(found) = KNOWN_SHAPES.with_borrow(|known| known.get(&(*noise, owners)).cloned()) {
        return Ok(found);
    }
    let made = make(noise.table()?, owners);
    KNOWN_SHAPES.with_borrow_mut(|known| {
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert((*noise, owners), made.clone())
    });
    Ok(made)
}

/// What tells two laws apart.
fn identity(noise: &SmoothNoise, owners: u32) -> Vec<u64> {
    let (gamma, alpha) = (noise.gamma().parts(), noise.alpha().parts());
    let family = NoiseFamily::ALL.iter().position(|family| *family == noise.family()).unwrap_or(NoiseFamily::ALL.len());
    let parts = [gamma.0, gamma.1, alpha.0, alpha.1, noise.levels(), owners].map(u64::from);
    [&[family as u64], &parts[..]].concat()
}

// A ledger asks for the same noise in every scope, and a search for one after the other.
thread_local! {
    static KNOWN_PURE: RefCell<HashMap<SmoothNoise, f64>> = RefCell::new(HashMap::new());
    static KNOWN_SHAPES: RefCell<HashMap<(SmoothNoise, u32), SharedShape>> = RefCell::new(HashMap::new());
}

/// More are forgotten.
const MOST_KNOWN: usize = 256;

#[cfg(test)]
mod tests;
