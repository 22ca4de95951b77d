//! Robust halfspaces (Section 6 of \[GKMS\]): labels by randomized response, then the exponential mechanism over a net of halfspaces with a
//! loss that looks at how many coordinates must be flipped to change the prediction.
//!
//! The paper scores the noisy labels directly (Lemma 21), which is private but biased: a point close to the boundary is an error for
//! both labels. We score the debiased loss a·l(ỹ) − b·l(−ỹ), whose expectation is (a − b) times the loss on the true labels.

use super::exponential_choice;
use crate::calibrate::up;
use crate::error::{Error, Result};
use crate::noise::{BitSource, Fraction, bernoulli};
use crate::quantity::Epsilon;

/// A learner of halfspaces over {−1, +1}^d that are right even after a few flipped coordinates.
#[derive(Debug, Clone, PartialEq)]
pub struct Learner {
    /// r₀: errors must survive this many flips to count fully.
    near: u32,
    /// r₁ > r₀: points farther than this from the boundary count nothing.
    far: u32,
    /// Labels are kept with odds a : b.
    odds: (u32, u32),
    feature: Epsilon,
    candidates: Vec<Vec<i32>>,
}

/// A net with more halfspaces is refused.
const LARGEST_NET: usize = 600_000;

impl Learner {
    /// Labels kept with odds `odds.0 : odds.1`, features at `feature` per coordinate, over the candidates (weights of the halfspaces,
    /// which must be public).
    pub fn new(near: u32, far: u32, odds: (u32, u32), feature: Epsilon, candidates: Vec<Vec<i32>>) -> Result<Self> {
        if near >= far {
            return Err(Error::refused(format!("the inner radius {near} must be below the outer radius {far}")));
        }
        if odds.1 == 0 || odds.0 <= odds.1 || odds.0 > 1_000_000 {
            return Err(Error::refused(
                "the odds of keeping a label must be above 1, both numbers between 1 and 1000000",
            ));
        }
        if feature.get() == 0.0 || candidates.is_empty() || candidates.iter().any(|w| w.len() != candidates[0].len()) {
            return Err(Error::refused("halfspaces need an epsilon above 0 and candidates of equal length"));
        }
        Ok(Self { near, far, odds, feature, candidates })
    }

    /// All integer weights with absolute sum `sum` in `dimension` dimensions: every halfspace is within d/(2·sum) of one of them, in
    /// the ℓ₁ sense.
    ///
    /// ```
    /// use scumble::learn::halfspace::Learner;
    /// assert_eq!(Learner::net(3, 3)?.len(), 38);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn net(dimension: usize, sum: u32) -> Result<Vec<Vec<i32>>> {
        fn extend(left: usize, sum: i32, so_far: &mut Vec<i32>, net: &mut Vec<Vec<i32>>) -> bool {
            if net.len() > LARGEST_NET {
                return false;
            }
            if left == 1 {
                for last in if sum == 0 { vec![0] } else { vec![-sum, sum] } {
                    so_far.push(last);
                    net.push(so_far.clone());
                    so_far.pop();
                }
                return true;
            }
            (-sum..=sum).all(|weight| {
                so_far.push(weight);
                let fits = extend(left - 1, sum - weight.abs(), so_far, net);
                so_far.pop();
                fits
            })
        }
        let mut net = Vec::new();
        let sum = i32::try_from(sum).ok().filter(|&sum| sum > 0 && dimension > 0);
        match sum {
            Some(sum) if extend(dimension, sum, &mut Vec::new(), &mut net) => Ok(net),
            _ => Err(Error::refused(format!(
                "a net of halfspaces has 1 to {LARGEST_NET} members here: choose a smaller dimension or a coarser net"
            ))),
        }
    }

    /// ε for a change of one person's label: ln(a/b).
    ///
    /// # Guarantee
    /// The features stay as they are: randomized response, then post-processing.
    pub fn epsilon_label(&self) -> f64 {
        let (a, b) = (f64::from(self.odds.0), f64::from(self.odds.1));
        up(((a - b) / b).ln_1p())
    }

    /// ε for a change of this many coordinates of one person; it stops growing where the person's whole loss has been paid for.
    ///
    /// # Guarantee
    /// For datasets of the same size. A score moves by at most Δ per coordinate, and by at most (a + b)(r₁ − r₀) in all.
    pub fn epsilon_features(&self, coordinates: u32) -> f64 {
        let whole = f64::from(self.odds.0 + self.odds.1) * f64::from(self.far - self.near);
        up(self.feature.get() * f64::from(coordinates).min(whole / self.sensitivity() as f64))
    }

    /// ε for the replacement of a person: all coordinates and the label.
    ///
    /// # Guarantee
    /// As [`Learner::epsilon_features`], composed with [`Learner::epsilon_label`].
    pub fn epsilon_person(&self) -> f64 {
        self.epsilon_features(u32::MAX) + self.epsilon_label()
    }

    /// How far one coordinate of one person moves a score: a, or a + b if already a point on the boundary counts.
    fn sensitivity(&self) -> u32 {
        if self.near >= 1 { self.odds.0 } else { self.odds.0 + self.odds.1 }
    }

    /// Learns a halfspace from points in {−1, +1}^d and labels in {−1, +1}.
    ///
    /// # Guarantee
    /// [`Learner::epsilon_label`], [`Learner::epsilon_features`] and [`Learner::epsilon_person`]; all choices are exact.
    pub fn learn<S: BitSource + ?Sized>(&self, points: &[Vec<i8>], labels: &[i8], bits: &mut S) -> Result<Vec<i32>> {
        let dimension = self.candidates[0].len();
        let is_sign = |value: &i8| *value == 1 || *value == -1;
        if points.len() != labels.len() || !labels.iter().all(is_sign) {
            return Err(Error::refused("halfspaces need one label per point, and labels must be 1 or -1"));
        }
        if let Some(row) = points.iter().position(|x| x.len() != dimension || !x.iter().all(is_sign)) {
            return Err(Error::refused(format!("point {row} must have {dimension} coordinates, each 1 or -1")));
        }
        let keep = Fraction::new(self.odds.0, self.odds.0 + self.odds.1)?;
        let noisy: Vec<i8> =
            labels.iter().map(|&label| if bernoulli::rational(bits, &keep) { label } else { -label }).collect();
        let scores: Vec<i64> = self.candidates.iter().map(|weights| self.score(weights, points, &noisy)).collect();
        let coefficient = Fraction::from_f64(self.feature.get())?.times(&Fraction::new(1u32, 2 * self.sensitivity())?);
        Ok(self.candidates[exponential_choice(&scores, &coefficient, bits)].clone())
    }

    /// −Σ [a·l(w, x, ỹ) − b·l(w, x, −ỹ)].
    fn score(&self, weights: &[i32], points: &[Vec<i8>], labels: &[i8]) -> i64 {
        let loss = |point: &[i8], label: i8| i64::from(self.loss(weights, point, label));
        let (a, b) = (i64::from(self.odds.0), i64::from(self.odds.1));
        let terms = points.iter().zip(labels).map(|(point, &label)| a * loss(point, label) - b * loss(point, -label));
        -terms.sum::<i64>()
    }

    /// clamp(r₁ − flips, 0, r₁ − r₀): 1-Lipschitz in the coordinates.
    fn loss(&self, weights: &[i32], point: &[i8], label: i8) -> u32 {
        let flips = flips_to_err(weights, point, label).unwrap_or(u32::MAX);
        self.far.saturating_sub(flips).min(self.far - self.near)
    }
}

/// How many coordinates must be flipped until the halfspace ⟨w, x⟩ ≥ 0 does not predict `label`; None if no flips suffice.
///
/// ```
/// use scumble::learn::halfspace::flips_to_err;
/// assert_eq!(flips_to_err(&[1, 1, 1], &[1, 1, 1], 1), Some(2));
/// assert_eq!(flips_to_err(&[0, 0, 0], &[1, -1, 1], 1), None);
/// ```
pub fn flips_to_err(weights: &[i32], point: &[i8], label: i8) -> Option<u32> {
    let products = || weights.iter().zip(point).map(|(&weight, &x)| i64::from(weight) * i64::from(x));
    let mut margin: i64 = products().sum();
    let is_wrong = |margin: i64| if label == 1 { margin < 0 } else { margin >= 0 };
    // A flip of a coordinate that speaks for the label moves the margin by twice its weight; the heaviest first.
    let mut helpful: Vec<i64> =
        products().map(|product| product * i64::from(label)).filter(|&product| product > 0).collect();
    helpful.sort_unstable_by(|left, right| right.cmp(left));
    let mut flips = 0;
    for product in helpful {
        if is_wrong(margin) {
            return Some(flips);
        }
        margin -= 2 * product * i64::from(label);
        flips += 1;
    }
    is_wrong(margin).then_some(flips)
}

#[cfg(test)]
mod tests;
