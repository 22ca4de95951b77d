//! The report: numbers as readers want them, and a page in which nothing that somebody else wrote is markup.

use super::format::{grouped, shown};
use super::*;
use crate::ledger::Ledger;
use crate::release::run::published::published;
use crate::release::{Cell, Runner};
use crate::support::Folder;
use serde_json::Value;

const HEAD: &str = "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\nage = { type = \"int\", lower = 0, upper = 9 }\n";

/// The page and the JSON of a project, after its releases were made from a seed.
fn texts(folder: &Folder, project: &str) -> (String, Value) {
    let project = folder.project(project);
    folder.release(&project, 7);
    let runner = Runner::new(&project);
    let (charges, standing) = runner.recent(1000).unwrap();
    let (published, unshown) = published(&folder.file("out"), &charges);
    let head = Ledger::open_existing(runner.ledger()).unwrap().unwrap().head().unwrap();
    let (charges, standing, time) = (&charges, &standing, "2026-11-18T00:00:00Z".to_string());
    let (published, unshown) = (&published, &unshown);
    let report = Report { project: &project, charges, standing, published, unshown, time, head }.texts().unwrap();
    (report.page, serde_json::from_str(&report.json).unwrap())
}

#[test]
fn numbers_are_shown_as_readers_want_them() {
    for (number, text) in [
        (0.0, "0"),
        (-0.0, "0"),
        (0.5, "0.5"),
        (1234.0, "1234"),
        (12345.0, "12\u{202f}345"),
        (-1_234_567.0, "-1\u{202f}234\u{202f}567"),
        (1.234_567_89, "1.23457"),
        (0.000_123_456_7, "1.23457e-4"),
        (f64::NAN, "–"),
        (f64::INFINITY, "–"),
    ] {
        assert_eq!(digits(number), text, "{number}");
    }
    assert_eq!(grouped("9999"), "9999");
    assert_eq!(grouped("-10000.25"), "-10\u{202f}000.25");
    assert_eq!(shown(&Cell::Whole(1_000_000)), "1\u{202f}000\u{202f}000");
    assert_eq!((shown(&Cell::Null), shown(&Cell::Number(2.0))), ("–".to_string(), "2".to_string()));
}

/// A value, an alias and a query that are markup elsewhere are texts here; and the page fetches nothing.
#[test]
fn what_somebody_else_wrote_is_text_in_the_page() {
    let people = "age,town\n1,<script>alert(1)</script>\n2,<script>alert(1)</script>\n";
    let folder = Folder::with(&[("people.csv", people)]);
    let project = format!(
        "{HEAD}town = {{ type = \"category\", values = [\"<script>alert(1)</script>\", \"&amp;\"] }}\n[[release]]\nname = \"by town\"\n\
         sql = \"\"\"SELECT town AS \"<i>town</i>\", COUNT(*) AS \"n\" FROM people WHERE age < 9 GROUP BY town\"\"\"\ncost = {{ epsilon = 1 }}\n"
    );
    let (page, json) = texts(&folder, &project);
    for markup in ["<script", "<i>", "src=", "<link", "url(", "@import", "javascript:"] {
        assert!(!page.contains(markup), "{markup} is in the page");
    }
    for text in ["&lt;script&gt;alert(1)&lt;/script&gt;", "&lt;i&gt;town&lt;/i&gt;", "&amp;amp;", "age &lt; 9"] {
        assert!(page.contains(text), "{text} is not in the page");
    }
    assert!(page.contains("default-src 'none'"), "what got through would not be run");
    assert!(json.to_string().contains("<script>alert(1)</script>"), "JSON has the value as it is");
}

/// A section about nothing is not there, and the contents do not lead to it.
#[test]
fn sections_are_there_where_there_is_something_to_say() {
    let folder = Folder::with(&[("people.csv", "age\n1\n2\n3\n")]);
    let count = "[[release]]\nname = \"all\"\nsql = \"SELECT COUNT(*) AS n FROM people\"\ncost = { epsilon = 1 }\n";
    let (page, json) = texts(&folder, &format!("{HEAD}{count}"));
    let ids: Vec<&str> = page.split("<section id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(ids.contains(&"readings") && ids.contains(&"assumptions") && ids.contains(&"could-somebody"), "{ids:?}");
    assert!(!ids.contains(&"pairs") && !ids.contains(&"attackers"), "nothing is sensitive, nobody is weaker: {ids:?}");
    let links: Vec<&str> = page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(!links.is_empty());
    for link in links {
        assert!(page.contains(&format!("id=\"{link}\"")), "the contents lead to {link}, which is not there");
    }
    assert_eq!(json["could_somebody"][0]["could_somebody_tell"], "whether a person is in the data", "{json:#}");
}

#[test]
fn each_scope_has_a_name() {
    let named = |names: &[&str]| scope_name(&Scope::Attributes(AttributeSet::new(names.iter().copied()).unwrap()));
    assert_eq!((scope_name(&Scope::Presence).as_str(), scope_name(&Scope::Person).as_str()), ("presence", "person"));
    assert_eq!(named(&["age"]), "age");
    assert!(named(&["age", "sex"]).contains("age") && named(&["age", "sex"]).contains("sex"));
}

/// What the numbers rest on names every private table and every bound, and no public table.
#[test]
fn assumptions_name_tables_and_bounds() {
    let folder = Folder::with(&[]);
    let project = folder.project(&format!(
        "{HEAD}income = {{ type = \"float\", lower = -5, upper = 10.5 }}\n\
         [dataset.visits]\nsource = \"visits.csv\"\nowner = \"id\"\nmax_rows_per_owner = 3\n[dataset.visits.columns]\nday = {{ type = \"int\", lower = 0, upper = 6 }}\n\
         [dataset.wards]\nsource = \"wards.csv\"\npublic = true\n[dataset.wards.columns]\nbeds = {{ type = \"float\", lower = 0, upper = 9 }}\n"
    ));
    let all = text::assumptions(&project);
    let says = |words: &str| all.iter().any(|one| one.contains(words));
    assert!(says("In table people, each row is one person."));
    assert!(says("owner named by id; at most 3 of an owner's rows count in one release"));
    assert!(says("Values of income below -5 or above 10.5 count as those bounds"));
    assert!(!says("wards") && !says("beds"), "{all:#?}");
}
