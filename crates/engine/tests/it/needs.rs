//! What a release takes in memory whatever rows there are is said in its plan, and refused before the charge where it
//! is too much.

use crate::support::Folder;
use crate::support::examples::{LargeExample, Order, in_order, kinds_without};
use scumble::noise::InsecureSeededSource;
use scumble_engine::project::Project;
use scumble_engine::release::{PlannedRelease, Runner};
use scumble_testing::tables::LARGE;
use std::path::Path;

/// Graphs of 2^30 vertices ended the process after the charge: memory for the vertices alone could not be had, and the
/// charge was lost. Now nothing is charged, and the ledger is not even made.
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
        assert!(error.contains("needs about 52 GB of memory") && error.contains("nothing was charged"), "{error}");
        assert!(runner.charges().unwrap().is_empty());
    }
}

/// The large releases of all kinds.
pub(crate) fn large() -> Vec<(&'static str, &'static LargeExample)> {
    in_order(|kind| &kind.large, |_| Order::default())
}

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
    for (kind, LargeExample { fields, least }) in large() {
        let planned = plan_of("", kind, fields, "epsilon = 1, delta = 1e-6");
        let planned = planned.unwrap_or_else(|error| panic!("{kind} {fields}: {error}"));
        let memory = planned.plan.memory;
        assert!(memory >= *least && memory < 60_000_000_000, "{kind} {fields}: {memory}");
    }
    // What has no noise has no sizes either.
    let missing = kinds_without(|kind| !kind.large.is_empty());
    assert_eq!(missing, ["exact-count"], "no large release of these kinds");
}
