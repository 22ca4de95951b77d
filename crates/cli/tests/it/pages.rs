//! Pages as a reader follows them: project files, and commands with the lines that they print.

use crate::support::{Folder, printed};

/// A block of a page.
pub enum Block {
    /// A project file, or a part of one.
    Project(String),
    /// Commands, each with the lines that it prints.
    Commands(Vec<(String, Vec<String>)>),
}

/// The blocks of a page whose blocks are all run.
pub fn blocks(page: &str) -> Vec<Block> {
    let parts = page.split("\n```").skip(1).step_by(2);
    parts
        .map(|part| match part.split_once('\n').unwrap() {
            ("toml", text) => Block::Project(text.to_string()),
            ("sh", text) => Block::Commands(commands(text)),
            (other, _) => panic!("a block of {other:?}"),
        })
        .collect()
}

/// The commands of a block, each with the lines below it.
pub fn commands(text: &str) -> Vec<(String, Vec<String>)> {
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

/// Whether some line of the output has the parts of a line of the page in their order, where … is anything. How far
/// columns are apart depends on their widest number, which differs from run to run.
pub fn says(output: &str, line: &str) -> bool {
    let close = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = close(line);
    output.lines().map(close).any(|printed| {
        let mut rest = &printed[..];
        line.split('…').map(str::trim).all(|part| match rest.find(part) {
            Some(at) => {
                rest = &rest[at + part.len()..];
                true
            }
            None => false,
        })
    })
}

/// Runs these commands; each must print what the page shows. Returns their number.
pub fn follow(folder: &Folder, commands: &[(String, Vec<String>)]) -> usize {
    for (command, lines) in commands {
        let arguments = words(command);
        let output = printed(folder.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()));
        for line in lines {
            assert!(says(&output, line), "scumble {command}\n prints: {output}\n and not: {line}");
        }
    }
    commands.len()
}
