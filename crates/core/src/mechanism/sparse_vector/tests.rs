use super::*;
use crate::harness::statistics::assert_agree;
use crate::harness::{Claim, Distribution, ProbabilityInterval, Slack, check};
use crate::noise::InsecureSeededSource;
use crate::scope::Scope;

/// P\[DLap = z\] and P\[DLap < k\], in closed form.
struct LaplaceFormula(f64);

impl LaplaceFormula {
    fn of(noise: &DiscreteLaplace) -> Self {
        Self((-1.0 / noise.scale().get()).exp())
    }

    fn mass(&self, z: i64) -> f64 {
        (1.0 - self.0) / (1.0 + self.0) * self.0.powi(z.abs() as i32)
    }

    fn below(&self, k: i64) -> f64 {
        let tail = |k: i64| self.0.powi(k as i32) / (1.0 + self.0);
        if k <= 0 { tail(1 - k) } else { 1.0 - tail(k) }
    }
}

/// P\[first at or above is t\] = Σ_ρ P\[ρ\]·Π P\[ν < T + ρ − u_i\]·P\[ν ≥ T + ρ − u_t\]; the last is that none is.
pub(crate) fn law(test: &SparseVector, scores: &[i64], threshold: i64) -> Vec<f64> {
    law_of(&LaplaceFormula::of(&test.threshold), &LaplaceFormula::of(&test.question), scores, threshold)
}

fn law_of(rho: &LaplaceFormula, nu: &LaplaceFormula, scores: &[i64], threshold: i64) -> Vec<f64> {
    // The scale is −1/ln of the decay.
    let reach = (-45.0 / rho.0.ln()) as i64 + 60;
    let mut law = vec![0.0; scores.len() + 1];
    for secret in -reach..=reach {
        let mut open = rho.mass(secret);
        for (chance, score) in law.iter_mut().zip(scores) {
            let limit = threshold + secret - score;
            *chance += open * nu.below(1 - limit);
            open *= nu.below(limit);
        }
        law[scores.len()] += open;
    }
    law
}

fn distribution(test: &SparseVector, scores: &[i64], threshold: i64) -> Distribution<usize> {
    let law = law(test, scores, threshold);
    Distribution::new(law.into_iter().map(|p| ProbabilityInterval::near(p, 1e-10)).enumerate(), 1e-15)
}

fn golden(name: &str) -> serde_json::Value {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/survey.json"));
    let all: serde_json::Value = serde_json::from_str(text).unwrap();
    all["vectors"].as_array().unwrap().iter().find(|vector| vector["name"] == name).unwrap().clone()
}

#[test]
fn sequences_have_the_golden_probabilities() {
    for name in ["s5_sparse_vector_short", "s5_sparse_vector_tight"] {
        let vector = golden(name);
        let input = |field: &str| vector["input"][field].clone();
        let scores = |field: &str| serde_json::from_value::<Vec<i64>>(input(field)).unwrap();
        let rates = ["scale_threshold", "scale_query"].map(|field| 1.0 / input(field).as_f64().unwrap());
        let threshold = input("threshold").as_i64().unwrap();
        // Where all scores move the same way, the same noise is worth half as much on the questions.
        let general = SparseVector::within_parts(
            Target::pure(Epsilon::new(rates[0]).unwrap()),
            Target::pure(Epsilon::new(2.0 * rates[1]).unwrap()),
            Scope::Presence,
            ScoreChange::General,
        )
        .unwrap();
        let monotone = SparseVector::within_parts(
            Target::pure(Epsilon::new(rates[0]).unwrap()),
            Target::pure(Epsilon::new(rates[1]).unwrap()),
            Scope::Presence,
            ScoreChange::Monotone,
        )
        .unwrap();
        for test in [&general, &monotone] {
            let near = |field: &str, found: f64| {
                let expected = vector["expected"][field].as_f64().unwrap();
                assert!((found - expected).abs() <= 1e-9 * expected, "{name}: {field} is {found}, not {expected}");
            };
            let (left, right) =
                (law(test, &scores("scores"), threshold), law(test, &scores("neighbour_scores"), threshold));
            let last = left.len() - 2;
            near("probability", left[last]);
            near("neighbour_probability", right[last]);
            near("no_crossing_probability", left[last + 1]);
            near("log_ratio", (left[last] / right[last]).ln());
            let claim = if test.change == ScoreChange::Monotone { "claim_monotone" } else { "claim" };
            near(claim, test.epsilon.get());
        }
    }
}

/// All score vectors of three questions, with all that differ as one owner may change them.
fn pairs(change: ScoreChange, both_ways: bool) -> Vec<(Vec<i64>, Vec<i64>)> {
    let vectors = |low: i64, high: i64| {
        (low..=high).flat_map(move |a| (low..=high).flat_map(move |b| (low..=high).map(move |c| vec![a, b, c])))
    };
    let least = if change == ScoreChange::General || both_ways { -1 } else { 0 };
    let moved = |scores: &[i64], by: &[i64]| scores.iter().zip(by).map(|(score, by)| score + by).collect::<Vec<i64>>();
    vectors(-2, 2)
        .flat_map(|scores| vectors(least, 1).map(move |by| (scores.clone(), moved(&scores, &by))).collect::<Vec<_>>())
        .collect()
}

/// In presence, person and attributes, both orders (`check` looks at both), sequences of three questions.
#[test]
fn every_sequence_costs_what_the_event_says() {
    let value = AttributeSet::new(["value"]).unwrap();
    for (change, seen) in [(ScoreChange::General, [false, true, true]), (ScoreChange::Monotone, [false, true, true])] {
        let test = SparseVector::within_parts(
            Target::pure(Epsilon::new(0.3).unwrap()),
            Target::pure(Epsilon::new(0.6).unwrap()),
            Scope::Presence,
            change,
        )
        .unwrap();
        let events = test.events(&value).unwrap();
        for (scope, both_ways) in [Scope::Presence, Scope::Person, Scope::Attributes(value.clone())].iter().zip(seen) {
            let claim = Claim::of(&events, scope, &[0.2, 0.5]);
            check(&pairs(change, both_ways), |scores| distribution(&test, scores, 1), &claim, Slack::ANY);
        }
        let unread = Scope::Attributes(AttributeSet::new(["other"]).unwrap());
        assert_eq!(Claim::of(&events, &unread, &[]).pure, Some(0.0));
    }
}

/// 20 questions that come nearer, and one that goes away: within 1% of the claim, so that a claim 1% too small fails.
#[test]
fn the_claim_is_tight() {
    for change in [ScoreChange::General, ScoreChange::Monotone] {
        let test = SparseVector::within(Target::pure(Epsilon::new(0.9).unwrap()), Scope::Presence, change).unwrap();
        let (mut left, mut right) = (vec![2; 40], vec![3; 40]);
        left.push(-12);
        // Where all move the same way, the worst that the last can do is to stay.
        right.push(if change == ScoreChange::General { -13 } else { -12 });
        let pairs = [(left, right)];
        let claim = |epsilon: f64| Claim { pure: Some(epsilon), ..Claim::default() };
        let law = |scores: &Vec<i64>| distribution(&test, scores, 0);
        check(&pairs, law, &claim(0.9), Slack { pure: 0.01, ..Slack::ANY });
        assert!(std::panic::catch_unwind(|| check(&pairs, law, &claim(0.9 * 0.99), Slack::ANY)).is_err());
    }
}

/// Half of the noise on the threshold passed all tests here: each compared `law`, a second copy of the formula, with
/// the claim, and none drew from `open`, `ask` or `release`. So what these draw is compared with the law of the ε₁ and
/// ε₂ that the event charges. Seeded; each comparison fails by chance once in 10^9.
#[test]
fn rounds_are_drawn_from_the_law_that_is_charged() {
    for (change, moved, seed) in [(ScoreChange::General, 2.0, 31), (ScoreChange::Monotone, 1.0, 32)] {
        let test = SparseVector::within_parts(
            Target::pure(Epsilon::new(0.4).unwrap()),
            Target::pure(Epsilon::new(0.7).unwrap()),
            Scope::Presence,
            change,
        )
        .unwrap();
        let events = test.events(&AttributeSet::empty()).unwrap();
        assert!(matches!(events[0].word(), Word::Pure { epsilon } if (epsilon.get() - 1.1).abs() < 1e-12));
        let (secret, question) = (LaplaceFormula((-0.4f64).exp()), LaplaceFormula((-0.7f64 / moved).exp()));
        let (draws, mut bits) = (60_000u64, InsecureSeededSource::new(seed));
        let drawn: Vec<i64> = (0..draws).map(|_| test.open(&mut bits).secret() as i64).collect();
        let times = |z: i64| drawn.iter().filter(|found| **found == z).count() as u64;
        assert_agree("the secret", draws, (-20..=20).map(|z| (times(z), secret.mass(z))));
        // Given the secret 3 and the threshold 5, a score of 4 goes on if its noise is below 4.
        let below =
            (0..draws).filter(|_| test.ask(ThresholdNoise::resumed(3), 4, 5, &mut bits).is_some()).count() as u64;
        assert_agree("a question", draws, [(below, question.below(4)), (draws - below, 1.0 - question.below(4))]);
        let scores = [-1, 2, 0, 3];
        let found: Vec<usize> =
            (0..draws).map(|_| test.release(&scores, 2, &mut bits).unwrap_or(scores.len())).collect();
        let law = law_of(&secret, &question, &scores, 2);
        let times = |place: usize| found.iter().filter(|found| **found == place).count() as u64;
        assert_agree("a round", draws, law.iter().enumerate().map(|(place, chance)| (times(place), *chance)));
    }
}

/// "Charged only on updates" is false: answers that were all below have cost ε₁ already.
#[test]
fn an_open_round_has_cost_its_first_part() {
    let test = SparseVector::within_parts(
        Target::pure(Epsilon::new(0.3).unwrap()),
        Target::pure(Epsilon::new(0.6).unwrap()),
        Scope::Presence,
        ScoreChange::General,
    )
    .unwrap();
    let none = |score: i64| law(&test, &[score; 300], 0)[300];
    let lost = (none(0) / none(1)).ln();
    assert!(lost > 0.299 && lost <= 0.3 + 1e-9, "{lost}");
}

#[test]
fn what_is_exceeded_is_the_least() {
    for scale in [0.1, 1.0, 3.3, 250.0, 7.39e3] {
        let above = |t: f64| 2.0 * (-(t + 1.0) / scale).exp() / (1.0 + (-1.0f64 / scale).exp());
        for p in [0.9, 0.5, 0.05, 1e-6, 1e-12] {
            let t = exceeded(Scale::new(scale).unwrap(), Beta::new(p).unwrap()) as f64;
            assert!(above(t) <= p && (t == 0.0 || above(t - 1.0) > p), "{scale} {p} {t}");
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    assert!(
        SparseVector::within(Target::pure(Epsilon::new(0.0).unwrap()), Scope::Presence, ScoreChange::General).is_err()
    );
    assert!(
        SparseVector::within_parts(
            Target::pure(Epsilon::new(0.1).unwrap()),
            Target::pure(Epsilon::new(0.0).unwrap()),
            Scope::Presence,
            ScoreChange::General
        )
        .is_err()
    );
    assert_eq!(format!("{:?}", ThresholdNoise::resumed(12345)), "ThresholdNoise(secret)");
}
