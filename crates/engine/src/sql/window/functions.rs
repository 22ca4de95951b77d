//! The three functions that the text of the private plan needs, for backends that run it in tests.

use super::Outcome;
use crate::backend::bound::{group_rank, rise, row_rank};
use crate::backend::hash::Key;
use crate::sql::bounded::{KeyColumn, OwnerColumn, fingerprint, whole_numbers};
use datafusion::arrow::array::{ArrayRef, AsArray, Decimal128Array};
use datafusion::arrow::datatypes::{DataType, Decimal128Type};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::sync::Arc;

/// One of the three functions, with the secret in it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    name: &'static str,
    secret: (u64, u64),
    signature: Signature,
}

/// The three functions that the text needs, with the secret in them.
pub(crate) fn functions(key: Key) -> [ScalarUDF; 3] {
    ["scumble_group_rank", "scumble_row_rank", "scumble_rise"].map(|name| {
        let signature = Signature::variadic_any(Volatility::Immutable);
        ScalarUDF::new_from_impl(Function { name, secret: (key.0, key.1), signature })
    })
}

impl Function {
    fn number(&self, columns: &[ArrayRef], row: usize) -> Outcome<u64> {
        let ranks = |column: &ArrayRef| {
            let wide = datafusion::arrow::compute::cast(column, &DataType::Decimal128(38, 0));
            wide.map(|wide| wide.as_primitive::<Decimal128Type>().value(row) as u64).unwrap_or_default()
        };
        let key = Key(self.secret.0, self.secret.1);
        Ok(match self.name {
            "scumble_group_rank" => {
                let keys = columns[1..].iter().map(KeyColumn::of).collect::<Outcome<Vec<_>>>()?;
                let mut encoded = Vec::new();
                match keys.as_slice() {
                    [KeyColumn::Text(column)] => encoded.extend_from_slice(column.value(row).as_bytes()),
                    keys => keys.iter().for_each(|key| key.encode(row, &mut encoded)),
                }
                group_rank(key, OwnerColumn::of(&columns[0])?.at(row), fingerprint(key, &encoded))
            }
            "scumble_row_rank" => {
                let values = columns[1..].iter().map(|column| Ok(whole_numbers(column)?[row]));
                row_rank(key, ranks(&columns[0]), &values.collect::<Outcome<Vec<i64>>>()?)
            }
            _ => rise(key, ranks(&columns[0]), ranks(&columns[1])),
        })
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Outcome<DataType> {
        Ok(DataType::Decimal128(20, 0))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Outcome<ColumnarValue> {
        let rows = arguments.number_rows;
        let columns = arguments.args.iter().map(|column| {
            let array = column.to_array(rows)?;
            match array.data_type() {
                DataType::UInt64 => Ok(datafusion::arrow::compute::cast(&array, &DataType::Int64)?),
                DataType::Utf8View => Ok(datafusion::arrow::compute::cast(&array, &DataType::Utf8)?),
                _ => Ok(array),
            }
        });
        let columns = columns.collect::<Outcome<Vec<ArrayRef>>>()?;
        let numbers = (0..rows).map(|row| Ok(i128::from(self.number(&columns, row)?)));
        let numbers = Decimal128Array::from(numbers.collect::<Outcome<Vec<i128>>>()?);
        Ok(ColumnarValue::Array(Arc::new(numbers.with_precision_and_scale(20, 0)?)))
    }
}
