//! How far a released number may be off, from the noises that it is a sum of.

use crate::release::output::BETA;
use crate::release::price::noise::Noise;
use scumble::workload::NORMAL_95;

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

/// The half width of a 95% interval of a sum of noises, each times a factor; `far` is how far each gets with
/// probability 5%, divided by their number.
///
/// Of one noise that is its quantile. A sum lies on the multiples of what its factors have in common, and a width
/// between two of these covers no more than the one below, as little as 81% for two counts with hardly any noise: it is
/// brought up to the next one. Where the factors have nothing in common and some noise is small, all noises together
/// are within what each is.
pub(crate) fn half_width(noises: &[(f64, NoiseLaw)], far: &[f64]) -> f64 {
    let all: f64 = noises.iter().zip(far).map(|((factor, _), far)| factor.abs() * far).sum();
    let mut sum = Cumulants::default();
    noises.iter().for_each(|(factor, law)| sum.add(factor * law.deviation, law.kurtosis));
    if noises.iter().filter(|(factor, _)| *factor != 0.0).count() < 2 {
        // A number with noise has an interval, however small that is.
        return if all > 0.0 { all } else { sum.half_width() };
    }
    let (half, is_small) = (sum.half_width(), noises.iter().any(|(_, law)| law.deviation < SMALL));
    match in_common(noises.iter().map(|(factor, _)| factor.abs())) {
        Some(step) => (half / step - 1e-9).ceil() * step,
        None if is_small => all,
        None => half,
    }
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

    /// Sums of noises of deviations from a tenth to seven, with factors that have something in common and with others:
    /// 95% hold or more. Of 10,000 fewer than 9,350 would be 6.9 standard deviations.
    #[test]
    fn sums_of_small_noises_are_covered() {
        let mut bits = InsecureSeededSource::new(9);
        for size in [0.15, 0.25, 0.4, 0.7, 1.0, 1.5, 2.5, 5.0] {
            let laplace = Noise::laplace(Scale::new(size).unwrap());
            let gaussian = Noise::gaussian(Sigma::new(size).unwrap());
            for noises in [[&laplace, &laplace], [&gaussian, &gaussian], [&laplace, &gaussian]] {
                for factors in [[1.0, 0.0], [0.05, 0.0], [1.0, 1.0], [1.0, -1.0], [2.0, 3.0], [1.0, 2f64.sqrt()]] {
                    let few = if factors[1] == 0.0 { 1.0 } else { 2.0 };
                    let far: Vec<f64> = noises.iter().map(|noise| noise.quantile(0.05 / few)).collect();
                    let laws: Vec<(f64, NoiseLaw)> =
                        factors.iter().zip(noises).map(|(one, noise)| (*one, NoiseLaw::of(noise))).collect();
                    let half = half_width(&laws, &far) + 1e-9;
                    let mut draw = || -> f64 {
                        factors
                            .iter()
                            .zip(noises)
                            .map(|(one, noise)| one * noise.add_to_wide(0, &mut bits) as f64)
                            .sum()
                    };
                    let held = (0..10_000).filter(|_| draw().abs() <= half).count();
                    assert!(held >= 9350, "{size}, {factors:?}: {held} within {half}");
                }
            }
        }
    }
}
