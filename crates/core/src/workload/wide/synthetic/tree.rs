//! A junction tree: overlapping groups of columns, small enough to be kept as tables, such that every wanted set of
//! columns is inside one of them.
//!
//! Its nodes are columns at levels. A column that is wanted at several levels has a node for each, and neighbouring
//! levels are linked: a table at the coarse level does not need the fine one. Nodes are removed one by
//! one, each time the one whose neighbours make the smallest table; a node and its neighbours are a clique.

use super::levels::ColumnLevels;
use std::collections::{BTreeMap, BTreeSet};

/// A column at a level.
pub(super) type LevelColumn = (usize, usize);

/// Some columns, each at a level, ascending.
pub(super) type LevelColumns = Vec<LevelColumn>;

/// A group of columns whose table is kept.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Clique {
    /// The columns, each at the finest level that it has here.
    pub(super) axes: LevelColumns,
    pub(super) cells: usize,
    pub(super) parent: Option<usize>,
    /// What it shares with its parent, each column at the finest shared level.
    pub(super) shared: LevelColumns,
}

/// Cliques, parents before children.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JunctionTree {
    pub(super) cliques: Vec<Clique>,
}

impl JunctionTree {
    /// The tree in which each of these sets, and each column at its finest level, is inside one clique; None if its
    /// tables had more than `most` cells together.
    pub(super) fn new(levels: &[ColumnLevels], sets: &[LevelColumns], most: usize) -> Option<Self> {
        let (nodes, mut near) = graph(levels.len(), sets);
        let cells = |members: &BTreeSet<usize>| -> f64 {
            finest(members.iter().map(|&id| nodes[id])).iter().map(|&(c, l)| levels[c].0[l].bins as f64).product()
        };
        let closed =
            |near: &[BTreeSet<usize>], id: usize| -> BTreeSet<usize> { near[id].iter().copied().chain([id]).collect() };
        let mut weight: Vec<f64> = (0..nodes.len()).map(|id| cells(&closed(&near, id))).collect();
        let mut left: BTreeSet<usize> = (0..nodes.len()).collect();
        let (mut found, mut total): (Vec<(usize, BTreeSet<usize>)>, f64) = (Vec::new(), 0.0);
        while let Some(&next) = left.iter().min_by(|&&one, &&two| weight[one].total_cmp(&weight[two])) {
            left.remove(&next);
            let neighbours = std::mem::take(&mut near[next]);
            for &one in &neighbours {
                near[one].remove(&next);
                near[one].extend(neighbours.iter().copied().filter(|&two| two != one));
            }
            neighbours.iter().for_each(|&one| weight[one] = cells(&closed(&near, one)));
            total += weight[next];
            // Cliques that turn out to be inside others are counted here too: at most twice the true size.
            if total > 2.0 * most as f64 {
                return None;
            }
            found.push((next, neighbours));
        }
        let tree = Self { cliques: joined(&nodes, levels, &found) };
        (tree.cells() <= most).then_some(tree)
    }

    /// How many cells all tables have.
    pub(super) fn cells(&self) -> usize {
        self.cliques.iter().map(|clique| clique.cells).sum()
    }

    /// The smallest clique that has a set inside.
    pub(super) fn home(&self, set: &[LevelColumn]) -> Option<usize> {
        let has = |clique: &Clique| {
            set.iter().all(|&(column, level)| clique.axes.iter().any(|&(own, finer)| own == column && finer <= level))
        };
        let homes = self.cliques.iter().enumerate().filter(|(_, clique)| has(clique));
        homes.min_by_key(|(_, clique)| clique.cells).map(|(number, _)| number)
    }
}

/// The nodes and who is next to whom.
fn graph(columns: usize, sets: &[LevelColumns]) -> (Vec<LevelColumn>, Vec<BTreeSet<usize>>) {
    let all: BTreeSet<LevelColumn> =
        sets.iter().flatten().copied().chain((0..columns).map(|column| (column, 0))).collect();
    let nodes: Vec<LevelColumn> = all.into_iter().collect();
    let id: BTreeMap<LevelColumn, usize> = nodes.iter().copied().zip(0..).collect();
    let mut near = vec![BTreeSet::new(); nodes.len()];
    let mut link = |one: usize, two: usize| {
        if one != two {
            near[one].insert(two);
            near[two].insert(one);
        }
    };
    // Nodes are in order: the levels of a column are neighbours.
    for (place, two) in nodes.windows(2).enumerate() {
        if two[0].0 == two[1].0 {
            link(place, place + 1);
        }
    }
    for set in sets {
        set.iter().for_each(|one| set.iter().for_each(|two| link(id[one], id[two])));
    }
    (nodes, near)
}

/// Each column once, at its finest level.
fn finest(nodes: impl Iterator<Item = LevelColumn>) -> LevelColumns {
    let mut finest: BTreeMap<usize, usize> = BTreeMap::new();
    nodes.for_each(|(column, level)| {
        let own = finest.entry(column).or_insert(level);
        *own = level.min(*own);
    });
    finest.into_iter().collect()
}

/// The cliques of an order of removal, without those that are inside others.
fn joined(nodes: &[LevelColumn], levels: &[ColumnLevels], found: &[(usize, BTreeSet<usize>)]) -> Vec<Clique> {
    let turn: BTreeMap<usize, usize> = found.iter().enumerate().map(|(turn, (id, _))| (*id, turn)).collect();
    let members: Vec<BTreeSet<usize>> =
        found.iter().map(|(id, near)| near.iter().copied().chain([*id]).collect()).collect();
    let mut parent: Vec<Option<usize>> = found.iter().map(|(_, near)| near.iter().map(|one| turn[one]).min()).collect();
    // A parent that is inside its child becomes the child: going down the turns, so that chains are followed.
    let mut stands: Vec<usize> = (0..found.len()).collect();
    for child in 0..found.len() {
        while let Some(above) = parent[child].filter(|_| stands[child] == child) {
            if stands[above] != above || !members[above].is_subset(&members[child]) {
                break;
            }
            stands[above] = child;
            parent[child] = parent[above];
        }
    }
    let root = |mut one: usize| {
        while stands[one] != one {
            one = stands[one];
        }
        one
    };
    let kept: Vec<usize> = (0..found.len()).filter(|&one| stands[one] == one).rev().collect();
    let above: BTreeMap<usize, Option<usize>> =
        kept.iter().map(|&one| (one, parent[one].map(&root).filter(|&above| above != one))).collect();
    let order = parents_first(&kept, &above);
    let place: BTreeMap<usize, usize> = order.iter().copied().zip(0..).collect();
    let clique = |&one: &usize| {
        let axes = finest(members[one].iter().map(|&id| nodes[id]));
        let shared = above[&one].map_or_else(LevelColumns::new, |above| {
            finest(members[one].intersection(&members[above]).map(|&id| nodes[id]))
        });
        let cells = axes.iter().map(|&(column, level)| levels[column].0[level].bins).product();
        Clique { axes, cells, parent: above[&one].map(|above| place[&above]), shared }
    };
    order.iter().map(clique).collect()
}

/// An order in which each one comes after its parent.
fn parents_first(kept: &[usize], above: &BTreeMap<usize, Option<usize>>) -> Vec<usize> {
    let mut children: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    kept.iter().for_each(|one| children.entry(above[one]).or_default().push(*one));
    let mut order: Vec<usize> = Vec::with_capacity(kept.len());
    let mut open: Vec<usize> = children.get(&None).cloned().unwrap_or_default();
    while let Some(one) = open.pop() {
        order.push(one);
        open.extend(children.get(&Some(one)).into_iter().flatten());
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(sizes: &[usize]) -> Vec<ColumnLevels> {
        sizes.iter().map(|&size| ColumnLevels::new(&vec![1.0 / size as f64; size], &vec![0; size])).collect()
    }

    /// Every set is inside a clique, and the cliques that have a node are connected through cliques that have it.
    fn check(levels: &[ColumnLevels], sets: &[LevelColumns]) -> JunctionTree {
        let tree = JunctionTree::new(levels, sets, 1_000_000).unwrap();
        assert!(sets.iter().all(|set| tree.home(set).is_some()));
        for (column, own_levels) in levels.iter().enumerate() {
            assert!(tree.home(&[(column, 0)]).is_some());
            for level in 0..own_levels.0.len() {
                // Of the cliques that tell this level, only one has no parent that tells it too.
                let tells = |axes: &LevelColumns| axes.iter().any(|&(own, finer)| own == column && finer <= level);
                let tops = tree.cliques.iter().filter(|clique| tells(&clique.axes) && !tells(&clique.shared)).count();
                assert_eq!(tops, 1, "column {column} level {level}: {tree:?}");
            }
        }
        for (place, clique) in tree.cliques.iter().enumerate() {
            assert!(clique.parent.is_none_or(|parent| parent < place));
        }
        tree
    }

    #[test]
    fn chains_stars_and_cycles_become_trees() {
        let levels = levels(&[5, 3, 40, 2, 90]);
        let at = |pairs: &[[usize; 4]]| -> Vec<LevelColumns> {
            pairs.iter().map(|&[a, la, b, lb]| vec![(a, la), (b, lb)]).collect()
        };
        check(&levels, &[]);
        check(&levels, &at(&[[0, 0, 1, 0], [1, 0, 2, 0], [2, 1, 3, 0]]));
        let cycle = check(&levels, &at(&[[0, 0, 1, 0], [1, 0, 3, 0], [3, 0, 0, 0], [2, 2, 4, 2], [2, 0, 0, 0]]));
        assert!(cycle.cliques.iter().any(|clique| clique.axes.len() == 3));
        // A square needs a chord.
        let square = check(&levels, &at(&[[0, 0, 1, 0], [1, 0, 3, 0], [2, 3, 3, 0], [0, 0, 2, 3]]));
        assert!(square.cliques.iter().any(|clique| clique.axes.len() == 3));
        // Coarse sets of a wide column do not drag the column itself along.
        let coarse = check(&levels, &at(&[[2, 4, 4, 4], [0, 0, 4, 4], [0, 0, 2, 4]]));
        assert!(coarse.cells() < 300, "{}", coarse.cells());
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let levels = levels(&[90, 90, 90]);
        let all: Vec<LevelColumns> = vec![vec![(0, 0), (1, 0)], vec![(1, 0), (2, 0)], vec![(0, 0), (2, 0)]];
        assert!(JunctionTree::new(&levels, &all, 100_000).is_none());
        assert!(JunctionTree::new(&levels, &all[..2], 100_000).is_some());
    }
}
