//! The front door: the lines that the first page promises, one contract for all mechanisms, and the example programs.

use scumble::event::NoiseFamily;
use scumble::loss::filter::Odometer;
use scumble::mechanism::anonymized_histogram::{AnonymizedHistogram, ElementCount};
use scumble::mechanism::bounded_sensitivity::BoundedSensitivity;
use scumble::mechanism::cdf::Cdf;
use scumble::mechanism::huge_domain::HugeDomainHistogram;
use scumble::mechanism::interior_point::InteriorPoint;
use scumble::mechanism::k_norm::KNormMechanism;
use scumble::mechanism::propose_test_release::ProposeTestRelease;
use scumble::mechanism::quantile::{Quantile, QuantileTree, ThresholdCounts};
use scumble::mechanism::randomized_response::RandomizedResponse;
use scumble::mechanism::selection::top::GeneralizedHistogram;
use scumble::mechanism::selection::{ObviousAnswer, ScoreChange, Selection};
use scumble::mechanism::smooth::{OwnerSteps, SmoothMechanism};
use scumble::mechanism::sparse_vector::SparseVector;
use scumble::mechanism::stability::KeySelection;
use scumble::mechanism::stable_value::StableValue;
use scumble::noise::{InsecureSeededSource, SecureSource};
use scumble::quantity::{Beta, Delta, Epsilon, Exact, beta, delta, epsilon, omega, rho};
use scumble::workload::People;
use scumble::workload::interactive::InteractivePlan;
use scumble::workload::small_table::SmallTable;
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

/// What the events cost in this scope by the exact filter: at most ε and δ, and hardly less.
fn costs(what: &str, events: Vec<Event>, scope: &Scope, epsilon: f64, delta: f64) {
    let spent = Odometer::of(&events, scope).unwrap();
    let (found, mass) = (spent.pure_sum().unwrap().to_f64_up(), spent.delta().to_f64_up());
    assert!(found <= epsilon * (1.0 + 1e-11) && found > 0.999_999 * epsilon, "{what} in {scope}: {found}");
    assert!(mass <= delta * (1.0 + 1e-11) && mass >= 0.999_999 * delta, "{what} in {scope}: {mass}");
}

#[test]
fn a_target_is_met_in_the_scope_that_it_is_given_for() {
    let (pure, whole) = (Target::pure(epsilon(0.25).unwrap()), delta(1e-6).unwrap());
    let approximate = Target::approximate(epsilon(0.5).unwrap(), whole);
    let family = Scope::Person.group(3.try_into().unwrap());
    for scope in [&Scope::Presence, &Scope::Person] {
        for keys in [1, 4] {
            let selection = KeySelection::within(approximate, scope, keys).unwrap();
            costs("key selection", selection.events().unwrap(), scope, 0.5, 1e-6);
            assert_eq!(selection.keys_per_owner(), keys);
        }
        let moves = Contribution::new(3, 1).unwrap().moves().unwrap();
        let several = StableValue::within_several(approximate, scope, &moves).unwrap();
        costs("several stable values", several.events_moving(&moves).unwrap(), scope, 0.5, 1e-6);
    }
    for scope in [&Scope::Presence, &Scope::Person, &family] {
        for steps in [OwnerSteps::one(), OwnerSteps::two().of_rows(3)] {
            let stable = StableValue::within(approximate, scope, &steps).unwrap();
            costs("a stable value", stable.events(&steps).unwrap(), scope, 0.5, 1e-6);
            let bounded = BoundedSensitivity::within(approximate, pure, scope, &steps).unwrap();
            costs("a bounded sensitivity", bounded.events(&steps).unwrap(), scope, 0.75, 1e-6);
            let smooth = SmoothMechanism::within(pure, scope, &steps, NoiseFamily::Cauchy4, 100).unwrap();
            let spent = Odometer::of(&smooth.events(&steps).unwrap(), scope).unwrap().pure_sum().unwrap().to_f64_up();
            assert!(spent <= 0.25 * (1.0 + 1e-11) && spent > 0.24, "smooth noise in {scope}: {spent}");
            let test = ProposeTestRelease::within(approximate, pure, scope, &steps, 7).unwrap();
            costs("propose, test, release", test.events(&steps).unwrap(), scope, 0.75, 1e-6);
        }
    }
    let read = scumble::AttributeSet::new(["disease"]).unwrap();
    let disease = Scope::Attributes(read.clone());
    for scope in [&Scope::Presence, &Scope::Person, &family] {
        let point = InteriorPoint::within(pure, scope, 64, beta(0.05).unwrap()).unwrap();
        costs("an interior point", point.events().unwrap(), scope, 0.25, 0.0);
        let tree = QuantileTree::within(pure, scope, 1 << 40, 3, beta(0.05).unwrap()).unwrap();
        costs("a tree of quantiles", tree.events().unwrap(), scope, 0.25, 0.0);
    }
    let truncated = Target::tcdp(rho(0.1).unwrap(), omega(6.0).unwrap());
    // The recursion is for one owner; for a family the exponential mechanism is what is left.
    assert_eq!(InteriorPoint::within(truncated, Scope::Person, 128, beta(0.05).unwrap()).unwrap().name(), "recursion");
    assert!(InteriorPoint::recursive_within(truncated, &family, 128, beta(0.05).unwrap()).is_err());
    let point = InteriorPoint::within(truncated, &family, 128, beta(0.05).unwrap()).unwrap();
    let spent = Odometer::of(&point.events().unwrap(), &family).unwrap().rho(&Exact::zero()).unwrap().to_f64_up();
    assert!(spent <= 0.1 * (1.0 + 1e-11) && spent > 0.0999, "a family's point: {spent}");
    for scope in [&Scope::Presence, &Scope::Person, &disease, &family] {
        for change in [ScoreChange::General, ScoreChange::Monotone] {
            let test = SparseVector::within(pure, scope, change).unwrap();
            costs("sparse vector", test.events(&read).unwrap(), scope, 0.25, 0.0);
            let test = SparseVector::within_parts(pure, pure, scope, change).unwrap();
            costs("sparse vector in parts", test.events(&read).unwrap(), scope, 0.5, 0.0);
        }
        let table = SmallTable::within(pure, scope, &[vec![true, false]], 3).unwrap();
        costs("a small table", table.events(&read).unwrap(), scope, 0.25, 0.0);
        let concentrated = SmallTable::within(Target::zcdp(rho(0.1).unwrap()), scope, &[vec![true, false]], 3).unwrap();
        let spent = Odometer::of(&concentrated.events(&read).unwrap(), scope).unwrap();
        let found = spent.rho(&Exact::zero()).unwrap().to_f64_up();
        assert!(found <= 0.1 * (1.0 + 1e-11) && found > 0.0999, "a small table in {scope}: {found}");
        for size in [ElementCount::Private, ElementCount::AtMost(100)] {
            let histogram = AnonymizedHistogram::within(pure, scope, size).unwrap();
            let spent = Odometer::of(&histogram.events(&read).unwrap(), scope).unwrap().pure_sum().unwrap().to_f64_up();
            assert!(spent <= 0.25 && spent > 0.9 * 0.25, "an anonymized histogram in {scope}: {spent}");
        }
        let plan = InteractivePlan::within(pure, scope, 16, 1000, 10, 7, beta(0.05).unwrap()).unwrap();
        costs("an interactive release", plan.events(&read).unwrap(), scope, 0.25, 0.0);
    }
    assert!(KeySelection::within(approximate, &disease, 1).is_err());
    assert!(StableValue::within(approximate, &disease, &OwnerSteps::one()).is_err(), "it reads no attribute");
    assert!(StableValue::within(pure, Scope::Person, &OwnerSteps::one()).is_err(), "without a delta");
}

/// What every mechanism has, in one order and one shape. (Randomized response needs the attributes that decide the
/// truth.)
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
