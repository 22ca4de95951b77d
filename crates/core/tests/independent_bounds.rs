//! Accounting against bounds that are not its own: every event word, 1 to 10^18 repetitions, sampled and not, alone and
//! in lists.
//!
//! An event's mechanism on some neighbours is written out as a finite pair (continuous noise as bins, which only takes
//! information away). Of n runs, δ(ε) ≥ (P[L > ε + t])·(1 − e^{−t}) for every t, and P[L > x] of a sum L of independent
//! losses is at least the normal law's minus 0.56·Σβ₃/(Σv)^{3/2} (Berry–Esseen for unlike summands, Shevtsova 2010).
//! For one run δ(ε) is a sum. Nothing of `scumble::loss` is used for either; no transform, no Rényi order, no grid of
//! losses.

use scumble::event::{AnswerCount, Event, Moves, Sampling, Shift, Touch, Word};
use scumble::loss::Loss;
use scumble::loss::filter::Odometer;
use scumble::mechanism::additive::Noise;
use scumble::mechanism::cdf::Cdf;
use scumble::mechanism::heavy_hitters::{JoinShape, ThresholdRule};
use scumble::mechanism::quantile::{QuantileTree, ThresholdCounts};
use scumble::quantity::{Beta, Delta, Epsilon, Exact, Omega, Rate, Rho, Scale, Sigma};
use scumble::workload::planner::{self, RhoLimits};
use scumble::workload::{Domain, People};
use scumble::{AttributeSet, Scope, Target};

/// Outcomes as (Q, P/Q − 1), and P's mass where Q has none.
#[derive(Clone)]
struct Pair {
    outcomes: Vec<(f64, f64)>,
    infinite: f64,
}

fn coin(epsilon: f64) -> Pair {
    let q = 1.0 / (1.0 + epsilon.exp());
    Pair { outcomes: vec![(q, epsilon.exp_m1()), (1.0 - q, (-epsilon).exp_m1())], infinite: 0.0 }
}

/// Left of both centres, between them, right of both.
fn laplace(lambda: f64) -> Pair {
    let far = 0.5 * (-lambda).exp();
    Pair {
        outcomes: vec![(far, lambda.exp_m1()), (-0.5 * (-lambda).exp_m1(), 0.0), (0.5, (-lambda).exp_m1())],
        infinite: 0.0,
    }
}

fn normal_above(x: f64) -> f64 {
    0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2)
}

/// Bins of a tenth of a deviation; P = N(μ, 1), Q = N(0, 1).
fn gaussian(mu: f64) -> Pair {
    let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let width = 0.1f64.min(mu.max(0.02));
    let count = ((16.0 + mu) / width) as i32;
    let outcomes = (0..count).map(|i| {
        let (a, b) = (-8.0 + f64::from(i) * width, -8.0 + f64::from(i + 1) * width);
        // Tails by the smaller one.
        let mass = |a: f64, b: f64| {
            if a > 0.0 { normal_above(a) - normal_above(b) } else { normal_above(-b) - normal_above(-a) }
        };
        let q = mass(a, b);
        // For tiny μ the difference of the masses is −μ·(φ(b − μ/2) − φ(a − μ/2)), to μ².
        let more =
            if mu < 1e-4 { mu * (density(a - mu / 2.0) - density(b - mu / 2.0)) } else { mass(a - mu, b - mu) - q };
        (q, more / q)
    });
    Pair { outcomes: outcomes.collect(), infinite: 0.0 }
}

impl Pair {
    /// On a sample, somebody removed (or replaced by a record that does nothing).
    fn sampled(self, rate: f64) -> Self {
        let outcomes = self.outcomes.into_iter().map(|(q, x)| (q, rate * x)).collect();
        Self { outcomes, infinite: rate * self.infinite }
    }

    /// Mean, variance and third absolute central moment of the loss, given that it is finite.
    fn moments(&self) -> (f64, f64, f64) {
        let p = |q: f64, x: f64| q * (1.0 + x);
        let all: f64 = self.outcomes.iter().map(|&(q, x)| p(q, x)).sum();
        // Σ p·ln(p/q) − (p − q), each term at least 0.
        let term = |x: f64| if x.abs() < 1e-4 { x * x * (0.5 - x / 6.0) } else { (1.0 + x) * x.ln_1p() - x };
        let mean: f64 = self.outcomes.iter().map(|&(q, x)| q * term(x)).sum::<f64>() / all;
        let centred = |x: f64| x.ln_1p() - mean;
        let variance: f64 = self.outcomes.iter().map(|&(q, x)| p(q, x) * centred(x).powi(2)).sum::<f64>() / all;
        let third: f64 = self.outcomes.iter().map(|&(q, x)| p(q, x) * centred(x).abs().powi(3)).sum::<f64>() / all;
        (mean, variance, third)
    }

    /// δ(ε) of one run.
    fn delta(&self, epsilon: f64) -> f64 {
        let term = |(q, x): &(f64, f64)| q * (x - epsilon.exp_m1()).max(0.0);
        self.infinite + self.outcomes.iter().map(term).sum::<f64>()
    }
}

/// A lower bound of δ(ε) of independent runs.
fn lower(parts: &[(Pair, f64)], epsilon: f64) -> f64 {
    if let [(pair, 1.0)] = parts {
        return pair.delta(epsilon) * (1.0 - 1e-9);
    }
    let (mut mean, mut variance, mut third, mut ln_finite) = (0.0, 0.0, 0.0, 0.0);
    for (pair, times) in parts {
        let (m, v, b) = pair.moments();
        (mean, variance, third) = (mean + times * m, variance + times * v, third + times * b);
        ln_finite += times * (-pair.infinite).ln_1p();
    }
    let deviation = variance.sqrt();
    let distance = 0.56 * third / variance.powf(1.5);
    let at = |t: f64| (normal_above((epsilon + t - mean) / deviation) - distance) * -(-t).exp_m1();
    let best = (0..60).map(|i| at(deviation * 10f64.powf(-3.0 + 0.07 * f64::from(i)))).fold(0.0, f64::max);
    -ln_finite.exp_m1() + ln_finite.exp() * best * (1.0 - 1e-6)
}

fn event(kind: Word) -> Event {
    Event::new(kind, Moves::everywhere(Shift::one_cell(1.0).unwrap()))
}

/// Every word but heavy hitters, at a size such that one run's loss is about `size`, with its pair.
fn words(size: f64) -> Vec<(Event, Pair)> {
    let (epsilon, scale) = (Epsilon::new(size).unwrap(), Scale::new(1.0 / size).unwrap());
    let sigma = Sigma::new(1.0 / size).unwrap();
    let rho = Rho::new(size * size / 2.0).unwrap();
    let share = size.min(0.5) / 4.0;
    let mut words = vec![
        (event(Word::Gaussian { sigma }), gaussian(size)),
        (event(Word::Laplace { scale }), laplace(size)),
        (event(Word::DiscreteLaplace { scale }), coin(size)),
        (
            Event::new(
                Word::DiscreteLaplace { scale: Scale::new(3.0 / size).unwrap() },
                Moves::everywhere(Shift::one_cell(3.0).unwrap()),
            ),
            steps_of_three(size / 3.0),
        ),
        (event(Word::RandomizedResponse { epsilon, values: AnswerCount::new(2).unwrap() }), coin(size)),
        (event(Word::RandomizedResponse { epsilon, values: AnswerCount::new(5).unwrap() }), five_answers(size)),
        (event(Word::Exponential { epsilon }), coin(size / 2.0)),
        (event(Word::Pure { epsilon }), coin(size)),
        (event(Word::Zcdp { rho }), gaussian(size)),
        (event(Word::Tcdp { rho, omega: Omega::new(1e6).unwrap() }), gaussian(size)),
        (
            event(Word::Pair(scumble::event::Pair::new(vec![0.5 + share, 0.5 - share], vec![0.5, 0.5]).unwrap())),
            Pair {
                outcomes: vec![(0.5, ((0.5 + share) - 0.5) / 0.5), (0.5, ((0.5 - share) - 0.5) / 0.5)],
                infinite: 0.0,
            },
        ),
    ];
    // Below two steps of the grid the discrete Gaussian is another law.
    if size < 0.2 {
        words.push((event(Word::DiscreteGaussian { sigma }), gaussian(size)));
    }
    let delta = 1e-3 * size * size;
    let kind = Word::Approximate { epsilon, delta: Delta::new(delta).unwrap() };
    let kept = coin(size).outcomes.into_iter().map(|(q, x)| (q * (1.0 - delta), x)).collect();
    words.push((event(kind), Pair { outcomes: kept, infinite: delta }));
    words
}

/// Discrete Laplace noise moved by three steps: below, the two places between, above.
fn steps_of_three(u: f64) -> Pair {
    let front = -(-u).exp_m1() / (1.0 + (-u).exp());
    let end = (-3.0 * u).exp() / (1.0 + (-u).exp());
    let outcomes = vec![
        (end, (3.0 * u).exp_m1()),
        (front * (-2.0 * u).exp(), u.exp_m1()),
        (front * (-u).exp(), (-u).exp_m1()),
        (end * (3.0 * u).exp(), (-3.0 * u).exp_m1()),
    ];
    Pair { outcomes, infinite: 0.0 }
}

fn five_answers(epsilon: f64) -> Pair {
    let q = 1.0 / (epsilon.exp() + 4.0);
    Pair {
        outcomes: vec![(q, epsilon.exp_m1()), (3.0 * q, 0.0), (q * epsilon.exp(), (-epsilon).exp_m1())],
        infinite: 0.0,
    }
}

const TIMES: [u64; 8] =
    [1, 100, 10_000, 1_000_000, 1_000_000_000, 1_000_000_000_000, 1_000_000_000_000_000, 1_000_000_000_000_000_000];

/// Every second case; all of them where `SCUMBLE_THOROUGH` is set, as in `.ci/run --thorough`.
fn some<T>(cases: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    cases.into_iter().step_by(if std::env::var_os("SCUMBLE_THOROUGH").is_some() { 1 } else { 4 })
}

/// Where to look: around the middle of the law of the sum, and in its tail.
fn places(parts: &[(Pair, f64)]) -> Vec<f64> {
    let (mean, variance) = parts.iter().fold((0.0, 0.0), |sum, (pair, times)| {
        let (m, v, _) = pair.moments();
        (sum.0 + times * m, sum.1 + times * v)
    });
    [0.5f64, 3.0].into_iter().map(|at| (mean + at * variance.sqrt()).max(0.0)).collect()
}

fn check(name: &str, events: &[Event], scope: &Scope, parts: &[(Pair, f64)]) {
    let loss = Loss::of(events, scope).unwrap();
    for epsilon in places(parts) {
        let known = lower(parts, epsilon);
        let found = loss.delta(Epsilon::new(epsilon).unwrap());
        assert!(found.upper >= known, "{name}: δ({epsilon:e}) is at least {known:e}: {found:?}");
        assert!(found.lower >= 0.0 && found.lower <= found.upper && found.upper <= 1.0, "{name}: {found:?}");
        if known > 1e-12 && known < 1.0 {
            let asked = loss.epsilon(Delta::new(known).unwrap());
            // At an ε that is certified for the δ that is known to be exceeded before, δ is not above.
            let after = lower(parts, asked.upper * (1.0 + 1e-9) + 1e-15);
            assert!(after <= known * (1.0 + 1e-6), "{name}: ε({known:e}) = {asked:?}, where δ is at least {after:e}");
            assert!(asked.lower >= 0.0 && asked.lower <= asked.upper, "{name}: {asked:?}");
        }
    }
}

#[test]
fn every_word_at_every_number_of_repetitions() {
    for times in some(TIMES) {
        let size = 0.8 / (times as f64).sqrt();
        for (one, pair) in words(size) {
            let name = format!("{} ×{times:e}", one.word().name());
            check(&name, &[one.repeated(times).unwrap()], &Scope::Presence, &[(pair, times as f64)]);
        }
    }
}

#[test]
fn every_word_on_a_sample() {
    let cases = [(1u64, 0.5), (10_000, 0.3), (1_000_000_000, 0.01), (1_000_000_000_000_000, 0.2)];
    for (row, (times, rate)) in some(cases.into_iter().enumerate()) {
        let size = (0.8 / (times as f64).sqrt() / rate).min(1.0);
        let rate_of = Rate::new(rate).unwrap();
        let ways = [
            (Sampling::Poisson(rate_of), Scope::Presence),
            (Sampling::Poisson(rate_of), Scope::Person),
            (Sampling::WithoutReplacement(rate_of), Scope::Person),
        ];
        // Each word in every way, in another way from row to row.
        for (place, (one, pair)) in words(size).into_iter().enumerate() {
            let (sampling, scope) = &ways[(row + place) % ways.len()];
            let name = format!("{} ×{times:e} {sampling:?} {scope}", one.word().name());
            let sampled = one.sampled(*sampling).repeated(times).unwrap();
            check(&name, &[sampled], scope, &[(pair.sampled(rate), times as f64)]);
        }
    }
}

/// A small generator of numbers, the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

#[test]
fn random_lists_in_every_scope() {
    let mut dice = Dice(7);
    let attribute = AttributeSet::new(["age"]).unwrap();
    for _ in some(0..4) {
        let (mut events, mut parts) = (Vec::new(), Vec::new());
        let scope = match dice.below(3) {
            0 => Scope::Presence,
            1 => Scope::Person,
            _ => Scope::Attributes(attribute.clone()),
        };
        for _ in 0..2 + dice.below(3) {
            let times = 10u64.pow(2 + dice.below(10) as u32);
            let size = 0.5 / (times as f64).sqrt();
            let mut all = words(size);
            let (one, pair) = all.swap_remove(dice.below(all.len() as u64) as usize);
            // The scope that is asked moves as the word says; the others less.
            let own = one.moves().shifts(&Scope::Presence);
            let less = vec![Shift::new(1, own[0].by.get() * 0.5).unwrap()];
            let touch = Touch { attributes: attribute.clone(), shifts: own.clone() };
            let rate = if dice.below(3) == 0 { Some(0.25 + 0.5 * dice.below(2) as f64) } else { None };
            let moves = match scope {
                _ if rate.is_some() => one.moves().clone(),
                Scope::Presence => Moves::by_scope(own.clone(), own, Vec::new()),
                Scope::Person => Moves::by_scope(less, own, Vec::new()),
                _ => Moves::by_scope(less, own, vec![touch]),
            };
            let mut one = one.moving(moves).repeated(times).unwrap();
            let mut pair = pair;
            if let Some(rate) = rate {
                one = one.sampled(Sampling::Poisson(Rate::new(rate).unwrap()));
                pair = pair.sampled(rate);
            }
            events.push(one);
            parts.push((pair, times as f64));
        }
        let name =
            events.iter().map(|one| format!("{} ×{}", one.word().name(), one.times())).collect::<Vec<_>>().join(", ");
        check(&name, &events, &scope, &parts);
    }
}

/// The story of issue 13: many tiny losses came to nothing.
#[test]
fn many_tiny_losses_are_not_nothing() {
    let tiny = event(Word::Pure { epsilon: Epsilon::new(1e-9).unwrap() }).repeated(1_000_000_000_000_000_000).unwrap();
    let scale = Scale::new(2.67e6).unwrap();
    let counts = event(Word::DiscreteLaplace { scale }).repeated(642_000_000_000).unwrap();
    let noise = event(Word::Laplace { scale: Scale::new(6e8).unwrap() }).repeated(400_000_000_000_000_000).unwrap();
    // The normal limits: μ = 1 at 1e-6 and μ = 0.3 at 1e-3.
    for (one, delta, truth) in [(tiny, 1e-6, 4.886), (counts, 1e-3, 0.734), (noise, 1e-6, 5.189)] {
        let found = Loss::of(std::slice::from_ref(&one), &Scope::Presence).unwrap().epsilon(Delta::new(delta).unwrap());
        assert!(found.upper >= truth && found.upper <= 1.2 * truth, "{}: {found:?}", one.word().name());
    }
}

/// The story of issue 14: the grid was as coarse as the rate, however small the losses were (0.001287 for 0.0012505;
/// 0.588 for 0.371).
#[test]
fn the_grid_follows_the_size_of_the_loss() {
    let gaussian = event(Word::Gaussian { sigma: Sigma::new(200.0).unwrap() }).repeated(1_000_000).unwrap();
    let noise =
        |scale: f64| event(Word::Laplace { scale: Scale::new(scale).unwrap() }).repeated(1_000_000_000).unwrap();
    // The normal limits with μ² = runs·rate²·χ², which such losses reach to five digits.
    let cases =
        [(gaussian, 1e-4, 0.00125044, 1.0002), (noise(1e5), 0.3, 0.37512, 1.03), (noise(1e9), 0.3, 8.28646e-06, 1.1)];
    for (one, rate, truth, slack) in cases {
        let one = one.sampled(Sampling::Poisson(Rate::new(rate).unwrap()));
        let found = Loss::of(std::slice::from_ref(&one), &Scope::Presence).unwrap();
        let found = found.epsilon(Delta::new(1e-6).unwrap());
        assert!(found.lower <= truth * (1.0 + 1e-4) && found.lower >= truth / slack, "{truth} {found:?}");
        assert!(found.upper >= truth * (1.0 - 1e-4) && found.upper <= truth * slack, "{truth} {found:?}");
    }
}

#[test]
fn more_runs_cost_more_and_more_noise_less() {
    let cases = [(1u64, 1.0), (100, 0.3), (1000, 1.0), (1_000_000_000, 0.3), (1_000_000_000_000_000, 1.0)];
    for (times, rate) in some(cases) {
        let at = |size: f64, times: u64, delta: f64, rate: f64| -> Vec<(String, f64)> {
            let sampling = Sampling::Poisson(Rate::new(rate).unwrap());
            let of = |(one, _): (Event, Pair)| {
                let one = one.repeated(times).unwrap();
                let one = if rate < 1.0 { one.sampled(sampling) } else { one };
                let name = one.word().name().to_string();
                (name, Loss::of(&[one], &Scope::Presence).unwrap().epsilon(Delta::new(delta).unwrap()).upper)
            };
            words(size).into_iter().map(of).collect()
        };
        let size = 0.3 / (times as f64).sqrt();
        let usual = at(size, times, 1e-4, rate);
        for (what, other) in [
            ("twice the runs", at(size, 2 * times, 1e-4, rate)),
            ("less noise", at(size * 1.1, times, 1e-4, rate)),
            ("less δ", at(size, times, 1e-7, rate)),
        ] {
            for ((name, usual), (_, more)) in usual.iter().zip(&other) {
                // Bounds are off by up to a thousandth where the rule changes, and on samples by up to three hundredths
                // where 10⁹ runs leave less of the grid's digits.
                let slack = if rate < 1.0 { 0.03 } else { 1e-3 };
                assert!(*more >= usual * (1.0 - slack), "{name} ×{times}, rate {rate}, {what}: {more} after {usual}");
            }
        }
    }
}

#[test]
fn groups_cost_at_least_what_their_members_do_in_a_row() {
    for size in [2u32, 10, 1000] {
        let group = Scope::Presence.group(size.try_into().unwrap());
        let one = 0.8 / f64::from(size);
        let epsilon = Epsilon::new(one).unwrap();
        let cases = [
            (event(Word::Gaussian { sigma: Sigma::new(1.0 / one).unwrap() }), gaussian(0.8)),
            (event(Word::Laplace { scale: Scale::new(1.0 / one).unwrap() }), laplace(0.8)),
            (event(Word::Pure { epsilon }), coin(0.8)),
            (event(Word::Exponential { epsilon }), coin(0.4)),
            (event(Word::Zcdp { rho: Rho::new(one * one / 2.0).unwrap() }), gaussian(0.8)),
        ];
        for (event, pair) in cases {
            let name = format!("{}, {size} owners", event.word().name());
            check(&name, std::slice::from_ref(&event), &group, &[(pair.clone(), 1.0)]);
            if size > 10 {
                continue;
            }
            // On a sample a removal of all is at least that of one.
            let sampled = event.clone().sampled(Sampling::Poisson(Rate::new(0.5).unwrap()));
            let alone = words(one).into_iter().find(|(other, _)| other.word() == event.word()).unwrap().1;
            check(&format!("sampled {name}"), &[sampled], &group, &[(alone.sampled(0.5), 1.0)]);
        }
    }
}

/// The filter's ε for what was fixed beforehand, against the same lower bounds.
#[test]
fn the_filter_is_not_below_either() {
    for times in TIMES {
        let size = 0.5 / (times as f64).sqrt();
        for (one, pair) in words(size) {
            if matches!(one.word(), Word::Pair(_) | Word::Tcdp { .. }) {
                continue;
            }
            let parts = [(pair, times as f64)];
            let spent = Odometer::of(&[one.clone().repeated(times).unwrap()], &Scope::Presence).unwrap();
            for delta in [0.3, 1e-2, 1e-6] {
                let Some(epsilon) = spent.epsilon(&Exact::from_f64(delta).unwrap()) else { continue };
                let known = lower(&parts, epsilon.to_f64_up());
                assert!(
                    known <= delta,
                    "{} ×{times}: δ({epsilon}) is at least {known}, not {delta}",
                    one.word().name()
                );
            }
        }
    }
}

/// No quantity that is accepted takes the accountant down or makes it say nonsense.
#[test]
fn extreme_quantities_have_answers_or_sentences() {
    let sizes = [5e-324, 1e-300, 1e-31, 1e-9, 1e18, f64::MAX];
    let mut kinds = Vec::new();
    for size in sizes {
        kinds.extend(Epsilon::new(size).map(|epsilon| Word::Pure { epsilon }));
        kinds.extend(Epsilon::new(size).map(|epsilon| Word::Exponential { epsilon }));
        kinds.extend(
            Epsilon::new(size)
                .map(|epsilon| Word::RandomizedResponse { epsilon, values: AnswerCount::new(u64::MAX).unwrap() }),
        );
        kinds.extend(
            Epsilon::new(size).map(|epsilon| Word::Approximate { epsilon, delta: Delta::new(1e-300).unwrap() }),
        );
        kinds.extend(Rho::new(size).map(|rho| Word::Zcdp { rho }));
        kinds.extend(Rho::new(size).map(|rho| Word::Tcdp { rho, omega: Omega::new(1.5).unwrap() }));
        kinds.extend(Sigma::new(size).map(|sigma| Word::Gaussian { sigma }));
        kinds.extend(Sigma::new(size).map(|sigma| Word::DiscreteGaussian { sigma }));
        kinds.extend(Scale::new(size).map(|scale| Word::Laplace { scale }));
        kinds.extend(Scale::new(size).map(|scale| Word::DiscreteLaplace { scale }));
    }
    for kind in kinds {
        for by in [5e-324, 1.0, 1e308] {
            for (times, rate) in [(1u64, None), (u64::MAX, None), (u64::MAX, Some(1e-300))] {
                let moves = Moves::everywhere(Shift::one_cell(by).unwrap());
                let mut one = Event::new(kind.clone(), moves).repeated(times).unwrap();
                if let Some(rate) = rate {
                    one = one.sampled(Sampling::Poisson(Rate::new(rate).unwrap()));
                }
                let name = format!("{kind:?} by {by:e} ×{times} at {rate:?}");
                let _ = Odometer::of(std::slice::from_ref(&one), &Scope::Presence)
                    .map(|spent| spent.epsilon(&"1e-6".parse().unwrap()));
                // A refusal is a sentence.
                let Ok(loss) = Loss::of(std::slice::from_ref(&one), &Scope::Presence) else { continue };
                for delta in [0.0, 1e-300] {
                    let found = loss.epsilon(Delta::new(delta).unwrap());
                    assert!(found.lower >= 0.0 && found.lower <= found.upper, "{name}, δ = {delta}: {found:?}");
                }
                for epsilon in [0.0, 1e300] {
                    let found = loss.delta(Epsilon::new(epsilon).unwrap());
                    assert!(
                        found.lower >= 0.0 && found.lower <= found.upper && found.upper <= 1.0,
                        "{name}, ε = {epsilon}: {found:?}"
                    );
                }
            }
        }
    }
}

/// An owner who leaves one table and stays in another is a person's neighbour: the noisy number of people was charged
/// to presence alone.
#[test]
fn a_person_never_costs_less_than_presence() {
    let domain = Domain::new(vec![3, 2, 4, 2]).unwrap();
    let names: Vec<String> = ["a", "b", "c", "d"].map(String::from).to_vec();
    let limits = RhoLimits { person: Some(Rho::new(0.1).unwrap()), ..RhoLimits::default() };
    let residual = |order: usize| planner::residual(&domain, order, &limits).unwrap().events(&names).unwrap();
    let (projection, people) = planner::projection(&domain, 1, &limits).unwrap();
    let projected = [projection.events(&names).unwrap(), people.events().unwrap()].concat();
    let (mwem, people) = planner::mwem(&domain, 2, 4, 2, &limits).unwrap();
    let learnt = [mwem.events(&names).unwrap(), people.events().unwrap()].concat();
    let tree = QuantileTree::within(
        Target::tcdp(Rho::new(0.5).unwrap(), Omega::new(4.0).unwrap()),
        Scope::Person,
        u128::MAX,
        2,
        Beta::new(0.02).unwrap(),
    );
    let total = Noise::gaussian(Sigma::new(10.0).unwrap());
    let shape = JoinShape::balanced(4).unwrap();
    let hitters = ThresholdRule::default().calibrate(&shape, &[Epsilon::new(1.0).unwrap(); 4]).unwrap();
    let lists = [
        ("people", vec![People::new(Rho::new(0.01).unwrap()).unwrap().events().unwrap().remove(0)]),
        ("residual, order 1", residual(1)),
        ("residual, order 3", residual(3)),
        ("projection", projected),
        ("mwem", learnt),
        ("thresholds", vec![ThresholdCounts::new(tree.unwrap(), total.clone()).events().unwrap().pop().unwrap()]),
        ("cdf", vec![Cdf::new(2, total).unwrap().events().unwrap().remove(0)]),
        ("heavy hitters", hitters.events(&names).unwrap()),
    ];
    for (name, events) in lists {
        let spent = |scope: &Scope| Odometer::of(&events, scope).unwrap();
        let (presence, person) = (spent(&Scope::Presence), spent(&Scope::Person));
        let rho = |spent: &Odometer| spent.rho(&Exact::zero()).unwrap();
        assert!(rho(&person) >= rho(&presence) && rho(&presence) > Exact::zero(), "{name}: {person:?} {presence:?}");
        // What was asked of a person is kept with the number of people.
        if ["projection", "mwem", "residual, order 1", "residual, order 3"].contains(&name) {
            assert!(rho(&person).to_f64_up() <= 0.1 && rho(&person).to_f64() > 0.0999, "{name}: {person:?}");
        }
    }
}
