//! What leaves the program, to the letter: plans, ledger entries, files of answers and the report of a project with
//! every kind of release, with the noise of a seed. A change of the house that moves a byte of these by accident fails
//! here.
//!
//! After a change that is meant, `SCUMBLE_GOLDEN=write cargo test -p scumble-engine --test it golden` writes the files
//! anew, and their diff is part of the review. Times, digests and the folder's path are masked: they differ from run to
//! run.

use crate::costs::{BASE, CASES, Case};
use crate::support::Folder;
use scumble_engine::ledger::Ledger;
use scumble_engine::release::{Runner, published};
use scumble_engine::report::Report;
use scumble_engine::summary::document;
use scumble_engine::summary::planned::{delta_of, forecast, scopes, usual_delta};
use scumble_testing::golden;
use scumble_testing::tables::USUAL;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const SEED: u64 = 20_261_118;

/// Rows for the tables of [`USUAL`], from a small generator, so that no file of data has to be kept.
fn tables() -> [(&'static str, String); 5] {
    let mut state = 1u64;
    let mut next = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut people = String::from("age,sex,smokes,town,income\n");
    for _ in 0..400 {
        let (age, sex, smokes) = (next(10), ["f", "m"][next(2) as usize], next(3) == 0);
        let (town, income) = (next(6), next(81) as f64 / 2.0 - 10.0);
        writeln!(people, "{age},{sex},{smokes},t{town},{income}").unwrap();
    }
    let mut visits = String::from("id,clinic,day,sex,cost\n");
    for _ in 0..600 {
        let (id, clinic, day) = (next(150), next(5), next(7));
        writeln!(visits, "p{id},c{clinic},{day},{},{}", ["f", "m"][next(2) as usize], next(56) as i64 - 5).unwrap();
    }
    let mut friends = String::from("a,b\n");
    (0..200).for_each(|_| writeln!(friends, "{},{}", next(60), next(60)).unwrap());
    let mut calls = String::from("id,a,b\n");
    (0..200).for_each(|_| writeln!(calls, "p{},{},{}", next(90), next(60), next(60)).unwrap());
    let mut once = String::from("id,day,sex\n");
    (0..300).for_each(|id| writeln!(once, "p{id},{},{}", next(7), ["f", "m"][next(2) as usize]).unwrap());
    [("people.csv", people), ("visits.csv", visits), ("friends.csv", friends), ("calls.csv", calls), ("once.csv", once)]
}

/// One release for each case; what is answered one question after the other is not released at once.
fn project_file() -> String {
    let mut text = USUAL.declared();
    for (number, case) in CASES.iter().filter(|case| case.kind != "interactive").enumerate() {
        let Case { kind, fields, .. } = case;
        let cost = if case.pure && !case.selects { "epsilon = 2" } else { "epsilon = 2, delta = 1e-7" };
        write!(text, "[[release]]\nname = \"{number:02} {kind}\"\nkind = \"{kind}\"\n{fields}\ncost = {{ {cost} }}\n")
            .unwrap();
    }
    text + BASE
}

/// All that leaves the program, by the name of its golden file.
fn what_leaves() -> BTreeMap<String, String> {
    let tables = tables();
    let files: Vec<(&str, &str)> = tables.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let folder = Folder::with(&files);
    let project = folder.project(&project_file());
    let (planned, _) = folder.release(&project, SEED);
    let all = scopes(&project).unwrap();
    let usual = usual_delta(&project).unwrap();
    let plans: Vec<_> = planned
        .iter()
        .map(|planned| forecast(planned, &project, &all, &delta_of(planned, &all, &usual).unwrap()).unwrap())
        .map(|forecast| document(&forecast).unwrap())
        .collect();
    let runner = Runner::new(&project);
    let ledger = Ledger::open_existing(runner.ledger()).unwrap().unwrap();
    let (charges, standing) = runner.recent(1000).unwrap();
    let (published, unshown) = published(&folder.file("out"), &charges);
    let head = ledger.head().unwrap();
    let (charges, standing, time) = (&charges, &standing, "2026-11-18T00:00:00Z".to_string());
    let (published, unshown) = (&published, &unshown);
    let report = Report { project: &project, charges, standing, published, unshown, time, head }.texts().unwrap();
    let mut leaves = BTreeMap::from([
        // What went in: crates/cli/tests/it/ledger/kills.rs kills its release.
        ("project.toml".to_string(), project_file()),
        ("plan.json".to_string(), format!("{:#}\n", serde_json::Value::Array(plans))),
        ("ledger.json".to_string(), format!("{:#}\n", ledger.export().unwrap())),
        ("report.json".to_string(), report.json),
    ]);
    let mut answers: Vec<PathBuf> =
        std::fs::read_dir(folder.file("out")).unwrap().map(|entry| entry.unwrap().path()).collect();
    answers.sort();
    for path in answers {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if let ("csv" | "json", Ok(text)) =
            (path.extension().and_then(|end| end.to_str()).unwrap_or(""), std::fs::read_to_string(&path))
        {
            leaves.insert(format!("out/{name}"), text);
        }
    }
    leaves.into_iter().map(|(name, text)| (name, golden::masked(&text, folder.path()))).collect()
}

#[test]
fn what_leaves_the_program_is_as_it_was() {
    golden::check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden"), &what_leaves());
}
