//! Rows that do not fit the memory: an encrypted temporary file.
//!
//! The file has no name as soon as it is open, where the system allows that (Unix), so that nothing is left of it
//! whatever becomes of this process; elsewhere it is removed with the last use, and what a crash leaves is removed by
//! the next start ([`remove_left_over`]). What is written is a chunk of any length, encrypted with ChaCha20: the key is
//! drawn for each file and is in memory alone, and the nonce is the chunk's place in the file, at which nothing else is
//! ever written. Behind each chunk stands its tag: SipHash-2-4, with a second key, of its place, its length and what is
//! written. A chunk whose tag is another is not read.

use super::hash::{Key, SipHasher};
use super::memory::Memory;
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use scumble::noise::{BitSource, SecureSource};
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use zeroize::Zeroizing;

/// How the file's name begins, while it has one.
const NAME: &str = ".scumble-rows-";
/// The length of a tag.
const TAG: usize = 8;

/// A temporary file; it is made with the first chunk.
pub(crate) struct Spill {
    folders: Vec<PathBuf>,
    most: u64,
    key: Zeroizing<[u8; 32]>,
    tags: Key,
    number: u64,
    state: Mutex<SpillState>,
}

#[derive(Default)]
struct SpillState {
    file: Option<File>,
    /// Its name, where it still has one.
    named: Option<PathBuf>,
    end: u64,
}

/// Where a chunk is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk {
    place: u64,
    length: u32,
}

impl Spill {
    /// With keys of its own from the system; no file yet.
    pub fn new(memory: &Memory) -> scumble::Result<Self> {
        let mut bits = SecureSource::new()?;
        let mut key = Zeroizing::new([0; 32]);
        key.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&bits.next_u64().to_le_bytes()));
        #[cfg(test)]
        let most = memory.disk;
        #[cfg(not(test))]
        let most = u64::MAX;
        Ok(Self {
            folders: memory.folders.clone(),
            most,
            key,
            tags: Key(bits.next_u64(), bits.next_u64()),
            number: bits.next_u64(),
            state: Mutex::default(),
        })
    }

    /// Writes a chunk; the bytes are another text afterwards.
    pub fn write(&self, bytes: &mut Vec<u8>) -> Result<Chunk> {
        let length = u32::try_from(bytes.len()).map_err(|_| Error::from(ErrorKind::FileTooLarge))?;
        let place = {
            let mut state = self.state();
            let place = state.end;
            state.end += bytes.len() as u64 + TAG as u64;
            place
        };
        let chunk = Chunk { place, length };
        self.cipher(place).apply_keystream(bytes);
        let tag = self.tag(chunk, bytes);
        bytes.extend_from_slice(&tag);
        if place + bytes.len() as u64 > self.most {
            return Err(Error::from(ErrorKind::StorageFull));
        }
        let mut state = self.state();
        let mut file = self.file(&mut state)?;
        file.seek(SeekFrom::Start(place))?;
        file.write_all(bytes)?;
        Ok(chunk)
    }

    /// Reads a chunk into `bytes`.
    pub fn read(&self, chunk: Chunk, bytes: &mut Vec<u8>) -> Result<()> {
        bytes.clear();
        bytes.resize(chunk.length as usize + TAG, 0);
        {
            let mut state = self.state();
            let mut file = self.file(&mut state)?;
            file.seek(SeekFrom::Start(chunk.place))?;
            file.read_exact(bytes)?;
        }
        let tag = bytes.split_off(chunk.length as usize);
        if tag != self.tag(chunk, bytes) {
            return Err(Error::from(ErrorKind::InvalidData));
        }
        self.cipher(chunk.place).apply_keystream(bytes);
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, SpillState> {
        // A thread that died holding it has failed the whole query.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file, made if there is none yet.
    fn file<'s>(&self, state: &'s mut SpillState) -> Result<&'s File> {
        if state.file.is_none() {
            let (file, path) = self.made()?;
            // On Unix a file lives on without its name as long as it is open.
            let is_gone = cfg!(unix) && std::fs::remove_file(&path).is_ok();
            (state.file, state.named) = (Some(file), (!is_gone).then_some(path));
        }
        state.file.as_ref().ok_or_else(|| Error::from(ErrorKind::NotFound))
    }

    /// A new file in the first folder in which one can be made.
    fn made(&self) -> Result<(File, PathBuf)> {
        let mut failed = Error::from(ErrorKind::NotFound);
        for folder in &self.folders {
            let path = folder.join(format!("{NAME}{:016x}", self.number));
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            match options.open(&path) {
                Ok(file) => return Ok((file, path)),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn cipher(&self, place: u64) -> ChaCha20 {
        let mut nonce = [0; 12];
        nonce[..8].copy_from_slice(&place.to_le_bytes());
        ChaCha20::new(&(*self.key).into(), &nonce.into())
    }

    fn tag(&self, chunk: Chunk, bytes: &[u8]) -> [u8; TAG] {
        let mut hasher = SipHasher::new(self.tags);
        hasher.write_u64(chunk.place);
        hasher.write_u64(u64::from(chunk.length));
        hasher.write(bytes);
        hasher.finish().to_le_bytes()
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        let mut state = self.state();
        drop(state.file.take());
        if let Some(path) = state.named.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Removes what a crash left in a folder. A file that another process still has open lives on without its name.
pub(crate) fn remove_left_over(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(NAME)) {
        let _ = std::fs::remove_file(entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(folder: &Path, disk: u64) -> Memory {
        Memory { bytes: 0, folders: vec![folder.to_path_buf()], disk }
    }

    fn entries(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn chunks_come_back_and_no_name_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let spill = Spill::new(&memory(folder.path(), u64::MAX)).unwrap();
        assert_eq!(entries(folder.path()), 0, "no file before the first chunk");
        let texts: Vec<Vec<u8>> = (0..50usize).map(|i| (0..i * 37).map(|j| (i * j) as u8).collect()).collect();
        let chunks: Vec<Chunk> = texts.iter().map(|text| spill.write(&mut text.clone()).unwrap()).collect();
        #[cfg(unix)]
        assert_eq!(entries(folder.path()), 0, "a crash now would leave nothing");
        let mut bytes = Vec::new();
        for (text, chunk) in texts.iter().zip(&chunks).rev() {
            spill.read(*chunk, &mut bytes).unwrap();
            assert_eq!(&bytes, text);
        }
        drop(spill);
        assert_eq!(entries(folder.path()), 0);
    }

    /// What is on the disk shows nothing: equal texts are written differently, and none of their bytes stand there in a
    /// row.
    #[test]
    fn what_is_written_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let spill = Spill::new(&memory(folder.path(), u64::MAX)).unwrap();
        let text = b"an owner's name and illness, an owner's name and illness".to_vec();
        let (mut one, mut two) = (text.clone(), text.clone());
        let chunks = [spill.write(&mut one).unwrap(), spill.write(&mut two).unwrap()];
        let other = Spill::new(&memory(folder.path(), u64::MAX)).unwrap();
        let mut three = text.clone();
        other.write(&mut three).unwrap();
        for (left, right) in [(&one, &two), (&one, &three), (&one, &text), (&two, &text)] {
            // The chance that some eight of these bytes agree is below 2^-50.
            assert!(!left.windows(8).any(|part| right.windows(8).any(|other| part == other)));
        }
        let mut bytes = Vec::new();
        spill.read(chunks[1], &mut bytes).unwrap();
        assert_eq!(bytes, text);
    }

    #[test]
    fn a_changed_byte_is_noticed_and_so_is_a_chunk_at_another_place() {
        let folder = tempfile::tempdir().unwrap();
        let spill = Spill::new(&memory(folder.path(), u64::MAX)).unwrap();
        let chunks: Vec<Chunk> = (0..3).map(|_| spill.write(&mut vec![7; 100]).unwrap()).collect();
        let mut bytes = Vec::new();
        let moved = Chunk { place: chunks[0].place + 1, ..chunks[0] };
        let shorter = Chunk { length: 99, ..chunks[0] };
        assert!(spill.read(moved, &mut bytes).is_err() && spill.read(shorter, &mut bytes).is_err());
        let changed = |place: u64, mask: u8| {
            let mut state = spill.state();
            let mut file = spill.file(&mut state).unwrap();
            let mut byte = [0];
            file.seek(SeekFrom::Start(place)).unwrap();
            file.read_exact(&mut byte).unwrap();
            file.seek(SeekFrom::Start(place)).unwrap();
            file.write_all(&[byte[0] ^ mask]).unwrap();
        };
        for flipped in [0u64, 50, 99, 100, 107] {
            changed(chunks[1].place + flipped, 4);
            assert!(spill.read(chunks[1], &mut bytes).is_err(), "byte {flipped}");
            changed(chunks[1].place + flipped, 4);
            assert!(spill.read(chunks[1], &mut bytes).is_ok(), "byte {flipped}");
        }
        assert!(spill.read(chunks[2], &mut bytes).is_ok() && bytes == [7; 100]);
    }

    #[test]
    fn a_full_disk_and_no_folder_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let spill = Spill::new(&memory(folder.path(), 250)).unwrap();
        assert!(spill.write(&mut vec![1; 100]).is_ok() && spill.write(&mut vec![1; 100]).is_ok());
        assert!(spill.write(&mut vec![1; 100]).is_err());
        drop(spill);
        assert_eq!(entries(folder.path()), 0);
        let nowhere = Spill::new(&memory(&folder.path().join("none"), u64::MAX)).unwrap();
        assert!(nowhere.write(&mut vec![1]).is_err());
        // Where the first folder does not do, the second one does.
        let mut two = memory(&folder.path().join("none"), u64::MAX);
        two.folders.push(folder.path().to_path_buf());
        assert!(Spill::new(&two).unwrap().write(&mut vec![1]).is_ok());
    }

    #[test]
    fn what_a_crash_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for name in [".scumble-rows-0123456789abcdef", "scumble.ledger", ".scumble", "rows.csv"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        remove_left_over(folder.path());
        assert_eq!(entries(folder.path()), 3);
        remove_left_over(&folder.path().join("none"));
    }
}
