//! Help in lines that fit a terminal.

/// How wide a terminal is at least.
const COLUMNS: usize = 80;

/// A help text in lines that fit a terminal: what a flag does continues below where it began. Clap's own wrapping would
/// bring a feature into DataFusion's tree. Examples stay as they are, because a shell runs them.
pub fn wrapped(text: &str) -> String {
    let (prose, examples) = text.find("\nExample").map_or((text, ""), |at| text.split_at(at));
    prose.split('\n').map(wrapped_line).collect::<Vec<_>>().join("\n") + examples
}

fn wrapped_line(line: &str) -> String {
    if line.chars().count() <= COLUMNS {
        return line.to_string();
    }
    let indent = column_of_description(line);
    let (mut lines, mut last) = (String::new(), line.chars().take(indent).collect::<String>());
    let mut is_first = true;
    for word in line.chars().skip(indent).collect::<String>().split(' ') {
        if !is_first && last.chars().count() + 1 + word.chars().count() > COLUMNS {
            lines = lines + &last + "\n";
            last = " ".repeat(indent);
            is_first = true;
        }
        last = last + if is_first { "" } else { " " } + word;
        is_first = false;
    }
    lines + &last
}

/// Where the last column of a line begins: behind the last run of spaces, or where the line itself does.
fn column_of_description(line: &str) -> usize {
    let letters: Vec<char> = line.chars().collect();
    (2..letters.len()).rev().find(|&at| letters[at] != ' ' && letters[at - 2..at] == [' ', ' ']).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The help of research commands had lines of 136 characters.
    #[test]
    fn descriptions_continue_below_where_they_began() {
        let flag = format!("      --pairs <N>  {}[default: 4]", "How many pairs are tried ".repeat(4));
        let text = wrapped(&format!("{flag}\n\nExample:\n  scumble {}", "x".repeat(90)));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[..2].iter().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert!(lines[1].starts_with(&format!("{}How", " ".repeat(19))), "{text}");
        assert_eq!(text.split_whitespace().collect::<Vec<_>>().join(" ").len(), {
            let words = flag.split_whitespace().collect::<Vec<_>>().join(" ");
            words.len() + " Example: scumble ".len() + 90
        });
        assert_eq!(wrapped_line("short"), "short");
    }
}
