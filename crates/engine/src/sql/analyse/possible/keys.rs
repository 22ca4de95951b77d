//! Which keys can occur: tried out.
//!
//! A *variable* is something with few values: a declared column (a list, a short range, true or false; and NULL), or a
//! part of an expression that reads a column without end but has few values itself (a condition is true, false or NULL;
//! a whole number is within its bounds). Keys and conditions are expressions over variables. They are evaluated, as
//! they run, on all combinations of the variables that they read; keys that read the same variables are tried out
//! together. Conditions that would make too many combinations are left out, and keys that do are not tried together:
//! then some keys are listed that cannot occur.
//!
//! # Guarantee
//! Before: sources bring each column into its declared domain ([`crate::tables::functions::declared`]). After: every
//! key of every data is among those that are listed. Where all columns that are read have few values and no condition
//! was left out, each listed key occurs in some data. Both depend on the declarations and on the query alone.

use super::{PossibleRows, ValueDomain};
use crate::calendar::SECOND;
use crate::error::DataFusionResult;
use crate::sql::QuerySource;
use crate::sql::analyse::dates;
use crate::sql::analyse::describe::{Describer, ValueFacts};
use crate::sql::analyse::limits;
use crate::sql::analyse::query::{GroupKey, KeyPart};
use crate::tables::functions::MOMENT;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
    TimestampNanosecondArray, UInt64Array,
};
use datafusion::arrow::compute::{cast, filter_record_batch, take};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, DataFusionError, ScalarValue};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, ExprSchemable, Operator};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// The most combinations that are tried out for one answer.
const MOST_COMBINATIONS: u128 = 1 << 18;
/// The most operators that are evaluated for it, once per combination each.
const MOST_OPERATIONS: u128 = 1 << 24;
/// The most combinations that are tried out for one condition: a query may have thousands of these.
const MOST_TRIED: u128 = 1 << 12;
/// The most bytes of texts.
const MOST_BYTES: u128 = 1 << 28;
/// How many combinations are evaluated at a time.
pub(in crate::sql) const BATCH: u64 = 8192;
/// Numbers are listed up to this many; categories as they are declared.
const MOST_LISTED: usize = 10_000;

/// The keys that can occur.
pub(crate) struct OccurringKeys {
    /// The keys whose values can be listed.
    pub parts: Vec<KeyPart>,
    /// Whether there can be a row with a key at all.
    pub any: bool,
    /// For each key, whether there can be a row without it.
    pub can_be_missing: Vec<bool>,
}

impl PossibleRows {
    /// The keys that rows of this plan can have; `known` is what is known of each.
    pub fn keys(
        &self,
        keys: &[GroupKey],
        known: &[ValueFacts],
        schema: &DFSchema,
        source: &QuerySource<'_>,
    ) -> OccurringKeys {
        let listed = |index: usize| {
            let values = known[index].listed().filter(|_| keys[index].kind == DataType::Int64);
            values.map(|(low, high)| (low..=high).map(|value| vec![ScalarValue::Int64(Some(value))]).collect())
        };
        let by_bounds = |index: usize| Some(KeyPart::new(vec![index], listed(index)?));
        let Some(mut trial) = KeyVariables::new(self, source) else {
            let parts = (0..keys.len()).filter_map(by_bounds).collect();
            return OccurringKeys { parts, any: true, can_be_missing: vec![true; keys.len()] };
        };
        let over = |key: &GroupKey| self.over(&key.expression, schema);
        let tried: Vec<Option<Expr>> = keys.iter().map(|key| trial.tried(&over(key)?.expression)).collect();
        let conditions: Vec<Expr> =
            self.conditions.iter().filter_map(|condition| trial.tried(&condition.expression)).collect();
        let plan = VariableGrouping { trial: &trial, keys: &tried, conditions: &conditions, known };
        let mut occurring = OccurringKeys { parts: Vec::new(), any: true, can_be_missing: vec![true; keys.len()] };
        let mut missing: BTreeSet<usize> = (0..keys.len()).collect();
        for group in plan.groups() {
            let Ok((values, without)) = plan.occurring(&group, keys) else { continue };
            for (key, without) in group.keys.iter().zip(without) {
                occurring.can_be_missing[*key] = without;
            }
            occurring.any &= !values.is_empty();
            if group.keys.is_empty() || !plan.is_listed(&group, &values) {
                continue;
            }
            missing.retain(|key| !group.keys.contains(key));
            occurring.parts.push(KeyPart::new(group.keys, values));
        }
        occurring.parts.extend(missing.into_iter().filter_map(by_bounds));
        occurring
    }
}

impl PossibleRows {
    /// Whether a condition is true of no row of this plan; false where that cannot be tried out.
    pub fn never(&self, condition: &Expr, schema: &DFSchema, source: &QuerySource<'_>) -> bool {
        let Some(mut trial) = KeyVariables::new(self, source) else { return false };
        let over = self.over(condition, schema);
        let Some(tried) = over.and_then(|condition| trial.tried(&condition.expression)) else { return false };
        let variables = trial.variables_of(&tried);
        let group = VariableGroup { variables, keys: Vec::new(), conditions: vec![0] };
        let plan = VariableGrouping { trial: &trial, keys: &[], conditions: &[tried], known: &[] };
        let is_quick = plan.combinations(&group) <= MOST_TRIED && plan.is_small(&group);
        is_quick && plan.occurring(&group, &[]).is_ok_and(|(found, _)| found.is_empty())
    }
}

/// Something with few values.
struct Variable {
    name: String,
    kind: DataType,
    values: ValueDomain,
    /// Whether it can be NULL.
    missing: bool,
}

impl Variable {
    fn count(&self) -> u128 {
        let values = match &self.values {
            ValueDomain::Truth => 2,
            ValueDomain::Whole(low, high) => u128::from(high.abs_diff(*low)) + 1,
            ValueDomain::Texts(texts) => texts.len() as u128,
            ValueDomain::Days(first, last) => u128::from(last.abs_diff(*first)) + 1,
            ValueDomain::Starts { first, last, step } => u128::from(last.abs_diff(*first) / step.unsigned_abs()) + 1,
            ValueDomain::Clock(..) => u128::MAX - 1,
        };
        values + u128::from(self.missing)
    }

    fn bytes(&self) -> u128 {
        match &self.values {
            ValueDomain::Texts(texts) => texts.iter().map(String::len).max().unwrap_or(0) as u128,
            _ => 0,
        }
    }

    /// All values in their order, NULL last.
    fn array(&self) -> DataFusionResult<ArrayRef> {
        let null = self.missing.then_some(());
        let array: ArrayRef = match &self.values {
            ValueDomain::Truth => {
                let all = [Some(false), Some(true)].into_iter().chain(null.map(|()| None));
                Arc::new(all.collect::<BooleanArray>())
            }
            ValueDomain::Whole(low, high) => {
                Arc::new((*low..=*high).map(Some).chain(null.map(|()| None)).collect::<Int64Array>())
            }
            ValueDomain::Texts(texts) => {
                let all = texts.iter().map(|text| Some(text.as_str())).chain(null.map(|()| None));
                Arc::new(all.collect::<StringArray>())
            }
            ValueDomain::Days(first, last) => {
                let days = (*first..=*last).map(|day| i32::try_from(day).ok());
                Arc::new(days.chain(null.map(|()| None)).collect::<Date32Array>())
            }
            ValueDomain::Starts { first, last, step } => {
                let number = last.abs_diff(*first) / step.unsigned_abs();
                let starts = (0..=number).map(|index| Some(first + index as i64 * step));
                Arc::new(starts.chain(null.map(|()| None)).collect::<TimestampNanosecondArray>())
            }
            ValueDomain::Clock(..) => return Err(planned("times without end")),
        };
        Ok(cast(&array, &self.kind)?)
    }
}

/// The variables of some expressions.
struct KeyVariables<'a> {
    possible: &'a PossibleRows,
    /// All declared columns, and what is known of them.
    schema: DFSchema,
    known: Vec<ValueFacts>,
    source: &'a QuerySource<'a>,
    variables: Vec<Variable>,
    /// The variable that stands for an expression.
    places: HashMap<Expr, usize>,
}

impl<'a> KeyVariables<'a> {
    fn new(possible: &'a PossibleRows, source: &'a QuerySource<'a>) -> Option<Self> {
        let fields = possible.declared.iter().map(|column| Field::new(&column.name, column.kind.clone(), true));
        let schema = DFSchema::try_from(Schema::new(fields.collect::<Vec<_>>())).ok()?;
        let known = possible.declared.iter().map(|column| column.known.clone()).collect();
        Some(Self { possible, schema, known, source, variables: Vec::new(), places: HashMap::new() })
    }

    /// An expression over declared columns as one over variables; none where that cannot be.
    fn tried(&mut self, expression: &Expr) -> Option<Expr> {
        match expression {
            Expr::Literal(..) => return Some(expression.clone()),
            Expr::Column(column) => return self.column(expression, column),
            _ => {}
        }
        if let Some(tried) = self.by_unit(expression) {
            return Some(tried);
        }
        let mut whole = true;
        let inner = expression.clone().map_children(|child| {
            Ok(match self.tried(&child) {
                Some(tried) => Transformed::yes(tried),
                None => {
                    whole = false;
                    Transformed::no(child)
                }
            })
        });
        if whole { Some(inner.ok()?.data) } else { self.part(expression) }
    }

    fn column(&mut self, expression: &Expr, column: &Column) -> Option<Expr> {
        let declared = self.possible.declared.iter().find(|declared| declared.name == column.name)?;
        let (kind, missing) = (declared.kind.clone(), declared.missing);
        let values = declared.values.clone()?;
        let variable = Variable { name: declared.name.clone(), kind, values, missing };
        (variable.count() <= MOST_COMBINATIONS).then(|| self.place(expression, |_| variable))
    }

    /// An expression that reads a time only by the day, the hour or the minute that it is in, over those: of days all
    /// keys share one variable.
    fn by_unit(&mut self, expression: &Expr) -> Option<Expr> {
        let (column, step) = dates::read_by_unit(expression)?;
        let Expr::Column(Column { name, .. }) = column else { return None };
        let declared = self.possible.declared.iter().find(|declared| declared.name == *name)?;
        let Some(ValueDomain::Clock(low, high)) = declared.values else { return None };
        let step = step * SECOND;
        let start = |moment: i64| moment.div_euclid(step) * step;
        let values = ValueDomain::Starts { first: start(low), last: start(high), step };
        let (name, missing) = (format!("{name} by {step}"), declared.missing);
        let variable = Variable { name: name.clone(), kind: MOMENT, values, missing };
        if variable.count() > MOST_COMBINATIONS {
            return None;
        }
        let unit = Expr::Column(Column::new_unqualified(name));
        let placed = self.place(&unit, |_| variable);
        let replaced = expression.clone().transform_up(|node| {
            Ok(if node == *column { Transformed::yes(placed.clone()) } else { Transformed::no(node) })
        });
        replaced.ok().map(|replaced| replaced.data)
    }

    /// A part that reads what cannot be tried out, but has few values itself.
    fn part(&mut self, expression: &Expr) -> Option<Expr> {
        let kind = expression.get_type(&self.schema).ok()?;
        let values = match &kind {
            DataType::Boolean => ValueDomain::Truth,
            kind if kind.is_signed_integer() => {
                let describer = Describer { schema: &self.schema, columns: &self.known, source: self.source };
                let (low, high) = describer.expression(expression).ok()?.listed()?;
                ValueDomain::Whole(low, high)
            }
            _ => return None,
        };
        let missing = !is_never_null(expression);
        Some(self.place(expression, |number| Variable { name: format!("part {number}"), kind, values, missing }))
    }

    /// The variable that stands for an expression, as a column.
    fn place(&mut self, expression: &Expr, variable: impl FnOnce(usize) -> Variable) -> Expr {
        let index = match self.places.get(expression) {
            Some(index) => *index,
            None => {
                let index = self.variables.len();
                self.variables.push(variable(index));
                self.places.insert(expression.clone(), index);
                index
            }
        };
        Expr::Column(Column::new_unqualified(&self.variables[index].name))
    }

    fn variables_of(&self, expression: &Expr) -> BTreeSet<usize> {
        let names = expression.column_refs();
        let named = |variable: &Variable| names.iter().any(|column| column.name == variable.name);
        (0..self.variables.len()).filter(|index| named(&self.variables[*index])).collect()
    }
}

fn is_never_null(expression: &Expr) -> bool {
    match expression {
        Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNotFalse(_)
        | Expr::IsNotUnknown(_) => true,
        Expr::BinaryExpr(binary) => matches!(binary.op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom),
        _ => false,
    }
}

/// What is tried out together.
#[derive(Clone, Default)]
struct VariableGroup {
    variables: BTreeSet<usize>,
    keys: Vec<usize>,
    conditions: Vec<usize>,
}

/// How keys and conditions are put into groups.
struct VariableGrouping<'a> {
    trial: &'a KeyVariables<'a>,
    keys: &'a [Option<Expr>],
    conditions: &'a [Expr],
    known: &'a [ValueFacts],
}

impl VariableGrouping<'_> {
    /// Keys that share variables go together, and then with the conditions on these, as long as there are not too many
    /// combinations.
    fn groups(&self) -> Vec<VariableGroup> {
        let mut groups: Vec<VariableGroup> = Vec::new();
        for (index, key) in self.keys.iter().enumerate() {
            let Some(key) = key else { continue };
            let alone =
                VariableGroup { variables: self.trial.variables_of(key), keys: vec![index], conditions: Vec::new() };
            if self.is_small(&alone) && !self.join(&mut groups, alone.clone()) {
                groups.push(alone);
            }
        }
        let mut conditions: Vec<VariableGroup> = (0..self.conditions.len())
            .map(|index| VariableGroup {
                variables: self.trial.variables_of(&self.conditions[index]),
                keys: Vec::new(),
                conditions: vec![index],
            })
            .collect();
        // Those on the fewest variables first: they rule out the most for the least.
        conditions.sort_by_key(|condition| condition.variables.len());
        for condition in conditions.into_iter().filter(|condition| self.is_small(condition)) {
            if condition.variables.len() == 1 {
                // It costs nothing where its variable is tried out anyway.
                let on_it = |group: &&mut VariableGroup| group.variables.is_superset(&condition.variables);
                let with: Vec<_> = groups.iter_mut().filter(on_it).collect();
                if !with.is_empty() {
                    with.into_iter().for_each(|group| group.conditions.extend(&condition.conditions));
                    continue;
                }
            }
            self.join(&mut groups, condition);
        }
        groups
    }

    /// Joins a group to all that share variables with it; false if the whole would be too large.
    fn join(&self, groups: &mut Vec<VariableGroup>, mut one: VariableGroup) -> bool {
        let mut rest = Vec::new();
        for group in groups.iter() {
            if group.variables.is_disjoint(&one.variables) {
                rest.push(group.clone());
                continue;
            }
            one.variables.extend(&group.variables);
            one.keys.extend(&group.keys);
            one.conditions.extend(&group.conditions);
        }
        if !self.is_small(&one) {
            return false;
        }
        one.keys.sort_unstable();
        rest.push(one);
        *groups = rest;
        true
    }

    fn expressions(&self, group: &VariableGroup) -> (Vec<&Expr>, Vec<&Expr>) {
        let keys = group.keys.iter().filter_map(|index| self.keys[*index].as_ref());
        (keys.collect(), group.conditions.iter().map(|index| &self.conditions[*index]).collect())
    }

    fn combinations(&self, group: &VariableGroup) -> u128 {
        let counts = group.variables.iter().map(|index| self.trial.variables[*index].count());
        counts.fold(1, u128::saturating_mul)
    }

    fn is_small(&self, group: &VariableGroup) -> bool {
        let combinations = self.combinations(group);
        let (keys, conditions) = self.expressions(group);
        let operators = keys.into_iter().chain(conditions).map(|one| limits::size(one, |_| 1) as u128);
        let bytes = group.variables.iter().map(|index| self.trial.variables[*index].bytes());
        let bytes = bytes.chain(group.keys.iter().map(|index| u128::from(self.known[*index].bytes))).sum::<u128>();
        combinations <= MOST_COMBINATIONS
            && combinations.saturating_mul(operators.sum()) <= MOST_OPERATIONS
            && combinations.saturating_mul(bytes) <= MOST_BYTES
    }

    /// Whether the values are few enough to be listed: categories are as many as they were declared.
    fn is_listed(&self, group: &VariableGroup, values: &[Vec<ScalarValue>]) -> bool {
        let declared =
            |index: &usize| matches!(self.trial.variables[*index].values, ValueDomain::Truth | ValueDomain::Texts(_));
        let different = |place: usize| values.iter().map(|value| &value[place]).collect::<HashSet<_>>().len();
        group.variables.iter().all(declared) || (0..group.keys.len()).all(|place| different(place) <= MOST_LISTED)
    }

    /// The keys of a group that occur, each once, and which can be NULL; one key without values if the group has none
    /// and its conditions can be true.
    fn occurring(
        &self,
        group: &VariableGroup,
        keys: &[GroupKey],
    ) -> DataFusionResult<(Vec<Vec<ScalarValue>>, Vec<bool>)> {
        let tried: Vec<&Variable> = group.variables.iter().map(|index| &self.trial.variables[*index]).collect();
        let fields = tried.iter().map(|variable| Field::new(&variable.name, variable.kind.clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let planner = Planner::new(&schema)?;
        let (made, conditions) = self.expressions(group);
        let conditions =
            conditions.into_iter().map(|one| planner.physical(one)).collect::<DataFusionResult<Vec<_>>>()?;
        let made = made.into_iter().map(|one| planner.physical(one)).collect::<DataFusionResult<Vec<_>>>()?;
        let values = tried.iter().map(|variable| variable.array()).collect::<DataFusionResult<Vec<_>>>()?;
        let (mut seen, mut found, mut without) = (HashSet::new(), Vec::new(), vec![false; group.keys.len()]);
        let all = u64::try_from(self.combinations(group)).map_err(|_| planned("too many combinations"))?;
        for first in (0..all).step_by(BATCH as usize) {
            let batch = batch(&schema, &values, first..all.min(first + BATCH))?;
            let batch = conditions.iter().try_fold(batch, |batch, condition| kept(&batch, condition))?;
            if made.is_empty() && batch.num_rows() > 0 {
                return Ok((vec![Vec::new()], without));
            }
            let columns = made.iter().map(|key| key.evaluate(&batch)?.into_array(batch.num_rows()));
            let columns = columns.collect::<DataFusionResult<Vec<ArrayRef>>>()?;
            if columns.iter().zip(&group.keys).any(|(column, key)| *column.data_type() != keys[*key].kind) {
                return Err(planned("a key of another type"));
            }
            for (without, column) in without.iter_mut().zip(&columns) {
                *without |= column.null_count() > 0;
            }
            for row in 0..batch.num_rows() {
                // A row without a key is left out.
                if columns.iter().any(|column| column.is_null(row)) {
                    continue;
                }
                let key = columns.iter().map(|column| ScalarValue::try_from_array(column, row));
                let key = key.collect::<DataFusionResult<Vec<ScalarValue>>>()?;
                if seen.insert(key.clone()) {
                    found.push(key);
                }
            }
        }
        Ok((found, without))
    }
}

/// Makes expressions ready to run, as the backend's optimiser and planner do.
pub(in crate::sql) struct Planner {
    schema: Arc<DFSchema>,
    simplifier: ExprSimplifier,
}

impl Planner {
    pub fn new(schema: &Arc<Schema>) -> DataFusionResult<Self> {
        let schema = Arc::new(DFSchema::try_from(schema.as_ref().clone())?);
        let context = SimplifyContext::builder().with_schema(Arc::clone(&schema)).build();
        Ok(Self { schema, simplifier: ExprSimplifier::new(context) })
    }

    pub fn physical(&self, expression: &Expr) -> DataFusionResult<Arc<dyn PhysicalExpr>> {
        let simple = self.simplifier.simplify(expression.clone())?;
        let (properties, context) = (ExecutionProps::new(), PhysicalPlanningContext::default());
        create_physical_expr(&simple, &self.schema, &properties, &context)
    }
}

/// Some of all combinations: the last variable changes fastest.
pub(in crate::sql) fn batch(
    schema: &Arc<Schema>,
    values: &[ArrayRef],
    rows: std::ops::Range<u64>,
) -> DataFusionResult<RecordBatch> {
    let mut columns = Vec::new();
    let mut stride = 1;
    for values in values.iter().rev() {
        let count = values.len() as u64;
        let places: UInt64Array = rows.clone().map(|row| row / stride % count).collect::<Vec<u64>>().into();
        columns.push(take(values, &places, None)?);
        stride *= count;
    }
    columns.reverse();
    let options = RecordBatchOptions::new().with_row_count(Some((rows.end - rows.start) as usize));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// The combinations that fulfil a condition.
fn kept(batch: &RecordBatch, condition: &Arc<dyn PhysicalExpr>) -> DataFusionResult<RecordBatch> {
    let is_true = condition.evaluate(batch)?.into_array(batch.num_rows())?;
    let is_true = is_true.as_boolean_opt().ok_or_else(|| planned("a condition of another type"))?;
    Ok(filter_record_batch(batch, is_true)?)
}

fn planned(what: &str) -> DataFusionError {
    DataFusionError::Plan(what.to_string())
}
