//! The report: numbers as readers want them, and a page in which nothing that somebody else wrote is markup.

use super::format::{grouped, shown};
use super::*;
use crate::ledger::Ledger;
use crate::release::output::ColumnRole;
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

/// Columns with the same numbers are drawn differently: the query decides, not the look of the numbers.
#[test]
fn a_query_says_what_its_columns_are() {
    let folder = Folder::with(&[("people.csv", "age\n1\n2\n3\n")]);
    let sql = "SELECT age > 4 AS old, COUNT(*) AS n, SUM(age) AS s, AVG(age) AS m, MEDIAN(age) AS q, MAX(age) AS top, \
               VAR(age) AS v, SUM(age) / COUNT(*) AS r, AVG(age + 1) AS other FROM people GROUP BY age > 4";
    let release = format!("[[release]]\nname = \"r\"\nsql = \"{sql}\"\ncost = {{ epsilon = 9 }}\n");
    let project = folder.project(&format!("{HEAD}{release}"));
    let answers = folder.release(&project, 7).1.remove(0).answers;
    let of = || Some("age".to_string());
    let expected = [
        ("old", ColumnRole::Key),
        ("n", ColumnRole::Amount { of: None }),
        ("s", ColumnRole::Amount { of: of() }),
        ("m", ColumnRole::Level { of: of() }),
        ("q", ColumnRole::Quantile { of: "age".to_string(), share: 0.5 }),
        ("top", ColumnRole::Level { of: of() }),
        ("v", ColumnRole::Level { of: None }),
        ("r", ColumnRole::Derived),
        ("other", ColumnRole::Level { of: None }),
    ];
    assert_eq!(answers.details.roles, expected.map(|(name, role)| (name.to_string(), role)).into());
}

const VISITS: &str = "[dataset.visits]\nsource = \"visits.csv\"\nowner = \"id\"\nmax_rows_per_owner = 3\n[dataset.visits.columns]\n\
    day = { type = \"int\", lower = 0, upper = 6 }\n";

/// Each release repeated two sentences on bounding, and SQL for machines filled a third of the page.
#[test]
fn bounding_is_said_once_and_statements_are_in_the_json() {
    let rows: String = (0..60).map(|row| format!("{},{}\n", row % 20, row % 7)).collect();
    let folder = Folder::with(&[("visits.csv", &format!("id,day\n{rows}"))]);
    let count = |name: &str| {
        format!(
            "[[release]]\nname = \"{name}\"\nsql = \"SELECT COUNT(*) AS n FROM visits\"\ncost = {{ epsilon = 1 }}\n"
        )
    };
    let (page, json) = texts(&folder, &format!("{VISITS}{}{}", count("b"), count("a")));
    assert_eq!(page.matches("of each owner at most 3 rows count").count(), 1, "{page}");
    let names: Vec<&str> = json["releases"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["b", "a"], "as in the project file");
    assert_eq!(page.matches("<pre class=\"sql\">SELECT COUNT(*) AS n FROM visits</pre>").count(), 2);
    let machine = json["rules"][0]["rule"]["integers"].to_string();
    assert!(machine.contains("SELECT") && !page.contains("integers: "), "{machine}");
    for words in
        ["The scale of the first sentence: up to 60% “At most a little is given away”", "prefers-color-scheme:dark"]
    {
        assert!(page.contains(words), "{words}");
    }
    // Nothing in words is a dash.
    let meaning = page.split("What that means</h2>").nth(1).and_then(|rest| rest.split("</section>").next()).unwrap();
    assert!(meaning.contains("The odds between any two versions") && !meaning.contains('–'), "{meaning}");
}

/// A median stands in the report of a distribution.
#[test]
fn a_distribution_shows_its_quantiles() {
    let rows: String = (0..90).map(|row| format!("{}\n", row % 9)).collect();
    let folder = Folder::with(&[("people.csv", &format!("age\n{rows}"))]);
    let cdf =
        "[[release]]\nname = \"ages\"\nkind = \"cdf\"\ntable = \"people\"\ncolumn = \"age\"\ncost = { epsilon = 5 }\n";
    let (page, json) = texts(&folder, &format!("{HEAD}{cdf}"));
    let section = page.split("<h3>Quantiles</h3>").nth(1).and_then(|rest| rest.split("</section>").next()).unwrap();
    assert!(section.contains("<td>0.5</td>"), "{section}");
    assert_eq!(json["releases"][0]["answers"]["quantiles"].as_array().map(Vec::len), Some(5));
}

/// The chart's words are somebody else's texts, too; and every picture is a file, until there is none to draw.
#[test]
fn charts_are_files_of_what_is_published() {
    let folder = Folder::with(&[("people.csv", "age\n1\n2\n3\n")]);
    let release = |sql: &str| {
        format!("[[release]]\nname = \"r\"\ntitle = \"<b>Ages</b>\"\nsql = \"{sql}\"\ncost = {{ epsilon = 9 }}\n")
    };
    let written = |sql: &str| {
        let project = folder.project(&format!("{HEAD}{}", release(sql)));
        folder.release(&project, 7);
        let runner = Runner::new(&project);
        let (charges, standing) = runner.recent(1000).unwrap();
        let (published, unshown) = published(&folder.file("out"), &charges);
        let head = Ledger::open_existing(runner.ledger()).unwrap().unwrap().head().unwrap();
        let (charges, standing, time) = (&charges, &standing, "2026-11-18T00:00:00Z".to_string());
        let (published, unshown) = (&published, &unshown);
        let report = Report { project: &project, charges, standing, published, unshown, time, head };
        report.write(&folder.file("out")).unwrap();
        ["r.svg", "r.png", "r.vl.json"].map(|name| std::fs::read(folder.file("out").join(name)).ok())
    };
    let [svg, png, vega] = written("SELECT age, COUNT(*) AS n FROM people GROUP BY age").map(Option::unwrap);
    let svg = String::from_utf8(svg).unwrap();
    assert!(svg.contains("&lt;b&gt;Ages&lt;/b&gt;") && !svg.contains("<b>"), "{svg}");
    assert!(svg.contains("Not private: the noise is from a seed."), "a seed is no secret: {svg}");
    assert!(png.starts_with(b"\x89PNG"));
    let vega: Value = serde_json::from_slice(&vega).unwrap();
    assert_eq!(vega["title"]["text"], "<b>Ages</b>");
    // One number has no picture, and that of earlier numbers would be a wrong one.
    assert_eq!(written("SELECT COUNT(*) AS n FROM people"), [None, None, None]);
}
