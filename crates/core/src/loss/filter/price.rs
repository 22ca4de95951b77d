//! What one event costs, in the numbers that a filter may add up: exact rationals wherever the cost is rational.

use crate::error::Result;
use crate::event::Shift;
use crate::quantity::Exact;
use num_bigint::BigInt;
use num_rational::BigRational;

/// The cost of one event in the numbers of the rule.
pub(crate) struct Price {
    pub(crate) pure: Option<Exact>,
    pub(crate) rho: Option<Exact>,
    /// ρ up to the order ω, where ρ does not hold for all orders.
    pub(crate) truncated: Option<TruncatedBound>,
    pub(crate) delta: Exact,
}

/// D_α ≤ ρα for α < ω.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TruncatedBound {
    pub(crate) rho: Exact,
    /// None is infinity: zCDP.
    pub(crate) omega: Option<Exact>,
}

impl Price {
    /// Pure ε, with a ρ of its own.
    pub(crate) fn pure(epsilon: &BigRational, rho: Option<Exact>) -> Self {
        Self { pure: Some(rounded_up(epsilon)), rho, truncated: None, delta: Exact::zero() }
    }

    /// This many independent cells, each ε-private: ε·tanh(ε/2)-zCDP each.
    pub(crate) fn pure_cells(cells: &BigRational, each: &BigRational) -> Self {
        let rho = rational_to_f64(cells) * pure_to_rho(rational_to_f64(each));
        Self::pure(&(cells * each), rounded_up_f64(rho))
    }

    /// ρ-zCDP.
    pub(crate) fn concentrated(rho: &BigRational) -> Self {
        Self { pure: None, rho: Some(rounded_up(rho)), truncated: None, delta: Exact::zero() }
    }
}

/// How far this many owners move a cell together, and how many cells. k owners can move the same cells k times as far;
/// that is the worst for every word.
pub(crate) struct GroupShift {
    pub(crate) cells: BigRational,
    pub(crate) by: BigRational,
}

impl GroupShift {
    /// Where noise is added to a number, or a score moves.
    pub(crate) fn far(shift: &Shift, members: u32) -> Result<Self> {
        Ok(Self { cells: integer(shift.cells), by: exact(shift.by.get())? * integer(u64::from(members)) })
    }

    /// Where a move stands for that many owners, rounded up (docs/reference/events.md).
    pub(crate) fn owners(shift: &Shift, members: u32) -> Result<Self> {
        Ok(Self { cells: integer(shift.cells), by: exact(shift.by.get().ceil())? * integer(u64::from(members)) })
    }

    /// Over all cells.
    pub(crate) fn in_all(&self) -> BigRational {
        &self.cells * &self.by
    }
}

/// ε-pure is ε·tanh(ε/2)-zCDP, tight for randomized response.
pub(crate) fn pure_to_rho(epsilon: f64) -> f64 {
    epsilon * (epsilon / 2.0).tanh()
}

pub(crate) fn exact(value: f64) -> Result<BigRational> {
    Ok(Exact::from_f64(value)?.rational().clone())
}

pub(crate) fn integer(value: u64) -> BigRational {
    BigRational::from_integer(BigInt::from(value))
}

pub(crate) fn rational_to_f64(value: &BigRational) -> f64 {
    num_traits::ToPrimitive::to_f64(value).unwrap_or(f64::INFINITY)
}

pub(super) fn repeated(number: &Exact, times: u64) -> Exact {
    Exact::from_rational(number.rational() * integer(times))
}

pub(crate) fn rounded_up_f64(value: f64) -> Option<Exact> {
    if !value.is_finite() {
        return None;
    }
    // tanh and exp are good to an ulp or two; the slack is a thousand times that.
    BigRational::from_float(value * (1.0 + 1e-12)).map(|rational| rounded_up(&rational))
}

/// The least multiple of 10⁻³⁰ that is not below.
pub(crate) fn rounded_up(value: &BigRational) -> Exact {
    Exact::from_rational(value.clone()).up_to_grid()
}
