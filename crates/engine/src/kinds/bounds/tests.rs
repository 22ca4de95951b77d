//! Every neighbour of tiny tables, through the code that a release runs, against the claim of its scope.

use super::super::sql::bounding_tests::{PROJECT, part, scopes, versions};
use super::*;
use crate::budget::one_attribute;
use crate::sql::execute::integers::contributions;
use crate::support::Folder;
use crate::tables::Backend;
use crate::tables::hash::Key;
use scumble::scope::Scope;
use std::collections::BTreeMap;

#[test]
fn no_neighbour_moves_the_table_further_than_its_events_say() {
    let releases = "[[release]]\nname = \"base\"\nsql = \"SELECT k, SUM(x) AS s, COUNT(*) AS n FROM t WHERE f = 1 GROUP BY k\"\ncost = { epsilon = 1 }\n\
        [[release]]\nname = \"b\"\nkind = \"bounds\"\nfor = \"base\"\nmax_rows_per_owner = 6\nmax_groups_per_owner = 3\ncost = { epsilon = 1 }\n";
    let folder = Folder::with(&[]);
    let project = folder.project(&format!("{PROJECT}{releases}"));
    let query = of_release(&project.releases[0], &project).unwrap().unwrap();
    let looking = BoundsSearch::new(&project.releases[1], query, &project.releases[0]).unwrap();
    let header = "o,k,u,f,x";
    let (others, mut versions) = versions(&["1,a,p,1,-1", "1,a,p,1,3", "1,b,q,1,3", "1,c,q,1,3", "1,a,p,0,3"], 3);
    // Six rows in one group, in three and in two; seven; and rows in four groups.
    let rows = |keys: &str| keys.chars().map(|key| format!("1,{key},p,1,3")).collect::<Vec<String>>();
    versions.extend(["aaaaaa", "aabbcc", "aaabbb", "aaaaaaa", "abcd"].map(rows));
    let exact = |own: &Vec<String>| {
        folder.write("t.csv", &format!("{header}\n{}\n", [others.clone(), own.clone()].concat().join("\n")));
        let backend = Backend::with_data(&project, &["t".to_string()]).unwrap();
        let mut table = LevelTable::new(looking.levels.clone());
        contributions(&looking.query.cut, &backend, Key(3, 4), looking.most.groups + 1, |owner| table.add(owner))
            .unwrap();
        table.exact()
    };
    let tables: Vec<(Vec<i128>, i128)> = versions.iter().map(exact).collect();
    let events = looking.events(&looking.noises(&project.releases[1].cost).unwrap()).unwrap();
    let mut reached: BTreeMap<Scope, [f64; 2]> = BTreeMap::new();
    for (left, here) in versions.iter().zip(&tables) {
        for (right, there) in versions.iter().zip(&tables) {
            for scope in scopes(header, left, right) {
                let cells: Vec<f64> =
                    here.0.iter().zip(&there.0).map(|(one, other)| (one - other).abs() as f64).collect();
                let beyond = vec![(here.1 - there.1).abs() as f64];
                let found = [cells, beyond]
                    .iter()
                    .zip(&events)
                    .map(|(moved, event)| part(event.moves(), &scope, moved))
                    .collect::<Vec<_>>();
                assert!(
                    found.iter().all(|part| *part <= 1.0),
                    "{scope}: {left:?} and {right:?} move {found:?} of the claim"
                );
                let best = reached.entry(scope).or_insert([0.0; 2]);
                best.iter_mut().zip(found).for_each(|(best, found)| *best = best.max(found));
            }
        }
    }
    // Six rows in one group against two in each of three: eight of the twelve that are claimed.
    assert!(reached[&Scope::Presence][0] == 1.0 && reached[&Scope::Person][0] >= 0.6, "{reached:?}");
    assert_eq!((reached[&Scope::Presence][1], reached[&Scope::Person][1]), (1.0, 1.0), "{reached:?}");
    assert_eq!(reached[&one_attribute("x").unwrap()], [0.0; 2], "values that are summed decide nothing");
    assert!(
        reached[&one_attribute("f").unwrap()][0] > 0.0 && reached[&one_attribute("k").unwrap()][0] > 0.0,
        "{reached:?}"
    );
}

#[test]
fn releases_without_bounds_are_refused() {
    let folder = Folder::with(&[]);
    let text = "[dataset.people]\nsource = \"p.csv\"\n[dataset.people.columns]\nage = { type = \"int\", lower = 0, upper = 9 }\n\
        [[release]]\nname = \"base\"\nsql = \"SELECT COUNT(*) AS n FROM people\"\ncost = { epsilon = 1 }\n\
        [[release]]\nname = \"curve\"\nkind = \"cdf\"\ntable = \"people\"\ncolumn = \"age\"\ncost = { epsilon = 1 }\n";
    let project = folder.project(text);
    for (name, words) in
        [("base", "each row is one person"), ("curve", "is of kind cdf"), ("bas", "did you mean 'base'")]
    {
        let request = Request::bounds_of(name, &"epsilon=1".parse().unwrap(), None).unwrap();
        let said = analyse(&request, &project).map(drop).unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    }
}
