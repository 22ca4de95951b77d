//! The ledger against crashes, edits and neighbours (docs/engineers/ledger-format.md).

use rusqlite::Connection;
use scumble::event::{Event, Moves, Shift, Word};
use scumble::quantity::{Exact, Scale};
use scumble::scope::{AttributeSet, Scope};
use scumble_ledger::ErrorKind;
use scumble_ledger::budget::{Budget, HeldLimits, Limit, Odometer, Sums, one_attribute};
use scumble_ledger::{
    Anchor, BudgetChange, ChargeState, Declaration, Error, Head, Ledger, LedgerState, Proposal, Receipt,
    ReleaseContext, RemarkContent, RemarkOutcome, RequestOrigin, Result,
};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

fn proposal(name: &str) -> Proposal {
    let kind = Word::DiscreteLaplace { scale: Scale::new(10.0).unwrap() };
    let event = Event::new(kind, Moves::everywhere(Shift::one_cell(1.0).unwrap()));
    Proposal {
        release: name.to_string(),
        kind: "sql".to_string(),
        project: None,
        request: None,
        events: vec![event],
        rule: json!({ "why": "test" }),
        about: ReleaseContext::default(),
    }
}

fn anything(_: &LedgerState) -> Result<()> {
    Ok(())
}

fn within(budget: &Budget, asked: &Proposal) -> impl Fn(&LedgerState) -> Result<()> {
    let (budget, events) = (budget.clone(), asked.events.clone());
    move |standing| match budget.first_refusal(standing.sums()?, &events)? {
        Some(refusal) => Err(refusal.error("test", "nothing fits")),
        None => Ok(()),
    }
}

/// Something is drawn, seen, and complete.
fn committed(ledger: &mut Ledger, receipt: Receipt, output: &str) -> Head {
    let pass = ledger.drawn(receipt).unwrap().expect("nobody else has drawn");
    ledger.commit(pass, output).unwrap()
}

fn filled(path: &Path, releases: usize) -> Ledger {
    let mut ledger = Ledger::open_or_create(path).unwrap();
    for index in 0..releases {
        let receipt = ledger.reserve(&proposal(&format!("r{index}")), anything).unwrap();
        committed(&mut ledger, receipt, "00ff");
    }
    ledger
}

#[test]
fn what_was_reserved_is_read_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let mut ledger = Ledger::open_or_create(&path).unwrap();
    let receipt = ledger.reserve(&proposal("first"), anything).unwrap();
    assert_eq!(ledger.charges().unwrap()[0].state, ChargeState::Reserved);
    let head = committed(&mut ledger, receipt, "abcd");
    let charges = Ledger::open_existing(&path).unwrap().unwrap().charges().unwrap();
    assert_eq!(charges.len(), 1);
    assert_eq!(charges[0].state, ChargeState::Committed("abcd".into()));
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
    // What a reader may see after each step: (length of the WAL when the step had returned, entries then). The first
    // reservation comes with the budget's entry, in one transaction.
    let mut first = proposal("a");
    first.about.budget = HeldLimits::Unknown(json!({ "person": "epsilon 1" }));
    let mut steps = vec![(wal_length(), 0)];
    let receipt = ledger.reserve(&first, anything).unwrap();
    steps.push((wal_length(), 2));
    let pass = ledger.drawn(receipt).unwrap().unwrap();
    steps.push((wal_length(), 3));
    ledger.commit(pass, "00").unwrap();
    steps.push((wal_length(), 4));
    let _interrupted = ledger.reserve(&first, anything).unwrap();
    steps.push((wal_length(), 5));
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
        let next = steps.iter().find(|(length, _)| *length > cut).map_or(durable, |(_, entries)| *entries);
        assert!(entries == durable || entries == next, "cut at {cut}: {entries} entries are half a step");
        // And the image is a ledger that goes on, with the right sums.
        let mut opened = Ledger::open_existing(&image).unwrap().unwrap();
        let charges = opened.charges().unwrap().len() as u64;
        opened
            .reserve(&first, |standing| {
                assert_eq!(standing.releases(), charges);
                anything(standing)
            })
            .unwrap();
        opened.verify().unwrap();
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
    assert!(error.kind() == ErrorKind::Input, "{error:?}");
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
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 8).unwrap();
    assert!(Ledger::open_existing(&path).err().unwrap().to_string().contains("newer scumble"));
}

/// Whether a reservation notices depends on the place: it reads the end of the chain only, and uses nothing else.
#[test]
fn every_tampering_is_detected() {
    let check = |what: &str, statements: &str, sentence: &str, at_the_end: bool| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        drop(filled(&path, 3));
        Connection::open(&path).unwrap().execute_batch(statements).unwrap();
        let mut ledger = Ledger::open_existing(&path).unwrap().unwrap();
        let error = ledger.verify().expect_err(what);
        assert!(error.to_string().contains(sentence), "{what}: {error}");
        assert!(error.kind() == ErrorKind::Machine, "{error:?}");
        let mut sums = None;
        let reserved = ledger.reserve(&proposal("x"), |standing| {
            sums = Some(standing.sums()?.clone());
            anything(standing)
        });
        assert_eq!(reserved.is_err(), at_the_end, "{what}");
        if !at_the_end {
            let truth: Vec<Vec<Event>> = (0..3).map(|_| proposal("r").events).collect();
            assert_eq!(
                sums.unwrap(),
                Sums::of(truth.iter().map(Vec::as_slice)).unwrap(),
                "{what}: a wrong sum was used"
            );
        }
        assert!(ledger.verify().is_err(), "{what}: a charge has covered it up");
    };
    check(
        "edited",
        "UPDATE entry SET body = replace(body, 'r1', 'r9') WHERE sequence = 4",
        "entry 4 or its place",
        false,
    );
    check("edited scale", "UPDATE entry SET body = replace(body, '10.0', '99.0') WHERE sequence = 1", "entry 1", false);
    check("edited sum", "UPDATE entry SET body = replace(body, '0.3', '0.1') WHERE sequence = 7", "entry 7", true);
    check("removed", "DELETE FROM entry WHERE sequence = 2", "entry 2 is missing", false);
    check("first removed", "DELETE FROM entry WHERE sequence = 1", "entry 1 is missing", false);
    check("end removed", "DELETE FROM entry WHERE sequence = 9", "the end is missing", true);
    check("all removed", "DELETE FROM entry", "the end is missing", true);
    check(
        "swapped",
        "UPDATE entry SET sequence = 100 WHERE sequence = 5; UPDATE entry SET sequence = 5 WHERE sequence = 6;
         UPDATE entry SET sequence = 6 WHERE sequence = 100",
        "entry 5 or its place",
        true,
    );
    check(
        "renumbered",
        "DELETE FROM entry WHERE sequence = 2; UPDATE entry SET sequence = sequence - 1 WHERE sequence > 2",
        "entry 2",
        true,
    );
    check("head moved", "UPDATE head SET entries = 10", "the end is missing", true);
    check("hash edited", "UPDATE entry SET hash = zeroblob(32) WHERE sequence = 7", "entry 7", true);
}

/// Writes a whole new chain of these bodies, hashes and all.
fn rewritten(path: &Path, bodies: &[String]) {
    let connection = Connection::open(path).unwrap();
    connection.execute("DELETE FROM entry", []).unwrap();
    let mut head = Head::empty();
    for body in bodies {
        head = head.followed_by(body);
        connection
            .execute("INSERT INTO entry VALUES (?1, ?2, ?3)", (head.entries as i64, body, &head.hash[..]))
            .unwrap();
    }
    connection.execute("UPDATE head SET entries = ?1, hash = ?2", (head.entries as i64, &head.hash[..])).unwrap();
}

fn bodies(ledger: &Ledger) -> Vec<String> {
    let export = ledger.export().unwrap();
    export["entries"].as_array().unwrap().iter().map(|entry| entry["text"].as_str().unwrap().to_string()).collect()
}

/// The story: rounds of interactive releases and what parties publish had no entry `drawn`, so that eight answers could
/// be seen for one charge, and a chain without them was verified. A chain in which something is committed that was
/// never drawn, drawn twice, or read for in a round that is over, was not written by us.
#[test]
fn the_order_of_a_charges_entries_is_verified() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let all = bodies(&filled(&path, 1));
    let of_charge = |one_draw: Option<bool>| {
        let mut reserve: Value = serde_json::from_str(&all[0]).unwrap();
        assert_eq!(reserve["one_draw"], true, "what is not said is one draw");
        match one_draw {
            Some(one_draw) => reserve["one_draw"] = one_draw.into(),
            None => drop(reserve.as_object_mut().unwrap().remove("one_draw")),
        }
        reserve.to_string()
    };
    let time = "2026-11-18T17:00:00Z";
    let reading = |answer: u64| json!({ "entry": "reading", "time": time, "of": 1, "answer": answer });
    let answer =
        |answer: u64| json!({ "entry": "drawn", "time": time, "of": 1, "answer": answer, "state": "ab".repeat(32) });
    let (commit, drawn) = (
        json!({ "entry": "commit", "time": time, "of": 1, "output": "00" }),
        json!({ "entry": "drawn", "time": time, "of": 1 }),
    );
    let check = |one_draw: Option<bool>, entries: &[&Value], sentence: Option<&str>| {
        let chain = std::iter::once(of_charge(one_draw)).chain(entries.iter().map(ToString::to_string));
        rewritten(&path, &chain.collect::<Vec<_>>());
        let verified = Ledger::open_existing(&path).unwrap().unwrap().verify().map_err(|error| error.to_string());
        match sentence {
            None => drop(verified.unwrap_or_else(|error| panic!("{entries:?}: {error}"))),
            Some(sentence) => {
                assert!(verified.as_ref().is_err_and(|error| error.contains(sentence)), "{entries:?}: {verified:?}")
            }
        }
    };
    let (early, twice, over) = (
        "commits what was not reserved, or not drawn",
        "drawn for no charge, or a second time",
        "a round that is over",
    );
    // One draw.
    check(Some(true), &[&drawn, &commit], None);
    check(Some(true), &[&commit], Some(early));
    check(Some(true), &[&drawn, &drawn], Some(twice));
    check(Some(true), &[&drawn, &reading(2)], Some(over));
    // A round. A process that died while it made an answer, or before that was complete, leaves a chain that is
    // verified.
    check(Some(false), &[], None);
    check(Some(false), &[&answer(1), &commit, &reading(2), &answer(2), &commit, &reading(3)], None);
    check(Some(false), &[&answer(1), &reading(2), &answer(2), &commit], None);
    // The model alone reads no rows.
    check(Some(false), &[&answer(1), &commit, &answer(2), &commit], None);
    check(Some(false), &[&commit], Some(early));
    check(Some(false), &[&answer(1), &commit, &commit], Some(early));
    check(Some(false), &[&answer(1), &answer(1)], Some(twice));
    check(Some(false), &[&answer(2)], Some(twice));
    check(Some(false), &[&drawn], Some(twice));
    check(Some(false), &[&reading(1)], Some(over));
    check(Some(false), &[&answer(1), &reading(2), &reading(2)], Some(over));
    check(Some(false), &[&answer(1), &reading(3)], Some(over));
    // Older charges have commits alone; a round of theirs is answered by the model alone from now on.
    check(None, &[&commit, &commit], None);
    check(None, &[&commit, &commit, &answer(3), &commit], None);
    check(None, &[&commit, &commit, &answer(2)], Some(twice));
    check(None, &[&commit, &reading(2)], Some(over));
    check(None, &[&drawn], Some(twice));
}

#[test]
fn sums_that_are_not_those_of_the_chain_are_detected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let all = bodies(&filled(&path, 3));
    assert!(all[6].contains("\"0.3 0 "), "{}", all[6]);
    for (what, from, to) in [
        ("less is said to be spent", "\"0.3 0 ", "\"0.2 0 "),
        ("fewer releases", "{\"sql\":3}", "{\"sql\":2}"),
        ("a budget that is not there", "\"budget\":null", "\"budget\":{\"entry\":2,\"hash\":\"00\"}"),
    ] {
        let mut changed = all.clone();
        changed[6] = changed[6].replace(from, to);
        assert_ne!(changed, all, "{what}");
        rewritten(&path, &changed);
        let error = Ledger::open_existing(&path).unwrap().unwrap().verify().expect_err(what);
        assert!(error.to_string().contains("the sums in entry 7 are not those"), "{what}: {error}");
    }
}

/// A request that cost nothing stands in the chain, is passed over by a search for sums, and is not believed where it
/// says wrongly what to pass over.
#[test]
fn remarks_are_in_the_chain_and_cost_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let remarked = |came: RemarkOutcome| RemarkContent {
        by: "ada".to_string(),
        what: "SELECT \"by\":\"ada\"".to_string(),
        cost: "epsilon=1".to_string(),
        key: Some("k".to_string()),
        came,
    };
    // Before anything was charged, between charges, and many of them.
    let mut ledger = Ledger::open_or_create(&path).unwrap();
    ledger.remark(&remarked(RemarkOutcome::Refused("too much".to_string()))).unwrap();
    let asked = |by: &str| RequestOrigin { by: by.to_string(), question: format!("question of {by}"), key: None };
    for by in ["ada", "bob", "ada"] {
        let about = ReleaseContext { asked: Some(asked(by)), ..ReleaseContext::default() };
        let receipt = ledger.reserve(&Proposal { about, ..proposal(by) }, anything).unwrap();
        for _ in 0..20 {
            ledger.remark(&remarked(RemarkOutcome::Stored(receipt.sequence()))).unwrap();
        }
        committed(&mut ledger, receipt, "00ff");
        ledger.remark(&remarked(RemarkOutcome::Refused("too much".to_string()))).unwrap();
    }
    let head = ledger.verify().unwrap();
    assert_eq!(head.entries, 1 + 3 * (1 + 20 + 2 + 1));
    let (charges, remarks) = ledger.history().unwrap();
    assert_eq!((charges.len(), remarks.len()), (3, 64));
    assert_eq!(charges[1].asked, Some(asked("bob")));
    assert_eq!(remarks[1].remarked, remarked(RemarkOutcome::Stored(2)));
    assert_eq!(ledger.recent(2).unwrap().len(), 2);
    // Whose charges are whose.
    let spent = |sums: &Sums| sums.spent(&Scope::Person).unwrap().pure_sum().map(|sum| sum.to_string());
    let of = |events: usize| {
        Odometer::of(&vec![proposal("x").events[0].clone(); events], &Scope::Person).unwrap().pure_sum()
    };
    assert_eq!(spent(&ledger.charged_to("ada").unwrap()), of(2).map(|sum| sum.to_string()));
    assert_eq!(spent(&ledger.charged_to("bob").unwrap()), of(1).map(|sum| sum.to_string()));
    assert_eq!(
        spent(&ledger.charged_to("eve").unwrap()),
        Sums::nothing().spent(&Scope::Person).unwrap().pure_sum().map(|sum| sum.to_string())
    );
    ledger
        .reserve(&proposal("x"), |standing| {
            assert_eq!(spent(standing.sums()?), of(3).map(|sum| sum.to_string()));
            Err(Error::input("only looked"))
        })
        .unwrap_err();
    // Answers are found by their question, and by the key under which they were given.
    assert_eq!(ledger.answered("question of ada").unwrap().unwrap().sequence, 50);
    assert!(ledger.answered("question of eve").unwrap().is_none());
    assert_eq!(ledger.keyed("k").unwrap().unwrap().sequence, 2);
    // A request with a key that was charged or answered is not charged again, whenever the key was looked up; another
    // key is.
    let with_key = |key: &str, is_limited: bool| {
        let asked = RequestOrigin { key: Some(key.to_string()), ..asked("ada") };
        Proposal {
            about: ReleaseContext { asked: Some(asked), is_limited, ..ReleaseContext::default() },
            ..proposal("again")
        }
    };
    let again = ledger.reserve(&with_key("k", false), anything).unwrap_err().to_string();
    assert!(again.contains("a request with this key was charged before"), "{again}");
    // What somebody with limits of their own was charged is known where it is decided, and nobody else's.
    ledger
        .reserve(&with_key("k2", true), |standing| {
            assert_eq!(spent(standing.own()?), of(2).map(|sum| sum.to_string()));
            Err(Error::input("only looked"))
        })
        .unwrap_err();
    // A remark that passes over a charge would make a ledger forget it.
    let all = bodies(&ledger);
    drop(ledger);
    let mut lying = all.clone();
    let last: Value = serde_json::from_str(lying.last().unwrap()).unwrap();
    let mut wrong = last.clone();
    wrong["since"] = serde_json::from_str::<Value>(&all[21]).unwrap()["since"].clone();
    assert_ne!(wrong, last);
    *lying.last_mut().unwrap() = wrong.to_string();
    rewritten(&path, &lying);
    let error = Ledger::open_existing(&path).unwrap().unwrap().verify().unwrap_err().to_string();
    assert!(error.contains("is wrong about where the entries before it end"), "{error}");
    wrong["since"] = json!({ "entry": 10_000, "hash": "00".repeat(32) });
    *lying.last_mut().unwrap() = wrong.to_string();
    rewritten(&path, &lying);
    assert!(Ledger::open_existing(&path).unwrap().unwrap().standing(&[]).is_err(), "nothing is passed over upwards");
}

#[test]
fn an_unknown_entry_is_refused_and_so_is_a_rule_that_is_not_ours() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let all = bodies(&filled(&path, 2));
    let mut strange = all.clone();
    strange.push(json!({ "entry": "refund", "of": 1 }).to_string());
    rewritten(&path, &strange);
    let mut ledger = Ledger::open_existing(&path).unwrap().unwrap();
    assert!(ledger.verify().is_err() && ledger.reserve(&proposal("x"), anything).is_err());
    // Sums by another rule are not used: everything is read and counted again.
    let mut other = all.clone();
    let by_another = all[3].replace("\"rule\":2", "\"rule\":1");
    assert_ne!(by_another, all[3], "the rule of today stands in the entry");
    other[3] = by_another.replace("\"0.2 0 ", "\"0.1 0 ");
    assert_ne!(other[3], by_another, "so does the sum");
    rewritten(&path, &other);
    let mut ledger = Ledger::open_existing(&path).unwrap().unwrap();
    let spent = |standing: &LedgerState| standing.sums().unwrap().spent(&Scope::Person).unwrap().clone();
    let right = Odometer::of(&[proposal("a").events, proposal("b").events].concat(), &Scope::Person).unwrap();
    assert_eq!(spent(&ledger.standing(&[]).unwrap().0), right);
    ledger.reserve(&proposal("x"), anything).unwrap();
    ledger.verify().unwrap();
}

/// A ledger that version 1 wrote (three releases of a project with one table): it is read, verified and costs what it
/// cost.
#[test]
fn a_ledger_of_version_1_costs_what_it_cost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.ledger");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ledger/version-1.ledger"), &path).unwrap();
    let mut ledger = Ledger::open_existing(&path).unwrap().unwrap();
    let head = ledger.verify().unwrap();
    assert_eq!(head.hex(), "ccc5ed00aec7222b4e3bd3f362c9c89f7b57941948f33a22ba0a1ebb6e4e8b21");
    // As version 1 wrote them.
    let rho = |standing: &LedgerState, scope: &Scope| {
        let spent = standing.sums().unwrap().spent(scope).unwrap().clone();
        spent.rho(&"1e-6".parse().unwrap()).unwrap().to_f64_up()
    };
    let shown = |standing: &LedgerState| -> Result<()> {
        for (scope, truth) in [
            (Scope::Presence, 0.036740363363673936),
            (Scope::Person, 0.0668140600606812),
            (one_attribute("age").unwrap(), 0.03560468668689373),
            (one_attribute("sex").unwrap(), 0.031209373373787472),
            (one_attribute("state").unwrap(), 0.015604686686893736),
            (one_attribute("nobody's").unwrap(), 0.0),
        ] {
            assert!((rho(standing, &scope) - truth).abs() <= truth * 1e-12, "{scope}");
        }
        assert_eq!(standing.releases(), 3);
        Ok(())
    };
    shown(&ledger.standing(&[]).unwrap().0).unwrap();
    assert_eq!(ledger.charges().unwrap().len(), 3);
    // The next release finds the same, and its sums go on from there.
    let mut next = proposal("next");
    next.about.sets = vec![AttributeSet::new(["age", "sex"]).unwrap()];
    let receipt = ledger.reserve(&next, shown).unwrap();
    committed(&mut ledger, receipt, "00");
    ledger.verify().unwrap();
    let all: Vec<Event> = ledger.charges().unwrap().into_iter().flat_map(|charge| charge.events).collect();
    let (standing, _) = ledger.standing(&next.about.sets).unwrap();
    for scope in [Scope::Person, Scope::Attributes(next.about.sets[0].clone()), one_attribute("new").unwrap()] {
        assert_eq!(standing.sums().unwrap().spent(&scope).unwrap(), &Odometer::of(&all, &scope).unwrap(), "{scope}");
    }
    assert!(ledger.knows_head(&head.hex()).unwrap());
    assert_eq!(version(&path), 7, "a program of version 1 must not add to it without sums");
}

/// Ledgers that the programs of versions 3, 4 and 5 wrote, of all kinds of entries that they knew: they verify, nothing
/// is written by reading them, they take another charge, and an edited entry is noticed.
#[test]
fn ledgers_of_versions_3_to_5_verify_and_go_on() {
    for (number, expected) in [
        (3, "b418fdf5cda9b4dc440e07e19236121b1b142ba8e9e1780ba8c8687c33807ef1"),
        (4, "ace52faa4b46ff66ec2c95a967a63bec2f472377b1107630705a696e5ed597c1"),
        (5, "4aa1ffba7cda7e82472b2aa53d701bb6798f50e85adca39fc690b51e2c54b551"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.ledger");
        let old = format!("../../testdata/ledger/version-{number}.ledger");
        fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(old), &path).unwrap();
        let mut ledger = Ledger::open_existing(&path).unwrap().unwrap();
        let head = ledger.verify().unwrap();
        assert_eq!((head.hex(), version(&path)), (expected.to_string(), number));
        let before = ledger.charges().unwrap().len();
        ledger.change_budget(&Budget::default(), "the limits are another's", BudgetChange::Raise).unwrap();
        let receipt = ledger.reserve(&proposal("next"), |_| Result::Ok(())).unwrap();
        committed(&mut ledger, receipt, "00");
        ledger.verify().unwrap();
        assert_eq!((ledger.charges().unwrap().len(), version(&path)), (before + 1, 7));
        assert!(ledger.knows_head(&head.hex()).unwrap());
        drop(ledger);
        let edited = "UPDATE entry SET body = replace(body, 'sql', 'SQL') WHERE sequence = \
            (SELECT min(sequence) FROM entry WHERE body LIKE '%\"reserve\"%')";
        assert_eq!(Connection::open(&path).unwrap().execute(edited, []).unwrap(), 1);
        let noticed = Ledger::open_existing(&path).and_then(|ledger| ledger.unwrap().verify().map(drop));
        assert!(noticed.is_err(), "version {number}");
    }
}

fn version(path: &Path) -> i32 {
    Connection::open(path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

fn exact(text: &str) -> Exact {
    text.parse().unwrap()
}

/// The limits that `testdata/ledger/version-6.ledger` holds in its last entry about them: each notion, in words.
fn limits_of_version_6() -> Budget {
    Budget {
        presence: Some(Limit::Tcdp { rho: exact("0.5"), omega: exact("20"), delta: Exact::zero() }),
        person: Some(Limit::Approximate { epsilon: exact("2"), delta: exact("1e-9") }),
        attributes: [
            ("age".to_string(), Limit::Zcdp { rho: exact("0.1"), delta: exact("1e-6") }),
            ("sex".to_string(), Limit::Renyi { order: exact("8"), epsilon: exact("1.25"), delta: Exact::zero() }),
        ]
        .into(),
        every_attribute: Some(Limit::Approximate { epsilon: exact("0.3"), delta: Exact::zero() }),
    }
}

/// A ledger that version 6 wrote, which held limits as English: two releases, and a budget that was raised in between.
#[test]
fn the_limits_of_version_6_are_in_force_as_if_they_were_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.ledger");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ledger/version-6.ledger"), &path).unwrap();
    let mut ledger = Ledger::open_existing(&path).unwrap().unwrap();
    let head = ledger.verify().unwrap();
    assert_eq!(head.hex(), "fe630b41d29ac7422a1bcd166adda7f4761e49f87f15a7c500e93bab2078aa6d");
    assert!(bodies(&ledger)[6].contains("\"person\":\"epsilon 2 at delta 0.000000001\""), "{:?}", bodies(&ledger));
    let budget = limits_of_version_6();
    assert_eq!(ledger.standing(&[]).unwrap().0.budget().as_ref(), Some(&budget));
    let held: Vec<HeldLimits> = ledger.budgets().unwrap().into_iter().map(|one| one.limits).collect();
    assert_eq!((held.len(), &held[1]), (2, &budget.in_force()));
    assert_eq!(held[0].shown()["person"], "epsilon 1 at delta 1e-9");
    // The same limits in a project file are no news, others are refused, and both change as they did.
    assert_eq!(ledger.first_budget(&budget).unwrap(), None);
    let mut next = proposal("next");
    next.about.budget = Budget { person: None, ..budget.clone() }.in_force();
    let refused = ledger.reserve(&next, anything).unwrap_err().to_string();
    assert!(refused.contains("entry 7 (no limit for person; it was person epsilon 2 at delta 1e-9)"), "{refused}");
    let same = ledger.change_budget(&budget, "none", BudgetChange::Raise).unwrap_err().to_string();
    assert!(same.contains("there is nothing to change"), "{same}");
    next.about.budget = budget.in_force();
    let receipt = ledger.reserve(&next, anything).unwrap();
    assert_eq!(receipt.sequence(), head.entries + 1, "no entry about the budget before it");
    assert_eq!(version(&path), 7, "a program of version 6 would not know the limits that come");
    let higher = Budget { every_attribute: None, ..budget };
    ledger.change_budget(&higher, "all of it", BudgetChange::Lower).unwrap_err();
    ledger.change_budget(&higher, "all of it", BudgetChange::Raise).unwrap();
    assert_eq!(ledger.standing(&[]).unwrap().0.budget(), Some(higher));
    ledger.verify().unwrap();
}

#[test]
fn limits_are_written_as_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let mut ledger = Ledger::open_or_create(&path).unwrap();
    ledger.first_budget(&limits_of_version_6()).unwrap().unwrap();
    let entry: Value = serde_json::from_str(&bodies(&ledger)[0]).unwrap();
    let limits = json!({
        "presence": { "rho": "0.5", "omega": "20", "delta": "0" },
        "person": { "epsilon": "2", "delta": "0.000000001" },
        "attributes": {
            "age": { "rho": "0.1", "delta": "0.000001" },
            "sex": { "order": "8", "epsilon": "1.25", "delta": "0" },
        },
        "every_attribute": { "epsilon": "0.3", "delta": "0" },
    });
    assert_eq!(entry["limits"], limits);
    assert_eq!(ledger.standing(&[]).unwrap().0.budget(), Some(limits_of_version_6()));
    // No limits at all are null, as they were.
    ledger.change_budget(&Budget::default(), "nobody is protected any more", BudgetChange::Raise).unwrap();
    let entry: Value = serde_json::from_str(&bodies(&ledger)[1]).unwrap();
    assert_eq!((&entry["limits"], ledger.standing(&[]).unwrap().0.budget()), (&Value::Null, Some(Budget::default())));
    ledger.verify().unwrap();
}

/// Limits that a later version wrote, in a form that is not known here, are in force too: a project with other limits
/// is refused, and one without limits of its own goes on under them.
#[test]
fn limits_in_an_unknown_form_are_in_force_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let mut ledger = Ledger::open_or_create(&path).unwrap();
    ledger.first_budget(&limits_of_version_6()).unwrap();
    let unknown = bodies(&ledger)[0].replace("\"epsilon\":\"2\"", "\"mu\":\"2\"");
    rewritten(&path, &[unknown]);
    let standing = ledger.standing(&[]).unwrap().0;
    assert!(standing.budget().is_none() && matches!(standing.limits(), HeldLimits::Unknown(_)));
    assert_eq!(standing.limits().shown()["person"]["mu"], "2");
    let mut next = proposal("next");
    for limits in [HeldLimits::default(), limits_of_version_6().in_force()] {
        next.about.budget = limits;
        let refused = ledger.reserve(&next, anything).unwrap_err().to_string();
        assert!(refused.contains("differs from ledger entry 1; nothing was"), "{refused}");
    }
    next.about.budget = standing.limits();
    ledger.reserve(&next, anything).unwrap();
    assert_eq!(ledger.verify().unwrap().entries, 2);
    ledger.change_budget(&limits_of_version_6(), "a known form", BudgetChange::Lower).unwrap_err();
    ledger.change_budget(&limits_of_version_6(), "a known form", BudgetChange::Raise).unwrap();
}

/// A path with a meaning of its own to SQLite kept no charge; two names of one file kept two ledgers.
#[test]
fn a_ledger_is_one_plain_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in [":memory:", "", "file:x?mode=memory", "FILE:x", "x/"] {
        let error = Ledger::open_or_create(Path::new(name)).err().unwrap_or_else(|| panic!("'{name}' was opened"));
        assert!(error.kind() == ErrorKind::Input, "{name}: {error}");
        assert!(Ledger::open_existing(Path::new(name)).is_err(), "{name}");
    }
    assert!(Ledger::open_or_create(folder.path()).is_err(), "a folder");
    assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    assert!(Ledger::open_or_create(&at("pipe")).is_err(), "a pipe, which would never open");
    symlink(at("nowhere"), at("dangling")).unwrap();
    assert!(Ledger::open_or_create(&at("dangling")).is_err() && Ledger::open_existing(&at("dangling")).is_err());
    // A link is the file that it leads to, and shares its log.
    drop(filled(&at("ledger"), 1));
    symlink(at("ledger"), at("link")).unwrap();
    let mut open = Ledger::open_existing(&at("ledger")).unwrap().unwrap();
    let mut other = Ledger::open_existing(&at("link")).unwrap().unwrap();
    other.reserve(&proposal("by the link"), anything).unwrap();
    open.reserve(&proposal("x"), |standing| {
        assert_eq!(standing.releases(), 2);
        anything(standing)
    })
    .unwrap();
    // A hard link has a log of its own.
    fs::hard_link(at("ledger"), at("hard")).unwrap();
    assert!(Ledger::open_existing(&at("hard")).err().unwrap().to_string().contains("a second name"));
}

#[test]
fn a_ledger_that_is_replaced_while_it_is_open_gives_no_receipt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let mut ledger = filled(&path, 1);
    fs::rename(&path, folder.path().join("away")).unwrap();
    drop(filled(&folder.path().join("other"), 1));
    fs::rename(folder.path().join("other"), &path).unwrap();
    let error = ledger.reserve(&proposal("x"), anything).unwrap_err().to_string();
    assert!(error.contains("was moved, removed or replaced"), "{error}");
    assert!(ledger.reserve(&proposal("x"), anything).is_err(), "and nothing more is believed");
}

fn declared(owner: Option<&str>) -> ReleaseContext {
    let people = Declaration {
        source: "people.csv".to_string(),
        owner: owner.map(str::to_string),
        public: false,
        layout: Value::Null,
        columns: [("age".to_string(), json!({ "type": "int", "bounds": [0, 9] }))].into(),
    };
    ReleaseContext { tables: [("people".to_string(), people)].into(), ..ReleaseContext::default() }
}

#[test]
fn the_first_release_says_what_a_person_is_and_later_ones_must_agree() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let mut ledger = Ledger::open_or_create(&path).unwrap();
    let ask = |owner: Option<&str>, marks: &[(&str, &str)]| {
        let mut ask = proposal("a");
        ask.about = declared(owner);
        ask.about.data = marks.iter().map(|(table, mark)| (table.to_string(), mark.to_string())).collect();
        ask
    };
    let owner = Some("id");
    let kinds = |ledger: &Ledger| -> Vec<String> {
        let bodies = bodies(ledger).into_iter().map(|body| serde_json::from_str::<Value>(&body).unwrap());
        bodies.map(|body| body["entry"].as_str().unwrap().to_string()).collect()
    };
    ledger.reserve(&ask(owner, &[("people", "m1")]), anything).unwrap();
    assert_eq!(kinds(&ledger), ["declaration", "data", "reserve"]);
    ledger.reserve(&ask(owner, &[("people", "m1")]), anything).unwrap();
    assert_eq!(kinds(&ledger)[3..], ["reserve"], "nothing is new");
    let error = ledger.reserve(&ask(None, &[]), anything).unwrap_err();
    assert!(error.to_string().contains("it had the owner 'id' and has no owner"), "{error}");
    assert!(error.kind() == ErrorKind::Input, "{error:?}");
    assert_eq!(kinds(&ledger).len(), 4, "nothing was charged");
    // A file that has changed is an entry.
    ledger.reserve(&ask(owner, &[("people", "m2")]), anything).unwrap();
    assert_eq!(kinds(&ledger)[4..], ["data", "reserve"]);
    assert_eq!(ledger.standing(&[]).unwrap().0.mark("people"), Some("m2"));
    ledger.verify().unwrap();
}

#[test]
fn anchors_show_a_reset_a_cut_and_another_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let file: PathBuf = folder.path().join("anchors");
    let ledger = filled(&path, 2);
    Anchor::now(ledger.head().unwrap()).append_to(&file).unwrap();
    let ledger = {
        drop(ledger);
        filled(&path, 2)
    };
    Anchor::now(ledger.head().unwrap()).append_to(&file).unwrap();
    let anchors: Vec<Head> = Anchor::read(&file).unwrap().into_iter().map(|(_, anchor)| anchor.head).collect();
    assert_eq!(anchors.len(), 2);
    assert_eq!(ledger.first_unknown(&anchors).unwrap(), None);
    let all = bodies(&ledger);
    rewritten(&path, &all[..6]);
    assert_eq!(ledger.first_unknown(&anchors).unwrap(), Some(&anchors[1]), "the end was cut");
    let reset = filled(&folder.path().join("new"), 5);
    assert_eq!(reset.first_unknown(&anchors).unwrap(), Some(&anchors[0]), "the same place, another history");
    fs::write(&file, "scumble-ledger entries 4 head 00 time now\n").unwrap();
    assert!(Anchor::read(&file).unwrap_err().to_string().contains(":1:1: this is not an anchor"));
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
                        Ok(receipt) => {
                            committed(&mut ledger, receipt, "00");
                            1
                        }
                        Err(error) if error.kind() == ErrorKind::Budget => 0,
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

/// The story: the head was read and then the last entry. An entry that was written in between was taken for one by
/// "something else than scumble", and a server reported that an answer was lost.
#[test]
fn whoever_reads_while_others_write_sees_one_moment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    drop(filled(&path, 2));
    let reads: [fn(&Ledger) -> Result<Head>; 4] = [
        Ledger::head,
        Ledger::verify,
        |ledger| ledger.charges().and_then(|_| ledger.head()),
        |ledger| ledger.history().and_then(|_| ledger.export()).and_then(|_| ledger.head()),
    ];
    let writer = std::thread::spawn({
        let path = path.clone();
        move || filled(&path, 60).head().unwrap()
    });
    let mut seen = 0;
    while !writer.is_finished() {
        let ledger = Ledger::open_existing(&path).unwrap().unwrap();
        for read in reads {
            // Mostly the first: no moment passes between two of its calls.
            for _ in 0..20 {
                let head = ledger.head().and_then(|_| read(&ledger)).unwrap();
                assert!(head.entries >= seen, "{} after {seen}", head.entries);
                seen = head.entries;
            }
        }
    }
    let last = writer.join().unwrap();
    assert_eq!(Ledger::open_existing(&path).unwrap().unwrap().verify().unwrap(), last);
}
