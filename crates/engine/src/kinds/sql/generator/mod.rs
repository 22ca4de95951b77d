//! Adversarial queries: random small worlds, random queries from the whole grammar, all kinds of neighbours.
//!
//! For every query that is answered, on a table and on its neighbours under one hash key: nothing fails or panics; keys
//! are of their type, in their domain and there once; one pass and the window form give the same integers; SQLite gives
//! the same integers where the dialects agree ([`dialect`]) and nothing is left out; and the integers of neighbours
//! differ by no more than what [`crate::sql::analyse::sensitivity`] records for their scope. A failing case is made
//! small and printed as a project.

mod bytes;
mod check;
mod compare;
mod dialect;
mod expression;
mod from;
mod grammar;
pub(super) mod moves;
mod neighbours;
mod oracle;
mod query;
#[cfg(test)]
mod replayed;
mod shrink;
#[cfg(test)]
mod tests;
mod value;
mod windows;
mod world;

use bytes::Bytes;
use check::{Case, CaseOutcome, check};
use query::RandomQuery;
use world::World;

/// The case that some bytes stand for.
fn case_of(mut bytes: Bytes<'_>, neighbours: usize) -> Case {
    let key = (bytes.word() % 4, 0);
    let (windows, answered) = (bytes.chance(30), bytes.chance(12));
    let world = World::drawn(&mut bytes);
    let query = RandomQuery::drawn(&mut bytes, &world);
    let rows = world.rows(&mut bytes);
    let neighbours = neighbours::neighbours(&mut bytes, &world, &rows, neighbours);
    Case { world, rows, query, neighbours, key, windows, answered }
}

/// One adversarial query from a fuzzer's bytes: panics, with the shrunk case, where anything does not hold.
pub fn adversarial_query(bytes: &[u8]) {
    let (case, context) = (case_of(Bytes::wide(bytes), 12), windows::session());
    if let CaseOutcome::Failed(failure) = check(&case, &context) {
        panic!("{}", shrink::story(case, failure, &context));
    }
}
