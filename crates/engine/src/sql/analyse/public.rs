//! Public numbers that are constants of a group: `MAX(p.residents)` beside `GROUP BY city`, and `GROUP BY city,
//! residents`, where each city has one number of residents in the public table.
//!
//! This is proved from the table, which is read before anything is charged; it is never assumed. Let D be the keys that
//! are equal, on every row of the join, to expressions over the rows of one public table, because they read it alone or
//! because the join or a filter makes them equal. A row of the table counts only if it meets every condition that reads
//! the table alone and holds on every joined row. If no two of the rows that count agree in D and differ in e (NULL is
//! a value here), all rows of a group have the same e, whatever the private rows are, and however often a row of the
//! table is repeated. So e is a function of the group's key. It is removed from what is released, and put back above
//! the aggregate as a [`PublicFunction`] of the keys, which no noise changes.
//!
//! A left join may find no row, which the private rows decide: nothing is proved there.
//!
//! # Guarantee
//! What is put back depends on the query, on the keys and on public rows alone. Which rows count, what is measured of
//! them and how far it moves does not depend on what the table says: if it has changed when the release runs, rows with
//! keys that are not listed are left out, and the numbers that are put back are the ones of before.

use super::describe::{Describer, shown};
use super::described::DescribedPlan;
use super::measure::made_total;
use crate::error::{DataFusionResult, Result};
use crate::project::Project;
use crate::sql::QuerySource;
use crate::sql::functions::{SqlAggregate, SqlStatistic};
use crate::tables::Backend;
use crate::tables::public_rows::PublicSelection;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::logical_expr::{
    Aggregate, ColumnarValue, Expr, LogicalPlan, Projection, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A query whose public numbers are functions of its keys.
pub(crate) struct SeparatedQuery {
    pub plan: LogicalPlan,
    pub aggregate: Aggregate,
    pub below: DescribedPlan,
    /// What was found, in sentences.
    pub notes: Vec<String>,
}

/// A column of the aggregate that reads one public table alone.
struct PublicCandidate {
    /// Its place among the aggregate's columns.
    place: usize,
    /// Which reading of which table it uses, and its value in a row.
    read: usize,
    value: Expr,
    /// As a reader would write it.
    shown: String,
    /// Whether its values are few and declared, so that it may stay a key.
    is_listed: bool,
}

/// A column of the aggregate that is a function of keys.
struct DeterminedColumn {
    place: usize,
    read: usize,
    shown: String,
    table: String,
    /// The keys.
    by: Vec<usize>,
    values: Arc<HashMap<Vec<ScalarValue>, ScalarValue>>,
}

/// Takes off what is public in each group; none where nothing is.
pub(crate) fn separated(
    (plan, aggregate): (&LogicalPlan, &Aggregate),
    below: &DescribedPlan,
    (project, backend): (&Project, &Backend),
    source: &QuerySource<'_>,
) -> Result<Option<SeparatedQuery>> {
    let is_public = |name: &String| project.tables.get(name).is_some_and(|table| table.public);
    if !below.tables.iter().any(is_public) {
        return Ok(None);
    }
    let reader = GroupReader::new(aggregate, below, source)?;
    let mut determined: Vec<DeterminedColumn> = Vec::new();
    for read in reader.candidates.iter().map(|one| one.read).collect::<BTreeSet<usize>>() {
        let gone = determined.iter().map(|one| one.place).collect();
        determined.extend(reader.determined(read, &gone, (project, backend))?);
    }
    if determined.is_empty() {
        return Ok(None);
    }
    let attempt = || -> DataFusionResult<SeparatedQuery> {
        let (plan, aggregate) = reader.without(&determined, plan, aggregate)?;
        let below = reader.listed(&determined, below);
        let notes = reader.notes(&determined);
        Ok(SeparatedQuery { plan, aggregate, below, notes })
    };
    attempt().map(Some).map_err(|error| source.error("", error.message().to_string()))
}

/// The keys and public columns of an aggregate.
struct GroupReader<'a> {
    below: &'a DescribedPlan,
    /// The keys as they run, and the types in which they are published.
    keys: Vec<(Expr, DataType)>,
    candidates: Vec<PublicCandidate>,
    /// The types of the aggregate's columns.
    kinds: Vec<DataType>,
}

impl<'a> GroupReader<'a> {
    fn new(aggregate: &Aggregate, below: &'a DescribedPlan, source: &QuerySource<'_>) -> Result<Self> {
        let schema = below.plan.schema();
        let describer = Describer { schema, columns: &below.columns, source };
        let (mut keys, mut candidates) = (Vec::new(), Vec::new());
        let mut candidate = |place: usize, argument: &Expr, written: &Expr, is_listed: bool| {
            let (read, value) = below.possible.public_expression(argument, schema)?;
            candidates.push(PublicCandidate { place, read, value, shown: shown(written), is_listed });
            Some(())
        };
        for (place, key) in aggregate.group_expr.iter().enumerate() {
            let key = made_total(&describer, key.clone().unalias())?;
            let kind = match describer.kind(&key)? {
                DataType::Int32 | DataType::Int16 | DataType::Int8 => DataType::Int64,
                kind => kind,
            };
            let is_listed = below.possible.is_listed(&key, schema);
            candidate(place, &key, &key, is_listed);
            keys.push((key, kind));
        }
        for (index, written) in aggregate.aggr_expr.iter().enumerate() {
            let Some(argument) = constant_of(written) else { continue };
            let argument = made_total(&describer, argument.clone().unalias())?;
            candidate(aggregate.group_expr.len() + index, &argument, written, false);
        }
        let kinds = aggregate.schema.fields().iter().map(|field| field.data_type().clone()).collect();
        Ok(Self { below, keys, candidates, kinds })
    }

    /// The columns over one reading of a public table that are functions of keys, of those that are still there.
    fn determined(
        &self,
        read: usize,
        gone: &BTreeSet<usize>,
        (project, backend): (&Project, &Backend),
    ) -> Result<Vec<DeterminedColumn>> {
        let possible = &self.below.possible;
        let schema = self.below.plan.schema();
        let equal: Vec<Option<Expr>> = self.keys.iter().map(|(key, _)| possible.in_public(key, read, schema)).collect();
        let own: Vec<&PublicCandidate> = self.candidates.iter().filter(|one| one.read == read).collect();
        let Some((table, columns)) = possible.public_table(read) else { return Ok(Vec::new()) };
        let (mut values, mut places) = (Vec::new(), vec![None; self.keys.len()]);
        for (key, value) in equal.into_iter().enumerate() {
            places[key] = value.map(|value| {
                values.push(value);
                values.len() - 1
            });
        }
        let first = values.len();
        values.extend(own.iter().map(|one| one.value.clone()));
        let conditions = possible.public_conditions(read);
        let selection = PublicSelection { table: table.clone(), columns, conditions, values };
        let Some(rows) = selection.different(project, backend)? else { return Ok(Vec::new()) };
        let is_key = |one: &PublicCandidate| one.place < self.keys.len();
        let mut by: Vec<usize> =
            (0..self.keys.len()).filter(|key| places[*key].is_some() && !gone.contains(key)).collect();
        let mut found = Vec::new();
        let made = |one: &PublicCandidate, by: &[usize], rank: usize| {
            let keys: Vec<(usize, &DataType)> =
                by.iter().filter_map(|key| Some((places[*key]?, &self.keys[*key].1))).collect();
            let values = function_of(&rows, &keys, (first + rank, &self.kinds[one.place]), is_key(one))?;
            let (place, shown, table) = (one.place, one.shown.clone(), table.clone());
            Some(DeterminedColumn { place, read, shown, table, by: by.to_vec(), values: Arc::new(values) })
        };
        // Keys without declared values come first, beginning with the last: the keys that stay decide which groups
        // there are. In queries with one row for each owner, all inner keys stay among the outer ones: how many rows of
        // an owner are in a group must not depend on the table.
        let has_rows_of_owners = self.below.first.is_some();
        let mut ordered: Vec<(usize, &&PublicCandidate)> =
            own.iter().enumerate().filter(|(_, one)| is_key(one) && !has_rows_of_owners).collect();
        ordered.sort_by_key(|(_, one)| (one.is_listed, std::cmp::Reverse(one.place)));
        for (rank, one) in ordered {
            let others: Vec<usize> = by.iter().copied().filter(|key| *key != one.place).collect();
            if others.is_empty() {
                continue;
            }
            if let Some(column) = made(one, &others, rank) {
                found.push(column);
                by = others;
            }
        }
        // By the keys that are left, which the others are functions of.
        let keys = found.iter().map(|column: &DeterminedColumn| column.place).collect::<Vec<_>>();
        let all = own.iter().enumerate().filter(|(_, one)| !is_key(one) || keys.contains(&one.place));
        Ok(all.filter_map(|(rank, one)| made(one, &by, rank)).collect())
    }

    /// The plan without these columns below, and with functions of keys in their place above.
    fn without(
        &self,
        determined: &[DeterminedColumn],
        plan: &LogicalPlan,
        aggregate: &Aggregate,
    ) -> DataFusionResult<(LogicalPlan, Aggregate)> {
        let is_left = |place: usize| determined.iter().all(|one| one.place != place);
        let left = |all: &[Expr], from: usize| {
            let kept = all.iter().enumerate().filter(|(index, _)| is_left(from + index));
            kept.map(|(_, one)| one.clone()).collect::<Vec<Expr>>()
        };
        let keys = aggregate.group_expr.len();
        let (group, made) = (left(&aggregate.group_expr, 0), left(&aggregate.aggr_expr, keys));
        let inner = Aggregate::try_new(Arc::clone(&aggregate.input), group, made)?;
        let mut columns = inner.schema.columns().into_iter();
        let mut released: Vec<Option<Expr>> = Vec::new();
        for place in 0..aggregate.schema.fields().len() {
            released.push(if is_left(place) { columns.next().map(Expr::Column) } else { None });
        }
        let mut projected = Vec::new();
        for (place, (qualifier, field)) in aggregate.schema.iter().enumerate() {
            projected.push(match &released[place] {
                Some(column) => column.clone(),
                None => self.above(place, determined, &released)?.alias_qualified(qualifier.cloned(), field.name()),
            });
        }
        let whole = Projection::try_new(projected, Arc::new(LogicalPlan::Aggregate(inner.clone())))?;
        let whole = LogicalPlan::Projection(whole);
        let replaced = plan.clone().transform_down(|node| match node {
            LogicalPlan::Aggregate(_) => Ok(Transformed::new(whole.clone(), true, TreeNodeRecursion::Jump)),
            other => Ok(Transformed::no(other)),
        });
        Ok((replaced?.data, inner))
    }

    /// A column above the aggregate: what is released, or a function of that.
    fn above(
        &self,
        place: usize,
        determined: &[DeterminedColumn],
        released: &[Option<Expr>],
    ) -> DataFusionResult<Expr> {
        if let Some(column) = &released[place] {
            return Ok(column.clone());
        }
        let missing = || DataFusionError::Internal("a column of an aggregate is gone".to_string());
        let one = determined.iter().find(|one| one.place == place).ok_or_else(missing)?;
        // A key that is itself one came off later, and is a function of keys that were there then.
        let arguments = one.by.iter().map(|key| self.above(*key, determined, released));
        one.above(arguments.collect::<DataFusionResult<_>>()?, &self.keys, &self.kinds[place])
    }

    /// What is below with groups that have a row in the public tables, and no others.
    fn listed(&self, determined: &[DeterminedColumn], below: &DescribedPlan) -> DescribedPlan {
        let schema = below.plan.schema();
        let mut reads = BTreeSet::new();
        let one_of_each = determined.iter().filter(|one| !one.by.is_empty() && reads.insert(one.read));
        let has_row = |one: &DeterminedColumn| {
            let arguments = one.by.iter().map(|key| self.keys[*key].0.clone()).collect();
            Expr::IsTrue(Box::new(one.has_row(&self.keys).call(arguments)))
        };
        let conditions: Vec<Expr> = one_of_each.map(has_row).collect();
        let possible = below.possible.clone().filtered(&conditions, schema);
        DescribedPlan { possible, ..below.clone() }
    }

    fn notes(&self, determined: &[DeterminedColumn]) -> Vec<String> {
        let note = |one: &DeterminedColumn| {
            let keys: Vec<String> = one.by.iter().map(|key| shown(&self.keys[*key].0)).collect();
            let of = if keys.is_empty() { String::new() } else { format!(" for each {}", keys.join(", ")) };
            format!("{} is public: table '{}' has one value{of}. It is exact and costs nothing.", one.shown, one.table)
        };
        determined.iter().map(note).collect()
    }
}

/// The argument of an aggregate that is its argument's value where that is one value.
fn constant_of(written: &Expr) -> Option<&Expr> {
    let function = match written {
        Expr::Alias(alias) => return constant_of(&alias.expr),
        Expr::AggregateFunction(function) => function,
        _ => return None,
    };
    let statistic = SqlAggregate::named(function.func.name())?.statistic;
    let parameters = &function.params;
    let is_plain = parameters.filter.is_none() && parameters.order_by.is_empty() && parameters.null_treatment.is_none();
    let [argument] = parameters.args.as_slice() else { return None };
    let chooses = matches!(statistic, SqlStatistic::Least | SqlStatistic::Largest | SqlStatistic::Mean);
    (is_plain && chooses).then_some(argument)
}

/// What a value is for each of these keys, where each has one: keys and value by their places in a row, with the types
/// that they are brought to. Rows with a key that is NULL are in no group, and a key must not be NULL itself.
fn function_of(
    rows: &[Vec<ScalarValue>],
    keys: &[(usize, &DataType)],
    (value, kind): (usize, &DataType),
    is_key: bool,
) -> Option<HashMap<Vec<ScalarValue>, ScalarValue>> {
    let mut found = HashMap::new();
    for row in rows {
        let key = keys.iter().map(|(place, kind)| row[*place].cast_to(kind).ok()).collect::<Option<Vec<_>>>()?;
        if key.iter().any(ScalarValue::is_null) {
            continue;
        }
        let made = row[value].cast_to(kind).ok()?;
        if (is_key && made.is_null()) || made.is_null() != row[value].is_null() {
            return None;
        }
        if found.insert(key, made.clone()).is_some_and(|before| before != made) {
            return None;
        }
    }
    (!found.is_empty()).then_some(found)
}

impl DeterminedColumn {
    fn kinds(&self, keys: &[(Expr, DataType)]) -> Vec<DataType> {
        self.by.iter().map(|key| keys[*key].1.clone()).collect()
    }

    /// What it is above the aggregate.
    fn above(&self, arguments: Vec<Expr>, keys: &[(Expr, DataType)], kind: &DataType) -> DataFusionResult<Expr> {
        if self.by.is_empty() {
            let value = self.values.values().next().cloned();
            return Ok(Expr::Literal(value.unwrap_or(ScalarValue::try_from(kind)?), None));
        }
        let function =
            PublicFunction::of(self.kinds(keys), kind.clone(), PublicAnswer::Value(Arc::clone(&self.values)));
        Ok(function.call(arguments))
    }

    /// Whether its table has a row for these keys.
    fn has_row(&self, keys: &[(Expr, DataType)]) -> ScalarUDF {
        PublicFunction::of(self.kinds(keys), DataType::Boolean, PublicAnswer::HasRow(Arc::clone(&self.values)))
    }
}

/// What a public table says of some keys.
#[derive(PartialEq, Eq, Hash, Debug)]
struct PublicFunction {
    signature: Signature,
    /// The types of the keys, and of the result.
    keys: Vec<DataType>,
    kind: DataType,
    says: PublicAnswer,
}

/// The result for keys.
enum PublicAnswer {
    /// The value; NULL where there is no row.
    Value(Arc<HashMap<Vec<ScalarValue>, ScalarValue>>),
    /// Whether there is a row with these keys; true if a key is NULL, because then it is not known.
    HasRow(Arc<HashMap<Vec<ScalarValue>, ScalarValue>>),
}

impl PublicAnswer {
    fn values(&self) -> &Arc<HashMap<Vec<ScalarValue>, ScalarValue>> {
        match self {
            Self::Value(values) | Self::HasRow(values) => values,
        }
    }
}

impl PartialEq for PublicAnswer {
    fn eq(&self, other: &Self) -> bool {
        matches!(self, Self::Value(_)) == matches!(other, Self::Value(_)) && Arc::ptr_eq(self.values(), other.values())
    }
}

impl Eq for PublicAnswer {}

impl Hash for PublicAnswer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(self.values()).hash(state);
    }
}

impl fmt::Debug for PublicAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} public values", self.values().len())
    }
}

impl PublicFunction {
    fn of(keys: Vec<DataType>, kind: DataType, says: PublicAnswer) -> ScalarUDF {
        let signature = Signature::any(keys.len(), Volatility::Immutable);
        ScalarUDF::new_from_impl(Self { signature, keys, kind, says })
    }

    fn said(&self, key: &[ScalarValue]) -> DataFusionResult<ScalarValue> {
        Ok(match &self.says {
            PublicAnswer::Value(values) => match values.get(key) {
                Some(value) => value.clone(),
                None => ScalarValue::try_from(&self.kind)?,
            },
            PublicAnswer::HasRow(values) => {
                let has_row = key.iter().any(ScalarValue::is_null) || values.contains_key(key);
                ScalarValue::Boolean(Some(has_row))
            }
        })
    }
}

impl ScalarUDFImpl for PublicFunction {
    fn name(&self) -> &str {
        "scumble_public"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DataFusionResult<DataType> {
        Ok(self.kind.clone())
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let rows = arguments.number_rows;
        let keys = arguments.args.iter().zip(&self.keys);
        let columns = keys.map(|(column, kind)| Ok(cast(&column.to_array(rows)?, kind)?));
        let columns = columns.collect::<DataFusionResult<Vec<ArrayRef>>>()?;
        let key = |row: usize| columns.iter().map(move |column| ScalarValue::try_from_array(column, row));
        let said = (0..rows).map(|row| self.said(&key(row).collect::<DataFusionResult<Vec<_>>>()?));
        let said = said.collect::<DataFusionResult<Vec<ScalarValue>>>()?;
        if said.is_empty() {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from(&self.kind)?));
        }
        Ok(ColumnarValue::Array(ScalarValue::iter_to_array(said)?))
    }
}
