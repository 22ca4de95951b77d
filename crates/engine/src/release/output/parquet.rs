//! The published answer as a Parquet file and as a stream of Arrow's: the same columns as the CSV, with their types.

use super::column_kind::{day, moment, truth, whole};
use crate::error::{Error, Result};
use crate::release::output::{AnswerColumn, Answers, Cell, ColumnKind, Uncertainty, unsigned_zero};
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, StringArray, TimestampNanosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::metadata::KeyValue;
use datafusion::parquet::file::properties::WriterProperties;
use std::io::Write;
use std::sync::Arc;

/// A Parquet file with the query's columns and, after each noisy one, its standard error and the ends of its interval,
/// which are infinite where nothing is known. Texts are those of the data. `facts` stand beside the columns.
pub(crate) fn write(answers: &Answers, facts: &[(String, String)], out: impl Write + Send) -> Result<()> {
    let table = TypedTable::of(answers);
    let facts = facts.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
    let properties = WriterProperties::builder().set_key_value_metadata(Some(facts)).build();
    let schema = Arc::clone(&table.schema);
    let mut writer = ArrowWriter::try_new(out, schema, Some(properties)).map_err(unwritable)?;
    answers.each_part(|part| table.batch(part), |batch| writer.write(&batch).map_err(unwritable))?;
    writer.close().map(drop).map_err(unwritable)
}

/// The same columns as a stream of Arrow's.
pub fn arrow(answers: &Answers) -> Result<Vec<u8>> {
    let table = TypedTable::of(answers);
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &table.schema).map_err(unwritable)?;
    answers.each_part(|part| table.batch(part), |batch| writer.write(&batch).map_err(unwritable))?;
    writer.finish().map_err(unwritable)?;
    drop(writer);
    Ok(bytes)
}

/// What the columns of an answer are, in all of its parts.
struct TypedTable {
    kinds: Vec<ColumnKind>,
    schema: SchemaRef,
}

impl TypedTable {
    fn of(answers: &Answers) -> Self {
        let kinds: Vec<ColumnKind> = answers.columns.iter().map(|column| answers.kind(column)).collect();
        let mut fields = Vec::new();
        for ((column, kind), beside) in answers.columns.iter().zip(&kinds).zip(answers.names_beside()) {
            fields.push(Field::new(&column.name, data_type(*kind), true));
            fields.extend(beside.into_iter().flatten().map(|name| Field::new(name, DataType::Float64, true)));
        }
        Self { kinds, schema: Arc::new(Schema::new(fields)) }
    }

    fn batch(&self, part: &[AnswerColumn]) -> Result<RecordBatch> {
        let mut columns: Vec<ArrayRef> = Vec::new();
        for (column, kind) in part.iter().zip(&self.kinds) {
            columns.push(array(*kind, &column.cells)?);
            if let Some(list) = &column.uncertainty {
                let end =
                    |end: fn(&Uncertainty) -> f64| list.iter().map(|one| known(end(one))).collect::<Float64Array>();
                columns.extend(
                    [errors(list), end(|one| one.low), end(|one| one.high)].map(|end| Arc::new(end) as ArrayRef),
                );
            }
        }
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(unwritable)
    }
}

/// The errors as they are published. Rounding one takes longer than all else, and all cells of a table of marginals
/// have the same.
fn errors(list: &[Uncertainty]) -> Float64Array {
    let (mut last, mut published) = (f64::NAN, f64::NAN);
    let one = |one: &Uncertainty| {
        if last.to_bits() != one.standard_error.to_bits() {
            (last, published) = (one.standard_error, one.published_error());
        }
        known(published)
    };
    list.iter().map(one).collect()
}

/// A number, infinite ones among them.
fn known(number: f64) -> Option<f64> {
    Some(unsigned_zero(number)).filter(|number| !number.is_nan())
}

fn data_type(kind: ColumnKind) -> DataType {
    match kind {
        ColumnKind::Whole => DataType::Int64,
        ColumnKind::Number => DataType::Float64,
        ColumnKind::Truth => DataType::Boolean,
        ColumnKind::Text => DataType::Utf8,
        ColumnKind::Day => DataType::Date32,
        ColumnKind::Moment => DataType::Timestamp(TimeUnit::Nanosecond, None),
    }
}

/// Cells as values of a kind.
fn array(kind: ColumnKind, cells: &[Cell]) -> Result<ArrayRef> {
    Ok(match kind {
        ColumnKind::Whole => Arc::new(typed(cells, whole)?.into_iter().collect::<Int64Array>()),
        ColumnKind::Number => {
            let number = |cell: &Cell| cell.number().map(unsigned_zero);
            Arc::new(typed(cells, number)?.into_iter().collect::<Float64Array>())
        }
        ColumnKind::Truth => Arc::new(typed(cells, truth)?.into_iter().collect::<BooleanArray>()),
        ColumnKind::Day => Arc::new(typed(cells, day)?.into_iter().collect::<Date32Array>()),
        ColumnKind::Moment => Arc::new(typed(cells, moment)?.into_iter().collect::<TimestampNanosecondArray>()),
        ColumnKind::Text => Arc::new(typed(cells, |cell| Some(text(cell)))?.into_iter().collect::<StringArray>()),
    })
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => text.to_string(),
        other => other.text(),
    }
}

fn typed<T>(cells: &[Cell], read: impl Fn(&Cell) -> Option<T>) -> Result<Vec<Option<T>>> {
    let one = |cell: &Cell| match cell {
        Cell::Null => Ok(None),
        cell => read(cell).map(Some).ok_or_else(|| unwritable("a cell of another type")),
    };
    cells.iter().map(one).collect()
}

fn unwritable(error: impl std::fmt::Display) -> Error {
    Error::machine(format!("the answer cannot be written as a file of columns ({error})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::output::Details;
    use datafusion::arrow::array::{Array, AsArray};
    use datafusion::arrow::datatypes::{Date32Type, Float64Type, Int64Type, TimestampNanosecondType};
    use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use std::io::Write;

    fn column(name: &str, cells: Vec<Cell>, uncertainty: Option<Vec<Uncertainty>>) -> AnswerColumn {
        AnswerColumn { name: name.to_string(), cells, uncertainty }
    }

    fn answers(columns: Vec<AnswerColumn>) -> Answers {
        Answers { columns, notes: Vec::new(), details: Details::default() }
    }

    /// What a reader of the file finds: its rows, and what stands beside them.
    fn read_back(answers: &Answers, facts: &[(String, String)]) -> (RecordBatch, Vec<KeyValue>) {
        let mut bytes = Vec::new();
        write(answers, facts, &mut bytes).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let beside = builder.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
        (builder.build().unwrap().next().unwrap().unwrap(), beside)
    }

    #[test]
    fn a_file_read_back_has_the_columns_of_the_csv() {
        let unsure = |standard_error| Uncertainty { standard_error, low: 0.25, high: 1.0 };
        let answers = answers(vec![
            column("state", vec![Cell::Text("a,b".into()), Cell::Null], None),
            column("n", vec![Cell::Whole(-3), Cell::Whole(7)], Some(vec![unsure(1.5), Uncertainty::UNKNOWN])),
            column("mean", vec![Cell::Number(0.5), Cell::Whole(2)], None),
            column("huge", vec![Cell::Whole(1 << 100), Cell::Null], None),
            column("old", vec![Cell::Truth(true), Cell::Null], None),
        ]);
        let facts = [("scumble.release".to_string(), "by state".to_string())];
        let (batch, beside) = read_back(&answers, &facts);
        let schema = batch.schema();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names.join(","), answers.csv().unwrap().lines().next().unwrap());
        let number = |place: usize| batch.column(place).as_primitive::<Float64Type>();
        assert_eq!(batch.column(0).as_string::<i32>().value(0), "a,b");
        assert!(batch.column(0).is_null(1));
        assert_eq!(batch.column(1).as_primitive::<Int64Type>().values(), &[-3, 7]);
        assert_eq!([2, 3, 4].map(|place| number(place).value(0)), [1.5, 0.25, 1.0]);
        assert!([2, 3, 4].iter().all(|place| batch.column(*place).is_null(1)));
        assert_eq!(number(5).values(), &[0.5, 2.0]);
        assert_eq!(number(6).value(0), (1u128 << 100) as f64);
        assert!(batch.column(7).as_boolean().value(0));
        assert!(beside.iter().any(|one| one.key == facts[0].0 && one.value.as_deref() == Some(&facts[0].1)));
    }

    /// The story: dates were strings, and a column without values was one of strings, which no reader joins with the
    /// integers of last year.
    #[test]
    fn a_column_has_its_type_also_without_values() {
        let texts = |list: &[&str]| list.iter().map(|text| Cell::Text((*text).into())).collect::<Vec<_>>();
        let mut answers = answers(vec![
            column("day", texts(&["1970-01-11", "2025-12-31"]), None),
            column("begins", texts(&["1970-01-01T00:00:01", "1970-01-01T00:00:02.5"]), None),
            column("age", vec![Cell::Null; 2], None),
            column("mean", vec![Cell::Whole(3), Cell::Null], None),
            // A value that is none of the column's type keeps its own.
            column("week", texts(&["2025-12-29", "(missing)"]), None),
            column("m", vec![Cell::Null; 2], Some(vec![Uncertainty::UNKNOWN; 2])),
        ]);
        let kinds = [
            ("day", ColumnKind::Day),
            ("begins", ColumnKind::Moment),
            ("age", ColumnKind::Whole),
            ("mean", ColumnKind::Number),
            ("week", ColumnKind::Day),
        ];
        answers.know_kinds(kinds.map(|(name, kind)| (name.to_string(), kind)));
        let (batch, _) = read_back(&answers, &[]);
        let found = |name: &str| batch.column_by_name(name).unwrap().clone();
        assert_eq!(found("day").as_primitive::<Date32Type>().value(0), 10);
        let begins = found("begins");
        assert_eq!(begins.as_primitive::<TimestampNanosecondType>().values(), &[1_000_000_000, 2_500_000_000]);
        assert_eq!((found("age").data_type(), found("age").null_count()), (&DataType::Int64, 2));
        assert_eq!(found("mean").data_type(), &DataType::Float64);
        assert_eq!(found("week").data_type(), &DataType::Utf8);
        assert_eq!(found("m").data_type(), &DataType::Float64);
    }

    /// The story: two keys that differ in a control character were one key in the file, and where a quotient may be
    /// anything its interval was none.
    #[test]
    fn texts_are_those_of_the_data_and_ends_are_infinite() {
        let open = Uncertainty { standard_error: f64::INFINITY, low: f64::NEG_INFINITY, high: f64::INFINITY };
        let none = Uncertainty { high: -0.0, ..Uncertainty::UNKNOWN };
        let texts = ["a\u{1}", "a\u{2401}"];
        let key = texts.iter().map(|text| Cell::Text((*text).into())).collect();
        let noisy = |name: &str, cells| column(name, cells, Some(vec![open, none]));
        let answers = answers(vec![
            column("k", key, None),
            noisy("q", vec![Cell::Number(-0.0), Cell::Number(0.5)]),
            noisy("none", vec![Cell::Null, Cell::Null]),
        ]);
        let (found, _) = read_back(&answers, &[]);
        let column = |name: &str| found.column_by_name(name).unwrap().clone();
        assert_eq!(column("k").as_string::<i32>().iter().flatten().collect::<Vec<_>>(), texts);
        let numbers = |name: &str| column(name).as_primitive::<Float64Type>().iter().collect::<Vec<_>>();
        assert_eq!(numbers("q_low"), [Some(f64::NEG_INFINITY), None]);
        assert_eq!(numbers("q_high"), [Some(f64::INFINITY), Some(0.0)]);
        assert_eq!(numbers("q_se"), [Some(f64::INFINITY), None]);
        assert!(
            numbers("q")[0].is_some_and(f64::is_sign_positive)
                && numbers("q_high")[1].is_some_and(f64::is_sign_positive)
        );
        assert_eq!(numbers("none"), [None, None]);
    }
}
