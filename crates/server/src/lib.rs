//! A project served to many people: a curator sets the budget, analysts query, everybody sees what is left, and nobody
//! can exceed it.
//!
//! [`serve`] starts it, and [`access`] says who may query. Behind every protocol, [`service::Service`] identifies the
//! person and answers, with the engine and the ledger of the command line.

pub mod access;
mod addresses;
mod http;
mod listen;
mod metrics;
mod people;
mod postgres;
pub mod refusal;
pub mod service;
mod session;
mod slow;
mod tls;

use addresses::AddressSlots;
use http::App;
use listen::HttpEndpoint;
use people::PersonSlots;
use scumble_engine::project::Project;
use scumble_engine::{Error, Result};
use service::Service;
use session::Sessions;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Queries are planned by recursion; what the engine allows has room here.
const STACK: usize = 32 << 20;
/// This many threads wait for tables and the ledger, beside two for each processor: more than have a place at work, so
/// that nobody who has one waits.
const AT_WORK: usize = 64;
/// One person holds at most this part of the connections of PostgreSQL's clients.
const PEOPLE: usize = 4;
/// Files that are open beside connections.
const OTHER_FILES: u64 = 128;

/// What is served, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// The project file.
    pub project: PathBuf,
    /// Another ledger than the project's.
    pub ledger: Option<PathBuf>,
    /// The folder for outputs, instead of `out` beside the project file.
    pub out: Option<PathBuf>,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where to listen for PostgreSQL's clients, if for them too.
    pub postgres: Option<SocketAddr>,
    /// The files of the certificate and of its key.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Listen beyond this machine without TLS.
    pub insecure_http: bool,
    /// The names by which the server is called, beside its address.
    pub hosts: Vec<String>,
    /// The times of answers are rounded up to a multiple of this.
    pub answer_time: Option<Duration>,
    /// This many connections at once.
    pub connections: usize,
    /// The most connections from one address; half of all by default.
    pub connections_each: Option<usize>,
    /// Whether requests are logged, without what they hold, on standard error.
    pub logs: bool,
}

/// A server that listens.
#[derive(Debug, Clone)]
pub struct ListeningServer {
    /// Where.
    pub address: SocketAddr,
    /// Where for PostgreSQL's clients.
    pub postgres: Option<SocketAddr>,
    /// A link that makes the first person who opens it a curator, once.
    pub link: String,
}

/// Serves a project until the process gets SIGTERM or SIGINT: then it begins nothing new and ends what has begun; a
/// second signal stops at once. `started` is called when it listens.
pub fn serve(options: &Options, started: impl FnOnce(&ListeningServer)) -> Result<()> {
    refuse_plain(options)?;
    let tls = options.tls.as_ref().map(|(certificate, key)| tls::config(certificate, key)).transpose()?;
    let service = Service::new(Project::open(&options.project)?, options.ledger.clone(), options.out.clone());
    let service = Arc::new(service.map_err(|refusal| Error::input(refusal.to_string()))?);
    let (sessions, link) = Sessions::begin()?;
    if options.logs {
        // A program that has set up another log already keeps it.
        let _ = tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).with_target(false).try_init();
    }
    // Each door has its half.
    let most = (options.connections.min(open_files()) / if options.postgres.is_some() { 2 } else { 1 }).max(1);
    let most_each = options.connections_each.unwrap_or(most.div_ceil(2)).max(1);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let threads = std::thread::available_parallelism().map_or(2, usize::from).max(2);
    let runtime = builder
        .worker_threads(threads)
        .max_blocking_threads(AT_WORK + 2 * threads)
        .thread_stack_size(STACK)
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Error::machine(format!("no threads could be started ({error})")))?;
    let done: Result<()> = runtime.block_on(async {
        let (listener, address) = bound("--listen", options.listen).await?;
        let postgres = match options.postgres {
            Some(address) => Some(bound("--postgres", address).await?),
            None => None,
        };
        let scheme = if tls.is_some() { "https" } else { "http" };
        let hosts = hosts(options, address);
        let name =
            hosts.last().filter(|_| !options.hosts.is_empty()).cloned().unwrap_or_else(|| reached(address).to_string());
        let app = App {
            service: Arc::clone(&service),
            sessions,
            answer_time: options.answer_time,
            hosts,
            is_secure: tls.is_some(),
        };
        let for_clients = postgres::PostgresEndpoint {
            service: Arc::clone(&service),
            tls: tls.clone(),
            places: AddressSlots::new(most, most_each),
            people: PersonSlots::new(most_each.min(most.div_ceil(PEOPLE)).max(1)),
            answer_time: options.answer_time,
        };
        let places = AddressSlots::new(most, most_each);
        let door = HttpEndpoint { router: http::router(Arc::new(app)), service: Arc::clone(&service), tls, places };
        let (stop, stopping) = watch::channel(false);
        let signals = signals()?;
        let link = format!("{scheme}://{name}/enter#{link}");
        started(&ListeningServer { address, postgres: postgres.as_ref().map(|(_, address)| *address), link });
        let serving = async {
            let second = async {
                if let Some((listener, _)) = postgres {
                    for_clients.serve(listener, stopping.clone()).await;
                }
            };
            tokio::join!(door.serve(listener, stopping.clone()), second);
        };
        until_signalled(serving, signals, || {
            service.stop();
            let _ = stop.send(true);
        })
        .await;
        Ok(())
    });
    // What is still at work after a second signal is not waited for: what it has charged is in the ledger.
    runtime.shutdown_background();
    done
}

/// Plain HTTP shows tokens and answers to everybody on the network path.
fn refuse_plain(options: &Options) -> Result<()> {
    let beyond = [Some(options.listen), options.postgres].into_iter().flatten().find(|one| !one.ip().is_loopback());
    let Some(beyond) = beyond.filter(|_| options.tls.is_none() && !options.insecure_http) else { return Ok(()) };
    Err(Error::input(format!(
        "{} can be reached from other machines, and needs TLS: give --tls-certificate and --tls-key, or \
            --insecure-http where something else encrypts",
        beyond
    )))
}

/// The names by which a server on this machine's own address may be called; beyond it any, unless some were given.
fn hosts(options: &Options, address: SocketAddr) -> Vec<String> {
    let port = address.port();
    let mut hosts = Vec::new();
    if address.ip().is_loopback() {
        hosts.extend([
            address.to_string(),
            format!("localhost:{port}"),
            format!("127.0.0.1:{port}"),
            format!("[::1]:{port}"),
        ]);
    }
    // What stands before a server may call it without its port.
    hosts.extend(options.hosts.iter().flat_map(|name| [name.clone(), format!("{name}:{port}")]));
    hosts
}

/// An address that leads to the server from this machine.
fn reached(address: SocketAddr) -> SocketAddr {
    let own = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(own, address.port())
}

/// How many connections may wait to be accepted. With the usual 128 a flood gets no refusal: a connection that comes
/// late waits for a second, and then is dropped.
const WAITING: u32 = 4096;

/// Listens on an address that an option gives; where that is.
async fn bound(option: &str, address: SocketAddr) -> Result<(TcpListener, SocketAddr)> {
    let failed =
        |error: std::io::Error| Error::input(format!("cannot listen on {address} ({error}): give another {option}"));
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }.map_err(failed)?;
    // As a listener is usually made: the port of a server that was killed is free at once.
    socket.set_reuseaddr(true).map_err(failed)?;
    socket.bind(address).map_err(failed)?;
    let listener = socket.listen(WAITING).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

type Signals = (tokio::signal::unix::Signal, tokio::signal::unix::Signal);

fn signals() -> Result<Signals> {
    let failed = |error: std::io::Error| Error::machine(format!("cannot wait for signals ({error})"));
    Ok((signal(SignalKind::terminate()).map_err(failed)?, signal(SignalKind::interrupt()).map_err(failed)?))
}

/// Serves until a signal comes, tells so, and lets it come to its end until a second one comes.
async fn until_signalled(serving: impl Future<Output = ()>, mut signals: Signals, tell: impl FnOnce()) {
    let mut serving = std::pin::pin!(serving);
    tokio::select! {
        () = serving.as_mut() => return,
        () = signalled(&mut signals) => {}
    }
    tracing::info!("stopping: open requests are completed; a second signal stops at once");
    tell();
    tokio::select! {
        () = serving => {}
        () = signalled(&mut signals) => {}
    }
}

async fn signalled(signals: &mut Signals) {
    tokio::select! {
        _ = signals.0.recv() => {}
        _ = signals.1.recv() => {}
    }
}

/// This many connections may be open: as many files as this process may have, except for some that it needs itself.
fn open_files() -> usize {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    limit.current = limit.maximum;
    let now = if setrlimit(Resource::Nofile, limit).is_ok() { getrlimit(Resource::Nofile).current } else { before };
    now.map_or(usize::MAX, |files| usize::try_from(files.saturating_sub(OTHER_FILES).max(16)).unwrap_or(usize::MAX))
}
