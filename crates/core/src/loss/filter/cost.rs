//! What one event costs, in the numbers that a filter may add up: exact rationals wherever the cost is rational.

use crate::error::{Error, Result};
use crate::event::{Kind, Shift};
use crate::mechanism::heavy_hitters::{path_epsilon, path_rho};
use crate::quantity::Exact;
use num_bigint::BigInt;
use num_rational::BigRational;

/// The cost of one event in the numbers of the rule.
pub(super) struct Cost {
    pub(super) pure: Option<Exact>,
    pub(super) rho: Option<Exact>,
    /// ρ up to the order ω, where ρ does not hold for all orders.
    pub(super) truncated: Option<Truncated>,
    pub(super) delta: Exact,
}

/// D_α ≤ ρα for α < ω.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Truncated {
    pub(super) rho: Exact,
    /// None is infinity: zCDP.
    pub(super) omega: Option<Exact>,
}

/// The cost of one event when `members` owners make the given move at once.
pub(super) fn cost(kind: &Kind, shift: &Shift, members: u32) -> Result<Cost> {
    // k owners can move the same cells k times as far; that is the worst for every kind below.
    // Where neither noise is added to a number nor a score moves, a move stands for that many owners, rounded up (docs/events.md).
    let is_linear = kind.is_additive() || matches!(kind, Kind::Exponential { .. });
    let one = if is_linear { shift.by.get() } else { shift.by.get().ceil() };
    let by = exact(one)? * integer(u64::from(members));
    let cells = integer(shift.cells);
    let all = &cells * &by;
    let pure = |epsilon: BigRational, rho: f64| Cost {
        pure: Some(rounded_up(&epsilon)),
        rho: rounded_up_f64(rho),
        truncated: None,
        delta: Exact::zero(),
    };
    let concentrated =
        |rho: BigRational| Cost { pure: None, rho: Some(rounded_up(&rho)), truncated: None, delta: Exact::zero() };
    let two = integer(2);
    Ok(match kind {
        Kind::Laplace { scale } | Kind::DiscreteLaplace { scale } => {
            let each = &by / exact(scale.get())?;
            let rho = rational_to_f64(&cells) * pure_to_rho(rational_to_f64(&each));
            pure(&cells * &each, rho)
        }
        Kind::Gaussian { sigma } | Kind::DiscreteGaussian { sigma } => {
            let sigma = exact(sigma.get())?;
            concentrated(&cells * &by * &by / (&two * &sigma * &sigma))
        }
        Kind::RandomizedResponse { epsilon, .. } | Kind::Pure { epsilon } => {
            let each = exact(epsilon.get())? * &by;
            let rho = rational_to_f64(&cells) * pure_to_rho(rational_to_f64(&each));
            pure(&cells * &each, rho)
        }
        Kind::Exponential { epsilon } => {
            let each = exact(epsilon.get())? * &by;
            // Bounded range η is η²/8-zCDP [Cesar–Rogers 2021]; each cell is a mechanism of its own.
            let rho = Some(rounded_up(&(&cells * &each * &each / integer(8))));
            Cost { pure: Some(rounded_up(&(cells * each))), rho, truncated: None, delta: Exact::zero() }
        }
        Kind::HeavyHitters { scale, clip, rise, levels } => {
            let one = path_rho(*scale, *clip, *rise, *levels)?;
            let owners = rational_to_f64(&all);
            let epsilon = exact(path_epsilon(*scale, *clip, *rise, *levels))?;
            pure(epsilon * all, one * owners * owners * (1.0 + 1e-15))
        }
        Kind::Zcdp { rho } => concentrated(exact(rho.get())? * &cells * &by * &by),
        Kind::Tcdp { rho, omega } => {
            // k owners: (k²ρ, ω/k), for ω/k > 1 (BDRS18, Prop. 10).
            let omega = exact(omega.get())? / &by;
            if omega <= integer(1) {
                return Err(Error::refused(format!(
                    "a tcdp event promises nothing to a group of {} owners: its omega is too small",
                    rational_to_f64(&by)
                )));
            }
            let rho = exact(rho.get())? * &cells * &by * &by;
            let truncated = Truncated { rho: rounded_up(&rho), omega: Some(Exact::from_rational(omega)) };
            Cost { pure: None, rho: None, truncated: Some(truncated), delta: Exact::zero() }
        }
        Kind::Approximate { epsilon, delta } => approximate(epsilon.get(), delta.get(), &all)?,
        Kind::SinhNormal { .. } | Kind::Pair { .. } => {
            return Err(Error::refused(format!(
                "a filter has no rule for a {} event: account for it as pure, zcdp, tcdp or approximate",
                kind.name()
            )));
        }
    })
}

/// (ε, δ) for k owners: kε and δ·(e^{kε} − 1)/(e^ε − 1), which is kδ at ε = 0.
fn approximate(epsilon: f64, delta: f64, owners: &BigRational) -> Result<Cost> {
    let total = exact(epsilon)? * owners;
    let number = rational_to_f64(owners);
    let growth = if epsilon == 0.0 { number } else { (number * epsilon).exp_m1() / epsilon.exp_m1() * (1.0 + 1e-12) };
    // A δ of 1 says nothing more, however many owners there are (nor if both growths are beyond f64: the lesser of NaN and 1 is 1).
    let grown = if delta == 0.0 { 0.0 } else { (delta * growth).min(1.0) };
    let delta = if number == 1.0 { exact(delta)? } else { exact(grown)? };
    let rho = pure_to_rho(rational_to_f64(&total));
    let rho = rounded_up_f64(rho);
    Ok(Cost { pure: Some(rounded_up(&total)), rho, truncated: None, delta: rounded_up(&delta) })
}

/// ε-pure is ε·tanh(ε/2)-zCDP, tight for randomized response.
fn pure_to_rho(epsilon: f64) -> f64 {
    epsilon * (epsilon / 2.0).tanh()
}

fn exact(value: f64) -> Result<BigRational> {
    Ok(Exact::from_f64(value)?.rational().clone())
}

fn integer(value: u64) -> BigRational {
    BigRational::from_integer(BigInt::from(value))
}

fn rational_to_f64(value: &BigRational) -> f64 {
    num_traits::ToPrimitive::to_f64(value).unwrap_or(f64::INFINITY)
}

pub(super) fn repeated(number: &Exact, times: u64) -> Exact {
    Exact::from_rational(number.rational() * integer(times))
}

pub(super) fn rounded_up_f64(value: f64) -> Option<Exact> {
    if !value.is_finite() {
        return None;
    }
    // tanh and exp are good to an ulp or two; the slack is a thousand times that.
    BigRational::from_float(value * (1.0 + 1e-12)).map(|rational| rounded_up(&rational))
}

/// The least multiple of 10⁻³⁰ that is not below.
fn rounded_up(value: &BigRational) -> Exact {
    Exact::from_rational(value.clone()).up_to_grid()
}
