//! The columns of a file.

use super::files::{DataFile, FileFormat};
use super::json;
use crate::error::{Error, Result};
use datafusion::arrow::datatypes::{DataType, SchemaRef};

impl DataFile {
    /// The names of its columns, and their types where the file says them.
    pub fn columns(&self) -> Result<Vec<(String, Option<DataType>)>> {
        let typed = |schema: &SchemaRef| {
            let fields = schema.fields().iter();
            fields.map(|field| (field.name().clone(), Some(field.data_type().clone()))).collect::<Vec<_>>()
        };
        let columns = match self.form {
            FileFormat::Csv => self.header()?.into_iter().map(|name| (name, None)).collect(),
            FileFormat::JsonLines => json::keys(self)?.into_iter().map(|name| (name, None)).collect(),
            FileFormat::Arrow => typed(&self.arrow(None)?.schema()),
            FileFormat::Parquet => typed(self.footer()?.schema()),
            FileFormat::Memory => typed(self.batches()?.schema()),
        };
        let mut places: Vec<(&str, usize)> =
            columns.iter().zip(1..).map(|((name, _), place)| (name.as_str(), place)).collect();
        places.sort_unstable();
        // Several columns without a name do no harm: nobody can mean them. The names are not said: without a line of
        // names they are values.
        if let Some(twice) = places.windows(2).find(|pair| pair[0].0 == pair[1].0 && !pair[0].0.is_empty()) {
            let (one, other) = (twice[0].1, twice[1].1);
            let hint = if self.form == FileFormat::Csv {
                "; if the file has no line of names, set header = [\"…\"] for the table"
            } else {
                ""
            };
            return Err(Error::input(format!(
                "{}: columns {one} and {other} have the same name{hint}",
                self.path.display()
            )));
        }
        Ok(columns)
    }
}
