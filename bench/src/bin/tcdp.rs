//! Our side of `bench/run tcdp`: CPU seconds of a million noisy cells with each noise, and of selection over 10^7 scores.

use scumble::mechanism::additive::Noise;
use scumble::mechanism::histogram::Histogram;
use scumble::mechanism::huge_domain::HugeDomainHistogram;
use scumble::mechanism::quantile::Quantile;
use scumble::mechanism::selection::{ObviousAnswer, ScoreChange};
use scumble::noise::{BitSource, SecureSource};
use scumble::quantity::{Beta, Epsilon, Probability, Scale, Sigma};
use std::error::Error;
use std::hint::black_box;

/// CPU seconds of one run of `work`: the least of several, each repeated for a quarter of a second.
fn cpu_seconds(mut work: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let used = || -> Result<f64, Box<dyn Error>> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
        Ok(text.split_whitespace().next().ok_or("empty schedstat")?.parse::<f64>()? / 1e9)
    };
    let mut least = f64::INFINITY;
    for _ in 0..7 {
        let (start, mut repeats) = (used()?, 0u32);
        let spent = loop {
            work()?;
            repeats += 1;
            let spent = used()? - start;
            if spent >= 0.25 {
                break spent;
            }
        };
        least = least.min(spent / f64::from(repeats));
    }
    Ok(least)
}

/// The place of the largest score, as one would write it for speed: the largest value, then where it is.
fn argmax(scores: &[i64]) -> usize {
    let largest = scores.iter().copied().fold(i64::MIN, i64::max);
    scores.iter().position(|score| *score == largest).unwrap_or(0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut bits = SecureSource::new()?;
    let counts = vec![100i64; 1_000_000];
    let mut histogram = |noise: Noise| {
        let histogram = Histogram::new(noise);
        cpu_seconds(|| {
            black_box(histogram.release(black_box(&counts), &mut bits));
            Ok(())
        })
    };
    // (0.01, 10)-tCDP on every cell.
    let sinh_normal = histogram(Noise::sinh_normal(Sigma::new(8.436)?, Scale::new(25.8)?)?)?;
    let gaussian = histogram(Noise::gaussian(Sigma::new(7.0711)?))?;
    let laplace = histogram(Noise::laplace(Scale::new(7.05)?))?;
    let mut scores = vec![0i64; 10_000_000];
    for score in &mut scores {
        *score = (bits.next_u64() % 1_000_000) as i64;
    }
    scores[7_654_321] = 1_000_100;
    let answer = ObviousAnswer::new(Noise::sinh_normal(Sigma::new(2.725)?, Scale::new(7.35)?)?, ScoreChange::Monotone);
    let obvious = cpu_seconds(|| {
        black_box(answer.release(black_box(&scores), &mut bits)?);
        Ok(())
    })?;
    let plain = cpu_seconds(|| {
        black_box(argmax(black_box(&scores)));
        Ok(())
    })?;
    let values: Vec<u128> = scores[..1_000_000].iter().map(|score| *score as u128).collect();
    let quantile = Quantile::new(u128::MAX, Probability::new(0.5)?, Epsilon::new(0.1)?)?;
    let median = cpu_seconds(|| {
        black_box(quantile.release(black_box(&values), &mut bits));
        Ok(())
    })?;
    let huge = HugeDomainHistogram::new(u128::MAX, Scale::new(1.0)?, Beta::new(0.01)?)?;
    let keyed: Vec<(u128, i64)> = (0..100_000).map(|i| (i * 7919, 200)).collect();
    let huge_domain = cpu_seconds(|| {
        black_box(huge.release(black_box(&keyed), &mut bits)?);
        Ok(())
    })?;
    let json = serde_json::json!({
        "sinh_normal": sinh_normal, "gaussian": gaussian, "laplace": laplace,
        "obvious": obvious, "argmax": plain, "median": median, "huge_domain": huge_domain,
    });
    println!("{json}");
    Ok(())
}
