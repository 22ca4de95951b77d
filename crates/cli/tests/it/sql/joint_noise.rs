//! Several counts and sums of a cell with one noise, as a user runs it.

use crate::support::{Folder, epsilon, exactly};
use scumble_testing::projects::{INCOMES as PROJECT, INCOMES_QUERY as SQL};

fn folder(more: &str) -> Folder {
    let row = |i: usize| format!("{},{},{},t{}\n", ["f", "m"][i % 2], i.is_multiple_of(3), i % 101, i % 4);
    let rows: String = (0..4000).map(row).collect();
    Folder::with(&[
        ("scumble.toml", &format!("{PROJECT}{more}")),
        ("people.csv", &format!("sex,smokes,income,town\n{rows}")),
    ])
}

fn release(sql: &str, cost: &str, more: &str) -> String {
    format!("[[release]]\nname = \"r\"\nsql = \"{sql}\"\n{more}\ncost = {{ {cost} }}\n")
}

fn errors(folder: &Folder) -> Vec<f64> {
    let plan = folder.json(&["plan", "--json"]);
    let expected = plan["releases"][0]["errors"].as_array().unwrap().clone();
    expected.iter().map(|one| one["standard_error"].as_f64().unwrap()).collect()
}

#[test]
fn a_pure_cost_shares_one_noise_and_says_so() {
    let joint = folder(&release(SQL, "epsilon = 0.5", ""));
    let each = folder(&release(SQL, "epsilon = 0.5", "noise = \"each\""));
    let (one, other) = (errors(&joint), errors(&each));
    // √(4·5/3) = 2.58 instead of 3·√2 = 4.24 times 2/ε, up to roundings.
    for (joint, each) in one.iter().zip(&other) {
        assert!((each / joint - 4.243 / 2.582).abs() < 0.02, "{one:?} {other:?}");
    }
    let said = joint.stdout(&["plan", "--details"]);
    assert!(said.contains("share one noise") && said.contains("1.64 times these"), "{said}");
    joint.stdout(&["release", "--quiet"]);
    let spent = joint.json(&["ledger", "show", "--json"]);
    exactly(epsilon(&spent["person"]), 0.5);
    exactly(epsilon(&spent["presence"]), 0.25);
    let text = joint.read("out/r.csv");
    let beside = |name: &str| format!("{name},{name}_se,{name}_low,{name}_high");
    assert_eq!(text.lines().next().unwrap(), format!("sex,{}", ["n", "smokers", "income"].map(beside).join(",")));
    let numbers: Vec<f64> = text.lines().nth(1).unwrap().split(',').skip(1).map(|cell| cell.parse().unwrap()).collect();
    // Within ten standard errors of the truth: 2000 women, 667 or so who smoke.
    assert!(
        (numbers[0] - 2000.0).abs() < 10.0 * numbers[1] && (numbers[4] - 667.0).abs() < 10.0 * numbers[5],
        "{text}"
    );
    joint.stdout(&["ledger", "verify"]);
}

#[test]
fn where_there_is_a_delta_each_number_has_its_own_noise() {
    let budget = "[budget]\nperson = { epsilon = 5, delta = 1e-6 }\n";
    let auto = folder(&format!("{budget}{}", release(SQL, "epsilon = 0.5", "")));
    assert!(auto.stdout(&["plan", "--details"]).contains("but there is a delta"));
    let asked = folder(&format!("{budget}{}", release(SQL, "epsilon = 0.5", "noise = \"joint\"")));
    assert!(asked.stdout(&["plan", "--details"]).contains("share one noise"));
}
