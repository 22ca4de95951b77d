//! The pages: links lead somewhere, every page is listed, prose follows the writing rules of CONTRIBUTING.md, and a
//! statistician finds an answer within two clicks. Each check is a function that a test below tries on a bad line.

use crate::program::tidy::{files, read, root};
use std::collections::{BTreeMap, BTreeSet};

/// The pages beside `docs/`. The changelog follows the same rules, and its words do not count.
const BESIDE: [&str; 5] = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", "CHANGELOG.md"];
const UNCOUNTED: [&str; 2] = ["SECURITY.md", "CHANGELOG.md"];
/// The most words that all the other pages may have together (`wc -w`). Somebody has to read them.
const MOST_WORDS: usize = 45_000;
/// The most characters of a line.
const WIDTH: usize = 120;
/// The page that is printed by the engine's registry.
const GENERATED: &str = "docs/reference/kinds.md";
const SUMMARY: &str = "docs/SUMMARY.md";

/// A page, by its path from the root.
struct Page {
    path: String,
    text: String,
}

impl Page {
    fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_string(), text: text.to_string() }
    }

    fn is_in_docs(&self) -> bool {
        self.path.starts_with("docs/") && self.path != SUMMARY
    }

    /// What a check finds in the lines of this page, with their place.
    fn places(&self, found: Vec<(usize, String)>) -> Vec<String> {
        found.into_iter().map(|(line, what)| format!("{}:{line}: {what}", self.path)).collect()
    }
}

/// Every file with this ending, by its path from the root.
fn paths(folder: &str, end: &str) -> Vec<String> {
    let mut found = Vec::new();
    files(&root().join(folder), &mut found);
    let paths = found.iter().map(|path| path.strip_prefix(root()).unwrap().to_string_lossy().into_owned());
    let mut paths: Vec<String> = paths.filter(|path| path.ends_with(end)).collect();
    paths.sort();
    paths
}

fn pages() -> Vec<Page> {
    let all = paths("docs", ".md").into_iter().chain(BESIDE.map(str::to_string));
    let pages: Vec<Page> = all.map(|path| Page::new(&path, &read(&path))).collect();
    assert!(pages.len() > 50, "the walk has missed the pages: {}", pages.len());
    pages
}

/// A line, its number, and the tag of the fence around it.
struct Line<'a> {
    number: usize,
    text: &'a str,
    fence: Option<&'a str>,
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut fence = None;
    let mut all = Vec::new();
    for (index, line) in text.lines().enumerate() {
        match line.trim_start().strip_prefix("```") {
            Some(tag) => fence = if fence.is_none() { Some(tag) } else { None },
            None => all.push(Line { number: index + 1, text: line, fence }),
        }
    }
    all
}

/// The lines outside of fences.
fn prose(text: &str) -> impl Iterator<Item = Line<'_>> {
    lines(text).into_iter().filter(|line| line.fence.is_none())
}

/// A line without what stands in `code`.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// Lines that are too long. Table rows, pictures, printed output and single words cannot be broken.
fn long_lines(text: &str) -> Vec<(usize, String)> {
    let is_printed = |fence| matches!(fence, Some("" | "text" | "console" | "refused"));
    let is_whole = |line: &str| {
        let content = line.trim_start().trim_start_matches("- ");
        content.starts_with(['|', '!']) || !content.contains(' ')
    };
    let all = lines(text).into_iter().filter(|line| !is_printed(line.fence) && !is_whole(line.text));
    let all = all.map(|line| (line.number, line.text.chars().count()));
    all.filter(|(_, length)| *length > WIDTH).map(|(line, length)| (line, format!("{length} characters"))).collect()
}

/// What follows "a text" where it is not a string.
const OF_TEXT: [&str; 8] = ["file", "files", "editor", "column", "field", "format", "type", "area"];
/// What stands before "signs" where these are characters, and not plus and minus.
const BEFORE_SIGNS: [&str; 9] = ["control", "special", "strange", "as", "few", "many", "these", "more", "other"];

/// The cadence that CONTRIBUTING.md bans, at the start of these words; an empty word ends a sentence or a part of it.
fn banned(words: &[&str]) -> Option<String> {
    let are_characters = |word: &str| word.parse::<u64>().is_ok() || BEFORE_SIGNS.contains(&word);
    let length = match words {
        ["whoever" | "texts", ..] => 1,
        ["told", next, ..] if *next != "apart" => 1,
        ["of", "which", ..] | ["made-up", "rows", ..] => 2,
        ["a", "text", next, ..] if !OF_TEXT.contains(next) => 2,
        [before, "signs", ..] if are_characters(before) => 2,
        ["that", "is" | "are", "none", ..] | ["nobody", "is", "trusted", ..] => 3,
        ["behind", "the" | "its" | "a" | "each" | "every", "charge", ..] => 3,
        ["there", "is" | "are", "no", rest @ ..] => {
            4 + rest.iter().take_while(|word| !word.is_empty()).position(|word| *word == "that")?
        }
        _ => return None,
    };
    Some(words[..length].join(" "))
}

/// A line in which `code` and "quotations" are commas.
fn said(line: &str) -> String {
    let outside = |line: &str, mark: char| {
        let parts = line.split(mark).enumerate();
        parts.map(|(index, part)| if index % 2 == 0 { part } else { " , " }).collect::<String>()
    };
    outside(&outside(line, '`'), '"')
}

/// The words of a page's prose with their lines; an empty one where a sentence, a part of it, or a quotation ends. The
/// glossary is left out: it says which words we do not use.
fn words(text: &str) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    let mut is_glossary = false;
    for line in prose(text) {
        is_glossary = (is_glossary || line.text.contains("ANCHOR: glossary")) && !line.text.contains("ANCHOR_END");
        if is_glossary {
            continue;
        }
        if line.text.trim().is_empty() || line.text.trim_start().starts_with(['#', '-', '|']) {
            all.push((line.number, String::new()));
        }
        for word in said(line.text).split_whitespace() {
            let bare = word.trim_matches(|one: char| !one.is_alphanumeric()).to_lowercase();
            all.push((line.number, bare));
            if word.ends_with(['.', ',', ';', ':', '!', '?', ')']) {
                all.push((line.number, String::new()));
            }
        }
    }
    // So that the last word has one that follows.
    all.push((0, String::new()));
    all
}

fn banned_words(text: &str) -> Vec<(usize, String)> {
    let all = words(text);
    let bare: Vec<&str> = all.iter().map(|(_, word)| word.as_str()).collect();
    let found = (0..all.len()).filter_map(|at| Some((all[at].0, format!("banned: {}", banned(&bare[at..])?))));
    found.collect()
}

/// Where the links of a page lead, with their lines.
fn links(text: &str) -> Vec<(usize, String)> {
    let of_line = |line: Line<'_>| {
        let bare = without_code(line.text);
        let targets = bare.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_string()));
        targets.map(|target| (line.number, target)).collect::<Vec<_>>()
    };
    prose(text).flat_map(of_line).filter(|(_, target)| !target.contains("://")).collect()
}

/// The anchors of a page: of its headings as the forge and mdBook make them, and those that are written.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in prose(text) {
        if let Some(heading) = line.text.strip_prefix('#') {
            let shown: String = heading.trim_start_matches('#').trim().split("](").map(without_target).collect();
            let shown = shown.to_lowercase();
            let kept = shown.chars().filter(|one| one.is_alphanumeric() || "-_ ".contains(*one));
            let anchor: String = kept.map(|one| if one == ' ' { '-' } else { one }).collect();
            let again = (1..).map(|time| format!("{anchor}-{time}"));
            let first = std::iter::once(anchor.clone()).chain(again).find(|name| !found.contains(name));
            found.extend(first);
        }
        let written = line.text.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next());
        found.extend(written.map(str::to_string));
    }
    found
}

/// What is shown of a heading's part that follows the label of a link.
fn without_target(part: &str) -> &str {
    part.split_once(')').filter(|(target, _)| target.contains(['/', '#'])).map_or(part, |(_, rest)| rest)
}

/// The path from the root to which a link on a page leads, without its anchor.
fn target(page: &str, link: &str) -> String {
    let path = link.split('#').next().unwrap();
    if path.is_empty() {
        return page.to_string();
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            ".." if parts.pop().is_none() => return format!("../{path}"),
            ".." | "." | "" => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// Why a link does not resolve.
fn trouble(page: &str, link: &str) -> Option<String> {
    let path = target(page, link);
    let file = root().join(&path);
    if path.starts_with("..") || !file.exists() {
        return Some(format!("no such file: {link}"));
    }
    let anchor = link.split_once('#')?.1;
    let is_there = path.ends_with(".md") && anchors(&read(&path)).contains(anchor);
    (!is_there).then(|| format!("no such anchor: {link}"))
}

fn dead_links(page: &Page) -> Vec<(usize, String)> {
    let links = links(&page.text).into_iter();
    links.filter_map(|(line, link)| Some((line, trouble(&page.path, &link)?))).collect()
}

/// Paths of this project that a page names as code and that are not there.
fn dead_paths(text: &str) -> Vec<(usize, String)> {
    const FOLDERS: [&str; 8] = [".ci/", "bench/", "crates/", "docs/", "examples/", "fuzz/", "testdata/", "tools/"];
    let is_path = |code: &str| {
        let is_plain = code.chars().all(|one| one.is_ascii_alphanumeric() || "._-/".contains(one));
        is_plain && FOLDERS.iter().any(|folder| code.starts_with(folder))
    };
    let of_line = |line: Line<'_>| {
        let code = line.text.split('`').skip(1).step_by(2).filter_map(|code| code.split_whitespace().next());
        let dead = code.filter(|code| is_path(code) && !root().join(code).exists());
        dead.map(|path| (line.number, format!("no such path: {path}"))).collect::<Vec<_>>()
    };
    prose(text).flat_map(of_line).collect()
}

/// The pages that a source cites as `docs/….md`, with their anchors.
fn cited(source: &str) -> Vec<String> {
    let is_of_link = |one: char| one.is_ascii_alphanumeric() || "._-/#".contains(one);
    let citations = source.split("docs/").skip(1).map(|rest| rest.split(|one| !is_of_link(one)).next().unwrap());
    let pages = citations.filter(|link| link.contains(".md")).map(|link| link.trim_end_matches('.'));
    pages.map(|link| format!("docs/{link}")).collect()
}

/// Pages that the contents do not list exactly once.
fn unlisted(summary: &str, pages: &[&str]) -> Vec<String> {
    let listed: Vec<String> = links(summary).into_iter().map(|(_, link)| target(SUMMARY, &link)).collect();
    let times = |page: &str| listed.iter().filter(|path| *path == page).count();
    pages.iter().filter(|page| times(page) != 1).map(|page| format!("{page} is listed {} times", times(page))).collect()
}

/// Pages without a title of their own.
fn untitled(pages: &[Page]) -> Vec<String> {
    let mut titles = BTreeSet::new();
    let title = |page: &Page| page.text.lines().next().and_then(|line| line.strip_prefix("# ")).map(str::to_string);
    let wrong = pages.iter().filter(|page| title(page).is_none_or(|title| !titles.insert(title)));
    wrong.map(|page| page.path.clone()).collect()
}

fn count(pages: &[Page]) -> usize {
    let counted = pages.iter().filter(|page| !UNCOUNTED.contains(&page.path.as_str()));
    counted.map(|page| page.text.split_whitespace().count()).sum()
}

/// How many clicks lead from a page to every other. The contents do not count: they lead everywhere.
fn clicks(from: &str, pages: &[Page]) -> BTreeMap<String, usize> {
    let by_path: BTreeMap<&str, &Page> = pages.iter().map(|page| (page.path.as_str(), page)).collect();
    let mut clicks = BTreeMap::from([(from.to_string(), 0)]);
    let mut waiting = std::collections::VecDeque::from([from.to_string()]);
    while let Some(path) = waiting.pop_front() {
        let depth = clicks[&path];
        let Some(page) = by_path.get(path.as_str()).filter(|page| page.path != SUMMARY) else { continue };
        for (_, link) in links(&page.text) {
            let next = target(&path, &link);
            if !clicks.contains_key(&next) {
                clicks.insert(next.clone(), depth + 1);
                waiting.push_back(next);
            }
        }
    }
    clicks
}

/// A statistician's questions as the front page asks them, with the page and the heading that answer each.
const QUESTIONS: [(&str, &str, &str); 10] = [
    ("What does ± mean?", "docs/explanation/errors.md", "# Standard errors and confidence intervals"),
    ("How do I publish a rate per 1,000 inhabitants?", "docs/how-to/rates.md", "# Rates per inhabitant"),
    ("How do I publish a share with its margin?", "docs/how-to/shares.md", "# Shares and percentages"),
    ("How do I publish visits by month?", "docs/how-to/time-series.md", "# Time series"),
    ("How do I publish visits per patient?", "docs/how-to/means-per-person.md", "# Means per person"),
    ("Which bounds do I declare?", "docs/how-to/choose-bounds.md", "# Choose bounds"),
    ("What if 99 means \"don't know\"?", "docs/how-to/missing-codes.md", "# Missing values and codes"),
    ("Why is a group missing?", "docs/how-to/small-groups.md", "# Small groups and unknown values"),
    ("Has it changed since last year?", "docs/how-to/compare-years.md", "# Compare years"),
    ("The error is too large: what now?", "docs/how-to/tuning.md", "# Smaller errors: tuning"),
];

/// Questions that no page answers within two clicks.
fn unanswered(pages: &[Page], questions: &[(&str, &str, &str)]) -> Vec<String> {
    let clicks = clicks("docs/index.md", pages);
    let is_near = |path: &str| clicks.get(path).is_some_and(|clicks| *clicks <= 2);
    let has = |path: &str, line: &str| {
        let page = pages.iter().find(|page| page.path == path);
        page.is_some_and(|page| prose(&page.text).any(|shown| shown.text == line))
    };
    let is_asked = |question: &str| {
        let front = pages.iter().find(|page| page.path == "docs/index.md");
        front.is_some_and(|page| page.text.contains(question))
    };
    let open =
        questions.iter().filter(|(asked, path, heading)| !(is_asked(asked) && is_near(path) && has(path, heading)));
    open.map(|(asked, ..)| asked.to_string()).collect()
}

fn none(found: &[String]) {
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn links_and_paths_lead_somewhere() {
    for page in pages() {
        none(&page.places(dead_links(&page)));
        none(&page.places(dead_paths(&page.text)));
    }
    // This file has made-up links.
    let sources = ["rs", "py", "toml"].iter().flat_map(|end| paths("", &format!(".{end}")));
    let sources = sources.filter(|path| !path.ends_with("program/docs.rs"));
    let mut citations = 0;
    for source in sources {
        for link in cited(&read(&source)) {
            citations += 1;
            none(&trouble("", &link).map(|what| format!("{source}: {what}")).into_iter().collect::<Vec<_>>());
        }
    }
    assert!(citations > 50, "the walk has missed the sources: {citations}");
}

#[test]
fn prose_follows_the_writing_rules() {
    let mut found = Vec::new();
    for page in pages().iter().filter(|page| page.path != GENERATED) {
        found.extend(page.places(long_lines(&page.text)));
        found.extend(page.places(banned_words(&page.text)));
    }
    none(&found);
}

#[test]
fn pages_are_listed_and_have_titles_of_their_own() {
    let pages: Vec<Page> = pages().into_iter().filter(Page::is_in_docs).collect();
    none(&unlisted(&read(SUMMARY), &pages.iter().map(|page| page.path.as_str()).collect::<Vec<_>>()));
    none(&untitled(&pages));
}

#[test]
fn all_pages_together_are_short_enough_to_read() {
    let words = count(&pages());
    assert!(words <= MOST_WORDS, "{words} words, and {MOST_WORDS} are the most: shorten a page");
}

#[test]
fn ten_questions_are_answered_within_two_clicks() {
    none(&unanswered(&pages(), &QUESTIONS));
}

#[test]
fn long_lines_are_found() {
    let long = "word ".repeat(25);
    let found = |text: &str| long_lines(text).iter().map(|(line, _)| *line).collect::<Vec<_>>();
    assert_eq!(found(&format!("# Title\n{long}\n")), [2]);
    assert_eq!(found(&format!("```toml\n{long}\n```\n```sh\n{long}\n```\n")), [2, 5]);
    assert_eq!(found(&format!("```text\n{long}\n```\n{long}\n")), [4]);
    assert!(found(&format!("| {long} |\n![{long}](x.png)\n```\n{long}\n```\n")).is_empty());
    assert!(found(&format!("- [x]({})\n", "x".repeat(WIDTH))).is_empty());
    assert_eq!(found(&format!("{}\n{}é\n", "é ".repeat(WIDTH / 2), "é ".repeat(WIDTH / 2))), [2]);
}

#[test]
fn banned_cadence_is_found() {
    for (line, phrase) in [
        ("A table of which no row is read.", "of which"),
        ("A table of\nwhich no row is read.", "of which"),
        ("a number that is none", "that is none"),
        ("Whoever asks", "whoever"),
        ("It is *told* by `check`.", "told"),
        ("a failure behind the charge", "behind the charge"),
        ("compared with a text.", "a text"),
        ("Its texts are kept.", "texts"),
        ("control signs", "control signs"),
        ("a name of 40 signs", "40 signs"),
        ("There is no row that counts.", "there is no row that"),
        ("made-up rows", "made-up rows"),
        ("- Nobody is trusted", "nobody is trusted"),
    ] {
        let found = banned_words(line);
        assert!(found.iter().any(|(_, what)| *what == format!("banned: {phrase}")), "{line}: {found:?}");
    }
    for line in [
        "It knows of. Which one?",
        "`of which`, \"whoever\" and `keys = \"texts\"`",
        "```text\nwhoever\n```",
        "Noise has both signs, plus and minus; somebody signs it.",
        "a text file, told apart",
        "There is no row. It says that.",
        "| that is |\n| none |",
        "<!-- ANCHOR: glossary -->\n| whoever |\n<!-- ANCHOR_END: glossary -->",
    ] {
        assert_eq!(banned_words(line), [], "{line}");
    }
    let after = "<!-- ANCHOR: glossary -->\n<!-- ANCHOR_END: glossary -->\nwhoever\n";
    assert_eq!(banned_words(after), [(3, "banned: whoever".to_string())]);
}

#[test]
fn dead_links_and_paths_are_found() {
    let dead = |path: &str, text: &str| dead_links(&Page::new(path, text)).len();
    let good = "[`a`](index.md) [b](how-to/rates.md#rates-per-inhabitant) [c](../README.md) [d](#ten-questions)\n";
    assert_eq!(dead("docs/index.md", good), 0);
    assert_eq!(dead("docs/page.md", "`[code](x.md)` [web](https://example.org/x.md)\n```\n[fence](x.md)\n```\n"), 0);
    for bad in ["no-page.md", "how-to/rates.md#no-such-heading", "#none", "../crates/no/lib.rs", "../../README.md"] {
        assert_eq!(dead("docs/page.md", &format!("see [it]({bad})\n")), 1, "{bad}");
    }
    assert_eq!(dead("docs/page.md", "[a](../Cargo.toml#lines)\n"), 1);
    let expected = ["a-b-c_d", "a-b-c_d-1", "by-hand", "the-log-of-ε"].map(str::to_string);
    let shown = anchors("# A, `b` [c_d](x/y.md)\n## A b c_d\n<a id=\"by-hand\"></a>\n### The *log* of (ε)\n");
    assert_eq!(shown, BTreeSet::from(expected));
    assert_eq!(dead_paths("`crates/cli/src/main.rs`, `bench/run TOPIC`, `docs/*.md`, `out/x.csv`\n"), []);
    assert_eq!(dead_paths("a\n`crates/cli/src/no.rs`\n"), [(2, "no such path: crates/cli/src/no.rs".to_string())]);
    let folder = ["do", "cs/"].concat();
    let source = format!("// see {folder}x/y.md#z-1, and ../{folder}a.md. And {folder}pictures/x.svg\n");
    assert_eq!(cited(&source), ["x/y.md#z-1", "a.md"].map(|page| format!("{folder}{page}")));
}

#[test]
fn lost_pages_are_found() {
    let summary = "- [A](a.md)\n- [B](how-to/b.md)\n- [B again](how-to/b.md)\n";
    let found = unlisted(summary, &["docs/a.md", "docs/how-to/b.md", "docs/c.md"]);
    assert_eq!(found, ["docs/how-to/b.md is listed 2 times", "docs/c.md is listed 0 times"]);
    let titled = [Page::new("a", "# One\n"), Page::new("b", "# One\n"), Page::new("c", "Two\n"), Page::new("d", "")];
    assert_eq!(untitled(&titled), ["b", "c", "d"]);
    assert_eq!(count(&[Page::new("README.md", "one two\nthree"), Page::new("CHANGELOG.md", "four")]), 3);
}

#[test]
fn lost_answers_are_found() {
    let pages = [
        Page::new("docs/index.md", "[How?](how-to/a.md) Why? [contents](SUMMARY.md)\n"),
        Page::new("docs/how-to/a.md", "# A\n[next](b.md)\n"),
        Page::new("docs/how-to/b.md", "# B\n## Heading\n[next](c.md)\n"),
        Page::new("docs/how-to/c.md", "# C\n"),
        Page::new(SUMMARY, "[C](how-to/c.md)\n"),
    ];
    let near = ("How?", "docs/how-to/b.md", "## Heading");
    let far = ("Why?", "docs/how-to/c.md", "# C");
    let headless = ("How?", "docs/how-to/b.md", "## Another");
    let unasked = ("What?", "docs/how-to/b.md", "# B");
    assert_eq!(unanswered(&pages, &[near]), Vec::<String>::new());
    assert_eq!(unanswered(&pages, &[near, far, headless, unasked]), ["Why?", "How?", "What?"]);
}
