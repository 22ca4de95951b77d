//! How precisely each table is measured if several limits must hold at once.
//!
//! With p = 1/(2σ²) of each table, every cost is a sum Σ c·p and the error is Σ v/p (v is what a table's variance
//! weighs): a convex problem with a few linear constraints. Its dual has one multiplier λ for each limit, and
//! p = √(v/Σλc). Replacing each λ by λ·(used/limit)² never lowers the dual (the bound of Jensen's inequality for the
//! concave √Σλc, maximised multiplier by multiplier), and for one limit it is the solution at once, σ² ∝ √(c/v)
//! \[XHK23\].

/// Σ cost·precision over some tables is at most `most`.
pub(super) struct Constraint {
    /// Tables by their number, with what a unit of their precision costs: above 0.
    pub costs: Vec<(usize, f64)>,
    /// Above 0.
    pub most: f64,
}

/// Relative to the least error that is possible, what is found may be this much above.
const GAP: f64 = 1e-10;
/// Steps after which what is found is good enough.
const MOST_STEPS: usize = 20_000;

/// The precision of each table that makes Σ weight/precision least within all limits, up to rounding; infinite where no
/// limit speaks about a table.
pub(super) fn precisions(weights: &[f64], limits: &[Constraint]) -> Vec<f64> {
    let root = |(table, cost): &(usize, f64)| (weights[*table] * cost).sqrt();
    let alone = |limit: &Constraint| (limit.costs.iter().map(root).sum::<f64>() / limit.most).powi(2);
    let mut multipliers: Vec<f64> = limits.iter().map(alone).collect();
    let mut best: Option<(f64, Vec<f64>)> = None;
    for _ in 0..MOST_STEPS {
        let mut slopes = vec![0.0; weights.len()];
        for (limit, multiplier) in limits.iter().zip(&multipliers) {
            limit.costs.iter().for_each(|(table, cost)| slopes[*table] += multiplier * cost);
        }
        let precisions: Vec<f64> = weights.iter().zip(&slopes).map(|(weight, slope)| (weight / slope).sqrt()).collect();
        let used = |limit: &Constraint| {
            limit.costs.iter().map(|(table, cost)| cost * precisions[*table]).sum::<f64>() / limit.most
        };
        let used: Vec<f64> = limits.iter().map(used).collect();
        let excess = used.iter().copied().fold(0.0, f64::max);
        // The primal value of precisions/excess over the dual value of the best multiple of the multipliers.
        let error: f64 = weights.iter().zip(&slopes).map(|(weight, slope)| (weight * slope).sqrt()).sum();
        let spent: f64 = limits.iter().zip(&multipliers).map(|(limit, multiplier)| limit.most * multiplier).sum();
        let gap = excess * spent / error - 1.0;
        if best.as_ref().is_none_or(|(least, _)| excess * error < *least) {
            best = Some((excess * error, precisions.iter().map(|precision| precision / excess).collect()));
        }
        if gap < GAP {
            break;
        }
        multipliers.iter_mut().zip(&used).for_each(|(multiplier, used)| *multiplier *= used * used);
    }
    best.map_or_else(Vec::new, |(_, precisions)| precisions)
}
