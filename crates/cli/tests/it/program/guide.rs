//! The tutorial does what it says, command by command.

use crate::pages::{Block, blocks, follow};
use crate::support::Folder;

#[test]
fn every_command_of_the_tutorial_does_what_it_says() {
    // One story in three pages, in one folder.
    let page = concat!(
        include_str!("../../../../../docs/tutorial/declare.md"),
        include_str!("../../../../../docs/tutorial/publish.md"),
        include_str!("../../../../../docs/tutorial/print.md"),
    );
    let visits: String = (0..3000)
        .flat_map(|person| (0..1 + person % 7).map(move |visit| (person, visit)))
        .map(|(person, visit)| {
            format!(
                "p{person},{},{}\n",
                ["general", "heart", "eyes"][(person + visit) % 3],
                20 + (person * 7 + visit * 31) % 400
            )
        })
        .collect();
    let folder = Folder::with(&[("visits.csv", &format!("person_id,clinic,cost\n{visits}"))]);
    let mut ran = 0;
    for block in blocks(page) {
        match block {
            Block::Project(text) if text.contains("[dataset") => folder.write("scumble.toml", &text),
            Block::Project(text) => {
                // A section takes the place of the one before.
                let before = folder.read("scumble.toml");
                let (head, rest) = before.split_once("[budget]").unwrap();
                let (_, tail) = rest.split_once("\n\n").unwrap();
                folder.write("scumble.toml", &format!("{head}{text}\n{tail}"));
                folder.refused(&["release"], 2, "scumble budget raise scumble.toml --because");
            }
            Block::Commands(all) => ran += follow(&folder, &all),
        }
    }
    assert!(ran >= 10, "{ran} commands");
    let csv = folder.read("out/by-clinic.csv");
    assert!(
        csv.starts_with(
            "clinic,visits,visits_se,visits_low,visits_high,patients,patients_se,patients_low,patients_high\n"
        ),
        "{csv}"
    );
}
