//! Thresholds and points by statistical queries (survey 7.8.4): baselines, and what the local model can do.
//!
//! [`threshold`](super::threshold) and the exponential mechanism over all thresholds ([`generic`](super::generic)) need
//! fewer rows in the central model.

use super::query::{StatisticalQueries, UNIT};
use super::threshold::Threshold;
use crate::error::{Error, Result};
use crate::quantity::Beta;

/// A number and its label.
pub type LabelledNumber = (u64, bool);

const MOST_BITS: u32 = 62;

fn indicator(is_in: bool) -> u32 {
    if is_in { UNIT } else { 0 }
}

fn check(bits: u32) -> Result<()> {
    match bits {
        1..=MOST_BITS => Ok(()),
        _ => Err(Error::refused(format!("numbers here have 1 to {MOST_BITS} bits, not {bits}"))),
    }
}

/// Learns y = [x ≥ z] over numbers of `bits` bits: a binary search for the largest z with P[x < z and y = 1] within the
/// tolerance, in `bits` asks. With probability 1 − β, if some threshold is right on all rows, what is learnt is not
/// below it and errs on at most twice the tolerance.
///
/// ```
/// use scumble::quantity::beta;
/// use scumble::learn::asked;
/// use scumble::learn::query::ExactQueries;
/// let rows: Vec<(u64, bool)> = (0..256).map(|x| (x, x >= 77)).collect();
/// assert_eq!(asked::threshold(&mut ExactQueries::new(&rows), 8, beta(0.05)?)?.from, 77);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn threshold(provider: &mut impl StatisticalQueries<LabelledNumber>, bits: u32, beta: Beta) -> Result<Threshold> {
    check(bits)?;
    let tolerance = provider.tolerance(bits.into(), beta)?;
    let mut from = 0;
    for place in (0..bits).rev() {
        let middle = from | 1 << place;
        if provider.ask(&|(x, label)| indicator(*label && *x < middle))? <= tolerance {
            from = middle;
        }
    }
    Ok(Threshold { from })
}

/// Learns y = [x = w] over numbers of `bits` bits to error α: the share of label 1, and where that is not small each
/// bit of w; `bits` + 1 asks. None is the constant 0. Right with probability 1 − β if the tolerance is below α/5;
/// refused if it is not, before anything is asked.
///
/// ```
/// use scumble::quantity::beta;
/// use scumble::learn::asked;
/// use scumble::learn::query::ExactQueries;
/// let rows: Vec<(u64, bool)> = (0..256).map(|x| (x % 16, x % 16 == 9)).collect();
/// assert_eq!(asked::point(&mut ExactQueries::new(&rows), 4, 0.01, beta(0.05)?)?, Some(9));
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn point(
    provider: &mut impl StatisticalQueries<LabelledNumber>,
    bits: u32,
    alpha: f64,
    beta: Beta,
) -> Result<Option<u64>> {
    check(bits)?;
    let tolerance = provider.tolerance(u64::from(bits) + 1, beta)?;
    if !(alpha > 0.0 && alpha < 1.0) || tolerance >= alpha / 5.0 {
        refuse!("the error of a point must be below 1 and above five times the tolerance {tolerance:.4}, not {alpha}");
    }
    let ones = provider.ask(&|(_, label)| indicator(*label))?;
    let mut point = 0;
    for place in 0..bits {
        // Asked whatever the first answer was: how many asks there are is public.
        let with = provider.ask(&|(x, label)| indicator(*label && x >> place & 1 == 1))?;
        point |= u64::from(with > ones / 2.0) << place;
    }
    Ok((ones > alpha - tolerance).then_some(point))
}
