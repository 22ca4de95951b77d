//! Golden files: what leaves the program, to the letter. A change that moves a byte of these by accident fails its
//! test.
//!
//! After a change that is meant, run the test with `SCUMBLE_GOLDEN=1`: it writes the files anew, and their diff is part
//! of the review. What differs from run to run is masked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A text without its times, its digests, its random names and the path of its folder, which differ in each run.
pub fn masked(text: &str, folder: &Path) -> String {
    let text = text.replace(&folder.display().to_string(), "<folder>");
    let mut out = String::with_capacity(text.len());
    let bytes = text.as_bytes();
    let (mut at, mut copied) = (0, 0);
    while at < bytes.len() {
        let hex = bytes[at..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let time = time_length(&bytes[at..]);
        let is_behind = |before: &str| bytes[..at].ends_with(before.as_bytes());
        let is_nonce = is_behind("\"nonce\": \"") || is_behind("\\\"nonce\\\":\\\"");
        let is_name = hex == 16 && is_behind("ask-");
        if hex >= 32 || is_nonce || is_name || time > 0 {
            out.push_str(&text[copied..at]);
            out.push_str(if time > 0 { "<time>" } else { "<digest>" });
            at += if time > 0 { time } else { hex };
            copied = at;
        } else {
            at += hex.max(1);
        }
    }
    out.push_str(&text[copied..]);
    out
}

/// The length of a time like 2026-11-18T17:08:00Z at the beginning of a string, or 0.
fn time_length(bytes: &[u8]) -> usize {
    let shape = b"dddd-dd-ddTdd:dd:dd";
    let fits = bytes.len() >= shape.len()
        && shape.iter().zip(bytes).all(|(shape, byte)| match shape {
            b'd' => byte.is_ascii_digit(),
            b'T' => matches!(byte, b'T' | b' '),
            other => other == byte,
        });
    if !fits {
        return 0;
    }
    let rest = &bytes[shape.len()..];
    shape.len() + rest.iter().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'Z')).count()
}

/// Compares texts with the files of a folder, by their names in it; with `SCUMBLE_GOLDEN` set, writes them there.
pub fn check(kept: &Path, leaves: &BTreeMap<String, String>) {
    if std::env::var_os("SCUMBLE_GOLDEN").is_some() {
        fs::remove_dir_all(kept).ok();
        for (name, text) in leaves {
            let path = kept.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        return;
    }
    let mut moved = Vec::new();
    for (name, text) in leaves {
        let before = fs::read_to_string(kept.join(name)).unwrap_or_default();
        if before != *text {
            let line = before.lines().zip(text.lines()).position(|(before, now)| before != now);
            let line = line.unwrap_or_else(|| before.lines().count().min(text.lines().count()));
            let at = |text: &str| text.lines().nth(line).unwrap_or("").chars().take(300).collect::<String>();
            moved.push(format!("{name}, line {}:\n  before: {}\n  now:    {}", line + 1, at(&before), at(text)));
        }
    }
    assert!(moved.is_empty(), "what leaves the program has changed:\n{}", moved.join("\n"));
    let names: BTreeSet<String> = files(kept, kept);
    assert_eq!(names, leaves.keys().cloned().collect(), "the golden files are other ones than what leaves the program");
}

fn files(root: &Path, folder: &Path) -> BTreeSet<String> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let named = |path: PathBuf| match path.is_dir() {
        true => files(root, &path),
        false => BTreeSet::from([path.strip_prefix(root).unwrap().to_string_lossy().into_owned()]),
    };
    paths.flat_map(named).collect()
}
