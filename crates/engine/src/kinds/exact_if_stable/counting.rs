//! Which counts are looked at: those of a query, or of the rows of a table.

use crate::error::{Error, Result};
use crate::kinds::sql::within_file;
use crate::place::Place;
use crate::project::{Project, Request};
use crate::release::field::{Field, PlacedValue};
use crate::release::rows::condition::one_condition;
use crate::release::rows::fields::{bounding, private_table, quoted};
use crate::sql::analyse::query::{Computation, Summand};
use crate::sql::analyse::sensitivity;
use crate::sql::execute::integers::Integers;
use crate::sql::{PrivateQuery, above};
use crate::tables::Backend;
use datafusion::logical_expr::{Expr, LogicalPlan};
use scumble::event::Moves;
use scumble::scope::AttributeSet;
use std::rc::Rc;

pub(crate) const TABLE: Field<Option<PlacedValue<String>>> =
    Field::new("table", "the table whose rows count; either this or `sql`");
pub(crate) const WHERE: Field<Option<PlacedValue<String>>> =
    Field::new("where", "with `table`: which rows count, a condition as in SQL (default: all)");
pub(crate) const SQL: Field<Option<PlacedValue<String>>> = Field::new(
    "sql",
    "a query of one count, unmodified: `COUNT(*)`, `COUNT(x)` or `COUNT(DISTINCT x)`, with joins and conditions; for each key if it has a GROUP BY",
);

const ONE_CONDITION: &str = "this must be one condition on the rows of the table";
const ONE_COUNT: &str = "exact-if-stable takes one count beside the keys: SELECT COUNT(*), COUNT(x) or COUNT(DISTINCT \
    x) …; kind sql publishes other aggregates, with noise";
const AS_IT_STANDS: &str = "the count and the keys must stand by themselves, as in SELECT key, COUNT(*) … GROUP BY \
    key: choose what is published by at_least, rounded_to or largest";
const NOTHING_ABOVE: &str = "leave out HAVING, ORDER BY, LIMIT and window functions: choose what is published of the \
    count by at_least, rounded_to or largest";
const ONE_GROUPING: &str =
    "exact-if-stable takes one grouping: leave out ROLLUP, CUBE and GROUPING SETS, and release each grouping by itself";
const ALL_KEYS: &str = "SELECT must name every column of GROUP BY, by itself: each answer says which key it is about";

/// A count, for each key if there are some.
pub(crate) struct CountQuery {
    pub sql: String,
    pub cut: Rc<PrivateQuery>,
    /// Which measure it is.
    count: usize,
    /// The columns of the keys, as the query selects them.
    pub keys: Vec<StableKeyColumn>,
    /// By how much one owner moves a count at most, in any scope.
    pub per_owner: u64,
    /// Of how many keys one owner moves the count, in each scope.
    pub moved: Moves,
    /// What is counted.
    pub unit: &'static str,
}

/// A column of keys.
pub(crate) struct StableKeyColumn {
    pub name: String,
    /// Which column of the GROUP BY it is.
    pub place: usize,
}

impl CountQuery {
    /// What a request counts.
    pub fn read(request: &Request, project: &Project) -> Result<Self> {
        match (SQL.read(request)?, TABLE.read(request)?, WHERE.read(request)?) {
            (Some(sql), None, None) => Self::of_query(&sql, request, project),
            (Some(_), Some(table), _) => Err(table.error("give table or sql, not both")),
            (Some(_), None, Some(condition)) => {
                Err(condition.error("with sql, the condition stands in the query: write it after WHERE"))
            }
            (None, Some(_), condition) => Self::of_table(condition, request, project),
            (None, None, _) => Err(request
                .fields
                .error(format!("release '{}' of kind exact-if-stable needs 'table' or 'sql'", request.name))),
        }
    }

    fn of_table(condition: Option<PlacedValue<String>>, request: &Request, project: &Project) -> Result<Self> {
        let table = private_table(request, project)?;
        let place = WHERE.place(request);
        let only =
            condition.as_ref().map(|condition| Ok::<_, Error>(format!(" WHERE ({})", one_condition(condition)?)));
        let sql =
            format!("SELECT COUNT(*) AS count FROM {}{}", quoted(&table.name), only.transpose()?.unwrap_or_default());
        let cut = crate::sql::analyse(&sql, bounding(request)?, project, &Backend::without_data(project)?)
            .map_err(|error| error.without_place().or_at(place.clone()))?;
        let plain = cut.query.keys.is_empty() && cut.below.tables.iter().eq([&table.name]);
        match cut.query.aggregates[..] {
            [Computation::Count(count)] if plain => Self::new(sql, cut, count, Vec::new()),
            _ => Err(Error::at(place, ONE_CONDITION)),
        }
    }

    fn of_query(sql: &PlacedValue<String>, request: &Request, project: &Project) -> Result<Self> {
        let cut = crate::sql::analyse(&sql.value, bounding(request)?, project, &Backend::without_data(project)?)
            .map_err(|error| within_file(error, sql.place.clone()))?;
        let (count, keys) = plain_count(&cut, &sql.place)?;
        Self::new(sql.value.clone(), cut, count, keys)
    }

    fn new(sql: String, cut: PrivateQuery, count: usize, keys: Vec<StableKeyColumn>) -> Result<Self> {
        let measure = &cut.query.measures[count];
        let per_owner = largest_move(&sensitivity::moves(measure, &cut.query)?);
        let moved = sensitivity::of_each_cell(measure, &cut.query)?;
        let unit = match measure.what {
            Summand::Owners => "owners",
            Summand::Different => "different values",
            _ => "rows",
        };
        Ok(Self { sql, count, keys, per_owner, moved, unit, cut: Rc::new(cut) })
    }

    /// Whether every key that can occur is listed, also without rows.
    pub fn lists_keys(&self) -> bool {
        self.cut.query.public.is_some()
    }

    /// The attributes that the counts depend on.
    pub fn attributes(&self) -> Result<AttributeSet> {
        let touches = self.moved.parts().2;
        Ok(AttributeSet::new(touches.iter().flat_map(|touch| touch.attributes.iter().map(str::to_string)))?)
    }

    /// The count of each cell.
    pub fn counts(&self, exact: &Integers) -> Result<Vec<u64>> {
        let count = |sums: &[i128]| {
            let count = sums.get(self.count).copied();
            count.and_then(|count| u64::try_from(count).ok()).ok_or_else(|| Error::machine("the backend gave no count"))
        };
        exact.cells.iter().map(|cell| count(&cell.sums)).collect()
    }
}

/// The largest move of a cell in any scope.
fn largest_move(moves: &Moves) -> u64 {
    let (presence, person, touches, _) = moves.parts();
    let all = presence.iter().chain(person).chain(touches.iter().flat_map(|touch| &touch.shifts));
    all.map(|shift| shift.by.get().ceil() as u64).fold(1, u64::max)
}

/// The one count of a query that does nothing else, and its keys.
fn plain_count(cut: &PrivateQuery, place: &Place) -> Result<(usize, Vec<StableKeyColumn>)> {
    let refused = |sentence: &str| Err(Error::at(place.clone(), sentence));
    if !cut.sets.is_empty() {
        return refused(ONE_GROUPING);
    }
    let [Computation::Count(count)] = cut.query.aggregates[..] else { return refused(ONE_COUNT) };
    if !selects_alone(&cut.plan) {
        return refused(NOTHING_ABOVE);
    }
    let mut keys: Vec<StableKeyColumn> = Vec::new();
    for output in above::outputs(&cut.plan, &cut.aggregate)? {
        let Expr::Column(column) = &output.expression else { return refused(AS_IT_STANDS) };
        let key = cut.aggregate.schema.maybe_index_of_column(column).filter(|place| *place < cut.query.keys.len());
        match (key, output.direct) {
            (Some(place), _) => keys.push(StableKeyColumn { name: output.name, place }),
            (None, Some(_)) => {}
            (None, None) => return refused(AS_IT_STANDS),
        }
    }
    if (0..cut.query.keys.len()).any(|place| !keys.iter().any(|key| key.place == place)) {
        return refused(ALL_KEYS);
    }
    Ok((count, keys))
}

/// Whether nothing is above the aggregate but the names of columns.
fn selects_alone(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(_) => true,
        LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) => plan.inputs().into_iter().all(selects_alone),
        _ => false,
    }
}
