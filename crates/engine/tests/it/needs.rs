//! What a release takes in memory whatever rows there are is said in its plan, and refused before the charge where it is too much.

use crate::support::Folder;
use scumble::noise::InsecureSeededSource;
use scumble_engine::kinds::registry::KINDS;
use scumble_engine::project::Project;
use scumble_engine::release::{PlannedRelease, Runner};
use scumble_testing::tables::LARGE;
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

/// A release of each kind, and the least that its plan must say, in bytes; none where its public sizes make it hold next to nothing.
pub(crate) const RELEASES: &[(&str, &str, u64)] = &[
    ("sql", "sql = \"SELECT age, COUNT(*) AS k, SUM(score) AS q FROM people GROUP BY age\"", 1_000_000),
    (
        "sql",
        "sql = \"SELECT age AS k, COUNT(*) AS c FROM people GROUP BY age UNION ALL SELECT score, COUNT(*) FROM people GROUP BY score\"",
        1_000_000,
    ),
    ("sql", "sql = \"SELECT age, smokes, COUNT(*) AS k FROM people GROUP BY ROLLUP (age, smokes)\"", 1_000_000),
    ("histogram", "table = \"people\"\ncolumns = [\"age\", \"smokes\"]", 2_000_000),
    ("anonymized-histogram", "table = \"people\"\ncolumn = \"town\"\nat_most = 1000000000000", 100_000_000),
    ("anonymized-histogram", "table = \"people\"\ncolumn = \"score\"", 10_000),
    ("cdf", "table = \"people\"\ncolumn = \"age\"", 20_000_000),
    ("quantiles", "table = \"people\"\ncolumn = \"income\"\nquantiles = [0.5]", 0),
    ("marginals", "table = \"people\"\ncolumns = [\"age\", \"score\"]", 10_000_000),
    ("synthetic", "table = \"people\"\ncolumns = [\"age\", \"score\", \"smokes\"]", 1_000_000),
    (
        "synthetic",
        "table = \"people\"\ncolumns = [\"score\", \"smokes\"]\nmethod = \"chosen\"\nrows = 10000000",
        100_000_000,
    ),
    ("conjunctions", "table = \"people\"\ncolumns = [\"smokes\", \"sex = f\", \"score > 5\"]\nwidth = 2", 1000),
    ("small-table", "table = \"people\"\ncolumns = [\"sex\", \"smokes\"]\nmissing = \"never\"", 100),
    ("interactive", "table = \"people\"\ncolumns = [\"age\", \"score\"]\npeople = 100000", 40_000_000),
    ("heavy-hitters", "table = \"people\"\ncolumns = [\"age\", \"score\"]", 900_000),
    ("mode", "table = \"people\"\ncolumn = \"age\"", 900_000),
    ("top", "table = \"people\"\ncolumn = \"age\"\nnumber = 3", 900_000),
    ("exact-if-stable", "sql = \"SELECT age, COUNT(*) FROM people GROUP BY age\"\nat_least = 100", 900_000),
    ("learn", "table = \"people\"\nconcept = \"threshold\"\nlabel = \"smokes\"\ncolumns = [\"age\"]", 900_000),
    ("learn", "table = \"people\"\nconcept = \"distribution\"\ncolumns = [\"age\", \"score\"]", 900_000),
    ("triangles", "table = \"friends\"\nmethod = \"smooth\"", 4_000_000_000),
    ("degrees", "table = \"friends\"", 4_000_000_000),
    ("bounds", "for = \"base\"", 300),
];

/// Under these lines at the top of the file, at this cost.
pub(crate) fn plan_of(top: &str, kind: &str, fields: &str, cost: &str) -> Result<PlannedRelease, String> {
    let base = "[[release]]\nname = \"base\"\nsql = \"SELECT COUNT(*) AS k FROM visits\"\ncost = { epsilon = 1 }\n";
    let release = format!("[[release]]\nname = \"r\"\nkind = \"{kind}\"\n{fields}\ncost = {{ {cost} }}\n");
    let text = format!("{top}{}{release}{base}", LARGE.declared());
    let project = Project::parse(Path::new("scumble.toml"), &text).map_err(|error| error.to_string())?;
    Runner::new(&project).plan(&project.releases[0]).map_err(|error| error.to_string())
}

#[test]
fn every_kind_says_what_public_numbers_make_it_take() {
    for (kind, fields, least) in RELEASES {
        let planned = plan_of("", kind, fields, "epsilon = 1, delta = 1e-6");
        let planned = planned.unwrap_or_else(|error| panic!("{kind} {fields}: {error}"));
        let memory = planned.plan.memory;
        assert!(memory >= *least && memory < 60_000_000_000, "{kind} {fields}: {memory}");
    }
    // What has no noise has no sizes either.
    let known = |kind: &str| kind == "exact-count" || RELEASES.iter().any(|release| release.0 == kind);
    let missing: Vec<&str> = KINDS.iter().map(|kind| kind.name).filter(|kind| !known(kind)).collect();
    assert!(missing.is_empty(), "no large release of {missing:?}");
}
