//! The interval of a number that is derived from several noisy ones, with a proof for whatever is derived.
//!
//! Let g be what is derived, x the released numbers, θ the true ones, z = x − θ the noise, which is independent,
//! symmetric and unimodal in each number.
//!
//! 1. *The box.* All |z_i| ≤ r_i together with probability 99%, where each has probability 0.99^(1/d) (Šidák 1967: an
//!    equality for independent noise of any law). So θ is in the box x ± r, and g(θ) in what [`bounds`] finds there by
//!    interval arithmetic: never less than all that g may be.
//! 2. *The mean value.* In the box, g(x) − g(θ) = v·z + rest, v the slope of g at θ. |v·z| has the quantile q of a sum
//!    of noises; v is one fixed vector, and where |v_i| ≤ w_i the quantile for w is no smaller (sums of symmetric
//!    unimodal noises: Birnbaum 1948), so that q(w) is kept with probability 96%, for w the largest slopes in the box.
//!    The rest is at most ½ Σ |∂²g| r_i r_j (Taylor), or Σ r_i times how much a slope differs in the box where slopes
//!    have kinks (Lebourg 1975).
//!
//! Both hold with probability 95%, and then g(θ) is in both intervals: what they have in common is published. In large
//! groups the second is nearly that of a linear number. Where g jumps (CASE, ROUND) only the first holds.
//!
//! A ball of the numbers in place of the box, with the radius of one, covers 95% only where the surfaces on which g is
//! the same are flat: it covered 65% of the largest of eight equal counts, 59% of a total variation. Points in a ball
//! in place of interval arithmetic never hit COUNT(*) = 40: a number was said to be certain and was wrong.
//!
//! Where g is not defined (NULL) or divides by what may be 0, its value may be anything: both ends are infinite. Where
//! g is one value on all of the box, all that the noise reaches with probability 1 − 1e-9 is looked at too
//! ([`FarReach`]): only what is the same there also is said to be certain. A number that was published for being large
//! may be further down than noise reaches, and the box goes down to where it may be.

use super::spread::{Cumulants, NORMAL_96, NORMAL_97, NoiseLaw, SMALL};
use crate::release::output::{BETA, Uncertainty};
use crate::release::price::noise::Noise;
use crate::sql::above::formula::{BoxedRow, Formula, Order, Span, bounds};

/// With which probability a number is outside of the box, and with which it is off by more than the mean value allows:
/// together 5%.
const OUTSIDE: f64 = 0.01;
const BESIDE: f64 = 0.04;
/// Of the second, what small noises have where others are large.
const OF_SMALL: f64 = 0.01;
/// Of more numbers, bends are too many to look at.
const MOST_BENT: usize = 16;
/// What is never seen.
const NEVER: f64 = 1e-9;

/// Nothing is known, or all is possible.
pub(crate) const ANYTHING: Uncertainty =
    Uncertainty { standard_error: f64::INFINITY, low: f64::NEG_INFINITY, high: f64::INFINITY };

/// How far the noises of some numbers reach together.
#[derive(Debug, Clone)]
pub(crate) struct Reaches {
    laws: Vec<NoiseLaw>,
    /// How far each gets: all of them together with probability 99%.
    near: Vec<f64>,
    /// How far small noises get, together with probability 96% (or 99%, where there are large ones).
    small: Vec<f64>,
    /// The normal quantile for the large ones.
    normal: f64,
    /// A 95% interval of one of them has at least this many standard deviations.
    pub units: f64,
}

/// How far the noises of some numbers reach together, but for what is never seen.
#[derive(Debug, Clone)]
pub(super) struct FarReach {
    /// The probability with which each reaches further.
    each: f64,
    reach: Vec<f64>,
}

impl FarReach {
    pub fn new(noises: &[&Noise]) -> Self {
        let each = NEVER / noises.len().max(1) as f64;
        // At least a step: whole numbers are next to each other.
        Self { each, reach: noises.iter().map(|noise| noise.quantile(each).max(1.0)).collect() }
    }

    /// The box in which all true numbers are with probability 1 − 1e-9. `beyond` says by how much further down than its
    /// noise a number is, except with a probability.
    pub fn spans(&self, middle: &[f64], beyond: &dyn Fn(usize, f64) -> f64) -> Vec<Span> {
        let span = |(place, (middle, reach)): (usize, (&f64, &f64))| {
            Span::new(middle - reach - beyond(place, self.each), middle + reach)
        };
        middle.iter().zip(&self.reach).enumerate().map(span).collect()
    }
}

impl Reaches {
    pub fn new(noises: &[&Noise]) -> Self {
        let each = -((-OUTSIDE).ln_1p() / noises.len() as f64).exp_m1();
        let of = |p: f64| noises.iter().map(|noise| noise.quantile(p)).collect::<Vec<f64>>();
        let laws: Vec<NoiseLaw> = noises.iter().map(|noise| NoiseLaw::of(noise)).collect();
        let few = laws.iter().filter(|law| law.deviation < SMALL).count();
        let (share, normal) = match few {
            0 => (BESIDE, NORMAL_96),
            few if few == laws.len() => (BESIDE / few as f64, NORMAL_96),
            few => (OF_SMALL / few as f64, NORMAL_97),
        };
        let usual = noises.iter().zip(&laws).map(|(noise, law)| noise.quantile(BETA).max(1.0) / law.deviation);
        Self { near: of(each), small: of(share), normal, units: usual.fold(f64::INFINITY, f64::min), laws }
    }

    /// A bound on |Σ v_i z_i| that holds with probability 96%, whatever v is with |v_i| ≤ w_i: that of the large noises
    /// with 97% and that of each small one beside them, which are on whole numbers.
    fn quantile(&self, slopes: impl Iterator<Item = f64>) -> f64 {
        let (mut large, mut all) = (Cumulants::default(), 0.0);
        for ((by, law), small) in slopes.zip(&self.laws).zip(&self.small) {
            if by == 0.0 {
                continue;
            }
            match law.deviation < SMALL {
                true => all += by * small,
                false => large.add(by * law.deviation, law.kurtosis),
            }
        }
        all + large.half_width_at(self.normal)
    }

    fn spans(middle: &[f64], reach: &[f64]) -> Vec<Span> {
        middle.iter().zip(reach).map(|(middle, reach)| Span::around(*middle, *reach)).collect()
    }

    /// The 95% interval of what is derived from numbers that were released as these, and that are in the box `far` but
    /// for what is never seen. `splits` bounds the effort.
    pub fn interval(
        &self,
        formula: &Formula,
        given: &[Option<f64>],
        (middle, far): (&[f64], &dyn Fn() -> Vec<Span>),
        splits: usize,
    ) -> Uncertainty {
        let spans = Self::spans(middle, &self.near);
        let row = BoxedRow { given, noisy: &spans };
        let points: Vec<Span> = middle.iter().map(|middle| Span::point(*middle)).collect();
        let here = formula.enclosed(BoxedRow { given, noisy: &points }, Order::Slopes);
        let beside = self.mean_value(formula, row).filter(|_| here.is_number());
        let beside = beside.map(|by| Span::new(here.span.low - by, here.span.high + by));
        // Where the mean value says nearly all, the box need not be searched.
        let first = bounds(formula, row, 0);
        let is_enough = first.zip(beside).is_some_and(|(first, beside)| 2.0 * beside.width() < first.width());
        let splits = splits / (1 + middle.len() / 8);
        let found = if is_enough { first } else { bounds(formula, row, splits) };
        let Some(found) = found else { return ANYTHING };
        if found.is_point() {
            let Some(far) = bounds(formula, BoxedRow { given, noisy: &far() }, splits) else { return ANYTHING };
            return Uncertainty { standard_error: far.width() / 2.0 / self.units, low: far.low, high: far.high };
        }
        let found = beside.map_or(found, |beside| found.common(beside));
        let slopes = here.slopes.iter().flat_map(|slopes| &slopes.first);
        let squares: f64 = slopes.zip(&self.laws).map(|(by, law)| (by.largest() * law.deviation).powi(2)).sum();
        Uncertainty { standard_error: self.error(squares.sqrt(), found), low: found.low, high: found.high }
    }

    /// How far g(x) is from g(θ) at most with probability 95%; none where it jumps.
    fn mean_value(&self, formula: &Formula, row: BoxedRow<'_>) -> Option<f64> {
        let order = if self.near.len() <= MOST_BENT { Order::Bends } else { Order::Slopes };
        let whole = formula.enclosed(row, order);
        let slopes = whole.slopes.as_ref().filter(|_| whole.is_steady())?;
        let mut rest: f64 = slopes.first.iter().zip(&self.near).map(|(slope, reach)| slope.width() * reach).sum();
        if !whole.bent && order == Order::Bends {
            let bend = |i: usize, j: usize| slopes.bend(i, j).largest() * self.near[i] * self.near[j] / 2.0;
            let all = 0..self.near.len();
            let bends: f64 = all.clone().flat_map(|i| all.clone().map(move |j| (i, j))).map(|(i, j)| bend(i, j)).sum();
            rest = if rest.is_nan() { bends } else { rest.min(bends) };
        }
        let by = self.quantile(slopes.first.iter().map(|slope| slope.largest())) + rest;
        by.is_finite().then_some(by)
    }

    /// The standard error: that of the tangent, where there is one that the interval has room for.
    fn error(&self, tangent: f64, found: Span) -> f64 {
        let widest = found.width() / 2.0 / self.units;
        if tangent > 0.0 { tangent.min(widest) } else { widest }
    }
}

#[cfg(test)]
mod tests;
