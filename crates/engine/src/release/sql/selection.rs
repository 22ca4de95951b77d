//! What somebody should know before keys are selected privately: how many owners a key needs to be published, and what to do where these
//! are more than there can be.

use super::{AnalysedQuery, PricedQuery, Threshold};
use crate::backend::bound::Bounds;
use crate::error::Result;
use crate::project::Cost;
use crate::release::noise::{Noise, calibrate};
use crate::sql::sensitivity;

/// With which probability a key of this many owners is not published.
const MISSED: f64 = 0.05;
/// Where nobody knows how many owners there are: from here on a threshold that fewer groups per owner would lower is warned of …
const MANY_OWNERS: u64 = 1000;
/// … if they would lower it this many times.
const WORTH_IT: u64 = 4;

/// The least number of owners with which a key is published with probability 95%.
///
/// The noise is symmetric: P\[owners + noise < threshold\] = P\[noise < −q\] = P\[|noise| > q\]/2 for q = owners − threshold.
pub(super) fn owners_needed(threshold: i64, noise: &Noise) -> u64 {
    (threshold as f64 + noise.quantile(2.0 * MISSED)).max(1.0) as u64
}

/// A sentence with the numbers, and one more if they are absurd.
pub(super) fn notes(query: &AnalysedQuery, priced: &PricedQuery) -> Result<Vec<String>> {
    let (Some(threshold), Some(needed)) = (priced.private.threshold, priced.owners_needed) else {
        return Ok(Vec::new());
    };
    let groups = sensitivity::keys_per_owner(&query.cut.query);
    let mut notes = vec![format!(
        "The keys are not public: one is published where its noisy number of owners is at least {threshold}, which {needed} owners reach with probability 95%."
    )];
    let of_one = if groups > 1 { needed_with_one_group(query, &priced.cost)? } else { None };
    let absurd = match query.public_owners {
        Some(owners) => needed > owners,
        None => of_one.is_some_and(|of_one| needed >= MANY_OWNERS && needed / WORTH_IT >= of_one),
    };
    if absurd {
        let there_are = query.public_owners.map_or(String::new(), |owners| format!(", and there are {owners}"));
        let fewer = of_one.map_or(String::new(), |of_one| {
            format!("lower max_groups_per_owner (it is {groups}; with 1 a key needs {of_one} owners), ")
        });
        notes.push(format!(
            "Warning: a key needs {needed} owners{there_are}, so that few or none will be published: {fewer}raise the cost, ask for fewer aggregates, or list the values of the keys in the project file."
        ));
    }
    Ok(notes)
}

/// The same if each owner counted in one group only.
fn needed_with_one_group(analysed: &AnalysedQuery, cost: &Cost) -> Result<Option<u64>> {
    let mut query = analysed.cut.query.clone();
    query.bounds = query.bounds.map(|bounds| Bounds { groups: 1, ..bounds });
    let (moves, quantiles) = super::moves_of(&query)?;
    let calibrated = calibrate(cost, &analysed.demand(&moves, &quantiles))?;
    let threshold = Threshold::of(&calibrated, &query)?;
    Ok(threshold.map(|threshold| owners_needed(threshold.least, &calibrated.noises[threshold.measure])))
}
