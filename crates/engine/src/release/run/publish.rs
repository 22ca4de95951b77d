//! The output files of a release: written under names that nobody can guess, then put in their places together.
//!
//! The files of one release belong together: the process that renames holds the folder's lock, so that two processes
//! that publish under one name never leave the table of one beside the JSON of the other. New files are made with
//! `create_new`, which follows no link; a place that is taken by a link or a folder is refused before anything is
//! charged.

use super::kept::is_published;
use crate::digest::{DigestWriter, digest_of};
use crate::error::{Error, Result};
use crate::file::identity;
use crate::ledger::{Charge, OutputDigests, Pass};
use crate::project::{FILE_ENDS, known_file_names};
use crate::release::output::Answers;
use scumble::noise::{BitSource, SecureSource};
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Files are written in pieces of this many bytes.
const BUFFER: usize = 1 << 20;

/// Files that are being made beside their places. Those that are not [`put`](Places::put) are removed.
pub(crate) struct Places {
    folder: PathBuf,
    files: Vec<PendingFile>,
    /// What the new files replace under other names.
    replaced: Vec<PathBuf>,
}

struct PendingFile {
    temporary: PathBuf,
    file: File,
    place: PathBuf,
}

impl Places {
    /// Makes the folder, looks at the places and makes an empty file for each: what can be wrong with a disk shows
    /// here, before anything is charged.
    pub fn claim(folder: &Path, names: &[String]) -> Result<Self> {
        fs::create_dir_all(folder)
            .map_err(|error| Error::input(format!("the folder {} cannot be created ({error})", folder.display())))?;
        let mut places = Self { folder: folder.to_path_buf(), files: Vec::new(), replaced: Vec::new() };
        for name in names {
            let place = folder.join(name);
            free(&place)?;
            let temporary = folder.join(format!(".scumble-{:016x}.tmp", SecureSource::new()?.next_u64()));
            let file = OpenOptions::new().write(true).create_new(true).open(&temporary);
            let file = file.map_err(|error| {
                Error::input(format!("cannot write into the folder {} ({error})", folder.display()))
            })?;
            // Held until this process has put it in its place or is dead. Where a disk knows no locks, a day tells as
            // much.
            drop(file.try_lock());
            places.files.push(PendingFile { temporary, file, place });
        }
        Ok(places)
    }

    /// The same, where files that will be replaced stay in the folder [`EARLIER`]: what was published was published.
    /// They get their second names now, before anything is charged. `charge` is what the ledger knows of them.
    pub fn keeping_earlier(self, charge: Option<&Charge>) -> Result<Self> {
        let places = self.replacing(charge);
        let mut taken = places.files.iter().map(|pending| &pending.place).chain(&places.replaced);
        let kept = taken.try_for_each(|place| keep(&places.folder, place, charge));
        kept.map(|()| places).map_err(|(place, error)| {
            Error::input(format!(
                "what is published cannot be kept in {} ({error}): move that out of the way, or give another --out",
                place.display()
            ))
        })
    }

    /// The same, where the files of this charge go away that have the names of an earlier version: the new ones are
    /// those of the same release.
    pub fn replacing(mut self, charge: Option<&Charge>) -> Self {
        let Some((charge, output)) = charge.and_then(|charge| Some((charge, charge.state.output()?))) else {
            return self;
        };
        for name in known_file_names(&charge.release).into_iter().skip(1).flatten() {
            let place = self.folder.join(&name);
            // On some disks the files of 'A' and 'a' are the same ones.
            let is_new = self.files.iter().any(|new| same_file(&new.place, &place));
            if !is_new && digest_of(&place).is_ok_and(|digest| is_published(output, &name, &digest)) {
                self.replaced.push(place);
            }
        }
        self
    }

    /// Writes the contents, in the order of the names, and puts all of them in their places; gives these.
    pub fn put(mut self, contents: &[&[u8]]) -> Result<Vec<PathBuf>> {
        assert_eq!(contents.len(), self.files.len(), "each place has its content");
        for (place, content) in contents.iter().enumerate() {
            self.write(place, |out| out.write_all(content).map_err(|error| self.unwritten(&error)))?;
        }
        self.rename().map_err(|error| self.unwritten(&error))
    }

    /// Writes answers in the forms of [`FILE_ENDS`], the Parquet file with its metadata and the JSON file with what
    /// stands around them, and puts all of them in their places; gives these, and what the ledger writes down about
    /// them. The pass proves that the entry `drawn` is durable.
    pub fn put_answers(
        mut self,
        _: &Pass,
        answers: &Answers,
        document: &Value,
        metadata: &[(String, String)],
    ) -> Result<(Vec<PathBuf>, OutputDigests)> {
        assert_eq!(FILE_ENDS.len(), self.files.len(), "an answer has its places");
        let json = format!("{document:#}\n").into_bytes();
        let digests = [
            self.write(0, |out| answers.write_csv(out))?,
            self.write(1, |out| crate::release::output::parquet::write(answers, metadata, out))?,
            self.write(2, |out| out.write_all(&json).map_err(|error| self.unwritten(&error)))?,
        ];
        let files = self.rename().map_err(|error| self.unwritten(&error))?;
        let values = digests[0].clone();
        let named = FILE_ENDS.iter().zip(digests).map(|(end, digest)| (end.to_string(), digest));
        Ok((files, OutputDigests { values, files: named.collect() }))
    }

    /// Writes one of the files, and gives its digest.
    fn write(&self, place: usize, content: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>) -> Result<String> {
        let file = &self.files[place].file;
        let mut out = BufWriter::with_capacity(BUFFER, DigestWriter::new(file));
        content(&mut out)?;
        let (_, digest) = out.into_inner().map_err(|error| self.unwritten(error.error()))?.end();
        file.sync_all().map_err(|error| self.unwritten(&error))?;
        Ok(digest)
    }

    fn unwritten(&self, error: &io::Error) -> Error {
        Error::machine(format!("{} cannot be written ({error})", self.folder.display()))
    }

    fn rename(&mut self) -> io::Result<Vec<PathBuf>> {
        let folder = File::open(&self.folder)?;
        folder.lock()?;
        if let Some(taken) = self.files.iter().find(|pending| free(&pending.place).is_err()) {
            return Err(io::Error::other(format!("{} is a link or a folder", taken.place.display())));
        }
        let mut put = Vec::new();
        let rename = |pending: &PendingFile| {
            fs::rename(&pending.temporary, &pending.place)?;
            put.push(pending.place.clone());
            Ok(())
        };
        // The names as well are on the disk, before the ledger says so.
        let done = self.files.iter().try_for_each(rename).and_then(|()| folder.sync_all());
        if let Err(error) = done {
            // Half of a release is none.
            put.iter().for_each(|place| drop(fs::remove_file(place)));
            return Err(error);
        }
        self.files.clear();
        // One that stays is not in the way: what is new is found first.
        self.replaced.iter().for_each(|place| drop(fs::remove_file(place)));
        Ok(put)
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        self.files.iter().for_each(|pending| drop(fs::remove_file(&pending.temporary)));
    }
}

/// Whether two paths lead to one file. Where the system does not say, names that differ only in case may be one file.
fn same_file(one: &Path, other: &Path) -> bool {
    let lower = |path: &Path| path.to_string_lossy().to_lowercase();
    match (identity(one), identity(other)) {
        (None, None) => lower(one) == lower(other),
        (one, other) => one == other,
    }
}

/// The folder of files that were published and replaced.
const EARLIER: &str = "earlier";

/// Where a charge's file is kept once another has its place: the files of one release have one name. Ledgers that share
/// a folder count their entries each for itself, and are distinguished by the digest of the JSON file, which holds the
/// ledger's head.
pub(crate) fn earlier(folder: &Path, name: &str, charge: &Charge) -> Option<PathBuf> {
    let output = charge.state.output()?;
    let digest = output.files.get("json").unwrap_or(&output.values);
    let (stem, end) = name.rsplit_once('.')?;
    Some(folder.join(EARLIER).join(format!("{stem}-entry-{}-{}.{end}", charge.sequence, digest.get(..8)?)))
}

/// Where a file with these contents is kept that is no charge's as far as the ledger knows; earlier versions kept all
/// of them so.
pub(crate) fn unknown_earlier(folder: &Path, name: &str, digest: &str) -> PathBuf {
    let (stem, end) = name.rsplit_once('.').unwrap_or((name, ""));
    let short = digest.get(..16).unwrap_or(digest);
    folder.join(EARLIER).join(format!("{stem}-{short}.{end}"))
}

/// Gives a file a second name among the earlier ones; it stays where it is until another takes its place. An error says
/// where.
fn keep(folder: &Path, place: &Path, charge: Option<&Charge>) -> std::result::Result<(), (PathBuf, io::Error)> {
    let Some(name) = place.file_name().and_then(|name| name.to_str()) else { return Ok(()) };
    let digest = match digest_of(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read.map_err(|error| (place.to_path_buf(), error))?,
    };
    let inner = folder.join(EARLIER);
    let of_charge = |charge: &&Charge| charge.state.output().is_some_and(|output| is_published(output, name, &digest));
    let kept = charge.filter(of_charge).and_then(|charge| earlier(folder, name, charge));
    let kept = kept.unwrap_or_else(|| unknown_earlier(folder, name, &digest));
    second_name(place, &inner, &kept).map_err(|error| (inner, error))
}

fn second_name(place: &Path, folder: &Path, kept: &Path) -> io::Result<()> {
    if let Err(error) = fs::create_dir(folder)
        && !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir())
    {
        return Err(error);
    }
    // Not every disk knows two names for one file.
    let copied = || {
        let mut copy = OpenOptions::new().write(true).create_new(true).open(kept)?;
        io::copy(&mut File::open(place)?, &mut copy).map(drop)
    };
    let made = fs::hard_link(place, kept).or_else(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Ok(()),
        _ => copied(),
    });
    made.or_else(|error| if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) })
}

/// A temporary file of a process that is not there any more is older than this.
const OLD: Duration = Duration::from_secs(24 * 3600);
/// A process that makes a temporary file locks it in less than this.
const NEW: Duration = Duration::from_secs(60);

/// Removes temporary files that somebody who was killed has left: those that nobody holds, and those of a day ago or
/// before.
pub(crate) fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(".scumble-") && name.ends_with(".tmp")) else {
            continue;
        };
        let age =
            entry.metadata().ok().filter(fs::Metadata::is_file).and_then(|found| found.modified().ok()?.elapsed().ok());
        let is_held = || File::open(entry.path()).map_or(true, |file| file.try_lock().is_err());
        if age.is_some_and(|age| age > OLD || (age > NEW && !is_held())) {
            drop(fs::remove_file(folder.join(name)));
        }
    }
}

/// Refuses a place that is a link or a folder.
pub(crate) fn free(place: &Path) -> Result<()> {
    match fs::symlink_metadata(place) {
        Ok(found) if !found.is_file() => Err(Error::input(format!(
            "{} is not a plain file (a link, a folder or a device), and is not written through; remove it or give another --out",
            place.display()
        ))),
        _ => Ok(()),
    }
}

/// Writes files into a folder, all of them or none; gives their places.
pub(crate) fn written(folder: &Path, files: &[(&str, &[u8])]) -> Result<Vec<PathBuf>> {
    let names: Vec<String> = files.iter().map(|(name, _)| name.to_string()).collect();
    let contents: Vec<&[u8]> = files.iter().map(|(_, content)| *content).collect();
    Places::claim(folder, &names)?.put(&contents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    /// Temporary files had the name `.NAME.tmp-PID`: a link of that name led the output to any file of the user's.
    #[test]
    fn no_link_is_followed_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let precious = folder.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        let out = folder.path().join("out");
        fs::create_dir(&out).unwrap();
        symlink(&precious, out.join("a.csv")).unwrap();
        let refused = written(&out, &[("b.csv", b"1"), ("a.csv", b"2")]).unwrap_err().to_string();
        assert!(refused.contains("a.csv is not a plain file"), "{refused}");
        // The link appears after the places were claimed.
        let places = Places::claim(&out, &names(&["b.csv", "c.csv"])).unwrap();
        symlink(&precious, out.join("c.csv")).unwrap();
        assert!(places.put(&[b"1", b"2"]).is_err());
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 2, "the two links and nothing else");
    }

    /// The story: a killed process left an empty file for ever, or the first gigabytes of a large table for a day.
    #[test]
    fn what_the_killed_left_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, age: u64| {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(std::time::SystemTime::now() - Duration::from_secs(age)).unwrap();
            file
        };
        drop(make(".scumble-0123456789abcdef.tmp", 90_000));
        drop(make(".scumble-1123456789abcdef.tmp", 3_000));
        let held = make(".scumble-fedcba9876543210.tmp", 3_000);
        held.lock().unwrap();
        drop(make(".scumble-fffcba9876543210.tmp", 0));
        drop(make("counts.csv", 90_000));
        sweep(folder.path());
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".scumble-fedcba9876543210.tmp", ".scumble-fffcba9876543210.tmp", "counts.csv"]);
    }

    /// Two runs under one name left the CSV of one beside the JSON of the other.
    #[test]
    fn files_of_writers_at_once_belong_together() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path();
        let read = |name: &str| fs::read_to_string(out.join(name)).unwrap_or_default();
        std::thread::scope(|threads| {
            for worker in 0..3 {
                threads.spawn(move || {
                    for round in 0..40 {
                        let content = format!("{worker}-{round}");
                        written(out, &[("a.csv", content.as_bytes()), ("a.json", content.as_bytes())]).unwrap();
                    }
                });
            }
            for _ in 0..400 {
                let locked = File::open(out).unwrap();
                locked.lock().unwrap();
                assert_eq!(read("a.csv"), read("a.json"));
            }
        });
        assert_eq!(read("a.csv"), read("a.json"));
        assert_eq!(fs::read_dir(out).unwrap().count(), 2, "no temporary file is left");
    }
}
