//! What was published before with the same declaration is kept: releasing it again would give away more about the same
//! people, for numbers that everybody has already.
//!
//! A release is the same if its name, its kind and all that it says are (the cost among it, and the scope that the
//! project gives it), how much of an owner its tables let count, and which graph they are; and, for an exact count,
//! which has no other guarantee, what is declared about the attacker. What else its tables are (source, owner, layout,
//! columns) need not be compared: a ledger refuses a table that is not what it was. How large the budget is makes no
//! difference, although key selection takes its δ from it: raising a budget is no reason to pay for everything anew.
//! Nor does changed data: new numbers about changed rows are a new release, for a curator who asks for one.

use crate::attackers::declared;
use crate::digest::digest_of;
use crate::error::{Error, Result};
use crate::ledger::{self, Charge, OutputDigests};
use crate::project::known_file_names;
use crate::project::{Bounding, Graph, Presentation, Project, Request, Table};
use crate::release::run::{PlannedRelease, Runner};
use crate::release::{DigestOf, Publication};
use crate::tables::check;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// So many of the last charges are looked at for one that was for the same under another name.
const MOST_CHARGES: usize = 1000;

/// A release that was published before and is not paid for again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRelease {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Its place in the ledger.
    pub sequence: u64,
    /// When it was charged.
    pub time: String,
    /// The files, which are as they were published.
    pub files: Vec<PathBuf>,
    /// Whether the data has changed since; `None` where that is unknown.
    pub data_changed: Option<bool>,
}

impl KeptRelease {
    /// In one line.
    pub fn words(&self) -> String {
        let Self { name, sequence, .. } = self;
        let since = if self.data_changed == Some(true) { "; the data changed since" } else { "" };
        format!(
            "kept: {name}, published {} (entry {sequence}){since}; {} charges for a new one",
            day(&self.time),
            again(name)
        )
    }
}

/// A release that is published already and would be charged a second time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SecondCharge {
    /// Its name.
    pub name: String,
    /// Its cost, in words.
    pub cost: String,
    /// The entry of what is published.
    pub sequence: u64,
    /// The name under which that was published, if it was another.
    pub published_as: Option<String>,
}

impl SecondCharge {
    /// In one sentence: what is published, and what would be charged.
    pub fn words(&self) -> String {
        let Self { name, cost, sequence, published_as } = self;
        match published_as {
            None => {
                format!("'{name}' is published with another declaration (entry {sequence}): it would cost {cost} again")
            }
            Some(other) => format!(
                "'{name}' is published as '{other}' (entry {sequence}): under another name it would cost {cost} again"
            ),
        }
    }
}

impl Runner<'_> {
    /// The releases that are published already, under their name with another declaration or as they are under a name
    /// that no release has any more, and would be charged a second time. Those that are named in `again` are not among
    /// them, nor are those that go on with a charge.
    pub fn second_charges(&self, releases: &[PlannedRelease], again: &[String]) -> Result<Vec<SecondCharge>> {
        let mut found = Vec::new();
        for planned in releases.iter().filter(|planned| !again.contains(&planned.request.name)) {
            let prior = match self.published_otherwise(planned)? {
                Some(sequence) => Some((sequence, None)),
                None if self.published_before(planned)?.is_some() => None,
                None => self.published_as(planned)?.map(|(other, sequence)| (sequence, Some(other))),
            };
            let Some((sequence, published_as)) = prior else { continue };
            if self.resumed_entry(planned)?.is_none() {
                let (name, cost) = (planned.request.name.clone(), planned.request.cost.to_string());
                found.push(SecondCharge { name, cost, sequence, published_as });
            }
        }
        Ok(found)
    }

    /// For each release what is kept of it; none where it is new, was never completed, or is named in `again`. Charges
    /// nothing.
    ///
    /// What would be charged a second time is an error, and so is a release whose files in `out` are gone or changed:
    /// whether these are paid for again is for somebody to say.
    pub fn kept(&self, releases: &[PlannedRelease], out: &Path, again: &[String]) -> Result<Vec<Option<KeptRelease>>> {
        self.refuse_other_tables(releases)?;
        if let [first, more @ ..] = &self.second_charges(releases, again)?[..] {
            return Err(charged_twice(first, more));
        }
        let Some(ledger) = self.existing_ledger()? else { return Ok(vec![None; releases.len()]) };
        let (mut kept, mut gone) = (Vec::new(), Vec::new());
        for planned in releases {
            let name = &planned.request.name;
            let found = if again.contains(name) { None } else { ledger.last_committed(name)? };
            let Some((charge, marks)) = found else {
                kept.push(None);
                continue;
            };
            if !is_same(self.project(), planned, &charge)? {
                kept.push(None);
                continue;
            }
            match intact_files(out, &charge) {
                Err(what) => gone.push((name, charge, what)),
                Ok(files) => kept.push(Some(self.one_kept(charge, files, &planned.plan.tables, &marks)?)),
            }
        }
        match gone.is_empty() {
            true => Ok(kept),
            false => Err(lost(&gone)),
        }
    }

    /// Refuses tables that are not declared as earlier releases read them. Paying again would be refused as well, so
    /// this comes before a question about a second charge.
    pub fn refuse_other_tables(&self, releases: &[PlannedRelease]) -> Result<()> {
        let Some(ledger) = self.existing_ledger()? else { return Ok(()) };
        let (standing, folder) = (ledger.standing(&[])?.0, ledger::folder(self.ledger())?);
        for planned in releases {
            ledger::joined(standing.declared(), &self.declared(planned, &folder)?, &folder)?;
        }
        Ok(())
    }

    /// The entry of what was published under a release's name, if it was declared otherwise: a new run pays for it
    /// anew, and replaces it.
    pub fn published_otherwise(&self, planned: &PlannedRelease) -> Result<Option<u64>> {
        let Some(ledger) = self.existing_ledger()? else { return Ok(None) };
        let Some((charge, _)) = ledger.last_committed(&planned.request.name)? else { return Ok(None) };
        Ok((!is_same(self.project(), planned, &charge)?).then_some(charge.sequence))
    }

    /// The name and the entry of what was published with the same declaration under a name that no release has any
    /// more: a renamed release is charged anew.
    pub fn published_as(&self, planned: &PlannedRelease) -> Result<Option<(String, u64)>> {
        // A release that no project file lists has the name that somebody gave it just now: nothing was renamed.
        if self.project().releases.iter().all(|request| request.name != planned.request.name) {
            return Ok(None);
        }
        let Some(ledger) = self.existing_ledger()? else { return Ok(None) };
        let is_gone = |charge: &Charge| self.project().releases.iter().all(|request| request.name != charge.release);
        for charge in ledger.recent(MOST_CHARGES)?.into_iter().rev() {
            let is_candidate = charge.state.output().is_some() && charge.kind == planned.request.kind;
            if is_candidate
                && is_gone(&charge)
                && charge.request == Some(digest_as(self.project(), planned, &charge.release)?)
            {
                return Ok(Some((charge.release, charge.sequence)));
            }
        }
        Ok(None)
    }

    /// The tables whose files are not those that the ledger saw last, as far as that can be told. Reads the files, and
    /// gives no value of them.
    pub fn changed_tables(&self) -> Result<Vec<String>> {
        let Some(ledger) = self.existing_ledger()? else { return Ok(Vec::new()) };
        let standing = ledger.standing(&[])?.0;
        let is_known = |name: &&String| standing.mark(name).is_some();
        let known: Vec<String> = self.project().tables.keys().filter(is_known).cloned().collect();
        let now = self.marks_now(&known)?.unwrap_or_default();
        Ok(now.into_iter().filter(|(table, mark)| standing.mark(table) != Some(mark)).map(|(table, _)| table).collect())
    }

    /// The entries of charges of a release that published nothing: the process that made them was interrupted, or is
    /// still at work. They stay.
    pub fn interrupted(&self, name: &str) -> Result<Vec<u64>> {
        let Some(ledger) = self.existing_ledger()? else { return Ok(Vec::new()) };
        let charges = ledger.reservations(name)?.into_iter().filter(|charge| charge.life.commits() == 0);
        Ok(charges.map(|charge| charge.head.entries).collect())
    }

    /// The entry and the time of a release that is published as it is declared, whatever became of its files. Looks at
    /// the ledger alone.
    pub fn published_before(&self, planned: &PlannedRelease) -> Result<Option<(u64, String)>> {
        // Of an interactive release there is always more to ask.
        if planned.request.definition()?.publishes == Publication::Rounds {
            return Ok(None);
        }
        let Some(ledger) = self.existing_ledger()? else { return Ok(None) };
        let Some((charge, _)) = ledger.last_committed(&planned.request.name)? else { return Ok(None) };
        Ok(is_same(self.project(), planned, &charge)?.then_some((charge.sequence, charge.time)))
    }

    /// What is wrong with the files in `out` of what was last published under a release's name, in words; none where
    /// they are as they were.
    pub fn lost_file(&self, name: &str, out: &Path) -> Result<Option<String>> {
        let Some(ledger) = self.existing_ledger()? else { return Ok(None) };
        Ok(ledger.last_committed(name)?.and_then(|(charge, _)| intact_files(out, &charge).err()))
    }

    fn one_kept(
        &self,
        charge: Charge,
        files: Vec<PathBuf>,
        tables: &[String],
        marks: &BTreeMap<String, String>,
    ) -> Result<KeptRelease> {
        let data_changed =
            self.marks_now(tables)?.map(|now| now.iter().any(|(table, mark)| marks.get(table) != Some(mark)));
        let Charge { release: name, kind, sequence, time, .. } = charge;
        Ok(KeptRelease { name, kind, sequence, time, files, data_changed: data_changed.filter(|_| !marks.is_empty()) })
    }

    /// The marks of the tables' files as they are; none where there is no key, or where the files cannot be read, which
    /// is no matter for what is published.
    pub(crate) fn marks_now(&self, tables: &[String]) -> Result<Option<BTreeMap<String, String>>> {
        let Some(key) = ledger::MarkKey::existing(self.ledger())? else { return Ok(None) };
        let states = check::state(self.project(), tables).ok();
        Ok(states.map(|all| all.into_iter().map(|state| (state.table, key.mark(&state.fingerprint))).collect()))
    }
}

/// The digest of what a release declares, as charges have it from now on: without what no answer depends on, a query in
/// the words of its statement, and without bounds that are the table's own.
pub(crate) fn request_digest(project: &Project, planned: &PlannedRelease) -> Result<String> {
    digest_as(project, planned, &planned.request.name)
}

/// The same, as if the release had this name.
fn digest_as(project: &Project, planned: &PlannedRelease, name: &str) -> Result<String> {
    let mut said = normal(project, planned);
    if let Some(fields) = said.as_object_mut() {
        own_bounds(project, planned).iter().for_each(|name| drop(fields.remove(*name)));
        fields.entry("name").and_modify(|own| *own = name.into());
    }
    declared_digest(project, planned, said)
}

/// The fields of a release that say of its one table what that says itself. A table that is joined with itself has
/// other bounds than its own, and kind `bounds` looks at more than the table lets count.
fn own_bounds(project: &Project, planned: &PlannedRelease) -> Vec<&'static str> {
    let fields = planned.request.fields.json();
    let is_joined = fields["sql"].as_str().is_some_and(|sql| sql.to_lowercase().contains("join"));
    let is_of_another = matches!(decided_by(&planned.request), DigestOf::OtherRelease(_));
    let [name] = &planned.plan.tables[..] else { return Vec::new() };
    let Some(table) = project.tables.get(name).filter(|_| !is_joined && !is_of_another) else {
        return Vec::new();
    };
    let Bounding { rows, groups, rows_per_group } = table.bounding;
    let own = [("max_rows_per_owner", rows), ("max_groups_per_owner", groups), ("max_rows_per_group", rows_per_group)];
    // Numbers stand in what a request says as their texts.
    let is_same = |(name, bound): &(&'static str, Option<u64>)| {
        fields[*name].as_str().is_some_and(|said| bound.is_some_and(|bound| bound.to_string() == said))
    };
    own.into_iter().filter(is_same).map(|(name, _)| name).collect()
}

/// The same as charges had it before, with all bounds that were said.
fn digest_with_bounds(project: &Project, planned: &PlannedRelease) -> Result<String> {
    declared_digest(project, planned, normal(project, planned))
}

/// The digest of the same release whose cost does not say that it is about a person; none where it does not say so.
///
/// A curator who writes `cost_scope = "presence"` into a project, and `scope = "person"` into the releases that are
/// published already, changes nothing about these and pays for none of them again. A charge has a cost without a scope
/// only if it was about a person: where the project had another scope for such costs, the cost says that scope.
fn digest_of_unsaid_person(project: &Project, planned: &PlannedRelease) -> Result<Option<String>> {
    let mut said = normal(project, planned);
    own_bounds(project, planned).iter().for_each(|name| drop(said.as_object_mut().map(|fields| fields.remove(*name))));
    let cost = said.get_mut("cost").and_then(Value::as_object_mut);
    match cost.and_then(|cost| cost.remove("scope")) {
        Some(scope) if scope == "person" => declared_digest(project, planned, said).map(Some),
        _ => Ok(None),
    }
}

/// What else decides what a request answers; nothing where its kind is not known.
fn decided_by(request: &Request) -> DigestOf {
    request.definition().map_or(DigestOf::Request, |kind| kind.digest)
}

/// What a release declares, without what no answer depends on.
fn normal(project: &Project, planned: &PlannedRelease) -> Value {
    let mut said = fields(&planned.request, project);
    if let Some(fields) = said.as_object_mut() {
        fields.remove("expected_rows");
        if fields.get("noise").is_some_and(|noise| noise == "auto") {
            fields.remove("noise");
        }
    }
    as_statement(&mut said);
    said
}

/// Puts a query in the words of its statement.
fn as_statement(fields: &mut Value) {
    if let Some(statement) = fields["sql"].as_str().and_then(crate::sql::statement) {
        fields["sql"] = statement.into();
    }
}

/// The same as the first charges had it.
fn plain_digest(project: &Project, planned: &PlannedRelease) -> Result<String> {
    declared_digest(project, planned, fields(&planned.request, project))
}

fn declared_digest(project: &Project, planned: &PlannedRelease, fields: Value) -> Result<String> {
    let mut said = with_tables(project, planned, fields);
    if decided_by(&planned.request) == DigestOf::DeclaredAttacker {
        said["attacker"] = declared(project)?;
    }
    Ok(crate::digest(said.to_string().as_bytes()))
}

/// Fields, their kind, and what answers depend on of the tables.
fn with_tables(project: &Project, PlannedRelease { request, plan, .. }: &PlannedRelease, fields: Value) -> Value {
    let tables = plan.tables.iter().filter_map(|name| project.tables.get(name));
    let tables: Value = tables.map(|table| (table.name.clone(), of_table(table))).collect();
    json!({ "fields": fields, "kind": request.kind, "tables": tables })
}

/// The digest of a request, without the name of its release: the statement of a query as parsed, so that spaces,
/// comments and the case of keywords do not matter, and its plan.
pub(crate) fn question_digest(project: &Project, planned: &PlannedRelease) -> Result<String> {
    let mut fields = fields(&planned.request, project);
    fields.as_object_mut().map(|fields| fields.remove("name"));
    as_statement(&mut fields);
    let steps = planned.plan.query.as_ref().map(|cut| cut.plan.display_indent().to_string());
    let mut said = with_tables(project, planned, fields);
    said["steps"] = json!(steps);
    Ok(crate::digest(said.to_string().as_bytes()))
}

/// What answers depend on of what a table's declaration may say otherwise in the same ledger.
fn of_table(table: &Table) -> Value {
    let Bounding { rows, groups, rows_per_group } = table.bounding;
    let graph = table.graph.as_ref().map(|Graph { from, to, vertices }| json!([from, to, vertices]));
    json!({ "rows": rows, "groups": groups, "rows_per_group": rows_per_group, "owners": table.public_owners, "graph": graph })
}

/// All that a request says, and what the release says whose bounds it asks for.
fn fields(request: &Request, project: &Project) -> Value {
    let mut fields = request.fields.json();
    // How numbers are shown can change without a charge.
    if let Some(fields) = fields.as_object_mut() {
        fields.retain(|key, _| !Presentation::KEYS.contains(&key.as_str()));
    }
    if let Some(sql) = fields["sql"].as_str().map(one_line) {
        fields["sql"] = sql.into();
    }
    // Said or not, the kind is known.
    fields.as_object_mut().map(|fields| fields.remove("kind"));
    if let DigestOf::OtherRelease(field) = decided_by(request)
        && let Some(other) = project.releases.iter().find(|one| Some(one.name.as_str()) == fields[field].as_str())
    {
        fields[field] = self::fields(other, project);
    }
    fields
}

/// A query with each gap between two words as one space: where it begins a new line makes no difference, except in
/// texts and comments.
fn one_line(sql: &str) -> String {
    if ["--", "/*", "'", "\"", "`", "$"].iter().any(|sign| sql.contains(sign)) {
        return sql.trim().to_string();
    }
    sql.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a charge was for what is declared now. A ledger of version 2 or before does not say; the events and the rule
/// tell as much.
fn is_same(project: &Project, planned: &PlannedRelease, charge: &Charge) -> Result<bool> {
    Ok(match &charge.request {
        Some(request) => {
            let accepted = [request_digest, digest_with_bounds, plain_digest];
            let accepted = accepted.iter().map(|digest| digest(project, planned)).collect::<Result<Vec<_>>>()?;
            accepted.contains(request) || digest_of_unsaid_person(project, planned)?.as_ref() == Some(request)
        }
        None => {
            charge.kind == planned.request.kind
                && charge.events == planned.plan.events
                && comparable(&charge.rule) == comparable(&planned.plan.rule)
        }
    })
}

/// A rule without what only says how: the hash that chose rows, and the text for other engines.
fn comparable(rule: &Value) -> Value {
    match rule {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !["hash", "integers"].contains(&name.as_str()));
            kept.map(|(name, value)| (name.clone(), comparable(value))).collect()
        }
        Value::Array(list) => list.iter().map(comparable).collect(),
        other => other.clone(),
    }
}

/// The files of a charge, under the names of today or of an earlier version, if they are there as they were published;
/// else what is wrong with them.
fn intact_files(out: &Path, charge: &Charge) -> std::result::Result<Vec<PathBuf>, String> {
    let Some(output) = charge.state.output() else { return Err("it was not completed".to_string()) };
    let wrong = |names: &[String; 3]| names.iter().find_map(|name| changed_file(&out.join(name), name, output));
    let known = known_file_names(&charge.release);
    if let Some(names) = known.iter().find(|names| wrong(names).is_none()) {
        return Ok(names.iter().map(|name| out.join(name)).collect());
    }
    // What is said is about names that some file has, if any has one.
    let there = known.iter().find(|names| names.iter().any(|name| out.join(name).exists()));
    Err(there.or(known.first()).and_then(wrong).unwrap_or_default())
}

/// What is wrong with a file, if it is not what was published.
fn changed_file(path: &Path, name: &str, output: &OutputDigests) -> Option<String> {
    match digest_of(path) {
        Err(_) => Some(format!("{} is not there any more", path.display())),
        Ok(digest) if is_published(output, name, &digest) => None,
        Ok(_) => Some(format!("{} is not what was published", path.display())),
    }
}

/// Whether a file with this digest is what the ledger knows of it, as far as it knows it.
pub(crate) fn is_published(output: &OutputDigests, name: &str, found: &str) -> bool {
    let end = name.rsplit('.').next().unwrap_or_default();
    let known = output.files.get(end).or_else(|| Some(&output.values).filter(|_| end == "csv"));
    known.is_none_or(|digest| digest == found)
}

/// The one sentence for releases that would be charged a second time.
fn charged_twice(first: &SecondCharge, more: &[SecondCharge]) -> Error {
    let others = match more.len() {
        0 => String::new(),
        1 => " (and so would another release)".to_string(),
        others => format!(" (and so would {others} other releases)"),
    };
    let flags: Vec<String> = std::iter::once(first).chain(more).map(|one| again(&one.name)).collect();
    Error::budget(format!("{}{others}; nothing was charged: undo that, or use {}", first.words(), flags.join(" ")))
}

/// The one sentence for files that are gone.
fn lost(gone: &[(&String, Charge, String)]) -> Error {
    let (name, charge, what) = &gone[0];
    let more = match gone.len() - 1 {
        0 => String::new(),
        1 => " (and so with another release)".to_string(),
        others => format!(" (and so with {others} other releases)"),
    };
    let what = format!("{what}{more}");
    let names: BTreeSet<String> = gone.iter().map(|(name, ..)| again(name)).collect();
    Error::input(format!(
        "'{name}' was published on {} (entry {}), and {what}; nothing was charged: restore it, name its folder with \
            --out, or use {}",
        day(&charge.time),
        charge.sequence,
        names.into_iter().collect::<Vec<_>>().join(" "),
    ))
}

/// The flag that pays again, as a shell reads it.
pub fn again(name: &str) -> String {
    let plain = name.chars().all(|letter| letter.is_alphanumeric() || "-_.,+".contains(letter));
    if plain { format!("--again {name}") } else { format!("--again '{name}'") }
}

/// The day of a time.
fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}

#[cfg(test)]
mod tests;
