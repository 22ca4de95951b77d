//! How far a released number may be off, from the noises that it is a sum of.

use crate::release::noise::Noise;

/// A noise's deviation and its excess kurtosis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Law {
    pub deviation: f64,
    pub kurtosis: f64,
}

impl Law {
    /// Of discrete Laplace noise the kurtosis is 3 + 1/σ², and nobody draws an interval where σ is far below 1.
    pub fn of(noise: &Noise) -> Self {
        let kurtosis = if matches!(noise, Noise::Laplace(..)) { 3.0 } else { 0.0 };
        Self { deviation: noise.standard_deviation(), kurtosis }
    }
}

/// The second and the fourth cumulant of a sum of independent noises: what each does adds up in squares, and in fourth powers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cumulants {
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

    /// The half width of a 95% interval, by the expansion of a quantile in cumulants (Cornish and Fisher 1938): for one Laplace noise
    /// 2.17 standard errors, which cover 95.3%, where the 1.96 of a normal law cover 93.7%.
    pub fn half_width(self) -> f64 {
        const NORMAL: f64 = 1.959_963_984_540_054;
        let kurtosis = if self.second > 0.0 { self.fourth / (self.second * self.second) } else { 0.0 };
        self.standard_error() * (NORMAL + (NORMAL.powi(3) - 3.0 * NORMAL) * kurtosis / 24.0)
    }
}
