//! A connection to a server: log in, run a statement, read its rows as texts.
//!
//! `tokio-postgres` speaks the protocol. Of what the server says about an error only the five letters of its code are
//! kept, and of its notices nothing: its sentences quote values.

use super::secret::password;
use crate::project::Server;
use futures::TryStreamExt;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::error::Error;
use std::future::{Future, poll_fn};
use std::io;
use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};
use tokio_rustls::TlsConnector;

/// No statement's answer has more bytes: integers are not rows.
const MOST_BYTES: u64 = 1 << 32;
/// Nor has a log-in.
const MOST_OF_LOG_IN: u64 = 1 << 20;
/// How long a server may take to answer the door.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long we take to say that we go.
const GOODBYE: Duration = Duration::from_secs(1);
/// How long a server may take beyond the time of a statement.
const GRACE: u64 = 60;
/// Where systems keep the certificates that they trust.
const TRUSTED: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// What went wrong, without a value in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PostgresError {
    /// The server is not there, or is gone.
    Away,
    /// It is there and cannot be trusted or talked to, for this reason.
    Door(&'static str),
    /// It refused, with this code.
    Refused(String),
}

impl From<io::Error> for PostgresError {
    fn from(_: io::Error) -> Self {
        Self::Away
    }
}

type PostgresResult<T> = std::result::Result<T, PostgresError>;

/// A row: texts, none for NULL.
pub(crate) type PostgresRow = Vec<Option<String>>;

/// A connection that is logged in.
pub(crate) struct Connection {
    runtime: Runtime,
    /// None once we go.
    client: Option<Client>,
    /// What carries bytes to and fro, while the runtime runs.
    carrier: JoinHandle<()>,
    /// How many more bytes are read.
    left: Arc<AtomicU64>,
    /// How many a statement's answer may have.
    most: u64,
    wait: Duration,
}

impl Connection {
    pub fn open(server: &Server) -> PostgresResult<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let wait = Duration::from_secs(server.timeout + GRACE);
        let left = Arc::new(AtomicU64::new(MOST_OF_LOG_IN));
        let (client, carrier) = runtime.block_on(within(wait, logged_in(server, Arc::clone(&left))))?;
        Ok(Self { runtime, client: Some(client), carrier, left, most: MOST_BYTES, wait })
    }

    /// Runs one statement, or several without rows.
    pub fn run(&mut self, sql: &str) -> PostgresResult<Vec<PostgresRow>> {
        self.left.store(self.most, Ordering::Relaxed);
        let client = self.client.as_ref().ok_or(PostgresError::Away)?;
        self.runtime.block_on(within(self.wait, rows(client, sql)))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // The client says goodbye; where the server is gone already, that fails harmlessly.
        drop(self.client.take());
        let _ = self.runtime.block_on(async { timeout(GOODBYE, &mut self.carrier).await });
    }
}

/// What comes in time.
async fn within<T>(wait: Duration, work: impl Future<Output = PostgresResult<T>>) -> PostgresResult<T> {
    timeout(wait, work).await.unwrap_or(Err(PostgresError::Away))
}

async fn logged_in(server: &Server, left: Arc<AtomicU64>) -> PostgresResult<(Client, JoinHandle<()>)> {
    let stream = BoundedStream { stream: connected(server).await?, left };
    let mut config = Config::new();
    config.user(&server.user).dbname(&server.database).application_name("scumble");
    if let Some(password) = password(server) {
        config.password(password);
    }
    let (client, mut connection) = config.connect_raw(stream, NoTls).await.map_err(|error| not_let_in(&error))?;
    // Driven by hand, because driven by itself it writes the server's notices into the log.
    let carrier =
        tokio::spawn(
            async move { while let Some(Ok(_)) = poll_fn(|context| connection.poll_message(context)).await {} },
        );
    Ok((client, carrier))
}

async fn rows(client: &Client, sql: &str) -> PostgresResult<Vec<PostgresRow>> {
    let mut messages = pin!(client.simple_query_raw(sql).await.map_err(|error| refused(&error))?);
    let mut rows = Vec::new();
    while let Some(message) = messages.try_next().await.map_err(|error| refused(&error))? {
        if let SimpleQueryMessage::Row(row) = message {
            let text = |index| row.try_get(index).map(|text| text.map(str::to_string));
            rows.push((0..row.len()).map(text).collect::<Result<PostgresRow, _>>().map_err(|_| PostgresError::Away)?);
        }
    }
    Ok(rows)
}

/// The code of an error; without one the connection is lost.
fn refused(error: &tokio_postgres::Error) -> PostgresError {
    match error.code() {
        Some(code) => PostgresError::Refused(code.code().chars().filter(char::is_ascii_alphanumeric).take(5).collect()),
        None => PostgresError::Away,
    }
}

/// Why a log-in failed.
fn not_let_in(error: &tokio_postgres::Error) -> PostgresError {
    // What kind of error it is shows in these words alone, which are the crate's own and hold none of the server's.
    match error.to_string().as_str() {
        "invalid configuration" => PostgresError::Door("it asks for a password"),
        "authentication error" if error.source().is_some_and(|source| source.is::<io::Error>()) => {
            PostgresError::Door("it does not know the password itself, or asks for more than 100000 rounds of SCRAM")
        }
        "authentication error" => {
            PostgresError::Door("it asks for a login other than by SCRAM-SHA-256 or a plain password")
        }
        "unexpected message from server" => PostgresError::Door("its login is not that of PostgreSQL"),
        _ => refused(error),
    }
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A stream that reads at most `left` more bytes: an endless message or endless rows must not fill the memory.
struct BoundedStream {
    stream: Box<dyn Stream>,
    left: Arc<AtomicU64>,
}

impl AsyncRead for BoundedStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, into))?;
        let read = (into.filled().len() - before) as u64;
        let left = self.left.load(Ordering::Relaxed).checked_sub(read);
        self.left.store(left.unwrap_or(0), Ordering::Relaxed);
        Poll::Ready(left.map(drop).ok_or_else(|| io::ErrorKind::InvalidData.into()))
    }
}

impl AsyncWrite for BoundedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The door: a socket or the loopback as they are, everything else behind a certificate that is verified.
async fn connected(server: &Server) -> PostgresResult<Box<dyn Stream>> {
    #[cfg(unix)]
    if server.is_socket() {
        let path = Path::new(&server.host).join(format!(".s.PGSQL.{}", server.port));
        return Ok(Box::new(tokio::net::UnixStream::connect(path).await?));
    }
    let mut found = Err(PostgresError::Away);
    for address in (server.host.as_str(), server.port).to_socket_addrs()? {
        found = within(PATIENCE, async { Ok(TcpStream::connect(address).await?) }).await;
        if found.is_ok() {
            break;
        }
    }
    let mut stream = found?;
    stream.set_nodelay(true)?;
    if !server.is_verified {
        return Ok(Box::new(stream));
    }
    // "May we speak TLS?"
    stream.write_all(&[&8i32.to_be_bytes()[..], &80_877_103i32.to_be_bytes()].concat()).await?;
    if stream.read_u8().await? != b'S' {
        return Err(PostgresError::Door("it does not support TLS"));
    }
    let name =
        ServerName::try_from(server.host.clone()).map_err(|_| PostgresError::Door("its host name is not valid"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|_| PostgresError::Door("TLS cannot be spoken here"))?;
    let config = config.with_root_certificates(trusted(server)?).with_no_client_auth();
    let secured = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    let secured =
        secured.map_err(|_| PostgresError::Door("its certificate is not one that is trusted for this name"))?;
    Ok(Box::new(secured))
}

fn trusted(server: &Server) -> PostgresResult<RootCertStore> {
    let bundle = server.root_certificates.clone();
    let bundle = bundle.or_else(|| TRUSTED.iter().map(PathBuf::from).find(|path| path.exists()));
    let none = PostgresError::Door("there are no certificates to trust (name a file with sslrootcert=)");
    let read = CertificateDer::pem_file_iter(bundle.ok_or(none.clone())?).map_err(|_| none.clone())?;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(read.flatten());
    if roots.is_empty() { Err(none) } else { Ok(roots) }
}

#[cfg(test)]
mod tests;
