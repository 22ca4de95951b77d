//! The door as a client without any library sees it, over a socket: who gets in, what is answered, what is refused and
//! with which code.

use super::*;
use crate::access::{self, Role, hmac, salted};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use scumble_engine::project::Project;
use scumble_testing::Folder;
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream as Socket};
use std::path::PathBuf;

use tokio::runtime::{Builder, Runtime};

mod plans;

const PROJECT: &str = r#"
[dataset.people]
source = "people.csv"
owner = "id"
max_rows_per_owner = 1
[dataset.people.columns]
age = { type = "int", lower = 0, upper = 99 }
sex = { type = "category", values = ["f", "m"] }
town = { type = "category" }
income = { type = "float", lower = 0, upper = 1000, granularity = 1 }
day = { type = "date", lower = "2020-01-01", upper = "2020-01-03" }
seen = { type = "timestamp", lower = "2020-01-01T00:00:00", upper = "2020-01-03T00:00:00" }
insured = { type = "bool" }
[budget]
person = { epsilon = 400 }
"#;

/// A server of 400 people, and its clients' tokens.
struct TestServer {
    folder: Folder,
    ledger: PathBuf,
    address: SocketAddr,
    service: Arc<Service>,
    stop: watch::Sender<bool>,
    _runtime: Runtime,
    token: String,
    viewer: String,
}

impl TestServer {
    fn new() -> Self {
        Self::with(PROJECT, 100)
    }

    fn with(project: &str, most: usize) -> Self {
        Self::with_places(project, AddressSlots::new(most, most), PersonSlots::new(most))
    }

    fn with_places(project: &str, places: Arc<AddressSlots>, people: Arc<PersonSlots>) -> Self {
        let row = |id: usize| {
            let (sex, town) =
                (if id.is_multiple_of(4) { "m" } else { "f" }, if id.is_multiple_of(2) { "Ulm" } else { "O'Hara" });
            let (day, truth) = (1 + id % 3, id.is_multiple_of(5));
            format!("{id},{},{sex},{town},{},2020-01-0{day},2020-01-0{day}T0{day}:00:00,{truth}\n", id % 90, id % 1000)
        };
        let rows: String = (0..400).map(row).collect();
        let table = format!("id,age,sex,town,income,day,seen,insured\n{rows}");
        let folder = Folder::with(&[("people.csv", &table), ("scumble.toml", project)]);
        let project = Project::open(&folder.file("scumble.toml")).unwrap();
        let ledger = project.ledger();
        let token = access::add(&ledger, "ann", Role::Analyst).unwrap();
        let viewer = access::add(&ledger, "vic", Role::Viewer).unwrap();
        let service = Arc::new(Service::new(project, None, None).unwrap());
        let runtime =
            Builder::new_multi_thread().worker_threads(2).thread_stack_size(32 << 20).enable_all().build().unwrap();
        let (stop, stopping) = watch::channel(false);
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let door = PostgresEndpoint { service: Arc::clone(&service), tls: None, places, people, answer_time: None };
        runtime.spawn(door.serve(listener, stopping));
        Self { folder, ledger, address, service, stop, _runtime: runtime, token, viewer }
    }

    fn ann(&self) -> TestClient {
        TestClient::login(self.address, "ann", "scumble", &self.token, &[]).unwrap()
    }
}

/// A client that knows the protocol and nothing else.
struct TestClient(Socket);

/// What came up to the next time that the server was ready.
#[derive(Debug, Default)]
struct ServerReplies {
    letters: String,
    columns: Vec<(String, u32)>,
    rows: Vec<Vec<Option<Vec<u8>>>>,
    tags: Vec<String>,
    /// The SQLSTATE, the sentence, and the position.
    error: Option<(String, String, String)>,
    notices: Vec<String>,
    parameters: Vec<u32>,
    status: char,
}

impl ServerReplies {
    fn names(&self) -> String {
        self.columns.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(",")
    }

    fn text(&self, row: usize, column: usize) -> String {
        self.rows[row][column].as_ref().map_or("-".into(), |bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// What came, in the letters of the protocol, without notices.
    fn order(&self) -> String {
        self.letters.replace('N', "")
    }

    fn code(&self) -> &str {
        self.error.as_ref().map_or("", |(code, ..)| code.as_str())
    }
}

impl TestClient {
    fn begin(address: SocketAddr) -> Self {
        let socket = Socket::connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self(socket)
    }

    fn send(&mut self, letter: Option<u8>, body: &[u8]) {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        let message = [&letter.map_or(Vec::new(), |letter| vec![letter])[..], &length, body].concat();
        // The server may have hung up already; what it said before is read next.
        let _ = self.0.write_all(&message);
    }

    /// A message; none where the server has hung up.
    fn read(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.0.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4;
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).ok()?;
        Some((head[0], body))
    }

    fn startup(&mut self, pairs: &[(&str, &str)]) {
        let pairs: Vec<u8> = pairs.iter().flat_map(|(name, value)| format!("{name}\0{value}\0").into_bytes()).collect();
        self.send(None, &[&[0, 3, 0, 0], &pairs[..], b"\0"].concat());
    }

    /// Logs in, or gives what is said instead.
    fn login(
        address: SocketAddr,
        user: &str,
        database: &str,
        token: &str,
        more: &[(&str, &str)],
    ) -> Result<Self, Box<ServerReplies>> {
        let mut client = Self::begin(address);
        let pairs = [&[("user", user), ("database", database)][..], more].concat();
        client.startup(&pairs);
        let refused = |client: &mut Self, first: Option<(u8, Vec<u8>)>| {
            let mut got = Box::<ServerReplies>::default();
            first.into_iter().for_each(|(letter, body)| got.add(letter, &body));
            while let Some((letter, body)) = client.read() {
                got.add(letter, &body);
            }
            got
        };
        let (letter, body) = client.read().unwrap();
        if (letter, &body[..4]) != (b'R', &[0, 0, 0, 10]) {
            return Err(refused(&mut client, Some((letter, body))));
        }
        assert_eq!(&body[4..], b"SCRAM-SHA-256\0\0");
        let bare = "n=,r=clientnonce";
        let data = format!("n,,{bare}");
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        client.send(Some(b'p'), &[b"SCRAM-SHA-256\0", &length[..], data.as_bytes()].concat());
        let (letter, body) = client.read().unwrap();
        if (letter, &body[..4]) != (b'R', &[0, 0, 0, 11]) {
            return Err(refused(&mut client, Some((letter, body))));
        }
        let first = String::from_utf8(body[4..].to_vec()).unwrap();
        let part = |name: &str| first.split(',').find_map(|part| part.strip_prefix(name)).unwrap().to_string();
        let without_proof = format!("c=biws,r={}", part("r="));
        let salted = salted(token.as_bytes(), &STANDARD.decode(part("s=")).unwrap(), part("i=").parse().unwrap());
        let (client_key, all) = (hmac(&salted, b"Client Key"), format!("{bare},{first},{without_proof}"));
        let signature = hmac(&Sha256::digest(client_key), all.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(signature).map(|(byte, other)| byte ^ other).collect();
        client.send(Some(b'p'), format!("{without_proof},p={}", STANDARD.encode(proof)).as_bytes());
        let (letter, body) = client.read().unwrap();
        if (letter, &body[..4]) != (b'R', &[0, 0, 0, 12]) {
            return Err(refused(&mut client, Some((letter, body))));
        }
        // The server has what is kept of the token too.
        let server_key = hmac(&salted, b"Server Key");
        assert_eq!(body[4..], *format!("v={}", STANDARD.encode(hmac(&server_key, all.as_bytes()))).as_bytes());
        let got = client.until_ready();
        if got.error.is_some() {
            return Err(Box::new(got));
        }
        assert!(got.letters.starts_with("RS") && got.letters.ends_with("KZ"), "{}", got.letters);
        Ok(client)
    }

    fn until_ready(&mut self) -> ServerReplies {
        let mut got = ServerReplies::default();
        while let Some((letter, body)) = self.read() {
            got.add(letter, &body);
            if letter == b'Z' {
                break;
            }
        }
        got
    }

    fn query(&mut self, sql: &str) -> ServerReplies {
        self.send(Some(b'Q'), format!("{sql}\0").as_bytes());
        self.until_ready()
    }

    /// One prepared statement: parse, describe, bind, describe, execute, sync.
    fn prepared(&mut self, sql: &str, types: &[u32], values: &[(i16, Option<&[u8]>)], form: i16) -> ServerReplies {
        let count = |length: usize| u16::try_from(length).unwrap().to_be_bytes();
        let types: Vec<u8> =
            [&count(types.len())[..], &types.iter().flat_map(|oid| oid.to_be_bytes()).collect::<Vec<_>>()].concat();
        self.send(Some(b'P'), &[b"\0", sql.as_bytes(), b"\0", &types].concat());
        self.send(Some(b'D'), b"S\0");
        let mut bind = [&b"\0\0"[..], &count(values.len())].concat();
        values.iter().for_each(|(form, _)| bind.extend(form.to_be_bytes()));
        bind.extend(count(values.len()));
        for (_, value) in values {
            bind.extend(value.map_or(-1i32, |value| i32::try_from(value.len()).unwrap()).to_be_bytes());
            bind.extend(value.unwrap_or_default());
        }
        bind.extend([0, 1]);
        bind.extend(form.to_be_bytes());
        self.send(Some(b'B'), &bind);
        self.send(Some(b'D'), b"P\0");
        self.send(Some(b'E'), b"\0\0\0\0\0");
        self.send(Some(b'S'), b"");
        self.until_ready()
    }
}

impl ServerReplies {
    fn add(&mut self, letter: u8, body: &[u8]) {
        self.letters.push(letter as char);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap()).into_owned();
        let fields = || -> Vec<(char, String)> {
            let parts = body.split(|byte| *byte == 0).filter(|part| !part.is_empty());
            parts.map(|part| (part[0] as char, text(&part[1..]))).collect()
        };
        let field = |wanted: char| {
            fields().into_iter().find(|(name, _)| *name == wanted).map_or(String::new(), |(_, value)| value)
        };
        match letter {
            b'T' => {
                let (mut rest, mut columns) = (&body[2..], Vec::new());
                while !rest.is_empty() {
                    let name = text(rest);
                    let after = &rest[name.len() + 1..];
                    columns.push((name, u32::from_be_bytes(after[6..10].try_into().unwrap())));
                    rest = &after[18..];
                }
                self.columns = columns;
            }
            b'D' => {
                let (mut rest, mut row) = (&body[2..], Vec::new());
                while !rest.is_empty() {
                    let length = i32::from_be_bytes(rest[..4].try_into().unwrap());
                    let end = 4 + usize::try_from(length.max(0)).unwrap();
                    row.push((length >= 0).then(|| rest[4..end].to_vec()));
                    rest = &rest[end..];
                }
                self.rows.push(row);
            }
            b'C' => self.tags.push(text(body)),
            b'E' => self.error = Some((field('C'), field('M'), field('P'))),
            b'N' => self.notices.push(field('M')),
            b't' => {
                self.parameters = body[2..].chunks(4).map(|oid| u32::from_be_bytes(oid.try_into().unwrap())).collect()
            }
            b'Z' => self.status = body[0] as char,
            _ => {}
        }
    }
}

#[test]
fn only_who_has_the_token_gets_in() {
    let server = TestServer::new();
    let wrong = "0".repeat(64);
    let code = |user: &str, database: &str, token: &str| {
        TestClient::login(server.address, user, database, token, &[]).err().map(|got| got.code().to_string())
    };
    assert_eq!(code("ann", "scumble", &server.token), None);
    assert_eq!(code("", "scumble", &server.token), Some("28000".into()));
    assert_eq!(code("ann", "ann", &server.token), Some("3D000".into()));
    // Each failure waits twice as long as the one before: few are enough.
    assert_eq!(code("ann", "scumble", &wrong), Some("28P01".into()));
    assert_eq!(code("vic", "scumble", &server.token), Some("28P01".into()));
    assert_eq!(code("curator", "scumble", &server.token), Some("28P01".into()));
    // An unknown name is asked for the same proof as a known one.
    let sentence = TestClient::login(server.address, "nobody", "scumble", &wrong, &[]).err().unwrap().error.unwrap().1;
    assert!(sentence.contains("password authentication failed for user \"nobody\""), "{sentence}");
}

/// pgwire's own loop would let in a client whose login fails without a fatal error; here no query is answered before a
/// login, whatever comes first.
#[test]
fn nothing_is_answered_before_the_login() {
    let server = TestServer::new();
    for message in [&b"QSELECT 1\0"[..], b"S", b"pgarbage", b"P\0SELECT 1\0\0\0", b"X", b"E\0\0\0\0\0", b"\xff"] {
        let mut client = TestClient::begin(server.address);
        client.startup(&[("user", "ann"), ("database", "scumble")]);
        assert_eq!(client.read().unwrap().0, b'R');
        client.send(Some(message[0]), &message[1..]);
        client.send(Some(b'Q'), b"SELECT 1\0");
        let got = client.until_ready();
        assert!(got.letters.is_empty() || got.letters == "E", "{message:?}: {got:?}");
        assert_eq!(got.rows.len(), 0);
    }
    for first in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0, 0, 0, 8, 0, 0, 0, 0], &[255; 64], &[0, 0, 0, 0], &[0, 0, 0, 3, 1]]
    {
        let mut client = TestClient::begin(server.address);
        client.0.write_all(first).unwrap();
        let _ = client.0.shutdown(std::net::Shutdown::Write);
        let got = client.until_ready();
        assert!(got.letters.is_empty() || got.letters == "E", "{first:?}: {got:?}");
    }
    assert_eq!(server.ann().query("SELECT 1").text(0, 0), "1", "the server goes on");
}

#[test]
fn a_revoked_token_stops_at_once() {
    let server = TestServer::new();
    let mut ann = server.ann();
    assert_eq!(ann.query("SELECT 1").tags, ["SELECT 1"]);
    access::revoke(&server.ledger, "ann").unwrap();
    assert_eq!(ann.query("SELECT 1").code(), "28000");
    assert!(ann.read().is_none(), "the connection has ended");
    // The next person with this name has another token; the old connection is not theirs.
    let again = access::add(&server.ledger, "ann", Role::Analyst).unwrap();
    assert_eq!(TestClient::login(server.address, "ann", "scumble", &server.token, &[]).err().unwrap().code(), "28P01");
    TestClient::login(server.address, "ann", "scumble", &again, &[]).unwrap();
}

/// What was paid says whom it is about, where that is not a person; a cost that says its scope keeps it.
#[test]
fn costs_have_the_scope_of_the_project() {
    let server = TestServer::with(&format!("cost_scope = \"presence\"\n{PROJECT}"), 100);
    let mut ann = server.ann();
    let sql = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY sex";
    let mut answer = |cost: &str| {
        assert_eq!(ann.query(&format!("SET scumble.cost = '{cost}'")).tags, ["SET"]);
        let answer = ann.query(sql);
        assert_eq!(answer.error, None);
        let error: f64 = answer.text(0, 2).parse().unwrap();
        (
            answer
                .notices
                .iter()
                .find(|notice| notice.contains("charged"))
                .unwrap()
                .split(" (")
                .next()
                .unwrap()
                .to_string(),
            error,
        )
    };
    let (paid, error) = answer("epsilon=1");
    assert_eq!(paid, "charged: epsilon=1,scope=presence");
    assert!((error - 1.357).abs() < 0.001, "{error}");
    let (paid, error) = answer("epsilon=1,scope=person");
    assert_eq!(paid, "charged: epsilon=1,scope=person");
    assert!((error - 2.799).abs() < 0.001, "{error}");
    assert!(answer("epsilon=1,scope=presence").0.starts_with("this was charged before"));
}

#[test]
fn answers_have_error_columns_and_are_paid_for_once() {
    let server = TestServer::new();
    let mut ann = server.ann();
    let sql = "SELECT sex, COUNT(*) AS n, AVG(income) AS mean FROM people GROUP BY sex ORDER BY sex";
    let got = ann.query(sql);
    assert_eq!(got.code(), "55000", "{got:?}");
    assert_eq!(ann.query("SET scumble.cost = 'epsilon=20'").tags, ["SET"]);
    assert_eq!(ann.query("SHOW scumble.cost").text(0, 0), "epsilon=20");
    let first = ann.query(sql);
    assert_eq!(first.error, None);
    assert_eq!(
        first.columns.iter().map(|(name, kind)| format!("{name} {kind}")).collect::<Vec<_>>().join(", "),
        "sex 25, n 20, n_se 701, n_low 701, n_high 701, mean 701, mean_se 701, mean_low 701, mean_high 701"
    );
    assert_eq!((first.rows.len(), first.text(0, 0), first.text(1, 0)), (2, "f".into(), "m".into()));
    // 300 of 400, with noise of a scale far below 1.
    let n: f64 = first.text(0, 1).parse().unwrap();
    let error: f64 = first.text(0, 2).parse().unwrap();
    let [low, high] = [3, 4].map(|column| first.text(0, column).parse::<f64>().unwrap());
    assert!((n - 300.0).abs() < 20.0 && error > 0.0 && error < 2.0, "{first:?}");
    assert!(low <= n && n <= high && high - low < 8.0, "{first:?}");
    assert!(first.notices.iter().any(|notice| notice.starts_with("charged: epsilon=20")), "{first:?}");
    let second = ann.query(&format!("/* the same */ {sql} -- again"));
    assert_eq!(second.rows, first.rows);
    assert!(second.notices.iter().any(|notice| notice.contains("nothing was charged now")), "{second:?}");
    let spent = |ann: &mut TestClient| {
        let got = ann.query("SHOW scumble.budget");
        assert_eq!(got.names(), "budget,scope,spent,remaining");
        (0..got.rows.len()).find(|row| got.text(*row, 1) == "person").map(|row| got.text(row, 2)).unwrap()
    };
    let before = spent(&mut ann);
    assert!(before.starts_with("epsilon 20"), "{before}");
    ann.query("SET scumble.fresh = on");
    let third = ann.query(sql);
    assert!(third.error.is_none() && spent(&mut ann).starts_with("epsilon 40"), "{third:?}");
    assert!(server.folder.file("out").is_dir());
}

#[test]
fn explain_says_the_cost_and_charges_nothing() {
    let server = TestServer::new();
    let mut ann = server.ann();
    ann.query("SET scumble.cost = 'epsilon=0.5'");
    let got = ann.query("EXPLAIN SELECT sex, COUNT(*) AS n FROM people GROUP BY sex");
    assert_eq!((got.names(), got.tags.join(";")), ("QUERY PLAN".into(), "EXPLAIN".into()), "{got:?}");
    let text = (0..got.rows.len()).map(|row| got.text(row, 0)).collect::<Vec<_>>().join("\n");
    for part in [
        "person: epsilon 0.5",
        "presence: ",
        "attribute age: ",
        "Standard error to expect\n  n: ",
        "Budget: it fits the budget",
        "What would be left",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&ann.query("EXPLAIN (FORMAT JSON) SELECT COUNT(*) FROM people").text(0, 0)).unwrap();
    assert_eq!(json["fits"], true);
    let budget = ann.query("SHOW scumble.budget");
    assert!((0..budget.rows.len()).all(|row| budget.text(row, 2).starts_with("epsilon 0.0,") || budget.text(row, 2).starts_with("epsilon 0,")), "{budget:?}");
    assert_eq!(ann.query("EXPLAIN ANALYZE SELECT COUNT(*) FROM people").code(), "0A000");
}

#[test]
fn refusals_have_their_codes() {
    let server = TestServer::with(&PROJECT.replace("400", "1"), 100);
    let mut ann = server.ann();
    ann.query("SET scumble.cost = 'epsilon=0.75'");
    for (sql, code, position) in [
        ("SELEC 1", "42601", "1"),
        ("SELECT COUNT(*) FRM people", "42601", ""),
        ("SELECT COUNT(*) FROM persons", "42P01", "22"),
        ("SELECT COUNT(*)\nFROM persons", "42P01", "22"),
        ("SELECT COUNT(size) FROM people", "42703", ""),
        ("SELECT nonsense(age) FROM people", "42883", ""),
        ("SELECT age FROM people", "0A000", ""),
        ("SELECT * FROM people", "0A000", ""),
        ("DELETE FROM people", "0A000", ""),
        ("COPY people TO STDOUT", "0A000", ""),
        ("SELECT COUNT(*) FROM people WHERE age > $1", "42601", ""),
        ("SET scumble.cost = 'lots'", "22023", ""),
        ("SHOW scumble.costs", "42704", ""),
        ("SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM persons", "42P01", ""),
        ("SELECT COUNT(*) FROM people; DROP TABLE people", "0A000", ""),
        ("SET scumble.cost = 'epsilon=9'; SELECT COUNT(*) FROM people", "53400", ""),
    ] {
        let got = ann.query(sql);
        assert_eq!(got.code(), code, "{sql}: {got:?}");
        assert!(position.is_empty() || got.error.as_ref().unwrap().2 == position, "{sql}: {got:?}");
        assert_eq!((got.rows.len(), got.status), (0, 'I'), "{sql}: {got:?}");
    }
    assert_eq!(ann.query("SHOW scumble.cost").text(0, 0), "epsilon=0.75", "nothing of a refused text is done");
    // What was refused was not paid for, and what is paid for once leaves too little for another.
    assert_eq!(ann.query("SELECT COUNT(*) AS n FROM people").tags, ["SELECT 1"]);
    let got = ann.query("SELECT COUNT(*) AS n FROM people WHERE age > 3");
    assert_eq!(got.code(), "53400", "{got:?}");
    assert!(got.error.unwrap().1.contains("budget"));
    let mut vic = TestClient::login(server.address, "vic", "scumble", &server.viewer, &[]).unwrap();
    vic.query("SET scumble.cost = 'epsilon=0.1'");
    assert_eq!(vic.query("SELECT COUNT(*) FROM people").code(), "42501");
    assert_eq!(vic.query("EXPLAIN SELECT COUNT(*) FROM people").code(), "42501");
    assert_eq!(vic.query("SELECT relname FROM pg_class").text(0, 0), "people");
}

#[test]
fn several_statements_are_done_if_each_is_fine() {
    let server = TestServer::new();
    let mut ann = server.ann();
    let got = ann
        .query("BEGIN; SET scumble.cost = 'epsilon=1'; SELECT COUNT(*) AS n FROM people; SHOW scumble.cost; COMMIT;");
    assert_eq!(got.error, None);
    assert_eq!(got.tags, ["BEGIN", "SET", "SELECT 1", "SHOW", "COMMIT"]);
    assert_eq!(ann.query("BEGIN").status, 'T');
    assert_eq!(ann.query("SELECT 1/0").status, 'T');
    assert_eq!(ann.query("ROLLBACK").status, 'I');
    assert_eq!(ann.query("").letters, "IZ");
    assert_eq!(ann.query(" ; -- nothing").letters, "IZ");
}

/// What is described before an answer is what the answer has, for every shape of query; or it would be refused after it
/// was paid for.
#[test]
fn answers_are_as_they_were_described() {
    let server = TestServer::with(&PROJECT.replace("epsilon = 400", "epsilon = 400, delta = 1e-6"), 100);
    let mut ann = server.ann();
    ann.query("SET scumble.cost = 'epsilon=2,delta=1e-9'");
    for (sql, expected) in [
        ("SELECT COUNT(*) FROM people", "int8,float8,float8,float8"),
        ("SELECT sex, insured, COUNT(*) AS n FROM people GROUP BY sex, insured", "text,bool,int8,float8,float8,float8"),
        ("SELECT day, SUM(income) AS total FROM people GROUP BY day", "date,float8,float8,float8,float8"),
        ("SELECT MEDIAN(age) AS m FROM people", "float8,float8,float8,float8,float8"),
        ("SELECT MIN(day) AS d FROM people", "date,float8,float8,float8,float8"),
        ("SELECT COUNT(*) * 2 + 1 AS n, 'x' AS x FROM people", "int8,float8,float8,float8,text"),
        ("SELECT sex, COUNT(*) > 10 AS many FROM people GROUP BY sex", "text,bool"),
        (
            "SELECT STDDEV(income) AS s, AVG(age) AS a FROM people",
            "float8,float8,float8,float8,float8,float8,float8,float8",
        ),
        ("SELECT sex, COUNT(*) AS n FROM people GROUP BY ROLLUP (sex)", "text,int8,float8,float8,float8"),
        (
            "SELECT COUNT(*) AS n FROM people WHERE sex = 'f' UNION ALL SELECT COUNT(*) FROM people WHERE sex = 'm'",
            "int8,float8,float8,float8",
        ),
        ("SELECT town FROM people GROUP BY town", "text"),
        (
            "SELECT date_trunc('day', seen) AS at, COUNT(*) AS n FROM people GROUP BY date_trunc('day', seen)",
            "timestamp,int8,float8,float8,float8",
        ),
        ("SELECT sex, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*)) AS r FROM people GROUP BY sex", ""),
        ("SELECT CORR(age, income) AS c FROM people", "float8,float8,float8,float8"),
    ] {
        let got = ann.query(sql);
        assert_eq!(got.error, None, "{sql}");
        let named = |oid: u32| match oid {
            16 => "bool",
            20 => "int8",
            25 => "text",
            701 => "float8",
            1082 => "date",
            1114 => "timestamp",
            _ => "?",
        };
        let kinds: Vec<&str> = got.columns.iter().map(|(_, oid)| named(*oid)).collect();
        assert!(expected.is_empty() || kinds.join(",") == expected, "{sql}: {}", kinds.join(","));
        assert!(got.rows.iter().all(|row| row.len() == kinds.len()), "{sql}");
        // The same in binary, where every cell must be of its type.
        let binary = ann.prepared(sql, &[], &[], 1);
        assert_eq!((binary.error.as_ref(), binary.rows.len()), (None, got.rows.len()), "{sql}");
        for (row, texts) in binary.rows.iter().zip(&got.rows) {
            for ((cell, text), kind) in row.iter().zip(texts).zip(&kinds) {
                let (Some(cell), Some(text)) = (cell, text) else { continue };
                let text = String::from_utf8_lossy(text);
                match *kind {
                    "int8" => assert_eq!(i64::from_be_bytes(cell[..].try_into().unwrap()).to_string(), text),
                    "float8" => assert_eq!(
                        f64::from_be_bytes(cell[..].try_into().unwrap()),
                        text.parse::<f64>().unwrap_or(f64::INFINITY)
                    ),
                    "bool" => assert_eq!(cell[0] == 1, text == "t"),
                    "date" => assert_eq!(
                        value::day_of(i32::from_be_bytes(cell[..].try_into().unwrap())).unwrap().to_string(),
                        text
                    ),
                    "timestamp" => assert_eq!(
                        value::moment_of(i64::from_be_bytes(cell[..].try_into().unwrap())).unwrap().to_string(),
                        text
                    ),
                    _ => assert_eq!(String::from_utf8_lossy(cell), text),
                }
            }
        }
    }
}

#[test]
fn prepared_statements_have_parameters() {
    let server = TestServer::new();
    let mut ann = server.ann();
    ann.query("SET scumble.cost = 'epsilon=20'");
    let sql = "SELECT COUNT(*) AS n FROM people WHERE age < $1 AND sex = $2";
    // The query tells the types: a whole number and a text.
    let got = ann.prepared(sql, &[], &[(0, Some(b"45")), (0, Some(b"f"))], 0);
    assert_eq!((got.error.as_ref(), got.order()), (None, "1tT2TDCZ".to_string()), "{got:?}");
    assert_eq!((got.parameters.as_slice(), got.names()), (&[20, 25][..], "n,n_se,n_low,n_high".to_string()));
    let n: f64 = got.text(0, 0).parse().unwrap();
    let truth = (0..400).filter(|id| id % 90 < 45 && id % 4 != 0).count() as f64;
    assert!((n - truth).abs() < 10.0, "{n} {truth}");
    // The same in binary, with types of the client: the same question, which is paid for.
    let same = ann.prepared(sql, &[23, 1043], &[(1, Some(&45i32.to_be_bytes())), (0, Some(b"f"))], 0);
    assert_eq!((same.error.as_ref(), same.rows == got.rows), (None, true));
    assert!(same.notices.iter().any(|notice| notice.contains("nothing was charged")), "{same:?}");
    // A text stays a text, whatever stands in it.
    for text in ["O'Hara", "\\' OR 1=1 --", "'; SET scumble.cost = 'epsilon=100'; --", "f' OR sex = 'm"] {
        let got =
            ann.prepared("SELECT COUNT(*) AS n FROM people WHERE town = $1", &[25], &[(0, Some(text.as_bytes()))], 0);
        assert_eq!(got.error, None, "{text}");
        let n: f64 = got.text(0, 0).parse().unwrap();
        let expected = if text == "O'Hara" { 200.0 } else { 0.0 };
        assert!((n - expected).abs() < 10.0, "{text}: {n}");
    }
    assert_eq!(ann.query("SHOW scumble.cost").text(0, 0), "epsilon=20");
    let day = ann.prepared(
        "SELECT COUNT(*) AS n FROM people WHERE day = $1",
        &[1082],
        &[(1, Some(&7305i32.to_be_bytes()))],
        0,
    );
    assert_eq!(day.error, None);
    for (types, value, code) in
        [(&[23][..], "four", "22P02"), (&[20], "1.5", "22P02"), (&[2950], "x", "0A000"), (&[], "1e999", "")]
    {
        let got = ann.prepared(
            "SELECT COUNT(*) AS n FROM people WHERE income < $1",
            types,
            &[(0, Some(value.as_bytes()))],
            0,
        );
        assert!(code.is_empty() || got.code() == code, "{value}: {got:?}");
        assert_eq!(got.status, 'I');
    }
    assert_eq!(ann.prepared(sql, &[], &[(0, Some(b"45"))], 0).code(), "08P01");
    assert_eq!(ann.prepared("SELECT 1; SELECT 2", &[], &[], 0).code(), "42601");
    assert_eq!(ann.prepared("", &[], &[], 0).letters, "1tn2nIZ");
    let relation =
        ann.prepared("SELECT oid, relname FROM pg_class WHERE relname = $1", &[], &[(0, Some(b"people"))], 0);
    assert_eq!((relation.text(0, 0), relation.text(0, 1)), ("16384".into(), "people".into()));
}

#[test]
fn a_portal_gives_its_rows_in_parts_and_is_paid_for_once() {
    let server = TestServer::new();
    let mut ann = server.ann();
    ann.query("SET scumble.cost = 'epsilon=5'; SET scumble.fresh = on");
    ann.query("BEGIN");
    ann.send(Some(b'P'), b"s\0SELECT sex, COUNT(*) AS n FROM people GROUP BY sex\0\0\0");
    ann.send(Some(b'B'), b"p\0s\0\0\0\0\0\0\0");
    ann.send(Some(b'E'), b"p\0\0\0\0\x01");
    ann.send(Some(b'S'), b"");
    let first = ann.until_ready();
    assert_eq!((first.order(), first.rows.len()), ("12DsZ".to_string(), 1), "{first:?}");
    ann.send(Some(b'E'), b"p\0\x7f\xff\xff\xff");
    ann.send(Some(b'S'), b"");
    let second = ann.until_ready();
    assert_eq!((second.letters.as_str(), second.tags.join(";")), ("DCZ", "SELECT 1".into()), "{second:?}");
    ann.send(Some(b'E'), b"p\0\xff\xff\xff\xff");
    ann.send(Some(b'C'), b"Pp\0");
    ann.send(Some(b'E'), b"p\0\0\0\0\0");
    ann.send(Some(b'E'), b"p\0\0\0\0\0");
    ann.send(Some(b'S'), b"");
    let last = ann.until_ready();
    // Nothing is left; then it is closed; then it is not there, and what follows is passed over.
    assert_eq!((last.letters.as_str(), last.code()), ("C3EZ", "34000"), "{last:?}");
    ann.query("COMMIT");
    let got = ann.query("SHOW scumble.budget");
    assert!((0..got.rows.len()).any(|row| got.text(row, 2).starts_with("epsilon 5")), "{got:?}");
}

#[test]
fn options_of_the_connection_set_the_cost() {
    let server = TestServer::new();
    let more = [("options", "-c scumble.cost=epsilon=3"), ("application_name", "test"), ("DateStyle", "German")];
    let mut ann = TestClient::login(server.address, "ann", "scumble", &server.token, &more).unwrap();
    assert_eq!(ann.query("SHOW scumble.cost").text(0, 0), "epsilon=3");
    assert_eq!(ann.query("SHOW application_name").text(0, 0), "test");
    assert_eq!(ann.query("SELECT COUNT(*) FROM people").tags, ["SELECT 1"]);
    ann.query("SET scumble.cost = 'rho=1'; DISCARD ALL");
    assert_eq!(ann.query("SHOW scumble.cost").text(0, 0), "epsilon=3");
    let wrong =
        TestClient::login(server.address, "ann", "scumble", &server.token, &[("options", "-c scumble.cost=much")]);
    assert_eq!(wrong.err().unwrap().code(), "22023");
}

#[test]
fn too_many_and_too_much_are_refused() {
    let server = TestServer::with(PROJECT, 2);
    let (mut one, two) = (server.ann(), server.ann());
    let got = TestClient::login(server.address, "ann", "scumble", &server.token, &[]).err().unwrap();
    assert_eq!(got.code(), "53300", "{got:?}");
    drop(two);
    // More than is read of anybody, announced and not sent.
    one.0.write_all(&[b'Q', 0x7f, 0xff, 0xff, 0xff]).unwrap();
    assert_eq!(one.until_ready().code(), "54000");
    let mut ann = (0..100).find_map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        TestClient::login(server.address, "ann", "scumble", &server.token, &[]).ok()
    });
    assert_eq!(ann.as_mut().unwrap().query(&format!("SELECT '{}'", "a".repeat(200_000))).code(), "54000");
    assert_eq!(ann.unwrap().query("SELECT 1").tags, ["SELECT 1"]);
}

#[test]
fn a_server_that_stops_says_so() {
    let server = TestServer::new();
    let mut ann = server.ann();
    server.stop.send(true).unwrap();
    let got = ann.until_ready();
    assert_eq!(got.code(), "57P01", "{got:?}");
    assert!(ann.read().is_none());
}

/// A request to end somebody's query gets no answer, from whatever client and with whatever numbers.
#[test]
fn a_request_to_cancel_is_not_answered() {
    let server = TestServer::new();
    let mut client = TestClient::begin(server.address);
    client.send(None, &[&80_877_102u32.to_be_bytes()[..], &[0, 0, 0, 1, 0, 0, 0, 2]].concat());
    assert!(client.read().is_none());
    assert_eq!(server.ann().query("SELECT 1").tags, ["SELECT 1"]);
}

/// 512 connections of one address are half of a door, and one person with two addresses had both halves.
#[test]
fn one_person_and_one_address_have_so_many_connections() {
    let server = TestServer::with_places(PROJECT, AddressSlots::new(8, 3), PersonSlots::new(2));
    let login = |name: &str, token: &str| TestClient::login(server.address, name, "scumble", token, &[]);
    let (one, _two) = (login("ann", &server.token).unwrap(), login("ann", &server.token).unwrap());
    let refused = login("ann", &server.token).err().unwrap();
    assert!(refused.code() == "53300" && !refused.letters.contains('Z'), "{refused:?}");
    assert!(refused.error.as_ref().unwrap().1.contains("ann has all the connections"), "{refused:?}");
    // Another person has connections of their own, up to the limit of their address; a client beyond that limit is
    // refused before any login.
    let again = |name: &str, token: &str| {
        (0..200).find_map(|_| {
            std::thread::sleep(Duration::from_millis(20));
            login(name, token).ok()
        })
    };
    let _vic = again("vic", &server.viewer).unwrap();
    let refused = login("vic", &server.viewer).err().unwrap();
    assert_eq!(refused.order(), "E");
    assert!(refused.error.unwrap().1.contains("too many connections"));
    drop(one);
    assert!(again("ann", &server.token).is_some(), "a connection that ended is not counted");
}

/// Parses a statement, binds it to a portal of this name, and asks for one row of it.
fn one_row_of(client: &mut TestClient, portal: &str, sql: &str) -> ServerReplies {
    client.send(Some(b'P'), &[b"\0", sql.as_bytes(), b"\0\0\0"].concat());
    client.send(Some(b'B'), &[portal.as_bytes(), &[0; 8]].concat());
    client.send(Some(b'E'), &[portal.as_bytes(), b"\0\0\0\0\x01"].concat());
    client.send(Some(b'S'), b"");
    client.until_ready()
}

/// A hundred portals of one connection held a hundred results, whose rows without columns weighed nothing: 2 to 5 GB.
#[test]
fn portals_hold_so_many_rows_and_no_more() {
    let server = TestServer::new();
    let mut vic = TestClient::login(server.address, "vic", "scumble", &server.viewer, &[]).unwrap();
    vic.query("BEGIN");
    // 20,000 rows of 64 bytes, and what a cell takes, if there is one.
    for (columns, each) in [("", 1_280_000), ("NULL", 2_320_000)] {
        let sql = format!("SELECT {columns} FROM generate_series(1, 10000) x, generate_series(1, 2) y");
        let mut held = 0;
        let refused = (0..100).find_map(|portal| {
            let got = one_row_of(&mut vic, &format!("p{portal}"), &sql);
            held += usize::from(got.error.is_none());
            got.error
        });
        let (code, sentence, _) = refused.expect("they do not all wait");
        assert!(code == "54000" && sentence.contains("would wait on this connection"), "{code} {sentence}");
        assert!((1..=(8 << 20) / each).contains(&held), "{held} results of {each} bytes");
        vic.query("COMMIT");
        vic.query("BEGIN");
    }
    assert_eq!(vic.query("SELECT 1").tags, ["SELECT 1"]);
}

/// What is sent to clients that do not read was held without any bound: a connection each, up to 200 MB each.
#[test]
fn clients_that_do_not_read_hold_so_much_together() {
    let server = TestServer::new();
    let login = || TestClient::login(server.address, "vic", "scumble", &server.viewer, &[]).unwrap();
    // 7 MB each, which no socket takes at once; one person holds 32 MB.
    let large = format!("SELECT '{}' FROM generate_series(1, 7000) x\0", "y".repeat(900));
    let mut silent: Vec<TestClient> = (0..4).map(|_| login()).collect();
    for client in &mut silent {
        client.send(Some(b'Q'), large.as_bytes());
        // The first rows have come: the result is made, and waits.
        assert_eq!(client.read().unwrap().0, b'T');
    }
    let mut other = login();
    let refused = other.query(&large[..large.len() - 1]);
    assert_eq!(refused.code(), "57P03", "{:?}", refused.error);
    assert!(refused.error.as_ref().unwrap().1.contains("nobody has read yet"), "{:?}", refused.error);
    // Others are not kept from theirs.
    assert_eq!(server.ann().query("SELECT 1").tags, ["SELECT 1"]);
    // A client that reads or leaves gives back what it held.
    drop(silent);
    let all = (0..20).find_map(|_| Some(other.query(&large[..large.len() - 1])).filter(|got| got.error.is_none()));
    assert_eq!(all.unwrap().rows.len(), 7_000);
}

/// A text of 80 bytes, `f(f(f(…`, kept a thread for ever: each level of calls is read twice, and names in front of
/// brackets did not count.
#[test]
fn calls_in_calls_are_refused_before_they_are_read() {
    let server = TestServer::new();
    let mut vic = TestClient::login(server.address, "vic", "scumble", &server.viewer, &[]).unwrap();
    for opened in ["f(", "lower(", "POSITION(", "CAST(", "AND("] {
        let got = vic.query(&format!("SELECT {}1{}", opened.repeat(40), ")".repeat(40)));
        assert_eq!(got.code(), "54000", "{opened}: {:?}", got.error);
    }
    assert_eq!(vic.query("SELECT lower(upper(lower(upper(lower('A')))))").text(0, 0), "a");
}
