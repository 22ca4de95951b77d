//! The replay audit (`tests/it/replay.rs`) on the generator's worlds: every query that is answered is released from
//! rows in memory with all that mechanisms were given and drew on a tape, and released again on neighbours with the
//! same outputs. Whatever leaves the process and differs is a leak, and no input may move further than the events say.

use super::bytes::{Bytes, of_seed};
use super::case_of;
use super::check::Case;
use super::world::WorldRows;
use crate::Batches;
use crate::project::Project;
use crate::release::Runner;
use crate::support::{Folder, effort};
use datafusion::arrow::ipc::writer::StreamWriter;
use left::{Left, differs};
use scumble::event::Event;
use scumble::noise::tape::TapedSource;
use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

#[allow(dead_code)] // The other audit needs the rest.
#[path = "../../../../tests/it/replay/left.rs"]
mod left;
#[path = "../../../../tests/it/replay/moved.rs"]
mod moved;

/// What came of one case: whether it was answered, and what is wrong.
struct ReplayResult {
    is_released: bool,
    wrong: Vec<String>,
}

/// A folder, and the project file of a case.
struct ReplayFolder<'a> {
    case: &'a Case,
    folder: Folder,
    text: String,
    sql: String,
}

impl ReplayFolder<'_> {
    /// The case, with values that are listed in the project file.
    fn of(case: &Case) -> ReplayFolder<'_> {
        let sql = case.query.text(&case.world);
        let declared = case.world.text().replace(".csv\"", " (in memory)\"");
        let quoted = serde_json::to_string(&sql).unwrap();
        // Much, so that keys are published: what leaves is what is looked at.
        let release = format!("[[release]]\nname = \"r\"\nsql = {quoted}\ncost = {{ epsilon = 8, delta = 1e-2 }}\n");
        ReplayFolder { case, folder: Folder::with(&[]), text: declared + &release, sql }
    }

    /// What leaves a release of these rows, and the events of its plan; none where it is refused before any row is
    /// read.
    fn released(&self, number: usize, rows: &WorldRows, bits: &mut TapedSource) -> Option<(Left, Vec<Event>)> {
        let world = &self.case.world;
        let all: Vec<usize> = (0..world.tables.len()).collect();
        let numbers = world.has_number_owners(&all);
        let given = |table: usize| {
            let batch = world.batch(table, &rows[table], numbers);
            let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
            (world.tables[table].name.clone(), Batches::of_stream(writer.into_inner().unwrap()).unwrap())
        };
        let rows: BTreeMap<String, Batches> = all.into_iter().map(given).collect();
        let project = Project::in_memory(&self.folder.file("session.toml"), &self.text, rows).unwrap();
        let place = self.folder.file(&format!("run{number}"));
        fs::create_dir_all(&place).unwrap();
        let runner = Runner::with_ledger(&project, place.join("ledger.db"));
        let planned = [runner.plan(&project.releases[0]).ok()?];
        let left = Left::of_release(&runner, &planned, &place.join("out"), bits);
        let events = planned[0].plan.events.clone();
        Some((left, events))
    }
}

fn audited(mut case: Case, seed: u64) -> ReplayResult {
    case.world.key_sets = false;
    let world = ReplayFolder::of(&case);
    let mut bits = TapedSource::recording(seed);
    let Some((before, events)) = world.released(0, &case.rows, &mut bits) else {
        return ReplayResult { is_released: false, wrong: Vec::new() };
    };
    let mut wrong = Vec::new();
    for (neighbour, number) in case.neighbours.iter().zip(1..) {
        let mut again = bits.replaying(seed);
        let Some((after, _)) = world.released(number, &neighbour.rows, &mut again) else {
            wrong.push(format!("seed {seed}: a plan depends on rows: {}", world.sql));
            continue;
        };
        let moved = moved::wrong(&again.on_tape().pairs(), &events, &neighbour.scope, 1);
        let said = |why: String| format!("seed {seed}, {}: {}\n  {why}\n{}", neighbour.scope, world.sql, world.text);
        wrong.extend(differs(&before, &after).into_iter().chain(moved).map(said));
    }
    ReplayResult { is_released: !before.said.starts_with("refused"), wrong }
}

/// A hundred worlds, or ten thousand where `SCUMBLE_THOROUGH` is set; others from the seed `SCUMBLE_SEED` on.
#[test]
fn nothing_leaves_generated_worlds_but_through_mechanisms() {
    let first = std::env::var("SCUMBLE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1u64);
    let (count, next) = (effort(100, 10_000), AtomicU64::new(0));
    let run = || {
        let (mut released, mut wrong) = (0, Vec::new());
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return (released, wrong);
            }
            let bytes = of_seed(first + index);
            let bytes = if index % 4 == 0 { Bytes::wide(&bytes) } else { Bytes::new(&bytes) };
            let one = audited(case_of(bytes, 3), first + index);
            released += u64::from(one.is_released);
            wrong.extend(one.wrong);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (mut released, mut wrong) = (0, Vec::new());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        for worker in workers {
            let (some, found) = worker.join().unwrap();
            released += some;
            wrong.extend(found);
        }
    });
    println!("{released} of {count} were released");
    assert!(wrong.is_empty(), "{} leaks:\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
    assert!(released * 4 >= count, "{released} of {count} are too few for this test to mean anything");
}
