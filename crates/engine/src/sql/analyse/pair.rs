//! What two columns have in common: covariance, correlation and the line through both, as functions of noisy sums.
//!
//! Of the rows in which both are present: their number n and the sums of x, y, x², y² and xy, each as far as it is needed, with x and y taken from the middles of their
//! bounds. Nothing else is released, and all of these are computed from it, as are their intervals.

use crate::tables::functions::Grid;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Asked {
    /// Of the sample or of the population.
    Covariance {
        sample: bool,
    },
    Correlation,
    /// How much y grows with x.
    Slope,
    /// y where x is 0.
    Intercept,
    /// The square of the correlation.
    Determination,
}

impl Asked {
    /// By the name of the aggregate.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "covar_samp" => Self::Covariance { sample: true },
            "covar_pop" => Self::Covariance { sample: false },
            "corr" => Self::Correlation,
            "regr_slope" => Self::Slope,
            "regr_intercept" => Self::Intercept,
            "regr_r2" => Self::Determination,
            _ => return None,
        })
    }

    /// Whether the squares of x are needed, and those of y.
    pub fn squares(self) -> (bool, bool) {
        match self {
            Self::Covariance { .. } => (false, false),
            Self::Slope | Self::Intercept => (true, false),
            Self::Correlation | Self::Determination => (true, true),
        }
    }
}

/// Of which measures it is made (indices).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pair {
    pub asked: Asked,
    pub x: Moments,
    pub y: Moments,
    /// The sum of products, and its step.
    pub products: usize,
    pub step: f64,
    pub count: usize,
}

/// The sums of one column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Moments {
    pub steps: usize,
    pub squares: Option<usize>,
    pub grid: Grid,
    pub centre: i64,
}

impl Moments {
    /// The middle from which it is taken.
    fn middle(&self) -> f64 {
        self.centre as f64 * self.grid.step
    }

    fn half(&self) -> f64 {
        (self.grid.upper - self.grid.lower) / 2.0
    }
}

impl Pair {
    /// The measures, each once for each use.
    pub fn measures(&self) -> Vec<usize> {
        let squares = self.x.squares.into_iter().chain(self.y.squares);
        [self.count, self.x.steps, self.y.steps, self.products].into_iter().chain(squares).collect()
    }

    /// What it is where the measures are these, not clamped, and all that it divides by.
    pub fn at(&self, measure: &dyn Fn(usize) -> f64) -> (f64, Vec<f64>) {
        let n = measure(self.count);
        let sum = |moments: &Moments| measure(moments.steps) * moments.grid.step;
        let spread = |moments: &Moments| {
            let squares = moments.squares.map_or(f64::NAN, measure) * moments.grid.step.powi(2);
            squares - sum(moments).powi(2) / n
        };
        let common = measure(self.products) * self.step - sum(&self.x) * sum(&self.y) / n;
        match self.asked {
            Asked::Covariance { sample } => {
                let divisor = if sample { n - 1.0 } else { n };
                (common / divisor, vec![divisor])
            }
            Asked::Slope => (common / spread(&self.x), vec![n, spread(&self.x)]),
            Asked::Intercept => {
                let slope = common / spread(&self.x);
                let mean = |moments: &Moments| moments.middle() + sum(moments) / n;
                (mean(&self.y) - slope * mean(&self.x), vec![n, spread(&self.x)])
            }
            Asked::Correlation | Asked::Determination => {
                let (x, y) = (spread(&self.x), spread(&self.y));
                let squared = common * common / (x * y);
                let value = if self.asked == Asked::Correlation { squared.sqrt() * common.signum() } else { squared };
                (value, vec![n, x, y])
            }
        }
    }

    /// The value that is published; NaN where the noisy numbers of rows and their spread are those of no data.
    pub fn published(&self, measure: &dyn Fn(usize) -> f64) -> f64 {
        let at_least_two = |index: usize| {
            let number = measure(index);
            if index == self.count { number.max(2.0) } else { number }
        };
        let (value, divisors) = self.at(&at_least_two);
        if divisors.iter().any(|divisor| *divisor <= 0.0) {
            return f64::NAN;
        }
        self.bounds().map_or(value, |(low, high)| value.clamp(low, high))
    }

    /// Between what it is for all data, where that has an end.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        match self.asked {
            // The sample's is twice that of a population of two rows.
            Asked::Covariance { sample } => {
                let most = self.x.half() * self.y.half() * if sample { 2.0 } else { 1.0 };
                Some((-most, most))
            }
            Asked::Correlation => Some((-1.0, 1.0)),
            Asked::Determination => Some((0.0, 1.0)),
            Asked::Slope | Asked::Intercept => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the definitions, on ten rows.
    #[test]
    fn sums_give_what_the_definitions_say() {
        let rows: Vec<(f64, f64)> =
            (0..10).map(|i| (f64::from(i * i % 7) + 1.0, f64::from(i * 3 % 5) - 0.5 * f64::from(i))).collect();
        let grid = |lower, upper| Grid { lower, upper, step: 0.5 };
        let moments = |steps, squares, grid, centre| Moments { steps, squares, grid, centre };
        let (x, y) = (moments(1, Some(4), grid(0.0, 10.0), 10), moments(2, Some(5), grid(-8.0, 6.0), -2));
        let of = |from: &Moments, value: f64| value / from.grid.step - from.centre as f64;
        let sum = |f: &dyn Fn(f64, f64) -> f64| rows.iter().map(|(a, b)| f(of(&x, *a), of(&y, *b))).sum::<f64>();
        let sums = [10.0, sum(&|a, _| a), sum(&|_, b| b), sum(&|a, b| a * b), sum(&|a, _| a * a), sum(&|_, b| b * b)];
        let mean = |f: &dyn Fn(&(f64, f64)) -> f64| rows.iter().map(f).sum::<f64>() / 10.0;
        let (mx, my) = (mean(&|row| row.0), mean(&|row| row.1));
        let cov = mean(&|row| (row.0 - mx) * (row.1 - my));
        let (vx, vy) = (mean(&|row| (row.0 - mx).powi(2)), mean(&|row| (row.1 - my).powi(2)));
        let asked = [
            (Asked::Covariance { sample: false }, cov),
            (Asked::Covariance { sample: true }, cov * 10.0 / 9.0),
            (Asked::Correlation, cov / (vx * vy).sqrt()),
            (Asked::Determination, cov * cov / (vx * vy)),
            (Asked::Slope, cov / vx),
            (Asked::Intercept, my - cov / vx * mx),
        ];
        for (asked, expected) in asked {
            let pair = Pair { asked, x: x.clone(), y: y.clone(), products: 3, step: 0.25, count: 0 };
            let found = pair.published(&|index| sums[index]);
            assert!((found - expected).abs() < 1e-12, "{asked:?}: {found}, not {expected}");
        }
        let pair = Pair { asked: Asked::Slope, x, y, products: 3, step: 0.25, count: 0 };
        assert!(pair.published(&|index| if index == 4 { 0.0 } else { sums[index] }).is_nan());
    }
}
