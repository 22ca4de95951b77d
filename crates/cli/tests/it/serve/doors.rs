//! The doors of `scumble serve` on the second day of attacks: what one guest could do to all others, and what each role
//! sees.

use crate::serve::postgres::is_here;
use crate::serve::support::{Reply, Server, add, project};
use crate::support::Folder;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const COUNT: &str = "SELECT COUNT(*) AS n FROM people";

/// Runs psql as somebody.
fn psql(server: &Server, name: &str, token: &str, sql: &str) -> Output {
    let address = server.postgres.unwrap();
    // Of an error that comes in the place of an answer about TLS, clients show nothing.
    let place = format!("host={} port={} dbname=scumble user={name} sslmode=disable", address.ip(), address.port());
    let mut command = Command::new("psql");
    command.args(["--no-psqlrc", "--quiet", "-v", "ON_ERROR_STOP=1", &place, "-c", sql]);
    command.env("PGPASSWORD", token).env("PGOPTIONS", "-c scumble.cost=epsilon=0.1").env("LC_ALL", "C");
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The cookie of a session that begins with a token.
fn enter(server: &Server, token: &str) -> String {
    let body = json!({ "token": token }).to_string();
    let reply = server.send("POST", "/enter", &[("Content-Type", "application/json")], &body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.header("set-cookie").unwrap().split(';').next().unwrap().to_string()
}

fn with_cookie(server: &Server, cookie: &str, path: &str) -> Reply {
    server.send("GET", path, &[("Cookie", cookie)], "")
}

/// One free plan of 65 kB ended the server: `INT[][]…` counted as one level, and a stack that overflows is caught by
/// nobody.
#[test]
fn no_plan_and_no_query_of_the_catalogue_ends_the_server() {
    let folder = project();
    let (ada, vic) = (add(&folder, "ada", "analyst"), add(&folder, "vic", "viewer"));
    let server = Server::start(folder.path(), &["--postgres", "127.0.0.1:0"]);
    let deep = |times: usize| format!("CAST(NULL AS INT{})", "[]".repeat(times));
    for times in [17, 1_000, 29_000] {
        let sql = format!("SELECT COUNT({}) AS n FROM people", deep(times));
        let body = json!({ "sql": sql, "cost": { "epsilon": 0.1 } });
        for path in ["/v1/plan", "/v1/query"] {
            let sentence = server.post(&ada, path, &body).refused(400, "16 pairs of square brackets");
            assert!(sentence.len() < 1_000, "{sentence}");
        }
        if is_here("psql", "--version") {
            let explained = said(&psql(&server, "ada", &ada, &format!("EXPLAIN {sql}")));
            assert!(explained.contains("16 pairs of square brackets"), "{explained:.300}");
            let catalogue = said(&psql(&server, "vic", &vic, &format!("SELECT {}", deep(times))));
            assert!(catalogue.contains("16 pairs of square brackets"), "{catalogue:.300}");
        }
    }
    // What a sentence quotes is cut.
    let long = format!("SELECT COUNT(*) AS n FROM {}", "a".repeat(50_000));
    let sentence = server.post(&ada, "/v1/plan", &json!({ "sql": long, "cost": { "epsilon": 0.1 } }));
    assert!(sentence.refused(400, "there is no table").len() < 2_000);
    assert_eq!(server.send("GET", "/healthz", &[], "").status, 200);
}

/// The most memory that the server had so far, in bytes; 0 where the system does not report it.
fn memory(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// A viewer's query of 244 bytes took all memory: the columns and cells of `SELECT *, *` were made without being paid
/// for.
#[test]
fn a_small_query_of_the_catalogue_takes_little_memory() {
    if !is_here("psql", "--version") {
        return;
    }
    let folder = project();
    let vic = add(&folder, "vic", "viewer");
    let server = Server::start(folder.path(), &["--postgres", "127.0.0.1:0"]);
    said(&psql(&server, "vic", &vic, "SELECT 1"));
    let before = memory(&server);
    let stars = |inner: &str, levels: usize| {
        (0..levels).fold(inner.to_string(), |inner, _| format!("SELECT *,*,*,*,*,* FROM ({inner}) a"))
    };
    // Brackets in brackets are read twice at each level, and 40 of them for ever: so deep a list is made step by step.
    let nested = (0..40).fold("1".to_string(), |inner, _| format!("ARRAY[{inner}]"));
    let steps = (1..40).map(|step| format!(", a{step} AS (SELECT ARRAY[x] AS x FROM a{})", step - 1));
    let lists = format!("WITH a0 AS (SELECT ARRAY['\"'] AS x){} SELECT x FROM a39", steps.collect::<String>());
    for (sql, words) in [
        (stars("SELECT * FROM pg_attribute", 9), "at most 1664 columns"),
        (stars("SELECT 1 FROM generate_series(1,9999)", 4), "too large"),
        (format!("SELECT {nested}"), "nested too deeply"),
        (lists, "{{{"),
        ("SELECT sum(x) FROM (SELECT 9223372036854775807 AS x UNION ALL SELECT 1) t".to_string(), "does not fit"),
    ] {
        let came = said(&psql(&server, "vic", &vic, &sql));
        assert!(came.contains(words), "{sql:.100}: {came:.300}");
    }
    let after = memory(&server);
    assert!(after < before + (300 << 20), "{} MiB became {}", before >> 20, after >> 20);
}

/// The session of a name whose token was revoked came back when the name was added again with the same role.
#[test]
fn a_revoked_session_does_not_come_back() {
    let folder = project();
    let (vic, carl) = (add(&folder, "vic", "viewer"), add(&folder, "carl", "curator"));
    let server = Server::start(folder.path(), &[]);
    for by_server in [false, true] {
        let token = match by_server {
            false => vic.clone(),
            true => {
                let added = server.post(&carl, "/v1/people", &json!({ "name": "una", "role": "viewer" }));
                added.expect(200)["token"].as_str().unwrap().to_string()
            }
        };
        let name = if by_server { "una" } else { "vic" };
        let cookie = enter(&server, &token);
        assert_eq!(with_cookie(&server, &cookie, "/v1/me").expect(200)["name"], name);
        match by_server {
            false => drop(folder.stdout(&["access", "revoke", name])),
            true => {
                let bearer = format!("Bearer {carl}");
                let path = format!("/v1/people/{name}");
                assert_eq!(server.send("DELETE", &path, &[("Authorization", &bearer)], "").status, 200);
            }
        }
        // Nobody looks meanwhile.
        let again = add(&folder, name, "viewer");
        assert_eq!(with_cookie(&server, &cookie, "/v1/me").status, 401, "{name}");
        let cookie = enter(&server, &again);
        assert_eq!(with_cookie(&server, &cookie, "/v1/me").status, 200);
    }
}

/// Logins of one viewer ended everybody's sessions; wrong tokens of one guest kept others from getting the error that
/// theirs is wrong.
#[test]
fn logins_of_one_are_no_end_for_others() {
    let folder = project();
    let (vic, carl) = (add(&folder, "vic", "viewer"), add(&folder, "carl", "curator"));
    let server = Server::start(folder.path(), &[]);
    let (curator, first) = (enter(&server, &carl), enter(&server, &vic));
    (0..24).for_each(|_| drop(enter(&server, &vic)));
    let last = enter(&server, &vic);
    assert_eq!(with_cookie(&server, &curator, "/v1/me").status, 200);
    assert_eq!(with_cookie(&server, &last, "/v1/me").status, 200);
    assert_eq!(with_cookie(&server, &first, "/v1/me").status, 401, "twenty of each are held");
    let wrong: Vec<u16> = std::thread::scope(|threads| {
        let guests: Vec<_> = (0..48).map(|_| threads.spawn(|| server.get(&"0".repeat(64), "/v1/me").status)).collect();
        guests.into_iter().map(|guest| guest.join().unwrap()).collect()
    });
    assert!(wrong.iter().all(|status| *status == 401), "{wrong:?}");
    assert_eq!(server.get(&carl, "/v1/me").status, 200);
}

/// One guest held every connection.
#[test]
fn one_address_does_not_hold_all_connections() {
    if !is_here("curl", "--version") {
        return;
    }
    let folder = project();
    let server = Server::start(folder.path(), &["--connections", "8"]);
    let _idle: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    let until = Instant::now() + Duration::from_secs(10);
    while server.send("GET", "/healthz", &[], "").status != 503 {
        assert!(Instant::now() < until, "one address has more than half of the places");
    }
    let place = format!("http://{}/healthz", server.address);
    let other =
        Command::new("curl").args(["-sS", "--max-time", "30", "--interface", "127.0.0.2", &place]).output().unwrap();
    assert!(said(&other).contains("\"ok\""), "{}", said(&other));
    drop(server);
    let server = Server::start(folder.path(), &["--connections", "8", "--connections-each", "2"]);
    let _idle: Vec<TcpStream> = (0..2).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    let until = Instant::now() + Duration::from_secs(10);
    while server.send("GET", "/healthz", &[], "").status != 503 {
        assert!(Instant::now() < until, "one address has more places than were given");
    }
}

/// One address held all places of PostgreSQL's door, and one person with several addresses too.
#[test]
fn one_address_and_one_person_do_not_hold_the_door_for_clients() {
    if !is_here("psql", "--version") {
        return;
    }
    let folder = project();
    let (ada, vic) = (add(&folder, "ada", "analyst"), add(&folder, "vic", "viewer"));
    // Of 8 places each address has 4, and each person 2.
    let server = Server::start(folder.path(), &["--postgres", "127.0.0.1:0", "--connections", "16"]);
    let until = |words: &str, name: &str, token: &str| {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let came = said(&psql(&server, name, token, "SELECT 'in' || 'side'"));
            if came.contains(words) {
                break;
            }
            assert!(Instant::now() < end, "{words}: {came}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let idle: Vec<TcpStream> = (0..4).map(|_| TcpStream::connect(server.postgres.unwrap()).unwrap()).collect();
    until("too many connections", "vic", &vic);
    drop(idle);
    until("inside", "vic", &vic);
    let stays = || {
        let address = server.postgres.unwrap();
        let place = format!("host={} port={} dbname=scumble user=vic", address.ip(), address.port());
        let mut command = Command::new("psql");
        command.args(["--no-psqlrc", "--quiet", "--tuples-only", &place]).env("PGPASSWORD", &vic);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(b"SELECT 'inside';\n").unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("inside"), "{line}");
        child
    };
    // Those that came before may still be on their way out.
    std::thread::sleep(Duration::from_secs(2));
    let mut both = [stays(), stays()];
    until("vic has all the connections that one person may have", "vic", &vic);
    until("inside", "ada", &ada);
    both.iter_mut().for_each(|child| {
        child.kill().unwrap();
        child.wait().unwrap();
    });
    until("inside", "vic", &vic);
}

/// The entries of all answers that are listed for somebody.
fn listed(server: &Server, token: &str) -> Vec<u64> {
    let shown = server.get(token, "/v1/answers").expect(200);
    let all = shown["answers"].as_array().unwrap().iter().map(sequence);
    let mut all: Vec<u64> = all.collect();
    all.sort_unstable();
    all
}

/// The entries that a person can see, by every way in which answers are listed or described; `curator` sees all of
/// them.
fn seen(server: &Server, token: &str, curator: &str) -> Vec<u64> {
    let own = listed(server, token);
    let report = server.get(token, "/v1/report?format=json").expect(200);
    let mut told: Vec<u64> = report["rules"].as_array().unwrap().iter().map(sequence).collect();
    told.sort_unstable();
    assert_eq!(own, told, "the report tells of what is listed");
    let cookie = enter(server, token);
    let page = with_cookie(server, &cookie, "/answers").text();
    for sequence in listed(server, curator) {
        let is_own = own.contains(&sequence);
        assert_eq!(page.contains(&format!("\"/answers/{sequence}\"")), is_own, "{sequence}");
        let status = if is_own { 200 } else { 404 };
        assert_eq!(server.get(token, &format!("/v1/answers/{sequence}")).status, status, "{sequence}");
        assert_eq!(with_cookie(server, &cookie, &format!("/answers/{sequence}")).status, status, "{sequence}");
    }
    own
}

fn sequence(reply: &Value) -> u64 {
    reply["sequence"].as_u64().unwrap()
}

/// A curator's `scumble query` was shown to viewers and analysts, and a plan revealed that a colleague's question is
/// stored, without a trace.
#[test]
fn each_role_sees_its_own_and_a_plan_that_tells_of_a_colleague_is_written_down() {
    let folder: Folder = project();
    let tokens = [("vic", "viewer"), ("ada", "analyst"), ("cleo", "analyst"), ("carl", "curator")];
    let [vic, ada, cleo, carl] = tokens.map(|(name, role)| add(&folder, name, role));
    folder.json(&["release", "--json"]);
    folder.json(&["query", "SELECT COUNT(*) AS secret FROM people WHERE age > 7", "--cost", "epsilon=0.1", "--json"]);
    let server = Server::start(folder.path(), &["--postgres", "127.0.0.1:0"]);
    let all = seen(&server, &carl, &carl);
    let [declared, at_terminal] = all[..] else { panic!("{all:?}") };
    for token in [&vic, &ada] {
        assert_eq!(seen(&server, token, &carl), [declared]);
        let report = server.get(token, "/v1/report?format=html").text();
        assert!(!report.contains("secret"), "the report quotes what a curator asked");
    }
    let asked = sequence(&server.ask(&ada, COUNT, "0.1").expect(200));
    assert_eq!(seen(&server, &ada, &carl), [declared, asked]);
    assert_eq!(seen(&server, &cleo, &carl), [declared]);
    assert_eq!(seen(&server, &vic, &carl), [declared]);
    // A plan says that it is stored, does not show it, and is written down once.
    let planned = |token: &str| {
        let history = server.get(token, "/v1/ledger").expect(200);
        let remarks = history["asked"].as_array().unwrap().iter().filter(|one| one["planned"].is_u64());
        remarks
            .map(|one| (one["by"].as_str().unwrap().to_string(), one["planned"].as_u64().unwrap()))
            .collect::<Vec<_>>()
    };
    let question = json!({ "sql": COUNT, "cost": { "epsilon": "0.1" } });
    assert_eq!(server.post(&ada, "/v1/plan", &question).expect(200)["stored"], true);
    assert_eq!(server.post(&carl, "/v1/plan", &question).expect(200)["stored"], true);
    assert!(planned(&carl).is_empty(), "their own, and a curator's");
    for _ in 0..2 {
        assert_eq!(server.post(&cleo, "/v1/plan", &question).expect(200)["stored"], true);
    }
    assert_eq!(planned(&carl), [("cleo".to_string(), asked)]);
    assert_eq!(planned(&cleo), [("cleo".to_string(), asked)]);
    assert!(planned(&ada).is_empty());
    assert_eq!(seen(&server, &cleo, &carl), [declared], "a plan shows no answer");
    assert_eq!(server.post(&vic, "/v1/plan", &question).status, 403);
    // Through PostgreSQL's door too.
    if is_here("psql", "--version") {
        let other = "SELECT COUNT(*) AS m FROM people";
        let asked = sequence(&server.ask(&ada, other, "0.1").expect(200));
        let explained = said(&psql(&server, "cleo", &cleo, &format!("EXPLAIN {other}")));
        assert!(explained.contains("charged before"), "{explained}");
        assert!(planned(&carl).contains(&("cleo".to_string(), asked)));
        assert!(said(&psql(&server, "vic", &vic, &format!("EXPLAIN {other}"))).contains("role analyst"));
    }
    // Asking the same is free, and then it is theirs too.
    let again = server.ask(&cleo, COUNT, "0.1").expect(200);
    assert!(again["stored"] == true && sequence(&again) == asked);
    assert_eq!(seen(&server, &cleo, &carl), [declared, asked]);
    assert_eq!(seen(&server, &vic, &carl), [declared]);
    assert!(seen(&server, &carl, &carl).contains(&at_terminal));
    // What the project file names is everybody's.
    drop(server);
    let named = "[[release]]\nname = \"query\"\nsql = \"SELECT COUNT(*) AS secret FROM people WHERE age > 7\"\ncost = { epsilon = 0.1 }\n";
    folder.write("scumble.toml", &(folder.read("scumble.toml") + named));
    let server = Server::start(folder.path(), &[]);
    assert_eq!(seen(&server, &vic, &carl), [declared, at_terminal]);
    // The ledger with plans in it is whole, and says so after a restart too.
    assert!(folder.run(&["ledger", "verify"]).status.success());
}

/// Each report took 1.7 seconds of a processor, however often nothing had changed.
#[test]
fn a_report_is_made_once_for_as_long_as_nothing_changes() {
    let folder = project();
    let (vic, ada) = (add(&folder, "vic", "viewer"), add(&folder, "ada", "analyst"));
    folder.json(&["release", "--json"]);
    let server = Server::start(folder.path(), &[]);
    let report = || server.get(&vic, "/v1/report?format=json").expect(200);
    let first = report();
    std::thread::sleep(Duration::from_millis(1_100));
    assert_eq!(report(), first, "with the time at which it was written");
    server.ask(&ada, COUNT, "0.1").expect(200);
    let after = report();
    assert_ne!(after["ledger_head"], first["ledger_head"]);
    assert_ne!(after["summary"]["person"], first["summary"]["person"]);
}
