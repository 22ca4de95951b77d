//! How much memory a release takes whatever rows there are: what public numbers alone (listed values, steps, vertices,
//! combinations) make it hold.
//!
//! What rows take beside that depends on the data and is no part of it. The numbers are about right, from the sizes of
//! what is held; they are there so that a release that cannot fit is refused before its charge, and does not end the
//! process after it.

use crate::error::{Error, Result};
use crate::project::Request;
use crate::sql::PrivateQuery;
use crate::tables::memory::Memory;

/// A number that is not published: a count, a weight.
pub(crate) const NUMBER: u64 = 8;
/// A line of an answer: its texts and numbers, with an interval.
pub(crate) const LINE: u64 = 160;
/// The least memory that a project file takes.
const LEAST: u64 = 128_000_000;
/// From so many bytes on the plan says it in words.
const WORTH_SAYING: u64 = 500_000_000;

/// What the keys of a query take that are listed: the keys, their sums, and a line of the answer for each.
pub(crate) fn of_query(cut: &PrivateQuery) -> u64 {
    let beside = cut.beside().iter().chain(cut.sets.iter().map(|set| &set.cut));
    let beside = beside.map(of_query).fold(0u64, u64::saturating_add);
    let (keys, measures) = (cut.query.keys.len() as u64, cut.query.measures.len() as u64);
    let outputs = cut.plan.schema().fields().len() as u64;
    // A million numbers of one key each take about 1 GB while they are made into an answer.
    let cell = 200 + 160 * keys + 100 * measures + 300 * outputs;
    cut.query.cells().unwrap_or(0).saturating_mul(cell).saturating_add(beside)
}

/// A sentence for plans of releases that take much.
pub(crate) fn note(bytes: u64) -> Option<String> {
    (bytes >= WORTH_SAYING).then(|| format!("It takes about {} of memory, whatever rows there are.", shown(bytes)))
}

/// Whether what a release takes whatever rows there are fits the memory that it may take.
///
/// # Guarantee
/// Depends on declarations and on the machine alone.
pub(crate) fn refuse_too_large(request: &Request, bytes: u64, memory: &Memory, is_declared: bool) -> Result<()> {
    // Less than this no project can say.
    let most = memory.bytes.max(LEAST);
    if bytes <= most {
        return Ok(());
    }
    let allowed = if is_declared { "'memory' of the project allows" } else { "half of what is free is" };
    Err(Error::at(
        request.fields.place(),
        format!(
            "'{}' needs about {} of memory, and {allowed} {}: ask for less, or set memory = \"{}\" in the project \
                file; nothing was charged",
            request.name,
            shown(bytes),
            shown(most),
            shown(bytes)
        ),
    ))
}

/// In units that a project file takes, rounded up.
fn shown(bytes: u64) -> String {
    match bytes {
        0..10_000_000_000 => format!("{} MB", bytes.div_ceil(1_000_000)),
        _ => format!("{} GB", bytes.div_ceil(1_000_000_000)),
    }
}
