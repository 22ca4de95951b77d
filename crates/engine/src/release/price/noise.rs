//! The noise of a release: how much, from its cost.

use crate::budget::own_share;
use crate::error::{Error, Result};
use crate::project::{Cost, Goal};
use num_bigint::BigInt;
use scumble::calibrate::{
    ShiftNorms, StopRule, epsilon_for_pure, halve, largest_rho, range_for_zcdp, scale_for_pure, share_of,
    sigma_for_zcdp,
};
use scumble::event::{Moves, Shift};
pub use scumble::mechanism::additive::Noise;
use scumble::mechanism::stability::{Contribution, StabilityHistogram};
use scumble::quantity::{Delta, Epsilon, Exact, Scale, Sigma};

/// A noise in words.
pub fn described(noise: &Noise) -> String {
    match noise {
        Noise::Laplace(noise) => format!("discrete Laplace, scale {}", noise.scale().get()),
        Noise::Gaussian(noise) => format!("discrete Gaussian, sigma {}", noise.sigma().get()),
        other => other.name().to_string(),
    }
}

/// The noise of each measure, the ε of each quantile, and the δ that key selection may use.
#[derive(Debug, Clone)]
pub struct CalibratedNoise {
    /// One per measure.
    pub noises: Vec<Noise>,
    /// One per quantile: the range of the privacy loss where it moves by 1.
    pub quantiles: Vec<Epsilon>,
    /// One per number that a part of the cost is set aside for.
    pub aside: Vec<Noise>,
    /// For keys that only one owner has; none where all keys are public.
    pub key_delta: Option<f64>,
}

/// What is to be noised.
#[derive(Default)]
pub struct Demand<'a> {
    /// How far each measure moves.
    pub moves: &'a [Moves],
    /// The step of each measure in the unit of its column, for accuracy targets; none if one cannot say.
    pub steps: &'a [Option<f64>],
    /// How far each quantile moves, in values that are added or removed.
    pub quantiles: &'a [Moves],
    /// Whether keys are selected.
    pub selects_keys: bool,
    /// δ for key selection where the cost has none.
    pub default_delta: Option<Exact>,
    /// What a part of the cost is set aside for.
    pub aside: Option<CostShare<'a>>,
}

/// Numbers that have a share of the cost of their own.
pub struct CostShare<'a> {
    /// Which share, above 0 and below 1.
    pub share: &'a Exact,
    /// How far each of them moves.
    pub moves: &'a [Moves],
    /// How much of the share each has, in proportion.
    pub portions: &'a [u64],
}

/// From what moves and a share of the cost to noise, and to the ε of a quantile.
type NoiseFor = fn(&[Shift], &Exact) -> Result<Noise>;
type QuantileFor = fn(&[Shift], &Exact) -> Result<Epsilon>;

impl CostShare<'_> {
    /// The noises of all numbers that are set aside; a refusal of them is about the share.
    fn noises(shifts: &[Vec<Shift>], own: &[Exact], noise: NoiseFor) -> Result<Vec<Noise>> {
        let noises = shifts.iter().zip(own).map(|(shifts, own)| noise(shifts, own));
        noises.collect::<Result<_>>().map_err(|_| Self::too_little())
    }

    fn too_little() -> Error {
        Error::input(
            "what is set aside of the cost (the share of bounding_report) is too small for any noise: give it a larger share, such as 0.05, or the release a larger cost",
        )
    }

    /// What the rest keeps of a budget, and what each number has: together no more than the budget.
    fn of(&self, budget: &Exact) -> Result<(Exact, Vec<Exact>)> {
        let own = budget.rational() * self.share.rational();
        let rest = Exact::from_rational(budget.rational() - &own);
        let own = in_portions(&Exact::from_rational(own), self.portions).map_err(|_| Self::too_little())?;
        Ok((rest, own))
    }
}

/// A budget in these proportions.
///
/// # Guarantee
/// All parts together are at most the budget, also as the ledger rounds each up.
fn in_portions(budget: &Exact, portions: &[u64]) -> Result<Vec<Exact>> {
    let all: BigInt = portions.iter().map(|portion| BigInt::from(*portion)).sum();
    let part = |portion: &u64| {
        let part = budget.rational() * BigInt::from(*portion) / &all;
        Ok(share_of(&Exact::from_rational(part), 1)?)
    };
    portions.iter().map(part).collect()
}

/// Finds the least noise that stays within the cost; equal shares for each measure and each quantile.
///
/// # Guarantee
/// As for [`calibrate_shares`].
pub fn calibrate(cost: &Cost, demand: &Demand<'_>) -> Result<CalibratedNoise> {
    calibrate_shares(cost, demand, &[])
}

/// The same with shares in these proportions, first of the measures and then of the quantiles; equal ones where there
/// are none. An accuracy has no shares.
///
/// # Guarantee
/// In the cost's scope, the sum of cells·by/scale over the measures and of cells·by·ε over the quantiles is at most ε;
/// or that of cells·by²/2σ² and of cells·(by·ε)²/8 is at most ρ; in exact arithmetic. δ of key selection is at most the
/// cost's δ, and of an (ε, δ) at most the share that the ledger's rule leaves to it: so a release fits into a budget of
/// its own size. What is set aside is taken off ε or ρ first, as exactly, and the sum of its own terms is at most that.
pub fn calibrate_shares(cost: &Cost, demand: &Demand<'_>, portions: &[u64]) -> Result<CalibratedNoise> {
    // A cost per attribute is refused where it is read; a person's is never below it.
    let scope = cost.scope().of_owners();
    let key_delta = key_delta(cost, demand)?;
    let parts = (demand.moves.len() + demand.quantiles.len()).max(1);
    let shares = |budget: &Exact| match portions {
        [] => Ok(vec![share_of(budget, parts)?; parts]),
        portions => in_portions(budget, portions),
    };
    let measures: Vec<Vec<Shift>> = demand.moves.iter().map(|moves| moves.shifts(&scope)).collect();
    let quantiles: Vec<Vec<Shift>> = demand.quantiles.iter().map(|moves| moves.shifts(&scope)).collect();
    let aside = demand.aside.as_ref();
    let shifts_aside: Vec<Vec<Shift>> =
        aside.map_or(Vec::new(), |aside| aside.moves.iter().map(|moves| moves.shifts(&scope)).collect());
    let divided = |budget: &Exact| aside.map_or_else(|| Ok((budget.clone(), Vec::new())), |aside| aside.of(budget));
    let shared = |budget: &Exact, noise: NoiseFor, quantile: QuantileFor| -> Result<CalibratedNoise> {
        let (rest, own) = divided(budget)?;
        let shares = shares(&rest)?;
        let (of_measures, of_quantiles) = shares.split_at(measures.len());
        Ok(CalibratedNoise {
            aside: CostShare::noises(&shifts_aside, &own, noise)?,
            noises: measures
                .iter()
                .zip(of_measures)
                .map(|(shifts, share)| noise(shifts, share))
                .collect::<Result<_>>()?,
            quantiles: quantiles
                .iter()
                .zip(of_quantiles)
                .map(|(shifts, share)| quantile(shifts, share))
                .collect::<Result<_>>()?,
            key_delta,
        })
    };
    let concentrated = |rho: &Exact| shared(rho, gaussian, concentrated_quantile);
    match &cost.target {
        Goal::Epsilon(epsilon) => {
            let pure = shared(epsilon, laplace, pure_quantile)?;
            let Some(given) = &cost.delta else { return Ok(pure) };
            // With δ there is a choice. The ledger's rule keeps the δ of keys and that of Gaussian noise apart by
            // itself.
            let rho = largest_rho(epsilon, given)?;
            if rho <= Exact::zero() {
                return Ok(pure);
            }
            let concentrated = concentrated(&rho)?;
            Ok(if total(&concentrated) < total(&pure) { concentrated } else { pure })
        }
        Goal::Rho(rho) => concentrated(rho),
        Goal::Accuracy { .. } if !demand.quantiles.is_empty() => {
            Err(Error::input("accuracy can be asked of COUNT and SUM; for quantiles give epsilon or rho"))
        }
        Goal::Accuracy { .. } if aside.is_some() => {
            Err(Error::input("a share of an accuracy is not defined: give epsilon or rho"))
        }
        Goal::Accuracy { within, confidence } => {
            let noises = demand.steps.iter().map(|step| accurate(*step, *within, 1.0 - confidence));
            Ok(CalibratedNoise {
                noises: noises.collect::<Result<_>>()?,
                quantiles: Vec::new(),
                aside: Vec::new(),
                key_delta,
            })
        }
    }
}

/// The least noise of `runs` independent runs that stays within the cost; each run moves like this.
///
/// # Guarantee
/// As for [`calibrate`] of this many measures.
pub fn calibrate_runs(cost: &Cost, moves: &Moves, runs: usize) -> Result<Noise> {
    let shifts = moves.shifts(&cost.scope().of_owners());
    match &cost.target {
        Goal::Epsilon(epsilon) => {
            let pure = laplace(&shifts, &share_of(epsilon, runs)?)?;
            let rho = cost.delta.as_ref().map(|delta| largest_rho(epsilon, delta)).transpose()?;
            let Some(rho) = rho.filter(|rho| *rho > Exact::zero()) else { return Ok(pure) };
            let concentrated = gaussian(&shifts, &share_of(&rho, runs)?)?;
            let is_better = concentrated.standard_deviation() < pure.standard_deviation();
            Ok(if is_better { concentrated } else { pure })
        }
        Goal::Rho(rho) => gaussian(&shifts, &share_of(rho, runs)?),
        Goal::Accuracy { within, confidence } => accurate(Some(1.0), *within, 1.0 - confidence),
    }
}

/// All errors together; the rank error of a quantile goes with 1/ε.
fn total(calibrated: &CalibratedNoise) -> f64 {
    let noises = calibrated.noises.iter().map(Noise::standard_deviation);
    noises.chain(calibrated.quantiles.iter().map(|epsilon| 1.0 / epsilon.get())).sum()
}

/// The δ of key selection, where keys are selected.
fn key_delta(cost: &Cost, demand: &Demand<'_>) -> Result<Option<f64>> {
    demand.selects_keys.then(|| delta_of_keys(cost, demand.default_delta.as_ref())).transpose()
}

/// The δ of key selection: what the ledger's rule leaves to it of an (ε, δ), and all of the δ beside a ρ. Where the
/// cost does not say, a hundredth of what the rule leaves of the smallest budget's, which is `default`.
pub fn delta_of_keys(cost: &Cost, default: Option<&Exact>) -> Result<f64> {
    let hundredth = |delta: &Exact| own_share(delta).to_f64_down() / 100.0;
    match (&cost.delta, default) {
        (Some(delta), _) if matches!(cost.target, Goal::Rho(_)) => Ok(delta.to_f64_down()),
        (Some(delta), _) => Ok(own_share(delta).to_f64_down()),
        (None, Some(delta)) => Ok(hundredth(delta)),
        (None, None) => Err(Error::input(
            "the groups are not public, which needs a delta: write cost = { epsilon = …, delta = 1e-9 }, give the \
                budget a delta, or declare the column's values",
        )),
    }
}

/// Nothing moves where a scope cannot reach: any noise will do there.
fn laplace(shifts: &[Shift], share: &Exact) -> Result<Noise> {
    let moved = ShiftNorms::from(shifts);
    Ok(Noise::laplace(if moved.is_nothing() { Scale::new(1.0)? } else { scale_for_pure(share.clone(), moved)? }))
}

fn gaussian(shifts: &[Shift], share: &Exact) -> Result<Noise> {
    let moved = ShiftNorms::from(shifts);
    Ok(Noise::gaussian(if moved.is_nothing() { Sigma::new(1.0)? } else { sigma_for_zcdp(share.clone(), moved)? }))
}

/// The ε of a quantile that is ε·(what moves)-private.
fn pure_quantile(shifts: &[Shift], share: &Exact) -> Result<Epsilon> {
    let moved = ShiftNorms::from(shifts);
    Ok(if moved.is_nothing() { Epsilon::new(1.0)? } else { epsilon_for_pure(share.clone(), moved)? })
}

/// The ε of a quantile by its bounded range.
fn concentrated_quantile(shifts: &[Shift], share: &Exact) -> Result<Epsilon> {
    let moved = ShiftNorms::from(shifts);
    Ok(if moved.is_nothing() { Epsilon::new(1.0)? } else { range_for_zcdp(share.clone(), moved)? })
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
    let enough = |scale: f64| -> Result<Option<Noise>> {
        Ok(Some(Noise::laplace(Scale::new(scale)?)).filter(|noise| noise.quantile(beta) <= steps))
    };
    let Some(least) = enough(1e-3)? else {
        return Err(Error::input(format!("no noise is within {within} with that confidence")));
    };
    Ok(halve(1e-3, steps * 10.0, StopRule::within(1e-15), enough)?.map_or(least, |(_, noise)| noise))
}

/// The least noisy number of owners with which a key is published, if `keys` keys that one owner alone has may show
/// with probability at most δ in all.
pub fn threshold(noise: &Noise, delta: f64, keys: u64) -> Result<i64> {
    let keys = u32::try_from(keys)
        .map_err(|_| Error::input("max_groups_per_owner is too large for groups that are selected privately"))?;
    Ok(StabilityHistogram::new(noise.clone(), Contribution::new(keys, 1)?, Delta::new(delta)?)?.threshold())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Odometer;
    use crate::project::CostScope;
    use scumble::event::{Event, Word};
    use scumble::scope::Scope;

    fn laplace_of(scale: f64) -> Noise {
        Noise::laplace(Scale::new(scale).unwrap())
    }

    fn gaussian_of(sigma: f64) -> Noise {
        Noise::gaussian(Sigma::new(sigma).unwrap())
    }

    /// P[z ≥ at] by summing the masses.
    fn tail_by_sum(noise: &Noise, at: i64) -> f64 {
        let weight = |z: f64| match noise {
            Noise::Laplace(noise) => (-z.abs() / noise.scale().get()).exp(),
            Noise::Gaussian(noise) => (-z * z / (2.0 * noise.sigma().get().powi(2))).exp(),
            other => panic!("{} is not calibrated here", other.name()),
        };
        let all: f64 = (-4000..=4000).map(|z| weight(f64::from(z))).sum();
        (at..=4000).map(|z| weight(z as f64)).sum::<f64>() / all
    }

    #[test]
    fn a_threshold_is_the_least_that_is_enough() {
        for noise in [laplace_of(1.0), laplace_of(10.0), gaussian_of(5.0)] {
            for (delta, keys) in [(1e-6, 1), (1e-9, 3)] {
                let found = threshold(&noise, delta, keys).unwrap();
                let fails = |threshold: i64| {
                    let one = tail_by_sum(&noise, threshold - 1);
                    -(keys as f64 * (-one).ln_1p()).exp_m1()
                };
                assert!(fails(found) <= delta * (1.0 + 1e-6), "{}", described(&noise));
                assert!(fails(found - 1) > delta, "{}", described(&noise));
            }
        }
    }

    #[test]
    fn the_noise_pays_for_exactly_k_groups() {
        // A peer kept k groups and paid for k − 1.
        let cost =
            Cost { target: Goal::Epsilon("0.5".parse().unwrap()), delta: None, said_scope: Some(CostScope::Presence) };
        for k in 1..=5u64 {
            let shift = Shift::new(k, 1.0).unwrap();
            let moves = [Moves::by_scope(vec![shift], vec![shift], vec![])];
            let demand = Demand {
                moves: &moves,
                steps: &[Some(1.0)],
                quantiles: &moves,
                selects_keys: false,
                default_delta: None,
                aside: None,
            };
            let calibrated = calibrate(&cost, &demand).unwrap();
            // Half of the cost for the count, half for a quantile.
            assert!((calibrated.quantiles[0].get() - 0.25 / k as f64).abs() < 1e-12);
            let Noise::Laplace(noise) = &calibrated.noises[0] else { panic!("Laplace was asked for") };
            assert!((noise.scale().get() - 4.0 * k as f64).abs() < 1e-12, "{k}: {}", noise.scale());
        }
    }

    /// Shares in any proportions are those proportions of the cost, and all of them together no more than it.
    #[test]
    fn shares_cost_their_proportions_and_no_more_together() {
        let shift = Shift::new(3, 7.0).unwrap();
        let (moves, quantiles) =
            (vec![Moves::everywhere(shift); 3], [Moves::everywhere(Shift::one_cell(1.5).unwrap())]);
        let steps = [Some(1.0); 3];
        let demand = Demand {
            moves: &moves,
            steps: &steps,
            quantiles: &quantiles,
            selects_keys: false,
            default_delta: None,
            aside: None,
        };
        for decimal in ["0.1", "0.7", "1e-3", "2.5"] {
            for portions in [[1, 1, 1, 1], [1, 999, 3, 7], [1_000_000_000, 1, 1, 1], [3, 3, 3, 1]] {
                for target in [Goal::Epsilon(decimal.parse().unwrap()), Goal::Rho(decimal.parse().unwrap())] {
                    let cost = Cost { target: target.clone(), delta: None, said_scope: None };
                    let found = calibrate_shares(&cost, &demand, &portions).unwrap();
                    let noised = found.noises.iter().zip(&moves).map(|(n, m)| n.event(m.clone()).unwrap());
                    let picked = Event::new(Word::Exponential { epsilon: found.quantiles[0] }, quantiles[0].clone());
                    let events: Vec<Event> = noised.chain([picked]).collect();
                    let spent = |events: &[Event]| {
                        let spent = Odometer::of(events, &Scope::Person).unwrap();
                        match &target {
                            Goal::Epsilon(_) => spent.epsilon(&Exact::zero()).unwrap(),
                            _ => spent.rho(&Exact::zero()).unwrap(),
                        }
                    };
                    let limit: Exact = decimal.parse().unwrap();
                    assert!(spent(&events) <= limit, "{decimal}, {portions:?}: {} is more", spent(&events));
                    let all: u64 = portions.iter().sum();
                    for (event, portion) in events.iter().zip(portions) {
                        let expected = limit.to_f64() * portion as f64 / all as f64;
                        let own = spent(std::slice::from_ref(event)).to_f64();
                        assert!((own / expected - 1.0).abs() < 1e-9, "{decimal}, {portions:?}: {own} for {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn calibrated_costs_are_within_in_exact_arithmetic() {
        for decimal in ["0.1", "0.3", "0.7", "1e-3", "2.5"] {
            for (cells, by, parts) in [(1, 1.0, 1), (3, 7.0, 2), (2, 500_000.0, 3)] {
                let shift = Shift::new(cells, by).unwrap();
                let moves = vec![Moves::everywhere(shift); parts];
                let steps = vec![Some(1.0); parts];
                for target in [Goal::Epsilon(decimal.parse().unwrap()), Goal::Rho(decimal.parse().unwrap())] {
                    let cost = Cost { target: target.clone(), delta: None, said_scope: None };
                    let quantiles = [Moves::everywhere(Shift::new(cells, 4.0 / 3.0).unwrap())];
                    let demand = Demand {
                        moves: &moves,
                        steps: &steps,
                        quantiles: &quantiles,
                        selects_keys: false,
                        default_delta: None,
                        aside: None,
                    };
                    let found = calibrate(&cost, &demand).unwrap();
                    let noised = found.noises.iter().zip(&moves).map(|(n, m)| n.event(m.clone()).unwrap());
                    let picked = found
                        .quantiles
                        .iter()
                        .zip(&quantiles)
                        .map(|(epsilon, moves)| Event::new(Word::Exponential { epsilon: *epsilon }, moves.clone()));
                    let events: Vec<Event> = noised.chain(picked).collect();
                    let spent = Odometer::of(&events, &Scope::Person).unwrap();
                    let limit: Exact = decimal.parse().unwrap();
                    let cost = match target {
                        Goal::Epsilon(_) => spent.epsilon(&Exact::zero()).unwrap(),
                        _ => spent.rho(&Exact::zero()).unwrap(),
                    };
                    assert!(cost <= limit, "{decimal}: {cost} is more");
                    assert!(cost.to_f64() >= limit.to_f64() * (1.0 - 1e-9), "{decimal}: {cost} wastes");
                }
            }
        }
    }
}
