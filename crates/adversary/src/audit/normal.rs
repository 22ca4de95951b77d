//! Quantiles of the normal law.

use scumble::loss::Bounds;
use scumble::loss::special::{TRUSTED, normal_above};

/// Φ⁻¹(p) for 0 < p < 1, between bounds.
pub(super) fn normal_quantile(p: f64) -> Bounds {
    // The smaller tail keeps its digits.
    if p > 0.5 {
        let other = normal_quantile_below(1.0 - p);
        return Bounds { lower: -other.upper, upper: -other.lower };
    }
    normal_quantile_below(p)
}

fn normal_quantile_below(p: f64) -> Bounds {
    let search = |holds: &dyn Fn(f64) -> bool| {
        let (mut below, mut above) = (-40.0, 1.0);
        for _ in 0..200 {
            let middle = 0.5 * (below + above);
            if middle == below || middle == above {
                break;
            }
            if holds(middle) { below = middle } else { above = middle }
        }
        (below, above)
    };
    let lower = search(&|x| normal_above(-x) * (1.0 + TRUSTED) < p).0;
    let upper = search(&|x| normal_above(-x) * (1.0 - TRUSTED) <= p).1;
    Bounds { lower, upper }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_enclose_those_of_high_precision() {
        // mpmath, 30 digits
        for (p, truth) in
            [(0.025, -1.959_963_984_540_054), (0.975, 1.959_963_984_540_054), (1e-20, -9.262_340_089_798_409)]
        {
            let bounds = normal_quantile(p);
            assert!(
                bounds.lower <= truth && truth <= bounds.upper && bounds.upper - bounds.lower < 1e-12,
                "{bounds:?}"
            );
        }
    }
}
