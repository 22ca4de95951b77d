//! Many at once, and a server that dies at any moment: a budget is never passed, and no answer is given without its
//! charge.

use crate::serve::support::{Server, add, project, request};
use crate::support::{Folder, effort};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The project with this budget, and no analyst who has less.
fn with_budget(epsilon: &str) -> Folder {
    let folder = project();
    let text = folder
        .read("scumble.toml")
        .replace("person = { epsilon = 2.0 }", &format!("person = {{ epsilon = \"{epsilon}\" }}"));
    folder.write("scumble.toml", &text);
    folder
}

/// A question of its own for each number, at a cost of 1/10: one person moves it by 1, and the noise has scale 10.
fn question(number: u64) -> Value {
    json!({ "sql": format!("SELECT COUNT(*) AS n{number} FROM people WHERE age >= {}", number % 80), "cost": { "epsilon": 0.1 } })
}

/// The charges in the ledger by their entry, and whether each is committed.
fn charges(folder: &Folder) -> BTreeMap<u64, bool> {
    let shown = folder.json(&["ledger", "show", "--json"]);
    let releases = shown["releases"].as_array().unwrap().iter();
    releases.map(|one| (one["sequence"].as_u64().unwrap(), one["state"] == "committed")).collect()
}

#[test]
fn a_budget_for_so_many_answers_gives_so_many_answers() {
    let (clients, paid) = (effort(30, 100), effort(10, 40));
    let folder = with_budget(&format!("{}.{}", paid / 10, paid % 10));
    let token = add(&folder, "ada", "analyst");
    let server = Server::start(folder.path(), &[]);
    let replies = Mutex::new(Vec::new());
    std::thread::scope(|threads| {
        for number in 0..clients {
            let (server, token, replies) = (&server, &token, &replies);
            threads.spawn(move || {
                let reply = server.post(token, "/v1/query", &question(number));
                replies.lock().unwrap().push(reply);
            });
        }
    });
    let replies = replies.into_inner().unwrap();
    assert_eq!(replies.len() as u64, clients);
    let (answered, refused): (Vec<_>, Vec<_>) = replies.into_iter().partition(|reply| reply.status == 200);
    for reply in &refused {
        let sentence = reply.refused(402, "epsilon 0 is left");
        assert!(sentence.contains("nothing was charged"), "{sentence}");
    }
    assert_eq!(answered.len() as u64, paid);
    assert!(answered.iter().all(|reply| reply.json()["stored"] == false));
    drop(server);
    let charges = charges(&folder);
    assert!(charges.len() as u64 == paid && charges.values().all(|committed| *committed));
    assert!(folder.run(&["ledger", "verify"]).status.success());
}

/// SIGKILL at random moments while four ask: what was answered is charged and complete, the budget holds, and a server
/// that begins anew gives the same answers.
#[test]
fn no_answer_without_its_charge_whenever_the_server_dies() {
    let (kills, budget) = (effort(3, 15), 40);
    let folder = with_budget(&budget.to_string());
    let token = add(&folder, "ada", "analyst");
    let answered: Mutex<BTreeMap<u64, Value>> = Mutex::default();
    let next = Mutex::new(0u64);
    for round in 0..kills {
        let mut server = Server::start(folder.path(), &[]);
        let address = server.address;
        std::thread::scope(|threads| {
            for _ in 0..4 {
                let (answered, next, token) = (&answered, &next, &token);
                threads.spawn(move || {
                    for _ in 0..3 {
                        let number = {
                            let mut next = next.lock().unwrap();
                            *next += 1;
                            *next
                        };
                        let (bearer, key) = (format!("Bearer {token}"), format!("key-{number}"));
                        let headers = [
                            ("Authorization", bearer.as_str()),
                            ("Content-Type", "application/json"),
                            ("Idempotency-Key", key.as_str()),
                        ];
                        // A connection that breaks off is what a client of a server that dies sees.
                        let Ok(reply) = request(address, "POST", "/v1/query", &headers, &question(number).to_string())
                        else {
                            return;
                        };
                        let Ok(shown) = serde_json::from_slice::<Value>(&reply.body) else { return };
                        if reply.status == 200 {
                            answered.lock().unwrap().insert(number, shown);
                        }
                    }
                });
            }
            // On a machine that is slow the first answer takes its time, and without one there is nothing to lose.
            let until = Instant::now() + Duration::from_secs(60);
            while answered.lock().unwrap().is_empty() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(20));
            }
            std::thread::sleep(Duration::from_millis(150 + (round * 7919) % 1100));
            server.kill();
        });
    }
    let answered = answered.into_inner().unwrap();
    let charges = charges(&folder);
    for (number, answer) in &answered {
        let sequence = answer["sequence"].as_u64().unwrap();
        assert_eq!(charges.get(&sequence), Some(&true), "answer {number} has no charge that is complete");
    }
    assert!(!charges.is_empty() && charges.len() as u64 <= 10 * budget, "{} charges", charges.len());
    assert!(folder.run(&["ledger", "verify"]).status.success());
    // What was asked with a key is not charged again, whatever became of it.
    let server = Server::start(folder.path(), &[]);
    let last = *next.lock().unwrap();
    for number in (1..=last).step_by(if kills > 10 { 17 } else { 1 }) {
        let before = charges_number(&server, &token);
        let (bearer, key) = (format!("Bearer {token}"), format!("key-{number}"));
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Idempotency-Key", key.as_str()),
        ];
        let reply = server.send("POST", "/v1/query", &headers, &question(number).to_string());
        let after = charges_number(&server, &token);
        match (answered.get(&number), reply.status) {
            (Some(answer), 200) => {
                assert_eq!((&reply.json()["rows"], before), (&answer["rows"], after), "{number}");
            }
            (None, 410) => {
                // Only what died while its files were being put into place is lost.
                reply.refused(410, "this was charged");
                assert_eq!(before, after, "{number}");
                let entry = reply
                    .text()
                    .split("(entry ")
                    .nth(1)
                    .and_then(|rest| rest.split(')').next()?.parse::<u64>().ok())
                    .unwrap();
                let export: Value = serde_json::from_slice(&folder.run(&["ledger", "export"]).stdout).unwrap();
                let is_drawn = |one: &Value| one["body"]["entry"] == "drawn" && one["body"]["of"] == entry;
                assert!(export["entries"].as_array().unwrap().iter().any(is_drawn), "{number}: entry {entry}");
            }
            // Nothing had been charged, or it was charged, completed, and not heard.
            (None, 200) => assert!(after == before || after == before + 1),
            (None, 402) => assert_eq!(before, after),
            (answer, status) => panic!("{number}: {status} {answer:?} {}", reply.text()),
        }
    }
}

fn charges_number(server: &Server, token: &str) -> usize {
    server.get(token, "/v1/ledger").expect(200)["releases"].as_array().unwrap().len()
}

#[test]
fn connections_that_are_too_many_are_told_so() {
    let folder = project();
    let server = Server::start(folder.path(), &["--connections", "4"]);
    let idle: Vec<TcpStream> = (0..4).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let reply = server.send("GET", "/healthz", &[], "");
        if reply.status == 503 {
            assert!(reply.text().contains("too many connections"), "{}", reply.text());
            break;
        }
        assert!(Instant::now() < until, "a fifth connection was served");
    }
    // Hundreds more are turned away, and none of them is kept.
    for _ in 0..effort(200, 1000) {
        drop(TcpStream::connect(server.address));
    }
    drop(idle);
    let until = Instant::now() + Duration::from_secs(30);
    while server.send("GET", "/healthz", &[], "").status != 200 {
        assert!(Instant::now() < until, "no place became free");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn whoever_sends_slowly_is_not_waited_for() {
    if effort(0, 1) == 0 {
        // Fifteen seconds of waiting are for the thorough.
        return;
    }
    let folder = project();
    let token = add(&folder, "ada", "analyst");
    let server = Server::start(folder.path(), &[]);
    let began = |text: &str| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let (began, mut all) = (Instant::now(), String::new());
        let _ = stream.read_to_string(&mut all);
        (began.elapsed(), all)
    };
    let (time, said) = began("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    assert!(time < Duration::from_secs(30) && !said.contains("200"), "{time:?}: {said}");
    let (time, said) = began(&format!(
        "POST /v1/plan HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{{",
        server.address
    ));
    assert!(time < Duration::from_secs(30) && said.contains("408"), "{time:?}: {said}");
}
