//! What a release takes in memory whatever rows there are is said in its plan, and refused before the charge where it is too much.

use crate::support::Folder;
use scumble::noise::InsecureSeededSource;
use scumble_engine::kinds::registry::KINDS;
use scumble_engine::project::Project;
use scumble_engine::release::{PlannedRelease, Runner};
use std::path::Path;

/// Graphs of 2^30 vertices ended the process after the charge: memory for the vertices alone could not be had, and the charge was lost. Now nothing is charged, and the ledger is not even made.
#[test]
fn more_vertices_than_memory_holds_are_refused_before_the_charge() {
    let folder = Folder::with(&[("t.csv", "a,b\n0,1\n")]);
    for release in
        ["kind = \"triangles\"\nmethod = \"smooth\"", "kind = \"degrees\"", "kind = \"degrees\"\nat_most = 10"]
    {
        let text = format!(
            "memory = \"1 GB\"\n[dataset.t]\nsource = \"t.csv\"\ngraph = {{ from = \"a\", to = \"b\", vertices = {} }}\n[dataset.t.columns]\na = {{ type = \"int\" }}\nb = {{ type = \"int\" }}\n\
             [[release]]\nname = \"r\"\n{release}\ntable = \"t\"\ncost = {{ epsilon = 1 }}\n",
            1u32 << 30
        );
        let project = folder.project(&text);
        let runner = Runner::new(&project);
        let planned = runner.plan(&project.releases[0]).unwrap();
        assert!(planned.plan.notes.iter().any(|note| note.contains("52 GB of memory")), "{:?}", planned.plan.notes);
        let out = folder.path().join("out");
        let error =
            runner.release(&[planned], &out, &mut InsecureSeededSource::new(1), |_| ()).unwrap_err().to_string();
        assert!(error.contains("takes about 52 GB of memory") && error.contains("nothing was charged"), "{error}");
        assert!(runner.charges().unwrap().is_empty());
    }
}

/// Large public sizes for every kind.
const LARGE: &str = r#"
[dataset.t]
source = "t.csv"
[dataset.t.columns]
n = { type = "int", lower = 0, upper = 8999 }
m = { type = "int", lower = 0, upper = 99 }
f = { type = "float", lower = 0, upper = 1 }
s = { type = "category", values = ["a", "b"] }
b = { type = "bool" }
c = { type = "category" }
[dataset.g]
source = "g.csv"
graph = { from = "a", to = "b", vertices = 100000000 }
[dataset.g.columns]
a = { type = "int" }
b = { type = "int" }
[dataset.o]
source = "o.csv"
owner = "id"
max_rows_per_owner = 1000
[dataset.o.columns]
n = { type = "int", lower = 0, upper = 8999 }
"#;

/// A release of each kind, and the least that its plan must say, in bytes; none where its public sizes make it hold next to nothing.
const RELEASES: &[(&str, &str, u64)] = &[
    ("sql", "sql = \"SELECT n, COUNT(*) AS k, SUM(m) AS q FROM t GROUP BY n\"", 1_000_000),
    (
        "sql",
        "sql = \"SELECT n AS k, COUNT(*) AS c FROM t GROUP BY n UNION ALL SELECT m, COUNT(*) FROM t GROUP BY m\"",
        1_000_000,
    ),
    ("sql", "sql = \"SELECT n, b, COUNT(*) AS k FROM t GROUP BY ROLLUP (n, b)\"", 1_000_000),
    ("histogram", "table = \"t\"\ncolumns = [\"n\", \"b\"]", 2_000_000),
    ("anonymized-histogram", "table = \"t\"\ncolumn = \"c\"\nat_most = 1000000000000", 100_000_000),
    ("anonymized-histogram", "table = \"t\"\ncolumn = \"m\"", 10_000),
    ("cdf", "table = \"t\"\ncolumn = \"n\"", 20_000_000),
    ("quantiles", "table = \"t\"\ncolumn = \"f\"\nquantiles = [0.5]", 0),
    ("marginals", "table = \"t\"\ncolumns = [\"n\", \"m\"]", 10_000_000),
    ("synthetic", "table = \"t\"\ncolumns = [\"n\", \"m\", \"b\"]", 1_000_000),
    ("synthetic", "table = \"t\"\ncolumns = [\"m\", \"b\"]\nmethod = \"chosen\"\nrows = 10000000", 100_000_000),
    ("conjunctions", "table = \"t\"\ncolumns = [\"b\", \"s = a\", \"m > 5\"]\nwidth = 2", 1000),
    ("small-table", "table = \"t\"\ncolumns = [\"s\", \"b\"]\nmissing = \"never\"", 100),
    ("interactive", "table = \"t\"\ncolumns = [\"n\", \"m\"]\npeople = 100000", 40_000_000),
    ("heavy-hitters", "table = \"t\"\ncolumns = [\"n\", \"m\"]", 900_000),
    ("mode", "table = \"t\"\ncolumn = \"n\"", 900_000),
    ("top", "table = \"t\"\ncolumn = \"n\"\nnumber = 3", 900_000),
    ("exact-if-stable", "sql = \"SELECT n, COUNT(*) FROM t GROUP BY n\"\nat_least = 100", 900_000),
    ("learn", "table = \"t\"\nconcept = \"threshold\"\nlabel = \"b\"\ncolumns = [\"n\"]", 900_000),
    ("learn", "table = \"t\"\nconcept = \"distribution\"\ncolumns = [\"n\", \"m\"]", 900_000),
    ("triangles", "table = \"g\"\nmethod = \"smooth\"", 4_000_000_000),
    ("degrees", "table = \"g\"", 4_000_000_000),
    ("bounds", "for = \"base\"", 300),
];

fn plan_of(kind: &str, fields: &str) -> Result<PlannedRelease, String> {
    let base = "[[release]]\nname = \"base\"\nsql = \"SELECT COUNT(*) AS k FROM o\"\ncost = { epsilon = 1 }\n";
    let release =
        format!("[[release]]\nname = \"r\"\nkind = \"{kind}\"\n{fields}\ncost = {{ epsilon = 1, delta = 1e-6 }}\n");
    let text = format!("[budget]\nperson = {{ epsilon = 1e9, delta = 1e-3 }}\n{LARGE}{release}{base}")
        .replace("[attacker]\nknows = 10\n", "");
    let project = Project::parse(Path::new("scumble.toml"), &text).map_err(|error| error.to_string())?;
    Runner::new(&project).plan(&project.releases[0]).map_err(|error| error.to_string())
}

#[test]
fn every_kind_says_what_public_numbers_make_it_take() {
    for (kind, fields, least) in RELEASES {
        let planned = plan_of(kind, fields).unwrap_or_else(|error| panic!("{kind} {fields}: {error}"));
        let memory = planned.plan.memory;
        assert!(memory >= *least && memory < 60_000_000_000, "{kind} {fields}: {memory}");
    }
    // What has no noise has no sizes either.
    let known = |kind: &str| kind == "exact-count" || RELEASES.iter().any(|release| release.0 == kind);
    let missing: Vec<&str> = KINDS.iter().map(|kind| kind.name).filter(|kind| !known(kind)).collect();
    assert!(missing.is_empty(), "no large release of {missing:?}");
}
