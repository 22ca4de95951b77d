//! Limits of counts over the columns of a table: the tables of each column by itself, or counts apart from each other.
//!
//! The limit is that of [`singular`](super::singular), for tables in which each of s kinds of owners is there as a
//! group of g owners or not at all: what holds for one owner holds for groups ([`OwnerGuarantee`]), and all counts are
//! g times as large, so that E ≥ g·(σ_min/2)·√(s·c_g/k).
//!
//! The kinds are the rows of Sylvester's matrix of order h over two values of each of h columns; any two rows agree in
//! half of the columns. The k = 2h counts have the Gram matrix h/2·(1 + J), J all ones, so that σ_min² = h/2 and
//! E ≥ g·√(h·c_g)/4. Tables of two columns add nothing for these kinds.

use super::groups::OwnerGuarantee;
use scumble::error::Result;
use scumble::quantity::Probability;

/// Groups of more owners are not tried.
const MOST_OWNERS: u64 = 1 << 40;

/// A lower bound of the error, and the tables for which it is proven.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct CountLimit {
    /// Some count is off by at least this with a probability above β; 0 where nothing is known.
    pub count_error_at_least: f64,
    /// Of how many kinds.
    pub kinds: u64,
    /// How many owners there are of each kind, if any.
    pub group: u64,
}

/// A set of kinds of owners.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OwnerKinds {
    kinds: u64,
    /// σ_min²·s/k.
    strength: f64,
}

/// One kind and one count.
const SINGLE: OwnerKinds = OwnerKinds { kinds: 1, strength: 1.0 };

/// The limit of counts where each owner is in one: a histogram, or counts below thresholds (where no set of kinds is
/// stronger than a single one).
///
/// ```
/// use scumble_adversary::limits::{groups::OwnerGuarantee, tables::apart};
/// let guarantee = OwnerGuarantee::Approximate { epsilon: 0.1.try_into()?, delta: 0.0.try_into()? };
/// let found = apart(&guarantee, 0.05.try_into()?)?;
/// assert!(found.group > 10 && found.count_error_at_least > 2.5);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn apart(guarantee: &OwnerGuarantee, beta: Probability) -> Result<CountLimit> {
    best_group(SINGLE, guarantee, beta, None)
}

/// The limit of the tables of each of `columns` columns with at least two values, as counts of owners: all are within E
/// with probability at most 1 − β.
///
/// With `people`, for tables of exactly so many owners (person scope): an absent owner has a filler's row instead,
/// which is counted too.
///
/// ```
/// use scumble_adversary::limits::{groups::OwnerGuarantee, tables::{apart, marginals}};
/// let guarantee = OwnerGuarantee::Approximate { epsilon: 0.1.try_into()?, delta: 0.0.try_into()? };
/// // Sixteen columns, each by itself: twice the limit of one count.
/// let beta = 0.05.try_into()?;
/// let (found, single) = (marginals(16, &guarantee, beta, None)?, apart(&guarantee, beta)?);
/// assert!((found.count_error_at_least / single.count_error_at_least - 2.0).abs() < 1e-9);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn marginals(
    columns: usize,
    guarantee: &OwnerGuarantee,
    beta: Probability,
    people: Option<u64>,
) -> Result<CountLimit> {
    if columns == 0 {
        return Ok(CountLimit { count_error_at_least: 0.0, kinds: 0, group: 0 });
    }
    let many = best_group(of_columns(columns, people.is_some()), guarantee, beta, people)?;
    if people.is_none() {
        return Ok(many);
    }
    // Few people are enough for a large group of one kind, where they are not for many kinds.
    let single = best_group(SINGLE, guarantee, beta, people)?;
    Ok(if many.count_error_at_least > single.count_error_at_least { many } else { single })
}

/// The rows of Sylvester's matrix over as many columns as it has.
///
/// With a filler, the first row, the matrix has the differences to it: of two kinds h/4 columns have both another value
/// than the filler, each a difference in two counts, so that the Gram matrix is h/2·(1 + J) again, of one kind less.
fn of_columns(columns: usize, has_filler: bool) -> OwnerKinds {
    let order = 1u64 << columns.ilog2();
    let kinds = order - u64::from(has_filler);
    match kinds {
        // No stronger than one count.
        0..=4 => SINGLE,
        _ => OwnerKinds { kinds, strength: kinds as f64 / 4.0 },
    }
}

/// The strongest limit over groups. Every group gives a valid one: powers of two are tried until nothing is left, then
/// those around the best of them.
fn best_group(
    shape: OwnerKinds,
    guarantee: &OwnerGuarantee,
    beta: Probability,
    people: Option<u64>,
) -> Result<CountLimit> {
    let most = people.map_or(MOST_OWNERS, |people| people / shape.kinds);
    let mut best = CountLimit { count_error_at_least: 0.0, kinds: 0, group: 0 };
    let mut try_group = |group: u64| -> Result<bool> {
        let wrong = guarantee.wrong_fraction_lower(group, beta)?;
        let error = group as f64 / 2.0 * libm::sqrt(shape.strength * wrong) * (1.0 - 1e-14);
        if error > best.count_error_at_least {
            best = CountLimit { count_error_at_least: error, kinds: shape.kinds, group };
            return Ok(true);
        }
        Ok(false)
    };
    // What is left of a promise falls faster than groups grow, once it falls.
    let (mut power, mut around) = (1, 1);
    while power <= most && try_group(power)? {
        around = power;
        power *= 2;
    }
    for group in (around / 2 + 1..=(2 * around).min(most)).step_by((around / 4).max(1) as usize) {
        try_group(group)?;
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::singular::{Matrix, whole};
    use scumble::quantity::Rho;

    fn pure(epsilon: f64) -> OwnerGuarantee {
        OwnerGuarantee::Approximate { epsilon: epsilon.try_into().unwrap(), delta: 0.0.try_into().unwrap() }
    }

    /// The matrix written out: its least singular value is that of the formula, with and without a filler.
    #[test]
    fn the_formula_is_the_matrix() {
        for (columns, has_filler) in [(8, false), (13, false), (8, true), (16, false), (19, true)] {
            let shape = of_columns(columns, has_filler);
            let order = 1usize << columns.ilog2();
            let first = |kind: usize, column: usize| (kind & column).count_ones().is_multiple_of(2);
            let mut rows = Vec::new();
            for column in 0..order {
                for value in [true, false] {
                    let counted = |kind: usize| i8::from(first(kind, column) == value);
                    let filler = if has_filler { counted(0) } else { 0 };
                    rows.push((usize::from(has_filler)..order).map(|kind| counted(kind) - filler).collect());
                }
            }
            let matrix = Matrix::new(rows).unwrap();
            let all =
                whole(&matrix, 1.0.try_into().unwrap(), 0.0.try_into().unwrap(), 0.0.try_into().unwrap()).unwrap();
            let strength = all.least_singular_value.powi(2) * matrix.columns() as f64 / matrix.rows().len() as f64;
            assert_eq!(shape.kinds, matrix.columns() as u64);
            assert!((shape.strength - strength).abs() < 1e-9, "{columns} {has_filler}: {strength} {shape:?}");
        }
        assert_eq!((of_columns(1, true), of_columns(7, false)), (SINGLE, SINGLE));
    }

    /// Discrete Laplace noise of scale 1/ε on one count is a mechanism: no limit of one count is above what it reaches
    /// with probability 95%.
    #[test]
    fn no_limit_is_above_what_noise_reaches() {
        for epsilon in [0.01, 0.1, 0.5, 1.0, 2.0] {
            let found = apart(&pure(epsilon), 0.05.try_into().unwrap()).unwrap();
            // P[|Z| ≤ q] ≥ 0.95 at q = ln(20)/ε.
            assert!(found.count_error_at_least <= 20f64.ln() / epsilon, "{epsilon}: {found:?}");
        }
        let (small, large) = (
            apart(&pure(0.01), 0.05.try_into().unwrap()).unwrap(),
            apart(&pure(0.1), 0.05.try_into().unwrap()).unwrap(),
        );
        assert!(small.count_error_at_least > 9.0 * large.count_error_at_least, "{small:?} {large:?}");
        // Gaussian noise of ρ = 1/(2σ²): 1.96σ.
        let found = apart(&OwnerGuarantee::Concentrated(Rho::new(0.005).unwrap()), 0.05.try_into().unwrap()).unwrap();
        assert!(found.count_error_at_least > 1.0 && found.count_error_at_least < 19.6, "{found:?}");
        // The tables of d columns by Gaussian noise: an owner moves d counts by one, so that ρ = d/(2σ²), and
        // σ·√(2·ln(2·2d·20)) is enough for all 2d counts.
        for columns in [1usize, 2, 7, 16, 24, 100, 500] {
            let found = marginals(
                columns,
                &OwnerGuarantee::Concentrated(Rho::new(0.01).unwrap()),
                0.05.try_into().unwrap(),
                None,
            )
            .unwrap();
            let sigma = (columns as f64 / 0.02).sqrt();
            let reached = sigma * (2.0 * (80.0 * columns as f64).ln()).sqrt();
            assert!(found.count_error_at_least <= reached, "{found:?} {reached}");
        }
    }

    /// More columns are harder, and few people are not enough for large groups.
    #[test]
    fn limits_grow_with_columns_and_shrink_with_people() {
        let of = |columns, people| marginals(columns, &pure(0.1), 0.05.try_into().unwrap(), people).unwrap();
        let single = apart(&pure(0.1), 0.05.try_into().unwrap()).unwrap().count_error_at_least;
        assert_eq!(of(3, None).count_error_at_least, single);
        assert!(of(64, None).count_error_at_least > 3.9 * single);
        let (few, many) = (of(16, Some(40)), of(16, Some(1_000_000)));
        assert!(few.group * few.kinds <= 40 && few.count_error_at_least < many.count_error_at_least, "{few:?}");
        // Nobody is there, or no two values.
        assert_eq!(of(16, Some(0)).count_error_at_least, 0.0);
        assert_eq!(of(0, None).count_error_at_least, 0.0);
    }
}
