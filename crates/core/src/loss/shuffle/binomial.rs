//! Binomial masses by the deviance, as in Loader, *Fast and accurate computation of binomial probabilities* (2000): no
//! large numbers are subtracted.

use std::f64::consts::PI;

/// The mass of Bin(n, p) at x, with q = 1 − p given so that neither is rounded away.
///
/// # Guarantee
/// For whole 0 ≤ x ≤ n ≤ 10⁹ the relative error is at most 10⁻⁹ where |x − np| ≤ 14·√(npq) + 100, or p = ½.
///
/// Why: C(n, x)·pˣqⁿ⁻ˣ = √(n/(2πx(n−x)))·e^{s(n) − s(x) − s(n−x) − D}, by n! = √(2πn)·(n/e)ⁿ·e^{s(n)}, where
/// D = np·h(x/np) + nq·h((n−x)/nq) and h(r) = r·ln r − r + 1. s is good to 10⁻¹⁴ ([`stirling_error`]). np has a
/// relative error of 3·2⁻⁵³ (p to a unit in the last place), which changes D by at most |x − np| times that, 2·10⁻¹⁰; h
/// is good to 30 roundings ([`deviance`]), of a D of at most 1000 that is 4·10⁻¹². For p = ½, np is exact, and a mass
/// below 10⁻³⁰⁰ is only known to be below that.
pub(super) fn mass(n: f64, x: f64, p: f64, q: f64) -> f64 {
    if x == 0.0 {
        return (n * ln_complement(p, q)).exp();
    }
    if x == n {
        return (n * ln_complement(q, p)).exp();
    }
    if n * p == 0.0 || n * q == 0.0 {
        return 0.0;
    }
    let rest = n - x;
    let exponent = stirling_error(n) - stirling_error(x) - stirling_error(rest);
    let deviance = deviance(x, n * p) + deviance(rest, n * q);
    (n / (2.0 * PI * x * rest)).sqrt() * (exponent - deviance).exp()
}

/// ln(1 − p) = ln q.
fn ln_complement(p: f64, q: f64) -> f64 {
    if p < 0.5 { (-p).ln_1p() } else { q.ln() }
}

/// s(n) = ln n! − ln(√(2πn)·(n/e)ⁿ) for whole n ≥ 1, with an error of at most 10⁻¹⁴.
///
/// Stirling's series alternates and ends with an error below the next term: from 16 on 1/(1188·n⁹) < 10⁻¹³·10⁻¹. Below,
/// factorials are exact.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        let factorial: f64 = (1..=n as u64).map(|k| k as f64).product();
        return factorial.ln() - (0.5 * (2.0 * PI * n).ln() + n * n.ln() - n);
    }
    let t = 1.0 / (n * n);
    (1.0 / 12.0 - t * (1.0 / 360.0 - t * (1.0 / 1260.0 - t * (1.0 / 1680.0 - t / 1188.0)))) / n
}

/// x·ln(x/m) + m − x = m·h(x/m), with a relative error of at most 30 roundings and what m is off by.
fn deviance(x: f64, m: f64) -> f64 {
    let u = (x - m) / m;
    if u.abs() >= 0.1 {
        // u²/2 is at least a twentieth of what it is computed from.
        return m * ((1.0 + u) * u.ln_1p() - u);
    }
    // h(1 + u) = Σ (−u)ʲ/(j(j−1)), j ≥ 2: falls by a tenth each time.
    let (mut sum, mut power) = (0.0, u * u);
    for j in 2..=20 {
        sum += power / f64::from(j * (j - 1));
        power *= -u;
    }
    m * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By a second program with sixty digits (Python's `decimal`).
    #[test]
    fn masses_are_right_to_nine_digits_at_the_most_owners() {
        for (n, x, local, truth) in REFERENCE {
            let found = mass(n, x, (-local).exp(), -(-local).exp_m1());
            assert!((found / truth - 1.0).abs() < 1e-9, "{n} {x} {local}: {found:e} {truth:e}");
        }
        for (n, x, truth) in REFERENCE_OF_COINS {
            assert!((mass(n, x, 0.5, 0.5) / truth - 1.0).abs() < 1e-9, "{n} {x}");
        }
    }

    /// All whole numbers up to 60, against products.
    #[test]
    fn small_masses_are_those_of_products() {
        for n in 1..60u32 {
            for x in 0..=n {
                let p = 0.3f64;
                let choose: f64 = (0..x).map(|k| f64::from(n - k) / f64::from(k + 1)).product();
                let truth = choose * p.powi(x as i32) * (1.0 - p).powi((n - x) as i32);
                let found = mass(f64::from(n), f64::from(x), p, 0.7);
                assert!((found / truth - 1.0).abs() < 1e-12, "{n} {x}: {found} {truth}");
            }
        }
    }

    /// n, x, ε₀ and the mass of Bin(n, e^{−ε₀}).
    const REFERENCE: [(f64, f64, f64, f64); 25] = [
        (999_999_999.0, 367_665_954.0, 1.0, 7.166_584_170_835_304e-48),
        (999_999_999.0, 367_833_693.0, 1.0, 2.906_317_893_746_771_7e-7),
        (999_999_999.0, 367_879_440.0, 1.0, 2.616_118_119_472_223e-5),
        (999_999_999.0, 367_955_685.0, 1.0, 9.761_408_070_596_332e-11),
        (999_999_999.0, 368_092_926.0, 1.0, 7.290_047_338_415_292e-48),
        (999_999_999.0, 740_624_235.0, 0.3, 8.104_577_862_737_49e-48),
        (999_999_999.0, 740_776_651.0, 0.3, 3.199_376_256_941_828e-7),
        (999_999_999.0, 740_818_219.0, 0.3, 2.879_068_534_643_732_7e-5),
        (999_999_999.0, 740_887_499.0, 0.3, 1.073_856_672_008_549_5e-10),
        (999_999_999.0, 741_012_203.0, 0.3, 7.869_769_817_116_285e-48),
        (999_999_999.0, 6_701_742.0, 5.0, 3.828_072_968_625_339e-47),
        (999_999_999.0, 6_730_188.0, 5.0, 1.715_130_358_931_448_2e-6),
        (999_999_999.0, 6_737_946.0, 5.0, 0.000_154_210_641_336_282_67),
        (999_999_999.0, 6_750_876.0, 5.0, 5.854_273_238_159_334e-10),
        (999_999_999.0, 6_774_150.0, 5.0, 5.452_969_810_346_917e-47),
        (12_345_678.0, 1_653_991.0, 2.0, 8.022_204_427_101_579e-47),
        (12_345_678.0, 1_667_202.0, 2.0, 3.699_157_020_277_202e-6),
        (12_345_678.0, 1_670_805.0, 2.0, 0.000_331_912_166_130_612_6),
        (12_345_678.0, 1_676_810.0, 2.0, 1.280_076_080_522_069_8e-9),
        (12_345_678.0, 1_687_619.0, 2.0, 1.410_780_402_194_028_2e-46),
        (999_999_999.0, 5_052.0, 12.0, 6.944_509_012_845_194e-48),
        (999_999_999.0, 5_910.0, 12.0, 5.640_251_167_389_074e-5),
        (999_999_999.0, 6_144.0, 12.0, 0.005_089_537_426_362_692),
        (999_999_999.0, 6_534.0, 12.0, 2.714_775_252_332_399_7e-8),
        (999_999_999.0, 7_236.0, 12.0, 6.890_150_858_947_932e-43),
    ];

    /// n, x and the mass of Bin(n, ½).
    const REFERENCE_OF_COINS: [(f64, f64, f64); 8] = [
        (367_879_441.0, 183_939_720.0, 4.159_942_250_338_301_4e-5),
        (367_879_441.0, 183_968_490.0, 4.622_399_346_055_975e-7),
        (367_879_441.0, 184_054_800.0, 2.242_605_258_351_532_8e-36),
        (367_879_441.0, 184_227_420.0, 1.552_069_051_334_123_2e-200),
        (999_999_999.0, 499_999_999.0, 2.523_132_521_389_376_8e-5),
        (999_999_999.0, 500_047_432.0, 2.803_832_582_837_999_6e-7),
        (999_999_999.0, 500_189_731.0, 1.362_816_023_625_256_3e-36),
        (999_999_999.0, 500_474_329.0, 9.536_845_661_395_795e-201),
    ];
}
