//! Servers that are none, or that mean harm: each ends with one of our own sentences, in time, and with no word of
//! theirs.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream as Socket};

/// What a server's words would give away.
const PRIVATE: &str = "Jane has 4711";
const READY: &[u8] = b"I";

/// A message: its letter, its length, its body.
fn message(letter: u8, body: &[u8]) -> Vec<u8> {
    [&[letter][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

fn authentication(code: u32, body: &[u8]) -> Vec<u8> {
    message(b'R', &[&code.to_be_bytes(), body].concat())
}

fn error(code: &str) -> Vec<u8> {
    message(b'E', format!("SERROR\0VERROR\0C{code}\0M{PRIVATE}\0\0").as_bytes())
}

/// A description of columns without names.
fn columns(count: u16) -> Vec<u8> {
    message(b'T', &[&count.to_be_bytes()[..], &vec![0; 19 * usize::from(count)]].concat())
}

fn row(values: &[Option<&[u8]>]) -> Vec<u8> {
    let value = |value: &Option<&[u8]>| match value {
        Some(bytes) => [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat(),
        None => (-1i32).to_be_bytes().to_vec(),
    };
    message(
        b'D',
        &[&(values.len() as u16).to_be_bytes()[..], &values.iter().flat_map(value).collect::<Vec<_>>()].concat(),
    )
}

fn done() -> Vec<u8> {
    [message(b'C', b"SELECT 1\0"), message(b'Z', READY)].concat()
}

/// A message of the client's: its letter where it has one, and its body.
fn heard(socket: &mut Socket, has_letter: bool) -> Vec<u8> {
    let mut head = vec![0; if has_letter { 5 } else { 4 }];
    socket.read_exact(&mut head).unwrap();
    let length = u32::from_be_bytes(head[head.len() - 4..].try_into().unwrap());
    let mut body = vec![0; length as usize - 4];
    socket.read_exact(&mut body).unwrap();
    body
}

/// A server on a port of this machine that says this to one client, and how to reach it.
fn server(says: impl FnOnce(&mut Socket) + Send + 'static) -> (Server, tempfile::NamedTempFile) {
    let door = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = door.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut socket, _) = door.accept().unwrap();
        heard(&mut socket, false);
        says(&mut socket);
        // What is still on its way to a client is lost where a socket is closed before all of its words are read.
        let _ = socket.shutdown(std::net::Shutdown::Write);
        let _ = std::io::copy(&mut socket, &mut std::io::sink());
    });
    let mut password = tempfile::NamedTempFile::new().unwrap();
    password.write_all(b"pencil\n").unwrap();
    let server = Server {
        user: "ana".to_string(),
        host: "127.0.0.1".to_string(),
        port,
        database: "health".to_string(),
        schema: None,
        table: "visits".to_string(),
        is_verified: false,
        root_certificates: None,
        timeout: 1,
        password_file: Some(password.path().to_path_buf()),
    };
    (server, password)
}

/// What comes of a server that answers the start with these bytes.
fn opened(bytes: Vec<u8>) -> PostgresError {
    let (server, _password) = server(move |socket| drop(socket.write_all(&bytes)));
    let trouble = Connection::open(&server).err().unwrap();
    assert!(!format!("{trouble:?}").contains("Jane"), "{trouble:?}");
    trouble
}

/// What comes of a statement that is answered with these bytes.
fn ran(bytes: Vec<u8>) -> PostgresResult<Vec<PostgresRow>> {
    let (server, _password) = server(move |socket| {
        socket.write_all(&[authentication(0, &[]), message(b'Z', READY)].concat()).unwrap();
        heard(socket, true);
        let _ = socket.write_all(&bytes);
    });
    let found = Connection::open(&server).unwrap().run("SELECT 1");
    assert!(!format!("{found:?}").contains("Jane"), "{found:?}");
    found
}

#[test]
fn rows_are_texts_and_nulls() {
    let notice = message(b'N', format!("SNOTICE\0VNOTICE\0C00000\0M{PRIVATE}\0\0").as_bytes());
    let setting = message(b'S', format!("x\0{PRIVATE}\0").as_bytes());
    let answer =
        [columns(2), row(&[Some(b"1"), None]), notice, row(&[Some("ä".as_bytes()), Some(b"")]), setting, done()];
    let expected: Vec<PostgresRow> = vec![vec![Some("1".into()), None], vec![Some("ä".into()), Some(String::new())]];
    assert_eq!(ran(answer.concat()), Ok(expected));
}

#[test]
fn of_an_error_the_code_alone_is_kept() {
    assert_eq!(opened(error("28P01")), PostgresError::Refused("28P01".to_string()));
    assert_eq!(ran([error("22012"), message(b'Z', READY)].concat()), Err(PostgresError::Refused("22012".to_string())));
    // A code is five letters and digits, whatever stands there.
    let long = "2J4nh has 4711";
    let found = ran([error(long), message(b'Z', READY)].concat());
    assert_eq!(found, Err(PostgresError::Refused("2J4nh".to_string())));
}

#[test]
fn what_is_not_the_protocol_ends() {
    let none: &[u8] = &[];
    for bytes in [
        none,
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        &[b'R', 0, 0, 0, 0],
        &[b'R', 0xff, 0xff, 0xff, 0xff],
        &[b'R', 0x7f, 0xff, 0xff, 0xff, 0, 0],
        &authentication(99, b"x"),
        &authentication(0, b"x"),
        &authentication(10, b"SCRAM-SHA-256"),
        &message(b'E', b"Cx"),
        &message(b'T', &[0xff, 0xff]),
        &message(b'?', b""),
    ] {
        let trouble = opened(bytes.to_vec());
        assert!(matches!(trouble, PostgresError::Away | PostgresError::Door(_)), "{bytes:?}: {trouble:?}");
    }
    let two = [columns(2), row(&[Some(b"1")]), done()].concat();
    let short = [columns(1), message(b'D', &[0, 1, 0, 0, 0, 9, b'1']), done()].concat();
    let long = [columns(1), message(b'D', &[0, 1, 0, 0, 0, 1, b'1', b'2']), done()].concat();
    let no_text = [columns(1), row(&[Some(&[0xff, 0xfe])]), done()].concat();
    for bytes in [two, short, long, no_text, row(&[Some(b"1")]), columns(1), vec![b'D', 0, 0, 0, 3], message(b'D', &[])]
    {
        assert_eq!(ran(bytes.clone()), Err(PostgresError::Away), "{bytes:?}");
    }
}

/// A message or rows without end are not read to their end, nor is one waited for that says nothing.
#[test]
fn what_never_ends_is_ended() {
    let (endless, _password) = server(|socket| {
        let _ = socket.write_all(&[b'R', 0x7f, 0xff, 0xff, 0xff]);
        while socket.write_all(&[0; 1 << 16]).is_ok() {}
    });
    assert_eq!(Connection::open(&endless).err(), Some(PostgresError::Away));
    let (endless, _password) = server(|socket| {
        socket.write_all(&[authentication(0, &[]), message(b'Z', READY)].concat()).unwrap();
        heard(socket, true);
        let _ = socket.write_all(&columns(1));
        let rows = row(&[Some(b"1")]).repeat(1000);
        while socket.write_all(&rows).is_ok() {}
    });
    let mut connection = Connection::open(&endless).unwrap();
    connection.most = 1 << 20;
    assert_eq!(connection.run("SELECT 1"), Err(PostgresError::Away));
    assert_eq!(connection.run("SELECT 1"), Err(PostgresError::Away));
    let (silent, _password) = server(|socket| {
        socket.write_all(&[authentication(0, &[]), message(b'Z', READY)].concat()).unwrap();
        heard(socket, true);
        heard(socket, true);
    });
    let mut connection = Connection::open(&silent).unwrap();
    connection.wait = Duration::from_millis(100);
    assert_eq!(connection.run("SELECT 1"), Err(PostgresError::Away));
}

/// A server that asks for SCRAM: what it says first is made of the client's nonce.
fn scram(first: impl Fn(&str) -> String + Send + 'static, last: Vec<u8>) -> PostgresError {
    let (server, _password) = server(move |socket| {
        socket.write_all(&authentication(10, b"SCRAM-SHA-256\0\0")).unwrap();
        let asked = String::from_utf8(heard(socket, true)).unwrap();
        let nonce = asked.rsplit_once("r=").unwrap().1;
        socket.write_all(&authentication(11, first(nonce).as_bytes())).unwrap();
        let _ = socket.write_all(&last);
    });
    Connection::open(&server).err().unwrap()
}

#[test]
fn a_server_proves_that_it_knows_the_password() {
    let salt = STANDARD.encode([7; 16]);
    let first = |rounds: &'static str| {
        let salt = salt.clone();
        move |nonce: &str| format!("r={nonce}server,s={salt},i={rounds}")
    };
    let wrong = authentication(12, format!("v={}", STANDARD.encode([0; 32])).as_bytes());
    let all = [wrong.clone(), authentication(0, &[]), message(b'Z', READY)].concat();
    let unproven =
        PostgresError::Door("it does not know the password itself, or asks for more than 100000 rounds of SCRAM");
    assert_eq!(scram(first("4096"), all.clone()), unproven);
    // So many rounds would keep us busy for hours.
    assert_eq!(scram(first("4294967295"), all.clone()), unproven);
    assert_eq!(scram(|_| "r=other,s=AAAA,i=4096".to_string(), all.clone()), unproven);
    assert_eq!(scram(|_| PRIVATE.to_string(), all), unproven);
    // One that skips its proof is not believed.
    let skipped = [authentication(0, &[]), message(b'Z', READY)].concat();
    assert_eq!(scram(first("4096"), skipped), PostgresError::Door("its login is not that of PostgreSQL"));
    let other = opened(authentication(10, b"SCRAM-SHA-1\0\0"));
    assert_eq!(other, PostgresError::Door("it asks for a login other than by SCRAM-SHA-256 or a plain password"));
    assert_eq!(opened(authentication(7, &[])), other);
}

/// A password is sent to a server that asks, and one that there is none of is missed.
#[test]
fn a_password_is_said_where_it_is_asked_for() {
    let ask = |socket: &mut Socket| {
        socket.write_all(&authentication(3, &[])).unwrap();
        let mut head = [0; 1];
        if socket.read_exact(&mut head).is_ok() {
            let is_right = heard(socket, false) == b"pencil\0";
            let _ =
                socket.write_all(&[authentication(if is_right { 0 } else { 99 }, &[]), message(b'Z', READY)].concat());
        }
    };
    let (asking, _password) = server(ask);
    assert!(Connection::open(&asking).is_ok());
    let (mut asking, _password) = server(ask);
    asking.password_file = Some("/nowhere".into());
    assert_eq!(Connection::open(&asking).err(), Some(PostgresError::Door("it asks for a password")));
}
