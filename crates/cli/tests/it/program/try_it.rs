//! "Try it in your browser": what the pages of the site compute (`tools/site/calculators`), against the program.
//!
//! `.ci/run` builds the site and says where it is (`SCUMBLE_SITE`); where Rust's target for WebAssembly is missing, it
//! has no calculators (`SCUMBLE_NEED_WASM=1` makes that a failure).

use crate::browser::Browser;
use crate::program::site::site;
use crate::program::tidy::{files, read, root};
use crate::report::in_a_browser::browser;
use crate::support::{Folder, printed, scumble, scumble_on};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PAGES: [&str; 4] = ["account", "noise", "epsilon", "plan"];

/// The site, if its calculators are in it.
fn calculators() -> Option<PathBuf> {
    let site = site()?;
    let script = std::fs::read_to_string(site.join("try/calculators.js")).unwrap();
    let is_needed = std::env::var("SCUMBLE_NEED_WASM").is_ok_and(|value| value == "1");
    if script.starts_with("const SCUMBLE_CODE = null;") {
        assert!(!is_needed, "Rust's target is missing: rustup target add wasm32-unknown-unknown");
        eprintln!("NOT TESTED: the site has no calculators here, so what they compute is not compared");
        return None;
    }
    Some(site)
}

/// Goes to a page, and waits for its first answer.
fn open(browser: &mut Browser, site: &Path, page: &str) {
    browser.happened();
    browser.go(&format!("file://{}/try/{page}.html", site.display()));
    browser.until("document.querySelector('.try-found:not([hidden])')");
}

/// Writes a value into a field, as somebody who types does.
fn fill(browser: &mut Browser, field: &str, value: &str) {
    browser.look(&format!(
        "(() => {{ const one = document.querySelector({}); one.value = {};
           for (const name of ['input', 'change']) one.dispatchEvent(new Event(name, {{ bubbles: true }}));
           return 0 }})()",
        json!(field),
        json!(value)
    ));
}

/// Waits until the page says this.
fn says(browser: &mut Browser, selector: &str, text: &str) {
    browser.until(&format!("document.querySelector({}).textContent === {}", json!(selector), json!(text)));
}

/// The cells of the first table with some.
fn cells(browser: &mut Browser) -> Vec<Vec<String>> {
    let rows = "[...document.querySelector('.try-found tbody').rows].map((row) => \
                [...row.cells].map((cell) => cell.textContent))";
    serde_json::from_value(browser.look(rows)).unwrap()
}

/// Nothing failed, and nothing came from elsewhere or went there.
fn nothing_went_wrong(browser: &mut Browser, page: &str) {
    for event in browser.happened() {
        let about = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => panic!("{page}: {about}"),
            "Log.entryAdded" => assert_ne!(about["entry"]["level"], "error", "{page}: {about}"),
            "Network.requestWillBeSent" => {
                let address = about["request"]["url"].as_str().unwrap();
                let is_own = ["file:", "data:", "blob:"].iter().any(|scheme| address.starts_with(scheme));
                assert!(is_own, "{page}: {address}");
            }
            _ => {}
        }
    }
}

fn accounts(browser: &mut Browser, site: &Path) {
    open(browser, site, "account");
    for example in ["training", "counts", "answers"] {
        browser.look(&format!("document.querySelector('[data-example={example}]').click(), 0"));
        let document = browser.look("document.querySelector('#account-json').value");
        let text = printed(scumble_on(&["lab", "account", "-"], document.as_str().unwrap()));
        let claim = text.lines().find(|line| line.starts_with("ε ≤ ")).unwrap();
        says(browser, ".try-claim", claim);
        let below = text.lines().find_map(|line| line.trim().strip_prefix("certainly not below ")).unwrap();
        let below = format!("certainly not below {}", below.split(" (").next().unwrap());
        let shown = browser.look("document.querySelector('.try-below').textContent");
        assert!(shown.as_str().unwrap().starts_with(&below), "{shown}, not {below}");
        browser.until("document.querySelector('.try-chart svg')");
    }
    // What is written as JSON takes the place of the form, and δ can be asked for.
    let document = r#"{"events": [{"mechanism": "laplace", "scale": 4, "sensitivity": 1, "times": 9}], "epsilon": 1}"#;
    fill(browser, "#account-json", document);
    let text = printed(scumble_on(&["lab", "account", "-"], document));
    says(browser, ".try-claim", text.lines().find(|line| line.starts_with("δ ≤ ")).unwrap());
    fill(browser, "#account-json", &document.replace("4", "-1"));
    says(browser, ".try-error", "$.events[0].scale: scale must be a number in [1e-9, 1e18], not -1");
    assert_eq!(browser.look("document.querySelector('[data-part=events]').disabled"), true);
}

fn noises(browser: &mut Browser, site: &Path) {
    open(browser, site, "noise");
    for (epsilon, delta, scope, groups) in [("0.5", "0", "person", "8"), ("1", "1e-9", "presence", "1000")] {
        for (field, value) in [("epsilon", epsilon), ("delta", delta), ("scope", scope), ("groups", groups)] {
            fill(browser, &format!("[name={field}]"), value);
        }
        let arguments = ["lab", "compare-noise", "--json", "--cells", groups, "--scope", scope];
        let cost = ["--epsilon", epsilon, "--delta", delta];
        let compared: Value = serde_json::from_str(&printed(scumble(&[&arguments[..], &cost].concat()))).unwrap();
        let number = |row: &Value, name: &str| row[name].as_f64().unwrap();
        let rows = compared["candidates"].as_array().unwrap().iter().map(|row| {
            let maximum = format!("{:.0}", number(row, "maximum_error"));
            let deviation = format!("{:.3}", number(row, "standard_deviation"));
            [row["noise"].as_str().unwrap().to_string(), maximum, deviation]
        });
        let rows: Vec<[String; 3]> = rows.collect();
        browser.until(&format!("document.querySelectorAll('.try-found tbody tr').length === {}", rows.len()));
        let shown = |browser: &mut Browser| -> Vec<[String; 3]> {
            cells(browser).into_iter().map(|row| [row[0].clone(), row[2].clone(), row[3].clone()]).collect()
        };
        // What stood there before the last field was filled may have as many rows.
        let began = Instant::now();
        while shown(browser) != rows && began.elapsed() < Duration::from_secs(60) {
            sleep(Duration::from_millis(100));
        }
        assert_eq!(shown(browser), rows, "ε = {epsilon}, δ = {delta}");
    }
    // An arrow moves the slider, and turns no page.
    fill(browser, "[name=delta]", "0");
    fill(browser, "[name=epsilon]", "1");
    // The contents of the site come before the form, and have more links than a test should walk.
    browser.look("document.querySelector('[name=statistic]:checked').focus(), 0");
    browser.tab_to("[data-name=epsilon] input[type=range]");
    browser.press("ArrowRight");
    browser.until("document.querySelector('[name=epsilon]').value === '1.1'");
    browser.until("document.querySelector('.try-chart svg').textContent.includes('ε = 1.1')");
    assert!(browser.look("location.pathname").as_str().unwrap().ends_with("/try/noise.html"));
    fill(browser, "[name=epsilon]", "-1");
    says(browser, ".try-error", "epsilon must be a number in [0, ∞), not -1");
}

/// Exact counts give everything away, whatever is drawn. With noise at ε = 0.1 nobody expects more than 105 of 200, and
/// 160 come with a probability below e^{−2·55²/200} = 7e-14.
fn attacks(browser: &mut Browser, site: &Path) {
    open(browser, site, "epsilon");
    says(browser, ".try-claim", "73.11% right, at most");
    fill(browser, "[name=epsilon]", "0.1");
    says(browser, ".try-claim", "52.5% right, at most");
    let right = |which: &str| {
        format!("Number(document.querySelector('[data-attempt={which}] figcaption span').textContent.split(' ')[0])")
    };
    browser.until("document.querySelector('[data-attempt=noisy] figcaption span').textContent.includes('ε = 0.1 ')");
    for _ in 0..2 {
        assert_eq!(browser.look(&right("exact")), 200);
        assert!(browser.look(&right("noisy")).as_u64().unwrap() < 160);
        let squares = "document.querySelector('[data-attempt=noisy] svg').innerHTML";
        let before = browser.look(squares);
        browser.look("document.querySelector('[name=delta]').focus(), 0");
        browser.tab_to(".try-again");
        browser.press("Enter");
        // 200 squares are the same again with a probability of 2⁻²⁰⁰ or so.
        browser.until(&format!("{squares} !== {before}"));
    }
}

fn plans(browser: &mut Browser, site: &Path) {
    open(browser, site, "plan");
    let project = browser.look("document.querySelector('#plan-project').value");
    let folder =
        Folder::with(&[("scumble.toml", project.as_str().unwrap()), ("visits.csv", "person_id,clinic,cost\n")]);
    let text = folder.stdout(&["plan"]);
    let in_words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.lines().map(in_words).collect();
    let rows = cells(browser);
    assert_eq!(rows.len(), 3, "{rows:?}");
    for row in &rows {
        // A line of the program: the release and its ε stand in the first of its lines.
        let words = in_words(&row.join(" "));
        assert!(lines.iter().any(|line| line.starts_with(&words)), "{words} is not in\n{text}");
    }
    let left = browser.look("document.querySelector('.try-left ul').textContent");
    assert_eq!(left, "mean cost: 'AVG' is more SQL than this page reads");
    // The costs in every scope are those of the program too.
    let planned = folder.json(&["plan", "--json"]);
    for release in planned["releases"].as_array().unwrap().iter().filter(|release| release["name"] != "mean cost") {
        assert_eq!(release["costs"]["person"]["epsilon"], if release["name"] == "by clinic" { 0.5 } else { 0.25 });
    }
    let over = project.as_str().unwrap().replace("epsilon = 0.25", "epsilon = 0.75");
    fill(browser, "#plan-project", &over);
    browser
        .until("document.querySelector('.try-claim').textContent.startsWith(\"release 'all costs' would be refused\")");
    fill(browser, "#plan-project", &over.replace("[budget]", "[budgets]"));
    says(browser, ".try-error", "scumble.toml:11:2: unknown key 'budgets' in the file (did you mean 'budget'?)");
}

#[test]
fn the_pages_answer_as_the_program_does() {
    let (Some(site), Some(program)) = (calculators(), browser()) else { return };
    let mut browser = Browser::start(program);
    browser.window(1280, false);
    let tries: [fn(&mut Browser, &Path); 4] = [accounts, noises, attacks, plans];
    for (page, attempt) in PAGES.into_iter().zip(tries) {
        attempt(&mut browser, &site);
        nothing_went_wrong(&mut browser, page);
    }
}

/// What can be seen without building: the pages have no randomness but the browser's, no way out, and no script in
/// their forms.
#[test]
fn the_pages_have_one_source_of_randomness_and_no_way_out() {
    let folder = root().join("tools/site/calculators");
    let script = read("tools/site/calculators/page.js");
    assert_eq!(script.matches("crypto.getRandomValues(").count(), 1);
    assert!(!script.contains("Math.random"));
    let mut forms = Vec::new();
    files(&folder.join("forms"), &mut forms);
    assert_eq!(forms.len(), PAGES.len(), "{forms:?}");
    let forms = forms.iter().map(|path| std::fs::read_to_string(path).unwrap());
    for text in forms.chain([script.replace("http://www.w3.org/2000/svg", "")]) {
        for way_out in
            ["fetch(", "XMLHttpRequest", "WebSocket", "sendBeacon", "http://", "https://", "innerHTML", " onclick="]
        {
            assert!(!text.contains(way_out), "{way_out}");
        }
    }
}
