//! An attack on made-up data, with and without noise: reconstruction of a secret column from published counts.
//!
//! As `scumble lab attack demo`, anew each time: the secret, the groups and the noise are drawn from the browser's
//! random bytes, the noise by the core's own sampler.

use crate::question::{Question, Refusal};
use crate::shown::{digits, percent_up};
use scumble::calibrate::Target;
use scumble::event::{Moves, Shift};
use scumble::mechanism::additive::Additive;
use scumble::noise::BitSource;
use scumble::quantity::{Beta, Delta};
use scumble::scope::Scope;
use scumble_adversary::attack::{Queries, least_squares, recovered};
use scumble_adversary::limits::neighbours::success_at_most;
use serde_json::{Value, json};

/// How many people the made-up hospital has, and how many counts it publishes.
const PEOPLE: u32 = 200;
const COUNTS: u32 = 400;

/// Makes up a hospital, attacks its exact counts and its private ones.
pub fn attack(question: &Question<'_>, bits: &mut dyn BitSource) -> Result<Value, Refusal> {
    let epsilon = question.epsilon()?;
    let secret: Vec<bool> = (0..PEOPLE).map(|_| bits.next_bits(1) == 1).collect();
    let groups = (0..COUNTS).map(|_| (0..PEOPLE).filter(|_| bits.next_bits(1) == 1).collect()).collect();
    let queries = Queries::new(PEOPLE as usize, groups)?;
    let column: Vec<f64> = secret.iter().map(|bit| f64::from(u8::from(*bit))).collect();
    let exact = queries.answers(&column);
    // One person is in any of the counts: all of them move by at most 1 at once.
    let counts = Additive::of(Moves::everywhere(Shift::new(COUNTS.into(), 1.0)?));
    let counts = counts.within(Target::pure(epsilon), Scope::Person)?;
    let whole: Vec<i64> = exact.iter().map(|count| *count as i64).collect();
    let noisy: Vec<f64> = counts.release(whole, bits).into_iter().map(|count| count as f64).collect();
    let ceiling = success_at_most(epsilon, Delta::new(0.0)?);
    let attempt = |answers: &[f64]| -> Result<Value, Refusal> {
        let found = least_squares::reconstruct(&queries, answers)?.column;
        let score = recovered(&found, &secret)?;
        let squares: String = found.iter().zip(&secret).map(|(a, b)| if a == b { '1' } else { '0' }).collect();
        Ok(json!({ "right": score.right, "squares": squares }))
    };
    let most = (ceiling * f64::from(PEOPLE)).ceil();
    Ok(json!({
        "people": PEOPLE,
        "counts": COUNTS,
        "exact": attempt(&exact)?,
        "noisy": attempt(&noisy)?,
        "constant": recovered(&secret, &secret)?.constant_guess,
        "margin": digits(counts.error(Beta::new(0.05)?)?),
        "most": most,
        "ceiling": format!(
            "At ε = {epsilon} nobody can expect more than {most} of {PEOPLE} ({}); one try scatters by about {:.0}.",
            percent_up(ceiling, 4), f64::from(PEOPLE).sqrt(),
        ),
    }))
}

#[cfg(test)]
mod tests {
    use crate::answer;
    use scumble::calibrate::Target;
    use scumble::event::{Moves, Shift};
    use scumble::loss::filter::Odometer;
    use scumble::mechanism::additive::Additive;
    use scumble::noise::InsecureSeededSource;
    use scumble::scope::Scope;
    use serde_json::{Value, json};

    fn asked(epsilon: f64, seed: u64) -> Value {
        let question = json!({ "calculator": "attack", "epsilon": epsilon });
        answer(&question.to_string(), &mut InsecureSeededSource::new(seed))
    }

    /// Exact counts give every diagnosis away. At ε = 0.1 somebody who guesses 105 of 200 on average gets 160 with a
    /// probability below e^{−2·55²/200} = 7e-14 in each of ten tries.
    #[test]
    fn exact_counts_give_all_away_and_noisy_ones_do_not() {
        for seed in 0..10 {
            let shown = asked(0.1, seed);
            assert_eq!(shown["exact"]["right"], 200);
            assert!(shown["noisy"]["right"].as_u64().unwrap() < 160, "{shown}");
            assert_eq!(shown["noisy"]["squares"].as_str().unwrap().len(), 200);
            assert_eq!(shown["most"], 105.0);
        }
        assert_eq!(asked(1e4, 1)["noisy"]["right"], 200);
        assert!(asked(0.0, 1)["refused"].is_string());
    }

    /// What the page says of ε holds of the noise that it draws.
    #[test]
    fn the_counts_cost_what_the_page_says() {
        let counts = Additive::of(Moves::everywhere(Shift::new(400, 1.0).unwrap()));
        let counts = counts.within(Target::pure(1.0.try_into().unwrap()), Scope::Person).unwrap();
        let spent = Odometer::of(&counts.events().unwrap(), &Scope::Person).unwrap().pure_sum().unwrap();
        assert!(spent <= "1".parse().unwrap() && spent.to_f64() > 0.999, "{spent}");
    }
}
