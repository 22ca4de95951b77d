//! The tutorial does what it says, command by command.

use crate::support::{Folder, printed};

/// A block of the page.
enum Block {
    /// A project file, or a section of one.
    Project(String),
    /// Commands, each with the lines that it prints.
    Commands(Vec<(String, Vec<String>)>),
}

fn blocks(page: &str) -> Vec<Block> {
    let parts = page.split("\n```").skip(1).step_by(2);
    parts
        .map(|part| match part.split_once('\n').unwrap() {
            ("toml", text) => Block::Project(text.to_string()),
            ("sh", text) => Block::Commands(commands(text)),
            (other, _) => panic!("a block of {other:?}"),
        })
        .collect()
}

pub(super) fn commands(text: &str) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("$ scumble ") {
            Some(command) => all.push((command.to_string(), Vec::new())),
            None => all.last_mut().expect("a command comes first").1.push(line.to_string()),
        }
    }
    all
}

/// The words of a command line, with quotation marks.
fn words(command: &str) -> Vec<String> {
    let parts = command.split('"').enumerate();
    parts
        .flat_map(|(index, part)| match index % 2 {
            1 => vec![part.to_string()],
            _ => part.split_whitespace().map(str::to_string).collect(),
        })
        .collect()
}

/// Whether some line of the output has the parts of a line of the page in their order, where … is anything.
pub(super) fn says(output: &str, line: &str) -> bool {
    output.lines().any(|printed| {
        let mut rest = printed;
        line.split('…').map(str::trim).all(|part| match rest.find(part) {
            Some(at) => {
                rest = &rest[at + part.len()..];
                true
            }
            None => false,
        })
    })
}

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
            Block::Commands(all) => {
                for (command, lines) in all {
                    let arguments = words(&command);
                    let output = printed(folder.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()));
                    for line in lines {
                        assert!(says(&output, &line), "scumble {command}\n says: {output}\n and not: {line}");
                    }
                    ran += 1;
                }
            }
        }
    }
    assert!(ran >= 10, "{ran} commands");
    let csv = folder.read("out/by clinic.csv");
    assert!(csv.starts_with("clinic,visits,visits_error,patients,patients_error\n"), "{csv}");
}
