//! README's ten lines do what it says of them.

use crate::support::{Folder, epsilon};

#[test]
fn the_ten_lines_cost_what_the_readme_says() {
    let page = include_str!("../../../../../README.md");
    let project = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the ten lines");
    let people: String = (0..300).map(|i| format!("{},{}\n", i % 90, ["none", "flu", "hiv"][i % 3])).collect();
    let folder = Folder::with(&[("scumble.toml", project), ("people.csv", &format!("age,disease\n{people}"))]);
    assert!(folder.stdout(&["plan"]).contains("everything fits the budget together"));
    folder.stdout(&["release"]);
    assert!(folder.file("out/report.html").exists());
    assert!(folder.read("out/diseases of adults.csv").starts_with("disease,n,n_error\n"));
    let costs = folder.json(&["ledger", "show", "--json"]);
    let said = "ε 0.5 about a person, 0.25 about their age, 0.25 about\nwhether they are in the table at all";
    assert!(page.contains(said), "the README says something else");
    let spent = [epsilon(&costs["person"]), epsilon(&costs["attributes"]["age"]), epsilon(&costs["presence"])];
    assert_eq!(spent, [0.5, 0.25, 0.25], "{costs:#}");
    // The page says that a second release keeps what there is, and what a new one costs.
    assert!(page.contains("A second `scumble release` keeps what is published") && page.contains("a third is refused"));
    assert!(folder.stdout(&["release"]).contains("kept: diseases of adults"));
    let again = ["release", "--quiet", "--again", "diseases of adults"];
    folder.stdout(&again);
    folder.refused(&again, 3, "epsilon 1 is spent");
}
