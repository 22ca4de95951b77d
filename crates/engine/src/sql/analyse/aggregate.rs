//! The one aggregate of a query, under what is computed from its results.

use super::QuerySource;
use crate::error::{Error, Result};
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::{Aggregate, LogicalPlan};

/// Finds the one aggregate under projections, filters, sorts and limits.
pub(super) fn find_aggregate(plan: &LogicalPlan, source: &QuerySource<'_>) -> Result<Aggregate> {
    match plan {
        LogicalPlan::Aggregate(aggregate) => Ok(aggregate.clone()),
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::SubqueryAlias(_) => match plan.inputs().first() {
            Some(input) => find_aggregate(input, source),
            None => Err(no_aggregate(source)),
        },
        LogicalPlan::Window(window) => find_aggregate(&window.input, source).map_err(|_| {
            let sentence = "a window function is supported on released numbers only: aggregate first (COUNT, SUM … \
                with GROUP BY), then use it on the results";
            source.error("over", sentence)
        }),
        LogicalPlan::TableScan(_) | LogicalPlan::EmptyRelation(_) | LogicalPlan::Values(_) => Err(no_aggregate(source)),
        LogicalPlan::Join(join) => {
            let holds =
                |plan: &LogicalPlan| plan.exists(|node| Ok(matches!(node, LogicalPlan::Aggregate(_)))).unwrap_or(true);
            if holds(&join.left) || holds(&join.right) {
                return Err(source.error("join", "a join of aggregates is not supported; release each by itself"));
            }
            Err(no_aggregate(source))
        }
        other => Err(source.error("", format!("{} is not supported above the aggregate", other.display()))),
    }
}

fn no_aggregate(source: &QuerySource<'_>) -> Error {
    source.error("select", "the query has no aggregate, and rows are never published; use COUNT, SUM, AVG …")
}
