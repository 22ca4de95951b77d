//! CPU seconds of our noise, one JSON object per line: what run.py puts beside its peers.

use scumble::noise::{BitSource, DiscreteGaussian, DiscreteLaplace, SecureSource};
use scumble::quantity::{Scale, Sigma};
use serde_json::json;
use std::hint::black_box;

/// CPU seconds of this thread, from the kernel; the machine may be shared.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux with schedstat");
    let nanoseconds: f64 = text.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number");
    nanoseconds / 1e9
}

/// Repeats `work` (which makes `items` items) for about a tenth of a CPU second, three times; the best rate counts.
fn rate(items: usize, mut work: impl FnMut()) -> f64 {
    work();
    let mut best = 0f64;
    for _ in 0..3 {
        let start = cpu_seconds();
        let mut repeats = 0usize;
        let mut spent = 0.0;
        while spent < 0.1 {
            work();
            repeats += 1;
            spent = cpu_seconds() - start;
        }
        best = best.max((repeats * items) as f64 / spent);
    }
    best
}

fn report(name: &str, scale: f64, rate: f64) {
    println!("{}", json!({ "name": name, "scale": scale, "per_second": rate }));
}

fn main() {
    const COUNT: usize = 1_000_000;
    let mut bits = SecureSource::new().expect("random bits");
    let mut words = vec![0u64; 512];
    let words_per_second = rate(512 * 256, || (0..256).for_each(|_| bits.fill(black_box(&mut words))));
    report("generator, words of 64 bits by slices", 0.0, words_per_second);
    let scalar_words = rate(COUNT, || {
        (0..COUNT).for_each(|_| {
            black_box(bits.next_u64());
        })
    });
    report("generator, words of 64 bits one by one", 0.0, scalar_words);
    let mut out = vec![0i64; COUNT];
    for scale in [1.0, 10.0, 100.0, 1e3, 1e4, 1e6, 1e12] {
        let laplace = DiscreteLaplace::new(Scale::new(scale).expect("in range"));
        let gaussian = DiscreteGaussian::new(Sigma::new(scale).expect("in range"));
        let tables =
            rate(1, || DiscreteLaplace::new(Scale::new(scale).expect("in range")).fill(&mut bits, &mut out[..300]));
        report("table, discrete Laplace", scale, tables);
        let tables =
            rate(1, || DiscreteGaussian::new(Sigma::new(scale).expect("in range")).fill(&mut bits, &mut out[..300]));
        report("table, discrete Gaussian", scale, tables);
        report("slice, discrete Laplace", scale, rate(COUNT, || laplace.fill(&mut bits, black_box(&mut out))));
        report("slice, discrete Gaussian", scale, rate(COUNT, || gaussian.fill(&mut bits, black_box(&mut out))));
        // What somebody has who wants ten million integers, as Python's arrays are: memory that nobody has touched before is the larger part of it.
        if scale == 1.0 || scale == 1e3 {
            let array = |fill: &mut dyn FnMut(&mut [i64])| {
                rate(10 * COUNT, || {
                    let mut out = vec![0i64; 10 * COUNT];
                    fill(&mut out);
                    black_box(out);
                })
            };
            report("array, discrete Laplace", scale, array(&mut |out| laplace.fill(&mut bits, out)));
            report("array, discrete Gaussian", scale, array(&mut |out| gaussian.fill(&mut bits, out)));
        }
        let one_by_one = rate(COUNT, || {
            (0..COUNT).for_each(|_| {
                black_box(laplace.sample(&mut bits));
            })
        });
        report("scalar, discrete Laplace", scale, one_by_one);
        let one_by_one = rate(COUNT, || {
            (0..COUNT).for_each(|_| {
                black_box(gaussian.sample(&mut bits));
            })
        });
        report("scalar, discrete Gaussian", scale, one_by_one);
    }
}
