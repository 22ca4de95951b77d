//! `scumble serve` and `scumble setup access` as people use them: link, tokens, roles, answers that are paid for once.

use crate::serve::support::{Server, add, project};
use crate::support::Folder;
use serde_json::{Value, json};
use std::process::Command;

const COUNT: &str = "SELECT COUNT(*) AS n FROM people";

/// A number, up to its last digits.
fn near(value: &Value, number: f64) {
    assert!(value.as_f64().is_some_and(|value| (value - number).abs() < 1e-9), "{value} is not {number}");
}

fn signal(server: &Server, name: &str) {
    assert!(Command::new("kill").args([name, &server.id()]).status().unwrap().success());
}

#[test]
fn the_link_makes_a_curator_once_and_its_session_is_a_cookie() {
    let folder = project();
    let server = Server::start(folder.path(), &[]);
    let (before, token) = server.link.split_once("/enter#").unwrap();
    assert_eq!(before, format!("http://{}", server.address));
    assert_eq!(token.len(), 64);
    let enter = |token: &str| {
        server.send("POST", "/enter", &[("Content-Type", "application/json")], &json!({ "token": token }).to_string())
    };
    // The token of the link is no token for programs.
    server.get(token, "/v1/budget").refused(401, "this token is unknown");
    let entered = enter(token);
    assert_eq!(entered.expect(200)["role"], "curator");
    enter(token).refused(401, "this token is unknown");
    let cookie = entered.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && !cookie.contains(token), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    let with = |method: &str, path: &str, more: &[(&str, &str)], body: &str| {
        server.send(method, path, &[&[("Cookie", cookie), ("Content-Type", "application/json")], more].concat(), body)
    };
    for page in ["/", "/ask", "/answers", "/ledger", "/who-learns-what", "/people", "/report"] {
        let reply = with("GET", page, &[], "");
        assert_eq!(reply.status, 200, "{page}: {}", reply.text());
        assert!(reply.header("content-security-policy").unwrap().starts_with("default-src 'none'; script-src 'self'"));
        assert!(reply.text().contains("<h1>") && !reply.text().contains("style="), "{page}");
    }
    // A page of somebody else makes a browser send the cookie, and says where it comes from.
    let ada = json!({ "name": "ada", "role": "curator" }).to_string();
    with("POST", "/v1/people", &[("Origin", "http://evil.example")], &ada).refused(403, "another origin");
    with("POST", "/v1/people", &[("Sec-Fetch-Site", "cross-site")], &ada).refused(403, "another origin");
    assert!(folder.json(&["access", "list", "--json"])["people"].as_array().unwrap().is_empty());
    let own = format!("http://{}", server.address);
    let added = with("POST", "/v1/people", &[("Origin", &own)], &ada).expect(200);
    assert_eq!(
        server.get(added["token"].as_str().unwrap(), "/v1/me").expect(200),
        json!({ "name": "ada", "role": "curator" })
    );
    with("POST", "/leave", &[], "").expect(200);
    with("GET", "/v1/me", &[], "").refused(401, "this needs a token");
    assert_eq!(with("GET", "/", &[], "").status, 303);
    // Without a token there is nothing but the page where one logs in.
    for (path, status) in
        [("/v1/budget", 401), ("/v1/tables", 401), ("/", 303), ("/enter", 200), ("/healthz", 200), ("/metrics", 200)]
    {
        assert_eq!(server.send("GET", path, &[], "").status, status, "{path}");
    }
}

#[test]
fn a_server_is_not_reachable_in_plain_text_unless_it_is_told_so() {
    let folder = project();
    let refused = |more: &[&str], words: &str| {
        let arguments = [&["serve", "scumble.toml", "--json"], more].concat();
        let output = folder.run(&arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(words), "{said}");
    };
    refused(&["--listen", "0.0.0.0:0"], "needs TLS");
    refused(&["--listen", "0.0.0.0:0", "--tls-certificate", "x.pem"], "--tls-key");
    refused(
        &["--listen", "0.0.0.0:0", "--tls-certificate", "x.pem", "--tls-key", "x.key"],
        "x.pem is not a certificate",
    );
    refused(&["--answer-time", "5"], "1s or 250ms");
    refused(&["--listen", "nowhere"], "--listen");
    let server = Server::start(folder.path(), &["--listen", "0.0.0.0:0", "--insecure-http"]);
    assert_eq!(
        crate::serve::support::request(([127, 0, 0, 1], server.address.port()).into(), "GET", "/healthz", &[], "")
            .unwrap()
            .status,
        200
    );
}

#[test]
fn an_answer_is_that_of_the_command_line_and_is_paid_for_once() {
    let folder = project();
    let ada = add(&folder, "ada", "analyst");
    let server = Server::start(folder.path(), &[]);
    let by_sex = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY sex";
    let plan = server.post(&ada, "/v1/plan", &json!({ "sql": by_sex, "cost": { "epsilon": 0.1 } })).expect(200);
    assert_eq!((&plan["fits"], &plan["stored"]), (&json!(true), &json!(false)));
    near(&plan["costs"]["person"]["epsilon"], 0.1);
    near(&plan["left"]["person"]["epsilon"], 1.9);
    let one = server.ask(&ada, by_sex, "0.1").expect(200);
    assert_eq!(one["stored"], false);
    // As the command line prints it, field by field.
    let printed = folder.json(&["query", by_sex, "--cost", "epsilon=0.1", "--json"]);
    let keys = |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(keys(&one["rows"][0]), keys(&printed["rows"][0]));
    for key in keys(&printed) {
        assert!(one.get(&key).is_some(), "{key} is missing in {one}");
    }
    assert_eq!(one["rows"].as_array().unwrap().len(), 2);
    // Spaces, comments and the case of keywords do not make it another question; another cost does.
    let other_words =
        "select sex,  count(*) as n /* how many */ from people\n group by sex order by sex -- that is all";
    for sql in [by_sex, other_words] {
        let again = server.ask(&ada, sql, "0.1").expect(200);
        assert_eq!(
            (&again["stored"], &again["rows"], &again["sequence"]),
            (&json!(true), &one["rows"], &one["sequence"])
        );
    }
    let spent = |number: f64| near(&server.get(&ada, "/v1/budget").expect(200)["person"]["epsilon"], number);
    spent(0.2);
    // A plan of what was paid for leaves what is left; one of new numbers does not.
    let plan = |fresh: bool| {
        let asked = json!({ "sql": by_sex, "cost": { "epsilon": 0.1 }, "fresh": fresh });
        server.post(&ada, "/v1/plan", &asked).expect(200)
    };
    near(&plan(false)["left"]["person"]["epsilon"], 1.8);
    near(&plan(true)["left"]["person"]["epsilon"], 1.7);
    assert_eq!(plan(false)["budget"], "it was charged: asking again costs nothing");
    assert_eq!(server.ask(&ada, by_sex, "0.05").expect(200)["stored"], false);
    let fresh = json!({ "sql": by_sex, "cost": { "epsilon": 0.1 }, "fresh": true });
    let new = server.post(&ada, "/v1/query", &fresh).expect(200);
    assert_eq!(new["stored"], false);
    spent(0.35);
    // Now that is the answer; a server that begins anew knows it too.
    assert_eq!(server.ask(&ada, by_sex, "0.1").expect(200)["sequence"], new["sequence"]);
    drop(server);
    let server = Server::start(folder.path(), &[]);
    let again = server.ask(&ada, by_sex, "0.1").expect(200);
    assert_eq!((&again["stored"], &again["rows"]), (&json!(true), &new["rows"]));
    let sequence = one["sequence"].as_u64().unwrap();
    assert_eq!(
        server.get(&ada, &format!("/v1/answers/{sequence}")).expect(200)["rows"],
        one["rows"],
        "the first is there too"
    );
    let csv = server.get(&ada, &format!("/v1/answers/{sequence}?format=csv"));
    assert!(csv.text().starts_with("sex,n,n_se,n_low,n_high\n"), "{}", csv.text());
    assert!(server.get(&ada, &format!("/v1/answers/{sequence}?format=parquet")).body.starts_with(b"PAR1"));
    assert_eq!(server.get(&ada, &format!("/v1/answers/{sequence}?format=arrow")).body[..4], [0xff; 4]);
    drop(server);
    assert!(folder.run(&["ledger", "verify"]).status.success());
}

#[test]
fn a_request_that_comes_again_is_not_charged_again() {
    let folder = project();
    let ada = add(&folder, "ada", "analyst");
    let server = Server::start(folder.path(), &[]);
    let bearer = format!("Bearer {ada}");
    let ask = |server: &Server, key: &str, sql: &str, fresh: bool| {
        let body = json!({ "sql": sql, "cost": { "epsilon": 0.1 }, "fresh": fresh }).to_string();
        let headers =
            [("Authorization", bearer.as_str()), ("Content-Type", "application/json"), ("Idempotency-Key", key)];
        server.send("POST", "/v1/query", &headers, &body)
    };
    let first = ask(&server, "k1", COUNT, true).expect(200);
    let again = ask(&server, "k1", COUNT, true).expect(200);
    assert_eq!((&first["rows"], &first["sequence"]), (&again["rows"], &again["sequence"]));
    let second = ask(&server, "k2", COUNT, true).expect(200);
    assert_ne!(first["sequence"], second["sequence"]);
    ask(&server, "k1", "SELECT COUNT(*) AS m FROM people WHERE age > 3", false)
        .refused(409, "belongs to another request");
    ask(&server, "", COUNT, false).refused(400, "Idempotency-Key");
    // A stored answer that was given under a key stays the answer of that key.
    let stored = ask(&server, "k3", COUNT, false).expect(200);
    assert_eq!(stored["sequence"], second["sequence"]);
    let third = ask(&server, "k4", COUNT, true).expect(200);
    assert_eq!(ask(&server, "k3", COUNT, false).expect(200)["sequence"], second["sequence"]);
    drop(server);
    let server = Server::start(folder.path(), &[]);
    for (key, answer) in [("k1", &first), ("k2", &second), ("k4", &third)] {
        assert_eq!(&ask(&server, key, COUNT, true).expect(200)["rows"], &answer["rows"], "{key}");
    }
    near(&server.get(&ada, "/v1/budget").expect(200)["person"]["epsilon"], 0.3);
}

#[test]
fn everybody_may_do_what_their_role_may_and_no_more() {
    let folder = project();
    let [vera, ada, bob, carl] = [("vera", "viewer"), ("ada", "analyst"), ("bob", "analyst"), ("carl", "curator")]
        .map(|(name, role)| add(&folder, name, role));
    let other = project();
    let stranger = add(&other, "ada", "curator");
    let server = Server::start(folder.path(), &[]);
    let question = json!({ "sql": COUNT, "cost": { "epsilon": 0.1 } });
    let none = json!({});
    // (method, path, body, least role: 0 viewer, 1 analyst, 2 curator)
    let routes: [(&str, &str, Option<&Value>, usize); 12] = [
        ("GET", "/v1/answers", None, 0),
        ("GET", "/v1/report?format=json", None, 0),
        ("GET", "/v1/report?format=html", None, 0),
        ("GET", "/v1/tables", None, 0),
        ("GET", "/v1/kinds", None, 0),
        ("GET", "/v1/budget", None, 0),
        ("POST", "/v1/plan", Some(&question), 1),
        ("POST", "/v1/query", Some(&question), 1),
        ("GET", "/v1/ledger", None, 1),
        ("GET", "/v1/ledger/verify", None, 2),
        ("GET", "/v1/people", None, 2),
        ("POST", "/v1/release", Some(&none), 2),
    ];
    for (method, path, body, least) in routes {
        for (index, token) in [&vera, &ada, &carl].into_iter().enumerate() {
            let reply = body.map_or_else(|| server.get(token, path), |body| server.post(token, path, body));
            let expected = if index >= least { 200 } else { 403 };
            assert_eq!(reply.status, expected, "{method} {path} by {index}: {}", reply.text());
        }
        let nobody = server.send(method, path, &[("Content-Type", "application/json")], "{}");
        nobody.refused(401, "this needs a token");
    }
    for wrong in [stranger.as_str(), "", &vera.to_uppercase()] {
        server.get(wrong, "/v1/tables").refused(401, "this token is unknown");
    }
    // What ada asked is not bob's to see; the project's releases are everybody's.
    let asked = server.ask(&ada, "SELECT COUNT(*) AS secret_of_ada FROM people", "0.1").expect(200);
    let place = format!("/v1/answers/{}", asked["sequence"]);
    assert_eq!(server.get(&carl, &place).status, 200);
    server.get(&bob, &place).refused(404, "that you may see");
    server.get(&vera, &place).refused(404, "that you may see");
    for token in [&bob, &vera] {
        let seen = server.get(token, "/v1/answers").text();
        assert!(seen.contains("by sex") && !seen.contains("secret_of_ada"), "{seen}");
        assert!(!server.get(token, "/v1/report?format=json").text().contains("secret_of_ada"));
    }
    assert!(!server.get(&bob, "/v1/ledger").text().contains("secret_of_ada"));
    assert!(server.get(&carl, "/v1/ledger").text().contains("secret_of_ada"));
    // The same question is answered from what was paid for, and then it is bob's too.
    assert_eq!(server.ask(&bob, "SELECT COUNT(*) AS secret_of_ada FROM people", "0.1").expect(200)["stored"], true);
    assert_eq!(server.get(&bob, &place).status, 200);
    // A token that is revoked is one no more, at once.
    folder.stdout(&["access", "revoke", "ada"]);
    server.get(&ada, "/v1/me").refused(401, "revoked");
    let shown = folder.json(&["access", "list", "--json"]);
    assert!(
        shown["people"].as_array().unwrap().iter().any(|one| one["name"] == "ada" && one["revoked"].is_string()),
        "{shown}"
    );
    folder.refused(&["access", "revoke", "ada"], 2, "nobody called 'ada' has access");
    folder.refused(&["access", "add", "Ada"], 2, "cannot be a name");
    folder.refused(&["access", "add", "eve", "--role", "king"], 2, "a role is curator, analyst or viewer");
}

#[test]
fn an_analyst_has_a_budget_inside_the_projects_and_the_ledger_says_who_asked() {
    let folder = project();
    let [ada, bob] = ["ada", "bob"].map(|name| add(&folder, name, "analyst"));
    let server = Server::start(folder.path(), &[]);
    let older = |age: u32| format!("SELECT COUNT(*) AS n FROM people WHERE age > {age}");
    server.ask(&bob, &older(1), "0.3").expect(200);
    let own = server.get(&bob, "/v1/budget").expect(200);
    near(&own["own"]["remaining"]["person"]["epsilon"], 0.2);
    near(&own["remaining"]["person"]["epsilon"], 1.7);
    let sentence = server.ask(&bob, &older(2), "0.3").refused(402, "by the budget of bob: ");
    assert!(
        sentence.contains("epsilon 0.2 is left") && sentence.contains("the largest cost that would fit is epsilon 0.2"),
        "{sentence}"
    );
    server.ask(&bob, &older(2), "0.2").expect(200);
    server.ask(&ada, &older(2), "1.5").expect(200);
    assert!(server.get(&ada, "/v1/budget").expect(200)["own"].is_null());
    server.ask(&ada, &older(3), "0.1").refused(402, "no cost would fit");
    // Nothing is left for anybody, and what was paid for is still there.
    assert_eq!(server.ask(&ada, &older(1), "0.3").expect(200)["stored"], true);
    server.ask(&ada, "SELECT age FROM people", "0.1").refused(400, "query");
    let history = server.get(&ada, "/v1/ledger").expect(200);
    let releases = history["releases"].as_array().unwrap();
    assert_eq!((releases.len(), &releases[0]["by"]), (1, &json!("ada")));
    let asked = history["asked"].as_array().unwrap();
    let came: Vec<bool> = asked.iter().map(|one| one["refused"].is_string()).collect();
    assert_eq!(came, [true, false, true], "{history}");
    drop(server);
    // All of it is in the chain, in its place.
    let export = folder.json(&["ledger", "export"]);
    assert_eq!(export["version"], 7);
    let bodies: Vec<&Value> = export["entries"].as_array().unwrap().iter().map(|entry| &entry["body"]).collect();
    let number = |word: &str| bodies.iter().filter(|body| body["entry"] == word).count();
    assert_eq!((number("reserve"), number("commit"), number("asked")), (3, 3, 4));
    let refused = bodies.iter().find(|body| body["entry"] == "asked").unwrap();
    assert_eq!((&refused["by"], &refused["cost"]), (&json!("bob"), &json!("epsilon=0.3")));
    assert!(refused["why"].as_str().unwrap().contains("by the budget of bob"), "{refused}");
    assert!(folder.run(&["ledger", "verify"]).status.success());
    folder.refused(&["query", COUNT, "--cost", "epsilon=0.1"], 3, "no cost would fit");
}

#[test]
fn what_is_wrong_is_one_sentence_and_costs_nothing() {
    let folder = project();
    let ada = add(&folder, "ada", "analyst");
    let server = Server::start(folder.path(), &[]);
    let ask = |body: Value| server.post(&ada, "/v1/query", &body);
    let cost = json!({ "epsilon": 0.1 });
    ask(json!({ "sql": "SELECT sexx, COUNT(*) AS n FROM people GROUP BY sexx", "cost": cost }))
        .refused(400, "did you mean 'sex'?");
    let place = ask(json!({ "sql": "SELECT COUNT(*) AS n\nFROM peple", "cost": cost })).expect(400);
    assert!(place["detail"].as_str().unwrap().contains("people"), "{place}");
    for sql in [
        "SELECT COUNT(*) AS n FROM people; SELECT COUNT(*) AS m FROM people",
        "DROP TABLE people",
        "SELECT * FROM people",
        "SELECT 1",
        "",
        "--",
        "SELECT sex FROM people",
    ] {
        ask(json!({ "sql": sql, "cost": cost })).refused(400, "");
    }
    for body in [
        json!({ "sql": COUNT }),
        json!({ "sql": COUNT, "cost": 0.1 }),
        json!({ "sql": COUNT, "cost": {} }),
        json!({ "sql": COUNT, "cost": { "epsilon": "0.1,delta=0.5" } }),
        json!({ "sql": COUNT, "cost": { "epsilon": [1] } }),
        json!({ "sql": COUNT, "cost": { "sigma": 1 } }),
    ] {
        ask(body).refused(400, "'cost' must be like");
    }
    for (epsilon, words) in [("-1", "epsilon"), ("0", "more than 0"), ("1e400", "")] {
        server.ask(&ada, COUNT, epsilon).refused(400, words);
    }
    ask(json!({ "sql": COUNT, "cost": cost, "frsh": true })).refused(400, "did you mean 'fresh'?");
    ask(json!({ "sql": COUNT, "cost": cost, "fresh": 1 })).refused(400, "'fresh' must be true or false");
    ask(json!([1])).refused(400, "a JSON object");
    let bearer = format!("Bearer {ada}");
    let send = |kind: &str, body: &str| {
        server.send("POST", "/v1/query", &[("Authorization", &bearer), ("Content-Type", kind)], body)
    };
    send("text/plain", "{}").refused(400, "Content-Type: application/json");
    send("application/json", "{").refused(400, "not JSON (line 1");
    send("application/json", &format!("{{\"sql\":\"{}\"}}", "x".repeat(70_000))).refused(413, "longer than 64 KiB");
    assert!(server.get(&ada, "/v1/budget").expect(200)["person"]["epsilon"].as_f64() == Some(0.0));
    for path in [
        "/v1/answers/../../scumble.toml",
        "/v1/answers/..%2f..%2fscumble.toml",
        "/v1/answers/%2e%2e",
        "/v1/answers/1e3",
        "/v1/answers/99",
        "/scumble.toml",
        "//etc/passwd",
        "/v1/nothing",
    ] {
        assert_eq!(server.get(&ada, path).status, 404, "{path}");
    }
    assert_eq!(server.get(&ada, "/v1/plan").status, 405);
    // A table that does not fit its declaration: the analyst learns that nothing was charged, the curator why.
    folder.write("people.csv", "sex,age\nf,41\nm,notanage\n");
    let sentence = server.ask(&ada, COUNT, "0.1").refused(500, "nothing was charged");
    assert!(!sentence.contains("notanage") && !sentence.contains("people.csv"), "{sentence}");
    let carl = add(&folder, "carl", "curator");
    server.ask(&carl, COUNT, "0.1").refused(400, "people.csv");
}

#[test]
fn a_server_that_is_told_to_stop_ends_what_has_begun() {
    let folder = project();
    let ada = add(&folder, "ada", "analyst");
    let server = Server::start(folder.path(), &["--answer-time", "1s"]);
    let began = std::time::Instant::now();
    let answer = std::thread::scope(|threads| {
        let asking = threads.spawn(|| server.ask(&ada, COUNT, "0.1"));
        std::thread::sleep(std::time::Duration::from_millis(300));
        signal(&server, "-TERM");
        asking.join().unwrap()
    });
    // Either it had begun, and is answered, or it is refused without a charge.
    match answer.status {
        200 => assert_eq!(answer.json()["stored"], false),
        _ => drop(answer.refused(503, "about to stop")),
    }
    assert!(began.elapsed() >= std::time::Duration::from_millis(900), "the time is rounded up");
    let (status, log) = server.ended();
    assert_eq!(status, Some(0), "{log}");
    // What requests hold is in no log: neither tokens nor queries.
    assert!(log.contains("route=\"/v1/query\"") && log.contains("by=\"ada\""), "{log}");
    assert!(!log.contains(&ada) && !log.contains("COUNT") && !log.contains("people"), "{log}");
}

#[test]
fn answers_come_as_events_too() {
    let folder = project();
    let ada = add(&folder, "ada", "analyst");
    let server = Server::start(folder.path(), &[]);
    let bearer = format!("Bearer {ada}");
    let headers =
        [("Authorization", bearer.as_str()), ("Content-Type", "application/json"), ("Accept", "text/event-stream")];
    let ask = |sql: &str| {
        server
            .send("POST", "/v1/query", &headers, &json!({ "sql": sql, "cost": { "epsilon": 0.1 } }).to_string())
            .text()
    };
    let events = ask(COUNT);
    assert!(events.starts_with("event: progress\ndata: {\"seconds\":0}\n\n"), "{events}");
    let last = events.trim_end().rsplit("\n\n").next().unwrap();
    let data = last.strip_prefix("event: answer\ndata: ").unwrap_or_else(|| panic!("{events}"));
    assert!(serde_json::from_str::<Value>(data).unwrap()["rows"][0]["n"].is_number());
    assert!(ask("SELECT").contains("event: problem\ndata: {"));
    // So does what a curator releases.
    let bearer = format!("Bearer {}", add(&folder, "cleo", "curator"));
    let headers = [("Authorization", bearer.as_str()), headers[1], headers[2]];
    let release = |body: &str| server.send("POST", "/v1/release", &headers, body).text();
    let events = release("{}");
    assert!(events.starts_with("event: progress\ndata: {\"seconds\":0}\n\n"), "{events}");
    assert!(events.contains("event: released\ndata: {"), "{events}");
    assert!(release("{\"only\": [\"nothing\"]}").contains("event: problem\ndata: {"));
}

/// A server dies between the charge and the first byte of the answer: a person who asks the same again, with the same
/// key, with another or without one, gets the answer, and nothing more is charged.
#[test]
fn a_charge_of_which_nothing_was_seen_is_gone_on_with() {
    for (first, then) in [(Some("one"), Some("one")), (Some("one"), None), (None, None), (None, Some("two"))] {
        let folder = project();
        let (ada, bob) = (add(&folder, "ada", "analyst"), add(&folder, "bob", "analyst"));
        let body = json!({ "sql": COUNT, "cost": { "epsilon": "0.5" } }).to_string();
        let ask = |server: &Server, token: &str, path: &str, key: Option<&str>| {
            let bearer = format!("Bearer {token}");
            let mut headers = vec![("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
            headers.extend(key.map(|key| ("Idempotency-Key", key)));
            server.send("POST", path, &headers, &body)
        };
        let server = Server::start(folder.path(), &[]);
        let lost = ask(&server, &ada, "/v1/query", first).expect(200);
        drop(server);
        // The entries `drawn` and `commit`.
        folder.forget(2, lost["release"].as_str().unwrap());
        let server = Server::start(folder.path(), &[]);
        let plan = ask(&server, &ada, "/v1/plan", None).expect(200);
        assert!(plan["fits"] == true && plan["budget"].as_str().unwrap().contains("uses that charge"), "{plan}");
        assert!(ask(&server, &bob, "/v1/plan", None).expect(200)["budget"].as_str().unwrap().contains("fits"));
        let found = ask(&server, &ada, "/v1/query", then).expect(200);
        assert_eq!((&found["sequence"], &found["release"]), (&lost["sequence"], &lost["release"]));
        for key in [first, then, Some("three")] {
            let again = ask(&server, &ada, "/v1/query", key).expect(200);
            assert_eq!(
                (&again["rows"], &again["sequence"], &again["time"]),
                (&found["rows"], &found["sequence"], &found["time"]),
                "{key:?}"
            );
        }
        assert_eq!(server.get(&ada, "/v1/ledger").expect(200)["releases"].as_array().unwrap().len(), 1);
        drop(server);
        folder.stdout(&["ledger", "verify"]);
    }
}

/// The ledger beside which a server works is anybody's to charge: what a command charges meanwhile counts here too.
#[test]
fn a_command_beside_the_server_counts() {
    let folder: Folder = project();
    let (ada, carl) = (add(&folder, "ada", "analyst"), add(&folder, "carl", "curator"));
    let server = Server::start(folder.path(), &[]);
    server.ask(&ada, COUNT, "1").expect(200);
    folder.stdout(&["query", COUNT, "--cost", "epsilon=0.75"]);
    server.ask(&ada, "SELECT COUNT(*) AS m FROM people WHERE age > 1", "0.5").refused(402, "epsilon 0.25 is left");
    // What is asked at a terminal is a curator's to see, until the project file names it.
    let names = |token: &str| server.get(token, "/v1/answers").text().contains("\"release\": \"query\"");
    assert!(names(&carl) && !names(&ada));
}

/// The commands of docs/how-to/serve.md do what they say, against a server that was started by its first one.
#[test]
fn the_examples_of_the_page_run() {
    let page = include_str!("../../../../../docs/how-to/serve.md");
    let has =
        |program: &str| Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !(has("curl") && has("python3") && has("bash")) {
        assert!(std::env::var_os("SCUMBLE_NEED_MPMATH").is_none(), "bash, curl or python3 is missing");
        eprintln!("NOT TESTED: bash, curl or python3 is missing, so the examples of docs/how-to/serve.md are not run");
        return;
    }
    let folder = project();
    let server = Server::start(folder.path(), &[]);
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_scumble")).parent().unwrap().display().to_string();
    let run = |program: &str, text: &str, token: &str| {
        let text = text.replace("http://127.0.0.1:8080", &format!("http://{}", server.address));
        let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
        let command = Command::new(program)
            .args(["-c", &text])
            .env("PATH", path)
            .env("TOKEN", token)
            .current_dir(folder.path())
            .output();
        let output = command.unwrap();
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let (mut token, mut ran) = (String::new(), Vec::new());
    for block in page.split("\n```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').unwrap();
        match language {
            "sh" if text.contains("access add") => {
                token = run("bash", &format!("{text}\necho $TOKEN"), "").lines().last().unwrap().to_string();
                assert_eq!(token.len(), 64);
            }
            "sh" if text.contains("/v1/plan") => {
                let shown: Value = serde_json::from_str(&run("bash", text, &token)).unwrap();
                assert_eq!(shown["fits"], true);
            }
            "sh" if text.contains("/v1/query") => {
                let shown: Value = serde_json::from_str(&run("bash", text, &token)).unwrap();
                assert_eq!((&shown["stored"], shown["rows"].as_array().unwrap().len()), (&json!(false), 2));
            }
            // Run by `serve::postgres`.
            "python" if text.contains("psycopg") => continue,
            "python" => {
                let said = run("python3", text, &token);
                assert!(
                    said.lines().count() == 2
                        && said.lines().all(|line| line.contains(" ± ") && line.ends_with("stored")),
                    "{said}"
                );
            }
            "sh" | "toml" | "json" | "ini" | "sql" => continue,
            other => panic!("a block of {other:?}"),
        }
        ran.push(language);
    }
    assert_eq!(ran, ["sh", "sh", "sh", "python"]);
}
