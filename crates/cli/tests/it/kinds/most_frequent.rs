//! Keys and the most frequent values, of domains that are listed, unknown and huge, as a user runs them.

use crate::support::{Folder, epsilon, exactly};
use scumble_testing::projects::SEARCHES as PROJECT;

/// 600 users who each search for up to 40 terms: `t0` all, `t1` 560, `t2` 520, the others from 326 down; and for a term
/// that nobody else searches for.
fn folder(releases: &str) -> Folder {
    let pages = ["news", "mail", "maps", "shop", "help"];
    let mut searches = "user,term,page\n".to_string();
    for user in 0..600 {
        for term in 0..40 {
            let users = if term < 3 { 600 - term * 40 } else { 350 - term * 8 };
            if user * 7 % 600 < users {
                searches += &format!("u{user},t{term},{}\n", pages[term * term % 5]);
            }
        }
        searches += &format!("u{user},only u{user} looked for this,news\n");
    }
    let town = |i: usize| match i % 10 {
        0..=4 => "north".to_string(),
        5 | 6 => "south".to_string(),
        7 => "east".to_string(),
        _ => format!("farm {i}"),
    };
    let people: String = (0..3000).map(|i| format!("{},{}\n", town(i), ["f", "m"][i % 2])).collect();
    Folder::with(&[
        ("scumble.toml", &format!("{PROJECT}{releases}")),
        ("searches.csv", &searches),
        ("people.csv", &format!("town,sex\n{people}")),
    ])
}

fn release(name: &str, kind: &str, cost: &str, fields: &str) -> String {
    format!("[[release]]\nname = \"{name}\"\nkind = \"{kind}\"\n{fields}\ncost = {{ {cost} }}\n")
}

/// The first column of a published table.
fn values(folder: &Folder, name: &str) -> Vec<String> {
    let text = folder.read(&format!("out/{}.csv", name.replace(' ', "-")));
    text.lines().skip(1).map(|line| line.split(',').next().unwrap().to_string()).collect()
}

#[test]
fn the_most_frequent_values_of_every_domain() {
    let terms = "table = \"searches\"\ncolumn = \"term\"\nnumber = 3";
    let towns = "table = \"people\"\ncolumn = \"town\"\nnumber = 3";
    let releases = [
        release("gap", "top", "epsilon = 6, delta = 1e-8", terms),
        release("texts", "top", "epsilon = 30", &format!("{terms}\nmax_bytes = 16\nmethod = \"gap\"")),
        release("towns", "top", "epsilon = 2, delta = 1e-8", towns),
        release("listed", "top", "rho = 2", "table = \"searches\"\ncolumn = \"page\"\nnumber = 2\nmethod = \"gap\""),
        release("as many", "top", "epsilon = 8, delta = 1e-8", "table = \"people\"\ncolumn = \"town\"\nlead = 60"),
    ];
    let folder = folder(&releases.concat());
    let plan = folder.json(&["plan", "--json"]);
    let plans = plan["releases"].as_array().unwrap();
    assert_eq!(plans.len(), 5);
    for (plan, cost) in plans.iter().zip([6.0, 30.0, 2.0, f64::NAN, 8.0]) {
        let person = &plan["costs"]["person"];
        if !cost.is_nan() {
            exactly(epsilon(person), cost);
        }
        assert!(plan["errors"].as_array().unwrap().len() == 2, "{plan}");
    }
    folder.stdout(&["release", "--quiet"]);
    assert_eq!(values(&folder, "gap"), ["t0", "t1", "t2"]);
    assert_eq!(values(&folder, "texts"), ["t0", "t1", "t2"]);
    assert_eq!(values(&folder, "towns"), ["north", "south", "east"]);
    assert_eq!(values(&folder, "as many")[..3], ["north", "south", "east"]);
    // Pages of 600, 560 and 520 users and less: news and mail stand out.
    let mut pages = values(&folder, "listed");
    pages.sort();
    assert_eq!(pages, ["mail", "news"]);
    let header =
        |name: &str| folder.read(&format!("out/{}.csv", name.replace(' ', "-"))).lines().next().unwrap().to_string();
    assert!(header("gap").starts_with("term,lead,lead_se,lead_low,lead_high"), "{}", header("gap"));
    assert!(header("towns").starts_with("town,count,count_se,count_low,count_high"), "{}", header("towns"));
    // What only one user looked for is nowhere; and the report has the numbers.
    assert!(!folder.read("out/gap.csv").contains("only"));
    assert!(folder.read("out/report.html").contains("lead by term, with 95% intervals"));
}

#[test]
fn a_histogram_of_all_texts_needs_no_delta() {
    let fields = "table = \"people\"\ncolumn = \"town\"\nmax_bytes = 16";
    let folder = folder(&release("towns", "histogram", "epsilon = 1", fields));
    folder.write("scumble.toml", &folder.read("scumble.toml").replace(", delta = 1e-6", ""));
    let plan = folder.json(&["plan", "--json"]);
    exactly(epsilon(&plan["releases"][0]["costs"]["person"]), 1.0);
    folder.stdout(&["release", "--quiet"]);
    // 2^115 texts: a town needs about 168 inhabitants. Farms have one each.
    let mut found = values(&folder, "towns");
    found.retain(|town| ["north", "south", "east"].contains(&town.as_str()));
    assert_eq!(found, ["north", "south", "east"]);
    let spent = folder.json(&["ledger", "show", "--json"]);
    exactly(epsilon(&spent["person"]), 1.0);
    // A text of 17 bytes is in no group: with max_bytes = 4 there is no north.
    let short = folder_with_short_texts();
    short.stdout(&["release", "--quiet"]);
    assert_eq!(values(&short, "towns").iter().filter(|town| ["east", "north"].contains(&town.as_str())).count(), 1);
}

fn folder_with_short_texts() -> Folder {
    folder(&release("towns", "histogram", "epsilon = 4", "table = \"people\"\ncolumn = \"town\"\nmax_bytes = 4"))
}

/// Keys alone: three towns and no farm; the plan says how many owners that takes, and that a noisy number would take
/// more.
#[test]
fn distinct_keys_are_published_without_numbers() {
    let folder = folder("");
    let cost = ["--cost", "epsilon=1,delta=1e-6"];
    folder.stdout(&["query", "SELECT DISTINCT town FROM people ORDER BY town", cost[0], cost[1], "--name", "towns"]);
    assert_eq!(values(&folder, "towns"), ["east", "north", "south"]);
    let notes = folder.json_file("out/towns.json").to_string();
    assert!(notes.contains("the more owners one has, the likelier it is shown"), "{notes}");
    assert_eq!(folder.read("out/towns.csv").lines().next(), Some("town"));
    let spent = folder.json(&["ledger", "show", "--json"]);
    exactly(epsilon(&spent["person"]), 1.0);
    folder.refused(&["query", "SELECT DISTINCT sex FROM people", cost[0], cost[1]], 2, "its keys are public");
    folder.refused(
        &["query", "SELECT DISTINCT * FROM people", cost[0], cost[1]],
        2,
        "name the columns whose values are asked for",
    );
}
