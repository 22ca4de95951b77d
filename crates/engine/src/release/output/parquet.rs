//! The published answer as a Parquet file and as a stream of Arrow's: the same columns as the CSV, with their types.

use crate::error::{Error, Result};
use crate::release::output::{AnswerColumn, Answers, Cell, ENDS, Uncertainty, unsigned_zero};
use datafusion::arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;
use std::io::Write;
use std::sync::Arc;

/// A Parquet file with the query's columns and, after each noisy one, `COLUMN_error`. Errors and ends of intervals are
/// infinite where nothing is known, and texts are those of the data.
pub(crate) fn write(answers: &Answers, out: impl Write + Send) -> Result<()> {
    let mut writer = ArrowWriter::try_new(out, batch(answers, &answers.columns)?.schema(), None).map_err(unwritable)?;
    answers.each_part(|part| batch(answers, part), |batch| writer.write(&batch).map_err(unwritable))?;
    writer.close().map(drop).map_err(unwritable)
}

/// The same columns as a stream of Arrow's.
pub fn arrow(answers: &Answers) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let schema = batch(answers, &answers.columns)?.schema();
    let mut writer = StreamWriter::try_new(&mut bytes, &schema).map_err(unwritable)?;
    answers.each_part(|part| batch(answers, part), |batch| writer.write(&batch).map_err(unwritable))?;
    writer.finish().map_err(unwritable)?;
    drop(writer);
    Ok(bytes)
}

fn batch(answers: &Answers, part: &[AnswerColumn]) -> Result<RecordBatch> {
    let mut columns: Vec<(String, ArrayRef, bool)> = Vec::new();
    for column in part {
        columns.push((column.name.clone(), values(column), true));
        if let Some(list) = &column.uncertainty {
            columns.push((format!("{}_error", column.name), Arc::new(errors(list)), true));
        }
        if let Some(list) = answers.interval(column) {
            let ends: [Float64Array; 2] =
                [list.iter().map(|one| known(one.low)).collect(), list.iter().map(|one| known(one.high)).collect()];
            for (name, end) in ENDS.iter().zip(ends) {
                columns.push((format!("{}{name}", column.name), Arc::new(end), true));
            }
        }
    }
    RecordBatch::try_from_iter_with_nullable(columns).map_err(unwritable)
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

/// Whole numbers where all are whole and fit, numbers where all are numbers (or would be, if there were any), truths,
/// and else texts.
fn values(column: &AnswerColumn) -> ArrayRef {
    let filled = || column.cells.iter().filter(|cell| **cell != Cell::Null);
    if filled().next().is_none() && column.uncertainty.is_some() {
        return Arc::new(Float64Array::new_null(column.cells.len()));
    }
    let whole = |cell: &Cell| match cell {
        Cell::Whole(number) => i64::try_from(*number).ok(),
        _ => None,
    };
    if filled().all(|cell| whole(cell).is_some()) && filled().next().is_some() {
        return Arc::new(column.cells.iter().map(whole).collect::<Int64Array>());
    }
    if filled().all(|cell| cell.number().is_some()) && filled().next().is_some() {
        let number = |cell: &Cell| cell.number().map(unsigned_zero);
        return Arc::new(column.cells.iter().map(number).collect::<Float64Array>());
    }
    if filled().all(|cell| matches!(cell, Cell::Truth(_))) && filled().next().is_some() {
        let truth = |cell: &Cell| if let Cell::Truth(truth) = cell { Some(*truth) } else { None };
        return Arc::new(column.cells.iter().map(truth).collect::<BooleanArray>());
    }
    let text = |cell: &Cell| match cell {
        Cell::Null => None,
        Cell::Text(text) => Some(text.to_string()),
        other => Some(other.text()),
    };
    Arc::new(column.cells.iter().map(text).collect::<StringArray>())
}

fn unwritable(error: impl std::fmt::Display) -> Error {
    Error::machine(format!("the answer cannot be written as a file of columns ({error})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::AsArray;
    use datafusion::arrow::datatypes::{Float64Type, Int64Type};
    use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReader;
    use std::io::Write;

    #[test]
    fn a_file_read_back_has_the_columns_of_the_csv() {
        let unsure = |standard_error| Uncertainty { standard_error, low: 0.0, high: 1.0 };
        let column =
            |name: &str, cells: Vec<Cell>, uncertainty| AnswerColumn { name: name.to_string(), cells, uncertainty };
        let answers = Answers {
            columns: vec![
                column("state", vec![Cell::Text("a,b".into()), Cell::Null], None),
                column("n", vec![Cell::Whole(-3), Cell::Whole(7)], Some(vec![unsure(1.5), unsure(f64::NAN)])),
                column("mean", vec![Cell::Number(0.5), Cell::Whole(2)], None),
                column("huge", vec![Cell::Whole(1 << 100), Cell::Null], None),
                column("old", vec![Cell::Truth(true), Cell::Null], None),
            ],
            notes: Vec::new(),
            details: crate::release::output::Details::default(),
        };
        let mut bytes = Vec::new();
        write(&answers, &mut bytes).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let mut reader = ParquetRecordBatchReader::try_new(file, 10).unwrap();
        let batch: RecordBatch = reader.next().unwrap().unwrap();
        let schema = batch.schema();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names.join(","), answers.csv().unwrap().lines().next().unwrap());
        assert_eq!(batch.column(0).as_string::<i32>().value(0), "a,b");
        assert!(batch.column(0).is_null(1));
        assert_eq!(batch.column(1).as_primitive::<Int64Type>().values(), &[-3, 7]);
        assert_eq!(batch.column(2).as_primitive::<Float64Type>().value(0), 1.5);
        assert!(batch.column(2).is_null(1));
        assert_eq!(batch.column(3).as_primitive::<Float64Type>().values(), &[0.5, 2.0]);
        assert_eq!(batch.column(4).as_primitive::<Float64Type>().value(0), (1u128 << 100) as f64);
        assert!(batch.column(5).as_boolean().value(0));
    }

    /// The story: two keys that differ in a control character were one key in the file, and where a quotient may be
    /// anything its interval was none.
    #[test]
    fn texts_are_those_of_the_data_and_ends_are_infinite() {
        let open = Uncertainty { standard_error: f64::INFINITY, low: f64::NEG_INFINITY, high: f64::INFINITY };
        let none = Uncertainty { standard_error: f64::NAN, low: f64::NAN, high: -0.0 };
        let texts = ["a\u{1}", "a\u{2401}"];
        let key = texts.iter().map(|text| Cell::Text((*text).into())).collect();
        let noisy =
            |name: &str, cells| AnswerColumn { name: name.to_string(), cells, uncertainty: Some(vec![open, none]) };
        let columns = vec![
            AnswerColumn { name: "k".to_string(), cells: key, uncertainty: None },
            noisy("q", vec![Cell::Number(-0.0), Cell::Number(0.5)]),
            noisy("none", vec![Cell::Null, Cell::Null]),
        ];
        let details = crate::release::output::Details { intervals: vec!["q".to_string()], ..Default::default() };
        let answers = Answers { columns, notes: Vec::new(), details };
        let found = batch(&answers, &answers.columns).unwrap();
        let column = |name: &str| found.column_by_name(name).unwrap().clone();
        assert_eq!(column("k").as_string::<i32>().iter().flatten().collect::<Vec<_>>(), texts);
        let numbers = |name: &str| column(name).as_primitive::<Float64Type>().iter().collect::<Vec<_>>();
        assert_eq!(numbers("q_low"), [Some(f64::NEG_INFINITY), None]);
        assert_eq!(numbers("q_high"), [Some(f64::INFINITY), Some(0.0)]);
        assert_eq!(numbers("q_error"), [Some(f64::INFINITY), None]);
        assert!(
            numbers("q")[0].is_some_and(f64::is_sign_positive)
                && numbers("q_high")[1].is_some_and(f64::is_sign_positive)
        );
        assert_eq!(numbers("none"), [None, None]);
    }
}
