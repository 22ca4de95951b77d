//! The side of the program: a session with a cluster that others run.

use crate::whole::{Verdict, verdict};
use ballista::prelude::SessionContextExt;
use ballista_core::config::{BALLISTA_BROADCAST_JOIN_THRESHOLD_BYTES, BALLISTA_BROADCAST_JOIN_THRESHOLD_ROWS};
use ballista_core::execution_plans::DistributedQueryExec;
use ballista_core::extension::SessionConfigExt;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{CancelJobParams, GetJobMetricsParams};
use ballista_core::utils::create_grpc_client_endpoint;
use datafusion::arrow::array::{Array, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::error::DataFusionError;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_proto::protobuf::LogicalPlanNode;
use scumble_engine::cluster::{ClusterError, ClusterFiles, ClusterRow, ClusterRowsError, ClusterSession, name};
use scumble_engine::project::Cluster;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use url::Url;

/// Plans are deep, and are walked by recursion.
pub(crate) const STACK: usize = 32 << 20;

/// How long a scheduler may take to answer.
const DOOR: Duration = Duration::from_secs(10);

/// How long the look at the files may take. A cluster that has no executor never begins it.
const LOOK: Duration = Duration::from_secs(60);

/// How often a statement is run if it fails, or if it is not known that every row was counted once. The secret is the
/// same each time, so it gives the same rows; an executor that died between its work and the reading of its results
/// loses these.
const ATTEMPTS: usize = 5;

/// A scheduler's records of one job are at most so many bytes.
const RECORDS: usize = 64 << 20;

struct BallistaSession {
    runtime: Runtime,
    /// The scheduler's address, as its clients write it.
    door: String,
    context: SessionContext,
    tables: usize,
    timeout: Duration,
}

/// Connects to a cluster; names and types of columns are read from the ends of the tables' files.
pub(crate) fn connect(cluster: &Cluster, tables: &[ClusterFiles]) -> Result<Box<dyn ClusterSession>, ClusterError> {
    let host = cluster.host.trim_start_matches('[').trim_end_matches(']');
    let addresses = (host, cluster.port).to_socket_addrs().map_err(|_| ClusterError::Away)?;
    let is_open = |address| TcpStream::connect_timeout(&address, DOOR).is_ok();
    if !addresses.into_iter().any(is_open) {
        return Err(ClusterError::Away);
    }
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.enable_all().thread_stack_size(STACK).build().map_err(|_| ClusterError::Failed)?;
    let url = format!("df://{}:{}", cluster.host, cluster.port);
    let context = runtime.block_on(session(&url)).map_err(|_| ClusterError::Away)?;
    for (index, (table, files)) in tables.iter().enumerate() {
        let registered = runtime.block_on(register(&context, &name(index), files));
        registered.map_err(|_| ClusterError::Unreadable(table.clone()))?;
    }
    let door = format!("http://{}:{}", cluster.host, cluster.port);
    Ok(Box::new(BallistaSession {
        runtime,
        door,
        context,
        tables: tables.len(),
        timeout: Duration::from_secs(cluster.timeout),
    }))
}

async fn session(url: &str) -> Result<SessionContext, DataFusionError> {
    // A plan that is changed on the way (Ballista 55) may lose the order that windows need, and then fails.
    let mut config =
        SessionConfig::new_with_ballista().with_ballista_adaptive_query_planner(false).with_information_schema(false);
    let options = config.options_mut();
    // All texts have one type, as in our own pass.
    options.sql_parser.map_string_types_to_utf8view = false;
    options.execution.parquet.schema_force_view_types = false;
    // A side of a join that every part reads would be read several times, and nobody could say whether that is too
    // often (see `whole`).
    options.optimizer.hash_join_single_partition_threshold = 0;
    options.optimizer.hash_join_single_partition_threshold_rows = 0;
    options.set(BALLISTA_BROADCAST_JOIN_THRESHOLD_BYTES, "0")?;
    options.set(BALLISTA_BROADCAST_JOIN_THRESHOLD_ROWS, "0")?;
    let state = SessionStateBuilder::new().with_config(config).with_default_features().build();
    SessionContext::remote_with_state(url, state).await
}

/// Tells the session which files a table has. They are addresses and no patterns: a bracket in a name is one.
async fn register(context: &SessionContext, name: &str, files: &[PathBuf]) -> Result<(), DataFusionError> {
    let address = |file: &PathBuf| match Url::from_file_path(file) {
        Ok(url) => ListingTableUrl::parse(url.as_str()),
        Err(()) => Err(DataFusionError::Plan("a path that is not absolute".to_string())),
    };
    let addresses = files.iter().map(address).collect::<Result<Vec<ListingTableUrl>, DataFusionError>>()?;
    // Which files these are was decided already, whatever their names end in.
    let options = ListingOptions::new(Arc::new(ParquetFormat::default())).with_file_extension("");
    let config = ListingTableConfig::new_with_multi_paths(addresses).with_listing_options(options);
    let table = ListingTable::try_new(config.infer_schema(&context.state()).await?)?;
    context.register_table(name, Arc::new(table)).map(drop)
}

impl BallistaSession {
    /// The batches of a statement, unless it takes too long, and what is known of them. Nothing goes on working for a
    /// result that nobody waits for.
    fn batches(&self, statement: &str, most: Duration) -> Result<(Vec<RecordBatch>, Verdict), StatementFailure> {
        self.runtime.block_on(async {
            let plan = self.context.sql(statement).await.map_err(said)?.create_physical_plan().await.map_err(said)?;
            match tokio::time::timeout(most, self.collected(&plan)).await {
                Ok(done) => done.map_err(said),
                Err(_) => {
                    let _ = tokio::time::timeout(DOOR, self.cancelled(&plan)).await;
                    Err(StatementFailure::TooLong)
                }
            }
        })
    }

    async fn collected(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<(Vec<RecordBatch>, Verdict), DataFusionError> {
        let batches = collect(Arc::clone(plan), self.context.task_ctx()).await?;
        let received = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        let known = self.known(plan, received).await;
        Ok((batches, known.unwrap_or(Verdict::Unknown)))
    }

    /// What the scheduler's records of the job that a plan was say of a result; nothing where there are none.
    async fn known(&self, plan: &Arc<dyn ExecutionPlan>, received: u64) -> Option<Verdict> {
        let job_id = job(plan)?;
        let connection = create_grpc_client_endpoint(self.door.clone(), None).ok()?.connect().await.ok()?;
        let mut scheduler = SchedulerGrpcClient::new(connection).max_decoding_message_size(RECORDS);
        let asked = scheduler.get_job_metrics(GetJobMetricsParams { job_id }).await;
        Some(verdict(&asked.ok()?.into_inner(), received))
    }

    /// Tells the scheduler that nobody waits for the job that a plan was.
    async fn cancelled(&self, plan: &Arc<dyn ExecutionPlan>) -> Option<()> {
        let job_id = job(plan)?;
        let connection = create_grpc_client_endpoint(self.door.clone(), None).ok()?.connect().await.ok()?;
        SchedulerGrpcClient::new(connection).cancel_job(CancelJobParams { job_id }).await.ok().map(drop)
    }
}

/// The name of the job that a plan was, if it was one.
fn job(plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
    plan.downcast_ref::<DistributedQueryExec<LogicalPlanNode>>()?.job_id().map(|job| job.to_string())
}

fn said(error: DataFusionError) -> StatementFailure {
    StatementFailure::Said(error.to_string())
}

/// Why a statement has no result.
enum StatementFailure {
    Said(String),
    TooLong,
}

impl ClusterSession for BallistaSession {
    fn plan(&self, statement: &str) -> Result<(), ClusterError> {
        let planned = self.runtime.block_on(async {
            let frame = self.context.sql(statement).await?;
            self.context.state().optimize(frame.logical_plan())
        });
        planned.map(drop).map_err(|_| ClusterError::Unplanned)
    }

    /// First a statement without a table: if it is answered, there is a scheduler, and an executor works. Then the
    /// number of rows of each table, which stands at the end of its files: no column is read, so a failure here depends
    /// on no value.
    fn ready(&self) -> Result<(), ClusterError> {
        let most = LOOK.min(self.timeout);
        // What is known here would answer by itself, were it not for a number that nobody knows before.
        match self.batches("SELECT COUNT(*) FROM (VALUES (1)) scumble_look WHERE random() < 2.0", most) {
            Err(StatementFailure::TooLong) => return Err(ClusterError::Idle),
            // A scheduler that keeps no records would leave every answer in doubt.
            Err(StatementFailure::Said(_)) | Ok((_, Verdict::Unknown)) => return Err(ClusterError::Strange),
            Ok(_) => {}
        }
        for table in (0..self.tables).map(name) {
            let look = format!(
                "SELECT COUNT(*) FROM (SELECT 1 AS scumble_one FROM {table} LIMIT 1) scumble_look WHERE random() < 2.0"
            );
            match self.batches(&look, most) {
                Err(StatementFailure::TooLong) => return Err(ClusterError::Idle),
                Err(StatementFailure::Said(text)) if is_about_opening(&text) => return Err(ClusterError::Unseen),
                Err(StatementFailure::Said(_)) => return Err(ClusterError::Unplanned),
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// The rows of a statement, with every row counted once. A join that read less than there was to read is believed
    /// when it gives the same rows again.
    fn rows(&self, statement: &str) -> Result<Vec<ClusterRow>, ClusterRowsError> {
        let deadline = Instant::now() + self.timeout;
        let mut short: Option<Vec<ClusterRow>> = None;
        for _ in 0..ATTEMPTS {
            match self.batches(statement, deadline.saturating_duration_since(Instant::now())) {
                Ok((_, Verdict::Unknown)) => {}
                Ok((batches, known)) => {
                    let rows = sorted(rows_of(&batches).ok_or(ClusterRowsError::Failed)?);
                    if known == Verdict::Whole || short.as_ref() == Some(&rows) {
                        return Ok(rows);
                    }
                    short = Some(rows);
                }
                Err(StatementFailure::TooLong) => return Err(ClusterRowsError::TooLong),
                // What was said may quote values: it decides nothing.
                Err(StatementFailure::Said(_)) => {}
            }
        }
        Err(ClusterRowsError::Failed)
    }
}

/// Rows in an order that does not depend on who was quicker.
fn sorted(mut rows: Vec<ClusterRow>) -> Vec<ClusterRow> {
    rows.sort();
    rows
}

/// Whether an executor says that a file is not there, or not for it. (It says so in the words of its object store.)
fn is_about_opening(text: &str) -> bool {
    let text = text.to_lowercase();
    ["no such file", "not found", "notfound", "permission denied"].iter().any(|words| text.contains(words))
}

/// The rows of batches as texts; none where a column is of a type that has none.
fn rows_of(batches: &[RecordBatch]) -> Option<Vec<ClusterRow>> {
    let mut rows = Vec::new();
    for batch in batches {
        let texts = batch.columns().iter().map(|column| cast(column, &DataType::Utf8).ok());
        let texts = texts.collect::<Option<Vec<_>>>()?;
        let texts: Vec<&StringArray> =
            texts.iter().map(|column| column.as_any().downcast_ref()).collect::<Option<_>>()?;
        let cell = |column: &StringArray, row: usize| column.is_valid(row).then(|| column.value(row).to_string());
        rows.extend(
            (0..batch.num_rows()).map(|row| texts.iter().map(|column| cell(column, row)).collect::<ClusterRow>()),
        );
    }
    Some(rows)
}
