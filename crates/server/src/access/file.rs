//! The file of those who may ask: `NAME.access` beside the ledger, as JSON, readable by its owner alone.

use super::{ITERATIONS, Person, Role, ScramVerifier, hmac, token};
use crate::session::Bearer;
use scumble_engine::ledger::beside;
use scumble_engine::summary::document;
use scumble_engine::{Error, Result, digest};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use subtle::ConstantTimeEq;

/// No such file is longer, in bytes.
const LONGEST: u64 = 4 << 20;
/// The version of its form.
const VERSION: u64 = 1;
/// 256 bits in hexadecimal digits.
const DIGITS: usize = 64;

/// Somebody, and what is kept of their token.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AccessEntry {
    pub name: String,
    pub role: Role,
    pub added: String,
    pub revoked: Option<String>,
    /// SHA-256 of the token, hexadecimal.
    #[serde(rename = "token")]
    hash: String,
    pub scram: ScramVerifier,
}

/// Everybody who has or had access.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct AccessList {
    pub people: Vec<AccessEntry>,
    /// From which the salts of all names are made; none in a file that an earlier version wrote.
    secret: Option<String>,
}

impl AccessList {
    /// Those of a ledger; nobody, where there is no file.
    pub fn read(ledger: &Path) -> Result<Self> {
        let path = beside(ledger, ".access")?;
        let shown = path.display();
        let found = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Error::machine(format!("{shown} cannot be read ({error})"))),
            Ok(found) => found,
        };
        // A pipe would be waited for, and a device may never end.
        if !found.is_file() || found.len() > LONGEST {
            return Err(Error::input(format!(
                "{shown} is not an access file of scumble: move it away and add everybody again"
            )));
        }
        if is_open_to_others(&found) {
            return Err(Error::input(format!("{shown} can be read or written by others: run chmod 600 {shown}")));
        }
        let text =
            fs::read_to_string(&path).map_err(|error| Error::machine(format!("{shown} cannot be read ({error})")))?;
        let document = serde_json::from_str::<AccessDocument>(&text).ok();
        document
            .and_then(AccessDocument::list)
            .ok_or_else(|| Error::input(format!("{shown} is not in a form that this version knows")))
    }

    /// The challenge for a login under a name, whether or not anybody has it. No proof fits it unless somebody has
    /// access under it.
    pub fn challenge(&self, name: &str) -> ScramVerifier {
        let of = |what: &str| {
            hmac(self.secret.as_deref().unwrap_or_default().as_bytes(), format!("{what} {name}").as_bytes())
        };
        let known = self.people.iter().find(|entry| entry.name == name);
        match known {
            Some(entry) if entry.revoked.is_none() => entry.scram.clone(),
            // The hash of no key that anybody could name.
            _ => ScramVerifier {
                salt: known.map_or_else(|| self.salt(name), |entry| entry.scram.salt.clone()),
                iterations: ITERATIONS.get(),
                stored_key: of("stored"),
                server_key: of("server"),
            },
        }
    }

    /// The salt of a name.
    fn salt(&self, name: &str) -> Vec<u8> {
        let secret = self.secret.as_deref().unwrap_or_default();
        hmac(secret.as_bytes(), format!("salt {name}").as_bytes())[..16].to_vec()
    }

    /// Who has this token. All are compared, each in a time that does not depend on where it differs.
    pub fn who(&self, token: &str) -> Option<&AccessEntry> {
        let hash = digest(token.as_bytes());
        let same = |entry: &&AccessEntry| bool::from(entry.hash.as_bytes().ct_eq(hash.as_bytes()));
        let mut found: Vec<&AccessEntry> = self.people.iter().filter(same).collect();
        found.retain(|entry| entry.revoked.is_none());
        found.first().copied()
    }

    /// Somebody by name, whose token is not revoked.
    pub fn named(&self, name: &str) -> Option<&AccessEntry> {
        self.people.iter().find(|entry| entry.name == name && entry.revoked.is_none())
    }
}

impl AccessEntry {
    /// Somebody new, with the salt that their name always had.
    pub fn of(name: &str, role: Role, token: &str, added: String, access: &AccessList) -> Self {
        let (hash, scram) = (digest(token.as_bytes()), ScramVerifier::with_salt(token, access.challenge(name).salt));
        Self { name: name.to_string(), role, added, revoked: None, hash, scram }
    }

    /// Them, as their sessions know them.
    pub fn bearer(&self) -> Bearer {
        Bearer { person: self.person(), token: Some(self.hash.clone()) }
    }

    pub fn person(&self) -> Person {
        Person { name: self.name.clone(), role: self.role }
    }
}

/// The file.
#[derive(Serialize, Deserialize)]
struct AccessDocument {
    version: u64,
    #[serde(flatten)]
    list: AccessList,
}

impl AccessDocument {
    /// What it says; none in another version, or where something is not as it was written.
    fn list(self) -> Option<AccessList> {
        let AccessList { people, secret } = self.list;
        let is_whole = self.version == VERSION && people.iter().all(|entry| entry.hash.len() == DIGITS);
        is_whole.then(|| AccessList { people, secret: secret.filter(|secret| secret.len() == DIGITS) })
    }
}

/// Makes sure that the file has a secret: the reply to an unknown name must not change when a server restarts.
pub(crate) fn prepare(ledger: &Path) -> Result<()> {
    match AccessList::read(ledger)?.secret {
        Some(_) => Ok(()),
        None => change(ledger, |_| Ok(())),
    }
}

/// Changes the file, completely or not at all; other processes that change it wait.
pub(super) fn change(ledger: &Path, change: impl FnOnce(&mut AccessList) -> Result<()>) -> Result<()> {
    let path = beside(ledger, ".access")?;
    let folder = path.parent().unwrap_or(Path::new("/")).to_path_buf();
    let failed = |error: std::io::Error| Error::machine(format!("{} cannot be written ({error})", path.display()));
    let held = File::open(&folder).and_then(|folder| folder.lock().map(|()| folder)).map_err(failed)?;
    let mut access = AccessList::read(ledger)?;
    if access.secret.is_none() {
        access.secret = Some(token()?);
    }
    change(&mut access)?;
    let text = format!("{:#}\n", document(&AccessDocument { version: VERSION, list: access })?);
    let temporary = folder.join(format!(".scumble-{}.tmp", &token()?[..16]));
    let written = write(&temporary, &path, &text).and_then(|()| held.sync_all());
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        failed(error)
    })
}

fn write(temporary: &Path, path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(temporary, path)
}

#[cfg(unix)]
fn is_open_to_others(file: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(file) & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open_to_others(_: &fs::Metadata) -> bool {
    false
}
