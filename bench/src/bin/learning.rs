//! Parities: `learning ATTRIBUTES ROWS FILE` makes up rows that one parity labels rightly, writes them to FILE (each row's words, little-endian) and their labels to FILE.labels (a byte each),
//! learns the parity at a person's ε = 1 and prints what that took, in CPU seconds, as JSON.

use scumble::learn::Example;
use scumble::learn::parity::ParityLearner;
use scumble::noise::{BitSource, InsecureSeededSource};
use scumble::quantity::Epsilon;
use scumble::{SecureSource, event::Quotient};
use std::error::Error;

fn used() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("empty schedstat")?.parse::<f64>()? / 1e9)
}

fn share(quotient: Quotient) -> f64 {
    let (above, below) = quotient.parts();
    f64::from(above) / f64::from(below)
}

/// Rows of random bits, and the label that a random parity gives them.
fn rows(attributes: usize, number: usize) -> Result<Vec<Example>, Box<dyn Error>> {
    let mut bits = InsecureSeededSource::new(1);
    let words = attributes.div_ceil(64);
    let last = u64::MAX >> ((64 - attributes % 64) % 64);
    let mut random = || -> Vec<u64> {
        (0..words).map(|word| bits.next_u64() & if word + 1 == words { last } else { u64::MAX }).collect()
    };
    let parity = random();
    let mut rows = Vec::with_capacity(number);
    for _ in 0..number {
        let row = random();
        let label = row.iter().zip(&parity).fold(0, |ones, (a, b)| ones ^ (a & b)).count_ones() % 2 == 1;
        rows.push(Example::from_words(row, attributes, label)?);
    }
    Ok(rows)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, attributes, number, file] = &arguments[..] else {
        return Err("usage: learning ATTRIBUTES ROWS FILE".into());
    };
    let (attributes, number) = (attributes.parse()?, number.parse()?);
    let rows = rows(attributes, number)?;
    let words: Vec<u8> = rows.iter().flat_map(|row| row.words()).flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(file, words)?;
    std::fs::write(format!("{file}.labels"), rows.iter().map(|row| u8::from(row.label())).collect::<Vec<u8>>())?;
    let learner = ParityLearner::for_person(Epsilon::new(1.0)?)?;
    // Now and then nothing is published, in no time: what took work is measured.
    let (mut bits, mut tries) = (SecureSource::new()?, 0);
    let (seconds, found) = loop {
        tries += 1;
        let start = used()?;
        let found = learner.release(&rows, attributes, &mut bits)?;
        let seconds = used()? - start;
        if let Some(found) = found {
            break (seconds, found);
        }
        if tries == 1000 {
            return Err("nothing was published a thousand times".into());
        }
    };
    let wrong = rows.iter().filter(|row| found.predicts(row) != row.label()).count();
    println!(
        "{{\"seconds\": {seconds}, \"wrong\": {wrong}, \"keep\": {}, \"give_up\": {}}}",
        share(learner.keep()),
        share(learner.give_up())
    );
    Ok(())
}
