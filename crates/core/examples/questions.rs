//! Questions that depend on earlier answers: a filter admits what fits into the budget, and refuses the rest.
//!
//! `cargo run -p scumble --example questions`

use scumble::loss::filter::{Filter, Limit};
use scumble::noise::SecureSource;
use scumble::quantity::{beta, epsilon};
use scumble::{Additive, Result, Scope, Target};

pub(crate) fn main() -> Result<()> {
    let ages: Vec<i64> = (0..10_000i64).map(|i| i * 7919 % 97).collect();
    let mut bits = SecureSource::new()?;
    let limit = Limit::Approximate { epsilon: "1".parse()?, delta: "0".parse()? };
    let mut filter = Filter::new(limit, Scope::Person);

    // Narrow down the median by halving: each question is about what the last answer said.
    let question = Additive::count().within(Target::pure(epsilon(0.15)?), Scope::Person)?;
    let (mut low, mut high) = (0, 128);
    while high - low > 1 {
        // The charge comes first: an answer that is not admitted is not drawn.
        if question.events()?.iter().any(|event| filter.admit(event).is_err()) {
            println!("the budget is spent: the median is between {low} and {high}");
            return Ok(());
        }
        let middle = (low + high) / 2;
        let below = ages.iter().filter(|age| **age < middle).count() as i64;
        let noisy = question.release(below, &mut bits);
        println!("about {noisy} of {} are below {middle} (± {})", ages.len(), question.error(beta(0.05)?)?);
        if 2 * noisy < ages.len() as i64 { low = middle } else { high = middle }
    }
    println!("the median is about {low}");
    Ok(())
}
