//! What is published does not depend on the machine: neither on its memory nor on its processors, and a full disk is a
//! failure like others.

use super::*;
use crate::ledger::ChargeState;
use crate::release::run::charge::interrupted;
use crate::support::{Folder, effort};
use scumble::noise::InsecureSeededSource;

/// What a machine has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine {
    pub memory: u64,
    pub disk: u64,
    pub threads: usize,
}

impl Machine {
    pub fn of(self, mut backend: Backend) -> Backend {
        (backend.memory.bytes, backend.memory.disk) = (self.memory, self.disk);
        backend.with_threads(self.threads)
    }
}

const LARGE: Machine = Machine { memory: 1 << 40, disk: u64::MAX, threads: 1 };

const PROJECT: &str = r#"
[dataset.visits]
source = "visits"
owner = "person"
max_rows_per_owner = 5
max_groups_per_owner = 3
max_rows_per_group = 2
[dataset.visits.columns]
clinic = { type = "category" }
ward = { type = "int", lower = 1, upper = 4 }
cost = { type = "float", lower = 0, upper = 100, granularity = 0.5 }
urgent = { type = "bool" }
[dataset.homes]
source = "homes.csv"
owner = "person"
max_rows_per_owner = 1
[dataset.homes.columns]
area = { type = "category", values = ["north", "south"] }
[dataset.words]
source = "words.csv"
[dataset.words.columns]
word = { type = "category" }
"#;

/// A query for each construct, and the kinds that count rows of owners.
const RELEASES: [(&str, &str); 17] = [
    ("sums", "sql = 'SELECT clinic, COUNT(*) AS n, SUM(cost) AS s, COUNT(cost) AS c FROM visits GROUP BY clinic'"),
    ("public", "sql = 'SELECT ward, urgent, COUNT(*) AS n, AVG(cost) AS a FROM visits GROUP BY ward, urgent'"),
    ("spread", "sql = 'SELECT VAR_SAMP(cost) AS v, STDDEV(cost) AS d, MEDIAN(cost) AS m FROM visits'"),
    (
        "different",
        "sql = 'SELECT clinic, COUNT(DISTINCT person) AS p, COUNT(DISTINCT ward) AS w FROM visits GROUP BY clinic'",
    ),
    ("filter", "sql = 'SELECT COUNT(*) AS n FROM visits WHERE urgent AND cost > 20'"),
    ("join", "sql = 'SELECT area, SUM(cost) AS s FROM visits JOIN homes USING (person) GROUP BY area'"),
    (
        "first",
        "sql = 'SELECT ward, COUNT(*) AS n, SUM(t) AS s FROM (SELECT person, ward, SUM(cost) AS t, COUNT(DISTINCT clinic) AS k FROM visits GROUP BY person, ward) AS i WHERE k < 3 GROUP BY ward'",
    ),
    ("sets", "sql = 'SELECT ward, urgent, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward, urgent)'"),
    (
        "bounding",
        "sql = 'SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward'\nbounding_report = { share = 0.2 }\nmax_groups_per_owner = 2",
    ),
    ("histogram", "kind = 'histogram'\ntable = 'visits'\ncolumn = 'clinic'"),
    ("curve", "kind = 'cdf'\ntable = 'visits'\ncolumn = 'cost'"),
    ("quantiles", "kind = 'quantiles'\ntable = 'visits'\ncolumn = 'cost'\nquantiles = [0.1, 0.5, 0.9]"),
    ("anonymized", "kind = 'anonymized-histogram'\ntable = 'visits'\ncolumn = 'clinic'"),
    ("words", "kind = 'anonymized-histogram'\ntable = 'words'\ncolumn = 'word'"),
    ("hitters", "kind = 'heavy-hitters'\ntable = 'visits'\ncolumns = ['clinic', 'ward']"),
    ("tables", "kind = 'marginals'\ntable = 'visits'\ncolumns = ['ward', 'urgent']"),
    ("bounds", "kind = 'bounds'\nfor = 'sums'"),
];

/// Those that a short run looks at: rows of owners, an aggregate below them, and keys that are counted.
const FEW: [&str; 3] = ["sums", "first", "words"];

/// Visits of 400 people in five files: few people have most of them, some rows are equal, some lack a value.
fn tables() -> Folder {
    let folder = Folder::with(&[]);
    std::fs::create_dir(folder.file("visits")).unwrap();
    for file in 0..5u64 {
        let mut text = "person,clinic,ward,cost,urgent\n".to_string();
        for i in 0..500u64 {
            let row = file * 500 + i;
            let person = (row * row % 997) * (row % 3) % 400;
            let cost = ["", "1.25", "30", "99.5", "250"][(row * 7 % 5) as usize];
            text += &format!("p{person},clinic {},{},{cost},{}\n", row * 31 % 13, row % 5, row.is_multiple_of(4));
        }
        folder.write(&format!("visits/{file}.csv"), &text);
    }
    let homes: String = (0..400).map(|i| format!("p{i},{}\n", ["north", "south", "mars"][i % 3])).collect();
    folder.write("homes.csv", &format!("person,area\n{homes}"));
    let words: String = (0..900).map(|i| format!("word {}\n", i * i % 157)).collect();
    folder.write("words.csv", &format!("word\n{words}"));
    folder
}

fn project_of(folder: &Folder) -> Project {
    let release = |(name, text): &(&str, &str)| {
        format!("[[release]]\nname = '{name}'\n{text}\ncost = {{ epsilon = 2, delta = 1e-6 }}\n")
    };
    let releases = RELEASES.iter().filter(|(name, _)| effort(FEW.contains(name), true)).map(release);
    folder.project(&format!("{PROJECT}{}", releases.collect::<String>()))
}

/// All releases on a machine, with the noise of a seed: their names and their answers, as they are published.
fn released(folder: &Folder, project: &Project, machine: Machine) -> Result<Vec<(String, String)>> {
    let name = format!("{}-{}-{}", machine.memory, machine.disk, machine.threads);
    let mut runner = Runner::with_ledger(project, folder.file(&format!("{name}.db")));
    runner.scarce = Some(machine);
    let planned = project.releases.iter().map(|request| runner.plan(request)).collect::<Result<Vec<_>>>()?;
    let (outcomes, _) = runner.release(&planned, &folder.file(&name), &mut InsecureSeededSource::new(7), |_| ())?;
    Ok(outcomes.into_iter().map(|outcome| (outcome.name, outcome.answers.csv().unwrap())).collect())
}

/// No temporary file is left.
fn is_clean(folder: &Folder) -> bool {
    let entries = std::fs::read_dir(folder.path()).unwrap().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().contains("scumble-rows")).count() == 0
}

/// The same integers, and hence with the same noise the same numbers, for every memory limit and every number of
/// threads: with all rows in memory, with all of them in the file, and with some parts in memory and some in the file
/// (a part has about 10 rows of about 40 bytes).
#[test]
fn what_is_published_depends_on_neither_memory_nor_threads() {
    let folder = tables();
    let project = project_of(&folder);
    let expected = released(&folder, &project, LARGE).unwrap();
    assert_eq!(expected.len(), effort(FEW.len(), RELEASES.len()));
    let machines = [(0, 3), (150_000, 2), (0, 1), (400_000, 5), (1 << 40, 4)];
    for (memory, threads) in machines.into_iter().take(effort(2, 5)) {
        let machine = Machine { memory, threads, ..LARGE };
        for (found, expected) in released(&folder, &project, machine).unwrap().iter().zip(&expected) {
            assert_eq!(found, expected, "{machine:?}");
        }
    }
    assert!(is_clean(&folder));
}

/// The charge was made before a row was read and stays, as after every failure; nothing is published, no file is left,
/// and the sentence is the one for all failures behind a charge.
#[test]
fn a_full_disk_is_a_failure_behind_the_charge() {
    let folder = tables();
    let project = project_of(&folder);
    let machine = Machine { memory: 0, disk: 3000, threads: 2 };
    let failed = released(&folder, &project, machine).unwrap_err();
    assert_eq!(failed.to_string(), interrupted("sums").to_string());
    assert!(is_clean(&folder) && !folder.file("0-3000-2/sums.csv").exists());
    let ledger = folder.file("0-3000-2.db");
    let charges = Runner::with_ledger(&project, ledger).charges().unwrap();
    assert!(charges.len() == 1 && charges[0].release == "sums" && charges[0].state == ChargeState::Reserved);
    // There was something to write, and with room for it there is an answer.
    let machine = Machine { disk: 3_000_000, ..machine };
    assert_eq!(released(&folder, &project, machine).unwrap().len(), project.releases.len());
}
