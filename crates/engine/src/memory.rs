//! Rows that a program already has in memory, as Arrow writes them: what a data frame hands over in the place of a
//! file.
//!
//! They are bytes that nobody changes any more. A later change of the frame changes nothing here, so every query reads
//! what was checked; and nothing of them is ever written to a disk.

use crate::error::{Error, Result};
use bytes::Bytes;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::reader::StreamDecoder;
use std::fmt;
use std::sync::Arc;

/// The rows of one table in memory; a clone shares them.
#[derive(Clone)]
pub struct Batches {
    schema: SchemaRef,
    batches: Arc<Vec<RecordBatch>>,
    digest: String,
    bytes: u64,
}

impl Batches {
    /// From a stream in Arrow's IPC format, whose bytes are used where they are. Each value is validated where its type
    /// has invalid ones (texts, offsets, dictionaries).
    pub fn of_stream(bytes: impl Into<Bytes>) -> Result<Self> {
        let bytes: Bytes = bytes.into();
        // BLAKE3, because rows in memory are not compressed as those of Parquet files are, and a slow digest would be
        // most of a session.
        let (digest, length) = (blake3::hash(&bytes).to_string(), bytes.len() as u64);
        // The decoder panics where a schema names a type that it does not know.
        let decoded = std::panic::catch_unwind(|| decoded(bytes)).ok().flatten();
        let (schema, batches) = decoded.ok_or_else(|| {
            Error::input(
                "the rows in memory are not a stream of Arrow's IPC format, or are damaged, or have a type \
                that is not supported",
            )
        })?;
        Ok(Self { schema, batches: Arc::new(batches), digest, bytes: length })
    }

    /// The columns.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.batches.iter().map(|batch| batch.num_rows() as u64).sum()
    }

    /// BLAKE3 of the stream that they were read from, hexadecimal, and its length.
    pub(crate) fn digest(&self) -> (&str, u64) {
        (&self.digest, self.bytes)
    }

    /// The rows in pieces of at most this many, without a copy.
    pub(crate) fn pieces(&self, most: usize) -> impl Iterator<Item = RecordBatch> + Send + use<> {
        let (all, most) = (Arc::clone(&self.batches), most.max(1));
        (0..all.len()).flat_map(move |index| {
            let batch = all[index].clone();
            let starts = (0..batch.num_rows()).step_by(most);
            starts.map(move |start| batch.slice(start, most.min(batch.num_rows() - start)))
        })
    }
}

fn decoded(bytes: Bytes) -> Option<(SchemaRef, Vec<RecordBatch>)> {
    let (mut rest, mut decoder) = (Buffer::from(bytes), StreamDecoder::new());
    let mut batches = Vec::new();
    while let Some(batch) = decoder.decode(&mut rest).ok()? {
        batches.push(batch);
    }
    decoder.finish().ok()?;
    Some((decoder.schema()?, batches))
}

/// Never a value.
impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batches({} columns, {} rows)", self.schema.fields().len(), self.rows())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Int64Array, StringArray};
    use datafusion::arrow::ipc::writer::StreamWriter;

    fn stream(numbers: &[i64]) -> Vec<u8> {
        let texts = StringArray::from_iter_values(numbers.iter().map(ToString::to_string));
        let columns: [(&str, datafusion::arrow::array::ArrayRef); 2] =
            [("n", Arc::new(Int64Array::from(numbers.to_vec()))), ("t", Arc::new(texts))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        writer.into_inner().unwrap()
    }

    #[test]
    fn what_was_written_is_read_in_pieces() {
        let rows = Batches::of_stream(stream(&[1, 2, 3, 4, 5])).unwrap();
        assert_eq!((rows.rows(), rows.schema().fields().len()), (5, 2));
        assert_eq!(rows.pieces(2).map(|piece| piece.num_rows()).collect::<Vec<_>>(), [2, 2, 1]);
        assert_eq!(Batches::of_stream(stream(&[])).unwrap().rows(), 0);
        assert_eq!(format!("{rows:?}"), "Batches(2 columns, 5 rows)");
    }

    #[test]
    fn a_stream_that_is_cut_or_changed_is_refused() {
        let whole = stream(&[1, 2, 3]);
        // The last eight bytes say that it ends: without them all rows are there.
        for end in [0, 7, whole.len() / 2, whole.len() - 20] {
            assert!(Batches::of_stream(whole[..end].to_vec()).is_err(), "{end} of {} bytes", whole.len());
        }
        assert!(Batches::of_stream(b"id,age\n1,2\n".to_vec()).is_err());
    }
}
