//! Keys that are not public: which search terms may be published, and with which counts.
//!
//! `cargo run -p scumble --example search_terms`

use scumble::noise::SecureSource;
use scumble::quantity::{beta, delta, epsilon};
use scumble::{Contribution, Loss, Result, Scope, StabilityHistogram, Target};
use std::collections::BTreeMap;

/// Each owner counts in at most this many terms.
const TERMS_PER_OWNER: usize = 3;

pub(crate) fn main() -> Result<()> {
    // Owner by owner, what was searched for; the last term of each is nobody else's.
    let searches = |owner: u32| {
        let common = ["weather", "news", "flu", "holidays"][owner as usize % 4].to_string();
        let shared = format!("team {}", owner % 40);
        vec![common, shared, format!("the number of owner {owner}"), "too many".to_string()]
    };
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    for owner in 0..5000 {
        // Bounding is the caller's part: distinct terms, and no more than promised below.
        let mut terms = searches(owner);
        terms.sort();
        terms.dedup();
        terms.truncate(TERMS_PER_OWNER);
        terms.into_iter().for_each(|term| *counts.entry(term).or_default() += 1);
    }

    let target = Target::approximate(epsilon(1.0)?, delta(1e-9)?);
    let keys = StabilityHistogram::within(target, Scope::Person, Contribution::new(TERMS_PER_OWNER as u32, 1)?)?;
    let counted: Vec<(String, i64)> = counts.into_iter().collect();
    let published = keys.release(&counted, &mut SecureSource::new()?);

    println!(
        "{} of {} terms are published, from {:.0} owners on:",
        published.len(),
        counted.len(),
        keys.published_from(beta(0.05)?)?
    );
    let mut largest = published.clone();
    largest.sort_by_key(|(_, count)| -count);
    largest.iter().take(6).for_each(|(term, count)| println!("  {term:<12} {count}"));
    println!("each count is within {} in 95% of all cases", keys.error(beta(0.05)?)?);
    let delta = Loss::of(keys.events()?, Scope::Person)?.delta(epsilon(1.0)?);
    println!("about a person: epsilon 1 at delta {:.1e}", delta.upper);
    Ok(())
}
