//! What is kept between two questions: the secret of an open round, which decides the next answers, and what was
//! answered so far.
//!
//! It stands beside the ledger, in a file that its owner alone can read, and is in no output. The ledger holds the
//! digest of every state, before it is written: a file whose digest the ledger does not have under the same declaration
//! is not believed at all, and a round goes on only from the state that its last answer left. A file that was edited,
//! is older than the ledger, a copy of another one, or one that somebody else could read opens nothing: then the round
//! is lost, and the next one is charged. So nothing that happens to this file can make an answer free.
//!
//! # Why the digest tells nothing
//! A ledger may be public, and the secret of a round is a small number that could be tried out. So every state has a
//! salt of 256 random bits, its own and new each time: to try out secrets one needs the salt, which stands nowhere but
//! beside the secret (a commitment by SHA-256, hiding as far as that is a random oracle, binding as far as nobody finds
//! a collision). A key beside the ledger would be one more file that must stay private, for longer than the round.

use crate::digest::{digest, unhex};
use crate::error::{Error, Result};
use crate::ledger::{Head, beside};
use crate::tables::hash::Key;
use scumble::noise::{BitSource, SecureSource};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to wait for another process that asks.
const PATIENCE: Duration = Duration::from_secs(60);
/// No state is longer, in bytes.
const LONGEST: u64 = 1 << 30;

/// What is kept of one release.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct RoundState {
    /// The declaration that it is for.
    pub request: String,
    /// Which of an owner's rows count: the same in all rounds.
    pub key: Option<(u64, u64)>,
    pub open: Option<OpenRound>,
    pub answers: Vec<GivenAnswer>,
}

/// An open round.
#[derive(Clone, PartialEq)]
pub(crate) struct OpenRound {
    /// The head of the ledger after its reservation.
    pub head: Head,
    pub secret: i128,
}

impl std::fmt::Debug for OpenRound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Open({})", self.head.entries)
    }
}

/// An answer that was given, as the file has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct GivenAnswer {
    pub question: String,
    pub how: AnswerSource,
    pub answer: i64,
    /// What the model expected.
    pub expected: u64,
}

/// Where an answer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AnswerSource {
    /// The count, with noise.
    Measured,
    /// The model, which was found to be near.
    Model,
    /// The model, and nobody has looked how near it is.
    #[serde(rename = "not checked")]
    NotChecked,
}

impl AnswerSource {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Model => "model",
            Self::NotChecked => "not checked",
        }
    }
}

impl RoundState {
    /// Which of an owner's rows count; drawn once.
    pub fn key(&mut self, bits: &mut dyn BitSource) -> Key {
        let (one, other) = *self.key.get_or_insert_with(|| (bits.next_u64(), bits.next_u64()));
        Key(one, other)
    }

    /// The state as it is kept: with a new salt, and with the digest that the ledger holds of it.
    pub fn sealed(&self) -> Result<SealedState> {
        let mut random = SecureSource::new()?;
        let salt: String = (0..4).map(|_| format!("{:016x}", random.next_u64())).collect();
        // By way of a value, whose keys are sorted.
        let document = serde_json::to_value(StateDocument::of(self, salt));
        let document = document.map_err(|error| Error::machine(format!("a state cannot be written ({error})")))?;
        let text = format!("{document:#}\n");
        Ok(SealedState { digest: digest(text.as_bytes()), text })
    }
}

/// The file of a state. Its digest is in the ledger, so that what was not written by [`RoundState::sealed`] is not
/// believed.
#[derive(Serialize, Deserialize)]
struct StateDocument {
    /// For people who open the file.
    #[serde(default)]
    what: String,
    #[serde(default)]
    salt: String,
    request: String,
    /// Two numbers of 64 bits in hexadecimal digits.
    key: Option<String>,
    open: Option<OpenDocument>,
    answers: Vec<GivenAnswer>,
}

/// An open round in the file.
#[derive(Serialize, Deserialize)]
struct OpenDocument {
    entry: u64,
    hash: String,
    /// In decimal digits: numbers of JSON have 64 bits.
    secret: String,
}

impl StateDocument {
    fn of(state: &RoundState, salt: String) -> Self {
        Self {
            what: "a secret of scumble: the numbers below give away more than was charged".to_string(),
            salt,
            request: state.request.clone(),
            key: state.key.map(|(one, other)| format!("{one:016x}{other:016x}")),
            open: state.open.as_ref().map(OpenDocument::of),
            answers: state.answers.clone(),
        }
    }

    /// The state; none where something is not as it was written.
    fn state(self) -> Option<RoundState> {
        let half = |text: &str, from: usize| u64::from_str_radix(text.get(from..from + 16)?, 16).ok();
        let key = match &self.key {
            Some(text) => Some(half(text, 0).zip(half(text, 16))?),
            None => None,
        };
        let open = match &self.open {
            Some(open) => Some(open.round()?),
            None => None,
        };
        Some(RoundState { request: self.request, key, open, answers: self.answers })
    }
}

impl OpenDocument {
    fn of(open: &OpenRound) -> Self {
        Self { entry: open.head.entries, hash: open.head.hex(), secret: open.secret.to_string() }
    }

    fn round(&self) -> Option<OpenRound> {
        let head = Head { entries: self.entry, hash: unhex(&self.hash)? };
        Some(OpenRound { head, secret: self.secret.parse().ok()? })
    }
}

/// A state as it is kept.
pub(crate) struct SealedState {
    text: String,
    /// SHA-256 of all of it, hexadecimal.
    pub digest: String,
}

/// The file of a release's state, held by one process at a time.
pub(crate) struct StateFile {
    path: PathBuf,
    /// While it lives, nobody else asks.
    _lock: File,
}

impl StateFile {
    /// Waits until nobody else is asking the same release.
    pub fn hold(ledger: &Path, release: &str) -> Result<Self> {
        let path = beside(ledger, &format!(".{}.state", release.trim()))?;
        let lock = beside(ledger, &format!(".{}.state.lock", release.trim()))?;
        let file = private(OpenOptions::new().write(true).create(true).truncate(false)).open(&lock);
        let file = file.map_err(|error| {
            Error::input(format!(
                "{} cannot be written ({error}): the state between questions is kept beside the ledger",
                lock.display()
            ))
        })?;
        let begun = Instant::now();
        while file.try_lock().is_err() {
            if begun.elapsed() > PATIENCE {
                return Err(Error::machine(format!(
                    "release '{release}' has been asked by another process for a minute; try again when that has ended"
                )));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Self { path, _lock: file })
    }

    /// What is kept, with its digest; none if there is nothing, or nothing of that form. Whether it is believed is for
    /// the ledger to say.
    pub fn read(&self) -> Option<(RoundState, String)> {
        let found = fs::symlink_metadata(&self.path).ok()?;
        if !found.is_file() || found.len() > LONGEST || is_open_to_others(&found) {
            return None;
        }
        let text = fs::read_to_string(&self.path).ok()?;
        let document: StateDocument = serde_json::from_str(&text).ok()?;
        Some((document.state()?, digest(text.as_bytes())))
    }

    /// Replaces what is kept: all of it or nothing, and on the disk when this returns.
    pub fn write(&self, state: &SealedState) -> Result<()> {
        self.replaced(state).map_err(|error| {
            Error::machine(format!(
                "{} cannot be written ({error}): the round is lost, and stays charged",
                self.path.display()
            ))
        })
    }

    fn replaced(&self, state: &SealedState) -> io::Result<()> {
        let random = SecureSource::new().map_err(|error| io::Error::other(error.to_string()))?.next_u64();
        let temporary = self.path.with_file_name(format!(".scumble-{random:016x}.tmp"));
        let written = private(OpenOptions::new().write(true).create_new(true)).open(&temporary).and_then(|mut file| {
            file.write_all(state.text.as_bytes())?;
            file.sync_all()
        });
        let renamed = written.and_then(|()| fs::rename(&temporary, &self.path));
        if renamed.is_err() {
            drop(fs::remove_file(&temporary));
        }
        renamed?;
        File::open(self.path.parent().unwrap_or(Path::new(".")))?.sync_all()
    }
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

#[cfg(unix)]
fn is_open_to_others(file: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open_to_others(_: &fs::Metadata) -> bool {
    false
}
