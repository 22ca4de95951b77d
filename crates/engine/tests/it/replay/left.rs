//! What leaves the process, as far as anybody outside can see it.

use scumble::noise::tape::TapedSource;
use scumble_engine::ledger::{Charge, ChargeState};
use scumble_engine::release::{PlannedRelease, Runner};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What leaves a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Left {
    /// The answers, or the error, whose kind decides the exit status of the command line, and whose sentence stands
    /// behind it.
    pub said: String,
    told: Vec<String>,
    files: BTreeMap<String, String>,
    ledger: Vec<String>,
}

/// Without what is different in every run: hashes of entries, which hold a time and the marks of files. In JSON and in
/// the metadata of Parquet files they are 64 digits soon after their name.
fn without_heads(text: &str) -> String {
    const NAME: &str = "ledger_head";
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(NAME) {
        let (before, after) = rest.split_at(at + NAME.len());
        shown += before;
        rest = after;
        let hash = (0..8).find_map(|skipped| {
            let digits = rest.get(skipped..skipped + 64)?;
            digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(skipped)
        });
        if let Some(skipped) = hash {
            shown += &rest[..skipped];
            rest = &rest[skipped + 64..];
        }
    }
    shown + rest
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let Ok(entries) = fs::read_dir(folder) else { return BTreeMap::new() };
    let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let read = |path: &Path| without_heads(&String::from_utf8_lossy(&fs::read(path).unwrap()));
    paths.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), read(&path))).collect()
}

/// What differs in what leaves.
pub fn differs(before: &Left, after: &Left) -> Option<String> {
    if before == after {
        return None;
    }
    let short = |text: &str| text.chars().take(700).collect::<String>();
    let parts = |left: &Left| {
        [left.said.clone(), format!("{:?}", left.told), format!("{:?}", left.files), format!("{:?}", left.ledger)]
    };
    let (before, after) = (parts(before), parts(after));
    let (one, other) = before.iter().zip(&after).find(|(one, other)| one != other)?;
    let same =
        one.char_indices().zip(other.chars()).find(|((_, one), other)| one != other).map_or(0, |((at, _), _)| at);
    let from = |text: &str| {
        short(&text.chars().skip(text[..same.min(text.len())].chars().count().saturating_sub(80)).collect::<String>())
    };
    Some(format!("leaves {}\n  then   {}", from(one), from(other)))
}

impl Left {
    /// A release, with what it says on its way.
    pub fn of_release(runner: &Runner<'_>, planned: &[PlannedRelease], out: &Path, bits: &mut TapedSource) -> Self {
        let mut told = Vec::new();
        let outcome = runner.release(planned, out, bits, |said| told.push(said.to_string()));
        let answers = outcome.map(|(all, _)| all.into_iter().map(|one| one.answers).collect::<Vec<_>>());
        Self::of(runner, answers, told, out)
    }

    /// What is said, and what then lies in the folder and in the ledger.
    pub fn of<T: std::fmt::Debug>(
        runner: &Runner<'_>,
        outcome: scumble_engine::Result<T>,
        told: Vec<String>,
        out: &Path,
    ) -> Self {
        let said = match outcome {
            Ok(answers) => format!("{answers:?}"),
            Err(error) => format!("refused: {error} ({error:?})"),
        };
        let place = out.parent().unwrap_or(out).display().to_string();
        let entry = |charge: &Charge| {
            format!(
                "{} {} {:?} {} drawn {}",
                charge.release,
                charge.kind,
                charge.events,
                charge.rule,
                charge.state != ChargeState::Reserved
            )
        };
        let ledger =
            runner.charges().map_or_else(|error| vec![error.to_string()], |all| all.iter().map(entry).collect());
        Self { said: said.replace(&place, ""), told, files: files(out), ledger }
    }

    /// The same without a text that is another in every folder.
    pub fn without(self, text: &str) -> Self {
        let short = |said: String| said.replace(text, "");
        Self {
            said: short(self.said),
            told: self.told.into_iter().map(short).collect(),
            files: self.files.into_iter().map(|(name, said)| (name, short(said))).collect(),
            ledger: self.ledger.into_iter().map(short).collect(),
        }
    }
}
