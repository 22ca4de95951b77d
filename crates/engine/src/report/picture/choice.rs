//! Which picture shows a table. Nothing is left out without a sentence that says so.
//!
//! | keys | picture |
//! |---|---|
//! | none | dots, where several numbers have one unit |
//! | a date, a time, or more than twelve numbers | lines with bands |
//! | one of another kind | bars from zero (amounts), dots with intervals (means), boxes (three quantiles or more) |
//! | two | lines, groups of bars or dots, or a coloured table |
//! | three | a coloured table |
//! | more | the largest combinations |

use super::plate::{
    AxisWords, CategoryPanel, CategoryRow, ChartNumber, HeatPanel, LinePanel, LineSeries, Panel, PanelForm, PanelStyle,
    Plate, PlateWords,
};
use super::table::{ChartTable, Quantity, QuantitySeries, TableKey};
use std::collections::HashMap;

/// Categories of one chart, and rows of a coloured table.
const MOST_ROWS: usize = 30;
/// Columns of a coloured table.
const MOST_COLUMNS: usize = 12;
/// Series whose bands or bars can be distinguished in one chart.
const MOST_SERIES: usize = 4;
/// Small charts of one picture.
const MOST_PANELS: usize = 12;
/// More numbers than this in a row are a curve.
const FEW_NUMBERS: usize = 12;

/// The picture of a table whose answer has so many rows; none where there is nothing to compare.
pub(super) fn choose(table: &ChartTable, published: usize) -> Option<Plate> {
    let groups = KeyGroups::of(table);
    let mut notes = Vec::new();
    if published > table.rows {
        notes.push(format!("Of {published} rows, the first {} are drawn.", table.rows));
    }
    if table.keys.is_empty() {
        let panels = without_keys(table);
        return plate(panels, notes);
    }
    let mut panels = Vec::new();
    for quantity in &table.quantities {
        for (keys, rows) in groups.main() {
            panels.extend(QuantityChart { table, quantity, groups: &groups }.panels(keys, rows));
        }
    }
    for quantity in &table.quantities {
        let drawing = QuantityChart { table, quantity, groups: &groups };
        for (keys, rows) in groups.totals().filter(|(keys, _)| !keys.is_empty()) {
            if !drawing.draws_totals() {
                panels.extend(drawing.panels(keys, rows));
            }
        }
        notes.extend(drawing.grand_total());
    }
    plate(panels, notes)
}

/// The first panel large, unless it is one of several that belong together.
fn plate(mut panels: Vec<Panel>, mut notes: Vec<String>) -> Option<Plate> {
    let first = panels.first()?;
    let together = panels.iter().filter(|panel| panel.subtitle == first.subtitle).count() > 1;
    let mut words = PlateWords { subtitle: first.subtitle.clone(), ..PlateWords::default() };
    let big = (!together).then(|| panels.remove(0));
    if let Some(more) = panels.len().checked_sub(MOST_PANELS).filter(|more| *more > 0) {
        notes.push(format!("{more} further charts are not drawn; the table has their numbers."));
        panels.truncate(MOST_PANELS);
    }
    words.notes = notes;
    if together {
        panels.iter_mut().filter(|panel| panel.subtitle == words.subtitle).for_each(|panel| panel.subtitle.clear());
    }
    Some(Plate { words, big, small: panels })
}

/// The rows of a table by the keys that they have: those of totals lack some.
struct KeyGroups {
    all: Vec<(Vec<usize>, Vec<usize>)>,
}

impl KeyGroups {
    fn of(table: &ChartTable) -> Self {
        let mut all: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        for row in 0..table.rows {
            let keys: Vec<usize> = (0..table.keys.len()).filter(|key| table.keys[*key].cells[row].is_some()).collect();
            match all.iter_mut().find(|(known, _)| *known == keys) {
                Some((_, rows)) => rows.push(row),
                None => all.push((keys, vec![row])),
            }
        }
        all.sort_by_key(|(keys, _)| std::cmp::Reverse(keys.len()));
        Self { all }
    }

    /// Those that are no totals of others.
    fn main(&self) -> impl Iterator<Item = (&[usize], &[usize])> {
        self.parts().filter(|(keys, _)| !self.is_total(keys))
    }

    fn totals(&self) -> impl Iterator<Item = (&[usize], &[usize])> {
        self.parts().filter(|(keys, _)| self.is_total(keys))
    }

    fn parts(&self) -> impl Iterator<Item = (&[usize], &[usize])> {
        self.all.iter().map(|(keys, rows)| (&keys[..], &rows[..]))
    }

    fn is_total(&self, keys: &[usize]) -> bool {
        self.all.iter().any(|(other, _)| other.len() > keys.len() && keys.iter().all(|key| other.contains(key)))
    }

    /// The row of everybody, where it is a total.
    fn whole(&self) -> Option<usize> {
        self.totals().find(|(keys, _)| keys.is_empty()).and_then(|(_, rows)| rows.first().copied())
    }

    /// The row of a total over all keys but this one.
    fn total_of(&self, table: &ChartTable, key: usize, value: &str) -> Option<usize> {
        let (_, rows) = self.totals().find(|(keys, _)| *keys == [key])?;
        rows.iter().copied().find(|row| table.keys[key].cells[*row].as_deref() == Some(value))
    }
}

/// Numbers of one row without groups: those that count or measure the same beside each other.
fn without_keys(table: &ChartTable) -> Vec<Panel> {
    let mut panels: Vec<(&Quantity, Vec<CategoryRow>)> = Vec::new();
    for quantity in table.quantities.iter().filter(|_| table.rows == 1) {
        let row = |series: &QuantitySeries| {
            let name = if quantity.series.len() == 1 { &quantity.label } else { &series.name };
            CategoryRow { name: name.clone(), numbers: vec![series.numbers[0]], apart: false }
        };
        let rows = quantity.series.iter().map(row);
        match panels.iter_mut().find(|(known, _)| quantity.is_like(known)) {
            Some((_, known)) => known.extend(rows),
            None => panels.push((quantity, rows.collect())),
        }
    }
    let panel = |(quantity, rows): (&Quantity, Vec<CategoryRow>)| {
        let subtitle = rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>().join(", ");
        let axis = AxisWords { label: quantity.unit.clone().unwrap_or_default(), ..quantity.axis.clone() };
        let panel = CategoryPanel { style: PanelStyle::Dots, axis, by: String::new(), series: Vec::new(), rows };
        Panel { subtitle, ..Panel::of(PanelForm::Categories(panel)) }
    };
    panels.into_iter().filter(|(_, rows)| rows.len() > 1).map(panel).collect()
}

/// A quantity that is drawn by groups.
struct QuantityChart<'a> {
    table: &'a ChartTable,
    quantity: &'a Quantity,
    groups: &'a KeyGroups,
}

impl QuantityChart<'_> {
    /// The panels of the rows that have these keys.
    fn panels(&self, keys: &[usize], rows: &[usize]) -> Vec<Panel> {
        let panels = match keys {
            [] => Vec::new(),
            [key] => vec![self.by_one(*key, rows)],
            [first, second] => self.by_two([*first, *second], rows),
            [..] if keys.len() == 3 => self.by_three(keys, rows),
            _ => vec![self.combinations(keys, rows)],
        };
        let names: Vec<&str> = keys.iter().map(|key| self.key(*key).label.as_str()).collect();
        let by = match &names[..] {
            [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
            names => names.concat(),
        };
        let intervals = if self.quantity.has_intervals() { ", with 95% intervals" } else { "" };
        let subtitle = format!("{} by {by}{intervals}", self.quantity.axis.label);
        panels.into_iter().map(|panel| Panel { subtitle: subtitle.clone(), ..panel }).collect()
    }

    fn key(&self, key: usize) -> &TableKey {
        &self.table.keys[key]
    }

    /// A key's value in a row that has it.
    fn value(&self, key: usize, row: usize) -> &str {
        self.key(key).cells[row].as_deref().unwrap_or_default()
    }

    fn number(&self, series: usize, row: usize) -> Option<ChartNumber> {
        self.quantity.series[series].numbers[row]
    }

    fn style(&self) -> PanelStyle {
        match (self.quantity.is_amount, self.quantity.series.len()) {
            (true, _) => PanelStyle::Bars,
            (_, several) if several > 2 && !self.quantity.has_intervals() => PanelStyle::Boxes,
            _ => PanelStyle::Dots,
        }
    }

    /// Whether a key stands on an axis of numbers or dates.
    fn is_continuous(&self, key: usize, rows: &[usize]) -> bool {
        let TableKey { positions, is_time, .. } = self.key(key);
        let values = self.key(key).values(rows).len();
        positions.is_some() && values > if *is_time { 2 } else { FEW_NUMBERS }
    }

    fn by_one(&self, key: usize, rows: &[usize]) -> Panel {
        if self.is_continuous(key, rows) {
            let names = self.quantity.series.iter().map(|series| series.name.clone());
            let lines = names.enumerate().map(|(series, name)| (name, series, rows.to_vec()));
            return Panel::of(PanelForm::Lines(self.lines(key, lines.collect())));
        }
        self.combinations(&[key], rows)
    }

    /// Lines of names, series and rows over a key.
    fn lines(&self, key: usize, lines: Vec<(String, usize, Vec<usize>)>) -> LinePanel {
        let TableKey { label, positions, is_time, .. } = self.key(key);
        let at = |row: usize| positions.as_ref().map_or(row as f64, |positions| positions[row]);
        let line = |(name, series, mut rows): (String, usize, Vec<usize>)| {
            rows.sort_by(|left, right| at(*left).total_cmp(&at(*right)));
            let points = rows.into_iter().map(|row| (at(row), self.number(series, row))).collect();
            LineSeries { name, points: with_gaps(points) }
        };
        LinePanel {
            x: AxisWords { label: label.clone(), is_time: *is_time },
            y: self.quantity.axis.clone(),
            series: lines.into_iter().map(line).collect(),
            range: None,
        }
    }

    /// A category for each combination of keys, the largest if there are many; and a total of means apart.
    fn combinations(&self, keys: &[usize], rows: &[usize]) -> Panel {
        let (rows, note) = self.largest(self.combined(keys, rows), (MOST_ROWS, "groups"), |line| &line.1);
        let numbers = |row: usize| (0..self.quantity.series.len()).map(|series| self.number(series, row)).collect();
        let category = |(name, own): &(String, Vec<usize>)| CategoryRow {
            name: name.clone(),
            numbers: numbers(own[0]),
            apart: false,
        };
        let mut categories: Vec<CategoryRow> = rows.iter().map(category).collect();
        if let Some(whole) = self.groups.whole().filter(|_| keys.len() == 1 && !self.quantity.is_amount) {
            categories.push(CategoryRow { name: "all".to_string(), numbers: numbers(whole), apart: true });
        }
        let by = keys.iter().map(|key| self.key(*key).label.as_str()).collect::<Vec<_>>().join(", ");
        let series = self.quantity.series.iter().map(|series| series.name.clone()).collect::<Vec<_>>();
        let series = if series.len() > 1 { series } else { Vec::new() };
        let axis = self.quantity.axis.clone();
        let mut panel =
            Panel::of(PanelForm::Categories(CategoryPanel { style: self.style(), axis, by, series, rows: categories }));
        panel.title = self.quantity.axis.label.clone();
        panel.notes.extend(note);
        panel.notes.extend(self.boxes());
        panel
    }

    /// What the parts of a box are.
    fn boxes(&self) -> Option<String> {
        let names: Vec<&str> = self.quantity.series.iter().map(|series| series.name.as_str()).collect();
        let of = (self.style() == PanelStyle::Boxes).then(|| names.join(", "))?;
        Some(format!("The lines of a box are at {of}."))
    }

    /// As many of these as may be: those that are largest, with a sentence about the others. What is large is decided
    /// by how many there are, if the table says that: extreme means are often those of small groups.
    fn largest<T>(
        &self,
        mut all: Vec<T>,
        (most, what): (usize, &str),
        rows: impl Fn(&T) -> &Vec<usize>,
    ) -> (Vec<T>, Option<String>) {
        let more = all.len().saturating_sub(most);
        if more == 0 {
            return (all, None);
        }
        let by = self.table.quantities.iter().find(|quantity| quantity.is_amount).unwrap_or(self.quantity);
        let size = |one: &T| -> f64 {
            let numbers = rows(one).iter().filter_map(|row| by.series[0].numbers[*row]);
            numbers.map(|number| number.value).sum()
        };
        all.sort_by(|left, right| size(right).total_cmp(&size(left)));
        all.truncate(most);
        let others = if more == 1 { "1 other is".to_string() } else { format!("{more} others are") };
        (all, Some(format!("The {most} {what} with the largest {} are drawn; {others} in the table.", by.label)))
    }

    fn by_two(&self, keys: [usize; 2], rows: &[usize]) -> Vec<Panel> {
        if self.quantity.series.len() > 1 {
            return vec![self.combinations(&keys, rows)];
        }
        let continuous = keys.into_iter().find(|key| self.is_continuous(*key, rows));
        if let Some(x) = continuous {
            let other = if x == keys[0] { keys[1] } else { keys[0] };
            return self.lines_by(x, other, rows);
        }
        let counts = keys.map(|key| self.key(key).values(rows).len());
        let (by, across) = if counts[0] < counts[1] { (keys[1], keys[0]) } else { (keys[0], keys[1]) };
        let few = counts[0].min(counts[1]);
        if few <= MOST_SERIES && counts[0].max(counts[1]) <= MOST_ROWS && !self.draws_totals() {
            return vec![self.grouped(by, across, rows)];
        }
        vec![self.heat(&[by], across, rows)]
    }

    /// Lines over one key, a line or a small chart for each value of the other.
    fn lines_by(&self, x: usize, other: usize, rows: &[usize]) -> Vec<Panel> {
        let groups = self.combined(&[other], rows);
        if groups.len() <= MOST_SERIES {
            let lines = groups.into_iter().map(|(name, own)| (name, 0, own));
            let panel = Panel::of(PanelForm::Lines(self.lines(x, lines.collect())));
            return vec![Panel { title: self.quantity.axis.label.clone(), ..panel }];
        }
        let range = self.range(rows);
        let (shown, note) = self.largest(groups, (MOST_PANELS, "groups"), |line| &line.1);
        let panel = |(title, own): (String, Vec<usize>)| {
            let lines = self.lines(x, vec![(String::new(), 0, own)]);
            let panel = Panel::of(PanelForm::Lines(LinePanel { range, ..lines }));
            Panel { title, ..panel }
        };
        let mut panels: Vec<Panel> = shown.into_iter().map(panel).collect();
        if let Some(last) = panels.last_mut() {
            last.notes.extend(note);
        }
        panels
    }

    /// From the least to the largest number, intervals among them.
    fn range(&self, rows: &[usize]) -> Option<(f64, f64)> {
        let numbers = rows.iter().filter_map(|row| self.number(0, *row)).flat_map(|number| number.finite());
        let ends = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| {
            (f64::min(low, number), f64::max(high, number))
        });
        Some(ends).filter(|(low, high)| low < high)
    }

    /// Categories of one key, with a bar or a dot for each value of the other.
    fn grouped(&self, by: usize, across: usize, rows: &[usize]) -> Panel {
        let (names, series) = (self.key(by).values(rows), self.key(across).values(rows));
        let category = |name: &String| CategoryRow {
            name: name.clone(),
            numbers: series.iter().map(|value| self.cell(rows, &[(by, name), (across, value)])).collect(),
            apart: false,
        };
        let panel = CategoryPanel {
            style: self.style(),
            axis: self.quantity.axis.clone(),
            by: self.key(by).label.clone(),
            rows: names.iter().map(category).collect(),
            series,
        };
        Panel { title: self.quantity.axis.label.clone(), ..Panel::of(PanelForm::Categories(panel)) }
    }

    /// The number of the row that has these values.
    fn cell(&self, rows: &[usize], values: &[(usize, &String)]) -> Option<ChartNumber> {
        let has = |row: &&usize| values.iter().all(|(key, value)| self.key(*key).cells[**row].as_ref() == Some(*value));
        rows.iter().find(has).and_then(|row| self.number(0, *row))
    }

    /// Whether totals of single keys are drawn beside the cells of a coloured table.
    fn draws_totals(&self) -> bool {
        self.table.keys.len() == 2
            && self.quantity.series.len() == 1
            && self.groups.totals().any(|(keys, _)| keys.len() == 1)
            && self.groups.main().all(|(keys, rows)| !keys.iter().any(|key| self.is_continuous(*key, rows)))
    }

    /// A coloured table: combinations of keys down, one key across, totals at the ends.
    fn heat(&self, down: &[usize], across: usize, rows: &[usize]) -> Panel {
        let (lines, first) = self.largest(self.combined(down, rows), (MOST_ROWS, "groups"), |line| &line.1);
        let (columns, second) = self.largest(self.combined(&[across], rows), (MOST_COLUMNS, "columns"), |line| &line.1);
        let cells = lines.iter().map(|(_, own)| {
            let by_value: HashMap<&str, usize> = own.iter().map(|row| (self.value(across, *row), *row)).collect();
            columns.iter().map(|(value, _)| self.number(0, *by_value.get(value.as_str())?)).collect()
        });
        let cells = cells.collect();
        let by = [down, &[across][..]]
            .map(|keys| keys.iter().map(|key| self.key(*key).label.as_str()).collect::<Vec<_>>().join(", "));
        let names = |list: Vec<(String, Vec<usize>)>| list.into_iter().map(|(name, _)| name).collect();
        let (rows, columns) = (names(lines), names(columns));
        let mut panel = HeatPanel { axis: self.quantity.axis.clone(), by, rows, columns, cells, totals: (0, 0) };
        if let ([down], true) = (down, self.draws_totals()) {
            self.add_totals(&mut panel, *down, across);
        }
        let title = self.quantity.axis.label.clone();
        let notes = first.into_iter().chain(second).collect();
        Panel { title, notes, ..Panel::of(PanelForm::Heat(panel)) }
    }

    /// The combinations of some keys with their rows, in the order of an axis or else of the rows.
    fn combined(&self, keys: &[usize], rows: &[usize]) -> Vec<(String, Vec<usize>)> {
        let mut rows = rows.to_vec();
        if let ([_], Some(positions)) = (keys, self.key(keys[0]).positions.as_ref()) {
            rows.sort_by(|left, right| positions[*left].total_cmp(&positions[*right]));
        }
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut all: Vec<(String, Vec<usize>)> = Vec::new();
        for row in rows {
            let name = keys.iter().map(|key| self.value(*key, row)).collect::<Vec<_>>().join(", ");
            let place = *places.entry(name.clone()).or_insert(all.len());
            if place == all.len() {
                all.push((name, Vec::new()));
            }
            all[place].1.push(row);
        }
        all
    }

    /// Totals of the rows and the columns of a coloured table, as far as they are published.
    fn add_totals(&self, panel: &mut HeatPanel, down: usize, across: usize) {
        let number = |row: Option<usize>| row.and_then(|row| self.number(0, row));
        let totals = |key: usize, values: &[String]| -> Vec<Option<ChartNumber>> {
            values.iter().map(|value| number(self.groups.total_of(self.table, key, value))).collect()
        };
        let (beside, below) = (totals(down, &panel.rows), totals(across, &panel.columns));
        let whole = number(self.groups.whole());
        if beside.iter().any(Option::is_some) {
            panel.columns.push("all".to_string());
            panel.cells.iter_mut().zip(beside).for_each(|(line, total)| line.push(total));
            panel.totals.1 = 1;
        }
        if whole.is_some() || below.iter().any(Option::is_some) {
            panel.rows.push("all".to_string());
            panel.cells.push(below.into_iter().chain((panel.totals.1 > 0).then_some(whole)).collect());
            panel.totals.0 = 1;
        }
    }

    fn by_three(&self, keys: &[usize], rows: &[usize]) -> Vec<Panel> {
        let few = |key: &&usize| (2..=MOST_COLUMNS).contains(&self.key(**key).values(rows).len());
        let across = keys.iter().filter(few).min_by_key(|key| self.key(**key).values(rows).len());
        let Some(across) = across.filter(|_| self.quantity.series.len() == 1) else {
            return vec![self.combinations(keys, rows)];
        };
        let down: Vec<usize> = keys.iter().copied().filter(|key| key != across).collect();
        vec![self.heat(&down, *across, rows)]
    }

    /// A grand total would dwarf its parts in a chart, so it is a sentence.
    fn grand_total(&self) -> Option<String> {
        if self.draws_totals() || !self.quantity.is_amount {
            return None;
        }
        let whole = self.number(0, self.groups.whole()?)?;
        Some(format!("{} in all: {}.", self.quantity.axis.label, super::numbers::sentence(&whole)))
    }
}

/// A gap where positions are farther apart than usual: a line across it would invent what lies between.
fn with_gaps(points: Vec<(f64, Option<ChartNumber>)>) -> Vec<(f64, Option<ChartNumber>)> {
    let mut steps: Vec<f64> = points.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    steps.sort_by(f64::total_cmp);
    let usual = steps.get(steps.len() / 2).copied().unwrap_or(f64::INFINITY);
    let mut whole = Vec::with_capacity(points.len());
    for point in points {
        if let Some((before, _)) = whole.last().filter(|(before, _): &&(f64, _)| point.0 - before > 1.9 * usual) {
            whole.push(((before + point.0) / 2.0, None));
        }
        whole.push(point);
    }
    whole
}
