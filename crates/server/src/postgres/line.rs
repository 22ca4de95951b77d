//! The connection as messages: frames of a bounded length in, what a client says taken apart without trust, and
//! messages out.
//!
//! Messages that go out are pgwire's. Those that come in are read here: they come from anybody, and each length and
//! number in them is checked.

use super::refused::{SqlError, code};
use bytes::BytesMut;
use pgwire::messages::PgWireBackendMessage;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::time::timeout;

/// The longest message of somebody who has not logged in, and of somebody who has, in bytes.
pub(super) const BEFORE_LOGIN: usize = 10_000;
pub(super) const AFTER_LOGIN: usize = 1 << 20;
/// How long a message that has begun may take, and how long a client may take to read what it is sent.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// How much is collected before it is sent.
const FULL: usize = 1 << 16;

/// Why a message was not done.
pub(super) enum ConnectionError {
    /// The client has left, or nothing can be sent.
    Gone,
    /// The client gets this answer; a fatal one ends the connection.
    Refused(SqlError),
}

impl From<SqlError> for ConnectionError {
    fn from(refused: SqlError) -> Self {
        Self::Refused(refused)
    }
}

impl From<io::Error> for ConnectionError {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// One end of a connection.
pub(super) struct MessageStream<S> {
    stream: BufReader<S>,
    out: BytesMut,
}

impl<S: AsyncRead + AsyncWrite + Unpin> MessageStream<S> {
    pub fn new(stream: S) -> Self {
        Self { stream: BufReader::new(stream), out: BytesMut::new() }
    }

    /// The stream itself, if nothing that was read is left over: what comes before a TLS handshake may not be taken for
    /// what comes inside it.
    pub fn into_stream(self) -> Option<S> {
        self.stream.buffer().is_empty().then(|| self.stream.into_inner())
    }

    /// The first message, which has no letter: its body.
    pub async fn first(&mut self) -> Result<Vec<u8>, ConnectionError> {
        self.body(BEFORE_LOGIN).await
    }

    /// A message: its letter and its body. The wait for its first byte has no end.
    pub async fn next(&mut self, longest: usize) -> Result<(u8, Vec<u8>), ConnectionError> {
        let letter = self.stream.read_u8().await?;
        let body = timeout(PATIENCE, self.body(longest)).await.map_err(|_| ConnectionError::Gone)??;
        Ok((letter, body))
    }

    async fn body(&mut self, longest: usize) -> Result<Vec<u8>, ConnectionError> {
        let length = self.stream.read_u32().await? as usize;
        if length > longest {
            let sentence = format!("a message has {length} bytes, and at most {longest} are read");
            return Err(SqlError::fatal(code::TOO_MUCH, sentence).into());
        }
        let length = length.checked_sub(4);
        let length = length.ok_or_else(|| SqlError::fatal(code::PROTOCOL, "a message has a length of less than 4"))?;
        // Memory is taken as bytes arrive, and not because somebody announces them.
        let mut body = Vec::new();
        (&mut self.stream).take(length as u64).read_to_end(&mut body).await?;
        if body.len() == length { Ok(body) } else { Err(ConnectionError::Gone) }
    }

    /// Says something; it is sent with what follows.
    pub fn say(&mut self, message: &PgWireBackendMessage) -> Result<(), ConnectionError> {
        message.encode(&mut self.out).map_err(|_| ConnectionError::Gone)
    }

    /// Sends what has been said, if it is much.
    pub async fn send_if_full(&mut self) -> Result<(), ConnectionError> {
        if self.out.len() < FULL { Ok(()) } else { self.send().await }
    }

    /// Sends what has been said.
    pub async fn send(&mut self) -> Result<(), ConnectionError> {
        let sent = async {
            self.stream.write_all(&self.out).await?;
            self.stream.flush().await
        };
        timeout(PATIENCE, sent).await.map_err(|_| ConnectionError::Gone)??;
        self.out.clear();
        Ok(())
    }

    /// Sends one byte, the answer to a request for encryption.
    pub async fn answer(&mut self, letter: u8) -> Result<(), ConnectionError> {
        self.out.extend_from_slice(&[letter]);
        self.send().await
    }

    /// Says the last thing and hangs up.
    pub async fn end(&mut self, last: Option<SqlError>) {
        let said = last.map_or(Ok(()), |refused| self.say(&SqlError { fatal: true, ..refused }.message()));
        if said.is_ok() {
            let _ = self.send().await;
        }
        let _ = timeout(PATIENCE, self.stream.shutdown()).await;
        // The client's bytes are read for a moment: closing a socket with unread bytes discards what was sent last.
        let mut rest = [0; 1024];
        let drained = async { while self.stream.read(&mut rest).await.is_ok_and(|length| length > 0) {} };
        let _ = timeout(Duration::from_secs(1), drained).await;
    }
}

/// What a client says after its login.
#[derive(Debug, PartialEq)]
pub(super) enum ClientMessage {
    Query(String),
    Parse {
        name: String,
        sql: String,
        types: Vec<u32>,
    },
    Bind(Binding),
    Describe(MessageTarget),
    Execute {
        portal: String,
        most: i32,
    },
    Close(MessageTarget),
    Flush,
    Sync,
    Terminate,
    /// What is only said while something is copied, which nothing ever is: PostgreSQL leaves it unanswered too.
    Copying,
}

/// A statement or a portal by its name.
/// The values of a statement's parameters, and the formats of what comes and goes.
#[derive(Debug, PartialEq)]
pub(super) struct Binding {
    pub portal: String,
    pub statement: String,
    pub forms: Vec<i16>,
    pub values: Vec<Option<Vec<u8>>>,
    pub results: Vec<i16>,
}

#[derive(Debug, PartialEq)]
pub(super) enum MessageTarget {
    Statement(String),
    Portal(String),
}

/// Takes a message apart; none where it is not what its letter says.
pub(super) fn said(letter: u8, body: &[u8]) -> Result<ClientMessage, SqlError> {
    let mut rest = MessageReader::new(body);
    let said = match letter {
        b'Q' => rest.text().map(ClientMessage::Query),
        b'P' => parse(&mut rest),
        b'B' => bind(&mut rest),
        b'D' => target(&mut rest).map(ClientMessage::Describe),
        b'C' => target(&mut rest).map(ClientMessage::Close),
        b'E' => rest.text().and_then(|portal| Some(ClientMessage::Execute { portal, most: rest.int()? })),
        b'H' => Some(ClientMessage::Flush),
        b'S' => Some(ClientMessage::Sync),
        b'X' => Some(ClientMessage::Terminate),
        b'c' | b'd' | b'f' => return Ok(ClientMessage::Copying),
        _ => None,
    };
    if rest.not_text {
        return Err(SqlError::new(code::ENCODING, "a string is not UTF-8"));
    }
    match said {
        Some(said) if rest.bytes.is_empty() => Ok(said),
        _ => Err(SqlError::fatal(code::PROTOCOL, "a message is not in the form of the protocol")),
    }
}

fn parse(rest: &mut MessageReader<'_>) -> Option<ClientMessage> {
    let (name, sql) = (rest.text()?, rest.text()?);
    let types = rest.list(|rest| rest.int().map(|oid| oid as u32))?;
    Some(ClientMessage::Parse { name, sql, types })
}

fn bind(rest: &mut MessageReader<'_>) -> Option<ClientMessage> {
    let (portal, statement) = (rest.text()?, rest.text()?);
    let forms = rest.list(MessageReader::short)?;
    let values = rest.list(|rest| match rest.int()? {
        -1 => Some(None),
        length => rest.take(usize::try_from(length).ok()?).map(|bytes| Some(bytes.to_vec())),
    })?;
    let results = rest.list(MessageReader::short)?;
    Some(ClientMessage::Bind(Binding { portal, statement, forms, values, results }))
}

fn target(rest: &mut MessageReader<'_>) -> Option<MessageTarget> {
    match rest.take(1)? {
        b"S" => rest.text().map(MessageTarget::Statement),
        b"P" => rest.text().map(MessageTarget::Portal),
        _ => None,
    }
}

/// Bytes from anybody, read from their beginning.
struct MessageReader<'a> {
    bytes: &'a [u8],
    /// Whether a text was none.
    not_text: bool,
}

impl<'a> MessageReader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, not_text: false }
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    fn short(&mut self) -> Option<i16> {
        self.take(2)?.try_into().ok().map(i16::from_be_bytes)
    }

    fn int(&mut self) -> Option<i32> {
        self.take(4)?.try_into().ok().map(i32::from_be_bytes)
    }

    /// A text that ends with a zero byte.
    fn text(&mut self) -> Option<String> {
        let end = self.bytes.iter().position(|byte| *byte == 0)?;
        let text = self.take(end)?;
        self.take(1)?;
        match std::str::from_utf8(text) {
            Ok(text) => Some(text.to_string()),
            Err(_) => {
                self.not_text = true;
                None
            }
        }
    }

    /// A number of things, and these.
    fn list<T>(&mut self, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.short()? as u16;
        (0..length).map(|_| one(self)).collect()
    }
}

/// What a client says first.
#[derive(Debug, PartialEq)]
pub(super) enum FirstMessage {
    /// May this be encrypted?
    Tls,
    /// May this be encrypted otherwise?
    Gss,
    /// Let somebody else's query end: the numbers that they were given.
    Cancel(i32, Vec<u8>),
    /// Who it is, and what they want set; the version is that of the protocol.
    Startup { minor: u16, parameters: Vec<(String, String)> },
}

/// Takes the first message apart.
pub(super) fn first(body: &[u8]) -> Option<FirstMessage> {
    let mut rest = MessageReader::new(body);
    match rest.int()? {
        80_877_103 if rest.bytes.is_empty() => Some(FirstMessage::Tls),
        80_877_104 if rest.bytes.is_empty() => Some(FirstMessage::Gss),
        80_877_102 => Some(FirstMessage::Cancel(rest.int()?, rest.bytes.to_vec())),
        version if version >> 16 == 3 => {
            let mut parameters = Vec::new();
            loop {
                let name = rest.text()?;
                if name.is_empty() {
                    break;
                }
                parameters.push((name, rest.text()?));
            }
            let minor = (version & 0xffff) as u16;
            rest.bytes.is_empty().then_some(FirstMessage::Startup { minor, parameters })
        }
        _ => None,
    }
}

/// The method and the data of a client's first message of SASL.
pub(super) fn initial_response(body: &[u8]) -> Option<(String, Vec<u8>)> {
    let mut rest = MessageReader::new(body);
    let method = rest.text()?;
    let length = usize::try_from(rest.int()?).ok()?;
    let data = rest.take(length)?.to_vec();
    rest.bytes.is_empty().then_some((method, data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_apart() {
        assert_eq!(said(b'Q', b"SELECT 1\0"), Ok(ClientMessage::Query("SELECT 1".into())));
        let bind = [&b"p\0s\0"[..], &[0, 1, 0, 1, 0, 2, 0, 0, 0, 1, 7, 255, 255, 255, 255, 0, 0]].concat();
        let expected = Binding {
            portal: "p".into(),
            statement: "s".into(),
            forms: vec![1],
            values: vec![Some(vec![7]), None],
            results: vec![],
        };
        assert_eq!(said(b'B', &bind), Ok(ClientMessage::Bind(expected)));
        assert_eq!(said(b'D', b"Sname\0"), Ok(ClientMessage::Describe(MessageTarget::Statement("name".into()))));
    }

    /// Every beginning of every message, every message with a byte more, and lengths that are not there: refused, never
    /// a panic.
    #[test]
    fn broken_messages_are_refused() {
        let bind = [&b"\0\0"[..], &[0, 1, 0, 1, 0, 1, 0, 0, 0, 2, 7, 8, 0, 0]].concat();
        let whole: [(u8, &[u8]); 5] =
            [(b'Q', b"a\0"), (b'P', b"a\0b\0\0\x01\0\0\0\x17"), (b'B', &bind), (b'D', b"P\0"), (b'E', b"\0\0\0\0\x05")];
        for (letter, body) in whole {
            assert!(said(letter, body).is_ok(), "{letter}");
            for length in 0..body.len() {
                assert!(said(letter, &body[..length]).is_err(), "{letter} {length}");
            }
            assert!(said(letter, &[body, b"\0"].concat()).is_err(), "{letter}");
        }
        assert!(said(b'B', &[&b"\0\0"[..], &[0, 0, 0, 1, 128, 0, 0, 0, 0, 0]].concat()).is_err());
        assert!(said(b'B', &[&b"\0\0"[..], &[255; 8]].concat()).is_err());
        assert!(said(b'?', b"").is_err());
        assert_eq!(said(b'Q', b"\xff\0").map_err(|refused| refused.code), Err("22021"));
        for length in 0..9 {
            assert_eq!(first(&[0, 3, 0, 0, b'u', 0, b'x', 0, 0][..length]), None);
        }
        assert_eq!(initial_response(b"SCRAM-SHA-256\0\xff\xff\xff\xfe"), None);
    }
}
