//! A number that is published because it is large enough: the noisy number of owners of a key that is not public.
//!
//! Of a key that few own and that is shown by chance the number is too large, by more than an interval of the noise
//! allows. So the interval is that of the noise *given* that the key is shown: n is in it unless
//! P\[n + Z ≥ x | n + Z ≥ τ\] < 2.5%, for the published x and the threshold τ (the inversion of the truncated law, as
//! after any selection: Lee, Sun, Sun and Taylor 2016, §5). Above, the interval of the noise holds as it is: who passes
//! is larger, never smaller, so that P\[n + Z ≤ x | n + Z ≥ τ\] ≤ P\[n + Z ≤ x\].
//!
//! The law is log-concave, so that the first probability grows with n, and the least n is found by halving. No key is
//! there without an owner: n ≥ 1.

use crate::release::price::noise::Noise;
use std::cell::RefCell;

/// What a number of owners that passed a threshold says.
#[derive(Debug, Clone)]
pub(crate) struct ThresholdEvidence {
    noise: Noise,
    /// The threshold.
    least: f64,
    /// How far noise is ever drawn.
    far: f64,
    /// The noise's law is known at multiples of this.
    step: f64,
    /// ln P\[noise ≥ (i + first)·step\], up to a constant.
    tails: Vec<f64>,
    first: i64,
    /// How far the noise gets with a probability: few are asked for, for every row, and finding one adds up the law.
    quantiles: RefCell<Vec<(f64, f64)>>,
}

/// A noise is drawn beyond this so seldom that nobody sees it.
const NEVER: f64 = 1e-9;

/// A law is known at this many places for each of its deviations.
const PLACES: f64 = 2000.0;

impl ThresholdEvidence {
    /// `None` for a noise whose law is not known here.
    pub fn new(noise: &Noise, least: i64) -> Option<Self> {
        let (least, far) = (least as f64, noise.quantile(NEVER) + 1.0);
        let step = (noise.standard_deviation() / PLACES).floor().max(1.0);
        let log_weight: Box<dyn Fn(f64) -> f64> = match noise {
            Noise::Laplace(noise) => {
                let scale = noise.scale().get();
                Box::new(move |z: f64| -z.abs() / scale)
            }
            Noise::Gaussian(noise) => {
                let sigma = noise.sigma().get();
                Box::new(move |z: f64| -z * z / (2.0 * sigma * sigma))
            }
            _ => return None,
        };
        let (first, last) = ((-far / step).floor() as i64, ((least + 2.0 * far) / step).ceil() as i64 + 1);
        let weight = |place: i64| log_weight(place as f64 * step);
        // Beyond the last place weights fall at least as fast as from it to the next.
        let falls = weight(last + 1) - weight(last);
        let mut above = weight(last) - (-falls.exp_m1()).ln();
        let mut tails = vec![above];
        for place in (first..last).rev() {
            let own = weight(place);
            above = own.max(above) + (-(own - above).abs()).exp().ln_1p();
            tails.push(above);
        }
        tails.reverse();
        Some(Self { noise: noise.clone(), least, far, step, tails, first, quantiles: RefCell::default() })
    }

    /// ln P\[noise ≥ z\], up to a constant.
    fn tail(&self, z: f64) -> f64 {
        let place = (z / self.step).floor() as i64 - self.first;
        self.tails[(place.max(0) as usize).min(self.tails.len() - 1)]
    }

    fn quantile(&self, beta: f64) -> f64 {
        let mut known = self.quantiles.borrow_mut();
        if let Some((_, quantile)) = known.iter().find(|(other, _)| *other == beta) {
            return *quantile;
        }
        let quantile = self.noise.quantile(beta);
        known.push((beta, quantile));
        quantile
    }

    /// The lower end of an interval around a published number that misses with probability β: below it with β/2.
    pub fn low_at(&self, number: f64, beta: f64) -> f64 {
        let plain = number - self.quantile(beta);
        // From here on nobody is there by luck.
        if number >= self.least + 2.0 * self.far {
            return plain;
        }
        let luck = (beta / 2.0).ln();
        let is_likely = |owners: f64| self.tail(number - owners) - self.tail(self.least - owners) >= luck;
        let (mut below, mut within) = (0.0, number.max(1.0));
        while within - below > 1.0 {
            let middle = ((below + within) / 2.0).floor();
            if is_likely(middle) {
                within = middle;
            } else {
                below = middle;
            }
        }
        // Between two places of the law nothing is known.
        (within - self.step + 1.0).min(plain).max(1.0)
    }

    /// By how much further down than that of the noise the interval reaches.
    pub fn beyond_at(&self, number: f64, beta: f64) -> f64 {
        (number - self.quantile(beta) - self.low_at(number, beta)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::output::BETA;
    use scumble::quantity::{Scale, Sigma};

    /// P\[noise = z\], for z from −reach on.
    fn law(noise: &Noise) -> (i64, Vec<f64>) {
        let reach = noise.quantile(1e-13) as i64 + 2;
        let weight = |z: i64| match noise {
            Noise::Laplace(noise) => (-(z.abs() as f64) / noise.scale().get()).exp(),
            Noise::Gaussian(noise) => (-((z * z) as f64) / (2.0 * noise.sigma().get().powi(2))).exp(),
            _ => unreachable!(),
        };
        let all: Vec<f64> = (-reach..=reach).map(weight).collect();
        let total: f64 = all.iter().sum();
        (reach, all.into_iter().map(|one| one / total).collect())
    }

    /// Of every number of owners, given that its key is shown, the interval holds with at least 95%: by adding up, for
    /// thresholds as they are and for low ones.
    #[test]
    fn keys_that_pass_by_luck_are_covered() {
        let noises = [0.3, 1.0, 2.5, 9.0].map(|size| Noise::laplace(Scale::new(size).unwrap()));
        let others = [0.4, 1.0, 3.0, 12.0].map(|size| Noise::gaussian(Sigma::new(size).unwrap()));
        for noise in noises.iter().chain(&others) {
            let (reach, law) = law(noise);
            for least in [1, 2, 5, noise.quantile(1e-4) as i64 + 1, noise.quantile(1e-8) as i64 + 1] {
                let passed = ThresholdEvidence::new(noise, least).unwrap();
                for owners in (1..least + 2 * reach).step_by(1 + least as usize / 20) {
                    let numbers = (owners - reach..).zip(&law).filter(|(number, _)| *number >= least);
                    let (mut held, mut shown, mut plain) = (0.0, 0.0, 0.0);
                    for (number, mass) in numbers {
                        let (number, owners) = (number as f64, owners as f64);
                        let high = number + noise.quantile(BETA);
                        shown += mass;
                        held += if (passed.low_at(number, BETA)..=high).contains(&owners) { *mass } else { 0.0 };
                        plain += if (2.0 * number - high..=high).contains(&owners) { *mass } else { 0.0 };
                    }
                    // What is never seen is not known to the law that is added up here.
                    if shown > 1e-10 {
                        assert!(held / shown >= 1.0 - BETA - 1e-3, "{owners} of {least}: {}", held / shown);
                    }
                    assert!(held >= plain - 1e-12);
                }
            }
        }
    }

    /// Without it, of keys far below the threshold none was covered; far above it nothing changes.
    #[test]
    fn it_changes_what_is_near_the_threshold_and_nothing_else() {
        let noise = Noise::gaussian(Sigma::new(10.0).unwrap());
        let passed = ThresholdEvidence::new(&noise, 60).unwrap();
        assert!(passed.low_at(61.0, BETA) < 20.0 && passed.low_at(60.0, BETA) == 1.0, "{}", passed.low_at(61.0, BETA));
        assert_eq!(passed.low_at(500.0, BETA), 500.0 - noise.quantile(BETA));
        assert_eq!((passed.beyond_at(500.0, BETA), passed.beyond_at(150.0, BETA)), (0.0, 0.0));
        let lows: Vec<f64> = (60..200).map(|number| passed.low_at(f64::from(number), BETA)).collect();
        assert!(lows.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    /// Where noise is large, its law is known at some places, and the interval is no narrower for it.
    #[test]
    fn large_noises_are_known_at_some_places() {
        let noise = Noise::gaussian(Sigma::new(40_000.0).unwrap());
        let passed = ThresholdEvidence::new(&noise, 200_000).unwrap();
        assert!(passed.step == 20.0 && passed.tails.len() < 60_000);
        let near = passed.low_at(210_000.0, BETA);
        assert!((1.0..130_000.0).contains(&near), "{near}");
    }
}
