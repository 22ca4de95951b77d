//! The front door: the lines that the first page promises, one contract for all mechanisms, and the example programs.

use scumble::loss::filter::Odometer;
use scumble::mechanism::cdf::Cdf;
use scumble::mechanism::huge_domain::HugeDomainHistogram;
use scumble::mechanism::interior_point::InteriorPoint;
use scumble::mechanism::k_norm::KNormMechanism;
use scumble::mechanism::quantile::{Quantile, QuantileTree, ThresholdCounts};
use scumble::mechanism::randomized_response::RandomizedResponse;
use scumble::mechanism::selection::top::GeneralizedHistogram;
use scumble::mechanism::selection::{ObviousAnswer, Selection};
use scumble::mechanism::stability::KeySelection;
use scumble::noise::{InsecureSeededSource, SecureSource};
use scumble::quantity::{Beta, Delta, Epsilon, Exact, beta, delta, epsilon};
use scumble::workload::People;
use scumble::{Additive, Contribution, Event, Histogram, Loss, Result, Scope, StabilityHistogram, Target};

#[test]
fn the_lines_of_the_first_page_hold() {
    let lines = || -> Result<()> {
        let mut bits = SecureSource::new()?;
        let count = Additive::count().within(Target::pure(epsilon(0.5)?), Scope::Person)?;
        let answer = count.release(120, &mut bits);
        assert!(((answer - 120) as f64).abs() <= count.error(beta(1e-12)?)?);
        let keys = StabilityHistogram::within(
            Target::approximate(epsilon(1.0)?, delta(1e-6)?),
            Scope::Person,
            Contribution::one(),
        )?;
        assert!(Loss::of(keys.events()?, Scope::Person)?.delta(epsilon(1.0)?).upper <= 1e-6 * (1.0 + 1e-3));
        Ok(())
    };
    lines().unwrap();
}

#[test]
fn keys_within_a_target_cost_at_most_that_and_hardly_less() {
    for (epsilon, delta) in [(1.0, 1e-6), (0.1, 1e-9), (4.0, 1e-3)] {
        for (keys, per_key) in [(1, 1), (3, 1), (2, 5)] {
            for scope in [Scope::Presence, Scope::Person] {
                let contribution = Contribution::new(keys, per_key).unwrap();
                let target = Target::approximate(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
                let made = StabilityHistogram::within(target, &scope, contribution).unwrap();
                // Exactly Σε by the filter, at four times the δ that the keys need.
                let spent = Odometer::of(&made.events().unwrap(), &scope).unwrap();
                let found = spent.epsilon(&Exact::from_f64(4.01 * delta).unwrap()).unwrap();
                assert!(found <= Exact::from_f64(epsilon).unwrap(), "{epsilon} {delta} {scope}: {found}");
                // The accountant's grid is a little coarser than the step at ε itself.
                let loss = Loss::of(made.events().unwrap(), &scope).unwrap();
                let spent = loss.delta(Epsilon::new(epsilon).unwrap());
                assert!(
                    spent.lower <= delta && spent.upper <= delta * (1.0 + 1e-3),
                    "{epsilon} {delta} {scope}: {spent:?}"
                );
                assert!(
                    loss.delta(Epsilon::new(0.9 * epsilon).unwrap()).upper > delta,
                    "{epsilon} {delta} {scope}: too much noise"
                );
            }
        }
    }
}

/// What every mechanism has, in one order and one shape. (Randomized response needs the attributes that decide the truth.)
macro_rules! contract {
    ($($mechanism:ty),+) => {
        $( const _: fn(&$mechanism) -> Result<Vec<Event>> = <$mechanism>::events; )+
    };
}
contract!(
    Additive,
    Histogram,
    StabilityHistogram,
    KeySelection,
    HugeDomainHistogram,
    Selection,
    ObviousAnswer,
    GeneralizedHistogram,
    Cdf,
    Quantile,
    QuantileTree,
    ThresholdCounts,
    InteriorPoint,
    KNormMechanism,
    People
);
const _: fn(&Additive, Beta) -> Result<f64> = Additive::error;
const _: fn(&StabilityHistogram, Beta) -> Result<f64> = StabilityHistogram::error;
const _: fn(&HugeDomainHistogram, Beta) -> Result<f64> = HugeDomainHistogram::error;
const _: fn(&KNormMechanism, Beta) -> Result<f64> = KNormMechanism::error;
const _: fn(&Quantile, Beta) -> Result<f64> = Quantile::error;
const _: fn(&QuantileTree, Beta) -> Result<f64> = QuantileTree::error;
const _: fn(&Histogram, Beta, u64) -> Result<f64> = Histogram::error;
const _: fn(&RandomizedResponse, Beta, u64) -> Result<f64> = RandomizedResponse::error;
const _: fn(&Selection, Beta, u64) -> Result<f64> = Selection::error;
const _: fn(&GeneralizedHistogram, Beta, u64) -> Result<f64> = GeneralizedHistogram::error;
const _: fn(&Cdf, Beta, u64) -> Result<f64> = Cdf::error;
const _: fn(&ThresholdCounts, Beta, u64) -> Result<f64> = ThresholdCounts::error;

#[test]
fn a_number_is_checked_where_it_is_written() {
    let cdf = Cdf::new(100, scumble::Noise::gaussian(3.0.try_into().unwrap())).unwrap();
    assert_eq!(beta(1.5).unwrap_err().to_string(), "beta must be a number in (0, 1), not 1.5");
    let mut bits = InsecureSeededSource::new(1);
    let noisy = cdf.release(&[5; 100], &mut bits).unwrap();
    assert!((noisy[99] - 500.0).abs() <= cdf.error(beta(1e-9).unwrap(), 1).unwrap());
}

#[path = "../examples/about_whom.rs"]
mod about_whom;
#[path = "../examples/questions.rs"]
mod questions;
#[path = "../examples/search_terms.rs"]
mod search_terms;
#[path = "../examples/survey.rs"]
mod survey;
#[path = "../examples/training.rs"]
mod training;

#[test]
fn the_example_programs_run() {
    survey::main().unwrap();
    search_terms::main().unwrap();
    training::main().unwrap();
    questions::main().unwrap();
    about_whom::main().unwrap();
}
