//! What the integer samplers make of which bits, for the comparison with the proved model (`proofs/compare`).
//!
//! `cargo run -p scumble --release --example recorded_bits -- exhaustive 20` goes through all strings of 20 bits,
//! `… -- random 10000000 7` draws that many times from the seed 7. Each line is a sampler, its parameters, the bits
//! that it read and what it gave; `?` is a string of bits after which it asked for more.

use num_bigint::BigUint;
use scumble::mechanism::randomized_response::RandomizedResponse;
use scumble::noise::{
    BitSource, DiscreteGaussian, DiscreteLaplace, Fraction, Geometric, InsecureSeededSource, bernoulli, uniform,
};
use scumble::quantity::{Epsilon, Scale, Sigma};
use scumble::{Error, Result};
use std::io::{BufWriter, Write};

/// Plays the bits of `script`, extended by zeros to `depth` bits; beyond that, those of a seed. Keeps what was read.
struct RecordingSource {
    script: Vec<bool>,
    used: usize,
    depth: usize,
    beyond: InsecureSeededSource,
    read: Vec<u8>,
}

impl BitSource for RecordingSource {
    fn next_u64(&mut self) -> u64 {
        self.next_bits(64)
    }

    fn next_bits(&mut self, count: u32) -> u64 {
        let mut word = 0;
        for _ in 0..count {
            let bit = if self.used >= self.depth {
                self.beyond.next_bits(1) == 1
            } else {
                if self.used == self.script.len() {
                    self.script.push(false);
                }
                self.script[self.used]
            };
            self.used += 1;
            self.read.push(if bit { b'1' } else { b'0' });
            word = word << 1 | u64::from(bit);
        }
        word
    }

    fn is_secure(&self) -> bool {
        false
    }
}

/// A sampler with its parameters: as the model reads them, and one draw.
struct Case {
    words: String,
    draw: Box<dyn Fn(&mut RecordingSource) -> String>,
}

fn case(words: String, draw: impl Fn(&mut RecordingSource) -> String + 'static) -> Case {
    Case { words, draw: Box::new(draw) }
}

fn of_coin(name: &str, chance: Fraction, coin: fn(&mut RecordingSource, &Fraction) -> bool) -> Case {
    let words = format!("{name} {} {}", chance.numerator(), chance.denominator());
    case(words, move |bits| u8::from(coin(bits, &chance)).to_string())
}

fn of_scale(name: &str, scale: f64) -> Result<String> {
    let fraction = Fraction::from_f64(scale)?;
    Ok(format!("{name} {} {}", fraction.numerator(), fraction.denominator()))
}

/// Only the first draws of an object are made with integers alone; so each draw here has an object of its own.
fn cases() -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for bound in [1, 2, 3, 5, 6, 7, 10, 100, 1_000_003, (1 << 40) + 1, u64::MAX] {
        cases.push(case(format!("below-u64 {bound}"), move |bits| uniform::below(bits, bound).to_string()));
    }
    let power = |exponent: u32| BigUint::from(10u32).pow(exponent);
    let one = BigUint::from(1u32);
    for bound in [one.clone(), 3u32.into(), 10u32.into(), &one << 32, (&one << 40) + 7u32, &one << 64, power(30)] {
        cases.push(case(format!("below-big {bound}"), move |bits| uniform::below(bits, &bound).to_string()));
    }
    let large = || Fraction::new(power(25), power(25) * 3u32 + 1u32);
    let chances = [(0u32, 1u32), (1, 3), (1, 1), (5, 7), (1, 1000)];
    for (above, below) in chances {
        cases.push(of_coin("coin", Fraction::new(above, below)?, bernoulli::rational));
    }
    cases.push(of_coin("coin", Fraction::from_f64(0.1)?, bernoulli::rational));
    cases.push(of_coin("coin", large()?, bernoulli::rational));
    for (above, below) in chances.into_iter().chain([(7, 3), (20, 1), (1000, 7)]) {
        cases.push(of_coin("exp-minus", Fraction::new(above, below)?, bernoulli::exp_minus));
    }
    cases.push(of_coin("exp-minus", Fraction::from_f64(0.1)?, bernoulli::exp_minus));
    cases.push(of_coin("exp-minus", large()?, bernoulli::exp_minus));
    cases.push(of_coin("exp-minus", large()?.inverse()?, bernoulli::exp_minus));
    for score in [(0u32, 1u32), (1, 2), (3, 1)] {
        cases.push(of_coin("logistic", Fraction::new(score.0, score.1)?, bernoulli::logistic));
    }
    for (values, epsilon, truth) in [(2, 1.0, 0), (3, 0.5, 2), (10, 0.1, 4)] {
        let mechanism = RandomizedResponse::new(Epsilon::new(epsilon)?, values)?;
        let words = format!("{} {truth}", of_scale(&format!("response {values}"), epsilon)?);
        cases.push(case(words, move |bits| match mechanism.release(truth, bits) {
            Ok(answer) => answer.to_string(),
            Err(refusal) => refusal.to_string(),
        }));
    }
    for scale in [1.0, 0.5, 2.5, 0.1, 10.0, 12345.678, 1e9] {
        let checked = Scale::new(scale)?;
        cases.push(case(of_scale("geometric", scale)?, move |bits| Geometric::new(checked).sample(bits).to_string()));
        let laplace = move |bits: &mut RecordingSource| DiscreteLaplace::new(checked).sample(bits).to_string();
        cases.push(case(of_scale("laplace", scale)?, laplace));
    }
    for sigma in [1.0, 0.5, 2.5, 0.1, 10.0, 1234.5, 1e9, 1e-9] {
        let checked = Sigma::new(sigma)?;
        let gaussian = move |bits: &mut RecordingSource| DiscreteGaussian::new(checked).sample(bits).to_string();
        cases.push(case(of_scale("gaussian", sigma)?, gaussian));
    }
    Ok(cases)
}

fn line(out: &mut impl Write, case: &Case, bits: &[u8], value: &str) -> Result<()> {
    // A sampler that needs no bits at all still has a word for them.
    let bits = if bits.is_empty() { "-" } else { std::str::from_utf8(bits).unwrap_or("-") };
    writeln!(out, "{} {bits} {value}", case.words).map_err(|error| Error::refused(error.to_string()))
}

/// Every leaf of every decision tree, down to this many bits.
fn exhaustive(depth: usize, out: &mut impl Write) -> Result<()> {
    for case in cases()? {
        let mut script = Vec::new();
        loop {
            let beyond = InsecureSeededSource::new(99);
            let mut source = RecordingSource { script, used: 0, depth, beyond, read: Vec::new() };
            let value = (case.draw)(&mut source);
            if source.used > depth {
                line(out, &case, &source.read[..depth], "?")?;
            } else {
                line(out, &case, &source.read, &value)?;
            }
            script = source.script;
            while script.last() == Some(&true) {
                script.pop();
            }
            match script.last_mut() {
                Some(last) => *last = true,
                None => break,
            }
        }
    }
    Ok(())
}

/// This many draws, from all samplers in turn. The model adds and multiplies digit by digit: large parameters only in
/// every sixteenth round.
fn random(count: usize, seed: u64, out: &mut impl Write) -> Result<()> {
    let cases = cases()?;
    let beyond = InsecureSeededSource::new(seed);
    let mut source = RecordingSource { script: Vec::new(), used: 0, depth: 0, beyond, read: Vec::new() };
    let is_large = |case: &Case| case.words.len() > 30;
    let rounds = (0u64..).flat_map(|round| cases.iter().filter(move |case| round % 16 == 0 || !is_large(case)));
    for case in rounds.take(count) {
        source.read.clear();
        let value = (case.draw)(&mut source);
        line(out, case, &source.read, &value)?;
    }
    Ok(())
}

pub(crate) fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut out = BufWriter::new(std::io::stdout().lock());
    let number = |place: usize| words.get(place).and_then(|word| word.parse::<u64>().ok());
    match (words.first().map(String::as_str), number(1), number(2)) {
        (Some("exhaustive"), Some(depth), None) => exhaustive(depth as usize, &mut out),
        (Some("random"), Some(count), Some(seed)) => random(count as usize, seed, &mut out),
        _ => Err(Error::refused("say `exhaustive DEPTH` or `random COUNT SEED`")),
    }
}
