//! Every golden vector, each through the function that a front end would call.

use super::{delta_of, eps, holds, lambda, probability, singles};
use scumble_adversary::attacker::*;
use serde_json::Value;

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no number {key} in {value}"))
}

fn whole(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("no integer {key} in {value}"))
}

fn list(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|entry| entry.as_f64().unwrap()).collect()
}

fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(list).collect()
}

fn groups(inputs: &Value) -> Vec<BeliefGroup> {
    match &inputs["groups_p_count"] {
        Value::Null => singles(&list(&inputs["p"])),
        groups => rows(groups).iter().map(|pair| BeliefGroup::new(pair[0], pair[1] as u64).unwrap()).collect(),
    }
}

fn joint(inputs: &Value) -> [[f64; 2]; 2] {
    let rows = rows(&inputs["joint_2x2"]);
    [[rows[0][0], rows[0][1]], [rows[1][0], rows[1][1]]]
}

fn close(what: &str, got: f64, expected: f64, tolerance: f64) {
    assert!((got - expected).abs() <= tolerance * expected.abs() + 1e-300, "{what}: {got} against {expected}");
}

fn both(what: &str, directions: &Directions, expected: &Value, slack: f64) {
    holds(&format!("{what} d10"), directions.with_against_without, number(expected, "d10"), slack);
    holds(&format!("{what} d01"), directions.without_against_with, number(expected, "d01"), slack);
    holds(what, directions.delta(), number(expected, "delta"), slack);
}

/// The exact law of a histogram of independent rows, by enumeration; the last category of `hidden` is never shown.
pub fn cells(
    rows: &[Vec<f64>],
    target: usize,
    show: impl Fn(&[u32]) -> Vec<u32>,
) -> std::collections::HashMap<Vec<u32>, f64> {
    let categories = rows[0].len();
    let mut law = std::collections::HashMap::from([(vec![0u32; categories], 1.0)]);
    for row in rows {
        let mut next = std::collections::HashMap::new();
        for (counts, weight) in &law {
            for (category, probability) in row.iter().enumerate() {
                let mut counts = counts.clone();
                counts[category] += 1;
                *next.entry(counts).or_insert(0.0) += weight * probability;
            }
        }
        law = next;
    }
    let mut shown = std::collections::HashMap::new();
    for (mut counts, weight) in law {
        counts[target] += 1;
        *shown.entry(show(&counts)).or_insert(0.0) += weight;
    }
    shown
}

/// H_ε between two enumerated laws.
pub fn divergence(
    p: &std::collections::HashMap<Vec<u32>, f64>,
    q: &std::collections::HashMap<Vec<u32>, f64>,
    epsilon: f64,
) -> f64 {
    p.iter().map(|(outcome, weight)| (weight - epsilon.exp() * q.get(outcome).unwrap_or(&0.0)).max(0.0)).sum()
}

#[test]
fn all_vectors() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/knowledge.json");
    let document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let vectors = document["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 77);
    for vector in vectors {
        let (name, category) = (vector["name"].as_str().unwrap(), vector["category"].as_str().unwrap());
        let (inputs, expected) = (&vector["inputs"], &vector["expected"]);
        let slack = number(&vector["tolerance"], "rel").max(1e-6);
        check(name, category, inputs, expected, slack);
    }
}

fn check(name: &str, category: &str, inputs: &Value, expected: &Value, slack: f64) {
    let epsilon = inputs["eps"].as_f64().unwrap_or(0.0);
    let shift = inputs["shift"].as_u64().unwrap_or(1) as u32;
    match category {
        "pb_pmf" => {
            let law = poisson_binomial(&groups(inputs)).unwrap();
            for (k, &value) in list(&expected["pmf"]).iter().enumerate() {
                close(name, law.at(k as i64), value, 1e-13);
            }
        }
        "count_delta" | "count_delta_groups" => {
            both(name, &exact_count(&groups(inputs), AddedNoise::None, eps(epsilon), shift).unwrap(), expected, slack);
        }
        "count_all_targets" => {
            let delta = exact_count_of_all(&groups(inputs), AddedNoise::None, eps(epsilon), 1).unwrap();
            holds(name, delta, number(expected, "delta"), slack);
        }
        "worst_binary" => {
            let (m, lambda) = (whole(inputs, "m"), lambda(number(inputs, "lambda")));
            let worst = worst_count(m, lambda, AddedNoise::None, eps(epsilon), shift, 1e-6).unwrap();
            holds(name, worst.delta, number(expected, "delta"), slack);
        }
        "worst_binary_noise" => {
            let noise = AddedNoise::Geometric(Ratio::new(number(inputs, "geo")).unwrap());
            let worst = worst_count(whole(inputs, "m"), lambda(number(inputs, "lambda")), noise, eps(epsilon), 1, 1e-6)
                .unwrap();
            holds(name, worst.delta, number(expected, "delta"), slack);
        }
        "blanket" => {
            holds(
                name,
                blanket(whole(inputs, "m"), lambda(number(inputs, "lambda")), eps(epsilon)).unwrap(),
                number(expected, "delta"),
                slack,
            );
        }
        "blanket_pair" => {
            let (a, b) = (number(inputs, "lambda_a"), number(inputs, "lambda_b"));
            let (ab, ba) = blanket_pair(whole(inputs, "m"), a, b, eps(epsilon)).unwrap();
            holds(name, ab, number(expected, "delta_ab"), slack);
            holds(name, ba, number(expected, "delta_ba"), slack);
        }
        "blanket_hetero" => {
            let each: Vec<(Lambda, u64)> = list(&inputs["lambdas"]).iter().map(|&value| (lambda(value), 1)).collect();
            holds(name, blanket_of_each(&each, 0, eps(epsilon)).unwrap(), number(expected, "delta"), slack);
        }
        "histogram_tight" | "histogram_exact" => histogram(name, inputs, expected, epsilon),
        "eps_blanket" | "eps_count" | "eps_worst_binary" => epsilon_vector(name, category, inputs, expected, slack),
        "closed_kl" => {
            let got = closed_kullback_leibler(whole(inputs, "m"), lambda(number(inputs, "lambda")), eps(epsilon));
            close(name, got, number(expected, "delta_bound"), 1e-9);
        }
        "closed_variance" => {
            close(
                name,
                closed_variance(number(inputs, "V"), eps(epsilon), shift),
                number(expected, "delta_bound"),
                1e-10,
            );
        }
        "closed_blanket" => {
            let got = closed_blanket(whole(inputs, "m"), lambda(number(inputs, "lambda")), eps(epsilon));
            close(name, got, number(expected, "delta_bound"), 1e-9);
        }
        "closed_chernoff" => {
            let (one_way, other_way) = closed_chernoff(&groups(inputs), 0, eps(epsilon), 1);
            close(name, one_way, number(expected, "bound10"), 1e-9);
            close(name, other_way, number(expected, "bound01"), 1e-9);
            let exact = exact_count(&groups(inputs), AddedNoise::None, eps(epsilon), 1).unwrap();
            holds(name, exact.with_against_without, number(expected, "exact10"), slack);
            holds(name, exact.without_against_with, number(expected, "exact01"), slack);
        }
        "closed_paper" => {
            let (got, applicable) = printed::closed_form(
                whole(inputs, "m"),
                lambda(number(inputs, "lambda")),
                delta_of(number(inputs, "delta")),
            );
            close(name, got, number(expected, "eps"), 1e-12);
            assert_eq!(applicable, expected["applicable"].as_bool().unwrap(), "{name}");
        }
        _ if category.starts_with("threshold") => threshold(name, category, inputs, expected, epsilon, slack),
        "kanon_exact" => k_anonymous_enumeration(name, inputs, expected, epsilon),
        "kanon_bound" => {
            let anonymity = Anonymity {
                records: whole(inputs, "n"),
                unknown_others: whole(inputs, "n") - 1,
                lambda: lambda(number(inputs, "lambda_common_and_bottom")),
                rare: probability(number(inputs, "rho_rare")),
                k: whole(inputs, "k"),
                influenced: 0,
            };
            holds(name, rare_delta(&anonymity), number(expected, "delta_rare"), slack);
            let delta = k_anonymity(&anonymity, eps(epsilon)).unwrap();
            close(name, delta.upper, number(expected, "delta"), slack);
            assert!(delta.upper >= number(expected, "delta") * (1.0 - 1e-12));
        }
        "chaining" => {
            let step = ApproximateBound { epsilon, delta: number(inputs, "delta") };
            let both = chained(step, step);
            close(name, both.delta, number(expected, "correct_bound"), 1e-12);
            assert!(both.delta >= number(expected, "H_2eps_P_R") * (1.0 - 1e-15));
        }
        "dependency_example9" => {
            let counts = TwoCounts::new(whole(inputs, "m"), joint(inputs)).unwrap();
            close(name, counts.largest_dependency(), number(expected, "max_dep"), 1e-9);
            let c = number(expected, "c");
            close(name, dependency_of_two_days(c), number(expected, "correct_bound_4c"), 1e-12);
            assert!(counts.largest_dependency() > 2.0 * c && counts.largest_dependency() <= dependency_of_two_days(c));
        }
        "two_count_joint" => {
            let pair = |key: &str| {
                let values = list(&inputs[key]);
                [values[0] as usize, values[1] as usize]
            };
            let counts = TwoCounts::new(whole(inputs, "m"), joint(inputs)).unwrap();
            holds(name, counts.delta(pair("a"), pair("b"), eps(epsilon)), number(expected, "delta"), slack);
        }
        "repeated_counts" => {
            let counts = TwoCounts::new(whole(inputs, "m"), joint(inputs)).unwrap();
            holds(name, counts.worst(eps(epsilon)), number(expected, "exact_max_over_pairs"), slack);
            let bound = blanket(whole(inputs, "m"), lambda(0.225), eps(epsilon)).unwrap();
            holds(name, bound, number(expected, "joint_histogram_blanket_bound"), slack);
        }
        "composition_rule" => composition(name, inputs, expected),
        "noise_geometric" => {
            let noise = AddedNoise::Geometric(Ratio::new(number(inputs, "geo")).unwrap());
            both(name, &exact_count(&groups(inputs), noise, eps(epsilon), 1).unwrap(), expected, slack);
        }
        "noise_laplace" => {
            let noise = AddedNoise::Laplace(scumble::quantity::Scale::new(number(inputs, "scale")).unwrap());
            both(name, &exact_count(&groups(inputs), noise, eps(epsilon), 1).unwrap(), expected, slack);
        }
        "noise_gaussian" => {
            let noise = AddedNoise::Gaussian(scumble::quantity::Sigma::new(number(inputs, "sigma")).unwrap());
            both(name, &exact_count(&groups(inputs), noise, eps(epsilon), 1).unwrap(), expected, slack);
        }
        "reject_printed_theorem3" => {
            let (m, lambda) = (whole(inputs, "m"), lambda(number(inputs, "lambda")));
            let false_claim = number(expected, "printed_delta_P[X/Y>=e^eps]_2lambda");
            close(name, printed::theorem_3_ratio(m, lambda, eps(epsilon)), false_claim, 1e-9);
            let worst = worst_count(m, lambda, AddedNoise::None, eps(epsilon), 1, 1e-6).unwrap().delta;
            holds(name, worst, number(expected, "exact_sup_delta"), slack);
            assert!(worst.lower > false_claim);
        }
        "reject_offbyone_kanon" => {
            let (n, p, k) = (whole(inputs, "n"), number(inputs, "p"), whole(inputs, "k"));
            let others = poisson_binomial(&[BeliefGroup::new(p, n - 1).unwrap()]).unwrap();
            let claimed = number(expected, "claimed_eps_T=k");
            let truth = thresholded(&others, k as i64 - 1, eps(claimed)).delta();
            holds(name, truth, number(expected, "exact_delta_at_claimed_eps"), slack);
            assert!(truth.lower > number(expected, "claimed_delta_T=k"));
        }
        "prop7" => {
            let records = [BeliefGroup::new(0.05, 1).unwrap(), BeliefGroup::new(0.5, 99).unwrap()];
            let (epsilon, delta) = printed::proposition_7(&records, delta_of(number(inputs, "delta2")));
            close(name, epsilon, number(expected, "eps"), 1e-9);
            close(name, delta, number(expected, "delta_printed_mu3"), 1e-9);
            let corrected = printed::proposition_7_corrected(&records, delta_of(number(inputs, "delta2"))).1;
            close(name, corrected, number(expected, "delta_correct_mu3"), 1e-9);
        }
        other => panic!("no test for category {other}"),
    }
}

fn histogram(name: &str, inputs: &Value, expected: &Value, epsilon: f64) {
    let (rows, a, b) = (rows(&inputs["rows"]), whole(inputs, "a") as usize, whole(inputs, "b") as usize);
    let smallest = rows.iter().flatten().copied().fold(1.0, f64::min);
    let all = |counts: &[u32]| counts.to_vec();
    let (in_a, in_b) = (cells(&rows, a, all), cells(&rows, b, all));
    let (ab, ba) = (divergence(&in_a, &in_b, epsilon), divergence(&in_b, &in_a, epsilon));
    let bound = blanket(rows.len() as u64, lambda(smallest), eps(epsilon)).unwrap();
    if let Some(exact) = expected["exact_delta"].as_f64() {
        close(name, ab, exact, 1e-10);
        holds(name, bound, number(expected, "blanket"), 1e-9);
    } else {
        close(name, ab, number(expected, "delta_ab"), 1e-10);
        close(name, ba, number(expected, "delta_ba"), 1e-10);
        holds(name, bound, number(expected, "blanket_min_lambda_0.2"), 1e-9);
    }
    assert!(bound.upper >= ab.max(ba) * (1.0 - 1e-12), "{name}");
}

fn epsilon_vector(name: &str, category: &str, inputs: &Value, expected: &Value, slack: f64) {
    let delta = number(inputs, "delta");
    if expected["eps"] == "inf" {
        let (m, lambda) = (whole(inputs, "m"), lambda(number(inputs, "lambda")));
        close(name, ln_smallest_delta(m, lambda).exp(), number(expected, "min_possible_delta"), 1e-9);
        assert!(delta.ln() < ln_smallest_delta(m, lambda));
        assert_eq!(epsilon_for(delta_of(delta), 1e-6, |epsilon| blanket(m, lambda, epsilon)).unwrap(), None, "{name}");
        return;
    }
    let found = match category {
        "eps_blanket" => {
            let (m, lambda) = (whole(inputs, "m"), lambda(number(inputs, "lambda")));
            epsilon_for(delta_of(delta), 1e-9, |epsilon| blanket(m, lambda, epsilon))
        }
        "eps_count" => {
            let law = poisson_binomial(&groups(inputs)).unwrap();
            epsilon_for(delta_of(delta), 1e-9, |epsilon| Ok(directions(&law, epsilon, 1).delta()))
        }
        _ => {
            let (m, lambda) = (whole(inputs, "m"), lambda(number(inputs, "lambda")));
            epsilon_for(delta_of(delta), 1e-8, |epsilon| {
                Ok(worst_count(m, lambda, AddedNoise::None, epsilon, 1, 1e-6)?.delta)
            })
        }
    };
    let found = found.unwrap().unwrap();
    let truth = number(expected, "eps");
    // The vectors' ε are themselves rounded to their tolerance; what is certain is that δ is reached where we say.
    assert!((found.upper - truth).abs() <= truth * slack, "{name}: {found:?} {truth}");
    assert!(found.delta.upper <= delta && found.lower <= found.upper, "{name}: {found:?} {truth}");
    assert!(found.lower >= truth * (1.0 - 10.0 * slack), "{name}: {found:?} {truth}");
}

fn threshold(name: &str, category: &str, inputs: &Value, expected: &Value, epsilon: f64, slack: f64) {
    let t = whole(inputs, "T") as i64;
    let others = |gone: u64| {
        poisson_binomial(&[BeliefGroup::new(number(inputs, "p"), whole(inputs, "n") - 1 - gone).unwrap()]).unwrap()
    };
    match category {
        "threshold" => {
            both(name, &thresholded(&others(0), t, eps(epsilon)), expected, slack);
            let peak = number(expected, "tv_formula_max_f_from_T");
            holds(name, thresholded(&others(0), t, eps(0.0)).delta(), peak, slack);
        }
        "threshold_passive" => {
            let (n, p, known) = (whole(inputs, "n"), probability(number(inputs, "p")), whole(inputs, "known"));
            both(name, &thresholded_passive(n, p, t, known, eps(epsilon)).unwrap(), expected, slack);
            close(name, coupling(&others(0), t).upper, number(expected, "coupling_bound_P_S_ge_T"), slack);
        }
        "threshold_active" => {
            let influenced = whole(inputs, "influenced");
            both(name, &thresholded(&others(influenced), t - influenced as i64, eps(epsilon)), expected, slack);
        }
        "threshold_coupling" => close(name, coupling(&others(0), t).upper, number(expected, "delta"), slack),
        "threshold_theorem4" => {
            let p = probability(number(inputs, "p"));
            let (epsilon, delta) = printed::theorem_4(whole(inputs, "n"), p, t as u64).unwrap();
            close(name, epsilon, number(expected, "eps"), 1e-10);
            close(name, delta, number(expected, "delta"), 1e-10);
        }
        "threshold_unified" => {
            let p_max = probability(number(inputs, "p_max"));
            holds(
                name,
                unified(p_max, t, eps(epsilon), Some(whole(inputs, "m"))).unwrap(),
                number(expected, "delta"),
                slack,
            );
        }
        other => panic!("no test for category {other}"),
    }
}

fn k_anonymous_enumeration(name: &str, inputs: &Value, expected: &Value, epsilon: f64) {
    let (k, a, b) = (whole(inputs, "k") as u32, whole(inputs, "a") as usize, whole(inputs, "b") as usize);
    let hidden = inputs["rows_all_released"].is_null();
    let rows = if hidden {
        rows(&inputs["rows_last_is_bottom"])
    } else {
        vec![list(&inputs["rows_all_released"]); whole(inputs, "others") as usize]
    };
    let show = |counts: &[u32]| {
        let shown = if hidden { &counts[..counts.len() - 1] } else { counts };
        shown.iter().map(|&count| if count >= k { count } else { 0 }).collect()
    };
    let (in_a, in_b) = (cells(&rows, a, show), cells(&rows, b, show));
    close(name, divergence(&in_a, &in_b, epsilon), number(expected, "delta_ab"), 1e-8);
    close(name, divergence(&in_b, &in_a, epsilon), number(expected, "delta_ba"), 1e-8);
    if hidden {
        let anonymity = Anonymity {
            records: rows.len() as u64 + 1,
            unknown_others: rows.len() as u64,
            lambda: lambda(0.2),
            rare: probability(0.1),
            k: u64::from(k),
            influenced: 0,
        };
        holds(name, rare_delta(&anonymity), number(expected, "rare_bound_P_S_ge_k-1"), 1e-9);
        holds(name, blanket(5, lambda(0.2), eps(epsilon)).unwrap(), number(expected, "blanket_lambda_0.2"), 1e-9);
        let claim = k_anonymity(&anonymity, eps(epsilon)).unwrap().upper;
        assert!(claim >= number(expected, "delta_ab").max(number(expected, "delta_ba")), "{name}");
    }
}

fn composition(name: &str, inputs: &Value, expected: &Value) {
    if inputs["mu"].is_null() {
        // Three releases: each pair is independent of the target, and all three reveal it.
        let mut laws = [[[0.0; 8]; 2]; 1];
        for bits in 0..32u32 {
            let bit = |place: u32| bits >> place & 1;
            let (u, v, x) = (bit(0) ^ bit(1), bit(2) ^ bit(3), bit(4));
            laws[0][x as usize][(u | v << 1 | (u ^ v ^ x) << 2) as usize] += 1.0 / 16.0;
        }
        let [zero, one] = laws[0];
        let seen = |mask: usize| -> f64 {
            let mut sums = [[0.0f64; 8]; 2];
            for outcome in 0..8 {
                sums[0][outcome & mask] += zero[outcome];
                sums[1][outcome & mask] += one[outcome];
            }
            (0..8).map(|outcome| (sums[0][outcome] - sums[1][outcome]).max(0.0)).sum()
        };
        for single in [1, 2, 4] {
            assert_eq!(seen(single), number(expected, "delta_each_eps0"));
        }
        for pair in [3, 5, 6] {
            assert_eq!(seen(pair), number(expected, "delta_each_pair_eps0"));
        }
        assert_eq!(seen(7), number(expected, "delta_triple_any_eps"));
        return;
    }
    let claim = |which: u32| ApproximateBound {
        epsilon: number(inputs, &format!("eps{which}")),
        delta: number(inputs, &format!("delta{which}")),
    };
    let both = with_dependency(claim(1), claim(2), number(inputs, "mu"), number(inputs, "nu"));
    close(name, both.epsilon, number(expected, "eps"), 1e-12);
    close(name, both.delta, number(expected, "delta"), 1e-12);
}
