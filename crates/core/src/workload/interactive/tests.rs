use super::*;
use crate::harness::{Claim, Distribution, ProbabilityInterval, Slack, check, neighbours};
use crate::noise::{BitSource, InsecureSeededSource};
use crate::scope::Scope;

fn golden(name: &str) -> serde_json::Value {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/survey.json"));
    let all: serde_json::Value = serde_json::from_str(text).unwrap();
    all["vectors"].as_array().unwrap().iter().find(|vector| vector["name"] == name).unwrap().clone()
}

#[test]
fn the_plan_is_the_golden_one() {
    let vector = golden("s5_plan");
    let input = |field: &str| vector["input"][field].as_f64().unwrap();
    let whole = |field: &str| input(field) as u64;
    let plan = InteractivePlan::within(
        of_rounds(input("epsilon_per_round"), whole("updates")),
        Scope::Presence,
        whole("universe"),
        whole("n"),
        whole("queries"),
        whole("updates"),
        Beta::new(input("beta")).unwrap(),
    );
    let promise = *plan.unwrap().promise();
    let near = |field: &str, found: f64| {
        let expected = vector["expected"][field].as_f64().unwrap();
        assert!((found - expected).abs() <= 1e-12 * expected, "{field} is {found}, not {expected}");
    };
    near("epsilon_threshold", promise.epsilon_threshold.get());
    near("epsilon_query", promise.epsilon_question.get());
    near("epsilon_answer", promise.epsilon_answer.get());
    near("gap", promise.gap);
    let exact = [
        ("t_threshold", promise.slack_threshold),
        ("t_query", promise.slack_question),
        ("t_answer", promise.slack_answer),
        ("threshold", promise.threshold),
        ("error", promise.error),
    ];
    for (field, found) in exact {
        assert_eq!(vector["expected"][field].as_u64(), Some(found), "{field}");
    }
}

/// So many rounds at ε each.
fn of_rounds(each: f64, rounds: u64) -> Target {
    Target::pure(Epsilon::new(each * rounds as f64).unwrap())
}

/// A plan in any scope: an owner is one step in each.
fn planned(cells: u64, total: u64, questions: u64, updates: u64, each: f64, beta: f64) -> Result<InteractivePlan> {
    let target = of_rounds(each, updates.max(1));
    InteractivePlan::within(target, Scope::Presence, cells, total, questions, updates, Beta::new(beta).unwrap())
}

/// D(x‖h).
fn distance(truth: &[f64], model: &CellWeights) -> f64 {
    let parts = truth.iter().enumerate().filter(|(_, p)| **p > 0.0);
    parts.map(|(cell, p)| p * (p / model.share(cell)).ln()).sum()
}

fn model(shares: &[f64]) -> CellWeights {
    CellWeights { weights: shares.to_vec(), sum: shares.iter().sum() }
}

#[test]
fn an_update_is_the_golden_one() {
    let vector = golden("s5_update");
    let numbers = |field: &str| serde_json::from_value::<Vec<f64>>(vector["input"][field].clone()).unwrap();
    let expected = |field: &str| vector["expected"][field].as_f64().unwrap();
    let near = |field: &str, found: f64| assert!((found - expected(field)).abs() <= 1e-10 * expected(field), "{field}");
    let (truth, before) = (numbers("truth"), model(&numbers("model")));
    let question = LinearQuery::on_grid(&numbers("query"), 1).unwrap();
    let share: f64 = truth.iter().zip(numbers("query")).map(|(p, q)| p * q).sum();
    let gap = share - before.answer(&question);
    near("gap", gap);
    for (factor, drop) in [(4.0, "drop_step_4"), (0.5, "drop_step_half")] {
        let mut after = before.clone();
        after.update(&question, factor * gap);
        near(drop, distance(&truth, &before) - distance(&truth, &after));
        if factor == 4.0 {
            let shares: Vec<f64> = serde_json::from_value(vector["expected"]["updated_step_4"].clone()).unwrap();
            assert!(shares.iter().enumerate().all(|(cell, p)| (after.share(cell) - p).abs() < 1e-10));
        }
    }
    near("floor_step_4", 2.0 * gap * gap);
    near("floor_step_half", 15.0 / 32.0 * gap * gap);
}

/// A seeded number in [0, 1).
fn number(bits: &mut InsecureSeededSource) -> f64 {
    bits.next_bits(32) as f64 / f64::from(u32::MAX)
}

#[test]
fn an_update_by_four_gaps_comes_nearer_by_twice_the_square() {
    let mut bits = InsecureSeededSource::new(3);
    for _ in 0..2000 {
        let cells = 2 + bits.next_bits(3) as usize;
        let shares = |bits: &mut InsecureSeededSource| {
            let raw: Vec<f64> = (0..cells).map(|_| number(bits).powi(4) + 1e-9).collect();
            let sum: f64 = raw.iter().sum();
            raw.iter().map(|part| part / sum).collect::<Vec<f64>>()
        };
        let (truth, before) = (shares(&mut bits), model(&shares(&mut bits)));
        let values: Vec<f64> = (0..cells).map(|_| number(&mut bits)).collect();
        let question = LinearQuery::on_grid(&values, 1000).unwrap();
        let true_share = model(&truth).answer(&question);
        let gap = true_share - before.answer(&question);
        let mut after = before.clone();
        after.update(&question, 4.0 * gap);
        let drop = distance(&truth, &before) - distance(&truth, &after);
        assert!(drop >= 2.0 * gap * gap - 1e-12, "{drop} {gap}");
    }
}

/// A round of these questions to the uniform model, as its law: which question was measured, and what came out; none
/// where all were answered by the model.
fn law(plan: &InteractivePlan, questions: &[LinearQuery], counts: &[u64]) -> Distribution<Option<(usize, i64)>> {
    let model = CellWeights::uniform(counts.len());
    let look = |question: &LinearQuery| {
        let (count, share) = model.look(question, counts);
        (count, plan.expected(share))
    };
    let looked: Vec<(u64, u64)> = questions.iter().map(look).collect();
    let scores: Vec<i64> = looked.iter().map(|(count, expected)| count.abs_diff(*expected) as i64).collect();
    let tested = crate::mechanism::sparse_vector::law_of_a_round(&plan.test, &scores, plan.promise.threshold as i64);
    let decay = (-1.0 / plan.scale().get()).exp();
    let reach = (40.0 * plan.scale().get()) as i64 + 5;
    let mut outcomes = vec![(None, ProbabilityInterval::near(tested[scores.len()], 1e-10))];
    for (index, (count, _)) in looked.iter().enumerate() {
        for noise in -reach..=reach {
            let mass = (1.0 - decay) / (1.0 + decay) * decay.powi(noise.abs() as i32);
            outcomes
                .push((Some((index, *count as i64 + noise)), ProbabilityInterval::near(tested[index] * mass, 1e-10)));
        }
    }
    Distribution::new(outcomes, 1e-15)
}

#[test]
fn every_round_costs_what_its_events_say() {
    let universe = neighbours::records(&[2, 2]);
    let names = ["a", "b"];
    let plan = planned(4, 5, 3, 2, 4.0, 0.5).unwrap();
    let events = plan.events_of_round(&AttributeSet::new(names).unwrap()).unwrap();
    let questions = [
        LinearQuery::of([false, false, true, true]),
        LinearQuery::of([true, false, true, true]),
        LinearQuery::on_grid(&[0.0, 0.3, 0.7, 1.0], 10).unwrap(),
    ];
    let run = |data: &Vec<Vec<usize>>| {
        let count = |one: &Vec<usize>| data.iter().filter(|record| *record == one).count() as u64;
        law(&plan, &questions, &universe.iter().map(count).collect::<Vec<_>>())
    };
    let people: Vec<_> = (1..=4).flat_map(|owners| neighbours::person(&universe, owners)).collect();
    check(&neighbours::presence(&universe, 4), run, &Claim::of(&events, &Scope::Presence, &[1.0]), Slack::ANY);
    check(&people, run, &Claim::of(&events, &Scope::Person, &[1.0]), Slack::ANY);
    for (index, name) in names.into_iter().enumerate() {
        let scope = Scope::Attributes(AttributeSet::new([name]).unwrap());
        check(&neighbours::attributes(&universe, 4, &[index]), run, &Claim::of(&events, &scope, &[1.0]), Slack::ANY);
    }
}

/// Forty questions that are off by more than the threshold already (many more owners are there than were declared),
/// which somebody who comes makes worse; and then one that they make better.
#[test]
fn the_claim_of_a_round_is_tight() {
    let plan = planned(2, 12, 41, 1, 1.5, 0.5).unwrap();
    let mut questions = vec![LinearQuery::of([true, true]); 40];
    questions.push(LinearQuery::of([false, true]));
    let owners = plan.promise().threshold + 14;
    let pairs = [(vec![owners, 0], vec![owners, 1])];
    let run = |counts: &Vec<u64>| law(&plan, &questions, counts);
    let claim = |epsilon: f64| Claim { pure: Some(epsilon), ..Claim::default() };
    let events = plan.events_of_round(&AttributeSet::empty()).unwrap();
    let claimed = Claim::of(&events, &Scope::Presence, &[]).pure.unwrap();
    assert!((claimed - 1.5).abs() < 1e-9, "{claimed}");
    check(&pairs, run, &claim(claimed), Slack { pure: 0.01, ..Slack::ANY });
    assert!(std::panic::catch_unwind(|| check(&pairs, run, &claim(0.99 * claimed), Slack::ANY)).is_err());
}

/// One round too few in the charge of all rounds passed all tests.
#[test]
fn all_rounds_cost_as_many_times_as_they_are() {
    let attributes = AttributeSet::new(["a"]).unwrap();
    let plan = planned(4, 100, 9, 7, 0.3, 0.05).unwrap();
    for scope in [Scope::Presence, Scope::Person, Scope::Attributes(attributes.clone())] {
        let cost = |events: &[Event]| Claim::of(events, &scope, &[]).pure.unwrap();
        let all = cost(&plan.events(&attributes).unwrap());
        assert!((all - 7.0 * cost(&plan.events_of_round(&attributes).unwrap())).abs() < 1e-9 && all > 2.09, "{all}");
    }
}

/// All rounds on data far from uniform: everything is within its promise, and the updates are enough.
#[test]
fn answers_are_within_the_promise() {
    let counts = [90_000u64, 4_000, 3_000, 1_000, 1_500, 200, 200, 100];
    let plan = InteractivePlan::best_within(
        Target::pure(Epsilon::new(50.0).unwrap()),
        Scope::Presence,
        8,
        100_000,
        200,
        Beta::new(0.05).unwrap(),
    )
    .unwrap();
    let mut wrong = 0;
    for seed in 0..20 {
        let mut bits = InsecureSeededSource::new(seed);
        let mut model = CellWeights::uniform(8);
        let (mut round, mut used, mut failed) = (Some(plan.open(&mut bits)), 0, false);
        for _ in 0..200 {
            let question = LinearQuery::of((0..8).map(|_| bits.next_bits(1) == 1).collect::<Vec<_>>());
            let (count, share) = model.look(&question, &counts);
            let expected = plan.expected(share);
            let Some(open) = round.take() else {
                failed |= count.abs_diff(expected) > plan.promise().error;
                continue;
            };
            match plan.ask(open, count, expected, &mut bits) {
                Reply::Model(open) => {
                    failed |= count.abs_diff(expected) > plan.promise().error;
                    round = Some(open);
                }
                Reply::Measured(noisy) => {
                    failed |= (count as i64).abs_diff(noisy) > plan.promise().slack_answer;
                    model.update(&question, plan.step(noisy, expected));
                    used += 1;
                    round = (used < plan.updates()).then(|| plan.open(&mut bits));
                }
            }
        }
        assert!(used > 0, "the uniform model is far off");
        wrong += u32::from(failed);
    }
    // 5% of 20 fail at most; 13 or more come with probability below 1e-11.
    assert!(wrong <= 12, "{wrong}");
}

#[test]
fn one_pass_sees_what_two_do_and_one_owner_counts_once() {
    let mut bits = InsecureSeededSource::new(8);
    for cells in [1usize, 7, 8, 9, 1030, 5000] {
        let values: Vec<f64> = (0..cells).map(|_| number(&mut bits)).collect();
        let question = LinearQuery::on_grid(&values, 17).unwrap();
        let counts: Vec<u64> = (0..cells).map(|_| bits.next_bits(9)).collect();
        let mut model = CellWeights::uniform(cells);
        model.update(&LinearQuery::of((0..cells).map(|cell| cell % 3 == 0)), 0.7);
        let (count, share) = model.look(&question, &counts);
        assert_eq!(count, question.count(&counts));
        assert!((share - model.answer(&question)).abs() < 1e-12);
        for cell in 0..cells.min(40) {
            let mut more = counts.clone();
            more[cell] += 1;
            assert!((count..=count + 1).contains(&question.count(&more)));
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |cells, total, questions, updates| planned(cells, total, questions, updates, 0.1, 0.05).unwrap_err();
    assert!(refused(10_000_001, 5, 1, 1).to_string().contains("10^7 combinations of values, not 10000001"));
    assert!(refused(0, 5, 1, 1).to_string().contains("not 0"));
    assert!(refused(8, 5, 1, 0).to_string().contains("1 to 1000000 times, not 0"));
    assert!(refused(8, 0, 1, 1).to_string().contains("at least one question"));
    assert!(refused(8, 5, 0, 1).to_string().contains("at least one question"));
    assert!(planned(8, 5, 1, 1, 0.0, 0.05).is_err());
    assert!(LinearQuery::on_grid(&[-0.1], 2).is_err() && LinearQuery::on_grid(&[0.1], 0).is_err());
}

/// §5.3: direct noise is better in the example that the plan's golden numbers are of, and so is a noisy table of
/// everything.
#[test]
fn direct_noise_is_nearly_always_better() {
    let plan = planned(1 << 20, 10_000_000, 100_000, 2000, 0.0005, 0.05).unwrap();
    let everything = histogram_error(1 << 20, Epsilon::new(1.0).unwrap(), 100_000, Beta::new(0.05).unwrap()).unwrap();
    assert!(everything < 20_000.0 && (plan.promise().error as f64) > 50.0 * everything, "{everything}");
    let best = InteractivePlan::best_within(
        Target::pure(Epsilon::new(1.0).unwrap()),
        Scope::Presence,
        1 << 10,
        100_000,
        1000,
        Beta::new(0.05).unwrap(),
    )
    .unwrap();
    assert!(
        best.promise().error as f64 > direct_error(Epsilon::new(1.0).unwrap(), 1000, Beta::new(0.05).unwrap()).unwrap()
    );
}
