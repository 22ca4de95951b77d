use super::*;
use crate::harness::Distribution;
use crate::noise::InsecureSeededSource;
use num_rational::BigRational;
use num_traits::One;

fn vector() -> serde_json::Value {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/survey.json"));
    let all: serde_json::Value = serde_json::from_str(text).unwrap();
    let found = all["vectors"].as_array().unwrap().iter().find(|vector| vector["name"] == "s10_inner_product");
    found.unwrap().clone()
}

fn bools(value: &serde_json::Value) -> Vec<bool> {
    value.as_array().unwrap().iter().map(|bit| *bit == 1).collect()
}

#[test]
fn the_vector_comes_out() {
    let vector = vector();
    let (input, expected) = (&vector["input"], &vector["expected"]);
    let product =
        InnerProduct::with_flip(27, 100, Epsilon::new(input["epsilon_second"].as_f64().unwrap()).unwrap()).unwrap();
    // A cost is rounded upwards by a part of 1e-12.
    let near = |found: f64, field: &str| {
        let wanted = expected[field].as_f64().unwrap();
        assert!((found - wanted).abs() <= 2e-12 * wanted, "{field}: {found} is not {wanted}");
    };
    near(product.epsilon_first().get(), "epsilon_first");
    near(product.noise.scale().get(), "noise_scale");
    let (y, message) = (bools(&input["second"]), bools(&input["message"]));
    assert_eq!(product.sum(&y, &message).unwrap(), expected["unnoised"].as_i64().unwrap());
    assert_eq!(product.divisor(), expected["divide_by"].as_f64().unwrap());
    near(product.variance(y.iter().filter(|bit| **bit).count() as u64), "variance");
    let both = bools(&input["first"]).iter().zip(&y).filter(|(x, y)| **x && **y).count();
    assert_eq!(both as u64, expected["truth"].as_u64().unwrap());
}

fn words(owners: usize) -> Vec<Vec<bool>> {
    (0..1u32 << owners).map(|word| (0..owners).map(|bit| word >> bit & 1 == 1).collect()).collect()
}

/// The law of the message as rationals, for every x: what the second party sees.
fn messages(product: &InnerProduct, x: &[bool]) -> Distribution<Vec<bool>> {
    let (above, below) = product.flip;
    let flip = BigRational::new(above.into(), below.into());
    let chance = |sent: &[bool]| {
        x.iter().zip(sent).map(|(x, sent)| if x == sent { BigRational::one() - &flip } else { flip.clone() }).product()
    };
    Distribution::exact(words(x.len()).into_iter().map(|sent| (sent.clone(), chance(&sent))))
}

/// The second party's view, for all neighbouring x of three owners: exactly the claimed ε, never more.
#[test]
fn the_second_partys_view_costs_what_is_claimed() {
    for product in [
        InnerProduct::with_flip(27, 100, Epsilon::new(0.7).unwrap()).unwrap(),
        InnerProduct::new(Epsilon::new(0.3).unwrap(), Epsilon::new(1.0).unwrap()).unwrap(),
    ] {
        let mut worst = 0.0f64;
        for x in words(3) {
            for place in 0..3 {
                let mut other = x.clone();
                other[place] = !other[place];
                worst = worst.max(messages(&product, &x).max_divergence_lower(&messages(&product, &other)));
            }
        }
        assert!((worst - product.epsilon_first().get()).abs() < 1e-12, "{worst}");
    }
}

/// The first party's view: for any message a bit of y moves the sum by b − a or less, so that noise of scale (b−a)/ε
/// costs at most ε; and by b − a for some.
#[test]
fn the_first_partys_view_costs_what_is_claimed() {
    let product = InnerProduct::with_flip(27, 100, Epsilon::new(0.7).unwrap()).unwrap();
    let mut worst = 0.0f64;
    for message in words(3) {
        for y in words(3) {
            for place in 0..3 {
                let mut other = y.clone();
                other[place] = !other[place];
                let moved = product.sum(&y, &message).unwrap() - product.sum(&other, &message).unwrap();
                worst = worst.max(moved.unsigned_abs() as f64 / product.noise.scale().get());
            }
        }
    }
    assert!(worst <= 0.7 && worst > 0.7 - 1e-12, "{worst}");
}

/// Averaged over all messages, the sum over b − 2a is the inner product, for all x and y of three owners: in rationals.
#[test]
fn the_estimate_is_unbiased() {
    let product = InnerProduct::with_flip(3, 10, Epsilon::new(0.7).unwrap()).unwrap();
    for x in words(3) {
        for y in words(3) {
            let mean: f64 = messages(&product, &x)
                .iter()
                .map(|(sent, chance)| (chance.lower + chance.upper) / 2.0 * product.sum(&y, sent).unwrap() as f64)
                .sum();
            let truth = x.iter().zip(&y).filter(|(x, y)| **x && **y).count() as f64;
            assert!((mean / product.divisor() - truth).abs() < 1e-12);
        }
    }
}

/// Seeded: off by more than planned in no more than a hundredth of 2,000 runs at β = 0.001 (false alarm below 1e-9 even
/// if it were exactly β).
#[test]
fn the_error_is_as_planned() {
    let product = InnerProduct::new(Epsilon::new(1.0).unwrap(), Epsilon::new(0.5).unwrap()).unwrap();
    let x: Vec<bool> = (0..500).map(|place| place % 3 == 0).collect();
    let y: Vec<bool> = (0..500).map(|place| place % 2 == 0).collect();
    let truth = x.iter().zip(&y).filter(|(x, y)| **x && **y).count() as f64;
    let mut bits = InsecureSeededSource::new(5);
    let within = product.error(Beta::new(0.001).unwrap(), 500).unwrap();
    let (mut off, mut sum, mut squares) = (0, 0.0, 0.0);
    for _ in 0..2000 {
        let message = product.message(&x, &mut bits);
        let found = product.estimate(product.answer(&y, &message, &mut bits).unwrap()) - truth;
        off += usize::from(found.abs() > within);
        (sum, squares) = (sum + found, squares + found * found);
    }
    assert!(off <= 20, "{off}");
    // The variance is the formula's, within a quarter: about eight standard deviations of 2,000 nearly normal draws.
    let variance = squares / 2000.0 - (sum / 2000.0f64).powi(2);
    assert!((variance / product.variance(250) - 1.0).abs() < 0.25, "{variance}");
    assert!((sum / 2000.0).abs() < 6.5 * (product.variance(250) / 2000.0).sqrt());
}

#[test]
fn what_is_wrong_is_refused() {
    let product = InnerProduct::new(Epsilon::new(1.0).unwrap(), Epsilon::new(0.5).unwrap()).unwrap();
    assert!(product.epsilon_first() <= 1.0 && product.epsilon_first() > 0.999);
    let mut bits = InsecureSeededSource::new(1);
    let sentence = product.answer(&[true], &[true, false], &mut bits).unwrap_err().to_string();
    assert!(sentence.contains("2 bits and the second has 1"), "{sentence}");
    for (above, below) in [(0, 10), (5, 10), (6, 10), (1, UNIT + 1)] {
        assert!(InnerProduct::with_flip(above, below, Epsilon::new(1.0).unwrap()).is_err());
    }
    assert!(
        InnerProduct::new(Epsilon::new(0.0).unwrap(), Epsilon::new(1.0).unwrap()).is_err()
            && InnerProduct::new(Epsilon::new(1e-9).unwrap(), Epsilon::new(1.0).unwrap()).is_err()
    );
    assert!(InnerProduct::new(Epsilon::new(1.0).unwrap(), Epsilon::new(0.0).unwrap()).is_err());
    // As little lies as there are.
    assert_eq!(InnerProduct::new(Epsilon::new(50.0).unwrap(), Epsilon::new(1.0).unwrap()).unwrap().flip, (1, UNIT));
}
