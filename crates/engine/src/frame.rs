//! A public frame: what everybody knows about everybody, as a CSV file, and whom a predicate counts. No project and
//! nothing private is in it, so that messages may quote it.

use crate::error::{Error, Result};
use crate::room::with_room;
use crate::sql::analyse::limits::lexical::refuse_too_long_in;
use crate::tables::Backend;
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::error::DataFusionError;
use datafusion::prelude::{CsvReadOptions, SessionConfig};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use std::path::Path;

/// Longer predicates are not read.
const LONGEST: usize = 10_000;

/// The rows of a frame, one for each person, in the order of the file.
pub struct Frame {
    backend: Backend,
    schema: DFSchema,
    rows: Vec<RecordBatch>,
}

impl Frame {
    /// A CSV file with a line of names; types are those that its values have.
    pub fn open(path: &Path) -> Result<Self> {
        let backend = Backend::session(SessionConfig::new().with_target_partitions(1))?;
        if !path.is_file() {
            return Err(Error::input(format!("{}: there is no such file", path.display())));
        }
        let read = backend.wait(async {
            let options = CsvReadOptions::new().file_extension("").schema_infer_max_records(100_000);
            let frame = backend.context.read_csv(path.to_string_lossy().as_ref(), options).await?;
            let schema = frame.schema().clone();
            Ok::<_, DataFusionError>((schema, frame.collect().await?))
        });
        let (schema, rows) = read.map_err(|error| {
            Error::input(format!("{}: this is not a CSV file with a line of names ({})", path.display(), first(&error)))
        })?;
        let frame = Self { backend, schema, rows };
        match frame.people() {
            0 => Err(Error::input(format!("{}: this frame has no people", path.display()))),
            _ => Ok(frame),
        }
    }

    /// How many people it has.
    pub fn people(&self) -> usize {
        self.rows.iter().map(RecordBatch::num_rows).sum()
    }

    /// Whom a predicate in SQL counts, such as `age BETWEEN 20 AND 29 AND sex = 'f'`: the places of their rows, from 0.
    /// NULL counts as false.
    pub fn counted(&self, predicate: &str) -> Result<Vec<u32>> {
        if predicate.len() > LONGEST {
            return Err(Error::input(format!("a predicate has at most {LONGEST} characters, not {}", predicate.len())));
        }
        // A short predicate can be nested so that its parse takes for ever.
        refuse_too_long_in(predicate, &GenericDialect {})?;
        let (mut members, mut before) = (Vec::new(), 0);
        let found = with_room(|| {
            let state = self.backend.context.state();
            let parsed = self.backend.context.parse_sql_expr(predicate, &self.schema)?;
            let expression = state.create_physical_expr(parsed, &self.schema)?;
            for rows in &self.rows {
                let column = expression.evaluate(rows)?.into_array(rows.num_rows())?;
                if *column.data_type() != DataType::Boolean {
                    return Err(DataFusionError::Plan("it is not true or false".to_string()));
                }
                let is_counted = column.as_boolean();
                let here = (0..rows.num_rows()).filter(|row| is_counted.is_valid(*row) && is_counted.value(*row));
                members.extend(here.map(|row| before + row as u32));
                before += rows.num_rows() as u32;
            }
            Ok(())
        });
        match found {
            Ok(()) => Ok(members),
            Err(error) => Err(Error::input(format!(
                "'{}' is not a predicate over this frame: {}",
                short(predicate),
                first(&error)
            ))),
        }
    }
}

/// The first line of what DataFusion says.
fn first(error: &DataFusionError) -> String {
    let said = error.strip_backtrace();
    short(said.lines().next().unwrap_or_default().trim_end_matches('.'))
}

fn short(text: &str) -> String {
    let start: String = text.chars().take(200).collect();
    if start.len() < text.len() { start + "…" } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A predicate of 200 bytes, `CAST(CAST(…`, was parsed for ever: it was measured by its length alone.
    #[test]
    fn a_predicate_is_measured_before_it_is_parsed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("frame.csv");
        std::fs::write(&path, "age\n20\n30\n").unwrap();
        let frame = Frame::open(&path).unwrap();
        let refused = frame.counted(&"CAST(".repeat(40)).unwrap_err().to_string();
        assert!(refused.contains("nested too deeply"), "{refused}");
        assert_eq!(frame.counted("CAST(CAST(age AS FLOAT) AS INT) > 20").unwrap(), [1]);
    }
}
