//! How often the intervals of every kind hold: releases of tiny tables, drawn over and over by the very code that
//! publishes them.
//!
//! What is compared with is known of the table, or is the same release at a cost at which no noise is left.

use crate::kinds::registry::KINDS;
use crate::ledger::{Ledger, Proposal, Receipt, ReleaseContext};
use crate::project::Project;
use crate::release::output::{AnswerColumn, Answers};
use crate::release::plan::ChargedAccess;
use crate::release::run::Runner;
use crate::remote::IntegerSource;
use crate::sql::PrivateQuery;
use crate::sql::execute::integers::{Integers, integers};
use crate::support::examples::{CoveredExample, EXAMPLES, PlainExample, in_order};
use crate::support::{Folder, effort};
use crate::tables::Backend;
use crate::tables::hash::Key;
use scumble::noise::InsecureSeededSource;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::LazyLock;

/// The cost of a release that says none, and one at which no noise is left.
const COSTS: [&str; 2] = ["{ epsilon = 1 }", "{ epsilon = 5000 }"];

/// Of each kind that publishes intervals.
static ALL: LazyLock<Vec<CoveredKind>> = LazyLock::new(|| {
    let all = in_order(|kind| &kind.covered, |example: &CoveredExample| example.order);
    all.into_iter().map(|(kind, example)| CoveredKind { kind, example }).collect()
});

/// A release of a kind.
struct CoveredKind {
    kind: &'static str,
    example: &'static CoveredExample,
}

impl CoveredKind {
    fn cost(&self) -> &str {
        self.example.cost.as_deref().unwrap_or(COSTS[0])
    }

    /// The cost at which the release says what is true, if that is how it is known.
    fn true_at(&self) -> Option<&str> {
        let CoveredExample { true_at, counts, band, .. } = self.example;
        let usual = (counts.is_none() && band.is_none()).then_some(COSTS[1]);
        true_at.as_deref().or(usual)
    }
}

/// Kinds that publish no interval, each with releases that show it.
fn without() -> impl Iterator<Item = (&'static str, &'static PlainExample)> {
    EXAMPLES.iter().flat_map(|one| one.without.iter().map(|example| (one.kind, example)))
}

/// Kinds that are looked at elsewhere, and where.
const BESIDE: &[(&str, &str)] = &[
    ("interactive", "is asked, not released: `intervals_of_interactive_rounds_hold`"),
    ("exact-count", "publishes the number itself"),
];

/// The edges of the graph.
fn edges() -> Vec<(u64, u64)> {
    (1..13).flat_map(|a| (a + 1..13).map(move |b| (a, b))).filter(|(a, b)| (a + b) % 3 != 0).collect()
}

/// 120 rows, 90 rows of 40 owners, and a graph of 12 vertices.
fn project() -> (Folder, Project) {
    let mut rows = "g,b,h,x,y,town\n".to_string();
    let groups = [("a", 40), ("b", 40), ("c", 25), ("d", 10), ("e", 5)];
    let towns = [("a", 60), ("b", 30), ("c", 16), ("d", 8), ("e", 6)];
    let towns: Vec<&str> = towns.iter().flat_map(|(town, count)| std::iter::repeat_n(*town, *count)).collect();
    let all = groups.iter().flat_map(|(group, count)| std::iter::repeat_n(*group, *count));
    for (index, (group, town)) in all.zip(towns).enumerate() {
        let (x, y) = ((index * 7) % 10, (index * 7) % 10 + (index * 5) % 4);
        writeln!(rows, "{group},{},{},{x},{y},{town}", index % 3 == 0, index % 5 == 0).unwrap();
    }
    let edges: String = edges().iter().map(|(a, b)| format!("{a},{b}\n")).collect();
    // One to three rows of an owner; one of them counts.
    let visits = (0..40).flat_map(|owner| (0..=owner % 3).map(move |visit| (owner, visit)));
    let visits: String = visits
        .map(|(owner, visit)| format!("o{owner},{},{}\n", (owner + visit) % 3, (owner * 3 + visit) % 11))
        .collect();
    let mut text = r#"
[dataset.t]
source = "t.csv"
[dataset.t.columns]
g = { type = "category", values = ["a", "b", "c", "d", "e"] }
b = { type = "bool" }
h = { type = "bool" }
x = { type = "int", lower = 0, upper = 9 }
y = { type = "int", lower = 0, upper = 12 }
town = { type = "category" }
[dataset.visits]
source = "visits.csv"
owner = "id"
max_rows_per_owner = 1
[dataset.visits.columns]
day = { type = "int", lower = 0, upper = 2 }
cost = { type = "int", lower = 0, upper = 10 }
[dataset.friends]
source = "friends.csv"
graph = { from = "a", to = "b", vertices = 20 }
[dataset.friends.columns]
a = { type = "int" }
b = { type = "int" }
[[release]]
name = "base"
sql = "SELECT day, COUNT(*) AS n FROM visits GROUP BY day"
cost = { epsilon = 1 }
"#
    .to_string();
    for (kind, PlainExample { fields, cost }) in without() {
        writeln!(text, "[[release]]\nname = \"without {kind}\"\nkind = \"{kind}\"\n{fields}\ncost = {cost}").unwrap();
    }
    for (index, one) in ALL.iter().enumerate() {
        let mut add = |name: &str, cost: &str| {
            let fields = format!("kind = \"{}\"\n{}", one.kind, one.example.fields);
            writeln!(text, "[[release]]\nname = \"{name}{index}\"\n{fields}\ncost = {cost}").unwrap();
        };
        add("noisy", one.cost());
        one.true_at().into_iter().for_each(|cost| add("true", cost));
    }
    let files =
        [("t.csv", rows), ("friends.csv", format!("a,b\n{edges}")), ("visits.csv", format!("id,day,cost\n{visits}"))];
    let folder = Folder::with(&files.each_ref().map(|(name, text)| (*name, text.as_str())));
    let project = folder.project(&text);
    (folder, project)
}

/// The published numbers with intervals, by column and row: the number and its interval.
fn numbers(answers: &Answers, keys: &[String]) -> BTreeMap<(String, String), (f64, f64, f64)> {
    let named: Vec<_> = answers.columns.iter().filter(|column| keys.contains(&column.name)).collect();
    let mut all = BTreeMap::new();
    for column in &answers.columns {
        let Some(uncertainty) = &column.uncertainty else { continue };
        for (row, (cell, one)) in column.cells.iter().zip(uncertainty).enumerate() {
            let mut name = named.iter().map(|column| column.cells[row].text()).collect::<Vec<_>>().join(", ");
            if named.is_empty() {
                name = row.to_string();
            }
            all.extend(cell.number().map(|number| ((column.name.clone(), name), (number, one.low, one.high))));
        }
    }
    all
}

/// A charge that all draws share: nothing here is published.
fn receipt(folder: &Folder) -> Receipt {
    let mut ledger = Ledger::open_or_create(&folder.file("draws.ledger")).unwrap();
    let proposal = Proposal {
        release: "draws".into(),
        kind: "sql".into(),
        project: None,
        request: None,
        events: Vec::new(),
        rule: serde_json::json!({}),
        about: ReleaseContext::default(),
    };
    ledger.reserve(&proposal, |_| Ok::<(), crate::ledger::Error>(())).unwrap()
}

/// How many of this many 95% intervals hold at least: fewer are 7.5 standard deviations below, which happens to one of
/// 500 numbers with a probability below 1e-10. Of the 40,000 draws of a thorough run that is 94.2%, of 1,000 it is
/// 89.8%.
fn fewest(draws: usize) -> usize {
    let draws = draws as f64;
    (0.95 * draws - 7.5 * (0.95 * 0.05 * draws).sqrt()).floor().max(0.0) as usize
}

/// Integers that are computed once: what a query counts of a table in which each row is a person is the same in every
/// draw.
struct CachedIntegers<'a> {
    backend: &'a Backend,
    found: RefCell<Vec<Integers>>,
    next: Cell<usize>,
}

impl IntegerSource for CachedIntegers<'_> {
    fn integers(&self, query: &PrivateQuery) -> crate::Result<Integers> {
        let place = self.next.replace(self.next.get() + 1);
        if let Some(known) = self.found.borrow().get(place) {
            return Ok(known.clone());
        }
        let found = integers(query, self.backend, Key(1, 2))?;
        self.found.borrow_mut().push(found.clone());
        Ok(found)
    }

    fn note(&self, _: &mut Value) {}
}

/// What stands beside a key: column and row.
type IntervalKey = (String, String);

/// Of how many intervals how many held.
type CoverageCounts = BTreeMap<IntervalKey, (usize, usize)>;

/// Releases of one project, drawn over and over.
struct RepeatedReleases<'a> {
    runner: Runner<'a>,
    backend: &'a Backend,
    receipt: Receipt,
}

impl RepeatedReleases<'_> {
    fn planned(&self, name: &str) -> crate::release::PlannedRelease {
        let request = self.runner.project().releases.iter().find(|request| request.name == name).unwrap();
        self.runner.plan(request).unwrap_or_else(|error| panic!("{name}, {:?}: {error}", request.kind))
    }

    fn draw(
        &self,
        planned: &crate::release::PlannedRelease,
        known: Option<&CachedIntegers<'_>>,
        bits: &mut InsecureSeededSource,
    ) -> Answers {
        known.iter().for_each(|known| known.next.set(0));
        let known = known.map(|known| known as &dyn IntegerSource);
        let mut charged = ChargedAccess::new(&self.receipt, self.backend, bits).with(known);
        (planned.plan.compute)(&mut charged).unwrap_or_else(|error| panic!("{}: {error}", planned.request.name))
    }

    /// What is true of each number.
    fn truths(&self, index: usize, one: &CoveredKind, bits: &mut InsecureSeededSource) -> BTreeMap<IntervalKey, f64> {
        if one.true_at().is_none() {
            return BTreeMap::new();
        }
        let answers = self.draw(&self.planned(&format!("true{index}")), None, bits);
        let about_all = one.example.fields.contains("bounding_report");
        // What is cut off stands in the interval, not in the number.
        let truth = |(number, low, high): (f64, f64, f64)| if about_all { (low + high) / 2.0 } else { number };
        numbers(&answers, &one.example.keys).into_iter().map(|(place, found)| (place, truth(found))).collect()
    }

    /// How often each interval holds: of few draws, and of many where fewer than 95% of any number's hold.
    fn held(&self, index: usize, one: &CoveredKind) -> CoverageCounts {
        let mut bits = InsecureSeededSource::new(index as u64);
        let truths = self.truths(index, one, &mut bits);
        let truth = |place: &IntervalKey| match &one.example.counts {
            Some(counts) => counts.iter().find(|(key, _)| *key == place.1).map(|(_, count)| *count),
            None => truths.get(place).copied(),
        };
        let noisy = self.planned(&format!("noisy{index}"));
        let known = CachedIntegers { backend: self.backend, found: RefCell::default(), next: Cell::default() };
        let known = (noisy.plan.tables == ["t"] && noisy.plan.query.is_some()).then_some(&known);
        let mut seen = CoverageCounts::new();
        let mut add = |place: IntervalKey, held: bool| {
            let (all, right) = seen.entry(place).or_default();
            (*all, *right) = (*all + 1, *right + usize::from(held));
            *right * 100 < *all * 95
        };
        let (few, many) = effort((100, 1_000), (2_000, 40_000));
        let (mut drawn, mut last) = (0, few);
        while drawn < last {
            drawn += 1;
            let answers = self.draw(&noisy, known, &mut bits);
            let mut is_low = false;
            if let Some(counts) = &one.example.band {
                is_low |= add(("band".to_string(), "all at once".to_string()), is_around(&answers, counts));
            }
            for (place, (_, low, high)) in numbers(&answers, &one.example.keys) {
                let Some(truth) = truth(&place).filter(|_| !low.is_nan()) else { continue };
                let slack = 1e-9 * truth.abs() + 1e-12;
                is_low |= add(place, low <= truth + slack && truth - slack <= high);
            }
            if drawn == last && is_low {
                last = many;
            }
        }
        assert!(!seen.is_empty(), "{} {}: nothing was compared", one.kind, one.example.fields);
        seen
    }
}

/// Whether the published band holds, for each count, how many values have at least that.
fn is_around(answers: &Answers, counts: &[u64]) -> bool {
    let band: Vec<[u64; 3]> = serde_json::from_value(answers.details.facts["band"].clone()).unwrap();
    let last = counts.iter().copied().max().unwrap_or(0) + 2;
    (1..=last).all(|count| {
        let truth = counts.iter().filter(|other| **other >= count).count() as u64;
        let around = band.iter().rev().find(|[from, ..]| *from <= count);
        around.is_some_and(|[_, low, high]| (*low..=*high).contains(&truth))
    })
}

const TABLES: [&str; 3] = ["t", "friends", "visits"];

/// Every number of every kind: 2,000 draws where `SCUMBLE_THOROUGH` is set, 100 otherwise, and 40,000 or 1,000 where
/// fewer than 95% of these hold. What has no interval is not compared.
///
/// One look was all before: of 100 draws 78 right ones passed, and of 2,000 91.35%, so that an interval of 92% would
/// never have been seen.
#[test]
fn intervals_of_all_kinds_hold() {
    let (folder, project) = project();
    let backend = Backend::with_data(&project, &TABLES.map(str::to_string)).unwrap();
    let drawing = RepeatedReleases { runner: Runner::new(&project), backend: &backend, receipt: receipt(&folder) };
    let only = std::env::var("SCUMBLE_COVERAGE").unwrap_or_default();
    let mut failed = Vec::new();
    let wanted = |one: &CoveredKind| format!("{} {}", one.kind, one.example.fields).contains(&only);
    for (index, one) in ALL.iter().enumerate().filter(|(_, one)| wanted(one)) {
        let start = std::time::Instant::now();
        let mut columns: BTreeMap<String, (usize, usize, f64)> = BTreeMap::new();
        for ((column, row), (all, right)) in drawing.held(index, one) {
            let (sum, held, worst) = columns.entry(column.clone()).or_insert((0, 0, 1.0));
            (*sum, *held, *worst) = (*sum + all, *held + right, worst.min(right as f64 / all as f64));
            if right < fewest(all) {
                failed.push(format!("{} {}: {column} of {row}: {right} of {all}", one.kind, one.example.fields));
            }
        }
        for (column, (all, right, worst)) in columns {
            let share = right as f64 / all as f64;
            println!(
                "{} [{}] {column}: {share:.4} of {all}, worst {worst:.4}",
                one.kind,
                one.example.fields.replace('\n', ", ")
            );
        }
        println!("{:.1} s", start.elapsed().as_secs_f64());
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A kind is covered, or its numbers have no interval: not in its columns, and not beside them.
#[test]
fn every_kind_is_covered_or_has_no_interval() {
    let covered = ALL.iter().map(|one| one.kind).chain(without().map(|(kind, _)| kind));
    let all: BTreeSet<&str> = covered.chain(BESIDE.iter().map(|(kind, _)| *kind)).collect();
    assert_eq!(all, KINDS.iter().map(|kind| kind.name).collect());
    let (folder, project) = project();
    let backend = Backend::with_data(&project, &TABLES.map(str::to_string)).unwrap();
    let drawing = RepeatedReleases { runner: Runner::new(&project), backend: &backend, receipt: receipt(&folder) };
    for (kind, _) in without() {
        let planned = drawing.planned(&format!("without {kind}"));
        let answers = drawing.draw(&planned, None, &mut InsecureSeededSource::new(1));
        let details = &answers.details;
        assert!(details.curve.is_none() && !answers.columns.iter().any(AnswerColumn::has_intervals), "{kind}");
    }
}

/// Questions to a new round each time: all intervals of one release hold together.
#[test]
fn intervals_of_interactive_rounds_hold() {
    let text = "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\nb = { type = \"bool\" }\n\
                [[release]]\nname = \"r\"\nkind = \"interactive\"\ntable = \"t\"\ncolumns = [\"b\"]\nmissing = \"never\"\npeople = 120\ncost = { epsilon = 2 }\n";
    let rows: String = (0..120).map(|row| format!("{}\n", row % 3 == 0)).collect();
    let folder = Folder::with(&[("t.csv", &format!("b\n{rows}"))]);
    let project = folder.project(text);
    let (runs, mut right, mut bounded) = (effort(40, 400), 0, 0);
    let mut bits = InsecureSeededSource::new(3);
    for run in 0..runs {
        let runner = Runner::with_ledger(&project, folder.file(&format!("{run}.db")));
        let mut asking = runner.asking(&project.releases[0], &folder.file(&format!("out{run}"))).unwrap();
        let mut holds = |question: &str, truth: i64| {
            let answered = asking.ask(question, &mut bits).unwrap();
            bounded += usize::from(answered.within.is_some());
            answered.within.is_none_or(|within| answered.answer.abs_diff(truth) <= within)
        };
        right += usize::from([("b", 40), ("NOT b", 80)].map(|(question, truth)| holds(question, truth)) == [true; 2]);
    }
    assert!(right >= fewest(runs) && bounded >= runs, "{right} of {runs} hold, {bounded} have two ends");
}
