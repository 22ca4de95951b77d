//! Every sampler against its exact distribution: decision trees for tiny parameters, ten million seeded draws for others.

use super::certified::Arithmetic;
use super::test_support::check_tree;
use super::{
    BitSource, DiscreteGaussian, DiscreteLaplace, Fraction, Geometric, InsecureSeededSource, TruncatedDiscreteLaplace,
    bernoulli, discrete_gaussian, discrete_laplace, geometric, permutation, subset, uniform,
};
use crate::harness::statistics::assert_agree;
use crate::quantity::{Scale, Sigma};
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, ToPrimitive};
use std::collections::BTreeMap;

const DRAWS: usize = 10_000_000;

fn scale(value: f64) -> Scale {
    Scale::new(value).unwrap()
}

fn sigma(value: f64) -> Sigma {
    Sigma::new(value).unwrap()
}

/// e^{−exponent} from a certified enclosure, for a rational exponent given as an exact product of f64s.
fn exp_minus(exponent: &BigRational) -> f64 {
    let arithmetic = Arithmetic::new(120);
    let enclosure = arithmetic.exp_minus(exponent.numer().magnitude(), exponent.denom().magnitude());
    assert!(&enclosure.high - &enclosure.low < BigInt::one() << 60u32);
    BigRational::new(enclosure.low, BigInt::one() << 120u32).to_f64().unwrap()
}

fn exact(value: f64) -> BigRational {
    BigRational::from_float(value).unwrap()
}

/// The weights of −reach, …, reach, normalised; what lies beyond has a mass below 1e-15.
fn normalised(reach: i64, weight: impl Fn(i64) -> f64) -> BTreeMap<i64, f64> {
    let weights: BTreeMap<i64, f64> = (-reach..=reach).map(|z| (z, weight(z))).collect();
    let total: f64 = weights.values().sum();
    weights.into_iter().map(|(z, weight)| (z, weight / total)).collect()
}

fn laplace_weight(scale: f64) -> impl Fn(i64) -> f64 {
    let scale = exact(scale);
    move |z| exp_minus(&(BigRational::from_integer(z.abs().into()) / &scale))
}

fn gaussian_weight(sigma: f64) -> impl Fn(i64) -> f64 {
    let twice_square = exact(sigma) * exact(sigma) * exact(2.0);
    move |z| exp_minus(&(BigRational::from_integer(BigInt::from(z) * z) / &twice_square))
}

/// Draws with `fill`, pools neighbouring values into bins of `width`, and compares.
fn check_draws(name: &str, draws: usize, width: i64, pmf: &BTreeMap<i64, f64>, mut fill: impl FnMut(&mut [i64])) {
    let mut counts: BTreeMap<i64, (u64, f64)> = BTreeMap::new();
    for (value, probability) in pmf {
        counts.entry(value.div_euclid(width)).or_default().1 += probability;
    }
    let mut block = vec![0i64; 100_000];
    let lowest = counts.keys().next().copied().unwrap_or(0);
    let mut tallies = vec![0u64; counts.len()];
    for _ in 0..draws / block.len() {
        fill(&mut block);
        for value in &block {
            let bin = value.div_euclid(width) - lowest;
            if let Some(tally) = usize::try_from(bin).ok().and_then(|bin| tallies.get_mut(bin)) {
                *tally += 1;
            }
        }
    }
    assert_agree(name, draws as u64, tallies.into_iter().zip(counts.values().map(|cell| cell.1)));
}

#[test]
fn ten_million_discrete_laplace_draws() {
    for (value, width) in [(0.4, 1), (1.0, 1), (10.0, 1), (100.0 / 3.0, 1), (1000.0, 7)] {
        let pmf = normalised((value * 36.0) as i64 + 2, laplace_weight(value));
        let noise = DiscreteLaplace::new(scale(value));
        let mut bits = InsecureSeededSource::new(value.to_bits());
        check_draws(&format!("discrete Laplace {value}"), DRAWS, width, &pmf, |out| noise.fill(&mut bits, out));
    }
}

#[test]
fn ten_million_discrete_gaussian_draws() {
    for (value, width) in [(0.4, 1), (1.0, 1), (10.0, 1), (100.0 / 3.0, 1), (1000.0, 7)] {
        let pmf = normalised((value * 9.0) as i64 + 3, gaussian_weight(value));
        let noise = DiscreteGaussian::new(sigma(value));
        let mut bits = InsecureSeededSource::new(value.to_bits());
        check_draws(&format!("discrete Gaussian {value}"), DRAWS, width, &pmf, |out| noise.fill(&mut bits, out));
    }
}

#[test]
fn ten_million_geometric_and_truncated_draws() {
    let one_sided = |value: f64, z: i64| if z < 0 { 0.0 } else { laplace_weight(value)(z) };
    for (value, width) in [(0.4, 1), (7.0, 1), (1000.0, 5)] {
        let pmf = normalised((value * 36.0) as i64 + 2, |z| one_sided(value, z));
        let noise = Geometric::new(scale(value));
        let mut bits = InsecureSeededSource::new(5);
        check_draws(&format!("geometric {value}"), DRAWS, width, &pmf, |out| noise.fill(&mut bits, out));
    }
    for (value, bound, draws) in [(5.0, 12, DRAWS), (5.0, 3, DRAWS / 10)] {
        let pmf = normalised(bound, laplace_weight(value));
        let noise = TruncatedDiscreteLaplace::new(scale(value), bound).unwrap();
        let mut bits = InsecureSeededSource::new(6);
        check_draws(&format!("truncated {value} {bound}"), draws, 1, &pmf, |out| {
            noise.fill(&mut bits, out);
            assert!(out.iter().all(|z| z.abs() <= bound));
        });
    }
}

#[test]
fn scalar_calls_and_sums_follow_the_same_distribution() {
    let pmf = normalised(120, gaussian_weight(12.5));
    let noise = DiscreteGaussian::new(sigma(12.5));
    let mut bits = InsecureSeededSource::new(7);
    check_draws("scalar", DRAWS, 1, &pmf, |out| out.iter_mut().for_each(|slot| *slot = noise.sample(&mut bits)));
    check_draws("add_to", DRAWS / 10, 1, &pmf, |out| {
        out.iter_mut().for_each(|slot| *slot = noise.add_to(1000, &mut bits) - 1000);
    });
    check_draws("add_to_all", DRAWS, 1, &pmf, |out| {
        out.fill(-77);
        noise.add_to_all(out, &mut bits);
        out.iter_mut().for_each(|slot| *slot += 77);
    });
}

#[test]
fn the_integer_only_path_has_the_same_distribution() {
    let draws = DRAWS / 10;
    for value in [0.4, 10.0] {
        let parameter = Fraction::from_f64(value).unwrap();
        let mut bits = InsecureSeededSource::new(8);
        let pmf = normalised((value * 36.0) as i64 + 2, laplace_weight(value));
        check_draws("integer-only Laplace", draws, 1, &pmf, |out| {
            out.iter_mut().for_each(|slot| *slot = discrete_laplace::integer_only(&parameter, &mut bits) as i64);
        });
        let pmf = normalised((value * 9.0) as i64 + 3, gaussian_weight(value));
        check_draws("integer-only Gaussian", draws, 1, &pmf, |out| {
            out.iter_mut().for_each(|slot| *slot = discrete_gaussian::integer_only(&parameter, &mut bits) as i64);
        });
    }
}

#[test]
fn uniform_trees_are_exact() {
    for bound in 1u64..10 {
        check_tree(14, 0.05, |bits| uniform::below(bits, bound), |_| 1.0 / bound as f64);
        check_tree(14, 0.05, |bits| uniform::below(bits, u128::from(bound)), |_| 1.0 / bound as f64);
        check_tree(14, 0.05, |bits| uniform::below(bits, &BigUint::from(bound)), |_| 1.0 / bound as f64);
    }
    check_tree(14, 0.05, |bits| uniform::between(bits, -2, 2), |_| 0.2);
}

#[test]
fn coin_trees_are_exact() {
    for (numerator, denominator) in [(0u32, 1u32), (1, 1), (1, 3), (5, 7), (3, 4), (7, 3)] {
        let chance = Fraction::new(numerator, denominator).unwrap();
        let probability = (f64::from(numerator) / f64::from(denominator)).min(1.0);
        let side = |heads: &bool, p: f64| if *heads { p } else { 1.0 - p };
        check_tree(18, 1e-3, |bits| bernoulli::rational(bits, &chance), |heads| side(heads, probability));
        let exponential = (-f64::from(numerator) / f64::from(denominator)).exp();
        check_tree(20, 0.01, |bits| bernoulli::exp_minus(bits, &chance), |heads| side(heads, exponential));
        check_tree(20, 0.01, |bits| bernoulli::logistic(bits, &chance), |heads| side(heads, 1.0 / (1.0 + exponential)));
    }
}

#[test]
fn noise_trees_are_exact() {
    let parameter = Fraction::new(1u32, 2u32).unwrap();
    let q = (-2f64).exp();
    check_tree(20, 0.05, |bits| geometric::integer_only(&parameter, bits), |n| (1.0 - q) * q.powi(*n as i32));
    check_tree(
        20,
        0.1,
        |bits| discrete_laplace::integer_only(&parameter, bits),
        |z| (1.0 - q) / (1.0 + q) * q.powi(z.abs() as i32),
    );
    let gaussian = normalised(30, gaussian_weight(0.5));
    check_tree(22, 0.2, |bits| discrete_gaussian::integer_only(&parameter, bits), |z| gaussian[&(*z as i64)]);
    let truncated = TruncatedDiscreteLaplace::new(scale(2.0), 1).unwrap();
    let pmf = normalised(1, laplace_weight(2.0));
    check_tree(20, 0.05, |bits| truncated.sample(bits), |z| pmf[z]);
}

#[test]
fn permutation_and_subset_trees_are_exact() {
    check_tree(18, 0.01, |bits| permutation::of(bits, 3), |_| 1.0 / 6.0);
    check_tree(18, 0.05, |bits| permutation::of(bits, 4), |_| 1.0 / 24.0);
    check_tree(18, 0.05, |bits| subset::of_size(bits, 4, 2).unwrap(), |_| 1.0 / 6.0);
    check_tree(18, 0.05, |bits| subset::of_size(bits, 5, 3).unwrap(), |_| 1.0 / 10.0);
}

#[test]
fn extreme_parameters_neither_hang_nor_overflow() {
    let mut bits = InsecureSeededSource::new(9);
    let mut out = vec![0i64; 5000];
    // σ and scale from the least to the largest quantity; ε = 1e-9 and ε = 700 are scales 1e9 and 1/700.
    for value in [1e-9, 1e-6, 1.0 / 700.0, 0.1, 1e9, 1e12, 1e18] {
        let (laplace, gaussian) = (DiscreteLaplace::new(scale(value)), DiscreteGaussian::new(sigma(value)));
        let one_sided = Geometric::new(scale(value));
        for early in [&mut out[..3], &mut [0i64; 5000][..]] {
            laplace.fill(&mut bits, early);
            check_size(early, value);
            gaussian.fill(&mut bits, early);
            check_size(early, value);
            one_sided.fill(&mut bits, early);
            check_size(early, value);
        }
        laplace.add_to(i64::MAX, &mut bits);
        gaussian.add_to(i64::MIN, &mut bits);
        one_sided.add_to(i64::MAX, &mut bits);
        for bound in [0, 1, i64::MAX] {
            let truncated = TruncatedDiscreteLaplace::new(scale(value), bound).unwrap();
            truncated.fill(&mut bits, &mut out[..300]);
            assert!(out[..300].iter().all(|z| z.unsigned_abs() <= bound.unsigned_abs()));
        }
    }
    let huge = Fraction::whole(BigUint::one() << 200u32);
    assert!(!bernoulli::exp_minus(&mut bits, &huge));
    assert!(!bernoulli::exp_minus(&mut bits, &Fraction::whole(700u32)));
    assert!(bernoulli::exp_minus(&mut bits, &Fraction::new(1u32, BigUint::one() << 200u32).unwrap()));
    assert!(bernoulli::logistic(&mut bits, &Fraction::whole(700u32)));
}

/// The largest of 5000 draws is of the order of the parameter, and not zero unless that is tiny.
fn check_size(draws: &[i64], parameter: f64) {
    let largest = draws.iter().map(|z| z.unsigned_abs()).max().unwrap() as f64;
    assert!(largest <= 60.0 * parameter + 1.0, "{largest} at {parameter}");
    if draws.len() > 100 {
        assert!(largest >= (parameter / 10.0).floor().min(1e18), "{largest} at {parameter}");
        assert_eq!(largest == 0.0, parameter < 0.02, "{largest} at {parameter}");
    }
}

#[test]
fn a_sum_beyond_an_i64_ends_at_its_end_and_only_there() {
    // value + noise is clamped, not the noise: with values near the ends no output between them is lost.
    let noise = DiscreteLaplace::new(scale(1e18));
    let mut bits = InsecureSeededSource::new(10);
    let (mut clamped, mut below) = (0, 0);
    for _ in 0..20_000 {
        match noise.add_to(i64::MAX, &mut bits) {
            i64::MAX => clamped += 1,
            _ => below += 1,
        }
    }
    assert!((9_000..11_000).contains(&clamped) && (9_000..11_000).contains(&below));
    // P[z ≥ 2^63] = e^{−9.22}/2: about 5e-5 of the draws of scale 1e18 end at i64::MAX.
    let mut out = vec![0; 1_000_000];
    noise.fill(&mut bits, &mut out);
    let at_the_end = out.iter().filter(|z| **z == i64::MAX).count();
    assert!((15..120).contains(&at_the_end), "{at_the_end}");
}

#[test]
fn the_same_seed_gives_the_same_noise() {
    let draw = || {
        let mut bits = InsecureSeededSource::new(11);
        let mut out = vec![0; 3000];
        DiscreteGaussian::new(sigma(1000.0)).fill(&mut bits, &mut out);
        (out, bits.next_u64())
    };
    assert_eq!(draw(), draw());
}
