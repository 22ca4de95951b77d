//! Two methods of the papers beside what other kinds of release do instead: whom do they serve? (The first is in no
//! kind; the second is the concept `robust-halfspace` of `learn`.)
//! `cargo test -p scumble --test methods_compared -- --nocapture` prints the tables.

use scumble::learn::halfspace::HalfspaceLearner;
use scumble::mechanism::interior_point::InteriorPoint;
use scumble::mechanism::quantile::QuantileTree;
use scumble::noise::{BitSource, InsecureSeededSource};
use scumble::quantity::{Beta, Epsilon, Omega, Rho};
use scumble::{Scope, Target};

const BETA: f64 = 0.05;

/// Budgets in (ρ, ω)-tCDP, from very little to more than anybody should spend.
fn budgets() -> Vec<(f64, f64)> {
    let omegas = [2.0, 4.0, 8.0, 32.0, 200.0];
    [1e-3, 1e-2, 0.1, 1.0].into_iter().flat_map(|rho| omegas.map(|omega| (rho, omega))).collect()
}

/// With how many owners the exponential mechanism finds a key inside: (2ε)²/8 = ρ where an owner is replaced.
fn by_exponential(bits: u32, rho: f64) -> f64 {
    let point = InteriorPoint::new(bits, Epsilon::new((2.0 * rho).sqrt()).unwrap()).unwrap();
    point.owners_needed(Beta::new(BETA).unwrap()).unwrap()
}

/// And the recursion; infinite where it has no table of noise.
fn by_recursion(bits: u32, rho: f64, omega: f64) -> f64 {
    let made = InteriorPoint::recursive_within(
        Target::tcdp(Rho::new(rho).unwrap(), Omega::new(omega).unwrap()),
        Scope::Person,
        bits,
        Beta::new(BETA).unwrap(),
    );
    made.map_or(f64::INFINITY, |point| point.owners_needed(Beta::new(BETA).unwrap()).unwrap())
}

/// The log* recursion for interior points (T5 of the paper on truncated CDP). Numbers, dates and times have at most 64
/// bits: there the exponential mechanism needs fewer owners at every budget. Texts and UUIDs have up to 128: there the
/// recursion needs fewer at some budgets, but the exponential mechanism on the first bytes of the texts (`max_bytes`)
/// fewer still.
#[test]
fn the_recursion_for_interior_points_serves_no_column() {
    println!(
        "{:>7} {:>5} | owners for 32 bits, 64 bits, 96 bits, 128 bits: exponential mechanism / recursion",
        "ρ", "ω"
    );
    let (mut wins, mut bytes_of_a_tie) = (Vec::new(), 16u32);
    for (rho, omega) in budgets() {
        let both = [32u32, 64, 96, 128].map(|bits| (bits, by_exponential(bits, rho), by_recursion(bits, rho, omega)));
        let shown = both.map(|(_, exponential, recursion)| format!("{exponential:>7.0} / {recursion:<7.0}"));
        println!("{rho:>7} {omega:>5} | {}", shown.join(" "));
        for (bits, exponential, recursion) in both {
            assert!(
                bits > 64 || exponential <= recursion,
                "{bits} bits at ({rho}, {omega}): {exponential} {recursion}"
            );
            if exponential > recursion {
                wins.push((bits, rho, omega, exponential / recursion));
                // The most bytes of a text with which the exponential mechanism is as good.
                let tie = (1..=16).rev().find(|bytes| by_exponential(8 * bytes, rho) <= recursion).unwrap_or(0);
                bytes_of_a_tie = bytes_of_a_tie.min(tie);
            }
        }
    }
    println!("the recursion needs fewer owners: {wins:?}");
    println!("the exponential mechanism is as good with max_bytes = {bytes_of_a_tie}");
    assert!(wins.iter().all(|(_, _, _, ratio)| *ratio < 2.0), "{wins:?}");
    assert!(bytes_of_a_tie >= 8, "{bytes_of_a_tie}");
}

/// The same for quantiles, which is what the kind `quantiles` asks for: a tree of medians by either way.
#[test]
fn the_recursion_for_quantiles_serves_hardly_more() {
    println!(
        "{:>7} {:>5} | ranks off, of a median and of quartiles, 128 bits: exponential mechanism / recursion",
        "ρ", "ω"
    );
    for (rho, omega) in budgets() {
        let (beta, own) = (Beta::new(BETA).unwrap(), (Rho::new(rho).unwrap(), Omega::new(omega).unwrap()));
        let shown = [1u32, 2].map(|levels| {
            let each = Epsilon::new((2.0 * rho / f64::from(levels)).sqrt()).unwrap();
            let exponential = QuantileTree::new(u128::MAX, levels, each).and_then(|tree| tree.error(beta)).unwrap();
            let recursion =
                QuantileTree::recursive_within(Target::tcdp(own.0, own.1), Scope::Person, u128::MAX, levels, beta);
            let recursion = recursion.and_then(|tree| tree.error(beta)).unwrap_or(f64::INFINITY);
            // A median of the first eight bytes, by what there is.
            let short = QuantileTree::new(u64::MAX.into(), levels, each).and_then(|tree| tree.error(beta)).unwrap();
            assert!(short <= recursion, "{levels} levels at ({rho}, {omega}): {short} {recursion}");
            format!("{exponential:>7.0} / {recursion:<7.0} (first 8 bytes: {short:.0})")
        });
        println!("{rho:>7} {omega:>5} | {}", shown.join("   "));
    }
}

/// A point of five bools, each as ±1.
type Point = Vec<i8>;

const DIMENSION: usize = 5;

/// Owners whose label is what most of their bools are: anywhere, or (`far`) at most one bool from all alike.
fn owners(number: usize, far: bool, bits: &mut InsecureSeededSource) -> (Vec<Point>, Vec<i8>) {
    let sign = |bits: &mut InsecureSeededSource| if bits.next_bits(1) == 1 { 1i8 } else { -1 };
    let mut point = || {
        if !far {
            return (0..DIMENSION).map(|_| sign(bits)).collect::<Point>();
        }
        let mut point = vec![sign(bits); DIMENSION];
        let other = (bits.next_bits(3) as usize).min(DIMENSION);
        if other < DIMENSION {
            point[other] = -point[other];
        }
        point
    };
    let points: Vec<Point> = (0..number).map(|_| point()).collect();
    let labels =
        points.iter().map(|point| if point.iter().map(|x| i32::from(*x)).sum::<i32>() >= 0 { 1 } else { -1 }).collect();
    (points, labels)
}

fn mistakes(weights: &[i32], points: &[Point], labels: &[i8]) -> f64 {
    let is_wrong = |point: &Point, label: i8| {
        let margin: i32 = weights.iter().zip(point).map(|(weight, x)| weight * i32::from(*x)).sum();
        (margin >= 0) != (label == 1)
    };
    points.iter().zip(labels).filter(|(point, label)| is_wrong(point, **label)).count() as f64
}

/// Robust halfspaces at ε for each column and for the label (Section 6 of the paper on partial privacy), beside the
/// concept `halfspace` of `learn` at the same cost per attribute: the exponential mechanism over the same halfspaces
/// with c = ε/2, which costs a whole person no more than ε, where the robust learner costs it ε for every column. Where
/// owners lie anywhere, randomized labels cost more than robustness saves; where all of them lie far from the boundary,
/// robust halfspaces make fewer mistakes. Compared are the mistakes of the chosen rule, on labels that some rule gets
/// right.
#[test]
fn robust_halfspaces_pay_only_far_from_the_boundary() {
    let net = HalfspaceLearner::net(DIMENSION, 5).unwrap();
    let mut bits = InsecureSeededSource::new(38);
    println!("{} halfspaces over {DIMENSION} bools; mistakes of the chosen one, mean of {DRAWS} draws", net.len());
    println!("{:>6} {:>7} {:>9} | concept `halfspace` | robust, radii 0–1, 0–2, 1–3", "ε", "owners", "data");
    for (odds, far) in
        [((2, 1), false), ((3, 1), false), ((8, 1), false), ((2, 1), true), ((3, 1), true), ((8, 1), true)]
    {
        let epsilon = (f64::from(odds.0) / f64::from(odds.1)).ln();
        for number in [60, 400] {
            let (points, labels) = owners(number, far, &mut bits);
            let wrong: Vec<f64> = net.iter().map(|weights| mistakes(weights, &points, &labels)).collect();
            let weights: Vec<f64> = wrong.iter().map(|wrong| (-epsilon / 2.0 * wrong).exp()).collect();
            let total: f64 = weights.iter().sum();
            let plain: f64 = weights.iter().zip(&wrong).map(|(weight, wrong)| weight / total * wrong).sum();
            let robust = [(0, 1), (0, 2), (1, 3)].map(|(near, far)| {
                let learner =
                    HalfspaceLearner::new(near, far, odds, Epsilon::new(epsilon).unwrap(), net.clone()).unwrap();
                let once = |_| mistakes(&learner.learn(&points, &labels, &mut bits).unwrap(), &points, &labels);
                (0..DRAWS).map(once).sum::<f64>() / DRAWS as f64
            });
            let shown = robust.map(|mean| format!("{mean:>6.1}")).join(" ");
            let data = if far { "far apart" } else { "anywhere" };
            println!("{epsilon:>6.3} {number:>7} {data:>9} | {plain:>19.1} | {shown}");
            let best = robust.into_iter().fold(f64::INFINITY, f64::min);
            let saved = if far { 3.0 } else { 0.5 };
            assert!(plain <= best + saved, "{epsilon} {number} {data}: {plain} {best}");
        }
    }
}

const DRAWS: usize = 12;
