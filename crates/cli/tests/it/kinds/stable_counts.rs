//! What SQL counts, exactly or not at all, as a user runs it.

use crate::support::{Folder, epsilon};

const PAGE: &str = include_str!("../../../../../docs/how-to/stable-counts.md");

/// Owners of two visits each: 600 go to north and south, 30 to north and west.
fn visits() -> String {
    let mut text = "person_id,clinic,reason\n".to_string();
    for person in 0..630 {
        let other = if person < 600 { "south" } else { "west" };
        let reason = if person % 250 == 0 { "rare" } else { "flu" };
        text.push_str(&format!("{person},north,{reason}\n{person},{other},{reason}\n"));
    }
    text
}

/// The page's tables, and its releases.
fn tables_and_releases() -> (String, Vec<String>) {
    let block = PAGE.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let (tables, releases) = block.split_once("[[release]]").unwrap();
    (tables.to_string(), releases.split("[[release]]").map(|release| format!("[[release]]{release}")).collect())
}

fn folder(text: &str) -> Folder {
    let clinics = "clinic,is_new\nnorth,true\nsouth,true\nwest,false\n";
    Folder::with(&[("visits.csv", &visits()), ("clinics.csv", clinics), ("scumble.toml", text)])
}

/// The page's first release with other fields.
fn asking(fields: &str) -> String {
    let tables = tables_and_releases().0;
    format!(
        "{tables}[[release]]\nname = \"r\"\nkind = \"exact-if-stable\"\n{fields}\ncost = {{ epsilon = 1, delta = 1e-6 }}\n"
    )
}

/// Every example of the page is planned and released.
#[test]
fn the_page_is_true() {
    let (tables, releases) = tables_and_releases();
    assert_eq!(releases.len(), 4);
    let folder = folder(&format!("{tables}{}", releases.concat()));
    folder.stdout(&["release"]);
    // 630 visits to north: 370 rows, or 93 owners of four, from the limit.
    assert_eq!(folder.read("out/many.csv"), "is_at_least_1000,is_published\nfalse,true\n");
    assert_eq!(folder.read("out/people_of_new_clinics.csv"), "from,below,is_published\n500,1000,true\n");
    // Nothing is certain before a key of a replaced owner of two groups is some 145 owners away.
    let busy = folder.read("out/busy.csv");
    assert!(busy.starts_with("clinic,is_at_least_400,is_published\nnorth,"), "{busy}");
    assert_eq!(busy.lines().count(), 4, "listed keys have a line each: {busy}");
    assert_eq!(folder.read("out/first_reason.csv"), "reason,is_published\nflu,true\n");
    assert!(folder.read("out/busy.json").contains("The cost is the same, however many there are"));
    assert!(folder.read("out/report.html").contains("is_at_least_400"));
}

/// One owner counts in two clinics, and with one who takes its place in all three: each answer has a third of ε.
#[test]
fn keys_share_the_cost() {
    let query = "sql = \"SELECT clinic AS where_to, COUNT(*) FROM visits GROUP BY clinic\"";
    let folder = folder(&asking(&format!("{query}\nat_least = 400")));
    let shown = folder.json(&["plan", "--json"])["releases"][0].clone();
    let spent = |scope: &str| epsilon(&shown["costs"][scope]);
    assert!(spent("person") <= 1.0 && spent("person") > 0.999, "{shown}");
    assert!((spent("presence") / spent("person") - 2.0 / 3.0).abs() < 1e-6, "{shown}");
    assert_eq!(epsilon(&shown["costs"]["attributes"]["clinic"]), spent("person"));
    assert_eq!(epsilon(&shown["costs"]["attributes"]["reason"]), 0.0);
    let about = shown["errors"][0]["about"].as_str().unwrap();
    assert!(about.starts_with("exact, or not published; published with probability 95% if"), "{about}");
    assert_eq!(shown["rule"]["rows_per_owner"], 4, "{shown}");
    // The largest is one answer.
    folder.write("scumble.toml", &asking(&format!("{query}\nlargest = true")));
    let largest = folder.json(&["plan", "--json"])["releases"][0].clone();
    assert!((epsilon(&largest["costs"]["presence"]) / epsilon(&largest["costs"]["person"]) - 1.0).abs() < 1e-6);
}

/// A key that is not public is left out unless it is far from not being there; with enough ε all is said.
#[test]
fn keys_that_are_not_public_are_left_out() {
    let query = "sql = \"SELECT reason, COUNT(DISTINCT person_id) AS n FROM visits GROUP BY reason\"";
    let text = asking(&format!("{query}\nat_least = 300\nmax_groups_per_owner = 1"));
    // Three owners have the other reason: with probability 3e-10 it is said.
    let text = text.replace("1e-6", "1e-10");
    let folder = folder(&text);
    folder.stdout(&["release"]);
    assert_eq!(folder.read("out/r.csv"), "reason,is_at_least_300,is_published\nflu,true,true\n");
    assert!(folder.read("out/r.json").contains("The keys are not public"));
    let certain = text.replace("epsilon = 1,", "epsilon = 60,").replace("name = \"r\"", "name = \"s\"");
    folder.write("scumble.toml", &certain);
    folder.stdout(&["release"]);
    assert_eq!(folder.read("out/s.csv"), "reason,is_at_least_300,is_published\nflu,true,true\nrare,false,true\n");
}
