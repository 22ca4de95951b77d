//! What no truncated concentrated mechanism can beat: how much one learns about a whole dataset, and histograms.
//!
//! Bun, Dwork, Rothblum, Steinke 2018, Theorem 26 and Corollary 27, for neighbours that replace one owner; with the
//! sharper group privacy of small and large groups together, about twice as large as printed there.

use scumble::error::{Error, Result};
use scumble::quantity::{Omega, Rho};

/// Rounding goes down: these are lower bounds.
const DOWNWARD: f64 = 1.0 - 1e-9;

/// The most nats that the output of a (ρ, ω)-tCDP mechanism tells about a dataset of `owners` owners: an upper bound of
/// the divergence (of order 1) between any two datasets.
///
/// ρ·min_{j ≤ ω} (j²·c^{k−j} + (c^{k−j} − 1)·ω(ω−1)) with c = ω/(ω−1): j owners by the small-group bound, the others
/// one by one.
///
/// ```
/// use scumble_adversary::limits::tcdp::information_upper;
/// use scumble::quantity::{Omega, Rho};
/// // Small groups: k²ρ.
/// assert!((information_upper(Rho::new(0.01)?, Omega::new(10.0)?, 5) - 0.25).abs() < 1e-9);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn information_upper(rho: Rho, omega: Omega, owners: u64) -> f64 {
    let (rho, omega) = (rho.get(), omega.get());
    let ratio = omega / (omega - 1.0);
    let first = |j: u64| {
        let grown = ((owners - j) as f64 * ratio.ln()).exp();
        (j as f64).powi(2) * grown + (grown - 1.0) * omega * (omega - 1.0)
    };
    let most = owners.min(omega.floor().min(1e6) as u64);
    rho * (0..=most).map(first).fold(f64::INFINITY, f64::min) / DOWNWARD
}

/// How many owners a dataset must have before a (ρ, ω)-tCDP histogram over `cells` cells can have a maximum error below
/// half of that number, with probability at least ½.
///
/// ½·ln(cells/4) nats are needed to find the one occupied cell (Fano), so the least n with [`information_upper`] of n
/// that large.
///
/// ```
/// use scumble_adversary::limits::tcdp::histogram_owners_lower;
/// use scumble::quantity::{Omega, Rho};
/// assert_eq!(histogram_owners_lower(Rho::new(0.01)?, Omega::new(10.0)?, 1e9)?, 27);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn histogram_owners_lower(rho: Rho, omega: Omega, cells: f64) -> Result<u64> {
    if rho.get() == 0.0 || !cells.is_finite() || cells < 1.0 {
        refuse!("the limit of a histogram needs rho above 0 and at least one cell");
    }
    let needed = 0.5 * (cells / 4.0).ln() * DOWNWARD;
    let enough = |owners: u64| information_upper(rho, omega, owners) >= needed;
    let mut above = 1u64;
    while !enough(above) {
        above = above
            .checked_mul(2)
            .filter(|owners| *owners < 1 << 50)
            .ok_or_else(|| Error::refused("rho is so small that no number of owners below 2^50 suffices: raise rho"))?;
    }
    let mut below = above / 2;
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if enough(middle) {
            above = middle;
        } else {
            below = middle;
        }
    }
    Ok(if enough(0) { 0 } else { above })
}

/// A lower bound of the maximum error of any (ρ, ω)-tCDP histogram over `cells` cells (with probability at least ½, on
/// some dataset): half of the owners below which nothing can be found.
pub fn histogram_error_lower(rho: Rho, omega: Omega, cells: f64) -> Result<f64> {
    Ok(histogram_owners_lower(rho, omega, cells)?.saturating_sub(1) as f64 / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_histogram_limit_is_the_golden_one_and_above_the_paper_s() {
        // The table of the spec: paper's corollary 27 beside the sharper number.
        for (rho, omega, cells, paper, sharper) in [
            (0.01f64, 10.0f64, 1e6f64, 16.4f64, 23u64),
            (0.01, 10.0, 1e9, 20.4, 27),
            (0.01, 10.0, 1e18, 27.0, 33),
            (0.1, 3.2, 1e9, 4.9, 8),
            (0.001, 32.0, 1e9, 69.6, 85),
        ] {
            let printed = (omega - 1.0) * ((cells / 4.0).ln() / (2.0 * omega * omega * rho)).ln();
            assert!((printed - paper).abs() < 0.1, "{printed}");
            let found = histogram_owners_lower(Rho::new(rho).unwrap(), Omega::new(omega).unwrap(), cells).unwrap();
            assert_eq!(found, sharper);
        }
    }

    #[test]
    fn information_grows_and_is_below_theorem_26() {
        let (rho, omega) = (Rho::new(0.02).unwrap(), Omega::new(7.0).unwrap());
        let mut before = 0.0;
        for owners in 1..60 {
            let found = information_upper(rho, omega, owners);
            assert!(found > before);
            assert!(found <= (owners as f64 / 6.0).exp() * 49.0 * 0.02 * 1.000_001);
            before = found;
        }
        assert!(histogram_owners_lower(Rho::new(0.0).unwrap(), omega, 10.0).is_err());
        assert_eq!(histogram_owners_lower(rho, omega, 2.0).unwrap(), 0);
    }

    #[test]
    fn no_calibrated_noise_beats_the_limit() {
        use scumble::quantity::Beta;
        use scumble::{Histogram, Scope, Target};
        for (rho, omega) in [(0.01, 10.0), (0.1, 3.2)] {
            let (rho, omega) = (Rho::new(rho).unwrap(), Omega::new(omega).unwrap());
            let best =
                Histogram::within(Target::tcdp(rho, omega), Scope::Person, 1_000_000, Beta::new(0.5).unwrap()).unwrap();
            let limit = histogram_error_lower(rho, omega, 1e6).unwrap();
            assert!(best.error(Beta::new(0.5).unwrap(), 1_000_000).unwrap() > limit);
        }
    }
}
