use super::*;
use crate::budget::Budget;
use crate::ledger::{BudgetChange, Proposal, ReleaseContext};
use crate::release::Runner;
use crate::support::Folder;
use scumble::noise::SecureSource;
use std::fs;

const PROJECT: &str = r#"
[dataset.visits]
source = "visits.csv"
[dataset.visits.columns]
clinic = { type = "category", values = ["a", "b"] }
[budget]
person = { epsilon = 2 }
[[release]]
name = "by clinic"
sql = "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic"
cost = { epsilon = 1 }
[[release]]
name = "all"
sql = "SELECT COUNT(*) AS n FROM visits"
cost = { epsilon = 1 }
"#;

/// A release opened the ledger at least seven times, and two of them twice as often.
#[test]
fn a_run_opens_its_ledger_once() {
    let folder = Folder::with(&[("visits.csv", "clinic\na\nb\n")]);
    let project = folder.project(PROJECT);
    for run in 1..3 {
        let runner = Runner::new(&project);
        let planned = project.releases.iter().map(|request| runner.plan(request)).collect::<Result<Vec<_>>>().unwrap();
        let kept = runner.kept(&planned, &folder.file("out"), &[]).unwrap();
        assert!(kept.iter().all(|kept| kept.is_some() == (run > 1)));
        if run == 1 {
            let mut bits = SecureSource::new().unwrap();
            runner.release(&planned, &folder.file("out"), &mut bits, |_| ()).unwrap();
        }
        assert_eq!(runner.charges().unwrap().len(), 2);
        assert_eq!(runner.ledger.opened.get(), 1, "in run {run}");
    }
}

fn charge(ledger: &mut Ledger, release: &str) -> Result<()> {
    let proposal = Proposal {
        release: release.to_string(),
        kind: "sql".to_string(),
        project: None,
        request: None,
        events: Vec::new(),
        rule: serde_json::Value::Null,
        about: ReleaseContext::default(),
    };
    ledger.reserve(&proposal, |_| Ok(())).map(drop)
}

#[test]
fn what_another_charges_is_seen_by_a_ledger_that_stays_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ledger");
    let open = OpenLedger::at(path.clone());
    assert!(open.existing().unwrap().is_none() && !path.exists(), "looking makes nothing");
    charge(&mut open.created().unwrap(), "ours").unwrap();
    let mut other = Ledger::open_existing(&path).unwrap().unwrap();
    for charges in 2..5 {
        charge(&mut other, "theirs").unwrap();
        let ledger = open.existing().unwrap().unwrap();
        assert_eq!(ledger.standing(&[]).unwrap().0.releases(), charges);
        assert_eq!(ledger.charges().unwrap().len() as u64, charges);
    }
    // And ours are added to theirs.
    charge(&mut open.existing_to_write().unwrap().unwrap(), "ours").unwrap();
    assert_eq!(other.verify().unwrap(), open.existing().unwrap().unwrap().head().unwrap());
    assert_eq!(other.charges().unwrap().len(), 5);
    let budget = Budget::default();
    assert!(other.change_budget(&budget, "no limits", BudgetChange::Raise).is_err());
}

#[test]
fn another_file_at_the_path_is_opened_and_whoever_holds_the_old_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ledger");
    let open = OpenLedger::at(path.clone());
    charge(&mut open.created().unwrap(), "first").unwrap();
    let moved = |name: &str| {
        for end in ["", "-wal", "-shm"] {
            let from = folder.path().join(format!("x.ledger{end}"));
            if from.exists() {
                fs::rename(from, folder.path().join(format!("{name}{end}"))).unwrap();
            }
        }
    };
    {
        let mut held = open.created().unwrap();
        moved("old");
        assert!(open.existing().is_err(), "nobody else uses it meanwhile");
        assert!(charge(&mut held, "second").unwrap_err().to_string().contains("moved, removed or replaced"));
    }
    assert!(open.existing().unwrap().is_none(), "what is gone is gone");
    charge(&mut open.created().unwrap(), "third").unwrap();
    let charges = open.existing().unwrap().unwrap().charges().unwrap();
    assert!(charges.len() == 1 && charges[0].release == "third");
    assert!(path.exists());
}
