//! A cluster for those who have none: one scheduler and some executors, each a process, as Ballista has them.
//!
//! Ballista asks nobody for a password: anybody who reaches a scheduler or an executor may run anything on it, with the
//! rights of its process. So both listen only on this machine, unless the curator declares that the network is private.

use crate::remote::STACK;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::error::BallistaError;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

/// An executor that says nothing for so many seconds is dead, and its work is given to others.
const DEAD_AFTER: u64 = 20;

/// How often the scheduler looks for dead ones, in seconds.
const LOOKS: u64 = 5;

/// Executors ask for work; the scheduler hands none out by itself. One that does (`PushStaged`) keeps a list of free
/// places, and Ballista 55 takes those of work that it stops because another executor died off that list for good:
/// after some deaths nothing runs any more, and everybody waits.
const POLICY: TaskSchedulingPolicy = TaskSchedulingPolicy::PullStaged;

/// How long rows on their way from one step of a statement to the next stay on an executor's disk, in seconds.
const ROWS_STAY: u64 = 3600;

/// The options of a scheduler.
#[derive(Debug, Clone)]
pub struct SchedulerOptions {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
}

/// The options of an executor.
#[derive(Debug, Clone)]
pub struct ExecutorOptions {
    /// The scheduler's host.
    pub host: String,
    /// The scheduler's port.
    pub port: u16,
    /// Where it listens for others that fetch its results; port 0 takes a free one.
    pub listen: SocketAddr,
    /// How many parts of a statement it works on at once.
    pub threads: usize,
    /// The folder for rows on their way, which nobody else may read.
    pub folder: PathBuf,
}

/// Runs a scheduler until the process ends; `tell` is given the address on which it listens.
pub fn scheduler(options: &SchedulerOptions, tell: impl FnOnce(SocketAddr)) -> Result<(), String> {
    let run = async {
        let listener = tokio::net::TcpListener::bind(options.listen).await.map_err(BallistaError::from)?;
        let address = listener.local_addr().map_err(BallistaError::from)?;
        let config = SchedulerConfig {
            bind_host: address.ip().to_string(),
            external_host: address.ip().to_string(),
            bind_port: address.port(),
            scheduling_policy: POLICY,
            executor_timeout_seconds: DEAD_AFTER,
            expire_dead_executor_interval_seconds: LOOKS,
            no_executors_grace_period_seconds: DEAD_AFTER,
            ..SchedulerConfig::default()
        };
        let cluster = BallistaCluster::new_from_config(&config).await?;
        let scheduler = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config)).await?;
        tell(address);
        start_grpc_service_with_listener(listener, scheduler).await
    };
    runtime()?.block_on(run).map_err(|error| format!("the scheduler on {} ends: {error}", options.listen))
}

/// Runs an executor until it is asked to stop; `tell` is called with the address on which it listens.
pub fn executor(options: &ExecutorOptions, tell: impl FnOnce(SocketAddr)) -> Result<(), String> {
    let address = free(options.listen).map_err(|_| format!("cannot listen on {}", options.listen))?;
    let other = free(SocketAddr::new(address.ip(), 0)).map_err(|_| format!("no port of {} is free", address.ip()))?;
    let config = ExecutorProcessConfig {
        bind_host: address.ip().to_string(),
        external_host: Some(address.ip().to_string()),
        port: address.port(),
        grpc_port: other.port(),
        scheduler_host: options.host.clone(),
        scheduler_port: options.port,
        task_scheduling_policy: POLICY,
        vcores: options.threads,
        work_dir: Some(options.folder.display().to_string()),
        job_data_ttl_seconds: ROWS_STAY,
        job_data_clean_up_interval_seconds: ROWS_STAY / 6,
        ..ExecutorProcessConfig::default()
    };
    tell(address);
    runtime()?.block_on(start_executor_process(Arc::new(config))).map_err(|error| match error {
        BallistaError::GrpcConnectionError(_) => {
            format!(
                "there is no scheduler at {}:{}: start one (scumble setup cluster scheduler)",
                options.host, options.port
            )
        }
        error => format!("the executor on {address} ends: {error}"),
    })
}

/// The address itself, or one with a port that nobody has.
fn free(address: SocketAddr) -> std::io::Result<SocketAddr> {
    TcpListener::bind(address)?.local_addr()
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let built = builder.enable_all().thread_stack_size(STACK).build();
    built.map_err(|error| format!("no threads could be started ({error})"))
}
