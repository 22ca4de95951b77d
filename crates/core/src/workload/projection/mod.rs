//! The projection mechanism: noisy answers to a workload, projected onto the answers that some table can give.
//!
//! Theorem 11 of \[GKMS\]. All privacy is in the noise, so the cost is Δ²/(2σ²) with Δ computed for the workload and
//! the scope at hand. The projection is a least-squares problem over tables with that number of people, solved until a
//! duality gap over the whole universe proves that nothing worth mentioning is left to gain.
//!
//! What the gap ξ costs: with K the answers of tables of n people, y = Q(x) + w the noisy ones and ŷ ∈ K of gap ξ,
//! ‖ŷ − Q(x)‖² ≤ ⟨ŷ − Q(x), w⟩ + ξ. Both ŷ and Q(x) lie in K, so that only the part of w along K's D dimensions counts:
//! * ⟨a, w⟩ ≤ ½‖a‖² + ½‖w‖² gives ‖ŷ − Q(x)‖² ≤ ‖w‖² + 2ξ, on average at most σ²D + 2ξ;
//! * the maximum over K's corners gives σΔn√(2 ln|X|) + ξ on average.
//!
//! Here ξ is at most σ²D/100, so that the first bound grows by at most 2 %. (Theorem 11 of \[GKMS\] has ξ = 0, and the
//! number of answers m in place of D ≤ m.)

use super::NORMAL_95;
use super::domain::Subset;
use super::predicate::Queries;
use crate::calibrate::{ShiftNorms, rho_of_gaussian};
use crate::error::{Error, Result};
use crate::event::{Event, Shift, Word, charged_by_scope};
use crate::noise::{BitSource, DiscreteGaussian};
use crate::quantity::{Sigma, Upper};

mod corral;
mod mixture;
mod nearest;
mod steps;

/// Noisy answers to a workload, made consistent.
#[derive(Debug, Clone, PartialEq)]
pub struct Projection {
    queries: Queries,
    sigma: Sigma,
}

/// Answers that a table of non-negative counts gives, with that table.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectedAnswers {
    /// The answers, in the order of the workload.
    pub answers: Vec<f64>,
    /// A table that gives them.
    pub cells: Vec<f64>,
    /// The noisy answers themselves: unbiased, and consistent with nothing.
    pub noisy: Vec<f64>,
    /// ξ, the duality gap over the whole universe: half the squared distance from the noisy answers is at most this
    /// much above the least possible one, and the squared distance from the nearest answers themselves is at most this
    /// (up to f64 rounding).
    pub gap: f64,
}

/// The share of the noise's squared length that the gap may have.
const SHARE_OF_NOISE: f64 = 0.01;

impl Projection {
    /// Noise of this σ on every answer.
    pub fn new(queries: Queries, sigma: Sigma) -> Self {
        Self { queries, sigma }
    }

    /// ρ when one person's values of these attributes change.
    ///
    /// # Guarantee
    /// The release is ρ-zCDP for datasets of the same size that differ in these attributes of one person.
    pub fn rho(&self, attributes: Subset) -> Upper {
        rho_of_gaussian(self.sigma, ShiftNorms::units(self.queries.squared_sensitivity(attributes)))
    }

    /// ρ when one person is replaced by another, or by one who is not in this table.
    ///
    /// # Guarantee
    /// The larger of [`Projection::rho`] with all attributes and [`Projection::rho_presence`].
    pub fn rho_person(&self) -> Upper {
        self.rho(self.queries.domain().all()).max(self.rho_presence())
    }

    /// ρ when one person is added or removed, if the number of people that [`Projection::release`] is given is itself
    /// private.
    ///
    /// # Guarantee
    /// As [`Projection::rho`] for datasets that differ in one person's presence; the number of people has to be paid
    /// for by itself ([`super::People`]).
    pub fn rho_presence(&self) -> Upper {
        rho_of_gaussian(self.sigma, ShiftNorms::units(self.queries.squared_sensitivity_presence()))
    }

    /// What a release did, in the vocabulary of the ledger; `names` are the attributes' names.
    ///
    /// # Guarantee
    /// In every scope the events cost at least what [`Projection::rho_presence`], [`Projection::rho_person`] and
    /// [`Projection::rho`] state: exactly that for presence and person, and for every set of attributes of a workload
    /// of marginals.
    pub fn events(&self, names: &[String]) -> Result<Vec<Event>> {
        let word = Word::DiscreteGaussian { sigma: self.sigma };
        let moved = |answers: u64| Ok::<Vec<Shift>, Error>(vec![Shift::new(answers, 1.0)?]);
        let (left, replaced) = (
            self.queries.squared_sensitivity_presence(),
            self.queries.squared_sensitivity(self.queries.domain().all()),
        );
        let (presence, person) = (moved(left)?, moved(replaced.max(left))?);
        let changes = self.queries.moved_by_table();
        let changes =
            changes.into_iter().map(|(table, answers)| Ok((table.named(names)?, (word.clone(), moved(answers)?))));
        let changes = changes.collect::<Result<_>>()?;
        charged_by_scope((word.clone(), presence), (word, person), changes)
    }

    /// The σ of the noise on each answer.
    pub fn sigma(&self) -> Sigma {
        self.sigma
    }

    /// The workload.
    pub fn queries(&self) -> &Queries {
        &self.queries
    }

    /// The root of the mean squared error to expect for a table of `people` people (equation (2) of \[GKMS\]) with m
    /// queries: √(σ² + 2ξ/m), or √((σΔ·people·√(2 ln|X|) + ξ)/m), which is better for few people; ξ is the gap at which
    /// the projection ends.
    ///
    /// # Guarantee
    /// An upper bound if the release is given the true number of people and ends with a [`ProjectedAnswers::gap`] of at
    /// most ξ = σ²D/100.
    pub fn expected_error(&self, people: u64) -> f64 {
        let (sigma, gap, queries) = (self.sigma.get(), self.enough(), self.queries.len() as f64);
        let diameter = (self.queries.squared_sensitivity(self.queries.domain().all()) as f64).sqrt() * people as f64;
        let cells = self.queries.domain().cells() as f64;
        let projected = sigma * diameter * (2.0 * cells.ln()).sqrt();
        (sigma * sigma + 2.0 * gap / queries).min((projected + gap) / queries).sqrt()
    }

    /// Answers the workload on a table of counts of `people` people: their number is public among attributes; where
    /// presence or persons are to be protected, tell it as [`super::People`] releases it.
    ///
    /// # Guarantee
    /// [`Projection::rho`]; the noise is exact, and the projection sees nothing but noisy answers and the number of
    /// people.
    pub fn release<S: BitSource + ?Sized>(
        &self,
        counts: &[u64],
        people: u64,
        bits: &mut S,
    ) -> Result<ProjectedAnswers> {
        if counts.len() != self.queries.domain().cells() {
            refuse!(
                "the table has {} counts, but the domain has {} cells",
                counts.len(),
                self.queries.domain().cells()
            );
        }
        let noise = DiscreteGaussian::new(self.sigma);
        let exact = self.queries.answers(counts);
        let noisy: Vec<f64> =
            exact.iter().map(|&answer| noise.add_to(i64::try_from(answer).unwrap_or(i64::MAX), bits) as f64).collect();
        let mut found = projected(&self.queries, &noisy, people as f64, self.enough());
        found.noisy = noisy;
        Ok(found)
    }

    /// The unbiased estimate of a marginal table from the noisy answers: the table itself where all of its cells were
    /// asked for, and else the mean of the sums of all larger ones, by the inverse of their variances; None if no such
    /// table was asked for.
    pub fn marginal(&self, noisy: &[f64], table: Subset) -> Option<Vec<f64>> {
        let domain = self.queries.domain();
        let sums = self.sums(table);
        let weight: f64 = sums.iter().map(|(_, _, weight)| weight).sum();
        let mut estimate = vec![0.0; domain.table_cells(table)];
        for (larger, first, own) in &sums {
            let inside = larger.iter().enumerate().filter(|(_, attribute)| table.contains(*attribute));
            let inside: Vec<usize> = inside.map(|(position, _)| position).collect();
            let answers = noisy.get(*first..*first + domain.table_cells(*larger))?;
            let sum = domain.of(*larger).marginal(answers, Subset::of(&inside));
            estimate.iter_mut().zip(sum).for_each(|(cell, sum)| *cell += own / weight * sum);
        }
        (!sums.is_empty()).then_some(estimate)
    }

    /// The variance of each cell of [`Projection::marginal`] (except for the discreteness of the noise, which only
    /// lowers it).
    pub fn cell_variance(&self, table: Subset) -> Option<f64> {
        let weight: f64 = self.sums(table).iter().map(|(_, _, weight)| weight).sum();
        (weight > 0.0).then(|| self.sigma.get().powi(2) / weight)
    }

    /// Each cell of [`Projection::marginal`] is within this of the truth in 95 of 100 releases: 1.96 standard
    /// deviations, and half a step of its noise.
    pub fn half_width(&self, table: Subset) -> Option<f64> {
        Some(NORMAL_95 * self.cell_variance(table)?.sqrt() + 0.5)
    }

    /// The tables with all cells asked for that have these attributes, with the place of their first answer, and the
    /// inverse of the variance of a sum of their cells in units of 1/σ².
    fn sums(&self, table: Subset) -> Vec<(Subset, usize, f64)> {
        let cells = |table: Subset| self.queries.domain().table_cells(table) as f64;
        let whole = self.queries.whole_tables().into_iter().filter(|(larger, _)| table.is_within(*larger));
        whole.map(|(larger, first)| (larger, first, cells(table) / cells(larger))).collect()
    }

    /// How far the answers are at most from the exact projection of the noisy ones: the root of the mean square, given
    /// the gap.
    pub fn distance(&self, gap: f64) -> f64 {
        (gap / self.queries.len() as f64).sqrt()
    }

    /// σ²D: the squared length of the noise, on average, along the D dimensions that answers have.
    pub fn squared_noise(&self) -> f64 {
        self.sigma.get().powi(2) * self.queries.dimension() as f64
    }

    /// ξ: the gap at which the projection is near enough.
    fn enough(&self) -> f64 {
        SHARE_OF_NOISE * self.squared_noise()
    }
}

/// The point of {answers of tables of `people` people} nearest to `target`, up to a duality gap of `enough`.
fn projected(queries: &Queries, target: &[f64], people: f64, enough: f64) -> ProjectedAnswers {
    let cells = queries.domain().cells();
    if people <= 0.0 {
        // Nobody: there is one table only.
        return ProjectedAnswers {
            answers: vec![0.0; target.len()],
            cells: vec![0.0; cells],
            noisy: Vec::new(),
            gap: 0.0,
        };
    }
    let shares: Vec<f64> = target.iter().map(|answer| answer / people).collect();
    let nearest = nearest::nearest(queries, &shares, enough / (people * people));
    let even: f64 = nearest.weights.iter().filter(|(cell, _)| cell.is_none()).map(|(_, weight)| weight).sum();
    let mut table = vec![even * people / cells as f64; cells];
    for (cell, weight) in nearest.weights {
        cell.into_iter().for_each(|cell| table[cell] += weight * people);
    }
    let answers = nearest.answers.iter().map(|answer| answer * people).collect();
    ProjectedAnswers { answers, cells: table, noisy: Vec::new(), gap: nearest.gap * people * people }
}

#[cfg(test)]
mod tests;
