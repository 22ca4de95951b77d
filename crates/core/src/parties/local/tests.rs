//! Reports: every claim against the exact law of all reports for every pair of values, and the sampler against the law.

use super::*;
use crate::harness::{Claim, Distribution, ProbabilityInterval, Slack, check};
use crate::noise::InsecureSeededSource;
use crate::quantity::Delta;
use crate::scope::Scope;
use num_bigint::BigInt;
use num_rational::BigRational;

/// The exact law of a report: unary and Hadamard by their integers, k-ary by e^ε.
fn law(oracle: &FrequencyOracle, value: Option<u64>) -> Distribution<u64> {
    let whole = BigInt::from(1u32) << 64;
    let lie = BigRational::new(oracle.coin.lies().into(), whole);
    let one = BigRational::from_integer(1.into());
    let ratio = |above: u64, below: u64| BigRational::new(above.into(), below.into());
    match oracle.kind {
        ReportKind::KAry => {
            let (keep, others) = oracle.kept();
            let chance = |answer: u64| match value {
                None => 1.0 / oracle.values as f64,
                Some(own) if own == answer => keep,
                Some(_) => others / (oracle.values - 1) as f64,
            };
            Distribution::new(
                (0..oracle.values).map(|answer| (answer, ProbabilityInterval::near(chance(answer), 1e-13))),
                0.0,
            )
        }
        ReportKind::Unary => Distribution::exact((0..1u64 << oracle.values).map(|ones| {
            let bit = |place: u64| {
                let chance = if value == Some(place) { ratio(1, 2) } else { lie.clone() };
                if ones >> place & 1 == 1 { chance } else { &one - chance }
            };
            (ones, (0..oracle.values).map(bit).product())
        })),
        ReportKind::Hadamard => Distribution::exact((0..oracle.rows()).map(|row| {
            let inside = value.map(|value| (row & (value + 1)).count_ones().is_multiple_of(2));
            let half = ratio(2, oracle.rows());
            let chance = match inside {
                None => ratio(1, oracle.rows()),
                Some(true) => half * (&one - &lie),
                Some(false) => half * &lie,
            };
            (row, chance)
        })),
    }
}

fn oracles() -> Vec<FrequencyOracle> {
    let mut oracles = Vec::new();
    for epsilon in [0.05, 1.0, 2.5, 9.0] {
        for values in [2, 3, 5, 7] {
            oracles.extend(
                ReportKind::ALL.map(|kind| FrequencyOracle::new(kind, Epsilon::new(epsilon).unwrap(), values).unwrap()),
            );
        }
    }
    oracles
}

/// The attribute that a report is about.
fn value() -> AttributeSet {
    AttributeSet::new(["value"]).unwrap()
}

fn asked(epsilon: f64) -> [f64; 3] {
    [0.0, epsilon / 3.0, 0.9 * epsilon]
}

#[test]
fn the_claim_is_the_truth_for_every_pair_of_values() {
    for oracle in oracles() {
        let pairs: Vec<_> = (0..oracle.values).flat_map(|a| (0..a).map(move |b| (Some(a), Some(b)))).collect();
        let events = oracle.events(&value(), AbsentOwners::Silent).unwrap();
        let claim = Claim::of(&events, &Scope::Attributes(value()), &asked(oracle.epsilon.get()));
        assert!(claim.pure.unwrap() <= oracle.epsilon.get() * (1.0 + 1e-9));
        check(&pairs, |value| law(&oracle, *value), &claim, Slack { pure: 1e-6, delta: 1e-3, renyi: 1e-3 });
    }
}

#[test]
fn the_claim_is_the_truth_for_somebody_and_nobody() {
    for oracle in oracles() {
        let pairs: Vec<_> = (0..oracle.values).map(|value| (Some(value), None)).collect();
        let events = oracle.events(&value(), AbsentOwners::Report).unwrap();
        let claim = Claim::of(&events, &Scope::Presence, &asked(oracle.epsilon.get() / 2.0));
        assert!((claim.pure.unwrap() / oracle.epsilon_presence().get() - 1.0).abs() < 1e-6);
        check(&pairs, |value| law(&oracle, *value), &claim, Slack { pure: 1e-6, delta: 1e-3, renyi: 1e-3 });
    }
}

#[test]
#[should_panic(expected = "unsound")]
fn a_claim_one_percent_too_small_fails() {
    let oracle = FrequencyOracle::new(ReportKind::Hadamard, Epsilon::new(1.0).unwrap(), 5).unwrap();
    let claim = Claim { pure: Some(0.99), ..Claim::default() };
    check(&[(Some(0), Some(1))], |value| law(&oracle, *value), &claim, Slack::ANY);
}

/// The story: without absent owners' reports, `person` cost ε = 1 beside a presence of ∞, though who replaces an owner
/// may be one who sends nothing. Where they report, a person is replaced by another value or by none, and costs what
/// the worse of both does.
#[test]
fn a_person_costs_at_least_its_presence() {
    for oracle in oracles() {
        for absent in [AbsentOwners::Silent, AbsentOwners::Report] {
            let events = oracle.events(&value(), absent).unwrap();
            let loss = |scope: Scope| crate::Loss::of(&events, scope).unwrap();
            let (person, presence) = (loss(Scope::Person), loss(Scope::Presence));
            for delta in [0.0, 1e-9, 1e-3, 0.1] {
                let [person, presence] =
                    [&person, &presence].map(|loss| loss.epsilon(Delta::new(delta).unwrap()).upper);
                assert!(person >= presence * (1.0 - 1e-4), "{oracle:?} {absent:?} {delta}: {person} {presence}");
            }
        }
        // Enumerated: a value beside any other value and beside none.
        let pairs: Vec<_> = (0..oracle.values).map(|value| (Some(value), None)).collect();
        let events = oracle.events(&value(), AbsentOwners::Report).unwrap();
        let claim = Claim::of(&events, &Scope::Person, &asked(oracle.epsilon.get()));
        check(&pairs, |value| law(&oracle, *value), &claim, Slack::ANY);
    }
}

/// An owner who takes part sends a report: nothing is promised about presence unless absent owners report too.
/// Attributes that do not decide the value cost nothing.
#[test]
fn presence_is_not_protected_by_silence() {
    for oracle in oracles() {
        let age = AttributeSet::new(["age"]).unwrap();
        let events = oracle.events(&age, AbsentOwners::Silent).unwrap();
        let epsilon = |scope: Scope| crate::Loss::of(&events, scope).unwrap().epsilon(Delta::new(0.0).unwrap()).upper;
        assert_eq!((epsilon(Scope::Presence), epsilon(Scope::Person)), (f64::INFINITY, f64::INFINITY));
        assert_eq!(epsilon(Scope::Attributes(AttributeSet::new(["size"]).unwrap())), 0.0);
        assert!((epsilon(Scope::Attributes(age)) - oracle.epsilon.get()).abs() < 1e-6);
        events.iter().for_each(|event| event.moves().check().unwrap());
    }
}

/// Two reports about the same value, each one's claim composed.
#[test]
fn two_reports_cost_what_is_claimed() {
    for kind in [ReportKind::Unary, ReportKind::Hadamard] {
        let oracle = FrequencyOracle::new(kind, Epsilon::new(0.8).unwrap(), 3).unwrap();
        let twice = |value: &Option<u64>| law(&oracle, *value).product(&law(&oracle, *value));
        let event = oracle.events(&value(), AbsentOwners::Silent).unwrap().remove(1).repeated(2).unwrap();
        let claim = Claim::of(&[event], &Scope::Attributes(value()), &[0.1, 0.7, 1.2]);
        check(&[(Some(0), Some(1)), (Some(2), Some(0))], twice, &claim, Slack { pure: 1e-6, delta: 1e-2, renyi: 1e-2 });
    }
}

/// Exactly `lies` of the 2^64 words lie, and one fewer would be above ε.
#[test]
fn the_coin_lies_as_rarely_as_epsilon_allows() {
    for epsilon in [1e-9, 1e-3, 0.5, 1.0, 2f64.ln(), 10.0, 40.0] {
        let coin = Coin::new(Epsilon::new(epsilon).unwrap()).unwrap();
        // (2^64 − a)/a ≤ e^ε, with e^ε enclosed to 200 digits.
        let precision = crate::noise::refine::Precision { bits: 700 };
        let lighter = precision.exp_minus(crate::quantity::Exact::from_f64(epsilon).unwrap().rational());
        let truths = |lies: u64| (num_bigint::BigUint::from(1u32) << 64) - lies;
        let (lies, fewer) = (coin.lies(), coin.lies() - 2);
        assert!(truths(lies) * &lighter.high <= num_bigint::BigUint::from(lies) << 700u32, "{epsilon}");
        assert!(truths(fewer) * &lighter.low > num_bigint::BigUint::from(fewer) << 700u32, "{epsilon}");
    }
    for refused in [0.0, 1e-10, 41.0] {
        assert!(Coin::new(Epsilon::new(refused).unwrap()).is_err());
    }
}

/// Sums of E[estimate] over all reports: what nobody holds is 0, what all hold is 1, for absent owners 0.
#[test]
fn estimates_are_unbiased() {
    for oracle in oracles() {
        let support = oracle.support();
        let cases = (0..oracle.values).map(Some).chain((oracle.kind != ReportKind::KAry).then_some(None));
        for held in cases {
            let mut expected = vec![0.0; oracle.values as usize];
            for (report, chance) in law(&oracle, held).iter() {
                let text = match oracle.kind {
                    ReportKind::KAry => format!("k{report}"),
                    ReportKind::Hadamard => format!("h{report}"),
                    ReportKind::Unary => Report::Ones { words: vec![*report], values: oracle.values }.to_string(),
                };
                let mut tally = oracle.tally().unwrap();
                assert!(tally.add(text.as_bytes()), "{text}");
                for (sum, seen) in expected.iter_mut().zip(tally.supports()) {
                    *sum += (chance.lower + chance.upper) / 2.0 * (seen as f64 - support.other) / support.gap;
                }
            }
            for (value, found) in expected.iter().enumerate() {
                let truth = f64::from(u8::from(held == Some(value as u64)));
                assert!((found - truth).abs() < 1e-9, "{:?} {held:?} {value}: {found}", oracle.kind);
            }
        }
    }
}

/// The drawn reports against the exact law. False alarm: β = 1e-11 for each of fewer than 100 counts, by Hoeffding.
#[test]
fn reports_are_drawn_from_the_stated_law() {
    let draws = 200_000u32;
    let allowed = (f64::from(draws) * (2.0f64 / 1e-11).ln() / 2.0).sqrt();
    for kind in ReportKind::ALL {
        let oracle = FrequencyOracle::new(kind, Epsilon::new(1.2).unwrap(), 3).unwrap();
        for value in [Some(0), Some(2), None] {
            let mut bits = InsecureSeededSource::new(21);
            let mut counts = [0u32; 8];
            for _ in 0..draws {
                let report = match value {
                    Some(value) => oracle.report(value, &mut bits).unwrap(),
                    None => oracle.absent(&mut bits),
                };
                let outcome = match report {
                    Report::Value(outcome) | Report::Row(outcome) => outcome,
                    Report::Ones { words, .. } => words[0],
                };
                counts[outcome as usize] += 1;
            }
            for (outcome, chance) in law(&oracle, value).iter() {
                let expected = chance.lower * f64::from(draws);
                assert!(
                    (f64::from(counts[*outcome as usize]) - expected).abs() <= allowed,
                    "{kind:?} {value:?} {outcome}"
                );
            }
        }
    }
}

/// What an oracle writes it reads, and it reads nothing else: not another oracle's, not another alphabet's, not two
/// reports in one.
#[test]
fn only_reports_are_read() {
    let mut bits = InsecureSeededSource::new(3);
    for kind in ReportKind::ALL {
        for values in [2, 3, 63, 64, 65, 1000] {
            let oracle = FrequencyOracle::new(kind, Epsilon::new(0.9).unwrap(), values).unwrap();
            let mut tally = oracle.tally().unwrap();
            for value in [0, 1, values - 1] {
                let report = oracle.report(value, &mut bits).unwrap();
                assert_eq!(oracle.read(&report.to_string()), Some(report.clone()));
                assert!(tally.add(report.to_string().as_bytes()));
            }
            let longest = Report::Ones { words: vec![u64::MAX; 16], values: values + 4 }.to_string();
            let wrong = [
                "",
                "k",
                "h",
                "u",
                "k-1",
                "k+1",
                "k01",
                "h 1",
                "k1 ",
                "k1,k2",
                "k1 k1",
                "K1",
                "x1",
                "1",
                "k1\0",
                "h1.0",
                "k99999999999999999999",
                "k1000",
                "h1024",
                &longest,
                "ué",
                "u0G",
            ];
            for text in wrong {
                assert!(oracle.read(text).is_none() && !tally.add(text.as_bytes()), "{kind:?} {values}: {text}");
            }
            assert_eq!((tally.reports(), tally.rejected()), (3, wrong.len() as u64));
        }
    }
    let five = FrequencyOracle::new(ReportKind::Unary, Epsilon::new(1.0).unwrap(), 5).unwrap();
    assert!(five.read("uf1").is_some() && five.read("uf2").is_none(), "bits of values that do not exist");
}

#[test]
fn what_is_refused_is_refused_before_anything_is_drawn() {
    let oracle = FrequencyOracle::best(Epsilon::new(1.0).unwrap(), 3).unwrap();
    let mut none = InsecureSeededSource::new(1);
    assert_eq!(oracle.report(3, &mut none).unwrap_err().to_string(), "a value must be a number from 0 to 2");
    assert_eq!(none.next_u64(), InsecureSeededSource::new(1).next_u64());
    for (kind, values) in [
        (ReportKind::KAry, 1),
        (ReportKind::Unary, MOST_UNARY_VALUES + 1),
        (ReportKind::Hadamard, u64::MAX),
        (ReportKind::Hadamard, 0),
    ] {
        assert!(FrequencyOracle::new(kind, Epsilon::new(1.0).unwrap(), values).is_err());
    }
}
