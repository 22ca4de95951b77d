//! Messages over TLS 1.3, where both sides show a key that the plan names.

use crate::error::{Error, Result};
use crate::key::{Key, PublicKey};
use crate::message::{MessageKind, wrong};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, DistinguishedName, PeerIncompatible, ServerConfig,
    ServerConnection, SignatureScheme, StreamOwned,
};
use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, TimedOut, UnexpectedEof, WouldBlock};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Who has said nothing for so long is gone.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// A handshake is two short messages: all of it must be over by then, however little comes at a time.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long until a server that does not answer is tried again.
const AGAIN: Duration = Duration::from_millis(50);

/// The keys that are accepted. There are no certificates, so no authority can issue a false one.
#[derive(Debug)]
struct PinnedKeys {
    keys: Vec<PublicKey>,
    algorithms: WebPkiSupportedAlgorithms,
}

type TlsResult<T> = std::result::Result<T, rustls::Error>;

impl PinnedKeys {
    fn check(&self, shown: &CertificateDer<'_>) -> TlsResult<()> {
        match PublicKey::from_tls(shown).filter(|key| self.keys.contains(key)) {
            Some(_) => Ok(()),
            None => Err(rustls::CertificateError::ApplicationVerificationFailure.into()),
        }
    }
}

/// How either side checks signatures: by the raw keys of TLS 1.3. TLS 1.2 is never spoken.
macro_rules! signatures_of_raw_keys {
    () => {
        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> TlsResult<HandshakeSignatureValid> {
            Err(PeerIncompatible::Tls12NotOffered.into())
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            shown: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> TlsResult<HandshakeSignatureValid> {
            let bytes: &[u8] = shown;
            let key = SubjectPublicKeyInfoDer::from(bytes);
            verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }

        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

impl ServerCertVerifier for PinnedKeys {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> TlsResult<ServerCertVerified> {
        self.check(shown).map(|()| ServerCertVerified::assertion())
    }

    signatures_of_raw_keys!();
}

impl ClientCertVerifier for PinnedKeys {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> TlsResult<ClientCertVerified> {
        self.check(shown).map(|()| ClientCertVerified::assertion())
    }

    signatures_of_raw_keys!();
}

/// Our own key as TLS wants it, and who may be at the other end.
fn ends(own: &Key, keys: Vec<PublicKey>) -> Result<(Arc<CryptoProvider>, Arc<CertifiedKey>, Arc<PinnedKeys>)> {
    let provider = ring::default_provider();
    let private = PrivatePkcs8KeyDer::from(own.private());
    let signing = ring::sign::any_eddsa_type(&private).map_err(|error| in_tls(&error))?;
    let certified = CertifiedKey::new(vec![CertificateDer::from(own.public().in_tls())], signing);
    let pinned = PinnedKeys { keys, algorithms: provider.signature_verification_algorithms };
    Ok((Arc::new(provider), Arc::new(certified), Arc::new(pinned)))
}

fn in_tls(error: &rustls::Error) -> Error {
    Error::failed(format!("TLS cannot be set up: {error}"))
}

/// How a server meets those who connect to it: with its own key, and only if theirs is one of `keys`.
pub(crate) fn incoming(own: &Key, keys: Vec<PublicKey>) -> Result<Arc<ServerConfig>> {
    let (provider, certified, pinned) = ends(own, keys)?;
    let config = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]);
    let config = config.map_err(|error| in_tls(&error))?.with_client_cert_verifier(pinned);
    let mut config = config.with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(certified)));
    // Every connection shows both keys anew.
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

fn outgoing(own: &Key, other: PublicKey) -> Result<Arc<ClientConfig>> {
    let (provider, certified, pinned) = ends(own, vec![other])?;
    let config = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]);
    let config = config.map_err(|error| in_tls(&error))?.dangerous().with_custom_certificate_verifier(pinned);
    let mut config = config.with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(certified)));
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    Ok(Arc::new(config))
}

/// Why somebody was not met.
struct HandshakeFailure {
    sentence: String,
    /// Whether that may be otherwise in a moment.
    is_passing: bool,
}

/// A socket until both keys are shown: all reads and writes together have one deadline. A limit for each of them would
/// let a stranger who sends a byte now and then stay for hours.
struct DeadlineSocket<'a> {
    socket: &'a TcpStream,
    until: Instant,
}

impl DeadlineSocket<'_> {
    fn left(&self) -> std::io::Result<Option<Duration>> {
        match self.until.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(TimedOut.into()),
            left => Ok(Some(left)),
        }
    }
}

impl Read for DeadlineSocket<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        self.socket.read(bytes)
    }
}

impl Write for DeadlineSocket<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.socket.flush()
    }
}

trait ByteStream: Read + Write + Send {}
impl<T: Read + Write + Send> ByteStream for T {}

/// A connection with somebody whose key the plan names.
pub(crate) struct Channel {
    stream: Box<dyn ByteStream>,
    socket: TcpStream,
}

impl Channel {
    /// Connects, and goes on trying until `deadline`: the other side may not have begun yet, or be crowded by strangers
    /// and send others away unheard.
    pub(crate) fn connect(own: &Key, address: &str, other: PublicKey, name: &str, deadline: Instant) -> Result<Self> {
        let config = outgoing(own, other)?;
        loop {
            match open(address, until(deadline)) {
                Ok(socket) => match Self::of_client(config.clone(), socket, name, until(deadline)) {
                    Err(error) if error.is_passing && Instant::now() < deadline => std::thread::sleep(AGAIN),
                    made => return made.map_err(|error| Error::failed(error.sentence)),
                },
                Err(error) if Instant::now() >= deadline => {
                    return Err(Error::failed(format!(
                        "'{name}' does not answer at {address} ({error}); does it run?"
                    )));
                }
                Err(_) => std::thread::sleep(AGAIN),
            }
        }
    }

    fn of_client(
        config: Arc<ClientConfig>,
        socket: TcpStream,
        name: &str,
        until: Instant,
    ) -> std::result::Result<Self, HandshakeFailure> {
        let inner = || -> std::result::Result<_, Box<dyn std::error::Error>> {
            socket.set_nodelay(true)?;
            // The name is not sent: keys say who is who.
            let mut connection = ClientConnection::new(config, ServerName::try_from("scumble.invalid")?)?;
            while connection.is_handshaking() {
                connection.complete_io(&mut DeadlineSocket { socket: &socket, until })?;
            }
            let held = patient(&socket)?;
            Ok((Box::new(StreamOwned::new(connection, socket)), held))
        };
        let made = inner().map_err(|error| {
            let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
            let is_late = matches!(kind, Some(TimedOut | WouldBlock));
            let is_ended = matches!(kind, Some(UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe));
            let is_passing = is_late || is_ended;
            let sentence = match is_passing {
                true if is_late => format!(
                    "'{name}' has not shown its key in time: it may be overloaded; try again, \
                    or with a longer --wait"
                ),
                true => format!(
                    "'{name}' ended the connection before it showed its key: it may be overloaded; try \
                    again, or with a longer --wait"
                ),
                false => format!(
                    "'{name}' does not show the key that the plan has for it, or ended the connection ({error})"
                ),
            };
            HandshakeFailure { sentence, is_passing }
        });
        made.map(|(stream, socket)| Self { stream, socket })
    }

    /// Meets somebody who has connected, who has time until then to show a key; gives that key.
    pub(crate) fn accept(config: Arc<ServerConfig>, socket: TcpStream, until: Instant) -> Option<(Self, PublicKey)> {
        socket.set_nodelay(true).ok()?;
        let mut connection = ServerConnection::new(config).ok()?;
        while connection.is_handshaking() {
            connection.complete_io(&mut DeadlineSocket { socket: &socket, until }).ok()?;
        }
        let key = PublicKey::from_tls(connection.peer_certificates()?.first()?)?;
        let held = patient(&socket).ok()?;
        Some((Self { stream: Box::new(StreamOwned::new(connection, socket)), socket: held }, key))
    }

    /// Waits so long for the next message; without it, as long as it takes.
    pub(crate) fn patience(&self, patience: Option<Duration>) -> Result<()> {
        self.socket.set_read_timeout(patience).map_err(|error| Error::failed(error.to_string()))
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, kind: MessageKind, body: &[u8]) -> Result<()> {
        let length = u32::try_from(body.len()).map_err(|_| wrong())?;
        let head = [&[kind as u8][..], &length.to_le_bytes()].concat();
        let sent = self.stream.write_all(&head).and_then(|()| self.stream.write_all(body));
        sent.and_then(|()| self.stream.flush()).map_err(|error| gone(&error))
    }

    /// The next message, whose body is at most `most` bytes long.
    pub(crate) fn receive(&mut self, most: usize) -> Result<(MessageKind, Vec<u8>)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head).map_err(|error| gone(&error))?;
        let [kind, length @ ..] = head;
        let kind = MessageKind::from_byte(kind).ok_or_else(wrong)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > most {
            return Err(wrong());
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).map_err(|error| gone(&error))?;
        Ok((kind, body))
    }

    /// The next message, which must be of this kind; a refusal is an error with its sentence.
    pub(crate) fn expect(&mut self, kind: MessageKind, most: usize) -> Result<Vec<u8>> {
        match self.receive(most.max(LONGEST_SENTENCE))? {
            (found, body) if found == kind && body.len() <= most => Ok(body),
            (MessageKind::Refused, body) => Err(Error::failed(printable(&body))),
            _ => Err(wrong()),
        }
    }

    /// Sends the reason of a refusal. A peer that does not receive it has left anyway.
    pub(crate) fn refuse(&mut self, sentence: &str) {
        let _ = self.send(MessageKind::Refused, &sentence.as_bytes()[..sentence.len().min(LONGEST_SENTENCE)]);
    }

    /// Says hello with the plan's digest, and hears that the other side has the same one.
    pub(crate) fn hello(&mut self, plan: &[u8; 32]) -> Result<()> {
        self.send(MessageKind::Hello, plan)?;
        self.expect(MessageKind::Ready, 0).map(drop)
    }

    /// Hears a hello; refuses another plan's.
    pub(crate) fn welcome(&mut self, plan: &[u8; 32]) -> Result<()> {
        let theirs = self.expect(MessageKind::Hello, 32)?;
        match theirs == plan {
            true => Ok(()),
            false => {
                let sentence = "this server has another plan: both need the same file, byte for byte";
                self.refuse(sentence);
                Err(Error::failed(sentence))
            }
        }
    }
}

const LONGEST_SENTENCE: usize = 1000;

/// What somebody else says, without commands to the terminal.
fn printable(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// When a peer that connects now must have shown a key: within a handshake's time, and not beyond the deadline, except
/// for one second in which it may still connect.
fn until(deadline: Instant) -> Instant {
    let now = Instant::now();
    deadline.max(now + Duration::from_secs(1)).min(now + HANDSHAKE)
}

/// The same socket, for messages with somebody whose key was seen.
fn patient(socket: &TcpStream) -> std::io::Result<TcpStream> {
    socket.set_write_timeout(Some(PATIENCE))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.try_clone()
}

fn open(address: &str, until: Instant) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::other("no such host");
    for address in address.to_socket_addrs()? {
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        match TcpStream::connect_timeout(&address, left) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn gone(error: &std::io::Error) -> Error {
    match error.kind() {
        WouldBlock | TimedOut => Error::failed("the other side has not answered for too long"),
        _ => Error::failed(format!("the other side has ended the connection ({error})")),
    }
}
