//! What somebody should know before keys are selected privately: how many owners a key needs to be published, and what
//! to do where these are more than there can be.

use super::keys::{self, MISSED};
use super::{AnalysedQuery, PricedQuery, Threshold};
use crate::error::Result;
use crate::release::price::noise::{CalibratedNoise, Noise};
use crate::sql::analyse::query::Query;
use crate::sql::analyse::sensitivity;
use crate::tables::bounding::Bounds;
use scumble::quantity::Beta;

/// A key that needs more than one in this many of all owners is one that hardly any table has.
const SHARE_OF_OWNERS: u64 = 10;
/// From here on the plan warns of a threshold that fewer groups per owner would lower, whatever the number of owners …
const MANY_OWNERS: u64 = 1000;
/// … if they would lower it this many times.
const WORTH_IT: u64 = 4;

/// The least number of owners with which a key is published with probability 95%.
///
/// The noise is symmetric: P\[owners + noise < threshold\] = P\[noise < −q\] = P\[|noise| > q\]/2 for
/// q = owners − threshold.
pub(crate) fn owners_needed(threshold: i64, noise: &Noise) -> u64 {
    (threshold as f64 + noise.quantile(2.0 * MISSED)).max(1.0) as u64
}

/// A sentence with the numbers, and one more if they are absurd.
pub(crate) fn notes(query: &AnalysedQuery, priced: &PricedQuery) -> Result<Vec<String>> {
    let Some(needed) = priced.owners_needed else { return Ok(Vec::new()) };
    let groups = sensitivity::keys_per_owner(&query.cut.query);
    let mut notes = vec![first(query, priced, needed)?];
    let of_one = if groups > 1 { needed_with_one_group(query, priced)? } else { None };
    let takes_too_many = query.public_owners.is_some_and(|owners| needed > owners / SHARE_OF_OWNERS);
    let fewer_groups_help = of_one.is_some_and(|of_one| needed >= MANY_OWNERS && needed / WORTH_IT >= of_one);
    if takes_too_many || fewer_groups_help {
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

/// How keys are chosen.
fn first(query: &AnalysedQuery, priced: &PricedQuery, needed: u64) -> Result<String> {
    let Some(selection) = &priced.private.selection else {
        let threshold = priced.private.threshold.unwrap_or_default();
        return Ok(format!(
            "The keys are not public: one is published where its noisy number of owners is at least {threshold}, which {needed} owners reach with probability 95%."
        ));
    };
    let by_threshold = by_threshold(&priced.calibrated, &query.cut.query)?;
    let instead =
        by_threshold.map_or(String::new(), |owners| format!("; by a noisy number of owners it would need {owners}"));
    Ok(format!(
        "Only keys are asked for, and they are not public: each is published with the largest probability that the cost allows, 95% from {needed} owners on and surely from {} on{instead}.",
        selection.certain_from()
    ))
}

fn by_threshold(calibrated: &CalibratedNoise, query: &Query) -> Result<Option<u64>> {
    let threshold = Threshold::of(calibrated, query)?;
    Ok(threshold.map(|threshold| owners_needed(threshold.least, &calibrated.noises[threshold.measure])))
}

/// The same if each owner counted in one group only.
fn needed_with_one_group(analysed: &AnalysedQuery, priced: &PricedQuery) -> Result<Option<u64>> {
    if let (Some(_), Some(delta)) = (&priced.private.selection, priced.calibrated.key_delta) {
        let one = keys::within(&priced.cost, delta, 1)?;
        return Ok(one.map(|one| one.published_from(Beta::new(MISSED)?)).transpose()?);
    }
    let mut query = analysed.cut.query.clone();
    query.bounds = query.bounds.map(|bounds| Bounds { groups: 1, ..bounds });
    let (moves, quantiles) = super::moves_of(&query)?;
    let (calibrated, _) = analysed.calibrated(&priced.cost, &moves, &quantiles)?;
    by_threshold(&calibrated, &query)
}
