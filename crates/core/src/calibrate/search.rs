//! The searches: on f64 one by one, by halving, and by false position on an accountant's answers.

use crate::error::{Error, Result};

/// What at most a few thousand operations on f64 may have taken from a computed cost, relatively, is given back.
const SLACK: f64 = 1e-12;

/// A cost that was computed in f64 by at most a few thousand operations, all of one sign, from above.
///
/// ```
/// use scumble::calibrate::up;
/// assert!(up(0.1 + 0.2) > 0.3 && up(0.3) < 0.3000000000004);
/// assert_eq!(up(0.0), 0.0);
/// ```
pub fn up(cost: f64) -> f64 {
    cost * (1.0 + SLACK)
}

/// What may be spent, so that a cost of that size is still within after [`up`].
///
/// ```
/// use scumble::calibrate::{down, up};
/// assert!(up(down(0.3)) <= 0.3 && down(0.3) > 0.2999999999995);
/// ```
pub fn down(limit: f64) -> f64 {
    limit * (1.0 - 1.01 * SLACK)
}

/// The least positive f64 that is `enough`, for a property that stays true once it is true; infinite if no f64 is.
/// `near` is where to look first: a good guess costs a handful of trials.
///
/// ```
/// use scumble::calibrate::least;
/// assert_eq!(least(1.4, |x| x * x >= 2.0), 2f64.sqrt());
/// assert_eq!(least(1.0, |_| false), f64::INFINITY);
/// ```
pub fn least(near: f64, enough: impl Fn(f64) -> bool) -> f64 {
    let largest = f64::MAX.to_bits();
    let enough = |bits: u64| enough(f64::from_bits(bits));
    // Positive f64 are in the order of their bits. `fails` is 0 or was tried; `holds` is beyond the last f64 or was
    // tried.
    let (mut fails, mut holds) = (0u64, largest + 1);
    let (mut stride, start) = (1u64, near.clamp(f64::from_bits(1), f64::MAX).to_bits());
    if enough(start) {
        holds = start;
        while fails == 0 && holds > 1 {
            let next = holds.saturating_sub(stride).max(1);
            if enough(next) {
                holds = next
            } else {
                fails = next
            }
            stride = stride.saturating_mul(2);
        }
    } else {
        fails = start;
        while holds > largest && fails < largest {
            let next = fails.saturating_add(stride).min(largest);
            if enough(next) {
                holds = next
            } else {
                fails = next
            }
            stride = stride.saturating_mul(2);
        }
    }
    while holds - fails > 1 {
        let middle = fails + (holds - fails) / 2;
        if enough(middle) { holds = middle } else { fails = middle }
    }
    if holds > largest { f64::INFINITY } else { f64::from_bits(holds) }
}

/// The largest f64 that still `holds`, for a property that stays false once it is false; 0 if it is false for every
/// positive f64.
///
/// ```
/// use scumble::calibrate::largest;
/// assert_eq!(largest(0.3, |x| 10.0 * x <= 3.0), 0.3);
/// assert_eq!(largest(1.0, |_| false), 0.0);
/// ```
pub fn largest(near: f64, holds: impl Fn(f64) -> bool) -> f64 {
    match least(near, |value| !holds(value)) {
        f64::INFINITY => f64::MAX,
        fails => fails.next_down(),
    }
}

/// When halving ends: after this many steps, or when the ends are this close, relatively.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopRule {
    /// The most steps.
    pub steps: u32,
    /// The relative distance that is close enough.
    pub relative: f64,
}

impl StopRule {
    /// After this many steps.
    pub fn after(steps: u32) -> Self {
        Self { steps, relative: 0.0 }
    }

    /// When the ends are this close, relatively.
    pub fn within(relative: f64) -> Self {
        Self { steps: 1100, relative }
    }
}

/// Halves the way between a value that holds and one that does not; what is returned has been tried and held, the last
/// of these and what was made of it. None if nothing that was tried held.
///
/// ```
/// use scumble::calibrate::{StopRule, halve};
/// let square = |x: f64| Ok::<_, scumble::Error>((x * x <= 2.0).then_some(()));
/// let (root, ()) = halve(0.0, 2.0, StopRule::within(1e-9), square)?.expect("1 was tried");
/// assert!(root * root <= 2.0 && root > 1.414213561);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn halve<T, E>(
    holds: f64,
    fails: f64,
    stop: StopRule,
    mut attempt: impl FnMut(f64) -> std::result::Result<Option<T>, E>,
) -> std::result::Result<Option<(f64, T)>, E> {
    let (mut holds, mut fails, mut best) = (holds, fails, None);
    for _ in 0..stop.steps {
        if (holds - fails).abs() <= stop.relative * holds.abs().max(fails.abs()) {
            break;
        }
        let middle = f64::midpoint(holds, fails);
        match attempt(middle)? {
            Some(found) => (holds, best) = (middle, Some((middle, found))),
            None => fails = middle,
        }
    }
    Ok(best)
}

/// By how much ln ε exceeds the target's; at most 0 where the target is met.
pub(super) struct Excess(pub(super) f64);

pub(super) fn impossible() -> Error {
    Error::refused("no value of the free parameter meets the target: raise epsilon or delta, or lower the sensitivity")
}

/// How close, relatively, the parameter or the ε must be.
const PRECISION: f64 = 1e-6;

/// The value nearest to `ends.0` (least private) that meets the target; `ends.1` is the most private end.
///
/// A false-position search in ln(value), where ln ε is nearly straight; the side that stays is halved (Illinois), so
/// that the bracket closes. What is returned has been tried and holds.
pub(super) fn search(start: f64, ends: (f64, f64), excess: impl Fn(f64) -> Result<Excess>) -> Result<f64> {
    let toward_private = (ends.1 / ends.0).ln().signum();
    let clamp = |x: f64| x.clamp(ends.0.min(ends.1).ln(), ends.0.max(ends.1).ln());
    let at = |x: f64| excess(x.exp()).map(|found| found.0);
    let mut x = clamp(start.ln());
    let mut value = at(x)?;
    let mut stride = 1.4;
    // Walk until the sign changes.
    let (mut safe, mut unsafe_) = loop {
        let direction = if value > 0.0 { toward_private } else { -toward_private };
        let next = clamp(x + direction * stride);
        if next == x {
            return if value > 0.0 { Err(impossible()) } else { Ok(x.exp()) };
        }
        let found = at(next)?;
        if (found > 0.0) != (value > 0.0) {
            break if value > 0.0 { ((next, found), (x, value)) } else { ((x, value), (next, found)) };
        }
        (x, value) = (next, found);
        stride *= 2.0;
    };
    let mut kept = 0i32;
    let (mut safe_weight, mut unsafe_weight) = (safe.1, unsafe_.1);
    for round in 0..200 {
        if (safe.0 - unsafe_.0).abs() < PRECISION || safe.1 > -PRECISION {
            break;
        }
        let finite = safe_weight.is_finite() && unsafe_weight.is_finite() && round % 4 != 3;
        let share = if finite { safe_weight / (safe_weight - unsafe_weight) } else { 0.5 };
        // Aim a little to the safe side, so that the last step is likely to hold.
        let next = safe.0 + (unsafe_.0 - safe.0) * share.clamp(0.001, 0.999) + toward_private * 0.2 * PRECISION;
        let found = at(next)?;
        if found > 0.0 {
            unsafe_ = (next, found);
            unsafe_weight = found;
            kept = kept.min(0) - 1;
            if kept < -1 {
                safe_weight *= 0.5;
            }
        } else {
            safe = (next, found);
            safe_weight = found;
            kept = kept.max(0) + 1;
            if kept > 1 {
                unsafe_weight *= 0.5;
            }
        }
    }
    Ok(safe.0.exp())
}
