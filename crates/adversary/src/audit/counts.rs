//! One event, counted on both sides.

use super::binomial::{success_lower, success_upper};
use super::normal::normal_quantile;
use scumble::error::{Error, Result};
use scumble::quantity::{Beta, Delta};

/// More runs than anybody has.
const MOST_RUNS: u64 = 1_000_000_000_000;

/// How often an event was seen in runs on a table and in runs on its neighbour. The event is fixed before these runs.
///
/// ```
/// use scumble::quantity::beta;
/// use scumble_adversary::audit::Counts;
/// let seen = Counts::new(50, 1000, 0, 1000)?.confidence(beta(0.05)?)?;
/// assert!((seen.epsilon_lower(1e-5.try_into()?) - 2.316195).abs() < 1e-6);
/// assert!(Counts::new(5, 4, 0, 4).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    hits: u64,
    runs: u64,
    neighbour_hits: u64,
    neighbour_runs: u64,
}

impl Counts {
    /// `hits` of `runs` on the table, `neighbour_hits` of `neighbour_runs` on its neighbour.
    pub fn new(hits: u64, runs: u64, neighbour_hits: u64, neighbour_runs: u64) -> Result<Self> {
        for (hits, runs, side) in [(hits, runs, "the table"), (neighbour_hits, neighbour_runs, "its neighbour")] {
            refuse_if!(runs == 0 || runs > MOST_RUNS, "runs on {side} must be a number from 1 to 1e12, not {runs}");
            refuse_if!(hits > runs, "{hits} hits in {runs} runs on {side}: there cannot be more hits than runs");
        }
        Ok(Self { hits, runs, neighbour_hits, neighbour_runs })
    }

    /// Runs on the table in which the event was seen.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// Runs on the table.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Runs on the neighbour in which the event was seen.
    pub fn neighbour_hits(&self) -> u64 {
        self.neighbour_hits
    }

    /// Runs on the neighbour.
    pub fn neighbour_runs(&self) -> u64 {
        self.neighbour_runs
    }

    /// What is known of the event's two probabilities, except with probability β (half of it for each; Clopper and
    /// Pearson 1934).
    pub fn confidence(&self, beta: Beta) -> Result<ConfidenceBounds> {
        let share = error_share(beta)?;
        Ok(ConfidenceBounds {
            p_low: success_lower(self.hits, self.runs, share),
            q_high: success_upper(self.neighbour_hits, self.neighbour_runs, share),
        })
    }
}

/// β/2, for a β at which an audit says something.
pub(super) fn error_share(beta: Beta) -> Result<f64> {
    let beta = beta.get();
    if beta < 0.5 {
        return Ok(0.5 * beta);
    }
    Err(Error::refused(format!(
        "beta, the probability that an audit is wrong, must be a number in (0, 0.5), not {beta}"
    )))
}

/// With the stated confidence, the event has at least probability `p_low` on the table and at most `q_high` on its
/// neighbour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConfidenceBounds {
    /// A lower bound of the event's probability on the table.
    pub p_low: f64,
    /// An upper bound of its probability on the neighbour.
    pub q_high: f64,
}

impl ConfidenceBounds {
    /// ε is at least this, if δ is what is claimed: p ≤ e^ε·q + δ gives ε ≥ ln((p − δ)/q). Rounded down; 0 where
    /// nothing is proven.
    pub fn epsilon_lower(&self, delta: Delta) -> f64 {
        self.log_ratio(delta).max(0.0)
    }

    /// The same without its floor, to compare events that prove nothing.
    pub(super) fn log_ratio(&self, delta: Delta) -> f64 {
        let above = (self.p_low - delta.get()).next_down();
        if above <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let value = libm::log((above / self.q_high).next_down());
        value - 4.0 * f64::EPSILON * value.abs()
    }

    /// If the mechanism adds Gaussian noise, its ratio Δ/σ is at least this: Φ⁻¹(p) − Φ⁻¹(q), rounded down; 0 where
    /// nothing is proven.
    pub fn mu_lower(&self) -> f64 {
        if self.p_low == 0.0 || self.q_high == 1.0 {
            return 0.0;
        }
        let (low, high) = (normal_quantile(self.p_low).lower, normal_quantile(self.q_high).upper);
        let value = low - high;
        (value - 2.0 * f64::EPSILON * (low.abs() + high.abs())).max(0.0)
    }
}

/// By how much an empirical distribution function may be off anywhere on one side (Massart 1990), with β/2 for each of
/// two samples. Weak in the tails, so that [`Counts`] proves more; it is for pictures.
///
/// ```
/// use scumble::quantity::beta;
/// use scumble_adversary::audit::dkw_half_width;
/// assert!((dkw_half_width(100_000, beta(0.05)?)? - 0.004294694083).abs() < 1e-12);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn dkw_half_width(runs: u64, beta: Beta) -> Result<f64> {
    let share = error_share(beta)?;
    refuse_if!(runs == 0, "runs must be at least 1, not 0");
    Ok(libm::sqrt(-libm::log(share) / (2.0 * runs as f64)) * (1.0 + 1e-15))
}
