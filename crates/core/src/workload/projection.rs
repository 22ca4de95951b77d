//! The projection mechanism: noisy answers to a workload, projected onto the answers that some table can give.
//!
//! Theorem 11 of \[GKMS\]. All privacy is in the noise, so the cost is Δ²/(2σ²) with Δ computed for the workload and the scope at hand.
//! The projection is a least-squares problem over tables of so many people, solved by accelerated gradient steps until the
//! duality gap proves that nothing is left to gain.

use super::domain::Subset;
use super::query::Queries;
use super::transform;
use crate::error::{Error, Result};
use crate::event::{Event, Kind, Moves, Shift, Touch};
use crate::noise::{BitSource, DiscreteGaussian};
use crate::quantity::Sigma;

/// Noisy answers to a workload, made consistent.
#[derive(Debug, Clone, PartialEq)]
pub struct Projection {
    queries: Queries,
    sigma: Sigma,
}

/// Answers that a table of non-negative counts gives, with that table.
#[derive(Debug, Clone, PartialEq)]
pub struct Projected {
    /// The answers, in the order of the workload.
    pub answers: Vec<f64>,
    /// A table that gives them.
    pub cells: Vec<f64>,
    /// At most how far the squared distance from the noisy answers is above the least possible one, halved.
    pub gap: f64,
}

/// Steps after which the projection is taken as it is, with the gap that it has.
const MOST_STEPS: usize = 2000;

impl Projection {
    /// Noise of this σ on every answer.
    pub fn new(queries: Queries, sigma: Sigma) -> Self {
        Self { queries, sigma }
    }

    /// ρ when one person's values of these attributes change.
    ///
    /// # Guarantee
    /// The release is ρ-zCDP for datasets of the same size that differ in these attributes of one person.
    pub fn rho(&self, attributes: Subset) -> f64 {
        self.queries.squared_sensitivity(attributes) as f64 / (2.0 * self.sigma.get().powi(2)) * (1.0 + 1e-15)
    }

    /// ρ when one person is replaced by another.
    ///
    /// # Guarantee
    /// As [`Projection::rho`] with all attributes.
    pub fn rho_person(&self) -> f64 {
        self.rho(self.queries.domain().all())
    }

    /// ρ when one person is added or removed, if the number of people that [`Projection::release`] is told is itself private.
    ///
    /// # Guarantee
    /// As [`Projection::rho`] for datasets that differ in one person's presence; the number of people has to be paid for by itself
    /// ([`super::People`]).
    pub fn rho_presence(&self) -> f64 {
        self.queries.squared_sensitivity_presence() as f64 / (2.0 * self.sigma.get().powi(2)) * (1.0 + 1e-15)
    }

    /// What a release did, in the vocabulary of the ledger; `names` are the attributes' names.
    ///
    /// # Guarantee
    /// In every scope the events cost at least what [`Projection::rho_presence`], [`Projection::rho_person`] and [`Projection::rho`] state:
    /// exactly that for presence and person, and for every set of attributes of a workload of marginals.
    pub fn events(&self, names: &[String]) -> Result<Vec<Event>> {
        let kind = Kind::DiscreteGaussian { sigma: self.sigma };
        let moved = |answers: u64| Ok::<Vec<Shift>, Error>(vec![Shift::new(answers, 1.0)?]);
        let presence = moved(self.queries.squared_sensitivity_presence())?;
        let person = moved(self.queries.squared_sensitivity(self.queries.domain().all()))?;
        let mut events = vec![
            Event::new(kind.clone(), Moves::by_scope(presence, Vec::new(), Vec::new())),
            Event::new(kind.clone(), Moves::by_scope(Vec::new(), person, Vec::new())),
        ];
        for (table, answers) in self.queries.moved_by_table() {
            let touch = Touch { attributes: table.named(names)?, shifts: moved(answers)? };
            events.push(Event::new(kind.clone(), Moves::by_scope(Vec::new(), Vec::new(), vec![touch])));
        }
        Ok(events)
    }

    /// The σ of the noise on each answer.
    pub fn sigma(&self) -> Sigma {
        self.sigma
    }

    /// The workload.
    pub fn queries(&self) -> &Queries {
        &self.queries
    }

    /// The root of the mean squared error to expect for a table of `people` people (equation (2) of \[GKMS\]): at most σ, and at most
    /// √(σΔ√(2 ln|X|)·people/m) for a workload of m queries, which is better for few people.
    pub fn expected_error(&self, people: u64) -> f64 {
        let sigma = self.sigma.get();
        let diameter = (self.queries.squared_sensitivity(self.queries.domain().all()) as f64).sqrt() * people as f64;
        let cells = self.queries.domain().cells() as f64;
        let projected = sigma * diameter * (2.0 * cells.ln()).sqrt() / self.queries.len() as f64;
        sigma.min(projected.sqrt())
    }

    /// Answers the workload on a table of counts of `people` people: their number is public among attributes and persons; where presence is
    /// to be protected as well, tell it as [`super::People`] releases it.
    ///
    /// # Guarantee
    /// [`Projection::rho`]; the noise is exact, and the projection sees nothing but noisy answers and the number of people.
    pub fn release<S: BitSource + ?Sized>(&self, counts: &[u64], people: u64, bits: &mut S) -> Result<Projected> {
        if counts.len() != self.queries.domain().cells() {
            return Err(Error::refused(format!(
                "the table has {} counts, but the domain has {} cells",
                counts.len(),
                self.queries.domain().cells()
            )));
        }
        let noise = DiscreteGaussian::new(self.sigma);
        let exact = self.queries.answers(counts);
        let noisy: Vec<f64> =
            exact.iter().map(|&answer| noise.add_to(i64::try_from(answer).unwrap_or(i64::MAX), bits) as f64).collect();
        // Closer than the noise by far is close enough.
        let enough = 1e-4 * self.sigma.get().powi(2) * self.queries.len() as f64;
        Ok(projected(&self.queries, &noisy, people as f64, enough))
    }
}

/// The point of {answers of tables of `people` people} nearest to `target`, up to a duality gap.
pub(super) fn projected(queries: &Queries, target: &[f64], people: f64, enough: f64) -> Projected {
    let cells = queries.domain().cells();
    let slope = Slope::new(queries, target);
    let step = 1.0 / slope.largest_eigenvalue();
    let mut current = vec![people / cells as f64; cells];
    let (mut ahead, mut momentum) = (current.clone(), 1.0f64);
    let mut best = (f64::INFINITY, current.clone());
    for turn in 0..MOST_STEPS {
        let gradient = slope.at(&ahead);
        let moved: Vec<f64> = ahead.iter().zip(&gradient).map(|(cell, slope)| cell - step * slope).collect();
        let next = onto_simplex(moved, people);
        let faster = f64::midpoint(1.0, (1.0 + 4.0 * momentum * momentum).sqrt());
        let carry = (momentum - 1.0) / faster;
        // Restart where the momentum points uphill.
        let uphill: f64 = gradient.iter().zip(next.iter().zip(&current)).map(|(s, (new, old))| s * (new - old)).sum();
        if uphill > 0.0 {
            (ahead, momentum) = (next.clone(), 1.0);
        } else {
            ahead = next.iter().zip(&current).map(|(new, old)| new + carry * (new - old)).collect();
            momentum = faster;
        }
        current = next;
        if turn % 20 == 19 {
            let gap = duality_gap(&slope.at(&current), &current, people);
            if gap < best.0 {
                best = (gap, current.clone());
            }
            if gap <= enough {
                break;
            }
        }
    }
    Projected { answers: queries.answers(&best.1), cells: best.1, gap: best.0 }
}

/// The gradient of ½‖Qx − y‖², that is QᵀQx − Qᵀy. For marginals QᵀQ is diagonal in a basis with a fast transform.
struct Slope<'a> {
    queries: &'a Queries,
    spectrum: Option<Vec<f64>>,
    /// Qᵀy
    pull: Vec<f64>,
}

impl<'a> Slope<'a> {
    fn new(queries: &'a Queries, target: &[f64]) -> Self {
        Self { queries, spectrum: queries.spectrum(), pull: queries.weighted(target) }
    }

    /// QᵀQx
    fn image(&self, table: &[f64]) -> Vec<f64> {
        let Some(spectrum) = &self.spectrum else { return self.queries.weighted(&self.queries.answers(table)) };
        let mut image = table.to_vec();
        transform::forward(self.queries.domain(), &mut image);
        image.iter_mut().zip(spectrum).for_each(|(coefficient, eigenvalue)| *coefficient *= eigenvalue);
        transform::inverse(self.queries.domain(), &mut image);
        image
    }

    fn at(&self, table: &[f64]) -> Vec<f64> {
        let mut slope = self.image(table);
        slope.iter_mut().zip(&self.pull).for_each(|(slope, pull)| *slope -= pull);
        slope
    }

    /// An upper estimate of the largest eigenvalue of QᵀQ: known for marginals, by power iteration else.
    fn largest_eigenvalue(&self) -> f64 {
        if let Some(spectrum) = &self.spectrum {
            return spectrum.iter().copied().fold(1.0, f64::max);
        }
        let mut vector = vec![1.0; self.queries.domain().cells()];
        let mut value = 1.0;
        for _ in 0..30 {
            let image = self.image(&vector);
            value = image.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
            if value == 0.0 {
                return 1.0;
            }
            vector = image.iter().map(|entry| entry / value).collect();
        }
        value * 1.05
    }
}

/// ⟨∇, x⟩ − min_u people·∇_u: at most this much can still be gained.
fn duality_gap(gradient: &[f64], cells: &[f64], people: f64) -> f64 {
    let here: f64 = gradient.iter().zip(cells).map(|(slope, cell)| slope * cell).sum();
    let least = gradient.iter().copied().fold(f64::INFINITY, f64::min);
    here - people * least
}

/// The nearest non-negative point with this sum: all is lowered by the same shift, and what would fall below 0 is left out, until nothing
/// more is (Michelot 1986).
fn onto_simplex(mut point: Vec<f64>, sum: f64) -> Vec<f64> {
    let mut shift = f64::NEG_INFINITY;
    loop {
        let (mut total, mut number) = (0.0, 0.0);
        for &value in point.iter().filter(|value| **value > shift) {
            total += value;
            number += 1.0;
        }
        let next = (total - sum) / number;
        // The shift only rises, and stops once the same values are above it; rounding must not make it go on.
        if number == 0.0 || next <= shift {
            break;
        }
        shift = next;
    }
    point.iter_mut().for_each(|value| *value = (*value - shift).max(0.0));
    point
}

#[cfg(test)]
mod tests {
    use super::super::{Domain, Query};
    use super::*;
    use crate::noise::InsecureSeededSource;
    use serde_json::Value;

    fn choose(n: u64, k: u64) -> u64 {
        if k > n { 0 } else { (0..k).fold(1, |product, i| product * (n - i) / (i + 1)) }
    }

    #[test]
    fn sensitivities_are_those_of_the_vectors() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/partial.json");
        let vectors: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let rows = vectors["projection"]["subset"].as_array().unwrap();
        assert!(rows.len() > 10);
        for row in rows {
            let number = |key: &str| row[key].as_u64().unwrap() as usize;
            let (d, k, changed) = (number("d"), number("k"), number("changed"));
            let domain = Domain::new(vec![2; d]).unwrap();
            let scope = Subset::of(&(0..changed).collect::<Vec<_>>());
            let conjunctions = Queries::conjunctions(&domain, k).unwrap().squared_sensitivity(scope);
            assert_eq!(conjunctions, number("conj_sq") as u64, "{row}");
            // Exactly w flips change Σ_{i odd} C(w, i)·C(d−w, k−i) parities; a scope is the worst of up to so many flips.
            let exactly = |w: u64| {
                (1..=k as u64).step_by(2).map(|i| choose(w, i) * choose(d as u64 - w, k as u64 - i)).sum::<u64>()
            };
            assert_eq!(exactly(changed as u64), number("parity01_sq") as u64, "{row}");
            let parities = Queries::parities(&domain, k).unwrap().squared_sensitivity(scope);
            assert_eq!(parities, (0..=changed as u64).map(exactly).max().unwrap(), "{row}");
        }
        // k = 2 of d = 6: flipping all changes nothing, flipping half changes ⌊d²/4⌋ = 9 of 15.
        let pairs = Queries::parities(&Domain::new(vec![2; 6]).unwrap(), 2).unwrap();
        assert_eq!(pairs.squared_sensitivity(pairs.domain().all()), 9);
        assert_eq!(pairs.squared_sensitivity(Subset::of(&[3])), 5);
    }

    #[test]
    fn no_pair_of_records_moves_more_answers_than_stated() {
        let domain = Domain::new(vec![3, 2, 2, 2]).unwrap();
        let odd = vec![
            Query::conjunction(&domain, &[(0, 1), (1, 0)]).unwrap(),
            Query::conjunction(&domain, &[(0, 2), (1, 1)]).unwrap(),
            Query::parity(&domain, &[1, 2]).unwrap(),
            Query::parity(&domain, &[1, 2, 3]).unwrap(),
            Query::conjunction(&domain, &[(3, 1)]).unwrap(),
        ];
        for queries in [Queries::new(&domain, odd).unwrap(), Queries::marginals(&domain, 2).unwrap()] {
            let answers = |cell: usize| {
                let mut one = vec![0i64; domain.cells()];
                one[cell] = 1;
                queries.answers(&one)
            };
            let all: Vec<Vec<i64>> = (0..domain.cells()).map(answers).collect();
            for scope in domain.all().subsets() {
                let mut worst = 0;
                for left in 0..domain.cells() {
                    for right in 0..left {
                        let (a, b) = (domain.values(left), domain.values(right));
                        if (0..4).all(|attribute| scope.contains(attribute) || a[attribute] == b[attribute]) {
                            let moved = all[left].iter().zip(&all[right]).filter(|(x, y)| x != y).count() as u64;
                            worst = worst.max(moved);
                        }
                    }
                }
                assert!(worst <= queries.squared_sensitivity(scope), "{scope}");
            }
            let presence = all.iter().map(|answers| answers.iter().sum::<i64>()).max().unwrap() as u64;
            assert!(presence <= queries.squared_sensitivity_presence());
        }
    }

    #[test]
    fn the_projection_is_consistent_and_closer_to_the_truth_than_the_noise() {
        let domain = Domain::new(vec![2; 6]).unwrap();
        let counts: Vec<u64> = (0..64).map(|cell: u64| if cell.is_multiple_of(5) { 40 } else { 0 }).collect();
        let people = counts.iter().sum();
        let queries = Queries::conjunctions(&domain, 2).unwrap();
        let exact = queries.answers(&counts);
        let mechanism = Projection::new(queries, Sigma::new(60.0).unwrap());
        let mut bits = InsecureSeededSource::new(2);
        let mut squares = 0.0;
        for _ in 0..20 {
            let released = mechanism.release(&counts, people, &mut bits).unwrap();
            assert!(released.cells.iter().all(|cell| *cell >= 0.0));
            assert!((released.cells.iter().sum::<f64>() - people as f64).abs() < 1e-6 * people as f64);
            let error = |(answer, &exact): (&f64, &u64)| (answer - exact as f64).powi(2);
            squares += released.answers.iter().zip(&exact).map(error).sum::<f64>() / exact.len() as f64 / 20.0;
        }
        assert!(squares.sqrt() < 0.9 * 60.0, "the projected error is {}", squares.sqrt());
        assert!(squares.sqrt() <= mechanism.expected_error(people) * 1.1);
    }

    #[test]
    fn a_point_is_projected_onto_the_simplex() {
        assert_eq!(onto_simplex(vec![0.5, 0.5], 1.0), [0.5, 0.5]);
        assert_eq!(onto_simplex(vec![3.0, 0.0], 1.0), [1.0, 0.0]);
        assert_eq!(onto_simplex(vec![1.0, 1.0, -5.0], 1.0), [0.5, 0.5, 0.0]);
        // One shift for all that stay, and no smaller shift would do.
        let point: Vec<f64> = (0..1000).map(|i| f64::from(i * 7919 % 1000) / 10.0).collect();
        let nearest = onto_simplex(point.clone(), 30.0);
        assert!((nearest.iter().sum::<f64>() - 30.0).abs() < 1e-9 && nearest.iter().all(|value| *value >= 0.0));
        let shift =
            point.iter().zip(&nearest).find(|(_, near)| **near > 0.0).map(|(value, near)| value - near).unwrap();
        assert!(point.iter().zip(&nearest).all(|(value, near)| ((value - shift).max(0.0) - near).abs() < 1e-9));
    }

    #[test]
    fn the_slope_of_marginals_by_transform_is_the_one_by_definition() {
        for (sizes, order) in [(vec![3, 2, 4], 2), (vec![2, 2, 2, 2], 3), (vec![5, 1, 2], 1), (vec![3], 1)] {
            let domain = Domain::new(sizes).unwrap();
            let queries = Queries::marginals(&domain, order).unwrap();
            let table: Vec<f64> = (0..domain.cells()).map(|cell| (cell * 37 % 11) as f64).collect();
            let target: Vec<f64> = (0..queries.len()).map(|query| (query * 17 % 7) as f64).collect();
            let fast = Slope::new(&queries, &target);
            assert!(fast.spectrum.is_some());
            let slow = Slope { spectrum: None, queries: &queries, pull: fast.pull.clone() };
            let (one, other) = (fast.at(&table), slow.at(&table));
            assert!(one.iter().zip(&other).all(|(one, other)| (one - other).abs() < 1e-9), "{one:?} {other:?}");
            assert!(fast.largest_eigenvalue() <= slow.largest_eigenvalue() * (1.0 + 1e-9));
        }
        let odd = Queries::conjunctions(&Domain::new(vec![2; 3]).unwrap(), 2).unwrap();
        assert!(odd.spectrum().is_none());
    }
}
