//! The rows of text files, of Arrow files and of memory as streams of batches for DataFusion.

use super::csv::{CsvRecords, RecordError};
use super::files::{DataFile, FileFormat};
use super::json::Lines;
use super::value::{WantedType, number, truth, whole};
use crate::calendar;
use crate::error::{DataFusionResult, Result};
use crate::project::{Layout, Zone};
use datafusion::arrow::array::{
    ArrayRef, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, RecordBatch, RecordBatchOptions,
    StringBuilder, TimestampNanosecondBuilder,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::ScalarValue;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use std::io::BufRead;
use std::sync::Arc;

/// The records of a text file, whatever its form.
pub(crate) enum TextRows {
    Csv(CsvRecords<Box<dyn BufRead + Send>>),
    Json(Lines<Box<dyn BufRead + Send>>),
}

impl TextRows {
    /// Before the first row of a file with these columns; some of them are wanted.
    pub fn open(
        file: &DataFile,
        columns: &[String],
        wanted: impl Fn(usize) -> Option<WantedType>,
    ) -> Result<std::result::Result<Self, RecordError>> {
        let input = file.text()?;
        Ok(match file.form {
            FileFormat::JsonLines => {
                let key =
                    |(place, key): (usize, &String)| wanted(place).map(|kind| (key.clone(), kind == WantedType::Text));
                Ok(Self::Json(Lines::new(input, columns.iter().enumerate().map(key).collect())))
            }
            _ => CsvRecords::new(input, &file.layout).and_then(|mut records| {
                // The line of names is no row.
                let names = file.layout.header.is_some() || records.advance()?;
                debug_assert!(names, "the names were read from here before");
                Ok(Self::Csv(records))
            }),
        })
    }

    /// Goes to the next row; false at the end.
    pub fn advance(&mut self) -> std::result::Result<bool, RecordError> {
        match self {
            Self::Csv(records) => records.advance(),
            Self::Json(lines) => lines.advance(),
        }
    }

    /// How many fields the row has, where rows may differ in that.
    pub fn width(&self) -> Option<usize> {
        match self {
            Self::Csv(records) => Some(records.fields().len()),
            Self::Json(_) => None,
        }
    }

    /// The line on which a field begins.
    pub fn line_of(&self, field: usize) -> u64 {
        match self {
            Self::Csv(records) => records.line_of(field),
            Self::Json(lines) => lines.line(),
        }
    }

    /// A field; none where it is not UTF-8.
    pub fn field(&self, place: usize) -> Option<&str> {
        match self {
            Self::Csv(records) => std::str::from_utf8(records.field(place)).ok(),
            Self::Json(lines) => Some(lines.value(place)),
        }
    }
}

/// Some columns of some files that are read one after the other.
#[derive(Debug)]
pub(crate) struct TextFiles {
    /// The columns.
    pub schema: SchemaRef,
    /// The files.
    pub files: Vec<DataFile>,
    /// For each column its place in every file.
    pub places: Vec<usize>,
    /// For each column what a text file must hold there.
    pub wanted: Vec<WantedType>,
    /// How many rows a batch has.
    pub batch: usize,
}

impl PartitionStream for TextFiles {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (schema, places, batch) = (self.schema.clone(), self.places.clone(), self.batch);
        let wanted = self.wanted.clone();
        let batches = self.files.clone().into_iter().flat_map(move |file| {
            let made: Box<dyn Iterator<Item = DataFusionResult<RecordBatch>> + Send> = match file.form {
                FileFormat::Arrow => of_arrow(&file, &schema, &places),
                FileFormat::Memory => of_memory(&file, &schema, &places, batch),
                _ => of_text(&file, schema.clone(), places.clone(), wanted.clone(), batch),
            };
            made
        });
        let stream = futures::stream::iter(batches);
        Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), stream))
    }
}

/// The reason is not shown: the check before has reported all that can be wrong with a file.
fn unreadable() -> DataFusionError {
    DataFusionError::Execution("a file cannot be read".to_string())
}

fn of_arrow(
    file: &DataFile,
    schema: &SchemaRef,
    places: &[usize],
) -> Box<dyn Iterator<Item = DataFusionResult<RecordBatch>> + Send> {
    let schema = schema.clone();
    match file.arrow(Some(places.to_vec())) {
        Err(_) => Box::new(std::iter::once(Err(unreadable()))),
        Ok(reader) => Box::new(reader.map(move |batch| {
            let batch = batch?;
            let column = |field: &Arc<datafusion::arrow::datatypes::Field>| {
                cast(batch.column_by_name(field.name()).ok_or_else(unreadable)?, field.data_type()).map_err(Into::into)
            };
            let columns = schema.fields().iter().map(column).collect::<DataFusionResult<Vec<ArrayRef>>>()?;
            of_columns(&schema, columns, batch.num_rows())
        })),
    }
}

fn of_memory(
    file: &DataFile,
    schema: &SchemaRef,
    places: &[usize],
    batch: usize,
) -> Box<dyn Iterator<Item = DataFusionResult<RecordBatch>> + Send> {
    let (schema, places) = (schema.clone(), places.to_vec());
    let Ok(rows) = file.batches() else { return Box::new(std::iter::once(Err(unreadable()))) };
    Box::new(rows.pieces(batch).map(move |piece| {
        let fields = schema.fields().iter().zip(&places);
        let columns = fields.map(|(field, place)| cast(piece.column(*place), field.data_type()).map_err(Into::into));
        of_columns(&schema, columns.collect::<DataFusionResult<Vec<ArrayRef>>>()?, piece.num_rows())
    }))
}

fn of_columns(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> DataFusionResult<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
}

fn of_text(
    file: &DataFile,
    schema: SchemaRef,
    places: Vec<usize>,
    kinds: Vec<WantedType>,
    batch: usize,
) -> Box<dyn Iterator<Item = DataFusionResult<RecordBatch>> + Send> {
    let wanted = |place: usize| {
        let column = places.iter().position(|other| *other == place)?;
        kinds.get(column).copied()
    };
    let opened = file.columns().and_then(|columns| {
        let names: Vec<String> = columns.into_iter().map(|(name, _)| name).collect();
        Ok((names.len(), TextRows::open(file, &names, wanted)?))
    });
    let Ok((width, Ok(mut rows))) = opened else { return Box::new(std::iter::once(Err(unreadable()))) };
    let layout = file.layout.clone();
    let mut ended = false;
    Box::new(std::iter::from_fn(move || {
        if ended {
            return None;
        }
        let made = next_batch(&mut rows, width, &schema, (&places, &kinds), batch, &layout);
        ended = !matches!(&made, Ok(made) if made.num_rows() == batch);
        match made {
            Ok(made) if made.num_rows() == 0 => None,
            made => Some(made),
        }
    }))
}

/// Up to `batch` rows; fewer at the end.
fn next_batch(
    rows: &mut TextRows,
    width: usize,
    schema: &SchemaRef,
    (places, kinds): (&[usize], &[WantedType]),
    batch: usize,
    layout: &Layout,
) -> DataFusionResult<RecordBatch> {
    let mut builders: Vec<ColumnBuilder> = kinds.iter().map(|wanted| ColumnBuilder::new(*wanted)).collect();
    let mut number = 0;
    while number < batch && rows.advance().map_err(|_| unreadable())? {
        if rows.width().is_some_and(|found| found != width) {
            return Err(unreadable());
        }
        for (builder, &place) in builders.iter_mut().zip(places) {
            builder.push(rows.field(place).ok_or_else(unreadable)?, layout).ok_or_else(unreadable)?;
        }
        number += 1;
    }
    of_columns(schema, builders.iter_mut().map(ColumnBuilder::finish).collect(), number)
}

impl WantedType {
    /// The value that a field has which [`WantedType::refuses`] does not refuse.
    pub fn constant(self, text: &str) -> DataFusionResult<ScalarValue> {
        let mut builder = ColumnBuilder::new(self);
        builder.push(text, &Layout::default()).ok_or_else(unreadable)?;
        ScalarValue::try_from_array(&builder.finish(), 0)
    }
}

/// Whether one of the words for a missing value is the same number.
fn stands_for(layout: &Layout, is_same: impl Fn(&str) -> bool) -> bool {
    layout.null.iter().any(|word| is_same(word))
}

/// A column in the making.
enum ColumnBuilder {
    Whole(Int64Builder),
    Number(Float64Builder),
    Truth(BooleanBuilder),
    Text(StringBuilder),
    Day(Date32Builder),
    Moment(TimestampNanosecondBuilder, Zone),
}

impl ColumnBuilder {
    fn new(wanted: WantedType) -> Self {
        match wanted {
            WantedType::Whole => Self::Whole(Int64Builder::new()),
            WantedType::Number => Self::Number(Float64Builder::new()),
            WantedType::Truth => Self::Truth(BooleanBuilder::new()),
            WantedType::Text => Self::Text(StringBuilder::new()),
            WantedType::Day => Self::Day(Date32Builder::new()),
            WantedType::Moment(zone) => Self::Moment(TimestampNanosecondBuilder::new(), zone),
        }
    }

    fn wanted(&self) -> WantedType {
        match self {
            Self::Whole(_) => WantedType::Whole,
            Self::Number(_) => WantedType::Number,
            Self::Truth(_) => WantedType::Truth,
            Self::Text(_) => WantedType::Text,
            Self::Day(_) => WantedType::Day,
            Self::Moment(_, zone) => WantedType::Moment(*zone),
        }
    }

    /// None for a field that the check would refuse.
    fn push(&mut self, text: &str, layout: &Layout) -> Option<()> {
        let text = self.wanted().kept(text, layout);
        let is_missing = layout.is_missing(text);
        match self {
            Self::Whole(builder) if is_missing => builder.append_null(),
            Self::Number(builder) if is_missing => builder.append_null(),
            Self::Truth(builder) if is_missing => builder.append_null(),
            Self::Text(builder) if is_missing => builder.append_null(),
            Self::Day(builder) if is_missing => builder.append_null(),
            Self::Moment(builder, _) if is_missing => builder.append_null(),
            // -99.0 is -99, however the word for a missing number is written.
            Self::Whole(builder) => {
                let number = whole(text, layout.decimal)?;
                builder.append_option(
                    Some(number)
                        .filter(|number| !stands_for(layout, |word| whole(word, layout.decimal) == Some(*number))),
                );
            }
            Self::Number(builder) => {
                let value = number(text, layout.decimal)?;
                builder.append_option(
                    Some(value)
                        .filter(|value| !stands_for(layout, |word| number(word, layout.decimal) == Some(*value))),
                );
            }
            Self::Truth(builder) => builder.append_value(truth(text)?),
            Self::Text(builder) => builder.append_value(text),
            Self::Day(builder) => builder.append_value(i32::try_from(calendar::day_within(calendar::day(text)?)).ok()?),
            Self::Moment(builder, zone) => builder.append_value(calendar::moment(text, *zone)?),
        }
        Some(())
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Whole(builder) => Arc::new(builder.finish()),
            Self::Number(builder) => Arc::new(builder.finish()),
            Self::Truth(builder) => Arc::new(builder.finish()),
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Day(builder) => Arc::new(builder.finish()),
            Self::Moment(builder, _) => Arc::new(builder.finish()),
        }
    }
}
