//! For each closed form: what is found costs at most what was asked, as rationals, and the next f64 does not.

use super::*;
use crate::event::{Event, Moves, Shift, Word};
use crate::loss::Loss;
use crate::loss::filter::Odometer;
use crate::quantity::{Delta, Epsilon, Exact, Omega, Probability, Rho, Sensitivity};
use crate::scope::Scope;
use num_rational::BigRational;
use proptest::prelude::*;

fn exact(value: f64) -> BigRational {
    Exact::from_f64(value).unwrap().rational().clone()
}

proptest! {
    #[test]
    fn closed_forms_are_within_and_no_other_f64_is_better(
        ln_cost in -40.0f64..8.0, ln_by in -10.0f64..10.0, cells in 1u64..1000,
    ) {
        let (cost, by) = (ln_cost.exp(), ln_by.exp());
        let (epsilon, rho) = (Epsilon::new(cost).unwrap(), Rho::new(cost).unwrap());
        let moved = ShiftNorms::cells(cells, Sensitivity::new(by).unwrap());
        let (target, by, number) = (exact(cost), exact(by), exact(cells as f64));
        if let Ok(scale) = scale_for_pure(epsilon, moved.clone()) {
            let spent = |scale: f64| &number * &by / exact(scale);
            prop_assert!(spent(scale.get()) <= target);
            prop_assert!(spent(scale.get().next_down()) > target || scale.get() == 1e-9);
            let claimed = exact(epsilon_of_laplace(scale, moved.clone()).get());
            prop_assert!(claimed >= spent(scale.get()) && claimed <= target);
        }
        if let Ok(sigma) = sigma_for_zcdp(rho, moved.clone()) {
            let spent = |sigma: f64| &number * &by * &by / (exact(2.0) * exact(sigma) * exact(sigma));
            prop_assert!(spent(sigma.get()) <= target);
            prop_assert!(spent(sigma.get().next_down()) > target || sigma.get() == 1e-9);
            let claimed = exact(rho_of_gaussian(sigma, moved.clone()).get());
            prop_assert!(claimed >= spent(sigma.get()) && claimed <= target);
        }
        let found = epsilon_for_pure(epsilon, moved.clone()).unwrap().get();
        let spent = |found: f64| &number * &by * exact(found);
        prop_assert!(spent(found) <= target && spent(found.next_up()) > target);
        let found = range_for_zcdp(rho, moved.clone()).unwrap().get();
        let spent = |found: f64| &number * &by * &by * exact(found) * exact(found) / exact(8.0);
        prop_assert!(spent(found) <= target && spent(found.next_up()) > target);
        let found = pure_for_zcdp(rho).unwrap().get();
        prop_assert!(found * (found / 2.0).tanh() <= cost && found * (found / 2.0).tanh() > cost * (1.0 - 1e-11));
    }

    #[test]
    fn parts_fit_into_the_whole_as_the_ledger_counts_them(cost in 1e-9f64..100.0, parts in 1usize..500) {
        let budget = Exact::from_f64(cost).unwrap();
        let share = share_of(&budget, parts).unwrap();
        prop_assert_eq!(share.up_to_grid(), share.clone());
        let all = (0..parts).fold(Exact::zero(), |sum, _| sum + share.clone());
        prop_assert!(all <= budget && all.to_f64() >= cost * (1.0 - 1e-9));
    }

    #[test]
    fn the_least_f64_is_found_from_anywhere(near in proptest::num::f64::ANY, at in proptest::num::f64::POSITIVE) {
        let near = if near.is_nan() { 0.0 } else { near };
        let at = if at == 0.0 || at.is_infinite() { 1.0 } else { at };
        prop_assert_eq!(least(near, |value| value >= at), at);
        prop_assert_eq!(largest(near, |value| value <= at), at);
    }
}

#[test]
fn the_ledger_and_the_accountant_agree_with_the_closed_forms() {
    for (cost, cells, by) in [(0.1, 1, 1.0), (0.3, 3, 7.0), (1.7, 2, 0.5), (3e-5, 1, 1e6)] {
        let moves = Moves::everywhere(Shift::new(cells, by).unwrap());
        for scope in [Scope::Presence, Scope::Person.group(std::num::NonZeroU32::new(3).unwrap())] {
            let moved = ShiftNorms::of(&moves, &scope);
            let laplace =
                Word::DiscreteLaplace { scale: scale_for_pure(Epsilon::new(cost).unwrap(), moved.clone()).unwrap() };
            let event = [Event::new(laplace, moves.clone())];
            let spent = Odometer::of(&event, &scope).unwrap().epsilon(&Exact::zero()).unwrap();
            assert!(spent <= Exact::from_f64(cost).unwrap() && spent.to_f64() > cost * (1.0 - 1e-9));
            let upper = Loss::of(&event, &scope).unwrap().epsilon(Delta::new(0.0).unwrap()).upper;
            assert!(upper <= cost * (1.0 + 1e-9), "{upper} {cost}");
            let gaussian = Word::DiscreteGaussian { sigma: sigma_for_zcdp(Rho::new(cost).unwrap(), moved).unwrap() };
            let spent =
                Odometer::of(&[Event::new(gaussian, moves.clone())], &scope).unwrap().rho(&Exact::zero()).unwrap();
            assert!(spent <= Exact::from_f64(cost).unwrap() && spent.to_f64() > cost * (1.0 - 1e-9));
        }
    }
}

#[test]
fn the_largest_rho_converts_to_epsilon_and_is_tight() {
    for (epsilon, delta) in [("1", "1e-9"), ("0.001", "1e-6"), ("1e-6", "1e-12"), ("20", "0.01")] {
        let (epsilon, delta): (Exact, Exact) = (epsilon.parse().unwrap(), delta.parse().unwrap());
        let rho = largest_rho(&epsilon, &delta).unwrap().to_f64();
        let converted = |rho: f64| {
            let event = Event::new(
                Word::Zcdp { rho: Rho::new(rho).unwrap() },
                Moves::everywhere(Shift::one_cell(1.0).unwrap()),
            );
            Odometer::of(&[event], &Scope::Person).unwrap().epsilon(&delta).unwrap()
        };
        assert!(converted(rho) <= epsilon && converted(rho * (1.0 + 1e-9)) > epsilon, "{epsilon} {delta} {rho}");
    }
}

#[test]
fn short_scales_are_not_below_and_short() {
    for scale in [0.1, 1.0 / 3.0, 1.0, 17.3, 1e9 / 7.0] {
        let short = short_scale(scale).unwrap().get();
        assert!(short >= scale && short <= scale * (1.0 + 2f64.powi(-39)));
        assert!(short.to_bits().trailing_zeros() >= 11, "{short}");
    }
}

#[test]
fn calibration_beats_the_gaussian_by_what_the_spec_says_and_hands_over() {
    let check = |rho: f64, omega: f64, p: f64, most: f64| {
        let target = (Rho::new(rho).unwrap(), Omega::new(omega).unwrap(), Probability::new(p).unwrap());
        match least_maximum_error(target.0, target.1, 1, target.2).unwrap() {
            LeastErrorNoise::SinhNormal(noise) => {
                assert!(noise.certificate(1).unwrap().slope_upper(Omega::new(omega).unwrap()) <= rho);
                let z = normal_tail_quantile(p / 2.0);
                let q = noise.a().get() * (noise.sigma().get() * z / noise.a().get()).asinh();
                assert!(q <= most, "{q} {most}");
            }
            LeastErrorNoise::DiscreteGaussian(sigma) => {
                assert!((sigma.get() * normal_tail_quantile(p / 2.0)) <= most);
            }
        }
    };
    check(0.1, 2.37, 1e-12, 11.4);
    check(0.01, 10.0, 1e-6, 32.2);
    check(0.01, 10.0, 1e-12, 40.9);
    check(0.01, 10.0, 1e-24, 49.2);
    check(0.001, 31.6, 1e-12, 130.5);
    let beyond =
        least_maximum_error(Rho::new(0.01).unwrap(), Omega::new(40.0).unwrap(), 1, Probability::new(1e-12).unwrap());
    assert!(matches!(beyond.unwrap(), LeastErrorNoise::DiscreteGaussian(_)));
    assert!(
        least_maximum_error(Rho::new(0.0).unwrap(), Omega::new(4.0).unwrap(), 1, Probability::new(0.1).unwrap())
            .is_err()
    );
}
