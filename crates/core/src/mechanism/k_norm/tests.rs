//! K-norm noise: the claim against the exact distribution, the planned error against the exact tail.

use super::*;
use crate::event::Shift;
use crate::harness::{Claim, Distribution, ProbabilityInterval, Slack, check};
use crate::noise::InsecureSeededSource;
use crate::scope::Scope;

/// The relative error of the f64 probabilities below.
const ROUNDING: f64 = 1e-12;

#[test]
fn k_norm_noise_costs_its_largest_move_however_many_cells_move() {
    let scale = Scale::new(2.0).unwrap();
    let mechanism = KNormMechanism::new(scale, 2, Moves::everywhere(Shift::one_cell(1.0).unwrap())).unwrap();
    let reach = 40i64;
    let weight = |x: i64, y: i64| (-(x.abs().max(y.abs()) as f64) / 2.0).exp();
    let square = |reach: i64| (-reach..=reach).flat_map(move |x| (-reach..=reach).map(move |y| (x, y)));
    let total: f64 = square(300).map(|(x, y)| weight(x, y)).sum();
    let noise = |by: (i64, i64)| {
        let listed = square(reach)
            .map(|(x, y)| ((x + by.0, y + by.1), ProbabilityInterval::near(weight(x, y) / total, ROUNDING)));
        let inside: f64 = square(reach).map(|(x, y)| weight(x, y)).sum::<f64>() / total;
        Distribution::new(listed, 1.0 - inside + 1e-12)
    };
    let claim = Claim::of(&[mechanism.events().unwrap().remove(0)], &Scope::Presence, &[]);
    // Both counts may move at once, in any direction: still one unit in ℓ∞.
    let origin = (0i64, 0i64);
    let moved = [(1, 1), (1, 0), (0, -1), (-1, 1)];
    let pairs: Vec<_> = moved.iter().map(|&move_by| (origin, move_by)).collect();
    check(&pairs, |by| noise(*by), &claim, Slack::TIGHT);
}

#[test]
fn the_planned_error_holds_and_is_within_one_tenth_for_k_norm_noise() {
    for (scale, dimension, beta) in [(0.3, 1, 0.1), (2.0, 2, 0.05), (5.0, 20, 1e-6), (0.5, 100, 0.01)] {
        let k = dimension as f64;
        let shell = |m: i64| {
            let outer = (k * (2.0 * m as f64 + 1.0).ln() - m as f64 / scale - k * (k * scale + 1.0).ln()).exp();
            let inner = ((2 * m - 1) as f64 / (2 * m + 1) as f64).powi(dimension as i32);
            if m == 0 { outer } else { outer * (1.0 - inner) }
        };
        let total: f64 = (0..20_000).map(shell).sum();
        let tail = |t: i64| (t + 1..20_000).map(|m| shell(m) / total).sum::<f64>();
        let mechanism = KNormMechanism::new(Scale::new(scale).unwrap(), dimension, Moves::everywhere(one())).unwrap();
        let planned = mechanism.error(Beta::new(beta).unwrap()).unwrap() as i64;
        let needed = (0..20_000).find(|t| tail(*t) <= beta).unwrap();
        assert!(
            (needed..=needed + needed / 10 + 1).contains(&planned),
            "{scale}, {dimension}: {planned}, needed {needed}"
        );
    }
}

#[test]
fn a_k_norm_mechanism_refuses_another_number_of_answers() {
    let mechanism = KNormMechanism::new(Scale::new(1.0).unwrap(), 3, Moves::everywhere(one())).unwrap();
    let refused = mechanism.release(&[1, 2], &mut InsecureSeededSource::new(1)).unwrap_err();
    assert_eq!(refused.to_string(), "K-norm noise for 3 answers cannot be added to 2 answers");
}

fn one() -> Shift {
    Shift::one_cell(1.0).unwrap()
}
