//! The other doors that tables come in by: Parquet files, rows in memory, and integers that another engine has
//! computed.

use super::left::{Left, differs};
use super::moved::wrong;
use super::tables::{Table, tables};
use super::{few, some};
use crate::support::{Folder, effort};
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::parquet::arrow::ArrowWriter;
use scumble::noise::tape::TapedSource;
use scumble_engine::Batches;
use scumble_engine::project::Project;
use scumble_engine::release::{Engine, Runner};
use scumble_testing::tables::TINY;
use std::collections::BTreeMap;
use std::fs;

/// Releases of one table each.
const RELEASES: [(&str, &str); 4] = [
    (
        "people",
        "sql = \"SELECT sex, COUNT(*) AS n, SUM(income) AS s, MEDIAN(age) AS m FROM people GROUP BY sex\"\ncost = { epsilon = 6 }",
    ),
    (
        "visits",
        "sql = \"SELECT clinic, COUNT(*) AS n, AVG(cost) AS a FROM visits GROUP BY clinic\"\ncost = { epsilon = 9, delta = 1e-2 }",
    ),
    (
        "once",
        "kind = \"marginals\"\ntable = \"once\"\ncolumns = [\"day\", \"sex\"]\nmethod = \"residual\"\ncost = { rho = 3 }",
    ),
    ("calls", "kind = \"triangles\"\ntable = \"calls\"\nmethod = \"smooth\"\ncost = { epsilon = 6 }"),
];

/// How a table comes in: its declared source, and the project once its rows are there.
struct Door {
    source: fn(&str) -> String,
    opened: fn(&Folder, &str, &Table) -> Project,
}

const PARQUET: Door = Door {
    source: |name| format!("{name}.parquet"),
    opened: |folder, text, table| {
        let batch = table.batch();
        let file = fs::File::create(folder.file(&format!("{}.parquet", table.name))).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        folder.project(text)
    },
};

const MEMORY: Door = Door {
    source: |name| format!("{name} (in memory)"),
    opened: |folder, text, table| {
        let batch = table.batch();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        let rows = Batches::of_stream(writer.into_inner().unwrap()).unwrap();
        let rows = BTreeMap::from([(table.name.to_string(), rows)]);
        Project::in_memory(&folder.file("session.toml"), text, rows).unwrap()
    },
};

/// Records each release through this door, and replays it on neighbours.
fn through(door: &Door) {
    for (turn, (name, release)) in RELEASES.iter().enumerate() {
        let table = tables().into_iter().find(|table| table.name == *name).unwrap();
        let text = format!("{}[[release]]\nname = \"r\"\n{release}\n", TINY.declared_alone(name, &(door.source)(name)));
        let (folder, seed) = (Folder::with(&[]), 40 + turn as u64);
        let run = |number: usize, table: &Table, bits: &mut TapedSource| {
            let project = (door.opened)(&folder, &text, table);
            let place = folder.file(&format!("run{number}"));
            fs::create_dir_all(&place).unwrap();
            let runner = Runner::with_ledger(&project, place.join("ledger.db"));
            let planned = [runner.plan(&project.releases[0]).unwrap()];
            (Left::of_release(&runner, &planned, &place.join("out"), bits), planned[0].plan.events.clone())
        };
        let mut bits = TapedSource::recording(seed);
        let (before, events) = run(0, &table, &mut bits);
        assert!(!before.said.starts_with("refused") && bits.on_tape().calls() > 0, "{release}: {before:?}");
        for (number, (scope, changed, neighbour)) in few(table.neighbours(&[0, 3, 7]), turn).into_iter().enumerate() {
            let mut again = bits.replaying(seed);
            let (after, _) = run(number + 1, &neighbour, &mut again);
            assert_eq!(differs(&before, &after), None, "{release}, {scope}: {changed}");
            let wrong = wrong(&again.on_tape().pairs(), &events, &scope, table.most_records);
            assert!(wrong.is_empty(), "{release}, {scope}: {changed}: {wrong:?}");
        }
    }
}

#[test]
fn parquet_files() {
    through(&PARQUET);
}

#[test]
fn rows_in_memory() {
    through(&MEMORY);
}

/// The integers that another engine gives: of each owner one row, counted and added up by hand, and written as its
/// file.
#[test]
fn integers_of_another_engine() {
    let text = format!(
        "{}[[release]]\nname = \"r\"\nsql = \"SELECT sex, COUNT(*) AS n, SUM(day) AS s FROM once GROUP BY sex\"\ncost = {{ epsilon = 6 }}\n",
        TINY.declared_alone("once", "somewhere else")
    );
    let table = tables().into_iter().find(|table| table.name == "once").unwrap();
    let folder = Folder::with(&[]);
    let project = folder.project(&text);
    let run = |number: usize, table: &Table, bits: &mut TapedSource| {
        let place = folder.file(&format!("run{number}"));
        fs::create_dir_all(place.join("results")).unwrap();
        let runner = Runner::with_ledger(&project, place.join("ledger.db"));
        let planned = runner.plan(&project.releases[0]).unwrap();
        let job = runner.job(&project.releases[0], Engine::DuckDb).unwrap();
        let mark: String = job[job.find("scumble_job_").unwrap()..]
            .chars()
            .take_while(|one| one.is_ascii_alphanumeric() || *one == '_')
            .collect();
        fs::write(place.join("results/1.csv"), given(table, &mark)).unwrap();
        let (out, mut told) = (place.join("out"), Vec::new());
        let outcome =
            runner.release_given(&planned, &place.join("results"), &out, bits, |said| told.push(said.to_string()));
        let answers = outcome.map(|(all, _)| all.into_iter().map(|one| one.answers).collect::<Vec<_>>());
        // The one-time number of the job, which is made of the ledger's key, and of no data.
        let number = mark.split('_').nth(2).unwrap().to_string();
        let digest = runner.charges().unwrap().first().map(|charge| charge.rule["job"]["digest"].to_string());
        let left = Left::of(&runner, answers, told, &out).without(&number);
        (left.without(&digest.unwrap_or_else(|| "no digest".to_string())), planned.plan.events)
    };
    let mut bits = TapedSource::recording(50);
    let (before, events) = run(0, &table, &mut bits);
    assert!(!before.said.starts_with("refused") && bits.on_tape().calls() > 0, "{before:?}");
    let all = some(table.neighbours(&[0, 4, 12]), effort(15, usize::MAX), 0);
    for (number, (scope, changed, neighbour)) in all.into_iter().enumerate() {
        let mut again = bits.replaying(50);
        let (after, _) = run(number + 1, &neighbour, &mut again);
        assert_eq!(differs(&before, &after), None, "{scope}: {changed}");
        let wrong = wrong(&again.on_tape().pairs(), &events, &scope, 1);
        assert!(wrong.is_empty(), "{scope}: {changed}: {wrong:?}");
    }
}

/// The file of the statement: for each sex the rows, and the sum of their days within the declared bounds.
fn given(table: &Table, mark: &str) -> String {
    let mut cells: BTreeMap<&str, (u64, i64)> = BTreeMap::new();
    for row in table.first_rows().into_iter().filter(|row| ["f", "m"].contains(&row[2].as_str())) {
        let (rows, sum) = cells.entry(&row[2]).or_default();
        *rows += 1;
        *sum += row[1].parse::<i64>().map_or(0, |day| day.clamp(0, 3));
    }
    let number = cells.len();
    let lines = cells.iter().map(|(sex, (rows, sum))| format!("{sex},{rows},{sum},{number},1\n"));
    format!("key_0,sum_0,sum_1,cells,{mark}\n{}", lines.collect::<String>())
}
