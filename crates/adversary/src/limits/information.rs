//! How much an output tells about its table, in nats.

use scumble::error::Result;
use scumble::quantity::Epsilon;

/// The mutual information of one row and the output of an ε-private mechanism (δ = 0, person scope) is at most this, if
/// the rows are independent; n rows together tell at most n times as much. u − 1 − ln u with u = ε/(1 − e^{−ε});
/// rounded up.
///
/// r = P_x(y)/P(y) lies in an interval whose ends are a factor e^ε apart and has mean 1; r·ln r is convex, so that two
/// points are the worst law. (Vadhan 2017, 7.9.5, prints 1.5·ε bits.)
///
/// ```
/// use scumble_adversary::limits::information::nats_per_row;
/// assert!((nats_per_row(1.0.try_into()?) - 0.1233).abs() < 1e-4);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn nats_per_row(epsilon: Epsilon) -> f64 {
    let epsilon = epsilon.get();
    if epsilon < 1e-2 {
        // ε²/8 − ε⁴/576 + …: the series of an even function, whose terms alternate here.
        let square = epsilon * epsilon;
        return square / 8.0 * (1.0 + 1e-15);
    }
    let u = epsilon / -libm::expm1(-epsilon);
    // u − 1 is exact to a few units; what remains of it is about ε/4 of its size.
    let value = (u - 1.0) - libm::log(u);
    value + 1e-15 * (1.0 + u)
}

/// The same for n rows with any joint law: the function once, at nε.
///
/// ```
/// use scumble_adversary::limits::information::{nats_for_any_prior, nats_per_row};
/// assert_eq!(nats_for_any_prior(0.5.try_into()?, 1)?, nats_per_row(0.5.try_into()?));
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn nats_for_any_prior(epsilon: Epsilon, rows: u64) -> Result<f64> {
    refuse_if!(rows == 0, "rows must be at least 1, not 0");
    let all = epsilon.get() * rows as f64;
    Ok(nats_per_row(Epsilon::new(if rows == 1 { all } else { all.next_up() })?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Randomized response of a biased coin tells less than the bound, and at the worst bias nearly as much.
    #[test]
    fn randomized_response_stays_below_and_comes_near() {
        for epsilon in [0.005f64, 0.1, 1.0, 3.0] {
            let bound = nats_per_row(epsilon.try_into().unwrap());
            let learned = |bias: f64| {
                let truth = epsilon.exp() / (1.0 + epsilon.exp());
                let one = bias * truth + (1.0 - bias) * (1.0 - truth);
                let entropy = |p: f64| -p * p.ln() - (1.0 - p) * (1.0 - p).ln();
                entropy(one) - entropy(truth)
            };
            let most = (1..1000).map(|i| learned(f64::from(i) / 1000.0)).fold(0.0, f64::max);
            assert!(most <= bound + 1e-15 && most > 0.49 * bound, "{epsilon}: {most} {bound}");
        }
    }

    #[test]
    fn the_series_meets_the_formula() {
        let (below, above) =
            (nats_per_row(0.009_999_999.try_into().unwrap()), nats_per_row(0.010_000_001.try_into().unwrap()));
        assert!(below < above * 1.001 && (above / below - 1.0).abs() < 1e-4, "{below} {above}");
        assert!(nats_for_any_prior(1.0.try_into().unwrap(), 0).is_err());
    }
}
