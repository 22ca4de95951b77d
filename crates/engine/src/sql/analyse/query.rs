//! What a query asks for: keys, integer sums of known bounds, quantiles, and how its aggregates are computed from them.

use super::describe::shown;
use crate::error::Result;
use crate::sql::analyse::pair::Pair;
use crate::tables::bounding::Bounds;
use crate::tables::functions::Grid;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, cast};
use scumble::mechanism::quantile::{self, Quantile};
use scumble::quantity::{Epsilon, Probability};
use scumble::scope::Scope;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// What a query asks for.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    /// The GROUP BY expressions.
    pub keys: Vec<GroupKey>,
    /// All keys that can occur, if that is public.
    pub public: Option<PublicKeys>,
    /// The integer sums that are needed, each once.
    pub measures: Vec<Measure>,
    /// The columns whose values are ranked for quantiles, each once.
    pub ranked: Vec<RankedColumn>,
    /// The quantiles that are needed, each once.
    pub quantiles: Vec<ColumnQuantile>,
    /// How each aggregate of the query is computed from the measures and the quantiles.
    pub aggregates: Vec<Computation>,
    /// How much of an owner counts; none where each row is one person.
    pub bounds: Option<Bounds>,
    /// The attributes that decide which rows there are.
    pub rows: BTreeSet<String>,
    /// The attributes of the keys.
    pub key_attributes: BTreeSet<String>,
}

/// One GROUP BY expression.
#[derive(Debug, Clone)]
pub(crate) struct GroupKey {
    /// As a reader would write it.
    pub name: String,
    pub expression: Expr,
    /// The type of the expression as it runs, and of each key that is published: a text, a whole number of 64 bits, a
    /// date, a time or a truth value.
    pub kind: DataType,
    /// All values that can occur, if that is public, each once.
    pub domain: Option<Vec<ScalarValue>>,
    /// Whether a row can be without it: then that row is in no group.
    pub can_be_missing: bool,
}

impl GroupKey {
    /// As it stands in a query.
    pub fn written(&self) -> String {
        match &self.expression {
            Expr::Column(_) => self.name.clone(),
            other => shown(other),
        }
    }
}

/// All keys that can occur.
#[derive(Debug, Clone)]
pub(crate) struct PublicKeys(Arc<[KeyPart]>);

/// What can occur in some of the columns of a key, whatever is in the others.
#[derive(Debug, Clone)]
pub(crate) struct KeyPart {
    /// The columns, by index, ascending.
    keys: Vec<usize>,
    /// The values of each, in order.
    domains: Vec<Vec<ScalarValue>>,
    /// Their values together, each combination once.
    together: Vec<Vec<ScalarValue>>,
}

impl KeyPart {
    /// What occurs in these columns, each combination once. Numbers and truth values are put in order, texts stay in
    /// that of the list.
    pub fn new(keys: Vec<usize>, together: Vec<Vec<ScalarValue>>) -> Self {
        let domain = |place: usize| {
            let mut seen = HashSet::new();
            let mut values: Vec<&ScalarValue> =
                together.iter().map(|values| &values[place]).filter(|value| seen.insert(*value)).collect();
            if values.first().is_some_and(|value| value.data_type() != DataType::Utf8) {
                values.sort_by(|left, right| left.partial_cmp(right).unwrap_or(Ordering::Equal));
            }
            values.into_iter().cloned().collect()
        };
        Self { domains: (0..keys.len()).map(domain).collect(), keys, together }
    }

    /// The columns, by index, each with its values.
    pub fn domains(&self) -> impl Iterator<Item = (usize, &Vec<ScalarValue>)> {
        self.keys.iter().copied().zip(&self.domains)
    }
}

impl PublicKeys {
    /// The keys of `count` columns; none where a column is in no part.
    pub fn new(parts: Vec<KeyPart>, count: usize) -> Option<Self> {
        let listed = |key: usize| parts.iter().any(|part| part.keys.contains(&key));
        (0..count).all(listed).then(|| Self(parts.into()))
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        let sizes = self.0.iter().map(|part| part.together.len() as u128);
        u64::try_from(sizes.fold(1, u128::saturating_mul)).unwrap_or(u64::MAX)
    }

    /// All of them, by the first column, then by the second, and so on.
    pub fn all(&self) -> Vec<Vec<ScalarValue>> {
        let columns = self.0.iter().map(|part| part.keys.len()).sum();
        let mut all = vec![vec![(0, ScalarValue::Null); columns]];
        for part in self.0.iter() {
            let ranked = |domain: &Vec<ScalarValue>| domain.iter().cloned().zip(0..).collect();
            let ranks: Vec<HashMap<ScalarValue, usize>> = part.domains.iter().map(ranked).collect();
            let with = |cell: &[(usize, ScalarValue)], values: &[ScalarValue]| {
                let mut cell = cell.to_vec();
                for ((key, value), ranks) in part.keys.iter().zip(values).zip(&ranks) {
                    cell[*key] = (ranks[value], value.clone());
                }
                cell
            };
            all = all.iter().flat_map(|cell| part.together.iter().map(|values| with(cell, values))).collect();
        }
        all.sort_by(|left, right| left.iter().map(|(rank, _)| rank).cmp(right.iter().map(|(rank, _)| rank)));
        all.into_iter().map(|cell| cell.into_iter().map(|(_, value)| value).collect()).collect()
    }
}

/// A sum over kept rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measure {
    pub what: Summand,
    /// What is summed; none for rows and owners.
    pub expression: Option<Expr>,
    /// The attributes that the summed values depend on.
    pub attributes: BTreeSet<String>,
    /// The least and the largest contribution of a row, in steps.
    pub range: (i64, i64),
}

/// A column of values on a finite grid whose quantiles are asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RankedColumn {
    pub expression: Expr,
    /// The attributes that the values depend on.
    pub attributes: BTreeSet<String>,
    pub grid: Grid,
}

/// A quantile of a ranked column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnQuantile {
    /// The ranked column, by index.
    pub ranked: usize,
    pub rank: Rank,
}

/// Which value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rank {
    Least,
    Largest,
    /// The value that this fraction of all values is at most.
    Fraction(Probability),
}

/// What is summed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Summand {
    /// 1 for each owner.
    Owners,
    /// 1 for each row.
    Rows,
    /// 1 for each row with a value.
    Present,
    /// 1 for each different value.
    Different,
    /// The value in steps of a grid, minus a centre.
    Steps { grid: Grid, centre: i64 },
    /// The square of the value in steps of a grid, minus a centre.
    Squares { grid: Grid, centre: i64 },
}

/// How an aggregate is computed from released measures (indices).
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Computation {
    /// The measure itself.
    Count(usize),
    /// steps · grid.
    Sum { steps: usize, step: f64 },
    /// Mean, from centred steps and how many there are.
    Mean { steps: usize, count: usize, grid: Grid, centre: i64 },
    /// Variance or its root, of the sample or of the population.
    Spread { steps: usize, squares: usize, count: usize, grid: Grid, sample: bool, root: bool },
    /// What two columns have in common.
    Pair(Pair),
    /// The quantile itself (an index among the quantiles).
    Quantile(usize),
}

impl Rank {
    /// A fraction; the ends are looked for in their own way.
    pub fn of(fraction: Probability) -> Self {
        match fraction.get() {
            0.0 => Self::Least,
            1.0 => Self::Largest,
            _ => Self::Fraction(fraction),
        }
    }

    /// The mechanism that finds it among keys 0, …, last.
    pub fn mechanism(self, last: u128, epsilon: Epsilon) -> Result<Quantile> {
        Ok(match self {
            Self::Least => Quantile::least(last, epsilon)?,
            Self::Largest => Quantile::largest(last, epsilon)?,
            Self::Fraction(fraction) => Quantile::new(last, fraction, epsilon)?,
        })
    }

    /// How much further the ranks move when a value is replaced than when it is added or removed.
    pub fn replaced(self) -> Result<f64> {
        let events = self.mechanism(1, Epsilon::new(1.0)?)?.events()?;
        let shifts = events.iter().flat_map(|event| event.moves().shifts(&Scope::Person));
        Ok(shifts.map(|shift| shift.by.get()).fold(1.0, f64::max))
    }
}

impl Measure {
    /// The expression as a column of whole numbers; NULL counts as nothing.
    pub fn column(&self) -> Option<Expr> {
        let expression = self.expression.clone()?;
        Some(match self.what {
            Summand::Steps { grid, centre } => grid.units(cast(expression, DataType::Float64), centre, false),
            Summand::Squares { grid, centre } => grid.units(cast(expression, DataType::Float64), centre, true),
            _ => expression,
        })
    }
}

impl RankedColumn {
    /// The key of the mechanism for the largest value; the least one has the key 0.
    pub fn last_key(&self) -> u128 {
        u128::from(self.grid.steps(self.grid.upper).abs_diff(self.grid.steps(self.grid.lower)))
    }

    /// The key of a value in steps.
    pub fn key(&self, steps: i64) -> u128 {
        quantile::key(steps, self.grid.steps(self.grid.lower))
    }

    /// The value of a key, within the bounds.
    pub fn value(&self, key: u128) -> f64 {
        self.grid.value(quantile::value(key, self.grid.steps(self.grid.lower)))
    }

    /// The values in steps, as a column of whole numbers.
    pub fn column(&self) -> Expr {
        self.grid.units(cast(self.expression.clone(), DataType::Float64), 0, false)
    }
}

impl Query {
    /// How many cells there are, if that is public.
    pub fn cells(&self) -> Option<u64> {
        self.public.as_ref().map(PublicKeys::count)
    }

    /// The measure that key selection looks at.
    pub fn owners(&self) -> Option<usize> {
        self.measures.iter().position(|measure| measure.what == Summand::Owners)
    }
}
