//! The integers of rows that have owners: one pass over the rows, each owner bounded by itself.
//!
//! Every stream of the backend's plan is read by its own task. A row becomes numbers at once (owner, group, rank,
//! values) and goes, by the hash of its owner, to one of a few [`OwnerPart`]s; a pocketful at a time, so that few
//! places are written to at once. At the end each part gives its kept rows to the sums of their groups; parts are
//! independent, and each processor takes the next one.

use super::cell::{ExactCells, key_of, placed, violated};
use super::executed::TypedPlan;
use super::per_owner::{InnerSummation, Programme};
use super::sums::{KeyColumn, OwnerColumn, Sums, SumsByKey, numbers_of};
use crate::error::{DataFusionResult, Error, Result};
use crate::sql::analyse::execution::{Execution, RowOwners};
use crate::tables::bounding::{
    BeyondBounds, Bounder, Bounds, ColumnarRows, Contribution, LostRows, OwnerPart, PartContext, PartError, Tie,
};
use crate::tables::hash::QuickHash;
use crate::tables::intern::{Interner, Name};
use crate::tables::ranks::Ranks;
use crate::tables::{Backend, Watch, failed_on_data};
use datafusion::arrow::array::{Array, ArrayRef, RecordBatch};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::physical_plan::{SendableRecordBatchStream, execute_stream_partitioned};
use futures::StreamExt;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering as AtomicOrdering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many parts there are: 2 to this power.
const PARTS_LOG2: u32 = 8;
/// How many rows go to a part at a time.
const POCKETFUL: usize = 128;
/// How many may wait for a part that another reader is cutting down; then this one waits too. All parts are cut down at
/// about the same time, and readers that waited for each other took a fifth of the reading.
const MOST_WAITING: usize = 64 * POCKETFUL;

/// The share of the time that reading takes, about; the rest is summing up.
const READING: f64 = 0.7;

/// The cells of the kept rows.
pub(crate) fn bounded(
    execution: &Execution,
    rows: TypedPlan,
    backend: &Backend,
    bounds: Bounds,
    ranks: Ranks,
) -> Result<ExactCells> {
    match execution.first() {
        None => cells(execution, &*gathered(execution, rows, backend, bounds, ranks)?, backend, None),
        Some(first) => {
            let shared = gathered(execution, rows, backend, first.bounds, ranks)?;
            let names = std::mem::take(&mut locked(&shared.groups).names);
            let programme = Programme::new(execution, first, &names)?;
            let summed = |parts: PartQueue<'_>| {
                let mut summer = InnerSummation::new(execution, &programme, shared.quick);
                for part in parts {
                    shared.each(&shared.taken(part), first.bounds, |piece, tie| {
                        piece.finish(tie, |place, values| summer.row(place, values))?;
                        summer.end_of_owners();
                        Ok(())
                    })?;
                }
                summer.cells()
            };
            all_cells(execution, on_all_processors(&shared, backend, summed)?)
        }
    }
}

/// Makes all that is done with the rows of owners, and looks at no value.
pub(crate) fn preflight(execution: &Execution) -> Result<()> {
    execution.first().map_or(Ok(()), |first| Programme::new(execution, first, &[]).map(drop))
}

/// The cells that several processors found.
fn all_cells(execution: &Execution, found: Vec<SumsByKey>) -> Result<ExactCells> {
    let mut all = SumsByKey::new();
    for (key, sums) in found.into_iter().flatten() {
        all.entry(key).or_default().add(sums);
    }
    let mut cells = ExactCells::new();
    for (key, sums) in all {
        let Some(key) = key_of(execution, key)? else { return Err(violated("a row without a key")) };
        placed(&mut cells, key, sums.cell(execution))?;
    }
    Ok(cells)
}

/// The parts that are left to look at: each caller gets the next one.
struct PartQueue<'a> {
    shared: &'a ReaderContext,
    next: &'a AtomicUsize,
    watch: &'a Watch,
}

impl<'a> Iterator for PartQueue<'a> {
    type Item = &'a Mutex<OwnerPart>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = self.next.fetch_add(1, AtomicOrdering::Relaxed);
        self.watch.parts(number, self.shared.parts.len());
        self.shared.parts.get(number)
    }
}

/// What `work` makes of the parts that it gets, on each processor.
fn on_all_processors<T: Send>(
    shared: &ReaderContext,
    backend: &Backend,
    work: impl Fn(PartQueue<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let (work, next) = (&work, AtomicUsize::new(0));
    let parts = || PartQueue { shared, next: &next, watch: &backend.watch };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..backend.threads)
            .map(|_| {
                let parts = parts();
                scope.spawn(move || work(parts))
            })
            .collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined.map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// The rows of all owners, of at most this many groups each, to be looked at under several bounds.
pub(crate) struct GatheredRows<'a> {
    shared: Arc<ReaderContext>,
    backend: &'a Backend,
    bounds: Bounds,
}

impl<'a> GatheredRows<'a> {
    pub fn new(
        execution: &Execution,
        rows: TypedPlan,
        backend: &'a Backend,
        groups: u64,
        ranks: Ranks,
    ) -> Result<Self> {
        let bounds = Bounds { groups, rows_per_group: u64::MAX, rows: u64::MAX };
        Ok(Self { shared: gathered(execution, rows, backend, bounds, ranks)?, backend, bounds })
    }

    /// What each owner has, one after the other.
    pub fn contributions(&self, mut visit: impl FnMut(Contribution<'_>)) -> Result<()> {
        self.shared.parts.iter().try_for_each(|part| {
            self.shared.each(&locked(part), self.bounds, |piece, tie| {
                piece.contributions(tie, &mut visit);
                Ok(())
            })
        })
    }

    /// How many keys have how many rows, where rows belong to their keys; after which they are gone.
    pub fn occurrences(&self) -> Result<BTreeMap<u64, u64>> {
        let (shared, bounds) = (&self.shared, self.bounds);
        let found = on_all_processors(shared, self.backend, |parts| {
            let mut found: BTreeMap<u64, u64> = BTreeMap::new();
            for part in parts {
                shared.each(&shared.taken(part), bounds, |piece, tie| {
                    piece.contributions(tie, |key| *found.entry(key.rows().sum()).or_default() += 1);
                    Ok(())
                })?;
            }
            Ok(found)
        })?;
        let mut all = BTreeMap::new();
        found.into_iter().flatten().for_each(|(rows, keys)| *all.entry(rows).or_default() += keys);
        Ok(all)
    }

    /// The cells of the rows that bounds keep; with no more groups than before.
    pub fn cells(&self, execution: &Execution, bounds: Bounds) -> Result<ExactCells> {
        cells(execution, &self.shared, self.backend, Some(bounds))
    }
}

/// Reads all rows and gives them to the parts.
fn gathered(
    execution: &Execution,
    rows: TypedPlan,
    backend: &Backend,
    bounds: Bounds,
    ranks: Ranks,
) -> Result<Arc<ReaderContext>> {
    let columns = execution.read();
    let (keys, width) = (columns.keys.len(), columns.values.len());
    let has_owners = matches!(execution.owners(), RowOwners::Named(_));
    if !has_owners && width > 0 {
        return Err(violated("values of keys"));
    }
    let texts = columns.values.iter().map(|value| value.kind == DataType::Utf8).collect();
    let shared = Arc::new(ReaderContext::new(ranks.with_texts(texts), bounds, has_owners, backend)?);
    let frame = backend.run(rows.plan.clone());
    let rows = Arc::new(rows);
    backend
        .wait(async {
            let (plan, task) = backend.physical(&frame, READING).await?;
            let streams = execute_stream_partitioned(plan, task)?;
            let readers = streams.into_iter().map(|stream| {
                tokio::spawn(read(stream, StreamReader::new(Arc::clone(&shared), Arc::clone(&rows), keys, width)))
            });
            for reader in readers.collect::<Vec<_>>() {
                reader.await.map_err(|error| DataFusionError::External(Box::new(error)))??;
            }
            Ok(())
        })
        .map_err(|error: DataFusionError| failed_on_data(&error))?;
    Ok(shared)
}

/// What all readers share.
struct ReaderContext {
    ranks: Ranks,
    quick: QuickHash,
    bounds: Bounds,
    /// Whether rows belong to the owners that their first column names; otherwise they belong to their keys, and are
    /// counted.
    has_owners: bool,
    aside: PartContext,
    parts: Vec<Mutex<OwnerPart>>,
    groups: Mutex<SeenGroups>,
}

/// All groups that were seen.
#[derive(Default)]
struct SeenGroups {
    encoded: Interner,
    names: Vec<Vec<ScalarValue>>,
}

impl ReaderContext {
    fn new(ranks: Ranks, bounds: Bounds, has_owners: bool, backend: &Backend) -> Result<Self> {
        let quick = ranks.quick();
        let aside = PartContext::new(ranks.clone(), bounds, PARTS_LOG2, &backend.memory)?;
        let parts = (0..1 << PARTS_LOG2).map(|_| Mutex::new(aside.part())).collect();
        Ok(Self { ranks, quick, bounds, has_owners, aside, parts, groups: Mutex::default() })
    }

    /// Which of two groups with the same rank comes first.
    fn tie(&self, left: u32, right: u32) -> Ordering {
        let groups = locked(&self.groups);
        groups.encoded.text(left).cmp(groups.encoded.text(right))
    }

    /// A part, after which it is gone.
    fn taken(&self, part: &Mutex<OwnerPart>) -> OwnerPart {
        std::mem::replace(&mut *locked(part), self.aside.part())
    }

    /// Gives `visit` the rows of a part, of some owners at a time.
    fn each(
        &self,
        part: &OwnerPart,
        bounds: Bounds,
        mut visit: impl FnMut(&Bounder<'_>, Tie<'_>) -> std::result::Result<(), BeyondBounds>,
    ) -> Result<()> {
        let tie = |left: u32, right: u32| self.tie(left, right);
        part.each(&self.aside, bounds, |piece| visit(piece, &tie)).map_err(|broken| match broken {
            PartError::BeyondBounds => violated("an owner beyond its bounds"),
            PartError::Lost => Error::machine("rows that did not fit the memory could not be read back"),
        })
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A reader that died has failed the whole query; what it left behind is not used.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The reader of one stream.
struct StreamReader {
    shared: Arc<ReaderContext>,
    rows: Arc<TypedPlan>,
    keys: usize,
    /// The groups that this reader has seen, each with its number among all and what its rank needs.
    seen: Interner,
    known: Vec<(u32, u64)>,
    encoded: Vec<u8>,
    /// Rows on their way to each part.
    pockets: Vec<ColumnarRows>,
}

async fn read(mut stream: SendableRecordBatchStream, mut reader: StreamReader) -> DataFusionResult<()> {
    while let Some(batch) = stream.next().await {
        reader.add(&batch?)?;
    }
    (0..reader.pockets.len()).try_for_each(|index| reader.empty(index))
}

impl StreamReader {
    fn new(shared: Arc<ReaderContext>, rows: Arc<TypedPlan>, keys: usize, width: usize) -> Self {
        let mut pockets = Vec::new();
        pockets.resize_with(shared.parts.len(), || ColumnarRows::new(width));
        Self { shared, rows, keys, seen: Interner::default(), known: Vec::new(), encoded: Vec::new(), pockets }
    }

    fn add(&mut self, batch: &RecordBatch) -> DataFusionResult<()> {
        self.rows.check(batch)?;
        let first = usize::from(self.shared.has_owners);
        let key_arrays = &batch.columns()[first..first + self.keys];
        let keys = key_arrays.iter().map(KeyColumn::of).collect::<DataFusionResult<Vec<_>>>()?;
        let owners = self.shared.has_owners.then(|| OwnerColumn::of(batch.column(0))).transpose()?;
        let values = batch.columns()[first + self.keys..].iter().map(|column| numbers_of(column, &self.shared.ranks));
        let values = values.collect::<DataFusionResult<Vec<Cow<'_, [i64]>>>>()?;
        // Rows without an owner or without a key are left out.
        let present = batch.columns()[..first + self.keys].iter().fold(None, |present: Option<NullBuffer>, column| {
            NullBuffer::union(present.as_ref(), column.logical_nulls().as_ref())
        });
        for row in 0..batch.num_rows() {
            if present.as_ref().is_some_and(|present| present.is_null(row)) {
                continue;
            }
            let Some(owners) = &owners else {
                self.add_to_key(&keys, row)?;
                continue;
            };
            let (local, group, of_key) = self.group(&keys, key_arrays, row)?;
            let owner = owners.at(row);
            let index = self.shared.aside.part_of(owner.hash(&self.shared.quick));
            let rank = self.shared.ranks.of_group(owner, of_key, || self.seen.text(local));
            let pocket = &mut self.pockets[index];
            pocket.push(owner, group, rank, values.iter().map(|column| column[row]));
            if pocket.len().is_multiple_of(POCKETFUL) {
                self.offer(index)?;
            }
        }
        Ok(())
    }

    /// Adds a row to its key, if the query has no column of owners.
    #[inline]
    fn add_to_key(&mut self, keys: &[KeyColumn<'_>], row: usize) -> DataFusionResult<()> {
        let name = Name::Text(encoded(keys, row, &mut self.encoded));
        let index = self.shared.aside.part_of(name.hash(&self.shared.quick));
        let pocket = &mut self.pockets[index];
        pocket.push(name, 0, 0, std::iter::empty());
        if pocket.len().is_multiple_of(POCKETFUL) { self.offer(index) } else { Ok(()) }
    }

    /// The number of a row's group among those that this reader has seen and among all, and what its rank needs.
    #[inline]
    fn group(&mut self, keys: &[KeyColumn<'_>], arrays: &[ArrayRef], row: usize) -> DataFusionResult<(u32, u32, u64)> {
        let encoded = match &self.shared.ranks {
            Ranks::Sip(_) => encoded(keys, row, &mut self.encoded),
            Ranks::Sha(_) => spelled(keys, row, &mut self.encoded),
        };
        let name = Name::Text(encoded);
        let hash = name.hash(&self.shared.quick);
        let (local, new) = self.seen.intern(hash, name);
        if new {
            let mut groups = locked(&self.shared.groups);
            let (number, first) = groups.encoded.intern(hash, name);
            if first {
                let values = arrays.iter().map(|column| ScalarValue::try_from_array(column, row));
                groups.names.push(values.collect::<DataFusionResult<_>>()?);
            }
            self.known.push((number, self.shared.ranks.of_key(encoded)));
        }
        let (number, of_key) = self.known[local as usize];
        Ok((local, number, of_key))
    }

    /// Gives the rows of a pocket to their part, unless somebody else is at it and they can wait.
    fn offer(&mut self, index: usize) -> DataFusionResult<()> {
        let shared = Arc::clone(&self.shared);
        match shared.parts[index].try_lock() {
            Ok(mut part) => self.give(index, &mut part),
            Err(_) if self.pockets[index].len() < MOST_WAITING => Ok(()),
            Err(_) => self.empty(index),
        }
    }

    /// Gives the rows of a pocket to their part.
    fn empty(&mut self, index: usize) -> DataFusionResult<()> {
        let shared = Arc::clone(&self.shared);
        self.give(index, &mut locked(&shared.parts[index]))
    }

    fn give(&mut self, index: usize, part: &mut OwnerPart) -> DataFusionResult<()> {
        let shared = &self.shared;
        let tie = |left: u32, right: u32| shared.tie(left, right);
        part.add(&mut self.pockets[index], &shared.aside, &tie)
            .map_err(|LostRows| DataFusionError::ResourcesExhausted("no memory or disk for more rows".to_string()))
    }
}

/// A row's key as bytes that differ where keys differ.
#[inline]
fn encoded<'a>(keys: &'a [KeyColumn<'a>], row: usize, buffer: &'a mut Vec<u8>) -> &'a [u8] {
    match keys {
        [KeyColumn::Text(column)] => column.value(row).as_bytes(),
        keys => {
            buffer.clear();
            keys.iter().for_each(|key| key.encode(row, buffer));
            buffer
        }
    }
}

/// A row's key as a text that every engine can write; texts differ where keys differ.
fn spelled<'a>(keys: &[KeyColumn<'_>], row: usize, buffer: &'a mut Vec<u8>) -> &'a [u8] {
    buffer.clear();
    keys.iter().for_each(|key| key.spell(row, buffer));
    buffer
}

/// The sums of every group, from some of the parts.
#[derive(Default)]
struct GroupTally {
    groups: HashMap<u32, Sums>,
}

/// The kept rows of all parts, summed up on all processors: under their own bounds, after which the rows are gone, or
/// under others.
fn cells(
    execution: &Execution,
    shared: &ReaderContext,
    backend: &Backend,
    bounds: Option<Bounds>,
) -> Result<ExactCells> {
    let tallies = on_all_processors(shared, backend, |parts| tally(execution, shared, bounds, parts))?;
    let mut all = GroupTally::default();
    for (group, sums) in tallies.into_iter().flat_map(|tally| tally.groups) {
        all.groups.entry(group).or_default().add(sums);
    }
    let groups = locked(&shared.groups);
    let mut cells = ExactCells::new();
    for (group, sums) in all.groups {
        let Some(key) = key_of(execution, groups.names[group as usize].clone())? else {
            return Err(violated("a row without a key"));
        };
        placed(&mut cells, key, sums.cell(execution))?;
    }
    Ok(cells)
}

/// The sums of some parts.
fn tally(
    execution: &Execution,
    shared: &ReaderContext,
    bounds: Option<Bounds>,
    parts: PartQueue<'_>,
) -> Result<GroupTally> {
    // Group numbers are dense: a list is quicker than a table, once per kept row.
    let mut sums: Vec<Option<Sums>> = Vec::new();
    sums.resize_with(locked(&shared.groups).names.len(), || None);
    for part in parts {
        let visit = |piece: &Bounder<'_>, tie: Tie<'_>| {
            piece.finish(tie, |place, values| {
                let cell = sums[place.group as usize].get_or_insert_with(|| Sums::nothing(execution));
                cell.add_row(execution, place.first, values);
            })
        };
        match bounds {
            None => shared.each(&shared.taken(part), shared.bounds, visit)?,
            Some(bounds) => shared.each(&locked(part), bounds, visit)?,
        }
    }
    let numbered = sums.into_iter().zip(0u32..).filter_map(|(sums, group)| Some((group, sums?)));
    Ok(GroupTally { groups: numbered.collect() })
}
