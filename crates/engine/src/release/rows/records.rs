//! One record of categories per owner: what the kinds that protect attributes one by one look at.
//!
//! An attribute is a column whose values can be listed (a category, a bool, an int with bounds; for some kinds other
//! numbers, in [`steps`]), or a category without listed values. Where a table has an owner, each owner has one record:
//! - with `max_rows_per_owner = 1` the record takes each attribute from one of the owner's rows, chosen by a keyed hash
//!   of the owner, the attribute and its value. Nearly always there is one row only; where there are more, a change of
//!   one attribute in all of them changes that attribute of the record and no other, so that attributes are protected
//!   one by one.
//! - with a larger bound one whole row counts, chosen by a keyed hash of the owner and the row. Another value of one
//!   attribute may then mean another row, so that every attribute is charged as a whole person.
//!
//! Each of the owner's rows is as likely as any other to be the one. With u, the hash of a value as a number between 0
//! and 1, and c, how many rows have it, the value of the largest u^{1/c} is chosen. The largest of c independent
//! uniform numbers has the law of u^{1/c} (both are at most x with probability xᶜ), so that this is as if each of the c
//! rows had a number of its own and the largest of all won; and it does not depend on the order of rows.

use crate::error::{DataFusionResult, Error, Result};
use crate::project::{Column, Domain, Project, Request};
use crate::release::estimates::Estimates;
use crate::release::field::{Field, ListedField, PlacedValue, Word};
use crate::release::output::Cell;
use crate::release::rows::fields::{BOUNDING, TABLE, bounding, column, private_table, selected};
use crate::release::rows::read::{PrivateRows, ReadRows};
use crate::tables::bounding::{LostRows, RowsByOwner};
use crate::tables::hash::{Key, SipHasher};
use crate::tables::intern::Name;
use crate::tables::{Backend, failed_on_data};
use datafusion::arrow::array::{ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::error::DataFusionError;
use datafusion::physical_plan::execute_stream;
use futures::StreamExt;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

mod steps;

use steps::Steps;

pub(crate) const COLUMNS: Field<Vec<PlacedValue<String>>> =
    Field::new("columns", "the attributes: columns of type category, bool, or int with bounds");
const MISSING_FIELD: Field<Option<MissingPolicy>> = Field::new(
    "missing",
    "`value` (the default): missing and unlisted values are one more value, `(missing)`; `never`: there are none, and any that occur count as the first value",
);

/// The fields that say which records are meant.
pub(crate) const FIELDS: [ListedField; 4] = [TABLE.listed(), COLUMNS.listed(), MISSING_FIELD.listed(), BOUNDING[0]];

/// How a missing value of its own is shown.
pub(crate) const MISSING_TEXT: &str = "(missing)";
/// The code of a missing value while rows are read.
const MISSING: u32 = u32::MAX;
/// Longer lists of whole numbers are a mistake rather than a domain.
const MOST_VALUES: u64 = 1_000_000;

/// The attributes of a release and how a record of them is made for each owner.
#[derive(Debug, Clone)]
pub(crate) struct Attributes {
    table: String,
    names: Vec<String>,
    values: Vec<AttributeValues>,
    missing: MissingPolicy,
    owners: Owners,
}

/// What becomes of a missing or unlisted value. Never a failure: that a release fails would tell that somebody has one.
#[derive(Debug, Clone, Copy, PartialEq)]
enum MissingPolicy {
    /// It is a value of its own.
    Value,
    /// Publicly there are none; one that is there all the same is read as the first value (the empty text where values
    /// are unknown), as a number beyond its bounds is read as the bound.
    Never,
}

impl Word for MissingPolicy {
    const WORDS: &'static [(&'static str, Self)] = &[("value", Self::Value), ("never", Self::Never)];

    fn unknown(_: &str) -> String {
        "missing must be 'value' or 'never'".to_string()
    }
}

/// What an attribute can be.
#[derive(Debug, Clone, PartialEq)]
enum AttributeValues {
    Texts(Vec<String>),
    Whole { lower: i64, number: u32 },
    Steps(Steps),
    Truth,
    Unknown,
}

impl AttributeValues {
    /// The value of each code, without that of a missing one; nothing where values are not public.
    fn cells(&self) -> Vec<Cell> {
        match self {
            Self::Truth => vec![Cell::Truth(false), Cell::Truth(true)],
            Self::Whole { lower, number } => {
                (0..i64::from(*number)).map(|step| Cell::Whole(i128::from(lower + step))).collect()
            }
            Self::Texts(texts) => texts.iter().map(|text| Cell::Text(text.as_str().into())).collect(),
            Self::Steps(steps) => steps.cells(),
            Self::Unknown => Vec::new(),
        }
    }
}

/// Whose record it is.
#[derive(Debug, Clone, PartialEq)]
enum Owners {
    /// Each row is one person.
    Rows,
    /// Owners have one row: attribute by attribute.
    EachAttribute(String),
    /// Owners have several rows, and one of them counts.
    WholeRow(String),
}

impl Attributes {
    /// What the listed values of some columns take, without their combinations.
    pub fn memory_of_values(&self) -> u64 {
        self.sizes().into_iter().flatten().map(|size| u64::from(size) * 100).fold(0, u64::saturating_add)
    }

    /// What the combinations of listed values take at so many bytes each, if there are no more than `most` (else
    /// something else is done than to hold them).
    pub fn memory_of_combinations(&self, most: u64, each: u64) -> u64 {
        let combinations = self.sizes().into_iter().flatten().map(u64::from).fold(1, u64::saturating_mul);
        combinations.min(most).saturating_mul(each).saturating_add(self.memory_of_values())
    }

    /// Reads the fields of a request. Unlisted categories are taken only where `may_be_unknown`; no attribute may be
    /// called as one of the other `published` columns.
    pub fn new(request: &Request, project: &Project, may_be_unknown: bool, published: &[&str]) -> Result<Self> {
        Self::of(COLUMNS.read(request)?, request, project, may_be_unknown, published)
    }

    /// The same, where numbers with fractions, dates and times may be attributes too, in steps.
    pub fn with_steps(request: &Request, project: &Project, published: &[&str]) -> Result<Self> {
        let values = |column: &Column| match &column.domain {
            Domain::Float { .. } | Domain::Date { .. } | Domain::Timestamp { .. } => {
                Steps::of(&column.domain).map(AttributeValues::Steps).ok_or_else(|| {
                    Error::input(format!(
                        "column '{}' needs bounds, lower and upper, from public knowledge",
                        column.name
                    ))
                })
            }
            Domain::Int { bounds: Some((lower, upper)) } if lower.abs_diff(*upper) >= MOST_VALUES => {
                Ok(Steps::of(&column.domain).map_or(AttributeValues::Unknown, AttributeValues::Steps))
            }
            _ => values_of(column, false),
        };
        Self::made(COLUMNS.read(request)?, request, project, published, values)
    }

    /// Whether an attribute is in steps.
    pub fn has_steps(&self) -> bool {
        self.values.iter().any(|values| matches!(values, AttributeValues::Steps(_)))
    }

    /// The same of these columns.
    pub fn of(
        columns: Vec<PlacedValue<String>>,
        request: &Request,
        project: &Project,
        may_be_unknown: bool,
        published: &[&str],
    ) -> Result<Self> {
        Self::made(columns, request, project, published, |column| values_of(column, may_be_unknown))
    }

    fn made(
        columns: Vec<PlacedValue<String>>,
        request: &Request,
        project: &Project,
        published: &[&str],
        values_of: impl Fn(&Column) -> Result<AttributeValues>,
    ) -> Result<Self> {
        let table = private_table(request, project)?;
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for name in columns {
            let column = column(table, &name)?;
            if names.contains(&name.value) {
                return Err(name.error(format!("the column '{}' is listed twice", name.value)));
            }
            if published.contains(&name.value.as_str()) {
                let sentence =
                    format!("'{}' is the name of a published column: this column needs another one", name.value);
                return Err(name.error(sentence));
            }
            values.push(values_of(column).map_err(|error| error.or_at(name.place))?);
            names.push(name.value);
        }
        if names.is_empty() {
            return Err(COLUMNS.error(request, "give at least one column"));
        }
        let rows = bounding(request)?.or(table.bounding).rows;
        let owners = match &table.owner {
            None => Owners::Rows,
            Some(owner) if rows == Some(1) => Owners::EachAttribute(owner.clone()),
            Some(owner) => Owners::WholeRow(owner.clone()),
        };
        let missing = MISSING_FIELD.read(request)?.unwrap_or(MissingPolicy::Value);
        let is_taken = |values: &AttributeValues| matches!(values, AttributeValues::Texts(texts) if texts.iter().any(|text| text == MISSING_TEXT));
        if missing == MissingPolicy::Value && values.iter().any(is_taken) {
            return Err(COLUMNS.error(
                request,
                format!(
                    "'{MISSING_TEXT}' is a listed value and the name of missing values: leave it out of the list, or \
                    write missing = \"never\""
                ),
            ));
        }
        Ok(Self { table: table.name.clone(), names, values, missing, owners })
    }

    /// The attributes' names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The table.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// How many values each attribute has; none where that is not public.
    pub fn sizes(&self) -> Vec<Option<u32>> {
        let own = u32::from(self.missing == MissingPolicy::Value);
        let size = |values: &AttributeValues| match values {
            AttributeValues::Texts(texts) => u32::try_from(texts.len()).ok().map(|size| size + own),
            AttributeValues::Whole { number, .. } => Some(number + own),
            AttributeValues::Steps(steps) => Some(steps.number() + own),
            AttributeValues::Truth => Some(2 + own),
            AttributeValues::Unknown => None,
        };
        self.values.iter().map(size).collect()
    }

    /// The values of each attribute in the order of their codes, as columns of a plan; a missing value of its own is
    /// NULL. None of what is unknown.
    pub fn arrays(&self) -> Vec<ArrayRef> {
        let own = (self.missing == MissingPolicy::Value).then_some(());
        let array = |values: &AttributeValues| -> ArrayRef {
            match values {
                AttributeValues::Truth => {
                    Arc::new([Some(false), Some(true)].into_iter().chain(own.map(|()| None)).collect::<BooleanArray>())
                }
                AttributeValues::Whole { lower, number } => {
                    let numbers = (0..i64::from(*number)).map(|step| Some(lower + step));
                    Arc::new(numbers.chain(own.map(|()| None)).collect::<Int64Array>())
                }
                AttributeValues::Texts(texts) => {
                    let texts = texts.iter().map(|text| Some(text.as_str()));
                    Arc::new(texts.chain(own.map(|()| None)).collect::<StringArray>())
                }
                AttributeValues::Steps(steps) => {
                    let texts = steps.cells().into_iter().map(|cell| Some(cell.text()));
                    Arc::new(texts.chain(own.map(|()| None)).collect::<StringArray>())
                }
                AttributeValues::Unknown => Arc::new(StringArray::new_null(0)),
            }
        };
        self.values.iter().map(array).collect()
    }

    /// What the values of each attribute are called, in the order of their codes.
    pub fn labels(&self) -> Vec<Vec<String>> {
        let label = |cell: Cell| if let Cell::Text(text) = cell { text.to_string() } else { cell.text() };
        (0..self.names.len()).map(|attribute| self.listed(attribute).into_iter().map(label).collect()).collect()
    }

    /// The value of each code of an attribute; nothing where values are not public.
    pub fn listed(&self, attribute: usize) -> Vec<Cell> {
        self.coded(&self.values[attribute], Cell::Text(MISSING_TEXT.into()))
    }

    fn coded(&self, values: &AttributeValues, missing: Cell) -> Vec<Cell> {
        let is_added = self.missing == MissingPolicy::Value && !matches!(values, AttributeValues::Unknown);
        values.cells().into_iter().chain(is_added.then_some(missing)).collect()
    }

    /// Whether a code of an attribute is that of a missing value.
    pub fn is_missing(&self, attribute: usize, code: usize) -> bool {
        self.missing == MissingPolicy::Value && Some(code as u32 + 1) == self.sizes()[attribute]
    }

    /// The public values of each attribute, by code, nothing for a missing one; no values where they are not public.
    pub fn domain(&self) -> Vec<Vec<Cell>> {
        self.values.iter().map(|values| self.coded(values, Cell::Null)).collect()
    }

    /// Whether another value of one attribute may mean another record altogether.
    pub fn move_together(&self) -> bool {
        matches!(self.owners, Owners::WholeRow(_))
    }

    /// What a reader should know about how records were made.
    pub fn note(&self) -> Option<String> {
        match &self.owners {
            Owners::WholeRow(owner) => Some(format!(
                "One row of each {owner} counts, chosen at random; which one may depend on every column, so each attribute is charged as a whole person."
            )),
            Owners::EachAttribute(owner) => Some(format!(
                "One record of each {owner} counts, which takes each attribute from one of their rows: of an owner of several rows, combinations of attributes may be counted that no row has. With max_rows_per_owner = 2 or more one whole row of each counts."
            )),
            Owners::Rows => None,
        }
    }

    /// What numbers of these records are about.
    pub fn estimates(&self) -> Option<Estimates> {
        match &self.owners {
            Owners::Rows => None,
            Owners::EachAttribute(_) => Some(Estimates::of_records(
                "of each owner one record counts, which takes each attribute from one of the owner's rows, chosen at random",
            )),
            Owners::WholeRow(_) => Some(Estimates::of_records("of each owner one row counts, chosen at random")),
        }
    }

    /// For the ledger.
    pub fn rule(&self) -> Value {
        let (owner, record) = match &self.owners {
            Owners::Rows => (None, "each row is one person"),
            Owners::EachAttribute(owner) => (Some(owner), "one record per owner, attribute by attribute"),
            Owners::WholeRow(owner) => (Some(owner), "one row per owner"),
        };
        json!({ "table": self.table, "columns": self.names, "values": self.sizes(), "owner": owner, "record": record,
                "missing": match self.missing { MissingPolicy::Value => "value", MissingPolicy::Never => "never" } })
    }

    /// Reads the records.
    ///
    /// # Guarantee
    /// Before: `key` does not depend on the data. After: the records are a function of the rows as a multiset and of
    /// `key`, one for each owner, and each a function of that owner's rows alone; except where
    /// [`Attributes::move_together`], attribute by attribute.
    pub fn read(&self, backend: &Backend, key: Key) -> Result<Records> {
        let owner = match &self.owners {
            Owners::Rows => None,
            Owners::EachAttribute(owner) | Owners::WholeRow(owner) => Some(owner),
        };
        let rows = selected(backend, &self.table, owner.into_iter().chain(&self.names))?;
        let mut reader = RecordsReader::new(self, key, backend)?;
        backend
            .wait(async {
                let (plan, task) = backend.physical(&rows, 1.0).await?;
                let mut stream = execute_stream(plan, task)?;
                while let Some(batch) = stream.next().await {
                    reader.add(&batch?)?;
                }
                Ok(())
            })
            .map_err(|error| failed_on_data(&error))?;
        reader.finish()
    }
}

/// One record for each owner.
impl ReadRows for &Attributes {
    type Found = Records;

    fn found_in(self, rows: &PrivateRows<'_>) -> Result<Records> {
        self.read(rows.backend, rows.key)
    }
}

fn values_of(column: &Column, may_be_unknown: bool) -> Result<AttributeValues> {
    let name = &column.name;
    match &column.domain {
        Domain::Bool => Ok(AttributeValues::Truth),
        Domain::Category { values: Some(values) } => Ok(AttributeValues::Texts(values.clone())),
        Domain::Category { values: None } if may_be_unknown => Ok(AttributeValues::Unknown),
        Domain::Category { values: None } => Err(Error::input(format!(
            "column '{name}' needs its values: all possible ones, from public knowledge, as values = [ … ]"
        ))),
        Domain::Int { bounds: Some((lower, upper)) } if lower.abs_diff(*upper) < MOST_VALUES => {
            Ok(AttributeValues::Whole { lower: *lower, number: lower.abs_diff(*upper) as u32 + 1 })
        }
        Domain::Int { .. } | Domain::Float { .. } | Domain::Date { .. } | Domain::Timestamp { .. } => {
            Err(Error::input(format!(
                "column '{name}' must be a category, a bool, or an int with bounds that hold at most a million numbers"
            )))
        }
    }
}

/// The records of all owners.
pub(crate) struct Records {
    /// For each attribute, the code of each owner's value.
    pub columns: Vec<Vec<u32>>,
    /// For each attribute, the value of each code.
    pub values: Vec<Vec<Cell>>,
}

impl Records {
    /// How many there are.
    pub fn number(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }
}

/// Whose row it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum OwnerId {
    Number(i64),
    Text(Box<str>),
}

impl OwnerId {
    /// For keyed hashes of what an owner has.
    pub fn hash_into(&self, hasher: &mut SipHasher) {
        hash_into(hasher, self.name());
    }

    fn name(&self) -> Name<'_> {
        match self {
            Self::Number(number) => Name::Number(*number),
            Self::Text(text) => Name::Text(text.as_bytes()),
        }
    }
}

fn hash_into(hasher: &mut SipHasher, owner: Name<'_>) {
    match owner {
        Name::Number(number) => hasher.write_u64(number.cast_unsigned()),
        Name::Text(text) => {
            hasher.write(text);
            hasher.write_u64(text.len() as u64);
        }
    }
}

/// Takes in rows.
struct RecordsReader<'a> {
    attributes: &'a Attributes,
    key: Key,
    /// The codes of texts, by attribute.
    codes: Vec<HashMap<String, u32>>,
    /// The texts of the codes, where they were not known before.
    found: Vec<Vec<String>>,
    /// The records; where rows have owners, all of them are there only at the end.
    columns: Vec<Vec<u32>>,
    /// The rows of owners.
    owned: Option<RowsByOwner>,
}

impl<'a> RecordsReader<'a> {
    fn new(attributes: &'a Attributes, key: Key, backend: &Backend) -> Result<Self> {
        let known = |values: &AttributeValues| match values {
            AttributeValues::Texts(texts) => texts.iter().cloned().zip(0..).collect(),
            _ => HashMap::new(),
        };
        let number = attributes.names.len();
        let owned = match attributes.owners {
            Owners::Rows => None,
            _ => Some(RowsByOwner::new(key, number, &backend.memory)?),
        };
        Ok(Self {
            attributes,
            key,
            codes: attributes.values.iter().map(known).collect(),
            found: vec![Vec::new(); number],
            columns: vec![Vec::new(); number],
            owned,
        })
    }

    fn add(&mut self, batch: &RecordBatch) -> DataFusionResult<()> {
        let first = usize::from(self.attributes.owners != Owners::Rows);
        let mut rows: Vec<Vec<u32>> = Vec::with_capacity(self.columns.len());
        for (attribute, array) in batch.columns()[first..].iter().enumerate() {
            rows.push(self.encoded(attribute, array)?);
        }
        let Some(owned) = &mut self.owned else {
            self.columns.iter_mut().zip(rows).for_each(|(column, more)| column.extend(more));
            return Ok(());
        };
        for (row, owner) in names(batch.column(0))?.into_iter().enumerate() {
            // A row without an owner is nobody's.
            if let Some(owner) = owner {
                let taken = owned.push(owner, rows.iter().map(|column| i64::from(column[row])));
                taken.map_err(|LostRows| {
                    DataFusionError::ResourcesExhausted("no memory or disk for more rows".into())
                })?;
            }
        }
        Ok(())
    }

    fn encoded(&mut self, attribute: usize, array: &ArrayRef) -> DataFusionResult<Vec<u32>> {
        let (codes, found) = (&mut self.codes[attribute], &mut self.found[attribute]);
        let missing = match self.attributes.missing {
            MissingPolicy::Value => MISSING,
            MissingPolicy::Never => 0,
        };
        Ok(match &self.attributes.values[attribute] {
            AttributeValues::Truth => {
                let truths = array.as_boolean_opt().ok_or_else(|| unexpected(array))?;
                truths.iter().map(|truth| truth.map_or(missing, u32::from)).collect()
            }
            AttributeValues::Whole { lower, number } => {
                let code = |value: i64| (value.saturating_sub(*lower)).clamp(0, i64::from(*number) - 1) as u32;
                let numbers = array.as_primitive_opt::<Int64Type>().ok_or_else(|| unexpected(array))?;
                numbers.iter().map(|value| value.map_or(missing, code)).collect()
            }
            AttributeValues::Steps(steps) => steps.codes(array, missing)?,
            AttributeValues::Texts(_) => {
                let code = |text: &str| codes.get(text).copied().unwrap_or(missing);
                texts(array)?.into_iter().map(|text| text.map_or(missing, code)).collect()
            }
            AttributeValues::Unknown => {
                let mut code = |text: Option<&str>| match (text, self.attributes.missing) {
                    (None | Some(MISSING_TEXT), MissingPolicy::Value) => MISSING,
                    (text, _) => {
                        let text = text.unwrap_or_default();
                        *codes.entry(text.to_string()).or_insert_with(|| {
                            found.push(text.to_string());
                            found.len() as u32 - 1
                        })
                    }
                };
                texts(array)?.into_iter().map(&mut code).collect()
            }
        })
    }

    /// The record of an owner with these different rows, each with its number of copies.
    fn record(&self, owner: Name<'_>, rows: &[(&[i64], u64)], record: &mut Vec<u32>) {
        record.clear();
        let codes = |row: &[i64]| row.iter().map(|code| *code as u32).collect::<Vec<u32>>();
        if let [(only, _)] = rows {
            return record.extend(only.iter().map(|code| *code as u32));
        }
        if self.attributes.move_together() {
            let all = rows.iter().map(|(row, copies)| (codes(row), *copies));
            return record.extend(self.chosen(owner, 0, all));
        }
        for attribute in 0..self.columns.len() {
            let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
            for (row, copies) in rows {
                *counts.entry(row[attribute] as u32).or_default() += copies;
            }
            let all = counts.into_iter().map(|(code, copies)| (vec![code], copies));
            record.extend(self.chosen(owner, attribute, all));
        }
    }

    /// The values of attributes from `first` on that are chosen among these, by their ranks and how many rows have
    /// them.
    fn chosen(&self, owner: Name<'_>, first: usize, all: impl Iterator<Item = (Vec<u32>, u64)>) -> Vec<u32> {
        let ranked = all.map(|(codes, copies)| {
            let rank = self.rank(owner, first, &codes);
            (logarithm(rank, copies), rank, codes)
        });
        let best = ranked.max_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
        best.map(|(_, _, codes)| codes).unwrap_or_default()
    }

    /// The keyed hash of an owner and of values of attributes from `first` on.
    fn rank(&self, owner: Name<'_>, first: usize, codes: &[u32]) -> u64 {
        let mut hasher = SipHasher::new(self.key);
        hash_into(&mut hasher, owner);
        for (attribute, &code) in (first..).zip(codes) {
            hasher.write_u64(attribute as u64);
            match self.found[attribute].get(code as usize) {
                // Codes of unknown values depend on the order of rows, texts do not.
                Some(text) => {
                    hasher.write(text.as_bytes());
                    hasher.write_u64(text.len() as u64);
                }
                None => hasher.write_u64(u64::from(code)),
            }
        }
        hasher.finish()
    }

    fn finish(mut self) -> Result<Records> {
        if let Some(owned) = self.owned.take() {
            let (mut columns, mut record) = (vec![Vec::new(); self.columns.len()], Vec::new());
            let read = owned.each(|owner, rows| {
                self.record(owner, rows, &mut record);
                columns.iter_mut().zip(&record).for_each(|(column, code)| column.push(*code));
            });
            read.map_err(|LostRows| Error::machine("rows that did not fit the memory could not be read back"))?;
            self.columns = columns;
        }
        let mut values = Vec::new();
        for attribute in 0..self.columns.len() {
            let mut known = self.known_values(attribute);
            if self.attributes.missing == MissingPolicy::Value {
                let own = known.len() as u32;
                self.columns[attribute].iter_mut().filter(|code| **code == MISSING).for_each(|code| *code = own);
                known.push(Cell::Text(MISSING_TEXT.into()));
            }
            values.push(known);
        }
        Ok(Records { columns: self.columns, values })
    }

    /// The values of the codes; unknown ones are put into order first, so that nothing depends on the order of rows.
    fn known_values(&mut self, attribute: usize) -> Vec<Cell> {
        match &self.attributes.values[attribute] {
            AttributeValues::Unknown => {
                let mut order: Vec<(String, u32)> =
                    std::mem::take(&mut self.found[attribute]).into_iter().zip(0..).collect();
                order.sort();
                let mut place = vec![0u32; order.len()];
                order.iter().zip(0..).for_each(|((_, code), new)| place[*code as usize] = new);
                let column = &mut self.columns[attribute];
                column.iter_mut().filter(|code| **code != MISSING).for_each(|code| *code = place[*code as usize]);
                order.into_iter().map(|(text, _)| Cell::Text(text.into())).collect()
            }
            known => known.cells(),
        }
    }
}

/// ln u^{1/c} for the number u between 0 and 1 that a rank is.
fn logarithm(rank: u64, copies: u64) -> f64 {
    let number = ((rank >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    number.ln() / copies as f64
}

pub(crate) fn owners(column: &ArrayRef) -> DataFusionResult<Vec<Option<OwnerId>>> {
    if let Some(numbers) = column.as_primitive_opt::<Int64Type>() {
        return Ok(numbers.iter().map(|number| number.map(OwnerId::Number)).collect());
    }
    Ok(texts(column)?.into_iter().map(|text| text.map(|text| OwnerId::Text(text.into()))).collect())
}

/// The same, as they stand in the column.
fn names(column: &ArrayRef) -> DataFusionResult<Vec<Option<Name<'_>>>> {
    if let Some(numbers) = column.as_primitive_opt::<Int64Type>() {
        return Ok(numbers.iter().map(|number| number.map(Name::Number)).collect());
    }
    Ok(texts(column)?.into_iter().map(|text| text.map(|text| Name::Text(text.as_bytes()))).collect())
}

/// The texts of a column, in whichever form they are held.
fn texts(column: &ArrayRef) -> DataFusionResult<Vec<Option<&str>>> {
    match column.data_type() {
        DataType::Utf8 => Ok(column.as_string::<i32>().iter().collect()),
        DataType::LargeUtf8 => Ok(column.as_string::<i64>().iter().collect()),
        DataType::Utf8View => Ok(column.as_string_view().iter().collect()),
        _ => Err(unexpected(column)),
    }
}

/// A plan that gives a column in another type than its declared one.
pub(crate) fn unexpected(column: &ArrayRef) -> DataFusionError {
    DataFusionError::Internal(format!("a column of type {}", column.data_type()))
}

#[cfg(test)]
mod tests;
