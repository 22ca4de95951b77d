//! Guessing a coin: which of two neighbours a release saw, by somebody who knows both and the rule, from what it
//! publishes.
//!
//! A coin decides whether one person's data is as it is or as a neighbour has it. The release adds its noise, and the
//! guess is the likelier of the two given the numbers: no guess between these two is right more often (Neyman and
//! Pearson 1933). Made-up numbers are enough for that, as the events say how far neighbours are apart and which noise
//! hides it; no table is read. In the scope of an attribute it is the reconstruction of one value, in presence it is
//! membership.
//!
//! ```
//! use scumble::quantity::epsilon;
//! use scumble_adversary::attack::coin::{CoinOutcome, guess};
//! use scumble::noise::InsecureSeededSource;
//! use scumble::{Additive, Scope, Target};
//! let count = Additive::count().within(Target::pure(epsilon(1.0)?), Scope::Presence)?;
//! let found = guess(&count.events()?, &Scope::Presence, 10_000, &mut InsecureSeededSource::new(1))?;
//! // Nobody can expect more than e/(e + 1) = 73.1%, and Laplace noise on one whole number gives as much.
//! assert!(matches!(found, CoinOutcome::Guessed { right: 7_160..=7_460, coins: 10_000 }));
//! # Ok::<(), scumble::Error>(())
//! ```

use crate::audit::Counts;
use scumble::error::Result;
use scumble::event::{Event, Shift, Word};
use scumble::noise::{BitSource, DiscreteGaussian, DiscreteLaplace, SinhNormal};
use scumble::quantity::Beta;
use scumble::scope::Scope;

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum CoinOutcome {
    /// This many of the coins were guessed right.
    Guessed {
        /// How many.
        right: u32,
        /// Of how many.
        coins: u32,
    },
    /// Nothing in this scope moves what is published, so that nothing can be guessed from it.
    Unmoved,
    /// An event says a bound and not its noise, so that there is nothing to draw: its word.
    NoNoise(&'static str),
    /// More noisy numbers would move than are drawn here.
    TooMany(f64),
}

impl CoinOutcome {
    /// The part of the coins that this guess is right about in expectation, at least, except with probability β
    /// (Clopper and Pearson 1934); none where nothing was guessed. What came out of the tosses themselves scatters
    /// around the expectation, and may be above what anybody can expect.
    ///
    /// ```
    /// use scumble::quantity::beta;
    /// use scumble_adversary::attack::coin::CoinOutcome;
    /// let found = CoinOutcome::Guessed { right: 6_300, coins: 10_000 }.at_least(beta(0.001)?)?.unwrap();
    /// assert!((0.614..0.616).contains(&found));
    /// assert_eq!(CoinOutcome::Unmoved.at_least(beta(0.001)?)?, None);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn at_least(&self, beta: Beta) -> Result<Option<f64>> {
        let Self::Guessed { right, coins } = *self else { return Ok(None) };
        // A two-sided box whose other side says nothing.
        let both = 2.0 * beta.get();
        Ok(Some(Counts::new(right.into(), coins.into(), 0, 1)?.confidence(Beta::new(both)?)?.p_low))
    }
}

/// More numbers that move at once are not drawn.
pub const MOST_NUMBERS: u64 = 5_000;

/// One number that neighbours move, and its noise.
enum NoisyShift {
    Laplace(DiscreteLaplace, i64),
    Gaussian(DiscreteGaussian, i64),
    SinhNormal(SinhNormal, i64),
}

impl NoisyShift {
    /// Of a word moved by a whole number.
    fn of(word: &Word, by: i64) -> Result<Option<Self>> {
        Ok(match word {
            Word::DiscreteLaplace { scale } => Some(Self::Laplace(DiscreteLaplace::new(*scale), by)),
            Word::DiscreteGaussian { sigma } => Some(Self::Gaussian(DiscreteGaussian::new(*sigma), by)),
            Word::SinhNormal { sigma, a } => Some(Self::SinhNormal(SinhNormal::new(*sigma, *a)?, by)),
            // Of keys that are known anyway.
            Word::NewKeys(keys) => Self::of(keys.noise(), by)?,
            _ => None,
        })
    }

    /// What is published, around 0 or where the neighbour moves it.
    fn drawn<S: BitSource + ?Sized>(&self, is_moved: bool, bits: &mut S) -> i64 {
        let at = |by: i64| if is_moved { by } else { 0 };
        match self {
            Self::Laplace(noise, by) => noise.add_to(at(*by), bits),
            Self::Gaussian(noise, by) => noise.add_to(at(*by), bits),
            Self::SinhNormal(noise, by) => noise.sample(bits).saturating_add(at(*by)),
        }
    }

    /// ln of how much likelier this number is if it was moved.
    fn log_ratio(&self, seen: i64) -> f64 {
        let (here, there) = match self {
            Self::Laplace(_, by) | Self::Gaussian(_, by) | Self::SinhNormal(_, by) => (seen as f64, (seen - by) as f64),
        };
        match self {
            Self::Laplace(noise, _) => (here.abs() - there.abs()) / noise.scale().get(),
            Self::Gaussian(noise, _) => (here * here - there * there) / (2.0 * noise.sigma().get().powi(2)),
            Self::SinhNormal(noise, by) => {
                libm::log(noise.table().probability(seen - by)) - libm::log(noise.table().probability(seen))
            }
        }
    }
}

/// Tosses the coins and guesses each.
pub fn guess<S: BitSource + ?Sized>(events: &[Event], scope: &Scope, coins: u32, bits: &mut S) -> Result<CoinOutcome> {
    let mut moved: Vec<(NoisyShift, u64)> = Vec::new();
    for event in events {
        // On a sample the person may not be in it: that is another law.
        let word = if event.sampling().is_some() { None } else { Some(event.word()) };
        let Some(shift) = farthest(event, scope) else { continue };
        // Noise on whole numbers hides moves by whole numbers.
        let by = shift.by.get().floor().min(1e15) as i64;
        match word.map(|word| NoisyShift::of(word, by)).transpose()?.flatten() {
            Some(_) if by == 0 => {}
            Some(one) => moved.push((one, shift.cells.saturating_mul(event.times()))),
            None => return Ok(CoinOutcome::NoNoise(event.word().name())),
        }
    }
    let numbers = moved.iter().map(|(_, times)| *times as f64).sum::<f64>();
    if numbers == 0.0 {
        return Ok(CoinOutcome::Unmoved);
    }
    if numbers > MOST_NUMBERS as f64 {
        return Ok(CoinOutcome::TooMany(numbers));
    }
    let mut right = 0;
    for _ in 0..coins {
        let coin = bits.next_bits(1) == 1;
        let mut evidence = 0.0;
        for (one, times) in &moved {
            evidence += (0..*times).map(|_| one.log_ratio(one.drawn(coin, bits))).sum::<f64>();
        }
        // What tells nothing is guessed by another coin.
        let guessed = if evidence == 0.0 { bits.next_bits(1) == 1 } else { evidence > 0.0 };
        right += u32::from(guessed == coin);
    }
    Ok(CoinOutcome::Guessed { right, coins })
}

/// The alternative that moves most, in squares. A mixture of alternatives may be guessed more often still: this is one
/// attack, not the worst.
fn farthest(event: &Event, scope: &Scope) -> Option<Shift> {
    let length = |shift: &Shift| shift.cells as f64 * shift.by.get().powi(2);
    event.moves().shifts(scope).into_iter().max_by(|one, other| length(one).total_cmp(&length(other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scumble::event::Moves;
    use scumble::loss::Loss;
    use scumble::noise::InsecureSeededSource;
    use scumble::quantity::{Epsilon, Rate, Scale, Sigma};

    fn moving(event: Event, cells: u64, by: f64) -> Event {
        event.moving(Moves::everywhere(Shift::new(cells, by).unwrap()))
    }

    /// No guess is right more often than (1 + δ(0))/2, which the likelier side attains: 40,000 coins are within 5.5
    /// standard deviations (4e-8) of that.
    #[test]
    fn as_many_are_right_as_the_best_guess_has() {
        let sinh = Word::SinhNormal { sigma: 1.286.try_into().unwrap(), a: 2.7.try_into().unwrap() };
        let sinh = Event::new(sinh, Moves::everywhere(Shift::one_cell(1.0).unwrap()));
        let several = vec![
            moving(Event::discrete_laplace(Scale::new(4.0).unwrap()), 3, 2.0),
            moving(Event::discrete_gaussian(Sigma::new(5.0).unwrap()), 2, 1.0),
        ];
        let cases = [
            vec![moving(Event::discrete_laplace(Scale::new(2.0).unwrap()), 1, 1.0)],
            vec![moving(Event::discrete_gaussian(Sigma::new(1.5).unwrap()), 4, 1.0)],
            vec![moving(Event::discrete_gaussian(Sigma::new(3.0).unwrap()), 1, 1.0).repeated(5).unwrap()],
            vec![sinh],
            several,
        ];
        for (events, seed) in cases.iter().zip(1..) {
            let best = 0.5 + 0.5 * Loss::of(events, Scope::Person).unwrap().delta(Epsilon::new(0.0).unwrap()).upper;
            let found = guess(events, &Scope::Person, 40_000, &mut InsecureSeededSource::new(seed)).unwrap();
            let CoinOutcome::Guessed { right, .. } = found else { panic!("{found:?}") };
            let share = f64::from(right) / 40_000.0;
            assert!((share - best).abs() < 5.5 * 0.0025, "{events:?}: {share} instead of {best}");
            assert!(best > 0.55, "{best}");
        }
    }

    #[test]
    fn what_cannot_be_tried_says_why() {
        let mut bits = InsecureSeededSource::new(1);
        let mut tried = |event: Event| guess(&[event], &Scope::Presence, 10, &mut bits).unwrap();
        assert_eq!(tried(Event::pure(Epsilon::new(1.0).unwrap())), CoinOutcome::NoNoise("pure"));
        assert_eq!(
            tried(Event::discrete_laplace(Scale::new(1.0).unwrap()).poisson(Rate::new(0.5).unwrap())),
            CoinOutcome::NoNoise("discrete-laplace")
        );
        assert_eq!(tried(moving(Event::discrete_laplace(Scale::new(1.0).unwrap()), 1, 0.5)), CoinOutcome::Unmoved);
        assert_eq!(
            tried(moving(Event::discrete_laplace(Scale::new(1.0).unwrap()), 6_000, 1.0)),
            CoinOutcome::TooMany(6_000.0)
        );
        let unmoved = Moves::by_scope(Vec::new(), vec![Shift::one_cell(1.0).unwrap()], Vec::new());
        assert_eq!(tried(Event::pure(Epsilon::new(1.0).unwrap()).moving(unmoved)), CoinOutcome::Unmoved);
    }
}
