use super::*;
use crate::event::{Event, Moves, Sampling, Touch};
use crate::harness::effort;
use crate::loss::Loss;
use crate::loss::filter::Odometer;
use crate::quantity::{Delta, Epsilon, Rate, Scale, Sigma};
use crate::scope::{AttributeSet, Scope};

fn laplace(scale: f64) -> Word {
    Word::DiscreteLaplace { scale: Scale::new(scale).unwrap() }
}

fn gaussian(sigma: f64) -> Word {
    Word::DiscreteGaussian { sigma: Sigma::new(sigma).unwrap() }
}

fn keys(noise: Word, delta: f64, keys: u64) -> NewKeys {
    NewKeys::new(noise, Delta::new(delta).unwrap(), keys).unwrap()
}

/// Two cells of an owner's two keys, four if it is replaced; `town` moves keys, and nothing else does.
fn moves() -> Moves {
    let (two, four) = (Shift::new(2, 1.0).unwrap(), Shift::new(4, 1.0).unwrap());
    let touch = Touch { attributes: AttributeSet::new(["town"]).unwrap(), shifts: vec![four] };
    Moves::by_scope(vec![two], vec![four], vec![touch])
}

fn event(noise: Word, delta: f64) -> Event {
    Event::new(Word::NewKeys(keys(noise, delta, 2)), moves())
}

fn attribute(name: &str) -> Scope {
    Scope::Attributes(AttributeSet::new([name]).unwrap())
}

/// For one owner the word costs what the two events before it did, in every scope and view: the filter to the last bit.
#[test]
fn one_owner_costs_what_two_events_cost() {
    for (noise, delta) in [(laplace(4.0), 1e-6), (gaussian(4.0), 1e-6), (laplace(0.5), 0.01), (gaussian(20.0), 0.0)] {
        let one = [event(noise.clone(), delta).repeated(3).unwrap()];
        let failing = Word::Approximate { epsilon: Epsilon::new(0.0).unwrap(), delta: Delta::new(delta).unwrap() };
        let shift = vec![Shift::one_cell(1.0).unwrap()];
        let touch = Touch { attributes: AttributeSet::new(["town"]).unwrap(), shifts: shift.clone() };
        let moves_keys = Moves::by_scope(shift.clone(), shift, vec![touch]);
        let two = [Event::new(noise, moves()), Event::new(failing, moves_keys)].map(|event| event.repeated(3).unwrap());
        for scope in [Scope::Presence, Scope::Person, attribute("town"), attribute("age")] {
            assert_eq!(Odometer::of(&one, &scope).unwrap(), Odometer::of(&two, &scope).unwrap());
            let (one, two) = (Loss::of(&one, &scope).unwrap(), Loss::of(&two, &scope).unwrap());
            let same = |one: f64, two: f64| one == two || one <= two && one >= two * (1.0 - 1e-4);
            for at in effort(&[1e-5, 0.02][..], &[0.0, 1e-5, 0.02, 0.5]).iter().copied() {
                let at = Delta::new(at).unwrap();
                let (one, two) = (one.epsilon(at).upper, two.epsilon(at).upper);
                assert!(same(one, two), "{scope} {at}: {one} {two}");
            }
            for at in effort(&[0.3][..], &[0.0, 0.3, 2.0]).iter().copied() {
                let at = Epsilon::new(at).unwrap();
                let (one, two) = (one.delta(at).upper, two.delta(at).upper);
                assert!(same(one, two), "{scope} {at}: {one} {two}");
            }
        }
    }
}

/// The key of a group is published as its noise says, and for Laplace noise no more is claimed than that.
#[test]
fn the_growth_is_exact_for_laplace_noise() {
    let one = keys(laplace(2.0), 1e-6, 1);
    for (owners, factor) in [(2u32, 2.0f64), (3, 3.0), (8, f64::exp(3.5)), (20, f64::exp(9.5))] {
        let found = shown(&one, 1.0, owners);
        assert!(found >= 1e-6 * factor * (1.0 - 1e-4), "{owners}: {found}");
        assert!(found <= 1e-6 * factor * (1.0 + 1e-4), "{owners}: {found}");
    }
}

#[test]
fn what_groups_cost_is_a_probability_and_grows() {
    let noises = [1e-9, 1e-3, 1.0, 1e5, 1e18].into_iter().flat_map(|size| [laplace(size), gaussian(size.min(1e12))]);
    for noise in noises.chain([Word::Gaussian { sigma: Sigma::new(3.0).unwrap() }]) {
        for delta in [0.0, 1e-308, 1e-30, 1e-9, 0.5, 1.0] {
            for number in [1, 7, u64::MAX] {
                let one = keys(noise.clone(), delta, number);
                let mut before = delta;
                for owners in [1, 2, 3, 100, u32::MAX] {
                    let found = shown(&one, 1.0, owners);
                    assert!((delta..=1.0).contains(&found), "{one:?} {owners}: {found}");
                    assert!(found >= before * (1.0 - 1e-9), "{one:?} {owners}: {found} after {before}");
                    // At least what new keys that nobody shares are shown with.
                    let apart = -(f64::from(owners) * (-delta).ln_1p()).exp_m1();
                    assert!(found >= apart * (1.0 - 1e-9), "{one:?} {owners}: {found} of {apart}");
                    before = found;
                }
            }
        }
    }
}

/// One key of nobody else, in a sample or not: the exact mixture of all cases.
#[test]
fn samples_cost_no_less_than_their_exact_laws() {
    let (scale, threshold, rate) = (1.0f64, 4i64, 0.3);
    let mass = |z: i64| (0.5 / scale).tanh() * (-(z.abs() as f64) / scale).exp();
    let at_least = |z: i64| (z..80).map(mass).sum::<f64>();
    let delta = at_least(threshold - 1) * (1.0 + 1e-9);
    let (one, two) = (Shift::one_cell(1.0).unwrap(), Shift::new(2, 1.0).unwrap());
    let touch = Touch { attributes: AttributeSet::new(["key"]).unwrap(), shifts: vec![two] };
    let moves = Moves::by_scope(vec![one], vec![two], vec![touch]);
    let event = Event::new(Word::NewKeys(keys(laplace(scale), delta, 1)), moves);
    // What is published of a key with a count: index 0 is nothing, then the noisy counts from the threshold on.
    let law = |count: i64| -> Vec<f64> {
        let shown: Vec<f64> = (threshold..80).map(|noisy| if count == 0 { 0.0 } else { mass(noisy - count) }).collect();
        [vec![1.0 - shown.iter().sum::<f64>()], shown].concat()
    };
    // Others have the key `counts.0` times, and another key `counts.1` times; the owner is in the sample or not.
    let both = |first: i64, second: i64| -> Vec<f64> {
        law(first).iter().flat_map(|p| law(second).iter().map(|q| p * q).collect::<Vec<_>>()).collect()
    };
    let mixed = |out: &[f64], inside: &[f64]| -> Vec<f64> {
        out.iter().zip(inside).map(|(out, inside)| (1.0 - rate) * out + rate * inside).collect()
    };
    for sampling in
        [Sampling::Poisson(Rate::new(rate).unwrap()), Sampling::WithoutReplacement(Rate::new(rate).unwrap())]
    {
        let sampled = event.clone().sampled(sampling);
        let claims = [Scope::Presence, Scope::Person, attribute("key")].map(|scope| {
            let loss = Loss::of(std::slice::from_ref(&sampled), &scope).unwrap();
            let delta = |at: f64| loss.delta(Epsilon::new(at).unwrap()).upper;
            let deltas: Vec<(f64, f64)> =
                effort(&[0.1, 1.5][..], &[0.0, 0.1, 0.6, 1.5]).iter().map(|at| (*at, delta(*at))).collect();
            (Odometer::of(std::slice::from_ref(&sampled), &scope).unwrap(), deltas, scope)
        });
        for counts in [(0, 0), (1, 0), (2, 3)] {
            // Without replacement another owner, with the second key, is in the sample where this one is not.
            let absent = match sampling {
                Sampling::Poisson(_) => both(counts.0, counts.1),
                Sampling::WithoutReplacement(_) => both(counts.0, counts.1 + 1),
            };
            let with = mixed(&absent, &both(counts.0 + 1, counts.1));
            let other = mixed(&absent, &both(counts.0, counts.1 + 1));
            let pairs = [
                [(&with, &absent), (&absent, &with)],
                [(&with, &other), (&other, &with)],
                [(&with, &other), (&other, &with)],
            ];
            for ((spent, deltas, scope), pairs) in claims.iter().zip(pairs) {
                for (at, found) in deltas {
                    for (p, q) in pairs {
                        let truth: f64 = p.iter().zip(q).map(|(p, q)| (p - at.exp() * q).max(0.0)).sum();
                        assert!(
                            truth <= found * (1.0 + 1e-9),
                            "{sampling:?} {counts:?} {scope} δ({at}) = {truth} of {found}"
                        );
                    }
                }
                let epsilon = spent.pure_sum().unwrap().to_f64_up();
                for (p, q) in pairs {
                    let truth: f64 = p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum();
                    assert!(truth <= spent.delta().to_f64_up(), "{sampling:?} {counts:?} {scope}: {truth}");
                }
            }
        }
    }
}

/// An owner of a sample that is drawn without replacement takes another's place. A filter counted it as one that comes:
/// half.
#[test]
fn a_filter_knows_that_a_sample_of_fixed_size_replaces() {
    let noise = Event::new(laplace(2.0), moves());
    let sampled = noise.clone().sampled(Sampling::WithoutReplacement(Rate::new(0.9).unwrap()));
    let spent = |event: &Event, scope: Scope| Odometer::of(std::slice::from_ref(event), &scope).unwrap();
    assert_eq!(spent(&sampled, Scope::Presence), spent(&noise, Scope::Person));
    assert_eq!(spent(&sampled, Scope::Person), spent(&noise, Scope::Person));
    // The accountant's amplified number is not above the filter's.
    let loss = Loss::of(std::slice::from_ref(&sampled), &Scope::Presence).unwrap();
    let amplified = loss.epsilon(Delta::new(0.0).unwrap());
    assert!(amplified.upper > 1.0 && amplified.upper <= 2.0, "{amplified:?}");
}

#[test]
fn groups_on_samples_are_counted_as_on_everybody() {
    let two = Scope::Presence.group(2.try_into().unwrap());
    let whole = event(laplace(3.0), 1e-6);
    let sampled = whole.clone().sampled(Sampling::Poisson(Rate::new(0.1).unwrap()));
    let at = Epsilon::new(1.0).unwrap();
    let delta = |event: Event, scope: &Scope| Loss::of(&[event], scope).unwrap().delta(at).upper;
    assert_eq!(delta(sampled.clone(), &two), delta(whole.clone(), &two));
    let replaced = whole.clone().sampled(Sampling::WithoutReplacement(Rate::new(0.1).unwrap()));
    assert_eq!(delta(replaced, &two), delta(whole, &Scope::Person.group(2.try_into().unwrap())));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(effort(15, 60)))]
    /// Whatever the parameters: a probability, not below what the noise alone costs, and not above what the filter adds
    /// up.
    #[test]
    fn every_view_is_between_the_noise_and_the_filter(
        (is_laplace, size, ln_delta) in (proptest::bool::ANY, -3.0f64..9.0, -70.0f64..0.0),
        (number, per_key, times, rate) in (1u64..5, 1u32..4, 0u32..4, 0usize..4),
        (owners, which) in (1u32..6, 0usize..4),
    ) {
        let noise = if is_laplace { laplace(size.exp()) } else { gaussian(size.exp()) };
        let by = f64::from(per_key);
        let (one, two) = (Shift::new(number, by).unwrap(), Shift::new(2 * number, by).unwrap());
        let touch = Touch { attributes: AttributeSet::new(["town"]).unwrap(), shifts: vec![two] };
        let moves = Moves::by_scope(vec![one], vec![two], vec![touch]);
        let sampled = |event: Event| match rate {
            0 | 1 => event,
            2 => event.poisson(Rate::new(0.3).unwrap()),
            _ => event.without_replacement(Rate::new(0.9).unwrap()),
        };
        let alone = sampled(Event::new(noise, moves).repeated(10u64.pow(times)).unwrap());
        let event = alone.clone().for_new_keys(Delta::new(ln_delta.exp()).unwrap(), number).unwrap();
        let scope = [Scope::Presence, Scope::Person, attribute("town"), attribute("age")][which].clone();
        let group = scope.group(owners.try_into().unwrap());
        let of = |event: &Event| Odometer::of(std::slice::from_ref(event), &group).unwrap();
        let (spent, filtered) = (of(&event), of(&alone));
        proptest::prop_assert!(spent.delta().to_f64() <= 1e3 && spent.delta() >= filtered.delta());
        // Sampled cells of several keys at once have no bound by some noises: refused, not guessed.
        let (Ok(loss), Ok(noise)) = (Loss::of([event], &group), Loss::of([alone], &group)) else { return Ok(()) };
        for at in [0.0, 0.5, 3.0] {
            let (whole, part) = (loss.delta(Epsilon::new(at).unwrap()).upper, noise.delta(Epsilon::new(at).unwrap()).upper);
            proptest::prop_assert!((0.0..=1.0).contains(&whole), "{whole}");
            // Groups on samples are counted as on everybody, which may be tighter than the chain of samples that the
            // noise alone gets.
            let is_comparable = owners == 1 || rate < 2;
            proptest::prop_assert!(!is_comparable || whole >= part * (1.0 - 1e-3) - 1e-12, "{whole} {part}");
        }
        // A transform has an error of its own: of losses in the thousands, a few billionths.
        if let Some(epsilon) = spent.pure_sum().map(|epsilon| epsilon.to_f64_up()) {
            let found = loss.delta(Epsilon::new(epsilon).unwrap()).upper;
            let claimed = spent.delta().to_f64_up();
            proptest::prop_assert!(found <= claimed * (1.0 + 1e-3) + 1e-6, "{found} of {claimed}");
        }
        if which == 3 {
            proptest::prop_assert_eq!(loss.epsilon(Delta::new(0.0).unwrap()).upper, 0.0);
        }
    }
}
