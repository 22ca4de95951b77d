use super::super::parities::sets;
use super::*;
use crate::noise::InsecureSeededSource;
use crate::quantity::Rho;
use num_traits::ToPrimitive;
use serde_json::Value;

fn vector(name: &str) -> (Value, Value) {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/survey.json"));
    let all: Value = serde_json::from_str(text).unwrap();
    let found = all["vectors"].as_array().unwrap().iter().find(|vector| vector["name"] == name).unwrap();
    (found["input"].clone(), found["expected"].clone())
}

/// The variance at the best allocation, times ρ in presence, without the number of people:
/// (Σ|share|√(C(t, r)·C(d, r)))²/2.
fn variance_times_rho(columns: usize, polynomial: &Polynomial, measure: Measure) -> f64 {
    let shares = measure.shares(polynomial);
    let sum: f64 = (1..shares.len())
        .map(|r| shares[r].abs() * (binomial(polynomial.width(), r) as f64 * binomial(columns, r) as f64).sqrt())
        .sum();
    sum * sum / 2.0
}

#[test]
fn the_vectors_of_the_specification() {
    for name in ["s8_chebyshev_4", "s8_chebyshev_8"] {
        let (input, expected) = vector(name);
        let (width, columns) =
            (input["width"].as_u64().unwrap() as usize, input["attributes"].as_u64().unwrap() as usize);
        let found = Polynomial::chebyshev(width, input["accuracy"].as_f64().unwrap()).unwrap();
        assert_eq!(found.degree() as u64, expected["degree"].as_u64().unwrap());
        let newton: Vec<String> = found.newton().iter().map(ToString::to_string).collect();
        assert_eq!(serde_json::json!(newton), expected["newton"], "{name}");
        let best = Polynomial::minimax(width, found.degree()).unwrap();
        let near = |found: f64, key: &str| {
            let wanted = expected[key].as_f64().unwrap();
            assert!((found / wanted - 1.0).abs() < 1e-6, "{name}: {key} is {found} and not {wanted}");
        };
        near(found.bias(), "bias");
        near(best.bias(), "minimax_bias");
        near(variance_times_rho(columns, &found, Measure::Counts), "variance_times_rho");
        near(variance_times_rho(columns, &best, Measure::Counts), "variance_times_rho_minimax");
        near(binomial(columns, width) as f64 / 2.0, "direct_variance_times_rho");
    }
}

#[test]
fn the_table_of_the_specification_and_what_parities_make_of_it() {
    // d, t, s, variance·ρ of counts, by inclusion and exclusion, of all t-way tables directly.
    for (d, t, s, of_counts, exact, direct) in [
        (20, 4, 3, 2481.0, 16_170.0, 2422.0),
        (50, 4, 3, 26_000.0, 369_600.0, 115_150.0),
        (100, 4, 3, 1.67e5, 4.4e6, 1.96e6),
        (50, 8, 5, 1.11e7, 3.9e9, 2.7e8),
        (100, 8, 5, 2.37e8, 5.6e11, 9.3e10),
    ] {
        let near = Polynomial::chebyshev_of(t, s).unwrap();
        let close = |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 0.02, "{d} {t}: {found} {wanted}");
        close(variance_times_rho(d, &near, Measure::Counts), of_counts);
        close(variance_times_rho(d, &Polynomial::exact(t).unwrap(), Measure::Counts), exact);
        close(binomial(d, t) as f64 / 2.0, direct);
        // Parities without any bias are better than counts with it, and still better with it.
        let unbiased = variance_times_rho(d, &Polynomial::exact(t).unwrap(), Measure::Parities);
        let biased = variance_times_rho(d, &near, Measure::Parities);
        assert!(unbiased < of_counts / 3.0 && biased < unbiased, "{d} {t}: {unbiased} {biased}");
    }
}

#[test]
fn polynomials_are_what_they_promise() {
    for width in 1..=12usize {
        for degree in 1..=width {
            let (near, best) =
                (Polynomial::chebyshev_of(width, degree).unwrap(), Polynomial::minimax(width, degree).unwrap());
            assert!(best.bias() <= near.bias() + 1e-15, "{width} {degree}");
            assert_eq!((near.is_exact(), best.is_exact()), (degree == width, degree == width));
            for found in [&near, &best] {
                let value = |k: usize| -> f64 {
                    found.newton().iter().enumerate().map(|(r, b)| b.to_f64().unwrap() * binomial(k, r) as f64).sum()
                };
                assert!(value(0).abs() < 1e-12);
                let worst = (1..=width).map(|k| (value(k) - 1.0).abs()).fold(0.0, f64::max);
                assert!((worst - found.bias()).abs() < 1e-9, "{width} {degree}: {worst} {}", found.bias());
            }
            // No polynomial does better: degree + 1 points of alternating sign at the same distance.
            if degree < width {
                let off = |k: usize| {
                    let terms =
                        best.newton().iter().enumerate().map(|(r, b)| b.to_f64().unwrap() * binomial(k, r) as f64);
                    1.0 - terms.sum::<f64>()
                };
                let far: Vec<f64> = (1..=width).map(off).filter(|off| off.abs() > best.bias() * (1.0 - 1e-6)).collect();
                let alternations = far.windows(2).filter(|pair| pair[0] * pair[1] < 0.0).count();
                assert!(alternations >= degree, "{width} {degree}: {far:?}");
            }
        }
        // The formula of the least degree.
        for bias in [0.3, 0.1, 0.05, 0.01] {
            let found = Polynomial::chebyshev(width, bias).unwrap();
            if width > 1 {
                let (t, least) = (width as f64, (1.0 / bias).acosh());
                let formula = (least / ((t + 1.0) / (t - 1.0)).acosh()).ceil() as usize;
                assert_eq!(found.degree(), formula.min(width), "{width} {bias}");
            }
        }
    }
    let exact: Vec<f64> = Polynomial::exact(5).unwrap().of_parities();
    assert!(exact.iter().all(|share| (share - 1.0 / 32.0).abs() < 1e-15), "{exact:?}");
}

/// Some people with five columns, no two alike in number.
fn people() -> Vec<Vec<bool>> {
    (0..5)
        .map(|column| {
            (0..300).map(|person| (person * person + 7 * column + person / (column + 2)) % (column + 3) < 2).collect()
        })
        .collect()
}

/// All conjunctions of up to `width` literals of five columns.
fn conjunctions(width: usize) -> Vec<Vec<(usize, bool)>> {
    let with_values = |set: Vec<usize>| {
        (0..1usize << set.len())
            .map(move |values| set.iter().enumerate().map(|(place, &j)| (j, values >> place & 1 == 1)).collect())
    };
    (0..=width).flat_map(|size| sets(5, size)).flat_map(with_values).collect()
}

#[test]
fn without_noise_every_conjunction_is_exact_or_within_its_bias() {
    let columns = people();
    let bits = Bits::new(&columns).unwrap();
    let limits = RhoLimits { presence: Some(Rho::new(1.0).unwrap()), ..RhoLimits::default() };
    for polynomial in
        [Polynomial::exact(4), Polynomial::chebyshev_of(4, 3), Polynomial::minimax(4, 3), Polynomial::minimax(5, 2)]
    {
        let polynomial = polynomial.unwrap();
        for measure in Measure::ALL {
            let plan =
                ConjunctionPlan::within(&limits, &BitLayout::plain(5).unwrap(), polynomial.clone(), measure).unwrap();
            let numbers = std::iter::once(vec![300]).chain(plan.exact(&bits)).collect();
            let summary = ConjunctionSummary::new(5, &polynomial, measure, plan.sigmas(), numbers).unwrap();
            for literals in conjunctions(polynomial.width()) {
                let all = |person: &usize| literals.iter().all(|(column, value)| columns[*column][*person] == *value);
                let truth = (0..300).filter(all).count() as f64;
                let answer = summary.answer(&literals).unwrap();
                let off = (answer.estimate - truth).abs();
                assert!(off <= answer.bias * (300.0 - truth) + 1e-9, "{literals:?}: {answer:?} for {truth}");
                assert_eq!(answer.bias == 0.0, literals.len() <= polynomial.degree() || polynomial.is_exact());
            }
        }
    }
}

#[test]
fn the_identity_of_the_binomial_basis_holds_for_every_row() {
    // d = 5, t = 4 of the specification: g(Σw) = Σ b_r Σ_S w_S.
    let near = Polynomial::chebyshev(4, 0.1).unwrap();
    for row in 0..32usize {
        for set in sets(5, 4) {
            let k = set.iter().filter(|&&j| row >> j & 1 == 1).count();
            let value = |k: usize| -> f64 {
                near.newton().iter().enumerate().map(|(r, b)| b.to_f64().unwrap() * binomial(k, r) as f64).sum()
            };
            let subsets = |r: usize| {
                sets(4, r).into_iter().filter(|own| own.iter().all(|&at| row >> set[at] & 1 == 1)).count() as f64
            };
            let sum: f64 = near.newton().iter().enumerate().map(|(r, b)| b.to_f64().unwrap() * subsets(r)).sum();
            assert!((sum - value(k)).abs() < 1e-12);
        }
    }
}

#[test]
fn errors_are_as_large_as_their_bars_say() {
    let bits = Bits::new(&people()).unwrap();
    let limits = RhoLimits { presence: Some(Rho::new(0.5).unwrap()), ..RhoLimits::default() };
    let mut source = InsecureSeededSource::new(11);
    let literals = [(0, true), (1, false), (3, true)];
    let truth = (0..300).filter(|&i| people()[0][i] && !people()[1][i] && people()[3][i]).count() as f64;
    for measure in Measure::ALL {
        let plan =
            ConjunctionPlan::within(&limits, &BitLayout::plain(5).unwrap(), Polynomial::exact(4).unwrap(), measure)
                .unwrap();
        let releases = 4000;
        let (mut sum, mut squares, mut inside, mut stated) = (0.0, 0.0, 0, 0.0);
        for _ in 0..releases {
            let answer = plan.release(&bits, &mut source).unwrap().answer(&literals).unwrap();
            let off = answer.estimate - truth;
            (sum, squares, stated) = (sum + off, squares + off * off, answer.standard_error);
            assert!((plan.error(3).unwrap().0 / stated - 1.0).abs() < 1e-12 && plan.error(5).is_err());
            inside += usize::from(off.abs() <= answer.half_width);
        }
        let number = releases as f64;
        // Seven standard deviations each.
        assert!((sum / number).abs() < 7.0 * stated / number.sqrt(), "{measure:?}");
        assert!((squares / number / (stated * stated) - 1.0).abs() < 7.0 * (2.0 / number).sqrt(), "{measure:?}");
        assert!(inside as f64 / number > 0.95 - 7.0 * (0.05 * 0.95 / number).sqrt(), "{measure:?}: {inside}");
    }
}

#[test]
fn a_biased_answer_is_within_its_bar_on_the_worst_table() {
    // Everybody has the same literals true: the bias is then the same for all, and as large as it gets for some number
    // of them.
    let limits = RhoLimits { presence: Some(Rho::new(0.5).unwrap()), ..RhoLimits::default() };
    let near = Polynomial::chebyshev_of(4, 3).unwrap();
    let plan = ConjunctionPlan::within(&limits, &BitLayout::plain(4).unwrap(), near, Measure::Parities).unwrap();
    let mut source = InsecureSeededSource::new(5);
    for ones in 0..=4usize {
        let columns: Vec<Vec<bool>> = (0..4).map(|column| vec![column < ones; 2000]).collect();
        let truth = if ones == 4 { 2000.0 } else { 0.0 };
        let bits = Bits::new(&columns).unwrap();
        let all = [(0, true), (1, true), (2, true), (3, true)];
        let inside = (0..200).filter(|_| {
            let answer = plan.release(&bits, &mut source).unwrap().answer(&all).unwrap();
            (answer.estimate - truth).abs() <= answer.half_width
        });
        // At least 95% on average: 200 − 5·√(200·0.05·0.95) would be seen once in a million.
        assert!(inside.count() >= 174, "{ones}");
    }
}

#[test]
fn what_cannot_be_planned_or_asked_is_refused_in_one_sentence() {
    let limits = RhoLimits { presence: Some(Rho::new(1.0).unwrap()), ..RhoLimits::default() };
    let check = |sentence: String, part: &str| assert!(sentence.contains(part), "{sentence}");
    let plan = |columns: usize, polynomial: Polynomial| {
        ConjunctionPlan::within(&limits, &BitLayout::plain(columns).unwrap(), polynomial, Measure::Counts)
    };
    check(plan(3, Polynomial::exact(4).unwrap()).unwrap_err().to_string(), "need 4 columns, and there are 3");
    check(plan(300, Polynomial::exact(4).unwrap()).unwrap_err().to_string(), "than 50000000");
    check(plan(300, Polynomial::exact(64).unwrap()).unwrap_err().to_string(), "lower the width");
    for bias in [0.0, 1.0, -0.5, f64::NAN, f64::INFINITY] {
        check(Polynomial::chebyshev(4, bias).unwrap_err().to_string(), "strictly between 0 and 1");
    }
    for width in [0, 65, usize::MAX] {
        check(Polynomial::exact(width).unwrap_err().to_string(), "1 to 64 literals");
    }
    check(Polynomial::minimax(4, 5).unwrap_err().to_string(), "degree");
    check(BitLayout::new(vec![1, 0]).unwrap_err().to_string(), "at least one column");
    let small = plan(3, Polynomial::exact(2).unwrap()).unwrap();
    let summary =
        small.release(&Bits::new(&vec![vec![true; 9]; 3]).unwrap(), &mut InsecureSeededSource::new(1)).unwrap();
    check(summary.answer(&[(0, true), (0, false)]).unwrap_err().to_string(), "true and false at once");
    check(summary.answer(&[(0, true), (1, true), (2, true)]).unwrap_err().to_string(), "up to 2 literals, not 3");
    check(summary.answer(&[(3, true)]).unwrap_err().to_string(), "there are 3 columns");
    assert_eq!(summary.answer(&[(0, true), (0, true)]), summary.answer(&[(0, true)]));
    assert!(small.release(&Bits::new(&[vec![true]]).unwrap(), &mut InsecureSeededSource::new(1)).is_err());
    let numbers = summary.numbers().to_vec();
    let again = |sigmas: Vec<f64>, numbers: Vec<Vec<i64>>| {
        ConjunctionSummary::new(3, small.polynomial(), Measure::Counts, sigmas, numbers)
    };
    assert_eq!(again(small.sigmas(), numbers.clone()), Ok(summary));
    assert!(again(vec![1.0, f64::NAN, 1.0], numbers.clone()).is_err());
    assert!(again(small.sigmas(), numbers[..2].to_vec()).is_err());
}
