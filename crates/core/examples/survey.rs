//! A survey: a count, a histogram and an average from one budget, with error bars, and what it all cost.
//!
//! `cargo run -p scumble --example survey`

use scumble::noise::SecureSource;
use scumble::quantity::{beta, delta, epsilon};
use scumble::{Additive, Loss, Result, Scope, Target};

/// One answer sheet: an age and a satisfaction from 0 to 4.
struct Sheet {
    age: i64,
    satisfaction: usize,
}

pub(crate) fn main() -> Result<()> {
    let sheets: Vec<Sheet> =
        (0..2000).map(|i| Sheet { age: 18 + i * 7 % 60, satisfaction: (i * i % 5) as usize }).collect();
    let mut bits = SecureSource::new()?;

    // Three questions, each with its part of the budget. What is known beforehand is public: bounds, answers, targets.
    let count = Additive::count().within(Target::pure(epsilon(0.1)?), Scope::Person)?;
    let ages = Additive::sum(18, 100)?.within(Target::pure(epsilon(0.5)?), Scope::Person)?;
    let answers = Additive::histogram().within(Target::pure(epsilon(0.4)?), Scope::Person)?;

    let people = count.release(sheets.len() as i64, &mut bits);
    let sum = ages.release(sheets.iter().map(|sheet| sheet.age.clamp(18, 100)).sum::<i64>(), &mut bits);
    let mut exact = vec![0; 5];
    sheets.iter().for_each(|sheet| exact[sheet.satisfaction] += 1);
    let histogram = answers.release(exact, &mut bits);

    println!("people          {people} ± {}", count.error(beta(0.05)?)?);
    println!("average age     {:.1}", sum as f64 / people.max(1) as f64);
    println!("satisfaction    {histogram:?} ± {}", answers.largest_error(beta(0.05)?, 5)?);

    // What was given away, all three together.
    let events = [count.events()?, ages.events()?, answers.events()?].concat();
    for scope in [Scope::Presence, Scope::Person] {
        let epsilon = Loss::of(&events, &scope)?.epsilon(delta(0.0)?);
        println!("about {scope:<10} epsilon {:.3}", epsilon.upper);
    }
    Ok(())
}
