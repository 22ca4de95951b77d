//! Golden vectors, exact enumeration of the sampler, and what the paper gets wrong.

use super::*;
use crate::noise::InsecureSeededSource;
use crate::quantity::Omega;
use num_bigint::BigUint;
use num_rational::BigRational;
use serde_json::Value;

fn vector(name: &str) -> Value {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/tcdp.json"));
    let all: Value = serde_json::from_str(text).unwrap();
    all["vectors"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone()
}

fn number(value: &Value) -> f64 {
    value.as_str().unwrap().parse().unwrap()
}

fn decimal(text: &str) -> BigRational {
    text.parse::<Exact>().unwrap().rational().clone()
}

fn preset() -> SinhNormalTable {
    SinhNormalTable::build(&decimal("2.725"), &decimal("7.35")).unwrap()
}

fn noise(sigma: f64, a: f64) -> SinhNormal {
    SinhNormal::new(Sigma::new(sigma).unwrap(), Scale::new(a).unwrap()).unwrap()
}

#[test]
fn the_preset_table_is_the_golden_one_to_the_last_digit() {
    let expected = &vector("dsn_table_preset")["expected"];
    let table = preset();
    let weights: Vec<String> = table.weights().iter().map(u128::to_string).collect();
    let golden: Vec<&str> = expected["w"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
    assert_eq!(weights, golden);
    assert_eq!(table.tail_bits(), 1);
    assert_eq!(table.tail_weight().to_string(), expected["tail"].as_str().unwrap());
}

#[test]
fn every_table_sums_to_exactly_two_to_the_128() {
    for (sigma, a) in [(0.5, 0.5), (1.286, 2.70), (2.725, 7.35), (26.462, 85.44), (8.0, 1e6), (300.0, 700.0)] {
        let noise = noise(sigma, a);
        let table = noise.table();
        let sum: BigUint = table.weights()[1..].iter().map(|w| BigUint::from(*w)).sum();
        let all = (sum + table.tail_weight()) * 2u32 + table.weights()[0];
        assert_eq!(all, BigUint::from(1u32) << 128);
        assert!(table.weights().windows(2).all(|pair| pair[0] >= pair[1]), "not unimodal");
        noise.check_intact().unwrap();
    }
}

#[test]
fn renyi_and_pure_loss_of_the_preset_are_the_golden_ones() {
    let golden = vector("dsn_renyi_shift2");
    let table = preset();
    // The certificate takes the worst of a move by one and by two, which is two.
    let two = Certificate::of(&table, 2).unwrap();
    let orders = golden["inputs"]["alphas"].as_array().unwrap();
    for (order, expected) in orders.iter().zip(golden["expected"]["D"].as_array().unwrap()) {
        let found = two.renyi_upper(number(order)).get();
        assert!((found / number(expected) - 1.0).abs() < 2e-9, "{found} {expected}");
    }
    let epsilon = Certificate::of(&table, 1).unwrap().epsilon_upper().get();
    assert!((epsilon / 16.7123765094907 - 1.0).abs() < 2e-9);
}

#[test]
fn presets_are_certified() {
    // Spec A2: presets; the certified slope must lie at or below ρ, and above 99.8% of it.
    for (rho, omega, a, sigma) in [
        (0.5, 1.5, 2.70, 1.286),
        (0.1, 3.2, 7.35, 2.725),
        (0.05, 4.5, 10.88, 3.816),
        (0.02, 7.0, 17.68, 6.000),
        (0.01, 10.0, 25.80, 8.436),
        (0.005, 14.0, 36.67, 11.919),
        (0.001, 32.0, 85.44, 26.462),
    ] {
        let slope = noise(sigma, a).certificate(1).unwrap().slope_upper(Omega::new(omega).unwrap()).get();
        assert!(slope <= rho && slope >= 0.998 * rho, "{slope} against {rho}");
    }
}

#[test]
fn the_continuous_curve_agrees_with_golden_vectors_and_with_tables() {
    for name in ["sinh_D_a10_r0.01_al1.25", "sinh_D_a20_r0.01_al9", "sinh_D_a100_r0.01_al12"] {
        let golden = vector(name);
        let a = number(&golden["inputs"]["A_over_Delta"]);
        let shape = a * a * number(&golden["inputs"]["rho0"]);
        let found = continuous_renyi(a, shape, number(&golden["inputs"]["alpha"]));
        assert!((found / number(&golden["expected"]["D"]) - 1.0).abs() < 1e-10, "{name}: {found}");
    }
    // On a fine grid table and density agree closely: two independent computations of the same number.
    for order in [1.5, 3.0, 6.0, 9.0] {
        let table = noise(26.462, 85.44).certificate(1).unwrap().renyi_upper(order).get();
        let shape = 85.44f64.powi(2) / (2.0 * 26.462f64.powi(2));
        assert!((table / continuous_renyi(85.44, shape, order) - 1.0).abs() < 1e-6);
    }
}

#[test]
fn sup_of_the_curve_is_the_golden_one() {
    // A = 16, ρ₀ = 1/256 so R = 1, at a resolution where the grid does not matter.
    let golden = number(&vector("sinh_sup_ratio_a16_w2")["expected"]["sup_D_over_alpha"]);
    let scale = 16u64;
    let found = noise(scale as f64 * 128f64.sqrt(), scale as f64 * 16.0)
        .certificate(scale)
        .unwrap()
        .slope_upper(Omega::new(2.0).unwrap())
        .get();
    assert!(found >= golden * (1.0 - 1e-6) && found <= golden * 1.002, "{found} {golden}");
}

#[test]
fn l1_bounded_moves_are_dominated_by_one_large_move() {
    // Spec A2.9: for the preset the worst split of an L1 bound of 3 is what the golden vector says.
    let golden = number(&vector("l1_sensitivity_worst_case")["expected"]["D"]);
    let table = preset();
    let cost = |shift| Certificate::of(&table, shift).unwrap().renyi_upper(1.5).get();
    assert!((cost(3) / golden - 1.0).abs() < 2e-9);
    assert!(cost(3) >= cost(1) + cost(2));
}

#[test]
fn not_log_concave_parameters_are_refused() {
    let golden = vector("sinh_reject_parameters");
    let cases = golden["inputs"]["cases"].as_array().unwrap();
    for (case, accept) in cases.iter().zip(golden["expected"]["accept"].as_array().unwrap()) {
        let (sigma, a) = (number(&case["sigma"]), number(&case["A"]));
        let made = SinhNormal::new(Sigma::new(sigma).unwrap(), Scale::new(a).unwrap());
        assert_eq!(made.is_ok(), accept.as_bool().unwrap());
    }
    let refusal = |sigma: f64, a: f64| {
        SinhNormal::new(Sigma::new(sigma).unwrap(), Scale::new(a).unwrap()).unwrap_err().to_string()
    };
    assert!(refusal(9.0, 8.0).contains("needs a ≥ sigma"));
    assert!(refusal(1e9, 1e9).contains("coarser grid"));
    assert!(refusal(0.01, 0.01).contains("too small"));
}

#[test]
fn theorem_17_of_the_paper_is_far_from_tight_and_vacuous_for_small_a() {
    // Paper: (16ρ₀, A/8). At R = 1 and ω = A/8 the truth is 1.674ρ₀.
    let a = 80.0f64;
    let rho0 = 1.0 / (a * a);
    let truth = noise(a / 2f64.sqrt(), a).certificate(1).unwrap().slope_upper(Omega::new(a / 8.0).unwrap()).get();
    assert!((truth / rho0 - 1.674).abs() < 0.01, "{}", truth / rho0);
}

#[test]
fn corollary_18_of_the_paper_is_false_as_printed() {
    // ρ = 0.001, ω = 1/(8√ρ): the paper adds A = 8ω, σ² = 16/ρ to both cells and claims (ρ, ω)-tCDP, D₂ ≤ 2ρ.
    let rho = 0.001f64;
    let omega = 1.0 / (8.0 * rho.sqrt());
    let (a, sigma) = (8.0 * omega, (16.0 / rho).sqrt());
    let shape = a * a / (2.0 * sigma * sigma);
    let two_cells = 2.0 * continuous_renyi(a, shape, 2.0);
    assert!((two_cells - 0.00362463).abs() < 1e-7);
    assert!(two_cells > 2.0 * rho);
    // We do not claim it: the parameters are refused.
    assert!(SinhNormal::new(Sigma::new(sigma).unwrap(), Scale::new(a).unwrap()).is_err());
    let golden = vector("cor18_min_omega");
    assert!((1.0 / 0.02f64.sqrt() - number(&golden["expected"]["omega_min_true"])).abs() < 1e-9);
}

#[test]
fn quantiles_are_those_of_the_integers() {
    let noise = noise(8.436, 25.80);
    assert_eq!(noise.table().quantile(1e-9), 37);
    assert_eq!(noise.table().quantile(1e-18), 46);
    let golden = vector("sinh_quantile");
    let q = 25.8 * (8.436f64 * 7.0 / 25.8).asinh();
    assert!((q / number(&golden["expected"]["q"]) - 1.0).abs() < 1e-12);
    for q in 0..60i64 {
        let beyond: f64 = (q + 1..400).map(|k| 2.0 * noise.table().probability(k)).sum();
        if beyond > 1e-37 {
            assert!(noise.table().quantile(beyond * 1.0001) <= q);
            assert!(noise.table().quantile(beyond * 0.9999) > q);
        }
    }
}

/// Words that are given beforehand.
struct ScriptedWords(Vec<u64>);

impl BitSource for ScriptedWords {
    fn next_u64(&mut self) -> u64 {
        self.0.remove(0)
    }

    fn is_secure(&self) -> bool {
        false
    }
}

#[test]
fn each_number_of_128_bits_belongs_to_the_right_cell() {
    let noise = noise(2.725, 7.35);
    let ends = ends(noise.table());
    let draw = |number: u128| noise.sample(&mut ScriptedWords(vec![(number >> 64) as u64, number as u64, 1, 1, 0]));
    for (cell, end) in ends.iter().enumerate().take(ends.len() - 1) {
        assert_eq!(draw(end - 1), signed(cell), "last number of cell {cell}");
        let next = if cell + 2 < ends.len() { signed(cell + 1) } else { 17 };
        assert!(draw(*end) == next || draw(*end) > 17, "first number of cell {}", cell + 1);
    }
    assert!(draw(u128::MAX) < -16);
}

#[test]
fn draws_follow_the_table() {
    // χ² over the cells with an expected count of at least 20; 4·10^5 draws; false alarm below 1e-9 (Laurent–Massart).
    let noise = noise(2.725, 7.35);
    let mut out = vec![0i64; 400_000];
    noise.fill(&mut InsecureSeededSource::new(11), &mut out);
    let mut cells = 0.0f64;
    let mut statistic = 0.0;
    for k in -16i64..=16 {
        let expected = noise.table().probability(k) * out.len() as f64;
        if expected >= 20.0 {
            let seen = out.iter().filter(|z| **z == k).count() as f64;
            statistic += (seen - expected).powi(2) / expected;
            cells += 1.0;
        }
    }
    let x = 1e9f64.ln();
    assert!(statistic < cells + 2.0 * (cells * x).sqrt() + 2.0 * x, "{statistic} over {cells} cells");
}
