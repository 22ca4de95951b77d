use super::*;
use crate::event::{Event, Moves, Word};
use crate::harness::effort;
use crate::loss::renyi::Curve;
use crate::loss::{Answer, Loss};
use crate::noise::{BitSource, InsecureSeededSource};
use crate::scope::Scope;
use std::collections::{BTreeMap, BTreeSet};

fn shifts(list: &[(u64, f64)]) -> Vec<Shift> {
    list.iter().map(|(cells, by)| Shift::new(*cells, *by).unwrap()).collect()
}

fn moving(event: Event, list: &[(u64, f64)]) -> Event {
    event.moving(Moves::by_scope(Vec::new(), shifts(list), Vec::new()))
}

fn delta(events: &[Event], epsilon: f64) -> Answer {
    Loss::of(events, Scope::Person).unwrap().delta(epsilon).unwrap()
}

/// SUM of x in \[−5, 10\] in 2 groups was certified to have δ(0) = 0.18420 and δ(0.65) = 0.02549, each with an equal lower bound. An owner who keeps one of both groups
/// moves (15, 10, 10), which neither alternative covers: 0.20375 and 0.02965 with discrete noise, as it was drawn.
#[test]
fn an_owner_who_keeps_some_groups_is_covered() {
    // The discrete losses were convolved exactly, the continuous ones on a grid of 1/80,000, rounded up and down: both ends agree in these digits.
    let discrete = (Event::discrete_laplace(40.0).unwrap(), [(0.0, 0.203_753_9), (0.65, 0.029_654_1)]);
    let continuous = (Event::laplace(40.0).unwrap(), [(0.0, 0.203_658), (0.65, 0.029_591_7)]);
    for (noise, truths) in [discrete, continuous] {
        let event = moving(noise, &[(4, 10.0), (2, 15.0)]);
        for (epsilon, truth) in truths {
            let found = delta(std::slice::from_ref(&event), epsilon);
            assert!(found.upper > truth - 1e-6 && found.upper < 1.02 * truth, "{found:?} {truth}");
            assert!(found.lower > 0.99 * truth && found.lower < truth + 1e-6, "{found:?} {truth}");
        }
    }
}

/// The law of a noise on whole numbers, by its losses when it is moved: in units, of which a loss is a whole number.
struct Noise {
    unit: f64,
    masses: Vec<(i64, f64)>,
    loss: fn(i64, i64) -> i64,
}

impl Noise {
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

fn in_numbers(noise: &Noise, moved: &[i64]) -> Vec<(f64, f64)> {
    noise.losses(moved).into_iter().map(|(loss, mass)| (loss as f64 * noise.unit, mass)).collect()
}

/// All whole moves that the list stands for, the parts in falling order: those whose partial sums are at most those of V_τ, for shares τ in twelfths.
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

/// Independent of the code above: every whole move that a list stands for, each law by convolution. The certified δ is at least the worst of them, the lower bound at most.
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
            let event =
                if below(2) == 0 { Event::discrete_laplace(2.0 * size) } else { Event::discrete_gaussian(size) }
                    .unwrap();
            let noise = Noise::of(event.word());
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
        (Event::discrete_laplace(16.0).unwrap(), [(4, 4.0), (2, 6.0)]),
        (Event::discrete_gaussian(3.0).unwrap(), [(4, 2.0), (2, 3.0)]),
    ] {
        let noise = Noise::of(event.word());
        let laws: Vec<_> = stands_for(&list).iter().map(|moved| in_numbers(&noise, moved)).collect();
        let loss = Loss::of([moving(event, &list)], Scope::Person).unwrap();
        for target in [1e-4, 0.02, 0.1] {
            let found = loss.epsilon(target).unwrap();
            let at = |epsilon: f64| laws.iter().map(|law| delta_of(law, &[(0.0, 1.0)], epsilon)).fold(0.0, f64::max);
            assert!(at(found.upper) <= target * (1.0 + 1e-9), "{found:?}");
            assert!(at(found.lower * (1.0 - 1e-6)) >= target * (1.0 - 1e-9), "{found:?}");
            assert!(found.lower > 0.9 * found.upper, "{found:?}");
        }
    }
}

/// The theorem that covers rest on: what moves from the cell that moves less to the one that moves more costs more, at each ε.
#[test]
fn a_move_that_is_less_even_costs_more() {
    let words = [0.4, 1.0, 3.0].map(|scale| Event::discrete_laplace(scale).unwrap());
    for event in words.into_iter().chain([0.5, 1.0, 2.2].map(|sigma| Event::discrete_gaussian(sigma).unwrap())) {
        let noise = Noise::of(event.word());
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
