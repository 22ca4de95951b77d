//! `examples/local-page`: the report side as WebAssembly, in a browser, against the program's own.
//!
//! Two comparisons. Of the same random bytes both make the same report, so that the law is the same one, whatever the
//! bytes are; among them those where the coin is one step from a lie. And with the browser's own random bytes reports
//! come as often as that law says.
//!
//! Building takes a minute: only with `SCUMBLE_THOROUGH`, and where Rust has the target (`.ci/run` adds it;
//! `SCUMBLE_NEED_WASM=1` makes its absence a failure).

use crate::report::in_a_browser::{browser, run};
use crate::support::{Folder, effort, printed};
use scumble::noise::BitSource;
use scumble::parties::local::mean::{Mean, UNIT};
use scumble::parties::local::{AbsentOwners, Coin, FrequencyOracle, ReportKind};
use scumble::quantity::Epsilon;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/local-page")
}

fn has_target() -> bool {
    let rust = Command::new("rustc").args(["--print", "sysroot"]).output();
    let root = rust.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_string()).unwrap_or_default();
    let is_there = Path::new(&root).join("lib/rustlib/wasm32-unknown-unknown/lib").is_dir();
    let is_needed = std::env::var("SCUMBLE_NEED_WASM").is_ok_and(|value| value == "1");
    assert!(is_there || !is_needed, "Rust's target is missing: rustup target add wasm32-unknown-unknown");
    is_there
}

/// The bytes that the test's page gives instead of the browser's: first these, then xorshift's.
struct Stream {
    state: u32,
    first: Vec<u8>,
    block: Vec<u8>,
}

/// As in the example's code: this many bytes are asked for at once, and each report begins with new ones.
const BLOCK: usize = 512;

impl Stream {
    fn of(first: &[u8]) -> Self {
        Self { state: 1, first: first.iter().rev().copied().collect(), block: Vec::new() }
    }

    fn byte(&mut self) -> u8 {
        if let Some(byte) = self.first.pop() {
            return byte;
        }
        self.state ^= self.state << 13;
        self.state ^= self.state >> 17;
        self.state ^= self.state << 5;
        self.state as u8
    }

    /// A new report.
    fn anew(&mut self) -> &mut Self {
        self.block.clear();
        self
    }
}

impl BitSource for Stream {
    fn next_u64(&mut self) -> u64 {
        if self.block.is_empty() {
            let mut block: Vec<u8> = (0..BLOCK).map(|_| self.byte()).collect();
            block.reverse();
            self.block = block;
        }
        u64::from_le_bytes(std::array::from_fn(|_| self.block.pop().unwrap()))
    }

    fn is_secure(&self) -> bool {
        false
    }
}

/// Answers questions of the test inside of the page. A question: how many reports, of what, from which first bytes.
const ASKING: &str = r#"<script>
const asked = QUESTIONS;
let state = 1, first = null;
const own = Crypto.prototype.getRandomValues;
Crypto.prototype.getRandomValues = function (array) {
  if (first === null) return own.call(this, array);
  for (let place = 0; place < array.length; place++) {
    if (first.length) { array[place] = first.shift(); continue; }
    state ^= state << 13; state ^= state >>> 17; state ^= state << 5;
    array[place] = state & 255;
  }
  return array;
};
</script>"#;

const ANSWERING: &str = r#"<script>
{
  const answers = [];
  for (const one of asked) {
    state = 1; first = one.first === null ? null : [...one.first];
    const survey = { ...one, values: { length: one.values } };
    const make = place => one.mean !== undefined ? side.mean(one.epsilon, one.mean) : one.absent ? side.absent(survey) : side.report(survey, place % one.values);
    const made = [], counts = {};
    try { for (let place = 0; place < one.reports; place++) { const report = make(one.value ?? place); made.push(report); counts[report] = (counts[report] ?? 0) + 1; } }
    catch (error) { made.push('refused: ' + error.message); }
    answers.push(one.first === null && one.reports > 1 ? counts : made);
  }
  first = null;
  document.querySelectorAll('#form input')[2].click();
  document.querySelector('#form button').click();
  const shown = document.getElementById('report').textContent;
  document.querySelector('#form button').click();
  const page = { shown, again: document.getElementById('report').textContent, about: document.getElementById('about').textContent,
    fetched: performance.getEntriesByType('resource').map(entry => entry.name) };
  document.body.insertAdjacentHTML('beforeend', '<pre>SEEN' + JSON.stringify({ answers, page }) + 'END</pre>');
}
</script></body>"#;

/// The page with questions, shown in a browser; its answers.
fn answers(browser: &str, questions: &[Value]) -> Value {
    let folder = Folder::with(&[]);
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let built = Command::new(example().join("build"))
        .arg(folder.file("page.html"))
        .env("CARGO_TARGET_DIR", workspace.join("target/local-page"))
        .output();
    printed(built.unwrap());
    let page = folder.read("page.html");
    let asking = ASKING.replace("QUESTIONS", &json!(questions).to_string());
    let page = page.replacen("<script type=", &format!("{asking}<script type="), 1);
    let (start, _) = page.rsplit_once("</body>").unwrap();
    folder.write("asked.html", &format!("{start}{ANSWERING}"));
    let address = format!("file://{}", folder.file("asked.html").display());
    let arguments = ["--dump-dom".to_string(), address];
    let dom = run(browser, folder.path(), &arguments);
    let seen = dom.rsplit_once("<pre>SEEN").and_then(|(_, rest)| rest.split_once("END</pre>"));
    serde_json::from_str(seen.unwrap_or_else(|| panic!("the page has not answered: {dom}")).0).unwrap()
}

/// What the program makes of the same bytes.
fn by_the_program(question: &Value) -> Vec<String> {
    let first: Vec<u8> = serde_json::from_value(question["first"].clone()).unwrap();
    let mut bits = Stream::of(&first);
    let epsilon = question["epsilon"].as_f64().unwrap();
    let reports = question["reports"].as_u64().unwrap();
    if let Some(number) = question["mean"].as_f64() {
        let mean = Mean::new(Epsilon::new(epsilon).unwrap()).unwrap();
        let one = |bits: &mut Stream| mean.report((number * f64::from(UNIT)).round() as u32, bits.anew()).unwrap();
        return (0..reports).map(|_| if one(&mut bits) { "m1" } else { "m0" }.to_string()).collect();
    }
    let (oracle, values) = (oracle(question), question["values"].as_u64().unwrap());
    let make = |place| match question["absent"] == true {
        true => oracle.absent(bits.anew()).to_string(),
        false => oracle.report(question["value"].as_u64().unwrap_or(place) % values, bits.anew()).unwrap().to_string(),
    };
    (0..reports).map(make).collect()
}

fn oracle(question: &Value) -> FrequencyOracle {
    let kind = ReportKind::ALL.into_iter().find(|kind| question["oracle"] == kind.name());
    let absent = question["presence"] == true || question["absent"] == true;
    let absent = if absent { AbsentOwners::Report } else { AbsentOwners::Silent };
    let (epsilon, values) = (question["epsilon"].as_f64().unwrap(), question["values"].as_u64().unwrap());
    FrequencyOracle::chosen(kind, absent, Epsilon::new(epsilon).unwrap(), values).unwrap()
}

/// Reports of both sides from the same bytes.
fn of_the_same_bytes() -> Vec<Value> {
    let mut questions = Vec::new();
    for epsilon in [0.01, 1.0, 7.5] {
        for oracle in ["best", "k-ary", "unary", "hadamard"] {
            for values in [2, 5, 130] {
                questions.push(
                    json!({ "first": [], "epsilon": epsilon, "values": values, "oracle": oracle, "reports": 60 }),
                );
            }
        }
        for values in [3, 20_000] {
            questions
                .push(json!({ "first": [], "epsilon": epsilon, "values": values, "presence": true, "reports": 3 }));
            questions.push(json!({ "first": [], "epsilon": epsilon, "values": values, "absent": true, "reports": 3 }));
        }
        questions.push(json!({ "first": [], "epsilon": epsilon, "values": 0, "mean": 0.37, "reports": 100 }));
        // A Hadamard report's coin is its first word: the last lie, the first truth, and what is beyond.
        let lies = Coin::new(Epsilon::new(epsilon).unwrap()).unwrap().lies();
        for word in [0, lies - 1, lies, lies + 1, u64::MAX] {
            let first = word.to_le_bytes();
            questions.push(json!({ "first": first, "epsilon": epsilon, "values": 6, "oracle": "hadamard", "value": 4, "reports": 1 }));
        }
    }
    questions
}

/// With the browser's own bytes. Each outcome's share of the draws is off by more than allowed with probability at most
/// 2e-12 (Hoeffding), of 22 outcomes in all.
const DRAWS: u64 = 20_000;

fn of_the_browsers_bytes() -> Vec<Value> {
    let one = |oracle: &str, values: u64| json!({ "first": null, "epsilon": 1.0, "values": values, "oracle": oracle, "value": 1, "reports": DRAWS });
    let absent =
        json!({ "first": null, "epsilon": 1.0, "values": 2, "oracle": "unary", "absent": true, "reports": DRAWS });
    let mean = json!({ "first": null, "epsilon": 1.0, "values": 0, "mean": 0.25, "reports": DRAWS });
    vec![one("k-ary", 4), one("unary", 2), one("hadamard", 5), absent, mean]
}

/// The laws of the five questions above, from the formulas of docs/how-to/local.md, at ε = 1.
fn laws() -> Vec<Vec<(String, f64)>> {
    let e = 1f64.exp();
    let lie = 1.0 / (e + 1.0);
    let k_ary = (0..4).map(|value| (format!("k{value}"), if value == 1 { e / (e + 3.0) } else { 1.0 / (e + 3.0) }));
    let bits = |of: [f64; 2]| {
        (0..4).map(move |ones: usize| {
            let chance = |place: usize| if ones >> place & 1 == 1 { of[place] } else { 1.0 - of[place] };
            (format!("u{ones:x}"), chance(0) * chance(1))
        })
    };
    let in_set = |row: u32| (2u32 & row).count_ones().is_multiple_of(2);
    let hadamard = (0..8).map(|row| (format!("h{row}"), if in_set(row) { (1.0 - lie) / 4.0 } else { lie / 4.0 }));
    let one = 0.25 * (1.0 - lie) + 0.75 * lie;
    let mean = [("m1".to_string(), one), ("m0".to_string(), 1.0 - one)];
    vec![
        k_ary.collect(),
        bits([lie, 0.5]).collect(),
        hadamard.collect(),
        bits([lie, lie]).collect(),
        mean.into_iter().collect(),
    ]
}

#[test]
fn the_page_reports_as_the_program_does() {
    if effort(0, 1) == 0 || !has_target() {
        return;
    }
    let Some(browser) = browser() else { return };
    let (same, drawn) = (of_the_same_bytes(), of_the_browsers_bytes());
    let wrong = [
        json!({ "first": null, "epsilon": 0.0, "values": 3, "reports": 1 }),
        json!({ "first": null, "epsilon": 1.0, "values": 1, "reports": 1 }),
        json!({ "first": null, "epsilon": 1.0, "values": 3, "oracle": "none", "reports": 1 }),
        json!({ "first": null, "epsilon": 1.0, "values": 3, "value": 0.5, "reports": 1 }),
        json!({ "first": null, "epsilon": 1.0, "values": 0, "mean": 1.5, "reports": 1 }),
    ];
    let found = answers(browser, &[&same[..], &drawn, &wrong].concat());
    let found_answers = found["answers"].as_array().unwrap();
    assert_eq!(found_answers.len(), same.len() + drawn.len() + wrong.len());
    for (question, answer) in same.iter().zip(found_answers) {
        assert_eq!(*answer, json!(by_the_program(question)), "{question}");
    }
    let allowed = (DRAWS as f64 * (2.0f64 / 2e-12).ln() / 2.0).sqrt();
    for ((question, law), counts) in drawn.iter().zip(laws()).zip(&found_answers[same.len()..]) {
        let counted: u64 = law.iter().map(|(report, _)| counts[report].as_u64().unwrap_or(0)).sum();
        assert_eq!(counted, DRAWS, "{question}: reports that are none: {counts}");
        for (report, chance) in law {
            let (came, expected) = (counts[&report].as_f64().unwrap_or(0.0), DRAWS as f64 * chance);
            assert!((came - expected).abs() <= allowed, "{question} {report}: {came}, not {expected}");
        }
    }
    for (question, answer) in wrong.iter().zip(&found_answers[same.len() + drawn.len()..]) {
        assert!(answer[0].as_str().is_some_and(|text| text.starts_with("refused: ")), "{question}: {answer}");
    }
    let page = &found["page"];
    let shown = page["shown"].as_str().unwrap();
    let fruits = json!({ "epsilon": 1.0, "values": 4 });
    assert!(oracle(&fruits).read(shown).is_some(), "{page}");
    assert_eq!(page["shown"], page["again"], "a second report was made: {page}");
    assert!(page["about"].as_str().unwrap().contains("at most 2.72 times as likely"), "{page}");
    assert_eq!(page["fetched"], json!([]), "{page}");
}

/// What can be seen without building: the page has no randomness but the browser's, and no way out.
#[test]
fn the_page_has_one_source_of_randomness() {
    let page = std::fs::read_to_string(example().join("form.html")).unwrap();
    assert_eq!(page.matches("crypto.getRandomValues(").count(), 1);
    assert!(!page.contains("Math.random") && page.contains("default-src 'none'"));
    for way_out in ["fetch(", "XMLHttpRequest", "WebSocket", "sendBeacon", "http://", "https://", "src="] {
        assert!(!page.contains(way_out), "{way_out}");
    }
}
