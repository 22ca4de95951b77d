//! Nobody gets in and nothing gets out of `scumble serve`: what an attacker on the way, without a token, or with a
//! small one would try first.

use crate::serve::postgres::is_here;
use crate::serve::support::{Server, add, project, raw, request};
use crate::support::{Folder, effort};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

const COUNT: &str = "SELECT COUNT(*) AS n FROM people";

fn signal(server: &Server) {
    assert!(Command::new("kill").args(["-TERM", &server.id()]).status().unwrap().success());
}

/// A certificate for this machine, made by openssl; a client can be configured to trust it.
fn with_certificate() -> Option<Folder> {
    if !(is_here("openssl", "version") && is_here("curl", "--version")) {
        return None;
    }
    let folder = project();
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .args(["-keyout", "server.key", "-out", "server.pem"])
        .current_dir(folder.path())
        .output();
    let made = made.unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(folder)
}

const TLS: [&str; 6] = ["--tls-certificate", "server.pem", "--tls-key", "server.key", "--postgres", "127.0.0.1:0"];

#[test]
fn everything_is_encrypted_where_there_is_a_certificate() {
    let Some(folder) = with_certificate() else { return };
    let ada = add(&folder, "ada", "analyst");
    // Beyond this machine too, because there is a certificate.
    let server = Server::start(folder.path(), &[&TLS[..], &["--listen", "0.0.0.0:0"]].concat());
    assert!(server.link.starts_with("https://127.0.0.1:"), "{}", server.link);
    let port = server.address.port();
    let curl = |arguments: &[&str]| {
        let output =
            Command::new("curl").args(["-sS", "--max-time", "30"]).args(arguments).current_dir(folder.path()).output();
        let output = output.unwrap();
        let [said, complaint] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.success(), said, complaint)
    };
    let place = |path: &str| format!("https://localhost:{port}{path}");
    let bearer = format!("Authorization: Bearer {ada}");
    for version in ["1.2", "1.3"] {
        let only = ["--tls-max", version];
        let (fine, said, complaint) =
            curl(&[&only[..], &["--cacert", "server.pem", "-H", &bearer, &place("/v1/me")]].concat());
        assert!(fine && said.contains("\"ada\""), "{version}: {said}{complaint}");
    }
    let (fine, _, complaint) = curl(&["--cacert", "server.pem", "--tls-max", "1.1", &place("/healthz")]);
    assert!(!fine, "TLS 1.1: {complaint}");
    let (fine, ..) = curl(&[&place("/healthz")]);
    assert!(!fine, "a certificate that nobody has vouched for");
    // In plain text nothing is said, and no cookie ever goes that way.
    let plain = raw(([127, 0, 0, 1], port).into(), b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(plain.is_err(), "{plain:?}");
    let token = server.link.split_once('#').unwrap().1;
    let body = json!({ "token": token }).to_string();
    let enter = ["--cacert", "server.pem", "-i", "-H", "Content-Type: application/json", "-d", &body];
    let (_, said, complaint) = curl(&[&enter[..], &[&place("/enter")]].concat());
    assert!(said.contains("; Secure") && said.contains("curator"), "{said}{complaint}");
    if !is_here("psql", "--version") {
        return;
    }
    let port = server.postgres.unwrap().port();
    let psql = |mode: &str| {
        let place = format!("host=localhost hostaddr=127.0.0.1 port={port} dbname=scumble user=ada {mode}");
        let command = Command::new("psql")
            .args(["--no-psqlrc", "-At", &place, "-c", "SET scumble.cost = 'epsilon=0.1'", "-c", COUNT])
            .env("PGPASSWORD", &ada)
            .current_dir(folder.path())
            .output();
        let output = command.unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        (output.status.success(), said)
    };
    let (fine, said) = psql("sslmode=verify-full sslrootcert=server.pem");
    assert!(fine && said.contains('|'), "{said}");
    let (fine, said) = psql("sslmode=disable");
    assert!(!fine && said.contains("encrypted connection"), "{said}");
}

/// The first signal waits for what has begun; the second does not, and what was charged is there for the next start.
#[test]
fn a_second_signal_stops_at_once() {
    let folder = project();
    let ada = add(&folder, "ada", "analyst");
    let server = Server::start(folder.path(), &["--answer-time", "120s"]);
    let (address, bearer) = (server.address, format!("Bearer {ada}"));
    let body = json!({ "sql": COUNT, "cost": { "epsilon": 0.1 } }).to_string();
    let asking = std::thread::spawn(move || {
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        request(address, "POST", "/v1/query", &headers, &body)
    });
    // Charged and complete, and its time is not up.
    let until = Instant::now() + Duration::from_secs(60);
    while !folder
        .path()
        .join("out")
        .read_dir()
        .is_ok_and(|mut all| all.any(|file| file.unwrap().path().extension().is_some_and(|end| end == "json")))
    {
        assert!(Instant::now() < until, "nothing was answered");
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_millis(500));
    signal(&server);
    std::thread::sleep(Duration::from_millis(700));
    assert!(TcpStream::connect(address).is_err(), "nobody new is let in");
    assert!(!asking.is_finished(), "what has begun is waited for");
    let began = Instant::now();
    signal(&server);
    let (_, log) = server.ended();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?} after the second signal: {log}", began.elapsed());
    assert!(asking.join().unwrap().is_err(), "the connection broke off");
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.ask(&ada, COUNT, "0.1").expect(200)["stored"], true);
}

#[test]
fn nothing_that_is_sent_becomes_a_header_or_a_second_request() {
    let folder = project();
    let carl = add(&folder, "carl", "curator");
    let server = Server::start(folder.path(), &[]);
    let bearer = format!("Bearer {carl}");
    let evil = "%0d%0aX-Evil:%201%0d%0aSet-Cookie:%20scumble-session=1";
    for (method, path) in [
        ("GET", format!("/v1/answers/1{evil}")),
        ("GET", format!("/v1/answers/1?format=csv{evil}")),
        ("GET", format!("/v1/report?format={evil}")),
        ("DELETE", format!("/v1/people/eve{evil}")),
        ("GET", format!("/{evil}")),
    ] {
        let reply = server.send(method, &path, &[("Authorization", &bearer)], "");
        assert!([400, 404].contains(&reply.status), "{path}: {}", reply.head);
        assert!(!reply.head.contains("Evil") && reply.header("set-cookie").is_none(), "{path}: {}", reply.head);
    }
    // Whatever stands in a key or in a name of a host is not said again in a header.
    let body = json!({ "sql": COUNT, "cost": { "epsilon": 0.1 } }).to_string();
    for key in ["a b", "a\tb", "ä", "x\u{7f}"] {
        let headers =
            [("Authorization", bearer.as_str()), ("Content-Type", "application/json"), ("Idempotency-Key", key)];
        let reply = server.send("POST", "/v1/query", &headers, &body);
        assert_eq!(reply.status, 400, "{key:?}: {}", reply.head);
    }
    let reply = server.send("GET", "/healthz", &[("Host", "evil.example")], "");
    assert!(reply.status == 403 && !reply.head.contains("evil"), "{}", reply.head);
    // Two lengths, a broken one, bare line feeds, no host, a line that never ends: one refusal, or none, and the
    // connection is over.
    let own = server.address;
    let second = format!("GET /healthz HTTP/1.1\r\nHost: {own}\r\nConnection: close\r\n\r\n");
    for first in [
        format!("POST /v1/plan HTTP/1.1\r\nHost: {own}\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"),
        format!("POST /v1/plan HTTP/1.1\r\nHost: {own}\r\nContent-Length: -1\r\n\r\n"),
        format!("GET /healthz HTTP/1.1\r\nHost: {own}\r\nX: a\x00b\r\n\r\n"),
        format!("GET /v1/{} HTTP/1.1\r\nHost: {own}\r\n\r\n", "a".repeat(40_000)),
        format!("GET /healthz HTTP/9.9\r\nHost: {own}\r\n\r\n"),
        "\r\n\r\n\x16\x03\x01\r\n\r\n".to_string(),
    ] {
        let mut stream = TcpStream::connect(own).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let _ = stream.write_all(format!("{first}{second}").as_bytes());
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said);
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(!said.contains("200 OK"), "{first:.60?}: {said}");
    }
    // A body with both kinds of length is read in one way: the rest of it is not a request.
    let smuggled = format!("GET /v1/me HTTP/1.1\r\nHost: {own}\r\nAuthorization: {bearer}\r\n\r\n");
    let both = format!(
        "POST /v1/plan HTTP/1.1\r\nHost: {own}\r\nAuthorization: {bearer}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n{smuggled}",
        smuggled.len() + 5
    );
    let reply = raw(own, both.as_bytes()).unwrap();
    assert!(reply.status == 400 && !reply.text().contains("\"carl\""), "{}: {}", reply.head, reply.text());
    assert!(server.get(&carl, "/v1/budget").expect(200)["person"]["epsilon"] == json!(0.0));
}

#[test]
fn comments_and_second_statements_are_no_way_in() {
    let folder = project();
    let ada = add(&folder, "ada", "analyst");
    let server = Server::start(folder.path(), &[]);
    let first = server.ask(&ada, COUNT, "0.1").expect(200);
    for same in [
        "SELECT COUNT(*) AS n FROM people -- ; DROP TABLE people",
        "/* SELECT age FROM people; */ SELECT COUNT(*) AS n FROM people",
        "SELECT COUNT(*) AS n FROM people /* WHERE age > 3 */",
        "SELECT COUNT(*) /*+ hint */ AS n FROM people;",
    ] {
        let again = server.ask(&ada, same, "0.1").expect(200);
        assert_eq!((&again["stored"], &again["rows"]), (&json!(true), &first["rows"]), "{same}");
    }
    for wrong in [
        "SELECT COUNT(*) AS n FROM people; SELECT age FROM people",
        "SELECT COUNT(*) AS n FROM people;; DELETE FROM people",
        "SELECT COUNT(*) AS n FROM people /* ",
        "SELECT COUNT(*) AS n FROM people UNION ALL SELECT age FROM people",
        "SELECT COUNT(*) AS n FROM (SELECT * FROM read_csv('/etc/passwd'))",
        "SELECT COUNT(*) AS n FROM 'people.csv'",
        "SELECT COUNT(*) AS n FROM pg_catalog.pg_class",
        "SELECT COUNT(*) AS n FROM information_schema.tables",
        "COPY people TO '/tmp/x'",
        "EXPLAIN ANALYZE SELECT COUNT(*) FROM people",
        "SELECT pg_read_file('/etc/passwd')",
        "PREPARE x AS SELECT 1",
        "SET datafusion.catalog.location = '/'",
    ] {
        let reply = server.ask(&ada, wrong, "0.1");
        let sentence = reply.refused(400, "");
        assert!(!sentence.contains("root:"), "{wrong}: {sentence}");
    }
    let spent = server.get(&ada, "/v1/budget").expect(200)["person"]["epsilon"].as_f64().unwrap();
    assert!((spent - 0.1).abs() < 1e-9, "{spent}");
}

/// Neither refusals nor the log have a value of a table, a query, a key or a token in them, whatever goes wrong.
#[test]
fn what_goes_wrong_tells_no_data() {
    let folder = project();
    let [ada, carl] = [("ada", "analyst"), ("carl", "curator")].map(|(name, role)| add(&folder, name, role));
    let server = Server::start(folder.path(), &["--postgres", "127.0.0.1:0"]);
    let people = folder.read("people.csv");
    folder.write("people.csv", &people.replacen("\nf,", "\nf,s3cr3t", 1));
    let mut said = Vec::new();
    for token in [&ada, &carl] {
        said.push(server.ask(token, "SELECT AVG(age) AS hidden_name FROM people", "0.1").text());
    }
    if is_here("psql", "--version") {
        let place = format!("host=127.0.0.1 port={} dbname=scumble user=ada", server.postgres.unwrap().port());
        let psql = Command::new("psql")
            .args([
                "--no-psqlrc",
                &place,
                "-c",
                "SET scumble.cost = 'epsilon=0.1'",
                "-c",
                "SELECT AVG(age) AS hidden_name FROM people",
            ])
            .env("PGPASSWORD", &ada)
            .output();
        said.push(String::from_utf8_lossy(&psql.unwrap().stderr).into_owned());
    }
    server.get(&"0".repeat(64), "/v1/me").refused(401, "this token is unknown");
    let bearer = format!("Bearer {ada}");
    let headers =
        [("Authorization", bearer.as_str()), ("Content-Type", "application/json"), ("Idempotency-Key", "my-own-key")];
    said.push(
        server
            .send("POST", "/v1/query", &headers, "{\"sql\": \"SELECT hidden_name\", \"cost\": {\"epsilon\": 1}}")
            .text(),
    );
    signal(&server);
    let (_, log) = server.ended();
    for text in &said {
        assert!(!text.contains("s3cr3t"), "{text}");
    }
    assert!(log.contains("nothing was charged"), "{log}");
    for secret in ["s3cr3t", "hidden_name", "my-own-key", ada.as_str(), carl.as_str(), &"0".repeat(64)] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
}

/// With `--answer-time` the events go on until the rounded time: when the work was done does not show in them.
#[test]
fn events_do_not_tell_when_the_work_was_done() {
    let folder = project();
    let ada = add(&folder, "ada", "analyst");
    let server = Server::start(folder.path(), &["--answer-time", "1500ms"]);
    let bearer = format!("Bearer {ada}");
    let headers =
        [("Authorization", bearer.as_str()), ("Content-Type", "application/json"), ("Accept", "text/event-stream")];
    let body = json!({ "sql": COUNT, "cost": { "epsilon": 0.1 } }).to_string();
    server.send("POST", "/v1/query", &headers, &body);
    // Now it is stored, and there is nothing to do.
    let events = server.send("POST", "/v1/query", &headers, &body).text();
    assert!(events.contains("\"stored\":true") && events.contains("{\"seconds\":1}"), "{events}");
}

/// All idle connections beyond the limit are refused with a reason; they take little memory.
#[test]
fn a_flood_of_connections_is_refused_and_takes_little_memory() {
    let folder = project();
    let ada = add(&folder, "ada", "analyst");
    let server = Server::start(folder.path(), &["--connections", "100"]);
    server.ask(&ada, COUNT, "0.1").expect(200);
    let before = memory(&server);
    let number = effort(300, 5000);
    // Each holds a body that does not end, of nearly all that is read of anybody.
    let head = format!(
        "POST /v1/plan HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {ada}\r\nContent-Type: application/json\r\nContent-Length: 60001\r\n\r\n",
        server.address
    );
    let flood: Vec<TcpStream> = (0..number)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&[b' '; 60_000]));
            stream
        })
        .collect();
    let during = memory(&server);
    assert!(during < before + (120 << 20), "{} MiB became {}", before >> 20, during >> 20);
    // A client without a place is refused at once; one that has a place and sends nothing more is refused after ten
    // seconds. Only a thorough run waits for that.
    let waits = if effort(0, 1) == 0 { 100 } else { 0 };
    let mut told = [0, 0];
    for mut stream in flood.into_iter().skip(waits) {
        let mut said = String::new();
        let _ = stream.read_to_string(&mut said);
        told[0] += u64::from(said.starts_with("HTTP/1.1 503"));
        told[1] += u64::from(said.starts_with("HTTP/1.1 408"));
    }
    let all = number - waits as u64;
    assert!(told[1] <= 100 && told[0] + told[1] >= all * 9 / 10, "{told:?} of {all}");
    if waits > 0 {
        return;
    }
    assert_eq!(server.get(&ada, "/v1/me").status, 200);
}

/// The most memory that the server had so far, in bytes; 0 where the system does not report it.
fn memory(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// What stands in the files for containers and for systemd is what the program takes.
#[test]
fn the_container_and_the_unit_start_what_there_is() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let container = std::fs::read_to_string(root.join("Containerfile")).unwrap();
    let ignored = std::fs::read_to_string(root.join(".dockerignore")).unwrap();
    assert!(ignored.lines().any(|line| line.trim_matches('/') == "target"), "{ignored}");
    assert!(container.contains("--locked --package scumble-cli") && root.join("Cargo.lock").exists());
    let command = container.lines().find_map(|line| line.strip_prefix("CMD ")).unwrap();
    let command: Vec<String> = serde_json::from_str(command).unwrap();
    assert_eq!(command[..2], ["scumble", "serve"]);
    let folder = project();
    let arguments: Vec<&str> =
        command[2..].iter().map(|word| if word == "0.0.0.0:8080" { "0.0.0.0:0" } else { word.as_str() }).collect();
    assert_eq!(arguments[0], "scumble.toml");
    drop(Server::start(folder.path(), &arguments[1..]));
    let page = include_str!("../../../../../docs/how-to/serve.md");
    let unit = page.split("\n```ini\n").nth(1).unwrap().split("\n```").next().unwrap();
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let words: Vec<&str> = start.split(' ').collect();
    assert_eq!(words[..3], ["/usr/local/bin/scumble", "serve", "scumble.toml"]);
    let words: Vec<&str> =
        words[3..].iter().map(|word| if *word == "127.0.0.1:8080" { "127.0.0.1:0" } else { word }).collect();
    drop(Server::start(folder.path(), &words));
    if !is_here("systemd-analyze", "--version") {
        return;
    }
    folder.write("scumble.service", &unit.replace("/usr/local/bin/scumble", env!("CARGO_BIN_EXE_scumble")));
    let checked = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(folder.path().join("scumble.service"))
        .output();
    let said = String::from_utf8_lossy(&checked.unwrap().stderr).into_owned();
    assert!(!said.contains("scumble.service"), "{said}");
}
