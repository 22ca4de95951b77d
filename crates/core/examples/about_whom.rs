//! One release, several readings: what a table of two attributes says about a person, their presence, and each
//! attribute.
//!
//! `cargo run -p scumble --example about_whom`

use scumble::event::{Moves, Shift, Touch};
use scumble::noise::SecureSource;
use scumble::quantity::{beta, delta, rho};
use scumble::{Additive, AttributeSet, Loss, Result, Scope, Target};

pub(crate) fn main() -> Result<()> {
    // Two tables, counted separately: by age group and by disease. Each person is in one cell of each.
    let table = |attribute: &str| -> Result<Moves> {
        let (one, two) = (Shift::one_cell(1.0)?, Shift::new(2, 1.0)?);
        let touch = Touch { attributes: AttributeSet::new([attribute])?, shifts: vec![two] };
        Ok(Moves::by_scope(vec![one], vec![two], vec![touch]))
    };
    let ages = Additive::of(table("age")?).within(Target::zcdp(rho(0.05)?), Scope::Person)?;
    let diseases = Additive::of(table("disease")?).within(Target::zcdp(rho(0.01)?), Scope::Person)?;

    let mut bits = SecureSource::new()?;
    println!("by age      {:?} ± {}", ages.release(&[410, 820, 377], &mut bits), ages.largest_error(beta(0.05)?, 3)?);
    println!(
        "by disease  {:?} ± {}",
        diseases.release(&[1490, 101, 16], &mut bits),
        diseases.largest_error(beta(0.05)?, 3)?
    );

    let events = [ages.events()?, diseases.events()?].concat();
    let attribute = |name: &str| Ok::<Scope, scumble::Error>(Scope::Attributes(AttributeSet::new([name])?));
    let scopes = [Scope::Presence, Scope::Person, attribute("age")?, attribute("disease")?, attribute("income")?];
    println!("at delta 1e-9:");
    for scope in scopes {
        println!("  {:<22} epsilon {:.3}", scope.to_string(), Loss::of(&events, &scope)?.epsilon(delta(1e-9)?).upper);
    }
    Ok(())
}
