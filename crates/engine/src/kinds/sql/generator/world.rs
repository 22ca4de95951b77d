//! Small worlds: one or two private tables and a public one, with all declared types, and a few rows of a few people.

use super::bytes::Bytes;
use super::value::{CellValue, TEXTS, drawn, named};
use crate::calendar::{DAY, SECOND, shown_day, shown_moment};
use crate::project::{BinEdges, Bounding, Domain, Project, Recoding, Zone};
use crate::tables::key_sets::filled;
use crate::tables::sources::data_type;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
    TimestampNanosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// The declarations.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub tables: Vec<WorldTable>,
    /// Whether a public table lists the values of texts, in the place of the project file.
    pub key_sets: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct WorldTable {
    pub name: String,
    pub whose: WorldOwnership,
    pub columns: Vec<WorldColumn>,
}

/// Whose rows a table holds.
#[derive(Debug, Clone)]
pub(crate) enum WorldOwnership {
    Nobodys,
    EachRow,
    Named { owner: String, numbers: bool, bounding: Bounding },
}

#[derive(Debug, Clone)]
pub(crate) struct WorldColumn {
    pub name: String,
    /// What files hold.
    pub domain: Domain,
    pub recoded: Option<WorldRecoding>,
}

/// What becomes of what files hold.
#[derive(Debug, Clone)]
pub(crate) struct WorldRecoding {
    by: Recoding,
    /// All values that there can be, if that is public.
    values: Option<Vec<String>>,
}

impl WorldColumn {
    /// The values that are listed for it, where they are texts of files.
    fn listed(&self) -> Option<&Vec<String>> {
        match (&self.domain, &self.recoded) {
            (_, Some(WorldRecoding { by: Recoding::Texts { .. }, values })) => values.as_ref(),
            (Domain::Category { values }, None) => values.as_ref(),
            _ => None,
        }
    }

    /// A value of a file as the project file promises to read it.
    pub fn read(&self, value: &CellValue) -> CellValue {
        let Some(WorldRecoding { by, values }) = &self.recoded else { return value.declared(&self.domain) };
        let recoded = match (by, value) {
            (Recoding::Bins { edges, labels }, value) => {
                let above = match (edges, value) {
                    (BinEdges::Whole(edges), CellValue::Int(number)) => {
                        edges.iter().filter(|edge| *edge <= number).count()
                    }
                    (BinEdges::Numbers(edges), CellValue::Float(number)) if !number.is_nan() => {
                        edges.iter().filter(|edge| *edge <= number).count()
                    }
                    (BinEdges::Days(edges), CellValue::Date(day)) => edges.iter().filter(|edge| *edge <= day).count(),
                    (BinEdges::Moments(edges, _), CellValue::Moment(moment)) => {
                        edges.iter().filter(|edge| *edge <= moment).count()
                    }
                    _ => return CellValue::Null,
                };
                CellValue::text(&labels[above.max(1) - 1])
            }
            (Recoding::Texts { map, unlisted }, CellValue::Text(text)) => {
                let text = map.get(text).unwrap_or(text);
                match (unlisted, values) {
                    (Some(other), Some(values)) if !values.contains(text) => CellValue::text(other),
                    _ => CellValue::text(text),
                }
            }
            _ => CellValue::Null,
        };
        recoded.declared(&Domain::Category { values: values.clone() })
    }
}

/// One row. Neighbours share the tags of the rows that they share, so that a shrinker can drop a row from both.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WorldRow {
    pub tag: u32,
    /// NULL where nobody is named.
    pub owner: CellValue,
    pub values: Vec<CellValue>,
}

/// The rows of each table.
pub(crate) type WorldRows = Vec<Vec<WorldRow>>;

const NAMES: [&str; 14] = [
    "age",
    "sex",
    "state",
    "pay",
    "open",
    "x",
    "y",
    "n_error",
    "count",
    "scumble row",
    "Upper Case",
    "é",
    "group",
    "a.b",
];
const OWNERS: [&str; 7] = ["1", "01", "a", "A", "007", "é", ""];

impl World {
    pub fn drawn(bytes: &mut Bytes<'_>) -> Self {
        let key_sets = bytes.wide && bytes.chance(25);
        if bytes.chance(30) {
            let people = table(bytes, "people", WorldOwnership::EachRow);
            return Self { tables: vec![people], key_sets };
        }
        let numbers = bytes.chance(50);
        let owner = "person".to_string();
        let first = WorldOwnership::Named { owner, numbers, bounding: bounding(bytes) };
        let mut tables = vec![table(bytes, "people", first)];
        if bytes.chance(60) {
            let owner = if bytes.chance(70) { "person" } else { "Whose Row" }.to_string();
            let numbers = if bytes.chance(15) { !numbers } else { numbers };
            let second = WorldOwnership::Named { owner, numbers, bounding: bounding(bytes) };
            tables.push(table(bytes, "visits", second));
        }
        if bytes.chance(50) {
            tables.push(table(bytes, "places", WorldOwnership::Nobodys));
        }
        Self { tables, key_sets }
    }

    /// The project file.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for table in &self.tables {
            text.push_str(&format!("[dataset.{}]\nsource = \"{}.csv\"\n", table.name, table.name));
            match &table.whose {
                WorldOwnership::Nobodys => text.push_str("public = true\n"),
                WorldOwnership::EachRow => {}
                WorldOwnership::Named { owner, bounding, .. } => {
                    text.push_str(&format!("owner = {owner:?}\n"));
                    let bounds = [
                        ("max_rows_per_owner", bounding.rows),
                        ("max_groups_per_owner", bounding.groups),
                        ("max_rows_per_group", bounding.rows_per_group),
                    ];
                    for (name, bound) in bounds {
                        bound.iter().for_each(|bound| text.push_str(&format!("{name} = {bound}\n")));
                    }
                }
            }
            text.push_str(&format!("[dataset.{}.columns]\n", table.name));
            for column in &table.columns {
                let mut declared = declaration(column);
                if let Some(values) = column.listed().filter(|_| self.key_sets) {
                    let name = format!("{} of {}", column.name, table.name);
                    let from = format!("values = {values:?}");
                    declared = declared.replace(&from, &format!("values = {{ table = \"lists\", column = {name:?} }}"));
                }
                text.push_str(&format!("{:?} = {declared}\n", column.name));
            }
        }
        if self.key_sets {
            text.push_str("[dataset.lists]\nsource = \"lists.csv\"\npublic = true\n[dataset.lists.columns]\n");
            self.lists().iter().for_each(|(name, _)| text.push_str(&format!("{name:?} = {{ type = \"category\" }}\n")));
        }
        text
    }

    /// The columns of the table of values, where there is one.
    fn lists(&self) -> Vec<(String, &Vec<String>)> {
        let mut all = Vec::new();
        for table in &self.tables {
            let listed = table.columns.iter().filter_map(|column| Some((&column.name, column.listed()?)));
            all.extend(listed.map(|(name, values)| (format!("{name} of {}", table.name), values)));
        }
        all
    }

    /// The project, with the values that the table of values lists.
    pub fn project(&self) -> crate::Result<Project> {
        let project = Project::parse(Path::new("scumble.toml"), &self.text())?;
        filled(project, |_, set| {
            let values =
                self.lists().into_iter().find(|(name, _)| *name == set.column).map(|(_, values)| values.clone());
            let mut values = values.unwrap_or_default();
            values.sort();
            Ok(values)
        })
    }

    /// Rows of a few people, or none.
    pub fn rows(&self, bytes: &mut Bytes<'_>) -> WorldRows {
        let people = 1 + bytes.below(4);
        let mut tag = 0;
        let mut all = Vec::new();
        for table in &self.tables {
            let count = bytes.below(if matches!(table.whose, WorldOwnership::Nobodys) { 4 } else { 9 });
            let mut rows = Vec::new();
            for _ in 0..count {
                tag += 1;
                let owner = if bytes.chance(4) { CellValue::Null } else { table.owner_named(bytes.below(people)) };
                rows.push(table.row(bytes, tag, owner));
            }
            all.push(rows);
        }
        all
    }

    /// Whether the owners of these tables are all whole numbers; otherwise they are all texts.
    pub fn has_number_owners(&self, tables: &[usize]) -> bool {
        tables.iter().all(|table| !matches!(self.tables[*table].whose, WorldOwnership::Named { numbers: false, .. }))
    }

    /// A table's rows as they are read from a file, with owners that are numbers or not.
    pub fn batch(&self, table: usize, rows: &[WorldRow], numbers: bool) -> RecordBatch {
        let declared = &self.tables[table];
        let mut fields = Vec::new();
        let mut arrays = Vec::new();
        if let Some(owner) = declared.owner_column() {
            let names: Vec<CellValue> =
                rows.iter().map(|row| named(&row.owner).map_or(CellValue::Null, CellValue::Text)).collect();
            let owners = if numbers {
                array(rows.iter().map(|row| &row.owner), &DataType::Int64)
            } else {
                array(names.iter(), &DataType::Utf8)
            };
            fields.push(Field::new(owner, owners.data_type().clone(), true));
            arrays.push(owners);
        }
        for (index, column) in declared.columns.iter().enumerate() {
            let values = array(rows.iter().map(|row| &row.values[index]), &data_type(&column.domain));
            fields.push(Field::new(&column.name, values.data_type().clone(), true));
            arrays.push(values);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options).expect("columns fit")
    }
}

impl WorldTable {
    /// The n-th person, in this table's type.
    pub fn owner_named(&self, n: usize) -> CellValue {
        match &self.whose {
            WorldOwnership::Named { numbers: true, .. } => CellValue::Int([1, 2, 7, -1, i64::MAX, 0, 3][n % 7]),
            WorldOwnership::Named { .. } => CellValue::text(OWNERS[n % OWNERS.len()]),
            _ => CellValue::Null,
        }
    }

    pub fn row(&self, bytes: &mut Bytes<'_>, tag: u32, owner: CellValue) -> WorldRow {
        WorldRow { tag, owner, values: self.columns.iter().map(|column| drawn(bytes, &column.domain)).collect() }
    }

    pub fn owner_column(&self) -> Option<&str> {
        match &self.whose {
            WorldOwnership::Named { owner, .. } => Some(owner),
            _ => None,
        }
    }
}

fn table(bytes: &mut Bytes<'_>, name: &str, whose: WorldOwnership) -> WorldTable {
    let mut names = BTreeSet::new();
    let columns = (0..2 + bytes.below(3)).filter_map(|_| {
        let plain = if bytes.chance(30) { NAMES.len() } else { 7 };
        let name = bytes.pick(&NAMES[..plain]).to_string();
        let (domain, recoded) = match bytes.below(100) {
            0..=4 => recoded(bytes),
            5..=10 => (dated(bytes), None),
            _ => (domain(bytes), None),
        };
        let column = WorldColumn { name: name.clone(), domain, recoded };
        names.insert(name).then_some(column)
    });
    let columns = columns.collect();
    WorldTable { name: name.to_string(), whose, columns }
}

fn domain(bytes: &mut Bytes<'_>) -> Domain {
    match bytes.below(12) {
        0..=2 => Domain::Int { bounds: Some(bytes.pick(&[(0, 3), (-2, 2), (0, 120), (5, 5), (-3, -1), (1, 40)])) },
        3 => Domain::Int { bounds: Some(bytes.pick(&[(-(1 << 40), 1 << 40), (0, 1 << 53), (-(1 << 62), 1 << 62)])) },
        4 => Domain::Int { bounds: None },
        5 => Domain::Float { bounds: Some(bytes.pick(&[(0.0, 100.0), (-1.0, 3.0)])), granularity: Some(0.5) },
        6 => Domain::Float { bounds: Some(bytes.pick(&[(0.0, 10.0), (-5.0, 5.0), (2.0, 2.0)])), granularity: None },
        7 => Domain::Float { bounds: None, granularity: None },
        8 | 9 => {
            let mut values: Vec<String> = (0..1 + bytes.below(3)).map(|_| bytes.pick(&TEXTS).to_string()).collect();
            values.sort();
            values.dedup();
            Domain::Category { values: Some(values) }
        }
        10 => Domain::Category { values: None },
        _ => Domain::Bool,
    }
}

fn dated(bytes: &mut Bytes<'_>) -> Domain {
    match bytes.below(2) {
        0 => {
            Domain::Date { bounds: bytes.pick(&[Some((15_706, 16_070)), Some((11_000, 11_030)), Some((-1, 0)), None]) }
        }
        _ => {
            let second = |day: i64, second: i64| (day * DAY + second) * SECOND;
            let bounds = [
                Some((second(15_706, 43_200), second(15_800, 86_399))),
                Some((second(0, -3600), second(0, 7200) + SECOND / 2)),
                None,
            ];
            Domain::Timestamp { bounds: bytes.pick(&bounds), zone: Zone::default() }
        }
    }
}

/// Bins of numbers, dates and times, and other words for texts.
fn recoded(bytes: &mut Bytes<'_>) -> (Domain, Option<WorldRecoding>) {
    let edges = match bytes.below(6) {
        0 | 1 => BinEdges::Whole(bytes.pick(&[vec![0, 2], vec![-1, 0, 1, 100]])),
        2 => BinEdges::Numbers(vec![-0.5, 0.0, 2.5]),
        3 => BinEdges::Days(vec![0, 11_016, 15_706]),
        4 => BinEdges::Moments(vec![0, 15_706 * DAY * SECOND], Zone::default()),
        _ => {
            let map = [("1", "a"), ("A", "a"), ("é", "b")].map(|(from, to)| (from.to_string(), to.to_string()));
            let unlisted = bytes.chance(60).then(|| "other".to_string());
            let listed = ["a", "b"].into_iter().map(str::to_string).chain(unlisted.clone());
            let values = (unlisted.is_some() || bytes.chance(50)).then(|| listed.collect());
            let by = Recoding::Texts { map: map.into(), unlisted };
            return (Domain::Category { values: None }, Some(WorldRecoding { by, values }));
        }
    };
    let starts = match &edges {
        BinEdges::Whole(edges) | BinEdges::Days(edges) | BinEdges::Moments(edges, _) => edges.len(),
        BinEdges::Numbers(edges) => edges.len(),
    };
    let labels: Vec<String> = (0..starts).map(|index| format!("bin {index}")).collect();
    let by = Recoding::Bins { edges, labels: labels.clone() };
    (by.in_files(), Some(WorldRecoding { by, values: Some(labels) }))
}

fn bounding(bytes: &mut Bytes<'_>) -> Bounding {
    Bounding {
        rows: Some(1 + bytes.below(3) as u64),
        groups: bytes.chance(50).then(|| 1 + bytes.below(2) as u64),
        rows_per_group: bytes.chance(50).then(|| 1 + bytes.below(2) as u64),
    }
}

fn declaration(column: &WorldColumn) -> String {
    let plain = declaration_of(&column.domain);
    let Some(WorldRecoding { by, values }) = &column.recoded else { return plain };
    let more = match by {
        Recoding::Bins { edges, labels } => {
            let edges = match edges {
                BinEdges::Whole(edges) => format!("{edges:?}"),
                BinEdges::Numbers(edges) => format!("{edges:?}"),
                BinEdges::Days(edges) => format!("{:?}", edges.iter().map(|day| shown_day(*day)).collect::<Vec<_>>()),
                BinEdges::Moments(edges, _) => {
                    format!("{:?}", edges.iter().map(|moment| shown_moment(*moment)).collect::<Vec<_>>())
                }
            };
            format!(", bins = {edges}, labels = {labels:?} }}")
        }
        Recoding::Texts { map, unlisted } => {
            let map: Vec<String> = map.iter().map(|(from, to)| format!("{from:?} = {to:?}")).collect();
            let values = values.as_ref().map_or(String::new(), |values| format!(", values = {values:?}"));
            let unlisted = unlisted.as_ref().map_or(String::new(), |word| format!(", unlisted = {word:?}"));
            format!(", map = {{ {} }}{values}{unlisted} }}", map.join(", "))
        }
    };
    plain.trim_end_matches(" }").to_string() + &more
}

fn declaration_of(domain: &Domain) -> String {
    match domain {
        Domain::Int { bounds: Some((low, high)) } => format!("{{ type = \"int\", lower = {low}, upper = {high} }}"),
        Domain::Int { bounds: None } => "{ type = \"int\" }".to_string(),
        Domain::Float { bounds, granularity } => {
            let bounds = bounds.map_or(String::new(), |(low, high)| format!(", lower = {low:?}, upper = {high:?}"));
            let grid = granularity.map_or(String::new(), |step| format!(", granularity = {step:?}"));
            format!("{{ type = \"float\"{bounds}{grid} }}")
        }
        Domain::Category { values: Some(values) } => format!("{{ type = \"category\", values = {values:?} }}"),
        Domain::Category { values: None } => "{ type = \"category\" }".to_string(),
        Domain::Bool => "{ type = \"bool\" }".to_string(),
        Domain::Date { bounds } => {
            let bounds = bounds.map_or(String::new(), |(low, high)| {
                format!(", lower = {:?}, upper = {:?}", shown_day(low), shown_day(high))
            });
            format!("{{ type = \"date\"{bounds} }}")
        }
        Domain::Timestamp { bounds, .. } => {
            let bounds = bounds.map_or(String::new(), |(low, high)| {
                format!(", lower = {:?}, upper = {:?}", shown_moment(low), shown_moment(high))
            });
            format!("{{ type = \"timestamp\"{bounds} }}")
        }
    }
}

fn array<'a>(values: impl Iterator<Item = &'a CellValue>, kind: &DataType) -> ArrayRef {
    match kind {
        DataType::Int64 => Arc::new(
            values.map(|value| if let CellValue::Int(n) = value { Some(*n) } else { None }).collect::<Int64Array>(),
        ),
        DataType::Float64 => Arc::new(
            values.map(|value| if let CellValue::Float(n) = value { Some(*n) } else { None }).collect::<Float64Array>(),
        ),
        DataType::Boolean => Arc::new(
            values.map(|value| if let CellValue::Bool(b) = value { Some(*b) } else { None }).collect::<BooleanArray>(),
        ),
        DataType::Date32 => Arc::new(
            values
                .map(|value| if let CellValue::Date(day) = value { i32::try_from(*day).ok() } else { None })
                .collect::<Date32Array>(),
        ),
        DataType::Timestamp(..) => Arc::new(
            values
                .map(|value| if let CellValue::Moment(moment) = value { Some(*moment) } else { None })
                .collect::<TimestampNanosecondArray>(),
        ),
        _ => {
            let texts = values.map(|value| if let CellValue::Text(text) = value { Some(text.as_str()) } else { None });
            Arc::new(texts.collect::<StringArray>())
        }
    }
}
