//! Integer noise added to integer answers: one enum for all of it.

use crate::calibrate::{
    FreeParameter, ShiftNorms, Target, calibrate, epsilon_of_laplace, normal_tail_quantile, scale_for_pure,
    sigma_for_zcdp,
};
use crate::error::Result;
use crate::event::{Event, Moves, Shift, Word};
use crate::noise::tape::{self, Announcement};
use crate::noise::{BitSource, DiscreteGaussian, DiscreteLaplace, SinhNormal, TruncatedDiscreteLaplace};
use crate::quantity::{Beta, Delta, Epsilon, Scale, Sensitivity, Sigma};
use crate::scope::Scope;

mod release;
pub use release::{Additive, Integers, UnnoisedAnswer};

/// Noise for a mechanism that adds noise. `docs/explanation/noise.md` says when which one is best.
///
/// ```
/// use scumble::mechanism::additive::Noise;
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::Sigma;
/// let noise = Noise::gaussian(Sigma::new(5.0)?);
/// let mut answers = [100, 200, 300];
/// noise.add_to_all(&mut answers, &mut InsecureSeededSource::new(1));
/// assert!((noise.standard_deviation() - 5.0).abs() < 0.01);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
#[must_use]
pub enum Noise {
    /// Discrete Laplace: pure privacy; the largest of k draws grows like log k.
    Laplace(DiscreteLaplace),
    /// Discrete Gaussian: concentrated privacy; least variance for many moving cells.
    Gaussian(DiscreteGaussian),
    /// Discrete Laplace cut off at a bound: (ε, δ); never larger than the bound.
    TruncatedLaplace(TruncatedDiscreteLaplace),
    /// Sinh-normal: truncated concentrated privacy; least maximum over very many cells.
    SinhNormal(SinhNormal),
}

impl Noise {
    /// Discrete Laplace noise.
    pub fn laplace(scale: Scale) -> Self {
        Self::Laplace(DiscreteLaplace::new(scale))
    }

    /// Discrete Gaussian noise.
    pub fn gaussian(sigma: Sigma) -> Self {
        Self::Gaussian(DiscreteGaussian::new(sigma))
    }

    /// Discrete Laplace noise within −bound, …, bound.
    pub fn truncated_laplace(scale: Scale, bound: i64) -> Result<Self> {
        Ok(Self::TruncatedLaplace(TruncatedDiscreteLaplace::new(scale, bound)?))
    }

    /// Sinh-normal noise.
    pub fn sinh_normal(sigma: Sigma, a: Scale) -> Result<Self> {
        Ok(Self::SinhNormal(SinhNormal::new(sigma, a)?))
    }

    /// Noise for answers that move as `moves` says, with the least standard deviation that meets the target in `scope`:
    /// Laplace for pure ε, Gaussian for concentrated privacy, and for (ε, δ) the better of both.
    ///
    /// # Guarantee
    /// What [`Noise::event`] of these moves costs in `scope` is at most `target`: by exact arithmetic for ε and ρ, by
    /// the certified upper bound of [`Loss`](crate::loss::Loss) for (ε, δ).
    ///
    /// ```
    /// use scumble::quantity::{delta, epsilon};
    /// use scumble::event::{Moves, Shift};
    /// use scumble::{Noise, Scope, Target};
    /// let moves = |cells| Ok::<_, scumble::Error>(Moves::everywhere(Shift::new(cells, 1.0)?));
    /// let target = Target::approximate(epsilon(1.0)?, delta(1e-6)?);
    /// assert_eq!(Noise::within(target, &Scope::Person, &moves(1)?)?.name(), "discrete-laplace");
    /// assert_eq!(Noise::within(target, &Scope::Person, &moves(100)?)?.name(), "discrete-gaussian");
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn within(target: Target, scope: &Scope, moves: &Moves) -> Result<Self> {
        let moved = ShiftNorms::of(moves, scope);
        if moved.is_nothing() {
            refuse!("{scope} moves nothing here, so no noise is needed: choose a scope that the answer depends on");
        }
        match target {
            Target::Concentrated(rho) | Target::Truncated(rho, _) => Ok(Self::gaussian(sigma_for_zcdp(rho, moved)?)),
            Target::Pure(epsilon) => Ok(Self::laplace(scale_for_pure(epsilon, moved)?)),
            Target::Approximate(epsilon, delta) => {
                let laplace = Self::laplace(scale_for_pure(epsilon, moved)?);
                if delta.get() == 0.0 {
                    return Ok(laplace);
                }
                let any = Event::new(Word::DiscreteGaussian { sigma: Sigma::new(1.0)? }, moves.clone());
                let found = calibrate(&any, FreeParameter::Noise, scope, epsilon, delta)?.word().clone();
                let gaussian = match found {
                    Word::DiscreteGaussian { sigma } => Some(Self::gaussian(sigma)),
                    _ => None,
                };
                let better = |noise: &Self| noise.standard_deviation() < laplace.standard_deviation();
                Ok(gaussian.filter(better).unwrap_or(laplace))
            }
        }
    }

    /// The name in messages and tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Laplace(..) => "discrete-laplace",
            Self::Gaussian(..) => "discrete-gaussian",
            Self::TruncatedLaplace(..) => "truncated-discrete-laplace",
            Self::SinhNormal(_) => "sinh-normal",
        }
    }

    /// The event of adding this noise to answers that move by integers as `moves` says.
    ///
    /// Truncated Laplace noise has no word of its own: for a move by m it is (m/scale, δ) with δ the mass of its m
    /// outermost points (exact, since all loss beyond m/scale is there), so its event is `Approximate` for the largest
    /// move.
    ///
    /// # Guarantee
    /// What accounting makes of the event is an upper bound for adding independent draws to each cell.
    pub fn event(&self, moves: Moves) -> Result<Event> {
        match self {
            Self::Laplace(noise) => Ok(Event::new(Word::DiscreteLaplace { scale: noise.scale() }, moves)),
            Self::Gaussian(noise) => Ok(Event::new(Word::DiscreteGaussian { sigma: noise.sigma() }, moves)),
            Self::SinhNormal(noise) => {
                noise.check_intact()?;
                Ok(Event::new(Word::SinhNormal { sigma: noise.sigma(), a: noise.a() }, moves))
            }
            Self::TruncatedLaplace(noise) => truncated_event(noise.scale(), noise.bound(), &moves),
        }
    }

    /// Adds an independent draw to every answer; only the exact sum is brought into the range of an i64
    /// (post-processing).
    pub fn add_to_all<S: BitSource + ?Sized>(&self, answers: &mut [i64], bits: &mut S) {
        match self {
            Self::Laplace(noise) => noise.add_to_all(answers, bits),
            Self::Gaussian(noise) => noise.add_to_all(answers, bits),
            Self::SinhNormal(noise) => noise.add_to_all(answers, bits),
            // This never leaves the range by itself.
            Self::TruncatedLaplace(..) => {
                tape::through_all(
                    bits,
                    answers,
                    |values| self.said(values),
                    |answers, bits| self.add_bounded(answers, bits),
                );
            }
        }
    }

    /// The same for one wide answer, such as a sum of many steps: only the exact sum is brought into the range of an
    /// i128.
    pub fn add_to_wide<S: BitSource + ?Sized>(&self, answer: i128, bits: &mut S) -> i128 {
        match self {
            Self::Laplace(noise) => noise.add_to_wide(answer, bits),
            Self::Gaussian(noise) => noise.add_to_wide(answer, bits),
            Self::TruncatedLaplace(..) | Self::SinhNormal(_) => {
                tape::through(bits, || self.said([answer]), |bits| answer.saturating_add(self.sample(bits).into()))
            }
        }
    }

    fn said(&self, answers: impl IntoIterator<Item = i128>) -> Announcement {
        let (name, parameters) = self.law();
        Announcement::cells(name, &parameters, answers)
    }

    /// What a replay calls it.
    #[doc(hidden)]
    pub fn law(&self) -> tape::RecordedLaw {
        let parameters = match self {
            Self::TruncatedLaplace(noise) => vec![noise.scale().get(), noise.bound() as f64],
            Self::SinhNormal(noise) => vec![noise.sigma().get(), noise.a().get()],
            Self::Laplace(noise) => vec![noise.scale().get()],
            Self::Gaussian(noise) => vec![noise.sigma().get()],
        };
        (self.name(), parameters)
    }

    fn add_bounded<S: BitSource + ?Sized>(&self, answers: &mut [i64], bits: &mut S) {
        let mut drawn = [0i64; 1024];
        for chunk in answers.chunks_mut(drawn.len()) {
            let drawn = &mut drawn[..chunk.len()];
            self.fill(bits, drawn);
            for (answer, noise) in chunk.iter_mut().zip(drawn) {
                *answer = answer.saturating_add(*noise);
            }
        }
    }

    /// Independent draws.
    pub fn fill<S: BitSource + ?Sized>(&self, bits: &mut S, out: &mut [i64]) {
        match self {
            Self::Laplace(noise) => noise.fill(bits, out),
            Self::Gaussian(noise) => noise.fill(bits, out),
            Self::TruncatedLaplace(noise) => noise.fill(bits, out),
            Self::SinhNormal(noise) => noise.fill(bits, out),
        }
    }

    /// One draw.
    pub fn sample<S: BitSource + ?Sized>(&self, bits: &mut S) -> i64 {
        let mut one = [0];
        self.fill(bits, &mut one);
        one[0]
    }

    /// The standard deviation (for a Gaussian above 3 its σ, which is off by less than 10⁻³⁰).
    pub fn standard_deviation(&self) -> f64 {
        match self {
            Self::Laplace(noise) => 1.0 / (2f64.sqrt() * (0.5 / noise.scale().get()).sinh()),
            Self::Gaussian(noise) if noise.sigma().get() > 3.0 => noise.sigma().get(),
            Self::Gaussian(noise) => {
                let sigma = noise.sigma();
                let weight = |z: f64| (-z * z / (2.0 * sigma.get() * sigma.get())).exp();
                let moment =
                    |power: i32| (1..=60).map(|z| f64::from(z).powi(power) * weight(f64::from(z))).sum::<f64>();
                (2.0 * moment(2) / (1.0 + 2.0 * moment(0))).sqrt()
            }
            Self::TruncatedLaplace(noise) => truncated_deviation(noise.scale().get(), noise.bound()),
            Self::SinhNormal(noise) => {
                let table = noise.table();
                let second = |k: usize| 2.0 * (k as f64).powi(2) * table.probability(k as i64);
                (1..=table.last_index()).map(second).sum::<f64>().sqrt()
            }
        }
    }

    /// A q with P\[|noise| > q\] ≤ p, the least one up to rounding.
    pub fn quantile(&self, p: f64) -> f64 {
        if p >= 1.0 {
            return 0.0;
        }
        match self {
            Self::Laplace(noise) => {
                let scale = noise.scale();
                // P[|Z| > q] = 2·r^{q+1}/(1+r) with r = e^{−1/scale}.
                let ln_half = (p * (1.0 + (-1.0 / scale.get()).exp()) / 2.0).ln();
                (-ln_half * scale.get() - 1.0).ceil().max(0.0)
            }
            Self::Gaussian(noise) => gaussian_quantile(noise.sigma().get(), p),
            Self::TruncatedLaplace(noise) => {
                Self::laplace(noise.scale()).quantile(p).min(noise.bound() as f64).max(0.0)
            }
            Self::SinhNormal(noise) => noise.table().quantile(p) as f64,
        }
    }

    /// The most that one of `cells` draws exceeds with probability at most β (a union bound).
    pub fn maximum(&self, cells: f64, beta: Beta) -> f64 {
        self.quantile(beta.get() / cells.max(1.0))
    }
}

/// Small σ by adding up the tail; large σ by P\[Z > q\] ≤ P\[N(0, σ²) > q\] (Canonne–Kamath–Steinke 2020, Proposition
/// 25).
fn gaussian_quantile(sigma: f64, p: f64) -> f64 {
    let bound = (sigma * normal_tail_quantile(p / 2.0)).max(0.0);
    if sigma > 500.0 {
        return bound.ceil();
    }
    let weight = |z: f64| (-z * z / (2.0 * sigma * sigma)).exp();
    let end = (40.0 * sigma).ceil() as i64 + 2;
    let total: f64 = 1.0 + 2.0 * (1..=end).map(|z| weight(z as f64)).sum::<f64>();
    let mut above = 0.0;
    for z in (1..=end).rev() {
        above += 2.0 * weight(z as f64) / total;
        if above > p {
            return z as f64;
        }
    }
    0.0
}

fn truncated_deviation(scale: f64, bound: i64) -> f64 {
    let reach = bound.min((60.0 * scale).ceil() as i64 + 2).min(10_000_000);
    let weight = |z: i64| (-(z as f64) / scale).exp();
    let total = 1.0 + 2.0 * (1..=reach).map(weight).sum::<f64>();
    (2.0 * (1..=reach).map(|z| (z as f64).powi(2) * weight(z)).sum::<f64>() / total).sqrt()
}

/// P\[Z = bound\] of the truncated discrete Laplace, from above: e^{−εT}(1−e^{−ε})/(1+e^{−ε}−2e^{−ε(T+1)}),
/// ε = 1/scale.
pub(crate) fn edge_mass_upper(scale: f64, bound: i64) -> f64 {
    let (rate, bound) = (1.0 / scale, bound as f64);
    let below = 1.0 + (-rate).exp() - 2.0 * (-rate * (bound + 1.0)).exp();
    (-rate * bound).exp() * -(-rate).exp_m1() / below * (1.0 + 1e-12)
}

/// One `Approximate` word for the largest move; each alternative keeps its number of cells and counts as one such move.
fn truncated_event(scale: Scale, bound: i64, moves: &Moves) -> Result<Event> {
    let (presence, person, touches, _) = moves.parts();
    let shifts = presence.iter().chain(person).chain(touches.iter().flat_map(|touch| &touch.shifts));
    let largest = shifts.map(|shift| shift.by.get()).fold(0.0, f64::max).ceil();
    let outermost = (0..(largest as i64).min(bound + 1)).map(|i| (i as f64 / scale.get()).exp());
    let delta = (edge_mass_upper(scale.get(), bound) * outermost.sum::<f64>() * (1.0 + 1e-12)).min(1.0);
    let epsilon = Epsilon::new(epsilon_of_laplace(scale, Sensitivity::new(largest)?).get())?;
    Ok(Event::new(Word::Approximate { epsilon, delta: Delta::new(delta)? }, as_single_moves(moves)?))
}

fn as_single_moves(moves: &Moves) -> Result<Moves> {
    moves.map(|shift| Shift::new(if shift.by.get() == 0.0 { 0 } else { shift.cells }, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::InsecureSeededSource;

    #[test]
    fn edge_masses_are_the_golden_ones() {
        for (bound, golden) in
            [(10, 0.001_658_687_869_373_008), (30, 7.492_120_446_888_26e-8), (60, 2.291_856_500_806_722e-14)]
        {
            let found = edge_mass_upper(2.0, bound);
            assert!(found >= golden && found < golden * (1.0 + 1e-11), "{found} {golden}");
        }
    }

    #[test]
    fn quantiles_hold_and_are_the_least() {
        let laplace = Noise::laplace(Scale::new(3.0).unwrap());
        let gaussian = Noise::gaussian(Sigma::new(4.0).unwrap());
        let laplace_weight = |z: f64| (-z.abs() / 3.0).exp();
        let gaussian_weight = |z: f64| (-z * z / 32.0).exp();
        let weights: [(&Noise, &dyn Fn(f64) -> f64); 2] = [(&laplace, &laplace_weight), (&gaussian, &gaussian_weight)];
        for (noise, weight) in weights {
            let total: f64 = (-2000..=2000).map(|z| weight(f64::from(z))).sum();
            let beyond = |q: f64| 2.0 * (q as i32 + 1..=2000).map(|z| weight(f64::from(z))).sum::<f64>() / total;
            for p in [0.9, 0.1, 1e-3, 1e-9, 1e-15] {
                let q = noise.quantile(p);
                assert!(beyond(q) <= p * (1.0 + 1e-9), "{} {p} {q}", noise.name());
                assert!(q == 0.0 || beyond(q - 1.0) > p * (1.0 - 1e-9), "{} {p} {q}", noise.name());
            }
        }
    }

    #[test]
    fn standard_deviations_are_those_of_the_masses() {
        for scale in [0.3, 1.0, 8.0] {
            let weight = |z: i32| (-f64::from(z.abs()) / scale).exp();
            let (laplace, truth) = (Noise::laplace(Scale::new(scale).unwrap()), deviation_by_sum(weight));
            assert!((laplace.standard_deviation() / truth - 1.0).abs() < 1e-9, "Laplace {scale}: {truth}");
        }
        for sigma in [0.2, 0.5, 1.0, 2.9, 3.1, 20.0] {
            let weight = |z: i32| (-f64::from(z * z) / (2.0 * sigma * sigma)).exp();
            let (gaussian, truth) = (Noise::gaussian(Sigma::new(sigma).unwrap()), deviation_by_sum(weight));
            assert!((gaussian.standard_deviation() / truth - 1.0).abs() < 1e-9, "Gaussian {sigma}: {truth}");
        }
    }

    fn deviation_by_sum(weight: impl Fn(i32) -> f64) -> f64 {
        let sum = |power: i32| (-2000..=2000).map(|z| f64::from(z).powi(power) * weight(z)).sum::<f64>();
        (sum(2) / sum(0)).sqrt()
    }

    #[test]
    fn a_wide_answer_gets_the_same_noise_and_keeps_its_digits() {
        let noises = [
            Noise::laplace(Scale::new(3.0).unwrap()),
            Noise::gaussian(Sigma::new(4.0).unwrap()),
            Noise::truncated_laplace(Scale::new(2.0).unwrap(), 10).unwrap(),
        ];
        let far = i128::from(i64::MAX) * 1000;
        for noise in noises {
            // Two objects, as one makes its table after some draws and then reads bits in another way.
            let (mut left, mut right) = (InsecureSeededSource::new(4), InsecureSeededSource::new(4));
            let other = noise.clone();
            for _ in 0..1000 {
                let drawn = other.add_to_wide(0, &mut left);
                assert!(drawn.abs() < 1000);
                assert_eq!(noise.add_to_wide(far, &mut right), far + drawn, "{}", noise.name());
            }
        }
    }

    #[test]
    fn the_truncated_event_is_for_the_largest_move_and_keeps_the_cells() {
        let noise = Noise::truncated_laplace(Scale::new(2.0).unwrap(), 10).unwrap();
        let one = Shift::one_cell(1.0).unwrap();
        let moves = Moves::by_scope(vec![one], vec![Shift::new(2, 1.0).unwrap()], Vec::new());
        let event = noise.event(moves).unwrap();
        assert_eq!(event.moves().shifts(&Scope::Person)[0].cells, 2);
        let Word::Approximate { epsilon, delta } = event.word() else { panic!("not approximate") };
        assert!(epsilon.get() >= 0.5 && epsilon.get() < 0.5 + 1e-15);
        assert!((delta.get() / 0.001_658_687_869_373_008 - 1.0).abs() < 1e-9);
    }
}
