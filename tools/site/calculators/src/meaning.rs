//! What ε means: how well anybody can guess one bit of somebody's data, and by which factor a probability changes.

use crate::question::{Question, Refusal};
use crate::shown::{percent_up, upper};
use scumble::quantity::{Delta, Epsilon};
use scumble_adversary::limits::neighbours::success_at_most;
use scumble_chart::{Axis, Captions, LineChart, Series};
use serde_json::{Value, json};

/// As far as the curve goes, and in how many steps.
const END: f64 = 8.0;
const STEPS: u32 = 80;

/// The ceiling of every guess at this ε and δ.
pub fn meaning(question: &Question<'_>) -> Result<Value, Refusal> {
    let (epsilon, delta) = (question.epsilon()?, question.delta()?);
    let guess = success_at_most(epsilon, delta);
    let factor = upper(epsilon.get().exp().next_up().max(1.0));
    let factor = match delta.get() {
        0.0 => format!("No published result becomes more than {factor} times as probable, whatever is in their data."),
        _ => format!(
            "No set of published results becomes more than {factor} times as probable, except for {delta} on top."
        ),
    };
    let point = |epsilon: Epsilon| (epsilon.get(), 100.0 * success_at_most(epsilon, delta));
    let end = END.max(epsilon.get());
    let curve = (0..=STEPS).map(|step| Epsilon::new(end * f64::from(step) / f64::from(STEPS)).map(point));
    let captions = Captions::new("How often the best guess about a coin flip is right, at most")
        .subtitle("percent; 50 is a guess without any data");
    let svg = LineChart::new(captions)
        .size(question.size()?)
        .x(Axis::linear("ε"))
        .y(Axis::linear("percent right, at most").range(50.0, 100.0))
        .line(Series::new("nobody does better", curve.collect::<Result<_, _>>()?))
        .line(Series::new(format!("at your ε: {}", percent_up(guess, 4)), vec![point(epsilon)]))
        .to_svg();
    Ok(json!({
        "claim": format!("{} right, at most", percent_up(guess, 4)),
        "guess": guess,
        "hundred": odds(epsilon, delta),
        "factor": factor,
        "svg": svg,
    }))
}

/// The same as a count of a hundred.
fn odds(epsilon: Epsilon, delta: Delta) -> String {
    let right = (100.0 * success_at_most(epsilon, delta)).ceil();
    format!("Of 100 such guesses, at most {right} are right on average; 50 are right by chance.")
}

#[cfg(test)]
mod tests {
    use crate::answer;
    use scumble::noise::InsecureSeededSource;
    use serde_json::{Value, json};

    fn asked(epsilon: f64, delta: f64) -> Value {
        let question = json!({ "calculator": "meaning", "epsilon": epsilon, "delta": delta, "size": "wide" });
        answer(&question.to_string(), &mut InsecureSeededSource::new(1))
    }

    /// (e^ε + δ)/(e^ε + 1), as docs and the report say it.
    #[test]
    fn the_ceiling_is_that_of_the_adversary() {
        assert_eq!(asked(1.0, 0.0)["claim"], "73.11% right, at most");
        assert_eq!(asked(0.1, 0.0)["claim"], "52.5% right, at most");
        assert_eq!(asked(0.0, 0.0)["claim"], "50.01% right, at most");
        assert_eq!(asked(1.0, 0.1)["claim"], "75.8% right, at most");
        assert!(asked(1.0, 0.0)["factor"].as_str().unwrap().contains("more than 2.718282 times"));
        assert!(asked(0.5, 1e-6)["factor"].as_str().unwrap().contains("except for 1e-6 on top"));
        assert!(asked(20.0, 0.0)["svg"].as_str().unwrap().contains("at your ε: 100%"));
    }
}
