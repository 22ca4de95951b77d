//! Whole queries with unknown keys: the exact output distribution of every neighbour of tiny tables against the claimed
//! (ε, δ).
//!
//! A key's output is nothing, or all its noisy measures; keys are independent. So a pair of tables is, key by key, a
//! pair of listed laws, and the pairs of the keys that differ multiply. δ at ε is Σ max(0, p − e^ε·q) over the
//! products.

use super::*;
use scumble::loss::Loss;

/// A pair of laws as (probability under the one, under the other) for outcomes of equal ratio.
type LawPair = Vec<(f64, f64)>;

/// The noise's probabilities, except for a mass below 1e-13.
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
struct ScriptedNoise<'a>(std::slice::Iter<'a, i128>);

impl Chance for ScriptedNoise<'_> {
    fn noised(&mut self, _: &Noise, _: i128) -> i128 {
        *self.0.next().unwrap()
    }

    fn noised_jointly(&mut self, _: &JointNoise, _: Vec<i128>) -> Vec<i128> {
        unreachable!("keys that are not public have noise for each number")
    }

    fn chosen(&mut self, _: &Quantile, _: &BTreeMap<u128, u64>) -> u128 {
        0
    }

    fn is_shown(&mut self, _: &KeySelection, _: u64) -> bool {
        unreachable!("its law is known: no coin is drawn")
    }
}

/// Notes with which probability a key is published, where only keys are.
struct PublicationProbe(f64);

impl Chance for PublicationProbe {
    fn noised(&mut self, _: &Noise, _: i128) -> i128 {
        panic!("no number is published")
    }

    fn noised_jointly(&mut self, _: &JointNoise, _: Vec<i128>) -> Vec<i128> {
        panic!("no number is published")
    }

    fn chosen(&mut self, _: &Quantile, _: &BTreeMap<u128, u64>) -> u128 {
        panic!("no quantile is published")
    }

    fn is_shown(&mut self, selection: &KeySelection, owners: u64) -> bool {
        self.0 = selection.probability(owners);
        true
    }
}

/// Whether the code that releases publishes a key with these noisy measures.
fn is_published(plan: &SqlPlan, cell: &crate::sql::execute::cell::ExactCell, noisy: &[i128]) -> bool {
    let one = crate::sql::execute::integers::Integers { keys: vec![Vec::new()], cells: vec![cell.clone()] };
    !noised(&plan.cut, one, &plan.private, &mut ScriptedNoise(noisy.iter())).cells.is_empty()
}

/// What is published of a key: nothing, or its noisy measures.
fn law(plan: &SqlPlan, cell: Option<&crate::sql::execute::cell::ExactCell>) -> BTreeMap<Option<Vec<i128>>, f64> {
    let Some(cell) = cell else { return BTreeMap::from([(None, 1.0)]) };
    if plan.private.selection.is_some() {
        let one = crate::sql::execute::integers::Integers { keys: vec![Vec::new()], cells: vec![cell.clone()] };
        let mut noted = PublicationProbe(0.0);
        let shown = noised(&plan.cut, one, &plan.private, &mut noted);
        return BTreeMap::from([(Some(shown.cells[0].sums.clone()), noted.0), (None, 1.0 - noted.0)]);
    }
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

fn pair(
    plan: &SqlPlan,
    left: Option<&crate::sql::execute::cell::ExactCell>,
    right: Option<&crate::sql::execute::cell::ExactCell>,
) -> LawPair {
    let (left, right) = (law(plan, left), law(plan, right));
    let outcomes: std::collections::BTreeSet<_> = left.keys().chain(right.keys()).collect();
    let of = |law: &BTreeMap<_, f64>, outcome| law.get(outcome).copied().unwrap_or(0.0);
    merged(outcomes.into_iter().map(|outcome| (of(&left, outcome), of(&right, outcome))))
}

/// Outcomes of one ratio (to 1e-9) together.
fn merged(pairs: impl Iterator<Item = (f64, f64)>) -> LawPair {
    let mut by_ratio: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
    for (p, q) in pairs {
        let entry = by_ratio.entry(((p / q).ln() * 1e9).round() as i64).or_default();
        *entry = (entry.0 + p, entry.1 + q);
    }
    by_ratio.into_values().collect()
}

fn all_keys(plan: &SqlPlan, left: &CellsByText, right: &CellsByText) -> LawPair {
    let keys: std::collections::BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    let mut whole = vec![(1.0, 1.0)];
    for key in keys.into_iter().filter(|key| left.get(*key) != right.get(*key)) {
        let one = pair(plan, left.get(key), right.get(key));
        whole = merged(whole.iter().flat_map(|(p, q)| one.iter().map(move |(r, s)| (p * r, q * s))));
    }
    whole
}

fn delta(pair: &LawPair, epsilon: f64) -> f64 {
    pair.iter().map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
}

/// Compares every pair of the tables that `owned` rows make with `others`: those of one length differ in values only.
fn check(project: &str, sql: &'static str, cost: &str, header: &str, others: &[&[&str]], owned: &[&[&str]]) {
    let tiny = TinyTables::new(project, sql);
    let request = Request::sql("test", sql, &cost.parse().unwrap()).unwrap();
    let plan = SqlPlan::new(sql, &request, &tiny.project).unwrap();
    let selects = plan.private.threshold.is_some() || plan.private.selection.is_some();
    assert!(selects, "the keys of {sql} are public");
    let own = Odometer::of(&plan.events, &Scope::Person).unwrap().delta().to_f64();
    // A fraction above 1 would be a loss that is not claimed; one far below 1 at each δ, a claim that is loose.
    let mut tightest = [0.0f64; 2];
    for others in others {
        let table = |rows: &&[&str]| {
            let rows: Vec<String> = others.iter().chain(rows.iter()).map(|row| row.to_string()).collect();
            tiny.cells(header, &rows)
        };
        let all: Vec<CellsByText> = owned.iter().map(table).collect();
        for (i, left) in all.iter().enumerate() {
            for (j, right) in all.iter().enumerate() {
                let presence = owned[i].is_empty() || owned[j].is_empty();
                let scope = if presence { Scope::Presence } else { Scope::Person };
                let spent = Odometer::of(&plan.events, &scope).unwrap();
                let pair = all_keys(&plan, left, right);
                let alone = spent.pure_sum().map(|epsilon| (epsilon, Exact::from_f64(own).unwrap()));
                // From four times the keys' δ on (which is rounded up in its thirtieth place) the ledger's rule has an
                // ε.
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

/// Keys alone: no number of owners is drawn, and each key has a coin of its own.
#[test]
fn keys_and_nothing_else() {
    let others: [&[&str]; 4] = [&[], &["a,1"], &["a,1", "a,0", "b,1"], &["a,0", "a,0", "a,1", "a,1", "b,0"]];
    let owned: [&[&str]; 5] = [&[], &["a,0"], &["a,1"], &["b,1"], &["c,0"]];
    for sql in ["SELECT DISTINCT k FROM t", "SELECT k FROM t GROUP BY k"] {
        for cost in ["epsilon=3,delta=0.1", "epsilon=1,delta=0.4"] {
            check(ROWS, sql, cost, "k,x", &others, &owned);
        }
    }
    let filtered = "SELECT DISTINCT k FROM t WHERE x = 1";
    let owned: [&[&str]; 4] = [&[], &["a,0"], &["a,1"], &["c,1"]];
    check(ROWS, filtered, "epsilon=2,delta=0.2", "k,x", &others, &owned);
    let others: [&[&str]; 3] = [&[], &["2,a,1", "3,b,1"], &["2,a,1", "3,a,0", "3,b,1", "4,c,1", "4,a,1"]];
    let owned: [&[&str]; 5] = [&[], &["1,a,0"], &["1,a,1", "1,b,1"], &["1,c,0", "1,d,1"], &["1,a,0", "1,c,1", "1,e,1"]];
    check(OWNED, "SELECT DISTINCT k FROM t", "epsilon=6,delta=0.2", "o,k,x", &others, &owned);
}

/// What a coin costs is what its event says, in every form of cost and scope; and it takes fewer owners than a
/// threshold does.
#[test]
fn keys_alone_take_fewer_owners() {
    let sql = "SELECT DISTINCT k FROM t";
    let mut fewer = 0;
    for project in [ROWS, OWNED] {
        let tiny = TinyTables::new(project, sql);
        for cost in ["epsilon=1,delta=1e-6", "epsilon=0.1,delta=1e-9", "epsilon=3,delta=1e-3"] {
            let priced = |sql: &str| {
                let request = Request::sql("test", sql, &cost.parse().unwrap()).unwrap();
                let query = AnalysedQuery::new(sql, Bounding::default(), 1000, &tiny.project).unwrap();
                query.at(&request.cost).unwrap()
            };
            let (keys, counted) = (priced(sql), priced("SELECT k, COUNT(*) AS n FROM t GROUP BY k"));
            assert!(keys.private.selection.is_some() && counted.private.selection.is_none());
            assert!(keys.owners_needed <= counted.owners_needed, "{cost}: {:?}", keys.owners_needed);
            fewer += usize::from(keys.owners_needed < counted.owners_needed);
        }
        // At a cost in ρ the noise is Gaussian, and keys are those that reach a threshold.
        let request = Request::sql("test", sql, &"rho=0.1,delta=1e-6".parse().unwrap()).unwrap();
        assert!(SqlPlan::new(sql, &request, &tiny.project).unwrap().private.selection.is_none());
    }
    assert!(fewer >= 4, "only {fewer} of 6 costs need fewer owners");
}

/// Owners who share a new key show it not k times as likely as one, but e^{(k−1)ε} times: every way in which two and
/// three owners of tiny tables can leave, come and change, against what the filter and the accountant say of the group.
#[test]
fn groups_are_within_the_claim() {
    let sql = "SELECT k, COUNT(*) AS n FROM t GROUP BY k";
    let tiny = TinyTables::new(ROWS, sql);
    for (cost, exceeds) in
        [("epsilon=5,delta=0.008", true), ("epsilon=1,delta=0.01", false), ("rho=0.2,delta=1e-4", false)]
    {
        let request = Request::sql("test", sql, &cost.parse().unwrap()).unwrap();
        let plan = SqlPlan::new(sql, &request, &tiny.project).unwrap();
        let one = Odometer::of(&plan.events, &Scope::Presence).unwrap().delta().to_f64();
        let mut beyond = 0.0f64;
        for size in [2u32, 3] {
            for (scope, members) in [(Scope::Presence, leaving(size)), (Scope::Person, changing(size))] {
                let group = scope.group(size.try_into().unwrap());
                let counted = Odometer::of(&plan.events, &group).unwrap();
                let loss = Loss::of(&plan.events, &group).unwrap();
                let tightest = group_claims(&tiny, &plan, &members, &counted, &loss);
                // Thresholds are whole numbers: with little Laplace noise, new keys show far less than they may.
                // Gaussian noise is claimed by its Rényi curve.
                assert!(cost.starts_with("rho") || tightest > 0.1, "{cost}, {group}: {tightest}");
                if let Some(epsilon) = counted.pure_sum() {
                    let pairs = pairs(&tiny, &plan, &members);
                    let most = pairs.iter().map(|pair| delta(pair, epsilon.to_f64_up())).fold(0.0, f64::max);
                    beyond = beyond.max(most / (f64::from(size) * one));
                }
            }
        }
        // What was claimed event by event, k times δ, is not enough where the noise is small.
        assert!(!exceeds || beyond > 1.0, "{cost}: {beyond}");
    }
}

/// Tables with and without a group, whose keys nobody else has, or others have as well.
fn leaving(size: u32) -> Vec<(Vec<String>, Vec<String>)> {
    let mut all = Vec::new();
    for others in [vec![], vec!["z"], vec!["z", "y", "y"]] {
        for own in [["z", "z", "z"], ["z", "z", "y"], ["z", "y", "x"]] {
            let rows = |keys: &[&str]| keys.iter().map(|key| format!("{key},1")).collect::<Vec<_>>();
            let with = [&others[..], &own[..size as usize]].concat();
            all.push((rows(&with), rows(&others)));
        }
    }
    all
}

/// Tables in which a group has other keys.
fn changing(size: u32) -> Vec<(Vec<String>, Vec<String>)> {
    let mut all = Vec::new();
    for others in [vec![], vec!["z"], vec!["z", "y"]] {
        for (before, after) in [(["z"; 3], ["y"; 3]), (["z"; 3], ["z", "y", "y"]), (["z", "z", "x"], ["y", "y", "z"])] {
            let rows = |keys: &[&str]| {
                others.iter().chain(&keys[..size as usize]).map(|key| format!("{key},1")).collect::<Vec<_>>()
            };
            all.push((rows(&before), rows(&after)));
        }
    }
    all
}

fn pairs(tiny: &TinyTables, plan: &SqlPlan, tables: &[(Vec<String>, Vec<String>)]) -> Vec<LawPair> {
    let cells = |rows: &Vec<String>| tiny.cells("k,x", rows);
    let both = tables.iter().map(|(one, other)| (cells(one), cells(other)));
    both.flat_map(|(one, other)| [all_keys(plan, &one, &other), all_keys(plan, &other, &one)]).collect()
}

/// The largest share of a claimed δ that some pair of tables reaches.
fn group_claims(
    tiny: &TinyTables,
    plan: &SqlPlan,
    tables: &[(Vec<String>, Vec<String>)],
    counted: &Odometer,
    loss: &Loss,
) -> f64 {
    let own = counted.delta().to_f64();
    let alone = counted.pure_sum().map(|epsilon| (epsilon.to_f64_up(), own));
    let at_factor = |factor: f64| {
        let at = Exact::from_f64((own * factor).min(1.0)).unwrap();
        counted.epsilon(&at).map(|epsilon| (epsilon.to_f64_up(), at.to_f64()))
    };
    let by_loss = |epsilon: f64| (epsilon, loss.delta(Epsilon::new(epsilon).unwrap()).upper);
    let filter = alone.into_iter().chain([4.0001, 6.0, 40.0].into_iter().filter_map(at_factor));
    let claims: Vec<(f64, f64)> = filter.chain([0.0, 0.5, 2.0, 6.0].map(by_loss)).collect();
    let mut tightest = 0.0f64;
    for pair in pairs(tiny, plan, tables) {
        for (epsilon, claimed) in &claims {
            let found = delta(&pair, *epsilon);
            assert!(found <= claimed * (1.0 + 1e-7) + 1e-12, "δ({epsilon}) = {found} of {claimed}");
            tightest = tightest.max(found / claimed);
        }
    }
    tightest
}
