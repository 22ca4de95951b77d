//! Exact output distributions of the additive mechanisms against all neighbours.

use super::*;
use crate::event::{Shift, Touch};
use crate::harness::neighbours::{self, NeighbourPair};
use crate::harness::{Claim, Distribution, ProbabilityInterval, Slack, check, effort};
use crate::noise::InsecureSeededSource;
use crate::quantity::{Delta, Epsilon, Exact, Omega, Rho, Scale, Sigma};
use crate::scope::{AttributeSet, Scope};

/// The relative error of the f64 probabilities below: a few roundings of exp and of sums of positive terms.
const ROUNDING: f64 = 1e-12;
/// How far from zero noise is listed; beyond it the mass is below the numerical floor for the scales used here.
const REACH: i64 = 60;

fn distribution(weight: impl Fn(i64) -> f64) -> Distribution<i64> {
    let total: f64 = (-400..=400).map(&weight).sum();
    let listed = (-REACH..=REACH).map(|z| (z, ProbabilityInterval::near(weight(z) / total, ROUNDING)));
    let outside: f64 = (REACH + 1..=400).map(|z| 2.0 * weight(z) / total).sum();
    Distribution::new(listed, outside * (1.0 + ROUNDING) + 1e-18)
}

fn laplace(scale: f64) -> Distribution<i64> {
    distribution(|z| (-(z.abs() as f64) / scale).exp())
}

fn gaussian(sigma: f64) -> Distribution<i64> {
    distribution(|z| (-((z * z) as f64) / (2.0 * sigma * sigma)).exp())
}

/// A histogram of records 0, 1 (two cells), each cell with its own noise.
fn noisy_histogram(noise: &Distribution<i64>, dataset: &[usize]) -> Distribution<(i64, i64)> {
    let count = |cell: usize| dataset.iter().filter(|record| **record == cell).count() as i64;
    let shifted = |by: i64| noise.map(move |z| z + by);
    shifted(count(0)).product(&shifted(count(1)))
}

/// How a two-cell histogram moves: one cell by one for presence, two cells for person.
fn histogram_moves() -> Moves {
    let one = Shift::one_cell(1.0).unwrap();
    let two = Shift::new(2, 1.0).unwrap();
    let touch = Touch { attributes: AttributeSet::new(["cell"]).unwrap(), shifts: vec![two] };
    Moves::by_scope(vec![one], vec![two], vec![touch])
}

fn check_histogram(
    noise: &Distribution<i64>,
    event: &Event,
    scope: Scope,
    pairs: &[NeighbourPair<usize>],
    epsilons: &[f64],
) {
    let mut claim = Claim::of(std::slice::from_ref(event), &scope, epsilons);
    if claim.pure == Some(f64::INFINITY) {
        claim.pure = None;
    }
    // The grid of the privacy-loss engine may cost a ten-thousandth of ε, which moves δ by more: one part in a hundred.
    let slack = Slack { pure: 1e-6, delta: 1e-2, renyi: 1e-2 };
    check(pairs, |dataset| noisy_histogram(noise, dataset), &claim, slack);
}

#[test]
fn a_discrete_laplace_histogram_costs_what_is_claimed_in_every_scope() {
    let event = Additive::new(Noise::laplace(Scale::new(1.5).unwrap()), histogram_moves()).events().unwrap().remove(0);
    let epsilons = [0.1, 0.4, 0.9];
    let noise = laplace(1.5);
    check_histogram(&noise, &event, Scope::Presence, &neighbours::presence(&[0, 1], 2), &epsilons);
    check_histogram(&noise, &event, Scope::Person, &neighbours::person(&[0, 1], 2), &epsilons);
    let cell = Scope::Attributes(AttributeSet::new(["cell"]).unwrap());
    check_histogram(&noise, &event, cell, &neighbours::person(&[0, 1], 2), &epsilons);
}

#[test]
fn a_discrete_gaussian_histogram_costs_what_is_claimed_in_every_scope() {
    let event =
        Additive::new(Noise::gaussian(Sigma::new(1.25).unwrap()), histogram_moves()).events().unwrap().remove(0);
    let epsilons = [0.3, 1.0, 2.5];
    let noise = gaussian(1.25);
    check_histogram(&noise, &event, Scope::Presence, &neighbours::presence(&[0, 1], 2), &epsilons);
    check_histogram(&noise, &event, Scope::Person, &neighbours::person(&[0, 1], 2), &epsilons);
}

#[test]
fn a_scope_that_reads_nothing_costs_nothing() {
    let event = Additive::new(Noise::laplace(Scale::new(1.0).unwrap()), histogram_moves()).events().unwrap().remove(0);
    let other = Scope::Attributes(AttributeSet::new(["disease"]).unwrap());
    assert_eq!(Claim::of(&[event], &other, &[]).pure, Some(0.0));
}

#[test]
fn extreme_parameters_neither_overflow_nor_panic() {
    let mut bits = InsecureSeededSource::new(1);
    for scale in [1e-9, 1e-6, 1e12, 1e18] {
        let laplace = Additive::new(Noise::laplace(Scale::new(scale).unwrap()), Moves::everywhere(one()));
        let gaussian = Additive::new(Noise::gaussian(Sigma::new(scale).unwrap()), Moves::everywhere(one()));
        for mechanism in [laplace, gaussian] {
            let released = mechanism.release(&[i64::MAX, i64::MIN, 0], &mut bits);
            assert_eq!(released.len(), 3);
            assert!(mechanism.largest_error(Beta::new(1e-300).unwrap(), u64::MAX).unwrap().is_finite());
        }
    }
}

#[test]
fn what_is_made_within_a_target_costs_at_most_that_and_hardly_less() {
    let targets = [
        Target::pure(Epsilon::new(0.3).unwrap()),
        Target::approximate(Epsilon::new(0.7).unwrap(), Delta::new(1e-6).unwrap()),
        Target::approximate(Epsilon::new(0.1).unwrap(), Delta::new(1e-3).unwrap()),
        Target::approximate(Epsilon::new(0.4).unwrap(), Delta::new(0.0).unwrap()),
        Target::zcdp(Rho::new(0.03).unwrap()),
        Target::tcdp(Rho::new(0.03).unwrap(), Omega::new(9.0).unwrap()),
    ];
    let group = Scope::Person.group(std::num::NonZeroU32::new(2).unwrap());
    let many = || Additive::of(Moves::everywhere(Shift::new(40, 3.0).unwrap()));
    for target in targets {
        for scope in [&Scope::Presence, &Scope::Person, &group] {
            let mut kinds = vec![Additive::histogram(), many()];
            if *scope != group {
                kinds.extend([Additive::count(), Additive::sum(-3, 10).unwrap()].into_iter().skip(effort(1, 0)));
            }
            for kind in kinds {
                let events = kind.within(target, scope).unwrap().events().unwrap();
                let spent = crate::loss::filter::Odometer::of(&events, scope).unwrap();
                let (zero, exact) = (Exact::zero(), |value: f64| Exact::from_f64(value).unwrap());
                match target {
                    Target::Concentrated(rho) | Target::Truncated(rho, _) => {
                        let found = spent.rho(&zero).unwrap();
                        assert!(
                            found <= exact(rho.get()) && found.to_f64() > rho.get() * (1.0 - 1e-9),
                            "{target} {scope}"
                        );
                    }
                    Target::Pure(epsilon) => {
                        let found = spent.epsilon(&zero).unwrap();
                        assert!(found <= exact(epsilon.get()) && found.to_f64() > epsilon.get() * (1.0 - 1e-9));
                    }
                    Target::Approximate(epsilon, delta) => {
                        let found = crate::loss::Loss::of(&events, scope).unwrap().epsilon(delta).upper;
                        assert!(found <= epsilon.get() * (1.0 + 1e-9), "{target} {scope}: {found}");
                        // Laplace noise has its pure ε, which is a little more than its ε at δ.
                        let pure = spent.epsilon(&zero).map_or(found, |pure| pure.to_f64());
                        assert!(found.max(pure) > epsilon.get() * (1.0 - 1e-4), "{target} {scope}: {found} {pure}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_calibrated_is_refused_in_one_sentence() {
    let sentence = |target: Target, scope: Scope| Additive::count().within(target, scope).unwrap_err().to_string();
    assert_eq!(
        sentence(Target::pure(Epsilon::new(0.0).unwrap()), Scope::Person),
        "epsilon must be above 0 to calibrate noise"
    );
    assert_eq!(sentence(Target::zcdp(Rho::new(0.0).unwrap()), Scope::Person), "rho must be above 0 to calibrate noise");
    let age = Scope::Attributes(AttributeSet::new(["age"]).unwrap());
    let unmoved =
        Additive::sum(0, 1).unwrap().within(Target::pure(Epsilon::new(1.0).unwrap()), age).unwrap_err().to_string();
    assert_eq!(
        unmoved,
        "attributes {age} moves nothing here, so no noise is needed: choose a scope that the answer depends on"
    );
    assert!(Additive::sum(3, 2).is_err());
}

#[test]
fn one_number_is_noised_as_a_list_of_one() {
    let count = Additive::count().within(Target::pure(Epsilon::new(0.5).unwrap()), Scope::Person).unwrap();
    let (mut left, mut right) = (InsecureSeededSource::new(7), InsecureSeededSource::new(7));
    let one: i64 = count.release(120, &mut left);
    assert_eq!(vec![one], count.clone().release(&[120], &mut right));
}

fn one() -> Shift {
    Shift::one_cell(1.0).unwrap()
}
