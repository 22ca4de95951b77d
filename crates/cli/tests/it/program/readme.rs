//! README's ten lines do what it says of them.

use crate::pages::{commands, says};
use crate::support::{Folder, epsilon, printed};

#[test]
fn the_ten_lines_do_what_the_readme_says() {
    let page = include_str!("../../../../../README.md");
    let block = |tag: &str| {
        let opening = format!("```{tag}\n");
        page.split(&opening).nth(1).and_then(|rest| rest.split("```").next()).unwrap_or_else(|| panic!("no {tag}"))
    };
    let people: String = (0..300).map(|i| format!("{},{}\n", i % 90, ["none", "flu", "hiv"][i % 3])).collect();
    let folder = Folder::with(&[("scumble.toml", block("toml")), ("people.csv", &format!("age,disease\n{people}"))]);
    let shown = commands(block("console"));
    assert_eq!(shown.len(), 3, "plan, release, release");
    for (command, lines) in shown {
        let output = printed(folder.run(&command.split(' ').collect::<Vec<_>>()));
        assert!(!lines.is_empty(), "scumble {command} shows nothing");
        for line in lines {
            assert!(says(&output, &line), "scumble {command}\n prints: {output}\n and not: {line}");
        }
    }
    assert!(folder.file("out/report.html").exists());
    assert!(folder.read("out/diseases-of-adults.csv").starts_with("disease,n,n_se,n_low,n_high\n"));
    let costs = folder.json(&["ledger", "show", "--json"]);
    let prose = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "ε 0.5 for a person, 0.25 for their age, 0.25 for their presence";
    assert!(prose.contains(said), "the README gives other costs");
    let spent = [epsilon(&costs["person"]), epsilon(&costs["attributes"]["age"]), epsilon(&costs["presence"])];
    assert_eq!(spent, [0.5, 0.25, 0.25], "{costs:#}");
    // A new answer is paid for once more; then the budget is spent.
    assert!(prose.contains("a third charge would exceed the budget and is refused"));
    let again = ["release", "--quiet", "--again", "diseases of adults"];
    folder.stdout(&again);
    folder.refused(&again, 3, "epsilon 1 is spent");
}
