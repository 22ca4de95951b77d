//! Whole releases on tiny tables: of every table and every neighbour in presence, in person and in each attribute, the
//! laws of all answers (lines, cells and notes), against what accounting says of the events; both orders. Tables are
//! files, counted by the engine.

use super::*;
use crate::budget::Odometer;
use crate::sql::execute::integers::integers;
use crate::tables::Backend;
use crate::tables::hash::Key;
use scumble::loss::Loss;
use scumble::quantity::Epsilon;
use scumble::scope::{AttributeSet, Scope};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The rows of one owner, each a value for every column.
type OwnerRecords = Vec<Vec<&'static str>>;
/// The rows of all owners.
type TestTable = Vec<OwnerRecords>;
/// A law of whole answers.
type AnswerLaw = BTreeMap<String, f64>;

/// One row for each owner.
const PEOPLE: &str = "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\ntown = { type = \"category\", values = [\"a\", \"b\"] }\nill = { type = \"bool\" }\n";
/// Three rows for each owner, in up to three towns, two in each.
const VISITS: &str = "[dataset.t]\nsource = \"t.csv\"\nowner = \"id\"\nmax_rows_per_owner = 3\nmax_groups_per_owner = 3\nmax_rows_per_group = 2\n[dataset.t.columns]\ntown = { type = \"category\", values = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"] }\nill = { type = \"bool\" }\n";
/// What is publicly known of towns.
const WARDS: &str = "[dataset.wards]\nsource = \"wards.csv\"\npublic = true\n[dataset.wards.columns]\ntown = { type = \"category\", values = [\"a\", \"b\"] }\nis_large = { type = \"bool\" }\n";

/// A release over tables that are made up.
struct StableFixture {
    project: Project,
    folder: tempfile::TempDir,
    stability: Stability,
    stable: StableValue,
    events: Vec<Event>,
    known: RefCell<HashMap<TestTable, AnswerLaw>>,
}

impl StableFixture {
    fn new(tables: &str, fields: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let release = format!("{tables}[[release]]\nname = \"r\"\nkind = \"exact-if-stable\"\n{fields}\n");
        let project = Project::parse(&folder.path().join("scumble.toml"), &release).unwrap();
        std::fs::write(folder.path().join("wards.csv"), "town,is_large\na,true\nb,false\n").unwrap();
        let request = &project.releases[0];
        let asked = StableQuestion::read(request).unwrap();
        let stability = Stability { asked, counting: CountQuery::read(request, &project).unwrap() };
        let fitting = FittedCost::new(KIND.name, &request.cost, None).unwrap();
        let (stable, events) = stability.priced(&fitting).unwrap();
        Self { folder, stability, stable, events, project, known: RefCell::default() }
    }

    fn counted(&self, table: &TestTable) -> Integers {
        let mut text = "id,town,ill\n".to_string();
        for (id, rows) in table.iter().enumerate() {
            rows.iter().for_each(|row| text += &format!("{id},{}\n", row.join(",")));
        }
        std::fs::write(self.folder.path().join("t.csv"), text).unwrap();
        let tables: Vec<String> = self.stability.counting.cut.below.tables.iter().cloned().collect();
        let backend = Backend::with_data(&self.project, &tables).unwrap();
        integers(&self.stability.counting.cut, &backend, Key(3, 4)).unwrap()
    }

    /// The law of the whole answer: each cell is published or not, independently.
    fn law(&self, table: &TestTable) -> AnswerLaw {
        let exact = self.counted(table);
        let counts = self.stability.counting.counts(&exact).unwrap();
        let mut law = AnswerLaw::new();
        let mut add = |found: StableAnswer, chance: f64| {
            let answers = Answers { columns: found.columns, notes: vec![found.note], details: Details::default() };
            *law.entry(answers.json().to_string()).or_insert(0.0) += chance;
        };
        match self.stability.asked {
            StableQuestion::Where(scale) => {
                for chosen in 0..1u32 << counts.len() {
                    let is_chosen = |place: usize| chosen >> place & 1 == 1;
                    let chance = |(place, count): (usize, &u64)| {
                        let chance = self.stable.probability(self.stability.distance(scale, *count));
                        if is_chosen(place) { chance } else { 1.0 - chance }
                    };
                    let all = counts.iter().enumerate().map(chance).product();
                    let published = counts.iter().enumerate().map(|(place, count)| is_chosen(place).then_some(*count));
                    add(self.stability.each(scale, &exact, &published.collect::<Vec<_>>()), all);
                }
            }
            StableQuestion::Largest => {
                let (leader, distance) = self.stability.leader(&counts);
                let chance = self.stable.probability(distance);
                add(self.stability.largest(&exact, leader), chance);
                add(self.stability.largest(&exact, None), 1.0 - chance);
            }
        }
        law
    }

    /// The largest δ at ε over pairs, both orders.
    fn delta(&self, pairs: &BTreeSet<(TestTable, TestTable)>, epsilon: f64) -> f64 {
        let law = |table: &TestTable| {
            let known = self.known.borrow().get(table).cloned();
            known.unwrap_or_else(|| {
                let law = self.law(table);
                self.known.borrow_mut().insert(table.clone(), law.clone());
                law
            })
        };
        let beyond = |p: &AnswerLaw, q: &AnswerLaw| -> f64 {
            p.iter().map(|(answer, p)| (p - epsilon.exp() * q.get(answer).unwrap_or(&0.0)).max(0.0)).sum()
        };
        let both = pairs.iter().map(|(left, right)| (law(left), law(right)));
        both.map(|(left, right)| beyond(&left, &right).max(beyond(&right, &left))).fold(0.0, f64::max)
    }

    /// Never above the claim; at the ε at which a scope is charged, the claim itself where `tight` says so: one that is
    /// 1% too small fails.
    fn check(&self, scope: Scope, pairs: &BTreeSet<(TestTable, TestTable)>, tight: bool) {
        assert!(!pairs.is_empty());
        let loss = Loss::of(&self.events, scope.clone()).unwrap();
        for epsilon in [0.0, 0.3, 0.7, 1.0] {
            let claimed = loss.delta(Epsilon::new(epsilon).unwrap()).upper;
            let found = self.delta(pairs, epsilon);
            assert!(found <= claimed * (1.0 + 1e-9) + 1e-12, "{scope}: δ({epsilon}) is {found}, claimed is {claimed}");
        }
        let charged = Odometer::of(&self.events, &scope).unwrap();
        let (epsilon, delta) = (charged.pure_sum().unwrap().to_f64_up(), charged.delta().to_f64_up());
        let found = self.delta(pairs, epsilon);
        assert!(found <= delta * (1.0 + 1e-9), "{scope}: δ({epsilon}) is {found}, charged is {delta}");
        assert!(!tight || found > 0.99 * delta, "{scope}: δ({epsilon}) is only {found}, charged is {delta}");
    }
}

/// All tables of this many owners, each once.
fn tables(universe: &[OwnerRecords], owners: usize) -> Vec<TestTable> {
    if owners == 0 {
        return vec![Vec::new()];
    }
    let longer = |table: TestTable| {
        let from = table.last().map_or(0, |last| universe.iter().position(|rows| rows == last).unwrap());
        universe[from..].iter().map(move |rows| table.iter().cloned().chain([rows.clone()]).collect())
    };
    tables(universe, owners - 1).into_iter().flat_map(longer).collect()
}

fn sorted(mut table: TestTable) -> TestTable {
    table.sort();
    table
}

/// One owner more.
fn presence(universe: &[OwnerRecords], most: usize) -> BTreeSet<(TestTable, TestTable)> {
    let all = (0..most).flat_map(|owners| tables(universe, owners));
    all.flat_map(|table| {
        let with =
            |rows: &OwnerRecords| (sorted(table.clone()), sorted([&table[..], std::slice::from_ref(rows)].concat()));
        universe.iter().map(with).collect::<Vec<_>>()
    })
    .collect()
}

/// One owner with other rows, where these two may stand for each other.
fn replaced(
    universe: &[OwnerRecords],
    owners: usize,
    may: impl Fn(&OwnerRecords, &OwnerRecords) -> bool,
) -> BTreeSet<(TestTable, TestTable)> {
    let mut pairs = BTreeSet::new();
    for others in (0..owners).flat_map(|others| tables(universe, others)) {
        for (place, old) in universe.iter().enumerate() {
            for new in universe[place + 1..].iter().filter(|new| may(old, new)) {
                let with = |rows: &OwnerRecords| sorted([&others[..], std::slice::from_ref(rows)].concat());
                pairs.insert((with(old), with(new)));
            }
        }
    }
    pairs
}

/// Other values in one column, of as many rows.
fn in_column(column: usize) -> impl Fn(&OwnerRecords, &OwnerRecords) -> bool {
    move |old, new| {
        let same = |old: &[&str], new: &[&str]| (0..old.len()).all(|place| place == column || old[place] == new[place]);
        old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new))
    }
}

fn attribute(name: &str) -> Scope {
    Scope::Attributes(AttributeSet::new([name]).unwrap())
}

/// Every scope; `tight` are those in which the claim is reached: presence, person, town, ill.
fn check_all(whole: &StableFixture, universe: &[OwnerRecords], owners: usize, tight: [bool; 4]) {
    whole.check(Scope::Presence, &presence(universe, owners), tight[0]);
    whole.check(Scope::Person, &replaced(universe, owners, |_, _| true), tight[1]);
    whole.check(attribute("town"), &replaced(universe, owners, in_column(0)), tight[2]);
    whole.check(attribute("ill"), &replaced(universe, owners, in_column(1)), tight[3]);
}

fn persons() -> Vec<OwnerRecords> {
    ["a", "b"].into_iter().flat_map(|town| ["true", "false"].map(|ill| vec![vec![town, ill]])).collect()
}

const COST: &str = "cost = { epsilon = 1, delta = 0.1 }";
const UNLISTED: &str = ", values = [\"a\", \"b\"]";

/// One count of a table, of a query, of a join, of owners and of different values: an owner who comes, goes or is
/// replaced changes one answer.
#[test]
fn one_count() {
    for (tables, fields, tight) in [
        (PEOPLE.to_string(), "table = \"t\"\nwhere = \"ill\"\nat_least = 2", [true, true, false, true]),
        (PEOPLE.to_string(), "sql = \"SELECT COUNT(*) FROM t WHERE ill\"\nrounded_to = 2", [true, true, false, true]),
        (
            format!("{}{WARDS}", PEOPLE.replace("[dataset.t.", "owner = \"id\"\nmax_rows_per_owner = 1\n[dataset.t.")),
            "sql = \"SELECT COUNT(*) FROM t JOIN wards ON t.town = wards.town WHERE is_large OR ill\"\nat_least = 2",
            [true, true, true, true],
        ),
        (
            PEOPLE.to_string(),
            "sql = \"SELECT COUNT(DISTINCT town) FROM t WHERE ill\"\nat_least = 2",
            [true, true, true, true],
        ),
    ] {
        let whole = StableFixture::new(&tables, &format!("{fields}\n{COST}"));
        check_all(&whole, &persons(), 4, tight);
    }
}

/// For each key: an owner who changes town changes two answers.
#[test]
fn each_key() {
    // A key that nobody else knows of appears or disappears: with one that is replaced one of each, which is not worse
    // than one.
    for (unlisted, asked, tight) in [
        (false, "at_least = 2", true),
        (false, "rounded_to = 2", true),
        (true, "at_least = 2", true),
        (true, "at_least = 1", false),
        (true, "rounded_to = 3", false),
    ] {
        let tables = if unlisted { PEOPLE.replace(UNLISTED, "") } else { PEOPLE.to_string() };
        let query = "sql = \"SELECT town, COUNT(*) FROM t WHERE ill GROUP BY town\"";
        let whole = StableFixture::new(&tables, &format!("{query}\n{asked}\n{COST}"));
        check_all(&whole, &persons(), 4, [true, tight, tight, true]);
    }
}

/// The key with the largest count, listed and not.
#[test]
fn the_largest_key() {
    for tables in [PEOPLE.to_string(), PEOPLE.replace(UNLISTED, "")] {
        let query = "sql = \"SELECT town, COUNT(*) AS n FROM t WHERE ill GROUP BY town\"\nlargest = true";
        let whole = StableFixture::new(&tables, &format!("{query}\n{COST}"));
        check_all(&whole, &persons(), 5, [true, true, true, true]);
    }
}

/// Owners with three rows each, two of them possibly in one town: they fill two towns, and can be in three. If they
/// were charged for two, three answers would change at the cost of two.
#[test]
fn owners_are_charged_for_all_towns_that_they_are_in() {
    let visit = |town: &'static str| vec![town, "true"];
    let universe: Vec<OwnerRecords> = ["abc", "def", "aab", "a"]
        .into_iter()
        .map(|towns| towns.char_indices().map(|(at, _)| visit(&towns[at..at + 1])).collect())
        .collect();
    for (unlisted, what, asked) in [
        (false, "COUNT(*)", "at_least = 2"),
        (false, "COUNT(*)", "largest = true"),
        (false, "COUNT(DISTINCT id)", "rounded_to = 2"),
        (true, "COUNT(*)", "at_least = 3"),
        (true, "COUNT(*)", "largest = true"),
        (true, "COUNT(ill)", "rounded_to = 4"),
    ] {
        let domain = ", values = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"]";
        let tables = if unlisted { VISITS.replace(domain, "") } else { VISITS.to_string() };
        let query = format!("sql = \"SELECT town, {what} AS n FROM t GROUP BY town\"");
        let whole = StableFixture::new(&tables, &format!("{query}\n{asked}\n{COST}"));
        // Of towns that are not listed these few rows change whether they are there, and hardly what is said of them.
        let tight = asked != "largest = true" && !unlisted;
        let is_counted_twice = what != "COUNT(DISTINCT id)";
        assert_eq!(whole.stability.counting.per_owner, if is_counted_twice { 2 } else { 1 });
        whole.check(Scope::Presence, &presence(&universe, 3), true);
        whole.check(Scope::Person, &replaced(&universe, 3, |_, _| true), tight);
        whole.check(attribute("town"), &replaced(&universe, 3, in_column(0)), tight);
    }
}
