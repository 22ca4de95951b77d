//! Fixed-point arithmetic on big integers: enough to make a table of weights that is the same on every machine.

use num_bigint::{BigInt, BigUint, Sign};
use num_rational::BigRational;
use num_traits::{One, Zero};

/// Non-negative numbers as integer multiples of 2^{−bits}, rounded down.
pub(crate) struct FixedPoint {
    pub(crate) bits: u64,
}

impl FixedPoint {
    pub(crate) fn new(bits: u64) -> Self {
        Self { bits }
    }

    pub(crate) fn one(&self) -> BigUint {
        BigUint::one() << self.bits
    }

    pub(crate) fn of(&self, value: &BigRational) -> BigUint {
        let scaled: BigInt = (value.numer() << self.bits) / value.denom();
        match scaled.into_parts() {
            (Sign::Minus, _) => BigUint::zero(),
            (_, magnitude) => magnitude,
        }
    }

    pub(crate) fn times(&self, first: &BigUint, second: &BigUint) -> BigUint {
        (first * second) >> self.bits
    }
}

/// How often the argument is halved beyond what brings it below 1.
const HALVINGS: u64 = 12;

/// e^{−x}: the Taylor series of a halved argument, squared back.
pub(crate) fn exp_minus(arithmetic: &FixedPoint, x: &BigUint) -> BigUint {
    exp(arithmetic, x, ExponentSign::Minus)
}

/// e^{x} for small x.
pub(crate) fn exp_plus(arithmetic: &FixedPoint, x: &BigUint) -> BigUint {
    exp(arithmetic, x, ExponentSign::Plus)
}

#[derive(Clone, Copy, PartialEq)]
enum ExponentSign {
    Plus,
    Minus,
}

fn exp(arithmetic: &FixedPoint, x: &BigUint, direction: ExponentSign) -> BigUint {
    let halvings = x.bits().saturating_sub(arithmetic.bits) + HALVINGS;
    let halved = x >> halvings;
    let (mut even, mut odd) = (arithmetic.one(), BigUint::zero());
    let mut term = arithmetic.one();
    for n in 1u32.. {
        term = arithmetic.times(&term, &halved) / n;
        if term.is_zero() {
            break;
        }
        if n % 2 == 0 {
            even += &term;
        } else {
            odd += &term;
        }
    }
    let mut result = if direction == ExponentSign::Plus { even + odd } else { even - odd };
    for _ in 0..halvings {
        result = arithmetic.times(&result, &result);
    }
    result
}
