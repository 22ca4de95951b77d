//! How far a released number may be off, from the noises that it is a sum of.

use crate::release::output::BETA;
use crate::release::price::noise::Noise;
use scumble::workload::NORMAL_95;
use std::collections::BTreeMap;

/// A noise's deviation, its excess kurtosis, and how far it gets with probability 2.5%.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoiseLaw {
    pub deviation: f64,
    pub kurtosis: f64,
    pub far: f64,
}

impl NoiseLaw {
    /// Of discrete Laplace noise the kurtosis is 3 + 1/σ², and nobody draws an interval where σ is far below 1.
    pub fn of(noise: &Noise) -> Self {
        let kurtosis = if matches!(noise, Noise::Laplace(..)) { 3.0 } else { 0.0 };
        Self { deviation: noise.standard_deviation(), kurtosis, far: noise.quantile(BETA / 2.0) }
    }
}

/// As [`NORMAL_95`], for 96% and 97%.
pub(crate) const NORMAL_96: f64 = 2.053_748_910_631_823;
pub(crate) const NORMAL_97: f64 = 2.170_090_377_584_56;

/// The second and the fourth cumulant of a sum of independent noises: what each does adds up in squares, and in fourth
/// powers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cumulants {
    second: f64,
    fourth: f64,
}

impl Cumulants {
    pub fn add(&mut self, deviation: f64, kurtosis: f64) {
        let square = deviation * deviation;
        self.second += square;
        self.fourth += kurtosis * square * square;
    }

    pub fn standard_error(self) -> f64 {
        self.second.sqrt()
    }

    /// The half width of a 95% interval, by the expansion of a quantile in cumulants (Cornish and Fisher 1938): for one
    /// Laplace noise 2.17 standard errors, which cover 95.3%, where the 1.96 of a normal law cover 93.7%.
    pub fn half_width(self) -> f64 {
        self.half_width_at(NORMAL_95)
    }

    /// The same of another interval, by the quantile that it has for a normal law.
    pub fn half_width_at(self, normal: f64) -> f64 {
        let kurtosis = if self.second > 0.0 { self.fourth / (self.second * self.second) } else { 0.0 };
        self.standard_error() * (normal + (normal.powi(3) - 3.0 * normal) * kurtosis / 24.0)
    }
}

/// Below this deviation it matters that noise is whole numbers.
pub(crate) const SMALL: f64 = 5.0;

/// From this deviation on it makes no difference any more.
pub(crate) const SMOOTH: f64 = 30.0;

/// The half width of a 95% interval of a sum of noises, each times a factor; `far(place, parts)` is how far a noise
/// gets with probability 5%, divided by `parts`.
///
/// Of one noise that is its quantile. A sum lies on the multiples of what its factors have in common, and a width
/// between two of these covers no more than the one below, as little as 81% for two counts with hardly any noise: it is
/// brought up to the next one.
///
/// Where one factor is much larger than another, the sum lies in heaps around the multiples of the larger one, and an
/// expansion in cumulants does not see them: `n - AVG(n) OVER ()` of 30 counts had 83%. Noises of one law and factor
/// then are together within what they reach with probability 5% divided by the number of such classes.
pub(crate) fn half_width(noises: &[(f64, NoiseLaw)], far: &dyn Fn(usize, usize) -> f64) -> f64 {
    let factors = noises.iter().map(|(factor, _)| factor.abs()).filter(|factor| *factor != 0.0);
    let mut sum = Cumulants::default();
    noises.iter().for_each(|(factor, law)| sum.add(factor * law.deviation, law.kurtosis));
    if factors.clone().count() < 2 {
        let alone = noises.iter().enumerate().filter(|(_, (factor, _))| *factor != 0.0);
        let alone: f64 = alone.map(|(place, (factor, _))| factor.abs() * far(place, 1)).sum();
        // A number with noise has an interval, however small that is.
        return if alone > 0.0 { alone } else { sum.half_width() };
    }
    let (largest, smallest) = (factors.clone().fold(0.0, f64::max), factors.clone().fold(f64::INFINITY, f64::min));
    let (half, step) = (sum.half_width(), in_common(factors));
    let is_coarse = largest * SMALL > sum.standard_error();
    if is_coarse && (step.is_none() || largest > 2.0 * smallest) {
        return by_class(noises, far);
    }
    // What is left of the steps of the largest factor: at most half of one.
    let is_stepped = largest * SMOOTH > sum.standard_error();
    let half = if is_stepped { half + (largest - step.unwrap_or(0.0)) / 2.0 } else { half };
    step.map_or(half, |step| (half / step - 1e-9).ceil() * step)
}

/// A half width that holds whatever the factors are: every class of noises of one law and one factor is within its own
/// part, with probability 5% divided by their number.
fn by_class(noises: &[(f64, NoiseLaw)], far: &dyn Fn(usize, usize) -> f64) -> f64 {
    let mut classes: BTreeMap<[u64; 3], Vec<usize>> = BTreeMap::new();
    for (place, (factor, law)) in noises.iter().enumerate().filter(|(_, (factor, _))| *factor != 0.0) {
        let class = [factor.abs(), law.deviation, law.kurtosis].map(f64::to_bits);
        classes.entry(class).or_default().push(place);
    }
    let parts = classes.len();
    // A normal law is beyond this with at most that probability: exp(-z²/2).
    let normal = (2.0 * (parts as f64 / BETA).ln()).sqrt();
    let widths = classes.values().map(|places| {
        let (factor, law) = noises[places[0]];
        let alone = far(places[0], parts);
        let mut sum = Cumulants::default();
        places.iter().for_each(|_| sum.add(law.deviation, law.kurtosis));
        let together = sum.half_width_at(normal).max(alone).ceil();
        factor.abs() * if places.len() == 1 { alone } else { together }
    });
    widths.sum()
}

/// The largest number that divides all these, if there is one that is not tiny compared with them.
fn in_common(factors: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let largest = factors.clone().fold(0.0, f64::max);
    let step = factors.clone().fold(0.0, |mut one: f64, mut other: f64| {
        while other > 1e-6 * largest {
            (one, other) = (other, one % other);
        }
        one
    });
    let fits = |factor: f64| (factor / step - (factor / step).round()).abs() < 1e-6;
    (step > 1e-4 * largest && factors.clone().all(fits)).then_some(step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use scumble::noise::InsecureSeededSource;
    use scumble::quantity::{Scale, Sigma};

    #[test]
    fn what_factors_have_in_common() {
        let of = |factors: &[f64]| in_common(factors.iter().copied());
        assert_eq!((of(&[1.0, 1.0]), of(&[0.5, 1.5]), of(&[2.0, 3.0])), (Some(1.0), Some(0.5), Some(1.0)));
        assert!(of(&[1.0, 2f64.sqrt()]).is_none());
    }

    fn factors() -> Vec<Vec<f64>> {
        let two = [[1.0, 0.0], [0.05, 0.0], [1.0, 1.0], [1.0, -1.0], [2.0, 3.0], [1.0, 2f64.sqrt()]];
        let unlike = [[1.0, 1.0 / 3.0], [1.0, 0.2], [1.0, 0.1], [1.0, 0.013]];
        // A count less the mean of so many.
        let less_mean = [4, 6, 12, 30].map(|groups| {
            let part = 1.0 / f64::from(groups);
            (0..groups).map(|group| if group == 0 { 1.0 - part } else { -part }).collect::<Vec<f64>>()
        });
        two.iter().chain(&unlike).map(|two| two.to_vec()).chain(less_mean).collect()
    }

    /// Sums of noises of deviations from a tenth to fifty, with factors that have something in common and with others:
    /// 95% hold or more. Of 10,000 fewer than 9,350 would be 6.9 standard deviations.
    #[test]
    fn sums_of_noises_are_covered() {
        let mut bits = InsecureSeededSource::new(9);
        for size in [0.15, 0.25, 0.4, 0.7, 1.0, 1.5, 2.5, 3.6, 5.1, 12.0, 35.0] {
            let laplace = Noise::laplace(Scale::new(size).unwrap());
            let gaussian = Noise::gaussian(Sigma::new(size).unwrap());
            for laws in [[&laplace, &laplace], [&gaussian, &gaussian], [&laplace, &gaussian]] {
                for factors in factors() {
                    let noise = |place: usize| laws[place.min(1)];
                    let all: Vec<(f64, NoiseLaw)> =
                        factors.iter().enumerate().map(|(place, one)| (*one, NoiseLaw::of(noise(place)))).collect();
                    let far = |place: usize, parts: usize| noise(place).quantile(BETA / parts as f64);
                    let half = half_width(&all, &far) + 1e-9;
                    let draws = if factors.len() > 2 { 4_000 } else { 10_000 };
                    let mut draw = || -> f64 {
                        let noises = factors.iter().enumerate();
                        noises.map(|(place, one)| one * noise(place).add_to_wide(0, &mut bits) as f64).sum()
                    };
                    let held = (0..draws).filter(|_| draw().abs() <= half).count();
                    // Of 4,000 fewer than 3,700 would be 7.2 standard deviations.
                    let least = if draws == 4_000 { 3700 } else { 9350 };
                    assert!(held >= least, "{size}, {factors:?}: {held} of {draws} within {half}");
                }
            }
        }
    }

    /// Of counts with hardly any noise the width is what exact enumeration gives: no union where none is needed.
    #[test]
    fn like_factors_keep_their_width() {
        let law = NoiseLaw::of(&Noise::gaussian(Sigma::new(1.0).unwrap()));
        let far = |_: usize, parts: usize| Noise::gaussian(Sigma::new(1.0).unwrap()).quantile(BETA / parts as f64);
        assert_eq!(half_width(&[(1.0, law); 4], &far), 4.0);
        assert_eq!(half_width(&[(0.5, law), (-0.5, law)], &far), 1.5);
    }
}
