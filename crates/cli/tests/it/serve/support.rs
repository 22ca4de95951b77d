//! A server as a user starts it, and a client that speaks HTTP over a plain connection.

use crate::support::Folder;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// A table of 300 people, a budget, an analyst with a budget of their own, and a release.
pub const PROJECT: &str = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
sex = { type = "category", values = ["f", "m"] }
age = { type = "int", lower = 0, upper = 100 }
[budget]
person = { epsilon = 2.0 }
[analyst.bob]
person = { epsilon = 0.5 }
[[release]]
name = "by sex"
sql  = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
cost = { epsilon = 0.25 }
"#;

/// A folder with the project.
pub fn project() -> Folder {
    let mut people = String::from("sex,age\n");
    for number in 0..300 {
        people.push_str(if number % 3 == 0 { "f," } else { "m," });
        people.push_str(&format!("{}\n", number % 90));
    }
    Folder::with(&[("scumble.toml", PROJECT), ("people.csv", &people)])
}

/// A server that runs; it is ended with it.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
    /// Where PostgreSQL's clients come in.
    pub postgres: Option<SocketAddr>,
    pub link: String,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start(folder: &Path, more: &[&str]) -> Self {
        Self::try_start(folder, more).unwrap_or_else(|said| panic!("the server did not start: {said}"))
    }

    /// The server, or what it said instead.
    pub fn try_start(folder: &Path, more: &[&str]) -> Result<Self, String> {
        Self::try_start_with(folder, more, &[])
    }

    /// The same with these variables of the environment.
    pub fn try_start_with(folder: &Path, more: &[&str], variables: &[(&str, &str)]) -> Result<Self, String> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_scumble"))
            .args(["serve", "scumble.toml", "--json"])
            .args(if more.contains(&"--listen") { &[][..] } else { &["--listen", "127.0.0.1:0"] })
            .args(more)
            .current_dir(folder)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (mut stderr, kept) = (child.stderr.take().unwrap(), Arc::clone(&log));
        let reader = std::thread::spawn(move || {
            let mut bytes = [0u8; 4096];
            while let Ok(number @ 1..) = stderr.read(&mut bytes) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..number]));
            }
        });
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Ok(said) = serde_json::from_str::<Value>(&line) else {
            child.wait().unwrap();
            reader.join().unwrap();
            return Err(log.lock().unwrap().clone());
        };
        let address = said["address"].as_str().unwrap().parse().unwrap();
        let postgres = said["postgres"].as_str().map(|address| address.parse().unwrap());
        let link = said["link"].as_str().unwrap().to_string();
        Ok(Self { child, address, postgres, link, log, reader: Some(reader) })
    }

    pub fn id(&self) -> String {
        self.child.id().to_string()
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end; gives its status and all that it logged.
    pub fn ended(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        let log = self.log.lock().unwrap().clone();
        (status.code(), log)
    }

    /// Sends a request of these lines and this body; gives what comes back.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        request(self.address, method, path, headers, body).unwrap()
    }

    pub fn get(&self, token: &str, path: &str) -> Reply {
        self.send("GET", path, &[("Authorization", &format!("Bearer {token}"))], "")
    }

    pub fn post(&self, token: &str, path: &str, body: &Value) -> Reply {
        let bearer = format!("Bearer {token}");
        self.send("POST", path, &[("Authorization", &bearer), ("Content-Type", "application/json")], &body.to_string())
    }

    /// Asks for a count; each condition is another question.
    pub fn ask(&self, token: &str, sql: &str, epsilon: &str) -> Reply {
        self.post(token, "/v1/query", &serde_json::json!({ "sql": sql, "cost": { "epsilon": epsilon } }))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a server answers.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {} {}", self.head, self.text()))
    }

    /// The JSON of a reply that must have this status.
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        self.json()
    }

    /// A refusal with this status and these words in its sentence.
    pub fn refused(&self, status: u16, words: &str) -> String {
        let shown = self.expect(status);
        assert!(self.head.contains("application/problem+json"), "{}", self.head);
        assert_eq!(shown["status"], status);
        let sentence = shown["detail"].as_str().unwrap().to_string();
        assert!(sentence.contains(words), "said: {sentence}\n not: {words}");
        sentence
    }

    pub fn header(&self, name: &str) -> Option<String> {
        let line = self.head.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}:")))?;
        Some(line.split_once(':')?.1.trim().to_string())
    }
}

/// One request on a connection of its own.
pub fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> std::io::Result<Reply> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        text.push_str(&format!("Host: {address}\r\n"));
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if method != "GET" {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    raw(address, format!("{text}\r\n{body}").as_bytes())
}

/// Sends bytes as they are, and reads all that comes.
pub fn raw(address: SocketAddr, bytes: &[u8]) -> std::io::Result<Reply> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(120)))?;
    // A refusal may come before all was sent.
    let _ = stream.write_all(bytes);
    let mut all = Vec::new();
    let read = stream.read_to_end(&mut all);
    let end = all.windows(4).position(|four| four == b"\r\n\r\n");
    let Some(end) = end else {
        read?;
        return Err(std::io::Error::other("no answer"));
    };
    let head = String::from_utf8_lossy(&all[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let body = match head.to_lowercase().contains("transfer-encoding: chunked") {
        true => unchunked(&all[end + 4..]),
        false => all[end + 4..].to_vec(),
    };
    Ok(Reply { status, head, body })
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") {
        let length = usize::from_str_radix(String::from_utf8_lossy(&bytes[..end]).trim(), 16).unwrap_or(0);
        if length == 0 || bytes.len() < end + 2 + length {
            break;
        }
        whole.extend_from_slice(&bytes[end + 2..end + 2 + length]);
        bytes = &bytes[(end + 4 + length).min(bytes.len())..];
    }
    whole
}

/// Gives somebody access; gives their token.
pub fn add(folder: &Folder, name: &str, role: &str) -> String {
    let shown = folder.json(&["access", "add", name, "--role", role, "--json"]);
    shown["token"].as_str().unwrap().to_string()
}
