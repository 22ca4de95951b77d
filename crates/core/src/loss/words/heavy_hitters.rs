//! `heavy-hitters`: one attribute's path through a tree of lists with discrete Laplace noise.
//!
//! What a test costs, and a path of equal nodes. The theorems and their proof stand with the mechanism
//! (`mechanism::heavy_hitters`), which computes whole trees from the same tests.

use super::{Accounting, owners};
use crate::error::Result;
use crate::event::{Shift, TreePath};
use crate::loss::filter::price::{GroupShift, Price, exact, rational_to_f64, rounded_up_f64};
use crate::loss::law::Law;
use crate::loss::shape::{LossShape, SharedShape};
use crate::quantity::{Scale, Upper};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

mod moments;
pub(crate) use moments::{NeighbourKind, TreeTests};

/// A path with this scale at every node.
pub(super) struct HeavyHittersLoss(pub(super) Scale, pub(super) TreePath);

impl Accounting for HeavyHittersLoss {
    fn law(&self, by: f64) -> Result<Law> {
        let owners = owners("heavy-hitters", by)?;
        Ok(Law::Own(SharedShape(Arc::new(HeavyHittersShape { scale: self.0, path: self.1, owners }))))
    }

    fn covers(&self, by: f64) -> bool {
        by > 1.0
    }

    fn price(&self, shift: &Shift, members: u32) -> Result<Price> {
        let all = GroupShift::owners(shift, members)?.in_all();
        let (path, owners) = (self.1, rational_to_f64(&all));
        let rho = path_rho(self.0, path.clip(), path.rise(), path.levels())?.get() * owners * owners * (1.0 + 1e-15);
        let epsilon = exact(path_epsilon(self.0, path.clip(), path.rise(), path.levels()).get())?;
        Ok(Price::pure(&(epsilon * all), rounded_up_f64(rho)))
    }
}

/// The path of this many owners. The costs of several attributes of one tree may be added up, but pairs must not be
/// convolved: it has none.
#[derive(Debug)]
struct HeavyHittersShape {
    scale: Scale,
    path: TreePath,
    owners: f64,
}

impl LossShape for HeavyHittersShape {
    fn identity(&self) -> Vec<u64> {
        let path = [self.path.clip(), self.path.rise(), self.path.levels()].map(u64::from);
        [&[self.scale.get().to_bits(), self.owners.to_bits()], &path[..]].concat()
    }

    fn pure(&self) -> f64 {
        self.owners * path_epsilon(self.scale, self.path.clip(), self.path.rise(), self.path.levels()).get()
    }

    fn cumulant(&self, order: f64) -> f64 {
        self.concentrated().map_or(f64::INFINITY, |rho| rho * order * (order - 1.0))
    }

    fn concentrated(&self) -> Option<f64> {
        // A checked path has a ρ; if it had not, an infinite one would claim nothing.
        let rho = path_rho(self.scale, self.path.clip(), self.path.rise(), self.path.levels());
        let rho = rho.map_or(f64::INFINITY, Upper::get);
        Some(self.owners * self.owners * rho)
    }
}

/// One node's test: `max(f, threshold − clip) + Z > threshold`, Z ~ discrete Laplace(scale), of the lists of the nodes
/// `below`.
#[derive(Debug, Clone)]
pub(crate) struct NodeTest {
    pub(crate) below: Vec<usize>,
    pub(crate) threshold: i64,
    pub(crate) clip: i64,
    pub(crate) scale: Scale,
}

impl NodeTest {
    fn floor(&self) -> i64 {
        self.threshold - self.clip
    }
}

/// What rounding of f64 may have taken from a computed loss is given back.
const ROUNDING: f64 = 1.0 + 1e-12;

/// ln P\[Z > −u\]: the test passes at a count of u above the threshold; Z is discrete Laplace of this scale.
pub(crate) fn ln_pass_probability(scale: f64, above: i64) -> f64 {
    let rate = 1.0 / scale;
    let decay = (-rate).exp();
    if above <= 0 {
        -(1.0 - above as f64) * rate - decay.ln_1p()
    } else {
        (-(-(above as f64) * rate).exp() / (1.0 + decay)).ln_1p()
    }
}

/// ln P\[Z ≤ −u\]: the test fails.
pub(crate) fn ln_fail_probability(scale: f64, above: i64) -> f64 {
    // Z is symmetric: failing at u is passing at 1 − u.
    ln_pass_probability(scale, 1 - above)
}

/// φ: how much less likely the test passes once a string at `above` over the threshold has lost a person.
pub(crate) fn inclusion_loss(scale: f64, clip: i64, above: i64) -> f64 {
    let rate = 1.0 / scale;
    if above <= -clip {
        0.0
    } else if above <= 1 {
        rate
    } else {
        let decay = (-rate).exp();
        let tail = (-(above as f64 - 1.0) * rate).exp();
        (tail * -f64::exp_m1(-rate) / (1.0 + decay - tail)).ln_1p()
    }
}

/// The loss of one attribute with `levels` nodes above it, all of one scale and clip, each threshold `rise` above the
/// one below: 2/λ + Σ_{i=1}^{H−1} φ(1 − κ + iμ).
///
/// # Guarantee
/// An upper bound on the pure ε of changing that attribute of one person, lists and root counts released; attained for
/// large n.
///
/// ```
/// use scumble::mechanism::heavy_hitters::path_epsilon;
/// use scumble::quantity::Scale;
/// let loss = path_epsilon(Scale::new(3.0)?, 15, 15, 7);
/// assert!((loss.get() - 1.0011240172119986).abs() < 1e-10);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn path_epsilon(scale: Scale, clip: u32, rise: u32, levels: u32) -> Upper {
    let (clip, rise) = (i64::from(clip), i64::from(rise));
    let mut loss = 2.0 / scale.get();
    for level in 1..i64::from(levels) {
        let term = inclusion_loss(scale.get(), clip, 1 - clip + level * rise);
        loss += term;
        // Every later term is smaller still: once they cannot add a last bit, they are covered by the rounding slack.
        if term * f64::from(levels) < loss * 1e-14 {
            break;
        }
    }
    Upper::of(loss * ROUNDING)
}

/// ρ of one attribute with `levels` nodes above it, all of one scale and clip, each threshold at least `rise` above the
/// one below.
///
/// # Guarantee
/// An upper bound as [`crate::mechanism::heavy_hitters::Tree::rho`], by composition over the nodes and by nothing else;
/// therefore the sum over several attributes bounds ρ of changing all of them (each node's term is non-negative, and
/// counts that do not grow upwards in the tree do not on each path).
///
/// ```
/// use scumble::mechanism::heavy_hitters::path_rho;
/// use scumble::quantity::Scale;
/// assert!((path_rho(Scale::new(3.0)?, 15, 15, 7)?.get() - 0.1114).abs() < 0.0005);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn path_rho(scale: Scale, clip: u32, rise: u32, levels: u32) -> Result<Upper> {
    TreePath::new(clip, rise, levels)?;
    // A ledger asks for the same path in every scope, and for the paths of many attributes, which are mostly the same.
    let key = (scale.get().to_bits(), clip, rise, levels);
    if let Some(known) = KNOWN_PATHS.with_borrow(|paths| paths.get(&key).copied()) {
        return Ok(Upper::of(known));
    }
    let test = |level: u32| NodeTest {
        below: level.checked_sub(1).map(|below| below as usize).into_iter().collect(),
        threshold: i64::from(level) * i64::from(rise),
        clip: i64::from(clip),
        scale,
    };
    let rho = TreeTests((0..levels).map(test).collect()).composed_rho(&vec![true; levels as usize]);
    KNOWN_PATHS.with_borrow_mut(|paths| {
        if paths.len() >= MOST_KNOWN_PATHS {
            paths.clear();
        }
        paths.insert(key, rho)
    });
    Ok(Upper::of(rho))
}

thread_local! {
    static KNOWN_PATHS: RefCell<HashMap<(u64, u32, u32, u32), f64>> = RefCell::new(HashMap::new());
}

/// More are forgotten: nobody looks at this many at once.
const MOST_KNOWN_PATHS: usize = 4096;
