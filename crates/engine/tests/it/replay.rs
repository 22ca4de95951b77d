//! The replay audit: what leaves the process, and how far it can be moved by one owner.
//!
//! Tests that compare laws see what a mechanism draws, and tests that compare integers see what queries count. Neither
//! sees what stands between them: a note that tells an exact number, a file that has one line more, a mechanism that is
//! asked once more, a number that is noised for less than it moves. So a release is run on a tiny table and every
//! mechanism's input and output is recorded (`scumble::noise::tape`); then it is run on each neighbour of the table,
//! and every mechanism gives what it gave before. Whatever leaves the process and differs is a leak: files, sentences,
//! errors, the ledger's entries, the number and the order of mechanism calls. And every input may differ by at most
//! what the events say in the scope in which the tables are neighbours; the events in turn may cost at most what was
//! asked.

mod doors;
mod left;
mod moved;
mod tables;

use super::costs::{BASE, CASES, Case, ROBUST, SQL};
use crate::support::{Folder, effort};
use left::{Left, differs};
use moved::wrong;
use scumble::noise::tape::TapedSource;
use scumble::quantity::Exact;
use scumble::scope::{AttributeSet, Scope};
use scumble_engine::budget::Odometer;
use scumble_engine::kinds::registry::KINDS;
use scumble_engine::project::Project;
use scumble_engine::release::{PlannedRelease, Runner};
use scumble_testing::tables::TINY;
use std::collections::BTreeSet;
use std::fs;
use tables::{Table, tables};

/// Kinds that are no release with a guarantee, or have a door of their own, each with where it is looked at.
const ELSEWHERE: &[(&str, &str)] = &[
    ("exact-count", "promises nothing in any scope: the ledger charges (0, 1)"),
    ("interactive", "is asked, not released: `an_interactive_release`"),
];

/// More shapes, on tables in which their thresholds are reached.
const MORE: &[Case] = &[
    Case {
        fields: r#"sql = "SELECT COUNT(*) AS n, AVG(cost) AS a, STDDEV(cost) AS d FROM visits WHERE sex = 'f'""#,
        ..SQL
    },
    Case {
        fields: r#"sql = "SELECT day, COUNT(DISTINCT id) AS o, SUM(cost) AS s FROM visits GROUP BY day HAVING SUM(cost) > 3""#,
        ..SQL
    },
    Case {
        fields: r#"sql = "SELECT sex, day, COUNT(*) AS n, MEDIAN(cost) AS m FROM visits GROUP BY sex, day""#,
        ..SQL
    },
    Case {
        fields: r#"sql = "SELECT sex, MIN(income) AS a, MAX(income) AS b, COUNT(*) AS n FROM people GROUP BY sex""#,
        ..SQL
    },
    Case { fields: r#"sql = "SELECT sex, age, SUM(income) AS s FROM people GROUP BY ROLLUP (sex, age)""#, ..SQL },
    Case {
        fields: r#"sql = "SELECT clinic, day, COUNT(*) AS n FROM visits GROUP BY GROUPING SETS ((clinic), (clinic, day), ())""#,
        selects: true,
        ..SQL
    },
    Case {
        fields: r#"sql = "SELECT SUM(CASE WHEN smokes THEN income ELSE 0 END) AS s, COUNT(town) AS n FROM people WHERE age BETWEEN 1 AND 3 OR sex = 'f'""#,
        ..SQL
    },
    Case {
        fields: r#"sql = "SELECT b, COUNT(*) AS n, SUM(t) AS s FROM (SELECT id, SUM(cost) AS t, MAX(day) AS b FROM visits GROUP BY id) GROUP BY b""#,
        ..SQL
    },
    Case {
        fields: r#"sql = "SELECT AVG(t) AS a FROM (SELECT id, clinic, SUM(cost) AS t FROM visits GROUP BY id, clinic)""#,
        ..SQL
    },
    Case {
        fields: r#"sql = "SELECT clinic, COUNT(*) AS n, AVG(cost) AS a, MEDIAN(day) AS m FROM visits GROUP BY clinic ORDER BY n DESC LIMIT 2""#,
        selects: true,
        ..SQL
    },
    Case {
        fields: r#"sql = "SELECT CAST(income AS INT) % 3 AS k, COUNT(*) AS n, CORR(age, income) AS c FROM people GROUP BY k""#,
        selects: true,
        ..SQL
    },
    Case {
        fields: r#"sql = "SELECT v.sex, COUNT(*) AS n, SUM(v.cost) AS s FROM visits v JOIN once o ON v.id = o.id WHERE o.day > 0 GROUP BY v.sex""#,
        ..SQL
    },
    Case { kind: "histogram", fields: "table = \"people\"\ncolumn = \"town\"", selects: true, ..SQL },
    Case {
        kind: "exact-if-stable",
        fields: "sql = \"SELECT sex, COUNT(*) FROM people GROUP BY sex\"\nat_least = 2",
        rho: false,
        selects: true,
        ..SQL
    },
    Case { kind: "exact-if-stable", fields: "table = \"people\"\nat_least = 4", rho: false, selects: true, ..SQL },
    Case {
        kind: "top",
        fields: "table = \"people\"\ncolumn = \"town\"\nnumber = 2\nmethod = \"gap\"",
        selects: true,
        ..SQL
    },
    ROBUST,
];

/// One release of a project in a folder, again and again.
struct Audit<'a> {
    folder: &'a Folder,
    project: &'a Project,
    runs: std::cell::Cell<usize>,
}

impl Audit<'_> {
    /// Runs the release on these tables, with a ledger and outputs of its own.
    fn run(&self, planned: &[PlannedRelease], table: &Table, bits: &mut TapedSource) -> Left {
        self.begin(table);
        let (runner, out) = (Runner::with_ledger(self.project, self.place("ledger.db")), self.place("out"));
        Left::of_release(&runner, planned, &out, bits)
    }

    fn begin(&self, table: &Table) {
        self.runs.set(self.runs.get() + 1);
        self.folder.write(&format!("{}.csv", table.name), &table.csv());
        fs::create_dir_all(self.place("")).unwrap();
    }

    fn place(&self, name: &str) -> std::path::PathBuf {
        self.folder.file(&format!("run{}", self.runs.get())).join(name)
    }
}

/// Every n-th neighbour, so that about this many are left.
fn some<T>(all: Vec<T>, most: usize, from: usize) -> Vec<T> {
    let step = all.len().div_ceil(most).max(1);
    all.into_iter().skip(from % step).step_by(step).collect()
}

/// The fields of a case on tables with fewer values and vertices than those of the costs.
fn fitting(fields: &str) -> String {
    fields.replace("age >= 5", "age >= 3").replace("proposed = 40", "proposed = 5")
}

/// The costs that a case is run at: as written, the scope, and what its events may cost there.
fn costs(case: &Case) -> Vec<(String, Scope)> {
    let written = |written: &str, scope: &str| format!("cost = {{ {written}, scope = \"{scope}\" }}");
    let mut costs = vec![(written("epsilon = 6, delta = 1e-3", "person"), Scope::Person)];
    match case.rho {
        true => costs.push((written("rho = 3", "presence"), Scope::Presence)),
        false => costs.push((written("epsilon = 9, delta = 1e-4", "presence"), Scope::Presence)),
    }
    if let Some(first) = case.attributes.first() {
        let scope = Scope::Attributes(AttributeSet::new([*first]).unwrap());
        costs.push((written(if case.rho { "rho = 2" } else { "epsilon = 7, delta = 1e-3" }, "attribute"), scope));
    }
    if case.only_attributes {
        costs.drain(..2);
    }
    costs
}

/// What the events cost is at most what was asked.
fn within(what: &str, cost: &str, scope: &Scope, planned: &PlannedRelease) -> Option<String> {
    let number = |name: &str| -> Option<Exact> {
        let at = cost.find(&format!("{name} = "))? + name.len() + 3;
        cost[at..].split([',', ' ']).next()?.parse().ok()
    };
    let spent = Odometer::of(&planned.plan.events, scope).unwrap();
    // Keys without a δ of their own have a hundredth of the budget's.
    let delta = number("delta").unwrap_or_else(|| "1e-4".parse().unwrap());
    let (asked, is) = match number("rho") {
        Some(rho) => (rho, spent.rho(&delta)),
        None => (number("epsilon")?, spent.epsilon(&delta)),
    };
    match is {
        Some(is) if is <= asked => None,
        is => Some(format!("{what}: costs {is:?} in {scope}, where {asked} was asked for")),
    }
}

/// Which neighbours are run.
fn few(all: Vec<(Scope, String, Table)>, turn: usize) -> Vec<(Scope, String, Table)> {
    some(all, effort(11, usize::MAX), turn)
}

/// Records the case on its tables, replays it on their neighbours, and says what is wrong.
fn audit(case: &Case, turn: usize) -> Vec<String> {
    let mut found = Vec::new();
    for (round, (cost, scope)) in costs(case).into_iter().enumerate() {
        let what = format!("{} {} at {cost}", case.kind, case.fields);
        let folder = Folder::with(&[]);
        let fields = fitting(case.fields);
        let release = format!("[[release]]\nname = \"r\"\nkind = \"{}\"\n{fields}\n{cost}\n", case.kind);
        let project = folder.project(&format!("{}{release}{BASE}", TINY.declared()));
        let all = tables();
        all.iter().for_each(|table| folder.write(&format!("{}.csv", table.name), &table.csv()));
        let runner = Runner::new(&project);
        let planned = match runner.plan(&project.releases[0]) {
            Ok(planned) => vec![planned],
            Err(error) => {
                found.push(format!("{what}: {error}"));
                continue;
            }
        };
        found.extend(within(&what, &cost, &scope, &planned[0]));
        let audit = Audit { folder: &folder, project: &project, runs: Default::default() };
        for table in all.iter().filter(|table| planned[0].plan.tables.iter().any(|name| name == table.name)) {
            let seed = (turn * 7 + round) as u64;
            let mut bits = TapedSource::recording(seed);
            let before = audit.run(&planned, table, &mut bits);
            if before.said.starts_with("refused") || bits.on_tape().calls() == 0 {
                found.push(format!("{what}: nothing is audited: {}", before.said));
                continue;
            }
            for (scope, changed, neighbour) in few(table.neighbours(&[0, turn + round, 2 * turn + 5]), turn + round) {
                let mut again = bits.replaying(seed);
                let after = audit.run(&planned, &neighbour, &mut again);
                let said = |why: String| format!("{what}\n  {}, {scope}: {changed}\n  {why}", table.name);
                found.extend(differs(&before, &after).map(said));
                let wrong = wrong(&again.on_tape().pairs(), &planned[0].plan.events, &scope, table.most_records);
                found.extend(wrong.into_iter().map(said));
            }
            folder.write(&format!("{}.csv", table.name), &table.csv());
        }
    }
    found
}

/// Of all cases those whose turn it is in one of several tests, so that they run beside each other.
fn part(number: usize, of: usize) {
    let all: Vec<&Case> = CASES.iter().chain(MORE).collect();
    let own = all
        .iter()
        .enumerate()
        .filter(|(at, case)| at % of == number && !ELSEWHERE.iter().any(|(kind, _)| *kind == case.kind));
    let only = std::env::var("SCUMBLE_REPLAY").unwrap_or_default();
    let found: Vec<String> = own
        .filter(|(_, case)| format!("{} {}", case.kind, case.fields).contains(&only))
        .flat_map(|(at, case)| audit(case, at))
        .collect();
    assert!(
        found.is_empty(),
        "{} leaks:\n{}",
        found.len(),
        found.iter().take(40).cloned().collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn nothing_leaves_but_through_mechanisms_0() {
    part(0, 4);
}

#[test]
fn nothing_leaves_but_through_mechanisms_1() {
    part(1, 4);
}

#[test]
fn nothing_leaves_but_through_mechanisms_2() {
    part(2, 4);
}

#[test]
fn nothing_leaves_but_through_mechanisms_3() {
    part(3, 4);
}

/// Questions one after the other: what is answered from the model, what is measured, and when a round ends.
#[test]
fn an_interactive_release() {
    let release = "[[release]]\nname = \"r\"\nkind = \"interactive\"\ntable = \"once\"\ncolumns = [\"day\", \"sex\"]\npeople = 40\ncost = { epsilon = 6, delta = 1e-3 }\n";
    let folder = Folder::with(&[]);
    let project = folder.project(&format!("{}{release}", TINY.declared()));
    let table = tables().into_iter().find(|table| table.name == "once").unwrap();
    let audit = Audit { folder: &folder, project: &project, runs: Default::default() };
    let ask = |table: &Table, bits: &mut TapedSource| {
        audit.begin(table);
        let (runner, out) = (Runner::with_ledger(&project, audit.place("ledger.db")), audit.place("out"));
        let mut asking = runner.asking(&project.releases[0], &out).unwrap();
        let answers: Vec<String> = ["day = 0", "sex = 'f'", "day > 1 AND sex = 'm'", "day = 0", "sex = 'm' OR day = 3"]
            .iter()
            .map(|question| match asking.ask(question, bits) {
                Ok(answered) => format!("{answered:?}"),
                Err(error) => format!("refused: {error}"),
            })
            .collect();
        drop(asking);
        Left::of(&runner, Ok(answers), Vec::new(), &out)
    };
    let mut bits = TapedSource::recording(3);
    let before = ask(&table, &mut bits);
    assert!(bits.on_tape().calls() > 3, "{before:?}");
    let events = Runner::new(&project).plan(&project.releases[0]).unwrap().plan.events;
    for (scope, changed, neighbour) in some(table.neighbours(&[0, 4, 12]), effort(15, usize::MAX), 0) {
        let mut again = bits.replaying(3);
        let after = ask(&neighbour, &mut again);
        assert_eq!(differs(&before, &after), None, "{scope}: {changed}");
        let wrong = wrong(&again.on_tape().pairs(), &events, &scope, 1);
        assert!(wrong.is_empty(), "{scope}: {changed}: {wrong:?}");
    }
}

/// The next kind is audited, or it is said where it is.
#[test]
fn every_kind_is_replayed() {
    let all: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let replayed = CASES.iter().chain(MORE).map(|case| case.kind);
    let elsewhere = ELSEWHERE.iter().map(|(kind, _)| *kind);
    assert_eq!(all, replayed.chain(elsewhere).collect::<BTreeSet<&str>>());
}
