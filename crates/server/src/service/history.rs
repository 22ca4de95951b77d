//! All that stands in the ledger, verified: read once for each head of the chain, one at a time, and never in the
//! places of other work.

use super::Service;
use crate::refusal::Refusal;
use scumble_engine::budget::Sums;
use scumble_engine::ledger::{Charge, Head, Ledger, Remark};
use scumble_engine::summary::sums_of;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// A chain with the same end is the same chain, unless somebody edits what stands before it: it is verified anew after
/// this.
const OLDEST: Duration = Duration::from_secs(60);

/// The ledger as it was read last.
pub(super) struct HistoryCache {
    /// The holder reads the ledger.
    permit: Arc<Semaphore>,
    last: Mutex<Option<(Instant, Arc<History>)>>,
}

/// What stands in the ledger.
pub(super) struct History {
    pub head: Head,
    pub charges: Vec<Charge>,
    pub remarks: Vec<Remark>,
    /// What all charges add up to.
    pub sums: Sums,
}

impl Default for HistoryCache {
    fn default() -> Self {
        Self { permit: Arc::new(Semaphore::new(1)), last: Mutex::default() }
    }
}

impl Service {
    /// The whole ledger as it is now.
    pub(super) async fn whole(self: &Arc<Self>) -> Result<Arc<History>, Refusal> {
        let permit = Arc::clone(&self.histories.permit);
        self.with(&permit, Self::whole_now).await
    }

    /// The same, on a thread that may wait.
    pub(super) fn whole_now(&self) -> Result<Arc<History>, Refusal> {
        let ledger = Ledger::open_existing(&self.ledger)?;
        let head = ledger.as_ref().map_or(Ok(Head::empty()), Ledger::head)?;
        let last = self.histories.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((at, history)) = last
            && history.head == head
            && at.elapsed() < OLDEST
        {
            return Ok(history);
        }
        let (charges, remarks) = ledger.as_ref().map_or(Ok(Default::default()), Ledger::history)?;
        let after = ledger.as_ref().map_or(Ok(Head::empty()), Ledger::head)?;
        let sums = sums_of(&charges, &[])?;
        let history = Arc::new(History { head: after.clone(), charges, remarks, sums });
        // What was written meanwhile may be in it, or not: the next one reads again.
        if after == head {
            let mut last = self.histories.last.lock().unwrap_or_else(PoisonError::into_inner);
            *last = Some((Instant::now(), Arc::clone(&history)));
        }
        Ok(history)
    }
}

#[cfg(test)]
mod tests {
    use super::super::QueryRequest;
    use super::*;
    use crate::access::{Person, Role};
    use scumble_engine::project::Project;
    use scumble_testing::Folder;

    const PROJECT: &str = "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\nage = { type = \"int\", lower = 0, upper = 9 }\n[budget]\nperson = { epsilon = 1 }\n";

    fn folder() -> Folder {
        Folder::with(&[("people.csv", "age\n1\n"), ("scumble.toml", PROJECT)])
    }

    fn service(folder: &Folder) -> Arc<Service> {
        Arc::new(Service::new(Project::open(&folder.file("scumble.toml")).unwrap(), None, None).unwrap())
    }

    /// Each look at an answer verified the whole ledger, in the places of everything else.
    #[tokio::test(flavor = "multi_thread")]
    async fn the_ledger_is_read_once_for_each_head() {
        let folder = folder();
        let service = service(&folder);
        let ann = Person { name: "ann".to_string(), role: Role::Analyst };
        let nothing = service.whole().await.unwrap();
        assert!(nothing.charges.is_empty() && Arc::ptr_eq(&nothing, &service.whole().await.unwrap()));
        let asked = QueryRequest {
            sql: "SELECT COUNT(*) AS n FROM people".to_string(),
            cost: "epsilon=0.1".parse().unwrap(),
            fresh: false,
            key: None,
        };
        service.ask(&ann, &asked).await.unwrap();
        let one = service.whole().await.unwrap();
        assert_eq!((one.charges.len(), one.remarks.len()), (1, 0));
        // All who look meanwhile, with no place at work left, see the same.
        let worker_permits = service.worker_permits.available_permits();
        let all = Arc::clone(&service.worker_permits).acquire_many_owned(worker_permits as u32).await.unwrap();
        assert!(Arc::ptr_eq(&one, &service.whole().await.unwrap()));
        drop(all);
        let shown = service.history(&ann).await.unwrap();
        assert_eq!(shown.releases.len(), 1);
        // Another charge is seen at once.
        service.ask(&ann, &QueryRequest { fresh: true, ..asked }).await.unwrap();
        let two = service.whole().await.unwrap();
        assert!(two.charges.len() == 2 && !Arc::ptr_eq(&one, &two));
        assert_eq!(service.answers(&ann).await.unwrap().answers.len(), 2);
    }
}
