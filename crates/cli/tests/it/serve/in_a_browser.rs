//! The pages of `scumble serve` as people use them: every page for every role, in a browser, in the light, in the dark,
//! on a phone, by keyboard alone.
//!
//! Runs where `report::in_a_browser` does. With `SCUMBLE_AXE` (the path of axe.min.js; `.ci/run` fetches it) every page
//! is looked over by axe-core too, and with `SCUMBLE_THOROUGH` there are pictures of all of them in `target/tmp/pages`.

use crate::browser::{Browser, axe};
use crate::report::in_a_browser::browser;
use crate::serve::support::{Server, add, project};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The pages, their headings, and the least role that sees them: 0 viewer, 1 analyst, 2 curator.
const PAGES: [(&str, &str, usize); 8] = [
    ("/", "Overview", 0),
    ("/ask", "Ask", 1),
    ("/answers", "Answers", 0),
    ("/ledger", "Ledger", 1),
    ("/who-learns-what", "Who learns what", 0),
    ("/people", "People", 2),
    ("/report", "Report", 0),
    ("/answers/1", "Answer", 0),
];

const BY_SEX: &str = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY sex";

fn is_thorough() -> bool {
    std::env::var_os("SCUMBLE_THOROUGH").is_some()
}

/// Logs in with a token, by keyboard.
fn enter(browser: &mut Browser, server: &Server, token: &str) {
    browser.go(&format!("http://{}/enter", server.address));
    browser.tab_to("#token");
    browser.write(token);
    browser.press("Enter");
    browser.until("location.pathname === '/' && document.readyState === 'complete'");
}

/// Nothing failed on the page, and nothing came from elsewhere.
fn nothing_went_wrong(browser: &mut Browser, server: &Server, place: &str) {
    let own = format!("http://{}/", server.address);
    for event in browser.happened() {
        let about = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => panic!("{place}: {about}"),
            "Log.entryAdded" => assert_ne!(about["entry"]["level"], "error", "{place}: {about}"),
            "Network.requestWillBeSent" => {
                let address = about["request"]["url"].as_str().unwrap();
                assert!(address.starts_with(&own) || address.starts_with("data:"), "{place}: {address}");
            }
            _ => {}
        }
    }
}

#[test]
fn every_page_is_there_for_whoever_may_see_it() {
    let Some(program) = browser() else { return };
    let (axe, folder) = (axe(), project());
    let tokens =
        [("vera", "viewer"), ("ada", "analyst"), ("carl", "curator")].map(|(name, role)| add(&folder, name, role));
    let server = Server::start(folder.path(), &[]);
    server.post(&tokens[2], "/v1/release", &json!({})).expect(200);
    server.ask(&tokens[1], BY_SEX, "0.1").expect(200);
    let first = server.get(&tokens[0], "/v1/answers").expect(200)["answers"][0]["sequence"].to_string();
    let pictures: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&pictures).unwrap();
    let mut browser = Browser::start(program);
    browser.window(1200, false);
    browser.go(&format!("http://{}/enter", server.address));
    axe.iter().for_each(|axe| browser.look_over(axe, "/enter"));
    for (role, token) in tokens.iter().enumerate() {
        enter(&mut browser, &server, token);
        let offered = browser.look("[...document.querySelectorAll('nav a')].map((one) => one.getAttribute('href'))");
        let expected: Vec<&str> =
            PAGES[..7].iter().filter(|(.., least)| *least <= role).map(|(path, ..)| *path).collect();
        assert_eq!(offered, json!(expected), "role {role}");
        for (path, heading, least) in PAGES {
            let path = path.replace("/1", &format!("/{first}"));
            browser.happened();
            browser.go(&format!("http://{}{path}", server.address));
            let place = format!("{path} for role {role}");
            let shown = browser.look("document.querySelector('h1').textContent");
            if role < least {
                assert_eq!(shown, "Not for this role", "{place}");
                continue;
            }
            assert_eq!(shown, heading, "{place}");
            if path == "/ask" {
                browser.look(&format!(
                    "document.getElementById('sql').value = {}, document.getElementById('sql').dispatchEvent(new Event('input')), 0",
                    json!(BY_SEX)
                ));
                browser.until("document.querySelector('#plan .chart') && document.querySelector('#plan table')");
            }
            if path.starts_with("/answers/") {
                browser.until("document.querySelectorAll('#chart .error').length === 2");
            }
            nothing_went_wrong(&mut browser, &server, &place);
            for (name, width, is_dark) in
                [("light", 1200, false), ("dark", 1200, true), ("phone", 390, false), ("dark phone", 390, true)]
            {
                if is_dark && !is_thorough() {
                    continue;
                }
                browser.window(width, is_dark);
                let wide = browser.look("document.documentElement.scrollWidth");
                assert!(wide.as_u64() <= Some(u64::from(width)), "{place}: {wide} pixels are wider than {width}");
                axe.iter().for_each(|axe| browser.look_over(axe, &format!("{place}, {name}")));
                if is_thorough() {
                    browser.picture(&pictures.join(format!("{}-{role}-{name}.png", heading.to_lowercase())));
                }
            }
            browser.window(1200, false);
        }
        browser.tab_to("#leave");
        browser.press("Enter");
        browser.until("location.pathname === '/enter'");
        browser.go(&format!("http://{}/answers", server.address));
        assert_eq!(browser.look("location.pathname"), "/enter", "who has left is let in nowhere");
    }
}

#[test]
fn everything_is_done_by_keyboard_alone() {
    let Some(program) = browser() else { return };
    let folder = project();
    let server = Server::start(folder.path(), &[]);
    let mut browser = Browser::start(program);
    browser.window(1200, false);
    // The link of the start: its token does not stay in the address.
    browser.go(&server.link);
    browser.until("location.pathname === '/' && document.readyState === 'complete'");
    assert_eq!(browser.look("location.hash"), "");
    let own = format!("http://{}", server.address);
    browser.go(&format!("{own}/ask"));
    browser.tab_to("#sql");
    browser.write("SELECT sex, COUNT(*) AS n FROM peple GROUP BY sex");
    browser.until("document.querySelector('#plan .wrong')?.textContent.includes(\"did you mean 'people'?\")");
    browser.look("document.getElementById('sql').select(), 0");
    browser.write(BY_SEX);
    browser.until("document.querySelector('#plan table')?.textContent.includes('person')");
    assert!(browser.look("document.querySelector('#plan').textContent").as_str().unwrap().contains("made-up"));
    browser.tab_to("#ask button");
    browser.press("Enter");
    browser.until("document.querySelectorAll('#answer .error').length === 2");
    let header = browser.look("[...document.querySelectorAll('#answer th')].map((one) => one.textContent)");
    assert_eq!(header, json!(["sex", "n", "n_error"]));
    assert_eq!(browser.look("document.querySelectorAll('#answer tbody tr').length"), 2);
    let links = browser.look("[...document.querySelectorAll('#answer a')].map((one) => one.textContent)");
    assert_eq!(links, json!(["csv", "json", "parquet", "arrow"]));
    assert_eq!(browser.look("document.activeElement.matches('#ask button')"), true, "the focus stays where it was");
    browser.until("document.querySelector('#plan').textContent.includes('was charged before')");
    // Somebody is given access, uses it, and loses it.
    browser.go(&format!("{own}/people"));
    browser.tab_to("#name");
    browser.write("eve");
    browser.press("Enter");
    browser.until("document.querySelector('.token')");
    let token = browser.look("document.querySelector('.token').textContent").as_str().unwrap().to_string();
    assert_eq!(server.get(&token, "/v1/me").expect(200)["role"], "analyst");
    browser.go(&format!("{own}/people"));
    browser.tab_to("[data-revoke=eve]");
    browser.press("Enter");
    browser.until("document.querySelector('[data-revoke=eve]').textContent === 'Really revoke eve?'");
    assert_eq!(server.get(&token, "/v1/me").status, 200, "one press is not enough");
    browser.press("Enter");
    browser.until("document.readyState === 'complete' && !document.querySelector('[data-revoke=eve]')");
    server.get(&token, "/v1/me").refused(401, "revoked");
    // The ledger is filtered and verified.
    browser.go(&format!("{own}/ledger"));
    browser.tab_to("#verify");
    browser.press("Enter");
    browser.until("document.getElementById('verified').textContent.includes('all in their place')");
    browser.tab_to("#filter");
    let rows = "[...document.querySelectorAll('#charges tbody tr')].filter((row) => !row.hidden).length";
    assert_eq!(browser.look(rows), 1);
    browser.write("nobody asked this");
    assert_eq!(browser.look(rows), 0);
    // What can be reached first is a way past the pages' names.
    browser.go(&format!("{own}/report"));
    browser.press("Tab");
    assert_eq!(browser.look("document.activeElement.textContent"), "Skip to the content");
    browser.press("Enter");
    assert_eq!(browser.look("document.activeElement.id"), "main");
    nothing_went_wrong_but_refusals(&mut browser, &server);
}

/// Refused requests are logged by the browser as errors; nothing else is.
fn nothing_went_wrong_but_refusals(browser: &mut Browser, server: &Server) {
    let events = browser.happened();
    let refused =
        |event: &Value| event["params"]["entry"]["text"].as_str().is_some_and(|text| text.contains("status of 400"));
    for event in events.iter().filter(|event| !refused(event)) {
        let is_error = event["method"] == "Runtime.exceptionThrown"
            || (event["method"] == "Log.entryAdded" && event["params"]["entry"]["level"] == "error");
        assert!(!is_error, "{}: {event}", server.address);
    }
}
