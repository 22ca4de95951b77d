//! The golden vectors of learning (s9) and of the local model (s10), computed elsewhere from the same formulas.

use scumble::event::{Quotient, Word};
use scumble::learn::generic::GenericLearner;
use scumble::learn::parity::ParityLearner;
use scumble::learn::query::{CentralQueries, StatisticalQueries};
use scumble::learn::{Example, conjunction};
use scumble::mechanism::randomized_response::RandomizedResponse;
use scumble::noise::InsecureSeededSource;
use scumble::parties::local::{AbsentOwners, FrequencyOracle, ReportKind};
use scumble::quantity::{Beta, Delta, Epsilon, Rho};
use scumble::{AttributeSet, Loss, Scope, Target};
use serde_json::Value;
use std::collections::BTreeMap;

fn vectors(start: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../../../testdata/survey.json")).unwrap();
    let named = |vector: &&Value| vector["name"].as_str().unwrap().starts_with(start);
    let found: Vec<Value> = all["vectors"].as_array().unwrap().iter().filter(named).cloned().collect();
    assert!(!found.is_empty(), "{start}");
    found
}

fn near(found: f64, expected: &Value, relative: f64) {
    let expected = expected.as_f64().unwrap_or_else(|| panic!("no number: {expected}"));
    assert!((found - expected).abs() <= relative * expected.abs(), "{found} is not {expected}");
}

fn number(vector: &Value, field: &str) -> f64 {
    vector["input"][field].as_f64().unwrap()
}

fn quotient(value: &Value) -> Quotient {
    value.as_str().unwrap().parse().unwrap()
}

fn share(quotient: Quotient) -> f64 {
    let (above, below) = quotient.parts();
    f64::from(above) / f64::from(below)
}

/// The law of the vector against draws; false alarm 1e-11 for each outcome, by Hoeffding. (The law as rationals is
/// compared with the code's own in `learn/parity/tests.rs`.)
#[test]
fn parities_cost_and_draw_as_the_vectors_say() {
    for name in ["s9_parity_inconsistent", "s9_parity_consistent"] {
        let vector = &vectors(name)[0];
        let learner =
            ParityLearner::new(quotient(&vector["input"]["keep"]), quotient(&vector["input"]["give_up"])).unwrap();
        near(learner.epsilon_presence().get(), &vector["expected"]["epsilon_presence"], 1e-12);
        near(learner.epsilon_person().get(), &vector["expected"]["epsilon_person"], 1e-12);
        let events = learner.events(None).unwrap();
        for (scope, field) in [(Scope::Presence, "epsilon_presence"), (Scope::Person, "epsilon_person")] {
            near(
                Loss::of(&events, scope).unwrap().epsilon(Delta::new(0.0).unwrap()).upper,
                &vector["expected"][field],
                1e-9,
            );
        }
        // The best give-up of this keep: nothing is lost by it, and giving up less often costs more.
        let cost = |give_up: Quotient, field: &str| {
            let learner = ParityLearner::new(learner.keep(), give_up).unwrap();
            if field == "presence" { learner.epsilon_presence().get() } else { learner.epsilon_person().get() }
        };
        for field in ["presence", "person"] {
            let best = quotient(&vector["expected"][format!("give_up_{field}_optimal")]);
            let (above, below) = best.parts();
            let less = Quotient::new(1_000 * above - 1, 1_000 * below).unwrap();
            assert!((cost(best, field) - cost("1/2".parse().unwrap(), field)).abs() < 1e-12);
            assert!(cost(less, field) > cost(best, field) + 1e-6, "{name} {field}");
        }
        let attributes = vector["input"]["bits"].as_u64().unwrap() as usize;
        let row = |row: &Value| Example::from_words(vec![row[0].as_u64().unwrap()], attributes, row[1] == 1).unwrap();
        let rows: Vec<Example> = vector["input"]["rows"].as_array().unwrap().iter().map(row).collect();
        let draws = 200_000;
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        let mut bits = InsecureSeededSource::new(1);
        for _ in 0..draws {
            let found = learner.release(&rows, attributes, &mut bits).unwrap();
            let key = found.map(|h| h.attributes().iter().map(|j| 1u64 << j).sum::<u64>().to_string());
            *counts.entry(key.unwrap_or("none".to_string())).or_default() += 1;
        }
        let allowed = (f64::from(draws) * (2.0f64 / 1e-11).ln() / 2.0).sqrt();
        for (outcome, chance) in vector["expected"]["law"].as_object().unwrap() {
            let expected = share(quotient(chance)) * f64::from(draws);
            assert!((f64::from(counts[outcome]) - expected).abs() <= allowed, "{name} {outcome}");
        }
    }
}

/// On the grid of 2^−31, towards privacy.
#[test]
fn parities_for_a_target_are_the_best_ones() {
    for vector in vectors("s9_parity_plan") {
        let epsilon = number(&vector, "epsilon");
        for (learner, scope) in [
            (ParityLearner::for_person(Epsilon::new(epsilon).unwrap()).unwrap(), "person"),
            (ParityLearner::for_presence(Epsilon::new(epsilon).unwrap()).unwrap(), "presence"),
        ] {
            let best = &vector["expected"][scope];
            near(share(learner.keep()), &best["keep"], 1e-8);
            near(share(learner.give_up()), &best["give_up"], 1e-8);
            assert!(share(learner.keep()) <= best["keep"].as_f64().unwrap());
        }
        let printed = &vector["expected"]["printed_person_epsilon_at_keep_epsilon"];
        if printed.is_number() {
            let as_printed = ParityLearner::new("1/2".parse().unwrap(), "1/2".parse().unwrap()).unwrap();
            near(as_printed.epsilon_person().get(), printed, 1e-12);
        }
    }
}

/// Draws against the probabilities, as above.
#[test]
fn the_generic_learner_chooses_as_the_vector_says() {
    let vector = &vectors("s9_generic")[0];
    let learner = GenericLearner::new(Epsilon::new(number(vector, "coefficient")).unwrap()).unwrap();
    let events = learner.events(None).unwrap();
    for (scope, field) in [(Scope::Presence, "epsilon_presence"), (Scope::Person, "epsilon_person")] {
        near(
            Loss::of(&events, scope).unwrap().epsilon(Delta::new(0.0).unwrap()).upper,
            &vector["expected"][field],
            1e-12,
        );
    }
    let mistakes: Vec<u64> =
        vector["input"]["mistakes"].as_array().unwrap().iter().map(|m| m.as_u64().unwrap()).collect();
    let draws = 400_000;
    let mut counts = vec![0u32; mistakes.len()];
    let mut bits = InsecureSeededSource::new(2);
    (0..draws).for_each(|_| counts[learner.release(&mistakes, &mut bits).unwrap()] += 1);
    let allowed = (f64::from(draws) * (2.0f64 / 1e-11).ln() / 2.0).sqrt();
    for (count, chance) in counts.iter().zip(vector["expected"]["probabilities"].as_array().unwrap()) {
        assert!((f64::from(*count) - chance.as_f64().unwrap() * f64::from(draws)).abs() <= allowed);
    }
}

/// The vector's tolerance is that of continuous noise; ours is the exact quantile of the discrete noise, the whole
/// number next to it.
#[test]
fn conjunctions_are_planned_as_the_vector_says() {
    let vector = &vectors("s9_conjunction_plan")[0];
    let attributes = number(vector, "attributes") as usize;
    let n = number(vector, "n");
    let row = Example::new(&vec![true; attributes], true);
    let rows = vec![row; n as usize];
    let target = Target::zcdp(Rho::new(number(vector, "rho")).unwrap());
    let mut bits = InsecureSeededSource::new(3);
    let central = CentralQueries::within(target, Scope::Presence, &rows, 1, &mut bits).unwrap();
    let beta = number(vector, "beta");
    conjunction::with_batch(attributes, &[], |batch| {
        let event = central.events_of_batch(batch).unwrap().remove(0);
        let Word::DiscreteGaussian { sigma } = event.word() else { panic!("{event:?}") };
        near(sigma.get(), &vector["expected"]["sigma"], 1e-9);
        let tolerance = central.batch_tolerance(batch, Beta::new(beta).unwrap()).unwrap() * n;
        let continuous = vector["expected"]["tolerance_count"].as_f64().unwrap();
        assert!(tolerance.round() == continuous.floor() || tolerance.round() == continuous.ceil(), "{tolerance}");
        Ok(())
    })
    .unwrap();
    let error = conjunction::error(&central, attributes, Beta::new(beta).unwrap()).unwrap();
    near(error, &vector["expected"]["error_at_most"], 0.015);
}

fn oracle(kind: ReportKind, vector: &Value) -> FrequencyOracle {
    FrequencyOracle::new(kind, Epsilon::new(number(vector, "epsilon")).unwrap(), number(vector, "values") as u64)
        .unwrap()
}

#[test]
fn frequency_oracles_are_those_of_the_vectors() {
    for vector in vectors("s10_frequency") {
        let expected = &vector["expected"];
        let of = |kind: ReportKind| oracle(kind, &vector);
        near(of(ReportKind::KAry).variance(), &expected["krr_variance"], 1e-12);
        near(of(ReportKind::Unary).variance(), &expected["oue_variance"], 1e-12);
        near(of(ReportKind::Hadamard).variance(), &expected["hadamard_variance"], 1e-12);
        near(of(ReportKind::Unary).epsilon_presence().get(), &expected["presence_epsilon_oue"], 2e-12);
        near(of(ReportKind::Hadamard).epsilon_presence().get(), &expected["presence_epsilon_hadamard"], 2e-12);
        let size = expected["hadamard_size"].as_u64().unwrap();
        let hadamard = of(ReportKind::Hadamard);
        assert!(hadamard.read(&format!("h{}", size - 1)).is_some() && hadamard.read(&format!("h{size}")).is_none());
        let Word::Pair(pair) =
            hadamard.events(&AttributeSet::new(["value"]).unwrap(), AbsentOwners::Silent).unwrap()[1].word().clone()
        else {
            panic!()
        };
        near(pair.p()[0] * 4.0 / size as f64, &expected["hadamard_p_in"], 1e-12);
        near(pair.p()[1] * 4.0 / size as f64, &expected["hadamard_p_out"], 1e-12);
        let best =
            FrequencyOracle::best(Epsilon::new(number(&vector, "epsilon")).unwrap(), number(&vector, "values") as u64)
                .unwrap();
        let name = match best.kind() {
            ReportKind::KAry => "krr",
            ReportKind::Unary => "oue",
            _ => "hadamard",
        };
        assert_eq!(name, expected["best"]);
    }
}

#[test]
fn pairs_and_presence_are_those_of_the_vectors() {
    for vector in vectors("s10_pair") {
        let expected = &vector["expected"];
        near(oracle(ReportKind::KAry, &vector).epsilon_presence().get(), &expected["krr_presence_epsilon"], 2e-12);
        for kind in [ReportKind::Unary, ReportKind::Hadamard] {
            let Word::Pair(pair) =
                oracle(kind, &vector).events(&AttributeSet::new(["value"]).unwrap(), AbsentOwners::Silent).unwrap()[1]
                    .word()
                    .clone()
            else {
                panic!()
            };
            for place in 0..3 {
                near(pair.p()[place], &expected["pair_p"][place], 1e-12);
                near(pair.q()[place], &expected["pair_q"][place], 1e-12);
            }
        }
    }
    // The mechanism that was there before is the k-ary oracle.
    assert!(RandomizedResponse::new(Epsilon::new(1.0).unwrap(), 3).is_ok());
}
