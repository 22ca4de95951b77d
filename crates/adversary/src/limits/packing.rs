//! Packing: many datasets that are near each other and must be answered differently.
//!
//! Let x₀ be a dataset and C a set of datasets, each within m changes of x₀, with goals that exclude each other. If
//! each goal is reached with probability at least p, then 1/|C| ≥ p·e^{−mε} − δ·(1 − e^{−mε})/(e^ε − 1)
//! (group privacy, m times). The theorem as printed by Vadhan 2017 (7.5.13) has δ in place of that multiple and is
//! false for small ε: [`key_selection`] beats it.

use scumble::error::{Error, Result};
use scumble::quantity::{Delta, Epsilon, Probability};

/// How many changes are searched.
const MOST_CHANGES: u64 = 1 << 60;

fn checked(epsilon: Epsilon, success: Option<Probability>) -> Result<()> {
    refuse_if!(epsilon.get() == 0.0, "a packing needs epsilon above 0");
    match success {
        Some(success) if success.get() == 0.0 => {
            Err(Error::refused("a packing needs a probability of success above 0"))
        }
        _ => Ok(()),
    }
}

/// (1 − e^{−mε})/(e^ε − 1).
fn slips(epsilon: f64, changes: f64) -> f64 {
    -libm::expm1(-changes * epsilon) / libm::expm1(epsilon)
}

/// The least m ≥ 1 that the packing bound allows for `size` datasets and this probability of success; none if no m
/// does. Never larger than the truth.
///
/// ```
/// use scumble_adversary::limits::packing::least_changes;
/// let changes = least_changes(1.0.try_into()?, 0.0.try_into()?, 1048576.0, 0.95.try_into()?)?;
/// assert_eq!(changes, Some(14));
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn least_changes(epsilon: Epsilon, delta: Delta, size: f64, success: Probability) -> Result<Option<u64>> {
    checked(epsilon, Some(success))?;
    refuse_if!(size.is_nan() || size < 1.0, "a packing has at least one dataset, not {size}");
    if size.is_infinite() && delta.get() == 0.0 {
        return Ok(None);
    }
    let at_most = 1.0 / size * (1.0 + 1e-15);
    // Whether m is certainly too small.
    let forbidden = |changes: u64| {
        let exponent = changes as f64 * epsilon.get();
        let reached = success.get() * libm::exp(-exponent) * (1.0 - 1e-14 * (1.0 + exponent));
        let forgiven = delta.get() * slips(epsilon.get(), changes as f64) * (1.0 + 1e-14 * (1.0 + exponent));
        reached - forgiven > at_most
    };
    if !forbidden(1) {
        return Ok(Some(1));
    }
    let mut above = 2u64;
    while forbidden(above) {
        if above >= MOST_CHANGES {
            return Ok(None);
        }
        above *= 2;
    }
    let mut below = above / 2;
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if forbidden(middle) { below = middle } else { above = middle }
    }
    Ok(Some(above))
}

/// Counting queries that tell `universe` values apart (points, thresholds, means) cannot all be answered within this
/// many counts with probability `success`, in the presence scope (from the empty table) and in the person scope;
/// infinite if never.
///
/// m* − 1 copies of one value must be distinguished from those of another, so that the error is at least (m* − 1)/2.
///
/// ```
/// use scumble_adversary::limits::packing::count_error_lower;
/// assert_eq!(count_error_lower(1.0.try_into()?, 0.0.try_into()?, 1048576.0, 0.95.try_into()?)?, 6.5);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn count_error_lower(epsilon: Epsilon, delta: Delta, universe: f64, success: Probability) -> Result<f64> {
    let changes = least_changes(epsilon, delta, universe, success)?;
    Ok(changes.map_or(f64::INFINITY, |changes| (changes - 1) as f64 / 2.0))
}

/// The largest probability with which goals of `size` datasets within `changes` of one can be reached: the bound above,
/// solved for p; rounded up.
pub fn success_at_most(epsilon: Epsilon, delta: Delta, size: f64, changes: u64) -> Result<f64> {
    checked(epsilon, None)?;
    let grown = libm::exp(changes as f64 * epsilon.get());
    let bound = grown * (1.0 / size + delta.get() * slips(epsilon.get(), changes as f64));
    Ok((bound * (1.0 + 1e-14)).min(1.0))
}

/// The same as the survey prints it, e^{mε}·(1/|C| + δ); it is false.
pub fn printed_success_at_most(epsilon: Epsilon, delta: Delta, size: f64, changes: u64) -> f64 {
    (libm::exp(changes as f64 * epsilon.get()) * (1.0 / size + delta.get())).min(1.0)
}

/// The largest probability with which a private selection of keys publishes a key that has `copies` in an otherwise
/// empty table: p₀ = 0, p_m = min(e^ε·p_{m−1} + δ, 1 − e^{−ε}(1 − p_{m−1} − δ)) (Desfontaines, Voss, Gipson, Mandayam
/// 2022).
///
/// ```
/// use scumble_adversary::limits::packing::key_selection;
/// assert!((key_selection(0.1.try_into()?, 0.05.try_into()?, 5) - 0.30841).abs() < 1e-5);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn key_selection(epsilon: Epsilon, delta: Delta, copies: u64) -> f64 {
    let (grow, delta) = (libm::exp(epsilon.get()), delta.get());
    let mut published: f64 = 0.0;
    for _ in 0..copies {
        let next = (grow * published + delta).min(1.0 - (1.0 - published - delta) / grow).min(1.0);
        if next == published {
            break;
        }
        published = next;
    }
    published
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counterexample: a mechanism that exists reaches what the corrected bound allows and more than the printed
    /// one does.
    #[test]
    fn key_selection_attains_the_corrected_bound_and_beats_the_printed_one() {
        for (epsilon, delta, copies) in [(0.1, 0.05, 5), (0.01, 0.001, 20), (0.5, 1e-6, 10)] {
            let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
            let attained = key_selection(epsilon, delta, copies);
            let allowed = success_at_most(epsilon, delta, f64::INFINITY, copies).unwrap();
            assert!(attained <= allowed && attained > allowed * (1.0 - 1e-12), "{attained} {allowed}");
            assert!(attained > printed_success_at_most(epsilon, delta, f64::INFINITY, copies));
        }
    }

    /// m* by trying one after the other.
    #[test]
    fn the_least_number_of_changes_is_that_of_a_walk() {
        for (epsilon, delta, size, success) in [(0.3, 0.0, 1e4, 0.9), (0.05, 1e-7, 1e6, 0.5), (2.0, 0.01, 50.0, 0.99)] {
            let walk = (1u64..).find(|m| {
                let m = *m as f64;
                let grown = f64::exp(-m * epsilon);
                1.0 / size >= success * grown - delta * (1.0 - grown) / (f64::exp(epsilon) - 1.0)
            });
            let found = least_changes(
                epsilon.try_into().unwrap(),
                delta.try_into().unwrap(),
                size,
                success.try_into().unwrap(),
            );
            assert_eq!(found.unwrap(), walk);
        }
    }

    #[test]
    fn nothing_reaches_infinitely_many_goals_without_delta() {
        let at = |delta: f64, success: f64| {
            least_changes(
                0.5.try_into().unwrap(),
                delta.try_into().unwrap(),
                f64::INFINITY,
                success.try_into().unwrap(),
            )
        };
        assert_eq!(at(0.0, 0.5).unwrap(), None);
        assert!(at(1e-6, 0.5).unwrap().unwrap() < 40);
        assert!(at(0.0, 0.0).is_err());
        assert!(
            least_changes(0.0.try_into().unwrap(), 0.0.try_into().unwrap(), 10.0, 0.5.try_into().unwrap()).is_err()
        );
    }
}
