//! Reports from a file or from standard input, of any length, in blocks of whole lines.

use crate::failure::Failure;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Longer lines are no reports of any oracle.
const BLOCK: usize = 1 << 21;

/// Gives every block of whole lines to `take`, without its last line break; returns how many lines were too long to be
/// reports.
pub fn blocks(path: &Path, mut take: impl FnMut(&[u8])) -> Result<u64, Failure> {
    let failed = |error: std::io::Error| Failure::Input(format!("{}: {error}", path.display()));
    let mut source: Box<dyn Read> = match path.as_os_str() == "-" {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(File::open(path).map_err(failed)?),
    };
    let mut held = vec![0; BLOCK];
    let (mut length, mut skipping, mut too_long) = (0, false, 0);
    loop {
        let read = match source.read(&mut held[length..]) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read.map_err(failed)?,
        };
        if read == 0 {
            break;
        }
        length += read;
        let mut start = 0;
        if skipping {
            let Some(end) = held[..length].iter().position(|letter| *letter == b'\n') else {
                length = 0;
                continue;
            };
            (start, skipping) = (end + 1, false);
        }
        if let Some(end) = held[start..length].iter().rposition(|letter| *letter == b'\n') {
            take(&held[start..start + end]);
            start += end + 1;
        } else if length - start == BLOCK {
            (start, skipping) = (length, true);
            too_long += 1;
        }
        held.copy_within(start..length, 0);
        length -= start;
    }
    if length > 0 && !skipping {
        take(&held[..length]);
    }
    Ok(too_long)
}
