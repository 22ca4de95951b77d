use super::super::conjunctions::{self, BitLayout, ConjunctionSummary, Measure, Polynomial};
use super::*;
use crate::noise::{DiscreteGaussian, InsecureSeededSource};
use crate::quantity::Rho;
use serde_json::Value;

fn vector(name: &str) -> (Value, Value) {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/survey.json"));
    let all: Value = serde_json::from_str(text).unwrap();
    let found = all["vectors"].as_array().unwrap().iter().find(|vector| vector["name"] == name).unwrap();
    (found["input"].clone(), found["expected"].clone())
}

fn entries(matrix: &Value) -> Vec<f64> {
    matrix
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|row| row.as_array().unwrap())
        .map(|entry| entry.as_f64().unwrap())
        .collect()
}

#[test]
fn the_projections_of_the_specification() {
    for (name, size) in [("s8_projection_3", 3), ("s8_projection_4", 4)] {
        let (input, expected) = vector(name);
        let noisy = entries(&input["noisy"]);
        let found = nearest_correlation(size, &noisy).unwrap();
        for (found, wanted) in found.entries().iter().zip(entries(&expected["projected"])) {
            assert!((found - wanted).abs() < 1e-7, "{name}: {found} {wanted}");
        }
        let distance: f64 = found.entries().iter().zip(&noisy).map(|(x, a)| (x - a) * (x - a)).sum();
        let wanted = expected["distance_squared"].as_f64().unwrap();
        assert!((distance / wanted - 1.0).abs() < 1e-8, "{name}: {distance} {wanted}");
        assert!(found.gap < expected["duality_gap_below"].as_f64().unwrap(), "{name}: {}", found.gap);
    }
}

#[test]
fn the_plans_of_the_specification() {
    for name in ["s8_plan_500", "s8_plan_50"] {
        let (input, expected) = vector(name);
        let columns = input["attributes"].as_u64().unwrap() as usize;
        let sigma = (binomial(columns, 2) as f64 / (2.0 * input["rho"].as_f64().unwrap())).sqrt();
        let mean = sigma / input["n"].as_f64().unwrap();
        let near = |found: f64, key: &str| {
            let wanted = expected[key].as_f64().unwrap();
            assert!((found / wanted - 1.0).abs() < 1e-12, "{name}: {key} is {found} and not {wanted}");
        };
        near(mean, "sigma_mean");
        near(projected_error(columns, mean), "rms_bound");
        assert_eq!(projection_pays(columns, mean), expected["pays"].as_bool().unwrap());
    }
}

/// A symmetric matrix with ones on the diagonal and noise of this size beside it.
fn noisy(size: usize, sigma: f64, seed: u64) -> Vec<f64> {
    let noise = DiscreteGaussian::new(Sigma::new(1000.0 * sigma).unwrap());
    let mut source = InsecureSeededSource::new(seed);
    let mut matrix = vec![1.0; size * size];
    for row in 1..size {
        for column in 0..row {
            let value = noise.add_to(0, &mut source) as f64 / 1000.0;
            matrix[row * size + column] = value;
            matrix[column * size + row] = value;
        }
    }
    matrix
}

#[test]
fn what_is_found_is_feasible_certified_and_nearest() {
    for (size, sigma) in
        [(2, 3.0), (5, 0.1), (5, 2.0), (20, 0.5), (40, 0.05), (40, 0.4), (60, 1.0), (100, 0.3), (30, 1e4)]
    {
        let matrix = noisy(size, sigma, size as u64);
        let found = nearest_correlation(size, &matrix).unwrap();
        let scale = matrix.iter().map(|entry| entry * entry).sum::<f64>().max(1.0);
        assert!(found.gap <= (1e-9 * (size * size) as f64).max(1e-13 * scale), "{size} {sigma}: {}", found.gap);
        // Ones on the diagonal, and a little more makes it definite.
        let shifted = |row: usize, column: usize| found.at(row, column) + if row == column { 1e-8 } else { 0.0 };
        assert!((0..size).all(|place| found.at(place, place) == 1.0));
        assert!(is_definite(size, shifted), "{size} {sigma}");
        // Obtuse angles to what other matrices there are: ⟨A − X, Z − X⟩ ≤ gap for feasible Z.
        let toward = |z: &dyn Fn(usize, usize) -> f64| -> f64 {
            let entry = |at: usize| {
                let (row, column) = (at / size, at % size);
                (matrix[at] - found.entries()[at]) * (z(row, column) - found.entries()[at])
            };
            (0..size * size).map(entry).sum()
        };
        let slack = (2.0 * found.gap * scale).sqrt() * 2.0 + 1e-7 * scale.sqrt();
        assert!(toward(&|row, column| f64::from(u8::from(row == column))) <= slack);
        assert!(toward(&|_, _| 1.0) <= slack);
        assert!(toward(&|row, column| if (row + column) % 2 == 0 { 1.0 } else { -1.0 }) <= slack);
        assert!(found.steps <= 30, "{size} {sigma}: {} steps", found.steps);
    }
}

/// Whether a Cholesky factor runs through.
fn is_definite(size: usize, entry: impl Fn(usize, usize) -> f64) -> bool {
    let mut factor = vec![vec![0.0f64; size]; size];
    for row in 0..size {
        for column in 0..=row {
            let sum: f64 = (0..column).map(|at| factor[row][at] * factor[column][at]).sum();
            let rest = entry(row, column) - sum;
            factor[row][column] = match row == column {
                true if rest <= 0.0 => return false,
                true => rest.sqrt(),
                false => rest / factor[column][column],
            };
        }
    }
    true
}

#[test]
fn a_matrix_that_is_one_already_stays() {
    let size = 30;
    let entry = |at: usize| 0.5f64.powi((at / size).abs_diff(at % size) as i32);
    let matrix: Vec<f64> = (0..size * size).map(entry).collect();
    let found = nearest_correlation(size, &matrix).unwrap();
    assert_eq!(found.steps, 0);
    assert!(found.entries().iter().zip(&matrix).all(|(x, a)| (x - a).abs() < 1e-12));
}

#[test]
fn what_is_no_symmetric_matrix_of_numbers_is_refused() {
    let check = |size: usize, entries: &[f64], part: &str| {
        let sentence = nearest_correlation(size, entries).unwrap_err().to_string();
        assert!(sentence.contains(part), "{sentence}");
    };
    check(2, &[1.0, f64::NAN, f64::NAN, 1.0], "row 0 of the matrix has NaN");
    check(2, &[1.0, f64::INFINITY, f64::INFINITY, 1.0], "inf in column 1");
    check(2, &[1.0, 0.5, 0.4, 1.0], "not symmetric");
    check(2, &[1.0; 3], "does not have 3 entries");
    check(0, &[], "does not have 0 entries");
    let limits = RhoLimits { presence: Some(Rho::new(0.1).unwrap()), ..RhoLimits::default() };
    for columns in [0, 1, 501] {
        let sentence = ColumnPairs::within(&limits, columns).unwrap_err().to_string();
        assert!(sentence.contains("2 to 500 columns"), "{sentence}");
    }
    assert!(ColumnPairs::within(&RhoLimits::default(), 3).is_err());
    let pairs = ColumnPairs::within(&limits, 3).unwrap();
    assert!(pairs.events(&["one".to_string()]).is_err());
    assert!(pairs.release(&Bits::new(&[vec![true]]).unwrap(), &mut InsecureSeededSource::new(1)).is_err());
}

/// `people` people with columns that hang together: three hidden groups.
fn people(columns: usize, people: usize) -> Vec<Vec<bool>> {
    let mut source = InsecureSeededSource::new(9);
    let mut below = |percent: u64| source.next_u64() % 100 < percent;
    let groups: Vec<usize> = (0..people).map(|_| usize::from(below(50)) + usize::from(below(40))).collect();
    let likely = |column: usize, group: usize| 10 + ((column * 37 + group * 53) % 80) as u64;
    (0..columns).map(|column| groups.iter().map(|&group| below(likely(column, group))).collect()).collect()
}

#[test]
fn projected_tables_keep_their_promise_and_unbiased_ones_their_bars() {
    let (columns, number) = (40, 60);
    let data = people(columns, number);
    let bits = Bits::new(&data).unwrap();
    let limits = RhoLimits { presence: Some(Rho::new(0.1).unwrap()), ..RhoLimits::default() };
    let pairs = ColumnPairs::within(&limits, columns).unwrap();
    assert!(pairs.pays(number as u64) && !pairs.pays(1_000_000));
    let (mut unbiased, mut projected, mut inside, mut cells) = (0.0, 0.0, 0.0, 0.0);
    let mut source = InsecureSeededSource::new(2);
    for _ in 0..12 {
        let measured = pairs.release(&bits, &mut source).unwrap();
        let fitted = measured.projected().unwrap();
        for right in 1..columns {
            for left in 0..right {
                for values in 0..4 {
                    let (x, y) = ((left, values & 1 == 1), (right, values & 2 == 2));
                    let truth = (0..number).filter(|&i| data[left][i] == x.1 && data[right][i] == y.1).count() as f64;
                    unbiased += (measured.both(x, y) - truth).powi(2);
                    projected += (fitted.both(x, y) - truth).powi(2);
                    inside += f64::from(u8::from((measured.both(x, y) - truth).abs() <= pairs.half_width(2)));
                    cells += 1.0;
                }
            }
        }
    }
    let (unbiased, projected) = ((unbiased / cells).sqrt(), (projected / cells).sqrt());
    let stated = pairs.cell_variance(2).sqrt();
    assert!((unbiased / stated - 1.0).abs() < 0.2, "{unbiased} {stated}");
    assert!(inside / cells > 0.93, "{}", inside / cells);
    let promised = pairs.promised_error(number as u64);
    assert!(projected < promised && promised < stated, "{projected} {promised} {stated}");
    assert!(projected < 0.75 * unbiased, "{projected} {unbiased}");
}

#[test]
fn without_noise_the_tables_are_exact() {
    let data = people(6, 500);
    let bits = Bits::new(&data).unwrap();
    let measured = MeasuredPairs { columns: 6, people: 500, single: bits.balances(1), pair: bits.balances(2) };
    let fitted = measured.projected().unwrap();
    assert_eq!(measured.people(), 500);
    assert!(fitted.distance() < 1e-6);
    for (left, right) in [(0, 1), (4, 2), (5, 3)] {
        for (x, y) in [(true, true), (true, false), (false, true), (false, false)] {
            let truth = (0..500).filter(|&i| data[left][i] == x && data[right][i] == y).count() as f64;
            assert_eq!(measured.both((left, x), (right, y)), truth);
            assert!((fitted.both((left, x), (right, y)) - truth).abs() < 1e-4);
        }
        assert_eq!(measured.one((left, true)), data[left].iter().filter(|value| **value).count() as f64);
    }
}

/// Of exact sums of up to four columns, nothing is projected away; and of what is, no answer of four columns is
/// changed.
#[test]
fn without_noise_products_of_four_are_exact() {
    let data = people(6, 500);
    let bits = Bits::new(&data).unwrap();
    for degree in [2, 3, 4, 5, 6] {
        let numbers: Vec<Vec<i64>> = (0..=degree).map(|size| bits.balances(size)).collect();
        let found = ParityMoments::projected(6, &numbers).unwrap();
        assert!(found.distance() < 1e-6, "{}", found.distance());
        for (size, of_size) in numbers.iter().enumerate() {
            for (set, exact) in super::super::parities::sets(6, size).iter().zip(of_size) {
                assert!((found.parity(set) - *exact as f64).abs() < 0.01, "{set:?}: {} {exact}", found.parity(set));
            }
        }
        let polynomial = Polynomial::exact(degree).unwrap();
        let summary =
            ConjunctionSummary::new(6, &polynomial, Measure::Parities, vec![1.0; degree + 1], numbers).unwrap();
        let literals = [(0, true), (5, false)];
        let truth = (0..500).filter(|&i| data[0][i] && !data[5][i]).count() as f64;
        let projected = summary.answer_projected(&literals, &summary.projected().unwrap()).unwrap();
        assert!(
            (projected - truth).abs() < 0.02 && summary.answer(&literals).unwrap().estimate == truth,
            "{projected}"
        );
    }
}

/// Few people and much noise: the projection of products of four and of six is nearer to the truth.
#[test]
fn projected_products_of_four_and_six_are_nearer() {
    for (columns, degree, number) in [(12, 4, 60), (7, 6, 30)] {
        let bits = Bits::new(&people(columns, number)).unwrap();
        let presence = Some(Rho::new(0.1).unwrap());
        let limits = RhoLimits { presence, public_people: Some(number as u64), ..RhoLimits::default() };
        let polynomial = Polynomial::exact(degree).unwrap();
        let plan = conjunctions::ConjunctionPlan::within(
            &limits,
            &BitLayout::plain(columns).unwrap(),
            polynomial,
            Measure::Parities,
        );
        let (plan, mut source) = (plan.unwrap(), InsecureSeededSource::new(3));
        let (mut noisy, mut projected) = (0.0, 0.0);
        for _ in 0..4 {
            let released = plan.release(&bits, &mut source).unwrap();
            let found = released.projected().unwrap();
            for size in 1..=degree {
                let sets = super::super::parities::sets(columns, size);
                for ((set, exact), number) in sets.iter().zip(bits.balances(size)).zip(&released.numbers()[size]) {
                    noisy += (*number as f64 - exact as f64).powi(2);
                    projected += (found.parity(set) - exact as f64).powi(2);
                }
            }
        }
        assert!(projected < 0.8 * noisy, "{columns} columns, {degree}: {projected} {noisy}");
    }
}

#[test]
fn products_that_are_too_many_or_counts_are_refused() {
    let none = ParityMoments::projected(3, &[vec![7], vec![1, 2, 3]]).unwrap_err().to_string();
    assert!(none.contains("parities of two columns or more"), "{none}");
    let many = ParityMoments::projected(1000, &vec![Vec::new(); 7]).unwrap_err().to_string();
    assert!(many.contains("at most 500 products of half as many columns, not 166"), "{many}");
    let numbers = vec![vec![9], vec![0; 4], vec![0; 4]];
    let counts =
        ConjunctionSummary::new(2, &Polynomial::exact(2).unwrap(), Measure::Counts, vec![1.0; 3], numbers).unwrap();
    let refused = counts.projected().unwrap_err().to_string();
    assert!(refused.contains("measure = \"parities\""), "{refused}");
}
