//! Every sampler against its exact distribution: decision trees for tiny parameters, a million seeded draws (ten
//! million where [`effort`] is asked for) for others.

use super::certified::Arithmetic;
use super::test_support::check_tree;
use super::{
    Binomial, BitSource, DiscreteGaussian, DiscreteLaplace, Fraction, Geometric, InsecureSeededSource, KNorm,
    NegativeBinomial, TruncatedDiscreteLaplace, bernoulli, discrete_gaussian, discrete_laplace, geometric,
    negative_binomial, permutation, subset, uniform,
};
use crate::harness::effort;
use crate::harness::statistics::assert_agree;
use crate::quantity::{Probability, Scale, Sigma};
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, ToPrimitive};
use std::collections::BTreeMap;

/// How many draws a law is compared with.
fn draws() -> usize {
    effort(1_000_000, 10_000_000)
}

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
    let mut block = vec![0i64; 100_000.min(draws)];
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
fn many_discrete_laplace_draws() {
    for (value, width) in [(0.4, 1), (100.0 / 3.0, 1), (1000.0, 7)] {
        let pmf = normalised((value * 36.0) as i64 + 2, laplace_weight(value));
        let noise = DiscreteLaplace::new(scale(value));
        let mut bits = InsecureSeededSource::new(value.to_bits());
        check_draws(&format!("discrete Laplace {value}"), draws(), width, &pmf, |out| noise.fill(&mut bits, out));
    }
}

#[test]
fn many_discrete_gaussian_draws() {
    for (value, width) in [(0.4, 1), (100.0 / 3.0, 1), (1000.0, 7)] {
        let pmf = normalised((value * 9.0) as i64 + 3, gaussian_weight(value));
        let noise = DiscreteGaussian::new(sigma(value));
        let mut bits = InsecureSeededSource::new(value.to_bits());
        check_draws(&format!("discrete Gaussian {value}"), draws(), width, &pmf, |out| noise.fill(&mut bits, out));
    }
}

#[test]
fn many_geometric_and_truncated_draws() {
    let one_sided = |value: f64, z: i64| if z < 0 { 0.0 } else { laplace_weight(value)(z) };
    for (value, width) in [(7.0, 1), (200.0, 5)] {
        let pmf = normalised((value * 36.0) as i64 + 2, |z| one_sided(value, z));
        let noise = Geometric::new(scale(value));
        let mut bits = InsecureSeededSource::new(5);
        check_draws(&format!("geometric {value}"), draws(), width, &pmf, |out| noise.fill(&mut bits, out));
    }
    for (value, bound, draws) in [(5.0, 12, draws()), (5.0, 3, draws())] {
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
    check_draws("scalar", draws(), 1, &pmf, |out| out.iter_mut().for_each(|slot| *slot = noise.sample(&mut bits)));
    check_draws("add_to", draws() / 10, 1, &pmf, |out| {
        out.iter_mut().for_each(|slot| *slot = noise.add_to(1000, &mut bits) - 1000);
    });
    check_draws("add_to_all", draws(), 1, &pmf, |out| {
        out.fill(-77);
        noise.add_to_all(out, &mut bits);
        out.iter_mut().for_each(|slot| *slot += 77);
    });
}

#[test]
fn the_integer_only_path_has_the_same_distribution() {
    let draws = draws() / 5;
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
        check_tree(18, 0.05, |bits| uniform::below(bits, bound), |_| 1.0 / bound as f64);
        check_tree(18, 0.05, |bits| uniform::below(bits, u128::from(bound)), |_| 1.0 / bound as f64);
        check_tree(18, 0.05, |bits| uniform::below(bits, &BigUint::from(bound)), |_| 1.0 / bound as f64);
    }
    check_tree(18, 0.05, |bits| uniform::between(bits, -2, 2), |_| 0.2);
}

#[test]
fn coin_trees_are_exact() {
    for (numerator, denominator) in [(0u32, 1u32), (1, 1), (1, 3), (5, 7), (3, 4), (7, 3)] {
        let chance = Fraction::new(numerator, denominator).unwrap();
        let probability = (f64::from(numerator) / f64::from(denominator)).min(1.0);
        let side = |heads: &bool, p: f64| if *heads { p } else { 1.0 - p };
        check_tree(18, 1e-3, |bits| bernoulli::rational(bits, &chance), |heads| side(heads, probability));
        let exponential = (-f64::from(numerator) / f64::from(denominator)).exp();
        check_tree(21, 0.1, |bits| bernoulli::exp_minus(bits, &chance), |heads| side(heads, exponential));
        check_tree(21, 0.1, |bits| bernoulli::logistic(bits, &chance), |heads| side(heads, 1.0 / (1.0 + exponential)));
    }
}

#[test]
fn noise_trees_are_exact() {
    let parameter = Fraction::new(1u32, 2u32).unwrap();
    let q = (-2f64).exp();
    check_tree(20, 0.05, |bits| geometric::integer_only(&parameter, bits), |n| (1.0 - q) * q.powi(*n as i32));
    check_tree(
        21,
        0.15,
        |bits| discrete_laplace::integer_only(&parameter, bits),
        |z| (1.0 - q) / (1.0 + q) * q.powi(z.abs() as i32),
    );
    // One round of the rejection: tanh(½) e^{−|z|} of a discrete Laplace candidate, times e^{−(|z| − ¼)²/½}.
    let rejection = discrete_gaussian::Rejection::new(&parameter);
    let kept = |z: i128| {
        let distance = z.abs() as f64;
        0.5f64.tanh() * (-distance - 2.0 * (distance - 0.25).powi(2)).exp()
    };
    let rejected = 1.0 - (-40..=40).map(kept).sum::<f64>();
    check_tree(20, 0.2, |bits| rejection.round(bits), |round| round.map_or(rejected, kept));
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
        assert!(parameter > 0.02 || largest == 0.0, "{largest} at {parameter}");
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

/// C(n, k) p^k (1−p)^{n−k} as an f64 from exact rationals.
fn binomial_pmf(trials: u32, p: &BigRational) -> BTreeMap<i64, f64> {
    let q = BigRational::one() - p;
    let power = |base: &BigRational, exponent: u32| num_traits::pow(base.clone(), exponent as usize);
    let mut coefficient = BigInt::one();
    let mut pmf = BTreeMap::new();
    for k in 0..=trials {
        let probability = power(p, k) * power(&q, trials - k) * BigRational::from_integer(coefficient.clone());
        pmf.insert(i64::from(k), probability.to_f64().unwrap());
        coefficient = coefficient * BigInt::from(trials - k) / BigInt::from(k + 1);
    }
    pmf
}

#[test]
fn many_binomial_draws() {
    for (trials, p) in [(1u32, 0.3), (10, 0.5), (60, 0.9)] {
        let pmf = binomial_pmf(trials, &exact(p));
        let count = Binomial::new(trials.into(), Probability::new(p).unwrap());
        let mut bits = InsecureSeededSource::new(12);
        check_draws(&format!("binomial {trials} {p}"), draws(), 1, &pmf, |out| {
            out.iter_mut().for_each(|slot| *slot = count.sample(&mut bits) as i64);
        });
    }
}

#[test]
fn binomials_of_huge_and_rare_trials_are_poisson_and_normal() {
    // 2^128 trials of probability 2^−125: the distance to Poisson(8) is below 2^−125 (Le Cam), to any test the same.
    let count = Binomial::new(u128::MAX, Probability::new(2f64.powi(-125)).unwrap());
    let mut poisson = BTreeMap::new();
    let mut probability = (-8f64).exp();
    for k in 0..60i64 {
        poisson.insert(k, probability);
        probability *= 8.0 / (k + 1) as f64;
    }
    let mut bits = InsecureSeededSource::new(13);
    check_draws("rare", draws(), 1, &poisson, |out| {
        out.iter_mut().for_each(|slot| *slot = count.sample(&mut bits) as i64);
    });
    // 2^40 trials of probability ½: standard deviation 2^19; by blocks and ln Γ. Compared with the normal law in 20
    // cells of equal probability; the binomial differs from it by less than 1/(standard deviation) = 2e-6 in each.
    let count = Binomial::new(1 << 40, Probability::new(0.5).unwrap());
    let quantiles = [
        -1.6448536269514729,
        -1.2815515655446004,
        -1.0364333894937898,
        -0.8416212335729143,
        -0.6744897501960817,
        -0.5244005127080409,
        -0.38532046640756773,
        -0.2533471031357997,
        -0.12566134685507402,
        0.0,
    ];
    let draws = 100_000u64;
    let mut counts = [0u64; 20];
    for _ in 0..draws {
        let z = (count.sample(&mut bits) as f64 - 2f64.powi(39)) / 2f64.powi(19);
        let cell = quantiles.iter().chain(quantiles[..9].iter().rev()).enumerate();
        let bounds = cell.map(|(index, quantile)| if index < 10 { *quantile } else { -quantile });
        counts[bounds.filter(|bound| z > *bound).count()] += 1;
    }
    assert_agree("wide binomial", draws, counts.map(|count| (count, 0.05)));
}

#[test]
fn many_negative_binomial_draws() {
    for (value, numerator, denominator) in [(3.0f64, 1u32, 3u32), (20.0, 1, 10), (1.0, 5, 2)] {
        let r = f64::from(numerator) / f64::from(denominator);
        let q: f64 = (-1.0 / value).exp();
        let mut pmf = BTreeMap::new();
        let mut probability = (1.0 - q).powf(r);
        for n in 0..(value * 45.0) as i64 {
            pmf.insert(n, probability);
            probability *= q * (n as f64 + r) / (n + 1) as f64;
        }
        let shape = Fraction::new(numerator, denominator).unwrap();
        let noise = NegativeBinomial::new(scale(value), &shape).unwrap();
        let mut bits = InsecureSeededSource::new(14);
        check_draws(&format!("negative binomial {value} {r}"), draws(), 1, &pmf, |out| noise.fill(&mut bits, out));
        if r < 1.0 {
            let exact_scale = Fraction::from_f64(value).unwrap();
            check_draws(&format!("urn {value} {r}"), draws() / 50, 1, &pmf, |out| {
                out.iter_mut().for_each(|slot| {
                    *slot = negative_binomial::by_urn(&exact_scale, &shape, &mut bits) as i64;
                });
            });
        }
    }
}

#[test]
fn shares_add_up_to_discrete_laplace_noise() {
    let share = NegativeBinomial::share(scale(4.0), 5.try_into().unwrap());
    let pmf = normalised(150, laplace_weight(4.0));
    let mut bits = InsecureSeededSource::new(15);
    check_draws("shares", draws() / 10, 1, &pmf, |out| {
        for slot in out.iter_mut() {
            *slot = (0..5).map(|_| share.sample(&mut bits) - share.sample(&mut bits)).sum();
        }
    });
}

#[test]
fn many_k_norm_draws() {
    // The exact law of (‖z‖∞, z₁) in two dimensions, and the radius alone in more.
    for (value, dimension) in [(1.0, 1usize), (2.0, 2), (1.5, 5), (1.0, 40)] {
        let surface = |m: i64| {
            let cube = |side: i64| if side < 0 { 0.0 } else { (side as f64).powi(dimension as i32) };
            (cube(2 * m + 1) - cube(2 * m - 1)) * (-(m as f64) / value).exp()
        };
        let pmf =
            normalised((value * (dimension as f64 + 40.0) * 2.0) as i64, |m| if m < 0 { 0.0 } else { surface(m) });
        let noise = KNorm::new(scale(value), dimension).unwrap();
        let mut bits = InsecureSeededSource::new(16);
        // As many numbers where a draw is many of them.
        let draws = if dimension < 10 { draws() } else { draws() / 10 };
        check_draws(&format!("K-norm {value} {dimension}"), draws, 1, &pmf, |out| {
            for slot in out.iter_mut() {
                *slot = noise.sample(&mut bits).iter().map(|z| z.abs()).max().unwrap();
            }
        });
    }
    let noise = KNorm::new(scale(2.0), 2).unwrap();
    let mut bits = InsecureSeededSource::new(17);
    let weight = |x: i64, y: i64| (-(x.abs().max(y.abs()) as f64) / 2.0).exp();
    let total: f64 = (-80..=80).flat_map(|x| (-80..=80).map(move |y| weight(x, y))).sum();
    let mut counts: BTreeMap<(i64, i64), u64> = BTreeMap::new();
    let draws = draws() as u64 / 5;
    for _ in 0..draws {
        let z = noise.sample(&mut bits);
        *counts.entry((z[0], z[1])).or_default() += 1;
    }
    let points = (-9..=9).flat_map(|x| (-9..=9).map(move |y| (x, y)));
    let cells = points.map(|(x, y)| (counts.get(&(x, y)).copied().unwrap_or(0), weight(x, y) / total));
    assert_agree("K-norm points", draws, cells.collect::<Vec<_>>());
}

#[test]
fn wide_distributions_have_their_mean_and_variance() {
    // Too wide for cells of single integers. The mean of n draws is off by less than 7 standard errors except with
    // probability 1e-11.
    let check = |name: &str, mean: f64, deviation: f64, draws: &[f64]| {
        let found = draws.iter().sum::<f64>() / draws.len() as f64;
        let error = deviation / (draws.len() as f64).sqrt();
        assert!((found - mean).abs() < 7.0 * error, "{name}: mean {found} is not {mean} ± {error}");
    };
    let mut bits = InsecureSeededSource::new(18);
    let share = NegativeBinomial::new(scale(1e5), &Fraction::new(1u32, 4u32).unwrap()).unwrap();
    let draws: Vec<f64> = (0..40_000).map(|_| share.sample(&mut bits) as f64).collect();
    // r q/(1−q) and √(r q)/(1−q) with q = e^{−1e-5}.
    check("negative binomial", 0.25 * (1e5 - 0.5), 0.5 * 1e5, &draws);
    let noise = KNorm::new(scale(1e4), 20).unwrap();
    let draws: Vec<f64> =
        (0..20_000).map(|_| noise.sample(&mut bits).iter().map(|z| z.abs()).max().unwrap() as f64).collect();
    // ‖z‖∞ of so wide a law is close to Gamma(20, 1e4): the grid shifts it by less than 1.
    check("K-norm", 20.0 * 1e4, 20f64.sqrt() * 1e4, &draws);
    let count = Binomial::new(1 << 100, Probability::new(2f64.powi(-60)).unwrap());
    let draws: Vec<f64> = (0..5_000).map(|_| count.sample(&mut bits) as f64).collect();
    check("binomial", 2f64.powi(40), 2f64.powi(20), &draws);
}

#[test]
fn extreme_parameters_of_the_others() {
    let mut bits = InsecureSeededSource::new(19);
    for (trials, p) in [(0, 0.5), (5, 0.0), (5, 1.0), (u128::MAX, 0.5), (u128::MAX, 5e-324), (u128::MAX, 1.0 - 1e-16)] {
        let count = Binomial::new(trials, Probability::new(p).unwrap());
        for _ in 0..3 {
            assert!(count.sample(&mut bits) <= trials);
        }
    }
    for value in [1e-9, 1e-6, 1.0 / 700.0, 1e9, 1e12, 1e18] {
        let share = NegativeBinomial::share(scale(value), 1000.try_into().unwrap());
        assert!((0..20).all(|_| share.sample(&mut bits) >= 0));
        for dimension in [1, 3, 100_000] {
            let noise = KNorm::new(scale(value), dimension).unwrap();
            assert_eq!(noise.sample(&mut bits).len(), dimension);
        }
    }
    assert!(NegativeBinomial::new(scale(1.0), &Fraction::whole(0u32)).is_err());
    assert!(NegativeBinomial::new(scale(1.0), &Fraction::whole(10_000_000u32)).is_err());
    assert!(KNorm::new(scale(1.0), 0).is_err());
}

#[test]
fn urn_trees_are_exact() {
    let (half, third) = (Fraction::new(1u32, 2u32).unwrap(), Fraction::new(1u32, 3u32).unwrap());
    let q = (-2f64).exp();
    let probability = |n: &i128| {
        let rising: f64 = (0..*n).map(|j| (j as f64 + 1.0 / 3.0) / (j + 1) as f64).product();
        (1.0 - q).powf(1.0 / 3.0) * rising * q.powi(*n as i32)
    };
    check_tree(20, 0.1, |bits| negative_binomial::by_urn(&half, &third, bits), probability);
}
