//! From a query to what is private about it: rows below the aggregate, keys, measures, what is possible, and how far
//! one owner can move what. Reads no row.

pub(crate) mod aggregate;
pub(crate) mod below;
pub(crate) mod casts;
pub(crate) mod compared;
pub(crate) mod dates;
pub(crate) mod describe;
pub(crate) mod described;
pub(crate) mod distinct;
pub(crate) mod execution;
pub(crate) mod impossible;
pub(crate) mod limits;
pub(crate) mod measure;
pub(crate) mod pair;
pub(crate) mod per_owner;
pub(crate) mod position;
pub(crate) mod possible;
pub(crate) mod public;
pub(crate) mod query;
pub(crate) mod refusals;
pub(crate) mod refuse;
pub(crate) mod sensitivity;
pub(crate) mod sets;
pub(crate) mod total;
pub(crate) mod union;

use crate::error::{Error, QueryMistake, Result};
use crate::place::{Origin, Place, suggestion};
use crate::project::{Bounding, Project};
use crate::room::with_room;
use crate::sql::functions::{self, SqlAggregate};
use crate::tables::Backend;
use crate::tables::bounding::Bounds;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, SchemaError};
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{Aggregate, LogicalPlan};
use datafusion::sql::sqlparser::tokenizer::Location;
use described::{DescribedPlan, PerOwner};
use execution::Execution;
use position::Positions;
use public::SeparatedQuery;
use query::{GroupKey, Query};
use sets::{GroupByClause, KeyGrouping};
use std::collections::HashSet;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use union::Branch;

/// A query, cut at its aggregate: what was analysed of it.
pub(crate) struct QueryParts {
    /// The whole plan, its types coerced.
    pub plan: LogicalPlan,
    /// The aggregate in it.
    pub aggregate: Aggregate,
    /// What is below the aggregate.
    pub below: DescribedPlan,
    /// What the aggregate asks for.
    pub query: Query,
    /// The aggregate below that, where one row is made for each owner first: then the keys and values of `query` are
    /// over its columns.
    pub per_owner: Option<PerOwner>,
    /// The groupings, where there are several: then each of these is run, and not the whole.
    pub sets: Vec<KeyGrouping>,
    /// Names that the query does not use.
    pub hidden: HiddenNames,
    /// What is public in each group, in sentences: it was taken off what is released.
    pub public: Vec<String>,
}

/// A query whose results are made private. Its parts can be read and not changed, so that what runs is what was
/// analysed.
#[derive(Clone)]
pub(crate) struct PrivateQuery {
    parts: Arc<QueryParts>,
    /// How it runs; `None` where it has several groupings, because each of them runs by itself.
    execution: Option<Arc<Execution>>,
    /// The other branches of a UNION ALL whose first branch this is: they read rows in the same release.
    beside: Vec<PrivateQuery>,
}

impl Deref for PrivateQuery {
    type Target = QueryParts;

    fn deref(&self) -> &QueryParts {
        &self.parts
    }
}

/// A UNION ALL of released results.
#[derive(Clone)]
pub(crate) struct UnionOfQueries {
    /// The whole plan.
    pub plan: LogicalPlan,
    /// Each branch as a query of its own, and what it gives to the union.
    pub branches: Vec<(PrivateQuery, LogicalPlan)>,
}

/// A query of either form.
#[derive(Clone)]
pub(crate) enum SqlQuery {
    /// One query.
    One(PrivateQuery),
    /// Several, in one answer.
    Several(UnionOfQueries),
}

impl SqlQuery {
    /// The private queries in it.
    pub fn queries(&self) -> impl Iterator<Item = &PrivateQuery> {
        let (one, several) = match self {
            Self::One(query) => (Some(query), &[][..]),
            Self::Several(union) => (None, &union.branches[..]),
        };
        one.into_iter().chain(several.iter().map(|(query, _)| query))
    }
}

impl PrivateQuery {
    /// How many cells its answer has, in all of its groupings; those of unknown keys are not counted.
    pub fn cells(&self) -> u64 {
        match self.sets.is_empty() {
            true => self.query.cells().unwrap_or(0),
            false => self.sets.iter().map(|set| set.cut.query.cells().unwrap_or(0)).fold(0, u64::saturating_add),
        }
    }

    /// Of its parts, which do not change from here on.
    fn of(parts: QueryParts) -> Result<Self> {
        let execution = parts.sets.is_empty().then(|| Execution::of(&parts)).transpose()?;
        Ok(Self { parts: Arc::new(parts), execution: execution.map(Arc::new), beside: Vec::new() })
    }

    /// The same as the first branch of a UNION ALL.
    pub fn with_beside(self, beside: Vec<Self>) -> Self {
        Self { beside, ..self }
    }

    /// The other branches of a UNION ALL whose first branch this is.
    pub fn beside(&self) -> &[Self] {
        &self.beside
    }

    /// How it runs.
    pub fn execution(&self) -> Result<&Execution> {
        self.execution.as_deref().ok_or_else(|| Error::machine("a query of several groupings runs as one"))
    }

    /// The keys by which an owner's rows are bounded.
    pub fn row_keys(&self) -> &[GroupKey] {
        self.per_owner.as_ref().map_or(&self.query.keys, |first| &first.keys)
    }

    /// How much of an owner's rows counts; none where each row is one person.
    pub fn row_bounds(&self) -> Option<Bounds> {
        self.per_owner.as_ref().map_or(self.query.bounds, |first| Some(first.bounds))
    }
}

/// Names of columns that are put into a plan beside those of the query.
#[derive(Debug, Clone)]
pub(crate) struct HiddenNames(String);

impl HiddenNames {
    /// A word that neither the query nor the project holds, so that no name that begins with it is taken.
    fn of(sql: &str, project: &Project) -> Self {
        let sql = sql.to_lowercase();
        let names = |word: &str| {
            let of_table = |table: &crate::project::Table| {
                let columns = table.columns.iter().map(|column| &column.name);
                columns.chain(&table.owner).chain([&table.name]).any(|name| name.to_lowercase().contains(word))
            };
            project.tables.values().any(of_table)
        };
        let mut word = "scumble".to_string();
        while sql.contains(&word) || names(&word) {
            word.push('0');
        }
        Self(word)
    }

    /// A name of ours.
    pub fn name(&self, what: &str) -> String {
        format!("{} {what}", self.0)
    }
}

/// Where a query stands, for messages.
#[derive(Clone)]
pub(crate) struct QuerySource<'a> {
    /// The query.
    pub sql: &'a str,
    /// Whether the keys that can occur are public and all of them published, those without rows too.
    pub lists_keys: bool,
    /// Where in it what stands, once that is asked.
    positions: OnceLock<Positions>,
}

impl<'a> QuerySource<'a> {
    /// Of a query.
    pub fn new(sql: &'a str, lists_keys: bool) -> Self {
        Self { sql, lists_keys, positions: OnceLock::new() }
    }

    /// A refusal at the first place where a word, a name, an operator or a string stands in the query, if it does.
    pub fn error(&self, word: &str, sentence: impl Into<String>) -> Error {
        Self::at(self.positions().word(word), sentence.into())
    }

    /// A refusal at the first call of a function.
    pub fn error_at_call(&self, name: &str, sentence: impl Into<String>) -> Error {
        Self::at(self.positions().call(name), sentence.into())
    }

    /// A refusal where a column is read first.
    pub fn error_at_column(&self, name: &str, sentence: impl Into<String>) -> Error {
        Self::at(self.positions().column(name), sentence.into())
    }

    /// A refusal where a column of the result gets its name first.
    pub fn error_at_result(&self, name: &str, sentence: impl Into<String>) -> Error {
        Self::at(self.positions().result(name), sentence.into())
    }

    /// Whether a word stands in the query.
    pub fn holds(&self, word: &str) -> bool {
        self.positions().word(word).is_some()
    }

    fn positions(&self) -> &Positions {
        self.positions.get_or_init(|| Positions::of(self.sql))
    }

    fn at(found: Option<Location>, sentence: String) -> Error {
        match found {
            Some(Location { line, column }) => {
                Error::at(Place { origin: Origin::Query, line: line as usize, column: column as usize }, sentence)
            }
            None => Error::input(format!("query: {sentence}")),
        }
    }
}

/// Parses, plans and analyses a query.
///
/// # Guarantee
/// After: the facts about keys, measures and rows hold for the very expressions that [`integers`] runs.
pub(crate) fn analyse(sql: &str, bounding: Bounding, project: &Project, backend: &Backend) -> Result<PrivateQuery> {
    in_room(|| analysed(QuerySource::new(sql, true), bounding, project, backend))
}

/// The same for who looks at the groups that occur and at no others, however many there could be: no keys are public.
pub(crate) fn analyse_what_occurs(
    sql: &str,
    bounding: Bounding,
    project: &Project,
    backend: &Backend,
) -> Result<PrivateQuery> {
    in_room(|| analysed(QuerySource::new(sql, false), bounding, project, backend))
}

/// The same for a query that may be a UNION ALL of several.
pub(crate) fn analyse_several(sql: &str, bounding: Bounding, project: &Project, backend: &Backend) -> Result<SqlQuery> {
    in_room(|| several(&QuerySource::new(sql, true), bounding, project, backend))
}

/// The same for who wants to know which columns there are, and has not all values of its conditions yet.
pub(crate) fn analyse_columns(sql: &str, project: &Project, backend: &Backend) -> Result<SqlQuery> {
    in_room(|| several(&QuerySource::new(sql, false), Bounding::default(), project, backend))
}

/// Does what may call itself as often as a query is deep, and cuts what a refusal quotes of the query.
fn in_room<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    with_room(work).map_err(Error::quoting_little)
}

fn several(source: &QuerySource<'_>, bounding: Bounding, project: &Project, backend: &Backend) -> Result<SqlQuery> {
    let (plan, hidden) = planned(source, project, backend)?;
    let Some(branches) = union::branches(&plan, source)? else {
        return cut(plan, hidden, bounding, (project, Some(backend)), source).map(SqlQuery::One);
    };
    let cut = |branch: Branch| Ok((cut(branch.whole, hidden.clone(), bounding, (project, None), source)?, branch.part));
    let branches = branches.into_iter().map(cut).collect::<Result<Vec<_>>>()?;
    union::refuse_too_long(&branches, source)?;
    Ok(SqlQuery::Several(UnionOfQueries { plan, branches }))
}

fn analysed(source: QuerySource<'_>, bounding: Bounding, project: &Project, backend: &Backend) -> Result<PrivateQuery> {
    let (plan, hidden) = planned(&source, project, backend)?;
    if union::branches(&plan, &source)?.is_some() {
        return Err(source.error("union", "UNION ALL is supported in releases of kind sql only"));
    }
    cut(plan, hidden, bounding, (project, None), &source)
}

/// The plan of a query, its types coerced, and names that it does not use.
fn planned(source: &QuerySource<'_>, project: &Project, backend: &Backend) -> Result<(LogicalPlan, HiddenNames)> {
    let statement = refuse::check(source, project)?;
    let hidden = HiddenNames::of(source.sql, project);
    let state = backend.context.state();
    let plan = backend
        .wait(state.statement_to_plan(datafusion::sql::parser::Statement::Statement(Box::new(statement))))
        .map_err(|error| not_planned(source, backend, &error))?;
    union::refuse_mixed(&plan, source)?;
    compared::refuse_strangers(&plan, project, source)?;
    Ok((backend.coerced(plan).map_err(|error| not_planned(source, backend, &error))?, hidden))
}

/// The parameters of a query, by their numbers from 1, and their types as far as the query tells.
pub(crate) fn parameters(sql: &str, project: &Project, backend: &Backend) -> Result<Vec<Parameter>> {
    in_room(|| numbered(sql, project, backend))
}

/// The number of a parameter, and its type.
type Parameter = (usize, Option<DataType>);

fn numbered(sql: &str, project: &Project, backend: &Backend) -> Result<Vec<Parameter>> {
    let source = QuerySource::new(sql, true);
    let statement = refuse::check(&source, project)?;
    let statement = datafusion::sql::parser::Statement::Statement(Box::new(statement));
    let plan = backend.wait(backend.context.state().statement_to_plan(statement));
    let types =
        plan.and_then(|plan| plan.get_parameter_types()).map_err(|error| not_planned(&source, backend, &error))?;
    let number = |name: &str| {
        name.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok()).filter(|number| *number > 0)
    };
    let numbered = types.into_iter().map(|(name, kind)| match number(&name) {
        Some(number) if number <= MOST_PARAMETERS => Ok((number, kind)),
        _ => Err(source.error(&name, format!("parameters are written $1, $2 … up to ${MOST_PARAMETERS}"))),
    });
    numbered.collect()
}

/// The most parameters of a query.
const MOST_PARAMETERS: usize = 1_000;

/// A plan, cut at its one aggregate; what is public in each group is looked for where there is a session to read public
/// rows.
fn cut(
    plan: LogicalPlan,
    hidden: HiddenNames,
    bounding: Bounding,
    (project, public): (&Project, Option<&Backend>),
    source: &QuerySource<'_>,
) -> Result<PrivateQuery> {
    let mut aggregate = aggregate::find_aggregate(&plan, source)?;
    limits::above(&plan)?;
    describe::dates::refuse_above(&plan, source)?;
    let whole = |aggregate, below, query| {
        let (plan, hidden) = (plan.clone(), hidden.clone());
        let (sets, public) = (Vec::new(), Vec::new());
        QueryParts { plan, aggregate, below, query, per_owner: None, sets, hidden, public }
    };
    if let Some(sets) = GroupByClause::of(&aggregate, source)? {
        let below = below::below(&aggregate.input, bounding, project, &hidden, source)?;
        return sets.cut(
            aggregate,
            below,
            whole,
            |aggregate, below| measure::query(aggregate, below, bounding, source),
            |parts| per_owner::unfolded(parts, source).and_then(PrivateQuery::of),
            source,
        );
    }
    // A key that is written twice is one column of the aggregate.
    let mut written = HashSet::new();
    aggregate.group_expr.retain(|key| written.insert(key.clone()));
    if aggregate.group_expr.len() + aggregate.aggr_expr.len() != aggregate.schema.fields().len() {
        return Err(source.error("group by", "the columns of GROUP BY cannot be distinguished; name each once"));
    }
    let below = below::below(&aggregate.input, bounding, project, &hidden, source)?;
    let separated = match public {
        Some(backend) => public::separated((&plan, &aggregate), &below, (project, backend), source)?,
        None => None,
    };
    let parts = match separated {
        Some(SeparatedQuery { plan, aggregate, below, notes }) => {
            let query = measure::query(&aggregate, &below, bounding, source)?;
            QueryParts { plan, public: notes, ..whole(aggregate, below, query) }
        }
        None => {
            let query = measure::query(&aggregate, &below, bounding, source)?;
            whole(aggregate, below, query)
        }
    };
    per_owner::unfolded(parts, source).and_then(PrivateQuery::of)
}

/// Whether there is a function of this name, in the query's words or the planner's.
fn is_function(name: &str, state: &SessionState) -> bool {
    functions::written(name).is_some()
        || state.scalar_functions().contains_key(name)
        || state.aggregate_functions().contains_key(name)
        || state.window_functions().contains_key(name)
}

/// The refusal of two columns of one name.
fn same_name(source: &QuerySource<'_>, name: &str) -> Error {
    let called = name.split('(').next().unwrap_or(name);
    source.error_at_result(
        called,
        format!("two columns of the result are called '{name}'; give each a name of its own after AS"),
    )
}

/// DataFusion's reason in one sentence. Planning sees no data, so nothing private can be in it.
fn not_planned(source: &QuerySource<'_>, backend: &Backend, error: &DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::SchemaError(inner, _) => match inner.as_ref() {
            SchemaError::FieldNotFound { field, valid_fields } => {
                if let Some(capital) = valid_fields.iter().find(|column| column.name.to_lowercase() == field.name) {
                    let sentence =
                        format!("a name with capital letters needs double quotes: write \"{}\"", capital.name);
                    return source.error_at_column(&field.name, sentence).with_mistake(QueryMistake::UnknownColumn);
                }
                let hint = suggestion(&field.name, valid_fields.iter().map(|column| column.name.as_str()));
                let text = match source.positions().has_quoted_column(&field.name) {
                    true => format!("; if it is a string, write it in single quotes: '{}'", field.name),
                    false => String::new(),
                };
                let sentence = format!("there is no declared column '{}'{hint}{text}", field.name);
                source.error_at_column(&field.name, sentence).with_mistake(QueryMistake::UnknownColumn)
            }
            SchemaError::AmbiguousReference { field } => source.error_at_column(
                &field.name,
                format!(
                    "'{0}' is in \
                more than one table, or is a column and another result's name; write TABLE.{0}, or another name after \
                AS",
                    field.name
                ),
            ),
            SchemaError::DuplicateQualifiedField { name, .. } | SchemaError::DuplicateUnqualifiedField { name } => {
                same_name(source, name)
            }
        },
        other => {
            let message = other.strip_backtrace();
            let line = message.lines().next().unwrap_or_default().to_string();
            // Whatever the backend's reason is: MIN and MAX are all that it knows of dates.
            let of_dates = line.contains("Date32") || line.contains("Timestamp");
            if let Some(name) = SqlAggregate::of_ranks().find(|name| of_dates && line.contains(&format!("'{name}'"))) {
                let sentence = format!(
                    "{} takes numbers: write MEDIAN(day - DATE '2000-01-01') for days from a date on, or release kind quantiles, whose answers are dates and times",
                    name.to_uppercase()
                );
                return source.error_at_call(name, sentence);
            }
            if let Some(refusal) = refusals::of(&line, source) {
                return refusal;
            }
            if line.contains("UNION queries have different number of columns") {
                return source.error("union", "the SELECTs of a UNION ALL must have the same number of columns");
            }
            let state = backend.context.state();
            if let Some(name) = source.positions().call_but(|name| is_function(name, &state)) {
                let sentence = format!(
                    "there is no function {name}; the aggregates are {}; of functions on private rows {}",
                    SqlAggregate::answered(),
                    functions::answered()
                );
                return source.error_at_call(name, sentence).with_mistake(QueryMistake::UnknownFunction);
            }
            source.error("", format!("the query cannot be planned: {}", refusals::plain(&line)))
        }
    }
}
