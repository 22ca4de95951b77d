use super::*;
use crate::event::{Event, Moves, Word};
use crate::harness::effort;
use crate::loss::renyi::Curve;
use crate::loss::words;
use crate::loss::{Answer, Loss};
use crate::noise::{BitSource, InsecureSeededSource};
use crate::quantity::{Delta, Epsilon, Rho, Scale, Sigma};
use crate::scope::Scope;
use std::collections::{BTreeMap, BTreeSet};

fn shifts(list: &[(u64, f64)]) -> Vec<Shift> {
    list.iter().map(|(cells, by)| Shift::new(*cells, *by).unwrap()).collect()
}

fn moving(event: Event, list: &[(u64, f64)]) -> Event {
    event.moving(Moves::by_scope(Vec::new(), shifts(list), Vec::new()))
}

fn delta(events: &[Event], epsilon: f64) -> Answer {
    Loss::of(events, Scope::Person).unwrap().delta(Epsilon::new(epsilon).unwrap())
}

/// SUM of x in \[−5, 10\] in 2 groups was certified to have δ(0) = 0.18420 and δ(0.65) = 0.02549, each with an equal
/// lower bound. An owner who keeps one of both groups moves (15, 10, 10), which neither alternative covers: 0.20375 and
/// 0.02965 with discrete noise, as it was drawn.
#[test]
fn an_owner_who_keeps_some_groups_is_covered() {
    // The discrete losses were convolved exactly, the continuous ones on a grid of 1/80,000, rounded up and down: both
    // ends agree in these digits.
    let discrete = (Event::discrete_laplace(Scale::new(40.0).unwrap()), [(0.0, 0.203_753_9), (0.65, 0.029_654_1)]);
    let continuous = (Event::laplace(Scale::new(40.0).unwrap()), [(0.0, 0.203_658), (0.65, 0.029_591_7)]);
    for (noise, truths) in [discrete, continuous] {
        let event = moving(noise, &[(4, 10.0), (2, 15.0)]);
        for (epsilon, truth) in truths {
            let found = delta(std::slice::from_ref(&event), epsilon);
            assert!(found.upper > truth - 1e-6 && found.upper < 1.02 * truth, "{found:?} {truth}");
            assert!(found.lower > 0.99 * truth && found.lower < truth + 1e-6, "{found:?} {truth}");
        }
    }
}

/// The law of a noise on whole numbers, by its losses when it is moved: a loss is a whole number of units.
struct LatticeNoise {
    unit: f64,
    masses: Vec<(i64, f64)>,
    loss: fn(i64, i64) -> i64,
}

impl LatticeNoise {
    fn of(word: &Word) -> Self {
        type Weight = Box<dyn Fn(f64) -> f64>;
        type LossOfMove = fn(i64, i64) -> i64;
        let (unit, reach, weight, loss): (f64, i64, Weight, LossOfMove) = match word {
            Word::DiscreteLaplace { scale } => {
                let scale = scale.get();
                let weight = move |z: f64| (-z.abs() / scale).exp();
                (1.0 / scale, (40.0 * scale) as i64 + 20, Box::new(weight), |z, by| (z - by).abs() - z.abs())
            }
            Word::DiscreteGaussian { sigma } => {
                let spread = 2.0 * sigma.get() * sigma.get();
                let weight = move |z: f64| (-z * z / spread).exp();
                (1.0 / spread, (10.0 * sigma.get()) as i64 + 20, Box::new(weight), |z, by| (z - by).pow(2) - z.pow(2))
            }
            _ => unreachable!("no other noise is enumerated"),
        };
        let total: f64 = (-reach..=reach).map(|z| weight(z as f64)).sum();
        let masses = (-reach..=reach).map(|z| (z, weight(z as f64) / total)).collect();
        Self { unit, masses, loss }
    }

    /// The law of the loss where the cells move by these.
    fn losses(&self, moved: &[i64]) -> BTreeMap<i64, f64> {
        let mut law = BTreeMap::from([(0, 1.0)]);
        for by in moved {
            let mut next = BTreeMap::new();
            for (z, mass) in &self.masses {
                let own = (self.loss)(*z, *by);
                if *mass > 1e-20 {
                    law.iter().for_each(|(sum, before)| *next.entry(sum + own).or_insert(0.0) += before * mass);
                }
            }
            law = next;
        }
        law
    }
}

/// E[(1 − e^{ε − L})₊] of a sum of two independent losses.
fn delta_of(one: &[(f64, f64)], other: &[(f64, f64)], epsilon: f64) -> f64 {
    let above = |loss: f64| if loss > epsilon { -(epsilon - loss).exp_m1() } else { 0.0 };
    one.iter().map(|(first, p)| p * other.iter().map(|(second, q)| q * above(first + second)).sum::<f64>()).sum()
}

fn in_numbers(noise: &LatticeNoise, moved: &[i64]) -> Vec<(f64, f64)> {
    noise.losses(moved).into_iter().map(|(loss, mass)| (loss as f64 * noise.unit, mass)).collect()
}

/// All whole moves that the list stands for, the parts in falling order: those whose partial sums are at most those of
/// V_τ, for shares τ in twelfths.
fn stands_for(list: &[(u64, f64)]) -> BTreeSet<Vec<i64>> {
    let mut list = list.to_vec();
    list.sort_by(|one, other| one.1.total_cmp(&other.1));
    let mut all = BTreeSet::new();
    for shares in shares(list.len(), 12) {
        // In twelfths: of the cells that are at least so high.
        let sums = |k: u64| -> i64 {
            let mut below = 0.0;
            let mut sum = 0;
            for (place, (_, by)) in list.iter().enumerate() {
                let high: u64 =
                    list[place..].iter().zip(&shares[place..]).map(|((cells, _), share)| cells * share).sum();
                sum += (by - below) as i64 * (12 * k).min(high) as i64;
                below = *by;
            }
            sum
        };
        grow(&sums, &mut Vec::new(), i64::MAX, &mut all);
    }
    all
}

/// The ways to give out at most `total` twelfths.
fn shares(parts: usize, total: u64) -> Vec<Vec<u64>> {
    if parts == 1 {
        return vec![vec![total]];
    }
    let with = |first: u64| shares(parts - 1, total - first).into_iter().map(move |rest| [vec![first], rest].concat());
    (0..=total).flat_map(with).collect()
}

fn grow(sums: &dyn Fn(u64) -> i64, moved: &mut Vec<i64>, most: i64, all: &mut BTreeSet<Vec<i64>>) {
    let so_far: i64 = moved.iter().sum();
    let left = (sums(moved.len() as u64 + 1) / 12 - so_far).min(most);
    if !moved.is_empty() {
        all.insert(moved.clone());
    }
    for by in 1..=left {
        moved.push(by);
        grow(sums, moved, by, all);
        moved.pop();
    }
}

/// Independent of the code above: every whole move that a list stands for, each law by convolution. The certified δ is
/// at least the worst of them, the lower bound at most.
#[test]
fn generated_lists_are_certified_against_every_move_that_they_stand_for() {
    let mut bits = InsecureSeededSource::new(38);
    let mut below = |most: u64| bits.next_bits(32) % most;
    let (mut widest, mut spread) = (1.0f64, 0);
    for _ in 0..effort(20, 600) {
        let mut events = Vec::new();
        let mut laws: Vec<Vec<Vec<(f64, f64)>>> = Vec::new();
        let (number, mut most) = (1 + below(2), 0);
        for _ in 0..number {
            let alternatives = 1 + below(3);
            most = most.max(alternatives);
            // All moves of both events are compared: fewer for two.
            let (cells, by) = if number == 1 { (4, 4) } else { (2, 3) };
            let list: Vec<(u64, f64)> = (0..alternatives).map(|_| (1 + below(cells), (1 + below(by)) as f64)).collect();
            let size = 0.8 + below(40) as f64 / 10.0;
            let event = if below(2) == 0 {
                Event::discrete_laplace(Scale::new(2.0 * size).unwrap())
            } else {
                Event::discrete_gaussian(Sigma::new(size).unwrap())
            };
            let noise = LatticeNoise::of(event.word());
            laws.push(stands_for(&list).iter().map(|moved| in_numbers(&noise, moved)).collect());
            events.push(moving(event, &list));
        }
        let nothing = vec![vec![(0.0, 1.0)]];
        let second = laws.get(1).unwrap_or(&nothing);
        for epsilon in [0.0, 0.2, 0.7, 1.5] {
            let pairs = laws[0].iter().flat_map(|one| second.iter().map(move |other| (one, other)));
            let truth = pairs.map(|(one, other)| delta_of(one, other, epsilon)).fold(0.0, f64::max);
            let found = delta(&events, epsilon);
            assert!(found.upper >= truth * (1.0 - 1e-9) - 1e-14, "{found:?} {truth} at {epsilon}: {events:?}");
            assert!(found.lower <= truth * (1.0 + 1e-9) + 1e-14, "{found:?} {truth} at {epsilon}: {events:?}");
            // Several events, and several runs, have one cover each, which is less close; so have three alternatives.
            if truth > 1e-6 && number == 1 && most <= 2 {
                widest = widest.max(found.upper / truth);
                spread += usize::from(found.upper > 1.03 * truth);
            }
        }
    }
    println!("at most {widest} times the truth, more than 3% too much {spread} times");
    assert!(widest < 1.5, "covers are close: {widest}");
}

/// ε at a δ is answered by the same covers.
#[test]
fn an_epsilon_of_alternatives_holds_for_every_move() {
    for (event, list) in [
        (Event::discrete_laplace(Scale::new(16.0).unwrap()), [(4, 4.0), (2, 6.0)]),
        (Event::discrete_gaussian(Sigma::new(3.0).unwrap()), [(4, 2.0), (2, 3.0)]),
    ] {
        let noise = LatticeNoise::of(event.word());
        let laws: Vec<_> = stands_for(&list).iter().map(|moved| in_numbers(&noise, moved)).collect();
        let loss = Loss::of([moving(event, &list)], Scope::Person).unwrap();
        for target in [1e-4, 0.02, 0.1] {
            let found = loss.epsilon(Delta::new(target).unwrap());
            let at = |epsilon: f64| laws.iter().map(|law| delta_of(law, &[(0.0, 1.0)], epsilon)).fold(0.0, f64::max);
            assert!(at(found.upper) <= target * (1.0 + 1e-9), "{found:?}");
            assert!(at(found.lower * (1.0 - 1e-6)) >= target * (1.0 - 1e-9), "{found:?}");
            assert!(found.lower > 0.9 * found.upper, "{found:?}");
        }
    }
}

/// The theorem that covers rest on: what moves from the cell that moves less to the one that moves more costs more, at
/// each ε.
#[test]
fn a_move_that_is_less_even_costs_more() {
    let words = [0.4, 1.0, 3.0].map(|scale| Event::discrete_laplace(Scale::new(scale).unwrap()));
    for event in
        words.into_iter().chain([0.5, 1.0, 2.2].map(|sigma| Event::discrete_gaussian(Sigma::new(sigma).unwrap())))
    {
        let noise = LatticeNoise::of(event.word());
        for (a, b) in (1..=5).flat_map(|a| (1..=a).map(move |b| (a, b))) {
            let (even, uneven) = (in_numbers(&noise, &[a, b]), in_numbers(&noise, &[a + 1, b - 1]));
            for at in 0..20 {
                let epsilon = f64::from(at) / 10.0 * (a + b) as f64 * noise.unit;
                let (less, more) = (delta_of(&even, &[(0.0, 1.0)], epsilon), delta_of(&uneven, &[(0.0, 1.0)], epsilon));
                assert!(less <= more * (1.0 + 1e-9) + 1e-15, "{event:?} {a} {b} {epsilon}: {less} {more}");
            }
        }
    }
}

/// Views that add up over cells are right for mixtures because they are convex in the move.
#[test]
fn curves_are_convex_in_the_move() {
    let curves: [fn(f64) -> Curve; 3] = [
        |by| Curve::Laplace { lambda: 0.1 * by },
        |by| Curve::DiscreteLaplace { inverse_scale: 0.1, shift: by },
        |by| Curve::BoundedRange { epsilon: 0.1 * by },
    ];
    for curve in curves {
        for order in [1.01, 1.5, 2.0, 5.0, 40.0] {
            let at = |by: u32| curve(f64::from(by)).cumulant(order);
            // Beyond this the curve of a bounded range is its largest loss.
            for by in 1..(6900.0 / order).min(200.0) as u32 - 1 {
                let (before, here, after) = (at(by - 1), at(by), at(by + 1));
                assert!(
                    2.0 * here <= before + after + 1e-11 * here,
                    "{:?} at {order}: {before} {here} {after}",
                    curve(f64::from(by))
                );
            }
        }
    }
}

/// Every V_τ is below one of the moves, whatever the pieces: the partial sums are compared.
#[test]
fn covers_majorize_every_mixture() {
    let mut bits = InsecureSeededSource::new(7);
    let mut below = |most: u64| bits.next_bits(32) % most;
    for _ in 0..effort(300, 10_000) {
        let list: Vec<(u64, f64)> = (0..2 + below(2)).map(|_| (1 + below(9), (1 + below(30)) as f64)).collect();
        let moves = stands_for_corners(&list);
        for is_whole in [true, false] {
            let hull = Hull::of(&shifts(&list), is_whole).unwrap();
            for pieces in [1, 2, 5, PIECES] {
                let covers = hull.covers(pieces).unwrap();
                for moved in &moves {
                    let is_below = |cover: &Vec<Shift>| sums_are_below(moved, cover);
                    assert!(covers.iter().any(is_below), "{list:?} {moved:?} {covers:?}");
                }
            }
        }
    }
}

/// Whole mixtures of pairs of the alternatives.
fn stands_for_corners(list: &[(u64, f64)]) -> Vec<Vec<f64>> {
    let mut all = Vec::new();
    for (many, high) in list.iter().flat_map(|one| list.iter().map(move |other| (one, other))) {
        for cells in 0..=high.0 {
            let rest = (high.0 - cells) * many.0 / high.0;
            all.push([vec![high.1; cells as usize], vec![many.1; rest as usize]].concat());
        }
    }
    all
}

fn sums_are_below(moved: &[f64], cover: &[Shift]) -> bool {
    let mut over: Vec<f64> = cover.iter().flat_map(|shift| vec![shift.by.get(); shift.cells as usize]).collect();
    let mut moved = moved.to_vec();
    over.sort_by(|one, other| other.total_cmp(one));
    moved.sort_by(|one, other| other.total_cmp(one));
    let sum = |parts: &[f64], k: usize| parts.iter().take(k).sum::<f64>();
    (1..=moved.len()).all(|k| sum(&moved, k) <= sum(&over, k) * (1.0 + 1e-12))
}

/// Sinh-normal noise was taken for comparable: its pair for "2 cells by 2" said nothing of three cells or four that
/// move as much in all, and stood for them. Now it has no pair there, and what adds up over cells is at least what all
/// of these moves cost.
#[test]
fn sinh_normal_noise_in_several_cells_covers_more_of_them() {
    for (sigma, a) in [(1.5, 3.0), (2.0, 2.0), (0.8, 4.0)] {
        let (sigma, a) = (Sigma::new(sigma).unwrap(), Scale::new(a).unwrap());
        let event =
            moving(Event::new(Word::SinhNormal { sigma, a }, Moves::everywhere(shifts(&[(1, 1.0)])[0])), &[(2, 2.0)]);
        let parts = crate::loss::resolve::resolve(&event, &Scope::Person).unwrap();
        assert!(
            parts
                .iter()
                .all(|part| part.choice().is_some_and(|choice| choice.cover.iter().all(|one| one.without_pair)))
        );
        let noise = crate::noise::SinhNormal::new(sigma, a).unwrap();
        let masses: Vec<f64> = (-80..=80).map(|k| noise.table().probability(k)).collect();
        let at = |k: i64| usize::try_from(k + 80).ok().and_then(|place| masses.get(place)).copied().unwrap_or(0.0);
        let losses = |by: i64| -> Vec<(f64, f64)> {
            (-80..=80).filter(|k| at(*k) > 1e-16).map(|k| ((at(k) / at(k - by)).ln(), at(k))).collect()
        };
        let both = |one: &[(f64, f64)], other: &[(f64, f64)]| -> Vec<(f64, f64)> {
            one.iter()
                .flat_map(|(x, p)| other.iter().map(move |(y, q)| (x + y, p * q)))
                .filter(|(_, p)| *p > 1e-13)
                .collect()
        };
        let (one, two) = (losses(1), losses(2));
        let pair_of_ones = both(&one, &one);
        let found = Loss::of([event], Scope::Person).unwrap();
        for epsilon in [0.5, 2.0, 6.0] {
            let upper = found.delta(Epsilon::new(epsilon).unwrap()).upper;
            for truth in [
                delta_of(&two, &two, epsilon),
                delta_of(&two, &pair_of_ones, epsilon),
                delta_of(&pair_of_ones, &pair_of_ones, epsilon),
            ] {
                assert!(upper >= truth * (1.0 - 1e-6), "{sigma:?} {a:?} at {epsilon}: {upper} {truth}");
            }
        }
    }
}

/// Whatever several cells of one alternative stand for is right where a curve divided by the move does not fall:
/// randomized response, whose curve is not convex, and tCDP.
#[test]
fn curves_grow_at_least_in_proportion_to_the_move() {
    let one = |event: Event| event.word().clone();
    let (epsilon, rho) =
        (|of: f64| crate::quantity::Epsilon::new(of).unwrap(), |of: f64| crate::quantity::Rho::new(of).unwrap());
    let mut words = vec![
        one(Event::pure(Epsilon::new(0.1).unwrap())),
        one(Event::pure(Epsilon::new(2.0).unwrap())),
        one(Event::zcdp(Rho::new(0.3).unwrap())),
    ];
    let delta = crate::quantity::Delta::new(1e-3).unwrap();
    words.push(Word::Approximate { epsilon: epsilon(0.7), delta });
    words.push(Word::Tcdp { rho: rho(0.05), omega: crate::quantity::Omega::new(40.0).unwrap() });
    for word in &words {
        for order in [1.000_1, 1.01, 1.2, 1.5, 2.0, 3.0, 7.0, 20.0] {
            let at = |by: u32| {
                let (curve, failure) = words::of(word).law(f64::from(by)).unwrap().curve();
                (curve.cumulant(order) / f64::from(by), -(-failure).ln_1p() / f64::from(by))
            };
            for by in 1..9 {
                let (here, next) = (at(by), at(by + 1));
                assert!(here.0 <= next.0 * (1.0 + 1e-9), "{word:?} by {by} at {order}: {here:?} {next:?}");
                assert!(here.1 <= next.1 * (1.0 + 1e-9), "{word:?} by {by}: {here:?} {next:?}");
            }
        }
    }
    // Fine steps of the closed form, and its bend.
    let mean = |t: f64| t * (t / 2.0).tanh();
    assert!(2.0 * mean(4.0) > mean(2.0) + mean(6.0), "not convex");
    for order in [1.000_1, 1.1, 1.5, 2.0, 5.0, 40.0] {
        let slope = |place: u32| {
            let t = f64::from(place) / 100.0;
            Curve::RandomizedResponse { epsilon: t, values: 2.0 }.cumulant(order) / t
        };
        for place in 1..1500 {
            assert!(slope(place) <= slope(place + 1) * (1.0 + 1e-12), "{place} at {order}");
        }
    }
}

/// Ten cells by 3 owners or 39 by 1 of something 2-private: ten cells by 2 and fourteen by 1 are less even than half of
/// both, and lose more in the mean than either: 59.89 for 59.70.
#[test]
fn a_mixture_of_what_is_not_convex_is_covered() {
    let event = moving(Event::pure(Epsilon::new(2.0).unwrap()), &[(10, 3.0), (39, 1.0)]);
    let mean = |owners: f64| 2.0 * owners * owners.tanh();
    let (larger, mixed) = (f64::max(10.0 * mean(3.0), 39.0 * mean(1.0)), 10.0 * mean(2.0) + 14.0 * mean(1.0));
    assert!(mixed > 1.002 * larger);
    let spent = crate::loss::filter::Odometer::of(std::slice::from_ref(&event), &Scope::Person).unwrap();
    assert!(spent.rho(&crate::quantity::Exact::zero()).unwrap().to_f64() >= mixed);
    // The pure sum is that of the largest alternative still.
    assert_eq!(spent.pure_sum(), Some("78".parse().unwrap()));
    let part = &crate::loss::resolve::resolve(&event, &Scope::Person).unwrap()[0];
    for order in [1.001, 1.1, 1.5, 3.0] {
        let one = |owners: f64| Curve::RandomizedResponse { epsilon: 2.0 * owners, values: 2.0 }.cumulant(order);
        let found = part.times * part.curve().0.cumulant(order);
        assert!(found >= 10.0 * one(2.0) + 14.0 * one(1.0), "{order}: {found}");
    }
    // One owner apart nothing lies between, and the largest is right.
    let dense = moving(Event::pure(Epsilon::new(2.0).unwrap()), &[(10, 2.0), (25, 1.0)]);
    let spent = crate::loss::filter::Odometer::of(&[dense], &Scope::Person).unwrap();
    assert!((spent.rho(&crate::quantity::Exact::zero()).unwrap().to_f64() - 10.0 * mean(2.0)).abs() < 1e-9);
}

/// The tails of a table end, and a larger move costs hardly more there: 5 cells by 4 steps lose more in the mean than 4
/// cells by 5, for which alone the curve was taken.
#[test]
fn a_curve_that_grows_less_than_the_move_is_looked_at_for_each_move() {
    let one = Scale::new(1.0).unwrap();
    let word = Word::SinhNormal { sigma: Sigma::new(1.0).unwrap(), a: one };
    let of = |list: &[(u64, f64)]| {
        let event = Event::new(word.clone(), Moves::by_scope(Vec::new(), shifts(list), Vec::new()));
        let part = crate::loss::resolve::resolve(&event, &Scope::Person).unwrap().remove(0);
        part.times * part.curve().0.cumulant(1.000_1)
    };
    let alone = |by: f64| words::of(&word).law(by).unwrap().curve().0.cumulant(1.000_1);
    assert!(5.0 * alone(4.0) > 1.1 * 4.0 * alone(5.0));
    assert!(of(&[(4, 5.0)]) >= 5.0 * alone(4.0));
    assert!(of(&[(4, 5.0), (7, 2.0)]) >= 5.0 * alone(4.0));
    // Of larger moves not each is looked at, and none costs more.
    let (sigma, a) = (Sigma::new(8.436).unwrap(), Scale::new(25.8).unwrap());
    let word = Word::SinhNormal { sigma, a };
    let event = moving(Event::new(word.clone(), Moves::everywhere(shifts(&[(1, 1.0)])[0])), &[(2, 30.0)]);
    let part = crate::loss::resolve::resolve(&event, &Scope::Person).unwrap().remove(0);
    let found = part.times * part.curve().0.cumulant(1.1);
    for by in 1..=30u32 {
        let alone = words::of(&word).law(f64::from(by)).unwrap().curve().0.cumulant(1.1);
        assert!(found >= f64::from(60 / by) * alone * (1.0 - 1e-9), "{by}");
    }
}
