//! What no private count or histogram can beat.
//!
//! The bounds are about every table, of any size: a mechanism may do better on the tables that it likes, not on all.
//! They follow from one thought. Let M answer counts k = 0, 1, 2, … and let Z be its error M(k) − k for a k drawn
//! uniformly below a large number. Moving every k up by one changes one owner, so Z and Z + 1 are as hard to tell apart
//! as neighbours are; and the largest error of M is at least that of Z. What remains is how concentrated such a Z can
//! be.

use scumble::error::Result;
use scumble::quantity::{Delta, Epsilon, Rho};

/// Rounding goes down: these are lower bounds.
const DOWNWARD: f64 = 1.0 - 1e-9;

/// A lower bound of the standard error (root of the mean square) that an (ε, δ)-private count can promise for every
/// table, where one owner moves the count by 1. It is about all answers, whole numbers or not, so that it may be
/// multiplied: where an owner moves the count by m, an answer divided by m is one of these.
///
/// Let α = e^{−ε}, U(t) = P\[|Z| ≥ t\] for t > 0, F(t) = P\[Z ≥ t\] and G(t) = P\[Z ≤ −t\]. Privacy says
/// F(t) ≥ α(F(t−1) − δ), and the same of G. Summed up, U(t+1) ≥ α(U(t) − 2δ). For t in (0, 1), F(t−1) ≥ 1 − G(1−t), so
/// that U(t) + αU(1−t) ≥ A = 2α(1 − δ). What remains is the least E Z² = ∫2t·U(t)dt: for each t in (0, ½) the least
/// over u = U(t) ≥ v = U(1−t) of Σ_k 2(t+k)·h_k(u) + 2(1−t+k)·h_k(v), where h₀(u) = u, h_{k+1} = max(0, α(h_k − 2δ))
/// and v ≥ A − αu (which, for u ≥ v, implies u + αv ≥ A and u ≥ A/(1+α)). That is convex in u, and its least value is a
/// concave function of t, being the least of linear ones: the trapezoidal rule is below its integral.
///
/// At δ = 0 all of them are least at u = v, and E Z² ≥ 2α/(1 − α)² = 1/(2·sinh²(ε/2)), the variance of discrete Laplace
/// noise: nobody beats it (Ghosh, Roughgarden, Sundararajan 2009 and Gupte, Sundararajan 2010 show more). With δ > 0
/// errors that are not whole help: at (0, ¼), uniform noise on ±½, ±1½ has 5/4, the least for all answers, where whole
/// numbers have 3/2.
///
/// ```
/// use scumble_adversary::limits::count::standard_error_lower;
/// use scumble::quantity::{Delta, Epsilon};
/// let bound = standard_error_lower(Epsilon::new(0.5)?, Delta::new(0.0)?);
/// assert!((bound - 1.0 / (2f64.sqrt() * 0.25f64.sinh())).abs() < 1e-6);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn standard_error_lower(epsilon: Epsilon, delta: Delta) -> f64 {
    let (epsilon, delta) = (epsilon.get(), delta.get());
    if delta == 0.0 {
        return DOWNWARD / (std::f64::consts::SQRT_2 * libm::sinh(epsilon / 2.0));
    }
    let tails = ErrorTails::new(epsilon, delta);
    let at = |node: u32| tails.least(f64::from(node) / f64::from(2 * NODES));
    let inner: f64 = (1..NODES).map(at).sum();
    let square = ((at(0) + at(NODES)) / 2.0 + inner) / f64::from(2 * NODES);
    DOWNWARD * libm::sqrt(square)
}

/// Into how many parts (0, ½) is cut.
const NODES: u32 = 16;
/// So many steps of a tail are looked at one by one; of longer tails, several at once.
const TAIL_STEPS: f64 = 2000.0;

/// The tails of an error whose law is (ε, δ)-close to itself moved by 1: how they fall at the fastest.
struct ErrorTails {
    alpha: f64,
    /// A.
    together: f64,
    /// So many steps at once; the last and lowest stands for all of them.
    stride: f64,
    strides: u32,
    /// h_{k+stride} = max(0, kept·h_k − lost).
    kept: f64,
    lost: f64,
}

impl ErrorTails {
    fn new(epsilon: f64, delta: f64) -> Self {
        let alpha = libm::exp(-epsilon);
        // A tail that begins at 1 has ended after these steps, or is so small that leaving it out makes no difference;
        // leaving it out is allowed.
        let length = match epsilon {
            0.0 => 0.5 / delta,
            _ => (libm::log1p(libm::expm1(epsilon) / (2.0 * delta)) / epsilon).min(40.0 / epsilon),
        };
        let stride = libm::ceil(length / TAIL_STEPS).max(1.0);
        // α + α² + … of a stride.
        let passed = match epsilon {
            0.0 => stride,
            _ => alpha * libm::expm1(-stride * epsilon) / libm::expm1(-epsilon),
        };
        Self {
            alpha,
            together: 2.0 * alpha * (1.0 - delta),
            stride,
            strides: libm::ceil(length / stride).min(2.0 * TAIL_STEPS) as u32,
            kept: libm::exp(-stride * epsilon),
            lost: 2.0 * delta * passed,
        }
    }

    /// Σ_k 2(t+k)·h_k(u) from below, and a subgradient of that in u.
    fn weighed(&self, t: f64, u: f64) -> (f64, f64) {
        let (mut value, mut slope) = (2.0 * t * u, 2.0 * t);
        let (mut height, mut kept, mut before) = (u, 1.0, 0.0);
        for _ in 0..self.strides {
            (height, kept) = (self.kept * height - self.lost, kept * self.kept);
            if height <= 0.0 {
                break;
            }
            // Of the steps before + 1, …, before + stride.
            let weight = self.stride * (2.0 * (t + before) + self.stride + 1.0);
            value += weight * height;
            slope += weight * kept;
            before += self.stride;
        }
        (value, slope)
    }

    /// The sum for both tails at u, and a subgradient.
    fn both(&self, t: f64, u: f64) -> (f64, f64) {
        let (value, slope) = self.weighed(t, u);
        let other = self.together - self.alpha * u;
        if other <= 0.0 {
            return (value, slope);
        }
        let (more, steeper) = self.weighed(1.0 - t, other);
        (value + more, slope - self.alpha * steeper)
    }

    /// A lower bound of the least sum at t: the line that touches it left of its lowest point, at the end of a short
    /// interval around that.
    fn least(&self, t: f64) -> f64 {
        let (mut left, mut right) = (self.together / (1.0 + self.alpha), 1.0);
        let (value, slope) = self.both(t, left);
        if slope >= 0.0 {
            return value;
        }
        for _ in 0..50 {
            let middle = (left + right) / 2.0;
            if self.both(t, middle).1 < 0.0 { left = middle } else { right = middle }
        }
        let (value, slope) = self.both(t, left);
        (value + slope * (right - left)).max(0.0)
    }
}

/// The same for ρ-zCDP: 1/√(e^{2ρ} − 1), about 1/√(2ρ), the σ of Gaussian noise.
///
/// Chapman and Robbins: Var Z ≥ 1/χ²(Z + 1 ‖ Z), and χ² = e^{D₂} − 1 ≤ e^{2ρ} − 1; χ² is jointly convex, so that
/// averaging over k keeps it.
///
/// ```
/// use scumble_adversary::limits::count::concentrated_standard_error_lower;
/// use scumble::quantity::Rho;
/// assert!((concentrated_standard_error_lower(Rho::new(0.005)?) - 9.975).abs() < 1e-3);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn concentrated_standard_error_lower(rho: Rho) -> f64 {
    DOWNWARD / libm::sqrt(libm::expm1(2.0 * rho.get()))
}

/// A lower bound of the largest error among `cells` cells of an ε-private histogram, where ε is for replacing one
/// owner: on some table, with probability at least ½, some cell is off by at least this.
///
/// Packing: with n owners, all in one cell, an answer that is off by less than n/2 everywhere names the cell. If that
/// happens with probability above ½ for each of the K cells, then 1 ≥ Σ_j
/// P\[j is named | all in cell 1\] > K·½·e^{−nε}, so n > ln(K/2)/ε.
///
/// ```
/// use scumble_adversary::limits::count::histogram_error_lower;
/// use scumble::quantity::Epsilon;
/// // ln(500)/0.5 = 12.4: with 12 owners it cannot be done.
/// assert_eq!(histogram_error_lower(Epsilon::new(0.5)?, 1000)?, 6.0);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn histogram_error_lower(epsilon: Epsilon, cells: u64) -> Result<f64> {
    refuse_if!(epsilon.get() == 0.0, "the limit of a histogram needs epsilon above 0");
    let owners = libm::log(cells.max(2) as f64 / 2.0) / epsilon.get() * DOWNWARD;
    Ok(libm::floor(owners) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).unwrap()
    }

    fn delta(value: f64) -> Delta {
        Delta::new(value).unwrap()
    }

    /// Discrete Laplace noise attains the bound, so it is no larger than the truth.
    #[test]
    fn discrete_laplace_noise_attains_the_bound() {
        for at in [0.01, 0.1, 0.5, 1.0, 3.0] {
            let q = f64::exp(-at);
            let variance: f64 =
                (1..20_000).map(|z| 2.0 * f64::from(z).powi(2) * q.powi(z) * (1.0 - q) / (1.0 + q)).sum();
            let bound = standard_error_lower(epsilon(at), delta(0.0));
            assert!(bound <= variance.sqrt() && bound > variance.sqrt() * (1.0 - 1e-6), "{at}: {bound} {variance}");
        }
    }

    /// A floor was proven for whole errors and then multiplied by what an owner moves: at (0, ¼), moved 2, it said
    /// 2.45, and noise of −3, −1, 1 or 3 has 2.24. All laws with masses that are multiples of 1/8 on nine points, half
    /// or a third or a fourth of a unit apart, with their exact δ.
    #[test]
    fn no_law_on_a_fine_grid_beats_the_bound() {
        fn laws(left: u32, points: usize, law: &mut Vec<u32>, visit: &mut impl FnMut(&[u32])) {
            if points == 1 {
                law.push(left);
                visit(law);
                law.pop();
                return;
            }
            for mass in 0..=left {
                law.push(mass);
                laws(left - mass, points - 1, law, visit);
                law.pop();
            }
        }
        // The most that one of the two laws has above e^ε times the other: δ.
        let beyond = |law: &[u32], unit: usize, grown: f64| {
            let mass = |place: isize| {
                usize::try_from(place).ok().and_then(|place| law.get(place)).map_or(0.0, |mass| f64::from(*mass) / 8.0)
            };
            let places = -(unit as isize)..(law.len() + unit) as isize;
            let excess =
                |by: isize| places.clone().map(|place| (mass(place + by) - grown * mass(place)).max(0.0)).sum::<f64>();
            excess(unit as isize).max(excess(-(unit as isize)))
        };
        let mut closest = f64::INFINITY;
        for grown in [1.0f64, 2.0] {
            // Few δ occur.
            let mut known: std::collections::BTreeMap<u64, f64> = std::collections::BTreeMap::new();
            for unit in [1usize, 2, 3, 4] {
                laws(8, 9, &mut Vec::new(), &mut |law| {
                    let found = beyond(law, unit, grown).min(1.0);
                    let bound = *known
                        .entry(found.to_bits())
                        .or_insert_with(|| standard_error_lower(epsilon(grown.ln()), delta(found)));
                    for shift in [0.0, 0.5] {
                        let square = law.iter().enumerate().map(|(place, mass)| {
                            let error = (place as f64 - 4.0 + shift) / unit as f64;
                            f64::from(*mass) / 8.0 * error * error
                        });
                        let error = square.sum::<f64>().sqrt();
                        assert!(
                            bound <= error + 1e-9,
                            "{law:?} unit {unit}, e^ε = {grown}: δ = {found}, {bound} > {error}"
                        );
                        if bound > 0.0 {
                            closest = closest.min(error / bound);
                        }
                    }
                });
            }
        }
        assert!(closest < 1.0 + 1e-6, "no law comes near: {closest}");
        let attained = standard_error_lower(epsilon(0.0), delta(0.25));
        assert!((attained - 1.25f64.sqrt()).abs() < 1e-6, "{attained}");
    }

    /// Discrete Laplace noise with δ on top of it, and noise cut off where δ allows it, at scales where the tails are
    /// computed in strides.
    #[test]
    fn long_tails_stay_below_noise_that_is_private() {
        for (at, slips) in [(1e-3, 1e-6), (1e-4, 1e-9), (1e-7, 1e-12), (0.0, 1e-6), (1e-3, 0.1)] {
            let bound = standard_error_lower(epsilon(at), delta(slips));
            let pure = standard_error_lower(epsilon(at), delta(0.0));
            // Uniform noise on 1/δ whole numbers is (0, δ)-private.
            let uniform = (1.0 / slips) / 12f64.sqrt();
            assert!(bound <= pure && bound <= uniform, "{at} {slips}: {bound} {pure} {uniform}");
            assert!(bound > 0.95 * pure.min(uniform) || slips > 1e-2 * at, "{at} {slips}: {bound} {pure} {uniform}");
        }
    }

    #[test]
    fn a_small_delta_changes_little_and_a_large_one_much() {
        let pure = standard_error_lower(epsilon(0.5), delta(0.0));
        let nearly = standard_error_lower(epsilon(0.5), delta(1e-12));
        assert!(nearly <= pure && nearly > 0.999_99 * pure, "{nearly} {pure}");
        // With δ = 1 everything is allowed, the truth as well.
        assert_eq!(standard_error_lower(epsilon(0.5), delta(1.0)), 0.0);
    }

    /// A small enough Gaussian is known exactly: its own ρ gives a bound just below its σ.
    #[test]
    fn gaussian_noise_is_nearly_optimal_for_zcdp() {
        for sigma in [5.0f64, 20.0, 100.0] {
            let bound = concentrated_standard_error_lower(Rho::new(1.0 / (2.0 * sigma * sigma)).unwrap());
            assert!(bound < sigma && bound > 0.98 * sigma, "{sigma} {bound}");
        }
    }

    proptest! {
        /// Every law on the integers whose neighbouring masses differ by at most a factor e^ε (and on a shifted grid)
        /// is at least as wide.
        #[test]
        fn no_law_with_bounded_ratios_is_narrower(
            at in 0.05f64..2.0,
            ratios in proptest::collection::vec(-1.0f64..=1.0, 60),
            shift in -0.5f64..=0.5,
        ) {
            // Log-masses by steps of at most ε; beyond the list they fall as fast as they may.
            let mut log_mass = vec![0.0f64];
            for ratio in &ratios {
                log_mass.push(log_mass.last().unwrap() + ratio * at);
            }
            let middle = log_mass.len() as f64 / 2.0;
            let tails = 2000;
            let first = log_mass[0];
            let last = *log_mass.last().unwrap();
            let left = (1..=tails).map(|step| (-f64::from(step), first - f64::from(step) * at));
            let right = (1..=tails).map(|step| (f64::from(step) + ratios.len() as f64, last - f64::from(step) * at));
            let inner = log_mass.iter().enumerate().map(|(place, mass)| (place as f64, *mass));
            let points: Vec<(f64, f64)> = left.chain(inner).chain(right).collect();
            let top = points.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = points.iter().map(|point| (point.1 - top).exp()).sum();
            let square = |(place, mass): &(f64, f64)| (place - middle.floor() + shift).powi(2) * (mass - top).exp() / total;
            let square: f64 = points.iter().map(square).sum();
            prop_assert!(square.sqrt() >= standard_error_lower(epsilon(at), delta(0.0)) * (1.0 - 1e-6));
        }
    }

    /// The packing bound against noise that is private: Laplace noise of scale 2/ε on every cell stays above it.
    #[test]
    fn no_laplace_histogram_beats_the_packing_bound() {
        for (at, cells) in [(0.1, 10u64), (0.5, 1000), (2.0, 1_000_000)] {
            // With probability ½, the largest of K noises is at least about (2/ε)·ln(K/(2 ln 2)).
            let typical = 2.0 / at * (cells as f64 / (2.0 * 2f64.ln())).ln();
            let bound = histogram_error_lower(epsilon(at), cells).unwrap();
            assert!(bound <= typical, "{bound} {typical}");
        }
        assert_eq!(histogram_error_lower(epsilon(1.0), 1).unwrap(), 0.0);
        assert!(histogram_error_lower(epsilon(0.0), 5).is_err());
    }
}
