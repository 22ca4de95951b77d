//! PostgreSQL's protocol, version 3, as far as it is needed: log in, run a statement, read its rows as texts.
//!
//! Of what the server says about an error only the five letters of its code are kept: its sentences quote values.

use super::scram::Scram;
use super::secret::password;
use crate::project::Server;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use scumble::noise::{BitSource, SecureSource};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// No message is longer: integers are not rows.
const LONGEST: usize = 1 << 30;
/// How long a server may take to answer the door.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a server may take beyond the time of a statement.
const GRACE: u64 = 60;
/// Where systems keep the certificates that they trust.
const TRUSTED: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// What went wrong, without a value in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The server is not there, or is gone.
    Away,
    /// It is there and cannot be trusted or talked to, for this reason.
    Door(&'static str),
    /// It refused, with this code.
    Refused(String),
}

impl From<io::Error> for Trouble {
    fn from(_: io::Error) -> Self {
        Self::Away
    }
}

type Outcome<T> = std::result::Result<T, Trouble>;

/// A row: texts, none for NULL.
pub(crate) type Row = Vec<Option<String>>;

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// A connection that is logged in.
pub(crate) struct Connection {
    stream: Box<dyn Stream>,
}

impl Connection {
    pub fn open(server: &Server) -> Outcome<Self> {
        let mut connection = Self { stream: connected(server)? };
        let mut startup = 196_608i32.to_be_bytes().to_vec();
        for (name, value) in [
            ("user", server.user.as_str()),
            ("database", &server.database),
            ("application_name", "scumble"),
            ("client_encoding", "UTF8"),
        ] {
            startup.extend_from_slice(format!("{name}\0{value}\0").as_bytes());
        }
        startup.push(0);
        connection.send(None, &startup)?;
        connection.log_in(server)?;
        Ok(connection)
    }

    fn log_in(&mut self, server: &Server) -> Outcome<()> {
        let mut scram: Option<Scram> = None;
        let mut is_proven = false;
        loop {
            let (kind, body) = self.message()?;
            match (kind, body.get(..4).map(|code| i32::from_be_bytes([code[0], code[1], code[2], code[3]]))) {
                (b'R', Some(0)) if scram.is_none() || is_proven => {}
                (b'R', Some(3)) => {
                    let password = password(server).ok_or(Trouble::Door("it wants a password"))?;
                    self.send(Some(b'p'), format!("{password}\0").as_bytes())?;
                }
                (b'R', Some(10)) => {
                    let offered = body[4..].split(|byte| *byte == 0).any(|name| name == b"SCRAM-SHA-256");
                    if !offered {
                        return Err(Trouble::Door("it offers no SCRAM-SHA-256"));
                    }
                    let mut bits = SecureSource::new().map_err(|_| Trouble::Door("there are no random bits"))?;
                    let begun = Scram::new(format!("{:016x}{:016x}", bits.next_u64(), bits.next_u64()));
                    let first = begun.first();
                    let mut said = b"SCRAM-SHA-256\0".to_vec();
                    said.extend_from_slice(&(first.len() as i32).to_be_bytes());
                    said.extend_from_slice(first.as_bytes());
                    self.send(Some(b'p'), &said)?;
                    scram = Some(begun);
                }
                (b'R', Some(11)) => {
                    let password = password(server).ok_or(Trouble::Door("it wants a password"))?;
                    let answer = std::str::from_utf8(&body[4..]).unwrap_or_default();
                    let proof = scram.as_mut().and_then(|scram| scram.proof(answer, &password));
                    self.send(Some(b'p'), proof.ok_or(Trouble::Door("its log-in is not SCRAM"))?.as_bytes())?;
                }
                (b'R', Some(12)) => {
                    let last = std::str::from_utf8(&body[4..]).unwrap_or_default();
                    is_proven = scram.as_ref().is_some_and(|scram| scram.is_proven(last));
                    if !is_proven {
                        return Err(Trouble::Door("it does not know the password itself"));
                    }
                }
                (b'R', _) => {
                    return Err(Trouble::Door("it wants a log-in other than by SCRAM-SHA-256 or a plain password"));
                }
                (b'E', _) => return Err(refused(&body)),
                (b'Z', _) => return Ok(()),
                _ => {}
            }
        }
    }

    /// Runs one statement, or several without rows.
    pub fn run(&mut self, sql: &str) -> Outcome<(Vec<String>, Vec<Row>)> {
        self.send(Some(b'Q'), format!("{sql}\0").as_bytes())?;
        let (mut columns, mut rows, mut failed) = (Vec::new(), Vec::new(), None);
        loop {
            let (kind, body) = self.message()?;
            match kind {
                b'T' => columns = named(&body).ok_or(Trouble::Away)?,
                b'D' => rows.push(row(&body).ok_or(Trouble::Away)?),
                b'E' => failed = failed.or(Some(refused(&body))),
                b'Z' => return failed.map_or(Ok((columns, rows)), Err),
                _ => {}
            }
        }
    }

    fn send(&mut self, kind: Option<u8>, body: &[u8]) -> Outcome<()> {
        let length = i32::try_from(body.len() + 4).map_err(|_| Trouble::Away)?;
        let mut message: Vec<u8> = kind.into_iter().collect();
        message.extend_from_slice(&length.to_be_bytes());
        message.extend_from_slice(body);
        self.stream.write_all(&message)?;
        Ok(self.stream.flush()?)
    }

    fn message(&mut self) -> Outcome<(u8, Vec<u8>)> {
        let mut head = [0u8; 5];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if !(4..LONGEST).contains(&length) {
            return Err(Trouble::Away);
        }
        let mut body = vec![0u8; length - 4];
        self.stream.read_exact(&mut body)?;
        Ok((head[0], body))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Whoever goes says so; where the server is gone already, there is nobody to tell.
        let _ = self.send(Some(b'X'), &[]);
    }
}

/// The code of an error.
fn refused(body: &[u8]) -> Trouble {
    let fields = body.split(|byte| *byte == 0);
    let code = fields.filter_map(|field| field.strip_prefix(b"C")).next();
    let code = code.and_then(|code| std::str::from_utf8(code).ok()).unwrap_or_default();
    Trouble::Refused(code.chars().filter(char::is_ascii_alphanumeric).take(5).collect())
}

/// The names of columns.
fn named(body: &[u8]) -> Option<Vec<String>> {
    let mut rest = body.get(2..)?;
    let mut names = Vec::new();
    for _ in 0..u16::from_be_bytes([body[0], body[1]]) {
        let end = rest.iter().position(|byte| *byte == 0)?;
        names.push(String::from_utf8(rest[..end].to_vec()).ok()?);
        rest = rest.get(end + 19..)?;
    }
    Some(names)
}

fn row(body: &[u8]) -> Option<Row> {
    let mut rest = body.get(2..)?;
    let mut values = Vec::new();
    for _ in 0..u16::from_be_bytes([body[0], body[1]]) {
        let length = i32::from_be_bytes(rest.get(..4)?.try_into().ok()?);
        rest = &rest[4..];
        values.push(match usize::try_from(length) {
            Err(_) => None,
            Ok(length) => {
                let text = String::from_utf8(rest.get(..length)?.to_vec()).ok()?;
                rest = &rest[length..];
                Some(text)
            }
        });
    }
    Some(values)
}

/// The door: a socket or the loopback as they are, everything else behind a certificate that is verified.
fn connected(server: &Server) -> Outcome<Box<dyn Stream>> {
    let wait = Some(Duration::from_secs(server.timeout + GRACE));
    #[cfg(unix)]
    if server.is_socket() {
        use std::os::unix::net::UnixStream;
        let stream = UnixStream::connect(Path::new(&server.host).join(format!(".s.PGSQL.{}", server.port)))?;
        stream.set_read_timeout(wait)?;
        return Ok(Box::new(stream));
    }
    let mut addresses = (server.host.as_str(), server.port).to_socket_addrs()?;
    let found = addresses.find_map(|address| TcpStream::connect_timeout(&address, PATIENCE).ok());
    let mut stream = found.ok_or(Trouble::Away)?;
    stream.set_read_timeout(wait)?;
    stream.set_nodelay(true)?;
    if !server.is_verified {
        return Ok(Box::new(stream));
    }
    // "May we speak TLS?"
    stream.write_all(&[&8i32.to_be_bytes()[..], &80_877_103i32.to_be_bytes()].concat())?;
    let mut answer = [0u8];
    stream.read_exact(&mut answer)?;
    if answer != *b"S" {
        return Err(Trouble::Door("it speaks no TLS"));
    }
    let name = ServerName::try_from(server.host.clone()).map_err(|_| Trouble::Door("its host's name is none"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|_| Trouble::Door("TLS cannot be spoken here"))?;
    let config = config.with_root_certificates(trusted(server)?).with_no_client_auth();
    let session = ClientConnection::new(Arc::new(config), name).map_err(|_| Trouble::Door("TLS cannot be spoken"))?;
    let mut secured = StreamOwned::new(session, stream);
    // A certificate that is not good shows here, and not as a server that is gone.
    while secured.conn.is_handshaking() {
        let done = secured.conn.complete_io(&mut secured.sock);
        done.map_err(|_| Trouble::Door("its certificate is not one that is trusted for this name"))?;
    }
    Ok(Box::new(secured))
}

fn trusted(server: &Server) -> Outcome<RootCertStore> {
    let bundle = server.root_certificates.clone();
    let bundle = bundle.or_else(|| TRUSTED.iter().map(Into::into).find(|path: &std::path::PathBuf| path.exists()));
    let none = Trouble::Door("there are no certificates to trust (name a file with sslrootcert=)");
    let read = CertificateDer::pem_file_iter(bundle.ok_or(none.clone())?).map_err(|_| none.clone())?;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(read.flatten());
    if roots.is_empty() { Err(none) } else { Ok(roots) }
}
