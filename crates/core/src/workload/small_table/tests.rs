use super::*;
use crate::harness::statistics::assert_agree;
use crate::harness::{Claim, Distribution, ProbabilityInterval, Slack, check, neighbours};
use crate::noise::InsecureSeededSource;
use crate::scope::Scope;

fn golden() -> serde_json::Value {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/survey.json"));
    let all: serde_json::Value = serde_json::from_str(text).unwrap();
    all["vectors"].as_array().unwrap().iter().find(|vector| vector["name"] == "s5_smalldb").unwrap().clone()
}

/// All candidates with their scores and probabilities.
fn law(table: &SmallTable, counts: &[u64], total: u64) -> Vec<(Vec<u32>, i64, f64)> {
    let mut all = Vec::new();
    table.walk(counts, total, |candidate, off| {
        all.push((candidate.to_vec(), -(off as i64)));
        true
    });
    let rate = table.epsilon.get() / (2 * table.size) as f64;
    let weight = |score: i64| (rate * score as f64).exp();
    let sum: f64 = all.iter().map(|(_, score)| weight(*score)).sum();
    all.into_iter().map(|(candidate, score)| (candidate, score, weight(score) / sum)).collect()
}

fn lists(value: &serde_json::Value) -> Vec<Vec<u32>> {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn candidates_scores_and_probabilities_are_the_golden_ones() {
    let vector = golden();
    let (input, expected) = (&vector["input"], &vector["expected"]);
    let universe = input["universe"].as_u64().unwrap() as u32;
    let conditions: Vec<Vec<bool>> = lists(&input["queries"])
        .iter()
        .map(|query| (0..universe).map(|element| query.contains(&element)).collect())
        .collect();
    let table = SmallTable::within(
        Target::pure(Epsilon::new(input["epsilon"].as_f64().unwrap()).unwrap()),
        Scope::Presence,
        &conditions,
        input["size"].as_u64().unwrap(),
    )
    .unwrap();
    let rows: Vec<u32> = serde_json::from_value(input["rows"].clone()).unwrap();
    let counts: Vec<u64> = (0..universe).map(|e| rows.iter().filter(|row| **row == e).count() as u64).collect();
    let total = input["total"].as_u64().unwrap();
    let found = law(&table, &counts, total);
    assert_eq!(found.iter().map(|(table, ..)| table.clone()).collect::<Vec<_>>(), lists(&expected["candidates"]));
    assert_eq!(serde_json::json!(found.iter().map(|(_, score, _)| *score).collect::<Vec<_>>()), expected["scores"]);
    let probabilities: Vec<f64> = serde_json::from_value(expected["probabilities"].clone()).unwrap();
    for ((_, _, found), expected) in found.iter().zip(&probabilities) {
        assert!((found - expected).abs() <= 1e-12 * expected, "{found} {expected}");
    }
    // And that is what is drawn.
    let mut bits = InsecureSeededSource::new(5);
    let mut seen = vec![0u64; found.len()];
    for _ in 0..40_000 {
        let drawn = table.release(&counts, total, &mut bits).unwrap();
        seen[found.iter().position(|(table, ..)| *table == drawn).unwrap()] += 1;
    }
    assert_agree("small tables", 40_000, seen.into_iter().zip(probabilities));
}

/// Every record of two binary attributes, and all conditions on one or both of them.
fn conditions(records: &[Vec<usize>]) -> Vec<Vec<bool>> {
    let of = |holds: &dyn Fn(&[usize]) -> bool| records.iter().map(|record| holds(record)).collect::<Vec<bool>>();
    let mut all = vec![of(&|record| record[0] == 1), of(&|record| record[1] == 1)];
    all.extend(records.iter().map(|one| of(&|record| record == one)));
    all
}

fn run<'a>(
    table: &'a SmallTable,
    universe: &'a [Vec<usize>],
    total: u64,
) -> impl Fn(&Vec<Vec<usize>>) -> Distribution<Vec<u32>> + 'a {
    move |data| {
        let counts: Vec<u64> =
            universe.iter().map(|one| data.iter().filter(|record| *record == one).count() as u64).collect();
        let law = law(table, &counts, total).into_iter();
        Distribution::new(law.map(|(candidate, _, p)| (candidate, ProbabilityInterval::near(p, 1e-12))), 0.0)
    }
}

#[test]
fn every_neighbour_in_every_scope() {
    let universe = neighbours::records(&[2, 2]);
    let names = ["a", "b"];
    for size in 1..=3 {
        let table =
            SmallTable::within(Target::pure(Epsilon::new(0.8).unwrap()), Scope::Presence, &conditions(&universe), size)
                .unwrap();
        let events = table.events(&AttributeSet::new(names).unwrap()).unwrap();
        // The declared number may be right or wrong.
        for total in [4, 7] {
            let law = run(&table, &universe, total);
            let people: Vec<_> = (1..=4).flat_map(|owners| neighbours::person(&universe, owners)).collect();
            let presence = neighbours::presence(&universe, 4);
            check(&presence, &law, &Claim::of(&events, &Scope::Presence, &[0.3]), Slack::ANY);
            check(&people, &law, &Claim::of(&events, &Scope::Person, &[0.3]), Slack::ANY);
            for (index, name) in names.into_iter().enumerate() {
                let pairs = neighbours::attributes(&universe, 4, &[index]);
                let scope = Scope::Attributes(AttributeSet::new([name]).unwrap());
                check(&pairs, &law, &Claim::of(&events, &scope, &[0.3]), Slack::ANY);
            }
        }
    }
}

/// One element or the other, and one condition: an owner who changes, comes or goes moves one score up and the other
/// down, and the worse one is hardly ever drawn.
#[test]
fn the_claim_is_tight_in_presence_and_in_person() {
    let universe = neighbours::records(&[2]);
    let table =
        SmallTable::within(Target::pure(Epsilon::new(3.0).unwrap()), Scope::Presence, &[vec![true, false]], 1).unwrap();
    let law = run(&table, &universe, 12);
    for pairs in [neighbours::presence(&universe, 12), neighbours::person(&universe, 12)] {
        let claim = |epsilon: f64| Claim { pure: Some(epsilon), ..Claim::default() };
        check(&pairs, &law, &claim(3.0), Slack { pure: 1e-3, ..Slack::ANY });
        assert!(
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&pairs, &law, &claim(2.97), Slack::ANY)))
                .is_err()
        );
    }
}

#[test]
fn errors_are_kept_and_walks_are_complete() {
    let universe = neighbours::records(&[2, 2]);
    let conditions = conditions(&universe);
    let table = SmallTable::within(Target::pure(Epsilon::new(1.0).unwrap()), Scope::Presence, &conditions, 12).unwrap();
    assert_eq!(table.candidates(), 455);
    let counts = [400, 100, 30, 470];
    assert_eq!(law(&table, &counts, 1000).len(), 455);
    let off = table.error(Beta::new(0.05).unwrap(), 1000).unwrap();
    let mut bits = InsecureSeededSource::new(9);
    let mut wrong = 0;
    for _ in 0..200 {
        let drawn = table.release(&counts, 1000, &mut bits).unwrap();
        let truth = |q: usize| -> u64 { counts.iter().zip(&conditions[q]).map(|(c, q)| c * u64::from(*q)).sum() };
        let answers = table.answers(&drawn, 1000);
        wrong += u32::from(answers.iter().enumerate().any(|(q, answer)| (answer - truth(q) as f64).abs() > off));
    }
    // 10 are expected at most; more than 50 of 200 come with probability below 1e-9.
    assert!(wrong <= 50, "{wrong}");
}

#[test]
fn what_cannot_be_done_is_refused_with_a_remedy() {
    let refused = |conditions: &[Vec<bool>], size: u64| {
        SmallTable::within(Target::pure(Epsilon::new(1.0).unwrap()), Scope::Presence, conditions, size)
            .unwrap_err()
            .to_string()
    };
    assert!(refused(&[], 3).contains("at least one condition"));
    assert!(refused(&[vec![]], 3).contains("at least one element"));
    assert!(refused(&[vec![true]], 0).contains("1 to 10000 rows, not 0"));
    assert!(refused(&[vec![true], vec![true, false]], 1).contains("every element"));
    let many = refused(&vec![vec![true; 100]; 40], 6);
    assert!(many.contains("10^8") && many.contains("mwem") && many.contains("interactive"), "{many}");
    assert!(SmallTable::within(Target::pure(Epsilon::new(0.0).unwrap()), Scope::Presence, &[vec![true]], 1).is_err());
    // The largest that is allowed is one walk of 10^8 comparisons; one row more is refused.
    assert!(best_size(100, 40, Epsilon::new(1.0).unwrap(), 1000).unwrap() < 6);
}
