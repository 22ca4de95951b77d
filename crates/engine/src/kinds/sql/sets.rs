//! A query of several groupings (ROLLUP, CUBE, GROUPING SETS): each has its own noise, and its share of the cost.

use super::answer::{DrawnNoise, NoisyGrouping, answers_of_parts, noised};
use super::expected::{expected_of, made_up_key};
use super::noisy::NoisyIntegers;
use super::{
    AnalysedQuery, CalibratedNoise, Demand, Estimates, Plan, PricedQuery, QueryMechanism, calibrate, calibrate_shares,
    selection, shares,
};
use crate::attackers::ReleasedStatistic;
use crate::error::{Error, Result};
use crate::project::Cost;
use crate::release::plan::{ChargedAccess, ExpectedError};
use crate::release::price::needs;
use crate::sql::PrivateQuery;
use crate::sql::analyse::sets::KeyGrouping;
use crate::tables::Backend;
use scumble::event::Moves;
use serde_json::{Value, json};
use std::rc::Rc;

/// The noise that a cost pays for: each measure of each grouping has an equal share, or its own within its grouping.
///
/// # Guarantee
/// As for [`calibrate`], over the measures of all groupings. The δ of key selection is divided among those that select
/// keys, rounded down.
pub(crate) fn at<'q>(queries: impl Iterator<Item = &'q AnalysedQuery> + Clone, cost: &Cost) -> Result<PricedQuery> {
    let moves: Vec<Moves> = queries.clone().flat_map(|part| part.moves.clone()).collect();
    let quantiles: Vec<Moves> = queries.clone().flat_map(|part| part.quantile_moves.clone()).collect();
    let steps: Vec<Option<f64>> = queries.clone().flat_map(|part| part.steps.clone()).collect();
    let selects = |part: &AnalysedQuery| part.cut.query.cells().is_none();
    let selecting = queries.clone().filter(|part| selects(part)).count();
    let demand = Demand {
        moves: &moves,
        steps: &steps,
        quantiles: &quantiles,
        selects_keys: selecting > 0,
        default_delta: queries.clone().find_map(|part| part.default_delta.clone()),
        aside: None,
    };
    let calibrated = in_portions(queries.clone(), cost, &demand)?;
    let key_delta = calibrated.key_delta.map(|delta| divided(delta, selecting));
    let mut parts = Vec::new();
    for (part, own) in of_each(queries, &calibrated) {
        let own = CalibratedNoise { key_delta: key_delta.filter(|_| selects(part)), ..own };
        parts.push(part.priced(cost, own)?);
    }
    let events = parts.iter().flat_map(|part| part.events.clone()).collect();
    let private = QueryMechanism::default();
    let (cost, portions) = (cost.clone(), Vec::new());
    Ok(PricedQuery { cost, calibrated, private, owners_needed: None, events, portions, parts })
}

/// The noise of all groupings, each with its portions of the cost.
fn in_portions<'q>(
    queries: impl Iterator<Item = &'q AnalysedQuery> + Clone,
    cost: &Cost,
    demand: &Demand<'_>,
) -> Result<CalibratedNoise> {
    let equal = calibrate(cost, demand)?;
    let own = |(part, own): (&AnalysedQuery, CalibratedNoise)| {
        Ok((part.portions(cost, &own)?, own.noises.len() + own.quantiles.len()))
    };
    let portions = of_each(queries, &equal).map(own).collect::<Result<Vec<_>>>()?;
    match shares::of_several(portions) {
        portions if portions.is_empty() => Ok(equal),
        portions => calibrate_shares(cost, demand, &portions),
    }
}

/// Each grouping with its part of the noise.
fn of_each<'q>(
    queries: impl Iterator<Item = &'q AnalysedQuery>,
    calibrated: &CalibratedNoise,
) -> impl Iterator<Item = (&'q AnalysedQuery, CalibratedNoise)> {
    let (mut noises, mut epsilons) = (calibrated.noises.iter(), calibrated.quantiles.iter());
    queries.map(move |part| {
        let own = CalibratedNoise {
            noises: noises.by_ref().take(part.moves.len()).cloned().collect(),
            quantiles: epsilons.by_ref().take(part.quantile_moves.len()).copied().collect(),
            aside: Vec::new(),
            key_delta: None,
        };
        (part, own)
    })
}

/// A part of a δ; all parts together are no more than that.
fn divided(delta: f64, parts: usize) -> f64 {
    if parts <= 1 { delta } else { (delta / parts as f64).next_down() }
}

pub(crate) fn plan(query: &AnalysedQuery, priced: PricedQuery) -> Result<Plan> {
    let cut = Rc::clone(&query.cut);
    let sets = || cut.sets.iter().zip(&query.parts).zip(&priced.parts);
    let (mut notes, mut expected) = (vec![shared(&cut)], Vec::new());
    for ((set, part), priced) in sets() {
        let named = set.named();
        notes.extend(selection::notes(part, priced)?.into_iter().map(|note| format!("Grouped {named}: {note}")));
        expected.extend(expected_of_set(query, set, priced, &named)?);
    }
    let bounded: Vec<_> =
        cut.sets.iter().map(|set| (set.named(), set.cut.row_bounds(), !set.cut.row_keys().is_empty())).collect();
    let rule = rule(query, &priced);
    let privates: Vec<QueryMechanism> = priced.parts.into_iter().map(|part| part.private).collect();
    Ok(Plan {
        rule,
        notes,
        expected,
        limits: Vec::new(),
        counted: ReleasedStatistic::Other("several groupings of the same rows are published at once".into()),
        estimates: Estimates::of_several(&bounded),
        memory: needs::of_query(&cut),
        tables: cut.below.tables.iter().cloned().collect(),
        query: Some(Rc::clone(&cut)),
        events: priced.events,
        compute: Box::new(move |charged| {
            let found = drawn(&cut, &privates, charged)?;
            let parts = found.iter().zip(&privates).zip(&cut.sets);
            let parts = parts.map(|((noisy, private), set)| NoisyGrouping { noisy, private, named: Some(set.named()) });
            Ok(answers_of_parts(&cut, &parts.collect::<Vec<_>>())?.0)
        }),
    })
}

/// The errors to expect of one grouping.
pub(crate) fn expected_of_set(
    query: &AnalysedQuery,
    set: &KeyGrouping,
    priced: &PricedQuery,
    named: &str,
) -> Result<Vec<ExpectedError>> {
    let key = whole_key(set, made_up_key(&set.cut)?, &query.cut)?;
    let of = (&priced.private, query.rows);
    let mut expected = expected_of(&query.cut, &set.cut.query.measures, key, of, Backend::empty()?)?;
    expected.iter_mut().for_each(|one| one.column = format!("{} ({named})", one.column));
    Ok(expected)
}

/// The released cells of each grouping, with the keys of the whole query.
pub(crate) fn drawn(
    cut: &PrivateQuery,
    privates: &[QueryMechanism],
    charged: &mut ChargedAccess<'_>,
) -> Result<Vec<NoisyIntegers>> {
    let noisy = |(set, private): (&KeyGrouping, &QueryMechanism)| {
        let noisy = noised(&set.cut, charged.read(&set.cut)?, private, &mut DrawnNoise(charged.bits()));
        in_whole(set, noisy, cut)
    };
    cut.sets.iter().zip(privates).map(noisy).collect()
}

/// The cells with the keys of the whole query.
pub(crate) fn in_whole(set: &KeyGrouping, noisy: NoisyIntegers, cut: &PrivateQuery) -> Result<NoisyIntegers> {
    let keys = noisy.keys.into_iter().map(|key| whole_key(set, key, cut)).collect::<Result<_>>()?;
    Ok(NoisyIntegers { keys, cells: noisy.cells })
}

fn whole_key(
    set: &KeyGrouping,
    key: Vec<datafusion::common::ScalarValue>,
    cut: &PrivateQuery,
) -> Result<Vec<datafusion::common::ScalarValue>> {
    set.key(key, &cut.query.keys).ok_or_else(|| Error::machine("the keys of a release do not fit together"))
}

fn shared(cut: &PrivateQuery) -> String {
    let named: Vec<String> = cut.sets.iter().map(KeyGrouping::named).collect();
    format!("{} groupings share the cost equally, each with noise of its own: {}.", cut.sets.len(), named.join("; "))
}

fn rule(query: &AnalysedQuery, priced: &PricedQuery) -> Value {
    let sets = query.cut.sets.iter().zip(&query.parts).zip(&priced.parts);
    let groupings: Vec<Value> = sets
        .map(|((set, part), priced)| {
            let mut rule = part.rule(priced);
            rule["grouped"] = json!(set.named());
            rule.as_object_mut().map(|rule| rule.remove("sql"));
            rule
        })
        .collect();
    json!({ "sql": query.sql, "tables": query.cut.below.tables, "groupings": groupings })
}

#[cfg(test)]
mod tests {
    use super::divided;

    #[test]
    fn the_parts_of_a_delta_are_no_more_than_it() {
        for delta in [1e-9, 0.1, 3.3e-7, 1e-300] {
            for parts in 1..=64 {
                let part = scumble::quantity::Exact::from_f64(divided(delta, parts)).unwrap();
                let sum = part.rational() * num_bigint::BigInt::from(parts);
                assert!(sum <= *scumble::quantity::Exact::from_f64(delta).unwrap().rational());
            }
        }
    }
}
