//! The ledger against crashes, edits and neighbours (docs/ledger-format.md).

use rusqlite::Connection;
use scumble::event::{Event, Kind, Moves, Shift};
use scumble::quantity::{Exact, Scale};
use scumble_engine::budget::{Budget, Limit};
use scumble_engine::ledger::{Charge, Ledger, Proposal, State};
use scumble_engine::{Error, Result};
use std::fs;
use std::path::Path;

fn proposal(name: &str) -> Proposal {
    let kind = Kind::DiscreteLaplace { scale: Scale::new(10.0).unwrap() };
    let event = Event::new(kind, Moves::everywhere(Shift::one_cell(1.0).unwrap()));
    Proposal {
        release: name.to_string(),
        kind: "sql".to_string(),
        project: None,
        events: vec![event],
        rule: serde_json::json!({ "why": "test" }),
    }
}

fn anything(_: &[Charge]) -> Result<()> {
    Ok(())
}

fn within(budget: &Budget, asked: &Proposal) -> impl Fn(&[Charge]) -> Result<()> {
    let (budget, events) = (budget.clone(), asked.events.clone());
    move |charges| {
        let charged: Vec<&[Event]> = charges.iter().map(|charge| charge.events.as_slice()).collect();
        match budget.first_refusal(&charged, &events)? {
            Some(refusal) => Err(refusal.error("test", "nothing fits")),
            None => Ok(()),
        }
    }
}

fn filled(path: &Path, releases: usize) -> Ledger {
    let mut ledger = Ledger::open_or_create(path).unwrap();
    for index in 0..releases {
        let receipt = ledger.reserve(&proposal(&format!("r{index}")), anything).unwrap();
        ledger.commit(receipt, "00ff").unwrap();
    }
    ledger
}

#[test]
fn what_was_reserved_is_read_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let mut ledger = Ledger::open_or_create(&path).unwrap();
    let receipt = ledger.reserve(&proposal("first"), anything).unwrap();
    assert_eq!(ledger.charges().unwrap()[0].state, State::Interrupted);
    let head = ledger.commit(receipt, "abcd").unwrap();
    let charges = Ledger::open_existing(&path).unwrap().unwrap().charges().unwrap();
    assert_eq!(charges.len(), 1);
    assert_eq!(charges[0].state, State::Committed("abcd".to_string()));
    assert_eq!(charges[0].events, proposal("first").events);
    assert_eq!(ledger.verify().unwrap(), head);
    assert!(ledger.knows_head(&head.hex()).unwrap());
    assert!(!ledger.knows_head(&"ab".repeat(32)).unwrap());
}

/// The state of the disk after a crash: the database file and its WAL, the latter cut at some length.
fn crash_image(path: &Path, image: &Path, wal_length: usize) {
    let wal = |path: &Path| path.with_file_name(format!("{}-wal", path.file_name().unwrap().to_str().unwrap()));
    fs::copy(path, image).unwrap();
    let bytes = fs::read(wal(path)).unwrap_or_default();
    fs::write(wal(image), &bytes[..wal_length.min(bytes.len())]).unwrap();
    let _ = fs::remove_file(image.with_file_name("image-shm"));
}

#[test]
fn every_cut_of_the_wal_leaves_a_prefix_of_the_steps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let image = folder.path().join("image");
    let mut ledger = Ledger::open_or_create(&path).unwrap();
    let wal_path = folder.path().join("ledger-wal");
    let wal_length = || fs::metadata(&wal_path).map_or(0, |data| data.len() as usize);
    // What a reader may see after each step: (length of the WAL when the step had returned, entries then).
    let mut steps = vec![(wal_length(), 0)];
    let receipt = ledger.reserve(&proposal("a"), anything).unwrap();
    steps.push((wal_length(), 1));
    ledger.commit(receipt, "00").unwrap();
    steps.push((wal_length(), 2));
    let _interrupted = ledger.reserve(&proposal("b"), anything).unwrap();
    steps.push((wal_length(), 3));
    assert!(steps.windows(2).all(|pair| pair[0].0 < pair[1].0), "no checkpoint in between: {steps:?}");

    let last = steps[steps.len() - 1].0;
    let cuts = (0..=last).step_by(97).chain(steps.iter().flat_map(|(length, _)| [length.saturating_sub(1), *length]));
    for cut in cuts.collect::<Vec<_>>() {
        crash_image(&path, &image, cut);
        let entries = match Ledger::open_existing(&image) {
            Ok(Some(opened)) => opened.verify().unwrap().entries,
            other => panic!("cut at {cut}: {:?}", other.err()),
        };
        let durable = steps.iter().filter(|(length, _)| *length <= cut).map(|(_, entries)| *entries).max().unwrap_or(0);
        assert!(entries >= durable, "cut at {cut}: a charge that had returned is lost ({entries} < {durable})");
        let begun = steps.iter().filter(|(length, _)| *length <= cut).count() as u64;
        assert!(entries <= begun, "cut at {cut}: an entry from nowhere");
        // And the image is a ledger that goes on.
        let mut opened = Ledger::open_existing(&image).unwrap().unwrap();
        opened.reserve(&proposal("after the crash"), anything).unwrap();
        assert_eq!(opened.verify().unwrap().entries, entries + 1);
    }
}

#[test]
fn an_empty_file_is_an_empty_ledger_and_other_files_are_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    fs::write(&empty, "").unwrap();
    assert_eq!(Ledger::open_existing(&empty).unwrap().unwrap().verify().unwrap().entries, 0);

    let text = folder.path().join("text");
    fs::write(&text, "name,age\n".repeat(1000)).unwrap();
    let error = Ledger::open_or_create(&text).err().unwrap();
    assert_eq!(error.exit_status(), 2);
    assert!(error.to_string().ends_with("is not a ledger of scumble"), "{error}");
    assert_eq!(fs::read_to_string(&text).unwrap(), "name,age\n".repeat(1000));

    let other = folder.path().join("other");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE bills (n INTEGER)").unwrap();
    assert!(Ledger::open_or_create(&other).is_err());
    assert!(Ledger::open_existing(&folder.path().join("none")).unwrap().is_none());
    assert!(!folder.path().join("none").exists());
}

#[test]
fn a_newer_ledger_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    drop(filled(&path, 1));
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 2).unwrap();
    assert!(Ledger::open_existing(&path).err().unwrap().to_string().contains("newer scumble"));
}

#[test]
fn every_tampering_is_detected() {
    let check = |what: &str, statements: &str, sentence: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        drop(filled(&path, 3));
        Connection::open(&path).unwrap().execute_batch(statements).unwrap();
        let ledger = Ledger::open_existing(&path).unwrap().unwrap();
        let error = ledger.verify().expect_err(what);
        assert!(error.to_string().contains(sentence), "{what}: {error}");
        assert_eq!(error.exit_status(), 1);
        let mut ledger = ledger;
        assert!(ledger.reserve(&proposal("x"), anything).is_err(), "{what}: a damaged ledger took a charge");
    };
    check("edited", "UPDATE entry SET body = replace(body, 'r1', 'r9') WHERE sequence = 3", "entry 3 or its place");
    check("edited scale", "UPDATE entry SET body = replace(body, '10.0', '99.0') WHERE sequence = 1", "entry 1");
    check("removed", "DELETE FROM entry WHERE sequence = 2", "entry 2 is missing");
    check("first removed", "DELETE FROM entry WHERE sequence = 1", "entry 1 is missing");
    check("end removed", "DELETE FROM entry WHERE sequence = 6", "the end is missing");
    check("all removed", "DELETE FROM entry", "the end is missing");
    check(
        "swapped",
        "UPDATE entry SET sequence = 100 WHERE sequence = 3; UPDATE entry SET sequence = 3 WHERE sequence = 4;
         UPDATE entry SET sequence = 4 WHERE sequence = 100",
        "entry 3 or its place",
    );
    check(
        "renumbered",
        "DELETE FROM entry WHERE sequence = 2; UPDATE entry SET sequence = sequence - 1 WHERE sequence > 2",
        "entry 2",
    );
    check("head moved", "UPDATE head SET entries = 7", "the end is missing");
    check("hash edited", "UPDATE entry SET hash = zeroblob(32) WHERE sequence = 5", "entry 5");
}

#[test]
fn writers_at_once_never_overspend() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let limit = Limit::Approximate { epsilon: "0.75".parse::<Exact>().unwrap(), delta: Exact::zero() };
    let budget = Budget { person: Some(limit), ..Budget::default() };
    let admitted: usize = std::thread::scope(|threads| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let (path, budget) = (&path, &budget);
                threads.spawn(move || {
                    let mut ledger = Ledger::open_or_create(path).unwrap();
                    let ask = proposal(&format!("w{worker}"));
                    let outcomes = (0..5).map(|_| match ledger.reserve(&ask, within(budget, &ask)) {
                        Ok(receipt) => ledger.commit(receipt, "00").map(|_| 1).unwrap(),
                        Err(Error::Budget(_)) => 0,
                        Err(error) => panic!("{error}"),
                    });
                    outcomes.sum::<usize>()
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    // Each asks for 0.1 of 0.75 (the scale 10.0 is exactly ten).
    assert_eq!(admitted, 7);
    assert_eq!(Ledger::open_existing(&path).unwrap().unwrap().charges().unwrap().len(), 7);
}
