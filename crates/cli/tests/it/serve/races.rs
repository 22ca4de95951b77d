//! Several doors, several processes and several requests at once: a budget is passed through none of them, and a key is
//! charged for once.

use crate::serve::postgres::is_here;
use crate::serve::support::{Reply, Server, add, project};
use crate::support::Folder;
use serde_json::{Value, json};
use std::process::Command;

fn charges(folder: &Folder) -> Vec<Value> {
    folder.json(&["ledger", "show", "--json"])["releases"].as_array().unwrap().clone()
}

fn older(age: usize) -> String {
    format!("SELECT COUNT(*) AS n{age} FROM people WHERE age >= {age}")
}

fn with_key(server: &Server, token: &str, key: &str, sql: &str) -> Reply {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json"), ("Idempotency-Key", key)];
    server.send("POST", "/v1/query", &headers, &json!({ "sql": sql, "cost": { "epsilon": 0.1 } }).to_string())
}

/// One budget of 2, at 0.5 each: through both doors at once, and with two servers on one ledger, four are answered.
#[test]
fn all_doors_share_one_budget() {
    let folder = project();
    let [ada, carl] = [("ada", "analyst"), ("carl", "curator")].map(|(name, role)| add(&folder, name, role));
    let servers = [0, 1].map(|_| Server::start(folder.path(), &["--postgres", "127.0.0.1:0"]));
    let with_psql = is_here("psql", "--version");
    let answered = std::thread::scope(|threads| {
        let mut asking = Vec::new();
        for (index, token) in [&ada, &carl, &ada, &carl, &ada, &carl].into_iter().enumerate() {
            let server = &servers[index % 2];
            asking.push(threads.spawn(move || {
                let reply = server.ask(token, &older(index), "0.5");
                if reply.status != 200 {
                    reply.refused(402, "is left");
                }
                reply.status == 200
            }));
        }
        for index in (6..9).filter(|_| with_psql) {
            let (port, token) = (servers[index % 2].postgres.unwrap().port(), &ada);
            asking.push(threads.spawn(move || {
                let place = format!("host=127.0.0.1 port={port} dbname=scumble user=ada");
                let asked = Command::new("psql")
                    .args(["--no-psqlrc", "-v", "VERBOSITY=verbose", &place])
                    .args(["-c", "SET scumble.cost = 'epsilon=0.5'", "-c", &older(index)])
                    .env("PGPASSWORD", token)
                    .output()
                    .unwrap();
                let said = String::from_utf8_lossy(&asked.stderr).into_owned();
                assert!(asked.status.success() || said.contains("53400"), "{said}");
                asked.status.success()
            }));
        }
        asking.into_iter().map(|one| one.join().unwrap()).filter(|answered| *answered).count()
    });
    drop(servers);
    let charges = charges(&folder);
    assert_eq!((answered, charges.len()), (4, 4), "{charges:?}");
    assert!(charges.iter().all(|one| one["state"] == "committed"));
    assert!(folder.run(&["ledger", "verify"]).status.success());
}

/// An analyst's own budget of 0.5, at 0.1 each, asked for all at once.
#[test]
fn an_own_budget_is_not_passed_by_haste() {
    let folder = project();
    let bob = add(&folder, "bob", "analyst");
    let server = Server::start(folder.path(), &[]);
    let statuses: Vec<u16> = std::thread::scope(|threads| {
        let asking: Vec<_> = (0..8)
            .map(|age| {
                threads.spawn({
                    let (server, bob) = (&server, &bob);
                    move || server.ask(bob, &older(age), "0.1").status
                })
            })
            .collect();
        asking.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 5, "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 402].contains(status)), "{statuses:?}");
    drop(server);
    assert_eq!(charges(&folder).len(), 5);
}

/// One key in several requests at once, through two servers, with one question and with two: one charge, and equal
/// questions get equal answers.
#[test]
fn a_key_is_charged_for_once_whoever_is_faster() {
    let folder = project();
    let ada = add(&folder, "ada", "analyst");
    let servers = [0, 1].map(|_| Server::start(folder.path(), &[]));
    let replies: Vec<(usize, Reply)> = std::thread::scope(|threads| {
        let asking: Vec<_> = (0..8)
            .map(|index| {
                let (server, ada) = (&servers[index % 2], &ada);
                threads.spawn(move || (index / 4, with_key(server, ada, "same", &older(index / 4))))
            })
            .collect();
        asking.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let (question, first) = replies.iter().find(|(_, reply)| reply.status == 200).unwrap();
    for (asked, reply) in &replies {
        match (asked == question, reply.status) {
            (true, 200) => assert_eq!(reply.json()["rows"], first.json()["rows"]),
            (true, _) => panic!("{}", reply.json()),
            (false, _) => drop(reply.refused(409, "belongs to another request")),
        }
    }
    // Now that it is made, both have it.
    for server in &servers {
        assert_eq!(with_key(server, &ada, "same", &older(*question)).expect(200)["rows"], first.json()["rows"]);
    }
    drop(servers);
    assert_eq!(charges(&folder).len(), 1);
}

/// What PostgreSQL's clients learn about tables comes from declarations: the same for a table of other rows, and of
/// other people.
#[test]
fn the_catalogue_tells_nothing_of_the_rows() {
    if !is_here("psql", "--version") {
        return;
    }
    let told = |people: Option<&str>| {
        let folder = project();
        people.iter().for_each(|people| folder.write("people.csv", people));
        let vera = add(&folder, "vera", "viewer");
        let server = Server::start(folder.path(), &["--postgres", "127.0.0.1:0"]);
        let place = format!("host=127.0.0.1 port={} dbname=scumble user=vera", server.postgres.unwrap().port());
        let ask = |sql: &str| {
            let asked = Command::new("psql")
                .args(["--no-psqlrc", "-At", &place, "-c", sql])
                .env("PGPASSWORD", &vera)
                .env("PGOPTIONS", "-c scumble.cost=epsilon=0.1")
                .output()
                .unwrap();
            let said = [asked.stdout, asked.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            said.concat().replace(&server.postgres.unwrap().port().to_string(), "PORT")
        };
        let all = [
            "SELECT relname, reltuples, relpages FROM pg_catalog.pg_class WHERE relname = 'people'",
            "SELECT * FROM pg_catalog.pg_stats",
            "SELECT * FROM pg_catalog.pg_statistic",
            "SELECT pg_total_relation_size('people'), pg_relation_size('people')",
            "SELECT n_live_tup FROM pg_stat_user_tables",
            "SELECT * FROM information_schema.tables",
            "\\d+ people",
            "\\dt+",
            "EXPLAIN SELECT COUNT(*) FROM people",
            "SELECT COUNT(*) FROM people",
            "SELECT * FROM people",
            "TABLE people",
        ]
        .map(ask);
        assert!(all[9].contains("this needs the role analyst"), "{}", all[9]);
        all
    };
    assert_eq!(told(None), told(Some("sex,age\nf,1\n")));
}
