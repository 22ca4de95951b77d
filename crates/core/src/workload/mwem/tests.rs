//! The account, the exact draw of families, and what the rounds achieve.

use super::super::Domain;
use super::*;
use crate::harness::{Claim, Distribution, ProbabilityInterval, Slack, check};
use crate::noise::InsecureSeededSource;
use serde_json::Value;

fn vectors() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/per-attribute.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_account_is_that_of_the_vectors() {
    for row in vectors()["mwem_accounting"].as_array().unwrap() {
        let number = |key: &str| row[key].as_f64().unwrap();
        let (rounds, disjoint) = (number("T") as u32, number("l") as usize);
        let queries = Queries::marginals(&Domain::new(vec![2; 12]).unwrap(), 1).unwrap();
        let rho = Rho::new(number("eps0").powi(2) / 2.0).unwrap();
        let joint = Mwem::of_attribute(queries.clone(), rounds, disjoint, rho, QueryFamilies::Joint).unwrap();
        let blocks = Mwem::of_attribute(queries, rounds, disjoint, rho, QueryFamilies::Blocks).unwrap();
        let close =
            |computed: f64, wanted: f64| assert!((computed / wanted - 1.0).abs() < 1e-12, "{computed} {wanted}");
        close(joint.coefficient, number("exponent_per_count"));
        close(joint.sigma.get(), number("sigma_count"));
        close(joint.rho(Subset::of(&[3])).get(), number("rho_attr_total"));
        close(joint.rho(Subset::of(&[3, 7])).get(), number("rho_S_size2"));
        close(joint.rho_person().get(), number("rho_person_tight"));
        close(blocks.rho_person().get(), number("rho_person_block_partition"));
        assert!(joint.rho_person() <= number("rho_person_paper") * (1.0 + 1e-12));
    }
}

#[test]
fn families_are_drawn_with_the_exact_probabilities_of_the_vectors() {
    for case in vectors()["disjoint_sampler"].as_array().unwrap() {
        let d = case["d"].as_u64().unwrap() as usize;
        let queries = case["queries"].as_array().unwrap();
        let mask = |query: &Value| {
            let mask = query["attr_mask"].as_u64().unwrap();
            Subset::of(&(0..d).filter(|j| mask >> j & 1 == 1).collect::<Vec<_>>())
        };
        // As in a workload, queries about the same attributes stand together.
        let mut order: Vec<usize> = (0..queries.len()).collect();
        order.sort_by_key(|&query| mask(&queries[query]));
        let attributes: Vec<Subset> = order.iter().map(|&query| mask(&queries[query])).collect();
        let numbers: Vec<i64> = order.iter().map(|&query| queries[query]["weight"].as_i64().unwrap()).collect();
        let weights = |precision: Precision| -> Vec<Enclosure> {
            numbers.iter().map(|&weight| precision.ratio(&BigRational::new(weight.into(), 1000.into()))).collect()
        };
        let all = Subset::of(&(0..d).collect::<Vec<_>>());
        let number = case["l"].as_u64().unwrap() as usize;
        let mut bits = InsecureSeededSource::new(4);
        let trials = 4_000;
        let mut seen: BTreeMap<Vec<u64>, u32> = BTreeMap::new();
        for _ in 0..trials {
            let drawn = joint_family(all, &attributes, &weights, number, &mut bits);
            let mut family: Vec<u64> = drawn.iter().map(|&query| order[query] as u64).collect();
            family.sort_unstable();
            *seen.entry(family).or_insert(0) += 1;
        }
        for row in case["probabilities"].as_array().unwrap() {
            let mut family: Vec<u64> = row["family"].as_array().unwrap().iter().map(|q| q.as_u64().unwrap()).collect();
            family.sort_unstable();
            let p = row["p"].as_f64().unwrap();
            let frequency = f64::from(seen.remove(&family).unwrap_or(0)) / f64::from(trials);
            // Bernstein at 1e-12.
            let log = (2.0f64 / 1e-12).ln();
            let allowed = (2.0 * p * (1.0 - p) * log / f64::from(trials)).sqrt() + log / f64::from(trials);
            assert!((frequency - p).abs() <= allowed, "{family:?}: {frequency} for {p}");
        }
        if case["complete"] == true {
            assert!(seen.is_empty(), "a family that does not exist was drawn");
        }
    }
}

/// The exact law of the picked family, straight from its definition.
fn picked(mwem: &Mwem, cells: &[u64]) -> Distribution<Vec<usize>> {
    let people = cells.iter().sum();
    let exact = mwem.queries.answers(cells);
    let model = vec![1.0 / cells.len() as f64; cells.len()];
    let scores = mwem.scores(&exact, &model, people);
    let attributes = mwem.queries.attributes();
    let mut families = vec![(Vec::new(), Subset::EMPTY)];
    for _ in 0..mwem.disjoint {
        families = families
            .iter()
            .flat_map(|(family, used): &(Vec<usize>, Subset)| {
                let from = family.last().map_or(0, |last| last + 1);
                let fits = (from..scores.len()).filter(|&query| !attributes[query].meets(*used));
                let grown = fits.map(|query| {
                    let union = attributes[query].iter().fold(*used, Subset::with);
                    ([&family[..], &[query]].concat(), union)
                });
                grown.collect::<Vec<_>>()
            })
            .collect();
    }
    let weight =
        |family: &[usize]| family.iter().map(|&query| mwem.coefficient * scores[query] as f64).sum::<f64>().exp();
    let total: f64 = families.iter().map(|(family, _)| weight(family)).sum();
    let outcomes =
        families.iter().map(|(family, _)| (family.clone(), ProbabilityInterval::near(weight(family) / total, 1e-12)));
    Distribution::new(outcomes, 0.0)
}

#[test]
fn picking_passes_the_harness_for_every_set_of_attributes() {
    let domain = Domain::new(vec![2, 2, 2]).unwrap();
    let queries = Queries::marginals(&domain, 1).unwrap();
    let mwem = Mwem::of_attribute(queries, 1, 2, Rho::new(0.5).unwrap(), QueryFamilies::Joint).unwrap();
    let record = |cell: usize, base: &[u64]| {
        let mut cells = base.to_vec();
        cells[cell] += 1;
        cells
    };
    for scope in domain.all().subsets().filter(|scope| !scope.is_empty()) {
        let mut pairs = Vec::new();
        for base in [vec![0, 0, 0, 0, 0, 0, 0, 0], vec![3, 0, 1, 0, 0, 2, 0, 1], vec![9, 0, 0, 0, 0, 0, 0, 0]] {
            for left in 0..8 {
                for right in 0..8 {
                    let (a, b) = (domain.values(left), domain.values(right));
                    if left != right && (0..3).all(|j| scope.contains(j) || a[j] == b[j]) {
                        pairs.push((record(left, &base), record(right, &base)));
                    }
                }
            }
        }
        let touched = scope.len().min(2) as f64;
        let moved = touched * mwem.coefficient;
        let orders = [1.1, 1.5, 2.0, 4.0, 16.0];
        let renyi = orders.iter().map(|&order| (order, order * moved * moved / 2.0)).collect();
        let claim = Claim { pure: Some(2.0 * moved), renyi, ..Claim::default() };
        check(&pairs, |cells| picked(&mwem, cells), &claim, Slack::ANY);
    }
}

#[test]
fn a_drawn_family_follows_the_law_that_the_harness_checked() {
    let domain = Domain::new(vec![2, 2, 2]).unwrap();
    let mwem =
        Mwem::of_attribute(Queries::marginals(&domain, 1).unwrap(), 1, 2, Rho::new(0.5).unwrap(), QueryFamilies::Joint)
            .unwrap();
    let cells = [3, 0, 1, 0, 0, 2, 0, 1];
    let exact = picked(&mwem, &cells);
    let scores = mwem.scores(&mwem.queries.answers(&cells), &[0.125; 8], 7);
    let mut bits = InsecureSeededSource::new(8);
    let trials = 20_000;
    let mut seen: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
    for _ in 0..trials {
        let mut family = mwem.pick(&scores, &mut bits).unwrap();
        family.sort_unstable();
        *seen.entry(family).or_insert(0) += 1;
    }
    for (family, probability) in exact.iter() {
        let frequency = f64::from(*seen.get(family).unwrap_or(&0)) / f64::from(trials);
        let log = (2.0f64 / 1e-12).ln();
        let allowed = (probability.upper * log / 10_000.0).sqrt() + log / f64::from(trials);
        assert!((frequency - probability.upper).abs() <= allowed, "{family:?}: {frequency} {probability:?}");
    }
}

#[test]
fn rounds_bring_the_model_close_to_the_data() {
    let domain = Domain::new(vec![3, 2, 2, 2]).unwrap();
    let counts: Vec<u64> = (0..24).map(|cell: u64| if cell % 7 < 2 { 900 } else { 20 }).collect();
    let people: u64 = counts.iter().sum();
    let error = |cells: &[f64], queries: &Queries| {
        let exact = queries.answers(&counts);
        let off = queries.answers(cells);
        exact.iter().zip(&off).map(|(&exact, off)| (exact as f64 - off).abs()).fold(0.0, f64::max) / people as f64
    };
    let queries = Queries::marginals(&domain, 2).unwrap();
    let uniform = vec![people as f64 / 24.0; 24];
    for (disjoint, families) in [(1, QueryFamilies::Joint), (2, QueryFamilies::Joint), (2, QueryFamilies::Blocks)] {
        let mwem = Mwem::of_attribute(queries.clone(), 12, disjoint, Rho::new(0.5).unwrap(), families).unwrap();
        let fitted = mwem.release(&counts, people, &mut InsecureSeededSource::new(3)).unwrap();
        assert!((fitted.iter().sum::<f64>() - people as f64).abs() < 1e-3);
        let (before, after) = (error(&uniform, &queries), error(&fitted, &queries));
        assert!(after < before / 3.0, "{disjoint} {families:?}: {before} became {after}");
    }
}

#[test]
fn what_cannot_be_run_is_refused() {
    let queries = || Queries::marginals(&Domain::new(vec![2; 3]).unwrap(), 2).unwrap();
    let rho = Rho::new(1.0).unwrap();
    let check = |result: Result<Mwem>, part: &str| {
        let sentence = result.unwrap_err().to_string();
        assert!(sentence.contains(part), "{sentence}");
    };
    check(Mwem::of_attribute(queries(), 0, 1, rho, QueryFamilies::Joint), "1 to 10000 rounds");
    check(
        Mwem::of_attribute(queries(), 1, 2, rho, QueryFamilies::Joint),
        "no 2 queries about disjoint attributes, only 1",
    );
    check(Mwem::of_attribute(queries(), 1, 9, rho, QueryFamilies::Blocks), "1 to 3 queries per round");
}
