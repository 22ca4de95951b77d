//! The noise of a release: how much, from its cost; and what error that means.

use crate::budget::Spent;
use crate::error::{Error, Result};
use crate::project::{Cost, CostScope, Target};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Pow, ToPrimitive, Zero};
use scumble::event::{Event, Kind, Moves, Shift};
use scumble::noise::{BitSource, DiscreteGaussian, DiscreteLaplace};
use scumble::quantity::{Exact, Scale, Sigma};
use scumble::scope::Scope;

/// Integer noise of one measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// P\[z\] ∝ e^{−|z|/scale}.
    Laplace(Scale),
    /// P\[z\] ∝ e^{−z²/2σ²}.
    Gaussian(Sigma),
}

impl Noise {
    /// One draw.
    pub fn sample(&self, bits: &mut dyn BitSource) -> i64 {
        match self {
            Self::Laplace(scale) => DiscreteLaplace::new(*scale).sample(bits),
            Self::Gaussian(sigma) => DiscreteGaussian::new(*sigma).sample(bits),
        }
    }

    /// What was done, for the ledger.
    pub fn event(&self, moves: Moves) -> Event {
        match self {
            Self::Laplace(scale) => Event::new(Kind::DiscreteLaplace { scale: *scale }, moves),
            Self::Gaussian(sigma) => Event::new(Kind::DiscreteGaussian { sigma: *sigma }, moves),
        }
    }

    /// The standard deviation.
    pub fn standard_deviation(&self) -> f64 {
        match self {
            // Var = 2q/(1−q)² with q = e^{−1/scale}.
            Self::Laplace(scale) => {
                let q = (-1.0 / scale.get()).exp();
                (2.0 * q).sqrt() / -(-1.0 / scale.get()).exp_m1()
            }
            Self::Gaussian(sigma) if sigma.get() > 3.0 => sigma.get(),
            Self::Gaussian(sigma) => {
                let weight = |z: f64| (-z * z / (2.0 * sigma.get() * sigma.get())).exp();
                let moment =
                    |power: i32| (-40..=40).map(|z| f64::from(z).powi(power) * weight(f64::from(z))).sum::<f64>();
                (moment(2) / moment(0)).sqrt()
            }
        }
    }

    /// P\[z ≥ at\] at most, for at ≥ 1.
    pub fn tail_at_most(&self, at: i64) -> f64 {
        let at = at as f64;
        let slack = 1.0 + 1e-12;
        match self {
            // Exactly q^at/(1+q).
            Self::Laplace(scale) => (-at / scale.get()).exp() / (1.0 + (-1.0 / scale.get()).exp()) * slack,
            // The normaliser is at least σ√2π (Poisson summation), and each term is at most e^{−(2·at+1)/2σ²} of the one before.
            Self::Gaussian(sigma) => {
                let sigma = sigma.get();
                let first = (-at * at / (2.0 * sigma * sigma)).exp();
                let ratio = -(-(2.0 * at + 1.0) / (2.0 * sigma * sigma)).exp_m1();
                let normaliser = (sigma * (2.0 * std::f64::consts::PI).sqrt()).max(1.0);
                (first / ratio / normaliser * slack).min(1.0)
            }
        }
    }

    /// The least whole w with P\[|z| > w\] ≤ beta.
    pub fn half_width(&self, beta: f64) -> f64 {
        let outside = |w: f64| 2.0 * self.tail_at_most(w as i64 + 1);
        let mut high = 1.0;
        while outside(high) > beta {
            high *= 2.0;
        }
        let mut low = -1.0;
        while high - low > 1.0 {
            let middle = ((low + high) / 2.0f64).floor();
            if outside(middle) <= beta { high = middle } else { low = middle }
        }
        high
    }

    /// In words.
    pub fn describe(&self) -> String {
        match self {
            Self::Laplace(scale) => format!("discrete Laplace, scale {}", scale.get()),
            Self::Gaussian(sigma) => format!("discrete Gaussian, sigma {}", sigma.get()),
        }
    }
}

/// The noise of each measure, and the δ that key selection may use.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrated {
    /// One per measure.
    pub noises: Vec<Noise>,
    /// For keys that only one owner has; none where all keys are public.
    pub key_delta: Option<f64>,
}

/// What is to be noised.
pub struct Demand<'a> {
    /// How far each measure moves.
    pub moves: &'a [Moves],
    /// The step of each measure in the unit of its column, for accuracy targets; none if one cannot say.
    pub steps: &'a [Option<f64>],
    /// Whether keys are selected.
    pub selects_keys: bool,
    /// δ for key selection where the cost has none.
    pub default_delta: Option<Exact>,
}

/// Finds the least noise that stays within the cost; equal shares for each measure.
///
/// # Guarantee
/// In the cost's scope, Σ over the measures of cells·by/scale is at most ε, or of cells·by²/2σ² at most ρ, in exact arithmetic; and
/// δ of key selection is at most the cost's δ.
pub fn calibrate(cost: &Cost, demand: &Demand<'_>) -> Result<Calibrated> {
    let scope = match cost.scope {
        CostScope::Person => Scope::Person,
        CostScope::Presence => Scope::Presence,
    };
    let delta = key_delta(cost, demand)?;
    let parts = demand.moves.len().max(1);
    let shifts: Vec<Vec<Shift>> = demand.moves.iter().map(|moves| moves.shifts(&scope)).collect();
    let laplace = |epsilon: &Exact| -> Result<Vec<Noise>> {
        let share = share_of(epsilon, parts);
        shifts.iter().map(|shifts| laplace(shifts, &share)).collect()
    };
    let gaussian = |rho: &Exact| -> Result<Vec<Noise>> {
        let share = share_of(rho, parts);
        shifts.iter().map(|shifts| gaussian(shifts, &share)).collect()
    };
    match &cost.target {
        Target::Epsilon(epsilon) => {
            let pure = Calibrated { noises: laplace(epsilon)?, key_delta: delta };
            let Some(given) = &cost.delta else { return Ok(pure) };
            // With δ there is a choice: half of it for keys where keys are selected, the rest for Gaussian noise.
            let for_noise = if demand.selects_keys { given.to_f64() / 2.0 } else { given.to_f64() };
            let rho = largest_rho(epsilon, for_noise)?;
            let concentrated = Calibrated {
                noises: if rho > Exact::zero() { gaussian(&rho)? } else { laplace(epsilon)? },
                key_delta: delta.map(|delta| delta / 2.0),
            };
            Ok(if total(&concentrated) < total(&pure) { concentrated } else { pure })
        }
        Target::Rho(rho) => Ok(Calibrated { noises: gaussian(rho)?, key_delta: delta }),
        Target::Accuracy { within, confidence } => {
            let noises = demand.steps.iter().map(|step| accurate(*step, *within, 1.0 - confidence));
            Ok(Calibrated { noises: noises.collect::<Result<_>>()?, key_delta: delta })
        }
    }
}

/// An equal share, rounded down to a multiple of 10⁻³⁰: the ledger rounds each charge up to such a multiple.
fn share_of(cost: &Exact, parts: usize) -> BigRational {
    let power: BigInt = Pow::pow(BigInt::from(10), 30u32);
    let scaled =
        cost.rational() / BigRational::from_integer(BigInt::from(parts)) * BigRational::from_integer(power.clone());
    BigRational::new(scaled.floor().to_integer(), power)
}

fn total(calibrated: &Calibrated) -> f64 {
    calibrated.noises.iter().map(Noise::standard_deviation).sum()
}

/// The part of the smallest budget's δ that key selection takes where the cost does not say: a hundredth.
fn key_delta(cost: &Cost, demand: &Demand<'_>) -> Result<Option<f64>> {
    if !demand.selects_keys {
        return Ok(None);
    }
    let hundredth = |delta: &Exact| delta.to_f64_down() / 100.0;
    match (&cost.delta, &demand.default_delta) {
        (Some(delta), _) => Ok(Some(delta.to_f64_down())),
        (None, Some(delta)) => Ok(Some(hundredth(delta))),
        (None, None) => Err(Error::input(
            "the groups are not public, so they are selected privately, which needs a delta: write cost = { epsilon = …, delta = 1e-9 }, give the budget a delta, or declare the column's values",
        )),
    }
}

fn laplace(shifts: &[Shift], share: &BigRational) -> Result<Noise> {
    let most =
        shifts.iter().map(|shift| exact_cells(shift) * exact(shift.by.get())).max().unwrap_or_else(BigRational::zero);
    if most.is_zero() {
        return Ok(Noise::Laplace(Scale::new(1.0)?));
    }
    let scale = up_to((&most / share).to_f64().unwrap_or(f64::INFINITY), |scale| &most / exact(scale) <= *share);
    Ok(Noise::Laplace(Scale::new(scale)?))
}

fn gaussian(shifts: &[Shift], share: &BigRational) -> Result<Noise> {
    let square = |shift: &Shift| exact_cells(shift) * exact(shift.by.get()) * exact(shift.by.get());
    let most = shifts.iter().map(square).max().unwrap_or_else(BigRational::zero);
    if most.is_zero() {
        return Ok(Noise::Gaussian(Sigma::new(1.0)?));
    }
    let two = BigRational::from_integer(BigInt::from(2));
    let start = (&most / (&two * share)).to_f64().unwrap_or(f64::INFINITY).sqrt();
    let sigma = up_to(start, |sigma| &most / (&two * exact(sigma) * exact(sigma)) <= *share);
    Ok(Noise::Gaussian(Sigma::new(sigma)?))
}

/// The first f64 from a little below `start` on that is `enough`.
fn up_to(start: f64, enough: impl Fn(f64) -> bool) -> f64 {
    let mut value = start * (1.0 - 1e-15);
    for _ in 0..64 {
        if !value.is_finite() || enough(value) {
            return value;
        }
        value = value.next_up();
    }
    start * (1.0 + 1e-9)
}

fn exact_cells(shift: &Shift) -> BigRational {
    BigRational::from_integer(BigInt::from(shift.cells))
}

fn exact(value: f64) -> BigRational {
    BigRational::from_float(value).unwrap_or_else(BigRational::zero)
}

/// The largest ρ (to four digits) that the ledger's rule converts to at most ε at δ.
fn largest_rho(epsilon: &Exact, delta: f64) -> Result<Exact> {
    let delta = Exact::from_f64(delta)?;
    let fits = |rho: f64| -> Result<bool> {
        let moves = Moves::everywhere(Shift::one_cell(1.0)?);
        let event = Event::new(Kind::Zcdp { rho: scumble::quantity::Rho::new(rho)? }, moves);
        let spent = Spent::of(&[event], &Scope::Person)?;
        Ok(spent.epsilon(&delta).is_some_and(|converted| converted <= *epsilon))
    };
    let (mut low, mut high) = (0.0, epsilon.to_f64());
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if fits(middle)? { low = middle } else { high = middle }
    }
    Ok(Exact::from_f64(low)?)
}

/// Laplace noise that stays within `within` with probability 1 − beta.
fn accurate(step: Option<f64>, within: f64, beta: f64) -> Result<Noise> {
    let Some(step) = step else {
        return Err(Error::input("accuracy can be asked of COUNT and SUM; for other aggregates give epsilon or rho"));
    };
    let steps = (within / step).floor();
    if steps < 1.0 {
        return Err(Error::input(format!("the accuracy {within} is finer than one step ({step}) of the column")));
    }
    let enough = |scale: f64| -> Result<bool> {
        Ok(2.0 * Noise::Laplace(Scale::new(scale)?).tail_at_most(steps as i64 + 1) <= beta)
    };
    let (mut low, mut high) = (1e-3, steps.max(1.0) * 10.0);
    if !enough(low)? {
        return Err(Error::input(format!("no noise is within {within} with that confidence")));
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if enough(middle)? { low = middle } else { high = middle }
    }
    Ok(Noise::Laplace(Scale::new(low)?))
}

/// The least threshold on a noisy number of owners, such that keys of a single owner are published with probability at most δ in all.
///
/// # Guarantee
/// `keys` keys that one owner alone has: P\[some of them clears τ\] ≤ 1 − (1 − δ₁)^keys ≤ δ, where δ₁ ≥ P\[1 + z ≥ τ\].
pub fn threshold(noise: &Noise, delta: f64, keys: u64) -> i64 {
    let one = -((-delta).ln_1p() / keys.max(1) as f64).exp_m1() * (1.0 - 1e-12);
    let enough = |threshold: i64| noise.tail_at_most(threshold - 1) <= one;
    let mut high = 2i64;
    while !enough(high) {
        high = high.saturating_mul(2);
    }
    let mut low = 1i64;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laplace_of(scale: f64) -> Noise {
        Noise::Laplace(Scale::new(scale).unwrap())
    }

    fn gaussian_of(sigma: f64) -> Noise {
        Noise::Gaussian(Sigma::new(sigma).unwrap())
    }

    /// P[z ≥ at] by summing the masses.
    fn tail_by_sum(noise: &Noise, at: i64) -> f64 {
        let weight = |z: f64| match noise {
            Noise::Laplace(scale) => (-z.abs() / scale.get()).exp(),
            Noise::Gaussian(sigma) => (-z * z / (2.0 * sigma.get() * sigma.get())).exp(),
        };
        let all: f64 = (-4000..=4000).map(|z| weight(f64::from(z))).sum();
        (at..=4000).map(|z| weight(z as f64)).sum::<f64>() / all
    }

    #[test]
    fn tails_are_upper_bounds_and_nearly_exact() {
        for noise in
            [laplace_of(0.3), laplace_of(2.0), laplace_of(40.0), gaussian_of(0.5), gaussian_of(3.0), gaussian_of(40.0)]
        {
            for at in [1, 2, 5, 20, 90] {
                let (bound, truth) = (noise.tail_at_most(at), tail_by_sum(&noise, at));
                assert!(bound >= truth * (1.0 - 1e-9), "{noise:?} at {at}: {bound} < {truth}");
                if matches!(noise, Noise::Laplace(_)) {
                    assert!(bound <= truth * (1.0 + 1e-6), "{noise:?} at {at}: {bound} > {truth}");
                }
            }
        }
    }

    #[test]
    fn standard_deviations_are_those_of_the_masses() {
        for noise in [laplace_of(0.3), laplace_of(8.0), gaussian_of(0.4), gaussian_of(2.0), gaussian_of(20.0)] {
            let variance: f64 = (1..300).map(|z| f64::from(2 * z - 1) * 2.0 * tail_by_sum(&noise, i64::from(z))).sum();
            let found = noise.standard_deviation();
            assert!((found - variance.sqrt()).abs() <= 1e-6 * found, "{noise:?}: {found} and {}", variance.sqrt());
        }
    }

    #[test]
    fn a_threshold_is_the_least_that_is_enough() {
        for noise in [laplace_of(1.0), laplace_of(10.0), gaussian_of(5.0)] {
            for (delta, keys) in [(1e-6, 1), (1e-9, 3)] {
                let found = threshold(&noise, delta, keys);
                let fails = |threshold: i64| 1.0 - (1.0 - noise.tail_at_most(threshold - 1)).powi(keys as i32);
                assert!(fails(found) <= delta * (1.0 + 1e-6), "{noise:?}");
                assert!(fails(found - 1) > delta, "{noise:?}");
            }
        }
    }

    #[test]
    fn the_noise_pays_for_exactly_k_groups() {
        // A peer kept k groups and paid for k − 1.
        let cost = Cost { target: Target::Epsilon("0.5".parse().unwrap()), delta: None, scope: CostScope::Presence };
        for k in 1..=5u64 {
            let shift = Shift::new(k, 1.0).unwrap();
            let moves = [Moves::by_scope(vec![shift], vec![shift], vec![])];
            let demand = Demand { moves: &moves, steps: &[Some(1.0)], selects_keys: false, default_delta: None };
            let calibrated = calibrate(&cost, &demand).unwrap();
            let Noise::Laplace(scale) = calibrated.noises[0] else { panic!("Laplace was asked for") };
            assert!((scale.get() - 2.0 * k as f64).abs() < 1e-12, "{k}: {scale}");
        }
    }

    #[test]
    fn calibrated_costs_are_within_in_exact_arithmetic() {
        for decimal in ["0.1", "0.3", "0.7", "1e-3", "2.5"] {
            for (cells, by, parts) in [(1, 1.0, 1), (3, 7.0, 2), (2, 500_000.0, 3)] {
                let shift = Shift::new(cells, by).unwrap();
                let moves = vec![Moves::everywhere(shift); parts];
                let steps = vec![Some(1.0); parts];
                for target in [Target::Epsilon(decimal.parse().unwrap()), Target::Rho(decimal.parse().unwrap())] {
                    let cost = Cost { target: target.clone(), delta: None, scope: CostScope::Person };
                    let demand = Demand { moves: &moves, steps: &steps, selects_keys: false, default_delta: None };
                    let noises = calibrate(&cost, &demand).unwrap().noises;
                    let events: Vec<Event> = noises.iter().zip(&moves).map(|(n, m)| n.event(m.clone())).collect();
                    let spent = Spent::of(&events, &Scope::Person).unwrap();
                    let limit: Exact = decimal.parse().unwrap();
                    let cost = match target {
                        Target::Epsilon(_) => spent.epsilon(&Exact::zero()).unwrap(),
                        _ => spent.rho(&Exact::zero()).unwrap(),
                    };
                    assert!(cost <= limit, "{decimal}: {cost} is more");
                    assert!(cost.to_f64() >= limit.to_f64() * (1.0 - 1e-9), "{decimal}: {cost} wastes");
                }
            }
        }
    }
}
