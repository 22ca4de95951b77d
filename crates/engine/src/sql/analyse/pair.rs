//! What two columns have in common: covariance, correlation and the line through both, as functions of noisy sums.
//!
//! Of the rows in which both are present: their number n and the sums of x, y, x², y² and xy, each as far as it is
//! needed, with x and y taken from the middles of their bounds. Nothing else is released, and all of these are computed
//! from it, as are their intervals.

use crate::sql::functions::PairStatistic;
use crate::tables::functions::Grid;

/// The measures that a statistic of two columns is computed from (indices).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pair {
    pub asked: PairStatistic,
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
            PairStatistic::Covariance { sample } => {
                let divisor = if sample { n - 1.0 } else { n };
                (common / divisor, vec![divisor])
            }
            PairStatistic::Slope => (common / spread(&self.x), vec![n, spread(&self.x)]),
            PairStatistic::Intercept => {
                let slope = common / spread(&self.x);
                let mean = |moments: &Moments| moments.middle() + sum(moments) / n;
                (mean(&self.y) - slope * mean(&self.x), vec![n, spread(&self.x)])
            }
            PairStatistic::Correlation | PairStatistic::Determination => {
                let (x, y) = (spread(&self.x), spread(&self.y));
                let squared = common * common / (x * y);
                let value =
                    if self.asked == PairStatistic::Correlation { squared.sqrt() * common.signum() } else { squared };
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
            PairStatistic::Covariance { sample } => {
                let most = self.x.half() * self.y.half() * if sample { 2.0 } else { 1.0 };
                Some((-most, most))
            }
            PairStatistic::Correlation => Some((-1.0, 1.0)),
            PairStatistic::Determination => Some((0.0, 1.0)),
            PairStatistic::Slope | PairStatistic::Intercept => None,
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
            (PairStatistic::Covariance { sample: false }, cov),
            (PairStatistic::Covariance { sample: true }, cov * 10.0 / 9.0),
            (PairStatistic::Correlation, cov / (vx * vy).sqrt()),
            (PairStatistic::Determination, cov * cov / (vx * vy)),
            (PairStatistic::Slope, cov / vx),
            (PairStatistic::Intercept, my - cov / vx * mx),
        ];
        for (asked, expected) in asked {
            let pair = Pair { asked, x: x.clone(), y: y.clone(), products: 3, step: 0.25, count: 0 };
            let found = pair.published(&|index| sums[index]);
            assert!((found - expected).abs() < 1e-12, "{asked:?}: {found}, not {expected}");
        }
        let pair = Pair { asked: PairStatistic::Slope, x, y, products: 3, step: 0.25, count: 0 };
        assert!(pair.published(&|index| if index == 4 { 0.0 } else { sums[index] }).is_nan());
    }
}
