//! From rows to edges: what one row and one owner can change.

use super::*;
use crate::support::Folder;
use std::collections::BTreeSet;

const DECLARED: &str = "graph = { from = \"a\", to = \"b\", vertices = 4 }\n[dataset.t.columns]\na = { type = \"int\" }\nb = { type = \"int\" }\n";

/// The edges of a table with these lines.
fn edges(head: &str, lines: &str, dataset: &str, key: Key) -> BTreeSet<Edge> {
    let folder = Folder::with(&[("t.csv", &format!("{head}\n{lines}"))]);
    let text = format!(
        "[dataset.t]\nsource = \"t.csv\"\n{dataset}{DECLARED}\
         [[release]]\nname = \"r\"\nkind = \"triangles\"\ntable = \"t\"\ncost = {{ epsilon = 1 }}\n"
    );
    let project = folder.project(&text);
    let edges = Edges::new(&project.releases[0], &project).unwrap();
    let backend = Backend::with_data(&project, &["t".to_string()]).unwrap();
    let list = edges.list(&backend, key).unwrap();
    let set: BTreeSet<Edge> = list.iter().copied().collect();
    assert_eq!(set.len(), list.len(), "an edge stands there twice");
    assert!(Graph::new(edges.vertices(), &list).is_ok());
    set
}

/// Loops, vertices that are none, missing ends and repeated edges made the whole release fail once: that would tell of
/// a row.
#[test]
fn rows_that_are_no_edge_count_for_nothing() {
    let lines = "0,1\n1,0\n0,1\n2,2\n3,4\n-1,0\n,2\n3,\n9223372036854775807,1\n2,3\n";
    assert_eq!(edges("a,b", lines, "", Key(1, 2)), BTreeSet::from([(0, 1), (2, 3)]));
    assert!(edges("a,b", "", "", Key(1, 2)).is_empty());
}

/// An owner with many edges: at most as many count as are paid for, and which ones depends on that owner alone.
#[test]
fn an_owner_moves_as_many_edges_as_are_paid_for() {
    let others = "x,0,1\nx,1,2\ny,0,1\ny,2,3\ny,0,3\n";
    let changing = ["", "z,0,1\n", "z,0,2\nz,1,3\nz,2,3\n", "z,0,2\nz,2,0\nz,0,2\n", "z,1,3\nz,1,2\nz,0,3\nz,2,2\n"];
    for (paid, key) in [(1u64, Key(1, 2)), (2, Key(3, 4)), (2, Key(5, 6)), (9, Key(7, 8))] {
        let dataset = format!("owner = \"id\"\nmax_rows_per_owner = {paid}\n");
        let found = changing.map(|rows| edges("id,a,b", &format!("{others}{rows}"), &dataset, key));
        for one in &found {
            let distance = |other: &BTreeSet<Edge>| one.symmetric_difference(other).count() as u64;
            assert!(distance(&found[0]) <= paid, "{paid}: {found:?}");
            assert!(found.iter().all(|other| distance(other) <= 2 * paid), "{paid}: {found:?}");
        }
        // The order of rows decides nothing.
        let turned: String = format!("{others}{}", changing[2]).lines().rev().map(|line| format!("{line}\n")).collect();
        assert_eq!(edges("id,a,b", &turned, &dataset, key), found[2]);
    }
}
