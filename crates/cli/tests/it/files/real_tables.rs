//! Tables that nobody here wrote (`bench/real-tables/fetch`), and tables made up in their shapes: published intervals
//! against the truth.

use crate::support::{Folder, effort};
use scumble::noise::InsecureSeededSource;
use scumble_engine::project::{Goal, Project, Request};
use scumble_engine::release::{Answers, Cell, Runner};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// What an interval promises at least; it says 95%.
const COVERAGE: f64 = 0.935;
/// The probability that a column which keeps its promise fails here, if the seeds were drawn anew.
const FALSE_ALARM: f64 = 1e-9;

/// A project, and a table in the shape of the one that it is about.
struct Shape {
    name: &'static str,
    project: &'static str,
    made_up: fn() -> String,
    /// The key, the owner (rows without one count nowhere) and a whole column of the release in which nothing is cut
    /// off.
    whole: (&'static [&'static str], Option<&'static str>, &'static str),
}

const SHAPES: [Shape; 3] = [
    Shape {
        name: "flights",
        project: include_str!("../../../../../bench/real-tables/flights.toml"),
        made_up: flights,
        whole: (&["origin"], Some("tailnum"), "flights"),
    },
    Shape {
        name: "wages",
        project: include_str!("../../../../../bench/real-tables/wages.toml"),
        made_up: wages,
        whole: (&["year"], Some("nr"), "men"),
    },
    Shape {
        name: "insurance",
        project: include_str!("../../../../../bench/real-tables/insurance.toml"),
        made_up: insurance,
        whole: (&["hlthp", "idp"], None, "people"),
    },
];

/// A number below `most` that looks random and is the same in every run.
fn pick(row: u64, what: u64, most: u64) -> u64 {
    let mut mixed = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ what.wrapping_mul(0xd1b5_4a32_d192_ed03);
    for _ in 0..3 {
        mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    (mixed ^ (mixed >> 32)) % most
}

/// Few aircraft fly often, many seldom; each keeps to a few destinations; some have no number.
fn flights() -> String {
    let mut text = String::from("tailnum,carrier,origin,dest,month,dep_delay,distance\n");
    for plane in 0..400 {
        for flight in 0..1 + 20_000 / (40 + 10 * plane) {
            let row = plane * 1000 + flight;
            let origin = ["EWR", "JFK", "LGA"][((plane + pick(row, 1, 2)) % 3) as usize];
            let delay = match pick(row, 4, 10) {
                0 => pick(row, 5, 400).to_string(),
                1 => String::new(),
                _ => format!("{}", pick(row, 6, 15) as i64 - 10),
            };
            let name = if pick(row, 7, 50) == 0 { String::new() } else { format!("N{plane}") };
            let destination = (plane % 5) * pick(row, 8, 4);
            writeln!(
                text,
                "{name},UA,{origin},D{destination},{},{delay},{}",
                1 + pick(row, 2, 12),
                100 + 300 * destination
            )
            .unwrap();
        }
    }
    text
}

/// Everybody is asked in eight years; wages rise, and who is in a union seldom changes.
fn wages() -> String {
    let mut text = String::from("nr,year,school,exper,union,ethn,wage,industry\n");
    for man in 0..545 {
        for year in 0..8 {
            let row = man * 8 + year;
            let union = if pick(man, 1, 4) == 0 || pick(row, 2, 20) == 0 { "yes" } else { "no" };
            let ethnicity = ["other", "other", "other", "hisp", "black"][pick(man, 3, 5) as usize];
            let wage = 1.2 + 0.07 * year as f64 + pick(row, 4, 1000) as f64 / 500.0 - 1.0;
            writeln!(text, "{man},{},{},{year},{union},{ethnicity},{wage:.4},Trade", 1980 + year, 3 + pick(man, 5, 14))
                .unwrap();
        }
    }
    text
}

/// Most people see a doctor a few times, some never, few very often; few are in poor health.
fn insurance() -> String {
    let mut text = String::from("mdvis,idp,physlm,disea,hlthg,hlthf,hlthp\n");
    for row in 0..4000 {
        let visits = if pick(row, 1, 3) == 0 { 0 } else { 60 / (1 + pick(row, 2, 60)) };
        let poor = u8::from(pick(row, 3, 60) == 0);
        writeln!(text, "{visits},{},0,{}.{},0,0,{poor}", pick(row, 4, 2), pick(row, 5, 58), pick(row, 6, 10)).unwrap();
    }
    text
}

/// The rows of an answer by their keys: of each column with intervals its name, number, low and high.
type Published = BTreeMap<Vec<String>, Vec<(String, f64, f64, f64)>>;

fn published(answers: &Answers) -> Published {
    let keys = answers.columns.iter().filter(|column| column.uncertainty.is_none());
    let keys: Vec<&Vec<Cell>> = keys.map(|column| &column.cells).collect();
    let row = |row: usize| {
        let key = keys.iter().map(|cells| cells[row].text()).collect();
        let noisy = answers.columns.iter().filter_map(|column| Some((column, column.uncertainty.as_ref()?[row])));
        let numbers = noisy
            .filter_map(|(column, one)| Some((column.name.clone(), column.cells[row].number()?, one.low, one.high)));
        (key, numbers.collect())
    };
    (0..answers.rows()).map(row).collect()
}

/// One release with the seed's noise, and the seed's choice of the rows of an owner that count.
fn released(project: &Project, request: &Request, seed: u64, folder: &Folder) -> Published {
    let ledger = tempfile::tempdir().unwrap();
    let runner = Runner::with_ledger(project, ledger.path().join("ledger"));
    let planned = [runner.plan(request).unwrap()];
    let mut bits = InsecureSeededSource::new(seed);
    let (outcomes, _) = runner.release(&planned, &folder.file("out"), &mut bits, |_| ()).unwrap();
    published(&outcomes[0].answers)
}

/// The same rows without noise to speak of: the bounded truth.
fn without_noise(request: &Request) -> Request {
    let mut request = request.clone();
    let much = "1000000000".parse().unwrap();
    request.cost.target = if request.kind == "marginals" { Goal::Rho(much) } else { Goal::Epsilon(much) };
    request
}

/// How many of `count` intervals may miss: P[more] ≤ the false alarm, if each misses with probability 1 − coverage.
fn most_misses(count: u64) -> u64 {
    let miss = 1.0 - COVERAGE;
    let mut mass = (count as f64 * COVERAGE.ln()).exp();
    let mut left = 1.0 - mass;
    let mut misses = 0;
    while left > FALSE_ALARM && misses < count {
        mass *= (count - misses) as f64 / (misses + 1) as f64 * miss / COVERAGE;
        left -= mass;
        misses += 1;
    }
    misses
}

fn raw_counts(csv: &str, keys: &[&str], owner: Option<&str>) -> BTreeMap<Vec<String>, f64> {
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| names.iter().position(|other| *other == name).unwrap();
    let (keys, owner): (Vec<usize>, Option<usize>) = (keys.iter().map(|key| place(key)).collect(), owner.map(place));
    let mut counts = BTreeMap::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        if owner.is_none_or(|owner| !fields[owner].is_empty()) {
            *counts.entry(keys.iter().map(|key| fields[*key].to_string()).collect()).or_insert(0.0) += 1.0;
        }
    }
    counts
}

/// How many runs: those of `SCUMBLE_COVERAGE_RUNS`, which then prints what share of the intervals holds, or these few.
fn runs(few: u64) -> (u64, bool) {
    match std::env::var("SCUMBLE_COVERAGE_RUNS") {
        Ok(runs) => (runs.parse().expect("SCUMBLE_COVERAGE_RUNS is a whole number"), true),
        Err(_) => (few, false),
    }
}

/// Every release of a project, some runs each: the intervals hold the bounded truth, and the raw one where nothing is
/// cut off or a bounding report is bought.
fn check(shape: &Shape, csv: &str, (runs, shown): (u64, bool)) {
    let folder = Folder::with(&[("scumble.toml", shape.project), (&format!("{}.csv", shape.name), csv)]);
    let project = Project::open(&folder.file("scumble.toml")).unwrap();
    for request in &project.releases {
        let mut missed: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for seed in 0..runs {
            let (noisy, exact) = (
                released(&project, request, seed, &folder),
                released(&project, &without_noise(request), seed, &folder),
            );
            if request.name.starts_with("whole") {
                is_raw(shape, csv, &exact);
            }
            let exact = match request.name.as_str() {
                "raw flights by month" => raw_months(csv),
                "raw distance by origin" => raw_distances(csv),
                name => {
                    assert!(!name.starts_with("raw"), "say what is true of {name}");
                    exact
                }
            };
            for (key, numbers) in &noisy {
                for (name, _, low, high) in numbers {
                    let Some((_, truth, ..)) = exact[key].iter().find(|(other, ..)| other == name) else { continue };
                    let (misses, count) = missed.entry(name.clone()).or_default();
                    let slack = 1e-6 * truth.abs().max(1.0);
                    *misses += u64::from(!(low - slack..=high + slack).contains(truth));
                    *count += 1;
                }
            }
        }
        assert!(!missed.is_empty(), "{}: nothing was published", request.name);
        for (column, (misses, count)) in missed {
            if shown {
                let share = 100.0 * (count - misses) as f64 / count as f64;
                println!("| {} | {} | {column} | {count} | {share:.1}% |", shape.name, request.name);
            }
            // The numbers of a distribution function hang together: those of a tail where nobody is are all off, or
            // none. A few runs (whose seeds are fixed) say no more than that.
            let most = if request.kind == "cdf" && runs < 100 { count / 2 } else { most_misses(count) };
            assert!(
                misses <= most,
                "{}, {column}: {misses} of {count} intervals miss, at most {most} may",
                request.name
            );
        }
    }
}

/// The raw numbers of the release `raw flights by month`.
fn raw_months(csv: &str) -> Published {
    let months = raw_counts(csv, &["month"], Some("tailnum")).into_iter();
    months.map(|(key, count)| (key, vec![("count".to_string(), count, count, count)])).collect()
}

/// The raw numbers of the release `raw distance by origin`.
fn raw_distances(csv: &str) -> Published {
    let all = raw_counts(csv, &["origin", "distance"], Some("tailnum"));
    let mut sums: BTreeMap<Vec<String>, (f64, f64)> = BTreeMap::new();
    for (key, count) in all {
        let (flights, miles) = sums.entry(key[..1].to_vec()).or_default();
        *flights += count;
        *miles += count * key[1].parse::<f64>().unwrap();
    }
    let number = |name: &str, value: f64| (name.to_string(), value, value, value);
    let both = |(flights, miles): (f64, f64)| vec![number("flights", flights), number("distance", miles / flights)];
    sums.into_iter().map(|(key, sums)| (key, both(sums))).collect()
}

/// Where nothing is cut off, the bounded truth is the raw one.
fn is_raw(shape: &Shape, csv: &str, exact: &Published) {
    let (keys, owner, column) = shape.whole;
    let raw = raw_counts(csv, keys, owner);
    let counted: BTreeMap<Vec<String>, f64> = exact
        .iter()
        .map(|(key, numbers)| (key.clone(), numbers.iter().find(|(name, ..)| name == column).unwrap().1))
        .collect();
    assert_eq!(counted, raw, "{}", shape.name);
}

#[test]
fn intervals_hold_on_tables_in_the_shapes_of_real_ones() {
    for shape in &SHAPES {
        check(shape, &(shape.made_up)(), runs(effort(3, 12)));
    }
}

#[test]
fn intervals_hold_on_real_tables() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/real-tables");
    let folder = std::env::var_os("SCUMBLE_REAL_TABLES").map_or_else(|| PathBuf::from(default), PathBuf::from);
    for shape in &SHAPES {
        match std::fs::read_to_string(folder.join(format!("{}.csv", shape.name))) {
            Ok(csv) => check(shape, &csv, runs(3)),
            Err(_) => {
                eprintln!("skipped: {} is not in {}; bench/real-tables/fetch gets it", shape.name, folder.display())
            }
        }
    }
}

#[test]
fn misses_are_counted_by_the_binomial_law() {
    assert_eq!((most_misses(1), most_misses(5)), (1, 5));
    let tail = |count: u64, above: u64| -> f64 {
        let choose = |k: u64| (0..k).fold(1.0, |product, i| product * (count - i) as f64 / (i + 1) as f64);
        (above + 1..=count).map(|k| choose(k) * 0.065f64.powi(k as i32) * 0.935f64.powi((count - k) as i32)).sum()
    };
    for count in [20, 100, 300] {
        let most = most_misses(count);
        assert!(tail(count, most) <= 1.01e-9 && tail(count, most - 1) > 0.99e-9, "{count}: {most}");
    }
}
