//! The pages "How do I …" do what they say, each in a folder of its own; the front page leads to them.

use crate::pages::{Block, blocks, follow};
use crate::support::Folder;
use std::fs;
use std::path::Path;

/// What all of these pages extend.
const PROJECT: &str = include_str!("../../../../../examples/clinics/scumble.toml");
const POPULATION: &str = "clinic,inhabitants\ngeneral,90000\nheart,60000\neyes,30000\n";

macro_rules! pages {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("../../../../../docs/how-to/", $name, ".md")))),*]
    };
}

/// 3,000 people with one to seven visits in 2025 and 2026; 99, nothing and rare words among the reasons, 999 among the minutes.
fn visits() -> String {
    let rows = (0..3000).flat_map(|person| (0..1 + person % 7).map(move |visit| (person, visit)));
    let rows = rows.map(|(person, visit)| {
        let reason = match (person + 3 * visit) % 20 {
            _ if person % 600 == 5 => "snake bite",
            0 => "99",
            1 => "",
            2..=4 => "injury",
            5..=9 => "fever",
            10 => "Fever",
            _ => "check-up",
        };
        let minutes = if (person + visit) % 40 == 0 { 999 } else { 5 + (person * 3 + visit * 11) % 90 };
        format!(
            "p{person},{clinic},{year}-{month:02}-{day:02},{cost},{minutes},{reason},{sex},{age}\n",
            clinic = ["general", "heart", "eyes"][(person + visit) % 3],
            year = 2025 + (person / 7 + visit) % 2,
            month = 1 + (person + visit * 5) % 12,
            day = 1 + person % 28,
            cost = 20 + (person * 7 + visit * 31) % 400,
            sex = ["f", "m", "f", "m", "x"][person % 5],
            age = person % 97,
        )
    });
    format!("person_id,clinic,day,cost,minutes,reason,sex,age\n{}", rows.collect::<String>())
}

#[test]
fn every_page_does_what_it_says() {
    let pages = pages![
        "rates",
        "shares",
        "time-series",
        "means-per-person",
        "choose-bounds",
        "missing-codes",
        "small-groups",
        "compare-years",
        "reuse",
        "tuning"
    ];
    let visits = visits();
    for (name, page) in pages {
        let folder =
            Folder::with(&[("visits.csv", &visits), ("population.csv", POPULATION), ("scumble.toml", PROJECT)]);
        let (mut project, mut ran) = (PROJECT.to_string(), 0);
        for block in blocks(page) {
            match block {
                // A page with tables of its own.
                Block::Project(text) if text.contains("[dataset") => {
                    project = text;
                    folder.write("scumble.toml", &project);
                }
                Block::Project(text) => folder.write("scumble.toml", &format!("{project}\n{text}")),
                Block::Commands(all) => ran += follow(&folder, &all),
            }
        }
        assert!(ran > 0, "{name} has no command");
    }
}

/// A statistician's questions, and the heading of the page that the front page links for each.
const QUESTIONS: [(&str, &str); 10] = [
    ("explanation/errors.md", "# Standard errors and confidence intervals"),
    ("how-to/rates.md", "# Rates per inhabitant"),
    ("how-to/shares.md", "# Shares and percentages"),
    ("how-to/time-series.md", "# Time series"),
    ("how-to/means-per-person.md", "# Means per person"),
    ("how-to/choose-bounds.md", "# Choose bounds"),
    ("how-to/missing-codes.md", "# Missing values and codes"),
    ("how-to/small-groups.md", "# Small groups and unknown values"),
    ("how-to/compare-years.md", "# Compare years"),
    ("how-to/tuning.md", "# Smaller errors: tuning"),
];

#[test]
fn ten_questions_are_one_click_away() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let front = fs::read_to_string(docs.join("index.md")).unwrap();
    for (page, heading) in QUESTIONS {
        assert!(front.contains(&format!("]({page})")), "the front page does not link {page}");
        let text = fs::read_to_string(docs.join(page)).unwrap();
        assert!(text.starts_with(&format!("{heading}\n")), "{page} does not begin with {heading}");
    }
}
