//! The report, which takes seconds of a processor: it is made once for as long as it would say the same, one at a time,
//! and never in the places of other work.

use super::Service;
use crate::access::{Person, Role};
use crate::refusal::Refusal;
use scumble_engine::ledger::Head;
use scumble_engine::release::published;
use scumble_engine::report::{Report, WrittenReport};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// How many of the last charges a report tells one by one.
const RECENT: usize = 200;
/// This many reports are held.
const MOST: usize = 16;
/// The files of answers may come and go without the ledger; a report is not older than this.
const OLDEST: Duration = Duration::from_secs(60);

/// Reports that were made.
pub(super) struct ReportCache {
    /// The holder makes a report.
    permit: Arc<Semaphore>,
    held: Mutex<VecDeque<HeldReport>>,
}

struct HeldReport {
    of: ReportKey,
    at: Instant,
    report: Arc<WrittenReport>,
}

/// What a report depends on, beside the project, which does not change while the server runs: the ledger, and what
/// somebody may see in it.
#[derive(Clone, PartialEq, Eq)]
struct ReportKey {
    head: Head,
    to: ReportReader,
}

#[derive(Clone, PartialEq, Eq)]
enum ReportReader {
    Declared,
    Own(String),
    All,
}

impl Default for ReportCache {
    fn default() -> Self {
        Self { permit: Arc::new(Semaphore::new(1)), held: Mutex::default() }
    }
}

impl ReportCache {
    fn get(&self, of: &ReportKey) -> Option<Arc<WrittenReport>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let found = held.iter().find(|made| made.of == *of && made.at.elapsed() < OLDEST);
        found.map(|made| Arc::clone(&made.report))
    }

    fn put(&self, of: ReportKey, report: &Arc<WrittenReport>) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|made| made.of.to != of.to);
        held.truncate(MOST - 1);
        held.push_front(HeldReport { of, at: Instant::now(), report: Arc::clone(report) });
    }
}

impl Service {
    /// The report, as a page and as JSON. What single analysts asked is shown to them and to curators; what all of it
    /// adds up to, to everybody.
    pub(crate) async fn report(self: &Arc<Self>, person: &Person) -> Result<Arc<WrittenReport>, Refusal> {
        let who = person.clone();
        let held = self.at_work(move |service| Ok(service.reports.get(&service.shown_to(&who)?))).await?;
        if let Some(report) = held {
            return Ok(report);
        }
        let (permit, person) = (Arc::clone(&self.reports.permit), person.clone());
        self.with(&permit, move |service| {
            // A request that waited gets the report that the one before it has made.
            let of = service.shown_to(&person)?;
            if let Some(report) = service.reports.get(&of) {
                return Ok(report);
            }
            let report = Arc::new(service.made_report(&person)?);
            // What was charged meanwhile may be in it, and would be missing in one that is taken for newer.
            if service.shown_to(&person)? == of {
                service.reports.put(of, &report);
            }
            Ok(report)
        })
        .await
    }

    fn shown_to(&self, person: &Person) -> Result<ReportKey, Refusal> {
        let to = match person.role {
            Role::Viewer => ReportReader::Declared,
            Role::Analyst => ReportReader::Own(person.name.clone()),
            Role::Curator => ReportReader::All,
        };
        Ok(ReportKey { head: self.head()?, to })
    }

    fn made_report(&self, person: &Person) -> Result<WrittenReport, Refusal> {
        let runner = self.runner(person, None);
        let (mut charges, standing) = runner.recent(RECENT)?;
        let whole = self.whole_now()?;
        let visible: BTreeSet<u64> = self.visible(&whole, person).iter().map(|charge| charge.sequence).collect();
        charges.retain(|charge| visible.contains(&charge.sequence));
        let (published, unshown) = published(&self.out, &charges);
        let report = Report {
            project: &self.project,
            charges: &charges,
            standing: &standing,
            published: &published,
            unshown: &unshown,
            time: Report::now(),
            head: self.head()?,
        };
        Ok(report.texts()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scumble_engine::project::Project;
    use scumble_testing::Folder;

    const PROJECT: &str = "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\nage = { type = \"int\", lower = 0, upper = 9 }\n[budget]\nperson = { epsilon = 1 }\n";

    fn folder() -> Folder {
        Folder::with(&[("people.csv", "age\n1\n"), ("scumble.toml", PROJECT)])
    }

    fn service(folder: &Folder) -> Arc<Service> {
        Arc::new(Service::new(Project::open(&folder.file("scumble.toml")).unwrap(), None, None).unwrap())
    }

    fn person(name: &str, role: Role) -> Person {
        Person { name: name.to_string(), role }
    }

    /// Each report took 1.7 seconds of a processor, in the places of everything else: a few requests at once kept the
    /// server from answering health checks.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_report_is_made_once_and_holds_up_nobody() {
        let folder = folder();
        let service = service(&folder);
        let (ann, ben, vic) = (person("ann", Role::Analyst), person("ben", Role::Analyst), person("vic", Role::Viewer));
        // While one is made, all who want the same wait for it.
        let permit = Arc::clone(&service.reports.permit).acquire_owned().await.unwrap();
        let waiting: Vec<_> = (0..8)
            .map(|_| {
                let (service, vic) = (Arc::clone(&service), vic.clone());
                tokio::spawn(async move { service.report(&vic).await.unwrap() })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(waiting.iter().all(|one| !one.is_finished()));
        assert!(tokio::time::timeout(Duration::from_secs(60), service.is_healthy()).await.unwrap());
        drop(permit);
        let mut made = Vec::new();
        for one in waiting {
            made.push(one.await.unwrap());
        }
        assert!(made.iter().all(|one| Arc::ptr_eq(one, &made[0])), "one was made");
        let other = service.report(&person("una", Role::Viewer)).await.unwrap();
        assert!(Arc::ptr_eq(&other, &made[0]), "what all viewers see is the same");
        let (first, second) = (service.report(&ann).await.unwrap(), service.report(&ben).await.unwrap());
        assert!(!Arc::ptr_eq(&first, &second) && !Arc::ptr_eq(&first, &made[0]), "what analysts see is their own");
        assert!(Arc::ptr_eq(&first, &service.report(&ann).await.unwrap()));
        // All other places taken, the server says that it is well.
        let worker_permits = service.worker_permits.available_permits();
        let _all = Arc::clone(&service.worker_permits).acquire_many_owned(worker_permits as u32).await.unwrap();
        assert!(tokio::time::timeout(Duration::from_secs(60), service.is_healthy()).await.unwrap());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_report_is_made_anew_when_the_ledger_has_changed() {
        let folder = folder();
        let service = service(&folder);
        let vic = person("vic", Role::Viewer);
        let before = service.report(&vic).await.unwrap();
        let ann = person("ann", Role::Analyst);
        let asked = super::super::QueryRequest {
            sql: "SELECT COUNT(*) AS n FROM people".to_string(),
            cost: "epsilon=0.1".parse().unwrap(),
            fresh: false,
            key: None,
        };
        service.ask(&ann, &asked).await.unwrap();
        let after = service.report(&vic).await.unwrap();
        assert!(!Arc::ptr_eq(&before, &after) && after.json.contains("\"ledger_entries\": "));
    }
}
