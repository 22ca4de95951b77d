//! Limits of counts over the columns of a table: all tables of some of its columns, or counts apart from each other.
//!
//! The limit is that of [`singular`](super::singular), for tables in which each of s kinds of owners is there as a group of g owners or not at all: what holds for one owner
//! holds for groups ([`Guarantee`]), and all counts are g times as large, so that E ≥ g·(σ_min/2)·√(s·c_g/k). The kinds are rows of Sylvester's matrix over two values of
//! each column, which are counted together as seldom as can be, and the same rows times a quadratic sign; the best of several sets of them and the best g are taken.

use super::gram::Gram;
use super::groups::Guarantee;
use super::singular::best_columns;
use crate::error::Result;

/// As many kinds are looked at.
const MOST_KINDS: usize = 64;
/// Tables of more columns than this say less.
const MOST_TOGETHER: usize = 3;
/// Groups of more owners are not tried.
const MOST_OWNERS: u64 = 1 << 40;

/// What nobody can beat, and for which tables it is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountLimit {
    /// Some count is off by at least this with a probability above β; 0 where nothing is known.
    pub count_error_at_least: f64,
    /// Of how many kinds.
    pub kinds: u64,
    /// How many owners there are of each kind, if any.
    pub group: u64,
}

/// A set of kinds: their least singular value and how many counts they are in.
struct Shape {
    kinds: u64,
    /// σ_min²·s/k.
    strength: f64,
}

/// The limit of counts of which each owner is in one: a histogram, or counts below thresholds (where the best set is one kind and one count).
///
/// ```
/// use scumble::limits::{groups::Guarantee, tables::apart};
/// let guarantee = Guarantee::Approximate { epsilon: 0.1.try_into()?, delta: 0.0.try_into()? };
/// let found = apart(&guarantee, 0.05)?;
/// assert!(found.group > 10 && found.count_error_at_least > 2.5);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn apart(guarantee: &Guarantee, beta: f64) -> Result<CountLimit> {
    best_group(&[Shape { kinds: 1, strength: 1.0 }], guarantee, beta, None)
}

/// The limit of all tables of 1 to `order` of `columns` columns with at least two values each, as counts of owners: all are within E with probability at most 1 − β.
///
/// With `people`, for tables of exactly so many owners (person scope): who is not there has a filler's row instead, which is counted too.
///
/// ```
/// use scumble::limits::{groups::Guarantee, tables::{apart, marginals}};
/// let guarantee = Guarantee::Approximate { epsilon: 0.1.try_into()?, delta: 0.0.try_into()? };
/// // Sixteen columns, each by itself: twice the limit of one count.
/// let found = marginals(16, 1, &guarantee, 0.05, None)?;
/// assert!(found.count_error_at_least / apart(&guarantee, 0.05)?.count_error_at_least > 2.0 - 1e-9);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn marginals(
    columns: usize,
    order: usize,
    guarantee: &Guarantee,
    beta: f64,
    people: Option<u64>,
) -> Result<CountLimit> {
    if columns == 0 || order == 0 {
        return Ok(CountLimit { count_error_at_least: 0.0, kinds: 0, group: 0 });
    }
    let mut shapes = Vec::new();
    if people.is_none() {
        shapes.push(Shape { kinds: 1, strength: 1.0 });
    }
    let pool = kinds(columns);
    for together in 1..=order.min(columns).min(MOST_TOGETHER) {
        shapes.extend(of_tables(&pool, columns, together, people));
    }
    best_group(&shapes, guarantee, beta, people)
}

/// The strongest limit over shapes and groups. Every group gives a valid one: powers of two are tried until nothing is left, then those around the best of them.
fn best_group(shapes: &[Shape], guarantee: &Guarantee, beta: f64, people: Option<u64>) -> Result<CountLimit> {
    let mut best = CountLimit { count_error_at_least: 0.0, kinds: 0, group: 0 };
    for shape in shapes {
        let most = people.map_or(MOST_OWNERS, |people| people / shape.kinds);
        let mut try_group = |group: u64| -> Result<f64> {
            let wrong = guarantee.wrong_fraction_lower(group, beta)?;
            let error = group as f64 / 2.0 * libm::sqrt(shape.strength * wrong) * (1.0 - 1e-14);
            if error > best.count_error_at_least {
                best = CountLimit { count_error_at_least: error, kinds: shape.kinds, group };
            }
            Ok(error)
        };
        let (mut power, mut strongest, mut around) = (1, 0.0, 1);
        while power <= most {
            let error = try_group(power)?;
            if error == 0.0 {
                break;
            }
            if error > strongest {
                (strongest, around) = (error, power);
            }
            power *= 2;
        }
        let high = (2 * around).min(most);
        let step = (around / 16).max(1);
        for group in (around / 2 + 1..=high).step_by(step as usize) {
            try_group(group)?;
        }
    }
    Ok(best)
}

/// Kinds of owners: for each column which of two values they have. The first has the first value everywhere.
fn kinds(columns: usize) -> Vec<Vec<Vec<bool>>> {
    let order = columns.next_power_of_two().min(MOST_KINDS);
    let odd = |bits: usize| bits.count_ones() % 2 == 1;
    // Bits 0 and 1, 2 and 3, … of the column's number, multiplied and added up: a bent function where their number is even.
    let quadratic = |column: usize| odd(column & (column >> 1) & 0x5555_5555);
    let row = |twisted: bool| {
        move |row: usize| (0..columns).map(|column| odd(row & column) ^ (twisted && quadratic(column))).collect()
    };
    let plain: Vec<Vec<bool>> = (0..order).map(row(false)).collect();
    let mut both = plain.clone();
    if 2 * order <= MOST_KINDS {
        both.extend((0..order).map(row(true)));
    }
    vec![plain, both]
}

/// The shapes of the tables of `together` columns each.
fn of_tables(pools: &[Vec<Vec<bool>>], columns: usize, together: usize, people: Option<u64>) -> Vec<Shape> {
    let shape = |pool: &Vec<Vec<bool>>| {
        let agree = |i: usize, j: usize| pool[i].iter().zip(&pool[j]).filter(|(a, b)| a == b).count();
        let both = |i: usize, j: usize| choose(agree(i, j), together);
        // In the person scope the columns of the matrix are differences to the filler, the first of the pool.
        let gram = match people {
            None => Gram::new(pool.len(), both),
            Some(_) => {
                Gram::new(pool.len() - 1, |i, j| both(i + 1, j + 1) - both(i + 1, 0) - both(0, j + 1) + both(0, 0))
            }
        };
        let number = pool.len() - usize::from(people.is_some());
        let best = best_columns(&gram, number);
        let counted = best.len() + usize::from(people.is_some());
        let least = gram.of_columns(&best).least_eigenvalue_lower();
        // So many cells of each table count somebody at most.
        let counts = choose(columns, together) * (1 << together).min(counted) as f64;
        Shape { kinds: best.len() as u64, strength: least * best.len() as f64 / counts * (1.0 - 1e-14) }
    };
    pools.iter().filter(|pool| pool.len() > 1).map(shape).filter(|shape| shape.strength > 0.0).collect()
}

/// How many sets of `size` of `number` things there are: whole, and exact for those that occur here.
fn choose(number: usize, size: usize) -> f64 {
    (0..size).fold(1.0, |sets, at| sets * (number as f64 - at as f64) / (at as f64 + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::singular::{Matrix, whole};
    use crate::quantity::Rho;

    fn pure(epsilon: f64) -> Guarantee {
        Guarantee::Approximate { epsilon: epsilon.try_into().unwrap(), delta: 0.0.try_into().unwrap() }
    }

    /// The matrix written out, all tables of two of five columns over all kinds: the least singular value is that of the formula.
    #[test]
    fn the_formula_is_the_matrix() {
        let pool = kinds(5)[0].clone();
        for (people, together) in [(None, 1), (None, 2), (Some(100), 1), (Some(100), 2)] {
            let mut rows = Vec::new();
            let sets: Vec<Vec<usize>> = (0..32usize)
                .filter(|mask| mask.count_ones() == together)
                .map(|mask| (0..5).filter(|column| mask >> column & 1 == 1).collect())
                .collect();
            for set in &sets {
                for cell in 0..1usize << together {
                    let counted = |kind: &Vec<bool>| {
                        i8::from(set.iter().enumerate().all(|(at, column)| kind[*column] == (cell >> at & 1 == 1)))
                    };
                    let filler = people.map_or(0, |_| counted(&pool[0]));
                    let from = usize::from(people.is_some());
                    rows.push(pool[from..].iter().map(|kind| counted(kind) - filler).collect::<Vec<i8>>());
                }
            }
            let matrix = Matrix::new(rows).unwrap();
            let shapes = of_tables(std::slice::from_ref(&pool), 5, together as usize, people);
            let all = whole(&matrix, 1.0.try_into().unwrap(), 0.0.try_into().unwrap(), 0.0).unwrap();
            let s = matrix.columns() as f64;
            let strength = all.least_singular_value.powi(2) * s / matrix.rows().len() as f64;
            match shapes.first() {
                // All columns where that is best; another set is only taken if it is stronger.
                Some(shape) => assert!(shape.strength >= strength * (1.0 - 1e-9), "{together}: {}", shape.strength),
                None => assert_eq!(strength, 0.0),
            }
            if let Some(shape) = shapes.first().filter(|shape| shape.kinds == matrix.columns() as u64) {
                assert!((shape.strength - strength).abs() < 1e-9, "{together} {strength} {}", shape.strength);
            }
        }
    }

    /// Discrete Laplace noise of scale 1/ε on one count is a mechanism: no limit of one count is above what it reaches with probability 95%.
    #[test]
    fn no_limit_is_above_what_noise_reaches() {
        for epsilon in [0.01, 0.1, 0.5, 1.0, 2.0] {
            let found = apart(&pure(epsilon), 0.05).unwrap();
            // P[|Z| ≤ q] ≥ 0.95 at q = ln(20)/ε.
            assert!(found.count_error_at_least <= 20f64.ln() / epsilon, "{epsilon}: {found:?}");
        }
        let (small, large) = (apart(&pure(0.01), 0.05).unwrap(), apart(&pure(0.1), 0.05).unwrap());
        assert!(small.count_error_at_least > 9.0 * large.count_error_at_least, "{small:?} {large:?}");
        // Gaussian noise of ρ = 1/(2σ²): 1.96σ.
        let found = apart(&Guarantee::Concentrated(Rho::new(0.005).unwrap()), 0.05).unwrap();
        assert!(found.count_error_at_least > 1.0 && found.count_error_at_least < 19.6, "{found:?}");
        // All tables of one of d columns by Laplace noise of scale d/ε: ln(2d·20)·d/ε is enough for all 2d counts.
        for columns in [1usize, 2, 7, 16, 24, 100] {
            let found = marginals(columns, 1, &pure(0.1), 0.05, None).unwrap();
            assert!(found.count_error_at_least <= (40.0 * columns as f64).ln() * columns as f64 / 0.1, "{found:?}");
        }
    }

    /// More columns are harder, and few people are not enough for large groups.
    #[test]
    fn limits_grow_with_columns_and_shrink_with_people() {
        let of = |columns, order, people| marginals(columns, order, &pure(0.1), 0.05, people).unwrap();
        let single = apart(&pure(0.1), 0.05).unwrap().count_error_at_least;
        assert!(of(4, 1, None).count_error_at_least >= single);
        assert!(of(64, 1, None).count_error_at_least > 3.9 * single);
        assert!(of(32, 2, None).count_error_at_least >= of(32, 1, None).count_error_at_least);
        let (few, many) = (of(16, 1, Some(40)), of(16, 1, Some(1_000_000)));
        assert!(few.group * few.kinds <= 40 && few.count_error_at_least < many.count_error_at_least, "{few:?}");
        // Nobody is there, or no two values.
        assert_eq!(of(16, 1, Some(3)).count_error_at_least, 0.0);
        assert_eq!(of(0, 1, None).count_error_at_least, 0.0);
    }
}
