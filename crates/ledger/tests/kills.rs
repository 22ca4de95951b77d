//! The ledger under kills at single system calls: 60 of them, and 10,000 where `SCUMBLE_THOROUGH` is set.
//!
//! A child process charges until nothing fits, and writes down in a witness file what the ledger has said to it: what
//! it reserved, what it may show, and what it committed. It is killed at a random call; others are killed after it, one
//! or two at a time, until one of them comes to its end. What the witness saw must stand in the ledger after each kill.
#![cfg(unix)]

use scumble::event::{Event, Moves, Shift, Word};
use scumble::quantity::{Exact, Scale};
use scumble::scope::Scope;
use scumble_ledger::budget::{Budget, Limit, Odometer};
use scumble_ledger::{ChargeState, Error, Ledger, LedgerState, Proposal, Receipt, ReleaseContext, Result};
use scumble_testing::effort;
use scumble_testing::killer::{killed_at, killer, was_killed};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The folder of the ledger that a child is to charge.
const FOLDER: &str = "SCUMBLE_KILLED_LEDGER";
/// What a child finds in the witness, a line each.
const RESERVED: &str = "reserved";
const SHOWN: &str = "shown";
const COMMITTED: &str = "committed";

fn proposal() -> Proposal {
    let kind = Word::DiscreteLaplace { scale: Scale::new(10.0).unwrap() };
    Proposal {
        release: "r".to_string(),
        kind: "sql".to_string(),
        project: None,
        request: None,
        events: vec![Event::new(kind, Moves::everywhere(Shift::one_cell(1.0).unwrap()))],
        rule: json!({ "why": "kills" }),
        about: ReleaseContext::default(),
    }
}

fn budget() -> Budget {
    let limit = Limit::Approximate { epsilon: "1.2".parse::<Exact>().unwrap(), delta: Exact::zero() };
    Budget { person: Some(limit), ..Budget::default() }
}

/// The receipt of one more charge; `None` where it does not fit.
fn reserved(ledger: &mut Ledger) -> Option<Receipt> {
    let asked = proposal();
    let admit = |standing: &LedgerState| -> Result<()> {
        match budget().first_refusal(standing.sums()?, &asked.events)? {
            Some(refusal) => Err(refusal.error("r", "nothing fits")),
            None => Ok(()),
        }
    };
    match ledger.reserve(&asked, admit) {
        Ok(receipt) => Some(receipt),
        Err(error) if is_refusal(&error) => None,
        Err(error) => panic!("{error}"),
    }
}

fn is_refusal(error: &Error) -> bool {
    error.to_string().contains("nothing fits")
}

/// What a child saw. A line is written by one call, so a kill leaves it whole or leaves it out.
struct Witness(File);

impl Witness {
    fn at(folder: &Path) -> Self {
        Self(OpenOptions::new().append(true).create(true).open(folder.join("witness")).unwrap())
    }

    fn saw(&mut self, what: &str, sequence: u64) {
        self.0.write_all(format!("{what} {sequence}\n").as_bytes()).unwrap();
    }

    /// The charges of which this was seen, in order.
    fn all(folder: &Path, what: &str) -> Vec<u64> {
        let text = fs::read_to_string(folder.join("witness")).unwrap_or_default();
        let of = |line: &str| line.strip_prefix(what).map(|number| number.trim().parse().unwrap());
        text.lines().filter_map(of).collect()
    }
}

/// Draws for a charge, shows it and commits it, unless another process has drawn for it.
fn completed(ledger: &mut Ledger, receipt: Receipt, witness: &mut Witness) {
    let Some(pass) = ledger.drawn(receipt).unwrap() else { return };
    let sequence = pass.sequence();
    witness.saw(SHOWN, sequence);
    ledger.commit(pass, "00ff").unwrap();
    witness.saw(COMMITTED, sequence);
}

/// The child: a test like another, so that its process is this very program. Without the variable it does nothing.
#[test]
fn child_that_charges_until_nothing_fits() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    let mut witness = Witness::at(folder);
    let mut ledger = Ledger::open_or_create(&folder.join("ledger")).unwrap();
    // What those before it left behind is gone on with.
    for left in ledger.undrawn("r").unwrap() {
        let receipt = ledger.resumed(&left.at).unwrap();
        completed(&mut ledger, receipt, &mut witness);
    }
    while let Some(receipt) = reserved(&mut ledger) {
        witness.saw(RESERVED, receipt.sequence());
        completed(&mut ledger, receipt, &mut witness);
    }
}

fn child(folder: &Path, call: u64) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child_that_charges_until_nothing_fits"]).env(FOLDER, folder);
    command.env("KILL_COUNT", folder.join("calls")).stdout(Stdio::null()).stderr(Stdio::null());
    killed_at(&mut command, call).spawn().unwrap()
}

/// What the witness saw stands in the ledger, and its sums are those of its charges.
fn holds(folder: &Path, most: usize) {
    let Some(ledger) = Ledger::open_existing(&folder.join("ledger")).unwrap() else {
        assert!(Witness::all(folder, RESERVED).is_empty(), "charges were reserved, and there is no ledger");
        return;
    };
    ledger.verify().unwrap();
    let charges = ledger.charges().unwrap();
    assert!(charges.len() <= most, "{} charges, and the budget is enough for {most}", charges.len());
    let state = |sequence: u64| charges.iter().find(|charge| charge.sequence == sequence).map(|charge| &charge.state);
    for sequence in Witness::all(folder, RESERVED) {
        assert!(state(sequence).is_some(), "charge {sequence} was reserved, and is lost");
    }
    let shown = Witness::all(folder, SHOWN);
    assert_eq!(shown.iter().collect::<BTreeSet<_>>().len(), shown.len(), "two draws of a charge were shown: {shown:?}");
    for sequence in shown {
        let state = state(sequence).expect("what was shown is charged");
        assert_ne!(state, &ChargeState::Reserved, "charge {sequence} was shown, and nothing says so");
    }
    for sequence in Witness::all(folder, COMMITTED) {
        let state = state(sequence).expect("what was committed is charged");
        assert!(state.output().is_some(), "charge {sequence} was committed, and is {state:?}");
    }
    let all: Vec<Event> = charges.iter().flat_map(|charge| charge.events.clone()).collect();
    let (standing, _) = ledger.standing(&[]).unwrap();
    let spent = standing.sums().unwrap().spent(&Scope::Person).unwrap();
    assert_eq!(spent, &Odometer::of(&all, &Scope::Person).unwrap());
}

/// How many charges the budget is enough for.
fn most() -> usize {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open_or_create(&folder.path().join("ledger")).unwrap();
    (0..).take_while(|_| reserved(&mut ledger).is_some()).count()
}

#[test]
fn charges_survive_kills_at_any_call_and_nothing_is_shown_twice() {
    if killer().is_none() {
        return;
    }
    let (most, wanted) = (most(), effort(60, 10_000));
    assert!((6..=12).contains(&most));
    let whole = tempfile::tempdir().unwrap();
    assert!(child(whole.path(), 0).wait().unwrap().success());
    let calls: u64 = fs::read_to_string(whole.path().join("calls")).unwrap().parse().unwrap();
    assert!(calls > 100, "a child does not come by the killer");
    // A sequence of numbers that is the same each time, from the first of Steele, Lea and Flood's SplitMix64.
    let mut seed = 0_u64;
    let mut any = |below: u64| {
        seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % below
    };
    let (mut kills, mut ledgers) = (0_u64, 0_u64);
    while kills < wanted {
        let folder = tempfile::tempdir().unwrap();
        ledgers += 1;
        let is_complete = |folder: &Path| Witness::all(folder, COMMITTED).len() >= most;
        for _ in 0..40 {
            let together = 1 + any(2);
            let children: Vec<Child> = (0..together).map(|_| child(folder.path(), 1 + any(calls))).collect();
            for mut child in children {
                let status = child.wait().unwrap();
                assert!(status.success() || was_killed(status), "a child failed: {status}");
                kills += u64::from(was_killed(status));
            }
            holds(folder.path(), most);
            if is_complete(folder.path()) {
                break;
            }
        }
        // One that nobody kills comes to the end, and leaves no more than the budget allows.
        assert!(child(folder.path(), 0).wait().unwrap().success());
        holds(folder.path(), most);
        let ledger = Ledger::open_existing(&folder.path().join("ledger")).unwrap().unwrap();
        assert_eq!(ledger.charges().unwrap().len(), most, "a charge went missing");
    }
    println!("{kills} kills, {ledgers} ledgers, {calls} calls in a run that nobody kills");
}
