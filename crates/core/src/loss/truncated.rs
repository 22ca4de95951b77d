//! Truncated concentrated privacy: (ρ, ω) composes by adding ρ and taking the least ω; groups of every size.
//!
//! Groups are by a Hölder chain (a refinement of \[BDRS18, Propositions 9 and 10\] that covers both and what is
//! between): j equal steps, then a geometric suffix, so that no leg's order exceeds ω.

/// The orders that a group of `size` has a bound for: α ≤ c^k/(c^k − 1), c = ω/(ω−1).
pub(crate) fn group_largest_order(omega: f64, size: u64) -> f64 {
    // ln c^k; expm1 keeps the digits for a large ω.
    let power = size as f64 * -(-1.0 / omega).ln_1p();
    1.0 / -(-power).exp_m1()
}

/// K(α) of a group of `size` owners where one owner has D_α ≤ ρα for α ≤ ω.
pub(crate) fn group_cumulant(rho: f64, omega: f64, size: u64, order: f64) -> f64 {
    if order > group_largest_order(omega, size) * (1.0 + 1e-12) {
        return f64::INFINITY;
    }
    let c = omega / (omega - 1.0);
    let k = size as f64;
    // All steps equal is the small-group rule k²ρα for α ≤ ω/k.
    let mut best = if order * k <= omega { k * k * order * (order - 1.0) } else { f64::INFINITY };
    for equal in 1..=size {
        let rest = (size - equal) as f64;
        let u = c.powf(-rest) / (order - 1.0);
        let d = (u - 1.0 / order) / equal as f64;
        if d <= 0.0 || d < (c - 1.0) * (u - d) * (1.0 - 1e-12) {
            continue;
        }
        // Σ_{i<rest} 1/((c−1)·u·c^i), a geometric sum.
        let suffix = if rest > 0.0 { (1.0 - c.powf(-rest)) / ((1.0 - 1.0 / c) * (c - 1.0) * u) } else { 0.0 };
        best = best.min(equal as f64 / d + suffix);
    }
    // The suffix alone (no equal step) starts at u = 1/α exactly at the largest order.
    if (order / group_largest_order(omega, size) - 1.0).abs() <= 1e-9 {
        let u = 1.0 / order;
        let suffix = (1.0 - c.powf(-k)) / ((1.0 - 1.0 / c) * (c - 1.0) * u);
        best = best.min(suffix);
    }
    rho * best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_match_the_vectors() {
        // group_opt_k15 and prop9_k20
        let between = group_cumulant(0.01, 10.0, 15, 1.2) / 0.2;
        assert!((between / 3.054_712_312_304_243_8 - 1.0).abs() < 1e-10, "{between}");
        let largest = group_largest_order(10.0, 20);
        assert!((largest / 1.138_403_259_915_528_2 - 1.0).abs() < 1e-12);
        let at_largest = group_cumulant(0.01, 10.0, 20, largest) / (largest - 1.0);
        assert!((at_largest / 6.502_737_005_972_963 - 1.0).abs() < 1e-9, "{at_largest}");
        let small = group_cumulant(0.01, 10.0, 3, 2.0);
        assert!((small / 0.18 - 1.0).abs() < 1e-12, "k²ρα(α−1) for a small group, not {small}");
    }
}
