//! The order of a release: nothing touches a row before its charge is durable, and a failure after it is reported in
//! one sentence.

use support::Folder;

mod support;
use scumble::noise::InsecureSeededSource;
use scumble_engine::ledger::{ChargeState, Ledger};
use scumble_engine::release::{Compute, Plan, PlannedRelease, Runner};
use scumble_engine::{Error, ErrorKind};
use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

const PROJECT: &str = "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\nage = { type = \"int\", lower = 0, upper = 120 }\n\
    [[release]]\nname = \"first\"\nsql = \"SELECT COUNT(*) AS n FROM people\"\ncost = { epsilon = 0.5 }\n\
    [[release]]\nname = \"second\"\nsql = \"SELECT COUNT(*) AS n FROM people\"\ncost = { epsilon = 0.5 }\n\
    [[release]]\nname = \"third\"\nsql = \"SELECT COUNT(*) AS n FROM people\"\ncost = { epsilon = 0.5 }\n";

/// What goes wrong, each with a private value in its words.
#[derive(Debug, Clone, Copy)]
enum Wrong {
    Nothing,
    Compute,
    ComputePanics,
    AnotherThreadPanics,
    /// After the noise was drawn.
    Drawn,
    DrawnPanics,
}

/// Makes a plan look at the ledger when it is about to read rows, and then fail or not.
fn watched(plan: &mut Plan, ledger: PathBuf, wrong: Wrong, begun: Rc<RefCell<Vec<u64>>>) {
    let nothing: Compute = Box::new(|_| Err(Error::machine("taken away")));
    let inner = std::mem::replace(&mut plan.compute, nothing);
    plan.compute = Box::new(move |charged| {
        // Another reader finds the charge, as the last one, interrupted.
        let charges = Ledger::open_existing(&ledger)?.unwrap().charges()?;
        let last = charges.last().unwrap();
        assert_eq!((last.sequence, &last.state), (charged.sequence(), &ChargeState::Reserved));
        begun.borrow_mut().push(last.sequence);
        match wrong {
            Wrong::Compute => return Err(Error::input("the age 41 does not fit")),
            Wrong::ComputePanics => panic!("the age 41 does not fit"),
            Wrong::AnotherThreadPanics => {
                let joined = std::thread::spawn(|| panic!("the age 41 does not fit")).join();
                joined.map_err(|_| Error::machine("the age 41 does not fit"))?;
            }
            _ => {}
        }
        let answers = inner(charged);
        match wrong {
            Wrong::Drawn => Err(Error::budget("the age 41 does not fit".to_string())),
            Wrong::DrawnPanics => panic!("the age 41 does not fit"),
            _ => answers,
        }
    });
}

static SAID: AtomicUsize = AtomicUsize::new(0);

/// Three releases, and the second fails: the sentence, if there is one.
fn run(wrong: Wrong) -> Option<String> {
    let folder = Folder::with(&[("people.csv", "age\n41\n57\n")]);
    let at = |name: &str| folder.file(name);
    let project = folder.project(PROJECT);
    let (runner, begun) = (Runner::new(&project), Rc::new(RefCell::new(Vec::new())));
    let planned: Vec<PlannedRelease> = project
        .releases
        .iter()
        .map(|request| {
            let mut planned = runner.plan(request).unwrap();
            let wrong = if request.name == "second" { wrong } else { Wrong::Nothing };
            watched(&mut planned.plan, project.ledger(), wrong, Rc::clone(&begun));
            planned
        })
        .collect();
    let shown = runner.release(&planned, &at("out"), &mut InsecureSeededSource::new(1), |_| ());
    let charges = runner.charges().unwrap();
    let states: Vec<bool> = charges.iter().map(|charge| charge.state.output().is_some()).collect();
    let files = || fs::read_dir(at("out")).unwrap().flatten().map(|file| file.file_name().into_string().unwrap());
    match &shown {
        Ok(_) => assert_eq!((states, files().count(), begun.borrow().len()), (vec![true; 3], 9, 3)),
        Err(error) => {
            assert_eq!(states, [true, false], "the second stays charged, the third is not begun");
            assert!(
                files().count() == 3 && files().all(|name| name.starts_with("first.")),
                "{:?}",
                files().collect::<Vec<_>>()
            );
            assert!(error.kind() == ErrorKind::Machine && begun.borrow().len() == 2, "{error:?}");
        }
    }
    shown.err().map(|error| error.to_string())
}

/// All releases were computed before any was charged, and the sentence said which failed on what: the author of the
/// query chose what the failure revealed, and the ledger said 0.
#[test]
fn what_fails_after_the_charge_is_one_sentence_and_stays_charged() {
    std::panic::set_hook(Box::new(|_| {
        SAID.fetch_add(1, Ordering::SeqCst);
    }));
    assert_eq!(run(Wrong::Nothing), None);
    let causes = [Wrong::Compute, Wrong::ComputePanics, Wrong::AnotherThreadPanics, Wrong::Drawn, Wrong::DrawnPanics];
    let sentences: Vec<String> =
        causes.map(|wrong| run(wrong).unwrap_or_else(|| panic!("{wrong:?} was published"))).into();
    assert_eq!(SAID.load(Ordering::SeqCst), 0, "a panic has printed its message");
    for sentence in &sentences {
        assert!(
            sentence.starts_with("release 'second' failed after it was charged: nothing was published"),
            "{sentence}"
        );
        assert_eq!(sentence, &sentences[0]);
    }
}
