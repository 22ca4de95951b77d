//! What a guarantee means: bounds on odds, guesses, beliefs and information, with the assumptions under which they
//! hold.
//!
//! Propositions 26 and 27 of \[GKMS\] as report fields. Proposition 26 is corrected: it is false if the
//! person's *whole* record is blanked, since a mechanism may change how it treats other people's sensitive attributes
//! as this person's other attributes change; with only the sensitive attributes blanked it holds, with the smaller
//! bound tanh(ε/2).

use crate::quantity::{Delta, Epsilon, Rho, Upper};

/// What may be said about the attributes S of one person, given a pure ε and a ρ for S, where there are some.
///
/// Every field is an upper bound.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Reading {
    /// By which factor the odds between any two values of the attributes can change: e^ε.
    pub posterior_odds_factor: f64,
    /// The chance of guessing a uniformly random bit among the attributes: at most e^ε/(1 + e^ε), and (1 + TV)/2 from
    /// ρ.
    pub bit_guess: f64,
    /// How far, in total variation, the belief about the attributes can move: tanh(ε/4). Assumes that the attacker
    /// believes them independent of everything else, for instance because all else is known.
    pub prior_to_posterior: f64,
    /// How far the belief about everybody's attributes S differs from the belief if this person's attributes S were
    /// replaced by a default (Proposition 26, corrected): tanh(ε/2).
    pub with_or_without: f64,
    /// How many bits the release tells about the attributes (Proposition 27): ρ/ln 2, ε·tanh(ε/2)/ln 2, or all of them.
    /// Assumes that people are independent, and the attributes independent of the person's others.
    pub mutual_information_bits: f64,
}

/// What has to be said beside any [`Reading`].
pub const CAVEATS: [&str; 3] = [
    "Whether somebody is in the data at all is covered by the guarantee for presence only.",
    "Attributes that are correlated, or repeat one another, must be asked about together.",
    "The set of attributes must hold every attribute that the sensitive fact leaks into.",
];

impl Reading {
    /// The reading of a pure ε and of a ρ, where there are some, and of attributes that have `values` combinations
    /// (infinitely many where that is not known).
    ///
    /// ```
    /// use scumble::loss::reading::Reading;
    /// use scumble::quantity::epsilon;
    /// let reading = Reading::of(Some(epsilon(1.0)?), None, f64::INFINITY);
    /// assert!((reading.prior_to_posterior - 0.24491866240370913).abs() < 1e-12);
    /// assert!((reading.bit_guess - 0.7310585786300049).abs() < 1e-12);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn of(epsilon: Option<Epsilon>, rho: Option<Rho>, values: f64) -> Self {
        let (epsilon, rho) = (number(epsilon.map(Epsilon::get)), number(rho.map(Rho::get)));
        if epsilon == 0.0 || rho == 0.0 {
            // Nothing was given away, and nothing is to be rounded up.
            return Self {
                posterior_odds_factor: 1.0,
                bit_guess: 0.5,
                prior_to_posterior: 0.0,
                with_or_without: 0.0,
                mutual_information_bits: 0.0,
            };
        }
        // From ρ: Pinsker, and Bretagnolle–Huber.
        let total_variation = (rho / 2.0).sqrt().min((-f64::exp_m1(-rho)).sqrt()).min(1.0);
        let pure_information = if epsilon.is_finite() { epsilon * (epsilon / 2.0).tanh() } else { f64::INFINITY };
        Self {
            posterior_odds_factor: up(epsilon.exp()),
            bit_guess: up((1.0 / (1.0 + (-epsilon).exp())).min(0.5 * (1.0 + total_variation))).min(1.0),
            prior_to_posterior: up((epsilon / 4.0).tanh()).min(1.0),
            with_or_without: up((epsilon / 2.0).tanh()).min(1.0),
            mutual_information_bits: up(rho.min(pure_information) / std::f64::consts::LN_2).min(values.log2()),
        }
    }

    /// The same where the ε and the ρ hold except with probability δ: the laws of the answers are (1 − δ)P′ + δP″ and
    /// (1 − δ)Q′ + δQ″, where P′ and Q′ are as close as ε and ρ say. So a guess is right with probability at most
    /// g + δ(1 − g), if it is with at most g there: for (ε, δ) that is (e^ε + δ)/(1 + e^ε), the point where the
    /// trade-off curve of (ε, δ) meets the diagonal \[Kairouz–Oh–Viswanath 2015\]. Nothing else has a bound: what
    /// happens with probability δ may tell everything.
    ///
    /// ```
    /// use scumble::loss::reading::Reading;
    /// use scumble::quantity::{delta, epsilon};
    /// let reading = Reading::of(Some(epsilon(0.1)?), None, f64::INFINITY).except_with_probability(delta(1e-9)?);
    /// assert!((reading.bit_guess - (0.1f64.exp() + 1e-9) / (1.0 + 0.1f64.exp())).abs() < 1e-12);
    /// assert!(reading.posterior_odds_factor.is_infinite());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn except_with_probability(self, delta: Delta) -> Self {
        let delta = delta.get();
        if delta <= 0.0 {
            return self;
        }
        let guess = self.bit_guess;
        Self {
            posterior_odds_factor: f64::INFINITY,
            bit_guess: up(guess + delta * (1.0 - guess)).min(1.0),
            prior_to_posterior: 1.0,
            with_or_without: 1.0,
            mutual_information_bits: f64::INFINITY,
        }
    }
}

/// A bound that does not exist is infinite.
fn number(bound: Option<f64>) -> f64 {
    bound.unwrap_or(f64::INFINITY)
}

fn up(value: f64) -> f64 {
    value * (1.0 + 1e-15)
}

/// One release in a mixed composition: its pure ε, if it has one, and its ρ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReleaseCost {
    /// The pure bound.
    pub epsilon: Option<Epsilon>,
    /// The concentrated bound.
    pub rho: Rho,
}

/// ε at δ for releases, some of them pure: the best of keeping the largest pure ones as they are and converting the
/// rest through zCDP. Every choice is a valid bound, so the best is.
///
/// # Guarantee
/// If each release is ε-private or ρ-zCDP as its part states, all of them together are (ε, δ)-private, also when chosen
/// adaptively with these bounds fixed beforehand.
///
/// ```
/// use scumble::loss::reading::{ReleaseCost, mixed_epsilon};
/// use scumble::quantity::{delta, epsilon, rho};
/// let noise = ReleaseCost { epsilon: None, rho: rho(0.065)? };
/// let pure = ReleaseCost { epsilon: Some(epsilon(1.2)?), rho: rho(0.6)? };
/// let mixed = mixed_epsilon(&[noise, pure], delta(1e-6)?);
/// assert!((mixed.get() - 2.8956).abs() < 1e-3);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn mixed_epsilon(parts: &[ReleaseCost], delta: Delta) -> Upper {
    let of = |part: &ReleaseCost| part.epsilon.map(|epsilon| (epsilon.get(), part.rho.get()));
    let mut pure: Vec<(f64, f64)> = parts.iter().filter_map(of).collect();
    pure.sort_by(|left, right| left.0.total_cmp(&right.0));
    let concentrated: f64 = parts.iter().filter(|part| part.epsilon.is_none()).map(|part| part.rho.get()).sum();
    let mut best = f64::INFINITY;
    for converted in 0..=pure.len() {
        let rho = concentrated + pure[..converted].iter().map(|part| part.1).sum::<f64>();
        let kept: f64 = pure[converted..].iter().map(|part| part.0).sum();
        best = best.min(kept + converted_to(rho, delta.get()));
    }
    Upper::of(best * (1.0 + 1e-14))
}

/// ε at δ of ρ-zCDP \[CKS20\]: inf over α of ρα + ln(1/(αδ))/(α − 1) + ln(1 − 1/α). Any α gives a bound.
///
/// ```
/// use scumble::loss::reading::converted_epsilon;
/// use scumble::quantity::{delta, rho};
/// assert!((converted_epsilon(rho(1.02)?, delta(1e-6)?).get() - 7.856049769272053).abs() < 1e-6);
/// assert_eq!(converted_epsilon(rho(0.0)?, delta(1e-6)?), 0.0);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn converted_epsilon(rho: Rho, delta: Delta) -> Upper {
    Upper::of(converted_to(rho.get(), delta.get()))
}

/// The same of sums that may be beyond all numbers.
fn converted_to(rho: f64, delta: f64) -> f64 {
    if rho == 0.0 || delta >= 1.0 {
        return 0.0;
    }
    if !rho.is_finite() || delta <= 0.0 {
        return f64::INFINITY;
    }
    let at = |log_excess: f64| {
        let excess = log_excess.exp();
        let order = 1.0 + excess;
        rho * order + (-(order * delta).ln()) / excess - (1.0 / excess).ln_1p()
    };
    // Unimodal in ln(α − 1): three ways of cutting, then the least of what was seen.
    let (mut low, mut high) = (-20.0f64, 40.0f64);
    let mut best = f64::INFINITY;
    for _ in 0..200 {
        let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        let (at_left, at_right) = (at(left), at(right));
        best = best.min(at_left).min(at_right);
        if at_left < at_right { high = right } else { low = left }
    }
    best.max(0.0) * (1.0 + 1e-14)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, Moves, Shift, Touch, Word};
    use crate::loss::Loss;
    use crate::loss::filter::Odometer;
    use crate::quantity::Exact;
    use crate::scope::{AttributeSet, Scope};
    use serde_json::Value;

    fn vectors() -> Value {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/per-attribute.json");
        serde_json::from_str(&std::fs::read_to_string(path).expect("the vectors are there"))
            .expect("the vectors are JSON")
    }

    fn number(value: &Value) -> f64 {
        value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
    }

    fn close(computed: f64, wanted: f64, relative: f64) {
        assert!((computed - wanted).abs() <= relative * wanted.abs(), "{computed} is not {wanted}");
        assert!(computed >= wanted * (1.0 - 1e-13), "{computed} is rounded down from {wanted}");
    }

    #[test]
    fn readings_are_those_of_the_vectors() {
        for row in vectors()["report_fields"].as_array().unwrap() {
            if let Some(epsilon) = row["eps_S"].as_f64() {
                let reading = Reading::of(epsilon.try_into().ok(), None, f64::INFINITY);
                close(reading.posterior_odds_factor, number(&row["posterior_odds_factor"]), 1e-12);
                close(reading.bit_guess, number(&row["uniform_bit_guess_max"]), 1e-12);
                close(reading.prior_to_posterior, number(&row["prior_to_posterior_tv"]), 1e-12);
                close(reading.with_or_without, number(&row["with_vs_without_S_tv"]), 1e-12);
                close(reading.mutual_information_bits, number(&row["mi_bits_pure"]), 1e-12);
                assert!(reading.with_or_without <= number(&row["paper_prop26"]), "the corrected bound is smaller");
            } else {
                let reading = Reading::of(None, number(&row["rho_S"]).try_into().ok(), f64::INFINITY);
                close(reading.bit_guess, number(&row["uniform_bit_guess_max"]), 1e-12);
                close(reading.mutual_information_bits, number(&row["mi_bits"]), 1e-12);
            }
        }
        assert_eq!(Reading::of(None, None, 8.0).mutual_information_bits, 3.0);
        assert_eq!(Reading::of(0.0.try_into().ok(), 0.0.try_into().ok(), 8.0).posterior_odds_factor, 1.0);
    }

    /// The best guess between two laws is right with probability (1 + TV)/2. Of all laws that are (ε, δ)-close, these
    /// of four outcomes are the furthest apart: with probability δ the answer is shown, otherwise it is randomized
    /// response.
    #[test]
    fn a_guess_with_delta_is_the_best_guess_between_the_worst_laws() {
        for (epsilon, delta) in [(0.1f64, 1e-9), (1.0, 0.01), (0.0, 0.5), (3.0, 1.0)] {
            let heads = (1.0 - delta) * epsilon.exp() / (1.0 + epsilon.exp());
            let tails = (1.0 - delta) / (1.0 + epsilon.exp());
            let (one, other) = ([delta, heads, tails, 0.0], [0.0, tails, heads, delta]);
            let apart: f64 = one.iter().zip(other).map(|(one, other)| (one - other).abs()).sum::<f64>() / 2.0;
            let reading = Reading::of(epsilon.try_into().ok(), None, 8.0);
            let reading = reading.except_with_probability(Delta::new(delta).unwrap());
            close(reading.bit_guess, (1.0 + apart) / 2.0, 1e-12);
        }
        let reading = Reading::of(1.0.try_into().ok(), None, 8.0);
        assert_eq!(reading.except_with_probability(Delta::new(0.0).unwrap()), reading);
    }

    #[test]
    fn conversions_are_those_of_the_vectors() {
        for row in vectors()["conversions"]["zcdp_to_approx"].as_array().unwrap() {
            let (rho, delta) = (Rho::new(number(&row["rho"])).unwrap(), Delta::new(number(&row["delta"])).unwrap());
            close(converted_epsilon(rho, delta).get(), number(&row["eps_cks20"]), 1e-9);
        }
    }

    #[test]
    fn a_mixture_of_releases_is_converted_as_in_the_vectors() {
        for row in vectors()["ledger_synthetic"]["rows"].as_array().unwrap() {
            let mut parts = Vec::new();
            for (name, item) in row["items"].as_object().unwrap() {
                let value = number(&item[1]);
                let (epsilon, rho) = match item[0].as_str().unwrap() {
                    "rho" => (None, value),
                    _ if name.starts_with("R3") => (Some(value), number(&row["rho_R3_certified"])),
                    _ => (Some(value), value * (value / 2.0).tanh()),
                };
                let epsilon = epsilon.map(|epsilon| Epsilon::new(epsilon).unwrap());
                parts.push(ReleaseCost { epsilon, rho: Rho::new(rho).unwrap() });
            }
            let mixed = mixed_epsilon(&parts, Delta::new(number(&row["delta"])).unwrap()).get();
            assert!(mixed <= number(&row["eps_reported"]) * (1.0 + 1e-9), "{mixed}: {row}");
            assert!(mixed >= number(&row["eps_reported"]) * (1.0 - 0.05), "{mixed}: {row}");
        }
    }

    fn fraction(text: &str) -> f64 {
        let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
        numerator.parse::<f64>().unwrap() / denominator.parse::<f64>().unwrap()
    }

    /// The 2020 Census of the United States, persons: one zCDP event per level of geography and query.
    fn census() -> Vec<Event> {
        let vectors = vectors();
        let census = &vectors["ledger_census2020_us_persons"];
        let global = fraction(census["global_rho"].as_str().unwrap());
        let mut events = Vec::new();
        for (level, share) in census["geolevels"].as_object().unwrap() {
            for (query, part) in census["queries"][level].as_object().unwrap() {
                let names: Vec<&str> =
                    census["attrs"][query].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
                let rho = global * fraction(share.as_str().unwrap()) * fraction(part.as_str().unwrap());
                let one = vec![Shift::one_cell(1.0).unwrap()];
                let touch = Touch { attributes: AttributeSet::new(names).unwrap(), shifts: one.clone() };
                let moves = Moves::by_scope(one.clone(), one, vec![touch]);
                events.push(Event::new(Word::Zcdp { rho: Rho::new(rho).unwrap() }, moves));
            }
        }
        events
    }

    #[test]
    fn the_2020_census_costs_race_and_ethnicity_what_the_paper_says() {
        let (events, vectors) = (census(), vectors());
        for row in vectors["ledger_census2020_us_persons"]["rows"].as_array().unwrap() {
            let names = row["S"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
            let scope = Scope::Attributes(AttributeSet::new(names).unwrap());
            let spent = rho_of(&events, &scope);
            close(spent, number(&row["rho"]), 1e-12);
            let plain = converted_epsilon(Rho::new(spent).unwrap(), Delta::new(1e-6).unwrap()).get();
            close(plain, number(&row["eps_at_1e_6_cks20"]), 1e-9);
            let answer = Loss::of(&events, &scope).unwrap().epsilon(Delta::new(1e-6).unwrap());
            assert!(answer.upper <= plain * (1.0 + 1e-9), "the accountant's conversion is at least as good");
        }
        close(rho_of(&events, &Scope::Person), 2.556225581051331, 1e-9);
    }

    fn rho_of(events: &[Event], scope: &Scope) -> f64 {
        Odometer::of(events, scope).unwrap().rho(&Exact::zero()).unwrap().to_f64_up()
    }

    #[test]
    fn attributes_are_grouped_before_releases_are_composed() {
        // Two releases of CDP-ε 1 on disjoint attributes cost √2 on the pair, not 2 (Minkowski).
        let vectors = vectors();
        let wanted = number(&vectors["ledger_group_first"]["group_first_eps"]);
        let event = |name: &str| {
            let one = vec![Shift::one_cell(1.0).unwrap()];
            let touch = Touch { attributes: AttributeSet::new([name]).unwrap(), shifts: one.clone() };
            Event::new(Word::Zcdp { rho: Rho::new(0.5).unwrap() }, Moves::by_scope(one.clone(), one, vec![touch]))
        };
        let both = Scope::Attributes(AttributeSet::new(["a", "b"]).unwrap());
        let spent = rho_of(&[event("a"), event("b")], &both);
        close((2.0 * spent).sqrt(), wanted, 1e-12);
    }
}
