//! `scumble setup cluster`: a scheduler and executors of Apache Ballista, for those who have none.

use crate::failure::Failure;
use clap::{Args, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;

/// What `cluster` takes.
#[derive(Args)]
#[command(after_help = "A project file names it: [engine] cluster = \"ballista://127.0.0.1:50050\".\n\n\
                  Examples:\n  \
                  scumble setup cluster scheduler\n  \
                  scumble setup cluster executor --threads 4")]
pub struct ClusterArguments {
    #[command(subcommand)]
    node: ClusterCommand,
}

#[derive(Subcommand)]
enum ClusterCommand {
    /// Runs the scheduler, which gives work to executors
    Scheduler(SchedulerArguments),
    /// Runs an executor on files that it sees; start one on each machine
    Executor(ExecutorArguments),
}

#[derive(Args)]
#[command(after_help = "Example:\n  scumble setup cluster scheduler --listen 127.0.0.1:50050")]
struct SchedulerArguments {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:50050", value_name = "ADDRESS")]
    listen: SocketAddr,
    /// No password: anyone reaching it can run anything
    #[arg(long)]
    insecure_network: bool,
    /// Print the address as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  scumble setup cluster executor --scheduler 127.0.0.1:50050 --threads 4")]
struct ExecutorArguments {
    /// The scheduler
    #[arg(long, default_value = "127.0.0.1:50050", value_name = "HOST:PORT")]
    scheduler: String,
    /// Where others fetch results
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS")]
    listen: SocketAddr,
    /// Parts at once [default: all processors]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Where it keeps rows between steps, in a new folder
    #[arg(long, value_name = "FOLDER")]
    work_folder: Option<PathBuf>,
    /// No password: anyone reaching it can run anything
    #[arg(long)]
    insecure_network: bool,
    /// Print the address as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
#[cfg(not(feature = "cluster"))]
pub fn run(arguments: &ClusterArguments, _: bool) -> Result<(), Failure> {
    let (ClusterCommand::Scheduler(_) | ClusterCommand::Executor(_)) = &arguments.node;
    let how = "build it with cargo install --path crates/cli --features cluster";
    Err(Failure::Input(format!("this program was built without clusters: {how}")))
}

/// Runs the command.
#[cfg(feature = "cluster")]
pub fn run(arguments: &ClusterArguments, quiet: bool) -> Result<(), Failure> {
    match &arguments.node {
        ClusterCommand::Scheduler(arguments) => running::scheduler(arguments, quiet),
        ClusterCommand::Executor(arguments) => running::executor(arguments, quiet),
    }
}

#[cfg(feature = "cluster")]
mod running {
    use super::{ExecutorArguments, SchedulerArguments};
    use crate::failure::Failure;
    use crate::output::print;
    use serde_json::json;
    use std::net::SocketAddr;
    use std::path::Path;

    pub fn scheduler(arguments: &SchedulerArguments, quiet: bool) -> Result<(), Failure> {
        refuse_network(arguments.listen, arguments.insecure_network)?;
        let options = scumble_cluster::SchedulerOptions { listen: arguments.listen };
        let tell = |address| tell("scheduler", address, arguments.json, quiet);
        scumble_cluster::scheduler(&options, tell).map_err(Failure::Other)
    }

    pub fn executor(arguments: &ExecutorArguments, quiet: bool) -> Result<(), Failure> {
        refuse_network(arguments.listen, arguments.insecure_network)?;
        let wrong = || Failure::Input(format!("--scheduler must be HOST:PORT, not '{}'", arguments.scheduler));
        let (host, port) = arguments.scheduler.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        let outer = arguments.work_folder.clone().unwrap_or_else(std::env::temp_dir);
        let folder = work_folder(&outer).map_err(|error| {
            Failure::Input(format!(
                "cannot create a folder in {} ({error}): give another --work-folder",
                outer.display()
            ))
        })?;
        let options = scumble_cluster::ExecutorOptions {
            host: host.to_string(),
            port,
            listen: arguments.listen,
            threads: arguments.threads.map_or(all, usize::from),
            folder: folder.path().to_path_buf(),
        };
        let tell = |address| tell("executor", address, arguments.json, quiet);
        scumble_cluster::executor(&options, tell).map_err(Failure::Other)
    }

    /// How the names of work folders begin; the number of their process follows.
    const PREFIX: &str = "scumble-executor-";

    /// A folder for rows on their way, with the owner's access only, gone with the process. Those of processes that
    /// were killed are removed.
    fn work_folder(outer: &Path) -> std::io::Result<tempfile::TempDir> {
        for entry in std::fs::read_dir(outer)?.flatten() {
            let name = entry.file_name();
            let process =
                name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
            if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
                // Somebody else's is not ours to remove.
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        builder.prefix(&prefix).tempdir_in(outer)
    }

    fn refuse_network(listen: SocketAddr, is_allowed: bool) -> Result<(), Failure> {
        match listen.ip().is_loopback() || is_allowed {
            true => Ok(()),
            false => Err(Failure::Input(format!(
                "{listen} can be reached from other machines, and Ballista has no passwords: give --insecure-network \
                    if all who can reach it may run anything"
            ))),
        }
    }

    fn tell(what: &str, address: SocketAddr, as_json: bool, quiet: bool) {
        let text = match (as_json, quiet) {
            (true, _) => format!("{}\n", json!({ "address": address.to_string() })),
            (false, true) => format!("{address}\n"),
            (false, false) => format!("{what} listening on {address}\n"),
        };
        // The node runs even where the output is closed.
        let _ = print(&text);
    }
}
