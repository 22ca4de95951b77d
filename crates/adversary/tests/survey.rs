//! The golden vectors of attacks (s6), limits (s7) and audits (e7), computed elsewhere from the same formulas.

use scumble::quantity::{Beta, Delta, Epsilon, Probability};
use scumble_adversary::attack::{Queries, boneh_shaw, exhaustive, least_squares, membership, tardos};
use scumble_adversary::audit::one_run::OneRunAudit;
use scumble_adversary::audit::{Claim, Counts, dkw_half_width};
use scumble_adversary::limits::{count, fingerprinting, information, neighbours, packing, singular};
use serde_json::Value;

fn vectors(row: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../../../testdata/survey.json")).unwrap();
    let named = |vector: &&Value| vector["name"].as_str().unwrap().starts_with(row);
    all["vectors"].as_array().unwrap().iter().filter(named).cloned().collect()
}

/// The field of the answer agrees within the vector's tolerance.
fn agrees(vector: &Value, field: &str, found: f64) {
    let expected = &vector["expected"][field];
    let expected = expected.as_f64().unwrap_or_else(|| panic!("{}: no {field}", vector["name"]));
    let given = &vector["tolerance"];
    let own = if given[field].is_null() && !given["others"].is_null() { &given["others"] } else { &given[field] };
    let tolerance = if own.is_null() { given } else { own };
    let width = match (tolerance["rel"].as_f64(), tolerance["abs"].as_f64()) {
        (Some(relative), _) => relative * expected.abs(),
        (_, Some(absolute)) => absolute,
        _ => 0.0,
    };
    assert!((found - expected).abs() <= width, "{}: {field} is {found}, not {expected}", vector["name"]);
}

fn number(vector: &Value, field: &str) -> f64 {
    vector["input"][field].as_f64().unwrap_or_else(|| panic!("{}: no {field}", vector["name"]))
}

fn whole(vector: &Value, field: &str) -> u64 {
    vector["input"][field].as_u64().unwrap_or_else(|| panic!("{}: no {field}", vector["name"]))
}

fn guarantee(vector: &Value) -> (Epsilon, Delta) {
    (number(vector, "epsilon").try_into().unwrap(), number(vector, "delta").try_into().unwrap())
}

#[test]
fn counts_prove_what_the_vectors_say() {
    let mut checked = 0;
    for vector in vectors("e7_").iter().filter(|vector| !vector["input"]["hits"].is_null()) {
        let field = |name: &str| whole(vector, name);
        let counts =
            Counts::new(field("hits"), field("runs"), field("neighbour_hits"), field("neighbour_runs")).unwrap();
        let seen = counts.confidence(number(vector, "beta").try_into().unwrap()).unwrap();
        agrees(vector, "p_low", seen.p_low);
        agrees(vector, "q_high", seen.q_high);
        if let Some(mu) = vector["input"]["claim"]["gaussian_mu"].as_f64() {
            let claim = Claim::Gaussian { mu };
            agrees(vector, "allowed", claim.allowed(seen.q_high));
            agrees(vector, "mu_lower", seen.mu_lower());
            assert_eq!(Value::Bool(claim.is_refuted_by(&seen)), vector["expected"]["refuted"]);
        } else {
            agrees(vector, "epsilon_lower", seen.epsilon_lower(number(vector, "delta").try_into().unwrap()));
        }
        checked += 1;
    }
    assert_eq!(checked, 7);
}

#[test]
fn one_run_proves_what_the_vectors_say() {
    let all = vectors("e7_one_run");
    for vector in &all {
        let run =
            OneRunAudit::new(whole(vector, "canaries"), whole(vector, "guesses"), whole(vector, "right")).unwrap();
        let delta = Delta::new(number(vector, "delta")).unwrap();
        agrees(vector, "p_value_at_half", run.p_value(0.5.try_into().unwrap(), delta).upper);
        agrees(vector, "epsilon_lower", run.epsilon_lower(delta, number(vector, "beta").try_into().unwrap()).unwrap());
    }
    assert_eq!(all.len(), 3);
    let band = &vectors("e7_dkw")[0];
    agrees(band, "half_width", dkw_half_width(whole(band, "runs"), number(band, "beta").try_into().unwrap()).unwrap());
}

#[test]
fn limits_are_those_of_the_vectors() {
    for vector in &vectors("s7_limits") {
        let (epsilon, delta) = guarantee(vector);
        agrees(vector, "neighbour_success_at_most", neighbours::success_at_most(epsilon, delta));
        agrees(vector, "printed_neighbour_success", neighbours::printed_success_at_most(epsilon, delta));
        let (universe, success) = (number(vector, "universe"), number(vector, "success").try_into().unwrap());
        let changes = packing::least_changes(epsilon, delta, universe, success).unwrap().unwrap();
        agrees(vector, "packing_m", changes as f64);
        agrees(vector, "packing_count_error", packing::count_error_lower(epsilon, delta, universe, success).unwrap());
        agrees(vector, "mutual_information_nats_per_row", information::nats_per_row(epsilon));
    }
    let vector = &vectors("s7_packing")[0];
    let (epsilon, delta) = guarantee(vector);
    agrees(vector, "attained", packing::key_selection(epsilon, delta, whole(vector, "m")));
    let infinite = f64::INFINITY;
    agrees(vector, "printed_bound", packing::printed_success_at_most(epsilon, delta, infinite, whole(vector, "m")));
    agrees(vector, "correct_bound", packing::success_at_most(epsilon, delta, infinite, whole(vector, "m")).unwrap());
}

#[test]
fn matrices_and_means_are_limited_as_the_vectors_say() {
    let vector = &vectors("s7_singular_16")[0];
    let (epsilon, delta) = guarantee(vector);
    let queries = singular::Matrix::hadamard(16).unwrap();
    let beta = Probability::new(number(vector, "beta")).unwrap();
    let found = singular::whole(&queries, epsilon, delta, beta).unwrap();
    agrees(vector, "least_singular_value", found.least_singular_value);
    agrees(vector, "count_error_at_least", found.count_error_at_least);
    agrees(vector, "wrong_fraction_at_least", singular::wrong_fraction_lower(epsilon, delta, beta).unwrap());
    let vector = &vectors("s7_fingerprinting")[0];
    let (epsilon, delta) = guarantee(vector);
    let error = number(vector, "rms_error");
    let people = fingerprinting::people_lower(whole(vector, "attributes"), epsilon, delta, error).unwrap();
    agrees(vector, "n_at_least", people.direct.unwrap());
    agrees(vector, "n_at_least_scaled", people.scaled.unwrap());
    let constant = fingerprinting::lemma_constant(whole(vector, "n")).to_string();
    assert_eq!(Value::String(constant), vector["expected"]["lemma_constant"]);
}

#[test]
fn reconstructions_are_those_of_the_vectors() {
    let vector = &vectors("s6_exhaustive")[0];
    let people = whole(vector, "n") as usize;
    let numbers = |field: &str| -> Vec<f64> {
        vector["input"][field].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
    };
    let members = |mask: f64| (0..people as u32).filter(|i| mask as u64 >> i & 1 == 1).collect();
    let queries = Queries::new(people, numbers("queries").into_iter().map(members).collect()).unwrap();
    let found = exhaustive::reconstruct(&queries, &numbers("answers")).unwrap();
    agrees(vector, "least_error", found.least_error);
    assert_eq!(serde_json::json!(found.columns), vector["expected"]["reconstructions"]);

    let vector = &vectors("s6_least_squares")[0];
    let rows = singular::Matrix::hadamard(8).unwrap();
    let members = |row: &Vec<i8>| (0..8u32).filter(|i| row[*i as usize] == 1).collect();
    let queries = Queries::new(8, rows.rows().iter().map(members).collect()).unwrap();
    let input = |field: &str| -> Vec<f64> { serde_json::from_value(vector["input"][field].clone()).unwrap() };
    let found = least_squares::reconstruct(&queries, &input("answers")).unwrap();
    let expected: Vec<f64> = serde_json::from_value(vector["expected"]["estimate"].clone()).unwrap();
    assert!(found.estimate.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9), "{:?}", found.estimate);
    let column: Vec<u8> = found.column.iter().map(|bit| u8::from(*bit)).collect();
    assert_eq!(serde_json::json!(column), vector["expected"]["column"]);
    let certificate = least_squares::MatrixCertificate::of(&queries, true).unwrap();
    agrees(vector, "least_singular_value", certificate.least_singular_value);
    let errors: Vec<f64> = queries.answers(&input("truth")).iter().zip(input("answers")).map(|(a, b)| a - b).collect();
    agrees(vector, "wrong_at_most", certificate.wrong_at_most(&errors).unwrap());
    agrees(vector, "predicted_wrong_fraction_sigma_1", certificate.predicted_wrong(1.0).unwrap());
}

#[test]
fn tracing_is_that_of_the_vectors() {
    let all = vectors("s6_boneh_shaw");
    for vector in &all {
        let (users, beta) = (whole(vector, "users"), Beta::new(number(vector, "beta")).unwrap());
        let block = boneh_shaw::block(users, beta).unwrap();
        agrees(vector, "block_closed_form", block as f64);
        agrees(vector, "length_closed_form", ((users + 1) * block) as f64);
        let accused = |block: u64| boneh_shaw::false_accusation(users, block).unwrap().unwrap();
        agrees(vector, "false_accusation_at_closed_form", accused(block));
        let least = boneh_shaw::least_block(users, beta).unwrap().unwrap();
        agrees(vector, "least_block_exact", least as f64);
        agrees(vector, "false_accusation_at_least", accused(least));
    }
    assert_eq!(all.len(), 2);
    let vector = &vectors("s6_tardos")[0];
    let bits = |vector: &Value, field: &str| -> Vec<bool> {
        vector["input"][field].as_array().unwrap().iter().map(|bit| bit == 1).collect()
    };
    let numbers =
        |vector: &Value, field: &str| -> Vec<f64> { serde_json::from_value(vector["input"][field].clone()).unwrap() };
    let code = tardos::TardosCode::new(numbers(vector, "bias")).unwrap();
    let word = bits(vector, "pirate");
    agrees(vector, "score", code.score(&word, &bits(vector, "user")).unwrap());
    agrees(vector, "threshold", code.threshold(&word, number(vector, "false_positive").try_into().unwrap()).unwrap());
    let classical =
        tardos::classical(whole(vector, "coalition"), number(vector, "tardos_epsilon").try_into().unwrap()).unwrap();
    agrees(vector, "tardos_length", classical.length as f64);
    agrees(vector, "tardos_threshold", classical.threshold as f64);
    agrees(vector, "tardos_cutoff", classical.cutoff);
    let vector = &vectors("s6_inner_product")[0];
    let attack =
        membership::MembershipAttack::new(&numbers(vector, "published"), &numbers(vector, "population")).unwrap();
    agrees(vector, "score", attack.score(&bits(vector, "person")).unwrap());
    let threshold = attack.threshold(number(vector, "false_positive").try_into().unwrap()).unwrap();
    agrees(vector, "threshold", threshold);
    agrees(vector, "exact_false_positive", attack.exact_false_positive(threshold).unwrap());
}

/// Half of δ in the least error of a count passed all tests: nothing that is private was held beside it. This noise has
/// the tails P\[Z ≥ t + 1\] = e^{−ε}(P\[Z ≥ t\] − δ), and the same below: it is (ε, δ)-private, which is computed here,
/// and so nobody's least error is above its own.
#[test]
fn a_count_is_answered_with_the_least_error_or_more() {
    for (epsilon, delta) in [(0.5f64, 0.01f64), (1.0, 0.05), (0.1, 0.001), (2.0, 0.2), (0.05, 1e-4)] {
        let mut tails = vec![(-epsilon).exp() * (1.0 - delta) / (1.0 + (-epsilon).exp())];
        while *tails.last().unwrap() > 0.0 {
            tails.push(((-epsilon).exp() * (tails.last().unwrap() - delta)).max(0.0));
        }
        let mass = |z: i64| match z.unsigned_abs() as usize {
            0 => 1.0 - 2.0 * tails[0],
            z => tails.get(z - 1).unwrap_or(&0.0) - tails.get(z).unwrap_or(&0.0),
        };
        let reach = tails.len() as i64 + 1;
        let lost: f64 = (-reach..=reach).map(|z| (mass(z - 1) - epsilon.exp() * mass(z)).max(0.0)).sum();
        assert!(lost <= delta * (1.0 + 1e-9), "{epsilon} {delta}: {lost}");
        let variance: f64 = (-reach..=reach).map(|z| (z * z) as f64 * mass(z)).sum();
        let least = count::standard_error_lower(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
        assert!(least <= variance.sqrt() && least > 0.5 * variance.sqrt(), "{epsilon} {delta}: {least} {variance}");
    }
}
