//! A head in one line, to be kept where the ledger's holder cannot change it: in print, in a repository, with somebody
//! else.
//!
//! A ledger proves what it holds, not that it is the one: deleting it, putting an old copy in its place or naming
//! another makes it forget. A head that was published before shows that.

use crate::chain::Head;
use crate::digest::unhex;
use crate::error::{Error, Result};
use crate::time;
use std::fmt;
use std::io::Write;
use std::path::Path;

/// The first word of a line.
const WORD: &str = "scumble-ledger";

/// A head, and when it was taken down.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Anchor {
    /// The head.
    pub head: Head,
    /// The time (UTC).
    pub time: String,
}

impl Anchor {
    /// A head as of now.
    pub fn now(head: Head) -> Self {
        Self { head, time: time::now() }
    }

    /// Appends the line to a file, which is made if it is not there.
    pub fn append_to(&self, path: &Path) -> Result<()> {
        let mut options = std::fs::OpenOptions::new();
        let written = options.append(true).create(true).open(path).and_then(|mut file| {
            file.write_all(format!("{self}\n").as_bytes())?;
            file.sync_all()
        });
        written.map_err(|error| Error::input(format!("{} cannot be written ({error})", path.display())))
    }

    /// The anchors of a file, one on each line; empty lines and lines that begin with # are skipped.
    pub fn read(path: &Path) -> Result<Vec<(usize, Self)>> {
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::input(format!("the anchors {shown} cannot be read ({error})")))?;
        let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let kept = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let anchors: Vec<(usize, Self)> = kept
            .map(|(number, line)| {
                let anchor = Self::parsed(line);
                let anchor =
                    anchor.ok_or_else(|| Error::input(format!("{shown}:{number}:1: this is not an anchor")))?;
                Ok((number, anchor))
            })
            .collect::<Result<_>>()?;
        if anchors.is_empty() { Err(Error::input(format!("{shown} holds no anchor"))) } else { Ok(anchors) }
    }

    fn parsed(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [WORD, "entries", entries, "head", hash, "time", time] = words[..] else { return None };
        let head = Head { entries: entries.parse().ok()?, hash: unhex(hash)? };
        Some(Self { head, time: time.to_string() })
    }
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{WORD} entries {} head {} time {}", self.head.entries, self.head.hex(), self.time)
    }
}
