//! What a table was when a release first read it. A ledger adds up what is given away about people, and who these are
//! is what the tables' declarations say: a table that has an owner today and none tomorrow would be charged 1 where one
//! person moves it by 1000.
//!
//! # Guarantee
//! Every release of a ledger reads a table under the declaration that stands in the chain before it, and two
//! declarations that reach the same file agree on whose rows they are, on whether they are private, and on what each
//! column is. So an owner is the same person in every release that can see their rows; the costs of tables of other
//! sources add up, which is right for an owner who is in several of them.
//!
//! New columns and new tables are added by an entry. No earlier release could read them under another meaning: a column
//! of that name was not declared before, and undeclared columns do not exist for queries.
//!
//! Comparing looks at the project file and at paths, never at the content of a file: whether two files are equal would
//! be a free and exact answer to somebody who can write one of them.

use crate::error::{Error, Result};
use crate::file::{identity, real};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// The tables of a ledger by name.
pub type Declarations = BTreeMap<String, Declaration>;

/// One table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Declaration {
    /// The file or folder, links resolved, as the [`way`] there from the ledger's folder: a project may move as a
    /// whole. Of a table on a server, its address.
    pub source: String,
    /// The column that says whose row it is; none where one row is one person.
    pub owner: Option<String>,
    /// Whether the table holds no private data at all.
    pub public: bool,
    /// How its text files are written, in the project's words; null where that is as usual. Other names of columns make
    /// other attributes of the same values.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub layout: Value,
    /// What each column is, in the project's words, as far as sensitivities and keys depend on it. A long list of
    /// `values` stands there as its number and its `digest`.
    pub columns: BTreeMap<String, Value>,
}

impl Declaration {
    /// Whether the two reach a common file, as far as paths and links tell.
    pub fn meets(&self, folder: &Path, other: &Self, other_folder: &Path) -> bool {
        if [self, other].iter().any(|one| one.source.contains("://")) {
            return self.source == other.source;
        }
        let (one, two) = (real(&folder.join(&self.source)), real(&other_folder.join(&other.source)));
        one.starts_with(&two) || two.starts_with(&one) || !files(&one).is_disjoint(&files(&two))
    }

    /// What differs between the two that must not, in words.
    fn against(&self, before: &Self) -> Option<String> {
        let whose = |owner: &Option<String>| match owner {
            Some(owner) => format!("the owner '{owner}'"),
            None => "no owner (each row is one person)".to_string(),
        };
        if self.owner != before.owner {
            return Some(format!("it had {} and has {} now", whose(&before.owner), whose(&self.owner)));
        }
        if self.public != before.public {
            let word = |public: bool| if public { "public" } else { "private" };
            return Some(format!("it was {} and is {} now", word(before.public), word(self.public)));
        }
        if self.layout != before.layout {
            let word = |layout: &Value| if layout.is_null() { "as usual".to_string() } else { layout.to_string() };
            let (old, new) = (word(&before.layout), word(&self.layout));
            return Some(format!("its files were read {old} and are read {new} now"));
        }
        let changed =
            self.columns.iter().find(|(name, domain)| before.columns.get(*name).is_some_and(|old| old != *domain));
        changed.map(|(name, domain)| {
            let old = &before.columns[name];
            match other_values(old, domain) {
                Some(words) => format!("its column '{name}' {words}"),
                None => format!("its column '{name}' was {} and is {} now", short(old), short(domain)),
            }
        })
    }
}

/// All declarations after these are added to those before, in a ledger that is in `folder`; none if that changes
/// nothing. What contradicts an earlier declaration is refused.
pub fn joined(before: &Declarations, new: &Declarations, folder: &Path) -> Result<Option<Declarations>> {
    let mut all = before.clone();
    for (name, table) in new {
        if let Some(old) = all.get(name)
            && old.source != table.source
        {
            let what = format!("it was read from '{}' and is read from '{}' now", old.source, table.source);
            return Err(refused(name, &what, "give the new source a table of another name"));
        }
        for (other, old) in &all {
            if !(other == name || table.meets(folder, old, folder)) {
                continue;
            }
            if let Some(what) = table.against(old) {
                let what =
                    if other == name { what } else { format!("as table '{other}', which reads the same, {what}") };
                return Err(refused(name, &what, "declare it as it was ('scumble ledger export' shows that)"));
            }
        }
        let merged = all.entry(name.clone()).or_insert_with(|| table.clone());
        merged.columns.extend(table.columns.clone());
    }
    Ok((all != *before).then_some(all))
}

fn refused(table: &str, what: &str, remedy: &str) -> Error {
    Error::input(format!(
        "table '{table}' is not what earlier releases of this ledger read: {what}; nothing was charged or released: \
            {remedy}"
    ))
}

/// Lists of more values are not shown in a sentence.
const SHOWN_VALUES: u64 = 4;

/// What became of a column's long list of values, where nothing else is another: what differs in them is short.
fn other_values(old: &Value, new: &Value) -> Option<String> {
    let without = |domain: &Value| {
        let mut rest = domain.as_object().cloned().unwrap_or_default();
        ["values", "digest"].iter().for_each(|key| drop(rest.remove(*key)));
        rest
    };
    // A long list stands here as its number.
    let length = |domain: &Value| match &domain["values"] {
        Value::Array(list) => Some(list.len() as u64),
        number => number.as_u64(),
    };
    let (before, now) = length(old).zip(length(new)).filter(|_| without(old) == without(new))?;
    if before.max(now) <= SHOWN_VALUES {
        return None;
    }
    let (lists, none) = ([old, new].map(|domain| domain["values"].as_array()), Vec::new());
    let [old, new] = lists.map(|list| list.unwrap_or(&none));
    let missing = |from: &[Value], others: &[Value]| from.iter().find(|value| !others.contains(value)).cloned();
    let which = match (lists.iter().all(Option::is_some), missing(old, new), missing(new, old)) {
        (true, Some(gone), _) => format!(" ({gone} is gone)"),
        (true, None, Some(came)) => format!(" ({came} is new)"),
        (true, None, None) => " (in another order)".to_string(),
        (false, ..) => String::new(),
    };
    Some(format!("had a list of {before} values and has another of {now} now{which}"))
}

/// A column for a sentence.
fn short(domain: &Value) -> String {
    let text = domain.to_string();
    let start: String = text.chars().take(80).collect();
    if start.len() < text.len() { format!("{start}…") } else { text }
}

/// The most folders inside each other that a table is read from, and one more.
const DEEPEST: usize = 17;

/// The file, or those in the folder, by what they are on the disk: a link is the file that it leads to.
fn files(path: &Path) -> BTreeSet<(u64, u64)> {
    let (mut found, mut folders) = (BTreeSet::new(), vec![(path.to_path_buf(), 0)]);
    // Folders that are called after a column's value are read with the folder that they are in. A link could lead back.
    while let Some((path, depth)) = folders.pop() {
        if path.is_file() {
            found.extend(identity(&path));
        } else if depth < DEEPEST {
            let inside = std::fs::read_dir(path).into_iter().flatten().flatten();
            let is_read = |path: &PathBuf| path.is_file() || path.to_string_lossy().contains('=');
            folders.extend(inside.map(|entry| entry.path()).filter(is_read).map(|path| (path, depth + 1)));
        }
    }
    found
}

/// The way from a folder to a path, both absolute and without links.
pub fn way(folder: &Path, path: &Path) -> String {
    let folder = real(folder);
    let common = folder.components().zip(path.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(path.components().skip(common)).collect();
    if way.as_os_str().is_empty() { ".".to_string() } else { way.to_string_lossy().into_owned() }
}
