//! What is below the aggregate: the relational plan with the owner carried through, and what is known about each of its
//! columns.

use super::casts::{total, total_named};
use super::dates::{self, UnreadableDate};
use super::describe::{Describer, ValueFacts};
use super::described::{DescribedPlan, Ownership};
use super::impossible::refuse_impossible;
use super::per_owner::inner_rows;
use super::possible::{JoinCondition, PossibleRows};
use crate::calendar;
use crate::error::{DataFusionResult, Result};
use crate::project::{Bounding, Domain, Project, Table};
use crate::sql::{HiddenNames, QuerySource};
use crate::tables::value::LONGEST_TEXT;
use datafusion::common::{Column, DataFusionError, NullEquality};
use datafusion::logical_expr::expr::InSubquery;
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Expr, Filter, Join, JoinType, LogicalPlan, Operator, Projection, SubqueryAlias, TableScan,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Walks down to the tables.
pub(crate) fn below(
    plan: &LogicalPlan,
    asked: Bounding,
    project: &Project,
    hidden: &HiddenNames,
    source: &QuerySource<'_>,
) -> Result<DescribedPlan> {
    let mut walker = Walker { project, source, hidden, asked, aliases: 0, read: 0 };
    let below = walker.walk(plan)?;
    if below.owner == Ownership::Public {
        return Err(source.error("from", "the query reads public tables only: no release is needed for it"));
    }
    Ok(below)
}

struct Walker<'a> {
    project: &'a Project,
    source: &'a QuerySource<'a>,
    hidden: &'a HiddenNames,
    /// The bounds that the release asks for.
    asked: Bounding,
    aliases: usize,
    /// How many tables and joins there were so far.
    read: usize,
}

impl Walker<'_> {
    fn walk(&mut self, plan: &LogicalPlan) -> Result<DescribedPlan> {
        match plan {
            LogicalPlan::TableScan(scan) => self.scan(scan, plan),
            LogicalPlan::SubqueryAlias(alias) => self.alias(alias),
            LogicalPlan::Projection(projection) => self.projection(projection),
            LogicalPlan::Filter(filter) => self.filter(filter),
            LogicalPlan::Join(join) => self.join(join),
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => self.walk(&sort.input),
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate),
            LogicalPlan::Limit(_) | LogicalPlan::Sort(_) => Err(self.source.error(
                "limit",
                "LIMIT below the aggregate is not supported: it would let rows decide about each other",
            )),
            LogicalPlan::Union(_) => Err(self.source.error(
                "union",
                "UNION ALL below an aggregate is not supported; aggregate each part by itself and write UNION ALL \
                    between the results",
            )),
            LogicalPlan::EmptyRelation(_) | LogicalPlan::Values(_) => {
                Err(self.source.error("select", "the query reads no table of the project"))
            }
            LogicalPlan::Window(_) => Err(self.source.error(
                "over",
                "a window function (OVER) is not supported below the aggregate, where it would let rows decide about \
                    each other: use it on released rows",
            )),
            other => Err(self.source.error("", format!("{} is not supported below the aggregate", other.display()))),
        }
    }

    /// One row for each owner.
    fn aggregate(&mut self, aggregate: &Aggregate) -> Result<DescribedPlan> {
        let inner = self.walk(&aggregate.input)?;
        if inner.first.is_some() {
            let sentence = "an aggregate over an aggregate over an aggregate is not supported; one level below the \
                outer one is, by owner";
            return Err(self.source.error("from", sentence));
        }
        self.read += 1;
        inner_rows(aggregate, inner, self.asked, self.read, self.source)
    }

    fn scan(&mut self, scan: &TableScan, plan: &LogicalPlan) -> Result<DescribedPlan> {
        let name = scan.table_name.table();
        let table = self.project.table(name)?;
        let fields = scan.projected_schema.fields();
        let columns: Vec<ValueFacts> = fields.iter().map(|field| known(table, field.name())).collect();
        self.read += 1;
        let possible = PossibleRows::of_table(table, fields, &columns, self.read);
        let owner = match (&table.owner, table.public) {
            (_, true) => Ownership::Public,
            (Some(owner), _) => Ownership::Named(Column::new(Some(scan.table_name.clone()), owner)),
            (None, _) => Ownership::EachRow,
        };
        Ok(DescribedPlan {
            plan: plan.clone(),
            columns,
            possible,
            rows: BTreeSet::new(),
            owner,
            tables: [name.to_string()].into(),
            bounding: table.bounding,
            first: None,
        })
    }

    fn alias(&mut self, alias: &SubqueryAlias) -> Result<DescribedPlan> {
        let inner = self.walk(&alias.input)?;
        let owner = match &inner.owner {
            Ownership::Named(column) => Ownership::Named(Column::new(Some(alias.alias.clone()), &column.name)),
            other => other.clone(),
        };
        let plan = SubqueryAlias::try_new(Arc::new(inner.plan), alias.alias.clone());
        let plan = LogicalPlan::SubqueryAlias(plan.map_err(|error| self.internal(&error))?);
        Ok(DescribedPlan { plan, owner, ..inner })
    }

    fn projection(&mut self, projection: &Projection) -> Result<DescribedPlan> {
        let inner = self.walk(&projection.input)?;
        let schema = inner.plan.schema();
        let total = projection.expr.iter().map(|expression| total_named(expression.clone(), schema));
        let mut expressions = total.collect::<DataFusionResult<Vec<Expr>>>().map_err(|error| self.internal(&error))?;
        let describer = self.describer(&inner);
        let mut columns = expressions.iter().map(|one| passed(&describer, one)).collect::<Result<Vec<ValueFacts>>>()?;
        let mut owner = inner.owner.clone();
        if let Ownership::Named(column) = &inner.owner {
            self.aliases += 1;
            let hidden = self.hidden.name(&format!("owner {}", self.aliases));
            expressions.push(Expr::Column(column.clone()).alias(&hidden));
            columns.push(ValueFacts { is_owner: true, ..ValueFacts::default() });
            owner = Ownership::Named(Column::new_unqualified(hidden));
        }
        let possible = inner.possible.projected(&expressions, inner.plan.schema());
        let plan = Projection::try_new(expressions, Arc::new(inner.plan)).map_err(|error| self.internal(&error))?;
        let DescribedPlan { rows, tables, bounding, first, .. } = inner;
        Ok(DescribedPlan {
            plan: LogicalPlan::Projection(plan),
            columns,
            possible,
            rows,
            owner,
            tables,
            bounding,
            first,
        })
    }

    fn filter(&mut self, filter: &Filter) -> Result<DescribedPlan> {
        let inner = self.walk(&filter.input)?;
        let (mut attributes, mut conditions, mut more) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
        for condition in split_conjunction(&filter.predicate) {
            let (condition, of_parts) = match condition {
                Expr::InSubquery(list) => self.in_public(list, &inner, &mut more)?,
                other => {
                    let other = total(other.clone(), inner.plan.schema()).map_err(|error| self.internal(&error))?;
                    let known = self.describer(&inner).expression(&other)?;
                    (other, known.attributes)
                }
            };
            attributes.extend(of_parts);
            conditions.push(condition);
        }
        let tried = || conditions.iter().filter(|condition| !matches!(condition, Expr::InSubquery(_)));
        if let Some(together) = conjunction(tried().cloned()) {
            refuse_impossible(&together, &inner.possible, &self.describer(&inner))?;
        }
        let DescribedPlan { plan, columns, possible, mut rows, owner, mut tables, bounding, first } = inner;
        rows.extend(attributes);
        tables.extend(more);
        let possible = possible.filtered(tried(), plan.schema());
        let Some(predicate) = conjunction(conditions) else {
            return Err(self.source.error("where", "the condition is empty"));
        };
        let plan = Filter::try_new(predicate, Arc::new(plan)).map_err(|error| self.internal(&error))?;
        Ok(DescribedPlan { plan: LogicalPlan::Filter(plan), columns, possible, rows, owner, tables, bounding, first })
    }

    /// `x IN (SELECT …)` of public rows: whether a row stays depends on its own x alone. Gives the attributes of x.
    fn in_public(
        &mut self,
        list: &InSubquery,
        inner: &DescribedPlan,
        tables: &mut BTreeSet<String>,
    ) -> Result<(Expr, BTreeSet<String>)> {
        let rows = self.walk(&list.subquery.subquery)?;
        if rows.owner != Ownership::Public || !list.subquery.outer_ref_columns.is_empty() || inner.first.is_some() {
            let sentence = "IN (SELECT …) needs a sub-query that reads public tables only and no columns of the outer \
                query; join private tables on their owners instead";
            return Err(self.source.error("in (", sentence));
        }
        let expr = total(list.expr.as_ref().clone(), inner.plan.schema()).map_err(|error| self.internal(&error))?;
        let known = self.describer(inner).expression(&expr)?;
        tables.extend(rows.tables);
        let subquery = list.subquery.with_plan(Arc::new(rows.plan));
        Ok((Expr::InSubquery(InSubquery { expr: Box::new(expr), subquery, negated: list.negated }), known.attributes))
    }

    fn join(&mut self, join: &Join) -> Result<DescribedPlan> {
        let (left, right) = (self.walk(&join.left)?, self.walk(&join.right)?);
        if left.first.is_some() || right.first.is_some() {
            let sentence = "rows that are made one for each owner cannot be joined; join the tables inside of the sub-query, and GROUP BY the columns that you need beside the owner";
            return Err(self.source.error("join", sentence));
        }
        if !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
            return Err(self.source.error(
                "join",
                format!(
                    "{} JOIN is not supported; use an inner or a left join",
                    join.join_type.to_string().to_uppercase()
                ),
            ));
        }
        let join = &self.total_join(join, &left, &right).map_err(|error| self.internal(&error))?;
        let (pairs, others) = conditions(join);
        if pairs.is_empty() {
            let word = if self.source.holds("join") { "join" } else { "from" };
            return Err(self
                .source
                .error(word, "a join needs ON with equal columns of both tables: FROM a JOIN b ON a.x = b.x"));
        }
        let owner = self.joined_owner(join, &pairs, &left, &right)?;
        let mut rows: BTreeSet<String> = left.rows.union(&right.rows).cloned().collect();
        for (on_left, on_right) in &pairs {
            rows.extend(passed(&self.describer(&left), on_left)?.attributes);
            rows.extend(passed(&self.describer(&right), on_right)?.attributes);
        }
        let outer = join.join_type == JoinType::Left;
        let beside = |known: &ValueFacts| ValueFacts {
            missing: known.missing || outer,
            present: known.present && !outer,
            ..known.clone()
        };
        let on_right = right.columns.iter().map(beside);
        let columns: Vec<ValueFacts> = left.columns.iter().cloned().chain(on_right).collect();
        let equal = match join.null_equality {
            NullEquality::NullEqualsNothing => Operator::Eq,
            NullEquality::NullEqualsNull => Operator::IsNotDistinctFrom,
        };
        let on = JoinCondition { pairs: &pairs, others: &others, equal, outer };
        self.read += 1;
        let sides = [&left, &right].map(|side| (side.possible.clone(), side.plan.schema().as_ref()));
        let joined = DescribedPlan {
            plan: LogicalPlan::Join(join.clone()),
            columns,
            possible: PossibleRows::joined(sides, &on, &join.schema, self.read),
            rows,
            owner,
            tables: left.tables.union(&right.tables).cloned().collect(),
            bounding: joined_bounding(&left, &right),
            first: None,
        };
        let mut rows = joined.rows.clone();
        for condition in &others {
            rows.extend(self.describer(&joined).expression(condition)?.attributes);
        }
        Ok(DescribedPlan { rows, ..joined })
    }

    /// The join of what is below, its conditions total.
    fn total_join(&self, join: &Join, left: &DescribedPlan, right: &DescribedPlan) -> DataFusionResult<Join> {
        let (on_left, on_right) = (left.plan.schema(), right.plan.schema());
        let on = join.on.iter().map(|(one, other)| Ok((total(one.clone(), on_left)?, total(other.clone(), on_right)?)));
        let on = on.collect::<DataFusionResult<Vec<(Expr, Expr)>>>()?;
        let both = on_left.join(on_right)?;
        let filter = join.filter.clone().map(|filter| total(filter, &both)).transpose()?;
        let (left, right) = (Arc::new(left.plan.clone()), Arc::new(right.plan.clone()));
        let Join { join_type, join_constraint, null_equality, null_aware, .. } = *join;
        Join::try_new(left, right, on, filter, join_type, join_constraint, null_equality, null_aware)
    }

    /// # Guarantee
    /// Each joined row stems from private rows of one owner only, the named one.
    fn joined_owner(
        &self,
        join: &Join,
        pairs: &[(Expr, Expr)],
        left: &DescribedPlan,
        right: &DescribedPlan,
    ) -> Result<Ownership> {
        let is_owner = |below: &DescribedPlan, expression: &Expr| {
            let Expr::Column(column) = expression else { return false };
            self.describer(below).column(column).is_ok_and(|known| known.is_owner)
        };
        match (&left.owner, &right.owner) {
            (Ownership::EachRow, _) | (_, Ownership::EachRow) => {
                let sentence = "a table in a join needs an owner in the project file: declare the column that says \
                    whose rows they are, or put the other table's columns into its file";
                Err(self.source.error("join", sentence))
            }
            (Ownership::Public, Ownership::Public) => Ok(Ownership::Public),
            (Ownership::Named(owner), Ownership::Public) => Ok(Ownership::Named(owner.clone())),
            (Ownership::Public, Ownership::Named(owner)) if join.join_type == JoinType::Inner => {
                Ok(Ownership::Named(owner.clone()))
            }
            (Ownership::Public, Ownership::Named(_)) => {
                Err(self.source.error("join", "a left join needs the private table on the left"))
            }
            (Ownership::Named(owner), Ownership::Named(_)) => {
                let on_owner =
                    pairs.iter().any(|(on_left, on_right)| is_owner(left, on_left) && is_owner(right, on_right));
                if on_owner {
                    return Ok(Ownership::Named(owner.clone()));
                }
                let sentence = "private tables can only be joined ON their owner columns, so that a joined row belongs to one owner";
                Err(self.source.error("join", sentence))
            }
        }
    }

    fn describer<'b>(&'b self, below: &'b DescribedPlan) -> Describer<'b> {
        Describer { schema: below.plan.schema(), columns: &below.columns, source: self.source }
    }

    fn internal(&self, error: &DataFusionError) -> crate::Error {
        if let DataFusionError::External(cause) = error.find_root()
            && let Some(date) = cause.downcast_ref::<UnreadableDate>()
        {
            return self.source.error(&date.written, date.to_string());
        }
        self.source.error("", format!("the query cannot be planned with its owner ({})", error.message()))
    }
}

/// The conditions of a join: equal columns of both sides (left, right), and all others.
pub(crate) fn conditions(join: &Join) -> (Vec<(Expr, Expr)>, Vec<Expr>) {
    let (mut pairs, mut others) = (join.on.clone(), Vec::new());
    let holds = |plan: &LogicalPlan, expression: &Expr| match expression {
        Expr::Column(column) => plan.schema().has_column(column),
        _ => false,
    };
    for condition in join.filter.iter().flat_map(|filter| split_conjunction(filter)) {
        match condition {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
                if holds(&join.left, left) && holds(&join.right, right) {
                    pairs.push((left.as_ref().clone(), right.as_ref().clone()));
                    continue;
                }
                if holds(&join.left, right) && holds(&join.right, left) {
                    pairs.push((right.as_ref().clone(), left.as_ref().clone()));
                    continue;
                }
                others.push(condition.clone());
            }
            other => others.push(other.clone()),
        }
    }
    (pairs, others)
}

/// What is known about an expression that may also be a bare owner column, passed on unread.
fn passed(describer: &Describer<'_>, expression: &Expr) -> Result<ValueFacts> {
    let mut bare = expression;
    while let Expr::Alias(alias) = bare {
        bare = &alias.expr;
    }
    match bare {
        Expr::Column(column) if describer.column(column)?.is_owner => {
            Ok(ValueFacts { is_owner: true, missing: describer.column(column)?.missing, ..ValueFacts::default() })
        }
        other => describer.expression(other),
    }
}

/// A joined row per pair of rows: the bounds multiply.
fn joined_bounding(left: &DescribedPlan, right: &DescribedPlan) -> Bounding {
    match (&left.owner, &right.owner) {
        (Ownership::Public, _) => right.bounding,
        (_, Ownership::Public) => left.bounding,
        _ => Bounding {
            rows: left.bounding.rows.zip(right.bounding.rows).map(|(a, b)| a.saturating_mul(b).min(1_000_000)),
            groups: left.bounding.groups.or(right.bounding.groups),
            rows_per_group: left
                .bounding
                .rows_per_group
                .zip(right.bounding.rows_per_group)
                .map(|(a, b)| a.saturating_mul(b)),
        },
    }
}

/// What is declared about a column.
fn known(table: &Table, name: &str) -> ValueFacts {
    if table.owner.as_deref() == Some(name) {
        return ValueFacts { is_owner: true, ..ValueFacts::default() };
    }
    let attributes = if table.public { BTreeSet::new() } else { [name.to_string()].into() };
    let present = table.column(name).is_some_and(|column| column.never_missing);
    let mut known = ValueFacts { attributes, present, ..ValueFacts::default() };
    match table.column(name).map(|column| &column.domain) {
        Some(Domain::Int { bounds: Some((lower, upper)) }) => known.interval = Some((*lower as f64, *upper as f64)),
        Some(Domain::Float { bounds, granularity }) => {
            known.interval = *bounds;
            known.granularity = *granularity;
        }
        Some(Domain::Date { bounds }) => {
            let (lower, upper) = bounds.unwrap_or(calendar::DAYS);
            known.interval = Some((lower as f64, upper as f64));
        }
        Some(Domain::Timestamp { bounds, .. }) => {
            known.interval = Some(dates::seconds(bounds.unwrap_or(calendar::MOMENTS)));
        }
        Some(Domain::Category { values: None }) => known.bytes = LONGEST_TEXT as u64,
        Some(Domain::Category { values: Some(values) }) => {
            known.bytes = values.iter().map(String::len).max().unwrap_or(0) as u64;
        }
        _ => {}
    }
    known
}
