//! The accountant against exact enumeration, and at the ends of its range.

use proptest::prelude::*;
use scumble::event::{Event, Moves, Sampling, Shift, Word};
use scumble::loss::{Answer, Loss};
use scumble::quantity::{Delta, Epsilon, Omega, Rate, Rho, Scale, Sigma};
use scumble::scope::Scope;

fn event(kind: Word, by: f64) -> Event {
    Event::new(kind, Moves::everywhere(Shift::one_cell(by).unwrap()))
}

fn gaussian(sigma: f64) -> Event {
    event(Word::Gaussian { sigma: Sigma::new(sigma).unwrap() }, 1.0)
}

fn laplace(scale: f64) -> Event {
    event(Word::Laplace { scale: Scale::new(scale).unwrap() }, 1.0)
}

fn poisson(event: Event, rate: f64) -> Event {
    event.sampled(Sampling::Poisson(Rate::new(rate).unwrap()))
}

fn epsilon(events: &[Event], scope: &Scope, delta: f64) -> Answer {
    Loss::of(events, scope).unwrap().epsilon(Delta::new(delta).unwrap())
}

fn delta(events: &[Event], scope: &Scope, epsilon: f64) -> Answer {
    Loss::of(events, scope).unwrap().delta(Epsilon::new(epsilon).unwrap())
}

/// A pair of finite distributions.
type Pair = (Vec<f64>, Vec<f64>);

/// Masses from whole weights, so that they sum to 1 up to rounding.
fn distribution(weights: &[u32]) -> Vec<f64> {
    let sum: u32 = weights.iter().sum();
    weights.iter().map(|&weight| f64::from(weight) / f64::from(sum)).collect()
}

/// The joint distribution of independent runs, by enumeration.
fn product(pairs: &[Pair]) -> Vec<(f64, f64)> {
    pairs.iter().fold(vec![(1.0, 1.0)], |joint, (p, q)| {
        let extend =
            |&(left, right): &(f64, f64)| p.iter().zip(q).map(move |(p, q)| (left * p, right * q)).collect::<Vec<_>>();
        joint.iter().flat_map(extend).collect()
    })
}

fn hockey_stick(joint: &[(f64, f64)], epsilon: f64) -> f64 {
    let one = |p: f64, q: f64| (p - epsilon.exp() * q).max(0.0);
    let (forward, back) = joint.iter().fold((0.0, 0.0), |sum, &(p, q)| (sum.0 + one(p, q), sum.1 + one(q, p)));
    f64::max(forward, back)
}

/// Add or remove, on a Poisson sample: P is mixed with Q.
fn mixed((p, q): &Pair, rate: f64) -> Pair {
    (p.iter().zip(q).map(|(p, q)| (1.0 - rate) * q + rate * p).collect(), q.clone())
}

fn pair_event((p, q): &Pair) -> Event {
    event(Word::Pair(scumble::event::Pair::new(p.clone(), q.clone()).unwrap()), 1.0)
}

fn pairs() -> impl Strategy<Value = Pair> {
    (2..=4usize).prop_flat_map(|size| {
        let weights = || prop::collection::vec(1..=40u32, size);
        (weights(), weights()).prop_map(|(p, q)| (distribution(&p), distribution(&q)))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Both bounds of δ enclose the enumerated truth, in the worse direction, sampled or not.
    #[test]
    fn delta_is_enclosed_for_random_pairs(
        first in pairs(), second in pairs(), times in 1..=3u64, rate in prop::option::of(0.05..0.95f64), at in 0.0..1.0f64,
    ) {
        let sampled = |event: Event| if let Some(rate) = rate { poisson(event, rate) } else { event };
        let events = [sampled(pair_event(&first)).repeated(times).unwrap(), sampled(pair_event(&second))];
        let own = |pair: &Pair| if let Some(rate) = rate { mixed(pair, rate) } else { pair.clone() };
        let mut all = vec![own(&first); times as usize];
        all.push(own(&second));
        let joint = product(&all);
        let largest = joint.iter().map(|(p, q)| (p / q).ln().abs()).fold(0.0, f64::max);
        let truth = hockey_stick(&joint, at * largest);
        let found = delta(&events, &Scope::Presence, at * largest);
        prop_assert!(found.lower <= truth * (1.0 + 1e-9) + 1e-15, "lower {found:?} above {truth}");
        prop_assert!(found.upper >= truth * (1.0 - 1e-9) - 1e-15, "upper {found:?} below {truth}");
    }

    /// Both bounds of ε enclose the truth, and closely.
    #[test]
    fn epsilon_is_enclosed_for_random_pairs(first in pairs(), second in pairs(), exponent in 1.0..8.0f64) {
        let target = 10f64.powf(-exponent);
        let joint = product(&[first.clone(), first.clone(), second.clone()]);
        let events = [pair_event(&first).repeated(2).unwrap(), pair_event(&second)];
        let found = epsilon(&events, &Scope::Presence, target);
        prop_assert!(hockey_stick(&joint, found.upper * (1.0 + 1e-12) + 1e-12) <= target * (1.0 + 1e-9));
        if found.lower > 0.0 {
            prop_assert!(hockey_stick(&joint, found.lower * (1.0 - 1e-12)) >= target * (1.0 - 1e-9));
        }
        // Not loose either: a thousandth less ε is too little, unless nothing is left.
        let less = found.upper * (1.0 - 1e-3) - 1e-4;
        prop_assert!(less <= 0.0 || hockey_stick(&joint, less) >= target * (1.0 - 1e-9), "{found:?} is loose");
    }

}

/// δ(ε) of `times` runs of a pair of three outcomes, by the multinomial sum, the worse of both orders.
fn many_runs((p, q): &Pair, times: u32, epsilon: f64) -> f64 {
    let mut ln_factorials = vec![0.0];
    for n in 1..=times {
        ln_factorials.push(ln_factorials[n as usize - 1] + f64::from(n).ln());
    }
    let ln_sum = |masses: &[f64], counts: [u32; 3]| -> f64 {
        masses.iter().zip(counts).map(|(mass, count)| f64::from(count) * mass.ln()).sum()
    };
    let mut joint = Vec::new();
    for first in 0..=times {
        for second in 0..=times - first {
            let counts = [first, second, times - first - second];
            let ways = ln_factorials[times as usize] - counts.iter().map(|&n| ln_factorials[n as usize]).sum::<f64>();
            joint.push(((ways + ln_sum(p, counts)).exp(), (ways + ln_sum(q, counts)).exp()));
        }
    }
    hockey_stick(&joint, epsilon)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Many runs of a pair whose three losses lie on no common lattice: what the grid adds is at its largest.
    #[test]
    fn delta_is_enclosed_for_many_runs_of_three_outcomes(
        weights in prop::collection::vec(20..=60u32, 6), times in 1..=120u32, at in 0.0..6.0f64,
    ) {
        let pair = (distribution(&weights[..3]), distribution(&weights[3..]));
        let deviation = pair.0.iter().zip(&pair.1).map(|(p, q)| p * (p / q).ln().powi(2)).sum::<f64>().sqrt();
        let epsilon = at * deviation * f64::from(times).sqrt();
        let truth = many_runs(&pair, times, epsilon);
        let found = delta(&[pair_event(&pair).repeated(u64::from(times)).unwrap()], &Scope::Presence, epsilon);
        let slack = 1e-9 * truth + 1e-14;
        prop_assert!(found.lower <= truth + slack && found.upper >= truth - slack, "{found:?} misses {truth}");
        prop_assert!(truth < 1e-9 || found.upper <= truth * 1.01, "{found:?} is loose: {truth}");
    }
}

proptest! {
    // Each case here takes the finest grids, since a single run's atoms lie off them.
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// One owner replaced on a sample: δ′ = s·δ(ε), e^{ε′} = 1 + s(e^ε − 1), for the worse order of a pair.
    #[test]
    fn replacement_on_a_sample_is_the_amplified_curve(pair in pairs(), rate in 0.05..0.95f64, at in 0.0..1.0f64) {
        let joint = product(std::slice::from_ref(&pair));
        let largest = joint.iter().map(|(p, q)| (p / q).ln().abs()).fold(0.0, f64::max);
        let amplified = (rate * (at * largest).exp_m1()).ln_1p();
        let truth = rate * hockey_stick(&joint, at * largest);
        let sampled = pair_event(&pair).sampled(Sampling::WithoutReplacement(Rate::new(rate).unwrap()));
        let found = delta(&[sampled], &Scope::Person, amplified);
        let holds = found.lower <= truth * (1.0 + 1e-9) + 1e-15 && found.upper >= truth * (1.0 - 1e-9) - 1e-15;
        prop_assert!(holds, "{found:?} misses {truth} at {amplified}");
    }
}

#[test]
fn delta_goes_down_to_1e_30() {
    let lists: [Vec<Event>; 5] = [
        vec![poisson(gaussian(1.0), 0.01).repeated(1000).unwrap()],
        vec![laplace(10.0).repeated(1000).unwrap()],
        vec![event(Word::DiscreteGaussian { sigma: Sigma::new(3.0).unwrap() }, 1.0).repeated(200).unwrap()],
        vec![event(Word::Exponential { epsilon: Epsilon::new(0.2).unwrap() }, 1.0).repeated(300).unwrap()],
        vec![gaussian(2.0), laplace(3.0).repeated(5).unwrap(), poisson(laplace(1.0), 0.1).repeated(20).unwrap()],
    ];
    for events in lists {
        let mut before = 0.0;
        for exponent in [1, 3, 6, 10, 15, 20, 25, 30] {
            let answer = epsilon(&events, &Scope::Presence, 10f64.powi(-exponent));
            assert!(answer.upper >= before, "ε must grow as δ falls: {answer:?}");
            // No mechanism has the envelope of all with one range, so that its bounds are that far apart.
            let loose = if matches!(events[0].word(), Word::Exponential { .. }) { 0.25 } else { 3e-4 };
            assert!(answer.lower <= answer.upper && answer.lower >= answer.upper * (1.0 - loose), "{answer:?}");
            before = answer.upper;
        }
    }
}

#[test]
fn long_compositions_need_no_grid_from_the_caller() {
    let million = epsilon(&[poisson(gaussian(1.0), 0.01).repeated(1_000_000).unwrap()], &Scope::Presence, 1e-5);
    assert!(million.lower <= million.upper && million.lower > million.upper * (1.0 - 3e-4), "{million:?}");
    let laplace = epsilon(&[laplace(10.0).repeated(10_000).unwrap()], &Scope::Presence, 1e-6);
    assert!(laplace.lower <= laplace.upper && laplace.lower > laplace.upper * (1.0 - 3e-4), "{laplace:?}");
}

#[test]
fn the_exponential_mechanism_costs_less_than_any_pure_mechanism() {
    let range = event(Word::Exponential { epsilon: Epsilon::new(1.0).unwrap() }, 1.0).repeated(20).unwrap();
    let pure = event(Word::Pure { epsilon: Epsilon::new(1.0).unwrap() }, 1.0).repeated(20).unwrap();
    let (range, pure) = (epsilon(&[range], &Scope::Presence, 1e-6), epsilon(&[pure], &Scope::Presence, 1e-6));
    assert!(range.upper < 0.8 * pure.lower, "{range:?} {pure:?}");
    // And its single curve is (1 − e^{(x−ε)/2})²/(1 − e^{−ε}).
    let one = event(Word::Exponential { epsilon: Epsilon::new(1.0).unwrap() }, 1.0);
    let truth = (1.0 - (-0.25f64).exp()).powi(2) / (1.0 - (-1f64).exp());
    let found = delta(&[one], &Scope::Presence, 0.5);
    assert!(found.lower <= truth && truth <= found.upper && found.upper < truth * 1.001, "{found:?} {truth}");
}

#[test]
fn black_boxes_compose_with_the_rest() {
    let zcdp = event(Word::Zcdp { rho: Rho::new(0.05).unwrap() }, 1.0);
    let tcdp = event(Word::Tcdp { rho: Rho::new(1e-4).unwrap(), omega: Omega::new(20.0).unwrap() }, 1.0);
    let alone = epsilon(std::slice::from_ref(&tcdp), &Scope::Presence, 1e-3).upper;
    assert!((alone - 0.033).abs() < 6e-4, "Lemma 6 would say 0.366, the dual bound 0.033, not {alone}");
    let mixed = epsilon(&[zcdp.clone(), laplace(5.0).repeated(10).unwrap()], &Scope::Presence, 1e-6);
    let gaussian =
        epsilon(&[gaussian(1.0 / 0.1f64.sqrt()), laplace(5.0).repeated(10).unwrap()], &Scope::Presence, 1e-6);
    assert!(
        mixed.upper.is_finite() && mixed.upper > gaussian.lower,
        "less is known of a black box: {mixed:?} {gaussian:?}"
    );
    // Approximate privacy with a Rényi part: its δ is a mass that the curve does not cover.
    let approximate = Word::Approximate { epsilon: Epsilon::new(0.1).unwrap(), delta: Delta::new(1e-8).unwrap() };
    let with_mass = epsilon(&[zcdp, event(approximate, 1.0)], &Scope::Presence, 1e-6);
    assert!(with_mass.upper.is_finite() && with_mass.lower <= with_mass.upper);
}

#[test]
fn groups_cost_what_their_notion_says() {
    let group = Scope::Presence.group(3.try_into().unwrap());
    let three = epsilon(&[gaussian(6.0)], &group, 1e-6);
    let one = epsilon(&[gaussian(2.0)], &Scope::Presence, 1e-6);
    assert!((three.upper - one.upper).abs() < 1e-9);
    let pure = epsilon(&[laplace(10.0)], &group, 0.0);
    assert!((pure.upper - 0.3).abs() < 1e-12);
    let approximate = Word::Approximate { epsilon: Epsilon::new(0.5).unwrap(), delta: Delta::new(1e-9).unwrap() };
    let found = delta(&[event(approximate, 1.0)], &group, 1.5);
    let truth = 1e-9 * (1.5f64.exp_m1() / 0.5f64.exp_m1());
    assert!(found.upper >= truth && found.upper <= truth * (1.0 + 1e-6), "{found:?} {truth}");
}

#[test]
fn nothing_is_ever_not_a_number() {
    let kinds = [
        Word::Gaussian { sigma: Sigma::new(1e-9).unwrap() },
        Word::Gaussian { sigma: Sigma::new(1e18).unwrap() },
        Word::Laplace { scale: Scale::new(1e-9).unwrap() },
        Word::Laplace { scale: Scale::new(1e18).unwrap() },
        Word::DiscreteLaplace { scale: Scale::new(1e9).unwrap() },
        Word::DiscreteGaussian { sigma: Sigma::new(0.05).unwrap() },
        Word::DiscreteGaussian { sigma: Sigma::new(1e9).unwrap() },
        Word::Pure { epsilon: Epsilon::new(1e-9).unwrap() },
        Word::Pure { epsilon: Epsilon::new(100.0).unwrap() },
        Word::Exponential { epsilon: Epsilon::new(1e-6).unwrap() },
        Word::Approximate { epsilon: Epsilon::new(0.0).unwrap(), delta: Delta::new(1e-3).unwrap() },
        Word::Approximate { epsilon: Epsilon::new(0.1).unwrap(), delta: Delta::new(1.0).unwrap() },
        Word::Zcdp { rho: Rho::new(0.0).unwrap() },
        Word::Zcdp { rho: Rho::new(1e6).unwrap() },
        Word::Tcdp { rho: Rho::new(1e-12).unwrap(), omega: Omega::new(1.0 + 1e-9).unwrap() },
        Word::Pair(scumble::event::Pair::new(vec![1.0, 0.0], vec![0.0, 1.0]).unwrap()),
        Word::Pair(scumble::event::Pair::new(vec![0.5, 0.5], vec![0.5, 0.5]).unwrap()),
    ];
    let cases = [(None, Scope::Presence), (Some(0.0), Scope::Person), (Some(0.3), Scope::Presence)];
    // Each kind with all cases, or with one of them in turn.
    let is_thorough = std::env::var_os("SCUMBLE_THOROUGH").is_some();
    for (place, kind) in kinds.into_iter().enumerate() {
        let some = cases.iter().enumerate().filter(|(case, _)| is_thorough || case % 3 == place % 3);
        for (_, (rate, scope)) in some {
            let mut one = event(kind.clone(), 1.0).repeated(3).unwrap();
            if let Some(rate) = rate {
                one = poisson(one, *rate);
            }
            for target in [0.0, 1e-30, 0.5] {
                let answer = epsilon(std::slice::from_ref(&one), scope, target);
                let fine = answer.lower >= 0.0 && answer.lower <= answer.upper;
                assert!(fine, "{kind:?} at rate {rate:?}, δ = {target}: {answer:?}");
            }
            for at in [0.0, 1.0] {
                let answer = delta(std::slice::from_ref(&one), scope, at);
                let fine = answer.lower >= 0.0 && answer.lower <= answer.upper && answer.upper <= 1.0;
                assert!(fine, "{kind:?} at rate {rate:?}, ε = {at}: {answer:?}");
            }
        }
    }
}
