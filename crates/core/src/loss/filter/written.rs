//! Sums as strings, to store them: every number exactly.

use super::Odometer;
use super::price::TruncatedBound;
use crate::error::{Error, Result};
use crate::quantity::Exact;

/// What stands for a sum that some event has no number for.
const NONE: &str = "none";
/// What stands for an ω that no event bounds.
const INFINITE: &str = "inf";
/// The single costs are rounded up by a thousand times less, so that both sums are upper bounds.
const AGREE: f64 = 1e-9;

impl Odometer {
    /// All sums in one line: Σε, Σρ of the events without ε, Σρ, Σρ up to ω, ω, Σδ. Reading it gives the same sums
    /// again.
    ///
    /// ```
    /// use scumble::loss::filter::Odometer;
    /// assert_eq!(Odometer::nothing().to_text(), "0 0 0 0 inf 0");
    /// assert_eq!(Odometer::from_text("0 0 0 0 inf 0")?, Odometer::nothing());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn to_text(&self) -> String {
        let number = |sum: Option<&Exact>| sum.map_or(NONE.to_string(), Exact::to_string);
        let (truncated, omega) = match &self.truncated {
            None => (NONE.to_string(), NONE.to_string()),
            Some(TruncatedBound { rho, omega }) => {
                (rho.to_string(), omega.as_ref().map_or(INFINITE.to_string(), Exact::to_string))
            }
        };
        let [rest, all] = [&self.rho_of_rest, &self.rho_of_all].map(|sum| number(sum.as_ref()));
        format!("{} {rest} {all} {truncated} {omega} {}", self.pure, self.delta)
    }

    /// The sums that [`Odometer::to_text`] wrote.
    pub fn from_text(text: &str) -> Result<Self> {
        let refused = || Error::refused("this is not a line of sums");
        let words: Vec<&str> = text.split(' ').collect();
        let [pure, rest, all, truncated, omega, delta] = words[..] else { return Err(refused()) };
        let number = |word: &str| {
            let number = Exact::from_text(word).map_err(|_| refused())?;
            if number.is_negative() { Err(refused()) } else { Ok(number) }
        };
        let perhaps = |word: &str| if word == NONE { Ok(None) } else { number(word).map(Some) };
        let truncated = match (truncated, omega) {
            (NONE, NONE) => None,
            (rho, INFINITE) => Some(TruncatedBound { rho: number(rho)?, omega: None }),
            (rho, omega) => Some(TruncatedBound { rho: number(rho)?, omega: Some(number(omega)?) }),
        };
        let spent = Self {
            pure: number(pure)?,
            rho_of_rest: perhaps(rest)?,
            rho_of_all: perhaps(all)?,
            truncated,
            delta: number(delta)?,
        };
        // One text for each sum: what was written otherwise was not written here.
        if spent.to_text() == text { Ok(spent) } else { Err(refused()) }
    }
}

impl Odometer {
    /// Whether two sums are the same up to one part in 10⁹: what another machine's exp and tanh make of the same
    /// events.
    ///
    /// ```
    /// use scumble::loss::filter::Odometer;
    /// let (one, two) = (Odometer::from_text("1 0 0.5 0.5 inf 0")?, Odometer::from_text("1 0 0.5000000001 0.5 inf 0")?);
    /// assert!(one.agrees_with(&two) && !one.agrees_with(&Odometer::nothing()));
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn agrees_with(&self, other: &Self) -> bool {
        let near = |one: &Exact, two: &Exact| {
            let (one, two) = (one.to_f64(), two.to_f64());
            (one - two).abs() <= AGREE * one.abs().max(two.abs())
        };
        let both = |one: Option<&Exact>, two: Option<&Exact>| match (one, two) {
            (Some(one), Some(two)) => near(one, two),
            (one, two) => one.is_none() && two.is_none(),
        };
        let truncated = match (&self.truncated, &other.truncated) {
            (Some(one), Some(two)) => near(&one.rho, &two.rho) && both(one.omega.as_ref(), two.omega.as_ref()),
            (one, two) => one.is_none() && two.is_none(),
        };
        truncated
            && near(&self.pure, &other.pure)
            && near(&self.delta, &other.delta)
            && both(self.rho_of_rest.as_ref(), other.rho_of_rest.as_ref())
            && both(self.rho_of_all.as_ref(), other.rho_of_all.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, Moves, Shift, Word};
    use crate::quantity::{Delta, Epsilon, Omega, Rho, Scale, Sigma};
    use crate::scope::Scope;
    use proptest::prelude::*;

    fn events(parameters: &[(u8, f64, f64, u64)]) -> Vec<Event> {
        let one = |&(which, a, b, times): &(u8, f64, f64, u64)| {
            let word = match which % 5 {
                0 => Word::DiscreteLaplace { scale: Scale::new(a).unwrap() },
                1 => Word::DiscreteGaussian { sigma: Sigma::new(a).unwrap() },
                2 => Word::Approximate { epsilon: Epsilon::new(b).unwrap(), delta: Delta::new(b * 1e-9).unwrap() },
                3 => Word::Tcdp { rho: Rho::new(b).unwrap(), omega: Omega::new(3.0 + a).unwrap() },
                _ => Word::Exponential { epsilon: Epsilon::new(b).unwrap() },
            };
            Event::new(word, Moves::everywhere(Shift::new(3, 1.0).unwrap())).repeated(times).unwrap()
        };
        parameters.iter().map(one).collect()
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again_exactly(
            parameters in proptest::collection::vec((0u8..5, 0.1f64..1e6, 1e-9f64..1.0, 1u64..1_000_000_000), 0..8)
        ) {
            let spent = Odometer::of(&events(&parameters), &Scope::Person).unwrap();
            prop_assert_eq!(Odometer::from_text(&spent.to_text()).unwrap(), spent);
        }
    }

    #[test]
    fn what_was_not_written_here_is_refused() {
        for text in [
            "",
            "0 0 0 0 inf",
            "0 0 0 0 inf 0 0",
            "0 0 0 0 inf -1",
            "00 0 0 0 inf 0",
            "0.0 0 0 0 inf 0",
            "2/4 0 0 0 inf 0",
            "1/0 0 0 0 inf 0",
            "1e5 0 0 0 inf 0",
            "none 0 0 0 inf 0",
            "0 0 0 none inf 0",
            "0 0 0 0 inf 0 ",
            "0  0 0 0 inf 0",
        ] {
            assert!(Odometer::from_text(text).is_err(), "{text:?}");
        }
    }
}
