//! All tables of two of some hundred binary columns, without the product of all columns: noisy parities, and a
//! projection on what any table can give.
//!
//! With values ±1 (true is −1) the numbers Σv_i and Σv_iv_j say everything about tables of one and of two columns. They
//! are integers, and are given discrete Gaussian noise: σ₁ for a column, σ₂ for a pair. Divided by the number of
//! people, Σv_iv_j of any table is a matrix with ones on the diagonal and no negative eigenvalue (with a row for a
//! column that is constant, which has the Σv_i). The nearest such matrix ([`nearest_correlation`]) is post-processing,
//! at least as near to the truth as the noisy one, and much nearer for few people: [`projected_error`] (§7.7.7 of
//! \[Vad17\], in the larger set of the Grothendieck relaxation).
//!
//! We differ from the survey in two ways: the projection is Euclidean on that larger set, so that it can be computed,
//! and single columns have a noise of their own. They are hardly any of the cost and half of every table of two.

use super::NORMAL_95;
use super::limits::{RhoLimits, sigma_of};
use super::parities::{Bits, binomial, rank, turned};
use super::people::People;
use crate::calibrate::{ShiftNorms, rho_of_gaussian, up};
use crate::error::{Error, Result};
use crate::event::{Event, Moves, Shift, Touch, Word};
use crate::noise::{BitSource, DiscreteGaussian};
use crate::quantity::{Sigma, Upper};
use crate::scope::AttributeSet;

mod divide;
mod eigen;
mod matrix;
mod moments;
mod nearest;

pub use moments::ParityMoments;
pub use nearest::{NearestCorrelation, nearest_correlation};

/// More columns make a matrix that takes minutes to project.
pub const MOST_COLUMNS: usize = 500;

/// Noisy sums of ±1 columns and of products of two, and the number of people.
///
/// ```
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::Rho;
/// use scumble::workload::planner::RhoLimits;
/// use scumble::workload::{Bits, psd::ColumnPairs};
/// let column = |step: usize| (0..900).map(|person| person / step % 2 == 0).collect::<Vec<bool>>();
/// let bits = Bits::new(&[column(2), column(3), column(5)])?;
/// let limits = RhoLimits { person: Some(Rho::new(0.5)?), ..RhoLimits::default() };
/// let pairs = ColumnPairs::within(&limits, 3)?;
/// let fitted = pairs.release(&bits, &mut InsecureSeededSource::new(1))?.projected()?;
/// // About a quarter of the people have both of the first two columns.
/// assert!((fitted.both((0, true), (1, true)) - 225.0).abs() < 30.0);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ColumnPairs {
    columns: usize,
    single: Sigma,
    pair: Sigma,
    people: People,
}

impl ColumnPairs {
    /// With as little noise as the limits allow; the shares of the people, of columns and of pairs are those that make
    /// the unbiased tables of two most accurate.
    ///
    /// # Guarantee
    /// Its ρ is within each limit.
    pub fn within(limits: &RhoLimits, columns: usize) -> Result<Self> {
        refuse_if!(!(2..=MOST_COLUMNS).contains(&columns), "pairs need 2 to {MOST_COLUMNS} columns, not {columns}");
        // A cell's variance is (σ₀² + 2σ₁² + σ₂²)/16 at a cost of 1/σ₀² + d/σ₁² + C(d, 2)/σ₂²: σ² ∝ √(cost/weight).
        let (single, pair) = ((columns as f64 / 2.0).sqrt(), (binomial(columns, 2) as f64).sqrt());
        let at = |scale: f64| {
            let people = limits.people(0.5 / scale)?;
            Ok::<Self, Error>(Self {
                columns,
                single: sigma_of(single * scale)?,
                pair: sigma_of(pair * scale)?,
                people,
            })
        };
        let trial = at(1.0)?;
        at(limits.excess(trial.rho_presence().get(), trial.rho_person().get(), |_| trial.rho_attribute().get())?)
    }

    /// ρ when one person is added or removed.
    ///
    /// # Guarantee
    /// An upper bound \[CKS20\]: each of the d sums and C(d, 2) products moves by 1, and so does the number of people.
    pub fn rho_presence(&self) -> Upper {
        let of = |(sigma, size)| rho_of_gaussian(sigma, ShiftNorms::units(binomial(self.columns, size))).get();
        let [single, pair] = self.parts().map(of);
        Upper::of(up(single + pair + self.people.rho_presence().get()))
    }

    /// ρ when one person is replaced by another, or by one who is not in the table.
    ///
    /// # Guarantee
    /// An upper bound for every pair of people: up to d sums and ⌊d²/4⌋ products turn, each by 2 (if all columns turn,
    /// no product does).
    pub fn rho_person(&self) -> Upper {
        let [single, pair] = self.parts().map(|(sigma, size)| self.rho_of_turned(sigma, size, self.columns));
        Upper::of(up(single + pair + self.people.rho_presence().get())).max(self.rho_presence())
    }

    /// ρ when one person's value of one column changes.
    ///
    /// # Guarantee
    /// Exact: its sum and the d − 1 products that it is in move by 2.
    pub fn rho_attribute(&self) -> Upper {
        let [single, pair] = self.parts().map(|(sigma, size)| self.rho_of_turned(sigma, size, 1));
        Upper::of(up(single + pair))
    }

    fn rho_of_turned(&self, sigma: Sigma, size: usize, bits: usize) -> f64 {
        rho_of_gaussian(sigma, ShiftNorms::units(4 * turned(self.columns, size, bits))).get()
    }

    fn parts(&self) -> [(Sigma, usize); 2] {
        [(self.single, 1), (self.pair, 2)]
    }

    /// What a release did, in the vocabulary of the ledger; `names` are the columns' names.
    ///
    /// # Guarantee
    /// In every scope the events cost at least what is moved there; exactly that for presence and for single
    /// attributes. A change of several attributes is charged all of them.
    pub fn events(&self, names: &[String]) -> Result<Vec<Event>> {
        refuse_if!(names.len() != self.columns, "{} columns have {} names", self.columns, names.len());
        let mut events = self.people.events()?;
        for (sigma, size) in self.parts() {
            let one_each = names.iter().map(|name| (name.as_str(), 1));
            events.extend(parity_events(sigma, self.columns, size, one_each)?);
        }
        Ok(events)
    }

    /// Measures the columns.
    ///
    /// # Guarantee
    /// [`ColumnPairs::rho_presence`], [`ColumnPairs::rho_person`] and [`ColumnPairs::rho_attribute`]; the noise is
    /// exact.
    pub fn release<S: BitSource + ?Sized>(&self, columns: &Bits, bits: &mut S) -> Result<MeasuredPairs> {
        if columns.columns() != self.columns {
            refuse!("the data has {} columns, and the release has {}", columns.columns(), self.columns);
        }
        let people = self.people.noisy(columns.people() as u64, bits);
        let [single, pair] = self.parts().map(|(sigma, size)| {
            let noise = DiscreteGaussian::new(sigma);
            columns.balances(size).into_iter().map(|exact| noise.add_to(exact, bits)).collect::<Vec<i64>>()
        });
        Ok(MeasuredPairs { columns: self.columns, people, single, pair })
    }

    /// The variance of a cell of the unbiased table of one column, or of two (except for the discreteness of the noise,
    /// which only lowers it).
    pub fn cell_variance(&self, columns: usize) -> f64 {
        let people = self.people.sigma().map_or(0.0, |sigma| sigma.get().powi(2));
        let (single, pair) = (self.single.get().powi(2), self.pair.get().powi(2));
        if columns == 1 { (people + single) / 4.0 } else { (people + 2.0 * single + pair) / 16.0 }
    }

    /// Each cell of the unbiased table of one column, or of two, is within this of the truth in 95 of 100 releases:
    /// 1.96 standard deviations, and half a step of its noise.
    pub fn half_width(&self, columns: usize) -> f64 {
        NORMAL_95 * self.cell_variance(columns).sqrt() + 0.25 / columns.max(1) as f64
    }

    /// The root of the mean squared error of a cell of the projected tables of two that is promised for `people`
    /// people, if their noisy number is near.
    ///
    /// # Guarantee
    /// A cell is a quarter of the sum of its four parities, so that its mean square is a sixteenth of the sum of
    /// theirs: σ₀², twice σ₁², and of the product the square of σ₀ + people·[`projected_error`] over the pairs without
    /// the constant column.
    pub fn promised_error(&self, people: u64) -> f64 {
        let (number, d) = (people.max(1) as f64, self.columns as f64);
        let all = projected_error(self.columns + 1, self.pair.get() / number);
        // All of the error might be in the pairs of two real columns; it is no more than all of the noise.
        let share = binomial(self.columns + 1, 2) as f64 / binomial(self.columns, 2) as f64;
        let (single, pair) = (self.single.get().powi(2), self.pair.get().powi(2));
        let sigma = self.people.sigma().map_or(0.0, Sigma::get);
        let product = sigma + (number * all * share.sqrt()).min((pair + 2.0 * single / (d - 1.0)).sqrt());
        ((sigma * sigma + 2.0 * single + product * product) / 16.0).sqrt()
    }

    /// Whether the projection is promised to be nearer than the noise for this many people.
    pub fn pays(&self, people: u64) -> bool {
        projection_pays(self.columns + 1, self.pair.get() / people.max(1) as f64)
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of people, σ₁ and σ₂.
    pub fn noise(&self) -> (People, Sigma, Sigma) {
        (self.people, self.single, self.pair)
    }
}

/// Discrete Gaussian noise on all parities of `size` columns of ±1: what it costs in each scope. Of each attribute the
/// name is given, and how many of the columns are its own.
pub(super) fn parity_events<'a>(
    sigma: Sigma,
    columns: usize,
    size: usize,
    attributes: impl Iterator<Item = (&'a str, usize)>,
) -> Result<Vec<Event>> {
    let word = Word::DiscreteGaussian { sigma };
    let presence = Shift::new(binomial(columns, size), 1.0)?;
    let person = Shift::new(turned(columns, size, columns), 2.0)?;
    let mut events = vec![Event::new(word.clone(), Moves::by_scope(vec![presence], vec![person], Vec::new()))];
    for (name, bits) in attributes {
        let touch = Touch {
            attributes: AttributeSet::new([name.to_string()])?,
            shifts: vec![Shift::new(turned(columns, size, bits), 2.0)?],
        };
        events.push(Event::new(word.clone(), Moves::as_written(Vec::new(), Vec::new(), vec![touch])));
    }
    Ok(events)
}

/// The root of the mean square, over all pairs of `columns` columns of ±1, of the error of projected correlations whose
/// noise has standard deviation σ̄: min(σ̄, √(2σ̄√d/(d − 1))).
///
/// # Guarantee
/// An upper bound on average for Gaussian noise: the projection on a convex set that has the truth in it is no further
/// from it than the noise is; and ‖X̂ − X‖² ≤ ⟨X̂ − X, W⟩, whose mean is at most E sup ⟨X̂, W⟩ ≤ d·E
/// λ_max(W) ≤ 2d^{3/2}σ̄. (Discrete noise of σ ≥ 1 has nearly the same moments.)
///
/// ```
/// use scumble::workload::psd::{projected_error, projection_pays};
/// // 500 columns, 2000 people, ρ = 0.1: noise 0.395, and less than half of that when projected.
/// assert!(projected_error(500, 0.395) < 0.189 && projection_pays(500, 0.395));
/// assert_eq!(projected_error(50, 0.0039), 0.0039);
/// ```
pub fn projected_error(columns: usize, sigma: f64) -> f64 {
    let d = columns as f64;
    sigma.min((2.0 * sigma * d.sqrt() / (d - 1.0)).sqrt())
}

/// Whether [`projected_error`] is below the noise: σ̄ > 2√d/(d − 1).
pub fn projection_pays(columns: usize, sigma: f64) -> bool {
    let d = columns as f64;
    sigma > 2.0 * d.sqrt() / (d - 1.0)
}

/// The noisy numbers of one release; all else is post-processing.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredPairs {
    columns: usize,
    people: i64,
    single: Vec<i64>,
    pair: Vec<i64>,
}

/// A column, and the value that is asked for.
pub type Literal = (usize, bool);

impl MeasuredPairs {
    /// How many people there are: the noisy number, of few people perhaps not above 0; or the public one.
    pub fn people(&self) -> i64 {
        self.people
    }

    /// The unbiased number of people with this value.
    pub fn one(&self, literal: Literal) -> f64 {
        (self.people as f64 + sign(literal) * self.single[literal.0] as f64) / 2.0
    }

    /// The unbiased number of people with both values, of two different columns.
    pub fn both(&self, left: Literal, right: Literal) -> f64 {
        let pair = self.pair[rank(&[left.0.min(right.0), left.0.max(right.0)])] as f64;
        let [x, y] = [left, right].map(sign);
        (self.people as f64 + x * self.single[left.0] as f64 + y * self.single[right.0] as f64 + x * y * pair) / 4.0
    }

    /// Projects the pairs.
    pub fn projected(&self) -> Result<ProjectedPairs> {
        let (size, people) = (self.columns + 1, self.people.max(1) as f64);
        let mut noisy = vec![1.0; size * size];
        let mut set = |row: usize, column: usize, value: i64| {
            noisy[row * size + column] = value as f64 / people;
            noisy[column * size + row] = value as f64 / people;
        };
        self.single.iter().enumerate().for_each(|(column, value)| set(0, column + 1, *value));
        for right in 1..self.columns {
            for left in 0..right {
                set(left + 1, right + 1, self.pair[rank(&[left, right])]);
            }
        }
        Ok(ProjectedPairs { measured: self.clone(), nearest: nearest_correlation(size, &noisy)? })
    }
}

/// −1 for true, 1 for false: how the parity of a column counts for its value.
fn sign(literal: Literal) -> f64 {
    if literal.1 { -1.0 } else { 1.0 }
}

/// The projected pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectedPairs {
    measured: MeasuredPairs,
    nearest: NearestCorrelation,
}

impl ProjectedPairs {
    /// The number of people with both values, of two different columns: their product is the projected one.
    pub fn both(&self, left: Literal, right: Literal) -> f64 {
        let measured = &self.measured;
        let people = measured.people as f64;
        let pair = people.max(1.0) * self.nearest.at(left.0 + 1, right.0 + 1);
        let [x, y] = [left, right].map(sign);
        (people + x * measured.single[left.0] as f64 + y * measured.single[right.0] as f64 + x * y * pair) / 4.0
    }

    /// The matrix and its certificate; its first row and column are those of the constant column.
    pub fn nearest(&self) -> &NearestCorrelation {
        &self.nearest
    }

    /// The projected correlations are at most so far from those of the exact projection: the root of the mean square
    /// over all entries.
    pub fn distance(&self) -> f64 {
        (2.0 * self.nearest.gap).sqrt() / (self.measured.columns + 1) as f64
    }
}

#[cfg(test)]
mod tests;
