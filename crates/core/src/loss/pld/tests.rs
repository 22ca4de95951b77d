//! The grid against exact sums, on steps so coarse that the bound of what moving adds is put to the test.

use super::cells::AtomicPair;
use super::compose::{ENVELOPE, envelope};
use super::*;
use crate::loss::special::ln_choose;

/// Randomized response with `epsilon`, on a sample of `rate`, as a source whose atoms lie where they will on the grid.
fn sampled_response(epsilon: f64, rate: f64, times: f64) -> RepeatedSource {
    let base = Box::new(randomized_response(epsilon, 2.0, 0.0));
    RepeatedSource { source: DirectedPair::Remove { base, rate }, times }
}

/// The same pair's two losses and their probabilities.
fn response_atoms(epsilon: f64, rate: f64) -> [(f64, f64); 2] {
    let truth = 1.0 / (1.0 + (-epsilon).exp());
    let flip = truth * (-epsilon).exp();
    let (high, low) = ((1.0 - rate) * flip + rate * truth, (1.0 - rate) * truth + rate * flip);
    [((high / flip).ln(), high), ((low / truth).ln(), low)]
}

/// δ(ε) of this many runs, by the binomial sum.
fn exact_delta(epsilon: f64, rate: f64, times: u32, at: f64) -> f64 {
    let [(high, p), (low, q)] = response_atoms(epsilon, rate);
    let runs = f64::from(times);
    let term = |count: f64| {
        let loss = count * high + (runs - count) * low;
        let mass = ln_choose(runs, count) + count * p.ln() + (runs - count) * q.ln();
        if loss > at { mass.exp() * -(at - loss).exp_m1() } else { 0.0 }
    };
    (0..=times).map(|count| term(f64::from(count))).sum()
}

fn plan_for(parts: &[RepeatedSource], delta: f64) -> SaddlePoint {
    let sketches = parts.iter().map(|part| Sketch::new(part, 1e-30)).collect();
    plan(sketches, LossQuery::Epsilon { delta })
}

/// Scarf's bound and Hoeffding's are checked where they bite: few and many runs, atoms anywhere in their cells, moves
/// that add up to as much as the bound allows. Both windows, the whole range of ε.
#[test]
fn what_moving_adds_is_never_more_than_its_bound() {
    let mut closest: f64 = 0.0;
    for times in [1u32, 2, 3, 10, 100, 1000] {
        for (epsilon, rate, delta) in [(1.0, 0.3, 1e-2), (0.4, 0.05, 1e-4), (3.0, 0.6, 1e-6)] {
            let parts = [sampled_response(epsilon, rate, f64::from(times))];
            let plan = plan_for(&parts, delta);
            for share in [0.02, 0.05, 0.13, 0.29, 0.45] {
                // The moves' deviation is √runs·step/2 at most, and 1/4 is the most that is trusted.
                let step = share / f64::from(times).sqrt();
                for window in [plan.window, plan.wide_window] {
                    let composed = compose_on(&parts, &plan, window, step, 1e-30);
                    let [(high, _), (low, _)] = response_atoms(epsilon, rate);
                    for i in 0..=60 {
                        // Exact losses (where δ bends) and points between them.
                        let count = f64::from(times) * f64::from(i) / 60.0;
                        let at = count.floor() * high
                            + (f64::from(times) - count.floor()) * low
                            + 0.3 * step * count.fract();
                        if at < 0.0 || !composed.holds(at) {
                            continue;
                        }
                        let truth = exact_delta(epsilon, rate, times, at);
                        let (moved, excess) = composed.moved_and_excess(at);
                        let slack = 1e-9 * truth + 1e-16;
                        assert!(
                            composed.delta_lower(at) <= truth + slack && truth <= composed.delta_upper(at) + slack,
                            "{times} runs, step {step}, at {at}: {truth} not in {} … {}",
                            composed.delta_lower(at),
                            composed.delta_upper(at)
                        );
                        // In the narrow window mass is also wrapped around, which the lower bound takes off elsewhere.
                        let is_wide = window == plan.wide_window;
                        assert!(
                            !is_wide || moved - truth <= excess + slack,
                            "{times} runs, step {step}, at {at}: {moved} {truth} {excess}"
                        );
                        if is_wide && truth > 1e-9 {
                            closest = closest.max((moved - truth) / excess);
                        }
                    }
                }
            }
        }
    }
    // The bound is nearly reached, so a smaller constant would have failed above.
    assert!(closest > 0.5, "what was added is at most {closest} of its bound: the test cannot tell a wrong bound");
}

/// Scarf's and Hoeffding's bounds as they stand, not in the limit of small s: for L − ε = ±t·s, with u = e^{L−ε}.
#[test]
fn the_envelope_covers_the_better_bound_at_every_spread() {
    for s in [1e-6, 1e-3, 0.01, 0.05, 0.1, 0.15, 0.2, 0.25] {
        for i in 0..1500 {
            let t = f64::from(i) * 0.01;
            let allowed = envelope(s) * (-ENVELOPE.1 * t).exp();
            for sign in [1.0, -1.0] {
                let u: f64 = (sign * t * s).exp();
                let distance = (u - 1.0).abs();
                let scarf = 0.5 * s * s / ((s * s + distance * distance).sqrt() + distance) / u;
                // Above: ∫ P[−Z > x+y]·e^y dy. Below: ∫ P[Z > |x|+y]·e^{−y} dy, with E[Z] ≤ s²/2.
                let shift = if sign > 0.0 { 0.0 } else { s / 2.0 };
                let tail = |y: f64| {
                    let z: f64 = (t + y - shift).max(0.0);
                    (-0.5 * z * z + sign * s * y).exp()
                };
                let width = 0.005;
                let sum: f64 = (0..3000).map(|j| tail(f64::from(j) * width)).sum::<f64>() - 0.5 * tail(0.0);
                let hoeffding = s * sum * width * (1.0 + 1e-4);
                assert!(scarf.min(hoeffding) <= allowed, "s {s}, t {t}, sign {sign}: {scarf} {hoeffding} {allowed}");
            }
        }
    }
}

/// Three nodes on a narrow cell against the six on a wide one.
#[test]
fn narrow_cells_agree_with_wide_ones() {
    for mu in [0.01, 0.3, 1.0, 4.0] {
        for start in [-9.0f64, -2.5, -0.003, 0.0, 1.0, 7.0, 30.0] {
            let width = 0.0059 / (start.abs() + 3.01 + mu);
            let end = start + width;
            let (narrow, wide) = cells::narrow_and_wide(mu, start, end);
            for (narrow, wide) in [(narrow.0, wide.0), (narrow.1, wide.1)] {
                // The exponent t²/2 is rounded, in both.
                assert!(
                    (narrow / wide - 1.0).abs() < 1e-14 + 3e-16 * start * start,
                    "μ {mu}, t {start}: {narrow:e} {wide:e}"
                );
            }
        }
    }
}

/// A node that lies above the least loss of a sampled pair by less than rounding: mass is raised to it, and said to be.
#[test]
fn a_node_at_the_least_loss_keeps_the_bounds_true() {
    let (epsilon, rate) = (25.0, 0.25);
    let least = f64::ln_1p(-rate) + 1e-11;
    for step in [-least, -least / 3.0, -least / 7.0] {
        let parts = [sampled_response(epsilon, rate, 3.0)];
        let plan = plan_for(&parts, 1e-3);
        let composed = compose_on(&parts, &plan, plan.wide_window, step, 1e-30);
        for at in [0.1, 1.0, 5.0, 20.0] {
            let truth = exact_delta(epsilon, rate, 3, at);
            assert!(
                composed.delta_lower(at) <= truth * (1.0 + 1e-9) && truth <= composed.delta_upper(at) * (1.0 + 1e-9)
            );
        }
    }
}

#[test]
fn atoms_in_one_cell_keep_both_masses() {
    let atoms = AtomicPair::sorted(vec![(-0.2, 0.3, 0.3 * 0.2f64.exp()), (0.3, 0.7, 0.7 * (-0.3f64).exp())], 0.0);
    let nodes = [-0.5, 0.5];
    let masses = DirectedPair::Whole(Box::new(atoms)).masses(&nodes);
    let p: f64 = masses.at.iter().sum();
    let q: f64 = masses.at.iter().zip(nodes).map(|(mass, node)| mass * (-node).exp()).sum();
    let q_before = 0.3 * 0.2f64.exp() + 0.7 * (-0.3f64).exp();
    assert!((p - 1.0).abs() < 1e-15 && (q / q_before - 1.0).abs() < 1e-15);
}
