//! Polynomials that are 0 at 0 and nearly 1 at 1, …, t: "at least one of t" by sums over few of them.
//!
//! Everything is a fraction of whole numbers until the end: coefficients in the binomial basis are differences, and of
//! rounded values nothing of them would be left.

use super::super::parities::binomial;
use crate::error::Result;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// g with g(0) = 0 and |g(i) − 1| ≤ bias for i = 1, …, width.
///
/// ```
/// use scumble::workload::conjunctions::Polynomial;
/// let near = Polynomial::chebyshev(4, 0.1)?;
/// assert_eq!((near.degree(), near.newton()[1].to_string()), (3, "338/365".to_string()));
/// assert!((near.bias() - 0.07397260273972603).abs() < 1e-15);
/// // The best one of that degree, for which only whole numbers count.
/// assert!((Polynomial::minimax(4, 3)?.bias() - 1.0 / 15.0).abs() < 1e-15);
/// // So near that it is exact: inclusion and exclusion.
/// assert!(Polynomial::chebyshev(4, 1e-9)?.is_exact());
/// assert!(Polynomial::chebyshev(4, 1.0).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Polynomial {
    width: usize,
    /// b_r = Δʳg(0): then g(k) = Σ b_r·C(k, r).
    newton: Vec<BigRational>,
    bias: f64,
}

/// Wider ones would be sums of more terms than anybody looks up.
pub const MOST_WIDTH: usize = 64;

impl Polynomial {
    /// Inclusion and exclusion: g(k) = 1 for all k ≥ 1.
    pub fn exact(width: usize) -> Result<Self> {
        check(width)?;
        Self::through(width, width, |k| BigRational::from_integer(u8::from(k > 0).into()))
    }

    /// The Chebyshev polynomial of the least degree whose bias is at most this, in (0, 1):
    /// s = ⌈arcosh(1/η)/arcosh((t + 1)/(t − 1))⌉; the exact one where s would be the width.
    pub fn chebyshev(width: usize, bias: f64) -> Result<Self> {
        check(width)?;
        refuse_if!(!(bias > 0.0 && bias < 1.0), "the bias must lie strictly between 0 and 1, and is {bias}");
        for degree in 1..width {
            let found = Self::chebyshev_of(width, degree)?;
            if found.bias <= bias {
                return Ok(found);
            }
        }
        Self::exact(width)
    }

    /// The Chebyshev polynomial of this degree: g(k) = 1 − T_s(r(k))/T_s(r(0)), r(z) = (2z − t − 1)/(t − 1); the exact
    /// one if the degree is the width.
    pub fn chebyshev_of(width: usize, degree: usize) -> Result<Self> {
        check_degree(width, degree)?;
        if degree == width {
            return Self::exact(width);
        }
        let whole = |value: i64| BigRational::from_integer(value.into());
        let t = width as i64;
        let at = |k: usize| first_kind(degree, &(whole(2 * k as i64 - t - 1) / whole(t - 1)));
        let end = at(0);
        Self::through(width, degree, |k| BigRational::one() - at(k) / &end)
    }

    /// The polynomial of this degree with the least bias.
    ///
    /// The linear programme min max_k |1 − g(k)| has a vertex where 1 − g alternates in sign on degree + 1 of the
    /// points, at the same distance: the points are exchanged (the simplex method for its dual) until no other point is
    /// further away, in fractions, so that it ends at the best.
    pub fn minimax(width: usize, degree: usize) -> Result<Self> {
        check_degree(width, degree)?;
        if degree == width {
            return Self::exact(width);
        }
        let mut points = starting_points(width, degree);
        loop {
            let (rest, level) = alternating(&points);
            let far = |k: usize| rest.at(k).abs();
            let worst = (1..=width).max_by(|left, right| far(*left).cmp(&far(*right)).then(right.cmp(left)));
            let worst = worst.unwrap_or(1);
            if far(worst) <= level {
                return Self::through(width, degree, |k| BigRational::one() - rest.at(k));
            }
            exchange(&mut points, worst, &rest);
        }
    }

    /// The polynomial of this degree through these values at 0, …, degree.
    fn through(width: usize, degree: usize, value: impl Fn(usize) -> BigRational) -> Result<Self> {
        let mut values: Vec<BigRational> = (0..=degree).map(&value).collect();
        let mut newton = Vec::with_capacity(degree + 1);
        while let Some(first) = values.first().cloned() {
            newton.push(first);
            values = values.windows(2).map(|pair| &pair[1] - &pair[0]).collect();
        }
        let mut found = Self { width, newton, bias: 0.0 };
        let off = |k: usize| (found.exactly(k) - BigRational::one()).abs();
        let worst = (1..=width).map(off).max().unwrap_or_else(BigRational::zero);
        // Rounded up: it is a promise.
        found.bias = if worst.is_zero() { 0.0 } else { worst.to_f64().unwrap_or(1.0) * (1.0 + f64::EPSILON) };
        Ok(found)
    }

    fn exactly(&self, k: usize) -> BigRational {
        let term = |(r, b): (usize, &BigRational)| b * BigRational::from_integer(binomial(k, r).into());
        self.newton.iter().enumerate().map(term).fold(BigRational::zero(), |sum, term| sum + term)
    }

    /// For how many literals it is.
    pub fn width(&self) -> usize {
        self.width
    }

    /// s: sets of up to this many literals are counted.
    pub fn degree(&self) -> usize {
        self.newton.len() - 1
    }

    /// How far g(1), …, g(width) are at most from 1.
    pub fn bias(&self) -> f64 {
        self.bias
    }

    /// Whether there is no bias: inclusion and exclusion.
    pub fn is_exact(&self) -> bool {
        self.bias == 0.0
    }

    /// b_r for r = 0, …, degree.
    pub fn newton(&self) -> &[BigRational] {
        &self.newton
    }

    /// What each count of r literals counts in n − Σ b_r Σ c_S: 1, −b_1, −b_2, …
    pub(super) fn of_counts(&self) -> Vec<f64> {
        let own = self.newton.iter().skip(1).map(|b| -b.to_f64().unwrap_or(f64::NAN));
        std::iter::once(1.0).chain(own).collect()
    }

    /// What each parity of r literals counts in the same: a set of j literals is 2^{−j} times the sum of the parities
    /// of its subsets, so that a parity of r gets Σ_j −b_j·2^{−j}·C(t − r, j − r) (and 1 more where r = 0). The caller
    /// applies the sign of each literal.
    pub(super) fn of_parities(&self) -> Vec<f64> {
        let share = |r: usize| {
            let term = |j: usize| {
                let sets = BigRational::from_integer(binomial(self.width - r, j - r).into());
                &self.newton[j] * sets / BigRational::from_integer(num_bigint::BigInt::one() << j)
            };
            let sum = (r..=self.degree()).map(term).fold(BigRational::zero(), |sum, term| sum + term);
            let whole = if r == 0 { BigRational::one() - sum } else { -sum };
            // Of false literals c counts Π(1 − u)/2 with u = 1 for a true literal: each literal of the parity turns the
            // sign.
            let signed = if r % 2 == 1 { -whole } else { whole };
            signed.to_f64().unwrap_or(f64::NAN)
        };
        (0..=self.degree()).map(share).collect()
    }
}

fn check(width: usize) -> Result<()> {
    refuse_if!(!(1..=MOST_WIDTH).contains(&width), "a conjunction has 1 to {MOST_WIDTH} literals, not {width}");
    Ok(())
}

fn check_degree(width: usize, degree: usize) -> Result<()> {
    check(width)?;
    if !(1..=width).contains(&degree) {
        refuse!("the degree of a polynomial for {width} literals is 1 to {width}, not {degree}");
    }
    Ok(())
}

/// T_s by its recursion.
fn first_kind(degree: usize, x: &BigRational) -> BigRational {
    let (mut before, mut this) = (BigRational::one(), x.clone());
    for _ in 1..degree {
        let next = BigRational::from_integer(2.into()) * x * &this - &before;
        (before, this) = (this, next);
    }
    this
}

/// The extremes of the Chebyshev polynomial on 1, …, width, as different whole numbers.
fn starting_points(width: usize, degree: usize) -> Vec<usize> {
    let place = |i: usize| {
        let angle = std::f64::consts::PI * i as f64 / degree as f64;
        1.0 + (width - 1) as f64 * (1.0 - angle.cos()) / 2.0
    };
    let mut points: Vec<usize> = Vec::new();
    for i in 0..=degree {
        // There is room for those before and for those behind.
        let least = points.last().map_or(1, |last| last + 1);
        points.push((place(i).round() as usize).clamp(least, width - (degree - i)));
    }
    points
}

/// The polynomial through values at points.
struct Lagrange {
    points: Vec<usize>,
    values: Vec<BigRational>,
}

impl Lagrange {
    fn at(&self, k: usize) -> BigRational {
        let terms = self.points.iter().zip(&self.values).map(|(point, value)| value * share(&self.points, *point, k));
        terms.fold(BigRational::zero(), |sum, term| sum + term)
    }
}

/// What the value at `point` counts at k.
fn share(points: &[usize], point: usize, k: usize) -> BigRational {
    let factor = |other: &usize| {
        let (above, below) = (k as i64 - *other as i64, point as i64 - *other as i64);
        BigRational::new(above.into(), below.into())
    };
    points
        .iter()
        .filter(|other| **other != point)
        .map(factor)
        .fold(BigRational::one(), |product, factor| product * factor)
}

/// h with h(0) = 1 and h = ±level at the points, with signs that alternate; and the level. No polynomial of the degree
/// does better on these points.
fn alternating(points: &[usize]) -> (Lagrange, BigRational) {
    let shares: Vec<BigRational> = points.iter().map(|point| share(points, *point, 0)).collect();
    let level = shares.iter().map(Signed::abs).fold(BigRational::zero(), |sum, share| sum + share).recip();
    let values = shares.iter().map(|share| share.signum() * &level).collect();
    (Lagrange { points: points.to_vec(), values }, level)
}

/// Puts `worst` among the points, in place of the neighbour whose sign it has. There is one: h is 1 at 0 and has its
/// zeros between the points, so that it has the sign of the first point before that point, and the sign of the last
/// point after it.
fn exchange(points: &mut [usize], worst: usize, rest: &Lagrange) {
    let sign = rest.at(worst).signum();
    let place = points.partition_point(|point| *point < worst);
    let is_next = place < points.len() && rest.values[place].signum() == sign;
    points[if is_next { place } else { place.saturating_sub(1) }] = worst;
}
