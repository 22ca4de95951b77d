//! The project as everybody sees it, whatever door they come through: who they are, what something would cost, answers,
//! what is left.
//!
//! What is paid for is paid for one after the other (`charge_lock`), and each charge is one transaction of the ledger,
//! which excludes other processes too: what
//! holds for one release at a terminal holds here, however many ask at once; so does the memory that the project file
//! allows a release. All that is done with tables or with the ledger is done on threads that may wait.

mod ask;
mod described;
mod held;
mod history;
mod kept;
mod reports;
mod shown;

pub use ask::{Forecast, PaidAnswer, QueryRequest};
pub(crate) use held::HeldRows;
pub(crate) use shown::DownloadForm;
#[cfg(test)]
pub(crate) use shown::HeadShown;
pub use shown::{BudgetShown, BudgetState, ColumnShown, ColumnType, DeclaredValue, TableShown};
pub(crate) use shown::{ChargeShown, HistoryShown, PublishedAnswer, RemarkShown};

use crate::access::{self, AccessEntry, AccessList, FIRST_CURATOR, Person, Role, ScramVerifier};
use crate::metrics::Metrics;
use crate::refusal::{Refusal, RefusalKind};
use crate::session::Bearer;
use crate::slow::LoginThrottle;
use held::MemoryQuota;
use history::HistoryCache;
use kept::AnswerCache;
use reports::ReportCache;
use scumble_engine::budget::{Budget, Sums};
use scumble_engine::ledger::{Charge, Head, Ledger, beside};
use scumble_engine::project::Project;
use scumble_engine::release::{Asker, Runner};
use scumble_engine::summary::{LedgerSummary, SummaryRequest, summary};
use scumble_engine::{Error, digest};
use std::collections::HashSet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use tokio::sync::Semaphore;

/// More is worked on at once than there are cores: some of it waits for the disk.
const SPARE_WORKERS: usize = 2;

/// What is served, and to whom.
pub struct Service {
    project: Arc<Project>,
    ledger: PathBuf,
    out: PathBuf,
    /// The holder may charge.
    charge_lock: Mutex<()>,
    /// So much is worked on at once, so that memory is bounded however many ask.
    worker_permits: Arc<Semaphore>,
    /// This many questions are planned or wait for their turn on a thread; the others wait without one, in the order in
    /// which they came.
    planner_permits: Arc<Semaphore>,
    /// A place for those who look whether the server is well.
    watch: Arc<Semaphore>,
    reports: ReportCache,
    histories: HistoryCache,
    /// The rows that wait for their readers.
    holding: MemoryQuota,
    memory: AnswerCache,
    /// Which answers to whom the ledger has a remark of: one for each person and answer, or refused question.
    remarked: Mutex<HashSet<(String, String)>>,
    access: Mutex<AccessFile>,
    slow: LoginThrottle,
    pub(crate) metrics: Metrics,
    stopping: AtomicBool,
}

/// The file of those who may ask, as it was read last.
#[derive(Default)]
struct AccessFile {
    stamp: Option<FileStamp>,
    access: AccessList,
}

/// What tells whether a file is the one that was read.
#[derive(PartialEq, Eq, Clone, Copy)]
struct FileStamp {
    inode: u64,
    length: u64,
    modified: Option<SystemTime>,
}

impl Service {
    /// A project with its ledger, and the folder of its outputs.
    pub fn new(project: Project, ledger: Option<PathBuf>, out: Option<PathBuf>) -> Result<Self, Refusal> {
        let ledger = ledger.unwrap_or_else(|| project.ledger());
        let out = out.unwrap_or_else(|| project.folder().join("out"));
        // What is wrong with the ledger, or with those who may ask, is said before anybody is let in.
        if let Some(open) = Ledger::open_existing(&ledger)? {
            open.head()?;
        }
        access::prepare(&ledger)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            project: Arc::new(project.keeping_queries()),
            ledger,
            out,
            charge_lock: Mutex::default(),
            worker_permits: Arc::new(Semaphore::new(cores + SPARE_WORKERS)),
            planner_permits: Arc::new(Semaphore::new(cores + 1)),
            watch: Arc::new(Semaphore::new(1)),
            reports: ReportCache::default(),
            histories: HistoryCache::default(),
            holding: MemoryQuota::default(),
            memory: AnswerCache::default(),
            remarked: Mutex::default(),
            access: Mutex::default(),
            slow: LoginThrottle::default(),
            metrics: Metrics::default(),
            stopping: AtomicBool::new(false),
        })
    }

    /// The project.
    pub fn project(&self) -> &Arc<Project> {
        &self.project
    }

    /// Where the ledger is.
    pub(crate) fn ledger(&self) -> &PathBuf {
        &self.ledger
    }

    /// From now on nothing more is begun that is paid for.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    /// Who has this token; `from` is whose failures are counted: a failure is answered late.
    pub async fn authenticate(&self, token: &str, from: IpAddr) -> Result<Person, Refusal> {
        self.bearer(token, from).await.map(|bearer| bearer.person)
    }

    /// The same, with what is kept of their token.
    pub(crate) async fn bearer(&self, token: &str, from: IpAddr) -> Result<Bearer, Refusal> {
        match self.with_access(|access| access.who(token).map(AccessEntry::bearer))? {
            Some(bearer) => Ok(bearer),
            None => Err(self.failed(from).await),
        }
    }

    /// Whether somebody still has the token that they came with. The person who opened the link of the start has none,
    /// and keeps their session.
    pub(crate) fn is_current(&self, bearer: &Bearer) -> bool {
        if bearer.token.is_none() {
            return bearer.person.name == FIRST_CURATOR;
        }
        let known = self.with_access(|access| access.named(&bearer.person.name).map(AccessEntry::bearer));
        known.ok().flatten().as_ref() == Some(bearer)
    }

    /// Counts a failed attempt from an address, and waits as long as that has to; gives the refusal.
    pub async fn failed(&self, from: IpAddr) -> Refusal {
        self.metrics.failed_logins.add();
        self.slow.failed(from).await;
        Refusal::new(
            RefusalKind::Token,
            "this token is unknown, or was revoked: ask the curator for one (scumble setup access add NAME)",
        )
    }

    /// The person of a name, if they have access.
    pub fn person(&self, name: &str) -> Option<Person> {
        if name == FIRST_CURATOR {
            return None;
        }
        self.with_access(|access| access.named(name).map(|entry| entry.person())).ok().flatten()
    }

    /// What is kept of somebody's token for SCRAM.
    pub fn scram(&self, name: &str) -> Option<ScramVerifier> {
        self.with_access(|access| access.named(name).map(|entry| entry.scram.clone())).ok().flatten()
    }

    /// The challenge for a login under this name: the salt of a name is the same before it is added, while it has
    /// access, after it was revoked, and after a restart.
    pub(crate) fn challenge(&self, name: &str) -> Result<ScramVerifier, Refusal> {
        self.with_access(|access| access.challenge(name))
    }

    /// Looks at the file of those who may ask, as it is now.
    fn with_access<T>(&self, look: impl FnOnce(&AccessList) -> T) -> Result<T, Refusal> {
        let stamp = beside(&self.ledger, ".access")
            .ok()
            .and_then(|path| std::fs::symlink_metadata(path).ok())
            .map(|file| FileStamp { inode: inode(&file), length: file.len(), modified: file.modified().ok() });
        let mut seen = self.access.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.stamp != stamp || stamp.is_none() {
            // Nobody is let in by what was read before, if the file cannot be read now.
            *seen = AccessFile::default();
            seen.access = AccessList::read(&self.ledger).map_err(hidden)?;
            seen.stamp = stamp;
        }
        Ok(look(&seen.access))
    }

    /// Where the ledger ends; at its beginning, where there is none.
    fn head(&self) -> Result<Head, Refusal> {
        Ok(Ledger::open_existing(&self.ledger)?.map_or(Ok(Head::empty()), |ledger| ledger.head())?)
    }

    /// What these charges and sums add up to, within a budget.
    fn summarized(&self, charges: &[Charge], sums: &Sums, budget: &Budget) -> Result<LedgerSummary, Error> {
        let attributes = self.project.attributes();
        summary(charges, sums, &SummaryRequest { budget, attributes: &attributes, delta: None, sets: &[], group: None })
    }

    /// Plans and runs in somebody's name.
    fn runner(&self, person: &Person, key: Option<String>) -> Runner<'_> {
        // A curator sets the budgets, and is bound by the project's alone.
        let limits = self.project.analysts.get(&person.name).filter(|_| person.role < Role::Curator).cloned();
        let asker = Asker { by: person.name.clone(), limits, key };
        Runner::with_ledger(&self.project, self.ledger.clone()).asked_by(asker)
    }

    /// Does work that waits, on a thread that may.
    pub(crate) async fn at_work<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        self.with(&self.worker_permits, work).await
    }

    /// The right to hold so many bytes of rows for somebody, until their client has read them.
    pub(crate) async fn hold(&self, person: &Person, bytes: usize) -> Result<HeldRows, Refusal> {
        self.holding.reserve(&person.name, bytes).await
    }

    /// Does work that is paid for. It takes its [`charge_lock`](Self::charge_lock) itself, when it has planned what it
    /// will do.
    async fn paying<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        self.with(&self.planner_permits, work).await
    }

    /// Waits until it may pay, and for a server that is not about to stop.
    fn charge_lock(&self) -> Result<MutexGuard<'_, ()>, Refusal> {
        let charge_lock = self.charge_lock.lock().unwrap_or_else(PoisonError::into_inner);
        match self.stopping.load(Ordering::SeqCst) {
            false => Ok(charge_lock),
            true => {
                Err(Refusal::new(RefusalKind::Busy, "the server is about to stop: nothing was charged; ask again soon"))
            }
        }
    }

    async fn with<T: Send + 'static>(
        self: &Arc<Self>,
        places: &Arc<Semaphore>,
        work: impl FnOnce(&Self) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let service = Arc::clone(self);
        let hand = Arc::clone(places).acquire_owned().await;
        let done = tokio::task::spawn_blocking(move || {
            let _hand = hand;
            work(&service)
        });
        let done = done.await;
        done.unwrap_or_else(|_| {
            Err(Refusal::new(RefusalKind::Machine, "the server failed on this request, and keeps running"))
        })
    }
}

/// A role that is not enough is refused in one sentence.
pub(crate) fn allowed(person: &Person, least: Role) -> Result<(), Refusal> {
    match person.role >= least {
        true => Ok(()),
        false => Err(Refusal::new(
            RefusalKind::Role,
            format!("{} is {}, and this needs the role {least}", person.name, with_article(person.role)),
        )),
    }
}

fn with_article(role: Role) -> String {
    format!("{} {role}", if role == Role::Analyst { "an" } else { "a" })
}

/// Errors in the server's own files go to its log, not to the client.
fn hidden(error: impl Into<Error>) -> Refusal {
    tracing::error!("{}", error.into());
    Refusal::new(RefusalKind::Machine, "the server cannot check who may ask: its log says why")
}

/// The digest of a request's own key, which is somebody's: another's key of the same text is another key.
fn key_digest(person: &Person, key: &str) -> String {
    digest(format!("{}\n{key}", person.name).as_bytes())
}

#[cfg(unix)]
fn inode(file: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(file)
}

#[cfg(not(unix))]
fn inode(_: &std::fs::Metadata) -> u64 {
    0
}
