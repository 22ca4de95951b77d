//! Whole queries with unknown keys: the exact output distribution of every neighbour of tiny tables against the claimed (ε, δ).
//!
//! A key's output is nothing, or all its noisy measures; keys are independent. So a pair of tables is, key by key, a pair of listed laws,
//! and the pairs of the keys that differ multiply. δ at ε is Σ max(0, p − e^ε·q) over the products.

use super::*;

/// A pair of laws as (probability under the one, under the other) for outcomes of equal ratio.
type Pair = Vec<(f64, f64)>;

/// The noise's probabilities, but for a mass below 1e-13.
fn mass(noise: &Noise) -> Vec<(i128, f64)> {
    let (reach, weight): (f64, Box<dyn Fn(f64) -> f64>) = match noise {
        Noise::Laplace(noise) => {
            let scale = noise.scale().get();
            (30.0 * scale, Box::new(move |z: f64| (-z.abs() / scale).exp()))
        }
        Noise::Gaussian(noise) => {
            let sigma = noise.sigma().get();
            (8.0 * sigma, Box::new(move |z: f64| (-z * z / (2.0 * sigma * sigma)).exp()))
        }
        other => panic!("no such noise in a query: {}", other.name()),
    };
    let reach = reach.ceil() as i128;
    let total: f64 = (-reach..=reach).map(|z| weight(z as f64)).sum();
    (-reach..=reach).map(|z| (z, weight(z as f64) / total)).collect()
}

/// Noisy numbers that are given instead of drawn.
struct Told<'a>(std::slice::Iter<'a, i128>);

impl Chance for Told<'_> {
    fn noised(&mut self, _: &Noise, _: i128) -> i128 {
        *self.0.next().unwrap()
    }

    fn chosen(&mut self, _: &Quantile, _: &BTreeMap<u128, u64>) -> u128 {
        0
    }
}

/// Whether the code that releases publishes a key with these noisy measures.
fn is_published(plan: &SqlPlan, cell: &crate::sql::integers::Cell, noisy: &[i128]) -> bool {
    let one = crate::sql::integers::Integers { keys: vec![Vec::new()], cells: vec![cell.clone()] };
    !noised(&plan.cut, one, &plan.private, &mut Told(noisy.iter())).cells.is_empty()
}

/// What is published of a key: nothing, or its noisy measures.
fn law(plan: &SqlPlan, cell: Option<&crate::sql::integers::Cell>) -> BTreeMap<Option<Vec<i128>>, f64> {
    let Some(cell) = cell else { return BTreeMap::from([(None, 1.0)]) };
    let mut law = BTreeMap::from([(Some(vec![]), 1.0)]);
    for (noise, exact) in plan.private.noises.iter().zip(&cell.sums) {
        let mut longer = BTreeMap::new();
        for (values, probability) in &law {
            for (z, mass) in mass(noise) {
                let values = values.iter().flatten().copied().chain([exact + z]).collect();
                longer.insert(Some(values), probability * mass);
            }
        }
        law = longer;
    }
    // The noisy number of owners decides, so that the code is asked once for each.
    let owners = plan.cut.query.owners().unwrap();
    let (mut published, mut decided) = (BTreeMap::new(), BTreeMap::new());
    for (values, probability) in law {
        let enough = values.as_ref().is_some_and(|values: &Vec<i128>| {
            *decided.entry(values[owners]).or_insert_with(|| is_published(plan, cell, values))
        });
        *published.entry(values.filter(|_| enough)).or_insert(0.0) += probability;
    }
    published
}

fn pair(plan: &SqlPlan, left: Option<&crate::sql::integers::Cell>, right: Option<&crate::sql::integers::Cell>) -> Pair {
    let (left, right) = (law(plan, left), law(plan, right));
    let outcomes: std::collections::BTreeSet<_> = left.keys().chain(right.keys()).collect();
    let of = |law: &BTreeMap<_, f64>, outcome| law.get(outcome).copied().unwrap_or(0.0);
    merged(outcomes.into_iter().map(|outcome| (of(&left, outcome), of(&right, outcome))))
}

/// Outcomes of one ratio (to 1e-9) together.
fn merged(pairs: impl Iterator<Item = (f64, f64)>) -> Pair {
    let mut by_ratio: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
    for (p, q) in pairs {
        let entry = by_ratio.entry(((p / q).ln() * 1e9).round() as i64).or_default();
        *entry = (entry.0 + p, entry.1 + q);
    }
    by_ratio.into_values().collect()
}

fn all_keys(plan: &SqlPlan, left: &Cells, right: &Cells) -> Pair {
    let keys: std::collections::BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    let mut whole = vec![(1.0, 1.0)];
    for key in keys.into_iter().filter(|key| left.get(*key) != right.get(*key)) {
        let one = pair(plan, left.get(key), right.get(key));
        whole = merged(whole.iter().flat_map(|(p, q)| one.iter().map(move |(r, s)| (p * r, q * s))));
    }
    whole
}

fn delta(pair: &Pair, epsilon: f64) -> f64 {
    pair.iter().map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
}

/// Compares every pair of the tables that `owned` rows make with `others`: those of one length differ in values only.
fn check(project: &str, sql: &'static str, cost: &str, header: &str, others: &[&[&str]], owned: &[&[&str]]) {
    let tiny = Tiny::new(project, sql);
    let request = Request::of_query("test", sql, cost).unwrap();
    let plan = SqlPlan::new(sql, &request, &tiny.project).unwrap();
    assert!(plan.private.threshold.is_some(), "the keys of {sql} are public");
    let own = Spent::of(&plan.events, &Scope::Person).unwrap().delta().to_f64();
    // A fraction above 1 would be a loss that is not claimed; one far below 1 at each δ, a claim that is loose.
    let mut tightest = [0.0f64; 2];
    for others in others {
        let table = |rows: &&[&str]| {
            let rows: Vec<String> = others.iter().chain(rows.iter()).map(|row| row.to_string()).collect();
            tiny.cells(header, &rows)
        };
        let all: Vec<Cells> = owned.iter().map(table).collect();
        for (i, left) in all.iter().enumerate() {
            for (j, right) in all.iter().enumerate() {
                let presence = owned[i].is_empty() || owned[j].is_empty();
                let scope = if presence { Scope::Presence } else { Scope::Person };
                let spent = Spent::of(&plan.events, &scope).unwrap();
                let pair = all_keys(&plan, left, right);
                let alone = spent.pure_sum().map(|epsilon| (epsilon, Exact::from_f64(own).unwrap()));
                // From four times the keys' δ on (which is rounded up in its thirtieth place) the ledger's rule has an ε.
                let at_factor = |factor: f64| {
                    let at = Exact::from_f64(own * factor).unwrap();
                    spent.epsilon(&at).map(|epsilon| (epsilon, at))
                };
                let claims = [4.0001, 4.04, 6.0, 40.0].into_iter().map(|factor| at_factor(factor).unwrap());
                for (epsilon, at) in alone.into_iter().chain(claims) {
                    let found = delta(&pair, epsilon.to_f64_up());
                    let limit = at.to_f64() * (1.0 + 1e-7) + 1e-12;
                    assert!(
                        found <= limit,
                        "{sql} at {cost}, {scope}: {:?} and {:?}: {found} > {limit}",
                        owned[i],
                        owned[j]
                    );
                    let seen = &mut tightest[usize::from(!presence)];
                    *seen = seen.max(found / limit);
                }
            }
        }
    }
    assert!(tightest.iter().all(|seen| *seen > 0.05), "{sql} at {cost}: no pair comes near the claim: {tightest:?}");
}

const ROWS: &str = r#"
[dataset.t]
source = "t.csv"
[dataset.t.columns]
k = { type = "category" }
x = { type = "int", lower = 0, upper = 1 }
"#;

const OWNED: &str = r#"
[dataset.t]
source = "t.csv"
owner = "o"
max_rows_per_owner = 2
max_groups_per_owner = 2
max_rows_per_group = 1
[dataset.t.columns]
k = { type = "category" }
x = { type = "int", lower = 0, upper = 1 }
"#;

#[test]
fn one_row_per_person() {
    let others: [&[&str]; 4] = [&[], &["a,1"], &["a,1", "a,0", "b,1"], &["a,0", "a,0", "a,1", "a,1", "b,0"]];
    let owned: [&[&str]; 5] = [&[], &["a,0"], &["a,1"], &["b,1"], &["c,0"]];
    for cost in ["epsilon=5,delta=0.02", "epsilon=3,delta=0.1", "rho=1.2,delta=0.03"] {
        check(ROWS, "SELECT k, COUNT(*) AS n FROM t GROUP BY k", cost, "k,x", &others, &owned);
    }
    let sql = "SELECT k, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k";
    check(ROWS, sql, "epsilon=6,delta=0.02", "k,x", &others, &owned);
}

#[test]
fn owners_of_two_keys() {
    let others: [&[&str]; 3] = [&[], &["2,a,1", "3,b,1"], &["2,a,1", "3,a,0", "3,b,1", "4,c,1", "4,a,1"]];
    let owned: [&[&str]; 7] = [
        &[],
        &["1,a,0"],
        &["1,a,1", "1,b,1"],
        &["1,c,0", "1,d,1"],
        &["1,e,0", "1,f,0"],
        &["1,a,0", "1,c,1", "1,e,1"],
        &["1,d,0", "1,d,1", "1,g,1"],
    ];
    for cost in ["epsilon=6,delta=0.02", "rho=1.5,delta=0.03"] {
        check(OWNED, "SELECT k, COUNT(*) AS n FROM t GROUP BY k", cost, "o,k,x", &others, &owned);
    }
}

/// Two owners who share a new key: not twice as likely to be seen as one, but e^ε times.
#[test]
fn groups_are_within_the_claim() {
    let sql = "SELECT k, COUNT(*) AS n FROM t GROUP BY k";
    let (tiny, two) = (Tiny::new(ROWS, sql), 2u32.try_into().unwrap());
    for (cost, exceeds) in
        [("epsilon=5,delta=0.008", true), ("epsilon=1,delta=0.01", false), ("rho=0.2,delta=1e-4", false)]
    {
        let request = Request::of_query("test", sql, cost).unwrap();
        let plan = SqlPlan::new(sql, &request, &tiny.project).unwrap();
        let events = crate::summary::for_groups(&plan.events, &Scope::Presence).unwrap();
        let counted = Spent::of(&events, &Scope::Presence.group(two)).unwrap();
        let naive = Spent::of(&plan.events, &Scope::Presence.group(two)).unwrap();
        let mut tightest = 0.0f64;
        for (others, own) in [(vec![], ["z,1", "z,0"]), (vec!["z,1"], ["z,1", "z,0"]), (vec!["z,1"], ["z,0", "y,0"])] {
            let all: Vec<String> = others.iter().chain(&own).map(|row| row.to_string()).collect();
            let with = tiny.cells("k,x", &all);
            let without = tiny.cells("k,x", &all[..others.len()]);
            for pair in [all_keys(&plan, &with, &without), all_keys(&plan, &without, &with)] {
                let at = counted.delta().clone();
                let epsilon = counted.pure_sum().unwrap().to_f64_up();
                let found = delta(&pair, epsilon);
                assert!(found <= at.to_f64() * (1.0 + 1e-7) + 1e-12, "{cost}: {found} of {at}");
                tightest = tightest.max(found / naive.delta().to_f64());
            }
        }
        // What event by event would claim is not enough where the noise is small.
        assert!(!exceeds || tightest > 1.0, "{cost}: {tightest}");
    }
}
