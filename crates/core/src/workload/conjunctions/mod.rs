//! Any conjunction of up to t literals over d binary columns, from one release.
//!
//! A conjunction is everybody except for those of whom a negated literal is true, and "at least one of t" is a
//! polynomial g of low degree in how many are true, up to a bias η ([`Polynomial`]). In the binomial basis g(Σw) = Σ_r
//! b_r Σ_{|S|=r} w_S exactly: all that is needed are numbers about sets of up to s literals, with noise of its own for
//! each size (§7.7.5 of \[Vad17\], where coefficients of the polynomial are noised instead).
//!
//! Those numbers are [`Measure::Counts`], how many people have all of a set of literals: C(d, r)·2ʳ of them, and one
//! person is in C(d, r) of them. Or [`Measure::Parities`], the C(d, r) sums of products of ±1 columns; the counts are
//! sums of these. One person moves as many of them by as much, and an answer is a sum of fewer and smaller shares.
//! Parities always have the smaller error; counts are easier to read.
//!
//! ```
//! use scumble::noise::InsecureSeededSource;
//! use scumble::quantity::Rho;
//! use scumble::workload::Bits;
//! use scumble::workload::conjunctions::{Measure, ConjunctionPlan, Polynomial, BitLayout};
//! use scumble::workload::planner::RhoLimits;
//! let column = |step: usize| (0..800).map(|person| person / step % 2 == 0).collect::<Vec<bool>>();
//! let bits = Bits::new(&[column(1), column(2), column(4), column(8)])?;
//! let limits = RhoLimits { person: Some(Rho::new(0.5)?), ..RhoLimits::default() };
//! let plan = ConjunctionPlan::within(&limits, &BitLayout::plain(4)?, Polynomial::exact(3)?, Measure::Parities)?;
//! let summary = plan.release(&bits, &mut InsecureSeededSource::new(1))?;
//! // The first and the third column, and not the second: an eighth of them.
//! let answer = summary.answer(&[(0, true), (2, true), (1, false)])?;
//! assert!((answer.estimate - 100.0).abs() < 4.0 * answer.standard_error);
//! # Ok::<(), scumble::Error>(())
//! ```

use super::limits::{RhoLimits, sigma_of};
use super::parities::{Bits, binomial, turned};
use super::people::People;
use super::psd::parity_events;
use crate::calibrate::{ShiftNorms, rho_of_gaussian, up};
use crate::error::{Error, Result};
use crate::event::{Event, Moves, Shift, Touch, Word};
use crate::noise::{BitSource, DiscreteGaussian};
use crate::quantity::{Sigma, Upper};
use crate::scope::AttributeSet;

mod planner;
mod polynomial;
mod summary;

pub use planner::{ConjunctionCandidate, candidates};
pub use polynomial::{MOST_WIDTH, Polynomial};
pub use summary::{ConjunctionEstimate, ConjunctionSummary};

/// Releases of more numbers are refused.
pub const MOST_SETS: u64 = 50_000_000;

named! {
    /// What is counted of each set of columns.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Measure {
        /// How many people have an even number of them, minus how many have an odd number.
        Parities = "parities",
        /// For each of the 2ʳ ways to negate its columns, how many people have all of them.
        Counts = "counts",
    }
}

impl Measure {
    /// How many numbers there are about the sets of this size.
    pub fn numbers(self, columns: usize, size: usize) -> u64 {
        let each = match self {
            Self::Counts => 1u64.checked_shl(size as u32).unwrap_or(u64::MAX),
            Self::Parities => 1,
        };
        binomial(columns, size).saturating_mul(each)
    }

    /// What each number about r literals counts in an answer.
    pub(super) fn shares(self, polynomial: &Polynomial) -> Vec<f64> {
        match self {
            Self::Counts => polynomial.of_counts(),
            Self::Parities => polynomial.of_parities(),
        }
    }
}

/// The columns of bits, and how many of them each attribute has (a category of several values is several bits).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BitLayout {
    columns: usize,
    of_attributes: Vec<usize>,
}

impl BitLayout {
    /// Each column is an attribute.
    pub fn plain(columns: usize) -> Result<Self> {
        Self::new(vec![1; columns])
    }

    /// Attributes with this many columns each.
    pub fn new(of_attributes: Vec<usize>) -> Result<Self> {
        let columns = of_attributes.iter().sum();
        refuse_if!(columns == 0 || of_attributes.contains(&0), "each attribute needs at least one column of bits");
        Ok(Self { columns, of_attributes })
    }

    /// d: how many columns there are.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// By how much, squared and added up, the numbers about sets of this size move at most: when a person comes, is
    /// replaced, and for each number of an attribute's columns.
    fn squares(&self, measure: Measure, size: usize) -> Squares {
        let all = binomial(self.columns, size);
        match (size, measure) {
            (0, _) => Squares { presence: 1, person: 1 },
            (_, Measure::Counts) => Squares { presence: all, person: all.saturating_mul(2) },
            (_, Measure::Parities) => {
                Squares { presence: all, person: turned(self.columns, size, self.columns).saturating_mul(4).max(all) }
            }
        }
    }

    /// The same when an attribute with this many columns changes.
    fn squares_of(&self, measure: Measure, size: usize, bits: usize) -> u64 {
        match measure {
            _ if size == 0 => 0,
            Measure::Counts => touched(self.columns, size, bits).saturating_mul(2),
            Measure::Parities => turned(self.columns, size, bits).saturating_mul(4),
        }
    }
}

struct Squares {
    presence: u64,
    person: u64,
}

/// How many sets of this size have one of this many columns.
fn touched(columns: usize, size: usize, bits: usize) -> u64 {
    binomial(columns, size) - binomial(columns - bits.min(columns), size)
}

/// Which numbers are released, and with how much noise.
#[derive(Debug, Clone, PartialEq)]
pub struct ConjunctionPlan {
    shape: BitLayout,
    polynomial: Polynomial,
    measure: Measure,
    people: People,
    /// σ of the numbers about sets of 1, 2, … columns.
    noise: Vec<Sigma>,
}

/// Sizes that hardly count in answers of the full width count in those of fewer literals: none gets a smaller weight
/// than this share of the largest.
const LEAST_WEIGHT: f64 = 1e-3;

impl ConjunctionPlan {
    /// With as little noise as the limits allow, for the smallest variance of conjunctions of the polynomial's width:
    /// σ_r² ∝ √(cost/weight).
    ///
    /// # Guarantee
    /// Its ρ is within each limit. Refused if the width is more than there are columns, or if there are more than
    /// [`MOST_SETS`] numbers.
    pub fn within(limits: &RhoLimits, shape: &BitLayout, polynomial: Polynomial, measure: Measure) -> Result<Self> {
        check(shape, &polynomial, measure)?;
        let variances = relative_variances(shape, &polynomial, measure, limits);
        let at = |scale: f64| {
            let people = limits.people(0.5 / (variances[0] * scale))?;
            let noise = variances[1..].iter().map(|variance| sigma_of(variance * scale)).collect::<Result<_>>()?;
            Ok::<Self, Error>(Self { shape: shape.clone(), polynomial: polynomial.clone(), measure, people, noise })
        };
        let trial = at(1.0)?;
        at(limits.excess(trial.rho_presence().get(), trial.rho_person().get(), |attribute| {
            trial.rho_attribute(attribute).get()
        })?)
    }

    /// ρ when one person is added or removed.
    ///
    /// # Guarantee
    /// An upper bound \[CKS20\]: one person has C(d, r) sets of r columns, and each moves by 1.
    pub fn rho_presence(&self) -> Upper {
        let sizes = self.rho_of(|size| self.shape.squares(self.measure, size).presence);
        Upper::of(up(sizes + self.people.rho_presence().get()))
    }

    /// ρ when one person is replaced by another, or by one who is not in the table.
    ///
    /// # Guarantee
    /// An upper bound for every pair of people.
    pub fn rho_person(&self) -> Upper {
        let sizes = self.rho_of(|size| self.shape.squares(self.measure, size).person);
        Upper::of(up(sizes + self.people.rho_presence().get()))
    }

    /// ρ when one person's value of one attribute changes.
    ///
    /// # Guarantee
    /// An upper bound; exact where the attribute's columns can change in every way.
    pub fn rho_attribute(&self, attribute: usize) -> Upper {
        let bits = self.shape.of_attributes.get(attribute).copied().unwrap_or(0);
        Upper::of(up(self.rho_of(|size| self.shape.squares_of(self.measure, size, bits))))
    }

    /// The ρ of all sizes together, if each moves by the root of this number.
    fn rho_of(&self, squares: impl Fn(usize) -> u64) -> f64 {
        self.sizes().map(|(size, sigma)| rho_of_gaussian(sigma, ShiftNorms::units(squares(size))).get()).sum()
    }

    fn sizes(&self) -> impl Iterator<Item = (usize, Sigma)> {
        (1..).zip(self.noise.iter().copied())
    }

    /// What a release did, in the vocabulary of the ledger; `names` are the attributes' names. One event for each size
    /// of sets, and one for each attribute that touches them.
    ///
    /// # Guarantee
    /// In every scope the events cost at least what is moved there; a change of several attributes is charged all of
    /// them.
    pub fn events(&self, names: &[String]) -> Result<Vec<Event>> {
        if names.len() != self.shape.of_attributes.len() {
            refuse!("{} attributes have {} names", self.shape.of_attributes.len(), names.len());
        }
        let mut events = self.people.events()?;
        let columns = self.shape.columns;
        for (size, sigma) in self.sizes() {
            let attributes = names.iter().map(String::as_str).zip(self.shape.of_attributes.iter().copied());
            events.extend(match self.measure {
                Measure::Parities => parity_events(sigma, columns, size, attributes)?,
                Measure::Counts => count_events(sigma, columns, size, attributes)?,
            });
        }
        Ok(events)
    }

    /// Measures the columns.
    ///
    /// # Guarantee
    /// [`ConjunctionPlan::rho_presence`], [`ConjunctionPlan::rho_person`] and [`ConjunctionPlan::rho_attribute`]; the
    /// noise is exact.
    pub fn release<S: BitSource + ?Sized>(&self, columns: &Bits, bits: &mut S) -> Result<ConjunctionSummary> {
        if columns.columns() != self.shape.columns {
            refuse!("the data has {} columns, and the release has {}", columns.columns(), self.shape.columns);
        }
        let mut numbers = vec![vec![self.people.noisy(columns.people() as u64, bits)]];
        for ((_, sigma), mut exact) in self.sizes().zip(self.exact(columns)) {
            let noise = DiscreteGaussian::new(sigma);
            exact.iter_mut().for_each(|number| *number = noise.add_to(*number, bits));
            numbers.push(exact);
        }
        ConjunctionSummary::new(self.shape.columns, &self.polynomial, self.measure, self.sigmas(), numbers)
    }

    /// The numbers about sets of 1, 2, … columns, before any noise.
    pub(super) fn exact(&self, columns: &Bits) -> Vec<Vec<i64>> {
        let degree = self.noise.len();
        match self.measure {
            Measure::Parities => (1..=degree).map(|size| columns.balances(size)).collect(),
            Measure::Counts => {
                let balances: Vec<Vec<i64>> = (0..=degree).map(|size| columns.balances(size)).collect();
                (1..=degree).map(|size| summary::counts(self.shape.columns, size, &balances)).collect()
            }
        }
    }

    /// The σ of the number of people (0 where it is public), and of the numbers about sets of 1, 2, … columns.
    pub fn sigmas(&self) -> Vec<f64> {
        let people = self.people.sigma().map_or(0.0, Sigma::get);
        std::iter::once(people).chain(self.noise.iter().map(|sigma| sigma.get())).collect()
    }

    /// The standard error and the bias (a share of the people) of conjunctions of this many literals, from none up to
    /// the width.
    pub fn error(&self, literals: usize) -> Result<(f64, f64)> {
        if literals > self.polynomial.width() {
            refuse!("this release answers conjunctions of up to {} literals", self.polynomial.width());
        }
        let sigmas = self.sigmas();
        if summary::is_direct(self.measure, self.noise.len(), literals) {
            return Ok((sigmas[literals], 0.0));
        }
        let polynomial = summary::polynomial_for(&self.polynomial, literals)?;
        Ok((summary::variance(self.measure, &polynomial, &sigmas).sqrt(), polynomial.bias()))
    }

    /// The polynomial.
    pub fn polynomial(&self) -> &Polynomial {
        &self.polynomial
    }

    /// What is counted.
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// How many people there are, if that is public.
    pub fn public_people(&self) -> Option<u64> {
        self.people.number()
    }

    /// How many numbers are released.
    pub fn numbers(&self) -> u64 {
        numbers(self.shape.columns, self.noise.len(), self.measure)
    }
}

/// How many numbers about sets of up to `degree` columns there are, the number of people among them.
pub(super) fn numbers(columns: usize, degree: usize, measure: Measure) -> u64 {
    (0..=degree).map(|size| measure.numbers(columns, size)).fold(0, u64::saturating_add)
}

fn check(shape: &BitLayout, polynomial: &Polynomial, measure: Measure) -> Result<()> {
    let (width, columns) = (polynomial.width(), shape.columns);
    refuse_if!(width > columns, "conjunctions of {width} literals need {width} columns, and there are {columns}");
    let sets = numbers(columns, polynomial.degree(), measure);
    if sets > MOST_SETS {
        refuse!(
            "sets of up to {} of {columns} columns have {sets} {}, more than {MOST_SETS}: lower the width, allow a \
                larger bias, or leave columns out",
            polynomial.degree(),
            measure.name()
        );
    }
    Ok(())
}

/// σ² of each size, up to a factor: √(cost/weight).
fn relative_variances(shape: &BitLayout, polynomial: &Polynomial, measure: Measure, limits: &RhoLimits) -> Vec<f64> {
    let shares = measure.shares(polynomial);
    let weights: Vec<f64> =
        shares.iter().enumerate().map(|(r, share)| share * share * binomial(polynomial.width(), r) as f64).collect();
    let floor = LEAST_WEIGHT * weights.iter().copied().fold(0.0, f64::max);
    let widest = shape.of_attributes.iter().copied().max().unwrap_or(1);
    let cost = |size: usize| {
        let squares = shape.squares(measure, size);
        match (limits.person, limits.presence) {
            (Some(_), _) => squares.person,
            (None, Some(_)) => squares.presence,
            // Limits on attributes alone say nothing about the number of people: it costs what it would for presence.
            (None, None) => shape.squares_of(measure, size, widest).max(u64::from(size == 0)),
        }
    };
    weights.iter().enumerate().map(|(size, weight)| (cost(size) as f64 / weight.max(floor)).sqrt()).collect()
}

/// Discrete Gaussian noise on all counts of `size` literals: what it costs in each scope.
fn count_events<'a>(
    sigma: Sigma,
    columns: usize,
    size: usize,
    attributes: impl Iterator<Item = (&'a str, usize)>,
) -> Result<Vec<Event>> {
    let word = Word::DiscreteGaussian { sigma };
    let all = binomial(columns, size);
    let moves = Moves::by_scope(vec![Shift::new(all, 1.0)?], vec![Shift::new(2 * all, 1.0)?], Vec::new());
    let mut events = vec![Event::new(word.clone(), moves)];
    for (name, bits) in attributes {
        let shifts = vec![Shift::new(2 * touched(columns, size, bits), 1.0)?];
        let touch = Touch { attributes: AttributeSet::new([name.to_string()])?, shifts };
        events.push(Event::new(word.clone(), Moves::as_written(Vec::new(), Vec::new(), vec![touch])));
    }
    Ok(events)
}

#[cfg(test)]
mod tests;
