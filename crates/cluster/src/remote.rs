//! The side of the program: a session with a cluster that others run.

use ballista::prelude::SessionContextExt;
use ballista_core::extension::SessionConfigExt;
use datafusion::arrow::array::{Array, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use scumble_engine::cluster::{Row, Session, Trouble};
use scumble_engine::project::Cluster;
use std::collections::BTreeMap;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Plans are deep, and are walked by recursion.
pub(crate) const STACK: usize = 32 << 20;

/// How long a scheduler may take to answer.
const DOOR: Duration = Duration::from_secs(10);

/// How long the look at the files may take. A cluster that has no executor never begins it.
const LOOK: Duration = Duration::from_secs(60);

/// How often a statement is run that fails. The secret is the same each time, so it gives the same rows; an executor that died between its work and
/// the reading of its results loses these.
const ATTEMPTS: usize = 3;

struct Remote {
    runtime: Runtime,
    context: SessionContext,
    tables: BTreeMap<String, BTreeMap<String, DataType>>,
    timeout: Duration,
}

/// Connects to a cluster; the columns of the tables are read from their files, of which only the end is looked at.
pub(crate) fn connect(cluster: &Cluster, tables: &[(String, PathBuf)]) -> Result<Box<dyn Session>, Trouble> {
    let host = cluster.host.trim_start_matches('[').trim_end_matches(']');
    let addresses = (host, cluster.port).to_socket_addrs().map_err(|_| Trouble::Away)?;
    let is_open = |address| TcpStream::connect_timeout(&address, DOOR).is_ok();
    if !addresses.into_iter().any(is_open) {
        return Err(Trouble::Away);
    }
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.enable_all().thread_stack_size(STACK).build().map_err(|_| Trouble::Failed)?;
    let url = format!("df://{}:{}", cluster.host, cluster.port);
    let mut remote = Remote {
        context: runtime.block_on(session(&url)).map_err(|_| Trouble::Away)?,
        runtime,
        tables: BTreeMap::new(),
        timeout: Duration::from_secs(cluster.timeout),
    };
    for (name, path) in tables {
        let columns = remote.register(name, path).map_err(|_| Trouble::Unreadable(name.clone()))?;
        remote.tables.insert(name.clone(), columns);
    }
    Ok(Box::new(remote))
}

async fn session(url: &str) -> Result<SessionContext, DataFusionError> {
    // A plan that is changed on the way (Ballista 55) may lose the order that windows need, and then fails.
    let mut config =
        SessionConfig::new_with_ballista().with_ballista_adaptive_query_planner(false).with_information_schema(false);
    let options = config.options_mut();
    // All texts have one type, as in our own pass.
    options.sql_parser.map_string_types_to_utf8view = false;
    options.execution.parquet.schema_force_view_types = false;
    let state = SessionStateBuilder::new().with_config(config).with_default_features().build();
    SessionContext::remote_with_state(url, state).await
}

impl Remote {
    fn register(&self, name: &str, path: &Path) -> Result<BTreeMap<String, DataType>, DataFusionError> {
        let end = if path.is_dir() { "/" } else { "" };
        let url = format!("{}{end}", path.display());
        // A name is taken as it is: without quotes it would be one in small letters.
        let quoted = format!("\"{}\"", name.replace('"', "\"\""));
        let columns = self.runtime.block_on(async {
            self.context.register_parquet(quoted.as_str(), &url, ParquetReadOptions::default()).await?;
            let table = self.context.table(quoted.as_str()).await?;
            Ok::<_, DataFusionError>(table.schema().as_arrow().fields().clone())
        })?;
        Ok(columns.iter().map(|field| named(field)).collect())
    }

    /// The batches of a statement, unless it takes too long.
    fn batches(&self, statement: &str, most: Duration) -> Result<Vec<RecordBatch>, Failure> {
        self.runtime.block_on(async {
            let run = async { self.context.sql(statement).await?.collect().await };
            match tokio::time::timeout(most, run).await {
                Ok(done) => done.map_err(|error| Failure::Said(error.to_string())),
                Err(_) => Err(Failure::TooLong),
            }
        })
    }
}

/// Why a statement has no result.
enum Failure {
    Said(String),
    TooLong,
}

impl Session for Remote {
    fn columns(&self, table: &str) -> BTreeMap<String, DataType> {
        self.tables.get(table).cloned().unwrap_or_default()
    }

    fn plan(&self, statement: &str) -> Result<(), Trouble> {
        let planned = self.runtime.block_on(async {
            let frame = self.context.sql(statement).await?;
            self.context.state().optimize(frame.logical_plan())
        });
        planned.map(drop).map_err(|_| Trouble::Unplanned)
    }

    /// At most one row of each part of a table is read by executors, and what is in it makes no difference: any failure other than that the files cannot
    /// be opened is left to the statement itself, behind the charge. Whether there is a row makes none either.
    fn ready(&self) -> Result<(), Trouble> {
        for table in self.tables.keys() {
            // What is known of the files here would answer without them, were it not for a number that nobody knows before.
            let look = format!(
                "SELECT COUNT(*) FROM (SELECT 1 AS scumble_one FROM \"{}\" LIMIT 1) scumble_look WHERE random() < 2.0",
                table.replace('"', "\"\"")
            );
            match self.batches(&look, LOOK.min(self.timeout)) {
                Err(Failure::TooLong) => return Err(Trouble::Idle),
                Err(Failure::Said(text)) if is_about_opening(&text) => return Err(Trouble::Unseen),
                _ => {}
            }
        }
        Ok(())
    }

    fn rows(&self, statement: &str) -> Result<Vec<Row>, Trouble> {
        let mut trouble = Trouble::Failed;
        for _ in 0..ATTEMPTS {
            match self.batches(statement, self.timeout) {
                Ok(batches) => return rows_of(&batches).ok_or(Trouble::Failed),
                Err(Failure::TooLong) => return Err(Trouble::TooLong),
                Err(Failure::Said(text)) if is_about_opening(&text) => trouble = Trouble::Unseen,
                Err(Failure::Said(_)) => trouble = Trouble::Failed,
            }
        }
        Err(trouble)
    }
}

fn named(field: &Field) -> (String, DataType) {
    (field.name().clone(), field.data_type().clone())
}

/// Whether an executor says that a file is not there, or not for it. (It says so in the words of its object store.)
fn is_about_opening(text: &str) -> bool {
    let text = text.to_lowercase();
    ["no such file", "not found", "notfound", "permission denied"].iter().any(|words| text.contains(words))
}

/// The rows of batches as texts; none where a column is of a type that has none.
fn rows_of(batches: &[RecordBatch]) -> Option<Vec<Row>> {
    let mut rows = Vec::new();
    for batch in batches {
        let texts = batch.columns().iter().map(|column| cast(column, &DataType::Utf8).ok());
        let texts = texts.collect::<Option<Vec<_>>>()?;
        let texts: Vec<&StringArray> =
            texts.iter().map(|column| column.as_any().downcast_ref()).collect::<Option<_>>()?;
        let cell = |column: &StringArray, row: usize| column.is_valid(row).then(|| column.value(row).to_string());
        rows.extend((0..batch.num_rows()).map(|row| texts.iter().map(|column| cell(column, row)).collect::<Row>()));
    }
    Some(rows)
}
