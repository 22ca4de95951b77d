//! The project file: tables and what is publicly known about them, budgets, releases.
//!
//! Everything in it is public and must come from public knowledge: bounds and domains that are taken from the data
//! would give the data away.

mod cluster;
mod column;
mod cost;
mod declaration;
mod graph;
mod kept;
mod layout;
mod memory;
mod presentation;
mod read;
mod recoding;
mod section;
mod server;

pub use crate::calendar::Zone;
pub use cluster::Cluster;
pub use cost::{Cost, CostScope, Goal};
pub use graph::Graph;
pub use layout::Layout;
pub use presentation::{ColumnWords, Presentation};
pub use recoding::{BinEdges, Recoding};
pub use server::Server;

pub(crate) use cost::cost;
pub use read::is_name;
pub(crate) use read::{project, project_of_json, within_reason};
pub(crate) use recoding::with_recoded;
pub(crate) use section::{Section, Spot, given};
#[cfg(test)]
pub(crate) use section::{parse, parse_json};

/// Every key that a project file may have about tables and attackers, for tests that look at each.
#[cfg(test)]
pub(crate) mod keys {
    pub(crate) use super::column::{TYPES, keys as of_column};
    pub(crate) use super::graph::KEYS as OF_GRAPH;
    pub(crate) use super::layout::KEYS as OF_LAYOUT;
    pub(crate) use super::read::{ATTACKER_KEYS as OF_ATTACKER, TABLE_KEYS as OF_TABLE};
}

use crate::budget::Budget;
use crate::error::{Error, QueryMistake, Result};
use crate::memory::Batches;
use crate::place::{Place, suggestion};
use crate::stop::Stop;
use scumble::quantity::Delta;
use scumble::scope::AttributeSet;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A project: what there is, what may be spent, what is to be published.
#[derive(Debug)]
pub struct Project {
    /// The file, as it was given.
    pub path: PathBuf,
    /// SHA-256 of the file's bytes, hexadecimal.
    pub digest: String,
    /// The tables by name.
    pub tables: BTreeMap<String, Table>,
    /// What may be spent.
    pub budget: Budget,
    /// The releases in the file's order.
    pub releases: Vec<Request>,
    /// The weaker attackers to report on.
    pub attacker: Option<Attacker>,
    /// What single analysts may spend of the budget, by their names, where a server is asked by several.
    pub analysts: BTreeMap<String, Budget>,
    /// Whether work on it should stop.
    pub stop: Stop,
    /// How many bytes of memory a release may take, if declared.
    pub memory: Option<u64>,
    /// The cluster that computes the integers of tables that are files, if they are not read here.
    pub cluster: Option<Cluster>,
    ledger: Option<PathBuf>,
    /// The scope of costs that say none, where that is not a person.
    default_scope: Option<cost::DefaultScope>,
    /// The last queries that were analysed, where many ask.
    kept: Option<kept::KeptQueries>,
}

/// One table.
#[derive(Debug, Clone)]
pub struct Table {
    /// Its name in queries.
    pub name: String,
    /// Where its rows are; of rows in memory, what they are called.
    pub source: PathBuf,
    /// Its rows, where no file has them.
    pub(crate) rows: Option<Batches>,
    /// The server that it is on, where it is not a file.
    pub server: Option<Server>,
    /// How its text files are written.
    pub layout: Layout,
    /// The column that says whose row it is; none where one row is one person.
    pub owner: Option<String>,
    /// Whether the table holds no private data at all.
    pub public: bool,
    /// How much of an owner counts.
    pub bounding: Bounding,
    /// How many owners there are (rows, where one row is one person), if everybody may know it. Never counted from the
    /// data.
    pub public_owners: Option<u64>,
    /// The declared columns, in the file's order. Others do not exist for queries.
    pub columns: Vec<Column>,
    /// Where its rows are the edges of a graph: which columns are their ends.
    pub graph: Option<Graph>,
    /// What readers call it, in the source line of charts.
    pub label: Option<String>,
}

/// How much of one owner's rows counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounding {
    /// At most this many rows in all.
    pub rows: Option<u64>,
    /// At most this many groups of a `GROUP BY`.
    pub groups: Option<u64>,
    /// At most this many rows in each group.
    pub rows_per_group: Option<u64>,
}

impl Bounding {
    /// How many rows of one owner count in all groups together.
    pub(crate) fn all_rows(self) -> u64 {
        self.rows.unwrap_or_else(|| self.groups.unwrap_or(1).saturating_mul(self.rows_per_group.unwrap_or(1)))
    }

    /// These bounds where given, `others` elsewhere.
    pub fn or(self, others: Self) -> Self {
        Self {
            rows: self.rows.or(others.rows),
            groups: self.groups.or(others.groups),
            rows_per_group: self.rows_per_group.or(others.rows_per_group),
        }
    }
}

/// One column and what is publicly known about it.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub domain: Domain,
    /// Whether the report should look at it in particular.
    pub sensitive: bool,
    /// What readers call it.
    pub words: ColumnWords,
    /// How what files hold becomes what it holds, where these differ.
    pub recoding: Option<Recoding>,
    /// Whether no value is missing: what would be counts as the first of the domain (the lower bound, the first listed
    /// value, false).
    pub never_missing: bool,
    /// The public table and its column that list the values; the domain has them once they were read.
    pub(crate) key_set: Option<KeySet>,
}

/// Values that a public table lists.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeySet {
    pub table: String,
    pub column: String,
    /// The position of this declaration.
    pub place: Place,
}

impl Column {
    /// What files hold of it.
    pub fn in_files(&self) -> Domain {
        self.recoding.as_ref().map_or_else(|| self.domain.clone(), Recoding::in_files)
    }
}

/// What a column holds. Values outside are brought inside where the table is read: numbers, dates and times are moved
/// to the nearest bound, NaN and categories that are not listed become NULL.
// Exhaustive on purpose: a match in another crate must decide about every variant, so a new one may not pass unseen.
#[derive(Debug, Clone, PartialEq)]
pub enum Domain {
    /// Whole numbers.
    Int {
        /// The bounds.
        bounds: Option<(i64, i64)>,
    },
    /// Numbers.
    Float {
        /// The bounds.
        bounds: Option<(f64, f64)>,
        /// The grid on which sums are made.
        granularity: Option<f64>,
    },
    /// Texts; the list is the public domain.
    Category {
        /// All values there can be, if that is public.
        values: Option<Vec<String>>,
    },
    /// True or false.
    Bool,
    /// Dates, as days since 1970-01-01.
    Date {
        /// The bounds.
        bounds: Option<(i64, i64)>,
    },
    /// Times on the wall of their zone, as nanoseconds since 1970-01-01T00:00:00 there.
    Timestamp {
        /// The bounds.
        bounds: Option<(i64, i64)>,
        /// Whose wall.
        zone: Zone,
    },
}

impl Domain {
    /// Whether it has a value that stands first: a lower bound, a listed value, false.
    pub(crate) fn has_first(&self) -> bool {
        match self {
            Self::Int { bounds } | Self::Date { bounds } | Self::Timestamp { bounds, .. } => bounds.is_some(),
            Self::Float { bounds, .. } => bounds.is_some(),
            Self::Category { values } => values.as_ref().is_some_and(|values| !values.is_empty()),
            Self::Bool => true,
        }
    }

    /// A whole number of this domain as a text file has it: a day or a time on the wall where it is one.
    pub fn written(&self, whole: i64) -> String {
        match self {
            Self::Date { .. } => crate::calendar::shown_day(whole),
            Self::Timestamp { .. } => crate::calendar::shown_moment(whole),
            _ => whole.to_string(),
        }
    }
}

/// The `[attacker]` section: the weaker attackers to report on, as declared. None of it is inferred from data.
#[derive(Debug, Clone, PartialEq)]
pub struct Attacker {
    /// The fraction of rows that the attacker knows.
    pub known_rows: f64,
    /// Whether what the attacker knows may be what it chose; otherwise it only happens to know it (passive).
    pub active: bool,
    /// The attacker's uncertainty about each other row: the least probability of a value; 0 if not declared.
    pub uncertainty: f64,
    /// Whether it was declared that the attacker considers different owners independent.
    pub independent: bool,
    /// The δ at which ε is shown; by default the budget's smallest.
    pub delta: Option<Delta>,
}

/// A release that somebody asks for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its name; the outputs are called after it.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// What it may cost.
    pub cost: Cost,
    /// The column that must hold 0 and 1 (or true and false), where its kind has one.
    pub(crate) label: Option<String>,
    /// How it is shown.
    pub presentation: Presentation,
    /// The fields of its kind.
    pub(crate) fields: Section,
}

impl Project {
    /// The folder of the project file, where sources and outputs are.
    pub fn folder(&self) -> PathBuf {
        self.path.parent().map_or_else(PathBuf::new, Path::to_path_buf)
    }

    /// Where the ledger is.
    pub fn ledger(&self) -> PathBuf {
        self.folder().join(self.ledger.clone().unwrap_or_else(|| PathBuf::from("scumble.ledger")))
    }

    /// The same, which keeps the last queries that were analysed, for programs in which many ask. Its tables must not
    /// change afterwards.
    pub fn keeping_queries(self) -> Self {
        Self { kept: Some(kept::KeptQueries::default()), ..self }
    }

    /// How many queries were analysed since they are kept.
    pub fn queries_analysed(&self) -> u64 {
        self.kept.as_ref().map_or(0, kept::KeptQueries::analysed)
    }

    /// What was analysed of a text before, if such things are kept; otherwise what `analyse` gives.
    pub(crate) fn kept_query<T: Clone + Send + Sync + 'static>(
        &self,
        text: impl FnOnce() -> String,
        is_small: impl FnOnce(&T) -> bool,
        analyse: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        match &self.kept {
            Some(kept) => kept.find(text(), is_small, analyse),
            None => analyse(),
        }
    }

    /// A table by name.
    pub fn table(&self, name: &str) -> Result<&Table> {
        self.tables.get(name).ok_or_else(|| {
            let hint = suggestion(name, self.tables.keys().map(String::as_str));
            let unknown = Error::input(format!("there is no table '{name}' in the project file{hint}"));
            unknown.with_mistake(QueryMistake::UnknownTable)
        })
    }

    /// A request as this project understands it: its cost says a scope, if the project has one for costs that say none.
    /// The only place where that is decided, for requests of every door; the project's own releases went through it.
    pub(crate) fn with_scope(&self, request: Request) -> Request {
        match &self.default_scope {
            Some(default) => default.of_request(request),
            None => request,
        }
    }

    /// A cost with the scope that this project gives it: for messages about what was paid.
    pub fn cost_with_scope(&self, cost: &Cost) -> Cost {
        match &self.default_scope {
            Some(default) => default.of_cost(cost.clone()),
            None => cost.clone(),
        }
    }

    /// Whether the rows of a table are read by this program, and not computed with where they are.
    pub(crate) fn is_read_here(&self, table: &Table) -> bool {
        table.server.is_none() && self.cluster.is_none()
    }

    /// Pairs of attributes with at least one that is declared sensitive: the report describes them together.
    pub fn sensitive_pairs(&self) -> Result<Vec<AttributeSet>> {
        let sensitive = self.tables.values().flat_map(|table| &table.columns).filter(|column| column.sensitive);
        let mut pairs = std::collections::BTreeSet::new();
        for column in sensitive {
            for other in self.attributes().into_iter().filter(|other| *other != column.name) {
                pairs.insert(AttributeSet::new([column.name.clone(), other])?);
            }
        }
        Ok(pairs.into_iter().collect())
    }

    /// The attributes: the names of all private columns that do not name an owner.
    pub fn attributes(&self) -> std::collections::BTreeSet<String> {
        let private = self.tables.values().filter(|table| !table.public);
        private
            .flat_map(|table| {
                table.columns.iter().map(|column| &column.name).filter(|name| Some(*name) != table.owner.as_ref())
            })
            .cloned()
            .collect()
    }
}

impl Table {
    /// A declared column by name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// How the names of a release's files end, in the order in which they are written.
pub(crate) const FILE_ENDS: [&str; 3] = ["csv", "parquet", "json"];

/// The names of a release's files.
pub(crate) fn file_names(release: &str) -> [String; 3] {
    FILE_ENDS.map(|end| format!("{}.{end}", file_stem(release)))
}

/// The names of the files of a release's picture: SVG, PNG and a Vega-Lite specification.
pub(crate) fn picture_names(release: &str) -> [String; 3] {
    ["svg", "png", "vl.json"].map(|end| format!("{}.{end}", file_stem(release)))
}

/// The names that a release's files may have: those of today, and those of versions that had the release's name as it
/// is.
pub(crate) fn known_file_names(release: &str) -> Vec<[String; 3]> {
    let before = FILE_ENDS.map(|end| format!("{}.{end}", release.trim()));
    let mut known = vec![file_names(release)];
    if known[0] != before {
        known.push(before);
    }
    known
}

/// The file name that a release's outputs have, without extension: the letters and digits of its name in lower case,
/// `_` and `.` as they are, and one `-` for whatever stands between.
///
/// ```
/// use scumble_engine::project::file_stem;
/// assert_eq!(file_stem("Diseases of adults (2025)"), "diseases-of-adults-2025");
/// ```
pub fn file_stem(name: &str) -> String {
    let mut slug = String::new();
    for letter in name.chars().flat_map(char::to_lowercase) {
        match letter {
            letter if letter.is_alphanumeric() || "_.".contains(letter) => slug.push(letter),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    match slug.trim_matches(['-', '.']) {
        // A name without letters and digits.
        "" => "release".to_string(),
        slug => slug.to_string(),
    }
}

#[cfg(test)]
mod tests;
