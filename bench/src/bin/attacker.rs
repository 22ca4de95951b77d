//! Attackers with partial knowledge: each quantity once, with its CPU time, as JSON for `bench/attacker/run.py`.

use scumble::quantity::Epsilon;
use scumble_adversary::attacker::{
    AddedNoise, BeliefGroup, Lambda, blanket, directions, poisson_binomial, worst_count,
};
use serde_json::{Value, json};

fn cpu_seconds() -> f64 {
    // utime and stime of this process in ticks of 1/100 s; the runs below are repeated until that is fine enough.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

fn timed(name: &str, mut run: impl FnMut() -> Value) -> Value {
    let start = cpu_seconds();
    let mut repeats = 0;
    let mut value = Value::Null;
    while repeats == 0 || cpu_seconds() - start < 0.5 {
        value = run();
        repeats += 1;
    }
    json!({ "name": name, "seconds": (cpu_seconds() - start) / f64::from(repeats), "value": value })
}

fn at(epsilon: f64) -> Epsilon {
    Epsilon::new(epsilon).expect("an epsilon")
}

fn spread(n: u64) -> Vec<BeliefGroup> {
    (0..n).map(|i| BeliefGroup::new(0.05 + 0.9 * (i as f64 + 0.5) / n as f64, 1).expect("a probability")).collect()
}

fn main() {
    let lambda = Lambda::new(0.05).expect("a lambda");
    let million = spread(1_000_000);
    let hundred_thousand = spread(100_000);
    let mut results = vec![timed("exact, 10^6 distinct p", || {
        let law = poisson_binomial(&million).expect("a law");
        let delta = directions(&law, at(0.01), 1).delta();
        json!([delta.lower, delta.upper])
    })];
    for epsilon in [0.0, 0.01, 0.02, 0.05] {
        results.push(timed(&format!("worst case over the box, m = 10^6, epsilon {epsilon}"), || {
            let delta =
                worst_count(1_000_000, lambda, AddedNoise::None, at(epsilon), 1, 1e-3).expect("a worst case").delta;
            json!([delta.lower, delta.upper])
        }));
    }
    results.push(timed("blanket, m = 10^6", || {
        let delta = blanket(1_000_000, lambda, at(0.02)).expect("a blanket");
        json!([delta.lower, delta.upper])
    }));
    results.push(timed("curve of 200 points, 10^5 distinct p", || {
        let law = poisson_binomial(&hundred_thousand).expect("a law");
        let deltas: Vec<f64> =
            (0..200).map(|i| directions(&law, at(0.05 * f64::from(i) / 199.0), 1).delta().upper).collect();
        json!([deltas[100], deltas[100]])
    }));
    println!("{}", Value::Array(results));
}
