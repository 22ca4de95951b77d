//! What was released, and what it says about a conjunction.

use super::super::NORMAL_95;
use super::super::parities::{binomial, rank, sets};
use super::super::psd::{Literal, ParityMoments};
use super::{Measure, Polynomial};
use crate::error::Result;

/// The noisy numbers of one release; all else is post-processing.
#[derive(Debug, Clone, PartialEq)]
pub struct ConjunctionSummary {
    columns: usize,
    width: usize,
    /// For conjunctions of the full width.
    polynomial: Polynomial,
    measure: Measure,
    sigmas: Vec<f64>,
    numbers: Vec<Vec<i64>>,
}

/// What a summary says about one conjunction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConjunctionEstimate {
    /// About how many people satisfy it; it may be negative.
    pub estimate: f64,
    /// The standard error: of the noise alone.
    pub standard_error: f64,
    /// Beside the noise, the estimate is off by at most this share of the people who do not satisfy it. 0 where there
    /// is no bias.
    pub bias: f64,
    /// The same in people, for as many as there may be.
    pub most_bias: f64,
    /// The truth is within this of the estimate in 95 of 100 releases, bias and all.
    pub half_width: f64,
}

/// The noisy number of people is below the true one by more than this many σ with probability 1/1000 at most:
/// e^{−x²/2}.
const PEOPLE_SIGMAS: f64 = 3.717;
/// 95.1% of a normal law are within this many standard deviations: a thousandth is for the number of people.
const NORMAL_951: f64 = 1.9687;

impl ConjunctionSummary {
    /// Released numbers: of 0, 1, … columns, in the order of [`super::super::rank`], and for [`Measure::Counts`] for
    /// each set its 2ʳ counts, that with all columns false first and the first column fastest; and the σ of each size.
    pub fn new(
        columns: usize,
        polynomial: &Polynomial,
        measure: Measure,
        sigmas: Vec<f64>,
        numbers: Vec<Vec<i64>>,
    ) -> Result<Self> {
        let degree = polynomial.degree();
        let fits = |(size, list): (usize, &Vec<i64>)| list.len() as u64 == measure.numbers(columns, size);
        if polynomial.width() > columns || numbers.len() != degree + 1 || !numbers.iter().enumerate().all(fits) {
            refuse!("these are not the numbers of a summary of conjunctions");
        }
        if sigmas.len() != degree + 1 || sigmas.iter().any(|sigma| !(sigma.is_finite() && *sigma >= 0.0)) {
            refuse!("the sigmas of a summary must be numbers from 0 up, one for each size of sets");
        }
        Ok(Self { columns, width: polynomial.width(), polynomial: polynomial.clone(), measure, sigmas, numbers })
    }

    /// The released numbers, by the size of their sets.
    pub fn numbers(&self) -> &[Vec<i64>] {
        &self.numbers
    }

    /// The σ of each size of sets; that of the number of people is 0 where it is public.
    pub fn sigmas(&self) -> &[f64] {
        &self.sigmas
    }

    /// How many people satisfy all of these literals; without any, how many there are.
    ///
    /// Up to the degree of the release there is no bias; above, as little as that degree allows for this many literals.
    pub fn answer(&self, literals: &[Literal]) -> Result<ConjunctionEstimate> {
        let literals = self.checked(literals)?;
        let number = literals.len();
        if is_direct(self.measure, self.numbers.len() - 1, number) {
            let place = self.place(&literals);
            return Ok(self.with_bars(self.numbers[number][place] as f64, self.sigmas[number].powi(2), 0.0));
        }
        let polynomial = polynomial_for(&self.polynomial, number)?;
        let mut estimate = 0.0;
        for (size, share) in self.measure.shares(&polynomial).iter().enumerate() {
            for places in sets(number, size) {
                let subset: Vec<Literal> = places.iter().map(|&place| literals[place]).collect();
                estimate += share * self.of_subset(&subset);
            }
        }
        Ok(self.with_bars(estimate, variance(self.measure, &polynomial, &self.sigmas), polynomial.bias()))
    }

    /// The parities of this release, brought to what a table of people can nearly have: post-processing, for
    /// [`ConjunctionSummary::answer_projected`]. Of up to 31 columns for products of four, 14 for products of six.
    pub fn projected(&self) -> Result<ParityMoments> {
        if self.measure != Measure::Parities {
            refuse!("only parities are projected, and this release has counts: publish it with measure = \"parities\"");
        }
        ParityMoments::projected(self.columns, &self.numbers)
    }

    /// About how many people satisfy all of these literals by projected parities. It has no error bar; that of
    /// [`ConjunctionSummary::answer`] is not its own.
    pub fn answer_projected(&self, literals: &[Literal], projected: &ParityMoments) -> Result<f64> {
        let literals = self.checked(literals)?;
        if literals.len() >= self.numbers.len() {
            refuse!("projected parities have up to {} columns, not {}", self.numbers.len() - 1, literals.len());
        }
        let subset = |size: usize| sets(literals.len(), size).into_iter();
        let sum: f64 = (0..=literals.len()).flat_map(subset).fold(0.0, |sum, places| {
            let columns: Vec<usize> = places.iter().map(|place| literals[*place].0).collect();
            // A balance counts −1 for a column that is true.
            let turns = places.iter().filter(|place| literals[**place].1).count();
            sum + if turns % 2 == 1 { -projected.parity(&columns) } else { projected.parity(&columns) }
        });
        Ok(sum / 2f64.powi(literals.len() as i32))
    }

    fn with_bars(&self, estimate: f64, variance: f64, bias: f64) -> ConjunctionEstimate {
        let people = self.numbers[0][0] as f64 + PEOPLE_SIGMAS * self.sigmas[0];
        let most_bias = bias * people.max(0.0);
        let normal = if bias > 0.0 { NORMAL_951 } else { NORMAL_95 };
        // Half a step: the noise is whole numbers.
        let half_width = normal * variance.sqrt() + 0.5 + most_bias;
        ConjunctionEstimate { estimate, standard_error: variance.sqrt(), bias, most_bias, half_width }
    }

    /// Ascending by column; refused if too many, unknown, or one column twice.
    fn checked(&self, literals: &[Literal]) -> Result<Vec<Literal>> {
        let mut sorted = literals.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            refuse!("a column cannot be true and false at once: nobody satisfies that");
        }
        refuse_if!(sorted.last().is_some_and(|last| last.0 >= self.columns), "there are {} columns", self.columns);
        if sorted.len() > self.width {
            refuse!("this release answers conjunctions of up to {} literals, not {}", self.width, sorted.len());
        }
        Ok(sorted)
    }

    /// Where the number about these literals is: for parities, about their columns.
    fn place(&self, literals: &[Literal]) -> usize {
        let columns: Vec<usize> = literals.iter().map(|literal| literal.0).collect();
        match self.measure {
            Measure::Parities => rank(&columns),
            Measure::Counts => rank(&columns) << literals.len() | pattern(literals),
        }
    }

    /// What the answer has a share of: of counts those of whom all are false; of parities the product of 1 for true and
    /// −1 for false literals.
    fn of_subset(&self, literals: &[Literal]) -> f64 {
        let numbers = &self.numbers[literals.len()];
        match self.measure {
            Measure::Counts => {
                let negated: Vec<Literal> = literals.iter().map(|(column, value)| (*column, !value)).collect();
                numbers[self.place(&negated)] as f64
            }
            Measure::Parities => {
                // A balance counts −1 for a column that is true.
                let turns = literals.iter().filter(|(_, value)| *value).count();
                let number = numbers[self.place(literals)] as f64;
                if turns % 2 == 1 { -number } else { number }
            }
        }
    }
}

/// Whether a conjunction of this many literals is one of the released numbers.
pub(super) fn is_direct(measure: Measure, degree: usize, literals: usize) -> bool {
    literals == 0 || (measure == Measure::Counts && literals <= degree)
}

/// The polynomial for this many literals, up to the width of the release's own: exact up to its degree, and above as
/// near as that degree allows.
pub(super) fn polynomial_for(own: &Polynomial, literals: usize) -> Result<Polynomial> {
    match literals {
        _ if literals == own.width() => Ok(own.clone()),
        _ if literals <= own.degree() => Polynomial::exact(literals),
        _ => Polynomial::minimax(literals, own.degree()),
    }
}

/// The variance of an answer of a polynomial's width (except for the discreteness of the noise, which only lowers it).
pub(super) fn variance(measure: Measure, polynomial: &Polynomial, sigmas: &[f64]) -> f64 {
    let shares = measure.shares(polynomial);
    let terms = shares.iter().zip(sigmas).enumerate();
    terms.map(|(r, (share, sigma))| (share * sigma).powi(2) * binomial(polynomial.width(), r) as f64).sum()
}

/// The values as bits, the first column lowest.
fn pattern(literals: &[Literal]) -> usize {
    literals.iter().enumerate().fold(0, |bits, (place, (_, value))| bits | usize::from(*value) << place)
}

/// The counts of all sets of `size` literals, from the balances of all smaller sets: 2^{−r}·Σ_T ±balance is a whole
/// number.
pub(super) fn counts(columns: usize, size: usize, balances: &[Vec<i64>]) -> Vec<i64> {
    let mut counts = Vec::with_capacity(Measure::Counts.numbers(columns, size) as usize);
    for set in sets(columns, size) {
        // Entry T of the transform is the balance of the subset T; its transform is 2ʳ times the counts.
        let mut table: Vec<i64> = (0..1usize << size)
            .map(|mask| {
                let subset: Vec<usize> =
                    set.iter().enumerate().filter(|(place, _)| mask >> place & 1 == 1).map(|(_, j)| *j).collect();
                balances[subset.len()][rank(&subset)]
            })
            .collect();
        for place in 0..size {
            for mask in (0..1usize << size).filter(|mask| mask >> place & 1 == 0) {
                let (without, with) = (table[mask], table[mask | 1 << place]);
                (table[mask], table[mask | 1 << place]) = (without + with, without - with);
            }
        }
        counts.extend(table.into_iter().map(|number| number >> size));
    }
    counts
}
