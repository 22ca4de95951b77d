//! ROLLUP, CUBE and GROUPING SETS: several groupings of the same rows in one answer.
//!
//! Each grouping is a query of its own, with its own keys, bounds and sensitivities, and has its share of the cost:
//! together they cost what releasing them one by one would have cost. What stands above the aggregate sees one table,
//! with NULL in the keys that a row is not grouped by.

use super::QueryParts;
use super::described::DescribedPlan;
use super::measure::MOST_NUMBERS;
use super::query::{GroupKey, Query};
use crate::error::Result;
use crate::sql::{PrivateQuery, QuerySource};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::utils::grouping_set_to_exprlist;
use datafusion::logical_expr::{Aggregate, Expr, GroupingSet};
use std::collections::HashSet;

/// The most groupings of a query.
pub(crate) const MOST_SETS: usize = 64;

/// One grouping.
#[derive(Clone)]
pub(crate) struct KeyGrouping {
    /// The query of this grouping alone.
    pub cut: PrivateQuery,
    /// Which key of all each of its keys is, by index.
    places: Vec<usize>,
    /// What tells the groupings apart: a bit for each key that this one does not group by, the last key first.
    id: u64,
}

/// What GROUP BY says.
pub(crate) struct GroupByClause {
    keys: Vec<Expr>,
    /// The keys of each grouping, by index.
    sets: Vec<Vec<usize>>,
}

impl GroupByClause {
    /// None where there is one grouping.
    pub fn of(aggregate: &Aggregate, source: &QuerySource<'_>) -> Result<Option<Self>> {
        let planned = |error: datafusion::common::DataFusionError| {
            source.error("group by", format!("the groupings cannot be planned ({})", error.message()))
        };
        let [Expr::GroupingSet(grouping)] = &aggregate.group_expr[..] else { return Ok(None) };
        let keys: Vec<Expr> =
            grouping_set_to_exprlist(&aggregate.group_expr).map_err(planned)?.into_iter().cloned().collect();
        let mut sets = Vec::new();
        for listed in listed(grouping) {
            let mut set: Vec<usize> =
                listed.iter().filter_map(|key| keys.iter().position(|other| other == key)).collect();
            set.sort_unstable();
            set.dedup();
            sets.push(set);
        }
        let different: HashSet<&Vec<usize>> = sets.iter().collect();
        if different.len() < sets.len() {
            return Err(source
                .error("group by", "GROUP BY has one grouping twice, which would be charged twice; list each once"));
        }
        if sets.len() > MOST_SETS {
            return Err(source.error(
                "group by",
                format!("GROUP BY has {} groupings, and at most {MOST_SETS} share a cost; list fewer", sets.len()),
            ));
        }
        if keys.len() + 1 + aggregate.aggr_expr.len() != aggregate.schema.fields().len() {
            return Err(source.error("group by", "the columns of GROUP BY cannot be distinguished; name each once"));
        }
        Ok(Some(Self { keys, sets }))
    }

    /// Each grouping, analysed by `query` from the expressions that it groups by.
    pub fn cut(
        self,
        mut aggregate: Aggregate,
        below: DescribedPlan,
        whole: impl Fn(Aggregate, DescribedPlan, Query) -> QueryParts,
        query: impl Fn(&Aggregate, &DescribedPlan) -> Result<Query>,
        unfolded: impl Fn(QueryParts) -> Result<PrivateQuery>,
        source: &QuerySource<'_>,
    ) -> Result<PrivateQuery> {
        let (mut sets, mut keys) = (Vec::new(), vec![None; self.keys.len()]);
        for places in self.sets {
            let group_expr = places.iter().map(|place| self.keys[*place].clone()).collect();
            let mut part = aggregate.clone();
            part.group_expr = group_expr;
            let asked = query(&part, &below)?;
            for (place, key) in places.iter().zip(&asked.keys) {
                keys[*place] = Some(key.clone());
            }
            let grouped = |place: usize| places.contains(&place);
            let id = (0..self.keys.len()).fold(0, |id, place| id << 1 | u64::from(!grouped(place)));
            let cut = unfolded(whole(part, below.clone(), asked))?;
            sets.push(KeyGrouping { cut, places, id });
        }
        let columns = (self.keys.len() + aggregate.aggr_expr.len()) as u64;
        let cells = sets.iter().map(|set| set.cut.query.cells().unwrap_or(0)).fold(0, u64::saturating_add);
        if cells.saturating_mul(columns) > MOST_NUMBERS {
            return Err(source.error(
                "group by",
                format!(
                    "GROUP BY has {cells} cells of {columns} columns in all groupings, and an answer has at most \
                    {MOST_NUMBERS} numbers and keys; use fewer columns or aggregates"
                ),
            ));
        }
        let kind = aggregate.schema.field(self.keys.len()).data_type().clone();
        let name = Column::new_unqualified(Aggregate::INTERNAL_GROUPING_ID);
        let id = Expr::Column(name);
        let mut query = sets[0].cut.query.clone();
        query.keys = keys.into_iter().flatten().collect();
        query.keys.push(GroupKey {
            name: "grouping".to_string(),
            expression: id.clone(),
            kind,
            domain: None,
            can_be_missing: false,
        });
        query.public = None;
        aggregate.group_expr = self.keys.into_iter().chain([id]).collect();
        let mut parts = whole(aggregate, below, query);
        parts.below.first = None;
        parts.sets = sets;
        PrivateQuery::of(parts)
    }
}

/// All groupings, the finest first. More than can be planned are not made: of a CUBE of more than six keys the first
/// ones.
fn listed(grouping: &GroupingSet) -> Vec<Vec<Expr>> {
    match grouping {
        GroupingSet::GroupingSets(sets) => sets.clone(),
        GroupingSet::Rollup(keys) => (0..=keys.len()).rev().map(|length| keys[..length].to_vec()).collect(),
        GroupingSet::Cube(keys) => {
            let subsets = 0..1u128.checked_shl(keys.len() as u32).unwrap_or(u128::MAX).min(MOST_SETS as u128 + 1);
            let some = |subset: u128| {
                let left_out = |place: usize| subset >> (keys.len() - 1 - place) & 1 == 1;
                (0..keys.len()).filter(|place| !left_out(*place)).map(|place| keys[place].clone()).collect()
            };
            subsets.map(some).collect()
        }
    }
}

impl KeyGrouping {
    /// A key of this grouping among the keys of all: NULL where it does not group by one, and the number of the
    /// grouping.
    pub fn key(&self, key: Vec<ScalarValue>, all: &[GroupKey]) -> Option<Vec<ScalarValue>> {
        let nothing =
            all.iter().map(|key| ScalarValue::try_from(&key.kind)).collect::<std::result::Result<Vec<_>, _>>();
        let mut full = nothing.ok()?;
        for (place, value) in self.places.iter().zip(key) {
            full[*place] = value;
        }
        let kind: DataType = full.last()?.data_type();
        *full.last_mut()? = ScalarValue::UInt64(Some(self.id)).cast_to(&kind).ok()?;
        Some(full)
    }

    /// Which key of all each of its keys is, by index.
    #[cfg(any(test, feature = "generator"))]
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// What it groups by, in words.
    pub fn named(&self) -> String {
        let keys: Vec<&str> = self.cut.query.keys.iter().map(|key| key.name.as_str()).collect();
        if keys.is_empty() { "in all".to_string() } else { format!("by {}", keys.join(", ")) }
    }
}
