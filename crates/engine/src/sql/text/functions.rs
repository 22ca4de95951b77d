//! The one function that the text for DataFusion needs and that DataFusion, as we build it, does not have.

use crate::error::DataFusionResult;
use datafusion::arrow::array::{AsArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::sync::Arc;

/// `scumble_sha256(text)`: the hash in hexadecimal.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Sha256 {
    signature: Signature,
}

/// The function.
pub(crate) fn sha256() -> ScalarUDF {
    ScalarUDF::new_from_impl(Sha256 { signature: Signature::any(1, Volatility::Immutable) })
}

impl ScalarUDFImpl for Sha256 {
    fn name(&self) -> &str {
        "scumble_sha256"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DataFusionResult<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let texts = cast(&arguments.args[0].to_array(arguments.number_rows)?, &DataType::Utf8)?;
        let hashed = |text: Option<&str>| text.map(|text| crate::digest(text.as_bytes()));
        let hashes: StringArray = texts.as_string::<i32>().iter().map(hashed).collect();
        Ok(ColumnarValue::Array(Arc::new(hashes)))
    }
}
