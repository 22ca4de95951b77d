use crate::event::{Event, Moves, Sampling, Shift, Word};
use crate::loss::{Answer, Loss};
use crate::quantity::{Delta, Epsilon, Rate, Scale, Sigma};
use crate::scope::Scope;

fn loss(events: &[Event], scope: &Scope) -> Loss {
    Loss::of(events, scope).unwrap()
}

fn epsilon(events: &[Event], scope: &Scope, delta: f64) -> Answer {
    loss(events, scope).epsilon(Delta::new(delta).unwrap())
}

fn poisson(rate: f64) -> Sampling {
    Sampling::Poisson(Rate::new(rate).unwrap())
}

/// The sample of a composition was once accounted for as the composition of samples: 1.24 for 1.43.
#[test]
fn an_owner_in_the_sample_moves_all_of_its_cells() {
    let words = [Word::Pure { epsilon: Epsilon::new(1.0).unwrap() }, Word::Laplace { scale: Scale::new(1.0).unwrap() }];
    for word in words {
        let event = Event::new(word, Moves::everywhere(Shift::new(2, 1.0).unwrap()));
        let answer = epsilon(&[event.sampled(poisson(0.5))], &Scope::Presence, 0.0);
        let truth = (0.5 * 2f64.exp_m1()).ln_1p();
        assert!(answer.upper >= truth && answer.upper <= truth * (1.0 + 1e-9), "{} {truth}", answer.upper);
    }
}

/// "Two cells by 1.5" on whole numbers stand for three cells by 1 too, which cost more than two by 1; one cell by 1.5
/// moves by 1.
#[test]
fn a_fraction_of_a_step_counts_where_there_are_several_cells() {
    let laplace = || Word::DiscreteLaplace { scale: Scale::new(1.0).unwrap() };
    let of = |shifts: &[(u64, f64)], scope: &Scope| epsilon(&[moving(laplace(), shifts)], scope, 0.0);
    let three = of(&[(3, 1.0)], &Scope::Presence);
    for shifts in [&[(2, 1.5)][..], &[(2, 1.5), (1, 2.5)], &[(1, 2.5), (3, 1.0)]] {
        let found = of(shifts, &Scope::Presence);
        assert!(found.upper >= three.upper && found.lower <= 3.0 + 1e-9, "{shifts:?}: {found:?}");
    }
    // Four owners may each move three cells by 1.
    let group = of(&[(2, 1.5)], &Scope::Presence.group(4.try_into().unwrap()));
    assert!(group.upper >= of(&[(3, 1.0)], &Scope::Presence.group(4.try_into().unwrap())).upper, "{group:?}");
    assert_eq!(of(&[(1, 1.5)], &Scope::Presence), of(&[(1, 1.0)], &Scope::Presence));
    assert_eq!(of(&[(2, 1.5)], &Scope::Presence).upper, three.upper);
    // No cell moves by a whole step.
    assert_eq!(of(&[(2, 0.5)], &Scope::Presence.group(3.try_into().unwrap())).upper, 0.0);
    let deltas = |word: Word, shifts: &[(u64, f64)]| {
        loss(&[moving(word, shifts)], &Scope::Presence).delta(Epsilon::new(0.5).unwrap())
    };
    let sinh = || Word::SinhNormal { sigma: Sigma::new(2.0).unwrap(), a: Scale::new(3.0).unwrap() };
    for word in [gaussian, sinh] {
        let (found, truth) = (deltas(word(), &[(2, 1.5)]), deltas(word(), &[(3, 1.0)]));
        assert!(found.upper >= truth.lower && found.lower <= truth.upper, "{found:?} {truth:?}");
    }
}

fn gaussian() -> Word {
    Word::DiscreteGaussian { sigma: Sigma::new(4.0).unwrap() }
}

fn moving(word: Word, shifts: &[(u64, f64)]) -> Event {
    let shifts: Vec<Shift> = shifts.iter().map(|(cells, by)| Shift::new(*cells, *by).unwrap()).collect();
    Event::new(word, Moves::by_scope(shifts.clone(), shifts, Vec::new()))
}

/// One cell by 2 or two cells by 1 was once two cells by 2.
#[test]
fn alternatives_cost_what_the_worst_choice_costs() {
    let either = |word: Word| moving(word, &[(1, 2.0), (2, 1.0)]);
    let laplace = Word::DiscreteLaplace { scale: Scale::new(3.0).unwrap() };
    for word in [gaussian(), laplace] {
        for times in [1u64, 3] {
            // All ways to choose run by run, written out.
            let ways = (0..=times).map(|count| {
                let first = moving(word.clone(), &[(1, 2.0)]).repeated(count.max(1)).unwrap();
                let second = moving(word.clone(), &[(2, 1.0)]).repeated((times - count).max(1)).unwrap();
                let mut events = Vec::new();
                events.extend((count > 0).then_some(first));
                events.extend((count < times).then_some(second));
                epsilon(&events, &Scope::Presence, 1e-5)
            });
            let worst = ways.fold((0.0, 0.0), |most: (f64, f64), way| (most.0.max(way.lower), most.1.max(way.upper)));
            let found = epsilon(&[either(word.clone()).repeated(times).unwrap()], &Scope::Presence, 1e-5);
            assert!(
                (found.upper - worst.1).abs() < 1e-9 && (found.lower - worst.0).abs() < 1e-9,
                "{found:?} {worst:?}"
            );
        }
    }
    assert!(
        (epsilon(&[either(Word::DiscreteLaplace { scale: Scale::new(3.0).unwrap() })], &Scope::Person, 0.0).upper
            - 2.0 / 3.0)
            .abs()
            < 1e-12
    );
}

/// Too many runs to write all choices out: at most what covers both alternatives costs, at least what either does
/// alone.
#[test]
fn many_runs_of_alternatives_stay_between_one_and_all() {
    let runs =
        |shifts: &[(u64, f64)]| epsilon(&[moving(gaussian(), shifts).repeated(500).unwrap()], &Scope::Presence, 1e-6);
    let (found, all) = (runs(&[(1, 2.0), (2, 1.0)]), runs(&[(2, 2.0)]));
    for alone in [runs(&[(1, 2.0)]), runs(&[(2, 1.0)])] {
        assert!(found.upper >= alone.lower);
    }
    assert!(found.upper < 0.75 * all.upper && found.lower <= found.upper, "{found:?} {all:?}");
}

/// Two owners, each in the sample with probability s: their number is binomial, and the count moves by it.
#[test]
fn a_group_on_a_sample_costs_no_less_than_the_mixture_of_its_sizes() {
    let (scale, rate) = (2.0, 0.3);
    let event = Event::new(
        Word::DiscreteLaplace { scale: Scale::new(scale).unwrap() },
        Moves::everywhere(Shift::one_cell(1.0).unwrap()),
    );
    let group = Scope::Presence.group(2.try_into().unwrap());
    let answers = loss(&[event.sampled(poisson(rate))], &group);
    let mass = |z: i64| (0.5 / scale).tanh() * (-(z.abs() as f64) / scale).exp();
    let with = |z: i64| {
        let chances = [(1.0 - rate) * (1.0 - rate), 2.0 * rate * (1.0 - rate), rate * rate];
        (0..3).map(|j| chances[j as usize] * mass(z - j)).sum::<f64>()
    };
    let pure = 2.0 * (rate * (1.0 / scale).exp_m1()).ln_1p();
    let largest = (-60..60).map(|z| (with(z) / mass(z)).ln().abs()).fold(0.0, f64::max);
    let found = answers.epsilon(Delta::new(0.0).unwrap()).upper;
    assert!(largest <= found && (found / pure - 1.0).abs() < 1e-12, "{largest} {found} {pure}");
    for at in [0.05, 0.2, 0.3] {
        let one = |p: f64, q: f64| (p - f64::exp(at) * q).max(0.0);
        let truth = (-200..200)
            .fold((0.0, 0.0), |sum: (f64, f64), z| (sum.0 + one(with(z), mass(z)), sum.1 + one(mass(z), with(z))));
        let found = answers.delta(Epsilon::new(at).unwrap());
        assert!(found.upper >= truth.0.max(truth.1) && found.lower <= truth.0.max(truth.1), "{found:?} {truth:?}");
    }
}

/// Two owners may each choose another alternative, so a group takes what covers both.
#[test]
fn a_group_with_alternatives_costs_at_least_every_mixture_of_them() {
    let group = Scope::Presence.group(2.try_into().unwrap());
    let either = moving(gaussian(), &[(1, 2.0), (4, 1.0)]);
    // One owner moves one cell by 2, the other four cells by 1, the same one among them: 3, 1, 1, 1.
    let mixture = [moving(gaussian(), &[(1, 3.0)]), moving(gaussian(), &[(3, 1.0)])];
    let found = epsilon(std::slice::from_ref(&either), &group, 1e-6);
    assert!(found.upper >= epsilon(&mixture, &Scope::Presence, 1e-6).upper, "{found:?}");
    let sampled = either.sampled(poisson(0.2));
    assert!(epsilon(&[sampled], &group, 1e-6).upper.is_finite());
}

#[test]
fn groups_on_samples_are_answered_for_every_notion() {
    let group = Scope::Presence.group(3.try_into().unwrap());
    let one = Moves::everywhere(Shift::one_cell(1.0).unwrap());
    let sampled = |word: Word| Event::new(word, one.clone()).sampled(poisson(0.01)).repeated(100).unwrap();
    let noise = sampled(Word::Gaussian { sigma: Sigma::new(2.0).unwrap() });
    let (three, alone) =
        (epsilon(std::slice::from_ref(&noise), &group, 1e-6), epsilon(&[noise], &Scope::Presence, 1e-6));
    assert!(
        three.upper.is_finite() && three.upper > alone.upper && three.upper < 9.0 * alone.upper,
        "{three:?} {alone:?}"
    );
    // (ε, δ): amplified, then the chain's formula.
    let word = Word::Approximate { epsilon: Epsilon::new(0.5).unwrap(), delta: Delta::new(1e-9).unwrap() };
    let once = Event::new(word, one.clone()).sampled(poisson(0.1));
    let amplified = (0.1 * 0.5f64.exp_m1()).ln_1p();
    let truth = 1e-10 * ((3.0 * amplified).exp_m1() / amplified.exp_m1());
    let found = loss(&[once], &group).delta(Epsilon::new(3.0 * amplified + 1e-12).unwrap());
    assert!(found.upper >= truth && found.upper <= truth * (1.0 + 1e-5), "{found:?} {truth}");
}

/// `account` counted two owners who move a black box by 1.5 each as three owners, the ledger as four: found by a second
/// opinion.
#[test]
fn each_owner_of_a_group_is_rounded_up_as_in_the_filter() {
    use crate::loss::filter::Odometer;
    let one = Epsilon::new(1.0).unwrap();
    let pure = Event::new(Word::Pure { epsilon: one }, Moves::everywhere(Shift::one_cell(1.5).unwrap()));
    let pair = Scope::Presence.group(2.try_into().unwrap());
    let found = epsilon(std::slice::from_ref(&pure), &pair, 0.0).upper;
    assert!((4.0..4.0 * (1.0 + 1e-9)).contains(&found), "{found}");
    let spent = Odometer::of(&[pure], &pair).unwrap();
    assert_eq!(spent.pure_sum(), Some("4".parse().unwrap()));
    // Noise moves by what all owners do together.
    let noise = Word::Laplace { scale: Scale::new(1.0).unwrap() };
    let found = epsilon(&[moving(noise, &[(1, 1.5)])], &pair, 0.0).upper;
    assert!((3.0..3.0 * (1.0 + 1e-9)).contains(&found), "{found}");
}

/// Two owners of something 1-private were said to lose certainly 1.879 at δ = 0.1, as if randomized response with ε = 2
/// were 1-private for one. By composing the trade-off function 1 − f = min(eα, 1 − (1 − α)/e) with itself, nothing
/// loses more than 1.853.
#[test]
fn a_lower_bound_for_groups_of_something_pure_is_reached() {
    let e = 1f64.exp();
    // The corner of (1 − f)∘(1 − f): α = 1/(e(1 + e)), where it is e²α; its slopes are e² before and 1 behind, and
    // δ(y) = e²α − e^y·α between.
    let corner = 1.0 / (e * (1.0 + e));
    let truth = ((e * e * corner - 0.1) / corner).ln();
    let pair = Scope::Presence.group(2.try_into().unwrap());
    let one = Epsilon::new(1.0).unwrap();
    for word in [Word::Pure { epsilon: one }, Word::Approximate { epsilon: one, delta: Delta::new(0.0).unwrap() }] {
        let found = epsilon(&[moving(word, &[(1, 1.0)])], &pair, 0.1);
        assert!(found.lower <= truth && truth <= found.upper, "{found:?} {truth}");
    }
}
