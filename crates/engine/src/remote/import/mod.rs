//! Jobs: a release whose integers are computed elsewhere, by another engine, where the rows are. Only integers come
//! back.
//!
//! `scumble setup integers` prints the statements of a job, `scumble release --integers` takes what they gave. Between
//! the two nothing is kept: the secret that chooses rows and the job's one-time number are made of the ledger's key, of
//! what the job is, and of how many of the same were charged.
//!
//! # Guarantee
//! - The secret is fixed before rows are seen: for one job there is one, however often it is printed, until it is
//!   charged; then there is the next.
//! - A number is charged at most once: the ledger holds those that were, and nobody charges between that look and the
//!   charge.
//! - A job that was printed for another query, other bounds or other columns has another number, and is refused.
//! - All errors of the imported files are reported before the charge; noise is drawn after it is durable.
//!
//! What no program can see is whether the integers are those of the statements, and of the rows: that an owner moves
//! them by no more than is charged depends on the operator of the job, as it depends on us that our own pass is right.

pub(super) mod read;
mod sheet;

use super::{HASH, IntegerSource, unwritten};
use crate::digest;
use crate::error::{Error, Result};
use crate::ledger::{self, Ledger, LedgerState};
use crate::project::{Domain, Project, Request, Table};
use crate::sql::PrivateQuery;
use crate::sql::execute::integers::Integers;
use crate::sql::text::{self, Engine};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;

/// A job as it stands: what it asks for, and its number.
pub(crate) struct Job {
    pub queries: Vec<Rc<PrivateQuery>>,
    /// Of the release's name and of all statements, without secret.
    digest: String,
    pub number: String,
    pub secret: String,
    /// The numbers of the same job that were charged.
    before: Vec<String>,
    /// How many charges there were when that was looked up.
    charges: u64,
}

/// Integers that a job gave, and whose charge they are for.
pub(crate) struct ImportedIntegers {
    integers: RefCell<VecDeque<Integers>>,
    digest: String,
    number: String,
    charges: u64,
}

impl IntegerSource for ImportedIntegers {
    fn integers(&self, _: &PrivateQuery) -> Result<Integers> {
        let next = self.integers.borrow_mut().pop_front();
        next.ok_or_else(|| Error::machine("a release asks for more than its job gave"))
    }

    fn note(&self, rule: &mut Value) {
        rule["hash"] = json!(HASH);
        rule["job"] = json!({ "digest": self.digest, "number": self.number });
    }

    /// Nobody has charged anything since the numbers were looked up.
    fn admit(&self, standing: &LedgerState) -> Result<()> {
        match standing.releases() == self.charges {
            true => Ok(()),
            false => Err(Error::machine(
                "another process has charged the ledger meanwhile, and nothing was charged here: release again",
            )),
        }
    }
}

impl Job {
    /// The job of a release's queries as the ledger has it now. `path` is where that is, or would be.
    pub fn standing(
        request: &Request,
        queries: Vec<Rc<PrivateQuery>>,
        project: &Project,
        ledger: Option<&Ledger>,
        path: &Path,
    ) -> Result<Self> {
        let mut said = vec![request.name.clone()];
        for query in &queries {
            let texts = text::statements(query, project);
            said.extend(texts.map_err(|error| unwritten(&request.name, &error))?);
        }
        let digest = digest(json!(said).to_string().as_bytes());
        // First the number of charges, then the charged jobs: a charge in between is noticed.
        let (charges, before) = match ledger {
            Some(ledger) => (ledger.standing(&[])?.0.releases(), ledger.jobs(&digest)?),
            None => (0, Vec::new()),
        };
        let key = ledger::MarkKey::of(path)?;
        let nth = before.len() as u64;
        let number = key.derived("the number of a job", &digest, nth)[..32].to_string();
        let secret = key.derived("the secret of a job", &digest, nth);
        Ok(Self { queries, digest, number, secret, before, charges })
    }

    /// Its statements for an engine, with what must be true of it.
    pub fn written(&self, request: &Request, project: &Project, engine: Engine) -> Result<String> {
        let count = self.statements(project)?;
        let mut texts = Vec::new();
        for query in &self.queries {
            let done = texts.len();
            let name = |index: usize| self.column(done + index, count);
            let written = text::job(query, project, engine, &self.secret, name);
            texts.extend(written.map_err(|error| unwritten(&request.name, &error))?);
        }
        Ok(format!("{}{}", self.explained(request, project, engine)?, listed(&texts)))
    }

    /// What it gave, from the files of a folder.
    pub fn imported(self, request: &Request, project: &Project, folder: &Path) -> Result<ImportedIntegers> {
        let count = self.statements(project)?;
        let integers = read::integers(&self, count, &request.name, folder)?;
        let Self { digest, number, charges, .. } = self;
        Ok(ImportedIntegers { integers: RefCell::new(integers.into()), digest, number, charges })
    }

    /// How many statements there are.
    fn statements(&self, project: &Project) -> Result<usize> {
        let count = |query: &Rc<PrivateQuery>| text::statements(query, project).map(|texts| texts.len());
        let counts = self.queries.iter().map(count).collect::<std::result::Result<Vec<usize>, _>>();
        counts.map(|counts| counts.iter().sum()).map_err(|error| unwritten("", &error))
    }

    /// The name of the last column of a statement (from 0), by which its result is known again.
    fn column(&self, index: usize, count: usize) -> String {
        format!("{}{}_{}_of_{count}", read::PREFIX, self.number, index + 1)
    }

    /// What somebody must know who runs it.
    fn explained(&self, request: &Request, project: &Project, engine: Engine) -> Result<String> {
        let named = Engine::NAMED.iter().find(|(_, known)| *known == engine).map_or("", |(name, _)| *name);
        let mut lines = vec![
            format!("The exact integers of release '{}', for {named}. Written by {}.", request.name, crate::ENGINE),
            "NOT PRIVATE: neither this file, which holds the secret that chooses rows, nor its results. Keep both as you keep the tables,".to_string(),
            "and remove both when the release is published. A server's log has what was run on it.".to_string(),
            String::new(),
            "What must be true:".to_string(),
            "- There are tables or views of these names, with these columns and nothing else in them than is declared:".to_string(),
        ];
        let mut tables = std::collections::BTreeMap::new();
        for query in &self.queries {
            let used = text::used(query).map_err(|error| unwritten(&request.name, &error))?;
            for name in &query.below.tables {
                tables.entry(name.clone()).or_insert_with(std::collections::BTreeSet::new).extend(used.clone());
            }
        }
        for (name, used) in &tables {
            lines.push(format!("    {name}: {}", columns(project.table(name)?, used).join(", ")));
        }
        lines.push("- Strings are in UTF-8, and two of them are equal if their bytes are.".to_string());
        lines.push("- Nothing writes to the tables between the statements.".to_string());
        lines.extend(engine.demands().iter().map(|line| format!("- {line}")));
        lines.push("- The result of each statement is saved with its header in a file of its own, .csv or .parquet, in one folder. Then:".to_string());
        lines.push(format!("    scumble release --only '{}' --integers FOLDER", request.name));
        let clean =
            |line: &String| line.chars().map(|one| if one.is_control() { '?' } else { one }).collect::<String>();
        Ok(lines.iter().map(|line| format!("-- {}\n", clean(line)).replace("-- \n", "--\n")).collect())
    }
}

/// The columns of a table that are used, each with what it holds.
fn columns(table: &Table, used: &std::collections::BTreeSet<String>) -> Vec<String> {
    let owner = table.owner.iter().map(|name| format!("{name} (the owner: a string or a whole number)"));
    let declared = table.columns.iter().filter(|column| used.contains(&column.name)).map(|column| {
        let kind = match (&column.recoding, &column.domain) {
            (Some(_), _) => "as in the file that is declared",
            (None, Domain::Int { .. }) => "whole number",
            (None, Domain::Float { .. }) => "fraction",
            (None, Domain::Category { .. }) => "text",
            (None, Domain::Bool) => "true or false",
            (None, Domain::Date { .. }) => "date",
            (None, Domain::Timestamp { .. }) => "time",
        };
        format!("{} ({kind})", column.name)
    });
    owner.chain(declared).collect()
}

/// The statements, one after the other.
fn listed(texts: &[String]) -> String {
    let numbered =
        texts.iter().zip(1..).map(|(text, number)| format!("\n-- statement {number} of {}\n{text};\n", texts.len()));
    numbered.collect()
}
