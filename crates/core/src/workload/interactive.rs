//! Many questions, one after the other, each chosen after seeing the answers before it: online private multiplicative
//! weights (Hardt and Rothblum 2010; \[Vad17\] 7.4.3).
//!
//! A public model h of who the owners are answers a question q with e = N·h(q), rounded. Sparse vector
//! ([`SparseVector`]) tests whether that is off by about a threshold T or more. If not, e is the answer, and costs
//! nothing more. If it is, the count is measured with noise, the model learns from it (h(w) ← h(w)·e^{4g·sign·q(w)}, g
//! the share by which it was off), and a new round opens.
//!
//! Each round costs ε₁ + ε₂ for the test and ε₃ for the measurement, and is **charged when it opens**. An update lowers
//! the distance of the data from the model by at least 2g², so that U = N²·ln|X|/2G² updates are enough for a gap of G;
//! the survey's step is an eighth of ours and needs 4.27 times as many. ([`InteractiveParameters`] has all numbers of
//! the plan.)
//!
//! By what can be promised this is almost never the best way: [`direct_error`] of noise on every answer and
//! [`histogram_error`] of a noisy table of everything are smaller for up to billions of questions. It is for people who
//! do not know their questions yet. [`mwem`](super::mwem) is better wherever they are known.

use crate::calibrate::{ShiftNorms, Target, epsilon_for_pure, scale_for_pure};
use crate::error::{Error, Result};
use crate::event::{Event, Word};
use crate::mechanism::selection::ScoreChange;
use crate::mechanism::smooth::OwnerSteps;
use crate::mechanism::sparse_vector::{SparseVector, ThresholdNoise, exceeded};
use crate::noise::{BitSource, DiscreteLaplace};
use crate::quantity::{Beta, Epsilon, Scale};
use crate::scope::{AttributeSet, Scope};
use std::borrow::Borrow;

/// Models of more cells are refused.
pub const MOST_CELLS: u64 = 10_000_000;
/// Fewer owners than this are counted.
const MOST_PEOPLE: u64 = 1 << 40;
/// The part of a round's ε that measures; the rest tests.
const MEASURING: f64 = 0.3;
/// More updates would cost more noise than they could mend.
const MOST_UPDATES: u64 = 1_000_000;

/// A plan for questions one after the other.
///
/// ```
/// use scumble::quantity::{beta, epsilon};
/// use scumble::noise::InsecureSeededSource;
/// use scumble::workload::interactive::{Reply, InteractivePlan, LinearQuery, CellWeights};
/// use scumble::{Scope, Target};
/// let plan = InteractivePlan::within(Target::pure(epsilon(3.0)?), Scope::Person, 4, 100_000, 50, 3, beta(0.05)?)?;
/// let (counts, mut model) = ([70_000, 10_000, 10_000, 10_000], CellWeights::uniform(4));
/// let mut bits = InsecureSeededSource::new(1);
/// let question = LinearQuery::of([true, false, false, false]);
/// let round = plan.open(&mut bits);
/// let (count, share) = model.look(&question, &counts);
/// let expected = plan.expected(share);
/// assert_eq!(expected, 25_000);
/// match plan.ask(round, count, expected, &mut bits) {
///     Reply::Model(_round) => assert!(count.abs_diff(expected) <= plan.promise().error),
///     Reply::Measured(noisy) => model.update(&question, plan.step(noisy, expected)),
/// }
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct InteractivePlan {
    total: u64,
    updates: u64,
    test: SparseVector,
    measured: DiscreteLaplace,
    promise: InteractiveParameters,
}

/// The numbers of a plan. With probability 1 − β the updates are enough, and every answer is within `error`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InteractiveParameters {
    /// ε₁, for the secret of the threshold.
    pub epsilon_threshold: Epsilon,
    /// ε₂, for the noise on each test.
    pub epsilon_question: Epsilon,
    /// ε₃, for a measured answer.
    pub epsilon_answer: Epsilon,
    /// t_ρ: the secret is within this.
    pub slack_threshold: u64,
    /// t_ν: the noise on each test is within this.
    pub slack_question: u64,
    /// t_a: a measured answer is within this.
    pub slack_answer: u64,
    /// G: whatever is measured was off by at least this.
    pub gap: f64,
    /// T.
    pub threshold: u64,
    /// T + t_ρ + t_ν: an answer of the model is within this.
    pub error: u64,
}

/// What comes of a question.
#[derive(Debug)]
pub enum Reply {
    /// The model's own answer is near enough; the round goes on.
    Model(ThresholdNoise),
    /// The count with noise; the round is over.
    Measured(i64),
}

impl InteractivePlan {
    /// All rounds within the target in `scope`, for `questions` questions about `total` owners in a universe of
    /// `cells`, with this many updates and a promise that fails with probability β.
    ///
    /// # Guarantee
    /// [`InteractivePlan::events`] cost at most `target` in `scope`, if the questions read what it is about.
    pub fn within(
        target: Target,
        scope: impl Borrow<Scope>,
        cells: u64,
        total: u64,
        questions: u64,
        updates: u64,
        beta: Beta,
    ) -> Result<Self> {
        let each = epsilon_for_pure(of_one_step(target, scope.borrow())?, ShiftNorms::units(updates.max(1)))?;
        Self::rounds(cells, total, questions, updates, each, beta)
    }

    /// Each round at ε.
    fn rounds(cells: u64, total: u64, questions: u64, updates: u64, epsilon: Epsilon, beta: Beta) -> Result<Self> {
        if !(1..=MOST_CELLS).contains(&cells) {
            refuse!(
                "interactive questions need 1 to 10^7 combinations of values, not {cells}: leave columns out or join \
                    values"
            );
        }
        if !(1..=MOST_UPDATES).contains(&updates) {
            refuse!("a model is updated 1 to {MOST_UPDATES} times, not {updates}");
        }
        if questions == 0 || !(1..MOST_PEOPLE).contains(&total) {
            refuse!("interactive questions need at least one question, and 1 to 2^40 owners, declared or released");
        }
        let answer = epsilon.get() * MEASURING;
        // Rounded down, so that both parts together are not above ε.
        let testing = Target::pure(Epsilon::new((epsilon.get() - answer).next_down())?);
        let answer = Epsilon::new(answer)?;
        let test = SparseVector::within(testing, Scope::Presence, ScoreChange::General)?;
        let measured = DiscreteLaplace::new(scale_for_pure(answer, ShiftNorms::units(1))?);
        let third = |parts: u64| Beta::new(beta.get() / 3.0 / parts as f64);
        let (slack_threshold, slack_question) = test.slacks(third(updates)?, third(questions)?);
        let slack_answer = exceeded(measured.scale(), third(updates)?);
        let enough = total as f64 * ((cells as f64).ln() / (2.0 * updates as f64)).sqrt();
        // The sign of an update must be right: where the noise of a measurement is larger than the gap that updates
        // allow, a larger gap needs fewer.
        let gap = if enough > slack_answer as f64 { enough } else { slack_answer as f64 + 1.0 };
        let threshold = (gap + 0.5 + slack_threshold as f64 + slack_question as f64).ceil() as u64;
        let (epsilon_threshold, epsilon_question) = test.epsilons();
        let promise = InteractiveParameters {
            epsilon_threshold,
            epsilon_question,
            epsilon_answer: answer,
            slack_threshold,
            slack_question,
            slack_answer,
            gap,
            threshold,
            error: threshold + slack_threshold + slack_question,
        };
        Ok(Self { total, updates, test, measured, promise })
    }

    /// All rounds within the target in `scope`, with the number of updates that has the smallest promised error.
    ///
    /// # Guarantee
    /// As for [`InteractivePlan::within`].
    ///
    /// ```
    /// use scumble::quantity::{beta, epsilon};
    /// use scumble::workload::interactive::InteractivePlan;
    /// use scumble::{Scope, Target};
    /// let target = Target::pure(epsilon(1.0)?);
    /// let plan = InteractivePlan::best_within(target, Scope::Person, 1024, 100_000, 1000, beta(0.05)?)?;
    /// let other = InteractivePlan::within(target, Scope::Person, 1024, 100_000, 1000, 1000, beta(0.05)?)?;
    /// assert!(plan.promise().error < other.promise().error);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn best_within(
        target: Target,
        scope: impl Borrow<Scope>,
        cells: u64,
        total: u64,
        questions: u64,
        beta: Beta,
    ) -> Result<Self> {
        let epsilon = of_one_step(target, scope.borrow())?;
        // Numbers that are 2% apart: nobody needs the best to the last update.
        let next = |updates: &u64| Some(updates + (updates / 50).max(1)).filter(|updates| *updates <= 100_000);
        let plans = std::iter::successors(Some(1u64), next).map(|updates| {
            let each = epsilon_for_pure(epsilon, ShiftNorms::units(updates))?;
            Self::rounds(cells, total, questions, updates, each, beta)
        });
        let mut best: Option<Self> = None;
        for plan in plans {
            let plan = plan?;
            if best.as_ref().is_none_or(|best| plan.promise.error < best.promise.error) {
                best = Some(plan);
            }
        }
        best.ok_or_else(|| Error::refused("there is no number of updates"))
    }

    /// How often the model may learn: the number of rounds.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// N.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The numbers of the plan.
    pub fn promise(&self) -> &InteractiveParameters {
        &self.promise
    }

    /// The scale of the noise on a measured answer.
    pub fn scale(&self) -> Scale {
        self.measured.scale()
    }

    /// Opens a round, which must have been charged.
    pub fn open<S: BitSource + ?Sized>(&self, bits: &mut S) -> ThresholdNoise {
        self.test.open(bits)
    }

    /// What the model expects, as a whole number.
    pub fn expected(&self, share: f64) -> u64 {
        (share * self.total as f64).round().clamp(0.0, self.total as f64) as u64
    }

    /// Tests what the model expects, and measures if that is off.
    ///
    /// # Guarantee
    /// If an owner moves `count` by at most 1, `expected` was computed from earlier answers and public numbers alone,
    /// and a round that has ended is not asked again, all that comes of a round costs what
    /// [`InteractivePlan::events_of_round`] says, in any scope: |count − expected| moves by at most 1, and so does the
    /// count that is measured.
    pub fn ask<S: BitSource + ?Sized>(&self, round: ThresholdNoise, count: u64, expected: u64, bits: &mut S) -> Reply {
        let off = i64::try_from(count.abs_diff(expected)).unwrap_or(i64::MAX);
        match self.test.ask(round, off, self.promise.threshold as i64, bits) {
            Some(open) => Reply::Model(open),
            None => Reply::Measured(self.measured.add_to(i64::try_from(count).unwrap_or(i64::MAX), bits)),
        }
    }

    /// The exponent of an update after a measured answer: 4·g·sign, with g = max(G, |a − e| − t_a)/N, at most 1.
    pub fn step(&self, measured: i64, expected: u64) -> f64 {
        let off = i128::from(measured) - i128::from(expected);
        let sure = off.unsigned_abs() as f64 - self.promise.slack_answer as f64;
        4.0 * (self.promise.gap.max(sure) / self.total as f64).min(1.0) * off.signum() as f64
    }

    /// What a round does, from its opening on, if questions read these attributes.
    pub fn events_of_round(&self, attributes: &AttributeSet) -> Result<Vec<Event>> {
        let mut events = self.test.events(attributes)?;
        let moves = OwnerSteps::one().reading(attributes.clone()).moves(1.0)?;
        events.push(Event::new(Word::DiscreteLaplace { scale: self.measured.scale() }, moves));
        Ok(events)
    }

    /// What all rounds do.
    pub fn events(&self, attributes: &AttributeSet) -> Result<Vec<Event>> {
        self.events_of_round(attributes)?.into_iter().map(|event| event.repeated(self.updates)).collect()
    }
}

/// The ε of all rounds with one step, whatever attributes the questions read.
fn of_one_step(target: Target, scope: &Scope) -> Result<Epsilon> {
    OwnerSteps::one().read_by(scope).target_of_one(target, scope)?.without_delta("an interactive release")
}

/// What noise on every answer would promise: with probability 1 − β each of k counts is within this, if together they
/// cost ε.
///
/// ```
/// use scumble::quantity::{beta, epsilon};
/// use scumble::workload::interactive::direct_error;
/// assert_eq!(direct_error(epsilon(1.0)?, 1000, beta(0.05)?)?, 9903.0);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn direct_error(epsilon: Epsilon, questions: u64, beta: Beta) -> Result<f64> {
    let questions = questions.max(1) as f64;
    let scale = Scale::new(questions / epsilon.get())?;
    Ok(exceeded(scale, Beta::new(beta.get() / questions)?) as f64)
}

/// What a noisy count of every combination would promise of the sums of any k sets of them, if all together cost ε for
/// an owner who is replaced (two cells move): Chernoff's bound of a sum of all cells' noise.
///
/// ```
/// use scumble::quantity::{beta, epsilon};
/// use scumble::workload::interactive::histogram_error;
/// let error = histogram_error(1024, epsilon(1.0)?, 1000, beta(0.05)?)?;
/// assert!(error > 300.0 && error < 600.0);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn histogram_error(cells: u64, epsilon: Epsilon, questions: u64, beta: Beta) -> Result<f64> {
    let (epsilon, beta) = (epsilon.get(), beta.get());
    let cost = (2.0 * questions.max(1) as f64 / beta).ln();
    let rate = 1.0 / Scale::new(2.0 / epsilon)?.get();
    let decay = (-rate).exp();
    // ln E e^{λz} of discrete Laplace noise, and what it promises at λ; any λ below the rate is a proof.
    let growth = |l: f64| 2.0 * (1.0 - decay).ln() - (1.0 - decay * l.exp()).ln() - (1.0 - decay * (-l).exp()).ln();
    let promised = |l: f64| (cells as f64 * growth(l) + cost) / l;
    let tried = (0..600).map(|step| rate * 0.999 * 0.97f64.powi(step));
    Ok(tried.map(promised).fold(f64::INFINITY, f64::min))
}

/// A question: how much an owner of each cell counts, in steps of a public grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinearQuery {
    steps: Vec<u16>,
    grid: u16,
}

impl LinearQuery {
    /// A condition, which counts an owner or does not.
    pub fn of(fulfils: impl IntoIterator<Item = bool>) -> Self {
        Self { steps: fulfils.into_iter().map(u16::from).collect(), grid: 1 }
    }

    /// Values between 0 and 1, each brought to the nearest multiple of 1/grid.
    ///
    /// ```
    /// use scumble::workload::interactive::LinearQuery;
    /// assert_eq!(LinearQuery::on_grid(&[0.0, 0.5, 1.0], 2)?.count(&[5, 4, 3]), 5);
    /// assert!(LinearQuery::on_grid(&[0.5, 1.5], 2).is_err());
    /// assert!(LinearQuery::on_grid(&[f64::NAN], 2).is_err());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn on_grid(values: &[f64], grid: u16) -> Result<Self> {
        refuse_if!(grid == 0, "the grid of a question has at least one step");
        if let Some(value) = values.iter().find(|value| !(0.0..=1.0).contains(*value)) {
            refuse!("a question counts an owner as a number in [0, 1], not {value}");
        }
        Ok(Self { steps: values.iter().map(|value| (value * f64::from(grid)).round() as u16).collect(), grid })
    }

    /// How many owners count, to the nearest whole number.
    ///
    /// # Guarantee
    /// An owner who comes, goes or has another cell moves the sum by at most 1, hence the nearest whole number as well
    /// (halves go up).
    pub fn count(&self, counts: &[u64]) -> u64 {
        self.rounded(self.steps.iter().zip(counts).map(|(step, count)| u128::from(*step) * u128::from(*count)).sum())
    }

    fn rounded(&self, sum: u128) -> u64 {
        let grid = u128::from(self.grid);
        u64::try_from((2 * sum + grid) / (2 * grid)).unwrap_or(u64::MAX)
    }
}

/// A model of the owners: a weight for each cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellWeights {
    weights: Vec<f64>,
    /// Of all weights.
    sum: f64,
}

/// Sums are carried in this many lanes, so that no addition waits for the one before it.
const LANES: usize = 8;

impl CellWeights {
    /// Equal weights: nothing is known yet.
    pub fn uniform(cells: usize) -> Self {
        Self { weights: vec![1.0; cells], sum: cells as f64 }
    }

    /// How many cells there are.
    pub fn cells(&self) -> usize {
        self.weights.len()
    }

    /// The share of a cell.
    pub fn share(&self, cell: usize) -> f64 {
        self.weights[cell] / self.sum
    }

    /// The share that a question has in the model.
    pub fn answer(&self, question: &LinearQuery) -> f64 {
        let parts = self.weights.iter().zip(&question.steps).map(|(weight, step)| weight * f64::from(*step));
        parts.sum::<f64>() / self.sum / f64::from(question.grid)
    }

    /// In one pass: how many owners count, and the share that the model expects. Counts are below 2^40.
    pub fn look(&self, question: &LinearQuery, counts: &[u64]) -> (u64, f64) {
        let mut sums = [0u64; LANES];
        let mut shares = [0f64; LANES];
        let (mut sum, mut share) = (0u128, 0f64);
        let rows = self.weights.chunks(LANES).zip(question.steps.chunks(LANES)).zip(counts.chunks(LANES));
        for (index, ((weights, steps), counts)) in rows.enumerate() {
            let whole = (weights.first_chunk::<LANES>(), steps.first_chunk::<LANES>(), counts.first_chunk::<LANES>());
            if let (Some(weights), Some(steps), Some(counts)) = whole {
                for lane in 0..LANES {
                    shares[lane] += weights[lane] * f64::from(steps[lane]);
                    sums[lane] = sums[lane].wrapping_add(u64::from(steps[lane]).wrapping_mul(counts[lane]));
                }
            } else {
                for ((weight, step), count) in weights.iter().zip(steps).zip(counts) {
                    share += weight * f64::from(*step);
                    sum += u128::from(*step) * u128::from(*count);
                }
            }
            // Before a lane of counts below 2^40 could be full: 2^7 times 2^16 times 2^40.
            if index % 128 == 127 {
                sum += sums.iter().map(|sum| u128::from(*sum)).sum::<u128>();
                sums = [0; LANES];
            }
        }
        sum += sums.iter().map(|sum| u128::from(*sum)).sum::<u128>();
        share += shares.iter().sum::<f64>();
        (question.rounded(sum), share / self.sum / f64::from(question.grid))
    }

    /// h(w) ← h(w)·e^{step·q(w)}, normalised.
    pub fn update(&mut self, question: &LinearQuery, step: f64) {
        // What the sum was before: so the weights stay near 1, however many updates there are.
        let normal = self.weights.len() as f64 / self.sum;
        let grid = f64::from(question.grid);
        let factors: Vec<f64> =
            (0..=question.grid).map(|value| normal * (step * f64::from(value) / grid).exp()).collect();
        let mut sums = [0f64; LANES];
        for (weights, steps) in self.weights.chunks_mut(LANES).zip(question.steps.chunks(LANES)) {
            for ((weight, step), sum) in weights.iter_mut().zip(steps).zip(&mut sums) {
                *weight *= factors[usize::from(*step)];
                *sum += *weight;
            }
        }
        self.sum = sums.iter().sum();
    }
}

#[cfg(test)]
mod tests;
