//! What is published without noise protects somebody only while nothing else about them is known: it stands alone, in
//! its ledger and in every other that can be seen from here.
//!
//! Seen are the project's own ledger, the one that was asked for, and each file `*.ledger` beside the project file or
//! beside a source. A ledger that was deleted, or kept elsewhere, is not seen: the words of the release say what that
//! means.

use crate::error::{Error, Result};
use crate::kinds::registry;
use crate::ledger::{self, Declaration, Declarations, Ledger, LedgerState, folder};
use crate::project::Project;
use crate::release::Exclusivity;
use crate::release::run::PlannedRelease;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Nothing comes before a count without noise or after it, in one ledger or in one run. `before` are the releases
/// before this one.
pub(crate) fn in_ledger(planned: &PlannedRelease, before: &LedgerState) -> Result<()> {
    let name = &planned.request.name;
    if holds_lonely(before) {
        return Err(refused(
            name,
            "the ledger or this run holds a count without noise, which protects nobody once anything else about them \
                is published: use another project for other people",
        ));
    }
    if is_lonely(&planned.request.kind) && before.releases() > 0 {
        let why = format!(
            "a count without noise protects nobody once anything else about them is published, and there are {} other \
                releases in the ledger or in this run",
            before.releases()
        );
        return Err(refused(name, &why));
    }
    Ok(())
}

/// The kinds beside which nothing may stand.
fn lonely() -> impl Iterator<Item = &'static str> {
    registry::KINDS.iter().filter(|kind| kind.company == Exclusivity::Nothing).map(|kind| kind.name)
}

fn is_lonely(kind: &str) -> bool {
    lonely().any(|name| name == kind)
}

/// Whether a ledger holds a release beside which nothing may stand.
pub(super) fn holds_lonely(before: &LedgerState) -> bool {
    lonely().any(|kind| before.holds(kind))
}

fn mentions_lonely(ledger: &Ledger) -> ledger::Result<bool> {
    lonely().map(|kind| ledger.mentions(kind)).try_fold(false, |found, mentions| Ok(found || mentions?))
}

fn refused(name: &str, why: &str) -> Error {
    Error::budget(format!("release '{name}' was refused and nothing was charged: {why}"))
}

/// The same for other ledgers that have answered about one of these tables. `here` is the ledger that is in use.
pub(crate) fn among_ledgers(
    project: &Project,
    planned: &PlannedRelease,
    tables: &Declarations,
    here: &Path,
) -> Result<()> {
    let exact = is_lonely(&planned.request.kind);
    let home = folder(here)?;
    for path in others(project, here) {
        let shown = path.display();
        let read = Ledger::open_existing(&path).and_then(|ledger| match ledger {
            // A long ledger of an older version would be read whole each time.
            Some(ledger) if exact || mentions_lonely(&ledger)? => ledger.standing(&[]).map(Some),
            _ => Ok(None),
        });
        let standing = match read {
            Ok(Some((standing, _))) => standing,
            Ok(None) => continue,
            Err(_) if !exact => continue,
            Err(_) => {
                let why = format!(
                    "whether {shown} has answered about the same people cannot be read, and a count without noise must be all that is known"
                );
                return Err(refused(&planned.request.name, &why));
            }
        };
        if standing.releases() == 0 || !(exact || holds_lonely(&standing)) {
            continue;
        }
        let there = folder(&path)?;
        let declared = standing.declared();
        // An older ledger does not say what it was about.
        let meets = declared.is_empty()
            || declared.values().any(|other| tables.values().any(|table| table.meets(&home, other, &there)));
        if meets {
            let why = match exact {
                true => format!(
                    "the ledger {shown} has answered about the same source, and a count without noise protects nobody \
                        once anything else about them is published"
                ),
                false => format!(
                    "the ledger {shown} holds a count without noise of the same source, which protects nobody once \
                        anything else about them is published"
                ),
            };
            return Err(refused(&planned.request.name, &why));
        }
    }
    Ok(())
}

/// Releases of a project are charged in its own ledger. Where another was named, and one that can be seen from here
/// has charged releases of the same private tables, nobody would see what both add up to.
///
/// Whether tables are the same is told by paths and links alone, never by what is in a file: rows in memory have none.
pub(crate) fn in_its_own_ledger(project: &Project, tables: &Declarations, here: &Path) -> Result<()> {
    if real(here) == real(&project.ledger()) {
        return Ok(());
    }
    let home = folder(here)?;
    for path in others(project, here) {
        // One that cannot be read, or says nothing of its tables, is no reason.
        let Ok(Some((standing, _))) =
            Ledger::open_existing(&path).and_then(|ledger| ledger.map(|ledger| ledger.standing(&[])).transpose())
        else {
            continue;
        };
        let there = folder(&path)?;
        let is_known =
            |table: &Declaration| standing.declared().values().any(|other| table.meets(&home, other, &there));
        let is_file = |name: &str| project.tables.get(name).is_some_and(|table| table.rows.is_none());
        let mut private = tables.iter().filter(|(name, table)| !table.public && is_file(name));
        if let Some((name, _)) = private.find(|(_, table)| is_known(table))
            && standing.releases() > 0
        {
            return Err(Error::budget(format!(
                "ledger {} has charged releases of table '{name}', and {} would not count them: leave out --ledger, \
                    or name the ledger in the project file",
                path.display(),
                here.display()
            )));
        }
    }
    Ok(())
}

/// The other ledgers that can be seen.
fn others(project: &Project, here: &Path) -> Vec<PathBuf> {
    let mut folders: BTreeSet<PathBuf> = [here, &project.ledger(), &project.path].into_iter().map(beside).collect();
    for table in project.tables.values() {
        folders.insert(beside(&real(&table.source)));
        folders.insert(beside(&table.source));
        folders.insert(table.source.clone());
    }
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let ledgers = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "ledger"));
    // An empty file is no ledger yet, and opening it would make it one.
    let written = |path: &PathBuf| path.metadata().is_ok_and(|file| file.is_file() && file.len() > 0);
    let found: BTreeSet<PathBuf> = ledgers
        .chain([project.ledger()])
        .filter(written)
        .map(|path| real(&path))
        .filter(|path| *path != real(here))
        .collect();
    found.into_iter().collect()
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

fn beside(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}
