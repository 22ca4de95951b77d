//! The embedded backend: Apache DataFusion in this process.
//!
//! It knows tables and integers, and no noise: what leaves it are the exact sums of a bounded plan.

pub(crate) mod bounding;
pub mod check;
mod columns;
pub(crate) mod csv;
mod decode;
pub(crate) mod files;
pub(crate) mod functions;
pub(crate) mod hash;
pub(crate) mod intern;
mod json;
pub(crate) mod key_sets;
mod lengths;
pub(crate) mod memory;
pub(crate) mod public_rows;
pub(crate) mod ranks;
mod rows;
pub(crate) mod sources;
pub(crate) mod spill;
pub(crate) mod text;
pub(crate) mod value;
mod watch;

pub use watch::Watch;

use crate::error::{DataFusionResult, Error, Result};
use crate::project::Project;
use crate::room::with_room;
use crate::stop::Stop;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::execution::{FunctionRegistry, TaskContext};
use datafusion::functions::datetime::planner::DatetimeFunctionPlanner;
use datafusion::functions::unicode::planner::UnicodeFunctionPlanner;
use datafusion::logical_expr::{LogicalPlan, SubqueryAlias, TableScan};
use datafusion::parquet::errors::ParquetError;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use memory::Memory;
use std::collections::HashMap;
use std::error::Error as StdError;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// A session of DataFusion that knows a project's tables.
pub struct Backend {
    pub(crate) context: SessionContext,
    runtime: tokio::runtime::Runtime,
    /// How to read each table.
    sources: HashMap<String, ReadPlan>,
    /// Whether to go on.
    stop: Stop,
    /// How much memory rows may take.
    pub(crate) memory: Memory,
    /// How many threads work at once.
    pub(crate) threads: usize,
    /// How far reading has come.
    pub(crate) watch: Arc<Watch>,
}

/// How to read a table.
struct ReadPlan {
    plan: LogicalPlan,
    /// The owner's column.
    owner: Option<String>,
    /// About how many rows it has, where that is known.
    rows: Option<u64>,
}

/// An error where this many threads cannot be had at once beside those that are there: what starts them for plans would
/// panic, and wait for ever.
fn can_start(threads: usize) -> std::io::Result<()> {
    let gate = Arc::new(RwLock::new(()));
    let closed = gate.write();
    let start = |_| {
        let gate = Arc::clone(&gate);
        std::thread::Builder::new().stack_size(STACK).spawn(move || drop(gate.read()))
    };
    let started: Vec<_> = (0..threads).map(start).collect();
    drop(closed);
    started.into_iter().try_for_each(|thread| thread.map(|thread| drop(thread.join())))
}

/// Deep expressions are evaluated by recursion: [`crate::sql`] limits how deep they are, and this is room for that.
const STACK: usize = 16 << 20;
/// Threads that a plan may start beside one for each processor.
const SPARE_THREADS: usize = 2;

impl Backend {
    /// A session that knows the tables' declared columns, and touches no data.
    pub fn without_data(project: &Project) -> Result<Self> {
        let mut backend = Self::session(SessionConfig::new())?;
        backend.stop = project.stop.clone();
        sources::register_declarations(&backend.context, project)?;
        Ok(backend)
    }

    /// A session that reads the tables `names` from their sources: clamped, and with the declared columns only. The
    /// others are known without data.
    pub fn with_data(project: &Project, names: &[String]) -> Result<Self> {
        let mut backend = Self::without_data(project)?;
        backend.memory = Memory::of(project);
        backend.memory.folders.iter().for_each(|folder| spill::remove_left_over(folder));
        let tables = names.iter().map(|name| project.table(name)).collect::<Result<Vec<_>>>()?;
        // A curator who declares a cluster has a reason not to have rows here; public tables may be anywhere.
        if let (Some(cluster), Some(table)) = (&project.cluster, tables.iter().find(|table| !table.public)) {
            return Err(Error::input(format!(
                "the rows of table '{}' would be read here, and the project file says that {cluster} computes with \
                    them: remove [engine] to read them here",
                table.name
            )));
        }
        for (table, plan) in tables.iter().zip(sources::sources(&tables)?) {
            let plan = backend.coerced(plan).map_err(|error| sources::unusable(table, &error))?;
            let (owner, rows) = (table.owner.clone(), sources::expected_rows(table));
            backend.sources.insert(table.name.clone(), ReadPlan { plan, owner, rows });
        }
        Ok(backend)
    }

    /// Gives a table its rows from memory, in the declared types, in the place of its source.
    #[cfg(any(test, feature = "generator"))]
    pub(crate) fn give(
        &mut self,
        project: &Project,
        name: &str,
        rows: datafusion::arrow::array::RecordBatch,
    ) -> Result<()> {
        let table = project.table(name)?;
        let plan = self.coerced(sources::given(table, rows)?).map_err(|error| sources::unusable(table, &error))?;
        self.sources.insert(name.to_string(), ReadPlan { plan, owner: table.owner.clone(), rows: None });
        Ok(())
    }

    /// The session without tables, for what is done with released numbers: in one partition, so that rows keep their
    /// order. A process has one: nothing private is in it, and a new one for each release takes a millisecond and its
    /// threads. A forked process has none of these threads, and makes its own.
    pub(crate) fn empty() -> Result<&'static Self> {
        static EMPTY: Mutex<Option<(u32, &'static Backend)>> = Mutex::new(None);
        let mut shared = EMPTY.lock().unwrap_or_else(PoisonError::into_inner);
        match *shared {
            Some((process, session)) if process == std::process::id() => Ok(session),
            _ => {
                let session = Self::session(SessionConfig::new().with_target_partitions(1))?;
                Ok(shared.insert((std::process::id(), Box::leak(Box::new(session)))).1)
            }
        }
    }

    pub(crate) fn session(config: SessionConfig) -> Result<Self> {
        let mut config = config.with_information_schema(false);
        let options = config.options_mut();
        options.sql_parser.parse_float_as_decimal = false;
        // All texts have one type, in files, in plans and in queries: then no plan holds a conversion of texts that was
        // not analysed.
        options.sql_parser.map_string_types_to_utf8view = false;
        options.execution.parquet.schema_force_view_types = false;
        // It stops plans whose optimiser found that a column is never NULL; the types of what comes back are checked by
        // `sql::executed`.
        options.execution.skip_physical_aggregate_schema_check = true;
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        // Asked for by number: otherwise a variable of the environment decides, and 0 there is a panic.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        can_start(threads + SPARE_THREADS)
            .map_err(|error| Error::machine(format!("no threads could be started ({error})")))?;
        let runtime = builder
            .worker_threads(threads)
            .thread_stack_size(STACK)
            .build()
            .map_err(|error| Error::machine(format!("no threads could be started ({error})")))?;
        let mut context = SessionContext::new_with_config(config);
        // EXTRACT is date_part in other words.
        context
            .register_expr_planner(Arc::new(DatetimeFunctionPlanner))
            .map_err(|error| Error::machine(format!("no session could be opened ({})", error.message())))?;
        // SUBSTR and SUBSTRING have a syntax of their own, which only this knows.
        let planner = Arc::new(UnicodeFunctionPlanner);
        context
            .register_expr_planner(planner)
            .map_err(|_| Error::machine("the functions on strings could not be registered"))?;
        let (memory, watch) = (Memory::default(), Arc::default());
        Ok(Self { context, runtime, sources: HashMap::new(), stop: Stop::default(), memory, threads, watch })
    }

    /// Runs to the end, unless somebody asks the project's work to stop. Optimizers call themselves as often as an
    /// expression is deep.
    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        with_room(|| self.runtime.block_on(self.stop.or(future)))
    }

    /// The plan with the casts that its types need, all of them written out: what [`Backend::run`] runs as it is.
    pub(crate) fn coerced(&self, plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
        let state = self.context.state();
        state.analyzer().execute_and_check(plan, state.config_options(), |_, _| ())
    }

    /// The plan with each declared table replaced by what reads its source, every node else as it is.
    ///
    /// # Guarantee
    /// After: all columns but owners have the types that they had, so that every expression means what it meant; an
    /// owner is a whole number of 64 bits or a text.
    pub(crate) fn with_sources(&self, plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
        let replaced = plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::TableScan(scan) => match self.sources.get(scan.table_name.table()) {
                Some(source) => {
                    source.fits(&scan)?;
                    let alias = SubqueryAlias::try_new(Arc::new(source.plan.clone()), scan.table_name)?;
                    Ok(Transformed::yes(LogicalPlan::SubqueryAlias(alias)))
                }
                None => Err(DataFusionError::Plan("a table without a source".to_string())),
            },
            // The owner's type is known only now.
            other => other.recompute_schema().map(Transformed::yes),
        });
        replaced.map(|replaced| replaced.data)
    }

    /// A coerced plan, to be optimised and run: no cast is put in any more.
    pub(crate) fn run(&self, plan: LogicalPlan) -> DataFrame {
        DataFrame::new(self.without_coercion(), plan)
    }

    /// A frame's plan as it runs, which is watched from now on; reading is about this share of the work.
    pub(crate) async fn physical(
        &self,
        frame: &DataFrame,
        share: f64,
    ) -> DataFusionResult<(Arc<dyn ExecutionPlan>, Arc<TaskContext>)> {
        let plan = frame.create_physical_plan().await?;
        self.watch.reads(Arc::clone(&plan), self.expected_rows(frame.logical_plan()), share);
        Ok((plan, Arc::new(frame.task_ctx())))
    }

    /// About how many rows a plan reads from its sources, where that is known.
    fn expected_rows(&self, plan: &LogicalPlan) -> Option<u64> {
        let mut expected = Some(0u64);
        let walked = plan.apply(|node| {
            if let LogicalPlan::TableScan(scan) = node {
                let rows = self.sources.get(scan.table_name.table()).and_then(|source| source.rows);
                expected = expected.zip(rows).map(|(sum, rows)| sum.saturating_add(rows));
            }
            Ok(TreeNodeRecursion::Continue)
        });
        walked.ok().and(expected)
    }

    /// The same with this many threads and partitions, for tests that compare what these give.
    #[cfg(test)]
    pub(crate) fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self.context.state_ref().write().config_mut().options_mut().execution.target_partitions = threads;
        self
    }

    fn without_coercion(&self) -> SessionState {
        SessionStateBuilder::new_from_existing(self.context.state()).with_analyzer_rules(Vec::new()).build()
    }
}

impl ReadPlan {
    /// Whether the source has the declared columns, in their order and types; the owner's type is the source's.
    fn fits(&self, scan: &TableScan) -> DataFusionResult<()> {
        let declared = scan.projected_schema.fields();
        let found = self.plan.schema().fields();
        let same = declared.len() == found.len()
            && declared.iter().zip(found).all(|(declared, found)| {
                let opaque = self.owner.as_ref() == Some(found.name())
                    && matches!(found.data_type(), DataType::Int64 | DataType::Utf8);
                declared.name() == found.name() && (opaque || declared.data_type() == found.data_type())
            });
        match same {
            true => Ok(()),
            false => Err(DataFusionError::Plan("a source whose columns do not have their declared types".to_string())),
        }
    }
}

/// What went wrong while reading data, without any value of it: messages quote values, kinds of errors do not.
pub(crate) fn failed_on_data(error: &DataFusionError) -> Error {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(here) = cause {
        if let Some(known) = known_failure(here) {
            return known;
        }
        cause = here.source();
    }
    Error::input("the data could not be read by this query (the reason may hold private values, so it is not shown)")
}

/// What an error says by its kind alone.
fn known_failure(error: &(dyn StdError + 'static)) -> Option<Error> {
    if let Some(DataFusionError::ResourcesExhausted(_)) = error.downcast_ref() {
        return Some(Error::machine("the query needs more memory than there is"));
    }
    if error.is::<ParquetError>() {
        return Some(Error::input("a Parquet file is damaged or is not Parquet"));
    }
    match error.downcast_ref()? {
        ArrowError::DivideByZero
        | ArrowError::ArithmeticOverflow(_)
        | ArrowError::CastError(_)
        | ArrowError::ComputeError(_)
        | ArrowError::ParseError(_) => Some(Error::input(
            "the query divides by zero, overflows or casts what does not fit on this data; guard it with CASE or \
                NULLIF, or use TRY_CAST",
        )),
        ArrowError::ParquetError(_) => Some(Error::input("a Parquet file is damaged or is not Parquet")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages were searched for words: a value such as "overflow" decided how an error that quoted it was reported.
    #[test]
    fn what_is_said_of_data_depends_on_kinds_of_errors_and_quotes_nothing() {
        let arrow = |error: ArrowError| DataFusionError::ArrowError(Box::new(error), None);
        let cast = arrow(ArrowError::CastError("Cannot cast 'secret' to Int64".to_string()));
        let full = DataFusionError::ResourcesExhausted("secret".to_string());
        let quoting = DataFusionError::Execution("the secret 'overflow' of a parquet in utf8".to_string());
        for (error, said) in [
            (DataFusionError::Shared(Arc::new(cast)), "casts what does not fit"),
            (arrow(ArrowError::ExternalError(Box::new(full))), "more memory"),
            (DataFusionError::from(ParquetError::General("secret".to_string())).context("secret"), "damaged"),
            (arrow(ArrowError::SchemaError("secret cast error".to_string())), "is not shown"),
            (quoting, "is not shown"),
        ] {
            let sentence = failed_on_data(&error).to_string();
            assert!(sentence.contains(said) && !sentence.contains("secret"), "{error}: {sentence}");
        }
    }
}
