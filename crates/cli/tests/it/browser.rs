//! A browser under remote control: Chromium's own protocol over two named pipes, so that nothing but the browser is
//! needed.

use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// So long may anything take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// What keys are called, their number, and the text that they give.
const KEYS: [(&str, u32, &str); 4] = [("Tab", 9, ""), ("Enter", 13, "\r"), (" ", 32, " "), ("ArrowRight", 39, "")];

/// A browser with one page; it ends with this.
pub struct Browser {
    child: Child,
    to: File,
    messages: Receiver<Value>,
    session: Option<String>,
    next: u64,
    /// What happened, in its order.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

/// axe-core, where it is.
pub fn axe() -> Option<String> {
    match std::env::var_os("SCUMBLE_AXE") {
        Some(path) => Some(std::fs::read_to_string(path).unwrap()),
        None => {
            eprintln!("NOT TESTED: axe-core is not here (SCUMBLE_AXE), so no page is looked over by it");
            None
        }
    }
}

impl Browser {
    pub fn start(program: &str) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let [to, from] = ["to", "from"].map(|name| profile.path().join(name));
        assert!(Command::new("mkfifo").args([&to, &from]).status().unwrap().success());
        // The browser reads commands from its third file, and writes to its fourth.
        let child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<\"$TO\" 4>\"$FROM\"", "sh", program])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--disable-dev-shm-usage", "--disable-quic", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().join("profile").display()))
            .env("TO", &to)
            .env("FROM", &from)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = OpenOptions::new().write(true).open(&to).unwrap();
        let from = BufReader::new(File::open(&from).unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in from.split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { return };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self { child, to, messages, session: None, next: 0, events: Vec::new(), _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(str::to_string);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut heard = self.messages.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{method}: no answer"));
            if heard["id"] != self.next {
                self.events.push(heard);
                continue;
            }
            assert!(heard["error"].is_null(), "{method}: {}", heard["error"]);
            return heard["result"].take();
        }
    }

    /// The value of an expression on the page; of a promise, what it comes to.
    pub fn look(&mut self, expression: &str) -> Value {
        self.tried(expression).unwrap_or_else(|why| panic!("{expression}: {why}"))
    }

    fn tried(&mut self, expression: &str) -> Result<Value, String> {
        let how = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let mut came = self.call("Runtime.evaluate", how);
        match came["exceptionDetails"].is_null() {
            true => Ok(came["result"]["value"].take()),
            false => Err(came["exceptionDetails"].to_string()),
        }
    }

    /// No serious finding of axe-core on the page.
    pub fn look_over(&mut self, axe: &str, place: &str) {
        self.look(&format!("{axe};0"));
        let found = self.look(
            "axe.run({ iframes: false }).then((found) => found.violations.map((one) =>
               [one.impact, one.id, one.nodes.map((node) => node.html.slice(0, 150))]))",
        );
        let is_serious = |one: &&Value| ["serious", "critical"].contains(&one[0].as_str().unwrap());
        let serious: Vec<&Value> = found.as_array().unwrap().iter().filter(is_serious).collect();
        assert!(serious.is_empty(), "{place}: {serious:?}");
    }

    /// Waits until something is true on the page.
    pub fn until(&mut self, expression: &str) {
        let start = Instant::now();
        // While a page is left for another, nothing is true.
        while self.tried(&format!("!!({expression})")) != Ok(Value::Bool(true)) {
            assert!(
                start.elapsed() < PATIENCE,
                "this did not become true: {expression}\n{}",
                self.look("document.body.innerText")
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Goes to an address, and waits until all of it is there.
    pub fn go(&mut self, address: &str) {
        self.call("Page.navigate", json!({ "url": address }));
        self.until("document.readyState === 'complete'");
    }

    /// A window of this size, in the light or in the dark.
    pub fn window(&mut self, width: u32, is_dark: bool) {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", features);
    }

    /// Presses a key once.
    pub fn press(&mut self, key: &str) {
        let (name, number, text) = KEYS.into_iter().find(|(name, ..)| *name == key).unwrap();
        let code = if name == " " { "Space" } else { name };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": name, "code": code, "windowsVirtualKeyCode": number });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Presses Tab until this has the focus; whatever has it on the way can be seen to have it.
    pub fn tab_to(&mut self, selector: &str) {
        for _ in 0..60 {
            self.press("Tab");
            let seen = self.look(&format!(
                "(() => {{ const one = document.activeElement, style = getComputedStyle(one);
                   return [one.matches({}), one === document.body || style.outlineStyle !== 'none', one.outerHTML.slice(0, 120)] }})()",
                json!(selector)
            ));
            assert_eq!(seen[1], true, "nobody sees that this has the focus: {}", seen[2]);
            if seen[0] == true {
                return;
            }
        }
        panic!("no key leads to {selector}");
    }

    /// Types a text where the focus is.
    pub fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// A picture of the whole page.
    pub fn picture(&mut self, file: &Path) {
        let size = self.call("Page.getLayoutMetrics", json!({}))["cssContentSize"].clone();
        let height = size["height"].as_f64().unwrap_or(900.0).min(4000.0);
        let clip = json!({ "x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1 });
        let taken = self.call("Page.captureScreenshot", json!({ "captureBeyondViewport": true, "clip": clip }));
        let bytes = unbase64(taken["data"].as_str().unwrap());
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 4000, "an empty picture of {} bytes", bytes.len());
        std::fs::write(file, bytes).unwrap();
    }

    /// What happened since this was asked last.
    pub fn happened(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.events)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn unbase64(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0);
    for letter in text.bytes().filter_map(|letter| LETTERS.iter().position(|known| *known == letter)) {
        (bits, held) = ((bits << 6) | letter as u32, held + 6);
        if held >= 8 {
            held -= 8;
            bytes.push(((bits >> held) & 0xff) as u8);
        }
    }
    bytes
}
