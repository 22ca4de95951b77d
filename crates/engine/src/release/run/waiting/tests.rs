//! A charge whose draw nobody has seen is continued once, and only by the same release of the same rows.

use super::*;
use crate::ledger::ChargeState;
use crate::project::Project;
use crate::release::run::asker::Asker;
use crate::release::run::tests::Machine;
use crate::support::Folder;
use scumble::noise::{InsecureSeededSource, SecureSource};

const PROJECT: &str = r#"
[dataset.visits]
source = "visits.csv"
owner = "person"
max_rows_per_owner = 5
max_groups_per_owner = 3
[dataset.visits.columns]
clinic = { type = "category" }
[budget]
person = { epsilon = 1, delta = 1e-6 }
[[release]]
name = "by clinic"
sql = "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic"
cost = { epsilon = 1, delta = 1e-6 }
"#;

/// With rows that do not fit the memory of a small machine, nor its disk.
const SMALL: Machine = Machine { memory: 0, disk: 3000, threads: 1 };

fn visits(towns: u64) -> String {
    let rows: String = (0..2000u64).map(|i| format!("p{},clinic {}\n", i * i % 397, i % towns)).collect();
    format!("person,clinic\n{rows}")
}

/// Whose release, on which machine, and with which source of noise.
#[derive(Default)]
struct ReleaseAttempt {
    machine: Option<Machine>,
    asker: Option<Asker>,
    seeded: bool,
}

impl ReleaseAttempt {
    fn release(self, folder: &Folder, project: &Project) -> Result<u64> {
        let mut runner = Runner::new(project);
        runner.scarce = self.machine;
        if let Some(asker) = self.asker {
            runner = runner.asked_by(asker);
        }
        let planned = [runner.plan(&project.releases[0])?];
        let out = folder.file("out");
        let (outcomes, _) = match self.seeded {
            true => runner.release(&planned, &out, &mut InsecureSeededSource::new(1), |_| ())?,
            false => runner.release(&planned, &out, &mut SecureSource::new()?, |_| ())?,
        };
        Ok(outcomes[0].sequence)
    }
}

fn failed(folder: &Folder, project: &Project) {
    let small = ReleaseAttempt { machine: Some(SMALL), ..ReleaseAttempt::default() };
    let sentence = small.release(folder, project).unwrap_err().to_string();
    assert!(sentence.contains("uses this charge"), "{sentence}");
}

fn charges(project: &Project) -> Vec<Charge> {
    let ledger = Ledger::open_existing(&project.ledger()).unwrap().unwrap();
    ledger.verify().unwrap();
    ledger.charges().unwrap()
}

/// The budget pays for one charge: whatever pays a second time is refused, and the failure is no free answer.
#[test]
fn what_failed_goes_on_with_its_charge() {
    let folder = Folder::with(&[("visits.csv", &visits(13))]);
    let project = folder.project(PROJECT);
    failed(&folder, &project);
    failed(&folder, &project);
    let before = charges(&project);
    assert!(before.len() == 1 && before[0].state == ChargeState::Reserved);
    let refused = |what: ReleaseAttempt, project: &Project| {
        let error = what.release(&folder, project).unwrap_err();
        assert!(error.to_string().contains("budget"), "{error}");
    };
    // Somebody else, noise that is not private, another query, other rows.
    let asker = Asker { by: "ada".to_string(), limits: None, key: None };
    refused(ReleaseAttempt { asker: Some(asker), ..ReleaseAttempt::default() }, &project);
    refused(ReleaseAttempt { seeded: true, ..ReleaseAttempt::default() }, &project);
    let other = folder.project(&PROJECT.replace("GROUP BY clinic", "WHERE clinic <> 'clinic 1' GROUP BY clinic"));
    refused(ReleaseAttempt::default(), &other);
    let project = folder.project(PROJECT);
    folder.write("visits.csv", &visits(14));
    refused(ReleaseAttempt::default(), &project);
    folder.write("visits.csv", &visits(13));
    assert_eq!(
        Runner::new(&project).resumed_entry(&Runner::new(&project).plan(&project.releases[0]).unwrap()).unwrap(),
        Some(before[0].sequence)
    );
    assert_eq!(ReleaseAttempt::default().release(&folder, &project).unwrap(), before[0].sequence);
    let after = charges(&project);
    assert!(after.len() == 1 && matches!(after[0].state, ChargeState::Committed(_)));
    refused(ReleaseAttempt::default(), &project);
}

/// Two at work on one charge: what one of them has drawn is seen, and the other's is thrown away.
#[test]
fn one_draw_of_a_charge_is_seen() {
    let folder = Folder::with(&[("visits.csv", &visits(13))]);
    let project = folder.project(PROJECT);
    failed(&folder, &project);
    let open = || Ledger::open_existing(&project.ledger()).unwrap().unwrap();
    let (mut one, mut two) = (open(), open());
    let planned = Runner::new(&project).plan(&project.releases[0]).unwrap();
    let at = Runner::new(&project).waiting(&planned, &open()).unwrap().unwrap().at;
    let (first, second) = (one.resumed(&at).unwrap(), two.resumed(&at).unwrap());
    let third = one.resumed(&at).unwrap();
    let pass = one.drawn(first).unwrap().unwrap();
    assert!(two.drawn(second).unwrap().is_none() && one.drawn(third).unwrap().is_none());
    assert!(Runner::new(&project).waiting(&planned, &open()).unwrap().is_none(), "it may have been seen");
    one.commit(pass, "00").unwrap();
    assert_eq!(charges(&project).len(), 1);
}

/// Nobody goes on with a charge that somebody is at work on: they pay.
#[test]
fn whoever_is_at_work_is_left_alone() {
    let folder = Folder::with(&[("visits.csv", &visits(13))]);
    let project = folder.project(PROJECT);
    failed(&folder, &project);
    let at = charges(&project)[0].sequence;
    let work = ChargeLock::on(&project.ledger(), at);
    let error = ReleaseAttempt::default().release(&folder, &project).unwrap_err().to_string();
    assert!(error.contains("budget"), "{error}");
    drop(work);
    assert!(!folder.file("scumble.ledger.work").exists());
    assert_eq!(ReleaseAttempt::default().release(&folder, &project).unwrap(), at);
    assert!(!folder.file("scumble.ledger.work").exists());
}

/// What was committed last is what is kept, although it was charged before what was committed before it.
#[test]
fn what_was_published_last_is_kept() {
    let folder = Folder::with(&[("visits.csv", &visits(13))]);
    let larger = PROJECT.replace("person = { epsilon = 1, delta = 1e-6 }", "person = { epsilon = 3, delta = 1e-4 }");
    let project = folder.project(&larger);
    failed(&folder, &project);
    let cheaper = folder.project(&larger.replace("cost = { epsilon = 1,", "cost = { epsilon = 0.5,"));
    let between = ReleaseAttempt::default().release(&folder, &cheaper).unwrap();
    let project = folder.project(&larger);
    let at = ReleaseAttempt::default().release(&folder, &project).unwrap();
    assert!(at < between);
    let runner = Runner::new(&project);
    let planned = [runner.plan(&project.releases[0]).unwrap()];
    let kept = runner.kept(&planned, &folder.file("out"), &[]).unwrap();
    assert_eq!(kept[0].as_ref().map(|kept| kept.sequence), Some(at));
    assert_eq!(runner.published_otherwise(&planned[0]).unwrap(), None);
}

/// The head that an output prints is another one for each draw: a ledger that is put back to before the draw does not
/// know it afterwards.
#[test]
fn a_ledger_that_was_put_back_does_not_know_the_head() {
    let folder = Folder::with(&[("visits.csv", &visits(13))]);
    let project = folder.project(PROJECT);
    failed(&folder, &project);
    let copy = std::fs::read(project.ledger()).unwrap();
    ReleaseAttempt::default().release(&folder, &project).unwrap();
    let shown: Value = serde_json::from_slice(&std::fs::read(folder.file("out/by-clinic.json")).unwrap()).unwrap();
    let seen = shown["ledger_head"].as_str().unwrap().to_string();
    let known = || Ledger::open_existing(&project.ledger()).unwrap().unwrap().knows_head(&seen).unwrap();
    assert!(known());
    std::fs::write(project.ledger(), copy).unwrap();
    for end in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(folder.file(&format!("scumble.ledger{end}")));
    }
    ReleaseAttempt::default().release(&folder, &project).unwrap();
    assert!(!known());
}
