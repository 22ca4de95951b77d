use crate::ledger::{Declarations, joined};
use crate::project::Project;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

const HEAD: &str = "[dataset.people]\nsource = \"people.csv\"\nowner = \"id\"\nmax_rows_per_owner = 1\n[dataset.people.columns]\n\
                    age = { type = \"int\", lower = 0, upper = 120 }\nsex = { type = \"category\", values = [\"f\", \"m\"] }\n";

fn declared(folder: &Path, text: &str) -> Declarations {
    let project = Project::parse(&folder.join("scumble.toml"), text).unwrap();
    project.tables.iter().map(|(name, table)| (name.clone(), table.declaration(folder))).collect()
}

fn check(change: &dyn Fn(&Path) -> String, words: Option<&str>) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("people.csv"), "").unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let before = declared(folder.path(), HEAD);
    let written: Declarations = serde_json::from_value(serde_json::to_value(&before).unwrap()).unwrap();
    assert_eq!(written, before);
    let shown = joined(&before, &declared(folder.path(), &change(folder.path())), folder.path());
    match (shown, words) {
        (Ok(_), None) => {}
        (Err(error), Some(words)) => assert!(error.to_string().contains(words), "{error}\n not: {words}"),
        (shown, words) => panic!("{shown:?} against {words:?}"),
    }
}

fn with(from: &'static str, to: &'static str) -> impl Fn(&Path) -> String {
    assert!(HEAD.contains(from));
    move |_| HEAD.replace(from, to)
}

#[test]
fn a_table_stays_what_it_was() {
    check(&with("120", "120"), None);
    check(&with("max_rows_per_owner = 1", "max_rows_per_owner = 3"), None);
    check(&with("owner = \"id\"\nmax_rows_per_owner = 1\n", ""), Some("it had the owner 'id' and has no owner"));
    check(&with("owner = \"id\"", "owner = \"home\""), Some("'id' and has the owner 'home' now"));
    check(&with("upper = 120", "upper = 99"), Some("its column 'age' was"));
    check(&with("\"f\", \"m\"", "\"m\", \"f\""), Some("its column 'sex' was"));
    check(
        &with("\"people.csv\"", "\"others.csv\""),
        Some("it was read from 'people.csv' and is read from 'others.csv'"),
    );
    check(&with("sex = {", "gender = {"), None);
}

#[test]
fn another_name_for_the_same_source_is_the_same_table() {
    let renamed = |source: &'static str, owner: &'static str| {
        move |_: &Path| {
            HEAD.replace("people]", "folk]")
                .replace("people.columns", "folk.columns")
                .replace("people.csv", source)
                .replace("owner = \"id\"\nmax_rows_per_owner = 1\n", owner)
        }
    };
    let owned = "owner = \"id\"\nmax_rows_per_owner = 1\n";
    let same = Some("as table 'people', which reads the same, it had the owner 'id'");
    for spelling in ["people.csv", "./people.csv", "sub/../people.csv", ".", "sub/.."] {
        check(&renamed(spelling, ""), same);
        check(&renamed(spelling, owned), None);
    }
    check(&renamed("other.csv", ""), None);
    let linked = |link: fn(&Path, &Path)| {
        move |folder: &Path| {
            link(&folder.join("people.csv"), &folder.join("linked.csv"));
            renamed("linked.csv", "")(folder)
        }
    };
    check(&linked(|from, to| symlink(from, to).unwrap()), same);
    check(&linked(|from, to| fs::hard_link(from, to).unwrap()), same);
    let inside = |folder: &Path| {
        symlink(folder.join("people.csv"), folder.join("sub/other name.csv")).unwrap();
        renamed("sub", "")(folder)
    };
    check(&inside, same);
    let public = |folder: &Path| renamed("people.csv", "public = true\n")(folder);
    check(&public, same);
}

#[test]
fn a_project_may_move_as_a_whole() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let before = declared(one.path(), HEAD);
    assert_eq!(joined(&before, &declared(other.path(), HEAD), other.path()).unwrap(), None);
}
