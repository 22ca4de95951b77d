//! Whether the lengths in an Arrow file make sense. What reads such files asks for as much memory as they say, and a
//! process that asks for more than there is ends without a sentence.

use crate::file::identity;
use datafusion::arrow::ipc::reader::read_footer_length;
use datafusion::arrow::ipc::{Block, RecordBatch, root_as_footer, root_as_message};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// The number of bytes at the end of a file that say how long its footer is, the last ones a mark.
const END: u64 = 10;
/// What stands for a length where bytes are not compressed.
const AS_IT_IS: i64 = -1;

/// A file that was not written for so long has a time that the next writing will not have.
const SETTLED: Duration = Duration::from_secs(2);

/// Which file, how long, and when it was written last.
type FileStamp = (u64, u64, u64, SystemTime);

/// Files that were looked at: they are opened several times, and may have very many lists of rows.
static SOUND: Mutex<BTreeSet<FileStamp>> = Mutex::new(BTreeSet::new());

/// Something if all lengths are within the file, and what is compressed fits the memory.
pub(crate) fn check(path: &Path, file: &File) -> Option<()> {
    let found = file.metadata().ok()?;
    // What was written a moment ago may be written again without a later time.
    let time = found.modified().ok().filter(|time| time.elapsed().is_ok_and(|age| age > SETTLED));
    let state = identity(path).zip(time).map(|((device, number), time)| (device, number, found.len(), time));
    let sound = || SOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if state.is_some_and(|state| sound().contains(&state)) {
        return Some(());
    }
    check_all(file, found.len())?;
    sound().extend(state);
    Some(())
}

fn check_all(file: &File, length: u64) -> Option<()> {
    let start_of_end = length.checked_sub(END)?;
    let end: [u8; END as usize] = bytes(file, start_of_end, END)?.try_into().ok()?;
    let footer_length = u64::try_from(read_footer_length(end).ok()?).ok()?;
    let footer = bytes(file, start_of_end.checked_sub(footer_length)?, footer_length)?;
    let footer = root_as_footer(&footer).ok()?;
    let mut blocks = footer.dictionaries().into_iter().chain(footer.recordBatches()).flatten();
    blocks.try_for_each(|block| check_block(file, length, block))
}

/// One list of rows or one of values.
fn check_block(file: &File, length: u64, block: &Block) -> Option<()> {
    let (start, head) = (u64::try_from(block.offset()).ok()?, u64::try_from(block.metaDataLength()).ok()?);
    let (body, body_length) = (start.checked_add(head)?, u64::try_from(block.bodyLength()).ok()?);
    if body.checked_add(body_length)? > length {
        return None;
    }
    let head = bytes(file, start, head)?;
    // Before the message stands its length; in newer files a mark before that.
    let message = head.strip_prefix(&[0xff; 4]).unwrap_or(&head).get(4..)?;
    let message = root_as_message(message).ok()?;
    let rows = message.header_as_record_batch();
    let rows = rows.or_else(|| message.header_as_dictionary_batch().and_then(|values| values.data()))?;
    if rows.compression().is_some() { check_compressed(file, (body, body_length), rows) } else { Some(()) }
}

/// Each list of bytes says first how long it is when it is not compressed any more.
fn check_compressed(file: &File, (body, body_length): (u64, u64), rows: RecordBatch<'_>) -> Option<()> {
    for buffer in rows.buffers()? {
        let (start, length) = (u64::try_from(buffer.offset()).ok()?, u64::try_from(buffer.length()).ok()?);
        if start.checked_add(length)? > body_length {
            return None;
        }
        if length == 0 {
            continue;
        }
        let first: [u8; 8] = bytes(file, body + start, 8)?.try_into().ok()?;
        let full = i64::from_le_bytes(first);
        if full != AS_IT_IS {
            Vec::<u8>::new().try_reserve_exact(usize::try_from(full).ok()?).ok()?;
        }
    }
    Some(())
}

/// Some bytes of a file, if it has them.
fn bytes(mut file: &File, start: u64, length: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = Vec::new();
    let read = file.take(length).read_to_end(&mut bytes).ok()?;
    (read as u64 == length).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use crate::guarded::caught;
    use crate::project::Layout;
    use crate::tables::files::files;
    use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch as Rows, StringArray};
    use datafusion::arrow::ipc::CompressionType;
    use datafusion::arrow::ipc::writer::{FileWriter, IpcWriteOptions};
    use datafusion::parquet::arrow::ArrowWriter;
    use std::sync::Arc;

    fn written(compression: Option<CompressionType>) -> Vec<u8> {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..40));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..40).map(|n| format!("text {}", n % 7))));
        let rows = Rows::try_from_iter([("n", numbers), ("t", texts)]).unwrap();
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let mut bytes = Vec::new();
        let mut writer = FileWriter::try_new_with_options(&mut bytes, &rows.schema(), options).unwrap();
        writer.write(&rows).unwrap();
        writer.write(&rows).unwrap();
        writer.finish().unwrap();
        drop(writer);
        bytes
    }

    fn rows(folder: &std::path::Path, bytes: &[u8]) -> Option<usize> {
        let path = folder.join("t.arrow");
        std::fs::write(&path, bytes).unwrap();
        let file = &files(&path, &Layout::default()).unwrap()[0];
        let counted = caught(|| file.arrow(None).ok()?.try_fold(0, |rows, batch| Some(rows + batch.ok()?.num_rows())));
        counted.flatten()
    }

    /// The same of the end of a Parquet file, which has Arrow's kinds of its columns in it.
    #[test]
    fn a_damaged_end_of_a_parquet_file_is_refused_or_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..3));
        let rows = Rows::try_from_iter([("n", numbers)]).unwrap();
        let mut whole = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut whole, rows.schema(), None).unwrap();
        writer.write(&rows).unwrap();
        writer.close().unwrap();
        let mut refused = 0;
        for place in 0..whole.len() {
            for change in [0x01, 0x02, 0x20, 0x80] {
                let mut bytes = whole.clone();
                bytes[place] ^= change;
                std::fs::write(&path, bytes).unwrap();
                refused += usize::from(files(&path, &Layout::default()).unwrap()[0].columns().is_err());
            }
        }
        assert!(refused > 100, "{refused}");
    }

    /// One byte after the other is changed, in all bits or in the highest one: no such file ends the process.
    #[test]
    fn a_damaged_file_is_refused_or_read() {
        let folder = tempfile::tempdir().unwrap();
        for compression in [None, Some(CompressionType::ZSTD), Some(CompressionType::LZ4_FRAME)] {
            let whole = written(compression);
            assert_eq!(rows(folder.path(), &whole), Some(80));
            let mut refused = 0;
            for place in 0..whole.len() {
                for change in [0xff, 0x80] {
                    let mut bytes = whole.clone();
                    bytes[place] ^= change;
                    refused += usize::from(rows(folder.path(), &bytes).is_none());
                }
            }
            assert!(refused > 100, "{compression:?}: {refused}");
        }
    }
}
