//! One noise for all numbers of a cell, at a pure cost: the ℓ∞ K-norm mechanism, where that is better than noise for
//! each number with its share of ε.
//!
//! One row moves all numbers of its cell at once, each by at most its own bound a. In units of a the numbers of a cell
//! move by at most 1 in ℓ∞, whatever their number d is, and cost what one does; independent noise would need ε/d for
//! each. The standard error is about d/√3 times that of one number instead of d·√2 ([`scumble::mechanism::k_norm`]).
//!
//! Bounds differ, and the noise is on whole numbers of one unit: with L the largest bound, number i counts in steps of
//! 1/wᵢ, wᵢ = ⌊L/aᵢ⌋, moves by at most wᵢaᵢ ≤ L of them, gets its coordinate of the noise, and is rounded to a whole
//! number again, which is post-processing.

use super::{AnalysedQuery, PricedQuery, QueryMechanism};
use crate::error::{Error, Result};
use crate::project::{Cost, CostScope, Goal};
use crate::release::field::{Field, Word};
use crate::release::output::BETA;
use crate::release::price::noise::Noise;
use crate::sql::analyse::query::{Computation, Query};
use crate::sql::analyse::sensitivity;
use crate::sql::{PrivateQuery, above};
use scumble::calibrate::{ShiftNorms, epsilon_for_pure, scale_for_pure};
use scumble::event::{Event, Moves, Shift};
use scumble::mechanism::k_norm::KNormMechanism;
use scumble::noise::BitSource;
use scumble::noise::tape::{self, Announcement, MechanismInput};
use scumble::quantity::{Beta, Epsilon, Exact, Scale, Sensitivity};
use scumble::scope::Scope;
use std::rc::Rc;

/// The field that says which.
pub(crate) const NOISE: Field<Option<Sharing>> = Field::new(
    "noise",
    "`each` (separate noise), `joint` (the counts and sums of a cell share one noise; for a cost in epsilon) or `auto` (the default: joint if that is better and neither the cost nor a budget has a delta, because separate noise composes better over many releases)",
);

/// Whether the numbers of a cell share one noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    Each,
    Joint,
    Auto,
}

impl Word for Sharing {
    const WORDS: &'static [(&'static str, Self)] =
        &[("each", Self::Each), ("joint", Self::Joint), ("auto", Self::Auto)];

    fn unknown(_: &str) -> String {
        "noise must be 'each', 'joint' or 'auto'".to_string()
    }
}

/// One noise for all numbers of a cell.
#[derive(Debug, Clone)]
pub(crate) struct JointNoise {
    mechanism: KNormMechanism,
    epsilon: Epsilon,
    moves: Moves,
    scale: Scale,
    /// wᵢ of each number.
    steps: Vec<i128>,
    deviation: f64,
    half: f64,
}

/// Why a query has no joint noise.
pub(crate) fn hindrance(query: &AnalysedQuery, cost: &Cost) -> Option<&'static str> {
    let asked = &query.cut.query;
    let direct = |aggregate: &Computation| matches!(aggregate, Computation::Count(_) | Computation::Sum { .. });
    if !matches!(cost.target, Goal::Epsilon(_)) {
        return Some("joint noise is for a cost in epsilon");
    }
    if query.shares.is_some() {
        return Some("joint noise is for a query without share");
    }
    if query.report.is_some() || !query.parts.is_empty() {
        return Some("joint noise is for a query of one grouping without a bounding_report");
    }
    if asked.cells().is_none() {
        return Some("joint noise is for groups that are public: list the values of the keys");
    }
    if !asked.quantiles.is_empty() || !asked.aggregates.iter().all(direct) || !published_as_they_are(&query.cut) {
        return Some(
            "joint noise is for COUNT and SUM that are published as they are: it has no standard error of anything \
                else",
        );
    }
    (asked.measures.len() < 2).then_some("joint noise is for two numbers or more")
}

/// Refuses joint noise where it is asked for and not to be had.
pub(crate) fn refuse(query: &AnalysedQuery, cost: &Cost) -> Result<()> {
    match hindrance(query, cost) {
        Some(why) if query.sharing == Sharing::Joint => Err(Error::input(format!("{why}; or write noise = \"each\""))),
        _ => Ok(()),
    }
}

/// The query with joint noise where that is asked for, or better.
pub(crate) fn shared(query: &AnalysedQuery, each: PricedQuery) -> Result<PricedQuery> {
    let is_pure = each.cost.delta.is_none() && query.default_delta.is_none();
    let wanted = match query.sharing {
        Sharing::Each => false,
        Sharing::Joint => true,
        Sharing::Auto => is_pure,
    };
    if !wanted || hindrance(query, &each.cost).is_some() {
        return Ok(each);
    }
    let Some(joint) = JointNoise::within(&query.cut.query, &each.cost)? else { return Ok(each) };
    let apart: f64 = each.calibrated.noises.iter().map(Noise::standard_deviation).sum();
    if query.sharing == Sharing::Auto && joint.total() >= apart {
        return Ok(each);
    }
    let events = vec![joint.event()];
    let private = QueryMechanism { joint: Some(Rc::new(joint)), ..each.private };
    Ok(PricedQuery { private, events, portions: Vec::new(), ..each })
}

/// What the plan says of it: which was taken, and what the other would be.
pub(crate) fn note(query: &AnalysedQuery, priced: &PricedQuery) -> Option<String> {
    let apart: f64 = priced.calibrated.noises.iter().map(Noise::standard_deviation).sum();
    let numbers = priced.calibrated.noises.len();
    if let Some(joint) = &priced.private.joint {
        return Some(format!(
            "The {numbers} numbers of a cell share one noise, as one row moves all of them at once (the l-infinity K-norm mechanism): with noise for each the errors would be {:.2} times these.",
            apart / joint.total()
        ));
    }
    let possible = query.sharing != Sharing::Each && hindrance(query, &priced.cost).is_none();
    let joint = possible.then(|| JointNoise::within(&query.cut.query, &priced.cost).ok().flatten()).flatten()?;
    let why = if joint.total() < apart {
        ", but there is a delta, and noise for each adds up better over many releases"
    } else {
        ""
    };
    Some(format!(
        "Each of the {numbers} numbers of a cell has separate noise: with joint noise (noise = \"joint\") the errors would be {:.2} times these{why}.",
        joint.total() / apart
    ))
}

/// Whether every number of the answer is one count or sum.
fn published_as_they_are(cut: &PrivateQuery) -> bool {
    let is_direct =
        |output: &above::Output| output.aggregates.is_empty() || (output.direct.is_some() && !output.windowed);
    above::outputs(&cut.plan, &cut.aggregate).is_ok_and(|outputs| outputs.iter().all(is_direct))
}

impl JointNoise {
    /// The noise that a cost of ε alone pays for; none where a number cannot move at all.
    ///
    /// # Guarantee
    /// In the cost's scope, what [`JointNoise::event`] costs is at most ε, in exact arithmetic.
    pub fn within(query: &Query, cost: &Cost) -> Result<Option<Self>> {
        let Goal::Epsilon(epsilon) = &cost.target else { return Ok(None) };
        let Some(together) = sensitivity::together(query)? else { return Ok(None) };
        let scope = match cost.scope() {
            CostScope::Presence => Scope::Presence,
            CostScope::Person | CostScope::Attribute => Scope::Person,
        };
        let moved = ShiftNorms::of(&together.moves, &scope);
        if moved.is_nothing() {
            return Ok(None);
        }
        // For a move of one unit, which is L of the noise's steps.
        let unit = epsilon_for_pure(epsilon.clone(), moved)?;
        let largest = together.bounds.iter().copied().fold(0.0, f64::max);
        let scale = scale_for_pure(Exact::from_f64(unit.get())?, Sensitivity::new(largest)?)?;
        let mechanism =
            KNormMechanism::new(scale, together.bounds.len(), Moves::everywhere(Shift::one_cell(largest)?))?;
        let steps = together.bounds.iter().map(|bound| (largest / bound).floor().max(1.0) as i128).collect();
        let (deviation, half) = (mechanism.standard_deviation(), mechanism.quantile(Beta::new(BETA)?)?);
        Ok(Some(Self { mechanism, epsilon: unit, moves: together.moves, scale, steps, deviation, half }))
    }

    /// What is done to each cell.
    pub fn event(&self) -> Event {
        Event::new(scumble::event::Word::Pure { epsilon: self.epsilon }, self.moves.clone())
    }

    /// The numbers of a cell with their noise.
    ///
    /// # Guarantee
    /// Before: the numbers of neighbours differ as [`sensitivity::together`] says. After: as accounting says of
    /// [`JointNoise::event`].
    pub fn noised(&self, sums: Vec<i128>, bits: &mut dyn BitSource) -> Vec<i128> {
        let unseen = Some(vec![i128::MIN / 2; sums.len()]);
        tape::through_or(
            bits,
            || self.said(&sums),
            unseen,
            |bits| {
                let noise =
                    self.steps.iter().zip(self.mechanism.noise(bits)).map(|(steps, drawn)| rounded(drawn, *steps));
                sums.iter().zip(noise).map(|(sum, drawn)| sum.saturating_add(drawn)).collect()
            },
        )
    }

    /// For a test that replays it: each number in units such that a move by one unit costs ε = 1.
    fn said(&self, sums: &[i128]) -> Announcement {
        let unit = |(sum, steps): (&i128, &i128)| *sum as f64 * *steps as f64 / self.scale.get();
        let input = MechanismInput::Jointly(sums.iter().zip(&self.steps).map(unit).collect());
        Announcement { name: "joint noise", law: Some(("pure", vec![1.0])), input }
    }

    /// The standard error of a number, in its own steps.
    pub fn standard_deviation(&self, measure: usize) -> f64 {
        let step = self.steps[measure] as f64;
        // Rounding to a whole number is off by at most a half, evenly.
        let rounded = if step > 1.0 { 1.0 / 12.0 } else { 0.0 };
        ((self.deviation / step).powi(2) + rounded).sqrt()
    }

    /// Half of its 95% interval: what is rounded is monotone in what was drawn.
    pub fn half_width(&self, measure: usize) -> f64 {
        (self.half / self.steps[measure] as f64 + 0.5).floor()
    }

    /// In words.
    pub fn described(&self, measure: usize) -> String {
        format!(
            "l-infinity K-norm with the others of the cell, scale {}",
            self.scale.get() / self.steps[measure] as f64
        )
    }

    /// All standard errors together, as [`crate::release::price::noise`] adds them up.
    pub fn total(&self) -> f64 {
        (0..self.steps.len()).map(|measure| self.standard_deviation(measure)).sum()
    }
}

/// ⌊z/w + ½⌋. Ties go up, whatever the sign: x + ⌊z/w + ½⌋ = ⌊(xw + z)/w + ½⌋ is a function of the noisy number xw + z
/// alone. With ties away from zero it were not, and half of w = 2 would be ties: the likelihood ratio of a pair of
/// neighbours could be 1.7 where 1.2 was claimed (by hand, for scale 10 and steps of 2).
fn rounded(drawn: i128, steps: i128) -> i128 {
    drawn.saturating_mul(2).saturating_add(steps).div_euclid(2 * steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two numbers that move by 1 and by `bound`, exactly: what is published of all neighbours differs by e^ε at most,
    /// and by as much.
    #[test]
    fn rounded_numbers_cost_no_more_than_the_noise() {
        for (scale, bound) in [(10.0, 2i128), (4.0, 2), (9.0, 3), (6.0, 5)] {
            let steps = [bound, 1];
            let weight = |a: i128, b: i128| (-(a.abs().max(b.abs()) as f64) / scale).exp();
            let reach = 30 * scale as i128;
            let published = |from: [i128; 2], a: i128, b: i128| {
                // All draws that are rounded to (a, b).
                let first = (a - from[0]) * steps[0] - steps[0]..=(a - from[0]) * steps[0] + steps[0];
                let hits = first.filter(|z| rounded(*z, steps[0]) == a - from[0]);
                hits.map(|z| weight(z, b - from[1])).sum::<f64>()
            };
            let claimed = bound as f64 / scale;
            let mut most = 0.0f64;
            for to in [[1, bound], [1, -bound], [1, 0], [0, bound], [-1, 1]] {
                for a in -(reach / bound)..=reach / bound {
                    for b in -8..=8 {
                        let (here, there) = (published([0, 0], a, b), published(to, a, b));
                        most = most.max((here / there).ln().abs());
                    }
                }
            }
            assert!(most <= claimed * (1.0 + 1e-9), "{scale} {bound}: {most} of {claimed}");
            assert!(most >= claimed * 0.999, "{scale} {bound}: {most} of {claimed}");
        }
    }
}
