//! docs/reference/commands.md is what the help says: daily commands in full, all others in a line.

use super::tree::{Help, help};
use crate::support::{printed, scumble};
use std::fs;

const INTRODUCTION: &str = "# Commands

All commands of `scumble`, as `scumble help COMMAND` prints them. Daily commands come first. With `--json`, answers and
errors are JSON; with `--quiet`, only answers and errors are printed.

```sh
scumble help release
```

| exit status | meaning |
|---|---|
| 0 | done |
| 1 | any other failure, or an audit that refutes a claim |
| 2 | wrong input |
| 3 | a charge that the budget refuses, or that would be a second one for what is published |

Commands of `scumble lab` and `scumble setup` also work without that word until version 0.2.
";

const NEXT: &str = "
Next: [project file](project-file.md), [plan and publish](../tutorial/publish.md), [kinds](kinds.md).
";

/// The commands below one, a line for each.
fn lines(help: &Help, is_listed: impl Fn(&str) -> bool) -> String {
    let path: String = help.path.iter().map(|word| format!("{word} ")).collect();
    let below = help.below().into_iter().filter(|(heading, ..)| is_listed(heading));
    below.map(|(_, name, about)| format!("- `scumble {path}{name}`: {about}.\n")).collect()
}

fn page() -> String {
    let top = help("");
    let mut page = INTRODUCTION.to_string();
    for (_, name, _) in top.below().into_iter().filter(|(heading, ..)| *heading == "Daily") {
        page.push_str(&format!("\n## scumble {name}\n```text\n{}\n```\n", help(&name).text.trim_end()));
    }
    page.push_str(&format!("\n## More releases\n{}", lines(top, |heading| heading == "More releases")));
    for (_, name, about) in top.below().into_iter().filter(|(heading, ..)| *heading == "More commands") {
        page.push_str(&format!("\n## scumble {name}\n{about}.\n\n{}", lines(help(&name), |_| true)));
    }
    page + NEXT
}

/// `SCUMBLE_UPDATE=1 cargo test -p scumble-cli --test it program::commands` writes the page.
#[test]
fn the_page_of_commands_is_what_the_help_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/commands.md");
    let page = page();
    assert_eq!(printed(scumble(&["help", "release"])), help("release").text);
    if std::env::var_os("SCUMBLE_UPDATE").is_some() {
        fs::write(path, &page).unwrap();
    }
    let written = fs::read_to_string(path).unwrap_or_default();
    assert!(written == page, "docs/reference/commands.md is not what the help says: write it with SCUMBLE_UPDATE=1");
}
