//! The demo's report as a reader sees it: in a browser, on a page, on a phone and in print.
//!
//! Runs where a browser is found on the PATH. Its absence is a failure in continuous integration (`CI=true`), or where
//! `SCUMBLE_NEED_BROWSER=1` asks for it, unless `SCUMBLE_NO_BROWSER=1` says that there is none; `.ci/run` installs one.

use crate::support::Folder;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// So long may a browser take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// A page of A4 between the browser's margins, in CSS pixels.
const PRINTED_WIDTH: u32 = 718;

/// A browser, where there is one.
pub fn browser() -> Option<&'static str> {
    let runs = |name: &&&str| {
        Command::new(name).arg("--version").stderr(Stdio::null()).output().is_ok_and(|out| out.status.success())
    };
    let found = BROWSERS.iter().find(runs).copied();
    let is_set = |name: &str| std::env::var(name).is_ok_and(|value| ["1", "true"].contains(&value.as_str()));
    let needed = is_set("SCUMBLE_NEED_BROWSER") || is_set("CI");
    assert!(
        found.is_some() || !needed || is_set("SCUMBLE_NO_BROWSER"),
        "no browser on the PATH ({}): install one, or set SCUMBLE_NO_BROWSER=1 to leave the report untested",
        BROWSERS.join(", ")
    );
    found
}

/// Runs the browser without a window and with a profile of its own; gives what it prints.
pub fn run(browser: &str, folder: &Path, arguments: &[String]) -> String {
    let profile = tempfile::tempdir().unwrap();
    let mut command = Command::new(browser);
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(arguments)
        .current_dir(folder)
        .stdout(fs::File::create(folder.join("browser.out")).unwrap())
        .stderr(Stdio::null());
    finished(command.spawn().unwrap());
    fs::read_to_string(folder.join("browser.out")).unwrap()
}

fn finished(mut child: Child) {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "the browser failed: {status}");
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = child.kill();
    panic!("the browser did not finish in {PATIENCE:?}");
}

/// Shows a page in a frame of the given width, inside of a page that looks at it, and tells what it sees.
fn seen(browser: &str, folder: &Path, page: &str, width: u32) -> Value {
    // A script ends at the next "</": the page is held in a string without it.
    let held = serde_json::to_string(page).unwrap().replace("</", "<\\/");
    let looking = format!(
        r#"<!DOCTYPE html><meta charset="utf-8"><body style="margin:0"><iframe id="frame" style="border:0;width:{width}px;height:900px"></iframe>
<pre id="seen"></pre><script>
const frame = document.getElementById('frame');
frame.onload = () => {{
  const inner = frame.contentDocument, root = inner.documentElement;
  const box = element => element.getBoundingClientRect();
  const shown = [...inner.querySelectorAll('svg')].filter(svg => box(svg).width > 0);
  const letters = svg => [...svg.querySelectorAll('text')].map(text => parseFloat(text.getAttribute('font-size')) * box(svg).width / svg.viewBox.baseVal.width);
  const inside = (svg, element) => box(element).left >= box(svg).left - 1 && box(element).right <= box(svg).right + 1 && box(element).bottom <= box(svg).bottom + 1;
  // A dot is small, and only numbers are drawn as dots.
  const wide = mark => box(mark).width > 20 || box(mark).height > 20 || mark.tagName === 'circle';
  const drawn = svg => [...svg.querySelectorAll('path,polygon,circle,rect[fill-opacity]')].some(wide);
  const result = {{
    width: root.clientWidth,
    overflow: Math.max(root.scrollWidth, inner.body.scrollWidth) - root.clientWidth,
    charts: shown.length,
    drawn: shown.filter(drawn).length,
    smallest_chart: Math.min(...shown.map(svg => box(svg).width)),
    smallest_letter: Math.min(...shown.flatMap(letters)),
    outside: shown.flatMap(svg => [...svg.querySelectorAll('text')].filter(text => !inside(svg, text)).map(text => text.textContent)),
    fetched: frame.contentWindow.performance.getEntriesByType('resource').map(entry => entry.name),
    sections: [...inner.querySelectorAll('h2')].map(heading => heading.textContent),
    body_letter: parseFloat(frame.contentWindow.getComputedStyle(inner.body).fontSize),
    parameters: [...inner.querySelectorAll('pre')].filter(pre => pre.checkVisibility({{contentVisibilityAuto: true}}) && box(pre).height > 10).length,
  }};
  document.getElementById('seen').textContent = 'SEEN' + JSON.stringify(result) + 'END';
}};
frame.srcdoc = {held};
</script>"#
    );
    fs::write(folder.join("looking.html"), looking).unwrap();
    let address = format!("file://{}", folder.join("looking.html").display());
    let arguments =
        ["--window-size=1200,1000".into(), "--virtual-time-budget=20000".into(), "--dump-dom".into(), address];
    let dom = run(browser, folder, &arguments);
    let shown = dom.rsplit_once("SEEN{").and_then(|(_, rest)| rest.split_once("}END"));
    let shown = shown.unwrap_or_else(|| panic!("the browser has not looked: {dom}")).0;
    let shown = format!("{{{shown}}}").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    serde_json::from_str(&shown).unwrap_or_else(|error| panic!("{error}: {shown}"))
}

fn number(seen: &Value, field: &str) -> f64 {
    seen[field].as_f64().unwrap_or_else(|| panic!("no {field} in {seen}"))
}

/// The report in a browser: charts render, nothing is fetched, nothing sticks out at 400 pixels or in print, letters
/// are readable.
#[test]
fn the_report_is_readable_on_a_page_on_a_phone_and_in_print() {
    let Some(browser) = browser() else { return };
    let folder = Folder::with(&[]);
    folder.stdout(&["demo", "--quiet"]);
    let page = folder.read("scumble-demo/out/report.html");
    // In print the rules for print hold: here they hold on the screen, so that one can look at them.
    let printed = page.replace("@media print", "@media all");
    assert_ne!(page, printed);
    for (name, text, width) in [("page", &page, 1000), ("phone", &page, 400), ("print", &printed, PRINTED_WIDTH)] {
        let seen = seen(browser, folder.path(), text, width);
        assert_eq!(number(&seen, "width"), f64::from(width), "{name}: {seen}");
        assert_eq!(number(&seen, "overflow"), 0.0, "{name}: something is wider than the page: {seen}");
        assert!(number(&seen, "charts") >= 8.0, "{name}: {seen}");
        assert_eq!(seen["charts"], seen["drawn"], "{name}: a chart is empty: {seen}");
        assert!(number(&seen, "smallest_chart") >= 300.0, "{name}: {seen}");
        assert!(number(&seen, "smallest_letter") >= 8.0, "{name}: letters are too small: {seen}");
        assert!(number(&seen, "body_letter") >= 13.0, "{name}: {seen}");
        assert_eq!(seen["outside"], serde_json::json!([]), "{name}: labels stick out of a chart: {seen}");
        assert_eq!(seen["fetched"], serde_json::json!([]), "{name}: something was fetched: {seen}");
        let sections = seen["sections"].to_string();
        for section in [
            "In short",
            "Privacy curves",
            "Who pays for what",
            "What weaker attackers learn",
            "What an optimal mechanism",
        ] {
            assert!(sections.contains(section), "{name}: no section '{section}' in {sections}");
        }
        if name == "print" {
            assert!(number(&seen, "parameters") >= 7.0, "paper cannot be clicked: {seen}");
        }
    }
    prints(browser, &folder);
}

fn prints(browser: &str, folder: &Folder) {
    let pdf = folder.file("report.pdf");
    let address = format!("file://{}", folder.file("scumble-demo/out/report.html").display());
    run(
        browser,
        folder.path(),
        &["--no-pdf-header-footer".into(), format!("--print-to-pdf={}", pdf.display()), address],
    );
    let bytes = fs::read(pdf).unwrap();
    assert!(bytes.starts_with(b"%PDF-"));
    let text = String::from_utf8_lossy(&bytes);
    let pages = text.matches("/Type /Page\n").count() + text.matches("/Type /Page/").count();
    assert!((3..40).contains(&pages), "{pages} pages");
}

/// What the test above looks for is found where it is: a page that is too wide, fetches, and has an empty chart and
/// tiny letters.
#[test]
fn a_bad_page_is_seen_to_be_bad() {
    let Some(browser) = browser() else { return };
    let folder = Folder::with(&[]);
    let page = r#"<!DOCTYPE html><body><img src="http://127.0.0.1:9/picture.png"><div style="width:900px">x</div>
<svg viewBox="0 0 720 400" style="width:100%"><text x="700" y="20" font-size="9">sticks out to the right</text></svg></body>"#;
    let seen = seen(browser, folder.path(), page, 400);
    assert!(number(&seen, "overflow") > 100.0, "{seen}");
    assert_eq!((number(&seen, "charts"), number(&seen, "drawn")), (1.0, 0.0), "{seen}");
    assert!(number(&seen, "smallest_letter") < 8.0, "{seen}");
    assert_eq!(seen["outside"], serde_json::json!(["sticks out to the right"]), "{seen}");
    assert_eq!(seen["fetched"].as_array().unwrap().len(), 1, "{seen}");
}
