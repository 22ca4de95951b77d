//! A published answer as charts need it: keys, and quantities with their intervals.

use super::plate::{AxisWords, ChartNumber};
use super::words::ChartWords;
use crate::calendar::{self, DAY, SECOND};
use crate::project::Zone;
use crate::release::output::{AnswerColumn, Answers, Cell, ColumnRole};
use std::collections::{BTreeMap, HashSet};

/// What is drawn of an answer.
pub(super) struct ChartTable {
    pub keys: Vec<TableKey>,
    /// The one that was asked for comes first.
    pub quantities: Vec<Quantity>,
    pub rows: usize,
}

/// A column by which rows are grouped.
pub(super) struct TableKey {
    pub label: String,
    /// Nothing where a row is of all its values.
    pub cells: Vec<Option<String>>,
    /// Where its values stand on an axis, if they are numbers, dates or times.
    pub positions: Option<Vec<f64>>,
    pub is_time: bool,
}

/// Numbers that are drawn together: those of one column, or several quantiles of one.
pub(super) struct Quantity {
    /// Its name in a sentence.
    pub label: String,
    pub axis: AxisWords,
    pub unit: Option<String>,
    /// Whether it is counted or summed, so that it is drawn from zero.
    pub is_amount: bool,
    /// Whether a query has computed it from other numbers.
    pub is_derived: bool,
    /// The column whose values these are.
    pub of: Option<String>,
    /// The column whose quantiles these are.
    quantiles_of: Option<String>,
    pub series: Vec<QuantitySeries>,
}

pub(super) struct QuantitySeries {
    pub name: String,
    /// Of quantiles, which.
    share: f64,
    pub numbers: Vec<Option<ChartNumber>>,
}

impl ChartTable {
    /// What can be drawn of an answer; nothing if there are no numbers, or fewer than two.
    pub fn of(answers: &Answers, words: &ChartWords<'_>) -> Option<Self> {
        let roles = roles(answers);
        let rows = answers.rows();
        let with_role = |column: &'_ AnswerColumn| roles.get(column.name.as_str()).cloned();
        let mut table = Self { keys: Vec::new(), quantities: Vec::new(), rows };
        for column in &answers.columns {
            match with_role(column) {
                Some(ColumnRole::Key) => table.keys.push(TableKey::of(column, words)),
                Some(role) => table.add(answers, column, &role, words),
                None => {}
            }
        }
        table.quantities.retain(Quantity::is_drawable);
        if let Some(asked) = table.quantities.iter().position(|quantity| quantity.is_derived) {
            let first = table.quantities.remove(asked);
            table.quantities.insert(0, first);
        }
        table.drop_described_keys();
        let numbers: usize = table.quantities.iter().map(|quantity| quantity.count()).sum();
        (numbers > 1).then_some(table)
    }

    fn add(&mut self, answers: &Answers, column: &AnswerColumn, role: &ColumnRole, words: &ChartWords<'_>) {
        let (numbers, is_time) = numbers(answers, column);
        let unit = words.unit(role.of());
        let quantile = match role {
            ColumnRole::Quantile { of, share } => Some((of, *share)),
            _ => None,
        };
        let label = words.label(&column.name);
        let share = quantile.map_or(f64::NAN, |(_, share)| share);
        let series = QuantitySeries { name: quantile.map_or(String::new(), |_| share_name(share)), share, numbers };
        // Several quantiles of one column are one quantity.
        let ours = quantile.map(|(of, _)| words.label(of));
        if let Some(known) =
            self.quantities.iter_mut().find(|one| ours.is_some() && one.quantiles_of.as_ref() == ours.as_ref())
        {
            known.label = ours.clone().unwrap_or_default();
            known.axis.label = with_unit(&known.label, unit.as_deref());
            known.series.push(series);
            known.series.sort_by(|left, right| left.share.total_cmp(&right.share));
            return;
        }
        self.quantities.push(Quantity {
            axis: AxisWords { label: with_unit(&label, unit.as_deref()), is_time },
            unit,
            label,
            is_amount: matches!(role, ColumnRole::Amount { .. }),
            is_derived: matches!(role, ColumnRole::Derived),
            of: role.of().map(str::to_string),
            quantiles_of: ours,
            series: vec![series],
        });
    }

    /// A number that is known for each group, as how many live in a city, describes groups and makes none.
    fn drop_described_keys(&mut self) {
        let identifies = |keys: &[&TableKey]| {
            let mut seen = HashSet::new();
            (0..self.rows).all(|row| seen.insert(keys.iter().map(|key| &key.cells[row]).collect::<Vec<_>>()))
        };
        let describes = |place: usize| {
            let others: Vec<&TableKey> =
                self.keys.iter().enumerate().filter(|(index, _)| *index != place).map(|(_, key)| key).collect();
            let key = &self.keys[place];
            self.rows > 3 && !others.is_empty() && !key.is_time && key.positions.is_some() && identifies(&others)
        };
        if let Some(place) = (0..self.keys.len()).rev().find(|place| describes(*place)) {
            self.keys.remove(place);
            self.drop_described_keys();
        }
    }
}

impl TableKey {
    fn of(column: &AnswerColumn, words: &ChartWords<'_>) -> Self {
        let cells: Vec<Option<String>> = column.cells.iter().map(written).collect();
        let times: Option<Vec<f64>> = column.cells.iter().map(|cell| or_gap(cell, day)).collect();
        let times = times.filter(|times| times.iter().any(|time| time.is_finite()));
        let is_time = times.is_some();
        let whole: Option<Vec<f64>> = column.cells.iter().map(|cell| or_gap(cell, Cell::number)).collect();
        let positions = times.or_else(|| whole.filter(|list| list.iter().any(|number| number.is_finite())));
        Self { label: words.label(&column.name), cells, positions, is_time }
    }

    /// Its different values among some rows, in the order of an axis or else of the rows.
    pub fn values(&self, rows: &[usize]) -> Vec<String> {
        let mut sorted = rows.to_vec();
        if let Some(positions) = &self.positions {
            sorted.sort_by(|left, right| positions[*left].total_cmp(&positions[*right]));
        }
        let mut seen = HashSet::new();
        let cells = sorted.iter().filter_map(|row| self.cells[*row].clone());
        cells.filter(|cell| seen.insert(cell.clone())).collect()
    }
}

impl Quantity {
    /// Whether two quantities count or measure the same.
    pub fn is_like(&self, other: &Self) -> bool {
        let what = |one: &Self| (one.unit.clone(), one.of.clone(), one.is_amount, one.is_derived, one.axis.is_time);
        what(self) == what(other)
    }

    /// Whether any of its numbers is one.
    fn is_drawable(&self) -> bool {
        self.count() > 0
    }

    fn count(&self) -> usize {
        self.series.iter().map(|series| series.numbers.iter().flatten().count()).sum()
    }

    pub fn has_intervals(&self) -> bool {
        self.series.iter().any(|series| series.numbers.iter().flatten().any(|one| one.ends.is_some()))
    }
}

fn or_gap(cell: &Cell, read: impl Fn(&Cell) -> Option<f64>) -> Option<f64> {
    if *cell == Cell::Null { Some(f64::NAN) } else { read(cell) }
}

/// A key as it is written below a bar: a number of a street is no amount.
fn written(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Null => None,
        Cell::Truth(truth) => Some(if *truth { "yes" } else { "no" }.to_string()),
        Cell::Text(text) => {
            let midnight = text.strip_suffix("T00:00:00").filter(|day| calendar::day(day).is_some());
            Some(midnight.map_or_else(|| cell.text(), str::to_string))
        }
        other => Some(other.text()),
    }
}

/// A date or a time as days since 1970-01-01.
fn day(cell: &Cell) -> Option<f64> {
    let Cell::Text(text) = cell else { return None };
    let moment = calendar::moment(text, Zone::default())?;
    Some(moment as f64 / (DAY * SECOND) as f64)
}

/// The numbers of a column with their intervals, and whether they are dates or times.
fn numbers(answers: &Answers, column: &AnswerColumn) -> (Vec<Option<ChartNumber>>, bool) {
    let drawn = answers.details.drawn.as_ref().filter(|drawn| drawn.column == column.name);
    let beside = drawn.and_then(|drawn| {
        let [low, high] = drawn.ends.as_ref()?;
        let find = |name: &String| answers.columns.iter().find(|column| column.name == *name);
        Some((find(low)?, find(high)?))
    });
    let ends = |row: usize| match (&column.uncertainty, beside) {
        (Some(list), _) => Some((list[row].low, list[row].high)),
        (None, Some((low, high))) => low.cells[row].number().zip(high.cells[row].number()),
        _ => None,
    };
    let is_time = column.cells.iter().any(|cell| day(cell).is_some());
    let value = |cell: &Cell| if is_time { day(cell) } else { cell.number() };
    let one = |(row, cell): (usize, &Cell)| {
        let value = value(cell).filter(|value| value.is_finite())?;
        Some(ChartNumber { value, ends: ends(row).filter(|(low, high)| !low.is_nan() && !high.is_nan()) })
    };
    (column.cells.iter().enumerate().map(one).collect(), is_time)
}

/// What the columns are: what the answer says, or else what stands before the first noisy column is a key.
fn roles(answers: &Answers) -> BTreeMap<&str, ColumnRole> {
    if !answers.details.roles.is_empty() {
        let roles = answers.details.roles.iter();
        return roles.map(|(name, role)| (name.as_str(), role.clone())).collect();
    }
    let amount = ColumnRole::Amount { of: None };
    if let Some(drawn) = &answers.details.drawn {
        return [(drawn.label.as_str(), ColumnRole::Key), (drawn.column.as_str(), amount)].into();
    }
    let noisy = |column: &&AnswerColumn| column.uncertainty.is_some();
    let keys = answers.columns.iter().take_while(|column| !noisy(column));
    let numbers = answers.columns.iter().filter(noisy).map(|column| (column.name.as_str(), amount.clone()));
    let numbers: Vec<_> = numbers.collect();
    if numbers.is_empty() {
        return BTreeMap::new();
    }
    keys.map(|column| (column.name.as_str(), ColumnRole::Key)).chain(numbers).collect()
}

fn share_name(share: f64) -> String {
    if share == 0.5 { "median".to_string() } else { format!("{}%", (share * 1e6).round() / 1e4) }
}

/// A label with its unit in brackets, unless it says that itself.
fn with_unit(label: &str, unit: Option<&str>) -> String {
    match unit {
        Some(unit) if !label.to_lowercase().contains(&unit.to_lowercase()) => format!("{label} ({unit})"),
        _ => label.to_string(),
    }
}
