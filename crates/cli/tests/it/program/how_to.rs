//! The pages "How do I …" do what they say, each in a folder of its own.

use crate::pages::{Block, blocks, follow};
use crate::support::Folder;

/// What all of these pages extend.
const PROJECT: &str = include_str!("../../../../../examples/clinics/scumble.toml");
const POPULATION: &str = "clinic,inhabitants\ngeneral,90000\nheart,60000\neyes,30000\n";

macro_rules! pages {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("../../../../../docs/how-to/", $name, ".md")))),*]
    };
}

/// 3,000 people with one to seven visits in 2025 and 2026; 99, nothing and rare words among the reasons, 999 among the
/// minutes.
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
